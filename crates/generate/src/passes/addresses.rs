//! Common address calculation elimination (paper 001, Algorithm 1).
//!
//! Buffers become one-dimensional: a coordinate vector turns into one linear address. Of every address (and every bound) the part that
//! varies is computed once per loop level, as `let`s; what is left at the access is that variable plus a constant. Many mobile
//! compilers do neither by themselves.
//!
//! Proof of range: a tensor is linearised only where every partial sum stays within 31 bits for all values the
//! axes and loops can take; otherwise it keeps its coordinate vectors.

use super::walk::{Rewrite, rewrite};
use std::collections::HashMap;
use warpsight_ir::range::{Interval, Ranges};
use warpsight_ir::{Affine, BinaryOp, Bound, Expr, Name, ParamKind, Program, Scalar, Stmt, Type};

/// What is computed once beside addresses.
#[derive(Clone, Copy, Debug)]
pub struct Sharing {
    /// What bounds ask.
    pub bounds: bool,
    /// Whether multiples of a loop's variable become sums from trip to trip.
    pub strength: bool,
}

/// Rewrites a Program whose loops and axes have constant extents; what is not affine stays as it is.
pub fn eliminate(mut program: Program, sharing: Sharing) -> Program {
    let mut survey =
        Survey { ranges: Ranges::of_program(&program), strides: strides(&program), failed: vec![], strength: sharing.strength };
    survey.block(&program.body);
    let Survey { strides: mut linear, failed, .. } = survey;
    linear.retain(|name, _| !failed.contains(name));
    for param in &mut program.params {
        if let (ParamKind::Buffer { dims, .. }, Some(strides)) = (&mut param.kind, linear.get(&param.name)) {
            *dims = vec![Expr::int(strides.elements)];
        }
    }
    let first: Vec<Name> =
        program.launch.groups.iter().map(|a| &a.name).chain(program.launch.lanes.iter().map(|a| &a.name)).cloned().collect();
    let mut rewriter = Rewriter { linear, levels: vec![], count: 0, names: names_of(&program), sharing, first };
    program.body = rewrite(program.body, &mut rewriter);
    program
}

/// How a buffer's coordinates become an address.
struct Strides {
    per_dim: Vec<i64>,
    elements: i64,
}

fn strides(program: &Program) -> HashMap<Name, Strides> {
    let mut all = HashMap::new();
    for param in &program.params {
        let ParamKind::Buffer { dims, .. } = &param.kind else { continue };
        let Some(extents) = dims.iter().map(Expr::as_int).collect::<Option<Vec<_>>>() else { continue };
        let mut per_dim = vec![1; extents.len()];
        for d in (1..extents.len()).rev() {
            per_dim[d - 1] = per_dim[d] * extents[d];
        }
        all.insert(param.name.clone(), Strides { per_dim, elements: extents.iter().product() });
    }
    all
}

/// A form in the names in scope.
type Form = Affine<Name>;

fn form(expr: &Expr) -> Option<Form> {
    match expr {
        Expr::Const(c) => Some(Form::constant(c.as_int()?)),
        Expr::Var(name) => Some(Form::var(name.clone())),
        Expr::Binary(op, a, b) => match (op, form(a)?, form(b)?) {
            (BinaryOp::Add, a, b) => a.plus(&b, 1),
            (BinaryOp::Sub, a, b) => a.plus(&b, -1),
            (BinaryOp::Mul, a, b) if a.is_constant() => b.times(a.constant),
            (BinaryOp::Mul, a, b) if b.is_constant() => a.times(b.constant),
            _ => None,
        },
        _ => None,
    }
}

fn address(index: &[Expr], strides: &[i64]) -> Option<Form> {
    let mut sum = Form::default();
    index.iter().zip(strides).try_for_each(|(e, &stride)| sum.add(&form(e)?, stride))?;
    Some(sum)
}

