//! No key of the text form without effect: each changes a number of a prediction, or is refused by name. Names change none.

use std::collections::BTreeSet;
use warpsight_ir::accesses::text::Document;
use warpsight_ir::profile::{Fact, builtin};
use warpsight_ir::{Bytes, Meanwhile};
use warpsight_predict::volumes::report::Settings;
use warpsight_predict::volumes::report::unknowns::report_text;

const BASE: &str = r#"
name = "base"
block = [64, 4]
domain = [1020, 1020]
registers = { base = 40, per_point = 8 }
flops = { f32_fma = 4 }
[params]
n = 1024
[[loop]]
name = "k"
trips = 4
[[loop]]
name = "j"
trips = 3
beside = "k"
[[field]]
name = "A"
element = "f32"
dims = ["n", "n", 4]
load = [["tx", "ty", "k"], { at = ["tx+3", "ty", "k"] }]
[[field]]
name = "W"
element = "f32"
dims = [4096]
load = [{ index = { proxy = "tx", spread = 4096 } }]
[[field]]
name = "T"
kind = "local"
element = "f32"
dims = [64, 4]
store = [["lx", "ly"]]
[[barrier]]
[[field]]
name = "B"
element = "f32"
dims = ["n", "n"]
load = [["tx", "ty+1"], { at = ["tx", "ty"], in = "j" }]
store = [["tx", "ty"]]
"#;

/// All numbers of a prediction on A100, and on a processor with as much of everything, or what is wrong.
fn numbers(text: &str) -> Result<String, String> {
    let document = Document::read(text).map_err(|error| error.what)?;
    let written = document.written::<&str, &str>(&[]).map_err(|error| error.what)?;
    // A second level so small that what stores leave in it matters.
    let on = builtin("a100-40").unwrap().unwrap().with("l2_effective", "1MB").unwrap();
    let mut processor = on.clone().with("warp", "1").unwrap();
    let e = &mut processor.execution;
    for limit in [&mut e.max_warps, &mut e.registers, &mut e.register_granule, &mut e.warp_granule, &mut e.max_group_size] {
        *limit = Fact::absent("a processor");
    }
    let each = [on, processor].map(|on| {
        // Of a network, whose pass meets constants once.
        let meanwhile = Meanwhile { handed: Bytes(0.0), pass: Bytes(1e9) };
        let mut found = report_text((&document, &[]), &written, &on, &Settings { meanwhile, ..Settings::default() })
            .map_err(|error| error.to_string())?;
        found.provenance.clear();
        found.interval.basis.clear();
        Ok(format!("{found:?}"))
    });
    each.into_iter().collect()
}

/// A key of a table, what stands in the base in its place, and two texts there that differ in the key alone.
type Case = (&'static str, &'static str, &'static str, [&'static str; 2]);

const DOMAIN: &str = "domain = [1020, 1020]";
const LOAD: &str = "[\"tx\", \"ty\", \"k\"]";
const OTHER: &str = "{ at = [\"tx+3\", \"ty\", \"k\"] }";
const INDEX: &str = "{ index = { proxy = \"tx\", spread = 4096 } }";
const STORE: &str = "store = [[\"tx\", \"ty\"]]";
const LOCAL: &str = "kind = \"local\"\n";
const DIMS: &str = "dims = [\"n\", \"n\", 4]";

