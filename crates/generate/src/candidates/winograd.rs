//! Convolutions by Winograd's minimal filtering: products of transformed tiles, of which there are fewer than taps.
//!
//! F(m, 3) makes m neighbouring results of a window of three taps from m + 2 products instead of 3·m: `Aᵀ((G g) ⊙ (Bᵀ d))`, in each dimension (Lavin and
//! Gray, "Fast Algorithms for Convolutional Neural Networks", section 4). Over pictures that is (m + 2)² products of matrices, channels by
//! tiles, for what takes 9·m² of them: four ninths for m = 2, a quarter for m = 4.

use super::{alone, only_index, unused};
use crate::expr::{Axis, AxisId, Coefficients, Combine, Index, Role, ScalarExpr, Tensor, TensorExpr};
use crate::operators::{Builder, tensor};
use warpsight_ir::{BinaryOp, Name, Scalar};

/// Taps of a window.
const TAPS: usize = 3;

/// The matrices of one dimension, rows in order.
pub struct Transforms {
    /// Results of a tile.
    pub results: usize,
    /// Bᵀ, of as many rows as columns: what a tile of the input becomes.
    pub input: &'static [f64],
    /// G: what the taps become.
    pub taps: &'static [f64],
    /// Aᵀ: the results.
    pub output: &'static [f64],
}

/// F(2, 3).
pub const F2: Transforms = Transforms {
    results: 2,
    input: &[1., 0., -1., 0., 0., 1., 1., 0., 0., -1., 1., 0., 0., 1., 0., -1.],
    taps: &[1., 0., 0., 0.5, 0.5, 0.5, 0.5, -0.5, 0.5, 0., 0., 1.],
    output: &[1., 1., 1., 0., 0., 1., -1., -1.],
};

/// F(4, 3), of the points 0, 1, −1, 2, −2 and infinity.
#[rustfmt::skip]
pub const F4: Transforms = Transforms {
    results: 4,
    input: &[
        4., 0., -5., 0., 1., 0.,
        0., -4., -4., 1., 1., 0.,
        0., 4., -4., -1., 1., 0.,
        0., -2., -1., 2., 1., 0.,
        0., 2., -1., -2., 1., 0.,
        0., 4., 0., -5., 0., 1.,
    ],
    taps: &[
        1. / 4., 0., 0.,
        -1. / 6., -1. / 6., -1. / 6.,
        -1. / 6., 1. / 6., -1. / 6.,
        1. / 24., 1. / 12., 1. / 6.,
        1. / 24., -1. / 12., 1. / 6.,
        0., 0., 1.,
    ],
    output: &[
        1., 1., 1., 1., 1., 0.,
        0., 1., -1., 2., -2., 0.,
        0., 1., 1., 4., 4., 0.,
        0., 1., -1., 8., -8., 1.,
    ],
};

impl Transforms {
    /// Elements of a tile along a dimension, and products.
    fn tile(&self) -> usize {
        self.results + TAPS - 1
    }

    /// How much more the rounding of transformed tiles weighs in a result than that of an operand weighs in a sum of products, for operands
    /// that are independent: the square of its mean along one dimension.
    fn growth(&self) -> f64 {
        let square = |row: &[f64]| row.iter().map(|value| value * value).sum::<f64>();
        let each = (0..self.tile()).map(|a| {
            let column: f64 = self.output.iter().skip(a).step_by(self.tile()).map(|value| value * value).sum();
            column * square(&self.input[a * self.tile()..][..self.tile()]) * square(&self.taps[a * TAPS..][..TAPS])
        });
        each.sum::<f64>() / (self.results * TAPS) as f64
    }
}

/// What a result is off by, relative and expected, since transformed tiles are rounded: those of the input and of the taps as they are
/// stored, the products to what is computed in.
pub fn error(transforms: &Transforms, [input, taps, products]: [Scalar; 3]) -> f64 {
    let square = |element: Scalar| rounding(element).powi(2);
    let dimensions = 2;
    (transforms.growth().powi(dimensions) * (square(input) + square(taps) + square(products))).sqrt()
}

/// What a number is off by when it is stored, relative: half a unit in the last place at most, evenly spread.
fn rounding(element: Scalar) -> f64 {
    let digits = match element {
        Scalar::F16 | Scalar::Half => 11,
        Scalar::Bf16 => 8,
        Scalar::F64 => 53,
        _ => 24,
    };
    0.5_f64.powi(digits) / 3.0_f64.sqrt()
}

