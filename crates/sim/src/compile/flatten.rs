//! Gives values their rows, flattens the tree and adds up what runs of arithmetic cost.

use super::{Node, Tree, Value};
use crate::code::{Access, Alu, AluOp, Code, HalfOp, LanePick, Op, Reg, SHARED, Target, Wide, WideOp};
use crate::silicon::Silicon;
use crate::timing::ticks;
use std::collections::{HashMap, HashSet};
use warpsight_ir::{BinaryOp, Scalar, UnaryOp};

/// Instructions of one run at most, so that waves take turns.
const LONGEST_RUN: u32 = 48;

/// Flattens a tree; of values that are not `needed` (of all, where nothing is said) only the time. The error names what there is too much of.
pub(super) fn flatten(tree: &Tree, silicon: &Silicon, needed: Option<&[bool]>) -> Result<Code, String> {
    let mut places = Placer {
        tree,
        silicon,
        needed,
        code: Code { shared: vec![0], ..Code::default() },
        free: vec![],
        next: 0,
        rows: HashMap::new(),
        shared: HashMap::from([(0, SHARED)]),
        loaded: loaded(tree),
        waited: HashSet::new(),
        open: None,
        coming: HashMap::new(),
        remade: super::registers::remade(tree),
        halves: super::registers::halves(tree, silicon),
        alive: 0,
        most: 0,
    };
    for v in 0..tree.pinned {
        places.take(v)?;
    }
    for &v in tree.group_axes.iter().chain(&tree.lane_axes) {
        places.take(v)?;
    }
    places.code.group_axes = tree.group_axes.iter().map(|v| places.rows[v]).collect();
    places.code.lane_axes = tree.lane_axes.iter().map(|v| places.rows[v]).collect();
    places.code.groups = tree.groups.clone();
    places.code.extents = tree.extents.clone();
    places.code.local_bytes = tree.local_bytes;
    places.block(&tree.body, &[])?;
    places.step(Op::End, &[]);
    places.code.results = needed.is_none();
    places.code.rows = usize::from(places.next);
    places.code.registers = places.most.div_ceil(2);
    Ok(places.code)
}

struct Placer<'t> {
    tree: &'t Tree,
    silicon: &'t Silicon,
    needed: Option<&'t [bool]>,
    code: Code,
    free: Vec<Reg>,
    next: Reg,
    rows: HashMap<Value, Reg>,
    shared: HashMap<u32, Reg>,
    /// Whether a value may still be on its way from memory.
    loaded: Vec<bool>,
    /// Loaded values that were waited for since control flow last met.
    waited: HashSet<Value>,
    open: Option<OpenRun>,
    /// Ticks from here until results of the runs before may be read.
    coming: HashMap<Value, u64>,
    /// Whether a value takes no register.
    remade: Vec<bool>,
    /// Whether two such values share a register.
    halves: Vec<bool>,
    /// Halves of registers that hold values alive, and the most that were.
    alive: u32,
    most: u32,
}

/// A run that is being collected.
struct OpenRun {
    first: u32,
    charged: u32,
    issue: u64,
    float: u64,
    /// Ticks of the wave so far, and when each result may be read.
    now: u64,
    ready: HashMap<Value, u64>,
    waits: Vec<Reg>,
}

