//! Statements, rewritten one after another.

use warpsight_ir::{Bound, Expr, Name, Stmt};

/// What becomes of the statements of a Program.
pub trait Rewrite {
    /// A block begins: of a statement, which is seen before it is rewritten, or of the Program.
    fn begin(&mut self, _of: Option<&Stmt>) {}

    /// It ends; what to do at its end.
    fn end(&mut self) -> Vec<Stmt> {
        vec![]
    }

    /// Comes before a statement is rewritten.
    fn enter(&mut self, _stmt: &Stmt) {}

    /// Comes after a statement was, with those nested in it.
    fn leave(&mut self, _stmt: &Stmt) {}

    /// What to do before the statement at hand that nobody took yet.
    fn before(&mut self) -> Vec<Stmt> {
        vec![]
    }

    /// An expression of a statement.
    fn expr(&mut self, expr: Expr) -> Expr;

    /// The coordinates of an element that is stored.
    fn index(&mut self, _tensor: &Name, index: Vec<Expr>) -> Vec<Expr> {
        index.into_iter().map(|e| self.expr(e)).collect()
    }

    /// Those of a texel.
    fn texel(&mut self, _image: &Name, x: Expr, y: Expr) -> (Expr, Expr) {
        (self.expr(x), self.expr(y))
    }

    /// When it is stored.
    fn guard(&mut self, guard: Vec<Bound>) -> Vec<Bound> {
        guard.into_iter().map(|b| Bound { value: self.expr(b.value), extent: self.expr(b.extent), per_lane: b.per_lane }).collect()
    }
}

/// All statements of a Program, and of blocks nested in them.
pub fn rewrite(stmts: Vec<Stmt>, by: &mut impl Rewrite) -> Vec<Stmt> {
    by.begin(None);
    block(stmts, by)
}

fn block(stmts: Vec<Stmt>, by: &mut impl Rewrite) -> Vec<Stmt> {
    let mut out = vec![];
    for stmt in stmts {
        by.enter(&stmt);
        let stmt = own(stmt, by);
        // What is nested may ask for more around it.
        let mut before = by.before();
        let stmt = nested(stmt, by);
        before.append(&mut by.before());
        by.leave(&stmt);
        out.append(&mut before);
        out.push(stmt);
    }
    out.append(&mut by.end());
    out
}

fn nested(stmt: Stmt, by: &mut impl Rewrite) -> Stmt {
    if !stmt.blocks().is_empty() {
        by.begin(Some(&stmt));
    }
    match stmt {
        Stmt::For { var, from, to, step, unroll, body } => Stmt::For { var, from, to, step, unroll, body: block(body, by) },
        Stmt::If { condition, then, otherwise } => {
            let then = block(then, by);
            by.begin(None);
            Stmt::If { condition, then, otherwise: block(otherwise, by) }
        }
        Stmt::Scope(body) => Stmt::Scope(block(body, by)),
        other => other,
    }
}

/// What it evaluates itself: values before coordinates and guards.
fn own(stmt: Stmt, by: &mut impl Rewrite) -> Stmt {
    let each = |index: Vec<Expr>, by: &mut _| index.into_iter().map(|e| Rewrite::expr(by, e)).collect();
    match stmt {
        Stmt::Let { name, value } => Stmt::Let { name, value: by.expr(value) },
        Stmt::Var { name, ty, init } => Stmt::Var { name, ty, init: by.expr(init) },
        Stmt::Assign { name, value } => Stmt::Assign { name, value: by.expr(value) },
        Stmt::For { var, from, to, step, unroll, body } => Stmt::For { var, from: by.expr(from), to: by.expr(to), step, unroll, body },
        Stmt::If { condition, then, otherwise } => Stmt::If { condition: by.expr(condition), then, otherwise },
        Stmt::Store { target, index, value, guard, policy } => {
            let value = by.expr(value);
            let index = by.index(&target, index);
            Stmt::Store { target, index, value, guard: by.guard(guard), policy }
        }
        Stmt::StoreTexel { image, x, y, value, guard } => {
            let value = by.expr(value);
            let (x, y) = by.texel(&image, x, y);
            Stmt::StoreTexel { image, x, y, value, guard: by.guard(guard) }
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
