//! Whether a draw makes sense, before a driver sees it: drivers believe what they are told.

use super::job::{Draw, Resource, Shape, Texture};
use crate::DeviceError;
use crate::refusal::Reason;
use ash::vk::PhysicalDeviceLimits;

/// Bindings are numbered below this: drivers keep tables of them.
const MOST_BINDINGS: u32 = 1024;

/// Textures and buffers may have so many bytes together.
const MOST_BYTES: u64 = 1 << 30;

/// The first word of SPIR-V.
const MAGIC: u32 = 0x0723_0203;

fn bad<T>(what: impl Into<String>) -> Result<T, DeviceError> {
    Err(Reason::draw(what))
}

fn within(what: &str, needed: u64, available: u64) -> Result<(), DeviceError> {
    if needed <= available { Ok(()) } else { Err(DeviceError::Limit { what: what.to_owned(), needed, available }) }
}

/// Checks a draw against itself and the device's limits.
pub(super) fn check(draw: &Draw, limits: &PhysicalDeviceLimits) -> Result<(), DeviceError> {
    entry(draw)?;
    let [width, height] = draw.frame;
    if width == 0 || height == 0 {
        return bad("a frame without pixels");
    }
    within("a frame's width", width.into(), limits.max_framebuffer_width.into())?;
    within("a frame's height", height.into(), limits.max_framebuffer_height.into())?;
    within("outputs", draw.outputs.into(), limits.max_color_attachments.into())?;
    within("push constants, in bytes,", draw.push.len() as u64, limits.max_push_constants_size.into())?;
    if !draw.push.len().is_multiple_of(4) {
        return bad("push constants are whole words");
    }
    let frames = u64::from(width) * u64::from(height) * draw.format.bytes() * u64::from(draw.outputs.max(1));
    let mut bytes = frames;
    for texture in &draw.textures {
        bytes = bytes.saturating_add(self::texture(texture)?);
    }
    let mut seen = std::collections::BTreeSet::new();
    for binding in &draw.bindings {
        within("descriptor sets", u64::from(binding.set) + 1, limits.max_bound_descriptor_sets.into())?;
        within("bindings of a descriptor set", u64::from(binding.binding) + 1, MOST_BINDINGS.into())?;
        if !seen.insert((binding.set, binding.binding)) {
            return bad(format!("two resources at set {} binding {}", binding.set, binding.binding));
        }
        let length = match &binding.resource {
            Resource::Uniform(blocks) => {
                within("uniform blocks", blocks.len() as u64, limits.max_per_stage_descriptor_uniform_buffers.into())?;
                for data in blocks {
                    within("a uniform block, in bytes,", data.0.len() as u64, limits.max_uniform_buffer_range.into())?;
                    bytes = bytes.saturating_add(data.0.len() as u64);
                }
                // None may be empty.
                blocks.iter().map(|data| data.0.len()).min().unwrap_or(0)
            }
            Resource::Storage(data) => {
                within("a storage buffer, in bytes,", data.0.len() as u64, limits.max_storage_buffer_range.into())?;
                bytes = bytes.saturating_add(data.0.len() as u64);
                data.0.len()
            }
            Resource::Sampled(all) | Resource::Images(all) => {
                if all.iter().any(|i| *i >= draw.textures.len()) {
                    return bad("a binding names a texture that is not there");
                }
                within("textures", all.len() as u64, limits.max_per_stage_descriptor_sampled_images.into())?;
                all.len()
            }
            Resource::Samplers(all) => {
                within("samplers", all.len() as u64, limits.max_per_stage_descriptor_samplers.into())?;
                all.len()
            }
        };
        if length == 0 {
            return bad(format!("nothing is bound to set {} binding {}", binding.set, binding.binding));
        }
    }
    within("textures, buffers and frame, in bytes,", bytes, MOST_BYTES)
}

/// The entry point must be there, of a fragment shader.
fn entry(draw: &Draw) -> Result<(), DeviceError> {
    let words = &draw.words;
    if words.len() < 5 || words[0] != MAGIC {
        return bad("these words are no SPIR-V in this machine's byte order");
    }
    let mut at = 5;
    while at < words.len() {
        let (length, op) = ((words[at] >> 16) as usize, words[at] & 0xffff);
        if length == 0 || at + length > words.len() {
            return bad(format!("an instruction of the module ends beyond it, at word {at}"));
        }
        // OpEntryPoint: execution model, function, name.
        if op == 15 && length > 3 {
            let name: Vec<u8> = words[at + 3..at + length].iter().flat_map(|w| w.to_le_bytes()).take_while(|b| *b != 0).collect();
            if name == draw.entry.as_bytes() {
                return if words[at + 1] == 4 { Ok(()) } else { bad(format!("`{}` is no fragment shader", draw.entry)) };
            }
        }
        at += length;
    }
    bad(format!("the module has no entry point `{}`", draw.entry))
}

/// Checks a texture against itself; its bytes.
fn texture(of: &Texture) -> Result<u64, DeviceError> {
    let Some(first) = of.levels.first() else { return bad("a texture without levels") };
    let [width, height, depth] = first.size;
    let shaped = match of.shape {
        Shape::D1 => height == 1 && depth == 1,
        Shape::D2 => depth == 1,
        Shape::D3 => of.layers == 1 && !of.arrayed,
        Shape::Cube => depth == 1 && width == height && of.layers.is_multiple_of(6),
    };
    let single = of.arrayed || of.layers == if of.shape == Shape::Cube { 6 } else { 1 };
    if !shaped || !single || of.layers == 0 || first.size.contains(&0) {
        return bad(format!("a texture of {:?} texels and {} layers is no {:?}", first.size, of.layers, of.shape));
    }
    let mut size = first.size;
    let mut bytes = 0u64;
    for (index, level) in of.levels.iter().enumerate() {
        if index > 0 {
            if size == [1; 3] {
                return bad("a texture has more levels than it can be halved");
            }
            size = size.map(|s| (s / 2).max(1));
        }
        let texels = size.iter().chain([&of.layers]).try_fold(of.texel.bytes(), |n, s| n.checked_mul(u64::from(*s)));
        if level.size != size || texels != Some(level.bytes.len() as u64) {
            return bad(format!(
                "level {index} of a texture has {:?} texels in {} bytes; {size:?} were expected",
                level.size,
                level.bytes.len()
            ));
        }
        bytes = bytes.saturating_add(level.bytes.len() as u64);
    }
    Ok(bytes)
}
