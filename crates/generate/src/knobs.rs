//! The knobs of an expression, and what schedules they make.

mod legal;
mod offers;

use crate::expr::{AxisId, Index, Tensor, TensorExpr};
use crate::knobs::legal::meeting_pays;
use crate::knobs::offers::{
    Inputs, MOST_PLACES, Rounds, accumulators, further, places, reduction_lanes, rounds, stage_trips, stages, without_rest,
};
use crate::layout::Place;
use crate::parts::Part;
use crate::passes::{Pass, Passes};
use crate::schedule::{Bind, Known, Loop, Near, Schedule, Stage, WINDOW, axis, deep_axis, runs_along};
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::ops::Range;
use warpsight_ir::{Config, ConfigSpace, Knob, Name, Scalar};

/// Values of the knob `tile_*` for the three largest parallel axes, largest extent first.
const TILES: [&[i32]; 3] = [&[1, 2, 4, 8], &[1, 2, 4, 8], &[1, 2]];
/// The same where only one axis is long: it alone offers choice.
const LONG_TILES: &[i32] = &[1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32];
/// Further shapes where no axis is longer than [`SHORT`], so that large groups do not fit.
const SHORT_GROUPS: [[u32; 3]; 6] = [[8, 1, 1], [8, 4, 1], [4, 4, 1], [2, 8, 1], [8, 2, 2], [2, 2, 2]];
/// See [`SHORT_GROUPS`].
const SHORT: i64 = 32;
/// Further tiles of the axis that rows of held results lie along.
const HELD_TILES: &[i32] = &[16, 32];
/// Further shapes there, that axis first: few lanes for each row, or all of a group.
const HELD_GROUPS: [[u32; 3]; 12] = [
    [1, 1, 1],
    [2, 1, 1],
    [4, 1, 1],
    [8, 1, 1],
    [32, 1, 1],
    [128, 1, 1],
    [256, 1, 1],
    [1, 4, 1],
    [1, 16, 1],
    [1, 64, 1],
    [64, 4, 1],
    [32, 2, 1],
];
/// An axis below this extent offers little choice.
const LONG: i64 = 8;
/// Work-group shapes along a single long axis.
const LONG_GROUPS: [u32; 9] = [4, 8, 16, 32, 64, 96, 128, 192, 256];
/// Further shapes where lanes share reductions, so that a group may have one result alone.
const SHARING_GROUPS: [[u32; 3]; 2] = [[1, 1, 1], [2, 1, 1]];
/// The lanes of these.
const SHARING_LANES: u32 = 2;
/// Work-group shapes over the same three axes; each is clipped to the extents.
const GROUPS: [[u32; 3]; 7] = [[64, 1, 1], [8, 8, 1], [16, 4, 1], [4, 16, 1], [16, 1, 1], [4, 4, 4], [32, 8, 1]];
/// The knob that says which of these.
pub const GROUP: &str = "group";
/// Steps of a deep reduction that are written out at most, but for what is read in wider blocks.
const UNROLLED: i32 = 8;
/// Labels of the knob `stage_ahead`: what a trip copies is loaded when it begins, or a trip ahead, while the one before computes.
const WHEN_LOADED: [&str; 2] = ["none", "trip"];
/// In place of values of the knobs of arrangement: one lane, axes in their order.
const NOT_ARRANGED: i32 = -1;

/// What work-items of a group may meet for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Meeting {
    /// To copy inputs to local memory.
    pub copies: bool,
    /// To share reductions.
    pub shares: bool,
}

impl Meeting {
    /// Whatever there is.
    pub const ANY: Self = Self { copies: true, shares: true };

    /// Whether work-items may meet for this.
    pub fn allows(self, what: Self) -> bool {
        (self.copies || !what.copies) && (self.shares || !what.shares)
    }
}

