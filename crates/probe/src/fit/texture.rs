//! What fetches take by where they go, fitted to walks: [`warpsight_ir::texture::TextureFit`], and the model as paper 000 has it beside it.

mod paper000;

pub use paper000::paper000;

use warpsight_ir::Seconds;
use warpsight_ir::texture::{Block, BlockCost, Path, Returns, Strides, TexelFit, held};

/// A measured walk.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Bytes of a texel.
    pub texel_bytes: u32,
    /// Lanes that went together.
    pub lanes: usize,
    /// Where they went, fetch by fetch.
    pub texels: Vec<(u32, u32)>,
    /// Mean seconds of a fetch.
    pub seconds: f64,
    /// Where it is a pattern of paper 000: its number, and steps of a lane before it comes back to a line (s).
    pub pattern: Option<(u32, u32)>,
    /// Whether the fit must not see it.
    pub held_out: bool,
}

impl Sample {
    /// Its path.
    pub fn path(&self) -> Path<'_> {
        Path::new(self.lanes, &self.texels)
    }
    /// Whether one lane went by strides: what threads cost is fitted to those.
    fn is_thread(&self) -> bool {
        self.lanes == 1 && self.pattern.is_none()
    }
}

/// Mean squared error that is no error: walks are not told better than to half a percent, whatever blocks are taken.
const EXACT: f64 = 25e-6;
/// A fetch that takes this much longer than a hit, where no stride leaves a block of several texels, goes to a new line each time.
const MISSES: f64 = 1.25;
/// Why nobody knows what the cache holds where no lanes went together.
const ALONE: &str = "too few paths of several lanes were measured, and those of one lane do not come back to blocks that they left";
/// Walks below which nothing is fitted.
const FEWEST: usize = 8;

/// What others measured of the nearest cache of texels.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Nearest {
    /// Seconds of a fetch that finds its line.
    pub hit: Option<f64>,
    /// Bytes of a line.
    pub line: Option<f64>,
    /// Bytes it holds.
    pub capacity: Option<f64>,
}

impl Nearest {
    /// Lines it holds.
    pub fn lines(&self) -> Option<f64> {
        self.capacity.zip(self.line).map(|(capacity, line)| (capacity / line).round().max(1.0))
    }
}

/// Fits what fetches of texels of one size take. `None` where there are too few walks.
pub fn fit(samples: &[Sample], texel_bytes: u32, nearest: Nearest) -> Option<TexelFit> {
    let own: Vec<&Sample> = samples.iter().filter(|sample| sample.texel_bytes == texel_bytes && sample.seconds > 0.0).collect();
    let seen: Vec<&Sample> = own.iter().copied().filter(|sample| sample.is_thread() && !sample.held_out).collect();
    if seen.len() < FEWEST {
        return None;
    }
    // Straight ways of one lane come back to nothing that they left, either.
    let straight =
        own.iter().copied().filter(|sample| sample.lanes == 1 && sample.pattern.is_some_and(|own| own.1 <= 1) && !sample.held_out);
    let texels = nearest.line.map(|line| line / f64::from(texel_bytes));
    let (first, blocks) = thread(&seen.iter().copied().chain(straight).collect::<Vec<_>>(), texels);
    let mut found =
        TexelFit { texel_bytes, hit: Seconds(first), blocks, fading: 1.0, lines_unknown: Some(ALONE.into()), ..TexelFit::default() };
    // Where a line holds no two texels every step of such walks goes to another line, and nothing else shows a hit.
    if let Some(hit) = nearest.hit.filter(|hit| first > MISSES * hit) {
        found.hit = Seconds(hit);
        found.blocks.insert(0, BlockCost { width: 1, height: 1, first: Seconds(first - hit), further: Seconds::ZERO });
    }
    found.error = error(&found, own.iter().copied().filter(|sample| sample.is_thread() && sample.held_out)).unwrap_or(f64::NAN);
    let together: Vec<&Sample> = own.iter().copied().filter(|sample| !sample.is_thread()).collect();
    let seen: Vec<&Sample> = together.iter().copied().filter(|sample| !sample.held_out).collect();
    if seen.len() >= FEWEST {
        // Lines of another size are others.
        let is_line = |block: &BlockCost| nearest.line == Some(block.block().area() as f64 * f64::from(texel_bytes));
        let lines = nearest.lines().filter(|_| found.blocks.first().is_some_and(is_line));
        found = warp(&seen, &found, lines);
        found.warp_error = error(&found, together.into_iter().filter(|sample| sample.held_out));
    }
    Some(found)
}

