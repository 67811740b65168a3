//! Independent loads from local memory and from images, whose sums are whole numbers.

use super::{COUNTS, Kernel, constants, expect};
use crate::Amounts;
use crate::kernels::texels::Picture;
use crate::kernels::{lines, output};
use std::sync::Arc;
use warpsight_ir::ImageFormat;
use warpsight_run::Init;

/// Loads of a trip, all under way at once.
const LOADS: u32 = 8;

/// What place `at` holds.
fn held(at: u64) -> f64 {
    (at % 4) as f64
}

/// The sum of loads from places `start`, `start + step`, …, `start + (loads − 1) · step`, each modulo `places`, a power of two.
fn sum(start: u64, step: u64, loads: u64, places: u64) -> f64 {
    let turn = |from: u64, count: u64| (from..from + count).map(|n| held((start + n * step) % places)).sum::<f64>();
    // After so many loads everything comes again.
    let whole = loads / places;
    turn(0, loads % places) + if whole > 0 { whole as f64 * turn(0, places) } else { 0.0 }
}

/// Loads from local memory by work-items at a distance from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Locals {
    pub(crate) groups: u32,
    pub(crate) lanes: u32,
    /// Words of an access.
    pub(crate) width: u32,
    /// Accesses between those of neighbouring lanes.
    pub(crate) stride: u32,
    /// Accesses that the array holds, a power of two and a multiple of the lanes.
    pub(crate) places: u32,
    /// Words of the array that nobody accesses.
    pub(crate) spare: u32,
}

impl Locals {
    pub(crate) fn kernel(self) -> Kernel {
        let Self { groups, lanes, width, stride, places, spare } = self;
        let (splat, first) = if width == 1 { (String::new(), "") } else { (format!("splat{width}"), ".[0..1]") };
        let ty = if width == 1 { "f32".into() } else { format!("f32x{width}") };
        let mask = places - 1;
        let text = format!(
            "program locals_{width}_{places} {{
               size trips in 0..=8388608
               size groups in 1..=8388608
               size stride in 0..=65536
               read buffer k: f32[1]
               write buffer end: f32[groups, {lanes}]
               local kept: f32[{}]
               groups g = groups
               lanes l = {lanes}
               {{
                 for n in 0..{} unroll none {{
                   let place = n * {lanes} + l
                   kept[place * {width}] = {splat}(f32(place % 4) * k[0])
                 }}
                 barrier group local
                 {}
                 for i in 0..trips unroll none {{
                   let at = l * stride + i * {LOADS}
                   {}
                 }}
                 end[g, l] = ({}){first}
               }}
             }}",
            places * width + spare,
            places / lanes,
            lines(LOADS, |j| format!("var s{j}: {ty} = {splat}(0.0)")),
            lines(LOADS, |j| format!("s{j} = s{j} + kept[(at + {j} & {mask}) * {width} : {width}]")),
            (0..LOADS).map(|j| format!("s{j}")).collect::<Vec<_>>().join(" + "),
        );
        let threads = u64::from(groups) * u64::from(lanes);
        Kernel {
            name: format!(
                "local f32x{width} stride {stride} of {}{places} {groups} x {lanes}",
                if spare > 0 { format!("{spare} + ") } else { String::new() }
            ),
            text: if width == 1 { text.replace(" : 1]", "]") } else { text },
            sizes: vec![groups.into(), stride.into()],
            memory: vec![constants(&[1.0]), output(4 * threads)],
            shape: [groups, lanes],
            most: COUNTS / u64::from(4 * LOADS),
            amounts: Amounts { bytes: (threads * u64::from(LOADS * width * 4)) as f64, ..Amounts::default() },
            judge: Arc::new(move |trips, found| {
                let end = |lane: u32| sum(u64::from(lane * stride), 1, trips * u64::from(LOADS), places.into());
                expect(found, [end(0), end(lanes - 1)])
            }),
        }
    }
}

/// Reads of all texels of an image of four floats, whose sides are powers of two, over and over by all groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fetches {
    pub(crate) groups: u32,
    pub(crate) lanes: u32,
    pub(crate) width: u32,
    pub(crate) height: u32,
}

impl Fetches {
    /// Bytes of the image.
    pub(crate) fn bytes(self) -> u64 {
        16 * u64::from(self.width) * u64::from(self.height)
    }

    pub(crate) fn kernel(self) -> Kernel {
        let Self { groups, lanes, width, height } = self;
        let texels = width * height;
        let fetch = |j: u32| {
            format!(
                "let t{j} = at + {} & {}\ns{j} = s{j} + picture@[t{j} & {}, t{j} >> {}]",
                j * lanes,
                texels - 1,
                width - 1,
                width.trailing_zeros()
            )
        };
        let text = format!(
            "program fetches_{width}x{height} {{
               size trips in 0..=8388608
               size groups in 1..=8388608
               read image picture: rgba32f[{width}, {height}]
               write buffer end: f32[groups, {lanes}]
               groups g = groups
               lanes l = {lanes}
               {{
                 {}
                 for i in 0..trips unroll none {{
                   let at = l + i * {}
                   {}
                 }}
                 let s = {}
                 end[g, l] = lane(s, 0)
               }}
             }}",
            lines(LOADS, |j| format!("var s{j}: f32x4 = splat4(0.0)")),
            LOADS * lanes,
            lines(LOADS, fetch),
            (0..LOADS).map(|j| format!("s{j}")).collect::<Vec<_>>().join(" + "),
        );
        let contents = (0..u64::from(texels)).flat_map(|t| [held(t) as f32; 4]).flat_map(f32::to_le_bytes).collect();
        let picture = Picture { format: ImageFormat::Rgba32F, width, height };
        let threads = u64::from(groups) * u64::from(lanes);
        Kernel {
            name: format!("fetch {width} x {height} {groups} x {lanes}"),
            text,
            sizes: vec![groups.into()],
            memory: vec![picture.memory(Init::Data(contents)), output(4 * threads)],
            shape: [groups, lanes],
            most: COUNTS / u64::from(4 * LOADS),
            amounts: Amounts { bytes: (threads * u64::from(LOADS * 16)) as f64, ..Amounts::default() },
            judge: Arc::new(move |trips, found| {
                let end = |lane: u32| sum(lane.into(), lanes.into(), trips * u64::from(LOADS), texels.into());
                expect(found, [end(0), end(lanes - 1)])
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_turns_are_those_of_single_loads() {
        for (start, step, loads, places) in [(0, 1, 8, 16), (3, 1, 40, 16), (5, 64, 1000, 256), (1, 3, 777, 64)] {
            let each: f64 = (0..loads).map(|n| held((start + n * step) % places)).sum();
            assert_eq!(sum(start, step, loads, places), each);
        }
    }
}
