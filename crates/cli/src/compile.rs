//! `warpsight compile`: kernels to CUDA machine code, on machines without a GPU too, and what they use there.

use crate::failure::{Failure, Kind};
use crate::names;
use crate::record::{self, StoreArgs};
use crate::report::Column::{Keep, Spare};
use crate::report::{dash, out, table};
use crate::target;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use warpsight_emit::CudaSource;
use warpsight_engine::EngineError;
use warpsight_engine::tune::{self, Judge};
use warpsight_files::Folder;
use warpsight_generate::operators::parse_operator;
use warpsight_generate::prune::Allowance;
use warpsight_generate::{Passes, ScheduleFamily};
use warpsight_ir::near::did_you_mean;
use warpsight_ir::{Checked, Config, Family, KnobValue, Name, text};
use warpsight_predict::KernelModel;
use warpsight_run::cuda::{Arch, Compiled, Resources, Toolkit, ToolkitError};

/// Compile a Program or one operator to CUDA machine code and show what it uses; needs no GPU.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// A Program as text; `-` reads it from standard input.
    #[arg(required_unless_present = "op", conflicts_with = "op")]
    program: Option<PathBuf>,
    /// One operator instead, for instance "matmul m=64 n=64 k=64".
    #[arg(long, value_name = "OPERATOR", long_help = crate::optimize::operator::help())]
    op: Option<String>,
    /// Knobs of its configuration, as JSON or knob=value,…; the model chooses those that are left out (with --op).
    #[arg(long, value_name = "CONFIG", requires = "op")]
    config: Option<String>,
    /// The profile the model chooses for (with --op).
    #[arg(long, value_name = "NAME", default_value = "adreno640", value_parser = names::suggested(target::profiles::profiles()))]
    profile: String,
    /// What for, for instance sm_80,sm_90a.
    #[arg(long, value_name = "ARCH,…", required = true, value_delimiter = ',')]
    arch: Vec<Arch>,
    /// Folder for .cu, .ptx and .cubin files.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    store: StoreArgs,
}

const EXAMPLES: &str = "Examples:
  What a kernel uses on two architectures, without a GPU:
    warpsight compile --op \"matmul m=64 n=64 k=64\" --arch sm_80,sm_90a
  Its CUDA C++, PTX and machine code as files:
    warpsight compile --op \"softmax n=4 c=100\" --arch sm_80 --out kernels";

/// A kernel to compile.
struct Kernel {
    /// What its files are called.
    file: String,
    /// What the store knows it by.
    text: String,
    knobs: Option<BTreeMap<Name, KnobValue>>,
    source: CudaSource,
}

impl Kernel {
    fn new(program: &Checked, text: String, knobs: Option<BTreeMap<Name, KnobValue>>) -> Result<Self, Failure> {
        let source = warpsight_emit::cuda(program).map_err(|e| Failure::input(e.to_string()))?;
        Ok(Self { file: program.name.to_string(), text, knobs, source })
    }

    /// Threads of a block.
    fn threads(&self) -> u32 {
        self.source.grid.local.iter().product()
    }
}

/// What came of a kernel for one architecture.
struct Outcome<'a> {
    kernel: &'a Kernel,
    arch: Arch,
    compiled: Result<Compiled, ToolkitError>,
}

