//! From a tensor's dimensions to the coordinates of its argument.

use crate::expr::AxisId;
use crate::placement::Placement;
use smallvec::SmallVec;
use warpsight_ir::Affine;

/// A position in terms of the numbers of blocks: of an axis, its variable counts work-items' tiles, or trips of its loop.
pub type Coord = Affine<AxisId>;

/// A position in each dimension of a tensor, or each coordinate of an argument.
pub type Coords = SmallVec<[Coord; 4]>;

/// The coordinates of an element, given its dimensions': one per dimension in memory order for a buffer, (x, y) for an image. `None` where
/// one exceeds its numbers.
pub fn coords(placement: &Placement, dims: &[Coord]) -> Option<Coords> {
    match placement {
        Placement::Buffer { order, .. } => Some(order.iter().map(|&d| dims[d].clone()).collect()),
        Placement::Image { pack, columns, rows, extents } => {
            let linear = |list: &[usize]| {
                let (mut sum, mut stride) = (Coord::default(), 1);
                for &d in list.iter().rev() {
                    if d == *pack {
                        // The nest made sure that the variable part is a multiple of 4.
                        sum.add(&dims[d].divide(4).0, stride)?;
                        stride = ((extents[d] + 3) / 4).checked_mul(stride)?;
                    } else {
                        sum.add(&dims[d], stride)?;
                        stride = extents[d].checked_mul(stride)?;
                    }
                }
                Some(sum)
            };
            [columns, rows].into_iter().map(|list| linear(list)).collect()
        }
    }
}
