//! Validation: the only way to a [`Checked`] Program.
//!
//! The rules, in the order in which they are checked:
//! 1. declarations: names are free C identifiers and occur once; extents are size expressions; spaces, accesses and shapes make sense;
//! 2. the body, statement by statement (`body.rs`): every name resolves, every expression has a type, every access fits its tensor;
//! 3. uniformity (`uniform.rs`): every collective statement is reached by all work-items of its scope or by none.
//!
//! Two rules of [`crate::program`] are left to the interpreter, for they depend on values: no index is out of bounds, no two
//! work-items race.

mod body;
mod error;
mod names;
mod pipeline;
mod position;
mod uniform;

pub use error::{CollectiveError, DeclarationError, Invalid, InvalidKind, NameError, UseError};
pub use pipeline::{CheckedPipeline, InvalidPipeline, PipelineError};

use crate::program::{Access, Array, BinaryOp, Border, Expr, ImageKind, Launch, Name, ParamKind, Program, SizeParam, Space};
use std::collections::HashSet;

/// A Program that obeys its own rules. Emitters, devices and derivations take nothing else.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked(Program);

impl Checked {
    /// Validates a Program.
    ///
    /// # Errors
    /// The first rule that is broken, and where.
    pub fn new(program: Program) -> Result<Self, Invalid> {
        declarations(&program)?;
        body::check(&program)?;
        uniform::check(&program)?;
        Ok(Self(program))
    }
    /// The Program itself, to change and validate anew.
    pub fn into_inner(self) -> Program {
        self.0
    }
}

impl std::ops::Deref for Checked {
    type Target = Program;
    fn deref(&self) -> &Program {
        &self.0
    }
}

/// Puts a place to what is wrong there.
fn invalid(at: impl Into<String>, kind: impl Into<InvalidKind>) -> Invalid {
    Invalid { at: at.into(), kind: kind.into() }
}

/// Everything but the body.
fn declarations(program: &Program) -> Result<(), Invalid> {
    names::check_name(&program.name).map_err(|e| invalid("program", e))?;
    let mut taken = HashSet::new();
    for (name, what) in declared(program) {
        names::check_name(name).map_err(|e| invalid(format!("{what} {name}"), e))?;
        if !taken.insert(name) {
            return Err(invalid(format!("{what} {name}"), NameError::Twice(name.clone())));
        }
    }
    for size in &program.sizes {
        check_size(size).map_err(|e| invalid(format!("size {}", size.name), e))?;
    }
    for param in &program.params {
        check_param(program, &param.kind).map_err(|kind| invalid(format!("param {}", param.name), kind))?;
    }
    for array in &program.arrays {
        check_array(array).map_err(|e| invalid(format!("array {}", array.name), e))?;
    }
    for axis in &program.launch.groups {
        check_extent(program, &axis.extent).map_err(|kind| invalid(format!("groups {}", axis.name), kind))?;
    }
    if let Some(axis) = program.launch.lanes.iter().find(|axis| axis.extent == 0) {
        return Err(invalid(format!("lanes {}", axis.name), DeclarationError::NotPositive(0)));
    }
    check_group(&program.launch).map_err(|e| invalid("launch", e))
}

/// Sizes, parameters, arrays and axes share one set of names.
fn declared(program: &Program) -> impl Iterator<Item = (&Name, &'static str)> {
    (program.sizes.iter().map(|s| (&s.name, "size")))
        .chain(program.params.iter().map(|p| (&p.name, "param")))
        .chain(program.arrays.iter().map(|a| (&a.name, "array")))
        .chain(program.launch.groups.iter().map(|g| (&g.name, "groups")))
        .chain(program.launch.lanes.iter().map(|l| (&l.name, "lanes")))
}

fn check_size(size: &SizeParam) -> Result<(), DeclarationError> {
    let SizeParam { lo, hi, .. } = *size;
    if 0 <= lo && lo <= hi && hi <= i64::from(i32::MAX) { Ok(()) } else { Err(DeclarationError::SizeRange { lo, hi }) }
}

fn check_param(program: &Program, kind: &ParamKind) -> Result<(), InvalidKind> {
    match kind {
        ParamKind::Buffer { space, dims, access, .. } => {
            match (space, access) {
                (Space::Global, _) | (Space::Constant, Access::Read) => {}
                (Space::Constant, _) => return Err(DeclarationError::ConstantWritten.into()),
                _ => return Err(DeclarationError::SpaceOf { what: "a parameter", space: *space }.into()),
            }
            if dims.is_empty() {
                return Err(DeclarationError::NoDimensions.into());
            }
            dims.iter().try_for_each(|extent| check_extent(program, extent))
        }
        ParamKind::Image { kind, width, height, access, border, .. } => {
            if *access == Access::ReadWrite {
                return Err(DeclarationError::ImageReadWrite.into());
            }
            check_extent(program, width)?;
            check_extent(program, height)?;
            if kind.is_one_dimensional() && height.as_int() != Some(1) {
                return Err(DeclarationError::ImageHeight(*kind).into());
            }
            if *kind == ImageKind::Image1dBuffer && *border != Border::None {
                return Err(DeclarationError::ImageBorder(*border).into());
            }
            Ok(())
        }
        ParamKind::Channel { dims, depth, .. } => {
            if *depth == 0 {
                return Err(DeclarationError::NoDepth.into());
            }
            Ok(check_dims(dims)?)
        }
    }
}

