//! Which NVIDIA GPUs there are, and what each can.

use super::Arch;
use super::compile::Toolkit;
use super::driver::{self, Handle, PLAIN_SHARED, attributes, version_name};
use crate::{DeviceError, DeviceInfo, DeviceLimits, Listing};
use cudarc::driver::sys::CUdevice_attribute as Attribute;
use std::collections::BTreeMap;
use std::ffi::c_int;
use warpsight_emit::cuda::PITCH_TEXELS;
use warpsight_ir::TimeSource;

/// Every device, by the driver's ordinals, or why there is none.
pub fn list() -> Listing {
    let (found, skipped) = find();
    Listing { devices: found.into_iter().map(|(_, info)| info).collect(), skipped }
}

/// A device that was found.
pub(super) type Found = (Handle, DeviceInfo);

/// Devices with their handles, and what was passed over.
pub(super) fn find() -> (Vec<Found>, Vec<(String, String)>) {
    let skip = |reason: String| (vec![], vec![("CUDA".to_owned(), reason)]);
    let driver = match driver::driver() {
        Ok(driver) => driver,
        Err(reason) => return skip(reason.to_string()),
    };
    let count = match driver::count(driver) {
        Ok(0) => return skip("the driver knows no device".into()),
        Ok(count) => count,
        Err(error) => return skip(error.to_string()),
    };
    let (mut found, mut skipped) = (Vec::new(), Vec::new());
    let compiler = compiler();
    for ordinal in 0..count {
        match Handle::new(driver, ordinal).and_then(|handle| Ok((handle, describe(handle, ordinal, &compiler)?))) {
            Ok(device) => found.push(device),
            Err(error) => skipped.push((format!("cuda:{ordinal}"), error.to_string())),
        }
    }
    (found, skipped)
}

/// NVRTC's version, or why there is none.
fn compiler() -> String {
    match Toolkit::find() {
        Ok(toolkit) => toolkit.version().unwrap_or_else(|error| format!("none: {error}")),
        Err(error) => format!("none: {error}"),
    }
}

/// The architecture a device needs machine code for: the specific one where there is one, with all its instructions.
pub(super) fn arch(handle: Handle) -> Arch {
    let (major, minor) = capability(handle);
    Arch { capability: major * 10 + minor, specific: major >= 9 }
}

fn capability(handle: Handle) -> (u32, u32) {
    let get = |attribute| handle.attribute(attribute).and_then(|value| u32::try_from(value).ok()).unwrap_or(0);
    (get(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR), get(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR))
}

/// Asks a device what it is and can.
fn describe(handle: Handle, ordinal: c_int, compiler: &str) -> Result<DeviceInfo, DeviceError> {
    use Attribute::*;
    let get = |attribute| handle.attribute(attribute).and_then(|value| u32::try_from(value).ok());
    let dims = [CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z].map(get);
    // Images are read as textures and written as surfaces.
    let least = |a: Option<u32>, b: Option<u32>| a.into_iter().chain(b).min();
    let width = least(get(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH), get(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_WIDTH));
    let height = least(get(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT), get(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_HEIGHT));
    let shared = get(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)
        .into_iter()
        .chain(get(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK))
        .max();
    let total = handle.total_memory()?;
    let version = version_name(handle.driver_version()?);
    let (major, minor) = capability(handle);
    let mut facts: BTreeMap<String, String> =
        attributes::all().filter_map(|(name, attribute)| Some((name, handle.attribute(attribute)?.to_string()))).collect();
    facts.insert("compute_capability".into(), format!("{major}.{minor}"));
    facts.insert("driver_version".into(), version.clone());
    facts.insert("total_memory_bytes".into(), total.to_string());
    facts.insert("nvrtc".into(), compiler.into());
    if let Ok(bus) = handle.bus_id() {
        facts.insert("pci_bus_id".into(), bus);
    }
    if let Ok(uuid) = handle.uuid() {
        facts.insert("uuid".into(), uuid);
    }
    let stand_in = handle.driver.stand_in;
    Ok(DeviceInfo {
        id: format!("cuda:{ordinal}"),
        backend: "cuda".into(),
        name: handle.name()?,
        driver: format!("CUDA {version}{}", if stand_in { " (stand-in)" } else { "" }),
        is_cpu: false,
        limits: DeviceLimits {
            max_group_size: get(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
            max_group_dims: match dims {
                [Some(x), Some(y), Some(z)] => Some([x, y, z]),
                _ => None,
            },
            local_bytes: shared.map(u64::from),
            local_arrays: Some(PLAIN_SHARED.into()),
            image_2d: width.zip(height),
            image_1d: least(get(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH), get(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_WIDTH)),
            image_buffer: get(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH).map(u64::from),
            image_pitch: Some(PITCH_TEXELS),
            max_allocation: None,
            memory: Some(total),
            compute_units: get(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
            f64: true,
            // Arithmetic on halves since compute capability 5.3.
            f16: (major, minor) >= (5, 3),
        },
        clock: Some(if stand_in { TimeSource::Simulated } else { TimeSource::Measured }),
        facts,
    })
}
