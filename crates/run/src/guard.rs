//! Guard bands around buffers: what a kernel writes beside its memory shows there.

/// Bytes of a guard band on either side of a buffer, at least: a row or two of what a kernel may overrun.
pub(crate) const BAND: usize = 4096;

/// Bytes before a guarded buffer that has to begin at a multiple of `alignment`.
pub(crate) fn front_band(alignment: usize) -> usize {
    BAND.next_multiple_of(alignment.max(1))
}

/// What the guard byte at a position of the whole allocation holds: no constant, so that no fill value passes for it.
pub(crate) fn pattern(position: usize) -> u8 {
    (position as u8).wrapping_mul(31) ^ 0xa5
}
