//! A process that ends while it writes leaves nothing half-written. Alone in its file: nothing gets a name afterwards.

use std::fs;
use warpsight_files::{Folder, Output, abandon};

#[test]
fn what_is_abandoned_leaves_nothing_and_what_was_finished_stays() {
    let sandbox = tempfile::tempdir().unwrap();
    let names = || {
        let mut names: Vec<String> =
            fs::read_dir(sandbox.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    warpsight_files::write(&sandbox.path().join("done"), b"0").unwrap();
    let mut whole = Folder::create(&sandbox.path().join("whole")).unwrap();
    whole.write("one", b"1").unwrap();
    whole.finish().unwrap();

    let mut output = Output::create(&sandbox.path().join("half")).unwrap();
    output.write(b"1").unwrap();
    let mut folder = Folder::create(&sandbox.path().join("made/inside")).unwrap();
    folder.write("one", b"1").unwrap();
    folder.write("deep/two", b"2").unwrap();
    assert_eq!(names().len(), 4, "a temporary name among them: {:?}", names());
    abandon();
    assert_eq!(names(), ["done", "whole"]);
    assert_eq!(fs::read(sandbox.path().join("done")).unwrap(), b"0");
    assert_eq!(fs::read(sandbox.path().join("whole/one")).unwrap(), b"1");
    // What goes on writing waits for the end of the process.
    let late = std::thread::spawn(move || output.finish());
    std::thread::sleep(std::time::Duration::from_millis(50));
    assert!(!late.is_finished());
    assert_eq!(names(), ["done", "whole"]);
}
