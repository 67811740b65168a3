//! From a module to steps on cells.

mod arithmetic;
mod memory;
mod ops;
mod texture;
mod variables;

use super::InterpretError;
use super::small;
use super::step::{Code, End, Phi, Place, Step};
use crate::cfg::{self, Cfg};
use crate::module::spirv::{GlslStd450Op, StorageClass};
use crate::module::{ComponentType, Id, Inst, Module, Op, Operand, Stride, Type, operands};
use std::collections::HashMap;
pub(crate) use variables::{Binding, Handle, Slots};

/// The most cells of a shader: 32 MiB for a quad.
const MAX_TOTAL: u32 = 1 << 21;

/// What an id stands for.
#[derive(Clone, Copy, Debug)]
enum Value {
    /// A value in cells from here on.
    Cells(u32),
    /// A pointer.
    Pointer(Place),
}

/// A function ready to be called.
pub(crate) struct Callable {
    pub entry: u32,
    /// Where its parameters are expected.
    params: Vec<(Id, u32)>,
    /// Where it leaves what it returns, and of which type that is.
    result: u32,
    returns: Id,
}

/// A module turned into steps.
pub(crate) struct Compiled {
    pub cells: u32,
    /// Constants: cell and word.
    pub constants: Vec<(u32, u32)>,
    /// Executed once, after the constants: specialisation constants that are calculated.
    pub prelude: Vec<Step>,
    /// Executed before every quad.
    pub reset: Vec<Step>,
    pub blocks: Vec<Code>,
    pub functions: Vec<Callable>,
    pub slots: Slots,
}

/// An instruction as the compiler sees it: an `OpSpecConstantOp` looks like the instruction that it stands for.
#[derive(Clone, Copy)]
struct Ins<'m> {
    op: Op,
    ty: Id,
    id: Id,
    line: u32,
    args: &'m [u32],
}

struct Compiler<'m> {
    module: &'m Module,
    cfg: &'m Cfg,
    values: HashMap<Id, Value>,
    out: Compiled,
    /// Steps of the block being compiled.
    steps: Vec<Step>,
    /// Numbers of storage buffers that were read and written so far.
    shared: usize,
    callable: HashMap<Id, usize>,
    /// Reachable blocks by label, and the blocks that lead to each.
    labels: HashMap<Id, u32>,
    preds: Vec<Vec<u32>>,
    /// How matrices lie behind pointers into storage buffers that point to some.
    matrices: HashMap<Id, Stride>,
    /// How many parts of inputs and outputs may still be met.
    parts_left: u32,
}

type Done<T = ()> = Result<T, InterpretError>;

pub(crate) fn compile(module: &Module, cfg: &Cfg) -> Done<Compiled> {
    let out = Compiled {
        cells: 0,
        constants: Vec::new(),
        prelude: Vec::new(),
        reset: Vec::new(),
        blocks: Vec::new(),
        functions: Vec::new(),
        slots: Slots::default(),
    };
    let labels = cfg.blocks.iter().enumerate().map(|(i, b)| (b.label, i as u32)).collect();
    let mut preds = vec![Vec::new(); cfg.blocks.len()];
    for (at, block) in cfg.blocks.iter().enumerate() {
        block.successors.iter().for_each(|s| preds[*s].push(at as u32));
    }
    let mut compiler = Compiler {
        module,
        cfg,
        values: HashMap::new(),
        out,
        steps: Vec::new(),
        shared: 0,
        callable: HashMap::new(),
        labels,
        preds,
        matrices: HashMap::new(),
        parts_left: 1 << 16,
    };
    compiler.constants()?;
    compiler.globals()?;
    compiler.declare_functions()?;
    for index in 0..cfg.blocks.len() {
        let code = compiler.block(index)?;
        compiler.out.blocks.push(code);
    }
    Ok(compiler.out)
}

impl<'m> Compiler<'m> {
    fn invalid<T>(&self, line: u32, what: &'static str) -> Done<T> {
        Err(InterpretError::Invalid { what, line })
    }

    fn unsupported<T>(&self, line: u32, what: impl Into<String>) -> Done<T> {
        Err(InterpretError::Unsupported { what: what.into(), line })
    }

    /// New cells.
    fn cells(&mut self, n: u32) -> Done<u32> {
        let start = self.out.cells;
        self.out.cells = start.checked_add(n).filter(|c| *c <= MAX_TOTAL).ok_or(InterpretError::TooLarge { limit: MAX_TOTAL })?;
        Ok(start)
    }

