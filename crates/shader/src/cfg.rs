//! Reachable basic blocks in a fixed order.
//!
//! The blocks of every function that the entry point may call, each function's in *structured order*: a block stands before what it
//! branches to (but for back edges), and the merge block of a selection or loop stands after all blocks of it. Functions follow in
//! the order in which their calls are met. An index into [`Cfg::blocks`] is the name of a block for traces and features.

use super::module::{Id, Module, ModuleError, Op, Operand, operands};
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// The deepest chain of calls that is accepted.
const MAX_CALLS: usize = 128;

/// The most reachable blocks that are accepted: counts are kept for each of them.
const MAX_BLOCKS: usize = 1 << 16;

/// A reachable basic block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its label.
    pub label: Id,
    /// Its function, as an index into [`Cfg::functions`].
    pub function: usize,
    /// Its instructions without the label, as indices into [`Module::insts`]; the last one is the terminator.
    pub insts: Range<usize>,
    /// Where it may branch to, as indices into [`Cfg::blocks`]; each once, in the order of the terminator.
    pub successors: Vec<usize>,
    /// Where the selection or loop that it heads ends, if that is reachable.
    pub merge: Option<usize>,
    /// Whether it heads a loop.
    pub is_loop: bool,
    /// In how many loops of its function it lies.
    pub loops: u32,
    /// The header of the innermost of them; a header is in its own loop.
    pub header: Option<usize>,
    /// For a header, that of the loop around its own.
    pub outer: Option<usize>,
    /// What it calls, as indices into [`Cfg::functions`]; once for each call.
    pub calls: Vec<usize>,
}

/// A function that the entry point may call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its index into [`Module::functions`].
    pub function: usize,
    /// Its blocks; the first is the entry.
    pub blocks: Range<usize>,
    /// What it calls directly, as indices into [`Cfg::functions`].
    pub calls: Vec<usize>,
}

/// The control flow of a shader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cfg {
    /// Reachable blocks.
    pub blocks: Vec<Block>,
    /// Reachable functions; the first is the entry point.
    pub functions: Vec<Function>,
    /// The functions as indices, each after all that call it.
    pub callers_first: Vec<usize>,
}

impl Cfg {
    /// The control flow of a module.
    ///
    /// # Errors
    /// [`ModuleError::Structure`] for branches out of the function and for recursion, [`ModuleError::Undefined`] for calls of
    /// functions that are not there.
    pub fn new(module: &Module) -> Result<Self, ModuleError> {
        let by_id: HashMap<Id, usize> = module.functions.iter().enumerate().map(|(i, f)| (f.id, i)).collect();
        let mut cfg = Self { blocks: Vec::new(), functions: Vec::new(), callers_first: Vec::new() };
        let mut queue = vec![module.entry];
        let mut seen = HashMap::from([(module.entry, 0)]);
        while let Some(&function) = queue.get(cfg.functions.len()) {
            let mut blocks = blocks(module, function, cfg.functions.len(), cfg.blocks.len())?;
            let (mut calls, mut called) = (Vec::new(), HashSet::new());
            for block in &mut blocks {
                for inst in module.insts()[block.insts.clone()].iter().filter(|i| i.op == Op::FunctionCall) {
                    let id = module.args(inst)[0];
                    let callee = *by_id.get(&id).ok_or(ModuleError::Undefined { id })?;
                    let index = *seen.entry(callee).or_insert_with(|| {
                        queue.push(callee);
                        queue.len() - 1
                    });
                    block.calls.push(index);
                    if called.insert(index) {
                        calls.push(index);
                    }
                }
            }
            let start = cfg.blocks.len();
            cfg.blocks.extend(blocks);
            if cfg.blocks.len() > MAX_BLOCKS {
                return Err(ModuleError::Unsupported { what: "more than 65536 blocks" });
            }
            cfg.functions.push(Function { function, blocks: start..cfg.blocks.len(), calls });
        }
        cfg.callers_first = cfg.sorted()?;
        Ok(cfg)
    }

    /// Kahn's algorithm over the calls: what is left over calls itself.
    fn sorted(&self) -> Result<Vec<usize>, ModuleError> {
        let mut callers = vec![0usize; self.functions.len()];
        self.functions.iter().flat_map(|f| &f.calls).for_each(|c| callers[*c] += 1);
        let mut depth = vec![1usize; self.functions.len()];
        let mut ready: Vec<usize> = (0..callers.len()).filter(|f| callers[*f] == 0).collect();
        let mut order = Vec::with_capacity(callers.len());
        while let Some(function) = ready.pop() {
            order.push(function);
            for &callee in &self.functions[function].calls {
                depth[callee] = depth[callee].max(depth[function] + 1);
                callers[callee] -= 1;
                if callers[callee] == 0 {
                    ready.push(callee);
                }
            }
        }
        let deepest = depth.iter().max().copied().unwrap_or(0);
        match (order.len() == self.functions.len(), deepest > MAX_CALLS) {
            (false, _) => Err(ModuleError::Structure { at: 0, what: "a function calls itself" }),
            (_, true) => Err(ModuleError::Unsupported { what: "calls nested more than 128 deep" }),
            _ => Ok(order),
        }
    }
}

