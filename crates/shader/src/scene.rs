//! What a frame is drawn with: size, uniforms by name, textures.
//!
//! A shader alone does not say what it is given. A [`Scene`] does, by names and defaults, for the interpreter and for devices alike:
//! both get the very bytes and texels that [`Scene::inputs`] makes. What it had to assume is said.

mod noise;

use super::interpret::{BadTexture, Inputs, Kind, Texture, Varying};
use super::module::spirv::{Dim, StorageClass};
use super::module::{Block, ComponentType, Image, Member, Module, ModuleError, Type};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use warpsight_ir::near::did_you_mean;

/// Bytes of a storage buffer whose length the shader leaves open.
const OPEN_BUFFER: usize = 1 << 16;
/// The most textures that all descriptors of a module may have together, and layers of an array.
const MAX_TEXTURES: usize = 64;
const LAYERS: u32 = 4;
/// The largest side of a texture: 64 MiB of texels.
const MAX_SIDE: u32 = 2048;

/// What a frame is drawn with.
#[derive(Clone, Debug)]
pub struct Scene {
    /// Width and height in pixels.
    pub frame: [u32; 2],
    /// Values of uniforms by the name of the block's member: as many as it has components, or one for all of them. What is not
    /// here has a default.
    pub uniforms: BTreeMap<String, Vec<f64>>,
    /// The side of textures in texels; 3D textures have an eighth of it, cubes a quarter.
    pub texture: u32,
    /// The textures made so far; scenes that share it make each once.
    pub noise: Noise,
}

/// Textures that were made, by kind, size and layers, and seed.
#[derive(Clone, Debug, Default)]
pub struct Noise(Arc<Mutex<Made>>);

type Made = BTreeMap<(u8, u32, u32), Arc<Texture>>;

impl Default for Scene {
    fn default() -> Self {
        Self { frame: Self::FRAME, uniforms: BTreeMap::new(), texture: Self::TEXTURE, noise: Noise::default() }
    }
}

/// What a scene had to assume.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "of")]
pub enum Assumption {
    /// A uniform has a default.
    Uniform {
        /// Its name.
        name: String,
        /// Its components; the first few of many.
        values: Vec<f64>,
    },
    /// A texture is noise.
    Texture {
        /// Its name.
        name: String,
        /// Width, height and depth in texels.
        size: [u32; 3],
        /// Its layers; six for a cube.
        layers: u32,
    },
    /// A storage buffer is zeros.
    Buffer {
        /// Its name.
        name: String,
        /// Its length.
        bytes: usize,
    },
    /// Inputs from the vertex stage are `(x / width, y / height, 0, 1)`.
    Varyings,
}

impl fmt::Display for Assumption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uniform { name, values } => {
                let values: Vec<String> = values.iter().map(f64::to_string).collect();
                write!(f, "{name} = {}", values.join(" "))
            }
            Self::Texture { name, size: [w, h, d], layers } => match layers {
                1 if *d > 1 => write!(f, "{name}: noise, {w}×{h}×{d} texels"),
                1 => write!(f, "{name}: noise, {w}×{h} texels"),
                _ => write!(f, "{name}: noise, {layers} layers of {w}×{h} texels"),
            },
            Self::Buffer { name, bytes } => write!(f, "{name}: {bytes} bytes of zeros"),
            Self::Varyings => write!(f, "inputs of the vertex stage = (x / width, y / height, 0, 1)"),
        }
    }
}

