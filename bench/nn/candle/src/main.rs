//! How long a step of training takes with candle: the encoder of `crates/learn/examples/nn_step.rs`, its head and Adam.

use candle_core::{DType, Device, Module, Result, Tensor};
use candle_nn::{AdamW, LayerNorm, Linear, Optimizer, ParamsAdamW, VarBuilder, VarMap, embedding, layer_norm, linear, ops};
use std::time::Instant;

fn processor() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<f64> = stat.rsplit(')').next().unwrap_or("").split_whitespace().map(|f| f.parse().unwrap_or(0.0)).collect();
    fields.get(11..13).map_or(f64::NAN, |both| (both[0] + both[1]) / 100.0)
}

struct Layer {
    attention: [Linear; 4],
    feed: [Linear; 2],
    norms: [LayerNorm; 2],
}

fn main() -> Result<()> {
    for (layers, width, heads, inner, batch, words) in [(3, 96, 4, 384, 16, 256), (4, 256, 4, 1024, 8, 512)] {
        step(layers, width, heads, inner, batch, words)?;
    }
    Ok(())
}

fn step(layers: usize, width: usize, heads: usize, inner: usize, batch: usize, words: usize) -> Result<()> {
    let device = Device::Cpu;
    let weights = VarMap::new();
    let make = VarBuilder::from_varmap(&weights, DType::F32, &device);
    let table = embedding(200, width, make.pp("words"))?;
    let head = [linear(width, width, make.pp("hidden"))?, linear(width, 1, make.pp("out"))?];
    let mut encoder = Vec::new();
    for i in 0..layers {
        let at = make.pp(i);
        let square = |name: &str| linear(width, width, at.pp(name));
        encoder.push(Layer {
            attention: [square("q")?, square("k")?, square("v")?, square("o")?],
            feed: [linear(width, inner, at.pp("a"))?, linear(inner, width, at.pp("b"))?],
            norms: [layer_norm(width, 1e-5, at.pp("n"))?, layer_norm(width, 1e-5, at.pp("m"))?],
        });
    }
    let mut adam = AdamW::new(weights.all_vars(), ParamsAdamW { lr: 1e-4, weight_decay: 0.0, ..Default::default() })?;
    let ids: Vec<u32> = (0..batch * words).map(|i| (i * 7919 % 200) as u32).collect();
    let drop = |x: &Tensor| ops::dropout(x, 0.1);
    let (mut wall, mut cpu) = (0.0, 0.0);
    let steps = 3;
    for at in 0..=steps {
        let (begun, before) = (Instant::now(), processor());
        let mut x = table.forward(&Tensor::from_vec(ids.clone(), (batch, words), &device)?)?;
        for layer in &encoder {
            let [q, k, v, o] = &layer.attention;
            let split = |y: Tensor| y.reshape((batch, words, heads, width / heads))?.transpose(1, 2)?.contiguous();
            let (q, k, v) = (split(q.forward(&x)?)?, split(k.forward(&x)?)?, split(v.forward(&x)?)?);
            let scores = (q.matmul(&k.transpose(2, 3)?.contiguous()?)? / ((width / heads) as f64).sqrt())?;
            let context = drop(&ops::softmax(&scores, 3)?)?.matmul(&v)?.transpose(1, 2)?.contiguous()?.reshape((batch, words, width))?;
            x = layer.norms[0].forward(&(x + drop(&o.forward(&context)?)?)?)?;
            let y = layer.feed[1].forward(&drop(&layer.feed[0].forward(&x)?.gelu_erf()?)?)?;
            x = layer.norms[1].forward(&(&x + drop(&y)?)?)?;
        }
        let first = x.narrow(1, 0, 1)?.squeeze(1)?;
        let out = head[1].forward(&drop(&head[0].forward(&drop(&first)?)?.tanh()?)?)?;
        let loss = (out - 1.0)?.sqr()?.mean_all()?;
        adam.backward_step(&loss)?;
        // The first step warms caches up.
        if at > 0 {
            wall += begun.elapsed().as_secs_f64() / f64::from(steps);
            cpu += (processor() - before) / f64::from(steps);
        }
    }
    println!("{layers} x {width} x {heads}, inner {inner}, {batch} sequences of {words}: {cpu:.2} s of processors, {wall:.2} s on the wall a step (measured)");
    Ok(())
}
