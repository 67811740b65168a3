//! The simulated GPU as a device. Deterministic, so that one timed pass stands for all.

use crate::check::{CheckedCode, CheckedLaunch, Ledger, argument_bytes, local_bytes, pieces, writes};
use crate::refusal::Reason;
use crate::{
    CacheState, Code, Contents, Device, DeviceError, DeviceInfo, DeviceLimits, Init, Job, LaunchClock, LaunchSpec, Look, MemoryKind,
    MemorySpec, Seen, Session, Timed, TimingSpec,
};
use std::path::Path;
use warpsight_ir::near::did_you_mean;
use warpsight_ir::{Bindings, Feedback, Program, Seconds, TimeSource, Times};
use warpsight_sim::{Bounds, Caches, Clock, Report, Sampling, Silicon, SimFault, Simulator, Timeline};

/// Allocations begin on a page of their own, as a driver's do.
const PAGE: u64 = 4096;

/// A simulated GPU.
pub struct Sim {
    info: DeviceInfo,
    simulator: Simulator,
}

/// Memory of a simulated GPU, and what works on it.
struct SimSession<'a> {
    sim: &'a Sim,
    ledger: Ledger,
    /// Of each piece of memory, the bytes as the host sees them.
    contents: Vec<Vec<u8>>,
    /// Of each piece, where it begins.
    addresses: Vec<u64>,
    /// What launches left in the caches.
    caches: Caches,
    /// What its clock showed before.
    clock: Clock,
}

impl Sim {
    /// The embedded GPU of that name, or the one that a file `….toml` describes.
    ///
    /// # Errors
    /// [`DeviceError::NoDevice`] with the names there are, or with what is wrong in the file.
    pub fn open(name: &str) -> Result<Self, DeviceError> {
        let none = |reason: String| DeviceError::NoDevice { id: format!("sim:{name}"), reason };
        if let Some(own) = Silicon::names().find(|own| own.eq_ignore_ascii_case(name))
            && let Some(silicon) = Silicon::named(own)
        {
            return Ok(Self::new(silicon, own));
        }
        if Path::new(name).extension().is_none_or(|extension| extension != "toml") {
            let meant = did_you_mean(name, Silicon::names());
            return Err(none(format!(
                "simulated GPUs are {}, or a file that ends in .toml{meant}",
                Silicon::names().collect::<Vec<_>>().join(", ")
            )));
        }
        let text = warpsight_files::read_text(Path::new(name), warpsight_files::TEXT)
            .map_err(|error| none(format!("the file cannot be read: {error}")))?;
        Ok(Self::new(Silicon::parse(&text).map_err(|error| none(error.to_string()))?, name))
    }

    /// All embedded GPUs.
    pub fn all() -> Vec<Self> {
        Silicon::names().filter_map(|name| Silicon::named(name).map(|silicon| Self::new(silicon, name))).collect()
    }

    fn new(silicon: Silicon, name: &str) -> Self {
        let limits = &silicon.limits;
        let info = DeviceInfo {
            id: format!("sim:{name}"),
            backend: "sim".into(),
            name: silicon.description.clone(),
            driver: driver(silicon.assumed.len()),
            limits: DeviceLimits {
                max_group_size: Some(silicon.group_size()),
                max_group_dims: None,
                local_bytes: Some(silicon.local_bytes().into()),
                local_arrays: None,
                image_2d: Some((limits.image, limits.image)),
                image_1d: Some(limits.image),
                image_buffer: Some(limits.image_buffer.into()),
                image_pitch: None,
                max_allocation: Some(limits.memory),
                memory: Some(limits.memory),
                compute_units: Some(silicon.core.count),
                f64: true,
                f16: silicon.core.half.is_some(),
            },
            is_cpu: false,
            // In kHz, as drivers say it.
            facts: [("clock_rate".to_owned(), format!("{:.0}", silicon.core.clock / 1e3))].into(),
            clock: Some(TimeSource::Simulated),
        };
        Self { info, simulator: Simulator::new(silicon) }
    }

    /// Its simulator.
    pub fn simulator(&self) -> &Simulator {
        &self.simulator
    }

