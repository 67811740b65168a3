//! Where the latency of a walk rises with its footprint, and stays risen: the ends of caches.
//!
//! Beyond the capacity of a least-recently-used cache the misses of a cyclic walk rise along a ramp, which ends at the latest where the
//! footprint is twice the capacity (each set one line too many). So a rise is a ramp between two flat stretches, and is judged in a window
//! from half its beginning to twice its end. Flat stretches with outliers, slow creep and steps that do not last are no rises.
//!
//! [`crate::fit::steps`] takes the creep before a ramp that the recording ends on for its beginning, and [`crate::fit::levels`] knows walks in random
//! order, whose misses lie about the capacity, not in order, whose misses begin there: a test keeps both, since either here would be a finder less.

/// The end of a cache.
#[derive(Clone, Debug, PartialEq)]
pub struct Rise {
    /// The footprint at which latency begins to rise.
    pub from: f64,
    /// The interval of `from`: from a footprint that fits to one that does not.
    pub between: (f64, f64),
    /// Where the ramp ends; `None` where the recording ends before it does.
    pub until: Option<f64>,
    /// Latency before it.
    pub before: f64,
    /// Latency after it; at the recording's end where the ramp has not ended.
    pub after: f64,
}

/// Stretches of footprint per octave over which points are averaged.
const PER_OCTAVE: f64 = 16.0;
/// A rise is so many times its own error, from the scatter of stretches …
const CLEAR: f64 = 6.0;
/// … so many times what latency creeps by, from the first to the last quarter, on either side of it …
const ABOVE_CREEP: f64 = 4.0;
/// … and this part of the latency: less is clocks, translation or the distance of a bank.
const LEAST: f64 = 0.02;
/// A ramp at the recording's end, which nothing shows to end, must be higher to be told from creep.
const LEAST_OPEN: f64 = 0.1;
/// Stretches that must follow a ramp for its end to be seen.
const SEEN: usize = 3;

/// All rises of a curve of (footprint, latency), in order.
pub fn rises(points: &[(f64, f64)]) -> Vec<Rise> {
    let mut points: Vec<(f64, f64)> = points.iter().copied().filter(|(x, y)| *x > 0.0 && y.is_finite()).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let stretches = stretches(&points);
    let mut found: Vec<Ramp> = vec![];
    while let Some(next) = clearest(&stretches, &found) {
        found.push(next);
        found.sort_by_key(|ramp| ramp.from);
    }
    (0..found.len()).filter_map(|place| refined(&points, &stretches, &found, place)).collect()
}

/// Averages of stretches of equal ratio; the last one takes in what begins another with few points.
fn stretches(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let stretch = |x: f64| (x.log2() * PER_OCTAVE).floor();
    let mean = |points: &[(f64, f64)]| {
        let sum = points.iter().fold((0.0, 0.0), |sum, point| (sum.0 + point.0, sum.1 + point.1));
        (sum.0 / points.len() as f64, sum.1 / points.len() as f64)
    };
    let mut parts: Vec<&[(f64, f64)]> = points.chunk_by(|a, b| stretch(a.0) == stretch(b.0)).collect();
    if let [.., before, last] = parts[..]
        && 2 * last.len() < before.len()
    {
        parts.truncate(parts.len() - 2);
        parts.push(&points[points.len() - before.len() - last.len()..]);
    }
    parts.into_iter().map(mean).collect()
}

/// A ramp over stretches: the last before it and the first after it; `until` is one past the last where the recording ends on the ramp.
#[derive(Clone, Debug)]
struct Ramp {
    from: usize,
    until: usize,
    /// How many times it exceeds the scatter.
    clear: f64,
}

