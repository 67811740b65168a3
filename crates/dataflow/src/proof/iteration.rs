//! One iteration of a pipeline without time: tokens pass as long as any can.

use super::{Objection, Wait};
use std::collections::HashMap;
use warpsight_ir::{Firings, Name, Pipeline, Step, Turns};

/// One iteration: work-groups with their places in it, and slots with their tokens.
pub(super) struct Iteration<'a> {
    stages: Vec<StageRun<'a>>,
    queues: Vec<QueueRun<'a>>,
    /// Stage and number of each work-group that has something to do, and where it stands.
    groups: Vec<Place>,
}

struct StageRun<'a> {
    name: &'a Name,
    firings: u64,
    ctas: u64,
    /// Which tokens its firings take.
    turns: Turns,
    /// Position of the first of its work-groups.
    first: usize,
    /// Its takes and puts of one firing, in order.
    moves: Vec<Move>,
}

#[derive(Clone, Copy)]
struct Move {
    queue: usize,
    /// As which of the queue's consumers; `None` puts.
    takes: Option<usize>,
    /// Tokens that the firing moved here in earlier steps.
    before: u64,
    /// Tokens of this step.
    count: u64,
    /// Tokens of all such steps of a firing.
    per_firing: u64,
}

struct QueueRun<'a> {
    name: &'a Name,
    depth: u64,
    producer: usize,
    consumers: Vec<usize>,
    slots: Vec<Slot>,
}

#[derive(Clone)]
struct Slot {
    /// The token that may be put next, or that is in it.
    token: u64,
    /// Consumers that have yet to take it; 0 while it is empty.
    left: usize,
    full: bool,
    /// Work-groups that wait for a change.
    waiting: Vec<usize>,
}

/// Where a work-group stands: what it does next.
#[derive(Clone, Copy)]
struct Place {
    stage: usize,
    firing: u64,
    /// Position in the stage's moves.
    step: usize,
    /// Tokens of that step that have passed.
    done: u64,
}

impl StageRun<'_> {
    /// The token that a firing moves as its `at`-th.
    fn token(&self, own: &Move, firing: u64, at: u64) -> u64 {
        if own.takes.is_some() { self.turns.token(firing, at, own.per_firing) } else { firing * own.per_firing + at }
    }

    /// The firing that moves a token, and as which of its own.
    fn firing(&self, takes: Option<usize>, token: u64, each: u64) -> (u64, u64) {
        if takes.is_some() { self.turns.firing(token, each) } else { (token / each, token % each) }
    }
}

impl<'a> Iteration<'a> {
    pub(super) fn of(pipeline: &'a Pipeline, stages: &[(&'a Name, u32, &'a Firings)], iterations: u64) -> Result<Self, Objection> {
        let numbers: HashMap<&Name, usize> = stages.iter().enumerate().map(|(i, stage)| (stage.0, i)).collect();
        let queues = pipeline.channels.iter().map(|channel| {
            let unknown = |stage: &Name| Objection::Unknown { channel: channel.name.clone(), stage: stage.clone() };
            let number = |name: &Name| numbers.get(name).copied().ok_or_else(|| unknown(name));
            let consumers = channel.consumers.iter().map(number).collect::<Result<_, _>>()?;
            let producer = channel.producers.first().ok_or_else(|| Objection::NoProducer(channel.name.clone())).and_then(number)?;
            Ok(QueueRun { name: &channel.name, depth: u64::from(channel.depth), producer, consumers, slots: Vec::new() })
        });
        let mut queues: Vec<QueueRun> = queues.collect::<Result<_, Objection>>()?;
        let places: HashMap<&Name, usize> = queues.iter().enumerate().map(|(i, queue)| (queue.name, i)).collect();
        let mut groups = Vec::new();
        let mut runs = Vec::new();
        for (at, &(name, ctas, firings)) in stages.iter().enumerate() {
            let mut moves: Vec<Move> = Vec::new();
            // By queue and end: tokens moved so far, which are all of a firing's in the end.
            let mut moved: HashMap<(usize, bool), u64> = HashMap::new();
            for step in &firings.steps {
                let (channel, count, put) = match step {
                    Step::Take { channel, count } => (channel, *count, false),
                    Step::Put { channel, count } => (channel, *count, true),
                    Step::Work { .. } => continue,
                };
                let stranger = || Objection::Stranger { stage: name.clone(), channel: channel.clone() };
                let queue = places.get(channel).copied().ok_or_else(stranger)?;
                let takes = if put {
                    (queues[queue].producer == at).then_some(None)
                } else {
                    queues[queue].consumers.iter().position(|&consumer| consumer == at).map(Some)
                };
                let takes = takes.ok_or_else(stranger)?;
                let own = moved.entry((queue, put)).or_default();
                let before = std::mem::replace(own, *own + count);
                moves.push(Move { queue, takes, before, count, per_firing: 0 });
            }
            moves.iter_mut().for_each(|own| own.per_firing = moved[&(own.queue, own.takes.is_none())]);
            let (count, first) = (firings.count / iterations, groups.len());
            // Work-groups beyond the firings of one iteration have nothing to do in it.
            groups.extend((0..u64::from(ctas).min(count)).map(|firing| Place { stage: at, firing, step: 0, done: 0 }));
            let turns = Turns { count, ..firings.turns(ctas) };
            runs.push(StageRun { name, firings: count, ctas: u64::from(ctas), turns, first, moves });
        }
        for (i, queue) in queues.iter_mut().enumerate() {
            let producer: &StageRun = &runs[queue.producer];
            let put = producer.moves.iter().find(|m| m.queue == i && m.takes.is_none());
            let puts = put.ok_or_else(|| Objection::NoProducer(queue.name.clone()))?.per_firing;
            // No more slots than tokens are of use.
            let slots = queue.depth.min((puts * producer.firings).max(1));
            queue.slots = (0..slots).map(|token| Slot { token, left: 0, full: false, waiting: Vec::new() }).collect();
        }
        Ok(Self { stages: runs, queues, groups })
    }

