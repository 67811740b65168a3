//! What a text does not know: loops that nothing mentions, ranges of numbers, addresses that depend on data.

use warpsight_ir::Profile;
use warpsight_ir::accesses::text::{Document, Written};
use warpsight_ir::profile::builtin;
use warpsight_predict::volumes::report::unknowns::report_text;
use warpsight_predict::volumes::report::{Report, Settings};

fn a100() -> Profile {
    builtin("a100-40").expect("built in").expect("parses")
}

fn read(text: &str, settings: &[(&str, &str)]) -> (Document, Vec<(String, String)>, Written) {
    let set: Vec<(String, String)> = settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let document = Document::read(text).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
    let written = document.written(&set).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
    (document, set, written)
}

fn on(text: &str, settings: &[(&str, &str)], on: &Profile) -> Report {
    let (document, set, written) = read(text, settings);
    report_text((&document, &set), &written, on, &Settings::default()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn of(text: &str, settings: &[(&str, &str)]) -> Report {
    on(text, settings, &a100())
}

const COPY: &str = r#"
name = "copy"
block = [256]
domain = ["n"]
registers = 32
flops = { f32_fma = 1 }
[params]
n = 1048576
m = 1
[[loop]]
name = "t"
trips = "m"
[[field]]
name = "A"
element = "f32"
dims = ["n"]
load = [["tx"]]
[[field]]
name = "B"
element = "f32"
dims = ["n"]
store = [["tx"]]
"#;

#[test]
fn a_loop_that_nothing_mentions_counts() {
    let [once, often] = ["1", "100"].map(|trips| of(COPY, &[("m", trips)]));
    let executions = |report: &Report| report.instructions.iter().map(|own| own.executions).sum::<u64>();
    assert_eq!((executions(&once), executions(&often)), (65536, 6_553_600));
    // The same addresses again and again: memory gives and takes them once.
    let volumes = |report: &Report| (report.volumes.dram_load, report.volumes.dram_store, report.volumes.l2_load_compulsory);
    assert_eq!(volumes(&once), volumes(&often));
    assert_eq!(often.volumes.l1_requested, once.volumes.l1_requested.map(|bytes| 100.0 * bytes));
    assert!(often.seconds.0 > 5.0 * once.seconds.0, "{} {}", often.seconds.0, once.seconds.0);
    assert!(often.provenance.iter().any(|own| own.starts_with("loop `t`: nothing mentions it")), "{:?}", often.provenance);
}

#[test]
fn intervals_cover_what_is_not_known() {
    let text = COPY.replace("m = 1\n", "m = { lo = 1, hi = 64, typical = 20 }\n");
    let unknown = of(&text, &[]);
    let [lo, typical, hi] = ["1", "20", "64"].map(|trips| of(&text, &[("m", trips)]));
    assert_eq!(unknown.seconds, typical.seconds);
    // Kinds of kernels have intervals of their own: one of arithmetic differs from one of memory.
    let least = lo.interval.lo.0.min(typical.interval.lo.0).min(hi.interval.lo.0);
    let most = lo.interval.hi.0.max(typical.interval.hi.0).max(hi.interval.hi.0);
    assert_eq!((unknown.interval.lo.0, unknown.interval.hi.0), (least, most));
    assert!(unknown.interval.basis.starts_with("covers what is not known: `m` from 1 to 64; "), "{}", unknown.interval.basis);
    let said = "`m` is not known: taken for 20, the interval covers 1 to 64 (between these the file says it lies)";
    assert!(unknown.provenance.iter().any(|own| own == said), "{:?}", unknown.provenance);
    // Triangles: executions are those of the mean, the interval reaches to the most trips.
    let triangle =
        COPY.replace("trips = \"m\"", "trips = 9\n[[loop]]\nname = \"i\"\ntrips = \"2*k + 1\"").replace("name = \"t\"", "name = \"k\"");
    let found = of(&triangle, &[]);
    assert_eq!(found.instructions[0].executions, 32768 * 9 * 9);
    assert_eq!(found.interval.hi, of(&triangle, &[("trips.i", "17")]).interval.hi);
}

#[test]
fn the_read_only_path_has_its_price() {
    let conv = include_str!("../../../examples/accesses/conv-image-15.toml");
    let through = &conv.replace("dims = [\"n+14\"", "path = \"read_only\"\ndims = [\"n+14\"");
    assert_ne!(conv, through);
    for (device, least, most, said) in
        [("a100-40", 1.4, 2.28, "2.28 times"), ("a40", 1.1, 1.3, "1.3 times"), ("mi250x", 1.0, 1.0, "no such path")]
    {
        let device = builtin(device).unwrap().unwrap();
        let (plain, found) = (on(conv, &[], &device), on(through, &[], &device));
        let ratio = found.seconds.0 / plain.seconds.0;
        assert!((least..=most).contains(&ratio), "{}: {ratio}", device.name);
        assert!(found.provenance.iter().any(|own| own.contains("read-only path") && own.contains(said)), "{:?}", found.provenance);
        // Most of the recorded pairs lie within.
        let wider = (found.interval.hi.0 / found.interval.lo.0) / (plain.interval.hi.0 / plain.interval.lo.0);
        assert!(if most > 1.0 { wider > 1.4 } else { wider == 1.0 }, "{}: {wider}", device.name);
    }
}

const GATHER: &str = r#"
name = "gather"
block = [256]
domain = ["n"]
registers = 32
[params]
n = 4194304
s = 4194304
[[field]]
name = "idx"
element = "i32"
dims = ["n"]
load = [["tx"]]
[[field]]
name = "X"
element = "f64"
dims = ["n"]
load = [{ index = { proxy = "tx", spread = "s" } }]
[[field]]
name = "Y"
element = "f64"
dims = ["n"]
store = [["tx"]]
"#;

/// Means over draws of distinct pieces of `piece` bytes that the warps and the block of 256 threads touch; `draw` of a thread's number.
fn enumerated(draw: impl Fn(&mut fastrand::Rng, u64) -> Vec<u64>, element: u64) -> [f64; 2] {
    let mut rng = fastrand::Rng::with_seed(7);
    let (mut warps, mut blocks) = (0, 0);
    const TIMES: usize = 400;
    for _ in 0..TIMES {
        let drawn: Vec<u64> = draw(&mut rng, 256).iter().map(|at| at * element / 32).collect();
        let distinct = |own: &[u64]| own.iter().collect::<std::collections::HashSet<_>>().len();
        warps += drawn.chunks(32).map(distinct).sum::<usize>();
        blocks += distinct(&drawn);
    }
    [warps as f64 / (8 * TIMES) as f64, blocks as f64 / TIMES as f64]
}

#[test]
fn draws_touch_as_many_sectors_as_enumeration_finds() {
    let close = |what: &str, report: &Report, expected: [f64; 2]| {
        let x = &report.volumes.per_field[1];
        // 32 threads of a warp, and bytes of a sector.
        let found = [x.l1_requested, x.l2_load_compulsory * 256.0 / 32.0];
        for (found, expected) in found.iter().zip(expected) {
            assert!((found / expected - 1.0).abs() < 0.02, "{what}: {found} of {expected} in {expected:?}");
        }
    };
    for elements in [16, 64, 300, 1000, 20_000, 4_194_304_u64] {
        let text = GATHER.replace("s = 4194304", &format!("s = {elements}"));
        let expected = enumerated(|rng, lanes| (0..lanes).map(|_| rng.u64(0..elements)).collect(), 8);
        close(&format!("random {elements}"), &of(&text, &[]), expected);
    }
    for width in [4, 40, 400, 4000_u64] {
        let text = GATHER.replace("spread = \"s\"", &format!("spread = \"s\", pattern = \"banded:{width}\""));
        let expected = enumerated(
            |rng, lanes| {
                let begin = rng.u64(0..1000);
                (0..lanes).map(|lane| begin + lane + rng.u64(0..width)).collect()
            },
            8,
        );
        close(&format!("banded {width}"), &of(&text, &[]), expected);
    }
    // Ascending: of the launch's 2²² samples those of a block are neighbours.
    for elements in [1 << 20, 1 << 22, 1 << 25_u64] {
        let text =
            GATHER.replace("s = 4194304", &format!("s = {elements}")).replace("spread = \"s\"", "spread = \"s\", pattern = \"sorted\"");
        let expected = enumerated(
            |rng, lanes| {
                let gap = elements as f64 / 4_194_304.0;
                let mut at = rng.f64() * 1000.0;
                (0..lanes)
                    .map(|_| {
                        at -= (1.0 - rng.f64()).ln() * gap;
                        at as u64
                    })
                    .collect()
            },
            8,
        );
        close(&format!("sorted {elements}"), &of(&text, &[]), expected);
    }
}

#[test]
fn a_random_gather_costs_what_it_scatters() {
    let known = of(GATHER, &[("s", "1")]);
    let random = of(GATHER, &[]);
    assert!(random.seconds.0 > 2.0 * known.seconds.0, "{} {}", random.seconds.0, known.seconds.0);
    let x = |report: &Report| report.volumes.per_field[1].clone();
    assert!((x(&random).l1_requested - 32.0).abs() < 0.1, "a sector each: {:?}", x(&random));
    assert_eq!(x(&known).l1_requested, 8.0);
    // What the second level cannot hold is fetched 64 bytes at a time, again and again.
    assert!(x(&random).dram_load.unwrap() > 2.0 * x(&known).dram_load.unwrap(), "{:?}", x(&random));
    let sorted = of(&GATHER.replace("spread = \"s\"", "spread = \"s\", pattern = \"sorted\""), &[]);
    let banded = of(&GATHER.replace("spread = \"s\"", "spread = \"s\", pattern = \"banded:4096\""), &[]);
    assert!(
        sorted.seconds.0 < 1.01 * banded.seconds.0 && banded.seconds < random.seconds,
        "{:?} {:?} {:?}",
        sorted.seconds,
        banded.seconds,
        random.seconds
    );
    // The more elements, the longer.
    let times: Vec<f64> = (2..26).step_by(3).map(|bits| of(GATHER, &[("s", &(1_u64 << bits).to_string())]).seconds.0).collect();
    assert!(times.windows(2).all(|pair| pair[1] > 0.995 * pair[0]), "{times:?}");
    let said = random.provenance.iter().find(|own| own.contains("`X`, access 1")).expect("said");
    assert!(said.contains("any of 4194304 elements, drawn at random"), "{said}");
}

#[test]
fn intervals_cover_the_registers_that_a_kernel_may_have() {
    let star = include_str!("../../../examples/accesses/star3d-r4-f64.toml");
    let text: String = star.lines().filter(|line| !line.starts_with("registers")).map(|line| format!("{line}\n")).collect();
    let found = of(&text, &[]);
    let own = read(&text, &[]).2.unknowns.remove(0);
    // Blocks of 1024 threads have room for 64.
    assert!(own.hi > 64, "{own:?}");
    let [least, typical, most] = [own.lo, own.typical, 64].map(|n| of(&text, &[("registers", &n.to_string())]));
    assert_eq!(found.seconds, typical.seconds);
    assert!(least.occupancy.warps > most.occupancy.warps);
    let ends = [&least, &typical, &most].map(|report| report.interval.clone());
    assert_eq!(found.interval.lo.0, ends.iter().map(|own| own.lo.0).fold(f64::INFINITY, f64::min));
    assert_eq!(found.interval.hi.0, ends.iter().map(|own| own.hi.0).fold(0.0, f64::max));
    let said = found.provenance.iter().find(|own| own.starts_with("`registers` is not known")).expect("said");
    assert!(said.contains("estimated from what a thread loads and keeps") && said.contains("the last is at 64"), "{said}");
}

const HISTOGRAM: &str = r#"
name = "histogram"
block = [256]
domain = ["n"]
registers = 16
[params]
n = 16777216
bins = 1
[[field]]
name = "data"
element = "i32"
dims = ["n"]
load = [["tx"]]
[[field]]
name = "bins"
element = "i32"
dims = ["bins"]
atomic = [[{ proxy = 0, spread = "bins" }]]
"#;

#[test]
fn atomics_of_few_addresses_wait_for_each_other() {
    let seconds = |bins: u64| of(HISTOGRAM, &[("bins", &bins.to_string())]).seconds.0;
    let times: Vec<f64> = (0..=20).step_by(2).map(|bits| seconds(1 << bits)).collect();
    // The fewer bins, the longer, as long as they are what limits; then as many more sectors as lanes scatter.
    assert!(times[..4].windows(2).all(|pair| pair[1] < pair[0]), "{times:?}");
    assert!(times[0] > 20.0 * times[10], "{times:?}");
    let few = of(HISTOGRAM, &[("bins", "4")]);
    assert!(few.interval.lo.0 < 0.2 * few.seconds.0, "lanes may go together: {:?}", few.interval);
    // One address: a clock for each warp.
    let one = of(&HISTOGRAM.replace("[[{ proxy = 0, spread = \"bins\" }]]", "[[0]]"), &[]);
    let clock = a100().execution.clock.get().unwrap().0;
    let l2 = one.limits.iter().find(|limit| limit.0 == warpsight_ir::Limiter::L2).unwrap().1.clone().unwrap();
    assert!((l2.0 / (16_777_216.0 / 32.0 / clock) - 1.0).abs() < 1e-9, "{l2:?}");
    assert!(one.provenance.iter().any(|own| own.starts_with("`bins`, access 1: 524288 atomics")), "{:?}", one.provenance);
    // In local memory lanes take turns, equal addresses among them.
    let local = HISTOGRAM.replace("name = \"bins\"", "name = \"bins\"\nkind = \"local\"");
    let [few, many] = ["[[0]]", "[[\"lx\"]]"].map(|at| of(&local.replace("[[{ proxy = 0, spread = \"bins\" }]]", at), &[("bins", "256")]));
    let of_local =
        |report: &Report| report.limits.iter().find(|limit| limit.0 == warpsight_ir::Limiter::Local).unwrap().1.clone().unwrap().0;
    assert!((of_local(&few) / of_local(&many) - 32.0).abs() < 1e-6);
}
