//! Conditions of the text form: comparisons of linear forms, and ranges of one.

use super::AffineBound;
use super::reader::Reader;
use super::symbol::Linear;
use super::wrong::{Result, wrong};
use smallvec::SmallVec;
use std::ops::Range;
use toml::Spanned;

/// Conditions of one list: what they say together is found by comparing them with each other.
const GUARDS: usize = 64;

/// Addresses and coordinates stay below this, so that sums of them stay within 64 bits.
pub(super) const FARTHEST: u64 = 1 << 60;

/// A form that is 0 or more and below `extent` where the condition holds.
pub(super) struct Condition {
    pub(super) form: Linear,
    pub(super) extent: i64,
    /// See [`super::AffineBound`].
    pub(super) per_lane: bool,
    /// Where it stands in the file.
    pub(super) at: Range<usize>,
}

impl Reader<'_> {
    /// The conditions of one list.
    pub(super) fn conditions(&self, guards: &[Spanned<String>]) -> Result<Vec<Condition>> {
        if let Some(beyond) = guards.get(GUARDS) {
            return wrong(beyond.span(), format!("there are {} conditions in one place, at most {GUARDS} are read", guards.len()), None);
        }
        guards.iter().map(|text| self.condition(text)).collect()
    }

    /// `left < right` and the like, or `least <= form < extent`, which `per element` may follow.
    fn condition(&self, text: &Spanned<String>) -> Result<Condition> {
        let (own, span) = (text.get_ref(), text.span());
        let (stated, per_lane) = own.trim_end().strip_suffix("per element").map_or((own.as_str(), false), |stated| (stated, true));
        let linear = |at: Range<usize>| self.linear(&stated[at.clone()], at.start, &span, own);
        let far = || wrong(span.clone(), "this exceeds 64 bits", None);
        let bound = |form, extent| Ok(Condition { form, extent, per_lane, at: span.clone() });
        match signs(stated).as_slice() {
            [sign] if !per_lane => {
                let (left, right) = (linear(0..sign.at.start)?, linear(sign.at.end..stated.len())?);
                let (small, large) = if sign.less { (left, right) } else { (right, left) };
                slack(&small, sign, &large).map_or_else(far, |form| bound(form, AffineBound::UNBOUNDED))
            }
            [first, second] if first.less && second.less => {
                let (least, form) = (linear(0..first.at.start)?, linear(first.at.end..second.at.start)?);
                let most = linear(second.at.end..stated.len())?;
                if !least.is_constant() || !most.is_constant() {
                    let help = "two conditions, as in guard = [\"lx <= tx\", \"tx < lx + n\"]";
                    return wrong(span, "the ends of a range must not depend on coordinates", Some(help));
                }
                let Some(value) = slack(&least, first, &form) else { return far() };
                // From the first number that is in the range to the last.
                let extent = slack(&least, second, &most).and_then(|last| last.constant.checked_add(1 - i64::from(first.strict)));
                match extent.filter(|extent| extent.unsigned_abs() <= FARTHEST) {
                    Some(extent @ 1..) => bound(value, extent),
                    Some(_) => wrong(span, "no number lies in this range", None),
                    None => far(),
                }
            }
            _ => {
                let help = match per_lane {
                    true => "of each element of a vector a range is asked, as in guard = [\"0 <= 4*tx < n per element\"]",
                    false => "as in guard = [\"tx >= 1\", \"tx < n - 1\"]",
                };
                wrong(span, format!("`{own}` is no comparison"), Some(help))
            }
        }
    }
}

/// A form that is 0 or more where one form is below another; `None` beyond 64 bits.
fn slack(small: &Linear, sign: &Sign, large: &Linear) -> Option<Linear> {
    large.plus(small, -1)?.offset(-i64::from(sign.strict))
}

/// A comparison sign and where it stands.
struct Sign {
    at: Range<usize>,
    less: bool,
    strict: bool,
}

fn signs(text: &str) -> SmallVec<[Sign; 2]> {
    let sign = |(start, sign): (usize, &str)| {
        let strict = !text[start + 1..].starts_with('=');
        Sign { at: start..start + 2 - usize::from(strict), less: sign == "<", strict }
    };
    text.match_indices(['<', '>']).map(sign).collect()
}
