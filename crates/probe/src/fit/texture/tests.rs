use super::*;
use fastrand::Rng;

const LINE: Block = Block { width: 2, height: 2 };
const BEHIND: Block = Block { width: 8, height: 4 };

/// A device whose cache holds so many lines: hits of 100 ns, misses of 50 more, 200 more where what is behind misses; lanes and further
/// lines queue.
fn truth(lines: f64) -> TexelFit {
    let cost = |block: Block, first, further| BlockCost {
        width: block.width,
        height: block.height,
        first: Seconds(first),
        further: Seconds(further),
    };
    TexelFit {
        texel_bytes: 8,
        hit: Seconds(100e-9),
        lane: Seconds(0.3e-9),
        blocks: vec![cost(LINE, 50e-9, 2e-9), cost(BEHIND, 200e-9, 6e-9)],
        lines: Some(lines),
        fading: 16.0,
        ..TexelFit::default()
    }
}

/// Paths of lanes by strides of a few sizes along each axis.
fn walk(lanes: usize, most: (u32, u32), rng: &mut Rng) -> Vec<(u32, u32)> {
    let mut at: Vec<(u32, u32)> = (0..lanes as u32).map(|lane| (40 * lane, 7 * lane)).collect();
    (0..200)
        .flat_map(|_| {
            at.iter_mut().for_each(|(x, y)| (*x, *y) = (*x + rng.u32(0..=most.0), *y + rng.u32(0..=most.1)));
            at.clone()
        })
        .collect()
}

fn samples(truth: &TexelFit, noise: f64) -> Vec<Sample> {
    let mut rng = Rng::with_seed(11);
    let mut all = vec![];
    let mut put = |lanes: usize, texels: Vec<(u32, u32)>, pattern, rng: &mut Rng| {
        let seconds = truth.seconds(&Path::new(lanes, &texels)).0 * (1.0 + noise * rng.f64());
        let held_out = all.len() % 4 == 3;
        all.push(Sample { texel_bytes: 8, lanes, texels, seconds, pattern, held_out });
    };
    for _ in 0..40 {
        let most = (rng.u32(1..9), rng.u32(1..9));
        put(1, walk(1, most, &mut rng), None, &mut rng);
    }
    for lanes in [1_u32, 2, 4, 8, 16, 32, 64] {
        for rows in [1, 2, 4, 8] {
            let texels = (0..144).flat_map(|n| (0..lanes).map(move |lane| (n / rows, lane * rows + n % rows))).collect();
            put(lanes as usize, texels, Some((rows, rows)), &mut rng);
        }
        if lanes > 1 {
            put(lanes as usize, walk(lanes as usize, (3, 3), &mut rng), None, &mut rng);
        }
    }
    all
}

#[test]
fn a_planted_device_comes_back() {
    for lines in [16.0, 64.0] {
        let truth = truth(lines);
        let found = fit(&samples(&truth, 0.0), 8, Nearest::default()).expect("enough walks");
        assert!(found.error < 0.01 && found.warp_error.is_some_and(|error| error < 0.03), "{found:?}");
        assert!((found.hit.0 / truth.hit.0 - 1.0).abs() < 0.05, "{found:?}");
        assert!((found.lines.expect("C") / lines).log2().abs() <= 0.5 && found.lines_unknown.is_none(), "{found:?}");
        // What strides to all blocks together take.
        let all: f64 = found.blocks.iter().map(|cost| cost.first.0).sum();
        assert!((all / 250e-9 - 1.0).abs() < 0.05, "{found:?}");
    }
}

#[test]
fn noise_stays_noise() {
    let found = fit(&samples(&truth(32.0), 0.05), 8, Nearest::default()).expect("enough walks");
    assert!(found.error < 0.04 && found.warp_error.is_some_and(|error| error < 0.06), "{found:?}");
}

/// Walks by strides leave many blocks almost as often as each other: what one of them costs is not shared out among its likes.
#[test]
fn few_blocks_are_told() {
    for noise in [0.0, 0.03] {
        let found = fit(&samples(&truth(32.0), noise), 8, Nearest::default()).expect("enough walks");
        let blocks: Vec<Block> = found.blocks.iter().map(|cost| cost.block()).collect();
        assert!(blocks.len() <= 3 && blocks[0] == LINE, "{noise}: {found:?}");
    }
}

