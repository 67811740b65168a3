//! How right choices are that measure nothing: picks of models beside everything timed. Makes bench/choose.md.
//!
//!     cargo run --release -p warpsight-engine --example choose -- [--device NAME]… [--op NAME]… [--cases GRID,NEAR] [--configs N]
//!         [--macs N] [--seed N] [--profiles FOLDER] [--kept FOLDER] [--with patterns] [--out FILE.md] [--fit FILE.toml]
//!         [--all FILE.jsonl] [--json FILE.json]
//!
//! `--fit` writes what picks are expected to lose (`predict::doubt`), and prints how well each device's are told by the others.
//!
//! `--all` writes all that was timed, beside what both counts say of it; `--json` of each case what picks take over the best, for `bench/choose.py`.
//!
//! Devices are simulated (`adreno740`, or FILE.toml), chosen for by what a probe found of them (FOLDER/sim-NAME.toml). Shapes are of the grid of paper
//! 000's Table 3, and near to it; spaces are a part of all configurations, drawn. Times are simulated, and kept for the next run.

mod cases;
mod judged;
mod kept;
mod kinds;
mod page;

use cases::{Most, OPERATORS, drawn};
use judged::{Bench, Judged};
use std::error::Error;
use std::path::{Path, PathBuf};
use warpsight_engine::tune::DOUBTFUL;
use warpsight_generate::operators::parse_operator;
use warpsight_generate::{Operator, Pass, Passes, ScheduleFamily, candidates};
use warpsight_ir::Profile;
use warpsight_ir::profile::Text;
use warpsight_predict::doubt::{Seen, Spreads, left_out};
use warpsight_run::sim::Sim;

/// One operator on one device.
pub(crate) struct Case {
    pub(crate) device: String,
    pub(crate) operator: &'static str,
    pub(crate) text: String,
    pub(crate) kernels: Vec<Judged>,
}

/// What is asked for.
struct Asked {
    devices: Vec<String>,
    operators: Vec<&'static str>,
    cases: (usize, usize),
    configs: usize,
    most: Most,
    seed: u64,
    profiles: PathBuf,
    kept: PathBuf,
    passes: Passes,
    out: Option<PathBuf>,
    fit: Option<PathBuf>,
    all: Option<PathBuf>,
    json: Option<PathBuf>,
}

