//! `--search random|evolutionary|anneal`: kernels are searched for within a budget of timed configurations, from what the model picked and what the store
//! has; nothing that was timed is lost, and the same command goes on; what was given up for its length is tried again.

use super::Args;
use crate::failure::Failure;
use crate::progress;
use crate::record::Record;
use crate::report::{micros, out};
use serde_json::{Value, json};
use warpsight_engine::EngineError;
use warpsight_engine::found::{pattern_of, places_of};
use warpsight_engine::network::{Choice, Network};
use warpsight_engine::search::guided::{Found, Guided, Learned, Learner, Strategy};
use warpsight_engine::search::{Reference, Search, Wanted};
use warpsight_engine::tune::{self, Attempt, Judge, Tuned};
use warpsight_generate::ScheduleFamily;
use warpsight_ir::sample::trees::{Ensemble, Growth, Table, Trees};
use warpsight_ir::{Config, Family, Ranked, Seconds, TimeSource};
use warpsight_run::Device;

/// Configurations that are timed where nothing is said.
const BUDGET: usize = 100;
/// Samples of other expressions that are learned from at the beginning, at most: the newest.
const LESSONS: usize = 400;

/// Boosted trees: what they learn of some hundred rows is coarse, so they are flat.
struct Boosted;

const GROWTH: Growth = Growth {
    ensemble: Ensemble::Boosted,
    trees: 120,
    depth: 4,
    rate: 0.1,
    leaf: 2.0,
    ridge: 1.0,
    rows: 0.8,
    columns: 0.5,
    clip: 1.5,
    seed: 0,
};

impl Learner for Boosted {
    fn learn(&self, rows: &[Vec<f64>], targets: &[f64]) -> Learned {
        let columns: Vec<Vec<f64>> =
            (0..rows.first().map_or(0, Vec::len)).map(|column| rows.iter().map(|row| row[column]).collect()).collect();
        let trees = Trees::grow(&Table::new(&columns), targets, &vec![1.0; rows.len()], GROWTH);
        Box::new(move |row| trees.predict(row))
    }
}

/// What is asked for.
#[derive(Clone, Copy)]
struct Asked {
    strategy: Strategy,
    budget: usize,
    seed: u64,
}

impl Asked {
    fn of(args: &Args) -> Option<Self> {
        let budget = args.budget.map_or(BUDGET, |own| own as usize);
        Some(Self { strategy: args.search.strategy()?, budget, seed: args.seed.unwrap_or(1) })
    }
    fn name(self) -> &'static str {
        match self.strategy {
            Strategy::Random => "random",
            Strategy::Evolutionary => "evolutionary",
            Strategy::Anneal => "anneal",
        }
    }
}

/// What came of one kernel.
struct Kernel {
    name: String,
    asked: Asked,
    picked: Option<(Seconds, TimeSource)>,
    best: Option<(Seconds, TimeSource)>,
    lessons: usize,
    found: Found,
    reference: Option<Reference>,
}

/// What came of all kernels.
#[derive(Default)]
pub struct Searched(Vec<Kernel>);

/// What a search needs at hand.
pub struct Hands<'a, 'd> {
    pub args: &'a Args,
    pub judge: &'a Judge<'a>,
    pub device: &'a mut (dyn Device + 'd),
    pub record: &'a mut Record,
    pub rng: &'a mut fastrand::Rng,
}

impl Searched {
    /// Searches for a faster kernel than the chosen one, which is replaced where there is one. Nothing is done where no search within a budget is
    /// asked for, or the device has no clock.
    pub fn alone(
        &mut self,
        family: &ScheduleFamily,
        chosen: &mut Tuned,
        (ranked, wanted): (&[Ranked], Wanted),
        hands: Hands,
    ) -> Result<(), Failure> {
        let Some(asked) = Asked::of(hands.args) else { return Ok(()) };
        let first: Vec<Config> = ranked.iter().map(|own| own.config.clone()).collect();
        self.kernel(family, asked, &first, wanted, chosen, hands)
    }

    /// The same for each kernel of a network, with its tensors where they lie: the budget is shared.
    pub fn network(&mut self, network: &Network, choice: &mut Choice, mut hands: Hands) -> Result<(), Failure> {
        let Some(asked) = Asked::of(hands.args) else { return Ok(()) };
        let keys: Vec<_> = choice.tuned.keys().cloned().collect();
        for (n, key) in keys.iter().enumerate() {
            let (family, kernels) = (&network.families[key.0], keys.len());
            let own = Asked { budget: asked.budget / kernels + usize::from(n < asked.budget % kernels), ..asked };
            let wanted = |config: &Config| pattern_of(family, config).as_ref() == Some(&key.1);
            let ranked = tune::search_one(family, hands.judge, &places_of(family.expr(), &key.1))?;
            let first: Vec<Config> = ranked.into_iter().map(|own| own.config).collect();
            let Some(mut chosen) = choice.tuned.get(key).cloned() else { continue };
            let Hands { args, judge, device, record, rng } = &mut hands;
            self.kernel(family, own, &first, &wanted, &mut chosen, Hands { args, judge, device: &mut **device, record, rng })?;
            choice.replace(key, chosen);
        }
        Ok(())
    }

