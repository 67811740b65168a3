//! Children here are this test executable, started to run the one ignored test [`child`], with a device that misbehaves on demand.

use super::child::{Served, serve};
use super::compiler::Compiler;
use super::*;
use crate::glslang::CompileError;
use crate::refusal::Reason;
use crate::vulkan::{Draw, Drawn, Renderer};
use crate::{Contents, MemoryKind};
use std::io::Write;

/// Set in children only: which of them to be.
const ROLE: &str = "WARPSIGHT_TEST_CHILD";

/// Set in children that are to write down who they are whenever they make memory: the file.
const LOG: &str = "WARPSIGHT_TEST_LOG";

/// What a job makes the misbehaving device do: its first [`Job::read`].
const ECHO: usize = 0;
const ABORT: usize = 1;
const HANG: usize = 2;
const PRINT: usize = 3;
const EXIT: usize = 4;
const FAIL: usize = 5;
const PANIC: usize = 6;

struct Misbehaving(DeviceInfo);

/// Its memory, as it was written.
struct MisbehavingSession(Vec<Contents>);

fn contents(init: &Init) -> Contents {
    match init {
        Init::Data(data) => Contents(data.clone()),
        _ => Contents(vec![0xff]),
    }
}

impl Device for Misbehaving {
    fn info(&self) -> &DeviceInfo {
        &self.0
    }
    fn open<'a>(&'a mut self, memory: &[MemorySpec]) -> Result<Box<dyn Session + 'a>, DeviceError> {
        if let Some(log) = std::env::var_os(LOG) {
            let mut log = std::fs::OpenOptions::new().append(true).create(true).open(log).unwrap();
            writeln!(log, "{}", std::process::id()).unwrap();
        }
        Ok(Box::new(MisbehavingSession(memory.iter().map(|spec| contents(&spec.init)).collect())))
    }
}

impl Session for MisbehavingSession {
    fn load(&mut self, programs: &[Code]) -> Result<Vec<Feedback>, DeviceError> {
        Ok(vec![Feedback::default(); programs.len()])
    }
    fn write(&mut self, memory: usize, init: &Init) -> Result<(), DeviceError> {
        self.0[memory] = contents(init);
        Ok(())
    }
    fn launch(&mut self, launches: &[LaunchSpec]) -> Result<Vec<Feedback>, DeviceError> {
        Ok(vec![Feedback::default(); launches.len()])
    }
    /// A pass takes as many seconds as there are runs.
    fn time(&mut self, _: &[LaunchSpec], timing: TimingSpec) -> Result<Timed, DeviceError> {
        Ok(Timed { pass_times: warpsight_ir::Times::alike(warpsight_ir::Seconds(timing.runs.into()), 1), ..Timed::default() })
    }
    fn look(&mut self, look: &Look) -> Result<Seen, DeviceError> {
        match look.read[0] {
            ABORT => std::process::abort(),
            HANG => loop {
                std::thread::sleep(Duration::from_secs(1));
            },
            PRINT => {
                // As a C library's printf would; what looks like a message's beginning, too.
                Command::new("printf").arg(r"noise of a driver\n\365wsjob1\n").status().unwrap();
                println!("more noise");
            }
            EXIT => {
                (0..100).for_each(|i| eprintln!("line {i}"));
                std::process::exit(7)
            }
            FAIL => return Err(DeviceError::Limit { what: "x".into(), needed: 2, available: 1 }),
            PANIC => panic!("a broken invariant"),
            _ => {}
        }
        Ok(Seen { read: self.0.clone(), damaged: vec![std::process::id() as usize], ..Seen::default() })
    }
}

/// A renderer that does what the entry point's name says.
impl Renderer for Misbehaving {
    fn info(&self) -> &DeviceInfo {
        &self.0
    }
    fn draw(&mut self, draw: &Draw) -> Result<Drawn, DeviceError> {
        match draw.entry.as_str() {
            "abort" => std::process::abort(),
            // A little work at a time, as on a machine that does much else.
            "slow" => {
                let now = || crate::processor::processor_time().unwrap();
                let begin = now();
                while now() < begin + 0.2 {
                    let until = now() + 0.02;
                    while now() < until {}
                    std::thread::sleep(Duration::from_millis(60));
                }
                Ok(Drawn::default())
            }
            "spin" => loop {
                std::hint::spin_loop();
            },
            "sleep" => loop {
                std::thread::sleep(Duration::from_secs(1));
            },
            "lose" => Err(DeviceError::Lost("vkQueueSubmit says so".into())),
            "refuse" => Err(Reason::draw("no")),
            _ => Ok(Drawn { storage: vec![Contents(std::process::id().to_le_bytes().to_vec())], ..Drawn::default() }),
        }
    }
}

