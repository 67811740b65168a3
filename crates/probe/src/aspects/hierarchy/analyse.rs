//! What walks say of the caches that they went through.

use super::super::Seen;
use super::plan::APART;
use super::spec::{RouteName, Timed};
use crate::fit::levels::{self, Levels, Point};
use crate::{Curve, Findings};
use warpsight_ir::profile::{Fact, Source};

/// Where nothing shows what a miss brings, places are this far apart: lines of most machines.
const LIKELY_LINE: u32 = 64;
/// A step takes longer when it takes longer by this part.
const LONGER: f64 = 0.06;

/// What is known of one route so far.
pub(super) struct Route {
    pub(super) name: RouteName,
    /// Bytes that one miss of the nearest cache brings, or what is likely.
    pub(super) grain: u32,
    /// Seconds a step against the range.
    points: Vec<Point>,
    /// Seconds a step of pairs: the range, the distance within a pair, seconds.
    pairs: Vec<(u64, u32, f64)>,
    /// Caches.
    pub(super) levels: Option<Levels>,
    /// Relative noise of a point.
    noise: f64,
}

impl Route {
    pub(super) fn of(seen: &[Timed], name: RouteName) -> Self {
        Self::fitted(seen, name, levels::fit)
    }

    /// The same with another way to fit levels to points.
    pub(super) fn fitted(seen: &[Timed], name: RouteName, fit: impl FnOnce(&[Point], f64) -> Option<Levels>) -> Self {
        let own: Vec<&Timed> = seen.iter().filter(|timed| timed.spec.route == name && timed.spec.walkers == 1).collect();
        let mut spreads: Vec<f64> = own.iter().map(|timed| timed.spread).collect();
        spreads.sort_by(f64::total_cmp);
        // The fastest of a few passes is closer to what it would be than the median is.
        let noise = spreads.get(spreads.len() / 2).map_or(0.0, |spread| spread / 2.0);
        let mut pairs: Vec<(u64, u32, f64)> =
            own.iter().filter_map(|timed| Some((timed.spec.range, timed.spec.pair?, timed.seconds))).collect();
        pairs.sort_by_key(|pair| (pair.0, pair.1));
        let nearest: Vec<_> = pairs.iter().take_while(|pair| pair.0 == pairs[0].0).collect();
        let rises = |two: &[&(u64, u32, f64)]| two[1].2 > two[0].2 * (1.0 + LONGER.max(4.0 * noise));
        let grain = nearest.windows(2).find(|two| rises(two)).map_or(LIKELY_LINE, |two| two[1].1);
        let grain = grain.max(name.route().unit());
        let dense = own.iter().filter(|timed| timed.spec.pair.is_none() && timed.spec.stride == grain);
        let points: Vec<Point> = dense.map(|timed| Point { bytes: timed.spec.range as f64, seconds: timed.seconds }).collect();
        let levels = fit(&points, noise);
        Self { name, grain, points, pairs, levels, noise }
    }
}

/// What a miss of each cache brings: the nearest place behind one that missed which a level farther away answers.
pub(super) fn lines(route: &Route) -> Vec<Option<u32>> {
    let Some(levels) = &route.levels else { return vec![] };
    let caches = levels.caches.iter().enumerate();
    let line = |(n, level): (usize, &levels::Level)| {
        // Most first places miss this cache.
        let ranges = route.pairs.iter().filter(|pair| pair.0 as f64 >= 1.5 * level.bytes * f64::from(APART / route.grain.min(APART)));
        let range = ranges.map(|pair| pair.0).max()?;
        let own: Vec<_> = route.pairs.iter().filter(|pair| pair.0 == range).collect();
        // The second of two places right beside each other is in the nearest cache; of others it waits as much longer as pairs do.
        let second = |pair: &&(u64, u32, f64)| levels.first + 2.0 * (pair.2 - own[0].2);
        let between = 0.5 * (levels.latency(n) + levels.latency(n + 1));
        let first = own.iter().find(|pair| second(pair) > between)?;
        (first.1 > own[0].1).then_some(first.1)
    };
    caches.map(line).collect()
}

