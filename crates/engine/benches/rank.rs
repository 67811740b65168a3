//! How long it takes to judge configurations: `cargo bench -p warpsight-engine`.

use divan::Bencher;
use warpsight_generate::ScheduleFamily;
use warpsight_generate::operators::parse_operator;
use warpsight_generate::prune::{Allowance, prune};
use warpsight_ir::{Config, Family, RankFamily, profile};
use warpsight_predict::KernelModel;

const OPERATORS: [&str; 4] = [
    "conv2d n=1 c=64 h=56 w=56 k=64 r=3 s=3 stride=1 pad=1",
    "conv2d n=1 c=32 h=2 w=96 k=200 r=1 s=1 stride=1 pad=0",
    "dwconv2d n=1 c=104 h=3 w=96 r=5 s=5 stride=1 pad=2",
    "matmul m=512 n=512 k=512",
];

fn main() {
    divan::main();
}

fn open(op: &str) -> (ScheduleFamily, Vec<Config>) {
    let family = ScheduleFamily::new(parse_operator(op).expect("an operator").steps.remove(0));
    let configs: Vec<Config> = family.configs().collect();
    // A thousand spread evenly over the space.
    let step = configs.len() / 1000;
    let chosen = configs.into_iter().step_by(step.max(1)).take(1000).collect();
    (family, chosen)
}

/// The figure: at most 20 ms on one core.
#[divan::bench(args = OPERATORS)]
fn rank_1000(bencher: Bencher, op: &str) {
    let (family, configs) = open(op);
    let profile = profile::builtin("adreno640").expect("is there").expect("parses");
    bencher.bench(|| KernelModel.rank(&family, &mut configs.iter().cloned(), &profile, 8).expect("ranks"));
}

/// Dropping what a device cannot run.
#[divan::bench(args = OPERATORS)]
fn prune_1000(bencher: Bencher, op: &str) {
    let (family, configs) = open(op);
    bencher.bench(|| prune(&family, configs.iter().cloned(), &Allowance::default()).count());
}

/// Enumerating a whole space.
#[divan::bench(args = OPERATORS)]
fn enumerate(bencher: Bencher, op: &str) {
    let (family, _) = open(op);
    bencher.bench(|| family.configs().count());
}

/// Lowering one configuration, for comparison.
#[divan::bench(args = OPERATORS)]
fn lower_1(bencher: Bencher, op: &str) {
    let (family, configs) = open(op);
    bencher.bench(|| family.finish(&configs[configs.len() / 2]).expect("lowers"));
}
