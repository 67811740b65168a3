//! More clock, bandwidth or capacity never predicts a launch slower: the kernels of `examples/accesses` on every profile. More cores, or
//! more that a core holds at once, may: what runs side by side may evict each other's lines.

use warpsight_ir::accesses::text::{self, Written};
use warpsight_ir::profile::{builtin, builtin_names};
use warpsight_predict::volumes::report::{Settings, Work, report};

const KEYS: [&str; 12] = [
    "execution.clock",
    "memory.dram_bandwidth",
    "memory.l2.bandwidth",
    "memory.llc.bandwidth",
    "memory.buffer_l1.bandwidth",
    "memory.texture_l1.bandwidth",
    "memory.l2.bytes",
    "memory.l2_effective",
    "memory.llc.bytes",
    "memory.buffer_l1.bytes",
    "memory.texture_l1.bytes",
    "memory.tlb.reach",
];
const FACTORS: [f64; 7] = [0.25, 0.5, 0.9, 1.0, 1.3, 2.0, 4.0];
/// Pairs of devices that are compared, sampled by seed; `WARPSIGHT_SAMPLES` asks for more.
const SAMPLES: usize = 600;

#[test]
fn more_of_a_device_is_never_slower() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/accesses");
    let mut files: Vec<_> = std::fs::read_dir(folder).expect("the examples").map(|file| file.expect("a file").path()).collect();
    files.sort();
    let read = |file: &std::path::PathBuf| text::parse(&std::fs::read_to_string(file).expect("text"), &[]).expect("a kernel");
    let kernels: Vec<Written> = files.iter().map(read).collect();
    let names = builtin_names();
    let mut rng = fastrand::Rng::with_seed(14);
    let samples = std::env::var("WARPSIGHT_SAMPLES").ok().and_then(|text| text.parse().ok()).unwrap_or(SAMPLES);
    let (mut compared, mut faster, mut slower) = (0, 0, Vec::new());
    for _ in 0..samples {
        let (at, name, key) = (rng.usize(..kernels.len()), names[rng.usize(..names.len())], KEYS[rng.usize(..KEYS.len())]);
        let less = rng.usize(..FACTORS.len() - 1);
        let more = rng.usize(less + 1..FACTORS.len());
        let profile = builtin(name).expect("a profile").expect("it parses");
        let Some((_, value)) = profile.numbers().into_iter().find(|number| number.0 == key) else { continue };
        let seconds = |factor: f64| {
            let on = profile.with(key, &(value * factor).to_string()).expect("a number that a device can have");
            let work = Work { kernel: &kernels[at].kernel, points: kernels[at].points };
            Some(report(&work, &on, &Settings::default()).ok()?.seconds.0)
        };
        let (Some(before), Some(after)) = (seconds(FACTORS[less]), seconds(FACTORS[more])) else { continue };
        compared += 1;
        faster += usize::from(after < before * (1.0 - 1e-6));
        if after > before * (1.0 + 1e-9) {
            let file = files[at].file_name().expect("a name").to_string_lossy();
            slower.push(format!("{file} on {name}: {key} × {} {before} s, × {} {after} s (predicted)", FACTORS[less], FACTORS[more]));
        }
    }
    assert!(slower.is_empty(), "{} of {compared}:\n{}", slower.len(), slower.join("\n"));
    assert!(compared * 3 > samples && faster * 5 > compared, "{faster} of {compared} faster");
}
