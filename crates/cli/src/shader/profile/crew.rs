//! Workers that draw, each with a device in a process of its own.

use super::super::SceneArgs;
use super::super::draw::{draw, fingerprint_bytes};
use super::{Key, stored};
use crate::failure::Failure;
use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;
use warpsight_ir::sample::Device;
use warpsight_learn::measured::{self, Clock, Flag, Outcome, Shot, Timed};
use warpsight_run::vulkan::{Draw, DrawClock, Drawn, Format, Renderer, Timing};
use warpsight_run::{DeviceError, DeviceInfo, Options, open_renderer, vulkan};
use warpsight_shader::corpus::Entry;
use warpsight_shader::interpret::Inputs;
use warpsight_shader::module::Module;
use warpsight_shader::scene::{Noise, Scene};

/// A driver's process draws so many shaders before a fresh one goes on: what drivers leak stays bounded.
const BATCH: usize = 100;

/// What became of a shader of the corpus.
pub enum Step {
    /// It was tried.
    Shot(Box<Shot>),
    /// It is in the store.
    Known,
    /// The device cannot be opened any more, which says nothing of the shader.
    Gone(DeviceError),
}

/// Workers on one device.
pub struct Crew {
    id: String,
    options: Options,
    vector_bits: Option<u32>,
    info: DeviceInfo,
    workers: usize,
}

impl Crew {
    /// Looks whether the device is there.
    pub fn open(id: &str, timeout: Duration, vector_bits: Option<u32>, workers: Option<u16>) -> Result<Self, Failure> {
        let options = Options { timeout, ..Options::default() };
        let info = open_renderer(id, &options, vector_bits)?.info().clone();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let workers = workers.map_or(if info.is_cpu { cores } else { 1 }, usize::from);
        Ok(Self { id: id.to_owned(), options, vector_bits, info, workers })
    }

    /// The device.
    pub fn info(&self) -> &DeviceInfo {
        &self.info
    }

    /// How many measure at the same time.
    pub fn workers(&self) -> usize {
        self.workers
    }

    /// Measures entries of a corpus until `step`, which is told of each as it is done, says no.
    pub fn measure(&self, folder: &Path, entries: &[Entry], scene: &SceneArgs, known: &HashSet<Key>, step: impl FnMut(Step) -> bool) {
        let noise = Noise::default();
        self.each(entries, |worker, entry| worker.one(folder, entry, scene, &noise, known), step);
    }

    /// Does some work with each entry, every worker with a device of its own, until `step`, which is told what came of each, says no.
    pub fn each<T: Send>(&self, entries: &[Entry], work: impl Fn(&mut Worker, &Entry) -> T + Sync, mut step: impl FnMut(T) -> bool) {
        let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
        let (sender, steps) = mpsc::channel();
        std::thread::scope(|scope| {
            for _ in 0..self.workers.min(entries.len()) {
                let (sender, next, stop, work) = (sender.clone(), &next, &stop, &work);
                scope.spawn(move || {
                    let mut worker = Worker { crew: self, renderer: None, drawn: 0 };
                    while let Some(entry) = entries.get(next.fetch_add(1, Ordering::Relaxed)).filter(|_| !stop.load(Ordering::Relaxed)) {
                        if sender.send(work(&mut worker, entry)).is_err() {
                            break;
                        }
                    }
                });
            }
            drop(sender);
            for done in steps {
                if !step(done) {
                    stop.store(true, Ordering::Relaxed);
                }
            }
        });
    }
}

/// A shader and what it is given, ready for a device.
pub struct Ready {
    /// The draw, timed.
    pub draw: Draw,
    /// What the store knows it by; the outcome is not known yet.
    pub shot: Shot,
}

/// Reads an entry of a corpus. What cannot be drawn is a shot that was refused.
pub fn ready(folder: &Path, entry: &Entry, args: &SceneArgs, noise: &Noise, device: Device) -> Result<Ready, Box<Shot>> {
    let scene = Scene { noise: noise.clone(), ..args.scene_of(entry) };
    let mut shot = Shot {
        shader: entry.id.clone(),
        device,
        frame: scene.frame,
        texture: scene.texture,
        inputs: String::new(),
        protocol: measured::PROTOCOL,
        outcome: Outcome::Refused { reason: String::new() },
    };
    match prepare(folder, entry, &scene) {
        Ok((draw, inputs)) => {
            shot.inputs = measured::fingerprint(&fingerprint_bytes(&inputs));
            Ok(Ready { draw, shot })
        }
        Err(reason) => {
            shot.outcome = Outcome::Refused { reason };
            Err(Box::new(shot))
        }
    }
}

