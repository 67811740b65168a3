//! Devices as the driver numbers them, and what it says of each.
#![allow(unsafe_code, reason = "the CUDA driver is a C interface")]

use super::functions::Functions;
use super::{check, cu};
use crate::DeviceError;
use cudarc::driver::sys::*;
use std::ffi::{c_char, c_int};

/// A device by its ordinal.
#[derive(Clone, Copy)]
pub(crate) struct Handle {
    pub(crate) driver: &'static Functions,
    pub(super) device: CUdevice,
}

/// How many devices the driver has.
pub(crate) fn count(driver: &Functions) -> Result<c_int, DeviceError> {
    let mut count = 0;
    cu!(driver, cuDeviceGetCount(&mut count))?;
    Ok(count)
}

impl Handle {
    pub(crate) fn new(driver: &'static Functions, ordinal: c_int) -> Result<Self, DeviceError> {
        let mut device = 0;
        cu!(driver, cuDeviceGet(&mut device, ordinal))?;
        Ok(Self { driver, device })
    }

    pub(crate) fn name(self) -> Result<String, DeviceError> {
        self.text("cuDeviceGetName", self.driver.cuDeviceGetName)
    }

    pub(crate) fn bus_id(self) -> Result<String, DeviceError> {
        self.text("cuDeviceGetPCIBusId", self.driver.cuDeviceGetPCIBusId)
    }

    fn text(self, call: &str, function: unsafe extern "C" fn(*mut c_char, c_int, CUdevice) -> u32) -> Result<String, DeviceError> {
        let mut text = [0u8; 256];
        // SAFETY: the driver writes at most as many bytes as it is told.
        check(self.driver, call, unsafe { function(text.as_mut_ptr().cast(), 255, self.device) })?;
        let end = text.iter().position(|&byte| byte == 0).unwrap_or(text.len());
        Ok(String::from_utf8_lossy(&text[..end]).split_whitespace().collect::<Vec<_>>().join(" "))
    }

    /// As `nvidia-smi` writes it: `GPU-xxxxxxxx-xxxx-…`.
    pub(crate) fn uuid(self) -> Result<String, DeviceError> {
        let mut uuid = CUuuid { bytes: [0; 16] };
        cu!(self.driver, cuDeviceGetUuid_v2(&mut uuid, self.device))?;
        let hex = |bytes: &[c_char]| bytes.iter().map(|&byte| format!("{:02x}", byte as u8)).collect::<String>();
        let part = |from: usize, to: usize| hex(&uuid.bytes[from..to]);
        Ok(format!("GPU-{}-{}-{}-{}-{}", part(0, 4), part(4, 6), part(6, 8), part(8, 10), part(10, 16)))
    }

    pub(crate) fn total_memory(self) -> Result<u64, DeviceError> {
        let mut bytes = 0;
        cu!(self.driver, cuDeviceTotalMem_v2(&mut bytes, self.device))?;
        Ok(bytes as u64)
    }

    /// `None` for an attribute this driver does not know.
    pub(crate) fn attribute(self, attribute: CUdevice_attribute) -> Option<c_int> {
        let mut value = 0;
        cu!(self.driver, cuDeviceGetAttribute(&mut value, attribute, self.device)).ok()?;
        Some(value)
    }

    pub(crate) fn driver_version(self) -> Result<c_int, DeviceError> {
        let mut version = 0;
        cu!(self.driver, cuDriverGetVersion(&mut version))?;
        Ok(version)
    }
}