/// Finds the tensors that cannot be linearised.
struct Survey {
    ranges: Ranges,
    strides: HashMap<Name, Strides>,
    failed: Vec<Name>,
    strength: bool,
}

impl Survey {
    fn block(&mut self, stmts: &[Stmt]) {
        for stmt in stmts {
            match stmt {
                Stmt::Let { name, value } => self.ranges.declare(name, self.ranges.of(value, Scalar::I32)),
                Stmt::Var { name, .. } => self.ranges.declare(name, None),
                Stmt::For { var, from, to, step, .. } => {
                    // A sum that goes on from trip to trip does so after the last one, too.
                    let beyond = if self.strength { i128::from(*step) } else { 0 };
                    let values = self.ranges.of_loop(from, to).map(|own| Interval { hi: own.hi + beyond, ..own });
                    self.ranges.declare(var, values);
                }
                Stmt::Store { target, index, .. } => self.access(target, index),
                Stmt::Atomic { target, .. } | Stmt::TileStore { target, .. } => self.failed.push(target.clone()),
                Stmt::TileLoad { source, .. } => self.failed.push(source.clone()),
                _ => {}
            }
            for e in stmt.exprs() {
                self.expr(e);
            }
            for block in stmt.blocks() {
                self.block(block);
            }
        }
    }
    fn expr(&mut self, e: &Expr) {
        if let Expr::Load { source, index, .. } = e {
            self.access(source, index);
        }
        for child in e.children() {
            self.expr(child);
        }
    }
    fn access(&mut self, tensor: &Name, index: &[Expr]) {
        let Some(strides) = self.strides.get(tensor) else { return };
        let sums = address(index, &strides.per_dim).and_then(|form| form.partial_sums(|name| self.ranges.get(&name)));
        if !sums.is_some_and(|sums| sums.fits(Scalar::I32)) || strides.elements > i64::from(i32::MAX) {
            self.failed.push(tensor.clone());
        }
    }
}

/// A loop level while it is rewritten.
#[derive(Default)]
struct Level {
    /// Variables declared here.
    vars: Vec<Name>,
    /// Sums computed here, by their terms.
    known: HashMap<Vec<(Name, i32)>, Name>,
    /// Declarations to put before the statement at hand.
    pending: Vec<Stmt>,
    /// How the variable of the loop whose body this is goes on, where multiples of it are summed up.
    counter: Option<Counter>,
    /// What each trip ends with.
    ending: Vec<Stmt>,
}

/// A loop's variable.
#[derive(Clone)]
struct Counter {
    var: Name,
    from: Expr,
    step: u32,
}

struct Rewriter {
    linear: HashMap<Name, Strides>,
    levels: Vec<Level>,
    count: usize,
    names: Vec<Name>,
    sharing: Sharing,
    /// Axes, which the outermost level declares.
    first: Vec<Name>,
}

impl Rewrite for Rewriter {
    fn begin(&mut self, of: Option<&Stmt>) {
        let mut level = Level { vars: std::mem::take(&mut self.first), ..Level::default() };
        if let Some(Stmt::For { var, from, step, .. }) = of {
            level.vars.push(var.clone());
            level.counter = self.sharing.strength.then(|| Counter { var: var.clone(), from: from.clone(), step: *step });
        }
        self.levels.push(level);
    }

    fn end(&mut self) -> Vec<Stmt> {
        self.levels.pop().map(|level| level.ending).unwrap_or_default()
    }

    fn leave(&mut self, stmt: &Stmt) {
        if let (Stmt::Let { name, .. } | Stmt::Var { name, .. }, Some(level)) = (stmt, self.levels.last_mut()) {
            level.vars.push(name.clone());
        }
    }

    fn before(&mut self) -> Vec<Stmt> {
        self.levels.last_mut().map(|level| std::mem::take(&mut level.pending)).unwrap_or_default()
    }

