//! Einstein's sums: products of tensors over dimensions that share a letter.

use super::{Importer, Value};
use crate::error::GraphError;
use crate::graph::TensorId;
use crate::graph::op::Op;
use crate::onnx::attributes::NodeView;
use std::collections::BTreeMap;
use warpsight_generate::operators::ReduceKind;

/// A tensor and a letter for each of its dimensions.
type Lettered = (TensorId, Vec<char>);

impl Importer {
    pub(super) fn einsum(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let text = view.string("equation")?.ok_or_else(|| view.bad("it has no equation"))?;
        let text: String = text.chars().filter(|own| !own.is_whitespace()).collect();
        let wrong = || view.bad(format!("the equation `{text}`"));
        let (left, right) = text.split_once("->").map_or((text.as_str(), None), |(left, right)| (left, Some(right)));
        let terms: Vec<Vec<char>> = left.split(',').map(|term| term.chars().collect()).collect();
        let all: Vec<char> = terms.iter().flatten().copied().chain(right.unwrap_or_default().chars()).collect();
        if all.contains(&'.') {
            return Err(view.unsupported(format!("`...` in the equation `{text}`")));
        }
        if terms.len() != view.proto.input.len() || !all.iter().all(char::is_ascii_alphabetic) {
            return Err(wrong());
        }
        let mut extents: BTreeMap<char, i64> = BTreeMap::new();
        let mut tensors: Vec<Lettered> = vec![];
        for (position, letters) in terms.iter().enumerate() {
            let id = self.data(view, position)?;
            let shape = self.shape(id).to_vec();
            if letters.len() != shape.len() {
                return Err(view.bad(format!("input {position} of shape {shape:?} as `{}`", letters.iter().collect::<String>())));
            }
            for (at, (&letter, &extent)) in letters.iter().zip(&shape).enumerate() {
                if letters[..at].contains(&letter) {
                    return Err(view.unsupported(format!("`{letter}` twice in one term of `{text}`")));
                }
                if *extents.entry(letter).or_insert(extent) != extent {
                    return Err(view.bad(format!("`{letter}` is {} and {extent}", extents[&letter])));
                }
            }
            tensors.push((id, letters.clone()));
        }
        // Without an arrow: letters that are there once, in alphabetical order.
        let once = || extents.keys().copied().filter(|own| terms.iter().flatten().filter(|other| *other == own).count() == 1).collect();
        let result: Vec<char> = right.map_or_else(once, |right| right.chars().collect());
        if (1..result.len()).any(|at| result[..at].contains(&result[at])) || !result.iter().all(|own| extents.contains_key(own)) {
            return Err(wrong());
        }
        let stem = view.proto.output[0].clone();
        let mut tensors = tensors.into_iter();
        let mut sum = tensors.next().ok_or_else(wrong)?;
        let mut left: Vec<Lettered> = tensors.collect();
        for step in 0.. {
            // What nobody asks for any more is summed up first.
            let asked = |letter: &char, others: &[Lettered]| result.contains(letter) || others.iter().any(|own| own.1.contains(letter));
            let name = format!("{stem}.{step}");
            sum = self.summed(view, &format!("{name}.summed"), sum, |letter| asked(letter, &left))?;
            if left.is_empty() {
                break;
            }
            let next = left.remove(0);
            let next = self.summed(view, &format!("{name}.next"), next, |letter| asked(letter, &left) || sum.1.contains(letter))?;
            sum = self.multiplied(view, &name, (sum, next), &extents, |letter| asked(letter, &left))?;
        }
        let (id, letters) = sum;
        let permutation: Option<Vec<usize>> = result.iter().map(|own| letters.iter().position(|other| other == own)).collect();
        let shape = result.iter().map(|own| extents[own]).collect();
        self.emit(view, Op::Transpose { permutation: permutation.ok_or_else(wrong)? }, vec![id], shape)
    }

    /// Without the dimensions that are not asked for.
    fn summed(
        &mut self,
        view: NodeView<'_>,
        name: &str,
        (id, letters): Lettered,
        asked: impl Fn(&char) -> bool,
    ) -> Result<Lettered, GraphError> {
        let axes: Vec<usize> = (0..letters.len()).filter(|&d| !asked(&letters[d])).collect();
        if axes.is_empty() {
            return Ok((id, letters));
        }
        let kept: Vec<usize> = (0..letters.len()).filter(|d| !axes.contains(d)).collect();
        let shape = kept.iter().map(|&d| self.shape(id)[d]).collect();
        let op = Op::Reduce { kind: ReduceKind::Sum, axes, keep: false };
        Ok((self.emit_part(view, name, op, vec![id], shape)?, kept.into_iter().map(|d| letters[d]).collect()))
    }

    /// Two tensors as stacks of matrices: letters of both that are asked for count stacks, of both that are not are summed over.
    fn multiplied(
        &mut self,
        view: NodeView<'_>,
        name: &str,
        (a, b): (Lettered, Lettered),
        extents: &BTreeMap<char, i64>,
        asked: impl Fn(&char) -> bool,
    ) -> Result<Lettered, GraphError> {
        let shared = |stacks: bool| a.1.iter().copied().filter(|own| b.1.contains(own) && asked(own) == stacks).collect::<Vec<char>>();
        let (stacks, inner) = (shared(true), shared(false));
        let alone =
            |own: &Lettered, other: &Lettered| own.1.iter().copied().filter(|letter| !other.1.contains(letter)).collect::<Vec<char>>();
        let (rows, columns) = (alone(&a, &b), alone(&b, &a));
        let product = |letters: &[char]| letters.iter().map(|own| extents[own]).product::<i64>();
        let mut matrix = |name: &str, own: &Lettered, order: [&[char]; 3]| {
            let letters = order.concat();
            let permutation = letters.iter().filter_map(|letter| own.1.iter().position(|other| other == letter)).collect();
            let shape = letters.iter().map(|letter| extents[letter]).collect();
            let turned = self.emit_part(view, &format!("{name}.turned"), Op::Transpose { permutation }, vec![own.0], shape)?;
            self.emit_part(view, name, Op::Alias, vec![turned], order.map(product).to_vec())
        };
        let left = matrix(&format!("{name}.left"), &a, [&stacks, &rows, &inner])?;
        let right = matrix(&format!("{name}.right"), &b, [&stacks, &inner, &columns])?;
        let op = Op::MatMul { transpose_left: false, transpose_right: false };
        let shape = vec![product(&stacks), product(&rows), product(&columns)];
        let whole = self.emit_part(view, &format!("{name}.product"), op, vec![left, right], shape)?;
        let letters = [stacks, rows, columns].concat();
        let shape = letters.iter().map(|letter| extents[letter]).collect();
        Ok((self.emit_part(view, name, Op::Alias, vec![whole], shape)?, letters))
    }
}
