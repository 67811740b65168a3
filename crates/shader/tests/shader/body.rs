//! Everything that is done with a module, on any bytes.

use std::sync::Arc;
use warpsight_shader::cfg::Cfg;
use warpsight_shader::features::Features;
use warpsight_shader::interpret::{Inputs, Kind, Program, Texture, Varying};
use warpsight_shader::lean::Lean;
use warpsight_shader::module::spirv::StorageClass;
use warpsight_shader::module::{Module, Type, operands};
use warpsight_shader::mutate::{bounds, candidates};
use warpsight_shader::scene::Scene;
use warpsight_shader::tokens::{compact, published};
use warpsight_shader::trace::rewrite::{Options, Width, rewrite};
use warpsight_shader::trace::sample;

/// Reads bytes, and where they are a module does with it all that can be done. It panics if a rewritten or mutated module is not read.
pub fn body(bytes: &[u8]) {
    let Ok(module) = Module::from_bytes(bytes) else { return };
    module.insts().iter().for_each(|i| drop(operands(&module, i)));
    let Ok(cfg) = Cfg::new(&module) else { return };
    drop(Features::new(&module, &cfg).map(|f| f.weighted(|_| 1.0)));
    let ones = vec![1.0; cfg.blocks.len()];
    drop((published(&module, &cfg, &ones), compact(&module, &cfg, &ones)));
    let options = Options { set: 9, binding: 9, width: Width::Split, subgroup: false };
    if cfg.blocks.len() < 1000
        && let Ok(words) = rewrite(&module, &cfg, options)
    {
        assert!(Module::new(words).is_ok(), "a rewritten module is not read");
    }
    for bound in bounds(&module, &cfg) {
        for (_, words) in [0.5, 2.0].iter().filter_map(|factor| bound.scaled(&module, *factor)) {
            assert!(Module::new(words).is_ok(), "a module with another bound is not read");
        }
    }
    drop(candidates(&module, &cfg, &Scene { frame: [7, 5], texture: 8, ..Scene::default() }, 0));
    let Ok(program) = Program::new(&module, &cfg) else { return };
    let lean = Lean::new(&program, &module, &cfg, |_| 3.0);
    assert!(lean.is_none_or(|lean| lean.work.iter().all(|work| (work.number * work.times).is_finite())));
    drop(sample(&program, &inputs(&module), 4, 0));
}

/// Something for all that a module may want.
fn inputs(module: &Module) -> Inputs {
    let mut inputs = Inputs { budget: 20_000, ..Inputs::of_frame(7, 5) };
    for block in module.blocks().unwrap_or_default() {
        let bytes: Vec<u8> = (0..(block.bytes as usize + 64).min(1 << 16)).map(|i| (i * 37) as u8).collect();
        match block.variable.binding {
            Some(at) => drop(inputs.blocks.insert(at, bytes)),
            None => inputs.push = bytes,
        }
    }
    for (at, variable) in module.bindings(StorageClass::UniformConstant) {
        let ty = match module.ty(variable.ty) {
            Ok(Type::Array { of, .. }) => module.ty(*of),
            other => other,
        };
        let Ok(Type::Image(image)) = ty else { continue };
        let (kind, size, layers) = match image.coordinates() {
            1 => (Kind::D1, [4, 1, 1], 1),
            2 => (Kind::D2, [4, 2, 1], 1),
            _ if format!("{:?}", image.dim).contains("Cube") => (Kind::Cube, [2, 2, 1], 6),
            _ => (Kind::D3, [2, 2, 2], 1),
        };
        let texels = (size.iter().product::<u32>() * layers) as usize;
        let texture = Texture::new(kind, size, layers, (0..texels).map(|i| [i as f32; 4]).collect());
        inputs.textures.insert(at, texture.into_iter().map(|t| Arc::new(t.with_levels())).cycle().take(8).collect());
    }
    inputs.varyings.extend((0..8).map(|location| (location, Varying { dx: [0.1; 4], ..Varying::default() })));
    inputs
}
