//! Shaders in files of their own, and in strings of JavaScript.

use super::found::{Found, Package};
use super::js::{self, Literal};
use crate::failure::Failure;
use crate::shader::glsl;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use warpsight_shader::wrap::Dialect;

/// What files of fragment shaders end with; `.shader_test` is piglit's, of several stages.
const ENDINGS: &[&str] = &["frag", "glsl", "fs", "fsh", "isf", "shader_test"];

/// Those endings, for people.
pub fn endings() -> String {
    ENDINGS.iter().map(|e| format!(".{e}")).collect::<Vec<_>>().join(", ")
}

/// Macros that applications define.
const DEFINES: &[(&str, &[(&str, &str)])] = &[
    ("glmark2-data", &[("HIGHP_OR_DEFAULT", "")]),
    (
        "three",
        &[
            ("NUM_DIR_LIGHTS", "1"),
            ("NUM_POINT_LIGHTS", "1"),
            ("NUM_SPOT_LIGHTS", "1"),
            ("NUM_HEMI_LIGHTS", "1"),
            ("NUM_RECT_AREA_LIGHTS", "0"),
            ("NUM_DIR_LIGHT_SHADOWS", "0"),
            ("NUM_POINT_LIGHT_SHADOWS", "0"),
            ("NUM_SPOT_LIGHT_SHADOWS", "0"),
            ("NUM_SPOT_LIGHT_MAPS", "0"),
            ("NUM_SPOT_LIGHT_COORDS", "0"),
            ("NUM_SPOT_LIGHT_SHADOWS_WITH_MAPS", "0"),
            ("NUM_CLIPPING_PLANES", "0"),
            ("UNION_CLIPPING_PLANES", "0"),
            ("UNROLLED_LOOP_INDEX", "i"),
        ],
    ),
    ("@babylonjs/core", &[("SCENE_MRT_COUNT", "0"), ("NUM_SAMPLES", "16"), ("OCTAVES", "4"), ("OFFSET", "2")]),
    (
        "postprocessing",
        &[
            ("EDGE_THRESHOLD_MIN", "0.0312"),
            ("EDGE_THRESHOLD_MAX", "0.125"),
            ("LUT_SIZE", "vec3(32.0)"),
            ("DEPTH_THRESHOLD", "0.01"),
            ("MAX_SEARCH_STEPS_INT", "16"),
            ("SAMPLES_INT", "16"),
            ("CHAR_COUNT_MINUS_ONE", "15.0"),
            ("CELL_COUNT", "16.0"),
            ("INV_CELL_COUNT", "0.0625"),
        ],
    ),
];

/// What applications declare.
const GIVEN: &[(&str, &str)] = &[(
    "glmark2-data",
    "uniform vec4 LightSourcePosition = vec4(20.0, 20.0, 10.0, 1.0); uniform vec3 LightSourceHalfVector = vec3(0.408, 0.408, 0.816);
    uniform vec4 MaterialDiffuse = vec4(0.0, 0.2, 1.0, 1.0); uniform vec4 MaterialColor = vec4(0.0, 0.2, 1.0, 1.0);
    uniform float TextureStepX = 0.00195; uniform float TextureStepY = 0.0026; uniform float RefractiveIndex = 1.2;
    uniform vec2 TextureSize = vec2(256.0); uniform float NormalScale = 1.0;",
)];

fn defines(package: &str) -> Vec<(String, String)> {
    let own = DEFINES.iter().find(|(name, _)| *name == package);
    own.into_iter().flat_map(|(_, all)| all.iter()).map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect()
}

fn given(package: &str) -> &'static str {
    GIVEN.iter().find(|(name, _)| *name == package).map_or("", |own| own.1)
}

