//! The type of every expression.

use crate::program::{BinaryOp, Expr, Name, ParamKind, Program, UnaryOp};
use crate::types::{Scalar, Type, WIDTHS};
use std::collections::HashMap;

/// Types of the names in scope, and through them of expressions.
#[derive(Clone, Debug)]
pub struct TypeEnv {
    elements: HashMap<Name, Scalar>,
    texels: HashMap<Name, Scalar>,
    values: HashMap<Name, Type>,
}

/// Why an expression has no type.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TypeError {
    /// A name that nothing in scope has.
    #[error("`{0}` is not declared here")]
    Unknown(Name),
    /// Two operands that should have one type.
    #[error("operands of `{op}` have types {a} and {b}")]
    Mismatch {
        /// The operation.
        op: String,
        /// First operand.
        a: Type,
        /// Second operand.
        b: Type,
    },
    /// An operand the operation is not defined for.
    #[error("`{op}` is not defined for {ty}")]
    Operand {
        /// The operation.
        op: String,
        /// The operand's type.
        ty: Type,
    },
    /// A vector width that does not exist.
    #[error("{0} lanes: a vector has 1, 2, 3, 4, 8 or 16")]
    Width(usize),
    /// A slice beyond the vector's end.
    #[error("lanes {start}..{} of a vector of {of}", start + width)]
    Slice {
        /// First lane.
        start: u8,
        /// Lanes taken.
        width: u8,
        /// Lanes there are.
        of: u8,
    },
}

