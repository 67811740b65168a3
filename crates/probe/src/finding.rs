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
    /// Takes all that others found; theirs stand where both have a key.
    pub fn extend(&mut self, other: Self) {
        self.facts.extend(other.facts);
        self.curves.extend(other.curves);
        self.contradictions.extend(other.contradictions);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
