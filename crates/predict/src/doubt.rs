//! How much a pick that was not timed is expected to lose.
//!
//! Errors of the configurations at the top of a ranking are taken to be independent and log-normal, of one spread for each resource that limits the pick.
//! What is expected to be lost is the mean, over draws, of how much longer the pick takes than the fastest of the list. The spreads are fitted such
//! that this is what picks lost in the mean, which the example `choose` of `engine` times: `data/fits/choose.toml` says on which devices, and how
//! well picks on each are told by the others.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::LazyLock;
use warpsight_ir::sample::trees::unit;
use warpsight_ir::{Limiter, Ranked};

/// Draws that expectations are taken over.
const DRAWS: u64 = 300;
/// Of a ranking so many: what was fitted had as many, and a longer list has more that may be faster.
const LISTED: usize = 9;
/// A limiter of fewer picks has no spread of its own.
const FEW: usize = 6;
/// The widest spread: errors of a factor of twenty.
const WIDEST: f64 = 3.0;
/// Picks that lose more have lost.
pub const LOST: f64 = 0.10;

/// A pick among the best of a ranking.
#[derive(Clone, Debug, PartialEq)]
pub struct Pick {
    /// Logarithms of predicted seconds, the pick's first.
    pub list: Vec<f64>,
    /// What limits the pick.
    pub limiter: Limiter,
}

impl Pick {
    /// The first of a ranking, fastest first.
    pub fn of(ranked: &[Ranked]) -> Option<Self> {
        let limiter = ranked.first()?.estimate.limiter();
        Some(Self { list: ranked.iter().take(LISTED).map(|own| own.estimate.time.0.ln()).collect(), limiter })
    }

    /// The mean loss where each is off by this spread; the same draws each time.
    fn expected(&self, spread: f64) -> f64 {
        let loss = |draw: u64| {
            let taken = |(at, time): (usize, &f64)| time + spread * normal(draw, at as u64);
            let taken: Vec<f64> = self.list.iter().enumerate().map(taken).collect();
            let least = taken.iter().copied().fold(f64::INFINITY, f64::min);
            taken.first().map_or(0.0, |own| (own - least).exp() - 1.0)
        };
        (0..DRAWS).map(loss).sum::<f64>() / DRAWS as f64
    }
}

/// Box and Muller's.
fn normal(draw: u64, at: u64) -> f64 {
    let (one, other) = (unit(1, draw, 0, at), unit(1, draw, 1, at));
    (-2.0 * one.max(f64::MIN_POSITIVE).ln()).sqrt() * (std::f64::consts::TAU * other).cos()
}

/// Spreads of errors, as logarithms, by what limits a pick.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spreads {
    /// Where a limiter has none of its own.
    pub other: f64,
    /// By limiter.
    pub by_limiter: BTreeMap<Limiter, f64>,
}

/// A pick and what it lost.
pub type Seen = (Pick, f64);

impl Spreads {
    /// What was fitted.
    pub fn fitted() -> &'static Self {
        static FITTED: LazyLock<Spreads> =
            LazyLock::new(|| toml::from_str(include_str!("../fits/choose.toml")).expect("data/fits/choose.toml holds spreads"));
        &FITTED
    }

    /// What a pick is expected to lose.
    pub fn loss(&self, pick: &Pick) -> f64 {
        pick.expected(self.by_limiter.get(&pick.limiter).copied().unwrap_or(self.other))
    }

    /// Such that picks are expected to lose what they lost in the mean.
    pub fn fit(seen: &[&Seen]) -> Self {
        let mut by: BTreeMap<Limiter, Vec<&Seen>> = BTreeMap::new();
        seen.iter().for_each(|own| by.entry(own.0.limiter).or_default().push(own));
        by.retain(|_, own| own.len() >= FEW);
        Self { other: spread(seen), by_limiter: by.into_iter().map(|(limiter, own)| (limiter, spread(&own))).collect() }
    }
}

