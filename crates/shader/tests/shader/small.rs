//! Numbers of 8 and 16 bits, and arrays of blocks, against Rust's.

use crate::common::{compile, draw, has, module};
use half::f16;
use std::collections::BTreeMap;
use warpsight_shader::interpret::Inputs;
use warpsight_shader::module::Module;
use warpsight_shader::scene::{Assumption, Scene, SceneError};

fn wants(which: u32, n: i32) -> [f32; 4] {
    let h = f16::from_f32(n as f32 + 0.1);
    let round = |x: f32| f16::from_f32(x).to_f32();
    let x = h.to_f32();
    let (s, u) = ((n * 9000 - 30000) as i16, (n * 9000) as u16);
    let (b, c) = ((n * 40 - 100) as i8, (n * 40) as u8);
    let float = |v: i32| v as f32;
    match which {
        0 => [x, round(x * x), round(x + 1000.0), round(round(x * x) - x)],
        1 => [s.wrapping_add(s).into(), s.wrapping_mul(3).into(), u.wrapping_add(u).into(), s.wrapping_neg().into()],
        2 => [b.wrapping_add(b).into(), b.wrapping_mul(3).into(), c.wrapping_add(c).into(), (!c).into()],
        3 => [(s / 7).into(), f32::from(u8::from(s % 7 == 0)), (s >> 3).into(), (u >> 3).into()],
        4 => [s.min(0).into(), f32::from(u8::from(s < -1000)), b.max(-3).into(), s.wrapping_abs().into()],
        5 => [b.into(), c.into(), i16::from(b).wrapping_mul(100).into(), (u as u8).into()],
        6 => [(s as u16).into(), (u >> 8).into(), float(h.to_bits().into()), f16::from_bits(15360 + n as u16).to_f32()],
        _ => {
            let m = [if n > 3 { 0.5 } else { x }, 0.5, -1.5];
            [round(-2.0 + m[0]), round(2.0 + m[1]), round(x.floor() + m[2]), b.signum().into()]
        }
    }
}

#[test]
fn short_numbers_are_rounded_and_wrapped_at_every_step() {
    let drawn = draw(&module("small"), &Inputs::of_frame(8, 7)).unwrap();
    for (index, pixel) in (0..).zip(&drawn.pixels) {
        let (x, y) = (index % 8, index / 8);
        assert_eq!(pixel.unwrap(), wants(x, y as i32), "case {x}, n = {y}");
    }
}

#[test]
fn sixteen_bits_are_what_a_switch_and_constants_take() {
    if !has("glslangValidator") || !has("spirv-as") {
        return;
    }
    // glslang selects by integers of 32 bits only, other compilers by shorter ones.
    let text = "OpCapability Shader\nOpCapability Int16\nOpMemoryModel Logical GLSL450\nOpEntryPoint Fragment %main \"main\" %o %p\n\
        OpExecutionMode %main OriginUpperLeft\nOpDecorate %o Location 0\nOpDecorate %p BuiltIn FragCoord\n\
        %void = OpTypeVoid\n%fn = OpTypeFunction %void\n%f = OpTypeFloat 32\n%v4 = OpTypeVector %f 4\n%i16 = OpTypeInt 16 1\n\
        %po = OpTypePointer Output %v4\n%pi = OpTypePointer Input %v4\n%o = OpVariable %po Output\n%p = OpVariable %pi Input\n\
        %k = OpConstant %i16 -2\n%one = OpConstant %i16 1\n%a = OpConstant %f 10\n%b = OpConstant %f 20\n%c = OpConstant %f 30\n\
        %main = OpFunction %void None %fn\n%l = OpLabel\n%at = OpLoad %v4 %p\n%x = OpCompositeExtract %f %at 0\n%i = OpConvertFToS %i16 %x\n\
        %s = OpISub %i16 %i %one\n%t = OpIMul %i16 %s %k\nOpSelectionMerge %end None\nOpSwitch %t %else -2 %two 2 %less\n\
        %two = OpLabel\nOpBranch %end\n%less = OpLabel\nOpBranch %end\n%else = OpLabel\nOpBranch %end\n%end = OpLabel\n\
        %r = OpPhi %f %a %two %b %less %c %else\n%out = OpCompositeConstruct %v4 %r %r %r %r\nOpStore %o %out\nOpReturn\nOpFunctionEnd\n";
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (dir.path().join("x.spvasm"), dir.path().join("x.spv"));
    std::fs::write(&from, text).unwrap();
    let out = std::process::Command::new("spirv-as").args(["--target-env", "vulkan1.1", "-o"]).args([&to, &from]).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let module = Module::from_bytes(&std::fs::read(to).unwrap()).unwrap();
    let drawn = draw(&module, &Inputs::of_frame(4, 1)).unwrap();
    // (x − 1)·−2: 2, 0, −2, −4.
    assert_eq!(drawn.pixels.iter().map(|p| p.unwrap()[0]).collect::<Vec<_>>(), [20.0, 30.0, 10.0, 30.0]);
}

