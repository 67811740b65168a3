//! How long a device has to work before it is timed.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// How long a device works before it is timed, at most: an idle GPU holds its clocks down and raises them within milliseconds.
const WARM_UP: Duration = Duration::from_millis(20);

/// How long a device has to work before it is timed: as long as it may have stood idle, at most [`WARM_UP`], less what it has worked
/// since.
pub(super) struct Awake {
    /// When it had last done what was asked.
    since: Cell<Instant>,
    /// What it owed then.
    owed: Cell<Duration>,
}

impl Default for Awake {
    fn default() -> Self {
        Self { since: Cell::new(Instant::now()), owed: Cell::new(Duration::ZERO) }
    }
}

impl Awake {
    pub(super) fn owed(&self) -> Duration {
        owed(self.owed.get(), self.since.get().elapsed())
    }
    /// It begins to work.
    pub(super) fn begin(&self) {
        self.owed.set(self.owed());
        self.since.set(Instant::now());
    }
    /// It has worked since it began.
    pub(super) fn end(&self) {
        self.owed.set(self.owed.get().saturating_sub(self.since.get().elapsed()));
        self.since.set(Instant::now());
    }
    /// It has worked as long as it takes.
    pub(super) fn done(&self) {
        self.owed.set(Duration::ZERO);
        self.since.set(Instant::now());
    }
}

/// What is owed after it stood idle for so long.
fn owed(before: Duration, idle: Duration) -> Duration {
    before.saturating_add(idle).min(WARM_UP)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_warm_up_as_long_as_they_stood_idle() {
        let owed = |before, idle| owed(Duration::from_millis(before), Duration::from_millis(idle)).as_millis();
        assert_eq!(owed(0, 3), 3);
        assert_eq!(owed(0, 500), 20, "a compiler ran in between");
        assert_eq!(owed(8, 4), 12, "a pass did not take long enough");
        let awake = Awake { since: Cell::new(Instant::now()), owed: Cell::new(WARM_UP) };
        awake.begin();
        std::thread::sleep(2 * WARM_UP);
        awake.end();
        assert!(awake.owed() < WARM_UP, "a long kernel is warm after its first pass");
    }
}
