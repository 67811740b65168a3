//! Arrays as NumPy stores them: its format 1.0 to 3.0, `f16`, `f32`, `f64`, whole numbers and truth values, little-endian, in C order.

/// What files begin with.
const MAGIC: &[u8] = b"\x93NUMPY";
/// The longest header that is read, in bytes; NumPy's own have 128.
const HEADER: usize = 1 << 16;
/// Bytes that elements begin at a multiple of, as NumPy writes them.
const ALIGN: usize = 64;

/// Whole numbers up to this are floats, as which all are read.
const EXACT: u64 = 1 << 24;

/// The elements of an array of floats, whole numbers or truth values with this shape.
pub fn read(bytes: &[u8], shape: &[i64]) -> Result<Vec<f32>, String> {
    let (header, data) = parts(bytes).map_err(|why| format!("this is no .npy file that is read: {why}"))?;
    let Header { descr, fortran, extents } = Header::of(header).map_err(|why| format!("this is no .npy file that is read: {why}"))?;
    if !extents.iter().copied().eq(shape.iter().map(|&e| e.unsigned_abs())) {
        return Err(format!("the array has shape {extents:?}, the input {shape:?}"));
    }
    if fortran {
        return Err("the array is in Fortran order: save it with numpy.ascontiguousarray".to_owned());
    }
    let (values, width): (Vec<f32>, usize) = match descr {
        "<f4" => (data.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect(), 4),
        "<f8" => (data.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b) as f32).collect(), 8),
        "<i8" => (whole(data.as_chunks().0.iter().map(|b| i64::from_le_bytes(*b)))?, 8),
        "<i4" => (whole(data.as_chunks().0.iter().map(|b| i32::from_le_bytes(*b).into()))?, 4),
        "<u4" => (whole(data.as_chunks().0.iter().map(|b| u32::from_le_bytes(*b).into()))?, 4),
        "<i2" => (whole(data.as_chunks().0.iter().map(|b| i16::from_le_bytes(*b).into()))?, 2),
        "<u2" => (whole(data.as_chunks().0.iter().map(|b| u16::from_le_bytes(*b).into()))?, 2),
        "<f2" => (data.as_chunks().0.iter().map(|b| half::f16::from_le_bytes(*b).to_f32()).collect(), 2),
        "|i1" => (whole(data.iter().map(|&b| i8::from_le_bytes([b]).into()))?, 1),
        "|b1" | "|u1" => (whole(data.iter().map(|&b| b.into()))?, 1),
        other => return Err(format!("the array holds `{other}`, not float32")),
    };
    // The input's shape was made already: its product is no overflow.
    let expected: u64 = extents.iter().product();
    if values.len() as u64 != expected || data.len() != values.len() * width {
        return Err(format!("the array cannot be read: {expected} elements are {} bytes, {} follow", expected * width as u64, data.len()));
    }
    Ok(values)
}

/// Whole numbers as floats.
fn whole(numbers: impl Iterator<Item = i64>) -> Result<Vec<f32>, String> {
    let exact = |number: i64| match number.unsigned_abs() <= EXACT {
        true => Ok(number as f32),
        false => Err(format!("the array holds {number}, which float32 does not: whole numbers are read up to {EXACT}")),
    };
    numbers.map(exact).collect()
}

/// Header and elements.
fn parts(bytes: &[u8]) -> Result<(&str, &[u8]), String> {
    let short = || "it ends within its header".to_owned();
    let rest = bytes.strip_prefix(MAGIC).ok_or("it does not begin as one")?;
    let (&[major, _], rest) = rest.split_first_chunk().ok_or_else(short)?;
    let (length, rest) = match major {
        1 => rest.split_first_chunk().map(|(length, rest)| (usize::from(u16::from_le_bytes(*length)), rest)).ok_or_else(short)?,
        2 | 3 => rest.split_first_chunk().map(|(length, rest)| (u32::from_le_bytes(*length) as usize, rest)).ok_or_else(short)?,
        other => return Err(format!("its version is {other}")),
    };
    if length > HEADER {
        return Err(format!("its header has {length} bytes, at most {HEADER} are read"));
    }
    let (header, data) = rest.split_at_checked(length).ok_or_else(short)?;
    Ok((std::str::from_utf8(header).map_err(|_| "its header is no text")?, data))
}

