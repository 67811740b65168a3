//! From a kernel's accesses to bytes per point, seconds and what limits them (paper 002).

use super::block::{Instruction, Sizes, block_uses, priced};
use super::cpu::is_cpu;
use super::cpu_report;
use super::dram::{Cause, Curve, Dram, Memory, Wave, dram};
use super::guards;
use super::images;
use super::interval::range;
use super::l1::{Rule, fused};
use super::l1_capacity::{Allocation, Room, l2_load};
use super::measured::{Compared, Measured};
use super::speed::Speed;
use super::subject::{Field, Subject, Touch};
use super::tlb;
use crate::time::{Counts, Limit, Parts, nothing_known, parts, waits};
use warpsight_ir::accesses::{Canonical, Order};
use warpsight_ir::occupancy::{Occupancy, Residency, occupancy};
use warpsight_ir::profile::Fact;
use warpsight_ir::{AccessKind, Accesses, Bytes, Kernel, Limiter, LoadPath, NoEstimate, Profile, Seconds, TensorUse, Unknown, Volumes};

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

/// Work-items of a block along z on every NVIDIA GPU (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability").
const DEEPEST_OF_NVIDIA: u32 = 64;

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
    let rule = Rule::of(on);
    if let Some(&deep) = kernel.launch.lanes.get(2).filter(|&&deep| deep > DEEPEST_OF_NVIDIA && matches!(rule, Ok(Rule::Nvidia { .. }))) {
        return Err(NoEstimate::CannotRun(format!("a block of {deep} work-items along z, of at most {DEEPEST_OF_NVIDIA}")));
    }
    let sizes = sizes(on, rule.as_ref().ok(), &mut notes)?;
    let mut subject = images::subject(kernel, on)?;
    subject.number(numbers);
    let price = |request: &super::block::Request| rule.as_ref().map_or(0.0, |rule| rule.cycles(request, sizes));
    let merged: Vec<Field>;
    let fields = if rule.as_ref().is_ok_and(|rule| rule.fuses()) {
        merged = subject.fields.iter().map(fused).collect();
        merged.as_slice()
    } else {
        subject.fields.as_slice()
    };
    let mut found = priced(&subject, fields, sizes, &price);
    let uses = block_uses(&subject, sizes);
    let banks = Sizes { banks: 32, ..sizes };
    let local: Vec<Instruction> = priced(&subject, &subject.local, banks, &|_| 0.0);
    let constant = priced(&subject, &subject.constant, banks, &different_words);

    let groups = kernel.launch.group_count();
    let sectors: Vec<f64> = subject.fields.iter().map(|field| f64::from(sizes.of(field).sector)).collect();
    let counted =
        |keep: fn(AccessKind) -> bool| -> f64 { found.iter().filter(|i| keep(i.kind)).map(|i| i.sectors as f64 * sectors[i.field]).sum() };
    let (requested, l2_store) = (counted(loads), counted(stores));
    let compulsory: f64 = uses.iter().zip(&sectors).map(|(own, sector)| own.loaded_sectors as f64 * sector).sum();
    // NVIDIA's local memory is cut from the first-level cache.
    let cut = if matches!(rule, Ok(Rule::Nvidia { .. })) { kernel.local.0 * f64::from(resident.groups) } else { 0.0 };
    let cores = on.execution.cores.known_as("execution.cores").copied();
    let room = Room { line: sizes.line.into(), cut };
    let l2_load = l2_load(on, &Allocation::of(&found, &uses, groups), room, (requested, compulsory)).map(|(bytes, remark)| {
        notes.extend(remark);
        bytes - images::kept(&subject, on, (&found, &uses), sizes, &resident, &mut notes)
    });
    let dram = behind_l2(&subject, on, sizes, &resident, &mut notes);
    if !settings.brief {
        remarks(&subject, &mut notes);
    }
    if let Some(most) = on.execution.max_registers.get().filter(|&&most| most < kernel.registers) {
        notes.push(format!("a work-item has at most {most} registers: what spills of {} is left out of all volumes", kernel.registers));
    }
    if !settings.brief {
        images::remarks(&subject, on, sizes, &mut notes);
    }

    let of = |image: bool| subject.fields.iter().filter(move |field| field.image.is_some() == image);
    let mut demand = Counts {
        kernel,
        asked: asked_of(&subject, of(false)),
        texels: of(true).next().map(|_| asked_of(&subject, of(true))),
        waits: waits(kernel, on),
        resident,
        warp: sizes.warp,
        l1: rule
            .as_ref()
            .map(|_| found.iter().filter(|i| subject.fields[i.field].image.is_none()).fold(0.0, |sum, i| sum + i.price))
            .map_err(Clone::clone),
        local: local.iter().map(|i| i.wavefronts).sum::<u64>() as f64,
        instructions: found.iter().chain(&local).map(|i| i.executions).sum::<u64>() as f64,
        replays: constant.iter().map(|i| i.price).sum::<f64>().floor(),
        conditions: guards::conditions(&subject, &found),
        requested,
        l2_load: l2_load.clone(),
        l2_store,
        dram,
    };
    let points = work.points as f64;
    let predicted = demand.dram.clone().ok();
    let has_llc = !matches!(on.memory.llc.bytes, Fact::Absent { .. });
    let mut measured = settings.measured.map_or_else(Vec::new, |own| own.put_into(&mut demand, points, has_llc));
    let mut parts = parts(&demand, on);
    parts.fixed.push((Limiter::Tlb, tlb::seconds(&subject, sizes.warp, &resident, on)));
    let speed = Speed::of(on);
    notes.push(format!("bandwidth and turnover of blocks: data/fits/bandwidth.toml, {}", speed.from.name()));
    let limits = parts.limits(&speed);
    let Some((seconds, limiter)) = parts.together(&limits, &speed.shared) else {
        return Err(nothing_known(&limits, on));
    };
    if seconds.0 <= 0.0 {
        return Err(NoEstimate::NotCovered("a kernel that takes no time: neither accesses nor operations".to_owned()));
    }
    let (range, basis) = range(limiter, speed.from, on);
    for (limiter, limit) in &limits {
        if let Err(reason) = limit {
            notes.push(format!("{} is unknown: {reason}", limiter.name()));
        }
    }
    if let (Err(reason), false) = (&demand.l1, limits.iter().any(|limit| limit.0 == Limiter::L1 && limit.1.is_err())) {
        notes.push(format!("l1_cycles_per_point is unknown: {reason}"));
    }

    if let Some(taken) = settings.measured.and_then(|own| own.seconds) {
        measured.push(Compared { what: "seconds", measured: taken.0, predicted: Some(seconds.0) });
    }
    if !measured.is_empty() {
        notes.extend(measured.iter().map(Compared::note));
        notes.push("what is not named as measured is predicted, volumes by cause and by field among it".to_owned());
    }

    let each = |bytes: f64| bytes / points;
    let per_field = subject.fields.iter().enumerate().map(|(i, field)| {
        let own = |keep: fn(AccessKind) -> bool| {
            found.iter().filter(|at| at.field == i && keep(at.kind)).map(|at| at.sectors).sum::<u64>() as f64 * sectors[i]
        };
        FieldVolumes {
            field: field.name.to_string(),
            l1_requested: each(own(loads)),
            l2_load_compulsory: each(uses[i].loaded_sectors as f64 * sectors[i]),
            l2_store: each(own(stores)),
            dram_load: predicted.as_ref().map(|dram| each(dram.per_field[i].1)),
            dram_store: predicted.as_ref().map(|dram| each(dram.per_field[i].2)),
        }
    });
    let mut by_cause = vec![("l2_load: compulsory".to_owned(), each(compulsory))];
    if let Ok(load) = &l2_load {
        by_cause.push(("l2_load: capacity".to_owned(), each(load - compulsory)));
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
    let dram = demand.dram.as_ref().ok();
    let volumes = PointVolumes {
        l1_requested: Some(each(demand.requested)),
        l2_load_compulsory: Some(each(compulsory)),
        l2_load: demand.l2_load.as_ref().ok().map(|bytes| each(*bytes)),
        l2_store: Some(each(demand.l2_store)),
        dram_load_wave: predicted.as_ref().map(|dram| each(dram.load_wave)),
        dram_load: dram.map(|dram| each(dram.load)),
        dram_store: dram.map(|dram| each(dram.store)),
        per_field: per_field.collect(),
        by_cause,
    };
    let moved = Volumes {
        texture: Bytes(demand.texels.unwrap_or(0.0)),
        l1: Bytes(demand.requested),
        l2: Bytes(demand.l2_load.as_ref().map_or(0.0, |load| load + demand.l2_store)),
        dram: Bytes(dram.map_or(0.0, |dram| dram.load + dram.store)),
        local: Bytes(asked_of(&subject, &subject.local)),
    };
    let l1_cycles_per_point = demand.l1.as_ref().ok().map(|cycles: &f64| each(*cycles));
    found.sort_by_key(|i| i.position);
    let cost = |i: &Instruction| InstructionCost {
        field: subject.fields[i.field].name.to_string(),
        access: i.position,
        executions: i.executions,
        wavefronts: subject.fields[i.field].image.is_none().then(|| i.wavefronts as f64 / i.executions.max(1) as f64),
    };
    let waves = cores.as_ref().map_or(1.0, |&cores| groups as f64 / (f64::from(cores) * f64::from(resident.groups)));
    let share = cores.map_or(1.0, |cores| groups as f64 / f64::from(cores));
    Ok(Report {
        seconds,
        points_per_second: points / seconds.0,
        interval: Interval { lo: seconds * range.lo.exp(), hi: seconds * range.hi.exp(), basis },
        limiter: Some(limiter),
        limits,
        parts,
        l1_cycles_per_point,
        volumes,
        moved,
        instructions: found.iter().map(cost).collect(),
        occupancy: resident,
        waves,
        tail_efficiency: share / share.ceil(),
        measured,
        provenance: notes,
    })
}

