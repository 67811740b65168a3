//! Arithmetic of one work-item; the rules are at [`OpCounts::of`].

use super::forms::Forms;
use super::{NotAffine, Obstacle};
use crate::kernel::{OpClass, OpCounts};
use crate::program::{BinaryOp, Expr, Name, Program, Stmt};
use crate::types::{Scalar, Type};
use std::collections::HashSet;

pub(super) fn count(program: &Program) -> Result<OpCounts, NotAffine> {
    let mut count = Count { program, forms: Forms::new(program)?, data: data_names(&program.body) };
    count.block(&program.body)
}

/// The names whose values reach stored data.
fn data_names(body: &[Stmt]) -> HashSet<&str> {
    let mut names = HashSet::new();
    loop {
        let before = names.len();
        reach(body, &mut names);
        if names.len() == before {
            return names;
        }
    }
}

/// One round of [`data_names`], last statement first: most definitions stand before their uses, so a second round is rare.
fn reach<'p>(block: &'p [Stmt], names: &mut HashSet<&'p str>) {
    for stmt in block.iter().rev() {
        match stmt {
            Stmt::Store { value, .. } | Stmt::StoreTexel { value, .. } | Stmt::TileFill { value, .. } => mention(value, names),
            Stmt::Atomic { value, compare, .. } => [value].into_iter().chain(compare).for_each(|e| mention(e, names)),
            Stmt::Let { name, value } | Stmt::Var { name, init: value, .. } | Stmt::Assign { name, value } if names.contains(&**name) => {
                mention(value, names);
            }
            _ => {}
        }
        for block in stmt.blocks().into_iter().rev() {
            reach(block, names);
        }
    }
}

/// The variables whose values an expression's value is made of: not those of coordinates.
fn mention<'p>(expr: &'p Expr, names: &mut HashSet<&'p str>) {
    if let Expr::Var(name) = expr {
        names.insert(name);
    }
    for operand in operands(expr) {
        mention(operand, names);
    }
}

/// The operands that are values: not coordinates, guards and lane numbers.
fn operands(expr: &Expr) -> Vec<&Expr> {
    match expr {
        Expr::Load { .. } | Expr::Texel { .. } => vec![],
        Expr::Lane(vector, _) => vec![vector],
        _ => expr.children(),
    }
}

struct Count<'p> {
    program: &'p Program,
    forms: Forms<'p>,
    data: HashSet<&'p str>,
}

impl<'p> Count<'p> {
    fn block(&mut self, block: &'p [Stmt]) -> Result<OpCounts, NotAffine> {
        let mut counts = OpCounts::default();
        for stmt in block {
            let name = |name: &Name| (name.clone(), self.data.contains(&**name));
            match stmt {
                Stmt::Let { name: n, value } | Stmt::Var { name: n, init: value, .. } | Stmt::Assign { name: n, value } => {
                    let (of, data) = name(n);
                    self.expr(&of, value, data, &mut counts)?;
                }
                Stmt::Store { target: of, value, .. } | Stmt::StoreTexel { image: of, value, .. } | Stmt::TileFill { tile: of, value } => {
                    self.expr(of, value, true, &mut counts)?;
                }
                Stmt::Atomic { target, value, compare, .. } => {
                    for value in [value].into_iter().chain(compare) {
                        self.expr(target, value, true, &mut counts)?;
                    }
                }
                Stmt::If { condition, .. } => self.expr(&self.program.name, condition, false, &mut counts)?,
                Stmt::Mma { d, a, b } => self.mma(d, a, b, &mut counts),
                _ => {}
            }
            match stmt {
                Stmt::Let { name, value } => self.forms.bind(name, value)?,
                Stmt::Var { name, ty, .. } => self.forms.bind_opaque(name, *ty, Obstacle::Mutable(name.clone())),
                Stmt::Atomic { target, old: Some(old), .. } => self.forms.bind_old(old, target),
                Stmt::For { var, from, to, step, body, .. } => {
                    let trips = self.forms.enter(var, from, to, *step)?;
                    let trips = self.forms.trips(trips).map(u64::from);
                    for ((class, scalar, width), n) in self.block(body)?.0 {
                        let trips = trips.ok_or_else(|| NotAffine::new(var, Obstacle::Trips))?;
                        counts.add(class, scalar, width, n.saturating_mul(trips));
                    }
                }
                Stmt::If { then, otherwise, .. } => {
                    let (then, otherwise) = (self.block(then)?, self.block(otherwise)?);
                    let larger = if lanes(&otherwise) > lanes(&then) { otherwise } else { then };
                    merge(&mut counts, larger);
                }
                Stmt::Scope(body) => merge(&mut counts, self.block(body)?),
                _ => {}
            }
        }
        Ok(counts)
    }

    /// Counts the operations of a value. `data` says whether it reaches stored data.
    fn expr(&self, of: &Name, expr: &Expr, data: bool, counts: &mut OpCounts) -> Result<(), NotAffine> {
        for operand in operands(expr) {
            self.expr(of, operand, data, counts)?;
        }
        let type_of = |e: &Expr| self.forms.type_of(of, e);
        let (class, ty) = match expr {
            Expr::Unary(op, a) => (OpClass::of_unary(*op), type_of(a)?),
            Expr::Binary(op, a, _) => {
                let ty = type_of(a)?;
                let special = matches!(op, BinaryOp::Div | BinaryOp::Rem) && ty.scalar.is_float();
                (if special { OpClass::Special } else { OpClass::Float }, ty)
            }
            Expr::Fma(a, ..) => (OpClass::Fma, type_of(a)?),
            Expr::Select(_, a, _) => (OpClass::Float, type_of(a)?),
            _ => return Ok(()),
        };
        let Type { scalar, width } = ty;
        match scalar {
            Scalar::Bool => {}
            Scalar::I32 if !data => {}
            _ if scalar.is_int() => counts.add(OpClass::Int, scalar, width, 1),
            _ => counts.add(class, scalar, width, 1),
        }
        Ok(())
    }

    fn mma(&self, d: &str, a: &str, b: &str, counts: &mut OpCounts) {
        let array = |name| self.program.array(name);
        if let (Some(d), Some(a), Some(_)) = (array(d), array(a), array(b)) {
            let k = a.dims.last().map_or(0, |&k| u64::from(k));
            let lanes = u64::from(self.program.launch.subgroup.unwrap_or(1).max(1));
            counts.add(OpClass::Mma, a.element, 1, (d.len() as u64 * k).div_ceil(lanes));
        }
    }
}

/// Operations of all lanes, every class alike.
fn lanes(counts: &OpCounts) -> u64 {
    counts.0.iter().map(|(&(_, _, width), &n)| u64::from(width) * n).sum()
}

fn merge(counts: &mut OpCounts, other: OpCounts) {
    for ((class, scalar, width), n) in other.0 {
        counts.add(class, scalar, width, n);
    }
}
