//! Back ends in this process.

use crate::absent::{ABSENT, absent};
#[cfg(feature = "cuda")]
use crate::cuda::{self, Cuda};
#[cfg(feature = "opencl")]
use crate::opencl::{self, OpenCl};
use crate::sim::Sim;
use crate::vulkan::{self, Renderer, Vulkan};
use crate::{Device, DeviceError, Listing};
use std::path::PathBuf;

/// A device that runs Programs, by its id; `cache` keeps compiled ones.
pub(crate) fn open(id: &str, cache: Option<PathBuf>) -> Result<Box<dyn Device>, DeviceError> {
    match id.split_once(':') {
        #[cfg(feature = "opencl")]
        Some(("opencl", _)) => Ok(Box::new(OpenCl::open(id, cache)?.without_second_cache())),
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

/// A device that draws, by its id.
pub(crate) fn renderer(id: &str) -> Result<Box<dyn Renderer>, DeviceError> {
    Ok(Box::new(Vulkan::open(id)?))
}

/// The devices of one back end; `None` for what is no back end with a driver.
pub(crate) fn list(backend: &str) -> Option<Listing> {
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
