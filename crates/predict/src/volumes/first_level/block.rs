//! What the warps and blocks of a launch ask of the first-level cache and of the level behind it: exact totals over the whole grid.

use super::costs::{BlockUse, Instruction, Request, Sizes};
use super::drawn;
use super::images;
use super::warps::{Alike as WarpsAlike, Asked, Axis, Residues, WarpsKey, WarpsOf};
use crate::volumes::kernel::gathers::Gather;
use crate::volumes::kernel::lanes::{Lanes, active_lanes, breaks, classes};
use crate::volumes::kernel::subject::{Field, Side, Subject, Touch};
use crate::volumes::known::Question;
use crate::volumes::sets::intervals::{Intervals, lcm};
use crate::volumes::sets::lines::{Geometry, by_begin};
use crate::volumes::sets::regions::{Region, joined};
use smallvec::SmallVec;
use std::rc::Rc;
use warpsight_ir::{AccessKind, VarId};

/// What was found for a residue.
type Found<T> = SmallVec<[(i64, T); 8]>;

/// Warps of one shape, and where they begin relative to the access's constant part.
struct Placed {
    /// All warps of a block, and which of them.
    warps: (Rc<WarpsOf>, usize),
    begins: Residues,
}

impl Placed {
    fn of(&self) -> &WarpsAlike {
        &self.warps.0[self.warps.1]
    }
}

/// Accesses that differ in constants only, and lie alike.
struct Priced<'a> {
    like: (&'a Touch, &'a Geometry),
    placed: Vec<Placed>,
    /// Totals of those that begin at this byte of a line.
    totals: Found<Instruction>,
}

/// What each access to device memory costs, in program order within each field.
pub fn instructions(subject: &Subject, sizes: Sizes) -> Vec<Instruction> {
    priced(subject, &subject.fields, sizes, (Asked::Volumes, &|_| 0.0))
}

/// What each access to these fields of the subject costs, in program order within each field, and a price of its executions.
pub fn priced(subject: &Subject, fields: &[Field], sizes: Sizes, (asked, price): (Asked, &dyn Fn(&Request) -> f64)) -> Vec<Instruction> {
    let mut found = Vec::with_capacity(fields.iter().map(|field| field.touches.len()).sum());
    // Accesses that differ in constants only share their shapes, as do fields that lie alike.
    let mut known: Vec<Priced> = Vec::new();
    for (index, field) in fields.iter().enumerate() {
        for touch in &field.touches {
            if let Some(layout) = field.tiled() {
                found.push(Instruction { field: index, ..images::instruction(subject, field, layout, touch, sizes.of(field)) });
                continue;
            }
            let alike = |(other, geometry): (&Touch, &Geometry)| geometry.like(&field.geometry) && other.alike(touch);
            let at = known.iter().position(|own| alike(own.like)).unwrap_or_else(|| {
                let like = (touch, &field.geometry);
                known.push(Priced { like, placed: placed(subject, field, touch, sizes, asked), totals: SmallVec::new() });
                known.len() - 1
            });
            let Priced { placed, totals, .. } = &mut known[at];
            let begin = touch.origin(&field.geometry).rem_euclid(i64::from(sizes.line));
            let total = at_residue(totals, begin, || total(begin, placed, sizes, price));
            found.push(Instruction { position: touch.position, field: index, kind: touch.kind, ..total });
        }
        for (touch, gather) in field.gathers.iter().filter_map(|touch| Some((touch, Gather::of(subject, field, touch)?))) {
            // Guards leave as many lanes of a warp as of typical addresses.
            let warps = placed(subject, field, touch, sizes, asked).into_iter();
            let warps: Vec<(usize, u64)> =
                warps.map(|own| (own.of().offsets.len(), own.begins.iter().map(|begin| begin.1).sum())).collect();
            found.push(drawn::instruction(&gather, index, &warps, sizes, price));
        }
    }
    found
}

