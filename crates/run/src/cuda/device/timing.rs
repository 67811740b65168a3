//! Timing: what is put into the stream, between which events, and what the times then mean.
//!
//! - Times of launches come from events around each of them ([`LaunchClock::Event`]). A launch that takes less than [`SHORT`] is timed
//!   by a graph that repeats it ([`LaunchClock::Graph`]), where that changes nothing else: the job is this one launch, repeated passes
//!   are the same sequence of launches as the graph's, and caches are as it leaves them itself.
//! - Times of passes come from events around the whole pass, handed over as [`Submit`] says, with no events between the launches. Times
//!   of launches are those of launches one by one all the same.
//! - With [`CacheState::Flushed`] the L2 cache is flushed before each launch, outside its events; a pass, handed over launch by launch,
//!   takes what its launches take together.
//! - Before the first event the device works for a while, so that its clocks are up.

use super::flush::Flush;
use crate::cuda::driver::Context;
use crate::{CacheState, DeviceError, LaunchClock, Submit, Timed, TimingSpec};
use std::time::{Duration, Instant};
use warpsight_ir::Seconds;

/// Launches below so many nanoseconds are too short for events, whose step is about half a microsecond on some devices.
const SHORT: f64 = 10e3;

/// Nanoseconds that a graph of repeated launches should take: its own start then weighs little.
const GRAPH_TIME: f64 = 200e3;

/// Launches in such a graph at most.
const MOST_REPEATS: f64 = 256.0;

/// Step of event times by the driver's documentation, in nanoseconds: "around 0.5 microseconds" (CUDA Driver API, cuEventElapsedTime).
const DOCUMENTED_STEP: f64 = 500.0;

/// Pairs of events in the stream at once, at most.
const MOST_EVENTS: usize = 1024;

/// How often the empty kernel is timed to see the clock's step.
const STEP_SAMPLES: usize = 64;

/// What is timed: launch by launch, with or without leave to begin early.
pub(super) trait Launches {
    /// How many.
    fn count(&self) -> usize;
    /// Puts one into the stream.
    fn enqueue(&self, index: usize, programmatic: bool) -> Result<(), DeviceError>;
    /// Whether one may be recorded again and again into one graph.
    fn repeatable(&self, index: usize) -> bool;
}

/// Most passes put into the stream at once to warm up.
const MOST_WARMING: u64 = 64;

/// Runs passes until that has taken so long, one at least; how many.
pub(super) fn warm(launches: &dyn Launches, context: &Context, least: Duration) -> Result<u64, DeviceError> {
    let begin = Instant::now();
    let (mut passes, mut at_once) = (0, 1);
    loop {
        for _ in 0..at_once {
            (0..launches.count()).try_for_each(|index| launches.enqueue(index, false))?;
        }
        context.finish()?;
        passes += at_once;
        if begin.elapsed() >= least {
            return Ok(passes);
        }
        // More and more, so that the device does not wait for the host.
        at_once = (2 * at_once).min(MOST_WARMING);
    }
}

/// Times passes as asked; how many there were. `flush` is for [`CacheState::Flushed`].
pub(super) fn time(
    launches: &dyn Launches,
    timing: TimingSpec,
    context: &Context,
    flush: Option<&Flush>,
    step: f64,
    result: &mut Timed,
) -> Result<u64, DeviceError> {
    let runs = timing.runs.max(1);
    let programmatic = matches!(timing.submit, Submit::Programmatic | Submit::ProgrammaticGraph);
    let events = each(launches, runs, context, flush)?;
    let mut done = u64::from(runs);
    result.clock = Some(LaunchClock::Event);
    result.quantum = Seconds(step * 1e-9);
    let first = events.first().and_then(|times| median(times));
    let alone = launches.count() == 1 && launches.repeatable(0) && timing.cache == CacheState::Warm;
    result.times = events.iter().map(|times| times.iter().map(|&ns| Seconds(ns * 1e-9)).collect()).collect();
    if let Some(repeats) = first.filter(|_| alone).and_then(repeats) {
        let times = repeated(launches, repeats, runs, context)?;
        done += u64::from(repeats) * (u64::from(runs) + 1);
        result.clock = Some(LaunchClock::Graph);
        result.quantum = Seconds(step * 1e-9 / f64::from(repeats));
        result.times = vec![times.iter().map(|&ns| Seconds(ns * 1e-9)).collect()];
    }
    let passes = if flush.is_some() {
        (0..runs as usize).map(|run| events.iter().map(|times| times[run]).sum()).collect()
    } else {
        done += u64::from(runs) + 1;
        passes(launches, timing.submit, programmatic, runs, context)?
    };
    result.pass_times = passes.into_iter().map(|ns: f64| Seconds(ns * 1e-9)).collect();
    Ok(done)
}

/// Nanoseconds of each launch in each pass, by events around it.
fn each(launches: &dyn Launches, runs: u32, context: &Context, flush: Option<&Flush>) -> Result<Vec<Vec<f64>>, DeviceError> {
    let enqueue = |index| launches.enqueue(index, false);
    let before = |_| flush.map_or(Ok(()), |flush| flush.enqueue(context));
    spans(runs, launches.count(), context, before, enqueue)
}

