//! Images against values calculated here.

use crate::common::{Drawn, draw, module};
use std::sync::Arc;
use warpsight_shader::interpret::{Inputs, InterpretError, Kind, Mip, Sampler, Texture, Varying, Wrap};

fn close(got: [f32; 4], wants: [f32; 4], tolerance: f32, what: &str) {
    for (g, w) in got.iter().zip(wants) {
        assert!((g - w).abs() <= tolerance * w.abs().max(1.0), "{what}: {got:?} instead of {wants:?}");
    }
}

#[test]
fn blocks_are_read_at_their_offsets() {
    let mut bytes = vec![0u8; 304];
    let mut put = |at: usize, values: &[f32]| {
        for (i, v) in values.iter().enumerate() {
            bytes[at + 4 * i..][..4].copy_from_slice(&v.to_le_bytes());
        }
    };
    put(0, &[1.5]);
    put(16, &[2.0, 3.0, 4.0]);
    // Columns of mat3, 16 bytes each.
    put(32, &[1.0, 2.0, 3.0]);
    put(48, &[4.0, 5.0, 6.0]);
    put(64, &[7.0, 8.0, 9.0]);
    // Three rows of mat2x3.
    put(80, &[10.0, 11.0]);
    put(96, &[12.0, 13.0]);
    put(112, &[14.0, 15.0]);
    // Elements of float[3], 16 bytes each.
    put(128, &[0.25]);
    put(144, &[0.5]);
    put(160, &[0.75]);
    // Two lights, 32 bytes each.
    put(176, &[1.0, 2.0, 3.0, 100.0, 7.0, 8.0]);
    put(208, &[-1.0, -2.0, -3.0, 200.0, 9.0, 10.0]);
    bytes[240..244].copy_from_slice(&42i32.to_le_bytes());
    bytes[244..248].copy_from_slice(&1u32.to_le_bytes());
    let module = module("uniforms");
    let mut inputs = Inputs::of_frame(4, 2);
    let missing = draw(&module, &inputs).unwrap_err();
    assert_eq!(missing.to_string(), "no values for the block `Block` (set 1, binding 3)");
    inputs.blocks.insert((1, 3), bytes[..100].to_vec());
    assert_eq!(draw(&module, &inputs).unwrap_err().to_string(), "the block `Block` has 248 bytes, 100 were given");
    inputs.blocks.insert((1, 3), bytes);
    let wants = [
        [1.5, 2.0, 3.0, 4.0],
        [1.0, 2.0, 3.0, 4.0],
        [30.0, 36.0, 42.0, 0.0],
        [10.0, 12.0, 14.0, 15.0],
        [0.25, 0.5, 0.75, 0.5],
        [-1.0, -2.0, -3.0, 200.0],
        [7.0, 8.0, 42.0, 1.0],
        [-1.0, -1.5, -3.0, 10.0],
    ];
    let drawn = draw(&module, &inputs).unwrap();
    assert_eq!(drawn.pixels, wants.map(Some));
    assert!(!drawn.rough.contains(&true));
    let block = &module.blocks().unwrap()[0];
    let members: Vec<_> = block.members.iter().map(|m| (m.name.as_str(), m.offset)).collect();
    assert_eq!(members, [("a", 0), ("b", 16), ("m", 32), ("r", 80), ("list", 128), ("lights", 176), ("count", 240), ("on", 244)]);
}

/// Texel (x, y, z) of layer l is (x, y, z, l).
fn ramp(kind: Kind, size: [u32; 3], layers: u32) -> Texture {
    let mut texels = Vec::new();
    for l in 0..layers {
        for z in 0..size[2] {
            for y in 0..size[1] {
                texels.extend((0..size[0]).map(|x| [x as f32, y as f32, z as f32, l as f32]));
            }
        }
    }
    Texture::new(kind, size, layers, texels).unwrap()
}

fn textured() -> Inputs {
    let mut inputs = Inputs::of_frame(8, 2);
    let nearest = Sampler { linear: false, mip: Mip::Nearest, wrap: [Wrap::Clamp; 3] };
    inputs.textures.insert((0, 0), vec![Arc::new(ramp(Kind::D2, [4, 4, 1], 1).with_levels())]);
    inputs.textures.insert((0, 1), vec![Arc::new(ramp(Kind::D3, [2, 4, 6], 1))]);
    inputs.textures.insert((0, 2), vec![Arc::new(ramp(Kind::Cube, [1, 1, 1], 6))]);
    let constant = |v: f32| Arc::new(Texture::new(Kind::D2, [1, 1, 1], 1, vec![[v; 4]]).unwrap());
    inputs.textures.insert((0, 3), vec![constant(5.0), constant(6.0)]);
    inputs.textures.insert((0, 4), vec![Arc::new(ramp(Kind::D2, [2, 2, 1], 1).with_sampler(nearest))]);
    inputs
}

