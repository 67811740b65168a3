//! Set-associative caches: tags only, contents stay in the launch's memory.

use crate::divisor::Divisor;
use crate::silicon::Geometry;
use crate::timing::Time;

/// What is known of a line whose bytes matter. Masks are those of [`span`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Line {
    /// When its contents arrive.
    pub ready: Time,
    /// Bytes that were written and not yet passed on.
    pub dirty: u64,
    /// Bytes that are there.
    pub present: u64,
}

/// The mask of `len` bytes from byte `from` of a line on. Masks have 64 bits: in longer lines one stands for several bytes.
#[inline]
pub fn span(from: u64, len: u64, line: u64) -> u64 {
    let unit = (line >> 6).max(1);
    // Lines are powers of two.
    let shift = unit.trailing_zeros();
    let (first, end) = (from >> shift, (from + len + unit - 1) >> shift);
    ones(end - first) << first
}

/// The lowest `n` bits.
#[inline]
fn ones(n: u64) -> u64 {
    if n >= 64 { u64::MAX } else { (1 << n) - 1 }
}

/// How a set chooses what it gives up.
#[derive(Clone, Copy, Debug)]
pub enum Victim {
    /// The line not used for longest.
    LeastRecent,
    /// Any, by a generator with this state.
    Random(u64),
}

/// A cache's tags; `L` is what is known of a line.
///
/// Ways of a set are looked at sixteen at a time: sets are filled up to a multiple of that with places that are never used.
#[derive(Clone, Debug)]
pub struct Cache<L> {
    /// Numbers of the lines plus one; 0 where there is none.
    tags: Vec<u64>,
    /// A byte of each tag, sixteen in two words: what tells most tags apart at once.
    marks: Vec<[u64; 2]>,
    /// When each was used, in steps of [`Geometry::MOST_WAYS`], plus its way: the smallest of a set is the least recently used, or an empty one.
    used: Vec<u64>,
    lines: Vec<L>,
    /// Lines that each set holds: ways fill up in order, and stay full.
    held: Vec<u32>,
    ways: usize,
    /// So many times sixteen marks a set has.
    words: usize,
    clock: u64,
    victim: Victim,
}

/// Ways whose marks lie together.
const WORD: usize = 16;

/// What an access found.
pub enum Found<L> {
    /// The line.
    Hit,
    /// It was not there; it is now, in a place that was empty or where this line was.
    Miss(Option<(u64, L)>),
}

impl<L: Copy + Default> Cache<L> {
    /// An empty cache.
    pub fn new(geometry: &Geometry, victim: Victim) -> Self {
        let (sets, ways) = (geometry.sets as usize, geometry.ways as usize);
        let words = ways.div_ceil(WORD);
        let places = sets * words * WORD;
        let used = |at| if at % (words * WORD) < ways { (at % (words * WORD)) as u64 } else { u64::MAX };
        Self {
            tags: vec![0; places],
            marks: vec![[0; 2]; sets * words],
            used: (0..places).map(used).collect(),
            lines: vec![L::default(); places],
            held: vec![0; sets],
            ways,
            words,
            clock: 0,
            victim,
        }
    }

    /// Looks for line `number` in `set`, and puts it there where it is missing.
    #[inline]
    pub fn access(&mut self, set: usize, number: u64) -> (&mut L, Found<L>) {
        let (tag, first) = (number + 1, set * self.words * WORD);
        let (way, found) = match self.find(set, tag) {
            Some(way) => (way, Found::Hit),
            None => {
                let way = self.given_up(set);
                let at = first + way;
                let (half, shift) = (&mut self.marks[set * self.words + way / WORD][way % WORD / 8], way % 8 * 8);
                *half = *half & !(0xff << shift) | mark(tag) << shift;
                let old_tag = std::mem::replace(&mut self.tags[at], tag);
                let old = std::mem::take(&mut self.lines[at]);
                (way, Found::Miss(old_tag.checked_sub(1).map(|number| (number, old))))
            }
        };
        if matches!(self.victim, Victim::LeastRecent) {
            self.clock += u64::from(Geometry::MOST_WAYS);
            self.used[first + way] = self.clock | way as u64;
        }
        (&mut self.lines[first + way], found)
    }

    /// The way that a tag is in.
    #[inline]
    fn find(&self, set: usize, tag: u64) -> Option<usize> {
        const EACH: u64 = u64::MAX / 255;
        let (wanted, first) = (mark(tag) * EACH, set * self.words);
        // The lowest bit of each byte that is zero: in others the highest bit is set, or becomes so by adding to the rest.
        let zero = |half: u64| (!(((half & (EACH * 0x7f)) + EACH * 0x7f) | half) >> 7) & EACH;
        for (word, [low, high]) in self.marks[first..first + self.words].iter().enumerate() {
            let mut same = zero(low ^ wanted) | zero(high ^ wanted) << 1;
            while same != 0 {
                let bit = same.trailing_zeros() as usize;
                let way = word * WORD + bit % 8 * 8 + bit / 8;
                if self.tags[first * WORD + way] == tag {
                    return Some(way);
                }
                same &= same - 1;
            }
        }
        None
    }

