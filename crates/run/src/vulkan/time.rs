//! Measuring: trials of draws with the reference shader between them.
#![allow(unsafe_code, reason = "Vulkan is a C interface")]

use super::device::{Gpu, done};
use super::job::{Draw, DrawClock, Times, Timing, Trial};
use super::looks::hash;
use super::picture::{Picture, words};
use crate::processor::processor_time;
use crate::refusal::Reason;
use crate::{ClockState, DeviceError};
use ash::vk;
use std::rc::Rc;
use std::time::Instant;
use warpsight_ir::Seconds;

const REFERENCE: &[u8] = include_bytes!("shaders/reference.frag.spv");

/// The frame of the reference shader.
const REFERENCE_FRAME: [u32; 2] = [256, 192];

/// Seconds that the reference shader is drawn for between two trials.
const REFERENCE_TIME: f64 = 0.02;

/// Draws of a trial at most: command buffers take memory.
const MOST_DRAWS: u32 = 1 << 14;

/// How many times what a submission costs besides its draws a trial lasts at least.
const BESIDES: f64 = 3.0;

/// A trial aims at this much more than it must last, so that few have to be done again.
const MARGIN: f64 = 1.1;

/// The reference shader, ready to be drawn.
pub(super) struct Reference {
    picture: Picture,
    draws: u32,
}

impl Reference {
    pub(super) fn new(gpu: Rc<Gpu>) -> Result<Self, DeviceError> {
        let draw = Draw { words: words(REFERENCE), entry: "main".into(), frame: REFERENCE_FRAME, outputs: 1, ..Draw::default() };
        let picture = Picture::new(gpu, &draw)?;
        // The first draw compiles.
        clocked(&picture, 1)?;
        let one = (0..3).map(|_| clocked(&picture, 1)).collect::<Result<Vec<_>, _>>()?.into_iter().fold(f64::INFINITY, f64::min);
        let draws = draws_for(REFERENCE_TIME, one);
        Ok(Self { picture, draws })
    }

    /// Seconds of one draw now.
    fn now(&self) -> Result<f64, DeviceError> {
        Ok(clocked(&self.picture, self.draws)? / f64::from(self.draws))
    }
}

/// How many draws of so many seconds take so long.
fn draws_for(least: f64, one: f64) -> u32 {
    // Casts saturate; a draw that takes no time is drawn as often as it goes.
    ((least / one).ceil() as u32).clamp(1, MOST_DRAWS)
}

/// The clock of a device's draws.
fn clock(gpu: &Gpu) -> Result<DrawClock, DeviceError> {
    match gpu.timestamps {
        _ if gpu.is_cpu && processor_time().is_some() => Ok(DrawClock::Processor),
        Some(_) => Ok(DrawClock::Timestamps),
        None => Err(Reason::draw("this device's queue has no timestamps to measure with")),
    }
}

/// Seconds of the processor that a submission of so many draws takes.
fn processor(picture: &Picture, draws: u32) -> Result<f64, DeviceError> {
    let before = processor_time().unwrap_or(0.0);
    picture.scope.submit(|c| picture.record(c, draws))?;
    Ok(processor_time().unwrap_or(0.0) - before)
}

/// Seconds that so many draws in a row take. On processors, what a submission costs besides is taken off: lavapipe compiles a
/// shader anew each time it is bound, with the uniforms that decide branches as constants in it.
fn clocked(picture: &Picture, draws: u32) -> Result<f64, DeviceError> {
    match clock(&picture.scope.gpu)? {
        DrawClock::Processor => Ok((processor(picture, draws + 1)? - processor(picture, 1)?).max(1e-9)),
        DrawClock::Timestamps => stamped(picture, draws),
    }
}

