//! Reports end to end: counts, limiters, what is unknown, what cannot run.

use warpsight_ir::accesses::text::{self, Written};
use warpsight_ir::profile::{Fact, Source, builtin};
use warpsight_ir::{BytesPerSecond, Limiter, NoEstimate, Profile};
use warpsight_predict::volumes::fitted::speed::Speed;
use warpsight_predict::volumes::report::{Report, Settings, Work, report};

const STAR: &str = include_str!("../../../examples/accesses/star3d-r4-f64.toml");

fn a100() -> Profile {
    builtin("a100-40").expect("built in").expect("parses")
}

fn written(text: &str, settings: &[(&str, &str)]) -> Written {
    let settings: Vec<(String, String)> = settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    text::parse(text, &settings).unwrap_or_else(|error| panic!("{error:?}"))
}

fn of(text: &str, settings: &[(&str, &str)], on: &Profile) -> Result<Report, NoEstimate> {
    let written = written(text, settings);
    report(&Work { kernel: &written.kernel, points: written.points }, on, &Settings::default())
}

fn seconds(report: &Report, limiter: Limiter) -> f64 {
    let found = report.limits.iter().find(|limit| limit.0 == limiter);
    found.expect("listed").1.as_ref().expect("known").0
}

#[test]
fn the_star_on_a100() {
    let found = of(STAR, &[], &a100()).unwrap();
    // Blocks of 64 × 4 × 4: a warp is half a row, 32 doubles, 8 sectors and 2 wavefronts where it begins with a sector.
    assert_eq!(found.instructions.len(), 26);
    for cost in &found.instructions {
        assert_eq!(cost.wavefronts, Some(2.0), "{cost:?}");
        assert_eq!(cost.executions, 640 * 512 * 512 / 32);
    }
    // x ± 1, 2, 3 begin within a sector and take a ninth; the 19 others do not. 32 lanes of 8 bytes.
    let requested = 32.0 * (19.0 * 8.0 + 6.0 * 9.0) / 32.0;
    assert_eq!(found.volumes.l1_requested, Some(requested));
    assert_eq!(found.volumes.l2_store, Some(8.0));
    // Per block: 16 + 2 sectors in each of the block's own 16 rows, 16 in 4 more rows and planes on every side.
    let compulsory = 32.0 * f64::from(16 * 18 + 8 * 4 * 16 + 8 * 4 * 16) / 1024.0;
    assert_eq!(found.volumes.l2_load_compulsory, Some(compulsory));
    let l2_load = found.volumes.l2_load.unwrap();
    // What two such blocks use again fits.
    assert_eq!(l2_load, compulsory);
    assert!(l2_load < requested, "{l2_load}");
    assert_eq!((found.occupancy.groups, found.occupancy.warps), (2, 64));
    assert_eq!(found.waves, 10.0 * 128.0 * 128.0 / 216.0);
    // 26 instructions of two cycles for 32 points at least; tags add to those that lie across three lines.
    let cycles = found.l1_cycles_per_point.unwrap();
    assert!((26.0 * 2.0 / 32.0..26.0 * 2.2 / 32.0).contains(&cycles), "{cycles}");
    // 13 instructions of f64 units of 32 lanes.
    let fp = 13.0 * 167_772_160.0 / (32.0 * 108.0 * 1.41e9);
    assert!((seconds(&found, Limiter::Fp) / fp - 1.0).abs() < 0.01);
    assert!(seconds(&found, Limiter::L1) > 2.0 * fp, "25 loads of two cycles against 13 operations of one");
}

#[test]
fn the_time_is_the_norm_of_its_limits() {
    let found = of(STAR, &[], &a100()).unwrap();
    let known: Vec<f64> = found.limits.iter().filter_map(|limit| Some(limit.1.as_ref().ok()?.0)).collect();
    let norm = Speed::of(&a100()).shared.norm;
    // The launch's start overlaps with nothing.
    let start = seconds(&found, Limiter::Launch);
    let limiters = [Limiter::Fp, Limiter::Issue, Limiter::L1, Limiter::Local, Limiter::L2, Limiter::Dram, Limiter::Latency];
    let norm = start + limiters.iter().map(|limiter| seconds(&found, *limiter).powf(norm)).sum::<f64>().powf(1.0 / norm);
    assert!((found.seconds.0 / norm - 1.0).abs() < 1e-12);
    let longest = known.iter().copied().fold(0.0, f64::max);
    assert_eq!(seconds(&found, found.limiter.unwrap()), longest);
    assert!(found.interval.lo.0 < found.seconds.0 && found.seconds.0 < found.interval.hi.0);
    assert!((found.points_per_second * found.seconds.0 / 167_772_160.0 - 1.0).abs() < 1e-12);
}

