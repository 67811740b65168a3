//! Alternative sequences of expressions for one operator: what is computed is the same, with other temporaries.

use crate::expr::{Axis, AxisId, Combine, Index, Operator, Role, ScalarExpr, Tensor, TensorExpr};
use warpsight_ir::range::Interval;

/// One way to compute an operator.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// For people: `direct`, `padded`.
    pub name: &'static str,
    /// Its expressions. Names of the tensors read and written from outside are those of the operator.
    pub operator: Operator,
}

/// The ways to compute an operator; the first is its expressions as they are.
///
/// `padded`: a tensor that a reduction reads beyond its ends is first copied into one that has the zeros read there, so that the reduction
/// asks for no bounds. The copy is an expression like any other: it is a kernel, and its time counts.
///
/// ```
/// use warpsight_generate::{candidates::candidates, operators::parse_operator};
/// let conv = parse_operator("conv2d n=1 c=8 h=14 w=14 k=8 r=3 s=3 stride=1 pad=1").unwrap();
/// let ways = candidates(&conv);
/// assert_eq!(ways.iter().map(|way| way.name).collect::<Vec<_>>(), ["direct", "padded"]);
/// assert_eq!(ways[1].operator.steps[0].output.shape, [1, 8, 16, 16]);
/// ```
pub fn candidates(operator: &Operator) -> Vec<Candidate> {
    let direct = Candidate { name: "direct", operator: operator.clone() };
    std::iter::once(direct).chain(padded(operator)).collect()
}

/// The operator with a copy in front of each reduction that reads beyond a tensor's ends; `None` where none does.
fn padded(operator: &Operator) -> Option<Candidate> {
    let mut steps = vec![];
    for step in &operator.steps {
        match with_copies(step) {
            Some(own) => steps.extend(own),
            None => steps.push(step.clone()),
        }
    }
    (steps.len() > operator.steps.len()).then(|| Candidate { name: "padded", operator: Operator { kind: operator.kind.clone(), steps } })
}

fn with_copies(step: &TensorExpr) -> Option<Vec<TensorExpr>> {
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
        let name = (0..).map(|n| format!("{}_padded{}", tensor.name, if n == 0 { String::new() } else { n.to_string() }));
        let name = name.into_iter().find(|name| step.inputs.iter().chain([&step.output]).all(|other| *other.name != **name))?;
        let output = Tensor { name: name.into(), shape, element: tensor.element, role: Role::Output };
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
    let mut axes = vec![];
    let forms: Vec<Index> = (0..output.shape.len())
        .map(|d| {
            if output.shape[d] == 1 && d + 1 < output.shape.len() {
                return Index::constant(0);
            }
            axes.push(Axis { name: format!("i{d}").into(), extent: output.shape[d] });
            Index::var(AxisId(axes.len() - 1))
        })
        .collect();
    let index = forms.iter().zip(from).map(|(form, from)| form.with_constant(*from)).collect();
    let padded = whole.iter().any(|whole| !whole);
    TensorExpr {
        name: format!("{}_{}", step.name, output.name).into(),
        inputs: vec![Tensor { role: Role::Activation, ..tensor.clone() }],
        axes,
        reduce: vec![],
        combine: Combine::Sum,
        body: ScalarExpr::Load { tensor: 0, index, padded },
        epilogue: ScalarExpr::Acc,
        store: forms,
        output,
    }
}
