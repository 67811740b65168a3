//! Which loops are unrolled: those that Mesa unrolls (`nir_loop_analyze.c` and `nir_opt_loop_unroll.c`, Mesa 22.3).

use super::cells::Cells;
use super::flow::Exits;
use super::graph::Origin;
use super::{Done, Evaluation};
use crate::interpret::step::{End, Place, Step};
use crate::module::Op;
use crate::module::spirv::GlslStd450Op;
use std::collections::BTreeSet;
use std::ops::Range;

/// The most turns of a loop that is unrolled (`max_unroll_iterations` of llvmpipe).
const TURNS: u32 = 32;
/// How many operations the copies may have together: so many for each turn that is allowed (`LOOP_UNROLL_LIMIT`).
const OPERATIONS: u64 = 26 * TURNS as u64;

impl Evaluation<'_> {
    /// Whether turns of a loop can be counted: what leaves it or goes on with the next turn stands in at most one branch, and nothing
    /// leaves it after something went on: what follows becomes the other side of that branch (`opt_if_loop_last_continue`).
    pub(super) fn is_simple(&self, range: Range<usize>) -> bool {
        // Where the branches end that a block stands in.
        let mut open: Vec<usize> = Vec::new();
        let mut went_on = false;
        for at in range.clone() {
            open.retain(|merge| *merge > at);
            let block = &self.cfg.blocks[at];
            if block.header != Some(range.start) {
                continue;
            }
            open.extend(block.merge.filter(|merge| !block.is_loop && range.contains(merge)));
            let returns = matches!(self.program.blocks[at].end, End::Return);
            let leaves = returns || block.successors.iter().any(|to| !range.contains(to));
            let inside = |to: &usize| open.first().is_none_or(|end| to > &at && (to < end || open.contains(to)));
            let goes_on = block.successors.iter().filter(|to| range.contains(to)).any(|to| !inside(to));
            if (leaves || goes_on) && (went_on || open.len() > 1) {
                return false;
            }
            went_on |= goes_on;
        }
        true
    }

    /// Turn after turn, until none leads back; nothing where that takes too many turns or operations.
    pub(super) fn unrolled(&mut self, range: Range<usize>, cells: Cells, times: f64) -> Done<Option<Exits>> {
        let start = self.operations;
        let walked = self.walked(range.clone());
        let mut out = Exits::new();
        let mut next = cells;
        for turn in 0..=TURNS {
            let mut leaving = self.flow(range.clone(), true, next, times)?;
            let back = leaving.remove(&range.start);
            for (to, cells) in leaving {
                self.join(&mut out, to, cells, times)?;
            }
            let large = self.operations - start > OPERATIONS;
            match back {
                None => return Ok((!large || walked.contains(&turn)).then_some(out)),
                Some(_) if large && walked.range(turn + 1..).next().is_none() => return Ok(None),
                Some(back) => next = back,
            }
        }
        Ok(None)
    }

    /// How many operations a step is when turns are counted: scalars, and of functions what they are made of in NIR, roughly
    /// (`vtn_glsl450.c`, Mesa 22.3). What is known counts: before a loop is unrolled it is not.
    pub(super) fn size(&self, step: &Step, origin: Origin) -> u64 {
        let scalars = match step {
            Step::Map1 { n, .. } | Step::Map2 { n, .. } | Step::Map3 { n, .. } | Step::Select { n, .. } | Step::Slope { n, .. } => *n,
            Step::Wide { n, .. } | Step::Fold { n, .. } | Step::Pick { n, .. } | Step::Put { n, .. } => *n,
            Step::Lane { n, args, .. } => args.iter().map(|(_, n)| n).sum::<u32>().max(*n),
            Step::Product { rows, inner, columns, .. } => rows * columns * (2 * inner - 1),
            Step::Texture(_) => 1,
            _ => 0,
        };
        let inst = origin.inst.map(|at| &self.module.insts()[at]);
        let function = inst.filter(|inst| inst.op == Op::ExtInst).and_then(|inst| self.module.args(inst).get(1).copied());
        let each = match function.and_then(GlslStd450Op::from_u32) {
            Some(GlslStd450Op::Atan2) => 40,
            Some(GlslStd450Op::Atan) => 20,
            Some(GlslStd450Op::Asin | GlslStd450Op::Acos) => 15,
            Some(GlslStd450Op::Sinh | GlslStd450Op::Cosh | GlslStd450Op::Tanh) => 8,
            Some(GlslStd450Op::SmoothStep) => 6,
            Some(GlslStd450Op::FMix | GlslStd450Op::Tan | GlslStd450Op::Normalize | GlslStd450Op::Reflect | GlslStd450Op::Refract) => 3,
            Some(GlslStd450Op::FClamp | GlslStd450Op::Exp | GlslStd450Op::Log | GlslStd450Op::Length | GlslStd450Op::Distance) => 2,
            _ => 1,
        };
        u64::from(scalars) * each
    }

    /// The lengths of own arrays whose elements a loop picks: if it has as many turns, it is unrolled however large it is, so that
    /// elements become values.
    fn walked(&self, range: Range<usize>) -> BTreeSet<u32> {
        let of_uniforms = |base: &Place| matches!(base, Place::Fixed(at) if self.constants.uniforms.contains(at));
        let terms = self.program.blocks[range].iter().flat_map(|block| &block.steps).filter_map(|step| match step {
            Step::Address { base, terms, .. } if !of_uniforms(base) => Some(terms),
            _ => None,
        });
        let picks = terms.flatten().filter(|term| !self.constants.words.contains(&term.index));
        picks.map(|term| term.len).filter(|len| (2..=TURNS).contains(len)).collect()
    }
}
