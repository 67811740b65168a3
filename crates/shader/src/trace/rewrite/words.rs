//! The words that are inserted.

use super::{Options, Width};
use crate::module::spirv::{BuiltIn, Capability, Decoration, GroupOperation, MemoryModel, StorageClass};
use crate::module::{Id, Module, Op};

/// What is inserted into a module, with its fresh ids.
pub(super) struct Pieces<'m> {
    module: &'m Module,
    options: Options,
    blocks: u32,
    next: Id,
    capabilities: Words,
    annotations: Words,
    globals: Words,
    void: Id,
    bool: Id,
    uint: Id,
    /// What the buffer is an array of: 64-bit counters, or their halves.
    element: Id,
    to_element: Id,
    to_counter: Id,
    counters: Id,
    buffer: Id,
    flush: Id,
    flush_type: Id,
    device: Id,
    subgroup: Id,
    /// The input that says whether an invocation is a helper, where it is wanted; and whether the module lacked it.
    helper: Option<(Id, bool)>,
    /// The constant 0; those of the next numbers follow.
    zero: Id,
}

/// Instructions, one after the other.
#[derive(Default)]
struct Words(Vec<u32>);

impl Words {
    fn put(&mut self, op: Op, args: &[u32]) {
        // Nothing that is written here has more than a dozen operands.
        self.0.push((args.len() as u32 + 1) << 16 | op as u32);
        self.0.extend(args);
    }
}

impl<'m> Pieces<'m> {
    pub(super) fn new(module: &'m Module, blocks: u32, options: Options) -> Self {
        let mut new = Self {
            module,
            options,
            blocks,
            next: module.bound(),
            capabilities: Words::default(),
            annotations: Words::default(),
            globals: Words::default(),
            void: 0,
            bool: 0,
            uint: 0,
            element: 0,
            to_element: 0,
            to_counter: 0,
            counters: 0,
            buffer: 0,
            flush: 0,
            flush_type: 0,
            device: 0,
            subgroup: 0,
            helper: None,
            zero: 0,
        };
        new.needs();
        new.alone();
        new.types();
        new.variables();
        new
    }

    fn fresh(&mut self) -> Id {
        self.next += 1;
        self.next - 1
    }

    fn whole(&self) -> bool {
        self.options.width == Width::Whole
    }

    fn has(&self, capability: Capability) -> bool {
        let all = self.module.insts().iter().take_while(|i| i.op == Op::Capability);
        all.clone().any(|i| self.module.args(i) == [capability as u32])
    }

    fn needs(&mut self) {
        let long = [Capability::Int64, Capability::Int64Atomics];
        let group = [Capability::GroupNonUniform, Capability::GroupNonUniformArithmetic];
        let wanted = long.iter().filter(|_| self.whole()).chain(group.iter().filter(|_| self.options.subgroup));
        for capability in wanted.filter(|c| !self.has(**c)).copied().collect::<Vec<_>>() {
            self.capabilities.put(Op::Capability, &[capability as u32]);
        }
    }

    /// Asks for every product and sum to be rounded by itself. A driver that joins `a * b + c` into one rounding, or draws a factor
    /// out of a sum, would branch otherwise than one that does not, and nothing but counts comes of this module.
    fn alone(&mut self) {
        let module = self.module;
        for inst in module.insts().iter().filter(|i| is_float_arithmetic(i.op)) {
            if module.decoration(inst.id, Decoration::NoContraction).is_none() {
                self.annotations.put(Op::Decorate, &[inst.id, Decoration::NoContraction as u32]);
            }
        }
    }

    /// Declares something with a result and no type.
    fn declare(&mut self, op: Op, args: &[u32]) -> Id {
        let id = self.fresh();
        self.globals.put(op, &[&[id], args].concat());
        id
    }

    /// The same for types that may stand in a module only once: all but pointers and aggregates.
    fn once(&mut self, op: Op, args: &[u32]) -> Id {
        let mut globals = self.module.insts().iter().take_while(|i| i.op != Op::Function);
        match globals.find(|i| i.op == op && self.module.args(i) == args) {
            Some(found) => found.id,
            None => self.declare(op, args),
        }
    }

    fn number(&mut self, value: u32) -> Id {
        let id = self.fresh();
        self.globals.put(Op::Constant, &[self.uint, id, value]);
        id
    }

