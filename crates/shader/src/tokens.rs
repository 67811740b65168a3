//! Shaders as sequences for neural networks.
//!
//! [`published`] is the tokeniser of ShaderPerFormer (paper 004, section 6.2.1): words of SPIR-V one by one. Four things differ from
//! the public code, on purpose: functions come in the order of a depth-first walk of the calls from the entry point, ids are numbered
//! by first appearance (so that the compiler's numbering does not matter and every id is within the vocabulary), the trace must fit
//! the module (there is no block 0 for blocks that are unknown), and counts keep their 64 bits.
//!
//! [`compact`] writes one word for an instruction instead of about five: its class, what produced its operands, and on how many
//! scalars it works. [`lean`] has such words for what a driver's compiler leaves. They are for training in minutes on a CPU.

use super::cfg::Cfg;
use super::features;
use super::lean::Lean;
use super::module::{ComponentType, Id, Inst, Module, ModuleError, Op, Operand, Type, operands};
use super::trace::Trace;
use std::borrow::Cow;
use std::collections::HashMap;

/// How many tokens [`published`] knows.
pub const VOCABULARY: u32 = 40_000;
/// The longest sequence of paper 004, without the token that begins it.
pub const LIMIT: usize = 4096;
/// Fills a batch behind the end of its shorter sequences.
pub const PAD: u32 = 1000;
/// Begins every sequence.
pub const BEGIN: u32 = 1001;
/// Stands between two literals in a row, whose digits would otherwise run together.
pub const NEXT: u32 = 1002;

const BYTE: u32 = 256;
const OPCODE: u32 = 2000;
const ID: u32 = 20_000;

/// How many operands of an instruction a word of [`compact`] tells of.
pub const OPERANDS: usize = 3;

/// One position of a sequence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Word {
    /// What stands there.
    pub id: u32,
    /// How often it is executed in a frame. [`published`] has it on opcodes only, as the paper.
    pub count: u64,
    /// On how many scalars it works; 0 in [`published`].
    pub scalars: u32,
    /// What produced its operands, as ids; 0 for none, and always in [`published`].
    pub operands: [u32; OPERANDS],
}

/// Whose words they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// [`published`].
    Published,
    /// [`compact`] and [`lean`].
    Compact,
}

impl Dialect {
    /// Every id is below this.
    #[must_use]
    pub fn vocabulary(self) -> u32 {
        match self {
            Self::Published => VOCABULARY,
            // `features::names` is a fixed list of some hundred.
            Self::Compact => COMPACT_FIRST + features::names().len() as u32,
        }
    }

    /// The id that fills batches.
    #[must_use]
    pub fn pad(self) -> u32 {
        match self {
            Self::Published => PAD,
            Self::Compact => 0,
        }
    }

    /// The words of a shader with its trace and what is left of it, as models of this dialect are trained on them.
    ///
    /// # Errors
    /// See [`TokenError`].
    pub fn words(self, module: &Module, cfg: &Cfg, trace: &Trace, left: Option<&Lean>) -> Result<Tokens, TokenError> {
        match self {
            Self::Published => published(module, cfg, &trace.counts),
            Self::Compact => lean(module, cfg, trace, left),
        }
    }
}

/// A shader as a sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tokens {
    /// Whose words they are.
    pub dialect: Dialect,
    /// The words; the first one begins the sequence.
    pub words: Vec<Word>,
}

impl Tokens {
    /// The same shader when nothing is known of its execution: all that stands in a block is executed once a pixel (paper 004,
    /// section 7.2.3, but that there it is once a frame).
    #[must_use]
    pub fn untraced(mut self, pixels: u64) -> Self {
        let is_opcode = |id: u32| (OPCODE..ID).contains(&id);
        let first = match self.dialect {
            Dialect::Compact => 1,
            // Types and constants are not executed, and only opcodes have counts.
            Dialect::Published => self.words.iter().position(|w| w.id == OPCODE + Op::Function as u32).unwrap_or(self.words.len()),
        };
        let executed = self.words.iter_mut().skip(first).filter(|w| self.dialect == Dialect::Compact || is_opcode(w.id));
        executed.for_each(|w| w.count = pixels);
        self
    }

