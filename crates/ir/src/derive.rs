//! What models may know of a Program, derived from its text: accesses, operation counts, registers, local memory.
//!
//! Everything here is a definition: what a [`crate::Family`] says of a configuration without its Program, tests hold against it.
//! A Program that cannot be described exactly is refused ([`NotAffine`]), never guessed at; of a place that depends on data it is said that it is
//! any ([`Indirect`]).

mod chain;
mod forms;
mod ops;
mod registers;

use crate::accesses::{
    AccessKind, AccessRef, Accesses, AffineBound, BufferLayout, Indirect, Nest, Pattern, TensorPlace, TensorUse, VarKind,
};
use crate::kernel::{Kernel, OpCounts, Reused};
use crate::program::{Bound, Expr, Name, ParamKind, Program, Space, Stmt, StorePolicy};
use crate::typing::TypeError;
use crate::units::Bytes;
use crate::validate::Checked;
use forms::{Followed, Forms};
use std::collections::HashMap;

pub use registers::registers;

/// Why a Program has no exact description.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("`{tensor}`: {what}")]
pub struct NotAffine {
    /// The tensor whose access cannot be described; otherwise the axis, loop or tensor whose extent cannot.
    pub tensor: Name,
    /// What stands in the way.
    pub what: Obstacle,
}

impl NotAffine {
    fn new(tensor: &Name, what: Obstacle) -> Self {
        Self { tensor: tensor.clone(), what }
    }
}

/// What makes an expression not affine in axes and loop trips.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Obstacle {
    /// A product of two expressions that both vary.
    #[error("a product of two variables")]
    Product,
    /// A quotient, remainder or shift that does not divide evenly.
    #[error("a quotient or remainder that is not known to split evenly")]
    Quotient,
    /// An operation that affine forms cannot follow.
    #[error("an operation that is not affine")]
    Operation,
    /// A value loaded from a tensor.
    #[error("depends on data loaded from `{0}`")]
    Data(Name),
    /// A variable that assignments change.
    #[error("depends on the mutable variable `{0}`")]
    Mutable(Name),
    /// A size that is still open; specialise the Program first.
    #[error("size `{0}` is not fixed")]
    Size(Name),
    /// A name that nothing declares.
    #[error("`{0}` is not declared")]
    Undeclared(Name),
    /// An extent that differs between work-items.
    #[error("an extent that is not a constant")]
    NotConstant,
    /// A surrounding condition that is no conjunction of affine comparisons.
    #[error("stands under a condition that is no conjunction of affine comparisons")]
    Condition,
    /// A loop around arithmetic runs a number of times that is not constant.
    #[error("the number of trips is not a constant")]
    Trips,
    /// An expression that has no type; validate the Program first.
    #[error("{0}")]
    Type(TypeError),
    /// A number leaves the range of its type.
    #[error("a number does not fit its type")]
    Overflow,
}

impl Accesses {
    /// The accesses of a Program whose sizes are all fixed (`lo = hi` counts as fixed).
    ///
    /// - `vars` are the group axes, the lane axes, then every `For` in order of appearance, loops without accesses included.
    /// - `tensors` are the buffers and images in order of the parameters, then the local arrays. Private arrays and tiles are registers.
    /// - `nest` holds accesses in the order of evaluation: of a statement, the loads of [`Stmt::exprs`] in order, operands before the
    ///   operations that use them, then the statement's own access. Every loop appears; scopes are transparent.
    /// - The guard of an access is the bounds of the `If`s around it, outermost first, then its own bounds in order. Guards
    ///   that always hold are kept.
    /// - A tile load or store is one access per tile row, as wide as the row (rows beyond 128 elements are cut into pieces of 128), with equal
    ///   coordinates in every lane: it shows what the sub-group touches as a whole.
    /// - What an assignment loads as it is, into a variable that nobody reads before work-items next meet, in this trip of the loop around it or the
    ///   next, is [`ahead`](AccessRef::ahead).
    /// - A coordinate at which a buffer in device memory is read, and that depends on data, is drawn at random ([`Indirect`]), anew for each value of
    ///   the variables that move what it is read from; its form is the sum of where that is. A guard that depends on data is left out: it is
    ///   taken to hold. One that depends on no data and is affine
    ///   but at the ends of a dimension (magnitudes, minima, maxima and remainders of a form: borders by reflection) is that form, known but for
    ///   these ([`Pattern::Banded`] of 1), or drawn where more than half of it lies beyond them; such a guard is left out. What is written has to have its own place.
    /// - An atomic is one access. Send and receive are barriers; the token itself is the concern of models of pipelines.
    pub fn of(program: &Program) -> Result<Self, NotAffine> {
        derive(program).map(|(accesses, _)| accesses)
    }
}

