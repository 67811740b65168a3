//! CUDA devices on the stand-in for the driver: everything but the silicon. The driver is in a child, this executable started again
//! with the stand-in on the loader's path, because a process loads a driver once.
#![cfg(unix)]

#[path = "fake_cuda/mod.rs"]
mod fake_cuda;
#[path = "../../emit/tests/common/programs.rs"]
#[allow(dead_code)]
mod programs;

#[path = "common/images.rs"]
mod images;
#[path = "../src/testing.rs"]
mod testing;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use warpsight_ir::{Access, Array, ImageFormat, ImageKind, ParamKind, Program, Scalar, Space, TimeSource, Times, data};
use warpsight_run::{
    CacheState, Code, CudaText, Device, DeviceError, Init, Isolated, Job, JobResult, LaunchClock, LaunchSpec, Listing, MemoryKind,
    MemorySpec, Options, Peek, Submit, TimingSpec,
};

/// Set in children only: the id they serve.
const ROLE: &str = "WARPSIGHT_TEST_CUDA_CHILD";

#[test]
#[ignore = "is the child of the other tests"]
fn child() {
    if let Ok(id) = std::env::var(ROLE) {
        warpsight_run::serve_child(&id);
    }
}

/// A machine with the stand-in: a folder with the program that starts children, and the cache.
struct Machine {
    folder: tempfile::TempDir,
    timeout: Duration,
}

impl Machine {
    /// `None`, with a note, where the stand-in cannot be built.
    fn new(settings: &[(&str, &str)]) -> Option<Self> {
        let stand_in = fake_cuda::build()?;
        let toolkit = stand_in.display().to_string();
        Some(Self::with(&stand_in, &[&[("WARPSIGHT_CUDA", &*toolkit)], settings].concat()))
    }

    /// With libraries from a folder.
    fn with(libraries: &Path, settings: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let quote = |text: &str| format!("'{}'", text.replace('\'', r"'\''"));
        let settings: String = settings.iter().map(|(name, value)| format!(" {}", quote(&format!("{name}={value}")))).collect();
        let test = std::env::current_exe().unwrap().display().to_string();
        let script = format!(
            "#!/bin/sh\nexec env LD_LIBRARY_PATH={} {ROLE}=\"$2\"{settings} {} child --exact --ignored --nocapture\n",
            quote(&libraries.display().to_string()),
            quote(&test),
        );
        let program = folder.path().join("child");
        std::fs::write(&program, script).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        Self { folder, timeout: Duration::from_secs(60) }
    }

    fn options(&self) -> Options {
        Options { cache: Some(self.cache()), timeout: self.timeout, program: Some(self.folder.path().join("child")), ..Options::default() }
    }

    fn cache(&self) -> PathBuf {
        self.folder.path().join("cache")
    }

    fn open(&self) -> Result<Isolated, DeviceError> {
        Isolated::spawn("cuda:0", &self.folder.path().join("child"), self.timeout, Some(self.cache()))
    }

    fn listing(&self) -> Listing {
        warpsight_run::devices(&self.options())
    }

    fn why_none(&self) -> String {
        let listing = self.listing();
        assert!(listing.devices.iter().all(|device| device.backend != "cuda"));
        let (_, why) = listing.skipped.into_iter().find(|(name, _)| name == "CUDA").unwrap();
        let error = self.open().err().unwrap();
        assert!(matches!(&error, DeviceError::NoDevice { reason, .. } if reason.contains(&why)), "{error}");
        why
    }
}

/// A machine, or the end of the test.
macro_rules! machine {
    ($($name:literal = $value:expr),*) => {
        match Machine::new(&[$(($name, $value)),*]) {
            Some(machine) => machine,
            None => return,
        }
    };
}

fn text(entry: &str, parameters: &str, body: &str) -> CudaText {
    CudaText {
        text: format!("extern \"C\" __global__ void {entry}({parameters})\n{{\n{body}\n}}\n"),
        entry: entry.into(),
        grid: [4, 1, 1],
        block: [64, 1, 1],
        dynamic_shared: 0,
        cluster: 1,
        cooperative: false,
        pinned: None,
    }
}

