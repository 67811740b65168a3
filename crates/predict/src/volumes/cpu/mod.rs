//! OpenCL on a CPU: a work-group is a loop of one core over its work-items, which the compiler makes vectors of along the fastest axis.
//! .
//! What the caches see are rows: the work-items along the fastest axis of a group, one row after the other, one group after the other. So a
//! row takes the part that a wave has on a GPU, and the volumes behind L1, L2 and L3 are those that [`super::behind::steps`] counts behind a
//! cache of that size: what a row meets again in its loops, what later ones do, and what the launch before left there. Where a kernel has
//! barriers, each stretch between two of them is a loop over all work-items of its own, and whole groups take that part. Stored lines are
//! loaded first (write-allocate), unless the store bypasses the caches.

mod loops;
mod waits;

use crate::coarse::requests::{Requests, TensorTraffic};
use crate::time::{Limit, has_barrier, nothing_known};
use crate::volumes::behind::crowd::Crowd;
use crate::volumes::behind::dram::{Between, Curve, Memory, Wave};
use crate::volumes::behind::drawn;
use crate::volumes::behind::reuse::bypasses;
use crate::volumes::behind::steps::Steps;
use crate::volumes::first_level::block::block_uses;
use crate::volumes::first_level::costs::Sizes;
use crate::volumes::first_level::images;
use crate::volumes::kernel::lanes;
use crate::volumes::kernel::subject::{Field, Subject, Var};
use loops::{Instructions, Loops, Place, has_loop};
use smallvec::SmallVec;
use waits::{Stored, Waits, contested, in_flight, taken_away, waited};
use warpsight_ir::profile::Fact;
use warpsight_ir::{
    AccessKind, Affine, BytesPerSecond, Kernel, Limiter, Meanwhile, NoEstimate, Profile, Seconds, Space, StorePolicy, TensorPlace,
    TensorUse, Unknown, VarId, VarKind,
};

/// What a core works with at once.
const UNITS: [Limiter; 3] = [Limiter::Fp, Limiter::Issue, Limiter::L1];
/// Of what is hidden beside arithmetic in a loop that does nothing else, the part that kernels hide. On AMD's cores, where such a loop hides all,
/// convolutions of 512 channels at 7 × 7 and 1,000 at 13 × 13 that read their weights once, four times or seven from the last level take 579, 604, 608
/// and 700 µs: 594, 615, 644 and 700 with a half (measured, 2026-11-30; example `models`).
const HIDDEN: f64 = 0.5;
/// How caches let go of lines: nearly least recently used. Not fitted.
const CURVE: Curve = Curve { capacity: 1.0, steepness: 6.0, spread: 0.0, in_step: None, within: None };

/// Whether a profile is that of a CPU: its warps have one lane, vectors are the compiler's.
pub fn is_cpu(on: &Profile) -> bool {
    on.execution.warp.get() == Some(&1)
}

/// What a launch moves and takes on a CPU. Bytes of the whole launch.
#[derive(Clone, Debug)]
pub struct OnCpu {
    /// Seconds of each limiter alone.
    pub limits: Vec<Limit>,
    /// What is limiting, and the time.
    pub together: (Seconds, Limiter),
    /// For each field the bytes that loads ask for, that stores write, and of distinct lines of each group's loads.
    pub asked: Vec<(f64, f64, f64)>,
    /// Behind L1, L2 and L3; fewer where a level is missing.
    pub behind: Vec<Level>,
    /// Cycles of load and store units.
    pub l1_cycles: f64,
    /// Each access to memory that is not local.
    pub instructions: Vec<Executed>,
}

/// How often an access is executed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Executed {
    /// Position in the subject's list of fields.
    pub field: usize,
    /// Position among all accesses, in program order.
    pub position: usize,
    /// Vectors of work-items.
    pub vectors: f64,
    /// Memory instructions of each.
    pub each: f64,
}

/// What moves between a cache and the level behind it.
#[derive(Clone, Debug)]
pub struct Level {
    /// Loaded into the cache, lines to be stored included.
    pub load: f64,
    /// Written back.
    pub store: f64,
    /// The same by field.
    pub per_field: Vec<(f64, f64)>,
}

