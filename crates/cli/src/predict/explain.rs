//! What limits a kernel, and what would help: each suggestion is the prediction of the changed kernel.

use super::Predicted;
use super::show::time;
use crate::report::clean;
use warpsight_ir::{Kernel, Seconds, TensorPlace};
use warpsight_predict::volumes::report::{Report, Settings, Work, report};

/// Block shapes that are tried.
const SHAPES: usize = 48;
/// A change that helps less is not worth a sentence.
const WORTH: f64 = 0.01;

/// What would be of another kernel, and on another device.
pub struct WhatIf {
    /// Other blocks and foldings; none of measured volumes, which another kernel does not have.
    pub changes: Vec<Change>,
    /// Percent of time for a percent of each number of the profile, the largest first; numbers that do not matter are left out.
    pub elasticities: Vec<(String, f64)>,
}

/// A changed kernel and its time.
pub struct Change {
    /// What to do.
    pub what: String,
    /// How long it would take.
    pub seconds: Seconds,
}

impl WhatIf {
    /// Of a prediction with these settings.
    pub fn of(of: &Predicted, settings: &Settings) -> Self {
        let changes = if settings.measured.is_some() { vec![] } else { changes(of, settings) };
        Self { changes, elasticities: elasticities(of, settings) }
    }
}

/// Two sentences: what limits, and what would help by how much. Then the numbers of the profile that matter most.
pub fn explain(of: &Predicted, settings: &Settings, what_if: &WhatIf) -> String {
    let (limits, unknown) = (known(&of.report), of.report.limits.iter().filter(|limit| limit.1.is_err()).count());
    let share = |seconds: Seconds| 100.0 * (1.0 - seconds.0 / limits[0].1.0);
    let first = match limits.as_slice() {
        [] => "Nothing that is known limits it (predicted)".to_owned(),
        [(name, alone)] => format!("Limited by {name} ({} alone, predicted)", time(*alone)),
        [(name, alone), (next, then), ..] => {
            let headroom = share(*then);
            format!("Limited by {name} ({} alone, predicted); next is {next} with {headroom:.0} % headroom (predicted)", time(*alone))
        }
    };
    let first = match unknown {
        0 => first,
        1 => format!("{first}; one limiter is unknown"),
        more => format!("{first}; {more} limiters are unknown"),
    };
    let second = if settings.measured.is_some() {
        "What would help is not said of measured volumes: another kernel has others".to_owned()
    } else {
        suggestion(of, &what_if.changes)
    };
    format!("{first}. {second}.\n{}", sensitivity(&what_if.elasticities))
}

/// The change that helps most, and by how much.
fn suggestion(of: &Predicted, changes: &[Change]) -> String {
    let now = of.report.seconds;
    let best = changes.iter().min_by(|a, b| a.seconds.0.total_cmp(&b.seconds.0));
    match best.filter(|best| best.seconds.0 < now.0 * (1.0 - WORTH)) {
        Some(Change { what, seconds }) => {
            format!("{what} it would take {}, {:.1} % less (predicted)", time(*seconds), 100.0 * (1.0 - seconds.0 / now.0))
        }
        None => {
            let tried = "another block of as many threads, another folding of two or four points nor align = 0 for a field";
            format!("Neither {tried} would be faster by 1 % (predicted)")
        }
    }
}

/// Known limiters, the longest first.
fn known(report: &Report) -> Vec<(&'static str, Seconds)> {
    let mut limits: Vec<_> = report.limits.iter().filter_map(|(limiter, alone)| Some((limiter.name(), *alone.as_ref().ok()?))).collect();
    limits.retain(|(_, alone)| alone.0 > 0.0);
    limits.sort_by(|a, b| b.1.0.total_cmp(&a.1.0));
    limits
}

