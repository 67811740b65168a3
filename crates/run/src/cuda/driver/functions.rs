//! The functions of the driver's library: looked for by name, all of them before the first call.
//!
//! The types are cudarc's, for CUDA 12.8. Its functions are not used: they panic where a symbol is missing, take any `libcuda.so` of
//! the loader's path (a toolkit's stub, too) before the driver's own, and declare results as an enumeration, which the codes of a
//! newer driver would break.
#![allow(unsafe_code, reason = "the CUDA driver is a C interface")]

use cudarc::driver::sys::*;
use libloading::Library;
use std::ffi::{c_char, c_int, c_uint, c_ulonglong, c_void};

#[cfg(windows)]
const LIBRARY: &str = "nvcuda.dll";
#[cfg(not(windows))]
const LIBRARY: &str = "libcuda.so.1";

/// What a library exports that stands in for a driver: its times are no measurements.
const STAND_IN: &str = "warpsight_simulated_driver";

macro_rules! functions {
    ($($name:ident($($arg:ty),* $(,)?);)*) => {
        /// Every function of the driver's library that is called.
        pub(crate) const NAMES: &[&str] = &[$(stringify!($name)),*];

        /// The functions, found.
        #[allow(non_snake_case, reason = "named as in the library")]
        pub(crate) struct Functions {
            $(pub(crate) $name: unsafe extern "C" fn($($arg),*) -> u32,)*
            /// Whether this library stands in for a driver.
            pub(crate) stand_in: bool,
        }

        impl Functions {
            fn find(library: &'static Library) -> Self {
                // SAFETY: the signatures are those of CUDA's headers; every name was found before.
                unsafe {
                    Self {
                        $($name: *library.get(stringify!($name).as_bytes()).expect("looked for before"),)*
                        stand_in: library.get::<*const c_void>(STAND_IN.as_bytes()).is_ok(),
                    }
                }
            }
        }
    };
}

functions! {
    cuInit(c_uint);
    cuDriverGetVersion(*mut c_int);
    cuDeviceGetCount(*mut c_int);
    cuDeviceGet(*mut CUdevice, c_int);
    cuDeviceGetName(*mut c_char, c_int, CUdevice);
    cuDeviceGetUuid_v2(*mut CUuuid, CUdevice);
    cuDeviceTotalMem_v2(*mut usize, CUdevice);
    cuDeviceGetAttribute(*mut c_int, CUdevice_attribute, CUdevice);
    cuDeviceGetPCIBusId(*mut c_char, c_int, CUdevice);
    cuDevicePrimaryCtxRetain(*mut CUcontext, CUdevice);
    cuDevicePrimaryCtxRelease_v2(CUdevice);
    cuCtxSetCurrent(CUcontext);
    cuCtxSynchronize();
    cuCtxSetLimit(CUlimit, usize);
    cuCtxResetPersistingL2Cache();
    cuMemGetInfo_v2(*mut usize, *mut usize);
    cuMemAlloc_v2(*mut CUdeviceptr, usize);
    cuMemFree_v2(CUdeviceptr);
    cuMemcpyHtoD_v2(CUdeviceptr, *const c_void, usize);
    cuMemcpyDtoH_v2(*mut c_void, CUdeviceptr, usize);
    cuMemsetD8_v2(CUdeviceptr, u8, usize);
    cuMemsetD8Async(CUdeviceptr, u8, usize, CUstream);
    cuArray3DCreate_v2(*mut CUarray, *const CUDA_ARRAY3D_DESCRIPTOR);
    cuArrayDestroy(CUarray);
    cuMemcpy2D_v2(*const CUDA_MEMCPY2D);
    cuTexObjectCreate(*mut CUtexObject, *const CUDA_RESOURCE_DESC, *const CUDA_TEXTURE_DESC, *const CUDA_RESOURCE_VIEW_DESC);
    cuTexObjectDestroy(CUtexObject);
    cuSurfObjectCreate(*mut CUsurfObject, *const CUDA_RESOURCE_DESC);
    cuSurfObjectDestroy(CUsurfObject);
    cuModuleLoadData(*mut CUmodule, *const c_void);
    cuModuleUnload(CUmodule);
    cuModuleGetFunction(*mut CUfunction, CUmodule, *const c_char);
    cuFuncGetAttribute(*mut c_int, CUfunction_attribute, CUfunction);
    cuFuncSetAttribute(CUfunction, CUfunction_attribute, c_int);
    cuLaunchKernelEx(*const CUlaunchConfig, CUfunction, *mut *mut c_void, *mut *mut c_void);
    cuStreamCreate(*mut CUstream, c_uint);
    cuStreamSynchronize(CUstream);
    cuStreamDestroy_v2(CUstream);
    cuStreamBeginCapture_v2(CUstream, CUstreamCaptureMode);
    cuStreamEndCapture(CUstream, *mut CUgraph);
    cuGraphInstantiateWithFlags(*mut CUgraphExec, CUgraph, c_ulonglong);
    cuGraphLaunch(CUgraphExec, CUstream);
    cuGraphExecDestroy(CUgraphExec);
    cuGraphDestroy(CUgraph);
    cuEventCreate(*mut CUevent, c_uint);
    cuEventRecord(CUevent, CUstream);
    cuEventElapsedTime(*mut f32, CUevent, CUevent);
    cuEventDestroy_v2(CUevent);
    cuOccupancyMaxActiveBlocksPerMultiprocessor(*mut c_int, CUfunction, c_int, usize);
    cuOccupancyMaxActiveClusters(*mut c_int, CUfunction, *const CUlaunchConfig);
    cuGetErrorName(u32, *mut *const c_char);
    cuGetErrorString(u32, *mut *const c_char);
}

