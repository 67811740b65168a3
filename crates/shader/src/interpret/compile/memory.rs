//! Pointers, loads and stores.
//!
//! Memory that one invocation sees is cells; an address is a cell's number. Storage buffers are shared: an address is a word's
//! number, and offsets and strides are the module's.

use super::super::glsl::Ext;
use super::super::step::{Atomic, Place, Step, Term};
use super::{Compiler, Done, Ins, InterpretError, MAX_TOTAL, Value};
use crate::module::spirv::StorageClass;
use crate::module::{Id, Op, Stride, Type};

/// A pointer with what it points to.
struct Pointer {
    place: Place,
    to: Id,
    shared: bool,
    /// How matrices lie in that, in a storage buffer.
    matrix: Stride,
}

/// Neighbours in memory: the first cell of a value and the first word after its address, and how many.
struct Run {
    cell: u32,
    word: u32,
    n: u32,
}

impl Compiler<'_> {
    /// Compiles the instruction if it is one of memory, and says whether it was.
    pub(super) fn memory(&mut self, ins: &Ins) -> Done<bool> {
        let line = ins.line;
        match ins.op {
            Op::Variable => {
                let Some(Value::Pointer(Place::Fixed(dst))) = self.values.get(&ins.id).copied() else {
                    return self.invalid(line, "a variable of another storage class in a function");
                };
                let (to, n) = self.pointee(ins.ty, line)?;
                match ins.args.get(1) {
                    Some(initial) => {
                        let src = self.exactly(*initial, to, line)?;
                        self.steps.push(Step::Copy { dst, src, n });
                    }
                    None => self.steps.push(Step::Undefine { dst, n }),
                }
            }
            Op::AccessChain | Op::InBoundsAccessChain => self.chain(ins)?,
            Op::CopyObject if matches!(self.values.get(&ins.args[0]), Some(Value::Pointer(_))) => {
                if self.module.type_of(ins.args[0])? != ins.ty {
                    return self.invalid(line, "a copy of another type");
                }
                let (value, matrix) = (self.values[&ins.args[0]], self.matrices.get(&ins.args[0]).copied());
                self.values.insert(ins.id, value);
                matrix.map(|matrix| self.matrices.insert(ins.id, matrix));
            }
            Op::Load => {
                let pointer = self.pointer(ins.args[0], line)?;
                if pointer.to != ins.ty {
                    return self.invalid(line, "a load of another type than the pointer's");
                }
                let (dst, n) = (self.value(ins.id, line)?, self.ty(ins.ty)?.cells());
                self.load(&pointer, dst, n, line)?;
            }
            Op::Store => {
                let pointer = self.pointer(ins.args[0], line)?;
                let src = self.exactly(ins.args[1], pointer.to, line)?;
                let n = self.ty(pointer.to)?.cells();
                self.store(&pointer, src, n, line)?;
            }
            Op::CopyMemory => {
                let (to, from) = (self.pointer(ins.args[0], line)?, self.pointer(ins.args[1], line)?);
                if to.to != from.to {
                    return self.invalid(line, "a copy of another type");
                }
                let n = self.ty(to.to)?.cells();
                let between = self.cells(n)?;
                self.load(&from, between, n, line)?;
                self.store(&to, between, n, line)?;
            }
            Op::ArrayLength => self.length(ins)?,
            _ => return self.atomic(ins),
        }
        Ok(true)
    }

    /// What a pointer type points to, and its cells.
    fn pointee(&self, ty: Id, line: u32) -> Done<(Id, u32)> {
        match self.ty(ty)? {
            Type::Pointer { to, .. } => Ok((*to, self.ty(*to)?.cells())),
            _ => self.invalid(line, "a pointer is none"),
        }
    }

    fn pointer(&self, id: Id, line: u32) -> Done<Pointer> {
        let (Some(Value::Pointer(place)), Type::Pointer { class, to }) = (self.values.get(&id), self.ty(self.module.type_of(id)?)?) else {
            return self.unsupported(line, "pointers that are chosen at run time");
        };
        // Blocks of storage class Uniform were storage buffers before SPIR-V 1.3; all their pointers are found through the variable.
        let buffer = *class == StorageClass::Uniform && self.is_shared_uniform(id);
        let matrix = self.matrices.get(&id).copied().unwrap_or_default();
        Ok(Pointer { place: *place, to: *to, shared: *class == StorageClass::StorageBuffer || buffer, matrix })
    }

    /// Whether a pointer of the class Uniform leads into a buffer block. Chains of chains are short.
    fn is_shared_uniform(&self, mut id: Id) -> bool {
        for _ in 0..64 {
            let Ok(inst) = self.module.def(id) else { return false };
            match inst.op {
                Op::AccessChain | Op::InBoundsAccessChain | Op::CopyObject => id = self.module.args(inst)[0],
                Op::Variable => return self.pointee(inst.ty, 0).is_ok_and(|(to, _)| self.is_buffer_block(to)),
                _ => return false,
            }
        }
        false
    }

    fn chain(&mut self, ins: &Ins) -> Done {
        let line = ins.line;
        let base = self.pointer(ins.args[0], line)?;
        let (mut to, mut offset, mut terms, mut scalar, mut matrix) = (base.to, 0u32, Vec::new(), None, base.matrix);
        let far = super::InterpretError::Invalid { what: "an address is out of range", line };
        for &index in &ins.args[1..] {
            if scalar.is_some() {
                return self.invalid(line, "a part of a number");
            }
            let (next, stride, len) = match self.ty(to)? {
                Type::Struct { members, .. } => {
                    let member = self.module.constant(index).filter(|m| (*m as usize) < members.len());
                    let Some(member) = member else { return self.invalid(line, "a member that is not there") };
                    let at = if base.shared { self.module.member_offset(to, member)? / 4 } else { members[member as usize].1 };
                    offset = offset.checked_add(at).ok_or(far.clone())?;
                    matrix = self.module.matrix_stride(to, member);
                    to = members[member as usize].0;
                    continue;
                }
                Type::Vector { of, n } => {
                    scalar = Some(*of);
                    (to, of.cells(), *n)
                }
                Type::Matrix { .. } if base.shared && matrix.rows => {
                    return self.unsupported(line, "columns of matrices in storage buffers that lie there by rows");
                }
                Type::Matrix { column, columns, .. } if base.shared => (*column, matrix.bytes / 4, *columns),
                Type::Matrix { of, column, rows, columns } => (*column, rows * of.cells(), *columns),
                Type::Array { of, len, .. } => {
                    (*of, if base.shared { self.module.array_stride(to)? / 4 } else { self.ty(*of)?.cells() }, *len)
                }
                Type::RuntimeArray { of } if base.shared => (*of, self.module.array_stride(to)? / 4, u32::MAX),
                _ => return self.invalid(line, "a part of what has none"),
            };
            match self.module.constant(index) {
                // Specialisation constants that are calculated are known only later.
                Some(i) => {
                    let at = i.min(len - 1).checked_mul(stride).and_then(|at| at.checked_add(offset));
                    offset = at.ok_or(far.clone())?;
                }
                None => terms.push(Term { index: self.numbers(index, 1, false, line)?, stride, len }),
            }
            to = next;
        }
        let (wants, _) = self.pointee(ins.ty, line)?;
        let same = match scalar {
            Some(scalar) => self.ty(wants)? == &Type::Scalar(scalar),
            None => wants == to,
        };
        if !same {
            return self.invalid(line, "a pointer to another type than what it leads to");
        }
        if base.shared && matrix.bytes > 0 {
            self.matrices.insert(ins.id, matrix);
        }
        let place = match (base.place, terms.is_empty()) {
            (Place::Fixed(at), true) => Place::Fixed(at + offset),
            (base, _) => {
                let dst = self.cells(1)?;
                if offset > 0 {
                    let constant = self.cells(1)?;
                    self.out.constants.push((constant, offset));
                    terms.push(Term { index: constant, stride: 1, len: u32::MAX });
                }
                self.steps.push(Step::Address { dst, base, terms: terms.into() });
                Place::At(dst)
            }
        };
        self.values.insert(ins.id, Value::Pointer(place));
        Ok(())
    }

    fn load(&mut self, from: &Pointer, dst: u32, n: u32, line: u32) -> Done {
        match (from.place, from.shared) {
            (Place::Fixed(src), _) => self.steps.push(Step::Copy { dst, src, n }),
            (Place::At(at), false) => self.steps.push(Step::Load { dst, at, n }),
            (Place::At(at), true) => {
                let runs = self.runs(from, line)?;
                self.steps.extend(runs.into_iter().map(|r| Step::LoadShared { dst: dst + r.cell, at, offset: r.word, n: r.n }));
            }
        }
        Ok(())
    }

    fn store(&mut self, to: &Pointer, src: u32, n: u32, line: u32) -> Done {
        match (to.place, to.shared) {
            (Place::Fixed(dst), _) => self.steps.push(Step::Copy { dst, src, n }),
            (Place::At(at), false) => self.steps.push(Step::Store { at, src, n }),
            (Place::At(at), true) => {
                let runs = self.runs(to, line)?;
                self.steps.extend(runs.into_iter().map(|r| Step::StoreShared { at, offset: r.word, src: src + r.cell, n: r.n }));
            }
        }
        Ok(())
    }

    /// Stores cells through a pointer whose target must have as many.
    pub(super) fn store_cells(&mut self, pointer: Id, src: u32, n: u32, line: u32) -> Done {
        let pointer = self.pointer(pointer, line)?;
        if self.ty(pointer.to)?.cells() != n {
            return self.invalid(line, "a pointer to another type than what is stored");
        }
        self.store(&pointer, src, n, line)
    }

    /// What lies behind a pointer into a storage buffer, in the order of its cells.
    fn runs(&mut self, pointer: &Pointer, line: u32) -> Done<Vec<Run>> {
        let mut runs: Vec<Run> = Vec::new();
        let leaves = self.module.leaves(pointer.to, pointer.matrix)?;
        // Each may become a step, however often the same is read or written.
        self.shared += leaves.len();
        if self.shared > MAX_TOTAL as usize {
            return Err(InterpretError::TooLarge { limit: MAX_TOTAL });
        }
        for leaf in leaves {
            if leaf.scalar.small() || leaf.offset % 4 != 0 {
                return self.unsupported(line, "numbers of 8 and 16 bits in storage buffers");
            }
            let (cell, word, n) = (leaf.cell, leaf.offset / 4, leaf.scalar.cells());
            match runs.last_mut() {
                Some(last) if last.cell + last.n == cell && last.word + last.n == word => last.n += n,
                _ => runs.push(Run { cell, word, n }),
            }
        }
        Ok(runs)
    }

    fn length(&mut self, ins: &Ins) -> Done {
        let line = ins.line;
        let pointer = self.pointer(ins.args[0], line)?;
        let (Type::Struct { members, .. }, Place::At(buffer), true) = (self.ty(pointer.to)?, pointer.place, pointer.shared) else {
            return self.invalid(line, "only storage buffers have a length");
        };
        let member = ins.args[1];
        let Some((array, _)) = members.get(member as usize) else { return self.invalid(line, "a member that is not there") };
        let (offset, stride) = (self.module.member_offset(pointer.to, member)? / 4, self.module.array_stride(*array)? / 4);
        if stride == 0 {
            return self.unsupported(line, "numbers of 8 and 16 bits in storage buffers");
        }
        let dst = self.numbers(ins.id, 1, false, line)?;
        self.steps.push(Step::LengthShared { dst, buffer, offset, stride });
        Ok(())
    }

    fn atomic(&mut self, ins: &Ins) -> Done<bool> {
        let line = ins.line;
        let (how, value) = match ins.op {
            Op::AtomicLoad => (Atomic::Load, None),
            Op::AtomicStore => (Atomic::Store, ins.args.get(3)),
            Op::AtomicExchange => (Atomic::Exchange, ins.args.get(3)),
            Op::AtomicIAdd => (Atomic::Add, ins.args.get(3)),
            Op::AtomicISub => (Atomic::Sub, ins.args.get(3)),
            Op::AtomicSMin => (Atomic::Min { signed: true }, ins.args.get(3)),
            Op::AtomicUMin => (Atomic::Min { signed: false }, ins.args.get(3)),
            Op::AtomicSMax => (Atomic::Max { signed: true }, ins.args.get(3)),
            Op::AtomicUMax => (Atomic::Max { signed: false }, ins.args.get(3)),
            Op::AtomicAnd => (Atomic::And, ins.args.get(3)),
            Op::AtomicOr => (Atomic::Or, ins.args.get(3)),
            Op::AtomicXor => (Atomic::Xor, ins.args.get(3)),
            _ => return Ok(false),
        };
        let pointer = self.pointer(ins.args[0], line)?;
        let (Place::At(at), true, Type::Scalar(of)) = (pointer.place, pointer.shared, self.ty(pointer.to)?) else {
            return self.unsupported(line, "atomics on other than numbers in storage buffers");
        };
        if of.small() {
            return self.unsupported(line, "numbers of 8 and 16 bits in storage buffers");
        }
        let value = value.map(|id| self.exactly(*id, pointer.to, line)).transpose()?;
        let dst = if ins.id == 0 { None } else { Some(self.exactly(ins.id, pointer.to, line)?) };
        if value.is_none() && how != Atomic::Load {
            return self.invalid(line, "an operand is missing");
        }
        self.steps.push(Step::AtomicShared { how, wide: of.wide(), dst, at, value });
        Ok(true)
    }

    /// At one sample a pixel, centroid and sample are the pixel's centre; the offset is of the plane through the quad.
    pub(super) fn interpolate(&mut self, op: Ext, ins: &Ins, dst: u32) -> Done {
        let line = ins.line;
        let pointer = self.pointer(ins.args[2], line)?;
        let n = self.ty(ins.ty)?.components();
        if pointer.to != ins.ty || pointer.shared || n != self.ty(ins.ty)?.cells() {
            return self.invalid(line, "an interpolation of another type than the input's");
        }
        self.load(&pointer, dst, n, line)?;
        if op != Ext::InterpolateAtOffset {
            return Ok(());
        }
        let Some(&offset) = ins.args.get(3) else { return self.invalid(line, "an operand is missing") };
        let offset = self.numbers(offset, 2, false, line)?;
        let slopes = self.cells(2 * n)?;
        for (i, slope) in [super::super::step::Slope::X, super::super::step::Slope::Y].into_iter().enumerate() {
            let each = slopes + i as u32 * n;
            self.steps.push(Step::Slope { slope, dst: each, a: dst, n, rough: true });
            let (Some(super::super::step::Fun::Two(times)), Some(super::super::step::Fun::Two(plus))) =
                (super::super::arith::narrow(Op::FMul), super::super::arith::narrow(Op::FAdd))
            else {
                return Ok(());
            };
            self.steps.push(Step::Map2 { f: times, dst: each, a: each, b: offset + i as u32, step: 0, n, rough: true });
            // The first slope is added after the second was taken of the value itself.
            if i == 1 {
                self.steps.push(Step::Map2 { f: plus, dst, a: dst, b: slopes, step: 1, n, rough: true });
                self.steps.push(Step::Map2 { f: plus, dst, a: dst, b: each, step: 1, n, rough: true });
            }
        }
        Ok(())
    }
}