#[test]
fn textures_are_sampled_as_vulkan_says() {
    let module = module("textures");
    let inputs = textured();
    let drawn = draw(&module, &inputs).unwrap();
    let wants: [[f32; 4]; 16] = [
        // u = 0.25·4 − 0.5: half between texels 0 and 1, and between 2 and 3.
        [0.5, 2.5, 0.0, 0.0],
        [1.5, 1.5, 0.0, 0.0],
        [3.0, 1.0, 0.0, 0.0],
        // Half a texel outside, repeated: texel 3 to the left, texel 0 below.
        [3.0, 0.0, 0.0, 0.0],
        [0.5, 1.5, 2.5, 0.0],
        // Faces of one texel: layer 3 (−y) weighs 17/18·8/9, its neighbour 4 (+z) 17/18·1/9, the corner, which is taken from 4, 1/18·1/9.
        [0.0, 0.0, 0.0, 80.0 / 27.0],
        // The middle of an edge lies on the face of the axis that is looked at first, y; half a texel outside of it begins +x.
        [0.0, 0.0, 0.0, 1.0],
        [6.0; 4],
        [4.0, 4.0, 3.0, 6.0],
        // Texels (1,2), (2,2), (2,1), (1,1).
        [1.0, 2.0, 2.0, 1.0],
        // Levels 1 and 2 are ramps from 0.5 to 2.5 and the mean.
        [1.5, 1.5, 0.0, 0.0],
        [1.5, 1.5, 0.0, 0.0],
        // 4.5/8·2 = 1.125, 1.5/2·2 = 1.5; a pixel right is one texel, a pixel down four: level 2, the mean.
        [1.5, 1.5, 0.0, 0.0],
        // (0.25, 0.75).
        [0.5, 2.5, 0.0, 0.0],
        [1.0, 0.0, 0.0, 0.0],
        // A pixel right is 4 texels, one down 16: level 4 of 0 to 2.
        [2.0, 4.0, 0.0, 0.0],
    ];
    for (at, wants) in wants.into_iter().enumerate() {
        close(drawn.pixels[at].unwrap(), wants, 1e-5, &format!("pixel {at}"));
    }
    let mut wrong = inputs.clone();
    wrong.textures.insert((0, 1), inputs.textures[&(0, 0)].clone());
    assert_eq!(draw(&module, &wrong).unwrap_err().to_string(), "`solid` wants a texture of the kind Dim3D, one of the kind D2 was given");
    wrong.textures.get_mut(&(0, 3)).unwrap().pop();
    wrong.textures.insert((0, 1), inputs.textures[&(0, 1)].clone());
    let missing = InterpretError::MissingTexture { name: "several".into(), set: 0, binding: 3, element: 1 };
    assert_eq!(draw(&module, &wrong).unwrap_err(), missing);
}

#[test]
fn a_filtered_texel_taints_the_branches_that_depend_on_it() {
    if !crate::common::has("glslangValidator") {
        return;
    }
    let source = |what: &str| {
        format!(
            "#version 450\nlayout(location=0) out vec4 c;\nlayout(set=0,binding=0) uniform sampler2D t;\nvoid main() {{\n float v = {what};\n c = vec4(0.0);\n if (v > 1.0) c = vec4(1.0);\n}}"
        )
    };
    let rough = |what: &str| {
        let module = warpsight_shader::module::Module::from_bytes(&crate::common::compile(&source(what))).unwrap();
        draw(&module, &textured()).unwrap().rough.contains(&true)
    };
    assert!(rough("texture(t, vec2(0.3)).x"));
    assert!(!rough("texelFetch(t, ivec2(1), 0).x"));
    assert!(rough("sin(gl_FragCoord.x)"));
    assert!(rough("floor(gl_FragCoord.x / 3.0)"));
    assert!(!rough("floor(gl_FragCoord.x * 0.25) + abs(gl_FragCoord.y)"));
    assert!(rough("pow(gl_FragCoord.x, 2.0) * 0.0"));
}

#[test]
fn numbers_of_64_bits_are_exact() {
    let drawn = draw(&module("wide"), &Inputs::of_frame(8, 1)).unwrap();
    for x in 0..8u64 {
        let d = x as f64 * 0.1;
        let big = x * 5_000_000_000;
        let low = big as i64 - 7_000_000_000;
        let wants = match x {
            7 => {
                let v = d * 12.5;
                [(d * d + (d + 1.0) * (d + 1.0) + 4.0).sqrt() as f32, (v - v.trunc()) as f32, v.trunc() as f32, d.sqrt() as f32]
            }
            6 => [f32::from(u8::from(low < 0)), big as u32 as f32, (big >> 32) as u32 as f32, (d + 1.0) as f32],
            _ => [((d * d + (d + 1.0) * (d + 1.0) + 4.0) - d * d) as f32, (d - 6.0) as f32, (big / 1000) as f32, (low >> 20) as f32],
        };
        assert_eq!(drawn.pixels[x as usize].unwrap(), wants, "x = {x}");
    }
}

#[test]
fn derivatives_pointers_and_inputs_work_together() {
    let module = module("slopes");
    let mut inputs = Inputs::of_frame(6, 4);
    inputs.varyings.insert(5, Varying { start: [2.0, 0.0, 0.0, 0.0], ..Varying::default() });
    assert_eq!(draw(&module, &inputs).unwrap_err().to_string(), "no values for the input `across` at location 2");
    inputs.varyings.insert(2, Varying { start: [1.0, 2.0, 0.0, 0.0], dx: [0.5, 0.0, 0.0, 0.0], dy: [-0.25, 0.0, 0.0, 0.0] });
    let drawn: Drawn = draw(&module, &inputs).unwrap();
    for (at, pixel) in drawn.pixels.iter().enumerate() {
        let (x, y) = ((at % 6) as f32 + 0.5, (at / 6) as f32 + 0.5);
        let left = (at % 6 / 2 * 2) as f32 + 0.5;
        let first = at % 6 % 3;
        // The third element is three times the place; it grows twice where the first call chose it too.
        let grown = 3.0 * y + if first == 2 { 2.0 } else { 1.0 };
        let w = if at / 6 % 2 == 1 { 3.0 } else { 1.0 };
        let wants = [(left + 1.0).powi(2) - left * left, 3.0, 0.75, grown + 2.0 + 3.0 * x + w * 2.0];
        close(pixel.unwrap(), wants, 1e-6, &format!("pixel {at}"));
    }
}
