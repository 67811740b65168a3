//! By which passes Programs are made, and what work-items of a group may meet for.

use super::Target;
use clap::ValueEnum;
use warpsight_generate::{Meeting, Pass};

/// Options of every verb that makes kernels of operators.
#[derive(clap::Args)]
pub struct PassArgs {
    /// What kernels are made without, to see what it gains: what work-items of a group meet for, or a pass of lowering.
    #[arg(long, value_name = "WHAT,…", value_delimiter = ',', value_enum, ignore_case = true)]
    without: Vec<Without>,
    /// Passes of lowering that are not applied by default.
    #[arg(long, value_name = "WHAT,…", value_delimiter = ',', value_enum, ignore_case = true)]
    with: Vec<With>,
}

impl PassArgs {
    /// What work-items may meet for as far as is asked for.
    pub fn meeting(&self) -> Meeting {
        Meeting { copies: !self.without.contains(&Without::Copies), shares: !self.without.contains(&Without::Shares) }
    }

    /// Makes it so for a target.
    pub fn apply(&self, target: &mut Target) {
        self.without.iter().for_each(|what| what.apply(target));
        for what in &self.with {
            target.passes = target.passes.set(what.pass(), true);
        }
    }
}

/// What work-items of a group meet for, and passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Without {
    /// Copies of inputs to local memory, which the work-items of a group make together.
    Copies,
    /// Reductions that work-items share and combine in local memory.
    Shares,
    /// Tensors in images.
    #[value(name = "set_image", alias = "set-image")]
    SetImage,
    /// Scalars beside vectors: each becomes a vector in private memory first.
    Autobroadcast,
    /// Common parts of addresses: texels are found by quotient and remainder of a linear index, each anew.
    Addresses,
    /// Common parts of bounds.
    Bounds,
    /// Whether a buffer is read or written, and that none shares its memory.
    Qualifiers,
}

impl Without {
    fn apply(self, target: &mut Target) {
        let pass = match self {
            Self::Copies => return target.allowance.meeting.copies = false,
            Self::Shares => return target.allowance.meeting.shares = false,
            Self::SetImage => Pass::SetImage,
            Self::Autobroadcast => Pass::Autobroadcast,
            Self::Addresses => Pass::Addresses,
            Self::Bounds => Pass::Bounds,
            Self::Qualifiers => Pass::Qualifiers,
        };
        target.passes = target.passes.set(pass, false);
    }
}

/// Passes that are not applied by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum With {
    /// Texels in columns and in blocks of 2, 4 and 8, beside rows, in all of the space: by default the best schedules alone are judged there.
    Patterns,
    /// Matrices in panels, and pictures with all channels side by side, likewise.
    Strips,
    /// Groups that compute several tiles, one round after the other, and keep in registers what is the same in all of them, likewise.
    Rounds,
    /// Zeros around images come from their samplers where these see every index beyond a tensor, and no bound is asked for them.
    Sampler,
    /// Multiples of a loop's variable become sums from trip to trip.
    Strength,
}

impl With {
    fn pass(self) -> Pass {
        match self {
            Self::Patterns => Pass::Patterns,
            Self::Strips => Pass::Strips,
            Self::Rounds => Pass::Rounds,
            Self::Sampler => Pass::Sampler,
            Self::Strength => Pass::Strength,
        }
    }
}
