//! What is left of a shader when a driver's compiler has evaluated what it can.
//!
//! Drivers do not execute what glslang wrote: they inline functions, keep variables in registers, fold constants, unroll loops of
//! known length, compute equal things once and drop what nobody needs. What then costs time is found here by partial evaluation
//! (Jones, Gomard and Sestoft, Partial Evaluation and Automatic Program Generation): the interpreter's steps are executed once on
//! values that are either known words or nodes of a graph. Equal operations on equal operands are one node; the nodes that outputs
//! and decisions need are what is left.
//!
//! Loops are unrolled as Mesa does it: where they are simple, few turns are known to end them, and the copies have few operations;
//! loops around a loop that stays are not.

mod cells;
mod flow;
mod graph;
mod steps;
mod unroll;

use crate::cfg::Cfg;
use crate::features::{self, own};
use crate::interpret::compile::{Binding, Compiled};
use crate::interpret::step::Place;
use crate::interpret::{Inputs, Program};
use crate::module::Module;
use crate::trace::Trace;
use cells::Cells;
use graph::{FREE, Origin, ValueGraph};
use std::collections::{BTreeSet, HashMap, HashSet};

/// How many words of uniforms lavapipe makes constants (`MAX_INLINABLE_UNIFORMS`, Mesa 22.3).
pub const INLINED: usize = 4;
/// The most steps that are evaluated, over all inlined and unrolled copies, and the most nodes.
const MAX_STEPS: u64 = 1 << 20;
const MAX_NODES: usize = 1 << 20;
/// How deep loops and calls may nest.
const MAX_DEPTH: u32 = 96;

/// Operations that are left, each with how often it runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Lean {
    /// In the order in which they were met.
    pub work: Vec<Work>,
}

/// One operation that is left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    /// Which feature it is, as an index into [`features::names`].
    pub feature: usize,
    /// How many of it, in scalars.
    pub number: f64,
    /// How often it runs for each start of the shader, where loops that stay run as often as was said.
    pub times: f64,
    /// The block that it comes from.
    pub block: usize,
    /// The instruction that it comes from, as an index into [`Module::insts`], where it comes from one.
    pub inst: Option<usize>,
}

/// Why nothing is known: the shader is too large to be evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct GaveUp;

type Done<T = ()> = Result<T, GaveUp>;

impl Lean {
    /// Evaluates a shader. `turns` says how often the body of a loop runs each time the loop is entered, by its header's index.
    ///
    /// Nothing is left out where a shader is too large to be evaluated: there is no answer then.
    #[must_use]
    pub fn new(program: &Program, module: &Module, cfg: &Cfg, turns: impl Fn(usize) -> f64) -> Option<Self> {
        Some(Self::evaluated(program, module, cfg, &turns, &HashMap::new())?.0)
    }

    /// The same of a shader that was traced in a scene, as lavapipe compiles it when it is bound ([`Lean::bound`]).
    #[must_use]
    pub fn of(program: &Program, module: &Module, cfg: &Cfg, inputs: &Inputs, trace: &Trace) -> Option<Self> {
        let turns = trace.turns(cfg);
        Self::bound(program, module, cfg, inputs, |header| turns[header])
    }

    /// The same as lavapipe compiles it when it is bound: up to four words of uniforms that decide branches by themselves are
    /// constants in it, if that leaves at most half of it (Mesa 22.3, `update_inline_shader_state`).
    #[must_use]
    pub fn bound(program: &Program, module: &Module, cfg: &Cfg, inputs: &Inputs, turns: impl Fn(usize) -> f64) -> Option<Self> {
        let (open, deciding) = Self::evaluated(program, module, cfg, &turns, &HashMap::new())?;
        if deciding.is_empty() {
            return Some(open);
        }
        let words = program.uniforms(inputs);
        let known = deciding.into_iter().filter_map(|cell| Some((cell, *words.get(&cell)?))).collect();
        let (bound, _) = Self::evaluated(program, module, cfg, &turns, &known)?;
        Some(if 2 * bound.work.len() <= open.work.len() { bound } else { open })
    }

    /// What is left where some cells of uniforms are known, and the cells of those that decide branches.
    fn evaluated(
        program: &Program,
        module: &Module,
        cfg: &Cfg,
        turns: &impl Fn(usize) -> f64,
        known: &HashMap<u32, u32>,
    ) -> Option<(Self, BTreeSet<u32>)> {
        let turns = (0..cfg.blocks.len()).map(|b| if cfg.blocks[b].is_loop { turns(b).max(0.0) } else { 1.0 }).collect();
        let mut eval = Evaluation {
            program: &program.compiled,
            cfg,
            turns,
            costs: costs(module, cfg),
            module,
            known,
            uniforms: HashMap::new(),
            graph: ValueGraph::default(),
            addresses: flow::addresses(&program.compiled),
            constants: Constants {
                words: program.compiled.constants.iter().map(|(cell, _)| *cell).collect(),
                uniforms: program.compiled.slots.uniforms.iter().flat_map(Binding::cells).collect(),
            },
            rolled: HashSet::new(),
            calls: Vec::new(),
            joins: 0,
            unrolling: 0,
            operations: 0,
            steps: 0,
            depth: 0,
        };
        let lean = eval.shader().ok()?;
        Some((lean, eval.graph.deciding(&eval.uniforms, INLINED)))
    }

