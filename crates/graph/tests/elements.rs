//! What tensors of a network in halves are stored as.

use warpsight_generate::operators::external_inputs;
use warpsight_graph::{Arithmetic, Function, Graph, GraphTensor, Node, Op, Origin, Plan, TensorId};
use warpsight_ir::Scalar;

#[derive(Default)]
struct Draft(Graph);

impl Draft {
    fn input(&mut self, name: &str, shape: &[i64], whole: bool) -> TensorId {
        let id = self.0.add(GraphTensor { whole, ..GraphTensor::new(name, shape, Origin::Input) });
        self.0.inputs.push(id);
        id
    }

    fn constant(&mut self, shape: &[i64], values: Vec<f64>) -> TensorId {
        let name = format!("c{}", self.0.tensors.len());
        self.0.add(GraphTensor::new(name, shape, Origin::Constant).with_values(values))
    }

    fn node(&mut self, name: &str, op: Op, inputs: &[TensorId], shape: &[i64]) -> TensorId {
        let output = self.0.add(GraphTensor::new(name, shape, Origin::Node));
        self.0.nodes.push(Node::of(name, op, inputs.to_vec(), output));
        output
    }

    fn plan(&self, outputs: &[TensorId], element: Scalar) -> Plan {
        let graph = Graph { outputs: outputs.to_vec(), ..self.0.clone() };
        let plan = Plan::of_elements(&graph, element).expect("a plan");
        for op in &plan.operators {
            for (own, id) in external_inputs(&op.operator).iter().zip(&op.inputs) {
                assert_eq!(own.element.stored(), plan.tensor(*id).element.stored(), "{} of {}", own.name, op.name);
            }
        }
        plan
    }
}

fn element(plan: &Plan, name: &str) -> Scalar {
    plan.tensors.iter().find(|own| own.name == name).unwrap_or_else(|| panic!("no {name}")).element
}

/// Whole numbers that are given, and what is made of them alone, constants beside them too; embeddings that they find, and all that is weighed, are halves.
#[test]
fn whole_numbers_stay_exact_until_they_are_weighed() {
    let mut draft = Draft::default();
    let ids = draft.input("ids", &[4], true);
    let (last, inverse) = (draft.constant(&[4], vec![50256.0, 50257.0, 3.0, 4.0]), draft.constant(&[4], vec![1.0, 0.1, 0.01, 1e-3]));
    let ends = draft.node("ends", Op::Binary(Arithmetic::Equal), &[ids, last], &[4]);
    let angles = draft.node("angles", Op::Binary(Arithmetic::Mul), &[ids, inverse], &[4]);
    let both = draft.node("both", Op::Concat { axis: 0 }, &[angles, angles], &[8]);
    let cosine = draft.node("cosine", Op::Unary(Function::Cos), &[both], &[8]);
    let table = draft.constant(&[9, 8], vec![0.5; 72]);
    let rows = draft.node("rows", Op::Gather { axis: 0 }, &[table, ids], &[4, 8]);
    let turned = draft.node("turned", Op::Binary(Arithmetic::Mul), &[rows, cosine], &[4, 8]);
    let weights = draft.constant(&[8, 2], vec![0.25; 16]);
    let product = Op::MatMul { transpose_left: false, transpose_right: false };
    let weighed = draft.node("weighed", product, &[turned, weights], &[4, 2]);
    for wanted in [Scalar::F16, Scalar::Half] {
        let plan = draft.plan(&[ends, both, cosine, rows, turned, weighed], wanted);
        let of = |name: &str| element(&plan, name);
        for exact in ["ids", "ends", "both", "cosine", "c1", "c2"] {
            assert_eq!(of(exact), Scalar::F32, "{exact}");
        }
        for half in ["rows", "turned", "weighed"] {
            assert_eq!(of(half), wanted, "{half}");
        }
    }
}

