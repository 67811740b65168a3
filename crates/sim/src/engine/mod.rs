//! The machine at work: groups leave the dispatcher in order, waves take turns on their core's ports by the time they may go on.

mod access;
mod groups;
mod queue;
mod recorder;
mod sums;

pub use recorder::Recorder;

use crate::alu;
use crate::code::{Code, FaultKind, Mask, Op, Row};
use crate::demand::Demand;
use crate::divisor::Divisor;
use crate::fault::{LaneFault, SimFault};
use crate::memory::Caches;
use crate::memory::lines::Lines;
use crate::memory::units::Units;
use crate::pattern::Pattern;
use crate::report::Report;
use crate::sampling::{Plan, Sampling};
use crate::silicon::Silicon;
use crate::tensors::Tensor;
use crate::timing::{PER_CYCLE, Server, Time, ticks};
use crate::wave::Wave;
use groups::{Group, lane_rows};
use queue::Queue;
use warpsight_ir::{Bytes, Program};

/// A core.
struct Core {
    ports: Vec<Server>,
    /// Ticks of the ports spent on floats.
    float: Time,
    units: Units,
    waves: u32,
    groups: u32,
    /// A group whose waves have not all begun.
    starting: Option<usize>,
    next_port: usize,
    /// Whether what is resident may still be added to.
    filling: bool,
}

/// What is launched, and on what.
#[derive(Clone, Copy)]
pub struct LaunchOf<'a> {
    /// The GPU.
    pub silicon: &'a Silicon,
    /// The kernel.
    pub program: &'a Program,
    /// The kernel, compiled.
    pub code: &'a Code,
    /// What it takes of a core.
    pub demand: &'a Demand,
}

/// One launch, executed in rows of `W` lanes.
pub struct Engine<'a, const W: usize> {
    silicon: &'a Silicon,
    program: &'a Program,
    code: &'a Code,
    demand: &'a Demand,
    /// The rows of `code.shared`.
    shared: Vec<Row<W>>,
    caches: &'a mut Caches,
    tensors: &'a mut [Tensor],
    cores: Vec<Core>,
    groups: Vec<Group>,
    free_groups: Vec<usize>,
    waves: Vec<Wave<W>>,
    free_waves: Vec<usize>,
    /// Lane axes of each wave of a group.
    lane_rows: Vec<Vec<Row<W>>>,
    queue: Queue,
    plan: Plan,
    group_count: u64,
    dispatcher: Server,
    end: Time,
    lines: Lines,
    /// Of each access, how its lanes lay the last time.
    patterns: Vec<Pattern<W>>,
    addresses: Vec<u32>,
    instructions: u64,
    memory_instructions: u64,
    spill_base: u64,
    steps: u64,
    /// When a launch is given up.
    most: Time,
    /// Told what waves do, where somebody wants to see it.
    recorder: Option<&'a mut Recorder>,
    /// Ticks of one scalar instruction, and other constants.
    instruction: Time,
    per_instruction: Divisor,
    loop_issue: Time,
    loop_latency: Time,
    branch: Time,
    barrier: Time,
}

