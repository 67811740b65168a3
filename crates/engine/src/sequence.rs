//! What the kernels of an operator's sequence take together, where what one hands to another lies where both have it.

use crate::EngineError;
use crate::found::{self, Found, places_of};
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
    all: Vec<&'a TensorExpr>,
    /// Of each kernel the numbers of what its patterns are of.
    seen: Vec<Vec<usize>>,
    /// How many tensors there are, and how many of them others see.
    count: usize,
    outer: usize,
    /// Those that are seen in another shape than first: they lie in rows.
    held: Vec<usize>,
    /// Of each tensor, whether one of the kernels hands it to another.
    handed: Vec<bool>,
}

impl<'a> Kernels<'a> {
    /// Numbers the tensors of an operator; those that are not in `outer` lie where its kernels like.
    pub fn of(operator: &'a Operator, outer: &[Outer]) -> Self {
        let mut known: Vec<(&str, &[i64])> = outer.iter().map(|own| (&*own.0, &*own.1)).collect();
        let mut held = vec![];
        let all: Vec<&TensorExpr> = operator.kernels().collect();
        let mut number = |own: &'a Tensor| {
            let at = known.iter().position(|other| other.0 == &*own.name).unwrap_or(known.len());
            match known.get(at) {
                None => known.push((&own.name, &own.shape)),
                Some(other) if other.1 != own.shape => held.push(at),
                Some(_) => {}
            }
            at
        };
        let seen: Vec<Vec<usize>> =
            all.iter().map(|step| found::seen(step, step.inputs.iter().chain([&step.output])).map(&mut number).collect()).collect();
        let (written, read): (Vec<usize>, Vec<&[usize]>) =
            seen.iter().filter_map(|own| own.split_last().map(|(last, rest)| (*last, rest))).unzip();
        let handed = (0..known.len()).map(|at| written.contains(&at) && read.iter().any(|own| own.contains(&at))).collect();
        Self { all, seen, count: known.len(), outer: outer.len(), held, handed }
    }

    /// What each kernel takes, with the gap behind it where another follows.
    fn tables(&self, judge: &Judge, found: &Found) -> Result<Vec<Table>, EngineError> {
        let one = |(at, (step, seen)): (usize, (&&TensorExpr, &Vec<usize>))| {
            let table = Table::by(seen, &found.by_pattern(step, judge)?.1).map(|time| time + self.gap_behind(at, time, judge));
            Ok(self.held.iter().fold(table, |table, &number| table.only(number, Place::Buffer)))
        };
        self.all.iter().zip(&self.seen).enumerate().map(one).collect()
    }

    /// What lies between a kernel that takes so many seconds and the next one, if there is one.
    fn gap_behind(&self, at: usize, time: f64, judge: &Judge) -> f64 {
        if at + 1 < self.all.len() { judge.profile.gap_behind(Seconds(time)).0 } else { 0.0 }
    }

    /// What it takes with the gaps between its kernels, for each choice of places of what others see; empty where a device cannot run it, or where
    /// these are more than a table holds.
    ///
    /// # Errors
    /// What the profile lacks.
    pub fn table(&self, judge: &Judge, found: &Found) -> Result<Table, EngineError> {
        Ok(places::hiding(self.tables(judge, found)?, self.outer..self.count).unwrap_or_default())
    }

    /// The same of the best schedules that a thorough search finds where what one kernel hands to another lies where both have it, and what others
    /// see in these places, by number; the rest lies wherever kernels like. `None` where no places agree that a device can run.
    ///
    /// # Errors
    /// What the profile lacks.
    pub fn settled(&self, at: &[(usize, Place)], judge: &Judge, found: &Found) -> Result<Option<Seconds>, EngineError> {
        let fixed = |number: usize| self.handed[number] || at.iter().any(|own| own.0 == number);
        let mut places = vec![Place::Buffer; self.count];
        // Of one kernel whose tensors lie wherever it likes no patterns are compared.
        if self.seen.iter().flatten().any(|&number| fixed(number)) {
            let tables = self.tables(judge, found)?.into_iter();
            let tables: Vec<Table> = tables.map(|own| at.iter().fold(own, |own, &(number, place)| own.only(number, place))).collect();
            if tables.iter().any(Table::is_empty) {
                return Ok(None);
            }
            let Ok(agreed) = places::least(tables, self.count, []) else { return Ok(None) };
            places = agreed;
        }
        let mut times = vec![];
        for (step, seen) in self.all.iter().zip(&self.seen) {
            let family = ScheduleFamily::by((*step).clone(), judge.passes);
            let pattern: Vec<Option<Place>> = seen.iter().map(|&number| fixed(number).then(|| places[number])).collect();
            let best = tune::search_one(&family, judge, &places_of(step, &pattern))?;
            let Some(best) = best.first() else { return Ok(None) };
            times.push(best.estimate.time);
        }
        Ok(Some(judge.profile.in_turn(times)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpsight_generate::candidates;
    use warpsight_generate::operators::parse_operator;

    /// What is handed on is what one kernel writes and another reads; tensors that are seen in two shapes are held in rows.
    #[test]
    fn tensors_between_kernels_are_told_from_those_that_others_see() {
        let conv = parse_operator("conv2d n=1 c=64 h=14 w=14 k=64 r=3 s=3 stride=1 pad=1").expect("an operator");
        let mut seen = outer(&conv);
        assert_eq!(seen.len(), 3, "input, taps, output: {seen:?}");
        let all = candidates(&conv);
        let named = |name: &str| &all.iter().find(|own| own.name == name).expect("offered").operator;
        let numbered = |name: &str, seen: &[Outer]| {
            let own = Kernels::of(named(name), seen);
            let handed = (0..own.count).filter(|&at| own.handed[at]).collect::<Vec<_>>();
            (own.all.len(), handed, own.held)
        };
        assert_eq!(numbered("direct", &seen), (1, vec![], vec![]));
        // Tiles of the input and of the products; the taps' are constants.
        assert_eq!(numbered("winograd2", &seen), (3, vec![3, 4], vec![]));
        // Nothing lies outside: input and output are numbered as kernels meet them.
        assert_eq!(numbered("winograd2", &[]).1.len(), 2);
        // Others see the output as a row.
        seen[2].1 = vec![64 * 14 * 14];
        assert_eq!((numbered("direct", &seen).2, numbered("winograd2", &seen).2), (vec![2], vec![2]));
    }
}
