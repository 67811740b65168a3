//! How long the rest will take, said only when it is known.

use indicatif::ProgressState;
use indicatif::style::ProgressTracker;
use std::fmt::Write;
use std::time::Instant;

/// Nothing is said before.
const EARLIEST: f64 = 3.0;

/// How far what half and a quarter of the time foretold may be from what is foretold now.
const AGREE: f64 = 1.4;

/// How much was done when: (seconds, share), both growing.
#[derive(Clone, Debug, Default)]
pub struct Left(Vec<(f64, f64)>);

impl Left {
    fn seen(&mut self, seconds: f64, share: f64) {
        if self.0.last().is_none_or(|last| share > last.1) {
            self.0.push((seconds, share));
        }
    }

    /// Seconds that are left, where half and a quarter of the time foretold the same.
    fn seconds(&self, seconds: f64, share: f64) -> Option<f64> {
        let whole = seconds / share;
        let agreed = |then: f64| {
            let before = &self.0[..self.0.partition_point(|seen| seen.0 <= then)];
            before.last().is_some_and(|seen| (1.0 / AGREE..=AGREE).contains(&(whole / (then / seen.1))))
        };
        let agree = agreed(seconds / 2.0) && agreed(seconds / 4.0);
        (seconds >= EARLIEST && share < 1.0 && agree).then_some(whole - seconds)
    }
}

/// As people say it.
fn words(seconds: f64) -> String {
    match seconds {
        s if s < 1.0 => "1 s".to_owned(),
        s if s < 20.0 => format!("{s:.0} s"),
        s if s < 100.0 => format!("{:.0} s", (s / 10.0).round() * 10.0),
        s if s < 5400.0 => format!("{:.0} min", (s / 60.0).ceil()),
        s => format!("{:.1} h", s / 3600.0),
    }
}

fn share(state: &ProgressState) -> f64 {
    state.len().filter(|&len| len > 0).map_or(0.0, |len| state.pos() as f64 / len as f64)
}

impl ProgressTracker for Left {
    fn clone_box(&self) -> Box<dyn ProgressTracker> {
        Box::new(self.clone())
    }
    fn tick(&mut self, state: &ProgressState, _: Instant) {
        self.seen(state.elapsed().as_secs_f64(), share(state));
    }
    fn reset(&mut self, _: &ProgressState, _: Instant) {
        self.0.clear();
    }
    fn write(&self, state: &ProgressState, w: &mut dyn Write) {
        if let Some(left) = self.seconds(state.elapsed().as_secs_f64(), share(state)) {
            let _ = write!(w, " (about {} left)", words(left));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said at each second of work whose steps end at these seconds, each the same share.
    fn said(ends: &[f64]) -> Vec<Option<f64>> {
        let mut left = Left::default();
        let mut done = 0;
        let last = ends.last().copied().unwrap_or_default();
        (1..last as usize)
            .map(|second| {
                while ends.get(done).is_some_and(|&end| end <= second as f64) {
                    done += 1;
                    left.seen(ends[done - 1], done as f64 / ends.len() as f64);
                }
                left.seconds(second as f64, done as f64 / ends.len() as f64)
            })
            .collect()
    }

    #[test]
    fn even_work_is_foretold() {
        let said = said(&(1..=50).map(|n| f64::from(n) * 2.0).collect::<Vec<_>>());
        assert!(said[..2].iter().all(Option::is_none), "not within the first seconds");
        for (second, left) in said.iter().enumerate().skip(20) {
            let (left, true_left) = (left.expect("known"), 100.0 - (second as f64 + 1.0));
            assert!((left - true_left).abs() < 8.0, "{left} of {true_left}");
        }
    }

    /// Quick steps, then slow ones: what was said of 34 s became 7 min.
    #[test]
    fn what_jumps_is_not_said() {
        let quick = (1..=20).map(|n| f64::from(n) * 0.5);
        let slow = (1..=20).map(|n| 10.0 + f64::from(n) * 20.0);
        let said = said(&quick.chain(slow).collect::<Vec<_>>());
        let jumping = said.iter().enumerate().skip(15).take(50).filter(|(_, left)| left.is_some());
        assert_eq!(jumping.map(|(at, _)| at).collect::<Vec<_>>(), Vec::<usize>::new());
    }

    #[test]
    fn words_are_rough() {
        assert_eq!([0.2, 7.3, 34.0, 95.0, 130.0, 7200.0].map(words), ["1 s", "7 s", "30 s", "100 s", "3 min", "2.0 h"]);
    }
}
