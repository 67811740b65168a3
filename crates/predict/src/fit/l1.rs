//! Cycles that the tags of NVIDIA's first-level cache take, from recorded strides (gpu-benches, gpu-strides): `l1-nvidia.toml`.

use super::{FitError, Recordings, STRIDES};
use crate::volumes::first_level::l1::{Tags, tag_lines};
use crate::volumes::first_level::warps::{Axis, distinct, shapes, wavefronts};
use std::fmt::Write;

/// Numbers of lines between which the curve is straight. The last is where extrapolation to 31 starts from on even rows.
const KNOTS: [f64; 6] = [1.0, 2.0, 4.0, 8.0, 16.0, 30.0];

/// A recorded row and what its warps ask for.
pub struct Row {
    /// `a100` or `a40`.
    pub device: String,
    /// Bytes of an element.
    pub element: i64,
    /// Whether lanes lie a stride apart; otherwise in the rows of a block.
    pub strided: bool,
    /// Stride or width of the block.
    pub arg: u32,
    /// Measured cycles per load of a warp.
    pub cycles: f64,
    /// Measured wavefronts of the data pipe.
    measured_wavefronts: f64,
    /// Measured wavefronts of the tags' stage.
    measured_tags: f64,
    /// Distinct lines and wavefronts of each warp.
    pub warps: Vec<(u64, u64)>,
}

#[derive(serde::Deserialize)]
struct Recording {
    rows: Vec<Recorded>,
}

#[derive(serde::Deserialize)]
struct Recorded {
    device: String,
    datatype: i64,
    mode: String,
    arg: u32,
    pitch: i64,
    cycles_per_warp32: f64,
    data_pipe_wavefronts: f64,
    t_output_wavefronts: f64,
}

/// The rows of a recording.
pub fn rows(recordings: &Recordings) -> Result<Vec<Row>, FitError> {
    let recording: Recording = recordings.json(STRIDES)?;
    // Counts of blocks and distances that no recording has would have no end.
    let sound = |row: &Recorded| {
        let arg = row.arg <= 1024 && (row.arg > 0 || row.mode == "stride");
        arg && (1..=16).contains(&row.datatype) && (0..=1 << 20).contains(&row.pitch)
    };
    if !recording.rows.iter().all(sound) {
        return Err(FitError::Short("strides and elements within bounds"));
    }
    Ok(recording.rows.into_iter().map(row).collect())
}

fn row(row: Recorded) -> Row {
    // One block of 1024 threads. In block mode the kernel uses tidx % 64 and tidy % 32; rows are `pitch` elements apart.
    let axes: Vec<Axis> = if row.mode == "stride" {
        vec![Axis { stride: i64::from(row.arg) * row.datatype, count: 1024 }]
    } else {
        let wrapped =
            |count: u32, most: u32, stride: i64| [Axis { stride, count: count.min(most) }, Axis { stride: 0, count: count.div_ceil(most) }];
        let (x, y) = (row.arg, 1024 / row.arg);
        wrapped(x, 64, row.datatype).into_iter().chain(wrapped(y, 32, row.pitch * row.datatype)).collect()
    };
    let active: Vec<(u32, u32)> = axes.iter().map(|axis| (0, axis.count)).collect();
    let warps = shapes(&axes, &active, 32).into_iter().flat_map(|shape| {
        let of = |&start: &i64| {
            let lines = distinct(&shape.offsets, row.datatype, start, 128);
            let wavefronts = wavefronts(&shape.offsets, row.datatype, start.rem_euclid(128), 32);
            (tag_lines(&shape.offsets, row.datatype, lines), wavefronts)
        };
        shape.starts.iter().map(of).collect::<Vec<_>>()
    });
    Row {
        device: row.device,
        element: row.datatype,
        strided: row.mode == "stride",
        arg: row.arg,
        cycles: row.cycles_per_warp32,
        measured_wavefronts: row.data_pipe_wavefronts,
        measured_tags: row.t_output_wavefronts,
        warps: warps.collect(),
    }
}

