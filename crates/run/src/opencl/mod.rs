//! OpenCL, loaded at run time: nothing is linked, and a machine without it gets a clean error.
//!
//! Times come from events where the driver's are credible, from the host's clock otherwise ([`crate::JobResult::clock`] says
//! which). Compiled programs are kept on disk, keyed by everything they depend on, and while the device is open in memory.

mod build;
mod clock;
mod execute;
mod ffi;
mod listing;
mod memory;
#[cfg(test)]
mod tests;

pub use listing::list;

use crate::cache::Cache;
use crate::check::CheckedJob;
use crate::{CacheState, Device, DeviceError, DeviceInfo, Job, JobResult, LaunchClock, TimingSpec};
use build::{Built, KernelText};
use execute::{RawArg, RawJob, RawLaunch};
use ffi::Queue;
use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;
use warpsight_emit::Source;
use warpsight_ir::Seconds;

/// Passed to every build: emitted text is OpenCL C 1.2.
const BUILD_OPTIONS: &str = "-cl-std=CL1.2";

/// Programs held in memory at most; then all are let go.
const HELD: usize = 1024;

/// Passes that time the empty kernel.
const EMPTY_RUNS: u32 = 11;

/// An OpenCL device, opened.
pub struct OpenCl {
    info: DeviceInfo,
    extensions: String,
    /// Bytes a sub-buffer's origin is a multiple of.
    alignment: usize,
    /// Step of event times in nanoseconds, by the driver's word.
    resolution: u64,
    queue: Queue,
    cache: Cache,
    held: HashMap<String, Rc<Built>>,
    /// What an empty kernel takes, by each clock that was used.
    empty: Vec<(LaunchClock, Seconds)>,
}

impl OpenCl {
    /// Opens a device by its id, `opencl:N`. Compiled programs are kept in `cache`, where there is one.
    ///
    /// # Errors
    /// [`DeviceError::NoDevice`] with what was found instead; [`DeviceError::Driver`].
    pub fn open(id: &str, cache: Option<PathBuf>) -> Result<Self, DeviceError> {
        let (found, skipped) = listing::find();
        let there: Vec<String> = found.iter().map(|device| device.info.id.clone()).collect();
        let Some(device) = found.into_iter().find(|device| device.info.id == id) else {
            let mut reason = if there.is_empty() { "no OpenCL device was found".into() } else { format!("there is {}", there.join(", ")) };
            for (name, why) in skipped {
                reason += &format!("; {name}: {why}");
            }
            return Err(DeviceError::NoDevice { id: id.into(), reason });
        };
        let handle = opencl3::device::Device::new(device.id);
        Ok(Self {
            info: device.info,
            extensions: handle.extensions().unwrap_or_default(),
            // In bits; at least the largest type of the language.
            alignment: (handle.mem_base_addr_align().unwrap_or(0) as usize / 8).max(128),
            resolution: handle.profiling_timer_resolution().unwrap_or(1).max(1) as u64,
            queue: Queue::new(device.id)?,
            cache: Cache(cache),
            held: HashMap::new(),
            empty: Vec::new(),
        })
    }

    /// Whether the driver has an extension; double precision is a feature without one since OpenCL 1.2.
    fn has(&self, extension: &str) -> bool {
        self.extensions.split_whitespace().any(|e| e == extension) || (extension == "cl_khr_fp64" && self.info.limits.f64)
    }

