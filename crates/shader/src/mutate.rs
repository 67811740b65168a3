//! Other shaders from one shader, that do the same kind of work more or less often.
//!
//! What a shader costs is learnt from how often its blocks run, and few shaders of packages loop: mutants of a shader's loop bounds,
//! uniforms, frame and textures show other counts of the same blocks. A mutant stays in its parent's group, so that nobody is tested on
//! the relatives of what they learnt from. Equal seeds give equal mutants.

mod bounds;

pub use bounds::{Bound, Number, bounds};

use super::cfg::Cfg;
use super::interpret::{InterpretError, Program};
use super::module::{ComponentType, Module, ModuleError, Type};
use super::scene::{Assumption, Scene, SceneError};
use super::trace::{Trace, mix, sample};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt;

/// By what bounds are multiplied.
const FACTORS: [f64; 4] = [0.5, 2.0, 0.25, 4.0];
/// Frames, in pixels.
const FRAMES: [[u32; 2]; 6] = [[256, 192], [640, 360], [1024, 768], [320, 480], [800, 600], [192, 512]];
/// Sides of textures, in texels.
const SIDES: [u32; 4] = [128, 512, 64, 1024];
/// A mutant whose frame takes fewer instructions more or less than its parent's, as a share, is none.
const NOTICEABLE: f64 = 0.01;
/// The most instructions of a mutant's frame: some seconds of a CPU's core, while a set of them must be measured in minutes.
pub const MOST_INSTRUCTIONS: f64 = 8e9;

/// How a mutant differs from its parent.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// A constant that decides how often a loop runs.
    Bound {
        /// Its source line, or 0.
        line: u32,
        /// What it was.
        from: Number,
        /// What it is.
        to: Number,
    },
    /// Other values of uniforms.
    Uniforms(BTreeMap<String, Vec<f64>>),
    /// Another frame, in pixels.
    Frame([u32; 2]),
    /// Textures of another side, in texels.
    Textures(u32),
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bound { line: 0, from, to } => write!(f, "loop bound {from} → {to}"),
            Self::Bound { line, from, to } => write!(f, "loop bound {from} → {to} (line {line})"),
            Self::Uniforms(values) => {
                let one = |(name, values): (&String, &Vec<f64>)| {
                    let values: Vec<String> = values.iter().map(f64::to_string).collect();
                    format!("{name} = {}", values.join(" "))
                };
                write!(f, "{}", values.iter().map(one).collect::<Vec<_>>().join(", "))
            }
            Self::Frame([width, height]) => write!(f, "frame of {width}×{height}"),
            Self::Textures(side) => write!(f, "textures of {side}×{side}"),
        }
    }
}

/// A shader that is like its parent but for one change.
#[derive(Clone, Debug)]
pub struct Mutant {
    /// What was changed.
    pub change: Change,
    /// Its module, where that is another one than its parent's.
    pub module: Option<Vec<u32>>,
    /// What it is drawn with.
    pub scene: Scene,
}

