//! What two sets of facts do not agree in: two devices, drivers or dates.

use crate::{Finding, Geometry};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use warpsight_ir::profile::Fact;
use warpsight_ir::texture::TexelFit;

/// Numbers as near as this, relative, are the same number: files write them with all their digits, units are converted.
const SAME: f64 = 1e-9;

/// A key in which two sets of facts differ.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The key, as `texture.l1.capacity_bytes`.
    pub key: String,
    /// How.
    pub how: How,
    /// What the first says; `None` where it does not have the key.
    pub a: Option<Finding>,
    /// What the second says.
    pub b: Option<Finding>,
}

/// How two facts differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// Both know it, and no value is in both intervals; or one knows a value where the other has evidence that there is none.
    Apart,
    /// Only the first knows it: the second has not the key, or says that it is unknown.
    OnlyA,
    /// Only the second knows it.
    OnlyB,
}

/// The keys in which two sets of facts differ, in order. Intervals that have a value in common agree, and so do two that do not know.
pub fn diff(a: &BTreeMap<String, Finding>, b: &BTreeMap<String, Finding>) -> Vec<Difference> {
    let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let one = |key: &String| {
        let (a, b) = (a.get(key), b.get(key));
        let how = match (a.filter(|fact| says(fact)), b.filter(|fact| says(fact))) {
            (None, None) => return None,
            (Some(_), None) => How::OnlyA,
            (None, Some(_)) => How::OnlyB,
            (Some(a), Some(b)) if agree(a, b) => return None,
            (Some(_), Some(_)) => How::Apart,
        };
        Some(Difference { key: key.clone(), how, a: a.cloned(), b: b.cloned() })
    };
    keys.into_iter().filter_map(one).collect()
}

/// Whether a fact says anything: that something is absent, too.
fn says(finding: &Finding) -> bool {
    let known = |unknown: bool| !unknown;
    known(match finding {
        Finding::Number(fact) => matches!(fact, Fact::Unknown { .. }),
        Finding::Numbers(fact) => matches!(fact, Fact::Unknown { .. }),
        Finding::Word(fact) => matches!(fact, Fact::Unknown { .. }),
        Finding::Geometries(fact) => matches!(fact, Fact::Unknown { .. }),
        Finding::Texture(fact) => matches!(fact, Fact::Unknown { .. }),
        Finding::Paper000(fact) => matches!(fact, Fact::Unknown { .. }),
    })
}

/// Whether two facts may both be right.
fn agree(a: &Finding, b: &Finding) -> bool {
    match (a, b) {
        (Finding::Number(a), Finding::Number(b)) => both(a, b, |x, y| meet(x, y, |own| *own)),
        (Finding::Numbers(a), Finding::Numbers(b)) => both(a, b, |x, y| {
            let at = |i: usize| move |own: &Vec<f64>| own.get(i).copied().unwrap_or(f64::NAN);
            x.value.len() == y.value.len() && (0..x.value.len()).all(|i| meet(x, y, at(i)))
        }),
        (Finding::Word(a), Finding::Word(b)) => both(a, b, |x, y| x.value == y.value),
        // Each is a list of what may be: one that is in both lists may be the truth.
        (Finding::Geometries(a), Finding::Geometries(b)) => {
            both(a, b, |x, y| x.value.iter().any(|own| y.value.iter().any(|other| same(own, other))))
        }
        // What is predicted of a device by either is off by as much as its error at least.
        (Finding::Texture(a), Finding::Texture(b)) => both(a, b, |x, y| {
            let of = |fit: &TexelFit| y.value.texels.iter().find(|other| other.texel_bytes == fit.texel_bytes).cloned();
            x.value.texels.iter().filter_map(|fit| Some((fit, of(fit)?))).all(|(own, other)| {
                let apart = (own.miss().0 / other.miss().0).ln().abs();
                apart <= own.error + other.error + SAME
            })
        }),
        (Finding::Paper000(a), Finding::Paper000(b)) => both(a, b, |x, y| {
            let apart = (x.value.divergence / y.value.divergence).ln().abs();
            apart <= x.value.error + y.value.error + SAME
        }),
        // Facts of two kinds: only that something is not there can be said in several.
        _ => absent(a) && absent(b),
    }
}

/// A known value and its interval.
struct Between<'f, T> {
    value: &'f T,
    lo: &'f T,
    hi: &'f T,
}

/// Whether both are absent, or both are known and agree.
fn both<T>(a: &Fact<T>, b: &Fact<T>, agree: impl Fn(&Between<T>, &Between<T>) -> bool) -> bool {
    match (between(a), between(b)) {
        (Some(a), Some(b)) => agree(&a, &b),
        (None, None) => true,
        _ => false,
    }
}

