//! What is written lands where its path leads, and what was there before is not harmed.
#![cfg(unix)]

use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
use std::fs::{self, File, Permissions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use tempfile::tempdir;
use warpsight_files::{FileError, Output, write};

/// What the system says.
fn kind(error: FileError) -> ErrorKind {
    match error {
        FileError::Io { source, .. } => source.kind(),
        other => panic!("{other}"),
    }
}

/// Names in a folder.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn node(path: &Path, kind: FileType, of: (u32, u32)) -> bool {
    mknodat(CWD, path, kind, Mode::from_raw_mode(0o666), makedev(of.0, of.1)).is_ok()
}

#[test]
fn a_new_file_is_there_at_the_end_and_readable_as_any() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("new");
    let mut output = Output::create(&path).unwrap();
    output.write(b"half").unwrap();
    assert!(!path.exists());
    output.finish().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"half");
    let plain = folder.path().join("plain");
    fs::write(&plain, "").unwrap();
    assert_eq!(path.metadata().unwrap().mode(), plain.metadata().unwrap().mode());
    assert_eq!(names(folder.path()), ["new", "plain"]);
}

#[test]
fn a_file_is_replaced_at_the_end_and_keeps_its_permissions() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("old");
    for mode in [0o600, 0o640, 0o755, 0o4711] {
        fs::write(&path, "before").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        let inode = path.metadata().unwrap().ino();
        let mut output = Output::create(&path).unwrap();
        output.write(b"after").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"before");
        output.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"after");
        let now = path.metadata().unwrap();
        assert_eq!(now.mode() & 0o7777, mode);
        assert_ne!(now.ino(), inode, "another file under its name");
    }
    // Given up: what was there stays, and nothing else.
    Output::create(&path).unwrap().write(b"never").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"after");
    assert_eq!(names(folder.path()), ["old"]);
}

#[test]
fn links_stay_and_their_targets_are_written() {
    let folder = tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("far")).unwrap();
    fs::write(at("far/target"), "before").unwrap();
    fs::set_permissions(at("far/target"), Permissions::from_mode(0o604)).unwrap();
    symlink("far/target", at("relative")).unwrap();
    symlink(at("relative"), at("chain")).unwrap();
    symlink("far/none-yet", at("dangling")).unwrap();
    write(&at("chain"), b"after").unwrap();
    write(&at("dangling"), b"first").unwrap();
    for (link, to) in [("relative", "far/target"), ("dangling", "far/none-yet")] {
        assert_eq!(fs::read_link(at(link)).unwrap(), Path::new(to));
    }
    assert!(at("chain").is_symlink());
    assert_eq!(fs::read(at("far/target")).unwrap(), b"after");
    assert_eq!(at("far/target").metadata().unwrap().mode() & 0o777, 0o604);
    assert_eq!(fs::read(at("far/none-yet")).unwrap(), b"first");
    assert_eq!(names(&at("far")), ["none-yet", "target"]);

    symlink("circle", at("circle")).unwrap();
    assert!(write(&at("circle"), b"").is_err());
    symlink("no-folder/file", at("lost")).unwrap();
    assert_eq!(kind(write(&at("lost"), b"").unwrap_err()), ErrorKind::NotFound);
    assert_eq!(names(folder.path()), ["chain", "circle", "dangling", "far", "lost", "relative"]);
}

#[test]
fn pipes_get_all_of_it_and_stay_pipes() {
    let folder = tempdir().unwrap();
    let (pipe, link) = (folder.path().join("pipe"), folder.path().join("link"));
    assert!(node(&pipe, FileType::Fifo, (0, 0)));
    symlink("pipe", &link).unwrap();
    let long = vec![b'x'; 300_000];
    for path in [&pipe, &link] {
        let read = std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let mut read = Vec::new();
                File::open(&pipe).unwrap().read_to_end(&mut read).unwrap();
                read
            });
            write(path, &long).unwrap();
            reader.join().unwrap()
        });
        assert_eq!(read, long);
    }
    // A reader that wants no more ends nothing.
    std::thread::scope(|scope| {
        scope.spawn(|| drop(File::open(&pipe).unwrap()));
        write(&pipe, &long).unwrap();
    });
    assert!(pipe.metadata().unwrap().file_type().is_fifo());
    assert_eq!(names(folder.path()), ["link", "pipe"]);
}

#[test]
fn devices_stay_devices() {
    let folder = tempdir().unwrap();
    let (null, full) = (folder.path().join("null"), folder.path().join("full"));
    // Who may not make devices uses those of the system, which are then safe from them.
    let own = node(&null, FileType::CharacterDevice, (1, 3)) && node(&full, FileType::CharacterDevice, (1, 7));
    // Some disks hold device nodes that cannot be opened.
    let opened = own && File::options().write(true).open(&null).is_ok();
    let (null, full) = if opened { (null, full) } else { ("/dev/null".into(), "/dev/full".into()) };
    if rustix::process::geteuid().is_root() && !opened {
        return;
    }
    let before = (null.metadata().unwrap().rdev(), null.metadata().unwrap().ino());
    write(&null, b"gone").unwrap();
    assert_eq!(kind(write(&full, b"gone").unwrap_err()), ErrorKind::StorageFull);
    let after = null.metadata().unwrap();
    assert!(after.file_type().is_char_device());
    assert_eq!((after.rdev(), after.ino()), before);
}

#[test]
fn folders_and_files_that_may_not_be_written_are_refused_before_anything_is_done() {
    let folder = tempdir().unwrap();
    let refused = |path: &Path| Output::create(path).err().map(kind);
    assert_eq!(refused(folder.path()), Some(ErrorKind::IsADirectory));
    assert_eq!(refused(&folder.path().join("none/file")), Some(ErrorKind::NotFound));
    let file = folder.path().join("file");
    fs::write(&file, "kept").unwrap();
    assert_eq!(refused(&file.join("below")), Some(ErrorKind::NotADirectory));
    fs::set_permissions(&file, Permissions::from_mode(0o444)).unwrap();
    if !rustix::process::geteuid().is_root() {
        assert_eq!(refused(&file), Some(ErrorKind::PermissionDenied));
    }
    assert_eq!(fs::read(&file).unwrap(), b"kept");
}
