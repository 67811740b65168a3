//! One draw of random numbers at a time.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The devices' generators of random numbers are shared by the whole process: held from a seed to the last number drawn after it, and where
/// networks are made otherwise, so that neither disturbs a training.
pub(super) fn drawing() -> MutexGuard<'static, ()> {
    static GENERATOR: Mutex<()> = Mutex::new(());
    // A poisoned lock guards no data.
    GENERATOR.lock().unwrap_or_else(PoisonError::into_inner)
}
