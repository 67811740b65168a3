//! What machine code is made for, and what a multiprocessor of that kind holds.

use crate::cuda::{Arch, Resources};
use std::fmt;
use std::str::FromStr;
use warpsight_ir::occupancy::{CannotRun, Occupancy, Residency, occupancy};
use warpsight_ir::profile;
use warpsight_ir::{Bytes, Feedback};

/// A text that names no architecture.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no architecture: write sm_80, sm_90a, or a compute capability like 9.0")]
pub struct NotAnArch(pub String);

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}{}", self.capability, if self.specific { "a" } else { "" })
    }
}

impl FromStr for Arch {
    type Err = NotAnArch;

    /// Reads `sm_80`, `compute_90a`, `90a`, `9.0`.
    fn from_str(text: &str) -> Result<Self, NotAnArch> {
        let wrong = || NotAnArch(text.to_owned());
        let number = text.strip_prefix("sm_").or_else(|| text.strip_prefix("compute_")).unwrap_or(text);
        let (number, specific) = number.strip_suffix('a').map_or((number, false), |n| (n, true));
        let digits = |s: &str| !s.is_empty() && s.len() <= 3 && s.bytes().all(|b| b.is_ascii_digit());
        let capability = match number.split_once('.') {
            // The minor number is one digit as long as capabilities are written without a point.
            Some((major, minor)) if digits(major) && minor.len() == 1 && digits(minor) => format!("{major}{minor}"),
            None if digits(number) && number.len() >= 2 => number.to_owned(),
            _ => return Err(wrong()),
        };
        let capability = capability.parse().map_err(|_| wrong())?;
        if capability < 10 { Err(wrong()) } else { Ok(Self { capability, specific }) }
    }
}

impl Arch {
    /// `compute_90a`: the architecture of PTX for this machine code.
    pub fn virtual_name(self) -> String {
        self.to_string().replace("sm_", "compute_")
    }

    /// What a multiprocessor holds at once; `None` for architectures of which no profile tells.
    ///
    /// The limits are those of a profile of the same compute capability, or of one that has the same row in the tables "Technical
    /// Specifications per Compute Capability" of the CUDA C++ Programming Guide 13 and in `cuda_occupancy.h`: 10.0 is as 9.0, 12.0 as 8.9.
    pub fn residency(self) -> Option<Residency> {
        let name = match self.capability {
            70 => "v100",
            80 => "a100-40",
            86 => "a40",
            89 | 120 => "l40",
            90 | 100 => "h100",
            _ => return None,
        };
        profile::builtin(name)?.ok().map(|p| Residency::of(&p))
    }
}

impl Resources {
    /// The same in the words every back end uses; spills are stores and loads together.
    pub fn feedback(&self) -> Feedback {
        Feedback {
            registers: Some(self.registers),
            private_bytes: Some(self.stack_bytes.into()),
            spill_bytes: Some(u64::from(self.spill_store_bytes) + u64::from(self.spill_load_bytes)),
            local_bytes: Some(self.shared_bytes.into()),
            max_group_size: None,
            resident_groups: None,
            cached: false,
        }
    }

    /// Blocks of so many threads that a multiprocessor holds at once, without dynamic shared memory; `None` where the architecture's
    /// limits are not known.
    ///
    /// # Errors
    /// Why not even one fits.
    pub fn occupancy(&self, arch: Arch, threads: u32) -> Option<Result<Occupancy, CannotRun>> {
        let limits = arch.residency()?;
        Some(occupancy(&limits, self.registers, threads, Bytes(self.shared_bytes.into())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpsight_ir::occupancy::Resident;

    #[test]
    fn names() {
        for (text, capability, specific) in [
            ("sm_80", 80, false),
            ("sm_90a", 90, true),
            ("90a", 90, true),
            ("9.0", 90, false),
            ("10.0a", 100, true),
            ("compute_86", 86, false),
        ] {
            let arch: Arch = text.parse().unwrap();
            assert_eq!(arch, Arch { capability, specific }, "{text}");
            assert_eq!(arch.to_string().parse(), Ok(arch));
        }
        assert_eq!(Arch { capability: 90, specific: true }.virtual_name(), "compute_90a");
        for text in ["", "sm_", "sm_9", "9", "a", "sm_90b", "9.", ".0", "9.00", "90.0.0", "0.9", "sm_-90", "sm_9999", "+90", "ninety"] {
            assert_eq!(text.parse::<Arch>(), Err(NotAnArch(text.to_owned())), "{text}");
        }
    }

    /// By hand from the sources named above: 40 registers of 256 threads are 8 warps of 1280, of which 65536 registers hold
    /// ⌊16384 / 1280⌋ · 4 = 48; 40 KiB and the reserved KiB fit 164 KiB four times and 228 KiB five times.
    #[test]
    fn blocks_of_a_multiprocessor() {
        let of = |arch: &str, registers, shared_bytes, threads| {
            let resources = Resources { registers, shared_bytes, ..Resources::default() };
            resources.occupancy(arch.parse().unwrap(), threads).map(|o| o.map(|o| (o.groups, o.limiter)))
        };
        assert_eq!(of("sm_80", 40, 0, 256), Some(Ok((6, Some(Resident::Registers)))));
        assert_eq!(of("sm_80", 40, 40 * 1024, 256), Some(Ok((4, Some(Resident::Local)))));
        assert_eq!(of("sm_90a", 40, 40 * 1024, 256), Some(Ok((5, Some(Resident::Local)))));
        assert_eq!(of("sm_89", 16, 0, 1024), Some(Ok((1, Some(Resident::Warps)))));
        assert_eq!(of("sm_80", 16, 0, 32), Some(Ok((32, Some(Resident::Groups)))));
        assert!(matches!(of("sm_80", 128, 0, 1024), Some(Err(CannotRun::Registers { .. }))));
        assert_eq!(of("sm_120", 16, 0, 1024), of("sm_89", 16, 0, 1024));
        // Before 8.0 nothing is reserved.
        assert_eq!(of("sm_70", 16, 48 * 1024, 128), Some(Ok((2, Some(Resident::Local)))));
        assert_eq!(of("sm_75", 16, 0, 32), None);
    }
}
