//! Walks of dependent loads through places in any order, through buffers and images of one row.

use super::{buffer, count, int, output, word};
use crate::{Amounts, Check, Measurement, Parameters};
use warpsight_ir::{ImageFormat, ImageKind};
use warpsight_run::{DeviceInfo, Init, Job, LaunchSpec, MemoryKind, MemorySpec, Peek, TimingSpec};

/// No walk reaches over more.
pub(crate) const MOST_BYTES: u64 = 1 << 31;

/// Bytes of constants that any device takes (OpenCL and CUDA promise so much).
const CONSTANT_BYTES: u64 = 64 << 10;

/// How places are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Route {
    /// Elements of a buffer.
    Buffer,
    /// Elements of a buffer that a kernel may write to, so that nothing takes it for one that is read alone.
    Data,
    /// Elements of a buffer of constants.
    Constant,
    /// Texels of an image of one row, which lies in a buffer where the device has such images.
    Image(ImageKind),
}

impl Route {
    /// The route that parameters of records call so.
    pub(crate) fn of(word: &str) -> Option<Self> {
        let kinds = [ImageKind::Image1dBuffer, ImageKind::Image1d, ImageKind::Image2d, ImageKind::Image2dFromBuffer];
        [Self::Buffer, Self::Data, Self::Constant].into_iter().chain(kinds.map(Self::Image)).find(|route| route.word() == word)
    }
    /// As parameters of records call it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Buffer => "buffer",
            Self::Data => "data",
            Self::Constant => "constant",
            Self::Image(ImageKind::Image1dBuffer) => "image1d_buffer",
            Self::Image(ImageKind::Image1d) => "image1d",
            Self::Image(ImageKind::Image2d) => "image2d",
            Self::Image(ImageKind::Image2dFromBuffer) => "image2d_from_buffer",
        }
    }
    /// Bytes of an element or texel.
    pub(crate) fn unit(self) -> u32 {
        match self {
            Self::Buffer | Self::Data | Self::Constant => 4,
            Self::Image(_) => 16,
        }
    }
    /// A parameter of so many places, in the text form.
    pub(crate) fn declared(self, name: &str, places: &str) -> String {
        match self {
            Self::Buffer => format!("read buffer {name}: i32[{places}]"),
            Self::Data => format!("read write buffer {name}: i32[{places}]"),
            Self::Constant => format!("read constant buffer {name}: i32[{places}]"),
            Self::Image(ImageKind::Image1dBuffer) => format!("read image1d_buffer {name}: rgba32i[{places}] border none"),
            Self::Image(ImageKind::Image1d) => format!("read image1d {name}: rgba32i[{places}] border clamp"),
            Self::Image(ImageKind::Image2d) => format!("read image {name}: rgba32i[{places}] border clamp"),
            Self::Image(ImageKind::Image2dFromBuffer) => format!("read image2d_from_buffer {name}: rgba32i[{places}] border clamp"),
        }
    }
    /// The number in a place.
    pub(crate) fn read(self, name: &str, at: &str) -> String {
        match self {
            Self::Buffer | Self::Data | Self::Constant => format!("{name}[{at}]"),
            Self::Image(kind) if kind.is_one_dimensional() => format!("{name}@[{at}].[0..1]"),
            Self::Image(_) => format!("{name}@[{at}, 0].[0..1]"),
        }
    }
    /// Memory of so many places.
    pub(crate) fn memory(self, places: u32, init: Init) -> MemorySpec {
        match self {
            Self::Buffer | Self::Data | Self::Constant => buffer(4 * u64::from(places), init),
            Self::Image(kind) => {
                let kind = MemoryKind::Image { kind, format: ImageFormat::Rgba32I, width: places, height: 1 };
                MemorySpec { kind, init, canaries: false }
            }
        }
    }
    /// Bytes that a walk may reach over at most, as the device says.
    pub(crate) fn most_bytes(self, device: &DeviceInfo) -> u64 {
        let limits = &device.limits;
        let texels = match self {
            Self::Buffer | Self::Data => u64::MAX,
            Self::Constant => CONSTANT_BYTES / 4,
            Self::Image(ImageKind::Image1dBuffer) => limits.image_buffer.unwrap_or(0),
            Self::Image(ImageKind::Image1d) => limits.image_1d.unwrap_or(0).into(),
            Self::Image(_) => limits.image_2d.map_or(0, |(width, _)| width.into()),
        };
        // Half of the largest allocation: nobody knows what else lies there.
        let allocation = limits.max_allocation.or(limits.memory).unwrap_or(1 << 28) / 2;
        texels.saturating_mul(self.unit().into()).min(allocation).min(MOST_BYTES)
    }
}

