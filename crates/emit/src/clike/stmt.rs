//! Statements.

use super::text::{ADD, PRIMARY, Text};
use super::{Atomic, Dialect, Result, Words, Writer, lacks};
use crate::index::fold;
use warpsight_ir::{AtomicOp, Expr, Name, Scalar, Scope, Stmt, Type, Unroll};

impl<D: Dialect> Writer<'_, D> {
    /// The statements of a block; what they declare is forgotten at its end.
    pub(super) fn block(&mut self, body: &[Stmt]) -> Result<()> {
        let mut declared = Vec::new();
        for stmt in body {
            declared.extend(self.stmt(stmt)?);
        }
        for name in declared {
            self.forget(&name);
        }
        Ok(())
    }

    /// Writes a statement and gives the name it declares.
    fn stmt(&mut self, stmt: &Stmt) -> Result<Option<Name>> {
        match stmt {
            Stmt::Let { name, value } => {
                self.binding(name, value)?;
                return Ok(Some(name.clone()));
            }
            Stmt::Var { name, ty, init } => {
                let value = self.assigned(*ty, init)?;
                self.uses(ty.scalar);
                self.line(format!("{} {} = {value};", D::Words::type_name(*ty), self.names.of(name)));
                self.env.declare(name, *ty);
                self.variables.insert(name.clone(), *ty);
                return Ok(Some(name.clone()));
            }
            Stmt::Assign { name, value } => {
                let ty = self.variables.get(name).copied().map_or_else(|| self.env.type_of(value), Ok)?;
                let value = self.assigned(ty, value)?;
                self.line(format!("{} = {value};", self.names.of(name)));
            }
            Stmt::For { var, from, to, step, unroll, body } => {
                self.versions(stmt, |writer| writer.repeat(var, [from, to], *step, *unroll, body))?;
            }
            Stmt::If { condition, then, otherwise } => self.choose(condition, then, otherwise, "")?,
            Stmt::Scope(body) => {
                self.line("{");
                let lines = self.captured(|writer| writer.block(body))?;
                self.lines.extend(lines);
                self.line("}");
            }
            Stmt::Store { target, index, value, guard, policy } => self.store(target, index, value, guard, *policy)?,
            Stmt::StoreTexel { image, x, y, value, guard } => self.store_texel(image, [x, y], value, guard)?,
            Stmt::Atomic { .. } => return self.atomic(stmt),
            Stmt::Barrier { scope, local, global } => {
                let barrier = match scope {
                    Scope::Group => D::barrier(*local, *global),
                    Scope::Subgroup => D::subgroup_barrier(&self.program.launch)?,
                    Scope::Device => return lacks("a barrier of the device"),
                };
                self.line(barrier);
            }
            Stmt::TileLoad { .. } | Stmt::TileStore { .. } | Stmt::TileFill { .. } | Stmt::Mma { .. } => D::tile(self, stmt)?,
            Stmt::Send { .. } | Stmt::Receive { .. } => return lacks("channels"),
        }
        Ok(None)
    }

    /// `Let`: a guarded load is written straight into its variable.
    fn binding(&mut self, name: &Name, value: &Expr) -> Result<()> {
        let ty = self.env.type_of(value)?;
        let value = if ty == Type::scalar(Scalar::I32) { fold(value.clone()) } else { value.clone() };
        let identifier = self.names.of(name);
        let text = match &value {
            Expr::Load { source, index, width, guard } => self.load(source, index, *width, guard, Some(&identifier))?,
            Expr::Texel { image, x, y, guard } => self.texel(image, [x, y], guard, Some(&identifier))?,
            other => self.expr(other)?,
        };
        if text.code != identifier {
            self.line(format!("const {} {identifier} = {};", D::Words::type_name(ty), text.code));
        }
        let interval = if ty.width == 1 { self.ranges.of(&value, ty.scalar) } else { None };
        let divisor = self.divisors.of(&value);
        self.declare(name, ty, interval, divisor);
        Ok(())
    }

    /// A value as a variable of the type holds it: 16-bit floats round.
    fn assigned(&mut self, ty: Type, value: &Expr) -> Result<String> {
        let text = self.expr(value)?;
        Ok(if ty.scalar == ty.scalar.widened() { text.code } else { self.dialect.rounded(ty.scalar, &text).code })
    }

    fn repeat(&mut self, var: &Name, [from, to]: [&Expr; 2], step: u32, unroll: Unroll, body: &[Stmt]) -> Result<()> {
        let (from, to) = (fold(from.clone()), fold(to.clone()));
        let interval = self.ranges.of_loop(&from, &to);
        let divisor = self.divisors.of(&from).min(step.trailing_zeros());
        let first = self.expr(&from)?;
        let mut end = self.expr(&to)?;
        if !self.is_fixed(&to) {
            // The bound is evaluated once, not before every trip.
            let name = self.names.fresh();
            self.line(format!("const int {name} = {};", end.code));
            end = Text::new(&*name, PRIMARY, end.ty);
        }
        match unroll {
            Unroll::Auto => {}
            Unroll::None => self.line("#pragma unroll 1"),
            Unroll::By(n) => self.line(format!("#pragma unroll {n}")),
            Unroll::Full => self.line("#pragma unroll"),
        }
        let name = self.names.of(var);
        let advance = if step == 1 { format!("++{name}") } else { format!("{name} += {step}") };
        self.line(format!("for (int {name} = {}; {name} < {}; {advance}) {{", first.code, end.at(ADD)));
        self.declare(var, Type::scalar(Scalar::I32), interval, divisor);
        let lines = self.captured(|writer| writer.block(body))?;
        self.forget(var);
        self.lines.extend(lines);
        self.line("}");
        Ok(())
    }

    /// Whether an expression has the same value at every evaluation in its scope, and is cheap.
    pub(super) fn is_fixed(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Const(_) | Expr::Size(_) => true,
            Expr::Var(name) => !self.variables.contains_key(name),
            Expr::Unary(..) | Expr::Binary(..) => expr.children().into_iter().all(|child| self.is_fixed(child)),
            _ => false,
        }
    }

    /// `if`, with a chain of `else if` where nothing stands between; `before` is `} else ` within a chain.
    fn choose(&mut self, condition: &Expr, then: &[Stmt], otherwise: &[Stmt], before: &str) -> Result<()> {
        let condition = self.expr(condition)?;
        self.line(format!("{before}if ({}) {{", condition.code));
        let lines = self.captured(|writer| writer.block(then))?;
        self.lines.extend(lines);
        if let [Stmt::If { condition, then, otherwise }] = otherwise {
            // The next condition may need statements of its own, which would stand in this branch.
            let lines = self.captured(|writer| writer.expr(condition).map(|_| ()))?;
            if lines.is_empty() {
                return self.choose(condition, then, otherwise, "} else ");
            }
        }
        if !otherwise.is_empty() {
            self.line("} else {");
            let lines = self.captured(|writer| writer.block(otherwise))?;
            self.lines.extend(lines);
        }
        self.line("}");
        Ok(())
    }

    fn atomic(&mut self, stmt: &Stmt) -> Result<Option<Name>> {
        let Stmt::Atomic { op, target, index, value, compare, order, scope, old } = stmt else { return Ok(None) };
        let tensor = self.tensor(target)?;
        let position = self.position(&tensor, index);
        let place = self.place(&tensor, &position)?;
        let pointer = D::pointer(&place);
        let zero = matches!(value, Expr::Const(c) if c.as_int() == Some(0));
        let value = self.expr(value)?;
        let compare = match (op, compare) {
            (AtomicOp::CompareExchange, Some(compare)) => Some(self.expr(compare)?),
            (AtomicOp::CompareExchange, None) => return lacks("a compare-exchange without comparand"),
            _ => None,
        };
        let (element, space) = (tensor.element, tensor.space);
        let atomic = Atomic { op: *op, element, space, order: *order, scope: *scope, pointer, compare, value, zero, old: old.is_some() };
        let fenced = self.dialect.atomic(&atomic)?;
        fenced.before.into_iter().for_each(|line| self.line(line));
        match old {
            Some(old) => {
                let ty = Type::scalar(element);
                self.line(format!("const {} {} = {};", D::Words::type_name(ty), self.names.of(old), fenced.call));
                self.env.declare(old, ty);
            }
            None => self.line(format!("{};", fenced.call)),
        }
        fenced.after.into_iter().for_each(|line| self.line(line));
        Ok(old.clone())
    }
}
