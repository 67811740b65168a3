//! `ptxas` as a program of its own, and what it says of a kernel.

use super::error::ToolkitError;
use crate::cuda::{Arch, Resources};
use std::io::Read;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How long one kernel may take; the largest kernels here take about a second.
const PATIENCE: Duration = Duration::from_secs(60);

/// Assembles PTX: machine code and what was said on the way.
pub(super) fn assemble(ptxas: &Path, ptx: &str, kernel: &str, arch: Arch) -> Result<(Vec<u8>, String), ToolkitError> {
    let failed = |what: &str, why: &dyn std::fmt::Display| ToolkitError::Call { call: format!("ptxas ({what})"), why: why.to_string() };
    let folder = tempfile::tempdir().map_err(|e| failed("a temporary folder", &e))?;
    let (input, output) = (folder.path().join("kernel.ptx"), folder.path().join("kernel.cubin"));
    std::fs::write(&input, ptx).map_err(|e| failed("writing PTX", &e))?;
    let mut command = Command::new(ptxas);
    command.arg("-v").arg(format!("-arch={arch}")).arg(&input).arg("-o").arg(&output);
    let (status, log) = run(&mut command, PATIENCE).map_err(|e| failed("starting it", &e))?;
    match status {
        None => Err(failed("assembling", &format!("it did not end within {} s and was stopped", PATIENCE.as_secs()))),
        Some(status) if status.success() => {
            let cubin = warpsight_files::read(&output, warpsight_files::RECORDS).map_err(|e| failed("reading its output", &e))?;
            Ok((cubin, log))
        }
        // The folder's name says nothing to anyone.
        Some(_) => Err(ToolkitError::Refused {
            tool: "ptxas",
            kernel: kernel.to_owned(),
            arch: arch.to_string(),
            log: log.replace(&input.display().to_string(), "kernel.ptx").trim().to_owned(),
        }),
    }
}

/// Runs a command to its end; no status when it was stopped for taking longer than `patience`. Its standard error and output.
fn run(command: &mut Command, patience: Duration) -> std::io::Result<(Option<ExitStatus>, String)> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let readers = [
        child.stderr.take().map(|e| Box::new(e) as Box<dyn Read + Send>),
        child.stdout.take().map(|o| Box::new(o) as Box<dyn Read + Send>),
    ]
    .map(|pipe| std::thread::spawn(move || read(pipe)));
    let deadline = Instant::now() + patience;
    let mut pause = Duration::from_millis(1);
    let status = loop {
        match child.try_wait()? {
            Some(status) => break Some(status),
            None if Instant::now() < deadline => std::thread::sleep(pause),
            None => {
                let _ = child.kill();
                let _ = child.wait();
                return Ok((None, String::new()));
            }
        }
        pause = (pause * 2).min(Duration::from_millis(20));
    };
    Ok((status, readers.into_iter().map(|r| r.join().unwrap_or_default()).collect()))
}

