//! Operators whose elements are found, or put, where other numbers say.

use super::{Builder, OperatorError, add, axis_names, mul, named, operator, sub, table, tensor};
use crate::expr::{Combine, Index, Operator, Role, ScalarExpr, Tensor, TensorExpr};
use warpsight_ir::{BinaryOp, Scalar};

/// Positions beyond this are not exact where they are kept as floats.
pub const EXACT: i64 = 1 << 24;

/// Rows of a square whose pairs are listed, at most.
pub const MOST_ROWS: i64 = 1 << 10;

/// An axis of a tensor, or several neighbouring ones, and a tensor of positions along each.
#[derive(Clone, Debug, PartialEq)]
pub struct Lookup {
    /// Extents of the tensor that is looked into.
    pub shape: Vec<i64>,
    /// The first dimension that positions are of.
    pub axis: usize,
    /// How many dimensions from there on positions are of.
    pub dimensions: usize,
    /// Extents of each tensor of positions.
    pub index: Vec<i64>,
    /// What positions are stored as: `I32`, or whole numbers in a type of floats.
    pub positions: Scalar,
    /// Element type in memory of all else.
    pub element: Scalar,
}

impl Lookup {
    pub(super) fn check(&self, kind: &str) -> Result<(), OperatorError> {
        let fail = |what: String| Err(OperatorError::Mismatch { operator: kind.into(), what });
        if self.dimensions < 1 || self.axis.saturating_add(self.dimensions) > self.shape.len() {
            return fail(format!("{} axes from axis {} on of {} dimensions", self.dimensions, self.axis, self.shape.len()));
        }
        if self.shape.iter().chain(&self.index).any(|&extent| extent < 1) {
            let what = format!("{:?} found in {:?}", self.index, self.shape);
            return Err(OperatorError::EmptyOutput { operator: kind.into(), what });
        }
        let most = self.shape[self.axis..self.behind()].iter().copied().max().unwrap_or(0);
        if self.positions.is_float() && (self.positions != Scalar::F32 || most > EXACT) {
            return fail(format!("positions below {most} as {}", self.positions.name()));
        }
        Ok(())
    }

    fn data(&self) -> Tensor {
        tensor("input", &self.shape, self.element, Role::Activation)
    }

    /// The first dimension behind those that positions are of.
    pub(super) fn behind(&self) -> usize {
        self.axis + self.dimensions
    }

    /// Positions along one of the dimensions.
    fn index(&self, number: usize) -> Tensor {
        let name = if number == 0 { "index".to_owned() } else { format!("index{number}") };
        tensor(&name, &self.index, self.positions, Role::Activation)
    }

    /// A position along one of the dimensions; it counts from the end where it is negative.
    fn place(&self, number: usize, position: ScalarExpr) -> ScalarExpr {
        let extent = ScalarExpr::Const(self.shape[self.axis + number] as f64);
        let negative = ScalarExpr::binary(BinaryOp::Lt, position.clone(), ScalarExpr::Const(0.0));
        ScalarExpr::select(negative, add(position.clone(), extent), position)
    }

    /// Positions along all of the dimensions, each with its dimension.
    pub(super) fn places(&self, builder: &mut Builder, at: &[Index]) -> Vec<(usize, ScalarExpr)> {
        let place = |number: usize| (self.axis + number, self.place(number, builder.load(&self.index(number), at.to_vec())));
        (0..self.dimensions).map(place).collect()
    }
}

/// Parts of `input` at the positions that `index` holds along one dimension (and `index1` along the next), in whose place the dimensions of `index`
/// are. Negative positions count from the end; beyond both ends zeros are found.
pub fn gather(own: &Lookup) -> Result<Operator, OperatorError> {
    let kind = "gather";
    own.check(kind)?;
    let (rank, behind) = (own.index.len(), own.behind());
    let shape = [&own.shape[..own.axis], &own.index, &own.shape[behind..]].concat();
    let names = axis_names(shape.len());
    let (mut builder, at, _) = Builder::new(kind, &named(&names, &shape), &[]);
    let found = own.places(&mut builder, &scalar_index(&at[own.axis..own.axis + rank]));
    let index = [&at[..own.axis], &vec![Index::constant(0); own.dimensions], &at[own.axis + rank..]].concat();
    let body = builder.gather(&own.data(), index, found);
    let output = tensor("output", &shape, own.element, Role::Output);
    let store = scalar_index(&at);
    operator(kind, vec![builder.finish(Combine::Sum, body, ScalarExpr::Acc, output, store)])
}