impl Row {
    /// Whether each of its warps touches as many lines as it has lanes.
    pub fn full(&self) -> bool {
        self.warps.iter().all(|warp| warp.0 >= 32)
    }

    /// Whether its counted wavefronts are the measured ones, which have two decimals.
    pub fn exact(&self) -> bool {
        let mean = self.warps.iter().map(|warp| warp.1).sum::<u64>() as f64 / self.warps.len() as f64;
        (mean - self.measured_wavefronts).abs() <= 0.011 * mean.max(1.0)
    }

    /// Cycles per load by a curve and the lanes of the load-store unit.
    pub fn predicted(&self, tags: &Tags, lsu_lanes: f64) -> f64 {
        let floor = 32.0 * (self.element / 4) as f64 / lsu_lanes;
        let of = |&(lines, wavefronts): &(u64, u64)| tags.cycles(lines).max(wavefronts as f64).max(floor);
        self.warps.iter().map(of).sum::<f64>() / self.warps.len() as f64
    }
}

/// Mean and worst relative error of the predicted cycles of some rows.
pub fn error<'a>(rows: impl Iterator<Item = &'a Row>, tags: &Tags, lsu_lanes: f64) -> (usize, f64, f64) {
    let errors: Vec<f64> = rows.map(|row| (row.predicted(tags, lsu_lanes) / row.cycles - 1.0).abs()).collect();
    let worst = errors.iter().copied().fold(0.0, f64::max);
    (errors.len(), errors.iter().sum::<f64>() / errors.len() as f64, worst)
}

/// The file.
pub fn text(recordings: &Recordings) -> Result<String, FitError> {
    fit(&rows(recordings)?)
}

/// The file with the curve fitted to A100's strided rows of even `arg`, and its error on the odd ones and on the blocks.
fn fit(rows: &[Row]) -> Result<String, FitError> {
    let of = |device: &'static str, full: bool| rows.iter().filter(move |row| row.device == device && row.full() == full);
    // Rows of blocks begin anywhere within a line: they are kept for checking (but for the rule of lanes without gaps).
    let trains = |row: &&Row| row.strided && row.arg.is_multiple_of(2);
    let train: Vec<&Row> = of("a100", false).filter(trains).collect();
    let (values, widths) = least_squares(&train)?;
    let mut full: Vec<f64> = of("a100", true).filter(trains).map(|row| row.measured_tags).collect();
    full.sort_by(f64::total_cmp);
    let (Some(&least), Some(&most)) = (full.first(), full.last()) else { return Err(FitError::Short("rows of 32 lines")) };
    // As the file says it, so that the error is that of the rounded numbers.
    let round = |value: f64| (value * 1000.0).round() / 1000.0;
    let tags = Tags { knots: KNOTS.iter().copied().zip(values.iter().map(|&v| round(v))).collect(), full: round(full[full.len() / 2]) };
    let mut text = String::new();
    let mut line = |written: std::fmt::Arguments| {
        let _ = writeln!(text, "{written}");
    };
    line(format_args!("# Cycles that the tags of NVIDIA's first-level cache take for a load of a warp, by distinct lines of 128 bytes."));
    line(format_args!("# Made by: warpsight probe fit ../shared/data"));
    line(format_args!("# Rows: volumes/measured/gpu_strides.json, A100, t_output_wavefronts of both element types, strides."));
    line(format_args!(
        "# Fitted: relative least squares on the {} rows of even arg below 32 lines, {} of 32 lines.",
        train.len(),
        full.len()
    ));
    line(format_args!("# Scored: cycles = max(data pipe, this curve, load-store lanes) on the rows of odd arg, and on the blocks."));
    line(format_args!("knots = ["));
    for (&(lines, cycles), width) in tags.knots.iter().zip(&widths) {
        line(format_args!("    [{lines:.1}, {cycles:.3}], # ± {width:.3} (one standard error)"));
    }
    line(format_args!("]"));
    line(format_args!("# Median; sets conflict by stride, so that rows spread from {least:.1} to {most:.1}."));
    line(format_args!("full = {:.3}", tags.full));
    let (all, exact) =
        rows.iter().filter(|row| row.device == "a100").fold((0, 0), |(all, exact), row| (all + 1, exact + i32::from(row.exact())));
    line(format_args!("# Wavefronts of the data pipe, counted, not fitted: exact on {exact} of {all} rows of A100."));
    let odd = |row: &&Row| row.arg % 2 == 1;
    let f32 = |row: &&Row| row.element == 4 && row.arg % 2 == 1;
    for (name, (count, mean, worst)) in [
        ("train.a100", error(of("a100", false).filter(trains), &tags, 32.0)),
        ("held_out.a100", error(of("a100", false).filter(odd), &tags, 32.0)),
        ("held_out.a100_32_lines", error(of("a100", true).filter(odd), &tags, 32.0)),
        ("seen.a100_blocks", error(of("a100", false).filter(|row| !row.strided), &tags, 32.0)),
        ("held_out.a40_f32", error(of("a40", false).filter(f32), &tags, 16.0)),
        ("held_out.a40_f32_32_lines", error(of("a40", true).filter(f32), &tags, 16.0)),
    ] {
        line(format_args!("\n[{name}]\nrows = {count}\nmean_relative_error = {mean:.4}\nworst_relative_error = {worst:.4}"));
    }
    Ok(text)
}

