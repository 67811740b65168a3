//! One expression on one device: open the family, drop what cannot run, rank, generate the best, verify it, time it.

use crate::EngineError;
use crate::elsewhere::Elsewhere;
use crate::verify::{Trial, Verdict, Wrong, check_limits};
use fastrand::Rng;
use std::collections::{BTreeMap, HashSet};
use std::rc::Rc;
use warpsight_generate::prune::{Allowance, prune};
use warpsight_generate::{Layout, Passes, Place, ScheduleFamily, Work};
use warpsight_ir::bound::bound;
use warpsight_ir::occupancy::Residency;
use warpsight_ir::sample::median;
use warpsight_ir::{
    Bytes, Checked, Config, Estimate, Family, Feedback, Kernel, KnobValue, Name, Profile, RankFamily, Ranked, Ranking, Seconds, Status,
    TimeSource,
};
use warpsight_run::{Device, DeviceError, DeviceLimits, TimingSpec};

/// As many of the best are timed as doubt asks for: see [`Judge::top`].
pub const AUTO: usize = 0;
/// Of a pick that is doubted so many.
const DOUBTED: usize = 8;
/// A pick that is expected to lose more is doubted.
pub const DOUBTFUL: f64 = 0.05;

/// How many more candidates are tried when the chosen ones turn out wrong on this driver.
const FALLBACKS: usize = 8;
/// Where all of these do, too, others are sought among so many.
const FURTHER: usize = 256;

/// Whether a pick is expected to lose more than [`DOUBTFUL`], or nobody knows.
pub fn is_doubtful(expected_loss: Option<f64>) -> bool {
    expected_loss.is_none_or(|loss| loss > DOUBTFUL)
}

/// What decides among configurations.
pub struct Judge<'a> {
    /// The device's numbers as the model sees them.
    pub profile: &'a Profile,
    /// The model.
    pub model: &'a (dyn RankFamily + Sync),
    /// What the device can run.
    pub allowance: Allowance,
    /// By which passes Programs are made.
    pub passes: Passes,
    /// How many of the best are timed; [`AUTO`]: one, or several where the model expects its first choice to lose more than [`DOUBTFUL`], or does not
    /// know.
    pub top: usize,
    /// Timed runs of each.
    pub runs: u32,
}

/// What a device can run: its own limits where it states them, what is known of it otherwise.
pub fn within(known: Allowance, limits: &DeviceLimits) -> Allowance {
    let Allowance { mut residency, image, vector, meeting } = known;
    residency.max_group_size = limits.max_group_size.or(residency.max_group_size);
    if let Some(bytes) = limits.local_arrays.or(limits.local_bytes) {
        // What a driver states is what one group may ask for: nothing is added to it.
        residency = Residency { local: Some(Bytes(bytes as f64)), local_granule: None, local_reserved: None, ..residency };
    }
    let image = image.filter(|most| *most == (0, 0)).or(limits.image_2d).or(image);
    Allowance { residency, image, vector, meeting }
}

/// How many configurations of a family are left on a device.
#[derive(Clone)]
pub struct Candidates {
    /// All legal configurations, before any device is considered; of a search those that it looked at, of [`rank_all`] those whose work-items
    /// meet for what they may.
    pub total: usize,
    /// How many were dropped, by reason: what the device cannot run, and [`ARRANGEMENT`]s that were not judged.
    pub pruned: BTreeMap<&'static str, usize>,
    /// The rest.
    pub left: usize,
}