fn info() -> DeviceInfo {
    DeviceInfo {
        id: "fake:0".into(),
        backend: "fake".into(),
        name: "name".into(),
        driver: "1".into(),
        limits: crate::DeviceLimits { max_group_dims: Some([1, 2, 3]), ..Default::default() },
        is_cpu: false,
        facts: Default::default(),
        clock: None,
    }
}

fn start(role: impl Into<String>) -> Start {
    let role = role.into();
    let command = move || {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["isolated::tests::child", "--exact", "--ignored", "--nocapture"]).env(ROLE, &role);
        command
    };
    Start { command: Arc::new(command), cache: Some("/a/cache".into()) }
}

fn misbehaving(timeout: Duration) -> Isolated {
    Isolated::from_start(start("device"), timeout).unwrap()
}

const LONG: Duration = Duration::from_secs(60);

fn job(what: usize, data: &[u8]) -> Job {
    let memory = MemorySpec { kind: MemoryKind::Buffer { bytes: data.len() as u64 }, init: Init::Data(data.to_vec()), canaries: false };
    Job {
        memory: vec![memory],
        read: vec![what],
        launches: vec![LaunchSpec { program: 1, args: vec![2], sizes: vec![-3] }],
        ..Job::default()
    }
}

#[test]
#[ignore = "is the child of the other tests"]
fn child() {
    let fake = |cache: Option<PathBuf>| {
        assert_eq!(cache, Some("/a/cache".into()));
        Ok(Served::Device(Box::new(Misbehaving(info()))))
    };
    match std::env::var(ROLE).as_deref() {
        Ok("device") => _ = serve(fake),
        Ok("refuses") => _ = serve(|_| Err(DeviceError::NoDevice { id: "fake:0".into(), reason: "none".into() })),
        Ok("opencl") => _ = serve_child("opencl:0"),
        Ok("renderer") => _ = serve(|_| Ok(Served::Renderer(Box::new(Misbehaving(info()))))),
        Ok(role) if role.starts_with("vulkan:") => _ = serve_child(role),
        Ok("listing") => _ = serve_child("opencl"),
        Ok("compiler") => _ = serve_child("glsl"),
        Ok("parent") => {
            let mut device = misbehaving(LONG);
            eprintln!("grandchild {}", device.0.worker.child.as_ref().unwrap().child.id());
            let _ = device.run(&job(HANG, b""));
        }
        _ => {}
    }
}

#[test]
fn jobs_and_results_cross_unchanged() {
    let mut device = misbehaving(LONG);
    assert_eq!(device.info(), &info());
    // Larger than any pipe's buffer, with the mark's bytes in it.
    let large: Vec<u8> = b"\xf5wsjob1\n".iter().copied().cycle().take(3_000_001).collect();
    let first = device.run(&job(ECHO, &large)).unwrap();
    assert_eq!(first.read[0].0, large);
    let second = device.run(&job(ECHO, b"small")).unwrap();
    assert_eq!((&second.read[0].0[..], &second.damaged), (&b"small"[..], &first.damaged), "the same child serves many jobs");
}

#[test]
fn jobs_are_prepared_in_children_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let inner = start("device");
    let logged = log.clone();
    let command = move || {
        let mut command = (inner.command)();
        command.env(LOG, &logged);
        command
    };
    let mut device = Isolated::from_start(Start { command: Arc::new(command), cache: Some("/a/cache".into()) }, LONG).unwrap();
    let own = device.0.worker.child.as_ref().unwrap().child.id().to_string();
    // What brings a child down, or fails, keeps nobody from the rest.
    device.prepare(&[ECHO, ABORT, FAIL, ECHO, EXIT, ECHO, ECHO].map(|what| job(what, b"x")));
    if std::thread::available_parallelism().unwrap().get() > 1 {
        let seen = std::fs::read_to_string(&log).unwrap();
        assert_eq!(seen.lines().count(), 7, "each once: {seen}");
        assert!(seen.lines().all(|child| child != own), "{own}: {seen}");
    }
    assert_eq!(device.run(&job(ECHO, b"y")).unwrap().damaged[0].to_string(), own, "the device's own child lives");
}

