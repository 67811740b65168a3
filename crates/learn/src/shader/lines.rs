//! Which source lines a frame's cost comes from.
//!
//! An additive model gives every operation a cost; a trace says how often it runs. Their products, summed by the lines that
//! `OpLine` names, are what each line costs. What a compiler moved or merged is not known here: a line's cost is that of the
//! operations that it became in this module.

use super::cfg::Cfg;
use super::features::{BLOCK, instruction};
use super::module::{Id, Module, ModuleError, Op, literal};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// A line of a source file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The file as `OpLine` names it; empty where it has no name.
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
    /// Every line that has instructions, the costliest first.
    pub lines: Vec<LineCost>,
    /// The cost of instructions that no line is known for: all of it where the module has no `OpLine`.
    pub unplaced: f64,
    /// The sum over all blocks.
    pub total: f64,
}

/// What blocks and lines cost, where `counts` says how often each block runs and `weights` what one of each feature costs, in the order of
/// [`super::features::names`]. A missing weight is 0, and so is one that is negative or no number: nothing saves time by being
/// executed.
///
/// # Errors
/// [`ModuleError`] where a type or an id is missing.
pub fn costs(module: &Module, cfg: &Cfg, counts: &[f64], weights: &[f64]) -> Result<Costs, ModuleError> {
    let files = Files::new(module);
    let weight = |feature: usize| weights.get(feature).copied().filter(|w| w.is_finite() && *w > 0.0).unwrap_or(0.0);
    let (mut blocks, mut unplaced) = (Vec::with_capacity(cfg.blocks.len()), 0.0);
    let mut lines = BTreeMap::<Place, f64>::new();
    for (index, block) in cfg.blocks.iter().enumerate() {
        let count = counts.get(index).copied().unwrap_or(0.0);
        let (mut span, mut sum): (Option<(Place, u32)>, f64) = (None, 0.0);
        let last = block.insts.end.saturating_sub(1);
        for at in block.insts.clone() {
            let inst = &module.insts()[at];
            let own: f64 = instruction(module, inst)?.map(|(feature, number)| number * weight(feature)).sum();
            // To go on to a block is a terminator's work.
            let cost = count * (own + if at == last { weight(BLOCK) } else { 0.0 });
            sum += cost;
            if matches!(inst.op, Op::Line | Op::NoLine) {
                continue;
            }
            let Some(place) = files.place(at, inst.line) else {
                unplaced += cost;
                continue;
            };
            match &mut span {
                None => span = Some((place.clone(), place.line)),
                Some((first, end)) if first.file == place.file => {
                    first.line = first.line.min(place.line);
                    *end = (*end).max(place.line);
                }
                Some(_) => {}
            }
            *lines.entry(place).or_default() += cost;
        }
        blocks.push(BlockCost { lines: span, cost: sum });
    }
    let mut lines: Vec<LineCost> = lines.into_iter().map(|(place, cost)| LineCost { place, cost }).collect();
    // Stable: what costs the same stays in the order of the source.
    lines.sort_by(|a, b| b.cost.total_cmp(&a.cost));
    let total = blocks.iter().map(|b| b.cost).sum();
    Ok(Costs { blocks, lines, unplaced, total })
}

/// The text of lines, as the module's `OpSource` has it. `#line` is followed; of lines of the same number the last one counts, since
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
struct Files {
    names: HashMap<Id, Arc<str>>,
    /// From which instruction on lines are in which file.
    since: Vec<(usize, Id)>,
    none: Arc<str>,
}

impl Files {
    fn new(module: &Module) -> Self {
        let mut files = Self { names: HashMap::new(), since: Vec::new(), none: Arc::from("") };
        for (at, inst) in module.insts().iter().enumerate() {
            match (inst.op, module.args(inst)) {
                (Op::String, text) => drop(files.names.insert(inst.id, literal(text).into())),
                (Op::Line, [file, ..]) if files.since.last().is_none_or(|(_, last)| last != file) => files.since.push((at, *file)),
                _ => {}
            }
        }
        files
    }

    fn name(&self, file: Id) -> Arc<str> {
        Arc::clone(self.names.get(&file).unwrap_or(&self.none))
    }

    fn place(&self, at: usize, line: u32) -> Option<Place> {
        let before = self.since.partition_point(|(from, _)| *from <= at);
        let (_, file) = self.since.get(before.checked_sub(1)?)?;
        (line > 0).then(|| Place { file: self.name(*file), line })
    }
}
