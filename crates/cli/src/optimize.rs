//! `warpsight optimize`: a network or one operator to verified, predicted, timed kernels.

mod dynamic;
mod guided;
mod kernel_tuner;
mod network;
pub mod operator;
mod pruning;
mod searched;
mod sequences;
mod trace;

use crate::failure::Failure;
use crate::names::named;
use crate::network::NetworkArgs;
use crate::record::StoreArgs;
use crate::target::TargetArgs;
use crate::target::model::Model;
use crate::target::passes::PassArgs;
use clap::ValueEnum;
use clap::builder::PossibleValuesParser;
use std::path::PathBuf;
use trace::Trace;
use warpsight_engine::search::guided::Strategy;
use warpsight_engine::tune::AUTO;
use warpsight_generate::operators::is_open;
use warpsight_generate::{Lowering, Pass};
use warpsight_ir::Meanwhile;

/// Choose, verify and time the best kernels for a network or one operator, and write them out.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// An ONNX model, or a graph of operators (.json, dataflow-graph/2), whose inputs and parameters are drawn. Networks whose tensors take more than 1 GiB are refused.
    #[arg(required_unless_present = "op", conflicts_with = "op")]
    model: Option<PathBuf>,
    /// One operator instead, for instance "conv2d n=1 c=64 h=56 w=56 k=64 r=3 s=3 stride=1 pad=1".
    #[arg(long, value_name = "OPERATOR", long_help = operator::help(), conflicts_with_all = ["input_shape", "input_value", "dtype"])]
    op: Option<String>,
    #[command(flatten)]
    network: NetworkArgs,
    #[command(flatten)]
    target: TargetArgs,
    /// By which model configurations are judged.
    #[arg(long = "model", value_name = "MODEL", value_enum, ignore_case = true, default_value = "counts")]
    judged_by: Model,
    /// How many of the best configurations are timed, with a number above 1 also those of an operator's sequences that the model expects to be close;
    /// auto: the first alone where the model expects it to lose at most 5 %, else eight.
    #[arg(long, default_value = "1", value_name = "K|auto", value_parser = top)]
    top: u32,
    /// Timed runs of each kernel, at least 5; the median counts.
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u32).range(5..=10_000))]
    pub runs: u32,
    /// Choose by the model, time everything that is left (with --op), or search on from the model's choice within --budget. What times can be
    /// interrupted; the same command goes on.
    #[arg(long, value_enum, ignore_case = true, default_value = "model")]
    pub search: Search,
    /// Configurations that a random, evolutionary or annealing search tries, of all kernels together, those that the store has among them
    /// [default: 100].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub budget: Option<u32>,
    /// What such a search draws: the same for one seed and one store [default: 1].
    #[arg(long, value_name = "S")]
    pub seed: Option<u64>,
    /// Configurations that are timed where all are: some 6,000 to 12,000 by chance, the same ones each time, or every legal one, those with texels in
    /// columns and blocks (--with patterns) among them.
    #[arg(long, value_enum, ignore_case = true, default_value = "default")]
    pub space: Space,
    /// Configurations that are left out though the device can run them (with --op; of a sequence of several kernels with --search
    /// exhaustive alone).
    #[arg(long, value_enum, ignore_case = true, default_value = "none", value_name = "RULE", conflicts_with = "model")]
    pub prune: Prune,
    /// Count what each reason drops of every legal configuration and what each criterion speaks against, and do nothing else (with --op, of the
    /// operator as it is). Where nothing is left, the configuration that violates least is named.
    #[arg(long, conflicts_with_all = ["model", "search", "space", "top", "runs", "out", "accesses", "trace", "dump", "export_kernel_tuner",
        "import_kernel_tuner"])]
    pub explain_pruning: bool,
    /// Sequences of kernels that operators may be computed by, in place of all; an operator that has none of these stays as it is.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', ignore_case = true, value_parser = PossibleValuesParser::new(sequences::NAMES))]
    pub sequences: Option<Vec<String>>,
    /// Try kernels again that failed on this device and driver before, as the store remembers.
    #[arg(long)]
    again: bool,
    #[command(flatten)]
    pub passes: PassArgs,
    /// Print the best configuration after this step of lowering, and nothing else (with --op).
    #[arg(long, value_name = "STEP", conflicts_with_all = ["model", "search", "budget", "seed", "top", "runs", "out", "accesses", "trace"],
        value_parser = named(&Lowering::ALL.map(|stage| (stage.name(), stage))))]
    pub dump: Option<Lowering>,
    /// Folder for the kernels: .cl, launch description, C header and C host example.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Folder for what each chosen kernel touches: launch, registers, operations and accesses in order, one KERNEL.toml each, as `predict`
    /// and `explore` read them.
    #[arg(long, value_name = "DIR")]
    pub accesses: Option<PathBuf>,
    /// Simulate the chosen kernel once more and write what its waves and caches do in time, as Chrome trace JSON, which Perfetto opens (with
    /// --op, on simulated devices).
    #[arg(long, value_name = "FILE.json", conflicts_with = "model")]
    pub trace: Option<PathBuf>,
    /// Folder for what the store has of each kernel's space on the device, for Kernel Tuner: a tuning problem (T1), results (T4), a cache file for its
    /// simulation, and the kernels (with --op).
    #[arg(long, value_name = "DIR", conflicts_with = "model")]
    pub export_kernel_tuner: Option<PathBuf>,
    /// Reads such results (T4), or a cache file, and holds them against what is predicted, unmeasured: Kendall's tau-b, what the pick and the best
    /// of ten take, and the ranking. Nothing is run (with --op).
    #[arg(long, value_name = "FILE", conflicts_with_all = ["model", "search", "top", "runs", "dump", "out", "accesses", "trace", "prune", "export_kernel_tuner"])]
    pub import_kernel_tuner: Option<PathBuf>,
    /// Also puts the rows into the store, as times of this device that no kernel was verified by: searches take them for known and learn from them,
    /// and verify and time anew what they choose.
    #[arg(long, requires = "import_kernel_tuner")]
    pub keep_imported: bool,
    /// Draw the network as a page: layers in order, predicted beside timed, what limits each, memory between kernels.
    #[arg(long, value_name = "FILE", conflicts_with = "op")]
    pub html: Option<PathBuf>,
    #[command(flatten)]
    store: StoreArgs,
}

