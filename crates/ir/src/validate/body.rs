//! Names, types and uses in a body.

use super::error::{Invalid, InvalidKind, NameError, UseError};
use super::position::At;
use super::{check_size_expression, invalid, names};
use crate::program::{
    Access, Array, AtomicOp, Bound, Direction, Expr, ImageFormat, ImageKind, Name, ParamKind, Program, Scope, Space, Stmt, Unroll,
};
use crate::types::{Scalar, Type, WIDTHS};
use crate::typing::TypeEnv;
use std::collections::{HashMap, HashSet};

const I32: Type = Type::scalar(Scalar::I32);

/// Checks every statement by itself. Declarations were checked before.
pub(super) fn check(program: &Program) -> Result<(), Invalid> {
    let tensors = program.params.iter().map(|p| (&*p.name, Tensor::of_param(&p.kind)));
    let arrays = program.arrays.iter().map(|a| (&*a.name, Tensor::Array(a)));
    let mut body = Body { program, env: TypeEnv::of(program), mutable: HashSet::new(), tensors: tensors.chain(arrays).collect() };
    body.block(&program.body, At::body(0))
}

/// What a name of a parameter or array stands for.
#[derive(Clone, Copy)]
enum Tensor<'a> {
    Buffer { space: Space, element: Scalar, rank: usize, access: Access },
    Image { kind: ImageKind, format: ImageFormat, access: Access },
    Channel { element: Scalar, dims: &'a [u32], direction: Direction },
    Array(&'a Array),
}

impl<'a> Tensor<'a> {
    fn of_param(kind: &'a ParamKind) -> Self {
        match kind {
            ParamKind::Buffer { space, element, dims, access } => {
                Self::Buffer { space: *space, element: *element, rank: dims.len(), access: *access }
            }
            ParamKind::Image { kind, format, access, .. } => Self::Image { kind: *kind, format: *format, access: *access },
            ParamKind::Channel { element, dims, direction, .. } => Self::Channel { element: *element, dims, direction: *direction },
        }
    }
    /// What it is, for people.
    fn is(self) -> &'static str {
        match self {
            Self::Buffer { access: Access::Read, .. } => "a buffer that is read",
            Self::Buffer { access: Access::Write, .. } => "a buffer that is written",
            Self::Buffer { access: Access::ReadWrite, .. } => "a buffer that is read and written",
            Self::Image { access: Access::Read, .. } => "an image that is read",
            Self::Image { .. } => "an image that is written",
            Self::Channel { direction: Direction::Send, .. } => "a channel that is sent to",
            Self::Channel { direction: Direction::Receive, .. } => "a channel that is received from",
            Self::Array(array) => match array.space {
                Space::Local => "a local array",
                Space::Tile => "a tile",
                _ => "a private array",
            },
        }
    }
}

/// Indexable memory as an access sees it.
struct Memory {
    space: Space,
    element: Scalar,
    rank: usize,
    access: Access,
}

struct Body<'a> {
    program: &'a Program,
    env: TypeEnv,
    /// The names in scope that `Var` declared.
    mutable: HashSet<&'a str>,
    tensors: HashMap<&'a str, Tensor<'a>>,
}

impl<'a> Body<'a> {
    fn block(&mut self, block: &'a [Stmt], at: At<'_>) -> Result<(), Invalid> {
        let mut declared = Vec::new();
        for (position, stmt) in block.iter().enumerate() {
            let at = at.nth(position);
            self.stmt(stmt, &mut declared).map_err(|kind| invalid(at.to_string(), kind))?;
            let mut loop_var = Vec::new();
            if let Stmt::For { var, .. } = stmt {
                self.declare(var, I32, &mut loop_var).map_err(|kind| invalid(at.to_string(), kind))?;
            }
            for (at, nested) in at.nested(stmt).into_iter().zip(stmt.blocks()) {
                self.block(nested, at)?;
            }
            self.end(loop_var);
        }
        self.end(declared);
        Ok(())
    }

    fn end(&mut self, declared: Vec<&'a Name>) {
        for name in declared {
            self.env.forget(name);
            self.mutable.remove(&**name);
        }
    }

