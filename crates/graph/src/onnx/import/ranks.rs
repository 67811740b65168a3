//! The greatest or the least along a dimension, by their ranks.

use super::{Importer, Value, axis};
use crate::error::GraphError;
use crate::graph::op::{Arithmetic, Function, Op};
use crate::onnx::attributes::NodeView;
use crate::onnx::proto::tensor_proto::DataType;
use warpsight_generate::operators::ReduceKind;

impl Importer {
    /// The so many greatest or least along a dimension in their order, of equal ones the first before the second, and their places: an element's
    /// rank is how many come before it, and each rank finds its element among all.
    pub(super) fn top(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let x = self.number(view, 0)?;
        let (shape, kind) = (self.shape(x).to_vec(), self.kind(x));
        let at = axis(view, view.int("axis", -1)?, shape.len())?;
        let (extent, behind) = (shape[at], shape.len() - at - 1);
        let stated = self.ints(view, 1)?.and_then(|own| own.values.first().copied());
        let count = if view.opset < 10 { view.int("k", 0)? } else { stated.ok_or_else(|| view.bad("input 1 is missing"))? };
        if !(1..=extent).contains(&count) {
            return Err(view.bad(format!("{count} of {extent} elements")));
        }
        let outputs: Vec<String> = [0, 1].map(|n| view.proto.output.get(n).cloned().unwrap_or_default()).into();
        let stem = outputs.iter().find(|name| !name.is_empty()).cloned().unwrap_or_default();
        let part = |name: &str| format!("{stem}.{name}");
        // Each element, in front of all of its row. Of endless ones the difference is none: they are the greatest finite ones here.
        let along = |own: i64, other: i64| [&shape[..at], &[own, other], &shape[at + 1..]].concat();
        let ends = Function::Clip(-f64::from(f32::MAX), f64::from(f32::MAX));
        let finite = self.mapped(view, &part("finite"), ends, x)?;
        let own = self.emit_part(view, &part("own"), Op::Alias, vec![finite], along(extent, 1))?;
        let others = self.emit_part(view, &part("others"), Op::Alias, vec![finite], along(1, extent))?;
        let pair = if view.int("largest", 1)? != 0 { [others, own] } else { [own, others] };
        let above = self.pair(view, &part("above"), Arithmetic::Sub, pair)?;
        let zero = self.held_number(&stem, 0.0);
        let before = self.pair(view, &part("before"), Arithmetic::Less, [zero, above])?;
        let same = self.pair(view, &part("same"), Arithmetic::Equal, [above, zero])?;
        let places = [self.counted(view, &part("place"), extent, behind + 1)?, self.counted(view, &part("places"), extent, behind)?];
        let earlier = self.pair(view, &part("earlier"), Arithmetic::Less, [places[1], places[0]])?;
        let tied = self.pair(view, &part("tied"), Arithmetic::And, [same, earlier])?;
        let ahead = self.pair(view, &part("ahead"), Arithmetic::Or, [before, tied])?;
        let rank = self.reduced(view, &part("rank"), ReduceKind::Sum, ahead, &[at + 1])?;
        let rank = self.emit_part(view, &part("ranked"), Op::Alias, vec![rank], along(1, extent))?;
        self.keep_exact(rank);
        let ranks = self.counted(view, &part("ranks"), count, behind + 1)?;
        let hit = self.pair(view, &part("hit"), Arithmetic::Equal, [rank, ranks])?;
        let other = self.emit_part(view, &part("other"), Op::Alias, vec![x], along(1, extent))?;
        let whole: Vec<i64> = (0..shape.len()).map(|d| if d == at { count } else { shape[d] }).collect();
        let mut first = None;
        for (name, (found, kind)) in outputs.iter().zip([(other, kind), (places[1], DataType::Int64)]) {
            if name.is_empty() {
                continue;
            }
            let hits = self.selected(view, &format!("{name}.hits"), [hit, found, zero])?;
            let sum = self.reduced(view, &format!("{name}.sum"), ReduceKind::Sum, hits, &[at + 1])?;
            let value = Value::Tensor(self.emit_part(view, name, Op::Alias, vec![sum], whole.clone())?);
            if kind == DataType::Int64 {
                self.keep_exact(hits);
                self.keep_exact(sum);
            }
            self.declare(&value, kind);
            self.hand_out(name, value.clone());
            first.get_or_insert(value);
        }
        first.ok_or_else(|| view.bad("it has no output"))
    }
}
