//! What a probe found, as it stands in its folder (`findings.json`) and on the standard output.

use crate::failure::Failure;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::Path;
use warpsight_ir::Profile;
use warpsight_ir::profile::Fact;
use warpsight_probe::battery::Summary;
use warpsight_probe::export::Stated;

use warpsight_probe::{Consistency, Finding, Findings, consistency, profile};
use warpsight_run::DeviceInfo;

/// The version of the format.
const FORMAT: u32 = 1;
/// The name of a profile whose device has none.
const NAMELESS: &str = "replayed";

/// Everything that is known after a probe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// [`FORMAT`].
    pub format: u32,
    /// Version of warpsight whose analysis this is.
    pub warpsight: String,
    /// When the measurements were begun, RFC 3339, UTC; `None` where others recorded them.
    pub date: Option<String>,
    /// What was measured, and by what.
    pub device: Probed,
    /// What came of each aspect that was measured.
    pub aspects: Vec<Summary>,
    /// What could not be read of the measurements.
    pub notes: Vec<String>,
    /// What the measurements say.
    pub findings: Findings,
    /// The findings held against themselves, whatever version wrote them.
    #[serde(skip_deserializing)]
    pub consistency: Vec<Consistency>,
}

/// What was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Probed {
    /// How the measurements were read: `measured`, or a form of recordings.
    pub form: String,
    /// What the driver says, where it was recorded. None of it is a measurement.
    pub described: Option<DeviceInfo>,
}

impl Found {
    /// What measurements say, with numbers that a file can hold.
    pub fn new(device: Probed, mut findings: Findings) -> Self {
        finite(&mut findings);
        Self {
            format: FORMAT,
            warpsight: env!("CARGO_PKG_VERSION").into(),
            date: None,
            device,
            aspects: vec![],
            notes: vec![],
            consistency: consistency(&findings),
            findings,
        }
    }

    /// What the driver calls the device.
    pub fn name(&self) -> &str {
        self.device.described.as_ref().map_or(NAMELESS, |device| &device.name)
    }

    /// As a profile that every verb takes.
    pub fn profile(&self) -> Profile {
        let by = self.device.described.as_ref().map(|device| format!(" through {} ({})", device.backend, device.driver));
        // What is simulated is the same on every day, and its profile is called by the device's name, as `sim-adreno640`.
        let simulated = self.device.described.as_ref().filter(|device| device.backend == "sim");
        let date = self.date.as_ref().filter(|_| simulated.is_none()).map(|date| format!(", {date}"));
        let name = simulated.filter(|device| !device.id.contains(['/', '.'])).map_or(self.name(), |device| &device.id);
        let (by, date) = (by.unwrap_or_default(), date.unwrap_or_default());
        let description = format!("{}{by}, probed by warpsight {}: {}{date}", self.name(), self.warpsight, self.device.form);
        profile(&self.findings, &slug(name), &description)
    }

    /// What a driver states, for formats that have it; without a driver, what was measured instead.
    pub fn stated(&self) -> Stated {
        let device = self.device.described.as_ref();
        let text = |name: &str| device.and_then(|device| device.facts.get(name));
        let fact = |name: &str| text(name).and_then(|text| text.parse::<f64>().ok());
        let count = |name: &str| fact(name).map(|number| number as u32);
        let capability = text("compute_capability").and_then(|text| text.split_once('.'));
        let measured = |key: &str| self.findings.get(key);
        let number = |key: &str| measured(key).map(|number| number.round() as u32);
        Stated {
            name: device.map(|device| device.name.clone()),
            vendor: device.filter(|device| device.backend == "cuda").map(|_| "NVIDIA".into()).or_else(|| text("vendor").cloned()),
            compute_capability: capability.and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?))),
            clock_hz: fact("clock_rate").map(|kilohertz| 1e3 * kilohertz).or(measured("clock.hz")),
            multiprocessors: device.and_then(|device| device.limits.compute_units).or(number("cores")),
            fp32_units: number("alu.per_core"),
            warp: count("warp_size").or(number("warp.by_order")),
            threads: count("max_threads_per_multiprocessor"),
            block_threads: device.and_then(|device| device.limits.max_group_size).or(number("group.max_size")),
            blocks: count("max_blocks_per_multiprocessor"),
            registers: count("max_registers_per_multiprocessor").or(number("registers.per_core")),
            shared_bytes: fact("max_shared_memory_per_multiprocessor").or(measured("local.capacity_bytes")),
            shared_reserved_bytes: fact("reserved_shared_memory_per_block"),
            l2_bytes: fact("l2_cache_bytes"),
            timestamp: self.date.clone(),
        }
    }

    /// For the standard output: SI units throughout.
    pub fn json(&self) -> Value {
        let device = self.device.described.as_ref().map_or(Value::Null, |device| json!(device));
        let mut keys = self.findings.facts.clone();
        keys.extend(self.findings.untimed());
        json!({
            "device": device,
            "form": self.device.form,
            "date": self.date,
            "keys": keys,
            "profile": self.profile(),
            "consistency": self.consistency,
            "contradictions": self.findings.contradictions,
            "aspects": self.aspects,
            "notes": self.notes,
        })
    }

    /// For its file.
    pub fn text(&self) -> String {
        // Only maps with other keys than words could fail, and there are none.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// Reads the file.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        #[derive(Deserialize)]
        struct Format {
            format: u32,
        }
        let text = warpsight_files::read_text(path, warpsight_files::RECORDS)?;
        let place = path.display().to_string();
        let refused = |what: String| Failure::input(what).at(place.clone());
        let format: Format = serde_json::from_str(&text).map_err(|error| refused(format!("these are no findings of a probe: {error}")))?;
        if format.format != FORMAT {
            let known = format!("the format {} of findings is not known here, only {FORMAT}", format.format);
            return Err(refused(known).help("a newer warpsight wrote it; `warpsight probe --replay` analyses the records anew"));
        }
        let mut found: Self = serde_json::from_str(&text).map_err(|error| refused(format!("the findings are damaged: {error}")))?;
        found.consistency = consistency(&found.findings);
        Ok(found)
    }
}

