//! How fast the simulator itself is: `cargo run --release -p warpsight-sim --example speed`.

#[path = "../tests/common/mod.rs"]
mod common;
use common::*;
use std::time::Instant;
use warpsight_ir::*;
use warpsight_sim::{Silicon, Simulator};

/// A 1 × 1 convolution, four outputs of each of four pixels a work-item: weights and inputs from images or buffers.
fn pointwise(images: bool, pixels: i64, channels: i64) -> (Checked, Vec<Vec<u8>>, f64) {
    let quads = channels / 4;
    let name = |p: usize| format!("s{p}");
    let mut body: Vec<Stmt> = (0..4).map(|p| var(&name(p), F32X4, splat(f(0.0), 4))).collect();
    let pixel = |p: i64| add(add(mul(v("gx"), i(64)), mul(v("lx"), i(4))), i(p));
    let output = add(mul(v("gy"), i(4)), v("ly"));
    let read = |tensor: &str, x: Expr, y: Expr| {
        if images { texel(tensor, x, y) } else { load(tensor, vec![y, mul(x, i(4))], 4) }
    };
    let mut step = vec![];
    for p in 0..4 {
        step.push(let_(&format!("a{p}"), read("a", v("c"), pixel(p))));
    }
    for part in 0..4u8 {
        let column = add(mul(v("c"), i(4)), i(part.into()));
        step.push(let_(&format!("w{part}"), read("w", column, output.clone())));
        for p in 0..4 {
            let a = splat(lane(v(&format!("a{p}")), part), 4);
            step.push(set(&name(p), fma(a, v(&format!("w{part}")), v(&name(p)))));
        }
    }
    body.push(for_("c", i(quads), Unroll::None, step));
    for p in 0..4 {
        body.push(store("out", vec![pixel(p as i64), mul(output.clone(), i(4))], v(&name(p))));
    }
    let tensor = |name: &str, w: i64, h: i64| {
        if images { image(name, ImageFormat::Rgba32F, w, h, Access::Read) } else { buffer(name, Scalar::F32, &[h, w * 4], Access::Read) }
    };
    let params =
        vec![tensor("a", quads, pixels), tensor("w", channels, quads), buffer("out", Scalar::F32, &[pixels, channels], Access::Write)];
    let p = program(params, vec![], launch(&[("gx", pixels / 64), ("gy", quads / 4)], &[("lx", 16), ("ly", 4)]), body);
    let data = [pixels * channels, channels * channels, pixels * channels].map(|n| vec![0; n as usize * 4]);
    (p, data.to_vec(), (pixels * channels * channels) as f64)
}

fn main() {
    let sim = Simulator::new(Silicon::adreno640());
    for images in [true, false] {
        let (p, data, fmas) = pointwise(images, 4096, 128);
        let mut b = bindings(data);
        let start = Instant::now();
        match sim.simulate(&p, &mut b) {
            Ok(r) => {
                let host = start.elapsed().as_secs_f64();
                println!(
                    "images {images}: {:.1} M fma lanes/s, {:.2} s; simulated {:.3} ms, {:.0} GFLOP/s, {:?}",
                    fmas / host / 1e6,
                    host,
                    r.time.0 * 1e3,
                    2.0 * fmas / r.time.0 / 1e9,
                    r.limiter
                );
                println!("  {:?}\n  {:?} {:?}", r.busy, r.traffic, r.occupancy);
            }
            Err(e) => println!("{e}"),
        }
    }
}
