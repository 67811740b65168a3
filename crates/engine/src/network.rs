//! A whole network on a device: one kernel per expression, a place for every tensor, and the run of all of them.
//!
//! Every tensor between kernels lies in one place (rows, blocks of channels, an image) that its producer and all its consumers agree on.
//! Which place is decided by the model, over the whole network at once (`Network::place`).

use crate::EngineError;
use crate::found::{ByPattern, Found, Pattern, pattern_of, places_of, seen};
use crate::places::{self, Table};
use crate::tune::{self, Candidates, Judge, Observer, Tuned};
use crate::verify::{blank, check_limits, check_shape, filler, memory_kind};
use fastrand::Rng;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use warpsight_generate::expr::{Role, Tensor, TensorExpr};
use warpsight_generate::layout::decode;
use warpsight_generate::parallel::each;
use warpsight_generate::{ExprKey, Layout, Passes, Place, ScheduleFamily};
use warpsight_graph::memory::{self, MemoryPlan, Request, Storage};
use warpsight_graph::{Plan, PlanRole};
use warpsight_ir::{Checked, Config, Profile, Ranked, Seconds, TimeSource, Times, in_place};
use warpsight_run::{Device, DeviceLimits, Ends, Init, Job, LaunchSpec, Look, MemoryKind, MemorySpec, Session, Timed, TimingSpec, Whole};

/// What verifying a kernel grows with, wherever it is timed: how often its body is evaluated, and a floor for what every kernel takes.
fn work(expr: &TensorExpr) -> f64 {
    expr.all_axes().map(|axis| axis.extent as f64).product::<f64>().max(SMALLEST)
}

/// Kernels of fewer points take no less time.
const SMALLEST: f64 = 1e4;

/// What [`Network::optimize`] does: one after the other, each from nothing to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing<'a> {
    /// Configurations of all kernels are searched for the best.
    Ranking,
    /// The driver compiles what was chosen.
    Compiling,
    /// This kernel is verified and timed.
    Timing(&'a str),
}

/// A network taken apart into kernels.
pub struct Network<'a> {
    plan: &'a Plan,
    /// Distinct expressions: equal up to names.
    pub families: Vec<ScheduleFamily>,
    /// The kernels in order of execution.
    pub steps: Vec<Step>,
    /// Of each of the plan's tensors, whether it may lie otherwise than in rows: it is between kernels, all of which see it in one shape.
    free: Vec<bool>,
}

/// One kernel of the network.
#[derive(Clone, Debug)]
pub struct Step {
    /// The operator it belongs to.
    pub name: String,
    /// For people: `conv2d`.
    pub kind: String,
    /// Position in [`Network::families`].
    pub family: usize,
    /// Values read, then the value written.
    args: Vec<usize>,
}

/// Where every tensor lies and which kernel works on it: enough to run the network.
#[derive(Clone, Debug)]
pub struct Selection {
    /// Per tensor, where it lies.
    pub places: Vec<Place>,
    /// The kernels, by family and pattern.
    pub kernels: BTreeMap<Key, Selected>,
}

/// A family and the places of its activations.
pub type Key = (usize, Pattern);

/// A kernel, generated.
#[derive(Clone, Debug)]
pub struct Selected {
    /// Its configuration.
    pub config: Config,
    /// The Program devices run.
    pub program: Checked,
    /// Where its tensors lie.
    pub layouts: Vec<Layout>,
}

/// The outcome of optimizing a network.
pub struct Choice {
    /// What runs.
    pub selection: Selection,
    /// Per family, what its space holds on this device.
    pub candidates: Vec<Candidates>,
    /// What is known of each kernel.
    pub tuned: BTreeMap<Key, Tuned>,
}

impl Choice {
    /// What the kernels of a pass are predicted to take.
    pub fn kernels_time(&self, network: &Network) -> Seconds {
        self.times(network).sum()
    }

