//! What a cache behind the first level sees of a field, in launch order: the elements that runs of consecutive blocks touch, the order of
//! the accesses within a block's life, and the distances at which blocks meet lines again.
//! .
//! An access that comes late in a thread touches its line when later blocks have begun already. Measured in blocks launched, the access
//! at a share φ of a block's life happens φ · (resident blocks) after the block began. So the loads of the plane above, last in one
//! program and first in another, lie at different distances from their reuse, which is all the difference between two orders of loads.

use super::gaps::gaps;
use super::histogram::Gaps;
use super::pattern::{Pattern, inner, within};
use super::wave::{BlockBox, boxes};
use crate::volumes::kernel::subject::{Field, Side, Subject, Touch};
use crate::volumes::known::Question;
use crate::volumes::sets::intervals::Intervals;
use crate::volumes::sets::lines::Geometry;
use crate::volumes::sets::regions::{Region, joined};
use smallvec::SmallVec;
use std::rc::Rc;
use warpsight_ir::{AccessKind, StorePolicy, VarId};

/// The accesses of a field on one side.
#[derive(Clone, Debug)]
pub struct Footprint<'a> {
    subject: &'a Subject,
    field: &'a Field,
    groups: SmallVec<[u32; 4]>,
    patterns: Vec<Pattern<'a>>,
}

impl<'a> Footprint<'a> {
    /// Of the accesses on this side; `phases` by position of the access, none where order is of no interest. `None` without accesses.
    pub fn of(subject: &'a Subject, field: &'a Field, side: Option<Side>, phases: Option<&[f64]>) -> Option<Self> {
        let touches: SmallVec<[&Touch; 32]> = field.touches.iter().filter(|touch| side.is_none_or(|side| side.has(touch.kind))).collect();
        let first = touches.first()?;
        let index = subject.fields.iter().position(|own| std::ptr::eq(own, field));
        // What moves alike has the same conditions, whatever these say.
        let shared = touches.iter().all(|touch| touch.guard == first.guard);
        match subject.structure.zip(index).filter(|_| shared) {
            Some((structure, index)) => {
                // Times are a structure's, too.
                let key = PatternsKey { structure, field: index, side, timed: phases.is_some() };
                let kinds = subject.known.get(key, |_| kinds(subject, &touches, phases));
                Some(Self::by(subject, field, &touches, &kinds))
            }
            None => Self::among(subject, field, &touches, phases),
        }
    }

