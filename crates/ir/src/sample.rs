//! What was measured or simulated.

pub mod trees;

use crate::units::Seconds;
use serde::{Deserialize, Serialize};

/// Where a time comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TimeSource {
    /// A clock around real hardware.
    Measured,
    /// The simulator.
    Simulated,
    /// A model.
    Predicted,
}

impl TimeSource {
    /// Its name in tables, JSON and the store.
    pub fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Simulated => "simulated",
            Self::Predicted => "predicted",
        }
    }
}

/// The longest time that anything here is taken to run: more than eleven days.
pub const LONGEST: Seconds = Seconds(1e6);

/// A number of seconds that nothing can have taken.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("{_0:?} s is no time: one is above 0 and at most 1000000 s")]
pub struct NoTime(pub f64);

/// A time that was read of a recording, whoever wrote it.
///
/// # Errors
/// It is not finite, not above 0, or above [`LONGEST`].
pub fn time(seconds: f64) -> Result<Seconds, NoTime> {
    // What is no number is in no range.
    if seconds > 0.0 && seconds <= LONGEST.0 { Ok(Seconds(seconds)) } else { Err(NoTime(seconds)) }
}

impl Feedback {
    /// Whether registers are kept in memory for want of them, of kernels without private arrays: where registers are told, private memory is
    /// theirs; where they are not, it may be anything.
    pub fn spills(&self) -> bool {
        let private = self.private_bytes.filter(|_| self.registers.is_some());
        self.spill_bytes.or(private).is_some_and(|bytes| bytes > 0)
    }
}

/// What a driver or the simulator reports of a compiled kernel; `None` where it does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Feedback {
    /// 32-bit registers per work-item.
    pub registers: Option<u32>,
    /// Private bytes per work-item, its stack frame, arrays and spilled registers: `CL_KERNEL_PRIVATE_MEM_SIZE`.
    pub private_bytes: Option<u64>,
    /// Bytes of registers that the compiler keeps in memory for want of registers, stores and loads together.
    pub spill_bytes: Option<u64>,
    /// Local bytes per group.
    pub local_bytes: Option<u64>,
    /// Largest group this kernel can run in: `CL_KERNEL_WORK_GROUP_SIZE`.
    pub max_group_size: Option<u32>,
    /// Groups of its launches that a compute unit holds at once: `cuOccupancyMaxActiveBlocksPerMultiprocessor`.
    pub resident_groups: Option<u32>,
    /// Whether the compiled kernel came from the cache on disk, or was still held from an earlier job.
    pub cached: bool,
}

/// How an attempt to sample ended. Failures are samples too.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "status", content = "detail", rename_all = "snake_case")]
pub enum Status {
    /// It ran.
    Done,
    /// It was compiled and not run: there are no times, only what the compiler says.
    Built,
    /// The driver refused to build it.
    BuildFailed(String),
    /// It gave wrong results.
    Wrong(String),
    /// The driver crashed, hung or lost the device.
    DeviceLost(String),
    /// The device did not take it: too little memory, a limit, a call that failed.
    Refused(String),
}

/// One timed (or failed) execution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Hash of what ran.
    pub subject: String,
    /// The subject's kind.
    pub kind: SubjectKind,
    /// Its text form.
    pub text: String,
    /// Configuration as JSON, `null` without.
    pub config: String,
    /// The device, as in [`Device`].
    pub device: Device,
    /// One entry per repetition.
    pub times: Vec<Seconds>,
    /// Smallest step of the clock; 0 for a simulator.
    pub quantum: Seconds,
    /// Clock rate during the runs where known, in Hz.
    pub clock_hz: Option<f64>,
    /// A reference kernel timed between the runs, where one was.
    pub reference: Option<Seconds>,
    /// Measured or simulated.
    pub source: TimeSource,
    /// Whether the outputs were checked and right.
    pub verified: bool,
    /// How it ended.
    pub status: Status,
}

