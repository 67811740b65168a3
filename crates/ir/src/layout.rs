//! How the texels of an image lie in memory.
//!
//! Source of the formulas: the swizzles that open drivers implement, as collected in the project's reference text on mobile GPUs. In all of
//! them a column and a row contribute separately: `address(x, y) = (column(x) ^ row(y)) + base(y)`.

use crate::program::ImageKind;
use serde::{Deserialize, Serialize};

/// Bytes that rows of linear images begin at multiples of, where a device says nothing of them: assumed.
const LINEAR_PITCH: u32 = 64;

/// The layouts that are known. Texels have 1, 2, 4, 8 or 16 bytes; nothing is said of other sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImageLayout {
    /// Row by row.
    Linear {
        /// The bytes of a row are rounded up to a multiple of this.
        pitch_align: u32,
    },
    /// Adreno 6xx and 7xx without compression: 256-byte blocks in macrotiles of 4 × 4 blocks, scattered over memory channels.
    AdrenoTiled {
        /// Memory channels of a macrotile, 4 or 8.
        channels: u32,
        /// Highest bit of an address that selects a bank, 13 to 31.
        highest_bank_bit: u32,
    },
    /// Mali's u-interleaved order: tiles of 16 × 16 texels.
    MaliInterleaved,
    /// NVIDIA's block-linear order: groups of bytes (GOBs) of 64 bytes × 8 rows, stacked in blocks.
    NvidiaBlockLinear {
        /// A block is a column of 2 to this power GOBs; at most 5.
        gobs_log2: u32,
    },
}

impl ImageLayout {
    /// How an image of a kind lies on a device whose two-dimensional ones lie like this: all others row by row, their rows padded as there.
    pub fn of(self, kind: ImageKind) -> Self {
        match self {
            own if !kind.is_linear() => own,
            own @ Self::Linear { .. } => own,
            _ => Self::Linear { pitch_align: LINEAR_PITCH },
        }
    }

    /// The offset in bytes of texel (x, y) of an image `width` texels wide. For many texels of one image use [`ImageLayout::mapper`].
    pub fn address(&self, x: u32, y: u32, texel_bytes: u32, width: u32) -> u64 {
        let row = self.row(y, texel_bytes, self.pitch(width, texel_bytes));
        (self.column(x, texel_bytes) ^ row.bits) + row.base
    }

    /// The addresses of one image, tabulated.
    pub fn mapper(&self, width: u32, height: u32, texel_bytes: u32) -> Mapper {
        let pitch = self.pitch(width, texel_bytes);
        Mapper {
            columns: (0..width).map(|x| self.column(x, texel_bytes)).collect(),
            rows: (0..height).map(|y| self.row(y, texel_bytes, pitch)).collect(),
            bytes: pitch * u64::from(height).next_multiple_of(self.row_align(texel_bytes)),
        }
    }

    /// Bytes of one row of texels, padding included.
    fn pitch(&self, width: u32, texel_bytes: u32) -> u64 {
        let texel = u64::from(texel_bytes);
        let align = match self {
            Self::Linear { pitch_align } => u64::from((*pitch_align).max(1)),
            Self::AdrenoTiled { .. } if texel_bytes == 1 => 128,
            Self::AdrenoTiled { .. } if texel_bytes == 2 => 256,
            Self::AdrenoTiled { .. } => 64 * texel,
            Self::MaliInterleaved => 16 * texel,
            Self::NvidiaBlockLinear { .. } => 64,
        };
        (u64::from(width) * texel).next_multiple_of(align)
    }

    /// Rows are padded to a multiple of this.
    fn row_align(&self, texel_bytes: u32) -> u64 {
        match self {
            Self::Linear { .. } => 1,
            Self::AdrenoTiled { .. } => 4 << adreno_block(texel_bytes).1,
            Self::MaliInterleaved => 16,
            Self::NvidiaBlockLinear { gobs_log2 } => 8 << gobs_log2,
        }
    }

