use super::*;
use fastrand::Rng;

/// Walks through caches that are simulated line by line, each with what it replaces, and a latency; noise makes steps longer by up to a part.
struct Cache {
    sets: usize,
    ways: usize,
    random: bool,
    /// Whether sets are taken by where pages of 4 KiB lie, anywhere.
    pages: bool,
    seconds: f64,
}

fn measured(caches: &[Cache], memory: f64, noise: f64, rng: &mut Rng) -> Vec<Point> {
    let most = 8 * caches.last().map_or(64, |cache| cache.sets * cache.ways);
    let sizes = (0..).map(|n| (4.0 * 2_f64.powf(f64::from(n) / 4.0)).round() as usize).take_while(|lines| *lines <= most);
    let mut sizes: Vec<usize> = sizes.collect();
    sizes.dedup();
    let seconds = |lines: usize, rng: &mut Rng| {
        let mut held: Vec<Vec<Vec<usize>>> = caches.iter().map(|cache| vec![vec![]; cache.sets]).collect();
        let mut order: Vec<usize> = (0..lines).collect();
        rng.shuffle(&mut order);
        let paged = caches.iter().any(|cache| cache.pages);
        let pages: Vec<usize> = (0..lines.div_ceil(64)).filter(|_| paged).map(|_| rng.usize(..1 << 16)).collect();
        let mut taken = 0.0;
        for round in 0..6 {
            for &line in &order {
                let mut answered = memory;
                for (cache, held) in caches.iter().zip(&mut held) {
                    let address = if cache.pages { 64 * pages[line / 64] + line % 64 } else { line };
                    let set = &mut held[address % cache.sets];
                    let hit = set.iter().position(|&own| own == line);
                    match hit {
                        Some(_) if cache.random => {}
                        Some(place) => drop(set.remove(place)),
                        None if set.len() < cache.ways => {}
                        None => drop(set.remove(if cache.random { rng.usize(..set.len()) } else { 0 })),
                    }
                    if hit.is_none() || !cache.random {
                        set.push(line);
                    }
                    if hit.is_some() {
                        answered = cache.seconds;
                        break;
                    }
                }
                taken += if round > 2 { answered } else { 0.0 };
            }
        }
        taken / (3 * lines) as f64 * (1.0 + noise * rng.f64())
    };
    sizes.into_iter().map(|lines| Point { bytes: 64.0 * lines as f64, seconds: seconds(lines, rng), noise: noise / 4.0 }).collect()
}

#[test]
fn levels_are_found_and_none_is_invented() {
    let mut rng = Rng::with_seed(20261126);
    for trial in 0..24 {
        let noise = [0.0, 0.03, 0.1][trial % 3];
        let near = Cache { sets: 1 << rng.u32(0..4), ways: rng.usize(2..17), random: false, pages: false, seconds: 20e-9 };
        let far = Cache { sets: 1 << rng.u32(7..9), ways: rng.usize(4..17), random: rng.bool(), pages: false, seconds: 60e-9 };
        let sizes = [near.sets * near.ways, far.sets * far.ways].map(|lines| 64.0 * lines as f64);
        let number = if sizes[1] > 4.0 * sizes[0] { trial % 3 } else { 1 };
        let caches: Vec<Cache> = [near, far].into_iter().take(number).collect();
        let levels = fit(&measured(&caches, 200e-9, noise, &mut rng)).unwrap();
        assert_eq!(levels.caches.len(), number, "trial {trial}: {levels:?} of {sizes:?}");
        for (level, truth) in levels.caches.iter().zip(sizes) {
            // Ranges are a fifth apart.
            assert!((0.8..1.25).contains(&(level.bytes / truth)), "trial {trial}: {level:?} of {truth}");
        }
        for (n, truth) in caches.iter().map(|cache| cache.seconds).chain([200e-9]).enumerate() {
            assert!((0.93..1.1).contains(&(levels.latency(n) / truth)), "trial {trial}: {levels:?} of {truth} s");
        }
    }
}

#[test]
fn a_slow_rise_is_one_cache() {
    let mut rng = Rng::with_seed(20261127);
    for trial in 0..8 {
        let near = Cache { sets: 64, ways: 12, random: false, pages: false, seconds: 1.4e-9 };
        let far = Cache { sets: 1024, ways: 16, random: trial % 2 == 0, pages: true, seconds: 3.5e-9 };
        let levels = fit(&measured(&[near, far], 12e-9, 0.05, &mut rng)).unwrap();
        let bytes: Vec<f64> = levels.caches.iter().map(|level| level.bytes / 1024.0).collect();
        assert!(
            matches!(bytes[..], [l1, l2] if (l1 / 48.0 - 1.0).abs() < 0.1 && (0.67..1.5).contains(&(l2 / 1024.0))),
            "trial {trial}: {bytes:?}"
        );
    }
}