/// The mean relative error of a fit.
fn error<'s>(fit: &TexelFit, samples: impl Iterator<Item = &'s Sample>) -> Option<f64> {
    mean(samples.map(|sample| (fit.seconds(&sample.path()).0 / sample.seconds - 1.0).abs()))
}

/// The mean of some numbers, where there are any.
fn mean(numbers: impl Iterator<Item = f64>) -> Option<f64> {
    let all: Vec<f64> = numbers.collect();
    (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
}

/// Strides of a path where all blocks are held for good.
fn first_visits(sample: &Sample, block: Block) -> Strides {
    Strides::of(&sample.path().returns(block), |_| 1.0)
}

/// What a fetch takes that crosses nothing, and what strides to blocks take: least squares of relative errors, none negative, of few blocks.
/// Many blocks are alike to walks by strides, so that those are taken which tell more than they say (Schwarz's criterion). Where a line is known to
/// hold so many texels, one block is a line, however little it tells, and none is less: what comes back to it is what the cache holds.
fn thread(samples: &[&Sample], line: Option<f64>) -> (f64, Vec<BlockCost>) {
    let texels = |block: &Block| block.area() as f64;
    let mut assumed = Block::assumed();
    let line = line.filter(|line| assumed.iter().any(|block| texels(block) == *line));
    assumed.retain(|block| line.is_none_or(|line| texels(block) >= line));
    let is_line = |block: &usize| line.is_some_and(|line| texels(&assumed[*block]) == line);
    let has_line = |blocks: &[usize]| line.is_none() || blocks.iter().any(is_line);
    let strides: Vec<Vec<f64>> =
        samples.iter().map(|sample| assumed.iter().map(|block| first_visits(sample, *block).any).collect()).collect();
    let walks = samples.len() as f64;
    // Seconds without a stride and of each block, and the criterion.
    let fitted = |blocks: &[usize]| {
        let row = |(sample, strides): (&&Sample, &Vec<f64>)| -> Vec<f64> {
            std::iter::once(1.0).chain(blocks.iter().map(|&block| strides[block])).map(|share| share / sample.seconds).collect()
        };
        let rows: Vec<f64> = samples.iter().zip(&strides).flat_map(row).collect();
        let columns = blocks.len() + 1;
        let found = super::non_negative(&rows, &vec![1.0; samples.len()], columns);
        let told = |row: &[f64]| row.iter().zip(&found).map(|(share, cost)| share * cost).sum::<f64>();
        let off = rows.chunks(columns).map(|row| (told(row) - 1.0).powi(2)).sum::<f64>() / walks;
        // A block says two numbers: its shape and its cost.
        (walks * (off + EXACT).ln() + 2.0 * blocks.len() as f64 * walks.ln(), found)
    };
    let all: Vec<usize> = (0..assumed.len()).collect();
    let costs = fitted(&all).1;
    let mut kept: Vec<usize> = all.iter().copied().filter(|&block| costs[block + 1] > 0.0).collect();
    if !has_line(&kept) {
        let with = |block: usize| kept.iter().copied().chain([block]).collect::<Vec<_>>();
        let lines = all.iter().copied().filter(is_line).map(|block| (fitted(&with(block)).0, block));
        kept.extend(lines.min_by(|a, b| a.0.total_cmp(&b.0)).map(|best| best.1));
    }
    let mut least = fitted(&kept).0;
    // One block less, one more, or another in the place of one, whichever is best, until nothing is better.
    loop {
        let without = |at: usize| kept.iter().enumerate().filter(move |own| own.0 != at).map(|own| *own.1);
        let fewer = (0..kept.len()).map(|at| without(at).collect::<Vec<_>>());
        let others = || all.iter().copied().filter(|block| !kept.contains(block));
        let more = others().map(|block| kept.iter().copied().chain([block]).collect());
        let instead = (0..kept.len()).flat_map(|at| others().map(move |block| without(at).chain([block]).collect()));
        let next =
            fewer.chain(more).chain(instead).filter(|blocks: &Vec<usize>| has_line(blocks)).map(|blocks| (fitted(&blocks).0, blocks));
        match next.min_by(|a, b| a.0.total_cmp(&b.0)) {
            Some((better, blocks)) if better < least - 1e-9 => (least, kept) = (better, blocks),
            _ => break,
        }
    }
    kept.sort_unstable();
    let found = fitted(&kept).1;
    let costs = kept.iter().zip(&found[1..]).filter(|own| *own.1 > 0.0 || is_line(own.0));
    let cost = |(block, first): (&usize, &f64)| BlockCost {
        width: assumed[*block].width,
        height: assumed[*block].height,
        first: Seconds(*first),
        further: Seconds::ZERO,
    };
    (found[0], costs.map(cost).collect())
}

/// What is known of one sample of several lanes before the cache's lines and fading are.
struct Known<'s> {
    sample: &'s Sample,
    /// How the smallest block comes back.
    returns: Returns,
    /// Strides of the larger ones.
    larger: Vec<Strides>,
}

