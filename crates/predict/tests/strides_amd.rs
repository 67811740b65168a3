//! Cycles of strided and block loads of an MI210 and an RX 6900 XT, measured by others, against the rules of their first levels, in which nothing
//! is fitted. The rows: `cargo test -p warpsight-predict --test strides_amd -- --nocapture --test-threads 1`

use std::path::Path;
use warpsight_ir::accesses::text::parse;
use warpsight_predict::volumes::first_level::costs::Sizes;
use warpsight_predict::volumes::first_level::l1::Rule;

#[path = "../examples/truth/strides_amd.rs"]
mod judged;

use judged::{CDNA2, RDNA2, Recording, cycles};

fn recording<T: serde::de::DeserializeOwned>(name: &str) -> Option<T> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/volumes/measured").join(name);
    let Ok(text) = std::fs::read_to_string(&file) else {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{} is missing", file.display());
        eprintln!("skipped: no recordings");
        return None;
    };
    Some(serde_json::from_str(&text).expect("the recording parses"))
}

/// Ranks, those of equals their mean.
fn ranks(values: &[f64]) -> Vec<f64> {
    let rank = |value: &f64| {
        let (below, equal) = values.iter().fold((0, 0), |(b, e), v| (b + i32::from(v < value), e + i32::from(v == value)));
        f64::from(below) + f64::from(equal + 1) / 2.0
    };
    values.iter().map(rank).collect()
}

/// Spearman's ρ.
fn rho(pairs: &[(f64, f64)]) -> f64 {
    let [a, b]: [Vec<f64>; 2] = [pairs.iter().map(|p| p.0).collect(), pairs.iter().map(|p| p.1).collect()];
    let (a, b) = (ranks(&a), ranks(&b));
    let mean = (pairs.len() + 1) as f64 / 2.0;
    let sum = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| (x - mean) * (y - mean)).sum::<f64>();
    sum(&a, &b) / (sum(&a, &a) * sum(&b, &b)).sqrt()
}

#[test]
fn cycles_of_strided_and_block_loads() {
    let Some(Recording { rows }) = recording("gpu_strides_amd.json") else { return };
    for device in ["mi210", "rdna2"] {
        let mut all = Vec::new();
        for row in rows.iter().filter(|row| row.device == device) {
            let (measured, predicted) = (row.cycles_per_warp32, row.predicted());
            println!(
                "{device} f{} {} {:2}: {measured:5.2} cycles measured, {predicted:5.2} predicted: {:+5.1} %{}",
                8 * row.datatype,
                row.mode,
                row.arg,
                100.0 * (predicted / measured - 1.0),
                if row.fits() { "" } else { ", larger than the first level" }
            );
            all.push((row.fits(), predicted, measured));
        }
        let score = |pairs: Vec<(f64, f64)>| {
            let mean = pairs.iter().map(|(p, m)| (p / m - 1.0).abs()).sum::<f64>() / pairs.len() as f64;
            (pairs.len(), mean, rho(&pairs))
        };
        let (fitting, mean, order) = score(all.iter().filter(|row| row.0).map(|row| (row.1, row.2)).collect());
        let (count, mean_of_all, order_of_all) = score(all.iter().map(|row| (row.1, row.2)).collect());
        println!("{device}: {fitting} rows that the first level holds: {:.1} % off, ρ {order:.2}", 100.0 * mean);
        println!("{device}: all {count} rows: {:.1} % off, ρ {order_of_all:.2}", 100.0 * mean_of_all);
        assert!(mean <= 0.025 && order >= 0.98, "{device}: {mean} {order}");
        assert!(mean_of_all <= 0.12 && order_of_all >= 0.6, "{device}: {mean_of_all} {order_of_all}");
    }
}

