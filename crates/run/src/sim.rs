//! The simulated GPU as a device. Deterministic, so that one timed pass stands for all.

use crate::check::{CheckedJob, argument_bytes, pieces};
use crate::{CacheState, Contents, Device, DeviceError, DeviceInfo, DeviceLimits, Job, JobResult, LaunchClock, MemoryKind, MemorySpec};
use std::path::Path;
use warpsight_ir::near::did_you_mean;
use warpsight_ir::{Bindings, Checked, Feedback, Seconds, TimeSource};
use warpsight_sim::{Caches, Report, Silicon, SimFault, Simulator};

/// Allocations begin on a page of their own, as a driver's do.
const PAGE: u64 = 4096;

/// A simulated GPU.
pub struct Sim {
    info: DeviceInfo,
    simulator: Simulator,
}

/// Device memory while a job runs.
struct Memory {
    /// Of each piece, the bytes as the host sees them.
    contents: Vec<Vec<u8>>,
    /// Of each piece, where it begins.
    addresses: Vec<u64>,
    /// What launches left in the caches.
    caches: Caches,
}

impl Sim {
    /// The embedded GPU of that name, or the one that a file `….toml` describes.
    ///
    /// # Errors
    /// [`DeviceError::NoDevice`] with the names there are, or with what is wrong in the file.
    pub fn open(name: &str) -> Result<Self, DeviceError> {
        let none = |reason: String| DeviceError::NoDevice { id: format!("sim:{name}"), reason };
        if let Some(own) = Silicon::NAMES.iter().find(|own| own.eq_ignore_ascii_case(name))
            && let Some(silicon) = Silicon::named(own)
        {
            return Ok(Self::new(silicon, own));
        }
        if Path::new(name).extension().is_none_or(|extension| extension != "toml") {
            let meant = did_you_mean(name, Silicon::NAMES.iter().copied());
            return Err(none(format!("simulated GPUs are {}, or a file that ends in .toml{meant}", Silicon::NAMES.join(", "))));
        }
        let text = warpsight_files::read_text(Path::new(name), warpsight_files::TEXT)
            .map_err(|error| none(format!("the file cannot be read: {error}")))?;
        Ok(Self::new(Silicon::parse(&text).map_err(|error| none(error.to_string()))?, name))
    }

    /// All embedded GPUs.
    pub fn all() -> Vec<Self> {
        Silicon::NAMES.iter().filter_map(|name| Silicon::named(name).map(|silicon| Self::new(silicon, name))).collect()
    }

    fn new(silicon: Silicon, name: &str) -> Self {
        let limits = &silicon.limits;
        let info = DeviceInfo {
            id: format!("sim:{name}"),
            backend: "sim".into(),
            name: silicon.description.clone(),
            driver: format!("warpsight-sim {}", env!("CARGO_PKG_VERSION")),
            limits: DeviceLimits {
                max_group_size: Some(limits.group_size),
                max_group_dims: None,
                local_bytes: Some(limits.local_bytes.into()),
                image_2d: Some((limits.image, limits.image)),
                max_allocation: Some(limits.memory),
                memory: Some(limits.memory),
                compute_units: Some(silicon.core.count),
                f64: true,
                f16: true,
            },
            is_cpu: false,
            facts: Default::default(),
            clock: Some(TimeSource::Simulated),
        };
        Self { info, simulator: Simulator::new(silicon) }
    }

    /// Bytes of device memory a piece takes. There are no guards: the simulator stops at the first access outside.
    fn footprint(&self, spec: &MemorySpec) -> u64 {
        match spec.kind {
            MemoryKind::Buffer { bytes } => bytes,
            MemoryKind::Image { format, width, height } => self.simulator.image_bytes(format, width, height),
        }
    }

    fn memory(&self, job: &Job) -> Result<Memory, DeviceError> {
        let mut end = PAGE;
        let mut place = |spec: &MemorySpec| {
            let address = end;
            end = (end + self.footprint(spec)).next_multiple_of(PAGE);
            address
        };
        let contents = job.memory.iter().map(|spec| spec.init.contents(spec.kind.bytes()).map_err(DeviceError::BadJob));
        Ok(Memory {
            addresses: job.memory.iter().map(&mut place).collect(),
            contents: contents.collect::<Result<_, _>>()?,
            caches: self.simulator.caches(),
        })
    }
}

impl Device for Sim {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn run(&mut self, job: &Job) -> Result<JobResult, DeviceError> {
        let checked = CheckedJob::new(job)?;
        let programs = checked.programs()?;
        checked.fits(&self.info.limits, |spec| self.footprint(spec))?;
        let mut memory = self.memory(job)?;
        let first = pass(&self.simulator, &checked, &programs, &mut memory, CacheState::Warm)?;
        let mut result = JobResult {
            read: job.read.iter().map(|&position| Contents(memory.contents[position].clone())).collect(),
            peeked: job.peek.iter().map(|peek| pieces(peek, &memory.contents[peek.memory])).collect(),
            feedback: programs.iter().enumerate().map(|(i, program)| feedback(job, i, program, &first)).collect(),
            ..JobResult::default()
        };
        if let Some(timing) = job.timing {
            let runs = timing.runs.max(1) as usize;
            let timed: Vec<Seconds> =
                pass(&self.simulator, &checked, &programs, &mut memory, timing.cache)?.iter().map(|report| report.time).collect();
            result.pass_times = vec![Seconds(timed.iter().map(|time| time.0).sum()); runs];
            result.times = timed.into_iter().map(|time| vec![time; runs]).collect();
            result.source = Some(TimeSource::Simulated);
            result.clock = Some(LaunchClock::Simulated);
            result.empty_launch = Some(Seconds(self.simulator.silicon().launch.overhead));
        }
        Ok(result)
    }
}

