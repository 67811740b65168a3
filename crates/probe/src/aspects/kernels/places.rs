//! Chases through an image whose texels hold where the next lies, as coordinates or as one number that has to become coordinates.

use super::{COUNTS, Kernel, expect};
use crate::Amounts;
use crate::kernels::output;
use std::sync::Arc;
use warpsight_ir::{ImageFormat, ImageKind};
use warpsight_run::{Init, MemoryKind, MemorySpec};

/// Sides of the image: the nearest cache holds it, and no shift divides by its width, which is an argument.
const WIDTH: u32 = 5;
const HEIGHT: u32 = 3;
/// Steps of a trip.
pub(crate) const STEPS: u32 = 16;

/// One work-item goes from texel to texel in rows; texels hold coordinates, or else a number of which `%` and `/` by the width make them.
pub(crate) fn chase(by_number: bool) -> Kernel {
    let step = if by_number {
        "let t = picture@[n % w, n / w]\nn = lane(t, 2)\n"
    } else {
        "let t = picture@[x, y]\nx = lane(t, 0)\ny = lane(t, 1)\n"
    };
    let (start, end) = if by_number { ("var n: i32 = 0", "n") } else { ("var x: i32 = 0\nvar y: i32 = 0", "y * w + x") };
    let text = format!(
        "program places_{} {{
           size trips in 0..=8388608
           size w in 1..=64
           read image picture: rgba32i[w, {HEIGHT}] border clamp
           write buffer end: f32[1]
           lanes l = 1
           {{
             {start}
             for i in 0..trips unroll none {{
               {}
             }}
             end[l] = f32({end})
           }}
         }}",
        u8::from(by_number),
        (0..STEPS).map(|_| format!("{{\n{step}}}\n")).collect::<String>(),
    );
    let texels = WIDTH * HEIGHT;
    let texel = |n: u32| {
        let next = (n + 1) % texels;
        [next % WIDTH, next / WIDTH, next, 0].into_iter().flat_map(u32::to_le_bytes)
    };
    let contents = (0..texels).flat_map(texel).collect();
    let kind = MemoryKind::Image { kind: ImageKind::Image2d, format: ImageFormat::Rgba32I, width: WIDTH, height: HEIGHT };
    Kernel {
        name: format!("chase by {}", if by_number { "number" } else { "coordinates" }),
        text,
        sizes: vec![WIDTH.into()],
        memory: vec![MemorySpec { kind, init: Init::Data(contents), canaries: false }, output(4)],
        shape: [1, 1],
        most: COUNTS / u64::from(STEPS),
        amounts: Amounts::default(),
        judge: Arc::new(move |trips, found| expect(found, [(trips * u64::from(STEPS) % u64::from(texels)) as f64; 2])),
    }
}
