//! A network as operators in an order in which they run, with the tensors they read and write.

mod constants;
mod elements;
mod fuse;
mod join;
mod lower;
mod parts;
mod sequence;
mod through;
mod uses;

use crate::error::GraphError;
use crate::graph::op::Op;
use crate::graph::{Graph, Node, TensorId};
pub use crate::plan::constants::Elements;
use crate::plan::elements::elements;
use crate::plan::fuse::groups;
use crate::plan::lower::{Lowered, Source, lower};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use warpsight_generate::ExprKey;
use warpsight_generate::expr::{Evaluator, Operator, Role, Tensor, TensorExpr};
use warpsight_generate::layout::{known, stored};
use warpsight_generate::operators::{copy, external_inputs, temporaries};
use warpsight_generate::parts::onto;
use warpsight_ir::{Name, Scalar};

/// A network as operators.
///
/// A tensor of an operator has the same row-major elements as the plan's tensor it is tied to, but perhaps another shape: reshapes
/// cost nothing and are no operators.
#[derive(Clone, Debug)]
pub struct Plan {
    /// In an order in which they can run. A tensor may be written by several: whole by the first, then in parts by some that work in place, or in
    /// parts by all ([`warpsight_generate::parts`]).
    pub operators: Vec<PlannedOp>,
    /// All tensors; every one is used or is an input.
    pub tensors: Vec<PlanTensor>,
    /// What a caller provides, in the model's order.
    pub inputs: Vec<TensorId>,
    /// What a caller gets, in the model's order.
    pub outputs: Vec<TensorId>,
}

/// One operator of a plan.
#[derive(Clone, Debug)]
pub struct PlannedOp {
    /// The name of the model's node that computes.
    pub name: String,
    /// That node and those fused into it.
    pub nodes: Vec<String>,
    /// What is computed.
    pub operator: Operator,
    /// The tensor behind each of the operator's external inputs
    /// ([`external_inputs`](warpsight_generate::operators::external_inputs)), in that order.
    pub inputs: Vec<TensorId>,
    /// The tensor behind the output of each step but the last.
    pub temporaries: Vec<TensorId>,
    /// The tensor behind the output of the last step.
    pub output: TensorId,
}

impl PlannedOp {
    /// What the operator reads from outside, and the tensor behind each, in order.
    pub fn reads(&self) -> impl Iterator<Item = (&Tensor, TensorId)> {
        external_inputs(&self.operator).into_iter().zip(self.inputs.iter().copied())
    }
}

/// A tensor of a plan.
#[derive(Clone, Debug)]
pub struct PlanTensor {
    /// The model's name, or one made from it.
    pub name: String,
    /// Extents, slowest first; empty for a scalar.
    pub shape: Vec<i64>,
    /// Element type in memory.
    pub element: Scalar,
    /// Where its elements come from.
    pub role: PlanRole,
    /// Whether they are whole numbers: of inputs alone.
    pub whole: bool,
}

impl PlanTensor {
    /// Elements; 1 for a scalar.
    pub fn len(&self) -> usize {
        self.shape.iter().product::<i64>() as usize
    }
    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Where a tensor's elements come from, and who sees them.
#[derive(Clone, Debug)]
pub enum PlanRole {
    /// From the caller.
    Input,
    /// Known; round to the element type where they are stored.
    Constant(Elements),
    /// From an operator, for operators.
    Intermediate,
    /// From an operator, for the caller (and perhaps for operators too).
    Output,
}

/// Operators of a plan that are the same but for names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Distinct {
    /// Positions in [`Plan::operators`], ascending; at least one.
    pub uses: Vec<usize>,
}

impl Plan {
    /// Fuses and lowers a graph (best after [`simplify`](crate::simplify)), of tensors of four bytes an element.
    ///
    /// # Errors
    /// [`GraphError::Operator`] where a node has no form as a tensor expression.
    pub fn of(graph: &Graph) -> Result<Self, GraphError> {
        Self::of_elements(graph, Scalar::F32)
    }

