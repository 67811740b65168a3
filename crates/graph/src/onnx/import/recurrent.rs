//! RNN, GRU and LSTM: the steps of a sequence, written out one after the other.

use super::{Importer, Value};
use crate::error::GraphError;
use crate::graph::TensorId;
use crate::graph::op::{Arithmetic, Function, Op};
use crate::onnx::attributes::NodeView;

/// The longest sequence whose steps are written out: each step has kernels of its own, which differ in where they read and are chosen one by one.
const LONGEST: i64 = 256;

/// What a node of such a kind asks for, the same in each direction and step.
struct Layer<'v> {
    view: NodeView<'v>,
    /// What names of its parts begin with.
    stem: String,
    /// Steps, sequences side by side, elements of a state.
    sizes: [i64; 3],
    /// Beyond this nothing goes into an activation.
    clip: Option<f64>,
    /// Whether the state is multiplied before a gate resets it.
    linear_before_reset: bool,
}

/// One direction of it.
struct Direction {
    number: usize,
    backwards: bool,
    activations: Vec<Function>,
    /// Products of all steps' inputs with their weights, with all biases that are added there: steps × sequences, gates × elements.
    inputs: TensorId,
    /// Weights of the state, gates × elements of rows: of all gates together, of a GRU those of its candidate state behind.
    weights: Vec<TensorId>,
    /// Biases of the candidate state that are added before it is reset.
    reset: Option<TensorId>,
    /// Weights of an LSTM's cell in its three gates.
    peepholes: Option<[TensorId; 3]>,
}

/// What a step leaves.
#[derive(Clone, Copy, Default)]
struct State {
    hidden: Option<TensorId>,
    cell: Option<TensorId>,
}

