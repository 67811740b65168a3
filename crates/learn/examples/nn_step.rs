//! How long a step of training takes with burn: `cargo run --release -p warpsight-learn --features nn --example nn_step [cuda]`.
//!
//! `bench/nn/candle` does the same with candle; `bench/nn/README.md` has what both said.

use warpsight_learn::models::transformer::{Example, Options, Processor, Readout, Shape, Start, fit};
use warpsight_shader::tokens::{Dialect, Tokens, Word};

/// Processor seconds of this process so far (`man 5 proc_pid_stat`; the kernel counts hundredths for programs).
fn processor() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<f64> = stat.rsplit(')').next().unwrap_or("").split_whitespace().map(|f| f.parse().unwrap_or(0.0)).collect();
    fields.get(11..13).map_or(f64::NAN, |both| (both[0] + both[1]) / 100.0)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let cuda = std::env::args().any(|a| a == "cuda");
    let with = |layers, width, heads, inner| Shape {
        layers,
        width,
        heads,
        inner,
        readout: Readout::First,
        positions: 1024,
        ..Options::small().shape
    };
    for (shape, batch, words) in [(with(3, 96, 4, 384), 16, 256), (with(4, 256, 4, 1024), 8, 512), (Options::small().shape, 16, 256)] {
        let mut examples = Vec::new();
        for row in 0..batch {
            let word = |at: usize| Word { id: 1 + ((row * 977 + at * 7919) % 150) as u32, count: 196_608, scalars: 1, operands: [2; 3] };
            let tokens = Tokens { dialect: Dialect::Compact, words: (0..words).map(word).collect() };
            examples.push(Example { tokens, seconds: 1e-3 * (1 + row) as f64 });
        }
        let options = Options { shape, batch, epochs: 4, at_once: batch * words, ..Options::small() };
        let processor_kind = if cuda { Processor::Cuda } else { Processor::Cpu };
        let mut before = processor();
        let (mut wall, mut cpu) = (Vec::new(), Vec::new());
        let start = Start { processor: processor_kind, checkpoint: None };
        let trained = fit(&examples, &examples[..1], &options, start, &mut |report| {
            wall.push(report.epoch.seconds);
            cpu.push(processor() - before);
            before = processor();
            Ok(())
        })?;
        // The first step warms caches up.
        let mean = |x: &[f64]| x.iter().skip(1).sum::<f64>() / (x.len() - 1) as f64;
        let s = &options.shape;
        println!(
            "{} x {} x {}, inner {}, {} weights, {batch} sequences of {words}: {:.2} s of processors, {:.2} s on the wall a step (measured)",
            s.layers,
            s.width,
            s.heads,
            s.inner,
            trained.weights(),
            mean(&cpu),
            mean(&wall)
        );
    }
    Ok(())
}
