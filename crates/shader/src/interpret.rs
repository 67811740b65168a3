//! A reference interpreter of fragment shaders.
//!
//! Four invocations, a 2×2 quad of pixels, are executed together, so that derivatives exist. Arithmetic is IEEE's in the order of
//! the instructions; what SPIR-V leaves undefined has a fixed outcome here (variables begin as zeros, indices are clamped, integer
//! division by zero gives zero). Values whose last bits Vulkan leaves to the implementation are followed: whether a branch depended
//! on one is part of the result, since counts of another implementation may then differ.

mod arith;
mod bind;
pub(crate) mod compile;
mod error;
mod glsl;
mod inputs;
mod run;
mod sampling;
mod small;
pub(crate) mod step;
mod texture;
mod vector;

pub use error::InterpretError;
pub use inputs::{Inputs, Varying};
pub use run::Interpreter;
pub use texture::{BadTexture, Kind, Mip, Sampler, Texture, Wrap};

use super::cfg::Cfg;
use super::module::Module;
use std::collections::{BTreeMap, HashMap};
use step::ALL;

/// A shader ready to be executed.
pub struct Program {
    pub(crate) compiled: compile::Compiled,
}

/// What a quad wrote.
#[derive(Clone, Debug, PartialEq)]
pub struct Quad {
    /// For each location the words of up to four components in each lane (left top, right top, left bottom, right bottom).
    pub outputs: BTreeMap<u32, [[u32; 4]; 4]>,
    /// The depth, where the shader writes one.
    pub depth: Option<[f32; 4]>,
    /// Whether each lane is a pixel of the frame that was not discarded.
    pub covered: [bool; 4],
}

impl Program {
    /// Prepares a shader. `cfg` is the module's.
    ///
    /// # Errors
    /// [`InterpretError::Invalid`] where operands do not fit, [`InterpretError::Unsupported`] for what is not interpreted,
    /// [`InterpretError::TooLarge`].
    pub fn new(module: &Module, cfg: &Cfg) -> Result<Self, InterpretError> {
        Ok(Self { compiled: compile::compile(module, cfg)? })
    }

    /// The words of uniforms by their cells.
    pub(crate) fn uniforms(&self, inputs: &Inputs) -> HashMap<u32, u32> {
        bind::uniforms(&self.compiled, inputs)
    }

    /// An interpreter with these inputs.
    ///
    /// # Errors
    /// Inputs that are missing or do not fit.
    pub fn interpreter<'p>(&'p self, inputs: &Inputs) -> Result<Interpreter<'p>, InterpretError> {
        bind::interpreter(&self.compiled, inputs)
    }
}

impl Interpreter<'_> {
    /// Executes the quad whose left top pixel is (2·column, 2·row).
    ///
    /// # Errors
    /// [`InterpretError::Budget`].
    pub fn quad(&mut self, column: u32, row: u32) -> Result<Quad, InterpretError> {
        let [width, height] = self.frame;
        let pixels: [[u32; 2]; 4] = std::array::from_fn(|l| [2 * column + (l as u32 & 1), 2 * row + (l as u32 >> 1)]);
        self.covered = (0..4).filter(|l| pixels[*l][0] < width && pixels[*l][1] < height).fold(0, |m, l| m | 1 << l);
        (self.alive, self.mask, self.spent) = (ALL, ALL, 0);
        for step in &self.program.reset {
            self.step(step)?;
        }
        self.place(&pixels);
        self.call(0, ALL)?;
        let seen = self.covered & self.alive;
        let mut outputs = BTreeMap::<u32, [[u32; 4]; 4]>::new();
        for field in &self.program.slots.outputs {
            let words = outputs.entry(field.location).or_default();
            words.iter_mut().enumerate().for_each(|(lane, w)| w[field.component as usize] = self.word(field.cell, lane));
        }
        let depth = self.program.slots.depth.map(|cell| std::array::from_fn(|l| f32::from_bits(self.word(cell, l))));
        Ok(Quad { outputs, depth, covered: std::array::from_fn(|l| seen >> l & 1 == 1) })
    }

    /// How often each block of the [`Cfg`] was executed by pixels of the frame, over all quads so far. Helper invocations do not
    /// count, from their discard on.
    #[must_use]
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// For each block how often any pixel of a quad executed it: what SIMD units of one quad do.
    #[must_use]
    pub fn quads(&self) -> &[u64] {
        &self.quads
    }

    /// For each block, whether its branch ever depended on a value of implementation-defined precision, or an undefined one.
    #[must_use]
    pub fn rough_branches(&self) -> &[bool] {
        &self.rough_ends
    }

    /// The storage buffer at a descriptor set and binding, as it is now, in words.
    #[must_use]
    pub fn buffer(&self, set: u32, binding: u32) -> Option<&[u32]> {
        let buffers = &self.program.slots.buffers;
        let index = buffers.iter().position(|b| b.at == Some((set, binding)))?;
        let start = |b: &compile::Binding| self.word(b.cell, 0) as usize;
        let end = buffers.get(index + 1).map_or(self.shared.len(), start);
        self.shared.get(start(&buffers[index])..end)
    }
}
