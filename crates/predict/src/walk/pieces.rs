//! A warp's life as pieces: what is loaded together, and what follows from it.

use super::turns::{Turn, UNITS, Unit};
use crate::texture::Images;
use crate::volumes::count::{Exact, loads};
use crate::volumes::first_level::costs::Instruction;
use crate::volumes::first_level::local;
use crate::volumes::kernel::lanes;
use crate::volumes::kernel::subject::Touch;
use warpsight_ir::profile::Fact;
use warpsight_ir::{AccessKind, Nest, Profile};

/// One straight piece of a warp's life, or a barrier.
#[derive(Clone, Debug, Default)]
pub struct Piece {
    /// Instructions of memory.
    executed: f64,
    /// What loads and stores ask units for, in bytes, local memory in passes.
    loaded: [f64; UNITS],
    stored: [f64; UNITS],
    /// Cycles and seconds from a unit to registers, of buffers and texels, where nobody else is in the way.
    waits: [(f64, f64); 2],
    /// Whether warps meet here.
    meets: bool,
    /// Whether what it loads is not waited for before they do.
    ahead: bool,
}

/// The order of pieces.
#[derive(Clone, Debug)]
enum Item {
    Piece(usize),
    Loop(u32, Vec<Item>),
}

/// All pieces of a warp's life.
#[derive(Clone, Debug)]
pub struct Pieces {
    pub all: Vec<Piece>,
    order: Vec<Item>,
    /// Executions of pieces by a warp.
    pub number: f64,
    /// Instructions of memory, and what units are asked for, by the launch.
    pub executed: f64,
    pub asked: [f64; UNITS],
}

impl Pieces {
    /// Of a launch of so many warps.
    pub fn of(exact: &Exact, on: &Profile, warps: f64) -> Option<Self> {
        let mut builder = Builder { exact, device: Device::of(exact, on)?, warps, position: 0, pieces: vec![] };
        let order = builder.sequence(&exact.counts.kernel.accesses.nest, 1.0)?;
        let pieces = &builder.pieces;
        let sum = |of: &dyn Fn(&Piece) -> f64| pieces.iter().map(|(own, times)| warps * times * of(own)).sum::<f64>();
        let executed = sum(&|own| own.executed);
        let asked = std::array::from_fn(|unit| sum(&|own| own.loaded[unit] + own.stored[unit]));
        let number = pieces.iter().map(|own| own.1).sum();
        (executed > 0.0).then(|| Self { order, number, executed, asked, all: builder.pieces.into_iter().map(|own| own.0).collect() })
    }

    /// The pieces one after another, so many of them where they are more: of loops trips are left out.
    pub fn list(&self, most: f64) -> Vec<usize> {
        let mut list = vec![];
        flatten(&self.order, (most / self.number).min(1.0), &mut list);
        list
    }
}

/// At least two trips of a loop stay: what one leaves for the next to wait for.
fn flatten(items: &[Item], part: f64, to: &mut Vec<usize>) {
    for item in items {
        match item {
            Item::Piece(at) => to.push(*at),
            Item::Loop(trips, body) => {
                let all = f64::from(*trips);
                let own = (all * part).ceil().max(2.0).min(all);
                (0..own as u32).for_each(|_| flatten(body, (part * all / own).min(1.0), to));
            }
        }
    }
}

impl Piece {
    /// In seconds: of units for what they are asked for, of a scheduler for an instruction of memory and for what it comes with.
    pub fn turn(&self, busy: [f64; UNITS], (slot, all): (f64, f64), clock: f64) -> Turn {
        let served = |asked: &[f64; UNITS]| std::array::from_fn(|unit| asked[unit] * busy[unit]);
        Turn {
            issue: self.executed * slot,
            compute: self.executed * (all - slot),
            loads: served(&self.loaded),
            stores: served(&self.stored),
            waits: self.waits.map(|(cycles, seconds)| cycles / clock + seconds),
            meets: self.meets,
            ahead: self.ahead,
        }
    }
}