#[test]
fn unknown_numbers_make_their_limiter_unknown_by_name() {
    type Forget = fn(&mut Profile);
    let cases: [(Limiter, &str, Forget); 5] = [
        (Limiter::Fp, "execution.fma64_per_clock", |on| on.execution.fma64_per_clock = Fact::unknown("nobody says")),
        // A bandwidth alone would say how long its lines take.
        (Limiter::L1, "execution.lsu_lanes", |on| {
            on.execution.lsu_lanes = Fact::unknown("nobody says");
            on.memory.buffer_l1.bandwidth = Fact::unknown("nobody says");
        }),
        (Limiter::L2, "memory.l2.bandwidth", |on| on.memory.l2.bandwidth = Fact::unknown("nobody says")),
        (Limiter::Dram, "memory.dram_bandwidth", |on| on.memory.dram_bandwidth = Fact::unknown("nobody says")),
        (Limiter::Latency, "memory.dram_latency", |on| on.memory.dram_latency = Fact::unknown("nobody says")),
    ];
    for (limiter, field, forget) in cases {
        let mut on = a100();
        forget(&mut on);
        let found = of(STAR, &[], &on).unwrap();
        let reason = found.limits.iter().find(|limit| limit.0 == limiter).unwrap().1.clone().unwrap_err();
        assert!(reason.field == field && reason.reason.contains("nobody says"), "{reason}");
        assert!(found.provenance.iter().any(|note| note.contains(field)), "{:?}", found.provenance);
        assert!(found.seconds.0.is_finite() && found.seconds.0 > 0.0);
    }
}

/// Where nothing but a bandwidth is known of the first level, the lines that warps touch take their part of it.
#[test]
fn lines_take_the_bandwidth_of_a_first_level_of_which_no_more_is_known() {
    let mut on = a100();
    on.execution.lsu_lanes = Fact::unknown("nobody says");
    let mut l1 = |bandwidth: f64| {
        on.memory.buffer_l1.bandwidth = Fact::known(BytesPerSecond(bandwidth), Source::Assumed, "of this test");
        let found = of(STAR, &[], &on).unwrap();
        (seconds(&found, Limiter::L1), found.volumes.l1_requested.expect("it loads"))
    };
    let (took, requested) = l1(1e12);
    let points = took * 1e12 / requested;
    assert!(points > 1.0 && (points - points.round()).abs() < 1e-6 * points, "{took} s for {requested} B of each of {points} points");
    assert!((l1(2e12).0 / took - 0.5).abs() < 1e-9, "half the time at twice the bandwidth");
}

#[test]
fn what_cannot_run_is_said() {
    let refused = |settings: &[(&str, &str)], text: &str| match of(text, settings, &a100()) {
        Err(NoEstimate::CannotRun(why)) => why,
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(&[("block", "64,8,4")], STAR), "a group has 2048 work-items, the device allows 1024");
    let fat = STAR.replace("registers = { base = 24, per_point = 8 }", "registers = 128");
    let why = refused(&[], &fat);
    assert!(why.contains("registers"), "{why}");
}

#[test]
fn degenerate_launches_are_answered() {
    for settings in [&[("domain", "1,1,1")][..], &[("block", "1,1,1")], &[("domain", "33,9,5")], &[("block", "7,3,5")]] {
        let found = of(STAR, settings, &a100()).unwrap_or_else(|error| panic!("{settings:?}: {error}"));
        assert!(found.seconds.0.is_finite() && found.seconds.0 > 0.0, "{settings:?}");
        assert!((0.0..=1.0).contains(&found.tail_efficiency), "{settings:?}");
    }
    let idle = STAR.replace("flops = { f64_fma = 12, f64 = 1 }", "");
    let found = of(&idle, &[], &a100()).unwrap();
    assert_eq!(seconds(&found, Limiter::Fp), 0.0);
    let nothing = "name = \"n\"\nblock = [32]\ndomain = [64]\nregisters = 8\nfield = []\n";
    let mut on = a100();
    on.execution.launch_overhead = Fact::unknown("left out");
    assert!(matches!(of(nothing, &[], &on), Err(NoEstimate::NotCovered(_))));
}

