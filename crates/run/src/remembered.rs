//! A device on which some Programs failed before.

use crate::job::{Code, Job, JobResult, MemorySpec};
use crate::session::Session;
use crate::{Device, DeviceError, DeviceInfo};
use std::collections::BTreeMap;
use std::time::Duration;

/// A device on which some Programs failed before: jobs of them are refused with [`DeviceError::Before`] and not tried again, since a driver that
/// hangs is waited for, one that crashes may take the machine along, and what a driver refuses or gets wrong it does again. What fails meanwhile
/// counts as well. Sessions run whatever they are given.
pub struct Remembered {
    device: Box<dyn Device>,
    failed: BTreeMap<String, String>,
}

impl Remembered {
    /// By the text of each Program that failed, how it did.
    pub fn new(device: Box<dyn Device>, failed: BTreeMap<String, String>) -> Self {
        Self { device, failed }
    }

    fn refusal(&self, job: &Job) -> Option<DeviceError> {
        if self.failed.is_empty() {
            return None;
        }
        job.programs.iter().find_map(|code| {
            let Code::Program(program) = code else { return None };
            let how = self.failed.get(&program.to_string())?;
            Some(DeviceError::Before { kernel: program.name.to_string(), how: how.clone() })
        })
    }
}

impl Device for Remembered {
    fn info(&self) -> &DeviceInfo {
        self.device.info()
    }
    fn open<'a>(&'a mut self, memory: &[MemorySpec]) -> Result<Box<dyn Session + 'a>, DeviceError> {
        self.device.open(memory)
    }
    fn run(&mut self, job: &Job) -> Result<JobResult, DeviceError> {
        if let Some(error) = self.refusal(job) {
            return Err(error);
        }
        let result = self.device.run(job);
        if let (Err(error), [Code::Program(program)]) = (&result, &*job.programs)
            && matches!(error, DeviceError::Build { .. } | DeviceError::Fault { .. } | DeviceError::Lost(_) | DeviceError::Timeout(_))
        {
            self.failed.insert(program.to_string(), error.to_string());
        }
        result
    }
    fn prepare(&self, jobs: &[Job]) {
        if self.failed.is_empty() {
            return self.device.prepare(jobs);
        }
        let fresh: Vec<Job> = jobs.iter().filter(|job| self.refusal(job).is_none()).cloned().collect();
        self.device.prepare(&fresh);
    }
    fn limit(&mut self, timeout: Duration) {
        self.device.limit(timeout);
    }
}
