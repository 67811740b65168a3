//! Device memory of one session.

use crate::check::Held;
use crate::cuda::driver::{Allocation, Context, Image};
use crate::guard::{BAND, front_band, pattern};
use crate::{Contents, DeviceError, Init, MemoryKind, MemorySpec};

/// Bytes that every buffer's address is a multiple of: what `cuMemAlloc` promises, and emitted vector loads build on.
pub(super) const ALIGNMENT: usize = 256;

/// Who fills large arrays: address, rule and bytes; whether it was done.
pub(super) type Filler<'a> = &'a dyn Fn(u64, &Init, u64) -> Result<bool, DeviceError>;

/// One piece of device memory.
pub(super) enum Memory {
    /// A buffer, with `front` guard bytes before it and [`BAND`] after it, or with none.
    Buffer {
        /// Everything.
        whole: Allocation,
        /// Bytes before the buffer.
        front: usize,
        /// Bytes of the buffer.
        bytes: usize,
    },
    /// An image.
    Image(Image),
}

/// Bytes an allocation takes, guard bands included.
pub(super) fn footprint(held: &Held) -> u64 {
    match held.kind {
        MemoryKind::Buffer { bytes } if held.canaries => bytes.saturating_add((front_band(ALIGNMENT) + BAND) as u64),
        kind => kind.bytes(),
    }
}

impl Memory {
    /// Allocates and fills; `position` is for errors.
    pub(super) fn new(position: usize, spec: &MemorySpec, context: &Context, fill: Filler) -> Result<Self, DeviceError> {
        let size = spec.kind.bytes();
        let bytes = usize::try_from(size).map_err(|_| DeviceError::Limit {
            what: "an allocation".into(),
            needed: size,
            available: usize::MAX as u64,
        })?;
        if let MemoryKind::Image { kind, format, width, height } = spec.kind {
            let image = Self::Image(Image::new(context, kind, format, [width, height])?);
            image.write(position, &spec.init, fill)?;
            return Ok(image);
        }
        let (front, back) = if spec.canaries { (front_band(ALIGNMENT), BAND) } else { (0, 0) };
        let whole = Allocation::new(context, front + bytes + back)?;
        if !whole.at.is_multiple_of(ALIGNMENT as u64) {
            return Err(DeviceError::Driver {
                call: "cuMemAlloc_v2".into(),
                code: format!("an address that is no multiple of {ALIGNMENT}"),
            });
        }
        if spec.canaries {
            whole.write(0, &(0..front).map(pattern).collect::<Vec<_>>())?;
            let end = front + bytes;
            whole.write(end, &(end..end + back).map(pattern).collect::<Vec<_>>())?;
        }
        let buffer = Self::Buffer { whole, front, bytes };
        buffer.write(position, &spec.init, fill)?;
        Ok(buffer)
    }

    /// Replaces its contents, which fit.
    pub(super) fn write(&self, position: usize, init: &Init, fill: Filler) -> Result<(), DeviceError> {
        let contents = |bytes: usize| init.contents(bytes as u64).map_err(|error| error.of(position));
        match self {
            Self::Image(image) => image.write(&contents(image.bytes())?),
            Self::Buffer { whole, front, bytes } => match init {
                Init::Poison => whole.fill(*front, 0xff, *bytes),
                Init::Zero => whole.fill(*front, 0, *bytes),
                Init::Data(data) => whole.write(*front, data),
                rule => {
                    if fill(whole.at + *front as u64, rule, *bytes as u64)? {
                        return Ok(());
                    }
                    whole.write(*front, &contents(*bytes)?)
                }
            },
        }
    }

    /// A buffer's address and bytes.
    pub(super) fn range(&self) -> Option<(u64, usize)> {
        match self {
            Self::Buffer { whole, front, bytes } => Some((whole.at + *front as u64, *bytes)),
            Self::Image(_) => None,
        }
    }

    /// All its contents.
    pub(super) fn read(&self) -> Result<Contents, DeviceError> {
        match self {
            Self::Buffer { whole, front, bytes } => {
                let mut contents = vec![0; *bytes];
                whole.read(*front, &mut contents)?;
                Ok(Contents(contents))
            }
            Self::Image(image) => {
                let mut rows = vec![0; image.bytes()];
                image.read(&mut rows)?;
                Ok(Contents(rows))
            }
        }
    }

    /// Pieces of a buffer, one after the other; they lie in it.
    pub(super) fn peek(&self, offsets: &[u64], bytes: u32) -> Result<Contents, DeviceError> {
        let mut contents = vec![0; offsets.len() * bytes as usize];
        if let Self::Buffer { whole, front, .. } = self
            && bytes > 0
        {
            for (&offset, piece) in offsets.iter().zip(contents.chunks_mut(bytes as usize)) {
                whole.read(front + offset as usize, piece)?;
            }
        }
        Ok(Contents(contents))
    }

    /// Whether a guard byte was overwritten.
    pub(super) fn damaged(&self) -> Result<bool, DeviceError> {
        let Self::Buffer { whole, front, bytes } = self else { return Ok(false) };
        let damaged = |from: usize, to: usize| {
            let mut band = vec![0; to - from];
            whole.read(from, &mut band)?;
            Ok::<_, DeviceError>((from..to).zip(&band).any(|(position, &byte)| byte != pattern(position)))
        };
        Ok(*front > 0 && (damaged(0, *front)? || damaged(front + bytes, whole.bytes)?))
    }
}
