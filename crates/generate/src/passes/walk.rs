//! Statements, rewritten one after another.

use warpsight_ir::{Bound, Expr, Stmt};

/// What becomes of the expressions of a statement.
pub trait Rewrite {
    /// Comes before the statement's expressions are rewritten, and sees it before they are.
    fn enter(&mut self, _stmt: &Stmt) {}

    /// An expression of a statement.
    fn expr(&mut self, expr: Expr) -> Expr;

    /// A texel's coordinates where it is stored.
    fn stored(&mut self, _image: &str, x: Expr, y: Expr) -> (Expr, Expr) {
        (x, y)
    }

    /// Comes after a statement's own expressions: what to do before it.
    fn before(&mut self) -> Vec<Stmt> {
        vec![]
    }
}

/// All statements of a block, and of those nested in it.
pub fn rewrite(stmts: Vec<Stmt>, by: &mut impl Rewrite) -> Vec<Stmt> {
    let mut out = vec![];
    for stmt in stmts {
        by.enter(&stmt);
        let stmt = own(stmt, by);
        out.append(&mut by.before());
        out.push(nested(stmt, by));
    }
    out
}

fn nested(stmt: Stmt, by: &mut impl Rewrite) -> Stmt {
    match stmt {
        Stmt::For { var, from, to, step, unroll, body } => Stmt::For { var, from, to, step, unroll, body: rewrite(body, by) },
        Stmt::If { condition, then, otherwise } => Stmt::If { condition, then: rewrite(then, by), otherwise: rewrite(otherwise, by) },
        Stmt::Scope(body) => Stmt::Scope(rewrite(body, by)),
        other => other,
    }
}

fn own(stmt: Stmt, by: &mut impl Rewrite) -> Stmt {
    let each = |index: Vec<Expr>, by: &mut _| index.into_iter().map(|e| Rewrite::expr(by, e)).collect();
    match stmt {
        Stmt::Let { name, value } => Stmt::Let { name, value: by.expr(value) },
        Stmt::Var { name, ty, init } => Stmt::Var { name, ty, init: by.expr(init) },
        Stmt::Assign { name, value } => Stmt::Assign { name, value: by.expr(value) },
        Stmt::For { var, from, to, step, unroll, body } => Stmt::For { var, from: by.expr(from), to: by.expr(to), step, unroll, body },
        Stmt::If { condition, then, otherwise } => Stmt::If { condition: by.expr(condition), then, otherwise },
        Stmt::Store { target, index, value, guard, policy } => {
            Stmt::Store { target, index: each(index, by), value: by.expr(value), guard: bounds(guard, by), policy }
        }
        Stmt::StoreTexel { image, x, y, value, guard } => {
            let (x, y) = (by.expr(x), by.expr(y));
            let (x, y) = by.stored(&image, x, y);
            Stmt::StoreTexel { image, x, y, value: by.expr(value), guard: bounds(guard, by) }
        }
        Stmt::Atomic { op, target, index, value, compare, order, scope, old } => {
            let (index, value) = (each(index, by), by.expr(value));
            Stmt::Atomic { op, target, index, value, compare: compare.map(|e| by.expr(e)), order, scope, old }
        }
        Stmt::TileLoad { tile, source, index } => Stmt::TileLoad { tile, source, index: each(index, by) },
        Stmt::TileStore { target, index, tile } => Stmt::TileStore { target, index: each(index, by), tile },
        Stmt::TileFill { tile, value } => Stmt::TileFill { tile, value: by.expr(value) },
        other @ (Stmt::Scope(_) | Stmt::Barrier { .. } | Stmt::Mma { .. } | Stmt::Send { .. } | Stmt::Receive { .. }) => other,
    }
}

fn bounds(guard: Vec<Bound>, by: &mut impl Rewrite) -> Vec<Bound> {
    guard.into_iter().map(|b| Bound { value: by.expr(b.value), extent: by.expr(b.extent), per_lane: b.per_lane }).collect()
}
