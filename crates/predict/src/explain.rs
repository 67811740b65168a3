//! What would change a kernel's time: other blocks, foldings and alignments, and numbers of the profile. Each is the prediction of what was
//! changed.

use crate::volumes::report::{Report, Settings, Work, report};
use warpsight_ir::accesses::text::{Document, Written};
use warpsight_ir::{Kernel, Name, Profile, Seconds, TensorPlace};

/// Block shapes that are tried.
const SHAPES: usize = 48;
/// How much a number is raised to see what depends on it.
const RAISED: f64 = 1.01;
/// Numbers that say how a device is made rather than how much it has: no warp has 1 % more lanes.
const FORM: [&str; 8] = ["warp", "line", "sector", "dram_fetch", "register_granule", "warp_granule", "local_granule", "vector_width"];

/// A prediction of a kernel that was written as text.
#[derive(Clone, Copy)]
pub struct Case<'a> {
    /// The text.
    pub document: &'a Document,
    /// What was set from outside.
    pub set: &'a [(String, String)],
    /// The kernel that these make.
    pub written: &'a Written,
    /// The device.
    pub on: &'a Profile,
    /// How it was predicted.
    pub settings: &'a Settings,
    /// The prediction.
    pub report: &'a Report,
}

/// What would be of another kernel, and on another device.
#[derive(Clone, Debug, PartialEq)]
pub struct WhatIf {
    /// Other blocks and foldings; none of measured volumes, which another kernel does not have.
    pub changes: Vec<Change>,
    /// Percent of time for a percent of each number of the profile, the largest first; numbers that do not matter are left out.
    pub elasticities: Vec<(String, f64)>,
}

/// A changed kernel and its time.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// What is changed.
    pub what: What,
    /// How long it would take.
    pub seconds: Seconds,
}

/// What can be changed of a written kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A key of the text: `block` or `fold`.
    Key {
        /// The key.
        key: &'static str,
        /// Its value, fastest axis first.
        extents: Vec<u32>,
        /// Whether how many registers that takes is a guess.
        registers_guessed: bool,
    },
    /// A field that begins at a boundary.
    Aligned {
        /// The field.
        field: Name,
    },
}

impl WhatIf {
    /// Of a prediction.
    pub fn of(case: &Case) -> Self {
        Self { changes: if case.settings.measured.is_some() { vec![] } else { case.changes() }, elasticities: case.elasticities() }
    }
}

