//! Text files that may be packed.

use crate::failure::Failure;
use flate2::read::MultiGzDecoder;
use std::path::Path;
use warpsight_files::FileError;

/// What a packed file begins with.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// The text of a file, unpacked where it is packed with gzip.
pub fn text(file: &Path) -> Result<String, Failure> {
    let bytes = warpsight_files::read(file, warpsight_files::TEXT)?;
    let bytes = match bytes.starts_with(&GZIP) {
        true => warpsight_files::read_from(file, MultiGzDecoder::new(bytes.as_slice()), warpsight_files::TEXT).map_err(damaged)?,
        false => bytes,
    };
    Ok(warpsight_files::text(file, bytes)?)
}

/// The file was read: what is wrong is in it.
fn damaged(error: FileError) -> Failure {
    match error {
        FileError::Io { path, source } => {
            Failure::input(format!("the packed file is cut short or damaged: {source}")).at(path.display().to_string())
        }
        error => error.into(),
    }
}
