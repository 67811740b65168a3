//! Alternative sequences of expressions for one operator: what is computed is the same, with other temporaries.

mod held;
mod parts;
mod phases;
mod pooled;
mod reshaped;
mod rows;
pub mod through;
mod winograd;

use crate::candidates::held::held;
use crate::candidates::parts::parted;
pub use crate::candidates::parts::{pieces, stored_by, terms};
use crate::candidates::phases::phases;
use crate::candidates::pooled::pooled;
use crate::candidates::rows::{keeping, one_walk};
use crate::candidates::winograd::{F2, F4, Transforms, step_error};
use crate::expr::{Axis, AxisId, Combine, Index, Operator, Role, ScalarExpr, Tensor, TensorExpr};
use crate::operators::split::{self, in_parts, in_runs, whole};
use warpsight_ir::Name;
use warpsight_ir::range::Interval;

/// One way to compute an operator.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// For people: `direct`, `padded`, `packed`, `split16`, `runs16`.
    pub name: &'static str,
    /// Its expressions. Names of the tensors read and written from outside are those of the operator.
    pub operator: Operator,
    /// What its results are expected to be off by for rounding that the operator as it is does not have: relative (L2), for operands that are
    /// independent of each other.
    pub error: f64,
}

/// The ways to compute an operator; the first is its expressions as they are.
///
/// `padded`: a tensor that a reduction reads beyond its ends is first copied into one that has the zeros read there, so that the reduction
/// asks for no bounds. `packed`: an operand of a product that many results share is first copied so that what is read for neighbouring
/// results may lie together, in blocks of them ([`crate::Place::blocks`]). `phases`: results of a strided transposed convolution by their remainders,
/// each a kernel that has only the taps which reach them and writes its part of the output ([`crate::parts`]). `parts`: what is joined of several tensors, each copied
/// into its part by a kernel of its own. `split16`, `split256`: partial results of about so many parts of a
/// reduction that has few results, then their combination, so that groups share it; `runs16`, `runs256`: the same of parts whose terms follow each
/// other in memory, where all that is reduced does. `rows`: reductions of a row and what is made of its elements
/// with them, as in softmax and normalisation, in one kernel ([`TensorExpr::before`]), whose lanes share rows that are too long for one to
/// add up; `rows_kept`: the same, with what
/// is made twice of each element, such as an exponential, put where its result will be ([`crate::expr::Reduction::kept`]); `held`: the same of rows
/// that a group holds in registers, each element loaded and stored once, with the product, or whatever step makes them, in the same kernel
/// ([`crate::expr::Across`]); `rows_held`: the same behind that step, which the other sequences leave to itself, too. `winograd2`, `winograd4`: a convolution of windows of 3 × 3 by
/// Winograd's F(2,3) and F(4,3): taps and tiles of the input are transformed, multiplied matrix by matrix, and what comes of that is
/// transformed into results, with the operator's epilogue. `pooled`: what a pooling reads is made in its kernel, a walk for each position of a
/// window, and so is what another step only moves ([`pools`]); the other sequences leave that step as it is. What reads constants alone is made with the plan and is no kernel. Copies are expressions like any other: each is a kernel, and its
/// time counts.
///
/// ```
/// use warpsight_generate::{candidates::candidates, operators::parse_operator};
/// let conv = parse_operator("conv2d n=1 c=8 h=14 w=14 k=8 r=3 s=3 stride=1 pad=1").unwrap();
/// let ways = candidates(&conv);
/// assert_eq!(ways.iter().map(|way| way.name).collect::<Vec<_>>(), ["direct", "padded", "winograd2", "winograd4"]);
/// assert_eq!(ways[1].operator.steps[0].output.shape, [1, 8, 16, 16]);
/// let shapes: Vec<_> = ways[2].operator.steps.iter().map(|step| step.output.shape.clone()).collect();
/// assert_eq!(shapes, [vec![16, 8, 8], vec![16, 8, 1, 49], vec![16, 8, 1, 49], vec![1, 8, 14, 14]]);
/// ```
pub fn candidates(operator: &Operator) -> Vec<Candidate> {
    let direct = Candidate { name: "direct", operator: operator.clone(), error: 0.0 };
    let others = [
        ("padded", padded as Rewrite),
        ("packed", packed),
        ("phases", phases),
        ("parts", parted),
        ("split16", split::<16>),
        ("split256", split::<256>),
    ];
    let pooled = pooled(operator);
    let uncut = Operator { kind: operator.kind.clone(), steps: whole(&operator.steps) };
    let with = |steps| Operator { kind: operator.kind.clone(), steps };
    let held = held(&uncut.steps);
    // Behind a step that makes them, rows are normalised in one kernel whatever becomes of that step.
    let (made, rows) = uncut.steps.split_at(held.as_ref().map_or(0, |own| own.begin));
    let one = one_walk(rows);
    let kept = one.as_ref().and_then(keeping);
    let joined = |step: &TensorExpr| with(made.iter().chain([step]).cloned().collect());
    let behind = kept.as_ref().or(one.as_ref()).filter(|_| !made.is_empty()).map(joined);
    let (operator, uncut) = behind.as_ref().map_or((operator, &uncut), |own| (own, own));
    let source = Source { operator, stays: pooled.as_ref().map(|own| own.0) };
    let runs = [("runs16", runs::<16> as Rewrite), ("runs256", runs::<256>)];
    // What lies in no runs is cut as ever.
    let cut = |step: &TensorExpr| split::split(vec![step.clone()]);
    let runs =
        runs.into_iter().filter_map(|(name, rewrite)| Source { operator: uncut, stays: pools(uncut) }.rewritten_or(name, rewrite, cut));
    // Of what is made before, rows may be held that are read, too.
    let read = held.as_ref().filter(|own| own.begin > 0).map(|own| &own.rows);
    let one = [("rows", one.as_ref()), ("rows_kept", kept.as_ref()), ("rows_held", read)].into_iter();
    let one = one.filter_map(|(name, step)| Some(Candidate { name, operator: joined(step?), error: 0.0 }));
    let held = held.as_ref().map(|own| Candidate { name: "held", operator: with(vec![own.whole.clone()]), error: 0.0 });
    let others = others.into_iter().filter_map(|(name, rewrite)| source.rewritten(name, rewrite));
    let pooled = pooled.map(|(_, steps)| Candidate { name: "pooled", operator: with(steps), error: 0.0 });
    let tiled = [("winograd2", &F2), ("winograd4", &F4)].into_iter().filter_map(|(name, transforms)| by_tiles(&source, name, transforms));
    std::iter::once(direct).chain(others).chain(runs).chain(one).chain(held).chain(pooled).chain(tiled).collect()
}

