//! Reading a profile's text, and what its numbers must obey.

use super::{Cache, Claim, Fact, Profile, Source};
use serde::Deserialize;

/// What is wrong with a profile's text.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ProfileError {
    /// It is not TOML, or not a profile: line, column and what was expected.
    #[error("not a profile: {0}")]
    Text(String),
    /// A number that no device can have.
    #[error("profile `{profile}`: `{field}` is {value}, which is {why}")]
    Number {
        /// The profile's name.
        profile: String,
        /// The field.
        field: String,
        /// Its value, or an end of its interval.
        value: f64,
        /// Why it is refused.
        why: &'static str,
    },
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

impl Profile {
    /// Reads the text form.
    ///
    /// # Errors
    /// Text that is no profile, with line and column; a number that is not finite, not positive (a launch overhead and reserved local memory may be 0), or outside its
    /// own interval.
    pub fn parse(text: &str) -> Result<Self, ProfileError> {
        let profile: Self = toml::from_str(text).map_err(|e| ProfileError::Text(e.to_string()))?;
        profile.check_numbers()?;
        Ok(profile)
    }

    pub(super) fn check_numbers(&self) -> Result<(), ProfileError> {
        let (e, m, i) = (&self.execution, &self.memory, &self.image);
        for (field, fact) in [
            ("execution.cores", &e.cores),
            ("execution.warp", &e.warp),
            ("execution.max_warps", &e.max_warps),
            ("execution.max_groups", &e.max_groups),
            ("execution.registers", &e.registers),
            ("execution.max_registers", &e.max_registers),
            ("execution.register_granule", &e.register_granule),
            ("execution.warp_granule", &e.warp_granule),
            ("execution.max_group_size", &e.max_group_size),
            ("execution.max_barriers", &e.max_barriers),
            ("execution.lsu_lanes", &e.lsu_lanes),
            ("execution.vector_width", &e.vector_width),
            ("image.max_width", &i.max_width),
            ("image.max_height", &i.max_height),
        ] {
            self.check(field, fact, |&v| f64::from(v), Positive::Yes)?;
        }
        for (field, fact) in [
            ("execution.fma_per_clock", &e.fma_per_clock),
            ("execution.fma16_per_clock", &e.fma16_per_clock),
            ("execution.fma64_per_clock", &e.fma64_per_clock),
            ("execution.special_per_clock", &e.special_per_clock),
            ("execution.issue_per_clock", &e.issue_per_clock),
            ("execution.matrix.f16", &e.matrix.f16),
            ("execution.matrix.bf16", &e.matrix.bf16),
            ("execution.matrix.f32", &e.matrix.f32),
            ("execution.matrix.f64", &e.matrix.f64),
            ("execution.matrix.int8", &e.matrix.int8),
        ] {
            self.check(field, fact, |&v| v, Positive::Yes)?;
        }
        self.check("execution.clock", &e.clock, |v| v.0, Positive::Yes)?;
        for (field, fact) in [
            ("execution.local", &e.local),
            ("execution.local_granule", &e.local_granule),
            ("memory.sector", &m.sector),
            ("memory.dram_fetch", &m.dram_fetch),
            ("memory.l2_effective", &m.l2_effective),
            ("memory.tlb.page", &m.tlb.page),
            ("memory.tlb.reach", &m.tlb.reach),
        ] {
            self.check(field, fact, |v| v.0, Positive::Yes)?;
        }
        self.check("execution.local_reserved", &e.local_reserved, |v| v.0, Positive::OrZero)?;
        self.check("execution.launch_overhead", &e.launch_overhead, |v| v.0, Positive::OrZero)?;
        self.check("memory.local_bandwidth", &m.local_bandwidth, |v| v.0, Positive::Yes)?;
        self.check("memory.dram_bandwidth", &m.dram_bandwidth, |v| v.0, Positive::Yes)?;
        self.check("memory.tlb.miss_latency", &m.tlb.miss_latency, |v| v.0, Positive::Yes)?;
        self.check("memory.dram_latency", &m.dram_latency, |v| v.0, Positive::Yes)?;
        self.check_cache("texture_l1", &m.texture_l1)?;
        self.check_cache("buffer_l1", &m.buffer_l1)?;
        self.check_cache("l2", &m.l2)?;
        self.check_cache("llc", &m.llc)
    }

    fn check_cache(&self, name: &str, cache: &Cache) -> Result<(), ProfileError> {
        let field = |f: &str| format!("memory.{name}.{f}");
        self.check(&field("bytes"), &cache.bytes, |v| v.0, Positive::Yes)?;
        self.check(&field("line"), &cache.line, |v| v.0, Positive::Yes)?;
        self.check(&field("ways"), &cache.ways, |&v| v.into(), Positive::Yes)?;
        self.check(&field("instances"), &cache.instances, |&v| v.into(), Positive::Yes)?;
        self.check(&field("bandwidth"), &cache.bandwidth, |v| v.0, Positive::Yes)?;
        self.check(&field("latency"), &cache.latency, |v| v.0, Positive::Yes)
    }

    fn check<T>(&self, field: &str, fact: &Fact<T>, number: impl Fn(&T) -> f64, positive: Positive) -> Result<(), ProfileError> {
        let Fact::Known { value, lo, hi, alternatives, .. } = fact else { return Ok(()) };
        let refuse = |value, why| Err(ProfileError::Number { profile: self.name.clone(), field: field.to_owned(), value, why });
        for v in [value].into_iter().chain(lo).chain(hi).chain(alternatives.iter().map(|a| &a.value)).map(&number) {
            if !v.is_finite() {
                return refuse(v, "not a number");
            }
            if v.abs() > LARGEST {
                return refuse(v, "more than any device has");
            }
            if v > 0.0 && v < SMALLEST {
                return refuse(v, "less than any device has");
            }
            if v < 0.0 || (v == 0.0 && matches!(positive, Positive::Yes)) {
                return refuse(v, "not positive");
            }
        }
        let value = number(value);
        if lo.as_ref().is_some_and(|lo| number(lo) > value) || hi.as_ref().is_some_and(|hi| number(hi) < value) {
            return refuse(value, "outside its interval");
        }
        Ok(())
    }
}

/// No device has this much of anything, bytes per second included; times stay finite below it.
const LARGEST: f64 = 1e18;
/// Nor this little of anything that it has; a launch overhead, in seconds, is the smallest number.
const SMALLEST: f64 = 1e-12;

enum Positive {
    Yes,
    OrZero,
}
