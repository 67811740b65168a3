//! Written accesses in terms of blocks, lanes and loops: folding, written-out loops, guards, and what two points of a thread share.

use super::conditions::{Condition, FARTHEST};
use super::raw::{RawAccess, RawCoordinate, RawField, RawProxy};
use super::reader::Reader;
use super::resolve::{PIECES_OF_ACCESS, Pieces, Resolver, Unplaced};
use super::run::Run;
use super::symbol::{Linear, Symbol, mentioned};
use super::wrong::{Result, wrong};
use super::{AccessKind, AccessRef, AffineBound, Indirect, LoadPath, Pattern, TensorPlace};
use crate::affine::Affine;
use crate::near::did_you_mean;
use rustc_hash::{FxBuildHasher, FxHashMap};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::hash::{BuildHasher, Hash, Hasher};
use std::ops::Range;
use toml::Spanned;

/// What comes of placing an access.
type Placing<T> = std::result::Result<T, Unplaced>;

const BESIDE: &str = "loops nest in the order of the file, but for those with `beside`";

/// Accesses that folding and written-out loops may make of one.
pub(super) const COPIES: i64 = 4096;

/// One access as written: what it touches, and the loop it is in.
pub(super) struct Item {
    pub(super) access: AccessRef,
    pub(super) within: Option<usize>,
    /// Whether one of its conditions may fail.
    pub(super) conditional: bool,
    /// When it happens, ascending: trips of what is written out, in the order of the text, and in each of them points.
    pub(super) times: SmallVec<[u32; 2]>,
    /// How many of these times are written out one after another, the least of all lists; `None` where no loop is.
    pub(super) run: Option<Run>,
}

impl Item {
    /// It happens when another does, too.
    fn happens(&mut self, other: &Self) {
        self.run = self.run.into_iter().chain(other.run).min();
        for time in &other.times {
            if let Err(at) = self.times.binary_search(time) {
                self.times.insert(at, *time);
            }
        }
    }

    /// The points, of so many, that it is of, ascending.
    pub(super) fn points(&self, of: usize) -> BTreeSet<u32> {
        self.times.iter().map(|&time| time % (of as u32).max(1)).collect()
    }
}

/// The accesses of one list of a field, each address once.
pub(super) struct Distinct {
    pub(super) items: Vec<Item>,
    /// Whether one of them mentions lanes or blocks, so that it depends on how the launch is divided.
    pub(super) tied: bool,
    /// Loops that are written out for one of them, a bit each.
    pub(super) unrolled: u32,
    /// Positions of items by the hash of what accesses that do the same share.
    known: FxHashMap<u64, SmallVec<[u32; 2]>>,
}

/// The field whose accesses are placed.
pub(super) struct Target<'a> {
    pub(super) field: &'a RawField,
    pub(super) tensor: u16,
    pub(super) place: &'a TensorPlace,
    /// Elements from one index to the next along each dimension; of one element, its bytes.
    strides: SmallVec<[i64; 4]>,
    element: u32,
}

impl<'a> Target<'a> {
    pub(super) fn new(field: &'a RawField, tensor: u16, place: &'a TensorPlace) -> Self {
        let (strides, element) = match place {
            TensorPlace::Image { format, .. } => (SmallVec::from_slice(&[1; 2]), format.bytes()),
            TensorPlace::Buffer { element, dims, layout, .. } => {
                let packed = || (0..dims.len()).map(|i| dims[i + 1..].iter().product()).collect();
                (if layout.strides.is_empty() { packed() } else { SmallVec::from_slice(&layout.strides) }, element.bytes())
            }
        };
        Self { field, tensor, place, strides, element }
    }
}

/// A form and where it stands in the file.
type Placed<'a> = (Cow<'a, Linear>, Range<usize>);

/// The number of a point along each axis; then the trip of each loop.
type Point = SmallVec<[i64; 8]>;

/// Puts coordinates of points in terms of blocks, lanes and loops.
pub(super) struct Placer<'a> {
    reader: &'a Reader<'a>,
    forms: Resolver<'a>,
    /// Axes along which the grid reaches beyond the domain.
    ragged: SmallVec<[bool; 3]>,
    /// What holds wherever anything happens.
    guards: Vec<Condition>,
}

