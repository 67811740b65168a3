//! The device a verb works on, and what is known of it.

pub mod judging;
pub mod model;
pub mod passes;
pub mod profiles;

use crate::failure::{Failure, Kind};
use crate::names;
use crate::report::out;
use clap::builder::RangedU64ValueParser;
use model::Model;
use profiles::{builtin, of_simulated, profiles};
use std::collections::BTreeMap;
use std::time::Duration;
use warpsight_engine::tune::within;
use warpsight_generate::Passes;
use warpsight_generate::prune::Allowance;
use warpsight_ir::{Profile, profile};
use warpsight_run::{Device, DeviceInfo, Remembered};

/// Options of every verb that runs something.
#[derive(clap::Args)]
pub struct TargetArgs {
    /// Where kernels run: opencl:N, cuda:N, or simulated: sim:NAME, sim:FILE.toml; `warpsight devices` lists what is found.
    #[arg(long, default_value = "sim:adreno640", value_name = "DEVICE")]
    pub device: String,
    /// The profile models judge the device by, or a file of one (.toml). By default the one that fits the device's name; of a
    /// simulated phone NAME it is sim-NAME, what a probe found of it.
    #[arg(long, value_name = "NAME", value_parser = names::suggested(profiles()))]
    pub profile: Option<String>,
    /// Run the driver inside this process (a crash or hang of the driver is then ours).
    #[arg(long, conflicts_with = "timeout")]
    pub in_process: bool,
    /// Seconds after which a silent driver is stopped; with a number the simulator is stopped likewise [default: 120].
    #[arg(long, value_name = "S", value_parser = seconds(0))]
    pub timeout: Option<u64>,
}

/// Seconds to wait for a driver: a day at most.
pub fn seconds(least: u64) -> RangedU64ValueParser {
    clap::value_parser!(u64).range(least..=86_400)
}

/// An open device and what is known of it.
pub struct Target {
    /// The device.
    pub device: Box<dyn Device>,
    /// What models judge it by.
    pub profile: Profile,
    /// What it can run: its own limits where it states them, the profile's otherwise.
    pub allowance: Allowance,
    /// By which passes Programs are made.
    pub passes: Passes,
    /// By which model.
    pub model: Model,
}

impl TargetArgs {
    /// Whether a device that is lost says little of the kernel by which it was: it had less time than usual, or what went before it may have done it.
    pub fn is_limited(&self) -> bool {
        self.timeout.is_some() || self.in_process
    }

    /// Opens the device.
    pub fn open(&self) -> Result<Target, Failure> {
        let mut options = warpsight_run::Options { in_process: self.in_process, ..warpsight_run::Options::default() };
        if let Some(seconds) = self.timeout {
            options.timeout = Duration::from_secs(seconds);
            options.simulator_too = true;
        }
        let device = warpsight_run::open(&self.device, &options)?;
        let profile = self.profile(device.info())?;
        let allowance = within(Allowance::of(&profile), &device.info().limits);
        Ok(Target { device, profile, allowance, passes: Passes::default(), model: Model::default() })
    }

    fn profile(&self, info: &DeviceInfo) -> Result<Profile, Failure> {
        if let Some(name) = &self.profile {
            return profiles::profile(name);
        }
        if let Some(name) = info.id.strip_prefix("sim:")
            && let Some(found) = of_simulated(name)?
        {
            return Ok(found);
        }
        for name in by_detail() {
            if names(&info.name, name)
                && let Some(found) = builtin(name)?
                && same_cores(info, &found)
            {
                // A file of a simulated device is judged as the device it was made from.
                let simulated = if info.backend == "sim" { of_simulated(name)? } else { None };
                return Ok(simulated.unwrap_or(found));
            }
        }
        if info.is_cpu {
            return Ok(warpsight_run::host::host_profile());
        }
        Err(Failure::new(Kind::Input, format!("nothing is known of `{}` that a model could judge it by", info.name))
            .help(format!("--profile takes the nearest of: {}", profiles().join(", "))))
    }
}

