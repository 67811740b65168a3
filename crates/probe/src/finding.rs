//! What an analysis finds: facts under keys, curves that show them, and where they contradict each other.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use warpsight_ir::profile::{Fact, Geometry, Source};
use warpsight_ir::texture::TextureFit;
use warpsight_ir::texture::paper000::Paper000;

/// A fact of a device, in SI units: seconds, bytes, bytes a second, operations a second; numbers of things as they are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Finding {
    /// One number with its interval.
    Number(Fact<f64>),
    /// Several that hold at once: the warp sizes of a device that has more than one.
    Numbers(Fact<Vec<f64>>),
    /// A word of a few: `pooled`, `dedicated`.
    Word(Fact<String>),
    /// Geometries of a cache, each consistent with everything measured; the first explains it best.
    Geometries(Fact<Vec<Geometry>>),
    /// What fetches of images take by where they go.
    Texture(Fact<TextureFit>),
    /// The same as paper 000 has it.
    Paper000(Fact<Paper000>),
}

/// Points of a curve, for the page.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// What is shown: `latency of a dependent load against footprint`.
    pub title: String,
    /// The figure of a paper that shows the same: `001, figure 6`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figure: Option<String>,
    /// What runs along x, with its unit.
    pub x: String,
    /// What runs along y, with its unit.
    pub y: String,
    /// Whether x is shown in powers of two.
    pub log_x: bool,
    /// Measured: x, y, and y's lower and upper end.
    pub points: Vec<[f64; 4]>,
    /// The fitted model's y over x.
    pub model: Vec<[f64; 2]>,
    /// Values of x where y changes.
    pub changes: Vec<f64>,
    /// How sure each of these is, from 0 to 1.
    #[serde(default)]
    pub confidence: Vec<f64>,
}

/// Everything that analyses found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Findings {
    /// By key: `texture.l1.capacity_bytes`.
    pub facts: BTreeMap<String, Finding>,
    /// In order.
    pub curves: Vec<Curve>,
    /// Where measurements contradict each other or themselves, in words.
    pub contradictions: Vec<String>,
}

/// What walks of each way took beyond every cache, those of buffers first.
pub(crate) const WALKED_MEMORY: [&str; 2] = ["buffer.memory.latency_s", "texture.memory.latency_s"];

/// How keys of latencies end that were counted in cycles.
const COUNTED: &str = ".latency_cycles";

impl Findings {
    /// Puts a number under a key, instead of what stood there.
    pub fn number(&mut self, key: impl Into<String>, fact: Fact<f64>) {
        self.facts.insert(key.into(), Finding::Number(fact));
    }
    /// The number under a key, where it is known.
    pub fn get(&self, key: &str) -> Option<f64> {
        match self.facts.get(key)? {
            Finding::Number(fact) => fact.get().copied(),
            _ => None,
        }
    }
    /// The first of several keys whose number is known, or else why the first of them that there is is not.
    pub(crate) fn first(&self, keys: &[&str]) -> Option<Fact<f64>> {
        let numbers = || {
            keys.iter().filter_map(|key| match self.facts.get(*key)? {
                Finding::Number(fact) => Some(fact),
                _ => None,
            })
        };
        numbers().find(|fact| fact.get().is_some()).or_else(|| numbers().next()).cloned()
    }
    /// Memory's latency: what walks told of it, unless reads said that these did not end there.
    pub(crate) fn memory_latency(&self) -> Option<Fact<f64>> {
        self.first(&["dram.latency_s"]).or_else(|| self.first(&WALKED_MEMORY))
    }
    /// Whether any latency was counted in cycles.
    pub(crate) fn counts_cycles(&self) -> bool {
        self.facts.keys().any(|key| key.ends_with(COUNTED) && self.get(key).is_some())
    }
    /// For each latency that is known in cycles only, the key of its seconds and why these are not known.
    pub fn untimed(&self) -> impl Iterator<Item = (String, Finding)> {
        let counted = self.facts.keys().filter(|key| self.get("clock.hz").is_none() && self.get(key).is_some());
        counted.filter_map(|key| {
            let seconds = format!("{}.latency_s", key.strip_suffix(COUNTED)?);
            let why = format!("it was counted in cycles, and no clock rate was found: see `{key}`");
            (!self.facts.contains_key(&seconds)).then(|| (seconds, Finding::Number(Fact::unknown(why))))
        })
    }
    /// Facts of one source other those of another.
    pub(crate) fn from(&mut self, source: Source, other: Source) {
        for finding in self.facts.values_mut() {
            let own = match finding {
                Finding::Number(Fact::Known { source, .. }) => source,
                Finding::Numbers(Fact::Known { source, .. }) => source,
                Finding::Word(Fact::Known { source, .. }) => source,
                Finding::Geometries(Fact::Known { source, .. }) => source,
                Finding::Texture(Fact::Known { source, .. }) => source,
                Finding::Paper000(Fact::Known { source, .. }) => source,
                _ => continue,
            };
            if *own == source {
                *own = other;
            }
        }
    }
    /// Says of each change of a curve how sure it is, where its analysis did not.
    pub(crate) fn confident(&mut self) {
        for curve in self.curves.iter_mut().filter(|curve| curve.confidence.len() < curve.changes.len()) {
            let of = |at: &f64| crate::fit::change::confidence(&curve.points, curve.log_x, *at);
            curve.confidence = curve.changes.iter().map(of).collect();
        }
    }
    /// Draws steps through the points of curves that change where their analysis has no model of them.
    pub(crate) fn stepped(&mut self) {
        let own = self.curves.iter_mut().filter(|curve| curve.model.is_empty() && !curve.changes.is_empty());
        own.for_each(|curve| curve.model = steps(&curve.points, &curve.changes));
    }
    /// Takes all that others found; theirs stand where both have a key.
    pub fn extend(&mut self, other: Self) {
        self.facts.extend(other.facts);
        self.curves.extend(other.curves);
        self.contradictions.extend(other.contradictions);
    }
}

