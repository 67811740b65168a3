//! Ways to read textures, on a rasteriser and by the interpreter.

use super::*;
use warpsight_run::glslang;
use warpsight_shader::interpret::{Kind, Mip, Sampler, Texture, Wrap};

/// Pixels of a case: a band of the frame.
const BAND: [u32; 2] = [24, 8];

/// A way to read: an expression of four numbers, by how much its components may differ, and in which share of pixels they may do so by
/// more.
struct Case {
    name: &'static str,
    read: String,
    tolerance: f32,
    share: f64,
}

fn case(name: &'static str, read: impl Into<String>, tolerance: f32, share: f64) -> Case {
    Case { name, read: read.into(), tolerance, share }
}

/// A shader with a case a band. `p` goes over the texture and beyond, `x` and `y` are the pixel's place in its band.
fn shader(sampler: &str, cases: &[Case]) -> Module {
    let [width, height] = BAND;
    // Before the bands part, as derivatives need it.
    let reads: String = cases.iter().enumerate().map(|(i, c)| format!("    vec4 v{i} = {};\n", c.read)).collect();
    let picks: String = (0..cases.len()).map(|i| format!("    if (band == {i}) color = v{i};\n")).collect();
    let source = format!(
        "#version 450\nlayout(location = 0) out vec4 color;\nlayout(set = 0, binding = 0) uniform {sampler} t;\nvoid main() {{\n    \
         int band = int(gl_FragCoord.y) / {height}, x = int(gl_FragCoord.x), y = int(gl_FragCoord.y) - {height} * band;\n    \
         vec2 at = vec2(gl_FragCoord.x / {width}.0, (float(y) + 0.5) / {height}.0);\n    vec3 p = 1.7 * vec3(at, 0.31 + 0.4 * at.x * at.y) - 0.3;\n\
         {reads}    color = vec4(0.0);\n{picks}}}\n"
    );
    Module::new(glslang::fragment(&source).unwrap()).unwrap()
}

/// Texels that tell each place, layer and level from the others.
fn texels(count: u32, of: impl Fn(u32) -> f32) -> Vec<[f32; 4]> {
    let hash = |i: u32| (i.wrapping_mul(0x9e37_79b9) ^ i.wrapping_mul(0x85eb_ca6b).rotate_left(13)).wrapping_mul(0xc2b2_ae35) >> 8;
    (0..count).map(|i| std::array::from_fn(|c| of(hash(4 * i + c as u32)))).collect()
}

/// Numbers that bytes do not hold.
fn fine(hash: u32) -> f32 {
    hash as f32 / (1 << 24) as f32
}

const LINEAR: Sampler = Sampler { linear: true, mip: Mip::Linear, wrap: [Wrap::Repeat; 3] };
const NEAREST: Sampler = Sampler { linear: false, mip: Mip::Nearest, wrap: [Wrap::Clamp; 3] };

/// Levels that are computed may be off by a sixteenth of one (lavapipe's logarithm is an approximation), and where one level is taken
/// pixels between two may take either.
const LEVEL: (f32, f64) = (0.03, 0.1);

