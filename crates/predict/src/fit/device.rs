//! Devices as recordings call them.

use super::FitError;
use warpsight_ir::profile::{Fact, Source, builtin};
use warpsight_ir::{Bytes, BytesPerSecond, Profile};

/// A built-in profile.
pub(super) fn profile(name: &str) -> Result<Profile, FitError> {
    builtin(name).and_then(Result::ok).ok_or_else(|| FitError::Device(name.to_owned()))
}

/// The device of a recording; sisters of a device with a profile have its chip, with other memory or fewer cores.
pub(super) fn device(recorded: &str) -> Result<(String, Profile), FitError> {
    let (name, profile) = match recorded {
        "a100_40" => ("a100-40", "a100-40"),
        "a100_80" => ("a100-80", "a100-80"),
        "h100_pcie" => ("h100", "h100"),
        // The file's h200 copies at a GH200's rate and repeats its rows.
        "gh200" | "h200" => ("gh200", "h200"),
        "mi300a" => ("mi300a", "mi300x"),
        other => (other, other),
    };
    let mut on = self::profile(profile)?;
    let copy = |rate: f64| Fact::known(BytesPerSecond(rate), Source::Measured, "gpu-stream, scale at full occupancy");
    match name {
        "gh200" => {
            on.memory.dram_bandwidth = copy(3.165e12);
            // With 96 GB of memory it has all parts of the chip's second level; the H200 is not stated to.
            let bytes = "device table of te42kyfo/warpspeed, the implementation of paper 002: 30 MiB, half of what there is";
            on.memory.l2.bytes = Fact::known(Bytes(31_457_280.0), Source::Paper, bytes);
            on.memory.l2_effective = Fact::unknown("no chase through both partitions");
        }
        "mi300a" => {
            on.memory.dram_bandwidth = copy(2.956e12);
            on.execution.cores = Fact::known(228, Source::Vendor, "AMD Instinct MI300A datasheet");
        }
        _ => {}
    }
    Ok((name.to_owned(), on))
}
