//! Every operator that is read, alone in a tiny model, against onnxruntime's outputs (`fixtures/make.py`): the oracle on the graph
//! as read, and the fused plan.

mod support;

use support::cases::Case;
use support::relative;
use warpsight_generate::operators::{external_inputs, temporaries};
use warpsight_graph::{Model, Plan, TensorId, evaluate_f64, simplify};
use warpsight_ir::Scalar;

fn cases() -> Vec<Case> {
    support::cases::cases(include_str!("fixtures/ops.json"))
}

#[test]
fn oracle_and_plan_agree_with_onnxruntime() {
    let cases = cases();
    assert!(cases.len() > 300, "{}", cases.len());
    for case in cases {
        let name = &case.name;
        let graph = Model::from_bytes(&case.model).and_then(|m| m.graph(&[])).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(graph.tensor(graph.outputs[0]).shape, case.shape, "{name}");
        let oracle = evaluate_f64(&graph, &case.inputs).unwrap().remove(0);
        // The fixtures are f32 results with eight digits.
        let difference = relative(&oracle, &case.output);
        assert!(difference < 2e-6, "{name}: {difference}, {oracle:?} instead of {:?}", case.output);

        let plan = Plan::of(&simplify(&graph)).unwrap_or_else(|e| panic!("{name}: {e}"));
        let planned = plan.evaluate_f64(&case.inputs).unwrap().remove(0);
        let difference = relative(&planned, &oracle);
        assert!(difference < 1e-12, "{name}: {difference}, {planned:?} instead of {oracle:?}");
        assert_eq!(plan.tensor(plan.outputs[0]).shape, case.shape, "{name}");
    }
}

#[test]
fn tensors_are_stored_as_asked_but_for_positions() {
    let mut exact = 0;
    for case in cases() {
        let name = &case.name;
        let graph = simplify(&Model::from_bytes(&case.model).and_then(|m| m.graph(&[])).unwrap_or_else(|e| panic!("{name}: {e}")));
        let oracle = Plan::of(&graph).and_then(|plan| plan.evaluate_f64(&case.inputs)).unwrap();
        for element in [Scalar::F16, Scalar::Half] {
            let plan = Plan::of_elements(&graph, element).unwrap_or_else(|e| panic!("{name}: {e}"));
            // Operators and the plan agree on every tensor.
            for op in &plan.operators {
                let stored = |id: &TensorId| plan.tensor(*id).element;
                let last = op.operator.steps.last().expect("a step");
                let read = external_inputs(&op.operator).into_iter().zip(&op.inputs);
                for (own, id) in read.chain(temporaries(&op.operator).into_iter().zip(&op.temporaries)).chain([(&last.output, &op.output)])
                {
                    assert_eq!(own.element.stored(), stored(id).stored(), "{name}: {} of {}", own.name, op.name);
                }
            }
            let narrow = |id: &TensorId| plan.tensor(*id).element == element;
            // What is returned is a number among numbers, unless it is made of whole ones alone.
            let whole = plan.inputs.iter().all(|id| !narrow(id));
            assert!(whole || plan.outputs.iter().all(narrow), "{name}");
            exact += plan.inputs.iter().filter(|id| !narrow(id)).count();
            let planned = plan.evaluate_f64(&case.inputs).unwrap();
            assert_eq!(
                planned.iter().flatten().map(|v| v.to_bits()).collect::<Vec<_>>(),
                oracle.iter().flatten().map(|v| v.to_bits()).collect::<Vec<_>>(),
                "{name}"
            );
        }
    }
    assert!(exact > 20, "{exact}");
}
