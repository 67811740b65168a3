//! Loops in two versions. Few work-items reach over an edge of a tensor, and which of them do is often known before a loop begins: then one
//! condition in front of it answers what its loads would ask in every trip, and the loop is written once without these questions, for
//! work-items inside, and once with them.

use super::text::{ADD, conjunction};
use super::{Dialect, Result, Writer};
use crate::index::{add, fold, split, sub};
use crate::names::declared;
use warpsight_ir::{Bound, Expr, Name, Scalar, Stmt, Unroll};

/// Trips from which on a second version of a loop is worth its text.
const TRIPS: i128 = 4;

/// Bounds of values that differ in constants only, known to hold.
pub(super) struct Inside {
    /// What the values have in common.
    base: Expr,
    extent: Expr,
    /// `0 ≤ base + low`.
    low: Option<i64>,
    /// `base + at + lanes ≤ extent`: the place that reaches furthest.
    high: Option<(i64, u8)>,
}

impl Inside {
    fn reach(&self) -> Option<i64> {
        self.high.map(|(at, lanes)| at + i64::from(lanes))
    }
}

impl<D: Dialect> Writer<'_, D> {
    /// Writes a loop with what is to be written of it, in two versions where that is worth it. Loops to be unrolled are left to the compiler,
    /// which may want all their loads in flight at once; those in which work-items meet need all of them in one version.
    pub(super) fn versions(&mut self, stmt: &Stmt, write: impl Fn(&mut Self) -> Result<()>) -> Result<()> {
        let found = match stmt {
            Stmt::For { var, from, to, step, unroll: Unroll::None | Unroll::Auto, body } if !self.at_edges && !stmt.is_collective() => {
                let trips =
                    self.ranges.of_loop(&fold(from.clone()), &fold(to.clone())).map(|all| (all.hi - all.lo) / i128::from(*step) + 1);
                if trips.is_some_and(|trips| trips >= TRIPS) { self.decided(var, body) } else { vec![] }
            }
            _ => vec![],
        };
        if found.is_empty() {
            return write(self);
        }
        let mut conditions = vec![];
        for own in &found {
            if let Some(low) = own.low {
                conditions.push(format!("{} >= 0", self.expr(&add(own.base.clone(), Expr::int(low)))?.at(ADD)));
            }
            if let Some((at, lanes)) = own.high {
                let last = sub(own.extent.clone(), Expr::int(lanes.into()));
                conditions.push(format!("{} <= {}", self.expr(&add(own.base.clone(), Expr::int(at)))?.at(ADD), self.expr(&last)?.at(ADD)));
            }
        }
        self.line(format!("if ({}) {{", conjunction(&conditions)));
        let before = self.inside.len();
        self.inside.extend(found);
        let fast = self.captured(&write)?;
        self.inside.truncate(before);
        self.lines.extend(fast);
        self.line("} else {");
        self.at_edges = true;
        let slow = self.captured(&write)?;
        self.at_edges = false;
        self.lines.extend(slow);
        self.line("}");
        Ok(())
    }

    /// Whether `0 ≤ value`, and whether `value + lanes ≤ extent`, are known to hold in the version at hand.
    pub(super) fn known_inside(&self, value: &Expr, extent: &Expr, lanes: u8) -> (bool, bool) {
        let (base, at) = split(value.clone());
        let at = i64::from(at);
        let known = |holds: &dyn Fn(&Inside) -> bool| self.inside.iter().any(|own| own.base == base && own.extent == *extent && holds(own));
        (known(&|own| own.low.is_some_and(|low| low <= at)), known(&|own| own.reach().is_some_and(|reach| at + i64::from(lanes) <= reach)))
    }

    /// What the loads of a loop ask that is decided before it.
    fn decided(&self, var: &Name, body: &[Stmt]) -> Vec<Inside> {
        let mut inner = vec![var];
        declared(body, &mut inner);
        let mut found = Vec::<Inside>::new();
        each_load(body, &mut |guard, width| {
            for bound in guard {
                let (value, extent) = (fold(bound.value.clone()), fold(bound.extent.clone()));
                let lanes = if bound.per_lane { width } else { 1 };
                let (low, high) = self.open_sides(&value, &extent, lanes);
                let before = |e: &Expr| self.is_fixed(e) && !inner.iter().any(|name| e.mentions(name));
                // Of unknown range, a value might wrap between the constants.
                let ranged = self.ranges.of(&value, Scalar::I32).is_some();
                if !(low || high) || !ranged || !before(&value) || !before(&extent) {
                    continue;
                }
                let (base, at) = split(value);
                let at = i64::from(at);
                let known = found.iter().position(|own| own.base == base && own.extent == extent).unwrap_or_else(|| {
                    found.push(Inside { base, extent, low: None, high: None });
                    found.len() - 1
                });
                let own = &mut found[known];
                if low {
                    own.low = Some(own.low.map_or(at, |low| low.min(at)));
                }
                if high && own.reach().is_none_or(|reach| at + i64::from(lanes) > reach) {
                    own.high = Some((at, lanes));
                }
            }
        });
        found
    }
}

/// The guard of each load, and its width.
fn each_load(stmts: &[Stmt], f: &mut impl FnMut(&[Bound], u8)) {
    fn visit(expr: &Expr, f: &mut impl FnMut(&[Bound], u8)) {
        match expr {
            Expr::Load { guard, width, .. } => f(guard, *width),
            Expr::Texel { guard, .. } => f(guard, 1),
            _ => {}
        }
        expr.children().into_iter().for_each(|child| visit(child, f));
    }
    for stmt in stmts {
        stmt.exprs().into_iter().for_each(|expr| visit(expr, f));
        stmt.blocks().into_iter().for_each(|block| each_load(block, f));
    }
}
