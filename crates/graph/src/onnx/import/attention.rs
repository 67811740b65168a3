//! Attention, caches, and triangles of matrices.

use super::{Importer, Value, axis};
use crate::error::GraphError;
use crate::graph::heads::Heads;
use crate::graph::op::{Attention, Op};
use crate::graph::{Origin, TensorId};
use crate::onnx::attributes::NodeView;
use crate::onnx::proto::tensor_proto::DataType;

/// Heads behind rows, or rows behind heads.
const TURNED: [usize; 4] = [0, 2, 1, 3];

impl Importer {
    pub(super) fn attention(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        if view.float("softcap", 0.0)? != 0.0 || self.optional(view, 6)?.is_some() {
            return Err(view.unsupported("softcap, or keys that are padding"));
        }
        let scale = if view.has("scale") { Some(view.float("scale", 1.0)?) } else { None };
        let own = Attention { causal: view.int("is_causal", 0)? != 0, scale };
        let flat = self.shape(self.data(view, 0)?).len() == 3;
        let queries = self.heads(view, 0, flat, "q_num_heads")?;
        let mut keys = self.heads(view, 1, flat, "kv_num_heads")?;
        let mut values = self.heads(view, 2, flat, "kv_num_heads")?;
        if let (Some(past_keys), Some(past_values)) = (self.optional_data(view, 4)?, self.optional_data(view, 5)?) {
            if own.causal {
                return Err(view.unsupported("is_causal=1 with earlier keys"));
            }
            keys = self.after(view, past_keys, keys, "keys")?;
            values = self.after(view, past_values, values, "values")?;
        }
        let shapes = [queries, keys, values].map(|id| self.shape(id));
        let heads = Heads::of(shapes[0], shapes[1], shapes[2]).map_err(|what| view.bad(what))?;
        let mut inputs = vec![queries, keys, values];
        if self.optional(view, 3)?.is_some() {
            inputs.push(self.mask(view)?);
        }
        let op = Op::Attention(own);
        let shape = heads.with(&[heads.heads, heads.queries, heads.width]);
        if !flat {
            return self.fitting(view, op, inputs, shape);
        }
        let output = &view.proto.output[0];
        op.fits(&inputs.iter().map(|id| self.shape(*id)).collect::<Vec<_>>(), &[&shape]).map_err(|what| view.bad(what))?;
        let result = self.emit_part(view, &format!("{output}.heads"), op, inputs, shape)?;
        let turned = heads.with(&[heads.queries, heads.heads, heads.width]);
        let result =
            self.emit_part(view, &format!("{output}.turned"), Op::Transpose { permutation: TURNED.to_vec() }, vec![result], turned)?;
        self.emit(view, Op::Alias, vec![result], vec![heads.stack[0], heads.queries, heads.heads * heads.width])
    }

    /// An input as heads of rows: of one of three dimensions, heads lie side by side in a row.
    fn heads(&mut self, view: NodeView<'_>, position: usize, flat: bool, count: &str) -> Result<TensorId, GraphError> {
        let id = self.data(view, position)?;
        if !flat {
            return Ok(id);
        }
        let (shape, heads) = (self.shape(id).to_vec(), view.int(count, 0)?);
        let [batch, rows, columns] = shape[..] else { return Err(view.bad(format!("input {position} has shape {shape:?}"))) };
        if heads < 1 || columns % heads != 0 {
            return Err(view.bad(format!("{count}={heads} of {columns} columns")));
        }
        let stem = format!("{}.{}", view.proto.output[0], view.proto.input[position]);
        let parted = self.emit_part(view, &format!("{stem}.parted"), Op::Alias, vec![id], vec![batch, rows, heads, columns / heads])?;
        let shape = vec![batch, heads, rows, columns / heads];
        self.emit_part(view, &format!("{stem}.heads"), Op::Transpose { permutation: TURNED.to_vec() }, vec![parted], shape)
    }

    /// Earlier rows of heads, then these.
    fn after(&mut self, view: NodeView<'_>, past: TensorId, now: TensorId, what: &str) -> Result<TensorId, GraphError> {
        let (before, own) = (self.shape(past).to_vec(), self.shape(now).to_vec());
        let mut shape = own.clone();
        match (shape.get_mut(2), before.get(2)) {
            (Some(rows), Some(more)) => *rows += more,
            _ => return Err(view.bad(format!("earlier {what} of shape {before:?}"))),
        }
        let op = Op::Concat { axis: 2 };
        op.fits(&[&before, &own], &[&shape]).map_err(|what| view.bad(what))?;
        self.emit_part(view, &format!("{}.{what}", view.proto.output[0]), op, vec![past, now], shape)
    }

    /// What is added to products: of truth values, nothing where they hold and −∞ where they do not.
    fn mask(&mut self, view: NodeView<'_>) -> Result<TensorId, GraphError> {
        let mask = self.number(view, 3)?;
        if self.kind(mask) != DataType::Bool {
            return self.data(view, 3);
        }
        let output = &view.proto.output[0];
        let mut number =
            |name: &str, value: f64| self.graph.add_constant(format!("{output}.{name}"), vec![], Origin::Constant, vec![value]);
        let inputs = vec![mask, number("seen", 0.0), number("hidden", f64::NEG_INFINITY)];
        let shape = self.shape(mask).to_vec();
        self.emit_part(view, &format!("{output}.mask"), Op::Select, inputs, shape)
    }

    /// New rows of a cache.
    pub(super) fn update(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let mode = view.string("mode")?.unwrap_or_else(|| "linear".into());
        if mode != "linear" {
            return Err(view.unsupported(format!("mode `{mode}` (linear is)")));
        }
        let start = match self.ints(view, 2)?.map(|own| own.values.as_slice()) {
            None => 0,
            Some([first, others @ ..]) if others.iter().all(|own| own == first) => *first,
            Some(own) => return Err(view.unsupported(format!("places {own:?}, which are not the same for all"))),
        };
        let inputs = vec![self.data(view, 0)?, self.data(view, 1)?];
        let shape = self.shape(inputs[0]).to_vec();
        let at = axis(view, view.int("axis", -2)?, shape.len())?;
        self.fitting(view, Op::Update { axis: at, start }, inputs, shape)
    }

    pub(super) fn triangle(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let diagonal = match self.ints(view, 1)? {
            None => 0,
            Some(own) => *own.values.first().ok_or_else(|| view.bad("input 1 is empty"))?,
        };
        let input = self.number(view, 0)?;
        let shape = self.shape(input).to_vec();
        self.fitting(view, Op::Triangle { upper: view.int("upper", 1)? != 0, diagonal, beyond: 0.0 }, vec![input], shape)
    }
}
