//! Images of a device against the interpreter's.

mod textures;
mod uniforms;

use super::*;
use std::path::Path;
use warpsight_run::vulkan::{Renderer, Vulkan};
use warpsight_shader::cfg::Cfg;
use warpsight_shader::interpret::Program;
use warpsight_shader::scene::Scene;

/// The first device that is the processor; `None` (and a word of it) where there is none, which no CI may say.
pub fn rasteriser() -> Option<Vulkan> {
    let listing = warpsight_run::vulkan::list();
    let found = listing.devices.iter().find(|d| d.is_cpu).map(|d| Vulkan::open(&d.id));
    match found {
        Some(device) => Some(device.unwrap()),
        None => {
            assert!(std::env::var("CI").as_deref() != Ok("true"), "CI needs a Vulkan rasteriser: {:?}", listing.skipped);
            eprintln!("skipped: {:?}", listing.skipped);
            None
        }
    }
}

/// A module of the tests of `learn`.
fn module(name: &str) -> Module {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shader/tests/shaders").join(name).with_extension("spv");
    Module::from_bytes(&std::fs::read(path).unwrap()).unwrap()
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks::<4>().0.iter().map(|w| f32::from_le_bytes(*w)).collect()
}

/// The first output of every pixel as the interpreter computes it; what is discarded stays as a frame is cleared.
fn interpreted(module: &Module, inputs: &Inputs) -> Vec<f32> {
    let [width, height] = inputs.frame;
    let cfg = Cfg::new(module).unwrap();
    let program = Program::new(module, &cfg).unwrap();
    let mut interpreter = program.interpreter(inputs).unwrap();
    let mut image = vec![0.0; (width * height * 4) as usize];
    for (row, column) in (0..height.div_ceil(2)).flat_map(|r| (0..width.div_ceil(2)).map(move |c| (r, c))) {
        let quad = interpreter.quad(column, row).unwrap();
        for lane in (0..4).filter(|l| quad.covered[*l as usize]) {
            let at = ((2 * row + (lane >> 1)) * width + 2 * column + (lane & 1)) as usize;
            for c in 0..4 {
                image[4 * at + c] = f32::from_bits(quad.outputs[&0][lane as usize][c]);
            }
        }
    }
    image
}

/// The share of pixels that differ by more than `tolerance` of the larger one (of 1, for small ones).
fn differing(ours: &[f32], theirs: &[f32], tolerance: f32) -> f64 {
    assert_eq!(ours.len(), theirs.len());
    let close = |a: f32, b: f32| a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= tolerance * a.abs().max(b.abs()).max(1.0);
    let pixels = ours.chunks(4).zip(theirs.chunks(4));
    let wrong = pixels.filter(|(a, b)| !a.iter().zip(*b).all(|(a, b)| close(*a, *b))).count();
    wrong as f64 / (ours.len() / 4) as f64
}

/// The share of the frame's pixels that a device and the interpreter disagree on.
fn disagree(device: &mut Vulkan, module: &Module, inputs: &Inputs, tolerance: f32) -> f64 {
    let draw = Draw { read: true, ..draw(module, inputs, Format::Floats).unwrap() };
    let drawn = device.draw(&draw).unwrap();
    differing(&interpreted(module, inputs), &floats(&drawn.pixels[0].0), tolerance)
}

/// Numbers of 8 and 16 bits, and arrays of blocks.
#[test]
fn short_numbers_and_arrays_of_blocks_are_those_of_the_interpreter() {
    let Some(mut device) = rasteriser() else { return };
    let scene = Scene { frame: [8, 7], ..Scene::default() };
    for name in ["small", "arrays"] {
        let module = module(name);
        let (mut inputs, _) = scene.inputs(&module).unwrap();
        // Every byte of a block another one, none that makes numbers that are none.
        inputs.blocks.values_mut().flatten().enumerate().for_each(|(i, byte)| *byte = (i * 7 % 61) as u8);
        let wrong = disagree(&mut device, &module, &inputs, 0.0);
        assert!(wrong == 0.0, "{name}: {wrong} of the pixels differ");
    }
}

#[test]
fn images_of_a_rasteriser_are_those_of_the_interpreter() {
    let Some(mut device) = rasteriser() else { return };
    let scene = Scene { frame: [37, 22], texture: 32, ..Scene::default() };
    // Filters on the device weigh texels with 8 bits. A ray that grazes may hit or miss.
    for (name, tolerance, share) in [("loops", 0.0, 0.0), ("march", 1e-3, 0.01), ("kill", 0.0, 0.0)] {
        let module = module(name);
        let (inputs, _) = scene.inputs(&module).unwrap();
        let wrong = disagree(&mut device, &module, &inputs, tolerance);
        assert!(wrong <= share, "{name}: {wrong} of the pixels differ");
    }
}

/// Counters on the device against the interpreter, which executes every pixel, too.
#[test]
fn counts_of_a_rasteriser_are_those_of_the_interpreter() {
    let Some(mut device) = rasteriser() else { return };
    let scene = Scene { frame: [37, 22], texture: 32, ..Scene::default() };
    for name in ["loops", "kill", "meet", "textures", "uniforms", "wide"] {
        let module = module(name);
        let cfg = Cfg::new(&module).unwrap();
        let (inputs, _) = scene.inputs(&module).unwrap();
        let program = Program::new(&module, &cfg).unwrap();
        let mut interpreter = program.interpreter(&inputs).unwrap();
        (0..11).flat_map(|row| (0..19).map(move |column| (column, row))).for_each(|(c, r)| _ = interpreter.quad(c, r).unwrap());
        assert!(!interpreter.rough_branches().contains(&true), "{name} depends on nothing that is rounded");
        let counted = crate::shader::count::counts(&mut device, &module, &cfg, &inputs).unwrap();
        assert_eq!(counted, interpreter.counts(), "{name}");
        assert!(counted.iter().sum::<u64>() >= 37 * 22);
    }
}

#[test]
fn what_is_not_drawn_with_is_said() {
    let module = module("slopes");
    let (inputs, _) = Scene::default().inputs(&module).unwrap();
    let error = draw(&module, &inputs, Format::Bytes).unwrap_err().to_string();
    assert_eq!(error, "the input of the vertex stage at location 5 is none of one to four floating point numbers");
    let (empty, module) = (Inputs::of_frame(8, 8), self::module("uniforms"));
    assert_eq!(draw(&module, &empty, Format::Bytes).unwrap_err(), DrawError::Missing(1, 3));
}
