//! Large launches by representative parts: which groups are simulated, and what the others are taken to cost.
//!
//! A *round* is as many groups as the device holds at once. Simulated are the first two rounds, windows of two rounds spread over the launch,
//! and the last rounds with what remains of one. Cores are never idle between windows; of each window the first half round brings caches and
//! cores into step, and the time in which the next round is dispatched is what a round there takes. Rounds between two windows take the mean of
//! both. What is left out is whole rounds, so that the end of the launch finds the cores as they would be.

use crate::timing::Time;
use crate::totals::Totals;

/// How much of a launch is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampling {
    /// Memory instructions of waves that are simulated, about; a launch of hardly more is simulated wholly.
    pub requests: u64,
}

impl Sampling {
    /// Every group.
    pub const ALL: Self = Self { requests: u64::MAX };
}

impl Default for Sampling {
    fn default() -> Self {
        Self { requests: 40_000 }
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
    /// Of each window: sums of dispatch times, of the second half of the first round and of the second round, and totals at their ends.
    seen: Vec<Seen>,
}

#[derive(Clone, Debug, Default)]
struct Seen {
    early: f64,
    late: f64,
    begin: Option<Totals>,
    end: Option<Totals>,
}

/// Rounds of a window.
const WINDOW: u64 = 2;

impl Plan {
    /// For so many groups on a device that holds `round` at once.
    pub fn new(groups: u64, round: u64, sampling: Sampling) -> Self {
        let round = round.max(1);
        let decided = sampling == Sampling::ALL || groups < 7 * round;
        let first = Window { from: 0, to: if decided { groups } else { WINDOW * round } };
        Self { groups, round, requests: sampling.requests, windows: vec![first], at: 0, next: 0, decided, seen: vec![Seen::default()] }
    }

    /// The next group to simulate; `requests` were so far, `totals` says what was done.
    pub fn take(&mut self, requests: u64, totals: impl FnOnce() -> Totals) -> Option<u64> {
        if self.next == self.windows[self.at].to {
            if !self.decided {
                // About one of the two rounds that were dispatched is done.
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
        if self.windows.len() > 1 {
            match group - window.from {
                first if first == self.round => seen.begin = Some(totals()),
                last if last + 1 == WINDOW * self.round => seen.end = Some(totals()),
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
        let place = self.next - 1 - self.windows[self.at].from;
        let (half, seen) = (self.round.div_ceil(2), &mut self.seen[self.at]);
        if (self.round - half..self.round).contains(&place) {
            seen.early += when as f64;
        } else if (2 * self.round - half..2 * self.round).contains(&place) {
            seen.late += when as f64;
        }
    }

    /// Chooses the windows once it is known what a round takes.
    fn decide(&mut self, requests: u64) {
        self.decided = true;
        let round = self.round;
        let end = round + self.groups % round;
        let between = (self.groups - end) / round - WINDOW;
        let afford = self.requests / requests.max(1);
        let windows = (afford.saturating_sub(2 * WINDOW) / WINDOW).clamp(1, 8);
        // Not worth it where less than a third is left out.
        if afford >= self.groups / round || between < WINDOW * windows + self.groups / round / 3 {
            self.windows[0].to = self.groups;
            return;
        }
        let left_out = between - WINDOW * windows;
        for window in 0..windows {
            let before = WINDOW + WINDOW * window + left_out * (window + 1) / (windows + 1);
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
            // The first window is cold and the last one ends: both are simulated, and say nothing of others.
            let seen = self.seen.get(at).filter(|_| at > 0 && at + 1 < self.windows.len())?;
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
        let mut plan = Plan::new(groups, round, Sampling { requests });
        let mut now = 0;
        while let Some(group) = plan.take(10 * round, Totals::default) {
            plan.begins(now);
            now += each(group);
        }
        assert!(plan.done());
        (plan.simulated(), now as f64 + plan.between().end)
    }

    #[test]
    fn what_is_left_out_is_whole_rounds_at_the_price_of_those_around() {
        // 1003 groups in rounds of 10; 160 requests are 1.6 rounds of 100.
        let (simulated, time) = dispatched(1003, 10, 160, |_| 7);
        assert_eq!((simulated % 10, time), (3, 7021.0));
        assert!(simulated < 100, "{simulated}");
        // A launch whose groups become slower: means of windows are its mean.
        let (_, time) = dispatched(1003, 10, 100 * 40, |group| 100 + group);
        let exact = (0..1003).map(|group| 100 + group).sum::<u64>() as f64;
        assert!((time / exact - 1.0).abs() < 0.02, "{time} {exact}");
    }

    #[test]
    fn what_is_cheap_or_short_is_simulated_wholly() {
        assert_eq!(dispatched(69, 10, 1, |_| 7).0, 69);
        assert_eq!(dispatched(1003, 10, u64::MAX - 1, |_| 7).0, 1003);
        assert_eq!(dispatched(1003, 10, u64::MAX, |_| 7).0, 1003);
    }
}
