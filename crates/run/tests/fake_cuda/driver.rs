//! The driver's C interface as the stand-in's own tests call it: thin, and panicking where a call fails that should not.

#![allow(dead_code)]

use crate::fake_cuda;
use libloading::Library;
use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::process::Command;
use std::ptr;

/// Arguments of a kernel, as boxes whose addresses the driver takes.
#[macro_export]
macro_rules! args {
    ($($value:expr),*) => { [$(Box::new($value) as Box<dyn std::any::Any>),*] };
}

/// Runs the body in a process of its own with each of these sets of variables: the driver has one device, and its faults are for good.
pub fn alone<const N: usize>(test: &str, sets: [&[(&str, &str)]; N], body: impl FnOnce(Driver)) {
    if std::env::var("WARPSIGHT_TEST_ALONE").as_deref() == Ok(test) {
        return body(Driver::load());
    }
    let Some(folder) = fake_cuda::build() else { return };
    for variables in sets {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--nocapture"])
            .env("WARPSIGHT_TEST_ALONE", test)
            .env("LD_LIBRARY_PATH", &folder)
            .envs(variables.iter().copied())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    }
}

pub type Handle = usize;
pub type Args<'a> = &'a [Box<dyn std::any::Any>];

/// What a launch may ask for.
pub enum Attribute {
    Cooperative,
    Cluster(u32),
    Programmatic,
}

pub struct Driver {
    cuda: Library,
    nvrtc: Library,
}

macro_rules! call {
    ($library:expr, $name:literal ( $($value:expr => $type:ty),* )) => {{
        // SAFETY: the types are those of the function in `api.h`, and pointers outlive the call.
        unsafe { ($library.get::<unsafe extern "C" fn($($type),*) -> c_int>($name.as_bytes()).unwrap())($($value),*) }
    }};
}

#[repr(C)]
struct LaunchAttribute {
    id: c_uint,
    pad: [u8; 4],
    value: [u32; 16],
}

#[repr(C)]
struct LaunchConfig {
    sizes: [c_uint; 7],
    stream: Handle,
    attributes: *const LaunchAttribute,
    count: c_uint,
}

impl Driver {
    /// The libraries on the loader's path, and a context.
    pub fn load() -> Self {
        // SAFETY: the stand-in's libraries run nothing when loaded.
        let [cuda, nvrtc] = ["libcuda.so.1", "libnvrtc.so.13"].map(|name| unsafe { Library::new(name) }.unwrap());
        let driver = Self { cuda, nvrtc };
        let mut context: Handle = 0;
        assert_eq!(call!(driver.cuda, "cuInit"(0 => c_uint)), 0);
        assert_eq!(call!(driver.cuda, "cuDevicePrimaryCtxRetain"(&mut context => *mut Handle, 0 => c_int)), 0);
        assert_eq!(call!(driver.cuda, "cuCtxSetCurrent"(context => Handle)), 0);
        driver
    }

    /// Machine code, or the compiler's log.
    pub fn compile(&self, text: &str, arch: &str) -> Result<Vec<u8>, String> {
        let (text, name) = (CString::new(text).unwrap(), c"kernel.cu");
        let option = CString::new(format!("--gpu-architecture={arch}")).unwrap();
        let (mut program, mut size): (Handle, usize) = (0, 0);
        let none = ptr::null::<*const c_char>();
        let nvrtc = &self.nvrtc;
        assert_eq!(
            call!(nvrtc, "nvrtcCreateProgram"(&mut program => *mut Handle, text.as_ptr() => *const c_char, name.as_ptr() => *const c_char,
                0 => c_int, none => *const *const c_char, none => *const *const c_char)),
            0
        );
        let options = [option.as_ptr()];
        let result = call!(nvrtc, "nvrtcCompileProgram"(program => Handle, 1 => c_int, options.as_ptr() => *const *const c_char));
        let out = if result == 0 {
            assert_eq!(call!(nvrtc, "nvrtcGetCUBINSize"(program => Handle, &mut size => *mut usize)), 0);
            let mut cubin = vec![0u8; size];
            assert_eq!(call!(nvrtc, "nvrtcGetCUBIN"(program => Handle, cubin.as_mut_ptr() => *mut u8)), 0);
            Ok(cubin)
        } else {
            assert_eq!(call!(nvrtc, "nvrtcGetProgramLogSize"(program => Handle, &mut size => *mut usize)), 0);
            let mut log = vec![0u8; size];
            assert_eq!(call!(nvrtc, "nvrtcGetProgramLog"(program => Handle, log.as_mut_ptr() => *mut u8)), 0);
            Err(String::from_utf8(log).unwrap())
        };
        assert_eq!(call!(nvrtc, "nvrtcDestroyProgram"(&mut program => *mut Handle)), 0);
        out
    }

