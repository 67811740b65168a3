//! Images of texels whose values the host knows, and chases through coordinates that texels hold.

use super::{count, int, word};
use crate::{Amounts, Check, Measurement, Parameter, Parameters};
use warpsight_ir::{ImageFormat, ImageKind, Scalar};
use warpsight_run::{CacheState, Init, Job, LaunchSpec, MemoryKind, MemorySpec, Peek, Submit, TimingSpec, init};

/// Timed passes.
const RUNS: u32 = 5;

/// An image that is read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Picture {
    pub(crate) format: ImageFormat,
    pub(crate) width: u32,
    pub(crate) height: u32,
}

impl Picture {
    pub(crate) fn texels(self) -> u64 {
        u64::from(self.width) * u64::from(self.height)
    }
    pub(crate) fn bytes(self) -> u64 {
        self.texels() * u64::from(self.format.bytes())
    }
    /// The format's word in the text form.
    pub(crate) fn word(self) -> &'static str {
        match self.format {
            ImageFormat::Rgba32F => "rgba32f",
            ImageFormat::Rgba16F => "rgba16f",
            ImageFormat::Rgba8Unorm => "rgba8unorm",
            ImageFormat::Rgba32I => "rgba32i",
            ImageFormat::Rgba32U => "rgba32u",
        }
    }
    pub(crate) fn memory(self, init: Init) -> MemorySpec {
        let kind = MemoryKind::Image { kind: ImageKind::Image2d, format: self.format, width: self.width, height: self.height };
        MemorySpec { kind, init, canaries: false }
    }
    /// What every measurement says of it.
    pub(crate) fn params(self) -> Parameters {
        Parameters::from([
            ("format".into(), word(self.word())),
            ("image_width".into(), int(self.width)),
            ("image_height".into(), int(self.height)),
            ("image_bytes".into(), count(self.bytes())),
        ])
    }
    /// Random texels.
    pub(crate) fn random(self, seed: u64) -> Init {
        match self.format {
            ImageFormat::Rgba16F => Init::Random { element: Scalar::F16, seed },
            ImageFormat::Rgba8Unorm => Init::Data((0..self.bytes()).map(|i| fraction(seed, i)).collect()),
            _ => Init::Random { element: Scalar::F32, seed },
        }
    }
    /// What a read of component `c` of a texel gives, where [`Self::random`] filled the image.
    pub(crate) fn component(self, seed: u64, x: u64, y: u64, c: u64) -> f64 {
        let index = (y * u64::from(self.width) + x) * 4 + c;
        match self.format {
            ImageFormat::Rgba16F => half::f16::from_f64(init::random(seed, index)).to_f64(),
            ImageFormat::Rgba8Unorm => f64::from(fraction(seed, index)) / 255.0,
            _ => init::random(seed, index),
        }
    }
    /// The largest coordinate that a component holds exactly, plus 1.
    pub(crate) fn reach(self) -> u32 {
        match self.format {
            ImageFormat::Rgba8Unorm => 256,
            ImageFormat::Rgba16F => 2048,
            _ => 16384,
        }
    }
    /// A component that holds a coordinate.
    fn coordinate(self, value: u32) -> Vec<u8> {
        match self.format {
            ImageFormat::Rgba8Unorm => vec![value as u8],
            ImageFormat::Rgba16F => half::f16::from_f64(value.into()).to_le_bytes().to_vec(),
            _ => (value as f32).to_le_bytes().to_vec(),
        }
    }
}

/// A byte of a random image of fractions of 255.
fn fraction(seed: u64, index: u64) -> u8 {
    ((init::random(seed, index) + 1.0) * 127.5) as u8
}

/// A walk from texel to texel: each holds the coordinates of the next.
#[derive(Clone, Debug)]
pub(crate) struct TexelChase {
    pub(crate) picture: Picture,
    /// Where the walk goes, a cycle; no texel twice. It begins with the first.
    pub(crate) path: Vec<(u32, u32)>,
    pub(crate) steps: u32,
    /// Distinguishes it, beside the image.
    pub(crate) name: String,
    pub(crate) params: Vec<(&'static str, Parameter)>,
}

impl TexelChase {
    fn contents(&self) -> Init {
        let mut data = vec![0; self.picture.bytes() as usize];
        let texel_bytes = self.picture.format.bytes() as usize;
        for (i, &(x, y)) in self.path.iter().enumerate() {
            let (next_x, next_y) = self.path[(i + 1) % self.path.len()];
            let at = (y as usize * self.picture.width as usize + x as usize) * texel_bytes;
            let (first, second) = (self.picture.coordinate(next_x), self.picture.coordinate(next_y));
            data[at..at + first.len()].copy_from_slice(&first);
            data[at + first.len()..at + 2 * first.len()].copy_from_slice(&second);
        }
        Init::Data(data)
    }

    /// Takes its time.
    pub(crate) fn measurement(self) -> Measurement {
        let Picture { format, width, height } = self.picture;
        let decode = |component: &str| match format {
            ImageFormat::Rgba8Unorm => format!("i32(t.[{component}] * 255.0 + 0.5)"),
            _ => format!("i32(t.[{component}])"),
        };
        let (x, y) = self.path[0];
        let values = [
            ("name", format!("texel_chase_{}", self.picture.word())),
            ("format", self.picture.word().into()),
            ("next_x", decode("0..1")),
            ("next_y", decode("1..2")),
        ];
        let mut params = self.picture.params();
        params.extend([
            ("kind".into(), word("chase")),
            ("steps".into(), int(self.steps)),
            ("path_texels".into(), count(self.path.len() as u64)),
        ]);
        params.extend(self.params.iter().map(|(name, value)| ((*name).into(), value.clone())));
        let sizes = [width, height, x, y, self.steps];
        Measurement {
            name: format!("chase {} {width} x {height} {}", self.picture.word(), self.name),
            params,
            job: Job {
                programs: vec![super::program(CHASE, &values).into()],
                memory: vec![self.picture.memory(self.contents()), super::output(8)],
                launches: vec![LaunchSpec { program: 0, args: vec![0, 1], sizes: sizes.map(i64::from).to_vec() }],
                read: vec![],
                peek: vec![Peek { memory: 1, offsets: vec![0], bytes: 8 }],
                timing: Some(TimingSpec { runs: RUNS, submit: Submit::Eager, cache: CacheState::Warm }),
            },
            launch: 0,
            amounts: Amounts { bytes: f64::from(self.steps) * f64::from(format.bytes()), steps: self.steps.into(), ..Amounts::default() },
            check: check(self.path, self.steps),
        }
    }
}

fn check(path: Vec<(u32, u32)>, steps: u32) -> Check {
    Box::new(move |result| {
        let end = result.peeked.first().map(|peeked| peeked.0.as_chunks::<4>().0).ok_or("nothing came back")?;
        let end: Vec<u32> = end.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
        let (x, y) = path[steps as usize % path.len()];
        if end == [x, y] { Ok(()) } else { Err(format!("{steps} steps end at {end:?}, not at [{x}, {y}]")) }
    })
}

const CHASE: &str = "\
program $name {
  size w in 1..=65536
  size h in 1..=65536
  size first_x in 0..=65535
  size first_y in 0..=65535
  size steps in 1..=2147483647
  read image picture: $format[w, h] border clamp
  write buffer end: i32[2]
  lanes l = 1
  {
    var x: i32 = first_x
    var y: i32 = first_y
    for i in 0..steps unroll 8 {
      let t = picture@[x, y]
      x = $next_x
      y = $next_y
    }
    end[0] = x
    end[1] = y
  }
}
";
