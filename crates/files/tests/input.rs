//! Nothing is read without a limit, and sizes are known before anything is read.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use warpsight_files::{FileError, MODEL, TEXT, read, read_text};

#[test]
fn what_is_longer_than_its_limit_is_refused_with_both_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    std::fs::write(&path, "twelve bytes").unwrap();
    assert_eq!(read(&path, 12).unwrap(), b"twelve bytes");
    assert_eq!(read_text(&path, 100).unwrap(), "twelve bytes");
    let refused = read(&path, 11).unwrap_err();
    assert!(matches!(&refused, FileError::TooLarge { size: Some(12), limit: 11, path: at } if *at == path), "{refused:?}");
    assert_eq!(refused.to_string(), "it has 12 bytes; at most 11 are read");

    // A file with holes: its size says enough, nothing of it is read.
    File::create(&path).unwrap().set_len(1 << 40).unwrap();
    assert_eq!(read(&path, MODEL).unwrap_err().to_string(), "it has 1099511627776 bytes; at most 2147483647 are read");
    File::create(&path).unwrap().write_all(b"text\xff").unwrap();
    assert!(matches!(read_text(&path, TEXT), Err(FileError::NoText { at: 4, .. })));
    assert!(read(&folder.path().join("none"), TEXT).unwrap_err().is_absence());
}

#[cfg(unix)]
#[test]
fn what_never_ends_is_read_to_its_limit() {
    let refused = read(Path::new("/dev/zero"), TEXT).unwrap_err();
    assert_eq!(refused.to_string(), "it has more than 16777216 bytes; at most 16777216 are read");
    // Where a file may be long, what does not say its length may not.
    assert!(matches!(read(Path::new("/dev/zero"), MODEL), Err(FileError::TooLarge { size: None, limit, .. }) if limit < MODEL));
}
