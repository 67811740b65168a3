//! Texture reads: dependent ones along random strides, the capacity of the cache, and patterns that tell how texels lie in memory.
//!
//! About 380 measurements with 9 Programs. A chase takes 1 to 5 ms, a pass over tiles about 1 ms, and the host makes images of up to
//! 16 MiB: 10 to 15 s.

use crate::kernels::Occupancy;
use crate::kernels::texels::{Picture, TexelChase};
use crate::kernels::tiles::{Order, Tile, Tiles};
use crate::kernels::{int, word};
use crate::phases::room::Room;
use crate::phases::turns;
use crate::{Context, Measurement, Needs, Parameter, Phase, Plan, Scale};
use std::collections::HashSet;
use warpsight_ir::ImageFormat;

const FORMATS: [ImageFormat; 3] = [ImageFormat::Rgba32F, ImageFormat::Rgba16F, ImageFormat::Rgba8Unorm];

/// The phases of this module.
pub(super) fn phases() -> Vec<Phase> {
    vec![Phase {
        name: "texture",
        purpose: "latency of dependent texel reads, capacity of the texture cache, and tiles whose time tells the layout of images",
        needs: Needs::Programs,
        share: 1.0,
        plan,
    }]
}

/// Probabilities of the strides 1, 2, 3 and 4.
type Strides = [f64; 4];

/// One measurement, before its job is made.
#[derive(Clone, Copy)]
enum Spec {
    /// From a texel to one that lies a random stride further, along the axes named.
    Walk { picture: Picture, strides: Strides, axes: &'static str, texels: u32 },
    /// Through all texels in random order.
    Capacity { picture: Picture },
    /// To a place not near to any before, and from there to a neighbour: fast where both lie in one line.
    Pair { picture: Picture, dx: u32, dy: u32, block: u32 },
    /// All warps read tiles of a region that the cache holds.
    Tiles(Tiles),
}

fn plan(context: &Context) -> Plan {
    let room = Room::of(context);
    let specs = match context.scale {
        Scale::Full | Scale::Quick => full(&room),
        Scale::Tiny => tiny(&room),
    };
    let largest = context.device.limits.image_2d.unwrap_or((16384, 16384));
    let fits = move |picture: Picture| picture.width <= largest.0 && picture.height <= largest.1;
    let seed = context.seed;
    Plan::list(specs.into_iter().filter(move |spec| fits(spec.picture())).map(move |spec| spec.measurement(seed)))
}

impl Spec {
    fn picture(&self) -> Picture {
        match self {
            Self::Walk { picture, .. } | Self::Capacity { picture } | Self::Pair { picture, .. } => *picture,
            Self::Tiles(tiles) => tiles.picture,
        }
    }

