//! How texels lie in memory, and what chooses the set of a line: from which places of an image share a set of the cache.

use super::super::Seen;
use super::chase::Texel;
use super::spec::{FORMATS, Kind};
use super::timed::Timed;
use crate::fit::lru::{self, Fitted, Shape, Walk};
use crate::{Curve, Finding, Findings, Geometry};
use fastrand::Rng;
use std::collections::HashSet;
use warpsight_ir::layout::ImageLayout;
use warpsight_ir::profile::{Fact, Source};

/// Places of a lattice.
const PLACES: (u32, u32) = (9, 768);
/// Texels of its image, rows padded as far as any layout does: 96 KiB, which is held behind the cache.
const AREA: u32 = 6144;
/// Texels that rows are padded to.
const PADDED: u32 = 64;
/// Shapes of a cache that are held against walks, with each layout.
const SHAPES: usize = 4000;
/// The sum of squares, in standard errors, that a layout may leave for each walk.
const EXPLAINED: f64 = 3.0;
/// Walks that take longer by this part than one that misses go beyond the level behind the cache.
const BEYOND: f64 = 1.15;
/// Fewer walks tell nothing.
const FEWEST: usize = 8;

/// Lattices whose walks are asked for: rows and columns first, then any.
pub(super) fn lattices(most: usize) -> Vec<(Texel, Texel)> {
    let lines = [16, 24, 32, 48, 64, 96].into_iter().flat_map(|n| [((8 * n, 1), (1, 1)), ((1, n), (1, 1))]);
    let mut all: Vec<(Texel, Texel)> = lines.collect();
    let mut rng = Rng::with_seed(19);
    while all.len() < most {
        let apart = (1 << rng.u32(0..6), 1 << rng.u32(0..6));
        let columns = rng.u32(1..40);
        let rows = ((f64::from(PLACES.0) * (f64::from(PLACES.1) / f64::from(PLACES.0)).powf(rng.f64())) as u32 / columns).max(1);
        let own = ((columns, rows), apart);
        if (PLACES.0..=PLACES.1).contains(&(columns * rows)) && area(own) <= AREA && !all.contains(&own) {
            all.push(own);
        }
    }
    all.truncate(most);
    all
}

/// Texels of a lattice's image.
fn area(((columns, rows), (x, y)): (Texel, Texel)) -> u32 {
    (columns * x).next_multiple_of(PADDED) * rows * y
}

/// The layouts that are known.
fn layouts() -> impl Iterator<Item = ImageLayout> {
    let linear = [64, 16, 32, 128, 256].map(|pitch_align| ImageLayout::Linear { pitch_align });
    let adreno = [4, 8]
        .into_iter()
        .flat_map(|channels| [15, 16, 14, 13].map(|highest_bank_bit| ImageLayout::AdrenoTiled { channels, highest_bank_bit }));
    let nvidia = (0..=5).map(|gobs_log2| ImageLayout::NvidiaBlockLinear { gobs_log2 });
    linear.into_iter().chain(adreno).chain([ImageLayout::MaliInterleaved]).chain(nvidia)
}

/// Layouts, sets, ways and hashes that are consistent with walks around lattices, jointly.
pub(super) fn analyse(seen: &Seen, timed: &[Timed], findings: &mut Findings) {
    let (geometries, words) = match joint(seen, timed) {
        Ok((shapes, curve)) => {
            findings.curves.push(curve);
            let cite = "walks around lattices of an image, least recently used lines of a cache of the sizes that walks in one row show";
            let mut words: Vec<ImageLayout> = vec![];
            shapes.iter().filter_map(|shape| shape.layout).for_each(|layout| {
                if !words.contains(&layout) {
                    words.push(layout)
                }
            });
            let words = words.iter().map(|layout| serde_json::to_string(layout).unwrap_or_default().replace('"', ""));
            let word = words.collect::<Vec<_>>().join(" or ");
            (Fact::known(shapes, Source::Measured, cite), Fact::known(word, Source::Measured, cite))
        }
        Err(why) => (Fact::unknown(why.clone()), Fact::unknown(why)),
    };
    findings.facts.insert("texture.image2d.geometries".into(), Finding::Geometries(geometries));
    findings.facts.insert("texture.image2d.layout".into(), Finding::Word(words));
}