/// What a sample is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SubjectKind {
    /// A Program.
    Program,
    /// A Pipeline.
    Pipeline,
    /// A shader.
    Shader,
    /// A whole network.
    Network,
    /// A probe.
    Probe,
}

/// A device as the store knows it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Device {
    /// `opencl`, `sim`, …
    pub backend: String,
    /// The device's own name.
    pub name: String,
    /// Driver and version.
    pub driver: String,
}

impl Device {
    /// Tells devices apart: back end, name and driver.
    pub fn fingerprint(&self) -> String {
        format!("{}/{}/{}", self.backend, self.name, self.driver)
    }
}

/// The middle value of a set of times (the mean of the two middle ones for an even count); `None` for none.
pub fn median(times: &[Seconds]) -> Option<Seconds> {
    middle(times.iter().map(|time| time.0).collect()).map(Seconds)
}

/// The middle one of any numbers (the mean of the two middle ones for an even count); `None` for none.
pub fn middle(mut numbers: Vec<f64>) -> Option<f64> {
    numbers.sort_by(f64::total_cmp);
    let n = numbers.len();
    match n {
        0 => None,
        _ if n % 2 == 1 => Some(numbers[n / 2]),
        _ => Some((numbers[n / 2 - 1] + numbers[n / 2]) / 2.0),
    }
}

/// What lies between sorted numbers at this share of them, from 0, the least, to 1, the most; `None` for none.
pub fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let at = share.clamp(0.0, 1.0) * sorted.len().checked_sub(1)? as f64;
    let (low, high) = (sorted[at as usize], sorted[(at as usize + 1).min(sorted.len() - 1)]);
    Some(low + (high - low) * at.fract())
}

/// Times in the order in which they were taken. Equal ones that follow each other are counted, so that a million of a simulator take no
/// more room than one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Times(Vec<(Seconds, usize)>);

impl Times {
    /// One time, so often.
    pub fn alike(time: Seconds, count: usize) -> Self {
        let mut times = Self::default();
        times.push(time, count);
        times
    }
    /// Adds a time that was taken so often.
    pub fn push(&mut self, time: Seconds, count: usize) {
        match self.0.last_mut() {
            Some((last, often)) if *last == time => *often += count,
            _ if count > 0 => self.0.push((time, count)),
            _ => {}
        }
    }
    /// Adds further ones.
    pub fn extend(&mut self, more: &Self) {
        more.0.iter().for_each(|&(time, count)| self.push(time, count));
    }
    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.iter().map(|(_, count)| count).sum()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// The first of them.
    pub fn first(&self) -> Option<Seconds> {
        self.0.first().map(|(time, _)| *time)
    }
    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = Seconds> {
        self.0.iter().flat_map(|&(time, count)| std::iter::repeat_n(time, count))
    }
    /// At most so many of them, at least two, in even steps of rank from the shortest to the longest; all, in their order, where they are
    /// no more.
    pub fn thinned(&self, most: usize) -> Vec<Seconds> {
        let (count, steps) = (self.len(), most.max(2) - 1);
        if count <= steps + 1 {
            return self.iter().collect();
        }
        let (sorted, mut before) = (self.ascending(), 0);
        let mut all = sorted.iter().flat_map(|&(time, count)| std::iter::repeat_n(time, count));
        let ranks = (0..=steps).map(|step| step * (count - 1) / steps);
        let next = |rank: usize| {
            let time = all.nth(rank - before);
            before = rank + 1;
            time
        };
        ranks.filter_map(next).collect()
    }
    fn ascending(&self) -> Vec<(Seconds, usize)> {
        let mut sorted = self.0.clone();
        sorted.sort_by(|(a, _), (b, _)| a.0.total_cmp(&b.0));
        sorted
    }
    /// The middle value (the mean of the two middle ones for an even count); `None` for none.
    pub fn median(&self) -> Option<Seconds> {
        self.spread().map(|spread| spread.median)
    }
    /// How they are spread; `None` for none.
    pub fn spread(&self) -> Option<Spread> {
        let sorted = self.ascending();
        let (count, &(min, _), &(max, _)) = (self.len(), sorted.first()?, sorted.last()?);
        // The time at a position of all, in ascending order.
        let at = |position: usize| {
            let mut before = 0;
            let found = sorted.iter().find(|(_, count)| {
                before += count;
                before > position
            });
            found.map_or(max, |(time, _)| *time)
        };
        let median = if count % 2 == 1 { at(count / 2) } else { Seconds((at(count / 2 - 1).0 + at(count / 2).0) / 2.0) };
        // The nearest rank: a time that was taken, never one in between.
        Some(Spread { count, min, median, p90: at((count * 9).div_ceil(10) - 1), max })
    }
}

