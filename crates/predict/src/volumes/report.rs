//! From a kernel's accesses to bytes per point, seconds and what limits them (paper 002).

use super::block::Instruction;
use super::count::{Exact, asked_of, loads, stores};
use super::cpu::is_cpu;
use super::cpu_report;
use super::dram::Cause;
use super::interval::range;
use super::measured::{Compared, Measured};
use super::speed::Speed;
use super::tlb;
use crate::time::{Counts, Limit, Parts, nothing_known, parts};
use std::borrow::Cow;
use warpsight_ir::accesses::{Canonical, Order};
use warpsight_ir::occupancy::{Occupancy, Residency, occupancy};
use warpsight_ir::profile::Fact;
use warpsight_ir::{Accesses, Bytes, Kernel, Limiter, NoEstimate, Profile, Seconds, TensorUse, Unknown, Volumes};

/// A launch and what it is good for.
#[derive(Clone, Copy, Debug)]
pub struct Work<'a> {
    /// The kernel.
    pub kernel: &'a Kernel,
    /// Points that the launch computes.
    pub points: u64,
}

/// What is known beside the kernel and the profile. Another number of the profile is another profile ([`Profile::with`]).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Settings {
    /// Replaces what would be predicted.
    pub measured: Option<Measured>,
    /// Which of a kernel's accesses happens first.
    pub order: Order,
    /// Leaves out what is said of a kernel in words that take long to find: how far it goes beyond its fields, which conditions are taken to
    /// hold. All numbers are there.
    pub brief: bool,
}

/// What a kernel costs on a device, predicted.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Of one launch.
    pub seconds: Seconds,
    /// Points per second.
    pub points_per_second: f64,
    /// Where the time is expected to lie.
    pub interval: Interval,
    /// The limiter with the longest time.
    pub limiter: Option<Limiter>,
    /// Seconds of each limiter alone, or which number is missing.
    pub limits: Vec<Limit>,
    /// What those seconds are made of, before fitted numbers enter.
    pub parts: Parts,
    /// Cycles of one core's first-level cache per point; `None` where no rule is known.
    pub l1_cycles_per_point: Option<f64>,
    /// Bytes per point.
    pub volumes: PointVolumes,
    /// Bytes of the launch, where they are known.
    pub moved: Volumes,
    /// Each access to memory, in program order.
    pub instructions: Vec<InstructionCost>,
    /// What a core holds at once.
    pub occupancy: Occupancy,
    /// How often the device is filled with blocks.
    pub waves: f64,
    /// Blocks of an average core over blocks of the busiest.
    pub tail_efficiency: f64,
    /// What [`Settings::measured`] replaced; all else is predicted.
    pub measured: Vec<Compared>,
    /// Where numbers come from that are neither counted nor the profile's, and what was left out.
    pub provenance: Vec<String>,
}

/// A range of times.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    /// Shortest.
    pub lo: Seconds,
    /// Longest.
    pub hi: Seconds,
    /// What makes it so wide.
    pub basis: String,
}

/// Bytes per point. `None` is unknown; the provenance says why.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PointVolumes {
    /// Distinct sectors of each load of each warp.
    pub l1_requested: Option<f64>,
    /// Distinct sectors of each block's loads.
    pub l2_load_compulsory: Option<f64>,
    /// From the second level to the first, repeated loads included.
    pub l2_load: Option<f64>,
    /// Distinct sectors of each store of each warp.
    pub l2_store: Option<f64>,
    /// Distinct pieces that a wave loads, as if nothing were left of earlier waves.
    pub dram_load_wave: Option<f64>,
    /// Loaded from memory.
    pub dram_load: Option<f64>,
    /// Stored to memory.
    pub dram_store: Option<f64>,
    /// Parts of the above by what causes them.
    pub by_cause: Vec<(String, f64)>,
    /// The same by field.
    pub per_field: Vec<FieldVolumes>,
}

/// Bytes per point of one field.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldVolumes {
    /// Its name.
    pub field: String,
    /// As in [`PointVolumes`].
    pub l1_requested: f64,
    /// As in [`PointVolumes`].
    pub l2_load_compulsory: f64,
    /// As in [`PointVolumes`].
    pub l2_store: f64,
    /// As in [`PointVolumes`].
    pub dram_load: Option<f64>,
    /// As in [`PointVolumes`].
    pub dram_store: Option<f64>,
}