impl<'a, const W: usize> Engine<'a, W> {
    /// A launch about to begin.
    pub fn new(launch: LaunchOf<'a>, sampling: Sampling, caches: &'a mut Caches, tensors: &'a mut [Tensor]) -> Self {
        let LaunchOf { silicon, program, code, demand } = launch;
        caches.begin();
        let core = &silicon.core;
        let instruction = ticks(f64::from(core.wave) / f64::from(core.lanes));
        let spill_base = tensors.iter().map(|t| t.base + t.size).max().unwrap_or(0).next_multiple_of(1 << 20);
        let group_count = code.groups.iter().map(|&g| u64::from(g)).product();
        let fits = match demand.occupancy.groups {
            0 => (demand.occupancy.waves / demand.group_size.div_ceil(core.wave).max(1)).max(1),
            groups => groups,
        };
        let plan = Plan::new(group_count, u64::from(core.count) * u64::from(fits), sampling);
        let new_core = |_| Core {
            ports: vec![Server::default(); core.ports as usize],
            float: 0,
            units: Units::new(silicon, fits, Bytes(code.local_bytes as f64)),
            waves: 0,
            groups: 0,
            starting: None,
            next_port: 0,
            filling: true,
        };
        Self {
            silicon,
            program,
            code,
            demand,
            shared: code.shared.iter().map(|&bits| [bits; W]).collect(),
            caches,
            tensors,
            cores: (0..core.count).map(new_core).collect(),
            groups: vec![],
            free_groups: vec![],
            waves: vec![],
            free_waves: vec![],
            lane_rows: lane_rows(program, core.wave),
            queue: Queue::default(),
            plan,
            group_count,
            dispatcher: Server::default(),
            end: 0,
            lines: Lines::new(),
            patterns: vec![Pattern::default(); code.accesses.len()],
            addresses: vec![],
            instructions: 0,
            memory_instructions: 0,
            spill_base,
            steps: 0,
            most: sampling.cycles.saturating_mul(PER_CYCLE as Time),
            recorder: None,
            instruction,
            per_instruction: Divisor::new(instruction),
            loop_issue: ticks(core.loop_issue * f64::from(core.wave) / f64::from(core.lanes)),
            loop_latency: ticks(core.loop_latency),
            branch: ticks(core.branch_latency),
            barrier: ticks(core.barrier_latency),
        }
    }

    /// Tells a recorder what waves do.
    pub fn told(self, recorder: Option<&'a mut Recorder>) -> Self {
        Self { recorder, ..self }
    }

    /// Runs to the end.
    pub fn run(mut self) -> Result<Report, SimFault> {
        // Groups go to the cores in turn until all are full.
        let mut room = true;
        while room {
            room = false;
            for core in 0..self.cores.len() {
                room |= self.start_group(core, 0);
            }
        }
        self.cores.iter_mut().for_each(|core| core.filling = false);
        pulp::Arch::new().dispatch(Turns(&mut self))?;
        Ok(self.report())
    }

    /// Lets waves take turns until all are done.
    #[inline(always)]
    fn turns(&mut self) -> Result<(), SimFault> {
        let mut turn = self.queue.take();
        while let Some(wave) = turn {
            if self.steps > self.silicon.limits.steps {
                return Err(SimFault::Steps { kernel: self.program.name.clone(), limit: self.silicon.limits.steps });
            }
            if self.waves[wave].time > self.most {
                return Err(SimFault::Longer { kernel: self.program.name.clone(), cycles: self.most / PER_CYCLE as Time });
            }
            let goes_on = self.advance(wave).map_err(|(lane, what)| self.fault(wave, lane, what))?;
            turn = if goes_on { Some(self.queue.exchange(self.waves[wave].time, wave)) } else { self.queue.take() };
        }
        Ok(())
    }

    fn fault(&self, wave: usize, lane: usize, what: FaultKind) -> SimFault {
        let wave = &self.waves[wave];
        let group = self.coordinates(self.groups[wave.group].number);
        SimFault::Fault { kernel: self.program.name.clone(), group, item: wave.first + lane as u32, what: Box::new(what) }
    }

