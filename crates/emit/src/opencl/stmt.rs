//! Statements.

use super::expr::Text;
use super::helpers::Helper;
use super::words::type_name;
use super::{Emitter, Result, unsupported};
use crate::index::fold;
use crate::range::Interval;
use warpsight_ir::{AtomicOp, Expr, Name, Order, Scalar, Scope, Space, Stmt, Type, Unroll};

impl Emitter<'_> {
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

    fn forget(&mut self, name: &Name) {
        self.env.forget(name);
        self.ranges.declare(name, None);
        self.variables.remove(name);
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
                self.line(format!("{} {} = {value};", type_name(*ty), self.names.of(name)));
                self.env.declare(name, *ty);
                self.variables.insert(name.clone(), *ty);
                return Ok(Some(name.clone()));
            }
            Stmt::Assign { name, value } => {
                let ty = self.variables.get(name).copied().map_or_else(|| self.env.type_of(value), Ok)?;
                let value = self.assigned(ty, value)?;
                self.line(format!("{} = {value};", self.names.of(name)));
            }
            Stmt::For { var, from, to, step, unroll, body } => self.repeat(var, [from, to], *step, *unroll, body)?,
            Stmt::If { condition, then, otherwise } => self.choose(condition, then, otherwise, "")?,
            Stmt::Scope(body) => {
                self.line("{");
                let lines = self.captured(|emitter| emitter.block(body))?;
                self.lines.extend(lines);
                self.line("}");
            }
            Stmt::Store { target, index, value, guard, policy: _ } => self.store(target, index, value, guard)?,
            Stmt::StoreTexel { image, x, y, value, guard } => self.store_texel(image, [x, y], value, guard)?,
            Stmt::Atomic { .. } => return self.atomic(stmt),
            Stmt::Barrier { scope: Scope::Group, local, global } => {
                let fences = match (local, global) {
                    (true, true) => "CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE",
                    (false, true) => "CLK_GLOBAL_MEM_FENCE",
                    _ => "CLK_LOCAL_MEM_FENCE",
                };
                self.line(format!("barrier({fences});"));
            }
            Stmt::Barrier { scope: Scope::Subgroup, .. } => return unsupported("a barrier of a sub-group"),
            Stmt::Barrier { scope: Scope::Device, .. } => return unsupported("a barrier of the device"),
            Stmt::TileLoad { .. } | Stmt::TileStore { .. } | Stmt::TileFill { .. } | Stmt::Mma { .. } => {
                return unsupported("matrix tiles");
            }
            Stmt::Send { .. } | Stmt::Receive { .. } => return unsupported("channels"),
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
            self.line(format!("const {} {identifier} = {};", type_name(ty), text.code));
        }
        let interval = if ty.width == 1 { self.ranges.of(&value, ty.scalar) } else { None };
        self.env.declare(name, ty);
        self.ranges.declare(name, interval);
        Ok(())
    }

    /// A value as a variable of the type holds it: 16-bit floats round.
    fn assigned(&mut self, ty: Type, value: &Expr) -> Result<String> {
        let text = self.expr(value)?;
        Ok(if ty.scalar == ty.scalar.widened() { text.code } else { self.rounded(ty.scalar, &text).code })
    }

    fn repeat(&mut self, var: &Name, [from, to]: [&Expr; 2], step: u32, unroll: Unroll, body: &[Stmt]) -> Result<()> {
        let (from, to) = (fold(from.clone()), fold(to.clone()));
        let interval = match (self.ranges.of(&from, Scalar::I32), self.ranges.of(&to, Scalar::I32)) {
            (Some(from), Some(to)) => Some(Interval { lo: from.lo, hi: from.lo.max(to.hi - 1) }),
            _ => None,
        };
        let first = self.expr(&from)?;
        let mut end = self.expr(&to)?;
        if !self.is_fixed(&to) {
            // The bound is evaluated once, not before every trip.
            let name = self.names.fresh();
            self.line(format!("const int {name} = {};", end.code));
            end = Text::new(&*name, super::expr::PRIMARY, end.ty);
        }
        match unroll {
            Unroll::Auto => {}
            Unroll::None => self.line("#pragma unroll 1"),
            Unroll::By(n) => self.line(format!("#pragma unroll {n}")),
            Unroll::Full => self.line("#pragma unroll"),
        }
        let name = self.names.of(var);
        let advance = if step == 1 { format!("++{name}") } else { format!("{name} += {step}") };
        self.line(format!("for (int {name} = {}; {name} < {}; {advance}) {{", first.code, end.at(super::expr::ADD)));
        self.env.declare(var, Type::scalar(Scalar::I32));
        self.ranges.declare(var, interval);
        let lines = self.captured(|emitter| emitter.block(body))?;
        self.forget(var);
        self.lines.extend(lines);
        self.line("}");
        Ok(())
    }

    /// Whether an expression has the same value at every evaluation in its scope, and is cheap.
    fn is_fixed(&self, expr: &Expr) -> bool {
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
        let lines = self.captured(|emitter| emitter.block(then))?;
        self.lines.extend(lines);
        if let [Stmt::If { condition, then, otherwise }] = otherwise {
            // The next condition may need statements of its own, which would stand in this branch.
            let lines = self.captured(|emitter| emitter.expr(condition).map(|_| ()))?;
            if lines.is_empty() {
                return self.choose(condition, then, otherwise, "} else ");
            }
        }
        if !otherwise.is_empty() {
            self.line("} else {");
            let lines = self.captured(|emitter| emitter.block(otherwise))?;
            self.lines.extend(lines);
        }
        self.line("}");
        Ok(())
    }

    fn atomic(&mut self, stmt: &Stmt) -> Result<Option<Name>> {
        let Stmt::Atomic { op, target, index, value, compare, order, scope, old } = stmt else { return Ok(None) };
        if *order != Order::Relaxed && *scope == Scope::Device {
            return unsupported(format!("{order:?} atomics of the device"));
        }
        let (pointer, element, space) = self.atomic_target(target, index)?;
        let value = self.expr(value)?;
        let mut args = vec![pointer];
        if *op == AtomicOp::CompareExchange {
            match compare {
                Some(compare) => args.push(self.expr(compare)?),
                None => return unsupported("a compare-exchange without comparand"),
            }
        }
        args.push(value);
        let function = self.atomic_function(*op, element, space)?;
        let text = super::expr::call(&function, &args.iter().collect::<Vec<_>>(), Type::scalar(element));
        let fence = "mem_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);";
        if matches!(order, Order::Release | Order::AcquireRelease) {
            self.line(fence);
        }
        match old {
            Some(old) => {
                self.line(format!("const {} {} = {};", type_name(text.ty), self.names.of(old), text.code));
                self.env.declare(old, text.ty);
            }
            None => self.line(format!("{};", text.code)),
        }
        if matches!(order, Order::Acquire | Order::AcquireRelease) {
            self.line(fence);
        }
        Ok(old.clone())
    }

    fn atomic_function(&mut self, op: AtomicOp, element: Scalar, space: Space) -> Result<String> {
        if element == Scalar::F32 {
            return match op {
                AtomicOp::Add => {
                    self.require(Helper::atomic_add(space));
                    Ok(Helper::atomic_add(space).name())
                }
                AtomicOp::Exchange => Ok("atomic_xchg".to_owned()),
                _ => unsupported(format!("atomic {op:?} of f32")),
            };
        }
        let (name, extended) = match op {
            AtomicOp::Add => ("add", false),
            AtomicOp::Sub => ("sub", false),
            AtomicOp::Exchange => ("xchg", false),
            AtomicOp::CompareExchange => ("cmpxchg", false),
            AtomicOp::Min => ("min", true),
            AtomicOp::Max => ("max", true),
            AtomicOp::And => ("and", true),
            AtomicOp::Or => ("or", true),
            AtomicOp::Xor => ("xor", true),
        };
        match element {
            Scalar::I32 | Scalar::U32 => Ok(format!("atomic_{name}")),
            Scalar::I64 | Scalar::U64 => {
                self.extensions.insert(if extended { "cl_khr_int64_extended_atomics" } else { "cl_khr_int64_base_atomics" });
                Ok(format!("atom_{name}"))
            }
            _ => unsupported(format!("atomics of {}", element.name())),
        }
    }
}
