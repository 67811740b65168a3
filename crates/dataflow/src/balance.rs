//! How many work-groups each stage gets (paper 003, section 5.3, Algorithm 2), solved exactly.
//! .
//! Stages of the two classes draw on pools of their own: a multiprocessor holds one work-group of each (section 4.2). Seconds of a stage
//! fall with its work-groups in steps, since tiles are not divided; the paper's integer program therefore needs no solver: the best
//! slowest stage is one of the seconds that occur, found by bisection.

use std::cmp::Ordering;
use warpsight_ir::{Seconds, StageClass};

/// What one stage asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    /// Which pool it draws on.
    pub class: StageClass,
    /// Seconds of one execution on 1, 2, … work-groups; infinite where they are too few. More never take longer here, since work-groups
    /// may idle: see [`Demand::new`].
    seconds: Vec<Seconds>,
}

/// Work-groups that can be resident, by class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pools {
    /// For stages on matrix units.
    pub tensor: u32,
    /// For stages on vector units.
    pub simt: u32,
}

/// Work-groups of each stage, and what limits then.
#[derive(Clone, Debug, PartialEq)]
pub struct Allocation {
    /// Work-groups by stage.
    pub ctas: Vec<u32>,
    /// Of one execution, stages overlapped: the slowest stage or the memory, whichever takes longer.
    pub seconds: Seconds,
    /// Which that is.
    pub limiter: Bound,
}

/// What a pipeline's throughput is bound by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// The stage at this position.
    Stage(usize),
    /// Device memory.
    Dram,
    /// The second-level cache, which queues pass through.
    L2,
}

/// What all stages together move, whatever their work-groups.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Caps {
    /// Seconds that device memory needs.
    pub dram: Seconds,
    /// Seconds that the second-level cache needs.
    pub l2: Seconds,
}

/// Why there is no allocation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BalanceError {
    /// The stages of a class need more work-groups than fit.
    #[error("{stages} {} stages need at least {least} work-groups together, and {pool} are resident", word(*.class))]
    TooFew {
        /// The class.
        class: StageClass,
        /// Stages of this class.
        stages: usize,
        /// The fewest work-groups on which all of them run.
        least: u64,
        /// Work-groups that are resident.
        pool: u32,
    },
    /// A stage that no number of work-groups carries out.
    #[error("stage {stage} runs on no number of work-groups up to {pool}")]
    Never {
        /// Its position.
        stage: usize,
        /// Work-groups that are resident.
        pool: u32,
    },
}

fn word(class: StageClass) -> &'static str {
    match class {
        StageClass::Tensor => "tensor",
        StageClass::Simt => "simt",
    }
}

impl Demand {
    /// Of seconds on 1, 2, … work-groups. Where more take longer, some of them idle; NaN counts as infinite.
    pub fn new(class: StageClass, seconds: impl IntoIterator<Item = Seconds>) -> Self {
        let mut best = f64::INFINITY;
        let seconds = seconds.into_iter().map(|s| {
            best = best.min(s.0);
            Seconds(best)
        });
        Self { class, seconds: seconds.collect() }
    }

    /// The fewest work-groups that finish within this time.
    fn within(&self, limit: f64) -> Option<u32> {
        let fewest = self.seconds.partition_point(|s| s.0 > limit);
        (fewest < self.seconds.len()).then_some(fewest as u32 + 1)
    }

    /// Seconds on so many work-groups.
    fn on(&self, ctas: u32) -> f64 {
        self.seconds[ctas as usize - 1].0
    }
}

impl Pools {
    fn of(self, class: StageClass) -> u32 {
        match class {
            StageClass::Tensor => self.tensor,
            StageClass::Simt => self.simt,
        }
    }
}

/// Gives work-groups to stages so that the slowest is as fast as can be, then the second slowest, and so on; with no more work-groups than
/// that takes.
///
/// # Errors
/// Stages that do not fit, with the numbers.
pub fn balance(demands: &[Demand], pools: Pools, caps: Caps) -> Result<Allocation, BalanceError> {
    let mut ctas = vec![0; demands.len()];
    for class in [StageClass::Tensor, StageClass::Simt] {
        let members: Vec<usize> = (0..demands.len()).filter(|&at| demands[at].class == class).collect();
        let chosen = pool(demands, &members, class, pools.of(class))?;
        members.iter().zip(chosen).for_each(|(&at, n)| ctas[at] = n);
    }
    let slowest = (0..demands.len()).map(|at| (demands[at].on(ctas[at]), Bound::Stage(at)));
    let caps = [(caps.dram.0, Bound::Dram), (caps.l2.0, Bound::L2)];
    // Of equals the first stage, and a stage before memory: what comes first can be given more.
    let worst = slowest.chain(caps).reduce(|a, b| if b.0 > a.0 { b } else { a });
    let (seconds, limiter) = worst.unwrap_or((0.0, Bound::Dram));
    Ok(Allocation { ctas, seconds: Seconds(seconds), limiter })
}

