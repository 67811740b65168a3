//! What can be wrong with a module.

use super::{Id, MAX_CELLS, MAX_WORDS};

/// Why a module cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModuleError {
    /// Not a whole number of words.
    #[error("this is no SPIR-V: {bytes} bytes are no whole number of words")]
    NotWords {
        /// How many bytes there are.
        bytes: usize,
    },
    /// No magic number.
    #[error("this is no SPIR-V: it does not begin with its magic number")]
    NotSpirv,
    /// Too long to be a shader.
    #[error("the module has {words} words, more than the {MAX_WORDS} that are read")]
    TooLong {
        /// Its words.
        words: usize,
    },
    /// A version nobody knows.
    #[error("the module's version word is {word:#010x}; SPIR-V 1.0 to 1.6 can be read")]
    Version {
        /// The second word of the module.
        word: u32,
    },
    /// The end is missing.
    #[error("the module ends within an instruction or function, at word {at}")]
    Truncated {
        /// Where it ends.
        at: usize,
    },
    /// An instruction of no words, or with too few operands.
    #[error("the instruction at word {at} has {words} words; its grammar wants at least {least}")]
    WordCount {
        /// Where it stands.
        at: usize,
        /// What it says of itself.
        words: usize,
        /// What it needs.
        least: usize,
    },
    /// No such instruction.
    #[error("the instruction at word {at} has the unknown opcode {opcode}")]
    UnknownOpcode {
        /// Where it stands.
        at: usize,
        /// What it says.
        opcode: u32,
    },
    /// An id out of the range that the module announces.
    #[error("id {id} is not below the module's bound {bound}")]
    Bound {
        /// The id.
        id: Id,
        /// The bound of the header.
        bound: u32,
    },
    /// Two definitions.
    #[error("id {id} is defined twice")]
    Twice {
        /// The id.
        id: Id,
    },
    /// No definition.
    #[error("id {id} is used, but defined nowhere")]
    Undefined {
        /// The id.
        id: Id,
    },
    /// Something else stands where a type should.
    #[error("id {id} is no type, has none, or is used before it is defined")]
    NoType {
        /// The id.
        id: Id,
    },
    /// A variable that is no pointer.
    #[error("id {id} should be a pointer")]
    NoPointer {
        /// The id.
        id: Id,
    },
    /// A type out of all proportion.
    #[error("a value of type {id} would have more than {MAX_CELLS} words")]
    TypeTooLarge {
        /// The type.
        id: Id,
    },
    /// Blocks or functions where they cannot be.
    #[error("{what} (word {at})")]
    Structure {
        /// Where.
        at: usize,
        /// What is wrong.
        what: &'static str,
    },
    /// No entry point.
    #[error("the module has no entry point")]
    NoEntryPoint,
    /// More than one that could be meant.
    #[error("the module has several fragment shaders: {names}; one alone is read")]
    Several {
        /// Their names.
        names: String,
    },
    /// Another stage.
    #[error("this is a shader of the stage {found}; only fragment shaders are read")]
    Stage {
        /// Its stage.
        found: String,
    },
    /// Valid, but nothing glslang writes for a fragment shader.
    #[error("the module uses {what}, which is not supported")]
    Unsupported {
        /// What it uses.
        what: &'static str,
    },
}
