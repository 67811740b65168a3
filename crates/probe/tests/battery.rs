//! The battery on the simulator, and on devices that misbehave as drivers do.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;
use warpsight_ir::TimeSource;
use warpsight_ir::data::{bytes_f32, f32_bytes};
use warpsight_probe::battery::{self, BatteryError, DeviceLock, Event, Folder, Host, Options, Origin, PhaseFile, Summary, Task};
use warpsight_probe::{Amounts, Cause, Context, Measurement, Needs, Outcome, Parameter, Phase, Plan, Record, Scale};
use warpsight_run::{
    Code, CudaText, Device, DeviceError, DeviceInfo, Init, Job, JobResult, LaunchSpec, MemoryKind, MemorySpec, Session, TimingSpec,
    sim::Sim,
};

const KERNEL: &str = "\
program triple {
  size n in 1..=4096
  read buffer x: f32[n]
  write buffer y: f32[n]
  groups g = (n + 7) / 8
  lanes l = 8
  {
    let i = g * 8 + l
    y[i if 0 <= i < n] = x[i if 0 <= i < n] * 3.0
  }
}
";

/// `y = 3 · x` over `n` elements.
fn measurement(name: &str, n: usize) -> Measurement {
    let values: Vec<f32> = (0..n).map(|i| i as f32 + 1.0).collect();
    let expected: Vec<f32> = values.iter().map(|value| 3.0 * value).collect();
    let memory = |init| MemorySpec { kind: MemoryKind::Buffer { bytes: 4 * n as u64 }, init, canaries: true };
    Measurement {
        name: name.into(),
        params: [("n".to_owned(), Parameter::Int(n as i64))].into(),
        job: Job {
            programs: vec![Code::Program(warpsight_ir::text::parse(KERNEL).unwrap())],
            memory: vec![memory(Init::Data(f32_bytes(&values))), memory(Init::Poison)],
            launches: vec![LaunchSpec { program: 0, args: vec![0, 1], sizes: vec![n as i64] }],
            read: vec![1],
            peek: vec![],
            timing: Some(TimingSpec::runs(3)),
        },
        launch: 0,
        amounts: Amounts { bytes: 8.0 * n as f64, operations: n as f64, ..Amounts::default() },
        check: Box::new(move |result| match bytes_f32(&result.read[0].0) == expected {
            true => Ok(()),
            false => Err("y is not three times x".into()),
        }),
    }
}

fn five(_: &Context<'_>) -> Plan {
    Plan::list((1..=5).map(|i| measurement(&format!("m{i}"), 8 * i)))
}

fn slow(_: &Context<'_>) -> Plan {
    Plan::list((1..=5).map(|i| {
        let inner = measurement(&format!("m{i}"), 8);
        Measurement {
            check: Box::new(|_| {
                std::thread::sleep(Duration::from_millis(300));
                Ok(())
            }),
            ..inner
        }
    }))
}

fn broken(_: &Context<'_>) -> Plan {
    Plan::list((1..=3).map(|i| {
        assert!(i < 3, "the third cannot be planned");
        Measurement { check: Box::new(|result| Err(format!("{}", result.read[7].0.len()))), ..measurement(&format!("m{i}"), 8) }
    }))
}

fn text(_: &Context<'_>) -> Plan {
    let mut inner = measurement("text", 8);
    inner.job.programs = vec![Code::Cuda(CudaText {
        text: "extern \"C\" __global__ void f() {}".into(),
        entry: "f".into(),
        grid: [1; 3],
        block: [1; 3],
        dynamic_shared: 0,
        cluster: 1,
        cooperative: false,
        pinned: None,
    })];
    Plan::list(std::iter::once(inner))
}

fn phase(name: &'static str, plan: fn(&Context<'_>) -> Plan) -> Task {
    Task::from(Phase { name, purpose: "a test", needs: Needs::Programs, share: 1.0, plan })
}

fn info() -> DeviceInfo {
    Sim::open("adreno640").unwrap().info().clone()
}

/// What the devices of a test do, one entry per job (or opening); beyond the end they work.
type Script = Rc<RefCell<VecDeque<Option<DeviceError>>>>;

struct Scripted(Sim, Script);

