//! The shaders that a verb measures: those of a user's corpus, or those that come with the program.

use super::glsl;
use crate::failure::{Failure, Kind};
use crate::progress;
use include_dir::{Dir, include_dir};
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use warpsight_shader::Shader;
use warpsight_shader::corpus::{self, Entry};
use warpsight_shader::wrap::Source;

/// Public shaders and looping ones written for this project, with their licences.
static SHIPPED: Dir = include_dir!("$CARGO_MANIFEST_DIR/shaders");

/// Shaders as a folder of modules, and what is known of them.
pub struct Shaders {
    /// Where `spv/ID.spv` are.
    pub folder: PathBuf,
    /// One of each.
    pub entries: Vec<Entry>,
    /// The folder of the program's own, which goes with this.
    _own: Option<TempDir>,
}

impl Shaders {
    /// Those of a corpus, or without one those that come with the program: whose id begins with one of `only`, or whose name or source
    /// contains it; without `only` all.
    pub fn open(corpus: Option<&Path>, only: &[String]) -> Result<Self, Failure> {
        let mut shaders = match corpus {
            Some(folder) => Self { folder: folder.to_owned(), entries: entries(folder)?, _own: None },
            None => shipped()?,
        };
        let wished =
            |e: &Entry| only.iter().any(|t| e.id.starts_with(t.as_str()) || e.name.contains(t.as_str()) || e.source.contains(t.as_str()));
        shaders.entries.retain(|e| only.is_empty() || wished(e));
        match (shaders.entries.is_empty(), corpus) {
            (false, _) => Ok(shaders),
            (true, Some(folder)) => Err(Failure::input("no shader of the corpus is asked for").at(folder.join(LIST).display().to_string())),
            (true, None) => Err(Failure::input("no shader that comes with the program is asked for").at("--only")),
        }
    }
}

/// Lines that may say whose a shader is.
const HEAD: usize = 20;

/// The list of a corpus.
pub const LIST: &str = "corpus.jsonl";

/// The entries of a user's corpus.
pub fn entries(folder: &Path) -> Result<Vec<Entry>, Failure> {
    let path = folder.join(LIST);
    let read = warpsight_files::read_text(&path, warpsight_files::RECORDS);
    let text = read.map_err(|error| Failure::from(error).help("`warpsight shader collect` writes a corpus"))?;
    corpus::read(&text).map_err(|e| Failure::input(e.to_string()).at(path.display().to_string()))
}

/// The shaders that come with the program, compiled into a folder of their own.
fn shipped() -> Result<Shaders, Failure> {
    let io = |e: std::io::Error| Failure::io(&std::env::temp_dir(), &e);
    let own = TempDir::with_prefix("warpsight-shaders-").map_err(io)?;
    std::fs::create_dir(own.path().join("spv")).map_err(io)?;
    let files: Vec<_> = sources().collect();
    let bar = progress::bar(files.len(), "compiling");
    let mut entries = Vec::new();
    for (origin, text) in files {
        if progress::interrupted() {
            return Err(Failure::new(Kind::Interrupted, "interrupted"));
        }
        let source = Source::new(text);
        let Shader { module, cfg, uniforms, .. } =
            glsl::compile(&source).map_err(|fault| glsl::failure(&fault, origin, text, source.dialect))?;
        let id = corpus::id(&module);
        let bytes: Vec<u8> = module.words().iter().flat_map(|w| w.to_le_bytes()).collect();
        std::fs::write(own.path().join(format!("spv/{id}.spv")), bytes).map_err(io)?;
        let tag = |name: &str| text.lines().take(HEAD).find_map(|line| Some(line.split_once(name)?.1.trim().to_owned()));
        entries.push(Entry {
            group: id.clone(),
            id,
            name: origin.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
            source: tag("SPDX-PackageName:").unwrap_or_else(|| "warpsight".to_owned()),
            licence: tag("SPDX-License-Identifier:").unwrap_or_else(|| "not stated".to_owned()),
            origin: origin.display().to_string(),
            dialect: source.dialect.name().to_owned(),
            parent: None,
            change: None,
            loops: cfg.blocks.iter().any(|b| b.is_loop),
            uniforms,
            resolution: None,
            texture: None,
            instructions: cfg.blocks.iter().map(|b| b.insts.len() as u32).sum(),
            blocks: cfg.blocks.len() as u32,
        });
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(Shaders { folder: own.path().to_owned(), entries, _own: Some(own) })
}

/// The program's shaders, by file, in the order of their names.
fn sources() -> impl Iterator<Item = (&'static Path, &'static str)> {
    let files = SHIPPED.dirs().flat_map(Dir::files).filter(|f| f.path().extension().is_some_and(|e| e == "frag"));
    files.filter_map(|f| Some((f.path(), f.contents_utf8()?)))
}

/// The comments that a source begins with.
fn heading(text: &str) -> impl Iterator<Item = &str> {
    text.lines().take_while(|line| line.starts_with("//"))
}

/// Whose the program's shaders are, and under which licences.
pub fn licences() -> String {
    let mut text = String::new();
    let mut section = |name: &Path, body: &str| {
        text.push_str(&format!("== {}\n{}\n\n", name.display(), body.trim_end()));
    };
    for folder in SHIPPED.dirs() {
        let licences = folder.get_dir(folder.path().join("licences"));
        let said = folder.files().filter(|f| f.path().ends_with("README.md")).chain(licences.into_iter().flat_map(Dir::files));
        said.filter_map(|f| Some((f.path(), f.contents_utf8()?))).for_each(|(name, body)| section(name, body));
    }
    for (name, source) in sources() {
        section(name, &heading(source).collect::<Vec<_>>().join("\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_programs_shaders_are_those_of_the_repository_under_their_ids() {
        let shaders = Shaders::open(None, &[]).unwrap();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("shaders");
        let count = |sub: &str| {
            let files = std::fs::read_dir(folder.join(sub)).unwrap();
            files.filter(|f| f.as_ref().unwrap().path().extension().is_some_and(|e| e == "frag")).count()
        };
        assert_eq!(shaders.entries.len(), count("sample") + count("looping"));
        let ids: BTreeSet<&str> = shaders.entries.iter().map(|e| e.id.as_str()).collect();
        let listed = std::fs::read_to_string(folder.join("sample/ids.txt")).unwrap();
        let listed: Vec<&str> = listed.lines().filter_map(|line| line.split_whitespace().find(|w| w.len() == 16)).collect();
        assert!(listed.len() == 60 && listed.iter().all(|id| ids.contains(id)), "as `shader collect` calls them");
        assert!(shaders.entries.iter().all(|e| e.licence != "not stated"));
        assert!(shaders.entries.iter().all(|e| shaders.folder.join(format!("spv/{}.spv", e.id)).is_file()));
        let left = shaders.folder.clone();
        drop(shaders);
        assert!(!left.exists(), "nothing is left behind");
        let some = Shaders::open(None, &["three".to_owned(), "mandelbulb".to_owned()]).unwrap().entries;
        assert!(some.len() >= 9 && some.iter().all(|e| e.source == "three" || e.name.contains("three") || e.name == "mandelbulb"));
    }

    #[test]
    fn licences_are_all_there() {
        let text = licences();
        for package in ["butterchurn-presets", "gl-transitions", "three", "pixi-filters", "babylonjs-core", "paper-design-shaders"] {
            assert!(text.contains(&format!("== sample/licences/{package}.txt")), "{package}");
        }
        assert!(text.contains("Permission is hereby granted, free of charge") && text.contains("Apache License"));
        assert!(text.contains("== looping/mandelbulb.frag"));
    }
}
