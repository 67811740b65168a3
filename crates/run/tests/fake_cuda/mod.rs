//! Builds the stand-in for the CUDA driver and NVRTC, for tests of any crate of the workspace.
#![allow(dead_code)]

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Where the sources are.
fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../run/tests/fake_cuda")
}

/// The folder for `LD_LIBRARY_PATH`, with `libcuda.so.1` and `libnvrtc.so.13`; its subfolder `old` has a driver of version 11.4.
/// `None`, with a note, where no g++ is there.
///
/// # Panics
/// Under `CI=true` without g++; where the sources do not compile.
pub fn build() -> Option<PathBuf> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    BUILT.get_or_init(build_once).clone()
}

fn build_once() -> Option<PathBuf> {
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "g++".into());
    if Command::new(&compiler).arg("--version").output().is_err() {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "the stand-in for CUDA needs {compiler}");
        println!("skipped: the stand-in for CUDA needs {compiler}, which is not there");
        return None;
    }
    let mut files: Vec<_> = std::fs::read_dir(sources()).unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    let mut hash = DefaultHasher::new();
    for file in files.iter().filter(|f| f.extension().is_some_and(|e| e != "rs")) {
        (file.file_name(), std::fs::read(file).unwrap()).hash(&mut hash);
    }
    let cache = option_env!("CARGO_TARGET_TMPDIR").map_or_else(std::env::temp_dir, PathBuf::from);
    std::fs::create_dir_all(&cache).unwrap();
    // Many test processes begin at once: one builds, and the others wait for it.
    let lock = std::fs::File::create(cache.join("warpsight-fake-cuda.lock")).unwrap();
    lock.lock().unwrap();
    let done = cache.join(format!("warpsight-fake-cuda-{:016x}", hash.finish()));
    if done.exists() {
        return Some(done);
    }
    // A build that was interrupted leaves no folder of the final name.
    let own = cache.join(format!("warpsight-fake-cuda-building-{}", std::process::id()));
    let output = Command::new("sh").arg(sources().join("build.sh")).arg(&own).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::rename(&own, &done).unwrap();
    Some(done)
}
