//! What memory delivers and takes where the blocks of a wave run in step: all begin together, make the same accesses at about the same time,
//! and the next wave begins when they have ended (paper 000, section 3.2.2: work-items of an occupancy group run concurrently, groups of them
//! one after another).
//! .
//! Such a wave is one thread whose accesses touch what all its blocks touch, and its life is a tree: parts follow each other, loops repeat
//! parts. A part is a run of loads that no barrier divides, which are under way together, a store, or a loop; what one execution of it touches is the footprint of
//! the resident blocks. Parts that follow each other touch the sum of their lines less those of both together again, a loop of n trips n times
//! the lines of a trip less its own; in between lies what one part touches of all fields. So all that is met again within a wave has a
//! distance in bytes, which it survives or not ([`Curve`]). What later waves meet again lies as far apart as [`super::dram`] says, and what a
//! launch leaves in the second level is there for the next one, as far as what comes between them leaves it there ([`Memory::between`]). Last
//! levels serve others meanwhile.

use super::crowd::Crowd;
use super::dram::{Behind, Curve, Dram, Memory, Runs, Wave, middle};
use super::reuse::Footprint;
use crate::volumes::first_level::l1::Rule;
use crate::volumes::kernel::subject::{Side, Subject, Touch};
use smallvec::SmallVec;
use std::borrow::Cow;
use warpsight_ir::Profile;

/// Volumes of the whole launch between the caches and device memory, one launch of many.
pub fn dram(subject: &Subject, memory: &Memory, wave: &Wave, curve: &Curve) -> Dram {
    Steps::of(subject, memory, wave, curve.spread).volumes(memory, curve, &[])
}

/// What waves in step touch and meet again, which no capacity changes.
pub struct Steps {
    runs: Runs,
    /// Waves of the launch.
    waves: f64,
    /// What one touches.
    one: Touched,
    /// What one meets again.
    again: Vec<Again>,
}

impl Steps {
    /// Of a kernel; see [`Curve::spread`].
    pub fn of(subject: &Subject, memory: &Memory, wave: &Wave, spread: f64) -> Self {
        let blocks: u64 = subject.groups.iter().map(|group| u64::from(group.count)).product();
        let resident = wave.blocks.clamp(1, blocks.max(1));
        let runs = Runs::of(subject, memory, wave, spread);
        let mut life = Life { subject, memory, begin: middle(subject, resident), resident, again: vec![], alike: vec![] };
        let mut items: Vec<Item> = subject
            .fields
            .iter()
            .enumerate()
            .flat_map(|(field, own)| own.touches.iter().map(move |touch| Item::of(field, touch, 0)))
            .collect();
        items.sort_by_key(|item| item.touch.position);
        // Loads come as early as anything allows; stores that nothing divides come in the order of the program.
        let stores = |item: &Item| !Side::Loads.has(item.touch.kind);
        let divided = |a: &Item, b: &Item| a.touch.met != b.touch.met || a.touch.loops != b.touch.loops;
        items.chunk_by_mut(|a, b| stores(a) && stores(b) && !divided(a, b)).for_each(|run| run.sort_by_key(|item| item.touch.number));
        let one = life.sequence(&items, 0, 1.0);
        let waves = runs.activity() * blocks as f64 / resident as f64;
        Self { again: life.again, waves, one, runs }
    }

    /// Bytes of a field that loads touch for the first time and that nobody left in a cache.
    pub fn first_loads(&self, field: usize, memory: &Memory, curve: &Curve) -> f64 {
        self.cold(field, memory, curve) * self.runs.all(field, Side::Loads)
    }

    /// The part of what the launch touches of a field that nobody left in a cache.
    fn cold(&self, field: usize, memory: &Memory, curve: &Curve) -> f64 {
        curve.cold(self.runs.touched() + memory.between.bytes(field), memory.l2_effective)
    }