    fn expr(&mut self, e: Expr) -> Expr {
        e.map(&mut |node| match node {
            Expr::Load { source, index, width, guard } => {
                Expr::Load { index: self.index(&source, index), guard: self.guard(guard), source, width }
            }
            Expr::Texel { image, x, y, guard } => {
                Expr::Texel { image, x: Box::new(self.sum(*x)), y: Box::new(self.sum(*y)), guard: self.guard(guard) }
            }
            other => other,
        })
    }

    fn index(&mut self, tensor: &Name, index: Vec<Expr>) -> Vec<Expr> {
        // The survey admitted only tensors whose every address is linear.
        match self.linear.get(tensor).and_then(|s| address(&index, &s.per_dim)) {
            Some(address) => vec![self.materialise(&address, &mentioned(&index))],
            None => index.into_iter().map(|e| self.sum(e)).collect(),
        }
    }

    fn texel(&mut self, _image: &Name, x: Expr, y: Expr) -> (Expr, Expr) {
        (self.sum(x), self.sum(y))
    }

    fn guard(&mut self, guard: Vec<Bound>) -> Vec<Bound> {
        if !self.sharing.bounds {
            return guard;
        }
        guard.into_iter().map(|b| Bound { value: self.sum(b.value), ..b }).collect()
    }
}

impl Rewriter {
    fn sum(&mut self, e: Expr) -> Expr {
        match form(&e) {
            Some(form) => self.materialise(&form, &mentioned(std::slice::from_ref(&e))),
            None => e,
        }
    }

    /// A form as an expression whose variable part is declared level by level, outermost first; in each, variables in the given order.
    fn materialise(&mut self, form: &Form, order: &[Name]) -> Expr {
        let mut terms: Vec<(Name, i32)> = vec![];
        let mut sum: Option<Expr> = None;
        for depth in 0..self.levels.len() {
            let mut here: Vec<_> = form.terms().iter().filter(|t| self.levels[depth].vars.contains(&t.0)).cloned().collect();
            here.sort_by_key(|t| order.iter().position(|name| *name == t.0));
            if here.is_empty() {
                continue;
            }
            terms.extend(here.iter().cloned());
            if let [(name, 1)] = &terms[..] {
                sum = Some(Expr::Var(name.clone()));
                continue;
            }
            if let Some(name) = self.levels[depth].known.get(&terms) {
                sum = Some(Expr::Var(name.clone()));
                continue;
            }
            let name = self.fresh();
            let step = self.levels[depth].counter.clone().filter(|counter| matches!(&here[..], [(own, _)] if *own == counter.var));
            match step {
                Some(counter) => self.count_up(depth, &name, sum, &counter, here[0].1),
                None => {
                    let value = summed(sum.into_iter().chain(here.iter().map(|(n, c)| scaled(Expr::Var(n.clone()), i64::from(*c)))));
                    self.levels[depth].pending.push(Stmt::Let { name: name.clone(), value });
                }
            }
            self.levels[depth].known.insert(terms.clone(), name.clone());
            sum = Some(Expr::Var(name));
        }
        match (sum, form.constant) {
            (None, c) => Expr::int(c),
            (Some(sum), 0) => sum,
            (Some(sum), c) if c < 0 => Expr::binary(BinaryOp::Sub, sum, Expr::int(-c)),
            (Some(sum), c) => Expr::binary(BinaryOp::Add, sum, Expr::int(c)),
        }
    }

    /// Declares `sum + factor × var` before the loop at this depth, and adds to it at the end of each trip.
    fn count_up(&mut self, depth: usize, name: &Name, sum: Option<Expr>, counter: &Counter, factor: i32) {
        let factor = i64::from(factor);
        let init = match (counter.from.as_int(), sum) {
            (Some(0), Some(sum)) => sum,
            (Some(from), sum) => summed(sum.into_iter().chain([Expr::int(from * factor)])),
            (None, sum) => summed(sum.into_iter().chain([scaled(counter.from.clone(), factor)])),
        };
        self.levels[depth - 1].pending.push(Stmt::Var { name: name.clone(), ty: Type::scalar(Scalar::I32), init });
        let next = summed([Expr::Var(name.clone()), Expr::int(factor * i64::from(counter.step))]);
        self.levels[depth].ending.push(Stmt::Assign { name: name.clone(), value: next });
    }