impl Case<'_> {
    fn seconds(&self, kernel: &Kernel, points: u64) -> Option<Seconds> {
        self.seconds_on(self.on, kernel, points)
    }

    fn seconds_on(&self, on: &Profile, kernel: &Kernel, points: u64) -> Option<Seconds> {
        report(&Work { kernel, points }, on, &Settings { brief: true, ..*self.settings }).ok().map(|report| report.seconds)
    }

    fn changes(&self) -> Vec<Change> {
        // A kernel that mentions its lanes is written for its block.
        let rebuilt = if self.written.tied_to_block { vec![] } else { self.rebuilt() };
        rebuilt.into_iter().chain(self.aligned()).collect()
    }

    /// Other blocks and foldings.
    fn rebuilt(&self) -> Vec<Change> {
        let written = self.written;
        // Threads beyond the domain do nothing.
        let fits =
            |shape: &Vec<u32>| shape.iter().zip(&written.domain).all(|(&n, &extent)| u64::from(n) <= u64::from(extent).next_power_of_two());
        let blocks = shapes(&written.kernel.launch.lanes).into_iter().map(|shape| ("block", shape));
        // Threads that stride by the grid compute several points already.
        let strides = written.points != written.domain.iter().map(|&n| u64::from(n)).product::<u64>();
        let folds = if strides { vec![] } else { folds(&written.fold) };
        let all = blocks.chain(folds.into_iter().map(|fold| ("fold", fold))).filter(|(_, extents)| fits(extents));
        all.filter_map(|(key, extents)| self.with(key, extents)).collect()
    }

    /// The kernel with a key replaced; `None` where that makes no kernel of the same points.
    fn with(&self, key: &'static str, extents: Vec<u32>) -> Option<Change> {
        let value = extents.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        let own = self.set.iter().filter(|own| own.0 != key).map(|(key, value)| (key.as_str(), value.as_str()));
        let settings: Vec<(&str, &str)> = own.chain([(key, value.as_str())]).collect();
        let changed = self.document.written(&settings).ok()?;
        // A grid in blocks would make another domain of it.
        if (&changed.domain, changed.points) != (&self.written.domain, self.written.points) {
            return None;
        }
        // How many registers more points take is not known of a plain number.
        let registers_guessed = changed.registers_guessed && key == "fold";
        Some(Change { what: What::Key { key, extents, registers_guessed }, seconds: self.seconds(&changed.kernel, changed.points)? })
    }

    /// Fields that begin at a boundary, one at a time.
    fn aligned(&self) -> Vec<Change> {
        let mut found = Vec::new();
        for (i, tensor) in self.written.kernel.accesses.tensors.iter().enumerate() {
            let mut kernel = self.written.kernel.clone();
            match &mut kernel.accesses.tensors[i].place {
                TensorPlace::Buffer { layout, .. } if layout.align != 0 => layout.align = 0,
                _ => continue,
            }
            if let Some(seconds) = self.seconds(&kernel, self.written.points) {
                found.push(Change { what: What::Aligned { field: tensor.name.clone() }, seconds });
            }
        }
        found
    }

    fn elasticities(&self) -> Vec<(String, f64)> {
        let elasticity = |(key, value): (String, f64)| {
            if FORM.iter().any(|form| key.ends_with(&format!(".{form}"))) {
                return None;
            }
            // Where only whole numbers are possible the next one it is.
            let raised =
                [value * RAISED, (value * RAISED).ceil()].map(|raised| Some((raised, self.on.with(&key, &raised.to_string()).ok()?)));
            let (raised, on) = raised.into_iter().flatten().next()?;
            let changed = self.seconds_on(&on, &self.written.kernel, self.written.points)?.0;
            Some((key, (changed / self.report.seconds.0).ln() / (raised / value).ln())).filter(|(_, elasticity)| elasticity.is_finite())
        };
        let mut found: Vec<(String, f64)> = self.on.numbers().into_iter().filter_map(elasticity).collect();
        found.retain(|(_, elasticity)| elasticity.abs() >= 0.005);
        found.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
        found
    }
}

/// Other blocks of as many threads, extents being powers of two.
fn shapes(block: &[u32]) -> Vec<Vec<u32>> {
    let threads = block.iter().map(|&n| u64::from(n)).product::<u64>();
    if !threads.is_power_of_two() {
        return vec![];
    }
    let bits = threads.trailing_zeros();
    let mut found: Vec<Vec<u32>> = vec![vec![]];
    for axis in 0..block.len() {
        let rest = |shape: &Vec<u32>| bits - shape.iter().map(|n| n.trailing_zeros()).sum::<u32>();
        found = found
            .iter()
            .flat_map(|shape| {
                let (rest, last) = (rest(shape), axis + 1 == block.len());
                (if last { rest } else { 0 }..=rest).map(move |bits| shape.iter().copied().chain([1 << bits]).collect())
            })
            .collect();
    }
    found.retain(|shape| shape != block);
    // Blocks wide along x first: narrow ones seldom win.
    found.sort_by(|a, b| b.cmp(a));
    found.truncate(SHAPES);
    found
}

/// Two and four times as many points per thread along one axis, and half as many.
fn folds(fold: &[u32]) -> Vec<Vec<u32>> {
    let with = |axis: usize, points: u32| fold.iter().enumerate().map(|(i, &own)| if i == axis { points } else { own }).collect();
    let each = |axis: usize| {
        let own = fold[axis];
        let half = if own.is_multiple_of(2) { Some(own / 2) } else { None };
        [half, own.checked_mul(2), own.checked_mul(4)].into_iter().flatten().map(move |points| (axis, points))
    };
    // Points next to each other along the fastest axis part the lanes of a warp: seldom wins, and slow to count.
    (usize::from(fold.len() > 1)..fold.len()).flat_map(each).map(|(axis, points)| with(axis, points)).collect()
}
