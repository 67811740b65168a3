//! How often each basic block runs in a frame.
//!
//! [`sample`] needs no device: it interprets some quads, spread over the frame, and says how far its counts may be off.
//! [`rewrite`](rewrite::rewrite) makes a module that counts every invocation by itself, on any device.

pub mod rewrite;

use super::cfg::Cfg;
use super::interpret::{Inputs, InterpretError, Program};

/// How many quads are executed where the caller has no wish (8 × 8 strata).
pub const QUADS: usize = 64;

/// Counts of a frame, estimated from some of its quads.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// For each block of the control flow how often pixels of the frame execute it.
    pub counts: Vec<f64>,
    /// For each block how often a quad executes it, whichever of its pixels do.
    pub quads: Vec<f64>,
    /// Whether every quad was executed, so that the counts are no estimate.
    pub complete: bool,
    /// For each block, whether its branch ever depended on a value of implementation-defined precision or an undefined one: counts
    /// on another implementation may then differ.
    pub rough: Vec<bool>,
    /// Pixels of the frame.
    pub pixels: u64,
    /// Pixels that were executed.
    pub sampled: u64,
    /// What each executed quad counted, times the quads that it stands for.
    strata: Vec<Vec<f64>>,
    /// The share of the frame's quads that were not executed.
    unseen: f64,
}

/// A number, and the standard error that comes from executing only a part of the frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampled {
    /// The estimate.
    pub value: f64,
    /// Its standard error; 0 where all was executed.
    pub error: f64,
}

impl Trace {
    /// A weighted sum of the counts: of ones over blocks it is the number of block executions, of block costs a cost.
    ///
    /// The error is that of successive differences (Wolter, Introduction to Variance Estimation, section 8.2): strata are taken in
    /// an order in which neighbours are neighbours in the frame, and half of the mean squared difference is what one varies.
    #[must_use]
    pub fn total(&self, weight: impl Fn(usize) -> f64) -> Sampled {
        let of = |counts: &[f64]| counts.iter().enumerate().map(|(block, c)| c * weight(block)).sum::<f64>();
        let parts: Vec<f64> = self.strata.iter().map(|s| of(s)).collect();
        let error = if self.complete { 0.0 } else { successive(parts, self.unseen) };
        Sampled { value: of(&self.counts), error }
    }

    /// The standard error of the logarithm of another trace's weighted sum over this one's. Where both executed the same quads of a
    /// frame, what varies over the frame for both alike does not count.
    #[must_use]
    pub fn ratio_error(&self, weight: impl Fn(usize) -> f64, other: &Self, others: impl Fn(usize) -> f64) -> f64 {
        let (own, its) = (self.total(&weight), other.total(&others));
        let share = |of: Sampled| if of.value > 0.0 { of.error / of.value } else { 0.0 };
        if self.strata.len() != other.strata.len() || self.pixels != other.pixels || !(own.value > 0.0 && its.value > 0.0) {
            return share(own).hypot(share(its));
        }
        if self.complete {
            return 0.0;
        }
        let of = |counts: &[f64], weight: &dyn Fn(usize) -> f64| counts.iter().enumerate().map(|(block, c)| c * weight(block)).sum::<f64>();
        let pairs = self.strata.iter().zip(&other.strata);
        successive(pairs.map(|(a, b)| of(b, &others) / its.value - of(a, &weight) / own.value).collect(), self.unseen)
    }

    /// How often each block is executed by quads where branches are predicated: both sides of every branch run, under a mask, and
    /// loops run until no pixel is left in them. CPU rasterisers do so (llvmpipe emits no jump over a branch that no lane takes).
    ///
    /// A loop that no pixel enters is run once; so is what stands in a loop after the last pixel left it.
    #[must_use]
    pub fn predicated(&self, cfg: &Cfg) -> Vec<f64> {
        let mut out = vec![0.0; cfg.blocks.len()];
        let mut entries = vec![0.0; cfg.functions.len()];
        let first = cfg.functions.first().map_or(0, |f| f.blocks.start);
        if let Some(main) = entries.first_mut() {
            *main = self.quads.get(first).copied().unwrap_or(0.0);
        }
        for &function in &cfg.callers_first {
            // Blocks stand after the headers of the loops around them.
            for at in cfg.functions[function].blocks.clone() {
                let block = &cfg.blocks[at];
                out[at] = match block.header {
                    None => entries[function],
                    Some(header) if header == at => self.quads[at].max(block.outer.map_or(entries[function], |outer| out[outer])),
                    Some(header) => out[header],
                };
                block.calls.iter().for_each(|callee| entries[*callee] += out[at]);
            }
        }
        out
    }

    /// For each header how often its loop turns when it is entered, as quads do; 1 for other blocks.
    #[must_use]
    pub fn turns(&self, cfg: &Cfg) -> Vec<f64> {
        let runs = self.predicated(cfg);
        let around = |at: usize| cfg.blocks[at].outer.unwrap_or(cfg.functions[cfg.blocks[at].function].blocks.start);
        let turns = |at: usize| if runs[around(at)] > 0.0 { runs[at] / runs[around(at)] } else { 1.0 };
        (0..cfg.blocks.len()).map(|at| if cfg.blocks[at].is_loop { turns(at) } else { 1.0 }).collect()
    }

