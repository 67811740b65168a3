//! What several tests share: a GPU as its driver describes it, and the compilers.

#[path = "../../../run/tests/common/toolkit.rs"]
mod compilers;

pub use compilers::toolkit;
use warpsight_run::{DeviceInfo, DeviceLimits};

/// An H200 as its driver describes it.
pub fn h200() -> DeviceInfo {
    let facts = [
        ("compute_capability", "9.0"),
        ("multiprocessor_count", "132"),
        ("l2_cache_bytes", "62914560"),
        ("max_threads_per_multiprocessor", "2048"),
        ("max_blocks_per_multiprocessor", "32"),
        ("max_shared_memory_per_multiprocessor", "233472"),
        ("max_shared_memory_per_block_optin", "232448"),
        ("max_persisting_l2_cache_size", "32768000"),
        ("max_access_policy_window_size", "134213632"),
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
            local_arrays: None,
            image_2d: Some((131072, 65536)),
            image_1d: Some(32_768),
            image_buffer: Some(1 << 28),
            image_pitch: Some(32),
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
