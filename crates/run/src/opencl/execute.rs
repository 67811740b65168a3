//! A session in OpenCL's own terms: kernels that are text, and their launches.

use super::build::{Built, KernelText};
use super::clock;
use super::ffi::{ArgValue, Queue, set_args};
use super::memory::Memory;
use crate::check::pieces;
use crate::processor::processor_time;
use crate::{DeviceError, LaunchClock, Look, Peek, Seen, Timed, TimingSpec};
use opencl3::event::Event;
use opencl3::kernel::Kernel;
use std::rc::Rc;
use std::time::Instant;
use warpsight_ir::{Feedback, Seconds, TimeSource, Times};

/// An argument of a launch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum RawArg {
    /// Position in the session's memory.
    Memory(usize),
    /// A size, passed as `int`.
    Int(i32),
}

/// A launch of a kernel.
#[derive(Clone, Debug)]
pub(super) struct RawLaunch {
    /// Position in the session's kernels.
    pub(super) kernel: usize,
    /// In order.
    pub(super) args: Vec<RawArg>,
    /// Work-items in all.
    pub(super) global: [usize; 3],
    /// Work-items of a group.
    pub(super) local: [usize; 3],
}

/// Memory and kernels of a session.
pub(super) struct Bench {
    pub(super) memory: Vec<Memory>,
    kernels: Vec<Loaded>,
}

/// A kernel that was built, with its text.
struct Loaded {
    text: KernelText,
    built: Rc<Built>,
    feedback: Feedback,
}

/// A launch with its kernel object; `None` for a launch of nothing.
pub(super) type Ready = Option<(Kernel, RawLaunch)>;

impl Bench {
    pub(super) fn new(memory: Vec<Memory>) -> Self {
        Self { memory, kernels: vec![] }
    }

    /// Takes up a kernel; its position. `known` says that it was held before.
    pub(super) fn add(&mut self, text: KernelText, built: Rc<Built>, known: bool, queue: &Queue) -> Result<usize, DeviceError> {
        let mut feedback = built.feedback(&built.kernel(&text)?, queue);
        feedback.cached |= known;
        self.kernels.push(Loaded { text, built, feedback });
        Ok(self.kernels.len() - 1)
    }

    pub(super) fn feedback(&self, kernel: usize) -> Feedback {
        self.kernels[kernel].feedback
    }

    /// Kernel objects with their arguments.
    pub(super) fn prepare(&self, launches: Vec<RawLaunch>) -> Result<Vec<Ready>, DeviceError> {
        launches.iter().try_for_each(|launch| self.check_group(launch))?;
        let ready = |launch: RawLaunch| {
            if launch.global.contains(&0) {
                return Ok(None);
            }
            let Loaded { text, built, .. } = &self.kernels[launch.kernel];
            let object = built.kernel(text)?;
            let values: Vec<ArgValue> = launch
                .args
                .iter()
                .map(|arg| match arg {
                    RawArg::Memory(position) => self.memory[*position].arg(),
                    RawArg::Int(value) => ArgValue::Int(*value),
                })
                .collect();
            set_args(&object, &values)?;
            Ok(Some((object, launch)))
        };
        launches.into_iter().map(ready).collect()
    }

    /// A compiled kernel may run in smaller groups than the device does.
    fn check_group(&self, launch: &RawLaunch) -> Result<(), DeviceError> {
        let (kernel, size) = (&self.kernels[launch.kernel], launch.local.iter().product::<usize>() as u64);
        match kernel.feedback.max_group_size.map(u64::from) {
            Some(available) if size > available => {
                let what = format!("a work-group of kernel `{}` as compiled", kernel.text.name);
                Err(DeviceError::Limit { what, needed: size, available })
            }
            _ => Ok(()),
        }
    }

    /// Reads what was asked for, and looks at every guard band.
    pub(super) fn look(&self, look: &Look, queue: &Queue) -> Result<Seen, DeviceError> {
        let mut contents = Vec::with_capacity(self.memory.len());
        let mut seen = Seen::default();
        for (position, memory) in self.memory.iter().enumerate() {
            let wanted = look.read.contains(&position) || look.peek.iter().any(|peek| peek.memory == position);
            if !wanted && !memory.guarded() {
                contents.push(None);
                continue;
            }
            let (bytes, damaged) = memory.read(queue)?;
            if damaged {
                seen.damaged.push(position);
            }
            contents.push(wanted.then_some(bytes));
        }
        // A position may be asked for twice.
        seen.read = look.read.iter().map(|&position| contents[position].clone().unwrap_or_default()).collect();
        let peeked = |peek: &Peek| contents[peek.memory].as_ref().map(|contents| pieces(peek, &contents.0)).unwrap_or_default();
        seen.peeked = look.peek.iter().map(peeked).collect();
        Ok(seen)
    }
}

/// One pass. The first one also warms every pair of kernel and local size: some drivers generate code only now.
pub(super) fn pass(launches: &[Ready], queue: &Queue) -> Result<(), DeviceError> {
    for (kernel, launch) in launches.iter().flatten() {
        queue.launch(kernel, launch.global, launch.local)?;
    }
    queue.finish()
}

/// Times passes over launches: by events where they are credible, by the host's clock around each launch otherwise, or by the clock
/// that is asked for. `resolution` is the step of event times in nanoseconds by the driver's word.
pub(super) fn time(
    launches: &[Ready],
    timing: TimingSpec,
    clock: Option<LaunchClock>,
    queue: &Queue,
    resolution: u64,
) -> Result<Timed, DeviceError> {
    let mut result = Timed::default();
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
        result.pass_times.push(Seconds(start.elapsed().as_secs_f64()), 1);
        let durations: Option<Vec<u64>> = pass.iter().map(|event| event.as_ref().map_or(Some(0), duration)).collect();
        readable &= durations.is_some();
        events.push(durations.unwrap_or_default());
    }
    result.cpu_time = before.zip(processor_time()).map(|(before, after)| Seconds((after - before) / runs as f64));
    let wall: Vec<f64> = result.pass_times.iter().map(|t| t.0 * 1e9).collect();
    result.source = Some(TimeSource::Measured);
    let credible = match clock {
        Some(clock) => clock == LaunchClock::Event,
        None => clock::credible(&events, &wall),
    };
    if readable && credible {
        result.clock = Some(LaunchClock::Event);
        result.quantum = Seconds(clock::quantum(resolution, events.iter().flatten().copied()) as f64 * 1e-9);
        result.times = (0..launches.len()).map(|i| events.iter().map(|pass| Seconds(pass[i] as f64 * 1e-9)).collect()).collect();
        return Ok(result);
    }
    result.clock = Some(LaunchClock::Host);
    result.quantum = Seconds(clock::host_quantum());
    result.times = vec![Times::default(); launches.len()];
    for _ in 0..runs {
        for (ready, times) in launches.iter().zip(&mut result.times) {
            let start = Instant::now();
            if let Some((kernel, launch)) = ready {
                queue.launch(kernel, launch.global, launch.local)?;
                queue.finish()?;
            }
            times.push(Seconds(start.elapsed().as_secs_f64()), 1);
        }
    }
    Ok(result)
}

/// Nanoseconds between start and end of a finished command; `None` where the driver will not say.
fn duration(event: &Event) -> Option<u64> {
    let (start, end) = (event.profiling_command_start().ok()?, event.profiling_command_end().ok()?);
    end.checked_sub(start)
}
