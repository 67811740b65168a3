//! The knobs of a schedule: how the axes of an expression are split among groups, lanes, registers and vector lanes.

use crate::expr::{Axis, AxisId, Combine, Index, Tensor, TensorExpr};
use crate::layout::{Place, is_free, packed_dim};
use crate::parts::Part;
use crate::passes::{Pass, Passes};
use smallvec::{SmallVec, smallvec};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::Range;
use warpsight_ir::{Config, ConfigSpace, Knob, Name, Scalar};

/// Values of the knob `tile_*` for the three largest parallel axes, largest extent first.
const TILES: [&[i32]; 3] = [&[1, 2, 4, 8], &[1, 2, 4, 8], &[1, 2]];
/// The largest of these as a power of two.
const LARGEST_TILE: u32 = 3;
/// The same where only one axis is long: it alone offers choice.
const LONG_TILES: &[i32] = &[1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32];
/// Further shapes where no axis is longer than [`SHORT`], so that large groups do not fit.
const SHORT_GROUPS: [[u32; 3]; 6] = [[8, 1, 1], [8, 4, 1], [4, 4, 1], [2, 8, 1], [8, 2, 2], [2, 2, 2]];
/// See [`SHORT_GROUPS`].
const SHORT: i64 = 32;
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
/// Points (vectors) one work-item may compute: beyond this, the text of a kernel grows and no register file gains.
const MAX_POINTS: u32 = 32;
/// Elements one work-item may compute: the most that a register file of today holds for one, 32 registers of AVX-512. What is too many
/// on a device its profile says, and pruning reads.
const MAX_ELEMENTS: u32 = 512;
/// Accumulator updates one loop body may hold: beyond this, instruction caches and compilers suffer. PoCL takes seconds for bodies of 600.
const MAX_BODY: u32 = 256;
/// Steps of a deep reduction that are written out at most, but for what is read in wider blocks.
const UNROLLED: u32 = 8;
/// Values of the knob `reduction_lanes`.
const REDUCTION_LANES: [i32; 5] = [1, 4, 16, 64, 256];
/// Terms of a reduction that lanes share, at least.
const LONG_REDUCTION: i64 = 32;
/// Work-items beyond which no GPU runs more at a time: the 132 multiprocessors of an H100 hold 270,336.
const AT_A_TIME: i64 = 1 << 18;
/// Steps of a deep reduction that are written out where lanes share it.
const SHARED_UNROLLED: [u32; 2] = [1, 4];
/// Elements of a work-item that reads copies, at least: with fewer it reads local memory as often as it would caches.
const LEAST_ELEMENTS: u32 = 8;
/// Work-items of a group that any API takes.
const LARGEST_GROUP: u32 = 1024;
/// Lanes of a group that copies tensors together, at least: the largest warp of today's GPUs.
const LEAST_COPYING: u32 = 64;
/// Positions of the deep axis that a copy is of, at least, where there are more.
const SHORTEST_COPY: i64 = 4;
/// Channels that may lie side by side: vectors of today's machines.
const BLOCKS: [u8; 3] = [4, 8, 16];
/// In place of values of the knobs of arrangement: one lane, axes in their order.
const NOT_ARRANGED: i32 = -1;
/// A reduction axis this short or shorter is a window (of a convolution or pooling) and may be unrolled as a whole.
const WINDOW: i64 = 7;

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
    /// Tensors that may lie in several ways: positions in `inputs`, then `inputs.len()` for the output; and these ways.
    pub placeable: Vec<(usize, Vec<Place>)>,
    /// Orders of the rolled reduction loops, outermost first.
    pub orders: Vec<Vec<AxisId>>,
    /// Which inputs work-items of a group copy to local memory together: none first.
    pub stages: Vec<SmallVec<[usize; 2]>>,
    /// Lanes that may share a reduction.
    pub reduction_lanes: Vec<i32>,
    /// Positions of the knobs by which work-items of a group meet, each with its value by which they do not, and for what they meet.
    pub meeting: SmallVec<[(usize, i32, Meeting); 2]>,
    /// Work-group shapes over the main axes.
    pub groups: Vec<Vec<u32>>,
    /// Points of the parallel axes that each work-item walks over in any case.
    pub written_out: u32,
    /// See [`Choice`].
    pub known_terms: Option<u32>,
    /// The space people see.
    pub space: ConfigSpace,
}

