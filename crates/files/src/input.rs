//! Files that are read, none without a limit.

use crate::FileError;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

/// What people write: kernels, graphs, profiles, cards, shaders.
pub const TEXT: u64 = 16 << 20;
/// What programs write: recordings, rows, tables, corpora, pictures.
pub const RECORDS: u64 = 256 << 20;
/// A message of protocol buffers, which an ONNX model is, may have no more.
pub const MODEL: u64 = (2 << 30) - 1;
/// What is no regular file does not say how long it is: of it, no more is read whatever it is read for.
const STREAM: u64 = RECORDS;

/// Reads a file of at most so many bytes. The size of a regular file is looked at before anything is read.
///
/// # Errors
/// [`FileError::Io`] and [`FileError::TooLarge`].
pub fn read(path: &Path, limit: u64) -> Result<Vec<u8>, FileError> {
    let file = File::open(path).map_err(FileError::io(path))?;
    let about = file.metadata().map_err(FileError::io(path))?;
    if !about.is_file() {
        return bounded(path, file, 0, limit.min(STREAM));
    }
    if about.len() > limit {
        return Err(FileError::TooLarge { path: path.to_owned(), size: Some(about.len()), limit });
    }
    bounded(path, file, about.len(), limit)
}

/// Reads standard input where the path is `-`, else the file.
///
/// # Errors
/// Those of [`read`].
pub fn read_or_stdin(path: &Path, limit: u64) -> Result<Vec<u8>, FileError> {
    if path == Path::new("-") { bounded(name(path), std::io::stdin().lock(), 0, limit.min(STREAM)) } else { read(path, limit) }
}

/// Reads a file of at most so many bytes as text.
///
/// # Errors
/// Those of [`read`] and [`text`].
pub fn read_text(path: &Path, limit: u64) -> Result<String, FileError> {
    text(path, read(path, limit)?)
}

/// What was read of a file, as text.
///
/// # Errors
/// [`FileError::NoText`].
pub fn text(path: &Path, bytes: Vec<u8>) -> Result<String, FileError> {
    String::from_utf8(bytes).map_err(|error| FileError::NoText { path: name(path).to_owned(), at: error.utf8_error().valid_up_to() })
}

/// What errors call a path that may be `-`.
pub fn name(path: &Path) -> &Path {
    if path == Path::new("-") { Path::new(STDIN) } else { path }
}

const STDIN: &str = "standard input";

/// What a reader has of a file of this name, if it is at most so many bytes.
///
/// # Errors
/// Those of [`read`].
pub fn read_from(path: &Path, from: impl Read, limit: u64) -> Result<Vec<u8>, FileError> {
    bounded(path, from, 0, limit)
}

/// What a reader has, expected to be so many bytes, unless it has more than the limit.
fn bounded(path: &Path, from: impl Read, expected: u64, limit: u64) -> Result<Vec<u8>, FileError> {
    let mut bytes = Vec::new();
    let room = |_| FileError::io(path)(ErrorKind::OutOfMemory.into());
    bytes.try_reserve_exact(usize::try_from(expected).unwrap_or(usize::MAX)).map_err(room)?;
    // One more than may be, to see that there is more.
    from.take(limit + 1).read_to_end(&mut bytes).map_err(FileError::io(path))?;
    if bytes.len() as u64 > limit {
        return Err(FileError::TooLarge { path: path.to_owned(), size: None, limit });
    }
    Ok(bytes)
}