/// Predicts a launch on a CPU.
///
/// # Errors
/// A kernel that cannot be counted, or a profile that knows nothing that limits it.
pub fn on_cpu(kernel: &Kernel, on: &Profile, meanwhile: Meanwhile, notes: &mut Vec<String>) -> Result<(Subject, OnCpu), NoEstimate> {
    let subject = images::subject(kernel, on)?;
    let m = &on.memory;
    let line = m.buffer_l1.line.need(on, "memory.buffer_l1.line")?.0;
    let barriers = has_barrier(&kernel.accesses.nest);
    let widest = subject.fields.iter().filter(|field| field.image.is_none()).map(|field| field.geometry.element).max().unwrap_or(4);
    let loops = Loops::of(kernel, on, subject.groups.iter().chain(&subject.lanes).copied(), &subject.lanes, widest);
    let along = loops.along;

    let units = if barriers { subject.clone() } else { in_rows(&subject, along) };
    let size = line as u32;
    let between = Between::of(kernel, &units, meanwhile);
    let memory = |bytes: f64| Memory { fetch: size, write: size, l2_effective: bytes, last_level: None, between };
    let steps = Steps::of(&units, &memory(line), &Wave { blocks: 1 }, CURVE.spread);
    let caches = [(&m.buffer_l1, 1.0, true), (&m.l2, 1.0, true), (&m.llc, f64::from(m.llc.instances.get().copied().unwrap_or(1)), false)];
    let walks: Vec<Vec<i64>> = subject.fields.iter().map(|field| Crowd::walk(field, &units, line as i64)).collect();
    let mut behind: Vec<Level> = Vec::new();
    for (cache, instances, indexed) in caches {
        let Some(bytes) = cache.bytes.get() else { continue };
        // Sets of the first levels are bits of the address, those of the last a hash of it.
        let sets = cache.ways.get().filter(|_| indexed).map_or(1, |&ways| (bytes.0 / line / f64::from(ways)) as i64).max(1);
        let crowds: Vec<Crowd> = if sets > 1 { walks.iter().map(|walk| Crowd::of(walk, line as i64, sets)).collect() } else { vec![] };
        let memory = memory(bytes.0 * instances);
        let mut moved = steps.volumes(&memory, &CURVE, &crowds);
        drawn::add(&mut moved, &subject, &memory, 0.0);
        let copies = f64::from(cache.instances.get().copied().unwrap_or(1));
        let per_field = subject.fields.iter().zip(&moved.per_field).enumerate().map(|(i, (field, own))| {
            let again = (loaded_by(&subject, field, copies) - 1.0) * steps.first_loads(i, &memory, &CURVE);
            allocated(field, own.1 + again, own.2)
        });
        behind.push(Level::of(per_field.collect()));
    }
    let lookups = lookups(&units, &subject, on, between);
    let sizes = Sizes { warp: 1, sector: size, line: size, banks: 1, texture: None };
    let uses = block_uses(&subject, sizes);
    let asked = subject.fields.iter().zip(&uses).map(|(field, own)| {
        let bytes = |keep: fn(AccessKind) -> bool| asked(&subject, field, keep);
        let loads = bytes(|kind| !matches!(kind, AccessKind::Store(_)));
        (loads, bytes(|kind| !matches!(kind, AccessKind::Load)), own.loaded_sectors as f64 * line)
    });

    let mut found = OnCpu {
        limits: vec![],
        together: (Seconds::ZERO, Limiter::Launch),
        asked: asked.collect(),
        behind,
        l1_cycles: 0.0,
        instructions: vec![],
    };
    let mut counted = Instructions::default();
    for (list, own) in [(&subject.fields, true), (&subject.local, false), (&subject.constant, false)] {
        for (i, field) in list.iter().enumerate() {
            for touch in field.all() {
                let trips: f64 = touch.loops.iter().map(|var| f64::from(var.count)).product();
                let known = along.map_or(0, |var| touch.stride(&field.geometry, var.id));
                // Elements that lie anywhere are put into vectors one by one.
                let stride = if touch.indirect.is_some_and(|own| own.unknown()) { i64::MAX } else { known };
                let size = touch.width * field.geometry.element;
                let begins = loops.begins(touch.origin(&field.geometry), |id| touch.stride(&field.geometry, id));
                let place = Place { image: field.image.is_some(), size, stride, begins };
                let cost = loops.add(&mut counted, (trips, 1.0), (touch.kind, touch.width, &touch.guard), place);
                if own {
                    let vectors = loops.rows * loops.steps() * trips;
                    found.instructions.push(Executed { field: i, position: touch.position, vectors, each: cost.memory });
                }
            }
        }
    }
    let waits = waits::missed(&loops, &subject, &units.groups, &found.behind, on, line)
        .and_then(|lines| Ok(Waits { lines, at_a_time: in_flight(on), contested: contested(&loops, &subject, on, line)? }));
    if let Err(unknown) = &waits {
        notes.push(format!("what cores wait for lines is left out: {unknown}"));
    }
    let stalled = waits.map(|own| move |busy, windows| own.stalled(busy, windows));
    (found.limits, found.l1_cycles) = loops.limits(&counted, stalled, on)?;
    let volumes: Vec<f64> = found.behind.iter().map(|level| level.load + level.store).collect();
    let cores = f64::from(on.execution.cores.need(on, "execution.cores")?);
    found.limits.extend(levels(&volumes, [loops.uneven(cores), loops.drawn(cores)], on));
    let clock = on.execution.clock.need(on, "execution.clock")?.0;
    let per_core = |cycles: f64| Seconds(cycles / cores / clock);
    let each = on.memory.tlb.lookup.get().map_or_else(|| on.memory.tlb.miss_latency.known_as("memory.tlb.miss_latency"), Ok);
    found.limits.push((Limiter::Tlb, lookups.and_then(|lookups| Ok(per_core(lookups * each?.0)))));
    found.together = together(&mut found.limits, kernel, on)?;
    if subject.fields.iter().flat_map(Field::all).any(|touch| touch.kind == AccessKind::Atomic) {
        notes.push("atomics are counted as a load and a store: that cores wait for each other is left out".to_owned());
    }
    let unit = match barriers {
        true => "groups, because of barriers",
        _ if has_loop(&kernel.accesses.nest) => "work-items, because of loops",
        _ => "rows of work-items",
    };
    notes.push(format!(
        "a CPU: vectors of {} work-items along the fastest axis; caches see {unit}, one after the other, and hold what the launch before left; updates \
         of a variable wait for each other; translations are looked up, those that no cache of them holds left out",
        loops.lanes
    ));
    Ok((subject, found))
}