/// A dimension in which windows of three taps slide by one.
#[derive(Clone, Copy)]
struct Window {
    /// The axis of results.
    at: AxisId,
    /// The axis of taps.
    tap: AxisId,
    /// Whether taps read backwards, as those of a transposed convolution do.
    turned: bool,
}

/// What a convolution of pictures has beside its windows, each left out where it has one element.
struct Picture<'a> {
    step: &'a TensorExpr,
    /// Positions among the inputs.
    input: usize,
    weight: usize,
    windows: [Window; 2],
    /// Pictures, groups, filters and channels.
    batch: Option<AxisId>,
    group: Option<AxisId>,
    filter: Option<AxisId>,
    channel: Option<AxisId>,
}

/// A convolution of windows of 3 × 3 that slide by one, or the transpose of one, by transformed tiles: `None` where it is none.
pub fn winograd(step: &TensorExpr, transforms: &Transforms) -> Option<Vec<TensorExpr>> {
    Picture::of(step)?.steps(transforms)
}

/// What the sequence is off by; 0 where a step stays.
pub fn step_error(step: &TensorExpr, transforms: &Transforms) -> f64 {
    Picture::of(step)
        .map_or(0.0, |own| error(transforms, [step.inputs[own.input].element, step.inputs[own.weight].element, step.arithmetic()]))
}

impl<'a> Picture<'a> {
    fn of(step: &'a TensorExpr) -> Option<Self> {
        let sum = step.combine == Combine::Sum && step.before.is_empty() && step.coefficients.is_none() && !step.clipped;
        let ScalarExpr::Binary(BinaryOp::Mul, a, b) = Some(&step.body).filter(|_| sum)? else { return None };
        let (ScalarExpr::Load { tensor: a, index: x, .. }, ScalarExpr::Load { tensor: b, index: y, .. }) = (&**a, &**b) else {
            return None;
        };
        Self::with(step, (*a, x), (*b, y)).or_else(|| Self::with(step, (*b, y), (*a, x)))
    }

    fn with(step: &'a TensorExpr, (input, read): (usize, &[Index]), (weight, _): (usize, &[Index])) -> Option<Self> {
        let taps = only_index(step, weight).filter(|_| input != weight)?;
        let parallel = step.axes.len();
        let uses = |forms: &[Index], a: AxisId| forms.iter().filter(|form| form.coefficient(a) != 0).count();
        let window = |form: &Index| {
            let [(at, 1), (tap, sign @ (1 | -1))] = *form.terms() else { return None };
            let whole = at.0 < parallel && tap.0 >= parallel && step.reduce[tap.0 - parallel].extent == TAPS as i64;
            let own = uses(read, at) == 1 && uses(read, tap) == 1 && uses(taps, at) == 0 && uses(taps, tap) == 1;
            (whole && own && taps.iter().any(|form| alone(form) == Some(tap))).then_some(Window { at, tap, turned: sign < 0 })
        };
        let found: Vec<Window> = read.iter().filter_map(window).collect();
        let [first, second] = found[..] else { return None };
        let (mut batch, mut group, mut filter, mut channel) = (None, None, None, None);
        for a in (0..parallel + step.reduce.len()).map(AxisId) {
            if [first, second].iter().any(|own| own.at == a || own.tap == a) {
                continue;
            }
            // Of each kind one.
            let kind = match (a.0 < parallel, uses(read, a) > 0, uses(taps, a) > 0) {
                (true, true, false) => &mut batch,
                (true, true, true) => &mut group,
                (true, false, true) => &mut filter,
                (false, true, true) => &mut channel,
                _ => return None,
            };
            if kind.replace(a).is_some() {
                return None;
            }
        }
        // Groups of one channel make no product of matrices.
        let products = group.is_none() || channel.is_some();
        products.then_some(Self { step, input, weight, windows: [first, second], batch, group, filter, channel })
    }

    fn axis(&self, a: AxisId) -> &Axis {
        crate::schedule::axis(self.step, a)
    }