/// What stands before the elements: a Python dictionary with three keys, in any order.
struct Header<'a> {
    descr: &'a str,
    fortran: bool,
    extents: Vec<u64>,
}

impl<'a> Header<'a> {
    fn of(text: &'a str) -> Result<Self, String> {
        let (mut descr, mut fortran, mut extents) = (None, None, None);
        let mut words = Words(text);
        words.take("{")?;
        while !words.has("}") {
            let key = words.quoted()?;
            words.take(":")?;
            match key {
                "descr" => descr = Some(words.quoted()?),
                "fortran_order" => fortran = Some(words.truth()?),
                "shape" => extents = Some(words.extents()?),
                other => return Err(format!("its header has `{}`", other.escape_debug())),
            }
            if !words.has(",") {
                words.take("}")?;
                break;
            }
        }
        if !words.0.trim().is_empty() {
            return Err("something follows the dictionary of its header".to_owned());
        }
        let missing = |key| format!("its header lacks `{key}`");
        Ok(Self {
            descr: descr.ok_or_else(|| missing("descr"))?,
            fortran: fortran.ok_or_else(|| missing("fortran_order"))?,
            extents: extents.ok_or_else(|| missing("shape"))?,
        })
    }
}

/// The rest of a header.
struct Words<'a>(&'a str);

impl<'a> Words<'a> {
    /// Whether it goes on so, which is then behind.
    fn has(&mut self, word: &str) -> bool {
        let rest = self.0.trim_start().strip_prefix(word);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn take(&mut self, word: &str) -> Result<(), String> {
        if self.has(word) { Ok(()) } else { Err(format!("its header lacks `{word}`")) }
    }

    fn quoted(&mut self) -> Result<&'a str, String> {
        let quote = if self.has("'") { '\'' } else { self.take("\"").map(|()| '"').map_err(|_| "a text of its header has no quotes")? };
        let (text, rest) = self.0.split_once(quote).ok_or("a text of its header does not end")?;
        self.0 = rest;
        Ok(text)
    }

    fn truth(&mut self) -> Result<bool, String> {
        match (self.has("True"), self.has("False")) {
            (true, _) => Ok(true),
            (_, true) => Ok(false),
            _ => Err("its order is neither True nor False".to_owned()),
        }
    }

    fn extents(&mut self) -> Result<Vec<u64>, String> {
        self.take("(")?;
        let mut extents = vec![];
        while !self.has(")") {
            let rest = self.0.trim_start();
            let (digits, rest) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len()));
            extents.push(
                digits
                    .parse()
                    .map_err(|_| format!("an extent of its shape is no number below 2^64: `{}`", &digits[..digits.len().min(24)]))?,
            );
            self.0 = rest;
            if !self.has(",") {
                self.take(")")?;
                break;
            }
        }
        Ok(extents)
    }
}

