//! Warps that read the same or not, and how lanes lie in a group: paper 000, section 3.2.2 and figure 5.

use super::super::ask::{Answer, Asked, Spread, if_possible};
use super::super::kernels::{Kernel, expect};
use super::super::warp::by_ways;
use crate::Amounts;
use crate::kernels::texels::Picture;
use crate::kernels::{lines, output};
use std::sync::Arc;
use warpsight_ir::ImageFormat;
use warpsight_run::Init;

/// Work-items of a warp, where none is known: what warps have at most, mostly.
const LIKELY: u32 = 64;
/// Texels of a row, and rows: more than any texture cache is known to hold.
const IMAGE: (u32, u32) = (1024, 64);
/// Steps of work-items that go different ways.
const STEPS: usize = 16;

/// Fetches along rows, so many under way at once, each followed by an expensive function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reads {
    /// Groups.
    pub(super) groups: u32,
    /// Work-items of a part of a group.
    pub(super) part: u32,
    /// Parts of a group.
    pub(super) parts: u32,
    /// Fetches of a trip, each with registers of its own.
    pub(super) unroll: u32,
    /// Whether all read the same texels, or each part its own.
    pub(super) same: Same,
}

/// Who reads the same texels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Same {
    /// All work-items.
    All,
    /// Those of a part of a group.
    Part,
    /// Those of a group.
    Group,
}

impl Reads {
    /// A trip is `unroll` fetches of every work-item.
    pub(super) fn kernel(self) -> Kernel {
        let Self { groups, part, parts, unroll, same } = self;
        let ((width, height), lanes) = (IMAGE, parts * part);
        let texels = width * height;
        // What reads its own begins far from what others read.
        let (first, word) = match same {
            Same::All => ("0".into(), "all"),
            Same::Part => (format!("(l / {part} + g * 5) * 3072"), "part"),
            Same::Group => ("g * 15360".into(), "group"),
        };
        let fetch = |j: u32| {
            format!(
                "let t{j} = at + {j} & {}\nlet v{j} = picture@[t{j} & {}, t{j} >> {}]\ns{j} = s{j} + v{j} * splat4(exp(v{j}.[0..1] - 1.0))",
                texels - 1,
                width - 1,
                width.trailing_zeros()
            )
        };
        let text = format!(
            "program reads_{word}_{unroll}_{lanes}_{part} {{
               size trips in 0..=8388608
               size groups in 1..=65536
               read image picture: rgba32f[{width}, {height}]
               write buffer end: f32[groups, {lanes}]
               groups g = groups
               lanes l = {lanes}
               {{
                 {}
                 for i in 0..trips unroll none {{
                   let at = i * {unroll} + {first}
                   {}
                 }}
                 let s = {}
                 end[g, l] = lane(s, 0)
               }}
             }}",
            lines(unroll, |j| format!("var s{j}: f32x4 = splat4(0.0)")),
            lines(unroll, fetch),
            (0..unroll).map(|j| format!("s{j}")).collect::<Vec<_>>().join(" + "),
        );
        let picture = Picture { format: ImageFormat::Rgba32F, width, height };
        let ones = (0..4 * texels).flat_map(|_| 1_f32.to_le_bytes()).collect();
        let threads = u64::from(groups) * u64::from(lanes);
        Kernel {
            name: format!("reads {word} {unroll} under way {groups} x {lanes} by {part}"),
            text,
            sizes: vec![groups.into()],
            memory: vec![picture.memory(Init::Data(ones)), output(4 * threads)],
            shape: [groups, lanes],
            most: 1 << 20,
            amounts: Amounts { bytes: (threads * u64::from(unroll) * 16) as f64, ..Amounts::default() },
            // Each texel counts one, with e⁰ of it.
            judge: Arc::new(move |trips, found| {
                let all = (trips * u64::from(unroll)) as f64;
                expect(found, [all, all])
            }),
        }
    }

    /// Seconds of a fetch of every work-item.
    pub(super) fn fetch(self, asked: &Asked) -> Answer<Spread> {
        // A turn through a part of the image that no cache holds.
        let trips = u64::from(TURN / self.unroll);
        Ok(asked.between(&self.kernel(), trips / 4, trips)?.times(1.0 / f64::from(self.unroll)))
    }
}

/// Fetches of a turn.
const TURN: u32 = 2048;

