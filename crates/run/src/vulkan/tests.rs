//! On the first CPU rasteriser that Vulkan knows (lavapipe, on most machines).

use super::picture::words;
use super::*;
use crate::Contents;

/// A draw of `work.frag`.
pub(crate) fn work(base: [f32; 4], slope: [f32; 3], rounds: u32) -> Draw {
    let floats = base.iter().chain(&slope).flat_map(|v| v.to_le_bytes());
    let block: Vec<u8> = floats.chain(rounds.to_le_bytes()).collect();
    Draw {
        words: words(include_bytes!("shaders/tests/work.frag.spv")),
        entry: "main".into(),
        frame: [64, 48],
        outputs: 1,
        bindings: vec![Binding { set: 0, binding: 0, resource: Resource::Uniform(vec![Contents(block)]) }],
        read: true,
        ..Draw::default()
    }
}

/// The id of the first rasteriser; `None` (and a word of it) where there is none, which no CI may say.
pub(crate) fn rasteriser() -> Option<String> {
    let listing = list();
    let found = listing.devices.iter().find(|d| d.is_cpu).map(|d| d.id.clone());
    if found.is_none() {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "CI needs a Vulkan rasteriser: {:?}", listing.skipped);
        eprintln!("skipped: {:?}", listing.skipped);
    }
    found
}

fn device() -> Option<Vulkan> {
    rasteriser().map(|id| Vulkan::open(&id).unwrap())
}

fn timing(least: f64) -> Option<Timing> {
    let (least, patience, longest) = (Seconds(least), Seconds(5.0), Seconds(5.0));
    Some(Timing { least, trials: 3, spread: 1.0, rounds: 2, patience, longest })
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks::<4>().0.iter().map(|w| f32::from_le_bytes(*w)).collect()
}

#[test]
fn a_rasteriser_says_what_it_is() {
    let Some(id) = rasteriser() else { return };
    let device = Vulkan::open(&id).unwrap();
    let info = device.info();
    assert_eq!((info.id.as_str(), info.backend.as_str(), info.is_cpu), (id.as_str(), "vulkan", true));
    if info.name.contains("llvmpipe") {
        assert!(info.facts["llvm_version"].contains('.') && info.facts["mesa_version"].contains('.'), "{:?}", info.facts);
        assert!(["128", "256", "512"].contains(&info.facts["vector_bits"].as_str()), "{:?}", info.facts);
        assert!(has(info, "shaderInt64") && has(info, "fragmentStoresAndAtomics") && !has(info, "flight"));
    }
}

#[test]
fn pixels_are_what_the_shader_writes() {
    let Some(mut device) = device() else { return };
    let draw = Draw { format: Format::Floats, ..work([0.5, -1.0, 3.0, 0.25], [1.0, 2.0, 0.0], 0) };
    let drawn = device.draw(&draw).unwrap();
    let pixels = floats(&drawn.pixels[0].0);
    assert_eq!(pixels.len(), 64 * 48 * 4);
    for (x, y) in [(0, 0), (63, 0), (7, 47)] {
        let at = x as f32 + 0.5;
        assert_eq!(pixels[4 * (64 * y + x)..][..4], [0.5 + at, -1.0 + 2.0 * at, 3.0, 0.25]);
    }
    // One round: fract(v.yzx * 1.7 + v * v * 0.3 + 0.1) of (0.5, 0.5, 0.5) everywhere.
    let drawn = device.draw(&Draw { format: Format::Floats, ..work([0.5; 4], [0.0; 3], 1) }).unwrap();
    let expected = 0.5f32 * 1.7 + 0.5 * 0.5 * 0.3 + 0.1 - 1.0;
    assert!((floats(&drawn.pixels[0].0)[4 * 100] - expected).abs() < 1e-6);
}

#[test]
fn inputs_outputs_pushed_values_and_buffers() {
    let Some(mut device) = device() else { return };
    let push: Vec<u8> = [10.0f32, 100.0].iter().flat_map(|v| v.to_le_bytes()).collect();
    let draw = Draw {
        words: words(include_bytes!("shaders/tests/count.frag.spv")),
        entry: "main".into(),
        frame: [8, 4],
        outputs: 2,
        format: Format::Floats,
        varyings: true,
        bindings: vec![Binding { set: 1, binding: 2, resource: Resource::Storage(Contents(1u32.to_le_bytes().repeat(8))) }],
        push,
        read: true,
        ..Draw::default()
    };
    // Timing draws many times; the counts are those of the first draw all the same.
    for timing in [None, timing(0.002)] {
        let drawn = device.draw(&Draw { timing, ..draw.clone() }).unwrap();
        // Two rows of three each, and the one that was there.
        assert_eq!(drawn.storage, [Contents(7u32.to_le_bytes().repeat(8))]);
        let [first, second] = [0, 1].map(|i| floats(&drawn.pixels[i].0));
        let at = |pixels: &[f32], x: usize, y: usize| pixels[4 * (8 * y + x)..][..4].to_vec();
        assert_eq!(at(&second, 3, 1), [3.5, 1.5, 5.0, 7.0]);
        assert_eq!((at(&first, 0, 2), at(&second, 7, 3)), (vec![0.0; 4], vec![0.0; 4]), "discarded");
        let place = at(&first, 5, 1);
        // (5.5 / 8, 1.5 / 4) times the pushed scale.
        assert!((place[0] - 6.875).abs() < 1e-4 && (place[1] - 37.5).abs() < 1e-3, "{place:?}");
    }
}

