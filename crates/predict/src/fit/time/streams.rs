//! Recorded streams: bandwidths of six kernels by how many threads are resident.

use crate::fit::device::device;
use crate::fit::{FitError, Recordings, STREAMS};
use crate::time::Parts;
use crate::volumes::fitted::expected::Kind;
use crate::volumes::report::{Report, Settings, Work, report};
use serde::Deserialize;
use std::collections::BTreeMap;
use warpsight_ir::Profile;
use warpsight_ir::accesses::text;
use warpsight_ir::profile::{Fact, Source};

/// A recorded bandwidth and what the model makes of its launch.
#[derive(Clone)]
pub struct Row {
    /// As profiles are called, and `gh200`, `mi300a`.
    pub device: String,
    /// Whose recording: `gb` or `gbr`.
    pub run: String,
    /// `triad`, `3pt`, ….
    pub kernel: String,
    /// The device, before the recording's blocks are held out of its cores.
    pub on: Profile,
    /// Seconds that the recorded bandwidth stands for.
    pub measured: f64,
    /// What takes time in it.
    pub parts: Parts,
    /// What limits it.
    pub kind: Kind,
    /// Logarithms of seconds at the highest clock and at the lowest over those predicted.
    pub span: [f64; 2],
}

#[derive(Deserialize)]
struct Recording {
    data: BTreeMap<String, Table>,
}

#[derive(Deserialize)]
struct Table {
    left_columns: Vec<String>,
    kernels: Vec<String>,
    rows: Vec<Recorded>,
}

#[derive(Deserialize)]
struct Recorded {
    left: Vec<f64>,
    #[serde(flatten)]
    bandwidths: BTreeMap<String, f64>,
}

/// Elements of an array: 2 fewer than recorded, so that every block is full.
const ELEMENTS: f64 = 134_217_728.0;

/// A kernel of gpu-stream (gpu-benches, gpu-stream/main.cu): a thread handles one f64, loads first, nothing loops.
fn kernel(name: &str, loads: u32) -> String {
    let fields: &[(&str, &[&str])] = match (name, loads) {
        ("init", _) => &[],
        ("read" | "scale", _) => &[("B", &["tx"])],
        ("triad", 2) => &[("B", &["tx"]), ("C", &["tx"])],
        ("triad", _) => &[("B", &["tx"]), ("C", &["tx"]), ("D", &["tx"])],
        ("3pt", _) => &[("B", &["tx-1", "tx", "tx+1"])],
        _ => &[("B", &["tx-2", "tx-1", "tx", "tx+1", "tx+2"])],
    };
    let (fma, add) = match name {
        "3pt" => (2, 1),
        "5pt" => (4, 1),
        "triad" => (1, 0),
        _ => (0, 1),
    };
    let mut text =
        format!("name = \"{name}\"\nblock = [32]\ndomain = [{ELEMENTS}]\nregisters = 16\nflops = {{ f64_fma = {fma}, f64 = {add} }}\n");
    for (field, at) in fields {
        let at: Vec<String> = at.iter().map(|x| format!("[\"{x}\"]")).collect();
        text += &format!("[[field]]\nname = \"{field}\"\nelement = \"f64\"\ndims = [{ELEMENTS}]\nload = [{}]\n", at.join(", "));
    }
    if name != "read" {
        text += &format!("[[field]]\nname = \"A\"\nelement = \"f64\"\ndims = [{ELEMENTS}]\nstore = [[\"tx\"]]\n");
    }
    text
}

/// The kind of a launch, and how its seconds change with the clock.
pub(super) fn told(found: &Report) -> Result<(Kind, [f64; 2]), FitError> {
    Ok((found.kind.ok_or(FitError::Short("limit"))?, found.span.map(|end| (end.0 / found.seconds.0).ln())))
}

/// Blocks that a core holds: columns are named in another order than they stand; older recordings always have two blocks a core.
fn resident(left: &[f64]) -> Option<u32> {
    match *left {
        [_, _, blocks, _] => Some(blocks as u32),
        [_, _, _] => Some(2),
        _ => None,
    }
}

/// The rows that can be used. Left out: copies of recordings (`past`, and those of h100_pcie by `gbr`, which are `gb`'s); the A100-40 of
/// `gbr`, which does not state its blocks; the MI100 of `gbr`, slower full than half full by a quarter; the RX 6900 XT of `gbr`, whose rows
/// of one number of threads differ by 27 % among themselves and by 28 % from `gb`'s (a work-group processor of two cores holds more).
pub(super) fn rows(recordings: &Recordings) -> Result<Vec<Row>, FitError> {
    let recording: Recording = recordings.json(STREAMS)?;
    let mut rows = Vec::new();
    for (name, table) in &recording.data {
        let (run, recorded) = name.split_once(':').ok_or(FitError::Short("name of whose it is"))?;
        if recorded.contains("past") || ["gbr:a100_40", "gbr:h100_pcie", "gbr:mi100", "gbr:rx6900xt"].contains(&name.as_str()) {
            continue;
        }
        let (device, on) = device(recorded)?;
        // Newer recordings have a triad of three loads, A = B · D + C; older call the stencils 1pt and 3pt by their reach.
        let loads = if table.left_columns.len() == 4 { 3 } else { 2 };
        let reach = table.kernels.iter().any(|kernel| kernel == "1pt");
        for row in &table.rows {
            let resident = resident(&row.left).ok_or(FitError::Short("columns of its rows"))?;
            let block = row.left[0] as u32;
            let mut full = on.clone();
            // Local memory that nobody uses keeps other blocks out.
            let held = Fact::known(resident, Source::Measured, "gpu-stream");
            (full.execution.max_groups, full.execution.max_barriers) = (held.clone(), held);
            for (recorded, bandwidth) in &row.bandwidths {
                let kernel_name = match recorded.as_str() {
                    "1pt" => "3pt",
                    "3pt" if reach => "5pt",
                    other => other,
                };
                let written = text::parse(&kernel(kernel_name, loads), &[("block".to_owned(), block.to_string())])?;
                let found = report(&Work { kernel: &written.kernel, points: written.points }, &full, &Settings::default())?;
                let streams = match kernel_name {
                    "init" | "read" => 1,
                    "triad" => loads + 1,
                    _ => 2,
                };
                let measured = f64::from(streams) * ELEMENTS * 8.0 / (bandwidth * 1e9);
                let (kind, span) = told(&found)?;
                let mut parts = found.parts;
                parts.fixed.retain(|(_, limit)| limit.as_ref().is_ok_and(|limit| limit.0 > 0.0));
                let (device, run, kernel) = (device.clone(), run.to_owned(), kernel_name.to_owned());
                rows.push(Row { device, on: on.clone(), run, kernel, measured, parts, kind, span });
            }
        }
    }
    Ok(rows)
}
