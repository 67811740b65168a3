//! Passes over a session's launches: one by itself, or some to warm up and the timed ones.

use super::build::{Built, KernelText};
use super::device::Cuda;
use super::ffi::Context;
use super::flush::Flush;
use super::launch::{Arg, Shape};
use super::memory::Memory;
use super::objects::View;
use super::timing::{self, Launches};
use crate::check::Held;
use crate::{CacheState, DeviceError, LaunchClock, Look, Seen, Timed, TimingSpec};
use std::cell::Cell;
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

/// How long a device has to work before it is timed: as long as it may have stood idle, at most [`WARM_UP`], less what it has worked
/// since.
pub(super) struct Awake {
    /// When it had last done what was asked.
    since: Cell<Instant>,
    /// What it owed then.
    owed: Cell<Duration>,
}

impl Default for Awake {
    fn default() -> Self {
        Self { since: Cell::new(Instant::now()), owed: Cell::new(Duration::ZERO) }
    }
}

impl Awake {
    fn owed(&self) -> Duration {
        owed(self.owed.get(), self.since.get().elapsed())
    }
    /// It begins to work.
    fn begin(&self) {
        self.owed.set(self.owed());
        self.since.set(Instant::now());
    }
    /// It has worked since it began.
    fn end(&self) {
        self.owed.set(self.owed.get().saturating_sub(self.since.get().elapsed()));
        self.since.set(Instant::now());
    }
    /// It has worked as long as it takes.
    fn done(&self) {
        self.owed.set(Duration::ZERO);
        self.since.set(Instant::now());
    }
}

/// What is owed after it stood idle for so long.
fn owed(before: Duration, idle: Duration) -> Duration {
    before.saturating_add(idle).min(WARM_UP)
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
        let owed = |before, idle| owed(Duration::from_millis(before), Duration::from_millis(idle)).as_millis();
        assert_eq!(owed(0, 3), 3);
        assert_eq!(owed(0, 500), 20, "a compiler ran in between");
        assert_eq!(owed(8, 4), 12, "a pass did not take long enough");
        let awake = Awake { since: Cell::new(Instant::now()), owed: Cell::new(WARM_UP) };
        awake.begin();
        std::thread::sleep(2 * WARM_UP);
        awake.end();
        assert!(awake.owed() < WARM_UP, "a long kernel is warm after its first pass");
    }
}
