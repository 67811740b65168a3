//! Files of a folder get their names together, or none does and what was there is there again.

use std::fs;
use std::path::Path;
use warpsight_files::{FileError, Folder};

/// Names below a folder and what they hold; nothing for folders.
fn tree(folder: &Path) -> Vec<(String, String)> {
    let mut found = vec![];
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for path in fs::read_dir(next).unwrap().map(|entry| entry.unwrap().path()) {
            let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
            if path.is_dir() {
                found.push((name, String::new()));
                folders.push(path);
            } else {
                found.push((name, fs::read_to_string(path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

fn named(all: &[(&str, &str)]) -> Vec<(String, String)> {
    all.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

#[test]
fn nothing_has_a_name_before_all_are_written() {
    let sandbox = tempfile::tempdir().unwrap();
    let out = sandbox.path().join("a/b");
    let mut folder = Folder::create(&out).unwrap();
    folder.write("one", b"1").unwrap();
    folder.write("deep/two", b"2").unwrap();
    folder.write("list", b"one two").unwrap();
    assert!(["one", "deep/two", "list"].iter().all(|name| !out.join(name).exists()));
    folder.finish().unwrap();
    assert_eq!(tree(&out), named(&[("deep", ""), ("deep/two", "2"), ("list", "one two"), ("one", "1")]));
}

#[test]
fn what_is_given_up_leaves_nothing() {
    let sandbox = tempfile::tempdir().unwrap();
    let mut folder = Folder::create(&sandbox.path().join("a/b")).unwrap();
    folder.write("one", b"1").unwrap();
    folder.write("deep/two", b"2").unwrap();
    drop(folder);
    assert_eq!(tree(sandbox.path()), []);
    // What was there stays, and what is no file is refused before anything is named.
    fs::create_dir(sandbox.path().join("taken")).unwrap();
    let mut folder = Folder::create(sandbox.path()).unwrap();
    folder.write("one", b"1").unwrap();
    assert!(folder.write("taken", b"2").is_err());
    drop(folder);
    assert_eq!(tree(sandbox.path()), named(&[("taken", "")]));
}

#[test]
fn names_are_taken_back_where_one_cannot_be_given() {
    let sandbox = tempfile::tempdir().unwrap();
    let at = |name: &str| sandbox.path().join(name);
    fs::write(at("old"), "before").unwrap();
    fs::write(at("list"), "old").unwrap();
    for late in ["middle", "list"] {
        let mut folder = Folder::create(sandbox.path()).unwrap();
        for name in ["old", "new", "middle", "last", "list"] {
            folder.write(name, b"after").unwrap();
        }
        // Somebody is faster.
        let _ = fs::remove_file(at(late));
        fs::create_dir(at(late)).unwrap();
        let refused = folder.finish().unwrap_err();
        assert!(matches!(&refused, FileError::Io { path, .. } if *path == at(late)), "{refused:?}");
        fs::remove_dir(at(late)).unwrap();
        fs::write(at("list"), "old").unwrap();
        assert_eq!(tree(sandbox.path()), named(&[("list", "old"), ("old", "before")]), "{late}");
    }
}
