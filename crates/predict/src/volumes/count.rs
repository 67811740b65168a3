//! The exact count of what a launch asks for (paper 002): its accesses warp by warp, block by block and wave by wave.

use super::behind::dram::{Between, Cause, Dram, Memory, Wave, dram};
use super::behind::drawn::add as drawn_behind_l2;
use super::behind::spilled::Spilled;
use super::behind::steps;
use super::first_level::amd::fused;
use super::first_level::atomics::{self, Contended};
use super::first_level::block::{block_uses, priced};
use super::first_level::branches;
use super::first_level::costs::{BlockUse, Instruction, Request, Sizes};
use super::first_level::drawn;
use super::first_level::earlier;
use super::first_level::images;
use super::first_level::l1::Rule;
use super::first_level::l1_capacity::{Allocation, Room, effective, l2_load};
use super::first_level::read_only::Factor;
use super::first_level::trips::walks;
use super::first_level::warps::Asked;
use super::first_level::{banks, local};
use super::fitted::caches::Caches;
use super::fitted::curve::Fitted;
use super::form::Form;
use super::guards;
use super::kernel::gathers::Gather;
use super::kernel::lanes;
use super::kernel::subject::{Field, Side, Subject, Touch};
use super::known::Known;
use crate::texture::{self, Fetch, Images};
use crate::time::{Counts, waits};
use std::collections::HashSet;
use std::rc::Rc;
use warpsight_ir::occupancy::Occupancy;
use warpsight_ir::profile::Fact;
use warpsight_ir::{AccessKind, Bytes, Indirect, Kernel, LoadPath, Meanwhile, NoEstimate, Profile, StorePolicy, Unknown};

/// Work-items of a block along z on every NVIDIA GPU (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability").
const DEEPEST_OF_NVIDIA: u32 = 64;

/// What a launch asks for, counted exactly.
pub struct Exact<'k> {
    /// Its fields and variables.
    pub subject: Subject,
    /// What the time model takes.
    pub counts: Counts<'k>,
    /// What each access to memory that is neither local nor constant costs.
    pub accesses: Vec<Instruction>,
    /// What each access to local memory costs.
    pub shared: Vec<Instruction>,
    /// Distinct sectors of blocks, for each field.
    pub uses: Vec<BlockUse>,
    /// Bytes of a sector of each field.
    pub sectors: Vec<f64>,
    /// Bytes that the second level has to send whatever the first one keeps.
    pub compulsory: f64,
    /// Lines and warps.
    pub sizes: Sizes,
    /// Cycles of the first level that loads through the read-only path would take as ordinary ones, and what becomes of them.
    pub read_only: Option<(f64, Factor)>,
    /// How atomics wait for each other.
    pub contended: Contended,
    /// Bytes that images ask for of a cache beside that of buffers, and of these from the second level.
    pub beside: Option<(f64, f64)>,
}

/// Where a kernel in its one form comes from.
pub struct Origin<'a> {
    /// The numbers that its accesses go by.
    pub numbers: &'a [usize],
    /// What is known of kernels like it.
    pub known: &'a Rc<Known>,
    /// The first of these whose form differs from its own in sizes alone, if there are others.
    pub(super) form: Option<&'a Form>,
}

impl Origin<'_> {
    fn subject(&self, kernel: &Kernel, on: &Profile) -> Result<Subject, NoEstimate> {
        if let Some(known) = self.form.and_then(|form| form.subject.get()).and_then(|like| like.resized(kernel)) {
            return Ok(known);
        }
        let mut subject = images::subject(kernel, on)?.knowing(self.known);
        subject.number(self.numbers);
        if let Some(form) = self.form {
            form.subject.get_or_init(|| subject.clone());
        }
        Ok(subject)
    }
}

