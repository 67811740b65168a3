//! Recorded sweeps of first and second levels (gpu-benches: gpu-cache, gpu-l2-cache), and the same launches predicted.

use crate::fit::device::device;
use crate::fit::{FIRST_LEVELS, FitError, Recordings, SECOND_LEVELS};
use crate::paper002::baseline;
use crate::volumes::fitted::caches::Caches;
use crate::volumes::report::{Report, Settings, Work, report};
use serde::Deserialize;
use std::collections::BTreeMap;
use warpsight_ir::Profile;
use warpsight_ir::accesses::text::{self, Written};
use warpsight_ir::sample::middle;

/// Which cache a sweep goes beyond.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Of a core.
    First,
    /// Of all cores.
    Second,
    /// Behind the second.
    Last,
}

/// Keys and parameters of a text, and their values.
pub type Set = Vec<(String, String)>;

/// A recorded sweep.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// The cache.
    pub level: Level,
    /// Whose recording: `gb` or `gbr`.
    pub run: String,
    /// As profiles are called, and `gh200`.
    pub device: String,
    /// Its profile.
    pub on: Profile,
    /// KiB that a block walks through.
    pub piece: f64,
    /// KiB in all, and GB/s.
    pub rows: Vec<(f64, f64)>,
}

/// Where a bandwidth falls.
#[derive(Clone, Copy, Debug)]
pub struct Cliff {
    /// Rows before it.
    pub rows: usize,
    /// Median bandwidths before and after it, in GB/s.
    pub before: f64,
    /// The other.
    pub after: f64,
    /// KiB at which the bandwidth first crosses their geometric mean.
    pub at: f64,
}

#[derive(Deserialize)]
struct Recording {
    data: BTreeMap<String, Vec<Recorded>>,
}

#[derive(Deserialize)]
struct Recorded {
    #[serde(rename = "block_kB")]
    block: f64,
    #[serde(rename = "total_kB")]
    total: Option<f64>,
    #[serde(rename = "GBs")]
    bandwidth: f64,
}

/// All recorded sweeps that are no copies of another: `gbr` repeats the first levels of V100 and L40 and all second levels of `gb`.
pub fn read(recordings: &Recordings) -> Result<Vec<Sweep>, FitError> {
    let mut sweeps = Vec::new();
    for (name, rows) in recordings.json::<Recording>(FIRST_LEVELS)?.data {
        let (run, recorded) = name.split_once(':').ok_or(FitError::Short("name of whose it is"))?;
        if run == "gbr" && ["v100", "l40"].contains(&recorded) {
            continue;
        }
        let (device, on) = device(recorded)?;
        // As long as all of it lies in the second level, in whole trips of 256 threads with two loads of f32.
        let second = on.memory.l2.bytes.get().ok_or_else(|| FitError::Device(device.clone()))?.0 / 1024.0;
        let kept = |row: &&Recorded| row.block <= second && row.block % 2.0 == 0.0;
        let rows = rows.iter().filter(kept).map(|row| (row.block, row.bandwidth)).collect();
        sweeps.push(Sweep { level: Level::First, run: run.to_owned(), device, on, piece: 0.0, rows });
    }
    for (name, rows) in recordings.json::<Recording>(SECOND_LEVELS)?.data {
        let (run, recorded) = name.split_once(':').ok_or(FitError::Short("name of whose it is"))?;
        if run == "gbr" {
            continue;
        }
        let (device, on) = device(recorded)?;
        let piece = rows.first().ok_or(FitError::Short("rows"))?.block;
        let all: Vec<(f64, f64)> = rows.iter().filter_map(|row| Some((row.total?, row.bandwidth))).collect();
        let mut add = |level, keep: &dyn Fn(f64) -> bool| {
            let rows = all.iter().copied().filter(|row| keep(row.0)).collect();
            sweeps.push(Sweep { level, run: run.to_owned(), device: device.clone(), on: on.clone(), piece, rows });
        };
        // Where there is a last level, the second ends well before that does.
        match on.memory.llc.bytes.get().map(|bytes| bytes.0 / 1024.0) {
            Some(last) => {
                add(Level::Second, &|kib| kib < 0.9 * last);
                add(Level::Last, &|kib| kib > last / 8.0);
            }
            None => add(Level::Second, &|_| true),
        }
    }
    Ok(sweeps)
}

/// Rows of each side at least.
const LEAST: usize = 3;

impl Cliff {
    /// Of a recorded sweep: rows are parted where they lie closest to the medians of both sides, in logarithms.
    pub fn of(rows: &[(f64, f64)]) -> Option<Self> {
        let parted = (LEAST..rows.len().saturating_sub(LEAST)).filter_map(|parted| {
            let (before, after) = (median(&rows[..parted]), median(&rows[parted..]));
            let off = |rows: &[(f64, f64)], to: f64| rows.iter().map(|row| (row.1 / to).ln().abs()).sum::<f64>();
            (before > after).then(|| (off(&rows[..parted], before) + off(&rows[parted..], after), parted))
        });
        let parted = parted.min_by(|a, b| a.0.total_cmp(&b.0))?.1;
        Self::between(rows, parted)
    }

