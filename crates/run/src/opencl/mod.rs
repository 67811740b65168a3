//! OpenCL, loaded at run time: nothing is linked, and a machine without it gets a clean error.
//!
//! Times come from events where the driver's are credible, from the host's clock otherwise ([`crate::Timed::clock`] says
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
use crate::check::{CheckedCode, CheckedLaunch, Ledger};
use crate::refusal::Reason;
use crate::session;
use crate::{
    CacheState, Code, Device, DeviceError, DeviceInfo, Ends, Init, LaunchClock, LaunchSpec, Look, MemorySpec, Seen, Session, Timed,
    TimingSpec, Whole,
};
use build::{Built, KernelText};
use execute::{Bench, RawArg, RawLaunch, Ready};
use ffi::Queue;
use memory::Memory;
use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;
use warpsight_emit::host::BUILD_OPTIONS;
use warpsight_emit::{Grid, Source};
use warpsight_ir::{Checked, Feedback, Seconds, Times};

/// Programs held in memory at most; then all are let go.
const HELD: usize = 1024;

/// Passes that time the empty kernel.
const EMPTY_RUNS: u32 = 11;

/// An OpenCL device, opened.
pub struct OpenCl {
    info: DeviceInfo,
    extensions: String,
    /// Bytes a sub-buffer's origin is a multiple of.
    alignment: memory::Alignment,
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
        let alignment = memory::Alignment {
            // In bits; at least the largest type of the language.
            buffer: (handle.mem_base_addr_align().unwrap_or(0) as usize / 8).max(128),
            pitch: device.info.limits.image_pitch.unwrap_or(0),
        };
        Ok(Self {
            info: device.info,
            extensions: handle.extensions().unwrap_or_default(),
            alignment,
            resolution: handle.profiling_timer_resolution().unwrap_or(1).max(1) as u64,
            queue: Queue::new(device.id)?,
            cache: Cache(cache),
            held: HashMap::new(),
            empty: Vec::new(),
        })
    }

    /// Leaves compiled programs to a driver that keeps them by itself. PoCL does, for each size of groups; its binary, which is of no particular
    /// one, would have to be compiled besides.
    #[must_use]
    pub fn without_second_cache(self) -> Self {
        let keeps = self.info.driver.contains("Portable Computing Language");
        Self { cache: if keeps { Cache(None) } else { self.cache }, ..self }
    }

    /// Whether the driver has an extension; double precision is a feature without one since OpenCL 1.2.
    fn has(&self, extension: &str) -> bool {
        self.extensions.split_whitespace().any(|e| e == extension) || (extension == "cl_khr_fp64" && self.info.limits.f64)
    }

    /// Emits a Program; `position` is its own as the user counts.
    fn emit(&self, position: usize, program: &Checked) -> Result<Source, DeviceError> {
        let unsupported = |what| DeviceError::Unsupported { program: position, kernel: program.name.to_string(), what };
        let emitted = warpsight_emit::opencl(program).map_err(|error| unsupported(error.what))?;
        match emitted.extensions.iter().find(|extension| !self.has(extension)) {
            Some(missing) => Err(unsupported(format!("{missing}, which {} lacks,", self.info.name))),
            None => Ok(emitted),
        }
    }

    /// A built program, and whether it was held before.
    fn built(&mut self, position: usize, text: &KernelText) -> Result<(Rc<Built>, bool), DeviceError> {
        if self.held.len() > HELD {
            self.held.clear();
        }
        let key = text.key(&self.info.name, &self.info.driver);
        if let Some(held) = self.held.get(&key) {
            return Ok((held.clone(), true));
        }
        let program = Rc::new(text.build(position, &key, &self.queue, &self.cache)?);
        self.held.insert(key, program.clone());
        Ok((program, false))
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
        let mut bench = Bench::new(vec![]);
        let (built, known) = self.built(0, &text)?;
        bench.add(text, built.clone(), known, &self.queue)?;
        let launches = bench.prepare(vec![RawLaunch { kernel: 0, args: vec![], global: [1; 3], local: [1; 3] }])?;
        execute::pass(&launches, &self.queue)?;
        built.store(&self.cache);
        let timed = execute::time(&launches, TimingSpec::runs(EMPTY_RUNS), Some(clock), &self.queue, self.resolution)?;
        let time = timed.times.first().and_then(Times::median).unwrap_or(Seconds(0.0));
        self.empty.push((clock, time));
        Ok(time)
    }
}