fn joint(seen: &Seen, timed: &[Timed]) -> Result<(Vec<Geometry>, Curve), String> {
    let beyond = seen.found.get("texture.l2.latency_s").map_or(f64::INFINITY, |miss| BEYOND * miss);
    explained(timed, &shapes(seen)?, beyond)
}

/// Which of these shapes, with which layout, explain the walks that take no longer than so; and these walks by the best of them.
fn explained(timed: &[Timed], candidates: &[Shape], beyond: f64) -> Result<(Vec<Geometry>, Curve), String> {
    // Latencies of one chase: the number of its instructions is another than in walks of one row, so the difference counts.
    let walks: Vec<&Timed> = timed
        .iter()
        .filter(|own| matches!(own.spec.kind, Kind::Lattice(..)) && own.spec.format == FORMATS[0] && own.seconds <= beyond)
        .collect();
    if walks.len() < FEWEST {
        return Err(format!("{} walks around lattices were measured, which tells nothing", walks.len()));
    }
    let mut spreads: Vec<f64> = walks.iter().map(|own| own.spread).collect();
    spreads.sort_by(f64::total_cmp);
    let noise = (spreads[spreads.len() / 2] / 2.0).max(0.001);
    let texel_bytes = walks[0].spec.format.bytes();
    let by = |layout: ImageLayout| -> Vec<Walk> {
        let walk = |own: &&Timed| {
            let Kind::Lattice(counts, apart) = own.spec.kind else { return None };
            let mapper = layout.mapper(counts.0 * apart.0, counts.1 * apart.1, texel_bytes);
            let addresses = own.texels.iter().map(|&(x, y)| mapper.address(x, y)).collect();
            Some(Walk { addresses, seconds: own.seconds, sigma: noise.max(own.spread / 2.0) * own.seconds })
        };
        walks.iter().filter_map(walk).collect()
    };
    let with = |layout| lru::fit(&by(layout), candidates.iter().cloned()).into_iter().map(move |fitted| (layout, fitted));
    let all: Vec<(ImageLayout, Fitted)> = layouts().flat_map(with).collect();
    let kept = lru::consistent_among(&all, |own| &own.1);
    match kept.first() {
        Some((_, best)) if best.miss_s <= best.hit_s * 1.01 => {
            Err("every walk around a lattice took the same: none of them was too large for the cache".into())
        }
        Some((layout, best)) if best.chi2 <= EXPLAINED * best.freedom.max(1) as f64 => {
            let geometry = |(layout, fitted): &(ImageLayout, Fitted), shape: &Shape| Geometry {
                sets: shape.sets,
                ways: shape.ways,
                hash: shape.hash.clone(),
                layout: Some(*layout),
                error: fitted.error,
            };
            let geometries = kept.iter().flat_map(|own| own.1.shapes.iter().map(move |shape| geometry(own, shape))).collect();
            Ok((geometries, missing(best, &by(*layout))))
        }
        Some((_, best)) => Err(format!(
            "no layout that is known explains the walks around lattices: the best of {} leaves {:.1} % of what they take",
            all.len(),
            100.0 * best.error
        )),
        None => Err("no shape of the cache is known to hold layouts against".into()),
    }
}

/// Walks by the layout and the cache that explain them best.
fn missing(best: &Fitted, walks: &[Walk]) -> Curve {
    let (points, model) = best.drawn(walks);
    Curve {
        title:
            "Seconds of a fetch around a lattice against the share of fetches that miss, by the layout and the cache that explain all best"
                .into(),
        x: "share of fetches that miss".into(),
        y: "s".into(),
        points,
        model,
        ..Curve::default()
    }
}