/// Bytes that lanes ask for, over the launch.
fn asked_of<'f>(subject: &Subject, fields: impl IntoIterator<Item = &'f Field>) -> f64 {
    // Accesses share their conditions.
    let mut known: Vec<(&Touch, f64)> = Vec::new();
    let mut lanes = |touch: &'f Touch| {
        let alike = |(other, _): &&(&Touch, f64)| other.guard == touch.guard && other.loops == touch.loops;
        known.iter().find(alike).map(|own| own.1).unwrap_or_else(|| {
            known.push((touch, images::lanes(subject, touch)));
            known[known.len() - 1].1
        })
    };
    let mut own = |field: &'f Field| field.touches.iter().map(|touch| lanes(touch) * touch.width as f64).sum::<f64>();
    fields.into_iter().fold(0.0, |sum, field| sum + own(field) * field.geometry.element as f64)
}

fn loads(kind: AccessKind) -> bool {
    !matches!(kind, AccessKind::Store(_))
}

fn stores(kind: AccessKind) -> bool {
    !matches!(kind, AccessKind::Load)
}

/// Sizes of the first level; where it has no sectors its lines, and where a level is missing the next one's.
fn sizes(on: &Profile, rule: Option<&Rule>, notes: &mut Vec<String>) -> Result<Sizes, NoEstimate> {
    let m = &on.memory;
    let bytes = |fact: &Fact<Bytes>| fact.get().map(|bytes| bytes.0 as u32).filter(|&bytes| bytes >= 4);
    let line = bytes(&m.buffer_l1.line).or(bytes(&m.l2.line));
    let sector = bytes(&m.sector).or(line);
    let (Some(line), Some(sector)) = (line, sector) else {
        return Err(Unknown::new("memory.buffer_l1.line", "nor does the profile know the lines of the second level").of(on));
    };
    if m.sector.get().is_none() {
        notes.push(format!("memory.sector is not known: taken for a line of {line} B"));
    }
    let warp = on.execution.warp.need(on, "execution.warp")?;
    Ok(Sizes { warp, sector, line, banks: rule.map_or(32, |rule| rule.banks()), texture: images::own_line(on) })
}

