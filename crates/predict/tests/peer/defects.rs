//! For which configurations the original itself is wrong, and by which of its defects (`data-volumes.md`, section 6). Judged by the
//! configuration's numbers alone: by how much its rule moves the lines of a wave, against counting them.

use super::kernels::Config;

/// What moves a volume by less than the share that is allowed for waves is left in the comparison.
const MATTERS: f64 = 0.03;

/// Number of the defect.
pub fn peer_defect(config: &Config) -> Option<u8> {
    if unaligned_sample(config) || (edge(config) - 1.0).abs() > MATTERS {
        return Some(6);
    }
    let waves = mean_lines(config);
    let without = (lines(config, corner(config), 0) / waves - 1.0).abs() > MATTERS;
    let with = (lines(config, corner(config), config.align) / waves - 1.0).abs() > MATTERS;
    match (without, with) {
        (true, false) => Some(5),
        (true, true) => Some(6),
        _ => None,
    }
}

/// Loads are joined to pairs, of which only the first half's sector counts; blocks narrower than a sector show it, for eight of which
/// the original takes the mean, however many begin in one sector.
fn unaligned_sample(config: &Config) -> bool {
    config.fuses && config.block[0] * config.element < config.sector
}

/// Lines per row of threads in the last rows of the domain, which the original takes for all, against those in its middle.
fn edge(config: &Config) -> f64 {
    let wave = config.wave_box();
    if wave[1] == config.grid[1] {
        return 1.0;
    }
    let last = config.domain[1] - (config.grid[1] - wave[1]) * config.block[1];
    let per_row = |rows: u64| config.reach.iter().map(|reach| 1.0 + (reach[1].1 - reach[1].0) as f64 / rows as f64).sum::<f64>();
    per_row(last) / per_row(wave[1] * config.block[1])
}

/// First thread of the last wave along x.
fn corner(config: &Config) -> u64 {
    (config.grid[0] - config.wave_box()[0]) * config.block[0]
}

/// Lines that a wave touches of one row, over all loaded fields.
fn lines(config: &Config, first: u64, align: u64) -> f64 {
    let (elements, threads) = ((config.fetch / config.element) as i64, config.wave_box()[0] * config.block[0]);
    let end = (first + threads).min(config.domain[0]);
    let count = |(lo, hi): (i64, i64)| {
        let [from, to] = [first as i64 + lo, end as i64 - 1 + hi].map(|x| (x + align as i64).div_euclid(elements));
        (to - from + 1) as f64
    };
    // Per thread of the row, so that a row cut short compares with a whole one.
    config.reach.iter().map(|reach| count(reach[0])).sum::<f64>() / (end - first) as f64
}

/// The same over all waves, which follow each other from the begin of a row.
fn mean_lines(config: &Config) -> f64 {
    let wave = config.wave_box()[0];
    let starts = (0..config.grid[0] / wave).map(|n| n * wave * config.block[0]);
    let (sum, count) = starts.fold((0.0, 0.0), |(sum, n), first| (sum + lines(config, first, config.align), n + 1.0));
    sum / count
}

#[test]
fn each_defect_is_told_by_numbers() {
    let sound = Config {
        block: [64, 4, 4],
        grid: [10, 128, 128],
        domain: [640, 512, 512],
        resident: 216,
        element: 8,
        align: 4,
        warp: 32,
        sector: 32,
        write: 32,
        fetch: 64,
        fuses: false,
        reach: vec![[(-4, 4); 3]],
    };
    assert_eq!(sound.wave_box(), [10, 22, 1]);
    assert_eq!(peer_defect(&sound), None);
    // Pairs of loads, and blocks one thread wide.
    let narrow = Config { block: [1, 64, 16], grid: [640, 8, 32], fuses: true, sector: 64, ..sound };
    assert_eq!(peer_defect(&narrow), Some(6));
    // 15000 = 234 · 64 + 24: the last row of blocks holds 24 rows with 2 beside, not 64.
    let plane = Config {
        block: [16, 64, 1],
        grid: [938, 235, 1],
        domain: [15000, 15000, 1],
        align: 1,
        fuses: false,
        sector: 32,
        reach: vec![[(-1, 1), (-1, 1), (0, 0)]],
        ..narrow
    };
    assert!((edge(&plane) - (26.0 / 24.0) / (66.0 / 64.0)).abs() < 1e-12, "{}", edge(&plane));
    assert_eq!(peer_defect(&plane), Some(6));
    // Elements 14783 to 15000 of a row lie in 29 lines of 8, but in 28 where the field begins one element after a line's begin.
    let column = Config { block: [1, 1024, 1], grid: [15000, 15, 1], ..plane };
    assert_eq!(corner(&column), 14784);
    assert_eq!([0, 1].map(|align| (lines(&column, 14784, align) * 216.0).round()), [29.0, 28.0]);
    assert_eq!(peer_defect(&column), Some(5));
}