fn changes(of: &Predicted, settings: &Settings) -> Vec<Change> {
    let written = &of.input.written;
    let seconds =
        |kernel: &Kernel, points: u64| report(&Work { kernel, points }, &of.device.profile, settings).ok().map(|report| report.seconds);
    let mut found = Vec::new();
    // A kernel that mentions its lanes is written for its block.
    let free = !written.tied_to_block;
    // Threads beyond the domain do nothing.
    let fits =
        |shape: &Vec<u32>| shape.iter().zip(&written.domain).all(|(&n, &extent)| u64::from(n) <= u64::from(extent).next_power_of_two());
    let blocks = shapes(&written.kernel.launch.lanes).into_iter().filter(fits).map(|shape| ("block", shape));
    // Threads that stride by the grid compute several points already.
    let strides = written.points != written.domain.iter().map(|&n| u64::from(n)).product::<u64>();
    let folds = if strides { vec![] } else { folds(&written.fold) };
    let folds = folds.into_iter().filter(fits).map(|fold| ("fold", fold));
    for (key, extents) in blocks.chain(folds).filter(|_| free) {
        let value = extents.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        let Some(changed) = of.input.with(key, &value) else { continue };
        // A grid in blocks would make another domain of it.
        let same = (&changed.domain, changed.points) == (&written.domain, written.points);
        if let Some(seconds) = seconds(&changed.kernel, changed.points).filter(|_| same) {
            // How many registers more points take is not known of a plain number.
            let guess = if changed.registers_guessed && key == "fold" { " (registers are a guess)" } else { "" };
            found.push(Change { what: format!("With --set {key}={value}{guess}"), seconds });
        }
    }
    for (i, tensor) in written.kernel.accesses.tensors.iter().enumerate() {
        let TensorPlace::Buffer { layout, .. } = &tensor.place else { continue };
        if layout.align == 0 {
            continue;
        }
        let mut kernel = written.kernel.clone();
        if let TensorPlace::Buffer { layout, .. } = &mut kernel.accesses.tensors[i].place {
            layout.align = 0;
        }
        if let Some(seconds) = seconds(&kernel, written.points) {
            found.push(Change { what: format!("With align = 0 for field {}", clean(&tensor.name)), seconds });
        }
    }
    found
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

/// How much a number is raised to see what depends on it.
const RAISED: f64 = 1.01;
/// Numbers that say how a device is made rather than how much it has: no warp has 1 % more lanes.
const FORM: [&str; 8] = ["warp", "line", "sector", "dram_fetch", "register_granule", "warp_granule", "local_granule", "vector_width"];
/// Numbers that are listed.
const LISTED: usize = 3;

/// Percent of time for a percent of each number of the profile, the largest first; numbers that do not matter are left out.
fn elasticities(of: &Predicted, settings: &Settings) -> Vec<(String, f64)> {
    let work = Work { kernel: &of.input.written.kernel, points: of.input.written.points };
    let profile = &of.device.profile;
    let elasticity = |(key, value): (String, f64)| {
        if FORM.iter().any(|form| key.ends_with(&format!(".{form}"))) {
            return None;
        }
        // Where only whole numbers are possible the next one it is.
        let raised = [value * RAISED, (value * RAISED).ceil()].map(|raised| Some((raised, profile.with(&key, &raised.to_string()).ok()?)));
        let (raised, changed) = raised.into_iter().flatten().next()?;
        let changed = report(&work, &changed, settings).ok()?.seconds.0;
        Some((key, (changed / of.report.seconds.0).ln() / (raised / value).ln())).filter(|(_, elasticity)| elasticity.is_finite())
    };
    let mut found: Vec<(String, f64)> = profile.numbers().into_iter().filter_map(elasticity).collect();
    found.retain(|(_, elasticity)| elasticity.abs() >= 0.005);
    found.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
    found
}

/// The numbers that the time depends on most.
fn sensitivity(found: &[(String, f64)]) -> String {
    let listed: Vec<String> = found.iter().take(LISTED).map(|(name, elasticity)| format!("{name} {elasticity:+.2} %")).collect();
    match listed.is_empty() {
        true => "No number of the profile alone matters (predicted).\n".to_owned(),
        false => format!("Raising a number of the profile by 1 % changes the time by (predicted): {}.\n", listed.join(", ")),
    }
}