impl TypeEnv {
    /// The parameters, arrays and axes of a Program.
    pub fn of(program: &Program) -> Self {
        let mut env = Self { elements: HashMap::new(), texels: HashMap::new(), values: HashMap::new() };
        for param in &program.params {
            match &param.kind {
                ParamKind::Buffer { element, .. } => {
                    env.elements.insert(param.name.clone(), element.widened());
                }
                ParamKind::Image { format, .. } => {
                    env.texels.insert(param.name.clone(), format.scalar());
                }
                ParamKind::Channel { .. } => {}
            }
        }
        for array in &program.arrays {
            env.elements.insert(array.name.clone(), array.element.widened());
        }
        let axes = program.launch.groups.iter().map(|a| &a.name).chain(program.launch.lanes.iter().map(|a| &a.name));
        for name in axes {
            env.values.insert(name.clone(), Type::scalar(Scalar::I32));
        }
        env
    }
    /// Declares a variable, replacing an earlier one of the name. Storage types are widened.
    pub fn declare(&mut self, name: &Name, ty: Type) {
        self.values.insert(name.clone(), Type { scalar: ty.scalar.widened(), width: ty.width });
    }
    /// Removes a variable at the end of its scope.
    pub fn forget(&mut self, name: &str) {
        self.values.remove(name);
    }
    /// The type of a variable in scope.
    pub fn variable(&self, name: &str) -> Option<Type> {
        self.values.get(name).copied()
    }
    /// The register type of a tensor's elements.
    pub fn element(&self, name: &str) -> Option<Scalar> {
        self.elements.get(name).copied()
    }
    /// The type of an expression. Guards and coordinates inside are not judged here (the validator does).
    pub fn type_of(&self, expr: &Expr) -> Result<Type, TypeError> {
        Ok(match expr {
            Expr::Const(c) => Type::scalar(c.scalar()),
            Expr::Size(_) => Type::scalar(Scalar::I32),
            Expr::Var(name) => self.variable(name).ok_or_else(|| TypeError::Unknown(name.clone()))?,
            Expr::Load { source, width, .. } => {
                let scalar = self.element(source).ok_or_else(|| TypeError::Unknown(source.clone()))?;
                Type::vector(scalar, vector_width(*width as usize)?)
            }
            Expr::Texel { image, .. } => Type::vector(*self.texels.get(image).ok_or_else(|| TypeError::Unknown(image.clone()))?, 4),
            Expr::Unary(op, a) => {
                let ty = self.type_of(a)?;
                let defined = match op {
                    UnaryOp::Neg | UnaryOp::Abs => ty.scalar.is_float() || ty.scalar.is_int(),
                    UnaryOp::Not => !ty.scalar.is_float(),
                    _ => ty.scalar.is_float(),
                };
                if !defined {
                    return Err(TypeError::Operand { op: format!("{op:?}").to_lowercase(), ty });
                }
                ty
            }
            Expr::Binary(op, a, b) => {
                let (ta, tb) = (self.type_of(a)?, self.type_of(b)?);
                let name = || format!("{op:?}").to_lowercase();
                if ta != tb {
                    return Err(TypeError::Mismatch { op: name(), a: ta, b: tb });
                }
                let defined = match op {
                    BinaryOp::Add
                    | BinaryOp::Sub
                    | BinaryOp::Mul
                    | BinaryOp::Div
                    | BinaryOp::Rem
                    | BinaryOp::Min
                    | BinaryOp::Max
                    | BinaryOp::Lt
                    | BinaryOp::Le => ta.scalar != Scalar::Bool,
                    BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => !ta.scalar.is_float(),
                    BinaryOp::Shl | BinaryOp::Shr => ta.scalar.is_int(),
                    BinaryOp::Eq | BinaryOp::Ne => true,
                };
                if !defined {
                    return Err(TypeError::Operand { op: name(), ty: ta });
                }
                if op.is_comparison() { Type::vector(Scalar::Bool, ta.width) } else { ta }
            }
            Expr::Fma(a, b, c) => {
                let (ta, tb, tc) = (self.type_of(a)?, self.type_of(b)?, self.type_of(c)?);
                if let Some(other) = [tb, tc].into_iter().find(|t| *t != ta) {
                    return Err(TypeError::Mismatch { op: "fma".into(), a: ta, b: other });
                }
                if !ta.scalar.is_float() {
                    return Err(TypeError::Operand { op: "fma".into(), ty: ta });
                }
                ta
            }
            Expr::Select(condition, a, b) => {
                let (tc, ta, tb) = (self.type_of(condition)?, self.type_of(a)?, self.type_of(b)?);
                if ta != tb {
                    return Err(TypeError::Mismatch { op: "select".into(), a: ta, b: tb });
                }
                if tc != Type::vector(Scalar::Bool, ta.width) {
                    return Err(TypeError::Operand { op: "select on".into(), ty: tc });
                }
                ta
            }
            Expr::Cast(to, a) => Type::vector(to.widened(), self.type_of(a)?.width),
            Expr::Splat(a, width) => {
                let ty = self.type_of(a)?;
                if ty.width != 1 {
                    return Err(TypeError::Operand { op: "splat".into(), ty });
                }
                Type::vector(ty.scalar, vector_width(*width as usize)?)
            }
            Expr::Concat(parts) => {
                let mut types = parts.iter().map(|p| self.type_of(p));
                let first = types.next().ok_or(TypeError::Width(0))??;
                let mut width = first.width as usize;
                for ty in types {
                    let ty = ty?;
                    if ty.scalar != first.scalar {
                        return Err(TypeError::Mismatch { op: "concat".into(), a: first, b: ty });
                    }
                    width += ty.width as usize;
                }
                Type::vector(first.scalar, vector_width(width)?)
            }
            Expr::Slice { vector, start, width } => {
                let ty = self.type_of(vector)?;
                if usize::from(*start) + usize::from(*width) > usize::from(ty.width) {
                    return Err(TypeError::Slice { start: *start, width: *width, of: ty.width });
                }
                Type::vector(ty.scalar, vector_width(*width as usize)?)
            }
            Expr::Lane(vector, lane) => {
                let (ty, lane) = (self.type_of(vector)?, self.type_of(lane)?);
                if lane != Type::scalar(Scalar::I32) {
                    return Err(TypeError::Operand { op: "lane number".into(), ty: lane });
                }
                Type::scalar(ty.scalar)
            }
        })
    }
}

fn vector_width(width: usize) -> Result<u8, TypeError> {
    WIDTHS.into_iter().find(|w| usize::from(*w) == width).ok_or(TypeError::Width(width))
}