impl Change {
    /// What a shader is called that differs from its parent by this only in how it is drawn: 16 hexadecimal digits, as those of modules.
    #[must_use]
    pub fn id(&self, parent: &str) -> String {
        let hash = Sha256::digest(format!("{parent} {self}"));
        hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Why a mutant was not kept.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Dropped {
    /// It does what its parent does, as often.
    #[error("it changes nothing: {instructions:.3e} instructions a frame, its parent takes {parent:.3e}")]
    Same {
        /// Its instructions.
        instructions: f64,
        /// Its parent's.
        parent: f64,
    },
    /// It takes too long to be measured.
    #[error("it takes {instructions:.3e} instructions a frame, at most {MOST_INSTRUCTIONS:.0e} are kept")]
    Long {
        /// Its instructions.
        instructions: f64,
    },
    /// It is no module any more.
    #[error(transparent)]
    Module(#[from] ModuleError),
    /// It cannot be drawn so.
    #[error(transparent)]
    Scene(#[from] SceneError),
    /// It cannot be executed, or does not end.
    #[error(transparent)]
    Interpret(#[from] InterpretError),
}

/// Candidates for mutants of a shader that is drawn with `scene`, the most telling first: bounds of loops in turn with uniforms, frames and
/// textures. Whether one is any good is for [`keep`] to say.
///
/// # Errors
/// Those of the scene.
pub fn candidates(module: &Module, cfg: &Cfg, scene: &Scene, seed: u64) -> Result<Vec<Mutant>, SceneError> {
    let with = |change, scene| Mutant { change, module: None, scene };
    let mut random = Random(seed);
    let mut changed = Vec::new();
    for bound in bounds(module, cfg) {
        for (rank, factor) in FACTORS.into_iter().enumerate() {
            if let Some((to, words)) = bound.scaled(module, factor) {
                let change = Change::Bound { line: bound.line, from: bound.value, to };
                changed.push((rank, random.next(), Mutant { change, module: Some(words), scene: scene.clone() }));
            }
        }
    }
    // Every bound once before any twice.
    changed.sort_by_key(|(rank, key, _)| (*rank / 2, *key));
    let bounds = changed.into_iter().map(|(_, _, mutant)| mutant);
    let (_, assumed) = scene.inputs(module)?;
    let uniforms: Vec<Mutant> = (0..4)
        .filter_map(|_| {
            let values = other_uniforms(module, scene, &assumed, &mut random)?;
            let mut scene = scene.clone();
            scene.uniforms.extend(values.clone());
            Some(with(Change::Uniforms(values), scene))
        })
        .collect();
    let frames = random.shuffled(FRAMES.into_iter().filter(|f| *f != scene.frame).collect());
    let frames = frames.into_iter().map(|frame| with(Change::Frame(frame), Scene { frame, ..scene.clone() }));
    let textured = assumed.iter().any(|a| matches!(a, Assumption::Texture { .. }));
    let sides = random.shuffled(SIDES.into_iter().filter(|s| textured && *s != scene.texture).collect());
    let sides = sides.into_iter().map(|texture| with(Change::Textures(texture), Scene { texture, ..scene.clone() }));
    let kinds: [Vec<Mutant>; 4] = [bounds.collect(), uniforms, frames.collect(), sides.collect()];
    let mut kinds = kinds.map(Vec::into_iter);
    let mut out = Vec::new();
    // Bounds are what loops have too few of, so they come every other time.
    let turns = [0, 1, 0, 2, 0, 1, 0, 3];
    while kinds.iter().any(|k| k.len() > 0) {
        out.extend(turns.iter().filter_map(|kind| kinds[*kind].next()));
    }
    Ok(out)
}

/// A mutant's control flow is its parent's, so that its counts can be set beside them: its trace, if it is one to keep.
///
/// # Errors
/// Why it is none; see [`Dropped`].
pub fn keep(mutant: &Mutant, parent: (&Module, &Cfg, &Trace), quads: usize, seed: u64) -> Result<Trace, Dropped> {
    let (parent_module, cfg, before) = parent;
    let module = match &mutant.module {
        Some(words) => &Module::new(words.clone())?,
        None => parent_module,
    };
    let cfg = if mutant.module.is_some() { &Cfg::new(module)? } else { cfg };
    let (inputs, _) = mutant.scene.inputs(module)?;
    let trace = sample(&Program::new(module, cfg)?, &inputs, quads, seed)?;
    let of = |trace: &Trace| trace.total(|b| cfg.blocks[b].insts.len() as f64).value;
    let (instructions, parent) = (of(&trace), of(before));
    if instructions > MOST_INSTRUCTIONS {
        return Err(Dropped::Long { instructions });
    }
    // Textures of another size cost something else even where they are sampled as often.
    let other_memory = matches!(mutant.change, Change::Textures(_));
    if !other_memory && (instructions - parent).abs() <= NOTICEABLE * parent {
        return Err(Dropped::Same { instructions, parent });
    }
    Ok(trace)
}

/// Values for the uniforms that may differ: times anywhere in a minute, progress within its range, others half to twice what they were.
/// Sizes, matrices, the mouse and the date stay, for shaders rely on what they mean.
fn other_uniforms(module: &Module, scene: &Scene, assumed: &[Assumption], random: &mut Random) -> Option<BTreeMap<String, Vec<f64>>> {
    let defaults = assumed.iter().filter_map(|a| match a {
        Assumption::Uniform { name, values } => Some((name.as_str(), values.as_slice())),
        _ => None,
    });
    let given = scene.uniforms.iter().map(|(name, values)| (name.as_str(), values.as_slice()));
    let now: BTreeMap<&str, &[f64]> = defaults.chain(given).collect();
    let mut other = BTreeMap::new();
    for member in module.blocks().ok()?.into_iter().flat_map(|b| b.members) {
        let (whole, components) = match module.ty(member.ty).ok()? {
            Type::Scalar(of) => (!matches!(of, ComponentType::Float { .. }), 1),
            Type::Vector { of, n } => (!matches!(of, ComponentType::Float { .. }), *n as usize),
            _ => continue,
        };
        let Some(values) = now.get(member.name.as_str()).filter(|v| v.len() == components) else { continue };
        let name = member.name.to_lowercase();
        let has = |words: &[&str]| words.iter().any(|w| name.contains(w));
        if has(&["resolution", "size", "viewport", "mouse", "date", "ratio", "aspect", "texel", "pixel", "rate", "matrix", "channel"]) {
            continue;
        }
        let values = values.iter().map(|v| {
            let value = match () {
                () if has(&["delta"]) => *v,
                () if has(&["time"]) => 60.0 * random.part(),
                () if has(&["frame"]) => 3600.0 * random.part(),
                () if has(&["progress"]) => 0.05 + 0.9 * random.part(),
                () => v * (2.0 * random.part() - 1.0).exp2(),
            };
            // Few digits, so that the change can be read and given again.
            if whole { value.round() } else { (value * 1e3).round() / 1e3 }
        });
        other.insert(member.name.clone(), values.collect());
    }
    other.retain(|name, values: &mut Vec<f64>| now.get(name.as_str()).is_none_or(|n| *n != values.as_slice()));
    (!other.is_empty()).then_some(other)
}

/// Numbers from a seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = mix(self.0);
        self.0
    }

    /// At least 0 and below 1.
    fn part(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn shuffled<T>(&mut self, mut items: Vec<T>) -> Vec<T> {
        items.sort_by_cached_key(|_| self.next());
        items
    }
}