    fn times(&self, network: &Network) -> impl Iterator<Item = Seconds> {
        network.steps.iter().map(|step| self.tuned[&network.key(&self.selection, step)].estimate.time)
    }

    /// What a pass is predicted to take on a device: its kernels, and what lies between them.
    pub fn pass_time(&self, network: &Network, on: &Profile) -> Seconds {
        on.in_turn(self.times(network))
    }
}

/// What runs of the network gave.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// Every output by name.
    pub outputs: Vec<(String, Vec<i64>, Vec<f32>)>,
    /// For each step, its time in each timed pass; empty where the device has no clock.
    pub times: Vec<Times>,
    /// All launches in each timed pass.
    pub passes: Times,
    /// Passes from inputs that are written to outputs that are read, where times are measured ([`Resident::time`]).
    pub whole: Option<Whole>,
    /// Processor time of one pass, where the driver runs on the processor's time.
    pub cpu_time: Option<Seconds>,
    /// Where times come from.
    pub source: Option<TimeSource>,
    /// Smallest step of the clock.
    pub quantum: Seconds,
}

impl Selected {
    fn of(tuned: &Tuned) -> Self {
        Self { config: tuned.config.clone(), program: tuned.program.clone(), layouts: tuned.layouts.clone() }
    }
}

impl Choice {
    /// Takes another kernel whose tensors lie the same way.
    pub fn replace(&mut self, key: &Key, tuned: Tuned) {
        self.selection.kernels.insert(key.clone(), Selected::of(&tuned));
        self.tuned.insert(key.clone(), tuned);
    }
}

impl<'a> Network<'a> {
    /// Takes a plan apart.
    pub fn new(plan: &'a Plan) -> Result<Self, EngineError> {
        Self::by(plan, Passes::default())
    }

    /// The same, with kernels made by these passes.
    pub fn by(plan: &'a Plan, passes: Passes) -> Result<Self, EngineError> {
        let free = plan.tensors.iter().map(|tensor| matches!(tensor.role, PlanRole::Intermediate)).collect();
        let mut network = Self { plan, families: vec![], steps: vec![], free };
        let mut known: HashMap<ExprKey, usize> = HashMap::new();
        let mut shapes: HashMap<usize, Vec<i64>> = HashMap::new();
        for operator in &plan.operators {
            let mut by_name: HashMap<&str, usize> = operator.reads().map(|(tensor, id)| (&*tensor.name, id.0)).collect();
            let outputs = operator.temporaries.iter().chain([&operator.output]);
            for (expr, output) in operator.operator.steps.iter().zip(outputs) {
                check_shape(&expr.output)?;
                let args: Vec<usize> =
                    expr.inputs.iter().map(|t| by_name.get(&*t.name).copied().unwrap_or(output.0)).chain([output.0]).collect();
                by_name.insert(&expr.output.name, output.0);
                // A tensor that is seen in two shapes is row-major memory.
                for (tensor, &value) in expr.inputs.iter().chain([&expr.output]).zip(&args) {
                    if shapes.entry(value).or_insert_with(|| tensor.shape.clone()) != &tensor.shape {
                        network.free[value] = false;
                    }
                }
                let family = *known.entry(ExprKey::of(expr)).or_insert_with(|| {
                    network.families.push(ScheduleFamily::by(unnamed(expr, network.families.len()), passes));
                    network.families.len() - 1
                });
                network.steps.push(Step { name: operator.name.clone(), kind: operator.operator.kind.to_string(), family, args });
            }
        }
        Ok(network)
    }

    /// What it was made of.
    pub fn plan(&self) -> &Plan {
        self.plan
    }

    /// Whether a device computes what every kernel does, and its tensors fit.
    ///
    /// # Errors
    /// The first kernel or tensor that it does not.
    pub fn fits(&self, limits: &DeviceLimits) -> Result<(), EngineError> {
        Ok(self.families.iter().try_for_each(|f| check_limits(f.expr(), limits))?)
    }