impl Importer {
    pub(super) fn recurrent(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let gates = match view.proto.op_type.as_str() {
            "RNN" => 1,
            "GRU" => 3,
            _ => 4,
        };
        if view.int("input_forget", 0)? != 0 {
            return Err(view.unsupported("input_forget=1"));
        }
        for name in ["activation_alpha", "activation_beta"] {
            if view.floats(name)?.is_some_and(|own| !own.is_empty()) {
                return Err(view.unsupported(name));
            }
        }
        let directions = match view.string("direction")?.as_deref() {
            None | Some("forward") => vec![false],
            Some("reverse") => vec![true],
            Some("bidirectional") => vec![false, true],
            Some(other) => return Err(view.bad(format!("direction `{other}`"))),
        };
        let count = directions.len() as i64;
        let stem = view.first_output().to_owned();
        let (mut x, w, r) = (self.floats(view, 0)?, self.floats(view, 1)?, self.floats(view, 2)?);
        let kind = self.kind(x);
        // Sequences one after the other, or their steps.
        let whole = view.int("layout", 0)? != 0;
        if whole {
            x = self.exchanged(view, &format!("{stem}.steps"), x)?;
        }
        let [&[steps, batch, width], &[_, _, hidden]] = [self.shape(x), self.shape(r)] else {
            return Err(view.bad(format!("a sequence of shape {:?} and weights of shape {:?}", self.shape(x), self.shape(r))));
        };
        let asked = |at: usize, shape: &[i64]| match self.optional(view, at)?.map(|_| self.floats(view, at)).transpose()? {
            Some(own) if self.shape(own) != shape => Err(view.bad(format!("input {at} of shape {:?}, not {shape:?}", self.shape(own)))),
            own => Ok(own),
        };
        let states = [count, batch, hidden];
        let given = if whole { [batch, count, hidden] } else { states };
        let [bias, mut first, mut cell, peepholes] = [
            asked(3, &[count, 2 * gates * hidden])?,
            asked(5, &given)?,
            if gates == 4 { asked(6, &given)? } else { None },
            if gates == 4 { asked(7, &[count, 3 * hidden])? } else { None },
        ];
        let stated = view.int("hidden_size", hidden)?;
        let rows = stated.saturating_mul(gates);
        let fitting = [[count, rows, width], [count, rows, stated]];
        if [self.shape(w), self.shape(r)] != fitting {
            return Err(view.bad(format!(
                "weights of shapes {:?} and {:?}, not {:?} and {:?}",
                self.shape(w),
                self.shape(r),
                fitting[0],
                fitting[1]
            )));
        }
        if steps > LONGEST {
            return Err(view.unsupported(format!("{steps} steps (at most {LONGEST})")));
        }
        match self.optional(view, 4)? {
            Some(Value::Ints(own)) if own.values.len() as i64 != batch => {
                return Err(view.bad(format!("{} lengths of {batch} sequences", own.values.len())));
            }
            Some(Value::Ints(own)) if own.values.iter().any(|&length| length != steps) => {
                return Err(view.unsupported("sequences that end before others"));
            }
            Some(Value::Tensor(_)) => return Err(view.unsupported("lengths of sequences that are given in a run")),
            _ => {}
        }
        for (name, own) in [("hidden", &mut first), ("cell", &mut cell)] {
            if let Some(given) = own.filter(|_| whole) {
                *own = Some(self.exchanged(view, &format!("{stem}.{name}.ways"), given)?);
            }
        }
        let clip = Some(view.float("clip", 0.0)?).filter(|clip| *clip > 0.0);
        let layer =
            Layer { view, stem, sizes: [steps, batch, hidden], clip, linear_before_reset: view.int("linear_before_reset", 0)? != 0 };
        let (mut each, mut last) = (vec![], vec![]);
        for (number, backwards) in directions.into_iter().enumerate() {
            let activations = activations(view, (number, count as usize), gates)?;
            let direction = self.direction(&layer, (number, backwards, activations), (x, [w, r]), (bias, peepholes))?;
            let mut state = State::default();
            for (name, own, given) in [("hidden", &mut state.hidden, first), ("cell", &mut state.cell, cell)] {
                if let Some(given) = given {
                    *own = Some(self.of_direction(&layer, name, (given, number), vec![batch, hidden])?);
                }
            }
            let mut all = vec![None; steps as usize];
            for at in 0..steps {
                let step = if backwards { steps - 1 - at } else { at };
                state = self.step(&layer, &direction, step, state, gates)?;
                all[step as usize] = state.hidden;
            }
            each.push(all.into_iter().flatten().collect::<Vec<_>>());
            last.push(state);
        }
        // A step's states of all directions, then all steps.
        let mut values = vec![None, None, None];
        let outputs = &view.proto.output;
        let asks = |at: usize| outputs.get(at).is_some_and(|name| !name.is_empty());
        if asks(0) {
            let mut parts = vec![];
            for step in 0..steps as usize {
                parts.extend(each.iter().map(|own| own[step]));
            }
            let permutation = if whole { vec![2, 0, 1, 3] } else { vec![] };
            values[0] = Some(self.together(&layer, &outputs[0], &parts, (vec![steps, count, batch, hidden], permutation))?);
        }
        let ways = if whole { vec![1, 0, 2] } else { vec![] };
        if asks(1) {
            let parts: Vec<TensorId> = last.iter().filter_map(|own| own.hidden).collect();
            values[1] = Some(self.together(&layer, &outputs[1], &parts, (states.to_vec(), ways.clone()))?);
        }
        if gates == 4 && asks(2) {
            let parts: Vec<TensorId> = last.iter().filter_map(|own| own.cell).collect();
            values[2] = Some(self.together(&layer, &outputs[2], &parts, (states.to_vec(), ways.clone()))?);
        }
        let mut found = None;
        for (name, value) in outputs.iter().zip(values) {
            let Some(value) = value else { continue };
            let value = self.as_kind(view, value, kind)?;
            self.hand_out(name, value.clone());
            found = found.or(Some(value));
        }
        found.ok_or_else(|| view.bad("it has no output"))
    }

    /// With its first two dimensions exchanged.
    fn exchanged(&mut self, view: NodeView<'_>, name: &str, x: TensorId) -> Result<TensorId, GraphError> {
        let shape = self.shape(x).to_vec();
        let &[a, b, c] = &shape[..] else { return Err(view.bad(format!("a tensor of shape {shape:?}, not of three dimensions"))) };
        self.emit_part(view, name, Op::Transpose { permutation: vec![1, 0, 2] }, vec![x], vec![b, a, c])
    }

