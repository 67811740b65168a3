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

/// Compiles a Program for the given sizes.
pub fn compile(program: &Program, sizes: &BTreeMap<Name, i64>, silicon: &Silicon, purpose: Purpose) -> Result<Code, SimFault> {
    let mut tree = build::build(program, sizes)?;
    schedule::hoist_loads(&mut tree);
    let needed = match purpose {
        Purpose::Results => None,
        Purpose::Time => {
            let data = |tensor| SimFault::NeedsData { kernel: program.name.clone(), tensor };
            Some(slice::needed(&tree).map_err(data)?)
        }
    };
    let flat = |tree: &Tree| {
        flatten::flatten(tree, silicon, needed.as_deref()).map_err(|what| SimFault::Unsupported { kernel: program.name.clone(), what })
    };
    let code = flat(&tree)?;
    // Loads that wait for registers do not help: then they stay where they were written.
    let most = silicon.residency.max_registers.unwrap_or(u32::MAX).saturating_sub(silicon.core.own_registers);
    if code.registers <= most {
        return Ok(code);
    }
    let slower = flat(&build::build(program, sizes)?)?;
    Ok(if slower.registers < code.registers { slower } else { code })
}

impl Node {
    /// Calls `f` with every value this node itself reads, a variable it merges into included; blocks inside are left out.
    pub fn reads(&self, mut f: impl FnMut(Value)) {
        use crate::code::AluOp;
        match self {
            Self::Alu(alu) => {
                f(alu.a);
                match alu.op {
                    AluOp::Binary(..) => f(alu.b),
                    AluOp::Fma | AluOp::Select => {
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
