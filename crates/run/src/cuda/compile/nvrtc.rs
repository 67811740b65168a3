//! The calls into NVRTC, wrapped so that nothing else needs `unsafe`.
//!
//! The library is loaded from wherever [`super::toolkit`] found it and stays loaded: it is large, and other code may hold on to
//! what it registered at the system. Functions and codes are those of `nvrtc.h`, unchanged between versions 11.2 and 13.
#![allow(unsafe_code, reason = "NVRTC is a C interface")]

use libloading::Library;
use std::ffi::{CStr, CString, c_char, c_int};
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::{Mutex, PoisonError};

/// `nvrtcResult`.
type Code = c_int;
/// `nvrtcProgram`.
type Program = *mut std::ffi::c_void;

const SUCCESS: Code = 0;
const INVALID_OPTION: Code = 5;
const COMPILATION: Code = 6;

type Size = unsafe extern "C" fn(Program, *mut usize) -> Code;
type Get = unsafe extern "C" fn(Program, *mut c_char) -> Code;
type Strings = *const *const c_char;

/// Why NVRTC could not be asked, or gave nothing.
#[derive(Debug, thiserror::Error)]
pub(super) enum NvrtcError {
    /// The library, or a function in it, cannot be loaded.
    #[error(transparent)]
    Library(#[from] libloading::Error),
    /// A call failed.
    #[error("{call}: {name} ({code}){log}")]
    Call {
        /// Which.
        call: String,
        /// The library's word for the code.
        name: String,
        /// What it returned.
        code: Code,
        /// What the compiler said, behind a colon; empty where that is nothing.
        log: String,
    },
    /// A text that C cannot hold.
    #[error("the text has a zero byte")]
    ZeroByte,
    /// More options than can be counted.
    #[error("{0} options are too many")]
    Options(usize),
}

/// NVRTC, loaded.
pub(super) struct Nvrtc {
    version: unsafe extern "C" fn(*mut c_int, *mut c_int) -> Code,
    error_string: unsafe extern "C" fn(Code) -> *const c_char,
    arch_count: unsafe extern "C" fn(*mut c_int) -> Code,
    archs: unsafe extern "C" fn(*mut c_int) -> Code,
    create: unsafe extern "C" fn(*mut Program, *const c_char, *const c_char, c_int, Strings, Strings) -> Code,
    destroy: unsafe extern "C" fn(*mut Program) -> Code,
    compile: unsafe extern "C" fn(Program, c_int, Strings) -> Code,
    log: (Size, Get),
    ptx: (Size, Get),
    cubin: (Size, Get),
    /// Whether it is the stand-in that tests use in place of NVIDIA's library.
    pub(super) simulated: bool,
}

/// How a compilation ended.
pub(super) enum Outcome {
    /// PTX, machine code where an architecture of machine code was asked for, and the log.
    Done { ptx: String, cubin: Vec<u8>, log: String },
    /// The text is wrong; the log.
    Wrong(String),
    /// An option is not known to this version; the log.
    Option(String),
}

/// Libraries that were loaded, by path. A handful, for the life of the process.
static LOADED: Mutex<Vec<(PathBuf, &'static Nvrtc)>> = Mutex::new(vec![]);

/// The library at a path, loaded once.
pub(super) fn load(path: &Path) -> Result<&'static Nvrtc, NvrtcError> {
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, nvrtc)) = loaded.iter().find(|(p, _)| p == path) {
        return Ok(nvrtc);
    }
    // SAFETY: a library's initialisers run; the path is one where the user or the system keeps NVIDIA's compiler.
    let library = unsafe { Library::new(path) }?;
    let library: &'static Library = Box::leak(Box::new(library));
    let nvrtc: &'static Nvrtc = Box::leak(Box::new(Nvrtc::of(library)?));
    loaded.push((path.to_owned(), nvrtc));
    Ok(nvrtc)
}

impl Nvrtc {
    fn of(library: &'static Library) -> Result<Self, NvrtcError> {
        /// The function of that name, as the type that the caller's field has.
        fn symbol<T: Copy>(library: &'static Library, name: &str) -> Result<T, NvrtcError> {
            // SAFETY: the fields' types are the declarations of `nvrtc.h`; the library is never unloaded.
            unsafe { Ok(*library.get::<T>(name.as_bytes())?) }
        }
        let pair = |size: &str, get: &str| Ok::<_, NvrtcError>((symbol(library, size)?, symbol(library, get)?));
        Ok(Self {
            version: symbol(library, "nvrtcVersion")?,
            error_string: symbol(library, "nvrtcGetErrorString")?,
            arch_count: symbol(library, "nvrtcGetNumSupportedArchs")?,
            archs: symbol(library, "nvrtcGetSupportedArchs")?,
            create: symbol(library, "nvrtcCreateProgram")?,
            destroy: symbol(library, "nvrtcDestroyProgram")?,
            compile: symbol(library, "nvrtcCompileProgram")?,
            log: pair("nvrtcGetProgramLogSize", "nvrtcGetProgramLog")?,
            ptx: pair("nvrtcGetPTXSize", "nvrtcGetPTX")?,
            cubin: pair("nvrtcGetCUBINSize", "nvrtcGetCUBIN")?,
            simulated: symbol::<*const u8>(library, "warpsight_simulated_driver").is_ok(),
        })
    }