/// The step that pools or moves what the one before it makes, so that one kernel may do both; the first of them.
pub fn pools(operator: &Operator) -> Option<usize> {
    pooled(operator).map(|own| own.0)
}

/// Where what normalises rows begins behind the steps that make these, so that one kernel may do both.
pub fn holds(operator: &Operator) -> Option<usize> {
    let own = held(&whole(&operator.steps)).filter(|own| own.begin > 0)?;
    // Of a reduction that is cut into steps the last one makes them.
    (1..operator.steps.len()).rev().find(|&at| whole(&operator.steps[..at]).len() == own.begin)
}

/// Whether an operator is reductions of rows and what is made of these, so that one kernel may do it.
pub fn of_rows(operator: &Operator) -> bool {
    one_walk(&whole(&operator.steps)).is_some()
}

fn by_tiles(source: &Source, name: &'static str, transforms: &Transforms) -> Option<Candidate> {
    let error = source.operator.steps.iter().map(|step| step_error(step, transforms)).fold(0.0, f64::max);
    Some(Candidate { error, ..source.rewritten(name, |step| winograd::winograd(step, transforms))? })
}

/// The expressions in place of one, the last of which writes what it did; `None` where it stays.
type Rewrite = fn(&TensorExpr) -> Option<Vec<TensorExpr>>;

