//! `warpsight predict`: what a kernel written down as its accesses costs on GPUs, before it runs anywhere.

mod explain;
pub(crate) mod input;
pub(crate) mod json;
mod measured;
pub(crate) mod packed;
mod page;
mod paper002;
pub(crate) mod show;
mod witness;

use crate::failure::Failure;
use crate::names::{named, suggested};
use crate::report::{clean, note, out};
use crate::target::profiles::profiles;
use input::{Device, Input, Setting};
use page::Figures;
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use warpsight_ir::accesses::Order;
use warpsight_ir::{Bytes, Meanwhile};
use warpsight_predict::explain::{Case, WhatIf};
use warpsight_predict::volumes::report::unknowns::report_text;
use warpsight_predict::volumes::report::{Report, Settings};
use witness::Witness;

/// Predict the time and data volumes of a kernel from the accesses it makes (see examples/accesses), on one device or several.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// A kernel's accesses as text; `-` reads them from standard input.
    #[arg(required_unless_present = "device")]
    file: Option<PathBuf>,
    /// Built-in profiles, or files of profiles (.toml); several after each other or separated by commas.
    #[arg(long, value_name = "NAME", required = true, num_args = 1.., value_delimiter = ',', value_parser = suggested(profiles()))]
    device: Vec<String>,
    /// What predicts: `counts` is ours; `paper002` is the model of the paper it grew from as its authors published it, as a baseline: four
    /// limiters, four curves, no interval, and for the devices that they list their numbers instead of the profile's.
    #[arg(long, value_name = "NAME", default_value = "counts", ignore_case = true, value_parser = named([("counts", Model::Counts), ("paper002", Model::Paper002)]))]
    model: Model,
    /// Replaces a key or parameter of the file, for instance block=16,4,16 or n=640; may be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<Setting>,
    /// Replaces a number of the profiles, by its path in their text or an end of it: l2_effective=40MB, memory.l2.bandwidth=1.4TB/s,
    /// clock=1.41GHz; may be repeated.
    #[arg(long = "override", value_name = "KEY=VALUE")]
    overrides: Vec<Setting>,
    /// What was measured of this kernel on the device: volumes in place of the predicted ones, everything else stays predicted. JSON
    /// ({"volumes": {"l2_load": 44.1, "dram_load": 9.2, …}} in bytes per point, {"bytes": …} of the launch; examples/volumes), the CSV of
    /// `ncu --csv` (--page raw or details), or a table of rocprof, rocprofv2 or rocprofv3.
    #[arg(long, value_name = "FILE", conflicts_with = "diff")]
    volumes: Option<PathBuf>,
    /// The kernel whose launches count, where the profiler saw several.
    #[arg(long, value_name = "NAME", requires = "volumes")]
    volumes_kernel: Option<String>,
    /// Takes loads in the order of the file: the compiler was seen to keep it. Otherwise the order of those that neither a loop nor a barrier
    /// divides is its own, and counts for nothing.
    #[arg(long)]
    in_order: bool,
    /// Bytes that other kernels touch between two launches of this one, as in a network (`between_bytes` of `optimize NETWORK --json`): caches
    /// hold that much less of what it left.
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    between: u64,
    /// Bytes that they touch between two launches for what is `known` in the file, which a network's pass meets once (`pass_bytes` there); as many
    /// as between launches where nothing is said.
    #[arg(long, value_name = "BYTES")]
    pass: Option<u64>,
    /// Refuses a kernel that touches what lies beside its fields, where otherwise this is noted.
    #[arg(long)]
    strict: bool,
    /// Writes a page with figures, one file that needs nothing else: limits, volumes by level, what would change the time.
    #[arg(long, value_name = "FILE.html")]
    html: Option<PathBuf>,
    /// Executes what the kernel touches through simulated caches, which share no counting with the prediction, and prints volumes by both beside
    /// each other: on a100-40, h200 and mi250x. Of a long launch a part is executed; what part is said.
    #[arg(long, conflicts_with_all = ["diff", "volumes"])]
    witness: bool,
    /// Another kernel, to be compared with the first (--set applies to both).
    #[arg(long, value_name = "FILE2")]
    diff: Option<PathBuf>,
}

