//! Which sequences a network takes in place of its operators: those by which all of its kernels take the least together, places included.

use crate::EngineError;
use crate::candidates::{Considered, Looked, Offer, best, counts, look};
use crate::elsewhere::GAIN;
use crate::found::Found;
use crate::network::Network;
use crate::places::{self, Table};
use crate::sequence::{Kernels, Outer, outer};
use crate::tune::Judge;
use crate::verify::check_operator;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use warpsight_generate::parallel::each;
use warpsight_generate::{Candidate, ExprKey, Operator, Place, TensorExpr, candidates};
use warpsight_graph::{Distinct, Plan};
use warpsight_ir::Seconds;

/// A sequence is in the running that takes at most so many times what the fastest does, each kernel with its tensors wherever it likes: more is
/// hardly gained by where others have them, and each costs a search for every pattern of its kernels.
const SLACK: f64 = 1.5;

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

/// Puts the sequences to take in place of a plan's operators: those that are not the operator as it is, by operator. Where tensors lie at the
/// borders of one is what its neighbours have to take, so all are chosen together, with a place for each tensor between operators. Where no
/// places are found that agree, each operator takes what is fastest by itself.
///
/// # Errors
/// What the profile lacks, or the first tensor of which no sequence finds room on the device.
pub fn settle(plan: &mut Plan, judge: &Judge, offer: &Offer, found: &Found) -> Result<Vec<Taken>, EngineError> {
    let network = Network::by(plan, judge.passes)?;
    let distinct = plan.distinct();
    // No search ends soon of tensors that are far too large.
    let fits = |own: &Operator| check_operator(own, offer.limits);
    for own in distinct.iter().map(|own| &plan.operators[own.uses[0]].operator) {
        fits(own).or_else(|error| candidates(own).iter().any(|other| fits(&other.operator).is_ok()).then_some(()).ok_or(error))?;
    }
    let looked = each(&distinct, |own| look(&plan.operators[own.uses[0]].operator, judge, offer, SLACK, found).map(running));
    let looked: Vec<Looked> = looked.into_iter().collect::<Result<_, EngineError>>()?;
    let mut of = vec![0; plan.operators.len()];
    distinct.iter().enumerate().for_each(|(kind, own)| own.uses.iter().for_each(|&position| of[position] = kind));
    let names: Vec<&str> = match looked.iter().all(|own| own.all.len() < 2) {
        true => of.iter().map(|&kind| looked[kind].all.first().map_or("direct", |own| own.name)).collect(),
        false => Choice { network: &network, judge, found, distinct: &distinct, looked: &looked, of: &of }.names()?,
    };
    // Of an operator whose temporaries others need, no other sequence gives these.
    let others = names.into_iter().enumerate().filter(|(position, name)| *name != "direct" && !plan.shares_temporaries(*position));
    let mut taken = vec![];
    for (position, name) in others.collect::<Vec<_>>() {
        // Each has names of its own: what one of them was found for holds of all.
        let own = candidates(&plan.operators[position].operator).into_iter().find(|own| own.name == name);
        taken.extend(own.map(|own| put(plan, position, own)));
    }
    Ok(taken)
}

/// Those of an operator's sequences that others may be chosen over for where tensors lie, and the operator as it is.
fn running(Looked { all, considered }: Looked) -> Looked {
    if considered.is_empty() {
        return Looked { all, considered };
    }
    let least = considered.iter().map(counts).fold(f64::INFINITY, f64::min);
    let stays = |own: &Considered| own.name == "direct" || counts(own) <= SLACK * least;
    let (all, considered) = all.into_iter().zip(considered).filter(|own| stays(&own.1)).unzip();
    Looked { all, considered }
}

/// What is chosen from.
struct Choice<'a> {
    /// Of the operators as they are.
    network: &'a Network<'a>,
    judge: &'a Judge<'a>,
    found: &'a Found,
    /// The kinds of operators, and the sequences of each.
    distinct: &'a [Distinct],
    looked: &'a [Looked],
    /// The kind of each operator.
    of: &'a [usize],
}

