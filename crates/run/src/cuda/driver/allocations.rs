//! Device memory, freed with its wrapper. See `driver` for what makes the calls sound.
#![allow(unsafe_code, reason = "the CUDA driver is a C interface")]

use super::context::Context;
use super::cu;
use super::functions::Functions;
use crate::DeviceError;
use cudarc::driver::sys::CUdeviceptr;

/// Device memory.
pub(crate) struct Allocation {
    driver: &'static Functions,
    pub(crate) at: CUdeviceptr,
    pub(crate) bytes: usize,
}

impl Allocation {
    /// # Errors
    /// [`DeviceError::Limit`] with what is free, where memory is short.
    pub(crate) fn new(context: &Context, bytes: usize) -> Result<Self, DeviceError> {
        let mut at = 0;
        cu!(context.driver, cuMemAlloc_v2(&mut at, bytes))
            .map_err(|error| short(error, "an allocation, in bytes,", bytes as u64, context))?;
        Ok(Self { driver: context.driver, at, bytes })
    }

    /// Writes bytes from a position on; they lie inside.
    pub(crate) fn write(&self, position: usize, data: &[u8]) -> Result<(), DeviceError> {
        self.inside(position, data.len())?;
        cu!(self.driver, cuMemcpyHtoD_v2(self.at + position as u64, data.as_ptr().cast(), data.len()))
    }

    /// Reads bytes from a position on; they lie inside.
    pub(crate) fn read(&self, position: usize, into: &mut [u8]) -> Result<(), DeviceError> {
        self.inside(position, into.len())?;
        cu!(self.driver, cuMemcpyDtoH_v2(into.as_mut_ptr().cast(), self.at + position as u64, into.len()))
    }

    /// Sets bytes from a position on; they lie inside.
    pub(crate) fn fill(&self, position: usize, value: u8, bytes: usize) -> Result<(), DeviceError> {
        self.inside(position, bytes)?;
        cu!(self.driver, cuMemsetD8_v2(self.at + position as u64, value, bytes))
    }

    fn inside(&self, position: usize, bytes: usize) -> Result<(), DeviceError> {
        match position.checked_add(bytes) {
            Some(end) if end <= self.bytes => Ok(()),
            _ => Err(beyond("an access from its beginning on", position.saturating_add(bytes) as u64, self.bytes)),
        }
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        let _ = cu!(self.driver, cuMemFree_v2(self.at));
    }
}

/// A copy that would leave its allocation: whoever asks has checked that before.
pub(super) fn beyond(what: &str, needed: u64, bytes: usize) -> DeviceError {
    DeviceError::Limit { what: format!("{what}, in bytes of an allocation,"), needed, available: bytes as u64 }
}

/// A lack of memory, with what was asked for and what is free.
pub(super) fn short(error: DeviceError, what: &str, needed: u64, context: &Context) -> DeviceError {
    match (&error, context.free_memory()) {
        (DeviceError::Driver { code, .. }, Ok(available)) if code.starts_with("CUDA_ERROR_OUT_OF_MEMORY") => {
            DeviceError::Limit { what: format!("{what} of memory that is free now"), needed, available }
        }
        _ => error,
    }
}