impl Device for Scripted {
    fn info(&self) -> &DeviceInfo {
        self.0.info()
    }
    fn open<'a>(&'a mut self, memory: &[MemorySpec]) -> Result<Box<dyn Session + 'a>, DeviceError> {
        self.0.open(memory)
    }
    fn run(&mut self, job: &Job) -> Result<JobResult, DeviceError> {
        match self.1.borrow_mut().pop_front().flatten() {
            Some(error) => Err(error),
            None => self.0.run(job),
        }
    }
}

struct Battery {
    dir: tempfile::TempDir,
    openings: Script,
    jobs: Script,
    budget: Duration,
    plant_wrong: bool,
    stop_after: usize,
    said: Rc<RefCell<Vec<String>>>,
    reopened: usize,
}

impl Battery {
    fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
            openings: Script::default(),
            jobs: Script::default(),
            budget: Duration::from_secs(60),
            plant_wrong: false,
            stop_after: usize::MAX,
            said: Rc::default(),
            reopened: 0,
        }
    }
    fn folder(&self, scale: Scale, seed: Option<u64>, again: bool) -> Result<Folder, BatteryError> {
        let origin =
            Origin { command: vec!["test".into()], warpsight: "0".into(), git: None, host: Host::here(), device: info(), scale, seed: 1 };
        let said = self.said.clone();
        Folder::open(self.dir.path(), origin, seed, again, Box::new(move |line| said.borrow_mut().push(line.into())))
    }
    fn run(&mut self, tasks: Vec<Task>) -> Vec<Summary> {
        let mut folder = self.folder(Scale::Tiny, None, false).unwrap();
        self.run_in(tasks, &mut folder)
    }
    fn run_in(&mut self, tasks: Vec<Task>, folder: &mut Folder) -> Vec<Summary> {
        let taken = RefCell::new(0);
        let (openings, jobs) = (self.openings.clone(), self.jobs.clone());
        let options = Options {
            scale: Scale::Tiny,
            budget: self.budget,
            patience: Duration::from_secs(5),
            pause: Duration::from_millis(1),
            once: false,
            plant_wrong: self.plant_wrong,
            stop: &|| *taken.borrow() >= self.stop_after,
        };
        let mut open = |_: &Task, _: Duration| -> Result<Box<dyn Device>, DeviceError> {
            match openings.borrow_mut().pop_front().flatten() {
                Some(error) => Err(error),
                None => Ok(Box::new(Scripted(Sim::open("adreno640").unwrap(), jobs.clone()))),
            }
        };
        let mut reopened = 0;
        let summaries = battery::run(tasks, &options, folder, &mut open, &mut |event| match event {
            Event::Taken(_) => *taken.borrow_mut() += 1,
            Event::Reopens(_) => reopened += 1,
            _ => {}
        });
        self.reopened = reopened;
        summaries
    }
    fn read(&self, name: &str) -> PhaseFile {
        PhaseFile::read(&self.dir.path().join(name)).unwrap().0
    }
    fn files(&self) -> Vec<String> {
        let mut names: Vec<String> =
            std::fs::read_dir(self.dir.path()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

fn names(records: &[Record]) -> Vec<&str> {
    records.iter().map(|record| record.name.as_str()).collect()
}

#[test]
fn a_phase_becomes_a_file() {
    let mut battery = Battery::new();
    let summaries = battery.run(vec![phase("first", five), phase("second", five)]);
    assert_eq!(
        summaries.iter().map(|s| (s.name.as_str(), s.verified, s.complete)).collect::<Vec<_>>(),
        [("first", 5, true), ("second", 5, true)]
    );
    assert_eq!(summaries[0].source, Some(TimeSource::Simulated));
    assert_eq!(battery.files(), [".lock", "battery.json", "first.json", "second.json"]);
    let file = battery.read("first.json");
    assert_eq!((file.phase.as_str(), file.purpose.as_str(), file.scale, file.seed), ("first", "a test", Scale::Tiny, 1));
    assert_eq!(file.device, info());
    assert_eq!(file.programs.values().collect::<Vec<_>>(), [KERNEL], "five records share one text");
    assert_eq!(names(&file.records), ["m1", "m2", "m3", "m4", "m5"]);
    let record = &file.records[1];
    assert_eq!((record.kernel.as_str(), &record.sizes[..], record.launches), ("triple", &[16][..], 1));
    assert_eq!(record.params["n"], Parameter::Int(16));
    assert!(record.times_s.len() == 3 && record.times_s[0] > 0.0 && record.pass_times_s.len() == 3);
    assert!(file.programs.contains_key(&record.code) && record.timing == Some(TimingSpec::runs(3)));
    assert!(file.date.ends_with('Z') && file.date.starts_with("20"));
    assert!(battery.said.borrow().is_empty(), "everything could be written");
}

#[test]
fn a_planted_wrong_kernel_is_kept_as_wrong_with_its_times() {
    let mut battery = Battery { plant_wrong: true, ..Battery::new() };
    let summaries = battery.run(vec![phase("first", five)]);
    assert_eq!((summaries[0].wrong, summaries[0].verified), (1, 4));
    let file = battery.read("first.json");
    assert_eq!(file.records[0].outcome, Outcome::Wrong { what: "y is not three times x".into() });
    assert_eq!(file.records[0].times_s.len(), 3);
    assert_ne!(file.programs[&file.records[0].code], KERNEL, "the text is the one that ran");
}

#[test]
fn a_lost_device_is_opened_again() {
    let mut battery = Battery::new();
    battery.jobs = Rc::new(RefCell::new([None, Some(DeviceError::Lost("gone".into())), Some(DeviceError::Timeout(5)), None].into()));
    // The first opening, then one that takes a second attempt.
    battery.openings = Rc::new(RefCell::new([None, Some(DeviceError::Lost("not yet".into()))].into()));
    let summaries = battery.run(vec![phase("first", five)]);
    assert_eq!((summaries[0].verified, summaries[0].failed, summaries[0].complete), (3, 2, true));
    assert_eq!(battery.reopened, 3, "after the loss, after the failed attempt, after the timeout");
    let file = battery.read("first.json");
    assert_eq!(file.records[1].outcome, Outcome::Failed { why: "the device was lost: gone".into(), cause: Cause::Lost });
    assert_eq!(
        file.records[2].outcome,
        Outcome::Failed { why: "the driver did not answer within 5 s and was stopped".into(), cause: Cause::Lost }
    );
    assert_eq!(file.records[3].outcome, Outcome::Verified);
}

#[test]
fn out_of_memory_and_unsupported_cost_only_themselves() {
    let mut battery = Battery::new();
    let limit = DeviceError::Limit { what: "memory".into(), needed: 9, available: 8 };
    let driver = DeviceError::Driver { call: "cuMemAlloc".into(), code: "CUDA_ERROR_OUT_OF_MEMORY".into() };
    let unsupported = DeviceError::Unsupported { program: 0, kernel: "triple".into(), what: "a graph".into() };
    battery.jobs = Rc::new(RefCell::new([Some(limit), Some(driver), Some(unsupported)].into()));
    let summaries = battery.run(vec![phase("first", five)]);
    assert_eq!((summaries[0].verified, summaries[0].failed, summaries[0].skipped), (2, 2, 1));
    let file = battery.read("first.json");
    assert_eq!(file.records[0].outcome, Outcome::Failed { why: "memory needs 9, the device has 8".into(), cause: Cause::Refused });
    assert_eq!(
        file.records[1].outcome,
        Outcome::Failed { why: "driver call cuMemAlloc failed with CUDA_ERROR_OUT_OF_MEMORY".into(), cause: Cause::Refused }
    );
    assert_eq!(battery.reopened, 0);
}

#[test]
fn a_device_that_stays_away_ends_the_phase_and_a_later_run_continues_it() {
    let mut battery = Battery::new();
    let lost = || Some(DeviceError::Lost("fell off the bus".into()));
    battery.jobs = Rc::new(RefCell::new([None, None, lost()].into()));
    battery.openings = Rc::new(RefCell::new([None, lost(), lost(), lost(), lost(), lost(), lost()].into()));
    let summaries = battery.run(vec![phase("first", five), phase("second", five)]);
    assert_eq!(summaries[0].note.as_deref(), Some("the device is gone: the device was lost: fell off the bus"));
    assert_eq!((summaries[0].verified, summaries[0].failed, summaries[0].complete), (2, 1, false));
    assert_eq!(summaries[1].note.as_deref(), Some("the device was lost: fell off the bus"));
    assert_eq!(battery.files(), [".lock", "battery.json", "first.jsonl"]);
    assert_eq!(names(&battery.read("first.jsonl").records), ["m1", "m2", "m3"]);

    let summaries = battery.run(vec![phase("first", five), phase("second", five)]);
    assert_eq!((summaries[0].verified, summaries[0].failed, summaries[0].complete), (5, 0, true), "the lost one is tried again");
    assert_eq!(summaries[1].verified, 5);
    assert_eq!(battery.files(), [".lock", "battery.json", "first.json", "second.json"]);
    assert_eq!(names(&battery.read("first.json").records), ["m1", "m2", "m3", "m4", "m5"]);
}

#[test]
fn what_the_time_did_not_suffice_for_is_stated() {
    let mut battery = Battery { budget: Duration::from_millis(1600), ..Battery::new() };
    let summaries = battery.run(vec![phase("first", slow), phase("second", five)]);
    // Half of 1.6 s: measurements of 0.3 s each begin at 0, 0.3 and 0.6, fewer on a busy machine.
    let (verified, skipped) = (summaries[0].verified, summaries[0].skipped);
    assert!((1..=3).contains(&verified) && verified + skipped == 5, "{verified} {skipped}");
    let file = battery.read("first.json");
    assert_eq!(file.records[4].outcome, Outcome::Skipped { why: "out of time: its 1 s are used up".into(), later: true });
    assert_eq!(file.records[4].kernel, "triple");
    assert_eq!(summaries[1].verified, 5, "the second has its own time");
}

/// A launch that outlasts what is left of the time, and not the patience with a driver, may be a slow one.
#[test]
fn what_is_stopped_since_the_time_is_over_is_no_failure() {
    let mut battery = Battery { budget: Duration::from_secs(4), ..Battery::new() };
    battery.jobs = Rc::new(RefCell::new([None, Some(DeviceError::Timeout(4))].into()));
    let summaries = battery.run(vec![phase("first", five)]);
    assert_eq!((summaries[0].failed, summaries[0].skipped), (0, 1));
    let stopped = battery.read("first.json").records[1].outcome.clone();
    assert_eq!(stopped, Outcome::Skipped { why: "out of time: its 4 s are used up".into(), later: true });
}

#[test]
fn what_failed_or_had_no_time_is_tried_again() {
    let mut battery = Battery::new();
    let no_compiler = || Some(DeviceError::Build { program: 0, kernel: "triple".into(), log: "no NVRTC".into(), line: None });
    let unsupported = || Some(DeviceError::Unsupported { program: 0, kernel: "triple".into(), what: "a graph".into() });
    battery.jobs = Rc::new(RefCell::new([None, no_compiler(), unsupported(), no_compiler()].into()));
    let summaries = battery.run(vec![phase("first", five)]);
    assert_eq!((summaries[0].verified, summaries[0].failed, summaries[0].skipped), (2, 2, 1));
    let before = battery.read("first.json");
    assert!(matches!(before.records[1].outcome, Outcome::Failed { cause: Cause::Build, .. }));

    // Now there is a compiler, and the user is impatient: what is there already is not lost meanwhile.
    battery.stop_after = 1;
    battery.run(vec![phase("first", five)]);
    assert_eq!(battery.files(), [".lock", "battery.json", "first.json", "first.jsonl"]);
    assert_eq!(battery.read("first.json"), before);
    battery.stop_after = usize::MAX;
    let summaries = battery.run(vec![phase("first", five)]);
    assert_eq!((summaries[0].verified, summaries[0].failed, summaries[0].skipped), (4, 0, 1));
    let after = battery.read("first.json");
    assert_eq!(names(&after.records), ["m1", "m3", "m5", "m2", "m4"], "what the device cannot do it is not asked again");
    assert_eq!(after.records[0], before.records[0], "what is verified is not measured again");
    assert_eq!(battery.run(vec![phase("first", five)])[0].note.as_deref(), Some("measured earlier"));

    let mut battery = Battery { budget: Duration::from_millis(400), ..Battery::new() };
    let skipped = battery.run(vec![phase("first", slow)])[0].skipped;
    assert!(skipped > 0);
    battery.budget = Duration::from_secs(60);
    let summaries = battery.run(vec![phase("first", slow)]);
    assert_eq!((summaries[0].verified, summaries[0].skipped, summaries[0].complete), (5, 0, true));
    assert_eq!(battery.read("first.json").records.len(), 5);
}

#[test]
fn defects_of_a_phase_stay_in_it() {
    let mut battery = Battery::new();
    let summaries = battery.run(vec![phase("first", broken), phase("second", five)]);
    assert_eq!((summaries[0].wrong, summaries[0].complete), (2, false));
    assert_eq!(summaries[0].note.as_deref(), Some("the plan ended early: the third cannot be planned"));
    assert_eq!(summaries[1].verified, 5);
    match &battery.read("first.jsonl").records[0].outcome {
        Outcome::Wrong { what } => assert!(what.starts_with("its check could not be made: index out of bounds"), "{what}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn cuda_text_needs_cuda() {
    let mut battery = Battery::new();
    let mut task = phase("first", text);
    task.phase.needs = Needs::CudaText;
    let summaries = battery.run(vec![task, phase("second", text)]);
    assert_eq!(summaries[0].note.as_deref(), Some("it needs a CUDA device; sim:adreno640 is none"));
    // A phase that does not say so: the device refuses.
    assert_eq!((summaries[1].verified, summaries[1].failed + summaries[1].skipped), (0, 1));
}

#[test]
fn a_phase_that_was_interrupted_goes_on() {
    let mut battery = Battery { stop_after: 2, ..Battery::new() };
    let summaries = battery.run(vec![phase("first", five), phase("second", five)]);
    assert_eq!((summaries.len(), summaries[0].verified, summaries[0].note.as_deref()), (1, 2, Some("interrupted")));
    // As after kill -9 in the middle of a line.
    let path = battery.dir.path().join("first.jsonl");
    let mut lines = std::fs::read_to_string(&path).unwrap();
    lines.push_str("{\"record\":{\"phase\":\"fi");
    std::fs::write(&path, lines).unwrap();
    battery.stop_after = usize::MAX;
    let summaries = battery.run(vec![phase("first", five)]);
    assert_eq!((summaries[0].verified, summaries[0].complete), (5, true));
    assert_eq!(names(&battery.read("first.json").records), ["m1", "m2", "m3", "m4", "m5"]);

    let before = std::fs::read(battery.dir.path().join("first.json")).unwrap();
    let summaries = battery.run(vec![phase("first", five)]);
    assert_eq!((summaries[0].verified, summaries[0].note.as_deref()), (5, Some("measured earlier")));
    assert_eq!(std::fs::read(battery.dir.path().join("first.json")).unwrap(), before);
    let mut folder = battery.folder(Scale::Tiny, None, true).unwrap();
    battery.run_in(vec![phase("first", five)], &mut folder);
    assert_eq!(battery.files(), [".lock", "battery.json", "first-1.json", "first.json"]);
    assert_eq!(std::fs::read(battery.dir.path().join("first-1.json")).unwrap(), before, "the earlier one is kept");
}

#[test]
fn damaged_lines_and_other_drivers_are_moved_aside() {
    let mut battery = Battery { stop_after: 3, ..Battery::new() };
    battery.run(vec![phase("first", five)]);
    let path = battery.dir.path().join("first.jsonl");
    let lines = std::fs::read_to_string(&path).unwrap();
    let damaged = lines.replacen("\"m2\"", "m2", 1);
    std::fs::write(&path, &damaged).unwrap();
    battery.stop_after = usize::MAX;
    battery.run(vec![phase("first", five)]);
    assert_eq!(std::fs::read_to_string(battery.dir.path().join("first-1.jsonl")).unwrap(), damaged);
    assert_eq!(names(&battery.read("first.json").records), ["m1", "m3", "m2", "m4", "m5"]);

    std::fs::remove_file(battery.dir.path().join("first.json")).unwrap();
    std::fs::write(&path, lines.replacen("warpsight-sim", "another driver", 1)).unwrap();
    battery.run(vec![phase("first", five)]);
    assert_eq!(names(&battery.read("first-2.jsonl").records), ["m1", "m2", "m3"]);
    assert_eq!(names(&battery.read("first.json").records), ["m1", "m2", "m3", "m4", "m5"]);
}

#[test]
fn a_second_battery_is_refused() {
    let battery = Battery::new();
    let first = battery.folder(Scale::Tiny, Some(9), false).unwrap();
    let error = battery.folder(Scale::Tiny, None, false).err().unwrap();
    assert!(matches!(&error, BatteryError::FolderBusy { .. }), "{error}");
    assert!(error.to_string().starts_with("another battery is writing to `"), "{error}");
    drop(first);
    // The lock went with its holder; the seed is that of the folder, unless another is wanted.
    assert_eq!(battery.folder(Scale::Tiny, None, false).unwrap().seed(), 9);
    assert_eq!(battery.folder(Scale::Tiny, Some(3), false).unwrap().seed(), 3);
    let error = battery.folder(Scale::Full, None, false).err().unwrap();
    assert!(
        matches!(&error, BatteryError::Foreign { found, wanted, .. } if found.ends_with("scale tiny)") && wanted.ends_with("scale full)"))
    );

    let places = tempfile::tempdir().unwrap();
    let gpu = |uuid: &str| DeviceInfo { backend: "cuda".into(), facts: [("uuid".to_owned(), uuid.to_owned())].into(), ..info() };
    let held = DeviceLock::take(&gpu("GPU-1"), places.path()).unwrap();
    assert!(matches!(DeviceLock::take(&gpu("GPU-1"), places.path()), Err(BatteryError::DeviceBusy { .. })));
    DeviceLock::take(&gpu("GPU-2"), places.path()).unwrap();
    drop(held);
    DeviceLock::take(&gpu("GPU-1"), places.path()).unwrap();
    DeviceLock::take(&gpu("GPU-1"), Path::new("/no/such/place")).unwrap();
}

#[test]
fn damage_is_reported_with_file_and_field() {
    let mut battery = Battery::new();
    battery.run(vec![phase("first", five)]);
    let path = battery.dir.path().join("first.json");
    let good = std::fs::read_to_string(&path).unwrap();
    let error = |text: &str| {
        std::fs::write(&path, text).unwrap();
        match PhaseFile::read(&path) {
            Err(BatteryError::Damaged { file, what }) => {
                assert_eq!(file, path);
                what
            }
            other => panic!("{other:?}"),
        }
    };
    assert!(error("").starts_with("it is no JSON: EOF"));
    assert_eq!(error("{\"hello\": 1}").split(" at ").next(), Some("it is no file of a battery: missing field `format`"));
    assert!(error(&good[..good.len() / 2]).starts_with("it is no JSON: EOF"));
    assert!(error("{1, 2").starts_with("it is no JSON"));
    assert_eq!(
        error(&good.replacen("\"seed\": 1", "\"seed\": \"x\"", 1)).split(" at ").next(),
        Some("field `seed`: invalid type: string \"x\", expected u64")
    );
    assert!(error(&good.replacen("\"launches\": 1", "\"launches\": -1", 1)).starts_with("field `records[0].launches`: "));
    assert_eq!(error(&good.replacen("\"format\": 1", "\"format\": 7", 1)), "field `format`: 7 is not known here, only 1");
    let torn = battery.dir.path().join("torn.jsonl");
    std::fs::write(&torn, "{\"phase\":{\"for").unwrap();
    assert!(PhaseFile::read(&torn).unwrap_err().to_string().ends_with("it holds no whole line"));
    let hash = battery_hash(&good);
    assert_eq!(
        error(&good.replacen(&format!("\"code\": \"{hash}\""), "\"code\": \"beef\"", 1)),
        "field `records[0].code`: `programs` has no text of that hash"
    );
}

fn battery_hash(json: &str) -> String {
    let file: PhaseFile = serde_json::from_str(json).unwrap();
    file.records[0].code.clone()
}
