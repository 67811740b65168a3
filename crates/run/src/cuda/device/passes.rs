//! Passes over a session's launches: one by itself, or some to warm up and the timed ones.

use super::Cuda;
use super::flush::Flush;
use super::memory::Memory;
use super::timing::{self, Launches};
use crate::check::Held;
use crate::cuda::compile::{Built, KernelText};
use crate::cuda::driver::{Arg, Context, Shape, View};
use crate::{CacheState, DeviceError, LaunchClock, Look, Seen, Timed, TimingSpec};
use std::rc::Rc;
use std::time::Duration;
use warpsight_ir::{Seconds, TimeSource};

/// A launch, ready.
pub(super) struct Ready {
    pub(super) built: Rc<Built>,
    pub(super) shape: Shape,
    pub(super) args: Vec<Arg>,
    /// The textures and surfaces among the arguments.
    pub(super) _views: Vec<View>,
}

/// Launches in a stream.
struct ReadyLaunches<'a> {
    context: &'a Context,
    /// `None` for a launch of nothing.
    launches: &'a [Option<Ready>],
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
    /// One pass; `names` are those of the kernels.
    pub(super) fn pass(&self, launches: &[Option<Ready>], names: &[String]) -> Result<(), DeviceError> {
        // Sets and copies may go on after their calls, in a stream that the kernels' own does not wait for.
        self.context.settle()?;
        let ready = ReadyLaunches { context: &self.context, launches };
        self.awake.begin();
        // Faults show at the next wait, by then of an unknown launch: each is waited for once.
        for (index, name) in names.iter().enumerate() {
            ready.enqueue(index, false).and_then(|()| self.context.finish()).map_err(|error| blame(error, name))?;
        }
        self.awake.end();
        Ok(())
    }

    /// Warms up and times.
    pub(super) fn timed(&self, launches: &[Option<Ready>], names: &[String], timing: TimingSpec) -> Result<Timed, DeviceError> {
        self.context.settle()?;
        let ready = &ReadyLaunches { context: &self.context, launches };
        let blamed = |error| blame(error, names.last().map_or("", String::as_str));
        let flush = match timing.cache {
            CacheState::Flushed => Some(Flush::new(self)?),
            CacheState::Warm => None,
        };
        let mut timed = Timed::default();
        let (_, step) = self.empty(LaunchClock::Event)?;
        let mut passes = match self.warm_up() {
            Some(least) => timing::warm(ready, &self.context, least).map_err(blamed)?,
            None => 0,
        };
        timed.clocks.extend(self.clocks.now());
        passes += timing::time(ready, timing, &self.context, flush.as_ref(), step, &mut timed).map_err(blamed)?;
        timed.clocks.extend(self.clocks.now());
        timed.source = self.info.clock;
        let clock = timed.clock.unwrap_or(LaunchClock::Event);
        let (empty, _) = self.empty(clock)?;
        timed.empty_launch = Some(Seconds(empty * 1e-9));
        timed.passes = Some(passes);
        self.awake.done();
        Ok(timed)
    }

    /// How long to warm up; `None` where the device is awake.
    fn warm_up(&self) -> Option<Duration> {
        // A stand-in has no clocks to raise: one pass, so that the passes of a job are the same every time.
        if self.info.clock == Some(TimeSource::Simulated) {
            return Some(Duration::ZERO);
        }
        Some(self.awake.owed()).filter(|least| !least.is_zero())
    }

    /// What an empty kernel takes by this clock, and the step of the events' clock, in nanoseconds; measured once.
    fn empty(&self, clock: LaunchClock) -> Result<(f64, f64), DeviceError> {
        if let Some((_, time, step)) = self.empty.borrow().iter().find(|(of, ..)| *of == clock) {
            return Ok((*time, *step));
        }
        let (built, _) = self.built(0, &empty_kernel())?;
        let ready = [Some(Ready { built, shape: Shape::plain([1; 3], [1; 3]), args: vec![], _views: vec![] })];
        let launches = ReadyLaunches { context: &self.context, launches: &ready };
        let least = self.warm_up().unwrap_or_default();
        timing::warm(&launches, &self.context, least)?;
        let (time, step) = timing::empty(&launches, clock, &self.context)?;
        self.empty.borrow_mut().push((clock, time, step));
        Ok((time, step))
    }
}

/// What memory holds now, and whose guard bands were overwritten.
pub(super) fn look(look: &Look, held: &[Held], memory: &[Memory]) -> Result<Seen, DeviceError> {
    let mut seen = Seen::default();
    for (position, (memory, held)) in memory.iter().zip(held).enumerate() {
        if held.canaries && memory.damaged()? {
            seen.damaged.push(position);
        }
    }
    seen.read = look.read.iter().map(|&position| memory[position].read()).collect::<Result<_, _>>()?;
    seen.peeked = look.peek.iter().map(|peek| memory[peek.memory].peek(&peek.offsets, peek.bytes)).collect::<Result<_, _>>()?;
    Ok(seen)
}

/// A kernel that does nothing.
pub(in crate::cuda) fn empty_kernel() -> KernelText {
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
