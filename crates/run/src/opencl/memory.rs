//! Device memory of one session.

use super::ffi::{self, ArgValue, Queue};
use crate::check::Held;
use crate::guard::{BAND, front_band, pattern};
use crate::{Contents, DeviceError, MemoryKind, MemorySpec};
use opencl3::memory::{Buffer, Image};
use warpsight_ir::{ImageFormat, ImageKind};

/// One piece of device memory.
pub(super) enum Memory {
    /// A buffer without guards, and its bytes.
    Plain(Buffer<u8>, usize),
    /// A buffer that is the middle part of a larger one.
    Guarded {
        /// What kernels see.
        inner: Buffer<u8>,
        /// Everything.
        whole: Buffer<u8>,
        /// Bytes before `inner`.
        front: usize,
        /// Bytes of `inner`.
        bytes: usize,
    },
    /// An image.
    Image {
        /// The image.
        image: Image,
        /// What it lies in, where that is a buffer; released after it.
        _buffer: Option<Buffer<u8>>,
        /// Texels.
        width: u32,
        /// Texels.
        height: u32,
        /// Bytes of its rows without padding.
        bytes: usize,
    },
}

/// What a device demands of where things lie.
#[derive(Clone, Copy)]
pub(super) struct Alignment {
    /// Bytes that a sub-buffer's origin is a multiple of.
    pub(super) buffer: usize,
    /// Texels that rows of an image over a buffer begin at multiples of; 0 without such images.
    pub(super) pitch: u32,
}

/// Bytes an allocation takes, guard bands and padding of rows included.
pub(super) fn footprint(held: &Held, alignment: Alignment) -> u64 {
    match held.kind {
        MemoryKind::Buffer { bytes } if held.canaries => bytes.saturating_add((front_band(alignment.buffer) + BAND) as u64),
        MemoryKind::Image { kind: ImageKind::Image2dFromBuffer, format, width, height } => {
            (pitch(format, width, alignment) as u64).saturating_mul(height.into())
        }
        kind => kind.bytes(),
    }
}

/// Bytes from one row to the next of an image over a buffer.
fn pitch(format: ImageFormat, width: u32, alignment: Alignment) -> usize {
    (width as usize).next_multiple_of(alignment.pitch.max(1) as usize) * format.bytes() as usize
}

impl Memory {
    /// Allocates and fills; `position` is for errors.
    pub(super) fn new(position: usize, spec: &MemorySpec, queue: &Queue, alignment: Alignment) -> Result<Self, DeviceError> {
        let mut contents = spec.init.contents(spec.kind.bytes()).map_err(|error| error.of(position))?;
        match spec.kind {
            MemoryKind::Buffer { .. } if spec.canaries => {
                let (front, bytes) = (front_band(alignment.buffer), contents.len());
                let mut whole = Vec::with_capacity(front + bytes + BAND);
                whole.extend((0..front).map(pattern));
                whole.append(&mut contents);
                whole.extend((front + bytes..front + bytes + BAND).map(pattern));
                let whole = queue.buffer(&mut whole)?;
                Ok(Self::Guarded { inner: ffi::sub_buffer(&whole, front, bytes)?, whole, front, bytes })
            }
            MemoryKind::Buffer { .. } => Ok(Self::Plain(queue.buffer(&mut contents)?, contents.len())),
            MemoryKind::Image { kind, format, width, height } => {
                let bytes = contents.len();
                let pitch = match kind {
                    ImageKind::Image1d | ImageKind::Image2d => None,
                    ImageKind::Image1dBuffer => Some(0),
                    ImageKind::Image2dFromBuffer => Some(pitch(format, width, alignment)),
                };
                let buffer = pitch.map(|pitch| queue.buffer(&mut vec![0; bytes.max(pitch * height as usize)])).transpose()?;
                let image = queue.image(kind, format, [width, height], buffer.as_ref().zip(pitch))?;
                let mut memory = Self::Image { image, _buffer: buffer, width, height, bytes };
                memory.write(&contents, queue)?;
                Ok(memory)
            }
        }
    }

    /// How a kernel gets it.
    pub(super) fn arg(&self) -> ArgValue {
        match self {
            Self::Plain(buffer, _) | Self::Guarded { inner: buffer, .. } => ffi::buffer_arg(buffer),
            Self::Image { image, .. } => ffi::image_arg(image),
        }
    }

    /// Whether guard bands stand around it.
    pub(super) fn guarded(&self) -> bool {
        matches!(self, Self::Guarded { .. })
    }

    /// Replaces its contents: exactly its bytes.
    pub(super) fn write(&mut self, contents: &[u8], queue: &Queue) -> Result<(), DeviceError> {
        match self {
            Self::Plain(buffer, _) | Self::Guarded { inner: buffer, .. } => queue.write_buffer(buffer, contents),
            Self::Image { image, width, height, .. } => queue.write_image(image, *width, *height, contents),
        }
    }

    /// Its contents, and whether a guard band was overwritten.
    pub(super) fn read(&self, queue: &Queue) -> Result<(Contents, bool), DeviceError> {
        match self {
            Self::Plain(buffer, bytes) => {
                let mut all = vec![0; *bytes];
                queue.read_buffer(buffer, &mut all)?;
                Ok((Contents(all), false))
            }
            Self::Guarded { whole, front, bytes, .. } => {
                let mut all = vec![0; front + bytes + BAND];
                queue.read_buffer(whole, &mut all)?;
                let back = front + bytes;
                let damaged = (0..*front).chain(back..all.len()).any(|i| all[i] != pattern(i));
                all.truncate(back);
                all.drain(..front);
                Ok((Contents(all), damaged))
            }
            Self::Image { image, width, height, bytes, .. } => {
                let mut rows = vec![0; *bytes];
                queue.read_image(image, *width, *height, &mut rows)?;
                Ok((Contents(rows), false))
            }
        }
    }
}
