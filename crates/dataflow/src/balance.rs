//! How many work-groups each stage gets (paper 003, section 5.3, Algorithm 2), solved exactly.
//!
//! Stages of the two classes draw on pools of their own: a multiprocessor holds one work-group of each (section 4.2). Seconds of a stage
//! fall with its work-groups in steps, since tiles are not divided; the paper's integer program therefore needs no solver: from the fewest
//! work-groups on, whatever is slowest takes its next step until it cannot. Who has taken a step had to, for any better slowest stage.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::Arc;
use warpsight_ir::{Seconds, StageClass};

/// What one stage asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    /// Which pool it draws on.
    pub class: StageClass,
    /// Numbers of work-groups that are worth having, each the fewest for its seconds of one execution, which fall from one to the next.
    steps: Arc<[(u32, f64)]>,
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
    /// Of seconds on 1, 2, … work-groups, infinite where they are too few. Where more take longer, some of them idle; NaN counts as infinite.
    pub fn new(class: StageClass, seconds: impl IntoIterator<Item = Seconds>) -> Self {
        Self::of_steps(class, (1..).zip(seconds))
    }

    /// Of numbers of work-groups, ascending, and their seconds; others take as long as the next smaller number.
    pub fn of_steps(class: StageClass, seconds: impl IntoIterator<Item = (u32, Seconds)>) -> Self {
        let mut steps: Vec<(u32, f64)> = Vec::new();
        for (ctas, Seconds(seconds)) in seconds {
            if seconds < steps.last().map_or(f64::INFINITY, |step| step.1) {
                steps.push((ctas, seconds));
            }
        }
        Self { class, steps: steps.into() }
    }

    /// Steps from the first that finishes within this time, as far as a pool goes.
    fn within(&self, limit: f64, pool: u32) -> &[(u32, f64)] {
        let first = self.steps.partition_point(|step| step.1 > limit);
        let end = self.steps.partition_point(|step| step.0 <= pool);
        &self.steps[first.min(end)..end]
    }

    /// The same, each so much later: what passes before a stage begins and after it ends counts as if it were its own.
    #[must_use]
    pub fn later(&self, by: Seconds) -> Self {
        Self { class: self.class, steps: self.steps.iter().map(|&(ctas, seconds)| (ctas, seconds + by.0)).collect() }
    }

    /// Seconds on so many work-groups.
    pub fn on(&self, ctas: u32) -> f64 {
        let at = self.steps.partition_point(|step| step.0 <= ctas);
        at.checked_sub(1).map_or(f64::INFINITY, |at| self.steps[at].1)
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

/// The slowest stage of an allocation, without one.
///
/// # Errors
/// Stages that do not fit, with the numbers.
pub fn slowest(demands: &[Demand], pools: Pools) -> Result<Seconds, BalanceError> {
    let mut slowest = 0.0_f64;
    for class in [StageClass::Tensor, StageClass::Simt] {
        let members: Vec<usize> = (0..demands.len()).filter(|&at| demands[at].class == class).collect();
        slowest = slowest.max(limit(demands, &members, class, pools.of(class))?);
    }
    Ok(Seconds(slowest))
}

/// Work-groups for the stages of one class.
fn pool(demands: &[Demand], members: &[usize], class: StageClass, pool: u32) -> Result<Vec<u32>, BalanceError> {
    let limit = limit(demands, members, class, pool)?;
    let options: Vec<&[(u32, f64)]> = members.iter().map(|&at| demands[at].within(limit, pool)).collect();
    Ok(leximin(&options, pool))
}

/// The least seconds of the slowest stage of one class.
fn limit(demands: &[Demand], members: &[usize], class: StageClass, pool: u32) -> Result<f64, BalanceError> {
    if let Some(&stage) = members.iter().find(|&&at| demands[at].within(f64::MAX, pool).is_empty()) {
        return Err(BalanceError::Never { stage, pool });
    }
    let least: u64 = members.iter().map(|&at| u64::from(demands[at].steps[0].0)).sum();
    let Some(mut spare) = u64::from(pool).checked_sub(least) else {
        return Err(BalanceError::TooFew { class, stages: members.len(), least, pool });
    };
    let mut open: BinaryHeap<Slow> = members.iter().map(|&stage| Slow { seconds: demands[stage].steps[0].1, stage, step: 0 }).collect();
    while let Some(Slow { seconds, stage, step }) = open.pop() {
        let steps = &demands[stage].steps;
        let next = steps.get(step + 1).map(|next| (u64::from(next.0 - steps[step].0), next.1));
        let Some((more, faster)) = next.filter(|(more, _)| *more <= spare) else { return Ok(seconds) };
        spare -= more;
        open.push(Slow { seconds: faster, stage, step: step + 1 });
    }
    Ok(0.0)
}

/// A stage at one of its steps; the slowest first.
struct Slow {
    seconds: f64,
    stage: usize,
    step: usize,
}

impl Ord for Slow {
    fn cmp(&self, other: &Self) -> Ordering {
        self.seconds.total_cmp(&other.seconds).then_with(|| other.stage.cmp(&self.stage))
    }
}

impl PartialOrd for Slow {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Slow {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Slow {}

/// One option of each stage such that the times, slowest first, are lexicographically least within the pool; of those, with the fewest
/// work-groups. Who is slowest takes its next step, or stays where that is more than is left: either has to be. Only where several are
/// slowest, differ and cannot all go on, there is something to choose.
fn leximin(options: &[&[(u32, f64)]], pool: u32) -> Vec<u32> {
    let mut chosen: Vec<usize> = vec![0; options.len()];
    let mut spare = pool.saturating_sub(options.iter().map(|steps| steps[0].0).sum());
    let mut open: BinaryHeap<Slow> = options.iter().zip(0..).map(|(steps, stage)| Slow { seconds: steps[0].1, stage, step: 0 }).collect();
    while let Some(slowest) = open.pop() {
        let mut tied = vec![slowest];
        while let Some(other) = open.peek().filter(|other| other.seconds == tied[0].seconds) {
            tied.push(Slow { ..*other });
            open.pop();
        }
        let more = |slow: &Slow| options[slow.stage].get(slow.step + 1).map(|next| next.0 - options[slow.stage][slow.step].0);
        tied.retain(|slow| more(slow).is_some_and(|more| more <= spare));
        let Some(first) = tied.first() else { continue };
        let alike = tied.iter().all(|slow| options[slow.stage][slow.step..] == options[first.stage][first.step..]);
        let all: u32 = tied.iter().filter_map(more).sum();
        if all > spare && !alike {
            open.extend(tied);
            let mut rest: Vec<Slow> = open.into_vec();
            rest.sort_unstable_by_key(|slow| slow.stage);
            let left: Vec<&[(u32, f64)]> = rest.iter().map(|slow| &options[slow.stage][slow.step..]).collect();
            let held: u32 = left.iter().map(|steps| steps[0].0).sum();
            for (slow, step) in rest.iter().zip(tried(&left, held + spare)) {
                chosen[slow.stage] = slow.step + step;
            }
            break;
        }
        for slow in tied {
            if let Some(more) = more(&slow).filter(|more| *more <= spare) {
                spare -= more;
                let (stage, step) = (slow.stage, slow.step + 1);
                chosen[stage] = step;
                open.push(Slow { seconds: options[stage][step].1, stage, step });
            }
        }
    }
    chosen.iter().zip(options).map(|(&step, steps)| steps[step].0).collect()
}

/// The same, as positions of the options, by trying. The order of sorted times does not change when both sides get one more, so that
/// partial choices can be compared: a dynamic program over stages and what is left of the pool is exact.
fn tried(options: &[&[(u32, f64)]], pool: u32) -> Vec<usize> {
    let least: u32 = options.iter().map(|o| o[0].0).sum();
    let spare = pool.saturating_sub(least) as usize;
    // By what was spent beyond the least: the times so far, slowest first, and what was chosen.
    let mut best: Vec<Option<(Vec<f64>, Vec<usize>)>> = vec![None; spare + 1];
    best[0] = Some((Vec::new(), Vec::new()));
    for steps in options {
        let mut next: Vec<Option<(Vec<f64>, Vec<usize>)>> = vec![None; spare + 1];
        for (spent, state) in best.iter().enumerate() {
            let Some((times, chosen)) = state else { continue };
            for (position, &(ctas, seconds)) in steps.iter().enumerate() {
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
                chosen.push(position);
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
