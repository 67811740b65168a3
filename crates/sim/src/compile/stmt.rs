//! Statements.

use super::build::{Binding, Block, Builder, Rows, Tensor, stride};
use super::expr::may_fault;
use super::{Node, Value};
use crate::code::{Action, Alu, AluOp, Target};
use crate::fault::SimFault;
use std::collections::BTreeSet;
use warpsight_ir::{Bound, Const, Expr, Name, Scalar, Stmt, Unroll};

/// Copies of loop bodies are made until a program has so many nodes.
const MOST_NODES: usize = 40_000;
/// Trips of a loop that the compiler unrolls by itself.
const SMALL_LOOP: i64 = 4;

impl Builder<'_> {
    /// The statements of a block that is open already.
    pub(super) fn statements(&mut self, statements: &[Stmt]) -> Result<(), SimFault> {
        let names = self.names.len();
        for statement in statements {
            self.statement(statement)?;
        }
        self.names.truncate(names);
        Ok(())
    }

    fn statement(&mut self, statement: &Stmt) -> Result<(), SimFault> {
        match statement {
            Stmt::Let { name, value } => {
                let value = self.expr(value)?;
                let value = self.settled(value);
                self.names.push((name.clone(), Binding::Value(value)));
            }
            Stmt::Var { name, ty, init } => {
                let start = self.block().nodes.len();
                let init = self.expr(init)?;
                let init = self.rounded(ty.scalar, init);
                let rows = Rows { scalar: init.scalar, rows: (0..init.rows.len()).map(|_| self.variable()).collect() };
                self.assign(&rows.rows, init, start, true);
                self.names.push((name.clone(), Binding::Variable(rows, ty.scalar)));
            }
            Stmt::Assign { name, value } => {
                let start = self.block().nodes.len();
                let value = self.expr(value)?;
                let found = self.names.iter().rev().find(|(n, _)| n == name);
                let Some((_, Binding::Variable(rows, storage))) = found.cloned() else {
                    return Err(self.unsupported(format!("an assignment to `{name}`, which is no variable")));
                };
                let value = self.rounded(storage, value);
                let convergent = self.block().convergent;
                self.assign(&rows.rows, value, start, convergent);
            }
            Stmt::For { var, from, to, step, unroll, body } => {
                let (from, to) = (self.expr(from)?, self.expr(to)?);
                self.repeat(var, [from.rows[0], to.rows[0]], *step, *unroll, body)?;
            }
            Stmt::If { condition, then, otherwise } => {
                let condition = self.expr(condition)?.rows[0];
                self.branch(condition, then, otherwise)?;
            }
            Stmt::Scope(body) => self.statements(body)?,
            Stmt::Store { target, index, value, guard, policy: _ } => {
                self.store(target, &index.iter().collect::<Vec<_>>(), value, guard)?;
            }
            Stmt::StoreTexel { image, x, y, value, guard } => {
                self.store(image, &[y, x], value, guard)?;
            }
            Stmt::Atomic { op, target, index, value, compare, order: _, scope: _, old } => {
                let coords = self.coordinates(index)?;
                let value = self.expr(value)?;
                let mut operands = value.rows;
                if let Some(compare) = compare {
                    operands.extend(self.expr(compare)?.rows);
                }
                let tensor = self.tensor(target)?;
                let mut access = self.access(Action::Atomic(*op), target, &tensor, &coords, 1);
                access.operands = operands;
                let depth = self.depth();
                access.values = (0..stride(tensor.element)).map(|_| self.fresh(depth, false)).collect();
                for &v in &access.values {
                    self.infos[v as usize].loaded = true;
                }
                let rows = Rows { scalar: tensor.element, rows: access.values.clone() };
                self.push(Node::Access(access));
                if let Some(old) = old {
                    self.names.push((old.clone(), Binding::Value(rows)));
                }
            }
            // Lanes of a wave run in step: a sub-group has nothing to wait for.
            Stmt::Barrier { scope: warpsight_ir::Scope::Subgroup, .. } => {}
            Stmt::Barrier { .. } => self.push(Node::Barrier),
            Stmt::TileLoad { .. } | Stmt::TileStore { .. } | Stmt::TileFill { .. } | Stmt::Mma { .. } => {
                return Err(self.unsupported("tile operations".into()));
            }
            Stmt::Send { .. } | Stmt::Receive { .. } => return Err(self.unsupported("channel operations".into())),
        }
        Ok(())
    }

    fn store(&mut self, name: &Name, index: &[&Expr], value: &Expr, guard: &[Bound]) -> Result<(), SimFault> {
        let tensor = self.tensor(name)?;
        let width = if tensor.format.is_some() { 1 } else { self.width_of(value) };
        let guard = self.guard(guard, width)?;
        if !guard.is_empty() && guard.iter().all(|&v| self.info(v).constant == Some(0)) {
            return Ok(());
        }
        if !guard.is_empty() && (index.iter().any(|e| may_fault(e)) || may_fault(value)) {
            return self.inside_guard(&guard.clone(), |b| b.store_unless(&tensor, name, index, value, guard));
        }
        self.store_unless(&tensor, name, index, value, guard)
    }

    /// Runs nodes only in lanes where some element's guard holds: there, what is not accessed is not computed.
    pub(super) fn inside_guard(&mut self, guard: &[Value], fill: impl FnOnce(&mut Self) -> Result<(), SimFault>) -> Result<(), SimFault> {
        let first = guard[0]; // guards that can fail have a row
        let or = AluOp::Binary(warpsight_ir::BinaryOp::Or, Scalar::Bool);
        let condition = guard[1..].iter().fold(first, |any, &g| self.alu(or, &[any, g]));
        let then = self.nested(self.info(condition).uniform, &BTreeSet::new(), fill)?;
        self.push(Node::If { condition, then, otherwise: vec![] });
        Ok(())
    }

    fn store_unless(&mut self, tensor: &Tensor, name: &Name, index: &[&Expr], value: &Expr, guard: Vec<Value>) -> Result<(), SimFault> {
        let start = self.block().nodes.len();
        let coords = self.coordinates(index.iter().copied())?;
        let value = self.expr(value)?;
        let width = if tensor.format.is_some() { 1 } else { value.width() };
        let private = matches!(tensor.target, Target::Private(_));
        let value = if private { self.rounded(tensor.element, value) } else { value };
        if guard.is_empty()
            && private
            && let Some(rows) = self.private(name, &coords, width)?
        {
            let convergent = self.block().convergent;
            self.assign(&rows, value, start, convergent);
            return Ok(());
        }
        let mut access = self.access(Action::Store, name, tensor, &coords, width);
        access.guard = guard;
        access.values = value.rows;
        self.push(Node::Access(access));
        self.changed_array(name);
        Ok(())
    }

    /// Notes that any element of a private array may have changed.
    fn changed_array(&mut self, name: &Name) {
        let Some(tensor) = self.tensors.get(name) else { return };
        if let Target::Private(base) = tensor.target {
            let len = tensor.dims.iter().map(|&d| d as usize).product::<usize>() * stride(tensor.element);
            for v in base..base + len {
                self.changed(v as Value);
            }
        }
    }

    /// Moves a value into a variable's rows. Where every lane is active and nothing looks in between, the instructions that computed
    /// it (from node `start` of this block on) write there directly.
    fn assign(&mut self, rows: &[Value], value: Rows, start: usize, convergent: bool) {
        let mut sources = value.rows;
        for (i, source) in sources.iter_mut().enumerate() {
            if rows.iter().enumerate().any(|(j, v)| j != i && v == source) {
                *source = self.copy(*source);
            }
        }
        for (i, (&dst, &source)) in rows.iter().zip(&sources).enumerate() {
            if dst == source {
                continue;
            }
            let once = !sources.iter().enumerate().any(|(j, &v)| j != i && v == source);
            if !(convergent && once && self.retarget(source, dst, start)) {
                let op = if convergent { AluOp::Mov } else { AluOp::Merge };
                self.push(Node::Alu(Alu { op, dst, a: source, b: source, c: source }));
            }
        }
        for &dst in rows {
            self.changed(dst);
        }
    }

    /// Lets the node that computes `from` write `to` instead, if no later node reads either.
    fn retarget(&mut self, from: Value, to: Value, start: usize) -> bool {
        let info = *self.info(from);
        if info.mutable || info.constant.is_some() {
            return false;
        }
        let nodes = &mut self.block().nodes;
        let mut at = nodes.len();
        loop {
            if at <= start {
                return false;
            }
            at -= 1;
            let mut touched = false;
            let mut made = false;
            nodes[at].writes(|v| {
                made |= v == from;
                touched |= v == to;
            });
            if made {
                break;
            }
            nodes[at].reads(|v| touched |= v == from || v == to);
            if touched || nodes[at].blocks().next().is_some() {
                return false;
            }
        }
        match &mut nodes[at] {
            Node::Alu(alu) => alu.dst = to,
            Node::Access(access) => access.values.iter_mut().filter(|v| **v == from).for_each(|v| *v = to),
            _ => return false,
        }
        self.infos[to as usize].loaded |= info.loaded;
        self.forget(from);
        true
    }

    /// Opens a block, fills it and gives its nodes.
    fn nested(
        &mut self,
        convergent: bool,
        changed: &BTreeSet<Changed>,
        fill: impl FnOnce(&mut Self) -> Result<(), SimFault>,
    ) -> Result<Vec<Node>, SimFault> {
        let convergent = convergent && self.block().convergent;
        self.blocks.push(Block { convergent, ..Block::default() });
        self.changed_all(changed);
        fill(self)?;
        self.closed()
    }

    fn branch(&mut self, condition: Value, then: &[Stmt], otherwise: &[Stmt]) -> Result<(), SimFault> {
        let info = *self.info(condition);
        if let Some(bits) = info.constant {
            return self.statements(if bits != 0 { then } else { otherwise });
        }
        let mut changed = BTreeSet::new();
        find_changed(then, &mut changed);
        find_changed(otherwise, &mut changed);
        let then = self.nested(info.uniform, &BTreeSet::new(), |b| b.statements(then))?;
        let otherwise = self.nested(info.uniform, &changed, |b| b.statements(otherwise))?;
        self.push(Node::If { condition, then, otherwise });
        self.changed_all(&changed);
        Ok(())
    }

    fn repeat(&mut self, var: &Name, bounds: [Value; 2], step: u32, unroll: Unroll, body: &[Stmt]) -> Result<(), SimFault> {
        let [from, to] = bounds;
        let known = self.info(from).constant.zip(self.info(to).constant).map(|(a, b)| (i64::from(a as i32), i64::from(b as i32)));
        let trips = known.map(|(from, to)| ((to - from).max(0) + i64::from(step) - 1) / i64::from(step));
        if trips == Some(0) {
            return Ok(());
        }
        let full = match unroll {
            Unroll::Full => trips,
            Unroll::Auto => trips.filter(|&t| t <= SMALL_LOOP),
            _ => trips.filter(|&t| t == 1),
        };
        // Copies of copies add up, so a body is measured by its first copy.
        if let (Some(trips), Some((first, _))) = (full, known) {
            let before = self.made;
            self.copy_body(var, first, body)?;
            let each = (self.made - before).max(1);
            if self.made + each.saturating_mul(trips as usize - 1) <= MOST_NODES {
                for trip in 1..trips {
                    self.copy_body(var, first + trip * i64::from(step), body)?;
                }
                return Ok(());
            }
            let from = self.constant((first + i64::from(step)) as u32);
            return self.rolled(var, [from, to], step, 1, false, body);
        }
        let copies = match (unroll, trips) {
            (Unroll::By(n), Some(trips)) if n > 1 && n <= 64 && trips % i64::from(n) == 0 => n,
            _ => 1,
        };
        self.rolled(var, bounds, step, copies, true, body)
    }

    fn copy_body(&mut self, var: &Name, value: i64, body: &[Stmt]) -> Result<(), SimFault> {
        let value = self.literal(Const::I32(value as i32));
        self.names.push((var.clone(), Binding::Value(value)));
        self.statements(body)?;
        self.names.pop();
        Ok(())
    }

    fn rolled(&mut self, var: &Name, bounds: [Value; 2], step: u32, copies: u32, charged: bool, body: &[Stmt]) -> Result<(), SimFault> {
        let bounds = bounds.map(|v| if self.info(v).mutable { self.copy(v) } else { v });
        let [from, to] = bounds;
        let uniform = self.info(from).uniform && self.info(to).uniform;
        let mut changed = BTreeSet::new();
        find_changed(body, &mut changed);
        let counter = self.fresh(self.depth() + 1, uniform);
        let body = self.nested(uniform, &changed, |b| {
            for copy in 0..copies {
                let step = b.constant(copy * step);
                let value = b.alu(AluOp::Binary(warpsight_ir::BinaryOp::Add, Scalar::I32), &[counter, step]);
                b.names.push((var.clone(), Binding::Value(Rows { scalar: Scalar::I32, rows: vec![value] })));
                b.statements(body)?;
                b.names.pop();
            }
            Ok(())
        })?;
        self.push(Node::Loop { var: counter, from, to, step: step * copies, charged, body });
        self.changed_all(&changed);
        Ok(())
    }

    fn changed_all(&mut self, changed: &BTreeSet<Changed>) {
        for item in changed {
            match item {
                Changed::Variable(name) => {
                    // A variable declared inside the statements themselves is not in scope, and needs no notice.
                    let found = self.names.iter().rev().find(|(n, _)| n == name).map(|(_, b)| b.clone());
                    if let Some(Binding::Variable(rows, _)) = found {
                        rows.rows.iter().for_each(|&v| self.changed(v));
                    }
                }
                Changed::Array(name) => self.changed_array(name),
            }
        }
    }
}

/// What statements change.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Changed {
    Variable(Name),
    Array(Name),
}

fn find_changed(statements: &[Stmt], changed: &mut BTreeSet<Changed>) {
    for statement in statements {
        match statement {
            Stmt::Assign { name, .. } => {
                changed.insert(Changed::Variable(name.clone()));
            }
            Stmt::Store { target, .. } => {
                changed.insert(Changed::Array(target.clone()));
            }
            _ => {}
        }
        statement.blocks().into_iter().for_each(|block| find_changed(block, changed));
    }
}