    /// With at most so many words: of compact ones those that do least (count times scalars) are left out. Published ones say what they
    /// say together, so that none is.
    #[must_use]
    pub fn at_most(&self, limit: usize) -> Cow<'_, Self> {
        if self.words.len() <= limit || self.dialect == Dialect::Published {
            return Cow::Borrowed(self);
        }
        let work = |w: &Word| u128::from(w.count) * u128::from(w.scalars);
        let mut order: Vec<usize> = (1..self.words.len()).collect();
        order.sort_by_key(|at| (std::cmp::Reverse(work(&self.words[*at])), *at));
        order.truncate(limit.saturating_sub(1));
        order.sort_unstable();
        let words = std::iter::once(0).chain(order).map(|at| self.words[at]).collect();
        Cow::Owned(Self { dialect: self.dialect, words })
    }
}

/// Why a shader has no sequence.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TokenError {
    /// Longer than any that was trained on.
    #[error("the shader has more than {limit} tokens, the longest sequence that is read (paper 004 leaves such shaders out)")]
    TooLong {
        /// The most tokens of a sequence.
        limit: usize,
    },
    /// A trace of another module.
    #[error("the trace counts {found} blocks, the shader has {expected} that can be reached")]
    Blocks {
        /// Counts that are there.
        found: usize,
        /// Blocks of the control flow.
        expected: usize,
    },
    /// A count that is none.
    #[error("the trace says that block {block} is executed {count} times")]
    Count {
        /// The block.
        block: usize,
        /// Its count.
        count: f64,
    },
    /// A module that does not hold together.
    #[error(transparent)]
    Module(#[from] ModuleError),
}

/// The counts as whole numbers, if they are counts of this control flow.
fn whole(cfg: &Cfg, counts: &[f64]) -> Result<Vec<u64>, TokenError> {
    if counts.len() != cfg.blocks.len() {
        return Err(TokenError::Blocks { found: counts.len(), expected: cfg.blocks.len() });
    }
    let count = |(block, &count): (usize, &f64)| match count {
        // The conversion saturates.
        c if c >= 0.0 => Ok(c.round() as u64),
        count => Err(TokenError::Count { block, count }),
    };
    counts.iter().enumerate().map(count).collect()
}

/// The functions of a shader, each before what it calls, in the order in which a depth-first walk of the calls meets them.
fn depth_first(cfg: &Cfg) -> Vec<usize> {
    let (mut seen, mut order, mut stack) = (vec![false; cfg.functions.len()], Vec::new(), vec![0]);
    while let Some(at) = stack.pop() {
        if !std::mem::replace(&mut seen[at], true) {
            order.push(at);
            stack.extend(cfg.functions[at].calls.iter().rev().filter(|callee| !seen[**callee]));
        }
    }
    order
}

/// The blocks of a function as they stand in the module.
fn blocks(cfg: &Cfg, function: usize) -> Vec<usize> {
    let mut blocks: Vec<usize> = cfg.functions[function].blocks.clone().collect();
    blocks.sort_by_key(|block| cfg.blocks[*block].insts.start);
    blocks
}

/// Whether an instruction is left out: debug information, decorations, what declares the module.
fn is_silent(op: Op) -> bool {
    matches!(op, Op::Line | Op::NoLine | Op::Nop | Op::ModuleProcessed) || op.is_debug() || op.is_annotation()
}

fn is_declaration(op: Op) -> bool {
    op.is_type() || op.is_constant() || matches!(op, Op::Variable | Op::Undef)
}

/// The tokens of paper 004: types, constants and variables of the module, then the entry point, then the functions that it calls.
///
/// `counts` are those of the blocks of `cfg`.
///
/// # Errors
/// [`TokenError::TooLong`] above [`LIMIT`] tokens, [`TokenError::Blocks`] and [`TokenError::Count`] for a trace that does not fit.
pub fn published(module: &Module, cfg: &Cfg, counts: &[f64]) -> Result<Tokens, TokenError> {
    let counts = whole(cfg, counts)?;
    let mut writer = Writer { module, words: vec![Word { id: BEGIN, ..Word::default() }], ids: HashMap::new() };
    let mut inside = false;
    for inst in module.insts() {
        // Variables of functions are no declarations of the module.
        inside = match inst.op {
            Op::Function => true,
            Op::FunctionEnd => false,
            _ => inside,
        };
        if !inside && is_declaration(inst.op) {
            writer.inst(inst, 0)?;
        }
    }
    for function in depth_first(cfg) {
        let blocks = blocks(cfg, function);
        let source = &module.functions[cfg.functions[function].function];
        let calls = blocks.first().map_or(0, |entry| counts[*entry]);
        writer.inst(module.def(source.id)?, calls)?;
        for param in &source.params {
            writer.inst(module.def(*param)?, calls)?;
        }
        for block in blocks {
            writer.inst(module.def(cfg.blocks[block].label)?, counts[block])?;
            for inst in &module.insts()[cfg.blocks[block].insts.clone()] {
                if !is_silent(inst.op) {
                    writer.inst(inst, counts[block])?;
                }
            }
        }
        writer.push(OPCODE + Op::FunctionEnd as u32, calls)?;
    }
    Ok(Tokens { dialect: Dialect::Published, words: writer.words })
}

