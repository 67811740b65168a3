//! Kinds of images: random Programs over all of them give what the interpreter gives, on the simulator and on every OpenCL device that
//! is here. `cuda_device.rs` has the same for CUDA.

#[path = "common/images.rs"]
mod images;

use warpsight_ir::{ImageFormat, ImageKind};
use warpsight_run::{Device, DeviceError, Init, Job, MemoryKind, MemorySpec, Options, devices, open};

fn options() -> Options {
    Options { in_process: true, cache: None, ..Options::default() }
}

/// OpenCL devices with images; under `CI=true` there must be one.
fn opencl() -> Vec<Box<dyn Device>> {
    let listing = devices(&options());
    let ids = listing.devices.iter().filter(|info| info.backend == "opencl" && info.limits.image_2d != Some((0, 0)));
    let found: Vec<_> = ids.map(|info| open(&info.id, &options()).unwrap()).collect();
    assert!(!found.is_empty() || std::env::var("CI").as_deref() != Ok("true"), "CI needs an OpenCL device with images");
    if found.is_empty() {
        eprintln!("skipped: no OpenCL device with images");
    }
    found
}

/// SEEDS=1000 looks further.
fn seeds() -> std::ops::Range<u64> {
    0..std::env::var("SEEDS").ok().and_then(|s| s.parse().ok()).unwrap_or(24)
}

fn equal(device: &mut dyn Device, text: &str, seed: u64) {
    let (job, written) = images::job(text, seed);
    let result = device.run(&job).unwrap_or_else(|error| panic!("{}: {error}\n{text}", device.info().id));
    for (position, (found, wanted)) in result.read.iter().zip(&written).enumerate() {
        assert!(found.0 == *wanted, "{}: to{position} differs\n{text}", device.info().id);
    }
}

#[test]
fn random_programs_use_every_kind_and_compute_something() {
    let texts: Vec<String> = seeds().map(images::text).collect();
    for kind in
        ["read image1d ", "read image1d_buffer ", "read image2d ", "read image2d_from_buffer ", "write image1d ", "write image1d_buffer "]
    {
        assert!(texts.iter().filter(|text| text.contains(kind)).count() >= 5, "{kind}");
    }
    // Where everything lies outside there is nothing but one number.
    let differ = |bytes: &Vec<u8>| bytes.chunks(4).any(|own| own != &bytes[..own.len()]);
    let computing = seeds().zip(&texts).filter(|(seed, text)| images::job(text, *seed).1.iter().any(differ)).count();
    assert!(computing * 4 >= texts.len() * 3, "{computing} of {}", texts.len());
}

#[test]
fn the_simulator_gives_what_the_interpreter_gives() {
    let mut device = open("sim:adreno640", &options()).unwrap();
    seeds().for_each(|seed| equal(&mut *device, &images::text(seed), seed));
}

#[test]
fn opencl_gives_what_the_interpreter_gives() {
    for mut device in opencl() {
        let (from_buffer, halves) = (device.info().limits.image_pitch != Some(0), device.info().limits.f16);
        for seed in seeds() {
            let mut text = images::text(seed);
            if text.contains("rgba16h") && !halves {
                let plain = text.replace("image2d_from_buffer", "image2d");
                let error = device.run(&images::job(&plain, seed).0).unwrap_err().to_string();
                assert!(error.contains("computes in half precision (f16), which this device does not have"), "{error}");
                // The same, computed in floats.
                text = text.replace("rgba16h", "rgba16f").replace("half(", "f32(");
            }
            if text.contains("image2d_from_buffer") && !from_buffer {
                let error = device.run(&images::job(&text, seed).0).unwrap_err().to_string();
                assert!(error.contains("is an image2d_from_buffer, for which the device lacks cl_khr_image2d_from_buffer"), "{error}");
                // The other kinds all the same.
                equal(&mut *device, &text.replace("image2d_from_buffer", "image2d"), seed);
            } else {
                equal(&mut *device, &text, seed);
            }
        }
    }
}

/// A job without launches, whose only memory is an image.
fn holding(kind: ImageKind, width: u32, height: u32) -> Job {
    let kind = MemoryKind::Image { kind, format: ImageFormat::Rgba8Unorm, width, height };
    Job { memory: vec![MemorySpec { kind, init: Init::Zero, canaries: false }], read: vec![0], ..Job::default() }
}

#[test]
fn images_reach_as_far_as_their_kind_and_no_farther() {
    for mut device in opencl() {
        let limits = device.info().limits.clone();
        let (widest, longest) = (limits.image_1d.unwrap(), limits.image_buffer.unwrap());
        assert_eq!(device.run(&holding(ImageKind::Image1d, widest, 1)).unwrap().read[0].0.len(), widest as usize * 4);
        assert!(longest > widest.into(), "an image1d_buffer is longer than an image1d: {longest} and {widest} texels");
        let beyond = device.run(&holding(ImageKind::Image1dBuffer, widest + 1, 1)).unwrap();
        assert_eq!(beyond.read[0].0, vec![0; (widest as usize + 1) * 4]);
        let limit = |what: String, needed: u64, available: u64| DeviceError::Limit { what, needed, available };
        let name = |word: &str, width: u64| format!("the width of memory 0, an {word} of {width} texels,");
        let error = device.run(&holding(ImageKind::Image1d, widest + 1, 1)).unwrap_err();
        assert_eq!(error, limit(name("image1d", u64::from(widest) + 1), u64::from(widest) + 1, widest.into()));
        if let Ok(over) = u32::try_from(longest + 1) {
            let error = device.run(&holding(ImageKind::Image1dBuffer, over, 1)).unwrap_err();
            assert_eq!(error, limit(name("image1d_buffer", over.into()), over.into(), longest));
        }
    }
}

#[test]
fn memory_of_one_dimension_has_one_row() {
    let mut device = open("sim:adreno640", &options()).unwrap();
    for (kind, word) in [(ImageKind::Image1d, "image1d"), (ImageKind::Image1dBuffer, "image1d_buffer")] {
        let error = device.run(&holding(kind, 4, 2)).unwrap_err().to_string();
        assert_eq!(error, format!("the job cannot run: memory 0 is an {word} of 2 rows, which has one"));
    }
}

/// What has no sampler has no border: the simulator stops where the interpreter does.
#[test]
fn a_read_outside_an_image_without_border_is_a_fault() {
    let mut device = open("sim:adreno640", &options()).unwrap();
    let text = "program line { size n in 1..=40 read image1d_buffer from0: rgba32i[4] write image1d_buffer to0: rgba32i[5]
        groups g = 5 lanes l = 1 { to0@[g] = from0@[g if 0 <= g < 4] } }";
    equal(&mut *device, text, 1);
    let (mut job, _) = images::job(text, 1);
    let wild = warpsight_ir::text::parse(&text.replace(" if 0 <= g < 4", "")).unwrap();
    job.programs = vec![wild.into()];
    match device.run(&job).unwrap_err() {
        DeviceError::Fault { kernel, what } => assert!(kernel == "line" && what.contains("from0"), "{what}"),
        other => panic!("{other}"),
    }
}
