//! Shaders as verbs take them: files in any dialect, SPIR-V, folders, standard input.

use super::SceneArgs;
use super::glsl;
use super::targets::Target;
use crate::failure::Failure;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use warpsight_learn::models::Row;
use warpsight_shader::interpret::InterpretError;
use warpsight_shader::module::spirv::MAGIC_NUMBER;
use warpsight_shader::scene::Scene;
use warpsight_shader::trace::QUADS;
use warpsight_shader::wrap::{Dialect, Source};
use warpsight_shader::{SeeError, Seen, Shader, View};

/// What a folder's files of shaders end with.
const ENDINGS: &[&str] = &["frag", "glsl", "fs", "spv"];

/// How a shader is traced.
#[derive(clap::Args, Clone)]
pub struct TraceArgs {
    #[command(flatten)]
    pub scene: SceneArgs,
    /// How GLSL is written, where that is not to be guessed.
    #[arg(long, value_name = "NAME", value_parser = glsl::dialects())]
    pub dialect: Option<Dialect>,
    /// How many 2×2 quads are executed, spread over the frame; `all` for every one.
    #[arg(long, value_name = "N", default_value = "64", value_parser = parse_quads, allow_negative_numbers = true)]
    pub quads: usize,
    /// Which quads: equal seeds give equal quads.
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    pub seed: u64,
    /// The most instructions that a quad may take before its shader is given up [default: 20 million].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), allow_negative_numbers = true)]
    pub budget: Option<u64>,
    /// Nothing is assumed: uniforms and textures that nobody gave are errors.
    #[arg(long)]
    pub strict: bool,
}

/// A number of quads, or `all`.
pub(super) fn parse_quads(text: &str) -> Result<usize, String> {
    match text {
        "all" => Ok(usize::MAX),
        _ => text.parse().ok().filter(|n| *n > 0).ok_or_else(|| format!("a number of quads, for instance {QUADS}, or `all`")),
    }
}

/// A shader as the user named it.
pub struct Subject {
    /// The file.
    pub name: String,
    /// Its text, unless it is SPIR-V.
    pub text: Option<String>,
    /// What is in it.
    pub shader: Shader,
}

/// The files that these names stand for, folders being searched for shaders; in order, each once.
pub fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut seen = BTreeSet::new();
    let mut all = Vec::new();
    for path in paths {
        if path.is_dir() {
            let before = all.len();
            let is_shader = |p: &PathBuf| p.extension().is_some_and(|e| ENDINGS.iter().any(|own| e.eq_ignore_ascii_case(own)));
            all.extend(warpsight_files::below(path)?.into_iter().filter(is_shader).filter(|p| seen.insert(p.clone())));
            if all.len() == before {
                let message = format!("no shaders in this folder: no file ends with .{}", ENDINGS.join(", ."));
                return Err(Failure::input(message).at(path.display().to_string()));
            }
        } else if seen.insert(path.clone()) {
            all.push(path.clone());
        }
    }
    Ok(all)
}

/// A text that a shader of this folder includes: a file beside or below it, or beside a folder above.
fn included(folder: &Path, file: &str) -> Option<String> {
    let path = folder.join(file);
    let plain = !Path::new(file).is_absolute() && path.metadata().is_ok_and(|found| found.is_file());
    plain.then(|| glsl::text(&path).ok()).flatten()
}

impl Subject {
    /// Reads a file, or standard input for `-`; GLSL is compiled.
    pub fn read(path: &Path, dialect: Option<Dialect>) -> Result<Self, Failure> {
        let name = warpsight_files::name(path).display().to_string();
        if path.is_dir() {
            return Err(Failure::input("this is a folder; one shader is wanted").at(name));
        }
        Self::new(name, warpsight_files::read_or_stdin(path, warpsight_files::TEXT)?, dialect)
    }

    /// A shader of these bytes: SPIR-V by its magic number or the file's ending, else GLSL.
    pub fn new(name: String, bytes: Vec<u8>, dialect: Option<Dialect>) -> Result<Self, Failure> {
        let path = Path::new(&name);
        if bytes.is_empty() {
            return Err(Failure::input("there is nothing in it").at(&name).help("a fragment shader in GLSL or SPIR-V is wanted"));
        }
        let magic = [MAGIC_NUMBER.to_le_bytes(), MAGIC_NUMBER.to_be_bytes()];
        if magic.iter().any(|m| bytes.starts_with(m)) || path.extension().is_some_and(|e| e.eq_ignore_ascii_case("spv")) {
            return Ok(Self { text: None, shader: super::read(path, &bytes)?, name });
        }
        let text = String::from_utf8(bytes).map_err(|_| Failure::input("this is neither SPIR-V nor text (UTF-8)").at(&name))?;
        let include = |file: &str| included(path.parent()?, file);
        let source = Source { dialect: dialect.unwrap_or_else(|| Dialect::detect(&text)), include: &include, ..Source::new(&text) };
        let shader = glsl::compile(&source).map_err(|fault| glsl::failure(&fault, path, &text, source.dialect))?;
        Ok(Self { name, text: Some(text), shader })
    }

    /// The same with values that its source gives uniforms.
    pub fn with_uniforms(mut self, uniforms: &BTreeMap<String, Vec<f64>>) -> Self {
        self.shader.uniforms.clone_from(uniforms);
        self
    }

    /// The scene that options describe, with the values that its source gives uniforms.
    pub fn scene(&self, args: &SceneArgs) -> Scene {
        args.scene(&self.shader.uniforms)
    }

    /// Whether the uniforms that the user named are this shader's.
    pub fn check(&self, args: &SceneArgs) -> Result<(), Failure> {
        args.check(&self.shader.module).map_err(|e| e.at(&self.name))
    }

    /// Sees it, or one pass of it, in a scene, and puts it into the words that these targets' models read.
    pub fn see(&self, args: &TraceArgs, scene: &Scene, pass: Option<usize>, targets: &[Target]) -> Result<(Seen, Row), Failure> {
        let refused = |e: &dyn std::fmt::Display| Failure::input(e.to_string()).at(&self.name);
        let view = View { pass, quads: args.quads, seed: args.seed, budget: args.budget.unwrap_or(0), strict: args.strict };
        let seen = self.shader.see(scene, &view).map_err(|error| match &error {
            SeeError::Assumed(_) => {
                refused(&format_args!("--strict: {error}")).help("--uniform NAME=VALUE gives uniforms; textures are always noise")
            }
            SeeError::Interpret(InterpretError::Budget { .. }) => {
                refused(&error).help("--uniform gives values under which it ends, --budget N more patience")
            }
            _ => refused(&error),
        })?;
        let dialects = targets.iter().filter_map(|target| target.predictor.model.model().dialect());
        let row = Row::of(&self.shader, &seen, dialects).map_err(|e| refused(&e))?;
        Ok((seen, row))
    }
}
