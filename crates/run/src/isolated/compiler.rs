//! The compiler of GLSL in children: what a few bytes of hostile text can make of it ends a child.
//!
//! A child compiles any number of shaders, one at a time; there are as many as ask at the same time.

use super::frame::{Reply, Request};
use super::{Limit, MAY_BE_CHILD, Start, Worker};
use crate::DeviceError;
use crate::glslang::{self, CompileError};
use crate::options::Options;
use std::borrow::Cow;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// What such children are started for.
pub(super) const ID: &str = "glsl";

/// Children that compile, and how long one shader may take them, in seconds of the processor: however busy the machine is.
pub(super) struct Compiler {
    start: Box<dyn Fn() -> Result<Start, DeviceError> + Send + Sync>,
    timeout: Duration,
    idle: Mutex<Vec<Worker>>,
}

/// Compiles a text of anyone's as [`glslang::fragment`] does, in a child process with [`glslang::TIMEOUT`], [`glslang::MEMORY`] and
/// [`glslang::STACK`]. May be called by many threads at once: each has a child, which is kept for the next shader. A program whose `main`
/// does not begin with [`super::child_main`] compiles by itself.
///
/// # Errors
/// [`CompileError`].
pub fn compile(glsl: &str) -> Result<Vec<u32>, CompileError> {
    static COMPILER: OnceLock<Compiler> = OnceLock::new();
    if !MAY_BE_CHILD.load(Ordering::Relaxed) {
        return glslang::fragment(glsl);
    }
    let start = || Options::default().program().map(|program| Start::of_program(ID, &program, None));
    COMPILER.get_or_init(|| Compiler::new(start, glslang::TIMEOUT)).compile(glsl)
}

impl Compiler {
    pub(super) fn new(start: impl Fn() -> Result<Start, DeviceError> + Send + Sync + 'static, timeout: Duration) -> Self {
        Self { start: Box::new(start), timeout, idle: Mutex::default() }
    }

    pub(super) fn compile(&self, glsl: &str) -> Result<Vec<u32>, CompileError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let waited = idle.is_some();
        let mut worker = match idle {
            Some(worker) => worker,
            None => {
                let started = (self.start)().and_then(|start| Worker::new(start, Limit::Processor(self.timeout)));
                started.map_err(|error| CompileError::Unavailable(error.to_string()))?.0
            }
        };
        let ask = |worker: &mut Worker| worker.ask(&Request::Compile(Cow::Borrowed(glsl)));
        let reply = match ask(&mut worker) {
            // It may have been killed while it waited for work: that says nothing of this shader.
            Err(DeviceError::Lost(_)) if waited => ask(&mut worker),
            reply => reply,
        };
        // One that ended is started anew when it is asked again.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(worker);
        match reply {
            Ok(Reply::Compiled(result)) => result,
            Err(DeviceError::Timeout(seconds)) => Err(CompileError::Slow { seconds }),
            // What a process last said is of the library that failed.
            Err(DeviceError::Lost(how)) => Err(CompileError::Died { how: how.split(';').next().unwrap_or_default().to_owned() }),
            Ok(other) => Err(CompileError::Unavailable(super::unexpected(&other).to_string())),
            Err(error) => Err(CompileError::Unavailable(error.to_string())),
        }
    }
}

/// Serves on a stack of its own, in a process that may take so much memory and leaves no core behind.
pub(super) fn with_limits(serve: impl FnOnce() -> ExitCode + Send + 'static) -> ExitCode {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        for (resource, bytes) in [(Resource::As, glslang::MEMORY), (Resource::Core, 0)] {
            let maximum = getrlimit(resource).maximum;
            let bytes = maximum.map_or(bytes, |most| most.min(bytes));
            // A system that knows no such limit has the one of time.
            let _ = setrlimit(resource, Rlimit { current: Some(bytes), maximum });
        }
    }
    let thread = std::thread::Builder::new().stack_size(glslang::STACK).spawn(serve);
    match thread {
        Ok(thread) => thread.join().unwrap_or(ExitCode::from(5)),
        Err(error) => {
            eprintln!("it is not given a stack of {} bytes: {error}", glslang::STACK);
            ExitCode::from(5)
        }
    }
}