impl Device for OpenCl {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn open<'a>(&'a mut self, memory: &[MemorySpec]) -> Result<Box<dyn Session + 'a>, DeviceError> {
        let ledger = Ledger::open(memory, &self.info.limits, |held| memory::footprint(held, self.alignment))?;
        let made = memory.iter().enumerate().map(|(i, spec)| Memory::new(i, spec, &self.queue, self.alignment));
        let bench = Bench::new(made.collect::<Result<_, _>>()?);
        Ok(Box::new(OpenClSession { device: self, ledger, bench, kernels: HashMap::new(), fresh: vec![], prepared: None, clock: None }))
    }
}

/// Memory of an OpenCL device, and what works on it.
struct OpenClSession<'a> {
    device: &'a mut OpenCl,
    ledger: Ledger,
    bench: Bench,
    /// For a code of the ledger, its kernel and the shape of its launches.
    kernels: HashMap<usize, (usize, Grid)>,
    /// Kernels whose programs were compiled here and did not run yet.
    fresh: Vec<(usize, Rc<Built>)>,
    /// The last launches, ready: a program runs them again and again.
    prepared: Option<Prepared>,
    /// What times are taken with, judged with the first ones, so that all of a session's are of one clock.
    clock: Option<LaunchClock>,
}

#[derive(Clone)]
struct Prepared {
    specs: Vec<LaunchSpec>,
    launches: Rc<[Ready]>,
    /// The kernel of each.
    kernels: Vec<usize>,
}

impl OpenClSession<'_> {
    /// Builds a program; its kernel. `position` is that of the program as the user counts.
    fn build(&mut self, position: usize, code: &CheckedCode) -> Result<(usize, Grid), DeviceError> {
        let program = code.program(position)?;
        let source = self.device.emit(position, program)?;
        let grid = Grid::of(&program.launch);
        let text = KernelText {
            name: program.name.to_string(),
            text: source.text,
            entry: source.entry.to_string(),
            options: BUILD_OPTIONS.into(),
        };
        let (built, known) = self.device.built(position, &text)?;
        let kernel = self.bench.add(text, built.clone(), known, &self.device.queue)?;
        if !known {
            self.fresh.push((kernel, built));
        }
        Ok((kernel, grid))
    }

    fn prepare(&mut self, specs: &[LaunchSpec]) -> Result<Prepared, DeviceError> {
        if let Some(prepared) = self.prepared.as_ref().filter(|prepared| prepared.specs == specs) {
            return Ok(prepared.clone());
        }
        let checked = self.ledger.launches(specs)?;
        let mut launches = Vec::with_capacity(checked.len());
        for launch in &checked {
            if !self.kernels.contains_key(&launch.code) {
                // One that works in place.
                let code = self.ledger.code(launch.code).clone();
                let kernel = self.build(launch.program, &code)?;
                self.kernels.insert(launch.code, kernel);
            }
            let (kernel, grid) = &self.kernels[&launch.code];
            launches.push(translate(launch, *kernel, grid)?);
        }
        let kernels = launches.iter().map(|launch| launch.kernel).collect();
        let prepared = Prepared { specs: specs.to_vec(), launches: self.bench.prepare(launches)?.into(), kernels };
        self.prepared = Some(prepared.clone());
        Ok(prepared)
    }
}