/// What the knobs of an expression mean. Positions of knobs in the space are fixed by the order of fields here.
#[derive(Clone, Debug)]
pub struct Knobs {
    /// The parallel axes that are tiled and spread over lanes, largest extent first, at most three.
    pub main: Vec<AxisId>,
    /// The axes that may be vectorised; the first is the contiguous one, the last may be the deep reduction axis.
    pub vector_axes: Vec<AxisId>,
    /// Longest reduction axis that is no window.
    pub deep: Option<AxisId>,
    /// The other reduction axes in order.
    pub window: Vec<AxisId>,
    /// Tensors that may lie in several ways: positions in `inputs`, then `inputs.len()` for the output; and these ways, those of the space first.
    pub placeable: Vec<(usize, Vec<Place>)>,
    /// How many of them are of the space: the others configurations may have, but no walk comes by them.
    pub usual: Vec<usize>,
    /// Orders of the rolled reduction loops, outermost first.
    pub orders: Vec<Vec<AxisId>>,
    /// Which inputs work-items of a group copy to local memory together: none first.
    pub stages: Vec<Inputs>,
    /// How many trips along the deep axis, inside of the loop in which inputs are copied, may read what is copied at a time.
    pub stage_trips: Vec<i32>,
    /// Lanes that may share a reduction.
    pub reduction_lanes: Vec<i32>,
    /// Variables that a result may be combined in.
    pub accumulators: Vec<i32>,
    /// How many rounds a group may go along which axis: none first.
    pub rounds: Vec<Option<Rounds>>,
    /// Which inputs work-items may keep in registers meanwhile: none first.
    pub keeps: Vec<Inputs>,
    /// Positions of the knobs by which work-items of a group meet, each with its value by which they do not, and for what they meet.
    pub meeting: SmallVec<[(usize, i32, Meeting); 2]>,
    /// Work-group shapes over the main axes.
    pub groups: Vec<Vec<u32>>,
    /// What each work-item walks over in any case.
    pub known: Option<Known>,
    /// Whether groups hold rows of results, along the first of the main axes.
    pub across: bool,
    /// The space people see.
    pub space: ConfigSpace,
}