    /// Volumes behind a cache. `crowds`: of each field, where sets matter.
    pub fn volumes(&self, memory: &Memory, curve: &Curve, crowds: &[Crowd]) -> Dram {
        let Self { runs, waves, one, again } = self;
        let cold = |field| self.cold(field, memory, curve);
        let load_wave = waves * (0..one.0.len() / 2).map(|field| one.0[slot(field, Side::Loads)]).sum::<f64>();
        runs.summed(load_wave, &cold, &|field, side, behind| {
            // Where conditions leave the middle nothing to do, nobody's lines crowd there.
            let own = if one.all() > 0.0 { one.of(field) / one.all() } else { 0.0 };
            let gone = |distance: f64| match (behind, memory.last_level) {
                (Behind::Last, Some((size, curve))) => 1.0 - curve.survives(distance, size),
                _ => 1.0 - curve.survives(crowds.get(field).map_or(distance, |crowd| crowd.distance(distance, own)), memory.l2_effective),
            };
            let (slot, all) = (slot(field, side), runs.all(field, side));
            let within: f64 = again.iter().filter(|again| again.slot == slot).map(|again| again.bytes * gone(again.distance)).sum();
            let met = (waves * one.0[slot] - all).max(0.0);
            let (later, wave) = runs.later(field, side);
            let known: f64 = later.iter().map(|own| own.1).sum();
            let share = if known > met { met / known } else { 1.0 };
            let between = later.iter().map(|own| own.1 * share * gone(own.0)).sum::<f64>() + (met - known).max(0.0) * gone(wave);
            [all * cold(field), waves * within, between]
        })
    }
}

/// Whether waves are taken to run in step: of GPUs that nothing is recorded of.
pub fn in_step(on: &Profile) -> bool {
    Rule::of(on).is_err()
}

/// An access, whose it is, and what it is inside of so many loops.
struct Item<'a> {
    field: usize,
    touch: &'a Touch,
    inside: Cow<'a, Touch>,
}

impl<'a> Item<'a> {
    fn of(field: usize, touch: &'a Touch, depth: usize) -> Self {
        Self { field, touch, inside: if depth == 0 { Cow::Borrowed(touch) } else { Cow::Owned(inside(touch, depth)) } }
    }
}

/// Bytes of lines that one execution of a part of a wave's life touches, by field and side.
#[derive(Clone)]
struct Touched(SmallVec<[f64; 8]>);

impl Touched {
    /// Of all fields; one that is loaded and stored counts once.
    fn all(&self) -> f64 {
        (0..self.0.len() / 2).map(|field| self.of(field)).sum()
    }

    /// Of a field.
    fn of(&self, field: usize) -> f64 {
        self.0[2 * field..2 * field + 2].iter().copied().fold(0.0, f64::max)
    }
}

/// What follows each other in a wave's life.
#[derive(Clone)]
struct Part {
    /// The first of its accesses, and how many they are.
    first: usize,
    number: usize,
    touched: Touched,
    /// Which of [`Life::alike`] all of them are like.
    like: Option<usize>,
}

/// Where in a [`Touched`] a field's side is.
fn slot(field: usize, side: Side) -> usize {
    2 * field + usize::from(side == Side::Stores)
}

/// Bytes that one wave touches again, and how many others lie between.
struct Again {
    slot: usize,
    bytes: f64,
    distance: f64,
}

/// The life of a wave in the middle of the launch.
struct Life<'a> {
    subject: &'a Subject,
    memory: &'a Memory,
    begin: i64,
    resident: u64,
    again: Vec<Again>,
    /// What single accesses touch: those that differ in constants touch as much.
    alike: Vec<(usize, &'a Touch, usize, Touched)>,
}

