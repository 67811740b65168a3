//! Bandwidth of DRAM, L2, L1 and shared memory, against size and occupancy.
//!
//! On an H200 about 830 measurements with 76 Programs (a test counts them): at 0.2 s a Program and 15 ms a measurement beside its 8
//! passes, 32 s. Never more blocks than are resident at once, registers included (a test compiles every kernel); the number of resident
//! warps is the occupancy.

use crate::kernels::Occupancy;
use crate::kernels::stream::{Op, Stream};
use crate::kernels::strided::{Pattern, Place, SHARED_BYTES, Strided};
use crate::kernels::sweep::Sweep;
use crate::phases::room::Room;
use crate::phases::turns;
use crate::{Context, Measurement, Needs, Phase, Plan, Scale};
use warpsight_ir::Scalar;

/// Access shapes: element and width.
const SHAPES: [(Scalar, u32); 6] =
    [(Scalar::F32, 4), (Scalar::F64, 1), (Scalar::F32, 1), (Scalar::F64, 2), (Scalar::F32, 2), (Scalar::F64, 4)];
/// Between them, for where bandwidth saturates.
const BETWEEN: [u32; 8] = [48, 24, 12, 56, 40, 28, 20, 3];
const MIB: u64 = 1 << 20;
const KIB: u64 = 1 << 10;

/// The phases of this module.
pub(super) fn phases() -> Vec<Phase> {
    vec![Phase {
        name: "streams",
        purpose: "bytes per second of DRAM, L2, L1 and shared memory against size, occupancy and access shape",
        needs: Needs::Programs,
        share: 3.0,
        plan,
    }]
}

/// One measurement, before its job is made.
enum Spec {
    Stream(Stream),
    Sweep(Sweep),
    Strided(Strided),
}

impl Spec {
    fn measurement(&self, seed: u64) -> Measurement {
        match self {
            Self::Stream(stream) => stream.measurement(seed),
            Self::Sweep(sweep) => sweep.measurement(seed),
            Self::Strided(strided) => strided.measurement(seed),
        }
    }
}

fn plan(context: &Context) -> Plan {
    let seed = context.seed;
    let specs = match context.scale {
        Scale::Full | Scale::Quick => full(&Room::of(context)),
        Scale::Tiny => tiny(&Room::of(context)),
    };
    let mut names = std::collections::HashSet::new();
    let measurements = specs.into_iter().map(move |spec| spec.measurement(seed));
    // Different wishes may come to the same measurement.
    Plan::list(measurements.filter(move |measurement| names.insert(measurement.name.clone())))
}

/// Every part begins with what says most; the parts take turns.
fn full(room: &Room) -> Vec<Spec> {
    turns([dram(room), l2(room), l1(room), shared(room), strides(room)], 10).collect()
}

fn dram(room: &Room) -> Vec<Spec> {
    let fullest = room.fullest();
    let mut specs = Vec::new();
    let mut push =
        |op, (element, width), occupancy: Option<Occupancy>, bytes: u64| {
            specs.extend(occupancy.map(|occupancy| {
                Spec::Stream(Stream { op, element, width, occupancy, bytes: bytes.min(room.stream), flushed: room.flushes })
            }));
        };
    // Few warps take long, and what they can have under way is far below what the caches could hide.
    let size = |warps| if warps < 8 { 4 * room.l2 } else { room.stream };
    for shape in SHAPES {
        for op in Op::ALL {
            push(op, shape, room.warps(fullest), room.stream);
        }
    }
    // Against occupancy: finely for the shape that public suites report.
    for warps in room.ladder().into_iter().chain(BETWEEN) {
        for op in Op::ALL {
            push(op, (Scalar::F64, 1), room.warps(warps), size(warps));
        }
    }
    for warps in room.ladder() {
        for shape in [(Scalar::F32, 4), (Scalar::F32, 1)] {
            for op in [Op::Copy, Op::Sum, Op::Write] {
                push(op, shape, room.warps(warps), size(warps));
            }
        }
    }
    for factor in [4, 8, 16] {
        for op in Op::ALL {
            push(op, (Scalar::F64, 1), room.warps(fullest), factor * room.l2);
        }
    }
    for threads in [64, 256, 512, 1024, 32] {
        for op in [Op::Copy, Op::Sum] {
            for warps in [fullest, fullest / 2] {
                push(op, (Scalar::F64, 1), room.blocks(threads, warps), room.stream);
            }
        }
    }
    specs
}

/// From sizes that L1 holds, where all blocks read all of it, to four times the L2 cache.
fn l2(room: &Room) -> Vec<Spec> {
    let sweep = |(element, width), warps, footprint| {
        let occupancy = room.warps(warps)?;
        Some(Spec::Sweep(Sweep { level: "l2", element, width, occupancy, footprint, per_thread: 16 * KIB }))
    };
    let mut specs = Vec::new();
    for shape in SHAPES {
        specs.extend(room.ladder().into_iter().filter_map(|warps| sweep(shape, warps, room.l2 / 8)));
    }
    // Four sizes to an octave.
    let sizes = (0..).map(|i| (f64::from(1 << 17) * (f64::from(i) / 4.0).exp2()) as u64).take_while(|&size| size <= 4 * room.l2);
    let mut sizes: Vec<u64> = sizes.collect();
    // The whole range coarsely, then finely.
    sizes.sort_by_key(|size| size.count_ones() > 1);
    for shape in [(Scalar::F32, 4), (Scalar::F64, 1)] {
        for size in [MIB, room.l2 / 2, 2 * room.l2] {
            specs.extend(room.ladder().into_iter().filter_map(|warps| sweep(shape, warps, size)));
        }
        specs.extend(sizes.iter().filter_map(|&size| sweep(shape, room.fullest(), size)));
    }
    specs
}

