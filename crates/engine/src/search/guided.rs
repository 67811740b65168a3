//! Search within a budget of timed configurations: the analytical model proposes the first ones, and after each batch a model learns from
//! what was timed what the analytical one is off by, of configurations' facts ([`facts`](super::facts)).
//!
//! Evolution is Ansor's way (Zheng and others, 2020, section 5): configurations that were fast are changed and crossed. Annealing is AutoTVM's (Chen and
//! others, 2018, section 4): chains walk by what is predicted while they cool. Both time what is predicted to be the fastest, and a few by
//! chance. The same seed, budget and times give the same search.

use super::facts::row;
use super::walk::{Walk, Wanted};
use super::{Earlier, Ran, Timed};
use crate::EngineError;
use crate::tune::Judge;
use std::collections::{HashMap, HashSet};
use std::time::Instant;
use warpsight_generate::ScheduleFamily;
use warpsight_generate::parallel::each;
use warpsight_ir::{Checked, Config, Estimate, Family, Kernel, NoEstimate, Ranked, Seconds};

/// Configurations that are timed between two times of learning.
const BATCH: usize = 16;
/// Of a batch, one in so many is drawn.
const DRAWN: usize = 8;
/// Configurations that are judged for a batch.
const JUDGED: usize = 128;
/// The fastest, of which others are made.
const PARENTS: usize = 16;
/// The part that is made by chance, and that with those that are made by crossing.
const BY_CHANCE: f64 = 0.15;
const CROSSED: f64 = 0.45;
/// Chains that are annealed.
const CHAINS: usize = 8;
/// How much longer, as a logarithm, a step is willing to be at the beginning and at the end.
const HOT: f64 = 0.4;
const COLD: f64 = 0.02;

/// How configurations are proposed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// By chance.
    Random,
    /// Those that were fast, changed and crossed.
    Evolutionary,
    /// Chains of changes that cool down.
    Anneal,
}

/// What learns to tell a number from rows of numbers.
pub trait Learner: Sync {
    /// Learns from rows and what they are to tell.
    fn learn(&self, rows: &[Vec<f64>], targets: &[f64]) -> Learned;
}

/// What was learned: a row's number.
pub type Learned = Box<dyn Fn(&[f64]) -> f64 + Sync>;

/// Lanes of a warp of the device; 1 where nobody knows.
fn warp(judge: &Judge) -> u32 {
    judge.allowance.residency.warp.unwrap_or(1)
}

/// What was timed of another expression on the same device.
#[derive(Clone, Debug, PartialEq)]
pub struct Lesson {
    row: Vec<f64>,
    /// The logarithm of timed over predicted seconds.
    off: f64,
}

impl Lesson {
    /// Of a Program that took so long; `None` where the model says nothing of it.
    pub fn of(program: &Checked, time: Seconds, judge: &Judge) -> Option<Self> {
        let kernel = Kernel::of(program).ok()?;
        let estimate = judge.model.estimate(&kernel, judge.profile).ok()?;
        Some(Self { row: row(&kernel, &estimate, warp(judge)), off: (time.0 / estimate.time.0).ln() })
    }
}

/// A search of a family's space.
pub struct Guided<'a> {
    /// The family.
    pub family: &'a ScheduleFamily,
    /// What predicts, and what a device can run.
    pub judge: &'a Judge<'a>,
    /// What learns.
    pub learner: &'a dyn Learner,
    /// How configurations are proposed.
    pub strategy: Strategy,
    /// How many are timed, with those that are known.
    pub budget: usize,
    /// What is drawn.
    pub seed: u64,
    /// Which may be taken.
    pub wanted: Wanted<'a>,
}

/// What a search was left with after so many runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Configurations tried so far, those known from earlier among them.
    pub runs: usize,
    /// Seconds since the search began.
    pub elapsed: Seconds,
    /// The least time so far.
    pub best: Seconds,
}

/// What a search found.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// What ran, in order; what was known first.
    pub timed: Vec<Timed>,
    /// Configurations that were tried: these, and those below.
    pub runs: usize,
    /// Of those that were tried, known of an earlier search.
    pub known: usize,
    /// Given up, since they take several times as long as others.
    pub slower: usize,
    /// Not compiled, not run, or wrong.
    pub refused: usize,
    /// Whenever there was a better one, and the end.
    pub curve: Vec<Point>,
}

/// What is said of a configuration before it is timed.
struct Judged {
    estimate: Estimate,
    row: Vec<f64>,
}

/// Tries a batch within a time.
pub type Trying<'a> = dyn FnMut(&[Ranked], Seconds) -> Result<Vec<Ran>, EngineError> + 'a;