impl Choice<'_> {
    /// The name of the sequence that each operator takes.
    fn names(&self) -> Result<Vec<&'static str>, EngineError> {
        let kernels = self.looked.iter().flat_map(|own| own.all.iter().flat_map(|own| own.operator.kernels()));
        let mut known = BTreeSet::new();
        let kernels: Vec<&TensorExpr> = kernels.filter(|step| known.insert(ExprKey::of(step))).collect();
        each(&kernels, |step| self.found.by_pattern(step, self.judge).map(drop)).into_iter().collect::<Result<(), _>>()?;
        let tables = |(kind, looked): (usize, &Looked)| {
            let outer = self.outer(kind);
            looked.all.iter().map(|own| Kernels::of(&own.operator, &outer).table(self.judge, self.found)).collect()
        };
        let by_kind: Vec<Vec<Table>> = self.looked.iter().enumerate().map(tables).collect::<Result<_, EngineError>>()?;
        let Some(places) = self.places(&by_kind)? else { return Ok(self.of.iter().map(|&kind| self.by_itself(kind)).collect()) };
        // Operators of a kind whose tensors lie alike take the same.
        let at: Vec<(usize, Vec<Place>)> = (0..self.of.len())
            .map(|position| (self.of[position], self.seen(position).into_iter().map(|tensor| places[tensor]).collect()))
            .collect();
        let alike: Vec<&(usize, Vec<Place>)> = at.iter().collect::<BTreeSet<_>>().into_iter().collect();
        let best = each(&alike, |(kind, places)| self.best(*kind, &by_kind[*kind], places));
        let best: HashMap<_, _> = alike.into_iter().zip(best.into_iter().collect::<Result<Vec<_>, _>>()?).collect();
        Ok(at.iter().map(|own| best[own]).collect())
    }

    /// A place for each of the plan's tensors; `None` where none are found that agree.
    fn places(&self, by_kind: &[Vec<Table>]) -> Result<Option<Vec<Place>>, EngineError> {
        let (network, plan) = (self.network, self.network.plan());
        // Another sequence has to save a part of what the operator as it is takes at least, wherever its tensors lie.
        let least = |(looked, tables): (&Looked, &Vec<Table>)| {
            let as_it_is = looked.all.iter().zip(tables).find(|(own, _)| own.name == "direct").and_then(|(_, table)| table.least());
            let asked = |name: &str| if name == "direct" { 0.0 } else { (1.0 - GAIN) * as_it_is.unwrap_or(0.0) };
            let ways = looked.all.iter().zip(tables).map(|(own, table)| table.clone().plus(asked(own.name)));
            ways.reduce(Table::or).unwrap_or_default()
        };
        let by_kind: Vec<Table> = self.looked.iter().zip(by_kind).map(least).collect();
        let (mut tables, mut steps) = (vec![], network.steps.iter());
        for (position, planned) in plan.operators.iter().enumerate() {
            let own: Vec<_> = steps.by_ref().take(planned.operator.steps.len()).collect();
            let whole = &by_kind[self.of[position]];
            // What others need of its temporaries lies somewhere, too; and of an operator of more tensors than a table has room for, each kernel
            // has one.
            match plan.shares_temporaries(position) || whole.is_empty() {
                true => {
                    for step in own {
                        let taken = self.found.by_pattern(network.families[step.family].expr(), self.judge)?;
                        tables.push(network.table(step, &taken.1));
                    }
                }
                false => tables.push(whole.renumbered(&self.seen(position))),
            }
        }
        if tables.iter().any(Table::is_empty) {
            return Ok(None);
        }
        Ok(places::least(tables, plan.tensors.len(), network.held()).ok())
    }

    /// The sequence of a kind of operator that is the fastest by itself.
    fn by_itself(&self, kind: usize) -> &'static str {
        let Looked { all, considered } = &self.looked[kind];
        let least = considered.iter().min_by(|a, b| counts(a).total_cmp(&counts(b))).map(|own| own.name);
        least.or_else(|| all.first().map(|own| own.name)).unwrap_or("direct")
    }

    /// What operators of a kind read and write.
    fn outer(&self, kind: usize) -> Vec<Outer> {
        outer(&self.network.plan().operators[self.distinct[kind].uses[0]].operator)
    }

    /// The plan's tensors that an operator reads and writes, in the order of [`outer`].
    fn seen(&self, position: usize) -> Vec<usize> {
        let planned = &self.network.plan().operators[position];
        let last = planned.operator.steps.last().map(|step| (&*step.output.name, planned.output.0));
        let all: BTreeMap<&str, usize> = last.into_iter().chain(planned.reads().map(|(own, id)| (&*own.name, id.0))).collect();
        outer(&planned.operator).iter().map(|own| all[&*own.0]).collect()
    }

    /// The name of the best sequence of a kind of operator with its tensors in these places.
    fn best(&self, kind: usize, tables: &[Table], places: &[Place]) -> Result<&'static str, EngineError> {
        let Looked { all, considered } = &self.looked[kind];
        let there = |(own, table): (&Considered, &Table)| Considered { time: table.at(places).map(Seconds), whole: true, ..own.clone() };
        let mut there: Vec<Considered> = considered.iter().zip(tables).map(there).collect();
        let at: Vec<(usize, Place)> = places.iter().copied().enumerate().collect();
        let best = best(all, &mut there, self.judge, self.found, (&self.outer(kind), &at))?;
        Ok(all.get(best).map_or("direct", |own| own.name))
    }
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