#[test]
fn numbers_move_the_right_way() {
    let mut rng = fastrand::Rng::with_seed(4);
    for _ in 0..12 {
        let block = *rng.choice(&["16,4,4", "32,4,2", "64,4,1", "128,2,2", "8,8,8", "4,16,8"]).unwrap();
        let settings = [("block", block), ("domain", "256,128,64")];
        let fast = of(STAR, &settings, &a100()).unwrap();
        let mut on = a100();
        on.memory.dram_bandwidth = Fact::known(BytesPerSecond(0.5 * 1.381e12), Source::Assumed, "half");
        let slow = of(STAR, &settings, &on).unwrap();
        assert!(slow.seconds.0 > fast.seconds.0, "half the bandwidth is slower");
        let mut before = u32::MAX;
        for registers in [16, 32, 33, 64, 65, 100] {
            let text = STAR.replace("{ base = 24, per_point = 8 }", &registers.to_string());
            let warps = of(&text, &settings, &a100()).unwrap().occupancy.warps;
            assert!(warps <= before, "{registers} registers");
            before = warps;
        }
    }
}

#[test]
fn local_memory_and_constants() {
    let text = |stride: &str, filter: &str| {
        format!(
            "name = \"c\"\nblock = [32, 8]\ndomain = [1024, 1024]\nregisters = 32\nflops = {{ f32_fma = 1 }}\n\
             [[field]]\nname = \"tile\"\nelement = \"f32\"\ndims = [1056, 32]\nkind = \"local\"\nload = [[\"{stride}\", \"0\"]]\n\
             [[field]]\nname = \"w\"\nelement = \"f32\"\ndims = [2048]\nkind = \"constant\"\nload = [[\"{filter}\"]]\n\
             [[field]]\nname = \"out\"\nelement = \"f32\"\ndims = [1024, 1024]\nstore = [[\"tx\", \"ty\"]]\n"
        )
    };
    let on = a100();
    let straight = of(&text("lx", "0"), &[], &on).unwrap();
    let conflicts = of(&text("32*lx", "0"), &[], &on).unwrap();
    let ratio = seconds(&conflicts, Limiter::Local) / seconds(&straight, Limiter::Local);
    assert!((ratio - 32.0).abs() < 1e-9, "a column of 32 banks takes 32 times as long: {ratio}");
    let scattered = of(&text("lx", "lx"), &[], &on).unwrap();
    assert!(seconds(&scattered, Limiter::Issue) > 2.0 * seconds(&straight, Limiter::Issue), "each constant is asked for by itself");
    assert_eq!(straight.volumes.l1_requested, Some(0.0), "neither local memory nor constants go to the first-level cache");
}

/// AMD's cycles per thread by hand.
#[test]
fn the_star_on_amd() {
    let cycles = |device: &str, block: &str| {
        let on = builtin(device).unwrap().unwrap();
        let found = of(STAR, &[("block", block)], &on).unwrap();
        (found.instructions.len(), found.volumes.l1_requested.unwrap(), found.l1_cycles_per_point.unwrap())
    };
    for block in ["1024,1,1", "64,4,4", "8,16,8"] {
        // 9 accesses along x become 5; each of the 21 takes a cycle for four lanes, as does the store.
        let (instructions, requested, cycles) = cycles("mi210", block);
        assert_eq!(instructions, 22);
        assert_eq!(requested, if block == "8,16,8" { 328.0 } else { 188.0 }, "{block}");
        assert!((cycles - 22.0 / 4.0).abs() < 0.02, "{block}: {cycles}");
    }
    // 64 bytes a cycle: 32 lanes of 16 bytes where two neighbours are one, of eight otherwise.
    let (instructions, _, cycles_row) = cycles("rx6900xt", "64,4,4");
    assert_eq!(instructions, 22);
    assert!((cycles_row - (4.0 * 8.0 + 18.0 * 4.0) / 32.0).abs() < 1e-9, "{cycles_row}");
}