fn read(pipe: Option<Box<dyn Read + Send>>) -> String {
    let mut bytes = vec![];
    if let Some(mut pipe) = pipe {
        // A pipe that breaks off ends the text there.
        let _ = pipe.read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The version `ptxas --version` states, like `13.5.37`; `None` where it states none.
pub(super) fn version(ptxas: &Path) -> Option<String> {
    let (_, said) = run(Command::new(ptxas).arg("--version"), Duration::from_secs(10)).ok()?;
    said.split_whitespace().find_map(|word| word.strip_prefix('V').filter(|v| v.starts_with(|c: char| c.is_ascii_digit()))).map(Into::into)
}

/// What a log of `ptxas -v` says of one kernel; `None` where it does not speak of it.
///
/// The log does not say which kernel calls a function that was not inlined: its spills count for every kernel.
pub fn resources(log: &str, kernel: &str) -> Option<Resources> {
    let entry = |line: &str| line.split_once("Compiling entry function '").and_then(|(_, rest)| rest.split('\'').next().map(str::to_owned));
    let entries: Vec<String> = log.lines().filter_map(entry).collect();
    let mut subject = String::new();
    let mut found = Resources::default();
    for line in log.lines() {
        if let Some(name) = entry(line) {
            subject = name;
        } else if let Some((_, name)) = line.split_once("Function properties for ") {
            name.trim().clone_into(&mut subject);
        } else if subject != kernel && entries.contains(&subject) {
            // Of another kernel.
        } else if line.contains("bytes stack frame") {
            // NVRTC passes the log on with another beginning: `ptxas         .     8 bytes stack frame`.
            found.spill_store_bytes += before(line, "bytes spill stores").unwrap_or(0);
            found.spill_load_bytes += before(line, "bytes spill loads").unwrap_or(0);
            if subject == kernel {
                found.stack_bytes = before(line, "bytes stack frame").unwrap_or(0);
            }
        } else if subject == kernel && line.contains(" registers") {
            found.registers = before(line, "registers").unwrap_or(0);
            found.barriers = before(line, "barriers").unwrap_or(0);
            found.shared_bytes = before(line, "bytes smem").unwrap_or(0);
            // One sum over all banks: `380 bytes cmem[0], 8 bytes cmem[2]`.
            found.constant_bytes = line.split(',').filter_map(|part| before(part, "bytes cmem[")).sum();
        }
    }
    // Every kernel uses some register.
    (found.registers > 0).then_some(found)
}

/// The number before `unit`: 12 in `…, 12 bytes smem`. Older versions write `12+0 bytes smem` for static and dynamic parts.
fn before(line: &str, unit: &str) -> Option<u32> {
    let word = line[..line.find(unit)?].split_whitespace().next_back()?;
    word.split('+').map(|part| part.trim_start_matches('(').parse::<u32>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Recorded with ptxas 13.5.37.
    const PTXAS_13: &str = "\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'k' for 'sm_90a'
ptxas info    : Function properties for k
    256 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 80 registers, used 1 barriers, 256 bytes cumulative stack size, 1200 bytes smem
ptxas info    : Compile time = 32.586 ms
";

    /// The form of ptxas 12: constant banks are listed, nothing is said of barriers where none is used.
    const PTXAS_12: &str = "\
ptxas info    : 0 bytes gmem, 8 bytes cmem[3]
ptxas info    : Compiling entry function 'first' for 'sm_80'
ptxas info    : Function properties for first
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 10 registers, 380 bytes cmem[0], 8 bytes cmem[2]
ptxas info    : Compiling entry function 'second' for 'sm_80'
ptxas info    : Function properties for second
    40 bytes stack frame, 36 bytes spill stores, 44 bytes spill loads
ptxas info    : Used 24 registers, used 2 barriers, 4096 bytes smem, 376 bytes cmem[0]
";

    /// Recorded with NVRTC 13.5 and `--ptxas-options=-v`.
    const NVRTC_13: &str = "\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'k' for 'sm_90a'
ptxas info    : Function properties for k
ptxas         .     256 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 80 registers, used 1 barriers, 256 bytes cumulative stack size, 1200 bytes smem
ptxas info    : Compile time = 54.459 ms
";

    #[test]
    fn logs() {
        let k = Resources { registers: 80, stack_bytes: 256, shared_bytes: 1200, barriers: 1, ..Resources::default() };
        assert_eq!(resources(PTXAS_13, "k"), Some(k));
        assert_eq!(resources(NVRTC_13, "k"), Some(Resources { spill_store_bytes: 8, spill_load_bytes: 12, ..k }));
        let first = Resources { registers: 10, constant_bytes: 388, ..Resources::default() };
        assert_eq!(resources(PTXAS_12, "first"), Some(first));
        let second = Resources {
            registers: 24,
            stack_bytes: 40,
            spill_store_bytes: 36,
            spill_load_bytes: 44,
            shared_bytes: 4096,
            constant_bytes: 376,
            barriers: 2,
        };
        assert_eq!(resources(PTXAS_12, "second"), Some(second));
        for (log, kernel) in [(PTXAS_12, "third"), (PTXAS_13, ""), ("", "k"), ("Function properties for k\n 0 bytes stack frame", "k")] {
            assert_eq!(resources(log, kernel), None, "{kernel}: {log}");
        }
    }

    /// Recorded with ptxas 13.5.37, the numbers of spills changed: `a` calls a function that was not inlined.
    #[test]
    fn spills_of_a_called_function_count() {
        let log = "\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'b' for 'sm_80'
ptxas info    : Function properties for b
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, used 1 barriers, 360 bytes cmem[0]
ptxas info    : Compiling entry function 'a' for 'sm_80'
ptxas info    : Function properties for a
    32 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 14 registers, used 0 barriers, 32 bytes cumulative stack size, 360 bytes cmem[0]
ptxas info    : Function properties for _Z1hf
    8 bytes stack frame, 4 bytes spill stores, 6 bytes spill loads
";
        let a = Resources {
            registers: 14,
            stack_bytes: 32,
            spill_store_bytes: 4,
            spill_load_bytes: 6,
            constant_bytes: 360,
            ..Resources::default()
        };
        assert_eq!(resources(log, "a"), Some(a));
        let b = Resources { registers: 8, stack_bytes: 0, barriers: 1, ..a };
        assert_eq!(resources(log, "b"), Some(b));
    }

    #[cfg(unix)]
    #[test]
    fn what_hangs_is_stopped() {
        let start = Instant::now();
        let (status, _) = run(Command::new("sleep").arg("30"), Duration::from_millis(50)).unwrap();
        assert!(status.is_none() && start.elapsed() < Duration::from_secs(10));
        let (status, said) = run(Command::new("sh").args(["-c", "echo out; echo err >&2; exit 3"]), Duration::from_secs(10)).unwrap();
        assert_eq!((status.and_then(|s| s.code()), said.as_str()), (Some(3), "err\nout\n"));
    }
}
