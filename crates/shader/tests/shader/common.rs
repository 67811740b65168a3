//! Shaders of the folder `shaders`, compiled.

use std::path::{Path, PathBuf};
use std::process::Command;
use warpsight_shader::cfg::Cfg;
use warpsight_shader::interpret::{Inputs, InterpretError, Program};
use warpsight_shader::module::{Module, Op};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("shader").join("tests/shaders")
}

/// Whether a tool answers. Where `CI=true`, it has to.
pub fn has(tool: &str) -> bool {
    let found = Command::new(tool).arg("--version").output().is_ok();
    assert!(found || std::env::var("CI").is_err(), "{tool} is needed where CI=true");
    found
}

/// GLSL compiled by glslangValidator with lines, for Vulkan 1.1.
pub fn compile(source: &str) -> Vec<u8> {
    compile_for(source, "vulkan1.1")
}

/// The same for another environment.
pub fn compile_for(source: &str, target: &str) -> Vec<u8> {
    compile_with(source, target, "-g")
}

/// The same with another kind of debugging information.
pub fn compile_with(source: &str, target: &str, debug: &str) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (dir.path().join("x.frag"), dir.path().join("x.spv"));
    std::fs::write(&from, source).unwrap();
    let out = Command::new("glslangValidator").args(["-V", "--target-env", target, debug, "-o"]).args([&to, &from]).output().unwrap();
    assert!(out.status.success(), "{}{}\n{source}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    std::fs::read(to).unwrap()
}

/// A module after spirv-opt.
pub fn optimised(bytes: &[u8], how: &str) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (dir.path().join("x.spv"), dir.path().join("y.spv"));
    std::fs::write(&from, bytes).unwrap();
    let out = Command::new("spirv-opt").arg(how).arg(&from).arg("-o").arg(&to).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
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

/// A frame that was drawn.
#[derive(Debug, PartialEq)]
pub struct Drawn {
    /// Location 0 of every pixel, by rows; nothing where the pixel was discarded.
    pub pixels: Vec<Option<[f32; 4]>>,
    pub counts: Vec<u64>,
    pub rough: Vec<bool>,
}

/// Draws the whole frame.
pub fn draw(module: &Module, inputs: &Inputs) -> Result<Drawn, InterpretError> {
    let cfg = Cfg::new(module)?;
    let program = Program::new(module, &cfg)?;
    let mut interpreter = program.interpreter(inputs)?;
    let [width, height] = inputs.frame;
    let mut pixels = vec![None; (width * height) as usize];
    for row in 0..height.div_ceil(2) {
        for column in 0..width.div_ceil(2) {
            let quad = interpreter.quad(column, row)?;
            for lane in 0..4 {
                let (x, y) = (2 * column + (lane & 1), 2 * row + (lane >> 1));
                if quad.covered[lane as usize] {
                    let words = quad.outputs.get(&0).map_or([0; 4], |o| o[lane as usize]);
                    pixels[(y * width + x) as usize] = Some(words.map(f32::from_bits));
                }
            }
        }
    }
    Ok(Drawn { pixels, counts: interpreter.counts().to_vec(), rough: interpreter.rough_branches().to_vec() })
}

/// How often the block was executed that holds the first instruction of this kind on the line with this text.
pub fn count_at(module: &Module, source: &str, drawn: &Drawn, text: &str, op: Op) -> u64 {
    let line = 1 + source.lines().position(|l| l.contains(text)).unwrap() as u32;
    let cfg = Cfg::new(module).unwrap();
    let at = cfg.blocks.iter().position(|b| module.insts()[b.insts.clone()].iter().any(|i| i.op == op && i.line == line));
    drawn.counts[at.unwrap_or_else(|| panic!("no {op:?} on line {line}"))]
}
/// Whether spirv-val accepts a module for an environment; its complaint if not.
pub fn validate(words: &[u32], environment: &str) -> Result<(), String> {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("x.spv");
    std::fs::write(&file, words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>()).unwrap();
    let out = Command::new("spirv-val").args(["--target-env", environment]).arg(&file).output().unwrap();
    if out.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&out.stderr).into_owned()) }
}