#[test]
fn every_program_crosses_unchanged() {
    use warpsight_ir::*;
    let buffer = |name: &str, access| Param {
        name: name.into(),
        kind: ParamKind::Buffer { space: Space::Global, element: Scalar::F32, dims: vec![Expr::Size("n".into())], access },
    };
    let program = Program {
        name: "copy".into(),
        sizes: vec![SizeParam { name: "n".into(), lo: 1, hi: 1 << 40 }],
        params: vec![buffer("a", Access::Read), buffer("b", Access::Write)],
        arrays: vec![Array { name: "t".into(), space: Space::Local, element: Scalar::F16, dims: vec![3, 4] }],
        launch: Launch { groups: vec![], lanes: vec![LaneAxis { name: "x".into(), extent: 8 }], subgroup: Some(8) },
        body: vec![Stmt::Store {
            target: "b".into(),
            index: vec![Expr::var("x")],
            value: Expr::Const(Const::F64(f64::MIN_POSITIVE)),
            guard: vec![Bound { value: Expr::var("x"), extent: Expr::Size("n".into()), per_lane: true }],
            policy: StorePolicy::NonTemporal,
        }],
    };
    let sent = [Code::from(program)];
    let bytes = frame::encode(&Request::Session(Ask::Load(Cow::Borrowed(&sent)))).unwrap();
    let Request::Session(Ask::Load(received)) = frame::decode(&bytes).unwrap() else { panic!() };
    assert_eq!(*received, sent);
}

#[test]
fn a_crash_is_reported_and_survived() {
    let mut device = misbehaving(LONG);
    let before = device.run(&job(ECHO, b"")).unwrap().damaged;
    let DeviceError::Lost(how) = device.run(&job(ABORT, b"")).unwrap_err() else { panic!() };
    if cfg!(unix) {
        assert!(how.starts_with("its process was ended by signal 6 (abort)"), "{how}");
    }
    let after = device.run(&job(ECHO, b"")).unwrap().damaged;
    assert_ne!(before, after, "a new child");
}

#[test]
fn the_last_words_of_a_child_are_kept() {
    let mut device = misbehaving(LONG);
    let DeviceError::Lost(how) = device.run(&job(EXIT, b"")).unwrap_err() else { panic!() };
    assert!(how.starts_with("its process exited with code 7; it last said:\nline 88\n") && how.ends_with("line 99"), "{how}");
    let DeviceError::Lost(how) = device.run(&job(PANIC, b"")).unwrap_err() else { panic!() };
    assert!(how.starts_with("its process exited with code 101"), "{how}");
}

#[test]
fn a_hang_is_ended() {
    let mut device = misbehaving(LONG);
    device.limit(Duration::from_millis(300));
    let pid = device.0.worker.child.as_ref().unwrap().child.id();
    let start = Instant::now();
    // Too large for the pipe: the child reads it all the same, or writing would block for ever.
    assert_eq!(device.run(&job(HANG, &vec![1; 1 << 20])).unwrap_err(), DeviceError::Timeout(1));
    assert!(start.elapsed() < Duration::from_secs(20));
    assert!(gone(pid), "killed");
    device.limit(LONG);
    assert_eq!(device.run(&job(ECHO, b"again")).unwrap().read[0].0, b"again");
}

#[test]
fn what_drivers_print_corrupts_nothing() {
    let mut device = misbehaving(Duration::from_secs(20));
    for _ in 0..3 {
        assert_eq!(device.run(&job(PRINT, b"clean")).unwrap().read[0].0, b"clean");
    }
}

#[test]
fn errors_of_the_device_cross_and_keep_the_child() {
    let mut device = misbehaving(LONG);
    assert_eq!(device.run(&job(FAIL, b"")).unwrap_err(), DeviceError::Limit { what: "x".into(), needed: 2, available: 1 });
    assert!(device.0.worker.child.is_some());
    let error = Isolated::from_start(start("refuses"), LONG).err();
    assert_eq!(error, Some(DeviceError::NoDevice { id: "fake:0".into(), reason: "none".into() }));
}

#[test]
fn a_program_that_is_no_child_is_reported() {
    let error = Isolated::spawn("opencl:0", Path::new("/no/such/program"), LONG, None).err();
    assert!(matches!(&error, Some(DeviceError::Lost(how)) if how.contains("could not be started")), "{error:?}");
    if cfg!(unix) {
        let error = Isolated::spawn("opencl:0", Path::new("/bin/true"), LONG, None).err();
        assert_eq!(error, Some(DeviceError::Lost("its process exited with code 0".into())));
    }
}