#[test]
fn what_exceeds_64_bits_is_refused() {
    // The text form refuses addresses that large; trips can still be too many to count.
    let loops = "[[loop]]\nname = \"i\"\ntrips = 2000000000\n[[loop]]\nname = \"j\"\ntrips = 2000000000\n";
    let text = format!(
        "name = \"n\"\nblock = [32]\ndomain = [64]\nregisters = 8\n{loops}\
         [[field]]\nname = \"A\"\nelement = \"f32\"\ndims = [2000000000]\nload = [[\"tx + i + j\"]]\n"
    );
    assert!(matches!(of(&text, &[], &a100()), Err(NoEstimate::NotCovered(why)) if why.contains("64 bits")));
}

/// The 15 × 15 convolution: 225 loads of a warp for 32 outputs, one cycle each wherever rows begin (and one store); fewer
/// where outputs of a thread share rows of the input.
#[test]
fn the_convolution_is_bound_by_its_loads() {
    let text = include_str!("../../../examples/accesses/conv-image-15.toml");
    let bound = 4096.0 * 4096.0 / 32.0 / (108.0 * 1.41e9);
    for (fold, rows) in [("1,1", 15.0), ("1,4", (15.0 + 3.0 * 8.0) / 4.0)] {
        let found = of(text, &[("fold", fold)], &a100()).unwrap();
        let ratio = seconds(&found, Limiter::L1) / (bound * 15.0 * rows);
        assert!((1.0..1.01).contains(&ratio), "{fold}: {ratio}");
        assert_eq!(found.limiter, Some(Limiter::L1));
    }
}

/// A product of matrices whose tiles lie in local memory, its arithmetic on matrix units: where nothing else limits, the vendor's peak.
#[test]
fn matrix_units_reach_the_vendors_peak() {
    let text = include_str!("../../../examples/accesses/matmul-tiled.toml");
    let peak = |device: &str, class: &str| {
        let text = text.replace("f32_fma = \"k\"", &format!("{class} = \"k\""));
        let found = of(&text, &[("m", "4096"), ("n", "4096"), ("k", "4096")], &builtin(device).unwrap().unwrap()).unwrap();
        2.0 * 4096_f64.powi(3) / seconds(&found, Limiter::Fp) * 1e-12
    };
    for (device, class, vendor) in [
        ("a100-40", "mma", 312.0),
        ("a100-40", "mma_bf16", 312.0),
        ("a100-40", "mma_f32", 156.0),
        ("a100-40", "mma_f64", 19.5),
        ("a100-40", "mma_int8", 624.0),
        ("mi210", "mma", 181.0),
        ("mi300x", "mma_f64", 163.4),
    ] {
        let found = peak(device, class);
        assert!((found / vendor - 1.0).abs() < 0.01, "{device} {class}: {found} TFLOP/s, the vendor says {vendor}");
    }
    // The whole launch, where loads cost next to nothing: each thread multiplies far more than it loads.
    let alone = "name = \"m\"\nblock = [256]\ndomain = [8847360]\nregisters = 32\nflops = { mma = 1000000 }\n\
                 [[field]]\nname = \"C\"\nelement = \"f32\"\ndims = [8847360]\nstore = [[\"tx\"]]\n";
    let found = of(alone, &[], &a100()).unwrap();
    let rate = 2.0 * 8_847_360.0 * 1e6 / found.seconds.0 * 1e-12;
    assert!((rate / 312.0 - 1.0).abs() < 0.01 && found.limiter == Some(Limiter::Fp), "{rate}");
    // The RX 6900 XT has no matrix units, which its limiter says.
    let found = of(alone, &[], &builtin("rx6900xt").unwrap().unwrap()).unwrap();
    let reason = found.limits.iter().find(|limit| limit.0 == Limiter::Fp).unwrap().1.clone().unwrap_err();
    assert!(reason.to_string().starts_with("execution.matrix.f16: AMD RDNA 2 has no matrix units"), "{reason}");
}

/// Loads are not in flight across a barrier: each trip over a tile waits for its own, where without barriers four trips would wait at once.
#[test]
fn loads_in_flight_end_at_a_barrier() {
    let text = include_str!("../../../examples/accesses/matmul-tiled.toml");
    let without: String = text
        .split("[[barrier]]")
        .map(|part| part.split_once("in = \"kt\"\n").filter(|_| part.starts_with("  ")).map_or(part, |cut| cut.1))
        .collect();
    assert!(!without.contains("barrier"), "{without}");
    let latency = |text: &str| seconds(&of(text, &[], &a100()).unwrap(), Limiter::Latency);
    let (with, without) = (latency(text), latency(&without));
    assert!(with > 1.5 * without, "{with} against {without}");
}

