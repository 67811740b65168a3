//! Processor time of processes and threads.

use std::time::{Duration, Instant};

/// What a thread takes for something: processor time, so that what others run meanwhile does not count, or what passes where that is not told.
pub(crate) struct Watch {
    begun: Instant,
    before: Option<Duration>,
}

impl Watch {
    /// Begins.
    pub(crate) fn start() -> Self {
        Self { begun: Instant::now(), before: thread_time() }
    }

    /// What this thread took since.
    pub(crate) fn taken(&self) -> Duration {
        let own = thread_time().zip(self.before).map(|(now, before)| now.saturating_sub(before));
        own.unwrap_or_else(|| self.begun.elapsed())
    }
}

/// Processor time of this thread so far.
#[cfg(unix)]
fn thread_time() -> Option<Duration> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Some(Duration::new(time.tv_sec.try_into().ok()?, time.tv_nsec.try_into().ok()?))
}

/// Processor time of this thread so far: not known here.
#[cfg(not(unix))]
fn thread_time() -> Option<Duration> {
    None
}

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
    fn a_thread_that_sleeps_takes_no_time() {
        let watch = Watch::start();
        std::thread::sleep(Duration::from_millis(50));
        assert!(watch.taken() < Duration::from_millis(25), "{:?}", watch.taken());
        let begun = Instant::now();
        while watch.taken() < Duration::from_millis(30) {
            assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", watch.taken());
        }
        assert!(begun.elapsed() >= Duration::from_millis(5));
    }

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