    fn declare(&mut self, name: &'a Name, ty: Type, declared: &mut Vec<&'a Name>) -> Result<(), InvalidKind> {
        names::check_name(name)?;
        let sizes = &self.program.sizes;
        if self.env.variable(name).is_some() || self.tensors.contains_key(&**name) || sizes.iter().any(|s| s.name == *name) {
            return Err(NameError::Hides(name.clone()).into());
        }
        self.env.declare(name, ty);
        declared.push(name);
        Ok(())
    }

    /// A statement without the blocks nested in it.
    fn stmt(&mut self, stmt: &'a Stmt, declared: &mut Vec<&'a Name>) -> Result<(), InvalidKind> {
        match stmt {
            Stmt::Let { name, value } => {
                let ty = self.expr(value)?;
                self.declare(name, ty, declared)
            }
            Stmt::Var { name, ty, init } => {
                if !WIDTHS.contains(&ty.width) {
                    return Err(UseError::Width(ty.width).into());
                }
                self.expect("the first value", init, Type::vector(ty.scalar.widened(), ty.width))?;
                self.declare(name, *ty, declared)?;
                self.mutable.insert(name);
                Ok(())
            }
            Stmt::Assign { name, value } => {
                let ty = self.env.variable(name).ok_or_else(|| crate::TypeError::Unknown(name.clone()))?;
                if !self.mutable.contains(&**name) {
                    return Err(UseError::NotAVar(name.clone()).into());
                }
                self.expect("the new value", value, ty)
            }
            Stmt::For { from, to, step, unroll, .. } => {
                self.expect("the first value of a loop", from, I32)?;
                self.expect("the end of a loop", to, I32)?;
                if !(1..=i32::MAX as u32).contains(step) {
                    return Err(UseError::Step(*step).into());
                }
                if *unroll == Unroll::By(0) {
                    return Err(UseError::UnrollByZero.into());
                }
                Ok(())
            }
            Stmt::If { condition, .. } => self.expect("a condition", condition, Type::scalar(Scalar::Bool)),
            Stmt::Scope(_) => Ok(()),
            Stmt::Store { target, index, value, guard, policy: _ } => {
                let memory = self.writable("store to", target)?;
                self.coordinates(target, memory.rank, index)?;
                self.guard(guard)?;
                let found = self.expr(value)?;
                self.same("the stored value", Type::vector(memory.element.widened(), found.width), found)
            }
            Stmt::StoreTexel { image, x, y, value, guard } => {
                let (kind, format) = match self.tensor(image)? {
                    Tensor::Image { kind, format, access: Access::Write } => (kind, format),
                    other => return Err(cannot("write texels of", image, other)),
                };
                self.place(image, kind, [x, y])?;
                self.guard(guard)?;
                self.expect("a texel", value, Type::vector(format.scalar(), 4))
            }
            Stmt::Atomic { op, target, index, value, compare, order: _, scope, old } => {
                let ty = self.atomic(*op, target, *scope)?;
                self.coordinates(target, self.memory("do atomics on", target)?.rank, index)?;
                self.expect("the operand", value, ty)?;
                match (op, compare) {
                    (AtomicOp::CompareExchange, Some(compare)) => self.expect("the comparand", compare, ty)?,
                    (AtomicOp::CompareExchange, None) | (_, Some(_)) => return Err(UseError::Comparand.into()),
                    _ => {}
                }
                match old {
                    Some(name) => self.declare(name, ty, declared),
                    None => Ok(()),
                }
            }
            Stmt::Barrier { scope: Scope::Device, .. } => Err(UseError::ScopeOf { what: "a barrier", scope: Scope::Device }.into()),
            Stmt::Barrier { .. } => Ok(()),
            Stmt::TileLoad { tile, source, index } => self.tile_transfer(tile, source, self.readable("load a tile from", source)?, index),
            Stmt::TileStore { target, index, tile } => self.tile_transfer(tile, target, self.writable("store a tile to", target)?, index),
            Stmt::TileFill { tile, value } => {
                let element = self.tile(tile)?.element;
                self.expect("the value of a tile", value, Type::scalar(element.widened()))
            }
            Stmt::Mma { d, a, b } => self.mma(d, a, b),
            Stmt::Send { channel, from } => self.token("send to", channel, Direction::Send, from),
            Stmt::Receive { channel, into } => self.token("receive from", channel, Direction::Receive, into),
        }
    }

