//! Work-items that go from texel to texel, each where the texel says that it came from.

use crate::kernels::texels::Picture;
use crate::kernels::{buffer, int, lines, output, program};
use crate::{Amounts, Check, Measurement, Parameters};
use warpsight_ir::ImageFormat;
use warpsight_run::{Init, Job, LaunchSpec, MemorySpec, Peek, TimingSpec};

/// Texels that are read before each walk, so that no cache holds what the walk before left.
const SWEPT: ImageFormat = ImageFormat::Rgba32F;
/// Work-items of a group that reads them, and groups.
const SWEEPERS: (u32, u32) = (64, 256);

/// Steps of a loop's body. Walks make whole bodies of them: what a shorter one takes is nothing that a fetch takes.
pub(super) const UNROLLED: u32 = 8;

/// Where a texel is.
pub(super) type Texel = (u32, u32);

/// Paths that work-items follow.
#[derive(Clone, Debug)]
pub(super) struct Chase {
    pub(super) picture: Picture,
    /// A cycle of texels each; no texel is in two of them, nor twice in one.
    pub(super) paths: Vec<Vec<Texel>>,
    /// The path that each work-item of a group follows, from its first texel.
    pub(super) follows: Vec<usize>,
    /// Groups.
    pub(super) groups: u32,
    /// Steps of a walk.
    pub(super) steps: u32,
    pub(super) begins: Begins,
    pub(super) runs: u32,
    pub(super) name: String,
    pub(super) params: Parameters,
}

/// What caches hold when a walk begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begins {
    /// Nothing of it: an image whose sides have so many texels was read in between.
    Cold(u32),
    /// What so many steps of the same paths left, which are timed before.
    Warm(u32),
}

impl Chase {
    /// A texel that holds where the next one is: coordinates in parts that its components hold exactly.
    fn contents(&self) -> Init {
        let texel_bytes = self.picture.format.bytes() as usize;
        let mut data = vec![0; self.picture.bytes() as usize];
        for path in &self.paths {
            for (&(x, y), &(next_x, next_y)) in path.iter().zip(path.iter().cycle().skip(1)) {
                let at = (y as usize * self.picture.width as usize + x as usize) * texel_bytes;
                let texel = &mut data[at..at + texel_bytes];
                match self.picture.format {
                    ImageFormat::Rgba8Unorm => {
                        texel.copy_from_slice(&[next_x as u8, (next_x >> 8) as u8, next_y as u8, (next_y >> 8) as u8]);
                    }
                    ImageFormat::Rgba16F => {
                        // Whole numbers up to 2048 are exact.
                        let half = |value: u32| half::f16::from_f64(value.into()).to_le_bytes();
                        [next_x & 1023, next_x >> 10, next_y & 1023, next_y >> 10]
                            .into_iter()
                            .zip(texel.chunks_mut(2))
                            .for_each(|(part, component)| component.copy_from_slice(&half(part)));
                    }
                    _ => {
                        let single = |value: u32| (value as f32).to_le_bytes();
                        texel[..4].copy_from_slice(&single(next_x));
                        texel[4..8].copy_from_slice(&single(next_y));
                    }
                }
            }
        }
        Init::Data(data)
    }