    /// The same of some of the accesses of a field, or of their like.
    pub fn among(subject: &'a Subject, field: &'a Field, touches: &[&'a Touch], phases: Option<&[f64]>) -> Option<Self> {
        touches.first()?;
        Some(Self::by(subject, field, touches, &kinds(subject, touches, phases)))
    }

    fn by(subject: &'a Subject, field: &'a Field, touches: &[&'a Touch], kinds: &[PatternKind]) -> Self {
        let pattern = |kind: &PatternKind| kind.pattern(within(subject, touches[kind.like]), touches[kind.like]);
        let groups = subject.groups.iter().map(|group| group.count).collect();
        Self { subject, field, groups, patterns: kinds.iter().map(pattern).collect() }
    }

    /// Distinct lines of `line` bytes that the run of `count` blocks from the `first` on touches, each access `phase · resident` blocks
    /// behind. Guards of a single coordinate are kept to.
    pub fn distinct(&self, first: i64, count: u64, resident: f64, line: i64) -> u64 {
        let mut regions: SmallVec<[Region; 16]> = SmallVec::new();
        let mut known: SmallVec<[(i64, Vec<BlockBox>); 4]> = SmallVec::new();
        for pattern in &self.patterns {
            let first = first - (pattern.phase * resident).round() as i64;
            let at = known.iter().position(|(other, _)| *other == first).unwrap_or_else(|| {
                // What would come before the first block is left out.
                let (start, skipped) = (first.max(0).unsigned_abs(), first.min(0).unsigned_abs());
                known.push((first, boxes(&self.groups, start, count.saturating_sub(skipped))));
                known.len() - 1
            });
            for blocks in &known[at].1 {
                pattern.regions(self.subject, blocks, &mut regions);
            }
        }
        self.field.distinct(&regions, [line], &[(0, 1)])[0]
    }

    /// Gaps between touches of lines of `line` bytes, each access `phase · late` blocks behind; `None` where there is no closed form, and
    /// of images, whose lines are blocks.
    pub fn gaps(&self, late: f64, line: i64) -> Option<Gaps> {
        if self.field.tiled().is_some() {
            return None;
        }
        gaps(&self.groups, &self.patterns, &self.field.geometry, late, line)
    }

    /// Share of their lanes that take part over the whole launch, relative to this run's; `None` where no guard says.
    pub fn activity(&self, first: u64, count: u64) -> Option<f64> {
        let pattern = self.patterns.iter().find(|pattern| pattern.within.iter().any(Option::is_some))?;
        let inner = pattern.inner.as_ref()?;
        let active =
            |first, count| boxes(&self.groups, first, count).iter().map(|blocks| pattern.active(inner, blocks)).sum::<f64>() / count as f64;
        let blocks = self.groups.iter().map(|&n| u64::from(n)).product();
        let here = active(first, count);
        (here > 0.0).then(|| active(0, blocks) / here)
    }

    /// Whether every block touches elements of its own, more than a line in a row, so that only lines at the ends of its rows are shared,
    /// with neighbours. Of stores, where those are not many.
    pub fn streams(&self, side: Side, line: i64) -> bool {
        if self.field.tiled().is_some() {
            return false;
        }
        let [pattern] = self.patterns.as_slice() else { return false };
        let ([offset], Some(inner)) = (pattern.offsets.as_slice(), &pattern.inner) else { return false };
        let span = |set: &Intervals| set.bounds().map_or(0, |(lo, hi)| hi - lo);
        let spans = [(&inner[0], &offset.x), (&inner[1], &offset.y), (&inner[2], &offset.z)].map(|(a, b)| span(a) + span(b) + 1);
        let beyond = |step: &[i64; 3]| step.iter().zip(spans).any(|(step, span)| step.abs() >= span);
        let Geometry { element, origin, row, .. } = self.field.geometry;
        let aligned = |step: i64| [step * element, origin, row * element].iter().all(|bytes| bytes % line == 0);
        let least = |step: i64| if side == Side::Stores && !aligned(step) { SHARED_ENDS * line } else { line };
        let narrow = |step: &[i64; 3]| step[0] != 0 && step[0].abs() * element < least(step[0]);
        pattern.steps.iter().zip(&self.groups).all(|(step, &count)| count == 1 || (beyond(step) && !narrow(step)))
    }

    /// Whether a block touches all of it at one time.
    pub fn at_once(&self) -> bool {
        self.patterns.windows(2).all(|pair| pair[0].phase == pair[1].phase)
    }

    /// Distances in launched blocks at which blocks meet lines of earlier ones.
    pub fn distances(&self, resident: f64, to: &mut Vec<f64>) {
        let mut layer = 1.0;
        for (axis, &count) in self.groups.iter().enumerate() {
            let mut most = 1;
            for pattern in &self.patterns {
                for i in 0..3 {
                    let bounds = pattern.offsets.iter().filter_map(|offset| [&offset.x, &offset.y, &offset.z][i].bounds());
                    let halo = bounds.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).map_or(0, |(lo, hi)| hi - lo);
                    let step = pattern.steps[axis][i].abs();
                    if step > 0 {
                        most = most.max(1 + (halo - 1).max(0) / step);
                    }
                }
            }
            // More rows or layers than these are far apart in any case.
            for k in 1..=most.min(i64::from(count) - 1).min(8) {
                let distance = layer * k as f64;
                to.push(distance);
                for (i, a) in self.patterns.iter().enumerate() {
                    for b in &self.patterns[..i] {
                        let shift = (a.phase - b.phase).abs() * resident;
                        to.extend([distance + shift, (distance - shift).abs()]);
                    }
                }
            }
            layer *= f64::from(count);
        }
    }
}

/// Rows of so many lines that stores fill share few of them with their neighbours.
const SHARED_ENDS: i64 = 16;

/// When accesses happen.
#[derive(PartialEq, Eq, Hash)]
struct PhasesKey {
    structure: usize,
}

impl Question for PhasesKey {
    type Answer = Vec<f64>;
}

impl Question for PatternsKey {
    type Answer = Vec<PatternKind>;
}

/// The accesses to a field on one side, whose conditions are all the same.
#[derive(PartialEq, Eq, Hash)]
struct PatternsKey {
    structure: usize,
    field: usize,
    side: Option<Side>,
    timed: bool,
}

/// A [`Pattern`] without its conditions.
struct PatternKind {
    /// Which of the accesses it is like.
    like: usize,
    inner: Option<[Intervals; 3]>,
    steps: SmallVec<[[i64; 3]; 4]>,
    offsets: SmallVec<[Region; 8]>,
    phase: f64,
}

impl PatternKind {
    fn pattern<'a>(&self, within: Left, like: &'a Touch) -> Pattern<'a> {
        let Self { inner, steps, offsets, phase, .. } = self;
        Pattern { like, inner: inner.clone(), steps: steps.clone(), within, offsets: offsets.clone(), phase: *phase }
    }
}

/// What conditions leave of coordinates.
type Left = [Option<(i64, i64)>; 3];

