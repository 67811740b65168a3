//! Large launches by representative parts: which groups are simulated, and what the others are taken to cost.
//!
//! A *round* is as many groups as the device holds at once. Simulated are the first rounds, until groups that began in step have drifted apart
//! (caches hold less of what groups at different places of their loops touch, so that rounds become slower for a long time), then windows of two
//! rounds spread over the launch, and the last rounds with what remains of one. Cores are never idle between windows; of each window the first
//! round brings caches and cores into step, and the time in which the last is dispatched is what a round there takes. Rounds between two windows
//! take the mean of both. What is left out is whole rounds, so that the end of the launch finds the cores as they would be.

use crate::timing::Time;
use crate::totals::Totals;

/// How much of a launch is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampling {
    /// A launch of about so many memory instructions of waves, or fewer, is simulated wholly.
    pub requests: u64,
    /// A launch whose simulated parts take more cycles is given up ([`SimFault::Longer`](crate::SimFault::Longer)).
    pub cycles: u64,
}

impl Sampling {
    /// Every group.
    pub const ALL: Self = Self { requests: u64::MAX, cycles: u64::MAX };
}

impl Default for Sampling {
    fn default() -> Self {
        Self { requests: 200_000, ..Self::ALL }
    }
}

/// Consecutive groups that are simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Window {
    from: u64,
    to: u64,
}

/// Which groups are simulated, and when they were dispatched.
#[derive(Debug, Default)]
pub struct Plan {
    groups: u64,
    round: u64,
    requests: u64,
    windows: Vec<Window>,
    /// The window that is dispatched now.
    at: usize,
    next: u64,
    decided: bool,
    /// Of each window: sums of dispatch times, of the half round before its last round and of the last half round, and totals around the last.
    seen: Vec<Seen>,
}

#[derive(Clone, Debug, Default)]
struct Seen {
    early: f64,
    late: f64,
    begin: Option<Totals>,
    end: Option<Totals>,
}

/// Rounds of the first window. Groups drift apart over two to some twenty rounds in most kernels, over hundreds in a few: those are what the
/// largest errors of the example `sampled` are.
const FIRST: u64 = 24;

/// Rounds of a window.
const WINDOW: u64 = 2;

/// Rounds that one window stands for, at least, and the most windows; launches have borders, where groups do less.
const APART: u64 = 8;
const WINDOWS: u64 = 16;

/// The golden ratio's fraction, whose multiples lie nowhere in step.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

impl Plan {
    /// For so many groups on a device that holds `round` at once.
    pub fn new(groups: u64, round: u64, sampling: Sampling) -> Self {
        let round = round.max(1);
        let decided = sampling.requests == u64::MAX || groups < (FIRST + APART + 2) * round;
        let first = Window { from: 0, to: if decided { groups } else { FIRST * round } };
        Self { groups, round, requests: sampling.requests, windows: vec![first], at: 0, next: 0, decided, seen: vec![Seen::default()] }
    }

    /// The next group to simulate; `requests` were so far, `totals` says what was done.
    pub fn take(&mut self, requests: u64, totals: impl FnOnce() -> Totals) -> Option<u64> {
        if self.next == self.windows[self.at].to {
            if !self.decided {
                self.decide(requests);
            }
            if self.next == self.windows[self.at].to {
                if self.at + 1 == self.windows.len() {
                    return None;
                }
                self.at += 1;
                self.next = self.windows[self.at].from;
            }
        }
        let group = self.next;
        self.next += 1;
        let (window, seen) = (self.windows[self.at], &mut self.seen[self.at]);
        if !self.decided || self.windows.len() > 1 {
            match window.to - group {
                last if last == self.round => seen.begin = Some(totals()),
                1 => seen.end = Some(totals()),
                _ => {}
            }
        }
        Some(group)
    }

    /// Whether all groups that are simulated were dispatched.
    pub fn done(&self) -> bool {
        self.decided && self.at + 1 == self.windows.len() && self.next == self.windows[self.at].to
    }

    /// The group that was taken last begins.
    pub fn begins(&mut self, when: Time) {
        let left = self.windows[self.at].to + 1 - self.next;
        let (half, seen) = (self.round.div_ceil(2), &mut self.seen[self.at]);
        if left <= half {
            seen.late += when as f64;
        } else if (self.round + 1..=self.round + half).contains(&left) {
            seen.early += when as f64;
        }
    }