    /// Decides where every tensor lies and takes the best verified kernel for each family and place. What is found already of the same device is
    /// not searched again.
    pub fn optimize(
        &self,
        judge: &Judge,
        found: &Found,
        device: &mut dyn Device,
        rng: &mut Rng,
        observe: &mut dyn FnMut(&ScheduleFamily, &tune::Attempt) -> Result<(), EngineError>,
        progress: &mut dyn FnMut(Doing, f64) -> bool,
    ) -> Result<Choice, EngineError> {
        self.fits(&device.info().limits)?;
        let searched = self.search(judge, found, progress)?;
        let places = self.place(searched.iter().map(|own| &own.1))?;
        let candidates = searched.iter().map(|own| own.0.clone()).collect();
        let mut tuned: BTreeMap<Key, Tuned> = BTreeMap::new();
        let mut chosen = BTreeSet::new();
        let keyed = self.steps.iter().map(|step| (step, (step.family, self.pattern(step, &places))));
        let kernels: Vec<(&Step, Key)> = keyed.filter(|(_, key)| chosen.insert(key.clone())).collect();
        let work = |step: &Step| work(self.families[step.family].expr());
        let searched = each(&kernels, |(_, key)| {
            let family = &self.families[key.0];
            Ok((key.clone(), tune::search_one(family, judge, &places_of(family.expr(), &key.1))?))
        });
        let ranked: BTreeMap<Key, Vec<Ranked>> = searched.into_iter().collect::<Result<_, EngineError>>()?;
        let first = ranked.iter().filter_map(|(key, list)| {
            let (family, config) = (&self.families[key.0], &list.first()?.config);
            Some(blank(family.expr(), &family.layouts(config).ok()?, &family.finish(config).ok()?))
        });
        let first: Vec<_> = first.collect();
        if !progress(Doing::Compiling, 0.0) {
            return Err(EngineError::Interrupted);
        }
        device.prepare(&first);
        let (all, mut done) = (kernels.iter().map(|(step, _)| work(step)).sum::<f64>(), 0.0);
        for (step, key) in kernels {
            if !progress(Doing::Timing(&step.name), done / all) {
                return Err(EngineError::Interrupted);
            }
            done += work(step);
            let family = &self.families[step.family];
            // `place` settled on patterns that every family has.
            let list = ranked.get(&key).map_or(&[][..], Vec::as_slice);
            let observer: &mut Observer = &mut |attempt| observe(family, attempt);
            let again = |tight: &Judge| tune::search_one(family, tight, &places_of(family.expr(), &key.1));
            let best = tune::choose_fitting(family, list, judge, device, rng, observer, again).map_err(|error| match error {
                // Families are numbered; whoever reads this knows operators.
                EngineError::NothingVerified { tried, first, .. } => EngineError::NothingVerified { name: step.name.clone(), tried, first },
                other => other,
            })?;
            tuned.insert(key, best);
        }
        let kernels = tuned.iter().map(|(key, own)| (key.clone(), Selected::of(own))).collect();
        Ok(Choice { selection: Selection { places, kernels }, candidates, tuned })
    }

    /// Generates the kernels of an earlier choice; `None` where it does not fit this network.
    pub fn select(&self, places: Vec<Place>, configs: &BTreeMap<Key, Config>) -> Option<Selection> {
        let rows = |(place, free): (&Place, &bool)| *free || *place == Place::Buffer;
        let fits = places.len() == self.free.len() && places.iter().zip(&self.free).all(rows);
        if !fits {
            return None;
        }
        let mut kernels = BTreeMap::new();
        for step in &self.steps {
            let key = (step.family, self.pattern(step, &places));
            if kernels.contains_key(&key) {
                continue;
            }
            let (family, config) = (&self.families[step.family], configs.get(&key)?);
            if pattern_of(family, config)? != key.1 {
                return None;
            }
            let selected = Selected { config: config.clone(), program: family.finish(config).ok()?, layouts: family.layouts(config).ok()? };
            kernels.insert(key, selected);
        }
        Some(Selection { places, kernels })
    }