/// The walks of many groups: how many have a cache of their own.
fn instances(seen: &[Timed], route: &Route, level: &levels::Level) -> Option<u32> {
    let part = (0.7 * level.bytes / f64::from(route.grain)) as u64 * u64::from(route.grain);
    let own = seen.iter().filter(|timed| timed.spec.route == route.name && timed.spec.range == part && timed.spec.pair.is_none());
    let mut walks: Vec<(u32, f64)> = own.map(|timed| (timed.spec.walkers, timed.seconds)).collect();
    walks.sort_by_key(|walk| walk.0);
    let alone = walks.first().filter(|walk| walk.0 == 1)?.1;
    let rises = walks.windows(2).find(|two| two[1].1 > alone * (1.0 + 2.0 * LONGER));
    rises.map(|two| two[0].0)
}

/// Facts of all routes.
pub(super) fn analyse(seen: &Seen) -> Findings {
    let timed: Vec<Timed> = seen.of(super::NAME).filter_map(Timed::of).collect();
    let mut findings = Findings::default();
    for (name, word) in [(RouteName::Buffer, "buffer"), (RouteName::Image1dBuffer, "texture"), (RouteName::Image2d, "texture")] {
        let route = Route::of(&timed, name);
        if let Some(levels) = &route.levels {
            found(&mut findings, &timed, &route, levels, word, seen.found.get("cores"));
        }
    }
    findings
}

fn found(findings: &mut Findings, seen: &[Timed], route: &Route, levels: &Levels, word: &str, cores: Option<f64>) {
    let cite = format!("walks of dependent loads, {}", route.name.route().word());
    let measured = |lo: f64, value: f64, hi: f64| Fact::between(lo.min(value), value, hi.max(value), Source::Measured, cite.clone());
    let shared = |n: usize| instances(seen, route, &levels.caches[n]) == Some(1) && cores != Some(1.0);
    // Cores have a first level of their own each; what the nearest cache of all is shared by is a second level.
    let first = if !levels.caches.is_empty() && shared(0) { 2 } else { 1 };
    if first == 2 {
        for key in ["capacity_bytes", "line_bytes", "latency_s"] {
            let evidence = format!("the nearest cache is shared by groups that run at once ({cite})");
            findings.number(format!("{word}.l1.{key}"), Fact::absent(evidence));
        }
    }
    let noise = route.noise.max(levels.error).max(0.002);
    for (n, (level, line)) in levels.caches.iter().zip(lines(route)).enumerate() {
        let key = |of: &str| format!("{word}.l{}.{of}", first + n);
        let grain = f64::from(route.grain);
        let whole = (level.bytes / grain).round() * grain;
        findings.number(key("capacity_bytes"), measured(level.between.0, whole, level.between.1));
        let latency = levels.latency(n);
        findings.number(key("latency_s"), measured(latency * (1.0 - 2.0 * noise), latency, latency * (1.0 + 2.0 * noise)));
        findings.number(
            key("line_bytes"),
            match line {
                Some(line) => measured(f64::from(line), f64::from(line), f64::from(line)),
                None => Fact::unknown("no distance at which the second of two near places takes longer"),
            },
        );
        if let Some(instances) = instances(seen, route, level) {
            findings.number(key("instances"), measured(instances.into(), instances.into(), instances.into()));
        }
    }
    let last = levels.latency(levels.caches.len());
    let reach = route.points.iter().map(|point| point.bytes).fold(0.0, f64::max);
    if levels.caches.last().is_some_and(|level| reach >= 3.0 * level.bytes) {
        findings.number(format!("{word}.beyond.latency_s"), measured(last * (1.0 - 2.0 * noise), last, last * (1.0 + 2.0 * noise)));
    }
    let mut points: Vec<[f64; 4]> =
        route.points.iter().map(|p| [p.bytes, p.seconds, p.seconds * (1.0 - route.noise), p.seconds * (1.0 + route.noise)]).collect();
    points.sort_by(|a, b| a[0].total_cmp(&b[0]));
    findings.curves.push(Curve {
        title: format!("Latency of a dependent load against footprint, {}", route.name.route().word()),
        figure: Some("001, figure 6".into()),
        x: "footprint [B]".into(),
        y: "latency [s]".into(),
        log_x: true,
        model: points.iter().map(|point| [point[0], levels.seconds(point[0])]).collect(),
        changes: levels.caches.iter().map(|level| level.bytes).collect(),
        points,
    });
}