impl<'k> Exact<'k> {
    /// Of a kernel in its one form, whose accesses go by these numbers. Says in `notes` what the numbers take for granted; what takes long to
    /// find is not said where that shall be `brief`.
    ///
    /// # Errors
    /// A kernel that cannot run there or cannot be counted, or a profile without lines and warps.
    pub fn of(
        kernel: &'k Kernel,
        on: &Profile,
        resident: Occupancy,
        from: &Origin,
        (caches, meanwhile): (&Caches, Meanwhile),
        (brief, notes): (bool, &mut Vec<String>),
    ) -> Result<Self, NoEstimate> {
        let rule = Rule::of(on);
        let nvidia = matches!(rule, Ok(Rule::Nvidia { .. }));
        if let Some(&deep) = kernel.launch.lanes.get(2).filter(|&&deep| nvidia && deep > DEEPEST_OF_NVIDIA) {
            return Err(NoEstimate::CannotRun(format!("a block of {deep} work-items along z, of at most {DEEPEST_OF_NVIDIA}")));
        }
        let sizes = sizes(on, rule.as_ref().ok(), notes)?;
        let subject = from.subject(kernel, on)?;
        let price = |request: &Request| rule.as_ref().map_or(0.0, |rule| rule.cycles(request, sizes));
        let merged: Vec<Field>;
        let fields = if rule.as_ref().is_ok_and(|rule| rule.fuses()) {
            merged = subject.fields.iter().map(fused).collect();
            merged.as_slice()
        } else {
            subject.fields.as_slice()
        };
        let found = priced(&subject, fields, sizes, (Asked::Cycles, &price));
        let uses = block_uses(&subject, sizes);
        let banks = Sizes { banks: banks::banks(on), ..sizes };
        let turns = subject.local.iter().flat_map(Field::all).any(|touch| touch.kind == AccessKind::Atomic);
        let shared: Vec<Instruction> = match turns {
            true => priced(&subject, &subject.local, banks, (Asked::Turns, &|own: &Request| atomics::in_turn(own, banks.banks))),
            false if rule.is_err() => {
                priced(&subject, &subject.local, banks, (Asked::Passes, &|own: &Request| local::banked(own, banks.banks)))
            }
            false => priced(&subject, &subject.local, banks, (Asked::Passes, &local::passes)),
        };
        let constant = priced(&subject, &subject.constant, banks, (Asked::Replays, &different_words));

        let sectors: Vec<f64> = subject.fields.iter().map(|field| f64::from(sizes.of(field).sector)).collect();
        let counted = |keep: fn(AccessKind) -> bool| -> f64 {
            found.iter().filter(|i| keep(i.kind)).fold(0.0, |sum, i| sum + i.sectors as f64 * sectors[i.field])
        };
        let (requested, l2_store) = (counted(loads), counted(stores));
        // Atomics pass the first level by.
        let sectors_of =
            |field: usize, kind: AccessKind| found.iter().filter(|i| i.field == field && i.kind == kind).map(|i| i.sectors).sum::<u64>();
        let compulsory = |field: usize| {
            let atomics = sectors_of(field, AccessKind::Atomic);
            let loads = if atomics == 0 { u64::MAX } else { sectors_of(field, AccessKind::Load) };
            (uses[field].loaded_sectors.min(loads) + atomics) as f64 * sectors[field]
        };
        let each_compulsory: Vec<f64> = (0..sectors.len()).map(compulsory).collect();
        let compulsory: f64 = each_compulsory.iter().sum();
        // NVIDIA's local memory is cut from the first-level cache.
        let room = Room { line: sizes.line.into(), cut: if nvidia { kernel.local.0 * f64::from(resident.groups) } else { 0.0 } };
        let groups = kernel.launch.group_count() as f64;
        let drawn_loads = Gather::all(&subject, Side::Loads);
        let drawn_loads = drawn_loads.iter().filter(|own| own.1.touch.kind == AccessKind::Load);
        let asked = drawn_loads.map(|own| groups * own.1.drawing(sizes.sector.into()).step).sum::<f64>();
        let asked = asked * f64::from(sizes.sector);
        let kept = drawn::kept(&subject, on, sizes, (room.cut, (compulsory - asked).max(0.0) / groups), notes);
        let left = if asked > 0.0 { kept / asked } else { 0.0 };
        let followed = followed(kernel, on, (&subject, &found), sizes, &resident);
        let kept_by_textures = match &followed {
            Some(own) => own.bytes[0] - own.bytes[1],
            None => images::kept(&subject, on, (&found, &uses), sizes, &resident, notes),
        };
        let beside = images::beside_buffers(on);
        // Of it what images load through a cache of their own.
        let mut by_images = 0.0;
        let l2_load = effective(on, caches, room).map(|effective| {
            let bytes = effective.map_or(requested, |effective| {
                let (mut bytes, mut again) = (0.0, 0.0);
                for walk in walks(&subject, &uses, sizes, beside.is_some()) {
                    let allocation = Allocation::of(&found, &uses, kernel.launch.group_count(), &walk);
                    let own = found.iter().filter(|i| loads(i.kind) && walk.fields.contains(&i.field));
                    let requested = own.fold(0.0, |sum, i| sum + i.sectors as f64 * sectors[i.field]);
                    let compulsory = walk.fields.iter().map(|&field| each_compulsory[field]).sum();
                    let cache = beside.filter(|_| walk.images).map_or(effective, |bytes| caches.first(on) * bytes);
                    let texture = on.memory.texture_l1.line.get().map(|line| line.0);
                    let line = texture.filter(|_| beside.is_some() && walk.images).unwrap_or(room.line);
                    let (own, remark) = l2_load(&allocation, (cache, line), (requested, compulsory));
                    bytes += own;
                    *(if walk.images { &mut by_images } else { &mut again }) += own;
                    again -= if walk.images { 0.0 } else { compulsory };
                    notes.push(remark);
                }
                let launch = earlier::Launch {
                    subject: &subject,
                    uses: &uses,
                    sectors: &sectors,
                    line: room.line,
                    beside: beside.is_some(),
                    again: again / groups,
                    cores: on.execution.cores.get().map_or(1.0, |&cores| f64::from(cores)),
                    effective,
                };
                let found = launch.kept();
                if found > 0.0 {
                    let part = 100.0 * found / compulsory.max(1.0);
                    notes.push(format!(
                        "l2_load: {part:.1} % of what blocks load is left in the first level by earlier blocks of their core"
                    ));
                }
                bytes - found
            });
            bytes - kept - kept_by_textures
        });
        let asked = found.iter().filter(|i| subject.fields[i.field].image.is_some() && loads(i.kind));
        let beside = beside.map(|_| (asked.map(|i| i.sectors as f64 * sectors[i.field]).sum(), by_images));
        let contended = atomics::contended(&subject, sizes, notes);
        let read_only = read_only(&subject, &found, on, notes);
        let spilled = Spilled::of(kernel, on, &resident);
        if spilled.stored > 0.0 {
            let what = match nvidia {
                true => format!("the {} words that it computes with", kernel.registers),
                false => format!("the {} words that it loads for several points", kernel.reused.words),
            };
            notes.push(format!(
                "a work-item has no registers for all of {what}: {:.3e} bytes are stored, {:.3e} loaded again",
                spilled.stored, spilled.loaded
            ));
        }
        let dram = behind_l2(&subject, (on, caches, Between::of(kernel, &subject, meanwhile)), sizes, (&resident, left, spilled), notes)
            .map(|dram| written_through(dram, &subject, &found, &sectors));
        if !brief {
            remarks(&subject, notes);
        }
        if let Some(most) = on.execution.max_registers.get().filter(|&&most| most < kernel.registers && spilled.stored == 0.0) {
            notes.push(format!("a work-item has at most {most} registers: what spills of {} is left out of all volumes", kernel.registers));
        }
        if !brief {
            images::remarks(&subject, on, sizes, notes);
        }
        let of = |image: bool| subject.fields.iter().filter(move |field| field.image.is_some() == image);
        let followed = followed.map(|own| match &dram {
            Ok(dram) => {
                let loaded = dram.per_field.iter().zip(&subject.fields).filter(|own| own.1.image.is_some()).map(|own| own.0.1);
                Images { bytes: [own.bytes[0], own.bytes[1], loaded.sum::<f64>().min(dram.load)], ..own }
            }
            Err(_) => own,
        });
        if followed.is_none() && subject.fields.iter().any(|field| field.image.is_some()) {
            notes.push("texture: fetches are taken for loads of the first level, because the profile has no fit of them".to_owned());
        }
        let counts = Counts {
            kernel,
            asked: asked_of(&subject, of(false)),
            texels: of(true).next().map(|_| asked_of(&subject, of(true))),
            waits: waits(kernel, on),
            images: followed,
            resident,
            warp: sizes.warp,
            l1: rule.as_ref().map_err(Clone::clone).map(|_| {
                let own = found.iter().filter(|i| subject.fields[i.field].image.is_none()).fold(0.0, |sum, i| sum + i.price);
                own + branches::cycles(&subject, &found, on, sizes.warp)
                    + spilled.cycles(on)
                    + read_only.map_or(0.0, |(cycles, factor)| cycles * (factor.typical - 1.0))
            }),
            local: shared.iter().map(|i| local::cycles(i, rule.as_ref().ok(), sizes.warp)).sum::<f64>(),
            instructions: found.iter().chain(&shared).map(|i| i.executions).sum::<u64>() as f64,
            replays: constant.iter().map(|i| i.price).sum::<f64>().floor(),
            conditions: guards::conditions(&subject, &found),
            requested,
            lines: {
                let buffers = found.iter().filter(|i| subject.fields[i.field].image.is_none() && loads(i.kind));
                buffers.map(|i| i.sectors as f64 * sectors[i.field]).sum()
            },
            l2_load: l2_load.map(|bytes| bytes + spilled.loaded),
            l2_store: l2_store + spilled.stored,
            contended: contended.clocks,
            dram,
        };
        Ok(Self { subject, counts, accesses: found, shared, uses, sectors, compulsory, sizes, read_only, contended, beside })
    }