/// The warps of all blocks and trips, by shape.
fn placed(subject: &Subject, field: &Field, touch: &Touch, sizes: Sizes, asked: Asked) -> Vec<Placed> {
    let stride = |var| touch.stride(&field.geometry, var);
    let lanes: SmallVec<[Axis; 4]> = subject.lanes.iter().map(|lane| Axis { stride: stride(lane.id), count: lane.count }).collect();
    let groups: SmallVec<[i64; 4]> = subject.groups.iter().map(|group| stride(group.id)).collect();
    let bytes = touch.width * field.geometry.element;
    let mut found: Vec<Placed> = Vec::new();
    let mut known: SmallVec<[(Lanes, Rc<WarpsOf>); 8]> = SmallVec::new();
    for class in classes(subject, touch) {
        let first: i64 = groups.iter().zip(&class.blocks).map(|(stride, at)| stride * at.0).sum();
        let at = known.iter().position(|(active, _)| *active == class.lanes).unwrap_or_else(|| {
            let key = WarpsKey::of(&lanes, &class.lanes, bytes, sizes, asked);
            known.push((class.lanes.clone(), subject.known.get(key, WarpsKey::warps)));
            known.len() - 1
        });
        let warps = &known[at].1;
        for (i, alike) in warps.iter().enumerate() {
            let mut begins = alike.starts.clone().shifted(first);
            for (&stride, at) in groups.iter().zip(&class.blocks) {
                begins = begins.moved(Axis { stride, count: at.1 });
            }
            for var in &touch.loops {
                begins = begins.moved(Axis { stride: stride(var.id), count: var.count });
            }
            match found.iter_mut().find(|other| other.of().offsets == alike.offsets) {
                Some(other) => other.begins.join(&begins),
                None => found.push(Placed { warps: (Rc::clone(warps), i), begins }),
            }
        }
    }
    found
}

/// What was found before for a residue, or else now.
fn at_residue<T: Clone>(known: &mut Found<T>, residue: i64, find: impl FnOnce() -> T) -> T {
    match known.iter().find(|(other, _)| *other == residue) {
        Some((_, found)) => found.clone(),
        None => {
            let found = find();
            known.push((residue, found.clone()));
            found
        }
    }
}

/// What an access whose constant part is at this byte of a line costs over the launch.
fn total(origin: i64, placed: &[Placed], sizes: Sizes, price: &dyn Fn(&Request) -> f64) -> Instruction {
    let line = i64::from(sizes.line);
    let mut to =
        Instruction { position: 0, field: 0, kind: AccessKind::Load, executions: 0, sectors: 0, lines: 0, wavefronts: 0, price: 0.0 };
    for own in placed {
        for (begin, times) in own.begins.iter() {
            let cost = own.of().cost((begin + origin).rem_euclid(line), sizes, price);
            to.executions += times;
            to.sectors += times * cost.sectors;
            to.lines += times * cost.lines;
            to.wavefronts += times * cost.wavefronts;
            to.price += times as f64 * cost.price;
        }
    }
    to
}

/// Distinct sectors and lines of every block, per field, summed over all blocks.
pub fn block_uses(subject: &Subject, sizes: Sizes) -> Vec<BlockUse> {
    // Of single accesses: others that lie alike, and begin at the same byte of a line, touch as many.
    let mut known: Vec<(&Field, &Touch, [u64; 2])> = Vec::new();
    let uses = subject.fields.iter().enumerate().map(|(index, field)| {
        let sizes = sizes.of(field);
        let lines: [i64; 2] = [sizes.sector.into(), sizes.line.into()];
        let period = lines.into_iter().fold(1, lcm);
        let [loads, stores] = [Side::Loads, Side::Stores].map(|side| {
            let touches: SmallVec<[&Touch; 16]> = field.touches.iter().filter(|touch| side.has(touch.kind)).collect();
            let &[touch] = touches.as_slice() else { return over_blocks(subject, (index, field, side), &touches, lines) };
            let same = |other: &Field, like: &Touch| {
                field.image.is_none()
                    && other.image.is_none()
                    && other.geometry.like(&field.geometry)
                    && like.alike(touch)
                    && (like.origin(&other.geometry) - touch.origin(&field.geometry)) % period == 0
            };
            known.iter().find(|(other, like, _)| same(other, like)).map(|known| known.2).unwrap_or_else(|| {
                let found = over_blocks(subject, (index, field, side), &touches, lines);
                known.push((field, touch, found));
                found
            })
        });
        let drawn = drawn::uses(subject, field, sizes);
        BlockUse {
            loaded_sectors: loads[0] + drawn.loaded_sectors,
            loaded_lines: loads[1] + drawn.loaded_lines,
            stored_sectors: stores[0] + drawn.stored_sectors,
        }
    });
    uses.collect()
}

