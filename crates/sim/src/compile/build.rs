//! The state of compilation: open blocks, names in scope, and the one way to make a value.

use super::{Info, Node, Tree, Value};
use crate::alu;
use crate::code::{Alu, AluOp, FaultKind, SHARED, Target, Wide, WideOp};
use crate::fault::SimFault;
use std::collections::{BTreeMap, HashMap};
use warpsight_ir::{BinaryOp, Const, Expr, ImageFormat, Name, ParamKind, Program, Scalar, Space};

/// The rows of an expression's value: per lane one, of 64-bit types two.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    pub scalar: Scalar,
    pub rows: Vec<Value>,
}

impl Rows {
    /// Rows of one lane.
    pub fn stride(&self) -> usize {
        stride(self.scalar)
    }
    /// Lanes.
    pub fn width(&self) -> usize {
        self.rows.len() / self.stride()
    }
    /// Low and high row of a lane; the same where there is one.
    pub fn lane(&self, lane: usize) -> [Value; 2] {
        let s = self.stride();
        [self.rows[lane * s], self.rows[lane * s + s - 1]]
    }
}

/// Rows of one lane of a type.
pub(super) fn stride(scalar: Scalar) -> usize {
    if scalar.bytes() == 8 { 2 } else { 1 }
}

/// What a name in scope stands for.
#[derive(Clone, Debug)]
pub(super) enum Binding {
    /// A value that does not change.
    Value(Rows),
    /// A variable and the type it is stored as.
    Variable(Rows, Scalar),
}

/// A tensor.
#[derive(Clone, Debug)]
pub(super) struct Tensor {
    pub target: Target,
    pub element: Scalar,
    pub format: Option<ImageFormat>,
    /// Slowest first; of an image (height, width).
    pub dims: Vec<u32>,
    /// Whether nothing writes it during the launch.
    pub constant: bool,
    /// Whether a read outside takes the nearest texel.
    pub clamp: bool,
}

/// What makes two computations the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum KeyOp {
    Alu(AluOp),
    Wide(WideOp),
    Load(Target, u8),
}

/// An operation and its operands, each with the state it is in.
pub(super) type Key = (KeyOp, Vec<(Value, u32)>);

/// An open block.
#[derive(Default)]
pub(super) struct Block {
    pub nodes: Vec<Node>,
    pub known: HashMap<Key, Vec<Value>>,
    /// Whether every lane that started the program gets here.
    pub convergent: bool,
}

pub(super) struct Builder<'p> {
    pub program: &'p Program,
    pub sizes: BTreeMap<Name, i64>,
    pub infos: Vec<Info>,
    constants: HashMap<u32, Value>,
    pub blocks: Vec<Block>,
    pub names: Vec<(Name, Binding)>,
    pub tensors: HashMap<Name, Tensor>,
    versions: u32,
    /// Nodes made so far; unrolling stops at a limit.
    pub made: usize,
    /// Whether what was loaded before is not loaded again.
    pub keep_loaded: bool,
}

/// Builds the tree of a Program.
pub(super) fn build(program: &Program, sizes: &BTreeMap<Name, i64>, keep_loaded: bool) -> Result<Tree, SimFault> {
    let mut b = Builder::new(program, keep_loaded);
    for size in &program.sizes {
        let binding = |what: String| SimFault::Binding { kernel: program.name.clone(), argument: size.name.clone(), what };
        let value = *sizes.get(&size.name).ok_or_else(|| binding("has no value".into()))?;
        if value < size.lo || value > size.hi || i32::try_from(value).is_err() {
            return Err(binding(format!("is {value}; it must be from {} to {}", size.lo, size.hi)));
        }
        b.sizes.insert(size.name.clone(), value);
    }
    let local_bytes = b.declare()?;
    let pinned = b.infos.len() as u32;
    let mut groups = vec![];
    let mut group_axes = vec![];
    for axis in &program.launch.groups {
        groups.push(b.extent(&axis.name, &axis.extent)?);
        group_axes.push(b.axis(&axis.name, true));
    }
    let lane_axes = program.launch.lanes.iter().map(|axis| b.axis(&axis.name, false)).collect();
    b.statements(&program.body)?;
    // The outermost block is the last one open.
    let body = b.closed()?;
    let extents = program.params.iter().map(|p| Ok(b.tensor(&p.name)?.dims)).collect::<Result<_, _>>()?;
    Ok(Tree { body, infos: b.infos, extents, pinned, group_axes, lane_axes, groups, local_bytes })
}

