//! Predictions beside recordings of real GPUs, row by row, as JSON: `cargo run --release -p warpsight-predict --example truth -- ../shared/data`.
//! Tests judge the same rows by the same functions.

use serde_json::{Value, json};
use std::path::Path;
use warpsight_ir::accesses::text;
use warpsight_ir::profile::builtin;
use warpsight_ir::{NoEstimate, Profile};
use warpsight_predict::fit::caches::{evidence, judge, sweeps};
use warpsight_predict::fit::{Recordings, l1};
use warpsight_predict::paper002::baseline;
use warpsight_predict::volumes::first_level::l1::tags;

mod convolution;
#[path = "../../tests/recordings/mod.rs"]
#[allow(dead_code, reason = "tests use those of a fixed place")]
mod recordings;
mod stencil;
mod strides_amd;

type Failed = Box<dyn std::error::Error>;

fn main() -> Result<(), Failed> {
    let data = std::env::args().nth(1).ok_or("usage: truth FOLDER, a folder that holds volumes/measured")?;
    let folder = Path::new(&data).join("volumes/measured");
    let recordings = recordings::read(Path::new(&data));
    let tables = json!({
        "sweeps": sweeps(&recordings)?,
        "strides": strides(&recordings)?,
        "strides_amd": strides_amd(&folder)?,
        "stencil": stencil(&recordings)?,
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
fn strides(recordings: &Recordings) -> Result<Vec<Value>, Failed> {
    let rows = l1::rows(recordings)?;
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
fn stencil(recordings: &Recordings) -> Result<Value, Failed> {
    let row = |own: stencil::Judged| {
        let (name, measured, ours) = (own.name, own.measured, own.predicted);
        json!({"device": "mi250x", "launch": name, "measured": measured, "paper002": own.published, "ours": ours, "fitted": false})
    };
    let rows = |judged: Vec<stencil::Judged>| judged.into_iter().map(row).collect::<Vec<_>>();
    Ok(json!({"loads": rows(stencil::loads(recordings)), "bandwidths": rows(stencil::bandwidths(recordings, &profile("mi250x")?))}))
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

/// Sweeps over sizes, each by fits without its device.
fn sweeps(recordings: &Recordings) -> Result<Value, Failed> {
    let recorded = sweeps::read(recordings)?;
    let judged = judge::all(&recorded, &evidence(&recorded)?)?;
    let each = judged.iter().map(|own| {
        let (cliff, plateau) = own.off();
        let published = own.published.as_ref().ok().copied().flatten();
        let (published_cliff, published_plateau) = own.off_of(published);
        let settings = own.sweep.rows.first().and_then(|row| own.sweep.settings(row.0).ok()).map(|(_, settings)| settings);
        json!({
            "sweep": own.sweep.name(),
            "device": own.sweep.device,
            "profile": own.sweep.on.name,
            "piece_kib": own.sweep.piece,
            "settings": settings.unwrap_or_default().into_iter().collect::<std::collections::BTreeMap<_, _>>(),
            "level": format!("{:?}", own.sweep.level).to_lowercase(),
            "recorded_kib": own.recorded.at,
            "predicted_kib": own.predicted.map(|own| own.at),
            "cliff_off": if cliff.is_finite() { Some(cliff) } else { None },
            "plateau_off": plateau,
            "paper002_kib": published.map(|own| own.at),
            "paper002_cliff_off": published.map(|_| published_cliff),
            "paper002_plateau_off": published.map(|_| published_plateau),
            "paper002_lacks": own.published.as_ref().err(),
            "recorded": own.sweep.rows,
            "predicted": own.predicted_rows,
        })
    });
    Ok(Value::Array(each.collect()))
}