fn stamped(picture: &Picture, draws: u32) -> Result<f64, DeviceError> {
    let gpu = &picture.scope.gpu;
    let (tick, mask) = gpu.timestamps.unwrap_or((0.0, 0));
    let mut scope = super::objects::Scope::new(Rc::clone(gpu));
    let info = vk::QueryPoolCreateInfo::default().query_type(vk::QueryType::TIMESTAMP).query_count(2);
    // SAFETY: valid structures; destroyed once; results are read after the device is done.
    let pool = done("vkCreateQueryPool", unsafe { gpu.device.create_query_pool(&info, None) })?;
    scope.later(move |d| unsafe { d.destroy_query_pool(pool, None) });
    scope.submit(|c| unsafe {
        gpu.device.cmd_reset_query_pool(c, pool, 0, 2);
        gpu.device.cmd_write_timestamp(c, vk::PipelineStageFlags::TOP_OF_PIPE, pool, 0);
        picture.record(c, draws);
        gpu.device.cmd_write_timestamp(c, vk::PipelineStageFlags::BOTTOM_OF_PIPE, pool, 1);
    })?;
    let mut ticks = [0u64; 2];
    let flags = vk::QueryResultFlags::TYPE_64 | vk::QueryResultFlags::WAIT;
    // SAFETY: both queries were written.
    done("vkGetQueryPoolResults", unsafe { gpu.device.get_query_pool_results(pool, 0, &mut ticks, flags) })?;
    Ok((ticks[1].wrapping_sub(ticks[0]) & mask) as f64 * tick)
}

/// Measures a picture whose first draw took `first` and left an image with this hash.
pub(super) fn measure(
    picture: &Picture,
    reference: &Reference,
    timing: &Timing,
    first: Seconds,
    image: &str,
    clocks: impl Fn() -> Option<ClockState>,
) -> Result<Times, DeviceError> {
    let clock = clock(&picture.scope.gpu)?;
    let one = clocked(picture, 1)?;
    // A trial lasts much longer than what is taken off, which is not always the same.
    let besides = if clock == DrawClock::Processor { (processor(picture, 1)? - one).max(0.0) } else { 0.0 };
    let least = timing.least.0.max(BESIDES * besides);
    if one > timing.longest.0 {
        let milliseconds = |seconds: f64| (seconds * 1e3) as u64;
        let (needed, available) = (milliseconds(one), milliseconds(timing.longest.0));
        return Err(DeviceError::Limit { what: "one draw, in milliseconds,".into(), needed, available });
    }
    let begin = Instant::now();
    let mut draws = 1;
    let mut times = Times { clock, first, trials: Vec::new(), stable: true, clocks: clocks().into_iter().collect() };
    for round in 0..timing.rounds.max(1) {
        let mut before = reference.now()?;
        for _ in 0..timing.trials.max(1) {
            let mut total = clocked(picture, draws)?;
            while total < least && draws < MOST_DRAWS {
                // One more at least, so that this ends; not many times as many, as few draws say little of one.
                draws = draws_for(least * MARGIN, total / f64::from(draws)).clamp(draws + 1, 8 * draws);
                total = clocked(picture, draws)?;
            }
            times.stable &= hash(&picture.pixels()?) == image;
            let after = reference.now()?;
            let (seconds, reference) = (Seconds(total / f64::from(draws)), Seconds((before + after) / 2.0));
            times.trials.push(Trial { round, draws, seconds, reference });
            before = after;
        }
        let relative: Vec<f64> = times.trials.iter().filter(|t| t.round == round).map(|t| t.seconds.0 / t.reference.0).collect();
        // On a device with clocks of its own the reference is only recorded.
        let plain: Vec<f64> = times.trials.iter().filter(|t| t.round == round).map(|t| t.seconds.0).collect();
        let calm = spread(if clock == DrawClock::Processor { &relative } else { &plain }) <= timing.spread;
        if calm || begin.elapsed().as_secs_f64() > timing.patience.0 {
            break;
        }
    }
    times.clocks.extend(clocks());
    Ok(times)
}

/// Standard deviation over mean; 0 for fewer than two values.
fn spread(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    if values.len() < 2 { 0.0 } else { (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt() / mean }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreads() {
        assert_eq!([spread(&[3.0]), spread(&[2.0, 2.0])], [0.0, 0.0]);
        // Mean 2, deviations −1, 0, 1: variance 1.
        assert!((spread(&[1.0, 2.0, 3.0]) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn as_many_draws_as_it_takes() {
        assert_eq!([draws_for(0.05, 0.02), draws_for(0.05, 1.0), draws_for(0.05, 0.0), draws_for(0.05, f64::NAN)], [3, 1, MOST_DRAWS, 1]);
    }
}