    /// Searches every family, as many at a time as there are processors.
    fn search(
        &self,
        judge: &Judge,
        found: &Found,
        progress: &mut dyn FnMut(Doing, f64) -> bool,
    ) -> Result<Vec<Arc<(Candidates, ByPattern)>>, EngineError> {
        let next = AtomicUsize::new(0);
        let (sender, ranked) = std::sync::mpsc::channel();
        let work = |sender: std::sync::mpsc::Sender<_>| {
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(family) = self.families.get(at) else { break };
                if sender.send((at, found.by_pattern(family.expr(), judge))).is_err() {
                    break;
                }
            }
        };
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let mut all = BTreeMap::new();
        std::thread::scope(|scope| {
            for sender in vec![sender; threads] {
                scope.spawn(move || work(sender));
            }
            let ranked = ranked;
            while progress(Doing::Ranking, all.len() as f64 / self.families.len() as f64) {
                let Ok((at, found)) = ranked.recv() else { return Ok(()) };
                all.insert(at, found?);
            }
            // Workers end: nobody takes any more what they send.
            Err(EngineError::Interrupted)
        })?;
        Ok(all.into_values().collect())
    }

    /// For each kernel, in order, its family and the pattern of its tensors, such that all take the least together: each takes by pattern what
    /// `taken` says of its family.
    ///
    /// # Errors
    /// Where no patterns agree.
    pub fn least(&self, taken: &[ByPattern]) -> Result<Vec<Key>, EngineError> {
        let places = self.place(taken.iter())?;
        Ok(self.steps.iter().map(|step| (step.family, self.pattern(step, &places))).collect())
    }

    /// For every tensor its place, such that the whole network is predicted to take the least, as far as tables hold it ([`places::least`]).
    fn place<'t>(&self, ranked: impl Iterator<Item = &'t ByPattern>) -> Result<Vec<Place>, EngineError> {
        let ranked: Vec<&ByPattern> = ranked.collect();
        let tables = self.steps.iter().map(|step| {
            let table = self.table(step, ranked[step.family]);
            let first = "no configuration of it fits the device".to_owned();
            if table.is_empty() { Err(EngineError::NothingVerified { name: step.name.clone(), tried: 0, first }) } else { Ok(table) }
        });
        places::least(tables.collect::<Result<_, _>>()?, self.free.len(), self.held())
            .map_err(|value| EngineError::NoPlace { tensor: self.plan.tensors[value].name.clone() })
    }

    /// The plan's tensors that lie in rows, whatever that takes.
    pub(crate) fn held(&self) -> impl Iterator<Item = usize> {
        (0..self.free.len()).filter(|&value| !self.free[value])
    }

    /// What a step takes for each choice of places.
    pub(crate) fn table(&self, step: &Step, taken: &ByPattern) -> Table {
        Table::by(&self.activations(step), taken)
    }

    /// The tensors of a step that a pattern is of.
    fn activations(&self, step: &Step) -> Vec<usize> {
        seen(self.families[step.family].expr(), step.args.iter().copied()).collect()
    }

    fn pattern(&self, step: &Step, places: &[Place]) -> Pattern {
        self.activations(step).into_iter().map(|value| places[value]).collect()
    }

    /// Family and pattern of a step.
    pub fn key(&self, selection: &Selection, step: &Step) -> Key {
        (step.family, self.pattern(step, &selection.places))
    }

    /// The job that runs the whole network on these inputs (one per network input, in the plan's order).
    pub fn job(&self, selection: &Selection, inputs: &[Vec<f32>]) -> Sequence {
        let (mut sequence, given) = self.laid(selection);
        for (memory, value) in given {
            sequence.job.memory[memory].init = self.contents(&sequence.held[memory], value, inputs);
        }
        sequence
    }

    /// What a piece of memory holds before anything runs: a constant or an input, packed.
    fn contents(&self, held: &Held, value: usize, inputs: &[Vec<f32>]) -> Init {
        let packed =
            |values: &[f32]| held.tensor.as_ref().map_or_else(Vec::new, |(tensor, layout)| layout.pack(tensor, values, filler(tensor)));
        Init::Data(match &self.plan.tensors[value].role {
            PlanRole::Constant(known) => packed(&known.iter().map(|&v| v as f32).collect::<Vec<_>>()),
            _ => packed(self.plan.inputs.iter().position(|id| id.0 == value).map_or(&[], |n| &inputs[n])),
        })
    }

    /// The job without what is given to it: the memory of each constant and each input, and which tensor it is.
    fn laid(&self, selection: &Selection) -> (Sequence, Vec<(usize, usize)>) {
        let mut given = vec![];
        let mut job = Job::default();
        let mut programs: HashMap<(Key, &[usize]), usize> = HashMap::new();
        let mut held = vec![];
        let mut memory_of: HashMap<usize, usize> = HashMap::new();
        let Memory { tensors, over, .. } = self.memory(selection);
        let slots: HashMap<usize, usize> = tensors.iter().map(|kept| (kept.value, kept.slot)).collect();
        let mut slot_memory: HashMap<usize, usize> = HashMap::new();
        for (n, step) in self.steps.iter().enumerate() {
            let key = self.key(selection, step);
            // A selection has a kernel for every step's key.
            let kernel = &selection.kernels[&key];
            let (program, gone) = over.get(&n).map_or((&kernel.program, &[][..]), |over| (&over.program, &over.inputs));
            let program = *programs.entry((key, gone)).or_insert_with(|| {
                job.programs.push((**program).clone().into());
                job.programs.len() - 1
            });
            let expr = self.families[step.family].expr();
            let tensors = expr.inputs.iter().chain([&expr.output]).zip(&kernel.layouts);
            let mut args = vec![];
            for (_, ((tensor, layout), &value)) in tensors.zip(&step.args).enumerate().filter(|(position, _)| !gone.contains(position)) {
                let kind = memory_kind(tensor, layout);
                let mut push = |job: &mut Job, name: String, alone: bool| {
                    job.memory.push(MemorySpec { kind, init: Init::Poison, canaries: false });
                    held.push(Held { name, tensor: alone.then(|| (tensor.clone(), layout.clone())) });
                    job.memory.len() - 1
                };
                let at = if let PlanRole::Constant(_) = &self.plan.tensors[value].role {
                    // Constants are packed for their kernel.
                    let at = push(&mut job, format!("{}_{}", step_name(&step.name), tensor.name), true);
                    given.push((at, value));
                    at
                } else {
                    *memory_of.entry(value).or_insert_with(|| match slots.get(&value) {
                        Some(&slot) => {
                            let at = *slot_memory.entry(slot).or_insert_with(|| push(&mut job, format!("slot{slot}"), false));
                            grow(&mut job.memory[at].kind, kind);
                            at
                        }
                        None => {
                            let at = push(&mut job, step_name(&self.plan.tensors[value].name), true);
                            if self.plan.inputs.iter().any(|id| id.0 == value) {
                                given.push((at, value));
                            }
                            at
                        }
                    })
                };
                args.push(at);
            }
            job.launches.push(LaunchSpec { program, args, sizes: vec![] });
        }
        job.read = self.plan.outputs.iter().map(|o| memory_of.get(&o.0).copied().unwrap_or_default()).collect();
        let input_memory = self.plan.inputs.iter().filter_map(|id| memory_of.get(&id.0).copied()).collect();
        (Sequence { job, held, inputs: input_memory }, given)
    }

    /// Where the tensors between kernels lie and how long each is needed. Inputs, constants and outputs keep memory of their own. What a
    /// kernel writes lies where a tensor was that it reads last, where [`warpsight_ir::in_place()`] shows that it may.
    pub fn memory(&self, selection: &Selection) -> Memory {
        let mut requests: BTreeMap<usize, Request> = BTreeMap::new();
        for (n, step) in self.steps.iter().enumerate() {
            let expr = self.families[step.family].expr();
            let tensors = expr.inputs.iter().chain([&expr.output]).zip(&selection.kernels[&self.key(selection, step)].layouts);
            for ((tensor, layout), &value) in tensors.zip(&step.args) {
                if !matches!(self.plan.tensors[value].role, PlanRole::Intermediate) {
                    continue;
                }
                let storage = match memory_kind(tensor, layout) {
                    MemoryKind::Buffer { .. } => Storage::Buffer,
                    MemoryKind::Image { format, width, height, .. } => Storage::Image { width, height, format },
                };
                let bytes = layout.bytes(tensor.element);
                requests.entry(value).or_insert(Request { bytes, storage, first: n, last: n }).last = n;
            }
        }
        let over = self.over(selection, &requests);
        let position: HashMap<usize, usize> = requests.keys().copied().zip(0..).collect();
        let onto = over.iter().map(|(&n, over)| {
            let args = &self.steps[n].args;
            (position[&args[args.len() - 1]], position[&args[over.inputs[0]]])
        });
        let plan = memory::plan(&requests.values().copied().collect::<Vec<_>>(), &onto.collect());
        let kept = requests.into_iter().zip(&plan.slot_of);
        let tensors = kept.map(|((value, request), &slot)| Kept { value, name: self.plan.tensors[value].name.clone(), request, slot });
        Memory { tensors: tensors.collect(), plan, over }
    }

    /// The kernels that work in place, by step: what they write lies between kernels, in a buffer as large as that of an input which
    /// nobody needs any more.
    fn over(&self, selection: &Selection, requests: &BTreeMap<usize, Request>) -> BTreeMap<usize, Over> {
        let mut shown: HashMap<(Key, Vec<usize>), Option<Checked>> = HashMap::new();
        let mut over = BTreeMap::new();
        for (n, step) in self.steps.iter().enumerate() {
            let Some((&written, inputs)) = step.args.split_last() else { continue };
            // What others wrote parts of before lies somewhere already.
            let begins = |own: &&Request| own.storage == Storage::Buffer && own.first == n;
            let Some(own) = requests.get(&written).filter(begins) else { continue };
            let dies = |value: &&usize| {
                let like = |held: &Request| (held.storage, held.bytes, held.last) == (own.storage, own.bytes, n) && held.first < n;
                requests.get(value).is_some_and(like)
            };
            let found = inputs.iter().filter(dies).find_map(|value| {
                let key = self.key(selection, step);
                let gone: Vec<usize> = (0..inputs.len()).filter(|&position| inputs[position] == *value).collect();
                let program = &selection.kernels[&key].program;
                let show = || {
                    let names = gone.iter().copied().chain([inputs.len()]).map(|position| Some(program.params.get(position)?.name.clone()));
                    in_place(program, &BTreeMap::new(), &names.collect::<Option<Vec<_>>>()?).ok()
                };
                let program = shown.entry((key, gone.clone())).or_insert_with(show).clone()?;
                Some(Over { inputs: gone, program })
            });
            over.extend(found.map(|found| (n, found)));
        }
        over
    }

    /// Runs the network once, and `runs` times more to time it.
    pub fn run(&self, selection: &Selection, inputs: &[Vec<f32>], device: &mut dyn Device, runs: u32) -> Result<Run, EngineError> {
        let mut resident = self.open(selection, inputs, device)?;
        let mut run = resident.run()?;
        resident.time(runs, &mut run)?;
        Ok(run)
    }

    /// Puts the network with its constants and these inputs on a device, where they stay.
    ///
    /// # Errors
    /// Those of the device, for memory and programs that it does not take.
    pub fn open<'d>(&'d self, selection: &Selection, inputs: &[Vec<f32>], device: &'d mut dyn Device) -> Result<Resident<'d>, EngineError> {
        let (Sequence { job: Job { programs, memory, launches, read, .. }, held, inputs: first }, given) = self.laid(selection);
        let clock = device.info().clock;
        // Constants are made and packed while the driver reads programs.
        let session = thread::scope(|scope| {
            let (send, packed) = mpsc::channel();
            let held = &held;
            scope.spawn(move || given.into_iter().try_for_each(|(at, value)| send.send((at, self.contents(&held[at], value, inputs)))));
            let mut session = device.open(&memory)?;
            session.load(&programs)?;
            packed.into_iter().try_for_each(|(at, contents)| session.write(at, &contents))?;
            Ok::<_, EngineError>(session)
        })?;
        Ok(Resident { plan: self.plan, session, clock, launches, ends: Ends { inputs: first, outputs: read } })
    }
}

