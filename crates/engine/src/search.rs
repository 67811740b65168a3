//! Configurations of a space are timed: all of it, so that a choice can be compared with the best there is, or those that a search within a
//! budget proposes ([`guided`]).
//!
//! A simulator times without results, as many configurations at a time as there are processors; the fastest are then verified, and timed
//! exactly. A device that measures verifies and times one after another, with a kernel between them that shows whether it slows down.
//!
//! What is held against a choice is all of a space: only what cannot be launched by the device's own limits is left out ([`launchable`]), nothing
//! by what a model or a profile says of it.

pub mod facts;
pub mod guided;
mod walk;

pub use walk::Wanted;

use crate::EngineError;
use crate::tune::{Attempt, Judge, Observer, Tuned, attempt, refused, verified, within};
use crate::verify::blank;
use fastrand::Rng;
use warpsight_generate::parallel::each;
use warpsight_generate::prune::Allowance;
use warpsight_generate::{ScheduleFamily, prune};
use warpsight_ir::sample::median;
use warpsight_ir::{Checked, Config, Estimate, Family, Feedback, NoEstimate, Ranked, Seconds, Status, TimeSource};
use warpsight_run::sim::Sim;
use warpsight_run::{Device, DeviceError, DeviceLimits, Init};

/// How often the finalists of a search on real hardware are timed again.
const FINALS: usize = 5;
/// How many of the fastest without results have to be right: parts of a launch stand for the whole, within a percent or two.
const FINALISTS: usize = 4;
/// Configurations that are timed between two looks at whether to go on.
const ROUND: usize = 64;
/// What a configuration may take of the least so far, where all are timed of one kernel: a simulation that goes on longer is given up. What is
/// slower is not the best, and takes most of the time of a search.
pub const LONGEST: f64 = 1.5;
/// The same of one of several kernels, which may have to be slower for the sake of where tensors lie, and of proposals, which are learned from.
pub const LONGEST_OF_SOME: f64 = 4.0;

/// What a device can launch by what it says of itself.
pub fn launchable(limits: &DeviceLimits) -> Allowance {
    within(Allowance::default(), limits)
}

/// A configuration that ran.
#[derive(Clone, Debug)]
pub struct Timed {
    /// The configuration.
    pub config: Config,
    /// What the model says, where it says anything.
    pub estimate: Option<Estimate>,
    /// What it took.
    pub time: Seconds,
    /// Whether its results were right, and all of it was timed.
    pub exact: bool,
}

/// What an earlier search found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Earlier {
    /// What it took, where it ran.
    pub time: Option<Seconds>,
    /// See [`Timed`].
    pub exact: bool,
}