/// What the launch moves between the second-level cache and memory.
fn behind_l2(subject: &Subject, on: &Profile, sizes: Sizes, resident: &Occupancy, notes: &mut Vec<String>) -> Result<Dram, Unknown> {
    let m = &on.memory;
    let instances = f64::from(m.l2.instances.get().copied().unwrap_or(1));
    let whole = || m.l2.bytes.known_as("memory.l2.bytes").map(|bytes| bytes.0 * instances);
    let l2_effective = m.l2_effective.get().map_or_else(whole, |bytes| Ok(bytes.0))?;
    let fetch = m.dram_fetch.get().map_or(sizes.sector, |bytes| bytes.0 as u32);
    let last_level = m.llc.bytes.get().map(|bytes| bytes.0 * f64::from(m.llc.instances.get().copied().unwrap_or(1)));
    let memory = Memory { fetch, write: sizes.sector, l2_effective, last_level };
    let cores = on.execution.cores.known_as("execution.cores")?;
    let wave = Wave { blocks: u64::from(*cores) * u64::from(resident.groups) };
    // The architecture of the recordings that the curve was fitted to.
    let fitted = Curve::fitted(if ["mi210", "mi250x"].contains(&on.name.as_str()) { "cdna2" } else { "none" });
    notes.push(format!(
        "dram: the curve of data/fits/dram.toml, {}; loads beyond those of a wave are off by {:.0} % (one standard deviation)",
        if fitted.pooled { "pooled, for want of recordings of this architecture" } else { "fitted to this architecture" },
        100.0 * fitted.error
    ));
    Ok(dram(subject, &memory, &wave, &fitted.curve))
}

/// Executions that a load of constants needs beyond an operand of arithmetic, which one value for all lanes is.
fn different_words(request: &super::block::Request) -> f64 {
    let mut words: Vec<i64> = request.offsets.iter().map(|offset| (request.begin + offset).div_euclid(4)).collect();
    words.sort_unstable();
    words.dedup();
    if words.len() > 1 { words.len() as f64 } else { 0.0 }
}

/// What the numbers take for granted.
fn remarks(subject: &Subject, notes: &mut Vec<String>) {
    notes.extend(guards::taken_to_hold(subject));
    notes.extend(guards::taken_to_hold_behind_l2(subject));
    if subject.fields.iter().flat_map(|field| &field.touches).any(|touch| touch.path == LoadPath::ReadOnly) {
        notes.push("loads through the read-only path are taken for ordinary loads".to_owned());
    }
    for (field, touch) in subject.fields.iter().flat_map(|field| field.touches.iter().map(move |touch| (field, touch))) {
        if let Some(spread) = touch.spread {
            notes.push(format!("`{}`, access {}: one typical address of {spread} stands for all", field.name, touch.number));
        }
    }
}
