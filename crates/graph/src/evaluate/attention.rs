//! Attention by its definition, row by row.

use super::{at, points, strides};
use crate::graph::heads::Heads;
use crate::graph::op::Attention;

/// One row of queries.
struct Row {
    /// Position of the row among all of them.
    number: usize,
    /// Position of the first key.
    keys: usize,
    /// Products with all keys, scaled, masked.
    products: Vec<f64>,
}

/// All rows of queries; inputs are queries, keys, and perhaps a mask with its shape.
fn rows<'a>(
    own: &'a Attention,
    heads: &'a Heads,
    (queries, keys): (&'a [f64], &'a [f64]),
    mask: Option<(&'a [f64], &'a [i64])>,
) -> impl Iterator<Item = Row> + 'a {
    let [all, groups, rows, length, depth] =
        [heads.heads, heads.groups, heads.queries, heads.keys, heads.depth].map(|extent| extent as usize);
    let from = mask.map(|(values, shape)| (values, strides(shape, heads.stack.len() + 3)));
    let all_rows: Vec<Vec<usize>> = points(&heads.with(&[heads.heads, heads.queries])).collect();
    all_rows.into_iter().enumerate().map(move |(number, point)| {
        let (head, row) = (number / rows, number % rows);
        let group = head / all * groups + head % all / (all / groups);
        let query = &queries[number * depth..][..depth];
        let product = |j: usize| {
            let key = &keys[(group * length + j) * depth..][..depth];
            let sum = query.iter().zip(key).map(|(a, b)| a * b).sum::<f64>() * heads.scale(own);
            let place: Vec<usize> = point.iter().copied().chain([j]).collect();
            let masked = from.as_ref().map_or(0.0, |(values, strides)| values[at(&place, strides)]);
            if own.causal && j > row { f64::NEG_INFINITY } else { sum + masked }
        };
        Row { number, keys: group * length, products: (0..length).map(product).collect() }
    })
}

/// The result, and the logarithm of what the powers of each row come to.
pub(super) fn attention(own: &Attention, x: &[&[f64]], shapes: &[&[i64]]) -> Vec<Vec<f64>> {
    // Shapes were checked as the graph was made.
    let Ok(heads) = Heads::of(shapes[0], shapes[1], shapes[2]) else { return vec![] };
    let width = heads.width as usize;
    let (mut result, mut logarithms) = (vec![], vec![]);
    for row in rows(own, &heads, (x[0], x[1]), x.get(3).map(|mask| (*mask, shapes[3]))) {
        let largest = row.products.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let powers: Vec<f64> = row.products.iter().map(|own| (own - largest).exp()).collect();
        let total: f64 = powers.iter().sum();
        let value = |j: usize, column: usize| x[2][(row.keys + j) * width + column];
        result.extend((0..width).map(|column| powers.iter().enumerate().map(|(j, p)| p / total * value(j, column)).sum::<f64>()));
        logarithms.push(largest + total.ln());
    }
    vec![result, logarithms]
}

/// Gradients of queries, keys and values. Those of keys and values are of the shapes of `outputs`: of each head, or of each group.
pub(super) fn gradient(own: &Attention, x: &[&[f64]], shapes: &[&[i64]], outputs: &[&[i64]]) -> Vec<Vec<f64>> {
    let Ok(heads) = Heads::of(shapes[1], shapes[2], shapes[3]) else { return vec![] };
    let [from, queries, keys, values, result, logarithms] = x[..6] else { return vec![] };
    let [rows_of, length, depth, width] = [heads.queries, heads.keys, heads.depth, heads.width].map(|extent| extent as usize);
    let mut made: Vec<Vec<f64>> = outputs.iter().map(|shape| vec![0.0; shape.iter().product::<i64>() as usize]).collect();
    let each = outputs.iter().map(|shape| shape[heads.stack.len()] == heads.heads).collect::<Vec<_>>();
    for row in rows(own, &heads, (queries, keys), x.get(6).map(|mask| (*mask, shapes[6]))) {
        let (own_from, own_result) = (&from[row.number * width..][..width], &result[row.number * width..][..width]);
        let shared: f64 = own_from.iter().zip(own_result).map(|(a, b)| a * b).sum();
        for (j, product) in row.products.iter().enumerate() {
            let power = (product - logarithms[row.number]).exp();
            let key = row.keys + j;
            // Where this head's gradients of the key and its value are added.
            let place = |output: usize| if each[output] { row.number / rows_of * length + j } else { key };
            let of_power: f64 = own_from.iter().zip(&values[key * width..]).map(|(a, b)| a * b).sum();
            let of_product = power * (of_power - shared) * heads.scale(own);
            for c in 0..depth {
                made[0][row.number * depth + c] += of_product * keys[key * depth + c];
                made[1][place(1) * depth + c] += of_product * queries[row.number * depth + c];
            }
            for (c, own) in own_from.iter().enumerate() {
                made[2][place(2) * width + c] += power * own;
            }
        }
    }
    made
}
