//! Textures in memory, sampled as Vulkan's specification describes ("Image operations").

/// What a texture's coordinates mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A line.
    D1,
    /// A plane.
    D2,
    /// A box.
    D3,
    /// Six faces around a direction: +x −x +y −y +z −z, one layer each.
    Cube,
}

/// What lies beyond the edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrap {
    /// The texture again.
    Repeat,
    /// The texture again, every other one mirrored.
    Mirror,
    /// Its edge.
    Clamp,
    /// Nothing: zeros.
    Border,
}

/// How levels are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mip {
    /// The nearest one.
    Nearest,
    /// The two nearest ones are mixed.
    Linear,
}

/// How a texture is sampled. A shader that combines images with samplers of its own is given the image's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampler {
    /// Mixes the nearest texels instead of taking the nearest one.
    pub linear: bool,
    /// How levels are chosen.
    pub mip: Mip,
    /// What lies beyond the edges, for each axis.
    pub wrap: [Wrap; 3],
}

/// Why texels make no texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a texture of {size:?} texels and {layers} layers needs as many texels, at most 67108864 and none of its sizes 0; {texels} were given"
)]
pub struct BadTexture {
    /// Width, height and depth.
    pub size: [u32; 3],
    /// Layers, six a cube.
    pub layers: u32,
    /// How many texels there are.
    pub texels: usize,
}

/// A texture: levels of texels with red, green, blue and alpha. Samplers of integers see the integers nearest to zero.
#[derive(Clone, Debug, PartialEq)]
pub struct Texture {
    /// What its coordinates mean.
    pub kind: Kind,
    /// How it is sampled.
    pub sampler: Sampler,
    /// Layers; six for a cube, a multiple of it for an array of cubes.
    pub layers: u32,
    levels: Vec<Level>,
}

#[derive(Clone, Debug, PartialEq)]
struct Level {
    size: [u32; 3],
    texels: Vec<[f32; 4]>,
}

impl Level {
    fn at(&self, x: u32, y: u32, z: u32, layer: u32) -> [f32; 4] {
        let [w, h, d] = self.size.map(|s| s as usize);
        self.texels[((layer as usize * d + z as usize) * h + y as usize) * w + x as usize]
    }
}

impl Texture {
    /// A texture of one level: rows of `size[0]` texels, `size[1]` rows a slice, `size[2]` slices a layer. Sampled linearly, repeated.
    ///
    /// # Errors
    /// [`BadTexture`].
    pub fn new(kind: Kind, size: [u32; 3], layers: u32, texels: Vec<[f32; 4]>) -> Result<Self, BadTexture> {
        let bad = BadTexture { size, layers, texels: texels.len() };
        let wanted = size.iter().chain([&layers]).try_fold(1u64, |product, s| product.checked_mul(u64::from(*s)));
        let flat = match kind {
            Kind::D1 => size[1] == 1 && size[2] == 1,
            Kind::D2 => size[2] == 1,
            Kind::D3 => layers == 1,
            Kind::Cube => size[2] == 1 && size[0] == size[1] && layers.is_multiple_of(6),
        };
        let fits = wanted.is_some_and(|w| (1..=1 << 26).contains(&w) && w == texels.len() as u64);
        if !flat || !fits {
            return Err(bad);
        }
        let sampler = Sampler { linear: true, mip: Mip::Linear, wrap: [Wrap::Repeat; 3] };
        Ok(Self { kind, sampler, layers, levels: vec![Level { size, texels }] })
    }

    /// The same with other sampling.
    #[must_use]
    pub fn with_sampler(mut self, sampler: Sampler) -> Self {
        self.sampler = sampler;
        self
    }

    /// The same with all its smaller levels: each texel the mean of those that it covers.
    #[must_use]
    pub fn with_levels(mut self) -> Self {
        self.levels.truncate(1);
        while let Some(last) = self.levels.last().filter(|l| l.size.iter().any(|s| *s > 1)) {
            let next = self.halved(last);
            self.levels.push(next);
        }
        self
    }

    /// The same with every channel of every level as 8 bits keep it.
    #[must_use]
    pub fn in_bytes(mut self) -> Self {
        let all = self.levels.iter_mut().flat_map(|level| level.texels.iter_mut().flatten());
        all.for_each(|v| *v = (v.clamp(0.0, 1.0) * 255.0).round() / 255.0);
        self
    }

