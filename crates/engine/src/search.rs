//! Exhaustive search: every configuration that a device can run is timed, so that a choice can be compared with the best there is.

use crate::EngineError;
use crate::tune::{Judge, Observer, Tuned, attempt};
use fastrand::Rng;
use warpsight_generate::{ScheduleFamily, prune};
use warpsight_ir::sample::median;
use warpsight_ir::{Config, Family, NoEstimate, Ranked, Seconds, TimeSource};
use warpsight_run::Device;

/// How often the finalists of a search on real hardware are timed again.
const FINALS: usize = 5;

/// What timing everything showed.
#[derive(Clone, Debug)]
pub struct Searched {
    /// The fastest configuration, and its time.
    pub best: (Config, Seconds),
    /// (predicted, timed) seconds of every configuration that ran.
    pub pairs: Vec<(f64, f64)>,
}

/// A family on a device, searched.
pub struct Search<'a, 'o> {
    /// The family.
    pub family: &'a ScheduleFamily,
    /// What predicts, and how often is timed.
    pub judge: &'a Judge<'a>,
    /// Where it runs.
    pub device: &'a mut dyn Device,
    /// Where inputs come from.
    pub rng: &'a mut Rng,
    /// Sees every attempt.
    pub observe: &'a mut Observer<'o>,
}

impl Search<'_, '_> {
    /// Times every configuration that the device can run; of those that `known` has a time of, or that they have none, it is taken from
    /// there. `step` is called before each of them, and may end the search. Nothing where none of them ran.
    ///
    /// # Errors
    /// What the device, `step` or the observer says.
    pub fn all(
        &mut self,
        known: &dyn Fn(&Config) -> Option<Option<Seconds>>,
        step: &mut dyn FnMut() -> Result<(), EngineError>,
    ) -> Result<Option<Searched>, EngineError> {
        let mut best: Option<(Config, Seconds)> = None;
        let mut pairs = vec![];
        for (config, _) in prune(self.family, self.family.configs(), &self.judge.allowance) {
            step()?;
            let ranked = self.ranked(&config)?;
            let Some(candidate) = &ranked else { continue };
            let time = match known(&config) {
                Some(time) => time,
                None => {
                    attempt(self.family, candidate, self.judge, self.device, self.rng, self.observe)?.ok().and_then(|t| t.time).map(|t| t.0)
                }
            };
            let Some(time) = time else { continue };
            pairs.push((candidate.estimate.time.0, time.0));
            if best.as_ref().is_none_or(|best| time.0 < best.1.0) {
                best = Some((config, time));
            }
        }
        Ok(best.map(|best| Searched { best, pairs }))
    }

    /// Times the choice and the best again, in turn: the smallest of thousands of noisy times flatters. Without effect where time is not
    /// measured.
    ///
    /// # Errors
    /// What the device or the observer says.
    pub fn finals(&mut self, chosen: &mut Tuned, found: &mut Searched) -> Result<(), EngineError> {
        let Some((_, source @ TimeSource::Measured)) = chosen.time else { return Ok(()) };
        let finalists = [self.ranked(&chosen.config)?, self.ranked(&found.best.0)?];
        let mut times = [vec![], vec![]];
        for _ in 0..FINALS {
            for (candidates, times) in finalists.iter().zip(&mut times) {
                if let Some(candidate) = candidates {
                    let again = attempt(self.family, candidate, self.judge, self.device, self.rng, self.observe)?;
                    times.extend(again.ok().and_then(|t| t.time).map(|t| t.0));
                }
            }
        }
        if let [Some(first), Some(second)] = times.map(|times| median(&times)) {
            chosen.time = Some((first, source));
            found.best.1 = second;
            if first.0 < second.0 {
                found.best = (chosen.config.clone(), first);
            }
        }
        Ok(())
    }

    fn ranked(&self, config: &Config) -> Result<Option<Ranked>, NoEstimate> {
        let Judge { model, profile, .. } = self.judge;
        Ok(model.rank(self.family, &mut std::iter::once(config.clone()), profile, 1)?.pop())
    }
}