/// The clearest rise beside those that were found.
fn clearest(of: &[(f64, f64)], found: &[Ramp]) -> Option<Ramp> {
    let mut best: Option<Ramp> = None;
    for from in 1..of.len() {
        let (low, high) = window(of, found, from);
        if low >= high {
            continue;
        }
        let last = (from + 1..high).take_while(|&until| of[until].0 <= 2.0 * of[from].0);
        // A ramp that has not ended is seen only at the end of the recording.
        let open = (high == of.len() && of[high - 1].0 <= 2.0 * of[from].0).then_some(high);
        for until in last.chain(open) {
            let high = high.min(of.partition_point(|point| point.0 <= 2.0 * of[until.min(high - 1)].0));
            let window = &of[low..high];
            if let Some(clear) = clear(window, from - low, until - low)
                && best.as_ref().is_none_or(|best| clear > best.clear)
            {
                best = Some(Ramp { from, until, clear });
            }
        }
    }
    best
}

/// The stretches in which a ramp that begins here may be judged: within an octave, and not across rises that were found; empty on those.
fn window(of: &[(f64, f64)], found: &[Ramp], from: usize) -> (usize, usize) {
    let below = found.iter().filter(|ramp| ramp.from < from).map(|ramp| ramp.until).max().unwrap_or(0);
    let above = found.iter().filter(|ramp| ramp.from >= from).map(|ramp| ramp.from + 1).min().unwrap_or(of.len());
    let octave = of.partition_point(|point| point.0 < of[from].0 / 2.0);
    let low = below.max(octave);
    if from < low || from + 1 >= above { (0, 0) } else { (low, above) }
}

/// How clearly a ramp stands out of a window; `None` where it does not. Positions are the window's.
fn clear(window: &[(f64, f64)], from: usize, until: usize) -> Option<f64> {
    let open = until >= window.len();
    let (before, after) = (&window[..=from], &window[until.min(window.len())..]);
    if before.len() < SEEN || (!open && after.len() < SEEN) {
        return None;
    }
    let (x, end) = (window[from].0, if open { window.last()?.0 } else { window[until].0 });
    let ramp = |at: f64| ((at - x) / (end - x)).clamp(0.0, 1.0);
    let (level, height) = line(window.iter().map(|&(at, y)| (ramp(at), y)))?;
    let left: Vec<f64> = window.iter().map(|&(at, y)| y - level - height * ramp(at)).collect();
    let squares: f64 = left.iter().map(|left| left * left).sum();
    let scatter = (squares / (window.len() as f64 - 4.0).max(1.0)).sqrt();
    // Neighbours that are alike are fewer than they seem.
    let alike = inflated(&left);
    let error = |many: usize, other: usize| scatter * alike * (1.0 / many as f64 + 1.0 / other as f64).sqrt();
    // Neighbours differ by noise, hardly by creep.
    let mut differences: Vec<f64> = window.windows(2).map(|pair| (pair[1].1 - pair[0].1).abs()).collect();
    differences.sort_by(f64::total_cmp);
    let noise = 1.48 * differences[differences.len() / 2];
    let creeps = |flat: &[(f64, f64)]| creep(flat) - 2.0 * noise / (flat.len().div_ceil(4) as f64).sqrt();
    let creep = creeps(before).max(if open { 0.0 } else { creeps(after) });
    let error = error(before.len(), if open { 1 } else { after.len() });
    let stands = height > CLEAR * error && height > ABOVE_CREEP * creep && height > level * if open { LEAST_OPEN } else { LEAST };
    // Without any scatter, what counts is how well the ramp fits.
    stands.then(|| height / scatter.max(1e-9 * level))
}

/// How many times larger the error of a mean is than that of independent numbers, where what is left of neighbours looks alike.
fn inflated(left: &[f64]) -> f64 {
    let (both, one) = (left.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>(), left.iter().map(|left| left * left).sum::<f64>());
    let alike = if one > 0.0 { (both / one).clamp(0.0, 0.99) } else { 0.0 };
    ((1.0 + alike) / (1.0 - alike)).sqrt()
}