/// The element of `input` at each place of `index`, but that its position along one dimension is what `index` holds there.
pub fn gather_elements(own: &Lookup) -> Result<Operator, OperatorError> {
    let kind = "gather_elements";
    own.check(kind)?;
    if own.dimensions != 1 {
        return Err(OperatorError::Unsupported { operator: kind.into(), what: "positions along several dimensions".into() });
    }
    beside(kind, (&own.shape, own.axis), &own.index)?;
    let names = axis_names(own.index.len());
    let (mut builder, at, _) = Builder::new(kind, &named(&names, &own.index), &[]);
    let found = own.places(&mut builder, &at);
    let mut index = at.clone();
    index[own.axis] = Index::constant(0);
    let body = builder.gather(&own.data(), index, found);
    let output = tensor("output", &own.index, own.element, Role::Output);
    operator(kind, vec![builder.finish(Combine::Sum, body, ScalarExpr::Acc, output, at)])
}

/// Further results of sums of bags, before them: of each position the bag that it is in, and two of which sums make no use.
pub const BAGS: [&str; 3] = ["bag", "size", "largest"];

/// Sums of rows of `input` (`rows`, then what a row has): bag b is of the positions in `index` from `offsets[b]` to `offsets[b + 1]`, the last one of
/// all that are left. Offsets ascend. Where that is asked for, [`BAGS`] are made too: the bag of each position, -1 before the first, and, as in PyTorch,
/// zeros in place of sizes and of positions of maxima.
///
/// Each bag asks all positions whether they are its own.
pub fn embedding_bag(own: &Lookup, bags: i64, further: bool) -> Result<Operator, OperatorError> {
    let kind = "embedding_bag";
    own.check(kind)?;
    if own.dimensions != 1 {
        return Err(OperatorError::Unsupported { operator: kind.into(), what: "positions along several dimensions".into() });
    }
    let [rows] = own.index[..] else {
        return Err(OperatorError::Mismatch { operator: kind.into(), what: format!("positions of shape {:?}", own.index) });
    };
    if own.axis != 0 || bags < 1 {
        return Err(OperatorError::Mismatch { operator: kind.into(), what: format!("{bags} bags along axis {}", own.axis) });
    }
    let shape: Vec<i64> = std::iter::once(bags).chain(own.shape[1..].iter().copied()).collect();
    let names = axis_names(shape.len());
    let (mut builder, at, from) = Builder::new(kind, &named(&names, &shape), &[("e", rows)]);
    let offsets = tensor("offsets", &[bags], own.positions, Role::Activation);
    let begin = builder.load(&offsets, vec![at[0].clone()]);
    let next = builder.load(&offsets, vec![at[0].clone().offset(1).unwrap_or_default()]);
    let position = |form: &Index| ScalarExpr::Position(form.clone());
    let last = ScalarExpr::binary(BinaryOp::Eq, position(&at[0]), ScalarExpr::Const((bags - 1) as f64));
    let end = ScalarExpr::select(last, ScalarExpr::Const(rows as f64), next);
    let behind = ScalarExpr::binary(BinaryOp::Le, begin, position(&from[0]));
    let inside = ScalarExpr::binary(BinaryOp::And, behind, ScalarExpr::binary(BinaryOp::Lt, position(&from[0]), end));
    let row = own.places(&mut builder, &from);
    let found = builder.gather(&own.data(), [&[Index::constant(0)], &at[1..]].concat(), row);
    let body = ScalarExpr::select(inside, found, ScalarExpr::Const(0.0));
    let output = tensor("output", &shape, own.element, Role::Output);
    let sums = builder.finish(Combine::Sum, body, ScalarExpr::Acc, output, at);
    let mut steps = if further { of_bags(&offsets, rows, own.element.widened()) } else { vec![] };
    steps.push(sums);
    operator(kind, steps)
}