/// These accesses by what moves alike at about the same time, what conditions leave of it being the same.
fn kinds(subject: &Subject, touches: &[&Touch], phases: Option<&[f64]>) -> Vec<PatternKind> {
    let mut kinds: Vec<(PatternKind, Vec<Region>)> = Vec::new();
    let mut left: Vec<Left> = Vec::new();
    for (i, &touch) in touches.iter().enumerate() {
        let phase = phases.and_then(|phases| phases.get(touch.position)).copied().unwrap_or(0.0);
        let judged = kinds.iter().position(|own| touches[own.0.like].guard == touch.guard && touches[own.0.like].moves_like(touch));
        let within = judged.map_or_else(|| within(subject, touch), |own| left[own]);
        let [x, y, z] = [0, 1, 2].map(|i| Intervals::point(touch.coords[i].constant));
        let offset = Region { x, y, z };
        let alike = |(own, left): (&(PatternKind, Vec<Region>), &Left)| {
            own.0.phase == phase && *left == within && touches[own.0.like].moves_like(touch)
        };
        match kinds.iter().zip(&left).position(alike) {
            Some(at) => kinds[at].1.push(offset),
            None => {
                let steps =
                    subject.groups.iter().map(|group| [0, 1, 2].map(|i| i64::from(touch.coords[i].coefficient(group.id)))).collect();
                let kind = PatternKind { like: i, inner: inner(subject, touch), steps, offsets: SmallVec::new(), phase };
                kinds.push((kind, vec![offset]));
                left.push(within);
            }
        }
    }
    kinds.into_iter().map(|(kind, offsets)| PatternKind { offsets: joined(&offsets), ..kind }).collect()
}

/// Steps of a block's life that are told apart.
const STEPS: f64 = 8.0;

/// When each access happens, by position, as the share of all that a block loads that was loaded before: an access to rows that an earlier
/// one has brought takes no time. Stores come last of all. Accesses within one loop take turns, and are put in the middle of it.
pub fn phases(subject: &Subject) -> Rc<Vec<f64>> {
    match subject.structure {
        Some(structure) => subject.known.get(PhasesKey { structure }, |_| times(subject)),
        None => Rc::new(times(subject)),
    }
}

/// [`phases`], found now.
fn times(subject: &Subject) -> Vec<f64> {
    let mut order: Vec<(&Field, &Touch)> =
        subject.fields.iter().flat_map(|field| field.touches.iter().map(move |touch| (field, touch))).collect();
    order.sort_unstable_by_key(|(_, touch)| touch.position);
    // Which accesses of a field move alike: the first of them.
    let mut kinds: Vec<usize> = Vec::with_capacity(order.len());
    let mut firsts: Vec<usize> = Vec::new();
    for (i, &(field, touch)) in order.iter().enumerate() {
        let alike = |first: &&usize| {
            let (other, before) = order[**first];
            std::ptr::eq(other, field) && touch.loops == before.loops && (0..3).all(|i| before.coords[i].terms() == touch.coords[i].terms())
        };
        let first = firsts.iter().find(alike).copied().unwrap_or(i);
        if first == i {
            firsts.push(i);
        }
        kinds.push(first);
    }
    let mut spans: SmallVec<[(usize, [f64; 3]); 4]> = SmallVec::new();
    let mut phases = vec![1.0; order.last().map_or(0, |(_, touch)| touch.position + 1)];
    let mut time = 0.0;
    let mut begun: Option<(VarId, f64, usize)> = None;
    let mut ends = Vec::new();
    for (i, &(field, touch)) in order.iter().enumerate() {
        if matches!(touch.kind, AccessKind::Store(_)) {
            continue;
        }
        // Alike of all that move like the first.
        let span = match spans.iter().find(|(first, _)| *first == kinds[i]) {
            Some((_, span)) => *span,
            None => {
                let span = [0, 1, 2].map(|i| {
                    let lanes =
                        subject.lanes.iter().map(|lane| i64::from(touch.coords[i].coefficient(lane.id)).abs() * i64::from(lane.count - 1));
                    (lanes.sum::<i64>() + 1) as f64
                });
                spans.push((kinds[i], span));
                span
            }
        };
        let earlier = order[..i].iter().zip(&kinds).filter(|(_, kind)| **kind == kinds[i]);
        let covered = earlier.map(|((_, before), _)| {
            let part = |i: usize| match (touch.coords[i].constant - before.coords[i].constant).abs() as f64 {
                0.0 => 1.0,
                apart => (1.0 - apart / span[i]).max(0.0),
            };
            part(0) * part(1) * part(2)
        });
        let trips: f64 = touch.loops.iter().map(|var| f64::from(var.count)).product();
        let bytes = span.iter().product::<f64>() * field.geometry.element as f64 * trips;
        let fresh = (1.0 - covered.fold(0.0, f64::max)) * bytes;
        match (touch.loops.first(), begun) {
            (Some(outer), Some((var, _, _))) if outer.id == var => {}
            (Some(outer), _) => begun = Some((outer.id, time, ends.len())),
            (None, _) => begun = None,
        }
        phases[touch.position] = time;
        time += fresh;
        ends.push(touch.position);
        if let Some((_, start, first)) = begun {
            for &position in &ends[first..] {
                phases[position] = (start + time) / 2.0;
            }
        }
    }
    for &position in &ends {
        // Coarse, so that few different runs remain.
        phases[position] = if time > 0.0 { (phases[position] / time * STEPS).round() / STEPS } else { 0.0 };
    }
    phases
}

/// Whether all stores of a field leave no trace in the cache.
pub fn bypasses(field: &Field) -> bool {
    let mut stores = field.touches.iter().filter(|touch| Side::Stores.has(touch.kind)).peekable();
    stores.peek().is_some() && stores.all(|touch| touch.kind == AccessKind::Store(StorePolicy::NonTemporal))
}