    /// Lets everything pass that can.
    pub(super) fn run(mut self) -> Result<(), Objection> {
        let mut ready: Vec<usize> = (0..self.groups.len()).rev().collect();
        while let Some(group) = ready.pop() {
            while self.advance(group, &mut ready) {}
        }
        match (0..self.groups.len()).find(|&group| self.at(group).is_some()) {
            None => Ok(()),
            Some(group) => Err(Objection::Waits(self.circle(group))),
        }
    }

    /// What a work-group does next: the move and its token; `None` at its end.
    fn at(&self, group: usize) -> Option<(Move, u64)> {
        let place = self.groups[group];
        let stage = &self.stages[place.stage];
        let next = stage.moves.get(place.step).filter(|_| place.firing < stage.firings)?;
        Some((*next, stage.token(next, place.firing, next.before + place.done)))
    }

    /// Does the next thing, if it can be done; waits for its slot otherwise.
    fn advance(&mut self, group: usize, ready: &mut Vec<usize>) -> bool {
        let Some((next, token)) = self.at(group) else {
            // A stage without tokens is done at once.
            return false;
        };
        let queue = &mut self.queues[next.queue];
        let slots = queue.slots.len() as u64;
        let consumers = queue.consumers.len();
        let slot = &mut queue.slots[(token % slots) as usize];
        let possible = slot.token == token && slot.full == next.takes.is_some();
        if !possible {
            slot.waiting.push(group);
            return false;
        }
        if next.takes.is_none() {
            (slot.full, slot.left) = (true, consumers);
            ready.append(&mut slot.waiting);
        } else {
            slot.left -= 1;
            if slot.left == 0 {
                (slot.full, slot.token) = (false, token + slots);
                ready.append(&mut slot.waiting);
            }
        }
        let place = &mut self.groups[group];
        let stage = &self.stages[place.stage];
        place.done += 1;
        if place.done == next.count {
            (place.done, place.step) = (0, place.step + 1);
        }
        if place.step == stage.moves.len() {
            (place.step, place.firing) = (0, place.firing + stage.ctas);
        }
        true
    }

    /// From a work-group that waits, along what each waits for, until one comes again.
    fn circle(&self, from: usize) -> Vec<Wait> {
        let mut way = vec![from];
        while let Some(next) = way.last().and_then(|&group| self.waits_for(group)) {
            if let Some(begin) = way.iter().position(|&seen| seen == next) {
                way.drain(..begin);
                way.push(next);
                break;
            }
            way.push(next);
        }
        way.into_iter().filter_map(|group| self.wait(group)).collect()
    }

    fn wait(&self, group: usize) -> Option<Wait> {
        let (next, token) = self.at(group)?;
        let place = self.groups[group];
        let stage = &self.stages[place.stage];
        let channel = self.queues[next.queue].name.clone();
        let number = place.firing % stage.ctas;
        Some(Wait { stage: stage.name.clone(), group: number, firing: place.firing, channel, token, takes: next.takes.is_some() })
    }

    /// The work-group that has to move before this one can.
    fn waits_for(&self, group: usize) -> Option<usize> {
        let (next, token) = self.at(group)?;
        let queue = &self.queues[next.queue];
        if next.takes.is_some() {
            return self.holder(queue.producer, next.queue, None, token);
        }
        // Whoever has not taken the token whose slot is wanted.
        let wanted = token.checked_sub(queue.slots.len() as u64)?;
        let late = |(i, &stage): (usize, &usize)| {
            self.holder(stage, next.queue, Some(i), wanted).filter(|&group| !self.passed(group, next.queue, Some(i), wanted))
        };
        queue.consumers.iter().enumerate().find_map(late)
    }

    /// Which work-group of a stage puts or takes a token.
    fn holder(&self, stage: usize, queue: usize, takes: Option<usize>, token: u64) -> Option<usize> {
        let run = &self.stages[stage];
        let per_firing = run.moves.iter().find(|m| m.queue == queue && m.takes == takes)?.per_firing;
        let (firing, _) = run.firing(takes, token, per_firing);
        Some(run.first + (firing % run.ctas) as usize)
    }

    /// Whether a work-group has put or taken a token that is its own.
    fn passed(&self, group: usize, queue: usize, takes: Option<usize>, token: u64) -> bool {
        let place = self.groups[group];
        let run = &self.stages[place.stage];
        let of = |m: &Move| run.firing(takes, token, m.per_firing);
        let holds = |m: &Move| m.queue == queue && m.takes == takes && (m.before..m.before + m.count).contains(&of(m).1);
        let Some(step) = run.moves.iter().position(holds) else { return true };
        let (firing, at) = of(&run.moves[step]);
        (place.firing, place.step, place.done) > (firing, step, at - run.moves[step].before)
    }
}
