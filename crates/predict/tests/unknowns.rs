//! What a text does not know: loops that nothing mentions, ranges of numbers, addresses that depend on data.

use warpsight_ir::Profile;
use warpsight_ir::accesses::text::{Document, Written};
use warpsight_ir::profile::builtin;
use warpsight_predict::volumes::report::{Report, Settings, report_text};

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
    assert!(often.seconds.0 > 10.0 * once.seconds.0, "{} {}", often.seconds.0, once.seconds.0);
    assert!(often.provenance.iter().any(|own| own.starts_with("loop `t`: nothing mentions it")), "{:?}", often.provenance);
}

#[test]
fn intervals_cover_what_is_not_known() {
    let text = COPY.replace("m = 1\n", "m = { lo = 1, hi = 64, typical = 20 }\n");
    let unknown = of(&text, &[]);
    let [lo, typical, hi] = ["1", "20", "64"].map(|trips| of(&text, &[("m", trips)]));
    assert_eq!(unknown.seconds, typical.seconds);
    assert_eq!((unknown.interval.lo, unknown.interval.hi), (lo.interval.lo, hi.interval.hi));
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
