//! The calls into the driver, wrapped so that the rest of the back end needs no `unsafe`.
//!
//! What makes them sound: objects live as long as their wrappers, which borrow nothing because the context lives as long as the
//! process; copies between host and device have taken or given the host's bytes when they return; arguments of a launch are values of
//! the sizes that the emitted source declares. What a kernel itself does to memory cannot be proved here: Programs are validated,
//! buffers stand between guard bands, and the driver runs in a process of its own unless the user says otherwise.
#![allow(unsafe_code, reason = "the CUDA driver is a C interface")]

use super::functions::{Functions, NoDriver, load};
use super::launch::{Arg, Shape};
use super::objects::{Event, Graph, Module};
use crate::DeviceError;
use crate::refusal::{Field, Reason};
use cudarc::driver::sys::*;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::OnceLock;

/// The driver of this process, initialised.
///
/// # Errors
/// [`NoDriver`] says why there is none.
pub(super) fn driver() -> Result<&'static Functions, NoDriver> {
    static DRIVER: OnceLock<Result<Functions, NoDriver>> = OnceLock::new();
    let found = DRIVER.get_or_init(|| {
        let functions = load()?;
        // SAFETY: no argument but the flags, which must be 0.
        match unsafe { (functions.cuInit)(0) } {
            0 => Ok(functions),
            100 => Err(NoDriver::NoDevice),
            code => Err(NoDriver::Init(name(&functions, code))),
        }
    });
    found.as_ref().map_err(Clone::clone)
}

/// An error's name and the driver's words for it.
fn name(functions: &Functions, code: u32) -> String {
    let text = |function: unsafe extern "C" fn(u32, *mut *const c_char) -> u32| {
        let mut text = std::ptr::null();
        // SAFETY: the driver stores the address of a constant string, or null for a code it does not know.
        unsafe { (function(code, &mut text) == 0 && !text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned()) }
    };
    match (text(functions.cuGetErrorName), text(functions.cuGetErrorString)) {
        (Some(name), Some(words)) => format!("{name}: {words}"),
        (Some(name), None) => name,
        _ => format!("error {code}"),
    }
}

/// Errors by which a kernel ends the context, so that nothing works in this process any more: illegal address, assertion, stack,
/// illegal instruction, misaligned address, address space, program counter, launch failure.
const STICKY_FAULTS: [u32; 8] = [700, 710, 714, 715, 716, 717, 718, 719];
/// Errors that end the context without a kernel's doing: ECC, NVLink, contained errors, the watchdog.
const STICKY_LOSSES: [u32; 5] = [214, 220, 226, 702, 721];

/// What became of a call.
pub(super) fn check(functions: &Functions, call: &str, code: u32) -> Result<(), DeviceError> {
    match code {
        0 => Ok(()),
        code if STICKY_FAULTS.contains(&code) => Err(DeviceError::Fault { kernel: String::new(), what: name(functions, code) }),
        code if STICKY_LOSSES.contains(&code) => Err(DeviceError::Lost(format!("{call} failed with {}", name(functions, code)))),
        code => Err(DeviceError::Driver { call: call.into(), code: name(functions, code) }),
    }
}

/// Calls a function of the driver and names it in the error.
macro_rules! cu {
    ($driver:expr, $name:ident($($arg:expr),* $(,)?)) => {
        // SAFETY: see the first comment of `ffi`; pointers are to values that live through the call.
        $crate::cuda::ffi::check($driver, stringify!($name), unsafe { ($driver.$name)($($arg),*) })
    };
}
pub(super) use cu;

/// A device by its ordinal.
#[derive(Clone, Copy)]
pub(super) struct Handle {
    pub(super) driver: &'static Functions,
    device: CUdevice,
}

/// How many devices the driver has.
pub(super) fn count(driver: &Functions) -> Result<c_int, DeviceError> {
    let mut count = 0;
    cu!(driver, cuDeviceGetCount(&mut count))?;
    Ok(count)
}

