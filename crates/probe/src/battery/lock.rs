//! Only one battery at a time, per folder and per device. The system takes locks back when their process ends, however it ends.

use super::BatteryError;
use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;
use warpsight_run::DeviceInfo;

/// Takes the lock in a file, which is made where there is none: `None` where another process holds it.
pub(super) fn lock(path: &Path) -> Result<Option<File>, std::io::Error> {
    // A file of another user cannot be written, but locked.
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(path).or_else(|_| File::open(path))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// While it lives, no other battery measures on a device.
#[derive(Debug)]
pub struct DeviceLock(#[expect(dead_code, reason = "holds the lock until it is dropped")] Option<File>);

impl DeviceLock {
    /// Takes the lock of a device; a simulated one needs none. Where the system has no place for locks there is none either: that
    /// must not keep anyone from measuring.
    ///
    /// # Errors
    /// [`BatteryError::DeviceBusy`].
    pub fn take(device: &DeviceInfo, places: &Path) -> Result<Self, BatteryError> {
        if device.backend == "sim" {
            return Ok(Self(None));
        }
        let name: String =
            device.facts.get("uuid").unwrap_or(&device.id).chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect();
        match lock(&places.join(format!("warpsight-{name}.lock"))) {
            Ok(Some(file)) => Ok(Self(Some(file))),
            Ok(None) => Err(BatteryError::DeviceBusy { device: device.id.clone() }),
            Err(_) => Ok(Self(None)),
        }
    }
}