fn prepare(folder: &Path, entry: &Entry, scene: &Scene) -> Result<(Draw, Inputs), String> {
    let path = folder.join("spv").join(&entry.id).with_extension("spv");
    let bytes = warpsight_files::read(&path, warpsight_files::TEXT).map_err(|e| format!("{}: {e}", path.display()))?;
    let module = Module::from_bytes(&bytes).map_err(|e| e.to_string())?;
    let (inputs, _) = scene.inputs(&module).map_err(|e| e.to_string())?;
    let draw = draw(&module, &inputs, Format::Bytes).map_err(|e| e.to_string())?;
    let timing = Timing {
        least: measured::LEAST,
        trials: measured::TRIALS,
        spread: measured::SPREAD,
        rounds: measured::ROUNDS,
        patience: measured::PATIENCE,
        longest: measured::LONGEST,
    };
    Ok((Draw { timing: Some(timing), ..draw }, inputs))
}

/// Draws with a process that it starts when it needs one.
pub struct Worker<'c> {
    crew: &'c Crew,
    renderer: Option<Box<dyn Renderer>>,
    drawn: usize,
}

impl Worker<'_> {
    fn one(&mut self, folder: &Path, entry: &Entry, scene: &SceneArgs, noise: &Noise, known: &HashSet<Key>) -> Step {
        let Ready { draw, mut shot } = match ready(folder, entry, scene, noise, stored(&self.crew.info)) {
            Ok(ready) => ready,
            Err(refused) if known.contains(&super::key(&refused)) => return Step::Known,
            Err(refused) => return Step::Shot(refused),
        };
        if known.contains(&super::key(&shot)) {
            return Step::Known;
        }
        shot.outcome = match self.device() {
            Ok(device) => outcome(device.draw(&draw)),
            Err(error) => return Step::Gone(error),
        };
        Step::Shot(Box::new(shot))
    }

    /// The device, for one more shader.
    pub fn device(&mut self) -> Result<&mut dyn Renderer, DeviceError> {
        if self.drawn >= BATCH {
            (self.renderer, self.drawn) = (None, 0);
        }
        let renderer = match self.renderer.take() {
            Some(renderer) => renderer,
            None => open_renderer(&self.crew.id, &self.crew.options, self.crew.vector_bits)?,
        };
        self.drawn += 1;
        Ok(&mut **self.renderer.insert(renderer))
    }
}

/// What came of a draw, for the store.
pub fn outcome(drawn: Result<Drawn, DeviceError>) -> Outcome {
    let drawn = match drawn {
        Ok(drawn) => drawn,
        Err(error @ DeviceError::Timeout(_)) => return Outcome::Hang { reason: error.to_string() },
        Err(error @ DeviceError::Lost(_)) => return Outcome::Lost { reason: error.to_string() },
        Err(error) => return Outcome::Refused { reason: error.to_string() },
    };
    let Some(times) = drawn.times else { return Outcome::Lost { reason: "the driver's process measured nothing".into() } };
    let looks = drawn.looks;
    let flags = [(Flag::Black, looks.black), (Flag::White, looks.white), (Flag::Constant, looks.constant), (Flag::Unstable, !times.stable)];
    let trial = |t: &vulkan::Trial| measured::Trial { round: t.round, draws: t.draws, seconds: t.seconds.0, reference: t.reference.0 };
    Outcome::Done(Timed {
        clock: match times.clock {
            DrawClock::Timestamps => Clock::Timestamps,
            DrawClock::Processor => Clock::Processor,
        },
        first: times.first,
        trials: times.trials.iter().map(trial).collect(),
        image: looks.hash,
        flags: flags.into_iter().filter(|(_, set)| *set).map(|(flag, _)| flag).collect(),
        clocks: times.clocks.iter().map(|c| [c.sm_mhz, c.memory_mhz]).collect(),
    })
}
