//! The fit of bandwidths as a file: which rows train, which are held out, and how well those are predicted.

use super::search::{Device, Model, Pool, architecture, architectures, first_norm, fit, off, pool};
use super::streams::{self, Row};
use crate::fit::{FitError, Recordings};
use crate::volumes::first_level::l1::Rule;
use crate::volumes::fitted::expected::Kind;
use crate::volumes::fitted::speed::{Basis, Own, Shared, Speed};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use warpsight_ir::{Limiter, Profile};

/// A shared number and its name.
type Named = (&'static str, fn(&Shared) -> f64);

/// Kernels that train. The others are never fitted.
pub const TRAIN: [&str; 3] = ["init", "read", "scale"];
const KERNELS: [&str; 6] = ["init", "read", "scale", "triad", "3pt", "5pt"];
/// Steps of the search shrink to this part of what they begin with, and every so many-th row takes part; less suffices where parts of the
/// data are left out.
const FINE: (f64, usize) = (1.0 / 8.0, 1);
const COARSE: (f64, usize) = (0.5, 4);

/// All rows, and the profile of each device.
pub struct Streams {
    /// Of all devices.
    pub rows: Vec<Row>,
    /// By device.
    pub profiles: BTreeMap<String, Profile>,
}

/// A held-out row: its group, on what its device's numbers rest, its kind, and logarithms.
#[derive(Clone)]
pub struct HeldOut {
    /// Which recording.
    pub family: String,
    /// As profiles are called.
    pub device: String,
    /// Rows of one are left out together.
    pub kernel: String,
    /// On what the device's numbers rest.
    pub basis: Basis,
    /// What limits it.
    pub kind: Kind,
    /// Of measured seconds over those predicted at the highest clock and at the lowest.
    pub off: [f64; 2],
}

impl HeldOut {
    /// `off`, the logarithm of predicted over measured seconds.
    fn of(family: &str, row: &Row, basis: Basis, off: f64) -> Self {
        Self {
            family: family.to_owned(),
            device: row.device.clone(),
            kernel: row.kernel.clone(),
            basis,
            kind: row.kind,
            off: row.span.map(|end| -off - end),
        }
    }
}

/// What the fit gives.
pub struct Fitted {
    /// The file.
    pub text: String,
    /// What its errors are of.
    pub held_out: Vec<HeldOut>,
}

impl Streams {
    /// Reads `gpu_stream.json`.
    pub fn read(recordings: &Recordings) -> Result<Self, FitError> {
        let rows = streams::rows(recordings)?;
        let profiles: BTreeMap<String, Profile> = rows.iter().map(|row| (row.device.clone(), row.on.clone())).collect();
        // Kernels and architectures are left out in turn, and something must be left.
        let trained = |name: &str| -> usize {
            let own = rows.iter().filter(|row| row.device == name && TRAIN.contains(&row.kernel.as_str()));
            own.map(|row| &row.kernel).collect::<BTreeSet<_>>().len()
        };
        if !profiles.keys().all(|name| trained(name) >= 2) {
            return Err(FitError::Short("rows of two kernels that train for each device"));
        }
        if profiles.keys().filter_map(|name| architecture(name)).collect::<BTreeSet<_>>().len() < 2 {
            return Err(FitError::Short("devices of two architectures"));
        }
        Ok(Self { rows, profiles })
    }

    fn devices(&self, every: usize, keep: impl Fn(&Row) -> bool) -> Vec<Device<'_>> {
        let rows = |name: &str| self.rows.iter().filter(|row| row.device == name && keep(row)).step_by(every).collect::<Vec<_>>();
        let devices = self.profiles.iter().map(|(name, on)| Device { name, on, rows: rows(name) });
        devices.filter(|device| !device.rows.is_empty()).collect()
    }

    /// The fit to the rows that are kept, drawn towards the pool of a fit without one.
    fn fit(&self, from: &Model, (until, every): (f64, usize), keep: impl Fn(&Row) -> bool) -> (Model, Pool) {
        let devices = self.devices(every, keep);
        let free = fit(&devices, from, None, until);
        let pool = pool(&free.own);
        (fit(&devices, &free, Some(pool), until), pool)
    }

    /// Off-logarithms of the rows of one device.
    fn off<'a>(&'a self, name: &'a str, shared: Shared, own: Own) -> impl Iterator<Item = (&'a Row, (f64, Limiter))> {
        let speed = Speed::new(shared, own, &self.profiles[name], Basis::Device);
        self.rows.iter().filter(move |row| row.device == name).map(move |row| (row, off(row, &speed)))
    }

    /// The whole fit: of all, without each kernel that trains, and without each architecture.
    pub fn fitted(&self) -> Fitted {
        let start = Shared { norm: 4.5, first_amd: 4.5, queue: 0.4, mix: 0.1, drain: 0.1, drain_amd: 0.4 };
        let mut held_out = Vec::new();
        let trains = |row: &Row| TRAIN.contains(&row.kernel.as_str());
        let (mut all, pool) = self.fit(&Model { shared: start, own: BTreeMap::new() }, FINE, trains);
        let others: Vec<&Row> = self.rows.iter().filter(|row| seen(row) && !trains(row)).collect();
        let amd: BTreeSet<&str> = others.iter().map(|row| row.device.as_str()).collect();
        let but = |name: &str| others.iter().copied().filter(|row| row.device != name).collect::<Vec<_>>();
        let orders: Vec<f64> = amd.into_iter().map(|name| first_norm(&but(name), &all)).collect();
        all.shared.first_amd = first_norm(&others, &all);
        let mut hold = |row: &Row, basis, off: (f64, Limiter)| held_out.push(HeldOut::of("streams", row, basis, off.0));
        let mut jack = Vec::new();
        for kernel in TRAIN {
            let (mut without, _) = self.fit(&all, COARSE, |row| trains(row) && row.kernel != kernel);
            without.shared.first_amd = all.shared.first_amd;
            for name in self.profiles.keys() {
                let rows = self.off(name, without.shared, without.own[name]);
                rows.filter(|(row, _)| row.kernel == kernel).for_each(|(row, off)| hold(row, Basis::Device, off));
            }
            jack.push(without);
        }
        for name in self.profiles.keys() {
            let rows = self.off(name, all.shared, all.own[name]);
            rows.filter(|(row, _)| !seen(row)).for_each(|(row, off)| hold(row, Basis::Device, off));
        }
        for group in architectures(&all.own).keys() {
            let inside = |name: &str| architecture(name).as_ref() == Some(group);
            let (mut without, pool) = self.fit(&all, COARSE, |row| trains(row) && !inside(&row.device));
            without.shared.first_amd = all.shared.first_amd;
            let new = |row: &Row| trains(row) || !seen(row);
            let pooled = Own { peak: pool.peak.0, turnover: pool.turnover.0 };
            for name in self.profiles.keys().filter(|name| inside(name)) {
                let rows = self.off(name, without.shared, pooled).filter(|(row, _)| new(row));
                rows.for_each(|(row, off)| hold(row, Basis::Pooled, off));
                // A sister's recordings say more than the pool.
                let sisters: BTreeMap<String, Own> =
                    all.own.iter().filter(|own| inside(own.0) && own.0 != name).map(|(n, own)| (n.clone(), *own)).collect();
                if let Some(own) = architectures(&sisters).get(group) {
                    let rows = self.off(name, all.shared, *own).filter(|(row, _)| new(row));
                    rows.for_each(|(row, off)| hold(row, Basis::Architecture, off));
                }
            }
        }
        Fitted { text: self.text(&all, pool, &jack, &held_out, &orders), held_out }
    }

    fn text(&self, all: &Model, pool: Pool, jack: &[Model], held_out: &[HeldOut], orders: &[f64]) -> String {
        let mut text = String::from(HEAD);
        let range = |of: &dyn Fn(&Model) -> f64| {
            let values = jack.iter().map(of).chain([of(all)]);
            let (lo, hi) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), v| (lo.min(v), hi.max(v)));
            format!("[{lo:.3}, {hi:.3}]")
        };
        let (lo, hi) = orders.iter().fold((f64::INFINITY, 0.0_f64), |(lo, hi), &order| (lo.min(order), hi.max(order)));
        let _ = writeln!(text, "[shared]\nfirst_amd = {:.4}\nfirst_amd_interval = [{lo:.3}, {hi:.3}]", all.shared.first_amd);
        let numbers: [Named; 5] =
            [("norm", |s| s.norm), ("queue", |s| s.queue), ("mix", |s| s.mix), ("drain", |s| s.drain), ("drain_amd", |s| s.drain_amd)];
        for (name, of) in numbers {
            let _ = writeln!(text, "{name} = {:.4}\n{name}_interval = {}", of(&all.shared), range(&|model| of(&model.shared)));
        }
        let _ = writeln!(
            text,
            "\n[pooled]\npeak = {:.4}\npeak_spread = {:.4}\nturnover = {:.1}\nturnover_spread = {:.1}",
            pool.peak.0, pool.peak.1, pool.turnover.0, pool.turnover.1
        );
        for (name, own) in architectures(&all.own) {
            let _ = writeln!(text, "\n[architecture.{name}]\npeak = {:.4}\nturnover = {:.1}", own.peak, own.turnover);
        }
        for (name, own) in &all.own {
            let _ = writeln!(text, "\n[device.{name}]\npeak = {:.4}\npeak_interval = {}", own.peak, range(&|model| model.own[name].peak));
            let _ = writeln!(text, "turnover = {:.1}\nturnover_interval = {}", own.turnover, range(&|model| model.own[name].turnover));
            let runs: BTreeMap<(&str, &str, bool), usize> =
                self.rows.iter().filter(|row| row.device == *name).fold(BTreeMap::new(), |mut runs, row| {
                    *runs.entry((row.run.as_str(), row.kernel.as_str(), seen(row))).or_default() += 1;
                    runs
                });
            let named = |train: bool| {
                let names =
                    runs.iter().filter(|run| run.0.2 == train).map(|((run, kernel, _), n)| format!("\"{run}: {kernel}, {n} rows\""));
                names.collect::<Vec<_>>().join(", ")
            };
            let _ = writeln!(text, "trained_on = [{}]\nheld_out = [{}]", named(true), named(false));
        }
        for (section, basis) in [("device", Basis::Device), ("architecture", Basis::Architecture), ("pooled", Basis::Pooled)] {
            let _ = writeln!(text, "\n# Mean and worst errors of held-out rows, {}.\n[error.{section}]", basis.name());
            for name in self.profiles.keys() {
                let each = KERNELS.iter().filter_map(|kernel| {
                    let held = held_out.iter().filter(|held| held.basis == basis && held.device == *name && held.kernel == *kernel);
                    let offs: Vec<f64> = held.map(|held| -held.off[0]).collect();
                    let (mean, worst) = error(&offs);
                    (!offs.is_empty()).then(|| format!("{kernel} = [{mean:.3}, {worst:.3}]"))
                });
                let each: Vec<String> = each.collect();
                if !each.is_empty() {
                    let _ = writeln!(text, "{name} = {{ {} }}", each.join(", "));
                }
            }
        }
        text
    }
}