/// Followers of a normalisation read its statistics as these are stored.
#[test]
fn statistics_keep_their_width() {
    let mut draft = Draft::default();
    let (x, scale) = (draft.input("x", &[3, 5], false), draft.input("scale", &[5], false));
    let y = draft.node("y", Op::LayerNormalization { axis: 1, epsilon: 1e-5 }, &[x, scale], &[3, 5]);
    let further = ["mean", "deviation"].map(|name| draft.0.add(GraphTensor::new(name, [3, 1], Origin::Node)));
    draft.0.nodes[0].outputs.extend(further);
    let centred = draft.node("centred", Op::Binary(Arithmetic::Sub), &[y, further[0]], &[3, 5]);
    for wanted in [Scalar::F16, Scalar::Half] {
        let plan = draft.plan(&[centred, further[0]], wanted);
        let normalised = plan.operators.iter().find(|op| op.name == "y").expect("the normalisation");
        let statistics = normalised.operator.steps.iter().find(|step| &*step.output.name == "mean").expect("means");
        assert_eq!(element(&plan, "mean").stored(), statistics.output.element.stored());
        assert_eq!(element(&plan, "centred"), wanted);
    }
}

/// What fills a mask is beyond halves, and stays a number among them.
#[test]
fn known_numbers_stay_finite() {
    let mut draft = Draft::default();
    let mask = draft.input("mask", &[4], false);
    let (least, fill) =
        (draft.constant(&[], vec![f64::from(f32::MIN)]), draft.constant(&[4], vec![f64::NEG_INFINITY, f64::from(f32::MIN), 1e9, 1.0]));
    let masked = draft.node("masked", Op::Binary(Arithmetic::Mul), &[mask, least], &[4]);
    let sum = draft.node("sum", Op::Binary(Arithmetic::Add), &[masked, fill], &[4]);
    let plan = draft.plan(&[sum], Scalar::Half);
    let found = plan.evaluate_f64(&[vec![0.0, 0.0, 0.0, 1.0]]).expect("values");
    assert_eq!(found, [[f64::NEG_INFINITY, -65504.0, 65504.0, 1.0 - 65504.0]]);
    let exact = draft.plan(&[sum], Scalar::F32).evaluate_f64(&[vec![0.0; 4]]).expect("values");
    assert_eq!(exact[0][2], 1e9);
}

/// Whole numbers that a run makes of floats, and what is computed or chosen of them, are whole ones too; what they are made of is not, nor what
/// chooses among them.
#[test]
fn whole_numbers_of_a_run_stay_exact() {
    let mut draft = Draft::default();
    let x = draft.input("x", &[2], false);
    let powers = draft.node("powers", Op::Unary(Function::Exp), &[x], &[2]);
    let whole = draft.node("whole", Op::Unary(Function::Trunc), &[powers], &[2]);
    let factors = draft.constant(&[2], vec![300.0, 7.0]);
    let product = draft.node("product", Op::Binary(Arithmetic::Mul), &[whole, factors], &[2]);
    let quotient = draft.node("quotient", Op::Binary(Arithmetic::Quotient), &[product, whole], &[2]);
    let above = draft.node("above", Op::Binary(Arithmetic::Less), &[x, powers], &[2]);
    let chosen = draft.node("chosen", Op::Select, &[above, product, quotient], &[2]);
    let weighed = draft.node("weighed", Op::Binary(Arithmetic::Mul), &[chosen, x], &[2]);
    for wanted in [Scalar::F16, Scalar::Half] {
        let plan = draft.plan(&[powers, whole, product, quotient, above, chosen, weighed], wanted);
        for exact in ["whole", "c3", "product", "quotient", "chosen"] {
            assert_eq!(element(&plan, exact), Scalar::F32, "{exact}");
        }
        for half in ["x", "powers", "above", "weighed"] {
            assert_eq!(element(&plan, half), wanted, "{half}");
        }
    }
    // Between two readers it is kept, although nobody asks for it.
    let plan = draft.plan(&[quotient, weighed], Scalar::F16);
    assert_eq!(element(&plan, "product"), Scalar::F32);
}
