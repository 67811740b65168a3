//! Constants of a model file as numbers.

use crate::error::GraphError;
use crate::onnx::proto::TensorProto;
use crate::onnx::proto::tensor_proto::{DataLocation, DataType};

/// A constant: floats, or whole numbers (shapes, axes).
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Literal {
    /// Extents; empty for a scalar.
    pub(crate) shape: Vec<i64>,
    /// Their type.
    pub(crate) kind: DataType,
    /// Elements, row-major.
    pub(crate) values: Numbers,
}

/// The elements of a constant.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Numbers {
    /// Any floating-point type.
    Floats(Vec<f64>),
    /// Any integer type, and truth values.
    Ints(Vec<i64>),
}

/// A type's name as ONNX writes it.
pub(crate) fn type_name(number: i64) -> String {
    let known = i32::try_from(number).ok().and_then(|n| DataType::try_from(n).ok());
    known.map_or_else(|| format!("number {number}"), |t| t.as_str_name())
}

/// Whether numbers of this type are whole; `None` for types that are not read.
pub(crate) fn is_int(kind: DataType) -> Option<bool> {
    match kind {
        DataType::Float | DataType::Float16 | DataType::Bfloat16 | DataType::Double => Some(false),
        DataType::Uint8 | DataType::Int8 | DataType::Uint16 | DataType::Int16 | DataType::Int32 => Some(true),
        DataType::Int64 | DataType::Bool | DataType::Uint32 | DataType::Uint64 => Some(true),
        DataType::Undefined | DataType::String | DataType::Complex64 | DataType::Complex128 => None,
    }
}

/// A whole number in another whole type: its low bits, as the standard has it. `None` beyond what is kept of `UINT64`.
pub(crate) fn wrapped(to: DataType, value: i64) -> Option<i64> {
    Some(match to {
        DataType::Bool => (value != 0).into(),
        DataType::Uint8 => (value as u8).into(),
        DataType::Int8 => (value as i8).into(),
        DataType::Uint16 => (value as u16).into(),
        DataType::Int16 => (value as i16).into(),
        DataType::Uint32 => (value as u32).into(),
        DataType::Int32 => (value as i32).into(),
        DataType::Uint64 if value < 0 => return None,
        _ => value,
    })
}

/// Elements that a tensor of the file states; 0 where its shape is impossible, which reading it says.
pub(crate) fn elements(proto: &TensorProto) -> u64 {
    length_of(&proto.dims, 0, i64::from(i32::MAX)).unwrap_or(0) as u64
}

/// Elements of a shape whose extents are at least so large, at most so many. A dimension without elements hides none that is too long: strides and
/// rows are products, too.
pub(crate) fn length_of(shape: &[i64], least: i64, most: i64) -> Option<usize> {
    let length = shape.iter().try_fold(1i64, |n, &extent| if extent < least { None } else { n.checked_mul(extent.max(1)) });
    length.filter(|n| *n <= most).map(|n| if shape.contains(&0) { 0 } else { n as usize })
}

impl Literal {
    /// Decodes a tensor of the file. `name` stands for it in errors.
    pub(crate) fn read(proto: &TensorProto, name: &str) -> Result<Self, GraphError> {
        let bad = |what: String| GraphError::BadTensor { tensor: name.into(), what };
        if proto.data_location == DataLocation::External as i32 {
            let location = proto.external_data.iter().find(|e| e.key == "location").map_or("?", |e| &e.value);
            return Err(GraphError::ExternalData { tensor: name.into(), location: location.into() });
        }
        let length = length_of(&proto.dims, 0, i64::from(i32::MAX)).ok_or_else(|| bad(format!("impossible shape {:?}", proto.dims)))?;
        let kind = DataType::try_from(proto.data_type).unwrap_or(DataType::Undefined);
        let differ = |found: usize| bad(format!("shape {:?} needs {length} elements, {found} are stored", proto.dims));
        if let Some(width) = width(kind).filter(|w| !proto.raw_data.is_empty() && proto.raw_data.len() != length * w) {
            return Err(differ(proto.raw_data.len() / width));
        }
        let values = if proto.raw_data.is_empty() { from_fields(proto, kind) } else { from_raw(&proto.raw_data, kind) };
        let values = values.ok_or_else(|| GraphError::WrongType {
            tensor: name.into(),
            found: type_name(proto.data_type.into()),
            expected: "a number type",
        })?;
        let found = match &values {
            Numbers::Floats(v) => v.len(),
            Numbers::Ints(v) => v.len(),
        };
        if found != length {
            return Err(differ(found));
        }
        if let (DataType::Uint64, Numbers::Ints(values)) = (kind, &values)
            && let Some(value) = values.iter().find(|v| **v < 0)
        {
            return Err(bad(format!("whole numbers up to {} are read, not {}", i64::MAX, *value as u64)));
        }
        // A field has room for more than the type that it stands for.
        if let (true, Numbers::Ints(values)) = (proto.raw_data.is_empty(), &values)
            && let Some(value) = values.iter().find(|v| wrapped(kind, **v) != Some(**v))
        {
            return Err(bad(format!("{value} is no {}", kind.as_str_name())));
        }
        Ok(Self { shape: proto.dims.clone(), kind, values })
    }
}

