//! The calls into OpenCL, wrapped so that the rest of the back end needs no `unsafe`.
//!
//! What makes them sound: objects live as long as their wrappers; every enqueue that reads or writes host memory blocks;
//! arguments are set by type and number as the emitted source declares them, and `CL_INVALID_KERNEL_ARGS` reports the rest.
//! What a kernel itself does to memory cannot be proved here: Programs are validated, buffers stand between guard bands, and
//! the driver runs in a process of its own unless the user says otherwise.
#![allow(unsafe_code, reason = "OpenCL is a C interface")]

use crate::DeviceError;
use opencl3::command_queue::{CL_QUEUE_PROFILING_ENABLE, CommandQueue};
use opencl3::context::Context;
use opencl3::error_codes::ClError;
use opencl3::event::Event;
use opencl3::kernel::Kernel;
use opencl3::memory::{
    Buffer, CL_MEM_COPY_HOST_PTR, CL_MEM_OBJECT_IMAGE1D, CL_MEM_OBJECT_IMAGE1D_BUFFER, CL_MEM_OBJECT_IMAGE2D, CL_MEM_READ_WRITE, ClMem,
    Image, cl_image_desc, cl_image_format,
};
use opencl3::program::Program;
use opencl3::types::{CL_TRUE, cl_device_id, cl_mem};
use std::ffi::c_void;
use warpsight_ir::text::Word;
use warpsight_ir::{ImageFormat, ImageKind};

/// Names the call that failed.
pub(super) fn call(name: impl Into<String>) -> impl FnOnce(ClError) -> DeviceError {
    move |error| {
        let text = error.to_string();
        DeviceError::Driver { call: name.into(), code: if text == "UNKNOWN_ERROR" { error.0.to_string() } else { text } }
    }
}

/// A device, opened: its context and one in-order queue with profiling.
pub(super) struct Queue {
    pub(super) context: Context,
    pub(super) device: cl_device_id,
    queue: CommandQueue,
}

impl Queue {
    /// Makes context and queue.
    pub(super) fn new(device: cl_device_id) -> Result<Self, DeviceError> {
        let context = Context::from_device(&opencl3::device::Device::new(device)).map_err(call("clCreateContext"))?;
        // The call of OpenCL 1.0: also there on drivers that stopped at 1.2.
        let queue = CommandQueue::create_default(&context, CL_QUEUE_PROFILING_ENABLE).map_err(call("clCreateCommandQueue"))?;
        Ok(Self { context, device, queue })
    }

    /// Waits until everything enqueued is done.
    pub(super) fn finish(&self) -> Result<(), DeviceError> {
        self.queue.finish().map_err(call("clFinish"))
    }

    /// Starts a kernel; its arguments were set.
    pub(super) fn launch(&self, kernel: &Kernel, global: [usize; 3], local: [usize; 3]) -> Result<Event, DeviceError> {
        // SAFETY: both arrays have the three entries announced.
        unsafe { self.queue.enqueue_nd_range_kernel(kernel.get(), 3, std::ptr::null(), global.as_ptr(), local.as_ptr(), &[]) }
            .map_err(call("clEnqueueNDRangeKernel"))
    }

    /// Reads a whole allocation.
    pub(super) fn read_buffer(&self, buffer: &Buffer<u8>, into: &mut [u8]) -> Result<(), DeviceError> {
        // SAFETY: blocking, so that `into` outlives the read; the driver checks the range.
        unsafe { self.queue.enqueue_read_buffer(buffer, CL_TRUE, 0, into, &[]) }.map_err(call("clEnqueueReadBuffer"))?;
        Ok(())
    }

    /// Reads an image as rows without padding; `into` has exactly its bytes.
    pub(super) fn read_image(&self, image: &Image, width: u32, height: u32, into: &mut [u8]) -> Result<(), DeviceError> {
        let (origin, region) = ([0usize; 3], [width as usize, height as usize, 1]);
        // SAFETY: blocking; a row pitch of 0 means width × texel bytes, which is what `into` was sized for.
        unsafe {
            self.queue.enqueue_read_image(image, CL_TRUE, origin.as_ptr(), region.as_ptr(), 0, 0, into.as_mut_ptr().cast::<c_void>(), &[])
        }
        .map_err(call("clEnqueueReadImage"))?;
        Ok(())
    }

    /// Writes a whole buffer.
    pub(super) fn write_buffer(&self, buffer: &mut Buffer<u8>, from: &[u8]) -> Result<(), DeviceError> {
        // SAFETY: blocking, so that `from` outlives the copy; the driver checks the range.
        unsafe { self.queue.enqueue_write_buffer(buffer, CL_TRUE, 0, from, &[]) }.map_err(call("clEnqueueWriteBuffer"))?;
        Ok(())
    }

    /// Writes an image from rows without padding; `from` has exactly its bytes.
    pub(super) fn write_image(&self, image: &mut Image, width: u32, height: u32, from: &[u8]) -> Result<(), DeviceError> {
        let (origin, region) = ([0usize; 3], [width as usize, height as usize, 1]);
        let host = from.as_ptr().cast_mut().cast::<c_void>();
        // SAFETY: blocking; a row pitch of 0 means width × texel bytes, which is what `from` holds; the driver only reads it.
        unsafe { self.queue.enqueue_write_image(image, CL_TRUE, origin.as_ptr(), region.as_ptr(), 0, 0, host, &[]) }
            .map_err(call("clEnqueueWriteImage"))?;
        Ok(())
    }

