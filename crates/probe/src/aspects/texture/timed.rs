//! What records say of a fetch.

use super::super::Seen;
use super::super::ask::Spread;
use super::chase::Texel;
use super::spec::{Kind, Spec};
use crate::{Parameter, Record};
use std::collections::BTreeMap;

/// What a record says of a fetch.
#[derive(Clone, Debug)]
pub(super) struct Timed {
    pub(super) spec: Spec,
    /// Where work-items went, fetch by fetch.
    pub(super) texels: Vec<Texel>,
    /// Mean seconds of a fetch.
    pub(super) seconds: f64,
    /// How much longer the median of passes would make it, as a part.
    pub(super) spread: f64,
}

impl Timed {
    /// Seconds of a fetch, up to what the median of passes says.
    pub(super) fn seconds(&self) -> Spread {
        Spread { lo: self.seconds, value: self.seconds, hi: self.seconds * (1.0 + self.spread.max(0.0)) }
    }
}

/// All records, beyond what a launch without a step takes.
pub(super) fn timed(seen: &Seen) -> Vec<Timed> {
    let all: Vec<(&Record, Spec, Vec<Texel>)> =
        seen.of(super::NAME).filter_map(|record| Spec::of(record).map(|(spec, texels)| (record, spec, texels))).collect();
    let ordered = |times: &[f64]| {
        let mut times: Vec<f64> = times.iter().copied().filter(|time| time.is_finite() && *time > 0.0).collect();
        times.sort_by(f64::total_cmp);
        Some((*times.first()?, times[times.len() / 2]))
    };
    // Records of before began with a few steps at random places, which walks of neighbours do not make.
    let starts: BTreeMap<(u32, u32), (f64, f64)> = all
        .iter()
        .filter(|own| own.1.kind == Kind::Start)
        .filter_map(|(record, spec, _)| Some(((spec.format.bytes(), spec.lanes), (ordered(&record.times_s)?.0, record.amounts.steps))))
        .collect();
    let of = |(record, spec, texels): (&Record, Spec, Vec<Texel>)| {
        let Some(Parameter::Int(before)) = record.params.get("steps_before") else { return None };
        let (least, median) = ordered(&record.times_s)?;
        let (first, own) = match before {
            0 => *starts.get(&(spec.format.bytes(), spec.lanes))?,
            _ => (ordered(record.earlier_times_s.first()?)?.0, *before as f64),
        };
        let steps = record.amounts.steps - own;
        let seconds = (least - first) / steps;
        let spread = (median - least) / (least - first);
        (seconds > 0.0 && seconds.is_finite()).then_some(Timed { spec, texels, seconds, spread })
    };
    all.into_iter().filter(|own| own.1.kind != Kind::Start).filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::super::paths::Pattern;
    use super::super::spec::{Effort, FORMATS};
    use super::*;
    use crate::{Findings, Outcome, Scale};

    /// Neighbours fetch faster than places by chance: what is taken from what their walk took is no fetch.
    #[test]
    fn what_is_no_fetch_is_what_a_launch_without_one_takes() {
        let info = warpsight_run::open("sim:adreno640", &warpsight_run::Options::default()).expect("a device").info().clone();
        let launch = 7e-6;
        let fetch = |kind: &Kind| if matches!(kind, Kind::Strides(_)) { 300e-9 } else { 50e-9 };
        let record = |kind: Kind, before: bool| {
            let spec = Spec { format: FORMATS[0], lanes: 16, kind };
            let measurement = spec.measurement(Effort { scale: Scale::Quick, swept: 128, seed: 3 });
            let mut amounts = measurement.amounts;
            // Records of before began with eight steps at places by chance.
            let first = if kind == Kind::Start && before { 8.0 } else { 0.0 };
            amounts.steps += first;
            let took = launch + 300e-9 * first + fetch(&kind) * (amounts.steps - first);
            let blank = Record::skipped(super::super::NAME, &measurement.name, "");
            Record { params: measurement.params, amounts, times_s: vec![took; 3], outcome: Outcome::Verified, ..blank }
        };
        let kinds = [Kind::Start, Kind::Strides(0), Kind::Pattern(Pattern::Column), Kind::Tile(4)];
        let found = |before: bool| {
            let records = kinds.map(|kind| record(kind, before));
            let timed = timed(&Seen { device: &info, records: &records, found: &Findings::default() });
            timed.iter().map(|own| own.seconds / fetch(&own.spec.kind)).collect::<Vec<f64>>()
        };
        let (new, old) = (found(false), found(true));
        assert!(new.len() == 3 && new.iter().all(|part| (part - 1.0).abs() < 1e-9), "{new:?}");
        assert!(old.len() == 3 && (old[0] - 1.0).abs() < 1e-9, "{old:?}");
    }
}
