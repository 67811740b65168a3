//! What paper 002 publishes (`data/volumes/paper002.toml`) and the kernel that its authors wrote about elsewhere. The tables:
//! `python3 bench/paper002.py`

use std::path::Path;
use toml::Value;
use warpsight_ir::accesses::text;
use warpsight_ir::profile::builtin;
use warpsight_predict::paper002::baseline;
use warpsight_predict::volumes::report::{Report, Settings, Work, report};

const MINIFE: &str = include_str!("../../../examples/accesses/ell-product.toml");
const STAR: &str = include_str!("../../../examples/accesses/star3d-r4-f64.toml");

fn published() -> toml::Table {
    include_str!("../../../data/volumes/paper002.toml").parse().expect("TOML")
}

fn word<'a>(of: &'a Value, key: &str) -> &'a str {
    of.get(key).and_then(Value::as_str).filter(|word| !word.is_empty()).unwrap_or_else(|| panic!("{of} has no {key}"))
}

fn list<'a>(of: &'a toml::Table, key: &str) -> &'a [Value] {
    of[key].as_array().expect("a list")
}

#[test]
fn every_number_has_a_unit_a_source_and_a_figure() {
    let known = published();
    let figures: Vec<&str> = list(&known, "figure").iter().map(|figure| word(figure, "name")).collect();
    let asked = (12..=25).chain([3]).map(|n| format!("figure {n}")).chain(["table 1".to_owned(), "miniFE".to_owned()]);
    asked.for_each(|name| assert!(figures.contains(&name.as_str()), "{name}"));
    let kernels = known["kernel"].as_table().expect("kernels");
    for figure in list(&known, "figure") {
        word(figure, "shows");
        for kernel in figure.get("kernels").and_then(Value::as_array).into_iter().flatten() {
            let kernel = &kernels[kernel.as_str().expect("a name")];
            let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/accesses").join(word(kernel, "file"));
            assert!(file.exists(), "{}", file.display());
        }
    }
    let numbers = list(&known, "number");
    assert!(numbers.len() >= 20, "{}", numbers.len());
    for number in numbers {
        let value = number.get("value").and_then(|value| value.as_float().or(value.as_integer().map(|n| n as f64))).expect("a value");
        assert!(value > 0.0 && value.is_finite());
        assert!(figures.contains(&word(number, "figure")), "{number}");
        assert!(builtin(word(number, "on")).is_some(), "{number}");
        for key in ["of", "unit", "says"] {
            word(number, key);
        }
        let cite = word(number, "cite");
        assert!(cite.starts_with("section ") || cite.starts_with("table "), "{cite}");
    }
}

fn of(kernel: &str, settings: &[(&str, String)], device: &str) -> (Report, f64) {
    let settings: Vec<(String, String)> = settings.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
    let written = text::parse(kernel, &settings).unwrap_or_else(|error| panic!("{settings:?}: {error}"));
    let on = builtin(device).unwrap().unwrap();
    let found = report(&Work { kernel: &written.kernel, points: written.points }, &on, &Settings::default()).unwrap();
    (found, baseline(&written, &on).unwrap().points_per_second)
}

/// The sizes of the authors' notebook, up to 4.3e9 rows: every one is answered. Once three planes of X no longer stay in the second level each
/// point loads two more elements, by both models: the drop to the right.
#[test]
fn the_ell_product_at_all_sizes() {
    let widths = [4, 8, 16].into_iter().chain((1..=15).map(|i| 32 * i)).chain((1..=8).map(|i| 512 * i));
    let plane = |n: i64| of(MINIFE, &[("nx", n.to_string()), ("ny", n.to_string()), ("nz", "256".to_owned())], "a100-80");
    let found: Vec<(i64, Report, f64)> = widths.map(|n| (n, plane(n))).map(|(n, (own, theirs))| (n, own, theirs)).collect();
    assert_eq!(found.len(), 26);
    let rate = |n: i64| found.iter().find(|row| row.0 == n).map(|row| (row.1.points_per_second, row.2)).unwrap();
    let loads = |n: i64| found.iter().find(|row| row.0 == n).and_then(|row| row.1.volumes.dram_load).unwrap();
    // Two elements, less what blocks of a wave take from each other where planes stay.
    assert!((12.0..17.0).contains(&(loads(1024) - loads(192))), "{} {}", loads(192), loads(1024));
    for right in [1024, 2048, 4096] {
        let drops = [rate(right).0 / rate(256).0, rate(right).1 / rate(96).1];
        println!("from its best to {right}: ours {:.3}, the published model {:.3}", drops[0], drops[1]);
        assert!(drops.iter().all(|drop| (0.94..0.98).contains(drop)), "{right}: {drops:?}");
    }
}

/// Section 5.4: from 16 threads along x on a half warp's load is one wavefront; each halving below doubles them.
#[test]
fn widths_of_figure_12() {
    let cycles = |x: u32| of(STAR, &[("block", format!("{x},{},{}", 16, 64 / x))], "a100-40").0.l1_cycles_per_point.unwrap();
    let narrow: Vec<f64> = [1, 2, 4, 8, 16].into_iter().map(cycles).collect();
    assert!(narrow.windows(2).all(|pair| (pair[0] / pair[1] - 2.0).abs() < 1e-9), "{narrow:?}");
    assert_eq!((cycles(32), cycles(64)), (cycles(16), cycles(16)));
}