/// Whether some fit knows the row: of AMD all, for `first_amd`.
fn seen(row: &Row) -> bool {
    TRAIN.contains(&row.kernel.as_str()) || matches!(Rule::of(&row.on), Ok(Rule::Cdna | Rule::Rdna))
}

/// Mean and greatest relative error.
pub fn error(offs: &[f64]) -> (f64, f64) {
    let each = offs.iter().map(|off| (off.exp() - 1.0).abs());
    let (sum, worst) = each.fold((0.0, 0.0_f64), |(sum, worst), error| (sum + error, worst.max(error)));
    (sum / offs.len() as f64, worst)
}

const HEAD: &str = "\
# How fast memory is by how many bytes are in flight.
# Made by: warpsight probe fit ../shared/data
# Data: gpu_stream.json (gpu-benches, gpu-stream): bandwidths of six kernels at 20 to 40 numbers of resident threads on twelve GPUs.
# A device has two numbers: `peak`, the bandwidth of a copy over the profile's dram_bandwidth, and `turnover`, the cycles between two
# blocks in one place. They are drawn towards the pool of all devices (`pooled`: mean and spread, an architecture counting once) with the
# weight of one observation each; an architecture is the mean of its devices. Everything else is shared.
# Trained on: init, read and scale. Held out: triad and the two stencils, which no fit has seen but for `first_amd`; each kernel that trains,
# in a fit without it; each architecture, in a fit without it (basis `pooled`), and each device of which there is a sister (basis
# `architecture`).
# `first_amd` is fitted after the rest to triad and the two stencils on AMD's devices; held out: the stencil of MI250X. Its interval: the fits
# without one device.
# Other intervals: least and greatest of the fit and of those without one kernel. Errors: relative, of seconds.

";
