//! Expressions and memory accesses.

use super::build::{Binding, Builder, KeyOp, Rows, Tensor, stride};
use super::{Node, Value};
use crate::code::{Access, Action, Alu, AluOp, FaultKind, HalfOp, LanePick, Target, WideOp};
use crate::fault::SimFault;
use warpsight_ir::{BinaryOp, Bound, Const, Expr, Name, Scalar, UnaryOp};

impl Builder<'_> {
    /// The rows of an expression's value.
    pub(super) fn expr(&mut self, expr: &Expr) -> Result<Rows, SimFault> {
        Ok(match expr {
            Expr::Const(c) => self.literal(*c),
            Expr::Size(name) => {
                let value = *self.sizes.get(name).ok_or_else(|| self.undeclared(name))?;
                self.literal(Const::I32(value as i32)) // fits, as checked when the sizes were read
            }
            Expr::Var(name) => match self.names.iter().rev().find(|(n, _)| n == name) {
                Some((_, Binding::Value(rows) | Binding::Variable(rows, _))) => rows.clone(),
                None => return Err(self.undeclared(name)),
            },
            Expr::Load { source, index, width, guard } => {
                self.load(source, &index.iter().collect::<Vec<_>>(), usize::from(*width), guard)?
            }
            Expr::Texel { image, x, y, guard } => self.load(image, &[&**y, &**x], 4, guard)?,
            Expr::Unary(op, a) => {
                let a = self.expr(a)?;
                self.unary(*op, &a)
            }
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.expr(a)?, self.expr(b)?);
                self.binary(*op, &a, &b)
            }
            Expr::Fma(a, b, c) => {
                let parts = [self.expr(a)?, self.expr(b)?, self.expr(c)?];
                let [a, b, c] = &parts;
                let rows = (0..a.width()).flat_map(|i| {
                    if a.stride() == 2 {
                        self.wide(WideOp::Fma, &[a.lane(i), b.lane(i), c.lane(i)], a.scalar)
                    } else {
                        let op = if a.scalar == Scalar::Half { half(HalfOp::Fma, i, a.width()) } else { AluOp::Fma };
                        vec![self.alu(op, &[a.rows[i], b.rows[i], c.rows[i]])]
                    }
                });
                Rows { scalar: a.scalar, rows: rows.collect() }
            }
            Expr::Select(condition, a, b) => {
                let (c, a, b) = (self.expr(condition)?, self.expr(a)?, self.expr(b)?);
                let s = a.stride();
                let rows = (0..a.rows.len()).map(|i| self.alu(AluOp::Select, &[a.rows[i], b.rows[i], c.rows[i / s]]));
                Rows { scalar: a.scalar, rows: rows.collect() }
            }
            Expr::Cast(to, a) => {
                let a = self.expr(a)?;
                self.cast(*to, &a)
            }
            Expr::Splat(a, width) => {
                let a = self.expr(a)?;
                Rows { scalar: a.scalar, rows: a.rows.repeat(usize::from(*width)) }
            }
            Expr::Concat(parts) => {
                let parts = parts.iter().map(|p| self.expr(p)).collect::<Result<Vec<_>, _>>()?;
                let scalar = parts.first().map_or(Scalar::F32, |p| p.scalar);
                Rows { scalar, rows: parts.into_iter().flat_map(|p| p.rows).collect() }
            }
            Expr::Slice { vector, start, width } => {
                let v = self.expr(vector)?;
                let s = v.stride();
                let start = usize::from(*start) * s;
                Rows { scalar: v.scalar, rows: v.rows[start..start + usize::from(*width) * s].to_vec() }
            }
            Expr::Lane(vector, lane) => {
                let (v, lane) = (self.expr(vector)?, self.expr(lane)?);
                self.lane(&v, lane.rows[0])
            }
        })
    }

    fn undeclared(&self, name: &Name) -> SimFault {
        self.unsupported(format!("`{name}`, which is not declared"))
    }

    fn lane(&mut self, v: &Rows, lane: Value) -> Rows {
        let s = v.stride();
        if let Some(at) = self.info(lane).constant {
            if (at as usize) < v.width() {
                let start = at as usize * s;
                return Rows { scalar: v.scalar, rows: v.rows[start..start + s].to_vec() };
            }
            self.fault(FaultKind::Lane { lane: at as i32, width: v.width() });
        }
        let depth = self.depth();
        let dst: Vec<Value> = (0..s).map(|_| self.fresh(depth, false)).collect();
        self.push(Node::Lane(LanePick { dst: dst.clone(), lane, from: v.rows.clone(), executed: true }));
        Rows { scalar: v.scalar, rows: dst }
    }

    pub(super) fn unary(&mut self, op: UnaryOp, a: &Rows) -> Rows {
        let rows = (0..a.width()).flat_map(|i| {
            if a.stride() == 2 {
                self.wide(WideOp::Unary(op, a.scalar), &[a.lane(i)], a.scalar)
            } else {
                let own = if a.scalar == Scalar::Half { half(HalfOp::Unary(op), i, a.width()) } else { AluOp::Unary(op, a.scalar) };
                vec![self.alu(own, &[a.rows[i]])]
            }
        });
        Rows { scalar: a.scalar, rows: rows.collect() }
    }

    pub(super) fn binary(&mut self, op: BinaryOp, a: &Rows, b: &Rows) -> Rows {
        let result = if op.is_comparison() { Scalar::Bool } else { a.scalar };
        let rows = (0..a.width()).flat_map(|i| {
            if a.stride() == 2 {
                self.wide(WideOp::Binary(op, a.scalar), &[a.lane(i), b.lane(i)], result)
            } else {
                let own = if a.scalar == Scalar::Half { half(HalfOp::Binary(op), i, a.width()) } else { AluOp::Binary(op, a.scalar) };
                vec![self.alu(own, &[a.rows[i], b.rows[i]])]
            }
        });
        Rows { scalar: result, rows: rows.collect() }
    }

    fn cast(&mut self, to: Scalar, a: &Rows) -> Rows {
        let result = to.widened();
        if to == a.scalar {
            return a.clone();
        }
        let rows = (0..a.width()).flat_map(|i| {
            if a.stride() == 2 || stride(to) == 2 {
                self.wide(WideOp::Cast(a.scalar, to), &[a.lane(i)], result)
            } else if a.scalar == Scalar::F32 && to != result {
                vec![self.alu(AluOp::Round(to), &[a.rows[i]])]
            } else {
                vec![self.alu(AluOp::Cast(a.scalar, to), &[a.rows[i]])]
            }
        });
        Rows { scalar: result, rows: rows.collect() }
    }

    /// A value as a variable or element of a storage type holds it.
    pub(super) fn rounded(&mut self, to: Scalar, value: Rows) -> Rows {
        match to {
            Scalar::F16 | Scalar::Bf16 => {
                let rows = value.rows.iter().map(|&v| self.alu(AluOp::Round(to), &[v])).collect();
                Rows { scalar: value.scalar, rows }
            }
            _ => value,
        }
    }

    pub(super) fn coordinates<'e>(&mut self, index: impl IntoIterator<Item = &'e Expr>) -> Result<Vec<Value>, SimFault> {
        index.into_iter().map(|e| self.expr(e).map(|v| v.rows[0])).collect()
    }

    /// Lanes of a value, without making it.
    pub(super) fn width_of(&self, expr: &Expr) -> usize {
        match expr {
            Expr::Const(_) | Expr::Size(_) | Expr::Lane(..) => 1,
            Expr::Var(name) => match self.names.iter().rev().find(|(n, _)| n == name) {
                Some((_, Binding::Value(rows) | Binding::Variable(rows, _))) => rows.width(),
                None => 1,
            },
            Expr::Load { width, .. } | Expr::Splat(_, width) | Expr::Slice { width, .. } => usize::from(*width),
            Expr::Texel { .. } => 4,
            Expr::Unary(_, a) | Expr::Binary(_, a, _) | Expr::Fma(a, ..) | Expr::Select(_, a, _) | Expr::Cast(_, a) => self.width_of(a),
            Expr::Concat(parts) => parts.iter().map(|p| self.width_of(p)).sum(),
        }
    }

    pub(super) fn tensor(&self, name: &Name) -> Result<Tensor, SimFault> {
        self.tensors.get(name).cloned().ok_or_else(|| self.undeclared(name))
    }

    /// Rows that must hold for each of `width` elements: none where nothing can fail, one, or one an element.
    pub(super) fn guard(&mut self, guard: &[Bound], width: usize) -> Result<Vec<Value>, SimFault> {
        let mut shared = self.constant(1);
        let mut each: Option<Vec<Value>> = None;
        for bound in guard {
            let (value, extent) = (self.expr(&bound.value)?, self.expr(&bound.extent)?);
            if bound.per_lane {
                let mut rows = vec![];
                for lane in 0..width {
                    let step = self.literal(Const::I32(lane as i32));
                    let value = self.binary(BinaryOp::Add, &value, &step);
                    let inside = self.inside(&value, &extent);
                    let before = each.as_ref().map(|rows: &Vec<Value>| rows[lane]);
                    rows.push(before.map_or(inside, |b| self.both(b, inside)));
                }
                each = Some(rows);
            } else {
                let inside = self.inside(&value, &extent);
                shared = self.both(shared, inside);
            }
        }
        let rows: Vec<Value> = match each {
            None => vec![shared],
            Some(rows) => rows.into_iter().map(|v| self.both(shared, v)).collect(),
        };
        Ok(if rows.iter().all(|&v| self.info(v).constant == Some(1)) { vec![] } else { rows })
    }

    fn both(&mut self, a: Value, b: Value) -> Value {
        self.alu(AluOp::Binary(BinaryOp::And, Scalar::Bool), &[a, b])
    }

    /// 0 ≤ value < extent; one unsigned comparison where the extent is known.
    fn inside(&mut self, value: &Rows, extent: &Rows) -> Value {
        let (v, e) = (value.rows[0], extent.rows[0]);
        if self.info(e).constant.is_some_and(|e| e as i32 >= 0) {
            return self.alu(AluOp::Binary(BinaryOp::Lt, Scalar::U32), &[v, e]);
        }
        let zero = self.constant(0);
        let low = self.alu(AluOp::Binary(BinaryOp::Le, Scalar::I32), &[zero, v]);
        let high = self.alu(AluOp::Binary(BinaryOp::Lt, Scalar::I32), &[v, e]);
        self.both(low, high)
    }

    /// The position of an element: row-major, evaluated from the slowest dimension on, so that what a loop does not change stays outside.
    pub(super) fn offset(&mut self, dims: &[u32], coords: &[Value]) -> Value {
        let mut offset = self.constant(0);
        for (&c, &d) in coords.iter().zip(dims) {
            let d = self.constant(d);
            let scaled = self.alu(AluOp::Binary(BinaryOp::Mul, Scalar::I32), &[offset, d]);
            offset = self.alu(AluOp::Binary(BinaryOp::Add, Scalar::I32), &[scaled, c]);
        }
        offset
    }

    /// The first row of private elements whose position is known; `None` where it has to be found at run time.
    pub(super) fn private(&mut self, name: &Name, coords: &[Value], width: usize) -> Result<Option<Vec<Value>>, SimFault> {
        let tensor = self.tensor(name)?;
        let Target::Private(base) = tensor.target else { return Ok(None) };
        let Some(at) = coords.iter().map(|&c| self.info(c).constant.map(|v| i64::from(v as i32))).collect::<Option<Vec<i64>>>() else {
            return Ok(None);
        };
        let last = at.len().saturating_sub(1);
        let inside = at.iter().zip(&tensor.dims).enumerate().all(|(i, (&c, &d))| {
            let end = c + if i == last { width as i64 } else { 1 };
            c >= 0 && end <= i64::from(d)
        });
        if !inside {
            return Ok(None); // found at run time, and reported there
        }
        let s = stride(tensor.element);
        let position = at.iter().zip(&tensor.dims).fold(0, |p, (&c, &d)| p * d as usize + c as usize);
        let first = (base + position * s) as Value;
        Ok(Some((first..first + (width * s) as Value).collect()))
    }

    fn load(&mut self, name: &Name, index: &[&Expr], width: usize, guard: &[Bound]) -> Result<Rows, SimFault> {
        let tensor = self.tensor(name)?;
        let scalar = tensor.element.widened();
        // A texel's guard is one for all components.
        let guard = self.guard(guard, if tensor.format.is_some() { 1 } else { width })?;
        let zero = self.constant(0);
        if !guard.is_empty() && guard.iter().all(|&v| self.info(v).constant == Some(0)) {
            return Ok(Rows { scalar, rows: vec![zero; width * stride(scalar)] });
        }
        if !guard.is_empty() && index.iter().any(|e| may_fault(e)) {
            let depth = self.depth();
            let rows: Vec<Value> = (0..width * stride(scalar)).map(|_| self.fresh(depth, false)).collect();
            for &dst in &rows {
                self.push(Node::Alu(Alu { op: AluOp::Mov, dst, a: zero, b: zero, c: zero }));
                self.infos[dst as usize].loaded = true;
            }
            self.inside_guard(&guard.clone(), |b| {
                let coords = b.coordinates(index.iter().copied())?;
                let mut access = b.access(Action::Load, name, &tensor, &coords, width);
                (access.guard, access.values) = (guard, rows.clone());
                b.push(Node::Access(access));
                Ok(())
            })?;
            return Ok(Rows { scalar, rows });
        }
        let coords = self.coordinates(index.iter().copied())?;
        if guard.is_empty()
            && let Some(rows) = self.private(name, &coords, width)?
        {
            return Ok(Rows { scalar, rows });
        }
        let mut access = self.access(Action::Load, name, &tensor, &coords, width);
        access.guard = guard;
        let mut args = access.coords.iter().map(|&(v, _)| v).collect::<Vec<_>>();
        args.extend(access.guard.iter().copied());
        let key = KeyOp::Load(tensor.target, width as u8);
        if tensor.constant
            && self.keep_loaded
            && let Some(rows) = self.known(&key, &args, 0)
        {
            return Ok(Rows { scalar, rows });
        }
        let uniform = self.block().convergent && tensor.target_is_shared() && args.iter().all(|&v| self.info(v).uniform);
        let depth = self.depth();
        access.values = (0..width * stride(scalar)).map(|_| self.fresh(depth, uniform)).collect();
        // Private arrays are registers: nothing to wait for.
        if !matches!(tensor.target, Target::Private(_)) {
            for &v in &access.values {
                self.infos[v as usize].loaded = true;
            }
        }
        let rows = access.values.clone();
        self.push(Node::Access(access));
        if tensor.constant {
            self.remember(key, &args, depth, rows.clone());
        }
        Ok(Rows { scalar, rows })
    }

    /// An access without values and guard.
    pub(super) fn access(&mut self, action: Action, name: &Name, tensor: &Tensor, coords: &[Value], width: usize) -> Access<Value> {
        let offset = if tensor.format.is_some() { self.constant(0) } else { self.offset(&tensor.dims, coords) };
        Access {
            action,
            target: tensor.target,
            name: name.clone(),
            element: tensor.element,
            format: tensor.format,
            offset,
            coords: coords.iter().copied().zip(tensor.dims.iter().copied()).collect(),
            values: vec![],
            operands: vec![],
            width: width as u8,
            guard: vec![],
            clamp: tensor.clamp,
        }
    }
}

/// Half precision in a lane of a vector of so many.
fn half(op: HalfOp, lane: usize, width: usize) -> AluOp {
    AluOp::Half { op, paired: lane / 2 * 2 + 1 < width }
}

impl Tensor {
    /// Whether all lanes see one memory.
    fn target_is_shared(&self) -> bool {
        !matches!(self.target, Target::Private(_))
    }
}

/// Whether evaluating an expression may be an error in a lane that should not evaluate it.
pub(super) fn may_fault(expr: &Expr) -> bool {
    match expr {
        Expr::Load { .. } | Expr::Texel { .. } | Expr::Lane(..) => true,
        Expr::Binary(BinaryOp::Div | BinaryOp::Rem, _, b) if b.as_int().is_none_or(|v| v == 0) => true,
        _ => expr.children().into_iter().any(may_fault),
    }
}