    fn measurement(&self, seed: u64) -> Measurement {
        let mut rng = fastrand::Rng::with_seed(seed);
        let seed_word = word(&seed.to_string());
        // Walks end one step before their start, so that one that never left it shows.
        let chase = |picture, path: Vec<(u32, u32)>, steps: u32, name: String, mut params: Vec<(&'static str, Parameter)>| {
            // With it and the parameters, the path can be made again.
            params.push(("path_seed", seed_word.clone()));
            TexelChase { picture, path, steps, name, params }.measurement()
        };
        match *self {
            Self::Walk { picture, strides, axes, texels } => {
                let path = walk(picture, strides, axes, texels, &mut rng);
                let mut params = vec![("pattern", word("walk")), ("axes", word(axes))];
                params.extend(["p1", "p2", "p3", "p4"].into_iter().zip(strides.map(Parameter::Float)));
                chase(picture, path, texels - 1, format!("strides {strides:?} along {axes}"), params)
            }
            Self::Capacity { picture } => {
                let mut path: Vec<(u32, u32)> = (0..picture.height).flat_map(|y| (0..picture.width).map(move |x| (x, y))).collect();
                rng.shuffle(&mut path);
                // What fits is visited more than once, so that it is in.
                let steps = (2 * path.len()).clamp(16384, 65536) as u32 - 1;
                chase(picture, path, steps, "everywhere".into(), vec![("pattern", word("everywhere"))])
            }
            Self::Pair { picture, dx, dy, block } => {
                let mut places: Vec<(u32, u32)> =
                    (0..picture.height / block).flat_map(|y| (0..picture.width / block).map(move |x| (x * block, y * block))).collect();
                rng.shuffle(&mut places);
                let neighbour = |(x, y): (u32, u32)| (x + dx, y + dy);
                let path: Vec<_> =
                    if (dx, dy) == (0, 0) { places } else { places.into_iter().flat_map(|at| [at, neighbour(at)]).collect() };
                let steps = path.len() as u32 - 1;
                let params = vec![("pattern", word("pair")), ("dx", int(dx)), ("dy", int(dy)), ("block", int(block))];
                chase(picture, path, steps, format!("pair {dx} {dy}"), params)
            }
            Self::Tiles(tiles) => tiles.measurement(seed),
        }
    }
}

/// A path of distinct texels: each lies a random stride beyond the one before, around the image's edge where it must, and where that
/// texel was visited already, the next one along the first axis that was not.
fn walk(picture: Picture, strides: Strides, axes: &str, texels: u32, rng: &mut fastrand::Rng) -> Vec<(u32, u32)> {
    let Picture { width, height, .. } = picture;
    let mut stride = || {
        let mut left = rng.f64() * strides.iter().sum::<f64>();
        let longest = strides.iter().rposition(|&p| p > 0.0).unwrap_or(0);
        strides
            .iter()
            .position(|p| {
                left -= p;
                left < 0.0
            })
            .unwrap_or(longest) as u32
            + 1
    };
    let (mut x, mut y) = (0, 0);
    let (mut seen, mut path) = (HashSet::from([(0, 0)]), vec![(0, 0)]);
    let count = u64::from(texels).min(picture.texels()) as usize;
    while path.len() < count {
        let (by_x, by_y) = (if axes.contains('x') { stride() } else { 0 }, if axes.contains('y') { stride() } else { 0 });
        // Along one axis, the walk goes on in the next row or column.
        let (around_x, around_y) = ((x + by_x) / width, (y + by_y) / height);
        x = (x + by_x + if axes == "y" { around_y } else { 0 }) % width;
        y = (y + by_y + if axes == "x" { around_x } else { 0 }) % height;
        while !seen.insert((x, y)) {
            if axes == "y" {
                y = (y + 1) % height;
                x = (x + u32::from(y == 0)) % width;
            } else {
                x = (x + 1) % width;
                y = (y + u32::from(x == 0)) % height;
            }
        }
        path.push((x, y));
    }
    path
}

fn full(room: &Room) -> Vec<Spec> {
    turns([walks(), capacities(), pairs(), tiles(room)], 10).collect()
}

fn walks() -> Vec<Spec> {
    // The first is what paper 000 (Guan et al., TMModel, ICS 2025, section 3.1) names; then each stride alone, and mixtures.
    let mut distributions = vec![[0.2, 0.3, 0.4, 0.1], [0.25; 4], [0.7, 0.1, 0.1, 0.1], [0.1, 0.1, 0.1, 0.7]];
    distributions.extend([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]]);
    let mut walks = Vec::new();
    for strides in distributions {
        for format in [ImageFormat::Rgba32F, ImageFormat::Rgba16F] {
            let picture = Picture { format, width: 512, height: 512 };
            walks.extend(["xy", "x", "y"].map(|axes| Spec::Walk { picture, strides, axes, texels: 16384 }));
        }
    }
    walks
}

fn capacities() -> Vec<Spec> {
    let picture = |bytes: u32, format: ImageFormat| {
        let texels = bytes / format.bytes();
        let width = 1 << texels.ilog2().div_ceil(2);
        Picture { format, width, height: texels / width }
    };
    let sizes = (12..=24).flat_map(|power| FORMATS.map(|format| picture(1 << power, format)));
    sizes.filter(|picture| picture.width <= picture.reach()).map(|picture| Spec::Capacity { picture }).collect()
}

fn pairs() -> Vec<Spec> {
    let mut pairs = Vec::new();
    for distance in [(0, 0), (1, 0), (0, 1), (2, 0), (0, 2), (1, 1)] {
        pairs.extend(FORMATS.map(|format| (format, distance)));
    }
    for format in FORMATS {
        for dx in [0, 1, 2, 3, 4, 8, 16] {
            pairs.extend([0, 1, 2, 3, 4, 8, 16].map(|dy| (format, (dx, dy))));
        }
    }
    let mut seen = HashSet::new();
    pairs.retain(|pair| seen.insert(*pair));
    let spec = |(format, (dx, dy))| {
        let (edge, block) = if format == ImageFormat::Rgba8Unorm { (256, 32) } else { (512, 32) };
        Spec::Pair { picture: Picture { format, width: edge, height: edge }, dx, dy, block }
    };
    pairs.into_iter().map(spec).collect()
}