    fn text(&self) -> String {
        let decoded = |parts: [&str; 2]| match self.picture.format {
            ImageFormat::Rgba8Unorm => {
                format!("i32(t.[{}] * 255.0 + 0.5) + i32(t.[{}] * 255.0 + 0.5) * 256", parts[0], parts[1])
            }
            ImageFormat::Rgba16F => format!("i32(t.[{}]) + i32(t.[{}]) * 1024", parts[0], parts[1]),
            _ => format!("i32(t.[{}])", if parts[0] == "0..1" { "0..1" } else { "1..2" }),
        };
        let (lanes, format) = (self.follows.len(), self.picture.word());
        format!(
            "program texels_{format}_{lanes} {{
               size w in 1..=65536
               size h in 1..=65536
               size groups in 1..=65536
               size steps in 0..=2147483647
               read image picture: {format}[w, h] border clamp
               read buffer first: i32[groups, {}]
               write buffer end: i32[groups, {}]
               groups g = groups
               lanes l = {lanes}
               {{
                 var x: i32 = first[g, l * 2]
                 var y: i32 = first[g, l * 2 + 1]
                 for i in 0..steps unroll {UNROLLED} {{
                   let t = picture@[x, y]
                   x = {}
                   y = {}
                 }}
                 end[g, l * 2] = x
                 end[g, l * 2 + 1] = y
               }}
             }}",
            2 * lanes,
            2 * lanes,
            decoded(["0..1", "1..2"]),
            decoded(["2..3", "3..4"]),
        )
    }

    /// Takes its time.
    pub(super) fn measurement(self) -> Measurement {
        let Picture { width, height, format } = self.picture;
        let items = self.follows.len() as u64 * u64::from(self.groups);
        let starts: Vec<u8> = (0..self.groups)
            .flat_map(|_| &self.follows)
            .filter_map(|&path| self.paths.get(path)?.first())
            .flat_map(|&(x, y)| [x.to_le_bytes(), y.to_le_bytes()])
            .flatten()
            .collect();
        let walk =
            |steps: u32| LaunchSpec { program: 0, args: vec![0, 1, 2], sizes: [width, height, self.groups, steps].map(i64::from).to_vec() };
        let mut programs = vec![program(&self.text(), &[]).into()];
        let mut memory = vec![self.picture.memory(self.contents()), buffer(8 * items, Init::Data(starts)), output(8 * items)];
        let before = match self.begins {
            Begins::Cold(side) => {
                programs.push(program(&sweep(side), &[]).into());
                memory.extend(swept(side));
                LaunchSpec { program: 1, args: vec![3, 4], sizes: vec![] }
            }
            Begins::Warm(steps) => walk(steps),
        };
        let mut params = self.picture.params();
        params.extend([
            ("steps".into(), int(self.steps)),
            ("steps_before".into(), int(if let Begins::Warm(steps) = self.begins { steps } else { 0 })),
            ("lanes".into(), int(self.follows.len() as u32)),
            ("groups".into(), int(self.groups)),
        ]);
        params.extend(self.params.clone());
        let all = f64::from(self.steps) * items as f64;
        let offsets = vec![0, 8 * (items - 1)];
        Measurement {
            name: self.name.clone(),
            params,
            job: Job {
                programs,
                memory,
                launches: vec![before, walk(self.steps)],
                read: vec![],
                peek: vec![Peek { memory: 2, offsets, bytes: 8 }],
                timing: Some(TimingSpec::runs(self.runs)),
            },
            launch: 1,
            amounts: Amounts { bytes: all * f64::from(format.bytes()), steps: self.steps.into(), ..Amounts::default() },
            check: self.check(),
        }
    }

    /// Where the first and the last work-item end.
    fn check(&self) -> Check {
        let end = |follows: Option<&usize>| {
            let path = follows.and_then(|&path| self.paths.get(path))?;
            path.get(self.steps as usize % path.len()).map(|&(x, y)| [x, y])
        };
        let expected: Option<Vec<u32>> =
            end(self.follows.first()).zip(end(self.follows.last())).map(|(first, last)| [first, last].concat());
        let steps = self.steps;
        Box::new(move |result| {
            let ends = result.peeked.first().map(|peeked| peeked.0.as_chunks::<4>().0).ok_or("nothing came back")?;
            let ends: Vec<u32> = ends.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
            match &expected {
                Some(expected) if ends == *expected => Ok(()),
                _ => Err(format!("{steps} steps end at {ends:?}, not at {expected:?}")),
            }
        })
    }
}

/// Reads every texel of another image once.
fn sweep(side: u32) -> String {
    let (lanes, groups) = SWEEPERS;
    let (each, turns) = (4, side * side / (lanes * groups * 4));
    format!(
        "program sweep_{side} {{
           read image other: rgba32f[{side}, {side}] border clamp
           write buffer sum: f32[{groups}, {lanes}]
           groups g = {groups}
           lanes l = {lanes}
           {{
             {}
             for i in 0..{turns} unroll none {{
               let at = (i * {groups} + g) * {} + l
               {}
             }}
             let s = {}
             sum[g, l] = lane(s, 0)
           }}
         }}",
        lines(each, |j| format!("var s{j}: f32x4 = splat4(0.0)")),
        lanes * each,
        lines(each, |j| format!(
            "let t{j} = at + {}\ns{j} = s{j} + other@[t{j} & {}, t{j} >> {}]",
            j * lanes,
            side - 1,
            side.trailing_zeros()
        )),
        (0..each).map(|j| format!("s{j}")).collect::<Vec<_>>().join(" + "),
    )
}

fn swept(side: u32) -> [MemorySpec; 2] {
    let picture = Picture { format: SWEPT, width: side, height: side };
    let (lanes, groups) = SWEEPERS;
    [picture.memory(picture.random(1)), output(4 * u64::from(lanes * groups))]
}