    /// What the column contributes.
    fn column(&self, x: u32, texel_bytes: u32) -> u64 {
        let (x, texel) = (u64::from(x), u64::from(texel_bytes));
        match self {
            Self::Linear { .. } => x * texel,
            Self::AdrenoTiled { channels, .. } => {
                let block = x >> adreno_block(texel_bytes).0;
                let spread = if *channels == 8 { 6 } else { 2 };
                let scattered = if texel_bytes < 16 { block & spread } else { 0 };
                let inside = adreno_inside_column(x & ((1 << adreno_block(texel_bytes).0) - 1));
                ((((block & 1) * 7) ^ scattered ^ ((block >> 1) << 3)) << 8) | (inside * texel)
            }
            Self::MaliInterleaved => ((x >> 4) * 256 + every_second_bit(x & 15)) * texel,
            Self::NvidiaBlockLinear { gobs_log2 } => {
                // The byte's bits in its GOB are x0 x1 x2 x3 y0 x4 y1 y2 x5.
                let byte = x * texel;
                let inside = (byte & 15) | ((byte & 16) << 1) | ((byte & 32) << 3);
                ((byte >> 6) << (9 + gobs_log2)) | inside
            }
        }
    }

    /// What the row contributes; `pitch` in bytes.
    fn row(&self, y: u32, texel_bytes: u32, pitch: u64) -> Row {
        let (y, texel) = (u64::from(y), u64::from(texel_bytes));
        match self {
            Self::Linear { .. } => Row { bits: 0, base: y * pitch },
            Self::AdrenoTiled { channels, highest_bank_bit } => {
                let (w, h) = adreno_block(texel_bytes);
                let (block, macrotiles) = (y >> h, pitch / ((4 * texel) << w));
                let far = if *channels == 8 && texel_bytes < 16 { block & 4 } else { 0 };
                let near = ((block & 1) * 6) ^ (if block & 2 != 0 { 3 } else { 0 });
                // A bank bit flips only where a row of macrotiles is a multiple of what it flips within.
                let exponent = highest_bank_bit.saturating_sub(if texel_bytes == 1 { 11 } else { 12 });
                let divisible = |by: u32| u64::from(macrotiles.trailing_zeros() >= by);
                let bank = divisible(exponent) | (divisible(exponent + 1) << 1);
                let flipped = ((block >> 2) & bank) << highest_bank_bit.saturating_sub(1);
                let inside = adreno_inside_row(y & ((1 << h) - 1), texel_bytes);
                Row { bits: ((near ^ far) << 8) ^ flipped | (inside * texel), base: (block >> 2) * macrotiles * 4096 }
            }
            Self::MaliInterleaved => Row { bits: every_second_bit(y & 15) * 3 * texel, base: (y >> 4) * pitch * 16 },
            Self::NvidiaBlockLinear { gobs_log2 } => {
                let inside = ((y & 1) << 4) | ((y & 6) << 5);
                let gob = (y >> 3) & ((1 << gobs_log2) - 1);
                Row { bits: (gob << 9) | inside, base: (y >> (3 + gobs_log2)) * pitch * (8 << gobs_log2) }
            }
        }
    }
}

/// The addresses of one image.
#[derive(Clone, Debug)]
pub struct Mapper {
    columns: Box<[u64]>,
    rows: Box<[Row]>,
    bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    bits: u64,
    base: u64,
}

impl Mapper {
    /// The offset in bytes of texel (x, y), which must lie inside the image: panics otherwise.
    pub fn address(&self, x: u32, y: u32) -> u64 {
        let row = self.rows[y as usize];
        (self.columns[x as usize] ^ row.bits) + row.base
    }
    /// Bytes the whole image occupies, padding included.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// Width and height of a 256-byte block in texels, as powers of two.
fn adreno_block(texel_bytes: u32) -> (u32, u32) {
    match texel_bytes {
        1 => (5, 3),
        2 => (5, 2),
        4 => (4, 2),
        8 => (3, 2),
        _ => (2, 2),
    }
}

/// The bits of a texel's number in its block are x0 y0 x1 y1 x2 x3 x4 y2; those of a column …
fn adreno_inside_column(x: u64) -> u64 {
    (x & 1) | ((x & 2) << 1) | ((x & 28) << 2)
}

/// … and those of a row. Only blocks of one-byte texels have a y2.
fn adreno_inside_row(y: u64, texel_bytes: u32) -> u64 {
    let y2 = if texel_bytes == 1 { (y & 4) << 5 } else { 0 };
    ((y & 1) << 1) | ((y & 2) << 2) | y2
}

/// Bit k moves to bit 2k, for four bits.
fn every_second_bit(v: u64) -> u64 {
    (v & 1) | ((v & 2) << 1) | ((v & 4) << 2) | ((v & 8) << 3)
}
