//! A user's GLSL, of any dialect, as a module: the one place where the command compiles.

use crate::failure::Failure;
use crate::names::{Named, named};
use std::path::Path;
use warpsight_run::glslang::CompileError;
use warpsight_run::isolated;
use warpsight_shader::wrap::{Dialect, OURS, Source};
use warpsight_shader::{Shader, SourceError};

/// What `--dialect` takes.
pub fn dialects() -> Named<Dialect> {
    named(Dialect::ALL.iter().map(|dialect| (dialect.name(), *dialect)).collect::<Vec<_>>())
}

/// The largest file that is read.
pub const MAX_BYTES: u64 = 1 << 20;

/// The longest line that is shown where something is wrong with it.
const MAX_LINE: usize = 200;

/// Why GLSL is not a module.
pub type Fault = SourceError<CompileError>;

/// The line of the user's file and what is wrong there.
pub fn place(fault: &Fault) -> (Option<u32>, String) {
    let line = match fault {
        Fault::Wrap(error) => error.line(),
        Fault::Compile(error) => error.first().and_then(|m| m.line).filter(|l| (1..OURS).contains(l)),
        Fault::Read(_) => None,
    };
    (line, fault.to_string())
}

/// Wraps, compiles and reads a source.
pub fn compile(source: &Source) -> Result<Shader, Fault> {
    Shader::from_source(source, isolated::compile)
}

/// Reads a file of GLSL.
pub fn text(path: &Path) -> Result<String, Failure> {
    Ok(warpsight_files::read_text(path, MAX_BYTES)?)
}

/// What is wrong with a user's file, with the line of it.
pub fn failure(fault: &Fault, path: &Path, text: &str, dialect: Dialect) -> Failure {
    let (line, message) = place(fault);
    let name = path.display().to_string();
    let known = match fault {
        Fault::Wrap(error) => error.help(),
        Fault::Compile(CompileError::Slow { .. } | CompileError::Died { .. }) => Some("SPIR-V that another compiler makes of it is read"),
        _ => None,
    };
    let guessed = || format!("it was taken for the dialect `{dialect}`; --dialect NAME says otherwise");
    let failure = Failure::input(message).help(known.map_or_else(guessed, str::to_owned));
    let Some(line) = line else { return failure.at(name) };
    let mut start = 0;
    for (index, row) in text.split_inclusive('\n').enumerate() {
        if index as u32 + 1 == line && row.len() > MAX_LINE {
            return failure.at(format!("{name}:{line}"));
        }
        if index as u32 + 1 == line {
            let skipped = row.len() - row.trim_start().len();
            return failure.excerpt(&name, text, start + skipped..start + row.trim_end().len().max(skipped), None);
        }
        start += row.len();
    }
    failure.at(name)
}
