//! `--search exhaustive`: every configuration of a space is timed, of every sequence that an operator may be computed by, and what was picked
//! without that is compared with the fastest.

use super::pruning::Pruning;
use super::{Args, Space, guided};
use crate::failure::Failure;
use crate::progress;
use crate::record::Record;
use crate::report::{config, micros, out};
use crate::target::Target;
use crate::target::judging::Judging;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use warpsight_engine::EngineError;
use warpsight_engine::candidates::{Offer, offered};
use warpsight_engine::found::{ByPattern, pattern_of};
use warpsight_engine::network::Network;
use warpsight_engine::search::{self, Earlier, Reference, Search, Timed, Within, pairs};
use warpsight_engine::tune::{Attempt, Judge, Tuned};
use warpsight_generate::{Operator, ScheduleFamily};
use warpsight_graph::Plan;
use warpsight_ir::sample::{geometric_error, spearman};
use warpsight_ir::{Config, Family, KnobValue, Name, Seconds, TimeSource};

/// Configurations of the default space of a sequence, at most: its kernels share them.
const DEFAULT: usize = 12_000;
/// Of a kernel at least so many.
const LEAST: usize = 2_000;

/// The space of one of so many kernels.
pub fn space(family: &ScheduleFamily, of: Space, kernels: usize) -> Vec<Config> {
    match of {
        Space::Full => family.configs().collect(),
        Space::Default => family.some((DEFAULT / kernels.max(1)).max(LEAST)),
    }
}

/// The fastest kernel of an expression.
struct Best {
    name: Name,
    knobs: BTreeMap<Name, KnobValue>,
    time: Seconds,
}

/// A sequence of which everything was timed.
struct Sequence {
    name: &'static str,
    /// Configurations, those that were timed, those that were given up for their length, and those that do not run or are wrong.
    candidates: usize,
    timed: usize,
    slower: usize,
    refused: usize,
    /// Those that the device cannot launch by its limits.
    beyond: usize,
    /// What simulations were allowed of the least so far.
    longest: f64,
    /// Where time is measured, of each kernel one that was timed between the others.
    references: Vec<(Name, Reference)>,
    /// The fastest kernels that agree on where tensors lie; none where no kernel of one is right.
    best: Option<Vec<Best>>,
    pairs: Vec<(f64, f64)>,
}

impl Sequence {
    fn time(&self) -> Option<f64> {
        self.best.as_ref().map(|all| all.iter().map(|own| own.time.0).sum())
    }
}

/// What a search showed.
pub struct Found {
    picked: (String, Seconds),
    source: TimeSource,
    all: Vec<Sequence>,
}

/// What was picked: the sequence's name, what its kernels take together, and of a single kernel all.
pub struct Picked<'p> {
    pub name: &'p str,
    pub time: Option<(Seconds, TimeSource)>,
    pub alone: Option<&'p mut Tuned>,
}

/// Times everything; `None` where the device has no clock.
pub fn search(
    direct: &Operator,
    mut picked: Picked,
    args: &Args,
    target: &mut Target,
    record: &mut Record,
    rng: &mut fastrand::Rng,
) -> Result<Option<Found>, Failure> {
    let Some((time, source)) = picked.time else { return Ok(None) };
    let limits = target.device.info().limits.clone();
    let mut all = vec![];
    for own in offered(direct, &Offer { limits: &limits, names: args.sequences.as_deref() }) {
        let mut plan = Plan::of_operator(direct, |n| vec![0.0; n]);
        if own.operator != *direct {
            plan.replace(0, own.operator.clone());
        }
        let alone = if own.name == picked.name { picked.alone.as_deref_mut() } else { None };
        let passes = target.passes;
        let mut kernels = Kernels { args, target, record, rng };
        all.push(match own.operator.steps.as_slice() {
            [step] => kernels.alone(own.name, ScheduleFamily::by(step.clone(), passes), alone)?,
            _ => kernels.network(own.name, &Network::by(&plan, passes)?)?,
        });
    }
    let time = picked.alone.and_then(|alone| alone.time).map_or(time, |time| time.0);
    Ok(Some(Found { picked: (picked.name.to_owned(), time), source, all }))
}

/// What searches at hand need.
struct Kernels<'a> {
    args: &'a Args,
    target: &'a mut Target,
    record: &'a mut Record,
    rng: &'a mut fastrand::Rng,
}