impl Knobs {
    /// The knobs of an expression.
    pub fn of(expr: &TensorExpr, passes: Passes) -> Self {
        let parallel = expr.axes.len();
        let mut main: Vec<AxisId> = (0..parallel).map(AxisId).filter(|&a| !expr.written_out(a)).collect();
        // A group has whole rows along one axis: that is spread in any case.
        let along = expr.across.as_ref().map(|own| own.along);
        main.sort_by_key(|a| (Some(*a) != along, std::cmp::Reverse(expr.axes[a.0].extent)));
        main.truncate(3);

        let reduce = (0..expr.reduce.len()).map(|i| AxisId(parallel + i));
        let deep = deep_axis(expr);
        // A second long reduction axis is an ordinary rolled loop, like a window that is never unrolled.
        let window: Vec<AxisId> = reduce.filter(|a| Some(*a) != deep).collect();
        let mut orders = vec![deep.into_iter().chain(window.iter().copied()).collect::<Vec<_>>()];
        let reversed: Vec<AxisId> = orders[0].iter().rev().copied().collect();
        if reversed != orders[0] {
            orders.push(reversed);
        }
        let tensors = expr.inputs.iter().chain([&expr.output]).enumerate();
        // Buffers alone are read and written in one kernel; what is written in parts lies in nothing that these cut.
        let itself = expr.inputs.iter().any(|input| input.name == expr.output.name);
        let shared = (itself || expr.kept().is_some()).then_some(expr.inputs.len());
        let movable = |(t, tensor): &(usize, &Tensor)| shared != Some(*t) && tensor.element != Scalar::I32;
        let part = Part::proper(expr);
        let cuts = |place: &Place| {
            let packed = part.as_ref().zip(place.packed(expr.output.shape.len()));
            packed.is_some_and(|(part, (dim, block))| part.cuts(dim, expr.output.shape.get(dim).copied().unwrap_or(0), block))
        };
        let whole =
            |t: usize, of: Vec<Place>| -> Vec<Place> { of.into_iter().filter(|place| t < expr.inputs.len() || !cuts(place)).collect() };
        let own = |t: usize| (t, whole(t, places(expr, t, passes)));
        let mut placeable: Vec<(usize, Vec<Place>)> = tensors.filter(movable).map(|(t, _)| own(t)).filter(|own| own.1.len() > 1).collect();
        // Of many tensors all ways together are too many to look at: the last inputs lie row by row.
        let together =
            |own: &[(usize, Vec<Place>)]| own.iter().try_fold(1_usize, |n, own| n.checked_mul(own.1.len())).unwrap_or(usize::MAX);
        while together(&placeable) > MOST_PLACES
            && let Some(last) = placeable.iter().rposition(|own| own.0 < expr.inputs.len())
        {
            placeable.remove(last);
        }

        let mut vector_axes: Vec<AxisId> = vec![];
        let rank = expr.store.len();
        let along = |d: usize| expr.store.get(d).and_then(single_axis);
        let results = placeable.iter().filter(|own| own.0 == expr.inputs.len()).flat_map(|own| &own.1);
        // Those of images and the last dimension also where nothing can be packed.
        let dims = [rank.saturating_sub(1), Place::Image.innermost(rank)].into_iter().chain(results.map(|place| place.innermost(rank)));
        for axis in dims.filter_map(along).chain(main.first().copied()) {
            if axis.0 < parallel && !vector_axes.contains(&axis) && !expr.written_out(axis) {
                vector_axes.push(axis);
            }
        }
        vector_axes.extend(deep.filter(|&a| runs_along(expr, a)));
        let usual = placeable.iter().map(|own| own.1.len()).collect();
        placeable.iter_mut().for_each(|(t, known)| known.extend(whole(*t, further(expr, *t, passes))));

        let (stages, reduction_lanes) = (stages(expr, deep, &main), reduction_lanes(expr, deep));
        let stage_trips = stage_trips(expr, deep.filter(|_| stages.len() > 1));
        let accumulators = accumulators(expr, deep);
        let (rounds, keeps) = rounds(expr, &main);
        let space = ConfigSpace { knobs: vec![] };
        let (groups, meeting) = (vec![], SmallVec::new());
        let points = expr.axes.iter().enumerate().filter(|own| expr.written_out(AxisId(own.0))).map(|own| own.1.extent as u32).product();
        let known = expr.known_terms().map(|(terms, longest)| Known { points, terms: terms as u32, longest: longest as u32 });
        let mut knobs = Self {
            main,
            vector_axes,
            deep,
            window,
            placeable,
            usual,
            orders,
            stages,
            stage_trips,
            reduction_lanes,
            accumulators,
            rounds,
            keeps,
            meeting,
            groups,
            known,
            across: expr.across.is_some(),
            space,
        };
        knobs.groups = knobs.groups(expr);
        knobs.space.knobs = knobs.describe(expr, passes.has(Pass::Rounds));
        let position = |name: &str| knobs.space.knobs.iter().position(|knob| *knob.name == *name);
        let copies = ("stage", 0, Meeting { copies: true, shares: false });
        let shares = ("reduction_lanes", 1, Meeting { copies: false, shares: true });
        let known = |(name, apart, what): (&str, i32, Meeting)| Some((position(name)?, apart, what));
        let meeting = [copies, shares].into_iter().filter_map(known).collect();
        knobs.meeting = meeting;
        knobs
    }

    /// Whether one axis alone is long.
    fn alone(&self, expr: &TensorExpr) -> bool {
        self.main.iter().filter(|&&a| axis(expr, a).extent >= LONG).count() == 1
    }

    fn window_unrollable(&self, expr: &TensorExpr) -> bool {
        !self.window.is_empty() && self.window.iter().all(|&a| axis(expr, a).extent <= WINDOW)
    }