/// Runs every launch in order; a report for each.
fn pass(
    simulator: &Simulator,
    checked: &CheckedJob,
    programs: &[&Checked],
    memory: &mut Memory,
    cache: CacheState,
) -> Result<Vec<Report>, DeviceError> {
    let mut reports = Vec::with_capacity(checked.job.launches.len());
    for (launch, sizes) in checked.job.launches.iter().zip(&checked.sizes) {
        if cache == CacheState::Flushed {
            memory.caches = simulator.caches();
        }
        let program = programs[launch.program];
        // Memory may be larger than a parameter: then the parameter is its beginning.
        let mut data = Vec::with_capacity(launch.args.len());
        for (param, &position) in program.params.iter().zip(&launch.args) {
            let bytes = argument_bytes(param, sizes).map_err(DeviceError::BadJob)? as usize;
            data.push(memory.contents[position][..bytes].to_vec());
        }
        let mut bindings = Bindings { sizes: sizes.clone(), data };
        let addresses: Vec<u64> = launch.args.iter().map(|&position| memory.addresses[position]).collect();
        let report = simulator.simulate_in(program, &mut bindings, &mut memory.caches, Some(&addresses));
        reports.push(report.map_err(|fault| error(fault, launch.program))?);
        // What is bound twice is written by neither.
        for ((param, &position), bytes) in program.params.iter().zip(&launch.args).zip(&bindings.data) {
            if crate::check::writes(param) {
                memory.contents[position][..bytes.len()].copy_from_slice(bytes);
            }
        }
    }
    Ok(reports)
}

/// What the simulator's compiler made of a program, as its launches report it.
fn feedback(job: &Job, position: usize, program: &Checked, reports: &[Report]) -> Feedback {
    let launched = job.launches.iter().zip(reports).find(|(launch, _)| launch.program == position);
    Feedback {
        registers: launched.map(|(_, report)| report.registers),
        private_bytes: launched.map(|(_, report)| 4 * u64::from(report.spilled)),
        spill_bytes: None,
        local_bytes: Some(crate::check::local_bytes(program)),
        max_group_size: None,
        resident_groups: None,
        cached: false,
    }
}

/// A fault in the terms of devices.
fn error(fault: SimFault, program: usize) -> DeviceError {
    match fault {
        SimFault::Fault { kernel, group, item, what } => {
            DeviceError::Fault { kernel: kernel.to_string(), what: format!("group {group:?}, work-item {item}: {what}") }
        }
        SimFault::Contradiction { kernel, what } => {
            DeviceError::Fault { kernel: kernel.to_string(), what: format!("the simulator contradicts itself: {what}") }
        }
        SimFault::Unsupported { kernel, what } => DeviceError::Unsupported { program, kernel: kernel.to_string(), what },
        SimFault::Limit { kernel, what, needed, available } => {
            DeviceError::Limit { what: format!("{what} of kernel `{kernel}`"), needed, available }
        }
        SimFault::Binding { kernel, argument, what } => DeviceError::BadJob(format!("kernel `{kernel}`: argument `{argument}` {what}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TimingSpec;
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
        let time = result.times[0][0];
        assert_eq!(result.times, [vec![time; 4]]);
        assert_eq!(result.pass_times, [time; 4]);
        assert!(time.0 > 0.0 && result.empty_launch.is_some_and(|empty| empty.0 < time.0));
        assert_eq!((result.source, result.clock, result.quantum.0), (Some(TimeSource::Simulated), Some(LaunchClock::Simulated), 0.0));
        assert!(result.feedback[0].registers > Some(0));
        assert_eq!(sim.run(&scale_job(&values, Some(TimingSpec::runs(4)))).unwrap().times, result.times, "the same again");
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

    #[test]
    fn unknown_names_and_bad_files_are_refused() {
        let reason = |name: &str| match Sim::open(name).err() {
            Some(DeviceError::NoDevice { id, reason }) => (id, reason),
            other => panic!("{other:?}"),
        };
        assert_eq!(reason("x"), ("sim:x".into(), "simulated GPUs are adreno640, or a file that ends in .toml".into()));
        assert!(reason("/no/such/file.toml").1.starts_with("the file cannot be read: "));
        let file = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
        std::fs::write(file.path(), "name = 3").unwrap();
        assert!(!reason(file.path().to_str().unwrap()).1.is_empty());
    }
}
