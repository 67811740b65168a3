//! What a model is told of a shader in a scene.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use warpsight_ir::Seconds;
use warpsight_shader::features::{self, Features};
use warpsight_shader::lean::{Lean, Work};
use warpsight_shader::module::{ModuleError, Op, spirv::StorageClass};
use warpsight_shader::tokens::{Dialect, TokenError, Tokens};
use warpsight_shader::{Seen, Shader};

/// How much of something a shader does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "[f64; 3]", into = "[f64; 3]")]
pub struct Amount {
    /// By its trace, a pixel of the frame.
    pub traced: f64,
    /// The same where quads mask branches instead of taking them ([`Trace::predicated`](warpsight_shader::trace::Trace::predicated)).
    pub masked: f64,
    /// In its text: each reachable block once.
    pub text: f64,
}

impl From<[f64; 3]> for Amount {
    fn from([traced, masked, text]: [f64; 3]) -> Self {
        Self { traced, masked, text }
    }
}

impl From<Amount> for [f64; 3] {
    fn from(amount: Amount) -> Self {
        [amount.traced, amount.masked, amount.text]
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
    /// Operations that are left when a driver's compiler has evaluated what it can ([`Lean`]), by the same names.
    pub lean: BTreeMap<String, Amount>,
    /// Instructions by opcode, those of the extended instruction sets as one.
    pub opcodes: BTreeMap<String, Amount>,
    /// Sizes of the text: `blocks`, `depth` of loops, `functions`, `textures`, `uniforms`.
    pub sizes: BTreeMap<String, f64>,
    /// The shader's own words, in the dialects of the models that are to read it; no table keeps them.
    #[serde(skip)]
    pub words: BTreeMap<Dialect, Tokens>,
}

/// Why there is no row.
#[derive(Debug, thiserror::Error)]
pub enum RowError {
    /// A type or an id is missing.
    #[error(transparent)]
    Module(#[from] ModuleError),
    /// It has no words in a dialect, for instance where it is too long for it.
    #[error(transparent)]
    Words(#[from] TokenError),
}

impl Row {
    /// What models are told of a shader as it was seen, with its words in the dialects of those that read words; where it is from and what
    /// it took is the caller's to fill in. What is too large to be evaluated ([`Seen::lean`]) stands as it is written.
    ///
    /// # Errors
    /// [`RowError`] where a type or an id is missing, or where it is too long for a dialect.
    pub fn of(shader: &Shader, seen: &Seen, dialects: impl IntoIterator<Item = Dialect>) -> Result<Self, RowError> {
        let mut row = Self::wordless(shader, seen)?;
        for dialect in dialects {
            row.words.insert(dialect, dialect.words(&shader.module, &shader.cfg, &seen.trace, seen.lean.as_ref())?);
        }
        Ok(row)
    }

    fn wordless(Shader { module, cfg, .. }: &Shader, Seen { trace, lean, .. }: &Seen) -> Result<Self, ModuleError> {
        let pixels = trace.pixels.max(1) as f64;
        let masked = trace.predicated(cfg);
        // A block's three amounts. A quad is four pixels, some of which may lie outside of the frame.
        let weights: Vec<[f64; 3]> = (0..cfg.blocks.len()).map(|b| [trace.counts[b] / pixels, 4.0 * masked[b] / pixels, 1.0]).collect();
        let features = Features::new(module, cfg)?;
        let sums = [0, 1, 2].map(|which| features.weighted(|block| weights[block][which]));
        let amounts = features::names().iter().enumerate().map(|(at, name)| (name, [0, 1, 2].map(|which: usize| sums[which][at])));
        let operations: BTreeMap<String, Amount> =
            amounts.filter(|(_, of)| of[2] != 0.0).map(|(name, of)| (name.clone(), rounded(of))).collect();
        let mut opcodes: BTreeMap<Op, [f64; 3]> = BTreeMap::new();
        for (block, weights) in cfg.blocks.iter().zip(&weights) {
            for inst in &module.insts()[block.insts.clone()] {
                if !matches!(inst.op, Op::Line | Op::NoLine | Op::Nop) {
                    let sum = opcodes.entry(inst.op).or_default();
                    sum.iter_mut().zip(weights).for_each(|(sum, weight)| *sum += weight);
                }
            }
        }
        let lean = lean.as_ref().map_or_else(|| operations.clone(), |lean| left(lean, &weights));
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
            lean,
            opcodes: opcodes.into_iter().map(|(op, of)| (format!("{op:?}"), rounded(of))).collect(),
            sizes: sizes.map(|(name, size)| (name.to_owned(), size as f64)).into(),
            words: BTreeMap::new(),
        })
    }

    /// The same shader as if nothing were known of how often blocks run: every block once a pixel (paper 004, section 7.2.3).
    #[must_use]
    pub fn untraced(&self) -> Self {
        let once = |amounts: &BTreeMap<String, Amount>| {
            amounts.iter().map(|(name, amount)| (name.clone(), Amount::from([amount.text; 3]))).collect()
        };
        // Pixels are counted: the conversion is exact.
        let words = self.words.iter().map(|(dialect, words)| (*dialect, words.clone().untraced(self.pixels as u64)));
        let (operations, lean, opcodes) = (once(&self.operations), once(&self.lean), once(&self.opcodes));
        Self { operations, lean, opcodes, words: words.collect(), ..self.clone() }
    }

    /// The amount of an operation; none where the shader has it not.
    #[must_use]
    pub fn operation(&self, name: &str) -> Amount {
        self.operations.get(name).copied().unwrap_or_default()
    }
}

/// Amounts of what is left of a shader. A block's weights are those of [`Row::of`].
fn left(lean: &Lean, weights: &[[f64; 3]]) -> BTreeMap<String, Amount> {
    // A pixel at the frame's edge makes a whole quad run.
    let quads = weights.first().map_or(1.0, |w| w[1]);
    let share = |work: &Work| {
        let [traced, masked, _] = weights[work.block];
        if masked > 0.0 { (traced / masked).min(1.0) } else { 0.0 }
    };
    let traced = lean.features(|work| work.times * quads * share(work));
    let masked = lean.features(|work| work.times * quads);
    let text = lean.features(|_| 1.0);
    let amounts = features::names().iter().enumerate().map(|(at, name)| (name, [traced[at], masked[at], text[at]]));
    amounts.filter(|(_, of)| of[1] != 0.0 || of[2] != 0.0).map(|(name, of)| (name.clone(), rounded(of))).collect()
}

/// Amounts to seven digits, as tables keep them: a row is the same before and after.
fn rounded(amounts: [f64; 3]) -> Amount {
    amounts.map(|x| format!("{x:.6e}").parse().unwrap_or(x)).into()
}
