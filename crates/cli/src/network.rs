//! A network: read, planned, its kernels chosen or found in the store.

use crate::failure::{Failure, Kind};
use crate::names::named;
use crate::record::{Record, line};
use crate::report::clean;
use crate::target::Target;
use crate::target::judging::Judging;
use crate::{progress, report};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::{Duration, Instant};
use warpsight_engine::candidates::Offer;
use warpsight_engine::found::Found;
use warpsight_engine::network::{Choice, Doing, Key, Network, Run, Selected, Selection};
use warpsight_engine::settle::{self, Taken};
use warpsight_files::FileError;
use warpsight_generate::operators::DTYPES;
use warpsight_generate::{ExprKey, Passes, Place};
use warpsight_graph::{CardError, Graph, GraphError, InputShape, InputValues, Model, ModelCard, Plan, simplify};
use warpsight_ir::{Config, Scalar};
use warpsight_learn::subject_hash;

/// A model read, its shapes bound, its kernels planned.
pub struct Loaded {
    /// As the file has it: the reference.
    pub graph: Graph,
    /// What is executed.
    pub plan: Plan,
    /// What the file beside the model says of pictures and shapes.
    pub card: Option<ModelCard>,
}

/// How a model is read.
#[derive(clap::Args)]
pub struct NetworkArgs {
    /// Shape of an input whose shape the model leaves open, for instance x=1,3,48,192; may be repeated.
    #[arg(long, value_name = "NAME=N,N,…")]
    pub input_shape: Vec<String>,
    /// Values of an input that others are shaped by (axes, sizes, widths of borders), for instance axes=0,2: the model is read for these, as if the
    /// input were a constant; may be repeated.
    #[arg(long, value_name = "NAME=N,N,…")]
    pub input_value: Vec<String>,
    /// What a network's tensors are stored as: f32, f16s (half storage, float arithmetic) or f16 (half storage and arithmetic). Positions in tensors,
    /// whole numbers that are given and what is made of them alone (masks, angles) stay f32.
    #[arg(long, value_name = "TYPE", default_value = "f32", value_parser = named(DTYPES))]
    pub dtype: Scalar,
}

/// Reads a model, or a graph of operators, and plans its kernels.
pub fn load(path: &Path, args: &NetworkArgs) -> Result<Loaded, Failure> {
    let given = Given { shapes: &args.input_shape, values: &args.input_value };
    let (graph, card) = if is_graph(path) { (graph(path, given)?, None) } else { read(path, given)? };
    let plan = Plan::of_elements(&simplify(&graph), args.dtype).map_err(|e| refused(path, &e))?;
    Ok(Loaded { graph, plan, card })
}

impl Loaded {
    /// Whether what is alive at one time finds room in this process.
    pub fn fits(&self, path: &Path) -> Result<(), Failure> {
        self.graph.fits().map_err(|e| refused(path, &e))
    }
}

fn refused(path: &Path, error: &GraphError) -> Failure {
    let kind = if matches!(error, GraphError::Read(FileError::Io { .. })) { Kind::Io } else { Kind::Input };
    let failure = Failure::new(kind, error.to_string()).at(path.display().to_string());
    match error {
        GraphError::UnsupportedOperators { .. } => failure.help("`warpsight operators` lists those that are"),
        _ => failure,
    }
}

/// Whether a file is read as a graph of operators (`docs/dataflow-graph.md`), by its name.
fn is_graph(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("json"))
}

/// Reads a graph of operators, whose parameters are drawn like its inputs.
fn graph(path: &Path, given: Given) -> Result<Graph, Failure> {
    let fail = |what: String| Failure::input(what).at(path.display().to_string());
    if !given.shapes.is_empty() || !given.values.is_empty() {
        return Err(fail("a graph of operators says itself which shapes its inputs have, and has no constants among them".into()));
    }
    let text = warpsight_files::read_text(path, warpsight_files::RECORDS)?;
    let graph = Graph::read(&text).map_err(|error| fail(error.to_string()))?;
    Ok(graph.with_drawn_parameters())
}

/// What a command line says of a model's inputs.
#[derive(Clone, Copy, Default)]
pub struct Given<'a> {
    /// Shapes, as in `x=1,3,48,192`.
    pub shapes: &'a [String],
    /// Values, as in `axes=0,2`.
    pub values: &'a [String],
}