/// A kernel that was chosen, generated and found right.
#[derive(Clone, Debug)]
pub struct Tuned {
    /// The configuration.
    pub config: Config,
    /// The configuration with names.
    pub knobs: BTreeMap<Name, KnobValue>,
    /// What the model said.
    pub estimate: Estimate,
    /// The Program devices run.
    pub program: Checked,
    /// Where its tensors lie.
    pub layouts: Vec<Layout>,
    /// Median time and its source; `None` where the device has no clock.
    pub time: Option<(Seconds, TimeSource)>,
    /// Every timed run.
    pub times: Vec<Seconds>,
    /// Processor time of one run, all threads together; `None` where that says nothing.
    pub cpu_time: Option<Seconds>,
    /// Smallest step of the clock.
    pub quantum: Seconds,
    /// How exact its results are.
    pub verdict: Verdict,
    /// Better ranked configurations that were refused or wrong here, with the reason.
    pub rejected: Vec<(BTreeMap<Name, KnobValue>, String)>,
    /// Registers the model assumed.
    pub registers: u32,
    /// What driver or simulator say of registers and spills.
    pub feedback: Feedback,
    /// What the model's first choice was expected to lose, unmeasured ([`RankFamily::expected_loss`]).
    pub expected_loss: Option<f64>,
}

/// An attempt on a configuration, for the store: failures are samples too.
#[derive(Clone)]
pub struct Attempt<'a> {
    /// The configuration with names.
    pub knobs: BTreeMap<Name, KnobValue>,
    /// The Program.
    pub program: &'a Checked,
    /// What the model said, where it said anything.
    pub estimate: Option<&'a Estimate>,
    /// How it ended.
    pub status: Status,
    /// Whether its results were compared, and right.
    pub verified: bool,
    /// Timed runs.
    pub times: &'a [Seconds],
    /// Where they come from.
    pub source: Option<TimeSource>,
    /// Smallest step of the clock.
    pub quantum: Seconds,
    /// What a kernel that is timed again and again took last, where one is: a device that slows down shows there.
    pub reference: Option<Seconds>,
    /// What the compiler said.
    pub feedback: &'a Feedback,
}

/// Sees every attempt as soon as it ended.
pub type Observer<'a> = dyn FnMut(&Attempt) -> Result<(), EngineError> + 'a;

/// Of the ways to arrange work-items in groups so many, spread evenly, are judged with every schedule, the others with the best schedules
/// alone.
const ARRANGED: usize = 3;
/// Schedules of which all arrangements are judged.
const ARRANGED_ANEW: usize = 48;
/// The reason by which other arrangements are dropped.
pub const ARRANGEMENT: &str = "arrangement";

/// Ranks what a device can run of these configurations, the best first: as many as may be needed.
///
/// # Errors
/// Where none has an estimate, why.
pub fn rank(
    family: &ScheduleFamily,
    configs: impl Iterator<Item = Config>,
    judge: &Judge,
) -> Result<(Candidates, Vec<Ranked>), EngineError> {
    let mut ranking = judge.ranking(family)?;
    let mut pruned = prune(family, configs, &judge.allowance);
    for (config, outline) in &mut pruned {
        let _ = ranking.take(config, &outline);
    }
    Ok((Candidates::of(pruned.left, pruned.dropped), ranking.best()?))
}

/// Ranks a whole family, the best first: as many as may be needed. Every schedule is judged with some arrangements of its work-items, the
/// best with all, and the best of these with their tensors in places that are no part of the space.
///
/// # Errors
/// Where no configuration has an estimate, why.
pub fn rank_all(family: &ScheduleFamily, judge: &Judge) -> Result<(Candidates, Vec<Ranked>), EngineError> {
    let mut ranking: Shortlist = judge.ranking(family)?;
    let mut counted = Candidates { total: 0, left: 0, pruned: BTreeMap::new() };
    let mut judged = |configs: &mut dyn Iterator<Item = Config>| -> Option<Seconds> {
        let mut pruned = prune(family, configs, &judge.allowance);
        let least = (&mut pruned).filter_map(|(config, outline)| ranking.take(config, &outline)).reduce(Seconds::min);
        counted.add(pruned.left, pruned.dropped);
        least
    };
    let mut total = 0;
    let mut elsewhere = Candidates { total: 0, left: 0, pruned: BTreeMap::new() };
    let mut works: Vec<Judged> = vec![];
    for work in family.works(judge.allowance.meeting) {
        let work = Rc::new(work);
        for places in &work.places {
            total += work.arrangements.len();
            let nowhere = |arrangement: &Vec<i32>| {
                family.chosen_places(&work.config(arrangement, places)).find_map(|own| judge.allowance.nowhere(own))
            };
            if let Some(reason) = work.arrangements.first().and_then(nowhere) {
                elsewhere.add(0, BTreeMap::from([(reason, work.arrangements.len())]));
                continue;
            }
            let some = work.arrangements.iter().enumerate().filter(|own| is_judged(own.0, work.arrangements.len())).map(|own| own.1);
            if let Some(seconds) = judged(&mut some.map(|arrangement| work.config(arrangement, places))) {
                works.push((seconds, work.clone(), places.clone()));
            }
        }
    }
    works.sort_by(|a, b| a.0.0.total_cmp(&b.0.0));
    for (_, work, places) in works.into_iter().take(ARRANGED_ANEW) {
        let others = work.arrangements.iter().enumerate().filter(|own| !is_judged(own.0, work.arrangements.len()));
        judged(&mut others.map(|(_, arrangement)| work.config(arrangement, &places)));
    }
    counted.add(0, elsewhere.pruned);
    counted.pruned.insert(ARRANGEMENT, total - counted.total);
    Ok((Candidates { total, ..counted }, judge.elsewhere(family, &|_| true).put(ranking.best()?)))
}

