//! Attention as one operator, and its gradient: the sequence that is planned is the definition, for heads that share keys and those that do not,
//! several batches, masks of several shapes, more keys than queries and odd extents; the gradient is what differences of results say.

mod support;

use support::node::{alone, checked, differences, drawn};
use support::{draw, relative};
use warpsight_graph::{Attention, Op, evaluate_f64};

/// Extents of an attention and what belongs to it.
#[derive(Clone, Copy)]
struct Case {
    stack: &'static [i64],
    heads: [i64; 2],
    rows: [i64; 2],
    columns: [i64; 2],
    own: Attention,
    mask: Option<&'static [i64]>,
}

const PLAIN: Attention = Attention { causal: false, scale: None };
const CAUSAL: Attention = Attention { causal: true, scale: None };

const CASES: [Case; 6] = [
    Case { stack: &[1], heads: [4, 2], rows: [5, 5], columns: [3, 3], own: CAUSAL, mask: None },
    Case { stack: &[2], heads: [3, 3], rows: [4, 7], columns: [5, 2], own: PLAIN, mask: None },
    Case { stack: &[2], heads: [6, 2], rows: [3, 7], columns: [1, 4], own: CAUSAL, mask: Some(&[3, 7]) },
    Case {
        stack: &[3],
        heads: [2, 1],
        rows: [1, 9],
        columns: [4, 4],
        own: Attention { causal: false, scale: Some(0.3) },
        mask: Some(&[3, 1, 1, 9]),
    },
    Case { stack: &[], heads: [5, 5], rows: [7, 3], columns: [3, 5], own: CAUSAL, mask: Some(&[5, 1, 3]) },
    Case { stack: &[2, 2], heads: [4, 4], rows: [2, 2], columns: [2, 1], own: PLAIN, mask: Some(&[1]) },
];

impl Case {
    fn shape(&self, dimensions: &[i64]) -> Vec<i64> {
        [self.stack, dimensions].concat()
    }
    /// Queries, keys, values.
    fn operands(&self) -> [Vec<i64>; 3] {
        let ([h, g], [m, n], [d, e]) = (self.heads, self.rows, self.columns);
        [self.shape(&[h, m, d]), self.shape(&[g, n, d]), self.shape(&[g, n, e])]
    }
    fn result(&self) -> Vec<i64> {
        self.shape(&[self.heads[0], self.rows[0], self.columns[1]])
    }
    fn logarithms(&self) -> Vec<i64> {
        self.shape(&[self.heads[0], self.rows[0]])
    }
    fn masks(&self) -> Vec<Vec<i64>> {
        self.mask.iter().map(|own| own.to_vec()).collect()
    }
}

#[test]
fn the_sequence_is_the_definition() {
    for case in CASES {
        let inputs = [case.operands().to_vec(), case.masks()].concat();
        for outputs in [vec![case.result()], vec![case.result(), case.logarithms()]] {
            let own = alone(Op::Attention(case.own), &inputs, &outputs);
            checked(&own, &drawn(&own));
        }
    }
}

/// Where all products are the same, a causal row is the mean of the values so far.
#[test]
fn causal_rows_see_what_came_before() {
    let shape = vec![1, 1, 4, 1];
    let own = alone(Op::Attention(CAUSAL), &[shape.clone(), shape.clone(), shape.clone()], &[shape, vec![1, 1, 4]]);
    let found = checked(&own, &[vec![0.0; 4], vec![1.0; 4], vec![2.0, 4.0, 6.0, 12.0]]);
    assert_eq!(found[0], [2.0, 3.0, 4.0, 6.0]);
    assert!(relative(&found[1], &[0.0, 2f64.ln(), 3f64.ln(), 4f64.ln()]) < 1e-12);
}

#[test]
fn gradients_are_differences() {
    for case in CASES {
        let operands = case.operands();
        let forward = alone(Op::Attention(case.own), &[operands.to_vec(), case.masks()].concat(), &[case.result(), case.logarithms()]);
        let inputs = drawn(&forward);
        let made = evaluate_f64(&forward, &inputs).expect("values");
        let from = draw(77, made[0].len());
        let of_heads = |shape: &[i64]| {
            let mut own = shape.to_vec();
            own[case.stack.len()] = case.heads[0];
            own
        };
        let given: Vec<Vec<f64>> = [vec![from.clone()], inputs[..3].to_vec(), made.clone(), inputs[3..].to_vec()].concat();
        let shapes = [vec![case.result()], operands.to_vec(), vec![case.result(), case.logarithms()], case.masks()].concat();
        let summed = alone(Op::AttentionGradient(case.own), &shapes, &operands);
        for (operand, found) in checked(&summed, &given).iter().enumerate() {
            let expected = differences(&forward, &inputs, &from, operand);
            assert!(relative(found, &expected) < 1e-6, "operand {operand}: {}", relative(found, &expected));
        }
        // Of each head, they sum up to the same.
        let each = alone(Op::AttentionGradient(case.own), &shapes, &[operands[0].clone(), of_heads(&operands[1]), of_heads(&operands[2])]);
        let (each, summed) = (checked(&each, &given), checked(&summed, &given));
        for operand in [1, 2] {
            let (shape, sharing) = (&operands[operand], (case.heads[0] / case.heads[1]) as usize);
            let head = shape[case.stack.len() + 1..].iter().product::<i64>() as usize;
            let sum = |at: usize| (0..sharing).map(|own| each[operand][(at / head * sharing + own) * head + at % head]).sum::<f64>();
            let sums: Vec<f64> = (0..summed[operand].len()).map(sum).collect();
            assert!(relative(&sums, &summed[operand]) < 1e-12);
        }
    }
}

#[test]
fn what_is_no_attention_is_refused() {
    let op = Op::Attention(PLAIN);
    let fits = |inputs: &[&[i64]], outputs: &[&[i64]]| op.fits(inputs, outputs);
    let (q, k) = ([1i64, 4, 2, 3], [1i64, 2, 2, 3]);
    assert_eq!(fits(&[&q, &k, &k], &[&q]), Ok(()));
    for wrong in [&[1, 3, 2, 3], &[1, 2, 2, 2], &[2, 2, 2, 3], &[2, 2, 3][..]] {
        assert!(fits(&[&q, wrong, &k], &[&q]).is_err(), "{wrong:?}");
    }
    assert!(fits(&[&q, &k, &k, &[2, 2, 2]], &[&q]).is_err(), "a mask of other extents");
    assert!(fits(&[&q, &k, &k], &[&q, &[1, 4, 3]]).is_err(), "logarithms of other rows");
    for scale in [f64::NAN, f64::INFINITY, 1e308] {
        assert!(Op::Attention(Attention { scale: Some(scale), ..PLAIN }).fits(&[&q, &k, &k], &[&q]).is_err(), "{scale}");
    }
}
