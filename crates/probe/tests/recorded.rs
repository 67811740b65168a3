//! Archives that no battery packed: refused by what they are, within limits, and nothing leaves the archive.

use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use tar::{Builder, EntryType, Header};
use warpsight_probe::battery::{BatteryError, recorded};

/// An archive with an entry of so many zeros.
fn archive(path: &Path, name: &str, kind: EntryType, zeros: u64) {
    let mut to = Builder::new(GzEncoder::new(File::create(path).unwrap(), Compression::fast()));
    let mut header = Header::new_gnu();
    // As it stands there: the library itself would not write a path that leads out.
    header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
    header.set_entry_type(kind);
    header.set_size(zeros);
    header.set_mode(0o644);
    header.set_cksum();
    to.append(&header, std::io::repeat(0).take(zeros)).unwrap();
    to.into_inner().unwrap().finish().unwrap();
}

fn refused(path: &Path) -> String {
    recorded(path).unwrap_err().to_string()
}

#[test]
fn what_unpacks_to_more_than_a_battery_writes_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bomb.tar.gz");
    archive(&path, "h200/peaks.json", EntryType::Regular, 300 << 20);
    assert!(path.metadata().unwrap().len() < 2 << 20);
    assert!(refused(&path).contains("it has more than 268435456 bytes; at most 268435456 are read"), "{}", refused(&path));
    // What is passed over is counted, too.
    archive(&path, "h200/other.bin", EntryType::Regular, 600 << 20);
    assert!(refused(&path).contains("it unpacks to more than 536870912 bytes"), "{}", refused(&path));
}

#[test]
fn paths_that_lead_out_links_and_torn_archives_are_no_files_of_a_battery() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("odd.tar.gz");
    for (name, kind) in [
        ("../peaks.json", EntryType::Regular),
        ("/etc/peaks.json", EntryType::Regular),
        ("a/b/c/peaks.json", EntryType::Regular),
        ("a/peaks.json", EntryType::Symlink),
        ("a/battery.json", EntryType::Regular),
        ("a/notes.txt", EntryType::Regular),
    ] {
        archive(&path, name, kind, 0);
        assert!(matches!(recorded(&path), Err(BatteryError::Nothing { .. })), "{name}");
    }
    archive(&path, "a/peaks.json", EntryType::Regular, 40_000);
    let found = recorded(&path).unwrap();
    assert!(found.len() == 1 && found[0].0.ends_with("odd.tar.gz/a/peaks.json"));
    assert!(found[0].1.as_ref().is_err_and(|error| error.to_string().contains("it is no JSON")));
    let mut half = std::fs::read(&path).unwrap();
    half.truncate(half.len() / 2);
    File::create(&path).unwrap().write_all(&half).unwrap();
    assert!(refused(&path).contains("this is no archive of a battery") || refused(&path).contains("odd.tar.gz"), "{}", refused(&path));
    std::fs::write(&path, [0x1f, 0x8b, 8, 0, 1, 2, 3]).unwrap();
    assert!(refused(&path).contains("this is no archive of a battery"), "{}", refused(&path));
}
