//! Arrays as NumPy stores them, read with suspicion.

use npyz::WriterBuilder;

/// The longest header that is read, in bytes; NumPy's own have 128.
const HEADER: usize = 1 << 16;
/// How deep the words of a header may nest; NumPy's own do twice.
const DEPTH: usize = 8;

/// The elements of an array of `f32` or `f64` with this shape.
pub fn read(bytes: &[u8], shape: &[i64]) -> Result<Vec<f32>, String> {
    check_header(bytes).map_err(|why| format!("this is no .npy file that is read: {why}"))?;
    let array = npyz::NpyFile::new(bytes).map_err(|e| format!("this is no .npy file: {e}"))?;
    if !array.shape().iter().copied().eq(shape.iter().map(|&e| e.unsigned_abs())) {
        return Err(format!("the array has shape {:?}, the input {shape:?}", array.shape()));
    }
    if array.order() != npyz::Order::C {
        return Err("the array is in Fortran order: save it with numpy.ascontiguousarray".to_owned());
    }
    let dtype = array.dtype().descr();
    let failed = |e: std::io::Error| format!("the array cannot be read: {e}");
    match dtype.trim_matches('\'') {
        "<f4" => array.into_vec::<f32>().map_err(failed),
        "<f8" => Ok(array.into_vec::<f64>().map_err(failed)?.into_iter().map(|v| v as f32).collect()),
        other => Err(format!("the array holds `{other}`, not float32")),
    }
}

/// What the reader takes on trust: the header's length, how deep it nests, and that the product of the extents is no larger than a number.
fn check_header(bytes: &[u8]) -> Result<(), String> {
    let short = || "it ends within its header".to_owned();
    let length = |at: std::ops::Range<usize>| -> Result<usize, String> {
        let end = at.end;
        let length = bytes.get(at).ok_or_else(short)?.iter().rev().fold(0, |n, &byte| n << 8 | usize::from(byte));
        if length > HEADER { Err(format!("its header has {length} bytes, at most {HEADER} are read")) } else { Ok(end + length) }
    };
    let (start, end) = if bytes.get(6).is_some_and(|version| *version > 1) { (12, length(8..12)?) } else { (10, length(8..10)?) };
    let header = bytes.get(start..end).ok_or_else(short)?;
    let (mut depth, mut elements, mut digits) = (0usize, 1u64, String::new());
    for &byte in header.iter().chain(b" ") {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEPTH {
            return Err(format!("its header nests more than {DEPTH} times"));
        }
        if byte.is_ascii_digit() {
            digits.push(char::from(byte));
        } else if !digits.is_empty() {
            if byte.is_ascii_alphabetic() || b"_+-".contains(&byte) {
                return Err("a number of its header is no plain decimal".to_owned());
            }
            // Those of the type's name count too: they are small.
            let extent = digits.parse::<u64>().ok().and_then(|extent| elements.checked_mul(extent.max(1)));
            elements = extent.ok_or_else(|| format!("its shape has more than {} elements", u64::MAX))?;
            digits.clear();
        }
    }
    Ok(())
}

/// An array of `f32`.
pub fn write(shape: &[i64], values: &[f32]) -> std::io::Result<Vec<u8>> {
    let mut bytes = vec![];
    let shape: Vec<u64> = shape.iter().map(|&n| n as u64).collect();
    let mut writer = npyz::WriteOptions::new().default_dtype().shape(&shape).writer(&mut bytes).begin_nd()?;
    writer.extend(values)?;
    writer.finish()?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of this version whose header says so.
    fn file(version: u8, header: &str, data: &[u8]) -> Vec<u8> {
        let length = header.len() as u32;
        let length = if version == 1 { length.to_le_bytes()[..2].to_vec() } else { length.to_le_bytes().to_vec() };
        [b"\x93NUMPY", [version, 0].as_slice(), &length, header.as_bytes(), data].concat()
    }

    #[test]
    fn arrays_come_back() {
        let written = write(&[2, 3], &[0.5, -1.0, f32::NAN, 3.0, 4.0, f32::INFINITY]).unwrap();
        let read = read(&written, &[2, 3]).unwrap();
        assert!(read[2].is_nan() && read[..2] == [0.5, -1.0] && read[3..] == [3.0, 4.0, f32::INFINITY], "{read:?}");
        assert_eq!(super::read(&written, &[3, 2]).unwrap_err(), "the array has shape [2, 3], the input [3, 2]");
    }

    #[test]
    fn hostile_headers_are_refused_before_anything_is_made() {
        let shaped = |shape: &str| file(1, &format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}\n"), &[0; 16]);
        let refused = |bytes: &[u8], words: &str| {
            let error = read(bytes, &[4]).unwrap_err();
            assert!(error.contains(words), "{error}");
        };
        refused(&shaped("(1099511627776,)"), "shape [1099511627776], the input [4]");
        refused(&shaped("(4294967296, 4294967296, 2)"), "more than 18446744073709551615 elements");
        refused(&shaped("(0, 4294967296, 4294967296)"), "more than 18446744073709551615 elements");
        refused(&shaped("(99999999999999999999,)"), "more than 18446744073709551615 elements");
        refused(&shaped(&format!("{}{}", "(".repeat(30_000), ")".repeat(30_000))), "nests more than 8 times");
        refused(&shaped("(0xffffffffffffffff, 2)"), "no plain decimal");
        refused(&shaped("(4611686018427387904+4611686018427387904, 2)"), "no plain decimal");
        refused(&shaped("(4,), \"a'\": (4294967296, 4294967296)"), "more than 18446744073709551615 elements");
        refused(&shaped("(8,)"), "the array has shape [8]");
        let mut long = file(2, "{}", &[]);
        long[8..12].copy_from_slice(&u32::MAX.to_le_bytes());
        refused(&long, "its header has 4294967295 bytes, at most 65536 are read");
        for length in 0..12 {
            refused(&shaped("(4,)")[..length], "");
        }
        assert_eq!(read(&shaped("(4,)"), &[4]), Ok(vec![0.0; 4]));
        assert!(read(&shaped("(4,)")[..80], &[4]).unwrap_err().contains("cannot be read"));
    }
}
