//! Paths of warps through images, and how they come back to blocks.

use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// A block of texels, aligned to its own size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Block {
    /// Texels in a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
}

impl Block {
    /// Blocks that are assumed: sides of powers of two up to this.
    const LARGEST: u32 = 64;

    /// All blocks that are assumed, but single texels, by rising area.
    pub fn assumed() -> Vec<Self> {
        let sides = || std::iter::successors(Some(1), |side| Some(side * 2)).take_while(|side| *side <= Self::LARGEST);
        let mut all: Vec<Self> = sides().flat_map(|height| sides().map(move |width| Self { width, height })).collect();
        all.retain(|block| block.area() > 1);
        all.sort_by_key(|block| (block.area(), block.width.abs_diff(block.height)));
        all
    }

    /// Texels.
    pub fn area(self) -> u64 {
        u64::from(self.width) * u64::from(self.height)
    }

    /// The block that a texel lies in.
    pub fn of(self, (x, y): (u32, u32)) -> (u32, u32) {
        (x / self.width.max(1), y / self.height.max(1))
    }
}

/// The texels that the lanes of a warp fetch together, fetch by fetch.
#[derive(Clone, Copy, Debug)]
pub struct Path<'t> {
    lanes: usize,
    texels: &'t [(u32, u32)],
}

impl<'t> Path<'t> {
    /// Of so many lanes: the texels of the first fetch in the order of lanes, then those of the second, and so on.
    pub fn new(lanes: usize, texels: &'t [(u32, u32)]) -> Self {
        Self { lanes: lanes.max(1), texels }
    }

    /// Lanes.
    pub fn lanes(&self) -> usize {
        self.lanes
    }

    /// Fetches, each the texels of its lanes.
    pub fn fetches(&self) -> impl Iterator<Item = &'t [(u32, u32)]> {
        self.texels.chunks(self.lanes)
    }

    /// For each distinct block of each fetch how many other blocks were visited since it was.
    pub fn returns(&self, block: Block) -> Returns {
        let mut last: HashMap<(u32, u32), usize> = HashMap::new();
        // Marks stand where blocks were visited last: those behind a place are the distinct ones visited since.
        let mut marks = Marks::of(self.texels.len());
        let mut returns = Returns::default();
        let mut here: Vec<(u32, u32)> = vec![];
        for fetch in self.fetches() {
            here.clear();
            for at in fetch.iter().map(|texel| block.of(*texel)) {
                // Lanes of one fetch are few.
                if !here.contains(&at) {
                    here.push(at);
                }
            }
            let (begin, mut place) = (returns.since.len(), returns.since.len());
            // What was visited before this fetch counts, not what the fetch itself visits.
            for at in &here {
                let since = last.get(at).map(|&visit| marks.behind(visit));
                returns.since.push(since);
            }
            for at in &here {
                if let Some(before) = last.insert(*at, place) {
                    marks.add(before, -1);
                }
                marks.add(place, 1);
                place += 1;
            }
            returns.ends.push(begin + here.len());
        }
        returns
    }
}

/// How a path comes back to blocks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Returns {
    since: Vec<Option<u32>>,
    ends: Vec<usize>,
}

impl Returns {
    /// Per fetch, of each of its distinct blocks: how many others were visited since it was; `None` where it never was.
    pub fn fetches(&self) -> impl ExactSizeIterator<Item = &[Option<u32>]> {
        (0..self.ends.len()).map(|n| &self.since[n.checked_sub(1).map_or(0, |before| self.ends[before])..self.ends[n]])
    }
}

/// Marks at places, and how many there are (Fenwick's tree).
struct Marks {
    tree: Vec<i32>,
    all: i32,
}

impl Marks {
    fn of(places: usize) -> Self {
        Self { tree: vec![0; places + 1], all: 0 }
    }
    fn add(&mut self, place: usize, by: i32) {
        self.all += by;
        let mut at = place + 1;
        while at < self.tree.len() {
            self.tree[at] += by;
            at += at & at.wrapping_neg();
        }
    }
    /// Marks behind a place.
    fn behind(&self, place: usize) -> u32 {
        let (mut at, mut up_to) = (place + 1, 0);
        while at > 0 {
            up_to += self.tree[at];
            at &= at - 1;
        }
        (self.all - up_to).max(0) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn returns_count_the_blocks_between() {
        let texels = [(0, 0), (1, 0), (2, 0), (5, 5), (2, 1), (0, 0)];
        let line = Block { width: 2, height: 1 };
        let path = Path::new(1, &texels);
        let since: Vec<Option<u32>> = path.returns(line).fetches().map(|fetch| fetch[0]).collect();
        assert_eq!(since, [None, Some(0), None, None, None, Some(3)]);
        let block = Block { width: 4, height: 4 };
        let since: Vec<Option<u32>> = path.returns(block).fetches().map(|fetch| fetch[0]).collect();
        assert_eq!(since, [None, Some(0), Some(0), None, Some(1), Some(0)]);
    }

    /// The same by lists, for paths by chance of several lanes.
    #[test]
    fn returns_are_those_of_a_stack() {
        let mut state = 1u64;
        let mut chance = |below: u32| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as u32 % below
        };
        let texels: Vec<(u32, u32)> = (0..600).map(|_| (chance(24), chance(24))).collect();
        let block = Block { width: 4, height: 2 };
        let path = Path::new(6, &texels);
        let mut stack: Vec<(u32, u32)> = vec![];
        for (found, fetch) in path.returns(block).fetches().zip(path.fetches()) {
            let mut here: Vec<(u32, u32)> = vec![];
            fetch.iter().map(|texel| block.of(*texel)).for_each(|at| {
                if !here.contains(&at) {
                    here.push(at)
                }
            });
            let expected: Vec<Option<u32>> =
                here.iter().map(|at| stack.iter().rev().position(|own| own == at).map(|since| since as u32)).collect();
            assert_eq!(found, expected);
            for at in here {
                stack.retain(|own| *own != at);
                stack.push(at);
            }
        }
    }

    #[test]
    fn blocks_rise_and_are_no_texels() {
        let all = Block::assumed();
        assert_eq!(all.len(), 48);
        assert!(all.windows(2).all(|two| two[0].area() <= two[1].area()));
        assert_eq!(all[0].area(), 2);
    }
}
