//! The device a verb works on, and what is known of it.

use crate::failure::{Failure, Kind};
use std::time::Duration;
use warpsight_generate::prune::Allowance;
use warpsight_ir::occupancy::Residency;
use warpsight_ir::{Bytes, Profile, profile};
use warpsight_run::{Device, DeviceInfo};

/// Options of every verb that runs something.
#[derive(clap::Args)]
pub struct TargetArgs {
    /// Where kernels run: sim:adreno640 or opencl:N (see `warpsight devices`).
    #[arg(long, default_value = "sim:adreno640", value_name = "DEVICE")]
    pub device: String,
    /// The profile models judge the device by; by default the one that fits its name.
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,
    /// Run the driver inside this process (a crash or hang of the driver is then ours).
    #[arg(long)]
    pub in_process: bool,
    /// Seconds after which a silent driver is stopped.
    #[arg(long, default_value_t = 120, value_name = "S")]
    pub timeout: u64,
}

/// An open device and what is known of it.
pub struct Target {
    /// The device.
    pub device: Box<dyn Device>,
    /// What models judge it by.
    pub profile: Profile,
    /// What it can run: its own limits where it states them, the profile's otherwise.
    pub allowance: Allowance,
}

/// The built-in profile of that name, if there is one.
fn builtin(name: &str) -> Result<Option<Profile>, Failure> {
    profile::builtin(name).transpose().map_err(|e| Failure::input(e.to_string()))
}

/// The profile of that name.
pub fn profile(name: &str) -> Result<Profile, Failure> {
    if name == "host" {
        return Ok(warpsight_run::host::host_profile());
    }
    builtin(name)?.ok_or_else(|| {
        Failure::input(format!("there is no profile `{name}`")).help(format!("profiles: host, {}", profile::builtin_names().join(", ")))
    })
}

/// What a device can run by its profile alone.
pub fn allowance(profile: &Profile) -> Allowance {
    let known = |fact: &profile::Fact<u32>| fact.get().copied();
    let image = known(&profile.image.max_width).zip(known(&profile.image.max_height));
    Allowance { residency: Residency::of(profile), image }
}

impl TargetArgs {
    /// Opens the device.
    pub fn open(&self) -> Result<Target, Failure> {
        let options = warpsight_run::Options {
            in_process: self.in_process,
            timeout: Duration::from_secs(self.timeout),
            ..warpsight_run::Options::default()
        };
        let device = warpsight_run::open(&self.device, &options)?;
        let profile = self.profile(device.info())?;
        let limits = &device.info().limits;
        let Allowance { mut residency, image } = allowance(&profile);
        residency.max_group_size = limits.max_group_size.or(residency.max_group_size);
        residency.local = limits.local_bytes.map(|b| Bytes(b as f64)).or(residency.local);
        let allowance = Allowance { residency, image: limits.image_2d.or(image) };
        Ok(Target { device, profile, allowance })
    }

    fn profile(&self, info: &DeviceInfo) -> Result<Profile, Failure> {
        if let Some(name) = &self.profile {
            return self::profile(name);
        }
        if let Some(name) = info.id.strip_prefix("sim:")
            && let Some(found) = builtin(name)?
        {
            return Ok(found);
        }
        let wanted = info.name.to_lowercase().replace("(tm)", "").replace([' ', '-'], "");
        for name in profile::builtin_names() {
            if wanted.contains(&name.replace('-', ""))
                && let Some(found) = builtin(name)?
            {
                return Ok(found);
            }
        }
        if info.is_cpu {
            return Ok(warpsight_run::host::host_profile());
        }
        Err(Failure::new(Kind::Input, format!("nothing is known of `{}` that a model could judge it by", info.name))
            .help(format!("--profile takes the nearest of: host, {}", profile::builtin_names().join(", "))))
    }
}