impl Kernels<'_> {
    /// One kernel, whose tensors lie anyhow.
    fn alone(&mut self, name: &'static str, family: ScheduleFamily, chosen: Option<&mut Tuned>) -> Result<Sequence, Failure> {
        let configs = self.left(&family, 1)?;
        let least = chosen.as_ref().and_then(|chosen| chosen.time).map_or(Seconds(f64::INFINITY), |time| time.0);
        let space = self.timed(&family, &configs, Within { least, times: search::LONGEST })?;
        let search::Space { timed, slower, refused, beyond, reference } = space;
        let best = self.with(&family, |searching| {
            let Some(mut best) = searching.fastest(&timed)? else { return Ok(None) };
            if let Some(chosen) = chosen {
                searching.finals(chosen, &mut best)?;
            }
            Ok(Some(best))
        })?;
        let best = best.map(|(config, time)| vec![of(&family, &config, time)]);
        let references = reference.map(|own| (family.name().clone(), own)).into_iter().collect();
        let (candidates, longest, pairs) = (configs.len(), search::LONGEST, pairs(&timed));
        Ok(Sequence { name, candidates, timed: timed.len(), slower, refused, beyond, longest, references, best, pairs })
    }

    /// Several kernels that agree on where the tensors between them lie.
    fn network(&mut self, name: &'static str, network: &Network) -> Result<Sequence, Failure> {
        let mut all: Vec<Vec<Timed>> = vec![];
        let (mut candidates, mut slower, mut refused, mut beyond, mut references) = (0, 0, 0, 0, vec![]);
        let longest = search::LONGEST_OF_SOME;
        for family in &network.families {
            let configs = self.left(family, network.families.len())?;
            candidates += configs.len();
            let own = self.timed(family, &configs, Within { least: Seconds(f64::INFINITY), times: longest })?;
            slower += own.slower;
            refused += own.refused;
            beyond += own.beyond;
            references.extend(own.reference.map(|own| (family.name().clone(), own)));
            all.push(own.timed);
        }
        let by_pattern: Vec<ByPattern> = network.families.iter().zip(&all).map(|(family, timed)| least(family, timed)).collect();
        let mut best = Some(vec![]);
        for (at, pattern) in network.least(&by_pattern).unwrap_or_default() {
            let family = &network.families[at];
            let own: Vec<Timed> =
                all[at].iter().filter(|own| pattern_of(family, &own.config).as_ref() == Some(&pattern)).cloned().collect();
            let fastest = self.with(family, |searching| searching.fastest(&own))?;
            best = best.zip(fastest).map(|(mut best, (config, time))| {
                best.push(of(family, &config, time));
                best
            });
        }
        let timed = all.iter().map(Vec::len).sum();
        Ok(Sequence {
            name,
            candidates,
            timed,
            slower,
            refused,
            beyond,
            longest,
            references,
            best: best.filter(|own| !own.is_empty()),
            pairs: all.iter().flat_map(|own| pairs(own)).collect(),
        })
    }

    /// What is to be timed of the space of one of so many kernels.
    fn left(&self, family: &ScheduleFamily, kernels: usize) -> Result<Vec<Config>, Failure> {
        let cut = Pruning::of(self.args.prune, &self.target.profile, &self.target.allowance)
            .cut(family, space(family, self.args.space, kernels))?;
        let asked = self.args.passes.meeting();
        Ok(cut.left.into_iter().filter(|config| asked.allows(family.meets(config))).collect())
    }

    /// Every configuration, timed now or earlier.
    fn timed(&mut self, family: &ScheduleFamily, configs: &[Config], within: Within) -> Result<search::Space, Failure> {
        let done = self.record.done(family)?;
        let words = |config: &Config| serde_json::to_string(&family.space().describe(config)).unwrap_or_default();
        let known = |config: &Config| -> Option<Earlier> { done.get(&words(config)).copied() };
        let bar = progress::bar(configs.len(), family.name());
        let mut step = |count: usize| {
            bar.inc(count as u64);
            if progress::interrupted() { Err(EngineError::Interrupted) } else { Ok(()) }
        };
        let timed = self.with(family, |searching| searching.all(configs, within, &known, &mut step)).inspect_err(|_| bar.abandon())?;
        bar.finish_and_clear();
        Ok(timed)
    }

    fn with<T>(&mut self, family: &ScheduleFamily, act: impl FnOnce(&mut Search) -> Result<T, EngineError>) -> Result<T, Failure> {
        let judging = Judging::new(self.target, self.args.top, self.args.runs);
        let judge: Judge = judging.judge(&self.target.profile);
        let record = &mut *self.record;
        let mut observe = |attempt: &Attempt| record.attempt(family, attempt);
        let mut searching = Search { family, judge: &judge, device: &mut *self.target.device, rng: &mut *self.rng, observe: &mut observe };
        Ok(act(&mut searching)?)
    }
}

