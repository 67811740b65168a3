//! Image instructions on a quad.

use super::run::Interpreter;
use super::step::{ALL, Ask, Lod, TextureStep};
use super::texture::{Kind, Mip, Texture, face};

/// What one lane wants.
#[derive(Clone, Copy, Default)]
struct Want {
    at: [f32; 3],
    layer: f32,
    reference: Option<f32>,
}

impl Interpreter<'_> {
    pub(super) fn texture(&mut self, step: &TextureStep) {
        let mut wants = [Want::default(); 4];
        if matches!(step.ask, Ask::Sample | Ask::Gather(_) | Ask::Lod) {
            wants = std::array::from_fn(|lane| self.want(step, lane));
        }
        let mut out = [[0u32; 4]; 4];
        let mut rough = self.texture_rough(step);
        for (lane, out) in out.iter_mut().enumerate() {
            if self.mask >> lane & 1 == 0 {
                continue;
            }
            let handle = self.word(step.image, lane) as usize;
            let Some(texture) = self.textures.get(handle).cloned() else { continue };
            let (values, inexact) = self.answer(step, &texture, &wants, lane);
            if inexact {
                rough |= 1 << lane;
            }
            *out = values;
        }
        for i in 0..step.n.min(4) {
            self.put(step.dst + i, out.map(|lane| lane[i as usize]), rough);
        }
    }

    /// Lanes whose operands are rough; an implicit level depends on all four.
    fn texture_rough(&self, step: &TextureStep) -> u8 {
        let mut cells: Vec<u32> = vec![step.image];
        if !matches!(step.ask, Ask::Size | Ask::Levels | Ask::Samples) {
            cells.extend(step.coordinate..step.coordinate + step.axes + u32::from(step.arrayed));
        }
        cells.extend([step.projector, step.reference].into_iter().flatten());
        match step.lod {
            Lod::Explicit(at) => cells.push(at),
            Lod::Gradient(x, y) => cells.extend((x..x + step.axes).chain(y..y + step.axes)),
            Lod::Implicit { bias } => cells.extend(bias),
        }
        cells.iter().fold(0, |rough, c| rough | self.rough[*c as usize])
    }

    fn want(&self, step: &TextureStep, lane: usize) -> Want {
        let float = |at: u32| f32::from_bits(self.word(at, lane));
        let mut want = Want { reference: step.reference.map(float), ..Want::default() };
        let divisor = step.projector.map(float);
        for i in 0..step.axes {
            want.at[i as usize] = divisor.map_or(float(step.coordinate + i), |q| float(step.coordinate + i) / q);
        }
        if let (Some(q), Some(reference)) = (divisor, &mut want.reference) {
            *reference /= q;
        }
        if step.arrayed {
            want.layer = float(step.coordinate + step.axes);
        }
        want
    }

    /// The value in one lane, and whether its last bits are open.
    fn answer(&self, step: &TextureStep, texture: &Texture, wants: &[Want; 4], lane: usize) -> ([u32; 4], bool) {
        let integer = |at: u32| self.word(at, lane).cast_signed();
        let offset: [i32; 3] = match step.offset {
            Some(at) => std::array::from_fn(|i| if (i as u32) < step.axes { integer(at + i as u32) } else { 0 }),
            None => [0; 3],
        };
        let want = wants[lane];
        let many = texture.levels() > 1;
        let value = match step.ask {
            Ask::Size => {
                let level = if let Lod::Explicit(at) = step.lod { self.word(at, lane) } else { 0 };
                let layers = if texture.kind == Kind::Cube { texture.layers / 6 } else { texture.layers };
                let plain = if texture.kind == Kind::Cube { 2 } else { step.axes as usize };
                let mut size = [0; 4];
                size[..plain].copy_from_slice(&texture.size(level)[..plain]);
                size[plain] = layers;
                return (size, false);
            }
            Ask::Levels => return ([texture.levels(), 0, 0, 0], false),
            Ask::Samples => return ([1, 0, 0, 0], false),
            Ask::Lod => {
                let level = self.level(step, texture, wants, lane);
                let used = level.max(0.0).min((texture.levels() - 1) as f32);
                return ([used.to_bits(), level.to_bits(), 0, 0], true);
            }
            Ask::Fetch => {
                let at = std::array::from_fn(|i| {
                    if (i as u32) < step.axes { integer(step.coordinate + i as u32).saturating_add(offset[i]) } else { 0 }
                });
                let layer = if step.arrayed { integer(step.coordinate + step.axes) } else { 0 };
                let level = if let Lod::Explicit(at) = step.lod { integer(at) } else { 0 };
                (texture.fetch(at, layer, level), false)
            }
            Ask::Gather(component) => {
                let component = component.map_or(0, |at| self.word(at, lane) as usize);
                (texture.gather(want.at, want.layer, offset, component, want.reference), false)
            }
            Ask::Sample => {
                let level = if many { self.level(step, texture, wants, lane) } else { 0.0 };
                let open = texture.sampler.linear || many && (texture.sampler.mip == Mip::Linear || !matches!(step.lod, Lod::Explicit(_)));
                (texture.sample(want.at, want.layer, level, offset, want.reference), open)
            }
        };
        let (texel, open) = value;
        let word = |v: f32| if step.integer { (v as i64) as u32 } else { v.to_bits() };
        (texel.map(word), open)
    }

    fn level(&self, step: &TextureStep, texture: &Texture, wants: &[Want; 4], lane: usize) -> f32 {
        let float = |at: u32| f32::from_bits(self.word(at, lane));
        match step.lod {
            Lod::Explicit(at) => float(at),
            Lod::Gradient(x, y) => {
                let read = |at: u32| std::array::from_fn(|i| if (i as u32) < step.axes { float(at + i as u32) } else { 0.0 });
                texture.level_of(scaled(texture.kind, wants[lane].at, read(x)), scaled(texture.kind, wants[lane].at, read(y)))
            }
            Lod::Implicit { bias } => {
                let between = |a: usize, b: usize| std::array::from_fn(|i| wants[b].at[i] - wants[a].at[i]);
                let (dx, dy) = (between(lane & 2, lane | 1), between(lane & 1, lane | 2));
                let at = wants[lane].at;
                texture.level_of(scaled(texture.kind, at, dx), scaled(texture.kind, at, dy)) + bias.map_or(0.0, float)
            }
        }
    }

    /// Whether all four lanes execute, so that differences between them mean something.
    pub(super) fn whole(&self) -> bool {
        self.mask == ALL
    }
}

/// Steps of a direction as steps on the face that it meets; other coordinates stay as they are.
fn scaled(kind: Kind, at: [f32; 3], step: [f32; 3]) -> [f32; 3] {
    if kind != Kind::Cube {
        return step;
    }
    let there: [f32; 3] = std::array::from_fn(|i| at[i] + step[i]);
    let (here, place) = face(at);
    let (next, other) = face(there);
    // Over an edge the step is that of the direction itself.
    if here == next { [other[0] - place[0], other[1] - place[1], 0.0] } else { step.map(|s| 0.5 * s) }
}