/// Why there is no driver.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoDriver {
    /// No library.
    #[error("the driver's library {LIBRARY} cannot be loaded (no NVIDIA driver, or not on the loader's path): {0}")]
    Library(String),
    /// Functions are missing.
    #[error("the driver, {version}, is too old: CUDA 11.8 (driver 520) or newer is needed; it lacks {}", missing.join(", "))]
    Old {
        /// What it is for.
        version: String,
        /// The functions.
        missing: Vec<&'static str>,
    },
    /// No device.
    #[error("the driver knows no device (CUDA_ERROR_NO_DEVICE)")]
    NoDevice,
    /// It does not begin.
    #[error("cuInit failed with {0}")]
    Init(String),
}

/// Loads the library and finds every function.
///
/// # Errors
/// [`NoDriver::Library`], or [`NoDriver::Old`] with the driver's version.
pub(crate) fn load() -> Result<Functions, NoDriver> {
    // SAFETY: loading runs the library's initialisers; drivers are made to be loaded, in a process of their own here.
    let library = unsafe { Library::new(LIBRARY) }.map_err(|error| NoDriver::Library(error.to_string()))?;
    // Never unloaded: drivers leave threads and exit handlers behind.
    let library: &'static Library = Box::leak(Box::new(library));
    // SAFETY: only looked for.
    let missing: Vec<&'static str> =
        NAMES.iter().copied().filter(|name| unsafe { library.get::<*const c_void>(name.as_bytes()) }.is_err()).collect();
    if missing.is_empty() {
        return Ok(Functions::find(library));
    }
    // SAFETY: CUDA's signature since version 2.2; works before cuInit.
    let version = unsafe { library.get::<unsafe extern "C" fn(*mut c_int) -> u32>(b"cuDriverGetVersion") }.ok().and_then(|function| {
        let mut version = 0;
        // SAFETY: the pointer is valid for the call.
        (unsafe { function(&mut version) } == 0).then(|| version_name(version))
    });
    let version = version.map_or("of unknown version".into(), |version| format!("for CUDA {version}"));
    Err(NoDriver::Old { version, missing })
}

/// `12080` is 12.8.
pub(crate) fn version_name(version: c_int) -> String {
    format!("{}.{}", version / 1000, version % 1000 / 10)
}
