//! Curves for the page, each with the figure of paper 001 that shows the same.

use super::hierarchy::{Hierarchy, Point, walk};
use super::recording::{Bandwidth, Recording, per_iteration};
use super::streams::fallen;
use crate::fit::lru::misses;
use crate::{Curve, Findings};

/// Points of a curve, about: more are no use to an eye.
const POINTS: usize = 512;

/// All curves.
pub fn curves(recording: &Recording, images: &Hierarchy, buffers: &Hierarchy, found: &mut Findings) {
    let (_, registers) = per_iteration(&recording.registers);
    let one: Vec<(f64, f64)> = registers.iter().filter(|point| point.0[0] == 1.0).map(|point| (point.0[1], point.1)).collect();
    let known = |key: &str| found.get(key).into_iter().collect::<Vec<_>>();
    let mut curves = vec![];
    curves.push(Curve {
        changes: known("registers.per_thread_max"),
        ..curve("registers of one work-item", "001, figure 5", "registers", &one)
    });
    let mut used: Vec<f64> = registers.iter().filter(|point| point.0[0] > 1.0).map(|point| point.0[1]).collect();
    used.sort_by(f64::total_cmp);
    used.dedup();
    for used in used {
        let groups: Vec<(f64, f64)> = registers.iter().filter(|point| point.0[1] == used).map(|point| (point.0[0], point.1)).collect();
        curves.push(curve(&format!("groups of {used} registers"), "001, figure 5", "groups", &groups));
    }
    curves.push(chase("latency of a dependent read of an image", images));
    curves.push(chase("latency of a dependent load of a buffer", buffers));
    let warp = curve("integer divisions of a group", "001, figure 7", "work-items", &recording.division);
    curves.push(Curve { changes: known("warp.by_latency"), ..warp });
    let order = curve("work-items whose atomics are in order", "001, figure 8", "work-items", &recording.order);
    curves.push(Curve { y: "work-items in order".to_owned(), changes: known("warp.by_order"), ..order });
    for (title, points) in [
        ("bandwidth of an image", &recording.image_bandwidth),
        ("bandwidth of a buffer", &recording.buffer_bandwidth),
        ("bandwidth of constant memory", &recording.constant_bandwidth),
        ("bandwidth of local memory", &recording.local_bandwidth),
    ] {
        curves.push(bandwidth(title, points));
    }
    let (_, texels) = per_iteration(&recording.texels);
    for (name, along) in [("x", 0.0), ("y", 1.0)] {
        let points: Vec<(f64, f64)> = texels.iter().filter(|point| point.0[1] == along).map(|point| (point.0[0], point.1)).collect();
        let texels = curve(&format!("texels along {name} that a group keeps reading"), "001, figure 9", "texels", &points);
        curves.push(Curve { changes: known(&format!("texture.l1.texels_{name}")), ..texels });
    }
    found.curves.extend(curves.into_iter().filter(|curve| !curve.points.is_empty()));
}

fn curve(title: &str, figure: &str, x: &str, points: &[(f64, f64)]) -> Curve {
    Curve {
        title: title.to_owned(),
        figure: Some(figure.to_owned()),
        x: x.to_owned(),
        y: "seconds".to_owned(),
        points: thinned(points),
        ..Curve::default()
    }
}

/// Neighbours as one point with the least and the most of them, where there are many.
fn thinned(points: &[(f64, f64)]) -> Vec<[f64; 4]> {
    let one = |points: &[(f64, f64)]| {
        let count = points.len() as f64;
        let mean = points.iter().fold((0.0, 0.0), |sum, point| (sum.0 + point.0 / count, sum.1 + point.1 / count));
        let ends = points.iter().fold((f64::INFINITY, 0.0), |ends: (f64, f64), point| (ends.0.min(point.1), ends.1.max(point.1)));
        [mean.0, mean.1, ends.0, ends.1]
    };
    // Equal ratios, so that small footprints keep their points.
    let ratio = (points.last().map_or(1.0, |last| last.0) / points.first().map_or(1.0, |first| first.0)).log2().max(1.0);
    let bin = |x: f64| (x.log2() * POINTS as f64 / ratio).floor();
    let few = points.len() <= POINTS;
    points.chunk_by(|a, b| !few && bin(a.0) == bin(b.0)).map(one).collect()
}

fn bandwidth(title: &str, points: &[Bandwidth]) -> Curve {
    let changes = fallen(points).iter().map(|fall| fall.0).collect();
    let curve = curve(title, "001, figure 9", "bytes read again and again", points);
    Curve { y: "bytes a second".to_owned(), log_x: true, changes, ..curve }
}

/// The walks with the smallest strides; over them the best cache where one was fitted.
fn chase(title: &str, hierarchy: &Hierarchy) -> Curve {
    let mut model: Vec<[f64; 2]> = vec![];
    for (place, cache) in hierarchy.caches.iter().enumerate() {
        let next = hierarchy.caches.get(place + 1).map_or(f64::INFINITY, |next| next.rise.from);
        let range = cache.rise.from / 2.0..=next.min(2.0 * cache.rise.from);
        let about: Vec<Point> = hierarchy.walks.iter().copied().filter(|point| range.contains(&point.0[0])).collect();
        let Some((fit, shape)) = cache.shapes.first().and_then(|fit| Some((fit, fit.shapes.first()?))) else { continue };
        for point in about.iter().step_by(about.len().div_ceil(64).max(1)) {
            if let Some(walk) = walk(*point) {
                model.push([point.0[0], fit.seconds(misses(shape, &walk.addresses))]);
            }
        }
    }
    let changes = hierarchy.caches.iter().map(|cache| cache.rise.from).collect();
    let curve = curve(title, "001, figure 6", "bytes", &hierarchy.curve());
    Curve { log_x: true, model, changes, ..curve }
}
