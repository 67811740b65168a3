//! Fetches of an image and loads of a buffer in one loop, or either alone.

use super::{COUNTS, Kernel, expect};
use crate::Amounts;
use crate::kernels::{lines, output};
use std::sync::Arc;
use warpsight_ir::{ImageFormat, ImageKind};
use warpsight_run::{Init, MemoryKind, MemorySpec};

/// Reads of each kind in a trip, all under way at once.
const READS: u32 = 4;
/// Places of 16 bytes that each kind reads, over and over: the nearest cache of anything holds them.
const PLACES: u32 = 16;

/// What is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Together {
    pub(crate) groups: u32,
    pub(crate) lanes: u32,
    /// Texels of an image.
    pub(crate) image: bool,
    /// Vectors of four words of a buffer.
    pub(crate) buffer: bool,
}

impl Together {
    pub(crate) fn kernel(self) -> Kernel {
        let Self { groups, lanes, image, buffer } = self;
        let when = |wanted: bool, text: String| if wanted { text } else { String::new() };
        let text = format!(
            "program together_{}_{} {{
               size trips in 0..=8388608
               size groups in 1..=8388608
               read image picture: rgba32f[{side}, {side}]
               read buffer a: f32[{}]
               write buffer end: f32[groups, {lanes}]
               groups g = groups
               lanes l = {lanes}
               {{
                 {}
                 {}
                 for i in 0..trips unroll none {{
                   let y = l + i & {}
                   let at = (l + i & {}) * 4
                   {}
                   {}
                 }}
                 let s = {}
                 end[g, l] = lane(s, 0)
               }}
             }}",
            u8::from(image),
            u8::from(buffer),
            4 * PLACES,
            lines(READS, |j| format!("var p{j}: f32x4 = splat4(0.0)")),
            lines(READS, |j| format!("var q{j}: f32x4 = splat4(0.0)")),
            PLACES.isqrt() - 1,
            PLACES / READS - 1,
            when(image, lines(READS, |j| format!("p{j} = p{j} + picture@[{j}, y]"))),
            when(buffer, lines(READS, |j| format!("q{j} = q{j} + a[at + {} : 4]", j * PLACES))),
            (0..READS).map(|j| format!("(p{j} + q{j})")).collect::<Vec<_>>().join(" + "),
            side = PLACES.isqrt(),
        );
        // Ones, so that any order of reads adds up to their number.
        let ones = Init::Data(1f32.to_le_bytes().repeat(4 * PLACES as usize));
        let side = PLACES.isqrt();
        let picture = MemoryKind::Image { kind: ImageKind::Image2d, format: ImageFormat::Rgba32F, width: side, height: side };
        let threads = u64::from(groups) * u64::from(lanes);
        let kinds = u32::from(image) + u32::from(buffer);
        Kernel {
            name: format!("reads {}{}{groups} x {lanes}", when(image, "image ".into()), when(buffer, "buffer ".into())),
            text,
            sizes: vec![groups.into()],
            memory: vec![
                MemorySpec { kind: picture, init: ones.clone(), canaries: false },
                crate::kernels::buffer(16 * u64::from(PLACES), ones),
                output(4 * threads),
            ],
            shape: [groups, lanes],
            most: COUNTS / u64::from(2 * READS),
            amounts: Amounts { bytes: (threads * u64::from(kinds * READS * 16)) as f64, ..Amounts::default() },
            judge: Arc::new(move |trips, found| expect(found, [(trips * u64::from(kinds * READS)) as f64; 2])),
        }
    }
}