/// The middle of the points on either side of each change, as steps. A point right at a change is on the side that is more like it: some changes
/// are the last of what was, others the first of what comes.
fn steps(points: &[[f64; 4]], changes: &[f64]) -> Vec<[f64; 2]> {
    let mut points: Vec<[f64; 2]> = points.iter().map(|point| [point[0], point[1]]).filter(|p| p.iter().all(|n| n.is_finite())).collect();
    points.sort_by(|a, b| a[0].total_cmp(&b[0]));
    let mut changes: Vec<f64> = changes.iter().copied().filter(|at| at.is_finite()).collect();
    changes.sort_by(f64::total_cmp);
    let (mut model, mut rest) = (vec![], &points[..]);
    for at in changes {
        let [below, up_to] = [rest.partition_point(|p| p[0] < at), rest.partition_point(|p| p[0] <= at)];
        let beside = (below > 0 && up_to < rest.len()).then(|| [middle(&rest[..below]), middle(&rest[up_to..])]);
        let there = &rest[below..up_to];
        let first =
            beside.is_some_and(|[before, after]| !there.is_empty() && (middle(there) - before).abs() < (middle(there) - after).abs());
        let (before, after) = rest.split_at(if first || up_to == rest.len() { up_to } else { below });
        level(&mut model, before);
        rest = after;
    }
    level(&mut model, rest);
    model
}

/// A straight line through the middle of points.
fn level(model: &mut Vec<[f64; 2]>, points: &[[f64; 2]]) {
    if let (Some(first), Some(last)) = (points.first(), points.last()) {
        model.extend([[first[0], middle(points)], [last[0], middle(points)]]);
    }
}

fn middle(points: &[[f64; 2]]) -> f64 {
    let mut y: Vec<f64> = points.iter().map(|point| point[1]).collect();
    y.sort_by(f64::total_cmp);
    y.get(y.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A change may be the last of what was, or the first of what comes; a model of the analysis stands.
    #[test]
    fn curves_without_a_model_have_steps() {
        let points = |y: [f64; 5]| (1..).zip(y).map(|(x, y)| [f64::from(x), y, y, y]).collect::<Vec<_>>();
        let curve = |y, changes: &[f64], model| Curve { points: points(y), changes: changes.into(), model, ..Curve::default() };
        let curves = vec![
            curve([1.0, 1.1, 0.9, 2.0, 2.2], &[3.0], vec![]),
            curve([2.0, 2.0, 1.0, 1.0, 1.0], &[3.0], vec![]),
            curve([1.0, 2.0, 2.0, 3.0, 3.0], &[4.0, 2.0], vec![]),
            curve([1.0, 1.0, 1.0, 2.0, 2.0], &[3.0], vec![[1.0, 7.0]]),
            curve([1.0; 5], &[], vec![]),
            curve([1.0; 5], &[9.0, f64::NAN], vec![]),
        ];
        let mut found = Findings { curves, ..Findings::default() };
        found.stepped();
        let models: Vec<Vec<[f64; 2]>> = found.curves.into_iter().map(|curve| curve.model).collect();
        assert_eq!(models[0], [[1.0, 1.0], [3.0, 1.0], [4.0, 2.2], [5.0, 2.2]]);
        assert_eq!(models[1], [[1.0, 2.0], [2.0, 2.0], [3.0, 1.0], [5.0, 1.0]]);
        assert_eq!(models[2], [[1.0, 1.0], [1.0, 1.0], [2.0, 2.0], [3.0, 2.0], [4.0, 3.0], [5.0, 3.0]]);
        assert_eq!(models[3..], [vec![[1.0, 7.0]], vec![], vec![[1.0, 1.0], [5.0, 1.0]]]);
    }

    #[test]
    fn reads_have_the_last_word_about_memory() {
        let known = |value: f64| Fact::known(value, Source::Measured, "a test");
        let mut found = Findings::default();
        assert_eq!(found.memory_latency(), None);
        found.number("buffer.memory.latency_s", Fact::unknown("too short"));
        assert!(found.memory_latency().is_some_and(|fact| fact.get().is_none()));
        // Buffers' walks were too short, images' were not.
        found.number("texture.memory.latency_s", known(2e-7));
        assert_eq!(found.memory_latency(), Some(known(2e-7)));
        found.number("dram.latency_s", Fact::unknown("there is another cache"));
        assert!(found.memory_latency().is_some_and(|fact| fact.get().is_none()));
        found.number("dram.latency_s", known(3e-7));
        assert_eq!(found.memory_latency(), Some(known(3e-7)));
    }
}
