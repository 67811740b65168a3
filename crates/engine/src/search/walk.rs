//! Steps in the space of a family: draws, changes of a few knobs, and what lies between two configurations.

use crate::tune::Judge;
use fastrand::Rng;
use std::collections::HashSet;
use warpsight_generate::{ScheduleFamily, prune};
use warpsight_ir::{Config, Family};

/// Configurations among which are drawn: so many of the space, evenly by chance, and more of them where all were seen.
const DRAWN: [usize; 3] = [2000, 16_000, usize::MAX];
/// Changes that are tried until one is legal.
const CHANGES: usize = 24;

/// Which configurations of a family may be taken.
pub type Wanted<'a> = &'a (dyn Fn(&Config) -> bool + Sync);

/// A family's space on a device, walked by chance: the same ways for one seed.
pub struct Walk<'a> {
    family: &'a ScheduleFamily,
    judge: &'a Judge<'a>,
    wanted: Wanted<'a>,
    rng: Rng,
    /// Draws to come, and how often they were made.
    drawn: Vec<Config>,
    rounds: usize,
}

impl<'a> Walk<'a> {
    pub fn new(family: &'a ScheduleFamily, judge: &'a Judge<'a>, wanted: Wanted<'a>, seed: u64) -> Self {
        Self { family, judge, wanted, rng: Rng::with_seed(seed), drawn: vec![], rounds: 0 }
    }

    /// A number below 1.
    pub fn chance(&mut self) -> f64 {
        self.rng.f64()
    }

    /// One of so many.
    pub fn below(&mut self, most: usize) -> usize {
        self.rng.usize(..most.max(1))
    }

    /// A configuration by chance that nobody has seen; `None` where none is found any more.
    pub fn draw(&mut self, seen: &HashSet<Config>) -> Option<Config> {
        loop {
            while let Some(config) = self.drawn.pop() {
                if !seen.contains(&config) && self.allows(&config) {
                    return Some(config);
                }
            }
            let most = *DRAWN.get(self.rounds)?;
            self.rounds += 1;
            self.drawn = self.family.some(most);
            self.rng.shuffle(&mut self.drawn);
        }
    }

    /// A legal configuration that differs in one knob or two.
    pub fn change(&mut self, of: &Config) -> Option<Config> {
        let knobs = &self.family.space().knobs;
        (0..CHANGES).find_map(|_| {
            let mut own = of.clone();
            for _ in 0..=self.rng.usize(..2) {
                let at = self.rng.usize(..knobs.len());
                own.0[at] = knobs[at].values[self.rng.usize(..knobs[at].values.len())];
            }
            (own != *of && self.is_legal(&own)).then_some(own)
        })
    }

    /// A legal configuration whose knobs are each one of two others'.
    pub fn cross(&mut self, one: &Config, other: &Config) -> Option<Config> {
        (0..CHANGES).find_map(|_| {
            let own = Config(one.0.iter().zip(&other.0).map(|(a, b)| if self.rng.bool() { *a } else { *b }).collect());
            (own != *one && own != *other && self.is_legal(&own)).then_some(own)
        })
    }

    fn is_legal(&self, config: &Config) -> bool {
        self.family.layouts(config).is_ok() && self.allows(config)
    }

    /// Whether a legal configuration may be taken, and the device can run it.
    pub fn allows(&self, config: &Config) -> bool {
        (self.wanted)(config) && prune(self.family, std::iter::once(config.clone()), &self.judge.allowance).next().is_some()
    }
}