    /// The same of tensors that are stored, and with [`Scalar::Half`] computed with, as `element`, but for positions in tensors, what these are
    /// made of, and whole numbers from the caller: they stay [`Scalar::F32`], since halves count to 2,048 alone.
    ///
    /// # Errors
    /// [`GraphError::Operator`] where a node has no form as a tensor expression.
    pub fn of_elements(graph: &Graph, element: Scalar) -> Result<Self, GraphError> {
        graph.has_values()?;
        let graph = &*sequence::expanded(graph);
        let mut builder = Builder::new(graph, element);
        for group in groups(graph) {
            let lowered = lower(graph, &group, &builder.roots, &mut builder.elements)?;
            let anchor = &graph.nodes[group.anchor];
            let nodes = std::iter::once(&group.anchor).chain(&group.followers).map(|&n| graph.nodes[n].name.clone()).collect();
            let (lowered, output) = match builder.in_place(anchor, &lowered) {
                Some((operator, data)) => (Lowered { operator, ..lowered }, data),
                None => (lowered, builder.tensor(graph.nodes[group.exit()].output())),
            };
            // What a node writes beside its result.
            let further: Vec<TensorId> = anchor.outputs[1..].iter().map(|&id| builder.tensor(id)).collect();
            builder.add(anchor.name.clone(), nodes, lowered, &further, output);
        }
        builder.copy_outputs()?;
        parts::part(&mut builder.plan);
        through::read_through(&mut builder.plan);
        join::join(&mut builder.plan);
        through::read_apart(&mut builder.plan);
        Ok(builder.plan)
    }

    /// One operator as a network: activations are its inputs; constants are what follows from the operator itself, else what
    /// `constant` gives for so many elements, rounded to what is stored; what no expression reads are its outputs.
    pub fn of_operator(operator: &Operator, mut constant: impl FnMut(usize) -> Vec<f64>) -> Self {
        let mut plan = Self { operators: vec![], tensors: vec![], inputs: vec![], outputs: vec![] };
        let mut add = |tensor: &Tensor, role: PlanRole| {
            let (name, shape) = (tensor.name.to_string(), tensor.shape.clone());
            plan.tensors.push(PlanTensor { name, shape, element: tensor.element, role, whole: false });
            TensorId(plan.tensors.len() - 1)
        };
        let mut activations = vec![];
        let inputs = external_inputs(operator).into_iter().map(|tensor| {
            if tensor.role == Role::Weight {
                let given = || stored(tensor.element, constant(tensor.len()).into_iter().map(|v| v as f32).collect());
                let values = known(tensor).unwrap_or_else(given);
                return add(tensor, PlanRole::Constant(values.into_iter().map(f64::from).collect()));
            }
            let id = add(tensor, PlanRole::Input);
            activations.push(id);
            id
        });
        let inputs: Vec<TensorId> = inputs.collect();
        let last = operator.steps.last().map(|step| &step.output.name);
        let mut made: HashMap<&Name, TensorId> = HashMap::new();
        let mut written: Vec<TensorId> = vec![];
        for step in &operator.steps {
            // What no expression reads is for the caller.
            let read = operator.steps.iter().flat_map(|own| &own.inputs).any(|input| input.name == step.output.name);
            let role = if read && Some(&step.output.name) != last { PlanRole::Intermediate } else { PlanRole::Output };
            written.push(*made.entry(&step.output.name).or_insert_with(|| add(&step.output, role)));
        }
        if let Some(output) = written.pop() {
            let name = operator.kind.to_string();
            plan.operators.push(PlannedOp {
                nodes: vec![name.clone()],
                name,
                operator: operator.clone(),
                inputs,
                temporaries: written,
                output,
            });
            let results = (0..plan.tensors.len()).filter(|id| matches!(plan.tensors[*id].role, PlanRole::Output));
            plan.outputs = results.map(TensorId).collect();
        }
        plan.inputs = activations;
        plan
    }

    /// A tensor.
    pub fn tensor(&self, id: TensorId) -> &PlanTensor {
        &self.tensors[id.0]
    }

