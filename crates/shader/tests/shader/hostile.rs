//! What a fuzzer would send: nothing panics, runs for long or takes much memory.
//!
//! `body` takes any bytes; `crates/learn/fuzz` gives it those of cargo-fuzz.

use crate::body::body;
use crate::common::{bytes, names};
use warpsight_shader::module::Module;

/// Whether bytes are read as a module.
fn is_read(bytes: &[u8]) -> bool {
    Module::from_bytes(bytes).is_ok()
}

/// The most memory that this process ever had, in MiB; nothing where the system does not tell.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib / 1024)
}

fn shaders() -> Vec<Vec<u8>> {
    names().iter().map(|n| bytes(n)).collect()
}

#[test]
fn modules_cut_anywhere_are_refused() {
    for shader in shaders() {
        for length in (0..shader.len()).step_by(4) {
            // Without its last function a module may still be whole.
            body(&shader[..length]);
        }
        assert!(is_read(&shader) && !is_read(&shader[..shader.len() - 4]));
    }
}

#[test]
fn modules_with_flipped_bits_and_exchanged_words_do_no_harm() {
    // More than the tests' share: WARPSIGHT_FUZZ=200000 cargo test -p warpsight-learn --test shaders flipped
    let rounds = std::env::var("WARPSIGHT_FUZZ").ok().and_then(|r| r.parse().ok()).unwrap_or(6000);
    let mut random = fastrand::Rng::with_seed(rounds as u64);
    let shaders = shaders();
    let mut read = 0;
    for round in 0..rounds {
        let mut bytes = shaders[round % shaders.len()].clone();
        for _ in 0..1 + random.usize(..4) {
            let word = 4 * random.usize(5..bytes.len() / 4);
            match random.u32(..4) {
                0 => bytes[word + random.usize(..4)] ^= 1 << random.u32(..8),
                1 => {
                    let other = 4 * random.usize(5..bytes.len() / 4);
                    (0..4).for_each(|i| bytes.swap(word + i, other + i));
                }
                // Ids are small.
                2 => bytes[word..word + 4].copy_from_slice(&random.u32(..200).to_le_bytes()),
                _ => bytes[word..word + 4].copy_from_slice(&[u32::MAX, 1 << 31, 0, random.u32(..)][random.usize(..4)].to_le_bytes()),
            }
        }
        body(&bytes);
        read += usize::from(is_read(&bytes));
    }
    // Else only the reader was tested.
    assert!(read > rounds / 4, "{read} of {rounds} were read");
    assert!(peak().is_none_or(|mib| mib < 512), "{:?} MiB", peak());
}

#[test]
fn random_words_are_no_module() {
    let mut random = fastrand::Rng::with_seed(2);
    for round in 0..2000 {
        let mut words = vec![0x0723_0203, 0x0001_0300, 0, 100, 0];
        for _ in 0..random.usize(..60) {
            // Instructions that exist, of a length that may be right.
            let length = random.u32(..8);
            words.push(length << 16 | random.u32(..if round % 2 == 0 { 400 } else { 8000 }));
            let most = if random.bool() { 20 } else { u32::MAX };
            words.extend((1..length).map(|_| random.u32(..most)));
        }
        body(&words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>());
    }
}

#[test]
fn long_lists_and_deep_nests_end_soon() {
    let op = |op: u32, args: &[u32]| -> Vec<u32> { [&[(args.len() as u32 + 1) << 16 | op], args].concat() };
    let head = |bound: u32| [vec![0x0723_0203, 0x0001_0300, 0, bound, 0], op(15, &[4, 3, 0x006d])].concat();
    let start = std::time::Instant::now();
    let run = |words: Vec<u32>| body(&words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>());
    // A struct in a struct in a struct, in a uniform block.
    let mut nested = [head(200_000), op(22, &[10, 32])].concat();
    for id in 11..60_000 {
        nested.extend(op(72, &[id, 0, 35, 0]));
    }
    for id in 11..60_000 {
        nested.extend(op(30, &[id, id - 1]));
    }
    nested.extend([op(32, &[100_000, 2, 59_999]), op(59, &[100_000, 100_001, 2])].concat());
    nested.extend([op(71, &[100_001, 34, 0]), op(71, &[100_001, 33, 0])].concat());
    nested.extend([op(19, &[2]), op(33, &[5, 2]), op(54, &[2, 3, 0, 5]), op(248, &[6]), op(253, &[]), op(56, &[])].concat());
    run(nested);
    // Structs of two of the one before, 60 times: first of nothing, then of a number; in blocks, in inputs, in variables.
    for (first, class) in [(vec![], 2), (vec![9], 2), (vec![], 1), (vec![9], 1), (vec![9], 6)] {
        let mut double = [head(1000), op(71, &[900, 30, 0]), op(71, &[900, 34, 0]), op(71, &[900, 33, 0])].concat();
        for id in 11..80 {
            double.extend([op(72, &[id, 0, 35, 0]), op(72, &[id, 1, 35, 0])].concat());
        }
        double.extend([op(22, &[9, 32]), op(30, &[&[10], &first[..]].concat())].concat());
        // A number doubles beyond what a value may have; it stops before.
        let last = if first.is_empty() { 70 } else { 29 };
        (11..=last).for_each(|id| double.extend(op(30, &[id, id - 1, id - 1])));
        double.extend([op(32, &[800, class, last]), op(59, &[800, 900, class])].concat());
        double.extend([op(19, &[2]), op(33, &[5, 2]), op(54, &[2, 3, 0, 5]), op(248, &[6]), op(253, &[]), op(56, &[])].concat());
        assert!(is_read(&double.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>()));
        run(double);
    }
    // A chain of blocks, each the header of a loop around the next; and a switch of many cases.
    let mut deep = [head(300_000), op(19, &[2]), op(33, &[5, 2]), op(21, &[7, 32, 0]), op(43, &[7, 8, 1])].concat();
    deep.extend(op(54, &[2, 3, 0, 5]));
    for id in 0..20_000 {
        deep.extend([op(248, &[100 + id]), op(246, &[100_000 + id, 200_000 + id, 0]), op(249, &[101 + id])].concat());
    }
    deep.extend(op(248, &[20_100]));
    let cases: Vec<u32> = (0..20_000).flat_map(|i| [i, 100_000 + i]).collect();
    deep.extend(op(251, &[&[8, 100_000], &cases[..]].concat()));
    for id in 0..20_000 {
        deep.extend([op(248, &[100_000 + id]), op(253, &[]), op(248, &[200_000 + id]), op(249, &[100 + id])].concat());
    }
    deep.extend(op(56, &[]));
    run(deep);
    // The largest values that may be, many times.
    let mut large =
        [head(100_000), op(19, &[2]), op(33, &[5, 2]), op(21, &[7, 32, 0]), op(43, &[7, 8, 1 << 20]), op(28, &[9, 7, 8])].concat();
    (1000..60_000).for_each(|id| large.extend(op(46, &[9, id])));
    large.extend([op(54, &[2, 3, 0, 5]), op(248, &[6]), op(253, &[]), op(56, &[])].concat());
    run(large);
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
    assert!(peak().is_none_or(|mib| mib < 512), "{:?} MiB", peak());
}
