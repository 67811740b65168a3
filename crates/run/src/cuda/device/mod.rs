//! An open device, and its sessions in the driver's terms.

mod awake;
pub(super) mod fill;
mod fits;
pub(super) mod flush;
mod memory;
pub(super) mod passes;
mod session;
mod timing;

use super::Arch;
use super::compile::{Built, KernelText, Target};
use super::driver::{Context, PLAIN_SHARED};
use super::listing;
use crate::cache::Cache;
use crate::clocks::Clocks;
use crate::{DeviceError, DeviceInfo, LaunchClock};
use awake::Awake;
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;

/// Kernels held in the device at most; then all are let go.
const HELD: usize = 256;

/// L2 caches are taken to be at least this large where the driver does not say, in bytes.
const SMALLEST_L2: u64 = 32 << 20;

/// What launches depend on.
struct Properties {
    multiprocessors: u32,
    max_grid: [u32; 3],
    /// Shared memory of a block at most, in bytes.
    shared_bytes: u64,
    /// Whether launches may be in clusters and begin early: compute capability 9.0.
    clusters: bool,
    /// Bytes of L2 that may be set aside for lines that stay.
    most_set_aside: usize,
    /// Bytes of a window over them.
    most_window: usize,
    l2_bytes: u64,
}

/// An NVIDIA GPU, opened.
pub struct Cuda {
    info: DeviceInfo,
    arch: Arch,
    properties: Properties,
    clocks: Clocks,
    cache: Cache,
    held: RefCell<HashMap<String, Rc<Built>>>,
    /// What an empty kernel takes by each clock that was used, and the step of the events' clock, in nanoseconds.
    empty: RefCell<Vec<(LaunchClock, f64, f64)>>,
    awake: Awake,
    /// Why nothing works any more, once that is so.
    lost: RefCell<Option<String>>,
    // Last: what lies in it is freed before.
    context: Context,
}

impl Cuda {
    /// Opens a device by its id, `cuda:N`. Machine code is kept in `cache`, where there is one.
    ///
    /// # Errors
    /// [`DeviceError::NoDevice`] with what was found instead; [`DeviceError::Driver`].
    pub fn open(id: &str, cache: Option<PathBuf>) -> Result<Self, DeviceError> {
        let (found, skipped) = listing::find();
        let there: Vec<String> = found.iter().map(|(_, info)| info.id.clone()).collect();
        let Some((handle, info)) = found.into_iter().find(|(_, info)| info.id == id) else {
            let mut reason = if there.is_empty() { "no CUDA device was found".into() } else { format!("there is {}", there.join(", ")) };
            for (name, why) in skipped {
                reason += &format!("; {name}: {why}");
            }
            return Err(DeviceError::NoDevice { id: id.into(), reason });
        };
        let fact = |name: &str| info.facts.get(name).and_then(|value| value.parse::<u64>().ok());
        let small = |name: &str, otherwise: u32| fact(name).and_then(|value| u32::try_from(value).ok()).unwrap_or(otherwise);
        let arch = listing::arch(handle);
        let properties = Properties {
            multiprocessors: small("multiprocessor_count", 1),
            max_grid: [small("max_grid_dim_x", u32::MAX), small("max_grid_dim_y", 65535), small("max_grid_dim_z", 65535)],
            shared_bytes: info.limits.local_bytes.unwrap_or(PLAIN_SHARED.into()),
            clusters: arch.capability >= 90,
            most_set_aside: fact("max_persisting_l2_cache_size").unwrap_or(0) as usize,
            most_window: fact("max_access_policy_window_size").unwrap_or(0) as usize,
            l2_bytes: fact("l2_cache_bytes").filter(|&bytes| bytes > 0).unwrap_or(SMALLEST_L2),
        };
        Ok(Self {
            clocks: Clocks::new(info.facts.get("uuid").filter(|_| !handle.driver.stand_in)),
            context: Context::new(handle)?,
            info,
            arch,
            properties,
            cache: Cache(cache),
            held: RefCell::default(),
            empty: RefCell::default(),
            awake: Awake::default(),
            lost: RefCell::default(),
        })
    }

    /// A kernel in the device, and whether it was there before.
    fn built(&self, index: usize, text: &KernelText) -> Result<(Rc<Built>, bool), DeviceError> {
        let key = text.key(self.arch);
        if let Some(held) = self.held.borrow().get(&key) {
            return Ok((held.clone(), true));
        }
        let target = Target { context: &self.context, arch: self.arch, device: &self.info.name, cache: &self.cache };
        let built = Rc::new(text.build(index, &target)?);
        let mut held = self.held.borrow_mut();
        if held.len() >= HELD {
            held.clear();
        }
        held.insert(key, built.clone());
        Ok((built, false))
    }

    fn alive(&self) -> Result<(), DeviceError> {
        match &*self.lost.borrow() {
            Some(why) => Err(DeviceError::Lost(why.clone())),
            None => Ok(()),
        }
    }

    /// Remembers an error with which the context is gone: only a new process has another.
    fn watch<T>(&self, result: Result<T, DeviceError>) -> Result<T, DeviceError> {
        if let Err(error @ (DeviceError::Lost(_) | DeviceError::Fault { .. })) = &result {
            *self.lost.borrow_mut() = Some(format!("an earlier launch ended the device's context: {error}"));
        }
        result
    }
}
