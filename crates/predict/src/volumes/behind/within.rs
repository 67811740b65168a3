//! What blocks at work at the same time take from each other in a second-level cache.
//! .
//! They come in no order: however near two of them were launched, all that a wave touches may lie between their requests of a line, and some
//! lines are gone although there is room for all. Most are those that stores fill in part, one store after the other: a cache gives them away
//! sooner than what it can load again, half filled, and what is missing is read back (paper 002, sections 4.4, 4.5 and 5.6).

use crate::paper002::curves::Gompertz;
use serde::Deserialize;

/// Which part is gone, by what a wave touches over the geometric mean of two sizes.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct Curves {
    /// Of lines that are loaded again; `None` where what is fitted to the device's own loads counts these losses already.
    pub(in crate::volumes) loads: Option<Gompertz>,
    /// Of lines that another store fills on.
    pub(in crate::volumes) stores: Gompertz,
    /// One of the sizes, in bytes; the other is that of a cache.
    pub(in crate::volumes) unit: f64,
}

/// The curves for a cache.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Within {
    /// The curves.
    pub curves: Curves,
    /// Bytes of a part of the cache, such as the one next to an SM.
    pub bytes: f64,
}

impl Within {
    /// The part of lines to be loaded again that is gone, where a wave touches so many bytes.
    pub fn loads(&self, footprint: f64) -> f64 {
        self.curves.loads.map_or(0.0, |curve| curve.misses(self.coverage(footprint)))
    }

    /// The part of lines to be filled on by another store.
    pub fn stores(&self, footprint: f64) -> f64 {
        self.curves.stores.misses(self.coverage(footprint))
    }

    fn coverage(&self, footprint: f64) -> f64 {
        footprint / (self.bytes * self.curves.unit).sqrt()
    }
}
