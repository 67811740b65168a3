//! A Program with its names resolved: variables to slots, tensors to positions, sizes to values.

use super::fault::{BindingProblem, Fault};
use crate::program::{AtomicOp, BinaryOp, Bound, Expr, Name, Program, Scope, Space, Stmt, UnaryOp};
use crate::types::{Const, Scalar, Type};
use crate::typing::TypeEnv;
use std::collections::BTreeMap;

/// A resolved Program.
pub(super) struct Code<'a> {
    pub program: &'a Program,
    /// Extents of the group axes, fastest first.
    pub groups: Vec<i64>,
    /// Lanes of a sub-group; a whole group where the launch does not say.
    pub subgroup: u32,
    /// Variables of a work-item. Group axes come first, then lane axes.
    pub slots: usize,
    pub body: Vec<Step>,
}

/// Who executes a statement as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Team {
    Item,
    Subgroup,
    Group,
}

/// A statement.
pub(super) struct Step {
    /// The way to it: `body[3].for k.body[0]`.
    pub path: String,
    pub team: Team,
    pub op: Op,
}

/// What a statement does; see [`Stmt`].
pub(super) enum Op {
    /// `Let`, `Var` and `Assign`; `round` is the type of what is assigned to, which may be a 16-bit float.
    Set {
        slot: usize,
        value: Node,
        round: Option<Scalar>,
    },
    For {
        slot: usize,
        from: Node,
        to: Node,
        step: i64,
        body: Vec<Step>,
    },
    If {
        condition: Node,
        then: Vec<Step>,
        otherwise: Vec<Step>,
    },
    Block(Vec<Step>),
    Store {
        target: Place,
        index: Vec<Node>,
        value: Node,
        width: usize,
        guard: Vec<Limit>,
    },
    StoreTexel {
        image: usize,
        at: [Node; 2],
        value: Node,
        guard: Vec<Limit>,
    },
    Atomic {
        op: AtomicOp,
        target: Place,
        index: Vec<Node>,
        value: Node,
        compare: Option<Node>,
        old: Option<usize>,
    },
    Barrier {
        scope: Scope,
        local: bool,
        global: bool,
    },
    TileLoad {
        tile: usize,
        source: Place,
        index: Vec<Node>,
    },
    TileStore {
        target: Place,
        index: Vec<Node>,
        tile: usize,
    },
    TileFill {
        tile: usize,
        value: Node,
    },
    Mma {
        d: usize,
        a: usize,
        b: usize,
    },
    Send {
        param: usize,
        from: usize,
    },
    Receive {
        param: usize,
        into: usize,
    },
}

/// An expression; see [`Expr`].
pub(super) enum Node {
    Const(Const),
    Slot(usize),
    Load { source: Place, index: Vec<Node>, width: usize, guard: Vec<Limit> },
    Texel { image: usize, at: Box<[Node; 2]>, guard: Vec<Limit> },
    Unary(UnaryOp, Box<Node>),
    Binary(BinaryOp, Box<[Node; 2]>),
    Fma(Box<[Node; 3]>),
    Select(Box<[Node; 3]>),
    Cast(Scalar, Box<Node>),
    Splat(Box<Node>, usize),
    Concat(Vec<Node>),
    Slice { vector: Box<Node>, start: usize, width: usize },
    Lane(Box<[Node; 2]>),
}

/// A [`Bound`].
pub(super) struct Limit {
    pub value: Node,
    pub extent: Node,
    pub per_lane: bool,
}

/// A buffer or array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Param(usize),
    Array(usize),
}

impl<'a> Code<'a> {
    /// Resolves a Program, given its sizes.
    pub fn new(program: &'a Program, sizes: &'a BTreeMap<Name, i64>) -> Result<Self, Fault> {
        check_sizes(program, sizes)?;
        let groups = program.launch.groups.iter();
        let groups: Vec<i64> = groups.map(|axis| extent(program, sizes, &axis.extent, &axis.name)).collect::<Result<_, _>>()?;
        let count = groups.iter().try_fold(1_u32, |n, &extent| n.checked_mul(u32::try_from(extent).ok()?));
        if count.is_none() {
            return Err(bad(program, BindingProblem::TooLarge("the launch".to_owned())));
        }
        let axes = program.launch.groups.iter().map(|axis| &axis.name).chain(program.launch.lanes.iter().map(|axis| &axis.name));
        let scope: Vec<(Name, Scalar)> = axes.map(|name| (name.clone(), Scalar::I32)).collect();
        let mut resolver = Resolver { program, sizes, types: TypeEnv::of(program), slots: scope.len(), scope };
        let body = resolver.block(&program.body, "body")?;
        let subgroup = program.launch.subgroup.unwrap_or(program.launch.group_size()).max(1);
        Ok(Self { program, groups, subgroup, slots: resolver.slots, body })
    }

