//! Which of an operator's sequences of expressions is taken: the one whose kernels the model expects to take the least time together.

pub mod timed;

use crate::EngineError;
use crate::elsewhere::GAIN;
use crate::found::Found;
use crate::sequence::{Kernels, Outer};
use crate::tune::Judge;
use crate::verify::{check_operator, tolerance};
use warpsight_generate::{Candidate, Operator, Place, TensorExpr, candidates};
use warpsight_ir::{Seconds, TimeSource};
use warpsight_run::DeviceLimits;

/// What may be taken.
#[derive(Clone, Copy)]
pub struct Offer<'a> {
    /// What a device holds: sequences whose temporaries find no room there are left out.
    pub limits: &'a DeviceLimits,
    /// The names of the sequences that may be taken, an operator as it is where it has none of them; all where nothing is said.
    pub names: Option<&'a [String]>,
}

/// A sequence that was looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct Considered {
    /// Its name.
    pub name: &'static str,
    /// What its kernels are expected to take together, with what lies between them; `None` where a device can run none of one.
    pub time: Option<Seconds>,
    /// Whether that is all of it: nobody went on once it took longer than another one.
    pub whole: bool,
    /// Bytes between its kernels, and of constants made for them.
    pub temporary_bytes: u64,
    /// What its results are expected to be off by for rounding of its own, relative (L2).
    pub error: f64,
    /// What its kernels took where sequences were timed ([`timed::choose`]).
    pub timed: Option<(Seconds, TimeSource)>,
}

/// The sequence that is taken, and what it was chosen from.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// The sequence.
    pub taken: Candidate,
    /// All that were looked at, the operator as it is first.
    pub considered: Vec<Considered>,
}

impl Chosen {
    /// An operator as it is, looked at or not.
    pub fn as_it_is(operator: &Operator) -> Self {
        Self { taken: Candidate { name: "direct", operator: operator.clone(), error: 0.0 }, considered: vec![] }
    }
}

/// The sequence to take for an operator by itself: what it reads and writes lies where its kernels like, as a network may decide for both sides.
///
/// # Errors
/// What the profile lacks.
pub fn choose(operator: &Operator, judge: &Judge, offer: &Offer) -> Result<Chosen, EngineError> {
    choose_within(operator, judge, offer, 1.0)
}

/// The same; what takes less than `slack` times as long as another is looked at wholly.
fn choose_within(operator: &Operator, judge: &Judge, offer: &Offer, slack: f64) -> Result<Chosen, EngineError> {
    let found = Found::default();
    let Looked { all, mut considered } = look(operator, judge, offer, slack, &found)?;
    let best = best(&all, &mut considered, judge, &found, (&[], &[]))?;
    Ok(Chosen { taken: all.into_iter().nth(best).unwrap_or_else(|| Chosen::as_it_is(operator).taken), considered })
}

/// The sequences of an operator.
pub(crate) struct Looked {
    /// Those that may be taken.
    pub all: Vec<Candidate>,
    /// What is known of each; of a single one nothing.
    pub considered: Vec<Considered>,
}

/// What the sequences of an operator take whose kernels have their tensors wherever they like; nobody goes on with one that takes `slack` times
/// as long as another.
///
/// # Errors
/// What the profile lacks.
pub(crate) fn look(operator: &Operator, judge: &Judge, offer: &Offer, slack: f64, found: &Found) -> Result<Looked, EngineError> {
    let all = offered(operator, offer);
    let mut considered: Vec<Considered> = vec![];
    for Candidate { name, operator, error } in all.iter().filter(|_| all.len() > 1) {
        let most = slack * considered.iter().map(counts).fold(f64::INFINITY, f64::min);
        let (time, whole) = seconds(operator, judge, most, found)?;
        considered.push(Considered { name, time, whole, temporary_bytes: operator.temporary_bytes(), error: *error, timed: None });
    }
    Ok(Looked { all, considered })
}

/// The position of the sequence that takes the least, with what others see of it as `outer` says, in these places.
///
/// Kernels by themselves have tensors wherever they like, and a quick search finds some better than others. So if several kernels win, they are
/// searched as they will run, and so is what they win against, the operator as it is first; others are where they may win still. Not where
/// all lie in buffers, of which places take more alike: by version 24 of the model none of ResNet-18's convolutions on a CPU was chosen otherwise
/// by it, which took 6 s.
///
/// # Errors
/// What the profile lacks.
pub(crate) fn best(
    all: &[Candidate],
    considered: &mut [Considered],
    judge: &Judge,
    found: &Found,
    (outer, places): (&[Outer], &[(usize, Place)]),
) -> Result<usize, EngineError> {
    let quick: Vec<f64> = considered.iter().map(counts).collect();
    let mut order: Vec<usize> = (0..quick.len()).collect();
    order.sort_by(|&a, &b| quick[a].total_cmp(&quick[b]));
    let Some(mut best) = order.first().copied() else { return Ok(0) };
    if !is_several(&all[best].operator) || judge.allowance.image == Some((0, 0)) {
        return Ok(best);
    }
    order.sort_by_key(|&own| is_several(&all[own].operator));
    let mut least = f64::INFINITY;
    for own in order {
        if quick[own] < least {
            let time = Kernels::of(&all[own].operator, outer).settled(places, judge, found)?;
            considered[own] = Considered { time, whole: true, ..considered[own].clone() };
            if counts(&considered[own]) < least {
                (least, best) = (counts(&considered[own]), own);
            }
        }
    }
    Ok(best)
}