/// Work-items of a group of two dimensions that go different ways by a bit of one of their coordinates.
fn split(extent: (u32, u32), side: &str) -> Kernel {
    let (width, height) = extent;
    let text = format!(
        "program split_{width}x{height} {{
           size trips in 0..=8388608
           read buffer k: f32[2]
           write buffer end: f32[{height}, {width}]
           lanes x = {width}, y = {height}
           {{
             let a = k[0]
             let b = k[1]
             let side = {side}
             var v: f32 = a * 0.0
             for i in 0..trips unroll none {{
               if side == 0 {{
                 {}
               }} else {{
                 {}
               }}
             }}
             end[y, x] = v
           }}
         }}",
        "v = fma(v, a, b)\n".repeat(STEPS),
        "v = fma(v, b, a)\n".repeat(STEPS)
    );
    Kernel {
        name: format!("split {width} x {height} by {side}"),
        text,
        sizes: vec![],
        memory: vec![super::super::kernels::constants(&[1.0, 1.0]), output(4 * u64::from(width * height))],
        shape: [1, width * height],
        most: 1 << 19,
        amounts: Amounts::default(),
        judge: Arc::new(move |trips, found| {
            let all = (trips * STEPS as u64) as f64;
            expect(found, [all, all])
        }),
    }
}

/// Two ways one after the other take so much longer than one at least.
const BOTH: f64 = 1.4;

/// In which order lanes of a warp have coordinates of a group: along x first, along y first, or as a tile of so many along both; `None` where
/// nobody waits for anybody. Those are of one warp that wait for each other where a bit of a coordinate sends them different ways.
fn lanes(asked: &Asked, full: u32) -> Answer<Option<String>> {
    let bits = full.max(1).ilog2().min(10);
    let extent = [1_u32 << bits.div_ceil(2), 1 << (bits / 2)];
    let whole = split((extent[0], extent[1]), "(x + y) / 65536");
    let trips = asked.trips(&whole)?;
    let together = asked.time(&whole, trips)?;
    let mut within = [1_u32; 2];
    for (axis, own) in ["x", "y"].into_iter().zip([0, 1]) {
        for bit in 0..extent[own].ilog2() {
            let sides = split((extent[0], extent[1]), &format!("{axis} / {} % 2", 1 << bit));
            if asked.time(&sides, trips)?.value >= BOTH * together.value {
                within[own] *= 2;
            }
        }
    }
    Ok(match within {
        [1, 1] => None,
        [across, down] if across == extent[0] || down == 1 => Some("x".into()),
        [across, down] if down == extent[1] || across == 1 => Some("y".into()),
        [across, down] => Some(format!("{across} x {down}")),
    })
}

/// Work-items of a warp, as far as lanes that go different ways tell.
pub(super) fn warp(asked: &Asked, full: u32) -> Answer<u32> {
    Ok(if_possible(by_ways(asked, full))?.and_then(|(warp, _)| warp).unwrap_or(LIKELY))
}

/// What is asked for of sharing.
pub(super) struct Shared {
    /// Work-items of a part of a group, all of which read the same: a warp.
    pub(super) part: u32,
    /// Parts of one group, fetches under way, and seconds of a fetch of all of them that read the same.
    pub(super) by_parts: Vec<(u32, u32, Spread)>,
    /// Of parts of one group: those that read their own take so much longer than those that read the same.
    pub(super) in_group: Option<Spread>,
    /// The same of groups.
    pub(super) across: Option<Spread>,
    /// The order of lanes.
    pub(super) lanes: Option<String>,
}

/// Everything about sharing; `unrolls` and `parts` are those of figure 5.
pub(super) fn shared(asked: &Asked, full: u32, unrolls: &[u32], parts: &[u32]) -> Answer<Shared> {
    let part = warp(asked, full)?;
    let lanes = if_possible(lanes(asked, full))?.flatten();
    let mut by_parts = vec![];
    let all = |groups, parts, unroll, same| Reads { groups, part, parts, unroll, same }.fetch(asked);
    let fit = || parts.iter().copied().filter(|parts| parts * part <= full);
    for &unroll in unrolls {
        for parts in fit() {
            if let Some(time) = if_possible(all(1, parts, unroll, Same::All))? {
                by_parts.push((unroll, parts, time));
            }
        }
    }
    let longer = |own: Option<Spread>, same: Option<Spread>| own.zip(same).map(|(own, same)| own.over(same));
    let several = fit().filter(|parts| *parts <= 4).max().unwrap_or(1);
    let in_group = longer(if_possible(all(1, several, 1, Same::Part))?, if_possible(all(1, several, 1, Same::All))?);
    let across = longer(if_possible(all(4, 1, 1, Same::Group))?, if_possible(all(4, 1, 1, Same::All))?);
    Ok(Shared { part, by_parts, in_group: in_group.filter(|_| several > 1), across, lanes })
}
