//! Predictions beside recordings of real GPUs, row by row, as JSON: `cargo run --release -p warpsight-predict --example truth -- ../shared/data`.
//! Tests judge the same rows by the same functions; sweeps over sizes are the example `fit_caches`'s.

use serde_json::{Value, json};
use std::path::Path;
use warpsight_ir::accesses::text;
use warpsight_ir::profile::builtin;
use warpsight_ir::{NoEstimate, Profile};
use warpsight_predict::paper002::baseline;
use warpsight_predict::volumes::first_level::l1::tags;

mod convolution;
#[path = "../fit_l1/fit.rs"]
#[allow(dead_code, reason = "the fit itself is the example fit_l1's")]
mod fit_l1;
#[path = "../../tests/laplacian/mod.rs"]
mod laplacian;
mod stencil;
mod strides_amd;

type Failed = Box<dyn std::error::Error>;

fn main() -> Result<(), Failed> {
    let data = std::env::args().nth(1).ok_or("usage: truth FOLDER, a folder that holds volumes/measured")?;
    let folder = Path::new(&data).join("volumes/measured");
    let tables = json!({
        "strides": strides(&folder)?,
        "strides_amd": strides_amd(&folder)?,
        "stencil": stencil(&folder)?,
        "convolution": convolution(&folder)?,
    });
    println!("{tables}");
    Ok(())
}

fn profile(name: &str) -> Result<Profile, Failed> {
    Ok(builtin(name).ok_or("no profile")??)
}

/// Cycles of 32 lanes by the model of paper 002, `None` where it has no words for the loads.
fn published(kernel: &str, on: &Profile) -> Result<Option<f64>, Failed> {
    let written = text::parse(kernel, &[]).map_err(|error| format!("{error}: {kernel}"))?;
    match baseline(&written, on) {
        // Of all loads of the text, which recordings count one by one.
        Ok(own) => Ok(Some(32.0 * own.first_level.cycles / kernel.matches("[\"").count().max(1) as f64)),
        Err(NoEstimate::NotCovered(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// A100 and A40: the curve of tags is fitted to A100's strides of even `arg`.
fn strides(folder: &Path) -> Result<Vec<Value>, Failed> {
    let rows = fit_l1::rows(&std::fs::read_to_string(folder.join("gpu_strides.json"))?)?;
    let rows = rows.iter().map(|row| {
        let (name, lsu_lanes) = if row.device == "a100" { ("a100-40", 32.0) } else { ("a40", 16.0) };
        let element = if row.element == 8 { "f64" } else { "f32" };
        let arg = row.arg;
        let (block, dims, at) = match row.strided {
            true => ("[1024]".to_owned(), format!("[{}]", 1024 * arg.max(1)), format!("[\"{arg}*tx\"]")),
            false => (format!("[{arg}, {}]", 1024 / arg), "[4098, 1024]".to_owned(), "[\"tx\", \"ty\"]".to_owned()),
        };
        let grid = if row.strided { "[1]" } else { "[1, 1]" };
        let kernel = format!(
            "name = \"strides\"\nblock = {block}\ngrid = {grid}\nregisters = 16\n[[field]]\nname = \"A\"\nelement = \"{element}\"\n\
             dims = {dims}\nload = [{at}]\n"
        );
        Ok(json!({
            "device": name,
            "element": element,
            "mode": if row.strided { "stride" } else { "block" },
            "arg": arg,
            "measured": row.cycles,
            "paper002": published(&kernel, &profile(name)?)?,
            "ours": row.predicted(tags(), lsu_lanes),
            "fitted": row.device == "a100" && row.strided && arg % 2 == 0,
            // Lines of their own for all lanes: sets of the first level decide, which no count knows.
            "scattered": row.full(),
        }))
    });
    rows.collect()
}

/// MI210 and RX 6900 XT: nothing is fitted.
fn strides_amd(folder: &Path) -> Result<Vec<Value>, Failed> {
    let recording: strides_amd::Recording = serde_json::from_str(&std::fs::read_to_string(folder.join("gpu_strides_amd.json"))?)?;
    let rows = recording.rows.iter().map(|row| {
        let name = if row.device == "mi210" { "mi210" } else { "rx6900xt" };
        Ok(json!({
            "device": name,
            "element": format!("f{}", 8 * row.datatype),
            "mode": row.mode,
            "arg": row.arg,
            "measured": row.cycles_per_warp32,
            "paper002": published(&row.text(), &profile(name)?)?,
            "ours": row.predicted(),
            "fitted": false,
            "held": row.fits(),
        }))
    });
    rows.collect()
}

/// MI250X, one die: loads by fits without a row's group, bandwidths by no fit.
fn stencil(folder: &Path) -> Result<Value, Failed> {
    let data: Value = serde_json::from_str(&std::fs::read_to_string(folder.join("amd_laplacian.json"))?)?;
    let row = |own: stencil::Judged| {
        let (name, measured, ours) = (own.name, own.measured, own.predicted);
        json!({"device": "mi250x", "launch": name, "measured": measured, "paper002": own.published, "ours": ours, "fitted": false})
    };
    let rows = |judged: Vec<stencil::Judged>| judged.into_iter().map(row).collect::<Vec<_>>();
    Ok(json!({"loads": rows(stencil::loads(&data)), "bandwidths": rows(stencil::bandwidths(&data, &profile("mi250x")?))}))
}

/// Every row, and how each part of them is ranked. Intervals of convolutions are made of the divisible rows; seconds of none.
fn convolution(folder: &Path) -> Result<Vec<Value>, Failed> {
    let mut parts = Vec::new();
    for (device, name) in [("A100", "a100-40"), ("MI250X", "mi250x")] {
        let on = profile(name)?;
        let judged = convolution::Judged::of(folder, device, &on, |_| true).ok_or("no convolution")?;
        let score = |name: &str, keep: fn(&convolution::Row) -> bool| {
            let (score, below) = judged.score(keep);
            let kept = judged.rows.iter().map(|(row, ..)| row).filter(|row| keep(row));
            let answered = kept.filter(|row| row.written(convolution::CONVOLUTION).is_ok_and(|own| baseline(&own, &on).is_ok())).count();
            json!({
                "device": device,
                "rows": name,
                "count": score.rows,
                "tau": score.tau,
                "pick": score.pick,
                "best_of_ten": score.best_of_ten,
                "bounds_kept": below,
                "paper002_answers": answered,
            })
        };
        parts.push(score("all", |_| true));
        parts.push(score("divisible, ordinary loads", convolution::Row::judged));
        parts.push(score("guarded, ordinary loads", |row| !row.divides() && !row.read_only));
        parts.push(score("read-only path", |row| row.read_only));
    }
    Ok(parts)
}
