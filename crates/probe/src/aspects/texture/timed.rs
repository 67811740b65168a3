//! What records say of a fetch.

use super::super::Seen;
use super::super::ask::Spread;
use super::chase::{Texel, UNROLLED};
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

/// All records, beyond what a launch of a few steps takes.
pub(super) fn timed(seen: &Seen) -> Vec<Timed> {
    let all: Vec<(&Record, Spec, Vec<Texel>)> =
        seen.of(super::NAME).filter_map(|record| Spec::of(record).map(|(spec, texels)| (record, spec, texels))).collect();
    let ordered = |times: &[f64]| {
        let mut times: Vec<f64> = times.iter().copied().filter(|time| time.is_finite() && *time > 0.0).collect();
        times.sort_by(f64::total_cmp);
        Some((*times.first()?, times[times.len() / 2]))
    };
    let starts: BTreeMap<(u32, u32), f64> = all
        .iter()
        .filter(|own| own.1.kind == Kind::Start)
        .filter_map(|(record, spec, _)| Some(((spec.format.bytes(), spec.lanes), ordered(&record.times_s)?.0)))
        .collect();
    let of = |(record, spec, texels): (&Record, Spec, Vec<Texel>)| {
        let Some(Parameter::Int(before)) = record.params.get("steps_before") else { return None };
        let (least, median) = ordered(&record.times_s)?;
        let first = match before {
            0 => *starts.get(&(spec.format.bytes(), spec.lanes))?,
            _ => ordered(record.earlier_times_s.first()?)?.0,
        };
        let steps = record.amounts.steps - (*before as f64).max(UNROLLED.into());
        let seconds = (least - first) / steps;
        let spread = (median - least) / (least - first);
        (seconds > 0.0 && seconds.is_finite()).then_some(Timed { spec, texels, seconds, spread })
    };
    all.into_iter().filter(|own| own.1.kind != Kind::Start).filter_map(of).collect()
}
