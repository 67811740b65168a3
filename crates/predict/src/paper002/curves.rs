//! The fitted curves, as the authors' implementation has them (`data-volumes.md`, section 3). They are later fits of the same curves that paper 002
//! plots for overlaps in y and z and for stores; its outputs, which the tests compare with, are made with these.

/// The part that misses: a · exp(−b · exp(−c · x)).
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize)]
pub struct Gompertz {
    a: f64,
    b: f64,
    c: f64,
}

impl Gompertz {
    /// At this coverage of a cache.
    pub fn misses(self, x: f64) -> f64 {
        self.a * (-self.b * (-self.c * x).exp()).exp()
    }
}

/// Repeated loads of a block in the first level.
pub const L1_CAPACITY: Gompertz = Gompertz { a: 0.66, b: 6.77, c: 1.45 };
/// What the wave shares with the block row, or layer, before it.
pub const BETWEEN_WAVES: Gompertz = Gompertz { a: 1.0, b: 37.1, c: 3.2 };
/// Repeated loads within a wave in the second level.
pub const L2_LOADS: Gompertz = Gompertz { a: 0.2, b: 7.56, c: 0.67 };
/// Repeated stores there.
pub const L2_STORES: Gompertz = Gompertz { a: 0.38, b: 3.79, c: 0.55 };

/// Coverage of the first level by what a block allocates: alloc / √(L1 · 128 KiB).
pub fn l1_coverage(allocated: f64, l1: f64) -> f64 {
    allocated / (l1 * 128.0 * 1024.0).sqrt()
}

/// Coverage of the second level by what a wave allocates: alloc / √(L2 · 4 MiB).
pub fn l2_coverage(allocated: f64, l2: f64) -> f64 {
    allocated / (l2 * 4.0 * 1024.0 * 1024.0).sqrt()
}

/// Coverage of the first level by what blocks load between one block and the next on the same core: 2 · loaded / L1. The reference leaves it
/// out ("optional"); found in the outputs of the implementation, whose misses lie on [`L1_CAPACITY`] at this place to twelve digits.
pub fn between_blocks(loaded: f64, l1: f64) -> f64 {
    2.0 * loaded / l1
}
