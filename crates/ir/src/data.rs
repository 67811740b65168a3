//! The data a launch works on, as raw bytes.

use crate::program::Name;
use std::collections::BTreeMap;

/// Values for a Program's arguments.
///
/// `data` has one entry per parameter in order: little-endian elements row-major for a buffer, texels row by row (components as
/// the format stores them) for an image, empty for a channel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bindings {
    /// A value per size parameter.
    pub sizes: BTreeMap<Name, i64>,
    /// Bytes per parameter.
    pub data: Vec<Vec<u8>>,
}

/// Bytes of `f32`s.
pub fn f32_bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

/// `f32`s of bytes; a trailing partial element is dropped.
pub fn bytes_f32(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect()
}
