//! How often each block runs in a frame, counted by a device.

use super::draw::draw;
use crate::failure::{Failure, Kind};
use warpsight_run::vulkan::{Binding, Draw, Format, Renderer, Resource, has};
use warpsight_run::{Contents, DeviceError};
use warpsight_shader::cfg::Cfg;
use warpsight_shader::interpret::Inputs;
use warpsight_shader::module::Module;
use warpsight_shader::trace::rewrite::{Options, Width, rewrite};

/// Draws a frame with a module that counts; a number for each block of the control flow.
///
/// Counters have 64 bits, in two words where the device has no atomics of that width; a subgroup adds up its own first where the
/// device can.
///
/// # Errors
/// A device whose fragment shaders cannot write, a shader that cannot be drawn, and what the driver says.
pub fn counts(device: &mut dyn Renderer, module: &Module, cfg: &Cfg, inputs: &Inputs) -> Result<Vec<u64>, Failure> {
    let info = device.info().clone();
    if !has(&info, "fragmentStoresAndAtomics") {
        return Err(Failure::new(
            Kind::Device,
            format!("fragment shaders of {} cannot count: fragmentStoresAndAtomics is missing", info.name),
        ));
    }
    let whole = has(&info, "shaderInt64") && has(&info, "shaderBufferInt64Atomics");
    // After all bindings of the first set, which every device has.
    let binding = module.variables.iter().filter_map(|v| v.binding).filter(|at| at.0 == 0).map(|at| at.1.saturating_add(1)).max();
    let options = Options {
        set: 0,
        binding: binding.unwrap_or(0),
        width: if whole { Width::Whole } else { Width::Split },
        subgroup: has(&info, "fragmentSubgroupArithmetic"),
    };
    let words = rewrite(module, cfg, options)?;
    let plain = draw(module, inputs, Format::Bytes).map_err(|e| Failure::input(e.to_string()))?;
    let mut draw = Draw { words, ..plain };
    let buffer = Resource::Storage(Contents(vec![0; 8 * cfg.blocks.len()]));
    draw.bindings.push(Binding { set: options.set, binding: options.binding, resource: buffer });
    let drawn = device.draw(&draw)?;
    // Buffers come back in the order of the bindings, and ours is the last.
    let bytes = drawn.storage.last().ok_or_else(|| DeviceError::Lost("its process sent no counters".into()))?;
    Ok(bytes.0.as_chunks::<8>().0.iter().map(|c| u64::from_le_bytes(*c)).collect())
}
