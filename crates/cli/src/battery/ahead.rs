//! Kernels compiled on other processors while the first are measured: NVRTC takes longer for many than the device for one.

use super::prepare::as_cuda;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use warpsight_probe::{Context, Plan, Record, Scale};
use warpsight_run::DeviceInfo;
use warpsight_run::cuda::{Arch, Toolkit, prepare};

/// Processors left to what measures: its own and the driver's.
const LEFT_ALONE: usize = 2;

/// What is to be compiled, for which device, and where to.
pub struct Ahead<'a> {
    /// The compilers.
    pub toolkit: &'a Toolkit,
    /// The cache that the device uses.
    pub cache: PathBuf,
    /// The device.
    pub device: &'a DeviceInfo,
    /// How much is measured.
    pub scale: Scale,
    /// Seed of every random input: some kernels hold it.
    pub seed: u64,
    /// Plans of the phases that will be measured, in order.
    pub plans: Vec<fn(&Context) -> Plan>,
}

/// Does work while other threads compile. What cannot be compiled is left to the device, which says so; what is not yet compiled when
/// the work is done is left.
pub fn during<T>(ahead: Option<&Ahead<'_>>, work: impl FnOnce() -> T) -> T {
    let Some((ahead, arch)) = ahead.and_then(|ahead| Some((ahead, arch(ahead.device)?))) else { return work() };
    let stop = AtomicBool::new(false);
    let (send, receive) = mpsc::channel();
    let receive = Mutex::new(receive);
    let compile = || {
        while let Some((text, entry)) = next(&receive)
            && !stop.load(Ordering::Relaxed)
        {
            // The device meets the same error and records it.
            let _ = prepare(ahead.toolkit, &text, &entry, arch, &ahead.cache);
        }
    };
    let workers = std::thread::available_parallelism().map_or(1, usize::from).saturating_sub(LEFT_ALONE).max(1);
    std::thread::scope(|scope| {
        // The battery meets a defect of a plan, too, and records it.
        scope.spawn(|| catch_unwind(AssertUnwindSafe(|| ahead.list(send, &stop))));
        for _ in 0..workers {
            scope.spawn(compile);
        }
        let done = work();
        stop.store(true, Ordering::Relaxed);
        done
    })
}

/// The next kernel; `None` after the last.
fn next(receive: &Mutex<mpsc::Receiver<(String, String)>>) -> Option<(String, String)> {
    receive.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

impl Ahead<'_> {
    /// Hands out every kernel once, as text and name.
    fn list(&self, send: mpsc::Sender<(String, String)>, stop: &AtomicBool) {
        let context = Context { device: self.device, scale: self.scale, seed: self.seed };
        let mut known = HashSet::new();
        for code in self.plans.iter().flat_map(|plan| plan(&context)).flat_map(|measurement| measurement.job.programs) {
            if stop.load(Ordering::Relaxed) {
                return;
            }
            if let Some(kernel) = as_cuda(code)
                && known.insert(kernel.clone())
                && send.send(kernel).is_err()
            {
                return;
            }
        }
    }
}

/// What a device needs machine code for; as the device itself chooses it.
fn arch(device: &DeviceInfo) -> Option<Arch> {
    let (major, minor) = device.facts.get("compute_capability")?.split_once('.')?;
    let (major, minor): (u32, u32) = (major.parse().ok()?, minor.parse().ok()?);
    Some(Arch { capability: 10 * major + minor, specific: major >= 9 })
}

/// Which kernels were in the cache when the device first asked for them.
#[derive(Default)]
pub struct Cached {
    kernels: HashMap<u64, bool>,
    hash: RandomState,
}

impl Cached {
    /// Takes note of a record's kernel, unless it was seen before: then the device holds it.
    pub fn note(&mut self, record: &Record) {
        if record.ran() {
            self.kernels.entry(self.hash.hash_one(&record.code)).or_insert(record.feedback.cached);
        }
    }
    /// How many were there, of how many.
    pub fn count(&self) -> (usize, usize) {
        (self.kernels.values().filter(|&&cached| cached).count(), self.kernels.len())
    }
}
