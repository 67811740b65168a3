//! Every room can be published: what it includes lies inside of its package, and its first page shows what it is for.

use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// What cargo says, without a network.
fn cargo(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO")).args(arguments).arg("--offline").current_dir(ROOT).output().expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("cargo prints UTF-8")
}

fn packages() -> Vec<Value> {
    let metadata: Value = serde_json::from_str(&cargo(&["metadata", "--format-version", "1", "--no-deps"])).expect("JSON");
    metadata["packages"].as_array().expect("packages").clone()
}

fn text<'a>(package: &'a Value, key: &str) -> &'a str {
    package[key].as_str().unwrap_or_default()
}

/// The files that a source includes, as it names them, and whether that is from the package's root.
fn included(source: &str) -> Vec<(String, bool)> {
    let mut found = Vec::new();
    for (at, name) in ["include_str!(", "include_bytes!(", "include!(", "include_dir!("].iter().flat_map(|word| source.match_indices(word))
    {
        let call = source[at + name.len()..].split_once(')').map_or("", |(call, _)| call);
        let path =
            source[at + name.len()..].split('"').filter(|part| part.contains(['/', '.'])).map(str::to_owned).next().unwrap_or_default();
        let rooted = call.contains("CARGO_MANIFEST_DIR");
        found.push((path.replace("$CARGO_MANIFEST_DIR", "").trim_start_matches(['/']).to_owned(), rooted && !path.is_empty()));
    }
    found
}

/// Without `..`; nothing where it leaves the package.
fn inside(path: &Path) -> Option<PathBuf> {
    path.components().try_fold(PathBuf::new(), |mut sum, part| match part {
        Component::ParentDir => sum.pop().then_some(sum),
        part => {
            sum.push(part);
            Some(sum)
        }
    })
}

/// What a package includes and does not have, where `read` gives the text of its files.
fn missing(files: &BTreeSet<PathBuf>, read: impl Fn(&Path) -> String) -> Vec<String> {
    let sources = files.iter().filter(|file| file.starts_with("src") && file.extension().is_some_and(|e| e == "rs"));
    let all = sources.flat_map(|file| included(&read(file)).into_iter().map(move |(path, rooted)| (file, path, rooted)));
    let is_there = |place: &Path| files.iter().any(|file| file.starts_with(place));
    let lost = all.filter(|(file, path, rooted)| {
        let folder = if *rooted { Path::new("") } else { file.parent().expect("a folder") };
        !inside(&folder.join(path)).is_some_and(|place| is_there(&place))
    });
    lost.map(|(file, path, _)| format!("{}: {path}", file.display())).collect()
}

#[test]
fn a_package_has_what_it_includes() {
    let packages = packages();
    assert!(packages.len() >= 14, "{packages:?}");
    for package in &packages {
        let name = text(package, "name");
        let folder = Path::new(text(package, "manifest_path")).parent().expect("a folder");
        let list = cargo(&["package", "--list", "--allow-dirty", "-p", name]);
        let files: BTreeSet<PathBuf> = list.lines().map(|line| PathBuf::from(line.replace('\\', "/"))).collect();
        let read = |file: &Path| std::fs::read_to_string(folder.join(file)).unwrap_or_else(|e| panic!("{name}, {}: {e}", file.display()));
        assert_eq!(missing(&files, read), Vec::<String>::new(), "{name}");
        for wanted in ["README.md", "LICENSE-APACHE", "LICENSE-MIT"] {
            assert!(files.contains(Path::new(wanted)), "{name} has no {wanted}");
        }
        assert!(text(package, "description").len() > 20, "{name} says what it is");
        for dependency in package["dependencies"].as_array().expect("dependencies").iter().filter(|d| !d["path"].is_null()) {
            assert_ne!(dependency["req"], "*", "{name} wants a version of {}", dependency["name"]);
        }
    }
}

#[test]
fn what_lies_outside_is_found() {
    let source = r#"const A: &str = include_str!("../data/a.toml"); const B: &[u8] = include_bytes!("../../../b.bin");
        static C: Dir = include_dir!("$CARGO_MANIFEST_DIR/pictures"); const D: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/d.txt"));"#;
    let files = ["src/lib.rs", "data/a.toml", "pictures/1.png"].map(PathBuf::from).into();
    assert_eq!(missing(&files, |_| source.to_owned()), ["src/lib.rs: d.txt", "src/lib.rs: ../../../b.bin"]);
}

/// The first comment of a library is its first page: what it is, and an example that is a test.
#[test]
fn the_first_page_has_an_example() {
    for package in packages() {
        let folder = Path::new(text(&package, "manifest_path")).parent().expect("a folder");
        let source =
            ["src/lib.rs", "src/main.rs"].iter().find_map(|file| std::fs::read_to_string(folder.join(file)).ok()).expect("a source");
        let page: Vec<&str> = source.lines().take_while(|line| line.starts_with("//!")).collect();
        let fences = page.iter().filter(|line| line.starts_with("//! ```")).count();
        assert!(page.len() > 3 && fences >= 2, "{} begins with no example", text(&package, "name"));
    }
}

/// A library's example is a test of its documentation; the command's are run here.
#[test]
fn the_commands_of_the_first_page_run() {
    let source = include_str!("../src/main.rs");
    let lines: Vec<&str> = source.lines().filter_map(|line| line.strip_prefix("//! $ warpsight ")).collect();
    assert!(lines.len() >= 3, "{lines:?}");
    let data = tempfile::tempdir().expect("a folder");
    for line in lines {
        // Words, and what stands between quotes.
        let quoted = line.split('"').enumerate();
        let words = quoted.flat_map(|(at, part)| if at % 2 == 1 { vec![part] } else { part.split_whitespace().collect() });
        let output = Command::new(env!("CARGO_BIN_EXE_warpsight")).args(words).current_dir(ROOT).env("XDG_DATA_HOME", data.path()).output();
        let output = output.expect("the command runs");
        assert!(output.status.success() && !output.stdout.is_empty(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
