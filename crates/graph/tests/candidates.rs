//! Alternative sequences of expressions compute what the operator does.

use fastrand::Rng;
use warpsight_generate::candidates::candidates;
use warpsight_generate::operators::parse_operator;
use warpsight_graph::Plan;

const OPERATORS: [&str; 6] = [
    "conv2d n=2 c=3 h=5 w=7 k=4 r=3 s=3 stride=1 pad=1",
    "conv2d n=1 c=4 h=9 w=8 k=3 r=5 s=3 stride=2 pad=2",
    "conv2d n=1 c=2 h=6 w=1 k=3 r=3 s=3 stride=1 pad=1",
    "dwconv2d n=1 c=6 h=7 w=5 r=3 s=3 stride=2 pad=1",
    "matmul m=4 n=5 k=6",
    "softmax n=3 c=10",
];

#[test]
fn every_candidate_computes_the_operator() {
    let mut rng = Rng::with_seed(3);
    let mut padded = 0;
    for text in OPERATORS {
        let operator = parse_operator(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let mut constants = Rng::with_seed(4);
        let plan = Plan::of_operator(&operator, |n| (0..n).map(|_| constants.f64() - 0.5).collect());
        let inputs: Vec<Vec<f64>> = plan.inputs.iter().map(|&id| (0..plan.tensor(id).len()).map(|_| rng.f64() - 0.5).collect()).collect();
        let expected = plan.evaluate_f64(&inputs).expect("evaluates");
        let all = candidates(&operator);
        assert_eq!(all[0].operator, operator, "{text}: the first is the operator as it is");
        for candidate in all.into_iter().skip(1) {
            padded += 1;
            // What is read beyond an end is in the copy: nothing is bound any more but in it.
            let bound = |step: &warpsight_generate::TensorExpr| {
                let mut any = false;
                step.body.loads(&mut |_, _, padded| any |= padded);
                any
            };
            assert!(candidate.operator.steps.iter().all(|step| step.reduce.is_empty() || !bound(step)), "{text}");
            let mut other = plan.clone();
            other.replace(0, candidate.operator);
            assert_eq!(other.evaluate_f64(&inputs).expect("evaluates"), expected, "{text}: {}", candidate.name);
        }
    }
    assert!(padded >= 4, "{padded} alternatives");
}