impl<'a> Life<'a> {
    /// Accesses and loops that follow each other inside of `depth` loops, executed so often; what one execution touches.
    fn sequence(&mut self, items: &[Item<'a>], depth: usize, times: f64) -> Touched {
        let mut parts: Vec<Part> = vec![];
        let mut first = 0;
        let together = |a: &Item, b: &Item| {
            let inner = [a, b].map(|item| item.touch.loops.get(depth).map(|var| var.id));
            let under_way = || a.touch.met == b.touch.met && [a, b].iter().all(|item| !Side::Stores.has(item.touch.kind));
            inner[0] == inner[1] && (inner[0].is_some() || under_way())
        };
        for run in items.chunk_by(together) {
            let (touched, like) = match run[0].touch.loops.get(depth) {
                None if run.len() == 1 => self.access(&run[0], depth),
                None => (self.touched(run), None),
                Some(var) => {
                    let trips = f64::from(var.count);
                    let inner: Vec<Item> = run.iter().map(|item| Item::of(item.field, item.touch, depth + 1)).collect();
                    let trip = self.sequence(&inner, depth + 1, times * trips);
                    let whole = if trips > 1.0 { self.touched(run) } else { trip.clone() };
                    self.meet(&trip, trips, &whole, times, trip.all());
                    (whole, None)
                }
            };
            parts.push(Part { first, number: run.len(), touched, like });
            first += run.len();
        }
        while parts.len() > 1 {
            let mut next: Vec<Part> = Vec::with_capacity(parts.len().div_ceil(2));
            for pair in parts.chunks(2) {
                let [a, b] = pair else {
                    next.extend_from_slice(pair);
                    continue;
                };
                let like = a.like.filter(|_| a.like == b.like && a.number == b.number);
                // Tiles are stored element by element: pairs whose accesses lie alike to each other touch as much.
                let known = next.last().filter(|own| like.is_some() && own.like == like && own.number == a.number + b.number);
                let known = known.filter(|own| lie_alike(&items[own.first..own.first + own.number], &items[a.first..a.first + own.number]));
                let touched = known.map_or_else(|| self.both(items, a, b), |own| own.touched.clone());
                let parts = Touched(a.touched.0.iter().zip(&b.touched.0).map(|(a, b)| a + b).collect());
                self.meet(&parts, 1.0, &touched, times, (a.touched.all() + b.touched.all()) / 2.0);
                next.push(Part { first: a.first, number: a.number + b.number, touched, like });
            }
            parts = next;
        }
        parts.pop().map_or_else(|| self.nothing(), |part| part.touched)
    }

    /// What two parts that follow each other touch.
    fn both(&self, items: &[Item<'a>], a: &Part, b: &Part) -> Touched {
        let items = &items[a.first..a.first + a.number + b.number];
        let each = a.touched.0.iter().zip(&b.touched.0).enumerate();
        // Fields share no lines.
        Touched(each.map(|(slot, (&a, &b))| if a.min(b) > 0.0 { self.of_field(items, slot) } else { a + b }).collect())
    }

    /// What so many executions of a part touch again, of what they touch together.
    fn meet(&mut self, part: &Touched, number: f64, whole: &Touched, times: f64, distance: f64) {
        for (slot, (part, whole)) in part.0.iter().zip(&whole.0).enumerate() {
            let bytes = times * (number * part - whole).max(0.0);
            if bytes > 0.0 {
                self.again.push(Again { slot, bytes, distance });
            }
        }
    }

    /// What one access touches, and which of the known ones it is like.
    fn access(&mut self, item: &Item<'a>, depth: usize) -> (Touched, Option<usize>) {
        let known = self.alike.iter().position(|&(field, touch, at, _)| {
            field == item.field && at == depth && touch.kind == item.touch.kind && touch.moves_like(item.touch)
        });
        let like = known.unwrap_or_else(|| {
            self.alike.push((item.field, item.touch, depth, self.touched(std::slice::from_ref(item))));
            self.alike.len() - 1
        });
        (self.alike[like].3.clone(), Some(like))
    }

    fn nothing(&self) -> Touched {
        Touched(SmallVec::from_elem(0.0, 2 * self.subject.fields.len()))
    }

    /// What these accesses touch in all trips of the loops inside, in the middle of those around them.
    fn touched(&self, items: &[Item]) -> Touched {
        Touched((0..2 * self.subject.fields.len()).map(|slot| self.of_field(items, slot)).collect())
    }

    /// The same of one field on one side.
    fn of_field(&self, items: &[Item], slot: usize) -> f64 {
        let (field, side) = (slot / 2, if slot.is_multiple_of(2) { Side::Loads } else { Side::Stores });
        let own = items.iter().filter(|item| item.field == field && side.has(item.touch.kind));
        let touches: SmallVec<[&Touch; 16]> = own.map(|item| &*item.inside).collect();
        let line = i64::from(if side == Side::Loads { self.memory.fetch } else { self.memory.write });
        let footprint = Footprint::among(self.subject, &self.subject.fields[field], &touches, None);
        footprint.map_or(0.0, |own| (own.distinct(self.begin, self.resident, 0.0, line) as i64 * line) as f64)
    }
}

/// Whether accesses that are like each other lie as far apart as others.
fn lie_alike(one: &[Item], other: &[Item]) -> bool {
    let apart = |items: &[Item], k: usize, i: usize| items[k].touch.coords[i].constant.wrapping_sub(items[0].touch.coords[i].constant);
    (0..one.len()).all(|k| (0..3).all(|i| apart(one, k, i) == apart(other, k, i)))
}

/// An access with the loops from `depth` on alone; those around it are in the middle.
fn inside(touch: &Touch, depth: usize) -> Touch {
    let mut own = touch.clone();
    for var in own.loops.drain(..depth.min(touch.loops.len())).collect::<Vec<_>>() {
        let at = i64::from(var.count / 2);
        let fixed = |form: &mut warpsight_ir::Affine| {
            let by = i64::from(form.coefficient(var.id)) * at;
            form.retain(|other| *other != var.id);
            form.constant += by;
        };
        own.coords.iter_mut().for_each(fixed);
        own.guard.iter_mut().for_each(|bound| fixed(&mut bound.value));
    }
    own
}