    fn fresh(&mut self) -> Name {
        loop {
            let name: Name = format!("at{}", self.count).into();
            self.count += 1;
            if !self.names.contains(&name) {
                return name;
            }
        }
    }
}

/// The variables of expressions in the order in which they first appear.
fn mentioned(exprs: &[Expr]) -> Vec<Name> {
    fn visit(e: &Expr, names: &mut Vec<Name>) {
        match e {
            Expr::Var(name) if !names.contains(name) => names.push(name.clone()),
            _ => e.children().into_iter().for_each(|child| visit(child, names)),
        }
    }
    let mut names = vec![];
    exprs.iter().for_each(|e| visit(e, &mut names));
    names
}

fn summed(parts: impl IntoIterator<Item = Expr>) -> Expr {
    parts.into_iter().reduce(|a, b| Expr::binary(BinaryOp::Add, a, b)).unwrap_or(Expr::int(0))
}

fn scaled(value: Expr, factor: i64) -> Expr {
    if factor == 1 { value } else { Expr::binary(BinaryOp::Mul, value, Expr::int(factor)) }
}

/// Every name a Program uses.
pub(super) fn names_of(program: &Program) -> Vec<Name> {
    fn declared(stmts: &[Stmt], names: &mut Vec<Name>) {
        for stmt in stmts {
            match stmt {
                Stmt::Let { name, .. } | Stmt::Var { name, .. } | Stmt::For { var: name, .. } => names.push(name.clone()),
                Stmt::Atomic { old: Some(name), .. } => names.push(name.clone()),
                _ => {}
            }
            for block in stmt.blocks() {
                declared(block, names);
            }
        }
    }
    let mut names: Vec<Name> = program.params.iter().map(|p| p.name.clone()).collect();
    names.extend(program.arrays.iter().map(|a| a.name.clone()));
    names.extend(program.sizes.iter().map(|s| s.name.clone()));
    names.extend(program.launch.groups.iter().map(|a| a.name.clone()));
    names.extend(program.launch.lanes.iter().map(|a| a.name.clone()));
    declared(&program.body, &mut names);
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpsight_ir::text::parse;

    /// The parameter after elimination of a program that reads `x` of these extents at `index`, with a group axis `g` of `groups`.
    fn linear(dims: &str, groups: i64, index: &str) -> bool {
        let text = format!("program p {{ read buffer x: f32[{dims}] groups g = {groups} {{ let b = g * 2 let v = x[{index}] }} }}");
        let program = eliminate(parse(&text).unwrap_or_else(|e| panic!("{e}")), Sharing { bounds: true, strength: false });
        match &program.params[0].kind {
            ParamKind::Buffer { dims, .. } => dims.len() == 1,
            ParamKind::Image { .. } | ParamKind::Channel { .. } => false,
        }
    }

    #[test]
    fn a_tensor_is_linear_where_no_partial_sum_leaves_32_bits() {
        assert!(linear("32768, 65535", 100, "b, 7"));
        assert!(!linear("32768, 65536", 100, "b, 7"), "2^31 elements");
        // The last row that 31 bits reach is 32767.
        assert!(linear("1000, 65536", 16384, "b, 65535"));
        assert!(!linear("1000, 65536", 16385, "b, 0"));
        // What a negative offset takes away may be added last.
        assert!(!linear("1000, 65536", 16385, "b - 2, 0"));
        assert!(linear("1000, 65536", 16384, "b - 32768, 0"));
        assert!(!linear("1000, 65536", 100, "b - 32769, 0"));
        assert!(!linear("1000, 1000", 100, "b * b, 0"), "not affine");
        assert!(!linear("1000, 1000", 100, "b * 2147483647, 0"), "a coefficient beyond 32 bits");
    }
}