const EXAMPLES: &str = "Examples:
  The fastest verified kernels for a network, on the simulated GPU that is built in:
    warpsight optimize models/text-orientation.onnx
  The same on an OpenCL device; kernels and a host program in C go into a folder:
    warpsight optimize models/text-orientation.onnx --device opencl:0 --out kernels
  What the chosen kernels touch, and what that says of another device:
    warpsight optimize --op \"softmax n=4 c=100\" --accesses kernels
  What waves and caches of the simulated GPU do in time, for https://ui.perfetto.dev:
    warpsight optimize --op \"conv2d n=1 c=64 h=56 w=56 k=64 r=3 s=3 stride=1 pad=1\" --trace out.json
  One operator, every configuration timed; Ctrl-C and the same command again goes on:
    warpsight optimize --op \"matmul m=64 n=64 k=64\" --search exhaustive
  Two hundred configurations timed, each batch proposed by what was learned from those before:
    warpsight optimize --op \"matmul m=64 n=64 k=64\" --search evolutionary --budget 200
  Everything timed, as Kernel Tuner reads it:
    warpsight optimize --op \"matmul m=64 n=64 k=64\" --search exhaustive --export-kernel-tuner tuner
  What pruning leaves of its configurations, and why:
    warpsight optimize --op \"matmul m=64 n=64 k=64\" --prune hardware --explain-pruning
  A convolution without Winograd's transforms:
    warpsight optimize --op \"conv2d n=1 c=64 h=14 w=14 k=64 r=3 s=3 pad=1\" --sequences direct
  Few kernels for every number of rows, which lose 5 % at most (predicted), and which is whose:
    warpsight optimize --op \"softmax n=1..64 c=1000\" --out kernels
  What a step of lowering makes of it:
    warpsight optimize --op \"softmax n=4 c=100\" --dump program";

