//! Stars: the mean of a point and its neighbours along the axes.

use super::Later;
use super::grid::{Body, Grid, Kernel, Loads};
use super::shapes::{Shape, blocks, folded, once, plain, spread};
use crate::{Context, Scale};

/// The point, then its neighbours at distance 1 along x, y, z (ahead, behind), then at distance 2, and so on: the order of the
/// paper's definition, which is the order of the loads.
fn offsets(rank: usize, range: i64) -> Vec<[i64; 3]> {
    let neighbours =
        (1..=range).flat_map(|d| (0..rank).flat_map(move |axis| [d, -d].map(|d| [0, 1, 2].map(|a| if a == axis { d } else { 0 }))));
    [[0; 3]].into_iter().chain(neighbours).collect()
}

/// B = mean of A over the star. One operation a point of the star: additions, and one multiplication.
fn star(name: &'static str, grid: Grid, range: i64) -> Kernel {
    let offsets = offsets(grid.rank, range);
    let n = offsets.len() as f64;
    let weight = 1.0 / n;
    let of_reference = offsets.clone();
    let point = move |body: &mut Body| {
        let values: Vec<String> = offsets.iter().map(|&offset| body.load(0, offset)).collect();
        body.store(0, &format!("({}) * {weight:?}d", values.join(" + ")));
    };
    Kernel {
        name,
        grid,
        reads: vec!["A".into()],
        writes: vec!["B".into()],
        flops: n,
        point: Box::new(point),
        reference: Box::new(move |load: &Loads| vec![of_reference.iter().map(|&offset| load(0, offset)).sum::<f64>() * weight]),
        // Values are below 1, so that each of n additions is off by at most n·2⁻⁵³, on both sides; the weight brings n back to 1.
        tolerance: n * f64::EPSILON,
        samples: 256,
    }
}

/// 25 points of range 4. The domain is as wide as the field: neighbours along x beyond its end are those of the next row.
pub(super) fn star25(context: &Context) -> Vec<Later> {
    let (dims, shapes) = match context.scale {
        Scale::Full | Scale::Quick => ([640, 512, 512], full25()),
        Scale::Tiny => ([24, 10, 12], tiny()),
    };
    star("star3d25", Grid::new(dims, dims, 4, [4; 3]), 4).over(shapes, context)
}

fn full25() -> Vec<Shape> {
    let known = [[32, 4, 8], [16, 2, 32], [1024, 1, 1], [64, 4, 4], [16, 8, 8], [256, 2, 2], [512, 2, 1], [8, 16, 8], [1, 64, 16]];
    once(vec![
        plain(known.into()),
        folded(vec![[32, 2, 8], [64, 4, 2]]),
        plain(spread(blocks(1024, 1))),
        spread(folded(blocks(512, 32))),
        plain(spread(blocks(512, 1))),
        plain(spread(blocks(256, 16))),
    ])
}

/// Shapes that leave a remainder along every axis, and those that do not.
fn tiny() -> Vec<Shape> {
    let odd = [[8, 2, 4], [5, 3, 2], [1, 7, 3], [33, 1, 1]];
    once(vec![plain(odd.into()), folded(vec![[8, 2, 2]])])
}

/// 7 points, 510³ in a field of 512³.
pub(super) fn star7(context: &Context) -> Vec<Later> {
    let (dims, shapes) = match context.scale {
        Scale::Full | Scale::Quick => ([512, 512, 512], full7()),
        Scale::Tiny => ([19, 12, 10], tiny()),
    };
    star("star3d7", Grid::new(dims, dims.map(|n| n - 2), 1, [1; 3]), 1).over(shapes, context)
}

fn full7() -> Vec<Shape> {
    let known = [
        [32, 8, 4],
        [256, 1, 1],
        [64, 4, 4],
        [1024, 1, 1],
        [256, 4, 1],
        [32, 32, 1],
        [16, 8, 8],
        [512, 2, 1],
        [256, 1, 4],
        [128, 8, 1],
        [128, 4, 2],
        [64, 16, 1],
        [8, 16, 8],
        [4, 16, 16],
        [1, 64, 16],
    ];
    let folds = folded(vec![[32, 4, 4], [64, 4, 2], [128, 2, 2], [256, 2, 1]]);
    once(vec![plain(known.into()), folds, plain(spread(blocks(256, 32)))])
}

/// 5 points in two dimensions, 15000² in a field of 15002².
pub(super) fn star5(context: &Context) -> Vec<Later> {
    let (dims, shapes) = match context.scale {
        Scale::Full | Scale::Quick => ([15_002, 15_002, 1], full5()),
        Scale::Tiny => ([34, 19, 1], vec![Shape::plain([8, 4, 1]), Shape::plain([7, 3, 1])]),
    };
    star("star2d5", Grid::new(dims, [dims[0] - 2, dims[1] - 2, 1], 1, [1, 1, 0]), 1).over(shapes, context)
}

fn full5() -> Vec<Shape> {
    let known = [[32, 8], [256, 1], [512, 1], [256, 2], [32, 32]].map(|[x, y]| [x, y, 1]);
    let flat = blocks(1024, 1).into_iter().filter(|block| block[2] == 1).collect();
    once(vec![plain(known.into()), plain(spread(flat))])
}
