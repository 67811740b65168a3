//! What walks say of the caches that they went through.

use super::super::Seen;
use super::plan::whole;
use super::route::Known;
use super::timed::{Timed, Walks};
use crate::fit::change::certain;
use crate::fit::levels::{Level, Levels};
use crate::fit::lru::{Fitted, Shape, Walk};
use crate::fit::sizes::{against, likeliest};
use crate::kernels::walk::Route;
use crate::{Curve, Finding, Findings, Geometry, Outcome, Record};
use warpsight_ir::ImageKind;
use warpsight_ir::profile::{Fact, Source};

/// Facts of all routes.
pub(super) fn analyse(seen: &Seen) -> Findings {
    let timed = Walks::of(seen.of(super::NAME)).seen;
    let whole = whole(seen.device);
    let mut findings = Findings::default();
    let mut reaches: Vec<Reach> = vec![];
    for name in [Route::Buffer, Route::Image(ImageKind::Image1dBuffer), Route::Image(ImageKind::Image2d), Route::Constant] {
        let word = match name {
            Route::Buffer | Route::Data => "buffer",
            Route::Image(_) => "texture",
            Route::Constant => "constant",
        };
        let route = Known::of(&timed, name);
        if let Some(levels) = &route.levels {
            match early(seen, &timed, &route) {
                Some(why) => untold(&mut findings, &route, levels, word, &why),
                None => {
                    let last = found(&mut findings, &timed, &route, levels, word, (seen.found.get("cores"), whole));
                    reaches.retain(|own| own.word != word);
                    reaches.extend(last.map(|last| Reach { word, bytes: route.reach(), last }));
                }
            }
        }
    }
    for word in ["buffer", "texture", "constant"] {
        if !findings.facts.keys().any(|key| key.starts_with(word)) {
            without(&mut findings, word, 1, &Fact::unknown(unwalked(seen, word)));
        }
    }
    together(&mut findings);
    beyond_all(&mut findings, &reaches);
    findings
}

/// Where what walks took beyond the caches of a way is said.
fn memory(word: &str) -> String {
    format!("{word}.memory.latency_s")
}

/// What is said of a level as of its size.
const OF_A_LEVEL: [&str; 3] = ["capacity_bytes", "line_bytes", "latency_s"];

/// Levels of a way from one on, of those that anybody asks for: that they are not there, or why nobody knows.
fn without(findings: &mut Findings, word: &str, from: usize, fact: &Fact<f64>) {
    let asked = if word == "constant" { 1 } else { 3 };
    for level in from..=asked.max(from) {
        OF_A_LEVEL.iter().for_each(|of| findings.number(format!("{word}.l{level}.{of}"), fact.clone()));
    }
}

/// How far walks of a way went, beyond the last of its levels.
struct Reach<'w> {
    word: &'w str,
    bytes: f64,
    last: usize,
}

/// Walks that went so many times as far as the largest cache seen: beyond it.
const BEYOND: f64 = 3.0;

/// Memory is behind the caches of all ways: what walks of one way end in may be a cache that only those of another are long enough for.
fn beyond_all(findings: &mut Findings, reaches: &[Reach]) {
    let capacity = |(key, found): (&String, &Finding)| match found {
        Finding::Number(fact) if key.ends_with(".capacity_bytes") && !key.starts_with("constant") => fact.get().copied(),
        _ => None,
    };
    let largest = findings.facts.iter().filter_map(capacity).fold(0.0, f64::max);
    for Reach { word, bytes, last } in reaches {
        if *bytes < BEYOND * largest {
            let why = Fact::unknown(format!("walks went through {bytes} B, of which a cache of {largest} B holds much"));
            findings.number(memory(word), why.clone());
            without(findings, word, last + 1, &why);
        }
    }
}

/// Why nothing is known of a way to memory.
fn unwalked(seen: &Seen, word: &str) -> String {
    let own = seen.records.iter().filter(|record| record.phase == super::NAME);
    let own = own.filter(|record| record.name.starts_with(if word == "texture" { "image" } else { word }));
    let why = |record: &Record| match &record.outcome {
        Outcome::Failed { why, .. } | Outcome::Skipped { why, .. } => Some(why.clone()),
        Outcome::Wrong { what } => Some(format!("walks give wrong results: {what}")),
        Outcome::Verified => None,
    };
    let said = own.clone().rev().find_map(why);
    said.unwrap_or_else(|| match own.count() {
        0 => "no walk was tried: out of time, or the device has nothing of the kind".to_owned(),
        walks => format!("{walks} walks are too few to tell, or the clock cannot tell them from nothing"),
    })
}

