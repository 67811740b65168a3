//! A launch on a GPU as a [`Report`]: counts, then seconds.

use super::contents::{Effective, FieldVolumes, InstructionCost, Interval, PointVolumes, Report, Settings, Work};
use super::measured::Compared;
use crate::time::{Counts, Parts, nothing_known, parts_at};
use crate::volumes::behind::dram::{Cause, Dram};
use crate::volumes::behind::tlb;
use crate::volumes::count::{Exact, Origin, asked_of, loads, stores};
use crate::volumes::first_level::costs::Instruction;
use crate::volumes::fitted::caches::Caches;
use crate::volumes::fitted::expected::{Kind, Moved, range};
use crate::volumes::fitted::speed::Speed;
use crate::walk::Warps;
use std::borrow::Cow;
use warpsight_ir::occupancy::Occupancy;
use warpsight_ir::profile::Fact;
use warpsight_ir::{Bytes, Hertz, Limiter, NoEstimate, Profile, Seconds, Volumes};

/// Predicts one launch on a GPU; accesses go by these numbers.
///
/// # Errors
/// Those of [`Exact::of`]; [`NoEstimate::Missing`] where not even one limiter is known.
pub fn report(work: &Work, on: &Profile, settings: &Settings, resident: Occupancy, from: &Origin) -> Result<Report, NoEstimate> {
    let kernel = work.kernel;
    let mut notes = Vec::new();
    let caches = settings.caches.as_ref().unwrap_or_else(|| Caches::fitted());
    let exact = Exact::of(kernel, on, resident, from, (caches, settings.meanwhile), (settings.brief, &mut notes))?;
    let points = work.points as f64;
    let has_llc = !matches!(on.memory.llc.bytes, Fact::Absent { .. });
    let mut counts = Cow::Borrowed(&exact.counts);
    let mut measured = settings.measured.map_or_else(Vec::new, |own| own.put_into(counts.to_mut(), points, has_llc));
    let translations = tlb::seconds(&exact.subject, exact.sizes.warp, &resident, on);
    let timed = |counts: &Counts, clock: Option<Hertz>| {
        let mut parts = parts_at(counts, on, clock);
        parts.fixed.push((Limiter::Tlb, translations.clone()));
        parts
    };
    let parts = timed(&counts, None);
    let speed = Speed::of(on);
    notes.push(format!("bandwidth and turnover of blocks: data/fits/bandwidth.toml, {}", speed.from.name()));
    let limits = parts.limits(&speed);
    // What was measured is of the launch as a whole.
    let warps = Warps::of(&exact, on).filter(|_| settings.measured.is_none());
    if warps.is_some() {
        notes.push("the time is that of a core's warps, followed event by event; the limiter is what takes longest alone".to_owned());
    }
    let together = |parts: &Parts, clock: Option<Hertz>| {
        let limits = parts.limits(&speed);
        let (seconds, limiter) = parts.together(&limits, &speed)?;
        let between = parts.life.as_ref().map_or(Seconds::ZERO, |life| life.between(&speed));
        Some((warps.as_ref().map_or(seconds, |warps| warps.seconds(&limits, between, clock)), limiter))
    };
    let (seconds, limiter) = together(&parts, None).ok_or_else(|| nothing_known(&limits, on))?;
    if seconds.0 <= 0.0 {
        return Err(NoEstimate::NotCovered("a kernel that takes no time: neither accesses nor operations".to_owned()));
    }
    let kind = Kind::of(kernel, limiter, least_moved(&exact, &counts), on);
    let (own, basis) = range(kind, limiter, speed.from);
    // The highest clock and the lowest.
    let ends = match on.execution.clock {
        Fact::Known { lo, hi, .. } => [hi, lo],
        _ => [None; 2],
    };
    // `typical`: what is known to be taken at the profile's clock.
    let span_of = |counts: &Counts, typical: Option<Seconds>| {
        let walked = |clock| together(&timed(counts, clock), clock).map_or(seconds, |found| found.0);
        let at = |clock: Option<Hertz>| typical.filter(|_| clock.is_none()).unwrap_or_else(|| walked(clock));
        let fast = at(ends[0]);
        [fast, if ends[0] == ends[1] { fast } else { at(ends[1]) }]
    };
    let span = span_of(&counts, Some(seconds));
    let around = |[fast, slow]: [Seconds; 2], basis| Interval { lo: fast * own.lo.exp(), hi: slow * own.hi.exp(), basis };
    let mut interval = around(span, basis);
    for other in others(&exact, &counts).filter(|_| settings.measured.is_none()) {
        interval.cover(&around(span_of(&other, None), String::new()));
    }
    if let Fact::Known { value, lo, hi, .. } = &on.execution.clock {
        let mega = |clock: &Hertz| format!("{:.0} MHz", clock.0 * 1e-6);
        notes.push(match (lo, hi) {
            (None, None) => format!("execution.clock: {}; its range is not known, so that the interval takes it for certain", mega(value)),
            _ => format!(
                "execution.clock: {}; the interval covers {} to {}",
                mega(value),
                mega(lo.as_ref().unwrap_or(value)),
                mega(hi.as_ref().unwrap_or(value))
            ),
        });
    }
    // No run is shorter than the arithmetic at the highest clock.
    let bound = timed(&counts, ends[0]).fixed.into_iter().find(|limit| limit.0 == Limiter::Fp).and_then(|limit| limit.1.ok());
    notes.extend(limits.iter().filter_map(|(limiter, limit)| Some(format!("{} is unknown: {}", limiter.name(), limit.as_ref().err()?))));
    if let (Err(reason), false) = (&counts.l1, limits.iter().any(|limit| limit.0 == Limiter::L1 && limit.1.is_err())) {
        notes.push(format!("l1_cycles_per_point is unknown: {reason}"));
    }
    if let Some(taken) = settings.measured.and_then(|own| own.seconds) {
        measured.push(Compared { what: "seconds", measured: taken.0, predicted: Some(seconds.0) });
    }
    if !measured.is_empty() {
        notes.extend(measured.iter().map(Compared::note));
        notes.push("what is not named as measured is predicted, volumes by cause and by field among it".to_owned());
    }
    let groups = kernel.launch.group_count() as f64;
    let share = on.execution.cores.get().map_or(1.0, |&cores| groups / f64::from(cores));
    let waves = on.execution.cores.get().map_or(1.0, |&cores| groups / (f64::from(cores) * f64::from(resident.groups)));
    Ok(Report {
        seconds,
        points_per_second: points / seconds.0,
        effective: Effective::of(kernel, counts.asked + counts.texels.unwrap_or(0.0), seconds),
        interval,
        kind: Some(kind),
        span,
        bound,
        limiter: Some(limiter),
        limits,
        parts,
        l1_cycles_per_point: counts.l1.as_ref().ok().map(|cycles| cycles / points),
        volumes: per_point(&exact, &counts, points),
        moved: moved(&exact, &counts),
        instructions: costs(&exact),
        occupancy: resident,
        waves,
        tail_efficiency: share / share.ceil(),
        measured,
        provenance: notes,
    })
}

