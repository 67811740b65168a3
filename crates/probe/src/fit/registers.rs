//! Registers of a work-item, and whether resident groups share them.

use warpsight_ir::profile::{Fact, Source};

/// Registers are given out in multiples of a number up to this, as a rule, so that a work-item may have as many more.
pub const QUANTUM: u32 = 8;

/// Seconds of a kernel against what is asked of the device: registers, or groups.
pub type Point = (f64, f64);

/// Part of the time of a second wave by which more groups than fit are told from noise: half-way between one wave and two.
const HALF_A_WAVE: f64 = 1.5;

/// Registers that a work-item may use before they spill, from the time of one group against registers used.
///
/// Each register costs one more operation, so the time is a straight line up to the limit. The interval begins at the last number of
/// registers on that line and ends at the one whose step is the largest: there registers live in memory. The value is the last before it.
pub fn limit(points: &[Point], cite: &str) -> Fact<f64> {
    let points = sorted(points);
    let Some(last) = points.last() else { return Fact::unknown("no kernel was timed against registers") };
    // Few registers are surely below the limit: they tell where the line lies, and how much points scatter about it.
    let surely = &points[..points.len() / 3];
    if surely.len() < 4 {
        return Fact::unknown(format!("{} numbers of registers are too few for a trend", points.len()));
    }
    // What lies beyond the limit bends the first trend a little, not the second.
    let mut free = points.len();
    for _ in 0..2 {
        let slope = slope(&points[..free]);
        let level = median(surely.iter().map(|point| point.1 - slope * point.0).collect());
        let beyond = |point: &Point| point.1 - level - slope * point.0;
        let scatter = surely.iter().map(|point| beyond(point).abs()).fold(0.0, f64::max);
        // From the end: whatever is costly without a break.
        free = points.len() - points.iter().rev().take_while(|point| beyond(point) > 3.0 * scatter).count();
    }
    let (Some(sure), true) = (points[..free].last(), free < points.len()) else {
        return Fact::unknown(format!("up to {} registers nothing spills", last.0));
    };
    let steps = points[free - 1..].windows(2);
    let spill = steps.max_by(|a, b| (a[1].1 - a[0].1).total_cmp(&(b[1].1 - b[0].1)));
    match spill {
        Some([before, after]) => Fact::between(sure.0, before.0, after.0, Source::Measured, cite),
        _ => Fact::unknown("the trend ends at once"),
    }
}

/// Groups that are resident at once, from the time of a launch against its groups: those beyond wait for a second wave.
pub fn resident(points: &[Point], cite: &str) -> Fact<f64> {
    let points = sorted(points);
    let Some((_, one)) = points.first().copied() else { return Fact::unknown("no kernel was timed against groups") };
    match points.windows(2).find(|pair| pair[1].1 >= HALF_A_WAVE * one) {
        Some(pair) => Fact::between(pair[0].0, pair[0].0, pair[1].0 - 1.0, Source::Measured, cite),
        None => Fact::unknown(format!("at least {}: no launch needed a second wave", points.last().map_or(0.0, |point| point.0))),
    }
}

/// `pooled` where more groups are resident when each takes half of the registers, `dedicated` where it makes no difference.
pub fn sharing(full: &Fact<f64>, half: &Fact<f64>) -> Fact<String> {
    let (Some(full), Some(half)) = (full.get(), half.get()) else {
        return Fact::unknown("groups resident with all and with half of the registers are not both known");
    };
    let word = if half > full { "pooled" } else { "dedicated" };
    let cite = format!("{full} groups are resident with all registers, {half} with half of them");
    Fact::known(word.to_owned(), Source::Measured, cite)
}

fn sorted(points: &[Point]) -> Vec<Point> {
    let mut points: Vec<Point> = points.iter().copied().filter(|(x, y)| x.is_finite() && y.is_finite()).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}

/// The median of the slopes between all pairs of points (Theil and Sen), which a quarter of them beyond a limit do not move.
fn slope(points: &[Point]) -> f64 {
    // Some hundred points are enough, and pairs of more too many.
    let points: Vec<Point> = points.iter().copied().step_by(points.len().div_ceil(600).max(1)).collect();
    let pairs = points.iter().enumerate().flat_map(|(place, a)| points[place + 1..].iter().map(move |b| (a, b)));
    median(pairs.filter(|(a, b)| b.0 > a.0).map(|(a, b)| (b.1 - a.1) / (b.0 - a.0)).collect())
}

fn median(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    of.get(of.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Registers in packs of four, a limit that costs a little from `soft` on and much from `hard` on.
    fn curve(soft: u32, hard: u32, until: u32) -> Vec<Point> {
        let time = |n: u32| {
            let packed = f64::from(n) + [0.4, -0.2, 0.3, 0.0][n as usize % 4];
            1e-6 * packed + if n > soft { 8e-6 } else { 0.0 } + if n > hard { 60e-6 } else { 0.0 }
        };
        (1..=until).map(|n| (f64::from(n), time(n))).collect()
    }

    #[test]
    fn the_limit_lies_between_the_first_cost_and_the_largest_step() {
        for (soft, hard, until) in [(180, 183, 184), (60, 64, 90), (250, 254, 300)] {
            let Fact::Known { value, lo, hi, .. } = limit(&curve(soft, hard, until), "a curve") else { panic!("known") };
            assert_eq!((lo, value, hi), (Some(soft.into()), hard.into(), Some(f64::from(hard) + 1.0)));
        }
        assert_eq!(limit(&curve(300, 300, 200), "a curve"), Fact::unknown("up to 200 registers nothing spills"));
        assert!(limit(&[], "nothing").get().is_none() && limit(&[(1.0, 1.0), (2.0, f64::NAN)], "little").get().is_none());
    }

    #[test]
    fn waves_tell_how_many_groups_are_resident() {
        let launch = |fits: u32| (1..=30u32).map(|n| (f64::from(n), 1e-3 * f64::from(n.div_ceil(fits)) * 1.05)).collect::<Vec<_>>();
        let (full, half) = (resident(&launch(12), "full"), resident(&launch(24), "half"));
        assert_eq!((full.get(), half.get()), (Some(&12.0), Some(&24.0)));
        assert_eq!(sharing(&full, &half).get().map(String::as_str), Some("pooled"));
        assert_eq!(sharing(&full, &full).get().map(String::as_str), Some("dedicated"));
        let unknown = resident(&launch(40), "none");
        assert!(unknown.get().is_none() && sharing(&unknown, &half).get().is_none());
    }
}