    /// What happened when in each launch of a job, as the first timed pass finds the caches: after one pass before it. Every group is simulated.
    /// The launches share the spans there may be.
    ///
    /// # Errors
    /// As [`Device::run`].
    pub fn timelines(&self, job: &Job, mut bounds: Bounds) -> Result<Vec<(Report, Timeline)>, DeviceError> {
        let mut session = self.session(&job.memory)?;
        session.load(&job.programs)?;
        session.launch(&job.launches)?;
        let mut all = vec![];
        for launch in session.ledger.launches(&job.launches)? {
            let seen = session.timeline(&launch, bounds)?;
            bounds.spans = bounds.spans.saturating_sub(seen.1.waves.len() + seen.1.waits.len());
            all.push(seen);
        }
        Ok(all)
    }

    /// What the launches of a job take without their results, on caches that they warmed, by parts as its report says, and what the simulator's
    /// compiler says of the first; `None` where one of them takes longer than `most`.
    ///
    /// # Errors
    /// As [`Device::run`].
    pub fn time_within(&self, job: &Job, most: Seconds) -> Result<Option<(Seconds, Feedback)>, DeviceError> {
        let mut session = self.session(&job.memory)?;
        session.load(&job.programs)?;
        let launches = session.ledger.launches(&job.launches)?;
        let cycles = (most.0 * self.simulator.silicon().core.clock).clamp(0.0, u64::MAX as f64) as u64;
        let sampling = Sampling { cycles, ..Sampling::default() };
        let mut reports = vec![];
        for _ in ["to warm caches", "to be timed"] {
            reports = session.pass(&launches, CacheState::Warm, Some(sampling))?;
            if reports.len() < launches.len() {
                return Ok(None);
            }
        }
        let taken = reports.iter().map(|report| report.time).sum();
        Ok(reports.first().zip(launches.first()).map(|(report, launch)| (taken, session.feedback(launch, report))))
    }

    fn session(&self, memory: &[MemorySpec]) -> Result<SimSession<'_>, DeviceError> {
        let ledger = Ledger::open(memory, &self.info.limits, |held| self.footprint(held.kind))?;
        let mut end = PAGE;
        let mut place = |spec: &MemorySpec| {
            let address = end;
            end = (end + self.footprint(spec.kind)).next_multiple_of(PAGE);
            address
        };
        let addresses = memory.iter().map(&mut place).collect();
        let contents = memory.iter().enumerate().map(|(i, spec)| spec.init.contents(spec.kind.bytes()).map_err(|error| error.of(i)));
        let contents = contents.collect::<Result<_, _>>()?;
        let clock = Clock::new(self.simulator.silicon());
        Ok(SimSession { sim: self, ledger, contents, addresses, caches: self.simulator.caches(), clock })
    }

    /// Bytes of device memory a piece takes. There are no guards: the simulator stops at the first access outside.
    fn footprint(&self, kind: MemoryKind) -> u64 {
        match kind {
            MemoryKind::Buffer { bytes } => bytes,
            MemoryKind::Image { kind, format, width, height } => self.simulator.image_bytes(kind, format, width, height),
        }
    }
}

impl Device for Sim {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn open<'a>(&'a mut self, memory: &[MemorySpec]) -> Result<Box<dyn Session + 'a>, DeviceError> {
        Ok(Box::new(self.session(memory)?))
    }
}

