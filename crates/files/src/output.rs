//! One file that is written.

use crate::FileError;
use crate::unfinished::{Unfinished, naming};
use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io::{BufWriter, Error, ErrorKind, Result, Write};
use std::path::{Path, PathBuf};
use tempfile::{Builder, NamedTempFile, TempPath};

/// Symbolic links that are followed one after the other, as many as Linux follows.
const LINKS: usize = 40;

/// A file that is being written.
///
/// A regular file, or one that is not there yet, is written under another name in the same folder and gets its own at the end: it is there
/// whole or not at all, and what was there before stays until then. It keeps its permissions and, where that may be done, its owner. Symbolic
/// links are followed, those to nothing too. Anything else (a pipe, a device, a terminal, an open descriptor such as `/dev/stdout`) is
/// opened and written as it is.
pub struct Output {
    path: PathBuf,
    to: BufWriter<To>,
}

/// A file that is written and has no name yet.
pub(crate) struct Whole {
    pub(crate) file: TempPath,
    /// Its name.
    pub(crate) path: PathBuf,
    pub(crate) unfinished: Unfinished,
}

// One of each open file: its size is of no account.
#[allow(clippy::large_enum_variant)]
enum To {
    /// Gets its name at the end, and what its predecessor had.
    Whole {
        file: NamedTempFile,
        path: PathBuf,
        before: Option<Metadata>,
        unfinished: Unfinished,
    },
    Through(File),
}

/// Writes a file.
///
/// # Errors
/// As [`Output::create`] and [`Output::finish`].
pub fn write(path: &Path, bytes: &[u8]) -> std::result::Result<(), FileError> {
    let mut output = Output::create(path)?;
    output.write(bytes)?;
    output.finish()
}

impl Output {
    /// Begins a file. Whether it can be written is known when this returns, so that nothing long is done for nothing.
    ///
    /// # Errors
    /// There is no such folder, it is a folder itself, or it may not be written.
    pub fn create(path: &Path) -> std::result::Result<Self, FileError> {
        let to = To::create(path).map_err(FileError::io(path))?;
        Ok(Self { path: path.to_owned(), to: BufWriter::with_capacity(1 << 16, to) })
    }

    /// Adds to it.
    ///
    /// # Errors
    /// The disk is full, or the like.
    pub fn write(&mut self, bytes: &[u8]) -> std::result::Result<(), FileError> {
        self.to.write_all(bytes).map_err(FileError::io(&self.path))
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// What was written does not reach the disk, or the name cannot be given.
    pub fn finish(self) -> std::result::Result<(), FileError> {
        let asked = self.path.clone();
        match self.whole()? {
            Some(Whole { file, path, unfinished: _unfinished }) => {
                let _naming = naming();
                file.persist(path).map_err(|error| FileError::io(&asked)(error.error))
            }
            None => Ok(()),
        }
    }

    /// Ends writing; what has no name yet is returned, on the disk.
    pub(crate) fn whole(self) -> std::result::Result<Option<Whole>, FileError> {
        let Self { path, to } = self;
        to.into_inner().map_err(std::io::IntoInnerError::into_error).and_then(To::whole).map_err(FileError::io(&path))
    }
}

impl To {
    fn create(path: &Path) -> Result<Self> {
        // Errors of the path itself, such as links in a circle, and whether there is something.
        let before = match std::fs::metadata(path) {
            Ok(before) if before.is_dir() => return Err(Error::from(ErrorKind::IsADirectory)),
            Ok(before) => Some(before),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let path = match followed(path)? {
            Followed::Descriptor(file) => return Ok(Self::Through(file)),
            Followed::Path(path) => path,
        };
        if before.is_some() {
            // A file that may not be written could still be replaced in its folder.
            let there = OpenOptions::new().write(true).open(&path)?;
            if !there.metadata()?.is_file() {
                return Ok(Self::Through(there));
            }
        }
        let _naming = naming();
        let file = whole(before.as_ref()).tempfile_in(folder(&path))?;
        let unfinished = Unfinished::new(file.path());
        Ok(Self::Whole { file, path, before, unfinished })
    }

    fn whole(self) -> Result<Option<Whole>> {
        match self {
            Self::Through(mut file) => file.flush().map(|()| None),
            Self::Whole { file, path, before, unfinished } => {
                if let Some(before) = before {
                    inherit(file.as_file(), &before)?;
                }
                file.as_file().sync_all()?;
                Ok(Some(Whole { file: file.into_temp_path(), path, unfinished }))
            }
        }
    }
}

impl Write for To {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        match self {
            Self::Whole { file, .. } => file.write(bytes),
            // A reader that went away wants no more.
            Self::Through(file) => file.write(bytes).or_else(|error| match error.kind() {
                ErrorKind::BrokenPipe => Ok(bytes.len()),
                _ => Err(error),
            }),
        }
    }

    fn flush(&mut self) -> Result<()> {
        match self {
            Self::Whole { file, .. } => file.flush(),
            Self::Through(file) => file.flush(),
        }
    }
}

/// A temporary file: a new one gets the permissions of any new file, one in another's place is its owner's alone until it has the other's.
fn whole(before: Option<&Metadata>) -> Builder<'static, 'static> {
    let mut builder = Builder::new();
    builder.prefix(".warpsight-");
    #[cfg(unix)]
    if before.is_none() {
        builder.permissions(<Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o666));
    }
    builder
}

/// Gives a file the owner and the permissions of another.
fn inherit(file: &File, before: &Metadata) -> Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        // Only the system's administrator may give files away. Permissions come after it, because a change of owner takes some away.
        let _ = fchown(file, Some(before.uid()), Some(before.gid()));
    }
    file.set_permissions(before.permissions())
}

/// Where a path leads.
enum Followed {
    /// A file of this name, or none yet.
    Path(PathBuf),
    /// What a descriptor of this process has open.
    Descriptor(File),
}

/// Follows symbolic links at the end of a path.
fn followed(path: &Path) -> Result<Followed> {
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        if let Some(open) = descriptor(&path)? {
            return Ok(Followed::Descriptor(open));
        }
        match std::fs::symlink_metadata(&path) {
            Ok(found) if found.is_symlink() => path = folder(&path).join(std::fs::read_link(&path)?),
            Ok(_) => return Ok(Followed::Path(path)),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Followed::Path(path)),
            Err(error) => return Err(error),
        }
    }
    Err(Error::other(format!("more than {LINKS} symbolic links")))
}

/// What an open descriptor leads to, where a path names one. Its link in `/proc` tells a file's name, but neither the place in the file nor
/// that it is to be added to; and a file that others have open must not be replaced under them.
fn descriptor(path: &Path) -> Result<Option<File>> {
    let Ok(listed) = std::fs::canonicalize(folder(path)) else { return Ok(None) };
    if !(listed.starts_with("/proc") && listed.ends_with("fd")) {
        return Ok(None);
    }
    #[cfg(unix)]
    if std::fs::canonicalize("/proc/self/fd").is_ok_and(|own| own == listed) {
        use std::os::fd::AsFd;
        match path.file_name().and_then(|name| name.to_str()) {
            Some("1") => return std::io::stdout().as_fd().try_clone_to_owned().map(|open| Some(open.into())),
            Some("2") => return std::io::stderr().as_fd().try_clone_to_owned().map(|open| Some(open.into())),
            _ => {}
        }
    }
    OpenOptions::new().append(true).open(path).map(Some)
}

/// The folder of a file.
pub(crate) fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