/// `y[i] = 3 · x[i] + n`.
fn scale() -> CudaText {
    text("scale", "const float* x, float* y, int n", "int i = blockIdx.x * blockDim.x + threadIdx.x; y[i] = 3.0f * x[i] + (float)n;")
}

const COUNT: usize = 256;

fn buffer(bytes: u64, init: Init) -> MemorySpec {
    MemorySpec { kind: MemoryKind::Buffer { bytes }, init, canaries: true }
}

/// One launch on 256 values 0, 1, 2, … and their scaled copies, which are read.
fn job(text: CudaText, timing: Option<TimingSpec>) -> Job {
    let values: Vec<f32> = (0..COUNT).map(|i| i as f32).collect();
    Job {
        programs: vec![Code::Cuda(text)],
        memory: vec![buffer(4 * COUNT as u64, Init::Data(data::f32_bytes(&values))), buffer(4 * COUNT as u64, Init::Poison)],
        launches: vec![LaunchSpec { program: 0, args: vec![0, 1], sizes: vec![5] }],
        read: vec![1],
        peek: vec![],
        timing,
    }
}

fn floats(result: &JobResult) -> Vec<f32> {
    data::bytes_f32(&result.read[0].0)
}

#[test]
fn devices_are_listed_with_their_facts() {
    let machine = machine!();
    let listing = machine.listing();
    let device = listing.devices.iter().find(|device| device.id == "cuda:0").unwrap();
    assert_eq!((device.clock, &*device.backend), (Some(TimeSource::Simulated), "cuda"));
    assert_eq!((device.limits.max_group_size, device.limits.compute_units), (Some(1024), Some(4)));
    assert_eq!((device.limits.local_bytes, device.limits.image_2d), (Some(232_448), Some((131_072, 65_536))));
    assert_eq!(device.limits.memory, Some(1 << 30));
    for (name, value) in [
        ("multiprocessor_count", "4"),
        ("l2_cache_bytes", "1048576"),
        ("max_shared_memory_per_multiprocessor", "233472"),
        ("compute_capability", "9.0"),
        ("driver_version", "13.0"),
        ("total_memory_bytes", "1073741824"),
    ] {
        assert_eq!(device.facts.get(name).map(String::as_str), Some(value), "{name}");
    }
    assert!(device.facts["nvrtc"].starts_with("NVRTC 13."), "{}", device.facts["nvrtc"]);
    assert!(device.facts["uuid"].starts_with("GPU-") && !device.facts["pci_bus_id"].is_empty());
    assert_eq!(machine.open().unwrap().info(), device, "what is listed can be opened");
}

#[test]
fn why_there_is_no_device() {
    let Some(stand_in) = fake_cuda::build() else { return };
    let none = Machine::new(&[("WS_FAKE_NO_DEVICE", "1")]).unwrap().why_none();
    assert!(none.contains("knows no device (CUDA_ERROR_NO_DEVICE)"), "{none}");
    let old = Machine::with(&stand_in.join("old"), &[("WS_FAKE_OLD_DRIVER", "1")]).why_none();
    assert!(old.contains("for CUDA 11.4, is too old: CUDA 11.8") && old.contains("cuLaunchKernelEx"), "{old}");
    // A library that is none: what the loader's path has first is taken.
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("libcuda.so.1"), "no library").unwrap();
    let broken = Machine::with(folder.path(), &[]).why_none();
    assert!(broken.contains("libcuda.so.1 cannot be loaded"), "{broken}");
}

#[test]
fn text_runs_and_is_kept() {
    let machine = machine!();
    let mut device = machine.open().unwrap();
    let wanted: Vec<f32> = (0..COUNT).map(|i| 3.0 * i as f32 + 5.0).collect();
    let result = device.run(&job(scale(), None)).unwrap();
    assert_eq!(floats(&result), wanted);
    assert!(result.damaged.is_empty() && !result.feedback[0].cached && result.timed.source.is_none());
    assert!(result.feedback[0].resident_groups > Some(0), "{:?}", result.feedback[0]);
    assert!(device.run(&job(scale(), None)).unwrap().feedback[0].cached, "held");
    let mut again = machine.open().unwrap();
    let result = again.run(&job(scale(), None)).unwrap();
    assert!(result.feedback[0].cached && floats(&result) == wanted, "kept on disk");
}

