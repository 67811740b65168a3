//! The 15 × 15 convolution of Kernel Tuner's data set on A100 and one die of an MI250X, measured by others, against the model.
#![allow(dead_code, reason = "tests use more of it than the tables")]

use std::path::Path;
use warpsight_ir::accesses::text::{self, Written};
use warpsight_ir::{Limiter, Profile};
pub use warpsight_predict::explore::score::Score;
use warpsight_predict::volumes::report::{Report, Settings, Work, report};

/// The kernel.
pub const CONVOLUTION: &str = include_str!("../../../../examples/accesses/conv-image-15.toml");
/// Outputs along each axis.
pub const SIZE: u32 = 4096;

/// A row of the data set.
#[derive(Clone, Debug)]
pub struct Row {
    /// Threads.
    pub block: [u32; 2],
    /// Outputs of a thread.
    pub tile: [u32; 2],
    /// Whether loads go through the read-only path.
    pub read_only: bool,
    /// Seconds.
    pub measured: f64,
}

impl Row {
    /// Whether no guard is compiled in.
    pub fn divides(&self) -> bool {
        (0..2).all(|i| SIZE.is_multiple_of(self.block[i] * self.tile[i]))
    }

    /// Whether it is one that volumes can tell apart: the rest differs in generated code.
    pub fn judged(&self) -> bool {
        self.divides() && !self.read_only
    }

    /// What it is predicted to take.
    pub fn report(&self, on: &Profile) -> Result<Report, String> {
        self.report_of(CONVOLUTION, on)
    }

    /// What another text of the kernel is predicted to take.
    pub fn report_of(&self, text: &str, on: &Profile) -> Result<Report, String> {
        let written = self.written(text)?;
        report(&Work { kernel: &written.kernel, points: written.points }, on, &Settings::default()).map_err(|error| error.to_string())
    }

    /// The row's launch of a text.
    pub fn written(&self, text: &str) -> Result<Written, String> {
        let settings = [("block", self.block), ("fold", self.tile)];
        let settings: Vec<(String, String)> = settings.map(|(key, [x, y])| (key.to_owned(), format!("{x},{y}"))).into();
        let path = if self.read_only { "element = \"f32\"\npath = \"read_only\"\ndims = [\"n+14\"" } else { "" };
        let text = if self.read_only { text.replacen("element = \"f32\"\ndims = [\"n+14\"", path, 1) } else { text.to_owned() };
        text::parse(&text, &settings).map_err(|error| error.to_string())
    }
}

/// All of a device, `None` where they are not in the folder of measured files.
pub fn rows(folder: &Path, device: &str) -> Option<Vec<Row>> {
    let file = folder.join(format!("kt_convolution_noshmem_{device}.json"));
    if !file.exists() {
        return None;
    }
    let data: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let row = |row: &serde_json::Value| {
        let n = |i: usize| row[i].as_u64().unwrap() as u32;
        Row { block: [n(0), n(1)], tile: [n(2), n(3)], read_only: n(4) == 1, measured: row[5].as_f64().unwrap() * 1e-3 }
    };
    Some(data["rows"].as_array().unwrap().iter().map(row).collect())
}

/// Seconds that no program can do without, whatever the compiler makes of it: the arithmetic, the loads that are left where every thread
/// loads a value once, or each byte of input and output once through memory; the largest of these.
fn bound(found: &Report, on: &Profile) -> f64 {
    let limit = |of: Limiter| found.limits.iter().find(|limit| limit.0 == of).and_then(|limit| limit.1.as_ref().ok()).map_or(0.0, |s| s.0);
    let bytes = f64::from(SIZE).powi(2) * 4.0 + f64::from(SIZE + 14).powi(2) * 4.0;
    let memory = on.memory.dram_bandwidth.get().map_or(0.0, |rate| bytes / rate.0);
    limit(Limiter::Fp).max(limit(Limiter::L1)).max(memory)
}

/// Rows of a device, the model's answers beside them.
pub struct Judged {
    /// With seconds that no program can do without.
    pub rows: Vec<(Row, Report, f64)>,
}

impl Judged {
    /// Of the rows that are kept. All are answered: a block that cannot run was not measured either.
    pub fn of(folder: &Path, device: &str, on: &Profile, keep: fn(&Row) -> bool) -> Option<Self> {
        let rows = rows(folder, device)?.into_iter().filter(keep).map(|row| {
            let found = row.report(on).unwrap_or_else(|error| panic!("{row:?}: {error}"));
            let bound = bound(&found, on);
            (row, found, bound)
        });
        Some(Self { rows: rows.collect() })
    }

    /// The score of a part, and the share of it that no bound exceeds.
    pub fn score(&self, keep: impl Fn(&Row) -> bool) -> (Score, f64) {
        let kept: Vec<_> = self.rows.iter().filter(|(row, ..)| keep(row)).collect();
        let below = kept.iter().filter(|(row, _, bound)| *bound <= row.measured).count();
        let score = Score::of(&kept.iter().map(|(row, found, _)| (found.seconds.0, row.measured)).collect::<Vec<_>>());
        (score, below as f64 / kept.len() as f64)
    }

    /// All rows.
    pub fn print(&self, device: &str) {
        println!("device  block   tile read_only guarded  measured ms  predicted ms  bound ms, predicted  limiter, predicted");
        for (row, found, bound) in &self.rows {
            let ([x, y], [tx, ty]) = (row.block, row.tile);
            println!(
                "{device:6} {x:4}x{y:<2} {tx:2}x{ty} {:>9} {:>7} {:12.3} {:13.3} {:20.3}  {}",
                row.read_only,
                !row.divides(),
                row.measured * 1e3,
                found.seconds.0 * 1e3,
                bound * 1e3,
                found.limiter.map_or("none", Limiter::name)
            );
        }
    }
}