/// Heights of the knots and their standard errors. Every row weighs the same relative to its value.
fn least_squares(rows: &[&Row]) -> Result<(Vec<f64>, Vec<f64>), FitError> {
    const N: usize = KNOTS.len();
    let (mut normal, mut right) = ([[0.0; N]; N], [0.0; N]);
    let mut equations = Vec::new();
    for row in rows {
        let mut hats = [0.0; N];
        for &(lines, _) in &row.warps {
            let at = KNOTS.partition_point(|&knot| knot < lines as f64).clamp(1, N - 1);
            let part = (lines as f64 - KNOTS[at - 1]) / (KNOTS[at] - KNOTS[at - 1]);
            hats[at - 1] += (1.0 - part) / row.warps.len() as f64 / row.measured_tags;
            hats[at] += part / row.warps.len() as f64 / row.measured_tags;
        }
        for i in 0..N {
            right[i] += hats[i];
            (0..N).for_each(|j| normal[i][j] += hats[i] * hats[j]);
        }
        equations.push(hats);
    }
    let inverse = inverse(normal).ok_or(FitError::Short("rows that determine every knot"))?;
    let values: Vec<f64> = (0..N).map(|i| (0..N).map(|j| inverse[i][j] * right[j]).sum()).collect();
    let residual = |hats: &[f64; N]| (0..N).map(|i| hats[i] * values[i]).sum::<f64>() - 1.0;
    let variance = equations.iter().map(|hats| residual(hats).powi(2)).sum::<f64>() / (rows.len() - N) as f64;
    let widths = (0..N).map(|i| (inverse[i][i] * variance).sqrt()).collect();
    Ok((values, widths))
}

/// Gauss and Jordan, with pivots.
fn inverse<const N: usize>(mut a: [[f64; N]; N]) -> Option<[[f64; N]; N]> {
    let mut b = [[0.0; N]; N];
    (0..N).for_each(|i| b[i][i] = 1.0);
    for i in 0..N {
        let pivot = (i..N).max_by(|&p, &q| a[p][i].abs().total_cmp(&a[q][i].abs()))?;
        a.swap(i, pivot);
        b.swap(i, pivot);
        if a[i][i].abs() < 1e-12 {
            return None;
        }
        let scale = a[i][i];
        (0..N).for_each(|j| {
            a[i][j] /= scale;
            b[i][j] /= scale;
        });
        for k in (0..N).filter(|&k| k != i) {
            let factor = a[k][i];
            (0..N).for_each(|j| {
                a[k][j] -= factor * a[i][j];
                b[k][j] -= factor * b[i][j];
            });
        }
    }
    Some(b)
}