fn between<T>(fact: &Fact<T>) -> Option<Between<'_, T>> {
    match fact {
        Fact::Known { value, lo, hi, .. } => Some(Between { value, lo: lo.as_ref().unwrap_or(value), hi: hi.as_ref().unwrap_or(value) }),
        _ => None,
    }
}

/// Whether two intervals have a number in common.
fn meet<T>(a: &Between<T>, b: &Between<T>, number: impl Fn(&T) -> f64) -> bool {
    let near = SAME * number(a.value).abs().max(number(b.value).abs());
    number(a.lo) <= number(b.hi) + near && number(b.lo) <= number(a.hi) + near
}

fn same(a: &Geometry, b: &Geometry) -> bool {
    (a.sets, a.ways, &a.hash, &a.layout) == (b.sets, b.ways, &b.hash, &b.layout)
}

fn absent(finding: &Finding) -> bool {
    match finding {
        Finding::Number(fact) => matches!(fact, Fact::Absent { .. }),
        Finding::Numbers(fact) => matches!(fact, Fact::Absent { .. }),
        Finding::Word(fact) => matches!(fact, Fact::Absent { .. }),
        Finding::Geometries(fact) => matches!(fact, Fact::Absent { .. }),
        Finding::Texture(fact) => matches!(fact, Fact::Absent { .. }),
        Finding::Paper000(fact) => matches!(fact, Fact::Absent { .. }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpsight_ir::profile::Source;

    fn number(lo: f64, value: f64, hi: f64) -> Finding {
        Finding::Number(Fact::between(lo, value, hi, Source::Measured, "a test"))
    }
    fn exact(value: f64) -> Finding {
        Finding::Number(Fact::known(value, Source::Measured, "a test"))
    }
    fn how(a: Option<Finding>, b: Option<Finding>) -> Option<How> {
        let facts = |finding: Option<Finding>| finding.map(|finding| ("key".to_owned(), finding)).into_iter().collect();
        diff(&facts(a), &facts(b)).first().map(|difference| difference.how)
    }

    #[test]
    fn intervals_that_meet_agree() {
        assert_eq!(how(Some(number(1.0, 2.0, 3.0)), Some(number(3.0, 4.0, 5.0))), None);
        assert_eq!(how(Some(number(1.0, 2.0, 3.0)), Some(number(3.1, 4.0, 5.0))), Some(How::Apart));
        assert_eq!(how(Some(number(1.0, 2.0, 3.0)), Some(exact(2.9))), None, "a value lies in an interval");
        assert_eq!(how(Some(exact(2.0)), Some(exact(2.0 + 1e-12))), None);
        assert_eq!(how(Some(exact(2.0)), Some(exact(2.001))), Some(How::Apart));
        assert_eq!(how(Some(exact(f64::NAN)), Some(exact(2.0))), Some(How::Apart), "what is no number agrees with none");
    }

    #[test]
    fn what_one_alone_knows_is_a_difference() {
        let unknown = || Some(Finding::Number(Fact::unknown("not tried")));
        let absent = || Some(Finding::Number(Fact::absent("nothing rises")));
        assert_eq!(how(Some(exact(1.0)), None), Some(How::OnlyA));
        assert_eq!(how(unknown(), Some(exact(1.0))), Some(How::OnlyB));
        assert_eq!(how(unknown(), None), None);
        assert_eq!(how(unknown(), unknown()), None);
        assert_eq!(how(absent(), Some(exact(1.0))), Some(How::Apart));
        assert_eq!(how(absent(), unknown()), Some(How::OnlyA));
        assert_eq!(how(absent(), Some(Finding::Word(Fact::absent("nothing")))), None);
    }

    #[test]
    fn lists_words_and_geometries_are_compared_as_what_they_are() {
        let list = |value: &[f64]| Some(Finding::Numbers(Fact::known(value.to_vec(), Source::Measured, "a test")));
        assert_eq!(how(list(&[32.0, 64.0]), list(&[32.0, 64.0])), None);
        assert_eq!(how(list(&[32.0, 64.0]), list(&[32.0])), Some(How::Apart));
        let word = |value: &str| Some(Finding::Word(Fact::known(value.to_owned(), Source::Measured, "a test")));
        assert_eq!(how(word("pooled"), word("dedicated")), Some(How::Apart));
        assert_eq!(how(word("pooled"), list(&[1.0])), Some(How::Apart));
        let shapes = |all: &[(u32, u32, f64)]| {
            let shapes = all.iter().map(|&(sets, ways, error)| Geometry { sets, ways, hash: None, layout: None, error });
            Some(Finding::Geometries(Fact::known(shapes.collect(), Source::Measured, "a test")))
        };
        assert_eq!(how(shapes(&[(2, 16, 0.1), (4, 8, 0.2)]), shapes(&[(4, 8, 0.3)])), None, "one explains both");
        assert_eq!(how(shapes(&[(2, 16, 0.1)]), shapes(&[(4, 8, 0.3)])), Some(How::Apart));
    }
}
