//! Constants that decide how often loops run.

use super::super::cfg::Cfg;
use super::super::module::{ComponentType, Id, Inst, MAX_WORDS, Module, Op, Type};
use std::collections::{HashMap, HashSet};
use std::fmt;

/// The most bounds that are looked for: a module of a compiler has a handful.
const MOST: usize = 64;
/// The most loops that are looked at: each is read whole, and they nest.
const LOOPS: usize = 256;
/// The most values that are followed back from a condition.
const FOLLOWED: usize = 64;
/// Bounds do not grow beyond these, so that a counter's steps still reach them.
const GROWN_INTEGER: i64 = 1 << 16;
const GROWN_FLOAT: f64 = 1e4;

/// A number of 32 bits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// A signed integer.
    Int(i32),
    /// An unsigned integer.
    Uint(u32),
    /// A floating point number.
    Float(f32),
}

impl Number {
    /// The number times a factor, integers rounded towards zero but never to it. Nothing where that is the same number, no
    /// number, or one that has grown out of what loops count to.
    #[must_use]
    pub fn times(self, factor: f64) -> Option<Self> {
        let whole = |value: i64| {
            let scaled = (value as f64 * factor) as i64;
            let scaled = if scaled == 0 { value.signum() } else { scaled };
            (scaled != value && (scaled.abs() <= GROWN_INTEGER || scaled.abs() < value.abs())).then_some(scaled)
        };
        match self {
            Self::Int(value) => Some(Self::Int(i32::try_from(whole(value.into())?).ok()?)),
            Self::Uint(value) => Some(Self::Uint(u32::try_from(whole(value.into())?).ok()?)),
            Self::Float(value) => {
                let scaled = (f64::from(value) * factor) as f32;
                let grown = scaled.abs() > value.abs() && f64::from(scaled.abs()) > GROWN_FLOAT;
                (scaled.is_normal() && scaled != value && !grown).then_some(Self::Float(scaled))
            }
        }
    }

    fn value(self) -> f64 {
        match self {
            Self::Int(v) => v.into(),
            Self::Uint(v) => v.into(),
            Self::Float(v) => v.into(),
        }
    }

    fn bits(self) -> u32 {
        match self {
            Self::Int(v) => v.cast_unsigned(),
            Self::Uint(v) => v,
            Self::Float(v) => v.to_bits(),
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(v) => v.fmt(f),
            Self::Uint(v) => v.fmt(f),
            Self::Float(v) => v.fmt(f),
        }
    }
}

/// A constant that decides how often a loop runs: what its exit compares a counter with, or what that counter starts from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// The block that heads the loop, as an index into [`Cfg::blocks`].
    pub header: usize,
    /// The source line of the comparison or of the start; 0 where it is not known.
    pub line: u32,
    /// The constant.
    pub value: Number,
    /// Whether the counter starts from it; else an exit compares with it.
    pub start: bool,
    /// Whether it must not grow, because the loop reads arrays at indices that change.
    pub shrinks: bool,
    /// The word of the module that names the constant there.
    word: usize,
    ty: Id,
}

impl Bound {
    /// The module with this bound times a factor: a constant of its own, used in this place only. Nothing where the number does
    /// not change or must not grow.
    #[must_use]
    pub fn scaled(&self, module: &Module, factor: f64) -> Option<(Number, Vec<u32>)> {
        let to = self.value.times(factor)?;
        if self.shrinks && to.value().abs() > self.value.value().abs() {
            return None;
        }
        let fresh = module.bound();
        let insts = module.insts();
        let function = insts.iter().position(|i| i.op == Op::Function)?;
        // Lines before a function are the function's.
        let after = insts[..function].iter().rposition(|i| !matches!(i.op, Op::Line | Op::NoLine))?;
        let at = insts[after].words().end;
        let words = module.words();
        if words.len() + 4 > MAX_WORDS {
            return None;
        }
        let mut out = Vec::with_capacity(words.len() + 4);
        out.extend(&words[..at]);
        out.extend([4 << 16 | Op::Constant as u32, self.ty, fresh, to.bits()]);
        out.extend(&words[at..]);
        out[3] = fresh.checked_add(1)?;
        *out.get_mut(self.word + 4)? = fresh;
        Some((to, out))
    }
}

