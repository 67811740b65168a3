//! What the work-items of a group keep in local memory together, and how their lanes are numbered.

use crate::layout::Layout;

/// A tensor that is copied, and where to.
#[derive(Clone, Debug)]
pub struct Staged {
    /// Position in [`templates`](crate::nest::Nest::templates) of the load that reads the copy.
    pub template: usize,
    /// How the copy lies in local memory: rows, or the texels of an image side by side.
    pub local: Layout,
    /// Elements of one load, a texel of an image, and, where the copy lies alike, one store.
    pub width: i64,
    /// What a work-item loads of it at a time, in 32-bit registers.
    pub words: u32,
    /// Which lanes make which part.
    pub shares: Vec<Share>,
    /// Lanes that have no part.
    pub spare: Vec<LanePart>,
}

/// Lanes along an axis as a digit of their number: `lane / below % size`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LanePart {
    /// The axis: a parallel one, or that of a reduction that lanes share.
    pub axis: usize,
    /// Lanes of the faster digits.
    pub below: u32,
    /// How many there are of this one.
    pub size: u32,
}

/// A digit of lanes that moves a position.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    /// The dimension.
    pub dim: usize,
    /// The digit.
    pub part: LanePart,
    /// Loads from one position to the next.
    pub factor: i64,
}
