//! Image layouts against their definition, written out bit by bit, and against known counts of chunks.

use std::collections::HashSet;
use warpsight_ir::layout::ImageLayout;

const ADRENO4: ImageLayout = ImageLayout::AdrenoTiled { channels: 4, highest_bank_bit: 15 };
const ADRENO8: ImageLayout = ImageLayout::AdrenoTiled { channels: 8, highest_bank_bit: 16 };
const LAYOUTS: [ImageLayout; 7] = [
    ImageLayout::Linear { pitch_align: 64 },
    ImageLayout::Linear { pitch_align: 1 },
    ADRENO4,
    ADRENO8,
    ImageLayout::MaliInterleaved,
    ImageLayout::NvidiaBlockLinear { gobs_log2: 0 },
    ImageLayout::NvidiaBlockLinear { gobs_log2: 4 },
];

#[test]
fn only_images_of_two_dimensions_are_tiled() {
    use warpsight_ir::ImageKind::{Image1d, Image1dBuffer, Image2d, Image2dFromBuffer};
    for layout in LAYOUTS {
        assert_eq!(layout.of(Image2d), layout);
        for kind in [Image1d, Image1dBuffer, Image2dFromBuffer] {
            // Rows of 5 texels of 16 bytes, padded.
            let pitch = if let ImageLayout::Linear { pitch_align: 1 } = layout { 80 } else { 128 };
            assert_eq!(layout.of(kind).address(3, 2, 16, 5), 2 * pitch + 3 * 16, "{kind:?} where images lie {layout:?}");
        }
    }
}

#[test]
fn no_two_texels_share_bytes() {
    // The wide one has enough macrotiles in a row for both bank bits.
    for (width, height) in [(37, 29), (64, 64), (1, 70), (130, 5), (4096, 70)] {
        for texel_bytes in [1, 2, 4, 8, 16] {
            for layout in LAYOUTS {
                let mapper = layout.mapper(width, height, texel_bytes);
                let texels = u64::from(width) * u64::from(height);
                let mut seen = vec![false; (mapper.bytes() / u64::from(texel_bytes)) as usize];
                for (x, y) in (0..height).flat_map(|y| (0..width).map(move |x| (x, y))) {
                    let address = mapper.address(x, y);
                    assert_eq!(address % u64::from(texel_bytes), 0);
                    let slot = &mut seen[(address / u64::from(texel_bytes)) as usize];
                    assert!(!*slot, "{layout:?} {width}×{height}×{texel_bytes}: ({x}, {y}) is not alone at {address}");
                    *slot = true;
                }
                assert_eq!(seen.iter().filter(|s| **s).count() as u64, texels);
            }
        }
    }
}

#[test]
fn a_mapper_gives_the_layouts_addresses() {
    let mut rng = fastrand::Rng::with_seed(3);
    for layout in LAYOUTS {
        for _ in 0..200 {
            let (width, height, texel_bytes) = (rng.u32(1..9000), rng.u32(1..500), 1 << rng.u32(0..5));
            let (x, y) = (rng.u32(..width), rng.u32(..height));
            assert_eq!(layout.mapper(width, height, texel_bytes).address(x, y), layout.address(x, y, texel_bytes, width));
        }
    }
}

/// Adreno's formula as the reference states it.
fn adreno(channels: u64, hbb: u32, x: u64, y: u64, cpp: u64, width: u64) -> u64 {
    let (w, h) = [(32, 8), (32, 4), (16, 4), (8, 4), (4, 4)][cpp.ilog2() as usize];
    let align = [128, 256, 256, 512, 1024][cpp.ilog2() as usize];
    let pitch = (width * cpp).div_ceil(align) * align;
    let (bx, by) = (x / w, y / h);
    let bit = |v: u64, i: u32| (v >> i) & 1;
    let order: [(u64, u64); 8] = [(x % w, 0), (y % h, 0), (x % w, 1), (y % h, 1), (x % w, 2), (x % w, 3), (x % w, 4), (y % h, 2)];
    // Bits that the block does not have are zero and stand above those it has.
    let pixel: u64 = order.iter().enumerate().map(|(i, &(v, b))| bit(v, b as u32) << i).sum();
    let m = if channels == 8 { 6 } else { 2 };
    let mut xs = (bx >> 1) << 3;
    if bx % 2 == 1 {
        xs ^= 7;
    }
    if cpp < 16 {
        xs ^= bx & m;
    }
    let mut ys = 0;
    if by % 2 == 1 {
        ys ^= 6;
    }
    if by & 2 != 0 {
        ys ^= 3;
    }
    if channels == 8 && cpp < 16 {
        ys ^= by & 4;
    }
    let mts = pitch / (4 * w * cpp);
    let more = u32::from(cpp == 1);
    let multiple = |exponent: u32| u64::from(mts.is_multiple_of(1 << (exponent + more)));
    let bank = multiple(hbb - 12) + 2 * multiple(hbb - 11);
    (((xs ^ ys) << 8) ^ (((by >> 2) & bank) << (hbb - 1))) + (by >> 2) * mts * 4096 + pixel * cpp
}