fn of(family: &ScheduleFamily, config: &Config, time: Seconds) -> Best {
    Best { name: family.name().clone(), knobs: family.space().describe(config), time }
}

/// The least that a family takes with its tensors in each pattern.
fn least(family: &ScheduleFamily, timed: &[Timed]) -> ByPattern {
    let mut least = ByPattern::new();
    for own in timed {
        let Some(pattern) = pattern_of(family, &own.config) else { continue };
        let before = least.entry(pattern).or_insert(own.time);
        *before = before.min(own.time);
    }
    least
}

impl Found {
    /// The fastest sequence, and what it takes: what was picked where nothing is faster.
    fn best(&self) -> Option<(&Sequence, f64)> {
        let timed = self.all.iter().filter_map(|own| Some((own, own.time()?)));
        timed.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(own, time)| (own, time.min(self.picked.1.0)))
    }

    fn loss_percent(&self) -> Option<f64> {
        Some(100.0 * (self.picked.1.0 / self.best()?.1 - 1.0))
    }

    /// The sequence that was picked.
    fn own(&self) -> Option<&Sequence> {
        self.all.iter().find(|own| own.name == self.picked.0)
    }

    /// Pairs of the sequence that was picked.
    fn pairs(&self) -> &[(f64, f64)] {
        self.own().map_or(&[], |own| &own.pairs)
    }

    /// Puts what it showed into a report.
    pub fn into(&self, value: &mut Value) {
        let Some((best, time)) = self.best() else { return };
        value["picked_s"] = json!(self.picked.1);
        value["loss_percent"] = json!(self.loss_percent());
        value["timed"] = json!(self.all.iter().map(|own| own.timed).sum::<usize>());
        value["rank_correlation"] = json!(spearman(self.pairs()));
        value["geometric_error"] = json!(geometric_error(self.pairs()));
        // Both are of what was timed to its end and predicted; where something was given up, of what takes so many times the least at most.
        let given_up = self.own().filter(|own| own.slower > 0).map(|own| own.longest);
        value["correlated"] = json!({"configurations": self.pairs().len(), "within_times_the_least": given_up});
        let kernels = best.best.as_deref().unwrap_or_default();
        value["best"] = json!({"sequence": best.name, "time_s": time});
        match kernels {
            [one] => value["best"]["config"] = json!(one.knobs),
            _ => {
                let one = |own: &Best| json!({"name": own.name, "config": own.knobs, "time_s": own.time});
                value["best"]["steps"] = kernels.iter().map(one).collect();
            }
        }
        let one = |own: &Sequence| {
            let references = own.references.iter().map(|(name, own)| (name.to_string(), guided::reference(own)));
            json!({
                "name": own.name,
                "candidates": own.candidates,
                "beyond_limits": own.beyond,
                "timed": own.timed,
                "slower": own.slower,
                "refused": own.refused,
                "time_s": own.time(),
                "reference": (!own.references.is_empty()).then(|| references.collect::<BTreeMap<_, _>>()),
            })
        };
        value["searched"] = self.all.iter().map(one).collect();
    }

    /// The same in lines.
    pub fn print(&self) -> Result<(), Failure> {
        let source = self.source.name();
        let pairs = self.pairs();
        out(format_args!(
            "prediction against {source} over the {} configurations that were timed to their end: geometric error x{:.2}, rank correlation {:.2}",
            pairs.len(),
            geometric_error(pairs),
            spearman(pairs)
        ))?;
        for own in &self.all {
            let time = own.time().map_or("none is right".to_owned(), |time| format!("at best {} us ({source})", micros(Seconds(time))));
            let mut others =
                if own.slower > 0 { format!(", {} given up at x{} of the least", own.slower, own.longest) } else { String::new() };
            if own.refused > 0 {
                others += &format!(", {} do not run or are wrong", own.refused);
            }
            if own.beyond > 0 {
                others += &format!(", {} are beyond the device's limits", own.beyond);
            }
            out(format_args!("{}: {} of {} configurations timed{others}; {time}", own.name, own.timed, own.candidates))?;
            own.references.iter().try_for_each(|(name, own)| guided::print_reference(name, own))?;
        }
        let (Some((best, time)), Some(loss)) = (self.best(), self.loss_percent()) else { return Ok(()) };
        for kernel in best.best.as_deref().unwrap_or_default() {
            out(format_args!("best {}: {} us ({source}): {}", kernel.name, micros(kernel.time), config(&kernel.knobs)))?;
        }
        out(format_args!("best of all {} us ({source}), as {}; the choice loses {loss:.1} %", micros(Seconds(time)), best.name))
    }
}