    /// A program out of what the driver gave as its binary earlier.
    pub(super) fn program_from_binary(&self, binary: &[u8]) -> Result<Program, DeviceError> {
        // SAFETY: the device belongs to the context. The binary's checksum was verified by the cache.
        unsafe { Program::create_from_binary(&self.context, &[self.device], &[binary]) }.map_err(call("clCreateProgramWithBinary"))
    }

    /// A buffer with these contents.
    pub(super) fn buffer(&self, contents: &mut [u8]) -> Result<Buffer<u8>, DeviceError> {
        let host = contents.as_mut_ptr().cast::<c_void>();
        // SAFETY: the pointer is valid for as many bytes as are copied, and they are copied before the call returns.
        unsafe { Buffer::create(&self.context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, contents.len(), host) }
            .map_err(call(format!("clCreateBuffer of {} bytes", contents.len())))
    }

    /// An image without contents. One over a buffer lies in that one, `pitch` bytes from row to row; what is no such image has neither.
    pub(super) fn image(
        &self,
        kind: ImageKind,
        format: ImageFormat,
        [width, height]: [u32; 2],
        of: Option<(&Buffer<u8>, usize)>,
    ) -> Result<Image, DeviceError> {
        let layout = image_format(format);
        let desc = cl_image_desc {
            image_type: match kind {
                ImageKind::Image1d => CL_MEM_OBJECT_IMAGE1D,
                ImageKind::Image1dBuffer => CL_MEM_OBJECT_IMAGE1D_BUFFER,
                ImageKind::Image2d | ImageKind::Image2dFromBuffer => CL_MEM_OBJECT_IMAGE2D,
            },
            image_width: width as usize,
            image_height: height as usize,
            image_depth: 0,
            image_array_size: 0,
            image_row_pitch: of.map_or(0, |(_, pitch)| pitch),
            image_slice_pitch: 0,
            num_mip_levels: 0,
            num_samples: 0,
            buffer: of.map_or(std::ptr::null_mut(), |(buffer, _)| buffer.get()),
        };
        // SAFETY: no host memory is given; the buffer is alive, and the driver checks that the image fits in it.
        unsafe { Image::create(&self.context, CL_MEM_READ_WRITE, &layout, &desc, std::ptr::null_mut()) }
            .map_err(call(format!("clCreateImage of {width} × {height} {format:?}, an {},", kind.word())))
    }
}

/// How OpenCL writes an image format.
fn image_format(format: ImageFormat) -> cl_image_format {
    use opencl3::memory::{CL_FLOAT, CL_HALF_FLOAT, CL_RGBA, CL_SIGNED_INT32, CL_UNORM_INT8, CL_UNSIGNED_INT32};
    let image_channel_data_type = match format {
        ImageFormat::Rgba32F => CL_FLOAT,
        ImageFormat::Rgba16F | ImageFormat::Rgba16H => CL_HALF_FLOAT,
        ImageFormat::Rgba32I => CL_SIGNED_INT32,
        ImageFormat::Rgba32U => CL_UNSIGNED_INT32,
        ImageFormat::Rgba8Unorm => CL_UNORM_INT8,
    };
    cl_image_format { image_channel_order: CL_RGBA, image_channel_data_type }
}

/// The part of a buffer between `origin`, a multiple of the device's base alignment, and `origin + bytes`.
pub(super) fn sub_buffer(whole: &Buffer<u8>, origin: usize, bytes: usize) -> Result<Buffer<u8>, DeviceError> {
    // SAFETY: the driver checks range and alignment, and keeps the parent alive.
    unsafe { whole.create_sub_buffer(CL_MEM_READ_WRITE, origin, bytes) }.map_err(call("clCreateSubBuffer"))
}

/// A value for a kernel argument.
pub(super) enum ArgValue {
    /// A buffer or image.
    Memory(cl_mem),
    /// An `int`.
    Int(i32),
}

/// What a kernel takes for this buffer.
pub(super) fn buffer_arg(buffer: &Buffer<u8>) -> ArgValue {
    ArgValue::Memory(buffer.get())
}

/// What a kernel takes for this image.
pub(super) fn image_arg(image: &Image) -> ArgValue {
    ArgValue::Memory(image.get())
}

/// Sets all arguments of a kernel, in order.
pub(super) fn set_args(kernel: &Kernel, args: &[ArgValue]) -> Result<(), DeviceError> {
    for (index, arg) in (0u32..).zip(args) {
        // SAFETY: size and address of a live value; the driver checks the size against the kernel's signature.
        let set = match arg {
            ArgValue::Memory(memory) => unsafe { kernel.set_arg(index, memory) },
            ArgValue::Int(value) => unsafe { kernel.set_arg(index, value) },
        };
        set.map_err(call(format!("clSetKernelArg {index}")))?;
    }
    Ok(())
}
