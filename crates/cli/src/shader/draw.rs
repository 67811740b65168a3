//! A shader and its scene as a draw for a Vulkan device.

use std::collections::BTreeMap;
use std::sync::Arc;
use warpsight_run::Contents;
use warpsight_run::vulkan::{Binding, Draw, Format, Level, Resource, Sampler, Shape, Texel, Texture, VARYINGS, Wrap};
use warpsight_shader::interpret::{self, Inputs, Kind, Mip};
use warpsight_shader::module::spirv::StorageClass;
use warpsight_shader::module::{ComponentType, Module, Op, Type, Variable};

/// Why a shader cannot be drawn.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DrawError {
    /// It has something that is not drawn with.
    #[error("{0}")]
    Unsupported(String),
    /// The inputs lack something.
    #[error("nothing is given for set {0}, binding {1}")]
    Missing(u32, u32),
}

fn unsupported<T>(what: impl Into<String>) -> Result<T, DrawError> {
    Err(DrawError::Unsupported(what.into()))
}

/// What a device draws for a module and the inputs that a scene made for it.
///
/// # Errors
/// [`DrawError`].
pub fn draw(module: &Module, inputs: &Inputs, format: Format) -> Result<Draw, DrawError> {
    let mut draw = Draw { words: module.words().to_vec(), entry: entry(module), frame: inputs.frame, format, ..Draw::default() };
    let mut made = Vec::new();
    for variable in &module.variables {
        match variable.class {
            StorageClass::Output if variable.builtin.is_none() => draw.outputs = draw.outputs.max(outputs(module, variable)?),
            StorageClass::Input if variable.builtin.is_none() && variable.location.is_some() => {
                varying(module, variable)?;
                draw.varyings = true;
            }
            StorageClass::Uniform | StorageClass::StorageBuffer => {
                let Some(at) = variable.binding else { continue };
                let bytes = inputs.blocks.get(&at).ok_or(DrawError::Missing(at.0, at.1))?;
                draw.bindings.push(binding(at, block(module, variable, bytes)?));
            }
            StorageClass::PushConstant => draw.push.clone_from(&inputs.push),
            StorageClass::UniformConstant => {
                let Some(at) = variable.binding else { continue };
                let resource = handle(module, variable, inputs, &mut draw, &mut made)?;
                draw.bindings.push(binding(at, resource));
            }
            _ => {}
        }
    }
    Ok(draw)
}

fn binding((set, binding): (u32, u32), resource: Resource) -> Binding {
    Binding { set, binding, resource }
}

/// Uniform blocks, of which an array's have equal parts of the bytes, or a storage buffer in its newer or older form.
fn block(module: &Module, variable: &Variable, bytes: &[u8]) -> Result<Resource, DrawError> {
    let (ty, count) = match module.ty(variable.ty) {
        Ok(Type::Array { of, len, .. }) => (*of, *len as usize),
        _ => (variable.ty, 1),
    };
    let older = module.decoration(ty, warpsight_shader::module::spirv::Decoration::BufferBlock).is_some();
    match variable.class == StorageClass::StorageBuffer || older {
        true if count > 1 => unsupported("an array of storage buffers"),
        true => Ok(Resource::Storage(Contents(bytes.to_vec()))),
        false => Ok(Resource::Uniform(bytes.chunks((bytes.len() / count).max(1)).map(|one| Contents(one.to_vec())).collect())),
    }
}

/// The name of the entry point.
fn entry(module: &Module) -> String {
    let id = module.functions[module.entry].id;
    let point = module.insts().iter().find(|i| i.op == Op::EntryPoint && module.args(i)[1] == id);
    let words = point.map(|i| &module.args(i)[2..]).unwrap_or_default();
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).take_while(|b| *b != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// How many colour attachments an output needs.
fn outputs(module: &Module, variable: &Variable) -> Result<u32, DrawError> {
    let Some(location) = variable.location else { return Ok(0) };
    let (ty, count) = element(module, variable);
    match ty.and_then(Type::scalar) {
        Some(ComponentType::Float { .. }) => Ok(location.saturating_add(count)),
        _ => unsupported(format!("the output at location {location} is not of floating point numbers")),
    }
}

fn varying(module: &Module, variable: &Variable) -> Result<(), DrawError> {
    let location = variable.location.unwrap_or(0);
    match element(module, variable) {
        (Some(Type::Scalar(ComponentType::Float { bits: 32 }) | Type::Vector { of: ComponentType::Float { bits: 32 }, .. }), 1)
            if location < VARYINGS =>
        {
            Ok(())
        }
        _ => unsupported(format!("the input of the vertex stage at location {location} is none of one to four floating point numbers")),
    }
}

/// What a variable holds, or each element of its array, and how many.
fn element<'m>(module: &'m Module, variable: &Variable) -> (Option<&'m Type>, u32) {
    match module.ty(variable.ty) {
        Ok(Type::Array { of, len, .. }) => (module.ty(*of).ok(), *len),
        Ok(ty) => (Some(ty), 1),
        Err(_) => (None, 0),
    }
}

/// What a texture made so far was made of.
type Made = (Arc<interpret::Texture>, Texel, bool);

