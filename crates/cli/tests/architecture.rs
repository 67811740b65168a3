//! The house as ARCHITECTURE.md draws it, kept by a test: who may know whom, and what is absent where.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Each room, the command among them, and the rooms it may know.
type Drawn = BTreeMap<String, BTreeSet<String>>;

/// The table of ARCHITECTURE.md: `| room | what it owns | whom it knows |`. The command knows all.
fn drawn() -> Drawn {
    let drawing = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ARCHITECTURE.md")).expect("a drawing");
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim().trim_matches('|').split('|').map(str::trim).collect();
        let [room, _, knows] = cells[..] else { return None };
        let room = room.strip_prefix('`')?.strip_suffix('`')?;
        let knows = knows.split(',').map(str::trim).filter(|other| *other != "–").map(str::to_owned).collect();
        Some((room.to_owned(), knows))
    };
    let table = drawing.lines().skip_while(|line| !line.starts_with("| crate | owns | knows |")).take_while(|line| line.starts_with('|'));
    let mut drawn: Drawn = table.filter_map(row).collect();
    let knows_all: BTreeSet<String> = BTreeSet::from(["all".to_owned()]);
    assert_eq!(drawn.remove("cli"), Some(knows_all), "the command knows all");
    drawn
}

/// What a crate of this workspace depends on within it, as (kind, room).
type Known = BTreeMap<String, BTreeSet<(String, String)>>;

/// The command's package, which knows all rooms and is known by none.
const COMMAND: &str = "warpsight";

/// `warpsight-ir` is the room `ir`.
fn room(package: &str) -> &str {
    package.strip_prefix("warpsight-").unwrap_or(package)
}

fn house() -> Known {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline", "--manifest-path"])
        .arg(manifest)
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo prints JSON");
    let text = |value: &Value| value.as_str().unwrap_or("normal").to_owned();
    let inside = |name: &str| name.starts_with("warpsight");
    let packages = metadata["packages"].as_array().expect("packages");
    let known = |package: &Value| {
        let dependencies = package["dependencies"].as_array().expect("dependencies").iter();
        let dependencies = dependencies.map(|d| (text(&d["kind"]), text(&d["name"]))).filter(|(_, name)| inside(name));
        dependencies.map(|(kind, name)| (kind, room(&name).to_owned())).collect()
    };
    packages.iter().map(|package| (room(&text(&package["name"])).to_owned(), known(package))).collect()
}

/// The arrows of a house that are not drawn, and the drawn ones that it does not have. Tests may use any room that comes before or beside,
/// but never the command.
fn differences(house: &Known, drawn: &Drawn) -> Vec<String> {
    let mut found = Vec::new();
    for (name, known) in house {
        let allowed = drawn.get(name);
        if allowed.is_none() && name != COMMAND {
            found.push(format!("nobody knows the room `{name}`"));
        }
        for (kind, other) in known {
            let may = allowed.is_none_or(|rooms| rooms.contains(other) || kind == "dev");
            if !may || other == COMMAND {
                found.push(format!("`{name}` must not know `{other}`"));
            }
        }
    }
    let knows = |name: &str, other: &str| house.get(name).is_some_and(|known| known.iter().any(|(kind, to)| kind != "dev" && to == other));
    for (name, rooms) in drawn {
        if !house.contains_key(name) {
            found.push(format!("there is no room `{name}`"));
        }
        found.extend(rooms.iter().filter(|other| !knows(name, other)).map(|other| format!("`{name}` does not know `{other}`")));
        if !knows(COMMAND, name) {
            found.push(format!("the command does not know `{name}`"));
        }
    }
    found
}

#[test]
fn the_house_is_as_it_is_drawn() {
    let drawn = drawn();
    assert!(drawn.len() >= 12, "{drawn:?}");
    assert_eq!(differences(&house(), &drawn), Vec::<String>::new());
}

