//! The calls into the driver, wrapped so that the rest of the back end needs no `unsafe`.
//!
//! What makes them sound: objects live as long as their wrappers, which borrow nothing because the context lives as long as the
//! process; copies between host and device have taken or given the host's bytes when they return; arguments of a launch are values of
//! the sizes that the emitted source declares. What a kernel itself does to memory cannot be proved here: Programs are validated,
//! buffers stand between guard bands, and the driver runs in a process of its own unless the user says otherwise.
#![allow(unsafe_code, reason = "the CUDA driver is a C interface")]

mod allocations;
pub(crate) mod attributes;
mod context;
mod functions;
mod handle;
mod images;
mod launch;
mod objects;

pub(crate) use allocations::Allocation;
pub(crate) use context::Context;
pub(crate) use functions::version_name;
pub(crate) use handle::{Handle, count};
pub(crate) use images::{Image, View};
pub(crate) use launch::{Arg, PLAIN_SHARED, Shape, Window};
pub(crate) use objects::Module;

use crate::DeviceError;
use functions::{Functions, NoDriver, load};
use std::ffi::{CStr, c_char};
use std::sync::OnceLock;

/// The driver of this process, initialised.
///
/// # Errors
/// [`NoDriver`] says why there is none.
pub(crate) fn driver() -> Result<&'static Functions, NoDriver> {
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
pub(crate) fn check(functions: &Functions, call: &str, code: u32) -> Result<(), DeviceError> {
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
        // SAFETY: see the first comment of `driver`; pointers are to values that live through the call.
        $crate::cuda::driver::check($driver, stringify!($name), unsafe { ($driver.$name)($($arg),*) })
    };
}
pub(crate) use cu;