/// (predicted, timed) seconds of those of which both are known.
pub fn pairs(timed: &[Timed]) -> Vec<(f64, f64)> {
    timed.iter().filter_map(|own| Some((own.estimate.as_ref()?.time.0, own.time.0))).collect()
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

/// What came of a configuration without results.
struct Tried {
    config: Config,
    estimate: Option<Estimate>,
    program: Checked,
    ran: Simulated,
}

/// Its time and what the simulator's compiler says, nothing where it takes too long, or why it does not run.
type Simulated = Result<Option<(Seconds, Feedback)>, DeviceError>;

/// How a configuration ended that was tried.
#[derive(Clone, Debug)]
pub enum Ran {
    /// It was timed.
    Timed(Timed),
    /// It took longer than others by more than the search bears with, and was given up.
    Slower,
    /// It does not run here, or is wrong.
    Refused,
}

/// A kernel that is timed again and again between others: a device that slows down for heat, or that somebody else uses, shows there.
#[derive(Clone, Debug)]
pub struct Reference {
    config: Config,
    estimate: Option<Estimate>,
    /// What it took each time, in order.
    pub times: Vec<Seconds>,
    /// Attempts since it was timed.
    since: usize,
}

impl Reference {
    /// Attempts between two times of it.
    const EVERY: usize = 8;

    /// This kernel, not timed yet.
    pub fn new(config: Config, estimate: Option<Estimate>) -> Self {
        Self { config, estimate, times: vec![], since: Self::EVERY }
    }

    /// What it took last; now and then it is timed.
    fn turn(&mut self, search: &mut Search) -> Result<Option<Seconds>, EngineError> {
        self.since += 1;
        if self.since > Self::EVERY {
            self.since = 0;
            self.times.extend(search.exactly(&self.config, self.estimate.as_ref())?);
        }
        Ok(self.times.last().copied())
    }

    /// How much longer it took at its longest than at its shortest; `None` where it was not timed twice.
    pub fn drift(&self) -> Option<f64> {
        let times = || self.times.iter().map(|time| time.0);
        let (least, most) = (times().reduce(f64::min)?, times().reduce(f64::max)?);
        (self.times.len() > 1).then(|| most / least - 1.0)
    }
}

/// What came of timing a space.
#[derive(Clone, Debug, Default)]
pub struct Space {
    /// What ran.
    pub timed: Vec<Timed>,
    /// How many more ran, and were given up since they take too much longer than others.
    pub slower: usize,
    /// How many did not compile, did not run, or were wrong.
    pub refused: usize,
    /// How many the device cannot launch by its limits.
    pub beyond: usize,
    /// Where time is measured, the first that was right, again and again.
    pub reference: Option<Reference>,
}

/// What a simulation may take.
#[derive(Clone, Copy, Debug)]
pub struct Within {
    /// The least that is known before.
    pub least: Seconds,
    /// So many times the least so far, this or what was found since.
    pub times: f64,
}

impl Search<'_, '_> {
    /// Times configurations; of those that `known` says something of, it is taken from there. `step` is called before so many, and may end the
    /// search. What the device cannot launch by its limits is left out; on a simulated one, what takes longer than `within` is given up.
    ///
    /// # Errors
    /// What the device, `step` or the observer says.
    pub fn all(
        &mut self,
        configs: &[Config],
        within: Within,
        known: &(dyn Fn(&Config) -> Option<Earlier> + Sync),
        step: &mut dyn FnMut(usize) -> Result<(), EngineError>,
    ) -> Result<Space, EngineError> {
        let info = self.device.info();
        let allow = launchable(&info.limits);
        let simulated = info.id.strip_prefix("sim:").map(Sim::open).transpose()?;
        let mut pruned = prune(self.family, configs.iter().cloned(), &allow);
        let able: Vec<Config> = (&mut pruned).map(|own| own.0).collect();
        let beyond = pruned.dropped.values().sum();
        step(beyond)?;
        let found = match simulated {
            Some(sim) => self.simulated(&able, &sim, within, known, step),
            None => self.one_by_one(&able, known, step),
        }?;
        Ok(Space { beyond, ..found })
    }

    /// Times without results, as many at a time as there are processors.
    fn simulated(
        &mut self,
        configs: &[Config],
        sim: &Sim,
        within: Within,
        known: &(dyn Fn(&Config) -> Option<Earlier> + Sync),
        step: &mut dyn FnMut(usize) -> Result<(), EngineError>,
    ) -> Result<Space, EngineError> {
        let (mut least, mut found) = (within.least, Space::default());
        for round in configs.chunks(ROUND) {
            step(round.len())?;
            let (old, new): (Vec<&Config>, Vec<&Config>) = round.iter().partition(|config| known(config).is_some());
            for config in old {
                let Some(Earlier { time: Some(time), exact }) = known(config) else {
                    found.refused += 1;
                    continue;
                };
                found.timed.push(Timed { config: config.clone(), estimate: self.ranked(config)?.map(|own| own.estimate), time, exact });
            }
            let (family, judge) = (self.family, self.judge);
            for tried in each(&new, |config| tried(family, judge, sim, config, least * within.times)) {
                match self.note(tried?)? {
                    Ran::Slower => found.slower += 1,
                    Ran::Timed(own) => found.timed.push(own),
                    Ran::Refused => found.refused += 1,
                }
            }
            least = found.timed.iter().fold(least, |least, own| least.min(own.time));
        }
        Ok(found)
    }

    /// Tells the observer.
    fn note(&mut self, own: Tried) -> Result<Ran, EngineError> {
        let (status, times, feedback) = match own.ran {
            Ok(Some((time, feedback))) => (Status::Done, vec![time], feedback),
            Ok(None) => return Ok(Ran::Slower),
            Err(error) => (refused(&error)?, vec![], Feedback::default()),
        };
        (self.observe)(&Attempt {
            knobs: self.family.space().describe(&own.config),
            program: &own.program,
            estimate: own.estimate.as_ref(),
            status,
            verified: false,
            times: &times,
            source: Some(TimeSource::Simulated),
            quantum: Seconds::ZERO,
            reference: None,
            feedback: &feedback,
        })?;
        let timed = |&time: &Seconds| Ran::Timed(Timed { config: own.config, estimate: own.estimate, time, exact: false });
        Ok(times.first().map_or(Ran::Refused, timed))
    }

    /// Verifies and times one after another, with the first that is right between them.
    fn one_by_one(
        &mut self,
        configs: &[Config],
        known: &dyn Fn(&Config) -> Option<Earlier>,
        step: &mut dyn FnMut(usize) -> Result<(), EngineError>,
    ) -> Result<Space, EngineError> {
        let mut found = Space::default();
        let mut reference: Option<Reference> = None;
        for config in configs {
            step(1)?;
            // What a model takes for too much may run.
            let estimate = self.ranked(config)?.map(|own| own.estimate);
            let (time, exact) = match known(config) {
                Some(earlier) => (earlier.time, earlier.exact),
                None => {
                    let latest = self.latest(&mut reference)?;
                    let time = self.beside(config, estimate.as_ref(), latest)?;
                    if reference.is_none() && time.is_some() {
                        reference = Some(Reference::new(config.clone(), estimate.clone()));
                    }
                    (time, true)
                }
            };
            match time {
                Some(time) => found.timed.push(Timed { config: config.clone(), estimate, time, exact }),
                None => found.refused += 1,
            }
        }
        Ok(Space { reference, ..found })
    }

    fn latest(&mut self, reference: &mut Option<Reference>) -> Result<Option<Seconds>, EngineError> {
        reference.as_mut().map_or(Ok(None), |reference| reference.turn(self))
    }

    /// Tries a few configurations that a model has judged: on a simulated device without results, as many at a time as there are processors, and
    /// what takes several times as long as `within` is given up; else verified, one after another, with the reference between them.
    ///
    /// # Errors
    /// What the device or the observer says.
    pub fn batch(&mut self, batch: &[Ranked], within: Seconds, reference: &mut Option<Reference>) -> Result<Vec<Ran>, EngineError> {
        if let Some(device) = self.device.info().id.strip_prefix("sim:") {
            let (sim, family) = (Sim::open(device)?, self.family);
            let tried = each(batch, |own| {
                let (program, ran) = run_alone(family, &own.config, &sim, within * LONGEST_OF_SOME)?;
                Ok(Tried { config: own.config.clone(), estimate: Some(own.estimate.clone()), program, ran })
            });
            return tried.into_iter().map(|own: Result<Tried, EngineError>| self.note(own?)).collect();
        }
        let mut all = vec![];
        for own in batch {
            let latest = self.latest(reference)?;
            let time = self.beside(&own.config, Some(&own.estimate), latest)?;
            let timed = |time| Ran::Timed(Timed { config: own.config.clone(), estimate: Some(own.estimate.clone()), time, exact: true });
            all.push(time.map_or(Ran::Refused, timed));
        }
        Ok(all)
    }

    /// The fastest that is right, of the first few by the times that are known: these are verified and timed exactly.
    ///
    /// # Errors
    /// What the device or the observer says.
    pub fn fastest<'t>(&mut self, timed: impl IntoIterator<Item = &'t Timed>) -> Result<Option<(Config, Seconds)>, EngineError> {
        let mut all: Vec<&Timed> = timed.into_iter().collect();
        all.sort_by(|a, b| a.time.0.total_cmp(&b.time.0));
        let mut right: Vec<(Config, Seconds)> = vec![];
        for own in all {
            let time = if own.exact { Some(own.time) } else { self.exactly(&own.config, own.estimate.as_ref())? };
            right.extend(time.map(|time| (own.config.clone(), time)));
            if right.len() == FINALISTS {
                break;
            }
        }
        Ok(right.into_iter().min_by(|a, b| a.1.0.total_cmp(&b.1.0)))
    }

    /// Puts a configuration in the place of what was chosen, verified and timed once more, if its results are right.
    ///
    /// # Errors
    /// What the device or the observer says.
    pub fn put(&mut self, config: &Config, chosen: &mut Tuned) -> Result<(), EngineError> {
        let Some(ranked) = self.ranked(config)? else { return Ok(()) };
        if let Ok(own) = attempt(self.family, &ranked, self.judge, self.device, self.rng, self.observe)? {
            *chosen = Tuned { rejected: std::mem::take(&mut chosen.rejected), expected_loss: chosen.expected_loss, ..own };
        }
        Ok(())
    }

    /// What a kernel takes whose results are right.
    fn exactly(&mut self, config: &Config, estimate: Option<&Estimate>) -> Result<Option<Seconds>, EngineError> {
        self.beside(config, estimate, None)
    }

    /// The same, and what the reference took last is told the observer.
    fn beside(&mut self, config: &Config, estimate: Option<&Estimate>, latest: Option<Seconds>) -> Result<Option<Seconds>, EngineError> {
        let mut noted = |attempt: &Attempt| (self.observe)(&Attempt { reference: latest, ..attempt.clone() });
        let done = verified(self.family, config, estimate, self.judge, (&mut *self.device, &mut *self.rng), &mut noted)?;
        Ok(done.ok().and_then(|right| right.time).map(|time| time.0))
    }

    /// Times the choice and the best again, in turn: the smallest of thousands of noisy times flatters. Without effect where time is not
    /// measured.
    ///
    /// # Errors
    /// What the device or the observer says.
    pub fn finals(&mut self, chosen: &mut Tuned, best: &mut (Config, Seconds)) -> Result<(), EngineError> {
        let Some((_, source @ TimeSource::Measured)) = chosen.time else { return Ok(()) };
        let finalists = [chosen.config.clone(), best.0.clone()];
        let estimates = [self.ranked(&finalists[0])?, self.ranked(&finalists[1])?].map(|own| own.map(|own| own.estimate));
        let mut times = [vec![], vec![]];
        for _ in 0..FINALS {
            for ((config, estimate), times) in finalists.iter().zip(&estimates).zip(&mut times) {
                times.extend(self.exactly(config, estimate.as_ref())?);
            }
        }
        if let [Some(first), Some(second)] = times.map(|times| median(&times)) {
            chosen.time = Some((first, source));
            best.1 = second;
            if first.0 < second.0 {
                *best = (chosen.config.clone(), first);
            }
        }
        Ok(())
    }

    fn ranked(&self, config: &Config) -> Result<Option<Ranked>, NoEstimate> {
        ranked(self.family, self.judge, config)
    }
}