const CASES: [Case; 54] = [
    ("", "block", "block = [64, 4]", ["block = [64, 4]", "block = [8, 32]"]),
    ("", "domain", DOMAIN, [DOMAIN, "domain = [1020, 510]"]),
    ("", "grid", DOMAIN, ["grid = [16, 255]", "grid = [16, 128]"]),
    ("", "fold", DOMAIN, [DOMAIN, "domain = [1020, 1020]\nfold = [1, 2]"]),
    ("", "fold_mode", DOMAIN, ["domain = [1020, 1020]\nfold = [2, 1]", "domain = [1020, 1020]\nfold = [2, 1]\nfold_mode = \"strided\""]),
    ("", "registers", "registers = { base = 40, per_point = 8 }", ["registers = 48", "registers = 200"]),
    ("", "chain", DOMAIN, [DOMAIN, "domain = [1020, 1020]\nchain = 6000"]),
    ("", "local", DOMAIN, [DOMAIN, "domain = [1020, 1020]\nlocal = 60000"]),
    ("", "flops", "flops = { f32_fma = 4 }", ["", "flops = 8"]),
    ("", "params", "n = 1024", ["n = 1024", "n = 1033"]),
    ("", "derived", "n = 1024", ["q = 1\n[derived]\nn = 1024", "q = 1\n[derived]\nn = 1033"]),
    ("", "origin", DOMAIN, [DOMAIN, "domain = [1020, 1020]\norigin = [1, 0]"]),
    ("", "guard", DOMAIN, [DOMAIN, "domain = [1020, 1020]\nguard = [\"tx < 700\"]"]),
    ("", "block_order", DOMAIN, [DOMAIN, "domain = [1020, 1020]\nblock_order = \"yx\""]),
    (
        "",
        "field",
        "[[field]]\nname = \"B\"",
        [
            "[[field]]\nname = \"B\"",
            "[[field]]\nname = \"C\"\nelement = \"f64\"\ndims = [\"n\", \"n\"]\nload = [[\"tx\", \"ty\"]]\n[[field]]\nname = \"B\"",
        ],
    ),
    (
        "",
        "loop",
        "[[field]]\nname = \"A\"",
        ["[[field]]\nname = \"A\"", "[[loop]]\nname = \"t\"\ntrips = 5\nbeside = \"k\"\n[[field]]\nname = \"A\""],
    ),
    ("", "barrier", "[[barrier]]\n", ["", "[[barrier]]\n"]),
    ("registers", "base", "base = 40", ["base = 40", "base = 100"]),
    ("registers", "per_point", "per_point = 8", ["per_point = 8", "per_point = 80"]),
    (
        "params",
        "lo",
        "n = 1024",
        ["n = 1024\nm = { lo = 100, hi = 400, typical = 200 }", "n = 1024\nm = { lo = 1, hi = 400, typical = 200 }"],
    ),
    (
        "params",
        "hi",
        "n = 1024",
        ["n = 1024\nm = { lo = 100, hi = 400, typical = 200 }", "n = 1024\nm = { lo = 100, hi = 4000, typical = 200 }"],
    ),
    (
        "params",
        "typical",
        "n = 1024",
        ["n = 1024\nm = { lo = 100, hi = 400, typical = 200 }", "n = 1024\nm = { lo = 100, hi = 400, typical = 300 }"],
    ),
    (
        "field",
        "element",
        "element = \"f32\"\ndims = [\"n\", \"n\", 4]",
        ["element = \"f32\"\ndims = [\"n\", \"n\", 4]", "element = \"f64\"\ndims = [\"n\", \"n\", 4]"],
    ),
    ("field", "dims", DIMS, [DIMS, "dims = [1031, \"n\", 4]"]),
    ("field", "strides", DIMS, [DIMS, "dims = [\"n\", \"n\", 4]\nstrides = [1, 1027, \"1027*n\"]"]),
    ("field", "align", DIMS, [DIMS, "dims = [\"n\", \"n\", 4]\nalign = 3"]),
    ("field", "kind", LOCAL, [LOCAL, ""]),
    ("field", "known", DIMS, [DIMS, "dims = [\"n\", \"n\", 4]\nknown = true"]),
    ("field", "load", LOAD, [LOAD, "[\"tx+1\", \"ty\", \"k\"], [\"tx\", \"ty\", \"k\"]"]),
    ("field", "store", STORE, ["", STORE]),
    ("field", "atomic", STORE, ["", "atomic = [[0, 0]]"]),
    (
        "field",
        "policy",
        STORE,
        ["store = [[\"tx\", \"ty\"], [\"tx\", \"ty+1\"]]", "store = [[\"tx\", \"ty\"], [\"tx\", \"ty+1\"]]\npolicy = \"non_temporal\""],
    ),
    ("field", "when", "name = \"W\"", ["name = \"W\"\nwhen = 1", "name = \"W\"\nwhen = \"n - 1024\""]),
    ("field", "path", DIMS, [DIMS, "dims = [\"n\", \"n\", 4]\npath = \"read_only\""]),
    ("access", "at", OTHER, [OTHER, "{ at = [\"tx+40\", \"ty\", \"k\"] }"]),
    ("access", "index", INDEX, ["{ index = { proxy = \"tx\", spread = 4096 } }", "{ index = { proxy = \"2*tx\", spread = 1 } }"]),
    ("access", "width", OTHER, ["{ at = [\"16*tx\", \"ty\", \"k\"] }", "{ at = [\"16*tx\", \"ty\", \"k\"], width = 16 }"]),
    ("access", "path", OTHER, [OTHER, "{ at = [\"tx+3\", \"ty\", \"k\"], path = \"read_only\" }"]),
    ("access", "ahead", OTHER, [OTHER, "{ at = [\"tx+3\", \"ty\", \"k\"], ahead = true }"]),
    ("access", "kind", INDEX, [INDEX, "{ index = { proxy = \"tx\", spread = 4096 }, kind = \"constant\" }"]),
    ("access", "in", "in = \"j\"", ["in = \"j\"", "in = \"k\""]),
    ("access", "guard", OTHER, [OTHER, "{ at = [\"tx+3\", \"ty\", \"k\"], guard = [\"tx < 300\"] }"]),
    (
        "access",
        "branch",
        OTHER,
        [
            "{ at = [\"tx\", \"ty\", \"k\"], guard = [\"tx < 300\"] }",
            "{ at = [\"tx\", \"ty\", \"k\"], guard = [\"tx < 300\"], branch = false }",
        ],
    ),
    ("proxy", "proxy", INDEX, ["{ index = { proxy = \"tx\", spread = 1 } }", "{ index = { proxy = \"4*tx\", spread = 1 } }"]),
    ("proxy", "spread", INDEX, [INDEX, "{ index = { proxy = \"tx\", spread = 400 } }"]),
    ("proxy", "pattern", INDEX, [INDEX, "{ index = { proxy = \"tx\", spread = 4096, pattern = \"sorted\" } }"]),
    ("proxy", "pattern", INDEX, [INDEX, "{ index = { proxy = \"tx\", spread = 4096, pattern = \"banded:64\" } }"]),
    (
        "proxy",
        "pattern",
        INDEX,
        [
            "{ index = { proxy = \"tx\", spread = 4096, pattern = \"banded:64\" } }",
            "{ index = { proxy = \"tx\", spread = 4096, pattern = \"banded:512\" } }",
        ],
    ),
    ("loop", "trips", "trips = 3", ["trips = 3", "trips = 4"]),
    ("loop", "order", "trips = 4", ["trips = 4", "trips = 4\norder = \"unrolled\""]),
    ("loop", "order", "trips = 4", ["trips = 4", "trips = 4\norder = \"grid_stride\""]),
    ("loop", "beside", "beside = \"k\"", ["", "beside = \"k\""]),
    ("barrier", "when", "[[barrier]]\n", ["[[barrier]]\nwhen = \"n - 1024\"\n", "[[barrier]]\nwhen = 1\n"]),
    (
        "barrier",
        "in",
        "[[field]]\nname = \"W\"",
        [
            "[[barrier]]\n[[field]]\nname = \"A\"\nload = [[\"tx+5\", \"ty\", \"k\"]]\n[[field]]\nname = \"W\"",
            "[[barrier]]\nin = \"k\"\n[[field]]\nname = \"A\"\nload = [[\"tx+5\", \"ty\", \"k\"]]\n[[field]]\nname = \"W\"",
        ],
    ),
];