/// Accesses that differ in constants only.
struct Alike<'a> {
    /// The first of them.
    like: &'a Touch,
    /// The first of all that move like this, whatever their guards.
    base: usize,
    all: SmallVec<[&'a Touch; 16]>,
}

impl<'a> Alike<'a> {
    fn of(touches: &[&'a Touch]) -> Vec<Self> {
        let mut found: Vec<Self> = Vec::new();
        for &touch in touches {
            match found.iter_mut().find(|own| own.like.alike(touch)) {
                Some(own) => own.all.push(touch),
                None => {
                    let base = found.iter().position(|first| first.like.moves_like(touch)).unwrap_or(found.len());
                    found.push(Self { like: touch, base, all: SmallVec::from_iter([touch]) });
                }
            }
        }
        found
    }

    /// Constants of all of these, as sets of points.
    fn constants<'b>(of: impl Iterator<Item = &'b Self>) -> SmallVec<[Region; 8]>
    where
        'a: 'b,
    {
        let point = |touch: &&Touch| {
            let [x, y, z] = [0, 1, 2].map(|i| Intervals::point(touch.coords[i].constant));
            Region { x, y, z }
        };
        joined(&of.flat_map(|own| own.all.iter().map(point)).collect::<SmallVec<[Region; 16]>>())
    }
}

/// Which lanes of a block take part in which accesses, and how its rows lie in lines: blocks of which this is the same touch as many of them
/// where they begin at the same byte.
#[derive(Debug, PartialEq, Eq, Hash)]
struct BlockKey {
    structure: usize,
    field: usize,
    stores: bool,
    lines: [i64; 2],
    /// Elements from row to row and rows from plane to plane, modulo lines.
    row: i64,
    plane: Option<i64>,
    lanes: SmallVec<[Lanes; 2]>,
}

/// Lines that a block touches whose rows share none.
#[derive(Debug)]
struct BlockLines {
    /// From the first to past the last element of rows, and row of planes.
    extent: [i64; 2],
    /// For each size of lines: by the byte in which the block begins, [`by_begin`].
    lines: [SmallVec<[u64; 16]>; 2],
}

/// Blocks along an axis that are counted together.
struct Kind {
    /// The block that is looked at.
    block: i64,
    /// How many there are.
    count: u64,
    /// Whether they are a run of neighbours, and how many of them are before that block; they differ in where they lie only.
    run: Option<i64>,
}