/// Shapes of the cache that walks in one row allow, each with every hash: what chooses the set may differ by the kind of image.
fn shapes(seen: &Seen) -> Result<Vec<Shape>, String> {
    let number = |of: &str| {
        let key = format!("texture.l1.{of}");
        seen.found.get(&key).map(|number| number.round() as u64).ok_or(format!("`{key}` is not known"))
    };
    let (capacity, line) = (number("capacity_bytes")?, number("line_bytes")?);
    let known = match seen.found.facts.get("texture.l1.geometries") {
        Some(Finding::Geometries(Fact::Known { value, .. })) => value.iter().map(|own| (own.sets, own.ways)).collect(),
        _ => vec![],
    };
    let mut seen_sizes: HashSet<(u32, u32)> = HashSet::new();
    let sizes: Vec<(u32, u32)> = known.into_iter().filter(|size| seen_sizes.insert(*size)).collect();
    let all: Vec<Shape> = if sizes.is_empty() {
        lru::candidates(capacity, line).collect()
    } else {
        let of = |&(sets, ways): &(u32, u32)| {
            let bytes = line * u64::from(sets) * u64::from(ways);
            lru::candidates(bytes, line).filter(move |shape| (shape.sets, shape.ways) == (sets, ways))
        };
        sizes.iter().flat_map(of).collect()
    };
    Ok(all.into_iter().take(SHAPES).collect())
}

#[cfg(test)]
mod tests {
    use super::super::spec::Spec;
    use super::*;

    /// What walks around lattices take on a device with this layout and cache.
    fn walks(layout: ImageLayout, shape: &Shape, noise: f64) -> Vec<Timed> {
        let mut rng = Rng::with_seed(4);
        let walk = |(counts, apart): (Texel, Texel)| {
            let texels = super::super::paths::lattice(counts, apart, &mut Rng::with_seed(1));
            let mapper = layout.mapper(counts.0 * apart.0, counts.1 * apart.1, 16);
            let addresses: Vec<u64> = texels.iter().map(|&(x, y)| mapper.address(x, y)).collect();
            let seconds = (100e-9 + 60e-9 * lru::misses(shape, &addresses)) * (1.0 + noise * rng.f64());
            let spec = Spec { format: FORMATS[0], lanes: 1, kind: Kind::Lattice(counts, apart) };
            Timed { spec, texels, seconds, spread: noise }
        };
        lattices(48).into_iter().map(walk).collect()
    }

    /// The truth is listed, whatever it is; and as rows of texels are told from tiles, the list says something.
    #[test]
    fn layouts_and_hashes_are_told() {
        let mut rng = Rng::with_seed(8);
        for truth in layouts() {
            let (line, sets, ways) = (32 << rng.u32(0..2), 4 << rng.u32(0..3), 1 + rng.u32(0..6));
            let all = lru::candidates(u64::from(line * sets * ways), line.into()).filter(|own| (own.sets, own.ways) == (sets, ways));
            let all: Vec<Shape> = all.collect();
            let shape = &all[if rng.bool() { 0 } else { rng.usize(0..all.len()) }];
            for noise in [0.0, 0.01] {
                let walks = walks(truth, shape, noise);
                let (found, curve) = explained(&walks, &all, f64::INFINITY).unwrap_or_else(|why| panic!("{truth:?}: {why}"));
                // Every walk is drawn, and the line goes through it.
                assert_eq!((curve.points.len(), curve.model.len()), (walks.len(), walks.len()));
                assert!(curve.points.iter().zip(&curve.model).all(|(point, model)| (point[1] / model[1] - 1.0).abs() <= noise.max(1e-6)));
                let listed = |layout: ImageLayout, hash: &Option<Vec<Vec<u32>>>| {
                    found.iter().any(|own| own.layout == Some(layout) && own.hash == *hash)
                };
                assert!(listed(truth, &shape.hash), "{truth:?} {shape:?}");
                let is_linear = |layout: ImageLayout| matches!(layout, ImageLayout::Linear { .. });
                let alike = found.iter().filter_map(|own| own.layout).all(|own| is_linear(own) == is_linear(truth));
                assert!(alike, "{truth:?} {shape:?}: {:?}", found.iter().map(|own| own.layout).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn lattices_are_small_and_different() {
        let all = lattices(96);
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), 96);
        assert!(all.iter().all(|own| area(*own) <= AREA && own.0.0 * own.0.1 <= PLACES.1), "{all:?}");
    }
}
