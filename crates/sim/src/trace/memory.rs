//! First levels, the second level and device memory: where the sectors of a request are, and what moves for them.
//!
//! First levels are written through and take in nothing that is only written. The second level keeps what is written until its line is given
//! up: sectors of which stores left a part are then read back first. It takes stores without reading. What is stored to be used no more takes
//! the place of another such line of its set, where there is one.

use super::levels::Levels;
use super::lru::Lru;
use super::volumes::Volumes;
use warpsight_ir::{AccessKind, Bytes, StorePolicy};

/// Bytes of a sector that a request touches: its number, and a bit for each byte.
pub type Piece = (u64, u64);

/// The caches of a GPU.
pub struct Memory {
    /// Of each core: sectors that are there.
    l1: Vec<Lru<u8>>,
    /// Sectors of a line of these.
    first: u64,
    l2: Second,
    /// Bytes of a sector.
    sector: f64,
    /// What moved so far, by tensor.
    pub moved: Vec<Volumes>,
}

/// The second level.
struct Second {
    lines: Lru<Line>,
    /// Sectors of a line.
    per_line: u64,
    /// Bytes of a sector.
    sector: u64,
    /// Sectors that device memory delivers at once.
    fetch: u64,
}

/// A line of the second level.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    /// Sectors that are there as a whole.
    whole: u8,
    /// Bytes that were written and not stored yet.
    written: u128,
    /// Whose it is.
    tensor: u16,
    /// Stored to be used no more.
    streaming: bool,
}

impl Memory {
    /// Empty caches of cores that hold so many groups with so much local memory each.
    pub fn new(levels: &Levels, groups: u32, local: Bytes, tensors: usize) -> Self {
        let (first, second) = (levels.first(groups, local), &levels.l2);
        let sector = second.sector;
        Self {
            l1: vec![Lru::new(&first); levels.cores as usize],
            first: first.line / sector,
            l2: Second { lines: Lru::new(second), per_line: second.line / sector, sector, fetch: levels.fetch / sector },
            sector: sector as f64,
            moved: vec![Volumes::default(); tensors],
        }
    }

    /// A request of a warp; its pieces ascend.
    pub fn request(&mut self, core: usize, tensor: u16, kind: AccessKind, pieces: &[Piece]) {
        let bytes = pieces.len() as f64 * self.sector;
        let own = &mut self.moved[usize::from(tensor)];
        match kind {
            AccessKind::Load => {
                own.l1_requested += bytes;
                self.load(core, tensor, pieces);
            }
            AccessKind::Store(policy) => {
                own.l2_store += bytes;
                self.store(tensor, policy, pieces);
            }
            // Past the first level, which forgets what is changed.
            AccessKind::Atomic => {
                own.l1_requested += bytes;
                own.l2_load += bytes;
                own.l2_store += bytes;
                for (number, sectors, _) in lines(pieces, self.first) {
                    if let Some(there) = self.l1[core].find(number) {
                        *there &= !sectors;
                    }
                    self.fetch(tensor, number, sectors);
                }
                self.store(tensor, StorePolicy::WriteBack, pieces);
            }
        }
    }

    fn load(&mut self, core: usize, tensor: u16, pieces: &[Piece]) {
        for (number, sectors, _) in lines(pieces, self.first) {
            let there = self.l1[core].access(number, None).0;
            let missing = sectors & !*there;
            *there |= sectors;
            let own = &mut self.moved[usize::from(tensor)];
            own.l1_hits += count(sectors & !missing) * self.sector;
            own.l2_load += count(missing) * self.sector;
            if missing != 0 {
                self.fetch(tensor, number, missing);
            }
        }
    }

    /// Sectors of a line of the first level, from the second one.
    fn fetch(&mut self, tensor: u16, number: u64, sectors: u8) {
        // A line of the second level may hold several of the first.
        let at = number * self.first;
        let (number, sectors) = (at / self.l2.per_line, sectors << (at % self.l2.per_line));
        let (line, gone) = self.l2.lines.access(number, None);
        (line.tensor, line.streaming) = (tensor, false);
        let missing = sectors & !line.whole;
        let delivered = together(missing, self.l2.fetch) & !line.whole;
        line.whole |= delivered;
        let own = &mut self.moved[usize::from(tensor)];
        own.dram_load += count(delivered) * self.sector;
        own.l2_hits += count(sectors & !missing) * self.sector;
        self.given_up(gone);
    }

    fn store(&mut self, tensor: u16, policy: StorePolicy, pieces: &[Piece]) {
        let streaming = policy == StorePolicy::NonTemporal;
        let evicted_first: Option<fn(&Line) -> bool> = if streaming { Some(|line| line.streaming) } else { None };
        for (number, sectors, pieces) in lines(pieces, self.l2.per_line) {
            let own = &mut self.moved[usize::from(tensor)];
            if policy == StorePolicy::WriteThrough {
                own.dram_store += count(sectors) * self.sector;
                continue;
            }
            let (line, gone) = self.l2.lines.access(number, evicted_first);
            (line.tensor, line.streaming) = (tensor, streaming);
            let waiting = touched(line.written, self.l2.sector);
            own.dram_store += count(sectors & !waiting) * self.sector;
            for &(at, bytes) in pieces {
                line.written |= u128::from(bytes) << (at % self.l2.per_line * self.l2.sector);
            }
            line.whole |= filled(line.written, self.l2.sector);
            self.given_up(gone);
        }
    }

    /// Reads back what is missing of sectors that were written in part.
    fn given_up(&mut self, line: Option<Line>) {
        let Some(line) = line else { return };
        let bytes = count(touched(line.written, self.l2.sector) & !line.whole) * self.sector;
        let own = &mut self.moved[usize::from(line.tensor)];
        own.dram_load += bytes;
        own.read_back += bytes;
    }

    /// Gives up all lines, as at the end of a launch.
    pub fn flush(&mut self) {
        let lines: Vec<Line> = self.l2.lines.lines().copied().collect();
        lines.into_iter().for_each(|line| self.given_up(Some(line)));
    }
}

/// The lines of these pieces: number, sectors and pieces of each.
fn lines(pieces: &[Piece], per_line: u64) -> impl Iterator<Item = (u64, u8, &[Piece])> {
    let shift = per_line.trailing_zeros();
    pieces.chunk_by(move |a, b| a.0 >> shift == b.0 >> shift).map(move |own| {
        let sectors = own.iter().fold(0_u8, |sectors, piece| sectors | 1 << (piece.0 & (per_line - 1)));
        (own[0].0 >> shift, sectors, own)
    })
}

fn count(sectors: u8) -> f64 {
    f64::from(sectors.count_ones())
}

/// These sectors and their neighbours, of which so many come at once.
fn together(sectors: u8, fetch: u64) -> u8 {
    let group = u8::MAX >> (8 - fetch.min(8));
    (0..8).step_by(fetch as usize).map(|at| group << at).filter(|group| sectors & group != 0).fold(0, |all, group| all | group)
}

/// Sectors with a byte in this.
fn touched(bytes: u128, sector: u64) -> u8 {
    sectors_where(bytes, sector, |part, _| part != 0)
}

/// Sectors of which all bytes are in this.
fn filled(bytes: u128, sector: u64) -> u8 {
    sectors_where(bytes, sector, |part, all| part == all)
}

fn sectors_where(bytes: u128, sector: u64, keep: impl Fn(u64, u64) -> bool) -> u8 {
    let all = u64::MAX >> (64 - sector);
    (0..(128 / sector).min(8)).fold(0, |found, at| found | u8::from(keep((bytes >> (at * sector)) as u64 & all, all)) << at)
}