    /// Bytes that loads, or stores, of a field ask the first level for.
    pub fn requested(&self, field: usize, keep: fn(AccessKind) -> bool) -> f64 {
        self.accesses.iter().filter(|at| at.field == field && keep(at.kind)).map(|at| at.sectors).sum::<u64>() as f64 * self.sectors[field]
    }
}

/// What texture units do, by following warps that share one; what comes from memory is still to be counted. `None` where images have no cache of
/// their own or fetches were not fitted.
fn followed(
    kernel: &Kernel,
    on: &Profile,
    (subject, found): (&Subject, &[Instruction]),
    sizes: Sizes,
    resident: &Occupancy,
) -> Option<Images> {
    let line = f64::from(sizes.texture?);
    let own = texture::found(kernel, on, resident)?;
    let images = || found.iter().filter(|i| subject.fields[i.field].tiled().is_some() && i.kind == AccessKind::Load);
    let fetches = images().map(|i| i.executions).sum::<u64>() as f64;
    let asked = images().map(|i| i.sectors).sum::<u64>() as f64 * line;
    let missed = if own.asked > 0.0 { asked * own.missed / own.asked } else { 0.0 };
    let fetch = Fetch::of(kernel, on)?;
    Some(Images { fetch, fetches, lines: own.missed, any: own.any, bytes: [asked, missed, 0.0], runs: texture::runs(kernel) })
}