/// The real driver, isolated, gives what it gives in this process.
#[test]
fn a_driver_works_from_within_a_child() {
    let listing = match Running::start(&Start { cache: None, ..start("listing") }, Limit::Wall(LONG)).unwrap().1 {
        Reply::Listing(listing) => listing,
        other => panic!("{other:?}"),
    };
    assert_eq!(listing, crate::opencl::list());
    let mut device = match Isolated::from_start(Start { cache: None, ..start("opencl") }, LONG) {
        Ok(device) => device,
        Err(error) => {
            assert!(std::env::var("CI").as_deref() != Ok("true"), "CI needs an OpenCL device: {error}");
            assert!(matches!(error, DeviceError::NoDevice { .. }), "{error}");
            return eprintln!("skipped: {error}");
        }
    };
    assert_eq!(device.info(), &listing.devices[0]);
    let result = device.run(&crate::testing::scale_job(&[1.0, 2.0, 4.0], Some(crate::TimingSpec::runs(2)))).unwrap();
    assert_eq!(warpsight_ir::data::bytes_f32(&result.read[0].0), [3.0, 6.0, 12.0]);
    assert_eq!(result.timed.pass_times.len(), 2);
    crate::testing::memory_stays(&mut device);
}

/// A child that ends, is killed or hangs takes the session's memory with it, but nothing that was answered before; the device goes on.
#[test]
fn a_session_ends_with_its_child_and_what_was_answered_stands() {
    let mut device = misbehaving(LONG);
    let memory = job(ECHO, b"weights").memory;
    let look = |what: usize| Look { read: vec![what], peek: vec![] };
    for (what, ends) in [(ABORT, "signal 6"), (HANG, "within 1 s"), (ECHO, "signal 9")] {
        device.limit(LONG);
        let pid = device.0.worker.child.as_ref().map(|child| child.child.id());
        let mut session = device.open(&memory).unwrap();
        let timed = session.time(&[], crate::TimingSpec::runs(3)).unwrap();
        let seen = session.look(&look(ECHO)).unwrap();
        assert_eq!(seen.read[0].0, b"weights");
        if what == ECHO {
            // As `kill -9`.
            let child = rustix::process::Pid::from_raw(seen.damaged[0] as i32).unwrap();
            rustix::process::kill_process(child, rustix::process::Signal::KILL).unwrap();
        }
        if what == HANG {
            drop(session);
            device.limit(Duration::from_millis(500));
            session = device.open(&memory).unwrap();
        }
        let error = session.look(&look(what)).unwrap_err();
        assert!(matches!(error, DeviceError::Lost(_) | DeviceError::Timeout(1)) && error.to_string().contains(ends), "{error}");
        let DeviceError::Lost(again) = session.write(0, &Init::Zero).unwrap_err() else { panic!() };
        assert_eq!(again, format!("the session ended: {error}"));
        assert_eq!(timed.pass_times.first(), Some(warpsight_ir::Seconds(3.0)));
        drop(session);
        device.limit(LONG);
        let echoed = device.run(&job(ECHO, b"again")).unwrap();
        assert_eq!(echoed.read[0].0, b"again");
        assert_ne!(Some(echoed.damaged[0] as u32), pid, "a new child");
    }
}

#[test]
fn what_the_compiler_does_not_survive_is_an_error_and_the_next_shader_compiles() {
    let compiler = Compiler::new(|| Ok(Start { cache: None, ..start("compiler") }), Duration::from_secs(3));
    let shader = |body: &str| format!("#version 450\nlayout(location = 0) out vec4 c;\n{body}\n");
    let good = shader("void main() { c = vec4(1.0); }");
    let module = compiler.compile(&good).unwrap();
    assert_eq!(module, crate::glslang::fragment(&good).unwrap());
    assert_eq!(compiler.compile("void main() {"), crate::glslang::fragment("void main() {"));
    // Each macro is twice the one before.
    let doubled: String = (1..30).map(|i| format!("#define a{i} a{0} a{0}\n", i - 1)).collect();
    let doubling =
        |last: u32| shader(&format!("uniform U {{ float t; }};\n#define a0 +t+t+t+t\n{doubled}void main() {{ c = vec4(t a{last}); }}"));
    assert!(matches!(compiler.compile(&doubling(29)), Err(CompileError::Slow { seconds: 3 } | CompileError::Died { .. })));
    let patient = Compiler::new(|| Ok(Start { cache: None, ..start("compiler") }), LONG);
    assert!(matches!(patient.compile(&doubling(18)), Err(CompileError::Died { how }) if how.contains("signal") && !how.contains('\n')));
    // Deep, but not too deep for the compiler's own stack.
    assert!(patient.compile(&doubling(12)).is_ok());
    assert_eq!(compiler.compile(&good), Ok(module));
    let none = Compiler::new(|| Ok(Start::of_program("glsl", Path::new("/no/such/program"), None)), LONG);
    assert!(matches!(none.compile(&good), Err(CompileError::Unavailable(why)) if why.contains("could not be started")));
}