/// How much the last quarter of a flat stretch lies above or below its first.
fn creep(flat: &[(f64, f64)]) -> f64 {
    let quarter = flat.len().div_ceil(4);
    let mean = |part: &[(f64, f64)]| part.iter().map(|point| point.1).sum::<f64>() / part.len() as f64;
    (mean(&flat[flat.len() - quarter..]) - mean(&flat[..quarter])).abs()
}

/// Level and slope of the straight line through points, by least squares.
fn line(points: impl Iterator<Item = (f64, f64)> + Clone) -> Option<(f64, f64)> {
    let count = points.clone().count() as f64;
    let (u, y) = points.clone().fold((0.0, 0.0), |sum, point| (sum.0 + point.0 / count, sum.1 + point.1 / count));
    let spread: f64 = points.clone().map(|point| (point.0 - u).powi(2)).sum();
    let slope = points.map(|point| (point.0 - u) * (point.1 - y)).sum::<f64>() / spread;
    (spread > 0.0).then_some((y - slope * u, slope))
}

/// Candidates for an end of a ramp at a time; the distance between them is narrowed until it is that of the points.
const CANDIDATES: usize = 33;
/// Stretches about where stretches show an end of a ramp, among whose points it is looked for.
const NEAR: usize = 6;
/// The log-likelihood, −2 ln, by which a ramp may be worse than the best one: a χ² of two degrees of freedom exceeds it once in a hundred times.
const LIKELY: f64 = 9.21;

/// The ramp among the points themselves, with straight lines of any slope on either side.
fn refined(points: &[(f64, f64)], stretches: &[(f64, f64)], found: &[Ramp], place: usize) -> Option<Rise> {
    let ramp = &found[place];
    let others: Vec<Ramp> = found.iter().enumerate().filter(|(other, _)| *other != place).map(|(_, ramp)| ramp.clone()).collect();
    let (low, high) = window(stretches, &others, ramp.from);
    let at = |place: usize| stretches[place.min(stretches.len() - 1)].0;
    let open = ramp.until >= stretches.len();
    // Stretches lie about their averages: the points begin a little before and end a little after.
    let wide = 0.5 / PER_OCTAVE;
    let end = if high >= stretches.len() { f64::INFINITY } else { at(high - 1) };
    let end = if open { f64::INFINITY } else { end.min(at(ramp.until) * 2.0) };
    let start = if low == 0 { 0.0 } else { at(low) * (-wide).exp2() };
    let window: Vec<(f64, f64)> = points.iter().copied().filter(|point| (start..=end).contains(&point.0)).collect();
    let xs: Vec<f64> = window.iter().map(|point| point.0).collect();
    let about = |place: usize| {
        let first = xs.partition_point(|&x| x < at(place.saturating_sub(NEAR)) * (-wide).exp2());
        (first, xs.partition_point(|&x| x <= at(place + NEAR) * wide.exp2()).saturating_sub(1))
    };
    let (mut froms, mut untils) = (about(ramp.from), about(ramp.until));
    let mut tried: Vec<(f64, usize)> = vec![];
    let mut best: Option<Fit> = None;
    loop {
        let (froms_tried, untils_tried) = (spread(froms), spread(untils));
        for &from in &froms_tried {
            let tried_untils = if open { vec![xs.len()] } else { untils_tried.iter().copied().filter(|&until| until > from).collect() };
            let fits = tried_untils.into_iter().filter_map(|until| Fit::of(&window, from, until));
            let Some(fit) = fits.min_by(|a, b| a.squares.total_cmp(&b.squares)) else { continue };
            tried.push((fit.squares, from));
            if best.as_ref().is_none_or(|best| fit.squares < best.squares) {
                best = Some(fit);
            }
        }
        let fit = best.as_ref()?;
        let narrower = |(low, high): (usize, usize), about: usize| {
            let step = (high.saturating_sub(low)).div_ceil(CANDIDATES - 1);
            (step > 1).then(|| (about.saturating_sub(2 * step).max(low), (about + 2 * step).min(high)))
        };
        match (narrower(froms, fit.from), narrower(untils, fit.until)) {
            (None, None) => break,
            (from, until) => (froms, untils) = (from.unwrap_or(froms), until.unwrap_or(untils)),
        }
    }
    let fit = best?;
    let likely = fit.squares * (1.0 + LIKELY / fit.independent(&window)) + f64::MIN_POSITIVE;
    let likely: Vec<usize> = tried.iter().filter(|(squares, _)| *squares <= likely).map(|(_, from)| *from).collect();
    let (first, last) = (*likely.iter().min()?, *likely.iter().max()?);
    Some(Rise {
        from: xs[fit.from],
        between: (xs[first], *xs.get(last + 1)?),
        until: (!open).then(|| xs[fit.until]),
        before: fit.before,
        after: if open { window.last()?.1 } else { fit.after },
    })
}