impl OpCounts {
    /// Arithmetic of one work-item of a Program whose loops around arithmetic run a constant number of times.
    ///
    /// Arithmetic on floats and on `u32`, `i64`, `u64` counts wherever it stands, except in coordinates, guards and loop bounds. Arithmetic
    /// on `i32` counts only where its value reaches stored data (through variables too), because otherwise it is address computation.
    /// Logic on `bool`s, casts, splats, concatenations and slices are free. Of an `If`, the side with more operations counts.
    /// `Mma` counts the m·n·k multiply-adds divided by the lanes that share them, under the element type of its left operand.
    pub fn of(program: &Program) -> Result<Self, NotAffine> {
        ops::count(program)
    }
}

impl Kernel {
    /// All that a model may see of a Program.
    pub fn of(program: &Checked) -> Result<Self, NotAffine> {
        let (accesses, forms) = derive(program)?;
        let loops = accesses.vars.iter().filter(|var| var.kind == VarKind::Loop);
        let chain = chain::chain(program, loops.map(|var| var.trips));
        Ok(Self {
            name: program.name.clone(),
            accesses,
            launch: forms.launch(),
            registers: registers(program),
            kept: 0,
            reused: Reused::default(),
            local: local_bytes(program),
            ops: OpCounts::of(program)?,
            chain,
            known: vec![],
        })
    }
}

/// Bytes of local memory that a group of a Program occupies: its local arrays one after another, without padding.
pub fn local_bytes(program: &Program) -> Bytes {
    let local = program.arrays.iter().filter(|a| a.space == Space::Local);
    Bytes(local.map(|a| a.len() as f64 * f64::from(a.element.bytes())).sum())
}

fn derive(program: &Program) -> Result<(Accesses, Forms<'_>), NotAffine> {
    let forms = Forms::new(program)?;
    let mut tensors = vec![];
    for param in &program.params {
        let place = match &param.kind {
            ParamKind::Buffer { space, element, dims, .. } => {
                let dims = dims.iter().map(|d| forms.extent(&param.name, d).map(i64::from)).collect::<Result<_, _>>()?;
                TensorPlace::Buffer { space: *space, element: element.stored(), dims, layout: BufferLayout::default() }
            }
            ParamKind::Image { kind, format, width, height, .. } => TensorPlace::Image {
                kind: *kind,
                format: format.stored(),
                width: forms.extent(&param.name, width)?.into(),
                height: forms.extent(&param.name, height)?.into(),
            },
            ParamKind::Channel { .. } => continue,
        };
        tensors.push(TensorUse { name: param.name.clone(), place });
    }
    for array in program.arrays.iter().filter(|a| a.space == Space::Local) {
        let dims = array.dims.iter().map(|&d| i64::from(d)).collect();
        tensors.push(TensorUse {
            name: array.name.clone(),
            place: TensorPlace::Buffer { space: Space::Local, element: array.element.stored(), dims, layout: BufferLayout::default() },
        });
    }
    let position = |(i, t): (usize, &TensorUse)| match u16::try_from(i) {
        Ok(i) => Ok((t.name.clone(), i)),
        Err(_) => Err(NotAffine::new(&t.name, Obstacle::Overflow)),
    };
    let positions = tensors.iter().enumerate().map(position).collect::<Result<_, _>>()?;
    let mut walk = Walk { program, forms, tensors, positions, around: vec![] };
    let nest = walk.block(&program.body, false)?;
    let accesses = Accesses { vars: walk.forms.vars.clone(), tensors: walk.tensors, nest };
    Ok((accesses, walk.forms))
}

/// A walk over a Program in order of evaluation.
struct Walk<'p> {
    program: &'p Program,
    forms: Forms<'p>,
    tensors: Vec<TensorUse>,
    positions: HashMap<Name, u16>,
    /// The conditions of the `If`s around the current statement. One that cannot be expressed matters only to an access inside.
    around: Vec<Result<Vec<AffineBound>, Obstacle>>,
}