#[test]
fn conditions_that_cannot_be_followed_are_named() {
    let notes = |guard: &str| {
        let text = format!(
            "name = \"g\"\nblock = [32, 8]\ndomain = [1024, 1024]\nregisters = 32\n[[loop]]\nname = \"k\"\ntrips = 4\n\
             [[field]]\nname = \"A\"\nelement = \"f32\"\ndims = [1024, 1024, 4]\n\
             load = [[\"tx\", \"ty\", \"k\"], {{ at = [\"tx+1\", \"ty\", \"k\"], guard = [\"{guard}\"] }}]\n"
        );
        let found = of(&text, &[], &a100()).unwrap().provenance;
        found.into_iter().filter(|note| note.contains("condition")).collect::<Vec<_>>()
    };
    assert!(notes("tx < 1000").is_empty() && notes("ty >= 3").is_empty() && notes("2*tx < 1000").is_empty());
    assert_eq!(notes("bx < 7"), ["`A`, access 1: a condition on no single coordinate is taken to hold behind L2"]);
    let said = |what: &str| [format!("`A`, access 1: a condition on {what} is taken to hold, so that it is counted for too many lanes")];
    assert_eq!(notes("tx < ty"), said("several lanes"));
    assert_eq!(notes("tx < 1000 - k"), said("a loop"));
    assert_eq!(notes("tx + ty < 1000 + k"), said("several lanes or a loop"));
}

/// `null` is unknown, and the provenance says why; nothing is less than nothing.
#[test]
fn what_is_unknown_has_its_reason() {
    let image = include_str!("../../../examples/accesses/filter-image.toml");
    let mut unknown = std::collections::BTreeSet::new();
    for on in warpsight_ir::profile::builtin_names().into_iter().map(|name| builtin(name).unwrap().unwrap()) {
        for text in [STAR, image] {
            let Ok(found) = of(text, &[], &on) else { continue };
            let v = &found.volumes;
            let wavefronts = found.instructions.iter().map(|cost| cost.wavefronts).reduce(|a, b| a.and(b)).flatten();
            let level = |name: &'static str, value: Option<f64>, cause: &'static str| (name, value, cause);
            for (name, value, cause) in [
                level("l1_cycles_per_point", found.l1_cycles_per_point, "l1"),
                level("wavefronts of images", wavefronts, "-"),
                level("l2_load", v.l2_load, "l2"),
                level("dram_load", v.dram_load, "dram"),
                level("dram_load_wave", v.dram_load_wave, "dram"),
            ] {
                match value {
                    Some(value) => assert!(value.is_sign_positive() && value.is_finite(), "{}: {name} {value}", on.name),
                    None => {
                        unknown.insert(name);
                        let said = |note: &String| [name, cause].iter().any(|what| note.starts_with(*what) && note.contains("unknown"));
                        assert!(found.provenance.iter().any(said), "{}: {name}: {:?}", on.name, found.provenance);
                    }
                }
            }
        }
    }
    assert!(unknown.contains("l1_cycles_per_point") && unknown.contains("wavefronts of images"), "{unknown:?}");
    let spilled = of(STAR, &[("registers", "300"), ("block", "64,1,1")], &a100()).unwrap().provenance;
    assert!(
        spilled.iter().any(|note| note.starts_with("a work-item has no registers for all of the 300 words that it computes with")),
        "{spilled:?}"
    );
}

/// Whatever side a condition is written from, the halves that it leaves are half of the whole at every level.
#[test]
fn conditions_leave_the_same_part_at_every_level() {
    let half = |guard: &str, load: &str| {
        let text = format!(
            "name = \"h\"\nblock = [256]\ndomain = [1048576]\nregisters = 16\nguard = [\"{guard}\"]\n\
             [[field]]\nname = \"A\"\nelement = \"f32\"\ndims = [4194304]\nload = [[\"{load}\"]]\n\
             [[field]]\nname = \"B\"\nelement = \"f32\"\ndims = [1048576]\nstore = [[\"tx\"]]\n"
        );
        let v = of(&text, &[], &a100()).unwrap().volumes;
        [v.l2_load_compulsory, v.dram_load, v.l2_store, v.dram_store].map(|bytes| (bytes.unwrap() * 1000.0).round() / 1000.0)
    };
    let all = half("tx >= 0", "tx");
    assert_eq!(all, [4.0; 4]);
    for guard in ["tx < 524288", "524288 > tx", "tx >= 524288", "2*tx < 1048576", "524287 - tx >= 0"] {
        assert_eq!(half(guard, "tx"), [2.0; 4], "{guard}");
        assert_eq!(half(guard, "4194303 - 2*tx"), [4.0, 4.0, 2.0, 2.0], "{guard}");
    }
    assert_eq!(half("tx < 0", "tx"), [0.0; 4]);
}

