//! The fitted curves of second-level caches, from `data/fits/dram.toml`, which says what they were fitted to and how well they predict.

use crate::volumes::behind::dram::Curve;
use std::sync::LazyLock;

pub(crate) const TEXT: &str = include_str!("../../../fits/dram.toml");

/// A curve and how far to trust it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fitted {
    /// The curve.
    pub curve: Curve,
    /// Standard deviation of the logarithm of loads beyond this model.
    pub error: f64,
    /// Whether this architecture has no recordings of stencils, so that the curve is that of others.
    pub pooled: bool,
    /// Whether capacity and steepness come from sweeps of caches of this kind instead.
    pub swept: bool,
}

/// Of every section, read once.
static SECTIONS: LazyLock<Vec<(&str, Fitted)>> = LazyLock::new(|| {
    let names = TEXT.lines().filter_map(|line| line.strip_prefix('[')?.strip_suffix(']'));
    names.filter_map(|name| Some((name, section(name)?))).collect()
});

impl Curve {
    /// Of an architecture, such as `cdna2`; the pooled curve where there are no recordings of it.
    pub fn fitted(architecture: &str) -> Fitted {
        let named = |name: &str| SECTIONS.iter().find(|section| section.0 == name).map(|section| section.1);
        // The file always has a pooled section: a test reads it.
        named(architecture).or_else(|| named("pooled")).unwrap_or(Fitted {
            curve: Self { capacity: 1.0, steepness: 5.0, spread: 0.5, in_step: None, within: None },
            error: 0.25,
            pooled: true,
            swept: false,
        })
    }
}

fn section(name: &str) -> Option<Fitted> {
    let mut lines = TEXT.lines().skip_while(|line| line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) != Some(name)).skip(1);
    let mut number = |key: &str| lines.next()?.strip_prefix(key)?.strip_prefix(" = ")?.parse().ok();
    let curve =
        Curve { capacity: number("capacity")?, steepness: number("steepness")?, spread: number("spread")?, in_step: None, within: None };
    Some(Fitted { curve, error: number("error")?, pooled: name == "pooled", swept: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_has_a_pooled_curve() {
        let (own, pooled) = (section("cdna2"), section("pooled"));
        assert!(own.is_some() && pooled.is_some(), "{own:?} {pooled:?}");
        assert_eq!(Curve::fitted("none of these"), pooled.unwrap_or_else(|| panic!("checked")));
        assert_eq!(section("row"), None);
    }

    #[test]
    fn a_steep_curve_is_a_strict_cache() {
        let curve = Curve { capacity: 1.0, steepness: 1e4, spread: 0.0, in_step: None, within: None };
        assert_eq!([0.5, 0.99, 1.01, 8.0].map(|share| curve.survives(share * 1e7, 1e7)).map(f64::round), [1.0, 1.0, 0.0, 0.0]);
    }
}
