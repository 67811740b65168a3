//! How devices are opened.

use crate::DeviceError;
use crate::cache::default_directory;
use std::path::PathBuf;
use std::time::Duration;

/// How devices are opened.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Runs drivers in this process: one that crashes or hangs takes it along.
    pub in_process: bool,
    /// Runs the simulator in a process of its own as drivers are, so that a long job can be stopped.
    pub simulator_too: bool,
    /// Where compiled programs are kept; `None` keeps none.
    pub cache: Option<PathBuf>,
    /// How long a job, or one request of a session, may take before its driver is killed. Without effect `in_process`.
    pub timeout: Duration,
    /// The program that is started as a child, one whose `main` begins with [`crate::child_main`]; by default this executable.
    pub program: Option<PathBuf>,
}

impl Default for Options {
    /// Isolated, the cache in its default directory, two minutes for a job.
    fn default() -> Self {
        Self { in_process: false, simulator_too: false, cache: default_directory(), timeout: Duration::from_secs(120), program: None }
    }
}

impl Options {
    /// The program that is started as a child.
    pub(crate) fn program(&self) -> Result<PathBuf, DeviceError> {
        match &self.program {
            Some(program) => Ok(program.clone()),
            None => std::env::current_exe().map_err(|error| DeviceError::Lost(format!("this executable's path is unknown: {error}"))),
        }
    }
}