/// Why walks of a route ended before groups walked at once: then which level its nearest cache is nobody knows, nor what the ladder has left to
/// show.
fn early(seen: &Seen, timed: &[Timed], route: &Known) -> Option<String> {
    let own = |record: &&Record| record.phase == super::NAME && record.name.split(' ').next() == Some(route.name.word());
    let late = seen.records.iter().filter(own).find_map(|record| match &record.outcome {
        Outcome::Skipped { why, later: true } => Some(format!("`{}` did not run: {why}", record.name)),
        _ => None,
    });
    late.filter(|_| !route.walked_together(timed, route.nearest(timed)))
}

/// Of walks that ended early the curve alone, and where it seems to rise.
fn untold(findings: &mut Findings, route: &Known, levels: &Levels, word: &str, why: &str) {
    let seems = levels.caches.first().map(|level| format!("; walks take longer from about {:.0} B on", level.bytes)).unwrap_or_default();
    let unshared = format!("{why}, so that nobody knows whether the nearest cache is a core's own{seems}");
    without(findings, word, 1, &Fact::unknown(unshared));
    findings.curves.push(curve(route, levels));
}

/// The second level of both ways is one cache where what is known of its size agrees: its size is what both allow.
fn together(findings: &mut Findings) {
    let keys = ["buffer.l2.capacity_bytes", "texture.l2.capacity_bytes"];
    let known = keys.map(|key| match findings.facts.get(key) {
        Some(Finding::Number(Fact::Known { value, lo: Some(lo), hi: Some(hi), cite, .. })) => Some((*value, *lo, *hi, cite.clone())),
        _ => None,
    });
    let [Some(a), Some(b)] = known else { return };
    if a.1 > b.2 || b.1 > a.2 {
        findings.contradictions.push(format!("the second level holds {} B for buffers and {} B for images", a.0, b.0));
        return;
    }
    // Misses that begin early, where sets fill unevenly, move one interval or the other.
    let (lo, hi) = (a.1.min(b.1), a.2.max(b.2));
    // It is in both, as far as one knows.
    let (least, most) = (a.1.max(b.1), a.2.min(b.2));
    let value = likely(least, (a.0 * b.0).sqrt().max(least).min(most), most, 1.0);
    for (key, cite) in keys.into_iter().zip([&a.3, &b.3]) {
        findings.number(key, Fact::between(lo, value, hi, Source::Measured, format!("{cite}, with those of the other way")));
    }
}

/// Sets that fill unevenly let misses begin this part before a cache is full.
const UNEVEN: f64 = 0.015;
/// By what part the end of a cache whose victims are those of no formula is off at least.
const OFF: f64 = 0.02;

/// The likeliest capacity of whole lines in an interval, whose ends are two standard errors below and above the best.
fn likely(lo: f64, best: f64, hi: f64, line: f64) -> f64 {
    let spread = [best - lo, hi - best].map(|side| OFF.max(side / (2.0 * best)));
    likeliest(lo * (1.0 - UNEVEN), best, hi * (1.0 + UNEVEN), spread, line)
}

/// The likeliest of shapes that explain walks by its capacity, wherever the curve ends.
fn likeliest_of(shapes: &[Fitted]) -> Option<&Shape> {
    let each = shapes.iter().flat_map(|fitted| fitted.shapes.iter().map(|shape| (fitted.chi2 + against(shape.capacity_bytes()), shape)));
    each.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, shape)| shape)
}

