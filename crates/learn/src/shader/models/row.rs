//! What a model is told of a shader in a scene.

use super::super::cfg::Cfg;
use super::super::features::{self, Features};
use super::super::module::{Module, ModuleError, Op, spirv::StorageClass};
use super::super::trace::Trace;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use warpsight_ir::Seconds;

/// How much of something a shader does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "(f64, f64)", into = "(f64, f64)")]
pub struct Amount {
    /// By its trace, a pixel of the frame.
    pub traced: f64,
    /// In its text: each reachable block once.
    pub text: f64,
}

impl From<(f64, f64)> for Amount {
    fn from((traced, text): (f64, f64)) -> Self {
        Self { traced, text }
    }
}

impl From<Amount> for (f64, f64) {
    fn from(amount: Amount) -> Self {
        (amount.traced, amount.text)
    }
}

/// A shader in a scene: all that models know of it, by names, so that a model outlives changes of what is counted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The shader's id in its corpus.
    pub id: String,
    /// The package that it is from.
    pub source: String,
    /// Near-duplicates share a group: no split separates them.
    pub group: String,
    /// Whether it was made from another shader or scene: trained on, never scored.
    pub mutant: bool,
    /// Whether it loops.
    pub loops: bool,
    /// Pixels of the frame.
    pub pixels: f64,
    /// What a frame takes, where that was measured.
    pub seconds: Option<Seconds>,
    /// Operations by the names of [`features::names`].
    pub operations: BTreeMap<String, Amount>,
    /// Instructions by opcode, those of the extended instruction sets as one.
    pub opcodes: BTreeMap<String, Amount>,
    /// Sizes of the text: `blocks`, `depth` of loops, `functions`, `textures`, `uniforms`.
    pub sizes: BTreeMap<String, f64>,
}

impl Row {
    /// What models are told of a module and its trace; where it is from and what it took is the caller's to fill in.
    ///
    /// # Errors
    /// [`ModuleError`] where a type or an id is missing.
    pub fn new(module: &Module, cfg: &Cfg, trace: &Trace) -> Result<Self, ModuleError> {
        let pixels = trace.pixels.max(1) as f64;
        let each = |block: usize| trace.counts[block] / pixels;
        let features = Features::new(module, cfg)?;
        let (traced, text) = (features.weighted(each), features.weighted(|_| 1.0));
        let numbers = features::names().iter().zip(traced.into_iter().zip(text));
        let operations = numbers.filter(|(_, (_, text))| *text != 0.0).map(|(name, of)| (name.clone(), rounded(of))).collect();
        let mut opcodes: BTreeMap<Op, (f64, f64)> = BTreeMap::new();
        for (index, block) in cfg.blocks.iter().enumerate() {
            for inst in &module.insts()[block.insts.clone()] {
                if !matches!(inst.op, Op::Line | Op::NoLine | Op::Nop) {
                    let sum = opcodes.entry(inst.op).or_default();
                    *sum = (sum.0 + each(index), sum.1 + 1.0);
                }
            }
        }
        let uniforms = module.blocks()?.iter().map(|b| b.members.len()).sum::<usize>();
        let sizes = [
            ("blocks", cfg.blocks.len()),
            ("depth", cfg.blocks.iter().map(|b| b.loops as usize).max().unwrap_or(0)),
            ("functions", cfg.functions.len()),
            ("textures", module.bindings(StorageClass::UniformConstant).len()),
            ("uniforms", uniforms),
        ];
        Ok(Self {
            id: String::new(),
            source: String::new(),
            group: String::new(),
            mutant: false,
            loops: cfg.blocks.iter().any(|b| b.is_loop),
            pixels,
            seconds: None,
            operations,
            opcodes: opcodes.into_iter().map(|(op, of)| (format!("{op:?}"), rounded(of))).collect(),
            sizes: sizes.map(|(name, size)| (name.to_owned(), size as f64)).into(),
        })
    }

    /// The same shader as if nothing were known of how often blocks run: every block once a pixel (paper 004, section 7.2.3).
    #[must_use]
    pub fn untraced(&self) -> Self {
        let once = |amounts: &BTreeMap<String, Amount>| {
            amounts.iter().map(|(name, amount)| (name.clone(), Amount { traced: amount.text, text: amount.text })).collect()
        };
        Self { operations: once(&self.operations), opcodes: once(&self.opcodes), ..self.clone() }
    }

    /// The amount of an operation; none where the shader has it not.
    #[must_use]
    pub fn operation(&self, name: &str) -> Amount {
        self.operations.get(name).copied().unwrap_or_default()
    }
}

/// Amounts to seven digits, as tables keep them: a row is the same before and after.
fn rounded((traced, text): (f64, f64)) -> Amount {
    let digits = |x: f64| format!("{x:.6e}").parse().unwrap_or(x);
    Amount { traced: digits(traced), text: digits(text) }
}