    /// Puts another sequence of expressions in place of an operator's: one that reads and writes tensors of the same names from outside.
    /// What joins its expressions is new; those that read constants alone are made here, and the rest of the sequence reads constants.
    pub fn replace(&mut self, position: usize, mut operator: Operator) {
        let old = &self.operators[position];
        let mut known: HashMap<_, _> = old.reads().map(|(tensor, id)| (tensor.name.clone(), id)).collect();
        let stem = old.name.clone();
        // A part of a tensor is written beside the others.
        let mut writers: HashMap<Name, usize> = HashMap::new();
        operator.steps.iter().for_each(|step| *writers.entry(step.output.name.clone()).or_default() += 1);
        let last = operator.steps.pop();
        operator.steps.retain(|step| {
            let whole = writers.get(&step.output.name) == Some(&1);
            let Some(values) = self.known_values(step, &known).filter(|_| whole) else { return true };
            let (name, role) = (format!("{stem}.{}", step.output.name), PlanRole::Constant(values));
            self.tensors.push(PlanTensor { name, shape: step.output.shape.clone(), element: step.output.element, role, whole: false });
            known.insert(step.output.name.clone(), TensorId(self.tensors.len() - 1));
            false
        });
        operator.steps.extend(last);
        let inputs = external_inputs(&operator).into_iter().map(|t| known[&t.name]).collect();
        // A tensor that several expressions write is there for each of them, and results stay what they are.
        let old = &self.operators[position];
        let results = old.operator.steps.iter().zip(old.temporaries.iter().chain([&old.output]));
        let results = results.filter(|(_, id)| **id == old.output || self.outputs.contains(id));
        let mut written: HashMap<Name, TensorId> = results.map(|(step, id)| (step.output.name.clone(), *id)).collect();
        if let Some(step) = operator.steps.last() {
            written.insert(step.output.name.clone(), old.output);
        }
        let mut temporary = |t: &Tensor| {
            *written.entry(t.name.clone()).or_insert_with(|| {
                let (name, shape) = (format!("{stem}.{}", t.name), t.shape.clone());
                self.tensors.push(PlanTensor { name, shape, element: t.element, role: PlanRole::Intermediate, whole: false });
                TensorId(self.tensors.len() - 1)
            })
        };
        let temporaries = temporaries(&operator).into_iter().map(&mut temporary).collect();
        let op = &mut self.operators[position];
        (op.operator, op.inputs, op.temporaries) = (operator, inputs, temporaries);
    }

    /// Leaves tensors out that nobody uses.
    fn forget(&mut self, gone: &[TensorId]) {
        let gone: HashSet<usize> = gone.iter().map(|id| id.0).collect();
        let mut kept = 0;
        let mut places = vec![];
        for id in 0..self.tensors.len() {
            places.push(TensorId(kept));
            kept += usize::from(!gone.contains(&id));
        }
        let mut id = 0..;
        self.tensors.retain(|_| id.next().is_none_or(|id| !gone.contains(&id)));
        let operators = self.operators.iter_mut().flat_map(|op| op.inputs.iter_mut().chain(&mut op.temporaries).chain([&mut op.output]));
        operators.chain(&mut self.inputs).chain(&mut self.outputs).for_each(|id| *id = places[id.0]);
    }

    /// What an expression makes of constants alone; `None` of others, and of those that may store outside of their output.
    fn known_values(&self, step: &TensorExpr, known: &HashMap<Name, TensorId>) -> Option<Elements> {
        let constant = |tensor: &Tensor| match &self.tensor(*known.get(&tensor.name)?).role {
            PlanRole::Constant(values) => Some(values.clone()),
            _ => None,
        };
        let read: Vec<Elements> =
            step.inputs.iter().map(constant).collect::<Option<_>>().filter(|_| step.is_known() && step.stays_inside())?;
        let step = step.clone();
        Some(Elements::made(move || {
            let read: Vec<&[f64]> = read.iter().map(|values| &**values).collect();
            // Nothing is stored outside of it; no number is what verification finds.
            evaluate_step(&step, &read, &[]).unwrap_or_else(|_| vec![f64::NAN; step.output.len()])
        }))
    }

    /// Whether a temporary of the operator at a position is an output, or read elsewhere.
    pub fn shares_temporaries(&self, position: usize) -> bool {
        let others = self.operators.iter().enumerate().filter(|own| own.0 != position).flat_map(|(_, op)| &op.inputs);
        let needed: HashSet<&TensorId> = others.chain(&self.outputs).collect();
        self.operators[position].temporaries.iter().any(|own| needed.contains(own))
    }

    /// Operators grouped by what they compute, names aside, in the order of their first use.
    pub fn distinct(&self) -> Vec<Distinct> {
        let mut places: HashMap<ExprKey, usize> = HashMap::new();
        let mut all: Vec<Distinct> = Vec::new();
        for (position, op) in self.operators.iter().enumerate() {
            let place = *places.entry(ExprKey::of_operator(&op.operator)).or_insert(all.len());
            match all.get_mut(place) {
                Some(distinct) => distinct.uses.push(position),
                None => all.push(Distinct { uses: vec![position] }),
            }
        }
        all
    }

    /// How often evaluating the plan computes the value of an expression's body or stores an element.
    pub fn work(&self) -> u64 {
        let extents = |step: &TensorExpr| {
            let walk = step.all_axes().map(|a| a.extent as u64).fold(1u64, u64::saturating_mul);
            walk.saturating_mul(step.before.len() as u64 + 1)
        };
        self.operators.iter().flat_map(|op| &op.operator.steps).map(extents).fold(0, u64::saturating_add)
    }

