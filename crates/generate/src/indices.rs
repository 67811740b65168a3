//! Indices of shapes, row by row.

use std::ops::Range;

/// Every index of a shape in row-major order, with its number.
pub fn for_each_index(shape: &[i64], f: impl FnMut(usize, &[i64])) {
    for_indices(shape, 0..shape.iter().product::<i64>() as usize, f);
}

/// The same of those with these numbers.
pub fn for_indices(shape: &[i64], numbers: Range<usize>, mut f: impl FnMut(usize, &[i64])) {
    let mut index = vec![0; shape.len()];
    let mut rest = numbers.start as i64;
    for (own, &extent) in index.iter_mut().zip(shape).rev() {
        *own = rest % extent.max(1);
        rest /= extent.max(1);
    }
    for flat in numbers {
        f(flat, &index);
        for d in (0..shape.len()).rev() {
            index[d] += 1;
            if index[d] < shape[d] {
                break;
            }
            index[d] = 0;
        }
    }
}