/// Reads a model; shapes come from the command line, then from the `.toml` beside the model.
pub fn read(path: &Path, said: Given) -> Result<(Graph, Option<ModelCard>), Failure> {
    let fail = |e: GraphError| refused(path, &e);
    let model = Model::read(path).map_err(fail)?;
    let card = ModelCard::beside(path).map_err(|e| {
        let kind = if matches!(e, CardError::Read(FileError::Io { .. })) { Kind::Io } else { Kind::Input };
        Failure::new(kind, e.to_string()).at(path.with_extension("toml").display().to_string())
    })?;
    let mut bound: Vec<InputShape> = card.as_ref().map(ModelCard::shapes).unwrap_or_default();
    let mut given: Vec<InputShape> = vec![];
    for text in said.shapes {
        let shape: InputShape = text.parse().map_err(|e: GraphError| Failure::input(e.to_string()))?;
        if given.iter().any(|g| g.input == shape.input) {
            return Err(Failure::input(format!("the shape of `{}` is given twice", shape.input)));
        }
        bound.retain(|b| b.input != shape.input);
        given.push(shape);
    }
    bound.extend(given);
    let mut values: Vec<InputValues> = vec![];
    for text in said.values {
        let own: InputValues = text.parse().map_err(|e: GraphError| Failure::input(e.to_string()))?;
        if values.iter().any(|other| other.input == own.input) {
            return Err(Failure::input(format!("the values of `{}` are given twice", own.input)));
        }
        values.push(own);
    }
    let model = model.with_values(&values, &bound).map_err(fail)?;
    bound.retain(|shape| values.iter().all(|own| own.input != shape.input));
    Ok((model.graph(&bound).map_err(fail)?, card))
}

/// How long a choice took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spent {
    /// Until every kernel was chosen by the model.
    pub choosing: Duration,
    /// To compile, verify and time them.
    pub compiling: Duration,
}

/// Chooses every kernel, with progress on stderr; how long that took.
pub fn choose(
    network: &Network,
    found: &Found,
    judging: &Judging,
    target: &mut Target,
    record: &mut Record,
    rng: &mut fastrand::Rng,
) -> Result<(Choice, Spent), Failure> {
    let (start, mut chosen) = (Instant::now(), None);
    let bar = progress::parts("ranking");
    let judge = judging.judge(&target.profile);
    let mut show = |doing: Doing, done| {
        let (part, name) = match doing {
            Doing::Ranking => ("ranking, then timing", ""),
            Doing::Compiling => {
                chosen = Some(start.elapsed());
                ("compiling, then timing", "")
            }
            Doing::Timing(name) => ("timing", name),
        };
        if done == 0.0 {
            // How long ranking took says nothing of what follows.
            bar.reset();
            bar.set_prefix(part);
        }
        bar.set_message(clean(name).into_owned());
        progress::part_done(&bar, done);
        !progress::interrupted()
    };
    let choice =
        network.optimize(&judge, found, &mut *target.device, rng, &mut |family, attempt| record.attempt(family, attempt), &mut show);
    bar.finish_and_clear();
    let choosing = chosen.unwrap_or_default();
    Ok((choice?, Spent { choosing, compiling: start.elapsed().saturating_sub(choosing) }))
}

/// The sequences that a plan's operators were replaced by, and what the store knows of the plan as it was.
pub struct Settled {
    /// What names the network in the store: its operators as they are without candidates.
    subject: String,
    /// Sequences in place of operators.
    pub taken: Vec<Taken>,
    saved: Option<Saved>,
    /// What was found of kernels on the way.
    pub found: Found,
    /// How long that took.
    pub took: Duration,
}

impl Settled {
    /// A plan whose operators stay; kernels of other passes are others to the store.
    pub fn as_it_is(plan: &Plan, passes: Passes) -> Self {
        let operators: Vec<String> = plan.operators.iter().map(|op| line(&ExprKey::of_operator(&op.operator))).collect();
        let subject = format!("network\n{}{passes}", operators.join("\n"));
        Self { subject, taken: vec![], saved: None, found: Found::default(), took: Duration::ZERO }
    }

    /// Puts the sequences that the model expects to be the fastest in place of a plan's operators.
    pub fn anew(plan: &mut Plan, judging: &Judging, target: &Target, names: Option<&[String]>) -> Result<Self, Failure> {
        let start = Instant::now();
        let mut settled = Self::as_it_is(plan, target.passes);
        let offer = Offer { limits: &target.device.info().limits, names };
        settled.taken = settle::settle(plan, &judging.judge(&target.profile), &offer, &settled.found)?;
        settled.took = start.elapsed();
        Ok(settled)
    }