#[test]
fn a_session_keeps_its_memory() {
    let machine = machine!();
    testing::memory_stays(&mut machine.open().unwrap());
}

/// Memory crosses to the device once, however often launches work on it; as the driver counts.
#[test]
fn weights_are_sent_once() {
    let sent = tempfile::NamedTempFile::new().unwrap();
    let machine = machine!("WS_FAKE_SENT" = sent.path().to_str().unwrap());
    let mut bytes = vec![];
    for passes in [1, 20] {
        std::fs::write(sent.path(), "").unwrap();
        let mut device = machine.open().unwrap();
        let job = job(scale(), None);
        let mut session = device.open(&job.memory).unwrap();
        session.load(&job.programs).unwrap();
        session.launch(&job.launches).unwrap();
        for _ in 0..passes {
            assert_eq!(session.time(&job.launches, TimingSpec::runs(1)).unwrap().pass_times.len(), 1);
        }
        bytes.push(std::fs::read_to_string(sent.path()).unwrap().lines().map(|line| line.parse::<u64>().unwrap()).sum::<u64>());
    }
    assert!(bytes[0] >= 4 * COUNT as u64 && bytes[0] == bytes[1], "{bytes:?}");
}

#[test]
fn guards_peeks_and_poison() {
    let machine = machine!();
    let mut device = machine.open().unwrap();
    // Writes one element before and leaves the last one out.
    let mut job = job(text("off", "const float* x, float* y, int n", "int i = blockIdx.x * 64 + threadIdx.x; y[i - 1] = x[i];"), None);
    job.peek = vec![Peek { memory: 1, offsets: vec![1020, 0, 8], bytes: 4 }];
    let result = device.run(&job).unwrap();
    assert_eq!(result.damaged, [1]);
    assert_eq!(data::bytes_f32(&result.peeked[0].0)[1..], [1.0, 3.0]);
    assert_eq!(result.peeked[0].0[..4], [0xff; 4], "what was not written");
}

/// Drivers fill and copy after the call has returned, and no stream of a job waits for that by itself.
#[test]
fn contents_are_there_before_the_first_launch() {
    let machine = machine!();
    let mut device = machine.open().unwrap();
    let body = "int i = blockIdx.x * 64 + threadIdx.x; float4 t = tex2D<float4>(image, 0.0f, 0.0f);\n\
                p[i] = i == 1 ? (unsigned)t.x : p[i] + 1; z[i] += 1; d[i] += 1; r[i] += 1;";
    let sums = text("sums", "unsigned* p, unsigned* z, unsigned* d, unsigned* r, unsigned long long image", body);
    let inits = [Init::Poison, Init::Zero, Init::Data(vec![7; 4 * COUNT]), Init::Random { element: Scalar::U32, seed: 1 }];
    let mut memory: Vec<_> = inits.iter().map(|init| buffer(4 * COUNT as u64, init.clone())).collect();
    let texel = MemoryKind::Image { kind: ImageKind::Image2d, format: ImageFormat::Rgba32F, width: 1, height: 1 };
    memory.push(MemorySpec { kind: texel, init: Init::Data(data::f32_bytes(&[9.0; 4])), canaries: false });
    let launches = vec![LaunchSpec { program: 0, args: (0..5).collect(), sizes: vec![] }];
    let job = Job { programs: vec![Code::Cuda(sums)], memory, launches, read: (0..4).collect(), ..Job::default() };
    let result = device.run(&job).unwrap();
    assert!(result.damaged.is_empty(), "guard bands are there, too: {:?}", result.damaged);
    let words = |bytes: &[u8]| bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect::<Vec<_>>();
    for (position, (init, contents)) in inits.iter().zip(&result.read).enumerate() {
        let mut wanted: Vec<u32> = words(&init.contents(4 * COUNT as u64).unwrap()).into_iter().map(|word| word.wrapping_add(1)).collect();
        if position == 0 {
            wanted[1] = 9;
        }
        assert_eq!(words(&contents.0), wanted, "{init:?}");
    }
}