/// A search that goes on.
struct State<'a> {
    of: &'a Guided<'a>,
    walk: Walk<'a>,
    begun: Instant,
    seen: HashSet<Config>,
    judged: HashMap<Config, Option<Judged>>,
    lessons: Vec<Lesson>,
    chains: Vec<Config>,
    found: Found,
}

impl Guided<'_> {
    /// Searches. `first` is what the analytical model would take, the best first, and `known` what was tried before: it counts as tried. `lessons` are
    /// learned from at the beginning.
    ///
    /// # Errors
    /// What `trying` says, or what the profile lacks.
    pub fn run(
        &self,
        first: &[Config],
        known: Vec<(Config, Earlier)>,
        lessons: Vec<Lesson>,
        trying: &mut Trying,
    ) -> Result<Found, EngineError> {
        let mut state = State {
            of: self,
            walk: Walk::new(self.family, self.judge, self.wanted, self.seed),
            begun: Instant::now(),
            seen: HashSet::new(),
            judged: HashMap::new(),
            lessons,
            chains: vec![],
            found: Found::default(),
        };
        // What another run was allowed may be what this one is to do without.
        let known = known.into_iter().filter(|own| state.walk.allows(&own.0)).collect();
        state.remember(known)?;
        let mut batch: Vec<Config> = first.iter().filter(|own| !state.seen.contains(own) && (self.wanted)(own)).cloned().collect();
        batch.truncate(BATCH / 2);
        state.fill(&mut batch);
        while state.found.runs < self.budget && !batch.is_empty() {
            batch.truncate(self.budget - state.found.runs);
            state.try_all(&batch, trying)?;
            batch = state.propose()?;
        }
        state.point(true);
        Ok(state.found)
    }
}