/// One configuration, taken apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Choice {
    /// Points (vectors along the vector axis) per work-item along each parallel axis.
    pub tile: SmallVec<[u32; 6]>,
    /// Lanes of a group along each parallel axis.
    pub lanes: SmallVec<[u32; 6]>,
    /// Parallel axes, the one whose lanes run fastest first.
    pub launch_order: SmallVec<[usize; 6]>,
    /// The vectorised axis and its width; width 1 for none.
    pub vector: (AxisId, u32),
    /// Unrolling of the deep reduction axis.
    pub unroll: u32,
    /// Whether the window axes are unrolled.
    pub window_unrolled: bool,
    /// Rolled reduction loops, outermost first.
    pub order: SmallVec<[AxisId; 4]>,
    /// Inputs that the work-items of a group copy to local memory together, in each trip of the loop over the deep axis.
    pub stage: SmallVec<[usize; 2]>,
    /// Lanes of a group that share the reduction of each result along the deep axis, and combine what they have in local memory.
    pub reduction_lanes: u32,
    /// Where each tensor (inputs, then output) lies.
    pub place: SmallVec<[Place; 8]>,
    /// Points of the axes that are written out in any case.
    pub written_out: u32,
    /// Terms of all these points whose known factor is not 0; `None` where terms have none.
    pub known_terms: Option<u32>,
}

impl Choice {
    /// Whether the work-items of a group meet, so that none may be left out.
    pub fn meets(&self) -> bool {
        !self.stage.is_empty() || self.reduction_lanes > 1
    }

    /// Whether vectors lie along a reduction axis: their lanes are folded into one at the end.
    pub fn folds(&self, expr: &TensorExpr) -> bool {
        self.vector.1 > 1 && self.vector.0.0 >= expr.axes.len()
    }
}

