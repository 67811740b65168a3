//! Which packages hold shaders, and where in them.

use super::found::Found;
use crate::failure::Failure;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use warpsight_learn::shader::wrap::Dialect;

/// All shaders below a path.
pub fn find(path: &Path) -> Result<Vec<Found>, Failure> {
    let mut found = Vec::new();
    let inner = path.join("node_modules");
    let base = if inner.is_dir() { inner } else { path.to_path_buf() };
    for (name, own) in
        [("gl-transitions", gl_transitions as Own), ("glsl-transitions", glsl_transitions), ("butterchurn-presets", butterchurn)]
    {
        let folder = base.join(name);
        if folder.is_dir() {
            found.extend(own(&folder)?);
        }
    }
    Ok(found)
}

type Own = fn(&Path) -> Result<Vec<Found>, Failure>;

fn json(path: &Path) -> Result<Value, Failure> {
    let text = std::fs::read(path).map_err(|e| Failure::io(path, &e))?;
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

fn gl_transitions(folder: &Path) -> Result<Vec<Found>, Failure> {
    let all = json(&folder.join("gl-transitions.json"))?;
    let one = |t: &Value| Found {
        name: text(t, "name"),
        source: "gl-transitions".to_owned(),
        licence: Some(text(t, "license")).filter(|l| !l.is_empty()).unwrap_or_else(|| "MIT".to_owned()),
        origin: format!("gl-transitions.json#{}", text(t, "name")),
        text: text(t, "glsl"),
        dialect: Some(Dialect::GlTransitions),
        uniforms: uniforms(t.get("defaultParams")),
        ..Found::default()
    };
    Ok(all.as_array().into_iter().flatten().map(one).collect())
}

fn glsl_transitions(folder: &Path) -> Result<Vec<Found>, Failure> {
    let all = json(&folder.join("transitions.json"))?;
    let one = |t: &Value| Found {
        name: text(t, "name"),
        source: "glsl-transitions".to_owned(),
        licence: "MIT".to_owned(),
        origin: format!("transitions.json#{}", text(t, "id")),
        text: text(t, "glsl"),
        dialect: Some(Dialect::Plain),
        uniforms: uniforms(t.get("uniforms")),
        ..Found::default()
    };
    Ok(all.as_array().into_iter().flatten().map(one).collect())
}

fn butterchurn(folder: &Path) -> Result<Vec<Found>, Failure> {
    let presets = folder.join("presets/converted");
    let entries = std::fs::read_dir(&presets).map_err(|e| Failure::io(&presets, &e))?;
    let mut files: Vec<PathBuf> =
        entries.filter_map(|e| Some(e.ok()?.path())).filter(|p| p.extension().is_some_and(|e| e == "json")).collect();
    files.sort();
    let mut found = Vec::new();
    for file in files {
        let preset = json(&file)?;
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        for (part, dialect) in [("warp", Dialect::ButterchurnWarp), ("comp", Dialect::ButterchurnComp)] {
            let glsl = text(&preset, part);
            if !glsl.trim().is_empty() {
                found.push(Found {
                    name: format!("{name} ({part})"),
                    source: "butterchurn-presets".to_owned(),
                    licence: "MIT".to_owned(),
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
