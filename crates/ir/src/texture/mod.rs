//! What fetches of texels take by where they go: the formula that the fit of samples and the models share.
//!
//! A texture cache holds lines, which are blocks of texels; the levels behind it hold larger blocks. What a fetch takes beyond a hit therefore
//! follows from the *strides that lead to another block* (paper 000, section 3.1), counted for each size of block. The first path to a block
//! costs its `first`; where several lanes of one fetch go to blocks that are not there, each `further` one queues behind it. Blocks that were
//! left come back for nothing while they are still held ([`TexelFit::held`]), which is how paths of many lanes get in each other's way.
//!
//! [`paper000`] is the model as published, a baseline.

pub mod paper000;
mod path;

pub use path::{Block, Path, Returns};

use crate::units::Seconds;
use serde::{Deserialize, Serialize};

/// What fetches take on a device, by the bytes of a texel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextureFit {
    /// One for each size of texel that was measured, ascending.
    pub texels: Vec<TexelFit>,
}

/// What fetches of texels of one size take.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TexelFit {
    /// Bytes of a texel.
    pub texel_bytes: u32,
    /// A fetch by one lane that crosses to no block.
    pub hit: Seconds,
    /// What each further lane of a fetch takes.
    pub lane: Seconds,
    /// What strides to other blocks take, by rising area of the blocks; what a block costs is beyond what smaller ones do.
    pub blocks: Vec<BlockCost>,
    /// Blocks of the smallest size that are held (C of paper 000): of those left that many blocks ago, half are still there. `None` where no
    /// measured path comes back to blocks that it left: then all are taken to be held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<f64>,
    /// Why `lines` are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines_unknown: Option<String>,
    /// How sharply what is held ends: 1 fades over several times as many blocks, large numbers end at once, as least recently used lines of
    /// one set do.
    pub fading: f64,
    /// Mean relative error of paths of one lane that the fit has not seen.
    pub error: f64,
    /// The same of paths of several lanes, where any were measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warp_error: Option<f64>,
}

/// What strides to other blocks take.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BlockCost {
    /// The block's texels in a row.
    pub width: u32,
    /// Its rows.
    pub height: u32,
    /// β: seconds of a fetch of which any lane goes to a block that is not held.
    pub first: Seconds,
    /// Seconds of each further block that is not held.
    pub further: Seconds,
}

impl BlockCost {
    /// The block.
    pub fn block(&self) -> Block {
        Block { width: self.width, height: self.height }
    }
}

impl TextureFit {
    /// That of texels of so many bytes, or of the size nearest to it: smaller texels share blocks of the same bytes.
    pub fn of(&self, texel_bytes: u32) -> Option<&TexelFit> {
        let apart = |fit: &&TexelFit| (f64::from(fit.texel_bytes) / f64::from(texel_bytes.max(1))).log2().abs();
        self.texels.iter().min_by(|a, b| apart(a).total_cmp(&apart(b)))
    }
}

impl TexelFit {
    /// The part of blocks of the smallest size that are still held when so many others were visited since.
    pub fn held(&self, since: f64) -> f64 {
        self.lines.map_or(1.0, |lines| held(since, lines, self.fading))
    }

    /// Whether all its numbers are.
    pub fn is_finite(&self) -> bool {
        let own = [self.hit.0, self.lane.0, self.lines.unwrap_or(0.0), self.fading, self.error, self.warp_error.unwrap_or(0.0)];
        own.into_iter().chain(self.blocks.iter().flat_map(|cost| [cost.first.0, cost.further.0])).all(f64::is_finite)
    }

    /// Seconds of a fetch by one lane that goes to another block of every size: the longest.
    pub fn miss(&self) -> Seconds {
        self.blocks.iter().fold(self.hit, |sum, cost| sum + cost.first)
    }

    /// Mean seconds of a fetch along a path.
    pub fn seconds(&self, path: &Path) -> Seconds {
        let strides: Vec<Strides> = self.blocks.iter().map(|cost| Strides::of(&path.returns(cost.block()), |_| 1.0)).collect();
        self.of_strides(path.lanes(), &self.strides(path, strides))
    }

    /// The strides of each block where only the smallest ones are forgotten: what lies behind the cache holds more.
    fn strides(&self, path: &Path, mut kept: Vec<Strides>) -> Vec<Strides> {
        if let (Some(first), Some(cost)) = (kept.first_mut(), self.blocks.first()) {
            *first = Strides::of(&path.returns(cost.block()), |since| self.held(since));
        }
        kept
    }

