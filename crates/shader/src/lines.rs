//! Which source lines a frame's cost comes from.
//!
//! An additive model gives every operation a cost; a trace says how often it runs. Their products, summed by the lines that
//! `OpLine` (or `DebugLine`) names, are what each line costs: of the operations that it became in this module ([`executed`]), or of those of them
//! that a driver's compiler leaves ([`left`]).

use super::cfg::Cfg;
use super::features::{BLOCK, instruction};
use super::lean::{Lean, Work};
use super::module::{Id, Module, ModuleError, Op, literal};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// A line of a source file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The file as the module names it; empty where it has no name.
    pub file: Arc<str>,
    /// The line, from 1.
    pub line: u32,
}

/// What a line costs.
#[derive(Clone, Debug, PartialEq)]
pub struct LineCost {
    /// Where it stands.
    pub place: Place,
    /// Its cost, in the unit of the weights.
    pub cost: f64,
}

/// What a basic block costs.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockCost {
    /// The file that its first known line stands in, and the first and last line of it there.
    pub lines: Option<(Place, u32)>,
    /// Its cost, in the unit of the weights.
    pub cost: f64,
}

/// What the parts of a shader cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Costs {
    /// Every block of the control flow, in its order.
    pub blocks: Vec<BlockCost>,
    /// Every line that has something to do, the costliest first.
    pub lines: Vec<LineCost>,
    /// The cost of instructions that no line is known for: all of it where the module has no lines.
    pub unplaced: f64,
    /// The sum over all blocks.
    pub total: f64,
}

/// Something that costs, and where it comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Item {
    /// The block.
    pub block: usize,
    /// The instruction, as an index into [`Module::insts`], where it comes from one.
    pub inst: Option<usize>,
    /// Which feature it is, as an index into [`super::features::names`].
    pub feature: usize,
    /// How many of it a frame has.
    pub number: f64,
}

/// What a frame executes of a module as it stands, where `counts` says how often each block runs.
///
/// # Errors
/// [`ModuleError`] where a type or an id is missing.
pub fn executed(module: &Module, cfg: &Cfg, counts: &[f64]) -> Result<Vec<Item>, ModuleError> {
    let mut items = Vec::new();
    for ((index, block), count) in cfg.blocks.iter().enumerate().zip(counts) {
        for at in block.insts.clone() {
            let own = instruction(module, &module.insts()[at])?;
            items.extend(own.map(|(feature, number)| Item { block: index, inst: Some(at), feature, number: number * count }));
        }
        // To go on to a block is a terminator's work.
        items.push(Item { block: index, inst: block.insts.clone().last(), feature: BLOCK, number: *count });
    }
    Ok(items)
}

/// What a frame executes of what a driver's compiler leaves of a module, where the shader starts so often.
#[must_use]
pub fn left(lean: &Lean, starts: f64) -> Vec<Item> {
    let item = |work: &Work| Item { block: work.block, inst: work.inst, feature: work.feature, number: work.number * work.times * starts };
    lean.work.iter().map(item).collect()
}

