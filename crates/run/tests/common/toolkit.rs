//! The CUDA compilers, for tests of several crates.

use std::path::Path;
use warpsight_run::cuda::Toolkit;

/// The compilers, or `None` with a message; without them the test fails where `CI=true`.
pub fn toolkit() -> Option<Toolkit> {
    // Tests run in the crate's folder; `./check` keeps its Python environment at the root of the repository.
    let installed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv/lib");
    let mut wheels = std::fs::read_dir(installed).into_iter().flatten().flatten().map(|e| e.path().join("site-packages/nvidia"));
    match Toolkit::find().or_else(|missing| wheels.find_map(|w| Toolkit::under(&w)).ok_or(missing)) {
        Ok(toolkit) => Some(toolkit),
        Err(missing) => {
            assert!(std::env::var("CI").as_deref() != Ok("true"), "{missing}, and CI=true");
            eprintln!("skipped: {missing}");
            None
        }
    }
}