    /// Tensors one after the other, each a row of the whole, whose dimensions then are permuted so, if they are.
    fn together(
        &mut self,
        layer: &Layer<'_>,
        name: &str,
        parts: &[TensorId],
        (shape, permutation): (Vec<i64>, Vec<usize>),
    ) -> Result<TensorId, GraphError> {
        let [_, batch, hidden] = layer.sizes;
        let joined = match parts {
            [one] => *one,
            _ => {
                let rows = vec![batch * parts.len() as i64, hidden];
                self.emit_part(layer.view, &format!("{name}.joined"), Op::Concat { axis: 0 }, parts.to_vec(), rows)?
            }
        };
        if permutation.is_empty() {
            return self.emit_part(layer.view, name, Op::Alias, vec![joined], shape);
        }
        let apart = self.emit_part(layer.view, &format!("{name}.apart"), Op::Alias, vec![joined], shape.clone())?;
        let turned = permutation.iter().map(|&d| shape[d]).collect();
        self.emit_part(layer.view, name, Op::Transpose { permutation }, vec![apart], turned)
    }

    /// What a tensor has for one direction.
    fn of_direction(
        &mut self,
        layer: &Layer<'_>,
        name: &str,
        (x, number): (TensorId, usize),
        shape: Vec<i64>,
    ) -> Result<TensorId, GraphError> {
        let own = self.cut(layer.view, &format!("{}.{name}.of{number}", layer.stem), x, (0, number as i64, 1))?;
        self.emit_part(layer.view, &format!("{}.{name}{number}", layer.stem), Op::Alias, vec![own], shape)
    }

    fn direction(
        &mut self,
        layer: &Layer<'_>,
        (number, backwards, activations): (usize, bool, Vec<Function>),
        (x, [w, r]): (TensorId, [TensorId; 2]),
        (bias, peepholes): (Option<TensorId>, Option<TensorId>),
    ) -> Result<Direction, GraphError> {
        let [steps, batch, hidden] = layer.sizes;
        let (rows, width) = (self.shape(r)[1], self.shape(x)[2]);
        let own = |name: &str| format!("{}.{name}{number}", layer.stem);
        let w = self.of_direction(layer, "w", (w, number), vec![rows, width])?;
        let state = self.of_direction(layer, "r", (r, number), vec![rows, hidden])?;
        // Cut once: of constants every cut is another constant.
        let weights = match rows == 3 * hidden {
            true => {
                let gates = self.cut(layer.view, &own("r_gates"), state, (0, 0, 2 * hidden))?;
                vec![gates, self.cut(layer.view, &own("r_candidate"), state, (0, 2 * hidden, hidden))?]
            }
            false => vec![state],
        };
        let flat = self.emit_part(layer.view, &own("sequence"), Op::Alias, vec![x], vec![steps * batch, width])?;
        let product = Op::MatMul { transpose_left: false, transpose_right: true };
        let mut inputs = self.emit_part(layer.view, &own("inputs"), product, vec![flat, w], vec![steps * batch, rows])?;
        let mut reset = None;
        if let Some(bias) = bias {
            let bias = self.of_direction(layer, "bias", (bias, number), vec![2 * rows])?;
            let of_input = self.cut(layer.view, &own("bias_w"), bias, (0, 0, rows))?;
            let mut of_state = self.cut(layer.view, &own("bias_r"), bias, (0, rows, rows))?;
            if layer.linear_before_reset && rows == 3 * hidden {
                let before = self.cut(layer.view, &own("bias_zr"), of_state, (0, 0, 2 * hidden))?;
                reset = Some(self.cut(layer.view, &own("bias_h"), of_state, (0, 2 * hidden, hidden))?);
                let none = self.graph.add_constant(own("none"), vec![hidden], crate::graph::Origin::Constant, vec![0.0; hidden as usize]);
                of_state = self.emit_part(layer.view, &own("bias_state"), Op::Concat { axis: 0 }, vec![before, none], vec![rows])?;
            }
            let bias = self.pair(layer.view, &own("biases"), Arithmetic::Add, [of_input, of_state])?;
            inputs = self.pair(layer.view, &own("biased"), Arithmetic::Add, [inputs, bias])?;
        }
        let peepholes = match peepholes {
            Some(all) => {
                let all = self.of_direction(layer, "peepholes", (all, number), vec![3 * hidden])?;
                let mut one = |gate: i64| self.cut(layer.view, &own(&format!("peephole{gate}_")), all, (0, gate * hidden, hidden));
                Some([one(0)?, one(1)?, one(2)?])
            }
            None => None,
        };
        Ok(Direction { number, backwards, activations, inputs, weights, reset, peepholes })
    }