    /// What is left of a plan, as it was before sequences were put into it, without the one of which no kernel works on this driver (all of equal operators), or
    /// without any where it is none of these: with the plan. `None` where something else failed, or operators are as they are. Says so.
    pub fn without(self, failure: &Failure, plan: &Plan, passes: Passes) -> Option<(Plan, Self)> {
        if failure.kind != Kind::NothingVerified || self.taken.is_empty() {
            return None;
        }
        given_up(failure);
        // Operators that are equal have the same kernels.
        let key = |own: &Taken| (ExprKey::of_operator(&plan.operators[own.position].operator), own.name.clone());
        let failed = self.taken.iter().find(|own| failure.place.as_ref() == Some(&plan.operators[own.position].name)).map(key);
        let left = |own: &Taken| (failed.is_some() && Some(key(own)) != failed).then(|| (own.position, own.name.clone()));
        let others: Vec<_> = self.taken.iter().filter_map(left).collect();
        let mut whole = plan.clone();
        // What was offered is offered.
        let taken = settle::restore(&mut whole, &others).unwrap_or_default();
        Some((whole, Self { taken, found: self.found, took: self.took, ..Self::as_it_is(plan, passes) }))
    }

    /// The same as in an earlier optimization of the network for the same device and driver, where the store has one; else anew.
    pub fn again(plan: &mut Plan, judging: &Judging, target: &Target, record: &Record) -> Result<Self, Failure> {
        let settled = Self::as_it_is(plan, target.passes);
        let saved: Option<Saved> = record.last_network(&settled.subject)?.and_then(|json| serde_json::from_str(&json).ok());
        match saved.as_ref().and_then(|saved| settle::restore(plan, &saved.candidates)) {
            Some(taken) => Ok(Self { taken, saved, ..settled }),
            None => Self::anew(plan, judging, target, None),
        }
    }
}

/// Says that no kernel of a sequence that an operator was replaced by works on this driver.
pub fn given_up(failure: &Failure) {
    report::note(format_args!("{failure}; without that sequence now"));
}

/// The kernels of an earlier optimization of the same network for the same device and driver, where the store has one and every
/// kernel is still generated as it was verified; else a new choice.
pub fn select(
    network: &Network,
    settled: &Settled,
    judging: &Judging,
    target: &mut Target,
    record: &mut Record,
    rng: &mut fastrand::Rng,
) -> Result<Selection, Failure> {
    match settled.saved.as_ref().and_then(|saved| saved.restore(network)) {
        Some(selection) => Ok(selection),
        None => Ok(choose(network, &settled.found, judging, target, record, rng)?.0.selection),
    }
}

/// Stores a run of kernels that were verified one by one.
pub fn remember(settled: &Settled, selection: &Selection, run: &Run, record: &mut Record) -> Result<(), Failure> {
    record.network(settled.subject.clone(), Saved::of(selection, &settled.taken).to_json(), &run.passes, run.quantum, true)
}

/// A selection as the store keeps it.
#[derive(Serialize, Deserialize)]
struct Saved {
    /// By position of an operator, the name of the candidate in its place.
    #[serde(default)]
    candidates: Vec<(usize, String)>,
    places: Vec<Place>,
    kernels: Vec<SavedKernel>,
}

#[derive(Serialize, Deserialize)]
struct SavedKernel {
    family: usize,
    pattern: Vec<Place>,
    config: Config,
    /// Hash of the Program that was verified.
    program: String,
}

impl Saved {
    fn of(selection: &Selection, taken: &[Taken]) -> Self {
        let kernel = |(key, k): (&Key, &Selected)| SavedKernel {
            family: key.0,
            pattern: key.1.clone(),
            config: k.config.clone(),
            program: subject_hash(&k.program.to_string()),
        };
        let candidates = taken.iter().map(|own| (own.position, own.name.clone())).collect();
        Self { candidates, places: selection.places.clone(), kernels: selection.kernels.iter().map(kernel).collect() }
    }
    fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_else(|_| "null".to_owned())
    }
    fn restore(&self, network: &Network) -> Option<Selection> {
        let configs = self.kernels.iter().map(|k| ((k.family, k.pattern.clone()), k.config.clone())).collect();
        let selection = network.select(self.places.clone(), &configs)?;
        let same = self.kernels.iter().all(|k| {
            let now = selection.kernels.get(&(k.family, k.pattern.clone()));
            now.is_some_and(|now| subject_hash(&now.program.to_string()) == k.program)
        });
        same.then_some(selection)
    }
}