    /// Mean seconds of a fetch by so many lanes that makes these strides to other blocks, in the order of [`blocks`](Self::blocks).
    pub fn of_strides(&self, lanes: usize, strides: &[Strides]) -> Seconds {
        let further = self.lane * (lanes.max(1) - 1) as f64;
        let costs = self.blocks.iter().zip(strides);
        costs.fold(self.hit + further, |sum, (cost, own)| sum + cost.first * own.any + cost.further * (own.blocks - own.any))
    }
}

/// The part of blocks that are still held when `since` others were visited since, of a cache of about `lines`.
pub fn held(since: f64, lines: f64, fading: f64) -> f64 {
    1.0 / (1.0 + (since / lines.max(f64::MIN_POSITIVE)).powf(fading))
}

/// Strides to blocks that are not held, in the mean of a path's fetches.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Strides {
    /// The part of fetches of which any lane makes one.
    pub any: f64,
    /// Blocks of a fetch that have to come.
    pub blocks: f64,
}

impl Strides {
    /// Of a path's returns to its blocks; `held` is the part of those that are still there after so many others.
    pub fn of(returns: &Returns, held: impl Fn(f64) -> f64) -> Self {
        let mut sum = Self::default();
        for fetch in returns.fetches() {
            let mut all_held = 1.0;
            for since in fetch {
                let kept = since.map_or(0.0, |since| if since == 0 { 1.0 } else { held(f64::from(since)) });
                sum.blocks += 1.0 - kept;
                all_held *= kept;
            }
            sum.any += 1.0 - all_held;
        }
        let fetches = returns.fetches().len().max(1) as f64;
        Self { any: sum.any / fetches, blocks: sum.blocks / fetches }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(width: u32, height: u32, first: f64, further: f64) -> BlockCost {
        BlockCost { width, height, first: Seconds(first), further: Seconds(further) }
    }
    fn fit() -> TexelFit {
        let blocks = vec![cost(2, 1, 10.0, 1.0), cost(4, 4, 100.0, 7.0)];
        TexelFit { texel_bytes: 16, hit: Seconds(50.0), lane: Seconds(0.5), blocks, lines: Some(4.0), fading: 64.0, ..TexelFit::default() }
    }

    #[test]
    fn one_lane_pays_for_blocks_that_it_enters() {
        // Eight texels of a row: four lines, two blocks.
        let row: Vec<(u32, u32)> = (0..8).map(|x| (x, 0)).collect();
        let seconds = fit().seconds(&Path::new(1, &row)).0;
        assert!((seconds - (50.0 + 10.0 * 0.5 + 100.0 * 0.25)).abs() < 1e-9, "{seconds}");
    }

    #[test]
    fn blocks_come_back_while_they_are_held() {
        // Down three rows and back: three lines fit, five do not; the block behind has them all.
        let turns = |rows: u32| (0..20 * rows).map(|n| (n / rows % 2, n % rows)).collect::<Vec<_>>();
        let beyond = |rows| fit().seconds(&Path::new(1, &turns(rows))).0 - 50.0;
        assert!((beyond(3) - (10.0 * 3.0 + 100.0) / 60.0).abs() < 1e-6, "{}", beyond(3));
        assert!((beyond(8) - (10.0 * 160.0 + 200.0) / 160.0).abs() < 1e-6, "{}", beyond(8));
    }

    #[test]
    fn further_lanes_and_their_blocks_queue() {
        // Four lanes in a column of texels, one fetch: four lines of one block.
        let column = [(0, 0), (0, 1), (0, 2), (0, 3)];
        let seconds = fit().seconds(&Path::new(4, &column)).0;
        assert!((seconds - (50.0 + 1.5 + 10.0 + 3.0 + 100.0)).abs() < 1e-9, "{seconds}");
    }

    #[test]
    fn the_nearest_size_of_texels_answers_for_others() {
        let all = TextureFit { texels: [4, 16].map(|texel_bytes| TexelFit { texel_bytes, ..fit() }).into() };
        assert_eq!([1, 4, 16, 32].map(|bytes| all.of(bytes).map(|fit| fit.texel_bytes)), [Some(4), Some(4), Some(16), Some(16)]);
    }
}