/// Bytes that lanes ask for, over the launch.
pub fn asked_of<'f>(subject: &Subject, fields: impl IntoIterator<Item = &'f Field>) -> f64 {
    // Accesses share their conditions.
    let mut known: Vec<(&Touch, f64)> = Vec::new();
    let mut lanes = |touch: &'f Touch| {
        let alike = |(other, _): &&(&Touch, f64)| other.guard == touch.guard && other.loops == touch.loops;
        known.iter().find(alike).map(|own| own.1).unwrap_or_else(|| {
            known.push((touch, lanes::executing(subject, touch)));
            known[known.len() - 1].1
        })
    };
    let mut own = |field: &'f Field| field.all().map(|touch| lanes(touch) * touch.width as f64).sum::<f64>();
    fields.into_iter().fold(0.0, |sum, field| sum + own(field) * field.geometry.element as f64)
}

/// What is loaded; atomics are both.
pub fn loads(kind: AccessKind) -> bool {
    !matches!(kind, AccessKind::Store(_))
}

/// What is stored; atomics are both.
pub fn stores(kind: AccessKind) -> bool {
    !matches!(kind, AccessKind::Load)
}

/// Sizes of the first level; where it has no sectors its lines, and where a level is missing the next one's.
fn sizes(on: &Profile, rule: Option<&Rule>, notes: &mut Vec<String>) -> Result<Sizes, NoEstimate> {
    let m = &on.memory;
    let bytes = |fact: &Fact<Bytes>| fact.get().map(|bytes| bytes.0 as u32).filter(|&bytes| bytes >= 4);
    let line = bytes(&m.buffer_l1.line).or(bytes(&m.l2.line));
    let sector = bytes(&m.sector).map(|sector| asked_at_once(on).map_or(sector, |most| sector.min(most as u32))).or(line);
    let (Some(line), Some(sector)) = (line, sector) else {
        return Err(Unknown::new("memory.buffer_l1.line", "nor does the profile know the lines of the second level").of(on));
    };
    if m.sector.get().is_none() {
        notes.push(format!("memory.sector is not known: taken for a line of {line} B"));
    }
    let warp = on.execution.warp.need(on, "execution.warp")?;
    Ok(Sizes { warp, sector, line, banks: rule.map_or(32, |rule| rule.banks()), texture: images::own_line(on) })
}

