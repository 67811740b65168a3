//! What the kernels of an operator's sequence take together, where what one hands to another lies where both have it.

use crate::EngineError;
use crate::found::{Found, activations, pattern_of};
use crate::places::{self, Table};
use crate::tune::{self, Judge};
use warpsight_generate::expr::{Tensor, TensorExpr};
use warpsight_generate::operators::external_inputs;
use warpsight_generate::{Operator, Place, ScheduleFamily};
use warpsight_ir::{Name, Seconds};

/// A tensor that others than a sequence see, too: its name, and the shape in which they do.
pub type Outer = (Name, Vec<i64>);

/// What an operator reads and writes, each once.
pub fn outer(operator: &Operator) -> Vec<Outer> {
    let last = operator.steps.last().map(|step| &step.output);
    let mut all: Vec<Outer> = vec![];
    for Tensor { name, shape, .. } in external_inputs(operator).into_iter().chain(last) {
        if all.iter().all(|own| own.0 != *name) {
            all.push((name.clone(), shape.clone()));
        }
    }
    all
}

/// The kernels of an operator, its tensors numbered: those that others see first, in their order.
pub struct Kernels<'a> {
    kernels: Vec<&'a TensorExpr>,
    /// Of each kernel the numbers of what its patterns are of.
    seen: Vec<Vec<usize>>,
    /// How many tensors there are, and how many of them others see.
    count: usize,
    outer: usize,
    /// Those that others see in another shape: they lie in rows.
    held: Vec<usize>,
}

impl<'a> Kernels<'a> {
    /// Numbers the tensors of an operator; those that are not in `outer` lie where its kernels like.
    pub fn of(operator: &'a Operator, outer: &[Outer]) -> Self {
        let mut names: Vec<&str> = outer.iter().map(|own| &*own.0).collect();
        let (mut seen, mut held) = (vec![], vec![]);
        let kernels: Vec<&TensorExpr> = operator.kernels().collect();
        for step in &kernels {
            let number = |own: &'a Tensor| {
                let at = names.iter().position(|name| *name == &*own.name).unwrap_or_else(|| {
                    names.push(&own.name);
                    names.len() - 1
                });
                if outer.get(at).is_some_and(|other| other.1 != own.shape) {
                    held.push(at);
                }
                at
            };
            seen.push(activations(step).map(number).collect());
        }
        Self { kernels, seen, count: names.len(), outer: outer.len(), held }
    }

    fn tables(&self, judge: &Judge, found: &Found) -> Result<Vec<Table>, EngineError> {
        let one = |(step, seen): (&&TensorExpr, &Vec<usize>)| {
            let table = Table::by(seen, &found.by_pattern(step, judge)?.1);
            Ok(self.held.iter().fold(table, |table, &number| table.only(number, Place::Buffer)))
        };
        self.kernels.iter().zip(&self.seen).map(one).collect()
    }

    /// What it takes with the gaps between its kernels, for each choice of places of what others see; empty where a device cannot run it.
    ///
    /// # Errors
    /// What the profile lacks.
    pub fn table(&self, judge: &Judge, found: &Found) -> Result<Table, EngineError> {
        let tables = self.tables(judge, found)?;
        let between = judge.profile.gaps(self.kernels.len()).0;
        Ok(places::hiding(tables, self.outer..self.count).map(|own| own.plus(between)).unwrap_or_default())
    }

    /// The same of the best schedules that a thorough search finds with tensors that others see in these places, by number; the others lie
    /// where that takes the least. `None` where no places agree that a device can run.
    ///
    /// # Errors
    /// What the profile lacks.
    pub fn settled(&self, at: &[(usize, Place)], judge: &Judge, found: &Found) -> Result<Option<Seconds>, EngineError> {
        let tables = self.tables(judge, found)?.into_iter();
        let tables: Vec<Table> = tables.map(|own| at.iter().fold(own, |own, &(number, place)| own.only(number, place))).collect();
        if tables.iter().any(Table::is_empty) {
            return Ok(None);
        }
        let Ok(places) = places::least(tables, self.count, []) else { return Ok(None) };
        let mut sum = judge.profile.gaps(self.kernels.len()).0;
        for (step, seen) in self.kernels.iter().zip(&self.seen) {
            let family = ScheduleFamily::by((*step).clone(), judge.passes);
            let wanted: Vec<Place> = seen.iter().map(|&number| places[number]).collect();
            let best = tune::search_one(&family, judge, |config| pattern_of(&family, config).as_ref() == Some(&wanted))?;
            let Some(best) = best.first() else { return Ok(None) };
            sum += best.estimate.time.0;
        }
        Ok(Some(Seconds(sum)))
    }
}