/// Why a scene and a shader do not fit.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SceneError {
    /// The module cannot be read.
    #[error(transparent)]
    Module(#[from] ModuleError),
    /// The frame is empty or too large.
    #[error("a frame of {width}×{height} pixels; both sides are from 1 to 32768")]
    Frame {
        /// Width in pixels.
        width: u32,
        /// Height in pixels.
        height: u32,
    },
    /// Textures of this size are not made.
    #[error("textures of {0} texels a side; from 8 to {MAX_SIDE}")]
    Side(u32),
    /// A uniform has another number of components.
    #[error("uniform `{name}` has {components} components, {given} values were given")]
    Components {
        /// Its name.
        name: String,
        /// How many it has.
        components: usize,
        /// How many were given.
        given: usize,
    },
    /// A value is not a number that the uniform can hold.
    #[error("uniform `{name}` cannot be {value}")]
    Value {
        /// Its name.
        name: String,
        /// What was given.
        value: f64,
    },
    /// No such uniform.
    #[error("the shader has no uniform `{name}`; it has {}", if has.is_empty() { "none".to_owned() } else { has.join(", ") + &did_you_mean(name, has.iter().map(String::as_str)) })]
    NoUniform {
        /// What was given.
        name: String,
        /// What there is.
        has: Vec<String>,
    },
    /// A descriptor that no texture is made for.
    #[error("`{name}` is {what}, which no scene has")]
    Unsupported {
        /// The variable.
        name: String,
        /// What it is.
        what: &'static str,
    },
    /// Texels make no texture.
    #[error(transparent)]
    Texture(#[from] BadTexture),
}

impl Scene {
    /// The frame where no other is asked for.
    pub const FRAME: [u32; 2] = [512, 384];
    /// The side of textures where no other is asked for.
    pub const TEXTURE: u32 = 256;

    /// What a module is drawn with, and what had to be assumed.
    ///
    /// Blocks at other members than those in `uniforms` have defaults, textures are smooth noise, storage buffers are
    /// zeros, varyings span the frame from 0 to 1. Uniforms of the scene that the module has not are left alone: a scene may serve
    /// many modules ([`Scene::check`] is for one).
    ///
    /// # Errors
    /// See [`SceneError`].
    pub fn inputs(&self, module: &Module) -> Result<(Inputs, Vec<Assumption>), SceneError> {
        let [width, height] = self.frame;
        if self.frame.iter().any(|s| !(1..=32768).contains(s)) {
            return Err(SceneError::Frame { width, height });
        }
        if !(8..=MAX_SIDE).contains(&self.texture) {
            return Err(SceneError::Side(self.texture));
        }
        let mut inputs = Inputs::of_frame(width, height);
        let mut assumed = Vec::new();
        for block in module.blocks()? {
            let bytes = self.block(module, &block, &mut assumed)?;
            match block.variable.binding {
                Some(at) => drop(inputs.blocks.insert(at, bytes)),
                None => inputs.push = bytes,
            }
        }
        for (at, variable) in module.bindings(StorageClass::UniformConstant) {
            let name = module.name(variable.id).unwrap_or("a texture");
            let (ty, count) = match module.ty(variable.ty)? {
                Type::Array { of, len, .. } => (module.ty(*of)?, *len as usize),
                ty => (ty, 1),
            };
            if let Type::Image(image) = ty {
                inputs.textures.insert(at, self.textures(name, *image, at.1, count, &mut assumed)?);
            }
        }
        let varying = |v: &&super::module::Variable| v.class == StorageClass::Input && v.builtin.is_none() && v.location.is_some();
        if module.variables.iter().any(|v| varying(&v)) {
            assumed.push(Assumption::Varyings);
            let plane =
                Varying { start: [0.0, 0.0, 0.0, 1.0], dx: [1.0 / width as f32, 0.0, 0.0, 0.0], dy: [0.0, 1.0 / height as f32, 0.0, 0.0] };
            inputs.varyings.extend((0..32).map(|location| (location, plane)));
        }
        Ok((inputs, assumed))
    }

    /// Whether every uniform of the scene is one of the module's.
    ///
    /// # Errors
    /// [`SceneError::NoUniform`] for the first that is not.
    pub fn check(&self, module: &Module) -> Result<(), SceneError> {
        let has: Vec<String> = module.blocks()?.into_iter().flat_map(|b| b.members).map(|m| m.name).filter(|n| !n.is_empty()).collect();
        match self.uniforms.keys().find(|name| !has.contains(name)) {
            Some(name) => Err(SceneError::NoUniform { name: name.clone(), has }),
            None => Ok(()),
        }
    }

    fn block(&self, module: &Module, block: &Block, assumed: &mut Vec<Assumption>) -> Result<Vec<u8>, SceneError> {
        if block.variable.class == StorageClass::StorageBuffer {
            let bytes = vec![0; (block.bytes as usize).next_multiple_of(4).max(OPEN_BUFFER)];
            assumed.push(Assumption::Buffer { name: block.name.clone(), bytes: bytes.len() });
            return Ok(bytes);
        }
        let mut bytes = vec![0; block.spacing() as usize * block.elements as usize];
        // Blocks of an array are given the same.
        let each = module.ty(block.ty)?.cells();
        let all = (0..block.elements).flat_map(|element| (0..).zip(&block.members).map(move |(index, member)| (element, index, member)));
        for (element, index, member) in all {
            let cells = module.ty(member.ty)?.cells();
            // Leaves stand in the order of words, members too.
            let begin = element * each + first_word(module, block, index);
            let first = block.leaves.partition_point(|l| l.cell < begin);
            let leaves: Vec<_> = block.leaves[first..].iter().take_while(|l| l.cell < begin + cells).collect();
            let count = leaves.len();
            let values = match self.uniforms.get(&member.name) {
                Some(given) if given.len() == count => given.clone(),
                Some(given) if given.len() == 1 => vec![given[0]; count],
                Some(given) => {
                    return Err(SceneError::Components { name: member.name.clone(), components: count, given: given.len() });
                }
                None => match self.derived(&member.name, count) {
                    Some(values) => values,
                    None => {
                        let values = self.default(module, member, count)?;
                        if element == 0 {
                            let values = values.iter().copied().take(4).collect();
                            assumed.push(Assumption::Uniform { name: member.name.clone(), values });
                        }
                        values
                    }
                },
            };
            for (leaf, value) in leaves.into_iter().zip(values) {
                let word = word(leaf.scalar, value).ok_or_else(|| SceneError::Value { name: member.name.clone(), value })?;
                let at = leaf.offset as usize;
                if let Some(place) = bytes.get_mut(at..at + word.len()) {
                    place.copy_from_slice(&word);
                }
            }
        }
        Ok(bytes)
    }

    /// The components of a uniform that says how large frame or textures are, by its name: known, not assumed.
    fn derived(&self, name: &str, count: usize) -> Option<Vec<f64>> {
        let [w, h] = self.frame.map(f64::from);
        let side = f64::from(self.texture);
        let texels = [side, side, 1.0];
        match usual(name).as_str() {
            "ichannelresolution" => Some((0..count).map(|i| texels[i % 3]).collect()),
            "iresolution" | "resolution" | "rendersize" | "viewport" | "screensize" | "size" if (2..=4).contains(&count) => {
                Some([w, h, 1.0, 1.0][..count].to_vec())
            }
            "texsize" if count == 4 => Some(vec![w, h, 1.0 / w, 1.0 / h]),
            "texelsize" | "pixelsize" | "texel" if count == 2 => Some(vec![1.0 / w, 1.0 / h]),
            "ratio" | "aspect" | "aspectratio" if count == 1 => Some(vec![w / h]),
            _ => None,
        }
    }

    /// The components of a uniform that nobody gave: by its name where that is common usage, else the identity for matrices and
    /// ones for all else.
    fn default(&self, module: &Module, member: &Member, count: usize) -> Result<Vec<f64>, SceneError> {
        let named = match usual(&member.name).as_str() {
            "imouse" | "mouse" | "idate" | "date" => Some(vec![0.0; count]),
            "itimedelta" | "timedelta" if count == 1 => Some(vec![1.0 / 60.0]),
            "iframerate" | "fps" if count == 1 => Some(vec![60.0]),
            "isamplerate" if count == 1 => Some(vec![44100.0]),
            "progress" if count == 1 => Some(vec![0.5]),
            _ => None,
        };
        Ok(match (named, module.ty(member.ty)?) {
            (Some(values), _) => values,
            (_, Type::Matrix { rows, .. }) => {
                let rows = *rows as usize;
                (0..count).map(|i| f64::from(u8::from(i / rows == i % rows))).collect()
            }
            _ => vec![1.0; count],
        })
    }

    fn textures(
        &self,
        name: &str,
        image: Image,
        binding: u32,
        count: usize,
        assumed: &mut Vec<Assumption>,
    ) -> Result<Vec<Arc<Texture>>, SceneError> {
        let unsupported = |what| Err(SceneError::Unsupported { name: name.to_owned(), what });
        if image.storage {
            return unsupported("a storage image");
        }
        if image.multisampled {
            return unsupported("a multisampled image");
        }
        if !(1..=MAX_TEXTURES).contains(&count) {
            return unsupported("an array of very many textures");
        }
        let side = self.texture;
        let layers = if image.arrayed { LAYERS } else { 1 };
        let (kind, size, layers) = match image.dim {
            Dim::Dim1D => (Kind::D1, [side, 1, 1], layers),
            Dim::Dim2D | Dim::DimRect => (Kind::D2, [side, side, 1], layers),
            Dim::Dim3D => (Kind::D3, [side / 8; 3], 1),
            Dim::DimCube => (Kind::Cube, [side / 4, side / 4, 1], 6 * layers),
            _ => return unsupported("an image of this dimension"),
        };
        assumed.push(Assumption::Texture { name: name.to_owned(), size, layers });
        // Neighbours differ, so that a transition has two pictures; a handful serves all.
        (0..count as u32).map(|element| self.texture(kind, size, layers, (binding.wrapping_add(element)) % 8)).collect()
    }

    fn texture(&self, kind: Kind, size: [u32; 3], layers: u32, seed: u32) -> Result<Arc<Texture>, SceneError> {
        let mut made = self.noise.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (kind as u8, (size[0] << 8) | layers, seed);
        if let Some(texture) = made.get(&key) {
            return Ok(Arc::clone(texture));
        }
        let texture = Arc::new(noise::texture(kind, size, layers, seed)?);
        made.insert(key, Arc::clone(&texture));
        Ok(texture)
    }
}

/// A uniform's name without the prefixes that some give all of them.
fn usual(name: &str) -> String {
    name.trim_start_matches("u_").trim_start_matches('_').to_lowercase()
}

/// The word at which a member's value begins in its block's.
fn first_word(module: &Module, block: &Block, index: usize) -> u32 {
    match module.ty(block.ty) {
        Ok(Type::Struct { members, .. }) => members.get(index).map_or(0, |(_, cell)| *cell),
        _ => 0,
    }
}

/// The bytes of a scalar in a block.
fn word(scalar: ComponentType, value: f64) -> Option<Vec<u8>> {
    let whole = |low: f64, high: f64| (value.fract() == 0.0 && (low..=high).contains(&value)).then_some(value);
    Some(match scalar {
        ComponentType::Bool => u32::from(value != 0.0).to_le_bytes().to_vec(),
        ComponentType::Float { bits: 64 } => value.to_le_bytes().to_vec(),
        ComponentType::Float { bits: 16 } => Some(half::f16::from_f64(value)).filter(|v| v.is_finite())?.to_le_bytes().to_vec(),
        ComponentType::Float { .. } => Some(value as f32).filter(|v| v.is_finite())?.to_le_bytes().to_vec(),
        ComponentType::Int { bits: bits @ (8 | 16), signed } => {
            let most = f64::from(1u32 << (bits - u32::from(signed)));
            let value = whole(if signed { -most } else { 0.0 }, most - 1.0)? as i32;
            value.to_le_bytes()[..bits as usize / 8].to_vec()
        }
        ComponentType::Int { bits: 64, signed: true } => (whole(-9e15, 9e15)? as i64).to_le_bytes().to_vec(),
        ComponentType::Int { bits: 64, signed: false } => (whole(0.0, 9e15)? as u64).to_le_bytes().to_vec(),
        ComponentType::Int { signed: true, .. } => (whole(f64::from(i32::MIN), f64::from(i32::MAX))? as i32).to_le_bytes().to_vec(),
        ComponentType::Int { signed: false, .. } => (whole(0.0, f64::from(u32::MAX))? as u32).to_le_bytes().to_vec(),
    })
}