/// The shaders in files below a path; those that cannot be read are found as well, and counted by why not.
pub fn find(path: &Path, package: Option<&Package>) -> Result<Vec<Found>, Failure> {
    let folder = if path.is_dir() { path } else { path.parent().unwrap_or(path) };
    let canonical = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
    let source = package.map_or_else(|| canonical.file_name().unwrap_or_default().to_string_lossy().into_owned(), |p| p.name.clone());
    let is_shader = |p: &PathBuf| {
        p.is_file() && (path.is_file() || p.extension().is_some_and(|e| ENDINGS.iter().any(|own| e.eq_ignore_ascii_case(own))))
    };
    let mut found = Vec::new();
    for file in warpsight_files::below(path)?.into_iter().filter(is_shader) {
        let origin = file.strip_prefix(folder).unwrap_or(&file).to_string_lossy().into_owned();
        // Vertex shaders have the same ending in some packages; piglit's other files test what compilers accept.
        let test = file.extension().is_some_and(|e| e == "shader_test");
        if origin.contains(".vert.") || source == "piglit" && !test {
            continue;
        }
        let read = glsl::text(&file);
        let unreadable = read.as_ref().err().map(ToString::to_string);
        let text = read.unwrap_or_default();
        let tag =
            |name: &str| text.lines().take(20).find_map(|l| Some(l.split_once(name)?.1.trim().trim_end_matches("*/").trim().to_owned()));
        let licence = tag("SPDX-License-Identifier:").or_else(|| package.map(|p| p.licence.clone()));
        let one = Found {
            name: file.file_stem().unwrap_or_default().to_string_lossy().trim_end_matches(".frag").to_owned(),
            source: tag("SPDX-PackageName:").unwrap_or_else(|| source.clone()),
            licence: licence.unwrap_or_else(|| "not stated".to_owned()),
            origin,
            defines: defines(&source),
            given: given(&source),
            unreadable,
            ..Found::default()
        };
        if test {
            found.extend(section(&text).map(|text| Found { text, ..one }));
        } else {
            found.push(Found { text, ..one });
        }
    }
    Ok(found)
}

/// The fragment shader of a file of piglit, with its lines where they are in the file. Only those that loop: the others test what a
/// compiler accepts, in a line or two.
fn section(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut inside = false;
    for line in text.lines() {
        if line.starts_with('[') {
            inside = line.trim() == "[fragment shader]";
        } else if inside {
            out.push_str(line);
        }
        out.push('\n');
    }
    let loops = ["for (", "for(", "while (", "while("].iter().any(|l| out.contains(l));
    (loops && out.contains("main")).then(|| format!("{}\n", out.trim_end()))
}

/// The fragment shaders in strings of a package's JavaScript.
pub fn strings(package: &Package, folders: &[&str], ending: &str) -> Result<Vec<Found>, Failure> {
    let mut files = Vec::new();
    for folder in folders {
        let path = package.folder.join(folder);
        if path.exists() {
            files.extend(warpsight_files::below(&path)?);
        }
    }
    files.retain(|p| p.to_string_lossy().ends_with(ending) && !p.to_string_lossy().ends_with(".min.js"));
    let mut all = Vec::new();
    let mut known: BTreeMap<String, Literal> = BTreeMap::new();
    for file in files {
        let Ok(text) = warpsight_files::read_text(&file, warpsight_files::TEXT) else { continue };
        let literals = js::literals(&text);
        let exported = text.contains("export ");
        for literal in literals.iter().filter(|l| !l.name.is_empty() && exported) {
            known.entry(literal.name.clone()).or_insert_with(|| literal.clone());
        }
        all.push((file, text, literals));
    }
    let includes = Arc::new(includes(package, &all)?);
    let mut found = Vec::new();
    for (file, text, literals) in &all {
        let origin = file.strip_prefix(&package.folder).unwrap_or(file).to_string_lossy().into_owned();
        let mut own = known.clone();
        own.extend(literals.iter().filter(|l| !l.name.is_empty()).map(|l| (l.name.clone(), l.clone())));
        let paths = literals.iter().flat_map(|l| &l.parts).filter_map(|(_, name)| name.as_ref()).filter(|name| name.contains('.'));
        own.extend(paths.filter_map(|path| Some((path.clone(), js::number(text, path)?))));
        let mut count = 0;
        for literal in literals {
            let raw: String = literal.parts.iter().map(|(text, _)| text.as_str()).collect();
            if !is_fragment(&raw) {
                continue;
            }
            count += 1;
            let whole = literal.text(&own, 0);
            let stem = file.file_name().unwrap_or_default().to_string_lossy();
            let stem = stem.split('.').next().unwrap_or_default().to_owned();
            let defines: BTreeMap<String, String> = defines(&package.name).into_iter().chain(js::defines(text, literal.at)).collect();
            found.push(Found {
                name: if count == 1 { stem } else { format!("{stem} {count}") },
                source: package.name.clone(),
                licence: package.licence.clone(),
                origin: format!("{origin}#{count}"),
                unreadable: whole.is_none().then(|| "a string that other code makes parts of".to_owned()),
                dialect: whole.as_deref().map(|text| dialect(&package.name, text)),
                text: whole.unwrap_or_default(),
                defines: defines.into_iter().collect(),
                includes: Arc::clone(&includes),
                ..Found::default()
            });
        }
    }
    Ok(found)
}

