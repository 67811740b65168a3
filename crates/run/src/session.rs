//! A session: memory that stays on a device, the programs that work on it, and what is asked of them.

use crate::job::{After, Code, Contents, Job, JobResult, LaunchSpec, Peek, Timed, TimingSpec};
use crate::processor::processor_time;
use crate::{Device, DeviceError, Init};
use serde::{Deserialize, Serialize};
use std::time::Instant;
use warpsight_ir::{Feedback, Seconds, Times};

/// Memory on a device, opened by [`Device::open`] with its first contents, and freed when this is dropped.
///
/// Positions of memory are those it was opened with; positions of programs count everything that was loaded, in order. What a launch leaves
/// in memory, the next one finds.
///
/// One piece of memory may be bound to several parameters of a launch where none of them is written, or where the launch works *in
/// place* ([`warpsight_ir::in_place()`]): one of them is written, and each element is read by the work-item that writes it, before it
/// does. Anything else is refused of a Program; what text does is its writer's affair.
///
/// After [`DeviceError::Lost`], [`DeviceError::Timeout`] and, on most devices, [`DeviceError::Fault`] the memory is gone: whatever is asked then is
/// answered with [`DeviceError::Lost`]. What was answered before stands.
pub trait Session {
    /// Compiles programs; what the compiler said of each.
    ///
    /// # Errors
    /// [`DeviceError::BadJob`], [`DeviceError::Build`], [`DeviceError::Unsupported`], [`DeviceError::Limit`]; none of them is loaded then.
    fn load(&mut self, programs: &[Code]) -> Result<Vec<Feedback>, DeviceError>;
    /// Replaces the contents of a piece of memory.
    ///
    /// # Errors
    /// [`DeviceError::BadJob`] where there is none, or they do not fit it.
    fn write(&mut self, memory: usize, contents: &Init) -> Result<(), DeviceError>;
    /// Runs launches in this order, to their end; what is known of each one's program then.
    ///
    /// # Errors
    /// [`DeviceError::BadJob`] and [`DeviceError::Limit`] before anything ran, [`DeviceError::Fault`] for what a program did.
    fn launch(&mut self, launches: &[LaunchSpec]) -> Result<Vec<Feedback>, DeviceError>;
    /// Runs passes over launches as a [`TimingSpec`] says, and times them. How many passes that takes is [`Timed::passes`]; launches that
    /// were never run before are to be run once first, which warms every kernel and local size.
    ///
    /// # Errors
    /// As of [`Session::launch`], and [`DeviceError::Unsupported`] for a way of timing that the device has not.
    fn time(&mut self, launches: &[LaunchSpec], timing: TimingSpec) -> Result<Timed, DeviceError>;
    /// Times launches whose results nobody wants, where a device can do so without computing them: what is known of each one's program,
    /// and the times. `None` where it cannot.
    ///
    /// # Errors
    /// As of [`Session::time`].
    fn time_alone(&mut self, launches: &[LaunchSpec], timing: TimingSpec) -> Result<Option<(Vec<Feedback>, Timed)>, DeviceError> {
        let _ = (launches, timing);
        Ok(None)
    }
    /// Times passes from inputs to outputs by the host's clock: in each, memory is written as it is now, the launches run to their end, and memory
    /// is read. OpenCL prepares launches once for all of them, other devices each time, as a host would that launches anew.
    ///
    /// # Errors
    /// As of [`Session::launch`] and [`Session::look`].
    fn time_whole(&mut self, launches: &[LaunchSpec], ends: &Ends, runs: u32) -> Result<Whole, DeviceError> {
        let inputs = self.look(&Look { read: ends.inputs.clone(), peek: vec![] })?.read;
        let inputs: Vec<Init> = inputs.into_iter().map(|own| Init::Data(own.0)).collect();
        let outputs = Look { read: ends.outputs.clone(), peek: vec![] };
        whole(runs, || {
            ends.inputs.iter().zip(&inputs).try_for_each(|(&memory, contents)| self.write(memory, contents))?;
            self.launch(launches)?;
            self.look(&outputs).map(|_| ())
        })
    }
    /// What memory holds now.
    ///
    /// # Errors
    /// [`DeviceError::BadJob`] where something is not there.
    fn look(&mut self, look: &Look) -> Result<Seen, DeviceError>;
    /// All of a piece of memory.
    ///
    /// # Errors
    /// As of [`Session::look`].
    fn read(&mut self, memory: usize) -> Result<Contents, DeviceError> {
        let seen = self.look(&Look { read: vec![memory], peek: vec![] })?;
        Ok(seen.read.into_iter().next().unwrap_or_default())
    }
}

