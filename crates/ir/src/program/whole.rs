//! What is asked of a Program as a whole.

use super::{Array, Expr, Param, ParamKind, Program, Stmt};
use crate::types::{Const, Scalar};

impl Program {
    /// The parameter of that name.
    pub fn param(&self, name: &str) -> Option<&Param> {
        self.params.iter().find(|p| &*p.name == name)
    }
    /// The array of that name.
    pub fn array(&self, name: &str) -> Option<&Array> {
        self.arrays.iter().find(|a| &*a.name == name)
    }
    /// Whether anything in it is a `half`: it needs a device with half-precision arithmetic.
    pub fn computes_halves(&self) -> bool {
        fn in_expr(expr: &Expr) -> bool {
            matches!(expr, Expr::Const(Const::Half(_)) | Expr::Cast(Scalar::Half, _)) || expr.children().into_iter().any(in_expr)
        }
        fn in_block(block: &[Stmt]) -> bool {
            block.iter().any(|stmt| {
                matches!(stmt, Stmt::Var { ty, .. } if ty.scalar == Scalar::Half)
                    || stmt.exprs().into_iter().any(in_expr)
                    || stmt.blocks().into_iter().any(|own| in_block(own))
            })
        }
        let param = |param: &Param| match &param.kind {
            ParamKind::Buffer { element, .. } | ParamKind::Channel { element, .. } => *element == Scalar::Half,
            ParamKind::Image { format, .. } => format.scalar() == Scalar::Half,
        };
        self.params.iter().any(param) || self.arrays.iter().any(|own| own.element == Scalar::Half) || in_block(&self.body)
    }
}