    fn kernel(
        &mut self,
        family: &ScheduleFamily,
        asked: Asked,
        first: &[Config],
        wanted: Wanted,
        chosen: &mut Tuned,
        hands: Hands,
    ) -> Result<(), Failure> {
        let Hands { args: _, judge, device, record, rng } = hands;
        let Some((_, source)) = chosen.time else { return Ok(()) };
        let known = record.known(family)?.into_iter().filter(|own| wanted(&own.0)).collect();
        let lessons = record.lessons(family, judge, LESSONS)?;
        let guided = Guided { family, judge, learner: &Boosted, strategy: asked.strategy, budget: asked.budget, seed: asked.seed, wanted };
        let bar = progress::bar(asked.budget, family.name());
        let measured = source == TimeSource::Measured;
        let picked = chosen.time;
        let mut reference = measured.then(|| Reference::new(chosen.config.clone(), Some(chosen.estimate.clone())));
        let mut observe = |attempt: &Attempt| record.attempt(family, attempt);
        let mut searching = Search { family, judge, device, rng, observe: &mut observe };
        let taught = lessons.len();
        let found = guided
            .run(first, known, lessons, &mut |batch, within| {
                if progress::interrupted() {
                    return Err(EngineError::Interrupted);
                }
                bar.inc(batch.len() as u64);
                searching.batch(batch, within, &mut reference)
            })
            .inspect_err(|_| bar.abandon())?;
        if let Some(mut best) = searching.fastest(&found.timed)? {
            searching.finals(chosen, &mut best)?;
            if best.0 != chosen.config && chosen.time.is_none_or(|own| best.1.0 < own.0.0) {
                searching.put(&best.0, chosen)?;
            }
        }
        bar.finish_and_clear();
        let best = chosen.time;
        self.0.push(Kernel { name: family.name().to_string(), asked, picked, best, lessons: taught, found, reference });
        Ok(())
    }

    /// Puts it into a report.
    pub fn add_to(&self, value: &mut Value) {
        let Some(one) = self.0.first() else { return };
        let budget: usize = self.0.iter().map(|own| own.asked.budget).sum();
        let kernels: Vec<Value> = self.0.iter().map(Kernel::json).collect();
        value["search"] = json!({"strategy": one.asked.name(), "budget": budget, "seed": one.asked.seed, "kernels": kernels});
    }

    /// The same in lines.
    pub fn print(&self) -> Result<(), Failure> {
        self.0.iter().try_for_each(Kernel::print)
    }
}

/// What a kernel took that was timed between others.
pub fn reference(own: &Reference) -> Value {
    json!({"times_s": own.times, "drift_percent": own.drift().map(|drift| 100.0 * drift)})
}

/// The same in a line, where it was timed twice.
pub fn print_reference(name: &str, own: &Reference) -> Result<(), Failure> {
    let Some(drift) = own.drift() else { return Ok(()) };
    out(format_args!("{name}: a kernel timed between the others differed by {:.1} % (measured)", 100.0 * drift))
}

impl Kernel {
    fn json(&self) -> Value {
        let found = &self.found;
        let point = |own: &warpsight_engine::search::guided::Point| json!({"runs": own.runs, "seconds": own.elapsed, "best_s": own.best});
        json!({
            "name": self.name,
            "runs": found.runs,
            "known": found.known,
            "slower": found.slower,
            "refused": found.refused,
            "lessons": self.lessons,
            "picked_s": self.picked.map(|own| own.0),
            "best_s": self.best.map(|own| own.0),
            "source": self.best.map(|own| own.1),
            "curve": found.curve.iter().map(point).collect::<Vec<_>>(),
            "reference": self.reference.as_ref().map(reference),
        })
    }

    fn print(&self) -> Result<(), Failure> {
        let Self { name, asked, found, .. } = self;
        let time =
            |own: Option<(Seconds, TimeSource)>| own.map_or("-".to_owned(), |own| format!("{} us ({})", micros(own.0), own.1.name()));
        out(format_args!(
            "{name}: {} search, {} configurations tried, {} of them known from earlier, {} given up as slower, {} refused or wrong; picked {}, found {}",
            asked.name(),
            found.runs,
            found.known,
            found.slower,
            found.refused,
            time(self.picked),
            time(self.best)
        ))?;
        self.reference.as_ref().map_or(Ok(()), |own| print_reference(name, own))
    }
}