/// The bounds of a shader's loops, by loop and then in the order of the module.
///
/// A comparison counts if one side of it is a counter, which the loop itself updates from its own value (`i++`, `t += d`,
/// `size *= 2`, `left--`), and the other a constant of 32 bits other than zero. Comparisons for equality do not, since a counter may step
/// over another constant; nor do errors and lengths that are computed afresh, since they may never reach it. What a counter starts from is
/// a bound where it lies farther from zero than what it is compared with, or on the other side. Loops that write arrays at indices that change
/// have no bounds here: they would leave their arrays, or leave them half filled.
#[must_use]
pub fn bounds(module: &Module, cfg: &Cfg) -> Vec<Bound> {
    let finder = Finder::new(module, cfg);
    let mut found: Vec<Bound> = Vec::new();
    for header in (0..cfg.blocks.len()).filter(|b| cfg.blocks[*b].is_loop).take(LOOPS) {
        for bound in finder.of_loop(header) {
            // A loop's exit may be one of the loop around it, too.
            if found.len() < MOST && found.iter().all(|f| f.word != bound.word) {
                found.push(bound);
            }
        }
    }
    found
}

/// How arrays are indexed at places that are not known before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Indexing {
    #[default]
    None,
    Reads,
    Writes,
}

struct Finder<'m> {
    module: &'m Module,
    cfg: &'m Cfg,
    block_of: HashMap<Id, usize>,
    /// Where each variable is stored to: blocks and instructions.
    stores: HashMap<Id, Vec<(usize, usize)>>,
    /// How each block indexes arrays, itself or in functions that it calls.
    indexing: Vec<Indexing>,
}

impl<'m> Finder<'m> {
    fn new(module: &'m Module, cfg: &'m Cfg) -> Self {
        let block_of = cfg.blocks.iter().enumerate().map(|(i, b)| (b.label, i)).collect();
        let mut stores = HashMap::<Id, Vec<_>>::new();
        for (index, block) in cfg.blocks.iter().enumerate() {
            for at in block.insts.clone().filter(|at| module.insts()[*at].op == Op::Store) {
                stores.entry(module.args(&module.insts()[at])[0]).or_default().push((index, at));
            }
        }
        Self { module, cfg, block_of, stores, indexing: indexing(module, cfg) }
    }

    fn of_loop(&self, header: usize) -> Vec<Bound> {
        let blocks = &self.cfg.blocks;
        let end = blocks[header].merge.unwrap_or(self.cfg.functions[blocks[header].function].blocks.end);
        if end <= header {
            return Vec::new();
        }
        let worst = self.indexing.get(header..end).and_then(|i| i.iter().max()).copied().unwrap_or(Indexing::Writes);
        if worst == Indexing::Writes {
            return Vec::new();
        }
        let leaves = |to: usize| {
            let inside = (header..end).contains(&to);
            let follows = &blocks[to].successors;
            !inside || follows.iter().all(|next| !(header..end).contains(next))
        };
        let mut found = Vec::new();
        for block in &blocks[header..end] {
            let Some(last) = block.insts.clone().last().map(|at| &self.module.insts()[at]) else { continue };
            if last.op == Op::BranchConditional && block.successors.iter().any(|s| leaves(*s)) {
                for compare in self.comparisons(self.module.args(last)[0]) {
                    self.of_comparison(compare, header..end, worst == Indexing::Reads, &mut found);
                }
            }
        }
        found.sort_by_key(|b| b.word);
        found
    }