/// The labels that a terminator names, in its order.
pub(super) fn targets(module: &Module, inst: &super::module::Inst) -> Vec<Id> {
    let args = module.args(inst);
    match inst.op {
        Op::Branch => vec![args[0]],
        Op::BranchConditional => args[1..3].to_vec(),
        Op::Switch => {
            let ids = operands(module, inst).into_iter().skip(1);
            ids.filter_map(|o| if let Operand::Id(id) = o { Some(id) } else { None }).collect()
        }
        _ => Vec::new(),
    }
}

/// A block while it is ordered; indices are into the function's blocks as they stand in the module.
struct Draft {
    successors: Vec<usize>,
    merge: Option<usize>,
    carry_on: Option<usize>,
}

fn blocks(module: &Module, function: usize, number: usize, base: usize) -> Result<Vec<Block>, ModuleError> {
    let source = &module.functions[function].blocks;
    let by_label: HashMap<Id, usize> = source.iter().enumerate().map(|(i, b)| (b.label, i)).collect();
    let find = |id: Id| by_label.get(&id).copied().ok_or(ModuleError::Undefined { id });
    let mut drafts = Vec::with_capacity(source.len());
    for block in source {
        let insts = &module.insts()[block.insts.clone()];
        let (mut successors, mut named) = (Vec::new(), HashSet::new());
        // A block has at least its terminator.
        for target in insts.last().map(|last| targets(module, last)).unwrap_or_default() {
            let target = find(target)?;
            if named.insert(target) {
                successors.push(target);
            }
        }
        let merge = insts.iter().find(|i| matches!(i.op, Op::LoopMerge | Op::SelectionMerge));
        let carry_on = merge.filter(|i| i.op == Op::LoopMerge).map(|i| find(module.args(i)[1])).transpose()?;
        let merge = merge.map(|i| find(module.args(i)[0])).transpose()?;
        drafts.push(Draft { successors, merge, carry_on });
    }
    let order = order(&drafts);
    let mut index = vec![None; drafts.len()];
    order.iter().enumerate().for_each(|(new, old)| index[*old] = Some(base + new));
    let mut out: Vec<Block> = Vec::with_capacity(order.len());
    for &old in &order {
        let draft = &drafts[old];
        out.push(Block {
            label: source[old].label,
            function: number,
            insts: source[old].insts.clone(),
            successors: draft.successors.iter().filter_map(|s| index[*s]).collect(),
            merge: draft.merge.and_then(|m| index[m]),
            is_loop: draft.carry_on.is_some(),
            loops: 0,
            header: None,
            outer: None,
            calls: Vec::new(),
        });
    }
    mark_loops(&mut out, base, &drafts, &order, &index);
    Ok(out)
}

/// Reverse postorder of a depth-first search that meets the merge block first, then the continue target, then the branches from the
/// last to the first. Blocks that are only named by a merge are dropped, the rest keeps its order.
fn order(drafts: &[Draft]) -> Vec<usize> {
    let mut reachable = vec![false; drafts.len()];
    let mut stack = vec![0];
    while let Some(at) = stack.pop() {
        if !std::mem::replace(&mut reachable[at], true) {
            stack.extend(&drafts[at].successors);
        }
    }
    let visits = |at: usize| -> Vec<usize> {
        // Taken from the end.
        let draft: &Draft = &drafts[at];
        draft.successors.iter().copied().chain(draft.carry_on).chain(draft.merge).collect()
    };
    let (mut seen, mut order) = (vec![false; drafts.len()], Vec::new());
    let mut path = vec![(0, visits(0))];
    seen[0] = true;
    while let Some((at, left)) = path.last_mut() {
        match left.pop() {
            Some(to) => {
                if !std::mem::replace(&mut seen[to], true) {
                    path.push((to, visits(to)));
                }
            }
            None => {
                order.push(*at);
                path.pop();
            }
        }
    }
    order.reverse();
    order.retain(|at| reachable[*at]);
    order
}

/// In structured order a loop is what stands between its header and its merge block.
fn mark_loops(out: &mut [Block], base: usize, drafts: &[Draft], order: &[usize], index: &[Option<usize>]) {
    // Open loops, from the outermost: header and end. Where a hostile module's loops cross, the inner one ends with the outer.
    let mut open: Vec<(usize, usize)> = Vec::new();
    for (new, old) in order.iter().enumerate() {
        open.retain(|(_, end)| *end > new);
        if drafts[*old].carry_on.is_some() {
            let end = drafts[*old].merge.and_then(|m| index[m]).map_or(out.len(), |m| m - base);
            if end > new {
                out[new].outer = open.last().map(|(header, _)| base + header);
                open.push((new, end));
            }
        }
        out[new].loops = u32::try_from(open.len()).unwrap_or(u32::MAX);
        out[new].header = open.last().map(|(header, _)| base + header);
    }
}
