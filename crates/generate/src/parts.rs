//! Several expressions that write one tensor, each a part of it; and tensors that are updated in place.
//!
//! Expressions of an [`Operator`] whose outputs have one name write one tensor. The rule: no two of their results are the same element, and all
//! elements are written. What an expression writes is found dimension by dimension, by ranges of affine forms: a form in axes that no other
//! dimension depends on, each of which goes on where the one within it ends, is a run `first, first + step, …` ([`Part`]). Parts are disjoint
//! where their runs are in some dimension; disjoint parts that have as many elements as the tensor cover it. What cannot be shown so is refused.
//!
//! An operator works in place ([`onto`]) where the tensor that it writes lies where one does that it reads: what it only copied to the same place
//! is there already. That changes nothing as long as no element is read after it was written, which is the rule that [`warpsight_ir::in_place()`] has
//! for the work-items of one kernel, for the kernels of a sequence.

use crate::expr::{AxisId, Index, Operator, ScalarExpr, Tensor, TensorExpr};
use std::collections::BTreeSet;
use warpsight_ir::Name;
use warpsight_ir::range::Interval;

/// Why expressions may not write a tensor together, or not in place of one that they read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PartsError {
    /// An element twice.
    #[error("`{first}` and `{second}` may write the same elements of `{tensor}`")]
    Overlap {
        /// The tensor.
        tensor: Name,
        /// An expression.
        first: Name,
        /// Another one, or the same.
        second: Name,
    },
    /// An element by none.
    #[error("{written} of {elements} elements of `{tensor}` are written")]
    Hole {
        /// The tensor.
        tensor: Name,
        /// Elements that are written.
        written: u64,
        /// Elements that there are.
        elements: u64,
    },
    /// What an expression writes is no product of runs, or not all of it lies in the tensor.
    #[error("which elements of `{tensor}` are written by `{step}` cannot be told")]
    Unknown {
        /// The tensor.
        tensor: Name,
        /// The expression.
        step: Name,
    },
    /// One tensor in two shapes or types.
    #[error("`{first}` and `{second}` do not lie alike")]
    Layout {
        /// A tensor.
        first: Name,
        /// Another one, or the same as another expression has it.
        second: Name,
    },
    /// An element is read when something else is there already.
    #[error("`{step}` may read an element of `{tensor}` after it was written")]
    Late {
        /// What is read.
        tensor: Name,
        /// The expression that reads it.
        step: Name,
    },
}

/// Positions along a dimension: `first`, and every `step` after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    first: i64,
    step: i64,
    count: i64,
}

/// A part of a tensor: of each dimension a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    runs: Vec<Run>,
}

impl Run {
    fn last(self) -> i64 {
        self.first + (self.count - 1) * self.step
    }

    /// The positions of a form of axes of these extents; `None` where they are no run.
    fn of(form: &Index, extent: impl Fn(AxisId) -> i64) -> Option<Self> {
        let mut run = Self { first: form.constant, step: 1, count: 1 };
        let mut terms: Vec<(i64, i64)> = vec![];
        for &(axis, by) in form.terms().iter().filter(|term| extent(term.0) > 1) {
            let (by, extent) = (i64::from(by), extent(axis));
            // Backwards from the end.
            run.first = if by < 0 { run.first.checked_add(by.checked_mul(extent - 1)?)? } else { run.first };
            terms.push((by.abs(), extent));
        }
        terms.sort_unstable();
        for (n, (by, extent)) in terms.into_iter().enumerate() {
            if n == 0 {
                run.step = by;
            } else if by != run.step.checked_mul(run.count)? {
                return None;
            }
            run.count = run.count.checked_mul(extent)?;
        }
        run.step.checked_mul(run.count)?.checked_add(run.first)?;
        Some(run)
    }

    /// Those from 0 up to an extent.
    fn clipped(self, extent: i64) -> Option<Self> {
        let skipped = if self.first < 0 { (-self.first + self.step - 1) / self.step } else { 0 };
        let first = self.first + skipped * self.step;
        let kept = if first < extent { (extent - 1 - first) / self.step + 1 } else { 0 };
        let count = kept.min(self.count - skipped);
        (count > 0).then_some(Self { first, count, ..self })
    }

