//! Shaders of the folder `shaders`, compiled.

use std::path::{Path, PathBuf};
use std::process::Command;
use warpsight_learn::shader::module::Module;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/shaders")
}

/// Whether a tool answers. Where `CI=true`, it has to.
pub fn has(tool: &str) -> bool {
    let found = Command::new(tool).arg("--version").output().is_ok();
    assert!(found || std::env::var("CI").is_err(), "{tool} is needed where CI=true");
    found
}

/// GLSL compiled by glslangValidator with lines, for Vulkan 1.1.
pub fn compile(source: &str) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (dir.path().join("x.frag"), dir.path().join("x.spv"));
    std::fs::write(&from, source).unwrap();
    let out = Command::new("glslangValidator").args(["-V", "--target-env", "vulkan1.1", "-g", "-o"]).args([&to, &from]).output().unwrap();
    assert!(out.status.success(), "{}{}\n{source}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    std::fs::read(to).unwrap()
}

/// The SPIR-V of a shader of the folder: compiled now where glslangValidator is there, else as it was committed.
pub fn bytes(name: &str) -> Vec<u8> {
    let committed = folder().join(format!("{name}.spv"));
    if !has("glslangValidator") {
        return std::fs::read(committed).unwrap();
    }
    let bytes = compile(&std::fs::read_to_string(folder().join(format!("{name}.frag"))).unwrap());
    if std::env::var("WARPSIGHT_BLESS").is_ok() {
        std::fs::write(committed, &bytes).unwrap();
    }
    bytes
}

/// The same, read.
pub fn module(name: &str) -> Module {
    Module::from_bytes(&bytes(name)).unwrap()
}

/// The names of all shaders of the folder.
pub fn names() -> Vec<String> {
    let files = std::fs::read_dir(folder()).unwrap().map(|f| f.unwrap().path());
    let mut names: Vec<String> =
        files.filter(|f| f.extension().is_some_and(|e| e == "frag")).map(|f| f.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

/// Words of bytes.
pub fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|w| u32::from_le_bytes(w.try_into().unwrap())).collect()
}