fn dialect(package: &str, text: &str) -> Dialect {
    match (package, Dialect::detect(text)) {
        ("three", Dialect::Plain | Dialect::Babylon) => Dialect::Three,
        ("@babylonjs/core", _) => Dialect::Babylon,
        ("postprocessing", Dialect::Three | Dialect::Plain) => Dialect::Three,
        (_, detected) => detected,
    }
}

/// Whether a string looks like a fragment shader of GLSL.
fn is_fragment(text: &str) -> bool {
    let has = |all: &[&str]| all.iter().any(|s| text.contains(s));
    let whole = has(&["void main(", "void main ("])
        && has(&["gl_FragColor", "gl_FragData", "out vec4", "out highp vec4", "glFragColor", "pc_fragColor"]);
    let effect = has(&["void mainImage(", "void mainUv("]);
    (whole || effect) && !has(&["gl_Position", "fn main"])
}

/// What the shaders of a package may include.
fn includes(package: &Package, read: &[(PathBuf, String, Vec<Literal>)]) -> Result<BTreeMap<String, String>, Failure> {
    let mut all = BTreeMap::new();
    let mut add = |file: &Path, literals: &[Literal]| {
        let stem = file.file_name().unwrap_or_default().to_string_lossy();
        let stem = stem.split('.').next().unwrap_or_default().to_owned();
        if let Some(text) = literals.iter().filter_map(|l| l.text(&BTreeMap::new(), 0)).max_by_key(String::len) {
            // Babylon.js names what declares uniforms by what it belongs to.
            if let Some(of) = stem.strip_suffix("Declaration") {
                all.insert(format!("__decl__{of}"), text.clone());
            }
            all.insert(stem, text);
        }
    };
    match package.name.as_str() {
        // Its shaders are put together with those of three.js.
        "postprocessing" => {
            let chunks = package.folder.with_file_name("three").join("src/renderers/shaders/ShaderChunk");
            for file in if chunks.is_dir() { warpsight_files::below(&chunks)? } else { Vec::new() } {
                let text = warpsight_files::read_text(&file, warpsight_files::TEXT)?;
                add(&file, &js::literals(&text));
            }
        }
        "three" => read.iter().filter(|(file, ..)| file.to_string_lossy().contains("ShaderChunk")).for_each(|(file, _, l)| add(file, l)),
        "@babylonjs/core" => {
            for file in warpsight_files::below(&package.folder.join("Shaders/ShadersInclude"))?
                .iter()
                .filter(|p| p.extension().is_some_and(|e| e == "js"))
            {
                let text = warpsight_files::read_text(file, warpsight_files::TEXT)?;
                add(file, &js::literals(&text));
            }
        }
        _ => {}
    }
    Ok(all)
}
