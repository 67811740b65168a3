//! Names that are taken back where the process ends in the middle.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Files under other names than they shall have, and folders that were made for them.
static NAMES: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
/// Held while files get their names, and from [`abandon`] on.
static NAMING: Mutex<()> = Mutex::new(());

/// A name that [`abandon`] takes back, until this is dropped.
pub(crate) struct Unfinished(PathBuf);

impl Unfinished {
    pub(crate) fn new(path: &Path) -> Self {
        lock(&NAMES).insert(path.to_owned());
        Self(path.to_owned())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        lock(&NAMES).remove(&self.0);
    }
}

/// Nothing is abandoned until this is dropped.
pub(crate) fn naming() -> MutexGuard<'static, ()> {
    lock(&NAMING)
}

/// Takes back all that is not finished, for a process that is about to end while other threads write: from now on no file gets its name.
pub fn abandon() {
    std::mem::forget(naming());
    // From the longest: files are in folders. A folder with anything in it stays, and what is not there need not go.
    for path in std::mem::take(&mut *lock(&NAMES)).into_iter().rev() {
        let _ = std::fs::remove_file(&path).or_else(|_| std::fs::remove_dir(&path));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
