//! A job in OpenCL's own terms, and running it.

use super::build::{Built, KernelText};
use super::clock;
use super::ffi::{ArgValue, Queue, set_args};
use super::memory::Memory;
use crate::check::pieces;
use crate::processor::processor_time;
use crate::{DeviceError, JobResult, LaunchClock, MemorySpec, Peek, TimingSpec};
use opencl3::event::Event;
use opencl3::kernel::Kernel;
use std::rc::Rc;
use std::time::Instant;
use warpsight_ir::{Feedback, Seconds, TimeSource};

/// An argument of a launch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum RawArg {
    /// Position in the job's memory.
    Memory(usize),
    /// A size, passed as `int`.
    Int(i32),
}

/// A launch of a kernel.
#[derive(Clone, Debug)]
pub(super) struct RawLaunch {
    /// Position in the job's kernels.
    pub(super) kernel: usize,
    /// In order.
    pub(super) args: Vec<RawArg>,
    /// Work-items in all.
    pub(super) global: [usize; 3],
    /// Work-items of a group.
    pub(super) local: [usize; 3],
}

/// A job whose kernels are text.
pub(super) struct RawJob<'a> {
    pub(super) kernels: Vec<KernelText>,
    pub(super) memory: &'a [MemorySpec],
    pub(super) launches: Vec<RawLaunch>,
    pub(super) read: &'a [usize],
    pub(super) peek: &'a [Peek],
    pub(super) timing: Option<TimingSpec>,
    /// The clock to time with; by default events where they are credible.
    pub(super) clock: Option<LaunchClock>,
}

/// A launch with its kernel object; `None` for a launch of nothing.
type Ready<'a> = Option<(Kernel, &'a RawLaunch)>;