impl<'p> Builder<'p> {
    fn new(program: &'p Program, keep_loaded: bool) -> Self {
        Self {
            program,
            sizes: BTreeMap::new(),
            infos: vec![],
            constants: HashMap::new(),
            blocks: vec![Block { convergent: true, ..Block::default() }],
            names: vec![],
            tensors: HashMap::new(),
            versions: 0,
            made: 0,
            keep_loaded,
        }
    }
}

impl Builder<'_> {
    /// Declares parameters and arrays; gives the bytes of local memory.
    fn declare(&mut self) -> Result<usize, SimFault> {
        let program = self.program;
        for (at, param) in program.params.iter().enumerate() {
            let tensor = match &param.kind {
                ParamKind::Buffer { space, element, dims, access } => {
                    let dims = dims.iter().map(|d| self.extent(&param.name, d)).collect::<Result<Vec<_>, _>>()?;
                    if dims.iter().map(|&d| u64::from(d)).product::<u64>() > i32::MAX as u64 {
                        return Err(self.unsupported(format!("`{}`, a buffer of more than 2^31 elements", param.name)));
                    }
                    let constant = *space == Space::Constant || *access == warpsight_ir::Access::Read;
                    Tensor { target: Target::Buffer(at), element: *element, format: None, dims, constant, clamp: false }
                }
                ParamKind::Image { format, width, height, access, border, .. } => Tensor {
                    target: Target::Image(at),
                    element: format.scalar(),
                    format: Some(*format),
                    dims: vec![self.extent(&param.name, height)?, self.extent(&param.name, width)?],
                    constant: *access == warpsight_ir::Access::Read,
                    clamp: *border == warpsight_ir::Border::ClampToEdge,
                },
                ParamKind::Channel { .. } => return Err(self.unsupported(format!("channel `{}`", param.name))),
            };
            self.tensors.insert(param.name.clone(), tensor);
        }
        let mut local_bytes = 0;
        for array in &program.arrays {
            let target = match array.space {
                Space::Local => {
                    let start = local_bytes;
                    local_bytes += (array.len() * array.element.bytes() as usize).next_multiple_of(16);
                    Target::Local(start)
                }
                Space::Private => {
                    let start = self.infos.len();
                    for _ in 0..array.len() * stride(array.element) {
                        self.variable();
                    }
                    Target::Private(start)
                }
                _ => return Err(self.unsupported(format!("tile `{}`", array.name))),
            };
            let tensor = Tensor { target, element: array.element, format: None, dims: array.dims.clone(), constant: false, clamp: false };
            self.tensors.insert(array.name.clone(), tensor);
        }
        Ok(local_bytes)
    }

    pub fn unsupported(&self, what: String) -> SimFault {
        SimFault::Unsupported { kernel: self.program.name.clone(), what }
    }

    /// The value of a size expression, at least 0.
    fn extent(&mut self, of: &Name, expr: &Expr) -> Result<u32, SimFault> {
        let value = self.expr(expr)?;
        let constant = value.rows.first().and_then(|&v| self.infos[v as usize].constant);
        match constant.map(|bits| bits as i32) {
            Some(v) if v >= 0 => Ok(v as u32),
            other => Err(SimFault::Binding {
                kernel: self.program.name.clone(),
                argument: of.clone(),
                what: other.map_or("has an extent that is no size expression".into(), |v| format!("has the extent {v}")),
            }),
        }
    }

    fn axis(&mut self, name: &Name, uniform: bool) -> Value {
        let v = self.fresh(0, uniform);
        self.names.push((name.clone(), Binding::Value(Rows { scalar: Scalar::I32, rows: vec![v] })));
        v
    }

    pub fn info(&self, v: Value) -> &Info {
        &self.infos[v as usize]
    }

    pub fn depth(&self) -> u32 {
        self.blocks.len() as u32 - 1
    }

    /// The innermost open block. There is always one while statements are compiled.
    pub fn block(&mut self) -> &mut Block {
        let last = self.blocks.len() - 1;
        &mut self.blocks[last]
    }

    /// Closes the innermost block and gives its nodes.
    pub fn closed(&mut self) -> Result<Vec<Node>, SimFault> {
        let kernel = || self.program.name.clone();
        let closed = self.blocks.pop().ok_or_else(|| SimFault::Contradiction { kernel: kernel(), what: "a block ends that did not begin" });
        Ok(closed?.nodes)
    }

    pub fn push(&mut self, node: Node) {
        self.made += 1;
        self.block().nodes.push(node);
    }

    /// A value computed at a depth.
    pub fn fresh(&mut self, depth: u32, uniform: bool) -> Value {
        self.infos.push(Info { depth, constant: None, uniform, mutable: false, version: 0, loaded: false });
        self.infos.len() as Value - 1
    }

    /// A row that assignments change.
    pub fn variable(&mut self) -> Value {
        let v = self.fresh(self.depth(), false);
        self.infos[v as usize].mutable = true;
        self.changed(v);
        v
    }

    /// Notes that a variable holds something else from here on.
    pub fn changed(&mut self, v: Value) {
        self.versions += 1;
        let (version, depth) = (self.versions, self.depth());
        let info = &mut self.infos[v as usize];
        info.version = version;
        info.depth = depth;
    }

    pub fn constant(&mut self, bits: u32) -> Value {
        if let Some(&v) = self.constants.get(&bits) {
            return v;
        }
        let v = self.fresh(0, true);
        self.infos[v as usize].constant = Some(bits);
        self.constants.insert(bits, v);
        v
    }

    pub fn literal(&mut self, value: Const) -> Rows {
        let [low, high] = crate::code::bits(value);
        let mut rows = vec![self.constant(low)];
        if stride(value.scalar()) == 2 {
            rows.push(self.constant(high));
        }
        Rows { scalar: value.scalar(), rows }
    }

    fn key(&self, op: KeyOp, args: &[Value]) -> Key {
        (op, args.iter().map(|&v| (v, self.info(v).version)).collect())
    }

    /// What was computed before, in any open block from `depth` on.
    pub fn known(&self, op: &KeyOp, args: &[Value], depth: u32) -> Option<Vec<Value>> {
        let key = self.key(op.clone(), args);
        self.blocks[depth as usize..].iter().find_map(|block| block.known.get(&key)).cloned()
    }

    pub fn remember(&mut self, op: KeyOp, args: &[Value], depth: u32, result: Vec<Value>) {
        let key = self.key(op, args);
        self.blocks[depth as usize].known.insert(key, result);
    }

    /// Forgets that a value was computed into this row of the innermost block.
    pub fn forget(&mut self, v: Value) {
        self.block().known.retain(|_, rows| !rows.contains(&v));
    }

    /// The depth from which all operands are known.
    fn home(&self, args: &[Value]) -> u32 {
        args.iter().map(|&v| self.info(v).depth).max().unwrap_or(0)
    }

    /// A 32-bit operation.
    pub fn alu(&mut self, op: AluOp, args: &[Value]) -> Value {
        if let Some(known) = self.simplified(op, args) {
            return known;
        }
        let may_fault = matches!(op, AluOp::Binary(BinaryOp::Div | BinaryOp::Rem, s) if s.is_int())
            && self.info(args[1]).constant.is_none_or(|bits| bits == 0);
        let depth = if may_fault { self.depth() } else { self.home(args) };
        if let Some(rows) = self.known(&KeyOp::Alu(op), args, depth) {
            return rows[0];
        }
        let uniform = args.iter().all(|&v| self.info(v).uniform);
        let dst = self.fresh(depth, uniform);
        let at = |i: usize| args.get(i).copied().unwrap_or(args[0]);
        self.made += 1;
        self.blocks[depth as usize].nodes.push(Node::Alu(Alu { op, dst, a: at(0), b: at(1), c: at(2) }));
        self.remember(KeyOp::Alu(op), args, depth, vec![dst]);
        dst
    }

    /// An operation with 64-bit values.
    pub fn wide(&mut self, op: WideOp, args: &[[Value; 2]], result: Scalar) -> Vec<Value> {
        let at = |i: usize| args.get(i).copied().unwrap_or(args[0]);
        let args = [at(0), at(1), at(2)];
        let flat = args.concat();
        let may_fault = matches!(op, WideOp::Binary(BinaryOp::Div | BinaryOp::Rem, s) if s.is_int());
        let depth = if may_fault { self.depth() } else { self.home(&flat) };
        if let Some(rows) = self.known(&KeyOp::Wide(op), &flat, depth) {
            return rows;
        }
        let uniform = flat.iter().all(|&v| self.info(v).uniform);
        let rows: Vec<Value> = (0..stride(result)).map(|_| self.fresh(depth, uniform)).collect();
        let dst = [rows[0], rows[rows.len() - 1]];
        self.made += 1;
        self.blocks[depth as usize].nodes.push(Node::Wide(Wide { op, dst, args }));
        self.remember(KeyOp::Wide(op), &flat, depth, rows.clone());
        rows
    }

    /// What needs no instruction: constants, and neutral elements of integer arithmetic.
    fn simplified(&mut self, op: AluOp, args: &[Value]) -> Option<Value> {
        let constants: Vec<Option<u32>> = args.iter().map(|&v| self.info(v).constant).collect();
        if let Some(shared) = constants.iter().map(|c| c.map(|bits| [bits])).collect::<Option<Vec<_>>>() {
            let at = |i: usize| SHARED | if i < shared.len() { i as u16 } else { 0 };
            let folded = Alu { op, dst: 0, a: at(0), b: at(1), c: at(2) };
            let mut rows = [[0]];
            // A division by zero stays an instruction, which fails where it is executed.
            alu::run(&[folded], &[], &shared, &mut rows, 1).ok()?;
            return Some(self.constant(rows[0][0]));
        }
        match (op, constants.as_slice()) {
            (AluOp::Select, [_, _, Some(condition)]) => Some(if *condition != 0 { args[0] } else { args[1] }),
            (AluOp::Binary(BinaryOp::And, Scalar::Bool), [Some(1), None] | [None, Some(0)]) => Some(args[1]),
            (AluOp::Binary(BinaryOp::And, Scalar::Bool), [None, Some(1)] | [Some(0), None]) => Some(args[0]),
            (AluOp::Binary(op, s), constants) if s.is_int() => match (op, constants) {
                (BinaryOp::Add, [Some(0), None]) | (BinaryOp::Mul, [Some(1), None]) => Some(args[1]),
                (BinaryOp::Add | BinaryOp::Sub | BinaryOp::Shl | BinaryOp::Shr, [None, Some(0)]) => Some(args[0]),
                (BinaryOp::Mul | BinaryOp::Div, [None, Some(1)]) => Some(args[0]),
                (BinaryOp::Mul, [Some(0), None] | [None, Some(0)]) => Some(self.constant(0)),
                _ => None,
            },
            _ => None,
        }
    }

    /// Rows that stay as they are when a variable changes: its rows are copied.
    pub fn settled(&mut self, value: Rows) -> Rows {
        let rows = value.rows.iter().map(|&v| if self.info(v).mutable { self.copy(v) } else { v }).collect();
        Rows { scalar: value.scalar, rows }
    }

    /// A copy in a row of its own.
    pub fn copy(&mut self, v: Value) -> Value {
        let dst = self.fresh(self.depth(), false);
        self.push(Node::Alu(Alu { op: AluOp::Mov, dst, a: v, b: v, c: v }));
        dst
    }

    /// A step that fails where a lane gets to it.
    pub fn fault(&mut self, kind: FaultKind) {
        self.push(Node::Fault(kind));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_that_did_not_begin_is_no_empty_kernel() {
        let program = warpsight_ir::text::parse("program p {\n  lanes l = 64\n  {\n  }\n}\n").expect("parses");
        let mut builder = Builder::new(&program, true);
        assert!(builder.closed().expect("the outermost").is_empty());
        let Err(fault) = builder.closed() else { panic!("a block that is not open was closed") };
        assert_eq!(fault.to_string(), "kernel `p`: the simulator contradicts itself: a block ends that did not begin");
    }
}
