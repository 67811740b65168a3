//! Texels found by a linear index, as a compiler does that knows tensors as linear memory (paper 001, Listing 4).

use super::walk::{Rewrite, rewrite};
use std::collections::HashMap;
use warpsight_ir::range::{Interval, Ranges};
use warpsight_ir::{BinaryOp, Bound, Expr, Name, ParamKind, Program, Scalar, Stmt};

/// Components of a texel.
const TEXEL: i64 = 4;

/// Every access of a two-dimensional image whose elements 31 bits count: `linear % (4 × width) / 4` and `linear / (4 × width)` are its column
/// and row. What may lie outside has bounds then, since a column beyond the row would be one of the next.
pub fn from_linear(mut program: Program) -> Program {
    let size = |kind: &ParamKind| match kind {
        ParamKind::Image { width, height, .. } => Some((width.as_int()?, height.as_int()?)),
        _ => None,
    };
    let counted = |&(width, height): &(i64, i64)| {
        height > 1 && width.checked_mul(height).and_then(|n| n.checked_mul(TEXEL)).is_some_and(|n| n <= i64::from(i32::MAX))
    };
    let images = program.params.iter().filter_map(|own| Some((own.name.clone(), size(&own.kind).filter(counted)?))).collect();
    let mut by = Conversion { images, ranges: Ranges::of_program(&program) };
    program.body = rewrite(program.body, &mut by);
    program
}

struct Conversion {
    images: HashMap<Name, (i64, i64)>,
    ranges: Ranges,
}

impl Conversion {
    /// Column and row.
    fn converted(&self, (width, _): (i64, i64), x: Expr, y: Expr) -> (Expr, Expr) {
        let op = |op, a, b: i64| Expr::binary(op, a, Expr::int(b));
        let texel = Expr::binary(BinaryOp::Add, op(BinaryOp::Mul, y, width), x);
        let linear = op(BinaryOp::Mul, texel, TEXEL);
        let column = op(BinaryOp::Div, op(BinaryOp::Rem, linear.clone(), TEXEL * width), TEXEL);
        (column, op(BinaryOp::Div, linear, TEXEL * width))
    }

    fn bound(&self, value: &Expr, extent: i64) -> Option<Bound> {
        let inside = self.ranges.of(value, Scalar::I32).is_some_and(|own| own.within(Interval::below(extent)));
        (!inside).then(|| Bound { value: value.clone(), extent: Expr::int(extent), per_lane: false })
    }
}

impl Rewrite for Conversion {
    fn enter(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Let { name, value } => self.ranges.declare(name, self.ranges.of(value, Scalar::I32)),
            Stmt::Var { name, .. } => self.ranges.declare(name, None),
            Stmt::For { var, from, to, .. } => self.ranges.declare(var, self.ranges.of_loop(from, to)),
            _ => {}
        }
    }

    fn expr(&mut self, expr: Expr) -> Expr {
        expr.map(&mut |own| match own {
            Expr::Texel { image, x, y, mut guard } => {
                let Some(&size) = self.images.get(&image) else { return Expr::Texel { image, x, y, guard } };
                guard.extend([(&x, size.0), (&y, size.1)].into_iter().filter_map(|(value, extent)| self.bound(value, extent)));
                let (x, y) = self.converted(size, *x, *y);
                Expr::Texel { image, x: Box::new(x), y: Box::new(y), guard }
            }
            other => other,
        })
    }

    fn texel(&mut self, image: &Name, x: Expr, y: Expr) -> (Expr, Expr) {
        let (x, y) = (self.expr(x), self.expr(y));
        match self.images.get(image) {
            Some(&size) => self.converted(size, x, y),
            None => (x, y),
        }
    }
}
