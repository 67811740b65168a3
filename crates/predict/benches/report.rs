//! How long a cold report takes: `cargo bench -p warpsight-predict`.

use divan::Bencher;
use warpsight_ir::accesses::text;
use warpsight_ir::profile::builtin;
use warpsight_predict::volumes::first_level::block::{block_uses, instructions};
use warpsight_predict::volumes::first_level::costs::Sizes;
use warpsight_predict::volumes::kernel::subject::Subject;
use warpsight_predict::volumes::report::{Settings, Work, report};

const EXAMPLES: [&str; 5] = ["star3d-r4-f64", "lbm-d3q15-interface", "transpose-tiled", "matmul-tiled", "ell-product"];

fn main() {
    divan::main();
}

fn example(name: &str, settings: &[(String, String)]) -> text::Written {
    let file = format!("{}/../../examples/accesses/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    text::parse(&std::fs::read_to_string(file).expect("an example"), settings).expect("an example")
}

/// All of a report: from accesses to seconds.
#[divan::bench(args = EXAMPLES)]
fn whole(bencher: Bencher, name: &str) {
    let written = example(name, &[]);
    let on = builtin("a100-40").expect("built in").expect("parses");
    let work = Work { kernel: &written.kernel, points: written.points };
    bencher.bench(|| report(&work, &on, &Settings::default()));
}

/// What is counted exactly: requests of warps and distinct sectors of blocks.
#[divan::bench(args = EXAMPLES)]
fn counts(bencher: Bencher, name: &str) {
    let written = example(name, &[]);
    let sizes = Sizes { warp: 32, sector: 32, line: 128, banks: 32, texture: None };
    bencher.bench(|| {
        let subject = Subject::of(&written.kernel)?;
        Ok::<_, warpsight_ir::NoEstimate>((instructions(&subject, sizes), block_uses(&subject, sizes)))
    });
}

/// The star in the shapes that an exploration goes through: one after another, so that the mean counts.
#[divan::bench(args = ["1024,1,1", "64,16,1", "16,8,8", "8,4,32", "4,16,16", "1,32,32", "1,1024,1", "1,1,1024", "7,11,13", "48,5,3"])]
fn star(bencher: Bencher, block: &str) {
    let setting = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let written = example("star3d-r4-f64", &[setting("block", block), setting("nx", "600"), setting("fold", "1,1,2")]);
    let on = builtin("a100-40").expect("built in").expect("parses");
    let work = Work { kernel: &written.kernel, points: written.points };
    bencher.bench(|| report(&work, &on, &Settings::default()));
}