    /// The sums over all work of one weight for each operation, in the order of [`features::names`].
    #[must_use]
    pub fn features(&self, weight: impl Fn(&Work) -> f64) -> Vec<f64> {
        let mut out = vec![0.0; features::names().len()];
        for work in &self.work {
            let weight = weight(work);
            out[work.feature] += work.number * weight;
            out[own::INSTRUCTIONS] += weight;
        }
        out
    }
}

/// For each instruction the feature that it counts as, and how many.
fn costs(module: &Module, cfg: &Cfg) -> Vec<(usize, f64)> {
    let mut costs = vec![(FREE, 0.0); module.insts().len()];
    for block in &cfg.blocks {
        for at in block.insts.clone() {
            if let Ok(cost) = features::operation(module, &module.insts()[at]) {
                costs[at] = cost;
            }
        }
    }
    costs
}

/// Cells that no step writes.
struct Constants {
    words: HashSet<u32>,
    uniforms: HashSet<u32>,
}

/// A shader being evaluated.
struct Evaluation<'p> {
    program: &'p Compiled,
    cfg: &'p Cfg,
    module: &'p Module,
    turns: Vec<f64>,
    costs: Vec<(usize, f64)>,
    graph: ValueGraph,
    /// For each cell that holds addresses: from where they go on, and how far.
    addresses: HashMap<u32, Vec<(Place, u32)>>,
    constants: Constants,
    /// Words of uniforms that are known, by their cells.
    known: &'p HashMap<u32, u32>,
    /// The cells of the nodes of the others.
    uniforms: HashMap<u32, u32>,
    /// Loops that stay: by the calls that lead to them, and their headers.
    rolled: HashSet<(Vec<u32>, usize)>,
    /// The instructions that called what is being evaluated.
    calls: Vec<u32>,
    /// How often states have met.
    joins: u32,
    /// How many attempts to unroll are open.
    unrolling: u32,
    /// Operations so far, as the limit of unrolling counts them.
    operations: u64,
    steps: u64,
    depth: u32,
}

impl Evaluation<'_> {
    fn shader(&mut self) -> Done<Lean> {
        let program = self.program;
        let mut cells = Cells::new(program.cells as usize + 1);
        for (cell, word) in &program.constants {
            cells.set(*cell, self.graph.known(*word));
        }
        let start = Origin { block: 0, inst: None, times: 1.0 };
        for step in program.prelude.iter().chain(&program.reset) {
            self.step(step, &mut cells, start, 1.0)?;
        }
        self.inputs(&mut cells);
        let mut exits = self.flow(self.cfg.functions[0].blocks.clone(), false, cells, 1.0)?;
        if let Some(end) = exits.remove(&flow::RETURN) {
            let depth = program.slots.depth;
            for cell in program.slots.outputs.iter().map(|o| o.cell).chain(depth) {
                self.graph.need(end.get(cell));
            }
        }
        Ok(Lean { work: self.graph.work() })
    }

    /// What comes from outside is not known when a shader is compiled.
    fn inputs(&mut self, cells: &mut Cells) {
        use crate::module::spirv::BuiltIn;
        let slots = &self.program.slots;
        let origin = Origin { block: 0, inst: None, times: 1.0 };
        for cell in slots.uniforms.iter().flat_map(Binding::cells) {
            let node = match self.known.get(&cell) {
                Some(word) => self.graph.known(*word),
                None => self.graph.leaf(own::UNIFORM, origin),
            };
            self.uniforms.insert(node, cell);
            cells.set(cell, node);
        }
        let mut leaf = |cell: u32, feature: usize| {
            let node = self.graph.leaf(feature, origin);
            cells.set(cell, node);
        };
        slots.buffers.iter().for_each(|buffer| leaf(buffer.cell, FREE));
        for handle in &slots.handles {
            (0..handle.count).for_each(|i| leaf(handle.cell + i, FREE));
        }
        for (builtin, cell) in &slots.builtins {
            let n = match builtin {
                BuiltIn::FragCoord => 4,
                BuiltIn::PointCoord | BuiltIn::SamplePosition => 2,
                _ => 1,
            };
            (0..n).for_each(|i| leaf(cell + i, own::INPUT));
        }
        slots.varyings.iter().for_each(|field| leaf(field.cell, own::INPUT));
    }
}