/// The same with what further lanes and blocks take, and how what the cache holds fades: the best of many caches by least squares, none negative;
/// of those that hold so many lines, where that is known: walks of warps are told about as well by any number near to it and beyond, and choose one
/// by chance.
fn warp(samples: &[&Sample], thread: &TexelFit, lines: Option<f64>) -> TexelFit {
    let Some(smallest) = thread.blocks.first().map(BlockCost::block) else {
        let why = "strides to other blocks take no longer, whatever size blocks are taken to have";
        return TexelFit { lines_unknown: Some(why.into()), ..thread.clone() };
    };
    let known = samples.iter().map(|sample| Known {
        sample,
        returns: sample.path().returns(smallest),
        larger: thread.blocks[1..].iter().map(|cost| first_visits(sample, cost.block())).collect(),
    });
    let known: Vec<Known> = known.collect();
    let any = (0..=28).map(|n| 2_f64.powf(f64::from(n) / 2.0));
    let sizes: Vec<f64> = lines.map_or_else(|| any.collect(), |lines| vec![lines]);
    let caches = sizes.into_iter().flat_map(|lines| [1.0, 2.0, 4.0, 16.0].map(|fading| (lines, fading)));
    let fits = caches.map(|(lines, fading)| queues(&known, thread, lines, fading));
    fits.min_by(|a, b| a.0.total_cmp(&b.0)).map_or(thread.clone(), |best| best.1)
}

/// What further lanes and blocks take with one cache, and the sum of squares that it leaves.
fn queues(known: &[Known], thread: &TexelFit, lines: f64, fading: f64) -> (f64, TexelFit) {
    let columns = thread.blocks.len() + 1;
    let (mut rows, mut targets) = (vec![], vec![]);
    for own in known {
        let smallest = Strides::of(&own.returns, |since| held(since, lines, fading));
        let strides: Vec<Strides> = std::iter::once(smallest).chain(own.larger.iter().copied()).collect();
        let alone = thread.of_strides(1, &strides.iter().map(|own| Strides { any: own.any, blocks: own.any }).collect::<Vec<_>>());
        rows.push((own.sample.lanes - 1) as f64 / own.sample.seconds);
        rows.extend(strides.iter().map(|strides| (strides.blocks - strides.any) / own.sample.seconds));
        targets.push(1.0 - alone.0 / own.sample.seconds);
    }
    let found = super::non_negative(&rows, &targets, columns);
    let off = rows.chunks(columns).zip(&targets).map(|(row, target)| row.iter().zip(&found).map(|(a, x)| a * x).sum::<f64>() - target);
    let squares = off.map(|off| off * off).sum();
    let blocks = thread.blocks.iter().zip(&found[1..]).map(|(cost, further)| BlockCost { further: Seconds(*further), ..*cost });
    (
        squares,
        TexelFit { lane: Seconds(found[0]), blocks: blocks.collect(), lines: Some(lines), lines_unknown: None, fading, ..thread.clone() },
    )
}

#[cfg(test)]
mod tests;