/// Work-groups for the stages of one class.
fn pool(demands: &[Demand], members: &[usize], class: StageClass, pool: u32) -> Result<Vec<u32>, BalanceError> {
    if members.is_empty() {
        return Ok(Vec::new());
    }
    if let Some(&stage) = members.iter().find(|&&at| demands[at].within(f64::MAX).is_none_or(|n| n > pool)) {
        return Err(BalanceError::Never { stage, pool });
    }
    let needed = |limit: f64| -> Option<u64> { members.iter().map(|&at| demands[at].within(limit).map(u64::from)).sum() };
    let fits = |limit: f64| needed(limit).is_some_and(|n| n <= u64::from(pool));
    if !fits(f64::MAX) {
        let least = needed(f64::MAX).unwrap_or(u64::MAX);
        return Err(BalanceError::TooFew { class, stages: members.len(), least, pool });
    }
    let finite = members.iter().flat_map(|&at| demands[at].seconds.iter().map(|s| s.0)).filter(|s| s.is_finite());
    let mut candidates: Vec<f64> = finite.collect();
    candidates.sort_unstable_by(f64::total_cmp);
    candidates.dedup();
    // Some candidate fits: the largest one is at least what every stage takes on its fewest work-groups.
    let at = candidates.partition_point(|&limit| !fits(limit));
    let limit = candidates[at.min(candidates.len() - 1)];
    let options: Vec<Vec<(u32, f64)>> = members.iter().map(|&at| steps(&demands[at], limit, pool)).collect();
    Ok(leximin(&options, pool))
}

/// Numbers of work-groups that are worth having: each is the fewest for its time. The first meets the limit.
fn steps(demand: &Demand, limit: f64, pool: u32) -> Vec<(u32, f64)> {
    let first = demand.within(limit).unwrap_or(pool);
    let last = (demand.seconds.len() as u32).min(pool);
    let mut found: Vec<(u32, f64)> = Vec::new();
    for ctas in first..=last {
        let seconds = demand.on(ctas);
        if found.last().is_none_or(|step| seconds < step.1) {
            found.push((ctas, seconds));
        }
    }
    found
}

/// One option of each stage such that the times, slowest first, are lexicographically least within the pool; of those, with the fewest
/// work-groups. The order of sorted times does not change when both sides get one more, so that partial choices can be compared: a
/// dynamic program over stages and what is left of the pool is exact.
fn leximin(options: &[Vec<(u32, f64)>], pool: u32) -> Vec<u32> {
    let least: u32 = options.iter().map(|o| o[0].0).sum();
    let spare = pool.saturating_sub(least) as usize;
    // By what was spent beyond the least: the times so far, slowest first, and what was chosen.
    let mut best: Vec<Option<(Vec<f64>, Vec<u32>)>> = vec![None; spare + 1];
    best[0] = Some((Vec::new(), Vec::new()));
    for steps in options {
        let mut next: Vec<Option<(Vec<f64>, Vec<u32>)>> = vec![None; spare + 1];
        for (spent, state) in best.iter().enumerate() {
            let Some((times, chosen)) = state else { continue };
            for &(ctas, seconds) in steps {
                let at = spent + (ctas - steps[0].0) as usize;
                if at > spare {
                    break;
                }
                if next[at].as_ref().is_some_and(|(other, _)| compared(times, seconds, other).is_ge()) {
                    continue;
                }
                let mut times = times.clone();
                times.insert(times.partition_point(|&t| t >= seconds), seconds);
                let mut chosen = chosen.clone();
                chosen.push(ctas);
                next[at] = Some((times, chosen));
            }
        }
        // Who spends more must gain by it.
        let mut record: Option<Vec<f64>> = None;
        for state in &mut next {
            let Some((times, _)) = state else { continue };
            if record.as_ref().is_some_and(|best| lexicographic(times.iter().copied(), best).is_ge()) {
                *state = None;
            } else {
                record = Some(times.clone());
            }
        }
        best = next;
    }
    best.into_iter().flatten().last().map_or_else(Vec::new, |(_, chosen)| chosen)
}

/// Compares sorted times with one more put in, with others.
fn compared(times: &[f64], more: f64, others: &[f64]) -> Ordering {
    let at = times.partition_point(|&t| t >= more);
    lexicographic(times[..at].iter().copied().chain([more]).chain(times[at..].iter().copied()), others)
}

fn lexicographic(times: impl Iterator<Item = f64>, others: &[f64]) -> Ordering {
    times.zip(others).map(|(a, b)| a.total_cmp(b)).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}
