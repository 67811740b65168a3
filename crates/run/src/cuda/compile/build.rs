//! From text to a kernel in the device: out of the cache of machine code where possible, by NVRTC otherwise.

use super::error::ToolkitError;
use super::toolkit::{Compiled, Toolkit};
use crate::DeviceError;
use crate::cache::{self, Cache};
use crate::cuda::Arch;
use crate::cuda::driver::{Context, Module};
use cudarc::driver::sys::CUfunction_attribute as Attribute;
use serde::{Deserialize, Serialize};
use warpsight_emit::CUDA_OPTIONS;
use warpsight_ir::Feedback;

/// A kernel as text.
#[derive(Clone, Debug)]
pub(crate) struct KernelText {
    /// What messages call it.
    pub(crate) name: String,
    /// CUDA C++.
    pub(crate) text: String,
    /// The kernel function's name.
    pub(crate) entry: String,
}

/// An entry of the cache. It says what it was made for, because directories of prepared kernels travel between machines.
#[derive(Serialize, Deserialize)]
struct Stored {
    arch: Arch,
    #[serde(with = "serde_bytes")]
    code: Vec<u8>,
    feedback: Feedback,
}

/// A kernel in the device.
pub(crate) struct Built {
    pub(crate) module: Module,
    /// What compiler and driver say of it.
    pub(crate) feedback: Feedback,
}

/// The device that kernels are built for.
pub(crate) struct Target<'a> {
    pub(crate) context: &'a Context,
    pub(crate) arch: Arch,
    pub(crate) device: &'a str,
    pub(crate) cache: &'a Cache,
}

impl KernelText {
    /// What identifies its machine code: not the compiler's version, so that another machine can prepare it.
    pub(crate) fn key(&self, arch: Arch) -> String {
        cache::key(&["cuda", &self.text, &self.entry, &arch.to_string(), &CUDA_OPTIONS.join(" ")])
    }

    /// Compiles it into the cache; nothing happens where it is there already.
    pub(crate) fn prepare(&self, toolkit: &Toolkit, arch: Arch, cache: &Cache) -> Result<Feedback, ToolkitError> {
        let key = self.key(arch);
        if let Some(stored) = stored(cache, &key) {
            return Ok(Feedback { cached: true, ..stored.feedback });
        }
        let compiled = toolkit.compile(&self.text, &self.entry, arch)?;
        let feedback = compiled.feedback();
        store(cache, &key, arch, compiled);
        Ok(feedback)
    }

    /// Brings it into the device. `index` is its position in the job, for errors.
    pub(crate) fn build(&self, index: usize, target: &Target) -> Result<Built, DeviceError> {
        let key = self.key(target.arch);
        let failed = |log: String, line| DeviceError::Build { program: index, kernel: self.name.clone(), log, line };
        let mut refused = None;
        if let Some(stored) = stored(target.cache, &key) {
            match self.load(&stored.code, stored.arch, stored.feedback, target) {
                Ok(mut built) => {
                    built.feedback.cached = true;
                    return Ok(built);
                }
                Err(why) => refused = Some(why?),
            }
        }
        let compiled = Toolkit::find().and_then(|toolkit| toolkit.compile(&self.text, &self.entry, target.arch));
        let compiled = compiled.map_err(|error| match (error, &refused) {
            (ToolkitError::Missing { .. }, Some(refused)) => failed(format!("{refused}; and there is no NVRTC to compile it anew"), None),
            (error @ ToolkitError::Missing { .. }, None) => {
                failed(format!("{error}; it is not among the kernels prepared for {} either", target.arch), None)
            }
            (error, _) => failed(error.to_string(), error.line()),
        })?;
        match self.load(&compiled.cubin, target.arch, compiled.feedback(), target) {
            Ok(built) => {
                store(target.cache, &key, target.arch, compiled);
                Ok(built)
            }
            Err(why) => Err(failed(why?, None)),
        }
    }

    /// Loads machine code.
    ///
    /// # Errors
    /// Words where the driver refuses this code, for which other code could help; an error where the device is lost.
    fn load(&self, code: &[u8], made_for: Arch, feedback: Feedback, target: &Target) -> Result<Built, Result<String, DeviceError>> {
        let module = target.context.module(code, &self.entry).map_err(|error| match error {
            DeviceError::Driver { call, code } => {
                Ok(format!("{call} refused machine code for {made_for} on {}, which is {}: {code}", target.device, target.arch))
            }
            lost => Err(lost),
        })?;
        let feedback = Feedback {
            registers: module.attribute(Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS).or(feedback.registers),
            private_bytes: module.attribute(Attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES).map(u64::from).or(feedback.private_bytes),
            spill_bytes: feedback.spill_bytes,
            local_bytes: module.attribute(Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES).map(u64::from).or(feedback.local_bytes),
            max_group_size: module.attribute(Attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK).or(feedback.max_group_size),
            resident_groups: None,
            cached: false,
        };
        Ok(Built { module, feedback })
    }
}

/// What the cache has; an entry of another layout is none.
fn stored(cache: &Cache, key: &str) -> Option<Stored> {
    postcard::from_bytes(&cache.get(key)?).ok()
}

fn store(cache: &Cache, key: &str, arch: Arch, compiled: Compiled) {
    let feedback = compiled.feedback();
    if let Ok(entry) = postcard::to_stdvec(&Stored { arch, code: compiled.cubin, feedback }) {
        cache.put(key, &entry);
    }
}