impl Placer<'_> {
    fn take(&mut self, v: Value) -> Result<Reg, String> {
        if let Some(&r) = self.rows.get(&v) {
            return Ok(r);
        }
        let r = match self.free.pop() {
            Some(r) => r,
            None if self.next < SHARED => {
                self.next += 1;
                self.next - 1
            }
            None => return Err("a program with more than 32768 values alive at once".into()),
        };
        self.rows.insert(v, r);
        if !self.remade[v as usize] {
            self.alive += self.size(v);
            self.most = self.most.max(self.alive);
        }
        Ok(r)
    }

    /// Where a value is read. Undefined values read the first shared row.
    fn reg(&mut self, v: Value) -> Result<Reg, String> {
        match self.tree.infos[v as usize].constant {
            None => Ok(self.rows.get(&v).copied().unwrap_or(SHARED)),
            Some(bits) => {
                let next = self.shared.len() as u32;
                if next >= u32::from(SHARED) {
                    return Err("a program with more than 32768 constants".into());
                }
                let r = *self.shared.entry(bits).or_insert(SHARED | next as Reg);
                if self.shared.len() > self.code.shared.len() {
                    self.code.shared.push(bits);
                }
                Ok(r)
            }
        }
    }

    fn block(&mut self, nodes: &[Node], given: &[Value]) -> Result<(), String> {
        let ends = last_uses(nodes);
        let mut mine: HashSet<Value> = given.iter().copied().collect();
        let mut ending: HashMap<usize, Vec<Value>> = HashMap::new();
        for (&v, &at) in &ends {
            ending.entry(at).or_default().push(v);
        }
        for (at, node) in nodes.iter().enumerate() {
            let mut new = vec![];
            node.writes(|v| new.push(v));
            for v in new {
                if !self.rows.contains_key(&v) {
                    self.take(v)?;
                    mine.insert(v);
                }
            }
            self.node(node)?;
            // Sorted, so that the same Program always gets the same rows.
            let mut done = ending.remove(&at).unwrap_or_default();
            done.sort_unstable();
            for v in done {
                if !given.contains(&v) && mine.remove(&v) {
                    self.release(v);
                }
            }
        }
        self.close();
        let mut left: Vec<Value> = mine.into_iter().collect();
        left.sort_unstable();
        left.into_iter().for_each(|v| self.release(v));
        Ok(())
    }

    /// Halves of a register that a value takes.
    fn size(&self, v: Value) -> u32 {
        if self.halves[v as usize] { 1 } else { 2 }
    }

    fn release(&mut self, v: Value) {
        if let Some(r) = self.rows.remove(&v) {
            self.free.push(r);
            self.alive -= if self.remade[v as usize] { 0 } else { self.size(v) };
        }
    }

    /// Ends the open run and adds a step that waits for the loaded among `reads`.
    fn step(&mut self, op: Op, reads: &[Value]) {
        self.close();
        match op {
            // An instruction of its own goes by.
            Op::Access(_) | Op::Copy { .. } => {
                let core = &self.silicon.core;
                let gone = ticks(f64::from(core.wave) / f64::from(core.lanes));
                self.coming.values_mut().for_each(|left| *left = left.saturating_sub(gone));
            }
            // Branches, loops and barriers take longer than results do.
            _ => self.coming.clear(),
        }
        let waits = self.arriving(reads);
        self.add(op, &waits);
    }

    /// The rows of loaded values that nothing has waited for yet.
    fn arriving(&mut self, reads: &[Value]) -> Vec<Reg> {
        let new = reads.iter().filter(|v| self.loaded[**v as usize] && self.waited.insert(**v));
        new.filter_map(|v| self.rows.get(v).copied()).collect()
    }

    fn add(&mut self, op: Op, waits: &[Reg]) {
        let start = self.code.waits.len() as u32;
        self.code.waits.extend(waits);
        self.code.needs.push((start, self.code.waits.len() as u32));
        self.code.ops.push(op);
    }

    /// Ends the open run.
    fn close(&mut self) {
        let Some(run) = self.open.take() else { return };
        let count = self.code.alu.len() as u32 - run.first;
        let OpenRun { first, charged, .. } = run;
        let op = Op::Run { first, count, charged, issue: run.issue as u32, span: run.now as u32, float: run.float as u32 };
        self.add(op, &run.waits);
        self.coming =
            run.ready.into_iter().filter_map(|(v, ready)| Some((v, ready.checked_sub(run.now).filter(|&left| left > 0)?))).collect();
    }

    fn here(&self) -> u32 {
        self.code.ops.len() as u32
    }

    fn node(&mut self, node: &Node) -> Result<(), String> {
        let mut reads = vec![];
        node.reads(|v| reads.push(v));
        match node {
            Node::Alu(a) if copies(a) && self.loaded[a.a as usize] && !self.waited.contains(&a.a) => {
                let op = Op::Copy { dst: self.rows[&a.dst], src: self.reg(a.a)?, merge: a.op == AluOp::Merge };
                self.step(op, &[]);
                self.waited.remove(&a.dst);
            }
            Node::Alu(a) => {
                let placed = Alu { op: a.op, dst: self.rows[&a.dst], a: self.reg(a.a)?, b: self.reg(a.b)?, c: self.reg(a.c)? };
                self.arithmetic(placed, &reads, &[a.dst], cost(a.op, self.silicon));
            }
            Node::Wide(w) => {
                let mut args = [[0; 2]; 3];
                for (to, from) in args.iter_mut().flatten().zip(w.args.iter().flatten()) {
                    *to = self.reg(*from)?;
                }
                let at = self.code.wide.len() as u32;
                self.code.wide.push(Wide { op: w.op, dst: w.dst.map(|v| self.rows[&v]), args });
                let cost = wide_cost(w.op, self.silicon);
                let r = self.rows[&w.dst[0]];
                self.arithmetic(Alu { op: AluOp::Wide(at), dst: r, a: SHARED, b: SHARED, c: SHARED }, &reads, &w.dst, cost);
            }
            Node::Lane(pick) => {
                let lane = self.reg(pick.lane)?;
                let from = pick.from.iter().map(|&v| self.reg(v)).collect::<Result<_, _>>()?;
                let dst = pick.dst.iter().map(|v| self.rows[v]).collect();
                let at = self.code.lanes.len() as u32;
                let executed = self.needed.is_none_or(|needed| pick.dst.iter().any(|&v| needed[v as usize]));
                self.code.lanes.push(LanePick { dst, lane, from, executed });
                self.step(Op::Lane(at), &reads);
            }
            Node::Access(access) => {
                let placed = self.access(access)?;
                let at = self.code.accesses.len() as u32;
                self.code.accesses.push(placed);
                self.step(Op::Access(at), &reads);
                node.writes(|v| {
                    self.waited.remove(&v);
                });
            }
            Node::Loop { var, from, to, step, charged, body } => {
                let (from_row, to_row) = (self.reg(*from)?, self.reg(*to)?);
                let counter = self.take(*var)?;
                self.step(Op::LoopStart { var: counter, from: from_row, to: to_row, exit: 0 }, &[*from, *to]);
                let start = self.here() - 1;
                self.waited.clear();
                self.block(body, &[*var])?;
                self.waited.clear();
                let next = Op::LoopNext { var: counter, to: to_row, step: *step, body: start + 1, charged: *charged };
                self.step(next, &[]);
                let exit = self.here();
                if let Op::LoopStart { exit: e, .. } = &mut self.code.ops[start as usize] {
                    *e = exit;
                }
            }
            Node::If { condition, then, otherwise } => {
                let row = self.reg(*condition)?;
                self.step(Op::If { condition: row, otherwise: 0 }, &[*condition]);
                let start = self.here() - 1;
                self.waited.clear();
                self.block(then, &[])?;
                let mut other = self.here();
                if !otherwise.is_empty() {
                    self.step(Op::Else { end: 0 }, &[]);
                    self.waited.clear();
                    self.block(otherwise, &[])?;
                    let end = self.here();
                    self.code.ops[other as usize] = Op::Else { end };
                } else {
                    other = self.here();
                }
                self.step(Op::EndIf, &[]);
                self.waited.clear();
                self.code.ops[start as usize] = Op::If { condition: row, otherwise: other };
            }
            Node::Barrier => {
                self.code.barriers = true;
                self.step(Op::Barrier, &[]);
            }
            Node::Fault(kind) => {
                let at = self.code.faults.len() as u32;
                self.code.faults.push(kind.clone());
                self.step(Op::Fault(at), &[]);
            }
        }
        Ok(())
    }

    fn access(&mut self, a: &Access<Value>) -> Result<Access, String> {
        let mut all = |values: &[Value]| values.iter().map(|&v| self.reg(v)).collect::<Result<Vec<_>, _>>();
        Ok(Access {
            action: a.action,
            // Private arrays were placed first and in order, so their values are their rows.
            target: if let Target::Private(base) = a.target { Target::Private(base) } else { a.target },
            name: a.name.clone(),
            element: a.element,
            format: a.format,
            values: all(&a.values)?,
            operands: all(&a.operands)?,
            guard: all(&a.guard)?,
            coords: a.coords.iter().map(|&(v, d)| Ok((self.reg(v)?, d))).collect::<Result<_, String>>()?,
            offset: self.reg(a.offset)?,
            width: a.width,
            clamp: a.clamp,
        })
    }

    /// Adds an instruction that costs so many scalar instructions, the second number those on floats.
    fn arithmetic(&mut self, alu: Alu, reads: &[Value], writes: &[Value], (cost, float): (f64, bool)) {
        let waits = self.arriving(reads);
        let long = self.open.as_ref().is_some_and(|run| run.charged >= LONGEST_RUN);
        if !waits.is_empty() || long {
            self.close();
        }
        let core = &self.silicon.core;
        let issue = ticks(cost * f64::from(core.wave) / f64::from(core.lanes));
        let first = self.code.alu.len() as u32;
        let coming = &mut self.coming;
        let run = self.open.get_or_insert_with(|| OpenRun {
            first,
            charged: 0,
            issue: 0,
            float: 0,
            now: 0,
            ready: std::mem::take(coming),
            waits,
        });
        let start = reads.iter().filter_map(|v| run.ready.get(v)).fold(run.now, |t, &r| t.max(r));
        let latency = if issue > 0 { issue.max(ticks(core.alu_latency)) } else { 0 };
        for &v in writes {
            run.ready.insert(v, start + latency);
        }
        // A free modifier passes on what it waits for, and takes no slot.
        if issue > 0 {
            run.now = start + issue;
        }
        run.issue += issue;
        run.float += if float { issue } else { 0 };
        run.charged += 1;
        if self.needed.is_none_or(|needed| writes.iter().any(|&v| needed[v as usize])) {
            self.code.alu.push(alu);
        }
    }
}

