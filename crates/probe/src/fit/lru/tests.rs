use super::*;

/// The textbook's LRU, for comparison: a vector per set, ten cycles.
fn slow(shape: &Shape, addresses: &[u64]) -> f64 {
    let mut sets = vec![Vec::new(); shape.sets as usize];
    let mut misses = 0;
    for cycle in 0..10 {
        misses = 0;
        for &address in addresses {
            let line = address / shape.line_bytes;
            let set = match &shape.hash {
                None => line % u64::from(shape.sets),
                Some(hash) => (0..hash.len()).map(|bit| (hash[bit].iter().map(|&from| address >> from & 1).sum::<u64>() % 2) << bit).sum(),
            };
            let set: &mut Vec<u64> = &mut sets[set as usize];
            match set.iter().position(|&other| other == line) {
                Some(place) => {
                    set.remove(place);
                }
                None => misses += 1,
            }
            set.push(line);
            if set.len() > shape.ways as usize {
                set.remove(0);
            }
        }
        assert!(cycle > 0 || misses > 0, "the first cycle has cold misses");
    }
    f64::from(misses) / addresses.len() as f64
}

fn shuffled(random: &mut fastrand::Rng, count: u64, stride: u64) -> Vec<u64> {
    let mut addresses: Vec<u64> = (0..count).map(|step| step * stride).collect();
    random.shuffle(&mut addresses);
    addresses
}

#[test]
fn misses_are_those_of_an_lru_cache() {
    let mut random = fastrand::Rng::with_seed(7);
    for round in 0..60 {
        let line = 16u64 << random.u32(0..4);
        let lines = [8u64, 12, 16, 24, 60, 64][random.usize(0..6)];
        let (count, stride) = (2 + lines * random.u64(1..6), [4u64, 16, 48, 64][random.usize(0..4)]);
        let addresses = shuffled(&mut random, count, stride);
        let shapes: Vec<Shape> = candidates(lines * line, line).collect();
        let shape = &shapes[random.usize(0..shapes.len())];
        assert_eq!(misses(shape, &addresses), slow(shape, &addresses), "round {round}: {shape:?}");
    }
}

#[test]
fn a_cycle_beyond_the_ways_always_misses_and_one_within_never() {
    let full = Shape { line_bytes: 32, sets: 1, ways: 8, hash: None };
    let cycle = |lines: u64| (0..lines).map(|line| line * 32).collect::<Vec<_>>();
    assert_eq!((misses(&full, &cycle(8)), misses(&full, &cycle(9)), misses(&full, &[])), (0.0, 1.0, 0.0));
    // Nine lines in two sets: five are in the set of four ways, four fit.
    let two = Shape { line_bytes: 32, sets: 2, ways: 4, hash: None };
    assert_eq!(misses(&two, &cycle(9)), 5.0 / 9.0);
    // Half of the steps go to the line of the step before, the last one to the line of the first.
    let halves: Vec<u64> = (0..18).map(|step| (step * 16 + 16) % 288).collect();
    assert_eq!(misses(&full, &halves), 0.5);
}

#[test]
fn candidates_have_the_capacity_and_hold_the_hashes_that_are_known() {
    let all: Vec<Shape> = candidates(1024, 32).collect();
    assert!(all.iter().all(|shape| shape.capacity_bytes() == 1024));
    assert_eq!(all[..6].iter().map(|shape| shape.sets).collect::<Vec<_>>(), [1, 2, 4, 8, 16, 32]);
    for bits in [vec![5, 6], vec![5, 6, 7], (5..32).collect()] {
        assert!(all.iter().any(|shape| shape.sets == 2 && shape.hash == Some(vec![bits.clone()])), "{bits:?}");
    }
    assert_eq!(candidates(96 * 24, 24).map(|shape| shape.sets).collect::<Vec<_>>(), [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 96]);
    assert_eq!((candidates(1000, 32).count(), candidates(0, 32).count(), candidates(64, 0).count()), (0, 0, 0));
}

