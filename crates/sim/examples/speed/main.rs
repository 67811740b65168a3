//! How fast the simulator itself is, in processor time: `cargo run --release -p warpsight-sim --example speed -- [--silicon NAME]`.

#[path = "../shared/mod.rs"]
mod shared;

use shared::{checked, ended};
use std::collections::BTreeMap;
use std::process::ExitCode;
use warpsight_ir::{Bindings, Program};
use warpsight_sim::{Report, Sampling, Silicon, SimFault, Simulator};

const KERNELS: [&str; 3] = [include_str!("chase.txt"), include_str!("convolution.txt"), include_str!("matmul.txt")];

/// Of processor time.
fn seconds() -> f64 {
    shared::processor_time().unwrap_or(f64::NAN)
}

/// Arguments: rings that lead on by seven, small numbers.
fn arguments(program: &Program) -> Vec<Vec<u8>> {
    let words = |count: usize, of: &dyn Fn(usize) -> u32| (0..count).map(of).flat_map(u32::to_le_bytes).collect::<Vec<u8>>();
    match &*program.name {
        "chase" => vec![words(256, &|w| if w % 4 == 0 { (w / 4 + 7) as u32 % 64 } else { 0 }), words(768, &|_| 0)],
        "convolution" => [896 * 57, 64 * 144, 912 * 57].map(|texels| words(texels * 4, &|w| (w % 7) as u32)).to_vec(),
        _ => vec![words(512 * 512, &|w| (w % 5) as u32); 3],
    }
}

fn run() -> Result<(), String> {
    let mut words = std::env::args().skip(1);
    let name = match words.next().as_deref() {
        Some("--silicon") => words.next().unwrap_or_default(),
        None => "adreno640".into(),
        Some(other) => return Err(format!("there is no option {other}: speed [--silicon NAME]")),
    };
    let silicon = Silicon::named(&name).ok_or_else(|| format!("there is no silicon {name}"))?;
    let wave = f64::from(silicon.core.wave);
    let simulator = Simulator::new(silicon);
    println!("kernel        mode    M lane accesses/s  M warp requests/s  simulated");
    for text in KERNELS {
        let program = checked(text);
        let sizes: BTreeMap<_, i64> = [("steps".into(), 4096)].into();
        let exact = || {
            let mut bindings = Bindings { sizes: sizes.clone(), data: arguments(&program) };
            let before = seconds();
            simulator.simulate(&program, &mut bindings).map(|report| (report, seconds() - before))
        };
        let timing = || {
            let before = seconds();
            simulator.time(&program, &sizes, Sampling::ALL).map(|report| (report, seconds() - before))
        };
        let told = |mode: &str, (report, took): (Report, f64)| {
            let requests = report.memory_instructions as f64 / took / 1e6;
            println!("{:<13} {mode:<7} {:>17.1} {requests:>18.2} {:>8.3} ms", program.name, requests * wave, report.time.0 * 1e3,);
        };
        told("exact", exact().map_err(|fault| fault.to_string())?);
        match timing() {
            Ok(run) => told("timing", run),
            Err(SimFault::NeedsData { .. }) => println!("{:<13} timing  executed: addresses are loaded", program.name),
            Err(fault) => return Err(fault.to_string()),
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    ended(run())
}