    /// The knobs; rounds are a part of the space, or beside it.
    fn describe(&self, expr: &TensorExpr, going: bool) -> Vec<Knob> {
        let number = |name: String, values: Vec<i32>| Knob { name: name.into(), values, labels: vec![], further: vec![] };
        let labelled = |name: &str, labels: Vec<String>| Knob {
            name: name.into(),
            values: (0..labels.len() as i32).collect(),
            labels: labels.into_iter().map(Name::from).collect(),
            further: vec![],
        };
        let mut knobs = vec![];
        for (i, &a) in self.main.iter().enumerate() {
            let axis = axis(expr, a);
            let tiles = if i == 0 && self.alone(expr) { LONG_TILES } else { TILES[i] };
            let further = if expr.across.as_ref().is_some_and(|own| own.along == a) { HELD_TILES } else { &[] };
            let mut tiles: Vec<i32> = tiles.iter().chain(further).copied().filter(|&t| i64::from(t) <= axis.extent).collect();
            tiles.extend(without_rest(axis.extent));
            tiles.sort_unstable();
            tiles.dedup();
            knobs.push(number(format!("tile_{}", axis.name), tiles));
        }
        let longest = self.vector_axes.iter().map(|&a| axis(expr, a).extent).max().unwrap_or(1);
        knobs.push(number("vector".into(), [1, 2, 4, 8, 16].into_iter().filter(|&v| v == 1 || i64::from(v) < 2 * longest).collect()));
        knobs.push(labelled("vector_axis", self.names(expr, &self.vector_axes)));
        let depth = self.deep.map_or(1, |a| axis(expr, a).extent);
        knobs.push(number("unroll".into(), [1, 2, 4, 8, 16].into_iter().filter(|&u| i64::from(u) <= depth).collect()));
        let window: &[&str] = match self.window_unrollable(expr) {
            _ if expr.coefficients.is_some() => &["unrolled"],
            true => &["rolled", "unrolled"],
            false => &["rolled"],
        };
        knobs.push(labelled("window", window.iter().map(|own| (*own).to_owned()).collect()));
        let order = |o: &Vec<AxisId>| self.names(expr, o).concat();
        knobs.push(labelled("order", self.orders.iter().map(order).collect()));
        let names = |own: &Inputs| own.iter().map(|&t| &*expr.inputs[t].name).collect::<Vec<_>>().join("+");
        let label = |own: &Inputs| if own.is_empty() { "none".to_owned() } else { names(own) };
        let beside = |name: &str, mut labels: Vec<String>, usual: usize| {
            let further = labels.split_off(usual).into_iter().map(Name::from).collect();
            Knob { further, ..labelled(name, labels) }
        };
        if self.stages.len() > 1 {
            knobs.push(labelled("stage", self.stages.iter().map(label).collect()));
            knobs.push(labelled("stage_ahead", WHEN_LOADED.map(str::to_owned).to_vec()));
        }
        if self.stage_trips.len() > 1 {
            knobs.push(number("stage_trips".into(), self.stage_trips.clone()));
        }
        if self.reduction_lanes.len() > 1 {
            knobs.push(number("reduction_lanes".into(), self.reduction_lanes.clone()));
        }
        if self.accumulators.len() > 1 {
            knobs.push(number("accumulators".into(), self.accumulators.clone()));
        }
        if self.rounds.len() > 1 {
            let round = |own: &Option<Rounds>| own.map_or("none".to_owned(), |(a, trips)| format!("{trips}{}", axis(expr, a).name));
            let usual = |all: usize| if going { all } else { 1 };
            knobs.push(beside("rounds", self.rounds.iter().map(round).collect(), usual(self.rounds.len())));
            knobs.push(beside("keep", self.keeps.iter().map(label).collect(), usual(self.keeps.len())));
        }
        knobs.push(labelled(GROUP, self.groups.iter().map(|g| g.iter().map(u32::to_string).collect::<Vec<_>>().join("x")).collect()));
        knobs.push(labelled("lanes_first", self.names(expr, &self.main[..self.main.len().min(2)])));
        for ((t, places), &usual) in self.placeable.iter().zip(&self.usual) {
            let Tensor { name, shape, .. } = expr.tensor(*t);
            knobs.push(beside(&format!("place_{name}"), places.iter().map(|place| place.label(shape.len())).collect(), usual));
        }
        knobs
    }