/// A schedule with places: what it takes, coarsely, in the best of some arrangements.
type Judged = (Seconds, Rc<Work>, Vec<i32>);

/// Whether an arrangement is among those that are judged with every schedule.
fn is_judged(at: usize, of: usize) -> bool {
    (0..ARRANGED).any(|n| at == n * of.saturating_sub(1) / (ARRANGED - 1))
}

/// Schedules that a search begins with, drawn, each in all places.
const DRAWN: usize = 1500;
/// Of them those that are looked at to see whether some may lie in a place.
const LOOKED_AT: usize = 64;
/// The same ones of equal spaces.
const SEED: u64 = 1;

/// How thoroughly configurations of one kind are searched: of those drawn so many, evenly spread, are judged, and the best so many improved.
struct Effort {
    judged: usize,
    improved: usize,
}

/// To compare kinds of configurations.
const COMPARING: Effort = Effort { judged: 500, improved: 6 };
/// To choose among those of one kind.
const CHOOSING: Effort = Effort { judged: 4000, improved: 24 };
/// Configurations of each kind that are counted exactly to compare kinds: what tells kinds apart is where tensors lie, which coarse counts
/// know little of.
const COMPARED: usize = 6;

/// The best of each kind of configuration that a search finds; those of no kind are left out.
///
/// # Errors
/// What the profile lacks.
pub fn search_each<K: Ord + Clone>(
    family: &ScheduleFamily,
    judge: &Judge,
    kind: impl Fn(&Config) -> Option<K>,
) -> Result<(Candidates, BTreeMap<K, Ranked>), EngineError> {
    let mut drawn: BTreeMap<K, Vec<Config>> = BTreeMap::new();
    for config in drawn_on(family, judge, &[]) {
        if let Some(own) = kind(&config) {
            drawn.entry(own).or_default().push(config);
        }
    }
    let mut counted = Candidates { total: 0, left: 0, pruned: BTreeMap::new() };
    let mut found = BTreeMap::new();
    for (own, drawn) in drawn {
        let ranking = search(family, judge, &drawn, |other| kind(other).as_ref() == Some(&own), &COMPARING, &mut counted)?;
        // What a device can run none of has no estimate.
        let best = ranking.nearest(COMPARED).ok().and_then(|best| best.into_iter().next());
        found.extend(best.map(|best| (own, best)));
    }
    Ok((counted, found))
}

/// The best configurations that a thorough search finds, the best first, as many as may be needed: of those whose tensors (inputs, then output) lie
/// where `at` says, as far as it says something, in places of the space or others.
///
/// # Errors
/// Where none has an estimate, why.
pub fn search_one(family: &ScheduleFamily, judge: &Judge, at: &[Option<Place>]) -> Result<Vec<Ranked>, EngineError> {
    let there = |(own, at): (&Place, &Option<Place>)| at.is_none_or(|at| at == *own);
    let wanted = |config: &Config| family.places(config).is_some_and(|own| own.iter().zip(at).all(there));
    let drawn: Vec<Config> = drawn_on(family, judge, at).filter(wanted).collect();
    let mut counted = Candidates { total: 0, left: 0, pruned: BTreeMap::new() };
    let ranked = search(family, judge, &drawn, wanted, &CHOOSING, &mut counted)?.best()?;
    Ok(judge.elsewhere(family, &wanted).put(ranked))
}