    /// Whether counts on another implementation may differ, because any branch was rough.
    #[must_use]
    pub fn is_rough(&self) -> bool {
        self.rough.contains(&true)
    }

    /// The standard error of one block's count.
    #[must_use]
    pub fn error(&self, block: usize) -> f64 {
        self.total(|b| f64::from(u8::from(b == block))).error
    }
}

/// The standard error of a sum of parts, of which a share was not seen, by successive differences.
fn successive(parts: Vec<f64>, unseen: f64) -> f64 {
    let n = parts.len() as f64;
    if parts.len() < 2 {
        return 0.0;
    }
    let squares: f64 = parts.windows(2).map(|w| (w[0] - w[1]).powi(2)).sum();
    (n / (2.0 * (n - 1.0)) * squares * unseen).sqrt()
}

/// Executes about `quads` quads of a frame, one at random in each of as many equal parts of it; all of them, if there are not more.
///
/// Equal arguments give equal results.
///
/// # Errors
/// Those of the interpreter.
pub fn sample(program: &Program, inputs: &Inputs, quads: usize, seed: u64) -> Result<Trace, InterpretError> {
    let mut interpreter = program.interpreter(inputs)?;
    let [width, height] = inputs.frame;
    let strata = strata([width.div_ceil(2), height.div_ceil(2)], quads);
    let blocks = interpreter.counts().len();
    let mut trace = Trace {
        counts: vec![0.0; blocks],
        quads: vec![0.0; blocks],
        complete: strata.iter().all(|s| s.quads() == 1),
        rough: Vec::new(),
        pixels: u64::from(width) * u64::from(height),
        sampled: 0,
        strata: Vec::with_capacity(strata.len()),
        unseen: 0.0,
    };
    let all: u64 = strata.iter().map(Stratum::quads).sum();
    trace.unseen = 1.0 - strata.len() as f64 / all as f64;
    let mut before = [vec![0u64; blocks], vec![0u64; blocks]];
    for (index, stratum) in strata.iter().enumerate() {
        let pick = mix(seed ^ mix(index as u64)) % stratum.quads();
        let wide = u64::from(stratum.columns[1] - stratum.columns[0]);
        // Both are below the frame's sides.
        let (column, row) = (stratum.columns[0] + (pick % wide) as u32, stratum.rows[0] + (pick / wide) as u32);
        interpreter.quad(column, row)?;
        let scale = stratum.quads() as f64;
        let since = |now: &[u64], then: &mut Vec<u64>| -> Vec<f64> {
            let part = now.iter().zip(&*then).map(|(now, then)| (now - then) as f64 * scale).collect();
            then.copy_from_slice(now);
            part
        };
        let part = since(interpreter.counts(), &mut before[0]);
        let quads = since(interpreter.quads(), &mut before[1]);
        trace.counts.iter_mut().zip(&part).for_each(|(sum, c)| *sum += c);
        trace.quads.iter_mut().zip(&quads).for_each(|(sum, q)| *sum += q);
        trace.strata.push(part);
        let inside = |at: u32, side: u32| u64::from((side - 2 * at).min(2));
        trace.sampled += inside(column, width) * inside(row, height);
    }
    trace.rough = interpreter.rough_branches().to_vec();
    Ok(trace)
}

/// A rectangle of quads.
struct Stratum {
    columns: [u32; 2],
    rows: [u32; 2],
}

impl Stratum {
    fn quads(&self) -> u64 {
        u64::from(self.columns[1] - self.columns[0]) * u64::from(self.rows[1] - self.rows[0])
    }
}

/// Parts of a grid of quads, as square as it goes, along a line that turns at the grid's sides.
fn strata([columns, rows]: [u32; 2], quads: usize) -> Vec<Stratum> {
    let wanted = u32::try_from(quads).unwrap_or(u32::MAX).clamp(1, 1 << 20);
    let (across, down) = if u64::from(columns) * u64::from(rows) <= u64::from(wanted) {
        (columns, rows)
    } else {
        let side = wanted.isqrt();
        let across = side.min(columns).max(wanted / rows.min(wanted)).min(columns);
        (across, (wanted / across).clamp(1, rows))
    };
    let cut = |i: u32, parts: u32, length: u32| (u64::from(i) * u64::from(length) / u64::from(parts)) as u32;
    let mut out = Vec::with_capacity((across * down) as usize);
    for j in 0..down {
        for step in 0..across {
            let i = if j % 2 == 0 { step } else { across - 1 - step };
            out.push(Stratum {
                columns: [cut(i, across, columns), cut(i + 1, across, columns)],
                rows: [cut(j, down, rows), cut(j + 1, down, rows)],
            });
        }
    }
    out
}

/// A well-mixed function of 64 bits (the finaliser of SplitMix64, by Steele, Lea and Flood, 2014).
pub(super) fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