impl FromIterator<Seconds> for Times {
    fn from_iter<I: IntoIterator<Item = Seconds>>(times: I) -> Self {
        let mut all = Self::default();
        times.into_iter().for_each(|time| all.push(time, 1));
        all
    }
}

/// How a set of times is spread.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// How many there are.
    pub count: usize,
    /// The shortest.
    pub min: Seconds,
    /// The middle one.
    pub median: Seconds,
    /// The shortest that nine of ten do not exceed.
    pub p90: Seconds,
    /// The longest.
    pub max: Seconds,
}

/// Geometric mean of the factor by which the two sides of pairs differ: 1 for equal sides. Both must be positive.
pub fn geometric_error(pairs: &[(f64, f64)]) -> f64 {
    (pairs.iter().map(|(a, b)| (a / b).ln().abs()).sum::<f64>() / pairs.len() as f64).exp()
}

/// Spearman's rank correlation of pairs; ties share their mean rank. NaN for fewer than two pairs or constant sides.
pub fn spearman(pairs: &[(f64, f64)]) -> f64 {
    fn ranks(values: &[f64]) -> Vec<f64> {
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
        let mut ranks = vec![0.0; values.len()];
        for tied in order.chunk_by(|&a, &b| values[a] == values[b]) {
            let below = values.iter().filter(|v| **v < values[tied[0]]).count() as f64;
            for &i in tied {
                ranks[i] = below + (tied.len() as f64 - 1.0) / 2.0;
            }
        }
        ranks
    }
    let (a, b): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let (a, b) = (ranks(&a), ranks(&b));
    let mean = (pairs.len() as f64 - 1.0) / 2.0;
    let product = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| (x - mean) * (y - mean)).sum::<f64>();
    product(&a, &b) / (product(&a, &a) * product(&b, &b)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_above_nothing_and_end() {
        for good in [f64::MIN_POSITIVE, 1e-9, 1.0, LONGEST.0] {
            assert_eq!(time(good), Ok(Seconds(good)));
        }
        for bad in [-3.8, 0.0, -0.0, 1e308, 1_000_000.5, f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
            assert!(time(bad).is_err(), "{bad}");
        }
        assert_eq!(NoTime(1e308).to_string(), format!("1e308 s is no time: one is above 0 and at most {} s", LONGEST.0));
    }

    #[test]
    fn spreads() {
        let of = |times: &[f64]| times.iter().copied().map(Seconds).collect::<Times>().spread();
        let spread = |count, [min, median, p90, max]: [f64; 4]| {
            Some(Spread { count, min: Seconds(min), median: Seconds(median), p90: Seconds(p90), max: Seconds(max) })
        };
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[3.0]), spread(1, [3.0; 4]));
        assert_eq!(of(&[4.0, 1.0, 3.0, 2.0]), spread(4, [1.0, 2.5, 4.0, 4.0]));
        assert_eq!(of(&(1..=20).rev().map(f64::from).collect::<Vec<_>>()), spread(20, [1.0, 10.5, 18.0, 20.0]));
    }

    /// Counted or one by one, the spread is that of all.
    #[test]
    fn equal_times_are_counted() {
        let mut times = Times::default();
        assert_eq!((times.len(), times.spread(), times.median()), (0, None, None));
        times.push(Seconds(2.0), 0);
        assert!(times.is_empty());
        for (time, count) in [(2.0, 3), (1.0, 2), (1.0, 400_000), (2.0, 599_994), (7.0, 1)] {
            times.extend(&Times::alike(Seconds(time), count));
        }
        assert_eq!(times.0.iter().map(|(_, count)| *count).collect::<Vec<_>>(), [3, 400_002, 599_994, 1]);
        assert_eq!((times.len(), times.first()), (1_000_000, Some(Seconds(2.0))));
        let seconds = Seconds;
        let spread = Spread { count: 1_000_000, min: seconds(1.0), median: seconds(2.0), p90: seconds(2.0), max: seconds(7.0) };
        assert_eq!(times.spread(), Some(spread));
        assert_eq!(times.iter().collect::<Times>(), times);
        assert_eq!(times.median(), median(&times.iter().collect::<Vec<_>>()));
        assert_eq!(times.thinned(5), [1.0, 1.0, 2.0, 2.0, 7.0].map(Seconds));
        let mut rng = fastrand::Rng::with_seed(5);
        for _ in 0..200 {
            let all: Vec<Seconds> = (0..rng.usize(1..40)).map(|_| Seconds(f64::from(rng.u8(..5)))).collect();
            let times: Times = all.iter().copied().collect();
            let mut sorted = all.clone();
            sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
            let p90 = sorted[(sorted.len() * 9).div_ceil(10) - 1];
            let found = times.spread().unwrap();
            assert_eq!((found.count, found.min, found.max, found.p90), (all.len(), sorted[0], sorted[all.len() - 1], p90));
            assert_eq!(Some(found.median), median(&all));
            let thin = times.thinned(7);
            assert_eq!(thin.len(), all.len().min(7));
            match all.len() {
                ..=7 => assert_eq!(thin, all),
                n => assert_eq!((thin[0], thin[3], thin[6]), (sorted[0], sorted[(n - 1) / 2], sorted[n - 1])),
            }
        }
    }

    #[test]
    fn medians() {
        let s = |v: &[f64]| median(&v.iter().map(|&x| Seconds(x)).collect::<Vec<_>>());
        assert_eq!(s(&[]), None);
        assert_eq!(s(&[3.0, 1.0, 2.0]), Some(Seconds(2.0)));
        assert_eq!(s(&[4.0, 1.0, 2.0, 3.0]), Some(Seconds(2.5)));
    }

    #[test]
    fn factors() {
        assert!((geometric_error(&[(1.0, 2.0), (8.0, 1.0)]) - 4.0).abs() < 1e-12);
        assert_eq!(geometric_error(&[(3.0, 3.0)]), 1.0);
    }

    #[test]
    fn rank_correlation() {
        assert_eq!(spearman(&[(1.0, 10.0), (2.0, 100.0), (3.0, 1000.0)]), 1.0);
        assert_eq!(spearman(&[(1.0, 3.0), (2.0, 2.0), (3.0, 1.0)]), -1.0);
        // Ranks 0, 1, 2 against 0.5, 0.5, 2: covariance 1.5, variances 2 and 1.5.
        let tied = spearman(&[(1.0, 5.0), (2.0, 5.0), (3.0, 9.0)]);
        assert!((tied - 1.5 / 3f64.sqrt()).abs() < 1e-12, "{tied}");
    }

    #[test]
    fn quantiles_lie_between_ranks() {
        let numbers = [1.0, 2.0, 4.0, 8.0];
        assert_eq!([0.0, 0.5, 0.75, 1.0].map(|share| quantile(&numbers, share)), [1.0, 3.0, 5.0, 8.0].map(Some));
        assert_eq!((quantile(&[3.0], 0.25), quantile(&[], 0.5)), (Some(3.0), None));
        assert_eq!(quantile(&numbers, 0.5), middle(numbers.to_vec()));
    }
}