/// Bytes that buffers ask the second level for at once where they have no first one, at most: what texture caches are filled by. Walks show by how
/// much the second level is filled, and nothing smaller.
pub fn asked_at_once(on: &Profile) -> Option<f64> {
    let apart = matches!(on.memory.buffer_l1.bytes, Fact::Absent { .. });
    on.memory.texture_l1.line.get().filter(|_| apart).map(|line| line.0)
}

/// What the launch moves between the second-level cache and memory.
fn behind_l2(
    subject: &Subject,
    (on, caches, between): (&Profile, &Caches, Between),
    sizes: Sizes,
    (resident, left, spilled): (&Occupancy, f64, Spilled),
    notes: &mut Vec<String>,
) -> Result<Dram, Unknown> {
    let m = &on.memory;
    let instances = f64::from(m.l2.instances.get().copied().unwrap_or(1));
    let whole = m.l2.bytes.known_as("memory.l2.bytes").map(|bytes| bytes.0 * instances);
    let l2_effective = match m.l2_effective.get() {
        Some(bytes) => bytes.0,
        None => caches.effective(on, whole?),
    };
    let fetch = m.dram_fetch.get().map_or(sizes.sector, |bytes| bytes.0 as u32);
    let last_level = m.llc.bytes.get().map(|bytes| bytes.0 * f64::from(m.llc.instances.get().copied().unwrap_or(1)));
    let last_level = last_level.map(|bytes| (bytes, caches.last(on)));
    // A cache gives back what it is filled by, however little of it was stored.
    let write = m.sector.get().map_or(sizes.sector, |bytes| bytes.0 as u32);
    let memory = Memory { fetch, write, l2_effective, last_level, between };
    let cores = on.execution.cores.known_as("execution.cores")?;
    let wave = Wave { blocks: u64::from(*cores) * u64::from(resident.groups) };
    let fitted = caches.second(on);
    notes.push(format!(
        "dram: {}; loads beyond those of a wave are off by {:.0} % (one standard deviation)",
        match fitted {
            Fitted { swept: true, .. } =>
                "the curve of data/fits/caches.toml, fitted to sweeps of caches of this kind; how blocks live from data/fits/dram.toml",
            Fitted { pooled: true, .. } => "the curve of data/fits/dram.toml, pooled, for want of recordings of this architecture",
            Fitted { .. } => "the curve of data/fits/dram.toml, fitted to this architecture",
        },
        100.0 * fitted.error
    ));
    let in_step = steps::in_step(on);
    let mut dram = if in_step { steps::dram } else { dram }(subject, &memory, &wave, &fitted.curve);
    if in_step {
        notes.push("dram: blocks of a wave are taken to run in step".to_owned());
    }
    if !in_step && dram.by_cause.iter().any(|cause| cause.0 == Cause::PartialStore) {
        notes.push(
            "dram: lines that stores fill in part are gone as often as the published curve of data/fits/waves.toml says, measured on A100"
                .to_owned(),
        );
    }
    spilled.behind_l2(&mut dram, &memory, &fitted.curve);
    let copied = Caches::drawn(on, l2_effective);
    drawn_behind_l2(&mut dram, subject, &Memory { l2_effective: copied, ..memory }, left);
    Ok(dram)
}

