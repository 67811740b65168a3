//! The stages and queues of an execution, with names resolved to positions.

use super::PipelineFault;
use std::collections::HashMap;
use warpsight_ir::occupancy::GroupNeeds;
use warpsight_ir::{Bytes, Firings, Name, Pipeline, StageBody, StageClass, Step, Turns};

/// A stage's constant part.
pub(super) struct ResolvedStage<'a> {
    pub(super) name: &'a Name,
    pub(super) class: StageClass,
    pub(super) ctas: u64,
    pub(super) firings: &'a Firings,
    pub(super) turns: Turns,
    pub(super) needs: GroupNeeds,
    pub(super) steps: Vec<Doing>,
}

/// A step with its queue resolved.
#[derive(Clone, Copy)]
pub(super) enum Doing {
    Take { queue: usize, count: u64, before: u64, per_firing: u64 },
    Work { flops: f64, bytes: f64 },
    Put { queue: usize, count: u64, before: u64, per_firing: u64 },
}

pub(super) struct Queue<'a> {
    pub(super) name: &'a Name,
    pub(super) payload: f64,
    /// Of all slots.
    pub(super) bytes: f64,
    pub(super) consumers: usize,
    pub(super) slots: Vec<Slot>,
}

#[derive(Clone)]
pub(super) struct Slot {
    /// The token that is in it, or that may be put next.
    pub(super) token: u64,
    pub(super) state: Filled,
    pub(super) waiting: Vec<usize>,
}

impl Slot {
    /// Whether this token is in it, whole.
    pub(super) fn holds(&self, token: u64) -> bool {
        self.token == token && matches!(self.state, Filled::Full(_))
    }
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Filled {
    Empty,
    /// Its producer writes.
    Filling,
    /// So many consumers have yet to be done with it.
    Full(usize),
}

pub(super) fn tokens(firings: &Firings) -> u128 {
    let moved = |step: &Step| match step {
        Step::Take { count, .. } | Step::Put { count, .. } => u128::from(*count),
        Step::Work { .. } => 0,
    };
    firings.steps.iter().map(moved).sum()
}

pub(super) fn queues(pipeline: &Pipeline) -> Vec<Queue<'_>> {
    let slot = |token| Slot { token, state: Filled::Empty, waiting: Vec::new() };
    let queues = pipeline.channels.iter().map(|channel| {
        // No more slots than tokens are of use; their memory is taken all the same.
        let put = |name: &Name| match pipeline.stages.iter().find(|stage| stage.name == *name).map(|stage| &stage.body) {
            Some(StageBody::Firings(firings)) => firings.count.saturating_mul(firings.puts(&channel.name)),
            _ => 0,
        };
        let slots = u64::from(channel.depth).min(channel.producers.iter().map(put).fold(1, u64::max));
        let bytes = channel.payload() as f64 * f64::from(channel.depth);
        Queue {
            name: &channel.name,
            payload: channel.payload() as f64,
            bytes,
            consumers: channel.consumers.len(),
            slots: (0..slots).map(slot).collect(),
        }
    });
    queues.collect()
}

pub(super) fn stages(pipeline: &Pipeline) -> Result<Vec<ResolvedStage<'_>>, PipelineFault> {
    let programmed = pipeline.stages.iter().find(|stage| stage.body.program().is_some());
    if let Some(stage) = programmed {
        return Err(PipelineFault::Malformed(format!("stage `{}` has a program, and no firings to be timed by", stage.name)));
    }
    let places: HashMap<&Name, usize> = pipeline.channels.iter().enumerate().map(|(at, channel)| (&channel.name, at)).collect();
    let doing = |firings: &Firings| {
        // By queue: tokens taken and put so far, which are all of a firing's in the end.
        let mut moved: HashMap<usize, [u64; 2]> = HashMap::new();
        let mut before = |queue: usize, end: usize, count: u64| {
            let own = &mut moved.entry(queue).or_default()[end];
            std::mem::replace(own, *own + count)
        };
        let next = |step: &Step| match *step {
            Step::Work { flops, read, written } => Some(Doing::Work { flops: flops as f64, bytes: read as f64 + written as f64 }),
            Step::Take { ref channel, count } => {
                let queue = *places.get(channel)?;
                Some(Doing::Take { queue, count, before: before(queue, 0, count), per_firing: 0 })
            }
            Step::Put { ref channel, count } => {
                let queue = *places.get(channel)?;
                Some(Doing::Put { queue, count, before: before(queue, 1, count), per_firing: 0 })
            }
        };
        let mut steps: Vec<Doing> = firings.steps.iter().filter_map(next).collect();
        for step in &mut steps {
            match step {
                Doing::Take { queue, per_firing, .. } => *per_firing = moved[queue][0],
                Doing::Put { queue, per_firing, .. } => *per_firing = moved[queue][1],
                Doing::Work { .. } => {}
            }
        }
        steps
    };
    let stages = pipeline.stages.iter().filter_map(|stage| {
        let StageBody::Firings(firings) = &stage.body else { return None };
        let needs = GroupNeeds { lanes: firings.lanes, registers: firings.registers, local: Bytes(firings.local as f64) };
        let steps = doing(firings);
        let turns = firings.turns(stage.ctas);
        Some(ResolvedStage { name: &stage.name, class: stage.class, ctas: u64::from(stage.ctas), firings, turns, needs, steps })
    });
    Ok(stages.collect())
}
