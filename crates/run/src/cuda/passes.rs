//! The passes of a job: the first, whose results are read; some to warm up; the timed ones, after which memory is read again.

use super::build::{Built, KernelText};
use super::device::Cuda;
use super::ffi::Context;
use super::flush::Flush;
use super::launch::{Arg, Shape};
use super::memory::Memory;
use super::objects::View;
use super::timing::{self, Launches};
use crate::check::{CheckedCode, CheckedJob};
use crate::{After, CacheState, Contents, DeviceError, Job, JobResult, LaunchClock};
use std::rc::Rc;
use std::time::{Duration, Instant};
use warpsight_ir::{Seconds, TimeSource};

/// How long a device works before it is timed, at most: an idle GPU holds its clocks down and raises them within milliseconds.
const WARM_UP: Duration = Duration::from_millis(20);

/// A launch, ready.
pub(super) struct Ready {
    pub(super) built: Rc<Built>,
    pub(super) shape: Shape,
    pub(super) args: Vec<Arg>,
    /// The textures and surfaces among the arguments.
    pub(super) _views: Vec<View>,
}

/// The launches of a job.
struct ReadyLaunches<'a> {
    context: &'a Context,
    /// `None` for a launch of nothing.
    launches: Vec<Option<Ready>>,
}

impl Launches for ReadyLaunches<'_> {
    fn count(&self) -> usize {
        self.launches.len()
    }
    fn enqueue(&self, index: usize, programmatic: bool) -> Result<(), DeviceError> {
        let Some(ready) = &self.launches[index] else { return Ok(()) };
        self.context.launch(ready.built.module.function, &Shape { programmatic, ..ready.shape }, &ready.args)
    }
    fn repeatable(&self, index: usize) -> bool {
        self.launches[index].as_ref().is_some_and(|ready| !ready.shape.cooperative)
    }
}

impl Cuda {
    /// All passes of a job.
    pub(super) fn passes(
        &self,
        checked: &CheckedJob,
        launches: Vec<Option<Ready>>,
        memory: &[Memory],
        result: &mut JobResult,
    ) -> Result<(), DeviceError> {
        let job = checked.job;
        let ready = ReadyLaunches { context: &self.context, launches };
        let begin = Instant::now();
        // Faults show at the next wait, by then of an unknown launch: each is waited for once.
        for (index, launch) in job.launches.iter().enumerate() {
            let run = ready.enqueue(index, false).and_then(|()| self.context.finish());
            run.map_err(|error| blame(error, checked.codes[launch.program].name()))?;
        }
        let busy = begin.elapsed();
        (result.read, result.peeked) = look(job, memory, &mut result.damaged)?;
        if job.timing.is_some() {
            let passes = 1 + self.timed(checked, &ready, busy, result)?;
            let (read, peeked) = look(job, memory, &mut result.damaged)?;
            result.after = Some(After { passes, read, peeked });
        }
        self.idle_since.set(Instant::now());
        Ok(())
    }

    /// Warms up and times; how many passes that took. `busy` is how long the device has worked just now.
    fn timed(&self, checked: &CheckedJob, ready: &ReadyLaunches, busy: Duration, result: &mut JobResult) -> Result<u64, DeviceError> {
        let Some(timing) = checked.job.timing else { return Ok(0) };
        let blamed = |error| blame(error, checked.codes.last().map_or("", CheckedCode::name));
        let flush = match timing.cache {
            CacheState::Flushed => Some(Flush::new(self)?),
            CacheState::Warm => None,
        };
        let (_, step) = self.empty(LaunchClock::Event)?;
        let mut passes = match self.warm_up(busy) {
            Some(least) => timing::warm(ready, &self.context, least).map_err(blamed)?,
            None => 0,
        };
        result.clocks.extend(self.clocks.now());
        passes += timing::time(ready, timing, &self.context, flush.as_ref(), step, result).map_err(blamed)?;
        result.clocks.extend(self.clocks.now());
        result.source = self.info.clock;
        let clock = result.clock.unwrap_or(LaunchClock::Event);
        let (empty, _) = self.empty(clock)?;
        result.empty_launch = Some(Seconds(empty * 1e-9));
        Ok(passes)
    }

    /// How long to warm up: as long as the device may have stood idle, at most [`WARM_UP`], less what it has worked since; `None` where
    /// that is nothing.
    fn warm_up(&self, busy: Duration) -> Option<Duration> {
        // A stand-in has no clocks to raise: one pass, so that the passes of a job are the same every time.
        if self.info.clock == Some(TimeSource::Simulated) {
            return Some(Duration::ZERO);
        }
        Some(rest(self.idle_since.get().elapsed(), busy)).filter(|least| !least.is_zero())
    }

    /// What an empty kernel takes by this clock, and the step of the events' clock, in nanoseconds; measured once.
    fn empty(&self, clock: LaunchClock) -> Result<(f64, f64), DeviceError> {
        if let Some((_, time, step)) = self.empty.borrow().iter().find(|(of, ..)| *of == clock) {
            return Ok((*time, *step));
        }
        let (built, _) = self.built(0, &empty_kernel())?;
        let ready = Ready { built, shape: Shape::plain([1; 3], [1; 3]), args: vec![], _views: vec![] };
        let launches = ReadyLaunches { context: &self.context, launches: vec![Some(ready)] };
        let least = self.warm_up(Duration::ZERO).unwrap_or_default();
        timing::warm(&launches, &self.context, least)?;
        let (time, step) = timing::empty(&launches, clock, &self.context)?;
        self.empty.borrow_mut().push((clock, time, step));
        Ok((time, step))
    }
}

/// What is left of a warm-up.
fn rest(idle: Duration, busy: Duration) -> Duration {
    idle.min(WARM_UP).saturating_sub(busy)
}

/// What is read and peeked of memory now; positions of overwritten guard bands are added to `damaged`.
fn look(job: &Job, memory: &[Memory], damaged: &mut Vec<usize>) -> Result<(Vec<Contents>, Vec<Contents>), DeviceError> {
    for (position, (memory, spec)) in memory.iter().zip(&job.memory).enumerate() {
        if spec.canaries && !damaged.contains(&position) && memory.damaged()? {
            damaged.push(position);
        }
    }
    let read = job.read.iter().map(|&position| memory[position].read()).collect::<Result<_, _>>()?;
    let peeked = job.peek.iter().map(|peek| memory[peek.memory].peek(&peek.offsets, peek.bytes)).collect::<Result<_, _>>()?;
    Ok((read, peeked))
}

/// A kernel that does nothing.
pub(super) fn empty_kernel() -> KernelText {
    let entry = "warpsight_empty";
    KernelText {
        name: "empty".into(),
        text: format!("extern \"C\" __global__ void __launch_bounds__(1) {entry}()\n{{\n}}\n"),
        entry: entry.into(),
    }
}

/// Names the kernel of a fault.
pub(super) fn blame(error: DeviceError, name: &str) -> DeviceError {
    match error {
        DeviceError::Fault { kernel, what } if kernel.is_empty() => DeviceError::Fault { kernel: name.into(), what },
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_warm_up_as_long_as_they_stood_idle() {
        let rest = |idle, busy| rest(Duration::from_millis(idle), Duration::from_millis(busy)).as_millis();
        assert_eq!(rest(3, 0), 3);
        assert_eq!(rest(500, 0), 20, "a compiler ran in between");
        assert_eq!(rest(500, 12), 8);
        assert_eq!(rest(500, 70), 0, "a long kernel is warm after its first pass");
    }
}