/// Passes that are timed together, so that a device's clock is judged over several; no more are lost with a device.
const TOGETHER: u32 = 16;

/// A network on a device: its constants, inputs and whatever lies between kernels stay there from run to run.
pub struct Resident<'d> {
    plan: &'d Plan,
    session: Box<dyn Session + 'd>,
    clock: Option<TimeSource>,
    launches: Vec<LaunchSpec>,
    /// Memory of each input and each output.
    ends: Ends,
}

impl Resident<'_> {
    /// Runs all kernels once; the outputs, no times.
    ///
    /// # Errors
    /// Those of the device; memory is gone with one that was lost.
    pub fn run(&mut self) -> Result<Run, EngineError> {
        self.session.launch(&self.launches)?;
        let seen = self.session.look(&Look { read: self.ends.outputs.clone(), peek: vec![] })?;
        let outputs = self.plan.outputs.iter().zip(&seen.read).map(|(id, contents)| {
            let tensor = &self.plan.tensors[id.0];
            let mut values = decode(tensor.element, &contents.0);
            values.truncate(tensor.len());
            (tensor.name.clone(), tensor.shape.clone(), values)
        });
        Ok(Run { outputs: outputs.collect(), ..Run::default() })
    }

    /// Times as many runs at once, after one that was not timed, and takes them up: of kernels one by one and, where times are measured, of passes from
    /// inputs that are written to outputs that are read. Nothing where the device has no clock.
    ///
    /// # Errors
    /// As of [`Resident::run`].
    pub fn time(&mut self, runs: u32, into: &mut Run) -> Result<(), EngineError> {
        if self.clock.is_none() {
            return Ok(());
        }
        into.add(self.session.time(&self.launches, TimingSpec::runs(runs))?);
        if self.clock == Some(TimeSource::Measured) {
            into.whole = Some(self.session.time_whole(&self.launches, &self.ends, runs)?);
        }
        Ok(())
    }

    /// Times as many runs of what lies on the device, some at a time, and takes up what each took as a whole: what was taken up before a device is lost stays. A
    /// simulator's are all alike.
    ///
    /// # Errors
    /// As of [`Resident::run`].
    pub fn repeat(&mut self, runs: u32, into: &mut Run) -> Result<(), EngineError> {
        let most = if self.clock == Some(TimeSource::Measured) { TOGETHER } else { runs };
        let mut left = runs;
        while left > 0 {
            let now = left.min(most);
            if self.clock.is_some() {
                into.add(Timed { times: vec![], ..self.session.time(&self.launches, TimingSpec::runs(now))? });
            }
            left -= now;
        }
        Ok(())
    }
}

