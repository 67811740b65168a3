//! Values of whole tensors: outputs that several threads compute, and where layouts put elements, each against one element at a time.

use fastrand::Rng;
use warpsight_generate::candidates::candidates;
use warpsight_generate::expr::{Evaluator, Role};
use warpsight_generate::indices::{for_each_index, for_indices};
use warpsight_generate::layout::{Layout, decode};
use warpsight_generate::operators::{parse_operator, tensor};
use warpsight_ir::Scalar;

/// Every result of every expression of sequences large enough for many threads' shares.
#[test]
fn outputs_are_their_results() {
    let mut rng = Rng::with_seed(3);
    let mut steps = 0;
    for text in [
        "conv2d n=1 c=6 h=31 w=29 k=7 r=3 s=3 stride=1 pad=1",
        "softmax n=40 c=517",
        "deconv2d n=1 c=5 h=9 w=11 k=6 r=3 s=3 stride=2 pad=1",
        "matmul m=67 n=61 k=129",
        // Longer rows than are computed together.
        "matmul m=3 n=2500 k=5",
    ] {
        let operator = parse_operator(text).expect("an operator");
        for sequence in [&operator].into_iter().chain(candidates(&operator).iter().map(|own| &own.operator)) {
            for step in &sequence.steps {
                let inputs: Vec<Vec<f64>> = step.inputs.iter().map(|own| (0..own.len()).map(|_| rng.f64() - 0.5).collect()).collect();
                let slices: Vec<&[f64]> = inputs.iter().map(Vec::as_slice).collect();
                let evaluator = Evaluator::new(step, &slices);
                let found = evaluator.output(vec![7.0; step.output.len()]).expect("all placed");
                let mut wanted = vec![7.0; step.output.len()];
                let extents: Vec<i64> = step.result_axes().map(|axis| axis.extent).collect();
                for_each_index(&extents, |_, point| {
                    if !step.leaves_out(point) {
                        let at = step.store.iter().zip(&step.output.shape);
                        let at = at.fold(0, |at, (form, extent)| at * extent + form.eval(|a| point[a.0]).expect("small"));
                        wanted[at as usize] = evaluator.result(point);
                    }
                });
                assert!(found == wanted, "{text}: {}", step.name);
                steps += 1;
            }
        }
    }
    assert!(steps > 20, "{steps}");
}

/// What is stored outside of an output is told, by the first part of it.
#[test]
fn what_has_no_place_is_told() {
    let mut step = parse_operator("relu n=300 c=401").expect("an operator").steps.remove(0);
    step.store[0] = step.store[0].clone().offset(1).expect("a form");
    let input = vec![1.0; 300 * 401];
    assert_eq!(Evaluator::new(&step, &[&input[..]]).output(vec![0.0; 300 * 401]), Err(vec![299, 0]));
}

/// Packed elements lie at their positions, and come back.
#[test]
fn packed_elements_are_at_their_positions() {
    let mut rng = Rng::with_seed(5);
    for _ in 0..400 {
        let shape: Vec<i64> = (0..rng.usize(1..5)).map(|_| rng.i64(1..14)).collect();
        let element = rng.choice([Scalar::F32, Scalar::F16, Scalar::F64, Scalar::I32]).expect("one");
        let tensor = tensor("x", &shape, element, Role::Weight);
        let mut order: Vec<(usize, i64)> = (0..shape.len()).map(|d| (d, 1)).collect();
        for dim in 0..shape.len() {
            if rng.bool() {
                order.push((dim, rng.i64(2..9)));
            }
        }
        rng.shuffle(&mut order);
        let layout = Layout::ordered(&shape, order);
        let values: Vec<f32> = (0..tensor.len()).map(|n| (n % 2048) as f32).collect();
        let packed = layout.pack(&tensor, &values, -1.0);
        assert_eq!(packed.len() as u64, layout.bytes(element));
        let placed = decode(element, &packed);
        let mut wanted = vec![-1.0; placed.len()];
        for_each_index(&shape, |flat, index| wanted[layout.position(index)] = values[flat]);
        assert_eq!(placed, wanted, "{layout:?}");
        assert_eq!(layout.unpack(&tensor, &packed), values, "{layout:?}");
    }
}

#[test]
fn some_indices_are_those_of_all() {
    let shape = [3, 1, 4, 5];
    let mut all = vec![];
    for_each_index(&shape, |flat, index| all.push((flat, index.to_vec())));
    for range in [0..60, 7..23, 59..60, 60..60] {
        let mut some = vec![];
        for_indices(&shape, range.clone(), |flat, index| some.push((flat, index.to_vec())));
        assert_eq!(some, all[range]);
    }
}