/// Configurations of schedules that are drawn, in places by which a device gains, or in which tensors are wanted.
fn drawn_on<'a>(family: &'a ScheduleFamily, judge: &'a Judge, at: &[Option<Place>]) -> impl Iterator<Item = Config> + 'a {
    family.drawn(SEED, DRAWN, judge.allowance.meeting, |place| judge.allowance.nowhere(place).is_none(), at)
}

/// Whether schedules that a search begins with, the first of them, may have tensors at these places.
pub(crate) fn draws_some(family: &ScheduleFamily, judge: &Judge, at: &[Option<Place>], wanted: impl Fn(&Config) -> bool) -> bool {
    family.drawn(SEED, LOOKED_AT, judge.allowance.meeting, |place| judge.allowance.nowhere(place).is_none(), at).any(|own| wanted(&own))
}

/// The best of drawn configurations are improved by one knob at a time until no change of one helps: far fewer are judged than there are.
fn search<'a>(
    family: &'a ScheduleFamily,
    judge: &'a Judge,
    drawn: &[Config],
    wanted: impl Fn(&Config) -> bool,
    effort: &Effort,
    counted: &mut Candidates,
) -> Result<Shortlist<'a>, EngineError> {
    let mut ranking = judge.ranking(family)?;
    let mut seen: HashSet<Config> = HashSet::new();
    let mut judged = |configs: &mut dyn Iterator<Item = Config>| -> Vec<(Seconds, Config)> {
        let mut pruned = prune(family, configs.filter(|config| seen.insert(config.clone())), &judge.allowance);
        let taken = |(config, outline): (Config, Kernel)| Some((ranking.take(config.clone(), &outline)?, config));
        let mut all: Vec<_> = (&mut pruned).filter_map(taken).collect();
        counted.add(pruned.left, pruned.dropped);
        all.sort_by(|a, b| a.0.0.total_cmp(&b.0.0));
        all
    };
    // Where a tensor lies in all that are drawn is decided.
    let alike = |at: &usize| drawn.windows(2).all(|own| own[0].0[*at] == own[1].0[*at]);
    let fixed: Vec<usize> = family.placing().filter(alike).collect();
    let some = drawn.len().min(effort.judged);
    for mut best in judged(&mut (0..some).map(|n| drawn[n * drawn.len() / some].clone())).into_iter().take(effort.improved) {
        loop {
            let others = judged(&mut family.neighbours(&best.1, judge.allowance.meeting, &fixed).into_iter().filter(&wanted));
            match others.into_iter().next().filter(|next| next.0.0 < best.0.0) {
                Some(next) => best = next,
                None => break,
            }
        }
    }
    Ok(ranking)
}

/// Configurations as they are judged coarsely, of which the best are still to be counted exactly.
type Shortlist<'a> = Box<dyn Ranking + Send + 'a>;

impl Judge<'_> {
    /// How many of the best are timed at most.
    pub fn most(&self) -> usize {
        if self.top == AUTO { DOUBTED } else { self.top }
    }

    /// How many of a ranking are timed, of which the first is expected to lose this.
    fn timed(&self, expected_loss: Option<f64>) -> usize {
        if self.top == AUTO && !is_doubtful(expected_loss) { 1 } else { self.most() }
    }

    /// What says what configurations take with tensors in places that are no part of their space.
    pub(crate) fn elsewhere<'a>(&'a self, family: &'a ScheduleFamily, wanted: &'a dyn Fn(&Config) -> bool) -> Elsewhere<'a> {
        Elsewhere { family, allowance: &self.allowance, model: self.model, profile: self.profile, wanted }
    }

    fn ranking<'a>(&'a self, family: &'a ScheduleFamily) -> Result<Shortlist<'a>, EngineError> {
        Ok(self.model.ranking(family, self.profile, self.most() + FALLBACKS)?)
    }
}