impl<'p> Walk<'p> {
    fn block(&mut self, block: &'p [Stmt], repeated: bool) -> Result<Vec<Nest>, NotAffine> {
        let mut nest = vec![];
        for (n, stmt) in block.iter().enumerate() {
            let before = nest.len();
            self.stmt(stmt, &mut nest)?;
            // Of a private array nothing is loaded from memory.
            let own = nest[before..].last_mut();
            if let (Some(Nest::Access(access)), Stmt::Assign { name, value: Expr::Load { .. } | Expr::Texel { .. } }) = (own, stmt) {
                // Behind the last statement of a loop comes its first; what follows another block is not looked at.
                let again = if repeated { &block[..=n] } else { &[] };
                access.ahead = meets_unread(block[n + 1..].iter().chain(again), name);
            }
        }
        Ok(nest)
    }

    fn stmt(&mut self, stmt: &'p Stmt, nest: &mut Vec<Nest>) -> Result<(), NotAffine> {
        for expr in stmt.exprs() {
            self.loads(expr, nest)?;
        }
        match stmt {
            Stmt::Let { name, value } => self.forms.bind(name, value)?,
            Stmt::Var { name, ty, .. } => self.forms.bind_opaque(name, *ty, Obstacle::Mutable(name.clone())),
            Stmt::For { var, from, to, step, body, .. } => {
                let var = self.forms.enter(var, from, to, *step)?;
                let body = self.block(body, true)?;
                nest.push(Nest::Loop { var, body });
            }
            Stmt::If { condition, then, otherwise } => {
                for (block, wanted) in [(then, true), (otherwise, false)] {
                    self.around.push(self.forms.condition(condition, wanted));
                    nest.extend(self.block(block, false)?);
                    self.around.pop();
                }
            }
            Stmt::Scope(body) => nest.extend(self.block(body, false)?),
            Stmt::Store { target, index, value, guard, policy } => {
                let width = self.forms.type_of(target, value)?.width;
                self.access(target, AccessKind::Store(*policy), index.iter(), width, guard, nest)?;
            }
            Stmt::StoreTexel { image, x, y, guard, .. } => {
                self.access(image, AccessKind::Store(StorePolicy::WriteBack), [x, y].into_iter(), 1, guard, nest)?;
            }
            Stmt::Atomic { target, index, old, .. } => {
                self.access(target, AccessKind::Atomic, index.iter(), 1, &[], nest)?;
                if let Some(old) = old {
                    self.forms.bind_old(old, target);
                }
            }
            Stmt::TileLoad { tile, source, index } => self.tile(tile, source, AccessKind::Load, index, nest)?,
            Stmt::TileStore { target, index, tile } => {
                self.tile(tile, target, AccessKind::Store(StorePolicy::WriteBack), index, nest)?;
            }
            Stmt::Barrier { .. } | Stmt::Send { .. } | Stmt::Receive { .. } => nest.push(Nest::Barrier),
            Stmt::Assign { .. } | Stmt::TileFill { .. } | Stmt::Mma { .. } => {}
        }
        Ok(())
    }

    /// The loads inside an expression, operands first.
    fn loads(&self, expr: &Expr, nest: &mut Vec<Nest>) -> Result<(), NotAffine> {
        for operand in expr.children() {
            self.loads(operand, nest)?;
        }
        match expr {
            Expr::Load { source, index, width, guard } => self.access(source, AccessKind::Load, index.iter(), *width, guard, nest),
            Expr::Texel { image, x, y, guard } => self.access(image, AccessKind::Load, [&**x, y].into_iter(), 1, guard, nest),
            _ => Ok(()),
        }
    }

