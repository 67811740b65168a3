//! Files as every room reads and writes them: read within limits, written whole or not at all where that can be, and through to what is there
//! where it cannot.
//!
//! ```
//! # let folder = tempfile::tempdir()?;
//! let path = folder.path().join("report.json");
//! warpsight_files::write(&path, b"{}")?;
//! assert_eq!(warpsight_files::read_text(&path, warpsight_files::TEXT)?, "{}");
//! let refused = warpsight_files::read(&path, 1).unwrap_err();
//! assert_eq!(refused.to_string(), "it has 2 bytes; at most 1 are read");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod folder;
mod input;
mod listing;
mod output;
mod unfinished;

pub use folder::Folder;
pub use input::{MODEL, RECORDS, TEXT, name, read, read_from, read_or_stdin, read_text, text};
pub use listing::{below, entries, make_folder};
pub use output::{Output, write};
pub use unfinished::abandon;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Why a file could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The system refuses.
    #[error("{source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// It is longer than anything of its kind.
    #[error("{}; at most {limit} are read", size.map_or(format!("it has more than {limit} bytes"), |size| format!("it has {size} bytes")))]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its bytes, where that is known.
        size: Option<u64>,
        /// The most that is read.
        limit: u64,
    },
    /// It is not UTF-8.
    #[error("this is not text (UTF-8): byte {at} is wrong")]
    NoText {
        /// The file.
        path: PathBuf,
        /// How many bytes are text.
        at: usize,
    },
}

impl FileError {
    fn io(path: &Path) -> impl Fn(std::io::Error) -> Self {
        move |source| Self::Io { path: path.to_owned(), source }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        let (Self::Io { path, .. } | Self::TooLarge { path, .. } | Self::NoText { path, .. }) = self;
        path
    }

    /// Whether there is no such file.
    pub fn is_absence(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == ErrorKind::NotFound)
    }
}

/// From now on a file that gets longer than the process may write (`ulimit -f`) is an error of that file, as a full disk is: the signal that
/// comes with it would end the process without a word and leave what it was writing.
pub fn keep_from_being_killed() {
    #[cfg(target_os = "linux")]
    {
        /// `SIGXFSZ` on Linux.
        const TOO_LONG: i32 = 25;
        // Where this fails, nothing is worse than before.
        let _ = signal_hook::flag::register(TOO_LONG, Default::default());
    }
}

impl From<FileError> for std::io::Error {
    fn from(error: FileError) -> Self {
        match error {
            FileError::Io { source, .. } => source,
            other => Self::other(other.to_string()),
        }
    }
}