fn handle(module: &Module, variable: &Variable, inputs: &Inputs, draw: &mut Draw, made: &mut Vec<Made>) -> Result<Resource, DrawError> {
    let (ty, count) = element(module, variable);
    let name = module.name(variable.id).unwrap_or("a texture");
    let image = match ty {
        Some(Type::Image(image)) if !image.storage => *image,
        Some(Type::Sampler) => return Ok(Resource::Samplers(vec![any_sampler(inputs); count as usize])),
        _ => return unsupported(format!("`{name}` is neither a texture nor a sampler")),
    };
    let Some(at) = variable.binding else { return unsupported(format!("`{name}` has no binding")) };
    let given = inputs.textures.get(&at).filter(|t| t.len() >= count as usize).ok_or(DrawError::Missing(at.0, at.1))?;
    let (declared, combined) = declaration(module, variable);
    // OpTypeImage says in its third literal operand whether it is compared with.
    let depth = declared.is_some_and(|args| args.get(2) == Some(&1));
    let mut indices = Vec::with_capacity(count as usize);
    for texture in &given[..count as usize] {
        let texel = match image.texel {
            _ if depth => Texel::Depth,
            ComponentType::Int { signed: true, .. } => Texel::Signed,
            ComponentType::Int { .. } => Texel::Unsigned,
            _ if (0..texture.levels()).all(|level| in_bytes(texture.texels(level))) => Texel::Bytes,
            _ => Texel::Floats,
        };
        let known = made.iter().position(|(t, kind, arrayed)| Arc::ptr_eq(t, texture) && *kind == texel && *arrayed == image.arrayed);
        indices.push(known.unwrap_or(made.len()));
        if known.is_none() {
            made.push((Arc::clone(texture), texel, image.arrayed));
            draw.textures.push(self::texture(texture, texel, image.arrayed));
        }
    }
    Ok(if combined { Resource::Sampled(indices) } else { Resource::Images(indices) })
}

/// The operands of a variable's image type, and whether the image has a sampler with it.
fn declaration<'m>(module: &'m Module, variable: &Variable) -> (Option<&'m [u32]>, bool) {
    let mut combined = false;
    let mut id = variable.ty;
    // An array of a sampled image of an image: no deeper.
    for _ in 0..3 {
        let Ok(inst) = module.def(id) else { break };
        match inst.op {
            Op::TypeImage => return (Some(module.args(inst)), combined),
            Op::TypeSampledImage => combined = true,
            _ => {}
        }
        id = module.args(inst)[0];
    }
    (None, combined)
}

/// Samplers alone are those of some texture of the scene: the interpreter takes the image's, and a scene's are all alike.
fn any_sampler(inputs: &Inputs) -> Sampler {
    let first = inputs.textures.values().flatten().next().map(|t| t.sampler);
    sampler(first.unwrap_or(interpret::Sampler { linear: true, mip: Mip::Linear, wrap: [interpret::Wrap::Repeat; 3] }), false)
}

fn sampler(of: interpret::Sampler, compare: bool) -> Sampler {
    let wrap = of.wrap.map(|w| match w {
        interpret::Wrap::Repeat => Wrap::Repeat,
        interpret::Wrap::Mirror => Wrap::Mirror,
        interpret::Wrap::Clamp => Wrap::Clamp,
        interpret::Wrap::Border => Wrap::Border,
    });
    Sampler { linear: of.linear, mix_levels: of.mip == Mip::Linear, wrap, compare }
}

/// Whether bytes hold these texels exactly.
fn in_bytes(texels: &[[f32; 4]]) -> bool {
    texels.iter().flatten().all(|v| (0.0..=1.0).contains(v) && f32::from(byte(*v)) / 255.0 == *v)
}

fn byte(value: f32) -> u8 {
    (value * 255.0).round() as u8
}

fn texture(of: &interpret::Texture, texel: Texel, arrayed: bool) -> Texture {
    let shape = match of.kind {
        Kind::D1 => Shape::D1,
        Kind::D2 => Shape::D2,
        Kind::D3 => Shape::D3,
        Kind::Cube => Shape::Cube,
    };
    let level = |level: u32| {
        let texels = of.texels(level).iter();
        let bytes = match texel {
            Texel::Bytes => texels.flatten().map(|v| byte(*v)).collect(),
            Texel::Floats => texels.flatten().flat_map(|v| v.to_le_bytes()).collect(),
            Texel::Signed => texels.flatten().flat_map(|v| (*v as i32).to_le_bytes()).collect(),
            Texel::Unsigned => texels.flatten().flat_map(|v| (*v as u32).to_le_bytes()).collect(),
            Texel::Depth => texels.flat_map(|t| t[0].to_le_bytes()).collect(),
        };
        Level { size: of.size(level), bytes }
    };
    let levels = (0..of.levels()).map(level).collect();
    Texture { shape, arrayed, layers: of.layers, texel, levels, sampler: sampler(of.sampler, texel == Texel::Depth) }
}

/// The bytes that decide what a shader does beside its module: blocks, push constants, and what textures are like.
pub fn fingerprint_bytes(inputs: &Inputs) -> Vec<u8> {
    let mut bytes = Vec::new();
    let blocks: &BTreeMap<(u32, u32), Vec<u8>> = &inputs.blocks;
    for ((set, binding), data) in blocks {
        bytes.extend([set.to_le_bytes(), binding.to_le_bytes(), (data.len() as u32).to_le_bytes()].concat());
        bytes.extend(data);
    }
    bytes.extend(&inputs.push);
    for ((set, binding), all) in &inputs.textures {
        for texture in all {
            let [w, h, d] = texture.size(0);
            bytes.extend([*set, *binding, w, h, d, texture.layers, texture.levels()].map(u32::to_le_bytes).concat());
        }
    }
    bytes
}

#[cfg(test)]
mod tests;
