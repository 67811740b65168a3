//! SPIR-V Tools, as the system has them.

use crate::failure::Failure;
use std::io::Write;
use std::process::{Command, Stdio};

/// What the optimiser does: for speed, for size, and no more than putting all into one function.
pub const RECIPES: [&[&str]; 3] = [
    &["-O"],
    &["-Os"],
    &["--inline-entry-points-exhaustive", "--eliminate-dead-functions", "--ssa-rewrite", "--eliminate-dead-code-aggressive"],
];

/// The environment that shaders are compiled for.
const TARGET: [&str; 2] = ["--target-env", "vulkan1.1"];

/// Whether the tools are there.
pub fn check(optimiser: bool) -> Result<(), Failure> {
    let wanted = ["spirv-val", "spirv-opt"].into_iter().take(if optimiser { 2 } else { 1 });
    for tool in wanted {
        if let Err(e) = Command::new(tool).arg("--version").output() {
            return Err(
                Failure::input(format!("{tool}: {e}")).help("it is a tool of SPIR-V Tools (Debian's package is called spirv-tools)")
            );
        }
    }
    Ok(())
}

/// Whether a module is valid; the tool's complaint if not.
pub fn validate(bytes: &[u8]) -> Result<(), String> {
    piped("spirv-val", &[&TARGET, &["-"][..]].concat(), bytes).map(drop)
}

/// A module after the optimiser's passes.
pub fn optimise(bytes: &[u8], passes: &[&str]) -> Result<Vec<u8>, String> {
    let target = format!("{}={}", TARGET[0], TARGET[1]);
    piped("spirv-opt", &[&[target.as_str()], passes, &["-", "-o", "-"]].concat(), bytes)
}

/// What a tool answers to a module on its standard input.
fn piped(tool: &str, args: &[&str], bytes: &[u8]) -> Result<Vec<u8>, String> {
    let io = |e: std::io::Error| format!("{tool}: {e}");
    let mut child =
        Command::new(tool).args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(io)?;
    let mut stdin = child.stdin.take().ok_or_else(|| format!("{tool}: no standard input"))?;
    std::thread::scope(|scope| {
        // Both read everything before they write; a tool that stops early closes the pipe, which its exit code tells.
        let writer = scope.spawn(move || stdin.write_all(bytes));
        let output = child.wait_with_output().map_err(io);
        drop(writer.join());
        let output = output?;
        match output.status.success() {
            true => Ok(output.stdout),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    })
}
