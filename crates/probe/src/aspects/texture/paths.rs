//! Where work-items go: random strides, the patterns of paper 000, tiles.

use super::chase::Texel;
use crate::kernels::texels::Picture;
use fastrand::Rng;
use std::collections::HashSet;

/// Strides along one axis and how likely each is (paper 000, section 3.1, step I).
#[derive(Clone, Debug, PartialEq)]
struct Multinomial {
    strides: Vec<u32>,
    /// Likelihoods, which add up to 1.
    parts: Vec<f64>,
    back: bool,
}

impl Multinomial {
    /// The paper's strides, 1 to 4, or others, with likelihoods by chance.
    fn by_chance(rng: &mut Rng) -> Self {
        let strides: Vec<u32> = match rng.u32(0..6) {
            0 => vec![0],
            1 => vec![0, 1],
            2 => vec![0, 1, 2, 5],
            3 => [1, 2, 3, 4].map(|stride| stride << rng.u32(0..4)).to_vec(),
            _ => vec![1, 2, 3, 4],
        };
        // Uniform over all likelihoods: Dirichlet's distribution by exponentials.
        let drawn: Vec<f64> = strides.iter().map(|_| -(1.0 - rng.f64()).ln()).collect();
        let sum: f64 = drawn.iter().sum();
        Self { parts: drawn.iter().map(|part| part / sum.max(f64::MIN_POSITIVE)).collect(), strides, back: rng.bool() }
    }

    fn draw(&self, rng: &mut Rng) -> i64 {
        let mut left = rng.f64();
        let drawn = self.parts.iter().position(|part| {
            left -= part;
            left < 0.0
        });
        let stride = i64::from(self.strides[drawn.unwrap_or(self.strides.len() - 1)]);
        if self.back { -stride } else { stride }
    }

    fn stays(&self) -> bool {
        self.strides == [0]
    }
}

/// Paths of distinct texels by random strides, each with the same likelihoods. Where one leaves the image, or comes to a texel that was
/// visited, it goes on anywhere.
pub(super) fn strides(picture: Picture, paths: usize, texels: usize, rng: &mut Rng) -> Vec<Vec<Texel>> {
    let (mut along_x, mut along_y) = (Multinomial::by_chance(rng), Multinomial::by_chance(rng));
    while along_x.stays() && along_y.stays() {
        (along_x, along_y) = (Multinomial::by_chance(rng), Multinomial::by_chance(rng));
    }
    let mut seen: HashSet<Texel> = HashSet::new();
    let one = |_| {
        let mut path: Vec<Texel> = vec![];
        while path.len() < texels {
            let next = path.last().and_then(|&(x, y)| {
                let to = |at: u32, by: i64, most: u32| u32::try_from(i64::from(at) + by).ok().filter(|&at| at < most);
                Some((to(x, along_x.draw(rng), picture.width)?, to(y, along_y.draw(rng), picture.height)?))
            });
            let mut at = next.unwrap_or_else(|| anywhere(picture, rng));
            while !seen.insert(at) {
                at = anywhere(picture, rng);
            }
            path.push(at);
        }
        path
    };
    (0..paths).map(one).collect()
}

fn anywhere(picture: Picture, rng: &mut Rng) -> Texel {
    (rng.u32(0..picture.width), rng.u32(0..picture.height))
}

/// How each work-item goes through its own part (paper 000, figure 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pattern {
    /// Down a column of its own, beside those of its neighbours.
    Column,
    /// Along a row.
    Row,
    /// Along so many rows together, column by column.
    Block(u32),
}

impl Pattern {
    pub(super) const ALL: [Self; 5] = [Self::Column, Self::Row, Self::Block(2), Self::Block(4), Self::Block(8)];

    pub(super) fn word(self) -> String {
        match self {
            Self::Column => "column".into(),
            Self::Row => "row".into(),
            Self::Block(rows) => format!("block{rows}"),
        }
    }

    /// s of paper 000: steps of a work-item before it comes back to a line.
    pub(super) fn distance(self) -> u32 {
        match self {
            Self::Column => 0,
            Self::Row => 1,
            Self::Block(rows) => rows,
        }
    }

    /// Texels of an image for so many work-items.
    pub(super) fn extent(self, lanes: u32, texels: u32) -> (u32, u32) {
        match self {
            Self::Column => (lanes, texels),
            Self::Row => (texels, lanes),
            Self::Block(rows) => (texels / rows, lanes * rows),
        }
    }