    /// What loading machine code for this architecture gives.
    pub fn load_cubin(&self, text: &str, arch: &str) -> i32 {
        let (cubin, mut module): (_, Handle) = (self.compile(text, arch).unwrap(), 0);
        call!(self.cuda, "cuModuleLoadData"(&mut module => *mut Handle, cubin.as_ptr() => *const u8))
    }

    pub fn kernel(&self, text: &str, name: &str) -> Handle {
        self.kernels(text, &[name])[0]
    }

    pub fn kernels(&self, text: &str, names: &[&str]) -> Vec<Handle> {
        let (cubin, mut module): (_, Handle) = (self.compile(text, "sm_90").unwrap_or_else(|log| panic!("{log}")), 0);
        assert_eq!(call!(self.cuda, "cuModuleLoadData"(&mut module => *mut Handle, cubin.as_ptr() => *const u8)), 0);
        let find = |name: &&str| {
            let (name, mut function): (_, Handle) = (CString::new(*name).unwrap(), 0);
            let found =
                call!(self.cuda, "cuModuleGetFunction"(&mut function => *mut Handle, module => Handle, name.as_ptr() => *const c_char));
            assert_eq!(found, 0, "{name:?}");
            function
        };
        names.iter().map(find).collect()
    }

    pub fn launch(&self, f: Handle, blocks: [u32; 3], threads: [u32; 3], shared: u32, args: Args) -> i32 {
        self.launch_on(0, f, blocks, threads, shared, args, &[])
    }

    pub fn launch_with(&self, f: Handle, blocks: [u32; 3], threads: [u32; 3], shared: u32, args: Args, with: &[Attribute]) -> i32 {
        self.launch_on(0, f, blocks, threads, shared, args, with)
    }

    #[expect(clippy::too_many_arguments, reason = "the driver's own")]
    pub fn launch_on(
        &self,
        stream: Handle,
        f: Handle,
        [gx, gy, gz]: [u32; 3],
        [bx, by, bz]: [u32; 3],
        shared: u32,
        args: Args,
        with: &[Attribute],
    ) -> i32 {
        let attributes: Vec<_> = with
            .iter()
            .map(|a| {
                let (id, first, rest) = match a {
                    Attribute::Cooperative => (2, 1, 0),
                    Attribute::Cluster(size) => (4, *size, 1),
                    Attribute::Programmatic => (6, 1, 0),
                };
                let mut value = [0; 16];
                value[..3].copy_from_slice(&[first, rest, rest]);
                LaunchAttribute { id, pad: [0; 4], value }
            })
            .collect();
        let sizes = [gx, gy, gz, bx, by, bz, shared];
        let config = LaunchConfig { sizes, stream, attributes: attributes.as_ptr(), count: attributes.len() as u32 };
        let pointers: Vec<*const c_void> = args.iter().map(|a| ptr::from_ref(&**a).cast()).collect();
        call!(self.cuda, "cuLaunchKernelEx"(&config => *const LaunchConfig, f => Handle, pointers.as_ptr() => *const *const c_void, 0 => Handle))
    }

    pub fn synchronize(&self) -> i32 {
        call!(self.cuda, "cuCtxSynchronize"())
    }

    pub fn allocate(&self, bytes: usize) -> Result<u64, i32> {
        let mut at = 0;
        match call!(self.cuda, "cuMemAlloc_v2"(&mut at => *mut u64, bytes => usize)) {
            0 => Ok(at),
            code => Err(code),
        }
    }

    pub fn free(&self, at: u64) -> i32 {
        call!(self.cuda, "cuMemFree_v2"(at => u64))
    }

    pub fn upload<T: Copy>(&self, values: &[T]) -> u64 {
        let at = self.allocate(size_of_val(values)).unwrap();
        assert_eq!(call!(self.cuda, "cuMemcpyHtoD_v2"(at => u64, values.as_ptr() => *const T, size_of_val(values) => usize)), 0);
        at
    }

    pub fn download<T: Copy + Default>(&self, at: u64, count: usize) -> Vec<T> {
        let mut values = vec![T::default(); count];
        assert_eq!(call!(self.cuda, "cuMemcpyDtoH_v2"(values.as_mut_ptr() => *mut T, at => u64, size_of_val(&values[..]) => usize)), 0);
        values
    }

    /// An array of four floats a texel.
    pub fn array(&self, texels: &[f32], width: usize, height: usize) -> Handle {
        use cudarc::driver::sys::*;
        let mut array: Handle = 0;
        let about = CUDA_ARRAY_DESCRIPTOR { Width: width, Height: height, Format: CUarray_format::CU_AD_FORMAT_FLOAT, NumChannels: 4 };
        assert_eq!(call!(self.cuda, "cuArrayCreate_v2"(&mut array => *mut Handle, &about => *const CUDA_ARRAY_DESCRIPTOR)), 0);
        self.copy_array((texels.as_ptr().cast_mut(), 0), (ptr::null_mut(), array), width, height);
        array
    }

