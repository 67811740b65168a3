//! Processor time of this process.

/// Processor time of this process so far, all threads together, in seconds.
#[cfg(unix)]
pub(crate) fn processor_time() -> Option<f64> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Some(time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9)
}

/// Processor time of this process so far: not known here.
#[cfg(not(unix))]
pub(crate) fn processor_time() -> Option<f64> {
    None
}
