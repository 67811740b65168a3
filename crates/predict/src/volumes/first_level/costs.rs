//! What accesses cost, as it is counted: by execution, by access, by block.

use crate::volumes::kernel::subject::Field;
use warpsight_ir::AccessKind;

/// Sizes that requests are counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sizes {
    /// Lanes of a warp.
    pub warp: u32,
    /// Bytes the first-level cache fetches at once.
    pub sector: u32,
    /// Bytes of a line it allocates.
    pub line: u32,
    /// Four-byte banks of its data pipe.
    pub banks: u32,
    /// Bytes of a line of texture caches, where images have such for themselves.
    pub texture: Option<u32>,
}

impl Sizes {
    /// Those of a field: images in blocks are fetched in whole lines of their own cache.
    pub fn of(self, field: &Field) -> Self {
        match (self.texture, field.tiled()) {
            (Some(line), Some(_)) => Self { sector: line, line, ..self },
            _ => self,
        }
    }
}

/// What one access costs over the whole launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction {
    /// Position among all accesses, in program order.
    pub position: usize,
    /// Position in the list of fields.
    pub field: usize,
    /// Load, store or atomic.
    pub kind: AccessKind,
    /// Executions by warps with at least one active lane.
    pub executions: u64,
    /// Distinct sectors, summed over executions.
    pub sectors: u64,
    /// Distinct lines, summed over executions.
    pub lines: u64,
    /// Wavefronts of the data pipe, summed over executions.
    pub wavefronts: u64,
    /// What [`super::block::priced`] asks for, summed over executions; 0 of [`super::block::instructions`].
    pub price: f64,
}

/// One execution of an access by one warp.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Bytes from the first active lane to each; the first is 0.
    pub offsets: &'a [i64],
    /// Bytes of each lane.
    pub bytes: i64,
    /// Where the first begins within a line.
    pub begin: i64,
    /// Distinct lines.
    pub lines: u64,
    /// Wavefronts of the data pipe.
    pub wavefronts: u64,
}

/// Distinct pieces that whole blocks touch of one field, summed over all blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockUse {
    /// Sectors of all loads together.
    pub loaded_sectors: u64,
    /// Lines of all loads together: what the first-level cache must hold.
    pub loaded_lines: u64,
    /// Sectors of all stores together.
    pub stored_sectors: u64,
}