impl Run {
    /// Takes up times of further runs, in the order in which they were taken.
    fn add(&mut self, timed: Timed) {
        self.times.resize(timed.times.len(), Times::default());
        self.times.iter_mut().zip(&timed.times).for_each(|(all, more)| all.extend(more));
        // Of one run on average, so that each counts.
        let (before, now) = (self.passes.len() as f64, timed.pass_times.len() as f64);
        let mean = |all: Seconds, more: Seconds| Seconds((all.0 * before + more.0 * now) / (before + now));
        self.cpu_time = match self.cpu_time {
            Some(all) => timed.cpu_time.map(|more| mean(all, more)),
            None => timed.cpu_time,
        };
        self.passes.extend(&timed.pass_times);
        (self.source, self.quantum) = (timed.source, timed.quantum);
    }

    /// Passes from inputs to outputs where these were timed, launches alone otherwise, and processor time of one.
    pub fn whole(&self) -> (&Times, Option<Seconds>) {
        self.whole.as_ref().map_or((&self.passes, self.cpu_time), |own| (&own.times, own.cpu_time))
    }

    /// Median time of each kernel; empty where the device has no clock.
    pub fn step_times(&self) -> Vec<Seconds> {
        self.times.iter().filter_map(Times::median).collect()
    }

    /// The shortest time of each kernel: what a device takes that nobody else uses meanwhile.
    pub fn fastest_steps(&self) -> Vec<Seconds> {
        self.times.iter().filter_map(|times| Some(times.spread()?.min)).collect()
    }
}