#[test]
fn a_wrong_arrow_is_found() {
    let (mut house, mut drawn) = (house(), drawn());
    let arrow = |kind: &str, to: &str| (kind.to_owned(), to.to_owned());
    house.entry("predict".to_owned()).or_default().insert(arrow("normal", "sim"));
    house.entry("emit".to_owned()).or_default().insert(arrow("dev", "sim"));
    house.entry("engine".to_owned()).or_default().insert(arrow("normal", "predict"));
    house.entry("ir".to_owned()).or_default().insert(arrow("dev", COMMAND));
    house.insert("attic".to_owned(), BTreeSet::new());
    drawn.entry("dataflow".to_owned()).or_default().insert("emit".to_owned());
    // What tests alone use is no arrow.
    drawn.entry("engine".to_owned()).or_default().insert("emit".to_owned());
    drawn.insert("cellar".to_owned(), BTreeSet::new());
    let expected = [
        "nobody knows the room `attic`",
        "`engine` must not know `predict`",
        "`ir` must not know `warpsight`",
        "`predict` must not know `sim`",
        "there is no room `cellar`",
        "the command does not know `cellar`",
        "`dataflow` does not know `emit`",
        "`engine` does not know `emit`",
    ];
    assert_eq!(differences(&house, &drawn), expected);
}

/// An arrow that only stands in a manifest is none.
#[test]
fn who_is_known_is_used() {
    for (room, knows) in drawn() {
        for other in knows {
            assert_ne!(lines_with(&room, &[&format!("warpsight_{other}::")]), Vec::<String>::new(), "`{room}` does not use `{other}`");
        }
    }
}

/// Every Rust file under `crates/<room>/<folder>`, with its text.
fn sources(room: &str, folder: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name(room).join(folder)];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for path in entries.map(|entry| entry.expect("a readable folder").path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).expect("a readable file");
                found.push((path, text));
            }
        }
    }
    found
}

/// Lines of a room's sources, outside comments, that contain one of `words`.
fn lines_with(room: &str, words: &[&str]) -> Vec<String> {
    let sources = sources(room, "src");
    assert!(!sources.is_empty(), "`{room}` has sources");
    let lines = sources.iter().flat_map(|(path, text)| text.lines().map(move |line| (path, line)));
    let code = lines.filter(|(_, line)| !line.trim_start().starts_with("//"));
    code.filter(|(_, line)| words.iter().any(|word| line.contains(word)))
        .map(|(path, line)| format!("{}: {line}", path.display()))
        .collect()
}

#[test]
fn nouns_and_models_touch_nothing_outside() {
    for room in ["ir", "predict", "shader"] {
        let found = lines_with(room, &["std::fs", "std::net", "std::env", "std::process", "std::time", "File::open", "println!"]);
        assert_eq!(found, Vec::<String>::new(), "`{room}` does no I/O and reads no clock");
    }
}

/// What a user names is read within limits and written without harm in one place. The system's own files and tests may be read as they are.
#[test]
fn files_are_read_and_written_in_one_room() {
    let words = [
        "fs::read(",
        "fs::read_to_string(",
        "fs::read_dir(",
        "fs::write(",
        "create_dir_all(",
        "File::create(",
        "fs::rename(",
        "tempfile_in(",
        ".persist(",
    ];
    // A battery's file that is moved aside gets a name that is free; a cache is written beside its place; what other programs read and write
    // lies in temporary folders; the store is SQLite's.
    let aside =
        ["rename(path, free)", "/cache.rs", "/ptxas.rs: ", "SwiftShader.ini", "own.path()", "file.path()", "(&log)", "StoreError::Folder"];
    for room in ["graph", "engine", "dataflow", "probe", "run", "learn", "cli"] {
        let mut found = lines_with(room, &words);
        found.retain(|line| !["\"/proc/", "/proc/{", ".unwrap()"].iter().chain(&aside).any(|word| line.contains(word)));
        assert_eq!(found, Vec::<String>::new(), "`{room}` reads and writes through `files`");
    }
}

/// The simulated silicon is the truth that models are judged by: they may not see it.
#[test]
fn models_cannot_see_the_silicon() {
    assert_eq!(lines_with("predict", &["Silicon", "sim/devices"]), Vec::<String>::new());
}

#[test]
fn only_the_runtimes_are_unsafe() {
    let mut rooms: Vec<String> = drawn().into_keys().filter(|room| room != "run").collect();
    rooms.push("cli".to_owned());
    for room in &rooms {
        assert_eq!(lines_with(room, &["unsafe {", "unsafe fn", "unsafe impl", "allow(unsafe_code)"]), Vec::<String>::new());
    }
}

#[test]
fn no_file_is_too_long_to_read() {
    for room in drawn().into_keys().chain(["cli".to_owned()]) {
        for (path, text) in sources(&room, "src").into_iter().chain(sources(&room, "tests")) {
            let lines = text.lines().count();
            assert!(lines <= 800, "{} has {lines} lines: split it", path.display());
        }
    }
}
