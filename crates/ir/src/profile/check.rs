//! What a fact and its numbers must obey.

use super::facts::{Number, Said};
use super::{Claim, Fact, Profile, Source};
use serde::Deserialize;
use std::ops::RangeInclusive;

/// A number that is refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("`{field}` is {value}, which is {why}")]
pub(super) struct Refused {
    /// Its path.
    pub field: String,
    /// The number, or an end of its interval.
    pub value: f64,
    /// Why.
    pub why: &'static str,
}

/// A fact as it is written: every key optional, so that a message can say which is missing.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, bound(deserialize = "T: Deserialize<'de>"))]
pub(super) struct RawFact<T> {
    value: Option<T>,
    source: Option<Source>,
    cite: Option<String>,
    lo: Option<T>,
    hi: Option<T>,
    #[serde(default = "Vec::new")]
    alternatives: Vec<Claim<T>>,
    absent: Option<String>,
    unknown: Option<String>,
}

impl<T> TryFrom<RawFact<T>> for Fact<T> {
    type Error = &'static str;
    fn try_from(raw: RawFact<T>) -> Result<Self, Self::Error> {
        let said = |text: &str| !text.trim().is_empty();
        match raw {
            RawFact { value: Some(value), source: Some(source), cite: Some(cite), lo, hi, alternatives, absent: None, unknown: None } => {
                if !said(&cite) || !alternatives.iter().all(|a| said(&a.cite)) {
                    return Err("`cite` is empty: say which document, recording or reason the value comes from");
                }
                Ok(Self::Known { value, source, cite, lo, hi, alternatives })
            }
            RawFact { value: Some(_), absent: None, unknown: None, .. } => Err("a `value` needs `source` and `cite`"),
            RawFact { value: None, source: None, cite: None, lo: None, hi: None, alternatives, absent, unknown } => {
                match (absent, unknown) {
                    _ if !alternatives.is_empty() => Err("`alternatives` belong to a `value`"),
                    (Some(absent), None) if said(&absent) => Ok(Self::Absent { absent }),
                    (None, Some(unknown)) if said(&unknown) => Ok(Self::Unknown { unknown }),
                    (None, None) => Err("a fact is one of `value` with `source` and `cite`, `absent`, `unknown`"),
                    (Some(_), Some(_)) => Err("a fact is either `absent` or `unknown`"),
                    _ => Err("`absent` needs its evidence, `unknown` its reason"),
                }
            }
            _ => Err("a fact is one of `value` with `source` and `cite`, `absent`, `unknown`"),
        }
    }
}

/// What numbers are held against.
#[derive(Clone, Copy)]
pub(super) enum Against {
    /// What no device can have: whoever asks what would be if may go that far.
    Impossible,
    /// What no device has by thousands: in a file, a unit is missing or another's.
    Unheard,
}

impl Profile {
    /// Whether each number is finite, positive (shares and [`OR_ZERO`] may be 0), of a size that its kind of number has, and within its own interval.
    pub(super) fn check_numbers(&self, against: Against) -> Result<(), Refused> {
        let facts = self.facts();
        facts.into_iter().filter_map(|(field, number)| Some((field, number, number.said()?))).try_for_each(|(field, number, said)| {
            let or_zero = matches!(number, Number::Share(_)) || OR_ZERO.contains(&field.as_str());
            let refused = wrong(&said, or_zero, &number.sizes(against));
            refused.map_or(Ok(()), |(value, why)| Err(Refused { field, value, why }))
        })
    }
}

/// What may be nothing.
const OR_ZERO: [&str; 5] =
    ["execution.local_reserved", "execution.launch_overhead", "execution.launch_gap", "execution.wake", "memory.tlb.lookup"];

fn wrong(said: &Said, or_zero: bool, sizes: &RangeInclusive<f64>) -> Option<(f64, &'static str)> {
    let Said { value, lo, hi, others } = said;
    for v in [*value].into_iter().chain(*lo).chain(*hi).chain(others.iter().copied()) {
        let why = match v {
            v if !v.is_finite() => "not a number",
            v if v > *sizes.end() => "more than any device has",
            0.0 if or_zero => continue,
            v if v <= 0.0 => "not positive",
            v if v < *sizes.start() => "less than any device has",
            _ => continue,
        };
        return Some((v, why));
    }
    (lo.is_some_and(|lo| lo > *value) || hi.is_some_and(|hi| hi < *value)).then_some((*value, "outside its interval"))
}

/// No device has this much of anything, bytes per second included, nor this little; times stay finite between them.
const POSSIBLE: RangeInclusive<f64> = 1e-12..=1e18;

impl Number<'_> {
    fn sizes(self, against: Against) -> RangeInclusive<f64> {
        match (against, self) {
            (_, Self::Share(_)) => *POSSIBLE.start()..=1.0,
            (Against::Impossible, _) | (_, Self::Other) => POSSIBLE,
            (_, Self::Count(_)) => 1.0..=1e9,
            (_, Self::Rate(_)) => 1e-6..=1e6,
            (_, Self::Bytes(_)) => 1.0..=1e15,
            (_, Self::Hertz(_)) => 1e6..=1e11,
            (_, Self::Seconds(_)) => 1e-9..=1.0,
            (_, Self::Cycles(_)) => 0.1..=1e6,
            (_, Self::BytesPerSecond(_)) => 1e6..=1e17,
        }
    }
}
