//! What launches cost: chains of them by every way of submission, blocks that do nothing, and barriers across the whole grid.
//!
//! `pass_times / launches` of a chain is the result: gaps between kernels included. A chain adds `y` to `x` launch after launch, so a
//! launch that is lost, repeated, or begins before the one before has written shows in `x`: `x` is read after the first pass, which is
//! handed over launch by launch, and after all timed ones, which are handed over as the measurement says.
//!
//! # Size of the full plan on a GPU of 132 multiprocessors
//!
//! 104 measurements of 4 Programs and 5 texts. The longest, a thousand launches twenty times at 40 µs at worst, takes 0.8 s, a graph of them
//! 30 ms; all together, by estimate, below 10 s: nobody has timed them on such a GPU.

use super::queues::text::{SPINS, TINY_SPINS, Text, part};
use super::queues::{LINE, always, buffer, capability, no_alarm, parameters, same, words};
use crate::{Amounts, Check, Context, Measurement, Needs, Parameter, Phase, Plan, Scale};
use warpsight_ir::{Program, Scalar, text};
use warpsight_run::{CacheState, Code, Init, Job, LaunchSpec, MemorySpec, Submit, TimingSpec, init};

/// The phases of this module.
pub(super) fn phases() -> Vec<Phase> {
    vec![Phase {
        name: "launches",
        purpose: "what a launch costs, alone, in a graph and with programmatic dependence; what blocks and grid barriers cost",
        needs: Needs::CudaText,
        share: 0.6,
        plan,
    }]
}

/// Nothing, in so many groups of 32, 256 or 1024.
const EMPTY: &str = "program empty { size n in 1..=1048576 groups g = n lanes l = LANES { } }";

/// Adds y to x, 16 Ki elements.
const ADD: &str = "program add {
  read write buffer x: u32[16384]
  read buffer y: u32[16384]
  groups g = 64
  lanes l = 256
  {
    let i = g * 256 + l
    x[i] = x[i] + y[i]
  }
}";

const ELEMENTS: u32 = 16384;
const THREADS: u32 = 256;

fn program(text: &str) -> Program {
    text::parse(text).expect("texts of this file, parsed by its tests")
}

fn empty(lanes: u32) -> Code {
    program(&EMPTY.replace("LANES", &lanes.to_string())).into()
}

/// Chains first: they say most.
fn plan(context: &Context) -> Plan {
    let (scale, seed) = (context.scale, context.seed);
    let dependent = capability(context).is_some_and(|capability| capability >= 90);
    let tiny = scale == Scale::Tiny;
    let lengths: &[usize] = if tiny { &[1, 3] } else { &[1000, 1, 100, 10] };
    let mut submits = vec![Submit::Graph, Submit::Eager];
    if dependent {
        submits.extend([Submit::ProgrammaticGraph, Submit::Programmatic]);
    }
    let chains = lengths.iter().flat_map(move |&length| {
        submits.clone().into_iter().flat_map(move |submit| {
            Kernel::all()
                .into_iter()
                .filter(move |kernel| kernel.takes(submit))
                .map(move |kernel| chain(kernel, length, submit, scale, seed))
        })
    });
    let numbers: &[u32] = if tiny { &[1, 64] } else { &[1, 4, 16, 64, 256, 1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20] };
    let lanes: &[u32] = if tiny { &[32] } else { &[32, 256, 1024] };
    let blocks = numbers.iter().flat_map(move |&number| lanes.iter().map(move |&lanes| blocks(number, lanes, scale)));
    let barriers = barriers(context);
    Plan::list(chains.chain(blocks).chain(barriers))
}

/// What a chain launches.
#[derive(Clone, Copy, PartialEq)]
enum Kernel {
    /// A Program that does nothing.
    Empty,
    /// A Program that adds.
    Add,
    /// CUDA text that waits for the launch before by itself and adds `elements`.
    Dependent {
        /// 0 for none.
        elements: u32,
    },
}

impl Kernel {
    fn all() -> [Self; 4] {
        [Self::Dependent { elements: ELEMENTS }, Self::Add, Self::Empty, Self::Dependent { elements: 0 }]
    }
    /// A Program does not wait for the launch before: where launches overlap it may only do nothing.
    fn takes(self, submit: Submit) -> bool {
        self != Self::Add || matches!(submit, Submit::Eager | Submit::Graph)
    }
    fn name(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Add => "add",
            Self::Dependent { elements: 0 } => "waiting empty",
            Self::Dependent { .. } => "waiting add",
        }
    }
    fn elements(self) -> u32 {
        match self {
            Self::Empty => 0,
            Self::Add => ELEMENTS,
            Self::Dependent { elements } => elements,
        }
    }
    fn code(self) -> Code {
        match self {
            Self::Empty => empty(32),
            Self::Add => program(ADD).into(),
            Self::Dependent { elements } => {
                let text = Text::new("chain", &[include_str!("queues/chain.cu")]).constant("kElements", elements);
                Code::Cuda(text.launch(elements.div_ceil(THREADS).max(1), if elements == 0 { 32 } else { THREADS }))
            }
        }
    }
}

fn word(submit: Submit) -> &'static str {
    match submit {
        Submit::Eager => "eager",
        Submit::Graph => "graph",
        Submit::Programmatic => "programmatic",
        Submit::ProgrammaticGraph => "programmatic graph",
    }
}

