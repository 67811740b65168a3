//! Whether a device can hold a launch.

use super::Properties;
use crate::DeviceError;
use crate::cuda::driver::{Context, Module, PLAIN_SHARED, Shape};
use cudarc::driver::sys::CUfunction_attribute;

/// Blocks of a cluster that every device with clusters takes; more is asked for first.
const PORTABLE_CLUSTER: u32 = 8;

impl Shape {
    /// Blocks of this shape that a multiprocessor holds at once, as the driver says.
    pub(super) fn resident(&self, module: &Module) -> Option<u32> {
        module.max_blocks(self.threads(), self.dynamic_shared).ok()
    }

    /// Asks for what a kernel has only on request, and refuses what the device cannot hold. `kernel` is its name.
    ///
    /// # Errors
    /// [`DeviceError::Limit`] says what does not fit.
    pub(super) fn prepare(&self, kernel: &str, module: &Module, context: &Context, device: &Properties) -> Result<(), DeviceError> {
        use CUfunction_attribute::*;
        let within = |what: &str, needed: u64, available: u64| {
            if needed <= available {
                Ok(())
            } else {
                Err(DeviceError::Limit { what: format!("{what} kernel `{kernel}`"), needed, available })
            }
        };
        for (i, (&blocks, most)) in self.grid.iter().zip(device.max_grid).enumerate() {
            within(&format!("dimension {i} of the grid of"), blocks.into(), most.into())?;
        }
        if let Some(most) = module.attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK) {
            within("as compiled, a block of", self.threads().into(), most.into())?;
        }
        let fixed = module.attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES).unwrap_or(0);
        let shared = u64::from(fixed) + u64::from(self.dynamic_shared);
        within("shared memory, in bytes, of", shared, device.shared_bytes)?;
        if shared > PLAIN_SHARED.into() {
            module.set_attribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, self.dynamic_shared)?;
        }
        if self.cluster > PORTABLE_CLUSTER {
            module.set_attribute(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1)?;
        }
        let clusters = if self.cluster > 1 {
            let clusters = context.max_clusters(module.function, self)?;
            within(&format!("at once, clusters of {} blocks of", self.cluster), 1, clusters.into())?;
            Some(clusters)
        } else {
            None
        };
        if self.cooperative {
            let resident = match clusters {
                Some(clusters) => u64::from(clusters) * u64::from(self.cluster),
                None => u64::from(module.max_blocks(self.threads(), self.dynamic_shared)?) * u64::from(device.multiprocessors),
            };
            within("resident together, blocks of", self.blocks(), resident)?;
        }
        Ok(())
    }
}