    fn names(&self, expr: &TensorExpr, axes: &[AxisId]) -> Vec<String> {
        if axes.is_empty() { vec!["none".into()] } else { axes.iter().map(|&a| axis(expr, a).name.to_string()).collect() }
    }

    /// Work-group shapes over the main axes: no longer along an axis than the next power of two of its extent, each once.
    fn groups(&self, expr: &TensorExpr) -> Vec<Vec<u32>> {
        let mut shapes: Vec<Vec<u32>> = vec![];
        let long = if self.alone(expr) { LONG_GROUPS.as_slice() } else { &[] };
        let short = self.main.iter().all(|&a| axis(expr, a).extent <= SHORT);
        let short = if short { SHORT_GROUPS.as_slice() } else { &[] };
        let sharing = if self.reduction_lanes.len() > 1 { SHARING_GROUPS.as_slice() } else { &[] };
        let held = if expr.across.is_some() { HELD_GROUPS.as_slice() } else { &[] };
        let further = [sharing, short, held].concat();
        for shape in GROUPS.into_iter().chain(long.iter().map(|&lanes| [lanes, 1, 1])).chain(further) {
            let clip = |(&a, &lanes): (&AxisId, &u32)| lanes.min((axis(expr, a).extent as u32).next_power_of_two());
            let clipped: Vec<u32> = self.main.iter().zip(&shape).map(clip).collect();
            if !shapes.contains(&clipped) {
                shapes.push(clipped);
            }
        }
        shapes
    }