/// What a route tells, of a device of so many cores of which a whole probe walks through so many bytes; the last of its levels where walks went so
/// far beyond it that they tell memory's latency, too.
fn found(
    findings: &mut Findings,
    seen: &[Timed],
    route: &Known,
    levels: &Levels,
    word: &str,
    (cores, whole): (Option<f64>, f64),
) -> Option<usize> {
    let cite = format!("walks of dependent loads, {}", route.name.word());
    let measured = |lo: f64, value: f64, hi: f64| Fact::between(lo.min(value), value, hi.max(value), Source::Measured, cite.clone());
    let exact = |value: f64| measured(value, value, value);
    let shared = route.instances(seen, route.nearest(seen)) == Some((1, 1)) && cores != Some(1.0);
    // Cores have a first level of their own each; what all groups share is a second level.
    let first = if shared { 2 } else { 1 };
    if shared {
        let evidence = format!("the nearest cache is shared by groups that run at once ({cite})");
        OF_A_LEVEL.iter().for_each(|of| findings.number(format!("{word}.l1.{of}"), Fact::absent(&*evidence)));
    }
    let noise = route.noise.max(levels.error).max(0.002);
    let about = |value: f64| measured(value * (1.0 - 2.0 * noise), value, value * (1.0 + 2.0 * noise));
    let (mut caches, mut reaches) = (0, 0);
    for (n, (level, line)) in levels.caches.iter().zip(route.lines()).enumerate() {
        if route.is_translation(seen, n) {
            reaches += 1;
            let key = format!("{word}.translation.l{reaches}.reach_bytes");
            let cite = format!("{cite}: few lines in as many pages take as long");
            findings.number(key, Fact::between(level.between.0, level.bytes, level.between.1, Source::Measured, cite.clone()));
            let waits = format!("{word}.translation.l{reaches}.miss_s");
            let part = 2.0 * noise * levels.latency(n + 1);
            findings.number(waits, Fact::between((level.miss - part).max(0.0), level.miss, level.miss + part, Source::Measured, cite));
            continue;
        }
        let number = first + caches;
        caches += 1;
        let key = |of: &str| format!("{word}.l{number}.{of}");
        let grain = f64::from(line.unwrap_or(route.nearest_grain()));
        let shapes = route.shapes(seen, n, line.unwrap_or(route.nearest_grain()));
        let (shapes, walks, why) = match shapes {
            Ok((shapes, walks)) => (shapes, walks, ""),
            Err(why) => (vec![], vec![], why),
        };
        findings.curves.extend(shapes.first().map(|best| missing(&format!("{word}.l{number}"), best, &walks)));
        let known: Vec<&Shape> = shapes.iter().flat_map(|fitted| &fitted.shapes).collect();
        // From where misses show to where the best curve begins them: caches whose sets fill unevenly miss before they are full.
        let (begin, end) = route.capacity(n).unwrap_or(level.between);
        let (lo, hi) = (begin.min(level.between.0), end.max(level.between.1));
        // Places farther apart than lines are counted with what lies between them, of which a cache holds nothing.
        let least = known.iter().map(|shape| shape.line_bytes as f64).fold(grain, f64::min);
        let ended = format!("{cite}: where steps of longer walks begin to take longer, whatever shape the cache has");
        findings.number(key("end_bytes"), Fact::between(lo * least / grain, level.bytes, hi, Source::Measured, ended));
        match likeliest_of(&shapes) {
            Some(likeliest) => {
                let each = |of: fn(&Shape) -> f64| {
                    let (lo, hi) = known.iter().fold((f64::INFINITY, 0.0), |(lo, hi), shape| (of(shape).min(lo), of(shape).max(hi)));
                    (lo, of(likeliest), hi)
                };
                let bytes = |shape: &Shape| shape.capacity_bytes() as f64;
                let (least, value, most) = each(bytes);
                let several = measured(lo.min(least), value, hi.max(most));
                findings.number(key("capacity_bytes"), if least == most { exact(least) } else { several });
                let mut tell = |name: &str, (lo, value, hi)| findings.number(key(name), measured(lo, value, hi));
                tell("line_bytes", each(|shape| shape.line_bytes as f64));
                tell("sets", each(|shape| shape.sets.into()));
                tell("ways", each(|shape| shape.ways.into()));
                let geometries = shapes.iter().flat_map(|fitted| fitted.shapes.iter().map(|shape| (shape, fitted.error)));
                let geometries = geometries.map(|(shape, error)| Geometry {
                    sets: shape.sets,
                    ways: shape.ways,
                    hash: shape.hash.clone(),
                    layout: None,
                    error,
                });
                let fact = Fact::known(geometries.collect(), Source::Measured, cite.clone());
                findings.facts.insert(key("geometries"), Finding::Geometries(fact));
            }
            _ => {
                findings.number(key("capacity_bytes"), measured(lo, likely(lo, level.bytes, hi, grain), hi));
                findings.number(key("sets"), Fact::unknown(why));
                findings.number(key("ways"), Fact::unknown(why));
            }
        }
        findings.number(key("latency_s"), about(route.latency(levels, n)));
        let unseen = "no distance at which the second of two near places takes longer";
        let fetched = line.map_or(Fact::unknown(unseen), |line| exact(line.into()));
        findings.number(key("fetch_bytes"), fetched.clone());
        if !findings.facts.contains_key(&key("line_bytes")) {
            let strides = route.line_by_strides(seen, n);
            findings.number(key("line_bytes"), strides.map_or(fetched, |line| exact(line.into())));
        }
        if let Some((least, most)) = route.instances(seen, n) {
            let (least, most) = (f64::from(least), f64::from(most));
            // Between numbers of groups that were tried, one for each core is likely.
            let value = cores.filter(|cores| (least..=most).contains(cores)).unwrap_or(least);
            findings.number(key("instances"), measured(least, value, most));
        }
    }
    if reaches == 0 && route.name == Route::Buffer {
        let why = format!("no walk through up to {} B of buffers waits for the translation of pages that are too many", route.reach());
        for of in ["reach_bytes", "miss_s"] {
            findings.number(format!("{word}.translation.l1.{of}"), Fact::unknown(&*why));
        }
    }
    let last = route.latency(levels, levels.caches.len());
    // Constants are too few to reach beyond every cache.
    let beyond = route.name != Route::Constant && levels.caches.last().is_some_and(|level| route.reach() >= BEYOND * level.bytes);
    let (bytes, behind) = (route.reach(), first + caches - 1);
    if beyond {
        findings.number(memory(word), about(last));
    }
    let further = match (beyond, levels.caches.last()) {
        (true, _) if bytes >= whole => Fact::absent(format!("{cite}: those of up to {bytes} B show no further level")),
        // A larger cache would show in longer ones alone.
        (true, _) => {
            Fact::unknown(format!("{cite}: those of up to {bytes} B show no further level; those of a whole probe go beyond {whole:.0} B"))
        }
        (_, Some(level)) => Fact::unknown(format!(
            "{cite}: those of up to {bytes} B do not go far enough beyond the {:.0} B of the last level",
            level.bytes
        )),
        (_, None) => Fact::unknown(format!("{cite}: those of up to {bytes} B take as long as the shortest")),
    };
    without(findings, word, behind + 1, &further);
    findings.curves.push(curve(route, levels));
    beyond.then_some(behind)
}

