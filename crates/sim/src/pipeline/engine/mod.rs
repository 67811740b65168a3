//! Events: a work-group goes on until it has to wait for a token, for room, for its work or for a handshake.

mod parts;
mod steps;

use super::scheduler::{Floor, Scheduler};
use super::servers::{Ordered, Server};
use super::{Meter, PipelineFault, PipelineRun, Span, StageRun};
use crate::silicon::{PipelineSilicon, Silicon};
use parts::{Doing, Filled, Queue, ResolvedStage, queues, stages, tokens};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use warpsight_ir::occupancy::GroupNeeds;
use warpsight_ir::{Bytes, CheckedPipeline, Pipeline, Seconds, StageClass};

/// Firings and tokens of an execution that are followed.
const MOST: u128 = 40_000_000;

/// A work-group.
struct Group {
    stage: usize,
    number: u64,
    firing: u64,
    step: usize,
    done: u64,
    core: Option<usize>,
    handshake: Handshake,
    working: bool,
    /// Transfers of tokens taken, of work, of tokens put, that are under way.
    under_way: [u32; 3],
    /// Queues and slots of tokens taken that are still to stream in, one after another: a work-group has the bandwidth of one queue.
    incoming: VecDeque<(usize, usize)>,
    /// When it began to wait or work, and for what.
    since: f64,
    began: f64,
}

/// Before a token passes.
#[derive(Clone, Copy, PartialEq)]
enum Handshake {
    None,
    UnderWay,
    Over,
}

#[derive(Clone, Copy)]
struct Job {
    group: usize,
    what: Part,
}

#[derive(Clone, Copy)]
enum Part {
    Work,
    Take { queue: usize, slot: usize },
    Put { queue: usize, slot: usize },
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Greeted(usize),
    /// The first bytes that a work-group asked memory for.
    Arrives(usize),
    /// A server's next job is done, unless the server changed since.
    Done(usize, u64),
}

const MOVES: usize = 0;
const MEMORY: usize = 1;
const UNITS: usize = 2;

struct Engine<'a> {
    on: &'a Silicon,
    units: &'a PipelineSilicon,
    scheduler: Scheduler,
    stages: Vec<ResolvedStage<'a>>,
    queues: Vec<Queue<'a>>,
    groups: Vec<Group>,
    /// Work-groups that are not on a multiprocessor yet, by arbiter.
    pending: [VecDeque<usize>; 2],
    floor: Floor,
    servers: Vec<Server>,
    versions: Vec<u64>,
    jobs: Vec<Job>,
    free: Vec<usize>,
    events: BinaryHeap<Reverse<(Ordered, u64, Event)>>,
    sequence: u64,
    /// Work-groups that may be able to go on.
    ready: Vec<usize>,
    now: f64,
    /// Shares of peak of matrix units, vector units and memory.
    shares: [f64; 3],
    runs: Vec<StageRun>,
    meter: Meter,
    spans: Vec<Span>,
    left: usize,
}

/// See [`super::simulate`].
pub fn run(pipeline: &Pipeline, on: &Silicon, units: &PipelineSilicon, scheduler: Scheduler) -> Result<PipelineRun, PipelineFault> {
    let checked = CheckedPipeline::new(pipeline.clone()).map_err(|error| PipelineFault::Malformed(error.to_string()))?;
    let stages = stages(&checked)?;
    let all: u128 = stages.iter().map(|stage| u128::from(stage.firings.count) * (1 + tokens(stage.firings))).sum();
    if all > MOST {
        return Err(PipelineFault::TooLong(all));
    }
    let mut engine = Engine::new((on, units), scheduler, stages, queues(&checked));
    engine.launch()?;
    engine.play()
}