impl Candidates {
    /// Counts those as dropped whose work-items meet for what they may not: [`rank_all`] does not look at them.
    pub fn with_rest(mut self, family: &ScheduleFamily, allow: &Allowance) -> Self {
        let rest = family.count().saturating_sub(self.total);
        if rest > 0 {
            *self.pruned.entry(allow.in_vain()).or_default() += rest;
        }
        Self { total: self.total + rest, ..self }
    }

    fn add(&mut self, left: usize, dropped: BTreeMap<&'static str, usize>) {
        self.left += left;
        self.total += left + dropped.values().sum::<usize>();
        dropped.into_iter().for_each(|(reason, n)| *self.pruned.entry(reason).or_default() += n);
    }

    fn of(left: usize, pruned: BTreeMap<&'static str, usize>) -> Self {
        Self { total: left + pruned.values().sum::<usize>(), left, pruned }
    }
}

/// Generates, verifies and times the best configurations; the fastest right one is returned. One that is wrong here, or that the driver
/// refuses, is reported to the observer and the next best is taken. So is one of which the device says that it has not registers for all of its
/// values, which models count by scope and compilers as they please; where all have, the first.
pub fn choose(
    family: &ScheduleFamily,
    ranked: &[Ranked],
    judge: &Judge,
    device: &mut dyn Device,
    rng: &mut Rng,
    observe: &mut Observer,
) -> Result<Tuned, EngineError> {
    first_right(family, ranked, judge, device, rng, observe)?.map_err(|failures| nothing_verified(family, failures))
}

/// Configurations that were refused or wrong, with the reasons.
type Failures = Vec<(BTreeMap<Name, KnobValue>, String)>;

fn nothing_verified(family: &ScheduleFamily, failures: Failures) -> EngineError {
    EngineError::NothingVerified {
        name: family.name().to_string(),
        tried: failures.len(),
        first: failures.into_iter().next().map_or_else(|| "no configuration fits the device".to_owned(), |own| own.1),
    }
}

/// What [`choose`] does; where nothing is right, why.
fn first_right(
    family: &ScheduleFamily,
    ranked: &[Ranked],
    judge: &Judge,
    device: &mut dyn Device,
    rng: &mut Rng,
    observe: &mut Observer,
) -> Result<Result<Tuned, Failures>, EngineError> {
    check_limits(family.expr(), &device.info().limits)?;
    let mut best: Option<Tuned> = None;
    let mut right = 0;
    let mut failures = vec![];
    let mut spilling: Option<Tuned> = None;
    let expected_loss = judge.model.expected_loss(ranked);
    let top = judge.timed(expected_loss);
    for candidate in ranked {
        if right == top {
            break;
        }
        match attempt(family, candidate, judge, device, rng, observe)? {
            Ok(tuned) if tuned.feedback.spills() => spilling = spilling.or(Some(tuned)),
            Ok(tuned) => {
                right += 1;
                let time = |t: &Tuned| t.time.map_or(t.estimate.time.0, |t| t.0.0);
                if best.as_ref().is_none_or(|b| time(&tuned) < time(b)) {
                    best = Some(tuned);
                }
            }
            Err(reason) => failures.push((family.space().describe(&candidate.config), reason)),
        }
    }
    Ok(match best.or(spilling) {
        Some(best) => Ok(Tuned { rejected: failures, expected_loss, ..best }),
        None => Err(failures),
    })
}

