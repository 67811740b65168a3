//! From a lowered Program to what devices run: named passes, each with a switch, so that what one gains can be shown (paper 001, section 4.1
//! and figure 17).
//!
//! A Program is lowered with coordinates, broadcasts and accesses as they are meant, which is more than the paper's compiler begins with: what
//! its passes add is left out of ours when they are switched off.

pub mod addresses;
mod broadcast;
mod convert;
mod walk;

use addresses::{Sharing, eliminate};
use std::fmt;
use warpsight_ir::{Access, ParamKind, Program, Space};

/// A pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// Tensors may lie in images, and keep their logical coordinates there. Without: in buffers alone.
    SetImage,
    /// Texels of images may lie in other patterns than rows, for inputs and outputs alike: columns and blocks of 2, 4 or 8 (paper 000, section
    /// 5: decided before all other schedules). Not by default, as a part of the space: it is three times as many ways for each tensor to lie. The
    /// best schedules are looked at there in any case ([`ScheduleFamily::elsewhere`](crate::ScheduleFamily::elsewhere)).
    Patterns,
    /// Activations may lie in further strips than blocks of channels: panels of matrices, and pictures with all channels side by side
    /// ([`Place::Strips`](crate::Place::Strips)). Not by default, as a part of the space, and looked at as [`Pass::Patterns`] are: a product of two activations has 27 ways to lie in buffers, by
    /// strips of one width, in place of one, and little was measured to be faster by it (docs/provenance.md, "Strips").
    Strips,
    /// Groups may go several rounds along an axis, and keep what is the same in all of them in registers. Not by default, as a part of the space, which it
    /// makes up to thirteen times as large; the best schedules are looked at with rounds as they are in other places.
    Rounds,
    /// What lies beside a tensor is left to the sampler of its image, which gives zero there, where every index beyond the tensor is a texel
    /// beside the image. Without: a bound is asked before each load. Not by default: a fetch from beside the image takes the texture unit as
    /// long as another one, a load that no lane makes takes nothing.
    Sampler,
    /// A scalar beside a vector is one register that all lanes read. Without: a vector of it is written to private memory first.
    Autobroadcast,
    /// Common parts of addresses are computed once for each loop (Algorithm 1). Without: every access of an image converts a linear index by a
    /// quotient and a remainder (Listing 4), and every access of a buffer sums up its own coordinates.
    Addresses,
    /// So are common parts of what bounds ask, where addresses are. Without: each bound sums up its own.
    Bounds,
    /// What a parameter is used for is said: read alone, and shared with no other. Without: buffers are read and written for all a compiler
    /// knows. Images are always one of both.
    Qualifiers,
    /// Multiples of a loop's variable become sums from trip to trip. Not by default: compilers do it where it helps, and what is summed up so
    /// is no longer known to be affine.
    Strength,
}

impl Pass {
    /// All of them, in the order in which they apply.
    pub const ALL: [Self; 10] = [
        Self::SetImage,
        Self::Patterns,
        Self::Strips,
        Self::Rounds,
        Self::Sampler,
        Self::Autobroadcast,
        Self::Addresses,
        Self::Bounds,
        Self::Qualifiers,
        Self::Strength,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::SetImage => "set_image",
            Self::Patterns => "patterns",
            Self::Strips => "strips",
            Self::Rounds => "rounds",
            Self::Sampler => "sampler",
            Self::Autobroadcast => "autobroadcast",
            Self::Addresses => "addresses",
            Self::Bounds => "bounds",
            Self::Qualifiers => "qualifiers",
            Self::Strength => "strength",
        }
    }
}

/// Which passes apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passes([bool; Pass::ALL.len()]);

impl Default for Passes {
    /// All but [`Pass::Patterns`], [`Pass::Strips`], [`Pass::Rounds`], [`Pass::Sampler`] and [`Pass::Strength`].
    fn default() -> Self {
        Self(Pass::ALL.map(|pass| !matches!(pass, Pass::Patterns | Pass::Strips | Pass::Rounds | Pass::Sampler | Pass::Strength)))
    }
}

impl Passes {
    /// Whether a pass applies.
    pub fn has(self, pass: Pass) -> bool {
        self.0[pass as usize]
    }

    /// The same with a pass switched on or off.
    pub fn set(mut self, pass: Pass, on: bool) -> Self {
        self.0[pass as usize] = on;
        self
    }

    /// What devices run of a lowered Program. Where tensors lie, and what samplers answer, was decided before.
    pub fn apply(self, mut program: Program) -> Program {
        if !self.has(Pass::Autobroadcast) {
            program = broadcast::written_out(program);
        }
        program = if self.has(Pass::Addresses) {
            eliminate(program, Sharing { bounds: self.has(Pass::Bounds), strength: self.has(Pass::Strength) })
        } else {
            convert::from_linear(program)
        };
        if !self.has(Pass::Qualifiers) {
            unqualified(&mut program);
        }
        program
    }
}

/// What differs from the default, in words: nothing where nothing does.
impl fmt::Display for Passes {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let changed = Pass::ALL.into_iter().filter(|&pass| self.has(pass) != Self::default().has(pass));
        changed.into_iter().try_for_each(|pass| write!(f, " {} {}", if self.has(pass) { "with" } else { "without" }, pass.name()))
    }
}

fn unqualified(program: &mut Program) {
    for param in &mut program.params {
        if let ParamKind::Buffer { space: Space::Global, access, .. } = &mut param.kind {
            *access = Access::ReadWrite;
        }
    }
}