/// With what stores write through all caches: each request for itself, however often a line is written.
fn written_through(mut dram: Dram, subject: &Subject, found: &[Instruction], sectors: &[f64]) -> Dram {
    for (i, (field, own)) in subject.fields.iter().zip(&mut dram.per_field).enumerate() {
        let through = |i: &&Instruction| i.kind == AccessKind::Store(StorePolicy::WriteThrough);
        let written = found.iter().filter(|own| own.field == i).filter(through).map(|i| i.sectors).sum::<u64>() as f64 * sectors[i];
        // Of a field that is stored in other ways, too, what these write is not told apart.
        let mut stores = field.all().filter(|touch| Side::Stores.has(touch.kind));
        if stores.all(|touch| touch.kind == AccessKind::Store(StorePolicy::WriteThrough)) && written > own.2 {
            dram.store += written - own.2;
            own.2 = written;
        }
    }
    dram
}

/// Executions that a load of constants needs beyond an operand of arithmetic, which one value for all lanes is.
fn different_words(request: &Request) -> f64 {
    let mut words: Vec<i64> = request.offsets.iter().map(|offset| (request.begin + offset).div_euclid(4)).collect();
    words.sort_unstable();
    words.dedup();
    if words.len() > 1 { words.len() as f64 } else { 0.0 }
}

/// Cycles of loads through the read-only path, and what becomes of them; `None` without such loads, or where they are as others.
fn read_only(subject: &Subject, found: &[Instruction], on: &Profile, notes: &mut Vec<String>) -> Option<(f64, Factor)> {
    let touches = || subject.fields.iter().flat_map(Field::all).filter(|touch| touch.path == LoadPath::ReadOnly);
    touches().next()?;
    let Some(factor) = Factor::of(on) else {
        notes.push("loads through the read-only path are taken for ordinary loads: this device has no such path of its own".to_owned());
        return None;
    };
    let positions: HashSet<usize> = touches().filter(|touch| touch.kind == AccessKind::Load).map(|touch| touch.position).collect();
    notes.push(factor.said());
    Some((found.iter().filter(|i| positions.contains(&i.position)).fold(0.0, |sum, i| sum + i.price), factor))
}

/// What the numbers take for granted.
fn remarks(subject: &Subject, notes: &mut Vec<String>) {
    notes.extend(guards::taken_to_hold(subject));
    notes.extend(guards::taken_to_hold_behind_l2(subject));
    for (field, touch) in subject.fields.iter().flat_map(|field| field.touches.iter().map(move |touch| (field, touch))) {
        if let Some(own) = touch.indirect.filter(Indirect::unknown) {
            let spread = own.elements;
            notes.push(format!("`{}`, access {}: one typical address of {spread} stands for all", field.name, touch.number));
        }
    }
}
