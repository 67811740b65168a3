//! On whatever OpenCL device is first; under `CI=true` there must be one. Kernels are text here, so that what Programs could never
//! do (write outside) can be tried.

use super::*;
use crate::testing::scale_job;
use crate::{Init, JobResult, MemoryKind};
use std::fs;
use warpsight_ir::{ImageFormat, ImageKind, TimeSource, Times};

/// The first device, with its compiled programs in `cache`; `None`, with a message, where there is none.
fn device(cache: Option<PathBuf>) -> Option<OpenCl> {
    match OpenCl::open("opencl:0", cache) {
        Ok(device) => Some(device),
        Err(error) => {
            assert!(std::env::var("CI").as_deref() != Ok("true"), "CI needs an OpenCL device: {error}");
            eprintln!("skipped: {error}");
            None
        }
    }
}

/// A job whose kernels are text.
struct RawJob<'a> {
    kernels: Vec<KernelText>,
    memory: &'a [MemorySpec],
    launches: Vec<RawLaunch>,
    read: &'a [usize],
    timing: Option<TimingSpec>,
}

impl OpenCl {
    /// One pass and what it left, then the timed ones.
    fn run_raw(&mut self, job: &RawJob) -> Result<JobResult, DeviceError> {
        let memory = job.memory.iter().enumerate().map(|(i, spec)| Memory::new(i, spec, &self.queue, self.alignment));
        let mut bench = Bench::new(memory.collect::<Result<_, _>>()?);
        let mut result = JobResult::default();
        let mut all = vec![];
        for (index, text) in job.kernels.iter().enumerate() {
            let (built, known) = self.built(index, text)?;
            all.push(built.clone());
            let kernel = bench.add(text.clone(), built, known, &self.queue)?;
            result.feedback.push(bench.feedback(kernel));
        }
        let launches = bench.prepare(job.launches.clone())?;
        execute::pass(&launches, &self.queue)?;
        all.iter().for_each(|built| built.store(&self.cache));
        let seen = bench.look(&Look { read: job.read.to_vec(), peek: vec![] }, &self.queue)?;
        (result.read, result.damaged) = (seen.read, seen.damaged);
        if let Some(timing) = job.timing {
            result.timed = execute::time(&launches, timing, None, &self.queue, self.resolution)?;
        }
        Ok(result)
    }
}

fn kernel(name: &str, text: &str) -> KernelText {
    KernelText { name: name.into(), text: text.into(), entry: name.into(), options: BUILD_OPTIONS.into() }
}

fn buffer(bytes: u64, init: Init) -> MemorySpec {
    MemorySpec { kind: MemoryKind::Buffer { bytes }, init, canaries: true }
}

fn floats(values: &[f32]) -> Init {
    Init::Data(warpsight_ir::data::f32_bytes(values))
}

fn launch(kernel: usize, memory: &[usize], global: usize, local: usize) -> RawLaunch {
    RawLaunch { kernel, args: memory.iter().map(|&m| RawArg::Memory(m)).collect(), global: [global, 1, 1], local: [local, 1, 1] }
}

const DOUBLE: &str = "__kernel void twice(__global float* x) {\n  x[get_global_id(0)] *= 2.0f;\n}\n";

/// A Program through the whole way: emitted, built, launched with a size that is no multiple of the group, read back.
#[test]
fn programs_run() {
    let Some(mut device) = device(None) else { return };
    let values: Vec<f32> = (0..37).map(|i| i as f32).collect();
    let result = device.run(&scale_job(&values, Some(TimingSpec::runs(3)))).unwrap();
    assert_eq!(warpsight_ir::data::bytes_f32(&result.read[0].0), values.iter().map(|v| 3.0 * v).collect::<Vec<_>>());
    assert_eq!((result.timed.times.len(), result.timed.times[0].len(), &result.damaged[..]), (1, 3, &[][..]));
    assert!(result.timed.empty_launch.is_some_and(|time| time.0 >= 0.0));
}

#[test]
fn a_session_keeps_its_memory() {
    let Some(mut device) = device(None) else { return };
    crate::testing::memory_stays(&mut device);
}