/// What bytes behind L1, L2 and L3 take; the last of them come from memory. Rates are those of all cores at once: where some are idle, the others
/// take so many times as long, with caches and with memory.
fn levels(volumes: &[f64], [uneven, drawn]: [f64; 2], on: &Profile) -> Vec<Limit> {
    let m = &on.memory;
    let rates = [
        (Limiter::L2, &m.l2.bandwidth, "memory.l2.bandwidth"),
        (Limiter::Llc, &m.llc.bandwidth, "memory.llc.bandwidth"),
        (Limiter::Dram, &m.dram_bandwidth, "memory.dram_bandwidth"),
    ];
    let present = rates.into_iter().filter(|(limiter, _, _)| match limiter {
        Limiter::L2 => !matches!(m.l2.bytes, Fact::Absent { .. }),
        Limiter::Llc => !matches!(m.llc.bytes, Fact::Absent { .. }),
        _ => true,
    });
    let idle = |limiter| if limiter == Limiter::Dram { drawn } else { uneven };
    let seconds = |limiter, bytes: f64, rate: &BytesPerSecond| Seconds(idle(limiter) * bytes / rate.0);
    present
        .zip(volumes)
        .map(|((limiter, rate, name), bytes)| (limiter, rate.known_as(name).map(|rate| seconds(limiter, *bytes, rate))))
        .collect()
}

