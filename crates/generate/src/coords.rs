//! From a tensor's index to the coordinates of its argument.

use crate::expr::{AxisId, Index};
use crate::placement::Placement;
use smallvec::SmallVec;

/// One coordinate: `Σ coefficient·block(axis) + constant`, where block(axis) numbers the tiles of an axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Coord {
    /// (axis, coefficient), sorted by axis, no coefficient 0.
    pub terms: SmallVec<[(AxisId, i64); 6]>,
    /// The constant part.
    pub constant: i64,
}

impl Coord {
    /// A form whose axes advance by `scale` elements a block; axes without a variable here (`None`) are part of the constant.
    pub fn of(form: &Index, constant: i64, scale: impl Fn(AxisId) -> Option<i64>) -> Self {
        Self { terms: form.terms.iter().filter_map(|&(a, c)| scale(a).map(|s| (a, c * s))).collect(), constant }
    }
    fn add(&mut self, other: &Self, factor: i64) {
        for &(a, c) in &other.terms {
            match self.terms.binary_search_by_key(&a, |t| t.0) {
                Ok(i) => {
                    self.terms[i].1 += c * factor;
                    if self.terms[i].1 == 0 {
                        self.terms.remove(i);
                    }
                }
                Err(i) => self.terms.insert(i, (a, c * factor)),
            }
        }
        self.constant += other.constant * factor;
    }
    fn quarter(mut self) -> Self {
        // The nest made sure that the variable part is a multiple of 4.
        self.terms.iter_mut().for_each(|t| t.1 /= 4);
        self.constant = self.constant.div_euclid(4);
        self
    }
}

/// The coordinates of an element: one per dimension in memory order for a buffer, (x, y) for an image.
pub fn coords(placement: &Placement, index: &[Index], offsets: &[i64], scale: impl Fn(AxisId) -> Option<i64>) -> SmallVec<[Coord; 4]> {
    let form = |d: usize| Coord::of(&index[d], offsets[d], &scale);
    match placement {
        Placement::Buffer { order, .. } => order.iter().map(|&d| form(d)).collect(),
        Placement::Image { pack, columns, rows, extents } => {
            let linear = |dims: &[usize]| {
                let mut sum = Coord::default();
                let mut stride = 1;
                for &d in dims.iter().rev() {
                    let (one, extent) = if d == *pack { (form(d).quarter(), (extents[d] + 3) / 4) } else { (form(d), extents[d]) };
                    sum.add(&one, stride);
                    stride *= extent;
                }
                sum
            };
            [linear(columns), linear(rows)].into_iter().collect()
        }
    }
}

/// The constant parts of [`coords`]; an offset in the packed dimension of an image is a multiple of 4.
pub fn constants(placement: &Placement, offsets: &[i64]) -> SmallVec<[i64; 4]> {
    match placement {
        Placement::Buffer { order, .. } => order.iter().map(|&d| offsets[d]).collect(),
        Placement::Image { pack, columns, rows, extents } => {
            let linear = |dims: &[usize]| {
                dims.iter().fold(0, |at, &d| {
                    if d == *pack { at * ((extents[d] + 3) / 4) + offsets[d].div_euclid(4) } else { at * extents[d] + offsets[d] }
                })
            };
            [linear(columns), linear(rows)].into_iter().collect()
        }
    }
}