/// The parts of a written access.
struct Parts<'a> {
    at: &'a [Spanned<RawCoordinate>],
    index: Option<&'a Spanned<RawProxy>>,
    width: u8,
    path: LoadPath,
    /// The loop it says to be in.
    within: Option<usize>,
    /// The same, where that is written out.
    written_out: Option<usize>,
    guard: &'a [Spanned<String>],
    /// Whether a condition of its own makes a branch.
    branch: bool,
    /// Whether nobody waits for it before threads meet.
    ahead: Option<Range<usize>>,
}

impl Distinct {
    /// Of about so many accesses.
    pub(super) fn of(accesses: usize) -> Self {
        let known = FxHashMap::with_capacity_and_hasher(accesses, FxBuildHasher);
        Self { items: Vec::with_capacity(accesses), tied: false, unrolled: 0, known }
    }

    /// Adds an access, unless one of them already does the same in the same branch. Where two differ in when they happen and one of them
    /// happens whenever the other does, that one stays. The first conditions, `points` of them, keep points in the domain.
    fn add(&mut self, item: Item, points: usize) {
        if item.access.indirect.is_some_and(|own| own.unknown()) || item.access.kind == AccessKind::Atomic {
            // Two unknown addresses differ, whatever stands for them; what two atomics do is twice what one does.
            return self.items.push(item);
        }
        let does = |item: &Item| (item.access.width, item.access.path, item.within, item.access.branch);
        // Most differ in a constant.
        let mut hasher = FxBuildHasher.build_hasher();
        item.access.coords.iter().for_each(|form| form.constant.hash(&mut hasher));
        let hash = hasher.finish();
        let alike = self.known.entry(hash).or_default();
        for i in alike.iter().map(|&i| i as usize) {
            if does(&self.items[i]) != does(&item) || self.items[i].access.coords != item.access.coords {
                continue;
            }
            if let Some(guard) = either(&self.items[i].access.guard, &item.access.guard, points) {
                let known = &mut self.items[i];
                known.access.guard = guard;
                known.access.ahead &= item.access.ahead;
                known.happens(&item);
                return;
            }
        }
        alike.push(self.items.len() as u32);
        self.items.push(item);
    }
}

/// The bounds that hold where one or the other list holds, if one implies the other.
fn either(one: &[AffineBound], other: &[AffineBound], points: usize) -> Option<Vec<AffineBound>> {
    // Points of a domain start at 0 and must not reach its extent; comparisons must reach 0; a range implies itself alone.
    let alike = |a: &AffineBound, b: &AffineBound| a.value.terms() == b.value.terms() && (a.extent, a.per_lane) == (b.extent, b.per_lane);
    let comparable = |(i, (a, b)): (usize, (&AffineBound, &AffineBound))| {
        alike(a, b) && (i < points || a.extent == AffineBound::UNBOUNDED || a.value.constant == b.value.constant)
    };
    if one.len() != other.len() || !one.iter().zip(other).enumerate().all(comparable) {
        return None;
    }
    let weaker = |a: &AffineBound, b: &AffineBound| match a.extent {
        AffineBound::UNBOUNDED => a.value.constant >= b.value.constant,
        _ => a.value.constant <= b.value.constant,
    };
    let implied = |a: &[AffineBound], b: &[AffineBound]| a.iter().zip(b).all(|(a, b)| weaker(a, b));
    match (implied(one, other), implied(other, one)) {
        (true, _) => Some(one.to_vec()),
        (_, true) => Some(other.to_vec()),
        _ => None,
    }
}

impl<'a> Placer<'a> {
    pub(super) fn new(reader: &'a Reader<'a>, forms: Resolver<'a>, guards: &[Spanned<String>]) -> Result<Self> {
        let ragged = (0..reader.grid.len()).map(|axis| reader.domain[axis] % (reader.lanes(axis) * reader.fold[axis]) != 0).collect();
        Ok(Self { reader, forms, ragged, guards: reader.conditions(guards)? })
    }

