//! Gradients of several results, and sums of bags, by their definitions.

/// Of data, scale and bias, from the gradient, data, the mean of each row and one over its deviation, and the scale.
pub(super) fn layer_normalization(x: &[&[f64]], shape: &[i64], axis: usize) -> Vec<Vec<f64>> {
    let columns = shape[axis..].iter().product::<i64>() as usize;
    let [from, data, mean, deviation, scale] = x[..5] else { return vec![] };
    let (mut of_data, mut of_scale, mut of_bias) = (Vec::with_capacity(data.len()), vec![0.0; columns], vec![0.0; columns]);
    for (row, (from, data)) in from.chunks(columns).zip(data.chunks(columns)).enumerate() {
        let normal: Vec<f64> = data.iter().map(|own| (own - mean[row]) * deviation[row]).collect();
        let scaled: Vec<f64> = from.iter().zip(scale).map(|(own, scale)| own * scale).collect();
        let level = scaled.iter().sum::<f64>() / columns as f64;
        let along = scaled.iter().zip(&normal).map(|(a, b)| a * b).sum::<f64>() / columns as f64;
        of_data.extend(scaled.iter().zip(&normal).map(|(own, normal)| (own - level - normal * along) * deviation[row]));
        for (column, own) in from.iter().enumerate() {
            of_scale[column] += own * normal[column];
            of_bias[column] += own;
        }
    }
    vec![of_data, of_scale, of_bias]
}

/// Sums of rows, the bag of each position, and two lists of zeros.
pub(super) fn bags(x: &[&[f64]], shape: &[i64]) -> Vec<Vec<f64>> {
    let columns = shape[1..].iter().product::<i64>() as usize;
    let (rows, positions, offsets) = (x[0], x[1], x[2]);
    let mut sums = vec![0.0; offsets.len() * columns];
    for (bag, begin) in offsets.iter().enumerate() {
        let end = offsets.get(bag + 1).copied().unwrap_or(positions.len() as f64);
        let inside = positions.iter().enumerate().filter(|(at, _)| (*begin..end).contains(&(*at as f64)));
        for row in inside.filter_map(|(_, said)| super::position(*said, shape[0])) {
            (0..columns).for_each(|column| sums[bag * columns + column] += rows[row * columns + column]);
        }
    }
    let bag = |at: usize| offsets.iter().filter(|begin| **begin <= at as f64).count() as f64 - 1.0;
    let of = (0..positions.len()).map(bag).collect();
    vec![sums, of, vec![0.0; offsets.len()], vec![0.0; offsets.len()]]
}

/// The gradient of rows, of this shape, from that of sums, positions, and the bag of each.
pub(super) fn of_bags(x: &[&[f64]], shape: &[i64]) -> Vec<f64> {
    let columns = shape[1..].iter().product::<i64>() as usize;
    let (from, positions, of) = (x[0], x[1], x[3]);
    let mut made = vec![0.0; shape[0] as usize * columns];
    for (said, bag) in positions.iter().zip(of) {
        let bag = super::position(*bag, (from.len() / columns) as i64);
        if let (Some(row), Some(bag)) = (super::position(*said, shape[0]), bag) {
            (0..columns).for_each(|column| made[row * columns + column] += from[bag * columns + column]);
        }
    }
    made
}