    /// The type an atomic operation on this target works in.
    fn atomic(&self, op: AtomicOp, target: &Name, scope: Scope) -> Result<Type, InvalidKind> {
        let memory = self.memory("do atomics on", target)?;
        match memory {
            Memory { space: Space::Global, access: Access::ReadWrite, .. } => {}
            Memory { space: Space::Local, .. } if scope != Scope::Device => {}
            Memory { space: Space::Local, .. } => return Err(UseError::ScopeOf { what: "an atomic on a local array", scope }.into()),
            _ => return Err(cannot("do atomics on", target, self.tensor(target)?)),
        }
        let floats = matches!(op, AtomicOp::Add | AtomicOp::Exchange);
        match memory.element {
            Scalar::I32 | Scalar::U32 | Scalar::I64 | Scalar::U64 => Ok(Type::scalar(memory.element)),
            Scalar::F32 if floats => Ok(Type::scalar(Scalar::F32)),
            other => Err(UseError::AtomicElement(other).into()),
        }
    }

    fn tile(&self, name: &Name) -> Result<&'a Array, InvalidKind> {
        match self.tensor(name)? {
            Tensor::Array(array) if array.space == Space::Tile => {
                if self.program.launch.subgroup.is_none() {
                    return Err(UseError::NoSubgroup.into());
                }
                Ok(array)
            }
            other => Err(cannot("use as a tile", name, other)),
        }
    }

    fn tile_transfer(&self, tile: &Name, memory_name: &Name, memory: Memory, index: &[Expr]) -> Result<(), InvalidKind> {
        let array = self.tile(tile)?;
        if memory.space == Space::Private || memory.rank < 2 {
            return Err(UseError::Shapes { a: memory_name.clone(), b: tile.clone() }.into());
        }
        if memory.element != array.element {
            return Err(UseError::Elements { a: memory_name.clone(), b: tile.clone() }.into());
        }
        self.coordinates(memory_name, memory.rank, index)
    }

    fn mma(&self, d: &Name, a: &Name, b: &Name) -> Result<(), InvalidKind> {
        let (tile_d, tile_a, tile_b) = (self.tile(d)?, self.tile(a)?, self.tile(b)?);
        if tile_d.element != Scalar::F32 {
            return Err(UseError::MmaElement(tile_d.element).into());
        }
        if !matches!(tile_a.element, Scalar::F16 | Scalar::Bf16 | Scalar::F32) {
            return Err(UseError::MmaElement(tile_a.element).into());
        }
        if tile_a.element != tile_b.element {
            return Err(UseError::Elements { a: a.clone(), b: b.clone() }.into());
        }
        if tile_a.dims[1] != tile_b.dims[0] {
            return Err(UseError::Shapes { a: a.clone(), b: b.clone() }.into());
        }
        if tile_d.dims[0] != tile_a.dims[0] {
            return Err(UseError::Shapes { a: d.clone(), b: a.clone() }.into());
        }
        if tile_d.dims[1] != tile_b.dims[1] {
            return Err(UseError::Shapes { a: d.clone(), b: b.clone() }.into());
        }
        Ok(())
    }

    fn token(&self, action: &'static str, channel: &Name, end: Direction, array: &Name) -> Result<(), InvalidKind> {
        let (element, dims) = match self.tensor(channel)? {
            Tensor::Channel { element, dims, direction } if direction == end => (element, dims),
            other => return Err(cannot(action, channel, other)),
        };
        match self.tensor(array)? {
            Tensor::Array(local) if local.space == Space::Local => {
                if local.element != element {
                    return Err(UseError::Elements { a: channel.clone(), b: array.clone() }.into());
                }
                if local.dims != dims {
                    return Err(UseError::Shapes { a: channel.clone(), b: array.clone() }.into());
                }
                Ok(())
            }
            other => Err(cannot("hold a token in", array, other)),
        }
    }

    fn tensor(&self, name: &Name) -> Result<Tensor<'a>, InvalidKind> {
        self.tensors.get(&**name).copied().ok_or_else(|| NameError::NoTensor(name.clone()).into())
    }

    /// The indexable memory of that name.
    fn memory(&self, action: &'static str, name: &Name) -> Result<Memory, InvalidKind> {
        match self.tensor(name)? {
            Tensor::Buffer { space, element, rank, access } => Ok(Memory { space, element, rank, access }),
            Tensor::Array(a) if a.space != Space::Tile => {
                Ok(Memory { space: a.space, element: a.element, rank: a.dims.len(), access: Access::ReadWrite })
            }
            other => Err(cannot(action, name, other)),
        }
    }

    fn readable(&self, action: &'static str, name: &Name) -> Result<Memory, InvalidKind> {
        let memory = self.memory(action, name)?;
        if memory.access == Access::Write { Err(cannot(action, name, self.tensor(name)?)) } else { Ok(memory) }
    }

    fn writable(&self, action: &'static str, name: &Name) -> Result<Memory, InvalidKind> {
        let memory = self.memory(action, name)?;
        if memory.access == Access::Read { Err(cannot(action, name, self.tensor(name)?)) } else { Ok(memory) }
    }

    fn coordinates(&self, name: &Name, rank: usize, index: &[Expr]) -> Result<(), InvalidKind> {
        if index.len() != rank {
            return Err(UseError::Dimensions { name: name.clone(), expected: rank, found: index.len() }.into());
        }
        index.iter().try_for_each(|coordinate| self.expect("a coordinate", coordinate, I32))
    }

    fn guard(&self, guard: &[Bound]) -> Result<(), InvalidKind> {
        guard.iter().try_for_each(|bound| {
            self.expect("a bounded value", &bound.value, I32)?;
            check_size_expression(self.program, &bound.extent)
        })
    }

    fn expect(&self, what: &'static str, expr: &Expr, expected: Type) -> Result<(), InvalidKind> {
        let found = self.expr(expr)?;
        self.same(what, expected, found)
    }

    fn same(&self, what: &'static str, expected: Type, found: Type) -> Result<(), InvalidKind> {
        if expected == found { Ok(()) } else { Err(UseError::Type { what, expected, found }.into()) }
    }

    /// The type of an expression whose accesses are all in order.
    fn expr(&self, expr: &Expr) -> Result<Type, InvalidKind> {
        self.accesses(expr)?;
        Ok(self.env.type_of(expr)?)
    }

    /// The coordinates of a texel.
    fn place(&self, image: &Name, kind: ImageKind, [x, y]: [&Expr; 2]) -> Result<(), InvalidKind> {
        self.expect("a coordinate", x, I32)?;
        self.expect("a coordinate", y, I32)?;
        if kind.is_one_dimensional() && y.as_int() != Some(0) {
            return Err(UseError::Row { name: image.clone(), kind }.into());
        }
        Ok(())
    }

    /// What the types of an expression do not tell: its sizes, loads, texels and lane numbers.
    fn accesses(&self, expr: &Expr) -> Result<(), InvalidKind> {
        match expr {
            Expr::Load { source, index, width, guard } => {
                let memory = self.readable("load from", source)?;
                if !WIDTHS.contains(width) {
                    return Err(UseError::Width(*width).into());
                }
                self.coordinates(source, memory.rank, index)?;
                self.guard(guard)
            }
            Expr::Texel { image, x, y, guard } => {
                let kind = match self.tensor(image)? {
                    Tensor::Image { kind, access: Access::Read, .. } => kind,
                    other => return Err(cannot("read texels of", image, other)),
                };
                self.place(image, kind, [x, y])?;
                self.guard(guard)
            }
            Expr::Size(_) => check_size_expression(self.program, expr),
            Expr::Lane(vector, lane) => {
                self.accesses(vector)?;
                self.accesses(lane)?;
                let of = self.env.type_of(vector)?.width;
                match lane.as_int() {
                    Some(lane) if !(0..i64::from(of)).contains(&lane) => Err(UseError::Lane { lane, of }.into()),
                    _ => Ok(()),
                }
            }
            _ => expr.children().into_iter().try_for_each(|child| self.accesses(child)),
        }
    }
}

fn cannot(action: &'static str, name: &Name, tensor: Tensor<'_>) -> InvalidKind {
    UseError::Cannot { action, name: name.clone(), is: tensor.is() }.into()
}
