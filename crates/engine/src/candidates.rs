//! Which of an operator's sequences of expressions is taken: the one whose kernels the model expects to take the least time together.

use crate::EngineError;
use crate::places::{self, Table};
use crate::tune::{self, Judge};
use crate::verify::{check_operator, tolerance};
use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;
use warpsight_generate::parallel::each;
use warpsight_generate::{Candidate, ExprKey, Operator, Place, ScheduleFamily, TensorExpr, candidates};
use warpsight_graph::Plan;
use warpsight_ir::{Config, Seconds};
use warpsight_run::DeviceLimits;

/// What a sequence has to take of the time of the operator as it is to be taken instead: more than samples and counts are off by.
const GAIN: f64 = 0.95;

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

/// What each expression takes that was searched, by key: operators that differ in what follows them share most of their expressions.
type Searched = Mutex<HashMap<ExprKey, Option<Seconds>>>;

/// The sequence to take for an operator.
///
/// # Errors
/// What the profile lacks.
pub fn choose(operator: &Operator, judge: &Judge, offer: &Offer) -> Result<Chosen, EngineError> {
    choose_with(operator, judge, offer, &Searched::default())
}

fn choose_with(operator: &Operator, judge: &Judge, offer: &Offer, searched: &Searched) -> Result<Chosen, EngineError> {
    let all = offered(operator, offer);
    if all.len() < 2 {
        return Ok(all.into_iter().next().map_or_else(|| Chosen::as_it_is(operator), |taken| Chosen { taken, considered: vec![] }));
    }
    let mut considered: Vec<Considered> = vec![];
    for Candidate { name, operator, error } in &all {
        let most = considered.iter().map(counts).fold(f64::INFINITY, f64::min);
        let (time, whole) = seconds(operator, judge, most, searched)?;
        considered.push(Considered { name, time, whole, temporary_bytes: operator.temporary_bytes(), error: *error });
    }
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by(|&a, &b| counts(&considered[a]).total_cmp(&counts(&considered[b])));
    let mut best = order[0];
    // Kernels by themselves have tensors wherever they like: what wins by that is searched as it will run, and what it wins against, the operator
    // as it is first. Others are where they may win still. Not where all lie in buffers, of which places take more alike: of ResNet-18's
    // convolutions on a CPU none is chosen otherwise by it.
    if is_several(&all[best].operator) && judge.allowance.image != Some((0, 0)) {
        order.sort_by_key(|&at| is_several(&all[at].operator));
        let quick: Vec<f64> = considered.iter().map(counts).collect();
        let mut least = f64::INFINITY;
        for at in order {
            if quick[at] < least {
                let time = settled_seconds(&all[at].operator, judge)?;
                considered[at] = Considered { time, whole: true, ..considered[at].clone() };
                if counts(&considered[at]) < least {
                    (least, best) = (counts(&considered[at]), at);
                }
            }
        }
    }
    Ok(Chosen { taken: all[best].clone(), considered })
}

