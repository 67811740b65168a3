//! Cores: how many groups work at once that each use up what a core has one of.

use super::ask::{Answer, Asked, Series, Spread, if_possible, largest};
use super::kernels::Kernel;
use super::kernels::chains::Chains;
use super::kernels::loads::Locals;
use warpsight_run::DeviceInfo;

/// Work-items of a group where the device does not say what it takes.
const GROUP: u32 = 256;
/// Groups of one core that are so much slower than one are on a core together with another.
const SLOWER: f64 = 1.25;
/// Cores at most.
const MOST: u32 = 4096;
/// Work-items whose loads use local memory up: few, so that a group of any device has them.
const LANES: u32 = 64;
/// Words between neighbouring loads, a power of two: as many as there are banks, or more, so that one bank has all of them, or of another number of
/// banks as few as share a factor with it.
const STRIDE: u32 = 64;
/// Loads of which several meet in a bank take so much longer, at least.
const MEET: f64 = 1.5;
/// Chains of a work-item that fill the pipelines of a core together with the other work-items of a full group.
const FILLING: u32 = 8;

/// Work-items of the largest group that the device takes.
pub(super) fn full(device: &DeviceInfo) -> u32 {
    device.limits.max_group_size.unwrap_or(GROUP).clamp(1, 1024)
}

/// The number of groups that take as long as one, where two of a core take longer; and times by groups.
///
/// A core has one local memory, which a few work-items use up whose loads all meet in one bank: however many schedulers a core has, and whatever
/// part of them a group occupies, two groups on it wait for each other. Where there is no local memory, full groups of arithmetic do so,
/// if they fill a core.
pub(super) fn cores(asked: &Asked, full: u32) -> Answer<(u32, Series<u32>)> {
    let lanes = LANES.min(full);
    let local = |groups, stride| Locals { groups, lanes, width: 1, stride, places: STRIDE * lanes.next_power_of_two(), spare: 0 }.kernel();
    let told = meeting(asked, |stride| local(1, stride)).and_then(|stride| at_once(asked, |groups| local(groups, stride)));
    match if_possible(told)? {
        Some(told) => Ok(told),
        None => at_once(asked, |groups| Chains { groups, lanes: full, chains: FILLING, steps: 8, waits: false }.kernel()),
    }
}

/// A distance of lanes by which they meet in a bank: [`STRIDE`], or the worst of all below where nobody meets by that, since no power of two divides the
/// number of banks. Where nobody meets at all, [`STRIDE`].
fn meeting(asked: &Asked, kernel: impl Fn(u32) -> Kernel) -> Answer<u32> {
    let trip = |stride: u32| Ok(asked.trip(&kernel(stride))?.value);
    let apart = trip(1)?;
    let mut worst = (STRIDE, trip(STRIDE)?);
    if worst.1 < MEET * apart {
        for stride in 2..STRIDE {
            let time = trip(stride)?;
            if time >= MEET * apart && time > worst.1 {
                worst = (stride, time);
            }
        }
    }
    Ok(worst.0)
}

/// How many groups of a kernel take as long as one.
fn at_once(asked: &Asked, kernel: impl Fn(u32) -> Kernel) -> Answer<(u32, Series<u32>)> {
    let trips = asked.trips(&kernel(1))?;
    let alone: Spread = asked.time(&kernel(1), trips)?;
    let mut by_groups = vec![(1, alone)];
    let cores = largest(1, MOST, |groups| {
        let time = asked.time(&kernel(groups), trips)?;
        by_groups.push((groups, time));
        Ok(time.value < SLOWER * alone.value)
    })?;
    by_groups.sort_by_key(|(groups, _)| *groups);
    Ok((cores, by_groups))
}
