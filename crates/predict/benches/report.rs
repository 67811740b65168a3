//! How long a cold report takes: `cargo bench -p warpsight-predict`.

use divan::Bencher;
use warpsight_ir::accesses::text;
use warpsight_ir::profile::builtin;
use warpsight_predict::volumes::block::{Sizes, block_uses, instructions};
use warpsight_predict::volumes::report::{Settings, Work, report};
use warpsight_predict::volumes::subject::Subject;

const STAR: &str = include_str!("../../../examples/accesses/star3d-r4-f64.toml");
const LBM: &str = include_str!("../../../examples/accesses/lbm-d3q15-interface.toml");

fn main() {
    divan::main();
}

fn example(name: &str) -> text::Written {
    text::parse(if name == "star" { STAR } else { LBM }, &[]).expect("an example")
}

/// All of a report: from accesses to seconds.
#[divan::bench(args = ["star", "lbm"])]
fn whole(bencher: Bencher, name: &str) {
    let written = example(name);
    let on = builtin("a100-40").expect("built in").expect("parses");
    let work = Work { kernel: &written.kernel, points: written.points };
    bencher.bench(|| report(&work, &on, &Settings::default()));
}

/// What is counted exactly: requests of warps and distinct sectors of blocks.
#[divan::bench(args = ["star", "lbm"])]
fn counts(bencher: Bencher, name: &str) {
    let written = example(name);
    let sizes = Sizes { warp: 32, sector: 32, line: 128, banks: 32 };
    bencher.bench(|| {
        let subject = Subject::of(&written.kernel)?;
        Ok::<_, warpsight_ir::NoEstimate>((instructions(&subject, sizes), block_uses(&subject, sizes)))
    });
}
