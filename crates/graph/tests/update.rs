//! Updates: in place of what nobody else reads, else as parts of another tensor; and products with rows that are kept.

mod support;

use support::node::{alone, checked, drawn};
use support::relative;
use warpsight_graph::{Arithmetic, Function, Graph, GraphTensor, Node, Op, Origin, Plan, PlannedOp, TensorId, evaluate_f64};

/// A cache of seven rows and two new ones, with what is made of them.
struct Draft(Graph);

impl Draft {
    fn new() -> Self {
        let mut graph = Graph::default();
        for (name, rows) in [("cache", 7), ("new", 2)] {
            let id = graph.add(GraphTensor::new(name, [2, rows, 3], Origin::Input));
            graph.inputs.push(id);
        }
        Self(graph)
    }
    fn add(&mut self, op: Op, inputs: &[TensorId], shape: [i64; 3]) -> TensorId {
        let name = format!("n{}", self.0.nodes.len());
        let output = self.0.add(GraphTensor::new(format!("{name}.out"), shape, Origin::Node));
        self.0.nodes.push(Node::of(name, op, inputs.to_vec(), output));
        output
    }
    fn update(&mut self, cache: TensorId, new: TensorId, start: i64) -> TensorId {
        self.add(Op::Update { axis: 1, start }, &[cache, new], WHOLE)
    }
    fn square(&mut self, of: TensorId) -> TensorId {
        self.add(Op::Binary(Arithmetic::Mul), &[of, of], WHOLE)
    }
    /// The plan, which is what the definition is.
    fn plan(mut self, outputs: &[TensorId]) -> Plan {
        self.0.outputs = outputs.to_vec();
        let inputs = drawn(&self.0);
        let plan = Plan::of(&self.0).expect("a plan");
        let (expected, found) = (evaluate_f64(&self.0, &inputs).expect("values"), plan.evaluate_f64(&inputs).expect("values"));
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(&expected) {
            assert!(relative(found, expected) < 1e-12);
        }
        plan
    }
}

const WHOLE: [i64; 3] = [2, 7, 3];
const CACHE: TensorId = TensorId(0);
const NEW: TensorId = TensorId(1);

fn updates(plan: &Plan) -> Vec<&PlannedOp> {
    plan.operators.iter().filter(|own| &*own.operator.kind == "update").collect()
}

#[test]
fn what_a_caller_gives_and_nobody_else_reads_is_updated_in_place() {
    let mut draft = Draft::new();
    let kept = draft.update(CACHE, NEW, 4);
    let y = draft.square(kept);
    let plan = draft.plan(&[y]);
    let own = updates(&plan);
    assert_eq!((own.len(), own[0].operator.steps.len()), (1, 1), "the new rows alone");
    assert_eq!(own[0].output, plan.inputs[0]);
}

#[test]
fn updates_follow_each_other_in_one_memory() {
    let mut draft = Draft::new();
    let made = draft.add(Op::Unary(Function::Exp), &[CACHE], WHOLE);
    let first = draft.update(made, NEW, 0);
    let turned = draft.add(Op::Alias, &[first], [2, 7, 3]);
    let second = draft.update(turned, NEW, 5);
    let y = draft.square(second);
    let plan = draft.plan(&[y]);
    let own = updates(&plan);
    assert!(
        own.len() == 2
            && own.iter().all(|own| own.operator.steps.len() == 1 && own.output == own.temporaries.first().copied().unwrap_or(own.output))
    );
    assert_eq!(own[0].output, own[1].output);
}

#[test]
fn what_is_read_otherwise_or_shown_stays() {
    // Read by another node, later.
    let mut draft = Draft::new();
    let kept = draft.update(CACHE, NEW, 5);
    let (a, b) = (draft.square(kept), draft.square(CACHE));
    let plan = draft.plan(&[a, b]);
    let own = updates(&plan);
    assert_eq!(own[0].operator.steps.len(), 2, "what stays, and what is new");
    assert!(own[0].output != plan.inputs[0] && own[0].temporaries == [own[0].output], "both write one tensor");
    // Read by itself: the new rows are rows of the old.
    let mut draft = Draft::new();
    let rows = draft.0.add(GraphTensor::new("rows", [2, 2, 3], Origin::Node));
    draft.0.nodes.push(Node::of("rows", Op::Slice { starts: vec![0, 1, 0], steps: vec![1; 3] }, vec![CACHE], rows));
    let kept = draft.update(CACHE, rows, 2);
    let y = draft.square(kept);
    assert_eq!(updates(&draft.plan(&[y]))[0].operator.steps.len(), 3);
    // An output of the graph, and what a constant holds.
    let mut draft = Draft::new();
    let kept = draft.update(CACHE, NEW, 2);
    assert_eq!(updates(&draft.plan(&[kept]))[0].operator.steps.len(), 3);
    let mut draft = Draft::new();
    let known = draft.0.add(GraphTensor::new("known", WHOLE, Origin::Constant).with_values(vec![0.5; 42]));
    let kept = draft.update(known, NEW, 0);
    let y = draft.square(kept);
    assert_eq!(updates(&draft.plan(&[y]))[0].operator.steps.len(), 2);
}

#[test]
fn products_with_rows_that_are_kept() {
    for (batch, groups, rows, columns, kept, new, start) in
        [(1, 2, 4, 3, 7, 1, 6), (2, 3, 1, 2, 5, 2, 0), (3, 1, 2, 4, 4, 4, 0), (1, 5, 3, 1, 9, 3, 2)]
    {
        let memory = [vec![batch, kept, groups * columns], vec![batch, new, groups * columns]];
        for (transpose_right, depth, made) in [(true, columns, kept), (false, kept, columns)] {
            let left = vec![batch, groups, rows, depth];
            let op = Op::CachedMatMul { start, transpose_right };
            let own = alone(op, &[vec![left], memory.to_vec()].concat(), &[vec![batch, groups, rows, made]]);
            checked(&own, &drawn(&own));
        }
    }
    // One row of one group by hand: the second row is new.
    let op = Op::CachedMatMul { start: 1, transpose_right: true };
    let own = alone(op, &[vec![1, 1, 1, 2], vec![1, 3, 2], vec![1, 1, 2]], &[vec![1, 1, 1, 3]]);
    let found = checked(&own, &[vec![1.0, 10.0], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], vec![7.0, 8.0]]);
    assert_eq!(found[0], [21.0, 87.0, 65.0]);
    let op = Op::CachedMatMul { start: 2, transpose_right: true };
    assert!(op.fits(&[&[1, 1, 1, 2], &[1, 3, 2], &[1, 2, 2]], &[&[1, 1, 1, 3]]).is_err(), "beyond the end");
}
