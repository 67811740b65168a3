//! Loads in branches of their own on AMD's GPUs: a load that states a condition for itself is behind a branch on the execution mask, so that
//! each waits for its lanes by itself and compilers batch none of them.
//! .
//! Recorded: of guarded 15 × 15 convolutions whose threads compute one point, a load takes 63 cycles of a compute unit for 64 lanes on MI250X
//! and 37 for 32 on a W6600, whatever the block: a lane a cycle. Of more points per thread compilers write programs that are up to 2.5 times
//! slower again, which is not followed.

use super::costs::Instruction;
use super::l1::Rule;
use crate::volumes::kernel::subject::{Field, Subject, Touch};
use std::collections::HashSet;
use warpsight_ir::{AccessKind, Profile};

/// Lanes that such a load is answered in a cycle.
const LANES: f64 = 1.0;

/// Cycles of the first levels beyond what these loads cost as others.
pub fn cycles(subject: &Subject, found: &[Instruction], on: &Profile, warp: u32) -> f64 {
    if !matches!(Rule::of(on), Ok(Rule::Cdna | Rule::Rdna)) {
        return 0.0;
    }
    let alone = |touch: &&Touch| touch.branch.is_some() && touch.kind == AccessKind::Load;
    let own: HashSet<usize> = subject.fields.iter().flat_map(Field::all).filter(alone).map(|touch| touch.position).collect();
    let more = |i: &Instruction| (i.executions as f64 * f64::from(warp) / LANES - i.price).max(0.0);
    found.iter().filter(|i| own.contains(&i.position)).map(more).sum()
}