/// Walks of all strides by the cache that explains them best.
fn missing(level: &str, best: &Fitted, walks: &[Walk]) -> Curve {
    let (points, model) = best.drawn(walks);
    Curve {
        title: format!("Latency of a dependent load against the share of loads that miss the cache that explains walks best, {level}"),
        x: "share of loads that miss".into(),
        y: "latency [s]".into(),
        points,
        model,
        ..Curve::default()
    }
}

fn curve(route: &Known, levels: &Levels) -> Curve {
    let mut points: Vec<[f64; 4]> =
        route.points.iter().map(|p| [p.bytes, p.seconds, p.seconds * (1.0 - route.noise), p.seconds * (1.0 + route.noise)]).collect();
    points.sort_by(|a, b| a[0].total_cmp(&b[0]));
    // What a miss takes longer, beside what walks vary by where the level has everything.
    let noise = route.noise.max(levels.error).max(0.002);
    let sure = |(n, level): (usize, &Level)| certain(level.miss / (levels.latency(n) * noise), points.len() as f64);
    Curve {
        title: format!("Latency of a dependent load against footprint, {}", route.name.word()),
        figure: Some("001, figure 6".into()),
        x: "footprint [B]".into(),
        y: "latency [s]".into(),
        log_x: true,
        model: points.iter().map(|point| [point[0], levels.seconds(point[0])]).collect(),
        changes: levels.caches.iter().map(|level| level.bytes).collect(),
        confidence: levels.caches.iter().enumerate().map(sure).collect(),
        points,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_of_an_interval_count_by_themselves() {
        // Misses are seen early in it: 128 is as much as may be, and most unlikely; 112 and 120 are as well told by what is below.
        assert_eq!(likely(100.0, 121.0, 126.2, 1.0), 112.0);
        assert_eq!(likely(116.0, 121.0, 142.0, 1.0), 128.0);
    }

    /// Whatever lies between their capacities, and however near it is to where the curve ends.
    #[test]
    fn a_capacity_is_one_of_the_shapes() {
        let fitted = |chi2: f64, shapes: &[(u32, u32)]| Fitted {
            shapes: shapes.iter().map(|&(sets, ways)| Shape { line_bytes: 16, sets, ways, hash: None }).collect(),
            shares: vec![],
            hit_s: 1.0,
            miss_s: 2.0,
            hit_sigma_s: 0.0,
            miss_sigma_s: 0.0,
            error: 0.0,
            chi2,
            freedom: 9,
        };
        let likeliest = |shapes: &[Fitted]| likeliest_of(shapes).map(Shape::capacity_bytes);
        assert_eq!(likeliest(&[fitted(1.0, &[(2, 6), (1, 5)])]), Some(192));
        // A number of two digits less weighs 2.8; what walks speak against by more stands back.
        assert_eq!(likeliest(&[fitted(1.0, &[(1, 11)]), fitted(3.0, &[(1, 12)])]), Some(192));
        assert_eq!(likeliest(&[fitted(1.0, &[(1, 11)]), fitted(4.0, &[(1, 12)])]), Some(176));
        assert_eq!(likeliest(&[]), None);
    }

    #[test]
    fn the_size_of_one_cache_is_in_both_intervals() {
        let mut found = Findings::default();
        let known = |lo, value, hi| Fact::between(lo, value, hi, Source::Measured, "a test");
        found.number("buffer.l2.capacity_bytes", known(17_571.0, 32_768.0, 51_418.0));
        found.number("texture.l2.capacity_bytes", known(48_887.0, 49_152.0, 49_187.0));
        together(&mut found);
        for key in ["buffer.l2.capacity_bytes", "texture.l2.capacity_bytes"] {
            let Some(Finding::Number(Fact::Known { value, lo, hi, .. })) = found.facts.get(key) else { panic!("{key}") };
            assert_eq!((*value, *lo, *hi), (49_152.0, Some(17_571.0), Some(51_418.0)));
        }
    }

    #[test]
    fn memory_is_behind_the_caches_of_all_ways() {
        let known = |value: f64| Fact::known(value, Source::Measured, "a test");
        let mut found = Findings::default();
        for (key, value) in [
            ("texture.l1.capacity_bytes", 16384.0),
            ("buffer.l2.capacity_bytes", 8_388_608.0),
            ("constant.l2.capacity_bytes", 1e9),
            ("texture.memory.latency_s", 8e-8),
            ("buffer.memory.latency_s", 3e-7),
        ] {
            found.number(key, known(value));
        }
        // Images' walks are within the second level that buffers' found.
        let reach = |word, bytes, last| Reach { word, bytes, last };
        without(&mut found, "texture", 2, &Fact::absent("nothing was seen"));
        without(&mut found, "buffer", 3, &Fact::absent("nothing was seen"));
        beyond_all(&mut found, &[reach("buffer", 33_554_432.0, 2), reach("texture", 1_048_576.0, 1)]);
        assert_eq!((found.get("buffer.memory.latency_s"), found.get("texture.memory.latency_s")), (Some(3e-7), None));
        // What is behind a cache that only others saw is not absent.
        let absent = |found: &Findings, key: &str| matches!(found.facts.get(key), Some(Finding::Number(Fact::Absent { .. })));
        let told = ["texture.l2.line_bytes", "texture.l3.capacity_bytes", "buffer.l3.capacity_bytes"].map(|key| absent(&found, key));
        assert_eq!(told, [false, false, true]);
        beyond_all(&mut found, &[reach("buffer", 16_777_216.0, 2)]);
        assert_eq!(found.get("buffer.memory.latency_s"), None);
    }
}
