//! The shapes that a cache of a given capacity and line may have.

use super::Shape;

/// How far beyond its own number of bits a set's number reaches into the address.
const REACH: u32 = 4;
/// The highest address bit that takes part in a parity.
const HIGHEST: u32 = 31;

/// All shapes of a capacity and a line: every number of sets that divides its lines, from one (fully associative) to direct-mapped, and
/// for 2ⁿ sets of lines of 2ˡ bytes, beside the plain choice by the lowest n bits of the line's number, XOR hashes:
///
/// - bit i of the set is address bit l+i XOR one or two of the n + 4 bits above it, at the same distances for all i
///   (of two sets: 5^6, 5^7, …, 5^6^7, 5^6^8, …);
/// - bit i is the parity of bits l+i, l+i+n, l+i+2n, … (the line's number folded to n bits; of two sets: the parity of all).
///
/// The plain ones come first, then hashes by the number of bits that they take. Nothing where the capacity is no whole number of lines.
pub fn candidates(capacity_bytes: u64, line_bytes: u64) -> impl Iterator<Item = Shape> {
    let whole = line_bytes > 0 && capacity_bytes.is_multiple_of(line_bytes);
    let lines = if whole { capacity_bytes / line_bytes } else { 0 };
    let lines = u32::try_from(lines).unwrap_or(0);
    let plain = divisors(lines).into_iter().map(move |sets| Shape { line_bytes, sets, ways: lines / sets, hash: None });
    let line_bits = line_bytes.is_power_of_two().then(|| line_bytes.trailing_zeros());
    let mut hashed: Vec<Shape> = divisors(lines)
        .into_iter()
        .filter(|&sets| sets > 1 && sets.is_power_of_two())
        .filter_map(|sets| Some((sets, hashes(line_bits?, sets.trailing_zeros()))))
        .flat_map(|(sets, hashes)| hashes.into_iter().map(move |hash| Shape { line_bytes, sets, ways: lines / sets, hash: Some(hash) }))
        .collect();
    hashed.sort_by_key(|shape| shape.hash.iter().flatten().map(Vec::len).max());
    plain.chain(hashed)
}

/// The divisors of a number, ascending.
fn divisors(of: u32) -> Vec<u32> {
    let small = || (1..=of.isqrt()).filter(move |&divisor| of.is_multiple_of(divisor));
    let large = small().map(|divisor| of / divisor).filter(|divisor| divisor.checked_mul(*divisor) != Some(of));
    let mut all: Vec<u32> = small().chain(large).collect();
    all.sort_unstable();
    all
}

/// XOR hashes to `bits` bits of addresses whose lines begin at bit `line`.
fn hashes(line: u32, bits: u32) -> Vec<Vec<Vec<u32>>> {
    let reach = bits + REACH;
    let shifted = |above: &[u32]| -> Vec<Vec<u32>> {
        (0..bits).map(|bit| [0].iter().chain(above).map(|distance| line + bit + distance).collect()).collect()
    };
    let one = (1..=reach).map(|near| shifted(&[near]));
    let two = (1..=reach).flat_map(|near| (near + 1..=reach).map(move |far| [near, far])).map(|above| shifted(&above));
    let parity = (0..bits).map(|bit| (line + bit..=HIGHEST).step_by(bits as usize).collect()).collect();
    let mut all: Vec<_> = one.chain(two).collect();
    if !all.contains(&parity) {
        all.push(parity);
    }
    all
}