/// What tells kinds of kernels.
fn least_moved(exact: &Exact, counts: &Counts) -> Moved {
    let dram = counts.dram.as_ref().ok();
    let stored = dram.map_or(0.0, |dram| dram.store);
    let caused = |dram: &Dram, cause| dram.by_cause.iter().filter(|own| own.0 == cause).map(|own| own.1).sum::<f64>();
    let (least, spilled) = exact.counts.dram.as_ref().map_or((0.0, 0.0), |dram| (caused(dram, Cause::Compulsory), dram.spilled));
    Moved { requested: counts.requested, loaded: dram.map_or(counts.requested, |dram| dram.load), least: least + stored - spilled }
}

/// What a launch may ask for as well, of which the most likely is counted: intervals cover it.
fn others<'c>(exact: &Exact, counts: &'c Counts<'c>) -> impl Iterator<Item = Counts<'c>> {
    let read_only = exact.read_only.zip(counts.l1.as_ref().ok()).into_iter().flat_map(|((cycles, factor), l1)| {
        [factor.lo, factor.hi].map(|other| Counts { l1: Ok(l1 + cycles * (other - factor.typical)), ..counts.clone() })
    });
    let contended = exact.contended;
    let atomics = (contended.together < contended.clocks).then(|| Counts { contended: contended.together, ..counts.clone() });
    read_only.chain(atomics)
}