impl<'a> Engine<'a> {
    fn new(
        (on, units): (&'a Silicon, &'a PipelineSilicon),
        scheduler: Scheduler,
        stages: Vec<ResolvedStage<'a>>,
        queues: Vec<Queue<'a>>,
    ) -> Self {
        let live: f64 = queues.iter().map(|queue| queue.bytes).sum();
        let moves = if live > on.l2.cache.bytes as f64 { units.queue.spilled } else { units.l2_bandwidth };
        let core = &on.core;
        let unit = |rate: f64, of_one: f64| Server::new(rate * core.clock, rate * core.clock * of_one);
        let mut servers = vec![Server::new(moves, units.queue.bandwidth), Server::new(units.dram_bandwidth, units.bandwidth)];
        for _ in 0..core.count {
            servers.push(unit(units.tensor, units.tensor_of_one));
            servers.push(unit(units.simt, units.simt_of_one));
        }
        let runs = stages.iter().map(|stage| StageRun {
            name: stage.name.clone(),
            busy: Seconds::ZERO,
            starved: Seconds::ZERO,
            blocked: Seconds::ZERO,
        });
        Self {
            on,
            units,
            scheduler,
            floor: Floor::new(on, scheduler),
            versions: vec![0; servers.len()],
            runs: runs.collect(),
            stages,
            queues,
            groups: Vec::new(),
            pending: [VecDeque::new(), VecDeque::new()],
            servers,
            jobs: Vec::new(),
            free: Vec::new(),
            events: BinaryHeap::new(),
            sequence: 0,
            ready: Vec::new(),
            now: 0.0,
            shares: [0.0; 3],
            meter: Meter::default(),
            spans: Vec::new(),
            left: 0,
        }
    }

    /// Brings all work-groups to the grid scheduler.
    fn launch(&mut self) -> Result<(), PipelineFault> {
        for (at, stage) in self.stages.iter_mut().enumerate() {
            // A work-group without a firing ends as soon as it begins.
            for number in 0..stage.ctas.min(stage.firings.count) {
                self.pending[usize::from(self.scheduler == Scheduler::TwoArbiters && stage.class == StageClass::Simt)]
                    .push_back(self.groups.len());
                self.groups.push(Group {
                    stage: at,
                    number,
                    firing: number,
                    step: 0,
                    done: 0,
                    core: None,
                    handshake: Handshake::None,
                    working: false,
                    under_way: [0; 3],
                    incoming: VecDeque::new(),
                    since: 0.0,
                    began: 0.0,
                });
            }
        }
        self.left = self.groups.len();
        if self.scheduler == Scheduler::Cooperative {
            let most = self.stages.iter().map(|stage| stage.needs).reduce(|a, b| GroupNeeds {
                lanes: a.lanes.max(b.lanes),
                registers: a.registers.max(b.registers),
                local: if a.local.0 > b.local.0 { a.local } else { b.local },
            });
            let all: u64 = self.stages.iter().map(|stage| stage.ctas).sum();
            if let Some(most) = most {
                self.stages.iter_mut().for_each(|stage| stage.needs = most);
                let mut trial = self.floor.clone();
                let held = (0..all).take_while(|_| trial.place(StageClass::Simt, most).is_some()).count();
                if (held as u64) < all {
                    return Err(PipelineFault::Refused(format!("a cooperative kernel of {all} work-groups, where {held} are resident")));
                }
            }
        }
        self.dispatch();
        self.go_on();
        Ok(())
    }

    /// Whoever fits begins.
    fn dispatch(&mut self) {
        for arbiter in 0..2 {
            while let Some(&group) = self.pending[arbiter].front() {
                let stage = &self.stages[self.groups[group].stage];
                let Some(core) = self.floor.place(stage.class, stage.needs) else { break };
                self.pending[arbiter].pop_front();
                self.groups[group].core = Some(core);
                self.groups[group].since = self.now;
                self.ready.push(group);
            }
        }
    }

    fn play(mut self) -> Result<PipelineRun, PipelineFault> {
        while let Some(Reverse((Ordered(time), _, event))) = self.events.pop() {
            match event {
                Event::Done(server, version) if self.versions[server] != version => continue,
                _ => {}
            }
            self.meter.add(self.now, time, self.shares);
            self.now = time;
            match event {
                Event::Greeted(group) => {
                    self.groups[group].handshake = Handshake::Over;
                    self.ready.push(group);
                }
                Event::Arrives(group) => self.fetch(group),
                Event::Done(server, _) => self.job_done(server),
            }
            self.go_on();
        }
        if self.left > 0 {
            let waiting =
                (0..self.groups.len()).filter(|&group| self.groups[group].firing < self.stages[self.groups[group].stage].firings.count);
            let waiting = waiting.take(8).map(|group| self.describe(group)).collect();
            return Err(PipelineFault::Stuck { after: Seconds(self.now), waiting });
        }
        let left = |queue: &Queue| queue.slots.iter().filter(|slot| slot.state != Filled::Empty).count();
        if let Some(queue) = self.queues.iter().find(|queue| left(queue) > 0) {
            return Err(PipelineFault::Left { channel: queue.name.clone(), tokens: left(queue) });
        }
        let (dram, queues) = (Bytes(self.servers[MEMORY].done()), Bytes(self.servers[MOVES].done()));
        Ok(PipelineRun { time: Seconds(self.now), stages: self.runs, dram, queues, meter: self.meter, spans: self.spans })
    }

