//! What shaders are given: defaults by name, values by name, textures.

use crate::common::module;
use std::collections::BTreeMap;
use warpsight_shader::interpret::Kind;
use warpsight_shader::module::Module;
use warpsight_shader::scene::{Assumption, Scene, SceneError};

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks(4).map(|w| f32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect()
}

#[test]
fn defaults_go_by_name_and_given_values_replace_them() {
    let scene = Scene { frame: [320, 200], uniforms: BTreeMap::from([("a".to_owned(), vec![7.0])]), ..Scene::default() };
    let module = module("uniforms");
    let (inputs, assumed) = scene.inputs(&module).unwrap();
    let bytes = &inputs.blocks[&(1, 3)];
    let words = floats(bytes);
    assert_eq!(words[0], 7.0, "given");
    assert_eq!(words[4..7], [1.0; 3], "a vector of ones");
    assert_eq!((&words[8..11], &words[12..15], &words[16..19]), (&[1.0, 0.0, 0.0][..], &[0.0, 1.0, 0.0][..], &[0.0, 0.0, 1.0][..]));
    let names: Vec<_> =
        assumed.iter().filter_map(|a| if let Assumption::Uniform { name, .. } = a { Some(name.as_str()) } else { None }).collect();
    assert_eq!(names, ["b", "m", "r", "list", "lights", "count", "on"], "all that was not given is said");
}

#[test]
fn the_frame_is_known_under_its_usual_names() {
    let source = "#version 450\nlayout(location=0) out vec4 c;\nlayout(set=0,binding=0,std140) uniform B { vec3 iResolution; float ratio; vec4 texsize; \
                  vec2 u_resolution; float progress; float iTime; ivec2 size; vec3 iChannelResolution[4]; };\n\
                  void main() { c = vec4(iResolution, ratio) + texsize + vec4(u_resolution, progress, iTime) + vec4(size, iChannelResolution[1].xy); }";
    if !crate::common::has("glslangValidator") {
        return;
    }
    let module = Module::from_bytes(&crate::common::compile(source)).unwrap();
    let scene = Scene { frame: [400, 100], texture: 64, ..Scene::default() };
    let (inputs, assumed) = scene.inputs(&module).unwrap();
    let said: Vec<String> = assumed.iter().map(ToString::to_string).collect();
    assert_eq!(said, ["progress = 0.5", "iTime = 1"], "sizes are known");
    let words = floats(&inputs.blocks[&(0, 0)]);
    assert_eq!(words[..4], [400.0, 100.0, 1.0, 4.0]);
    assert_eq!(words[4..8], [400.0, 100.0, 1.0 / 400.0, 1.0 / 100.0]);
    assert_eq!(words[8..12], [400.0, 100.0, 0.5, 1.0]);
    assert_eq!([words[12].to_bits(), words[13].to_bits()], [400, 100], "an integer gets integers");
    assert_eq!((&words[16..19], &words[28..31]), (&[64.0, 64.0, 1.0][..], &[64.0, 64.0, 1.0][..]));
}

#[test]
fn textures_are_smooth_noise_of_eight_bits_that_repeats() {
    let (inputs, assumed) = Scene { texture: 128, ..Scene::default() }.inputs(&module("textures")).unwrap();
    let of = |binding| &inputs.textures[&(0, binding)];
    assert_eq!([of(0).len(), of(3).len()], [1, 2], "an array of samplers has several");
    assert_eq!([of(0)[0].kind, of(1)[0].kind, of(2)[0].kind], [Kind::D2, Kind::D3, Kind::Cube]);
    assert_eq!((of(0)[0].size(0), of(1)[0].size(0), of(2)[0].size(0), of(0)[0].levels()), ([128, 128, 1], [16; 3], [32, 32, 1], 8));
    assert_eq!(assumed.len(), 5);
    let texels = of(0)[0].texels(0);
    assert!(texels.iter().flatten().all(|c| (c * 255.0 - (c * 255.0).round()).abs() < 1e-4), "8 bits a channel");
    let reds: Vec<f32> = texels.iter().map(|t| t[0]).collect();
    let mean = reds.iter().sum::<f32>() / reds.len() as f32;
    let deviation = (reds.iter().map(|r| (r - mean).powi(2)).sum::<f32>() / reds.len() as f32).sqrt();
    assert!((0.4..0.6).contains(&mean) && (0.07..0.3).contains(&deviation), "{mean} {deviation}");
    let step = |stride: usize| (0..127 * 128).map(|i| (reds[i] - reds[(i + stride) % reds.len()]).abs()).sum::<f32>() / (127.0 * 128.0);
    assert!(2.0 * step(1) < step(63), "neighbours are alike: {} {}", step(1), step(63));
    assert!((0..128).all(|y| (reds[128 * y] - reds[128 * y + 127]).abs() < 0.25), "it goes on where it repeats");
    assert_ne!(texels, of(4)[0].texels(0), "other bindings, other pictures");
}

#[test]
fn what_does_not_fit_is_said() {
    let with = |name: &str, values: Vec<f64>| Scene { uniforms: BTreeMap::from([(name.to_owned(), values)]), ..Scene::default() };
    let module = module("uniforms");
    let scene = with("b", vec![1.0, 2.0]);
    assert_eq!(scene.inputs(&module).unwrap_err(), SceneError::Components { name: "b".to_owned(), components: 3, given: 2 });
    let scene = with("count", vec![0.5]);
    assert_eq!(scene.inputs(&module).unwrap_err().to_string(), "uniform `count` cannot be 0.5");
    let scene = with("iTime", vec![0.5]);
    assert!(scene.inputs(&module).is_ok(), "a scene may serve several modules");
    assert!(scene.check(&module).unwrap_err().to_string().starts_with("the shader has no uniform `iTime`; it has a, b, m"));
    for (frame, texture) in [([0, 5], 256), ([512, 99999], 256), ([512, 384], 4), ([512, 384], 5000)] {
        assert!(Scene { frame, texture, ..Scene::default() }.inputs(&module).is_err());
    }
}
