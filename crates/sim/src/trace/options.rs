//! How a launch is followed.

/// How long a launch is followed, in which turns, and which dice are thrown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Accesses of warps that are executed at most: of a longer launch a part ([`super::Part`]). A round of turns is always ended.
    pub limit: u64,
    /// Loads that a warp makes in its turn at most, of those between which nothing is waited for: schedulers stay with a warp as long as it
    /// has something to do, and so many are under way by assumption.
    pub turn: u32,
    /// Of draws that stand for data-dependent addresses.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { limit: 8_000_000, turn: 8, seed: 1 }
    }
}