    /// The comparisons for order of single numbers that a condition is made of.
    fn comparisons(&self, condition: Id) -> Vec<&'m Inst> {
        use Op as O;
        let ordered = |inst: &Inst| {
            let scalar = matches!(self.module.ty(inst.ty), Ok(Type::Scalar(ComponentType::Bool)));
            let less = matches!(inst.op, O::SLessThan | O::SLessThanEqual | O::ULessThan | O::ULessThanEqual | O::FOrdLessThan)
                || matches!(inst.op, O::FOrdLessThanEqual | O::FUnordLessThan | O::FUnordLessThanEqual);
            let more = matches!(inst.op, O::SGreaterThan | O::SGreaterThanEqual | O::UGreaterThan | O::UGreaterThanEqual)
                || matches!(inst.op, O::FOrdGreaterThan | O::FOrdGreaterThanEqual | O::FUnordGreaterThan | O::FUnordGreaterThanEqual);
            scalar && (less || more)
        };
        let joins = |op: Op| matches!(op, O::LogicalAnd | O::LogicalOr | O::LogicalNot | O::Phi | O::Select | O::CopyObject);
        self.follow(condition, joins).into_iter().filter(|i| ordered(i)).collect()
    }

    /// The instructions that a value is made of by operations that `through` accepts, and these themselves.
    fn follow(&self, value: Id, through: impl Fn(Op) -> bool) -> Vec<&'m Inst> {
        let (mut queue, mut seen) = (vec![value], HashSet::from([value]));
        let mut at = 0;
        let mut out = Vec::new();
        while let Some(id) = queue.get(at).copied().filter(|_| at < FOLLOWED) {
            at += 1;
            let Ok(inst) = self.module.def(id) else { continue };
            out.push(inst);
            if through(inst.op) {
                let step = if inst.op == Op::Phi { 2 } else { 1 };
                queue.extend(self.module.args(inst).iter().step_by(step).copied().filter(|a| seen.insert(*a)));
            }
        }
        out
    }

    fn of_comparison(&self, compare: &Inst, range: std::ops::Range<usize>, shrinks: bool, found: &mut Vec<Bound>) {
        let args = self.module.args(compare);
        for (side, other) in [(0, 1), (1, 0)] {
            let limit = self.constant(args[side]);
            let Some(starts) = self.counter(args[other], &range) else { continue };
            let first = compare.words().end - args.len();
            let bound = |line, value, start, word, ty| Bound { header: range.start, line, value, start, shrinks, word, ty };
            let Some((limit, ty)) = limit else { continue };
            if limit.value() != 0.0 {
                found.push(bound(compare.line, limit, false, first + side, ty));
            }
            for (word, line, id) in starts {
                let Some((value, ty)) = self.constant(id) else { continue };
                let (from, to) = (value.value(), limit.value());
                if from != 0.0 && (from.abs() > to.abs() || from * to < 0.0) {
                    found.push(bound(line, value, true, word, ty));
                }
            }
        }
    }

    /// A constant that is not a specialisation's, and its type.
    fn constant(&self, id: Id) -> Option<(Number, Id)> {
        let inst = self.module.def(id).ok()?;
        let word = match inst.op {
            Op::Constant => *self.module.args(inst).first()?,
            Op::ConstantNull => 0,
            _ => return None,
        };
        let number = match self.module.ty(inst.ty).ok()? {
            Type::Scalar(ComponentType::Int { bits: 32, signed: true }) => Number::Int(word.cast_signed()),
            Type::Scalar(ComponentType::Int { bits: 32, signed: false }) => Number::Uint(word),
            Type::Scalar(ComponentType::Float { bits: 32 }) => Number::Float(f32::from_bits(word)),
            _ => return None,
        };
        number.value().is_finite().then_some((number, inst.ty))
    }

    /// If a value is made of a counter of the loop, where that starts: a word of the module, its line, and the id in it.
    fn counter(&self, value: Id, range: &std::ops::Range<usize>) -> Option<Vec<(usize, u32, Id)>> {
        for inst in self.follow(value, is_arithmetic) {
            let starts = match inst.op {
                Op::Load => self.variable(self.module.args(inst)[0], range),
                Op::Phi => self.phi(inst, range),
                _ => None,
            };
            if starts.is_some() {
                return starts;
            }
        }
        None
    }

    /// A variable that the loop stores to what it makes of its value.
    fn variable(&self, variable: Id, range: &std::ops::Range<usize>) -> Option<Vec<(usize, u32, Id)>> {
        let stores = self.stores.get(&variable)?;
        let insts = self.module.insts();
        let own = |inst: &&Inst| inst.op == Op::Load && self.module.args(inst)[0] == variable;
        let updates = |at: usize| self.follow(self.module.args(&insts[at])[1], is_arithmetic).iter().any(own);
        if !stores.iter().any(|(block, at)| range.contains(block) && updates(*at)) {
            return None;
        }
        let function = &self.cfg.functions[self.cfg.blocks[range.start].function].blocks;
        // The latest store before the loop in structured order is what the loop starts with, but for branches around it.
        let before = stores.iter().filter(|(block, _)| (function.start..range.start).contains(block)).max();
        Some(before.map(|(_, at)| (insts[*at].words().start + 2, insts[*at].line, self.module.args(&insts[*at])[1])).into_iter().collect())
    }

    /// A value that the loop hands on to its next round.
    fn phi(&self, phi: &Inst, range: &std::ops::Range<usize>) -> Option<Vec<(usize, u32, Id)>> {
        let first = phi.words().end - self.module.args(phi).len();
        let (mut starts, mut updated) = (Vec::new(), false);
        for (index, pair) in self.module.args(phi).chunks_exact(2).enumerate() {
            match self.block_of.get(&pair[1]) {
                Some(block) if range.contains(block) => {
                    updated |= pair[0] != phi.id && self.follow(pair[0], is_arithmetic).iter().any(|i| i.id == phi.id);
                }
                _ => starts.push((first + 2 * index, phi.line, pair[0])),
            }
        }
        updated.then_some(starts)
    }
}

