//! A module that counts.
//!
//! Every reachable block adds one to a counter of its own in an array of the storage class Private, which compilers keep in
//! registers. Wherever an invocation ends (the entry point's return, a kill) or becomes a helper, a function adds the counters that
//! are not zero to a storage buffer of 64-bit counters. Helper invocations write nothing there, so they are not counted.
//!
//! Arithmetic is decorated NoContraction, so that branches do not depend on which roundings a driver leaves out.

mod words;

use super::super::cfg::Cfg;
use super::super::module::{Inst, Module, ModuleError, Op};
use std::collections::{HashMap, HashSet};
use words::Pieces;

/// How counters reach the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// Atomics of 64 bits (`shaderInt64` and `shaderBufferInt64Atomics`).
    Whole,
    /// Two atomics of 32 bits: the low word, and the high one where it overflowed.
    Split,
}

/// Where and how a rewritten module counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Descriptor set of the buffer; the shader must not use it with `binding`.
    pub set: u32,
    /// Binding of the buffer.
    pub binding: u32,
    /// How counters reach the buffer.
    pub width: Width,
    /// Adds up the counters of a subgroup before one invocation writes them (`VK_SUBGROUP_FEATURE_ARITHMETIC_BIT` in fragment
    /// shaders). A subgroup's sum of one flush must stay below 2³².
    pub subgroup: bool,
}

/// A module that counts, in words. Its buffer has 8 bytes for each block of the [`Cfg`], low word first, and must begin as zeros.
///
/// The version becomes at least 1.3 (Vulkan 1.1), which knows storage buffers without extensions.
///
/// # Errors
/// [`ModuleError::Unsupported`] where the shader uses the buffer's binding, [`ModuleError::TooLong`].
pub fn rewrite(module: &Module, cfg: &Cfg, options: Options) -> Result<Vec<u32>, ModuleError> {
    if module.variables.iter().any(|v| v.binding == Some((options.set, options.binding))) {
        return Err(ModuleError::Unsupported { what: "the descriptor set and binding that the trace wants" });
    }
    let mut pieces = Pieces::new(module, cfg.blocks.len() as u32, options);
    let mut out: Vec<u32> = Vec::with_capacity(module.words().len() + 40 * cfg.blocks.len());
    out.extend(&module.words()[..5]);
    out[1] = out[1].max(0x0001_0300);
    let plan = Plan::new(module, cfg);
    for (index, inst) in module.insts().iter().enumerate() {
        if index == plan.capabilities {
            out.extend(pieces.capabilities());
        }
        if index == plan.annotations {
            out.extend(pieces.annotations());
        }
        if index == plan.functions {
            out.extend(pieces.globals());
        }
        if let Some(block) = plan.counted.get(&index) {
            out.extend(pieces.count(*block));
        }
        if plan.flushed.contains(&index) {
            out.extend(pieces.flush_call());
        }
        let words = &module.words()[inst.words()];
        if index == plan.entry_point {
            let interface = pieces.interface(module.version() >= (1, 4));
            // Lengths have 16 bits; an entry point with that many variables is none.
            out.push(words[0] + ((interface.len() as u32) << 16));
            out.extend(&words[1..]);
            out.extend(interface);
        } else {
            out.extend(words);
        }
    }
    out.extend(pieces.function());
    out[3] = pieces.bound();
    if out.len() > super::super::module::MAX_WORDS {
        return Err(ModuleError::TooLong { words: out.len() });
    }
    Ok(out)
}

/// Before which instructions something is inserted.
struct Plan {
    entry_point: usize,
    capabilities: usize,
    annotations: usize,
    functions: usize,
    /// Where a block begins to count, and which.
    counted: HashMap<usize, u32>,
    flushed: HashSet<usize>,
}

impl Plan {
    fn new(module: &Module, cfg: &Cfg) -> Self {
        let insts = module.insts();
        let functions = insts.iter().position(|i| i.op == Op::Function).unwrap_or(insts.len());
        let after = |wanted: fn(Op) -> bool| insts[..functions].iter().rposition(|i| wanted(i.op)).map_or(0, |p| p + 1);
        let entry = module.functions[module.entry].id;
        let is_entry = |i: &Inst| i.op == Op::EntryPoint && module.args(i)[1] == entry;
        let mut plan = Self {
            entry_point: insts.iter().position(is_entry).unwrap_or(0),
            capabilities: after(|op| op == Op::Capability),
            annotations: after(is_annotation),
            functions,
            counted: HashMap::new(),
            flushed: HashSet::new(),
        };
        for (index, block) in cfg.blocks.iter().enumerate() {
            let skipped = |i: &Inst| matches!(i.op, Op::Phi | Op::Variable | Op::Line | Op::NoLine);
            let first = block.insts.clone().find(|i| !skipped(&insts[*i])).unwrap_or(block.insts.end - 1);
            plan.counted.insert(first, index as u32);
            for at in block.insts.clone() {
                let ends = matches!(insts[at].op, Op::Kill | Op::TerminateInvocation | Op::DemoteToHelperInvocation);
                if ends || insts[at].op == Op::Return && block.function == 0 {
                    plan.flushed.insert(at);
                }
            }
        }
        plan
    }
}

/// Whether an instruction belongs to what stands before the types.
fn is_annotation(op: Op) -> bool {
    use Op as O;
    matches!(
        op,
        O::Capability
            | O::Extension
            | O::ExtInstImport
            | O::MemoryModel
            | O::EntryPoint
            | O::ExecutionMode
            | O::ExecutionModeId
            | O::String
            | O::SourceExtension
            | O::Source
            | O::SourceContinued
            | O::Name
            | O::MemberName
            | O::ModuleProcessed
            | O::Decorate
            | O::MemberDecorate
            | O::DecorateId
            | O::DecorateString
            | O::MemberDecorateString
    )
}