/// What predicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Model {
    Counts,
    Paper002,
}

const EXAMPLES: &str = "Examples:
  A kernel on several GPUs that need not be there:
    warpsight predict examples/accesses/star3d-r4-f64.toml --device v100 a100-40 h200 mi300x
  What if its blocks were others, and the cache larger:
    warpsight predict examples/accesses/star3d-r4-f64.toml --device a100-40 --set block=16,4,16 \\
      --override l2_effective=40MB
  Two kernels side by side:
    warpsight predict examples/accesses/transpose-naive.toml --device h200 \\
      --diff examples/accesses/transpose-tiled.toml
  The same by the model of paper 002 as published, to compare with:
    warpsight predict examples/accesses/star3d-r4-f64.toml --device a100-40 --model paper002
  Volumes by a simulation of the caches beside the predicted ones:
    warpsight predict examples/accesses/star3d-r1-f64.toml --device mi250x --witness
  Measured volumes in place of the predicted ones:
    warpsight predict examples/accesses/star3d-r1-f64.toml --device mi250x \\
      --volumes examples/volumes/star3d-r1-f64-mi250x.json";

/// What is said where folding leaves the number of registers as it is.
pub(crate) const REGISTERS_GUESSED: &str = "registers are one number although points are folded: how many folding takes is a guess";

/// A kernel's prediction on a device.
pub(super) struct Predicted<'a> {
    input: &'a Input,
    device: &'a Device,
    settings: &'a Settings,
    report: Report,
    witness: Option<Witness>,
}

impl Predicted<'_> {
    /// What would change the time.
    fn what_if(&self) -> WhatIf {
        let Input { document, settings: set, written, .. } = self.input;
        WhatIf::of(&Case { document, set, written, on: &self.device.profile, settings: self.settings, report: &self.report })
    }
}

/// What there is to say of a device: a prediction, another to compare it with, or why there is none.
pub(super) type Answer<'a> = Result<(Predicted<'a>, Option<Predicted<'a>>), Failure>;