impl Target {
    /// The same, on which Programs that failed before, by their texts, are not tried again.
    pub fn remembering(self, failed: BTreeMap<String, String>) -> Self {
        Self { device: Box::new(Remembered::new(self.device, failed)), ..self }
    }

    /// Under a report: what runs the kernels (of a simulated device, how much of it is assumed), and what the model knows of it.
    pub fn told(&self) -> Result<(), Failure> {
        let info = self.device.info();
        out(format_args!("{}: {}; judged by the profile {}", info.id, info.driver, self.profile.name))
    }
}

/// The names of built-in profiles, those of more parts first: an H100 NVL is no H100 of another kind.
fn by_detail() -> Vec<&'static str> {
    let mut names = profile::builtin_names();
    names.sort_by_key(|name| std::cmp::Reverse(name.split('-').count()));
    names
}

/// Whether a driver's name of a device means the profile: every part of the profile's name is whole words of it, so that an A4000 is no
/// A40 and a GH200 no H200; a capacity may be followed by its unit, as in A100-SXM4-40GB for `a100-40`.
pub fn names(device: &str, profile: &str) -> bool {
    let device = device.to_lowercase().replace("(tm)", " ");
    let words: Vec<&str> = device.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).collect();
    let found = |part: &str| {
        words.iter().any(|w| w.strip_suffix("gb") == Some(part))
            || (0..words.len()).any(|i| (i + 1..=words.len()).any(|j| words[i..j].concat() == part))
    };
    profile.split('-').all(found)
}

/// Whether a device that counts its multiprocessors has as many as the profile: an H100 with HBM3 has more than the PCIe card of that name.
fn same_cores(info: &DeviceInfo, profile: &Profile) -> bool {
    let stated = info.facts.get("multiprocessor_count").and_then(|n| n.parse::<u32>().ok());
    stated.is_none_or(|stated| profile.execution.cores.get().is_none_or(|&cores| cores == stated))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drivers_names_of_devices() {
        for (device, wanted) in [
            ("QUALCOMM Adreno(TM) 640", Some("adreno640")),
            ("Mali-G76 MP5", Some("mali-g76")),
            ("NVIDIA A100-SXM4-40GB", Some("a100-40")),
            ("NVIDIA A100 80GB PCIe", Some("a100-80")),
            ("Tesla V100-SXM2-16GB", Some("v100")),
            ("NVIDIA A40", Some("a40")),
            ("NVIDIA H200", Some("h200")),
            ("AMD Radeon RX 6900 XT", Some("rx6900xt")),
            ("AMD Instinct MI250X", Some("mi250x")),
            ("NVIDIA RTX A4000", Some("a4000")),
            ("NVIDIA L40S", Some("l40s")),
            ("NVIDIA GeForce RTX 2080 Ti", Some("rtx2080ti")),
            ("NVIDIA GeForce RTX 2080", None),
            ("AMD Radeon RX 7900 XTX", Some("rx7900xtx")),
            ("AMD Radeon PRO W6600", Some("w6600")),
            ("NVIDIA H100 NVL", Some("h100-nvl")),
            ("NVIDIA L4", Some("l4")),
            ("NVIDIA GH200 480GB", None),
            ("NVIDIA A100-SXM4-400GB", None),
            ("cpu-haswell", None),
        ] {
            let found = by_detail().into_iter().find(|name| names(device, name));
            assert_eq!(found, wanted, "{device}");
        }
    }

    #[test]
    fn an_h100_with_other_multiprocessors_is_not_the_profiles() {
        let h100 = profile::builtin("h100").unwrap().unwrap();
        let with = |count: &str| DeviceInfo { facts: [("multiprocessor_count".into(), count.into())].into(), ..info() };
        assert!(same_cores(&with("114"), &h100) && !same_cores(&with("132"), &h100) && same_cores(&info(), &h100));
    }

    fn info() -> DeviceInfo {
        DeviceInfo {
            id: "cuda:0".into(),
            backend: "cuda".into(),
            name: "NVIDIA H100".into(),
            driver: String::new(),
            is_cpu: false,
            limits: warpsight_run::DeviceLimits::default(),
            clock: None,
            facts: std::collections::BTreeMap::new(),
        }
    }
}