    /// Executes a wave until another may go on earlier; whether it goes on then, or ends or waits for its group.
    #[inline(always)]
    fn advance(&mut self, w: usize) -> Result<bool, LaneFault> {
        let code = self.code;
        loop {
            self.steps += 1;
            if self.steps > self.silicon.limits.steps {
                // Told by who asks next.
                return Ok(true);
            }
            let wave = &mut self.waves[w];
            let op = code.ops[wave.at as usize];
            let (from, to) = code.needs[wave.at as usize];
            if from != to && wave.pending > wave.time {
                let ready = code.waits[from as usize..to as usize].iter().map(|&r| wave.ready[usize::from(r)]).max().unwrap_or(0);
                if ready > wave.time {
                    if let Some(recorder) = &mut self.recorder {
                        recorder.loads(w, wave.time..ready);
                    }
                    wave.time = ready;
                    return Ok(true);
                }
            }
            let port = &mut self.cores[wave.core].ports[wave.port];
            if let Some(recorder) = &mut self.recorder
                && issues(op)
            {
                recorder.queues(w, wave.time..port.free);
            }
            match op {
                Op::Run { first, count, charged, issue, span, float } => {
                    let start = port.serve(wave.time, issue.into());
                    self.cores[wave.core].float += Time::from(float);
                    if count > 0 {
                        let instructions = &code.alu[first as usize..(first + count) as usize];
                        alu::run(instructions, &code.wide, &self.shared, &mut wave.rows, wave.mask)?;
                    }
                    wave.time = start + Time::from(span.max(issue));
                    wave.at += 1;
                    self.instructions += self.per_instruction.of(issue.into());
                    if self.demand.spilled > 0 {
                        self.spill(w, charged);
                    }
                }
                Op::Copy { dst, src, merge } => {
                    let row = *wave.row(src, &self.shared);
                    let to = &mut wave.rows[usize::from(dst)];
                    if merge {
                        alu::merge(to, &row, wave.mask);
                    } else {
                        *to = row;
                    }
                    wave.ready[usize::from(dst)] = wave.ready[usize::from(src)];
                    wave.at += 1;
                }
                Op::Access(at) => {
                    wave.time = port.serve(wave.time, self.instruction) + self.instruction;
                    wave.at += 1;
                    self.instructions += 1;
                    self.memory_instructions += 1;
                    self.access(w, at)?;
                }
                Op::Lane(at) => {
                    let pick = &code.lanes[at as usize];
                    let issue = self.instruction * pick.from.len() as Time;
                    wave.time = port.serve(wave.time, issue) + issue;
                    wave.at += 1;
                    if pick.executed {
                        wave.pick(pick, &self.shared)?;
                    }
                }
                Op::LoopStart { var, from, to, exit } => {
                    let row = *wave.row(from, &self.shared);
                    wave.rows[usize::from(var)] = row;
                    let active = wave.mask & below(&row, wave.row(to, &self.shared));
                    if active == 0 {
                        wave.at = exit;
                    } else {
                        wave.stack.push(wave.mask);
                        wave.mask = active;
                        wave.at += 1;
                    }
                }
                Op::LoopNext { var, to, step, body, charged } => {
                    if charged {
                        wave.time = port.serve(wave.time, self.loop_issue) + self.loop_latency.max(self.loop_issue);
                        self.instructions += 3;
                    }
                    let step = i32::try_from(step).unwrap_or(i32::MAX);
                    let row = &mut wave.rows[usize::from(var)];
                    row.iter_mut().for_each(|v| *v = (*v as i32).saturating_add(step) as u32);
                    let row = *row;
                    let active = wave.mask & below(&row, wave.row(to, &self.shared));
                    if active == 0 {
                        wave.mask = wave.returned()?;
                        wave.at += 1;
                    } else {
                        wave.mask = active;
                        wave.at = body;
                    }
                }
                Op::If { condition, otherwise } => {
                    wave.time = port.serve(wave.time, self.instruction) + self.branch.max(self.instruction);
                    self.instructions += 1;
                    let holds = alu::truth(wave.row(condition, &self.shared));
                    wave.stack.push(wave.mask);
                    wave.stack.push(wave.mask & !holds);
                    wave.mask &= holds;
                    wave.at = if wave.mask == 0 { otherwise } else { wave.at + 1 };
                }
                Op::Else { end } => {
                    let others = wave.returned()?;
                    wave.stack.push(others);
                    wave.mask = others;
                    wave.at = if wave.mask == 0 { end } else { wave.at + 1 };
                }
                Op::EndIf => {
                    wave.returned()?;
                    wave.mask = wave.returned()?;
                    wave.at += 1;
                }
                Op::Barrier => {
                    wave.at += 1;
                    self.meet(w);
                    return Ok(false);
                }
                Op::Fault(at) => return Err((wave.mask.trailing_zeros() as usize, code.faults[at as usize].clone())),
                Op::End => {
                    if !wave.stack.is_empty() {
                        return Err((0, FaultKind::Contradiction("a loop or branch does not end")));
                    }
                    self.finish(w);
                    return Ok(false);
                }
            }
            let now = self.waves[w].time;
            if self.queue.precedes(now) {
                return Ok(true);
            }
        }
    }
}