    fn halved(&self, level: &Level) -> Level {
        let size = level.size.map(|s| (s / 2).max(1));
        let mut texels = Vec::new();
        for layer in 0..self.layers {
            for z in 0..size[2] {
                for y in 0..size[1] {
                    for x in 0..size[0] {
                        let mut sum = [0.0; 4];
                        for corner in 0..8u32 {
                            let at = |i: usize, p: u32| (2 * p + (corner >> i & 1)).min(level.size[i] - 1);
                            let texel = level.at(at(0, x), at(1, y), at(2, z), layer);
                            sum.iter_mut().zip(texel).for_each(|(s, t)| *s += t / 8.0);
                        }
                        texels.push(sum);
                    }
                }
            }
        }
        Level { size, texels }
    }

    /// Width, height and depth of a level; the last level where there is no such one.
    #[must_use]
    pub fn size(&self, level: u32) -> [u32; 3] {
        self.levels[(level as usize).min(self.levels.len() - 1)].size
    }

    /// The texels of a level: rows, slices, layers; none where there is no such level.
    #[must_use]
    pub fn texels(&self, level: u32) -> &[[f32; 4]] {
        self.levels.get(level as usize).map_or(&[], |l| &l.texels)
    }

    /// How many levels there are.
    #[must_use]
    pub fn levels(&self) -> u32 {
        u32::try_from(self.levels.len()).unwrap_or(u32::MAX)
    }

    /// How many texels lie between coordinates and coordinates a step further: the base-2 logarithm, the level to sample.
    pub(crate) fn level_of(&self, dx: [f32; 3], dy: [f32; 3]) -> f32 {
        let size = self.size(0);
        let long = |d: [f32; 3]| (0..3).map(|i| (d[i] * size[i] as f32).powi(2)).sum::<f32>().sqrt();
        libm::log2f(long(dx).max(long(dy)))
    }

    /// One texel. Zeros where there is none.
    pub(crate) fn fetch(&self, at: [i32; 3], layer: i32, level: i32) -> [f32; 4] {
        let Some(level) = usize::try_from(level).ok().and_then(|l| self.levels.get(l)) else { return [0.0; 4] };
        let inside =
            (0..3).all(|i| at[i] >= 0 && at[i].cast_unsigned() < level.size[i]) && layer >= 0 && layer.cast_unsigned() < self.layers;
        if inside { level.at(at[0] as u32, at[1] as u32, at[2] as u32, layer as u32) } else { [0.0; 4] }
    }

    /// A sample at normalised coordinates. `compare` turns every texel into 1 or 0 before they are mixed.
    pub(crate) fn sample(&self, at: [f32; 3], layer: f32, level: f32, offset: [i32; 3], compare: Option<f32>) -> [f32; 4] {
        let last = (self.levels.len() - 1) as f32;
        // A level that is no number is the first one.
        let level = level.max(0.0).min(last);
        let one = |l: f32| self.filter(l as usize, at, layer, offset, compare);
        match self.sampler.mip {
            Mip::Nearest => one((level + 0.5).ceil() - 1.0),
            Mip::Linear if level == level.floor() => one(level),
            Mip::Linear => mix(one(level.floor()), one(level.floor() + 1.0), level - level.floor()),
        }
    }

    fn filter(&self, level: usize, at: [f32; 3], layer: f32, offset: [i32; 3], compare: Option<f32>) -> [f32; 4] {
        let (at, layer) = self.place(at, layer);
        let size = self.levels[level].size;
        let axes = match self.kind {
            Kind::D1 => 1,
            Kind::D2 | Kind::Cube => 2,
            Kind::D3 => 3,
        };
        let texel = |p: [i64; 3]| test(self.wrapped(level, p, layer, axes), compare);
        let mut low = [0i64; 3];
        let mut part = [0.0f32; 3];
        for i in 0..axes {
            let shift = if self.sampler.linear { 0.5 } else { 0.0 };
            let u = at[i] * size[i] as f32 - shift;
            low[i] = texel_at(u) + i64::from(offset[i]);
            part[i] = u - u.floor();
        }
        if !self.sampler.linear {
            return texel(low);
        }
        let corner = |c: i64| texel([low[0] + (c & 1), low[1] + (c >> 1 & 1), low[2] + (c >> 2 & 1)]);
        let line = |c: i64| mix(corner(c), corner(c + 1), part[0]);
        match axes {
            1 => line(0),
            2 => mix(line(0), line(2), part[1]),
            _ => mix(mix(line(0), line(2), part[1]), mix(line(4), line(6), part[1]), part[2]),
        }
    }