impl Asked {
    fn read() -> Result<Self, Box<dyn Error>> {
        let mut asked = Self {
            devices: vec![],
            operators: vec![],
            cases: (4, 2),
            configs: 3000,
            most: Most { macs: 2e9, bytes: 256e6 },
            seed: 20_261_126,
            profiles: "profiles".into(),
            kept: std::env::temp_dir().join("warpsight-choose"),
            passes: Passes::default(),
            out: None,
            fit: None,
            all: None,
            json: None,
        };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            let value = words.next().ok_or_else(|| format!("{word}: a value is missing"))?;
            match word.as_str() {
                "--device" => asked.devices.push(value),
                "--op" => {
                    asked.operators.push(OPERATORS.into_iter().find(|own| own.eq_ignore_ascii_case(&value)).ok_or("no such operator")?)
                }
                "--cases" => {
                    let (grid, near) = value.split_once(',').ok_or("--cases GRID,NEAR")?;
                    asked.cases = (grid.parse()?, near.parse()?);
                }
                "--configs" => asked.configs = value.parse()?,
                "--macs" => asked.most.macs = value.parse()?,
                "--seed" => asked.seed = value.parse()?,
                "--profiles" => asked.profiles = value.into(),
                "--with" if value == Pass::Patterns.name() => asked.passes = asked.passes.set(Pass::Patterns, true),
                "--kept" => asked.kept = value.into(),
                "--fit" => asked.fit = Some(value.into()),
                "--all" => asked.all = Some(value.into()),
                "--json" => asked.json = Some(value.into()),
                "--out" => asked.out = Some(value.into()),
                _ => return Err(format!("{word}: no such option").into()),
            }
        }
        if asked.devices.is_empty() {
            asked.devices = ["adreno740", "adreno640", "mali-g77"].map(str::to_owned).into();
        }
        if asked.operators.is_empty() {
            asked.operators = OPERATORS.into();
        }
        Ok(asked)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let asked = Asked::read()?;
    let begun = std::time::Instant::now();
    let mut all: Vec<Case> = vec![];
    // Cases are added to it one by one.
    asked.all.as_deref().map(std::fs::File::create).transpose()?;
    for device in &asked.devices {
        let stem = Path::new(device).file_stem().and_then(|stem| stem.to_str()).unwrap_or(device);
        let file = asked.profiles.join(format!("sim-{stem}.toml"));
        let text = Text { name: file.display().to_string(), text: std::fs::read_to_string(&file)?.into() };
        let profile = Profile::read(text, &mut |_, _| Err("it inherits".into())).map_err(|error| error.sentence())?;
        let sim = Sim::open(device)?;
        for &operator in &asked.operators {
            for text in drawn(operator, asked.seed, asked.cases, asked.most) {
                let bench = Bench {
                    device,
                    text: &text,
                    sim: &sim,
                    profile: &profile,
                    most: asked.configs,
                    kept: &asked.kept,
                    all: asked.all.as_deref(),
                };
                let kernels =
                    families(&parse_operator(&text)?, asked.passes).iter().map(|family| bench.judge(family)).collect::<Result<Vec<_>, _>>();
                let kernels = kernels.map_err(|error| format!("{device}, {text}: {error}"))?;
                let case = Case { device: stem.to_owned(), operator, text, kernels };
                eprintln!("{}", page::line(&case));
                all.push(case);
            }
        }
    }
    if let Some(file) = &asked.fit {
        fit(&all, file)?;
    }
    if let Some(file) = &asked.json {
        std::fs::write(file, format!("{:#}\n", page::json(&all)))?;
    }
    let page = page::page(&all, asked.seed, begun.elapsed());
    match &asked.out {
        Some(file) => std::fs::write(file, page)?,
        None => println!("{page}"),
    }
    Ok(())
}

/// Writes the spreads of all devices' picks, and what the devices that were left out say of them.
fn fit(all: &[Case], file: &Path) -> Result<(), Box<dyn Error>> {
    let of = |case: &Case| case.kernels.iter().filter_map(|own| Some((case.device.clone(), own.seen.clone()?))).collect::<Vec<_>>();
    let seen: Vec<(String, Seen)> = all.iter().flat_map(of).collect();
    let spreads = Spreads::fit(&seen.iter().map(|own| &own.1).collect::<Vec<_>>());
    let mut head = format!(
        "# How far off predictions of the best configurations are, as logarithms, such that picks are expected to lose what they lost in the mean.\n\
         # Made by: cargo run --release -p warpsight-engine --example choose -- {} --fit data/fits/choose.toml\n# Data: {} picks, each of a space that was timed on a simulated device. Each device by the others:\n",
        page::asked_for(),
        seen.len()
    );
    for (device, own) in left_out(&seen, DOUBTFUL) {
        let line = format!(
            "# {device}: {} of {} picks lost more than 10 %, {} of these were doubted; {} of {} were doubted in all\n",
            own.lost, own.all, own.told, own.doubted, own.all
        );
        eprint!("{line}");
        head += &line;
    }
    Ok(std::fs::write(file, head + &toml::to_string(&spreads)?)?)
}

/// The kernels of an operator: one where there is a way with one, else those of the operator as it is.
fn families(operator: &Operator, passes: Passes) -> Vec<ScheduleFamily> {
    let ways = candidates(operator);
    let one = ways.iter().find(|way| way.operator.steps.len() == 1);
    let way = one.or(ways.first()).map_or(operator, |way| &way.operator);
    way.kernels().cloned().map(|step| ScheduleFamily::by(step, passes)).collect()
}