fn width(kind: DataType) -> Option<usize> {
    Some(match kind {
        DataType::Uint8 | DataType::Int8 | DataType::Bool => 1,
        DataType::Uint16 | DataType::Int16 | DataType::Float16 | DataType::Bfloat16 => 2,
        DataType::Float | DataType::Int32 | DataType::Uint32 => 4,
        DataType::Int64 | DataType::Uint64 | DataType::Double => 8,
        _ => return None,
    })
}

/// Little-endian bytes, as ONNX stores them.
fn from_raw(raw: &[u8], kind: DataType) -> Option<Numbers> {
    fn each<const N: usize, T>(raw: &[u8], f: impl Fn([u8; N]) -> T) -> Vec<T> {
        raw.as_chunks::<N>().0.iter().map(|c| f(*c)).collect()
    }
    Some(match kind {
        DataType::Float => Numbers::Floats(each(raw, |b| f64::from(f32::from_le_bytes(b)))),
        DataType::Double => Numbers::Floats(each(raw, f64::from_le_bytes)),
        DataType::Float16 => Numbers::Floats(each(raw, |b| half::f16::from_le_bytes(b).to_f64())),
        DataType::Bfloat16 => Numbers::Floats(each(raw, |b| half::bf16::from_le_bytes(b).to_f64())),
        DataType::Bool => Numbers::Ints(each(raw, |b: [u8; 1]| (b[0] != 0).into())),
        DataType::Uint8 => Numbers::Ints(each(raw, |b: [u8; 1]| b[0].into())),
        DataType::Int8 => Numbers::Ints(each(raw, |b| i8::from_le_bytes(b).into())),
        DataType::Uint16 => Numbers::Ints(each(raw, |b| u16::from_le_bytes(b).into())),
        DataType::Int16 => Numbers::Ints(each(raw, |b| i16::from_le_bytes(b).into())),
        DataType::Int32 => Numbers::Ints(each(raw, |b| i32::from_le_bytes(b).into())),
        DataType::Uint32 => Numbers::Ints(each(raw, |b| u32::from_le_bytes(b).into())),
        DataType::Int64 => Numbers::Ints(each(raw, i64::from_le_bytes)),
        // Numbers beyond i64 become negative ones, which are refused.
        DataType::Uint64 => Numbers::Ints(each(raw, |b| u64::from_le_bytes(b) as i64)),
        _ => return None,
    })
}

/// Elements in the field for their type; 16-bit floats are stored as their bits in `int32_data`.
fn from_fields(proto: &TensorProto, kind: DataType) -> Option<Numbers> {
    let bits = || proto.int32_data.iter().map(|&v| v as u16);
    Some(match kind {
        DataType::Float => Numbers::Floats(proto.float_data.iter().map(|&v| v.into()).collect()),
        DataType::Double => Numbers::Floats(proto.double_data.clone()),
        DataType::Float16 => Numbers::Floats(bits().map(|b| half::f16::from_bits(b).to_f64()).collect()),
        DataType::Bfloat16 => Numbers::Floats(bits().map(|b| half::bf16::from_bits(b).to_f64()).collect()),
        DataType::Int64 => Numbers::Ints(proto.int64_data.clone()),
        DataType::Uint32 | DataType::Uint64 => Numbers::Ints(proto.uint64_data.iter().map(|&v| v as i64).collect()),
        DataType::Bool => Numbers::Ints(proto.int32_data.iter().map(|&v| (v != 0).into()).collect()),
        _ if is_int(kind) == Some(true) => Numbers::Ints(proto.int32_data.iter().map(|&v| v.into()).collect()),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::length_of;

    #[test]
    fn nothing_hides_what_is_too_long() {
        let most = i64::from(i32::MAX);
        assert_eq!((length_of(&[2, 3], 0, most), length_of(&[], 0, most), length_of(&[5, 0, 3], 0, most)), (Some(6), Some(1), Some(0)));
        for shape in [&[1 << 62, 0][..], &[0, 1 << 40, 1 << 40], &[1 << 32], &[-1], &[1 << 31, 1]] {
            assert_eq!(length_of(shape, 0, most), None, "{shape:?}");
        }
        assert_eq!(length_of(&[0], 1, most), None);
    }
}
