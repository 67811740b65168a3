//! What happens between two launches of a kernel.

use crate::units::Bytes;

/// What other launches touch before a kernel comes again: nothing where it is launched again and again.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Meanwhile {
    /// What the kernels of a network hand on to each other, which is met again soon.
    pub handed: Bytes,
    /// That and all constants of the network: what lies between two meetings of one that is [known](crate::Kernel::known).
    pub pass: Bytes,
}

impl Meanwhile {
    /// What counts for a tensor that is known, or for another one.
    pub fn bytes(&self, known: bool) -> f64 {
        if known { self.pass.0.max(self.handed.0) } else { self.handed.0 }
    }
}