    fn contains(self, at: i64) -> bool {
        (self.first..=self.last()).contains(&at) && (at - self.first) % self.step == 0
    }

    /// Whether all positions of another one are in it.
    fn holds(self, other: Self) -> bool {
        self.contains(other.first) && self.contains(other.last()) && (other.count == 1 || other.step % self.step == 0)
    }

    /// Whether no position is in both: one ends before the other begins, or their steps never meet.
    fn misses(self, other: Self) -> bool {
        // One position has no step.
        if self.count == 1 || other.count == 1 {
            let (one, run) = if self.count == 1 { (self, other) } else { (other, self) };
            return !run.contains(one.first);
        }
        let (mut step, mut rest) = (self.step, other.step);
        while rest != 0 {
            (step, rest) = (rest, step % rest);
        }
        self.last() < other.first || other.last() < self.first || (self.first - other.first) % step != 0
    }
}

impl Part {
    /// What an expression writes; `None` where that is no product of runs, where elements are written twice, or where some lie outside of the output and
    /// are not left out.
    pub fn of(expr: &TensorExpr) -> Option<Self> {
        let extents: Vec<i64> = expr.result_axes().map(|axis| axis.extent).collect();
        let extent = |axis: AxisId| extents.get(axis.0).copied().unwrap_or(1);
        // Every axis along one dimension.
        let mut uses = vec![0; extents.len()];
        for term in expr.store.iter().flat_map(Index::terms) {
            *uses.get_mut(term.0.0)? += 1;
        }
        if uses.iter().zip(&extents).any(|(uses, extent)| *extent > 1 && *uses != 1) {
            return None;
        }
        let run = |(form, whole): (&Index, &i64)| {
            let run = Run::of(form, extent)?;
            if expr.clipped { run.clipped(*whole) } else { (run.first >= 0 && run.last() < *whole).then_some(run) }
        };
        Some(Self { runs: expr.store.iter().zip(&expr.output.shape).map(run).collect::<Option<_>>()? })
    }

    /// What an expression writes, where that is known and not all of its output. Blocks and texels that it cuts ([`Part::cuts`]) would reach into
    /// other parts: the output does not lie in these.
    pub fn proper(expr: &TensorExpr) -> Option<Self> {
        Self::of(expr).filter(|part| part.len() < expr.output.len() as u64)
    }

    /// Whether it has some positions of a block of so many along a dimension and not all that are below the extent.
    pub fn cuts(&self, dim: usize, extent: i64, block: i64) -> bool {
        let whole = |run: &Run| {
            let end = run.last() + 1;
            run.count == extent || run.step == 1 && run.first % block == 0 && (end % block == 0 || end == extent)
        };
        !self.runs.get(dim).is_some_and(whole)
    }

    /// Elements.
    pub fn len(&self) -> u64 {
        self.runs.iter().map(|run| run.count.unsigned_abs()).fold(1, u64::saturating_mul)
    }

    /// Never: a part has an element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether an element, by its position along each dimension, is in it.
    pub fn contains(&self, at: &[i64]) -> bool {
        self.runs.iter().zip(at).all(|(run, at)| run.contains(*at))
    }

    /// Whether all elements of another one are in it.
    fn holds(&self, other: &Self) -> bool {
        self.runs.iter().zip(&other.runs).all(|(own, other)| own.holds(*other))
    }

    fn misses(&self, other: &Self) -> bool {
        self.runs.iter().zip(&other.runs).any(|(own, other)| own.misses(*other))
    }
}

/// Whether every tensor that several expressions write is written once and whole.
///
/// # Errors
/// [`PartsError`].
pub fn check(operator: &Operator) -> Result<(), PartsError> {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for step in &operator.steps {
        let together: Vec<&TensorExpr> = operator.steps.iter().filter(|own| own.output.name == step.output.name).collect();
        if together.len() > 1 && seen.insert(&step.output.name) {
            whole(&together)?;
        }
    }
    Ok(())
}

/// Expressions of one output.
fn whole(steps: &[&TensorExpr]) -> Result<(), PartsError> {
    let (output, parts) = (&steps[0].output, disjoint(steps)?);
    let (written, elements) = (parts.iter().map(Part::len).sum(), output.len() as u64);
    if written == elements { Ok(()) } else { Err(PartsError::Hole { tensor: output.name.clone(), written, elements }) }
}