/// What is rewritten step by step.
struct Source<'a> {
    operator: &'a Operator,
    /// A pooling that may be of the kernel that makes its windows: a copy of what it reads takes as long as it does.
    stays: Option<usize>,
}

impl Source<'_> {
    /// The operator with other expressions in place of its own; `None` where all stay.
    fn rewritten(&self, name: &'static str, rewrite: impl Fn(&TensorExpr) -> Option<Vec<TensorExpr>>) -> Option<Candidate> {
        self.rewritten_or(name, rewrite, |step| vec![step.clone()])
    }

    /// The same where those that stay become others.
    fn rewritten_or(
        &self,
        name: &'static str,
        rewrite: impl Fn(&TensorExpr) -> Option<Vec<TensorExpr>>,
        others: impl Fn(&TensorExpr) -> Vec<TensorExpr>,
    ) -> Option<Candidate> {
        let Operator { kind, steps } = self.operator;
        // What is found through numbers, or is one that is no float, stays where it is; so does what several walks read.
        let changes =
            |at: usize, step: &TensorExpr| step.is_plain() && step.before.is_empty() && step.across.is_none() && self.stays != Some(at);
        let own: Vec<_> = steps.iter().enumerate().map(|(at, step)| changes(at, step).then(|| rewrite(step)).flatten()).collect();
        let changed = own.iter().any(Option::is_some);
        let steps = own.into_iter().zip(steps).flat_map(|(own, step)| own.unwrap_or_else(|| others(step)));
        changed.then(|| Candidate { name, operator: Operator { kind: kind.clone(), steps: steps.collect() }, error: 0.0 })
    }
}

/// Copies with zeros around them in front of a reduction that reads beyond tensors' ends.
fn padded(step: &TensorExpr) -> Option<Vec<TensorExpr>> {
    if step.reduce.is_empty() {
        return None;
    }
    let mut own = step.clone();
    let mut steps = vec![];
    for (t, tensor) in step.inputs.iter().enumerate().filter(|(_, tensor)| tensor.role != Role::Weight) {
        let Some(reach) = reach(step, t) else { continue };
        // What is read of a dimension without padding is copied whole, so that the copy has the tensor's rows.
        let inside = |(range, extent): (&Interval, &i64)| range.within(Interval::below(*extent));
        let whole: Vec<bool> = reach.iter().zip(&tensor.shape).map(inside).collect();
        if whole.iter().all(|whole| *whole) {
            continue;
        }
        let from: Vec<i64> = reach.iter().zip(&whole).map(|(range, whole)| if *whole { 0 } else { range.ends().0 }).collect();
        let shape: Option<Vec<i64>> = (0..whole.len())
            .map(|d| if whole[d] { Some(tensor.shape[d]) } else { (reach[d].ends().1.checked_sub(from[d])?).checked_add(1) })
            .collect();
        let shape =
            shape.filter(|shape| shape.iter().try_fold(1_i64, |n, &e| n.checked_mul(e)).is_some_and(|n| n <= i64::from(i32::MAX)))?;
        let output = Tensor {
            name: unused(step, &format!("{}_padded", tensor.name))?,
            shape,
            element: tensor.element,
            role: Role::Output,
            values: None,
        };
        own.inputs[t] = Tensor { role: Role::Activation, ..output.clone() };
        let moved = |scalar: &ScalarExpr| {
            scalar.with_leaves(&mut |leaf| match leaf {
                ScalarExpr::Load { tensor, index, .. } if *tensor == t => {
                    // Within 32 bits, as the forms are: what is taken away was added.
                    let index = index.iter().zip(&from).map(|(form, from)| form.with_constant(form.constant - from)).collect();
                    ScalarExpr::Load { tensor: t, index, padded: false }
                }
                other => other.clone(),
            })
        };
        (own.body, own.epilogue) = (moved(&own.body), moved(&own.epilogue));
        steps.push(copy(step, tensor, output, &from, &whole));
    }
    (!steps.is_empty()).then(|| {
        steps.push(own);
        steps
    })
}