    fn types(&mut self) {
        self.void = self.once(Op::TypeVoid, &[]);
        self.bool = self.once(Op::TypeBool, &[]);
        self.uint = self.once(Op::TypeInt, &[32, 0]);
        self.element = if self.whole() { self.once(Op::TypeInt, &[64, 0]) } else { self.uint };
        self.flush_type = self.once(Op::TypeFunction, &[self.void]);
        let numbers = self.elements().max(2);
        self.zero = self.next;
        (0..numbers).for_each(|i| {
            self.number(i);
        });
        let model = self.module.insts().iter().find(|i| i.op == Op::MemoryModel).map(|i| self.module.args(i)[1]);
        // The scope of the device; in Vulkan's memory model that needs a capability, the queue family's does not.
        self.device = self.number(if model == Some(MemoryModel::Vulkan as u32) { 5 } else { 1 });
        self.subgroup = self.number(3);
        self.flush = self.fresh();
    }

    /// Elements of the buffer.
    fn elements(&self) -> u32 {
        if self.whole() { self.blocks } else { 2 * self.blocks }
    }

    fn variables(&mut self) {
        let (private, storage, input) = (StorageClass::Private as u32, StorageClass::StorageBuffer as u32, StorageClass::Input as u32);
        let length = self.number(self.blocks);
        let array = self.declare(Op::TypeArray, &[self.uint, length]);
        let to_array = self.declare(Op::TypePointer, &[private, array]);
        self.to_counter = self.declare(Op::TypePointer, &[private, self.uint]);
        let (nothing, counters) = (self.fresh(), self.fresh());
        self.globals.put(Op::ConstantNull, &[array, nothing]);
        self.globals.put(Op::Variable, &[to_array, counters, private, nothing]);
        self.counters = counters;

        let length = self.number(self.elements());
        let list = self.declare(Op::TypeArray, &[self.element, length]);
        let block = self.declare(Op::TypeStruct, &[list]);
        let to_block = self.declare(Op::TypePointer, &[storage, block]);
        self.to_element = self.declare(Op::TypePointer, &[storage, self.element]);
        self.buffer = self.fresh();
        self.globals.put(Op::Variable, &[to_block, self.buffer, storage]);
        let stride = if self.whole() { 8 } else { 4 };
        self.annotations.put(Op::Decorate, &[list, Decoration::ArrayStride as u32, stride]);
        self.annotations.put(Op::Decorate, &[block, Decoration::Block as u32]);
        self.annotations.put(Op::MemberDecorate, &[block, 0, Decoration::Offset as u32, 0]);
        self.annotations.put(Op::Decorate, &[self.buffer, Decoration::DescriptorSet as u32, self.options.set]);
        self.annotations.put(Op::Decorate, &[self.buffer, Decoration::Binding as u32, self.options.binding]);

        // An invocation that was demoted is known by an instruction; the input need not know.
        if self.options.subgroup && !self.has(Capability::DemoteToHelperInvocation) {
            let wanted = |v: &&crate::module::Variable| v.class == StorageClass::Input && v.builtin == Some(BuiltIn::HelperInvocation);
            self.helper = self.module.variables.iter().find(wanted).map(|v| (v.id, false));
            if self.helper.is_none() {
                let pointer = self.declare(Op::TypePointer, &[input, self.bool]);
                let id = self.fresh();
                self.globals.put(Op::Variable, &[pointer, id, input]);
                self.annotations.put(Op::Decorate, &[id, Decoration::BuiltIn as u32, BuiltIn::HelperInvocation as u32]);
                self.helper = Some((id, true));
            }
        }
    }

    pub(super) fn capabilities(&self) -> &[u32] {
        &self.capabilities.0
    }

    pub(super) fn annotations(&self) -> &[u32] {
        &self.annotations.0
    }

    pub(super) fn globals(&self) -> &[u32] {
        &self.globals.0
    }

    /// What the entry point must list: inputs, from SPIR-V 1.4 on all variables.
    pub(super) fn interface(&self, all: bool) -> Vec<u32> {
        let mut ids: Vec<u32> = self.helper.filter(|h| h.1).map(|h| h.0).into_iter().collect();
        if all {
            ids.extend([self.counters, self.buffer]);
        }
        ids
    }

    /// Adds one to a block's counter.
    pub(super) fn count(&mut self, block: u32) -> Vec<u32> {
        let (pointer, old, new) = (self.fresh(), self.fresh(), self.fresh());
        let mut out = Words::default();
        out.put(Op::AccessChain, &[self.to_counter, pointer, self.counters, self.zero + block]);
        out.put(Op::Load, &[self.uint, old, pointer]);
        out.put(Op::IAdd, &[self.uint, new, old, self.zero + 1]);
        out.put(Op::Store, &[pointer, new]);
        out.0
    }

    pub(super) fn flush_call(&mut self) -> Vec<u32> {
        let id = self.fresh();
        let mut out = Words::default();
        out.put(Op::FunctionCall, &[self.void, id, self.flush]);
        out.0
    }