/// Draws all cases and compares each.
fn check(device: &mut Vulkan, what: &str, declared: &str, texture: Texture, cases: &[Case]) {
    let module = shader(declared, cases);
    let [width, height] = BAND;
    let mut inputs = Inputs::of_frame(width, height * cases.len() as u32);
    inputs.textures.insert((0, 0), vec![Arc::new(texture)]);
    let ours = interpreted(&module, &inputs);
    let drawn = device.draw(&Draw { read: true, ..draw(&module, &inputs, Format::Floats).unwrap() }).unwrap();
    let theirs = floats(&drawn.pixels[0].0);
    let floats_of_band = (width * height * 4) as usize;
    let bands = ours.chunks(floats_of_band).zip(theirs.chunks(floats_of_band));
    let mut wrong = String::new();
    for (case, (ours, theirs)) in cases.iter().zip(bands) {
        let share = differing(ours, theirs, case.tolerance);
        let varied = ours.windows(2).any(|w| w[0] != w[1]);
        if share > case.share || !varied {
            let worst = ours.iter().zip(theirs).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            let first = ours.iter().zip(theirs).position(|(a, b)| (a - b).abs() > case.tolerance).unwrap_or(0) / 4;
            let at = [ours, theirs].map(|all| all[4 * first..][..4].to_vec());
            wrong += &format!("{what}, {}: {share:.3} of the pixels differ, by up to {worst}; pixel {first}: {at:?}\n", case.name);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Ways that all kinds share, for coordinates `at` (and `whole` numbers for fetches within level 1), steps `dx` and `dy`.
fn common(at: &str, whole: &str, [dx, dy]: [&str; 2], filtered: f32) -> Vec<Case> {
    // A place at the very edge of two texels may be taken for either.
    let (tolerance, share) = (filtered.max(LEVEL.0), LEVEL.1);
    vec![
        case("implicit level", format!("texture(t, {at})"), tolerance, share),
        case("bias", format!("texture(t, {at}, 1.3)"), tolerance, share),
        case("explicit level", format!("textureLod(t, {at}, 1.6)"), filtered, 0.02),
        case("level 0", format!("textureLod(t, {at}, 0.0)"), filtered, 0.02),
        case("gradients", format!("textureGrad(t, {at}, {dx}, {dy})"), tolerance, share),
        case("fetch", format!("texelFetch(t, {whole}, 1)"), 0.0, 0.0),
        case("fetch from the first level", format!("texelFetch(t, {whole}, 0)"), 0.0, 0.0),
    ]
}

#[test]
fn planes() {
    let Some(mut device) = rasteriser() else { return };
    let texture = Texture::new(Kind::D2, [13, 9, 1], 1, texels(13 * 9, fine)).unwrap().with_levels().with_sampler(LINEAR);
    let mut cases = common("p.xy", "ivec2(x % 6, y % 4)", ["vec2(0.21, 0.03)", "vec2(-0.05, 0.17)"], 1e-3);
    cases.extend([
        case("gather", "textureGather(t, p.xy, 1)", 0.0, 0.02),
        case("gather with an offset", "textureGatherOffset(t, p.xy, ivec2(1, -2), 2)", 0.0, 0.02),
        case("offset", "textureOffset(t, p.xy, ivec2(2, -1))", LEVEL.0, LEVEL.1),
        case("offset in a level", "textureLodOffset(t, p.xy, 1.0, ivec2(-1, 1))", 1e-3, 0.02),
        case("projected", "textureProj(t, vec3(1.5 * p.xy, 1.5))", LEVEL.0, LEVEL.1),
        case("fetch with an offset", "texelFetchOffset(t, ivec2(x % 4, y % 3), 1, ivec2(1, 0))", 0.0, 0.0),
        case("sizes", "vec4(textureSize(t, 1) + x, textureQueryLevels(t), 1.0)", 0.0, 0.0),
        // The level that is used, and the one computed.
        case("asked level", "vec4(textureQueryLod(t, p.xy * (1.0 + 0.2 * float(x / 2))), 0.0, 1.0)", 0.0625, 0.0),
    ]);
    check(&mut device, "plane", "sampler2D", texture, &cases);
}

/// Texels of 8 bits, which devices filter with fewer bits.
#[test]
fn planes_of_bytes() {
    let Some(mut device) = rasteriser() else { return };
    let bytes = |hash: u32| (hash & 0xff) as f32 / 255.0;
    for (what, sampler) in [("linear", LINEAR), ("nearest", NEAREST)] {
        let texture = Texture::new(Kind::D2, [16, 16, 1], 1, texels(256, bytes)).unwrap().with_sampler(sampler);
        let cases = common("p.xy", "ivec2(x % 8, y % 8)", ["vec2(0.1, 0.0)", "vec2(0.0, 0.1)"], 0.01);
        // One level only: what is fetched lies in it.
        let mut cases: Vec<Case> = cases.into_iter().filter(|c| c.name != "fetch").collect();
        cases.iter_mut().filter(|c| c.name.starts_with("fetch")).for_each(|c| c.tolerance = 1e-7);
        check(&mut device, what, "sampler2D", texture, &cases);
    }
}

#[test]
fn lines() {
    let Some(mut device) = rasteriser() else { return };
    let line = Texture::new(Kind::D1, [19, 1, 1], 1, texels(19, fine)).unwrap().with_levels().with_sampler(LINEAR);
    let mut cases = common("p.x", "x % 9", ["0.21", "0.1"], 1e-3);
    cases.push(case("sizes", "vec4(textureSize(t, 2) + x, textureQueryLevels(t), 0.0, 1.0)", 0.0, 0.0));
    check(&mut device, "line", "sampler1D", line, &cases);
}

#[test]
fn cubes() {
    let Some(mut device) = rasteriser() else { return };
    let cube = Texture::new(Kind::Cube, [8, 8, 1], 6, texels(6 * 64, fine)).unwrap().with_levels().with_sampler(LINEAR);
    // All faces are met. Texels beyond a face's edge are not weighted alike: in small levels most are.
    let way = "vec3(sin(7.0 * p.x), cos(5.0 * p.y + p.x), sin(3.0 * p.z + 4.0 * p.y))";
    let cases = [
        case("explicit level", format!("textureLod(t, {way}, 1.6)"), 0.03, 0.0),
        case("level 0", format!("textureLod(t, {way}, 0.0)"), 1e-3, 0.03),
        case("implicit level", format!("texture(t, 0.1 * {way} + vec3(0.5, 0.2, 0.1))"), LEVEL.0, LEVEL.1),
        case("sizes", "vec4(textureSize(t, 1) + x, textureQueryLevels(t), 1.0)", 0.0, 0.0),
    ];
    check(&mut device, "cube", "samplerCube", cube, &cases);
}

/// Integers are fetched and sampled as they are.
#[test]
fn integers() {
    let Some(mut device) = rasteriser() else { return };
    let whole = |low: i32| move |hash: u32| ((hash & 0xfff) as i32 + low) as f32;
    for (declared, low) in [("isampler2D", -2000), ("usampler2D", 0)] {
        let texture = Texture::new(Kind::D2, [8, 8, 1], 1, texels(64, whole(low))).unwrap().with_sampler(NEAREST);
        let cases = [
            case("fetch", "vec4(texelFetch(t, ivec2(x & 7, y), 0))", 0.0, 0.0),
            case("level 0", "vec4(textureLod(t, p.xy, 0.0))", 0.0, 0.02),
            case("gather", "vec4(textureGather(t, p.xy, 2))", 0.0, 0.02),
        ];
        check(&mut device, declared, declared, texture, &cases);
    }
}

/// Images and samplers of their own, joined in the shader.
#[test]
fn images_and_samplers_apart() {
    let Some(mut device) = rasteriser() else { return };
    let source = "#version 450\nlayout(location = 0) out vec4 color;\nlayout(set = 0, binding = 0) uniform texture2D image;\n\
                  layout(set = 0, binding = 1) uniform sampler how;\nvoid main() {\n    vec2 p = gl_FragCoord.xy / 17.0;\n    \
                  color = textureLod(sampler2D(image, how), p, 0.0) + texelFetch(sampler2D(image, how), ivec2(gl_FragCoord.xy) / 4, 0);\n}\n";
    let module = Module::new(glslang::fragment(source).unwrap()).unwrap();
    let mut inputs = Inputs::of_frame(24, 24);
    let texture = Texture::new(Kind::D2, [7, 7, 1], 1, texels(49, fine)).unwrap().with_sampler(LINEAR);
    inputs.textures.insert((0, 0), vec![Arc::new(texture)]);
    assert!(disagree(&mut device, &module, &inputs, 1e-3) < 0.02);
}
