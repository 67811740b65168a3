//! What walks and streams say of caches, as facts.

use super::hierarchy::{Cache, Hierarchy, hierarchy};
use super::recording::{Bandwidth, Recording};
use super::streams::fallen;
use crate::fit::lru::{Fitted, Shape};
use crate::fit::sizes::against;
use crate::fit::warp::first_step;
use crate::{Finding, Findings, Geometry};
use warpsight_ir::profile::{Fact, Source};

/// A path to memory: the words of its keys, and how its walks are called.
struct Path {
    key: &'static str,
    file: &'static str,
    /// Number of its first cache: 2 where nearer caches of other paths are none of its own.
    first: usize,
    /// Bytes of a line, where something else than walks tells.
    line: Option<f64>,
}

/// The hierarchies of images and buffers.
pub fn caches(recording: &Recording, found: &mut Findings) -> (Hierarchy, Hierarchy) {
    let (images, buffers) = (hierarchy(&recording.image_chase), hierarchy(&recording.buffer_chase));
    let line = line_by_strides(recording);
    let paths = [
        (&images, Path { key: "texture", file: "ImageCacheHierarchyPChase", first: 1, line: None }),
        (
            &buffers,
            Path { key: "buffer", file: "BufferCacheHierarchyPChase", first: depth(&images, &buffers, &recording.image_bandwidth), line },
        ),
    ];
    for (hierarchy, path) in &paths {
        facts(hierarchy, path, found);
    }
    if let (Some(line), Some(first)) = (line, buffers.caches.first().map(|_| paths[1].1.first)) {
        let cite = "BufferCachelineSize: bytes between two loads of a work-item from which on they take longer";
        let key = format!("buffer.l{first}.line_bytes");
        // Strides are multiples of a float: the step may lie within it.
        found.number(key, Fact::between(line - 3.0, line, line, Source::Measured, cite));
    }
    (images, buffers)
}

/// Two loads of a work-item, so many bytes apart, take longer from the bytes of a line on.
fn line_by_strides(recording: &Recording) -> Option<f64> {
    let (_, points) = super::recording::per_iteration(&recording.strides);
    let points: Vec<(f64, f64)> = points.iter().map(|point| (point.0[0], point.1)).collect();
    first_step(&points).map(|(_, line)| line)
}

/// Which cache of the device the first one of the buffers' path is: what images reach behind nearer caches has those before it.
pub fn depth(images: &Hierarchy, buffers: &Hierarchy, image_bandwidth: &[Bandwidth]) -> usize {
    let Some(first) = buffers.caches.first() else { return 1 };
    let same = |cache: &Cache| cache.rise.between.0 <= first.rise.between.1 && first.rise.between.0 <= cache.rise.between.1;
    let by_walks = images.caches.iter().position(same);
    by_walks.unwrap_or_else(|| fallen(image_bandwidth).iter().filter(|fall| fall.1 < first.rise.from).count()) + 1
}

fn facts(hierarchy: &Hierarchy, path: &Path, found: &mut Findings) {
    let Path { key, file, first, .. } = path;
    let Some(mut latency) = hierarchy.nearest.map(Some) else {
        let unknown = Fact::unknown(format!("{file}: no usable samples"));
        found.number(format!("{key}.l{first}.capacity_bytes"), unknown.clone());
        return found.number(format!("{key}.l{first}.latency_s"), unknown);
    };
    for level in 1..*first {
        let absent = format!("{file}: no latency rises before the cache that images have behind {level} nearer");
        found.number(format!("{key}.l{level}.capacity_bytes"), Fact::absent(absent));
    }
    for (place, cache) in hierarchy.caches.iter().enumerate() {
        let key = format!("{key}.l{}", first + place);
        let told = Told::of(cache, path.line.filter(|_| place == 0));
        found.number(format!("{key}.latency_s"), latency_fact(latency, file));
        told.facts(&key, file, cache, found);
        // What the next level takes is what this one's misses add.
        let added = told.range(|fit| (fit.miss_s - fit.hit_s, fit.miss_sigma_s.hypot(fit.hit_sigma_s)));
        let ended = cache.rise.until.is_some();
        latency = latency.zip(added.filter(|_| ended)).map(|(near, far)| (near.0 + far.0, near.1 + far.1, near.2 + far.2));
    }
    let beyond = match hierarchy.caches.last() {
        Some(_) => latency_fact(latency, file),
        None => Fact::unknown(format!("{file}: no latency rises in what was walked")),
    };
    found.number(format!("{key}.memory.latency_s"), beyond);
    if hierarchy.caches.is_empty() {
        found.number(format!("{key}.l{first}.capacity_bytes"), Fact::unknown(format!("{file}: no latency rises in what was walked")));
        found.number(format!("{key}.l{first}.latency_s"), latency_fact(latency, file));
    }
}

fn latency_fact(latency: Option<(f64, f64, f64)>, file: &str) -> Fact<f64> {
    match latency {
        Some((lo, value, hi)) => {
            Fact::between(lo, value, hi, Source::Measured, format!("{file}: hits of the walks, and what each miss adds"))
        }
        None => Fact::unknown(format!("{file}: the recording ends before all steps miss")),
    }
}