fn check_array(array: &Array) -> Result<(), DeclarationError> {
    match array.space {
        Space::Local | Space::Private => {}
        Space::Tile if array.dims.len() == 2 => {}
        Space::Tile => return Err(DeclarationError::TileDimensions(array.dims.len())),
        space => return Err(DeclarationError::SpaceOf { what: "an array", space }),
    }
    check_dims(&array.dims)
}

fn check_dims(dims: &[u32]) -> Result<(), DeclarationError> {
    if dims.is_empty() {
        return Err(DeclarationError::NoDimensions);
    }
    if dims.contains(&0) {
        return Err(DeclarationError::NotPositive(0));
    }
    count(dims.iter().copied()).map(|_| ())
}

/// The product, up to 2³¹ − 1.
fn count(mut extents: impl Iterator<Item = u32>) -> Result<u32, DeclarationError> {
    extents.try_fold(1_u32, u32::checked_mul).filter(|&n| n <= i32::MAX as u32).ok_or(DeclarationError::TooMany)
}

fn check_group(launch: &Launch) -> Result<(), DeclarationError> {
    let group = count(launch.lanes.iter().map(|axis| axis.extent))?;
    match launch.subgroup {
        Some(subgroup) if subgroup == 0 || !group.is_multiple_of(subgroup) => Err(DeclarationError::Subgroup { group, subgroup }),
        _ => Ok(()),
    }
}

/// An extent is a size expression, and positive where it is constant.
fn check_extent(program: &Program, extent: &Expr) -> Result<(), InvalidKind> {
    check_size_expression(program, extent)?;
    match constant_extent(extent) {
        Extent::Symbolic => Ok(()),
        Extent::Value(value) if value >= 1 => Ok(()),
        Extent::Value(value) => Err(DeclarationError::NotPositive(value).into()),
        Extent::Undefined => Err(DeclarationError::NoValue.into()),
    }
}

/// Constants, sizes, + − · / % min max, nothing else.
fn check_size_expression(program: &Program, expr: &Expr) -> Result<(), InvalidKind> {
    let foreign = |what| Err(DeclarationError::NotASizeExpression(what).into());
    match expr {
        Expr::Const(crate::types::Const::I32(_)) => Ok(()),
        Expr::Const(_) => foreign("a constant that is not an i32"),
        Expr::Size(name) if program.sizes.iter().any(|s| s.name == *name) => Ok(()),
        Expr::Size(name) => Err(NameError::NoSize(name.clone()).into()),
        Expr::Binary(op, a, b) => {
            use BinaryOp::{Add, Div, Max, Min, Mul, Rem, Sub};
            if !matches!(op, Add | Sub | Mul | Div | Rem | Min | Max) {
                return foreign("this operation");
            }
            check_size_expression(program, a)?;
            check_size_expression(program, b)
        }
        Expr::Var(_) => foreign("a variable"),
        Expr::Load { .. } | Expr::Texel { .. } => foreign("a load"),
        _ => foreign("this operation"),
    }
}

/// What is known of an extent before sizes are.
enum Extent {
    Symbolic,
    Value(i64),
    Undefined,
}

/// The value of a size expression without sizes. Beyond `i32` it has none, even where arithmetic would wrap back.
fn constant_extent(expr: &Expr) -> Extent {
    let value = match expr {
        Expr::Const(c) => c.as_int(),
        Expr::Binary(op, a, b) => match (constant_extent(a), constant_extent(b)) {
            (Extent::Undefined, _) | (_, Extent::Undefined) => None,
            (Extent::Symbolic, _) | (_, Extent::Symbolic) => return Extent::Symbolic,
            (Extent::Value(a), Extent::Value(b)) => match op {
                BinaryOp::Add => Some(a + b),
                BinaryOp::Sub => Some(a - b),
                BinaryOp::Mul => Some(a * b),
                BinaryOp::Div => a.checked_div(b),
                BinaryOp::Rem => a.checked_rem(b),
                BinaryOp::Min => Some(a.min(b)),
                BinaryOp::Max => Some(a.max(b)),
                _ => None,
            },
        },
        _ => return Extent::Symbolic,
    };
    value.filter(|&v| i32::try_from(v).is_ok()).map_or(Extent::Undefined, Extent::Value)
}
