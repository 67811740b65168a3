//! Small networks that others designed, as exporters write them, against onnxruntime's outputs (`fixtures/make.py`): as read, as planned, and with
//! every sequence that an operator may be computed by.

mod support;

use std::collections::BTreeSet;
use support::cases::{Case, cases};
use support::relative;
use warpsight_generate::candidates::candidates;
use warpsight_generate::expr::{ScalarExpr, TensorExpr};
use warpsight_graph::{Graph, Model, Plan, PlanRole, evaluate_f64, simplify};
use warpsight_ir::BinaryOp;

fn all() -> impl Iterator<Item = (Case, Graph, Plan)> {
    cases(include_str!("fixtures/architectures.json")).into_iter().map(|case| {
        let name = &case.name;
        let graph = simplify(&Model::from_bytes(&case.model).and_then(|m| m.graph(&[])).unwrap_or_else(|e| panic!("{name}: {e}")));
        let plan = Plan::of(&graph).unwrap_or_else(|e| panic!("{name}: {e}"));
        (case, graph, plan)
    })
}

#[test]
fn graphs_and_plans_agree_with_onnxruntime() {
    for (case, graph, plan) in all() {
        let name = &case.name;
        let oracle = evaluate_f64(&graph, &case.inputs).unwrap().remove(0);
        // The fixtures are f32 results of some fifty operators each.
        let difference = relative(&oracle, &case.output);
        assert!(difference < 1e-5, "{name}: {difference}");
        let planned = plan.evaluate_f64(&case.inputs).unwrap().remove(0);
        let difference = relative(&planned, &oracle);
        assert!(difference < 1e-11, "{name}: {difference}");
        assert_eq!(plan.tensor(plan.outputs[0]).shape, case.shape, "{name}");
    }
}

/// Also where some of what is joined is known.
#[test]
fn every_sequence_keeps_the_meaning_of_a_network() {
    let mut seen = BTreeSet::new();
    for (case, graph, plan) in all() {
        let expected = evaluate_f64(&graph, &case.inputs).unwrap().remove(0);
        let ways: Vec<_> = plan.operators.iter().map(|op| candidates(&op.operator)).collect();
        let names: BTreeSet<&str> = ways.iter().flatten().map(|own| own.name).filter(|name| *name != "direct").collect();
        for name in names {
            seen.insert(name);
            let mut other = plan.clone();
            for (position, own) in ways.iter().enumerate() {
                if let Some(own) = own.iter().find(|own| own.name == name) {
                    other.replace(position, own.operator.clone());
                }
            }
            let found = other.evaluate_f64(&case.inputs).unwrap().remove(0);
            let difference = relative(&found, &expected);
            assert!(difference < 1e-9, "{} by {name}: {difference}", case.name);
        }
    }
    assert!(seen.is_superset(&BTreeSet::from(["padded", "packed", "parts", "rows", "rows_kept", "pooled", "winograd2"])), "{seen:?}");
}

/// Whether elements are loaded and nothing is made of them: one, or that of several parts that is there.
fn only_loads(scalar: &ScalarExpr) -> bool {
    fn part(scalar: &ScalarExpr) -> bool {
        match scalar {
            ScalarExpr::Load { padded, .. } => *padded,
            ScalarExpr::Binary(BinaryOp::Add, a, b) => part(a) && part(b),
            _ => false,
        }
    }
    // Borders: where elements are found follows from where results are.
    let positions = |found: &[(usize, ScalarExpr)]| {
        found.iter().all(|own| {
            let mut loads = 0;
            own.1.loads(&mut |_, _, _| loads += 1);
            loads == 0
        })
    };
    matches!(scalar, ScalarExpr::Load { .. }) || matches!(scalar, ScalarExpr::Gather { found, .. } if positions(found)) || part(scalar)
}

/// Operators of each, and those of them that move elements alone, to other operators: what is joined of what others read, too, halves that
/// pass a block, and borders by reflection.
#[test]
fn few_kernels_only_move_elements() {
    let mut found = vec![];
    for (case, _, plan) in all() {
        let moves = |op: &&warpsight_graph::PlannedOp| {
            let each = |step: &TensorExpr| {
                step.reduce.is_empty() && step.before.is_empty() && only_loads(&step.body) && step.epilogue == ScalarExpr::Acc
            };
            op.operator.steps.iter().all(each) && matches!(plan.tensor(op.output).role, PlanRole::Intermediate)
        };
        found.push((case.name, plan.operators.len(), plan.operators.iter().filter(moves).count()));
    }
    let found: Vec<(&str, usize, usize)> = found.iter().map(|own| (own.0.as_str(), own.1, own.2)).collect();
    assert_eq!(found, EXPECTED);
}

const EXPECTED: [(&str, usize, usize); 22] = [
    ("shufflenetv2", 20, 2),
    ("mobilenetv3", 20, 0),
    ("mobilenetv3 taken apart", 17, 0),
    ("efficientnet", 23, 0),
    ("densenet", 22, 0),
    ("unet", 17, 2),
    ("inception", 26, 0),
    ("yolo", 97, 28),
    ("convnext", 6, 0),
    ("resnext", 10, 0),
    ("super_resolution", 4, 0),
    ("style", 18, 7),
    ("diffusion", 28, 0),
    ("deeplab", 10, 0),
    ("ghostnet", 13, 2),
    ("vit", 12, 0),
    ("vit taken apart", 15, 0),
    ("bert", 15, 0),
    ("gpt", 10, 0),
    ("llama", 16, 2),
    ("swin", 31, 9),
    ("temporal", 7, 0),
];
