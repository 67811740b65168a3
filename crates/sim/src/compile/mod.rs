//! A Program with its sizes known becomes [`Code`]. What a driver's compiler does that changes the time is done here too: constants are
//! folded, equal values computed once, invariant ones before the loop, unrolled loops copied, loads moved up.

mod build;
mod expr;
mod flatten;
mod registers;
mod schedule;
mod slice;
mod stmt;

use crate::code::{Access, Alu, Code, FaultKind, LanePick, Wide};
use crate::fault::SimFault;
use crate::silicon::Silicon;
use std::collections::BTreeMap;
use warpsight_ir::{Name, Program};

/// A row before places are given out.
pub(crate) type Value = u32;

/// A piece of a body, in order.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    Alu(Alu<Value>),
    Wide(Wide<Value>),
    Lane(LanePick<Value>),
    Access(Access<Value>),
    Loop { var: Value, from: Value, to: Value, step: u32, charged: bool, body: Vec<Node> },
    If { condition: Value, then: Vec<Node>, otherwise: Vec<Node> },
    Barrier,
    Fault(FaultKind),
}

/// What is known of a [`Value`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Info {
    /// Depth of the block that computes it (of a variable: where it last changed).
    pub depth: u32,
    /// The bits it has in every lane of every wave.
    pub constant: Option<u32>,
    /// Whether all lanes of a wave hold the same.
    pub uniform: bool,
    /// Whether assignments change it.
    pub mutable: bool,
    /// Counts its changes.
    pub version: u32,
    /// Whether a load may write it.
    pub loaded: bool,
}

/// The parts of a compiled Program before placement.
pub(crate) struct Tree {
    pub body: Vec<Node>,
    pub infos: Vec<Info>,
    /// Values `0 .. pinned` are private arrays and keep their places.
    pub pinned: u32,
    pub group_axes: Vec<Value>,
    pub lane_axes: Vec<Value>,
    pub groups: Vec<u32>,
    pub extents: Vec<Vec<u32>>,
    pub local_bytes: usize,
}

/// What a launch is compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Results, and how long they take.
    Results,
    /// How long it takes: only what addresses and control need is computed, everything else is charged.
    Time,
}

/// How far a compiler goes to hide latency, at the cost of registers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// Whether what was loaded before is not loaded again.
    pub keep_loaded: bool,
    /// Rows that may be under way at once, ahead of arithmetic.
    pub under_way: usize,
}

/// From what hides most to what takes the fewest registers; 64 rows are 16 vectors of four.
const EFFORTS: [Effort; 5] = [
    Effort { keep_loaded: true, under_way: 64 },
    Effort { keep_loaded: true, under_way: 16 },
    Effort { keep_loaded: true, under_way: 0 },
    Effort { keep_loaded: false, under_way: 16 },
    Effort { keep_loaded: false, under_way: 0 },
];

/// Compiles a Program for the given sizes, with the first effort that spills nothing, or that which spills least.
pub fn compile(program: &Program, sizes: &BTreeMap<Name, i64>, silicon: &Silicon, purpose: Purpose) -> Result<Code, SimFault> {
    let most = silicon.residency.max_registers.unwrap_or(u32::MAX).saturating_sub(silicon.core.own_registers);
    let [first, others @ ..] = EFFORTS;
    let mut best = compiled(program, sizes, silicon, purpose, first)?;
    for effort in others {
        if best.registers <= most {
            break;
        }
        let code = compiled(program, sizes, silicon, purpose, effort)?;
        if code.registers < best.registers {
            best = code;
        }
    }
    Ok(best)
}

fn compiled(program: &Program, sizes: &BTreeMap<Name, i64>, silicon: &Silicon, purpose: Purpose, effort: Effort) -> Result<Code, SimFault> {
    let mut tree = build::build(program, sizes, effort.keep_loaded)?;
    schedule::hoist_loads(&mut tree, effort.under_way);
    let needed = match purpose {
        Purpose::Results => None,
        Purpose::Time => {
            let data = |tensor| SimFault::NeedsData { kernel: program.name.clone(), tensor };
            Some(slice::needed(&tree).map_err(data)?)
        }
    };
    flatten::flatten(&tree, silicon, needed.as_deref()).map_err(|what| SimFault::Unsupported { kernel: program.name.clone(), what })
}

impl Node {
    /// Calls `f` with every value this node itself reads, a variable it merges into included; blocks inside are left out.
    pub fn reads(&self, mut f: impl FnMut(Value)) {
        use crate::code::{AluOp, HalfOp};
        match self {
            Self::Alu(alu) => {
                f(alu.a);
                match alu.op {
                    AluOp::Binary(..) | AluOp::Half { op: HalfOp::Binary(_), .. } => f(alu.b),
                    AluOp::Fma | AluOp::Select | AluOp::Half { op: HalfOp::Fma, .. } => {
                        f(alu.b);
                        f(alu.c);
                    }
                    AluOp::Merge => f(alu.dst),
                    _ => {}
                }
            }
            Self::Wide(wide) => wide.args.iter().flatten().for_each(|&v| f(v)),
            Self::Lane(pick) => pick.from.iter().chain([&pick.lane]).for_each(|&v| f(v)),
            Self::Access(access) => {
                f(access.offset);
                access.coords.iter().for_each(|&(v, _)| f(v));
                access.guard.iter().chain(&access.operands).for_each(|&v| f(v));
                if access.action == crate::code::Action::Store {
                    access.values.iter().for_each(|&v| f(v));
                }
            }
            Self::Loop { from, to, .. } => {
                f(*from);
                f(*to);
            }
            Self::If { condition, .. } => f(*condition),
            Self::Barrier | Self::Fault(_) => {}
        }
    }

    /// Calls `f` with every value this node itself writes.
    pub fn writes(&self, mut f: impl FnMut(Value)) {
        match self {
            Self::Alu(alu) => f(alu.dst),
            Self::Wide(wide) => wide.dst.iter().for_each(|&v| f(v)),
            Self::Lane(pick) => pick.dst.iter().for_each(|&v| f(v)),
            Self::Access(access) if access.action != crate::code::Action::Store => access.values.iter().for_each(|&v| f(v)),
            _ => {}
        }
    }

    /// The blocks inside.
    pub fn blocks(&self) -> impl Iterator<Item = &Vec<Node>> {
        match self {
            Self::Loop { body, .. } => [Some(body), None],
            Self::If { then, otherwise, .. } => [Some(then), Some(otherwise)],
            _ => [None, None],
        }
        .into_iter()
        .flatten()
    }
}