#[test]
fn large_arrays_are_filled_in_the_device_by_the_same_rules() {
    let machine = machine!();
    let mut device = machine.open().unwrap();
    let bytes = 1 << 20;
    let mut inits: Vec<Init> = [Scalar::F16, Scalar::Bf16, Scalar::F32, Scalar::F64, Scalar::I32, Scalar::U32, Scalar::I64, Scalar::U64]
        .map(|element| Init::Random { element, seed: 0x1234_5678_9abc_def0 })
        .to_vec();
    inits.extend([Init::Cycle { slots: 1 << 16, stride: 3 }, Init::Poison, Init::Zero]);
    let mut job = job(scale(), None);
    job.launches.clear();
    job.memory = inits.iter().map(|init| buffer(bytes, init.clone())).collect();
    job.read = (0..inits.len()).collect();
    let result = device.run(&job).unwrap();
    assert!(result.damaged.is_empty());
    for (init, contents) in inits.iter().zip(&result.read) {
        let wanted = init.contents(bytes).unwrap();
        let differs = (0..wanted.len()).find(|&i| wanted[i] != contents.0[i]);
        assert_eq!(differs, None, "{init:?}");
    }
    let kept = std::fs::read_dir(machine.cache()).unwrap().count();
    assert_eq!(kept, 3, "the job's kernel and the two that fill");
}

#[test]
fn images_are_textures_without_interpolation() {
    let machine = machine!();
    let mut device = machine.open().unwrap();
    let read = text(
        "texel",
        "unsigned long long image, float* out, int n",
        "int i = threadIdx.x; float4 t = tex2D<float4>(image, (float)(i % n - 1), (float)(i / n));\n\
         out[4 * i] = t.x; out[4 * i + 1] = t.y; out[4 * i + 2] = t.z; out[4 * i + 3] = t.w;",
    );
    let bytes: Vec<u8> = (0..4 * 6 * 3).map(|i| (i * 7) as u8).collect();
    let mut job = job(CudaText { grid: [1, 1, 1], block: [24, 1, 1], ..read }, None);
    job.memory = vec![
        MemorySpec {
            kind: MemoryKind::Image { kind: ImageKind::Image2d, format: ImageFormat::Rgba8Unorm, width: 6, height: 3 },
            init: Init::Data(bytes.clone()),
            canaries: false,
        },
        buffer(24 * 16, Init::Poison),
    ];
    job.launches[0].sizes = vec![8];
    job.read = vec![1, 0];
    let result = device.run(&job).unwrap();
    let texels = floats(&result);
    for (i, texel) in texels.chunks(4).enumerate() {
        let (x, y) = ((i % 8).wrapping_sub(1), i / 8);
        for (c, &value) in texel.iter().enumerate() {
            let wanted = if x < 6 { f32::from(bytes[4 * (6 * y + x) + c]) / 255.0 } else { 0.0 };
            assert!((value - wanted).abs() < 1e-6, "texel {i} component {c}: {value} for {wanted}");
        }
    }
    assert_eq!(result.read[1].0, bytes, "an image is read back by rows");
}

/// A job for a Program without sizes: inputs random, all outputs read.
fn program_job(program: Program) -> Job {
    let constant = |expr: &warpsight_ir::Expr| warpsight_emit::grid::eval_size(expr, &Default::default()).unwrap() as u64;
    let mut job = Job::default();
    for (position, param) in program.params.iter().enumerate() {
        let (kind, element, access) = match &param.kind {
            ParamKind::Buffer { element, dims, access, .. } => {
                let bytes = dims.iter().map(constant).product::<u64>() * u64::from(element.bytes());
                (MemoryKind::Buffer { bytes }, *element, *access)
            }
            ParamKind::Image { kind, format, width, height, access, .. } => {
                let (width, height) = (constant(width) as u32, constant(height) as u32);
                (MemoryKind::Image { kind: *kind, format: *format, width, height }, Scalar::F32, *access)
            }
            ParamKind::Channel { .. } => panic!("no channels here"),
        };
        let init = match access {
            Access::Read => Init::Random { element, seed: position as u64 },
            _ => Init::Zero,
        };
        job.memory.push(MemorySpec { kind, init, canaries: true });
        if access != Access::Read {
            job.read.push(position);
        }
    }
    job.launches = vec![LaunchSpec { program: 0, args: (0..program.params.len()).collect(), sizes: vec![] }];
    job.programs = vec![program.into()];
    job
}

