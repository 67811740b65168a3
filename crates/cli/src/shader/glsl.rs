//! A user's GLSL, of any dialect, as a module: the one place where the command compiles.

use crate::failure::Failure;
use crate::names::{Named, named};
use std::collections::BTreeMap;
use std::path::Path;
use warpsight_learn::shader::cfg::Cfg;
use warpsight_learn::shader::module::{Module, ModuleError};
use warpsight_learn::shader::wrap::{self, Dialect, Source, WrapError};
use warpsight_run::glslang::{self, CompileError};

/// What `--dialect` takes.
pub fn dialects() -> Named<Dialect> {
    named(Dialect::ALL.iter().map(|dialect| (dialect.name(), *dialect)).collect::<Vec<_>>())
}

/// The largest file that is read.
pub const MAX_BYTES: u64 = 1 << 20;

/// A shader from its source to what is known of it.
pub struct Compiled {
    /// Defaults that the source gives its uniforms.
    pub uniforms: BTreeMap<String, Vec<f64>>,
    /// The module; its lines are those of the source.
    pub module: Module,
    /// Its control flow.
    pub cfg: Cfg,
}

/// Why GLSL is not a module; the step at which it fails.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// It is not wrapped.
    #[error(transparent)]
    Wrap(#[from] WrapError),
    /// The compiler rejects it.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// What the compiler made of it cannot be read.
    #[error(transparent)]
    Read(#[from] ModuleError),
}

impl Fault {
    /// The line of the user's file and what is wrong there.
    pub fn at(&self) -> (Option<u32>, String) {
        match self {
            Self::Wrap(error) => (error.line(), error.to_string()),
            Self::Compile(error) => {
                let first = error.messages.first();
                (first.and_then(|m| m.line).filter(|l| (1..wrap::OURS).contains(l)), error.to_string())
            }
            Self::Read(_) => (None, self.to_string()),
        }
    }
}

/// Wraps, compiles and reads a source.
pub fn compile(source: &Source) -> Result<Compiled, Fault> {
    let wrapped = wrap::wrap(source)?;
    let mut words = glslang::fragment(&wrapped.glsl).map_err(|error| match wrap::foreign(source.text) {
        Some(other) => Fault::Wrap(other),
        None => Fault::Compile(error),
    })?;
    wrap::forget_own_lines(&mut words);
    let module = Module::new(words)?;
    let cfg = Cfg::new(&module)?;
    Ok(Compiled { uniforms: wrapped.uniforms, module, cfg })
}

/// Reads a file of GLSL.
pub fn text(path: &Path) -> Result<String, Failure> {
    let io = |e: std::io::Error| Failure::io(path, &e);
    let at = path.display().to_string();
    if path.metadata().map_err(io)?.len() > MAX_BYTES {
        return Err(Failure::input(format!("the file has more than {MAX_BYTES} bytes")).at(at));
    }
    let bytes = std::fs::read(path).map_err(io)?;
    String::from_utf8(bytes).map_err(|e| Failure::input(format!("not UTF-8 at byte {}", e.utf8_error().valid_up_to())).at(at))
}

/// What is wrong with a user's file, with the line of it.
pub fn failure(fault: &Fault, path: &Path, text: &str, dialect: Dialect) -> Failure {
    let (line, message) = fault.at();
    let name = path.display().to_string();
    let known = if let Fault::Wrap(error) = fault { error.help().map(str::to_owned) } else { None };
    let help = known.unwrap_or_else(|| format!("it was taken for the dialect `{dialect}`; --dialect NAME says otherwise"));
    let failure = Failure::input(message).help(help);
    let Some(line) = line else { return failure.at(name) };
    let mut start = 0;
    for (index, row) in text.split_inclusive('\n').enumerate() {
        if index as u32 + 1 == line {
            let skipped = row.len() - row.trim_start().len();
            return failure.excerpt(&name, text, start + skipped..start + row.trim_end().len().max(skipped), None);
        }
        start += row.len();
    }
    failure.at(name)
}