/// What a sequence counts for. The operator as it is needs no more than a part of what another sequence saves.
fn counts(own: &Considered) -> f64 {
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

/// A sequence in place of an operator of a plan.
#[derive(Clone, Debug)]
pub struct Taken {
    /// Position of the operator.
    pub position: usize,
    /// The sequence.
    pub name: String,
    /// See [`Considered`].
    pub temporary_bytes: u64,
    /// See [`Considered`].
    pub error: f64,
}

/// Puts the sequences to take in place of a plan's operators: those that are not the operator as it is, by operator.
///
/// # Errors
/// What the profile lacks.
pub fn settle(plan: &mut Plan, judge: &Judge, offer: &Offer) -> Result<Vec<Taken>, EngineError> {
    let distinct = plan.distinct();
    let searched = Searched::default();
    let chosen = each(&distinct, |distinct| choose_with(&plan.operators[distinct.uses[0]].operator, judge, offer, &searched));
    let mut taken = vec![];
    for (distinct, chosen) in distinct.iter().zip(chosen) {
        let name = chosen?.taken.name;
        // Of an operator whose temporaries others need, no other sequence gives these.
        for &position in distinct.uses.iter().filter(|position| !plan.shares_temporaries(**position)).collect::<Vec<_>>() {
            // Each has names of its own: what one of them was found for holds of all.
            let own = candidates(&plan.operators[position].operator).into_iter().find(|own| own.name == name && own.name != "direct");
            taken.extend(own.map(|own| put(plan, position, own)));
        }
    }
    Ok(taken)
}

fn put(plan: &mut Plan, position: usize, own: Candidate) -> Taken {
    let taken = Taken { position, name: own.name.to_owned(), temporary_bytes: own.operator.temporary_bytes(), error: own.error };
    plan.replace(position, own.operator);
    taken
}

/// Puts sequences that were taken earlier in place of a plan's operators; `None`, and nothing is changed, where one of them is not offered.
pub fn restore(plan: &mut Plan, taken: &[(usize, String)]) -> Option<Vec<Taken>> {
    let own = |(position, name): &(usize, String)| {
        let offered = candidates(&plan.operators.get(*position)?.operator);
        Some((*position, offered.into_iter().find(|own| own.name == name)?))
    };
    let all = taken.iter().map(own).collect::<Option<Vec<_>>>()?;
    Some(all.into_iter().map(|(position, own)| put(plan, position, own)).collect())
}

/// What the kernels of a sequence take together with the gaps between them, each in the best schedule that is found, and whether that is all
/// of it: nobody goes on beyond `most`. `None` where a device can run none of one.
fn seconds(operator: &Operator, judge: &Judge, most: f64, searched: &Searched) -> Result<(Option<Seconds>, bool), EngineError> {
    // Those with the most work first: what takes too long is seen soon.
    let mut kernels: Vec<&TensorExpr> = operator.kernels().collect();
    kernels.sort_by_key(|step| std::cmp::Reverse(step.all_axes().map(|axis| axis.extent as usize).fold(1, usize::saturating_mul)));
    let mut left = kernels.len();
    let mut sum = judge.profile.gaps(left).0;
    for step in kernels {
        let Some(least) = searched_step(step, judge, searched)? else { return Ok((None, true)) };
        sum += least.0;
        left -= 1;
        if sum > most {
            break;
        }
    }
    Ok((Some(Seconds(sum)), left == 0))
}

/// What the kernels of a sequence take together with the gaps between them where what one hands to another lies where both have it, each in
/// the best schedule that a thorough search finds there; what comes from outside lies where they like, as [`crate::network::Network`] may decide
/// for both sides. `None` where no places agree that a device can run.
fn settled_seconds(operator: &Operator, judge: &Judge) -> Result<Option<Seconds>, EngineError> {
    let kernels: Vec<&TensorExpr> = operator.kernels().collect();
    let read = |name: &str| kernels.iter().any(|own| own.inputs.iter().any(|tensor| &*tensor.name == name));
    let handed: Vec<&str> = kernels.iter().map(|own| &*own.output.name).filter(|name| read(name)).collect();
    let (mut tables, mut found) = (vec![], vec![]);
    for step in &kernels {
        // Positions among the step's tensors, and numbers of what is handed on.
        let tensors = step.inputs.iter().chain([&step.output]).enumerate();
        let (at, numbers): (Vec<usize>, Vec<usize>) =
            tensors.filter_map(|(at, own)| Some((at, handed.iter().position(|name| *name == &*own.name)?))).unzip();
        let family = ScheduleFamily::by((*step).clone(), judge.passes);
        // What hands nothing on lies where it likes.
        let by_place = match numbers.is_empty() {
            true => BTreeMap::from([(vec![], Seconds::ZERO)]),
            false => tune::search_each(&family, judge, |config| places_of(&family, config, &at))?.1,
        };
        let table = Table::of(&numbers, by_place.into_iter().map(|(places, time)| (places, time.0)));
        if table.is_empty() {
            return Ok(None);
        }
        tables.push(table);
        found.push((family, at, numbers));
    }
    let Ok(places) = places::least(tables, handed.len(), []) else { return Ok(None) };
    let mut sum = judge.profile.gaps(kernels.len()).0;
    for (family, at, numbers) in &found {
        let wanted: Vec<Place> = numbers.iter().map(|&number| places[number]).collect();
        let best = tune::search_one(family, judge, |config| places_of(family, config, at).as_ref() == Some(&wanted))?;
        let Some(best) = best.first() else { return Ok(None) };
        sum += best.estimate.time.0;
    }
    Ok(Some(Seconds(sum)))
}

/// Where some of a configuration's tensors lie.
fn places_of(family: &ScheduleFamily, config: &Config, at: &[usize]) -> Option<Vec<Place>> {
    let places = family.places(config)?;
    at.iter().map(|&at| places.get(at).copied()).collect()
}

fn searched_step(step: &TensorExpr, judge: &Judge, searched: &Searched) -> Result<Option<Seconds>, EngineError> {
    let key = ExprKey::of(step);
    // Nobody panics while holding it.
    let known = || searched.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(time) = known().get(&key) {
        return Ok(*time);
    }
    let family = ScheduleFamily::by(step.clone(), judge.passes);
    let time = tune::search_each(&family, judge, |_| Some(()))?.1.get(&()).copied();
    known().insert(key, time);
    Ok(time)
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
        for other in ["dilation=2 pad=2", "stride=2 pad=1", "groups=2 pad=1"] {
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
