//! The front door: a shader from its source or its module, and what is seen of it in a scene.

use crate::cfg::Cfg;
use crate::interpret::{Inputs, InterpretError, Program};
use crate::lean::Lean;
use crate::module::{Module, ModuleError};
use crate::scene::{Assumption, Scene, SceneError};
use crate::trace::{QUADS, Trace, sample};
use crate::wrap::{self, PASS, Pass, Source, WrapError, Wrapped};
use std::collections::BTreeMap;
use std::error::Error;

/// A fragment shader that was read.
#[derive(Clone, Debug)]
pub struct Shader {
    /// The module; where it was compiled here, its lines are those of the source.
    pub module: Module,
    /// Its control flow.
    pub cfg: Cfg,
    /// Values that its source gives its uniforms.
    pub uniforms: BTreeMap<String, Vec<f64>>,
    /// The passes that it is drawn in, where there are several.
    pub passes: Vec<Pass>,
}

/// Why a source is no shader; the step at which it fails. `E` is what its compiler says.
#[derive(Debug, thiserror::Error)]
pub enum SourceError<E: Error + 'static> {
    /// It is not wrapped.
    #[error(transparent)]
    Wrap(#[from] WrapError),
    /// The compiler rejects it.
    #[error(transparent)]
    Compile(E),
    /// What the compiler made of it cannot be read.
    #[error(transparent)]
    Read(ModuleError),
}

/// How a shader is looked at.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// Which of its passes, where it has several.
    pub pass: Option<usize>,
    /// How many 2×2 quads are executed.
    pub quads: usize,
    /// Which quads: equal seeds give equal quads.
    pub seed: u64,
    /// The most instructions that a quad may take; 0 for what [`Inputs`] has by itself.
    pub budget: u64,
    /// Nothing is assumed: uniforms and textures that nobody gave are errors.
    pub strict: bool,
}

impl Default for View {
    fn default() -> Self {
        Self { pass: None, quads: QUADS, seed: 0, budget: 0, strict: false }
    }
}

/// What is seen of a shader in a scene.
#[derive(Clone, Debug)]
pub struct Seen {
    /// How often its blocks run.
    pub trace: Trace,
    /// What a driver's compiler leaves of it, where it can be evaluated.
    pub lean: Option<Lean>,
    /// What nobody said.
    pub assumptions: Vec<Assumption>,
    /// What it is drawn with.
    pub inputs: Inputs,
}

/// Why a shader is not seen in a scene.
#[derive(Debug, thiserror::Error)]
pub enum SeeError {
    /// The size of its pass cannot be calculated.
    #[error(transparent)]
    Pass(#[from] WrapError),
    /// No scene fits it.
    #[error(transparent)]
    Scene(#[from] SceneError),
    /// A [`View`] that is strict, and a shader that needs these.
    #[error("nothing may be assumed, and these would have to be assumed: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Assumed(Vec<Assumption>),
    /// It cannot be executed.
    #[error(transparent)]
    Interpret(#[from] InterpretError),
}

impl Shader {
    /// Reads a module of words.
    ///
    /// # Errors
    /// [`ModuleError`] where they are no fragment shader that is understood.
    pub fn from_words(words: Vec<u32>) -> Result<Self, ModuleError> {
        Self::new(Module::new(words)?)
    }

    /// Reads a module of bytes, of either byte order.
    ///
    /// # Errors
    /// As of [`Shader::from_words`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ModuleError> {
        Self::new(Module::from_bytes(bytes)?)
    }

    fn new(module: Module) -> Result<Self, ModuleError> {
        let cfg = Cfg::new(&module)?;
        Ok(Self { module, cfg, uniforms: BTreeMap::new(), passes: Vec::new() })
    }

    /// Reads what a compiler made of a wrapped source.
    ///
    /// # Errors
    /// As of [`Shader::from_words`].
    pub fn from_wrapped(wrapped: &Wrapped, mut words: Vec<u32>) -> Result<Self, ModuleError> {
        wrap::forget_own_lines(&mut words);
        Ok(Self { uniforms: wrapped.uniforms.clone(), passes: wrapped.passes.clone(), ..Self::from_words(words)? })
    }

    /// Wraps a source of any dialect, has it compiled, and reads what comes of it. `compile` makes SPIR-V of GLSL for Vulkan.
    ///
    /// # Errors
    /// [`SourceError`] says which step fails; a language that only looks like GLSL is named where the compiler rejects it.
    pub fn from_source<E: Error + 'static>(
        source: &Source,
        compile: impl FnOnce(&str) -> Result<Vec<u32>, E>,
    ) -> Result<Self, SourceError<E>> {
        let wrapped = wrap::wrap(source)?;
        let words =
            compile(&wrapped.glsl).map_err(|error| wrap::foreign(source.text).map_or(SourceError::Compile(error), SourceError::Wrap))?;
        Self::from_wrapped(&wrapped, words).map_err(SourceError::Read)
    }

    /// Traces the shader, or one pass of it, in a scene, and evaluates it as a driver's compiler would. Where the scene has no value for
    /// a uniform, it is the source's; textures are the scene's own, so that scenes cloned of one share them.
    ///
    /// # Errors
    /// [`SeeError`], for instance where no end of a loop is in sight.
    pub fn see(&self, scene: &Scene, view: &View) -> Result<Seen, SeeError> {
        let mut scene = scene.clone();
        for (name, values) in &self.uniforms {
            scene.uniforms.entry(name.clone()).or_insert_with(|| values.clone());
        }
        if let Some((index, pass)) = view.pass.and_then(|index| Some((index, self.passes.get(index)?))) {
            scene.frame = pass.frame(scene.frame, &scene.uniforms)?;
            scene.uniforms.insert(PASS.to_owned(), vec![index as f64]);
        }
        let (mut inputs, assumptions) = scene.inputs(&self.module)?;
        if view.strict && !assumptions.is_empty() {
            return Err(SeeError::Assumed(assumptions));
        }
        inputs.budget = view.budget;
        let program = Program::new(&self.module, &self.cfg)?;
        let trace = sample(&program, &inputs, view.quads, view.seed)?;
        let lean = Lean::of(&program, &self.module, &self.cfg, &inputs, &trace);
        Ok(Seen { trace, lean, assumptions, inputs })
    }
}