    /// The outputs for one array per input, every element by [`TensorExpr::evaluate`]: slow, and the meaning of the plan.
    ///
    /// # Errors
    /// [`GraphError::Values`] where arrays and inputs do not fit, [`GraphError::Unplaced`] where an operator stores outside of its output.
    pub fn evaluate_f64(&self, inputs: &[Vec<f64>]) -> Result<Vec<Vec<f64>>, GraphError> {
        let fits = inputs.len() == self.inputs.len() && self.inputs.iter().zip(inputs).all(|(id, v)| self.tensor(*id).len() == v.len());
        if !fits {
            let shapes: Vec<_> = self.inputs.iter().map(|i| &self.tensor(*i).shape).collect();
            return Err(GraphError::Values { what: format!("arrays do not fit the inputs of shapes {shapes:?}") });
        }
        let mut values: Vec<Arc<[f64]>> = Vec::new();
        for tensor in &self.tensors {
            values.push(if let PlanRole::Constant(c) = &tensor.role { c.shared() } else { Arc::default() });
        }
        for (id, input) in self.inputs.iter().zip(inputs) {
            values[id.0] = input.as_slice().into();
        }
        for op in &self.operators {
            let mut places: HashMap<_, _> = op.reads().map(|(tensor, id)| (tensor.name.clone(), id)).collect();
            for (step, &place) in op.operator.steps.iter().zip(op.temporaries.iter().chain([&op.output])) {
                let read: Vec<&[f64]> = step.inputs.iter().map(|t| values[places[&t.name].0].as_ref()).collect();
                let unplaced = |point| {
                    let (operator, shape) = (op.name.clone(), step.output.shape.clone());
                    GraphError::Unplaced { operator, tensor: step.output.name.to_string(), shape, point }
                };
                let made = evaluate_step(step, &read, &values[place.0]).map_err(unplaced)?;
                values[place.0] = made.into();
                places.insert(step.output.name.clone(), place);
            }
        }
        Ok(self.outputs.iter().map(|o| values[o.0].to_vec()).collect())
    }
}

/// All elements of an expression's output, or the point that is stored outside of it. Where it writes a part the others are what they were, if there
/// were any.
fn evaluate_step(step: &TensorExpr, inputs: &[&[f64]], held: &[f64]) -> Result<Vec<f64>, Vec<i64>> {
    let held = if held.len() == step.output.len() { held.to_vec() } else { vec![f64::NAN; step.output.len()] };
    Evaluator::new(step, inputs).output(held)
}

/// A plan under construction.
struct Builder<'a> {
    graph: &'a Graph,
    plan: Plan,
    /// Per tensor of the graph, the one whose elements it has (itself, unless it is an alias).
    roots: Vec<TensorId>,
    /// Per tensor of the graph, the plan's tensor.
    placed: Vec<Option<TensorId>>,
    /// Outputs of the graph whose elements are an operator's own, by root.
    owned: HashMap<TensorId, TensorId>,
    /// Per tensor of the graph, what it is stored as.
    elements: Vec<Scalar>,
}

impl<'a> Builder<'a> {
    fn new(graph: &'a Graph, element: Scalar) -> Self {
        let mut roots: Vec<TensorId> = (0..graph.tensors.len()).map(TensorId).collect();
        for node in graph.nodes.iter().filter(|n| n.op() == Some(&Op::Alias)) {
            roots[node.output().0] = roots[node.inputs[0].0];
        }
        let writers = graph.writers();
        let mut owned = HashMap::new();
        for &output in &graph.outputs {
            let root = roots[output.0];
            if writers[root.0].is_some() {
                owned.entry(root).or_insert(output);
            }
        }
        let plan = Plan { operators: vec![], tensors: vec![], inputs: vec![], outputs: vec![] };
        let elements = elements(graph, &roots, element);
        let mut builder = Self { graph, plan, roots, placed: vec![None; graph.tensors.len()], owned, elements };
        builder.plan.inputs = graph.inputs.iter().map(|&i| builder.tensor(i)).collect();
        for (own, input) in builder.plan.inputs.clone().iter().zip(&graph.inputs) {
            builder.plan.tensors[own.0].whole = graph.tensor(*input).whole;
        }
        builder
    }

    fn push(&mut self, name: String, shape: Vec<i64>, element: Scalar, role: PlanRole) -> TensorId {
        self.plan.tensors.push(PlanTensor { name, shape, element, role, whole: false });
        TensorId(self.plan.tensors.len() - 1)
    }