/// What an instruction set is chosen for: what is inlined into it works with all that the processor has.
struct Turns<'e, 'a, const W: usize>(&'e mut Engine<'a, W>);

impl<const W: usize> pulp::NullaryFnOnce for Turns<'_, '_, W> {
    type Output = Result<(), SimFault>;
    #[inline(always)]
    fn call(self) -> Self::Output {
        self.0.turns()
    }
}

/// Whether a step takes the wave's port.
fn issues(op: Op) -> bool {
    matches!(op, Op::Run { .. } | Op::Access(_) | Op::Lane(_) | Op::LoopNext { charged: true, .. } | Op::If { .. })
}

/// Lanes whose first number is smaller.
#[inline(always)]
fn below<const W: usize>(a: &Row<W>, b: &Row<W>) -> Mask {
    alu::which::<W>(|lane| (a[lane] as i32) < b[lane] as i32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{compile, demand, tensors};
    use std::collections::BTreeMap;
    use warpsight_ir::{Bindings, Checked, text};

    const TEXT: &str = "\
program nested {
  read write buffer x: f32[64]
  lanes l = 64
  {
    for n in 0 .. l unroll none {
      x[l] = x[l] * 3.0
    }
    if l < 7 {
      x[l] = 1.0
    } else {
      x[l] = 2.0
    }
  }
}
";

    /// Runs the program after `spoil` changed the steps it was compiled to.
    fn run(spoil: impl FnOnce(&mut Vec<Op>)) -> Result<Report, SimFault> {
        let program = Checked::new(text::parse(TEXT).expect("parses")).expect("valid");
        let silicon = Silicon::adreno640();
        let mut code = compile::compile(&program, &BTreeMap::new(), &silicon, compile::Purpose::Results).expect("compiles");
        spoil(&mut code.ops);
        let demand = demand::Demand::of(&program, &code, &silicon).expect("fits");
        let mut bindings = Bindings { data: vec![vec![0; 256]], ..Bindings::default() };
        let mut tensors = tensors::take(&program, &code.extents, &mut bindings, None, &silicon).expect("bound");
        let launch = LaunchOf { silicon: &silicon, program: &program, code: &code, demand: &demand };
        Engine::<64>::new(launch, Sampling::ALL, &mut Caches::new(&silicon), &mut tensors).run()
    }

    /// The step that `wanted` says becomes one that does nothing.
    fn without(wanted: fn(&Op) -> bool) -> Result<Report, SimFault> {
        run(|ops| {
            *ops.iter_mut().find(|op| wanted(op)).expect("such a step") =
                Op::Run { first: 0, count: 0, charged: 0, issue: 0, span: 0, float: 0 }
        })
    }

    fn contradiction(what: &'static str) -> SimFault {
        SimFault::Fault { kernel: "nested".into(), group: vec![], item: 0, what: Box::new(FaultKind::Contradiction(what)) }
    }

    #[test]
    fn masks_that_nobody_kept_are_no_empty_masks() {
        run(|_| {}).expect("it runs");
        let begin = contradiction("a loop or branch ends that did not begin");
        assert_eq!(without(|op| matches!(op, Op::LoopStart { .. })).expect_err("no loop"), begin);
        assert_eq!(without(|op| matches!(op, Op::If { .. })).expect_err("no branch"), begin);
        assert_eq!(
            begin.to_string(),
            "kernel `nested`, group [], work-item 0: the simulator contradicts itself: a loop or branch ends that did not begin"
        );
        let end = contradiction("a loop or branch does not end");
        assert_eq!(without(|op| matches!(op, Op::EndIf)).expect_err("no end"), end);
    }
}
