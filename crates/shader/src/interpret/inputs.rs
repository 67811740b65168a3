//! What a shader is given.

use super::texture::Texture;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a frame is drawn with.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// Width and height in pixels.
    pub frame: [u32; 2],
    /// The bytes of uniform blocks and storage buffers by descriptor set and binding, laid out as the module says.
    pub blocks: BTreeMap<(u32, u32), Vec<u8>>,
    /// The bytes of the push constants.
    pub push: Vec<u8>,
    /// Textures by descriptor set and binding; an array of samplers has several.
    pub textures: BTreeMap<(u32, u32), Vec<Arc<Texture>>>,
    /// Inputs from the rasteriser by location.
    pub varyings: BTreeMap<u32, Varying>,
    /// The most instructions that one quad may take; 0 is [`Inputs::BUDGET`].
    pub budget: u64,
}

/// An input that is a plane over the frame: `start + dx·x + dy·y` at the pixel centre (x, y), for four components. Integers have
/// the value of `start`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Varying {
    /// The value at the frame's corner.
    pub start: [f32; 4],
    /// What a pixel to the right adds.
    pub dx: [f32; 4],
    /// What a pixel down adds.
    pub dy: [f32; 4],
}

impl Inputs {
    /// The budget of a quad where none is given: a second or so.
    pub const BUDGET: u64 = 20_000_000;

    /// Inputs of a frame, and nothing else.
    #[must_use]
    pub fn of_frame(width: u32, height: u32) -> Self {
        let (blocks, textures, varyings) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { frame: [width, height], blocks, push: Vec::new(), textures, varyings, budget: 0 }
    }
}
