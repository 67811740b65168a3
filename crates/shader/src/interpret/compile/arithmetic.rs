//! Instructions that work on each component alone, and numbers of every width.

use super::super::step::{Fun, Step, WideArg, WideFun};
use super::super::{arith, small};
use super::{Compiler, Done, Ins};
use crate::module::{ComponentType, Id, Op, Type};

/// The operands of an instruction that works on each component alone.
pub(super) struct Operands<'a> {
    pub ids: &'a [Id],
    /// Whether the second one is a scalar for every component.
    pub scaled: bool,
    /// Whether integers are taken as signed ones.
    pub signed: bool,
    /// Whether the result's precision is open.
    pub rough: bool,
    pub line: u32,
}

impl Compiler<'_> {
    pub(super) fn arithmetic(&mut self, ins: &Ins, dst: u32, ty: &Type) -> Done {
        let line = ins.line;
        let operand = self.typed(ins.args[0], line)?.1;
        let (Some(to), Some(from)) = (ty.scalar(), operand.scalar()) else {
            return self.unsupported(line, format!("Op{:?}", ins.op));
        };
        let small = from.small() || to.small();
        // Signs do not matter to the words.
        let same_words = matches!(ins.op, Op::UConvert | Op::SConvert) && from.wide() == to.wide();
        if (ins.op == Op::Bitcast || same_words) && !small {
            let parts = self.parts(&ins.args[..1], ty.cells(), line)?;
            self.steps.push(Step::Gather { dst, from: parts.into() });
            return Ok(());
        }
        if ins.op == Op::Bitcast {
            return self.bitcast(ins, dst, ty);
        }
        let operands = Operands {
            ids: ins.args,
            scaled: matches!(ins.op, Op::VectorTimesScalar | Op::MatrixTimesScalar),
            signed: small::signed(ins.op),
            rough: arith::is_rough(ins.op),
            line,
        };
        if from.wide() || to.wide() {
            let fun = match arith::convert(ins.op, from.wide(), to.wide()) {
                Some(f) => Some(f),
                None => arith::wide(ins.op),
            };
            let Some(f) = fun else { return self.unsupported(line, format!("Op{:?} of 64 bits", ins.op)) };
            return self.wide_step(f, dst, ty, &operands);
        }
        match arith::narrow(ins.op) {
            Some(fun) if !(small && ins.op == Op::BitReverse) => self.map(fun, dst, ty, &operands),
            _ => self.unsupported(line, format!("Op{:?}{}", ins.op, if small { " of 8 or 16 bits" } else { "" })),
        }
    }

    /// The same bits as another type, where one of both is of fewer bits than a word.
    fn bitcast(&mut self, ins: &Ins, dst: u32, ty: &Type) -> Done {
        let line = ins.line;
        let (a, operand) = self.typed(ins.args[0], line)?;
        let (Some(to), Some(from)) = (ty.scalar(), operand.scalar()) else { return self.invalid(line, "a cast of no numbers") };
        if operand.components() * from.bits() != ty.components() * to.bits() {
            return self.invalid(line, "a cast to another number of bits");
        }
        let (have, want) = (operand.cells(), ty.cells());
        let bits = self.cells(have)?;
        match small::to_bits(from) {
            Some(f) => self.steps.push(Step::Map1 { f, dst: bits, a, n: have, rough: false }),
            None => self.steps.push(Step::Copy { dst: bits, src: a, n: have }),
        }
        match small::repack(from.bits().min(32), to.bits().min(32)) {
            Some(f) => self.steps.push(Step::Lane { f, dst, n: want, args: [(bits, have)].into(), rough: false }),
            None => self.steps.push(Step::Copy { dst, src: bits, n: want }),
        }
        if let Some(f) = small::from_bits(to) {
            self.steps.push(Step::Map1 { f, dst, a: dst, n: want, rough: false });
        }
        Ok(())
    }

    /// Makes a result of 32 bits one of its type, where that has fewer.
    pub(super) fn fit(&mut self, dst: u32, ty: &Type) {
        if let Some(f) = ty.scalar().and_then(small::fit) {
            self.steps.push(Step::Map1 { f, dst, a: dst, n: ty.components(), rough: false });
        }
    }

    /// The cells of an operand of `n` components, none of 64 bits.
    fn operand(&mut self, operands: &Operands, index: usize, n: u32) -> Done<u32> {
        let Some(&id) = operands.ids.get(index) else { return self.invalid(operands.line, "an operand is missing") };
        let at = self.numbers(id, n, false, operands.line)?;
        self.extended_sign(operands, at, id)
    }

    /// The cells of an operand as its instruction takes it.
    fn extended_sign(&mut self, operands: &Operands, at: u32, id: Id) -> Done<u32> {
        let ty = self.typed(id, operands.line)?.1;
        let Some(f) = ty.scalar().filter(|_| operands.signed).and_then(small::extend) else { return Ok(at) };
        let n = ty.components();
        let dst = self.cells(n)?;
        self.steps.push(Step::Map1 { f, dst, a: at, n, rough: false });
        Ok(dst)
    }

    pub(super) fn map(&mut self, fun: Fun, dst: u32, ty: &Type, operands: &Operands) -> Done {
        let (n, rough) = (ty.components(), operands.rough);
        let step = match fun {
            Fun::One(f) => Step::Map1 { f, dst, a: self.operand(operands, 0, n)?, n, rough },
            Fun::Two(f) => {
                let (many, step) = if operands.scaled { (1, 0) } else { (n, 1) };
                Step::Map2 { f, dst, a: self.operand(operands, 0, n)?, b: self.operand(operands, 1, many)?, step, n, rough }
            }
            Fun::Three(f) => {
                let a = self.operand(operands, 0, n)?;
                let second = operands.ids.get(1).and_then(|id| self.module.type_of(*id).ok());
                // Bit fields are cut by scalars out of every component.
                if n > 1 && second.is_some_and(|t| self.module.ty(t).is_ok_and(|t| t.components() == 1)) {
                    let (b, c) = (self.operand(operands, 1, 1)?, self.operand(operands, 2, 1)?);
                    for i in 0..n {
                        self.steps.push(Step::Map3 { f, dst: dst + i, a: a + i, b, c, n: 1, rough });
                    }
                    self.fit(dst, ty);
                    return Ok(());
                }
                Step::Map3 { f, dst, a, b: self.operand(operands, 1, n)?, c: self.operand(operands, 2, n)?, n, rough }
            }
        };
        self.steps.push(step);
        self.fit(dst, ty);
        Ok(())
    }

    pub(super) fn wide_step(&mut self, f: WideFun, dst: u32, ty: &Type, operands: &Operands) -> Done {
        let n = ty.components();
        if operands.ids.len() > 3 {
            return self.invalid(operands.line, "too many operands");
        }
        let mut args = [None; 3];
        for (i, (id, arg)) in operands.ids.iter().zip(&mut args).enumerate() {
            let (at, ty) = self.typed(*id, operands.line)?;
            let single = operands.scaled && i == 1;
            if ty.components() != if single { 1 } else { n } {
                return self.invalid(operands.line, "an operand has another shape than its instruction wants");
            }
            let wide = ty.scalar().is_some_and(ComponentType::wide);
            let at = self.extended_sign(operands, at, *id)?;
            *arg = Some(WideArg { at, wide, step: u32::from(!single) });
        }
        let wide = ty.scalar().is_some_and(ComponentType::wide);
        self.steps.push(Step::Wide { f, dst, wide, args, n, rough: operands.rough });
        self.fit(dst, ty);
        Ok(())
    }
}