#[test]
fn programs_give_what_the_simulator_gives() {
    let machine = machine!();
    let mut device = machine.open().unwrap();
    let mut simulator = warpsight_run::open("sim:adreno640", &Options::default()).unwrap();
    for program in [programs::convolution(), programs::image_blur(), programs::tiled_matmul()] {
        let name = program.name.clone();
        let job = program_job(program);
        let (here, there) = (device.run(&job).unwrap(), simulator.run(&job).unwrap());
        assert!(!here.read.is_empty() && here.damaged.is_empty(), "{name}");
        for (here, there) in here.read.iter().zip(&there.read) {
            assert!(there.0.iter().any(|&byte| byte != 0), "{name} computes something");
            assert_eq!(data::bytes_f32(&here.0), data::bytes_f32(&there.0), "{name}");
        }
    }
    let mut large = programs::tiled_matmul();
    large.arrays.push(Array { name: "spare".into(), space: Space::Local, element: Scalar::F32, dims: vec![48 << 8] });
    let error = device.run(&program_job(large)).unwrap_err();
    assert!(matches!(&error, DeviceError::Limit { what, available: 49152, .. } if what.contains("static shared memory")), "{error}");
}

/// Arrays of one and two dimensions, linear memory and rows of it, read as textures and written. SEEDS=100 looks further.
#[test]
fn kinds_of_images_give_what_the_interpreter_gives() {
    let machine = machine!();
    let mut device = machine.open().unwrap();
    for seed in 0..std::env::var("SEEDS").ok().and_then(|s| s.parse().ok()).unwrap_or(10) {
        let text = images::text(seed);
        let (job, written) = images::job(&text, seed);
        let result = device.run(&job).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert!(result.read.iter().zip(&written).all(|(found, wanted)| found.0 == *wanted), "{text}");
    }
}

#[test]
fn images_of_each_kind_have_limits_of_their_own() {
    let machine = machine!();
    let mut device = machine.open().unwrap();
    let limits = &device.info().limits;
    let found = (limits.image_1d, limits.image_buffer, limits.image_pitch);
    assert_eq!(found, (Some(32_768), Some(1 << 28), Some(32)));
    let mut run = |kind, width| {
        let kind = MemoryKind::Image { kind, format: ImageFormat::Rgba8Unorm, width, height: 1 };
        device.run(&Job { memory: vec![MemorySpec { kind, init: Init::Zero, canaries: false }], ..Job::default() }).map(drop)
    };
    assert_eq!([ImageKind::Image1d, ImageKind::Image1dBuffer, ImageKind::Image2d].map(|kind| run(kind, 32_768)), [Ok(()), Ok(()), Ok(())]);
    let error = run(ImageKind::Image1d, 32_769).unwrap_err().to_string();
    assert_eq!(error, "the width of memory 0, an image1d of 32769 texels, needs 32769, the device has 32768");
    assert_eq!(run(ImageKind::Image1dBuffer, 40_000), Ok(()));
}