#[test]
fn adreno_follows_its_formula() {
    let mut rng = fastrand::Rng::with_seed(4);
    for _ in 0..20_000 {
        // Powers of two reach the bank bits.
        let width = if rng.bool() { 1 << rng.u32(0..15) } else { rng.u32(1..16384) };
        let (x, y, cpp) = (rng.u32(..width), rng.u32(..4096), 1 << rng.u32(0..5));
        for (layout, channels, hbb) in [(ADRENO4, 4, 15), (ADRENO8, 8, 16)] {
            let expected = adreno(channels, hbb, x.into(), y.into(), u64::from(cpp), width.into());
            assert_eq!(layout.address(x, y, cpp, width), expected, "({x}, {y}) of {width} texels of {cpp} B in {layout:?}");
        }
    }
}

#[test]
fn single_addresses() {
    // Three rows of 20 · 4 bytes, padded to 128.
    assert_eq!(ImageLayout::Linear { pitch_align: 64 }.address(5, 3, 4, 20), 3 * 128 + 5 * 4);
    // Tile (1, 1) of two in a row; in it x = 0101 and y = 0011: the pairs (y, x^y) of bits 3 to 0 are 00 01 11 10.
    let index = 0b00_01_11_10;
    assert_eq!(ImageLayout::MaliInterleaved.address(16 + 5, 16 + 3, 8, 32), ((2 + 1) * 256 + index) * 8);
    // NVIDIA: byte 21 · 4 = 84 = 64 + 16 + 4 of row 5 = 101: GOB 1, x4 → bit 5, y0 → bit 4, y2 → bit 7, x2 → bit 2.
    assert_eq!(ImageLayout::NvidiaBlockLinear { gobs_log2: 0 }.address(21, 5, 4, 64), 512 + 32 + 16 + 128 + 4);
}

#[test]
fn distinct_chunks_of_64_lanes() {
    // RGBA16F, a row of 1024 texels, lanes from (256, 64) on: distinct 32 B, 256 B and 4 KiB chunks.
    let chunks = |layout: ImageLayout, columns: u32, rows: u32| {
        let mapper = layout.mapper(1024, 256, 8);
        [32, 256, 4096].map(|size| {
            let lanes = (0..rows).flat_map(|y| (0..columns).map(move |x| (256 + x, 64 + y)));
            lanes.map(|(x, y)| mapper.address(x, y) / size).collect::<HashSet<_>>().len()
        })
    };
    let nvidia = ImageLayout::NvidiaBlockLinear { gobs_log2: 4 };
    for (layout, row, square, column) in [
        (ImageLayout::Linear { pitch_align: 64 }, [16, 2, 1], [16, 8, 8], [64, 64, 64]),
        (ADRENO4, [32, 8, 2], [16, 2, 1], [32, 16, 4]),
        (ADRENO8, [32, 8, 2], [16, 2, 1], [32, 16, 4]),
        (ImageLayout::MaliInterleaved, [32, 8, 2], [16, 2, 1], [32, 16, 4]),
        (nvidia, [32, 16, 8], [16, 2, 1], [32, 8, 1]),
    ] {
        assert_eq!([chunks(layout, 64, 1), chunks(layout, 8, 8), chunks(layout, 1, 64)], [row, square, column], "{layout:?}");
    }
    // A 32-byte line holds 2 × 1 RGBA32F or 2 × 2 RGBA16F texels.
    let line = |x, y, cpp| ADRENO4.address(x, y, cpp, 1024) / 32;
    assert!(line(0, 0, 16) == line(1, 0, 16) && line(0, 0, 16) != line(0, 1, 16));
    assert!([(1, 0), (0, 1), (1, 1)].iter().all(|&(x, y)| line(x, y, 8) == line(0, 0, 8)) && line(2, 0, 8) != line(0, 0, 8));
}