    /// Lanes of a configuration along each of its axes that have some, by name.
    pub fn lanes<'e>(&self, expr: &'e TensorExpr, config: &Config) -> BTreeMap<&'e str, u32> {
        let at = self.space.knobs.iter().position(|knob| &*knob.name == GROUP);
        let group = at.and_then(|at| self.groups.get(*config.0.get(at)? as usize));
        let lanes = |(&a, &lanes): (&AxisId, &u32)| (&*axis(expr, a).name, lanes);
        group.into_iter().flat_map(|group| self.main.iter().zip(group).map(lanes)).filter(|own| own.1 > 1).collect()
    }

    /// The value of the knob of groups with these lanes.
    pub fn group(&self, expr: &TensorExpr, lanes: &BTreeMap<&str, u32>) -> Option<i32> {
        let known = lanes.keys().all(|name| self.main.iter().any(|&a| *axis(expr, a).name == **name));
        let wanted: Vec<u32> = self.main.iter().map(|&a| lanes.get(&*axis(expr, a).name).copied().unwrap_or(1)).collect();
        self.groups.iter().position(|own| known && *own == wanted).map(|at| at as i32)
    }

    /// The schedule of a configuration; `None` where it is not legal.
    pub fn schedule(&self, expr: &TensorExpr, config: &Config) -> Option<Schedule> {
        let mut schedule = self.loops(expr, self.values(config)?)?;
        self.place(expr, config, &mut schedule).then_some(schedule)
    }

    /// The values of the knobs before those of places; `None` of what is no configuration of this space.
    pub fn values<'c>(&self, config: &'c Config) -> Option<&'c [i32]> {
        let knobs = &self.space.knobs;
        let known = config.0.len() == knobs.len() && knobs.iter().zip(&config.0).all(|(k, v)| k.knows(*v));
        known.then(|| &config.0[..self.scheduled()])
    }

    /// Puts tensors where a configuration says, which makes this schedule; whether that is legal.
    pub fn place(&self, expr: &TensorExpr, config: &Config, schedule: &mut Schedule) -> bool {
        let places = &config.0[self.scheduled()..];
        self.placeable.iter().zip(places).for_each(|((t, known), &place)| schedule.places[*t] = known[place as usize]);
        self.agree(&config.0, places) && self.whole_blocks(expr, schedule)
    }

    /// Vector lanes of a configuration.
    pub fn vector(&self, config: &Config) -> Option<u32> {
        config.0.get(self.main.len()).map(|&width| width as u32)
    }

    /// What work-items of a group meet for by values of the knobs of a schedule, and of any that follow.
    pub fn meets(&self, values: &[i32]) -> Meeting {
        let own = self.meeting.iter().filter(|own| values.get(own.0).is_some_and(|&value| value != own.1));
        // Lanes that hold rows together are a matter of the group.
        let group = self.across.then(|| values.get(self.arranging().start)).flatten();
        let shares = group.and_then(|&group| self.groups.get(usize::try_from(group).ok()?)).is_some_and(|group| group[0] > 1);
        let first = Meeting { copies: false, shares };
        own.fold(first, |all, own| Meeting { copies: all.copies || own.2.copies, shares: all.shares || own.2.shares })
    }

    /// Whether tensors that are packed are so alike: blocks of two widths, or blocks and texels, are not in one kernel. Loops are unrolled
    /// further than usual for wide blocks only. Of values of all knobs before those of places, or more, and of these.
    pub fn agree(&self, values: &[i32], places: &[i32]) -> bool {
        let unroll = values[self.main.len() + 2];
        let own = self.placeable.iter().zip(places).map(|((_, known), &place)| known[place as usize]);
        let mut packed = own.filter_map(Place::packing);
        let first = packed.next();
        let alike = first.is_none_or(|first| packed.all(|own| own == first));
        alike && (unroll <= UNROLLED || first.is_some_and(|(_, block)| block.is_some_and(|block| i32::from(block) >= unroll)))
    }

    /// Every legal setting of the knobs that say what a work-item does, with every legal arrangement of work-items in groups: values of the
    /// two knobs that follow. All tensors are in buffers, and work-items of a group meet for what they may only.
    pub fn works<'a>(&'a self, expr: &'a TensorExpr, meeting: Meeting) -> impl Iterator<Item = (Vec<i32>, Vec<(Vec<i32>, Schedule)>)> + 'a {
        let (work, arranging) = self.space.knobs[..self.scheduled()].split_at(self.arranging().start);
        let alone: Vec<i32> = vec![NOT_ARRANGED; arranging.len()];
        ConfigSpace::combine(work).filter(move |values| meeting.allows(self.meets(values))).filter_map(move |values| {
            self.loops(expr, &[&values[..], &alone].concat())?;
            let arranged = |more: Vec<i32>| Some((more.clone(), self.loops(expr, &[&values[..], &more].concat())?));
            let allowed = |more: &Vec<i32>| !self.across || meeting.allows(self.meets(&[&values[..], more].concat()));
            let arrangements: Vec<_> = ConfigSpace::combine(arranging).filter(allowed).filter_map(arranged).collect();
            (!arrangements.is_empty()).then_some((values, arrangements))
        })
    }

    /// The knobs that say how work-items are arranged in groups: what each of them does is the same.
    pub fn arranging(&self) -> Range<usize> {
        self.scheduled() - 2..self.scheduled()
    }

    /// Positions of the knobs of rounds, and of what is kept meanwhile.
    pub fn going(&self) -> Option<[usize; 2]> {
        let first = self.arranging().start;
        (self.rounds.len() > 1).then(|| [first - 2, first - 1])
    }

    /// The knobs that say where tensors lie, the last ones.
    pub fn places(&self) -> &[Knob] {
        &self.space.knobs[self.scheduled()..]
    }

    /// The same with some of the places alone, and of tensors that are said to lie somewhere with that, too.
    pub fn places_where(&self, lies: impl Fn(Place) -> bool, at: &[Option<Place>]) -> Vec<Knob> {
        let own = self.placeable.iter().zip(&self.usual).zip(self.places()).map(|(((t, known), &usual), knob)| {
            let there = |place: Place| at.get(*t).is_some_and(|own| *own == Some(place));
            let wanted = |value: &usize| *value < usual && lies(known[*value]) || there(known[*value]);
            Knob { values: (0..known.len()).filter(wanted).map(|value| value as i32).collect(), ..knob.clone() }
        });
        own.collect()
    }

    /// Where the tensors lie that may lie in several ways.
    pub fn chosen_places(&self, config: &Config) -> impl Iterator<Item = Place> {
        let values = config.0.get(self.scheduled()..).unwrap_or(&[]);
        self.placeable.iter().zip(values).filter_map(|((_, known), &at)| known.get(at as usize).copied())
    }

    fn scheduled(&self) -> usize {
        self.space.knobs.len() - self.placeable.len()
    }

    /// The schedule that values of the knobs before those of places make, all tensors in buffers; `None` where they are not legal.
    pub fn loops(&self, expr: &TensorExpr, knobs: &[i32]) -> Option<Schedule> {
        let parallel = expr.axes.len();
        let mut values = knobs.iter().copied();
        let mut next = || values.next().unwrap_or(0);
        let mut tile: SmallVec<[i64; 6]> = SmallVec::from_elem(1, parallel);
        let mut lanes = tile.clone();
        for &a in &self.main {
            tile[a.0] = next().into();
        }
        for a in (0..parallel).filter(|&a| expr.written_out(AxisId(a))) {
            tile[a] = expr.axes[a].extent;
        }
        let (width, vector_axis, unroll) = (i64::from(next()), next() as usize, i64::from(next()));
        let (window, order) = (next(), next() as usize);
        let (stage, ahead): (&[usize], bool) =
            if self.stages.len() > 1 { (&self.stages[next() as usize], next() == 1) } else { (&[], false) };
        let stage_trips = if self.stage_trips.len() > 1 { next().into() } else { 1 };
        let reduction_lanes = if self.reduction_lanes.len() > 1 { next().into() } else { 1 };
        let accumulators = if self.accumulators.len() > 1 { next() as u32 } else { 1 };
        let (rounds, kept): (Option<Rounds>, &[usize]) =
            if self.rounds.len() > 1 { (self.rounds[next() as usize], &self.keeps[next() as usize]) } else { (None, &[]) };
        let (group, first) = (next(), next());

        let vector = self.vector_axes.get(vector_axis).filter(|_| width > 1).copied();
        // Results may be computed beyond an axis's end, terms of a reduction may not.
        let fits = |a: AxisId| if a.0 < parallel { width < 2 * axis(expr, a).extent } else { width <= axis(expr, a).extent };
        if (width == 1 && vector_axis != 0) || !vector.is_none_or(fits) {
            return None;
        }
        let window_unrolled = window == 1 || expr.coefficients.is_some();
        // Before anything is laid out: of what is drawn much is not legal.
        let points = tile.iter().product();
        let along = |a: AxisId| axis(expr, a).extent / if vector == Some(a) { width } else { 1 };
        let windows: i64 = if window_unrolled { self.window.iter().map(|&a| axis(expr, a).extent).product() } else { 1 };
        let terms = windows * self.deep.map_or(1, |a| unroll.min(along(a)));
        let turns = accumulators == 1 || stage.is_empty() && Self::take_turns(accumulators.into(), points, terms);
        if !turns || self.is_too_large(points, vector.map_or(1, |_| width)) {
            return None;
        }
        // Parallel axes, the one whose lanes run fastest first.
        let mut launched: SmallVec<[AxisId; 6]> = self.main.iter().copied().collect();
        if group != NOT_ARRANGED {
            self.main.iter().zip(&self.groups[group as usize]).for_each(|(a, &own)| lanes[a.0] = own.into());
            if !launched.is_empty() {
                let axis = launched.remove(first as usize);
                launched.insert(0, axis);
            }
        }
        launched.extend((0..parallel).map(AxisId).filter(|a| !self.main.contains(a)));
        let rolled: &[AxisId] = if window_unrolled { self.deep.as_slice() } else { &self.orders[order] };

        let mut inside = Inside::new(parallel + expr.reduce.len());
        vector.iter().for_each(|&a| inside.put(a, width, Bind::Vector));
        (0..parallel).rev().filter(|&a| tile[a] > 1).for_each(|a| inside.put(AxisId(a), tile[a], Bind::Unrolled));
        for (r, own) in expr.reduce.iter().enumerate().rev() {
            let a = AxisId(parallel + r);
            let written = match rolled.contains(&a) {
                false => own.extent,
                true if Some(a) == self.deep => unroll.min(own.extent / inside.step(a)),
                true => 1,
            };
            if written > 1 {
                inside.put(a, written, Bind::Unrolled);
            }
        }
        for &a in rolled.iter().rev() {
            if Some(a) == self.deep && reduction_lanes > 1 {
                inside.put(a, reduction_lanes, Bind::ReductionLane);
            }
            if Some(a) == self.deep && stage_trips > 1 {
                inside.put(a, stage_trips, Bind::Sequential);
            }
            inside.put(a, axis(expr, a).extent / inside.step(a), Bind::Sequential);
        }
        // Lanes have neighbouring tiles in each round.
        rounds.iter().for_each(|&(a, trips)| {
            let step = inside.step(a) * lanes[a.0];
            inside.loops.push(Loop { axis: a, trips, step, bind: Bind::Round });
        });
        launched.iter().filter(|a| lanes[a.0] > 1).for_each(|&a| inside.put(a, lanes[a.0], Bind::Lane));
        rounds.iter().for_each(|&(a, trips)| inside.steps[a.0] *= trips);
        launched.iter().for_each(|&a| inside.put(a, (axis(expr, a).extent + inside.step(a) - 1) / inside.step(a), Bind::Group));
        let mut schedule = Schedule {
            loops: inside.loops,
            stages: SmallVec::new(),
            ahead,
            accumulators,
            places: SmallVec::from_elem(Place::Buffer, expr.inputs.len() + 1),
            known: self.known,
            across: expr.across.as_ref().map(|own| own.along),
        };
        schedule.loops.reverse();
        let at = schedule.sequential().0;
        schedule.stages.extend(stage.iter().map(|&tensor| Stage { tensor, at, to: Near::Local }));
        if let Some(round) = schedule.loops.iter().position(|own| own.bind == Bind::Round) {
            schedule.stages.extend(kept.iter().map(|&tensor| Stage { tensor, at: round - 1, to: Near::Private }));
        } else if !kept.is_empty() {
            return None;
        }
        let meets = group == NOT_ARRANGED || meeting_pays(&schedule) && self.fills(&schedule) && schedule.holds_rows(expr);
        (meets && self.legal(expr, &schedule, unroll, order)).then_some(schedule)
    }
}

/// Loops while they are put around each other.
struct Inside {
    /// The innermost first.
    loops: SmallVec<[Loop; 12]>,
    /// Elements of each axis that they walk over.
    steps: SmallVec<[i64; 8]>,
}

impl Inside {
    fn new(axes: usize) -> Self {
        Self { loops: SmallVec::new(), steps: SmallVec::from_elem(1, axes) }
    }

    fn step(&self, a: AxisId) -> i64 {
        self.steps[a.0]
    }

    fn put(&mut self, axis: AxisId, trips: i64, bind: Bind) {
        let step = self.step(axis);
        self.loops.push(Loop { axis, trips, step, bind });
        self.steps[axis.0] = step * trips;
    }
}

/// The axis of a form that runs along it with coefficient 1.
fn single_axis(index: &Index) -> Option<AxisId> {
    index.terms().iter().find(|t| t.1 == 1).map(|t| t.0)
}