    /// The texels of work-item `lane`, of which there are so many.
    pub(super) fn path(self, lane: u32, texels: u32) -> Vec<Texel> {
        let at = |n: u32| match self {
            Self::Column => (lane, n),
            Self::Row => (n, lane),
            Self::Block(rows) => (n / rows, lane * rows + n % rows),
        };
        (0..texels).map(at).collect()
    }
}

/// Paths of the work-items of a tile, so many in a row, which moves as a whole to places by chance.
pub(super) fn tiles(picture: Picture, across: u32, lanes: u32, texels: usize, rng: &mut Rng) -> Vec<Vec<Texel>> {
    let down = lanes.div_ceil(across);
    let (columns, rows) = (picture.width / across, picture.height / down);
    let mut places: Vec<Texel> = (0..columns * rows).map(|n| (n % columns * across, n / columns * down)).collect();
    rng.shuffle(&mut places);
    places.truncate(texels);
    (0..lanes).map(|lane| places.iter().map(|&(x, y)| (x + lane % across, y + lane / across)).collect()).collect()
}

/// Places of a lattice in an order by chance: so many along x and along y, texels apart.
pub(super) fn lattice(counts: Texel, apart: Texel, rng: &mut Rng) -> Vec<Texel> {
    let mut places: Vec<Texel> = (0..counts.0 * counts.1).map(|n| (n % counts.0 * apart.0, n / counts.0 * apart.1)).collect();
    rng.shuffle(&mut places);
    places
}

/// Places far from each other in an order by chance, and behind each one that is near.
pub(super) fn pairs(picture: Picture, apart: u32, near: Texel, rng: &mut Rng) -> Vec<Texel> {
    let (columns, rows) = (picture.width / apart, picture.height / apart);
    let places = lattice((columns, rows), (apart, apart), rng);
    if near == (0, 0) { places } else { places.into_iter().flat_map(|(x, y)| [(x, y), (x + near.0, y + near.1)]).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpsight_ir::ImageFormat;

    const PICTURE: Picture = Picture { format: ImageFormat::Rgba32F, width: 256, height: 128 };

    #[test]
    fn paths_visit_no_texel_twice_and_are_made_again() {
        for seed in 0..40 {
            let paths = strides(PICTURE, 3, 200, &mut Rng::with_seed(seed));
            let all: HashSet<Texel> = paths.iter().flatten().copied().collect();
            assert_eq!(all.len(), 600);
            assert!(all.iter().all(|(x, y)| *x < PICTURE.width && *y < PICTURE.height));
            assert_eq!(paths, strides(PICTURE, 3, 200, &mut Rng::with_seed(seed)));
        }
    }

    #[test]
    fn strides_are_as_likely_as_drawn() {
        let mut rng = Rng::with_seed(5);
        let drawn = Multinomial { strides: vec![1, 2, 3, 4], parts: vec![0.2, 0.3, 0.4, 0.1], back: true };
        let mean = (0..20_000).map(|_| drawn.draw(&mut rng) as f64).sum::<f64>() / 20_000.0;
        // 0.2 + 0.6 + 1.2 + 0.4, backwards.
        assert!((mean + 2.4).abs() < 0.03, "{mean}");
        let chance = Multinomial::by_chance(&mut rng);
        assert!((chance.parts.iter().sum::<f64>() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn patterns_fill_their_image() {
        for pattern in Pattern::ALL {
            let (width, height) = pattern.extent(5, 48);
            let mut all: Vec<Texel> = (0..5).flat_map(|lane| pattern.path(lane, 48)).collect();
            all.sort_unstable();
            let whole: Vec<Texel> = (0..width).flat_map(|x| (0..height).map(move |y| (x, y))).collect();
            assert_eq!(all, whole, "{pattern:?}");
        }
        assert_eq!(Pattern::Block(2).path(1, 4), [(0, 2), (0, 3), (1, 2), (1, 3)]);
    }

    #[test]
    fn lanes_of_a_tile_stay_together() {
        let paths = tiles(PICTURE, 8, 16, 30, &mut Rng::with_seed(1));
        assert_eq!((paths.len(), paths[0].len()), (16, 30));
        for (own, first) in paths[9].iter().zip(&paths[0]) {
            assert_eq!((own.0 - first.0, own.1 - first.1), (1, 1));
        }
    }
}