/// Volumes per point: the counts that the time was made of, by cause and by field what was counted.
fn per_point(exact: &Exact, counts: &Counts, points: f64) -> PointVolumes {
    let each = |bytes: f64| bytes / points;
    let predicted = exact.counts.dram.as_ref().ok();
    let per_field = exact.subject.fields.iter().enumerate().map(|(i, field)| FieldVolumes {
        field: field.name.to_string(),
        l1_requested: each(exact.requested(i, loads)),
        l2_load_compulsory: each(exact.uses[i].loaded_sectors as f64 * exact.sectors[i]),
        l2_store: each(exact.requested(i, stores)),
        dram_load: predicted.map(|dram| each(dram.per_field[i].1)),
        dram_store: predicted.map(|dram| each(dram.per_field[i].2)),
    });
    let load = exact.counts.l2_load.as_ref().ok();
    // Earlier blocks may leave some of it in the first level.
    let compulsory = load.map_or(exact.compulsory, |load| exact.compulsory.min(*load));
    let mut by_cause = vec![("l2_load: compulsory".to_owned(), each(compulsory))];
    by_cause.extend(load.map(|load| ("l2_load: capacity".to_owned(), each(load - compulsory))));
    for &(cause, bytes) in predicted.iter().flat_map(|dram| &dram.by_cause) {
        let cause = match cause {
            Cause::Compulsory => "compulsory",
            Cause::WithinWave => "evicted within a wave",
            Cause::BetweenWaves => "evicted between waves",
            Cause::PartialStore => "read back for stores",
            Cause::Spilled => "spilled registers",
        };
        by_cause.push((format!("dram_load: {cause}"), each(bytes)));
    }
    let dram = counts.dram.as_ref().ok();
    PointVolumes {
        l1_requested: Some(each(counts.requested)),
        l2_load_compulsory: Some(each(exact.compulsory)),
        l2_load: counts.l2_load.as_ref().ok().map(|bytes| each(*bytes)),
        l2_store: Some(each(counts.l2_store)),
        dram_load_wave: predicted.map(|dram| each(dram.load_wave)),
        dram_load: dram.map(|dram| each(dram.load)),
        dram_store: dram.map(|dram| each(dram.store)),
        per_field: per_field.collect(),
        by_cause,
    }
}

/// Bytes of the launch.
fn moved(exact: &Exact, counts: &Counts) -> Volumes {
    Volumes {
        texture: Bytes(counts.texels.unwrap_or(0.0)),
        l1: Bytes(counts.requested),
        l2: Bytes(counts.l2_load.as_ref().map_or(0.0, |load| load + counts.l2_store)),
        dram: Bytes(counts.dram.as_ref().map_or(0.0, |dram| dram.load + dram.store)),
        local: Bytes(asked_of(&exact.subject, &exact.subject.local)),
    }
}

/// What each access costs, in program order.
fn costs(exact: &Exact) -> Vec<InstructionCost> {
    let mut accesses: Vec<&Instruction> = exact.accesses.iter().collect();
    accesses.sort_by_key(|i| i.position);
    let cost = |i: &Instruction| {
        let field = &exact.subject.fields[i.field];
        InstructionCost {
            field: field.name.to_string(),
            access: i.position,
            executions: i.executions,
            wavefronts: field.image.is_none().then(|| i.wavefronts as f64 / i.executions.max(1) as f64),
        }
    };
    accesses.into_iter().map(cost).collect()
}
