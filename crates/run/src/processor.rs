//! Processor time of processes.

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

/// Processor time of another process of this user so far, all threads together, in seconds. Nothing where that is not told.
#[cfg(target_os = "linux")]
pub(crate) fn processor_time_of(process: u32) -> Option<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // proc(5): the second field is a name in brackets, of any characters; utime and stime are the 14th and 15th, in ticks.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<u64>().ok();
    Some((ticks()? + ticks()?) as f64 / rustix::param::clock_ticks_per_second() as f64)
}

/// Processor time of another process: not known here.
#[cfg(not(target_os = "linux"))]
pub(crate) fn processor_time_of(_process: u32) -> Option<f64> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn processes_are_told_their_time_from_outside_too() {
        let begin = processor_time().unwrap();
        let mut sum = 0u64;
        while processor_time().unwrap() < begin + 0.1 {
            sum = std::hint::black_box(sum + 1);
        }
        let (inside, outside) = (processor_time().unwrap(), processor_time_of(std::process::id()).unwrap());
        // Ticks are hundredths.
        assert!((inside - outside).abs() < 0.05, "{inside} {outside}");
        assert_eq!(processor_time_of(u32::MAX), None);
    }
}
