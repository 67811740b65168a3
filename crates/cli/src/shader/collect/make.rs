//! From what was found to modules: wrapped, compiled, validated, read, interpreted, in several threads.

use super::folder::{Checks, Folder, Known, Left, Memory, Step};
use super::found::Found;
use crate::progress;
use crate::shader::glsl::{self, Fault};
use sha2::{Digest, Sha256};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use warpsight_run::glslang::CompileError;
use warpsight_run::isolated;
use warpsight_shader::Shader;
use warpsight_shader::cfg::Cfg;
use warpsight_shader::corpus::{self, Entry};
use warpsight_shader::interpret::Program;
use warpsight_shader::module::Module;
use warpsight_shader::scene::Scene;
use warpsight_shader::trace;
use warpsight_shader::wrap::{self, Dialect, Source};

/// Quads that are interpreted to see whether a shader can be.
const QUADS: usize = 4;

/// What became of what was found.
pub struct Made {
    /// What was compiled, and its hash.
    pub glsl: String,
    /// Of `glsl`; empty where there is none.
    pub hash: String,
    /// The entry and its module's words, none where they are known already; or why there is none.
    pub outcome: Result<(Entry, Option<Vec<u32>>), Left>,
    /// What was found out anew of the module.
    pub checks: Option<Checks>,
}

/// Makes all of them; what was made stands in the order of what was found, and ends early where the user wants it.
pub fn all(found: &[Found], folder: &Folder, memory: &Memory, validator: bool, threads: usize) -> Vec<Made> {
    let next = AtomicUsize::new(0);
    // Scenes share the textures that they made.
    let scene = Scene::default();
    let bar = progress::bar(found.len(), "compiling");
    let mut done: Vec<(usize, Made)> = std::thread::scope(|scope| {
        let work = || {
            let mut own = Vec::new();
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(found) = found.get(index).filter(|_| !progress::interrupted()) else { break own };
                own.push((index, one(found, &Tools { folder, memory, validator, scene: &scene })));
                bar.inc(1);
            }
        };
        let handles: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(work)).collect();
        handles.into_iter().flat_map(|h| h.join().unwrap_or_default()).collect()
    });
    bar.finish_and_clear();
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, made)| made).collect()
}

/// What making one takes.
struct Tools<'a> {
    folder: &'a Folder,
    memory: &'a Memory,
    validator: bool,
    scene: &'a Scene,
}

fn one(found: &Found, tools: &Tools) -> Made {
    let Tools { folder, memory, validator, scene } = *tools;
    let left = |step, fault: &Fault| {
        let (line, message) = glsl::place(fault);
        Left { step, line, message }
    };
    let none = |left: Left| Made { glsl: String::new(), hash: String::new(), outcome: Err(left), checks: None };
    if let Some(reason) = &found.unreadable {
        return none(Left { step: Step::Text, line: None, message: reason.clone() });
    }
    let dialect = found.dialect.unwrap_or_else(|| Dialect::detect(&found.text));
    let include = |name: &str| found.includes.get(name).cloned();
    let source = Source { text: &found.text, dialect, defines: &found.defines, given: found.given, include: &include };
    let wrapped = match wrap::wrap(&source) {
        Ok(wrapped) => wrapped,
        Err(error) => return none(left(Step::Wrapped, &error.into())),
    };
    if wrapped.passes.len() > 1 {
        return none(Left { step: Step::Wrapped, line: None, message: "it has several passes: `shader predict` tells of each".to_owned() });
    }
    let hash: String = Sha256::digest(wrapped.glsl.as_bytes()).iter().take(12).map(|b| format!("{b:02x}")).collect();
    let entry = |id: &str, (loops, instructions, blocks): (bool, u32, u32)| Entry {
        id: id.to_owned(),
        name: found.name.clone(),
        source: found.source.clone(),
        licence: found.licence.clone(),
        origin: found.origin.clone(),
        dialect: dialect.name().to_owned(),
        group: id.to_owned(),
        parent: None,
        change: None,
        loops,
        uniforms: wrapped.uniforms.clone().into_iter().chain(found.uniforms.clone()).collect(),
        resolution: None,
        texture: None,
        instructions,
        blocks,
    };
    match memory.inputs.get(&hash) {
        Some(Known::Left(left)) => return Made { glsl: wrapped.glsl, hash, outcome: Err(left.clone()), checks: None },
        Some(Known::Module(id)) => {
            if let Some(checks) = memory.modules.get(id).filter(|c| (c.valid.is_some() || !validator) && folder.spv(id).is_file()) {
                return Made { outcome: Ok((entry(id, checks.shape), None)), glsl: wrapped.glsl, hash, checks: None };
            }
        }
        None => {}
    }
    let words = isolated::compile(&wrapped.glsl);
    let unavailable = matches!(words, Err(CompileError::Unavailable(_)));
    let outcome = words.map_err(|e| left(Step::Compiled, &Fault::Compile(e)));
    let outcome = outcome.and_then(|words| Shader::from_wrapped(&wrapped, words).map_err(|e| left(Step::Read, &Fault::Read(e))));
    match outcome {
        // That there was no compiler is not remembered.
        Err(left) => Made { glsl: wrapped.glsl, hash: if unavailable { String::new() } else { hash }, outcome: Err(left), checks: None },
        Ok(Shader { module, cfg, .. }) => {
            let id = corpus::id(&module);
            let instructions = cfg.blocks.iter().map(|b| b.insts.len() as u32).sum();
            let shape = (cfg.blocks.iter().any(|b| b.is_loop), instructions, cfg.blocks.len() as u32);
            let mut entry = entry(&id, shape);
            entry.uniforms.retain(|name, _| declares(&module, name));
            let checks =
                Checks { valid: validator.then(|| validate(module.words())), untraced: untraced(&module, &cfg, &entry, scene), shape };
            Made { glsl: wrapped.glsl, hash, outcome: Ok((entry, Some(module.words().to_vec()))), checks: Some(checks) }
        }
    }
}

/// Packages give values to more names than a shader has.
fn declares(module: &Module, uniform: &str) -> bool {
    module.blocks().is_ok_and(|blocks| blocks.iter().flat_map(|b| &b.members).any(|m| m.name == uniform))
}

/// Why a shader cannot be interpreted.
fn untraced(module: &Module, cfg: &Cfg, entry: &Entry, scene: &Scene) -> Option<String> {
    let scene = Scene { uniforms: entry.uniforms.clone(), ..scene.clone() };
    let (inputs, _) = match scene.inputs(module) {
        Ok(inputs) => inputs,
        Err(error) => return Some(error.to_string()),
    };
    let program = match Program::new(module, cfg) {
        Ok(program) => program,
        Err(error) => return Some(error.to_string()),
    };
    trace::sample(&program, &inputs, QUADS, 0).err().map(|e| e.to_string())
}

/// Whether spirv-val is installed.
pub fn validator() -> bool {
    Command::new("spirv-val").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|s| s.success())
}

/// What spirv-val says of a module.
fn validate(words: &[u32]) -> Result<(), String> {
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    let file = tempfile::NamedTempFile::new().map_err(|e| e.to_string())?;
    std::fs::write(file.path(), bytes).map_err(|e| e.to_string())?;
    check(file.path())
}

fn check(path: &Path) -> Result<(), String> {
    let output = Command::new("spirv-val").args(["--target-env", "vulkan1.1"]).arg(path).output().map_err(|e| e.to_string())?;
    let first = || String::from_utf8_lossy(&output.stderr).lines().next().unwrap_or("rejected").to_owned();
    if output.status.success() { Ok(()) } else { Err(first()) }
}
