//! Launches timed by parts beside whole ones, on 200 kernels: `cargo run --release -p warpsight-engine --example sampled -- [SILICON]`.
//!
//! Twenty operators, ten candidates of each at even ranks of the model, the best and the worst among them. The numbers that
//! [`warpsight_sim::SampleError`] states are this command's; exact and timing mode agree to the cycle (`differential` of `warpsight-sim`).

use std::error::Error;
use warpsight_generate::ScheduleFamily;
use warpsight_generate::operators::parse_operator;
use warpsight_generate::prune::{Allowance, prune};
use warpsight_ir::sample::quantile;
use warpsight_ir::{Config, Family, RankFamily, profile};
use warpsight_predict::KernelModel;
use warpsight_sim::{Sampling, Silicon, SimFault, Simulator};

/// The distinct convolutions of ResNet-18.
const RESNET: [&str; 11] = [
    "conv2d n=1 c=3 h=224 w=224 k=64 r=7 s=7 stride=2 pad=3",
    "conv2d n=1 c=64 h=56 w=56 k=64 r=3 s=3 stride=1 pad=1",
    "conv2d n=1 c=64 h=56 w=56 k=128 r=3 s=3 stride=2 pad=1",
    "conv2d n=1 c=64 h=56 w=56 k=128 r=1 s=1 stride=2 pad=0",
    "conv2d n=1 c=128 h=28 w=28 k=128 r=3 s=3 stride=1 pad=1",
    "conv2d n=1 c=128 h=28 w=28 k=256 r=3 s=3 stride=2 pad=1",
    "conv2d n=1 c=128 h=28 w=28 k=256 r=1 s=1 stride=2 pad=0",
    "conv2d n=1 c=256 h=14 w=14 k=256 r=3 s=3 stride=1 pad=1",
    "conv2d n=1 c=256 h=14 w=14 k=512 r=3 s=3 stride=2 pad=1",
    "conv2d n=1 c=256 h=14 w=14 k=512 r=1 s=1 stride=2 pad=0",
    "conv2d n=1 c=512 h=7 w=7 k=512 r=3 s=3 stride=1 pad=1",
];

/// Others: depthwise and pointwise layers of MobileNetV2, products, and sizes that nothing divides.
const OTHERS: [&str; 9] = [
    "dwconv2d n=1 c=144 h=56 w=56 r=3 s=3 stride=1 pad=1",
    "dwconv2d n=1 c=576 h=14 w=14 r=3 s=3 stride=1 pad=1",
    "conv2d n=1 c=24 h=56 w=56 k=144 r=1 s=1 stride=1 pad=0",
    "conv2d n=1 c=160 h=7 w=7 k=960 r=1 s=1 stride=1 pad=0",
    "conv2d n=1 c=32 h=57 w=57 k=24 r=3 s=3 stride=1 pad=1",
    "conv2d n=1 c=16 h=113 w=113 k=20 r=5 s=5 stride=1 pad=2",
    "matmul m=512 n=512 k=512",
    "matmul m=197 n=768 k=768",
    "matmul m=1000 n=64 k=128",
];

/// Candidates of an operator, and configurations that are ranked for them.
const EACH: usize = 10;
const RANKED: usize = 400;

/// Seconds that a processor worked for this thread.
fn seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_whitespace().next().and_then(|time| time.parse::<f64>().ok()).map_or(f64::NAN, |time| time / 1e9)
}

fn main() -> Result<(), Box<dyn Error>> {
    let name = std::env::args().nth(1).unwrap_or("adreno640".into());
    let silicon = Silicon::named(&name).ok_or_else(|| format!("there is no silicon {name}"))?;
    let profile = profile::builtin(&name).ok_or_else(|| format!("there is no profile {name}"))??;
    let simulator = Simulator::new(silicon);
    let (mut errors, mut worst, mut parts) = (vec![], (0.0, String::new()), 0);
    let (mut whole_s, mut timed_s) = (0.0, 0.0);
    let mut medians: Vec<(f64, f64)> = vec![];
    for operator in RESNET.iter().chain(&OTHERS) {
        let family = ScheduleFamily::new(parse_operator(operator)?.steps.remove(0));
        let all: Vec<Config> = prune(&family, family.configs(), &Allowance::of(&profile)).map(|own| own.0).collect();
        let some: Vec<Config> = all.iter().step_by((all.len() / RANKED).max(1)).cloned().collect();
        let ranked = KernelModel.rank(&family, &mut some.iter().cloned(), &profile, some.len())?;
        for at in 0..EACH {
            let config = &ranked[at * (ranked.len() - 1) / (EACH - 1)].config;
            let program = family.finish(config)?;
            let run = |sampling| {
                let before = seconds();
                let report = simulator.time(&program, &Default::default(), sampling);
                report.map(|report| (report, seconds() - before)).map_err(Box::<SimFault>::new)
            };
            let ((whole, whole_for), (timed, timed_for)) = (run(Sampling::ALL)?, run(Sampling::default())?);
            let error = (timed.cycles.0 / whole.cycles.0 - 1.0).abs();
            parts += usize::from(timed.sampled.is_some());
            errors.push(error);
            (whole_s, timed_s) = (whole_s + whole_for, timed_s + timed_for);
            if error > worst.0 {
                worst = (error, format!("{operator}, {}: {:.0} instead of {:.0} cycles", program.name, timed.cycles.0, whole.cycles.0));
            }
            if at == EACH / 2 && RESNET.contains(operator) {
                medians.push((timed_for, timed.memory_instructions as f64));
            }
        }
        eprint!(".");
    }
    eprintln!();
    errors.sort_by(f64::total_cmp);
    let percent = |part: f64| 100.0 * quantile(&errors, part).unwrap_or(f64::NAN);
    println!("{name}: {} kernels, {parts} of them by parts", errors.len());
    println!(
        "  error against all groups: median {:.2} %, 95 of 100 {:.2} %, worst {:.2} % ({})",
        percent(0.5),
        percent(0.95),
        percent(1.0),
        worst.1
    );
    println!("  processor time: {whole_s:.2} s for all groups, {timed_s:.2} s by parts");
    let total: f64 = medians.iter().map(|median| median.0).sum();
    println!("  the model's median candidates of ResNet-18's convolutions: {:.1} launches a second", medians.len() as f64 / total);
    for (operator, (seconds, requests)) in RESNET.iter().zip(&medians) {
        println!("    {:>7.1} ms, {:>9.0} memory instructions: {operator}", seconds * 1e3, requests);
    }
    Ok(())
}
