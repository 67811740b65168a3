//! GLSL to SPIR-V, by the Khronos reference compiler, which is linked in.
//!
//! The compiler trusts its input: macros that double make gigabytes of a few lines, and what nests deeply overflows its stack.
//! [`isolated::compile`](crate::isolated::compile) gives a text of anyone's to a child process that may take so long, so much memory and a stack of its
//! own; [`fragment`] trusts the text.
//!
//! The crate `glslang` has no option for debug information, which this project lives on (`OpLine`), so that the C interface is called
//! here. The first compilation of a process builds the compiler's tables (about 0.1 s); each after it takes a few milliseconds.

#[cfg(feature = "glsl")]
mod linked;

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How long a child may take to compile a text.
pub const TIMEOUT: Duration = Duration::from_secs(20);
/// How many bytes of memory it may take, its stack among them.
pub const MEMORY: u64 = 2 << 30;
/// The bytes of its stack: a sum of 100,000 terms needs a tenth of it.
pub const STACK: usize = 512 << 20;

/// One message of the compiler.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// The line that `#line` made of it; 0 is none of the user's.
    pub line: Option<u32>,
    /// What it says, without place and severity.
    pub text: String,
}

/// Why there is no module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum CompileError {
    /// The compiler rejects it: its errors in order.
    #[error("{}", .0.first().map_or("the compiler says nothing", |m| m.text.as_str()))]
    Rejected(Vec<Message>),
    /// It took too long and was stopped.
    #[error("the compiler of GLSL was stopped after {seconds} s: what its macros and loops of constants expand to is too much")]
    Slow {
        /// The time that it had.
        seconds: u64,
    },
    /// It took more than [`MEMORY`] or [`STACK`], or failed otherwise.
    #[error(
        "the compiler of GLSL did not survive it ({how}): what its macros expand to takes more than {} GiB, or it nests too deeply",
        MEMORY >> 30
    )]
    Died {
        /// How its process ended.
        how: String,
    },
    /// There is no compiler; the text is not to blame.
    #[error("the compiler of GLSL cannot be asked: {0}")]
    Unavailable(String),
}

impl CompileError {
    /// The first message, where the compiler has some.
    #[must_use]
    pub fn first(&self) -> Option<&Message> {
        if let Self::Rejected(messages) = self { messages.first() } else { None }
    }
}

#[cfg(feature = "glsl")]
pub use linked::{fragment, version};

/// Which compiler this is: none.
#[cfg(not(feature = "glsl"))]
#[must_use]
pub fn version() -> String {
    "none".to_owned()
}

/// Compiles nothing: this build has no compiler.
///
/// # Errors
/// [`CompileError::Unavailable`].
#[cfg(not(feature = "glsl"))]
pub fn fragment(_: &str) -> Result<Vec<u32>, CompileError> {
    Err(CompileError::Unavailable("this program was built without the feature `glsl`".to_owned()))
}

#[cfg(all(test, feature = "glsl"))]
mod tests {
    use super::{fragment, version};

    #[test]
    fn a_shader_becomes_words_with_lines() {
        let words = fragment("#version 450\nlayout(location = 0) out vec4 c;\n#line 70\nvoid main() { c = vec4(1.0); }\n").unwrap();
        assert_eq!((words[0], words[1]), (0x0723_0203, 0x0001_0300));
        // OpLine file 70 column
        assert!(words.windows(3).any(|w| w[0] == 0x0004_0008 && w[2] == 70));
        assert!(version().starts_with("glslang 1"));
    }

    #[test]
    fn errors_have_lines() {
        let error = fragment("#version 450\nlayout(location = 0) out vec4 c;\n#line 7\nvoid main() { c = colour; }\n").unwrap_err();
        let first = error.first().unwrap();
        assert_eq!(first.line, Some(7));
        assert!(first.text.contains("'colour' : undeclared identifier"), "{error:?}");
        assert_eq!(fragment("void main() { \0 }").unwrap_err().to_string(), "the text contains a zero byte");
        assert!(fragment("").is_err());
    }
}