    /// How many work-groups there are.
    pub fn group_count(&self) -> u32 {
        self.groups.iter().product::<i64>() as u32
    }
}

pub(super) fn check_sizes(program: &Program, sizes: &BTreeMap<Name, i64>) -> Result<(), Fault> {
    for size in &program.sizes {
        match sizes.get(&size.name) {
            None => return Err(bad(program, BindingProblem::MissingSize(size.name.clone()))),
            Some(&value) if value < size.lo || value > size.hi => {
                let (name, lo, hi) = (size.name.clone(), size.lo, size.hi);
                return Err(bad(program, BindingProblem::SizeOutOfRange { name, value, lo, hi }));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

pub(super) fn bad(program: &Program, problem: BindingProblem) -> Fault {
    Fault::BadBinding { kernel: program.name.clone(), problem }
}

pub(super) fn malformed(program: &Program, problem: impl Into<String>) -> Fault {
    Fault::Malformed { kernel: program.name.clone(), problem: problem.into() }
}

/// An extent's value: positive, within `i32`.
pub(super) fn extent(program: &Program, sizes: &BTreeMap<Name, i64>, expr: &Expr, of: &str) -> Result<i64, Fault> {
    let wide = size_expression(program, sizes, expr, of)?;
    match i32::try_from(wide) {
        Ok(value @ 1..) => Ok(value.into()),
        Ok(value) => Err(Fault::NonPositive { kernel: program.name.clone(), what: of.to_owned(), value: value.into() }),
        Err(_) => Err(bad(program, BindingProblem::TooLarge(format!("`{of}`")))),
    }
}

/// The exact value of a size expression: an extent never wraps.
fn size_expression(program: &Program, sizes: &BTreeMap<Name, i64>, expr: &Expr, of: &str) -> Result<i64, Fault> {
    let too_large = || bad(program, BindingProblem::TooLarge(format!("`{of}`")));
    match expr {
        Expr::Const(c) => c.as_int().ok_or_else(too_large),
        Expr::Size(name) => sizes.get(name).copied().ok_or_else(|| bad(program, BindingProblem::MissingSize(name.clone()))),
        Expr::Binary(op, a, b) => {
            let (a, b) = (size_expression(program, sizes, a, of)?, size_expression(program, sizes, b, of)?);
            match op {
                BinaryOp::Div | BinaryOp::Rem if b == 0 => return Err(bad(program, BindingProblem::NoExtent(format!("`{of}`")))),
                BinaryOp::Add => a.checked_add(b),
                BinaryOp::Sub => a.checked_sub(b),
                BinaryOp::Mul => a.checked_mul(b),
                BinaryOp::Div => a.checked_div(b),
                BinaryOp::Rem => a.checked_rem(b),
                BinaryOp::Min => Some(a.min(b)),
                BinaryOp::Max => Some(a.max(b)),
                _ => return Err(malformed(program, format!("the extent of `{of}` is no size expression"))),
            }
            .ok_or_else(too_large)
        }
        _ => Err(malformed(program, format!("the extent of `{of}` is no size expression"))),
    }
}

struct Resolver<'a> {
    program: &'a Program,
    sizes: &'a BTreeMap<Name, i64>,
    types: TypeEnv,
    /// Variables in scope and what their lanes are stored as; a variable's slot is its position.
    scope: Vec<(Name, Scalar)>,
    /// Most variables in scope at once.
    slots: usize,
}

impl Resolver<'_> {
    fn block(&mut self, block: &[Stmt], path: &str) -> Result<Vec<Step>, Fault> {
        let outer = self.scope.len();
        let steps = block.iter().enumerate().map(|(i, stmt)| self.step(stmt, format!("{path}[{i}]"))).collect();
        self.leave(outer);
        steps
    }

    /// Ends the scope of all variables but so many.
    fn leave(&mut self, outer: usize) {
        for (name, _) in self.scope.drain(outer..) {
            self.types.forget(&name);
        }
    }

    fn declare(&mut self, name: &Name, ty: Type) -> usize {
        self.types.declare(name, ty);
        self.scope.push((name.clone(), ty.scalar));
        self.slots = self.slots.max(self.scope.len());
        self.scope.len() - 1
    }

    fn type_of(&self, expr: &Expr) -> Result<Type, Fault> {
        self.types.type_of(expr).map_err(|e| malformed(self.program, e.to_string()))
    }

    fn step(&mut self, stmt: &Stmt, path: String) -> Result<Step, Fault> {
        let op = match stmt {
            Stmt::Let { name, value } => {
                let (ty, value) = (self.type_of(value)?, self.node(value)?);
                Op::Set { slot: self.declare(name, ty), value, round: None }
            }
            Stmt::Var { name, ty, init } => {
                let value = self.node(init)?;
                Op::Set { slot: self.declare(name, *ty), value, round: Some(ty.scalar) }
            }
            Stmt::Assign { name, value } => {
                let slot = self.slot(name)?;
                Op::Set { slot, value: self.node(value)?, round: Some(self.scope[slot].1) }
            }
            Stmt::For { var, from, to, step, body, .. } => {
                let (from, to) = (self.node(from)?, self.node(to)?);
                let slot = self.declare(var, Type::scalar(Scalar::I32));
                let body = self.block(body, &format!("{path}.for {var}.body"));
                self.leave(slot);
                Op::For { slot, from, to, step: i64::from(*step).max(1), body: body? }
            }
            Stmt::If { condition, then, otherwise } => Op::If {
                condition: self.node(condition)?,
                then: self.block(then, &format!("{path}.then"))?,
                otherwise: self.block(otherwise, &format!("{path}.else"))?,
            },
            Stmt::Scope(body) => Op::Block(self.block(body, &format!("{path}.scope"))?),
            Stmt::Store { target, index, value, guard, .. } => Op::Store {
                target: self.place(target)?,
                index: self.nodes(index)?,
                value: self.node(value)?,
                width: usize::from(self.type_of(value)?.width),
                guard: self.guard(guard)?,
            },
            Stmt::StoreTexel { image, x, y, value, guard } => Op::StoreTexel {
                image: self.param(image)?,
                at: [self.node(x)?, self.node(y)?],
                value: self.node(value)?,
                guard: self.guard(guard)?,
            },
            Stmt::Atomic { op, target, index, value, compare, old, .. } => {
                let (ty, target, index, value) = (self.type_of(value)?, self.place(target)?, self.nodes(index)?, self.node(value)?);
                let compare = compare.as_ref().map(|c| self.node(c)).transpose()?;
                Op::Atomic { op: *op, target, index, value, compare, old: old.as_ref().map(|name| self.declare(name, ty)) }
            }
            Stmt::Barrier { scope, local, global } => Op::Barrier { scope: *scope, local: *local, global: *global },
            Stmt::TileLoad { tile, source, index } => {
                Op::TileLoad { tile: self.array(tile)?, source: self.place(source)?, index: self.nodes(index)? }
            }
            Stmt::TileStore { target, index, tile } => {
                Op::TileStore { target: self.place(target)?, index: self.nodes(index)?, tile: self.array(tile)? }
            }
            Stmt::TileFill { tile, value } => Op::TileFill { tile: self.array(tile)?, value: self.node(value)? },
            Stmt::Mma { d, a, b } => Op::Mma { d: self.array(d)?, a: self.array(a)?, b: self.array(b)? },
            Stmt::Send { channel, from } => Op::Send { param: self.param(channel)?, from: self.array(from)? },
            Stmt::Receive { channel, into } => Op::Receive { param: self.param(channel)?, into: self.array(into)? },
        };
        let team = team(&op);
        if team == Team::Subgroup && self.program.launch.subgroup.is_none() {
            return Err(malformed(self.program, format!("{path} needs the launch's sub-group")));
        }
        Ok(Step { path, team, op })
    }

    fn slot(&self, name: &Name) -> Result<usize, Fault> {
        self.scope.iter().rposition(|(n, _)| n == name).ok_or_else(|| self.unknown(name))
    }

    fn param(&self, name: &Name) -> Result<usize, Fault> {
        self.program.params.iter().position(|p| p.name == *name).ok_or_else(|| self.unknown(name))
    }

    fn array(&self, name: &Name) -> Result<usize, Fault> {
        self.program.arrays.iter().position(|a| a.name == *name).ok_or_else(|| self.unknown(name))
    }

    fn place(&self, name: &Name) -> Result<Place, Fault> {
        match self.array(name) {
            Ok(array) => Ok(Place::Array(array)),
            Err(_) => self.param(name).map(Place::Param),
        }
    }

    fn unknown(&self, name: &Name) -> Fault {
        malformed(self.program, format!("`{name}` is not declared"))
    }

    fn guard(&self, guard: &[Bound]) -> Result<Vec<Limit>, Fault> {
        let limit = |b: &Bound| Ok(Limit { value: self.node(&b.value)?, extent: self.node(&b.extent)?, per_lane: b.per_lane });
        guard.iter().map(limit).collect()
    }

    fn nodes(&self, exprs: &[Expr]) -> Result<Vec<Node>, Fault> {
        exprs.iter().map(|e| self.node(e)).collect()
    }

    fn boxed(&self, expr: &Expr) -> Result<Box<Node>, Fault> {
        self.node(expr).map(Box::new)
    }

    fn pair(&self, a: &Expr, b: &Expr) -> Result<Box<[Node; 2]>, Fault> {
        Ok(Box::new([self.node(a)?, self.node(b)?]))
    }

    fn triple(&self, a: &Expr, b: &Expr, c: &Expr) -> Result<Box<[Node; 3]>, Fault> {
        Ok(Box::new([self.node(a)?, self.node(b)?, self.node(c)?]))
    }

    fn node(&self, expr: &Expr) -> Result<Node, Fault> {
        Ok(match expr {
            Expr::Const(c) => Node::Const(*c),
            // Within `i32`: validation bounds the range, and the value was checked against it.
            Expr::Size(name) => Node::Const(Const::I32(*self.sizes.get(name).ok_or_else(|| self.unknown(name))? as i32)),
            Expr::Var(name) => Node::Slot(self.slot(name)?),
            Expr::Load { source, index, width, guard } => {
                Node::Load { source: self.place(source)?, index: self.nodes(index)?, width: usize::from(*width), guard: self.guard(guard)? }
            }
            Expr::Texel { image, x, y, guard } => {
                Node::Texel { image: self.param(image)?, at: self.pair(x, y)?, guard: self.guard(guard)? }
            }
            Expr::Unary(op, a) => Node::Unary(*op, self.boxed(a)?),
            Expr::Binary(op, a, b) => Node::Binary(*op, self.pair(a, b)?),
            Expr::Fma(a, b, c) => Node::Fma(self.triple(a, b, c)?),
            Expr::Select(condition, a, b) => Node::Select(self.triple(condition, a, b)?),
            Expr::Cast(to, a) => Node::Cast(*to, self.boxed(a)?),
            Expr::Splat(a, width) => Node::Splat(self.boxed(a)?, usize::from(*width)),
            Expr::Concat(parts) => Node::Concat(self.nodes(parts)?),
            Expr::Slice { vector, start, width } => {
                Node::Slice { vector: self.boxed(vector)?, start: usize::from(*start), width: usize::from(*width) }
            }
            Expr::Lane(vector, lane) => Node::Lane(self.pair(vector, lane)?),
        })
    }
}

/// Who must execute it as one: whoever meets at a statement inside.
fn team(op: &Op) -> Team {
    let of = |steps: &[Step]| steps.iter().map(|s| s.team).max().unwrap_or(Team::Item);
    match op {
        Op::Barrier { scope: Scope::Subgroup, .. } | Op::TileLoad { .. } | Op::TileStore { .. } | Op::TileFill { .. } | Op::Mma { .. } => {
            Team::Subgroup
        }
        Op::Barrier { .. } | Op::Send { .. } | Op::Receive { .. } => Team::Group,
        Op::For { body, .. } | Op::Block(body) => of(body),
        Op::If { then, otherwise, .. } => of(then).max(of(otherwise)),
        _ => Team::Item,
    }
}

/// How many copies of an array a group has.
pub(super) fn instances(space: Space, items: u32, subgroup: u32) -> usize {
    match space {
        Space::Private => items as usize,
        Space::Tile => items.div_ceil(subgroup) as usize,
        _ => 1,
    }
}
