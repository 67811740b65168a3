//! A planned group as an [`ir::Pipeline`](warpsight_ir::Pipeline) of firings: what a checker proves and a simulator executes.

use crate::design::{Queue, Role, Stage};
use crate::plan::GroupPlan;
use crate::view::View;
use warpsight_ir::range::gcd;
use warpsight_ir::{Channel, Firings, Name, Pipeline, PipelineStage, Scalar, SideOutput, StageBody, StageClass, Step};

/// Work-items of a work-group.
pub(crate) const LANES: u32 = 256;
/// Registers of a work-item: 128 × 256 sums of 4 bytes over 256 work-items are 128, and 40 for addresses and operands. With those of an
/// element-wise work-group they fit the 65,536 of a multiprocessor.
pub(crate) const REGISTERS: (u32, u32) = (168, 64);

/// A pipeline, and how many work-groups of each of its stages every multiprocessor holds (rows: multiprocessors; columns: stages).
#[derive(Clone, Debug, PartialEq)]
pub struct Lowered {
    /// The pipeline, without a certificate.
    pub pipeline: Pipeline,
    /// Work-groups by multiprocessor and stage.
    pub placement: Vec<Vec<u32>>,
    /// Of each of its stages, the position of the design's stage that it is a part of.
    pub origins: Vec<usize>,
}

/// Stages that one stage of a design becomes: a stage for each part, since a part takes every token and puts its own columns.
struct Split {
    /// The first of them.
    first: usize,
    /// How many.
    parts: u32,
    /// Work-groups of each.
    sets: u32,
    /// Firings of each.
    firings: u64,
}

