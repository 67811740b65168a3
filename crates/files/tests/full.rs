//! A file that may not get longer, as on a full disk: an error, not the end of the process, and nothing is left. By itself, as the limit
//! is the whole process's.
#![cfg(target_os = "linux")]

use rustix::process::{Resource, Rlimit, setrlimit};
use std::io::ErrorKind;
use warpsight_files::{FileError, Folder, keep_from_being_killed, write};

#[test]
fn a_limit_on_files_is_an_error_and_nothing_is_left() {
    keep_from_being_killed();
    setrlimit(Resource::Fsize, Rlimit { current: Some(10_000), maximum: None }).unwrap();
    let sandbox = tempfile::tempdir().unwrap();
    let too_long = |error: FileError| matches!(error, FileError::Io { source, .. } if source.kind() == ErrorKind::FileTooLarge);
    let file = sandbox.path().join("file");
    std::fs::write(&file, "before").unwrap();
    assert!(too_long(write(&file, &[0; 20_000]).unwrap_err()));
    assert_eq!(std::fs::read(&file).unwrap(), b"before");
    // Longer than what is written at once.
    assert!(too_long(write(&file, &[0; 200_000]).unwrap_err()));
    let mut folder = Folder::create(&sandbox.path().join("out/deep")).unwrap();
    for n in 0..38 {
        folder.write(&n.to_string(), &[0; 9_000]).unwrap();
    }
    assert!(too_long(folder.write("long", &[0; 20_000]).unwrap_err()));
    drop(folder);
    let left: Vec<_> = std::fs::read_dir(sandbox.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["file"]);
}