    fn step(&mut self, layer: &Layer<'_>, own: &Direction, step: i64, state: State, gates: i64) -> Result<State, GraphError> {
        let batch = layer.sizes[1];
        let name = format!("{}{}.{step}", if own.backwards { "back" } else { "step" }, own.number);
        let x = self.cut(layer.view, &format!("{}.{name}.x", layer.stem), own.inputs, (0, step * batch, batch))?;
        let at = Step { layer, direction: own, name };
        match gates {
            1 => {
                let sum = self.with_state(&at, x, state.hidden)?;
                Ok(State { hidden: Some(self.activated(&at, "hidden", sum, 0)?), cell: None })
            }
            3 => self.gated(&at, x, state.hidden),
            _ => self.long_short(&at, x, state),
        }
    }

    /// The first columns of the inputs' products, as many as all gates have rows, with the state's product.
    fn with_state(&mut self, at: &Step<'_>, x: TensorId, hidden: Option<TensorId>) -> Result<TensorId, GraphError> {
        let extent = self.shape(at.direction.weights[0])[0];
        let x = if self.shape(x)[1] == extent { x } else { self.cut(at.layer.view, &at.whole("gates.x"), x, (1, 0, extent))? };
        let Some(hidden) = hidden else { return Ok(x) };
        let product = self.by_weights(at, "gates", hidden, 0)?;
        self.pair(at.layer.view, &at.whole("gates.sum"), Arithmetic::Add, [x, product])
    }

    fn by_weights(&mut self, at: &Step<'_>, name: &str, x: TensorId, which: usize) -> Result<TensorId, GraphError> {
        let weights = at.direction.weights[which];
        let shape = vec![at.layer.sizes[1], self.shape(weights)[0]];
        let product = Op::MatMul { transpose_left: false, transpose_right: true };
        self.emit_part(at.layer.view, &at.whole(&format!("{name}.product")), product, vec![x, weights], shape)
    }

    fn activated(&mut self, at: &Step<'_>, name: &str, x: TensorId, which: usize) -> Result<TensorId, GraphError> {
        let x = match at.layer.clip {
            Some(clip) => self.mapped(at.layer.view, &at.whole(&format!("{name}.clipped")), Function::Clip(-clip, clip), x)?,
            None => x,
        };
        self.mapped(at.layer.view, &at.whole(name), at.direction.activations[which], x)
    }

    /// A step of a GRU: update, reset, then what the state may become.
    fn gated(&mut self, at: &Step<'_>, x: TensorId, before: Option<TensorId>) -> Result<State, GraphError> {
        let (view, [_, _, hidden]) = (at.layer.view, at.layer.sizes);
        let gates = self.with_state(at, x, before)?;
        let gates = self.activated(at, "opened", gates, 0)?;
        let update = self.cut(at.layer.view, &at.whole("update"), gates, (1, 0, hidden))?;
        let reset = self.cut(at.layer.view, &at.whole("reset"), gates, (1, hidden, hidden))?;
        let mut candidate = self.cut(at.layer.view, &at.whole("candidate.x"), x, (1, 2 * hidden, hidden))?;
        let mut more = None;
        if at.layer.linear_before_reset {
            let product = before.map(|before| self.by_weights(at, "candidate", before, 1)).transpose()?;
            more = match (product, at.direction.reset) {
                (Some(product), Some(bias)) => Some(self.pair(view, &at.whole("candidate.biased"), Arithmetic::Add, [product, bias])?),
                (product, bias) => product.or(bias),
            };
            if let Some(own) = more {
                more = Some(self.pair(view, &at.whole("candidate.reset"), Arithmetic::Mul, [reset, own])?);
            }
        } else if let Some(before) = before {
            let left = self.pair(view, &at.whole("left"), Arithmetic::Mul, [reset, before])?;
            more = Some(self.by_weights(at, "candidate", left, 1)?);
        }
        if let Some(more) = more {
            candidate = self.pair(view, &at.whole("candidate.sum"), Arithmetic::Add, [candidate, more])?;
        }
        let candidate = self.activated(at, "candidate", candidate, 1)?;
        let one = self.held_number(&at.whole("one"), 1.0);
        let rest = self.pair(view, &at.whole("rest"), Arithmetic::Sub, [one, update])?;
        let mut next = self.pair(view, &at.whole("new"), Arithmetic::Mul, [rest, candidate])?;
        if let Some(before) = before {
            let kept = self.pair(view, &at.whole("kept"), Arithmetic::Mul, [update, before])?;
            next = self.pair(view, &at.whole("hidden"), Arithmetic::Add, [next, kept])?;
        }
        Ok(State { hidden: Some(next), cell: None })
    }

