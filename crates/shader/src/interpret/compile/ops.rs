//! Instructions that only calculate.

use super::super::glsl::{self, Ext};
use super::super::step::{Fun, Slope, Step};
use super::super::{arith, small, vector};
use super::arithmetic::Operands;
use super::{Compiler, Done, Ins};
use crate::module::{ComponentType, Id, Op, Type};

impl Compiler<'_> {
    pub(super) fn pure(&mut self, ins: &Ins) -> Done {
        let line = ins.line;
        let least = match ins.op {
            Op::CompositeInsert
            | Op::VectorShuffle
            | Op::VectorInsertDynamic
            | Op::Select
            | Op::BitFieldUExtract
            | Op::BitFieldSExtract => 2,
            Op::BitFieldInsert => 4,
            Op::Undef | Op::CompositeConstruct => 0,
            _ => 1,
        };
        if ins.args.len() < least || ins.id == 0 || ins.ty == 0 {
            return self.unsupported(line, format!("Op{:?}", ins.op));
        }
        let (dst, ty) = (self.value(ins.id, line)?, self.ty(ins.ty)?);
        let n = ty.cells();
        match ins.op {
            Op::Undef => self.steps.push(Step::Undefine { dst, n }),
            Op::CopyObject => {
                let src = self.exactly(ins.args[0], ins.ty, line)?;
                self.steps.push(Step::Copy { dst, src, n });
            }
            Op::CopyLogical => {
                let from = self.parts(&ins.args[..1], n, line)?;
                self.steps.push(Step::Gather { dst, from: from.into() });
            }
            Op::CompositeConstruct => {
                let from = self.parts(ins.args, n, line)?;
                self.steps.push(Step::Gather { dst, from: from.into() });
            }
            Op::CompositeExtract => {
                let composite = self.module.type_of(ins.args[0])?;
                let (offset, part) = self.part(composite, &ins.args[1..], line)?;
                if part.cells() != n {
                    return self.invalid(line, "a part has another type than its instruction says");
                }
                let src = self.value(ins.args[0], line)? + offset;
                self.steps.push(Step::Copy { dst, src, n });
            }
            Op::CompositeInsert => {
                let src = self.exactly(ins.args[1], ins.ty, line)?;
                let (offset, part) = self.part(ins.ty, &ins.args[2..], line)?;
                let (object, given) = self.typed(ins.args[0], line)?;
                if part.cells() != given.cells() {
                    return self.invalid(line, "a part has another type than what is put there");
                }
                self.steps.push(Step::Copy { dst, src, n });
                self.steps.push(Step::Copy { dst: dst + offset, src: object, n: given.cells() });
            }
            Op::VectorShuffle => self.shuffle(ins, dst)?,
            Op::VectorExtractDynamic => {
                let (a, vector) = self.typed(ins.args[0], line)?;
                let index = self.numbers(*ins.args.get(1).unwrap_or(&0), 1, false, line)?;
                if vector.components() < 1 || n * vector.components() != vector.cells() {
                    return self.invalid(line, "a component of no vector");
                }
                self.steps.push(Step::Pick { dst, a, n: vector.components(), cells: n, index });
            }
            Op::VectorInsertDynamic => {
                let src = self.exactly(ins.args[0], ins.ty, line)?;
                let (object, part) = self.typed(ins.args[1], line)?;
                let index = self.numbers(*ins.args.get(2).unwrap_or(&0), 1, false, line)?;
                if part.cells() * ty.components() != n || n == 0 {
                    return self.invalid(line, "a component of no vector");
                }
                self.steps.push(Step::Copy { dst, src, n });
                self.steps.push(Step::Put { dst, object, n: ty.components(), cells: part.cells(), index });
            }
            Op::Select => self.select(ins, dst, n)?,
            Op::All | Op::Any => {
                let (a, vector) = self.typed(ins.args[0], line)?;
                if n != 1 || vector.scalar() != Some(ComponentType::Bool) {
                    return self.invalid(line, "all and any are of conditions");
                }
                self.steps.push(Step::Fold { all: ins.op == Op::All, dst, a, n: vector.components() });
            }
            Op::Transpose => {
                let (Type::Matrix { of, rows, columns, .. }, (a, from)) = (ty, self.typed(ins.args[0], line)?) else {
                    return self.invalid(line, "only matrices are transposed");
                };
                if !matches!(from, Type::Matrix { of: o, rows: r, columns: c, .. } if (o, r, c) == (of, columns, rows)) {
                    return self.invalid(line, "a transposed matrix of another shape");
                }
                let cells = of.cells();
                let from = (0..n).map(|i| {
                    let (component, word) = (i / cells, i % cells);
                    a + (component % rows * columns + component / rows) * cells + word
                });
                let from: Vec<u32> = from.collect();
                self.steps.push(Step::Gather { dst, from: from.into() });
            }
            Op::Dot | Op::MatrixTimesVector | Op::VectorTimesMatrix | Op::MatrixTimesMatrix | Op::OuterProduct => self.product(ins, dst)?,
            Op::DPdx
            | Op::DPdxFine
            | Op::DPdxCoarse
            | Op::DPdy
            | Op::DPdyFine
            | Op::DPdyCoarse
            | Op::Fwidth
            | Op::FwidthFine
            | Op::FwidthCoarse => {
                let slope = match ins.op {
                    Op::DPdx | Op::DPdxFine | Op::DPdxCoarse => Slope::X,
                    Op::DPdy | Op::DPdyFine | Op::DPdyCoarse => Slope::Y,
                    _ => Slope::Width,
                };
                let a = self.numbers(ins.args[0], n, false, line)?;
                let fine = matches!(ins.op, Op::DPdxFine | Op::DPdyFine | Op::FwidthFine);
                self.steps.push(Step::Slope { slope, dst, a, n, rough: !fine });
                self.fit(dst, ty);
            }
            Op::BitFieldInsert => {
                let all = [(0, n), (1, n), (2, 1), (3, 1)];
                let args = all.iter().map(|(i, n)| Ok((self.numbers(ins.args[*i], *n, false, line)?, *n))).collect::<Done<Vec<_>>>()?;
                self.steps.push(Step::Lane { f: arith::insert_field, dst, n, args: args.into(), rough: false });
            }
            Op::IAddCarry | Op::ISubBorrow | Op::UMulExtended | Op::SMulExtended => {
                if self.typed(ins.args[0], line)?.1.scalar().is_some_and(ComponentType::small) {
                    return self.unsupported(line, format!("Op{:?} of 8 or 16 bits", ins.op));
                }
                let each = n / 2;
                let (a, b) =
                    (self.numbers(ins.args[0], each, false, line)?, self.numbers(*ins.args.get(1).unwrap_or(&0), each, false, line)?);
                for (half, fun) in arith::halves(ins.op).into_iter().flatten().enumerate() {
                    if let Fun::Two(f) = fun {
                        self.steps.push(Step::Map2 { f, dst: dst + half as u32 * each, a, b, step: 1, n: each, rough: false });
                    }
                }
            }
            _ => self.arithmetic(ins, dst, ty)?,
        }
        Ok(())
    }

    /// The cell offset and type of a part of a composite, by literal indices.
    pub(super) fn part(&self, mut ty: Id, indices: &[u32], line: u32) -> Done<(u32, Type)> {
        let (mut offset, mut scalar) = (0, None);
        for &index in indices {
            if scalar.is_some() {
                return self.invalid(line, "a part of a number");
            }
            let (next, at) = match self.ty(ty)? {
                Type::Vector { of, n } if index < *n => {
                    scalar = Some(Type::Scalar(*of));
                    (ty, index * of.cells())
                }
                Type::Matrix { column, rows, columns, of } if index < *columns => (*column, index * rows * of.cells()),
                Type::Array { of, len, .. } if index < *len => (*of, index * self.ty(*of)?.cells()),
                Type::Struct { members, .. } if (index as usize) < members.len() => members[index as usize],
                _ => return self.invalid(line, "a part that is not there"),
            };
            (ty, offset) = (next, offset + at);
        }
        Ok((offset, scalar.unwrap_or(self.ty(ty)?.clone())))
    }

    fn shuffle(&mut self, ins: &Ins, dst: u32) -> Done {
        let ((a, left), (b, right)) = (self.typed(ins.args[0], ins.line)?, self.typed(ins.args[1], ins.line)?);
        let (ty, of) = (self.ty(ins.ty)?, left.scalar());
        if of != right.scalar() || of != ty.scalar() || ty.components() as usize != ins.args.len() - 2 {
            return self.invalid(ins.line, "a shuffle of vectors of other types");
        }
        let (cells, m, n) = (of.map_or(1, ComponentType::cells), left.components(), right.components());
        let mut from = Vec::new();
        for &index in &ins.args[2..] {
            let first = match index {
                // Any value will do.
                u32::MAX => a,
                i if i < m => a + i * cells,
                i if i < m + n => b + (i - m) * cells,
                _ => return self.invalid(ins.line, "a shuffle of components that are not there"),
            };
            from.extend(first..first + cells);
        }
        self.steps.push(Step::Gather { dst, from: from.into() });
        Ok(())
    }

    fn select(&mut self, ins: &Ins, dst: u32, n: u32) -> Done {
        let Some(&other) = ins.args.get(2) else { return self.invalid(ins.line, "a choice of one value") };
        let (a, b) = (self.exactly(ins.args[1], ins.ty, ins.line)?, self.exactly(other, ins.ty, ins.line)?);
        let (condition, ty) = self.typed(ins.args[0], ins.line)?;
        let count = ty.components();
        if ty.scalar() != Some(ComponentType::Bool) || count != 1 && count != self.ty(ins.ty)?.components() {
            return self.invalid(ins.line, "a choice by no condition");
        }
        self.steps.push(Step::Select { dst, condition, cells: n / count, a, b, n });
        Ok(())
    }

    fn product(&mut self, ins: &Ins, dst: u32) -> Done {
        let line = ins.line;
        let ((a, left), (b, right)) = (self.typed(ins.args[0], line)?, self.typed(*ins.args.get(1).unwrap_or(&0), line)?);
        let shape = |ty: &Type, vector_is_row: bool| match ty {
            Type::Vector { n, .. } if vector_is_row => Some((1, *n)),
            Type::Vector { n, .. } => Some((*n, 1)),
            Type::Matrix { rows, columns, .. } => Some((*rows, *columns)),
            Type::Scalar(_) => Some((1, 1)),
            _ => None,
        };
        let row = matches!(ins.op, Op::Dot | Op::VectorTimesMatrix);
        let outer = ins.op == Op::OuterProduct;
        let ty = self.ty(ins.ty)?;
        let (Some((rows, inner)), Some((same, columns)), Some(of)) = (shape(left, row), shape(right, outer), ty.scalar()) else {
            return self.invalid(line, "a product of no vectors and matrices");
        };
        let wide = of.wide();
        let float = matches!(of, ComponentType::Float { .. }) && left.scalar() == Some(of) && right.scalar() == Some(of);
        if inner != same || rows * columns != ty.components() || !float {
            return self.invalid(line, "a product of vectors and matrices whose shapes do not fit");
        }
        // In which order three and more products are summed is open, and how short numbers are rounded meanwhile.
        let open = inner > if of.small() { 1 } else { 2 };
        self.steps.push(Step::Product { dst, a, b, rows, inner, columns, wide, rough: open });
        self.fit(dst, ty);
        Ok(())
    }

    pub(super) fn extended(&mut self, op: Ext, ins: &Ins) -> Done {
        let (line, args) = (ins.line, &ins.args[2..]);
        let (dst, ty) = (self.value(ins.id, line)?, self.ty(ins.ty)?);
        if matches!(op, Ext::InterpolateAtCentroid | Ext::InterpolateAtSample | Ext::InterpolateAtOffset) {
            return self.interpolate(op, ins, dst);
        }
        let Some(&first) = args.first() else { return self.invalid(line, "an operand is missing") };
        let rough = glsl::is_rough(op);
        let shape = self.typed(first, line)?.1;
        let wide = shape.scalar().is_some_and(ComponentType::wide);
        if let Some(f) = vector::lane(op, wide) {
            // Modf and Frexp also write through a pointer.
            let through = matches!(op, Ext::Modf | Ext::Frexp).then(|| args.get(1).copied()).flatten();
            let inputs = if through.is_some() { &args[..1] } else { args };
            let mut cells = Vec::new();
            for id in inputs {
                let (at, ty) = self.typed(*id, line)?;
                cells.push((at, ty.cells()));
            }
            if !fits(op, shape, ty, &cells, inputs.len()) {
                return self.invalid(line, "operands do not fit an instruction of GLSL.std.450");
            }
            let Some(pointer) = through else {
                self.steps.push(Step::Lane { f, dst, n: ty.cells(), args: cells.into(), rough });
                self.fit(dst, ty);
                return Ok(());
            };
            let second = if op == Ext::Frexp { shape.components() } else { shape.cells() };
            let both = self.cells(ty.cells() + second)?;
            self.steps.push(Step::Lane { f, dst: both, n: ty.cells() + second, args: cells.into(), rough });
            self.steps.push(Step::Copy { dst, src: both, n: ty.cells() });
            return self.store_cells(pointer, both + ty.cells(), second, line);
        }
        let narrow = ty.scalar().is_some_and(|s| !s.wide());
        let operands = Operands { ids: args, scaled: false, signed: small::signed_ext(op), rough, line };
        match (wide || !narrow, glsl::wide(op), glsl::narrow(op)) {
            (true, Some(f), _) => self.wide_step(f, dst, ty, &operands),
            (false, _, Some(fun)) => self.map(fun, dst, ty, &operands),
            _ => self.unsupported(line, format!("{op:?} of GLSL.std.450 on these types")),
        }
    }
}