/// What the walks about a rise tell of its cache.
struct Told<'a> {
    /// Fits with at least one shape that has the line, where something else told the line, and these shapes of theirs.
    fits: Vec<(&'a Fitted, Vec<&'a Shape>)>,
    /// The fit and the shape that are most probable.
    best: Option<(&'a Fitted, &'a Shape)>,
}

impl<'a> Told<'a> {
    fn of(cache: &'a Cache, line: Option<f64>) -> Self {
        let with = |line: Option<f64>| -> Vec<(&'a Fitted, Vec<&'a Shape>)> {
            let fits = |shape: &&Shape| line.is_none_or(|line| shape.line_bytes as f64 == line);
            cache
                .shapes
                .iter()
                .map(|fit| (fit, fit.shapes.iter().filter(fits).collect()))
                .filter(|(_, shapes): &(_, Vec<_>)| !shapes.is_empty())
                .collect()
        };
        let fits = match with(line) {
            fits if fits.is_empty() => with(None),
            fits => fits,
        };
        // Likelihood, and what is likely of sizes before.
        let cost = |fit: &Fitted, shape: &Shape| cache.explained * fit.deviance(&cache.shapes[0]) + against(shape.capacity_bytes());
        let all = fits.iter().flat_map(|(fit, shapes)| shapes.iter().map(|&shape| (*fit, shape)));
        let best = all.min_by(|a, b| cost(a.0, a.1).total_cmp(&cost(b.0, b.1)));
        Self { fits, best }
    }

    /// Of a latency and its standard error, of all fits: least, most probable, most.
    fn range(&self, of: impl Fn(&Fitted) -> (f64, f64)) -> Option<(f64, f64, f64)> {
        let value = of(self.best?.0).0;
        let ends = self.fits.iter().map(|(fit, _)| of(fit)).map(|(value, sigma)| (value - 3.0 * sigma, value + 3.0 * sigma));
        let (lo, hi) = ends.fold((value, value), |(lo, hi), (from, to)| (lo.min(from), hi.max(to)));
        (lo.is_finite() && hi.is_finite()).then_some((lo.max(0.0), value, hi))
    }

    fn facts(&self, key: &str, file: &str, cache: &Cache, found: &mut Findings) {
        let rise = &cache.rise;
        let cite = format!("{file}: where latency begins to rise, whatever shape the cache has");
        found.number(format!("{key}.end_bytes"), Fact::between(rise.between.0, rise.from, rise.between.1, Source::Measured, cite));
        let Some((fit, best)) = self.best else {
            let cite = format!("{file}: where latency begins to rise");
            found.number(format!("{key}.capacity_bytes"), Fact::between(rise.between.0, rise.from, rise.between.1, Source::Measured, cite));
            return;
        };
        let shapes = || self.fits.iter().flat_map(|(_, shapes)| shapes.iter().copied());
        let error = 100.0 * fit.error;
        let number = |of: &dyn Fn(&Shape) -> f64| {
            let (lo, hi) = shapes().map(of).fold((f64::INFINITY, 0.0), |(lo, hi): (f64, f64), value| (lo.min(value), hi.max(value)));
            let cite = format!("{file}: LRU caches fitted to {} walks, the best within {error:.2} %", fit.shares.len());
            Fact::between(lo, of(best), hi, Source::Measured, cite)
        };
        // Where shapes of several capacities are left, the walks with the smallest strides alone say how far it may lie.
        let capacity = match number(&|shape| shape.capacity_bytes() as f64) {
            Fact::Known { value, lo: Some(lo), hi: Some(hi), source, cite, .. } if lo < hi => {
                Fact::between(lo.min(rise.between.0), value, hi.max(rise.between.1), source, cite)
            }
            one => one,
        };
        found.number(format!("{key}.capacity_bytes"), capacity);
        found.number(format!("{key}.line_bytes"), number(&|shape| shape.line_bytes as f64));
        found.number(format!("{key}.sets"), number(&|shape| f64::from(shape.sets)));
        found.number(format!("{key}.ways"), number(&|shape| f64::from(shape.ways)));
        let geometry = |fit: &Fitted, shape: &Shape| Geometry {
            sets: shape.sets,
            ways: shape.ways,
            hash: shape.hash.clone(),
            layout: None,
            error: fit.error,
        };
        let mut geometries: Vec<Geometry> = vec![geometry(fit, best)];
        let others = self.fits.iter().flat_map(|(fit, shapes)| shapes.iter().map(move |shape| (*fit, *shape)));
        geometries.extend(others.filter(|(_, shape)| *shape != best).map(|(fit, shape)| geometry(fit, shape)));
        let cite = format!("{file}: all that {} walks cannot tell from the best LRU cache", fit.shares.len());
        found.facts.insert(format!("{key}.geometries"), Finding::Geometries(Fact::known(geometries, Source::Measured, cite)));
    }
}