/// Walks to random lines of eight times the capacity, as many as three quarters to seven quarters of it, with noise.
fn walks(random: &mut fastrand::Rng, truth: &Shape, hit: f64, miss: f64, sigma: f64) -> Vec<Walk> {
    let mut walks = vec![];
    let lines = truth.capacity_bytes() / truth.line_bytes;
    for eighths in [6, 7, 8, 9, 10, 11, 12, 14].repeat(4) {
        let mut addresses = shuffled(random, 8 * lines, truth.line_bytes);
        addresses.truncate((lines * eighths / 8) as usize);
        // The sum of twelve uniform numbers is nearly normal.
        let normal = (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
        let seconds = hit + (miss - hit) * misses(truth, &addresses) + sigma * normal;
        walks.push(Walk { addresses, seconds, sigma });
    }
    walks
}

#[test]
fn the_truth_is_among_what_is_consistent_whatever_it_is() {
    let mut random = fastrand::Rng::with_seed(3);
    let (mut reported, mut all) = (0, 0);
    for round in 0..40 {
        let line = 32u64 << random.u32(0..3);
        let lines = [32u64, 48, 64, 128, 256][random.usize(0..5)];
        let shapes: Vec<Shape> = candidates(line * lines, line).collect();
        let truth = &shapes[random.usize(0..shapes.len())];
        let walks = walks(&mut random, truth, 80e-9, 200e-9, 2e-9);
        let fitted = fit(&walks, shapes.iter().cloned());
        let left = consistent(&fitted);
        let found = left.iter().find(|fit| fit.shapes.contains(truth));
        let found = found.unwrap_or_else(|| panic!("round {round}: {truth:?} is lost"));
        assert!((found.hit_s - 80e-9).abs() < 5.0 * found.hit_sigma_s.max(1e-9), "{found:?}");
        assert!((found.miss_s - 200e-9).abs() < 5.0 * found.miss_sigma_s.max(1e-9), "{found:?}");
        reported += left.len();
        all += fitted.len();
    }
    assert!(reported * 10 < all, "{reported} of {all} are left");
}

#[test]
fn errors_larger_than_stated_are_found_out() {
    let mut random = fastrand::Rng::with_seed(5);
    let truth = Shape { line_bytes: 64, sets: 8, ways: 4, hash: None };
    let mut walks = walks(&mut random, &truth, 80e-9, 200e-9, 4e-9);
    walks.iter_mut().for_each(|walk| walk.sigma = 1e-12);
    let fitted = fit(&walks, candidates(2048, 64));
    let left = consistent(&fitted);
    assert!(left.iter().any(|fit| fit.shapes.contains(&truth)));
    assert!(left.len() < fitted.len() / 4, "{} of {}", left.len(), fitted.len());
    assert!(fitted[0].hit_sigma_s > 0.3e-9 && fitted[0].hit_sigma_s < 3e-9, "{:e}", fitted[0].hit_sigma_s);
}

#[test]
fn what_walks_do_not_say_is_not_said() {
    // All walks hit: no latency of a miss, and every shape is consistent.
    let walks: Vec<Walk> =
        (1..6).map(|lines| Walk { addresses: (0..lines).map(|line| line * 32).collect(), seconds: 1e-7, sigma: 1e-9 }).collect();
    let fitted = fit(&walks, candidates(1024, 32).filter(|shape| shape.ways >= 8));
    assert_eq!((fitted.len(), fitted[0].shapes.len() > 3), (1, true));
    assert!(fitted[0].miss_sigma_s.is_infinite());
    assert!((fitted[0].hit_s - 1e-7).abs() < 1e-15);
    let nothing = [Walk { addresses: vec![], seconds: 1.0, sigma: 1.0 }, Walk { addresses: vec![0], seconds: f64::NAN, sigma: 1.0 }];
    assert!(fit(&nothing, candidates(1024, 32)).is_empty() && consistent(&[]).is_empty());
}

#[test]
fn a_miss_is_never_faster_than_a_hit() {
    let walk = |lines: u64, seconds| Walk { addresses: (0..lines).map(|line| line * 32).collect(), seconds, sigma: 1e-9 };
    let full = Shape { line_bytes: 32, sets: 1, ways: 8, hash: None };
    let fitted = fit(&[walk(4, 2e-7), walk(8, 2e-7), walk(9, 1e-7), walk(12, 1e-7)], [full]);
    assert!((fitted[0].hit_s - 1.5e-7).abs() < 1e-15 && fitted[0].miss_s == fitted[0].hit_s);
}