/// A sequence of the paper while it is written.
struct Writer<'m> {
    module: &'m Module,
    words: Vec<Word>,
    ids: HashMap<Id, u32>,
}

impl Writer<'_> {
    fn push(&mut self, id: u32, count: u64) -> Result<(), TokenError> {
        if self.words.len() > LIMIT {
            return Err(TokenError::TooLong { limit: LIMIT });
        }
        self.words.push(Word { id, count, ..Word::default() });
        Ok(())
    }

    fn inst(&mut self, inst: &Inst, count: u64) -> Result<(), TokenError> {
        self.push(OPCODE + inst.op as u32, count)?;
        for id in [inst.ty, inst.id] {
            if id != 0 {
                self.id(id)?;
            }
        }
        let mut literal = false;
        for operand in operands(self.module, inst) {
            let text = match operand {
                Operand::Id(id) => {
                    literal = false;
                    self.id(id)?;
                    continue;
                }
                Operand::Literal(words) => self.number(inst, words).into_bytes(),
                Operand::Enum(_, word) => word.to_string().into_bytes(),
                Operand::Text(words) => words.iter().flat_map(|w| w.to_le_bytes()).take_while(|b| *b != 0).collect(),
            };
            if literal {
                self.push(NEXT, 0)?;
            }
            for byte in text {
                self.push(BYTE + u32::from(byte), 0)?;
            }
            literal = true;
        }
        Ok(())
    }

    fn id(&mut self, id: Id) -> Result<(), TokenError> {
        // Each new one stands in a sequence of at most LIMIT tokens, so that there are fewer than VOCABULARY - ID.
        let next = self.ids.len() as u32;
        let dense = *self.ids.entry(id).or_insert(next);
        self.push(ID + dense, 0)
    }

    /// A number in decimal, as its type reads it.
    fn number(&self, inst: &Inst, words: &[u32]) -> String {
        let scalar = match inst.op {
            Op::Constant | Op::SpecConstant => self.module.ty(inst.ty).ok().and_then(Type::scalar),
            Op::Switch => {
                let selector = self.module.args(inst).first();
                selector.and_then(|id| self.module.type_of(*id).ok()).and_then(|ty| self.module.ty(ty).ok()).and_then(Type::scalar)
            }
            _ => None,
        };
        let low = words.first().copied().unwrap_or(0);
        let wide = u64::from(words.get(1).copied().unwrap_or(0)) << 32 | u64::from(low);
        match scalar {
            Some(ComponentType::Float { bits: 64 }) => f64::from_bits(wide).to_string(),
            Some(ComponentType::Float { bits: 16 }) => half::f16::from_bits(low as u16).to_string(),
            Some(ComponentType::Float { .. }) => f32::from_bits(low).to_string(),
            Some(ComponentType::Int { bits: 64, signed: true }) => (wide as i64).to_string(),
            // Narrow numbers are stored with their sign.
            Some(ComponentType::Int { signed: true, .. }) => (low as i32).to_string(),
            _ => wide.to_string(),
        }
    }
}

/// The longest sequence of compact words that models are trained on, with the word that begins it.
pub const COMPACT_LIMIT: usize = 1024;
/// Begins a sequence of [`compact`].
pub const COMPACT_BEGIN: u32 = 1;
const COMPACT_CONSTANT: u32 = 2;
const COMPACT_GLOBAL: u32 = 3;
const COMPACT_PARAMETER: u32 = 4;
const COMPACT_VALUE: u32 = 5;
const COMPACT_FIRST: u32 = 6;