/// A launch in OpenCL's terms.
fn translate(launch: &CheckedLaunch, kernel: usize, grid: &Grid) -> Result<RawLaunch, DeviceError> {
    let bad = |reason: Reason| reason.at(launch.field.clone());
    let (global, local) = grid.ndrange(&launch.named).map_err(|error| bad(Reason::Extent(error.to_string())))?;
    let mut args: Vec<RawArg> = launch.args.iter().map(|&position| RawArg::Memory(position)).collect();
    for &size in &launch.sizes {
        args.push(RawArg::Int(i32::try_from(size).map_err(|_| bad(Reason::Beyond32Bits { what: format!("size {size}") }))?));
    }
    Ok(RawLaunch { kernel, args, global: global.map(|n| n as usize), local: local.map(|n| n as usize) })
}

impl Session for OpenClSession<'_> {
    fn load(&mut self, programs: &[Code]) -> Result<Vec<Feedback>, DeviceError> {
        let (codes, first) = (self.ledger.check(programs)?, self.ledger.loaded());
        let built = codes.iter().enumerate().map(|(i, code)| self.build(first + i, code)).collect::<Result<Vec<_>, _>>()?;
        let feedback = built.iter().map(|(kernel, _)| self.bench.feedback(*kernel)).collect();
        for (code, kernel) in codes.into_iter().zip(built) {
            self.kernels.insert(self.ledger.add(code), kernel);
        }
        Ok(feedback)
    }

    fn write(&mut self, memory: usize, contents: &Init) -> Result<(), DeviceError> {
        self.ledger.writable(memory, contents)?;
        let bytes = contents.contents(self.ledger.memory()[memory].kind.bytes()).map_err(|error| error.of(memory))?;
        self.bench.memory[memory].write(&bytes, &self.device.queue)
    }

    fn launch(&mut self, launches: &[LaunchSpec]) -> Result<Vec<Feedback>, DeviceError> {
        let prepared = self.prepare(launches)?;
        execute::pass(&prepared.launches, &self.device.queue)?;
        self.fresh.extract_if(.., |(kernel, _)| prepared.kernels.contains(kernel)).for_each(|(_, built)| built.store(&self.device.cache));
        Ok(prepared.kernels.iter().map(|&kernel| self.bench.feedback(kernel)).collect())
    }

    fn time(&mut self, launches: &[LaunchSpec], timing: TimingSpec) -> Result<Timed, DeviceError> {
        self.ledger.eager(timing)?;
        if timing.cache == CacheState::Flushed {
            return Err(self.ledger.no_timing("timing with flushed caches"));
        }
        let prepared = self.prepare(launches)?;
        let device = &mut *self.device;
        let mut timed = execute::time(&prepared.launches, timing, self.clock, &device.queue, device.resolution)?;
        self.clock = timed.clock;
        if let Some(clock) = timed.clock {
            timed.empty_launch = Some(device.empty_launch(clock)?);
        }
        Ok(timed)
    }

    fn time_whole(&mut self, launches: &[LaunchSpec], ends: &Ends, runs: u32) -> Result<Whole, DeviceError> {
        let [inputs, outputs] = [&ends.inputs, &ends.outputs].map(|own| Look { read: own.clone(), peek: vec![] });
        self.ledger.readable(&outputs)?;
        let prepared = self.prepare(launches)?;
        let given = self.look(&inputs)?.read;
        let (queue, memory) = (&self.device.queue, &mut self.bench.memory);
        session::whole(runs, || {
            ends.inputs.iter().zip(&given).try_for_each(|(&own, contents)| memory[own].write(&contents.0, queue))?;
            execute::pass(&prepared.launches, queue)?;
            ends.outputs.iter().try_for_each(|&own| memory[own].read(queue).map(|_| ()))
        })
    }

    fn look(&mut self, look: &Look) -> Result<Seen, DeviceError> {
        self.ledger.readable(look)?;
        self.bench.look(look, &self.device.queue)
    }
}