/// Whether expressions of one output write what one of it does, each element once.
pub(crate) fn share(step: &TensorExpr, steps: &[TensorExpr]) -> bool {
    let (Some(whole), Ok(parts)) = (Part::of(step), disjoint(&steps.iter().collect::<Vec<_>>())) else { return false };
    parts.iter().all(|own| whole.holds(own)) && parts.iter().map(Part::len).sum::<u64>() == whole.len()
}

/// What each of the expressions of one output writes.
fn disjoint(steps: &[&TensorExpr]) -> Result<Vec<Part>, PartsError> {
    let mut parts: Vec<(&Name, Part)> = vec![];
    for step in steps {
        let output = &step.output;
        alike(&steps[0].output, output)?;
        let own = part(step)?;
        if let Some((first, _)) = parts.iter().find(|(_, other)| !own.misses(other)) {
            return Err(PartsError::Overlap { tensor: output.name.clone(), first: (*first).clone(), second: step.name.clone() });
        }
        parts.push((&step.name, own));
    }
    Ok(parts.into_iter().map(|own| own.1).collect())
}

fn alike(first: &Tensor, second: &Tensor) -> Result<(), PartsError> {
    if (&first.shape, first.element) == (&second.shape, second.element) {
        return Ok(());
    }
    Err(PartsError::Layout { first: first.name.clone(), second: second.name.clone() })
}

fn part(step: &TensorExpr) -> Result<Part, PartsError> {
    Part::of(step).ok_or_else(|| PartsError::Unknown { tensor: step.output.name.clone(), step: step.name.clone() })
}

/// The operator in place of a tensor that it reads: what its last expression writes lies there, and expressions that only copy elements to where they
/// are anyway are gone. Elements that none of the others writes stay what they were.
///
/// # Errors
/// Those of [`check`], [`PartsError::Layout`] where other coordinates are other places, [`PartsError::Late`] where an expression may read what one before it, or it
/// itself, wrote, [`PartsError::Unknown`].
pub fn onto(operator: &Operator, data: &Name) -> Result<Operator, PartsError> {
    check(operator)?;
    let Some(last) = operator.steps.last() else { return Ok(operator.clone()) };
    let read = operator.steps.iter().flat_map(|step| &step.inputs).find(|tensor| tensor.name == *data);
    read.map_or(Ok(()), |tensor| alike(tensor, &last.output))?;
    let writes = |step: &TensorExpr| step.output.name == last.output.name;
    let steps: Vec<TensorExpr> = operator.steps.iter().filter(|step| !(writes(step) && copies(step, data))).cloned().collect();
    let mut written: Vec<Part> = vec![];
    for step in &steps {
        if writes(step) {
            written.push(part(step)?);
        }
        if written.iter().any(|part| reads(step, data, part)) {
            return Err(PartsError::Late { tensor: data.clone(), step: step.name.clone() });
        }
    }
    Ok(Operator { kind: operator.kind.clone(), steps })
}

/// Whether every result is the element of a tensor at the same place.
fn copies(step: &TensorExpr, data: &Name) -> bool {
    let ScalarExpr::Load { tensor, index, .. } = &step.body else { return false };
    let plain = step.reduce.is_empty() && step.before.is_empty() && step.epilogue == ScalarExpr::Acc;
    plain && step.inputs[*tensor].name == *data && *index == step.store
}

/// Whether an expression may read an element of a tensor that is in a part of it.
fn reads(step: &TensorExpr, data: &Name, part: &Part) -> bool {
    let axes: Vec<Interval> = step.all_axes().map(|axis| Interval::below(axis.extent)).collect();
    let along = |form: &Index, run: &Run| {
        let range = form.range(|axis| axes[axis.0]);
        range.lo <= i128::from(run.last()) && i128::from(run.first) <= range.hi
    };
    let mut found = false;
    step.scalars().for_each(|scalar| {
        scalar.each(&mut |own| match own {
            ScalarExpr::Load { tensor, index, .. } if step.inputs[*tensor].name == *data => {
                found |= index.iter().zip(&part.runs).all(|(form, run)| along(form, run));
            }
            // Anywhere.
            ScalarExpr::Gather { tensor, .. } => found |= step.inputs[*tensor].name == *data,
            _ => {}
        });
    });
    found
}