/// Distinct lines, of each of these sizes, of the union of these accesses in a block, summed over all blocks: one representative of those
/// in which the same lanes take part. Addresses are affine, so that other blocks touch the same, moved by some bytes.
fn over_blocks(subject: &Subject, (index, field, side): (usize, &Field, Side), touches: &[&Touch], lines: [i64; 2]) -> [u64; 2] {
    let mut total = [0; 2];
    let Some(first) = touches.first() else { return total };
    // Every size divides a multiple of all of them.
    let period = lines.into_iter().fold(1, lcm);
    let alike = Alike::of(touches);
    let axes: Vec<Vec<Kind>> = subject.groups.iter().map(|group| kinds(subject, field, &alike, (group.id, group.count), period)).collect();
    let strides: SmallVec<[i64; 4]> = subject.groups.iter().map(|group| first.stride(&field.geometry, group.id)).collect();
    // What moves as one.
    let structure = subject.structure.filter(|_| field.image.is_none() && axes.iter().flatten().all(|kind| kind.run.is_some()));
    let mut at: SmallVec<[usize; 4]> = SmallVec::from_elem(0, axes.len());
    loop {
        let mut block = SmallVec::<[i64; 4]>::new();
        let mut moved = Residues::of(0, &[0], period as u32);
        for ((axis, &i), &stride) in axes.iter().zip(&at).zip(&strides) {
            let kind = &axis[i];
            block.push(kind.block);
            moved = match kind.run {
                // As many as blocks of a launch, which are counted in 32 bits along each axis.
                Some(before) => moved.moved(Axis { stride, count: kind.count as u32 }).shifted(-stride * before),
                None => moved.moved(Axis { stride: 0, count: kind.count as u32 }),
            };
        }
        let lanes: SmallVec<[Lanes; 2]> = alike.iter().map(|own| active_lanes(subject, own.like, &block)).collect();
        let by_begin = structure.map(|structure| {
            let Geometry { row, plane, .. } = field.geometry;
            let (row, plane) = (row.rem_euclid(period), plane.map(|plane| plane.rem_euclid(period)));
            let key = BlockKey { structure, field: index, stores: side == Side::Stores, lines, row, plane, lanes: lanes.clone() };
            subject.known.get(key, |key| BlockLines::of(subject, field, &alike, key))
        });
        let by_begin = by_begin.filter(|own| own.apart(&field.geometry, period));
        match by_begin.as_deref() {
            Some(own) => {
                let base = field.geometry.origin + strides.iter().zip(&block).map(|(stride, at)| stride * at).sum::<i64>();
                for (shift, times) in moved.iter() {
                    total.iter_mut().zip(lines.iter().zip(&own.lines)).for_each(|(total, (&line, begins))| {
                        let begin = (base + shift).rem_euclid(line) / (line / begins.len() as i64);
                        *total += times * begins[begin as usize];
                    });
                }
            }
            None => {
                let regions = regions(subject, (&alike, structure.map(|structure| (structure, index, side))), &lanes, &block);
                let shifts: SmallVec<[(i64, u64); 16]> = moved.iter().collect();
                total.iter_mut().zip(field.distinct(&regions, lines, &shifts)).for_each(|(total, found)| *total += found);
            }
        }
        // The next combination, like an odometer.
        let Some(axis) = (0..at.len()).find(|&axis| at[axis] + 1 < axes[axis].len()) else { return total };
        at[axis] += 1;
        at[..axis].fill(0);
    }
}

/// Positions among [`Alike`].
type Members = SmallVec<[usize; 8]>;

/// Accesses of a structure to a field on one side.
type Where = (usize, usize, Side);

/// Constants of those of them of which the same lanes take part, as few regions.
#[derive(PartialEq, Eq, Hash)]
struct ConstantsKey {
    place: Where,
    members: Members,
}

impl Question for ConstantsKey {
    type Answer = SmallVec<[Region; 8]>;
}

impl Question for BlockKey {
    type Answer = BlockLines;
}

/// What a block touches, these lanes taking part in accesses.
fn regions(subject: &Subject, (alike, place): (&[Alike], Option<Where>), lanes: &[Lanes], block: &[i64]) -> Vec<Region> {
    // Those of which the same lanes take part fill each other's gaps.
    let mut parts: SmallVec<[(&Lanes, Members); 4]> = SmallVec::new();
    for (i, lanes) in lanes.iter().enumerate().filter(|(_, lanes)| lanes.iter().all(|(lo, hi)| lo < hi)) {
        match parts.iter_mut().find(|(other, members)| alike[members[0]].base == alike[i].base && *other == lanes) {
            Some((_, members)) => members.push(i),
            None => parts.push((lanes, SmallVec::from_iter([i]))),
        }
    }
    let (ranges, mut regions) = (subject.block(block), Vec::new());
    for (lanes, members) in parts {
        let with_lanes = subject.lanes.iter().zip(lanes);
        let ranges = with_lanes.fold(ranges.clone(), |ranges, (lane, &(lo, hi))| ranges.with(lane.id, lo.into(), hi - lo));
        let like = alike[members[0]].like;
        let constants = |members: &[usize]| Alike::constants(members.iter().map(|&i| &alike[i]));
        match place {
            Some(place) => {
                like.regions_of(&subject.known.get(ConstantsKey { place, members }, |own| constants(&own.members)), &ranges, &mut regions)
            }
            None => like.regions_of(&constants(&members), &ranges, &mut regions),
        }
    }
    regions
}

