//! Data-dependent addresses: elements drawn by dice that fall alike for the same values of the variables that draw anew.

use super::form::{Form, Forms};
use crate::mixed::mixed;
use warpsight_ir::{AccessRef, Indirect, Kernel, Pattern, VarKind};

/// How coordinates are drawn.
#[derive(Clone, Debug)]
pub struct Draw {
    own: Indirect,
    /// A number for each set of values that draws anew.
    pub key: Form,
    /// The thread's place in the launch.
    pub rank: Form,
    threads: u64,
}

impl Draw {
    /// Of an access: each variable around it draws anew, but those that move other coordinates and none of the drawn ones.
    pub fn of(own: Indirect, access: &AccessRef, seed: u64, around: &[u16], (kernel, forms): (&Kernel, &mut Forms)) -> Self {
        let moves = |var: u16, drawn: bool| {
            let mut coords = access.coords.iter().enumerate().filter(|(at, _)| (own.drawn >> at & 1 == 1) == drawn);
            coords.any(|(_, form)| form.terms().iter().any(|term| term.0.0 == var))
        };
        let keyed = around.iter().filter(|&&var| moves(var, true) || !moves(var, false));
        let key = forms.form(mixed(seed) as i64, keyed.map(|&var| (var, (mixed(seed ^ u64::from(var) << 48) | 1) as i64)));
        let mut unit = 1_i64;
        let mut ranks = Vec::new();
        for kind in [VarKind::Lane, VarKind::Group] {
            for (at, var) in kernel.accesses.vars.iter().enumerate().filter(|(_, var)| var.kind == kind) {
                ranks.push((at as u16, unit));
                unit = unit.saturating_mul(var.trips.unwrap_or(1).into());
            }
        }
        Self { own, key, rank: forms.form(0, ranks), threads: unit.max(1) as u64 }
    }

    /// Puts drawn coordinates in place of these, of which each has its extent.
    pub fn put_into(&self, coords: &mut [i64], extents: impl Fn(usize) -> i64, key: i64, rank: i64) {
        let dice = mixed(key as u64);
        let elements = self.own.elements;
        let drawn = (0..coords.len()).rev().filter(|at| self.own.drawn >> at & 1 == 1);
        let of = |range: u64| ((u128::from(dice) * u128::from(range)) >> 64) as u64;
        let mut element = match self.own.pattern {
            Pattern::Random => of(elements),
            // The share of the launch that comes before, and within this thread's part any.
            Pattern::Sorted => {
                let at = (u128::from(rank.max(0) as u64) << 64 | u128::from(dice)) / u128::from(self.threads);
                (((at >> 32) * u128::from(elements)) >> 32) as u64
            }
            Pattern::Banded(band) => {
                for at in drawn {
                    coords[at] = (coords[at] - (band / 2) as i64 + of(band) as i64).clamp(0, (extents(at) - 1).max(0));
                }
                return;
            }
        };
        let several = self.own.drawn.count_ones() > 1;
        for at in drawn {
            let extent = extents(at).max(1) as u64;
            coords[at] = if several { element % extent } else { element.min(extent - 1) } as i64;
            element /= extent;
        }
    }
}
