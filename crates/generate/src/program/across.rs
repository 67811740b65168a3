//! Results that are normalised along rows before they are stored.

use super::value::{literal, splat};
use super::{At, Here, Writer, meet};
use crate::expr::{Across, AxisId, Pass, Reduction, ScalarExpr};
use crate::nest::across::Held;
use crate::nest::{Items, Offsets};
use warpsight_ir::{BinaryOp, Expr, Name, Stmt, Type};

impl Writer<'_> {
    /// The walk over the reduction, whose results stay in their accumulators, and what is made of rows of them.
    pub fn rows(&self, pass: Pass, across: &Across, tile: &[Offsets]) -> Option<Vec<Stmt>> {
        let width = self.nest.out_width();
        let ty = Type::vector(self.nest.number, width);
        let mut stmts = if self.expr.reduce.is_empty() {
            let zero = || splat(literal(ty.scalar, 0.0), width);
            (0..tile.len()).map(|n| Stmt::Var { name: self.held(n), ty, init: zero() }).collect()
        } else {
            self.reduction(pass, tile)?
        };
        if self.expr.reduce.is_empty() || *pass.epilogue != ScalarExpr::Acc {
            stmts.extend(tile.iter().enumerate().map(|(n, at)| {
                let (mut own, value) = self.result(pass, n, at);
                own.push(Stmt::Assign { name: self.held(n), value });
                Stmt::Scope(own)
            }));
        }
        let rows = self.first_of_rows(across.along, tile);
        for (number, made) in across.made.iter().enumerate() {
            let ty = Type::vector(self.nest.number, self.nest.row_width(across.along));
            let start = || splat(literal(ty.scalar, made.combine.start()), ty.width);
            stmts.extend((0..rows.len()).map(|row| Stmt::Var { name: self.names.before(number, row), ty, init: start() }));
            stmts.push(Stmt::Scope(self.made(across, number, made, (tile, &rows))));
        }
        let none = self.unlooped();
        stmts.extend(tile.iter().enumerate().map(|(n, at)| {
            let mut items = self.nest.items_at([&across.epilogue], at);
            let mut own = self.lets(&items.list, Here { looped: &none, copied: None });
            let here = At { tile: at, point: &[], width, looped: &none };
            let value = self.value(&across.epilogue, here, &mut items, Some(&self.number(Expr::Var(self.held(n)), width)));
            own.push(Stmt::Let { name: self.names.value(), value: self.stored_value(value, width) });
            self.store(here, &mut own);
            Stmt::Scope(own)
        }));
        Some(stmts)
    }

    /// The variable that holds the result of a point.
    fn held(&self, n: usize) -> Name {
        self.names.acc(n, (0, 1))
    }

    /// A point of each row.
    fn first_of_rows<'t>(&self, along: AxisId, tile: &'t [Offsets]) -> Vec<&'t Offsets> {
        tile.iter().filter(|at| at[along.0] == 0).collect()
    }

    /// What a reduction across rows comes to.
    fn made(&self, across: &Across, number: usize, made: &Reduction, (tile, rows): (&[Offsets], &[&Offsets])) -> Vec<Stmt> {
        let (width, none, operation) = (self.nest.out_width(), self.unlooped(), made.combine.operation());
        let ty = Type::vector(self.nest.number, width);
        let start = literal(ty.scalar, made.combine.start());
        let part = |row: usize| self.names.part(row);
        let mut stmts: Vec<Stmt> =
            (0..rows.len()).map(|row| Stmt::Var { name: part(row), ty, init: splat(start.clone(), width) }).collect();
        for (n, at) in tile.iter().enumerate() {
            let here = At { tile: at, point: &[], width, looped: &none };
            let held = self.number(Expr::Var(self.held(n)), width);
            let mut value = self.lanes_of(self.value(&made.body, here, &mut Items::default(), Some(&held)), width);
            if made.kept {
                stmts.push(Stmt::Assign { name: self.held(n), value });
                value = Expr::Var(self.held(n));
            }
            let row = part(self.nest.row(across.along, at));
            let put = |value: Expr| Stmt::Assign { name: row.clone(), value: Expr::binary(operation, Expr::Var(row.clone()), value) };
            stmts.extend(match self.nest.held(across.along, at) {
                None => Some(put(value)),
                Some(own) => self.where_held(across.along, own, value, &start, &put),
            });
        }
        let folded = |row: usize, own: &mut Vec<Stmt>| {
            self.halved(made.combine, Expr::Var(self.names.part(row)), self.nest.row_folds(across.along), own)
        };
        let result = |row: usize, acc: Expr| self.row_result(across.along, (number, made), (row, rows[row]), acc);
        let Some(partials) = self.nest.partials() else {
            stmts.extend((0..rows.len()).map(|row| {
                let mut own = vec![];
                let value = folded(row, &mut own);
                own.push(result(row, value));
                Stmt::Scope(own)
            }));
            return stmts;
        };
        self.combine_lanes(&partials, made.combine, folded, &mut stmts);
        stmts.push(meet());
        stmts.extend((0..rows.len()).map(|row| {
            let total = Stmt::Let { name: self.names.total(), value: self.partial_value(&partials, row, None) };
            Stmt::Scope(vec![total, result(row, Expr::Var(self.names.total()))])
        }));
        // What a row came to is read before others take its place.
        stmts.extend((number + 1 < across.made.len()).then(meet));
        stmts
    }

    /// A value combined by the lanes that have it, as far as they do.
    fn where_held(&self, along: AxisId, own: Held, value: Expr, start: &Expr, put: &impl Fn(Expr) -> Stmt) -> Option<Stmt> {
        let below = |blocks: i64| Expr::binary(BinaryOp::Lt, Expr::Var(self.names.block(along)), Expr::int(blocks));
        let all = |value: Expr, otherwise: Vec<Stmt>| Stmt::If { condition: below(own.whole), then: vec![put(value)], otherwise };
        if own.rest == 0 {
            return (own.whole > 0).then(|| all(value, vec![]));
        }
        let value = Stmt::Let { name: self.names.value(), value };
        let whole = || Expr::Var(self.names.value());
        let lane = |lane: u8| Expr::Slice { vector: Box::new(whole()), start: lane, width: 1 };
        let lanes = (0..self.nest.width()).map(|n| if n < own.rest { lane(n) } else { start.clone() });
        let first = Stmt::If { condition: below(own.whole + 1), then: vec![put(Expr::Concat(lanes.collect()))], otherwise: vec![] };
        let first = if own.whole == 0 { first } else { all(whole(), vec![first]) };
        Some(Stmt::Scope(vec![value, first]))
    }

    /// What a row comes to, of its combined value.
    fn row_result(&self, along: AxisId, (number, made): (usize, &Reduction), (row, at): (usize, &Offsets), acc: Expr) -> Stmt {
        let (none, width) = (self.unlooped(), self.nest.row_width(along));
        let here = At { tile: at, point: &[], width, looped: &none };
        let value = self.value(&made.epilogue, here, &mut Items::default(), Some(&self.number(acc, width)));
        Stmt::Assign { name: self.names.before(number, row), value: self.lanes_of(value, width) }
    }
}