#[test]
fn limits_name_the_memory_and_the_numbers() {
    let Some(mut device) = device(None) else { return };
    device.info.limits.max_allocation = Some(1000);
    device.info.limits.image_2d = Some((64, 32));
    let mut job = scale_job(&[1.0; 37], None);
    let spec = |kind| MemorySpec { kind, init: Init::Poison, canaries: false };
    job.memory.push(spec(MemoryKind::Buffer { bytes: 1001 }));
    let limit = |what: &str, needed, available| DeviceError::Limit { what: what.into(), needed, available };
    job.memory.iter_mut().for_each(|memory| memory.canaries = false);
    assert_eq!(device.run(&job).unwrap_err(), limit("memory 2 with its guards, in bytes,", 1001, 1000));
    job.memory[2] = spec(MemoryKind::Image { kind: ImageKind::Image2d, format: ImageFormat::Rgba32F, width: 9, height: 33 });
    assert_eq!(device.run(&job).unwrap_err(), limit("the height of memory 2, an image of 9 × 33 texels,", 33, 32));
    device.info.limits.memory = Some(37 * 4 * 2 + 3 * 16);
    job.memory[2] = spec(MemoryKind::Image { kind: ImageKind::Image2d, format: ImageFormat::Rgba32F, width: 2, height: 2 });
    assert_eq!(device.run(&job).unwrap_err(), limit("all memory of the job, in bytes,", 37 * 4 * 2 + 4 * 16, 37 * 4 * 2 + 3 * 16));
}

#[test]
fn launches_run_in_order_and_are_read_once() {
    let Some(mut device) = device(None) else { return };
    let values: Vec<f32> = (0..64).map(|i| i as f32).collect();
    let add = "__kernel void add(__global float* x, int n) {\n  x[get_global_id(0)] += n;\n}\n";
    let mut second = launch(1, &[0], 64, 16);
    second.args.push(RawArg::Int(-3));
    let memory = [buffer(256, floats(&values))];
    let job = RawJob {
        kernels: vec![kernel("twice", DOUBLE), kernel("add", add)],
        memory: &memory,
        launches: vec![launch(0, &[0], 64, 8), second, launch(0, &[0], 0, 8)],
        read: &[0, 0],
        // Timed passes change the buffer again; what is read is from before.
        timing: Some(TimingSpec::runs(5)),
    };
    let result = device.run_raw(&job).unwrap();
    let expected: Vec<f32> = values.iter().map(|v| 2.0 * v - 3.0).collect();
    for read in &result.read {
        assert_eq!(warpsight_ir::data::bytes_f32(&read.0), expected);
    }
    assert_eq!((result.read.len(), &result.damaged[..]), (2, &[][..]));
    let timed = &result.timed;
    assert_eq!(timed.times.iter().map(Times::len).collect::<Vec<_>>(), [5, 5, 5]);
    assert_eq!((timed.pass_times.len(), timed.source), (5, Some(TimeSource::Measured)));
    assert!(timed.quantum.0 > 0.0 && timed.quantum.0 < 1e-3);
    assert!(result.feedback.iter().all(|f| f.max_group_size >= Some(16) && !f.cached && f.registers.is_none()));
    for (pass, whole) in timed.pass_times.iter().enumerate() {
        let sum: f64 = timed.times.iter().filter_map(|times| times.iter().nth(pass)).map(|time| time.0).sum();
        assert!(sum > 0.0 && whole.0 < 1.0);
    }
}

/// What the first times of a session were taken with, all of them are: what was judged is not judged anew at every launch.
#[test]
fn a_session_has_one_clock() {
    let Some(mut device) = device(None) else { return };
    let crate::Code::Program(mut scale) = crate::testing::scale_job(&[1.0], None).programs.remove(0) else { panic!() };
    scale.sizes[0].lo = 0;
    let job = crate::testing::scale_job(&[1.0; 37], None);
    let mut session = crate::Device::open(&mut device, &job.memory).unwrap();
    session.load(&[scale.into()]).unwrap();
    let mut clock = |size: i64| {
        let launch = crate::LaunchSpec { sizes: vec![size], ..job.launches[0].clone() };
        session.time(&[launch], TimingSpec::runs(3)).unwrap().clock
    };
    // Nothing is launched: there are no events to believe.
    assert_eq!([clock(0), clock(37)], [Some(LaunchClock::Host); 2]);
}

#[test]
fn an_empty_kernel_is_timed_by_either_clock() {
    let Some(mut device) = device(None) else { return };
    for clock in [LaunchClock::Event, LaunchClock::Host] {
        let time = device.empty_launch(clock).unwrap();
        assert!(time.0 >= 0.0 && time.0 < 0.1, "{clock:?}: {time:?}");
        assert_eq!(device.empty_launch(clock).unwrap(), time, "measured once");
    }
    assert!(device.empty_launch(LaunchClock::Host).unwrap().0 > 0.0);
}