/// Keys that a table may have, by what is said of one that it may not have.
fn keys(table: &'static str) -> BTreeSet<(&'static str, String)> {
    let text = match table {
        "" => BASE.replacen("name", "zz = 1\nname", 1),
        "registers" => BASE.replacen("base = 40", "zz = 1, base = 40", 1),
        "params" => BASE.replacen("n = 1024", "n = { zz = 1 }", 1),
        "field" => BASE.replacen(DIMS, "zz = 1", 1),
        "access" => BASE.replacen(OTHER, "{ zz = 1 }", 1),
        "proxy" => BASE.replacen("{ proxy = \"tx\", spread = 4096 }", "{ zz = 1 }", 1),
        "loop" => BASE.replacen("trips = 3", "zz = 1", 1),
        _ => BASE.replacen("[[barrier]]\n", "[[barrier]]\nzz = 1\n", 1),
    };
    let said = numbers(&text).unwrap_err();
    let listed = said.split_once("expected ").unwrap_or_else(|| panic!("{table}: {said}")).1;
    let words = listed.split('`').skip(1).step_by(2);
    words.map(|key| (table, key.to_owned())).filter(|own| own.1 != "name").collect()
}

#[test]
fn every_key_changes_a_number() {
    for (table, key, place, [one, other]) in CASES {
        assert_eq!(BASE.matches(place).count(), 1, "{table} {key}: {place}");
        let range = if table == "params" { "trips = \"m\"" } else { "trips = 3" };
        let base = if key == "trips" { BASE.to_owned() } else { BASE.replace("trips = 3", range) };
        let [one, other] = [one, other].map(|own| numbers(&base.replacen(place, own, 1)));
        match (one, other) {
            (Ok(one), Ok(other)) => assert!(one != other, "{table} {key} changes nothing"),
            (Ok(_), Err(said)) => assert!(said.contains(key), "{table} {key}: {said}"),
            (Err(said), _) => panic!("{table} {key}: {said}"),
        }
    }
    let known: BTreeSet<(&str, String)> = CASES.iter().map(|case| (case.0, case.1.to_owned())).collect();
    let tables = ["", "registers", "params", "field", "access", "proxy", "loop", "barrier"];
    let all: BTreeSet<(&str, String)> = tables.into_iter().flat_map(keys).collect();
    assert_eq!(known, all, "a case for each key");
}

#[test]
fn every_class_of_operations_changes_a_number() {
    let classes = ["f64", "f64_fma", "f32", "f32_fma", "f16", "f16_fma", "mma", "mma_bf16", "mma_f32", "mma_f64", "mma_int8", "sfu", "int"];
    let more = ["f32x4_fma", "bf16", "i32", "u32", "i64", "u64", "f32_sfu", "f32x4_sfu"];
    for class in classes.into_iter().chain(more) {
        let with = |n: u32| numbers(&BASE.replace("flops = { f32_fma = 4 }", &format!("flops = {{ {class} = {n} }}")));
        assert!(with(64).unwrap() != with(640).unwrap(), "{class} changes nothing");
    }
}

#[test]
fn every_word_changes_a_number_or_is_refused() {
    let store = |policy: &str| {
        let twice = format!("store = [[\"tx\", \"ty\"], [\"tx\", \"ty+1\"]]\npolicy = \"{policy}\"");
        numbers(&BASE.replace(STORE, &twice))
    };
    assert_ne!(store("write_back"), store("non_temporal"));
    assert_ne!(store("write_back"), store("write_through"));
}
