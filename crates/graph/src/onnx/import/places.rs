//! Where something is along a dimension: the greatest, what positions name, sums up to each place.

use super::{Importer, Value, axis, checked_length};
use crate::error::GraphError;
use crate::graph::op::{Arithmetic, Function, Op};
use crate::graph::{Origin, TensorId};
use crate::onnx::attributes::NodeView;
use crate::onnx::proto::tensor_proto::DataType;
use warpsight_generate::operators::{EXACT, ReduceKind};

/// The longest dimension along which sums up to each place are made, as a product with a triangle.
const LONGEST_SUM: i64 = 4096;

impl Importer {
    /// 0, 1, 2, … along a dimension of a tensor, beside it.
    pub(super) fn counted(&mut self, view: NodeView<'_>, name: &str, extent: i64, behind: usize) -> Result<TensorId, GraphError> {
        let mut shape = vec![extent];
        shape.extend(vec![1; behind]);
        let length = checked_length(view, &shape, 1, super::MAX_FOLDED)?;
        self.hold(name, length as u64)?;
        Ok(self.graph.add_constant(name.to_owned(), shape, Origin::Constant, (0..extent).map(|n| n as f64).collect()))
    }

    /// The place of the greatest (of ArgMin the least) along a dimension, which stays with extent 1.
    fn best_place(&mut self, view: NodeView<'_>, x: TensorId, at: usize, (least, last): (bool, bool)) -> Result<TensorId, GraphError> {
        let (shape, stem) = (self.shape(x).to_vec(), view.proto.output[0].clone());
        let kept: Vec<i64> = (0..shape.len()).map(|d| if d == at { 1 } else { shape[d] }).collect();
        let over = |kind| Op::Reduce { kind, axes: vec![at], keep: true };
        let kind = if least { ReduceKind::Min } else { ReduceKind::Max };
        if shape[at] > EXACT {
            return Err(view.unsupported(format!("{} places along axis {at} (at most {EXACT})", shape[at])));
        }
        let best = self.emit_part(view, &format!("{stem}.best"), over(kind), vec![x], kept.clone())?;
        // What is compared with elements is no less exact than they are.
        self.keep_exact(best);
        let same = self.paired(view, &format!("{stem}.same"), Arithmetic::Equal, [x, best])?;
        // What is no number is the greatest, and the least.
        let number = self.paired(view, &format!("{stem}.number"), Arithmetic::Equal, [x, x])?;
        let nothing = self.mapped(view, &format!("{stem}.nothing"), Function::Not, number)?;
        let found = self.paired(view, &format!("{stem}.found"), Arithmetic::Or, [same, nothing])?;
        let places = self.counted(view, &format!("{stem}.places"), shape[at], shape.len() - at - 1)?;
        let nowhere = self.held_number(&format!("{stem}.nowhere"), if last { -1.0 } else { shape[at] as f64 });
        let own = self.selected(view, &format!("{stem}.own"), [found, places, nowhere])?;
        let kind = if last { ReduceKind::Max } else { ReduceKind::Min };
        let place = self.emit_part(view, &format!("{stem}.place"), over(kind), vec![own], kept)?;
        self.keep_exact(own);
        self.keep_exact(place);
        Ok(place)
    }

    /// The place of the greatest along a dimension, or of the least: the first, or the last where that is asked for.
    pub(super) fn arg_best(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let x = self.data(view, 0)?;
        let mut shape = self.shape(x).to_vec();
        let at = axis(view, view.int("axis", 0)?, shape.len())?;
        let asked = (view.proto.op_type == "ArgMin", view.int("select_last_index", 0)? != 0);
        let place = self.best_place(view, x, at, asked)?;
        if view.int("keepdims", 1)? != 0 {
            shape[at] = 1;
        } else {
            shape.remove(at);
        }
        let value = self.emit(view, Op::Alias, vec![place], shape)?;
        self.declare(&value, DataType::Int64);
        Ok(value)
    }

    /// 1 at the place of the first of the greatest, else 0; before opset 13 all dimensions from `axis` on are one.
    pub(super) fn hardmax(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let (x, stem, new) = (self.data(view, 0)?, view.proto.output[0].clone(), view.opset >= 13);
        let shape = self.shape(x).to_vec();
        let at = axis(view, view.int("axis", if new { -1 } else { 1 })?, shape.len())?;
        let mut rows: Vec<i64> = shape[..at].to_vec();
        rows.extend(if new { shape[at..].to_vec() } else { vec![shape[at..].iter().product()] });
        let x = self.emit_part(view, &format!("{stem}.rows"), Op::Alias, vec![x], rows.clone())?;
        let place = self.best_place(view, x, at, (false, false))?;
        let places = self.counted(view, &format!("{stem}.each"), rows[at], rows.len() - at - 1)?;
        let own = self.pair(view, &format!("{stem}.is_it"), Arithmetic::Equal, [place, places])?;
        self.emit(view, Op::Alias, vec![own], shape)
    }

