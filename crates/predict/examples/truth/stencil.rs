//! The 7-point stencil on one die of an MI250X (`predict::fit::dram`): loads from memory, and effective bandwidths, which no number of the time model
//! has seen.

use warpsight_ir::Profile;
use warpsight_ir::accesses::text::parse;
use warpsight_ir::accesses::{Order, write::write};
use warpsight_ir::profile::builtin;
use warpsight_predict::fit::Recordings;
use warpsight_predict::fit::dram::laplacian::{Row, interior, large_rows, recorded, rows};
use warpsight_predict::paper002::{Baseline, baseline};
use warpsight_predict::volumes::behind::dram::Curve;
use warpsight_predict::volumes::report::{Settings, Work, report};

/// A row, its effective bandwidth in GB/s and its hits in percent, where they were recorded.
pub fn with_counters(recordings: &Recordings) -> Vec<(Row, Option<f64>, f64)> {
    let data = recorded(recordings).expect("the recording");
    let cube = &data["mi250x_gcd_512^3"];
    let base = cube["kernel1_256x1x1"]["FOM_GBs"].as_f64().unwrap();
    let mut found = Vec::new();
    for row in rows(recordings).expect("the recording") {
        let (name, rest) = row.name.split_once(' ').unwrap_or((&row.name, ""));
        // Places of the tiles 1, 2, 4, 8, 16 in the lists.
        let tile = rest.strip_prefix('m').map(|m| m.parse::<u32>().unwrap().ilog2() as usize);
        let of = |list: &serde_json::Value| {
            let speedup = list["speedup"][tile.unwrap()].as_f64().unwrap();
            (Some(base * speedup), list[rest][1].as_f64().unwrap())
        };
        let (fom, hits) = match (name, rest) {
            ("kernel5", size) => {
                let row = &data["mi250x_gcd_kernel5_m8_size_scan"][size];
                (row["FOM_GBs"].as_f64(), row["L2hit_pct"].as_f64().unwrap())
            }
            ("kernel1", "") => (Some(base), cube["kernel1_256x1x1"]["L2hit_pct"].as_f64().unwrap()),
            ("kernel1", _) => {
                let row = &cube["kernel1_nontemporal_store"];
                (row["speedup"].as_f64().map(|speedup| base * speedup), row["L2hit_pct"].as_f64().unwrap())
            }
            ("kernel2", _) => of(&cube["kernel2_ytile"]),
            ("kernel3", _) => of(&cube["kernel3_ytile_reordered"]),
            _ => of(&cube["kernel4_launch_bounds"]),
        };
        found.push((row, fom, hits));
    }
    found.extend(large_rows(&data).expect("the recording").into_iter().map(|(row, fom, hits)| (row, Some(fom), hits)));
    found
}

/// A launch.
pub struct Judged {
    /// Of the recording.
    pub name: String,
    /// By the recording.
    pub measured: f64,
    /// By this model.
    pub predicted: f64,
    /// By that of paper 002, where it covers the launch.
    pub published: Option<f64>,
}

/// What the model of paper 002 says of a launch, and its points.
fn published(row: &Row) -> Option<(Baseline, f64)> {
    let written = parse(&write(&row.kernel()).ok()?, &[]).ok()?;
    let on = builtin("mi250x")?.ok()?;
    Some((baseline(&written, &on).ok()?, written.points as f64))
}

/// Bytes loaded per interior point: launches that made the curve of memory by fits without their group (`data/fits/dram.toml`), and three that
/// are in no fit.
pub fn loads(recordings: &Recordings) -> Vec<Judged> {
    let fits: toml::Table = include_str!("../../fits/dram.toml").parse().expect("the fit is TOML");
    let held_out = |name: &str| {
        let row = fits["row"].as_array()?.iter().find(|row| row["name"].as_str() == Some(name))?;
        row["predicted"].as_float()
    };
    let curve = Curve::fitted("cdna2").curve;
    let large = recorded(recordings).and_then(|data| large_rows(&data)).expect("the recording").into_iter().map(|own| own.0).skip(1);
    let of = |row: Row| {
        let predicted = held_out(&row.name).unwrap_or_else(|| row.measured * row.ratio(&row.runs(curve.spread), &curve));
        let published = published(&row).map(|(own, points)| own.behind.loads[3] * points * row.launches as f64 / interior(row.size));
        Judged { name: row.name, measured: row.measured, predicted, published }
    };
    rows(recordings).expect("the recording").into_iter().chain(large).map(of).collect()
}

/// What had to be moved at least over the time, in GB/s.
pub fn bandwidths(recordings: &Recordings, on: &Profile) -> Vec<Judged> {
    let of = |(row, measured, _): (Row, Option<f64>, f64)| {
        let kernel = row.kernel();
        let points = (row.size.iter().product::<i64>() / row.launches).unsigned_abs();
        // AMD's compiler keeps the order of loads: kernels 2 and 3 differ in nothing else.
        let settings = Settings { order: Order::Kept, ..Settings::default() };
        let found = report(&Work { kernel: &kernel, points }, on, &settings).expect("a prediction");
        let least = row.size.iter().product::<i64>() as f64 * 8.0 + interior(row.size) * 8.0;
        let rate = |seconds: f64| least / (seconds * row.launches as f64) / 1e9;
        let published = published(&row).map(|own| rate(own.0.seconds.0));
        Judged { name: row.name, measured: measured.expect("a bandwidth"), predicted: rate(found.seconds.0), published }
    };
    with_counters(recordings).into_iter().map(of).collect()
}