impl Handle {
    pub(super) fn new(driver: &'static Functions, ordinal: c_int) -> Result<Self, DeviceError> {
        let mut device = 0;
        cu!(driver, cuDeviceGet(&mut device, ordinal))?;
        Ok(Self { driver, device })
    }

    pub(super) fn name(self) -> Result<String, DeviceError> {
        self.text("cuDeviceGetName", self.driver.cuDeviceGetName)
    }

    pub(super) fn bus_id(self) -> Result<String, DeviceError> {
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
    pub(super) fn uuid(self) -> Result<String, DeviceError> {
        let mut uuid = CUuuid { bytes: [0; 16] };
        cu!(self.driver, cuDeviceGetUuid_v2(&mut uuid, self.device))?;
        let hex = |bytes: &[c_char]| bytes.iter().map(|&byte| format!("{:02x}", byte as u8)).collect::<String>();
        let part = |from: usize, to: usize| hex(&uuid.bytes[from..to]);
        Ok(format!("GPU-{}-{}-{}-{}-{}", part(0, 4), part(4, 6), part(6, 8), part(8, 10), part(10, 16)))
    }

    pub(super) fn total_memory(self) -> Result<u64, DeviceError> {
        let mut bytes = 0;
        cu!(self.driver, cuDeviceTotalMem_v2(&mut bytes, self.device))?;
        Ok(bytes as u64)
    }

    /// `None` for an attribute this driver does not know.
    pub(super) fn attribute(self, attribute: CUdevice_attribute) -> Option<c_int> {
        let mut value = 0;
        cu!(self.driver, cuDeviceGetAttribute(&mut value, attribute, self.device)).ok()?;
        Some(value)
    }

    pub(super) fn driver_version(self) -> Result<c_int, DeviceError> {
        let mut version = 0;
        cu!(self.driver, cuDriverGetVersion(&mut version))?;
        Ok(version)
    }
}

/// The context of an open device, current in this thread, and one stream.
pub(super) struct Context {
    pub(super) driver: &'static Functions,
    device: CUdevice,
    stream: CUstream,
}

impl Context {
    pub(super) fn new(handle: Handle) -> Result<Self, DeviceError> {
        let driver = handle.driver;
        let (mut context, mut stream) = (std::ptr::null_mut(), std::ptr::null_mut());
        cu!(driver, cuDevicePrimaryCtxRetain(&mut context, handle.device))?;
        let made = cu!(driver, cuCtxSetCurrent(context)).and_then(|()| cu!(driver, cuStreamCreate(&mut stream, 1)));
        if made.is_err() {
            let _ = cu!(driver, cuDevicePrimaryCtxRelease_v2(handle.device));
        }
        made.map(|()| Self { driver, device: handle.device, stream })
    }

    /// Bytes free now.
    pub(super) fn free_memory(&self) -> Result<u64, DeviceError> {
        let (mut free, mut total) = (0, 0);
        cu!(self.driver, cuMemGetInfo_v2(&mut free, &mut total))?;
        Ok(free as u64)
    }

    /// Waits until everything in the stream is done.
    pub(super) fn finish(&self) -> Result<(), DeviceError> {
        cu!(self.driver, cuStreamSynchronize(self.stream))
    }

    /// Waits until everything in the device is done: what blocking calls left behind, too, which the stream does not wait for.
    pub(super) fn settle(&self) -> Result<(), DeviceError> {
        cu!(self.driver, cuCtxSynchronize())
    }

    /// Sets aside so many bytes of the L2 cache for lines that are to stay.
    pub(super) fn set_persisting(&self, bytes: usize) -> Result<(), DeviceError> {
        cu!(self.driver, cuCtxSetLimit(CUlimit::CU_LIMIT_PERSISTING_L2_CACHE_SIZE, bytes))
    }

