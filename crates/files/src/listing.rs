//! What is in folders, always in the same order, and folders that are to be there.

use crate::FileError;
use std::path::{Path, PathBuf};

/// Makes a folder, and those around it, where it is not.
///
/// # Errors
/// [`FileError::Io`].
pub fn make_folder(path: &Path) -> Result<(), FileError> {
    std::fs::create_dir_all(path).map_err(FileError::io(path))
}

/// What is in a folder, sorted.
///
/// # Errors
/// [`FileError::Io`].
pub fn entries(path: &Path) -> Result<Vec<PathBuf>, FileError> {
    let all = std::fs::read_dir(path).map_err(FileError::io(path))?;
    let mut all: Vec<PathBuf> = all.map(|entry| Ok(entry.map_err(FileError::io(path))?.path())).collect::<Result<_, _>>()?;
    all.sort();
    Ok(all)
}

/// The files in a folder and in the folders below it, sorted; or the file itself. Links are named, not followed: one may lead back. Pipes
/// and devices are left out: they would be waited for.
///
/// # Errors
/// [`FileError::Io`], of the first that cannot be listed.
pub fn below(path: &Path) -> Result<Vec<PathBuf>, FileError> {
    if path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = vec![];
    let mut folders = vec![path.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in entries(&folder)? {
            let kind = std::fs::symlink_metadata(&entry).map_err(FileError::io(&entry))?.file_type();
            if kind.is_dir() {
                folders.push(entry);
            } else if kind.is_symlink() || kind.is_file() {
                files.push(entry);
            }
        }
    }
    files.sort();
    Ok(files)
}