impl SimSession<'_> {
    /// Runs every launch in order; a report for each up to one that is given up for its length. What is only `timed` leaves memory as it is, where no address depends on what it holds.
    fn pass(&mut self, launches: &[CheckedLaunch], cache: CacheState, timed: Option<Sampling>) -> Result<Vec<Report>, DeviceError> {
        let simulator = &self.sim.simulator;
        let mut reports = Vec::with_capacity(launches.len());
        for launch in launches {
            if cache == CacheState::Flushed {
                self.caches = simulator.caches();
            }
            let program = self.ledger.code(launch.code).program(launch.program)?;
            let addresses = self.places(launch);
            if let Some(sampling) = timed {
                match simulator.time_in(program, &launch.named, sampling, &mut self.caches, Some(&addresses)) {
                    Err(SimFault::NeedsData { .. }) => {}
                    Err(SimFault::Longer { .. }) => return Ok(reports),
                    report => {
                        reports.push(report.map_err(|fault| error(fault, launch))?);
                        continue;
                    }
                }
            }
            let mut bindings = self.bindings(launch, program)?;
            let report = simulator.simulate_in(program, &mut bindings, &mut self.caches, Some(&addresses));
            reports.push(report.map_err(|fault| error(fault, launch))?);
            keep(&mut self.contents, launch, program, &bindings);
        }
        Ok(reports)
    }

    /// Where its arguments begin.
    fn places(&self, launch: &CheckedLaunch) -> Vec<u64> {
        launch.args.iter().map(|&position| self.addresses[position]).collect()
    }

    /// Its arguments. Memory may be larger than a parameter: then the parameter is its beginning.
    fn bindings(&self, launch: &CheckedLaunch, program: &Program) -> Result<Bindings, DeviceError> {
        let mut data = Vec::with_capacity(launch.args.len());
        for (param, &position) in program.params.iter().zip(&launch.args) {
            let bytes = argument_bytes(param, &launch.named).map_err(|reason| reason.at(launch.field.clone()))? as usize;
            data.push(self.contents[position][..bytes].to_vec());
        }
        Ok(Bindings { sizes: launch.named.clone(), data })
    }

    /// What happens when in a launch.
    fn timeline(&mut self, launch: &CheckedLaunch, bounds: Bounds) -> Result<(Report, Timeline), DeviceError> {
        let program = self.ledger.code(launch.code).program(launch.program)?;
        let (mut bindings, addresses) = (self.bindings(launch, program)?, self.places(launch));
        let seen = self.sim.simulator.timeline_in(program, &mut bindings, &mut self.caches, Some(&addresses), bounds);
        let seen = seen.map_err(|fault| error(fault, launch))?;
        keep(&mut self.contents, launch, program, &bindings);
        Ok(seen)
    }

    /// What the device's clock shows of launches that took this.
    fn timed(&mut self, reports: &[Report], timing: TimingSpec) -> Timed {
        let runs = timing.runs.max(1) as usize;
        let timer = &self.sim.simulator.silicon().timer;
        let (mut times, mut pass_times) = (vec![Times::default(); reports.len()], Times::default());
        // Passes that a clock cannot tell apart are kept as one.
        let (passes, each) = if timer.is_exact() { (1, runs) } else { (runs, 1) };
        for _ in 0..passes {
            let mut pass = Seconds::ZERO;
            for (report, times) in reports.iter().zip(&mut times) {
                let shown = self.clock.shows(timer, report.time);
                times.push(shown, each);
                pass += shown;
            }
            pass_times.push(pass, each);
        }
        Timed {
            pass_times,
            times,
            source: Some(TimeSource::Simulated),
            clock: Some(LaunchClock::Simulated),
            quantum: Seconds(timer.quantum),
            empty_launch: Some(Seconds(self.sim.simulator.silicon().launch.overhead)),
            ..Timed::default()
        }
    }

    /// What the simulator's compiler made of a program, as a launch reports it.
    fn feedback(&self, launch: &CheckedLaunch, report: &Report) -> Feedback {
        let local = self.ledger.code(launch.code).program(launch.program).map(|program| local_bytes(program));
        Feedback {
            registers: Some(report.registers),
            private_bytes: Some(4 * u64::from(report.spilled)),
            local_bytes: local.ok(),
            ..Feedback::default()
        }
    }
}

impl Session for SimSession<'_> {
    fn load(&mut self, programs: &[Code]) -> Result<Vec<Feedback>, DeviceError> {
        let codes = self.ledger.check(programs)?;
        let first = self.ledger.loaded();
        let said = |(i, code): (usize, &CheckedCode)| {
            let local = local_bytes(code.program(first + i)?);
            Ok(Feedback { local_bytes: Some(local), ..Feedback::default() })
        };
        let feedback = codes.iter().enumerate().map(said).collect::<Result<_, DeviceError>>()?;
        codes.into_iter().for_each(|code| _ = self.ledger.add(code));
        Ok(feedback)
    }

    fn write(&mut self, memory: usize, contents: &Init) -> Result<(), DeviceError> {
        self.ledger.writable(memory, contents)?;
        self.contents[memory] = contents.contents(self.contents[memory].len() as u64).map_err(|error| error.of(memory))?;
        Ok(())
    }

    fn launch(&mut self, launches: &[LaunchSpec]) -> Result<Vec<Feedback>, DeviceError> {
        let launches = self.ledger.launches(launches)?;
        let reports = self.pass(&launches, CacheState::Warm, None)?;
        Ok(launches.iter().zip(&reports).map(|(launch, report)| self.feedback(launch, report)).collect())
    }

    fn time(&mut self, launches: &[LaunchSpec], timing: TimingSpec) -> Result<Timed, DeviceError> {
        self.ledger.eager(timing)?;
        let launches = self.ledger.launches(launches)?;
        // A launch takes as long without its results.
        let reports = self.pass(&launches, timing.cache, Some(Sampling::ALL))?;
        Ok(self.timed(&reports, timing))
    }

    fn time_alone(&mut self, launches: &[LaunchSpec], timing: TimingSpec) -> Result<Option<(Vec<Feedback>, Timed)>, DeviceError> {
        self.ledger.eager(timing)?;
        let launches = self.ledger.launches(launches)?;
        self.pass(&launches, CacheState::Warm, Some(Sampling::default()))?;
        let reports = self.pass(&launches, timing.cache, Some(Sampling::default()))?;
        let feedback = launches.iter().zip(&reports).map(|(launch, report)| self.feedback(launch, report)).collect();
        Ok(Some((feedback, self.timed(&reports, timing))))
    }

    fn look(&mut self, look: &Look) -> Result<Seen, DeviceError> {
        self.ledger.readable(look)?;
        Ok(Seen {
            read: look.read.iter().map(|&position| Contents(self.contents[position].clone())).collect(),
            peeked: look.peek.iter().map(|peek| pieces(peek, &self.contents[peek.memory])).collect(),
            damaged: vec![],
        })
    }
}

