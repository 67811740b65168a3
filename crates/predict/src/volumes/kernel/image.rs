//! What is known of an image: how its texels lie in rows, blocks and lines.

use warpsight_ir::layout::ImageLayout;

/// What makes a field an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Image {
    /// How its texels lie.
    pub layout: ImageLayout,
    /// Texels of a row, and rows.
    pub extent: [i64; 2],
}

/// Taken where a device's order of texels is not known: lines are blocks as square as they come, as in Morton's order, of which every
/// vendor's tiling is a variation.
pub const ASSUMED: ImageLayout = ImageLayout::MaliInterleaved;

/// Coordinates of texels stay below this.
pub const FARTHEST: f64 = (1_u32 << 30) as f64;

/// Texels from one row to the next; `None` where rows end within a texel.
pub fn row(layout: ImageLayout, width: i64, texel: i64) -> Option<i64> {
    match layout {
        ImageLayout::Linear { pitch_align } => {
            let align = i64::from(pitch_align.max(1));
            let pitch = (width * texel + align - 1) / align * align;
            (pitch % texel == 0).then_some(pitch / texel)
        }
        // Only blocks count.
        _ => Some(width.max(1)),
    }
}

/// Width and height of the block of texels that a line holds, and how many lines a block lies in: more than one where a texel is longer
/// than a line.
pub fn block(layout: ImageLayout, line: i64, texel: i64) -> (i64, i64, u64) {
    // No block of 256 bytes is wider or higher; images as wide as that make all layouts show their blocks.
    const MOST: u32 = 256;
    if line <= texel {
        return (1, 1, (texel / line).unsigned_abs());
    }
    let within = |x, y| layout.address(x, y, texel as u32, MOST) < line.unsigned_abs();
    let run = |within: &dyn Fn(u32) -> bool| (0..MOST).take_while(|&n| within(n)).count() as i64;
    (run(&|x| within(x, 0)), run(&|y| within(0, y)), 1)
}
