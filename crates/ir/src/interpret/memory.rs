//! Buffers, arrays and images: bytes, what was written of them, and who touched them.

use super::arith::{cast, zero};
use super::races::{Access, Clash, Shadow, Touch};
use crate::program::{Border, ImageFormat};
use crate::types::{Const, Scalar};
use half::{bf16, f16};

/// Elements in memory. Arrays of work-items or sub-groups have several `instances` of the same shape.
pub(super) struct Tensor {
    pub element: Scalar,
    /// Slowest first.
    pub dims: Vec<i64>,
    pub bytes: Vec<u8>,
    /// Which elements were written; `None` where all are defined from the start.
    written: Option<Vec<bool>>,
    /// `None` where nobody else can touch it, or nobody writes.
    shadow: Option<Shadow>,
}

/// Why an element cannot be accessed.
pub(super) enum Trouble {
    Outside,
    Undefined,
    Clash(Clash),
}

impl Tensor {
    /// An argument; `writable` where the launch may write it.
    pub fn argument(element: Scalar, dims: Vec<i64>, bytes: Vec<u8>, writable: bool) -> Self {
        Self { element, dims, bytes, written: None, shadow: writable.then(Shadow::default) }
    }

    /// An array of undefined contents.
    pub fn array(element: Scalar, dims: &[u32], instances: usize, shared: bool) -> Self {
        let dims: Vec<i64> = dims.iter().map(|&d| d.into()).collect();
        let elements = instances * dims.iter().product::<i64>() as usize;
        let bytes = vec![0; elements * element.bytes() as usize];
        Self { element, dims, bytes, written: Some(vec![false; elements]), shadow: shared.then(Shadow::default) }
    }

    /// Elements of one instance.
    pub fn len(&self) -> usize {
        self.dims.iter().product::<i64>() as usize
    }

    /// The number of an element within its instance.
    pub fn locate(&self, coordinates: &[i64]) -> Option<usize> {
        let mut offset = 0;
        for (&at, &extent) in coordinates.iter().zip(&self.dims) {
            if at < 0 || at >= extent {
                return None;
            }
            offset = offset * extent + at;
        }
        Some(offset as usize)
    }

    /// Coordinates of an element, by its number within its instance.
    pub fn coordinates(&self, mut element: usize) -> Vec<i64> {
        let mut coordinates: Vec<i64> = self
            .dims
            .iter()
            .rev()
            .map(|&extent| {
                let at = element as i64 % extent;
                element /= extent as usize;
                at
            })
            .collect();
        coordinates.reverse();
        coordinates
    }

    /// An element of the only instance, widened, whoever asks.
    pub fn get(&self, element: usize) -> Const {
        decode(self.element, &self.bytes, element)
    }

    /// Reads an element, widened.
    pub fn read(&mut self, instance: usize, element: usize, touch: Touch, by: Access) -> Result<Const, Trouble> {
        let len = self.len();
        let at = instance * len + element;
        if let Some(shadow) = &mut self.shadow {
            shadow.touch(len, element, touch, by).map_err(Trouble::Clash)?;
        }
        if self.written.as_ref().is_some_and(|written| !written[at]) {
            return Err(Trouble::Undefined);
        }
        Ok(decode(self.element, &self.bytes, at))
    }

    /// Writes an element, rounded to the element's type.
    pub fn write(&mut self, instance: usize, element: usize, value: Const, touch: Touch, by: Access) -> Result<(), Trouble> {
        let len = self.len();
        let at = instance * len + element;
        if let Some(shadow) = &mut self.shadow {
            shadow.touch(len, element, touch, by).map_err(Trouble::Clash)?;
        }
        if let Some(written) = &mut self.written {
            written[at] = true;
        }
        encode(self.element, value, &mut self.bytes, at);
        Ok(())
    }
}

/// An image of four-component texels; one-dimensional ones have one row.
pub(super) struct Image {
    pub format: ImageFormat,
    /// Width and height in texels.
    pub size: [i64; 2],
    pub border: Border,
    pub bytes: Vec<u8>,
    pub shadow: Shadow,
}

impl Image {
    /// Reads a texel, or what the border rule gives outside; `None` where that is an error.
    pub fn read(&self, [x, y]: [i64; 2]) -> Option<[Const; 4]> {
        let [width, height] = self.size;
        let (cx, cy) = (x.clamp(0, width - 1), y.clamp(0, height - 1));
        match self.border {
            Border::Zero if (cx, cy) != (x, y) => return Some([zero(self.format.scalar()); 4]),
            Border::None if (cx, cy) != (x, y) => return None,
            _ => {}
        }
        let texel = (cy * width + cx) as usize;
        Some(std::array::from_fn(|component| self.component(4 * texel + component)))
    }

