//! Opening devices by their ids, and listing them.

use crate::cache::default_directory;
#[cfg(feature = "cuda")]
use crate::cuda::{self, Cuda};
use crate::isolated::{self, Isolated};
#[cfg(feature = "opencl")]
use crate::opencl::{self, OpenCl};
use crate::sim::Sim;
use crate::vulkan;
use crate::{Device, DeviceError, Listing};
use std::path::PathBuf;
use std::time::Duration;

/// How devices are opened.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Runs drivers in this process: one that crashes or hangs takes it along.
    pub in_process: bool,
    /// Runs the simulator in a process of its own as drivers are, so that a long job can be stopped.
    pub simulator_too: bool,
    /// Where compiled programs are kept; `None` keeps none.
    pub cache: Option<PathBuf>,
    /// How long a job, or one request of a session, may take before its driver is killed. Without effect `in_process`.
    pub timeout: Duration,
    /// The program that is started as a child, one whose `main` begins with [`crate::child_main`]; by default this executable.
    pub program: Option<PathBuf>,
}

impl Default for Options {
    /// Isolated, the cache in its default directory, two minutes for a job.
    fn default() -> Self {
        Self { in_process: false, simulator_too: false, cache: default_directory(), timeout: Duration::from_secs(120), program: None }
    }
}

impl Options {
    /// The program that is started as a child.
    pub(crate) fn program(&self) -> Result<PathBuf, DeviceError> {
        match &self.program {
            Some(program) => Ok(program.clone()),
            None => std::env::current_exe().map_err(|error| DeviceError::Lost(format!("this executable's path is unknown: {error}"))),
        }
    }
}

/// Opens a device: `opencl:N` or `cuda:N` as [`devices`] numbers them, `sim:NAME`, or `sim:FILE.toml` for a simulated GPU of one's own.
///
/// # Errors
/// [`DeviceError::NoDevice`] says what there is; [`DeviceError::Driver`], [`DeviceError::Lost`] and [`DeviceError::Timeout`] when
/// a driver fails to open it.
pub fn open(id: &str, options: &Options) -> Result<Box<dyn Device>, DeviceError> {
    // Names of files keep their case.
    let id = &id.split_once(':').map_or_else(|| id.to_owned(), |(backend, own)| format!("{}:{own}", backend.to_lowercase()));
    let apart = options.simulator_too || id.starts_with("opencl:") || id.starts_with("cuda:");
    if options.in_process || !apart {
        return open_here(id, options.cache.clone());
    }
    Ok(Box::new(Isolated::spawn(id, &options.program()?, options.timeout, options.cache.clone())?))
}

/// [`open`] in this process.
pub(crate) fn open_here(id: &str, cache: Option<PathBuf>) -> Result<Box<dyn Device>, DeviceError> {
    match id.split_once(':') {
        #[cfg(feature = "opencl")]
        Some(("opencl", _)) => Ok(Box::new(OpenCl::open(id, cache)?)),
        #[cfg(feature = "cuda")]
        Some(("cuda", _)) => Ok(Box::new(Cuda::open(id, cache)?)),
        Some(("sim", name)) => Ok(Box::new(Sim::open(name)?)),
        Some((backend, _)) if ABSENT.contains(&backend) => Err(DeviceError::NoDevice { id: id.into(), reason: absent(backend) }),
        _ => Err(DeviceError::NoDevice {
            id: id.into(),
            reason: "ids are `opencl:N`, `cuda:N` and `sim:NAME`; `vulkan:N` draws shaders only".into(),
        }),
    }
}

/// Every device that can be opened here, and what was passed over.
pub fn devices(options: &Options) -> Listing {
    let mut listing = Listing::default();
    for (backend, name) in [("opencl", "OpenCL"), ("cuda", "CUDA")] {
        let found = listed(backend, name, options);
        listing.devices.extend(found.devices);
        listing.skipped.extend(found.skipped);
    }
    listing.devices.extend(Sim::all().into_iter().map(|sim| sim.info().clone()));
    listing
}

/// Every device that draws shaders ([`vulkan::open`]), and what was passed over.
pub fn renderers(options: &Options) -> Listing {
    listed("vulkan", "Vulkan", options)
}

/// The devices of one back end, each asked in a child of its own: a driver that crashes when it is asked does not hide the others.
fn listed(backend: &str, name: &str, options: &Options) -> Listing {
    if options.in_process {
        return list_here(backend).unwrap_or_default();
    }
    let found = options.program().and_then(|program| isolated::list(backend, &program, options.timeout));
    found.unwrap_or_else(|error| Listing { devices: vec![], skipped: vec![(name.into(), error.to_string())] })
}

/// The devices of one back end, asked in this process; `None` for what is no back end with a driver.
pub(crate) fn list_here(backend: &str) -> Option<Listing> {
    match backend {
        #[cfg(feature = "opencl")]
        "opencl" => Some(opencl::list()),
        #[cfg(feature = "cuda")]
        "cuda" => Some(cuda::list()),
        "vulkan" => Some(vulkan::list()),
        backend if ABSENT.contains(&backend) => Some(Listing { devices: vec![], skipped: vec![(backend.into(), absent(backend))] }),
        _ => None,
    }
}

/// Back ends that this build leaves out.
const ABSENT: &[&str] = &[
    #[cfg(not(feature = "opencl"))]
    "opencl",
    #[cfg(not(feature = "cuda"))]
    "cuda",
];

/// Why a back end is not there.
pub(crate) fn absent(backend: &str) -> String {
    format!("this program was built without the feature `{backend}`")
}

#[cfg(all(test, feature = "opencl", feature = "cuda"))]
mod tests {
    use super::*;

    #[test]
    fn ids_choose_the_back_end() {
        let options = Options { in_process: true, cache: None, ..Options::default() };
        assert_eq!(open("sim:adreno640", &options).unwrap().info().backend, "sim");
        for id in ["", "sim", "cuda:0", "opencl", "opencl:", "opencl:x", "sim:"] {
            let error = open(id, &options).err();
            assert!(matches!(&error, Some(DeviceError::NoDevice { id: asked, .. }) if asked == id), "{id}: {error:?}");
        }
    }

    #[test]
    fn what_is_listed_can_be_opened() {
        let options = Options { in_process: true, cache: None, ..Options::default() };
        let listing = devices(&options);
        assert!(listing.devices.iter().any(|device| device.id == "sim:adreno640"));
        for info in &listing.devices {
            assert_eq!(open(&info.id, &options).unwrap().info(), info);
        }
    }

    #[test]
    fn a_listing_survives_a_child_that_fails() {
        let listing = devices(&Options { program: Some("/no/such/program".into()), ..Options::default() });
        assert_eq!(listing.devices.len(), Sim::all().len());
        let names: Vec<&str> = listing.skipped.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["OpenCL", "CUDA"]);
        assert!(listing.skipped.iter().all(|(_, reason)| reason.contains("could not be started")));
    }
}
