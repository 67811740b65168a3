//! A kernel made of another that differs in sizes alone.

use super::conditions::FARTHEST;
use super::raw::Raw;
use super::reader::Reader;
use super::text::Written;
use super::{Accesses, Nest, NestVar, TensorPlace, TensorUse};
use crate::affine::{Affine, VarId};
use crate::kernel::Kernel;
use smallvec::SmallVec;

impl Reader<'_> {
    /// Makes the kernel of one that differs in sizes alone and whose blocks reach beyond the domain along the same axes. `None` where another way has
    /// to tell why there is none: then it is as it was.
    pub(super) fn resize(&self, raw: &Raw, like: &mut Written) -> Option<()> {
        let (order, _, points) = self.launch(raw).ok()?;
        let ragged = |extent: i64, axis: usize| extent % (self.lanes(axis) * self.fold[axis]) != 0;
        let axes = 0..self.grid.len();
        if !axes.clone().all(|axis| ragged(self.domain[axis], axis) == ragged(like.domain[axis].into(), axis)) {
            return None;
        }
        let extents: SmallVec<[i64; 3]> =
            axes.map(|axis| self.domain[axis]).zip(0..).filter(|&(n, axis)| ragged(n, axis)).map(|own| own.0).collect();
        let mut tensors: Vec<TensorUse> = Vec::with_capacity(like.kernel.accesses.tensors.len());
        for field in raw.field.iter() {
            // A field that goes on has been there already.
            if !tensors.iter().any(|own| *own.name == *field.name.get_ref().as_str()) {
                tensors.push(self.tensor(field).ok()?);
            }
        }
        let (local, vars) = (self.local(raw, &tensors).ok()?, self.vars(&order, &self.variables(&order)));
        if !fits(&like.kernel.accesses, &vars, &tensors, extents.len()) {
            return None;
        }
        let Kernel { launch, accesses, .. } = &mut like.kernel;
        launch.groups = order.iter().map(|&axis| self.grid[axis] as u32).collect();
        (accesses.vars, accesses.tensors) = (vars, tensors);
        bound(&mut accesses.nest, &extents);
        like.kernel.local = local;
        like.points = points as u64;
        like.domain = self.domain.iter().map(|&extent| extent as u32).collect();
        Some(())
    }
}

/// Lets conditions, which keep points in the domain and do nothing else, keep them in one of these extents.
fn bound(nest: &mut [Nest], extents: &[i64]) {
    for node in nest {
        match node {
            Nest::Barrier => {}
            Nest::Loop { body, .. } => bound(body, extents),
            Nest::Access(access) => access.guard.iter_mut().zip(extents).for_each(|(bound, &extent)| bound.extent = extent),
        }
    }
}

/// Whether every address stays far within 64 bits, of fields of three dimensions at most and under so many conditions, if variables and fields were
/// as large as these.
fn fits(accesses: &Accesses, vars: &[NestVar], tensors: &[TensorUse], conditions: usize) -> bool {
    let farthest = |form: &Affine| {
        let trips = |var: VarId| u64::from(vars[usize::from(var.0)].trips.unwrap_or(u32::MAX));
        let terms = form.terms().iter().map(|&(var, c)| u64::from(c.unsigned_abs()).saturating_mul(trips(var)));
        terms.fold(form.constant.unsigned_abs(), u64::saturating_add)
    };
    let mut fits = vars.len() == accesses.vars.len() && tensors.len() == accesses.tensors.len();
    accesses.each(&mut |access| {
        let Some(TensorPlace::Buffer { element, dims, layout, .. }) = tensors.get(usize::from(access.tensor)).map(|own| &own.place) else {
            fits = false;
            return;
        };
        let (mut stride, mut reach) = (1_u64, 0_u64);
        for (i, form) in access.coords.iter().enumerate().rev() {
            stride = layout.strides.get(i).map_or(stride, |stride| stride.unsigned_abs());
            reach = reach.saturating_add(farthest(form).saturating_mul(stride));
            stride = stride.saturating_mul(dims[i].unsigned_abs());
        }
        fits &= access.guard.len() == conditions && access.coords.len() <= 3 && reach.saturating_mul(element.bytes().into()) <= FARTHEST;
    });
    fits
}
