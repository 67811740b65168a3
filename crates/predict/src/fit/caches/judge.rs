//! How far sweeps are off that a fit has not seen.

use super::sweeps::{Cliff, Level, Sweep};
use super::{Evidence, fit};
use crate::fit::FitError;
use std::fmt::Write;
use warpsight_ir::profile::Fact;

/// A sweep, recorded and predicted by a fit without its device.
pub struct Judged {
    /// What was recorded.
    pub sweep: Sweep,
    /// Where it falls.
    pub recorded: Cliff,
    /// KiB and GB/s.
    pub predicted_rows: Vec<(f64, f64)>,
    /// Where those fall.
    pub predicted: Option<Cliff>,
    /// Where the model of paper 002 sees the bandwidth fall, or why it cannot say.
    pub published: Result<Option<Cliff>, String>,
}

/// All sweeps, each by the fit without its device, and without what its profile says of what is effective in partitions.
pub fn all(sweeps: &[Sweep], found: &Evidence) -> Result<Vec<Judged>, FitError> {
    let judged = sweeps.iter().map(|sweep| {
        let recorded = Cliff::of(&sweep.rows).ok_or(FitError::Short("fall of a sweep's bandwidth"))?;
        let mut sweep = sweep.clone();
        if sweep.on.memory.l2.instances.get().is_some_and(|&n| n > 1) && sweep.on.memory.llc.bytes.get().is_none() {
            sweep.on.memory.l2_effective = Fact::unknown("left out");
        }
        let predicted_rows = sweep.predicted(fit(&found.without(&sweep.device)))?;
        let predicted = Cliff::between(&predicted_rows, recorded.rows);
        let published = sweep.published().map(|rows| Cliff::between(&rows, recorded.rows)).map_err(|error| error.to_string());
        Ok(Judged { sweep, recorded, predicted_rows, predicted, published })
    });
    judged.collect()
}

impl Judged {
    /// How much later the bandwidth falls, and how far both plateaus are off, relatively.
    pub fn off(&self) -> (f64, f64) {
        self.off_of(self.predicted)
    }

    /// The same of another prediction.
    pub fn off_of(&self, predicted: Option<Cliff>) -> (f64, f64) {
        let cliff = predicted.map_or(f64::INFINITY, |own| own.at / self.recorded.at - 1.0);
        let plateau = predicted.map_or(1.0, |own| {
            let off = |predicted: f64, recorded: f64| (predicted / recorded - 1.0).abs();
            (off(own.before, self.recorded.before) + off(own.after, self.recorded.after)) / 2.0
        });
        (cliff, plateau)
    }
}

/// The tables.
pub fn tables(judged: &[Judged]) -> String {
    let mut text = String::new();
    for level in [Level::First, Level::Second, Level::Last] {
        let own: Vec<&Judged> = judged.iter().filter(|own| own.sweep.level == level).collect();
        let _ = writeln!(text, "{level:?} levels; each by a fit without its device:");
        for own in &own {
            let (cliff, plateau) = own.off();
            let at = own.predicted.map_or(f64::NAN, |own| own.at);
            let (before, after) = own.predicted.map_or((f64::NAN, f64::NAN), |own| (own.before, own.after));
            let _ = writeln!(
                text,
                "  {:14} falls at {:8.0} KiB recorded, {at:8.0} predicted: {:+6.1} %; {:6.0} and {:6.0} GB/s recorded, {before:6.0} and {after:6.0} \
                 predicted: {:4.1} % off",
                own.sweep.name(),
                own.recorded.at,
                100.0 * cliff,
                own.recorded.before,
                own.recorded.after,
                100.0 * plateau
            );
        }
        let within = own.iter().filter(|own| own.off().0.abs() <= 0.1).count();
        let plateau = own.iter().map(|own| own.off().1).sum::<f64>() / own.len() as f64;
        let _ = writeln!(text, "  {within} of {} cliffs within 10 %; plateaus {:.1} % off in the mean", own.len(), 100.0 * plateau);
    }
    text
}