/// What a sequence counts for. The operator as it is needs no more than a part of what another sequence saves.
pub(crate) fn counts(own: &Considered) -> f64 {
    let part = if own.name == "direct" { GAIN } else { 1.0 };
    own.time.filter(|_| own.whole).map_or(f64::INFINITY, |time| time.0 * part)
}

/// Whether it is more than one kernel.
fn is_several(operator: &Operator) -> bool {
    operator.kernels().nth(1).is_some()
}

/// The sequences that may be taken: that find room on a device, and whose results are as exact as those of any kernel have to be. The
/// first is the operator as it is, whether it finds room or not, where it may be taken.
pub fn offered(operator: &Operator, offer: &Offer) -> Vec<Candidate> {
    let named = |name: &str| offer.names.is_none_or(|names| names.iter().any(|own| own == name));
    let exact = |own: &Candidate| own.operator.steps.last().is_none_or(|step| own.error <= tolerance(step));
    let fits = |own: &Candidate| own.name == "direct" || exact(own) && check_operator(&own.operator, offer.limits).is_ok();
    let (mut all, others): (Vec<_>, Vec<_>) = candidates(operator).into_iter().filter(fits).partition(|own| named(own.name));
    if all.is_empty() {
        all.extend(others.into_iter().filter(|own| own.name == "direct"));
    }
    all
}

/// What the kernels of a sequence take together with the gaps between them, each in the best schedule that is found, and whether that is all
/// of it: nobody goes on beyond `most`. `None` where a device can run none of one.
fn seconds(operator: &Operator, judge: &Judge, most: f64, found: &Found) -> Result<(Option<Seconds>, bool), EngineError> {
    // Those with the most work first: what takes too long is seen soon.
    let mut kernels: Vec<(usize, &TensorExpr)> = operator.kernels().enumerate().collect();
    kernels.sort_by_key(|(_, step)| std::cmp::Reverse(step.all_axes().map(|axis| axis.extent as usize).fold(1, usize::saturating_mul)));
    let mut left = kernels.len();
    let last = left.saturating_sub(1);
    let mut sum = 0.0;
    for (at, step) in kernels {
        let Some(least) = found.least(step, judge)? else { return Ok((None, true)) };
        let behind = if at < last { judge.profile.gap_behind(least) } else { Seconds::ZERO };
        sum += least.0 + behind.0;
        left -= 1;
        if sum > most {
            break;
        }
    }
    Ok((Some(Seconds(sum)), left == 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpsight_generate::operators::parse_operator;

    fn names(text: &str, limits: &DeviceLimits, names: Option<&[String]>) -> Vec<&'static str> {
        let operator = parse_operator(text).expect("an operator");
        offered(&operator, &Offer { limits, names }).iter().map(|own| own.name).collect()
    }

    #[test]
    fn what_finds_no_room_is_left_out() {
        let conv = "conv2d n=1 c=64 h=7 w=7 k=64 r=3 s=3 stride=1 pad=1";
        assert_eq!(names(conv, &DeviceLimits::default(), None), ["direct", "padded", "winograd2", "winograd4"]);
        // Room for input, weights and output, not for the input with zeros around it, nor for tiles.
        let bytes = 4 * (64 * 7 * 7 + 64 * 64 * 3 * 3 + 64 * 7 * 7);
        assert_eq!(names(conv, &DeviceLimits { memory: Some(bytes), ..DeviceLimits::default() }, None), ["direct"]);
    }

    #[test]
    fn sequences_are_as_exact_as_kernels_have_to_be() {
        let limits = DeviceLimits::default();
        let halves = "conv2d n=1 c=64 h=7 w=7 k=64 r=3 s=3 stride=1 pad=1 dtype=f16s";
        assert_eq!(names(halves, &limits, None), ["direct", "padded", "winograd2"]);
        for other in ["dilation=2 pad=2", "stride=2 pad=1", "groups=64 pad=1"] {
            let all = names(&format!("conv2d n=1 c=64 h=9 w=9 k=64 r=3 s=3 {other}"), &limits, None);
            assert!(!all.iter().any(|name| name.starts_with("winograd")), "{other}: {all:?}");
        }
    }

    #[test]
    fn names_leave_others_out() {
        let limits = DeviceLimits::default();
        let conv = "conv2d n=1 c=64 h=7 w=7 k=64 r=3 s=3 stride=1 pad=1";
        let one = |name: &str| names(conv, &limits, Some(&[name.to_owned()]));
        assert_eq!(one("winograd2"), ["winograd2"]);
        // What it does not have leaves it as it is.
        assert_eq!(one("rows"), ["direct"]);
    }
}