/// Runs the verb.
pub fn run(args: &Args, json: bool) -> Result<(), Failure> {
    let mut kernels = match (&args.op, &args.program) {
        (Some(text), _) => operator(text, args)?,
        (None, Some(path)) => vec![program(path)?],
        (None, None) => return Err(Failure::input("name a Program or an operator")),
    };
    if kernels.len() > 1 {
        // Two kernels of one name differ in their place in the sequence.
        kernels.iter_mut().enumerate().for_each(|(i, k)| k.file = format!("{i}_{}", k.file));
    }
    let toolkit = Toolkit::find()?;
    args.arch.iter().try_for_each(|arch| toolkit.supports(*arch))?;
    let version = toolkit.version()?;
    let mut folder = args.out.as_deref().map(Folder::create).transpose()?;
    let mut builds = args.store.builds(&version, toolkit.simulated()?)?;
    let mut outcomes = vec![];
    for kernel in &kernels {
        if let Some(folder) = &mut folder {
            folder.write(&format!("{}.cu", kernel.file), kernel.source.text().as_bytes())?;
        }
        for &arch in &args.arch {
            let compiled = toolkit.compile(&kernel.source.text(), &kernel.source.entry, arch);
            let config = kernel.knobs.as_ref().map_or("null".to_owned(), |k| json!(k).to_string());
            let said = compiled.as_ref().map(Compiled::feedback).map_err(ToString::to_string);
            builds.add(&arch.to_string(), &kernel.text, config, said)?;
            if let (Some(folder), Ok(compiled)) = (&mut folder, &compiled) {
                folder.write(&format!("{}.{arch}.ptx", kernel.file), compiled.ptx.as_bytes())?;
                folder.write(&format!("{}.{arch}.cubin", kernel.file), &compiled.cubin)?;
            }
            outcomes.push(Outcome { kernel, arch, compiled });
        }
    }
    folder.map_or(Ok(()), Folder::finish)?;
    if json {
        out(report(&version, &kernels, &outcomes))?;
    } else {
        print(&version, &outcomes)?;
    }
    // The others were compiled, shown and kept.
    outcomes.into_iter().find_map(|o| o.compiled.err()).map_or(Ok(()), |refused| Err(refused.into()))
}

/// The Program in a file.
fn program(path: &Path) -> Result<Kernel, Failure> {
    let place = warpsight_files::name(path).display().to_string();
    let written = warpsight_files::text(path, warpsight_files::read_or_stdin(path, warpsight_files::TEXT)?)?;
    let program = text::parse(&written).map_err(|e| {
        let shown = e.to_string();
        Failure::input(shown.strip_prefix("error: ").unwrap_or(&shown)).at(format!("{place}:{}:{}", e.line, e.column))
    })?;
    let checked = Checked::new(program).map_err(|e| Failure::input(e.to_string()).at(&place))?;
    Kernel::new(&checked, checked.to_string(), None).map_err(|e| e.at(place))
}

/// The kernels of an operator, each in the configuration that is asked for, or the model's first choice.
fn operator(text: &str, args: &Args) -> Result<Vec<Kernel>, Failure> {
    let operator = parse_operator(text).map_err(|e| Failure::input(e.to_string()).at(text))?;
    let wanted = args.config.as_deref().map_or(Ok(BTreeMap::new()), wanted)?;
    let profile = target::profiles::profile(&args.profile)?;
    let judge =
        Judge { profile: &profile, model: &KernelModel, allowance: Allowance::of(&profile), passes: Passes::default(), top: 1, runs: 1 };
    let kernel = |expr| {
        let family = ScheduleFamily::new(expr);
        let config = choose(&family, &wanted, &judge)?;
        let program = family.finish(&config).map_err(EngineError::from)?;
        Kernel::new(&program, record::subject_text(&family, &program), Some(family.space().describe(&config)))
    };
    operator.steps.into_iter().map(kernel).collect()
}

/// Knobs and their values, as JSON or `knob=value,…`.
fn wanted(text: &str) -> Result<BTreeMap<Name, KnobValue>, Failure> {
    let wrong = |why: String| Failure::input(why).at(format!("--config {text}"));
    if text.trim_start().starts_with('{') {
        return serde_json::from_str(text).map_err(|e| wrong(format!("no JSON object of knobs: {e}")));
    }
    let pair = |part: &str| {
        let (name, value) = part.split_once('=').ok_or_else(|| wrong(format!("`{part}` is not knob=value")))?;
        let value = value.trim();
        Ok((name.trim().into(), value.parse().map_or_else(|_| KnobValue::Label(value.into()), KnobValue::Number)))
    };
    text.split(',').map(pair).collect()
}

