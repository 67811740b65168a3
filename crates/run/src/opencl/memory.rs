//! Device memory of one job.

use super::ffi::{self, ArgValue, Queue};
use crate::guard::{BAND, front_band, pattern};
use crate::{Contents, DeviceError, MemoryKind, MemorySpec};
use opencl3::memory::{Buffer, Image};

/// One piece of device memory.
pub(super) enum Memory {
    /// A buffer without guards.
    Plain(Buffer<u8>),
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
        /// Texels.
        width: u32,
        /// Texels.
        height: u32,
        /// Bytes of its rows without padding.
        bytes: usize,
    },
}

/// Bytes an allocation takes, guard bands included.
pub(super) fn footprint(spec: &MemorySpec, alignment: usize) -> u64 {
    match spec.kind {
        MemoryKind::Buffer { bytes } if spec.canaries => bytes.saturating_add((front_band(alignment) + BAND) as u64),
        kind => kind.bytes(),
    }
}

impl Memory {
    /// Allocates and fills. `alignment` in bytes is what the device demands of a sub-buffer's origin.
    pub(super) fn new(spec: &MemorySpec, queue: &Queue, alignment: usize) -> Result<Self, DeviceError> {
        let mut contents = spec.init.contents(spec.kind.bytes()).map_err(DeviceError::BadJob)?;
        match spec.kind {
            MemoryKind::Buffer { .. } if spec.canaries => {
                let (front, bytes) = (front_band(alignment), contents.len());
                let mut whole = Vec::with_capacity(front + bytes + BAND);
                whole.extend((0..front).map(pattern));
                whole.append(&mut contents);
                whole.extend((front + bytes..front + bytes + BAND).map(pattern));
                let whole = queue.buffer(&mut whole)?;
                Ok(Self::Guarded { inner: ffi::sub_buffer(&whole, front, bytes)?, whole, front, bytes })
            }
            MemoryKind::Buffer { .. } => Ok(Self::Plain(queue.buffer(&mut contents)?)),
            MemoryKind::Image { format, width, height } => {
                let bytes = contents.len();
                Ok(Self::Image { image: queue.image(format, width, height, &mut contents)?, width, height, bytes })
            }
        }
    }

    /// How a kernel gets it.
    pub(super) fn arg(&self) -> ArgValue {
        match self {
            Self::Plain(buffer) | Self::Guarded { inner: buffer, .. } => ffi::buffer_arg(buffer),
            Self::Image { image, .. } => ffi::image_arg(image),
        }
    }

    /// Its contents, and whether a guard band was overwritten. `spec` is what it was made from.
    pub(super) fn read(&self, spec: &MemorySpec, queue: &Queue) -> Result<(Contents, bool), DeviceError> {
        match self {
            Self::Plain(buffer) => {
                let mut bytes = vec![0; size(spec)?];
                queue.read_buffer(buffer, &mut bytes)?;
                Ok((Contents(bytes), false))
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
            Self::Image { image, width, height, bytes } => {
                let mut rows = vec![0; *bytes];
                queue.read_image(image, *width, *height, &mut rows)?;
                Ok((Contents(rows), false))
            }
        }
    }
}

/// Host bytes of a piece of memory.
fn size(spec: &MemorySpec) -> Result<usize, DeviceError> {
    let bytes = spec.kind.bytes();
    usize::try_from(bytes).map_err(|_| DeviceError::Limit { what: "an allocation".into(), needed: bytes, available: usize::MAX as u64 })
}