/// An array of `f32`.
pub fn write(shape: &[i64], values: &[f32]) -> Vec<u8> {
    let extents: Vec<String> = shape.iter().map(i64::to_string).collect();
    let comma = if extents.len() == 1 { "," } else { "" };
    let mut header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}{comma}), }}", extents.join(", "));
    // Ends with a line break.
    let before = MAGIC.len() + 4;
    header.extend(std::iter::repeat_n(' ', (before + header.len() + 1).next_multiple_of(ALIGN) - before - header.len() - 1));
    header.push('\n');
    // Shapes of tensors have a few extents.
    let length = (header.len() as u16).to_le_bytes();
    let mut bytes = [MAGIC, &[1, 0], &length, header.as_bytes()].concat();
    bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    bytes
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
        let written = write(&[2, 3], &[0.5, -1.0, f32::NAN, 3.0, 4.0, f32::INFINITY]);
        let read = read(&written, &[2, 3]).unwrap();
        assert!(read[2].is_nan() && read[..2] == [0.5, -1.0] && read[3..] == [3.0, 4.0, f32::INFINITY], "{read:?}");
        assert_eq!(super::read(&written, &[3, 2]).unwrap_err(), "the array has shape [2, 3], the input [3, 2]");
    }

    #[test]
    fn whole_numbers_are_read_where_they_are_exact() {
        let of = |descr: &str, data: &[u8]| {
            let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': (2,)}}");
            read(&file(1, &header, data), &[2])
        };
        let longs = |a: i64, b: i64| [a.to_le_bytes(), b.to_le_bytes()].concat();
        assert_eq!(of("<i8", &longs(-3, 1 << 24)), Ok(vec![-3.0, 16_777_216.0]));
        assert_eq!(of("<i4", &[7, 0, 0, 0, 255, 255, 255, 255]), Ok(vec![7.0, -1.0]));
        assert_eq!(of("<i2", &[7, 0, 255, 255]), Ok(vec![7.0, -1.0]));
        assert_eq!(of("<u2", &[7, 0, 255, 255]), Ok(vec![7.0, 65535.0]));
        assert_eq!(of("|i1", &[7, 255]), Ok(vec![7.0, -1.0]));
        assert_eq!(of("<f2", &[0, 0x3c, 0, 0xc1]), Ok(vec![1.0, -2.5]));
        assert_eq!(of("|b1", &[1, 0]), Ok(vec![1.0, 0.0]));
        let beyond = "the array holds 16777217, which float32 does not: whole numbers are read up to 16777216";
        assert_eq!(of("<i8", &longs(1, (1 << 24) + 1)), Err(beyond.to_owned()));
        assert!(of("<i8", &longs(1, 2)[..12]).is_err());
    }

    #[test]
    fn hostile_headers_are_refused_before_anything_is_made() {
        let shaped = |shape: &str| file(1, &format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}\n"), &[0; 16]);
        let refused = |bytes: &[u8], words: &str| {
            let error = read(bytes, &[4]).unwrap_err();
            assert!(error.contains(words), "{error}");
        };
        refused(&shaped("(1099511627776,)"), "shape [1099511627776], the input [4]");
        refused(&shaped("(4294967296, 4294967296, 2)"), "shape [4294967296, 4294967296, 2], the input [4]");
        refused(&shaped("(0, 4294967296, 4294967296)"), "shape [0, 4294967296, 4294967296], the input [4]");
        refused(&shaped("(99999999999999999999,)"), "no number below 2^64: `99999999999999999999`");
        refused(&shaped(&format!("{}{}", "(".repeat(30_000), ")".repeat(30_000))), "no number below 2^64: ``");
        refused(&shaped("(0xffffffffffffffff, 2)"), "lacks `)`");
        refused(&shaped("(4611686018427387904+4611686018427387904, 2)"), "lacks `)`");
        refused(&shaped("(4,), \"a'\": (4294967296, 4294967296)"), "its header has `a\\'`");
        refused(&shaped("(8,)"), "the array has shape [8]");
        refused(&shaped("(4,), 'shape': (5,)"), "shape [5]");
        refused(&shaped("(4,)} , {"), "something follows");
        refused(&file(1, "{'descr': '<f4', 'shape': (4,)}", &[0; 16]), "lacks `fortran_order`");
        refused(&file(4, "{}", &[]), "its version is 4");
        refused(&file(1, "{'descr': '<f8', 'fortran_order': True, 'shape': (4,)}", &[0; 32]), "Fortran order");
        refused(&file(3, "{'descr': '>f4', 'fortran_order': False, 'shape': (4,)}", &[0; 16]), "holds `>f4`");
        let mut long = file(2, "{}", &[]);
        long[8..12].copy_from_slice(&u32::MAX.to_le_bytes());
        refused(&long, "its header has 4294967295 bytes, at most 65536 are read");
        for length in 0..12 {
            refused(&shaped("(4,)")[..length], "");
        }
        assert_eq!(read(&shaped("(4,)"), &[4]), Ok(vec![0.0; 4]));
        // As other writers spell it.
        let other = file(2, "{\"shape\":(2,2),\"fortran_order\":False,\"descr\":\"<f8\"}", &[0; 32]);
        assert_eq!(read(&other, &[2, 2]), Ok(vec![0.0; 4]));
        assert!(read(&shaped("(4,)")[..80], &[4]).unwrap_err().contains("cannot be read"));
    }
}
