//! Elements and texels between memory and rows.

use warpsight_ir::{ImageFormat, Scalar};

#[inline]
fn word(memory: &[u8], at: usize) -> u32 {
    let mut bytes = [0; 4];
    bytes.copy_from_slice(&memory[at..at + 4]);
    u32::from_le_bytes(bytes)
}

/// An element (of 64 bits: half of one) as a row holds it.
#[inline]
pub fn read(memory: &[u8], at: usize, element: Scalar) -> u32 {
    let half = || u16::from_le_bytes([memory[at], memory[at + 1]]);
    match element {
        Scalar::Bool => u32::from(memory[at] != 0),
        Scalar::F16 | Scalar::Half => half::f16::from_bits(half()).to_f32().to_bits(),
        Scalar::Bf16 => half::bf16::from_bits(half()).to_f32().to_bits(),
        _ => word(memory, at),
    }
}

/// The same the other way.
#[inline]
pub fn write(memory: &mut [u8], at: usize, element: Scalar, value: u32) {
    match element {
        Scalar::Bool => memory[at] = u8::from(value != 0),
        Scalar::F16 | Scalar::Half => memory[at..at + 2].copy_from_slice(&half::f16::from_f32(f32::from_bits(value)).to_le_bytes()),
        Scalar::Bf16 => memory[at..at + 2].copy_from_slice(&half::bf16::from_f32(f32::from_bits(value)).to_le_bytes()),
        _ => memory[at..at + 4].copy_from_slice(&value.to_le_bytes()),
    }
}

/// A component of the texel at byte `at`.
#[inline]
pub fn read_component(texels: &[u8], at: usize, c: usize, format: ImageFormat) -> u32 {
    match format {
        ImageFormat::Rgba32F | ImageFormat::Rgba32I | ImageFormat::Rgba32U => word(texels, at + c * 4),
        ImageFormat::Rgba16F | ImageFormat::Rgba16H => read(texels, at + c * 2, Scalar::F16),
        ImageFormat::Rgba8Unorm => (f32::from(texels[at + c]) / 255.0).to_bits(),
    }
}

/// The same the other way.
#[inline]
pub fn write_component(texels: &mut [u8], at: usize, c: usize, format: ImageFormat, value: u32) {
    match format {
        ImageFormat::Rgba32F | ImageFormat::Rgba32I | ImageFormat::Rgba32U => write(texels, at + c * 4, Scalar::U32, value),
        ImageFormat::Rgba16F | ImageFormat::Rgba16H => write(texels, at + c * 2, Scalar::F16, value),
        // Nearest even, saturating; not a number gives 0.
        ImageFormat::Rgba8Unorm => texels[at + c] = (f32::from_bits(value).clamp(0.0, 1.0) * 255.0).round_ties_even() as u8,
    }
}