    /// The way of a set that gives up what it holds, or an empty one.
    #[inline]
    fn given_up(&mut self, set: usize) -> usize {
        let held = self.held[set] as usize;
        if held < self.ways {
            self.held[set] += 1;
            return held;
        }
        match &mut self.victim {
            Victim::LeastRecent => {
                let used = self.used[set * self.words * WORD..(set + 1) * self.words * WORD].as_chunks::<4>().0;
                let least = used.iter().fold([u64::MAX; 4], |least, four| std::array::from_fn(|i| least[i].min(four[i])));
                (least[0].min(least[1]).min(least[2].min(least[3])) % u64::from(Geometry::MOST_WAYS)) as usize
            }
            Victim::Random(state) => {
                // xorshift64
                *state ^= *state << 13;
                *state ^= *state >> 7;
                *state ^= *state << 17;
                (*state % self.ways as u64) as usize
            }
        }
    }

    /// What is known of all lines.
    pub fn lines(&mut self) -> impl Iterator<Item = &mut L> {
        self.lines.iter_mut()
    }
}

/// A byte of all bits of a tag.
#[inline]
fn mark(tag: u64) -> u64 {
    tag.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56
}

/// Which of several places an address belongs to: sets of a cache, slices of a level.
#[derive(Clone, Debug)]
pub struct Chooser {
    /// For each byte of an address that matters, its lowest bit, and what each of its values contributes; all of them are XORed.
    hash: Option<Vec<(u32, [u16; 256])>>,
    count: Divisor,
}

impl Chooser {
    /// By these lists of address bits, of which each gives the parity as a bit of the number, or by the number of the line.
    pub fn new(hash: Option<&Vec<Vec<u32>>>, count: u32) -> Self {
        let tables = |lists: &Vec<Vec<u32>>| {
            let contributed = |shift: u32, value: u32| {
                lists.iter().enumerate().fold(0, |number, (bit, list)| {
                    let odd = list.iter().filter(|&&b| (shift..shift + 8).contains(&b) && value >> (b - shift) & 1 != 0).count() & 1;
                    number | (odd as u16) << bit
                })
            };
            let matters = |shift: &u32| lists.iter().flatten().any(|bit| (*shift..shift + 8).contains(bit));
            let table = |shift| (shift, std::array::from_fn(|value| contributed(shift, value as u32)));
            (0..64).step_by(8).filter(matters).map(table).collect()
        };
        Self { hash: hash.map(tables), count: Divisor::new(count.into()) }
    }

    /// The place of an address whose line (or what else numbers it) has this number.
    #[inline]
    pub fn of(&self, address: u64, number: u64) -> usize {
        match &self.hash {
            Some(tables) => tables.iter().fold(0, |at, (shift, table)| at ^ table[(address >> shift) as usize & 255]).into(),
            None => self.count.rest(number) as usize,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(sets: u32, ways: u32, victim: Victim) -> Cache<()> {
        Cache::new(&Geometry { bytes: 0, line: 32, sets, ways }, victim)
    }

    /// Misses of a ring of `lines` lines after it went round often, per round.
    fn ring(cache: &mut Cache<()>, lines: u64, set: impl Fn(u64) -> usize) -> u64 {
        let mut misses = 0;
        for round in 0..20 {
            for line in 0..lines {
                if let (_, Found::Miss(_)) = cache.access(set(line), line) {
                    misses += u64::from(round >= 10);
                }
            }
        }
        misses / 10
    }

    #[test]
    fn a_ring_one_line_too_long_thrashes_one_set() {
        let sets = Chooser::new(Some(&vec![vec![0]]), 2);
        let set = |line| sets.of(line, 0);
        assert_eq!(ring(&mut cache(2, 16, Victim::LeastRecent), 32, set), 0);
        assert_eq!(ring(&mut cache(2, 16, Victim::LeastRecent), 33, set), 17);
        assert_eq!(ring(&mut cache(2, 16, Victim::LeastRecent), 34, set), 34);
        // Random victims keep most of it.
        let random = ring(&mut cache(2, 16, Victim::Random(1)), 33, set);
        assert!((1..10).contains(&random), "{random}");
        // Three sets of 20: 60 fit, of 61 the first set has one too many.
        let sets = Chooser::new(None, 3);
        let set = |line| sets.of(line * 32, line);
        assert_eq!([60, 61].map(|lines| ring(&mut cache(3, 20, Victim::LeastRecent), lines, set)), [0, 21]);
    }

    #[test]
    fn a_hash_is_a_parity() {
        let hash = Chooser::new(Some(&vec![vec![5, 6], vec![7]]), 4);
        assert_eq!([0, 32, 64, 96, 128, 160].map(|a| hash.of(a, 0)), [0, 1, 1, 0, 2, 3]);
    }

    #[test]
    fn masks_of_long_lines_are_coarser() {
        assert_eq!(span(4, 8, 64), 0xff0);
        assert_eq!(span(4, 8, 256), 0b110);
        assert_eq!(span(0, 256, 256), u64::MAX);
        // A byte is a whole unit.
        assert_eq!(span(255, 1, 256), 1 << 63);
    }
}