/// The expressions of [`BAGS`].
fn of_bags(offsets: &Tensor, rows: i64, element: Scalar) -> Vec<TensorExpr> {
    let bags = offsets.shape[0];
    let (mut builder, at, from) = Builder::new(BAGS[0], &[("e", rows)], &[("b", bags)]);
    let begins = ScalarExpr::binary(BinaryOp::Le, builder.load(offsets, from), ScalarExpr::Position(at[0].clone()));
    let body = ScalarExpr::select(begins, ScalarExpr::Const(1.0), ScalarExpr::Const(0.0));
    let before = sub(ScalarExpr::Acc, ScalarExpr::Const(1.0));
    let bag = builder.finish(Combine::Sum, body, before, tensor(BAGS[0], &[rows], element, Role::Output), at);
    let zeros = |name: &str| {
        let (mut builder, at, _) = Builder::new(name, &[("b", bags)], &[]);
        let body = mul(builder.load(offsets, at.clone()), ScalarExpr::Const(0.0));
        builder.finish(Combine::Sum, body, ScalarExpr::Acc, tensor(name, &[bags], element, Role::Output), at)
    };
    vec![bag, zeros(BAGS[1]), zeros(BAGS[2])]
}

/// A dimension of extent `extent` and the next one, of the same extent, as one: of pairs (i, j) those with j ≤ i + `diagonal`, row by row.
pub fn lower_triangle(shape: &[i64], axis: usize, diagonal: i64, element: Scalar) -> Result<Operator, OperatorError> {
    let kind = "lower_triangle";
    let square = shape.get(axis).zip(shape.get(axis + 1)).filter(|(a, b)| a == b);
    let Some((&extent, _)) = square else {
        let what = format!("dimensions {axis} and {} of {shape:?} are no square", axis + 1);
        return Err(OperatorError::Mismatch { operator: kind.into(), what });
    };
    let of_row = |i: i64| (0..extent).take_while(move |j| *j <= i.saturating_add(diagonal)).map(move |j| (i, j));
    let pairs: Vec<(i64, i64)> = (0..extent).flat_map(of_row).collect();
    if pairs.is_empty() {
        return Err(OperatorError::EmptyOutput { operator: kind.into(), what: format!("diagonal {diagonal} of {extent} rows") });
    }
    let count = pairs.len() as i64;
    let output: Vec<i64> = [&shape[..axis], &[count], &shape[axis + 2..]].concat();
    let names = axis_names(output.len());
    let (mut builder, at, _) = Builder::new(kind, &named(&names, &output), &[]);
    let input = tensor("input", shape, element, Role::Activation);
    let tables = [
        table("rows", &[count], Scalar::I32, pairs.iter().map(|own| own.0 as f64).collect()),
        table("columns", &[count], Scalar::I32, pairs.iter().map(|own| own.1 as f64).collect()),
    ];
    let found = tables.iter().enumerate().map(|(n, table)| (axis + n, builder.load(table, vec![at[axis].clone()]))).collect();
    let index = [&at[..axis], &[Index::constant(0), Index::constant(0)], &at[axis + 1..]].concat();
    let body = builder.gather(&input, index, found);
    let step = builder.finish(Combine::Sum, body, ScalarExpr::Acc, tensor("output", &output, element, Role::Output), at);
    operator(kind, vec![step])
}

/// Whether a tensor lies beside the one that is looked into: as many dimensions, no longer in any but the one that positions are of.
pub(super) fn beside(kind: &str, (whole, axis): (&[i64], usize), shape: &[i64]) -> Result<(), OperatorError> {
    let fits = shape.len() == whole.len() && (0..shape.len()).all(|d| d == axis || shape[d] <= whole[d]) && shape.iter().all(|&e| e > 0);
    if fits {
        return Ok(());
    }
    let what = format!("elements of shape {shape:?} beside {whole:?} along axis {axis}");
    Err(OperatorError::Mismatch { operator: kind.into(), what })
}

