//! What the tests of operators share: random operators, programs with their data, and executors.
#![allow(dead_code)]

pub mod draw;

use fastrand::Rng;
use std::collections::BTreeMap;
use warpsight_engine::network::{Network, Selection};
use warpsight_engine::verify::Trial;
use warpsight_generate::{Layout, Place, Role, ScheduleFamily};
use warpsight_ir::derive::local_bytes;
use warpsight_ir::{Bindings, Checked, Config, Family, KnobValue, interpret};
use warpsight_run::{Contents, Device, DeviceError, DeviceInfo, Job, JobResult, MemorySpec, Session};

/// One expression of an operator, a configuration of it, and data.
pub struct Case {
    /// `conv2d f32 #3`, then the step where the operator has several.
    pub name: String,
    pub family: ScheduleFamily,
    pub config: Config,
    pub program: Checked,
    pub layouts: Vec<Layout>,
    /// Where the data come from.
    seed: u64,
}

impl Case {
    pub fn new(name: String, family: ScheduleFamily, config: Config, seed: u64) -> Self {
        let describe = |what: &str| format!("{name} {what}: {:?}", family.space().describe(&config));
        let program = family.finish(&config).unwrap_or_else(|error| panic!("{}: {error}", describe("does not lower")));
        let layouts = family.layouts(&config).unwrap_or_else(|error| panic!("{}: {error}", describe("is nowhere")));
        // Whatever runs is judged first: this ends where models see nothing of it.
        let kernel = family.kernel(&config);
        assert!(!kernel.accesses.nest.is_empty(), "{}", describe("touches nothing"));
        Self { name, family, config, program, layouts, seed }
    }

    /// Its data and what the results should be; the same at every call.
    pub fn trial(&self) -> Trial<'_> {
        Trial::new(self.family.expr(), &self.layouts, &mut Rng::with_seed(self.seed))
    }

    /// What it is, for messages.
    pub fn describe(&self) -> String {
        let expr = self.family.expr();
        let extents: Vec<String> = expr.all_axes().map(|a| format!("{}={}", a.name, a.extent)).collect();
        format!("{} [{}] {:?}", self.name, extents.join(" "), self.family.space().describe(&self.config))
    }

    /// Its results are right, by the interpreter and on a device.
    pub fn is_right_on(&self, device: &mut dyn Device) {
        let trial = self.trial();
        let job = trial.job(&self.program, None);
        for output in [interpret(&self.program, &job), execute(device, &job)] {
            output.and_then(|own| judge(&trial, &own)).unwrap_or_else(|error| panic!("{}: {error}", self.describe()));
        }
    }

    /// The logical elements of an output as it lies in memory.
    pub fn unpack(&self, output: &[u8]) -> Vec<f32> {
        let layout = self.layouts.last().expect("the output has a place");
        layout.unpack(&self.family.expr().output, output)
    }
}

/// What the interpreter makes of a job of one launch: the bytes of the output.
pub fn interpret(program: &Checked, job: &Job) -> Result<Vec<u8>, String> {
    let data = job.memory.iter().map(|m| m.init.contents(m.kind.bytes()).expect("a trial's memory is right"));
    let mut bindings = Bindings { data: data.collect(), ..Bindings::default() };
    interpret::interpret(program, &mut bindings).map_err(|fault| fault.to_string())?;
    Ok(bindings.data.swap_remove(job.read[0]))
}

/// What a device makes of it.
pub fn execute(device: &mut dyn Device, job: &Job) -> Result<Vec<u8>, String> {
    let mut result = device.run(job).map_err(|error| error.to_string())?;
    match result.damaged.first() {
        Some(argument) => Err(format!("memory around argument {argument} was overwritten")),
        None => Ok(result.read.swap_remove(0).0),
    }
}

/// Compares an output with the `f64` reference.
pub fn judge(trial: &Trial, output: &[u8]) -> Result<(), String> {
    let result = JobResult { read: vec![Contents(output.to_vec())], ..JobResult::default() };
    trial.judge(&result).map(|_| ()).map_err(|wrong| wrong.to_string())
}

/// A random legal configuration, every knob's values equally likely among those that go together.
pub fn any_config(family: &ScheduleFamily, rng: &mut Rng) -> Config {
    let knobs = &family.space().knobs;
    for _ in 0..100_000 {
        let config = Config(knobs.iter().map(|k| k.values[rng.usize(..k.values.len())]).collect());
        if family.layouts(&config).is_ok() {
            return config;
        }
    }
    panic!("{}: no legal configuration", family.name())
}

/// How many inputs a configuration copies from images to local memory.
pub fn copied_images(family: &ScheduleFamily, config: &Config) -> usize {
    let own = family.space().describe(config);
    let Some(KnobValue::Label(stage)) = own.get("stage") else { return 0 };
    let places = family.expr().inputs.iter().zip(family.places(config).expect("legal"));
    places.filter(|(tensor, place)| place.is_image() && stage.split('+').any(|name| *name == *tensor.name)).count()
}

/// Local memory of the smallest device that networks run on here, an Adreno 640, in bytes: what asks for more is refused.
const LOCAL: f64 = 32768.0;

/// A selection with these places, where every kernel has a configuration with them, in that much local memory.
pub fn selected(network: &Network, places: &[Place], rng: &mut Rng) -> Option<Selection> {
    let empty = Selection { places: places.to_vec(), kernels: BTreeMap::new() };
    let mut configs = BTreeMap::new();
    for step in &network.steps {
        let key = network.key(&empty, step);
        let family = &network.families[step.family];
        let roles: Vec<Role> = family.expr().inputs.iter().map(|own| own.role).chain([Role::Output]).collect();
        let fits = |config: &_| {
            let own = family.places(config).expect("legal");
            own.iter().zip(&roles).filter(|own| *own.1 != Role::Weight).map(|own| *own.0).eq(key.1.iter().copied())
        };
        let small = |config: &Config| local_bytes(&family.finish(config).expect("lowers")).0 <= LOCAL;
        let config = (0..400).map(|_| any_config(family, rng)).find(|config| fits(config) && small(config))?;
        configs.insert(key, config);
    }
    network.select(places.to_vec(), &configs)
}

/// The test cannot be made here: fails where `CI=true`, otherwise says so.
pub fn skip(missing: &str) {
    assert!(std::env::var("CI").as_deref() != Ok("true"), "{missing}, and CI=true");
    eprintln!("skipped: {missing}");
}

/// A device whose results are changed: by whatever this does to what the device said of a job.
pub struct Doctored<F> {
    pub device: Box<dyn Device>,
    pub doctor: F,
}

impl<F: FnMut(&Job, &mut JobResult)> Device for Doctored<F> {
    fn info(&self) -> &DeviceInfo {
        self.device.info()
    }
    fn open<'a>(&'a mut self, memory: &[MemorySpec]) -> Result<Box<dyn Session + 'a>, DeviceError> {
        self.device.open(memory)
    }
    fn run(&mut self, job: &Job) -> Result<JobResult, DeviceError> {
        let mut result = self.device.run(job)?;
        (self.doctor)(job, &mut result);
        Ok(result)
    }
}
