//! How second levels let go of lines, from loads of a 7-point stencil on one die of an MI250X (AMD lab notes, finite difference): `dram.toml`.

pub mod laplacian;

use super::{FitError, Recordings};
use crate::volumes::behind::dram::{Curve, Runs};
use laplacian::{Row, rows};
use std::fmt::Write;

/// The file.
pub fn text(recordings: &Recordings) -> Result<String, FitError> {
    Ok(fitted(&Data::of(rows(recordings)?)).0)
}

/// Rows that are scored together: left out of the fit when they are. Of kernels 3 and 4 no fit knows anything.
fn group(row: &Row) -> String {
    match row.name.split_once(' ') {
        Some(("kernel5", _)) => format!("planes of {} KiB", row.size[0] * row.size[1] / 128),
        // The fourth is the third in all but registers.
        Some(("kernel3" | "kernel4", _)) => "kernels 3 and 4".into(),
        Some(("kernel2", _)) => "kernel 2".into(),
        _ => row.name.clone(),
    }
}

/// Rows beside their runs for each spread.
pub struct Data {
    /// Those that were recorded.
    pub rows: Vec<Row>,
    runs: Vec<(f64, Vec<Runs>)>,
}

impl Data {
    /// Of rows.
    pub fn of(rows: Vec<Row>) -> Self {
        let spreads = (2..=6).map(|n| f64::from(n) / 8.0);
        let runs = spreads.map(|spread| (spread, rows.iter().map(|row| row.runs(spread)).collect())).collect();
        Self { rows, runs }
    }

    /// The curve with the least mean squares of logarithms without one group: capacity and steepness over the size scan, for each spread;
    /// the spread, which the scan leaves open (0.25 to 0.625 fit it about as well), over kernels 1 and 2 besides.
    pub fn fit(&self, without: &str) -> Curve {
        let loss = |runs: &[Runs], curve: &Curve, names: &[&str]| -> f64 {
            let kept = |row: &Row| names.iter().any(|name| row.name.starts_with(name)) && group(row) != without;
            let off = |i: usize| self.rows[i].ratio(&runs[i], curve).ln().powi(2);
            (0..runs.len()).filter(|&i| kept(&self.rows[i])).map(off).sum()
        };
        let mut best = (f64::INFINITY, Curve { capacity: 1.0, steepness: 1.0, spread: 0.0, in_step: None, within: None });
        for (spread, runs) in &self.runs {
            let mut own = (f64::INFINITY, best.1);
            for steepness in [3.0, 3.5, 4.0, 4.5, 5.0, 5.5, 6.0, 7.0, 8.0, 10.0] {
                for k in 0..36 {
                    let curve = Curve { capacity: 0.5 + 0.04 * f64::from(k), steepness, spread: *spread, in_step: None, within: None };
                    let loss = loss(runs, &curve, &["kernel5"]);
                    if loss < own.0 {
                        own = (loss, curve);
                    }
                }
            }
            let loss = loss(runs, &own.1, &["kernel5", "kernel1", "kernel2"]);
            if loss < best.0 {
                best = (loss, own.1);
            }
        }
        best.1
    }

    fn ratio(&self, i: usize, curve: &Curve) -> f64 {
        let runs = self.runs.iter().find(|(spread, _)| *spread == curve.spread);
        runs.map_or(f64::NAN, |(_, runs)| self.rows[i].ratio(&runs[i], curve))
    }
}

/// The fit as a file, and for each row its group and the held-out prediction over the measured value.
pub fn fitted(data: &Data) -> (String, Vec<(String, f64)>) {
    let mut held_out = vec![(String::new(), 0.0); data.rows.len()];
    let mut curves = Vec::new();
    let mut names: Vec<String> = data.rows.iter().map(group).collect();
    names.dedup();
    for name in &names {
        let curve = data.fit(name);
        curves.push(curve);
        for i in (0..data.rows.len()).filter(|&i| group(&data.rows[i]) == *name) {
            held_out[i] = (name.clone(), data.ratio(i, &curve));
        }
    }
    let all = data.fit("");
    let range = |of: fn(&Curve) -> f64| {
        let values = curves.iter().map(of);
        let (lo, hi) = values.fold((f64::INFINITY, 0.0_f64), |(lo, hi), v| (lo.min(v), hi.max(v)));
        format!("[{lo:.3}, {hi:.3}]")
    };
    let mean_square = held_out.iter().map(|(_, ratio)| ratio.ln().powi(2)).sum::<f64>() / held_out.len() as f64;
    let mut text = String::from(
        "# How second-level caches let go of lines: survival = 1 / (1 + (footprint / (capacity * l2_effective))^steepness), loads spread over\n\
         # `spread` of a block's life. Made by: warpsight probe fit ../shared/data\n\
         # Data: loads of a 7-point stencil from device memory on one die of an MI250X, amd_laplacian.json; rows with spills are left out.\n\
         # Training: capacity and steepness on the size scan of kernel 5, spread on kernels 1 and 2 besides. Held out: each size of planes,\n\
         # kernel 1, its non-temporal variant and kernel 2 in turn, kernels 3 and 4 always.\n\
         # Intervals: least and greatest of the fits that leave one group out. `error`: root mean square of the logarithms of held-out\n\
         # predictions over measured values. Other architectures: no recordings; the same curve, `error` twice as wide.\n\n",
    );
    let _ = writeln!(text, "[cdna2]\ncapacity = {:.3}\nsteepness = {:.3}\nspread = {:.3}", all.capacity, all.steepness, all.spread);
    let _ = writeln!(text, "error = {:.3}", mean_square.sqrt());
    let _ = writeln!(text, "capacity_interval = {}", range(|curve| curve.capacity));
    let _ = writeln!(text, "steepness_interval = {}", range(|curve| curve.steepness));
    let _ = writeln!(text, "spread_interval = {}\n", range(|curve| curve.spread));
    let _ = writeln!(text, "[pooled]\ncapacity = {:.3}\nsteepness = {:.3}\nspread = {:.3}", all.capacity, all.steepness, all.spread);
    let _ = writeln!(text, "error = {:.3}", 2.0 * mean_square.sqrt());
    for (i, row) in data.rows.iter().enumerate() {
        let _ = writeln!(text, "\n[[row]]\nname = \"{}\"\nheld_out_with = \"{}\"", row.name, held_out[i].0);
        let _ = writeln!(text, "measured = {:.2}", row.measured);
        let _ = writeln!(text, "predicted = {:.2}\nfitted = {:.2}", row.measured * held_out[i].1, row.measured * data.ratio(i, &all));
    }
    (text, held_out)
}
