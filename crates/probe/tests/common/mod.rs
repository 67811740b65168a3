//! What several tests share: a GPU as its driver describes it, and the compilers.

use std::path::Path;
use warpsight_run::cuda::toolkit::Toolkit;
use warpsight_run::{DeviceInfo, DeviceLimits};

/// An H200 as its driver describes it.
pub fn h200() -> DeviceInfo {
    let facts = [
        ("multiprocessor_count", "132"),
        ("l2_cache_bytes", "62914560"),
        ("max_threads_per_multiprocessor", "2048"),
        ("max_blocks_per_multiprocessor", "32"),
        ("max_shared_memory_per_multiprocessor", "233472"),
    ];
    DeviceInfo {
        id: "cuda:0".into(),
        backend: "cuda".into(),
        name: "NVIDIA H200".into(),
        driver: "described".into(),
        is_cpu: false,
        limits: DeviceLimits {
            max_group_size: Some(1024),
            max_group_dims: Some([1024, 1024, 64]),
            local_bytes: Some(227 << 10),
            image_2d: Some((131072, 65536)),
            max_allocation: Some(141_000_000_000),
            memory: Some(141_000_000_000),
            compute_units: Some(132),
            f64: true,
            f16: true,
        },
        clock: None,
        facts: facts.map(|(name, value)| (name.into(), value.into())).into(),
    }
}

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