/// The memory between kernels.
pub struct Memory {
    /// Every tensor that lies there, in the plan's order.
    pub tensors: Vec<Kept>,
    /// What is allocated for them.
    pub plan: MemoryPlan,
    over: BTreeMap<usize, Over>,
}

/// A kernel that writes over what it reads.
struct Over {
    /// Positions of the inputs that lie where the output does: the Program has no parameters for them.
    inputs: Vec<usize>,
    program: Checked,
}

impl Memory {
    /// Positions in [`Network::steps`] of the kernels that work in place.
    pub fn in_place(&self) -> impl Iterator<Item = usize> {
        self.over.keys().copied()
    }
}

/// A tensor between kernels.
pub struct Kept {
    /// Its name in the network.
    pub name: String,
    /// Bytes and kind, and the first and last of [`Network::steps`] that needs it.
    pub request: Request,
    /// Position in the plan's slots.
    pub slot: usize,
    value: usize,
}

/// A network's job, with names for what it works on.
pub struct Sequence {
    /// The job.
    pub job: Job,
    /// What lies in each entry of `job.memory`.
    pub held: Vec<Held>,
    /// Positions in `job.memory` of the network's inputs.
    pub inputs: Vec<usize>,
}

/// What lies in memory.
pub struct Held {
    /// Its name.
    pub name: String,
    /// The tensor and its layout; `None` of a slot that several tensors share.
    pub tensor: Option<(Tensor, Layout)>,
}

/// A slot holds the largest of what it is used for.
fn grow(kind: &mut MemoryKind, other: MemoryKind) {
    if let (MemoryKind::Buffer { bytes }, MemoryKind::Buffer { bytes: needed }) = (kind, other) {
        *bytes = (*bytes).max(needed);
    }
}

/// The expression under names that do not depend on the network.
fn unnamed(expr: &TensorExpr, number: usize) -> TensorExpr {
    let mut plain = expr.clone();
    let stem: String = expr.name.chars().take_while(|c| !c.is_ascii_digit()).collect();
    plain.name = format!("{}_{number}", stem.trim_end_matches('_')).into();
    for (i, t) in plain.inputs.iter_mut().enumerate() {
        t.name = match t.role {
            Role::Weight => format!("weight{i}").into(),
            _ => format!("input{i}").into(),
        };
    }
    plain.output.name = "output".into();
    plain
}

/// A file name's worth of an operator's name.
fn step_name(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}