/// What is known of the levels behind a core's units.
struct Device<'a> {
    /// Latencies of the first level of buffers, or what stands for it, the second level and memory, cycles.
    latency: [f64; 3],
    texture_latency: Option<f64>,
    images: Option<&'a Images>,
    /// The part of what buffers and images request that goes beyond the first level.
    beyond: [f64; 2],
    /// The same of bytes that memory moves, by field: loads and stores.
    moved: Vec<[f64; 2]>,
}

impl<'a> Device<'a> {
    fn of(exact: &'a Exact, on: &Profile) -> Option<Self> {
        let (m, counts) = (&on.memory, &exact.counts);
        let (l2, last) = (m.l2.latency.get()?.0, m.dram_latency.get()?.0);
        let cached = !matches!(m.buffer_l1.bytes, Fact::Absent { .. });
        let first = if cached { m.buffer_l1.latency.get()?.0 } else { l2 };
        let part = |bytes: f64, of: f64| if of > 0.0 { (bytes / of).min(1.0) } else { 0.0 };
        let requested = |field: usize, stores: bool| {
            let own = exact.accesses.iter().filter(|own| own.field == field && (own.kind != AccessKind::Load) == stores);
            own.map(|own| own.sectors as f64).sum::<f64>() * exact.sectors[field]
        };
        let beyond = match (cached, exact.beside) {
            (false, _) => [1.0; 2],
            (_, None) => [part(*counts.l2_load.as_ref().ok()?, counts.requested); 2],
            (_, Some((asked, beyond))) => [part(*counts.l2_load.as_ref().ok()? - beyond, counts.requested - asked), part(beyond, asked)],
        };
        // A store may have more written than it stores: the rest of its lines.
        let each = |bytes: f64, of: f64| if of > 0.0 { bytes / of } else { 0.0 };
        let moved = counts.dram.as_ref().ok()?.per_field.iter().enumerate();
        Some(Self {
            latency: [first, l2, last.max(l2)],
            texture_latency: m.texture_l1.latency.get().map(|own| own.0),
            images: counts.images.as_ref(),
            beyond,
            moved: moved.map(|(field, own)| [part(own.1, requested(field, false)), each(own.2, requested(field, true))]).collect(),
        })
    }
}

/// Loads that are under way together: how many there are, and how likely nothing of them comes from beyond the first level, or from memory.
#[derive(Clone, Copy)]
struct Together {
    number: f64,
    first: f64,
    near: f64,
}

impl Together {
    const NONE: Self = Self { number: 0.0, first: 1.0, near: 1.0 };

    fn add(&mut self, beyond: f64, memory: f64) {
        self.number += 1.0;
        self.first *= 1.0 - beyond;
        self.near *= 1.0 - memory;
    }

    /// Cycles until all of them are there, of which the first level takes so many.
    fn wait(&self, first: f64, [_, l2, last]: [f64; 3]) -> f64 {
        if self.number > 0.0 { first + (l2 - first).max(0.0) * (1.0 - self.first) + (last - l2) * (1.0 - self.near) } else { 0.0 }
    }
}

/// A piece that is not complete: its loads of buffers and of texels.
struct Open {
    piece: Piece,
    loads: [Together; 2],
}

struct Builder<'a> {
    exact: &'a Exact<'a>,
    device: Device<'a>,
    warps: f64,
    /// Of the next access.
    position: usize,
    /// With how often a warp executes them.
    pieces: Vec<(Piece, f64)>,
}

