//! Where the sampler of an image gives what a bound would: zero beside the tensor.

use crate::expr::{AxisId, Index};
use crate::layout::Border;
use crate::nest::Nest;
use crate::schedule::axis;
use smallvec::SmallVec;
use warpsight_ir::Scalar;
use warpsight_ir::range::Interval;

impl Nest<'_> {
    /// The dimensions of a load at an index for which no bound has to be asked, because their ends are those of its image
    /// ([`Layout::borders`](crate::Layout::borders)): indices of all others are within theirs, or a bound says so. Axes that tiles or lanes reach
    /// beyond keep their bounds.
    pub fn sampled(&self, tensor: usize, index: &[Index]) -> SmallVec<[usize; 2]> {
        if !self.sampler {
            return SmallVec::new();
        }
        // A coordinate that leaves its 32 bits could come back into the image.
        let near = |own: &Border| {
            let range = index[own.axis.dim].range(|a| self.reach(a));
            let place = |index: i128| index.div_euclid(own.axis.stride.into()) * i128::from(own.inside);
            Interval { lo: place(range.lo), hi: place(range.hi) + i128::from(own.inside) - 1 }.fits(Scalar::I32)
        };
        // What a tile reaches beyond its axis nobody needs: a bound spares its fetch.
        let needed = |own: &Border| {
            index[own.axis.dim].terms().iter().all(|term| self.reach(term.0) == Interval::below(axis(self.expr, term.0).extent))
        };
        self.layouts[tensor].borders().into_iter().filter(|own| near(own) && needed(own)).map(|own| own.axis.dim).collect()
    }

    /// All that work-items reach along an axis, beyond its end too.
    fn reach(&self, a: AxisId) -> Interval {
        match self.splits.get(a.0) {
            Some(split) => Interval::below(split.blocks * split.per_item()),
            None => Interval::below(self.walk(a).extent),
        }
    }
}