    /// The plan's tensor with the elements of one of the graph's.
    fn tensor(&mut self, id: TensorId) -> TensorId {
        let root = self.roots[id.0];
        if let Some(placed) = self.placed[root.0] {
            return placed;
        }
        // An output is known by the name and the shape that the caller expects.
        let shown = self.graph.tensor(self.owned.get(&root).copied().unwrap_or(root));
        let tensor = self.graph.tensor(root);
        let role = match tensor.constant.clone().or_else(|| tensor.filled()) {
            Some(values) => {
                let element = self.elements[root.0];
                let beyond = element != Scalar::F32 && values.iter().any(|own| element.finite(*own) != *own);
                PlanRole::Constant(if beyond { values.iter().map(|own| element.finite(*own)).collect() } else { values.into() })
            }
            None if self.graph.inputs.contains(&root) => PlanRole::Input,
            None if self.owned.contains_key(&root) => PlanRole::Output,
            None => PlanRole::Intermediate,
        };
        let placed = self.push(shown.name.clone(), shown.shape.clone(), self.elements[root.0], role);
        self.placed[root.0] = Some(placed);
        placed
    }

    /// An update as an operator in place of its data, and the tensor of these: where nobody else reads them, and they are no constant. Of what a
    /// caller provides and nobody reads otherwise the caller's memory is written, as caches are.
    fn in_place(&mut self, node: &Node, lowered: &Lowered) -> Option<(Operator, TensorId)> {
        let data = self.roots[node.inputs[0].0];
        let made = self.roots[node.output().0];
        let shown = |root: TensorId| self.graph.outputs.iter().any(|output| self.roots[output.0] == root);
        let tensor = self.graph.tensor(data);
        let known = tensor.constant.is_some() || tensor.fill.is_some();
        let others = self.graph.nodes.iter().filter(|node| node.op() != Some(&Op::Alias)).flat_map(|node| &node.inputs);
        let alone = others.filter(|input| self.roots[input.0] == data).count() == 1;
        let alike = self.elements[data.0] == self.elements[made.0];
        if !matches!(node.op(), Some(Op::Update { .. })) || known || !alike || !alone || shown(data) || shown(made) {
            return None;
        }
        let operator = onto(&lowered.operator, &"input".into()).ok().filter(|operator| !operator.steps.is_empty())?;
        let place = self.tensor(data);
        self.placed[made.0] = Some(place);
        Some((operator, place))
    }

    fn add(&mut self, name: String, nodes: Vec<String>, lowered: Lowered, further: &[TensorId], output: TensorId) {
        let Lowered { operator, sources, further: names } = lowered;
        let mut inputs = Vec::new();
        for input in external_inputs(&operator) {
            // `lower` names a source for every input that no step writes.
            let Some((_, source)) = sources.iter().find(|s| s.0 == input.name) else { continue };
            inputs.push(match source {
                Source::Tensor(id) => self.tensor(*id),
                Source::Constant(values) => self.push(
                    format!("{name}.{}", input.name),
                    input.shape.clone(),
                    input.element,
                    PlanRole::Constant(values.clone().into()),
                ),
            });
        }
        debug_assert_eq!(inputs.len(), external_inputs(&operator).len());
        // A tensor that several expressions write is there for each of them.
        let mut written: HashMap<Name, TensorId> =
            operator.steps.last().map(|step| (step.output.name.clone(), output)).into_iter().collect();
        let temporary = |own: &Tensor| {
            let asked = || names.iter().position(|name| **name == *own.name).and_then(|at| further.get(at)).copied();
            let made = || self.push(format!("{name}.{}", own.name), own.shape.clone(), own.element, PlanRole::Intermediate);
            *written.entry(own.name.clone()).or_insert_with(|| asked().unwrap_or_else(made))
        };
        let temporaries = temporaries(&operator).into_iter().map(temporary).collect();
        self.plan.operators.push(PlannedOp { name, nodes, operator, inputs, temporaries, output });
    }

    /// Outputs that share their elements with an input, a constant or another output get their own by a copy.
    fn copy_outputs(&mut self) -> Result<(), GraphError> {
        for &output in &self.graph.outputs {
            let from = self.tensor(output);
            if self.owned.get(&self.roots[output.0]) == Some(&output) && !self.plan.outputs.contains(&from) {
                self.plan.outputs.push(from);
                continue;
            }
            let shown = self.graph.tensor(output);
            let element = self.elements[output.0];
            let operator = copy(&shown.shape, element);
            let operator = operator.map_err(|source| GraphError::Operator { node: shown.name.clone(), source })?;
            let to = self.push(shown.name.clone(), shown.shape.clone(), element, PlanRole::Output);
            let sources = vec![("input".into(), Source::Tensor(output))];
            self.add(shown.name.clone(), vec![], Lowered { operator, sources, further: &[] }, &[], to);
            self.plan.outputs.push(to);
        }
        Ok(())
    }
}
