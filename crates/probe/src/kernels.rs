//! Programs of micro-benchmarks, written in the text form with numbers filled in, and what they compute on the host.

pub(crate) mod reduce;
pub(crate) mod stream;
pub(crate) mod strided;
pub(crate) mod sweep;
pub(crate) mod texels;
pub(crate) mod walk;

use crate::{Parameter, Parameters};
use warpsight_ir::{Program, Scalar, text};
use warpsight_run::{CacheState, Contents, Init, MemoryKind, MemorySpec, Submit, TimingSpec, init};

/// Threads of a warp. Programs that lay work out by warps use it; a device with wider waves runs them as well.
pub(crate) const WARP: u32 = 32;
/// The parameter that says how many blocks a launch has for each multiprocessor, all resident at once. Where the driver says that fewer
/// fit, the battery records the measurement as failed.
pub(crate) const ONE_WAVE: &str = "blocks_per_unit";
/// Timed passes of a launch of about a millisecond.
const RUNS: u32 = 7;

/// A Program from its text form; each `$name` is replaced by its value, longer names first.
pub(crate) fn program(template: &str, values: &[(&str, String)]) -> Program {
    let mut values: Vec<_> = values.iter().collect();
    values.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
    let filled = values.iter().fold(template.to_owned(), |text, (name, value)| text.replace(&format!("${name}"), value));
    match text::parse(&filled) {
        Ok(program) => program,
        // Templates are part of this crate, and its tests parse every one of them with the values that plans fill in.
        Err(error) => unreachable!("{error}\n{filled}"),
    }
}

/// Lines, one for each number below `count`.
pub(crate) fn lines(count: u32, line: impl Fn(u32) -> String) -> String {
    (0..count).map(|i| line(i) + "\n").collect()
}

/// How a launch fills a device: `per_unit` blocks on each multiprocessor, all resident at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Occupancy {
    /// Threads of a block.
    pub(crate) threads: u32,
    /// Blocks on each multiprocessor.
    pub(crate) per_unit: u32,
    /// Multiprocessors.
    pub(crate) units: u32,
}

impl Occupancy {
    pub(crate) fn blocks(self) -> u32 {
        self.per_unit * self.units
    }
    /// Threads of the launch.
    pub(crate) fn all_threads(self) -> u64 {
        u64::from(self.threads) * u64::from(self.blocks())
    }
    pub(crate) fn warps_per_unit(self) -> u32 {
        self.threads.div_ceil(WARP) * self.per_unit
    }
    /// What every measurement says of it.
    pub(crate) fn params(self, to: &mut Parameters) {
        for (name, value) in
            [("threads", self.threads), (ONE_WAVE, self.per_unit), ("warps_per_unit", self.warps_per_unit()), ("units", self.units)]
        {
            to.insert(name.into(), int(value));
        }
    }
}

/// A parameter that is a whole number.
pub(crate) fn int(value: impl Into<i64>) -> Parameter {
    Parameter::Int(value.into())
}

/// A parameter that counts bytes or elements. None reaches 2⁶³.
pub(crate) fn count(value: u64) -> Parameter {
    Parameter::Int(value as i64)
}

/// A parameter that is a word.
pub(crate) fn word(value: &str) -> Parameter {
    Parameter::Word(value.into())
}

/// Launch by launch, as often as kernels of about a millisecond need.
pub(crate) fn timing(cache: CacheState) -> Option<TimingSpec> {
    Some(TimingSpec { runs: RUNS, submit: Submit::Eager, cache })
}

/// A buffer of random elements.
pub(crate) fn random(element: Scalar, elements: u64, seed: u64) -> MemorySpec {
    buffer(elements * u64::from(element.bytes()), Init::Random { element, seed })
}

/// A buffer that is written: NaN at first.
pub(crate) fn output(bytes: u64) -> MemorySpec {
    MemorySpec { canaries: true, ..buffer(bytes, Init::Poison) }
}

/// A buffer.
pub(crate) fn buffer(bytes: u64, init: Init) -> MemorySpec {
    MemorySpec { kind: MemoryKind::Buffer { bytes }, init, canaries: false }
}

/// Element `index` of [`random`] memory, as the device holds it.
pub(crate) fn element_of(element: Scalar, seed: u64, index: u64) -> f64 {
    match element {
        // 24 significant bits: f32 and f64 hold them.
        Scalar::F32 | Scalar::F64 => init::random(seed, index),
        _ => (init::random(seed, index) * f64::from(1 << 20)).trunc(),
    }
}

/// Elements that came back.
pub(crate) fn numbers(element: Scalar, contents: &Contents) -> Vec<f64> {
    let bytes = &contents.0;
    match element {
        Scalar::F64 => bytes.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b)).collect(),
        Scalar::F32 => bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b).into()).collect(),
        _ => bytes.as_chunks::<4>().0.iter().map(|b| i32::from_le_bytes(*b).into()).collect(),
    }
}

/// Bounds the error of sums that a device rounds at each step: half a unit in the last place of every partial sum.
pub(crate) struct Sum {
    pub(crate) value: f64,
    pub(crate) error: f64,
    half_ulp: f64,
}

impl Sum {
    pub(crate) fn new(element: Scalar) -> Self {
        let half_ulp = if element == Scalar::F64 { f64::EPSILON / 2.0 } else { f64::from(f32::EPSILON) / 2.0 };
        Self { value: 0.0, error: 0.0, half_ulp }
    }
    /// Adds a term that is itself off by at most `error`.
    pub(crate) fn add(&mut self, term: f64, error: f64) {
        self.value += term;
        // The reference rounds as well, in f64: twice the bound covers both.
        self.error += error + 2.0 * self.half_ulp * (self.value.abs() + self.error);
    }
    /// Whether a device's result may be this sum. A NaN may not.
    pub(crate) fn admits(&self, result: f64) -> bool {
        (result - self.value).abs() <= self.error
    }
}

/// Distinct positions below `count`, at most `most`, the first and the last among them.
pub(crate) fn sample(count: u64, most: usize, seed: u64) -> Vec<u64> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut positions: Vec<u64> = if count <= most as u64 { (0..count).collect() } else { (2..most).map(|_| rng.u64(..count)).collect() };
    positions.extend([0, count - 1]);
    positions.sort_unstable();
    positions.dedup();
    positions
}