/// What blocks and lines cost, where `weights` says what one of each feature costs, in the order of [`super::features::names`]. A
/// missing weight is 0, and so is one that is negative or no number: nothing saves time by being executed.
#[must_use]
pub fn costs(module: &Module, cfg: &Cfg, items: &[Item], weights: &[f64]) -> Costs {
    let files = Files::new(module);
    let weight = |feature: usize| weights.get(feature).copied().filter(|w| w.is_finite() && *w > 0.0).unwrap_or(0.0);
    let mut blocks = vec![BlockCost { lines: None, cost: 0.0 }; cfg.blocks.len()];
    for (block, own) in cfg.blocks.iter().zip(&mut blocks) {
        for at in block.insts.clone() {
            let inst = &module.insts()[at];
            let debug = matches!(inst.op, Op::Line | Op::NoLine);
            let Some(place) = files.place(at, inst.line).filter(|_| !debug) else { continue };
            match &mut own.lines {
                None => own.lines = Some((place.clone(), place.line)),
                Some((first, end)) if first.file == place.file => {
                    first.line = first.line.min(place.line);
                    *end = (*end).max(place.line);
                }
                Some(_) => {}
            }
        }
    }
    let mut unplaced = 0.0;
    let mut lines = BTreeMap::<Place, f64>::new();
    for item in items {
        let cost = item.number * weight(item.feature);
        if let Some(block) = blocks.get_mut(item.block) {
            block.cost += cost;
        }
        let line = item.inst.and_then(|at| files.place(at, module.insts().get(at)?.line));
        match line {
            Some(place) => *lines.entry(place).or_default() += cost,
            None => unplaced += cost,
        }
    }
    let mut lines: Vec<LineCost> = lines.into_iter().map(|(place, cost)| LineCost { place, cost }).collect();
    // Stable: what costs the same stays in the order of the source.
    lines.sort_by(|a, b| b.cost.total_cmp(&a.cost));
    let total = blocks.iter().map(|b| b.cost).sum();
    Costs { blocks, lines, unplaced, total }
}

/// The text of lines, as the module's `OpSource` or `DebugSource` has it. `#line` is followed; of lines of the same number the last one counts, since
/// what a compiler or a wrapper puts before a source is numbered before it.
#[must_use]
pub fn texts<'p>(module: &Module, places: impl IntoIterator<Item = &'p Place>) -> BTreeMap<Place, String> {
    let wanted: BTreeSet<&Place> = places.into_iter().collect();
    let files = Files::new(module);
    let mut sources: Vec<(Arc<str>, String)> = Vec::new();
    for inst in module.insts() {
        let args = module.args(inst);
        match (inst.op, args) {
            (Op::Source, [_, _, file, text @ ..]) => sources.push((files.name(*file), literal(text))),
            (Op::SourceContinued, text) => sources.iter_mut().last().into_iter().for_each(|(_, source)| source.push_str(&literal(text))),
            (Op::Function, _) => break,
            _ => {}
        }
    }
    let held =
        module.sources().iter().map(|(file, pieces)| (files.name(*file), pieces.iter().map(|id| files.name(*id).to_string()).collect()));
    sources.extend(held);
    let mut found = BTreeMap::new();
    for (file, source) in sources {
        let mut at = Place { file, line: 1 };
        for text in source.lines() {
            if let Some((line, file)) = line_directive(text) {
                at = Place { file: file.map_or(at.file, Arc::from), line };
                continue;
            }
            if wanted.contains(&at) {
                found.insert(at.clone(), text.to_owned());
            }
            at.line = at.line.saturating_add(1);
        }
    }
    found
}

/// `#line 7` or `#line 7 "file"`: the number of the next line, and its file.
fn line_directive(text: &str) -> Option<(u32, Option<&str>)> {
    let rest = text.trim_start().strip_prefix('#')?.trim_start().strip_prefix("line")?;
    let number = rest.split_whitespace().next().filter(|_| rest.starts_with([' ', '\t']))?;
    Some((number.parse().ok()?, rest.split('"').nth(1)))
}

/// Which file each instruction comes from.
struct Files<'m> {
    module: &'m Module,
    /// The module's strings.
    names: HashMap<Id, Arc<str>>,
    none: Arc<str>,
}

impl<'m> Files<'m> {
    fn new(module: &'m Module) -> Self {
        let strings = module.insts().iter().filter(|inst| inst.op == Op::String);
        let names = strings.map(|inst| (inst.id, literal(module.args(inst)).into())).collect();
        Self { module, names, none: Arc::from("") }
    }

    fn name(&self, file: Id) -> Arc<str> {
        Arc::clone(self.names.get(&file).unwrap_or(&self.none))
    }

    fn place(&self, at: usize, line: u32) -> Option<Place> {
        let file = self.module.file(at)?;
        (line > 0).then(|| Place { file: self.name(file), line })
    }
}