    /// The function that adds the counters to the buffer.
    pub(super) fn function(&mut self) -> Vec<u32> {
        let mut out = Words::default();
        out.put(Op::Function, &[self.void, self.flush, 0, self.flush_type]);
        let first = self.fresh();
        out.put(Op::Label, &[first]);
        // Helpers must not take part in a subgroup's sum, nor be the one that writes it.
        let end = self.options.subgroup.then(|| {
            let helper = self.fresh();
            match self.helper {
                Some((input, _)) => out.put(Op::Load, &[self.bool, helper, input]),
                None => out.put(Op::IsHelperInvocationEXT, &[self.bool, helper]),
            }
            let (work, end) = (self.fresh(), self.fresh());
            out.put(Op::SelectionMerge, &[end, 0]);
            out.put(Op::BranchConditional, &[helper, end, work]);
            out.put(Op::Label, &[work]);
            end
        });
        for block in 0..self.blocks {
            self.add(&mut out, block);
        }
        if let Some(end) = end {
            out.put(Op::Branch, &[end]);
            out.put(Op::Label, &[end]);
        }
        out.put(Op::Return, &[]);
        out.put(Op::FunctionEnd, &[]);
        out.0
    }

    fn add(&mut self, out: &mut Words, block: u32) {
        let (pointer, own) = (self.fresh(), self.fresh());
        out.put(Op::AccessChain, &[self.to_counter, pointer, self.counters, self.zero + block]);
        out.put(Op::Load, &[self.uint, own, pointer]);
        let mut count = own;
        let mut writes = self.fresh();
        out.put(Op::INotEqual, &[self.bool, writes, own, self.zero]);
        if self.options.subgroup {
            let (sum, elected, some, both) = (self.fresh(), self.fresh(), self.fresh(), self.fresh());
            out.put(Op::GroupNonUniformIAdd, &[self.uint, sum, self.subgroup, GroupOperation::Reduce as u32, own]);
            out.put(Op::GroupNonUniformElect, &[self.bool, elected, self.subgroup]);
            out.put(Op::INotEqual, &[self.bool, some, sum, self.zero]);
            out.put(Op::LogicalAnd, &[self.bool, both, some, elected]);
            (count, writes) = (sum, both);
        }
        let (work, end) = (self.fresh(), self.fresh());
        out.put(Op::SelectionMerge, &[end, 0]);
        out.put(Op::BranchConditional, &[writes, work, end]);
        out.put(Op::Label, &[work]);
        if self.whole() {
            let long = self.fresh();
            out.put(Op::UConvert, &[self.element, long, count]);
            self.atomic(out, block, long);
        } else {
            let old = self.atomic(out, 2 * block, count);
            let (new, over, carry, done) = (self.fresh(), self.fresh(), self.fresh(), self.fresh());
            out.put(Op::IAdd, &[self.uint, new, old, count]);
            out.put(Op::ULessThan, &[self.bool, over, new, old]);
            out.put(Op::SelectionMerge, &[done, 0]);
            out.put(Op::BranchConditional, &[over, carry, done]);
            out.put(Op::Label, &[carry]);
            self.atomic(out, 2 * block + 1, self.zero + 1);
            out.put(Op::Branch, &[done]);
            out.put(Op::Label, &[done]);
        }
        out.put(Op::Branch, &[end]);
        out.put(Op::Label, &[end]);
    }

    /// Adds to an element of the buffer; what it was before.
    fn atomic(&mut self, out: &mut Words, element: u32, value: Id) -> Id {
        let (pointer, old) = (self.fresh(), self.fresh());
        out.put(Op::AccessChain, &[self.to_element, pointer, self.buffer, self.zero, self.zero + element]);
        // Relaxed: nobody reads the counters before the draw is over.
        out.put(Op::AtomicIAdd, &[self.element, old, pointer, self.device, self.zero, value]);
        old
    }

    /// Every id is below this; right once everything was written.
    pub(super) fn bound(&self) -> u32 {
        self.next
    }
}

/// What the decoration NoContraction is for.
fn is_float_arithmetic(op: Op) -> bool {
    use Op as O;
    matches!(
        op,
        O::FNegate
            | O::FAdd
            | O::FSub
            | O::FMul
            | O::FDiv
            | O::FRem
            | O::FMod
            | O::VectorTimesScalar
            | O::MatrixTimesScalar
            | O::VectorTimesMatrix
            | O::MatrixTimesVector
            | O::MatrixTimesMatrix
            | O::OuterProduct
            | O::Dot
    )
}