/// Any block that a device can run, on any domain, folded or not: an answer, of finite volumes that are at least what is touched once.
#[test]
fn odd_shapes_are_answered() {
    let mut rng = fastrand::Rng::with_seed(8);
    let on = a100();
    for _ in 0..100 {
        let mut block = [rng.u32(1..=64), rng.u32(1..=32), rng.u32(1..=16)].map(|n| if rng.bool() { n.next_power_of_two() } else { n });
        if rng.u8(0..4) == 0 {
            block = *rng.choice(&[[1024, 1, 1], [1, 1024, 1], [1, 1, 1024], [1, 32, 32], [513, 1, 1], [1, 1, 1]]).unwrap();
        }
        if block.iter().product::<u32>() > 1024 {
            continue;
        }
        let list = |values: [u32; 3]| values.map(|n| n.to_string()).join(",");
        let domain = [rng.u32(1..1500), rng.u32(1..700), rng.u32(1..700)];
        let fold = [rng.u32(1..3), rng.u32(1..3), rng.u32(1..4)];
        let (block, domain, fold) = (list(block), list(domain), list(fold));
        let settings = [("block", block.as_str()), ("domain", &domain), ("fold", &fold), ("nx", "1500"), ("ny", "700"), ("nz", "700")];
        let found = match of(STAR, &settings, &on) {
            // Folded points take registers.
            Err(NoEstimate::CannotRun(_)) => continue,
            found => found.unwrap_or_else(|error| panic!("{settings:?}: {error}")),
        };
        let volumes = [found.volumes.dram_load, found.volumes.dram_store, found.volumes.dram_load_wave].map(|volume| volume.unwrap());
        assert!(volumes.iter().all(|volume| volume.is_finite() && *volume >= 7.9), "{settings:?}: {volumes:?}");
        assert!(found.seconds.0.is_finite() && found.seconds.0 > 0.0, "{settings:?}");
    }
}

#[test]
fn lanes_in_pages_of_their_own_miss_translations() {
    let text = "name = \"pages\"\nblock = [64]\ndomain = [65536]\nregisters = 16\n[[field]]\nname = \"A\"\nelement = \"f64\"\n\
                dims = [262144, 65536]\nload = [[\"0\", \"tx\"]]\n";
    let mi210 = builtin("mi210").unwrap().unwrap();
    let apart = of(text, &[], &mi210).unwrap();
    // 2 MiB a lane: one wave of 104 × 32 blocks would be 416 GiB, so that all 1,024 blocks are in flight, 128 GiB against 64 MiB. 64 pages a
    // warp, 108 cycles each; ten blocks side by side on the busiest core.
    let alone = 64.0 * 108.0 * (1.0 - 1.0 / 2048.0) / 1.7e9;
    assert!((seconds(&apart, Limiter::Tlb) / alone - 1.0).abs() < 1e-9, "{} {alone}", seconds(&apart, Limiter::Tlb));
    let near = of(&text.replace("[\"0\", \"tx\"]", "[\"tx\", \"0\"]"), &[], &mi210).unwrap();
    assert_eq!(seconds(&near, Limiter::Tlb), 0.0);
    // First touches of pages in MT4G's chase: 495 cycles on A100.
    assert!(seconds(&of(text, &[], &a100()).unwrap(), Limiter::Tlb) > 0.0);
    // What a miss costs the A40 is not known: the limiter says so where a wave touches more than recordings did.
    let found = of(text, &[], &builtin("a40").unwrap().unwrap()).unwrap();
    let reason = found.limits.iter().find(|limit| limit.0 == Limiter::Tlb).unwrap().1.clone().unwrap_err();
    assert_eq!(reason.field, "memory.tlb.miss_latency");
}