/// A configuration with what the model says of it; `None` where it says that it cannot run.
fn ranked(family: &ScheduleFamily, judge: &Judge, config: &Config) -> Result<Option<Ranked>, NoEstimate> {
    match judge.model.estimate(&family.kernel(config), judge.profile) {
        Ok(estimate) => Ok(Some(Ranked { config: config.clone(), estimate })),
        Err(NoEstimate::CannotRun(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Simulates a configuration for its time alone.
fn tried(family: &ScheduleFamily, judge: &Judge, sim: &Sim, config: &Config, most: Seconds) -> Result<Tried, EngineError> {
    let (program, ran) = run_alone(family, config, sim, most)?;
    Ok(Tried { config: config.clone(), estimate: ranked(family, judge, config)?.map(|own| own.estimate), program, ran })
}

fn run_alone(family: &ScheduleFamily, config: &Config, sim: &Sim, most: Seconds) -> Result<(Checked, Simulated), EngineError> {
    let program = family.finish(config)?;
    let mut job = blank(family.expr(), &family.layouts(config)?, &program);
    for memory in &mut job.memory {
        (memory.init, memory.canaries) = (Init::Zero, false);
    }
    let ran = sim.time_within(&job, most);
    Ok((program, ran))
}

/// What configurations take on a simulated device without their results, as many at a time as there are processors: infinite where that is more
/// than `most`, `None` of those that do not run.
///
/// # Errors
/// A configuration that is not the family's.
pub fn times(family: &ScheduleFamily, sim: &Sim, configs: &[Config], most: Seconds) -> Result<Vec<Option<Seconds>>, EngineError> {
    let longer = Seconds(f64::INFINITY);
    let one = |config: &Config| Ok(run_alone(family, config, sim, most)?.1.ok().map(|ran| ran.map_or(longer, |ran| ran.0)));
    each(configs, one).into_iter().collect()
}