/// The index of an element of a tensor, one without dimensions included.
fn scalar_index(forms: &[Index]) -> Vec<Index> {
    if forms.is_empty() { vec![Index::constant(0)] } else { forms.to_vec() }
}

/// Where the values of a resized dimension come from.
#[derive(Clone, Debug, PartialEq)]
pub struct Taps {
    /// Of each position of the output, positions of the input, as many for each.
    pub places: Vec<Vec<i64>>,
    /// What each is multiplied by; they sum to 1.
    pub weights: Vec<Vec<f64>>,
}

/// How values between elements are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Interpolation {
    /// The element that is nearest.
    Nearest(Nearest),
    /// Along a line between two.
    Linear,
    /// Along a cubic through four (Keys, 1981, with a = -0.75).
    Cubic,
}

/// Which of two elements is nearest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Nearest {
    /// The nearer one, of two that are as near the first.
    RoundPreferFloor,
    /// The nearer one, of two that are as near the second.
    RoundPreferCeil,
    /// The first one.
    Floor,
    /// The second one.
    Ceil,
}

/// Where a position of the output lies in the input (ONNX, `coordinate_transformation_mode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Coordinates {
    /// Middles of elements: (x + ½) / scale - ½.
    HalfPixel,
    /// The same, and 0 where the output has one element.
    PytorchHalfPixel,
    /// The first and the last elements meet.
    AlignCorners,
    /// x / scale.
    Asymmetric,
}

impl Taps {
    /// Of `output` elements made of `input`, where one is `scale` of the other.
    pub fn new(interpolation: Interpolation, coordinates: Coordinates, (input, output): (i64, i64), scale: f64) -> Self {
        let middle = |x: i64| {
            let at = x as f64;
            match coordinates {
                Coordinates::PytorchHalfPixel if output == 1 => 0.0,
                Coordinates::HalfPixel | Coordinates::PytorchHalfPixel => (at + 0.5) / scale - 0.5,
                Coordinates::AlignCorners if output == 1 => 0.0,
                Coordinates::AlignCorners => at * (input - 1) as f64 / (output - 1) as f64,
                Coordinates::Asymmetric => at / scale,
            }
        };
        let inside = |at: f64| (at as i64).clamp(0, input - 1);
        let of = |x: i64| {
            let at = middle(x);
            let (first, rest) = (at.floor(), at - at.floor());
            match interpolation {
                Interpolation::Nearest(nearest) => {
                    let at = match nearest {
                        Nearest::RoundPreferFloor => (at - 0.5).ceil(),
                        Nearest::RoundPreferCeil => (at + 0.5).floor(),
                        Nearest::Floor => first,
                        Nearest::Ceil => at.ceil(),
                    };
                    (vec![inside(at)], vec![1.0])
                }
                Interpolation::Linear => (vec![inside(first), inside(first + 1.0)], vec![1.0 - rest, rest]),
                Interpolation::Cubic => {
                    const A: f64 = -0.75;
                    let near = |d: f64| ((A + 2.0) * d - (A + 3.0)) * d * d + 1.0;
                    let far = |d: f64| ((A * d - 5.0 * A) * d + 8.0 * A) * d - 4.0 * A;
                    let places = (-1..3).map(|n| inside(first + f64::from(n))).collect();
                    (places, vec![far(1.0 + rest), near(rest), near(1.0 - rest), far(2.0 - rest)])
                }
            }
        };
        let (places, weights) = (0..output).map(of).unzip();
        Self { places, weights }
    }

    /// Values that each position of the output is made of.
    fn count(&self) -> i64 {
        self.places.first().map_or(0, Vec::len) as i64
    }

    /// How often each element is repeated, where that is all.
    fn repeats(&self, input: i64) -> Option<i64> {
        let factor = self.places.len() as i64 / input.max(1);
        let each = |(x, places): (usize, &Vec<i64>)| places[..] == [x as i64 / factor.max(1)];
        (factor * input == self.places.len() as i64 && self.places.iter().enumerate().all(each)).then_some(factor)
    }
}