/// What is expected grows with the spread: halved until both sides meet.
fn spread(seen: &[&Seen]) -> f64 {
    let lost: f64 = seen.iter().map(|own| own.1).sum();
    let (mut low, mut high) = (0.0, WIDEST);
    for _ in 0..24 {
        let middle = 0.5 * (low + high);
        let expected: f64 = seen.iter().map(|own| own.0.expected(middle)).sum();
        if expected < lost { low = middle } else { high = middle }
    }
    // Four digits are more than is known.
    (0.5 * (low + high) * 1e4).round() / 1e4
}

/// How well picks of a device are told by spreads of the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Picks.
    pub all: usize,
    /// Those that were doubted.
    pub doubted: usize,
    /// Those that lost more than [`LOST`].
    pub lost: usize,
    /// Those of them that were doubted.
    pub told: usize,
}

/// Each device left out in turn; a pick is doubted that is expected to lose more than `most`.
pub fn left_out(seen: &[(String, Seen)], most: f64) -> BTreeMap<String, LeftOut> {
    let mut found: BTreeMap<String, LeftOut> = BTreeMap::new();
    for (device, _) in seen {
        if found.contains_key(device) {
            continue;
        }
        let others: Vec<&Seen> = seen.iter().filter(|own| own.0 != *device).map(|own| &own.1).collect();
        let spreads = Spreads::fit(&others);
        let own = found.entry(device.clone()).or_default();
        for (_, (pick, loss)) in seen.iter().filter(|other| other.0 == *device) {
            let (is_doubted, has_lost) = (spreads.loss(pick) > most, *loss > LOST);
            own.all += 1;
            own.doubted += usize::from(is_doubted);
            own.lost += usize::from(has_lost);
            own.told += usize::from(is_doubted && has_lost);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pick(gap: f64, limiter: Limiter) -> Pick {
        Pick { list: (0..10).map(|n| if n == 0 { 0.0 } else { gap }).collect(), limiter }
    }

    #[test]
    fn a_pick_that_leads_by_more_than_errors_is_sure() {
        let near = pick(0.0, Limiter::L2).expected(0.1);
        // The least of ten normal numbers is 1.54 below their mean.
        assert!((near - (0.154_f64.exp() - 1.0)).abs() < 0.03, "{near}");
        assert!(pick(1.0, Limiter::L2).expected(0.1) < 1e-6);
        assert_eq!(pick(0.0, Limiter::L2).expected(0.0), 0.0);
        // Alone it is the best there is.
        assert_eq!(Pick { list: vec![0.3], limiter: Limiter::L2 }.expected(0.5), 0.0);
    }

    #[test]
    fn spreads_are_found_and_tell_what_loses() {
        let of = |limiter, gap, loss| (pick(gap, limiter), loss);
        let device = |name: &str| -> Vec<(String, Seen)> {
            let sure = (0..8).map(|_| of(Limiter::Fp, 0.2, 0.0));
            let bad = (0..8).map(|_| of(Limiter::Latency, 0.0, 0.4));
            sure.chain(bad).map(|seen| (name.to_owned(), seen)).collect()
        };
        let all: Vec<(String, Seen)> = ["a", "b", "c"].into_iter().flat_map(device).collect();
        let spreads = Spreads::fit(&all.iter().map(|own| &own.1).collect::<Vec<_>>());
        assert!((spreads.loss(&pick(0.0, Limiter::Latency)) - 0.4).abs() < 0.01, "{spreads:?}");
        assert!(spreads.loss(&pick(0.2, Limiter::Fp)) < 0.01, "{spreads:?}");
        for own in left_out(&all, 0.05).values() {
            assert_eq!(*own, LeftOut { all: 16, doubted: 8, lost: 8, told: 8 });
        }
    }

    #[test]
    fn what_was_fitted_is_read() {
        let fitted = Spreads::fitted();
        assert!(fitted.other > 0.0 && fitted.by_limiter.values().all(|own| (0.0..WIDEST).contains(own)), "{fitted:?}");
    }
}
