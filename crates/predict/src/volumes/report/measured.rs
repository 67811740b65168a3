//! Measured volumes in place of predicted ones: paper 002's phenomenological prediction ("the same performance model but measured data
//! volumes", section on the performance of both applications, figures 24 and 25). What was not measured stays predicted.

use crate::time::Counts;
use crate::volumes::behind::dram::Dram;
use warpsight_ir::Seconds;

/// What counters said of one launch. `None` was not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measured {
    /// Bytes per point that loads request of the first level.
    pub l1_requested: Option<f64>,
    /// Cycles of one core's first-level cache per point.
    pub l1_cycles_per_point: Option<f64>,
    /// Bytes per point from the second level to the first.
    pub l2_load: Option<f64>,
    /// Bytes per point from the first level to the second.
    pub l2_store: Option<f64>,
    /// Bytes per point that the second level loads from whatever is behind it: memory where the device has no last-level cache.
    pub behind_l2: Option<f64>,
    /// Bytes per point from memory.
    pub dram_load: Option<f64>,
    /// Bytes per point to memory.
    pub dram_store: Option<f64>,
    /// Of the launch. No model takes it; it is compared.
    pub seconds: Option<Seconds>,
}

/// A number that was both measured and predicted.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// Its key in [`super::PointVolumes`] or [`super::Report`].
    pub what: &'static str,
    /// Per point, bytes or cycles; seconds of the launch.
    pub measured: f64,
    /// The same, `None` where the model does not know.
    pub predicted: Option<f64>,
}

impl Measured {
    /// Puts what was measured into the demand of a launch of so many points.
    pub(super) fn put_into(&self, demand: &mut Counts, points: f64, has_llc: bool) -> Vec<Compared> {
        let mut compared = Vec::new();
        let mut replaced = |what, measured: Option<f64>, predicted: Option<f64>| {
            let measured = measured?;
            compared.push(Compared { what, measured, predicted: predicted.map(|bytes| bytes / points) });
            Some(measured * points)
        };
        if let Some(bytes) = replaced("l1_requested", self.l1_requested, Some(demand.requested)) {
            demand.requested = bytes;
        }
        if let Some(cycles) = replaced("l1_cycles_per_point", self.l1_cycles_per_point, demand.l1.as_ref().ok().copied()) {
            demand.l1 = Ok(cycles);
        }
        if let Some(bytes) = replaced("l2_load", self.l2_load, demand.l2_load.as_ref().ok().copied()) {
            demand.l2_load = Ok(bytes);
        }
        if let Some(bytes) = replaced("l2_store", self.l2_store, Some(demand.l2_store)) {
            demand.l2_store = bytes;
        }
        let predicted = demand.dram.as_ref().ok();
        let load = self.dram_load.or(self.behind_l2.filter(|_| !has_llc));
        let load = replaced("dram_load", load, predicted.map(|dram| dram.load));
        let behind = self.behind_l2.filter(|_| has_llc);
        let behind = replaced("behind_l2", behind, predicted.map(|dram| dram.behind_l2));
        let store = replaced("dram_store", self.dram_store, predicted.map(|dram| dram.store));
        let moved = |load, store| Dram { load_wave: load, load, store, spilled: 0.0, behind_l2: load, by_cause: vec![], per_field: vec![] };
        if let (Err(_), Some(load), Some(store)) = (&demand.dram, load, store) {
            demand.dram = Ok(moved(load, store));
        }
        if let Ok(dram) = &mut demand.dram {
            dram.store = store.unwrap_or(dram.store);
            dram.load = load.unwrap_or(dram.load);
            // What comes from memory comes through all levels before it.
            dram.behind_l2 = behind.unwrap_or(if has_llc { dram.behind_l2.max(dram.load) } else { dram.load });
            dram.load = if load.is_none() { dram.load.min(dram.behind_l2) } else { dram.load };
        }
        compared
    }
}

impl Compared {
    /// As a sentence.
    pub fn note(&self) -> String {
        let unit = match self.what {
            "l1_cycles_per_point" => "cycles per point",
            "seconds" => "s",
            _ => "B per point",
        };
        let given = self.measured;
        match self.predicted {
            Some(predicted) if predicted > 0.0 => {
                format!("{} is measured: {given:.4} {unit}; predicted {predicted:.4}, a ratio of {:.3}", self.what, given / predicted)
            }
            Some(predicted) => format!("{} is measured: {given:.4} {unit}; predicted {predicted}", self.what),
            None => format!("{} is measured: {given:.4} {unit}; the prediction is unknown", self.what),
        }
    }
}
