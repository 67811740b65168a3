//! Drawing in a child process.

use super::frame::{Reply, Request};
use super::{Limit, Opened, Start, unexpected};
use crate::vulkan::{Draw, Drawn, Renderer};
use crate::{DeviceError, DeviceInfo};
use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

/// A device that draws in a child process.
pub struct IsolatedRenderer(pub(super) Opened);

impl IsolatedRenderer {
    /// Opens a device in a child of `program`, as [`Isolated::spawn`](super::Isolated::spawn) does, in a folder that lives as long as this.
    /// `vector_bits` asks lavapipe for vectors of another width than it chooses itself.
    ///
    /// # Errors
    /// Those of opening the device, [`DeviceError::Lost`] and [`DeviceError::Timeout`].
    pub fn spawn(id: &str, program: &Path, timeout: Duration, vector_bits: Option<u32>) -> Result<Self, DeviceError> {
        let (environment, folder) = (environment(vector_bits), folder()?);
        let Start { command, cache } = Start::of_program(id, program, None);
        let command = Arc::new(move || {
            let mut command = command();
            command.envs(environment.iter().map(|(name, value)| (name, value))).current_dir(folder.path());
            command
        });
        let mut this = Self(Opened::new(Start { command, cache }, timeout)?);
        this.limit(timeout);
        Ok(this)
    }
}

impl Renderer for IsolatedRenderer {
    fn info(&self) -> &DeviceInfo {
        &self.0.info
    }

    fn draw(&mut self, draw: &Draw) -> Result<Drawn, DeviceError> {
        match self.0.worker.ask(&Request::Draw(Cow::Borrowed(draw)))? {
            Reply::Drawn(drawn) => Ok(*drawn),
            other => Err(unexpected(&other)),
        }
    }

    fn limit(&mut self, timeout: Duration) {
        self.0.worker.limit = if self.0.info.is_cpu { Limit::Processor(timeout) } else { Limit::Wall(timeout) };
    }
}

/// The environment of a process that draws on this many lanes of vectors, if a CPU rasteriser is to use so many: Mesa works with one
/// thread, so that processor time is the time of the work, and keeps no compiled shaders, so that nothing writes files meanwhile.
fn environment(vector_bits: Option<u32>) -> Vec<(String, OsString)> {
    let mut all = vec![("LP_NUM_THREADS", "1".into()), ("MESA_SHADER_CACHE_DISABLE", "true".into())];
    all.extend(vector_bits.map(|bits| ("LP_NATIVE_VECTOR_WIDTH", bits.to_string().into())));
    // The process has a folder of its own.
    for name in ["VK_DRIVER_FILES", "VK_ICD_FILENAMES", "VK_ADD_DRIVER_FILES"] {
        all.extend(std::env::var_os(name).and_then(|value| absolute(&value)).map(|value| (name, value)));
    }
    all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// A list of paths that mean the same in every folder.
fn absolute(paths: &OsStr) -> Option<OsString> {
    let absolute = std::env::split_paths(paths)
        .filter(|path| !path.as_os_str().is_empty())
        .map(std::path::absolute)
        .collect::<Result<Vec<_>, _>>()
        .ok()?;
    std::env::join_paths(absolute).ok()
}

/// A folder for a process that draws. SwiftShader is told by a file there to work with one thread: several wait for each other busily,
/// which doubles processor time and makes it vary.
fn folder() -> Result<TempDir, DeviceError> {
    let made = || -> std::io::Result<TempDir> {
        let folder = tempfile::Builder::new().prefix("warpsight-draws-").tempdir()?;
        std::fs::write(folder.path().join("SwiftShader.ini"), "[Processor]\nThreadCount=1\n")?;
        Ok(folder)
    };
    made().map_err(|e| DeviceError::Lost(format!("no folder for a process that draws: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SwiftShader reads a file in the folder that it works in.
    #[test]
    fn a_process_that_draws_has_a_folder_and_paths_that_mean_the_same_there() {
        let folder = folder().unwrap();
        let text = std::fs::read_to_string(folder.path().join("SwiftShader.ini")).unwrap();
        assert_eq!(text, "[Processor]\nThreadCount=1\n");
        let here = std::env::current_dir().unwrap();
        let paths = std::env::join_paths([here.join("a.json"), "/b/c.json".into()]).unwrap();
        assert_eq!(absolute(&std::env::join_paths(["a.json", "/b/c.json"]).unwrap()), Some(paths));
    }
}