/// The configuration with the wanted values that the model likes best. What is wanted in full is taken as it is.
fn choose(family: &ScheduleFamily, wanted: &BTreeMap<Name, KnobValue>, judge: &Judge) -> Result<Config, Failure> {
    let space = family.space();
    for (name, value) in wanted {
        let Some(knob) = space.knobs.iter().find(|k| k.name == *name) else {
            let names: Vec<&str> = space.knobs.iter().map(|k| &*k.name).collect();
            return Err(Failure::input(format!("`{}` has no knob `{name}`{}", family.name(), did_you_mean(name, names.iter().copied())))
                .help(format!("its knobs: {}", names.join(", "))));
        };
        let values: Vec<String> = match &knob.labels[..] {
            [] => knob.values.iter().map(ToString::to_string).collect(),
            _ => knob.names().map(ToString::to_string).collect(),
        };
        if !values.contains(&value.to_string()) {
            return Err(Failure::input(format!("knob `{name}` cannot be {value}")).help(format!("it can be {}", values.join(", "))));
        }
    }
    let fits = |config: &Config| {
        let described = space.describe(config);
        wanted.iter().all(|(name, value)| described.get(name) == Some(value))
    };
    // What has all knobs may have values that no walk of the space comes by.
    if let Some(own) = space.parse(wanted).filter(|own| family.layouts(own).is_ok()) {
        return Ok(own);
    }
    let mut matching = family.configs().filter(fits);
    let first = [matching.next(), matching.next()];
    if let [Some(only), None] = first {
        return Ok(only);
    }
    let (_, ranked) = tune::rank(family, first.into_iter().flatten().chain(matching), judge)?;
    let best = ranked.into_iter().next();
    best.map(|b| b.config).ok_or_else(|| Failure::input(format!("no legal configuration of `{}` has these values", family.name())))
}

fn print(version: &str, outcomes: &[Outcome]) -> Result<(), Failure> {
    let mut rows = table(&[
        Keep("kernel"),
        Keep("arch"),
        Keep("registers"),
        Keep("spill B"),
        Spare(2, "stack B"),
        Spare(4, "shared B"),
        Spare(1, "barriers"),
        Spare(3, "threads"),
        Keep("blocks per SM"),
        Keep("limiter"),
    ]);
    for o in outcomes {
        let resources = o.compiled.as_ref().ok().and_then(|c| c.resources);
        let cell = |of: &dyn Fn(&Resources) -> u32| dash(resources.as_ref().map(of));
        let (blocks, limiter) = o.blocks();
        rows.add_row([
            o.kernel.file.clone(),
            o.arch.to_string(),
            cell(&|r| r.registers),
            cell(&|r| r.spill_store_bytes + r.spill_load_bytes),
            cell(&|r| r.stack_bytes),
            cell(&|r| r.shared_bytes),
            cell(&|r| r.barriers),
            o.kernel.threads().to_string(),
            dash(blocks),
            limiter,
        ]);
    }
    out(format_args!("{rows}"))?;
    out(format_args!("reported by {version}; blocks per SM follow from it, no time is involved"))
}

impl Outcome<'_> {
    /// Blocks a multiprocessor holds at once, `None` where nobody knows, and what keeps the next one out.
    fn blocks(&self) -> (Option<u32>, String) {
        let resources = self.compiled.as_ref().ok().and_then(|c| c.resources);
        match resources.and_then(|r| r.occupancy(self.arch, self.kernel.threads())) {
            Some(Ok(o)) => (Some(o.groups), o.limiter.map_or("-".to_owned(), |l| json!(l).as_str().unwrap_or("-").replace('_', " "))),
            Some(Err(why)) => (Some(0), why.to_string()),
            None => (None, "-".to_owned()),
        }
    }
}

fn report(version: &str, kernels: &[Kernel], outcomes: &[Outcome]) -> Value {
    let compiled = |o: &Outcome| match &o.compiled {
        Ok(compiled) => {
            let (blocks, limiter) = o.blocks();
            json!({"arch": o.arch.to_string(), "resources": compiled.resources, "blocks_per_sm": blocks, "limiter": limiter,
                   "ptx_bytes": compiled.ptx.len(), "cubin_bytes": compiled.cubin.len()})
        }
        Err(refused) => json!({"arch": o.arch.to_string(), "refused": refused.to_string()}),
    };
    let kernel = |k: &Kernel| {
        let of = outcomes.iter().filter(|o| std::ptr::eq(o.kernel, k)).map(compiled).collect::<Vec<_>>();
        json!({"name": k.file, "entry": k.source.entry, "config": k.knobs, "threads": k.threads(), "compiled": of})
    };
    json!({"reported_by": version, "kernels": kernels.iter().map(kernel).collect::<Vec<_>>()})
}

impl From<ToolkitError> for Failure {
    fn from(error: ToolkitError) -> Self {
        match error {
            ToolkitError::Architecture { .. } => Self::input(error.to_string()),
            ToolkitError::Missing { .. } => Self::new(Kind::Device, error.to_string()).help("`warpsight compile` needs no GPU, but NVRTC"),
            _ => Self::new(Kind::Device, error.to_string()),
        }
    }
}