/// What walks in one row told of the cache is not told otherwise by walks of warps, and tells these as well.
#[test]
fn what_the_cache_holds_may_be_known() {
    let samples = samples(&truth(48.0), 0.02);
    let of = |capacity| fit(&samples, 8, Nearest { line: Some(32.0), capacity, hit: None }).expect("enough walks");
    let (free, known) = (of(None), of(Some(48.0 * 32.0)));
    assert_ne!(free.lines, Some(48.0), "no power of the root of two");
    assert_eq!((known.lines, known.blocks[0].block()), (Some(48.0), LINE));
    // No block of texels is as long, so that the lines are others.
    let other = fit(&samples, 8, Nearest { line: Some(24.0), capacity: Some(48.0 * 24.0), hit: None }).expect("enough walks");
    assert_ne!(other.lines, Some(48.0));
    assert!(known.warp_error.expect("several lanes") < free.warp_error.expect("several lanes") + 0.005, "{known:?} {free:?}");
}

/// A line whose miss costs next to nothing beside what is behind it is the first block where walks in one row told how long it is.
#[test]
fn a_line_that_tells_little_is_told() {
    let mut truth = truth(32.0);
    truth.blocks[0].first = Seconds(4e-9);
    let samples = samples(&truth, 0.03);
    let blocks = |line| -> Vec<Block> {
        fit(&samples, 8, Nearest { line, ..Nearest::default() }).expect("enough walks").blocks.iter().map(BlockCost::block).collect()
    };
    assert_ne!(blocks(None)[0], LINE);
    let known = blocks(Some(32.0));
    assert_eq!(known[0].width * known[0].height, 4, "{known:?}");
    assert!(known.len() <= 3 && known.contains(&BEHIND), "{known:?}");
    // No block of texels is as long.
    assert_eq!(blocks(Some(24.0)), blocks(None));
}

#[test]
fn the_published_model_is_fitted_beside_it() {
    let all = samples(&truth(32.0), 0.01);
    let (ours, paper) = (fit(&all, 8, Nearest::default()).expect("enough walks"), paper000(&all, 32.0).expect("enough walks"));
    assert!(ours.error < paper.error && ours.warp_error < paper.warp_error, "{ours:?} {paper:?}");
    assert!(paper.divergence > 1.0, "{paper:?}");
}

#[test]
fn a_line_of_one_texel_is_told_by_its_hit() {
    let mut rng = Rng::with_seed(2);
    let mut texels = || {
        let most = (rng.u32(1..9), rng.u32(1..9));
        walk(1, most, &mut rng)
    };
    let all: Vec<Sample> = (0..20)
        .map(|n| Sample { texel_bytes: 16, lanes: 1, texels: texels(), seconds: 300e-9, pattern: None, held_out: n % 4 == 3 })
        .collect();
    let found = fit(&all, 16, Nearest { hit: Some(100e-9), ..Nearest::default() }).expect("enough walks");
    let once = found.seconds(&Path::new(1, &[(5, 5), (9, 9)])).0;
    let again = found.seconds(&Path::new(1, &[(5, 5); 50])).0;
    assert!((once / 300e-9 - 1.0).abs() < 0.01 && again < 110e-9, "{once} {again} {found:?}");
}

/// Paths of one lane never come back to what they left: C is not known then, and no number stands for it.
#[test]
fn what_one_lane_does_not_tell_is_no_number() {
    let alone: Vec<Sample> =
        samples(&truth(32.0), 0.0).into_iter().filter(|sample| sample.lanes == 1 && sample.pattern.is_none()).collect();
    let found = fit(&alone, 8, Nearest::default()).expect("enough walks");
    assert_eq!(found.lines, None, "{found:?}");
    assert!(found.lines_unknown.as_ref().is_some_and(|why| why.contains("several lanes")), "{found:?}");
    assert!(found.is_finite() && (found.held(1e9), found.held(0.0)) == (1.0, 1.0), "all is taken to be held");
}

#[test]
fn few_walks_are_not_fitted() {
    let all = samples(&truth(32.0), 0.0);
    assert_eq!(fit(&all[..5], 8, Nearest::default()), None);
    assert_eq!(fit(&all, 16, Nearest::default()), None);
    assert_eq!(paper000(&all[..5], 32.0), None);
}
