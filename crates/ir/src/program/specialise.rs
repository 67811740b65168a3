//! Specialisation: sizes become constants.

use crate::program::{BinaryOp, Bound, Expr, GroupAxis, Name, ParamKind, Program, SizeParam, Stmt};
use crate::types::Const;
use std::collections::BTreeMap;

/// Why a Program cannot be specialised so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecialiseError {
    /// A value for a size that the Program does not have.
    #[error("`{program}` has no size `{size}`")]
    NoSize {
        /// The Program's name.
        program: Name,
        /// The name given.
        size: Name,
    },
    /// A value outside the size's range.
    #[error("`{size}` is {value}, outside {lo}..={hi}")]
    OutOfRange {
        /// The size.
        size: Name,
        /// The value given.
        value: i64,
        /// Smallest value allowed.
        lo: i64,
        /// Largest value allowed.
        hi: i64,
    },
}

/// Puts values for sizes and folds `i32` arithmetic on constants, everywhere. Sizes without a value stay.
///
/// Validate the result: an extent may have become 0. A division by zero is left as it stands.
///
/// # Errors
/// A value for no size, or out of its range (or of `i32`'s).
pub fn specialise(program: &Program, values: &BTreeMap<Name, i64>) -> Result<Program, SpecialiseError> {
    for (size, &value) in values {
        let Some(&SizeParam { lo, hi, .. }) = program.sizes.iter().find(|s| s.name == *size) else {
            return Err(SpecialiseError::NoSize { program: program.name.clone(), size: size.clone() });
        };
        if !(lo..=hi).contains(&value) || i32::try_from(value).is_err() {
            return Err(SpecialiseError::OutOfRange { size: size.clone(), value, lo, hi });
        }
    }
    let put = |expr: &Expr| {
        expr.clone().map(&mut |node| match node {
            Expr::Size(name) => values.get(&name).map_or(Expr::Size(name), |&value| Expr::int(value)),
            other => fold(other),
        })
    };
    let mut result = program.clone();
    result.sizes.retain(|s| !values.contains_key(&s.name));
    everywhere(&mut result, &put);
    Ok(result)
}

/// Puts other expressions in the place of a Program's, always in the same order.
pub(crate) fn everywhere(program: &mut Program, put: &impl Fn(&Expr) -> Expr) {
    for param in &mut program.params {
        match &mut param.kind {
            ParamKind::Buffer { dims, .. } => dims.iter_mut().for_each(|extent| *extent = put(extent)),
            ParamKind::Image { width, height, .. } => {
                *width = put(width);
                *height = put(height);
            }
            ParamKind::Channel { .. } => {}
        }
    }
    for GroupAxis { extent, .. } in &mut program.launch.groups {
        *extent = put(extent);
    }
    block(&mut program.body, put);
}

/// Folds one node whose operands are folded: `i32` arithmetic, wrapping as at run time.
fn fold(expr: Expr) -> Expr {
    let Expr::Binary(op, a, b) = &expr else { return expr };
    let (&Expr::Const(Const::I32(a)), &Expr::Const(Const::I32(b))) = (&**a, &**b) else { return expr };
    let value = match op {
        BinaryOp::Add => a.wrapping_add(b),
        BinaryOp::Sub => a.wrapping_sub(b),
        BinaryOp::Mul => a.wrapping_mul(b),
        BinaryOp::Div if b != 0 => a.wrapping_div(b),
        BinaryOp::Rem if b != 0 => a.wrapping_rem(b),
        BinaryOp::Min => a.min(b),
        BinaryOp::Max => a.max(b),
        _ => return expr,
    };
    Expr::Const(Const::I32(value))
}

/// Puts other expressions in the place of a block's.
pub(crate) fn block(body: &mut [Stmt], put: &impl Fn(&Expr) -> Expr) {
    let all = |exprs: &mut [Expr]| exprs.iter_mut().for_each(|e| *e = put(e));
    let bounds = |guard: &mut [Bound]| {
        for bound in guard {
            bound.value = put(&bound.value);
            bound.extent = put(&bound.extent);
        }
    };
    for stmt in body {
        match stmt {
            Stmt::Let { value, .. } | Stmt::Var { init: value, .. } | Stmt::Assign { value, .. } | Stmt::TileFill { value, .. } => {
                *value = put(value);
            }
            Stmt::For { from, to, body, .. } => {
                *from = put(from);
                *to = put(to);
                block(body, put);
            }
            Stmt::If { condition, then, otherwise } => {
                *condition = put(condition);
                block(then, put);
                block(otherwise, put);
            }
            Stmt::Scope(body) => block(body, put),
            Stmt::Store { index, value, guard, .. } => {
                all(index);
                *value = put(value);
                bounds(guard);
            }
            Stmt::StoreTexel { x, y, value, guard, .. } => {
                *x = put(x);
                *y = put(y);
                *value = put(value);
                bounds(guard);
            }
            Stmt::Atomic { index, value, compare, .. } => {
                all(index);
                *value = put(value);
                compare.iter_mut().for_each(|c| *c = put(c));
            }
            Stmt::TileLoad { index, .. } | Stmt::TileStore { index, .. } => all(index),
            Stmt::Barrier { .. } | Stmt::Mma { .. } | Stmt::Send { .. } | Stmt::Receive { .. } => {}
        }
    }
}