    /// One component of the four texels around coordinates, in the order of `textureGather`.
    pub(crate) fn gather(&self, at: [f32; 3], layer: f32, offset: [i32; 3], component: usize, compare: Option<f32>) -> [f32; 4] {
        let (at, layer) = self.place(at, layer);
        let size = self.levels[0].size;
        let low = |i: usize| texel_at(at[i] * size[i] as f32 - 0.5) + i64::from(offset[i]);
        let (x, y) = (low(0), low(1));
        [(x, y + 1), (x + 1, y + 1), (x + 1, y), (x, y)].map(|(x, y)| test(self.wrapped(0, [x, y, 0], layer, 2), compare)[component.min(3)])
    }

    /// Coordinates within a layer, and the layer.
    fn place(&self, at: [f32; 3], layer: f32) -> ([f32; 3], u32) {
        let most = self.layers - 1;
        // Casts from floating point numbers saturate.
        let rounded = layer.round_ties_even() as u32;
        if self.kind == Kind::Cube {
            let (face, [s, t]) = face(at);
            return ([s, t, 0.0], (rounded.saturating_mul(6)).saturating_add(face).min(most));
        }
        (at, rounded.min(most))
    }

    fn wrapped(&self, level: usize, at: [i64; 3], layer: u32, axes: usize) -> [f32; 4] {
        let level = &self.levels[level];
        if self.kind == Kind::Cube {
            return across_faces(level, at, layer);
        }
        let mut p = [0u32; 3];
        for i in 0..axes {
            let n = i64::from(level.size[i]);
            let inside = match self.sampler.wrap[i] {
                Wrap::Repeat => at[i].rem_euclid(n),
                Wrap::Mirror => {
                    let m = at[i].rem_euclid(2 * n);
                    m.min(2 * n - 1 - m)
                }
                Wrap::Clamp => at[i].clamp(0, n - 1),
                Wrap::Border if (0..n).contains(&at[i]) => at[i],
                Wrap::Border => return [0.0; 4],
            };
            p[i] = inside as u32;
        }
        level.at(p[0], p[1], p[2], layer)
    }
}

/// The texel of a coordinate. What is further away than any texture is long, or no number, has no place of its own.
fn texel_at(u: f32) -> i64 {
    u.floor().clamp(-1e12, 1e12) as i64
}

fn test(texel: [f32; 4], compare: Option<f32>) -> [f32; 4] {
    match compare {
        Some(reference) => [if reference <= texel[0] { 1.0 } else { 0.0 }, 0.0, 0.0, 1.0],
        None => texel,
    }
}

fn mix(a: [f32; 4], b: [f32; 4], t: f32) -> [f32; 4] {
    std::array::from_fn(|i| a[i] * (1.0 - t) + b[i] * t)
}

/// The face that a direction meets, and where, in 0 to 1 (Vulkan specification, "Cube map face selection").
pub(crate) fn face([x, y, z]: [f32; 3]) -> (u32, [f32; 2]) {
    let (face, s, t, long) = if z.abs() >= x.abs() && z.abs() >= y.abs() {
        if z < 0.0 { (5, -x, -y, z) } else { (4, x, -y, z) }
    } else if y.abs() >= x.abs() {
        if y < 0.0 { (3, x, -z, y) } else { (2, x, z, y) }
    } else if x < 0.0 {
        (1, z, -y, x)
    } else {
        (0, -z, -y, x)
    };
    (face, [s, t].map(|c| if long == 0.0 { 0.5 } else { 0.5 * (c / long.abs()) + 0.5 }))
}

/// The direction through a face's point, 0 to 1; points beyond the face lie on its plane.
fn direction(face: u32, s: f32, t: f32) -> [f32; 3] {
    let (s, t) = (2.0 * s - 1.0, 2.0 * t - 1.0);
    match face {
        0 => [1.0, -t, -s],
        1 => [-1.0, -t, s],
        2 => [s, 1.0, t],
        3 => [s, -1.0, -t],
        4 => [s, -t, 1.0],
        _ => [-s, -t, -1.0],
    }
}

/// A texel of a cube; beyond a face's edge the nearest one of the next face.
fn across_faces(level: &Level, at: [i64; 3], layer: u32) -> [f32; 4] {
    let n = i64::from(level.size[0]);
    let inside = |v: i64| v.clamp(0, n - 1) as u32;
    if (0..n).contains(&at[0]) && (0..n).contains(&at[1]) {
        return level.at(inside(at[0]), inside(at[1]), 0, layer);
    }
    let point = |v: i64| (v.clamp(-1, n) as f32 + 0.5) / n as f32;
    let (next, place) = face(direction(layer % 6, point(at[0]), point(at[1])));
    let [x, y] = place.map(|v| inside((v * n as f32).floor() as i64));
    level.at(x, y, 0, layer - layer % 6 + next)
}