    /// Adds the accesses that one written access stands for: one for each point of a thread.
    pub(super) fn place(&self, written: &Spanned<RawAccess>, target: &Target, kind: AccessKind, to: &mut Distinct) -> Placing<()> {
        let (reader, span) = (self.reader, written.span());
        let parts = self.parts(written, target)?;
        let mut indirect: Option<Indirect> = None;
        let rank = match target.place {
            TensorPlace::Image { kind, .. } => {
                if kind.is_one_dimensional() {
                    1
                } else {
                    2
                }
            }
            TensorPlace::Buffer { dims, .. } => dims.len(),
        };
        let mut proxied = |proxy: &'_ RawProxy, at: usize| {
            let elements = reader.extent(&proxy.spread)? as u64;
            let pattern = self.pattern(proxy)?;
            let image = matches!(target.place, TensorPlace::Image { .. });
            if image && elements > 1 {
                return wrong(
                    proxy.spread.span(),
                    "texels whose place depends on data are not counted",
                    Some("spread = 1: the proxy itself"),
                );
            }
            if indirect.is_some_and(|before| before.pattern != Pattern::Random || pattern != Pattern::Random) {
                let help = Some("one coordinate that depends on data, or all of them random");
                return wrong(proxy.proxy.span(), "coordinates of one access that are drawn by other patterns than random", help);
            }
            let before = indirect.map_or((1, 0), |before| (before.elements, before.drawn));
            // Buffers are listed slowest first once they are read.
            let bit = 1_u16.checked_shl(if image { at } else { rank.saturating_sub(1 + at) } as u32).unwrap_or(0);
            indirect = Some(Indirect { pattern, elements: elements.saturating_mul(before.0), drawn: before.1 | bit });
            Ok(Cow::Owned(reader.coordinate(proxy.proxy.get_ref(), &proxy.proxy.span())?.into_owned()))
        };
        let mut forms: SmallVec<[Placed; 4]> = SmallVec::new();
        if let Some(index) = parts.index {
            forms.push((proxied(index.get_ref(), 0)?, index.get_ref().proxy.span()));
        }
        for (at, coordinate) in parts.at.iter().enumerate() {
            let form = match coordinate.get_ref() {
                RawCoordinate::Number(number) => reader.coordinate(number, &coordinate.span())?,
                RawCoordinate::Proxy(proxy) => proxied(proxy, at)?,
            };
            forms.push((form, coordinate.span()));
        }
        if forms.len() != rank {
            let what = format!("`{}` has {rank} dimensions, this access {}", target.field.name.get_ref(), forms.len());
            return wrong(span, what, None)?;
        }
        let conditions = if parts.guard.is_empty() { vec![] } else { reader.conditions(parts.guard)? };
        let bounds = || self.guards.iter().chain(&conditions);
        // Axes along which points have accesses of their own.
        let mut along = 0;
        let (mut within, mut written_out) = (parts.within, parts.written_out.into_iter().collect::<SmallVec<[usize; 4]>>());
        for form in forms.iter().map(|form| form.0.as_ref()).chain(bounds().map(|bound| &bound.form)) {
            mentioned(form, &mut |symbol| {
                match *symbol {
                    Symbol::Bent(_) => {}
                    Symbol::Point(axis) => along |= 1_u32.checked_shl(axis.into()).unwrap_or(0),
                    Symbol::Lane(_) | Symbol::Block(_) => to.tied = true,
                    Symbol::Loop(n) => match &reader.loops[usize::from(n)] {
                        own if own.order.unrolled() => written_out.push(usize::from(n)),
                        own => match reader.inner(within, Some(own.number)) {
                            Some(inner) => within = inner,
                            None => return wrong(span.clone(), self.apart(within, own.number), Some(BESIDE)),
                        },
                    },
                }
                Ok(())
            })?;
        }
        to.unrolled |= written_out.iter().fold(0, |all, n| all | 1 << n);
        let counts = self.counts_of_points(&written_out, &span)?;
        let run = (!written_out.is_empty()).then(|| Run::of(&counts[..reader.fold.len()], &counts[reader.fold.len()..]));
        let mut next = Some(SmallVec::from_elem(0, counts.len()));
        while let Some(point) = next {
            let when = self.when(&point, &counts, u32::MAX);
            let (mut pieces, mut all) = (Some(Pieces::default()), 0);
            while let Some(mut own) = pieces {
                let mut coords: SmallVec<[Affine; 4]> = SmallVec::new();
                for (form, span) in &forms {
                    coords.push(self.forms.affine(form, &point, &mut own, span)?);
                }
                match target.place {
                    // The only row.
                    TensorPlace::Image { kind, .. } if kind.is_one_dimensional() => coords.push(Affine::constant(0)),
                    TensorPlace::Image { .. } => {}
                    // Buffers are listed slowest first.
                    TensorPlace::Buffer { .. } => coords.reverse(),
                }
                let mut guard = self.domain(&point, &span)?;
                let points = guard.len();
                for Condition { form, extent, per_lane, at } in bounds() {
                    let value = self.forms.affine(form, &point, &mut own, at)?;
                    if self.forms.farthest(&value) > FARTHEST {
                        return wrong(at.clone(), "this exceeds 64 bits", None)?;
                    }
                    guard.push(AffineBound { value, extent: *extent, per_lane: *per_lane });
                }
                guard.extend(own.bounds());
                self.fits(&coords, target, &span)?;
                let stated = points..points + self.guards.len() + conditions.len();
                let fails = |bound: &AffineBound| self.forms.may_fail(bound);
                let own_branch = parts.branch
                    && kind == AccessKind::Load
                    && !conditions.is_empty()
                    && (self.ragged.contains(&true) || guard[stated].iter().any(fails));
                let branch = own_branch.then(|| self.when(&point, &counts, along) as u32);
                let conditional = guard.iter().any(fails);
                let (width, path, ahead) = (parts.width, parts.path, parts.ahead.is_some());
                if let Some(span) = parts.ahead.as_ref().filter(|_| kind != AccessKind::Load) {
                    return wrong(span.clone(), "nobody waits for what is stored", Some("`ahead` of a load"))?;
                }
                let access = AccessRef { tensor: target.tensor, kind, coords, width, guard, path, indirect, branch, ahead, times: 1 };
                let times = SmallVec::from_elem(when as u32, 1);
                to.add(Item { access, within, conditional, times, run }, points);
                all += 1;
                if all > PIECES_OF_ACCESS {
                    let what = format!("this access has more than {PIECES_OF_ACCESS} pieces in which it is affine");
                    return wrong(span, what, Some("fewer quotients, remainders, min and max in one access"))?;
                }
                pieces = own.next();
            }
            next = after(point, &counts);
        }
        Ok(())
    }

    /// When a point's trip comes: loops in the order of the file, the points of a thread within them, told apart along these axes.
    fn when(&self, point: &[i64], counts: &[i64], axes: u32) -> usize {
        let points = self.reader.fold.len();
        let own = |(axis, (&own, &count)): (usize, (&i64, &i64))| (if axes >> axis & 1 == 1 { own } else { 0 }, count);
        let within = point.iter().zip(counts).take(points).enumerate().rev().map(own);
        let all = point.iter().zip(counts).skip(points).map(|(&own, &count)| (own, count)).chain(within);
        all.fold(0, |all, (own, count)| all * count as usize + own as usize)
    }

    /// How the address of a proxy is drawn.
    fn pattern(&self, proxy: &RawProxy) -> Result<Pattern> {
        let Some(text) = &proxy.pattern else { return Ok(Pattern::Random) };
        let (span, own) = (text.span(), text.get_ref().as_str());
        if let Some(band) = own.strip_prefix("banded:") {
            let width = self.reader.linear(band, "banded:".len(), &span, own)?;
            return match width.constant {
                elements @ 1..=0x7fff_ffff if width.is_constant() => Ok(Pattern::Banded(elements as u64)),
                _ => wrong(span, format!("a band of {band}"), Some("elements of the band, from 1 to 2147483647, as in \"banded:64\"")),
            };
        }
        match own {
            "random" => Ok(Pattern::Random),
            "sorted" => Ok(Pattern::Sorted),
            _ => {
                let meant = did_you_mean(own, ["random", "sorted", "banded:64"]);
                wrong(
                    span,
                    format!("unknown pattern `{own}`{meant}"),
                    Some("random, sorted, or banded:64, 64 being the elements of the band"),
                )
            }
        }
    }

    fn parts<'b>(&self, written: &'b Spanned<RawAccess>, target: &'b Target) -> Result<Parts<'b>> {
        let path = target.field.path;
        let with = match written.get_ref() {
            RawAccess::At(at) => {
                return Ok(Parts {
                    at,
                    index: None,
                    width: 1,
                    path,
                    within: None,
                    written_out: None,
                    guard: &[],
                    branch: true,
                    ahead: None,
                });
            }
            RawAccess::With(with) => with,
        };
        if with.at.is_some() == with.index.is_some() {
            let help = "at = [\"tx\", \"ty\"], or index = { proxy = \"tx\", spread = 64 } for one dimension";
            return wrong(written.span(), "an access has either `at` or `index`", Some(help));
        }
        let width = match &with.width {
            None => 1,
            Some(width) => match self.reader.number(width)? {
                known @ (1 | 2 | 4 | 8 | 16) => known as u8,
                other => return wrong(width.span(), format!("a width of {other}"), Some("1, 2, 4, 8 or 16 elements")),
            },
        };
        let (mut within, mut written_out) = (None, None);
        if let Some(name) = &with.within {
            match self.reader.names.iter().position(|own| own == name.get_ref()) {
                Some(i) if self.reader.loops[i].order.unrolled() => written_out = Some(i),
                Some(i) => within = Some(self.reader.loops[i].number),
                None => return wrong(name.span(), self.reader.no_loop(name.get_ref()), None),
            }
        }
        if let Some(branch) = with.branch.as_ref().filter(|_| with.guard.is_empty()) {
            return wrong(branch.span(), "there is no condition that `branch` could be of", Some("guard = [\"tx < n\"]"));
        }
        let branch = with.branch.as_ref().is_none_or(|branch| *branch.get_ref());
        let at = with.at.as_deref().unwrap_or_default();
        Ok(Parts {
            at,
            index: with.index.as_ref(),
            width,
            path: with.path.unwrap_or(path),
            within,
            written_out,
            guard: &with.guard,
            branch,
            ahead: with.ahead.as_ref().filter(|ahead| *ahead.get_ref()).map(Spanned::span),
        })
    }

    /// How many points a thread computes along each axis; then how many trips of each loop are written out, 1 where none is.
    fn counts_of_points(&self, written_out: &[usize], span: &Range<usize>) -> Result<Point> {
        let trips = self.reader.loops.iter().enumerate().map(|(i, own)| if written_out.contains(&i) { own.trips } else { 1 });
        let counts: Point = self.reader.fold.iter().copied().chain(trips).collect();
        let all = counts.iter().try_fold(1_i64, |n, &count| n.checked_mul(count));
        if all.is_none_or(|all| all > COPIES) {
            let help = "fold less, or keep loops with order = \"sequential\"";
            return wrong(span.clone(), format!("folding and written-out loops make more than {COPIES} accesses of this one"), Some(help));
        }
        Ok(counts)
    }

    /// The bounds that keep points in the domain, where the grid reaches beyond it.
    fn domain(&self, point: &[i64], span: &Range<usize>) -> Placing<Vec<AffineBound>> {
        let mut bounds = Vec::with_capacity(self.ragged.iter().filter(|ragged| **ragged).count() + self.guards.len());
        for (axis, &ragged) in self.ragged.iter().enumerate() {
            let reader = self.reader;
            if ragged {
                let mut coordinate = Affine::var(Symbol::Point(axis as u8));
                coordinate.constant = -reader.origin[axis];
                let value = self.forms.affine(&coordinate, point, &mut Pieces::default(), span)?;
                bounds.push(AffineBound { value, extent: reader.domain[axis], per_lane: false });
            }
        }
        Ok(bounds)
    }

    /// What is said of an access in two loops that stand beside each other.
    fn apart(&self, one: Option<usize>, other: usize) -> String {
        let name = |number| self.reader.name_of(number);
        format!("`{}` and `{}` stand beside each other: nothing is in both", one.map_or("", name), name(other))
    }

    /// Whether every address stays far within 64 bits, its factors in elements within 32.
    fn fits(&self, coords: &[Affine], Target { strides, element, .. }: &Target, span: &Range<usize>) -> Result<()> {
        let far = |(form, &stride): (&Affine, &i64)| self.forms.farthest(form).saturating_mul(stride.unsigned_abs());
        let reach = coords.iter().zip(strides).map(far).fold(0, u64::saturating_add);
        if reach.saturating_mul((*element).into()) > FARTHEST {
            return wrong(span.clone(), "the address exceeds 64 bits", None);
        }
        if coords.len() <= 3 {
            return Ok(());
        }
        // Dimensions slower than the third count as planes of the third.
        let planes = coords.iter().zip(strides).take(coords.len().saturating_sub(3)).flat_map(|(form, &stride)| {
            let planes = i128::from(stride / strides[strides.len() - 3].max(1));
            form.terms().iter().map(move |term| i128::from(term.1).abs() * planes)
        });
        match planes.sum::<i128>() > i128::from(i32::MAX) {
            true => wrong(span.clone(), "the address exceeds 64 bits, or a factor of it 32 bits", None),
            false => Ok(()),
        }
    }
}

/// The point that follows, the first axis running fastest.
fn after(mut point: Point, counts: &[i64]) -> Option<Point> {
    for (number, &count) in point.iter_mut().zip(counts) {
        *number += 1;
        if *number < count {
            return Some(point);
        }
        *number = 0;
    }
    None
}