impl BlockLines {
    fn of(subject: &Subject, field: &Field, alike: &[Alike], key: &BlockKey) -> Self {
        let first: SmallVec<[i64; 4]> = SmallVec::from_elem(0, subject.groups.len());
        let side = if key.stores { Side::Stores } else { Side::Loads };
        let regions = joined(&regions(subject, (alike, Some((key.structure, key.field, side))), &key.lanes, &first));
        let extent = |axis: fn(&Region) -> &Intervals| {
            let bounds = regions.iter().filter_map(|own| axis(own).bounds()).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
            bounds.map_or(0, |(lo, hi)| hi + 1 - lo)
        };
        let lines = key.lines.map(|line| by_begin(&regions, &Geometry { row: key.row, plane: key.plane, ..field.geometry }, line));
        Self { extent: [extent(|own| &own.x), extent(|own| &own.y)], lines }
    }

    /// Whether no line is in two rows of the block, as these lie in the field: rows that go beyond its own are parts of the next.
    fn apart(&self, geometry: &Geometry, line: i64) -> bool {
        let [x, y] = self.extent;
        geometry.plane.is_none_or(|plane| y <= plane) && (geometry.row - x) * geometry.element >= line
    }
}

/// Blocks along an axis by kind. Blocks differ in which lanes take part and in where they begin within a line; those of images, that are
/// blocks of texels, are looked at for each begin.
fn kinds(subject: &Subject, field: &Field, alike: &[Alike], (group, count): (VarId, u32), line: i64) -> Vec<Kind> {
    let moves = |own: &Alike| [0, 1, 2].map(|i| own.like.coords[i].coefficient(group));
    if alike.windows(2).any(|pair| moves(&pair[0]) != moves(&pair[1])) {
        // Accesses that drift apart overlap differently in every block.
        return each(count.into()).into_iter().map(|(block, count)| Kind { block, count, run: None }).collect();
    }
    let count = i64::from(count);
    let mut edges: Vec<i64> = alike.iter().flat_map(|own| breaks(own.like, subject, group, count)).collect();
    edges.extend([0, count]);
    edges.retain(|edge| (0..=count).contains(edge));
    edges.sort_unstable();
    edges.dedup();
    let ranges = edges.windows(2).map(|range| (range[0], range[1] - range[0]));
    if field.tiled().is_none() {
        // From the middle, where nothing wraps.
        return ranges
            .map(|(from, length)| Kind { block: from + length / 2, count: length.unsigned_abs(), run: Some(length / 2) })
            .collect();
    }
    let period = alike.iter().fold(1, |period, own| lcm(period, field.period(own.like, group, line)));
    let mut kinds = Vec::new();
    for (from, length) in ranges {
        let middle = from + (length - length.min(period)) / 2;
        kinds.extend((0..length.min(period)).map(|i| {
            let lag = (middle + i - from).rem_euclid(period);
            Kind { block: middle + i, count: ((length - lag + period - 1) / period).unsigned_abs(), run: None }
        }));
    }
    kinds
}

/// Every block of an axis; where there are many, so many that stand for as many neighbours each.
fn each(count: i64) -> Vec<(i64, u64)> {
    const MOST: i64 = 64;
    let parts = count.min(MOST);
    let edge = |i: i64| count * i / parts;
    (0..parts).map(|i| (edge(i) + (edge(i + 1) - edge(i)) / 2, edge(i + 1).abs_diff(edge(i)))).collect()
}
