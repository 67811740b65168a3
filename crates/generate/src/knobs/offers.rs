//! What axes and tensors offer knobs.

use crate::candidates::FEW;
use crate::expr::{Axis, AxisId, Combine, Index, Tensor, TensorExpr};
use crate::layout::{Along, Layout, Place, is_free};
use crate::passes::{Pass, Passes};
use crate::schedule::{WINDOW, axis, runs_along, stays};
use smallvec::SmallVec;

/// The largest of these as a power of two.
const LARGEST_TILE: u32 = 3;
/// Values of the knob `stage_trips`: with those of `unroll` the usual depths of copies, 4 to 16, are there once each.
const STAGE_TRIPS: [i32; 2] = [1, 4];
/// Positions of the deep axis that a copy is of, at least, where there are more.
pub const SHORTEST_COPY: i64 = 4;
/// Values of the knob `reduction_lanes`.
const REDUCTION_LANES: [i32; 5] = [1, 4, 16, 64, 256];
/// Values of the knob `accumulators`: additions take four cycles on cores since 2015.
const ACCUMULATORS: [i32; 2] = [1, 4];
/// Rounds that a group may go.
const ROUNDS: [i64; 3] = [2, 4, 8];
/// Elements of a round, at least.
const LEAST_ROUND: i64 = 4;
/// Terms of a reduction that lanes share, or that has several accumulators, at least.
const LONG_REDUCTION: i64 = 32;
/// Work-items beyond which no GPU runs more at a time: the 132 multiprocessors of an H100 hold 270,336.
const AT_A_TIME: i64 = 1 << 18;
/// Channels that may lie side by side: vectors of today's machines.
const BLOCKS: [u8; 3] = [4, 8, 16];

/// Ways in which all tensors of a kernel may lie together, at most: five each of the output and four inputs of a concatenation.
pub const MOST_PLACES: usize = 3125;

/// The largest tile of which an axis is whole ones, where none of the usual ones is as large.
pub fn without_rest(extent: i64) -> Option<i32> {
    let most = 1 << LARGEST_TILE;
    (extent % most != 0).then(|| (1..most).rev().find(|tile| extent % tile == 0)).flatten().map(|tile| tile as i32)
}

/// How a tensor may lie, the output last. Activations lie in [`strips`], too. What is found through numbers lies row by row, or in strips of
/// what no number moves along.
pub fn places(expr: &TensorExpr, tensor: usize, passes: Passes) -> Vec<Place> {
    let found = expr.found_along(tensor);
    let tensor = expr.tensor(tensor);
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
    if rank >= 2 && !is_free(tensor) {
        places.extend(strips(tensor, passes));
    }
    if let Some(found) = found {
        let lies = |place: &Place| match place {
            Place::Buffer => true,
            Place::Strips(..) => !found.contains(&place.innermost(rank)),
            _ => false,
        };
        places.retain(lies);
    }
    places
}

/// How a tensor may lie besides, if no pass leaves that out: in the places that [`Pass::Patterns`] and [`Pass::Strips`] would make a part of the
/// space.
pub fn further(expr: &TensorExpr, tensor: usize, passes: Passes) -> Vec<Place> {
    let usual = places(expr, tensor, passes);
    let all = places(expr, tensor, passes.set(Pass::Patterns, true).set(Pass::Strips, true));
    all.into_iter().filter(|place| !usual.contains(place)).collect()
}

/// The strips that an activation may lie in: pictures in blocks of their channels, where these fill more than a half of one, or with all of them
/// side by side; matrices in panels that are no wider than they are.
fn strips(tensor: &Tensor, passes: Passes) -> Vec<Place> {
    let rank = tensor.shape.len();
    let of = |along: Along| BLOCKS.into_iter().map(move |width| Place::Strips(along, Some(width)));
    let fits = |place: &Place, part: i64| place.packed(rank).is_none_or(|(dim, width)| width < part * tensor.shape[dim]);
    let (mut known, further): (Vec<Place>, Vec<Place>) = match rank {
        4.. => (of(Along::Rows).filter(|place| fits(place, 2)).collect(), vec![Place::Strips(Along::Rows, None)]),
        _ => (vec![], of(Along::Rows).chain(of(Along::Columns)).filter(|place| fits(place, 1)).collect()),
    };
    for place in further.into_iter().filter(|_| passes.has(Pass::Strips)) {
        // What lies as something else does is no choice.
        let own = Layout::of(tensor, place);
        if [Place::Buffer].iter().chain(&known).all(|&other| !Layout::of(tensor, other).is_order_of(&own)) {
            known.push(place);
        }
    }
    known
}

