//! What is drawn, and what comes back: plain values, so that drawing can happen in another process.

use crate::{ClockState, Contents};
use serde::{Deserialize, Serialize};
use warpsight_ir::Seconds;

/// A frame covered by one fragment shader.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Draw {
    /// SPIR-V with the entry point `entry` of a fragment shader.
    pub words: Vec<u32>,
    /// The entry point's name.
    pub entry: String,
    /// Width and height in pixels.
    pub frame: [u32; 2],
    /// Colour attachments: floating point outputs at locations below this. At least one is there in any case.
    pub outputs: u32,
    /// What a pixel of an attachment is.
    pub format: Format,
    /// Whether the vertex stage writes floating point outputs at the locations below [`VARYINGS`]: `(x / width, y / height, 0, 1)`.
    pub varyings: bool,
    /// What the shader reads and writes beside pixels.
    pub bindings: Vec<Binding>,
    /// Textures that `bindings` refer to.
    pub textures: Vec<Texture>,
    /// Push constants.
    #[serde(with = "serde_bytes")]
    pub push: Vec<u8>,
    /// Whether the pixels come back.
    pub read: bool,
    /// Whether and how the draw is timed.
    pub timing: Option<Timing>,
}

/// How many outputs the vertex stage has where it has any: what every device can.
pub const VARYINGS: u32 = 15;

/// What a pixel of a colour attachment is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Format {
    /// Four bytes, 0 to 1: what is shown on a screen.
    #[default]
    Bytes,
    /// Four numbers of 32 bits: what the shader wrote.
    Floats,
}

impl Format {
    /// Bytes of a pixel.
    #[must_use]
    pub fn bytes(self) -> u64 {
        match self {
            Self::Bytes => 4,
            Self::Floats => 16,
        }
    }
}

/// Something at a descriptor set and binding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Binding {
    /// The descriptor set.
    pub set: u32,
    /// The binding in it.
    pub binding: u32,
    /// What is there.
    pub resource: Resource,
}

/// What a shader reads or writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Resource {
    /// A uniform block, or as many as the array has.
    Uniform(Vec<Contents>),
    /// A storage buffer that begins with these bytes; what it holds after the first draw comes back in [`Drawn::storage`].
    Storage(Contents),
    /// Textures with their samplers, as indices into [`Draw::textures`]: one, or as many as the array has.
    Sampled(Vec<usize>),
    /// Textures without samplers.
    Images(Vec<usize>),
    /// Samplers alone.
    Samplers(Vec<Sampler>),
}

/// A texture with all its levels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Texture {
    /// What its coordinates mean.
    pub shape: Shape,
    /// Whether the shader sees an array of layers (or of cubes).
    pub arrayed: bool,
    /// Layers; six a cube.
    pub layers: u32,
    /// What a texel is.
    pub texel: Texel,
    /// The largest level first, each half as large as the one before.
    pub levels: Vec<Level>,
    /// How it is sampled.
    pub sampler: Sampler,
}

/// One level: rows of texels, slices of rows, layers of slices, without gaps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Level {
    /// Width, height and depth.
    pub size: [u32; 3],
    /// The texels.
    #[serde(with = "serde_bytes")]
    pub bytes: Vec<u8>,
}

/// What a texture's coordinates mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Shape {
    /// A line.
    D1,
    /// A plane.
    D2,
    /// A box.
    D3,
    /// Six faces around a direction: +x −x +y −y +z −z, one layer each.
    Cube,
}

/// What a texel is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Texel {
    /// Four bytes, 0 to 1.
    Bytes,
    /// Four floating point numbers of 32 bits.
    Floats,
    /// Four signed integers of 32 bits.
    Signed,
    /// Four unsigned integers of 32 bits.
    Unsigned,
    /// One floating point number of 32 bits, to be compared with.
    Depth,
}

impl Texel {
    /// Bytes of a texel.
    #[must_use]
    pub fn bytes(self) -> u64 {
        match self {
            Self::Bytes | Self::Depth => 4,
            Self::Floats | Self::Signed | Self::Unsigned => 16,
        }
    }
}

/// How a texture is sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sampler {
    /// Mixes the nearest texels instead of taking the nearest one.
    pub linear: bool,
    /// Mixes the two nearest levels instead of taking the nearest one.
    pub mix_levels: bool,
    /// What lies beyond the edges, for each axis.
    pub wrap: [Wrap; 3],
    /// Compares texels with a reference (less or equal is 1) before they are mixed.
    pub compare: bool,
}

/// What lies beyond the edge of a texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Wrap {
    /// The texture again.
    Repeat,
    /// The texture again, every other one mirrored.
    Mirror,
    /// Its edge.
    Clamp,
    /// Zeros.
    Border,
}

/// How a draw is timed. The first draw compiles the shader and is never part of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// A trial draws as often as it takes for it to last so long.
    pub least: Seconds,
    /// Trials of a round.
    pub trials: u32,
    /// A round whose coefficient of variation is above this is followed by another one.
    pub spread: f64,
    /// Rounds at most.
    pub rounds: u32,
    /// No further round begins after this, by the host's clock.
    pub patience: Seconds,
    /// A shader that takes longer than this for one draw is refused.
    pub longest: Seconds,
}

/// What came of a draw.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Drawn {
    /// The pixels of each attachment after the first draw, rows from the top; empty unless [`Draw::read`].
    pub pixels: Vec<Contents>,
    /// What the first attachment looks like.
    pub looks: Looks,
    /// The storage buffers after the first draw, in the order of [`Draw::bindings`].
    pub storage: Vec<Contents>,
    /// Times, where they were asked for.
    pub times: Option<Times>,
}

/// What an image looks like. Alpha is not looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Looks {
    /// SHA-256 of all attachments, the first 16 hexadecimal digits.
    pub hash: String,
    /// Every pixel is the same.
    pub constant: bool,
    /// Every pixel is black.
    pub black: bool,
    /// Every pixel is white.
    pub white: bool,
}

/// How long draws took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// What was read.
    pub clock: DrawClock,
    /// The first draw by the host's clock, compilation included.
    pub first: Seconds,
    /// All trials in order.
    pub trials: Vec<Trial>,
    /// Whether the image after every trial was that of the first draw.
    pub stable: bool,
    /// The device's clocks before and after all trials, where it tells them.
    pub clocks: Vec<ClockState>,
}

/// The clock of a draw's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DrawClock {
    /// The device's timestamps before and after the draws.
    Timestamps,
    /// Processor time of the whole process, on a device that is the processor: what other processes do at the time counts little.
    Processor,
}

/// Some draws in a row.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Its round, from 0.
    pub round: u32,
    /// How many draws.
    pub draws: u32,
    /// One draw, on average.
    pub seconds: Seconds,
    /// One draw of the reference shader, on average of those right before and after.
    pub reference: Seconds,
}
