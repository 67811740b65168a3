//! Events, graphs and modules, each freed with its wrapper. See `driver` for what makes the calls sound.
#![allow(unsafe_code, reason = "the CUDA driver is a C interface")]

use super::cu;
use super::functions::Functions;
use crate::DeviceError;
use cudarc::driver::sys::*;
use std::ffi::c_int;

/// A moment in the stream.
pub(crate) struct Event {
    pub(crate) driver: &'static Functions,
    pub(crate) event: CUevent,
}

impl Event {
    /// Nanoseconds since an earlier one; both were reached.
    pub(crate) fn since(&self, start: &Event) -> Result<f64, DeviceError> {
        let mut milliseconds = 0.0f32;
        cu!(self.driver, cuEventElapsedTime(&mut milliseconds, start.event, self.event))?;
        Ok(f64::from(milliseconds) * 1e6)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        let _ = cu!(self.driver, cuEventDestroy_v2(self.event));
    }
}

/// Launches recorded and made ready.
pub(crate) struct LaunchGraph {
    pub(crate) driver: &'static Functions,
    pub(crate) exec: CUgraphExec,
}

impl Drop for LaunchGraph {
    fn drop(&mut self) {
        let _ = cu!(self.driver, cuGraphExecDestroy(self.exec));
    }
}

/// Machine code in the device, with its kernel.
pub(crate) struct Module {
    pub(crate) driver: &'static Functions,
    pub(crate) module: CUmodule,
    pub(crate) function: CUfunction,
}

impl Module {
    /// `None` where the driver does not say.
    pub(crate) fn attribute(&self, attribute: CUfunction_attribute) -> Option<u32> {
        let mut value: c_int = 0;
        cu!(self.driver, cuFuncGetAttribute(&mut value, attribute, self.function)).ok()?;
        u32::try_from(value).ok()
    }

    pub(crate) fn set_attribute(&self, attribute: CUfunction_attribute, value: u32) -> Result<(), DeviceError> {
        cu!(self.driver, cuFuncSetAttribute(self.function, attribute, c_int::try_from(value).unwrap_or(c_int::MAX)))
    }

    /// How many blocks of so many threads and so much dynamic shared memory a multiprocessor holds at once.
    pub(crate) fn max_blocks(&self, threads: u32, dynamic_shared: u32) -> Result<u32, DeviceError> {
        let (mut blocks, threads) = (0, c_int::try_from(threads).unwrap_or(c_int::MAX));
        cu!(self.driver, cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, self.function, threads, dynamic_shared as usize))?;
        Ok(blocks.max(0) as u32)
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        let _ = cu!(self.driver, cuModuleUnload(self.module));
    }
}