/// The coarse count on a CPU: instructions, chains of operations and lines that cores share as in [`on_cpu`], what is behind caches from what
/// groups touch. Other lines are not waited for.
///
/// # Errors
/// A profile that knows nothing that limits it.
pub fn coarse(kernel: &Kernel, on: &Profile, meanwhile: Meanwhile, found: &Requests) -> Result<(Seconds, Limiter), NoEstimate> {
    let accesses = &kernel.accesses;
    let axes = |kind| {
        let own = accesses.vars.iter().enumerate().filter(move |(_, var)| var.kind == kind);
        own.map(|(i, var)| Var { id: VarId(i as u16), count: var.trips.unwrap_or(1) }).collect::<SmallVec<[Var; 4]>>()
    };
    let (groups, lanes) = (axes(VarKind::Group), axes(VarKind::Lane));
    let element = |tensor: &TensorUse| match tensor.place {
        TensorPlace::Buffer { element, .. } => i64::from(element.bytes()),
        TensorPlace::Image { .. } => 0,
    };
    let widest = accesses.tensors.iter().map(element).max().unwrap_or(4).max(1);
    let loops = Loops::of(kernel, on, groups.iter().chain(&lanes).copied(), &lanes, widest);
    let mut counted = Instructions::default();
    let line = loops.line as f64;
    let (count, items) = (kernel.launch.group_count() as f64, kernel.launch.group_size() as f64);
    let mut stored: SmallVec<[Stored; 2]> = SmallVec::new();
    accesses.each_with_trips(&mut |access, trips| {
        let place = &accesses.tensors[usize::from(access.tensor)].place;
        let what = match place {
            TensorPlace::Buffer { space: Space::Tile, .. } => return,
            TensorPlace::Buffer { element, dims, .. } => {
                let bytes = i64::from(element.bytes());
                let at = |own: &dyn Fn(&Affine) -> i64| {
                    let along = access.coords.iter().map(own).zip(dims);
                    along.fold(0_i64, |at, (own, extent)| at.saturating_mul(*extent).saturating_add(own)).saturating_mul(bytes)
                };
                let stride = |var: VarId| at(&|coord| i64::from(coord.coefficient(var)));
                let along = loops.along.map_or(0, |var| stride(var.id));
                if matches!(access.kind, AccessKind::Store(policy) if policy != StorePolicy::NonTemporal) {
                    let shared = taken_away(groups.iter().map(|var| (stride(var.id), var.count)), count, on, line);
                    let waits = shared * count * items * trips / loops.stored_together(along, line);
                    Stored::add(&mut stored, access.tensor, (waits, f64::from(access.times)), at(&|coord| coord.constant));
                }
                let begins = loops.begins(at(&|coord| coord.constant), stride);
                Place { image: false, size: i64::from(access.width) * bytes, stride: along, begins }
            }
            TensorPlace::Image { format, .. } => Place { image: true, size: i64::from(format.bytes()), stride: 0, begins: 0 },
        };
        let times = f64::from(access.times);
        loops.add(&mut counted, (trips / times, times), (access.kind, access.width.into(), &access.guard), what);
    });
    let contested = waited(stored.iter().map(|own| own.lines(line)).sum(), on);
    let (mut limits, _) = loops.limits(&counted, contested.map(|contested| move |_, _| contested), on)?;
    let m = &on.memory;
    let touched = || found.tensors.iter().filter(|own| own.touched);
    let all: f64 = touched().map(|own| own.bytes).sum();
    let caches = [(&m.buffer_l1, 1.0), (&m.l2, 1.0), (&m.llc, f64::from(m.llc.instances.get().copied().unwrap_or(1)))];
    let of_group: f64 = touched().map(|own| own.group_bytes).sum();
    let largest = touched().map(|own| own.group_bytes).fold(0.0, f64::max);
    // Between loops over the same lie those of a work-item, of a vector of them, or of the whole group where it meets.
    let meets = has_barrier(&accesses.nest);
    let between_sweeps: f64 = touched()
        .map(|own| if meets { own.group_bytes } else { own.group_bytes / own.distinct_items * own.distinct_items.min(loops.lanes.into()) })
        .sum();
    let behind = caches.into_iter().filter_map(|(cache, instances)| Some(cache.bytes.get()?.0 * instances)).map(|bytes| {
        let missing = if all > 0.0 { ((all - bytes) / all).max(0.0) } else { 0.0 };
        // What the launch before left is there, as far as others left it.
        let cold = |own: &TensorTraffic| CURVE.cold(all + meanwhile.bytes(own.known), bytes);
        // Groups that follow each other share what is most of their working set, where the cache holds all of it.
        let shared = |own: &TensorTraffic| own.group_bytes == largest && of_group <= bytes;
        let own = |own: &TensorTraffic| {
            let once = own.bytes.min(own.group_bytes * own.distinct_groups);
            let again = if shared(own) { 0.0 } else { (own.group_bytes * count - once).max(0.0) * missing };
            let swept = (own.sweeps - 1.0) * once * CURVE.cold(between_sweeps, bytes);
            // Stored lines are loaded first.
            (once * cold(own) + again) * if own.written { 2.0 } else { 1.0 } + swept
        };
        touched().map(own).sum::<f64>()
    });
    let cores = f64::from(on.execution.cores.need(on, "execution.cores")?);
    limits.extend(levels(&behind.collect::<SmallVec<[f64; 3]>>(), [loops.uneven(cores), loops.drawn(cores)], on));
    together(&mut limits, kernel, on)
}