#[test]
fn every_block_of_an_array_has_bytes_of_its_own() {
    let module = module("arrays");
    let block = &module.blocks().unwrap()[0];
    // std140: vec3, float16 at 12, int16[2] every 16 bytes from 16, mat2 from 48.
    assert_eq!((block.elements, block.bytes, block.spacing(), block.leaves.len()), (3, 72, 80, 30));
    let mut inputs = Inputs::of_frame(4, 1);
    let mut bytes = vec![0; 240];
    for (index, leaf) in block.leaves.iter().enumerate() {
        let at = leaf.offset as usize;
        let value = index as f32 + 0.5;
        match leaf.scalar.bits() {
            32 => bytes[at..at + 4].copy_from_slice(&value.to_le_bytes()),
            _ if index % 10 == 3 => bytes[at..at + 2].copy_from_slice(&f16::from_f32(value).to_le_bytes()),
            _ => bytes[at..at + 2].copy_from_slice(&(-(index as i16)).to_le_bytes()),
        }
    }
    inputs.blocks.insert((0, 2), bytes.clone());
    let drawn = draw(&module, &inputs).unwrap();
    let pixels: Vec<[f32; 4]> = drawn.pixels.iter().map(|p| p.unwrap()).collect();
    assert_eq!(pixels[..3], [[0.5, 1.5, 2.5, 3.5], [10.5, 11.5, 12.5, 13.5], [20.5, 21.5, 22.5, 23.5]]);
    assert_eq!(pixels[3], [-4.0, -15.0, -24.0, 18.5]);
    inputs.blocks.insert((0, 2), bytes[..200].to_vec());
    assert!(draw(&module, &inputs).unwrap_err().to_string().contains("Lamp"));
}

#[test]
fn a_scene_gives_short_numbers_and_arrays_of_blocks() {
    let module = module("arrays");
    let scene = |name: &str, values: &[f64]| Scene {
        frame: [4, 1],
        uniforms: BTreeMap::from([(name.to_owned(), values.to_vec())]),
        ..Scene::default()
    };
    let (inputs, assumed) = scene("power", &[0.1]).inputs(&module).unwrap();
    let names: Vec<&str> =
        assumed.iter().filter_map(|a| if let Assumption::Uniform { name, .. } = a { Some(name.as_str()) } else { None }).collect();
    assert_eq!(names, ["tint", "counts", "turn"], "each once");
    let drawn = draw(&module, &inputs).unwrap();
    let power = f16::from_f32(0.1).to_f32();
    assert_eq!(drawn.pixels[2], Some([1.0, 1.0, 1.0, power]), "the identity is the turn's default");
    assert_eq!(drawn.pixels[3], Some([1.0, 1.0, 1.0, 0.0]));
    let (inputs, _) = scene("counts", &[-32768.0, 32767.0]).inputs(&module).unwrap();
    assert_eq!(draw(&module, &inputs).unwrap().pixels[3], Some([-32768.0, 32767.0, -32768.0, 0.0]));
    assert_eq!(scene("counts", &[32768.0]).inputs(&module).unwrap_err(), SceneError::Value { name: "counts".into(), value: 32768.0 });
}

#[test]
fn what_is_not_interpreted_of_them_is_said() {
    if !has("glslangValidator") {
        return;
    }
    let refused = |declared: &str, body: &str| {
        let source = format!(
            "#version 450\n#extension GL_EXT_shader_explicit_arithmetic_types : require\n#extension GL_EXT_shader_16bit_storage : require\n\
             layout(location=0) out vec4 o;\n{declared}\nvoid main() {{ {body} }}"
        );
        draw(
            &Module::from_bytes(&compile(&source)).unwrap(),
            &Scene::default().inputs(&Module::from_bytes(&compile(&source)).unwrap()).unwrap().0,
        )
        .unwrap_err()
        .to_string()
    };
    let buffer = refused("layout(binding=0) buffer B { uint16_t a[]; };", "o = vec4(a[3]);");
    assert!(buffer.contains("8 and 16 bits in storage buffers"), "{buffer}");
    let length = refused("layout(binding=0) buffer B { uint16_t a[]; };", "o = vec4(a.length());");
    assert!(length.contains("8 and 16 bits in storage buffers"), "{length}");
    let arrays = refused("layout(binding=0) buffer B { float a; } b[2];", "o = vec4(b[1].a);");
    assert!(arrays.contains("arrays of storage buffers"), "{arrays}");
}