/// What makes a counter's next value of its value.
fn is_arithmetic(op: Op) -> bool {
    use Op as O;
    let exact = matches!(op, O::IAdd | O::ISub | O::IMul | O::SDiv | O::UDiv | O::SNegate | O::FAdd | O::FSub | O::FMul | O::FDiv);
    let bits = matches!(op, O::ShiftLeftLogical | O::ShiftRightLogical | O::ShiftRightArithmetic | O::Bitcast);
    exact || bits || matches!(op, O::ConvertSToF | O::ConvertUToF | O::ConvertFToS | O::ConvertFToU | O::CopyObject | O::Phi | O::Select)
}

/// How each block indexes arrays.
fn indexing(module: &Module, cfg: &Cfg) -> Vec<Indexing> {
    let insts = module.insts();
    // What may be written through; a function may write to what it is handed, and so may who takes a part of a part.
    let mut written = HashSet::new();
    for inst in insts {
        match inst.op {
            Op::Store | Op::CopyMemory => drop(written.insert(module.args(inst)[0])),
            Op::FunctionCall => written.extend(&module.args(inst)[1..]),
            Op::AccessChain | Op::InBoundsAccessChain => drop(written.insert(module.args(inst)[0])),
            _ => {}
        }
    }
    let varies = |id: &Id| module.def(*id).map_or(true, |d| !matches!(d.op, Op::Constant | Op::ConstantNull | Op::SpecConstant));
    let of = |inst: &Inst| match inst.op {
        Op::AccessChain | Op::InBoundsAccessChain if module.args(inst)[1..].iter().any(varies) => {
            if written.contains(&inst.id) {
                Indexing::Writes
            } else {
                Indexing::Reads
            }
        }
        Op::VectorExtractDynamic | Op::VectorInsertDynamic => Indexing::Reads,
        _ => Indexing::None,
    };
    let mut blocks: Vec<Indexing> = cfg.blocks.iter().map(|b| insts[b.insts.clone()].iter().map(of).max().unwrap_or_default()).collect();
    let callee: HashMap<Id, usize> = cfg.functions.iter().enumerate().map(|(i, f)| (module.functions[f.function].id, i)).collect();
    let calls: Vec<Vec<usize>> = cfg
        .blocks
        .iter()
        .map(|b| {
            let calls = insts[b.insts.clone()].iter().filter(|i| i.op == Op::FunctionCall);
            calls.filter_map(|i| callee.get(&module.args(i)[0]).copied()).collect()
        })
        .collect();
    // Calls are nested no deeper than the control flow accepts, so this ends soon.
    loop {
        let whole: Vec<Indexing> =
            cfg.functions.iter().map(|f| blocks[f.blocks.clone()].iter().max().copied().unwrap_or_default()).collect();
        let mut changed = false;
        for (block, calls) in blocks.iter_mut().zip(&calls) {
            let worst = calls.iter().map(|c| whole[*c]).max().unwrap_or_default();
            if worst > *block {
                *block = worst;
                changed = true;
            }
        }
        if !changed {
            return blocks;
        }
    }
}
