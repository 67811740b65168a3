//! The search for the numbers of bandwidths.

use super::streams::Row;
use crate::volumes::fitted::speed::{Basis, Own, Shared, Speed};
use std::collections::BTreeMap;
use warpsight_ir::profile::builtin;
use warpsight_ir::{Limiter, Profile, Seconds};

/// Logarithms beyond this count in proportion, not squared.
const SCALE: f64 = 0.05;

/// Where a device's search begins.
const FIRST: Own = Own { peak: 1.0, turnover: 250.0 };

/// Everything that is fitted.
#[derive(Clone)]
pub(super) struct Model {
    pub(super) shared: Shared,
    pub(super) own: BTreeMap<String, Own>,
}

/// Rows of one device.
pub(super) struct Device<'a> {
    pub(super) name: &'a str,
    pub(super) on: &'a Profile,
    pub(super) rows: Vec<&'a Row>,
}

/// The logarithm of predicted over measured seconds, and the limiter.
pub(super) fn off(row: &Row, speed: &Speed) -> (f64, Limiter) {
    // A row's limiters of memory are known: its profile is one of those that come with the project.
    let (seconds, limiter) = row.parts.together(&row.parts.limits(speed), speed).unwrap_or((Seconds(f64::NAN), Limiter::Dram));
    ((seconds.0 / row.measured).ln(), limiter)
}

/// Where a device's numbers are drawn towards: (mean, standard deviation) of each among devices.
#[derive(Clone, Copy)]
pub(super) struct Pool {
    pub(super) peak: (f64, f64),
    pub(super) turnover: (f64, f64),
}

impl Device<'_> {
    /// Mean loss of its rows, as many times as there are tables of a kernel, whose rows are no independent observations.
    fn loss(&self, shared: Shared, own: Own, pool: Option<Pool>) -> f64 {
        let speed = Speed::new(shared, own, self.on, Basis::Device);
        let sum: f64 = self.rows.iter().map(|row| ((1.0 + (off(row, &speed).0 / SCALE).powi(2)).sqrt() - 1.0) * 2.0).sum();
        let mut tables: Vec<(&str, &str)> = self.rows.iter().map(|row| (row.run.as_str(), row.kernel.as_str())).collect();
        tables.sort_unstable();
        tables.dedup();
        let drawn = |(mean, spread): (f64, f64), value: f64| ((value - mean) / spread).powi(2);
        let prior = pool.map_or(0.0, |pool| drawn(pool.peak, own.peak) + drawn(pool.turnover, own.turnover));
        sum / self.rows.len() as f64 * tables.len() as f64 + prior
    }

    fn fit(&self, shared: Shared, from: Own, pool: Option<Pool>) -> (Own, f64) {
        let own = |at: &[f64]| Own { peak: at[0], turnover: at[1] };
        let steps = [0.02, 16.0];
        let (at, loss) =
            search(vec![from.peak, from.turnover], &steps, &[0.5, 0.0], 1.0 / 16.0, &mut |at| self.loss(shared, own(at), pool));
        (own(&at), loss)
    }
}

/// The lowest value that steps along the axes lead to, halved where none does.
fn search(mut at: Vec<f64>, steps: &[f64], least: &[f64], until: f64, value: &mut dyn FnMut(&[f64]) -> f64) -> (Vec<f64>, f64) {
    let mut best = value(&at);
    let mut scale = 1.0;
    while scale >= until {
        let mut moved = false;
        for axis in 0..at.len() {
            for side in [1.0, -1.0] {
                let mut next = at.clone();
                next[axis] = (next[axis] + side * scale * steps[axis]).max(least[axis]);
                let found = value(&next);
                if found < best {
                    (at, best, moved) = (next, found, true);
                    break;
                }
            }
        }
        if !moved {
            scale /= 2.0;
        }
    }
    (at, best)
}

/// Fits what is shared, and what each device has, drawn towards the pool where there is one.
pub(super) fn fit(devices: &[Device], start: &Model, pool: Option<Pool>, until: f64) -> Model {
    // First levels overlap as waits do until `first_norm` says otherwise: rows that train keep caches too idle to tell.
    let shared = |at: &[f64]| Shared { norm: at[0], first_amd: at[0], queue: at[1], mix: at[2], drain: at[3], drain_amd: at[4] };
    let mut own: BTreeMap<String, Own> =
        devices.iter().map(|device| (device.name.to_owned(), start.own.get(device.name).copied().unwrap_or(FIRST))).collect();
    let from = vec![start.shared.norm, start.shared.queue, start.shared.mix, start.shared.drain, start.shared.drain_amd];
    let mut value = |at: &[f64]| {
        let mut sum = 0.0;
        for device in devices {
            let (found, loss) = device.fit(shared(at), own[device.name], pool);
            own.insert(device.name.to_owned(), found);
            sum += loss;
        }
        sum
    };
    let (at, _) = search(from, &[0.5, 0.08, 0.04, 0.08, 0.08], &[1.0, 0.0, 0.0, 0.0, 0.0], until, &mut value);
    value(&at);
    Model { shared: shared(&at), own }
}

/// The order of the norm of a first level and what lies behind it on AMD that fits these rows best, every device counting once.
pub(super) fn first_norm(rows: &[&Row], model: &Model) -> f64 {
    let value = |at: &[f64]| -> f64 {
        let shared = Shared { first_amd: at[0], ..model.shared };
        let of = |name: &String| {
            let speed = |row: &Row| Speed::new(shared, model.own[name], &row.on, Basis::Device);
            let offs: Vec<f64> = rows.iter().filter(|row| row.device == *name).map(|row| off(row, &speed(row)).0.abs()).collect();
            offs.iter().sum::<f64>() / offs.len().max(1) as f64
        };
        model.own.keys().map(of).sum()
    };
    search(vec![3.0], &[0.5], &[1.0], 1.0 / 16.0, &mut |at| value(at)).0[0]
}

/// Mean and spread of devices' numbers, each architecture counted once.
pub(super) fn pool(own: &BTreeMap<String, Own>) -> Pool {
    let groups = architectures(own);
    let of = |number: fn(&Own) -> f64| {
        let mean = groups.values().map(number).sum::<f64>() / groups.len() as f64;
        let square = groups.values().map(|own| (number(own) - mean).powi(2)).sum::<f64>() / (groups.len() - 1).max(1) as f64;
        (mean, square.sqrt())
    };
    Pool { peak: of(|own| own.peak), turnover: of(|own| own.turnover) }
}

/// The design of a recorded device: what its profile says, or that of the part that stands in for it.
pub(super) fn architecture(device: &str) -> Option<String> {
    let name = match device {
        "gh200" => "h200",
        "mi300a" => "mi300x",
        own => own,
    };
    builtin(name)?.ok()?.architecture
}

/// The mean of each architecture's devices.
pub(super) fn architectures(own: &BTreeMap<String, Own>) -> BTreeMap<String, Own> {
    let mut groups: BTreeMap<String, (Own, f64)> = BTreeMap::new();
    for (name, own) in own {
        let Some(group) = architecture(name) else { continue };
        let (sum, count) = groups.entry(group).or_insert((Own { peak: 0.0, turnover: 0.0 }, 0.0));
        (sum.peak, sum.turnover, *count) = (sum.peak + own.peak, sum.turnover + own.turnover, *count + 1.0);
    }
    groups.into_iter().map(|(name, (sum, count))| (name, Own { peak: sum.peak / count, turnover: sum.turnover / count })).collect()
}
