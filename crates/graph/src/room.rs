//! Whether tensors find room in memory: asked before they are made.

/// Bytes of tensors that are held in memory at a time, at most: all constants of a model, what a network that is executed needs of constants
/// and of tensors that are alive together (both as the reference has them, eight bytes an element), and the tensors of one operator.
pub const MAX_BYTES: u64 = 1 << 30;

/// Why tensors are not held in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoRoom {
    /// More than is ever held.
    #[error("at most {MAX_BYTES} are held at a time")]
    Limit,
    /// More than this process is given now.
    #[error("the system has no room for them")]
    System,
}

/// How often tensors are held at the same time, at most: as a file has them, as numbers, as a reference, packed, and in the memory of a device
/// that is simulated.
const COPIES: u64 = 6;

/// Whether so many bytes of tensors find room, with the copies of them that are made on the way: asked before anything is made, because an
/// allocation that fails ends the process.
///
/// # Errors
/// Why not.
pub fn room(bytes: u64) -> Result<(), NoRoom> {
    if bytes > MAX_BYTES {
        return Err(NoRoom::Limit);
    }
    granted(bytes * COPIES)
}

/// Whether this process is given so many bytes now.
pub(crate) fn granted(bytes: u64) -> Result<(), NoRoom> {
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    Vec::<u8>::new().try_reserve_exact(bytes).map_err(|_| NoRoom::System)
}
