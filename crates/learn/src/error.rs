//! What can go wrong with the store, and what to do about it.

use rusqlite::ErrorCode;
use std::path::{Path, PathBuf};

/// Why the store could not be opened, written or read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The folder of a new store cannot be made.
    #[error("cannot make the folder `{}` for the store: {source}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The path cannot be opened at all.
    #[error("cannot open the store `{}`: it is no file that may be read and written", path.display())]
    CannotOpen {
        /// The store's file.
        path: PathBuf,
    },
    /// The file is something else.
    #[error("`{}` is not a warpsight store: {what}; give another file, it was left as it is", path.display())]
    NotAStore {
        /// The file.
        path: PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// The file is damaged.
    #[error("the store `{}` is damaged ({what}); move it away, or recover it with the `.recover` command of the sqlite3 shell", path.display())]
    Damaged {
        /// The store's file.
        path: PathBuf,
        /// What was found.
        what: String,
    },
    /// A later version of warpsight wrote the file.
    #[error("the store `{}` has schema version {found}, this warpsight knows up to {known}; use a newer warpsight or another file", path.display())]
    Newer {
        /// The store's file.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The newest version known here.
        known: i64,
    },
    /// The file may not be written.
    #[error("the store `{}` may only be read", path.display())]
    ReadOnly {
        /// The store's file.
        path: PathBuf,
    },
    /// No room is left.
    #[error("no room is left for the store `{}`; what it held before is kept", path.display())]
    Full {
        /// The store's file.
        path: PathBuf,
    },
    /// Another process holds the store for longer than it should.
    #[error("the store `{}` has been locked by another process for {seconds} s", path.display())]
    Busy {
        /// The store's file.
        path: PathBuf,
        /// How long this process waited.
        seconds: u64,
    },
    /// The sample is not one.
    #[error("this is no sample to store: {0}")]
    BadSample(String),
    /// Two texts claim one hash.
    #[error("subject `{hash}` is stored with another text or kind; hash the text with `subject_hash`")]
    HashClash {
        /// The hash.
        hash: String,
    },
    /// Anything else SQLite reports.
    #[error("the store `{}` failed: {source}", path.display())]
    Sqlite {
        /// The store's file.
        path: PathBuf,
        /// What SQLite says.
        source: rusqlite::Error,
    },
}

/// How long a process waits for another one's transaction.
pub(crate) const PATIENCE_SECONDS: u64 = 60;

/// Says what an error of SQLite means for the store at `path`.
pub(crate) fn explain(path: &Path, source: rusqlite::Error) -> StoreError {
    let path = path.to_owned();
    match source.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => StoreError::NotAStore { path, what: "it is no SQLite file" },
        Some(ErrorCode::DatabaseCorrupt) => StoreError::Damaged { path, what: source.to_string() },
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => StoreError::CannotOpen { path },
        Some(ErrorCode::ReadOnly) => StoreError::ReadOnly { path },
        Some(ErrorCode::DiskFull) => StoreError::Full { path },
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy { path, seconds: PATIENCE_SECONDS },
        _ => StoreError::Sqlite { path, source },
    }
}
