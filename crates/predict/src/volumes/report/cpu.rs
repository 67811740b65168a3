//! A launch on a CPU as a [`Report`].

use super::contents::{Effective, FieldVolumes, InstructionCost, Interval, PointVolumes, Report, Settings, Work};
use crate::time::Parts;
use crate::volumes::cpu::{OnCpu, on_cpu};
use crate::volumes::guards::taken_to_hold;
use crate::volumes::kernel::subject::Field;
use warpsight_ir::occupancy::Occupancy;
use warpsight_ir::{Bytes, NoEstimate, Profile, Unknown, Volumes};

/// The time lies within a factor of this, both ways: bandwidths of a host are assumed until they are measured. Where they were, 21 held-out
/// launches on PoCL lay within a factor of 2.4, 19 of them within 2 (`examples/cpu`).
const UNCALIBRATED: f64 = 3.0;

/// Why a CPU has no lives of blocks, nor bandwidth by bytes in flight.
const ALONE: &str = "a core of a CPU runs one group at a time";

/// Predicts one launch on a CPU; accesses go by these numbers.
///
/// # Errors
/// Those of [`on_cpu`].
pub fn report(work: &Work, on: &Profile, settings: &Settings, resident: Occupancy, numbers: &[usize]) -> Result<Report, NoEstimate> {
    let mut notes = Vec::new();
    let (mut subject, found) = on_cpu(work.kernel, on, settings.meanwhile, &mut notes)?;
    subject.number(numbers);
    notes.extend(taken_to_hold(&subject));
    notes.extend(
        found.limits.iter().filter_map(|(limiter, limit)| Some(format!("{} is unknown: {}", limiter.name(), limit.as_ref().err()?))),
    );
    notes.push(format!("dram_load_wave is unknown: {ALONE}, so that there are no waves"));
    if settings.measured.is_some() {
        notes.push("measured volumes are not put into the model of CPUs".to_owned());
    }
    let (seconds, limiter) = found.together;
    let points = work.points as f64;
    let each = |bytes: f64| bytes / points;
    let (first, last) = (found.behind.first(), found.behind.last());
    let per_field = subject.fields.iter().enumerate().map(|(i, field)| FieldVolumes {
        field: field.name.to_string(),
        l1_requested: each(found.asked[i].0),
        l2_load_compulsory: each(found.asked[i].2),
        l2_store: first.map_or(0.0, |level| each(level.per_field[i].1)),
        dram_load: last.map(|level| each(level.per_field[i].0)),
        dram_store: last.map(|level| each(level.per_field[i].1)),
    });
    let cores = f64::from(on.execution.cores.get().copied().unwrap_or(1));
    let share = work.kernel.launch.group_count() as f64 / cores;
    Ok(Report {
        seconds,
        points_per_second: points / seconds.0,
        interval: Interval {
            lo: seconds / UNCALIBRATED,
            hi: seconds * UNCALIBRATED,
            basis: format!("not calibrated on this device: a factor of {UNCALIBRATED} both ways, a statement of ignorance"),
        },
        kind: None,
        span: [seconds; 2],
        bound: None,
        limiter: Some(limiter),
        l1_cycles_per_point: Some(each(found.l1_cycles)).filter(|&cycles| cycles > 0.0),
        volumes: PointVolumes {
            l1_requested: Some(each(found.asked.iter().map(|own| own.0).sum())),
            l2_load_compulsory: Some(each(found.asked.iter().map(|own| own.2).sum())),
            l2_load: first.map(|level| each(level.load)),
            l2_store: first.map(|level| each(level.store)),
            dram_load_wave: None,
            dram_load: last.map(|level| each(level.load)),
            dram_store: last.map(|level| each(level.store)),
            by_cause: causes(&found, points),
            per_field: per_field.collect(),
        },
        moved: Volumes {
            l1: Bytes(found.asked.iter().map(|own| own.0 + own.1).sum()),
            l2: Bytes(first.map_or(0.0, |level| level.load + level.store)),
            dram: Bytes(last.map_or(0.0, |level| level.load + level.store)),
            ..Volumes::default()
        },
        effective: Effective::of(work.kernel, found.asked.iter().map(|own| own.0 + own.1).sum(), seconds),
        instructions: instructions(&subject.fields, &found),
        parts: Parts {
            launch: None,
            fixed: found.limits.clone(),
            moved: Err(Unknown::new("memory", ALONE)),
            life: Err(Unknown::new("execution", ALONE)),
            shared: None,
        },
        limits: found.limits,
        occupancy: resident,
        waves: share,
        tail_efficiency: share / share.ceil(),
        measured: vec![],
        provenance: notes,
    })
}

/// What moves behind each cache.
fn causes(found: &OnCpu, points: f64) -> Vec<(String, f64)> {
    let mut causes = Vec::new();
    for (n, level) in found.behind.iter().enumerate() {
        causes.push((format!("behind L{}: loaded", n + 1), level.load / points));
        causes.push((format!("behind L{}: stored", n + 1), level.store / points));
    }
    causes
}

/// Accesses in program order. A wavefront is a memory instruction per vector of work-items.
fn instructions(fields: &[Field], found: &OnCpu) -> Vec<InstructionCost> {
    let mut listed: Vec<InstructionCost> = found
        .instructions
        .iter()
        .map(|own| InstructionCost {
            field: fields[own.field].name.to_string(),
            access: own.position,
            executions: own.vectors as u64,
            wavefronts: Some(own.each),
        })
        .collect();
    listed.sort_by_key(|cost| cost.access);
    listed
}
