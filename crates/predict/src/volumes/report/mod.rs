//! From a kernel's accesses to bytes per point, seconds and what limits them (paper 002).

mod contents;
mod cpu;
mod gpu;
pub mod measured;
pub mod unknowns;

pub use contents::{Effective, FieldVolumes, InstructionCost, Interval, PointVolumes, Report, Settings, Work};

use crate::time::Parts;
use crate::volumes::behind::spilled::taken;
use crate::volumes::count::Origin;
use crate::volumes::cpu::is_cpu;
use crate::volumes::form;
use crate::volumes::known::Known;
use std::rc::Rc;
use warpsight_ir::accesses::Canonical;
use warpsight_ir::occupancy::{Residency, occupancy};
use warpsight_ir::{Accesses, Kernel, LaneOrder, NoEstimate, Profile, Seconds, TensorUse, Unknown, Volumes};

/// Predicts one launch.
///
/// # Errors
/// [`NoEstimate::CannotRun`] where a block does not fit, [`NoEstimate::NotCovered`] for data-dependent loops,
/// [`NoEstimate::Missing`] where not even one limiter is known.
pub fn report(work: &Work, on: &Profile, settings: &Settings) -> Result<Report, NoEstimate> {
    report_knowing(work, on, settings, &Rc::new(Known::alone()))
}

/// The same, to the last bit, with what was found of other launches on this device.
///
/// # Errors
/// As [`report`].
pub fn report_knowing(work: &Work, on: &Profile, settings: &Settings, known: &Rc<Known>) -> Result<Report, NoEstimate> {
    let ordered = work.kernel.in_lane_order(LaneOrder::of(on));
    let work = &Work { kernel: &ordered, points: work.points };
    let (Canonical { accesses, positions, never, .. }, form) = form::of(&work.kernel.accesses, settings.order, known);
    let Kernel { name, launch, registers, kept, reused, local, ops, chain, .. } = work.kernel;
    // Its tensors may be in another order.
    let known_there = (0_u16..).zip(&accesses.tensors).filter(|own| work.kernel.knows(&own.1.name)).map(|own| own.0).collect();
    let kernel = &Kernel {
        name: name.clone(),
        accesses,
        launch: launch.clone(),
        registers: *registers,
        kept: *kept,
        reused: *reused,
        local: *local,
        ops: ops.clone(),
        chain: *chain,
        known: known_there,
    };
    let mut left = 0;
    // Barriers may be left.
    kernel.accesses.each(&mut |_| left += 1);
    let mut report = match left == 0 && !never.is_empty() {
        true => nothing(kernel, on)?,
        false => of_canonical(
            &Work { kernel, points: work.points },
            on,
            settings,
            &Origin { numbers: &positions, known, form: form.as_deref() },
        )?,
    };
    // As the kernel was written.
    let declared = |field: &FieldVolumes| work.kernel.accesses.tensors.iter().position(|tensor| *tensor.name == *field.field);
    report.volumes.per_field.sort_by_key(declared);
    report.instructions.iter_mut().for_each(|own| own.access = positions[own.access]);
    report.instructions.sort_by_key(|own| own.access);
    if !settings.brief {
        report.provenance.extend(never_held(&work.kernel.accesses, &never));
        report.provenance.extend(work.kernel.accesses.outside().iter().map(ToString::to_string));
    }
    Ok(report)
}

/// What is to be said of accesses that never happen. One sentence for each field.
fn never_held(accesses: &Accesses, never: &[usize]) -> Vec<String> {
    let mut fields: Vec<u16> = Vec::new();
    accesses.each(&mut |access| fields.push(access.tensor));
    let of = |(i, tensor): (usize, &TensorUse)| {
        let own: Vec<String> = never.iter().filter(|&&at| usize::from(fields[at]) == i).map(usize::to_string).collect();
        let noun = if own.len() == 1 { "access" } else { "accesses" };
        (!own.is_empty()).then(|| format!("`{}`, {noun} {}: the condition never holds", tensor.name, own.join(", ")))
    };
    accesses.tensors.iter().enumerate().filter_map(of).collect()
}

/// A launch whose threads do nothing: what they would compute goes nowhere.
fn nothing(kernel: &Kernel, on: &Profile) -> Result<Report, NoEstimate> {
    let resident = occupancy(&Residency::of(on), taken(kernel, on), kernel.launch.group_size(), kernel.local)
        .map_err(|error| NoEstimate::CannotRun(error.to_string()))?;
    let why = || "nothing is executed: the condition never holds".to_owned();
    let nowhere = || Unknown::new("memory", why());
    let none = Some(0.0);
    let volumes = PointVolumes {
        l1_requested: none,
        l2_load_compulsory: none,
        l2_load: none,
        l2_store: none,
        dram_load_wave: none,
        dram_load: none,
        dram_store: none,
        ..PointVolumes::default()
    };
    Ok(Report {
        seconds: Seconds::ZERO,
        points_per_second: 0.0,
        effective: Effective::default(),
        interval: Interval { lo: Seconds::ZERO, hi: Seconds::ZERO, basis: why() },
        kind: None,
        span: [Seconds::ZERO; 2],
        bound: None,
        limiter: None,
        limits: vec![],
        parts: Parts { launch: None, fixed: vec![], moved: Err(nowhere()), life: Err(nowhere()), shared: None },
        l1_cycles_per_point: none,
        volumes,
        moved: Volumes::default(),
        instructions: vec![],
        occupancy: resident,
        waves: 0.0,
        tail_efficiency: 1.0,
        measured: vec![],
        provenance: vec![why()],
    })
}

/// Of a kernel in its one form, whose accesses go by these numbers.
fn of_canonical(work: &Work, on: &Profile, settings: &Settings, from: &Origin) -> Result<Report, NoEstimate> {
    let kernel = work.kernel;
    if work.points == 0 || kernel.launch.group_count() == 0 || kernel.launch.group_size() == 0 {
        return Err(NoEstimate::NotCovered("a launch of no points".to_owned()));
    }
    let resident = occupancy(&Residency::of(on), taken(kernel, on), kernel.launch.group_size(), kernel.local)
        .map_err(|error| NoEstimate::CannotRun(error.to_string()))?;
    match is_cpu(on) {
        true => cpu::report(work, on, settings, resident, from.numbers),
        false => gpu::report(work, on, settings, resident, from),
    }
}