    fn access<'e>(
        &self,
        name: &Name,
        kind: AccessKind,
        index: impl Iterator<Item = &'e Expr>,
        width: u8,
        guard: &[Bound],
        nest: &mut Vec<Nest>,
    ) -> Result<(), NotAffine> {
        let Some(&tensor) = self.positions.get(name) else {
            // A private array is registers; anything else does not exist.
            let known = self.program.array(name).is_some();
            return if known { Ok(()) } else { Err(NotAffine::new(name, Obstacle::Undeclared(name.clone()))) };
        };
        let at = |what| NotAffine::new(name, what);
        let dims = match &self.tensors[usize::from(tensor)].place {
            TensorPlace::Buffer { space: Space::Global, dims, .. } if kind == AccessKind::Load => dims.as_slice(),
            _ => &[],
        };
        let mut indirect: Option<Indirect> = None;
        let coords = index.enumerate().map(|(d, e)| {
            self.forms.coordinate(e).or_else(|what| {
                let extent = dims.get(d).ok_or_else(|| what.clone())?;
                let found = match self.forms.found_at(e) {
                    Some(found) => found?,
                    None => match self.forms.followed(e, *extent).map_err(|_| what)? {
                        // Among what is drawn, what is known is known.
                        Followed::Known(form) => {
                            let own =
                                Indirect { pattern: Pattern::Banded(1), elements: 1, drawn: 1_u16.checked_shl(d as u32).unwrap_or(0) };
                            indirect.get_or_insert(own);
                            return Ok(form);
                        }
                        Followed::Anywhere(form) => form,
                    },
                };
                let bit = 1_u16.checked_shl(d as u32).unwrap_or(0);
                let random = Indirect { pattern: Pattern::Random, elements: 1, drawn: 0 };
                let own = indirect.get_or_insert(random);
                if own.pattern != Pattern::Random {
                    *own = random;
                }
                own.elements = own.elements.saturating_mul(extent.unsigned_abs());
                own.drawn |= bit;
                Ok(found)
            })
        });
        let coords = coords.collect::<Result<_, _>>().map_err(at)?;
        let mut bounds = vec![];
        for around in &self.around {
            bounds.extend(around.clone().map_err(at)?);
        }
        for own in guard {
            match self.forms.bound(own) {
                Err(_) if indirect.is_some() && self.forms.found_at(&own.value).is_some() => {}
                // Beyond the ends another element is read: nothing is left out.
                Err(_) if indirect.is_some() && self.forms.follows(&own.value).is_ok() => {}
                known => bounds.push(known.map_err(at)?),
            }
        }
        nest.push(Nest::Access(AccessRef { indirect, ..AccessRef::plain(tensor, kind, coords, width, bounds) }));
        Ok(())
    }

    fn tile(&self, tile: &Name, tensor: &Name, kind: AccessKind, index: &[Expr], nest: &mut Vec<Nest>) -> Result<(), NotAffine> {
        const PIECE: u32 = 128;
        let Some([rows, columns]) = self.program.array(tile).map(|a| a.dims.as_slice()) else {
            return Err(NotAffine::new(tile, Obstacle::Undeclared(tile.clone())));
        };
        let mut corner = vec![];
        self.access(tensor, kind, index.iter(), 1, &[], &mut corner)?;
        let Some(Nest::Access(corner)) = corner.pop() else { return Ok(()) };
        let [.., row, column] = corner.coords.as_slice() else { return Err(NotAffine::new(tensor, Obstacle::Operation)) };
        let far = || NotAffine::new(tensor, Obstacle::Overflow);
        for r in 0..*rows {
            for c in (0..*columns).step_by(PIECE as usize) {
                let mut access = corner.clone();
                let last = access.coords.len() - 1; // at least two, as matched above
                let (row, column) = (row.clone().offset(r.into()), column.clone().offset(c.into()));
                access.coords[last - 1] = row.ok_or_else(far)?;
                access.coords[last] = column.ok_or_else(far)?;
                access.width = PIECE.min(columns - c) as u8; // at most PIECE
                nest.push(Nest::Access(access));
            }
        }
        Ok(())
    }
}

/// Whether work-items meet before any of the statements reads a variable.
fn meets_unread<'p>(mut stmts: impl Iterator<Item = &'p Stmt>, name: &Name) -> bool {
    fn reads(stmt: &Stmt, name: &Name) -> bool {
        stmt.exprs().into_iter().any(|expr| expr.mentions(name)) || stmt.blocks().into_iter().flatten().any(|inside| reads(inside, name))
    }
    let meets = |stmt: &Stmt| matches!(stmt, Stmt::Barrier { .. });
    stmts.find(|stmt| meets(stmt) || reads(stmt, name)).is_some_and(meets)
}
