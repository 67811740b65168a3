//! Why a shader cannot be executed.

use crate::module::ModuleError;

/// Why a shader cannot be executed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InterpretError {
    /// The module itself is wrong.
    #[error(transparent)]
    Module(#[from] ModuleError),
    /// Operands do not fit the instruction.
    #[error("the module is not valid SPIR-V: {what}{}", at(*line))]
    Invalid {
        /// What is wrong.
        what: &'static str,
        /// The source line, or 0.
        line: u32,
    },
    /// An instruction that fragment shaders of GLSL seldom need.
    #[error("the shader uses {what}, which is not interpreted{}", at(*line))]
    Unsupported {
        /// What it uses.
        what: String,
        /// The source line, or 0.
        line: u32,
    },
    /// Too many values.
    #[error("the shader's values and variables take more than {limit} words")]
    TooLarge {
        /// The most that is accepted.
        limit: u32,
    },
    /// A frame of no or too many pixels.
    #[error("a frame of {width}×{height} pixels: each side must be 1 to 32768")]
    Frame {
        /// Its width.
        width: u32,
        /// Its height.
        height: u32,
    },
    /// No bytes for a block.
    #[error("no values for the block `{name}` (set {set}, binding {binding})")]
    MissingBlock {
        /// What the source calls it.
        name: String,
        /// Descriptor set.
        set: u32,
        /// Binding.
        binding: u32,
    },
    /// Too few bytes for a block.
    #[error("the block `{name}` has {needs} bytes, {given} were given")]
    ShortBlock {
        /// What the source calls it.
        name: String,
        /// Its size.
        needs: u32,
        /// What was given.
        given: usize,
    },
    /// No texture.
    #[error("no texture for `{name}` (set {set}, binding {binding}, element {element})")]
    MissingTexture {
        /// What the source calls it.
        name: String,
        /// Descriptor set.
        set: u32,
        /// Binding.
        binding: u32,
        /// Which of an array.
        element: usize,
    },
    /// A texture of other dimensions.
    #[error("`{name}` wants a texture of the kind {wants}, one of the kind {given} was given")]
    WrongTexture {
        /// What the source calls it.
        name: String,
        /// What the shader declares.
        wants: String,
        /// What was given.
        given: String,
    },
    /// No values for an input of the rasteriser.
    #[error("no values for the input `{name}` at location {location}")]
    MissingVarying {
        /// What the source calls it.
        name: String,
        /// Its location.
        location: u32,
    },
    /// An endless loop, or one that takes too long.
    #[error("a quad took more than {limit} instructions{}: an endless loop, or a budget too small", at(*line))]
    Budget {
        /// The budget of one quad, in instructions.
        limit: u64,
        /// The source line where it ran out, or 0.
        line: u32,
    },
}

fn at(line: u32) -> String {
    if line == 0 { String::new() } else { format!(" (line {line})") }
}
