//! What loads and stores of local memory take.

use super::amd::LOCAL_LANES;
use super::banks::USUAL_BANKS;
use super::costs::{Instruction, Request};
use super::l1::Rule;
use smallvec::SmallVec;
use warpsight_ir::AccessKind;

/// Wavefronts of a request on NVIDIA: as of the data pipe ([`super::warps::wavefronts`]), but that two phases are one where neighbouring lanes,
/// or those two apart, want the same: halves of a warp with 8 bytes a lane, the quarters of each half with 16. Broadcast vectors take half the
/// phases. Found by others with conflict counters on Volta and Turing; it halves what 16-byte loads of one address take in tables of matrix products
/// on RTX 2080 Ti and 3090, too.
pub fn passes(request: &Request) -> f64 {
    let Request { offsets, bytes, begin, wavefronts, .. } = *request;
    // Lanes of a phase, and of two that may be one.
    let (phase, pair) = match bytes {
        8 => (16, 32),
        16 => (8, 16),
        _ => return wavefronts as f64,
    };
    let same = |lanes: &[i64], apart: usize| lanes.len() == pair && (0..pair).all(|i| lanes[i] == lanes[i ^ apart]);
    let pairs = offsets.chunks(pair).map(|lanes| match same(lanes, 1) || same(lanes, 2) {
        true => fullest(lanes, bytes, begin, USUAL_BANKS),
        false => lanes.chunks(phase).map(|own| fullest(own, bytes, begin, USUAL_BANKS)).sum(),
    });
    pairs.sum::<u32>().into()
}

/// Wavefronts of a request where nobody says in what phases lanes are served: each bank hands out one word at a time, to all that want it.
pub fn banked(request: &Request, banks: u32) -> f64 {
    fullest(request.offsets, request.bytes, request.begin, banks).into()
}

/// Distinct words in the fullest of so many banks. Elements narrower than a word ask for all of it.
pub fn fullest(lanes: &[i64], bytes: i64, begin: i64, banks: u32) -> u32 {
    let words_of = |lane: &i64| (begin + lane).div_euclid(4)..=(begin + lane + bytes - 1).div_euclid(4);
    let mut words: SmallVec<[i64; 64]> = lanes.iter().flat_map(words_of).collect();
    words.sort_unstable();
    words.dedup();
    let mut full: SmallVec<[u32; 64]> = SmallVec::from_elem(0, banks as usize);
    words.iter().for_each(|word| full[word.rem_euclid(banks.into()) as usize] += 1);
    full.into_iter().max().unwrap_or(0)
}

/// Wavefronts that an access to local memory takes: its own, and as many as pass while its lanes get theirs.
pub fn cycles(own: &Instruction, rule: Option<&Rule>, warp: u32) -> f64 {
    let lanes = own.executions as f64 * f64::from(warp);
    match (own.kind, rule) {
        (AccessKind::Atomic, _) | (_, None) => own.price,
        (AccessKind::Load, Some(Rule::Cdna)) => (lanes / LOCAL_LANES).max(own.wavefronts as f64),
        (_, Some(Rule::Nvidia { lsu_lanes, wavefront })) => own.price.max(lanes / lsu_lanes / wavefront),
        _ => own.wavefronts as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::volumes::first_level::warps::wavefronts;

    fn of(offsets: &[i64], bytes: i64) -> [f64; 2] {
        let own = wavefronts(offsets, bytes, 0, 32);
        [own as f64, passes(&Request { offsets, bytes, begin: 0, lines: 0, wavefronts: own })]
    }

    /// Four-byte words of 32 lanes, in bytes.
    fn lanes(of: impl Fn(i64) -> i64) -> Vec<i64> {
        (0..32).map(|lane| 4 * of(lane)).collect()
    }

    #[test]
    fn halves_ask_for_whole_words() {
        let of = |offsets: &[i64], bytes, begin, banks| fullest(offsets, bytes, begin, banks);
        let along = |bytes: i64| (0..32).map(|lane| bytes * lane).collect::<Vec<i64>>();
        // One half for all lanes is a word; two lanes share one; two in the same bank wait for each other.
        assert_eq!(of(&[0; 32], 2, 0, 32), 1);
        assert_eq!(of(&along(2), 2, 0, 16), 1);
        assert_eq!(of(&along(64), 2, 2, 16), 32);
        // Three halves from the middle of a word on are two words.
        assert_eq!(of(&[0], 6, 2, 1), 2);
        // As many words as banks are one wavefront, twice as many two.
        assert_eq!([of(&along(4), 4, 0, 32), of(&along(4), 4, 0, 16)], [1, 2]);
    }

    #[test]
    fn broadcast_vectors_take_half_the_phases() {
        assert_eq!(of(&lanes(|_| 0), 16), [4.0, 2.0]);
        assert_eq!(of(&lanes(|lane| 8 * (lane / 8)), 16), [4.0, 2.0]);
        assert_eq!(of(&lanes(|_| 0), 8), [2.0, 1.0]);
        // Two of a pair in one bank.
        assert_eq!(of(&lanes(|lane| 32 * (lane / 8)), 16), [4.0, 4.0]);
        // Consecutive vectors need all.
        assert_eq!(of(&lanes(|lane| 4 * lane), 16), [4.0, 4.0]);
        assert_eq!(of(&lanes(|lane| 2 * lane), 8), [2.0, 2.0]);
        // Eight words apart: two rows of four banks meet in a phase.
        assert_eq!(of(&lanes(|lane| 8 * (lane % 16)), 16), [8.0, 8.0]);
        assert_eq!(of(&lanes(|lane| 8 * lane), 4), [8.0, 8.0]);
    }
}
