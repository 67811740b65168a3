//! Which OpenCL devices there are, and what each can.

use super::ffi::call;
use crate::{DeviceError, DeviceInfo, DeviceLimits, Listing};
use opencl3::device::{CL_DEVICE_TYPE_ALL, Device};
use opencl3::platform::{Platform, get_platforms};
use opencl3::types::cl_device_id;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use warpsight_ir::TimeSource;

/// Held while drivers are loaded and asked: loading them from two threads at once crashes (seen with ocl-icd and PoCL 3.1).
static LOADING: Mutex<()> = Mutex::new(());

/// A device that was found.
pub(super) struct Found {
    pub(super) id: cl_device_id,
    pub(super) info: DeviceInfo,
}

/// Every OpenCL device, numbered over all platforms in the loader's order, and why platforms were left out.
pub fn list() -> Listing {
    let (found, skipped) = find();
    Listing { devices: found.into_iter().map(|device| device.info).collect(), skipped }
}

/// Devices with their handles. A platform that fails or has no device is skipped with its reason; the others are still listed.
pub(super) fn find() -> (Vec<Found>, Vec<(String, String)>) {
    let _loading = LOADING.lock().unwrap_or_else(PoisonError::into_inner);
    let mut found: Vec<Found> = Vec::new();
    let mut skipped = Vec::new();
    if let Err(error) = cl3::load_library() {
        return (found, vec![("OpenCL".into(), format!("the OpenCL loader (libOpenCL) cannot be loaded: {error}"))]);
    }
    let platforms = match get_platforms() {
        Ok(platforms) if platforms.is_empty() => {
            return (found, vec![("OpenCL".into(), "the loader knows no platform (no driver is registered)".into())]);
        }
        Ok(platforms) => platforms,
        Err(error) => return (found, vec![("OpenCL".into(), format!("clGetPlatformIDs failed with {error}"))]),
    };
    for (index, platform) in platforms.iter().enumerate() {
        let name = platform.name().map(|name| clean(&name)).unwrap_or_else(|_| format!("platform {index}"));
        let devices = match platform.get_devices(CL_DEVICE_TYPE_ALL) {
            Ok(devices) if devices.is_empty() => {
                skipped.push((name, "it has no device".into()));
                continue;
            }
            Ok(devices) => devices,
            Err(error) => {
                let reason = match error.to_string().as_str() {
                    "CL_DEVICE_NOT_FOUND" => "it has no device".into(),
                    code => format!("clGetDeviceIDs failed with {code}"),
                };
                skipped.push((name, reason));
                continue;
            }
        };
        for id in devices {
            match describe(platform, &Device::new(id), found.len()) {
                Ok(info) => found.push(Found { id, info }),
                Err(error) => skipped.push((name.clone(), error.to_string())),
            }
        }
    }
    (found, skipped)
}

/// Asks a device what it is and can.
fn describe(platform: &Platform, device: &Device, index: usize) -> Result<DeviceInfo, DeviceError> {
    let info = call("clGetDeviceInfo");
    let name = device.name().map_err(info)?;
    if !device.compiler_available().unwrap_or(true) {
        return Err(DeviceError::Driver { call: format!("compiler of {}", clean(&name)), code: "it has no compiler".into() });
    }
    let platform_name = platform.name().unwrap_or_default();
    let platform_version = platform.version().unwrap_or_default();
    let driver = device.driver_version().unwrap_or_default();
    let extensions = device.extensions().unwrap_or_default();
    let has = |extension: &str| extensions.split_whitespace().any(|e| e == extension);
    let images = device.image_support().unwrap_or(false);
    let image_2d = match (device.image2d_max_width(), device.image2d_max_height()) {
        _ if !images => Some((0, 0)),
        (Ok(width), Ok(height)) => Some((clamp(width), clamp(height))),
        _ => None,
    };
    // The call is OpenCL 2.0's, or the extension's.
    let pitch = device.image_pitch_alignment().unwrap_or(0);
    let dims = device.max_work_item_sizes().ok().filter(|sizes| sizes.len() >= 3);
    Ok(DeviceInfo {
        id: format!("opencl:{index}"),
        backend: "opencl".into(),
        name: clean(&name),
        driver: clean(&format!("{platform_name} / {driver} / {platform_version}")),
        limits: DeviceLimits {
            max_group_size: device.max_work_group_size().ok().map(clamp),
            max_group_dims: dims.map(|sizes| [clamp(sizes[0]), clamp(sizes[1]), clamp(sizes[2])]),
            local_bytes: device.local_mem_size().ok(),
            local_arrays: None,
            image_2d,
            image_1d: image_2d.map(|(width, _)| width),
            image_buffer: if images { device.image_max_buffer_size().ok().map(|texels| texels as u64) } else { Some(0) },
            image_pitch: Some(if images { pitch } else { 0 }),
            max_allocation: device.max_mem_alloc_size().ok(),
            memory: device.global_mem_size().ok(),
            compute_units: device.max_compute_units().ok(),
            f64: has("cl_khr_fp64") || device.double_fp_config().is_ok_and(|config| config != 0),
            f16: has("cl_khr_fp16"),
        },
        facts: facts(device),
        is_cpu: device.dev_type().is_ok_and(|kind| kind & opencl3::device::CL_DEVICE_TYPE_CPU != 0),
        clock: Some(TimeSource::Measured),
    })
}

/// What drivers say beyond limits, under the names that CUDA's attributes have.
fn facts(device: &Device) -> BTreeMap<String, String> {
    let megahertz = device.max_clock_frequency().ok().filter(|megahertz| *megahertz > 0);
    megahertz.map(|megahertz| ("clock_rate".into(), (u64::from(megahertz) * 1000).to_string())).into_iter().collect()
}

/// A size as 32 bits; larger limits than any launch could use need no more.
fn clamp(size: usize) -> u32 {
    u32::try_from(size).unwrap_or(u32::MAX)
}

/// Strings of drivers without padding and terminators.
fn clean(text: &str) -> String {
    text.trim_matches(|c: char| c == '\0' || c.is_whitespace()).split_whitespace().collect::<Vec<_>>().join(" ")
}