/// What a launch takes, waking its cores included, which is part of its start.
fn together(limits: &mut [Limit], kernel: &Kernel, on: &Profile) -> Result<(Seconds, Limiter), NoEstimate> {
    let (seconds, limiter) = side_by_side(limits, on)?;
    let Some(wake) = on.execution.wake.get().filter(|wake| wake.0 > 0.0) else { return Ok((seconds, limiter)) };
    let cores = f64::from(on.execution.cores.need(on, "execution.cores")?);
    let of = |wanted: Limiter| limits.iter().find(|own| own.0 == wanted).and_then(|own| Some(own.1.as_ref().ok()?.0));
    let (start, longest) = (of(Limiter::Launch).unwrap_or(0.0), of(limiter).unwrap_or(0.0));
    let late = missed(seconds.0 - start, wake.0, kernel.launch.group_count() as f64, cores);
    limits.iter_mut().filter(|own| own.0 == Limiter::Launch).for_each(|own| own.1 = Ok(Seconds(start + late)));
    Ok((Seconds(seconds.0 + late), if start + late > longest { Limiter::Launch } else { limiter }))
}

/// Seconds that a launch of so many groups takes longer because all cores but the first begin `wake` later. Whoever is free takes the next group,
/// of which a core alone takes as long as beside others: what is shared, as memory's bandwidth is, is not handed to the first alone.
fn missed(seconds: f64, wake: f64, groups: f64, cores: f64) -> f64 {
    let (one, others) = (seconds / (groups / cores).ceil().max(1.0), cores - 1.0);
    if one <= 0.0 || others < 1.0 {
        return 0.0;
    }
    let all = |first: f64| match groups - first {
        rest if rest > 0.0 => (first * one).max(wake + (rest / others).ceil() * one),
        _ => groups * one,
    };
    // As many as the first does before all end together, or one more or less; or all of them.
    let equal = (((groups * one + others * wake) / one) / cores).floor();
    let few = [equal - 1.0, equal, equal + 1.0, groups].map(|first| all(first.clamp(0.0, groups)));
    (few.into_iter().fold(f64::INFINITY, f64::min) - seconds).max(0.0)
}

/// What a launch takes whose cores all begin at once. Of the units of a core, which work side by side whatever they wait for, the busiest counts,
/// and meanwhile the second cache fills the first and a second buffer the translations. Of what comes from behind that as much goes on beside it as
/// is known of the machine and [`HIDDEN`] says; the rest, and what nothing foresees, is added. Of the 69 launches of the example `cpu` 57 are within a
/// factor of 2 on AMD's cores (61 if all is hidden that a loop hides, 54 by the model before; 2026-11-30); on Intel's nothing was measured since.
fn side_by_side(limits: &[Limit], on: &Profile) -> Result<(Seconds, Limiter), NoEstimate> {
    let of = |wanted: Limiter| limits.iter().filter(|own| own.0 == wanted).filter_map(|own| Some(own.1.as_ref().ok()?.0)).sum::<f64>();
    let busiest = UNITS.map(of).into_iter().fold(0.0, f64::max);
    let waits = [Limiter::Launch, Limiter::Latency].map(of);
    let near = overlapped([busiest, of(Limiter::L2), of(Limiter::Tlb)]);
    let [llc, dram] = [Limiter::Llc, Limiter::Dram].map(of);
    let far = overlapped([llc, dram]);
    let beside = if llc > dram { &on.memory.llc_beside } else { &on.memory.dram_beside };
    let hidden = HIDDEN * beside.get().copied().unwrap_or(0.0).clamp(0.0, 1.0) * (near + far - overlapped([near, far]));
    let all = near + far - hidden + waits.iter().sum::<f64>();
    let longest = limits.iter().filter_map(|own| Some((own.1.as_ref().ok()?.0, own.0))).reduce(|a, b| if b.0 > a.0 { b } else { a });
    longest.filter(|_| all > 0.0).map(|(_, limiter)| (Seconds(all), limiter)).ok_or_else(|| nothing_known(limits, on))
}