    /// A step of an LSTM: gates of input, output and forgetting, then what the cell may become.
    fn long_short(&mut self, at: &Step<'_>, x: TensorId, before: State) -> Result<State, GraphError> {
        let (view, [_, _, hidden]) = (at.layer.view, at.layer.sizes);
        let all = self.with_state(at, x, before.hidden)?;
        let gate = |importer: &mut Self, number: i64, cell: Option<TensorId>| {
            let name = ["in", "out", "forget", "candidate"][number as usize];
            let mut own = importer.cut(at.layer.view, &at.whole(&format!("{name}.sum")), all, (1, number * hidden, hidden))?;
            let peephole = at.direction.peepholes.and_then(|all| all.get(number as usize).copied());
            if let Some((cell, weights)) = cell.zip(peephole) {
                let seen = importer.pair(view, &at.whole(&format!("{name}.seen")), Arithmetic::Mul, [cell, weights])?;
                own = importer.pair(view, &at.whole(&format!("{name}.all")), Arithmetic::Add, [own, seen])?;
            }
            importer.activated(at, name, own, usize::from(number == 3))
        };
        let (opened, candidate) = (gate(self, 0, before.cell)?, gate(self, 3, None)?);
        let mut cell = self.pair(view, &at.whole("new"), Arithmetic::Mul, [opened, candidate])?;
        if let Some(old) = before.cell {
            let forget = gate(self, 2, Some(old))?;
            let kept = self.pair(view, &at.whole("kept"), Arithmetic::Mul, [forget, old])?;
            cell = self.pair(view, &at.whole("cell"), Arithmetic::Add, [cell, kept])?;
        }
        let out = gate(self, 1, Some(cell))?;
        let shown = self.mapped(view, &at.whole("shown"), at.direction.activations[2], cell)?;
        let next = self.pair(view, &at.whole("hidden"), Arithmetic::Mul, [out, shown])?;
        Ok(State { hidden: Some(next), cell: Some(cell) })
    }
}

/// Where a step is, for the names of its parts.
struct Step<'l> {
    layer: &'l Layer<'l>,
    direction: &'l Direction,
    name: String,
}

impl Step<'_> {
    /// Of a part.
    fn whole(&self, name: &str) -> String {
        format!("{}.{}.{name}", self.layer.stem, self.name)
    }
}

/// Functions of a direction, those that are usual where none are named.
fn activations(view: NodeView<'_>, (direction, directions): (usize, usize), gates: i64) -> Result<Vec<Function>, GraphError> {
    let usual: &[Function] = match gates {
        1 => &[Function::Tanh],
        3 => &[Function::Sigmoid, Function::Tanh],
        _ => &[Function::Sigmoid, Function::Tanh, Function::Tanh],
    };
    let named = view.strings("activations")?;
    if named.is_empty() {
        return Ok(usual.to_vec());
    }
    if named.len() != directions * usual.len() {
        return Err(view.bad(format!("{} activations, not {}", named.len(), directions * usual.len())));
    }
    let own = &named[direction * usual.len()..(direction + 1) * usual.len()];
    let one = |name: &String| match name.to_ascii_lowercase().as_str() {
        "sigmoid" => Ok(Function::Sigmoid),
        "tanh" => Ok(Function::Tanh),
        "relu" => Ok(Function::Relu),
        _ => Err(view.unsupported(format!("the activation `{name}`"))),
    };
    own.iter().map(one).collect()
}
