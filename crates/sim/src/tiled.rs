//! The tiled image layout of Adreno a6xx: where a texel lies.

use crate::silicon::Silicon;

/// Blocks of 256 bytes, 4 × 4 of them a macrotile of 4 KiB whose blocks are permuted so that neighbours use different channels.
#[derive(Clone, Debug, PartialEq)]
pub struct Tiled {
    /// Bytes of a texel.
    texel: u64,
    /// Bits of a block's width and height in texels.
    block: (u32, u32),
    /// For each x (y) in a block, its bits of the texel's number.
    columns: Vec<u64>,
    rows: Vec<u64>,
    /// Macrotiles of a row.
    macrotiles: u64,
    /// Rows are padded to so many texels.
    align: u32,
    /// Whether a macrotile spans eight channels.
    eight: bool,
    /// Bits of a block row that are mixed in, and by how far they are shifted.
    bank: u64,
    shift: u32,
}

impl Tiled {
    /// The layout of an image so wide, with texels of 1, 2, 4, 8 or 16 bytes.
    pub fn new(texel: u32, width: u32, silicon: &Silicon) -> Self {
        let (w, h) = match texel {
            1 => (5, 3),
            2 => (5, 2),
            4 => (4, 2),
            8 => (3, 2),
            _ => (2, 2),
        };
        // Order of coordinate bits in a texel's number: x0 y0 x1 y1 x2 x3 x4 y2, those that a block has not left out.
        let order = [(true, 0), (false, 0), (true, 1), (false, 1), (true, 2), (true, 3), (true, 4), (false, 2)];
        let kept: Vec<(bool, u32)> = order.into_iter().filter(|&(x, bit)| bit < if x { w } else { h }).collect();
        let spread = |of_x: bool, v: u64| {
            kept.iter().enumerate().filter(|(_, (x, _))| *x == of_x).fold(0, |n, (to, (_, bit))| n | (v >> bit & 1) << to)
        };
        let pitch = match texel {
            1 => 128,
            2 => 256,
            _ => 64 * texel,
        };
        let bytes = (u64::from(width.max(1)) * u64::from(texel)).next_multiple_of(pitch.into());
        let macrotiles = bytes / (4 << w) / u64::from(texel);
        let highest = silicon.texture.layout_highest_bank_bit;
        let extra = u32::from(texel == 1);
        let bit0 = macrotiles.is_multiple_of(1 << (highest - 12 + extra));
        let bit1 = macrotiles.is_multiple_of(1 << (highest - 11 + extra));
        Self {
            texel: texel.into(),
            block: (w, h),
            columns: (0..1 << w).map(|x| spread(true, x)).collect(),
            rows: (0..1 << h).map(|y| spread(false, y)).collect(),
            macrotiles,
            align: if texel == 1 { 32 } else { 16 },
            eight: silicon.texture.layout_channels == 8,
            bank: u64::from(bit0) | u64::from(bit1) << 1,
            shift: highest - 1,
        }
    }

    /// The offset of a texel's first byte.
    #[inline]
    pub fn offset(&self, x: u32, y: u32) -> u64 {
        let (w, h) = self.block;
        let (bx, by) = (u64::from(x >> w), u64::from(y >> h));
        let narrow = self.texel < 16;
        let odd = |v: u64, bits: u64| if v & 1 != 0 { bits } else { 0 };
        let column = odd(bx, 7) ^ if narrow { bx & if self.eight { 6 } else { 2 } } else { 0 } ^ ((bx >> 1) << 3);
        let row = odd(by, 6) ^ odd(by >> 1, 3) ^ if self.eight && narrow { by & 4 } else { 0 };
        let block = ((column ^ row) << 8) ^ (((by >> 2) & self.bank) << self.shift);
        let within = self.columns[(x & ((1 << w) - 1)) as usize] | self.rows[(y & ((1 << h) - 1)) as usize];
        block + (by >> 2) * self.macrotiles * 4096 + within * self.texel
    }

    /// Bytes of an image so high.
    pub fn bytes(&self, height: u32) -> u64 {
        let rows = u64::from(height.max(1).next_multiple_of(self.align)) >> self.block.1;
        // The bank bits may move a block beyond the last row of macrotiles.
        (rows.div_ceil(4) * self.macrotiles * 4096).next_multiple_of(1 << (self.shift + 2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_two_texels_share_a_byte() {
        let mut silicon = Silicon::adreno640();
        for channels in [4, 8] {
            silicon.texture.layout_channels = channels;
            silicon.texture.layout_highest_bank_bit = if channels == 4 { 15 } else { 16 };
            for texel in [1, 2, 4, 8, 16] {
                for (width, height) in [(1, 1), (65, 3), (256, 64), (1024, 40)] {
                    let layout = Tiled::new(texel, width, &silicon);
                    let mut seen = HashSet::new();
                    for y in 0..height {
                        for x in 0..width {
                            let offset = layout.offset(x, y);
                            assert!(offset.is_multiple_of(texel.into()) && offset + u64::from(texel) <= layout.bytes(height));
                            assert!(seen.insert(offset), "{texel} bytes, {width} x {height}: ({x}, {y}) lies where another does");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn chunks_of_64_lanes_are_those_of_the_reference() {
        let layout = Tiled::new(8, 1024, &Silicon::adreno640());
        for ((w, h), expected) in [((64, 1), [32, 8, 2]), ((8, 8), [16, 2, 1]), ((1, 64), [32, 16, 4])] {
            let chunks = [32, 256, 4096].map(|size| {
                let at = |lane: u32| layout.offset(256 + lane % w, 64 + lane / w) / size;
                (0..w * h).map(at).collect::<HashSet<_>>().len()
            });
            assert_eq!(chunks, expected, "{w} x {h}");
        }
    }
}