    /// Writes those components of a texel inside the image that `mask` has a bit for.
    pub fn write(&mut self, [x, y]: [i64; 2], value: &[Const], mask: u16, by: Access) -> Result<(), Trouble> {
        let [width, height] = self.size;
        if x < 0 || x >= width || y < 0 || y >= height {
            return Err(Trouble::Outside);
        }
        let texel = (y * width + x) as usize;
        self.shadow.touch((width * height) as usize, texel, Touch::Write, by).map_err(Trouble::Clash)?;
        for (component, &value) in value.iter().enumerate().take(4).filter(|(c, _)| mask >> c & 1 == 1) {
            self.set_component(4 * texel + component, value);
        }
        Ok(())
    }

    fn component(&self, at: usize) -> Const {
        match storage(self.format) {
            Some(element) => decode(element, &self.bytes, at),
            None => Const::F32(f32::from(self.bytes[at]) / 255.0),
        }
    }

    fn set_component(&mut self, at: usize, value: Const) {
        match (storage(self.format), value) {
            (Some(element), _) => encode(element, value, &mut self.bytes, at),
            // The cast makes 0 of a NaN.
            (None, Const::F32(v)) => self.bytes[at] = (v.clamp(0.0, 1.0) * 255.0).round_ties_even() as u8,
            (None, _) => {}
        }
    }
}

/// The storage type of a component; `None` for bytes that mean fractions.
fn storage(format: ImageFormat) -> Option<Scalar> {
    match format {
        ImageFormat::Rgba32F => Some(Scalar::F32),
        ImageFormat::Rgba16F => Some(Scalar::F16),
        ImageFormat::Rgba16H => Some(Scalar::Half),
        ImageFormat::Rgba32I => Some(Scalar::I32),
        ImageFormat::Rgba32U => Some(Scalar::U32),
        ImageFormat::Rgba8Unorm => None,
    }
}

/// The element number `at` of little-endian bytes, widened.
fn decode(element: Scalar, bytes: &[u8], at: usize) -> Const {
    fn taken<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
        std::array::from_fn(|i| bytes[at * N + i])
    }
    match element {
        Scalar::Bool => Const::Bool(bytes[at] != 0),
        Scalar::I32 => Const::I32(i32::from_le_bytes(taken(bytes, at))),
        Scalar::U32 => Const::U32(u32::from_le_bytes(taken(bytes, at))),
        Scalar::I64 => Const::I64(i64::from_le_bytes(taken(bytes, at))),
        Scalar::U64 => Const::U64(u64::from_le_bytes(taken(bytes, at))),
        Scalar::F16 => Const::F32(f16::from_le_bytes(taken(bytes, at)).to_f32()),
        Scalar::Bf16 => Const::F32(bf16::from_le_bytes(taken(bytes, at)).to_f32()),
        Scalar::Half => Const::Half(f16::from_le_bytes(taken(bytes, at))),
        Scalar::F32 => Const::F32(f32::from_le_bytes(taken(bytes, at))),
        Scalar::F64 => Const::F64(f64::from_le_bytes(taken(bytes, at))),
    }
}

/// Writes a value as the element number `at`, converted to the element's type: for a validated Program only rounding remains.
fn encode(element: Scalar, value: Const, bytes: &mut [u8], at: usize) {
    let mut put = |raw: &[u8]| bytes[at * raw.len()..][..raw.len()].copy_from_slice(raw);
    match (element, cast(element, value)) {
        (Scalar::F16, Const::F32(v)) => put(&f16::from_f32(v).to_le_bytes()),
        (Scalar::Bf16, Const::F32(v)) => put(&bf16::from_f32(v).to_le_bytes()),
        (_, Const::Bool(v)) => put(&[u8::from(v)]),
        (_, Const::I32(v)) => put(&v.to_le_bytes()),
        (_, Const::U32(v)) => put(&v.to_le_bytes()),
        (_, Const::I64(v)) => put(&v.to_le_bytes()),
        (_, Const::U64(v)) => put(&v.to_le_bytes()),
        (_, Const::Half(v)) => put(&v.to_le_bytes()),
        (_, Const::F32(v)) => put(&v.to_le_bytes()),
        (_, Const::F64(v)) => put(&v.to_le_bytes()),
    }
}