/// Takes up what a launch wrote. What is bound twice is written by neither.
fn keep(contents: &mut [Vec<u8>], launch: &CheckedLaunch, program: &Program, bindings: &Bindings) {
    for ((param, &position), bytes) in program.params.iter().zip(&launch.args).zip(&bindings.data) {
        if writes(param) {
            contents[position][..bytes.len()].copy_from_slice(bytes);
        }
    }
}

/// What every report on a simulated GPU says of it: that it is one, and how much of it nobody measured.
fn driver(assumed: usize) -> String {
    let version = env!("CARGO_PKG_VERSION");
    match assumed {
        0 => format!("warpsight-sim {version}, simulated"),
        1 => format!("warpsight-sim {version}, simulated; 1 number of its silicon is assumed"),
        more => format!("warpsight-sim {version}, simulated; {more} numbers of its silicon are assumed"),
    }
}

/// A fault in the terms of devices.
fn error(fault: SimFault, launch: &CheckedLaunch) -> DeviceError {
    match fault {
        SimFault::Fault { kernel, group, item, what } => {
            DeviceError::Fault { kernel: kernel.to_string(), what: format!("group {group:?}, work-item {item}: {what}") }
        }
        SimFault::Steps { ref kernel, .. } | SimFault::NeedsData { ref kernel, .. } | SimFault::Longer { ref kernel, .. } => {
            DeviceError::Fault { kernel: kernel.to_string(), what: fault.to_string() }
        }
        SimFault::Contradiction { kernel, what } => {
            DeviceError::Fault { kernel: kernel.to_string(), what: format!("the simulator contradicts itself: {what}") }
        }
        SimFault::Unsupported { kernel, what } => DeviceError::Unsupported { program: launch.program, kernel: kernel.to_string(), what },
        SimFault::Limit { kernel, what, needed, available } => {
            DeviceError::Limit { what: format!("{what} of kernel `{kernel}`"), needed, available }
        }
        SimFault::Binding { argument, what, .. } => Reason::Binding { argument, what }.at(launch.field.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::scale_job;
    use warpsight_ir::data::bytes_f32;

    fn sim() -> Sim {
        Sim::open("adreno640").unwrap()
    }

    #[test]
    fn programs_run_and_times_are_simulated() {
        let values: Vec<f32> = (0..37).map(|i| i as f32).collect();
        let mut sim = sim();
        let result = sim.run(&scale_job(&values, Some(TimingSpec::runs(4)))).unwrap();
        assert_eq!(bytes_f32(&result.read[0].0), values.iter().map(|v| 3.0 * v).collect::<Vec<_>>());
        let timed = result.timed;
        let time = timed.times[0].first().unwrap();
        assert_eq!(timed.times, [Times::alike(time, 4)]);
        assert_eq!(timed.pass_times, Times::alike(time, 4));
        assert!(time.0 > 0.0 && timed.empty_launch.is_some_and(|empty| empty.0 < time.0));
        assert_eq!((timed.source, timed.clock, timed.quantum.0), (Some(TimeSource::Simulated), Some(LaunchClock::Simulated), 0.0));
        assert!(result.feedback[0].registers > Some(0));
        assert_eq!(sim.run(&scale_job(&values, Some(TimingSpec::runs(4)))).unwrap().timed, timed, "the same again");
    }

    /// What is computed of loaded data is not computed where nobody reads it: a division by zero is no fault then.
    #[test]
    fn what_nobody_reads_is_only_timed() {
        let text = "program quotient {\n  read buffer x: i32[64]\n  write buffer y: i32[64]\n  lanes l = 64\n  { y[l] = 1 / x[l] }\n}\n";
        let program = warpsight_ir::Checked::new(warpsight_ir::text::parse(text).unwrap()).unwrap();
        let piece = || MemorySpec { kind: MemoryKind::Buffer { bytes: 256 }, init: Init::Zero, canaries: false };
        let mut job = crate::Job {
            programs: vec![crate::Code::Program((*program).clone())],
            memory: vec![piece(), piece()],
            launches: vec![LaunchSpec { program: 0, args: vec![0, 1], sizes: vec![] }],
            read: vec![],
            peek: vec![],
            timing: Some(TimingSpec::runs(3)),
        };
        assert!(!job.wants_results());
        let result = sim().run(&job).unwrap();
        assert!(result.timed.times[0].len() == 3 && result.feedback[0].registers > Some(0) && result.read.is_empty());
        job.read = vec![1];
        assert!(matches!(sim().run(&job), Err(DeviceError::Fault { what, .. }) if what.contains("divided by zero")));
        // Without the fault it takes as long with results as without.
        job.memory[0].init = Init::Data(vec![1; 256]);
        assert_eq!(sim().run(&job).unwrap().timed.times, result.timed.times);
    }

    #[test]
    fn a_session_keeps_its_memory() {
        crate::testing::memory_stays(&mut sim());
    }

    #[test]
    fn memory_larger_than_a_parameter_keeps_its_rest() {
        let mut job = scale_job(&[1.0, 2.0, 3.0], None);
        job.launches[0].sizes[0] = 2;
        let bytes = sim().run(&job).unwrap().read.remove(0).0;
        assert_eq!(bytes_f32(&bytes[..8]), [3.0, 6.0]);
        assert_eq!(bytes[8..], [0xff; 4]);
    }

    #[test]
    fn an_access_outside_is_a_fault() {
        let mut job = scale_job(&[1.0; 5], None);
        let crate::Code::Program(program) = &mut job.programs[0] else { panic!() };
        let warpsight_ir::Stmt::Store { guard, .. } = &mut program.body[0] else { panic!() };
        guard.clear();
        match sim().run(&job).unwrap_err() {
            DeviceError::Fault { kernel, what } => assert!(kernel == "scale" && what.contains("work-item 5"), "{what}"),
            other => panic!("{other}"),
        }
    }

    /// Tiled or row by row, and as long as no image2d may be wide.
    #[test]
    fn memory_of_images_follows_their_kind() {
        use warpsight_ir::ImageFormat::Rgba32F;
        use warpsight_ir::ImageKind::{Image1d, Image1dBuffer, Image2d, Image2dFromBuffer};
        let mut sim = sim();
        let image = |kind, width, height| MemoryKind::Image { kind, format: Rgba32F, width, height };
        let rows = |kind, height| sim.footprint(image(kind, 5, height)).div_ceil(5 * 16);
        assert!(rows(Image1d, 1) <= 2 && rows(Image1dBuffer, 1) <= 2 && rows(Image2dFromBuffer, 3) <= 3 * 2);
        assert!(rows(Image2d, 3) > 3 * 2, "a tile is larger");
        let widest = sim.info.limits.image_1d.unwrap();
        let mut hold = |kind| {
            let memory = MemorySpec { kind: image(kind, widest + 1, 1), init: Init::Zero, canaries: false };
            Device::open(&mut sim, &[memory]).map(drop)
        };
        assert!(hold(Image1dBuffer).is_ok());
        assert!(matches!(hold(Image1d), Err(DeviceError::Limit { .. })));
    }

    #[test]
    fn unknown_names_and_bad_files_are_refused() {
        let reason = |name: &str| match Sim::open(name).err() {
            Some(DeviceError::NoDevice { id, reason }) => (id, reason),
            other => panic!("{other:?}"),
        };
        let known = Silicon::names().collect::<Vec<_>>().join(", ");
        assert_eq!(reason("x"), ("sim:x".into(), format!("simulated GPUs are {known}, or a file that ends in .toml")));
        let named = sim().info().driver.clone();
        assert!(named.ends_with(", simulated; 24 numbers of its silicon are assumed"), "{named}");
        assert!(reason("/no/such/file.toml").1.starts_with("the file cannot be read: "));
        let file = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
        std::fs::write(file.path(), "name = 3").unwrap();
        assert!(!reason(file.path().to_str().unwrap()).1.is_empty());
    }
}
