//! The model of paper 000 (Guan et al., TMModel, ICS 2025, sections 3.1 and 4) as published: strides along x and along y that cross to other
//! blocks of a few square shapes, each with a weight (equation 1), times D to a power that grows with the lines that lanes use (equation 2).

use super::{Block, Path};
use crate::units::Seconds;
use serde::{Deserialize, Serialize};

/// Blocks that are assumed: the paper's example has 2 × 2 and 4 × 4.
pub const BLOCKS: [Block; 4] =
    [Block { width: 2, height: 2 }, Block { width: 4, height: 4 }, Block { width: 8, height: 8 }, Block { width: 16, height: 16 }];

/// The model of one device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper000 {
    /// β by the bytes of a texel: two weights, of x and of y, for each of [`BLOCKS`].
    pub weights: Vec<Weights>,
    /// C: lines of the cache.
    pub lines: f64,
    /// D.
    pub divergence: f64,
    /// Mean relative error of paths of one lane that the fit has not seen.
    pub error: f64,
    /// The same of paths of several lanes, where any were measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warp_error: Option<f64>,
}

/// β of texels of one size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Weights {
    /// Bytes of a texel.
    pub texel_bytes: u32,
    /// Seconds of each bar of the histogram.
    pub bars: Vec<Seconds>,
}

/// H: per fetch of the first lane, its strides that cross to another block along x and along y, for each of [`BLOCKS`].
pub fn histogram(path: &Path) -> Vec<f64> {
    let own: Vec<(u32, u32)> = path.fetches().filter_map(|fetch| fetch.first().copied()).collect();
    let strides = own.len().saturating_sub(1).max(1) as f64;
    let bars = |block: &Block| {
        let mut bars = [0.0; 2];
        for two in own.windows(2) {
            let (from, to) = (block.of(two[0]), block.of(two[1]));
            bars[0] += f64::from(u8::from(from.0 != to.0));
            bars[1] += f64::from(u8::from(from.1 != to.1));
        }
        bars.map(|bar| bar / strides)
    };
    BLOCKS.iter().flat_map(bars).collect()
}

impl Paper000 {
    /// Whether all its numbers are.
    pub fn is_finite(&self) -> bool {
        let own = [self.lines, self.divergence, self.error, self.warp_error.unwrap_or(0.0)];
        own.into_iter().chain(self.weights.iter().flat_map(|own| &own.bars).map(|bar| bar.0)).all(f64::is_finite)
    }

    /// Equation 1: seconds of a fetch of one thread.
    pub fn thread(&self, texel_bytes: u32, histogram: &[f64]) -> Option<Seconds> {
        let own = self.weights.iter().find(|weights| weights.texel_bytes == texel_bytes)?;
        Some(own.bars.iter().zip(histogram).fold(Seconds::ZERO, |sum, (weight, bar)| sum + *weight * *bar))
    }

    /// Equation 2: of a warp of so many lanes, whose threads come back to a line after `distance` others.
    pub fn warp(&self, thread: Seconds, lanes: f64, distance: f64) -> Seconds {
        thread * self.divergence.powf(exponent(lanes * distance, self.lines))
    }
}

/// How often the cache is too small for so many lines. Where all fit the paper's text has it 0, its formula −1.
pub fn exponent(lines: f64, cache: f64) -> f64 {
    ((lines - cache) / cache.max(1.0)).ceil().max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_histogram_is_that_of_figure_2() {
        // Strides of a thread: along x by 1 within a block of 2, then into the next, then down by 4.
        let texels = [(0, 0), (1, 0), (2, 0), (2, 4)];
        let bars = histogram(&Path::new(1, &texels));
        assert_eq!(bars[..4], [1.0 / 3.0, 1.0 / 3.0, 0.0, 1.0 / 3.0]);
    }

    #[test]
    fn a_cache_that_is_large_enough_costs_nothing() {
        let paper = Paper000 { lines: 32.0, divergence: 2.0, ..Paper000::default() };
        let warp = |lanes, distance| paper.warp(Seconds(1.0), lanes, distance).0;
        assert_eq!([warp(64.0, 0.0), warp(32.0, 1.0), warp(33.0, 1.0), warp(64.0, 4.0)], [1.0, 1.0, 2.0, 128.0]);
    }
}