impl Builder<'_> {
    fn sequence(&mut self, nest: &[Nest], times: f64) -> Option<Vec<Item>> {
        let mut items = vec![];
        for run in nest.chunk_by(|a, b| matches!((a, b), (Nest::Access(_), Nest::Access(_)))) {
            match &run[0] {
                Nest::Access(_) => {
                    let open = |ahead| Open { piece: Piece { ahead, ..Piece::default() }, loads: [Together::NONE; 2] };
                    let (mut ahead, mut own) = (open(true), open(false));
                    let mut beside = 0;
                    for node in run {
                        let goes_on = matches!(node, Nest::Access(access) if access.ahead);
                        self.access(times, if goes_on { &mut ahead } else { &mut own })?;
                        beside += usize::from(goes_on);
                        self.position += 1;
                    }
                    for (open, _) in [(ahead, beside), (own, run.len() - beside)].into_iter().filter(|own| own.1 > 0) {
                        items.push(self.add(self.closed(open), times));
                    }
                }
                Nest::Barrier => items.push(self.add(Piece { meets: true, ..Piece::default() }, times)),
                Nest::Loop { var, body } => {
                    let trips = self.exact.counts.kernel.accesses.vars[usize::from(var.0)].trips?;
                    items.push(Item::Loop(trips, self.sequence(body, times * f64::from(trips))?));
                }
            }
        }
        Some(items)
    }

    fn add(&mut self, piece: Piece, times: f64) -> Item {
        self.pieces.push((piece, times));
        Item::Piece(self.pieces.len() - 1)
    }

    fn closed(&self, open: Open) -> Piece {
        let Device { latency, texture_latency, images, .. } = &self.device;
        let [buffers, texels] = open.loads;
        let wait = match images {
            Some(images) if texels.number > 0.0 => (0.0, images.wait(texels.number).0),
            _ => (texels.wait(texture_latency.unwrap_or(latency[0]), *latency), 0.0),
        };
        Piece { waits: [(buffers.wait(latency[0], *latency), 0.0), wait], ..open.piece }
    }

    /// The next access, which a warp executes so often.
    fn access(&self, times: f64, open: &mut Open) -> Option<()> {
        let (exact, each) = (self.exact, 1.0 / (self.warps * times));
        let at = |own: &&Instruction| own.position == self.position;
        if let Some(own) = exact.shared.iter().find(at) {
            open.piece.executed += own.executions as f64 * each;
            let asked = if loads(own.kind) { &mut open.piece.loaded } else { &mut open.piece.stored };
            asked[Unit::Local as usize] += local::cycles(own, None, exact.counts.warp) * each;
            return Some(());
        }
        // Constants are operands.
        let Some(own) = exact.accesses.iter().find(at) else { return Some(()) };
        let field = &exact.subject.fields[own.field];
        let touch: &Touch = field.all().find(|touch| touch.position == self.position)?;
        open.piece.executed += own.executions as f64 * each;
        let (load, image) = (loads(own.kind), field.image.is_some());
        let moved = self.device.moved[own.field][usize::from(!load)];
        let bytes = own.sectors as f64 * exact.sectors[own.field] * each;
        let fitted = self.device.images.filter(|_| image && field.tiled().is_some());
        let beyond = match fitted {
            Some(images) if load => {
                if images.bytes[0] > 0.0 {
                    images.bytes[1] / images.bytes[0]
                } else {
                    0.0
                }
            }
            _ if load => self.device.beyond[usize::from(image)],
            _ => 1.0,
        };
        let asked = if load { &mut open.piece.loaded } else { &mut open.piece.stored };
        // Texture units load.
        let unit = if image && load { Unit::Texels } else { Unit::Buffers };
        let lanes = lanes::executing(&exact.subject, touch) * touch.width as f64 * field.geometry.element as f64 * each;
        // Whole sectors pass, where lanes want less of them.
        asked[unit as usize] += if unit == Unit::Buffers { lanes.max(bytes) } else { lanes };
        asked[Unit::Lines as usize] += if fitted.is_some() && load { own.executions as f64 * each } else { 0.0 };
        asked[Unit::Second as usize] += bytes * beyond;
        asked[Unit::Memory as usize] += bytes * moved;
        if load {
            open.loads[usize::from(image)].add(beyond, moved);
        }
        Some(())
    }
}