    fn named<'n>(&'n self, name: &'n str, a: Option<AxisId>) -> (&'n str, i64) {
        a.map_or((name, 1), |a| (&*self.axis(a).name, self.axis(a).extent))
    }

    fn steps(&self, transforms: &Transforms) -> Option<Vec<TensorExpr>> {
        let (step, tile) = (self.step, transforms.tile() as i64);
        let results = transforms.results as i64;
        let rows = self.windows.map(|own| (self.axis(own.at).extent + results - 1) / results);
        let (n, g) = (self.named("n", self.batch), self.named("g", self.group));
        let (k, c) = (self.named("k", self.filter), self.named("c", self.channel));
        let tiles = n.1.checked_mul(rows[0])?.checked_mul(rows[1])?;
        let own = |stem: &Name| unused(step, &format!("{stem}_tiles"));
        let (x, w) = (&step.inputs[self.input], &step.inputs[self.weight]);
        // One for each element of a tile, and of these for each group.
        let products = g.1.checked_mul(tile * tile)?;
        let shapes = [vec![products, k.1, c.1], vec![products, c.1, 1, tiles], vec![products, k.1, 1, tiles]];
        let near = |shape: &Vec<i64>| shape.iter().try_fold(1_i64, |n, &e| n.checked_mul(e)).is_some_and(|n| n <= i64::from(i32::MAX));
        if !shapes.iter().all(near) {
            return None;
        }
        let [taps, input, product] = shapes;
        let taps = tensor(&own(&w.name)?, &taps, w.element, Role::Output);
        let input = tensor(&own(&x.name)?, &input, x.element, Role::Output);
        // Wider than what they are made of: sums of both signs are large before they are added up.
        let product = tensor(&own(&step.output.name)?, &product, step.arithmetic(), Role::Output);
        let name = |tensor: &Tensor| format!("{}_{}", step.name, tensor.name);
        let position = |u: &Index, v: &Index, of: &Index| u.times(tile)?.plus(v, 1)?.times(g.1)?.plus(of, 1);
        let flat = |n: &Index, y: &Index, x: &Index| n.times(rows[0] * rows[1])?.plus(y, rows[1])?.plus(x, 1);

        // Taps: where they are constants, this is made before any kernel runs.
        let taps_step = {
            let own = [("r", TAPS as i64), ("s", TAPS as i64)];
            let (mut builder, at, inner) = Builder::new(&name(&taps), &[g, k, c, ("u", tile), ("v", tile)], &own);
            let old = self.forms([None, Some(&at[0]), Some(&at[1]), Some(&at[2])], None, Some([&inner[0], &inner[1]]))?;
            let index = only_index(step, self.weight)?;
            let body = builder.load(w, substituted(index, &old)?);
            let store = vec![position(&at[3], &at[4], &at[0])?, at[1].clone(), at[2].clone()];
            let made = builder.finish(Combine::Sum, body, ScalarExpr::Acc, taps.clone(), store);
            transformed(made, transforms.taps, [&at[3], &at[4]], [&inner[0], &inner[1]], TAPS)?
        };
        let input_step = {
            let own = [("i", tile), ("j", tile)];
            let parallel = [n, g, c, ("y", rows[0]), ("x", rows[1]), ("u", tile), ("v", tile)];
            let (mut builder, at, inner) = Builder::new(&name(&input), &parallel, &own);
            let [y, x_at] = [at[3].times(results)?, at[4].times(results)?];
            let old = self.forms([Some(&at[0]), Some(&at[1]), None, Some(&at[2])], Some([&y, &x_at]), Some([&inner[0], &inner[1]]))?;
            let index = self.index_of(self.input)?;
            let body = builder.load(x, substituted(index, &old)?);
            let store = vec![position(&at[5], &at[6], &at[1])?, at[2].clone(), Index::constant(0), flat(&at[0], &at[3], &at[4])?];
            let made = builder.finish(Combine::Sum, body, ScalarExpr::Acc, input.clone(), store);
            transformed(made, transforms.input, [&at[5], &at[6]], [&inner[0], &inner[1]], tile as usize)?
        };
        let product_step = {
            let (mut builder, at, inner) = Builder::new(&name(&product), &[("u", products), k, ("t", tiles)], &[c]);
            let written = |tensor: &Tensor, role| Tensor { role, ..tensor.clone() };
            let role = if w.role == Role::Weight { Role::Weight } else { Role::Activation };
            let a = builder.load(&written(&taps, role), vec![at[0].clone(), at[1].clone(), inner[0].clone()]);
            let b =
                builder.load(&written(&input, Role::Activation), vec![at[0].clone(), inner[0].clone(), Index::constant(0), at[2].clone()]);
            let store = vec![at[0].clone(), at[1].clone(), Index::constant(0), at[2].clone()];
            builder.finish(Combine::Sum, ScalarExpr::binary(BinaryOp::Mul, b, a), ScalarExpr::Acc, product.clone(), store)
        };
        let output_step = {
            let own = [("u", tile), ("v", tile)];
            let parallel = [n, g, k, ("y", rows[0]), ("x", rows[1]), ("i", results), ("j", results)];
            let (mut builder, at, inner) = Builder::new(&step.name, &parallel, &own);
            let read = vec![position(&inner[0], &inner[1], &at[1])?, at[2].clone(), Index::constant(0), flat(&at[0], &at[3], &at[4])?];
            let body = builder.load(&Tensor { role: Role::Activation, ..product.clone() }, read);
            let [y, x] = [at[3].times(results)?.plus(&at[5], 1)?, at[4].times(results)?.plus(&at[6], 1)?];
            let old = self.forms([Some(&at[0]), Some(&at[1]), Some(&at[2]), None], Some([&y, &x]), None)?;
            let mut near = true;
            let epilogue = step.epilogue.with_leaves(&mut |leaf| {
                let ScalarExpr::Load { tensor, index, .. } = leaf else { return leaf.clone() };
                let index = substituted(index, &old);
                near &= index.is_some();
                index.map_or(ScalarExpr::Acc, |index| builder.load(&step.inputs[*tensor], index))
            });
            let store = substituted(&step.store, &old).filter(|_| near)?;
            let made = builder.finish(Combine::Sum, body, epilogue, step.output.clone(), store);
            let cut = |own: &&Window| self.axis(own.at).extent % results != 0;
            let clipped = self.windows.iter().any(|own| cut(&own));
            // What is beyond an end has to be outside of the output.
            let ends = |own: &Window| {
                let extent = self.axis(own.at).extent;
                step.store.iter().zip(&step.output.shape).any(|(form, shape)| alone(form) == Some(own.at) && *shape == extent)
            };
            self.windows.iter().filter(cut).all(ends).then_some(())?;
            let made = transformed(made, transforms.output, [&at[5], &at[6]], [&inner[0], &inner[1]], tile as usize)?;
            TensorExpr { clipped, ..made }
        };
        Some(vec![taps_step, input_step, product_step, output_step])
    }

    /// The only index at which the body reads an input.
    fn index_of(&self, t: usize) -> Option<&'a [Index]> {
        let mut own = None;
        self.step.body.loads(&mut |tensor, index, _| own = own.or((tensor == t).then_some(index)));
        own
    }

    /// What stands for each axis of the convolution: picture, group, filter and channel, then results and taps of its windows, forwards.
    fn forms(&self, own: [Option<&Index>; 4], at: Option<[&Index; 2]>, taps: Option<[&Index; 2]>) -> Option<Vec<Option<Index>>> {
        let mut forms = vec![None; self.step.axes.len() + self.step.reduce.len()];
        for (axis, form) in [self.batch, self.group, self.filter, self.channel].into_iter().zip(own) {
            if let Some(AxisId(a)) = axis {
                forms[a] = form.cloned();
            }
        }
        for (d, own) in self.windows.iter().enumerate() {
            forms[own.at.0] = at.map(|at| at[d].clone());
            forms[own.tap.0] = match taps {
                Some(taps) if own.turned => Some(Index::constant(TAPS as i64 - 1).plus(taps[d], -1)?),
                _ => taps.map(|taps| taps[d].clone()),
            };
        }
        Some(forms)
    }
}

fn substituted(index: &[Index], forms: &[Option<Index>]) -> Option<Vec<Index>> {
    index.iter().map(|form| form.substitute(|a| forms.get(a.0).and_then(Option::as_ref))).collect()
}

/// A sum whose terms have the products of a matrix's elements as factors, one of each dimension: a row for each result, a column for each term.
fn transformed(expr: TensorExpr, matrix: &[f64], rows: [&Index; 2], columns: [&Index; 2], width: usize) -> Option<TensorExpr> {
    let height = matrix.len() / width;
    let element = |row: usize, column: usize| matrix[row * width + column];
    let mut values = vec![];
    for (u, v) in (0..height).flat_map(|u| (0..height).map(move |v| (u, v))) {
        for (i, j) in (0..width).flat_map(|i| (0..width).map(move |j| (i, j))) {
            values.push(element(u, i) * element(v, j));
        }
    }
    let number = |a: &Index, b: &Index, of: usize| a.times(of as i64)?.plus(b, 1);
    let at = number(rows[0], rows[1], height)?.times((width * width) as i64)?.plus(&number(columns[0], columns[1], width)?, 1)?;
    Some(TensorExpr { coefficients: Some(Coefficients { values: values.into(), at }), ..expr })
}