#[test]
fn one_element_past_either_end_is_noticed() {
    let Some(mut device) = device(None) else { return };
    let text = "__kernel void stray(__global float* x, int at) {\n  x[get_global_id(0)] = 1.0f;\n  if (at != 0) x[at] = 0.0f;\n}\n";
    for (at, damaged) in [(0, vec![]), (5, vec![1]), (-1, vec![1]), (1000, vec![1])] {
        let mut stray = launch(0, &[1], 5, 5);
        stray.args.push(RawArg::Int(at));
        let memory = [buffer(64, Init::Poison), buffer(20, Init::Poison), buffer(64, Init::Poison)];
        let job = RawJob { kernels: vec![kernel("stray", text)], memory: &memory, launches: vec![stray], read: &[1], timing: None };
        let result = device.run_raw(&job).unwrap();
        assert_eq!(result.damaged, damaged, "x[{at}] of 5");
        assert_eq!(warpsight_ir::data::bytes_f32(&result.read[0].0), [1.0; 5]);
    }
}

#[test]
fn what_a_kernel_forgets_stays_poison() {
    let Some(mut device) = device(None) else { return };
    let text = "__kernel void half_of(__global float* x) {\n  if (get_global_id(0) % 2 == 0) x[get_global_id(0)] = 7.0f;\n}\n";
    for canaries in [true, false] {
        let memory = [MemorySpec { canaries, ..buffer(16, Init::Poison) }];
        let job = RawJob {
            kernels: vec![kernel("half_of", text)],
            memory: &memory,
            launches: vec![launch(0, &[0], 4, 4)],
            read: &[0],
            timing: None,
        };
        let bytes = device.run_raw(&job).unwrap().read.remove(0).0;
        assert_eq!(bytes[4..8], [0xff; 4]);
        let values = warpsight_ir::data::bytes_f32(&bytes);
        assert_eq!((values[0], values[2]), (7.0, 7.0));
        assert!(values[1].is_nan() && values[3].is_nan());
    }
}

#[test]
fn images_keep_rows_and_texels_in_place() {
    let Some(mut device) = device(None) else { return };
    if device.info.limits.image_2d == Some((0, 0)) {
        return eprintln!("skipped: {} has no images", device.info.name);
    }
    let text = "__constant sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;\n\
                __kernel void flip(__read_only image2d_t from, __write_only image2d_t to) {\n\
                  int x = get_global_id(0), y = get_global_id(1);\n\
                  write_imagef(to, (int2)(x, y), 2.0f * read_imagef(from, s, (int2)(6 - x, y)));\n}\n";
    for format in [ImageFormat::Rgba32F, ImageFormat::Rgba16F] {
        let kind = MemoryKind::Image { kind: ImageKind::Image2d, format, width: 7, height: 3 };
        // Small integers: exact in both formats. As halves: the bits of a power of two times its mantissa.
        let value = |i: usize| i as f32;
        let bytes = |scale: f32, order: &dyn Fn(usize) -> usize| -> Vec<u8> {
            let values = (0..7 * 3 * 4).map(|i| scale * value(order(i / 4) * 4 + i % 4));
            match format {
                ImageFormat::Rgba16F => values.flat_map(|v| half_bits(v).to_le_bytes()).collect(),
                _ => values.flat_map(f32::to_le_bytes).collect(),
            }
        };
        let memory = [
            MemorySpec { kind, init: Init::Data(bytes(1.0, &|texel| texel)), canaries: false },
            MemorySpec { kind, init: Init::Poison, canaries: true },
        ];
        let launch = RawLaunch { kernel: 0, args: vec![RawArg::Memory(0), RawArg::Memory(1)], global: [7, 3, 1], local: [7, 1, 1] };
        let job = RawJob { kernels: vec![kernel("flip", text)], memory: &memory, launches: vec![launch], read: &[0, 1], timing: None };
        let result = device.run_raw(&job).unwrap();
        assert_eq!(result.read[0].0, bytes(1.0, &|texel| texel), "{format:?} unchanged");
        assert_eq!(result.read[1].0, bytes(2.0, &|texel| texel / 7 * 7 + 6 - texel % 7), "{format:?} flipped");
    }
}

/// The half of a small non-negative integer.
fn half_bits(value: f32) -> u16 {
    if value == 0.0 {
        return 0;
    }
    let bits = value.to_bits();
    let exponent = (bits >> 23) as i32 - 127;
    (((exponent + 15) as u16) << 10) | ((bits >> 13) & 0x3ff) as u16
}

