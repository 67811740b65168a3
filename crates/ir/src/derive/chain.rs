//! How long operations of a work-item wait for each other; the rule is at [`Kernel::chain`](crate::Kernel::chain).

use super::forms::Forms;
use super::{NotAffine, Obstacle};
use crate::program::{Name, Program, Stmt};
use std::collections::BTreeMap;

/// The chain of a Program; `None` where a loop that is part of one has no known trips.
pub(super) fn chain(program: &Program) -> Result<Option<u64>, NotAffine> {
    let mut walk = Walk { forms: Forms::new(program)? };
    Ok(walk.block(&program.body)?.map(|found| found.within))
}

struct Walk<'p> {
    forms: Forms<'p>,
}

/// What a block comes to.
#[derive(Default)]
struct Found<'p> {
    /// How often each variable from outside of it is updated.
    updates: BTreeMap<&'p Name, u64>,
    /// The chains of its own.
    within: u64,
}

impl<'p> Walk<'p> {
    fn block(&mut self, block: &'p [Stmt]) -> Result<Option<Found<'p>>, NotAffine> {
        let mut all = Found::default();
        let mut declared: Vec<&Name> = vec![];
        for stmt in block {
            let found = match stmt {
                Stmt::Assign { name, value } if value.mentions(name) => Some(Found { updates: [(name, 1)].into(), within: 0 }),
                Stmt::Scope(body) => self.block(body)?,
                Stmt::For { var, from, to, step, body, .. } => {
                    let var = self.forms.enter(var, from, to, *step)?;
                    let trips = self.forms.trips(var).map(u64::from);
                    self.block(body)?.and_then(|found| found.times(trips))
                }
                Stmt::If { then, otherwise, .. } => {
                    self.block(then)?.zip(self.block(otherwise)?).map(|(then, otherwise)| then.either(otherwise))
                }
                _ => Some(Found::default()),
            };
            match stmt {
                Stmt::Let { name, value } => self.forms.bind(name, value)?,
                Stmt::Var { name, ty, .. } => {
                    self.forms.bind_opaque(name, *ty, Obstacle::Mutable(name.clone()));
                    declared.push(name);
                }
                Stmt::Atomic { target, old: Some(old), .. } => self.forms.bind_old(old, target),
                _ => {}
            }
            let Some(found) = found else { return Ok(None) };
            all.follow(found);
        }
        let own = declared.into_iter().filter_map(|name| all.updates.remove(name)).max();
        all.within = all.within.saturating_add(own.unwrap_or(0));
        Ok(Some(all))
    }
}

impl Found<'_> {
    /// The same so many times; `None` where that is not known and matters.
    fn times(mut self, trips: Option<u64>) -> Option<Self> {
        let trips = if self.updates.is_empty() && self.within == 0 { 1 } else { trips? };
        self.updates.values_mut().for_each(|own| *own = own.saturating_mul(trips));
        Some(Self { within: self.within.saturating_mul(trips), ..self })
    }

    /// One side or the other, the longer of each.
    fn either(mut self, other: Self) -> Self {
        other.updates.into_iter().for_each(|(name, own)| {
            let most = self.updates.entry(name).or_default();
            *most = own.max(*most);
        });
        Self { within: self.within.max(other.within), ..self }
    }

    /// This, then another.
    fn follow(&mut self, next: Self) {
        next.updates.into_iter().for_each(|(name, own)| {
            let sum = self.updates.entry(name).or_default();
            *sum = sum.saturating_add(own);
        });
        self.within = self.within.saturating_add(next.within);
    }
}