/// Nanoseconds of each pass, by events around it.
fn passes(launches: &dyn Launches, submit: Submit, programmatic: bool, runs: u32, context: &Context) -> Result<Vec<f64>, DeviceError> {
    let pass = || (0..launches.count()).try_for_each(|index| launches.enqueue(index, programmatic));
    let graph = match submit {
        Submit::Graph | Submit::ProgrammaticGraph if launches.count() > 0 => Some(context.graph(pass)?),
        _ => None,
    };
    let enqueue = || match &graph {
        Some(graph) => context.launch_graph(graph),
        None => pass(),
    };
    // The first launch of a graph brings it into the device.
    enqueue()?;
    context.finish()?;
    between_events(runs, context, enqueue)
}

/// Nanoseconds of one launch in a graph of so many.
fn repeated(launches: &dyn Launches, repeats: u32, runs: u32, context: &Context) -> Result<Vec<f64>, DeviceError> {
    let graph = context.graph(|| (0..repeats).try_for_each(|_| launches.enqueue(0, false)))?;
    context.launch_graph(&graph)?;
    context.finish()?;
    let times = between_events(runs, context, || context.launch_graph(&graph))?;
    Ok(times.into_iter().map(|ns| ns / f64::from(repeats)).collect())
}

/// Nanoseconds between events around what is enqueued, so many times.
fn between_events(runs: u32, context: &Context, enqueue: impl Fn() -> Result<(), DeviceError>) -> Result<Vec<f64>, DeviceError> {
    Ok(spans(runs, 1, context, |_| Ok(()), |_| enqueue())?.pop().unwrap_or_default())
}

/// Nanoseconds of each of `count` spans in each of `runs` passes: `before` goes into the stream ahead of a span's first event.
///
/// Nobody waits between passes, so that the host enqueues ahead of the device: an event that the device reaches before the host has
/// enqueued what follows would count the host's time, too.
fn spans(
    runs: u32,
    count: usize,
    context: &Context,
    before: impl Fn(usize) -> Result<(), DeviceError>,
    enqueue: impl Fn(usize) -> Result<(), DeviceError>,
) -> Result<Vec<Vec<f64>>, DeviceError> {
    let mut times = vec![Vec::with_capacity(runs as usize); count];
    let at_once = (MOST_EVENTS / count.max(1)).clamp(1, runs.max(1) as usize);
    let pair = || Ok::<_, DeviceError>((context.event()?, context.event()?));
    let events = (0..at_once * count).map(|_| pair()).collect::<Result<Vec<_>, _>>()?;
    let mut left = runs as usize;
    while left > 0 {
        let passes = left.min(at_once);
        let used = &events[..passes * count];
        for (position, (start, end)) in used.iter().enumerate() {
            before(position % count)?;
            context.record(start)?;
            enqueue(position % count)?;
            context.record(end)?;
        }
        context.finish()?;
        for (position, (start, end)) in used.iter().enumerate() {
            times[position % count].push(end.since(start)?);
        }
        left -= passes;
    }
    Ok(times)
}

/// What a launch that does nothing takes by a clock, and the step of the events' clock, in nanoseconds.
pub(super) fn empty(launches: &dyn Launches, clock: LaunchClock, context: &Context) -> Result<(f64, f64), DeviceError> {
    let events = each(launches, STEP_SAMPLES as u32, context, None)?.pop().unwrap_or_default();
    let step = step(&events);
    let times = match clock {
        LaunchClock::Graph => repeated(launches, MOST_REPEATS as u32, 11, context)?,
        _ => events,
    };
    Ok((median(&times).unwrap_or(0.0), step))
}

/// How often a graph repeats a launch of so many nanoseconds; `None` where events will do.
fn repeats(ns: f64) -> Option<u32> {
    (ns < SHORT).then(|| (GRAPH_TIME / ns.max(1.0)).ceil().clamp(2.0, MOST_REPEATS) as u32)
}

/// The step of a clock: the smallest difference between times of the same thing. Where too few differ to see it, what the
/// documentation says.
fn step(times: &[f64]) -> f64 {
    let mut times = times.to_vec();
    times.sort_by(f64::total_cmp);
    // Times are `f32` milliseconds: differences below a nanosecond are rounding.
    let steps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).filter(|step| *step >= 1.0).collect();
    if steps.len() < 4 { DOCUMENTED_STEP } else { steps.iter().copied().fold(f64::INFINITY, f64::min).min(DOCUMENTED_STEP) }
}

fn median(times: &[f64]) -> Option<f64> {
    let times: Vec<Seconds> = times.iter().map(|&ns| Seconds(ns)).collect();
    warpsight_ir::sample::median(&times).map(|ns| ns.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_launches_are_repeated_until_the_graph_is_long() {
        assert_eq!(repeats(10e3), None, "events will do");
        assert_eq!(repeats(9_999.0), Some(21));
        assert_eq!(repeats(2e3), Some(100));
        assert_eq!(repeats(0.0), Some(256), "never more");
    }

    #[test]
    fn the_step_of_a_clock_is_seen() {
        // Times in steps of 32 ns, as GPUs since Volta give them.
        let times: Vec<f64> = [64, 65, 66, 68, 70, 70, 75].map(|n| f64::from(n) * 32.0).to_vec();
        assert_eq!(step(&times), 32.0);
        assert_eq!(step(&[2048.0; 64]), DOCUMENTED_STEP, "too few to judge");
        assert_eq!(step(&[]), DOCUMENTED_STEP);
        assert_eq!(step(&[1.0, 2000.0, 4000.0, 6000.0, 8000.0]), DOCUMENTED_STEP, "never more than documented");
    }
}