#[test]
fn a_refused_program_gives_log_and_line() {
    let Some(mut device) = device(None) else { return };
    let good = kernel("twice", DOUBLE);
    let wrong = kernel("wrong", "__kernel void wrong(__global float* x) {\n  x[0] = 1.0f;\n  x[1] = undeclared_name;\n}\n");
    let memory = [buffer(16, Init::Poison)];
    let job = RawJob { kernels: vec![good, wrong], memory: &memory, launches: vec![], read: &[], timing: None };
    let error = device.run_raw(&job).unwrap_err();
    let DeviceError::Build { program, kernel, log, line } = &error else { panic!("{error:?}") };
    assert_eq!((*program, &kernel[..], *line), (1, "wrong", Some(3)));
    assert!(log.contains("undeclared_name"), "{log}");
}

#[test]
fn compiled_programs_are_kept_and_damage_is_survived() {
    let directory = tempfile::tempdir().unwrap();
    let cached = || -> Option<bool> {
        let mut device = device(Some(directory.path().to_owned()))?;
        let memory = [buffer(16, floats(&[1.0, 2.0, 3.0, 4.0]))];
        let job = || RawJob {
            kernels: vec![kernel("twice", DOUBLE)],
            memory: &memory,
            launches: vec![launch(0, &[0], 4, 2)],
            read: &[0],
            timing: None,
        };
        let first = device.run_raw(&job()).unwrap();
        assert_eq!(warpsight_ir::data::bytes_f32(&first.read[0].0), [2.0, 4.0, 6.0, 8.0]);
        assert!(device.run_raw(&job()).unwrap().feedback[0].cached, "held in memory");
        Some(first.feedback[0].cached)
    };
    let Some(first) = cached() else { return };
    assert!(!first);
    let entries: Vec<PathBuf> = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    let [entry] = &entries[..] else { panic!("one program, {entries:?}") };
    assert_eq!(cached(), Some(true));
    // Damaged by the disk; intact but refused by the driver, as after an update that kept its version.
    let whole = fs::read(entry).unwrap();
    fs::write(entry, &whole[..whole.len() / 2]).unwrap();
    assert_eq!(cached(), Some(false));
    assert_eq!(cached(), Some(true), "written anew");
    let key = entry.file_stem().unwrap().to_str().unwrap();
    Cache(Some(directory.path().to_owned())).put(key, b"no program at all");
    assert_eq!(cached(), Some(false));
    assert_eq!(cached(), Some(true), "written anew");
}

#[test]
fn a_group_beyond_the_compiled_kernel_is_refused() {
    let Some(mut device) = device(None) else { return };
    let text = "__kernel __attribute__((reqd_work_group_size(2, 1, 1))) void two(__global float* x) {\n  x[get_global_id(0)] = 1.0f;\n}\n";
    let memory = [buffer(1 << 16, Init::Poison)];
    let most = device.info.limits.max_group_size.unwrap() as usize;
    let run = |device: &mut OpenCl, local: usize| {
        let launches = vec![launch(0, &[0], local, local)];
        device.run_raw(&RawJob { kernels: vec![kernel("two", text)], memory: &memory, launches, read: &[], timing: None })
    };
    assert!(run(&mut device, 2).is_ok());
    match run(&mut device, 2 * most).unwrap_err() {
        DeviceError::Limit { needed, available, what } => {
            assert_eq!(needed, 2 * most as u64);
            assert!(available <= most as u64 && what.contains("`two`"), "{what} {available}");
        }
        other => panic!("{other}"),
    }
}

#[test]
fn an_unknown_device_says_what_there_is() {
    let error = OpenCl::open("opencl:77", None).err().unwrap();
    let DeviceError::NoDevice { id, reason } = &error else { panic!("{error:?}") };
    assert_eq!(id, "opencl:77");
    assert!(!reason.is_empty());
}

#[test]
fn limits_are_read_from_the_device() {
    let listing = list();
    for (index, device) in listing.devices.iter().enumerate() {
        assert_eq!((device.id.as_str(), device.backend.as_str()), (format!("opencl:{index}").as_str(), "opencl"));
        let limits = &device.limits;
        assert!(!device.name.is_empty() && !device.driver.is_empty());
        assert!(limits.max_group_size >= Some(1) && limits.compute_units >= Some(1) && limits.local_bytes >= Some(1024));
        assert!(limits.max_allocation <= limits.memory.map(|all| all.max(128 << 20)));
    }
    assert!(listing.skipped.iter().all(|(name, reason)| !name.is_empty() && !reason.is_empty()));
}