/// Results of a reduction that is split, or combined in several accumulators, at most: more keep all of a device busy, each with the lanes of a group.
pub(crate) const FEW: i64 = 1 << 10;
/// Terms of each part of it, at least.
const SHORTEST: i64 = 64;

/// A reduction in parts, and their combination.
fn split<const PARTS: i64>(step: &TensorExpr) -> Option<Vec<TensorExpr>> {
    splits(step, PARTS).then(|| in_parts(step, PARTS)).flatten()
}

/// The same in runs, where these lie in memory.
fn runs<const PARTS: i64>(step: &TensorExpr) -> Option<Vec<TensorExpr>> {
    splits(step, PARTS).then(|| in_runs(step, PARTS)).flatten()
}

fn splits(step: &TensorExpr, parts: i64) -> bool {
    let results: i64 = step.axes.iter().map(|axis| axis.extent).product();
    let longest = step.reduce.iter().map(|axis| axis.extent).max();
    results <= FEW && longest.is_some_and(|longest| longest / parts >= SHORTEST)
}

/// Results that share what is read of a packed operand, at least: with fewer a copy of it costs what it saves.
const SHARED: i64 = 8;

/// A copy of the operand along which neighbouring results lie, where others share it: with their dimension second, as channels of pictures
/// are, so that it can lie in blocks of them.
fn packed(step: &TensorExpr) -> Option<Vec<TensorExpr>> {
    let along = step.store.last().and_then(alone).filter(|_| !step.reduce.is_empty())?;
    let (t, index, dim) = step.inputs.iter().enumerate().filter(|(_, tensor)| tensor.role == Role::Activation).find_map(|(t, _)| {
        let index = only_index(step, t)?;
        let unread = |a: &usize| index.iter().all(|form| form.coefficient(AxisId(*a)) == 0);
        let shared: i64 = (0..step.axes.len()).filter(unread).map(|a| step.axes[a].extent).product();
        let dim = index.iter().position(|form| alone(form) == Some(along))?;
        let moving = index.iter().filter(|form| form.coefficient(along) != 0).count();
        let reduced = index.iter().any(|form| form.terms().iter().any(|term| term.0.0 >= step.axes.len()));
        (shared >= SHARED && moving == 1 && reduced).then_some((t, index, dim))
    })?;
    let tensor = &step.inputs[t];
    // One before it, of one element where there is none, and as many behind it as pictures have.
    let mut order: Vec<Option<usize>> = (0..index.len()).filter(|&d| d != dim).map(Some).collect();
    if order.len() < 2 {
        order.insert(0, None);
    }
    order.insert(1, Some(dim));
    order.resize(order.len().max(4), None);
    let shape = order.iter().map(|d| d.map_or(1, |d| tensor.shape[d])).collect();
    let name = unused(step, &format!("{}_packed", tensor.name))?;
    let output = Tensor { name, shape, element: tensor.element, role: Role::Output, values: None };
    let mut own = step.clone();
    own.inputs[t] = Tensor { role: Role::Activation, ..output.clone() };
    let moved: Vec<Index> = order.iter().map(|d| d.map_or(Index::constant(0), |d| index[d].clone())).collect();
    own.body = own.body.with_leaves(&mut |leaf| match leaf {
        ScalarExpr::Load { tensor, padded, .. } if *tensor == t => ScalarExpr::Load { tensor: t, index: moved.clone(), padded: *padded },
        other => other.clone(),
    });
    let (axes, forms) = walk(&output);
    let from = (0..index.len()).map(|d| order.iter().position(|&o| o == Some(d)).map(|at| forms[at].clone())).collect::<Option<_>>()?;
    let copy = copied(step, tensor, output, axes, forms, from, false);
    Some(vec![copy, own])
}

