//! What passes from the second-level cache to the first: lines a block asks for the first time, and repeated requests whose line the first
//! level has let go of.
//! .
//! Paper 002 (section 4.5) judges the latter by the lines a block allocates against the capacity. Its section 5.5 finds hardly any where most
//! of them are streamed, asked for once and never again, and proposes to tell them apart: only lines that are asked for again need to
//! stay. Here they are told apart by counting: of a field's lines in a block, no more are asked for again than there are repeated
//! requests.
//! .
//! What a block holds is judged by itself, as there. That all blocks of a core share its cache is true, but a block does not need all of
//! its reused lines at once: multiplying by the blocks of a core ranked the 15 × 15 convolution on A100 worse (τ 0.60 instead of 0.77,
//! when it was tried). Of the order of a block's accesses loops count ([`super::trips`]); that of a straight run is the term that is missing.

use super::costs::{BlockUse, Instruction};
use super::trips::Walk;
use crate::volumes::fitted::caches::Caches;
use warpsight_ir::profile::Fact;
use warpsight_ir::{AccessKind, Profile, Unknown};

/// Lines that an average block loads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Allocation {
    /// Asked for more than once, by other warps or accesses.
    pub reused: f64,
    /// As many of these as are in use at once.
    pub at_once: f64,
    /// Asked for once.
    pub streamed: f64,
}

impl Allocation {
    /// Of a launch of `groups` blocks, of fields that a block walks through together: what its accesses and its blocks touch, summed over the launch.
    pub fn of(instructions: &[Instruction], uses: &[BlockUse], groups: u64, walk: &Walk) -> Self {
        let (mut reused, mut all) = (0, 0);
        for &field in &walk.fields {
            let loads = instructions.iter().filter(|i| i.field == field && !matches!(i.kind, AccessKind::Store(_)));
            let requests: u64 = loads.map(|i| i.lines).sum();
            let loaded = uses[field].loaded_lines;
            reused += requests.saturating_sub(loaded).min(loaded);
            all += loaded;
        }
        let each = |lines: u64| lines as f64 / groups as f64;
        Self { reused: each(reused), at_once: each(reused) / walk.trips, streamed: each(all - reused) }
    }

    /// Part of the repeated requests whose line is gone, in a cache of `effective` bytes in lines of `line` that throws out any line: until a
    /// line is asked for again all reused ones are, of which the part m that misses brings in m · footprint / line others; it is still there
    /// with probability (1 − line / effective)^(that many), so that 1 − m = exp(−m · footprint / effective).
    pub fn misses(&self, effective: f64, line: f64) -> f64 {
        let x = self.at_once * line / effective;
        if x <= 1.0 {
            return 0.0;
        }
        // Newton's method from above converges from one side: 1 − m − exp(−m x) is concave.
        let mut m = 1.0_f64;
        for _ in 0..32 {
            let lost = (-m * x).exp();
            let next = m - (1.0 - m - lost) / (x * lost - 1.0);
            if (next - m).abs() < 1e-12 {
                return next;
            }
            m = next;
        }
        m
    }
}

/// What a core's first-level cache has room for.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// Bytes of a line.
    pub line: f64,
    /// Bytes that local memory takes of it.
    pub cut: f64,
}

/// Bytes that the first level of a core holds; `None` where there is none.
///
/// # Errors
/// The capacity, where the profile does not know it.
pub fn effective(on: &Profile, caches: &Caches, room: Room) -> Result<Option<f64>, Unknown> {
    let cache = &on.memory.buffer_l1;
    if matches!(cache.bytes, Fact::Absent { .. }) {
        return Ok(None);
    }
    let capacity = (cache.bytes.known_as("memory.buffer_l1.bytes")?.0 - room.cut).max(room.line);
    Ok(Some(caches.first(on) * capacity))
}

/// Bytes from the second level to a first one that holds so many in lines of `line`, and a remark: compulsory ones, and those of repeated
/// requests that miss.
pub fn l2_load(block: &Allocation, (effective, line): (f64, f64), (requested, compulsory): (f64, f64)) -> (f64, String) {
    let miss = block.misses(effective, line);
    let remark = format!(
        "l2_load: {:.1} % of repeated requests miss the first level, lines going at random (data/fits/caches.toml), \
         of the {:.0} lines of a block that are asked for again; {:.0} are streamed",
        100.0 * miss,
        block.reused,
        block.streamed
    );
    (compulsory + (requested - compulsory).max(0.0) * miss, remark)
}