    /// Chooses the windows once it is known what the first rounds took.
    fn decide(&mut self, requests: u64) {
        self.decided = true;
        let round = self.round;
        let end = round + self.groups % round;
        let between = (self.groups - end) / round - FIRST;
        let windows = (between / APART).clamp(1, WINDOWS);
        if requests.saturating_mul(self.groups / round) <= self.requests.saturating_mul(FIRST) || between <= WINDOW * windows {
            self.windows[0].to = self.groups;
            return;
        }
        let left_out = between - WINDOW * windows;
        for window in 0..windows {
            // Windows stand where borders, which come again and again, are not met in step.
            let away = (window as f64 + 0.25 + (window as f64 * GOLDEN).fract() / 2.0) / windows as f64;
            let before = FIRST + WINDOW * window + (left_out as f64 * away).round() as u64;
            self.windows.push(Window { from: before * round, to: (before + WINDOW) * round });
        }
        self.windows.push(Window { from: self.groups - end, to: self.groups });
        self.seen.resize(self.windows.len(), Seen::default());
    }

    /// Groups that were simulated.
    pub fn simulated(&self) -> u64 {
        self.windows.iter().map(|window| window.to - window.from).sum()
    }

    /// What the groups between windows are taken to add.
    pub fn between(&self) -> Totals {
        let mut sum = Totals::default();
        let half = self.round.div_ceil(2) as f64;
        let window = |at: usize| {
            // The last window ends, and says nothing of others.
            let seen = self.seen.get(at).filter(|_| at + 1 < self.windows.len())?;
            let mut round = seen.end.as_ref()?.since(seen.begin.as_ref()?);
            round.scale(self.round as f64 / (self.round.max(2) - 1) as f64);
            round.end = (seen.late - seen.early) / half;
            Some(round)
        };
        for (at, pair) in self.windows.windows(2).enumerate() {
            let rounds = (pair[1].from - pair[0].to) as f64 / self.round as f64;
            let sides: Vec<Totals> = [window(at), window(at + 1)].into_iter().flatten().collect();
            for side in &sides {
                sum.add(side, rounds / sides.len() as f64);
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Dispatches groups one after another, each so many ticks after the one before; what is simulated, and what the whole is taken to take.
    fn dispatched(groups: u64, round: u64, requests: u64, each: impl Fn(u64) -> u64) -> (u64, f64) {
        let mut plan = Plan::new(groups, round, Sampling { requests, ..Sampling::ALL });
        let mut now = 0;
        // Each group makes ten requests; windows are decided on after as many groups as the first has.
        let mut requests = 0;
        while let Some(group) = plan.take(requests, Totals::default) {
            requests += 10;
            plan.begins(now);
            now += each(group);
        }
        assert!(plan.done());
        (plan.simulated(), now as f64 + plan.between().end)
    }

    #[test]
    fn what_is_left_out_is_whole_rounds_at_the_price_of_those_around() {
        let (simulated, time) = dispatched(1003, 10, 160, |_| 7);
        assert_eq!((simulated % 10, time), (3, 7021.0));
        assert!(simulated < 450, "{simulated}");
        // Groups become slower, from the first window on: means of windows are their mean.
        let (_, time) = dispatched(1003, 10, 160, |group| 100 + group);
        let exact = (0..1003).map(|group| 100 + group).sum::<u64>() as f64;
        assert!((time / exact - 1.0).abs() < 0.01, "{time} {exact}");
    }

    /// Every eighth round has nothing to do, as at borders. Windows at even distances would be 48 rounds apart, and meet all of them or none.
    #[test]
    fn windows_are_not_in_step_with_borders() {
        let (simulated, time) = dispatched(8390, 10, 160, |group| if group / 10 % 8 == 0 { 0 } else { 8 });
        let error = time / (7.0 * 8390.0) - 1.0;
        assert!(simulated < 700 && error.abs() < 0.06, "{simulated} {error}");
    }

    #[test]
    fn what_is_cheap_or_short_is_simulated_wholly() {
        assert_eq!(dispatched(339, 10, 1, |_| 7).0, 339);
        // A hundred requests a round: 10,030 in all.
        assert_eq!(dispatched(1003, 10, 10_100, |_| 7).0, 1003);
        assert!(dispatched(1003, 10, 9_900, |_| 7).0 < 1003);
        assert_eq!(dispatched(1003, 10, u64::MAX, |_| 7).0, 1003);
    }
}