    /// Lets lines that were to stay go, and gives what was set aside back.
    pub(super) fn reset_persisting(&self) -> Result<(), DeviceError> {
        cu!(self.driver, cuCtxResetPersistingL2Cache())?;
        self.set_persisting(0)
    }

    pub(super) fn event(&self) -> Result<Event, DeviceError> {
        let mut event = std::ptr::null_mut();
        cu!(self.driver, cuEventCreate(&mut event, 0))?;
        Ok(Event { driver: self.driver, event })
    }

    /// Puts an event into the stream.
    pub(super) fn record(&self, event: &Event) -> Result<(), DeviceError> {
        cu!(self.driver, cuEventRecord(event.event, self.stream))
    }

    /// Records what `enqueue` puts into the stream as a graph.
    pub(super) fn graph(&self, enqueue: impl FnOnce() -> Result<(), DeviceError>) -> Result<Graph, DeviceError> {
        let driver = self.driver;
        cu!(driver, cuStreamBeginCapture_v2(self.stream, CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL))?;
        let enqueued = enqueue();
        let (mut graph, mut exec) = (std::ptr::null_mut(), std::ptr::null_mut());
        // A capture is ended whatever happened, or the stream stays unusable.
        let ended = cu!(driver, cuStreamEndCapture(self.stream, &mut graph));
        let made = enqueued.and(ended).and_then(|()| cu!(driver, cuGraphInstantiateWithFlags(&mut exec, graph, 0)));
        if !graph.is_null() {
            let _ = cu!(driver, cuGraphDestroy(graph));
        }
        made.map(|()| Graph { driver, exec })
    }

    pub(super) fn launch_graph(&self, graph: &Graph) -> Result<(), DeviceError> {
        cu!(self.driver, cuGraphLaunch(graph.exec, self.stream))
    }

    /// Loads machine code and finds its kernel.
    pub(super) fn module(&self, code: &[u8], entry: &str) -> Result<Module, DeviceError> {
        let name = || entry.escape_debug().to_string();
        let bad = || Reason::KernelName(name()).at(Field::Program { program: 0, kernel: name() });
        let entry = CString::new(entry).map_err(|_| bad())?;
        let (mut module, function) = (std::ptr::null_mut(), std::ptr::null_mut());
        cu!(self.driver, cuModuleLoadData(&mut module, code.as_ptr().cast::<c_void>()))?;
        let mut module = Module { driver: self.driver, module, function };
        cu!(self.driver, cuModuleGetFunction(&mut module.function, module.module, entry.as_ptr()))?;
        Ok(module)
    }

    /// Starts a kernel. Every value of `args` is passed with as many bytes as its parameter has.
    pub(super) fn launch(&self, function: CUfunction, shape: &Shape, args: &[Arg]) -> Result<(), DeviceError> {
        let mut attributes = shape.attributes();
        let config = shape.config(self.stream, &mut attributes);
        let mut pointers: Vec<*mut c_void> = args.iter().map(Arg::pointer).collect();
        cu!(self.driver, cuLaunchKernelEx(&config, function, pointers.as_mut_ptr(), std::ptr::null_mut()))
    }

    /// How many clusters of a launch can be resident at once.
    pub(super) fn max_clusters(&self, function: CUfunction, shape: &Shape) -> Result<u32, DeviceError> {
        let mut attributes = shape.attributes();
        let config = shape.config(self.stream, &mut attributes);
        let mut clusters = 0;
        cu!(self.driver, cuOccupancyMaxActiveClusters(&mut clusters, function, &config))?;
        Ok(clusters.max(0) as u32)
    }

    /// Fills memory, in the stream's order.
    pub(super) fn fill_later(&self, at: CUdeviceptr, value: u8, bytes: usize) -> Result<(), DeviceError> {
        cu!(self.driver, cuMemsetD8Async(at, value, bytes, self.stream))
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        let _ = cu!(self.driver, cuStreamDestroy_v2(self.stream));
        let _ = cu!(self.driver, cuDevicePrimaryCtxRelease_v2(self.device));
    }
}
