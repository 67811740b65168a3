//! A folder of files that belong together.

use crate::output::{Whole, folder};
use crate::unfinished::{Unfinished, naming};
use crate::{FileError, Output};
use std::fs::hard_link;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use tempfile::{Builder, TempPath};

/// Files in a folder that get their names together when all are written, or not at all.
///
/// The one that was written last is taken away before the others get their names and gets its own after them: a description is there only
/// while everything that it describes is. What else is in the folder stays.
pub struct Folder {
    path: PathBuf,
    /// Folders that were not there, from the outermost.
    made: Vec<Unfinished>,
    files: Vec<Whole>,
}

/// What a name was before.
enum Before {
    Free,
    /// Another file, which has this name for now.
    Taken(TempPath),
    /// Another file, on a disk where a file has one name.
    Unknown,
}

impl Folder {
    /// Begins, in a folder that is made where it is not.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn create(path: &Path) -> Result<Self, FileError> {
        let mut folder = Self { path: path.to_owned(), made: vec![], files: vec![] };
        folder.make(path)?;
        if !path.is_dir() {
            return Err(FileError::io(path)(ErrorKind::NotADirectory.into()));
        }
        Ok(folder)
    }

    /// Where a file will be.
    pub fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Writes a file.
    ///
    /// # Errors
    /// Those of [`crate::write`]; nothing that was written gets a name then.
    pub fn write(&mut self, name: &str, bytes: &[u8]) -> Result<(), FileError> {
        let path = self.path(name);
        self.make(folder(&path))?;
        let mut output = Output::create(&path)?;
        output.write(bytes)?;
        self.files.extend(output.whole()?);
        Ok(())
    }

    /// Gives all files their names.
    ///
    /// # Errors
    /// A name cannot be given; those that were given are taken back.
    pub fn finish(mut self) -> Result<(), FileError> {
        let mut files = std::mem::take(&mut self.files);
        let Some(last) = files.pop() else {
            self.made.clear();
            return Ok(());
        };
        let _naming = naming();
        let mut named = vec![];
        let done = taken_away(&last.path).map(|before| named.push((last.path.clone(), before))).and_then(|()| {
            files.into_iter().chain([last]).try_for_each(|Whole { file, path, unfinished: _unfinished }| {
                let before = before(&path).map_err(FileError::io(&path))?;
                file.persist(&path).map_err(|error| FileError::io(&path)(error.error))?;
                named.push((path, before));
                Ok(())
            })
        });
        match done {
            Ok(()) => self.made.clear(),
            // From the last to the first, as the last one has been here twice. What cannot be undone stays as it is.
            Err(_) => named.into_iter().rev().for_each(|(path, before)| match before {
                Before::Free => drop(std::fs::remove_file(path)),
                Before::Taken(earlier) => drop(earlier.persist(path)),
                Before::Unknown => {}
            }),
        }
        done
    }

    /// Makes a folder and those around it.
    fn make(&mut self, path: &Path) -> Result<(), FileError> {
        let missing: Vec<&Path> = path.ancestors().take_while(|part| !part.as_os_str().is_empty() && !part.exists()).collect();
        for part in missing.into_iter().rev() {
            let _naming = naming();
            std::fs::create_dir(part).map_err(FileError::io(part))?;
            self.made.push(Unfinished::new(part));
        }
        Ok(())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Files first: they are in the folders.
        self.files.clear();
        // A folder into which somebody put something stays.
        self.made.iter().rev().for_each(|part| drop(std::fs::remove_dir(part.path())));
    }
}

/// Gives a file that has a name another one.
fn taken_away(path: &Path) -> Result<Before, FileError> {
    if !path.exists() {
        return Ok(Before::Free);
    }
    if path.is_dir() {
        return Err(FileError::io(path)(ErrorKind::IsADirectory.into()));
    }
    let renamed = Builder::new().prefix(".warpsight-").make_in(folder(path), |other| std::fs::rename(path, other));
    Ok(Before::Taken(renamed.map_err(FileError::io(path))?.into_temp_path()))
}

/// What a name is, kept under another one.
fn before(path: &Path) -> std::io::Result<Before> {
    if !path.exists() {
        return Ok(Before::Free);
    }
    match Builder::new().prefix(".warpsight-").make_in(folder(path), |other| hard_link(path, other)) {
        Ok(earlier) => Ok(Before::Taken(earlier.into_temp_path())),
        Err(error) if error.kind() == ErrorKind::StorageFull => Err(error),
        Err(_) => Ok(Before::Unknown),
    }
}
