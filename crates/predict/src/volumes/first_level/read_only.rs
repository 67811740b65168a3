//! Loads through the read-only path (`__ldg`): how many times the cycles of ordinary loads they take.
//! .
//! It is no matter of the cache alone: compilers move such loads freely and write out more of them, so that code, not data, is what a kernel
//! waits for (tiles of 16 points take up to 19 times as long on A100). One factor explains 87 % of it where it was recorded (mean square of
//! logarithms); the rest is its range.

use super::l1::Rule;
use warpsight_ir::Profile;

/// Cycles over those of ordinary loads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Factor {
    /// The median.
    pub typical: f64,
    /// A twentieth of what was recorded lies below.
    pub lo: f64,
    /// A twentieth lies above.
    pub hi: f64,
    /// Where it was recorded.
    pub from: &'static str,
}

/// 834 pairs of convolutions without local memory, each with and without `__ldg` (`kt_convolution_noshmem_A100.json`).
const A100: Factor = Factor { typical: 2.28, lo: 1.40, hi: 3.44, from: "834 pairs of 15 × 15 convolutions on A100" };
/// Said of convolutions on GA10x without their spread: it is taken to lie between nothing and A100's median.
const GA10X: Factor = Factor { typical: 1.3, lo: 1.0, hi: 2.28, from: "convolutions on GA10x" };
/// Between the two, and from nothing to the most of both.
const OTHERS: Factor = Factor { typical: 1.72, lo: 1.0, hi: 3.44, from: "A100 and GA10x, for want of recordings of this architecture" };

impl Factor {
    /// Of a device; `None` where there is no such path: on AMD it is that of all loads, and half of 960 pairs on MI250X are within 2 %.
    pub fn of(on: &Profile) -> Option<Self> {
        match (Rule::of(on), on.architecture.as_deref()) {
            (Ok(Rule::Nvidia { .. }), Some("ampere")) => Some(A100),
            (Ok(Rule::Nvidia { .. }), Some("ampere-ga10x")) => Some(GA10X),
            (Ok(Rule::Nvidia { .. }), _) => Some(OTHERS),
            _ => None,
        }
    }

    /// In words.
    pub fn said(self) -> String {
        let Self { typical, lo, hi, from } = self;
        format!(
            "loads through the read-only path take {typical} times the cycles of ordinary loads in the first level, and the interval covers \
             {lo} to {hi} times: {from}"
        )
    }
}