/// Others' work makes walks longer, now and then many times; a clock that is faster for a moment makes one too short. Neither makes a cache.
#[test]
fn walks_that_took_too_little_or_too_much_make_no_cache() {
    let mut rng = Rng::with_seed(20261128);
    let caches = [(48.0 * 1024.0, Victims::Lru(13.0), 3.2e-9), (2048.0 * 1024.0, Victims::Hashed(16.0), 27e-9)];
    for trial in 0..12 {
        // No longer walks speak against the longest: of those two turns have to agree.
        let mut seconds = |bytes: f64| {
            let steady = 1.9e-9 + caches.iter().map(|(held, victims, miss)| miss * victims.share(*held, bytes)).sum::<f64>();
            steady * (1.0 + 0.03 * rng.f64()) * if bytes < 8e6 && rng.f64() < 0.1 { 1.1 + 2.0 * rng.f64() } else { 1.0 }
        };
        let ladder = (0..70).map(|n| 128.0 * 2_f64.powf(f64::from(n) / 4.0));
        let mut points: Vec<Point> = ladder.map(|bytes| Point { bytes, seconds: seconds(bytes), noise: 0.003 }).collect();
        // 16 KiB, and somewhere behind the first cache.
        for fast in [28, 44 + trial % 3] {
            points[fast].seconds = 0.88 * points[fast - 3..fast + 3].iter().map(|point| point.seconds).fold(f64::INFINITY, f64::min);
        }
        let levels = fit(&points).unwrap();
        let bytes: Vec<f64> = levels.caches.iter().map(|level| level.bytes / 1024.0).collect();
        // A rung that is disturbed moves an end by two.
        let near = |ratio: f64| (0.6..1.6).contains(&ratio);
        assert!(matches!(bytes[..], [l1, l2] if near(l1 / 48.0) && near(l2 / 2048.0)), "trial {trial}: {levels:?}");
        assert!((levels.first / 1.93e-9 - 1.0).abs() < 0.03, "trial {trial}: {levels:?}");
    }
}

#[test]
fn what_cannot_be_fitted_is_not() {
    let point = |bytes: f64, seconds: f64| Point { bytes, seconds, noise: 0.0 };
    assert_eq!(fit(&[]), None);
    assert_eq!(fit(&[point(64.0, 1e-9), point(128.0, f64::NAN), point(-1.0, 1e-9), point(256.0, 0.0), point(512.0, 1e-9)]), None);
    let flat: Vec<Point> = (0..20).map(|n| point(64.0 * f64::from(n + 1), 5e-9)).collect();
    let levels = fit(&flat).unwrap();
    assert_eq!((levels.caches.len(), levels.error < 1e-9), (0, true));
    assert!((levels.first - 5e-9).abs() < 1e-15);
}

#[test]
fn shares_of_misses_are_those_of_caches() {
    assert_eq!(Victims::Lru(17.0).share(1024.0, 1024.0), 0.0);
    // 65 lines through 2 sets of 16 ways of 32: 17 of 65 miss, as recorded on an Adreno 640.
    assert!((Victims::Lru(17.0).share(32.0, 32.5) - 17.0 / 65.0).abs() < 1e-12);
    assert_eq!(Victims::Lru(17.0).share(1024.0, 2048.0), 1.0);
    // Of many ways the fixed point of q = 1 - exp(-2 q).
    assert!((Victims::Random(1e6).share(1024.0, 2048.0) - 0.796812).abs() < 1e-4);
    // Sets that are filled by chance miss earlier, and later as much.
    let [even, uneven] = [Victims::Random(16.0), Victims::Scattered(16.0)].map(|victims| [0.7, 1.0, 2.0].map(|n| victims.share(1.0, n)));
    assert!(even[0] == 0.0 && uneven[0] > 0.005 && even[1] == 0.0 && uneven[1] > 0.1, "{uneven:?}");
    assert!((uneven[2] - even[2]).abs() < 0.02, "{uneven:?} {even:?}");
    // At its capacity half of the sets of a hashed cache are too full.
    assert!((Victims::Hashed(256.0).share(1024.0, 1024.0) - 0.5).abs() < 0.03);
}
