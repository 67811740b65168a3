//! Images of texels whose values the host knows.

use super::{count, int, word};
use crate::Parameters;
use warpsight_ir::text::Word;
use warpsight_ir::{ImageFormat, ImageKind, Scalar};
use warpsight_run::{Init, MemoryKind, MemorySpec, init};

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
        Word::word(self.format)
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
            ImageFormat::Rgba16F | ImageFormat::Rgba16H => Init::Random { element: Scalar::F16, seed },
            ImageFormat::Rgba8Unorm => Init::Data((0..self.bytes()).map(|i| fraction(seed, i)).collect()),
            _ => Init::Random { element: Scalar::F32, seed },
        }
    }
}

/// A byte of a random image of fractions of 255.
fn fraction(seed: u64, index: u64) -> u8 {
    ((init::random(seed, index) + 1.0) * 127.5) as u8
}