    fn describe(&self, group: usize) -> String {
        let group = &self.groups[group];
        let stage = &self.stages[group.stage];
        let place = format!("`{}` (work-group {}, firing {})", stage.name, group.number, group.firing);
        match stage.steps.get(group.step) {
            _ if group.core.is_none() => format!("{place} has no multiprocessor"),
            Some(Doing::Take { queue, .. }) => format!("{place} waits for a token of `{}`", self.queues[*queue].name),
            Some(Doing::Put { queue, .. }) => format!("{place} waits for room in `{}`", self.queues[*queue].name),
            _ => format!("{place} does not end"),
        }
    }

    fn at(&mut self, after: f64, event: Event) {
        self.sequence += 1;
        self.events.push(Reverse((Ordered(self.now + after), self.sequence, event)));
    }

    /// Starts a job; nothing to do is done at once.
    fn start(&mut self, server: usize, work: f64, group: usize, what: Part) {
        let id = self.free.pop().unwrap_or(self.jobs.len());
        let job = Job { group, what };
        if id == self.jobs.len() {
            self.jobs.push(job)
        } else {
            self.jobs[id] = job
        }
        self.touch(server, |own, now| own.start(now, work, id));
    }

    /// Changes a server, and what follows from its new rate.
    fn touch<T>(&mut self, server: usize, change: impl FnOnce(&mut Server, f64) -> T) -> T {
        let before = self.servers[server].rate();
        let result = change(&mut self.servers[server], self.now);
        let after = self.servers[server].rate();
        let core = &self.on.core;
        let peak = f64::from(core.count) * core.clock;
        match server {
            MOVES => {}
            MEMORY => self.shares[2] = after / self.units.dram_bandwidth,
            unit if (unit - UNITS).is_multiple_of(2) => {
                self.shares[0] = (self.shares[0] + (after - before) / (peak * self.units.tensor)).max(0.0)
            }
            _ => self.shares[1] = (self.shares[1] + (after - before) / (peak * self.units.simt)).max(0.0),
        }
        self.versions[server] += 1;
        if let Some(next) = self.servers[server].next() {
            let event = Event::Done(server, self.versions[server]);
            self.at(next - self.now, event);
        }
        result
    }

    fn job_done(&mut self, server: usize) {
        let Some(id) = self.touch(server, Server::finish) else { return };
        let Job { group, what } = self.jobs[id];
        self.free.push(id);
        match what {
            Part::Work => self.groups[group].under_way[1] -= 1,
            Part::Take { queue, slot } => {
                self.groups[group].under_way[0] -= 1;
                let slots = self.queues[queue].slots.len() as u64;
                let slot = &mut self.queues[queue].slots[slot];
                match slot.state {
                    Filled::Full(left) if left > 1 => slot.state = Filled::Full(left - 1),
                    _ => {
                        (slot.state, slot.token) = (Filled::Empty, slot.token + slots);
                        self.ready.append(&mut slot.waiting);
                    }
                }
                let incoming = &mut self.groups[group].incoming;
                incoming.pop_front();
                if let Some(&next) = incoming.front() {
                    self.stream(group, next);
                }
            }
            Part::Put { queue, slot } => {
                self.groups[group].under_way[2] -= 1;
                let consumers = self.queues[queue].consumers;
                let slot = &mut self.queues[queue].slots[slot];
                slot.state = Filled::Full(consumers);
                self.ready.append(&mut slot.waiting);
            }
        }
        self.ready.push(group);
    }

    /// Lets work-groups do what they can do now.
    fn go_on(&mut self) {
        while let Some(group) = self.ready.pop() {
            while self.step(group) {}
        }
    }
}