/// Stages whose operators are divided become a stage for each part, so that every work-group fires by itself. Where an operand is not held,
/// work-groups divide the tiles of a token: they are parts too. Work-groups beyond a multiple of the parts idle and are left out, and those that save a sum no round.
pub fn lower(graph: &View, name: &str, plan: &GroupPlan) -> Lowered {
    let design = &plan.design;
    let mut splits: Vec<Split> = Vec::new();
    let mut first = 0;
    for (at, stage) in design.stages.iter().enumerate() {
        let ctas = plan.allocation.ctas[at].max(1);
        let parts = match (stage.class, stage.parts) {
            (StageClass::Tensor, 1) => u32::try_from(stage.firings_per_token).unwrap_or(u32::MAX).min(ctas),
            (_, parts) => parts,
        };
        // What brings partial results together is divided as what it takes from.
        let before = design.queues.iter().find(|queue| queue.consumers == [at]).map(|queue| queue.producer);
        let partial = before.filter(|&from| design.stages[from].role == Role::FanIn).map(|from| splits[from].parts);
        let parts = partial.map_or(parts, |from| from.min(ctas)).max(1);
        let firings = firings(stage, at, &design.queues);
        // As many as are needed for no more rounds, so that rounds come out even where they can.
        let sets = u64::from((ctas / parts).max(1));
        let sets = if stage.role == Role::Whole { sets } else { firings.div_ceil(firings.div_ceil(sets)) };
        splits.push(Split { first, parts, sets: sets as u32, firings });
        first += parts as usize;
    }
    // Names are those of a C program; what they stand for says the design.
    let part = |at: usize, part: u32| -> Name { format!("s{at}_{part}").into() };
    let channel = |queue: usize, of: u32| -> Name { format!("q{queue}_{of}").into() };

    let mut stages = Vec::with_capacity(first);
    for (at, (stage, split)) in design.stages.iter().zip(&splits).enumerate() {
        for own in 0..split.parts {
            let mut taken: Vec<(Name, u64)> = Vec::new();
            for (number, queue) in design.queues.iter().enumerate().filter(|(_, queue)| queue.consumers.contains(&at)) {
                let from = (0..splits[queue.producer].parts).filter(|&from| takes(&design.stages, queue, at, from, own, split.parts));
                taken.extend(from.map(|from| (channel(number, from), queue.tokens / split.firings)));
            }
            // In turn from all channels: who took all tokens of one channel first would wait for producers that wait for the others.
            let turns = taken.iter().map(|(_, count)| *count).fold(0, gcd).max(1);
            let turn = taken.into_iter().map(|(channel, count)| Step::Take { channel, count: count / turns }).collect::<Vec<_>>();
            // What sums works on tokens as they come.
            let sums = if stage.role == Role::Whole { 1 } else { turns };
            let share = |amount: f64| (amount / split.firings as f64 / f64::from(split.parts) / sums as f64).ceil() as u64;
            let read = share((stage.read + stage.reread).0);
            let work = Step::Work { flops: share(stage.flops + stage.epilogue), read, written: share(stage.written.0) };
            let mut steps: Vec<Step> = Vec::new();
            for at in 1..=turns {
                steps.extend(turn.iter().cloned());
                steps.extend((sums > 1 || at == turns).then(|| work.clone()));
            }
            let filled = design.queues.iter().enumerate().filter(|(_, queue)| queue.producer == at);
            steps.extend(filled.map(|(number, queue)| Step::Put { channel: channel(number, own), count: queue.tokens / split.firings }));
            let registers = if stage.class == StageClass::Tensor { REGISTERS.0 } else { REGISTERS.1 };
            // Rows may be summed in any order; pieces of a row or of a partial result belong together.
            let mut taken = design.queues.iter().filter(|queue| queue.consumers.contains(&at));
            let dealt = sums > 1 && taken.all(|queue| queue.whole == 1 && design.stages[queue.producer].role == Role::Whole);
            let body = Firings { count: split.firings, dealt, lanes: LANES, registers, local: stage.shared.0.ceil() as u64, steps };
            stages.push(PipelineStage { name: part(at, own), class: stage.class, ctas: split.sets, body: StageBody::Firings(body) });
        }
    }
    let mut channels = Vec::new();
    for (number, queue) in design.queues.iter().enumerate() {
        let from = &splits[queue.producer];
        let element = if design.stages[queue.producer].element >= 4 { Scalar::F32 } else { Scalar::F16 };
        let extent = (queue.payload.0 / f64::from(from.parts) / f64::from(element.bytes())).ceil().max(1.0) as u32;
        for own in 0..from.parts {
            let to = queue.consumers.iter().flat_map(|&at| (0..splits[at].parts).map(move |part| (at, part)));
            let to = to.filter(|&(at, part)| takes(&design.stages, queue, at, own, part, splits[at].parts));
            channels.push(Channel {
                name: channel(number, own),
                element,
                dims: vec![extent],
                depth: queue.depth,
                producers: vec![part(queue.producer, own)],
                consumers: to.map(|(at, own)| part(at, own)).collect(),
            });
        }
    }
    let beside = design.stages.iter().enumerate().flat_map(|(at, stage)| stage.side_outputs.iter().map(move |&id| (at, id)));
    let side_outputs = beside.map(|(at, id)| SideOutput { stage: part(at, 0), param: graph.tensor(id).name.as_str().into() }).collect();
    let origins = splits.iter().enumerate().flat_map(|(at, split)| std::iter::repeat_n(at, split.parts as usize)).collect();
    let mut placement = vec![vec![0; first]; plan.assignment.len()];
    for (held, pair) in placement.iter_mut().zip(&plan.assignment) {
        for cta in [pair.tensor, pair.simt].into_iter().flatten() {
            let split = &splits[cta.stage];
            if cta.index < split.parts * split.sets {
                held[split.first + (cta.index % split.parts) as usize] += 1;
            }
        }
    }
    Lowered { pipeline: Pipeline { name: name.into(), stages, channels, side_outputs, certificate: None }, placement, origins }
}

/// Whether a part takes what another one puts: all of it, except that partial results go to the part that brings theirs together.
fn takes(stages: &[Stage], queue: &Queue, at: usize, from: u32, own: u32, parts: u32) -> bool {
    let partial = stages[queue.producer].role == Role::FanIn && queue.consumers == [at];
    !partial || from % parts == own
}

/// Firings of one execution: tokens, or pieces of them where all queues carry as many.
fn firings(stage: &Stage, at: usize, queues: &[Queue]) -> u64 {
    let own = queues.iter().filter(|queue| queue.producer == at || queue.consumers.contains(&at));
    let whole = stage.tokens.max(1);
    if stage.class == StageClass::Tensor || stage.role != Role::Whole {
        return whole;
    }
    let fits = |count: u64| own.clone().all(|queue| queue.tokens.is_multiple_of(count));
    (1..=stage.firings_per_token).rev().map(|pieces| whole * pieces).find(|&count| fits(count)).unwrap_or(whole)
}
