//! Which packages hold shaders, and where in them.

use super::files;
use super::found::{Found, Package};
use crate::failure::Failure;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use warpsight_shader::wrap::Dialect;

/// How the shaders of a package are read.
type Own = fn(&Package) -> Result<Vec<Found>, Failure>;

/// The packages of npm whose shaders stand in a form of their own; all others are searched for strings that are shaders.
const OWN: &[(&str, Own)] =
    &[("gl-transitions", gl_transitions), ("glsl-transitions", glsl_transitions), ("butterchurn-presets", butterchurn)];

/// Where the shaders of known packages are, so that builds of the same files are not read twice: folders, ending of files.
const WHERE: &[(&str, &[&str], &str)] = &[
    ("three", &["src/renderers/shaders", "examples/jsm"], "js"),
    ("@babylonjs/core", &["Shaders"], "fragment.js"),
    ("pixi-filters", &["lib"], "mjs"),
    ("@paper-design/shaders", &["dist"], "js"),
    ("postprocessing", &["build/index.js"], "js"),
];

/// All shaders below a path: a folder of packages, a package, or a folder or file of GLSL.
pub fn find(path: &Path) -> Result<Vec<Found>, Failure> {
    path.metadata().map_err(|e| Failure::io(path, &e))?;
    let packages = packages(path)?;
    if packages.is_empty() {
        return files::find(path, None);
    }
    let mut found = Vec::new();
    for package in packages {
        found.extend(match OWN.iter().find(|(name, _)| *name == package.name) {
            Some((_, own)) => own(&package)?,
            None if package.folder.join("usr/share").is_dir() => files::find(&package.folder.clone(), Some(&package))?,
            None => {
                let place = WHERE.iter().find(|(name, ..)| *name == package.name);
                files::strings(&package, place.map_or(&[""], |p| p.1), place.map_or("js", |p| p.2))?
            }
        });
    }
    Ok(found)
}

/// The packages at or below a path, sorted by name.
fn packages(path: &Path) -> Result<Vec<Package>, Failure> {
    let mut all = Vec::new();
    for folder in std::iter::once(path.to_path_buf()).chain(folders(path)?) {
        if folder.ends_with("debian") {
            all.extend(folders(&folder)?.iter().filter_map(|folder| debian(folder)));
        } else if folder.ends_with("node_modules") {
            for one in folders(&folder)? {
                let scoped = one.file_name().is_some_and(|n| n.to_string_lossy().starts_with('@'));
                let inner = if scoped { folders(&one)? } else { vec![one] };
                all.extend(inner.iter().filter_map(|folder| npm(folder)));
            }
        } else {
            all.extend(debian(&folder).or_else(|| npm(&folder)));
        }
    }
    // Only what is known: what packages depend on holds shaders that are theirs, or none.
    let known = |p: &Package| OWN.iter().any(|(n, _)| *n == p.name) || WHERE.iter().any(|(n, ..)| *n == p.name);
    let alone = all.len() == 1;
    all.retain(|p| known(p) || p.folder.join("usr/share").is_dir() || alone);
    all.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(all)
}

/// The folders in a folder, sorted.
fn folders(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    if !path.is_dir() {
        return Ok(Vec::new());
    }
    Ok(warpsight_files::entries(path)?.into_iter().filter(|p| p.is_dir()).collect())
}

fn npm(folder: &Path) -> Option<Package> {
    let about = json(&folder.join("package.json")).ok()?;
    let licence = Some(text(&about, "license")).filter(|l| !l.is_empty()).unwrap_or_else(|| "not stated".to_owned());
    Some(Package { name: text(&about, "name"), licence, folder: folder.to_path_buf() }).filter(|p| !p.name.is_empty())
}

/// A package of Debian, unpacked: its licence is that of most of its files.
fn debian(folder: &Path) -> Option<Package> {
    let doc = folders(&folder.join("usr/share/doc")).ok()?.into_iter().find(|d| d.join("copyright").is_file())?;
    let copyright = warpsight_files::read(&doc.join("copyright"), warpsight_files::TEXT).ok()?;
    let copyright = String::from_utf8_lossy(&copyright).into_owned();
    let licence = copyright.lines().find_map(|l| l.strip_prefix("License:")).map_or("not stated", str::trim).to_owned();
    Some(Package { name: doc.file_name()?.to_string_lossy().into_owned(), licence, folder: folder.to_path_buf() })
}

fn json(path: &Path) -> Result<Value, Failure> {
    let text = warpsight_files::read(path, warpsight_files::TEXT)?;
    serde_json::from_slice(&text).map_err(|e| Failure::input(e.to_string()).at(path.display().to_string()))
}

fn text(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Numbers and lists of numbers by name.
fn uniforms(value: Option<&Value>) -> BTreeMap<String, Vec<f64>> {
    let number = |v: &Value| v.as_f64().or(v.as_bool().map(|b| f64::from(u8::from(b))));
    let numbers = |v: &Value| match v {
        Value::Array(all) => all.iter().map(number).collect::<Option<Vec<f64>>>(),
        one => number(one).map(|n| vec![n]),
    };
    let all = value.and_then(Value::as_object).into_iter().flatten();
    all.filter_map(|(name, v)| Some((name.clone(), numbers(v).filter(|n| !n.is_empty())?))).collect()
}

fn gl_transitions(package: &Package) -> Result<Vec<Found>, Failure> {
    let all = json(&package.folder.join("gl-transitions.json"))?;
    let one = |t: &Value| Found {
        name: text(t, "name"),
        source: package.name.clone(),
        licence: Some(text(t, "license")).filter(|l| !l.is_empty()).unwrap_or_else(|| package.licence.clone()),
        origin: format!("gl-transitions.json#{}", text(t, "name")),
        text: text(t, "glsl"),
        dialect: Some(Dialect::GlTransitions),
        uniforms: uniforms(t.get("defaultParams")),
        ..Found::default()
    };
    Ok(all.as_array().into_iter().flatten().map(one).collect())
}

fn glsl_transitions(package: &Package) -> Result<Vec<Found>, Failure> {
    let all = json(&package.folder.join("transitions.json"))?;
    let one = |t: &Value| Found {
        name: text(t, "name"),
        source: package.name.clone(),
        licence: package.licence.clone(),
        origin: format!("transitions.json#{}", text(t, "id")),
        text: text(t, "glsl"),
        dialect: Some(Dialect::Plain),
        uniforms: uniforms(t.get("uniforms")),
        ..Found::default()
    };
    Ok(all.as_array().into_iter().flatten().map(one).collect())
}

fn butterchurn(package: &Package) -> Result<Vec<Found>, Failure> {
    let presets = package.folder.join("presets/converted");
    let json_file = |p: &PathBuf| p.extension().is_some_and(|e| e == "json");
    let mut found = Vec::new();
    for file in warpsight_files::entries(&presets)?.into_iter().filter(json_file) {
        let preset = json(&file)?;
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        for (part, dialect) in [("warp", Dialect::ButterchurnWarp), ("comp", Dialect::ButterchurnComp)] {
            let glsl = text(&preset, part);
            // Most presets have none of one kind and use what MilkDrop draws without.
            if !glsl.trim().is_empty() {
                found.push(Found {
                    name: format!("{name} ({part})"),
                    source: package.name.clone(),
                    licence: package.licence.clone(),
                    origin: format!("presets/converted/{name}.json#{part}"),
                    text: glsl,
                    dialect: Some(dialect),
                    ..Found::default()
                });
            }
        }
    }
    Ok(found)
}