#[test]
fn machine_code_for_another_architecture_names_both() {
    let Some(stand_in) = fake_cuda::build() else { return };
    let entry = |machine: &Machine| std::fs::read_dir(machine.cache()).unwrap().next().unwrap().unwrap().path();
    let (ampere, hopper) = (machine!("WS_FAKE_ARCH" = "80"), machine!());
    for machine in [&ampere, &hopper] {
        machine.open().unwrap().run(&job(scale(), None)).unwrap();
    }
    // As if a folder of prepared kernels had been mixed up: found under the right name, made for the wrong device.
    std::fs::copy(entry(&ampere), entry(&hopper)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(stand_in.join("libcuda.so.1"), folder.path().join("libcuda.so.1")).unwrap();
    let bare = Machine::with(folder.path(), &[("WARPSIGHT_CUDA", "/nowhere")]);
    std::fs::create_dir_all(bare.cache()).unwrap();
    std::fs::copy(entry(&hopper), bare.cache().join(entry(&hopper).file_name().unwrap())).unwrap();
    let error = bare.open().unwrap().run(&job(scale(), None)).unwrap_err();
    let DeviceError::Build { log, .. } = &error else { panic!("{error}") };
    assert!(log.contains("machine code for sm_80") && log.contains("which is sm_90a"), "{log}");
    assert!(log.contains("CUDA_ERROR_NO_BINARY_FOR_GPU") && log.contains("no NVRTC"), "{log}");
    // Where there is a compiler, it is compiled anew.
    let result = hopper.open().unwrap().run(&job(scale(), None)).unwrap();
    assert!(!result.feedback[0].cached && floats(&result)[0] == 5.0);
    assert!(hopper.open().unwrap().run(&job(scale(), None)).unwrap().feedback[0].cached, "and kept");
}

#[test]
fn shared_memory_clusters_and_cooperation() {
    let machine = machine!();
    let mut device = machine.open().unwrap();
    let body = "extern __shared__ float s[]; int t = threadIdx.x; s[t + n] = x[blockIdx.x * 64 + t];\n\
                __syncthreads(); y[blockIdx.x * 64 + t] = s[63 - t + n];";
    let reversed = CudaText { dynamic_shared: 100 << 10, ..text("reversed", "const float* x, float* y, int n", body) };
    let result = device.run(&job(reversed.clone(), None)).unwrap();
    assert_eq!((floats(&result)[0], floats(&result)[64]), (63.0, 127.0));
    let too_much = device.run(&job(CudaText { dynamic_shared: 300 << 10, ..reversed }, None)).unwrap_err();
    assert!(matches!(&too_much, DeviceError::Limit { what, available: 232_448, .. } if what.contains("shared memory")), "{too_much}");
    for (cluster, cooperative) in [(2, false), (4, false), (1, true), (2, true)] {
        let result = device.run(&job(CudaText { cluster, cooperative, ..scale() }, None)).unwrap();
        assert_eq!(floats(&result)[255], 770.0, "cluster {cluster}, cooperative {cooperative}");
    }
    let crowd = CudaText { cooperative: true, grid: [4 * 32 + 1, 1, 1], ..text("crowd", "const float* x, float* y, int n", "") };
    let error = device.run(&job(crowd, None)).unwrap_err();
    assert!(matches!(&error, DeviceError::Limit { what, needed: 129, .. } if what.contains("resident together")), "{error}");
    let pinned = device.run(&job(CudaText { pinned: Some(0), ..scale() }, None)).unwrap();
    assert_eq!(floats(&pinned)[1], 8.0);
}

#[test]
fn older_devices_refuse_what_they_lack() {
    let machine = machine!("WS_FAKE_ARCH" = "80");
    let mut device = machine.open().unwrap();
    assert_eq!(device.info().facts["compute_capability"], "8.0");
    assert_eq!(floats(&device.run(&job(scale(), None)).unwrap())[0], 5.0);
    let error = device.run(&job(CudaText { cluster: 2, ..scale() }, None)).unwrap_err();
    assert!(matches!(&error, DeviceError::Unsupported { what, .. } if what.contains("needs compute capability 9.0")), "{error}");
    let early = TimingSpec { submit: Submit::Programmatic, ..TimingSpec::runs(2) };
    let error = device.run(&job(scale(), Some(early))).unwrap_err();
    assert!(matches!(&error, DeviceError::Unsupported { what, .. } if what.contains("programmatic")), "{error}");
}

#[test]
fn passes_are_timed_however_they_are_submitted() {
    let machine = machine!();
    let mut device = machine.open().unwrap();
    for submit in [Submit::Eager, Submit::Graph, Submit::Programmatic, Submit::ProgrammaticGraph] {
        for cache in [CacheState::Warm, CacheState::Flushed] {
            let mut job = job(scale(), Some(TimingSpec { runs: 5, submit, cache }));
            if cache == CacheState::Flushed && submit != Submit::Eager {
                let error = device.run(&job).unwrap_err();
                assert!(matches!(&error, DeviceError::Unsupported { what, .. } if what.contains("flushing caches")), "{error}");
                continue;
            }
            job.launches.push(job.launches[0].clone());
            let result = device.run(&job).unwrap();
            let (what, timed) = (format!("{submit:?} {cache:?}"), &result.timed);
            assert_eq!((timed.times.len(), timed.times[0].len(), timed.pass_times.len()), (2, 5, 5), "{what}");
            assert!(timed.times.iter().chain([&timed.pass_times]).flat_map(Times::iter).all(|time| time.0 > 0.0), "{what}");
            assert_eq!((timed.source, timed.clock), (Some(TimeSource::Simulated), Some(LaunchClock::Event)), "{what}: two launches");
            assert!(timed.quantum.0 > 0.0 && timed.empty_launch.is_some_and(|time| time.0 > 0.0), "{what}");
            assert_eq!(floats(&result)[255], 770.0);
            if cache == CacheState::Flushed {
                let first = |times: &Times| times.first().unwrap().0;
                let together = first(&timed.times[0]) + first(&timed.times[1]);
                assert!((first(&timed.pass_times) - together).abs() < 1e-12, "{what}: flushing is not timed");
            }
            assert!(timed.clocks.is_empty(), "a stand-in has no clocks");
        }
    }
    let one = CudaText { grid: [1; 3], block: [1; 3], ..scale() };
    let counting = CudaText { grid: [1; 3], ..text("counting", "const float* x, float* y, int n", "y[threadIdx.x] += 1.0f;") };
    let alone = device.run(&job(one, Some(TimingSpec::runs(5)))).unwrap().timed;
    assert_eq!(alone.clock, Some(LaunchClock::Graph), "short and alone");
    assert_eq!((alone.times.len(), alone.times[0].len()), (1, 5));
    assert!(alone.times[0].first().unwrap().0 < 10e-6);

    // Memory is read again when all passes are done, and how many they were is known, whichever way they went.
    for (launches, submit) in [(1, Submit::Eager), (1, Submit::Graph), (3, Submit::Eager), (3, Submit::ProgrammaticGraph)] {
        let mut job = job(counting.clone(), Some(TimingSpec { submit, ..TimingSpec::runs(4) }));
        job.memory[1].init = Init::Zero;
        job.launches = vec![job.launches[0].clone(); launches];
        job.peek = vec![Peek { memory: 1, offsets: vec![4, 256], bytes: 4 }];
        let result = device.run(&job).unwrap();
        let after = result.after.as_ref().unwrap();
        let (first, all) = (launches as f32, (after.passes * launches as u64) as f32);
        assert!(after.passes > 1 + 1 + 4 && floats(&result)[1] == first, "{submit:?}, {launches}");
        assert_eq!(data::bytes_f32(&after.read[0].0)[..65], [vec![all; 64], vec![0.0]].concat(), "{submit:?}, {launches}");
        assert_eq!(data::bytes_f32(&after.peeked[0].0), [all, 0.0]);
    }
    // What only a later pass overwrites is seen, too.
    let body = "if (threadIdx.x == 0 && (y[0] += 1.0f) == 3.0f) y[-1] = 1.0f;";
    let mut late = job(CudaText { grid: [1; 3], ..text("late", "const float* x, float* y, int n", body) }, Some(TimingSpec::runs(2)));
    late.memory[1].init = Init::Zero;
    assert_eq!(device.run(&late).unwrap().damaged, [1]);
    late.timing = None;
    let once = device.run(&late).unwrap();
    assert!(once.damaged.is_empty() && once.after.is_none());
}

#[test]
fn a_lost_device_is_reported_and_the_next_job_has_another() {
    let machine = machine!("WS_FAKE_LOST_AT" = "2");
    let mut device = machine.open().unwrap();
    device.run(&job(scale(), None)).unwrap();
    let error = device.run(&job(scale(), None)).unwrap_err();
    assert!(matches!(&error, DeviceError::Fault { kernel, .. } if kernel == "scale") || matches!(error, DeviceError::Lost(_)), "{error}");
    assert_eq!(floats(&device.run(&job(scale(), None)).unwrap())[0], 5.0, "a new process");
}

#[test]
fn an_illegal_address_is_the_kernels_fault() {
    let machine = machine!();
    let mut device = machine.open().unwrap();
    let wild = text("wild", "const float* x, float* y, int n", "*(volatile float*)16 = 1.0f;");
    let error = device.run(&job(wild, None)).unwrap_err();
    assert!(
        matches!(&error, DeviceError::Fault { kernel, what } if kernel == "wild" && what.contains("CUDA_ERROR_ILLEGAL_ADDRESS")),
        "{error}"
    );
    assert_eq!(floats(&device.run(&job(scale(), None)).unwrap())[0], 5.0, "a new process");
}

#[test]
fn a_hang_is_ended() {
    let mut machine = machine!("WS_FAKE_HANG_AT" = "2");
    machine.timeout = Duration::from_secs(5);
    let mut device = machine.open().unwrap();
    device.run(&job(scale(), None)).unwrap();
    assert_eq!(device.run(&job(scale(), None)).unwrap_err(), DeviceError::Timeout(5));
    assert_eq!(floats(&device.run(&job(scale(), None)).unwrap())[0], 5.0, "a new process");
}

#[test]
fn too_little_memory_says_how_much_is_free() {
    let machine = machine!("WS_FAKE_OOM_BYTES" = "1000000");
    let mut device = machine.open().unwrap();
    let mut large = job(scale(), None);
    large.memory.push(buffer(2_000_000, Init::Zero));
    let error = device.run(&large).unwrap_err();
    assert!(
        matches!(&error, DeviceError::Limit { what, needed, available } if what.contains("free now") && *needed > 2_000_000 && *available > 0),
        "{error}"
    );
    large.memory[2] = buffer(2 << 30, Init::Zero);
    let error = device.run(&large).unwrap_err();
    assert!(matches!(&error, DeviceError::Limit { available, .. } if *available == 1 << 30), "{error}");
    assert_eq!(floats(&device.run(&job(scale(), None)).unwrap())[0], 5.0, "the same device");
}

#[test]
fn a_refused_text_gives_the_log_and_the_line() {
    let machine = machine!();
    let mut device = machine.open().unwrap();
    let error = device.run(&job(text("bad", "const float* x, float* y, int n", "y[0] = no_such_name;"), None)).unwrap_err();
    let DeviceError::Build { program: 0, kernel, log, .. } = &error else { panic!("{error}") };
    assert!(kernel == "bad" && log.contains("no_such_name"), "{log}");
}

/// A machine whose driver comes without NVRTC runs what another machine prepared, and nothing else.
#[test]
fn without_a_compiler_prepared_kernels_run() {
    let Some(stand_in) = fake_cuda::build() else { return };
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(stand_in.join("libcuda.so.1"), folder.path().join("libcuda.so.1")).unwrap();
    let bare = Machine::with(folder.path(), &[("WARPSIGHT_CUDA", "/nowhere")]);
    let mut device = bare.open().unwrap();
    assert!(device.info().facts["nvrtc"].starts_with("none: "), "{}", device.info().facts["nvrtc"]);
    let error = device.run(&job(scale(), None)).unwrap_err();
    let DeviceError::Build { log, .. } = &error else { panic!("{error}") };
    assert!(log.contains("no NVRTC library") && log.contains("sm_90a"), "{log}");

    let preparing = machine!();
    preparing.open().unwrap().run(&job(scale(), None)).unwrap();
    std::fs::create_dir_all(bare.cache()).unwrap();
    for entry in std::fs::read_dir(preparing.cache()).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), bare.cache().join(entry.file_name())).unwrap();
    }
    let result = device.run(&job(scale(), None)).unwrap();
    assert!(result.feedback[0].cached && floats(&result)[1] == 8.0);
    // Large arrays are filled by the host then.
    let mut large = job(scale(), None);
    large.memory.push(buffer(1 << 20, Init::Random { element: Scalar::F32, seed: 3 }));
    large.read = vec![2];
    assert_eq!(device.run(&large).unwrap().read[0].0, Init::Random { element: Scalar::F32, seed: 3 }.contents(1 << 20).unwrap());
}
