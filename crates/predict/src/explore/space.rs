//! All configurations of a kernel on some devices, numbered.

use super::axes::{Blocks, Extents, Fold, Sweep};
use smallvec::SmallVec;
use std::collections::BTreeSet;
use std::ops::Range;
use warpsight_ir::accesses::text::{Document, TextError, Written};
use warpsight_ir::near::did_you_mean;
use warpsight_ir::{NoEstimate, Profile};

/// A configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configuration {
    /// Position among the devices.
    pub device: usize,
    /// Threads of a block.
    pub block: Extents,
    /// Points of a thread along each axis.
    pub fold: Extents,
    /// The value of each sweep.
    pub values: SmallVec<[i64; 4]>,
}

/// Why there is nothing to explore.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SpaceError {
    /// The kernel itself is wrong.
    #[error(transparent)]
    Text(#[from] TextError),
    /// The device does not say which blocks it runs.
    #[error(transparent)]
    Device(#[from] NoEstimate),
    /// A sweep of nothing.
    #[error("there is no parameter `{name}` to sweep; parameters are {}{}", if known.is_empty() { "none" } else { known }, did_you_mean(name, known.split(", ")))]
    NoParameter {
        /// The name.
        name: String,
        /// Those there are.
        known: String,
    },
    /// A parameter with two values.
    #[error("`{0}` is given twice: a parameter is set or swept, once")]
    Twice(String),
    /// A block or folding for another number of axes.
    #[error("the kernel's block has {axes} axes: {what} does not fit")]
    Axes {
        /// Of the kernel.
        axes: usize,
        /// The block or folding.
        what: String,
    },
    /// Accesses mention lanes or blocks.
    #[error("accesses of `{0}` mention lanes or blocks: it is written for its block and folding, others would compute something else")]
    Tied(String),
    /// The launch is given in blocks.
    #[error("the launch of `{0}` is given as a grid of blocks: another block or folding would compute another domain")]
    InBlocks(String),
    /// More than 64 bits.
    #[error("these are more than 2^64 configurations")]
    TooMany,
}

/// The configurations: for each device, each combination of swept values, each folding, each block, the latter fastest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Space {
    /// Of each device.
    blocks: Vec<Vec<Extents>>,
    folds: Vec<Extents>,
    sweeps: Vec<Sweep>,
    /// The number of each device's first configuration; then the number of all.
    starts: Vec<u64>,
}

impl Space {
    /// The space of a kernel. `fixed` holds for all configurations; no `folds` leave the file's.
    ///
    /// # Errors
    /// [`SpaceError`]: a wrong kernel, sweeps of what is no parameter, foldings along axes that are not there, other blocks for a kernel
    /// that is written for its own.
    pub fn new(
        document: &Document,
        fixed: &[(String, String)],
        devices: &[Profile],
        blocks: &[Blocks],
        folds: &[Fold],
        sweeps: &[Sweep],
    ) -> Result<Self, SpaceError> {
        let mut taken: BTreeSet<&str> = fixed.iter().map(|(key, _)| key.as_str()).collect();
        let known: Vec<&str> = document.params().map(|(name, _)| name).collect();
        for name in sweeps.iter().flat_map(|sweep| &sweep.names) {
            if !known.contains(&name.as_str()) {
                return Err(SpaceError::NoParameter { name: name.clone(), known: known.join(", ") });
            }
            if !taken.insert(name) {
                return Err(SpaceError::Twice(name.clone()));
            }
        }
        // A swept parameter's own value may make no kernel: the first one is tried instead.
        let first = sweeps.iter().flat_map(|sweep| sweep.names.iter().map(|name| (name.clone(), sweep.value(0).to_string())));
        let written = document.written(&fixed.iter().cloned().chain(first).collect::<Vec<_>>())?;
        let axes = written.kernel.launch.lanes.len();
        let folds = match folds {
            [] => vec![Extents::from_slice(&written.fold)],
            folds => unique(folds.iter().map(|fold| of_axes(fold, axes)).collect::<Result<Vec<_>, _>>()?),
        };
        let blocks = devices
            .iter()
            .map(|device| Ok(unique(blocks.iter().map(|own| shapes(own, &written, device)).collect::<Result<Vec<_>, _>>()?.concat())))
            .collect::<Result<Vec<_>, SpaceError>>()?;
        let changed = folds.iter().any(|fold| fold[..] != written.fold[..])
            || blocks.iter().flatten().any(|block| block[..] != written.kernel.launch.lanes[..]);
        if changed && written.tied_to_block {
            return Err(SpaceError::Tied(written.kernel.name.to_string()));
        }
        if changed && document.launched_in_blocks(fixed) {
            return Err(SpaceError::InBlocks(written.kernel.name.to_string()));
        }
        let values = sweeps.iter().try_fold(folds.len() as u64, |n, sweep| n.checked_mul(sweep.count));
        let mut starts = vec![0_u64];
        for own in &blocks {
            let more = values.and_then(|n| n.checked_mul(own.len() as u64));
            let sum = more.and_then(|more| starts[starts.len() - 1].checked_add(more));
            starts.push(sum.ok_or(SpaceError::TooMany)?);
        }
        Ok(Self { blocks, folds, sweeps: sweeps.to_vec(), starts })
    }

