//! The 15 × 15 convolution of Kernel Tuner's data set on A100 and one die of an MI250X, measured by others, against the model.
#![allow(dead_code, reason = "tests use more of it than the tables")]

use std::path::Path;
use warpsight_ir::accesses::text::{self, Written};
use warpsight_ir::{Limiter, Profile};
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

/// Kendall's τ-b.
pub fn tau(pairs: &[(f64, f64)]) -> f64 {
    let (mut sum, mut x, mut y) = (0.0, 0.0, 0.0);
    for (i, a) in pairs.iter().enumerate() {
        for b in &pairs[..i] {
            let order = |a: f64, b: f64| a.partial_cmp(&b).map_or(0.0, |order| f64::from(order as i8));
            let (p, q) = (order(a.0, b.0), order(a.1, b.1));
            (sum, x, y) = (sum + p * q, x + p * p, y + q * q);
        }
    }
    sum / f64::sqrt(x * y)
}

/// How well predicted seconds rank measured ones.
#[derive(Debug)]
pub struct Score {
    /// How many.
    pub rows: usize,
    /// Kendall's τ.
    pub tau: f64,
    /// Measured over the best measured: the best of the ten predicted to be fastest, and the one predicted to be the fastest.
    pub best_of_ten: f64,
    pub pick: f64,
}

impl Score {
    /// Of pairs (predicted, measured).
    pub fn of(mut pairs: Vec<(f64, f64)>) -> Self {
        let best = pairs.iter().map(|pair| pair.1).fold(f64::INFINITY, f64::min);
        let tau = tau(&pairs);
        // Ties: the slowest first, to our disadvantage.
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.total_cmp(&a.1)));
        let best_of_ten = pairs.iter().take(10).map(|pair| pair.1).fold(f64::INFINITY, f64::min) / best;
        Self { rows: pairs.len(), tau, best_of_ten, pick: pairs[0].1 / best }
    }
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
        let score = Score::of(kept.iter().map(|(row, found, _)| (found.seconds.0, row.measured)).collect());
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
