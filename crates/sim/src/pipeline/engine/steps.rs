//! What a work-group does next: steps of its firings, one after another, until it has to wait.

use super::parts::{Doing, Filled};
use super::{Engine, Event, Group, Handshake, MEMORY, MOVES, Part, StageRun, UNITS};
use crate::pipeline::Span;
use warpsight_ir::{Seconds, StageClass};

/// Firings that are kept as spans.
const SPANS: usize = 20_000;

impl Engine<'_> {
    /// Begins to move what a work-group reads and writes.
    pub(super) fn fetch(&mut self, id: usize) {
        let group = &self.groups[id];
        if let Some(Doing::Work { bytes, .. }) = self.stages[group.stage].steps.get(group.step) {
            let bytes = *bytes;
            self.start(MEMORY, bytes, id, Part::Work);
        }
    }

    /// One thing; `false` where the work-group has to wait.
    pub(super) fn step(&mut self, id: usize) -> bool {
        let Group { stage: at, firing, step, done, core: Some(core), .. } = self.groups[id] else { return false };
        let stage = &self.stages[at];
        if firing >= stage.firings.count {
            return false;
        }
        let Some(&doing) = stage.steps.get(step) else {
            return self.end_firing(id, core);
        };
        match doing {
            Doing::Work { flops, bytes } => {
                let group = &mut self.groups[id];
                // Operands stream in while they are multiplied: who has acquired its tokens works, and is done when both are.
                if group.under_way[1] > 0 || (group.working && group.under_way[0] > 0) {
                    return false;
                }
                if std::mem::replace(&mut group.working, true) {
                    group.working = false;
                    self.waited(id, |run| &mut run.busy);
                    return self.next_step(id);
                }
                self.waited(id, |run| &mut run.starved);
                let group = &mut self.groups[id];
                group.began = self.now;
                let first = group.firing == group.number;
                if flops > 0.0 {
                    group.under_way[1] += 1;
                    self.start(stage_unit(self.stages[at].class, core), flops, id, Part::Work);
                }
                if bytes > 0.0 {
                    self.groups[id].under_way[1] += 1;
                    // Later firings ask in time.
                    if first { self.at(self.units.dram_latency, Event::Arrives(id)) } else { self.fetch(id) }
                }
                true
            }
            Doing::Take { queue, count, before, per_firing } => {
                let token = stage.turns.token(firing, before + done, per_firing);
                let slots = self.queues[queue].slots.len() as u64;
                let slot = (token % slots) as usize;
                if !self.queues[queue].slots[slot].holds(token) {
                    self.queues[queue].slots[slot].waiting.push(id);
                    return false;
                }
                if !self.greeted(id) {
                    return false;
                }
                let group = &mut self.groups[id];
                group.under_way[0] += 1;
                group.incoming.push_back((queue, slot));
                if group.incoming.len() == 1 {
                    self.stream(id, (queue, slot));
                }
                let more = self.passed(id, count);
                // Other lanes have polled the counters of further channels meanwhile.
                let group = &self.groups[id];
                if group.step > step
                    && matches!(self.stages[at].steps.get(group.step), Some(Doing::Take { queue: other, .. }) if *other != queue && self.is_there(id))
                {
                    self.groups[id].handshake = Handshake::Over;
                }
                more
            }
            Doing::Put { queue, count, before, per_firing } => {
                let group = &self.groups[id];
                if group.under_way != [0; 3] {
                    return false;
                }
                let token = firing * per_firing + before + done;
                let slots = self.queues[queue].slots.len() as u64;
                let slot = (token % slots) as usize;
                let own = &mut self.queues[queue].slots[slot];
                if !(own.token == token && own.state == Filled::Empty) {
                    own.waiting.push(id);
                    return false;
                }
                if !self.greeted(id) {
                    return false;
                }
                self.waited(id, |run| &mut run.blocked);
                self.queues[queue].slots[slot].state = Filled::Filling;
                self.groups[id].under_way[2] += 1;
                let payload = self.queues[queue].payload;
                self.start(MOVES, payload, id, Part::Put { queue, slot });
                self.passed(id, count)
            }
        }
    }

    /// Whether the token that a work-group takes next can be taken.
    fn is_there(&self, id: usize) -> bool {
        let Group { stage, firing, step, done, .. } = &self.groups[id];
        let stage = &self.stages[*stage];
        let Some(&Doing::Take { queue, before, per_firing, .. }) = stage.steps.get(*step) else { return false };
        let token = stage.turns.token(*firing, before + done, per_firing);
        let slots = &self.queues[queue].slots;
        slots[(token % slots.len() as u64) as usize].holds(token)
    }

    /// A token begins to stream in.
    pub(super) fn stream(&mut self, id: usize, (queue, slot): (usize, usize)) {
        let payload = self.queues[queue].payload;
        self.start(MOVES, payload, id, Part::Take { queue, slot });
    }

    /// Whether the handshake of the next token is over; begins it otherwise. Once it is, the next token needs another.
    fn greeted(&mut self, id: usize) -> bool {
        let handshake = &mut self.groups[id].handshake;
        match *handshake {
            Handshake::Over => {
                *handshake = Handshake::None;
                return true;
            }
            Handshake::UnderWay => {}
            Handshake::None => {
                *handshake = Handshake::UnderWay;
                self.at(self.units.queue.handshake, Event::Greeted(id));
            }
        }
        false
    }

    /// Counts the time since the last change as this.
    fn waited(&mut self, id: usize, of: impl FnOnce(&mut StageRun) -> &mut Seconds) {
        let group = &mut self.groups[id];
        let waited = self.now - std::mem::replace(&mut group.since, self.now);
        of(&mut self.runs[group.stage]).0 += waited;
    }

    fn passed(&mut self, id: usize, count: u64) -> bool {
        self.groups[id].done += 1;
        if self.groups[id].done == count { self.next_step(id) } else { true }
    }

    fn next_step(&mut self, id: usize) -> bool {
        let group = &mut self.groups[id];
        (group.step, group.done) = (group.step + 1, 0);
        true
    }

    fn end_firing(&mut self, id: usize, core: usize) -> bool {
        let group = &self.groups[id];
        let stage = &self.stages[group.stage];
        let last = group.firing + stage.ctas >= stage.firings.count;
        // The next firing may begin while the tokens of this one are still on their way.
        let under_way = if last { &group.under_way[..] } else { &group.under_way[..2] };
        if under_way.iter().any(|&n| n > 0) {
            return false;
        }
        self.waited(id, |run| &mut run.busy);
        let group = &mut self.groups[id];
        if self.spans.len() < SPANS {
            let (begin, end) = (Seconds(group.began), Seconds(self.now));
            self.spans.push(Span { stage: group.stage, group: group.number as u32, firing: group.firing, core, begin, end });
        }
        let stage = &self.stages[group.stage];
        if !last {
            (group.step, group.firing) = (0, group.firing + stage.ctas);
            return true;
        }
        group.firing = stage.firings.count;
        let needs = stage.needs;
        self.left -= 1;
        self.floor.leave(core, needs);
        self.dispatch();
        false
    }
}

fn stage_unit(class: StageClass, core: usize) -> usize {
    UNITS + 2 * core + usize::from(class == StageClass::Simt)
}