    /// What such an array holds.
    pub fn download_array(&self, array: Handle, width: usize, height: usize) -> Vec<f32> {
        let mut texels = vec![0.0; width * height * 4];
        self.copy_array((ptr::null_mut(), array), (texels.as_mut_ptr(), 0), width, height);
        texels
    }

    /// Between host memory and an array, whichever of each pair is there.
    fn copy_array(&self, from: (*mut f32, Handle), to: (*mut f32, Handle), width: usize, height: usize) {
        use cudarc::driver::sys::*;
        let kind = |array| if array == 0 { CUmemorytype::CU_MEMORYTYPE_HOST } else { CUmemorytype::CU_MEMORYTYPE_ARRAY };
        let copy = CUDA_MEMCPY2D {
            srcXInBytes: 0,
            srcY: 0,
            srcMemoryType: kind(from.1),
            srcHost: from.0.cast(),
            srcDevice: 0,
            srcArray: from.1 as CUarray,
            srcPitch: 0,
            dstXInBytes: 0,
            dstY: 0,
            dstMemoryType: kind(to.1),
            dstHost: to.0.cast(),
            dstDevice: 0,
            dstArray: to.1 as CUarray,
            dstPitch: 0,
            WidthInBytes: width * 16,
            Height: height,
        };
        assert_eq!(call!(self.cuda, "cuMemcpy2D_v2"(&copy => *const CUDA_MEMCPY2D)), 0);
    }

    /// A texture with this address mode and unnormalised coordinates.
    pub fn texture(&self, array: Handle, mode: u32) -> u64 {
        // CUDA_TEXTURE_DESC begins with the address modes of the three axes; CUDA_RESOURCE_DESC is all zero but for the array.
        let (mut what, mut how) = ([0u64; 18], [0u32; 26]);
        what[1] = array as u64;
        how[..3].copy_from_slice(&[mode; 3]);
        let mut texture = 0;
        let created = call!(self.cuda, "cuTexObjectCreate"(&mut texture => *mut u64, what.as_ptr() => *const u64, how.as_ptr() => *const u32, 0 => Handle));
        assert_eq!(created, 0);
        texture
    }

    /// A surface for writing.
    pub fn surface(&self, array: Handle) -> u64 {
        let (mut what, mut surface) = ([0u64; 18], 0);
        what[1] = array as u64;
        assert_eq!(call!(self.cuda, "cuSurfObjectCreate"(&mut surface => *mut u64, what.as_ptr() => *const u64)), 0);
        surface
    }

    pub fn event(&self) -> Handle {
        let mut event = 0;
        assert_eq!(call!(self.cuda, "cuEventCreate"(&mut event => *mut Handle, 0 => c_uint)), 0);
        event
    }

    pub fn record_event(&self, event: Handle, stream: Handle) {
        assert_eq!(call!(self.cuda, "cuEventRecord"(event => Handle, stream => Handle)), 0);
    }

    /// Milliseconds.
    pub fn elapsed(&self, begin: Handle, end: Handle) -> f32 {
        let mut ms = 0.0;
        assert_eq!(call!(self.cuda, "cuEventElapsedTime"(&mut ms => *mut f32, begin => Handle, end => Handle)), 0);
        ms
    }

    /// A graph of what `work` submits to the stream it is given.
    pub fn record(&self, work: impl FnOnce(Handle)) -> Handle {
        let (mut stream, mut graph, mut ready): (Handle, Handle, Handle) = (0, 0, 0);
        assert_eq!(call!(self.cuda, "cuStreamCreate"(&mut stream => *mut Handle, 1 => c_uint)), 0);
        assert_eq!(call!(self.cuda, "cuStreamBeginCapture_v2"(stream => Handle, 0 => c_uint)), 0);
        work(stream);
        assert_eq!(call!(self.cuda, "cuStreamEndCapture"(stream => Handle, &mut graph => *mut Handle)), 0);
        assert_eq!(call!(self.cuda, "cuGraphInstantiateWithFlags"(&mut ready => *mut Handle, graph => Handle, 0 => u64)), 0);
        assert_eq!(call!(self.cuda, "cuGraphDestroy"(graph => Handle)), 0);
        ready
    }

    pub fn launch_graph(&self, graph: Handle) {
        assert_eq!(call!(self.cuda, "cuGraphLaunch"(graph => Handle, 0 => Handle)), 0);
        assert_eq!(self.synchronize(), 0);
    }
}
