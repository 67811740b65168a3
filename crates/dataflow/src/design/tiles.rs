//! How a stage on matrix units is cut into tiles, and what shared memory that takes.

use crate::platform::Platform;
use crate::view::Gemm;
use warpsight_ir::Bytes;

/// Rows of a tile of matrix units, and columns where an operand is not held; of products that sum over rows, rows of the output.
pub const TILE: u64 = 128;
/// Columns of the output of a product that sums over rows: 128 × 256 sums of 4 bytes are half of a register file of 256 KB.
pub const SUMS: u64 = 256;
/// Elements along k that are staged at once, and how many such slabs are on their way.
const SLAB: f64 = 32.0;
const SLABS: f64 = 3.0;
/// Matrix units take rows and columns in multiples of these.
const GRANULE: (u64, u64) = (16, 8);

/// A product cut into tiles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tile {
    /// Work-groups that carry out a token together.
    pub parts: u32,
    /// Firings that a token takes.
    pub pieces: u64,
    /// Whether each part keeps its share of the right operand in shared memory.
    pub held: bool,
    /// Shared memory of a work-group.
    pub shared: Bytes,
    /// What a firing of one part needs of a token of the left and right operand.
    pub shares: (f64, f64),
    /// Operations carried out for one that is asked for.
    pub padding: f64,
}

/// A product whose output rows come with the tokens. Its right operand is held where at most so many work-groups hold it (paper
/// 003, figure 2a: the hidden dimension split spatially).
pub fn streaming(gemm: &Gemm, rows: u64, element: u64, most: u32, platform: &Platform) -> Tile {
    let slab = |extent: u64| Bytes(SLABS * SLAB * element as f64 * extent.min(TILE) as f64);
    let operand = Bytes((gemm.k * gemm.n * element) as f64);
    let room = platform.tensor_shared - slab(rows);
    let padded = |parts: u64| {
        let columns = gemm.n.div_ceil(parts).next_multiple_of(GRANULE.1) * parts;
        let rows_padded = rows.next_multiple_of(GRANULE.0);
        columns as f64 / gemm.n as f64 * rows_padded as f64 / rows as f64
    };
    let parts = (operand / room.max(Bytes(1.0))).ceil().max(1.0);
    if parts <= f64::from(most) && parts <= gemm.n.div_ceil(GRANULE.1) as f64 {
        let shared = slab(rows) + operand / parts;
        return Tile { parts: parts as u32, pieces: 1, held: true, shared, shares: (1.0, 1.0), padding: padded(parts as u64) };
    }
    let pieces = gemm.n.div_ceil(TILE);
    Tile { parts: 1, pieces, held: false, shared: slab(rows) + slab(gemm.n), shares: (1.0, 1.0), padding: padded(pieces) }
}

/// A product that sums over the rows that come with the tokens: its output stays in registers until the last one, each tile in a
/// work-group of its own.
pub fn summing(gemm: &Gemm, element: u64) -> Tile {
    let (down, across) = (gemm.m.div_ceil(TILE), gemm.n.div_ceil(SUMS));
    let (rows, columns) = (gemm.m.div_ceil(down).next_multiple_of(GRANULE.0), gemm.n.div_ceil(across).next_multiple_of(GRANULE.1));
    Tile {
        parts: u32::try_from(down * across).unwrap_or(u32::MAX),
        pieces: 1,
        held: false,
        shared: Bytes(SLABS * SLAB * element as f64 * (rows + columns) as f64),
        shares: (1.0 / down as f64, 1.0 / across as f64),
        padding: (rows * down * columns * across) as f64 / (gemm.m * gemm.n) as f64,
    }
}

/// A batch of products: a firing a token.
pub fn batched(element: u64) -> Tile {
    let shared = Bytes(SLABS * SLAB * element as f64 * 2.0 * TILE as f64);
    Tile { parts: 1, pieces: 1, held: false, shared, shares: (1.0, 1.0), padding: 1.0 }
}