/// Candidates between two positions.
fn spread((low, high): (usize, usize)) -> Vec<usize> {
    let step = high.saturating_sub(low).div_ceil(CANDIDATES - 1).max(1);
    (low..=high).step_by(step).collect()
}

/// A ramp between two points of a window, and the lines on either side, by least squares.
struct Fit {
    from: usize,
    until: usize,
    before: f64,
    after: f64,
    squares: f64,
    coefficients: [f64; 4],
}

impl Fit {
    fn of(window: &[(f64, f64)], from: usize, until: usize) -> Option<Self> {
        let basis = |x: f64| basis(window, from, until, x);
        let mut sums = [[0.0; 5]; 4];
        for &(x, y) in thinned(window) {
            let u = basis(x);
            for (row, u_row) in sums.iter_mut().zip(u) {
                for (sum, factor) in row.iter_mut().zip(u.into_iter().chain([y])) {
                    *sum += u_row * factor;
                }
            }
        }
        let coefficients: [f64; 4] = crate::fit::solved(sums.as_flattened(), 5, &[0, 1, 2, 3]).try_into().ok()?;
        let value = |x: f64| basis(x).iter().zip(coefficients).map(|(u, c)| u * c).sum::<f64>();
        let squares = thinned(window).map(|&(x, y)| (y - value(x)).powi(2)).sum();
        let rise = coefficients[2];
        let (before, after) = (coefficients[0], coefficients[0] + rise);
        (rise > 0.0 && coefficients.iter().all(|number| number.is_finite())).then_some(Self {
            from,
            until,
            before,
            after,
            squares,
            coefficients,
        })
    }

    /// Points that are as good as independent ones: fewer where what is left of neighbours looks alike.
    fn independent(&self, window: &[(f64, f64)]) -> f64 {
        let left = |&(x, y): &(f64, f64)| {
            y - basis(window, self.from, self.until, x).iter().zip(self.coefficients).map(|(u, c)| u * c).sum::<f64>()
        };
        let left: Vec<f64> = thinned(window).map(left).collect();
        (left.len() as f64 / inflated(&left).powi(2)).max(1.0)
    }
}

/// A level, a line before the ramp, the ramp, and a line after it, each as part of the window's width.
fn basis(window: &[(f64, f64)], from: usize, until: usize, x: f64) -> [f64; 4] {
    let end = window[window.len() - 1].0;
    let (a, b) = (window[from].0, window.get(until).map_or(end, |point| point.0));
    let width = end - window[0].0;
    [1.0, (x - a).min(0.0) / width, ((x - a) / (b - a)).clamp(0.0, 1.0), (x - b).max(0.0) / width]
}

/// Points enough for any fit.
fn thinned(window: &[(f64, f64)]) -> impl Iterator<Item = &(f64, f64)> {
    window.iter().step_by(window.len().div_ceil(600).max(1))
}

#[cfg(test)]
mod tests;