    fn ty(&self, id: Id) -> Done<&'m Type> {
        let module = self.module;
        Ok(module.ty(id)?)
    }

    /// The cells of the value with this id, whatever its type.
    fn value(&self, id: Id, line: u32) -> Done<u32> {
        match self.values.get(&id) {
            Some(Value::Cells(at)) => Ok(*at),
            Some(Value::Pointer(_)) => self.unsupported(line, "pointers as values"),
            None => self.invalid(line, "an operand has no value"),
        }
    }

    /// The cells of a value and its type.
    fn typed(&self, id: Id, line: u32) -> Done<(u32, &'m Type)> {
        Ok((self.value(id, line)?, self.ty(self.module.type_of(id)?)?))
    }

    /// The cells of a value that must be of `n` components of so many cells.
    fn numbers(&self, id: Id, n: u32, wide: bool, line: u32) -> Done<u32> {
        let (at, ty) = self.typed(id, line)?;
        if ty.components() != n || ty.scalar().is_none_or(|s| s.wide() != wide) {
            return self.invalid(line, "an operand has another shape than its instruction wants");
        }
        Ok(at)
    }

    /// The cells of a value that must have exactly this type.
    fn exactly(&self, id: Id, ty: Id, line: u32) -> Done<u32> {
        if self.module.type_of(id)? != ty {
            return self.invalid(line, "an operand has another type than its instruction wants");
        }
        self.value(id, line)
    }

    fn constants(&mut self) -> Done {
        let module = self.module;
        for inst in module.insts().iter().take_while(|i| i.op != Op::Function) {
            let args = module.args(inst);
            let composite = match inst.op {
                Op::Constant | Op::SpecConstant => false,
                Op::ConstantTrue | Op::SpecConstantTrue | Op::ConstantFalse | Op::SpecConstantFalse => false,
                Op::ConstantNull | Op::Undef => false,
                Op::ConstantComposite | Op::SpecConstantComposite => true,
                Op::SpecConstantOp => {
                    self.spec_constant(inst)?;
                    continue;
                }
                _ => continue,
            };
            let ty = self.ty(inst.ty)?;
            let n = ty.cells();
            let at = self.cells(n)?;
            self.values.insert(inst.id, Value::Cells(at));
            if composite {
                // Steps, as a part may itself be calculated.
                let from = self.parts(args, n, 0)?;
                self.out.prelude.push(Step::Gather { dst: at, from: from.into() });
                continue;
            }
            let words: Vec<u32> = match inst.op {
                Op::ConstantTrue | Op::SpecConstantTrue => vec![1],
                Op::Constant | Op::SpecConstant => args.to_vec(),
                // Zeros are said, too: they are not undefined.
                Op::ConstantFalse | Op::SpecConstantFalse | Op::ConstantNull => vec![0; n as usize],
                _ => Vec::new(),
            };
            if words.len() > n as usize || ty.scalar() == Some(ComponentType::Bool) && inst.op == Op::Constant {
                return self.invalid(0, "a constant does not fit its type");
            }
            let cell = |word| ty.scalar().map_or(word, |of| small::cell(of, word));
            self.out.constants.extend(words.into_iter().enumerate().map(|(i, w)| (at + i as u32, cell(w))));
        }
        Ok(())
    }

    fn spec_constant(&mut self, inst: &Inst) -> Done {
        let args = self.module.args(inst);
        let Some(op) = Op::from_u32(args[0]) else { return self.invalid(0, "a specialisation constant of an unknown operation") };
        self.declare(inst.id, inst.ty)?;
        let ins = Ins { op, ty: inst.ty, id: inst.id, line: 0, args: &args[1..] };
        // Its grammar was checked as OpSpecConstantOp only.
        if ins.args.is_empty() || matches!(op, Op::FunctionCall | Op::ExtInst | Op::AccessChain) {
            return self.unsupported(0, format!("Op{op:?} as a specialisation constant"));
        }
        self.pure(&ins)?;
        let steps = std::mem::take(&mut self.steps);
        self.out.prelude.extend(steps);
        Ok(())
    }

    /// The cells of some parts, which together must be `n`.
    fn parts(&self, ids: &[Id], n: u32, line: u32) -> Done<Vec<u32>> {
        let mut from = Vec::new();
        for id in ids {
            let (at, ty) = self.typed(*id, line)?;
            if from.len() as u64 + u64::from(ty.cells()) > u64::from(n) {
                return self.invalid(line, "a composite has too many parts");
            }
            from.extend(at..at + ty.cells());
        }
        if from.len() as u32 != n {
            return self.invalid(line, "a composite has too few parts");
        }
        Ok(from)
    }

    /// Cells for the result of an instruction.
    fn declare(&mut self, id: Id, ty: Id) -> Done<u32> {
        let ty = self.ty(ty)?;
        let at = self.cells(ty.cells())?;
        self.values.insert(id, Value::Cells(at));
        Ok(at)
    }

    /// Cells for parameters, results and every value of every function, before any is compiled: values may be used before they are
    /// met (by phis), and calls need to know the parameters' cells.
    fn declare_functions(&mut self) -> Done {
        let (module, cfg) = (self.module, self.cfg);
        for (index, function) in cfg.functions.iter().enumerate() {
            let source = &module.functions[function.function];
            self.callable.insert(source.id, index);
            let mut params = Vec::new();
            for param in &source.params {
                let ty = module.type_of(*param)?;
                let at = self.declare(*param, ty)?;
                if let Type::Pointer { .. } = self.ty(ty)? {
                    self.values.insert(*param, Value::Pointer(Place::At(at)));
                }
                params.push((ty, at));
            }
            let result = self.cells(self.ty(source.returns)?.cells())?;
            let entry = function.blocks.start as u32;
            self.out.functions.push(Callable { entry, params, result, returns: source.returns });
        }
        for block in &cfg.blocks {
            for inst in &module.insts()[block.insts.clone()] {
                if inst.id == 0 || inst.ty == 0 {
                    continue;
                }
                match (inst.op, self.ty(inst.ty)?) {
                    (Op::Variable, Type::Pointer { class: StorageClass::Function, to }) => {
                        let at = self.cells(self.ty(*to)?.cells())?;
                        self.values.insert(inst.id, Value::Pointer(Place::Fixed(at)));
                    }
                    // What they point to is known when they are compiled.
                    (_, Type::Pointer { .. }) => {}
                    _ => {
                        self.declare(inst.id, inst.ty)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn block(&mut self, index: usize) -> Done<Code> {
        let (module, cfg) = (self.module, self.cfg);
        let block = &cfg.blocks[index];
        let preds = std::mem::take(&mut self.preds[index]);
        let insts = &module.insts()[block.insts.clone()];
        let (mut phis, mut origins) = (Vec::new(), Vec::new());
        let mut weight = 0;
        for (inst, origin) in insts.iter().zip(block.insts.start as u32..) {
            let ins = Ins { op: inst.op, ty: inst.ty, id: inst.id, line: inst.line, args: module.args(inst) };
            weight += 1;
            match inst.op {
                Op::Line | Op::NoLine | Op::Nop | Op::LoopMerge | Op::SelectionMerge => weight -= 1,
                Op::Phi => phis.push(self.phi(&ins, index, &preds)?),
                _ if Some(inst) == insts.last() => {}
                _ => self.instruction(&ins)?,
            }
            origins.resize(self.steps.len(), origin);
        }
        let end = match insts.last() {
            Some(last) => self.end(block, last)?,
            None => return self.invalid(0, "a block has no end"),
        };
        let line = insts.iter().map(|i| i.line).find(|l| *l != 0).unwrap_or(0);
        origins.resize(self.steps.len(), block.insts.end as u32 - 1);
        let steps: Box<[Step]> = std::mem::take(&mut self.steps).into();
        weight += steps.iter().map(Step::bulk).sum::<u64>();
        // What is looked for among many counts as much as many.
        let cases = if let End::Switch { cases, .. } = &end { cases.len() } else { 0 };
        let chosen: usize = phis.iter().map(|p: &Phi| p.n as usize + 1).sum();
        let entered = if phis.is_empty() { 0 } else { preds.len() };
        weight += (cases + chosen + entered) as u64 / 64;
        Ok(Code { preds: preds.into(), phis: phis.into(), steps, origins: origins.into(), end, weight, line })
    }

    fn phi(&mut self, ins: &Ins, block: usize, preds: &[u32]) -> Done<Phi> {
        let mut by_label = HashMap::new();
        for pair in ins.args.as_chunks::<2>().0 {
            by_label.insert(pair[1], pair[0]);
        }
        let entry = self.cfg.functions[self.cfg.blocks[block].function].blocks.start == block;
        let mut from = Vec::with_capacity(preds.len());
        for pred in preds {
            let Some(id) = by_label.get(&self.cfg.blocks[*pred as usize].label) else {
                return self.invalid(ins.line, "a phi lacks one of the blocks that lead to it");
            };
            from.push(self.exactly(*id, ins.ty, ins.line)?);
        }
        if entry || preds.is_empty() {
            return self.invalid(ins.line, "a phi stands where nothing leads to");
        }
        Ok(Phi { dst: self.value(ins.id, ins.line)?, n: self.ty(ins.ty)?.cells(), from: from.into() })
    }

    fn end(&mut self, block: &cfg::Block, last: &Inst) -> Done<End> {
        let find = |label: Id| self.labels.get(&label).copied();
        let missing = InterpretError::Invalid { what: "a branch leads nowhere", line: last.line };
        let args = self.module.args(last);
        Ok(match last.op {
            Op::Branch => End::Jump(find(args[0]).ok_or(missing)?),
            Op::BranchConditional => {
                let condition = self.numbers(args[0], 1, false, last.line)?;
                End::Branch { condition, yes: find(args[1]).ok_or(missing.clone())?, no: find(args[2]).ok_or(missing)? }
            }
            Op::Switch => {
                let (selector, ty) = self.typed(args[0], last.line)?;
                let Type::Scalar(of @ ComponentType::Int { .. }) = ty else {
                    return self.invalid(last.line, "a switch selects by no integer");
                };
                let mut cases = Vec::new();
                let mut literal = 0;
                for operand in operands(self.module, last).into_iter().skip(2) {
                    match operand {
                        // Those of fewer bits than a word stand in it with their sign.
                        Operand::Literal(&[word]) => literal = u64::from(small::cell(*of, word)),
                        Operand::Literal(words) => literal = words.iter().rev().fold(0, |v, w| v << 32 | u64::from(*w)),
                        Operand::Id(label) => cases.push((literal, find(label).ok_or(missing.clone())?)),
                        _ => {}
                    }
                }
                End::Switch { selector, wide: of.wide(), cases: cases.into(), other: find(args[1]).ok_or(missing)? }
            }
            Op::Return => End::Return,
            Op::ReturnValue => {
                let function = &self.out.functions[block.function];
                let (dst, returns) = (function.result, function.returns);
                let src = self.exactly(args[0], returns, last.line)?;
                self.steps.push(Step::Copy { dst, src, n: self.ty(returns)?.cells() });
                End::Return
            }
            // What is unreachable ends, should it be reached nevertheless.
            Op::Kill | Op::TerminateInvocation | Op::Unreachable => End::Kill,
            op => return self.unsupported(last.line, format!("Op{op:?}")),
        })
    }

    fn instruction(&mut self, ins: &Ins<'m>) -> Done {
        match ins.op {
            Op::FunctionCall => self.call(ins),
            Op::ExtInst if self.module.is_glsl(ins.args[0]) => match GlslStd450Op::from_u32(ins.args[1]) {
                Some(op) => self.extended(op, ins),
                None => self.invalid(ins.line, "an unknown instruction of GLSL.std.450"),
            },
            // Debugging information, and other sets that mean nothing.
            Op::ExtInst if self.ty(ins.ty)? == &Type::Void => Ok(()),
            Op::DemoteToHelperInvocation => {
                self.steps.push(Step::Demote);
                Ok(())
            }
            Op::IsHelperInvocationEXT => {
                let dst = self.numbers(ins.id, 1, false, ins.line)?;
                self.steps.push(Step::IsHelper { dst });
                Ok(())
            }
            _ => match self.memory(ins)? || self.image(ins)? {
                true => Ok(()),
                false => self.pure(ins),
            },
        }
    }

    fn call(&mut self, ins: &Ins) -> Done {
        let Some(&function) = self.callable.get(&ins.args[0]) else { return self.invalid(ins.line, "a call of no function") };
        let (params, result, returns) = {
            let callee = &self.out.functions[function];
            (callee.params.clone(), callee.result, callee.returns)
        };
        if params.len() + 1 != ins.args.len() || returns != ins.ty {
            return self.invalid(ins.line, "a call that does not fit its function");
        }
        for ((ty, dst), arg) in params.into_iter().zip(&ins.args[1..]) {
            if self.module.type_of(*arg)? != ty {
                return self.invalid(ins.line, "an argument has another type than its parameter");
            }
            match self.values.get(arg) {
                Some(Value::Pointer(base)) => self.steps.push(Step::Address { dst, base: *base, terms: Box::default() }),
                _ => {
                    let (src, n) = (self.value(*arg, ins.line)?, self.ty(ty)?.cells());
                    self.steps.push(Step::Copy { dst, src, n });
                }
            }
        }
        self.steps.push(Step::Call { function: function as u32 });
        let n = self.ty(returns)?.cells();
        if n > 0 {
            let dst = self.value(ins.id, ins.line)?;
            self.steps.push(Step::Copy { dst, src: result, n });
        }
        Ok(())
    }
}
