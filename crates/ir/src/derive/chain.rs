//! How long operations of a work-item wait for each other; the rule is at [`Kernel::chain`](crate::Kernel::chain).

use crate::program::{Name, Program, Stmt};
use std::collections::BTreeMap;

/// The chain of a Program whose loops have these trips, in order of appearance; `None` where one that is part of it has none.
pub(super) fn chain(program: &Program, mut trips: impl Iterator<Item = Option<u32>>) -> Option<u64> {
    Some(block(&program.body, &mut trips)?.within)
}

/// What a block comes to.
#[derive(Default)]
struct Found<'p> {
    /// How often each variable from outside of it is updated.
    updates: BTreeMap<&'p Name, u64>,
    /// The chains of its own.
    within: u64,
}

fn block<'p>(stmts: &'p [Stmt], trips: &mut impl Iterator<Item = Option<u32>>) -> Option<Found<'p>> {
    let mut all = Found::default();
    let mut declared: Vec<&Name> = vec![];
    for stmt in stmts {
        all.follow(match stmt {
            Stmt::Var { name, .. } => {
                declared.push(name);
                Found::default()
            }
            Stmt::Assign { name, value } if value.mentions(name) => Found { updates: [(name, 1)].into(), within: 0 },
            Stmt::Scope(body) => block(body, trips)?,
            Stmt::For { body, .. } => {
                let own = trips.next().flatten();
                block(body, trips)?.times(own)?
            }
            Stmt::If { then, otherwise, .. } => block(then, trips)?.either(block(otherwise, trips)?),
            _ => Found::default(),
        });
    }
    let own = declared.into_iter().filter_map(|name| all.updates.remove(name)).max();
    all.within = all.within.saturating_add(own.unwrap_or(0));
    Some(all)
}

impl Found<'_> {
    /// The same so many times; `None` where that is not known and matters.
    fn times(mut self, trips: Option<u32>) -> Option<Self> {
        let trips = if self.updates.is_empty() && self.within == 0 { 1 } else { u64::from(trips?) };
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
