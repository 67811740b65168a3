//! What an expression asks for, whatever its kernel.

use super::{AxisId, Combine, Index, ScalarExpr, Tensor, TensorExpr};
use warpsight_ir::bound::{Demand, Operand};
use warpsight_ir::{BinaryOp, Bytes, Scalar};

impl TensorExpr {
    /// What it asks for: each element of its inputs that it reads, and each of its output, once; at least so many operations.
    pub fn demand(&self) -> Demand {
        let mut moved = self.output.len() as f64 * f64::from(self.output.element.bytes());
        let mut read = vec![0.0_f64; self.inputs.len()];
        for own in self.scalars() {
            own.each(&mut |own| {
                if let ScalarExpr::Load { tensor, index, .. } | ScalarExpr::Gather { tensor, index, .. } = own
                    && let Some(read) = read.get_mut(*tensor)
                {
                    *read = read.max(self.touched(&self.inputs[*tensor], index));
                }
            });
        }
        moved += self.inputs.iter().zip(&read).map(|(tensor, read)| read * f64::from(tensor.element.bytes())).sum::<f64>();
        let (operands, product) = self.operands(&read);
        Demand { flops: self.flops(), moved: Bytes(moved), operands, half: self.arithmetic() == Scalar::Half, product }
    }

    /// Points of axes.
    fn points(&self, of: impl Fn(AxisId) -> bool) -> f64 {
        self.all_axes().enumerate().filter(|(n, _)| of(AxisId(*n))).map(|(_, axis)| axis.extent as f64).product()
    }

    /// Elements that an access touches at most: those of the tensor, or a point each of the axes that it depends on.
    fn touched(&self, tensor: &Tensor, index: &[Index]) -> f64 {
        self.points(|axis| index.iter().any(|form| form.coefficient(axis) != 0)).min(tensor.len() as f64)
    }

    /// Operations of terms and results; of terms with known factors one each that is not left out.
    fn flops(&self) -> f64 {
        if let Some((known, _)) = self.known_terms() {
            return known as f64 * self.points(|axis| !self.written_out(axis));
        }
        let (all, rows) = (self.points(|_| true), self.points(|axis| axis.0 < self.axes.len()));
        let pass = |combine: Combine, body: &ScalarExpr, epilogue: &ScalarExpr| {
            let results = if combine == Combine::Each { all } else { rows };
            let combined = usize::from(combine != Combine::Each && !self.reduce.is_empty());
            (operations(body) + combined) as f64 * all + operations(epilogue) as f64 * results
        };
        let across =
            self.across.iter().flat_map(|own| own.made.iter().map(|made| operations(&made.body) + 1).chain([operations(&own.epilogue)]));
        self.passes().map(|own| pass(own.combine, own.body, own.epilogue)).sum::<f64>() + across.sum::<usize>() as f64 * rows
    }

    /// The operands of a sum of products; of anything else each input once.
    fn operands(&self, read: &[f64]) -> (Vec<Operand>, bool) {
        let terms = self.points(|_| true);
        let of =
            |tensor: usize, window: f64| Operand { element: self.inputs[tensor].element.bytes(), elements: read[tensor], terms, window };
        if let (ScalarExpr::Binary(BinaryOp::Mul, a, b), Combine::Sum, false, None) =
            (&self.body, self.combine, self.reduce.is_empty(), &self.coefficients)
            && let (ScalarExpr::Load { tensor: first, index: a, .. }, ScalarExpr::Load { tensor: second, index: b, .. }) = (&**a, &**b)
        {
            return (vec![of(*first, self.window(a)), of(*second, self.window(b))], true);
        }
        ((0..self.inputs.len()).map(|tensor| of(tensor, 1.0)).collect(), false)
    }

    /// The size of a window that slides over a tensor: reduction axes that share a coordinate with a parallel one.
    fn window(&self, index: &[Index]) -> f64 {
        let slides = |form: &Index| form.terms().iter().any(|term| term.0.0 < self.axes.len());
        self.points(|axis| axis.0 >= self.axes.len() && index.iter().any(|form| form.coefficient(axis) != 0 && slides(form)))
    }
}

/// Operations of a value.
fn operations(of: &ScalarExpr) -> usize {
    let mut count = 0;
    of.each(&mut |own| {
        count += usize::from(matches!(own, ScalarExpr::Unary(..) | ScalarExpr::Binary(..) | ScalarExpr::Select(..)));
    });
    count
}

#[cfg(test)]
mod tests {
    use crate::operators::parse_operator;
    use warpsight_ir::Bytes;
    use warpsight_ir::bound::Demand;

    fn demand(text: &str) -> Demand {
        parse_operator(text).unwrap().steps.remove(0).demand()
    }

    #[test]
    fn products_and_windows() {
        let own = demand("matmul m=8 n=16 k=32");
        assert_eq!((own.flops, own.moved, own.product), (2.0 * 8.0 * 16.0 * 32.0, Bytes(4.0 * (256.0 + 512.0 + 128.0)), true));
        assert_eq!(own.operands.iter().map(|own| (own.elements, own.window)).collect::<Vec<_>>(), [(256.0, 1.0), (512.0, 1.0)]);
        let own = demand("conv2d n=1 c=8 h=10 w=10 k=4 r=3 s=3 stride=1 pad=1 dtype=f16s");
        let windows: Vec<f64> = own.operands.iter().map(|own| own.window).collect();
        assert!(own.product && windows.contains(&9.0) && windows.contains(&1.0), "{own:?}");
        assert!(own.operands.iter().all(|own| own.element == 2));
        // Every second pixel of every second row is read.
        let own = demand("conv2d n=1 c=8 h=10 w=10 k=4 r=1 s=1 stride=2 pad=0");
        assert!(own.operands.iter().any(|own| own.elements == 8.0 * 25.0), "{own:?}");
    }

    #[test]
    fn sums_and_moves_load_each_element_once() {
        let own = demand("reduce_sum n=4 c=100");
        assert_eq!((own.product, own.operands[0].elements, own.moved), (false, 400.0, Bytes(1616.0)));
        assert_eq!(demand("transpose n=4 c=100").flops, 0.0);
    }
}