    /// Of rows that are parted there.
    pub fn between(rows: &[(f64, f64)], parted: usize) -> Option<Self> {
        let (before, after) = (median(&rows[..parted]), median(&rows[parted..]));
        let at = crossing(rows, (before * after).sqrt())?;
        Some(Self { rows: parted, before, after, at })
    }
}

/// KiB at which the bandwidth first falls to this, between rows on logarithmic axes.
pub fn crossing(rows: &[(f64, f64)], bandwidth: f64) -> Option<f64> {
    let pair = rows.windows(2).find(|pair| pair[0].1 > bandwidth && pair[1].1 <= bandwidth)?;
    let part = (pair[0].1 / bandwidth).ln() / (pair[0].1 / pair[1].1).ln();
    Some(pair[0].0 * (pair[1].0 / pair[0].0).powf(part))
}

fn median(rows: &[(f64, f64)]) -> f64 {
    middle(rows.iter().map(|row| row.1).collect()).unwrap_or(f64::NAN)
}

impl Sweep {
    /// What the device's name and the level are called together.
    pub fn name(&self) -> String {
        format!("{}:{}", self.run, self.device)
    }

    /// Capacity of the level as the vendor states it, in KiB.
    pub fn nominal(&self) -> Result<f64, FitError> {
        let m = &self.on.memory;
        let (bytes, instances) = match self.level {
            Level::First => (&m.buffer_l1.bytes, 1.0),
            Level::Second => (&m.l2.bytes, f64::from(m.l2.instances.get().copied().unwrap_or(1))),
            Level::Last => (&m.llc.bytes, f64::from(m.llc.instances.get().copied().unwrap_or(1))),
        };
        Ok(bytes.get().ok_or_else(|| self.unknown())?.0 * instances / 1024.0)
    }

    fn unknown(&self) -> FitError {
        FitError::Device(self.device.clone())
    }

    /// Blocks of a core's place each, of which cores hold one.
    pub fn cores(&self) -> Result<u32, FitError> {
        Ok(*self.on.execution.cores.get().ok_or_else(|| self.unknown())?)
    }

    /// The kernel at a size, as `examples/accesses/sweep-*.toml` with parameters.
    pub fn settings(&self, kib: f64) -> Result<(&'static str, Set), FitError> {
        let set = |values: &[(&str, f64)]| values.iter().map(|(key, value)| ((*key).to_owned(), value.to_string())).collect();
        if self.level == Level::First {
            let text = include_str!("../../../data/sweep-l1.toml");
            return Ok((text, set(&[("kib", kib), ("blocks", self.cores()?.into())])));
        }
        let text = include_str!("../../../data/sweep-l2.toml");
        let registers = f64::from(*self.on.execution.registers.get().ok_or_else(|| self.unknown())? / 1024);
        let run = (kib / self.piece).round();
        let blocks = 200_000.0;
        Ok((text, set(&[("run", run), ("trips", self.piece / 16.0), ("repeats", (blocks / run).ceil()), ("registers", registers)])))
    }

    /// A size, predicted with these numbers of caches.
    pub fn report(&self, kib: f64, caches: Caches) -> Result<(Written, Report), FitError> {
        let (kernel, settings) = self.settings(kib)?;
        let written = text::parse(kernel, &settings)?;
        let settings = Settings { caches: Some(caches), brief: true, ..Settings::default() };
        let found = report(&Work { kernel: &written.kernel, points: written.points }, &self.on, &settings)?;
        Ok((written, found))
    }

    /// The same sizes, predicted with these numbers of caches.
    pub fn predicted(&self, caches: Caches) -> Result<Vec<(f64, f64)>, FitError> {
        let rows = self.rows.iter().map(|&(kib, _)| {
            let (written, found) = self.report(kib, caches)?;
            let asked = found.volumes.l1_requested.ok_or(FitError::Short("requests"))? * written.points as f64;
            Ok((kib, asked / found.seconds.0 / 1e9))
        });
        rows.collect()
    }

    /// The same sizes by the model of paper 002 as published.
    pub fn published(&self) -> Result<Vec<(f64, f64)>, FitError> {
        let rows = self.rows.iter().map(|&(kib, _)| {
            let (kernel, settings) = self.settings(kib)?;
            let written = text::parse(kernel, &settings)?;
            let found = baseline(&written, &self.on)?;
            Ok((kib, found.first_level.requested * found.points_per_second / 1e9))
        });
        rows.collect()
    }
}