/// A name as parts of file names have it.
pub fn slug(name: &str) -> String {
    let mut slug = String::new();
    for c in name.chars() {
        match c {
            c if c.is_ascii_alphanumeric() => slug.push(c.to_ascii_lowercase()),
            _ if !slug.is_empty() && !slug.ends_with('-') => slug.push('-'),
            _ => {}
        }
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { NAMELESS.into() } else { slug.into() }
}

/// JSON has no number that is not finite: a fact of such a number is unknown, an end of an interval is not stated, a point is left
/// out, and a curve without points.
fn finite(findings: &mut Findings) {
    for finding in findings.facts.values_mut() {
        match finding {
            Finding::Number(fact) => known_only(fact, |number| number.is_finite()),
            Finding::Numbers(fact) => known_only(fact, |numbers| numbers.iter().all(|number| number.is_finite())),
            Finding::Geometries(fact) => known_only(fact, |shapes| shapes.iter().all(|shape| shape.error.is_finite())),
            Finding::Texture(fact) => known_only(fact, |fit| fit.texels.iter().all(|own| own.is_finite())),
            Finding::Paper000(fact) => known_only(fact, |paper| paper.is_finite()),
            Finding::Word(_) => {}
        }
    }
    for curve in &mut findings.curves {
        curve.points.retain(|point| point.iter().all(|number| number.is_finite()));
        curve.model.retain(|point| point.iter().all(|number| number.is_finite()));
        // One of each change.
        curve.confidence.resize(curve.changes.len(), 0.0);
        let changes: Vec<(f64, f64)> = curve.changes.iter().copied().zip(curve.confidence.iter().copied()).collect();
        let sure = |own: f64| if own.is_finite() { own.clamp(0.0, 1.0) } else { 0.0 };
        (curve.changes, curve.confidence) = changes.into_iter().filter(|own| own.0.is_finite()).map(|(at, own)| (at, sure(own))).unzip();
    }
    findings.curves.retain(|curve| !curve.points.is_empty());
}

fn known_only<T>(fact: &mut Fact<T>, is_finite: impl Fn(&T) -> bool) {
    match fact {
        Fact::Known { value, .. } if !is_finite(value) => *fact = Fact::unknown("what the analysis gave is no finite number"),
        Fact::Known { lo, hi, .. } => [lo, hi].into_iter().for_each(|end| *end = end.take().filter(|end| is_finite(end))),
        Fact::Absent { .. } | Fact::Unknown { .. } => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpsight_ir::profile::Source;

    #[test]
    fn what_is_written_is_read_again() {
        let mut findings = Findings::default();
        findings.number("a", Fact::between(1.0, 2.0, f64::INFINITY, Source::Measured, "a test"));
        findings.number("b", Fact::known(f64::NAN, Source::Measured, "a test"));
        findings.number("c", Fact::absent("nothing rises"));
        let curve = warpsight_probe::Curve { points: vec![[1.0, 2.0, 1.0, 3.0], [2.0, f64::NAN, 1.0, 3.0]], ..Default::default() };
        findings.curves.push(curve);
        let found = Found::new(Probed::default(), findings);
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("findings.json");
        warpsight_files::write(&path, found.text().as_bytes()).expect("writes");
        assert_eq!(Found::read(&path).expect("findings"), found);
        assert_eq!(found.findings.get("a"), Some(2.0));
        assert!(matches!(&found.findings.facts["a"], Finding::Number(Fact::Known { lo: Some(_), hi: None, .. })));
        assert!(matches!(&found.findings.facts["b"], Finding::Number(Fact::Unknown { .. })));
        assert_eq!(found.findings.curves[0].points.len(), 1);
    }

    #[test]
    fn names_become_parts_of_file_names() {
        assert_eq!(slug("Adreno(TM) 640"), "adreno-tm-640");
        assert_eq!(slug("../../é"), NAMELESS);
    }
}