/// The axis that a form is.
fn alone(form: &Index) -> Option<AxisId> {
    let [(a, 1)] = *form.terms() else { return None };
    (form.constant == 0).then_some(a)
}

/// The index at which the body alone reads an input, always the same, within the tensor.
fn only_index(step: &TensorExpr, t: usize) -> Option<&[Index]> {
    let (mut only, mut others) = (None, false);
    step.body.loads(&mut |tensor, index, padded| {
        if tensor == t {
            others |= padded || only.is_some_and(|own| own != index);
            only = Some(index);
        }
    });
    step.epilogue.loads(&mut |tensor, _, _| others |= tensor == t);
    only.filter(|_| !others)
}

/// A name that no tensor of an expression has.
fn unused(step: &TensorExpr, stem: &str) -> Option<Name> {
    let names = (0..).map(|n| format!("{stem}{}", if n == 0 { String::new() } else { n.to_string() }));
    let free = |name: &String| step.inputs.iter().chain([&step.output]).all(|other| *other.name != **name);
    names.into_iter().find(free).map(Name::from)
}

/// Where all loads of an input reach in each dimension; `None` where there are none.
fn reach(step: &TensorExpr, t: usize) -> Option<Vec<Interval>> {
    let axes: Vec<Interval> = step.all_axes().map(|a| Interval::below(a.extent)).collect();
    let mut reach: Option<Vec<Interval>> = None;
    let mut take = |tensor: usize, index: &[Index], _| {
        if tensor == t {
            let own = index.iter().map(|form| form.range(|a| axes[a.0]));
            reach = Some(match reach.take() {
                Some(before) => before.into_iter().zip(own).map(|(a, b)| a.hull(b)).collect(),
                None => own.collect(),
            });
        }
    };
    step.body.loads(&mut take);
    step.epilogue.loads(&mut take);
    reach
}

/// A tensor from some position on, with zeros around it.
fn copy(step: &TensorExpr, tensor: &Tensor, output: Tensor, from: &[i64], whole: &[bool]) -> TensorExpr {
    let (axes, forms) = walk(&output);
    let index = forms.iter().zip(from).map(|(form, from)| form.with_constant(*from)).collect();
    copied(step, tensor, output, axes, forms, index, whole.iter().any(|whole| !whole))
}

/// Axes over all elements of a tensor, and their forms in each dimension.
fn walk(output: &Tensor) -> (Vec<Axis>, Vec<Index>) {
    let mut axes = vec![];
    let last = output.shape.iter().rposition(|&extent| extent > 1).unwrap_or(output.shape.len() - 1);
    let form = |(d, &extent): (usize, &i64)| {
        if extent == 1 && d != last {
            return Index::constant(0);
        }
        axes.push(Axis { name: format!("i{d}").into(), extent });
        Index::var(AxisId(axes.len() - 1))
    };
    let forms = output.shape.iter().enumerate().map(form).collect();
    (axes, forms)
}

/// An expression that copies a tensor.
fn copied(
    step: &TensorExpr,
    tensor: &Tensor,
    output: Tensor,
    axes: Vec<Axis>,
    store: Vec<Index>,
    index: Vec<Index>,
    padded: bool,
) -> TensorExpr {
    TensorExpr {
        name: format!("{}_{}", step.name, output.name).into(),
        inputs: vec![Tensor { role: Role::Activation, ..tensor.clone() }],
        axes,
        reduce: vec![],
        before: vec![],
        combine: Combine::Sum,
        coefficients: None,
        body: ScalarExpr::Load { tensor: 0, index, padded },
        epilogue: ScalarExpr::Acc,
        across: None,
        store,
        clipped: false,
        output,
    }
}
