//! Textures for shaders whose own are not at hand.

use crate::interpret::{BadTexture, Kind, Texture};

/// Sides of the cells of smooth noise, in texels, and how much each counts.
const OCTAVES: [(u32, f32); 4] = [(64, 0.45), (16, 0.3), (4, 0.15), (1, 0.1)];

/// Smooth noise in four octaves, opaque, with all levels; sampled linearly and repeated.
///
/// Neither white noise nor a constant: thresholds, edges and searches in a picture run as long as they do on pictures. Texels are
/// of 8 bits a channel, so that a device keeps them as `R8G8B8A8_UNORM`.
///
/// # Errors
/// [`BadTexture`].
pub fn texture(kind: Kind, size: [u32; 3], layers: u32, seed: u32) -> Result<Texture, BadTexture> {
    let [w, h, d] = size;
    let mut texels = Vec::with_capacity((w * h * d * layers) as usize);
    for layer in 0..layers {
        let seed = mix(seed.wrapping_mul(0x9e37_79b9) ^ layer.wrapping_mul(0x85eb_ca6b));
        let mut sums = vec![[0.0f32; 3]; (w * h * d) as usize];
        for (cell, weight) in OCTAVES {
            octave(&mut sums, size, cell, weight, seed);
        }
        texels.extend(sums.iter().map(|s| {
            let [r, g, b] = *s;
            [r, g, b, 1.0]
        }));
    }
    Ok(Texture::new(kind, size, layers, texels)?.in_bytes().with_levels().in_bytes())
}

/// Adds values at the corners of cells, mixed between them; the texture repeats.
fn octave(sums: &mut [[f32; 3]], [w, h, d]: [u32; 3], cell: u32, weight: f32, seed: u32) {
    let corner = |x: u32, y: u32, z: u32| {
        let wrap = |p: u32, side: u32| p % side.div_ceil(cell);
        let key = (wrap(x, w) << 20) ^ (wrap(y, h) << 10) ^ wrap(z, d) ^ (cell << 25);
        let first = mix(key ^ seed);
        [first, mix(first), mix(mix(first))].map(|r| (r >> 8) as f32 / (1 << 24) as f32)
    };
    let part = |p: u32| (p % cell) as f32 / cell as f32;
    for (row, line) in sums.chunks_mut(w as usize).enumerate() {
        let (y, z) = (row as u32 % h, row as u32 / h);
        let mut left = u32::MAX;
        let mut ends = [[0.0; 3]; 2];
        for (x, sum) in (0..w).zip(line) {
            if x / cell != left {
                left = x / cell;
                ends = [left, left + 1].map(|x| {
                    let flat = |z: u32| lerp(corner(x, y / cell, z), corner(x, y / cell + 1, z), part(y));
                    if d == 1 { flat(0) } else { lerp(flat(z / cell), flat(z / cell + 1), part(z)) }
                });
            }
            let value = lerp(ends[0], ends[1], part(x));
            sum.iter_mut().zip(value).for_each(|(s, v)| *s += weight * v);
        }
    }
}

fn lerp(a: [f32; 3], b: [f32; 3], t: f32) -> [f32; 3] {
    std::array::from_fn(|i| a[i] + (b[i] - a[i]) * t)
}

/// An integer hash (splitmix's finaliser, 32 bits).
fn mix(mut x: u32) -> u32 {
    x ^= x >> 16;
    x = x.wrapping_mul(0x7feb_352d);
    x ^= x >> 15;
    x = x.wrapping_mul(0x846c_a68b);
    x ^ (x >> 16)
}
