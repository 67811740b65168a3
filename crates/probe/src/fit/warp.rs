//! Lanes of a warp, by two methods that err in different ways.

use warpsight_ir::profile::{Fact, Source};

/// By the order in which work-items of a group reach a shared counter: of `(work-items, how many took ascending numbers)`, the largest
/// group that was wholly in order. Lanes of a warp are always in order; warps may be so too, where one scheduler issues them one after the
/// other, so this is a warp or a multiple of one.
pub fn by_order(points: &[(f64, f64)], cite: &str) -> Fact<f64> {
    let mut points: Vec<_> = points.iter().filter(|(items, ascending)| items.is_finite() && ascending.is_finite()).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let broken = points.iter().position(|(items, ascending)| ascending < items);
    match broken.map(|first| points.split_at(first)) {
        Some(([.., last], [first, ..])) => Fact::between(last.0, last.0, first.0 - 1.0, Source::Measured, cite),
        Some(_) => Fact::unknown("not even the smallest group was in order"),
        None => Fact::unknown(format!("all {} groups were in order: a warp is not told from a group", points.len())),
    }
}

/// By the steps of time against work-items of a group, of `(work-items, seconds)`: another warp takes time, another lane does not. A core
/// that waits for several warps anyway shows no step between these, so this too is a warp or a multiple of one.
pub fn by_latency(points: &[(f64, f64)], cite: &str) -> Fact<f64> {
    match first_step(points) {
        Some((last, next)) => Fact::between(last, last, next - 1.0, Source::Measured, cite),
        None => Fact::unknown(format!("in {} groups no step of time stands out", points.len())),
    }
}

/// Of a curve (x, y) that is flat but for rare steps up, all about as high: the last x before the first of them, and the x after it.
/// `None` where no step stands out of the noise.
pub fn first_step(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let mut points: Vec<_> = points.iter().copied().filter(|(x, y)| x.is_finite() && y.is_finite()).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    points.dedup_by_key(|point| point.0);
    let steps: Vec<f64> = points.windows(2).map(|pair| pair[1].1 - pair[0].1).collect();
    let largest = steps.iter().copied().fold(0.0, f64::max);
    // Differences come in two kinds: steps of about the largest one, and noise, which is far below and by far more frequent.
    let is_step = |step: f64| step > largest / 2.0;
    let noise = steps.iter().filter(|&&step| !is_step(step)).fold(0.0, |most: f64, step| most.max(step.abs()));
    let count = steps.iter().filter(|&&step| is_step(step)).count();
    let place = steps.iter().position(|&step| is_step(step))?;
    (largest > 4.0 * noise && count * 4 <= steps.len()).then(|| (points[place].0, points[place + 1].0))
}

/// Warp sizes that explain both methods. Both give a warp or a multiple of one, so the smaller is the warp where it divides the other.
///
/// # Errors
/// What contradicts, in words.
pub fn reconcile(order: &Fact<f64>, latency: &Fact<f64>) -> Result<Fact<Vec<f64>>, Disagreement> {
    let known = |size: f64, cite: String| Ok(Fact::between(vec![size], vec![size], vec![size], Source::Measured, cite));
    match (order.get().copied(), latency.get().copied()) {
        (Some(order), Some(latency)) => {
            let (small, large) = (order.min(latency), order.max(latency));
            if small < 1.0 || large % small != 0.0 {
                return Err(Disagreement { order, latency });
            }
            let why = if order > latency { "; warps of one scheduler keep their order" } else { "" };
            let why = if latency > order { "; a core waits for several warps anyway" } else { why };
            known(small, format!("{order} by the order of atomics, {latency} by steps of latency{why}"))
        }
        (Some(size), None) => known(size, "by the order of atomics alone: this or a part of it".to_owned()),
        (None, Some(size)) => known(size, "by steps of latency alone: this or a part of it".to_owned()),
        (None, None) => Ok(Fact::unknown("neither the order of atomics nor steps of latency show a warp")),
    }
}

/// Two sizes of a warp of which neither is a multiple of the other.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("a warp has {order} lanes by the order of atomics and {latency} by steps of latency: neither is a multiple of the other")]
pub struct Disagreement {
    /// By the order of atomics.
    pub order: f64,
    /// By steps of latency.
    pub latency: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smaller_of_two_multiples_is_the_warp() {
        let of = |order: f64, latency: f64| reconcile(&fact(order), &fact(latency)).map(|fact| fact.get().cloned());
        fn fact(size: f64) -> Fact<f64> {
            Fact::known(size, Source::Measured, "a test")
        }
        assert_eq!((of(128.0, 64.0), of(8.0, 24.0)), (Ok(Some(vec![64.0])), Ok(Some(vec![8.0]))));
        assert_eq!(of(48.0, 32.0), Err(Disagreement { order: 48.0, latency: 32.0 }));
        let alone = reconcile(&fact(32.0), &Fact::unknown("not measured"));
        assert_eq!(alone.map(|fact| fact.get().cloned()), Ok(Some(vec![32.0])));
    }

    #[test]
    fn order_breaks_after_a_warp() {
        let points: Vec<(f64, f64)> = (1..80).map(|items| (f64::from(items), f64::from(items.min(48)))).collect();
        assert_eq!(by_order(&points, "a test").get(), Some(&48.0));
        assert!(by_order(&points[..48], "a test").get().is_none() && by_order(&[], "a test").get().is_none());
    }

    #[test]
    fn steps_of_latency_are_told_from_noise() {
        let mut random = fastrand::Rng::with_seed(1);
        for warp in [4, 16, 32, 64] {
            let mut curve = |step: f64| -> Vec<(f64, f64)> {
                let time = |items: i32, noise: f64| 1e-3 * (1.0 + step * f64::from((items - 1) / warp) + 0.004 * noise);
                (1..=3 * warp + 4).map(|items| (f64::from(items), time(items, random.f64()))).collect()
            };
            assert_eq!(by_latency(&curve(0.1), "a test").get(), Some(&f64::from(warp)));
            assert!(by_latency(&curve(0.0), "a test").get().is_none(), "{warp}");
        }
    }
}