/// How a configuration is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Search {
    /// The model's best.
    Model,
    /// Everything is timed.
    Exhaustive,
    /// Configurations by chance.
    Random,
    /// Those that were fast, changed and crossed; trees learn which to time.
    Evolutionary,
    /// Chains of changes that cool down; trees learn which to time.
    Anneal,
}

impl Search {
    /// How configurations are proposed within a budget.
    pub fn strategy(self) -> Option<Strategy> {
        match self {
            Self::Model | Self::Exhaustive => None,
            Self::Random => Some(Strategy::Random),
            Self::Evolutionary => Some(Strategy::Evolutionary),
            Self::Anneal => Some(Strategy::Anneal),
        }
    }
}

/// Which configurations are timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Space {
    /// All where there are few, else one in so many.
    Default,
    /// Every legal one, with all patterns of texels.
    Full,
}

/// What is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Prune {
    /// What the device cannot run, or has nothing for.
    None,
    /// Also what another one beats: one that costs no more (but for 2 %) of caches, registers, buffers, local memory, warps and instructions,
    /// and less by 5 % of one of these.
    Hardware,
    /// Also what violates one of the six criteria of paper 001, word by word: a baseline. It may leave nothing.
    Paper001,
}

/// A number of configurations, or as many as doubt asks for.
fn top(text: &str) -> Result<u32, String> {
    match text.parse() {
        _ if text.eq_ignore_ascii_case("auto") => Ok(AUTO as u32),
        Ok(top) if (1..=10_000).contains(&top) => Ok(top),
        _ => Err("a number from 1 to 10000, or auto".to_owned()),
    }
}

/// Runs the verb.
pub fn run(args: &Args, json: bool) -> Result<(), Failure> {
    if args.model.is_some() && args.search == Search::Exhaustive {
        return Err(Failure::input("--search exhaustive times every configuration of one operator, not of a network")
            .help("--op OPERATOR names one; --top K times the K best configurations of each kernel of a network"));
    }
    if args.search.strategy().is_none() && (args.budget.is_some() || args.seed.is_some()) {
        return Err(Failure::input("--budget and --seed are of searches that try some configurations")
            .help("--search random, evolutionary or anneal is one"));
    }
    if args.space == Space::Full && args.search != Search::Exhaustive {
        return Err(Failure::input("--space says which configurations are timed where all are").help("--search exhaustive times them"));
    }
    // What cannot be traced or written is said before anything is chosen.
    let trace = args.trace.as_deref().map(|file| Trace::begin(file, &args.target.device)).transpose()?;
    let mut target = args.target.open()?;
    target.model = args.judged_by;
    args.passes.apply(&mut target);
    if args.space == Space::Full {
        target.passes = target.passes.set(Pass::Patterns, true);
    }
    if args.op.as_deref().is_some_and(is_open) {
        dynamic::one_shape_only(args)?;
    }
    if let (Some(file), Some(text), false) = (&args.import_kernel_tuner, &args.op, args.keep_imported) {
        return operator::compare(file, text, args, &target, None, json);
    }
    let mut record = args.store.open(target.device.info(), target.model.get(Meanwhile::default()).id())?;
    if let (Some(file), Some(text)) = (&args.import_kernel_tuner, &args.op) {
        return operator::compare(file, text, args, &target, Some(&mut record), json);
    }
    record.limited = args.target.is_limited();
    let mut target = if args.again { target } else { target.remembering(record.failed()?) };
    match (&args.op, &args.model) {
        (Some(text), _) if is_open(text) => dynamic::run(text, args, &mut target, &mut record, json),
        (Some(text), _) => operator::run(text, args, &mut target, &mut record, trace, json),
        (None, Some(model)) => network::run(model, args, &mut target, &mut record, json),
        (None, None) => Err(Failure::input("name a model or an operator")),
    }
}