#[test]
fn flat_images_are_flagged_and_equal_images_have_one_hash() {
    let Some(mut device) = device() else { return };
    let mut look = |base: [f32; 4], slope: [f32; 3]| device.draw(&work(base, slope, 0)).unwrap().looks;
    let [black, white] = [look([0.0, 0.0, 0.0, 1.0], [0.0; 3]), look([1.0; 4], [0.0; 3])];
    assert_eq!((black.black, black.white, black.constant), (true, false, true));
    assert_eq!((white.black, white.white, white.constant), (false, true, true));
    let ramp = look([0.0, 0.0, 0.0, 1.0], [0.01, 0.0, 0.0]);
    assert_eq!((ramp.black, ramp.white, ramp.constant), (false, false, false));
    assert_eq!(ramp, look([0.0, 0.0, 0.0, 1.0], [0.01, 0.0, 0.0]));
    assert_ne!(ramp.hash, look([0.0, 0.0, 0.0, 1.0], [0.02, 0.0, 0.0]).hash);
}

/// Ten times the work: as much more time, within what a busy machine and the cost of a draw itself allow.
#[test]
fn more_work_takes_longer() {
    let Some(mut device) = device() else { return };
    let mut time = |rounds: u32| {
        let times = device.draw(&Draw { timing: timing(0.01), ..work([0.3; 4], [0.01; 3], rounds) }).unwrap().times.unwrap();
        assert_eq!((times.clock, times.stable), (DrawClock::Processor, true));
        assert!(times.trials.len() >= 3 && times.first.0 > 0.0, "{times:?}");
        assert!(times.trials.iter().all(|t| t.seconds.0 * f64::from(t.draws) >= 0.01 && t.reference.0 > 0.0), "{times:?}");
        let mut relative: Vec<f64> = times.trials.iter().map(|t| t.seconds.0 / t.reference.0).collect();
        relative.sort_by(f64::total_cmp);
        relative[relative.len() / 2]
    };
    let ratio = time(4000) / time(400);
    assert!((4.0..25.0).contains(&ratio), "{ratio}");
}

#[test]
fn a_draw_that_takes_too_long_is_refused() {
    let Some(mut device) = device() else { return };
    let timing = timing(0.01).map(|t| Timing { longest: Seconds(1e-6), ..t });
    let error = device.draw(&Draw { timing, ..work([0.3; 4], [0.01; 3], 400) }).unwrap_err();
    assert!(matches!(&error, DeviceError::Limit { what, available: 0, .. } if what.starts_with("one draw")), "{error}");
}

#[test]
fn what_makes_no_sense_is_refused_before_a_driver_sees_it() {
    let Some(mut device) = device() else { return };
    let mut refused = |change: &dyn Fn(&mut Draw), message: &str| {
        let mut draw = work([0.0; 4], [0.0; 3], 0);
        change(&mut draw);
        let error = device.draw(&draw).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    };
    let vertices = words(include_bytes!("shaders/frame.vert.spv"));
    refused(&|d| d.words.clone_from(&vertices), "`main` is no fragment shader");
    refused(&|d| d.words.truncate(9), "ends beyond it");
    refused(&|d| d.words[0] = 7, "no SPIR-V");
    refused(&|d| d.entry = "other".into(), "no entry point `other`");
    refused(&|d| d.frame = [0, 4], "without pixels");
    refused(&|d| d.frame = [1 << 30, 4], "a frame's width needs 1073741824");
    refused(&|d| d.outputs = 1000, "outputs needs 1000");
    refused(&|d| d.bindings[0].binding = u32::MAX, "bindings of a descriptor set needs 4294967296");
    refused(&|d| d.bindings[0].set = 1 << 20, "descriptor sets needs 1048577");
    refused(&|d| d.bindings.push(d.bindings[0].clone()), "two resources at set 0 binding 0");
    refused(&|d| d.bindings[0].resource = Resource::Sampled(vec![0]), "a texture that is not there");
    refused(&|d| d.bindings[0].resource = Resource::Samplers(vec![]), "nothing is bound");
    refused(&|d| d.bindings[0].resource = Resource::Uniform(vec![Contents(vec![0; 1 << 28])]), "a uniform block, in bytes,");
    let texture = |levels: Vec<Level>| Texture {
        shape: Shape::D2,
        arrayed: false,
        layers: 1,
        texel: Texel::Bytes,
        levels,
        sampler: Sampler { linear: true, mix_levels: true, wrap: [Wrap::Repeat; 3], compare: false },
    };
    let level = |size: [u32; 3], bytes: usize| Level { size, bytes: vec![0; bytes] };
    refused(&|d| d.textures = vec![texture(vec![])], "without levels");
    refused(&|d| d.textures = vec![texture(vec![level([4, 4, 1], 60)])], "level 0 of a texture");
    refused(&|d| d.textures = vec![texture(vec![level([4, 4, 1], 64), level([3, 2, 1], 24)])], "level 1 of a texture");
    refused(&|d| d.textures = vec![texture(vec![level([4, 4, 2], 128)])], "is no D2");
    refused(&|d| d.textures = vec![texture(vec![level([u32::MAX; 3], 4)])], "is no D2");
}

#[test]
fn a_device_that_is_not_there_is_said() {
    if list().devices.iter().all(|d| d.is_cpu) {
        let error = Vulkan::open("vulkan:gpu").err().unwrap().to_string();
        assert!(error.contains("no Vulkan"), "{error}");
    }
    for id in ["vulkan:99", "vulkan:", "vulkan:x", "cuda:0"] {
        let error = Vulkan::open(id).err();
        assert!(matches!(&error, Some(DeviceError::NoDevice { id: of, .. }) if of == id), "{error:?}");
    }
}