    /// How many configurations there are.
    pub fn len(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What is swept.
    pub fn sweeps(&self) -> &[Sweep] {
        &self.sweeps
    }

    /// The configuration of that number, which is below [`Self::len`].
    pub fn get(&self, index: u64) -> Configuration {
        let device = self.starts.partition_point(|&start| start <= index) - 1;
        let mut rest = index - self.starts[device];
        let mut digit = |base: u64| {
            let digit = rest % base;
            rest /= base;
            digit
        };
        let block = self.blocks[device][digit(self.blocks[device].len() as u64) as usize].clone();
        let fold = self.folds[digit(self.folds.len() as u64) as usize].clone();
        let mut values: SmallVec<[i64; 4]> = self.sweeps.iter().rev().map(|sweep| sweep.value(digit(sweep.count))).collect();
        values.reverse();
        Configuration { device, block, fold, values }
    }

    /// The configurations that differ from one in the first sweep alone are so many apart, and these are the numbers of the one with the
    /// sweep's first value and of its own value. Without a sweep, a configuration is alone.
    pub fn along(&self, index: u64) -> Along {
        let device = self.starts.partition_point(|&start| start <= index) - 1;
        let count = self.sweeps.first().map_or(1, |sweep| sweep.count);
        let stride = (self.starts[device + 1] - self.starts[device]) / count;
        let position = (index - self.starts[device]) / stride;
        Along { first: index - position * stride, stride, position, count }
    }

    /// Of the configurations of these numbers those that differ in swept values alone, in turn.
    pub fn alike(&self, numbers: Range<u64>) -> impl Iterator<Item = impl Iterator<Item = u64> + use<>> {
        let own = self.starts.windows(2).zip(&self.blocks).map(move |(device, blocks)| {
            let (first, end) = (device[0].max(numbers.start), device[1].min(numbers.end).max(device[0]));
            let apart = (blocks.len() * self.folds.len()).max(1) as u64;
            (first..end.min(first.saturating_add(apart))).map(move |number| (number..end).step_by(apart as usize))
        });
        own.flatten()
    }

    /// The keys that a configuration sets.
    pub fn settings(&self, of: &Configuration) -> impl Iterator<Item = (String, String)> {
        let own = [("block".to_owned(), joined(&of.block, ",")), ("fold".to_owned(), joined(&of.fold, ","))];
        let values = self.sweeps.iter().zip(of.values.clone());
        own.into_iter().chain(values.flat_map(|(sweep, value)| sweep.names.iter().map(move |name| (name.clone(), value.to_string()))))
    }
}

/// Configurations that differ in the first sweep alone: `first + i · stride` for i below `count`; `position` is one of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Along {
    /// The number of the first.
    pub first: u64,
    /// From one to the next.
    pub stride: u64,
    /// Which of them it is.
    pub position: u64,
    /// How many there are.
    pub count: u64,
}

/// Extents in one word.
pub fn joined(extents: &[u32], between: &str) -> String {
    let mut word = String::with_capacity(12);
    for (i, extent) in extents.iter().enumerate() {
        if i > 0 {
            word.push_str(between);
        }
        word.push_str(&extent.to_string());
    }
    word
}

/// Each once, in the order of their first appearance.
fn unique(all: Vec<Extents>) -> Vec<Extents> {
    let mut seen = BTreeSet::new();
    all.into_iter().filter(|extents| seen.insert(extents.clone())).collect()
}

fn of_axes(fold: &Fold, axes: usize) -> Result<Extents, SpaceError> {
    match fold.0[axes..].iter().any(|&points| points > 1) {
        true => Err(SpaceError::Axes { axes, what: format!("the folding {fold}") }),
        false => Ok(Extents::from_slice(&fold.0[..axes])),
    }
}

/// The blocks that are meant, for a kernel on a device: by number of threads, then the wider along x, then along y first.
fn shapes(blocks: &Blocks, written: &Written, device: &Profile) -> Result<Vec<Extents>, SpaceError> {
    let axes = written.kernel.launch.lanes.len();
    let whole = |powers: bool| -> Result<Vec<Extents>, SpaceError> {
        let warp = device.execution.warp.need(device, "execution.warp")?.max(1);
        let most = device.execution.max_group_size.need(device, "execution.max_group_size")?;
        let threads = (warp..=most).step_by(warp as usize).filter(|threads| !powers || threads.is_power_of_two());
        let keep = |block: &Extents| !powers || block.iter().all(|extent| extent.is_power_of_two());
        Ok(threads.flat_map(|threads| factorisations(threads, axes)).filter(keep).collect())
    };
    match blocks {
        Blocks::File => Ok(vec![Extents::from_slice(&written.kernel.launch.lanes)]),
        Blocks::All => whole(false),
        Blocks::PowersOfTwo => whole(true),
        Blocks::Threads(threads) => Ok(factorisations(*threads, axes)),
        Blocks::Exactly(block) if block.len() == axes => Ok(vec![block.clone()]),
        Blocks::Exactly(block) => Err(SpaceError::Axes { axes, what: format!("the block {}", joined(block, "x")) }),
    }
}

/// Every way to write a number as a product of so many factors, the larger first factors first.
fn factorisations(number: u32, factors: usize) -> Vec<Extents> {
    if factors <= 1 {
        return vec![Extents::from_slice(&[number])];
    }
    let small = (1..=number.isqrt()).filter(|d| number.is_multiple_of(*d));
    let mut divisors: Vec<u32> = small.flat_map(|d| [d, number / d]).collect();
    divisors.sort_unstable_by(|a, b| b.cmp(a));
    divisors.dedup();
    let with =
        |first: u32| factorisations(number / first, factors - 1).into_iter().map(move |rest| std::iter::once(first).chain(rest).collect());
    divisors.into_iter().flat_map(with).collect()
}
