//! Files that know each other in a circle can only be read all together, and in a folder of many files none is found: there are neither.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// From so many files on a folder needs an order.
const CROWD: usize = 20;

/// A file by its place among the modules of its room: `volumes::behind::dram`; the room itself is empty.
type Module = Vec<String>;

/// Files as they know each other.
type Known = BTreeMap<Module, BTreeSet<Module>>;

/// The source folders of all rooms.
fn rooms() -> Vec<PathBuf> {
    let house = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("rooms beside this one");
    let entries = warpsight_files::entries(house).expect("a readable house");
    let rooms: Vec<_> = entries.iter().map(|room| room.join("src")).filter(|source| source.is_dir()).collect();
    assert!(rooms.len() > 1, "{rooms:?}");
    rooms
}

/// The Rust files of a room, from its folder on.
fn sources(room: &Path) -> Vec<PathBuf> {
    let paths = warpsight_files::below(room).expect("a readable room");
    let sources: Vec<_> = paths.into_iter().filter(|path| path.extension().is_some_and(|ending| ending == "rs")).collect();
    assert!(!sources.is_empty(), "{}", room.display());
    sources
}

/// The files of a room without those of tests.
fn files(room: &Path) -> BTreeMap<Module, String> {
    let mut found = BTreeMap::new();
    for path in sources(room) {
        let place = path.strip_prefix(room).expect("below it").with_extension("");
        let mut module: Module = place.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        if module.iter().any(|part| part == "tests" || part == "testing") {
            continue;
        }
        if module.last().is_some_and(|name| name == "mod") || ["lib", "main"].contains(&module.join("/").as_str()) {
            module.pop();
        }
        found.insert(module, std::fs::read_to_string(&path).expect("a readable file"));
    }
    found
}

/// A text without its comments, what stands between quotes, and its tests.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().replace("'\"'", "''");
    let lines: Vec<&str> = text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
    lines.join("\n").replace("\\\"", "").split('"').step_by(2).collect::<Vec<_>>().join("\"\"")
}

/// The paths that `use` gives names: `a::{b, c::d}` is `a::b` and `a::c::d`.
fn expanded(tree: &str) -> Vec<String> {
    let Some((before, rest)) = tree.trim().split_once('{') else {
        return vec![tree.split(" as ").next().unwrap_or_default().trim().to_owned()];
    };
    let rest = rest.rsplit_once('}').map_or(rest, |(inside, _)| inside);
    let (mut parts, mut depth) = (vec![String::new()], 0);
    for c in rest.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        parts.last_mut().expect("one at least").push(c);
    }
    parts.iter().filter(|part| !part.trim().is_empty()).flat_map(|part| expanded(part)).map(|part| format!("{before}{part}")).collect()
}

/// All paths of a text.
fn paths(code: &str) -> Vec<String> {
    let named = code.match_indices("use ").filter(|(at, _)| !code[..*at].ends_with(|c: char| c.is_alphanumeric() || c == '_'));
    let named = named.filter_map(|(at, word)| code[at + word.len()..].split_once(';')).flat_map(|(tree, _)| expanded(tree));
    let inline = code.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
    named.chain(inline.filter(|path| path.contains("::")).map(str::to_owned)).collect()
}

/// Whom each file knows beside those around it: a file and those below it may know each other.
fn known(files: &BTreeMap<Module, String>) -> Known {
    let of = |module: &Module, path: &str| -> Option<Module> {
        let mut parts: Vec<String> = path.split("::").map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect();
        let mut base = module.clone();
        match parts.first()?.as_str() {
            "crate" => {
                parts.remove(0);
                base.clear();
            }
            "self" => drop(parts.remove(0)),
            "super" => {
                while parts.first().is_some_and(|part| part == "super") {
                    parts.remove(0);
                    base.pop();
                }
            }
            own => drop(files.get(&[&module[..], &[own.to_owned()]].concat())?),
        }
        let longest = (0..=parts.len()).rev().map(|n| [&base[..], &parts[..n]].concat()).find(|place| files.contains_key(place))?;
        (!module.starts_with(&longest)).then_some(longest)
    };
    files.iter().map(|(module, text)| (module.clone(), paths(&code(text)).iter().filter_map(|path| of(module, path)).collect())).collect()
}

/// Whom a file knows, whom those know, and so on.
fn reached<'a>(known: &'a Known, from: &'a Module) -> BTreeSet<&'a Module> {
    let (mut seen, mut left) = (BTreeSet::new(), vec![from]);
    while let Some(module) = left.pop() {
        left.extend(known.get(module).into_iter().flatten().filter(|next| seen.insert(*next)));
    }
    seen
}

/// The circles, the largest first, each by the names of its files.
fn circles(known: &Known) -> Vec<Vec<String>> {
    let all: BTreeMap<&Module, BTreeSet<&Module>> = known.keys().map(|module| (module, reached(known, module))).collect();
    let around = |module: &&Module| -> BTreeSet<String> {
        let back = |other: &&&Module| all.get(**other).is_some_and(|reached| reached.contains(*module));
        all[*module].iter().filter(back).map(|other| other.join("::")).collect()
    };
    let distinct: BTreeSet<BTreeSet<String>> = known.keys().map(|module| around(&module)).filter(|circle| circle.len() > 1).collect();
    let mut circles: Vec<Vec<String>> = distinct.into_iter().map(|circle| circle.into_iter().collect()).collect();
    circles.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
    circles
}

#[test]
fn no_files_stand_in_circles() {
    for room in rooms() {
        let circles = circles(&known(&files(&room)));
        assert!(circles.is_empty(), "`{}` has files that know each other in circles: {circles:#?}", room.display());
    }
}

#[test]
fn folders_can_be_overlooked() {
    for room in rooms() {
        let mut counts: BTreeMap<PathBuf, usize> = BTreeMap::new();
        for path in sources(&room) {
            *counts.entry(path.parent().expect("a folder").to_owned()).or_default() += 1;
        }
        let large: Vec<_> = counts.into_iter().filter(|(_, files)| *files >= CROWD).collect();
        assert!(large.is_empty(), "folders with {CROWD} files and more have no order: {large:?}");
    }
}

#[test]
fn circles_are_found() {
    let texts = [
        ("", "pub mod a;\nuse a::Thing;"),
        ("a", "use crate::b::{self, inner::Deep};\nstruct Thing;"),
        ("b", "pub mod inner;\n// crate::c is only spoken of\nconst WORDS: &str = \"crate::c\";"),
        ("b::inner", "fn deep() { super::super::c::call() }\nuse super::Own;"),
        ("c", "use super::{a::Thing as Other, d};\n#[cfg(test)]\nmod tests {\n    use crate::b::Own;\n}"),
        ("d", "use std::fmt;"),
    ];
    let module = |name: &str| name.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect::<Module>();
    let mut files: BTreeMap<Module, String> = texts.iter().map(|(name, text)| (module(name), (*text).to_owned())).collect();
    assert_eq!(circles(&known(&files)), [["a", "b::inner", "c"]]);
    files.insert(module("c"), "use super::d;".to_owned());
    assert_eq!(circles(&known(&files)), Vec::<Vec<String>>::new());
}