/// Rows of four floats a lane, over and over, where nothing but the first level works: bandwidths that the rules were not made from.
#[test]
fn plateaus_of_the_first_level() {
    let Some(data) = recording::<serde_json::Value>("gpu_cache.json") else { return };
    // Cores, and the clock of the recording.
    for (name, rule, sizes, cores, gigahertz) in [
        ("gb:mi100", Rule::Cdna, CDNA2, 120.0, 1.43),
        ("gb:mi210", Rule::Cdna, CDNA2, 104.0, 1.7),
        ("gbr:mi300x", Rule::Cdna, Sizes { sector: 128, line: 128, ..CDNA2 }, 304.0, 2.092),
        ("gb:rx6900xt", Rule::Rdna, RDNA2, 80.0, 2.57),
    ] {
        let rows = data["data"][name].as_array().unwrap().iter();
        let held = rows.filter(|row| row["block_kB"].as_f64().unwrap() <= 16.0).map(|row| row["GBs"].as_f64().unwrap());
        let measured = held.fold(0.0, f64::max);
        let lanes = i64::from(sizes.warp);
        let predicted = (lanes * 16) as f64 / cycles(rule, sizes, 16, &row(lanes, 0, 16)) * cores * gigahertz;
        let off = predicted / measured - 1.0;
        println!("{name}: {measured:.0} GB/s measured, {predicted:.0} predicted: {:+.1} %", 100.0 * off);
        assert!(off.abs() <= 0.08, "{name}: {off}");
    }
}

/// Lanes `step` bytes apart from `begin`.
fn row(lanes: i64, begin: i64, step: i64) -> Vec<i64> {
    (0..lanes).map(|lane| begin + lane * step).collect()
}

/// The model of paper 002 is asked for the same loads.
#[test]
fn rows_as_text() {
    let Some(Recording { rows }) = recording("gpu_strides_amd.json") else { return };
    for row in rows.iter().filter(|row| row.arg > 1) {
        let written = parse(&row.text(), &[]).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(
            (written.kernel.launch.lanes.iter().product::<u32>(), written.guessed_accesses.len()),
            (if row.mode == "stride" { 1024 } else { 1024 / row.arg as u32 * row.arg as u32 }, 0)
        );
    }
}

#[test]
fn cdna_by_hand() {
    let of = |bytes, lanes: &[i64]| cycles(Rule::Cdna, CDNA2, bytes, lanes);
    assert_eq!(of(4, &row(64, 0, 0)), 4.0, "a broadcast is as fast as a row");
    assert_eq!(of(4, &row(64, 0, 4)), 4.0, "a row: a cycle for each quarter");
    assert_eq!(of(4, &row(64, 20, 4)), 4.0, "wherever it begins");
    assert_eq!(of(4, &row(64, 0, 12)), 16.0, "four lanes a cycle where they are no neighbours");
    assert_eq!(of(8, &row(64, 0, 8)), 16.0, "four lanes a cycle where they are wide: 32 bytes of f64");
    assert_eq!(of(16, &row(64, 0, 16)), 16.0, "and 64 of four floats");
    assert_eq!(of(32, &row(64, 0, 32)), 64.0, "two instructions, each of whose four lanes lie in two lines and read the same banks");
    assert_eq!(
        of(8, &row(64, 0, 8 * 25)),
        16.0,
        "lines 0, 3, 6 and 9 lie in four classes, and words 0, 1, 2 and 3 of eight in different banks"
    );
    assert_eq!(of(8, &row(64, 0, 8 * 17)), 32.0, "lines 0, 2, 4 and 6 lie in two");
    assert_eq!(of(4, &row(64, 0, 64)), 64.0, "a gather of 64 lines, all from one bank");
    assert_eq!(of(4, &row(64, 0, 4 * 17)), 64.0, "lanes of the four quads side by side: lines 0, 4, 8 and 12 lie in one class");
    assert_eq!(of(4, &row(16, 0, 4)), 4.0, "quarters without an active lane take their turn");
}

#[test]
fn rdna_by_hand() {
    let of = |bytes, lanes: &[i64]| cycles(Rule::Rdna, RDNA2, bytes, lanes);
    assert_eq!(of(4, &row(32, 0, 0)), 1.0, "a broadcast is as fast as a row");
    assert_eq!(of(4, &row(32, 0, 4)), 1.0);
    assert_eq!(of(4, &row(32, 20, 4)), 1.0, "also where it lies in two lines");
    assert_eq!(of(4, &row(32, 0, 12)), 2.0, "half the lanes a cycle where they are no neighbours");
    assert_eq!(of(8, &row(32, 0, 8)), 4.0, "64 bytes of f64 a cycle");
    assert_eq!(of(4, &row(32, 0, 4 * 31)), 8.0, "32 lines in four classes");
    assert_eq!(of(4, &row(32, 0, 4 * 35)), 9.0, "32 of the lines 0 to 33: nine fall into one class");
    assert_eq!(of(4, &row(32, 0, 128)), 32.0, "a gather of 32 lines, all from one bank");
}