impl RawJob<'_> {
    /// Runs it on an open device; `built` has a program per kernel, `alignment` is that of sub-buffers in bytes. `resolution` is
    /// the step of event times in nanoseconds by the driver's word.
    pub(super) fn execute(&self, queue: &Queue, built: &[Rc<Built>], alignment: usize, resolution: u64) -> Result<JobResult, DeviceError> {
        let mut feedback = Vec::with_capacity(built.len());
        for (built, text) in built.iter().zip(&self.kernels) {
            feedback.push(built.feedback(&built.kernel(text)?, queue));
        }
        self.check_groups(&feedback)?;
        let memory = self.memory.iter().map(|spec| Memory::new(spec, queue, alignment)).collect::<Result<Vec<_>, _>>()?;
        let launches = self.prepare(built, &memory)?;

        // The pass whose results count. It also warms every pair of kernel and local size: some drivers generate code only now.
        for (kernel, launch) in launches.iter().flatten() {
            queue.launch(kernel, launch.global, launch.local)?;
        }
        queue.finish()?;
        let mut result = JobResult { feedback, ..JobResult::default() };
        self.read_back(queue, &memory, &mut result)?;
        if let Some(timing) = self.timing {
            self.time(&launches, timing, queue, resolution, &mut result)?;
        }
        Ok(result)
    }

    /// A compiled kernel may run in smaller groups than the device does.
    fn check_groups(&self, feedback: &[Feedback]) -> Result<(), DeviceError> {
        for launch in &self.launches {
            let size = launch.local.iter().product::<usize>() as u64;
            if let Some(available) = feedback[launch.kernel].max_group_size.map(u64::from)
                && size > available
            {
                let what = format!("a work-group of kernel `{}` as compiled", self.kernels[launch.kernel].name);
                return Err(DeviceError::Limit { what, needed: size, available });
            }
        }
        Ok(())
    }

    fn prepare<'b>(&'b self, built: &[Rc<Built>], memory: &[Memory]) -> Result<Vec<Ready<'b>>, DeviceError> {
        let ready = |launch: &'b RawLaunch| {
            let RawLaunch { kernel, args, global, .. } = launch;
            if global.contains(&0) {
                return Ok(None);
            }
            let object = built[*kernel].kernel(&self.kernels[*kernel])?;
            let values: Vec<ArgValue> = args
                .iter()
                .map(|arg| match arg {
                    RawArg::Memory(position) => memory[*position].arg(),
                    RawArg::Int(value) => ArgValue::Int(*value),
                })
                .collect();
            set_args(&object, &values)?;
            Ok(Some((object, launch)))
        };
        self.launches.iter().map(ready).collect()
    }

    /// Reads what was asked for, and looks at every guard band.
    fn read_back(&self, queue: &Queue, memory: &[Memory], result: &mut JobResult) -> Result<(), DeviceError> {
        let mut contents = Vec::with_capacity(memory.len());
        for (position, (memory, spec)) in memory.iter().zip(self.memory).enumerate() {
            let wanted = self.read.contains(&position) || self.peek.iter().any(|peek| peek.memory == position);
            if !wanted && !spec.canaries {
                contents.push(None);
                continue;
            }
            let (bytes, damaged) = memory.read(spec, queue)?;
            if damaged {
                result.damaged.push(position);
            }
            contents.push(wanted.then_some(bytes));
        }
        // A position may be asked for twice.
        result.read = self.read.iter().map(|&position| contents[position].clone().unwrap_or_default()).collect();
        let peeked = |peek: &Peek| contents[peek.memory].as_ref().map(|contents| pieces(peek, &contents.0)).unwrap_or_default();
        result.peeked = self.peek.iter().map(peeked).collect();
        Ok(())
    }

    /// Times passes over the launches: by events where they are credible, by the host's clock around each launch otherwise.
    fn time(
        &self,
        launches: &[Ready<'_>],
        timing: TimingSpec,
        queue: &Queue,
        resolution: u64,
        result: &mut JobResult,
    ) -> Result<(), DeviceError> {
        let runs = timing.runs.max(1) as usize;
        let mut events: Vec<Vec<u64>> = Vec::with_capacity(runs);
        let mut readable = true;
        let before = processor_time();
        for _ in 0..runs {
            let start = Instant::now();
            let pass = launches
                .iter()
                .map(|ready| ready.as_ref().map(|(kernel, launch)| queue.launch(kernel, launch.global, launch.local)).transpose())
                .collect::<Result<Vec<_>, _>>()?;
            queue.finish()?;
            result.pass_times.push(Seconds(start.elapsed().as_secs_f64()));
            let durations: Option<Vec<u64>> = pass.iter().map(|event| event.as_ref().map_or(Some(0), duration)).collect();
            readable &= durations.is_some();
            events.push(durations.unwrap_or_default());
        }
        result.cpu_time = before.zip(processor_time()).map(|(before, after)| Seconds((after - before) / runs as f64));
        let wall: Vec<f64> = result.pass_times.iter().map(|t| t.0 * 1e9).collect();
        result.source = Some(TimeSource::Measured);
        let credible = match self.clock {
            Some(clock) => clock == LaunchClock::Event,
            None => clock::credible(&events, &wall),
        };
        if readable && credible {
            result.clock = Some(LaunchClock::Event);
            result.quantum = Seconds(clock::quantum(resolution, events.iter().flatten().copied()) as f64 * 1e-9);
            result.times = (0..launches.len()).map(|i| events.iter().map(|pass| Seconds(pass[i] as f64 * 1e-9)).collect()).collect();
            return Ok(());
        }
        result.clock = Some(LaunchClock::Host);
        result.quantum = Seconds(clock::host_quantum());
        result.times = vec![Vec::with_capacity(runs); launches.len()];
        for _ in 0..runs {
            for (ready, times) in launches.iter().zip(&mut result.times) {
                let start = Instant::now();
                if let Some((kernel, launch)) = ready {
                    queue.launch(kernel, launch.global, launch.local)?;
                    queue.finish()?;
                }
                times.push(Seconds(start.elapsed().as_secs_f64()));
            }
        }
        Ok(())
    }
}

/// Nanoseconds between start and end of a finished command; `None` where the driver will not say.
fn duration(event: &Event) -> Option<u64> {
    let (start, end) = (event.profiling_command_start().ok()?, event.profiling_command_end().ok()?);
    end.checked_sub(start)
}
