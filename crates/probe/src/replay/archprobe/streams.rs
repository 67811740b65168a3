//! Bandwidths against what is read again and again.

use super::recording::{Bandwidth, Recording, TEXEL};
use crate::Findings;
use warpsight_ir::profile::{Fact, Source};

/// Neighbours whose bandwidths differ by a third are of different levels: caches of one device differ by more, noise by less.
const LEVELS_DIFFER: f64 = 0.75;

/// Where bandwidth falls: the last size at full speed, the first beyond, and the bandwidths of the levels before and after.
pub type Fall = (f64, f64, f64, f64);

/// Sizes over which bandwidth stays, in order.
fn levels(points: &[Bandwidth]) -> Vec<Vec<Bandwidth>> {
    let mut points: Vec<Bandwidth> = points.iter().copied().filter(|point| point.1 > 0.0).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let alike = |a: &Bandwidth, b: &Bandwidth| (LEVELS_DIFFER..=1.0 / LEVELS_DIFFER).contains(&(b.1 / a.1));
    let levels = points.chunk_by(alike).map(<[Bandwidth]>::to_vec);
    // One size alone is on the way from one level to the next.
    levels.filter(|level| level.len() > 1).collect()
}

/// All falls from one level to a slower one.
pub fn fallen(points: &[Bandwidth]) -> Vec<Fall> {
    let levels = levels(points);
    let falls = levels.windows(2).filter_map(|pair| {
        let (before, after) = (middle(&pair[0])?, middle(&pair[1])?);
        Some((pair[0].last()?.0, pair[1].first()?.0, before.1, after.1)).filter(|_| after.1 < before.1)
    });
    falls.collect()
}

fn middle(level: &[Bandwidth]) -> Option<(f64, f64, f64)> {
    median(level.iter().map(|point| point.1).collect())
}

/// The median of numbers, between ends three standard errors away, as the numbers scatter: least, median, most.
pub fn median(mut of: Vec<f64>) -> Option<(f64, f64, f64)> {
    of.sort_by(f64::total_cmp);
    let median = *of.get(of.len() / 2)?;
    let mut far: Vec<f64> = of.iter().map(|number| (number - median).abs()).collect();
    far.sort_by(f64::total_cmp);
    // Of normal numbers 1.48 median deviations are a standard deviation, and a median's error is 1.25 times that of a mean.
    let error = 3.0 * 1.25 * 1.48 * far[far.len() / 2] / (of.len() as f64).sqrt();
    Some((median - error, median, median + error))
}

/// Facts of all bandwidths. `warp`: lanes of a warp, where known; `buffer_level` the number of the buffers' first cache.
pub fn streams(recording: &Recording, warp: Option<f64>, buffer_level: usize, found: &mut Findings) {
    // Where fewer bytes than a warp takes at once are read, its lanes share addresses, or meet in banks: no bandwidth.
    let own = |points: &[Bandwidth]| -> Vec<Bandwidth> {
        points.iter().copied().filter(|point| warp.is_none_or(|warp| point.0 >= warp * TEXEL)).collect()
    };
    let fact = |level: Option<&Vec<Bandwidth>>, file: &str| match level
        .and_then(|level| Some((middle(level)?, level.first()?.0, level.last()?.0)))
    {
        Some(((lo, value, hi), from, to)) => {
            Fact::between(lo, value, hi, Source::Measured, format!("{file}: the median of {from} to {to} B, read again and again"))
        }
        None => Fact::unknown(format!("{file}: no sizes with one bandwidth")),
    };
    let mut images = levels(&recording.image_bandwidth);
    // Reads past the end of an image return its border, and no cache is as fast.
    if let Some(rises) = images.windows(2).position(|pair| middle(&pair[1]).map(|level| level.1) > middle(&pair[0]).map(|level| level.1)) {
        let from = images[rises + 1].first().map_or(0.0, |point| point.0);
        found.contradictions.push(format!("ImageBandwidth: from {from} B on more bytes are read faster than fewer; these are left out"));
        images.truncate(rises + 1);
    }
    for (place, level) in images.iter().enumerate() {
        found.number(format!("texture.l{}.bandwidth", place + 1), fact(Some(level), "ImageBandwidth"));
    }
    if images.is_empty() {
        found.number("texture.l1.bandwidth", fact(None, "ImageBandwidth"));
    }
    let buffers = levels(&own(&recording.buffer_bandwidth));
    let (last, caches) = match buffers.split_last() {
        Some((last, caches)) if !caches.is_empty() => (Some(&last[last.len() / 2..]), caches),
        _ => (None, buffers.as_slice()),
    };
    for (place, level) in caches.iter().enumerate() {
        found.number(format!("buffer.l{}.bandwidth", buffer_level + place), fact(Some(level), "BufferBandwidth"));
    }
    // The larger half: caches still help what is little more than they hold.
    found.number("dram.bandwidth", fact(last.map(<[Bandwidth]>::to_vec).as_ref(), "BufferBandwidth"));
    for (key, points, file) in [
        ("local.bandwidth", &recording.local_bandwidth, "LocalMemBandwidth"),
        ("constant.bandwidth", &recording.constant_bandwidth, "ConstMemBandwidth"),
    ] {
        let levels = levels(&own(points));
        found.number(key, fact(levels.iter().max_by_key(|level| level.len()), file));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_where_bandwidth_stays() {
        let sizes = (0..12).map(|place| f64::from(16 << place));
        let rate = |bytes: f64| {
            if bytes <= 1024.0 {
                200e9
            } else if bytes == 2048.0 {
                100e9
            } else {
                50e9
            }
        };
        let points: Vec<Bandwidth> = sizes.map(|bytes| (bytes, rate(bytes) * (1.0 + 0.01 * (bytes.log2() % 2.0)))).collect();
        let falls = fallen(&points);
        assert_eq!(falls.len(), 1, "{falls:?}");
        assert_eq!((falls[0].0, falls[0].1), (1024.0, 4096.0));
        assert!(fallen(&points[..6]).is_empty() && fallen(&[]).is_empty());
    }
}