/// What two take that go on side by side, more or less: chains of multiply-adds in C on a core with AVX-512 (not kept, 2026-11-27) ran ×1.53,
/// 1.34, 1.22, 1.06 and 1.0 as long with 6, 7, 8, 10 and 12 sums as with 28, where 8 hide their latency.
fn overlapped<const N: usize>(all: [f64; N]) -> f64 {
    all.map(|own| own.powi(4)).iter().sum::<f64>().powf(0.25)
}

/// Of so many caches those that load a line of a field: cores take runs of groups in order, so outer axes divide them, and those that divide
/// an axis that the field does not depend on ask for the same.
fn loaded_by(subject: &Subject, field: &Field, caches: f64) -> f64 {
    let (mut left, mut copies) = (caches.max(1.0), 1.0);
    for var in subject.groups.iter().rev() {
        let split = f64::from(var.count).min(left);
        left /= split;
        if field.all().all(|touch| touch.stride(&field.geometry, var.id) == 0) {
            copies *= split;
        }
    }
    copies
}

/// Rows as blocks: all axes but one count as group axes, in the order in which rows run.
fn in_rows(subject: &Subject, along: Option<Var>) -> Subject {
    let mut rows = subject.clone();
    let others = subject.lanes.iter().filter(|lane| Some(**lane) != along);
    rows.groups = others.chain(&subject.groups).copied().filter(|var| var.count > 1).collect();
    rows.lanes = along.into_iter().collect();
    rows
}

/// Loaded and stored bytes of a field: of lines that are only stored, all are loaded, not just those that stores leave gaps in.
fn allocated(field: &Field, load: f64, store: f64) -> (f64, f64) {
    let loaded = field.all().any(|touch| !matches!(touch.kind, AccessKind::Store(_)));
    let load = if loaded {
        load
    } else if bypasses(field) {
        0.0
    } else {
        store.max(load)
    };
    (load, store)
}

impl Level {
    fn of(per_field: Vec<(f64, f64)>) -> Self {
        Self { load: per_field.iter().map(|own| own.0).sum(), store: per_field.iter().map(|own| own.1).sum(), per_field }
    }
}

/// Bytes that work-items ask for.
fn asked(subject: &Subject, field: &Field, keep: fn(AccessKind) -> bool) -> f64 {
    let kept = field.all().filter(|touch| keep(touch.kind));
    kept.fold(0.0, |sum, touch| sum + lanes::executing(subject, touch) * touch.width as f64) * field.geometry.element as f64
}

/// How often cores look up translations: of each page that was touched too long ago.
fn lookups(units: &Subject, subject: &Subject, on: &Profile, between: Between) -> Result<f64, Unknown> {
    let tlb = &on.memory.tlb;
    let (page, reach) = (tlb.page.known_as("memory.tlb.page")?.0, tlb.reach.known_as("memory.tlb.reach")?.0);
    let memory = Memory { fetch: page as u32, write: page as u32, l2_effective: reach, last_level: None, between };
    let mut moved = Steps::of(units, &memory, &Wave { blocks: 1 }, CURVE.spread).volumes(&memory, &CURVE, &[]);
    drawn::add(&mut moved, subject, &memory, 0.0);
    Ok(moved.per_field.iter().map(|own| own.1.max(own.2)).sum::<f64>() / page)
}

#[cfg(test)]
mod tests {
    use super::missed;

    /// Microseconds, in hundredths.
    fn late(seconds: f64, wake: f64, groups: f64, cores: f64) -> f64 {
        (1e8 * missed(1e-6 * seconds, 1e-6 * wake, groups, cores)).round() / 100.0
    }

    #[test]
    fn cores_that_are_woken_end_late() {
        // Many groups: two cores make up for what one of them missed; of four three missed it.
        assert_eq!([late(100.0, 30.0, 1e6, 2.0), late(100.0, 30.0, 1e6, 4.0)], [15.0, 22.5]);
        // A group for each: the second ends as late as it began.
        assert_eq!(late(100.0, 30.0, 2.0, 2.0), 30.0);
        // Of three groups the first core does two either way.
        assert_eq!(late(100.0, 30.0, 3.0, 2.0), 0.0);
        // The first has done all before another wakes; one group, or one core, waits for nobody.
        assert_eq!([late(10.0, 30.0, 2.0, 2.0), late(10.0, 50.0, 1e6, 4.0)], [10.0, 30.0]);
        assert_eq!([late(10.0, 30.0, 1.0, 2.0), late(10.0, 30.0, 9.0, 1.0), late(0.0, 30.0, 9.0, 2.0)], [0.0; 3]);
    }
}
