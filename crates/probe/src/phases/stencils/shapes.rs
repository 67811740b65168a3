//! Block shapes: which, and in which order.

/// A block, x fastest, and how many neighbouring points each thread computes along y and z (thread folding).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// Threads along x, y, z.
    pub block: [u32; 3],
    /// Points of a thread along x (always 1), y, z.
    pub fold: [u32; 3],
}

impl Shape {
    /// A block without folding.
    pub const fn plain(block: [u32; 3]) -> Self {
        Self { block, fold: [1; 3] }
    }
}

/// The largest extent of a CUDA block along z.
const MOST_ALONG_Z: u32 = 64;

/// All blocks of so many threads, a power of two, whose extents are powers of two; at least `least_x` wide.
pub(super) fn blocks(threads: u32, least_x: u32) -> Vec<[u32; 3]> {
    let powers = || (0..=threads.ilog2()).map(|e| 1 << e);
    powers()
        .filter(|&x| x >= least_x)
        .flat_map(|x| powers().filter(move |y| x * y <= threads).map(move |y| [x, y, threads / (x * y)]))
        .filter(|block| block[2] <= MOST_ALONG_Z)
        .collect()
}

/// Every fourth, then those between: an early end leaves the whole range covered.
pub(super) fn spread<T>(list: Vec<T>) -> Vec<T> {
    let mut ranked: Vec<(usize, T)> = list.into_iter().enumerate().collect();
    ranked.sort_by_key(|(at, _)| at % 4);
    ranked.into_iter().map(|(_, item)| item).collect()
}

/// Blocks folded twice along y, then along z, block by block.
pub(super) fn folded(blocks: Vec<[u32; 3]>) -> Vec<Shape> {
    blocks.into_iter().flat_map(|block| [[1, 2, 1], [1, 1, 2]].map(|fold| Shape { block, fold })).collect()
}

/// Blocks without folding.
pub(super) fn plain(blocks: Vec<[u32; 3]>) -> Vec<Shape> {
    blocks.into_iter().map(Shape::plain).collect()
}

/// Lists one after another, each shape once.
pub(super) fn once(lists: Vec<Vec<Shape>>) -> Vec<Shape> {
    let mut all: Vec<Shape> = vec![];
    for shape in lists.into_iter().flatten() {
        if !all.contains(&shape) {
            all.push(shape);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_complete() {
        // Exponents a + b + c = 10 with c ≤ 6: 66 − 10.
        assert_eq!([1024, 512, 256].map(|threads| blocks(threads, 1).len()), [56, 49, 42]);
        assert!(blocks(1024, 1).iter().all(|b| b.iter().product::<u32>() == 1024));
        assert_eq!(blocks(8, 4), [[4, 1, 2], [4, 2, 1], [8, 1, 1]]);
        let mut again = spread(blocks(256, 1));
        again.sort();
        assert_eq!(again, blocks(256, 1));
    }
}
