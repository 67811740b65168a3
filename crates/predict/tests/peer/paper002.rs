//! `predict --model paper002` against all volumes and rates that the paper's public implementation gives for its configurations.

use super::kernels::{Config, Threads, kernel};
use super::peers;
use serde_json::Value;
use warpsight_ir::accesses::text::Written;
use warpsight_ir::{OpClass, OpCounts, Scalar, profile};
use warpsight_predict::paper002::{Baseline, baseline};

/// Off by at most this.
const NEAR: f64 = 0.01;

/// What both say, in bytes per point, cycles of a core per point, and 1e9 points per second.
const KEYS: [&str; 17] = [
    "L1Load",
    "L2LoadV1",
    "L2LoadV2",
    "L2Store",
    "L1Cycles",
    "memLoadV1",
    "memLoadV2",
    "memLoadV3",
    "memLoadV4",
    "memStoreV1",
    "memStoreV2",
    "perfFlops",
    "perfL1",
    "perfL2V2",
    "perfMemV4",
    "perfV4",
    "limV4",
];

/// A configuration as a text would write it.
fn written(peer: &Value, config: &Value) -> Written {
    let mut numbers = Config::of(peer, config);
    // The model joins neighbours itself.
    numbers.fuses = false;
    let mut written = kernel(peer, &numbers, Threads::Domain);
    written.kernel.registers = peer["kernel"]["registers"].as_u64().unwrap() as u32;
    let flops = config["launch"]["flopsPerLup"].as_f64().unwrap() as u64;
    let mut ops = OpCounts::default();
    // Its `fp_type` is that of all files, the convolution's too, which runs at the rate of f64 lanes nowhere.
    ops.add(OpClass::Float, if peer["kernel"]["cin"].is_u64() { Scalar::F32 } else { Scalar::F64 }, 1, flops);
    written.kernel.ops = ops;
    written
}

fn device(file: &str) -> &'static str {
    let known = [("A100_40GB", "a100-40"), ("MI210", "mi210"), ("RX6900XT", "rx6900xt")];
    known.into_iter().find(|(end, _)| file.ends_with(end)).unwrap_or_else(|| panic!("{file}")).1
}

fn values(own: &Baseline) -> [f64; KEYS.len()] {
    let rate = |name: &str| own.limits.iter().find(|limit| limit.0.name() == name).map_or(f64::INFINITY, |limit| limit.1 / 1e9);
    let (first, behind) = (&own.first_level, &own.behind);
    let limiter = ["fp", "l1", "l2", "dram"].iter().position(|name| *name == own.limiter.name()).unwrap() as f64;
    [
        first.requested,
        first.compulsory,
        first.load,
        first.store,
        first.cycles,
        behind.loads[0],
        behind.loads[1],
        behind.loads[2],
        behind.loads[3],
        behind.stores[0],
        behind.stores[1],
        rate("fp"),
        rate("l1"),
        rate("l2"),
        rate("dram"),
        own.points_per_second / 1e9,
        limiter,
    ]
}

#[test]
fn table() {
    let (mut numbers, mut near) = (0, 0);
    for (name, peer) in peers() {
        let on = profile::builtin(device(&name)).unwrap().unwrap();
        let mut worst = [0.0_f64; KEYS.len()];
        for config in peer["configs"].as_array().unwrap() {
            let own = baseline(&written(&peer, config), &on).unwrap_or_else(|error| panic!("{name} {}: {error}", config["block"]));
            for (i, (key, found)) in KEYS.iter().zip(values(&own)).enumerate() {
                let expected = config["derived"][key].as_f64().unwrap();
                let off = if expected == found { 0.0 } else { (found / expected - 1.0).abs() };
                worst[i] = worst[i].max(off);
                numbers += 1;
                near += usize::from(off <= NEAR);
                if off > NEAR {
                    println!("{name} {}: {key} {found} {expected}", config["block"]);
                }
            }
        }
        let worst: Vec<String> = KEYS.iter().zip(worst).filter(|own| own.1 > 1e-6).map(|(key, off)| format!("{key} {:.3} %", 100.0 * off)).collect();
        println!("{name}: {}", worst.join(", "));
    }
    println!("{near} of {numbers} within {NEAR}");
}