/// A tensor resized along the dimensions that have taps. Where elements are only repeated their places are affine; else places and weights are
/// small tables, whose values are the operator's own.
pub fn resize(shape: &[i64], taps: &[Option<Taps>], element: Scalar) -> Result<Operator, OperatorError> {
    let kind = "resize";
    let fail = |what: String| OperatorError::Mismatch { operator: kind.into(), what };
    if taps.len() != shape.len() {
        return Err(fail(format!("{} dimensions resized of {shape:?}", taps.len())));
    }
    let output: Vec<i64> = shape.iter().zip(taps).map(|(&own, taps)| taps.as_ref().map_or(own, |taps| taps.places.len() as i64)).collect();
    if output.iter().chain(shape).any(|&extent| extent < 1) {
        return Err(OperatorError::EmptyOutput { operator: kind.into(), what: format!("{shape:?} to {output:?}") });
    }
    let repeats: Option<Vec<i64>> =
        shape.iter().zip(taps).map(|(&own, taps)| taps.as_ref().map_or(Some(1), |taps| taps.repeats(own))).collect();
    if let Some(repeats) = repeats {
        return repeated(shape, &repeats, &output, element);
    }
    let names = axis_names(shape.len());
    let inner: Vec<String> = (0..shape.len()).map(|d| format!("t{d}")).collect();
    let counts: Vec<i64> = taps.iter().map(|taps| taps.as_ref().map_or(1, Taps::count)).collect();
    let (mut builder, at, tap) = Builder::new(kind, &named(&names, &output), &named(&inner, &counts));
    let (mut index, mut found, mut weights) = (at.clone(), vec![], vec![]);
    for (d, taps) in taps.iter().enumerate() {
        let Some(taps) = taps else { continue };
        let weights_in = element.widened();
        let mut listed = |name: &str, element: Scalar, values: Vec<f64>| {
            let own = table(&format!("{name}_{}", names[d]), &[output[d], counts[d]], element, values);
            builder.load(&own, vec![at[d].clone(), tap[d].clone()])
        };
        index[d] = Index::constant(0);
        let place = listed("place", Scalar::I32, taps.places.iter().flatten().map(|&p| p as f64).collect());
        // Places of a table lie in the tensor. Said like this, ranges prove it, and no element asks whether it is there.
        let within = ScalarExpr::binary(BinaryOp::Min, place, ScalarExpr::Const((shape[d] - 1) as f64));
        found.push((d, ScalarExpr::binary(BinaryOp::Max, within, ScalarExpr::Const(0.0))));
        if counts[d] > 1 {
            weights.push(listed("weight", weights_in, taps.weights.concat()));
        }
    }
    let value = builder.gather(&tensor("input", shape, element, Role::Activation), index, found);
    let body = match weights.into_iter().reduce(mul) {
        Some(weight) => mul(weight, value),
        None => value,
    };
    let step = builder.finish(Combine::Sum, body, ScalarExpr::Acc, tensor("output", &output, element, Role::Output), at);
    operator(kind, vec![step])
}

/// Each element so often along each dimension.
fn repeated(shape: &[i64], repeats: &[i64], output: &[i64], element: Scalar) -> Result<Operator, OperatorError> {
    let kind = "resize";
    let names = axis_names(shape.len());
    let copies: Vec<String> = names.iter().map(|name| format!("{name}_copy")).collect();
    let parallel = [named(&names, shape), named(&copies, repeats)].concat();
    let (mut builder, at, _) = Builder::new(kind, &parallel, &[]);
    let (own, copy) = at.split_at(shape.len());
    let body = builder.load(&tensor("input", shape, element, Role::Activation), own.to_vec());
    let place = |d: usize| super::near(kind, copy[d].plus(&own[d], repeats[d]));
    let store = (0..shape.len()).map(place).collect::<Result<_, _>>()?;
    operator(kind, vec![builder.finish(Combine::Sum, body, ScalarExpr::Acc, tensor("output", output, element, Role::Output), store)])
}