/// Runs the verb.
pub fn run(args: &Args, json: bool) -> Result<(), Failure> {
    let mut names = args.device.clone();
    // `--device NAME… FILE`: the last one is the file.
    let file = match &args.file {
        Some(file) => file.clone(),
        None if names.len() > 1 => names.pop().map(PathBuf::from).unwrap_or_default(),
        None => return Err(Failure::input("no file is given").help("warpsight predict FILE --device NAME")),
    };
    let mut devices = input::devices(&names, &args.overrides)?;
    let theirs = args.model == Model::Paper002;
    if theirs {
        paper002::refuse(args, &devices)?;
    }
    let first = Input::read(&file, &args.set)?;
    if theirs {
        outside(&first, args.strict)?.iter().for_each(|what| note(format_args!("note: {}", clean(what))));
        return paper002::run(&first, &devices, json);
    }
    let order = if args.in_order { Order::Kept } else { Order::Free };
    let mut settings = Settings {
        order,
        meanwhile: Meanwhile { handed: Bytes(args.between as f64), pass: Bytes(args.pass.unwrap_or(args.between) as f64) },
        ..Settings::default()
    };
    if let Some(file) = &args.volumes {
        let [device] = devices.as_mut_slice() else {
            return Err(Failure::input("volumes are measured on one device").at("--volumes").help("name one --device"));
        };
        let counted = measured::read(file, args.volumes_kernel.as_deref(), &first)?;
        settings.measured = Some(counted.measured);
        device.notes.extend(counted.notes);
    }
    let second = args.diff.as_ref().map(|file| Input::read(file, &args.set)).transpose()?;
    let beside = std::iter::once(&first).chain(&second).map(|input| outside(input, args.strict)).collect::<Result<Vec<_>, _>>()?;
    let answer = |device| -> Answer {
        let mut first = predict(&first, device, &settings)?;
        first.witness = args.witness.then(|| witness::of(first.input, device)).transpose()?;
        let second = second.as_ref().map(|input| predict(input, device, &settings)).transpose()?;
        Ok((first, second))
    };
    let all: Vec<(&Device, Answer)> = devices.iter().map(|device| (device, answer(device))).collect();
    // One device that cannot answer leaves the others their say.
    if all.iter().all(|(_, answer)| answer.is_err()) {
        return Err(none(all.into_iter().filter_map(|(_, answer)| answer.err()).collect()));
    }
    beside.iter().flatten().for_each(|what| note(format_args!("note: {}", clean(what))));
    devices.iter().for_each(Device::say);
    let figures = args.html.as_deref().map(|file| {
        let figures = Figures::of(&all);
        warpsight_files::write(file, figures.html().as_bytes()).map(|()| figures)
    });
    let figures = figures.transpose()?;
    if json {
        let values = all.iter().map(|(device, answer)| (device.name.clone(), answer.as_ref().map_or_else(Failure::json, value)));
        let mut whole = by_device(values.collect());
        if let Some(figures) = figures {
            whole["figures"] = serde_json::to_value(&figures).map_err(|error| Failure::input(error.to_string()))?;
        }
        return out(whole);
    }
    if all.len() > 1 {
        out(show::ranking(&all))?;
    }
    for (first, second) in all.iter().filter_map(|(_, answer)| answer.as_ref().ok()) {
        match second {
            None => out(format_args!("{}\n{}", show::tables(first), explain::explain(first, &first.what_if())))?,
            Some(second) => out(show::comparison(first, second))?,
        }
    }
    Ok(())
}

/// One device speaks for itself; several go by their names.
fn by_device(values: Map<String, Value>) -> Value {
    let single = if values.len() == 1 { values.values().next().cloned() } else { None };
    single.unwrap_or(Value::Object(values))
}

/// Where accesses go beyond their fields.
pub(crate) fn outside(input: &Input, strict: bool) -> Result<Vec<String>, Failure> {
    let found: Vec<String> = input.written.kernel.accesses.outside().iter().map(ToString::to_string).collect();
    if strict && !found.is_empty() {
        return Err(Failure::input(found.join("; "))
            .at(&input.name)
            .help("larger dims, another origin or a guard; without --strict it is a note"));
    }
    Ok(found.iter().map(|what| format!("{}: {what}", input.name)).collect())
}

/// No device has an answer: the one reason, or all of them.
fn none(mut failures: Vec<Failure>) -> Failure {
    if failures.len() == 1 {
        return failures.remove(0);
    }
    let reasons: Vec<String> = failures.iter().map(Failure::to_string).collect();
    let place = failures.iter().find_map(Failure::position).unwrap_or_default();
    Failure::input(reasons.join("; ")).at(place)
}

fn predict<'a>(input: &'a Input, device: &'a Device, settings: &'a Settings) -> Result<Predicted<'a>, Failure> {
    let text = (&input.document, input.settings.as_slice());
    let mut report = report_text(text, &input.written, &device.profile, settings).map_err(|error| input.refused(&error, device))?;
    if input.written.registers_guessed {
        report.provenance.push(REGISTERS_GUESSED.to_owned());
    }
    report.provenance.extend(device.notes.iter().cloned());
    Ok(Predicted { input, device, settings, report, witness: None })
}

fn value((first, second): &(Predicted, Option<Predicted>)) -> Value {
    match second {
        None => {
            let mut value = json::value(&first.report);
            if let Some(witness) = &first.witness {
                value["witness"] = witness.json();
            }
            value
        }
        Some(second) => json!({
            "file": json::value(&first.report),
            "diff": json::value(&second.report),
            "ratio": second.report.seconds.0 / first.report.seconds.0,
        }),
    }
}
