//! From source text to a program the driver can run.

use super::ffi::{Queue, call};
use crate::DeviceError;
use crate::cache::{self, Cache};
use opencl3::kernel::Kernel;
use opencl3::program::Program;
use warpsight_ir::Feedback;

/// A kernel as text.
#[derive(Clone, Debug)]
pub(super) struct KernelText {
    /// What messages call it.
    pub(super) name: String,
    /// OpenCL C.
    pub(super) text: String,
    /// The kernel function's name.
    pub(super) entry: String,
    /// Build options.
    pub(super) options: String,
}

/// A program that was built.
pub(super) struct Built {
    program: Program,
    key: String,
    /// Whether it came out of the cache on disk.
    pub(super) cached: bool,
}

impl KernelText {
    /// What identifies the compiled program.
    pub(super) fn key(&self, device: &str, driver: &str) -> String {
        cache::key(&["opencl", &self.text, &self.options, device, driver])
    }

    /// Builds it, out of the cache where possible. `index` is its position in the job, for errors.
    pub(super) fn build(&self, index: usize, key: &str, queue: &Queue, cache: &Cache) -> Result<Built, DeviceError> {
        if let Some(binary) = cache.get(key) {
            let from_binary = || {
                let mut program = queue.program_from_binary(&binary)?;
                program.build(&[queue.device], &self.options).map_err(call("clBuildProgram"))?;
                // Some drivers take a stale binary and fail only here.
                Kernel::create(&program, &self.entry).map_err(call("clCreateKernel"))?;
                Ok::<_, DeviceError>(program)
            };
            match from_binary() {
                Ok(program) => return Ok(Built { program, key: key.into(), cached: true }),
                Err(_) => cache.remove(key),
            }
        }
        let program = Program::create_from_source(&queue.context, &self.text).map_err(call("clCreateProgramWithSource"))?;
        let mut program = program;
        if let Err(error) = program.build(&[queue.device], &self.options) {
            let log = program.get_build_log(queue.device).unwrap_or_default();
            let log = log.trim_matches(|c: char| c == '\0' || c.is_whitespace());
            let log = if log.is_empty() { format!("clBuildProgram failed with {error} and no log") } else { log.into() };
            return Err(DeviceError::Build { program: index, kernel: self.name.clone(), line: error_line(&log), log });
        }
        Ok(Built { program, key: key.into(), cached: false })
    }
}

impl Built {
    /// A kernel object of its own for each launch: OpenCL keeps the arguments in it.
    pub(super) fn kernel(&self, text: &KernelText) -> Result<Kernel, DeviceError> {
        Kernel::create(&self.program, &text.entry).map_err(call(format!("clCreateKernel {}", text.entry)))
    }

    /// Puts a program that was compiled from source into the cache. Called after it ran, so that a program that brings the
    /// driver down is not found there, and so that drivers that compile at the first launch store what they then compiled.
    pub(super) fn store(&self, cache: &Cache) {
        if !self.cached
            && cache.0.is_some()
            && let Ok(binaries) = self.program.get_binaries()
            && let [binary] = &binaries[..]
            && !binary.is_empty()
        {
            cache.put(&self.key, binary);
        }
    }

    /// What the driver says of the kernel.
    pub(super) fn feedback(&self, kernel: &Kernel, queue: &Queue) -> Feedback {
        Feedback {
            // OpenCL has no query for registers.
            registers: None,
            private_bytes: kernel.get_private_mem_size(queue.device).ok(),
            spill_bytes: None,
            local_bytes: kernel.get_local_mem_size(queue.device).ok(),
            max_group_size: kernel.get_work_group_size(queue.device).ok().map(|size| u32::try_from(size).unwrap_or(u32::MAX)),
            resident_groups: None,
            cached: self.cached,
        }
    }
}

/// The first source line a build log complains of: `<file>:12:5: error: …` as Clang writes it, or `line 12: error …`.
fn error_line(log: &str) -> Option<u32> {
    let position = |line: &str| colon_position(line).or_else(|| line_word(line));
    log.lines().filter(|line| line.contains("error")).find_map(position).or_else(|| log.lines().find_map(position))
}

/// The number between the first two colons that also are followed by a number: `name:LINE:COLUMN`.
fn colon_position(line: &str) -> Option<u32> {
    let parts: Vec<&str> = line.split(':').collect();
    parts.windows(2).skip(1).find_map(|pair| {
        let (row, column): (u32, u32) = (pair[0].trim().parse().ok()?, pair[1].trim().parse().ok()?);
        (row > 0 && column > 0).then_some(row)
    })
}

/// The number after the word `line`.
fn line_word(line: &str) -> Option<u32> {
    let rest = &line[line.find("line ")? + "line ".len()..];
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::error_line;

    #[test]
    fn lines_of_the_logs_of_real_drivers() {
        for (log, line) in [
            ("error: /cache/pocl/kcache/tempfile_a9.cl:3:5: use of undeclared identifier 'x'", Some(3)),
            ("<kernel>:12:9: error: expected ';'\n  int a\n <kernel>:1:1: note: here", Some(12)),
            ("input.cl:1:20: warning: unused\ninput.cl:7:3: error: no member", Some(7)),
            ("\"/x/OCL1.cl\", line 21: error: identifier undefined", Some(21)),
            ("C:\\temp\\k.cl:4:2: error: x", Some(4)),
            ("ptxas fatal: unresolved extern function 'f'", None),
            ("", None),
        ] {
            assert_eq!(error_line(log), line, "{log}");
        }
    }
}