    /// Major and minor version.
    pub(super) fn version(&self) -> Result<(i32, i32), NvrtcError> {
        let (mut major, mut minor) = (0, 0);
        // SAFETY: both point to live integers.
        self.check("nvrtcVersion", unsafe { (self.version)(&mut major, &mut minor) })?;
        Ok((major, minor))
    }

    /// Compute capabilities, times ten, that it makes code for.
    pub(super) fn archs(&self) -> Result<Vec<u32>, NvrtcError> {
        let mut count = 0;
        // SAFETY: points to a live integer.
        self.check("nvrtcGetNumSupportedArchs", unsafe { (self.arch_count)(&mut count) })?;
        let mut archs = vec![0; usize::try_from(count).unwrap_or(0)];
        // SAFETY: room for as many as were announced.
        self.check("nvrtcGetSupportedArchs", unsafe { (self.archs)(archs.as_mut_ptr()) })?;
        Ok(archs.into_iter().filter_map(|a| u32::try_from(a).ok()).collect())
    }

    /// Compiles a text that its log calls `name`.
    pub(super) fn compile(&self, text: &str, name: &str, options: &[String]) -> Result<Outcome, NvrtcError> {
        let c = |s: &str| CString::new(s).map_err(|_| NvrtcError::ZeroByte);
        let (text, name) = (c(text)?, c(name)?);
        let options = options.iter().map(|o| c(o)).collect::<Result<Vec<_>, _>>()?;
        let pointers: Vec<*const c_char> = options.iter().map(|o| o.as_ptr()).collect();
        let count = c_int::try_from(pointers.len()).map_err(|_| NvrtcError::Options(pointers.len()))?;
        let mut program = Compilation { nvrtc: self, program: ptr::null_mut() };
        // SAFETY: both texts end with a zero byte and live on; no headers are passed.
        let created = unsafe { (self.create)(&mut program.program, text.as_ptr(), name.as_ptr(), 0, ptr::null(), ptr::null()) };
        self.check("nvrtcCreateProgram", created)?;
        // SAFETY: the program was created; the options end with zero bytes and live on, and there are `count` of them.
        let code = unsafe { (self.compile)(program.program, count, pointers.as_ptr()) };
        let log = program.text("nvrtcGetProgramLog", self.log)?;
        match code {
            SUCCESS => {
                let ptx = program.text("nvrtcGetPTX", self.ptx)?;
                Ok(Outcome::Done { ptx, cubin: program.bytes("nvrtcGetCUBIN", self.cubin)?, log })
            }
            COMPILATION => Ok(Outcome::Wrong(log)),
            INVALID_OPTION => Ok(Outcome::Option(log)),
            other => {
                let said = log.trim();
                Err(NvrtcError::Call {
                    call: "nvrtcCompileProgram".to_owned(),
                    name: self.name(other),
                    code: other,
                    log: if said.is_empty() { String::new() } else { format!(": {said}") },
                })
            }
        }
    }

    fn check(&self, call: &str, code: Code) -> Result<(), NvrtcError> {
        match code {
            SUCCESS => Ok(()),
            code => Err(NvrtcError::Call { call: call.to_owned(), name: self.name(code), code, log: String::new() }),
        }
    }

    /// The library's word for a code.
    fn name(&self, code: Code) -> String {
        // SAFETY: returns a static text for every code, known or not; null is looked for all the same.
        unsafe {
            let name = (self.error_string)(code);
            if name.is_null() { String::new() } else { CStr::from_ptr(name).to_string_lossy().into_owned() }
        }
    }
}

/// A program of NVRTC's, destroyed in the end.
struct Compilation<'a> {
    nvrtc: &'a Nvrtc,
    program: Program,
}

impl Compilation<'_> {
    fn bytes(&self, call: &str, (size, get): (Size, Get)) -> Result<Vec<u8>, NvrtcError> {
        let mut n = 0;
        // SAFETY: the program was created; `n` is live.
        self.nvrtc.check(call, unsafe { size(self.program, &mut n) })?;
        let mut bytes = vec![0u8; n];
        if n > 0 {
            // SAFETY: room for as many bytes as were announced.
            self.nvrtc.check(call, unsafe { get(self.program, bytes.as_mut_ptr().cast()) })?;
        }
        Ok(bytes)
    }

    /// Text, without the zero byte at its end.
    fn text(&self, call: &str, functions: (Size, Get)) -> Result<String, NvrtcError> {
        let mut bytes = self.bytes(call, functions)?;
        if let Some(end) = bytes.iter().position(|b| *b == 0) {
            bytes.truncate(end);
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

impl Drop for Compilation<'_> {
    fn drop(&mut self) {
        if !self.program.is_null() {
            // SAFETY: it was created and is destroyed once. A failure leaves memory behind, which nothing can help.
            unsafe { (self.nvrtc.destroy)(&mut self.program) };
        }
    }
}
