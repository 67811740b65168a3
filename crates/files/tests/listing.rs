//! Folders are listed in one order, whatever is in them.

#[cfg(unix)]
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::fs;
use std::path::{Path, PathBuf};
use warpsight_files::{FileError, below, entries, make_folder, write};

/// Paths from a folder on.
fn from(folder: &Path, paths: Vec<PathBuf>) -> Vec<String> {
    paths.iter().map(|path| path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned()).collect()
}

#[test]
fn folders_are_listed_sorted_and_to_their_ends() {
    let sandbox = tempfile::tempdir().unwrap();
    let at = |name: &str| sandbox.path().join(name);
    make_folder(&at("b/deep/deeper")).unwrap();
    make_folder(&at("b")).unwrap();
    for name in ["c", "b/two", "b/deep/deeper/three", "a", "b/deep-not"] {
        write(&at(name), b"1").unwrap();
    }
    let listed = |path: &Path| from(sandbox.path(), entries(path).unwrap());
    assert_eq!(listed(sandbox.path()), ["a", "b", "c"]);
    assert_eq!(listed(&at("b")), ["b/deep", "b/deep-not", "b/two"]);
    let walked = |path: &Path| from(sandbox.path(), below(path).unwrap());
    assert_eq!(walked(sandbox.path()), ["a", "b/deep/deeper/three", "b/deep-not", "b/two", "c"]);
    assert_eq!(walked(&at("c")), ["c"], "a file is itself");
}

#[cfg(unix)]
#[test]
fn links_are_named_and_pipes_left_out() {
    let sandbox = tempfile::tempdir().unwrap();
    let at = |name: &str| sandbox.path().join(name);
    make_folder(&at("inside")).unwrap();
    write(&at("file"), b"1").unwrap();
    std::os::unix::fs::symlink(sandbox.path(), at("inside/back")).unwrap();
    mknodat(CWD, at("pipe"), FileType::Fifo, Mode::from_raw_mode(0o666), 0).unwrap();
    assert_eq!(from(sandbox.path(), below(sandbox.path()).unwrap()), ["file", "inside/back"]);
}

#[test]
fn what_is_no_folder_is_named() {
    let sandbox = tempfile::tempdir().unwrap();
    let file = sandbox.path().join("file");
    fs::write(&file, b"1").unwrap();
    let absent = sandbox.path().join("absent");
    for error in [entries(&absent).unwrap_err(), below(&absent).unwrap_err()] {
        assert!(error.is_absence() && error.path() == absent, "{error:?}");
    }
    for (error, path) in [(entries(&file).unwrap_err(), &file), (make_folder(&file).unwrap_err(), &file)] {
        assert!(matches!(&error, FileError::Io { path: at, .. } if at == path), "{error:?}");
    }
}
