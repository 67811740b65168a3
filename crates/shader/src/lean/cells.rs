//! What each cell holds at one point of a shader, cheap to copy.

use std::rc::Rc;

const CHUNK: usize = 64;
/// The node of what was never written.
pub(super) const UNDEFINED: u32 = 0;

/// A node for each cell.
#[derive(Clone)]
pub(super) struct Cells(Vec<Rc<[u32; CHUNK]>>);

impl Cells {
    pub(super) fn new(cells: usize) -> Self {
        // All chunks are one until they are written.
        let empty = Rc::new([UNDEFINED; CHUNK]);
        Self((0..cells.div_ceil(CHUNK)).map(|_| Rc::clone(&empty)).collect())
    }

    pub(super) fn get(&self, cell: u32) -> u32 {
        self.0[cell as usize / CHUNK][cell as usize % CHUNK]
    }

    pub(super) fn set(&mut self, cell: u32, node: u32) {
        let chunk = &mut self.0[cell as usize / CHUNK];
        if chunk[cell as usize % CHUNK] != node {
            Rc::make_mut(chunk)[cell as usize % CHUNK] = node;
        }
    }

    pub(super) fn len(&self) -> u32 {
        (self.0.len() * CHUNK) as u32
    }

    /// Cells that differ become what `join` makes of both.
    pub(super) fn merge(&mut self, other: &Self, mut join: impl FnMut(u32, u32) -> u32) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            if Rc::ptr_eq(mine, theirs) || mine == theirs {
                continue;
            }
            let joined = std::array::from_fn(|i| if mine[i] == theirs[i] { mine[i] } else { join(mine[i], theirs[i]) });
            *mine = Rc::new(joined);
        }
    }
}
