//! NVIDIA GPUs: the CUDA driver, loaded at run time, and the compilers that turn CUDA C++ into machine code, with or without a GPU.
//! .
//! Of the driver's library exactly the functions in [`DRIVER_FUNCTIONS`] are called, with the types that cudarc has for CUDA 12.8.
//! A library that exports `warpsight_simulated_driver` is a stand-in without a GPU behind it: its times count as simulated.

mod arch;
mod nvrtc;
mod ptxas;
pub mod toolkit;

pub use arch::NotAnArch;

use serde::{Deserialize, Serialize};

/// Every function of the driver's library that is called; all are looked for before the first call. CUDA 11.8 has them all.
///
/// Images are arrays made with `CUDA_ARRAY3D_SURFACE_LDST` (depth 0), so that textures and surfaces can both look at them. Graphs are
/// captured from a stream. Launches go through `cuLaunchKernelEx` with these attributes: access policy window, cooperative, cluster
/// dimension, programmatic stream serialization.
pub const DRIVER_FUNCTIONS: [&str; 53] = [
    "cuInit",
    "cuDriverGetVersion",
    "cuDeviceGetCount",
    "cuDeviceGet",
    "cuDeviceGetName",
    "cuDeviceGetUuid_v2",
    "cuDeviceTotalMem_v2",
    "cuDeviceGetAttribute",
    "cuDeviceGetPCIBusId",
    "cuDevicePrimaryCtxRetain",
    "cuDevicePrimaryCtxRelease_v2",
    "cuCtxSetCurrent",
    "cuCtxSetLimit",
    "cuCtxResetPersistingL2Cache",
    "cuMemGetInfo_v2",
    "cuMemAlloc_v2",
    "cuMemFree_v2",
    "cuMemcpyHtoD_v2",
    "cuMemcpyDtoH_v2",
    "cuMemsetD8_v2",
    "cuMemsetD8Async",
    "cuArray3DCreate_v2",
    "cuArrayDestroy",
    "cuMemcpy2D_v2",
    "cuTexObjectCreate",
    "cuTexObjectDestroy",
    "cuSurfObjectCreate",
    "cuSurfObjectDestroy",
    "cuModuleLoadData",
    "cuModuleUnload",
    "cuModuleGetFunction",
    "cuFuncGetAttribute",
    "cuFuncSetAttribute",
    "cuLaunchKernelEx",
    "cuStreamCreate",
    "cuStreamSynchronize",
    "cuStreamDestroy_v2",
    "cuStreamBeginCapture_v2",
    "cuStreamEndCapture",
    "cuGraphInstantiateWithFlags",
    "cuGraphLaunch",
    "cuGraphExecDestroy",
    "cuGraphDestroy",
    "cuEventCreate",
    "cuEventRecord",
    "cuEventSynchronize",
    "cuEventElapsedTime",
    "cuEventDestroy_v2",
    "cuOccupancyMaxActiveBlocksPerMultiprocessor",
    "cuOccupancyMaxActiveClusters",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuCtxSynchronize",
];

/// What machine code is made for: `sm_80`, `sm_90a`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Arch {
    /// Compute capability times ten: 80, 90, 100.
    pub capability: u32,
    /// Whether instructions of exactly this architecture may be used (`a`).
    pub specific: bool,
}

/// What `ptxas` says of one kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resources {
    /// 32-bit registers of a thread.
    pub registers: u32,
    /// Bytes of a thread's stack frame.
    pub stack_bytes: u32,
    /// Bytes of spill stores of a thread.
    pub spill_store_bytes: u32,
    /// Bytes of spill loads of a thread.
    pub spill_load_bytes: u32,
    /// Bytes of static shared memory of a block.
    pub shared_bytes: u32,
    /// Bytes of constant memory, arguments included.
    pub constant_bytes: u32,
    /// Hardware barriers used.
    pub barriers: u32,
}
