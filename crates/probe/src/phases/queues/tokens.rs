//! What consumers of a queue must report: the polynomial of `tokens.cu` over all words of all tokens, without looking at each word.

const STEP: u32 = 0x9e37_79b1;
const FOLD: u32 = 0x0100_0193;

/// The first word of a token; every next one is `STEP` more. The mixing is the 32-bit finaliser of Wellons' hash prospector
/// (`lowbias32`, 2018).
pub(super) fn first_word(seed: u32, queue: u32, token: u32) -> u32 {
    let mut v = seed ^ queue.wrapping_mul(0x85eb_ca6b) ^ token.wrapping_mul(0xc2b2_ae35);
    v = (v ^ (v >> 16)).wrapping_mul(0x7feb_352d);
    v = (v ^ (v >> 15)).wrapping_mul(0x846c_a68b);
    v ^ (v >> 16)
}

/// What a block of threads makes of every token of one size: a sum s becomes s · power + first · ones + rest. Threads that read equally
/// many vectors share `power`, so that there are at most two kinds of them, and the sum of a kind follows the same rule.
pub(super) struct Fold {
    kinds: [Kind; 2],
}

#[derive(Default)]
struct Kind {
    power: u32,
    ones: u32,
    rest: u32,
}

impl Fold {
    /// Blocks of `threads` that read tokens of `vectors` times 16 bytes.
    pub(super) fn new(threads: u32, vectors: u32) -> Self {
        let (each, more) = (vectors / threads, vectors % threads);
        let kind = |range: std::ops::Range<u32>, count: u32| {
            let mut kind = Kind { power: FOLD.wrapping_pow(count), ..Kind::default() };
            for thread in range {
                let mut weight = 2 * thread + 1;
                for lane in (0..4).rev() {
                    let (mut ones, mut rest) = (0_u32, 0_u32);
                    for i in 0..count {
                        let word = 4 * (thread + i * threads) + lane;
                        ones = ones.wrapping_mul(FOLD).wrapping_add(1);
                        rest = rest.wrapping_mul(FOLD).wrapping_add(word.wrapping_mul(STEP));
                    }
                    kind.ones = kind.ones.wrapping_add(ones.wrapping_mul(weight));
                    kind.rest = kind.rest.wrapping_add(rest.wrapping_mul(weight));
                    weight = weight.wrapping_mul(FOLD);
                }
            }
            kind
        };
        Self { kinds: [kind(0..more, each + 1), kind(more..threads, each)] }
    }

    /// The sum that the block reports when it has read tokens with these first words, in order.
    pub(super) fn sum(&self, firsts: impl Iterator<Item = u32>) -> u32 {
        let mut sums = [0_u32; 2];
        for first in firsts {
            for (sum, kind) in sums.iter_mut().zip(&self.kinds) {
                *sum = sum.wrapping_mul(kind.power).wrapping_add(first.wrapping_mul(kind.ones)).wrapping_add(kind.rest);
            }
        }
        sums[0].wrapping_add(sums[1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEED: u32 = 11;

    fn checksum(threads: u32, vectors: u32, firsts: impl Iterator<Item = u32>) -> u32 {
        Fold::new(threads, vectors).sum(firsts)
    }

    /// What a thread adds to its block's sum.
    fn combine(sums: [u32; 4], thread: u32) -> u32 {
        sums.into_iter().fold(0_u32, |all, s| all.wrapping_mul(FOLD).wrapping_add(s)).wrapping_mul(2 * thread + 1)
    }

    /// What goes wrong in a queue that is driven by hand.
    #[derive(Clone, Copy, PartialEq)]
    enum Fault {
        None,
        PublishBeforeWrite,
        NoWaitForEmpty,
        WrongSlot,
        SkippedToken,
    }

    /// A ring with its two counters a slot, and one producer and one consumer that take steps in random order.
    fn drive(depth: u32, tokens: u32, vectors: u32, threads: u32, fault: Fault, random: &mut fastrand::Rng) -> u32 {
        let words = 4 * vectors as usize;
        let mut ring = vec![vec![u32::MAX; words]; depth as usize];
        let (mut full, mut empty) = (vec![0_u32; depth as usize], vec![0_u32; depth as usize]);
        let mut sums = vec![[0_u32; 4]; threads as usize];
        let (mut written, mut halfway, mut read) = (0, false, 0);
        while read < tokens {
            if written < tokens && random.bool() {
                let (slot, turn) = ((written % depth) as usize, written / depth);
                if fault != Fault::NoWaitForEmpty && empty[slot] < turn {
                    continue;
                }
                let first = first_word(SEED, 0, written + u32::from(fault == Fault::SkippedToken && written > 1));
                let content = (0..words as u32).map(|i| first.wrapping_add(i.wrapping_mul(STEP))).collect();
                let target = if fault == Fault::WrongSlot { (slot + 1) % depth as usize } else { slot };
                // Two steps: what comes first is seen by a consumer that runs in between.
                let publish = halfway != (fault == Fault::PublishBeforeWrite);
                if publish {
                    full[slot] = turn + 1;
                } else {
                    ring[target] = content;
                }
                written += u32::from(halfway);
                halfway = !halfway;
            } else {
                let (slot, turn) = ((read % depth) as usize, read / depth);
                if full[slot] < turn + 1 {
                    continue;
                }
                for (i, lanes) in ring[slot].as_chunks::<4>().0.iter().enumerate() {
                    for (s, v) in sums[i % threads as usize].iter_mut().zip(lanes) {
                        *s = s.wrapping_mul(FOLD).wrapping_add(*v);
                    }
                }
                empty[slot] += 1;
                read += 1;
            }
        }
        (0..threads).fold(0_u32, |sum, t| sum.wrapping_add(combine(sums[t as usize], t)))
    }

    #[test]
    fn the_closed_form_is_what_a_correct_queue_gives() {
        let mut random = fastrand::Rng::with_seed(3);
        for case in 0..200 {
            let (depth, tokens) = (random.u32(1..5), random.u32(1..20));
            let (vectors, threads) = (random.u32(1..40), random.u32(1..12));
            let expected = checksum(threads, vectors, (0..tokens).map(|t| first_word(SEED, 0, t)));
            let got = drive(depth, tokens, vectors, threads, Fault::None, &mut random);
            assert_eq!(got, expected, "case {case}: depth {depth}, {tokens} tokens, {vectors} vectors, {threads} threads");
        }
    }

    #[test]
    fn every_fault_shows_in_the_sum() {
        for fault in [Fault::PublishBeforeWrite, Fault::NoWaitForEmpty, Fault::WrongSlot, Fault::SkippedToken] {
            let mut random = fastrand::Rng::with_seed(5);
            let expected = checksum(4, 9, (0..64).map(|t| first_word(SEED, 0, t)));
            assert_ne!(drive(2, 64, 9, 4, fault, &mut random), expected);
        }
    }

    #[test]
    fn order_and_repetition_show() {
        let sum = |tokens: &[u32]| checksum(8, 16, tokens.iter().map(|t| first_word(SEED, 0, *t)));
        let right = sum(&[0, 1, 2, 3]);
        for wrong in [&[1, 0, 2, 3][..], &[0, 1, 1, 3], &[0, 1, 2, 2], &[0, 1, 2], &[0, 1, 2, 3, 3]] {
            assert_ne!(sum(wrong), right, "{wrong:?}");
        }
        assert_ne!(first_word(SEED, 0, 1), first_word(SEED, 1, 1));
    }
}