/// A walk from place to place: each holds the number of the next.
#[derive(Clone, Debug)]
pub(crate) struct Walk {
    /// How.
    pub(crate) route: Route,
    /// Elements or texels that are visited, a cycle, none twice. The walk begins with the first.
    pub(crate) cycle: Vec<u32>,
    /// Elements or texels, visited or not.
    pub(crate) extent: u32,
    /// Times around the cycle beyond a first time, which brings what caches hold and is timed alone. The last step is left out: a walk that
    /// comes back to its start looks like one that never left.
    pub(crate) rounds: u32,
    /// Groups that walk at once, each in a part of its own.
    pub(crate) walkers: u32,
    /// Timed passes.
    pub(crate) runs: u32,
    /// Unique within the phase.
    pub(crate) name: String,
    /// What distinguishes it.
    pub(crate) params: Parameters,
}

impl Walk {
    /// Steps of the first time around, and of all.
    fn steps(&self) -> [u32; 2] {
        [1, self.rounds + 1].map(|rounds| (rounds * self.cycle.len() as u32).saturating_sub(1))
    }

    fn contents(&self) -> Init {
        let unit = self.route.unit() as usize;
        let part = self.extent as usize * unit;
        let mut data = vec![0; part * self.walkers as usize];
        for walker in 0..self.walkers {
            let base = walker * self.extent;
            let follow = self.cycle.iter().zip(self.cycle.iter().cycle().skip(1));
            for (&from, &to) in follow {
                let at = (base + from) as usize * unit;
                data[at..at + 4].copy_from_slice(&(base + to).to_le_bytes());
            }
        }
        Init::Data(data)
    }

    fn memory(&self) -> MemorySpec {
        self.route.memory(self.extent * self.walkers, self.contents())
    }

    fn program(&self) -> warpsight_ir::Program {
        let (declared, read) = (self.route.declared("next", "walkers * n"), self.route.read("next", "at"));
        super::program(WALK, &[("declared", declared), ("load", read), ("route", self.route.word().into())])
    }

    /// Takes its time.
    pub(crate) fn measurement(self) -> Measurement {
        let ([once, steps], unit) = (self.steps(), self.route.unit());
        let mut params = self.params.clone();
        params.extend([
            ("route".into(), word(self.route.word())),
            ("steps".into(), int(steps)),
            ("steps_before".into(), int(once)),
            ("cycle".into(), count(self.cycle.len() as u64)),
            ("walkers".into(), int(self.walkers)),
        ]);
        let first = self.cycle.first().copied().unwrap_or(0);
        let sizes = |steps: u32| [self.extent, self.walkers, first, steps].map(i64::from).to_vec();
        let launches = [once, steps].map(|steps| LaunchSpec { program: 0, args: vec![0, 1], sizes: sizes(steps) });
        Measurement {
            name: self.name.clone(),
            params,
            job: Job {
                programs: vec![self.program().into()],
                memory: vec![self.memory(), output(4 * u64::from(self.walkers))],
                launches: launches.to_vec(),
                read: vec![],
                peek: vec![Peek { memory: 1, offsets: (0..self.walkers).map(|walker| 4 * u64::from(walker)).collect(), bytes: 4 }],
                timing: Some(TimingSpec::runs(self.runs)),
            },
            launch: 1,
            amounts: Amounts { bytes: f64::from(steps) * f64::from(unit), steps: steps.into(), ..Amounts::default() },
            check: self.check(),
        }
    }

    fn check(&self) -> Check {
        let (steps, extent, walkers) = (self.steps()[1] as usize, self.extent, self.walkers);
        let last = self.cycle.get(steps % self.cycle.len().max(1)).copied().unwrap_or(0);
        Box::new(move |result| {
            let ends = result.peeked.first().map(|peeked| peeked.0.as_chunks::<4>().0).ok_or("nothing came back")?;
            let ends: Vec<u32> = ends.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
            let expected: Vec<u32> = (0..walkers).map(|walker| walker * extent + last).collect();
            if ends == expected { Ok(()) } else { Err(format!("{steps} steps end at {ends:?}, not at {expected:?}")) }
        })
    }
}

const WALK: &str = "\
program walk_$route {
  size n in 2..=536870912
  size walkers in 1..=65536
  size first in 0..=536870911
  size steps in 1..=2147483647
  $declared
  write buffer end: i32[walkers]
  groups g = walkers
  lanes l = 1
  {
    var at: i32 = g * n + first
    for i in 0..steps unroll 16 {
      at = $load
    }
    end[g] = at
  }
}
";