/// So many launches, each after the other.
fn chain(kernel: Kernel, length: usize, submit: Submit, scale: Scale, seed: u64) -> Measurement {
    let bytes = u64::from(ELEMENTS) * 4;
    let random = |seed| buffer(bytes, Init::Random { element: Scalar::U32, seed });
    let (args, sizes) = match kernel {
        Kernel::Empty => (vec![], vec![1]),
        Kernel::Add | Kernel::Dependent { .. } => (vec![0, 1], vec![]),
    };
    let runs = if scale == Scale::Tiny { 2 } else { 20 };
    let job = Job {
        programs: vec![kernel.code()],
        memory: vec![random(seed), random(seed + 1)],
        launches: vec![LaunchSpec { program: 0, args, sizes }; length],
        read: vec![0],
        peek: vec![],
        timing: Some(TimingSpec { runs, submit, cache: CacheState::Warm }),
    };
    let adds = if kernel.elements() == 0 { 0 } else { length as u64 };
    let check: Check = Box::new(move |result| {
        let value = |seed, i| (init::random(seed, i) * f64::from(1 << 20)) as i32 as u32;
        let sums = |passes: u64| {
            let times = adds.wrapping_mul(passes) as u32;
            (0..ELEMENTS.into()).map(|i| value(seed, i).wrapping_add(value(seed + 1, i).wrapping_mul(times))).collect::<Vec<_>>()
        };
        same(&words(&result.read, 0)?, &sums(1))?;
        let after = result.after.as_ref().ok_or("memory was not read after the timed passes")?;
        same(&words(&after.read, 0)?, &sums(after.passes)).map_err(|what| format!("after all {} passes, {what}", after.passes))?;
        passes(result, runs)
    });
    let mut params = parameters(&[("launches", length as u32), ("elements", kernel.elements())]);
    params.insert("kernel".into(), Parameter::Word(kernel.name().into()));
    params.insert("submit".into(), Parameter::Word(word(submit).into()));
    Measurement {
        name: format!("{length} × {}, {}", kernel.name(), word(submit)),
        params,
        job,
        launch: 0,
        amounts: Amounts { bytes: 12.0 * f64::from(kernel.elements()), steps: length as f64, ..Amounts::default() },
        check,
    }
}

/// Every pass was timed.
fn passes(result: &warpsight_run::JobResult, runs: u32) -> Result<(), String> {
    match result.timed.pass_times.len() {
        timed if timed == runs as usize => Ok(()),
        timed => Err(format!("{timed} passes were timed instead of {runs}")),
    }
}

/// One launch of so many blocks that do nothing.
fn blocks(number: u32, lanes: u32, scale: Scale) -> Measurement {
    let runs = if scale == Scale::Tiny { 1 } else { 10 };
    let job = Job {
        programs: vec![empty(lanes)],
        launches: vec![LaunchSpec { program: 0, args: vec![], sizes: vec![number.into()] }],
        timing: Some(TimingSpec::runs(runs)),
        ..Job::default()
    };
    Measurement {
        name: format!("{number} empty blocks of {lanes}"),
        params: parameters(&[("blocks", number), ("threads", lanes)]),
        job,
        launch: 0,
        amounts: Amounts { steps: number.into(), ..Amounts::default() },
        check: Box::new(move |result| passes(result, runs)),
    }
}

/// Cooperative launches whose blocks meet so often; none for what the launch alone costs.
fn barriers(context: &Context) -> Vec<Measurement> {
    let (scale, units) = (context.scale, context.units());
    let (mut grids, rounds): (_, &[u32]) = match scale {
        Scale::Tiny => (vec![units.min(3)], &[0, 5]),
        // 128 threads without much shared memory: more than four blocks fit a multiprocessor of any GPU with cooperative launches.
        Scale::Full | Scale::Quick => (vec![units, 4 * units, 2 * units, units.div_ceil(2), 1], &[0, 1, 100]),
    };
    grids.dedup();
    grids.iter().flat_map(|&blocks| rounds.iter().map(move |&rounds| barrier(blocks, rounds, scale))).collect()
}

fn barrier(blocks: u32, rounds: u32, scale: Scale) -> Measurement {
    let spins = if scale == Scale::Tiny { TINY_SPINS } else { SPINS };
    let mut text = Text::new("grid_barrier", &[part::WATCHDOG, include_str!("queues/grid_barrier.cu")])
        .constant("kRounds", rounds)
        .constant("kSpins", spins)
        .launch(blocks, 128);
    text.dynamic_shared = 8;
    text.cooperative = true;
    let memory: Vec<MemorySpec> =
        vec![buffer(u64::from(blocks) * LINE, Init::Zero), buffer(3 * LINE, Init::Zero), buffer(u64::from(blocks) * 4, Init::Poison)];
    let job = Job {
        programs: vec![Code::Cuda(text)],
        memory,
        launches: vec![LaunchSpec { program: 0, args: vec![0, 1, 2], sizes: vec![] }],
        read: vec![1, 2],
        peek: vec![],
        timing: Some(TimingSpec::runs(if scale == Scale::Tiny { 1 } else { 10 })),
    };
    Measurement {
        name: format!("{rounds} grid barriers of {blocks} blocks"),
        params: parameters(&[("blocks", blocks), ("rounds", rounds), ("threads", 128)]),
        job,
        launch: 0,
        amounts: Amounts { steps: rounds.into(), ..Amounts::default() },
        check: always(move |read| {
            no_alarm(&words(read, 0)?)?;
            same(&words(read, 1)?, &vec![rounds; blocks as usize])
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_valid() {
        for lanes in [32, 256, 1024] {
            warpsight_ir::Checked::new(program(&EMPTY.replace("LANES", &lanes.to_string()))).unwrap();
        }
        warpsight_ir::Checked::new(program(ADD)).unwrap();
    }
}