/// The same; where no configuration of the list has registers for all of its values, once more among those that need fewer by as much as the device
/// counts more than the model, which `again` lists; where none works on this driver, among some hundreds of the best those that are least like what failed.
pub fn choose_fitting(
    family: &ScheduleFamily,
    ranked: &[Ranked],
    judge: &Judge,
    device: &mut dyn Device,
    rng: &mut Rng,
    observe: &mut Observer,
    again: impl FnOnce(&Judge) -> Result<Vec<Ranked>, EngineError>,
) -> Result<Tuned, EngineError> {
    let first = match first_right(family, ranked, judge, device, rng, observe)? {
        Ok(first) => first,
        Err(mut failures) => {
            // Of what cannot be ranked anew nothing is left.
            let list = unlike(ranked, again(&Judge { top: FURTHER, ..*judge }).unwrap_or_default());
            return match first_right(family, &list, judge, device, rng, observe)? {
                Ok(found) => {
                    failures.extend(found.rejected);
                    Ok(Tuned { rejected: failures, ..found })
                }
                Err(further) => {
                    failures.extend(further);
                    Err(nothing_verified(family, failures))
                }
            };
        }
    };
    let Some(most) = first.fewer_registers(judge).filter(|_| first.feedback.spills()) else { return Ok(first) };
    let mut allowance = judge.allowance;
    allowance.residency.max_registers = Some(most);
    let list = again(&Judge { allowance, ..*judge })?;
    match choose(family, &list, judge, device, rng, observe) {
        Ok(second) if !second.feedback.spills() => Ok(second),
        // What goes through memory is right, too.
        Ok(_) | Err(EngineError::NothingVerified { .. }) => Ok(first),
        Err(error) => Err(error),
    }
}

/// Of a longer list [`FALLBACKS`], each the one that shares the fewest knobs with what failed and those before it: what a driver cannot do (a width of
/// vectors, images, local memory) it cannot do in all that is like it, and the best are alike.
fn unlike(failed: &[Ranked], mut list: Vec<Ranked>) -> Vec<Ranked> {
    let mut tried: Vec<Config> = failed.iter().map(|own| own.config.clone()).collect();
    list.retain(|own| !tried.contains(&own.config));
    let mut found = vec![];
    for _ in 0..FALLBACKS.min(list.len()) {
        let shared = |config: &Config| tried.iter().map(|other| config.0.iter().zip(&other.0).filter(|(a, b)| a == b).count()).max();
        let Some(next) = (0..list.len()).min_by_key(|&at| shared(&list[at].config)) else { break };
        tried.push(list[next].config.clone());
        found.push(list.remove(next));
    }
    found
}

impl Tuned {
    /// Whether the model's first choice is expected to lose so much that several should be timed.
    pub fn is_doubtful(&self) -> bool {
        is_doubtful(self.expected_loss)
    }

    /// What part of the bound of its expression it reaches, in percent.
    pub fn percent_of_bound(&self) -> Option<f64> {
        self.estimate.percent_of_bound(self.time?.0)
    }

    /// Registers, as models count them, of kernels for which the device has enough, if it counts all as this one.
    fn fewer_registers(&self, judge: &Judge) -> Option<u32> {
        let (most, counted) = (judge.allowance.residency.max_registers?, self.feedback.registers?);
        let fewer = u64::from(self.registers) * u64::from(most) / u64::from(counted.max(1));
        Some((fewer as u32).min(self.registers.saturating_sub(1))).filter(|&fewer| fewer > 0)
    }
}

/// What came of a configuration whose results are right.
pub(crate) struct Right {
    program: Checked,
    layouts: Vec<Layout>,
    knobs: BTreeMap<Name, KnobValue>,
    pub(crate) time: Option<(Seconds, TimeSource)>,
    times: Vec<Seconds>,
    cpu_time: Option<Seconds>,
    quantum: Seconds,
    verdict: Verdict,
    feedback: Feedback,
}

/// One configuration from lowering to timing. The inner error is a reason to take the next; the outer one ends everything.
pub fn attempt(
    family: &ScheduleFamily,
    candidate: &Ranked,
    judge: &Judge,
    device: &mut dyn Device,
    rng: &mut Rng,
    observe: &mut Observer,
) -> Result<Result<Tuned, String>, EngineError> {
    let config = &candidate.config;
    let done = verified(family, config, Some(&candidate.estimate), judge, (device, rng), observe)?;
    Ok(done.map(|right| Tuned {
        config: config.clone(),
        knobs: right.knobs,
        estimate: Estimate { bound: bound(&family.expr().demand(), judge.profile).map(|own| own.time), ..candidate.estimate.clone() },
        registers: family.outline(config).registers,
        program: right.program,
        layouts: right.layouts,
        time: right.time,
        times: right.times,
        cpu_time: right.cpu_time,
        quantum: right.quantum,
        rejected: vec![],
        verdict: right.verdict,
        feedback: right.feedback,
        expected_loss: None,
    }))
}