fn l1(room: &Room) -> Vec<Spec> {
    let sweep = |(element, width), occupancy: Option<Occupancy>, footprint| {
        Some(Spec::Sweep(Sweep { level: "l1", element, width, occupancy: occupancy?, footprint, per_thread: 64 * KIB }))
    };
    let mut specs = Vec::new();
    for shape in SHAPES {
        specs.extend(room.ladder().into_iter().filter_map(|warps| sweep(shape, room.warps(warps), 32 * KIB)));
    }
    for shape in [(Scalar::F32, 4), (Scalar::F64, 1), (Scalar::F32, 1)] {
        specs.extend((1..=32).filter_map(|i| sweep(shape, room.warps(room.fullest()), 8 * i * KIB)));
    }
    for shape in [(Scalar::F32, 4), (Scalar::F64, 1)] {
        for footprint in [16, 64, 128, 192] {
            specs.extend(room.ladder().into_iter().filter_map(|warps| sweep(shape, room.warps(warps), footprint * KIB)));
        }
    }
    // As public suites do: one large block.
    specs.extend((1..=16).filter_map(|i| sweep((Scalar::F64, 1), room.blocks(1024, 32), 64 * i * KIB)));
    specs
}

/// Conflict-free first, then degrees of conflict up to 32, broadcast last.
const STRIDES: [u32; 8] = [1, 2, 32, 4, 8, 16, 3, 0];

fn shared(room: &Room) -> Vec<Spec> {
    let spec = |(element, width), occupancy: Option<Occupancy>, stride| {
        let pattern = Pattern::stride(stride);
        Some(Strided { place: Place::Shared, element, width, pattern, occupancy: occupancy?, loads: 8192 })
    };
    // Of the warps of a multiprocessor, as many as keep the arrays resident.
    let at = |warps: u32| room.blocks(if warps.is_multiple_of(8) { 256 } else { 32 }, warps).filter(|o| room.holds(*o, SHARED_BYTES));
    let full = room.ladder().into_iter().find_map(at);
    let mut specs = Vec::new();
    for shape in SHAPES {
        specs.extend(STRIDES.into_iter().filter_map(|stride| spec(shape, full, stride)));
    }
    for shape in SHAPES {
        for stride in [1, 2, 16] {
            specs.extend(room.ladder().into_iter().filter_map(|warps| spec(shape, at(warps), stride)));
        }
    }
    specs.into_iter().filter(Strided::fits).map(Spec::Strided).collect()
}

/// The patterns that models of the first level are fitted to: one block of 1024 threads, a load of 4 or 8 bytes.
fn strides(room: &Room) -> Vec<Spec> {
    let threads = [1024, 512, 256].into_iter().find(|&threads| threads <= room.threads).unwrap_or(128);
    let Some(occupancy) = room.blocks(threads, threads / 32) else { return vec![] };
    let elements = [Scalar::F32, Scalar::F64];
    let powers = (0..=6).map(|i| 1 << i);
    let strides = powers.clone().chain((0..64).filter(|stride: &u32| !stride.is_power_of_two())).map(Pattern::stride);
    // Blocks of `row` threads a row, rows 4098 elements apart.
    let rows = (0..=5).map(|i| Pattern { row: 1 << i, stride: 1, pitch: 4098 });
    strides
        .chain(rows)
        .flat_map(|pattern| elements.map(|element| (pattern, element)))
        .map(|(pattern, element)| Spec::Strided(Strided { place: Place::L1, element, width: 1, pattern, occupancy, loads: 16384 }))
        .collect()
}

fn tiny(room: &Room) -> Vec<Spec> {
    let flushed = room.flushes;
    let shapes = SHAPES.into_iter().take(3);
    let occupancy = |threads, per_unit| Occupancy { threads, per_unit, units: room.units.min(2) };
    let streams = Op::ALL.into_iter().flat_map(|op| shapes.clone().map(move |shape| (op, shape)));
    let streams = streams
        .map(|(op, (element, width))| Spec::Stream(Stream { op, element, width, occupancy: occupancy(32, 2), bytes: 24 * KIB, flushed }));
    let sweeps = [("l1", 2 * KIB), ("l2", 16 * KIB)].into_iter().flat_map(|level| SHAPES.map(|shape| (level, shape)));
    let sweeps = sweeps.map(|((level, footprint), (element, width))| {
        Spec::Sweep(Sweep { level, element, width, occupancy: occupancy(32, 1), footprint, per_thread: 256 })
    });
    let strided = |place, element, width, pattern| Strided { place, element, width, pattern, occupancy: occupancy(64, 1), loads: 32 };
    let shared = SHAPES.into_iter().flat_map(|shape| [0, 1, 2].map(|stride| (shape, Pattern::stride(stride))));
    let shared = shared.map(|((element, width), pattern)| strided(Place::Shared, element, width, pattern));
    let l1 = [Pattern::stride(0), Pattern::stride(3), Pattern { row: 8, stride: 1, pitch: 130 }];
    let l1 = l1.into_iter().flat_map(|pattern| [Scalar::F32, Scalar::F64].map(|element| strided(Place::L1, element, 1, pattern)));
    streams.chain(sweeps).chain(shared.chain(l1).map(Spec::Strided)).collect()
}