impl State<'_> {
    /// Takes what an earlier search found.
    fn remember(&mut self, known: Vec<(Config, Earlier)>) -> Result<(), EngineError> {
        let configs: Vec<Config> = known.iter().map(|own| own.0.clone()).collect();
        self.judge(&configs)?;
        for (config, Earlier { time, exact }) in known {
            self.found.known += 1;
            match time {
                Some(time) => {
                    let estimate = self.judged.get(&config).and_then(Option::as_ref).map(|own| own.estimate.clone());
                    self.take(&config, Ran::Timed(Timed { config: config.clone(), estimate, time, exact }));
                }
                None => self.take(&config, Ran::Refused),
            }
        }
        Ok(())
    }

    /// Draws until a batch is full.
    fn fill(&mut self, batch: &mut Vec<Config>) {
        let mut taken = self.seen.clone();
        taken.extend(batch.iter().cloned());
        while batch.len() < BATCH {
            let Some(config) = self.walk.draw(&taken) else { return };
            taken.insert(config.clone());
            batch.push(config);
        }
    }

    fn try_all(&mut self, batch: &[Config], trying: &mut Trying) -> Result<(), EngineError> {
        self.judge(batch)?;
        let (mut ranked, mut silent) = (vec![], vec![]);
        for config in batch {
            match self.judged.get(config).and_then(Option::as_ref) {
                Some(own) => ranked.push(Ranked { config: config.clone(), estimate: own.estimate.clone() }),
                None => silent.push(config),
            }
        }
        let least = self.least().unwrap_or(Seconds(f64::INFINITY));
        for (own, ran) in ranked.iter().zip(trying(&ranked, least)?) {
            self.take(&own.config, ran);
        }
        // What the model says cannot run is not tried.
        self.seen.extend(silent.into_iter().cloned());
        Ok(())
    }

    fn take(&mut self, config: &Config, ran: Ran) {
        if !self.seen.insert(config.clone()) {
            return;
        }
        self.found.runs += 1;
        match ran {
            Ran::Timed(timed) => {
                if let Some(Some(own)) = self.judged.get(config) {
                    self.lessons.push(Lesson { row: own.row.clone(), off: (timed.time.0 / own.estimate.time.0).ln() });
                }
                let better = self.least().is_none_or(|least| timed.time.0 < least.0);
                self.found.timed.push(timed);
                if better {
                    self.point(false);
                }
            }
            Ran::Slower => self.found.slower += 1,
            Ran::Refused => self.found.refused += 1,
        }
    }

    fn point(&mut self, end: bool) {
        let Some(best) = self.least() else { return };
        let point = Point { runs: self.found.runs, elapsed: Seconds(self.begun.elapsed().as_secs_f64()), best };
        if !end || self.found.curve.last().is_none_or(|last| last.runs < point.runs) {
            self.found.curve.push(point);
        }
    }

    fn least(&self) -> Option<Seconds> {
        self.found.timed.iter().map(|own| own.time).reduce(Seconds::min)
    }

    /// Asks the analytical model of configurations that it was not asked of.
    fn judge(&mut self, configs: &[Config]) -> Result<(), EngineError> {
        let (family, judge) = (self.of.family, self.of.judge);
        let anew: Vec<&Config> = configs.iter().filter(|own| !self.judged.contains_key(own)).collect();
        let said = each(&anew, |config| {
            let kernel = family.kernel(config);
            match judge.model.estimate(&kernel, judge.profile) {
                Ok(estimate) => Ok(Some(Judged { row: row(&kernel, &estimate, warp(judge)), estimate })),
                Err(NoEstimate::CannotRun(_)) => Ok(None),
                Err(error) => Err(error),
            }
        });
        let keys: Vec<Config> = anew.into_iter().cloned().collect();
        for (config, said) in keys.into_iter().zip(said) {
            self.judged.insert(config, said?);
        }
        Ok(())
    }

    /// What to time next; none where nothing is left.
    fn propose(&mut self) -> Result<Vec<Config>, EngineError> {
        let mut batch = vec![];
        if self.of.strategy != Strategy::Random && !self.found.timed.is_empty() {
            let rows: Vec<Vec<f64>> = self.lessons.iter().map(|own| own.row.clone()).collect();
            let targets: Vec<f64> = self.lessons.iter().map(|own| own.off).collect();
            let learned = self.of.learner.learn(&rows, &targets);
            let made = match self.of.strategy {
                Strategy::Anneal => self.annealed(&learned)?,
                _ => self.bred(),
            };
            let scores = self.scores(&made, &learned)?;
            let mut order: Vec<(f64, Config)> = scores.into_iter().zip(made).filter(|own| own.0.is_finite()).collect();
            order.sort_by(|a, b| a.0.total_cmp(&b.0));
            batch.extend(order.into_iter().map(|own| own.1).take(BATCH - BATCH / DRAWN));
        }
        self.fill(&mut batch);
        Ok(batch)
    }

    /// Logarithms of the seconds that are expected, infinite where nothing is known.
    fn scores(&mut self, configs: &[Config], learned: &Learned) -> Result<Vec<f64>, EngineError> {
        self.judge(configs)?;
        let score = |config: &Config| match self.judged.get(config) {
            Some(Some(own)) => own.estimate.time.0.ln() + learned(&own.row),
            _ => f64::INFINITY,
        };
        Ok(configs.iter().map(score).collect())
    }

    /// New configurations, made of those that were the fastest.
    fn bred(&mut self) -> Vec<Config> {
        let mut parents: Vec<&Timed> = self.found.timed.iter().collect();
        parents.sort_by(|a, b| a.time.0.total_cmp(&b.time.0));
        let parents: Vec<Config> = parents.into_iter().take(PARENTS).map(|own| own.config.clone()).collect();
        let (mut taken, mut made) = (self.seen.clone(), vec![]);
        for _ in 0..JUDGED {
            // The faster of two: those that were fast have more of the next ones.
            let at = self.walk.below(parents.len()).min(self.walk.below(parents.len()));
            let chance = self.walk.chance();
            let own = if chance < BY_CHANCE {
                self.walk.draw(&taken)
            } else if chance < CROSSED {
                let other = self.walk.below(parents.len());
                self.walk.cross(&parents[at], &parents[other])
            } else {
                self.walk.change(&parents[at])
            };
            made.extend(own.filter(|own| taken.insert(own.clone())));
        }
        made
    }

    /// What chains pass that walk by what is expected, and are the less willing to go where it takes longer the more of the budget is spent.
    fn annealed(&mut self, learned: &Learned) -> Result<Vec<Config>, EngineError> {
        if self.chains.is_empty() {
            let mut best: Vec<&Timed> = self.found.timed.iter().collect();
            best.sort_by(|a, b| a.time.0.total_cmp(&b.time.0));
            self.chains = best.into_iter().take(CHAINS).map(|own| own.config.clone()).collect();
        }
        let spent = self.found.runs as f64 / self.of.budget as f64;
        let heat = HOT * (COLD / HOT).powf(spent);
        let (mut taken, mut passed) = (self.seen.clone(), vec![]);
        let mut chains = std::mem::take(&mut self.chains);
        let mut own = self.scores(&chains, learned)?;
        for _ in 0..JUDGED / CHAINS {
            let next: Vec<Option<Config>> = chains.iter().map(|chain| self.walk.change(chain)).collect();
            let known: Vec<Config> = next.iter().zip(&chains).map(|(next, chain)| next.as_ref().unwrap_or(chain).clone()).collect();
            let scores = self.scores(&known, learned)?;
            for ((chain, own), (next, score)) in chains.iter_mut().zip(&mut own).zip(known.into_iter().zip(scores)) {
                if taken.insert(next.clone()) {
                    passed.push(next.clone());
                }
                if score <= *own || self.walk.chance() < ((*own - score) / heat).exp() {
                    (*chain, *own) = (next, score);
                }
            }
        }
        self.chains = chains;
        Ok(passed)
    }
}