    /// Emits a job's Programs and puts its launches in OpenCL's terms.
    fn translate<'a>(&self, checked: &CheckedJob<'a>) -> Result<RawJob<'a>, DeviceError> {
        let programs = checked.programs()?;
        if checked.job.timing.is_some_and(|timing| timing.cache == CacheState::Flushed) {
            let kernel = programs.first().map_or_else(String::new, |program| program.name.to_string());
            return Err(DeviceError::Unsupported { program: 0, kernel, what: "timing with flushed caches".into() });
        }
        let mut sources: Vec<Source> = Vec::with_capacity(programs.len());
        for (program, &source) in programs.iter().enumerate() {
            let unsupported = |what| DeviceError::Unsupported { program, kernel: source.name.to_string(), what };
            let emitted = warpsight_emit::opencl(source).map_err(|error| unsupported(error.what))?;
            if let Some(missing) = emitted.extensions.iter().find(|extension| !self.has(extension)) {
                return Err(unsupported(format!("{missing}, which {} lacks,", self.info.name)));
            }
            sources.push(emitted);
        }
        let mut launches = Vec::with_capacity(checked.job.launches.len());
        for (launch, sizes) in checked.job.launches.iter().zip(&checked.sizes) {
            let name = &programs[launch.program].name;
            let bad = |what: String| DeviceError::BadJob(format!("`{name}`: {what}"));
            let (global, local) = sources[launch.program].ndrange(sizes).map_err(|error| bad(error.to_string()))?;
            let mut args: Vec<RawArg> = launch.args.iter().map(|&position| RawArg::Memory(position)).collect();
            for &size in &launch.sizes {
                args.push(RawArg::Int(i32::try_from(size).map_err(|_| bad(format!("size {size} exceeds 32 bits")))?));
            }
            launches.push(RawLaunch { kernel: launch.program, args, global: global.map(|n| n as usize), local: local.map(|n| n as usize) });
        }
        let kernels = sources
            .into_iter()
            .zip(&programs)
            .map(|(source, program)| KernelText {
                name: program.name.to_string(),
                text: source.text,
                entry: source.entry.to_string(),
                options: BUILD_OPTIONS.into(),
            })
            .collect();
        Ok(RawJob {
            kernels,
            memory: &checked.job.memory,
            launches,
            read: &checked.job.read,
            peek: &checked.job.peek,
            timing: checked.job.timing,
            clock: None,
        })
    }

    /// Runs a job whose kernels are text.
    fn run_raw(&mut self, job: &RawJob) -> Result<JobResult, DeviceError> {
        if self.held.len() > HELD {
            self.held.clear();
        }
        let mut built = Vec::with_capacity(job.kernels.len());
        let mut fresh = Vec::new();
        let mut known = vec![false; job.kernels.len()];
        for (index, text) in job.kernels.iter().enumerate() {
            let key = text.key(&self.info.name, &self.info.driver);
            if let Some(held) = self.held.get(&key) {
                known[index] = true;
                built.push(held.clone());
                continue;
            }
            let program = Rc::new(text.build(index, &key, &self.queue, &self.cache)?);
            self.held.insert(key, program.clone());
            fresh.push(program.clone());
            built.push(program);
        }
        let mut result = job.execute(&self.queue, &built, self.alignment, self.resolution)?;
        for program in fresh {
            program.store(&self.cache);
        }
        for (feedback, known) in result.feedback.iter_mut().zip(known) {
            feedback.cached |= known;
        }
        Ok(result)
    }

    /// What a kernel that does nothing takes by this clock; measured once.
    fn empty_launch(&mut self, clock: LaunchClock) -> Result<Seconds, DeviceError> {
        if let Some((_, known)) = self.empty.iter().find(|(of, _)| *of == clock) {
            return Ok(*known);
        }
        let text = KernelText {
            name: "empty".into(),
            text: "__kernel void warpsight_empty(void) {\n}\n".into(),
            entry: "warpsight_empty".into(),
            options: BUILD_OPTIONS.into(),
        };
        let launches = vec![RawLaunch { kernel: 0, args: vec![], global: [1; 3], local: [1; 3] }];
        let timing = Some(TimingSpec::runs(EMPTY_RUNS));
        let result =
            self.run_raw(&RawJob { kernels: vec![text], memory: &[], launches, read: &[], peek: &[], timing, clock: Some(clock) })?;
        let time = result.times.first().and_then(|times| warpsight_ir::sample::median(times)).unwrap_or(Seconds(0.0));
        self.empty.push((clock, time));
        Ok(time)
    }
}

impl Device for OpenCl {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn run(&mut self, job: &Job) -> Result<JobResult, DeviceError> {
        let checked = CheckedJob::new(job)?;
        checked.fits(&self.info.limits, |spec| memory::footprint(spec, self.alignment))?;
        let raw = self.translate(&checked)?;
        let mut result = self.run_raw(&raw)?;
        if let Some(clock) = result.clock {
            result.empty_launch = Some(self.empty_launch(clock)?);
        }
        Ok(result)
    }
}
