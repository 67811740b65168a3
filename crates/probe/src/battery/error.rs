//! What keeps a battery from running, or its files from being read.

use std::path::PathBuf;
use warpsight_files::FileError;

/// What is wrong with a folder of measurements.
#[derive(Debug, thiserror::Error)]
pub enum BatteryError {
    /// Another battery writes there.
    #[error("another battery is writing to `{}`; wait for its end, or give another folder", dir.display())]
    FolderBusy {
        /// The folder.
        dir: PathBuf,
    },
    /// Another battery measures on the device: the times of both would be worthless.
    #[error("another battery is measuring on {device}; wait for its end: the times of both would be worthless")]
    DeviceBusy {
        /// The device.
        device: String,
    },
    /// The folder holds measurements of something else.
    #[error("`{}` holds measurements of {found}, these would be of {wanted}; give another folder", dir.display())]
    Foreign {
        /// The folder.
        dir: PathBuf,
        /// Device and scale of what is there.
        found: String,
        /// Device and scale asked for.
        wanted: String,
    },
    /// A file is not what it should be.
    #[error("`{}`: {what}", file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// What is wrong, and in which field.
        what: String,
    },
    /// Nothing that a battery wrote.
    #[error("there are no files of a battery in `{}`", path.display())]
    Nothing {
        /// Where not.
        path: PathBuf,
    },
    /// A file could not be read or written.
    #[error("`{}`: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
}

impl From<FileError> for BatteryError {
    fn from(error: FileError) -> Self {
        let path = error.path().to_owned();
        match error {
            FileError::Io { source, .. } => Self::Io { path, source },
            other => Self::Damaged { file: path, what: other.to_string() },
        }
    }
}

impl BatteryError {
    /// An error of the system, at a path.
    pub(super) fn io(path: &std::path::Path) -> impl Fn(std::io::Error) -> Self {
        move |source| Self::Io { path: path.to_owned(), source }
    }
}
