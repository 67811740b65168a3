//! Latency of dependent loads, against footprint, distance and what the caches hold.
//!
//! A step is a load and the multiplication that makes its address of an index, a few cycles more than a chase of pointers. About 110
//! measurements with 3 Programs; 5 timed passes of 1 to 5 ms each: 3 s, and as much again for the contents that the host makes.

use crate::kernels::chase::{Before, Chase, SHARED_SLOTS};
use crate::phases::room::Room;
use crate::{Context, Needs, Phase, Plan, Scale};

/// Elements of a line of 128 bytes.
const LINE: u32 = 32;
/// What a first-level cache may hold, in bytes: below it a chase is repeated until it is in.
const FIRST_LEVEL: u64 = 512 << 10;

/// The phases of this module.
pub(super) fn phases() -> Vec<Phase> {
    vec![Phase {
        name: "latency",
        purpose: "seconds of a dependent load from each level of memory, against footprint and stride",
        needs: Needs::Programs,
        share: 1.0,
        plan,
    }]
}

fn plan(context: &Context) -> Plan {
    let room = Room::of(context);
    let mut chases = match context.scale {
        Scale::Full | Scale::Quick => full(&room),
        Scale::Tiny => tiny(&room),
    };
    chases.retain(|chase| room.flushes || chase.before != Before::Flushed);
    let mut names = std::collections::HashSet::new();
    let measurements = chases.into_iter().map(|chase| chase.measurement());
    Plan::list(measurements.filter(move |measurement| names.insert(measurement.name.clone())))
}

fn full(room: &Room) -> Vec<Chase> {
    let chase = |slots: u64, stride, before| {
        // Near memory answers in tens of nanoseconds, far memory in hundreds.
        let near = slots * 4 * u64::from(stride) <= FIRST_LEVEL && before == Before::Itself;
        // A number of steps that no number of slots divides: a walk that comes back to its start looks like one that never left.
        // Slots stay below 2³¹ elements.
        Chase { shared: false, slots: slots as u32, stride, steps: if near { 65535 } else { 12287 }, before, units: room.units }
    };
    let lines = |bytes: u64, before| chase(bytes / 128, LINE, before);
    let powers = |from: u64, to: u64| std::iter::successors(Some(from), |size| Some(size * 2)).take_while(move |&size| size <= to);
    let deep = 4 * room.l2.next_power_of_two();
    let mut chases = vec![Chase { shared: true, slots: SHARED_SLOTS, stride: 1, steps: 65535, before: Before::Itself, units: room.units }];
    chases.extend(powers(4 << 10, FIRST_LEVEL).map(|size| lines(size, Before::Itself)));
    chases.extend(powers(FIRST_LEVEL, 2 * room.l2).map(|size| lines(size, Before::Read)));
    chases.extend(powers(room.l2.next_power_of_two(), deep).map(|size| lines(size, Before::Flushed)));
    // Far beyond what address translation holds: almost 8 GiB, a slot to every 128 KiB, and less where memory is small.
    let far = [(1 << 16, 32736), (1 << 15, 32736), (1 << 14, 16384)];
    let fits = |slots: u64, stride: u32| slots * u64::from(stride) * 4 <= room.memory / 4;
    chases.extend(far.into_iter().filter(|&(slots, stride)| fits(slots, stride)).map(|(s, stride)| chase(s, stride, Before::Flushed)));
    // Each slot is visited once: a slot whose line a neighbour brought in is fast, so that the mean tells sectors and lines.
    for size in [128 << 10, 1 << 20, 16 << 20, 64 << 20] {
        for stride in powers(8, 1024) {
            let slots = size / 4 / stride;
            let once = |before| Chase { steps: slots.min(32768) as u32 - 1, ..chase(slots, stride as u32, before) };
            chases.extend([once(Before::Read), once(Before::Flushed)]);
        }
    }
    // Where the capacities lie, between powers of two.
    for size in powers(128 << 10, 256 << 10) {
        chases.extend((9..16).map(|eighths| lines(size * eighths / 8, Before::Itself)));
    }
    chases.extend(powers(room.l2 / 4, room.l2).flat_map(|size| [5, 6, 7].map(|quarters| lines(size * quarters / 4, Before::Read))));
    chases.retain(|chase| fits(chase.slots.into(), chase.stride));
    chases
}

fn tiny(room: &Room) -> Vec<Chase> {
    let chase = |slots, stride, before| Chase { shared: false, slots, stride, steps: 300, before, units: room.units.min(2) };
    vec![
        Chase { shared: true, ..chase(SHARED_SLOTS, 1, Before::Itself) },
        chase(32, LINE, Before::Itself),
        chase(128, LINE, Before::Read),
        chase(1024, 8, Before::Flushed),
        chase(96, LINE, Before::Itself),
    ]
}