/// One word for each instruction that costs anything, and one for each block, in the order of [`published`]. The id is that of the
/// instruction's feature ([`features::names`]); the word that begins the sequence is executed once: it stands for the draw.
///
/// # Errors
/// [`TokenError::Blocks`] and [`TokenError::Count`] for a trace that does not fit.
pub fn compact(module: &Module, cfg: &Cfg, counts: &[f64]) -> Result<Tokens, TokenError> {
    let counts = whole(cfg, counts)?;
    let mut words = vec![Word { id: COMPACT_BEGIN, count: 1, scalars: 1, ..Word::default() }];
    for block in depth_first(cfg).into_iter().flat_map(|function| blocks(cfg, function)) {
        let count = counts[block];
        words.push(Word { id: COMPACT_FIRST + features::BLOCK as u32, count, scalars: 1, ..Word::default() });
        for inst in &module.insts()[cfg.blocks[block].insts.clone()] {
            if let Some((feature, number)) = features::instruction(module, inst)?.next() {
                words.push(Word { id: COMPACT_FIRST + feature as u32, count, scalars: number as u32, operands: producers(module, inst)? });
            }
        }
    }
    Ok(Tokens { dialect: Dialect::Compact, words })
}

/// The words of [`compact`] for what is left of a shader when a driver's compiler is done with it, in the order in which that is met
/// ([`Lean::of`]), with counts as if branches were predicated ([`Trace::predicated`]). Of a shader that is too large to be evaluated the
/// words are those of [`compact`].
///
/// # Errors
/// Those of [`compact`].
pub fn lean(module: &Module, cfg: &Cfg, trace: &Trace, left: Option<&Lean>) -> Result<Tokens, TokenError> {
    if trace.quads.len() != cfg.blocks.len() {
        return Err(TokenError::Blocks { found: trace.quads.len(), expected: cfg.blocks.len() });
    }
    // A quad is four pixels.
    let masked: Vec<f64> = trace.predicated(cfg).iter().map(|quads| 4.0 * quads).collect();
    let counts = whole(cfg, &masked)?;
    let Some(left) = left else { return compact(module, cfg, &masked) };
    let starts = masked.first().copied().unwrap_or(0.0);
    let mut words = vec![
        Word { id: COMPACT_BEGIN, count: 1, scalars: 1, ..Word::default() },
        Word { id: COMPACT_FIRST + features::BLOCK as u32, count: counts.first().copied().unwrap_or(0), scalars: 1, ..Word::default() },
    ];
    for work in &left.work {
        let operands = work.inst.map_or(Ok([0; OPERANDS]), |at| producers(module, &module.insts()[at]))?;
        // The conversions saturate.
        let (count, scalars) = ((work.times * starts).round() as u64, work.number as u32);
        words.push(Word { id: COMPACT_FIRST + work.feature as u32, count, scalars, operands });
    }
    Ok(Tokens { dialect: Dialect::Compact, words })
}

/// What produced the first operands of an instruction.
fn producers(module: &Module, inst: &Inst) -> Result<[u32; OPERANDS], TokenError> {
    let mut from = [0; OPERANDS];
    let ids = operands(module, inst).into_iter().filter_map(|o| if let Operand::Id(id) = o { Some(id) } else { None });
    // The set of an extended instruction says nothing.
    for (slot, id) in from.iter_mut().zip(ids.skip(usize::from(inst.op == Op::ExtInst))) {
        *slot = producer(module, id)?;
    }
    Ok(from)
}

/// What kind of thing defines an id.
fn producer(module: &Module, id: Id) -> Result<u32, TokenError> {
    let Ok(inst) = module.def(id) else { return Ok(0) };
    Ok(match inst.op {
        op if op.is_constant() => COMPACT_CONSTANT,
        Op::Variable => COMPACT_GLOBAL,
        Op::FunctionParameter => COMPACT_PARAMETER,
        Op::Label | Op::Function => 0,
        op if op.is_type() => 0,
        // Features of what stands in functions only: the others have operands of other kinds.
        _ => features::instruction(module, inst)?.next().map_or(COMPACT_VALUE, |(feature, _)| COMPACT_FIRST + feature as u32),
    })
}