#[test]
fn a_renderer_that_crashes_or_loses_its_device_begins_anew() {
    let mut renderer = IsolatedRenderer(Opened::new(start("renderer"), LONG).unwrap());
    let ask = |renderer: &mut IsolatedRenderer, entry: &str| renderer.draw(&Draw { entry: entry.into(), ..Draw::default() });
    let who = |drawn: Result<Drawn, DeviceError>| drawn.unwrap().storage[0].0.clone();
    let first = who(ask(&mut renderer, "draw"));
    assert_eq!(ask(&mut renderer, "refuse"), Err(Reason::draw("no")));
    assert_eq!(who(ask(&mut renderer, "draw")), first, "the same process");
    let Err(DeviceError::Lost(how)) = ask(&mut renderer, "abort") else { panic!() };
    assert!(!cfg!(unix) || how.starts_with("its process was ended by signal 6 (abort)"), "{how}");
    let second = who(ask(&mut renderer, "draw"));
    assert_ne!(second, first);
    assert_eq!(ask(&mut renderer, "lose"), Err(DeviceError::Lost("vkQueueSubmit says so".into())));
    assert_ne!(who(ask(&mut renderer, "draw")), second, "a device that was lost is opened anew");
}

/// Where the device is the processor, its time decides what hangs: not how much else the machine does.
#[cfg(target_os = "linux")]
#[test]
fn a_slow_machine_makes_no_hang_and_neither_work_nor_sleep_lasts_for_ever() {
    let mut renderer = IsolatedRenderer(Opened::new(start("renderer"), LONG).unwrap());
    let mut ask = |limit: Limit, entry: &str| {
        renderer.0.worker.limit = limit;
        renderer.draw(&Draw { entry: entry.into(), ..Draw::default() })
    };
    let limit = Duration::from_millis(500);
    assert_eq!(ask(Limit::Wall(limit), "slow"), Err(DeviceError::Timeout(1)), "it takes 0.8 s by the wall");
    assert_eq!(ask(Limit::Processor(limit), "slow"), Ok(Drawn::default()), "and 0.2 s of the processor");
    for endless in ["spin", "sleep"] {
        let begin = Instant::now();
        assert_eq!(ask(Limit::Processor(limit), endless), Err(DeviceError::Timeout(1)), "{endless}");
        assert!(begin.elapsed() < LONG, "{endless}");
    }
}

/// A shader without an end on a real driver: it is ended, and the next one is drawn. (llvmpipe leaves loops after 65535 iterations
/// altogether; for this frame, that takes minutes.)
#[test]
fn a_shader_that_hangs_is_ended() {
    let Some(id) = crate::vulkan::tests::rasteriser() else { return };
    let mut renderer = IsolatedRenderer(Opened::new(start(id), LONG).unwrap());
    let work = |rounds: u32| crate::vulkan::tests::work([0.3; 4], [0.01; 3], rounds);
    let good = renderer.draw(&work(3)).unwrap();
    renderer.limit(Duration::from_millis(400));
    let endless = Draw { frame: [2048, 2048], read: false, ..work(u32::MAX) };
    assert_eq!(renderer.draw(&endless), Err(DeviceError::Timeout(1)));
    renderer.limit(LONG);
    assert_eq!(renderer.draw(&work(3)).unwrap(), good);
}

/// Whether a process has ended (a zombie has).
fn gone(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !Path::new("/proc/self/stat").exists()
        || stat.rsplit(')').next().is_none_or(|rest| rest.trim_start().is_empty() || rest.trim_start().starts_with('Z'))
}

/// The parent is killed with no chance to clean up, while its child is in a driver that hangs.
#[cfg(target_os = "linux")]
#[test]
fn no_child_outlives_its_parent() {
    let mut parent = (start("parent").command)().stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(parent.stderr.take().unwrap()).lines();
    let pid = lines.find_map(|line| line.unwrap().strip_prefix("grandchild ").map(|pid| pid.parse::<u32>().unwrap())).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    assert!(!gone(pid), "it runs");
    parent.kill().unwrap();
    parent.wait().unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while !gone(pid) {
        assert!(Instant::now() < deadline, "process {pid} is still there");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// PoCL's threads keep to processors of their own unless this process has others, or a user says how threads are.
#[test]
fn threads_keep_to_processors_unless_somebody_says_otherwise() {
    assert!(super::keeps_threads(true, &|_| false));
    assert!(!super::keeps_threads(false, &|_| false));
    for name in [super::AFFINITY, super::THREADS[0], super::THREADS[1]] {
        assert!(!super::keeps_threads(true, &|own| own == name), "{name}");
    }
}