/// The same of a configuration of which a model may say nothing.
pub(crate) fn verified(
    family: &ScheduleFamily,
    config: &Config,
    estimate: Option<&Estimate>,
    judge: &Judge,
    (device, rng): (&mut dyn Device, &mut Rng),
    observe: &mut Observer,
) -> Result<Result<Right, String>, EngineError> {
    let program = family.finish(config)?;
    let layouts = family.layouts(config)?;
    let trial = Trial::new(family.expr(), &layouts, rng);
    let timing = device.info().clock.map(|_| TimingSpec::runs(judge.runs));
    let outcome = match trial.interpret(&program) {
        Ok(()) => device.run(&trial.job(&program, timing)).map_err(Outcome::Device),
        Err(wrong) => Err(Outcome::Wrong(wrong)),
    };
    let judged = outcome.and_then(|result| match trial.judge(&result) {
        Ok(verdict) => Ok((verdict, result)),
        Err(wrong) => Err(Outcome::Wrong(wrong)),
    });
    if let Err(Outcome::Device(error @ DeviceError::Before { .. })) = &judged {
        return Ok(Err(error.to_string()));
    }
    let knobs = family.space().describe(config);
    let (status, times, source, quantum, feedback) = match &judged {
        Ok((_, result)) => (
            Status::Done,
            result.timed.times.first().map(|times| times.iter().collect()).unwrap_or_default(),
            result.timed.source,
            result.timed.quantum,
            result.feedback.first().cloned().unwrap_or_default(),
        ),
        Err(outcome) => (outcome.status()?, vec![], None, Seconds::ZERO, Feedback::default()),
    };
    observe(&Attempt {
        knobs: knobs.clone(),
        program: &program,
        estimate,
        verified: status == Status::Done,
        status: status.clone(),
        times: &times,
        source,
        quantum,
        reference: None,
        feedback: &feedback,
    })?;
    Ok(match judged {
        Ok((verdict, result)) => {
            let (time, cpu_time) = (median(&times).zip(source), result.timed.cpu_time);
            Ok(Right { program, layouts, knobs, time, times, cpu_time, quantum, verdict, feedback })
        }
        Err(outcome) => Err(outcome.to_string()),
    })
}

/// Why a configuration is passed over.
#[derive(Debug, thiserror::Error)]
enum Outcome {
    #[error("{0}")]
    Wrong(Wrong),
    #[error("{0}")]
    Device(DeviceError),
}

impl Outcome {
    fn status(&self) -> Result<Status, EngineError> {
        match self {
            Self::Wrong(wrong) => Ok(Status::Wrong(wrong.to_string())),
            Self::Device(error) => refused(error),
        }
    }
}

/// The status to store of a configuration that a device did not run; errors that no other configuration will escape are passed on.
pub(crate) fn refused(error: &DeviceError) -> Result<Status, EngineError> {
    match error {
        DeviceError::Build { .. } | DeviceError::Unsupported { .. } => Ok(Status::BuildFailed(error.to_string())),
        DeviceError::Before { how, .. } => Ok(Status::BuildFailed(how.clone())),
        DeviceError::Fault { .. } => Ok(Status::Wrong(error.to_string())),
        DeviceError::Lost(_) | DeviceError::Timeout(_) => Ok(Status::DeviceLost(error.to_string())),
        // Of memory there may be more another time.
        DeviceError::Driver { .. } | DeviceError::Limit { .. } => Ok(Status::Refused(error.to_string())),
        DeviceError::NoDevice { .. } | DeviceError::NoHalves { .. } | DeviceError::BadJob(_) => Err(EngineError::Device(error.clone())),
    }
}
