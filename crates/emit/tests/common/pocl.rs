//! An OpenCL device for tests: the first CPU device found.
// Calls into a driver are unsafe by nature; the tests pass buffers that match the kernels' arguments.
#![allow(unsafe_code)]

use opencl3::command_queue::CommandQueue;
use opencl3::context::Context;
use opencl3::device::{CL_DEVICE_TYPE_CPU, Device};
use opencl3::kernel::{ExecuteKernel, Kernel};
use opencl3::memory::{
    Buffer, CL_FLOAT, CL_HALF_FLOAT, CL_MEM_OBJECT_IMAGE2D, CL_MEM_READ_WRITE, CL_RGBA, CL_SIGNED_INT32, CL_UNORM_INT8, CL_UNSIGNED_INT32,
    Image,
};
use opencl3::platform::get_platforms;
use opencl3::program::Program as Build;
use opencl3::types::{CL_BLOCKING, cl_image_desc, cl_image_format};
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use warpsight_emit::Source;
use warpsight_ir::{Bindings, Checked, ImageFormat, ParamKind};

/// One test at a time: not every driver starts well from several threads at once.
static DRIVER: Mutex<()> = Mutex::new(());

/// A context on a device.
pub struct Pocl {
    _alone: MutexGuard<'static, ()>,
    context: Context,
    queue: CommandQueue,
}

enum Memory {
    Buffer(Buffer<u8>),
    Image(Image, [usize; 3]),
}

impl Pocl {
    /// The device, or `None` with a message; without one the test fails where `CI=true`.
    pub fn find() -> Option<Self> {
        let alone = DRIVER.lock().unwrap_or_else(PoisonError::into_inner);
        let device = get_platforms().ok().into_iter().flatten().find_map(|p| p.get_devices(CL_DEVICE_TYPE_CPU).ok()?.first().copied());
        let Some(device) = device else {
            assert!(std::env::var("CI").as_deref() != Ok("true"), "no OpenCL CPU device, and CI=true");
            eprintln!("skipped: no OpenCL CPU device");
            return None;
        };
        let context = Context::from_device(&Device::new(device)).expect("a context");
        let queue = CommandQueue::create_default(&context, 0).expect("a queue");
        Some(Self { _alone: alone, context, queue })
    }

    /// Builds a source with the options; the log is the error.
    pub fn build(&self, source: &Source, options: &str) -> Result<Kernel, String> {
        let program = Build::create_and_build_from_source(&self.context, &source.text, options)?;
        Kernel::create(&program, &source.entry).map_err(|e| e.to_string())
    }

    /// Runs a Program and gives the bytes of every parameter afterwards.
    pub fn run(&self, program: &Checked, source: &Source, bindings: &Bindings) -> Vec<Vec<u8>> {
        let kernel = self.build(source, "-cl-std=CL1.2").unwrap_or_else(|log| panic!("{log}\n{}", source.text));
        let mut memory: Vec<Memory> = program.params.iter().zip(&bindings.data).map(|(p, data)| self.memory(&p.kind, data)).collect();
        let mut execute = ExecuteKernel::new(&kernel);
        for m in &memory {
            unsafe {
                match m {
                    Memory::Buffer(buffer) => execute.set_arg(buffer),
                    Memory::Image(image, _) => execute.set_arg(image),
                }
            };
        }
        for size in &program.sizes {
            let value = bindings.sizes[&size.name] as i32;
            unsafe { execute.set_arg(&value) };
        }
        let (global, local) = source.ndrange(&bindings.sizes).expect("sizes");
        let global = global.map(|n| n as usize);
        let local = local.map(|n| n as usize);
        unsafe { execute.set_global_work_sizes(&global).set_local_work_sizes(&local).enqueue_nd_range(&self.queue) }.expect("a launch");
        self.queue.finish().expect("the end of the launch");
        let read = |(m, data): (&mut Memory, &Vec<u8>)| {
            let mut bytes = vec![0; data.len()];
            match m {
                Memory::Buffer(buffer) => {
                    unsafe { self.queue.enqueue_read_buffer(buffer, CL_BLOCKING, 0, &mut bytes, &[]) }.expect("a read")
                }
                Memory::Image(image, region) => unsafe {
                    let origin = [0usize; 3];
                    let at = bytes.as_mut_ptr().cast();
                    self.queue.enqueue_read_image(image, CL_BLOCKING, origin.as_ptr(), region.as_ptr(), 0, 0, at, &[]).expect("a read")
                },
            };
            bytes
        };
        memory.iter_mut().zip(&bindings.data).map(read).collect()
    }

    fn memory(&self, kind: &ParamKind, data: &[u8]) -> Memory {
        match kind {
            ParamKind::Image { format, width, height, .. } => {
                let [width, height] = [width, height].map(|e| e.as_int().expect("a constant extent") as usize);
                let channel = match format {
                    ImageFormat::Rgba32F => CL_FLOAT,
                    ImageFormat::Rgba16F | ImageFormat::Rgba16H => CL_HALF_FLOAT,
                    ImageFormat::Rgba32I => CL_SIGNED_INT32,
                    ImageFormat::Rgba32U => CL_UNSIGNED_INT32,
                    ImageFormat::Rgba8Unorm => CL_UNORM_INT8,
                };
                let format = cl_image_format { image_channel_order: CL_RGBA, image_channel_data_type: channel };
                let desc = cl_image_desc {
                    image_type: CL_MEM_OBJECT_IMAGE2D,
                    image_width: width,
                    image_height: height,
                    image_depth: 0,
                    image_array_size: 0,
                    image_row_pitch: 0,
                    image_slice_pitch: 0,
                    num_mip_levels: 0,
                    num_samples: 0,
                    buffer: ptr::null_mut(),
                };
                let mut image =
                    unsafe { Image::create(&self.context, CL_MEM_READ_WRITE, &format, &desc, ptr::null_mut()) }.expect("an image");
                let (origin, region) = ([0usize; 3], [width, height, 1]);
                unsafe {
                    let from = data.as_ptr() as *mut _;
                    self.queue
                        .enqueue_write_image(&mut image, CL_BLOCKING, origin.as_ptr(), region.as_ptr(), 0, 0, from, &[])
                        .expect("a write");
                }
                Memory::Image(image, region)
            }
            _ => {
                let mut buffer =
                    unsafe { Buffer::create(&self.context, CL_MEM_READ_WRITE, data.len(), ptr::null_mut()) }.expect("a buffer");
                unsafe { self.queue.enqueue_write_buffer(&mut buffer, CL_BLOCKING, 0, data, &[]) }.expect("a write");
                Memory::Buffer(buffer)
            }
        }
    }
}
