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
//! when it was tried). The order of a block's accesses is the term that is missing.

use super::costs::{BlockUse, Instruction};
use warpsight_ir::profile::Fact;
use warpsight_ir::{AccessKind, Profile, Unknown};

/// Gompertz parameters a, b, c of the part of repeated requests that miss the first-level cache, over what it should hold relative to
/// √(capacity · 128 KiB): the implementation of paper 002's authors, fitted there to V100 and A100.
const MISSES: (f64, f64, f64) = (0.66, 6.77, 1.45);
/// The capacity that those parameters are normalised by.
const REFERENCE: f64 = 131_072.0;

/// Lines that an average block loads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Allocation {
    /// Asked for more than once, by other warps or accesses.
    pub reused: f64,
    /// Asked for once.
    pub streamed: f64,
}

impl Allocation {
    /// Of a launch of `groups` blocks: what its accesses and its blocks touch, summed over the launch.
    pub fn of(instructions: &[Instruction], uses: &[BlockUse], groups: u64) -> Self {
        let (mut reused, mut all) = (0, 0);
        for (field, own) in uses.iter().enumerate() {
            let loads = instructions.iter().filter(|i| i.field == field && !matches!(i.kind, AccessKind::Store(_)));
            let requests: u64 = loads.map(|i| i.lines).sum();
            reused += requests.saturating_sub(own.loaded_lines).min(own.loaded_lines);
            all += own.loaded_lines;
        }
        let each = |lines: u64| lines as f64 / groups as f64;
        Self { reused: each(reused), streamed: each(all - reused) }
    }

    /// Part of the repeated requests whose line is gone, in a cache of `capacity` bytes in lines of `line`.
    pub fn misses(&self, capacity: f64, line: f64) -> f64 {
        let (a, b, c) = MISSES;
        a * (-b * (-c * self.reused * line / (capacity * REFERENCE).sqrt()).exp()).exp()
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

/// Bytes from the second level to the first, and a remark: compulsory ones, and those of repeated requests that miss.
///
/// # Errors
/// The capacity, where the profile does not know it.
pub fn l2_load(
    on: &Profile,
    block: &Allocation,
    room: Room,
    (requested, compulsory): (f64, f64),
) -> Result<(f64, Option<String>), Unknown> {
    let cache = &on.memory.buffer_l1;
    if matches!(cache.bytes, Fact::Absent { .. }) {
        return Ok((requested, None));
    }
    let capacity = (cache.bytes.known_as("memory.buffer_l1.bytes")?.0 - room.cut).max(room.line);
    let miss = block.misses(capacity, room.line);
    let remark = format!(
        "l2_load: {:.1} % of repeated requests miss the first level, by the curve of paper 002's authors (a prior, fitted on V100 and A100) \
         over the {:.0} lines of a block that are asked for again; {:.0} are streamed",
        100.0 * miss,
        block.reused,
        block.streamed
    );
    Ok((compulsory + (requested - compulsory).max(0.0) * miss, Some(remark)))
}