/// What one access costs.
#[derive(Clone, Debug, PartialEq)]
pub struct InstructionCost {
    /// The field's name.
    pub field: String,
    /// Position among all accesses of the kernel, in program order; of the first where AMD's compilers make one of several neighbours.
    pub access: usize,
    /// Executions by warps.
    pub executions: u64,
    /// Wavefronts of the data pipe, a mean over executions; unknown of images, which go another way.
    pub wavefronts: Option<f64>,
}

/// Predicts one launch.
///
/// # Errors
/// [`NoEstimate::CannotRun`] where a block does not fit, [`NoEstimate::NotCovered`] for data-dependent loops,
/// [`NoEstimate::Missing`] where not even one limiter is known.
pub fn report(work: &Work, on: &Profile, settings: &Settings) -> Result<Report, NoEstimate> {
    let Canonical { accesses, positions, never, .. } = work.kernel.accesses.canonical(settings.order);
    let Kernel { name, launch, registers, local, ops, .. } = work.kernel;
    let kernel = &Kernel { name: name.clone(), accesses, launch: launch.clone(), registers: *registers, local: *local, ops: ops.clone() };
    let mut left = 0;
    // Barriers may be left.
    kernel.accesses.each(&mut |_| left += 1);
    let mut report = match left == 0 && !never.is_empty() {
        true => nothing(kernel, on)?,
        false => of_canonical(&Work { kernel, points: work.points }, on, settings, &positions)?,
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
    let resident = occupancy(&Residency::of(on), kernel.registers, kernel.launch.group_size(), kernel.local)
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
        interval: Interval { lo: Seconds::ZERO, hi: Seconds::ZERO, basis: why() },
        limiter: None,
        limits: vec![],
        parts: Parts { core: &[], launch: None, fixed: vec![], moved: Err(nowhere()), life: Err(nowhere()) },
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
fn of_canonical(work: &Work, on: &Profile, settings: &Settings, numbers: &[usize]) -> Result<Report, NoEstimate> {
    let kernel = work.kernel;
    if work.points == 0 || kernel.launch.group_count() == 0 || kernel.launch.group_size() == 0 {
        return Err(NoEstimate::NotCovered("a launch of no points".to_owned()));
    }
    let resident = occupancy(&Residency::of(on), kernel.registers, kernel.launch.group_size(), kernel.local)
        .map_err(|error| NoEstimate::CannotRun(error.to_string()))?;
    if is_cpu(on) {
        return cpu_report::report(work, on, settings, resident, numbers);
    }
    let mut notes = Vec::new();
    let exact = Exact::of(kernel, on, resident, numbers, (settings.brief, &mut notes))?;
    let points = work.points as f64;
    let has_llc = !matches!(on.memory.llc.bytes, Fact::Absent { .. });
    let mut counts = Cow::Borrowed(&exact.counts);
    let mut measured = settings.measured.map_or_else(Vec::new, |own| own.put_into(counts.to_mut(), points, has_llc));
    let mut parts = parts(&counts, on);
    parts.fixed.push((Limiter::Tlb, tlb::seconds(&exact.subject, exact.sizes.warp, &resident, on)));
    let speed = Speed::of(on);
    notes.push(format!("bandwidth and turnover of blocks: data/fits/bandwidth.toml, {}", speed.from.name()));
    let limits = parts.limits(&speed);
    let (seconds, limiter) = parts.together(&limits, &speed.shared).ok_or_else(|| nothing_known(&limits, on))?;
    if seconds.0 <= 0.0 {
        return Err(NoEstimate::NotCovered("a kernel that takes no time: neither accesses nor operations".to_owned()));
    }
    let (range, basis) = range(limiter, speed.from, on);
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
        interval: Interval { lo: seconds * range.lo.exp(), hi: seconds * range.hi.exp(), basis },
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
    let mut by_cause = vec![("l2_load: compulsory".to_owned(), each(exact.compulsory))];
    if let Ok(load) = &exact.counts.l2_load {
        by_cause.push(("l2_load: capacity".to_owned(), each(load - exact.compulsory)));
    }
    for &(cause, bytes) in predicted.iter().flat_map(|dram| &dram.by_cause) {
        let cause = match cause {
            Cause::Compulsory => "compulsory",
            Cause::WithinWave => "evicted within a wave",
            Cause::BetweenWaves => "evicted between waves",
            Cause::PartialStore => "read back for stores",
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
