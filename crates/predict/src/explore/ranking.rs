//! Which configurations are best, told one by one.

use super::outcome::{Outcome, Refusal};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

/// A configuration and what it costs.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranked {
    /// Its number.
    pub index: u64,
    /// What it costs.
    pub outcome: Outcome,
}

impl Eq for Ranked {}

impl Ord for Ranked {
    /// The better one is less: more points per second; of equals, the one that comes first in the space.
    fn cmp(&self, other: &Self) -> Ordering {
        let speed = |own: &Self| own.outcome.points_per_second;
        speed(other).total_cmp(&speed(self)).then(self.index.cmp(&other.index))
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The best of all configurations, in whatever order they come.
#[derive(Clone, Debug)]
pub struct Ranking {
    top: usize,
    /// The worst on top.
    best: BinaryHeap<Ranked>,
    /// Configurations that were predicted.
    pub predicted: u64,
    /// Configurations that were not.
    pub refusals: Refusals,
}

impl Ranking {
    /// Keeps so many.
    pub fn new(top: usize) -> Self {
        Self { top, best: BinaryHeap::new(), predicted: 0, refusals: Refusals::default() }
    }

    /// Takes one more.
    pub fn take(&mut self, index: u64, found: &Result<Outcome, Refusal>) {
        match found {
            Err(refusal) => self.refusals.take(index, refusal),
            Ok(outcome) => {
                self.predicted += 1;
                if self.best.len() < self.top {
                    self.best.push(Ranked { index, outcome: outcome.clone() });
                } else if let Some(mut worst) = self.best.peek_mut() {
                    let speed = outcome.points_per_second.total_cmp(&worst.outcome.points_per_second);
                    if speed.then(worst.index.cmp(&index)).is_gt() {
                        *worst = Ranked { index, outcome: outcome.clone() };
                    }
                }
            }
        }
    }

    /// The best first.
    pub fn best(self) -> Vec<Ranked> {
        self.best.into_sorted_vec()
    }
}

/// Reasons that are told apart; further ones count together.
const REASONS: usize = 64;

/// Configurations without a prediction, by reason.
#[derive(Clone, Debug, Default)]
pub struct Refusals {
    /// How many there are.
    pub count: u64,
    /// For each reason, how many, and the first of them.
    reasons: BTreeMap<String, (u64, u64)>,
}

impl Refusals {
    fn take(&mut self, index: u64, Refusal(reason): &Refusal) {
        self.count += 1;
        if let Some((count, first)) = self.reasons.get_mut(reason) {
            *count += 1;
            *first = index.min(*first);
        } else {
            let reason = if self.reasons.len() < REASONS { reason.clone() } else { "other reasons".to_owned() };
            let own = self.reasons.entry(reason).or_insert((0, index));
            own.0 += 1;
        }
    }

    /// Reasons, how many configurations each keeps out, and the first of these; the most frequent first.
    pub fn reasons(&self) -> Vec<(&str, u64, u64)> {
        let mut found: Vec<_> = self.reasons.iter().map(|(reason, &(count, first))| (reason.as_str(), count, first)).collect();
        found.sort_by_key(|&(_, count, first)| (std::cmp::Reverse(count), first));
        found
    }
}

/// The best configuration at each value of a sweep.
#[derive(Clone, Debug, Default)]
pub struct Winners(BTreeMap<u64, (f64, u64)>);

impl Winners {
    /// Takes one more, at the value of that number.
    pub fn take(&mut self, position: u64, index: u64, outcome: &Outcome) {
        let speed = outcome.points_per_second;
        let own = self.0.entry(position).or_insert((speed, index));
        if speed.total_cmp(&own.0).then(own.1.cmp(&index)).is_gt() {
            *own = (speed, index);
        }
    }

    /// Numbers of values and of the best configuration there; values at which nothing was predicted are left out.
    pub fn best(&self) -> impl Iterator<Item = (u64, u64)> {
        self.0.iter().map(|(&position, &(_, index))| (position, index))
    }
}

/// So many different numbers below `len`, drawn by a seed; all where there are no more.
pub fn sample(len: u64, count: u64, seed: u64) -> BTreeSet<u64> {
    let mut drawn = BTreeSet::new();
    let mut state = seed;
    if count >= len {
        return (0..len).collect();
    }
    while (drawn.len() as u64) < count {
        // SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014); the high half of the product is uniform
        // but for less than 2^-40 of a draw for spaces below 2^24.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        drawn.insert(((u128::from(z) * u128::from(len)) >> 64) as u64);
    }
    drawn
}