/// Tiles of 32 texels, in the order of what they tell.
const TILES: [Tile; 10] = [
    Tile { width: 32, order: Order::Rows },
    Tile { width: 8, order: Order::Morton },
    Tile { width: 1, order: Order::Rows },
    Tile { width: 8, order: Order::Rows },
    Tile { width: 8, order: Order::Squares(2) },
    Tile { width: 8, order: Order::Squares(4) },
    Tile { width: 16, order: Order::Rows },
    Tile { width: 4, order: Order::Rows },
    Tile { width: 2, order: Order::Rows },
    Tile { width: 4, order: Order::Morton },
];

fn tiles(room: &Room) -> Vec<Spec> {
    let spec = |format, width, tile, warps| {
        let picture = Picture { format, width, height: 128 };
        Some(Tiles { picture, region: (64, 128), tile, occupancy: room.warps(warps)?, turns: 512 })
    };
    let mut specs = Vec::new();
    for width in [64, 1024, 256, 4096] {
        for tile in TILES {
            specs.extend(FORMATS.into_iter().filter_map(|format| spec(format, width, tile, room.fullest())));
        }
    }
    for warps in room.ladder() {
        for tile in &TILES[..2] {
            specs.extend(FORMATS.into_iter().filter_map(|format| spec(format, 64, *tile, warps)));
        }
    }
    let mut seen = HashSet::new();
    specs.retain(|tiles| tiles.fits() && seen.insert(format!("{tiles:?}")));
    specs.into_iter().map(Spec::Tiles).collect()
}

fn tiny(room: &Room) -> Vec<Spec> {
    let mut specs = Vec::new();
    for format in FORMATS {
        let picture = Picture { format, width: 32, height: 32 };
        specs.extend(["xy", "x", "y"].map(|axes| Spec::Walk { picture, strides: [0.2, 0.3, 0.4, 0.1], axes, texels: 150 }));
        specs.extend([(0, 0), (1, 0), (2, 1)].map(|(dx, dy)| Spec::Pair { picture, dx, dy, block: 8 }));
        let occupancy = Occupancy { threads: 64, per_unit: 1, units: room.units.min(2) };
        let tile = |tile| Tiles { picture: Picture { format, width: 48, height: 128 }, region: (32, 128), tile, occupancy, turns: 6 };
        specs.extend(TILES[..5].iter().map(|shape| Spec::Tiles(tile(*shape))));
    }
    specs.push(Spec::Capacity { picture: Picture { format: ImageFormat::Rgba32F, width: 16, height: 16 } });
    specs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walks_visit_no_texel_twice_and_take_the_strides_asked_for() {
        let picture = Picture { format: ImageFormat::Rgba32F, width: 64, height: 64 };
        for (axes, horizontal, vertical) in [("xy", 2.4, 2.4), ("x", 2.4, 0.0), ("y", 0.0, 2.4)] {
            let path = walk(picture, [0.2, 0.3, 0.4, 0.1], axes, 400, &mut fastrand::Rng::with_seed(3));
            assert_eq!(path.iter().collect::<HashSet<_>>().len(), 400);
            let steps: Vec<_> =
                path.windows(2).map(|pair| ((pair[1].0 + 64 - pair[0].0) % 64, (pair[1].1 + 64 - pair[0].1) % 64)).collect();
            let mean = |of: &dyn Fn(&(u32, u32)) -> u32| steps.iter().map(|step| f64::from(of(step))).sum::<f64>() / 399.0;
            // Mean stride 0.2 + 0.6 + 1.2 + 0.4 = 2.4; a visited texel or the next row moves it a little.
            assert!((mean(&|step| step.0) - horizontal).abs() < 0.5, "{axes}: {}", mean(&|step| step.0));
            assert!((mean(&|step| step.1) - vertical).abs() < 0.5, "{axes}: {}", mean(&|step| step.1));
        }
    }
}