fn copies(alu: &Alu<Value>) -> bool {
    matches!(alu.op, AluOp::Mov | AluOp::Merge)
}

/// Which values may still be on their way when they are read: those that loads write, and copies of them.
fn loaded(tree: &Tree) -> Vec<bool> {
    fn spread(nodes: &[Node], loaded: &mut [bool]) -> bool {
        nodes.iter().fold(false, |any, node| {
            let own = match node {
                Node::Alu(a) if copies(a) && loaded[a.a as usize] => !std::mem::replace(&mut loaded[a.dst as usize], true),
                _ => false,
            };
            node.blocks().fold(any || own, |any, inner| spread(inner, loaded) || any)
        })
    }
    let mut loaded: Vec<bool> = tree.infos.iter().map(|info| info.loaded).collect();
    while spread(&tree.body, &mut loaded) {}
    loaded
}

/// Scalar instructions an operation takes, and whether the float units execute them.
fn cost(op: AluOp, silicon: &Silicon) -> (f64, bool) {
    let core = &silicon.core;
    match op {
        AluOp::Half { op, paired } => {
            let same = match op {
                HalfOp::Fma => AluOp::Fma,
                HalfOp::Unary(op) => AluOp::Unary(op, Scalar::F32),
                HalfOp::Binary(op) => AluOp::Binary(op, Scalar::F32),
            };
            // Special functions are no faster for having fewer bits.
            match (cost(same, silicon), core.half) {
                ((whole, _), Some(half)) if whole == core.float_rate && (paired || !half.paired) => (half.rate, true),
                (whole, _) => whole,
            }
        }
        // Copies between registers are renamed away; signs and magnitudes are modifiers of operands.
        AluOp::Mov | AluOp::Merge | AluOp::Unary(UnaryOp::Neg | UnaryOp::Abs, Scalar::F32) => (0.0, true),
        AluOp::Fma | AluOp::Select | AluOp::Round(_) => (core.float_rate, true),
        AluOp::Unary(op, scalar) => match op {
            UnaryOp::Exp | UnaryOp::Log | UnaryOp::Sin | UnaryOp::Cos => (core.special_rate + core.float_rate, true),
            UnaryOp::Sqrt | UnaryOp::Rsqrt => (core.special_rate, true),
            UnaryOp::Tanh => (2.0 * core.special_rate + 3.0 * core.float_rate, true),
            UnaryOp::Erf => (core.special_rate + 12.0 * core.float_rate, true),
            _ if scalar == Scalar::F32 => (core.float_rate, true),
            _ => (core.int_rate, false),
        },
        AluOp::Binary(BinaryOp::Div, Scalar::F32) => (core.special_rate + core.float_rate, true),
        AluOp::Binary(BinaryOp::Rem, Scalar::F32) => (core.special_rate + 4.0 * core.float_rate, true),
        AluOp::Binary(_, Scalar::F32) => (core.float_rate, true),
        AluOp::Binary(BinaryOp::Mul, _) => (core.int_multiply_rate, false),
        AluOp::Binary(BinaryOp::Div | BinaryOp::Rem, _) => (core.int_divide_rate, false),
        AluOp::Binary(..) => (core.int_rate, false),
        AluOp::Cast(from, to) => (core.float_rate, from.is_float() || to.is_float()),
        AluOp::Wide(_) => (core.wide_rate, false),
    }
}

fn wide_cost(op: WideOp, silicon: &Silicon) -> (f64, bool) {
    let core = &silicon.core;
    match op {
        WideOp::Binary(BinaryOp::Div | BinaryOp::Rem, s) if s.is_int() => (core.wide_rate * core.int_divide_rate, false),
        WideOp::Unary(_, Scalar::F64) | WideOp::Binary(_, Scalar::F64) | WideOp::Fma => (core.wide_rate * core.special_rate, true),
        _ => (core.wide_rate, false),
    }
}

/// For each value that nodes of this block write or read, at any depth, the position of the last that does.
fn last_uses(nodes: &[Node]) -> HashMap<Value, usize> {
    fn deep(node: &Node, f: &mut impl FnMut(Value)) {
        node.reads(&mut *f);
        node.writes(&mut *f);
        for inner in node.blocks() {
            inner.iter().for_each(|n| deep(n, f));
        }
    }
    let mut ends = HashMap::new();
    for (at, node) in nodes.iter().enumerate() {
        deep(node, &mut |v| {
            ends.insert(v, at);
        });
    }
    ends
}