/// Inputs that may be copied to local memory: read by work-items of a group in common, along the deep axis, each at one index, forwards.
/// Alone, and all together.
pub fn stages(expr: &TensorExpr, deep: Option<AxisId>, main: &[AxisId]) -> Vec<Inputs> {
    let mut stages = vec![SmallVec::new()];
    let Some(deep) = deep.filter(|_| expr.before.is_empty() && !expr.stores_each()) else { return stages };
    let mut own = Inputs::new();
    for t in (0..expr.inputs.len()).filter(|&t| expr.found_along(t).is_none()) {
        let mut indices: Vec<&[Index]> = vec![];
        let mut elsewhere = false;
        expr.body.loads(&mut |tensor, index, _| {
            if tensor == t && !indices.contains(&index) {
                indices.push(index);
            }
        });
        let others = expr.scalars().filter(|own| !std::ptr::eq(*own, &expr.body));
        others.for_each(|own| own.loads(&mut |tensor, _, _| elsewhere |= tensor == t));
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

/// How many trips may read what is copied at a time, by the axis along which it is copied: so many where that leaves several copies of the
/// least size.
pub fn stage_trips(expr: &TensorExpr, deep: Option<AxisId>) -> Vec<i32> {
    let several = |trips: i32| deep.is_some_and(|a| axis(expr, a).extent >= 2 * i64::from(trips) * SHORTEST_COPY);
    STAGE_TRIPS.into_iter().filter(|&trips| trips == 1 || several(trips)).collect()
}

/// So many rounds along an axis.
pub type Rounds = (AxisId, i64);
/// Some of the inputs, by position.
pub type Inputs = SmallVec<[usize; 2]>;

/// Along which axes a group may go how many rounds, and which inputs a work-item may keep in registers meanwhile, of each axis all that are the same
/// in all rounds; none first. Offered where such an input is read for each term of a reduction that can be written out, or for each element
/// where nothing is reduced: what is read once at the end of a long reduction is not worth it.
pub fn rounds(expr: &TensorExpr, main: &[AxisId]) -> (Vec<Option<Rounds>>, Vec<Inputs>) {
    let (mut rounds, mut keeps) = (vec![None], vec![SmallVec::new()]);
    let short = |own: &Axis| own.extent <= WINDOW;
    if expr.coefficients.is_some() || !expr.reduce.iter().all(short) {
        return (rounds, keeps);
    }
    for &a in main {
        let same: Inputs = (0..expr.inputs.len()).filter(|&t| stays(expr, t, a)).collect();
        let mut body = false;
        expr.body.loads(&mut |t, _, _| body |= same.contains(&t));
        if body {
            rounds.extend(ROUNDS.into_iter().filter(|&own| axis(expr, a).extent >= LEAST_ROUND * own).map(|own| Some((a, own))));
            if !keeps.contains(&same) {
                keeps.push(same);
            }
        }
    }
    (rounds, keeps)
}

/// How many lanes may share a reduction: where results are few and reductions long.
pub fn reduction_lanes(expr: &TensorExpr, deep: Option<AxisId>) -> Vec<i32> {
    let results: i64 = expr.axes.iter().map(|axis| axis.extent).product();
    let long = deep.map(|a| axis(expr, a).extent).filter(|&extent| extent >= LONG_REDUCTION);
    let few = |lanes: i32| results.saturating_mul(i64::from(lanes)) <= AT_A_TIME;
    let pays = |lanes: i32| few(lanes) && expr.across.is_none() && long.is_some_and(|extent| i64::from(lanes) < extent);
    REDUCTION_LANES.into_iter().filter(|&lanes| lanes == 1 || pays(lanes)).collect()
}

/// In how many variables a result may be combined: several where reductions are long, and vectors lie along them or results are few, so that a
/// work-item has no further results to combine meanwhile.
pub fn accumulators(expr: &TensorExpr, deep: Option<AxisId>) -> Vec<i32> {
    let long = deep.is_some_and(|a| axis(expr, a).extent >= LONG_REDUCTION);
    let combines = expr.coefficients.is_none() && expr.passes().any(|pass| pass.combine != Combine::Each);
    let results = || expr.axes.iter().map(|axis| axis.extent).fold(1, i64::saturating_mul);
    let alone = || deep.is_some_and(|a| runs_along(expr, a)) || results() <= FEW;
    ACCUMULATORS.into_iter().filter(|&own| own == 1 || long && combines && expr.across.is_none() && alone()).collect()
}