/// Whether operands and result of a function of whole vectors have the shapes that it counts on.
fn fits(op: Ext, first: &Type, result: &Type, args: &[(u32, u32)], given: usize) -> bool {
    let (n, out, components) = (first.cells(), result.cells(), first.components());
    let equal = |count: usize| given == count && args.iter().all(|a| a.1 == n);
    let cells = first.scalar().map_or(1, ComponentType::cells);
    let vector = (1..=4).contains(&components) && matches!(first, Type::Scalar(_) | Type::Vector { .. });
    let square = matches!(first, Type::Matrix { rows, columns, .. } if rows == columns);
    let narrow = cells == 1;
    match op {
        Ext::Length => vector && equal(1) && out == cells,
        Ext::Distance => vector && equal(2) && out == cells,
        Ext::Cross => components == 3 && equal(2) && out == n,
        Ext::Normalize => vector && equal(1) && out == n,
        Ext::FaceForward => vector && equal(3) && out == n,
        Ext::Reflect => vector && equal(2) && out == n,
        Ext::Refract => vector && given == 3 && args[1].1 == n && args[2].1 == cells && out == n,
        Ext::Determinant => square && given == 1 && out == cells,
        Ext::MatrixInverse => square && given == 1 && out == n,
        Ext::Modf | Ext::Frexp => vector && given == 1 && out == n,
        Ext::ModfStruct => vector && given == 1 && out == 2 * n,
        Ext::FrexpStruct => vector && given == 1 && out == n + components,
        Ext::PackSnorm4x8 | Ext::PackUnorm4x8 => narrow && n == 4 && given == 1 && out == 1,
        Ext::PackSnorm2x16 | Ext::PackUnorm2x16 | Ext::PackHalf2x16 => narrow && n == 2 && given == 1 && out == 1,
        Ext::UnpackSnorm4x8 | Ext::UnpackUnorm4x8 => n == 1 && given == 1 && out == 4,
        Ext::UnpackSnorm2x16 | Ext::UnpackUnorm2x16 | Ext::UnpackHalf2x16 => n == 1 && given == 1 && out == 2,
        Ext::PackDouble2x32 | Ext::UnpackDouble2x32 => n == 2 && given == 1 && out == 2,
        _ => false,
    }
}