/// Where a pass begins and ends: positions of memory that the host fills, and that it reads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ends {
    /// What is written before the first launch.
    pub inputs: Vec<usize>,
    /// What is read after the last one.
    pub outputs: Vec<usize>,
}

/// How long passes took from their inputs to their outputs, by the host's clock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Whole {
    /// Each of them.
    pub times: Times,
    /// Processor time of the driver's process for one, all threads together, on average; `None` where that says nothing.
    pub cpu_time: Option<Seconds>,
}

/// Times passes by the host's clock.
pub(crate) fn whole(runs: u32, mut pass: impl FnMut() -> Result<(), DeviceError>) -> Result<Whole, DeviceError> {
    let mut times = Times::default();
    let before = processor_time();
    for _ in 0..runs {
        let start = Instant::now();
        pass()?;
        times.push(Seconds(start.elapsed().as_secs_f64()), 1);
    }
    let cpu_time = before.zip(processor_time()).map(|(before, after)| Seconds((after - before) / f64::from(runs.max(1))));
    Ok(Whole { times, cpu_time })
}

/// What is to be read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Look {
    /// Memory that is read whole.
    pub read: Vec<usize>,
    /// Memory that is read in pieces.
    pub peek: Vec<Peek>,
}

/// What was read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Seen {
    /// The contents of [`Look::read`], in order.
    pub read: Vec<Contents>,
    /// For each of [`Look::peek`], its pieces one after the other.
    pub peeked: Vec<Contents>,
    /// Memory whose canaries were overwritten, by whichever launch.
    pub damaged: Vec<usize>,
}

/// Runs a job: a session of one pass.
pub(crate) fn run<D: Device + ?Sized>(device: &mut D, job: &Job) -> Result<JobResult, DeviceError> {
    let mut session = device.open(&job.memory)?;
    let mut feedback = session.load(&job.programs)?;
    let alone = match job.timing {
        Some(timing) if !job.wants_results() => session.time_alone(&job.launches, timing)?,
        _ => None,
    };
    let (launched, timed) = match alone {
        Some((launched, timed)) => (launched, Some(timed)),
        None => (session.launch(&job.launches)?, None),
    };
    for (position, said) in feedback.iter_mut().enumerate() {
        // The first launch of a program knows most of it.
        if let Some((_, more)) = job.launches.iter().zip(launched.iter()).find(|(launch, _)| launch.program == position) {
            said.clone_from(more);
        }
    }
    if let Some(timed) = timed {
        return Ok(JobResult { feedback, timed, ..JobResult::default() });
    }
    let look = Look { read: job.read.clone(), peek: job.peek.clone() };
    let seen = session.look(&look)?;
    let mut result = JobResult { read: seen.read, peeked: seen.peeked, damaged: seen.damaged, feedback, ..JobResult::default() };
    let Some(timing) = job.timing else { return Ok(result) };
    result.timed = session.time(&job.launches, timing)?;
    if let Some(passes) = result.timed.passes {
        let seen = session.look(&look)?;
        let fresh: Vec<usize> = seen.damaged.into_iter().filter(|memory| !result.damaged.contains(memory)).collect();
        result.damaged.extend(fresh);
        result.after = Some(After { passes: 1 + passes, read: seen.read, peeked: seen.peeked });
    }
    Ok(result)
}
