//! The context of an open device: what is put into its stream. See `driver` for what makes the calls sound.
#![allow(unsafe_code, reason = "the CUDA driver is a C interface")]

use super::cu;
use super::functions::Functions;
use super::handle::Handle;
use super::launch::{Arg, Shape};
use super::objects::{Event, LaunchGraph, Module};
use crate::DeviceError;
use crate::refusal::{Field, Reason};
use cudarc::driver::sys::*;
use std::ffi::{CString, c_void};

/// The context of an open device, current in this thread, and one stream.
pub(crate) struct Context {
    pub(crate) driver: &'static Functions,
    device: CUdevice,
    stream: CUstream,
}

impl Context {
    pub(crate) fn new(handle: Handle) -> Result<Self, DeviceError> {
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
    pub(crate) fn free_memory(&self) -> Result<u64, DeviceError> {
        let (mut free, mut total) = (0, 0);
        cu!(self.driver, cuMemGetInfo_v2(&mut free, &mut total))?;
        Ok(free as u64)
    }

    /// Waits until everything in the stream is done.
    pub(crate) fn finish(&self) -> Result<(), DeviceError> {
        cu!(self.driver, cuStreamSynchronize(self.stream))
    }

    /// Waits until everything in the device is done: what blocking calls left behind, too, which the stream does not wait for.
    pub(crate) fn settle(&self) -> Result<(), DeviceError> {
        cu!(self.driver, cuCtxSynchronize())
    }

    /// Sets aside so many bytes of the L2 cache for lines that are to stay.
    pub(crate) fn set_persisting(&self, bytes: usize) -> Result<(), DeviceError> {
        cu!(self.driver, cuCtxSetLimit(CUlimit::CU_LIMIT_PERSISTING_L2_CACHE_SIZE, bytes))
    }

    /// Lets lines that were to stay go, and gives what was set aside back.
    pub(crate) fn reset_persisting(&self) -> Result<(), DeviceError> {
        cu!(self.driver, cuCtxResetPersistingL2Cache())?;
        self.set_persisting(0)
    }

    pub(crate) fn event(&self) -> Result<Event, DeviceError> {
        let mut event = std::ptr::null_mut();
        cu!(self.driver, cuEventCreate(&mut event, 0))?;
        Ok(Event { driver: self.driver, event })
    }

    /// Puts an event into the stream.
    pub(crate) fn record(&self, event: &Event) -> Result<(), DeviceError> {
        cu!(self.driver, cuEventRecord(event.event, self.stream))
    }

    /// Records what `enqueue` puts into the stream as a graph.
    pub(crate) fn graph(&self, enqueue: impl FnOnce() -> Result<(), DeviceError>) -> Result<LaunchGraph, DeviceError> {
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
        made.map(|()| LaunchGraph { driver, exec })
    }

    pub(crate) fn launch_graph(&self, graph: &LaunchGraph) -> Result<(), DeviceError> {
        cu!(self.driver, cuGraphLaunch(graph.exec, self.stream))
    }

    /// Loads machine code and finds its kernel.
    pub(crate) fn module(&self, code: &[u8], entry: &str) -> Result<Module, DeviceError> {
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
    pub(crate) fn launch(&self, function: CUfunction, shape: &Shape, args: &[Arg]) -> Result<(), DeviceError> {
        let mut attributes = shape.attributes();
        let config = shape.config(self.stream, &mut attributes);
        let mut pointers: Vec<*mut c_void> = args.iter().map(Arg::pointer).collect();
        cu!(self.driver, cuLaunchKernelEx(&config, function, pointers.as_mut_ptr(), std::ptr::null_mut()))
    }

    /// How many clusters of a launch can be resident at once.
    pub(crate) fn max_clusters(&self, function: CUfunction, shape: &Shape) -> Result<u32, DeviceError> {
        let mut attributes = shape.attributes();
        let config = shape.config(self.stream, &mut attributes);
        let mut clusters = 0;
        cu!(self.driver, cuOccupancyMaxActiveClusters(&mut clusters, function, &config))?;
        Ok(clusters.max(0) as u32)
    }

    /// Fills memory, in the stream's order.
    pub(crate) fn fill_later(&self, at: CUdeviceptr, value: u8, bytes: usize) -> Result<(), DeviceError> {
        cu!(self.driver, cuMemsetD8Async(at, value, bytes, self.stream))
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        let _ = cu!(self.driver, cuStreamDestroy_v2(self.stream));
        let _ = cu!(self.driver, cuDevicePrimaryCtxRelease_v2(self.device));
    }
}