    /// One number where a position is, another elsewhere, along a new dimension.
    pub(super) fn one_hot(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let (given, stem) = (self.number(view, 0)?, view.proto.output[0].clone());
        let depth = match self.value(view, 1)? {
            Value::Ints(ints) => ints.values.first().copied(),
            Value::Tensor(_) => self.constant_scalar(view, 1)?.map(|depth| depth as i64),
        };
        let depth = depth.filter(|depth| *depth >= 1).ok_or_else(|| view.bad("a depth below 1"))?;
        let values = self.number(view, 2)?;
        let kind = self.kind(values);
        let Some(&[off, on]) = self.graph.tensor(values).constant.as_deref() else {
            return Err(self.open(view, 2, values).unwrap_or_else(|| view.unsupported("values that are computed")));
        };
        let mut shape = self.shape(given).to_vec();
        let at = axis(view, view.int("axis", -1)?, shape.len() + 1)?;
        shape.insert(at, 1);
        let given = self.emit_part(view, &format!("{stem}.given"), Op::Alias, vec![given], shape.clone())?;
        let (zero, all) = (self.held_number(&format!("{stem}.zero"), 0.0), self.held_number(&format!("{stem}.depth"), depth as f64));
        let before = self.pair(view, &format!("{stem}.before"), Arithmetic::Less, [given, zero])?;
        let from_end = self.pair(view, &format!("{stem}.from_end"), Arithmetic::Add, [given, all])?;
        let given = self.selected(view, &format!("{stem}.from_start"), [before, from_end, given])?;
        let places = self.counted(view, &format!("{stem}.places"), depth, shape.len() - at - 1)?;
        let hit = self.pair(view, &format!("{stem}.hit"), Arithmetic::Equal, [given, places])?;
        let (on, off) = (self.held_number(&format!("{stem}.on"), on), self.held_number(&format!("{stem}.off"), off));
        let value = Value::Tensor(self.selected(view, &stem, [hit, on, off])?);
        self.declare(&value, kind);
        Ok(value)
    }

    /// Sums of all up to each place along a dimension: a product with a triangle of ones.
    pub(super) fn running_sum(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let (x, stem) = (self.number(view, 0)?, view.proto.output[0].clone());
        let (shape, kind) = (self.shape(x).to_vec(), self.kind(x));
        let stated = self.ints(view, 1)?.and_then(|own| own.values.first().copied()).ok_or_else(|| view.bad("input 1 is missing"))?;
        let at = axis(view, stated, shape.len())?;
        let (exclusive, reverse, extent) = (view.int("exclusive", 0)? != 0, view.int("reverse", 0)? != 0, shape[at]);
        if extent > LONGEST_SUM {
            return Err(view.unsupported(format!("{extent} places along axis {at} (at most {LONGEST_SUM})")));
        }
        self.hold(&stem, (extent * extent) as u64)?;
        let counts = |from: i64, to: i64| if reverse { from > to } else { from < to } || from == to && !exclusive;
        let ones = (0..extent * extent).map(|n| f64::from(u8::from(counts(n / extent, n % extent)))).collect();
        let triangle = self.graph.add_constant(format!("{stem}.triangle"), vec![extent, extent], Origin::Constant, ones);
        // The dimension last, the others as rows.
        let mut permutation: Vec<usize> = (0..shape.len()).filter(|d| *d != at).collect();
        permutation.push(at);
        let turned: Vec<i64> = permutation.iter().map(|&d| shape[d]).collect();
        let rows = vec![turned[..turned.len() - 1].iter().product(), extent];
        let back = (0..shape.len()).map(|d| permutation.iter().position(|own| *own == d).unwrap_or(d)).collect();
        let x = self.emit_part(view, &format!("{stem}.turned"), Op::Transpose { permutation }, vec![x], turned.clone())?;
        let x = self.emit_part(view, &format!("{stem}.rows"), Op::Alias, vec![x], rows.clone())?;
        let product = Op::MatMul { transpose_left: false, transpose_right: false };
        let x = self.emit_part(view, &format!("{stem}.sums"), product, vec![x, triangle], rows)?;
        let x = self.emit_part(view, &format!("{stem}.apart"), Op::Alias, vec![x], turned)?;
        let value = self.emit_part(view, &stem, Op::Transpose { permutation: back }, vec![x], shape)?;
        self.as_kind(view, value, kind)
    }
}
