//! Gradients of normalisations and of sums of bags: what is planned is the definition, and the definition is what differences of results say.

mod support;

use support::node::{alone, checked, differences, drawn};
use support::{draw, relative};
use warpsight_generate::operators::ScatterKind;
use warpsight_graph::Op;

#[test]
fn gradients_of_normalisations_are_differences() {
    for (shape, axis) in [(vec![7, 5], 1), (vec![2, 3, 4], 1), (vec![3, 1, 9], 2), (vec![6], 0), (vec![1, 3], 1), (vec![2, 3, 2, 5], 3)] {
        let columns = shape[axis..].to_vec();
        let rows: Vec<i64> = shape.iter().enumerate().map(|(d, &extent)| if d < axis { extent } else { 1 }).collect();
        let inputs = [shape.clone(), columns.clone(), columns.clone()];
        let forward = alone(Op::LayerNormalization { axis, epsilon: 1e-3 }, &inputs, &[shape.clone(), rows.clone(), rows.clone()]);
        let values = drawn(&forward);
        let made = checked(&forward, &values);
        let from = draw(77, made[0].len());
        let given = [from.clone(), values[0].clone(), made[1].clone(), made[2].clone(), values[1].clone(), values[2].clone()];
        let shapes = [shape.clone(), shape.clone(), rows.clone(), rows, columns.clone(), columns.clone()];
        for (operands, results) in [(6, 3), (5, 3), (5, 1)] {
            let outputs = [shape.clone(), columns.clone(), columns.clone()];
            let backward = alone(Op::LayerNormalizationGradient { axis }, &shapes[..operands], &outputs[..results]);
            for (operand, found) in checked(&backward, &given[..operands]).iter().enumerate() {
                let expected = differences(&forward, &values, &from, operand);
                let scale = expected.iter().fold(1.0, |most: f64, own| most.max(own.abs()));
                let worst = found.iter().zip(&expected).map(|(a, b)| (a - b).abs() / scale).fold(0.0, f64::max);
                assert!(worst < 1e-6, "{shape:?} from {axis} on, operand {operand}: {worst}");
            }
        }
    }
}

/// Bags of several positions, of one, and an empty one; a row in two bags; positions from the end and beyond it.
#[test]
fn bags_and_their_gradients() {
    let shapes = [vec![5, 3], vec![7], vec![4]];
    let forward = alone(Op::EmbeddingBag, &shapes, &[vec![4, 3], vec![7], vec![4], vec![4]]);
    let rows = draw(5, 15);
    let values = [rows.clone(), vec![4., 0., 0., 2., -1., 5., 2.], vec![0., 2., 3., 3.]];
    let made = checked(&forward, &values);
    assert_eq!(made[1], [0., 0., 1., 3., 3., 3., 3.]);
    assert_eq!((&made[2], &made[3]), (&vec![0.0; 4], &vec![0.0; 4]));
    assert_eq!(made[0][..6], [rows[12] + rows[0], rows[13] + rows[1], rows[14] + rows[2], rows[0], rows[1], rows[2]]);
    assert_eq!(made[0][6..9], [0.0; 3], "a bag without positions");
    let from = draw(6, 12);
    let given = [vec![from.clone()], values[1..].to_vec(), made[1..].to_vec()].concat();
    let shapes = [vec![4, 3], vec![7], vec![4], vec![7], vec![4], vec![4]];
    for operands in [4, 6] {
        let backward = alone(Op::EmbeddingBagGradient, &shapes[..operands], &[vec![5, 3]]);
        let found = checked(&backward, &given[..operands]).remove(0);
        assert!(relative(&found, &differences(&forward, &values, &from, 0)) < 1e-6);
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let fits = |op: Op, inputs: &[&[i64]], outputs: &[&[i64]]| op.fits(inputs, outputs);
    let wide = [2i64, 3];
    assert!(fits(Op::Gather { axis: usize::MAX }, &[&wide, &[1], &[1]], &[&[1]]).is_err());
    assert!(fits(Op::Gather { axis: 1 }, &[&wide, &[1], &[1]], &[&[2, 1]]).is_err(), "positions along a dimension that is not there");
    assert!(fits(Op::Gather { axis: 0 }, &[&wide, &[4], &[5]], &[&[4]]).is_err(), "other numbers of positions");
    assert_eq!(fits(Op::Gather { axis: 0 }, &[&wide, &[4], &[4]], &[&[4]]), Ok(()));
    assert!(
        fits(Op::Scatter { axis: 0, kind: ScatterKind::Add }, &[&[3, 3], &[4], &[4, 3]], &[&wide]).is_err(),
        "data that does not broadcast"
    );
    assert_eq!(fits(Op::Scatter { axis: 0, kind: ScatterKind::Add }, &[&[], &[4], &[4, 3]], &[&wide]), Ok(()));
    for (axis, diagonal, pairs) in [(0, -2, 1), (0, -3, 0), (1, 0, 6), (0, 9, 9), (usize::MAX, 0, 6), (0, i64::MIN, 0)] {
        let found = fits(Op::LowerPairs { axis, diagonal }, &[&[3, 3]], &[&[pairs]]);
        assert_eq!(found.is_ok(), (axis, diagonal) == (0, 9) || (axis, diagonal) == (0, -2), "{axis} {diagonal}: {found:?}");
    }
}