impl Knobs {
    /// The knobs of an expression.
    pub fn of(expr: &TensorExpr, passes: Passes) -> Self {
        let parallel = expr.axes.len();
        let mut main: Vec<AxisId> = (0..parallel).map(AxisId).filter(|&a| !expr.written_out(a)).collect();
        main.sort_by_key(|a| std::cmp::Reverse(expr.axes[a.0].extent));
        main.truncate(3);

        let mut vector_axes: Vec<AxisId> = vec![];
        let contiguous = expr.store.last().and_then(single_axis);
        let packed = expr.store.get(packed_dim(expr.store.len())).and_then(single_axis);
        for axis in [contiguous, packed, main.first().copied()].into_iter().flatten() {
            if axis.0 < parallel && !vector_axes.contains(&axis) && !expr.written_out(axis) {
                vector_axes.push(axis);
            }
        }

        let reduce = (0..expr.reduce.len()).map(|i| AxisId(parallel + i));
        let deep = deep_axis(expr);
        vector_axes.extend(deep.filter(|&a| runs_along(expr, a)));
        // A second long reduction axis is an ordinary rolled loop, like a window that is never unrolled.
        let window: Vec<AxisId> = reduce.filter(|a| Some(*a) != deep).collect();
        let mut orders = vec![deep.into_iter().chain(window.iter().copied()).collect::<Vec<_>>()];
        let reversed: Vec<AxisId> = orders[0].iter().rev().copied().collect();
        if reversed != orders[0] {
            orders.push(reversed);
        }
        let tensors = expr.inputs.iter().chain([&expr.output]).enumerate();
        // What is found through numbers lies row by row, as integers do.
        let gathered = expr.gathered();
        // Buffers alone are read and written in one kernel.
        let shared = (Part::proper(expr).is_some() || expr.kept().is_some()).then_some(expr.inputs.len());
        let movable = |(t, tensor): &(usize, &Tensor)| !gathered.contains(t) && shared != Some(*t) && tensor.element != Scalar::I32;
        let mut placeable: Vec<(usize, Vec<Place>)> =
            tensors.filter(movable).map(|(t, tensor)| (t, places(tensor, passes))).filter(|own| own.1.len() > 1).collect();
        // Of many tensors all ways together are too many to look at: the last inputs lie row by row.
        let together =
            |own: &[(usize, Vec<Place>)]| own.iter().try_fold(1_usize, |n, own| n.checked_mul(own.1.len())).unwrap_or(usize::MAX);
        while together(&placeable) > MOST_PLACES
            && let Some(last) = placeable.iter().rposition(|own| own.0 < expr.inputs.len())
        {
            placeable.remove(last);
        }

        let (stages, reduction_lanes) = (stages(expr, deep, &main), reduction_lanes(expr, deep));
        let space = ConfigSpace { knobs: vec![] };
        let (groups, meeting) = (vec![], SmallVec::new());
        let written_out =
            expr.axes.iter().enumerate().filter(|own| expr.written_out(AxisId(own.0))).map(|own| own.1.extent as u32).product();
        let known_terms = expr.known_terms().map(|terms| terms as u32);
        let mut knobs = Self {
            main,
            vector_axes,
            deep,
            window,
            placeable,
            orders,
            stages,
            reduction_lanes,
            meeting,
            groups,
            written_out,
            known_terms,
            space,
        };
        knobs.groups = knobs.groups(expr);
        knobs.space.knobs = knobs.describe(expr);
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

    fn describe(&self, expr: &TensorExpr) -> Vec<Knob> {
        let number = |name: String, values: Vec<i32>| Knob { name: name.into(), values, labels: vec![] };
        let labelled = |name: &str, labels: Vec<String>| Knob {
            name: name.into(),
            values: (0..labels.len() as i32).collect(),
            labels: labels.into_iter().map(Name::from).collect(),
        };
        let mut knobs = vec![];
        for (i, &a) in self.main.iter().enumerate() {
            let axis = axis(expr, a);
            let tiles = if i == 0 && self.alone(expr) { LONG_TILES } else { TILES[i] };
            let mut tiles: Vec<i32> = tiles.iter().copied().filter(|&t| i64::from(t) <= axis.extent).collect();
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
        if self.stages.len() > 1 {
            let names = |own: &SmallVec<[usize; 2]>| own.iter().map(|&t| &*expr.inputs[t].name).collect::<Vec<_>>().join("+");
            let label = |own: &SmallVec<[usize; 2]>| if own.is_empty() { "none".to_owned() } else { names(own) };
            knobs.push(labelled("stage", self.stages.iter().map(label).collect()));
        }
        if self.reduction_lanes.len() > 1 {
            knobs.push(number("reduction_lanes".into(), self.reduction_lanes.clone()));
        }
        knobs.push(labelled(GROUP, self.groups.iter().map(|g| g.iter().map(u32::to_string).collect::<Vec<_>>().join("x")).collect()));
        knobs.push(labelled("lanes_first", self.names(expr, &self.main[..self.main.len().min(2)])));
        for (t, places) in &self.placeable {
            let name = expr.inputs.get(*t).map_or(&expr.output.name, |t| &t.name);
            knobs.push(labelled(&format!("place_{name}"), places.iter().map(|place| place.label()).collect()));
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
        let further = [sharing, short].concat();
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

    /// Takes a configuration apart; `None` where it is not legal.
    pub fn choice(&self, expr: &TensorExpr, config: &Config) -> Option<Choice> {
        let knobs = &self.space.knobs;
        if config.0.len() != knobs.len() || !knobs.iter().zip(&config.0).all(|(k, v)| k.values.contains(v)) {
            return None;
        }
        let (schedule, places) = config.0.split_at(self.scheduled());
        let mut choice = self.schedule(expr, schedule)?;
        self.put(&mut choice, places);
        (self.agree(choice.unroll, places) && self.whole_blocks(expr, &choice)).then_some(choice)
    }

    /// Vector lanes of a configuration.
    pub fn vector(&self, config: &Config) -> Option<u32> {
        config.0.get(self.main.len()).map(|&width| width as u32)
    }

    /// What work-items of a group meet for by values of the knobs of a schedule, and of any that follow.
    pub fn meets(&self, values: &[i32]) -> Meeting {
        let own = self.meeting.iter().filter(|own| values.get(own.0).is_some_and(|&value| value != own.1));
        own.fold(Meeting::default(), |all, own| Meeting { copies: all.copies || own.2.copies, shares: all.shares || own.2.shares })
    }

    /// Puts tensors where values of the knobs of places say.
    pub fn put(&self, choice: &mut Choice, places: &[i32]) {
        self.placeable.iter().zip(places).for_each(|((t, known), &place)| choice.place[*t] = known[place as usize]);
    }

    /// Whether tensors that are packed are so alike: blocks of two widths, or blocks and texels, are not in one kernel. Loops are unrolled
    /// further than usual for wide blocks only.
    pub fn agree(&self, unroll: u32, places: &[i32]) -> bool {
        let own = self.placeable.iter().zip(places).map(|((_, known), &place)| known[place as usize]);
        let mut packed = own.filter_map(|place| Some((place.is_image(), place.block()?)));
        let first = packed.next();
        let alike = first.is_none_or(|first| packed.all(|own| own == first));
        alike && (unroll <= UNROLLED || first.is_some_and(|(_, block)| block >= i64::from(unroll)))
    }

    /// Every legal setting of the knobs that say what a work-item does, with every legal arrangement of work-items in groups: values of the
    /// two knobs that follow. All tensors are in buffers, and work-items of a group meet for what they may only.
    pub fn works<'a>(&'a self, expr: &'a TensorExpr, meeting: Meeting) -> impl Iterator<Item = (Vec<i32>, Vec<(Vec<i32>, Choice)>)> + 'a {
        let (work, arranging) = self.space.knobs[..self.scheduled()].split_at(self.arranging().start);
        let alone: Vec<i32> = vec![NOT_ARRANGED; arranging.len()];
        ConfigSpace::combine(work).filter(move |values| meeting.allows(self.meets(values))).filter_map(move |values| {
            self.schedule(expr, &[&values[..], &alone].concat())?;
            let arranged = |more: Vec<i32>| Some((more.clone(), self.schedule(expr, &[&values[..], &more].concat())?));
            let arrangements: Vec<_> = ConfigSpace::combine(arranging).filter_map(arranged).collect();
            (!arrangements.is_empty()).then_some((values, arrangements))
        })
    }

    /// The knobs that say how work-items are arranged in groups: what each of them does is the same.
    pub fn arranging(&self) -> Range<usize> {
        self.scheduled() - 2..self.scheduled()
    }

    /// The knobs that say where tensors lie, the last ones.
    pub fn places(&self) -> &[Knob] {
        &self.space.knobs[self.scheduled()..]
    }

    fn scheduled(&self) -> usize {
        self.space.knobs.len() - self.placeable.len()
    }

    /// What values of the knobs before those of places mean; `None` where they are not legal.
    pub fn schedule(&self, expr: &TensorExpr, knobs: &[i32]) -> Option<Choice> {
        let parallel = expr.axes.len();
        let mut values = knobs.iter().copied();
        let mut next = || values.next().unwrap_or(0);
        let (mut tile, mut lanes) = (smallvec![1; parallel], smallvec![1; parallel]);
        for &a in &self.main {
            tile[a.0] = next() as u32;
        }
        for a in (0..parallel).filter(|&a| expr.written_out(AxisId(a))) {
            tile[a] = expr.axes[a].extent as u32;
        }
        let width = next() as u32;
        let vector_axis = next() as usize;
        let (unroll, window, order) = (next() as u32, next(), next() as usize);
        let stage = if self.stages.len() > 1 { self.stages[next() as usize].clone() } else { SmallVec::new() };
        let reduction_lanes = if self.reduction_lanes.len() > 1 { next() as u32 } else { 1 };
        let (group, first) = (next(), next());
        let mut launch_order: SmallVec<[usize; 6]> = self.main.iter().map(|a| a.0).collect();
        if group != NOT_ARRANGED {
            for (&a, &l) in self.main.iter().zip(&self.groups[group as usize]) {
                lanes[a.0] = l;
            }
            if !launch_order.is_empty() {
                let axis = launch_order.remove(first as usize);
                launch_order.insert(0, axis);
            }
        }
        launch_order.extend((0..parallel).filter(|i| !self.main.iter().any(|a| a.0 == *i)));
        let vector = (self.vector_axes.get(vector_axis).copied().unwrap_or(AxisId(0)), width);
        let window_unrolled = window == 1 || expr.coefficients.is_some();
        let order_means = if window_unrolled { self.deep.into_iter().collect() } else { self.orders[order].iter().copied().collect() };
        let place = smallvec![Place::Buffer; expr.inputs.len() + 1];
        let choice = Choice {
            tile,
            lanes,
            launch_order,
            vector,
            unroll,
            window_unrolled,
            order: order_means,
            stage,
            reduction_lanes,
            place,
            written_out: self.written_out,
            known_terms: self.known_terms,
        };
        let meets = group == NOT_ARRANGED || meeting_pays(&choice) && self.fills(&choice);
        (meets && self.legal(expr, &choice, vector_axis, order)).then_some(choice)
    }

    /// Whether a group that does not share reductions has more than a work-item or two, where there are larger ones.
    fn fills(&self, choice: &Choice) -> bool {
        let few = |lanes: u32| lanes <= SHARING_LANES;
        choice.reduction_lanes > 1 || !few(choice.lanes.iter().product()) || self.groups.iter().all(|own| few(own.iter().product()))
    }

    /// Rules that need no look at the loads: knobs that have no effect must be at their first value, nothing may be absurd.
    fn legal(&self, expr: &TensorExpr, choice: &Choice, vector_axis: usize, order: usize) -> bool {
        let (axis_id, width) = choice.vector;
        if width == 1 && vector_axis != 0 {
            return false;
        }
        // Results may be computed beyond an axis's end, terms of a reduction may not.
        let (lanes, extent) = (i64::from(width), axis(expr, axis_id).extent);
        let too_wide = if choice.folds(expr) { lanes > extent } else { lanes >= 2 * extent };
        if width > 1 && too_wide {
            return false;
        }
        // In loops inside that of the deep axis what was copied is read again.
        if choice.meets() && order != 0 {
            return false;
        }
        if choice.reduction_lanes > 1 && !SHARED_UNROLLED.contains(&choice.unroll) {
            return false;
        }
        if choice.reduction_lanes > 1 && (!choice.stage.is_empty() || !self.deep.is_some_and(|a| all_busy(expr, choice, a))) {
            return false;
        }
        // What is copied is read several times in each trip, by lanes that lie along results.
        let trip = i64::from(choice.unroll);
        let short = |a: &AxisId| trip < SHORTEST_COPY && trip < axis(expr, *a).extent;
        if !choice.stage.is_empty() && (choice.folds(expr) || self.deep.is_none_or(|a| short(&a))) {
            return false;
        }
        // Without rolled window loops their order means nothing.
        if choice.window_unrolled && order != 0 {
            return false;
        }
        let points: u32 = choice.tile.iter().product();
        if !choice.stage.is_empty() && points * width < LEAST_ELEMENTS {
            return false;
        }
        let window: i64 = if choice.window_unrolled { self.window.iter().map(|&a| axis(expr, a).extent).product() } else { 1 };
        // What is written out in any case is no choice.
        let body = match choice.known_terms {
            Some(terms) => points / choice.written_out * terms,
            None => points * choice.unroll * window as u32,
        };
        let least = choice.known_terms.is_some() && points == choice.written_out;
        if points * width > MAX_ELEMENTS || !least && (points > MAX_POINTS || body > MAX_BODY) {
            return false;
        }
        // Per axis: no more lanes than blocks (rounded up to a power of two), no tile beyond the extent.
        expr.axes.iter().enumerate().all(|(i, axis)| {
            let per_item = i64::from(choice.tile[i]) * if axis_id.0 == i { i64::from(width) } else { 1 };
            let blocks = (axis.extent + per_item - 1) / per_item;
            let tile_fits = choice.tile[i] == 1 || per_item < 2 * axis.extent;
            tile_fits && (choice.lanes[i] == 1 || i64::from(choice.lanes[i]) < 2 * blocks)
        })
    }

    /// Packed results are written whole texels or blocks at a time: the vector axis is the packed one, a vector of as many texels as one
    /// likes or one block.
    pub fn whole_blocks(&self, expr: &TensorExpr, choice: &Choice) -> bool {
        let (axis_id, width) = choice.vector;
        let place = choice.place[expr.inputs.len()];
        let Some(block) = place.block() else { return true };
        let form = &expr.store[packed_dim(expr.store.len())];
        let whole = if place.is_image() { i64::from(width) % block == 0 } else { i64::from(width) == block };
        whole
            && single_axis(form).is_none_or(|a| a == axis_id)
            && form.coefficient(axis_id) == 1
            && form.constant % block == 0
            && form.terms().iter().all(|&(a, c)| a == axis_id || i64::from(c) % block == 0)
            // What makes no whole vector of a reduction is stored value by value.
            && !(choice.folds(expr) && place.is_image() && axis(expr, axis_id).extent % i64::from(width) != 0)
    }
}

/// Ways in which all tensors of a kernel may lie together, at most: five each of the output and four inputs of a concatenation.
const MOST_PLACES: usize = 3125;

/// The largest tile of which an axis is whole ones, where none of the usual ones is as large.
fn without_rest(extent: i64) -> Option<i32> {
    let most = 1 << LARGEST_TILE;
    (extent % most != 0).then(|| (1..most).rev().find(|tile| extent % tile == 0)).flatten().map(|tile| tile as i32)
}

/// How a tensor may lie. Activations of pictures lie in blocks of their channels, too, where these fill more than a half of one.
fn places(tensor: &Tensor, passes: Passes) -> Vec<Place> {
    let rank = tensor.shape.len();
    let mut places = vec![Place::Buffer];
    if rank >= 2 && is_free(tensor) {
        // Before rows: where nothing else tells them apart, what is read in order is read in one place.
        places.insert(0, Place::Panels);
    }
    if rank >= 2 && passes.has(Pass::SetImage) {
        places.push(Place::Image);
        if passes.has(Pass::Patterns) {
            places.extend([Place::Column, Place::Tall(2), Place::Tall(4), Place::Tall(8)]);
        }
    }
    if rank >= 4 && !is_free(tensor) {
        let channels = tensor.shape[packed_dim(rank)];
        places.extend(BLOCKS.into_iter().filter(|&width| i64::from(width) < 2 * channels).map(Place::Blocks));
    }
    places
}

/// Inputs that may be copied to local memory: read by work-items of a group in common, along the deep axis, each at one index, forwards.
/// Alone, and all together.
fn stages(expr: &TensorExpr, deep: Option<AxisId>, main: &[AxisId]) -> Vec<SmallVec<[usize; 2]>> {
    let mut stages = vec![SmallVec::new()];
    let Some(deep) = deep.filter(|_| expr.before.is_empty() && !expr.stores_each()) else { return stages };
    let mut own: SmallVec<[usize; 2]> = SmallVec::new();
    let gathered = expr.gathered();
    for t in (0..expr.inputs.len()).filter(|t| !gathered.contains(t)) {
        let mut indices: Vec<&[Index]> = vec![];
        let mut elsewhere = false;
        expr.body.loads(&mut |tensor, index, _| {
            if tensor == t && !indices.contains(&index) {
                indices.push(index);
            }
        });
        expr.epilogue.loads(&mut |tensor, _, _| elsewhere |= tensor == t);
        let [index] = indices[..] else { continue };
        let moves = |a: AxisId| index.iter().any(|form| form.coefficient(a) != 0);
        let forwards = index.iter().all(|form| form.terms().iter().all(|term| term.1 > 0));
        // Along some axis all lanes read the same, or neighbours' windows meet.
        let parallel = |form: &Index| form.terms().iter().filter(|term| term.0.0 < expr.axes.len()).count();
        let windows = index.iter().any(|form| parallel(form) > 0 && form.terms().len() > 1);
        if !elsewhere && forwards && moves(deep) && (windows || main.iter().any(|&a| !moves(a))) {
            own.push(t);
        }
    }
    stages.extend(own.iter().map(|&t| SmallVec::from_elem(t, 1)));
    if own.len() > 1 {
        stages.push(own);
    }
    stages
}

/// How many lanes may share a reduction: where results are few and reductions long.
fn reduction_lanes(expr: &TensorExpr, deep: Option<AxisId>) -> Vec<i32> {
    let results: i64 = expr.axes.iter().map(|axis| axis.extent).product();
    let long = deep.map(|a| axis(expr, a).extent).filter(|&extent| extent >= LONG_REDUCTION);
    let few = |lanes: i32| results.saturating_mul(i64::from(lanes)) <= AT_A_TIME;
    let pays = |lanes: i32| few(lanes) && long.is_some_and(|extent| i64::from(lanes) < extent);
    REDUCTION_LANES.into_iter().filter(|&lanes| lanes == 1 || pays(lanes)).collect()
}

/// Whether each of the lanes that share a reduction has a part of it.
fn all_busy(expr: &TensorExpr, choice: &Choice, deep: AxisId) -> bool {
    let width = if choice.folds(expr) { choice.vector.1 } else { 1 };
    axis(expr, deep).extent / i64::from(width * choice.unroll) >= i64::from(choice.reduction_lanes)
}

/// Whether groups are large enough to share what they copy, lanes along an axis can be cut anywhere, and no group is beyond all devices.
fn meeting_pays(choice: &Choice) -> bool {
    let lanes = choice.lanes.iter().product::<u32>();
    let copies = choice.stage.is_empty() || lanes >= LEAST_COPYING && choice.lanes.iter().all(|lanes| lanes.is_power_of_two());
    copies && (choice.reduction_lanes == 1 || lanes * choice.reduction_lanes <= LARGEST_GROUP)
}

/// Whether all that a reduction reads along an axis of it is consecutive in memory, row by row. Constants are laid out along results
/// instead, where neighbouring lanes share what else is read.
pub fn runs_along(expr: &TensorExpr, a: AxisId) -> bool {
    let (mut any, mut all) = (false, true);
    let along = |index: &[Index], free: bool| {
        let moving: SmallVec<[usize; 4]> = (0..index.len()).filter(|&d| index[d].coefficient(a) != 0).collect();
        match moving[..] {
            [] => None,
            [d] => Some(index[d].coefficient(a) == 1 && (free && expr.stores_each() || d + 1 == index.len() && !free)),
            _ => Some(false),
        }
    };
    for pass in expr.passes() {
        let mut see = |tensor: usize, index: &[Index], _| {
            let own = along(index, is_free(expr.tensor(tensor)));
            any |= own.is_some();
            all &= own.unwrap_or(true);
        };
        pass.body.loads(&mut see);
        if pass.combine == Combine::Each {
            pass.epilogue.loads(&mut see);
            all &= along(&expr.store, false).unwrap_or(true);
        }
    }
    any && all
}

/// The axis of a form that runs along it with coefficient 1.
fn single_axis(index: &Index) -> Option<AxisId> {
    index.terms().iter().find(|t| t.1 == 1).map(|t| t.0)
}

/// An axis by its position.
pub fn axis(expr: &TensorExpr, id: AxisId) -> &Axis {
    expr.axes.get(id.0).unwrap_or_else(|| &expr.reduce[id.0 - expr.axes.len()])
}

/// The choice in one line per axis: the dump of the step `tile`.
pub fn show_choice(expr: &TensorExpr, choice: &Choice) -> String {
    let mut text = String::new();
    for (i, axis) in expr.axes.iter().enumerate() {
        let width = if choice.vector.0.0 == i { choice.vector.1 } else { 1 };
        let per_item = i64::from(choice.tile[i] * width);
        let blocks = (axis.extent + per_item - 1) / per_item;
        let groups = (blocks + i64::from(choice.lanes[i]) - 1) / i64::from(choice.lanes[i]);
        let _ = writeln!(
            text,
            "{} {} = {groups} groups x {} lanes x {} points x {width} vector lanes",
            axis.name, axis.extent, choice.lanes[i], choice.tile[i]
        );
    }
    let names: Vec<&str> = choice.order.iter().map(|&a| &*self::axis(expr, a).name).collect();
    let _ = writeln!(
        text,
        "loops [{}], unroll {}, window {}",
        names.join(", "),
        choice.unroll,
        if choice.window_unrolled { "unrolled" } else { "rolled" }
    );
    if let Some(deep) = deep_axis(expr).filter(|_| choice.reduction_lanes > 1) {
        let _ = writeln!(text, "{} among {} lanes, combined in local memory", self::axis(expr, deep).name, choice.reduction_lanes);
    }
    for &t in &choice.stage {
        let _ = writeln!(text, "{} copied to local memory", expr.inputs[t].name);
    }
    if choice.folds(expr) {
        let _ = writeln!(text, "{} in vectors of {} lanes, folded at the end", self::axis(expr, choice.vector.0).name, choice.vector.1);
    }
    text
}

/// The axis that `unroll` is about: the longest reduction axis that is no window, or the only one.
pub fn deep_axis(expr: &TensorExpr) -> Option<AxisId> {
    let parallel = expr.axes.len();
    let reduce = || (0..expr.reduce.len()).map(|i| AxisId(parallel + i)).filter(|&a| !expr.written_out(a));
    let extent = |a: &AxisId| axis(expr, *a).extent;
    let long = reduce().filter(|a| extent(a) > WINDOW).max_by_key(|a| (extent(a), std::cmp::Reverse(*a)));
    long.or_else(|| reduce().next().filter(|_| expr.reduce.len() == 1))
}
