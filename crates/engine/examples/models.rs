//! How well the two counts judge a space: configurations of an operator, half of them the best by the coarse count and half drawn, each timed.
//!
//!     cargo run --release -p warpsight-engine --example models -- DEVICE CONFIGURATIONS [kept=FILE] [+KNOB=VALUE,…] OPERATOR…
//!
//! An operator as it is, or by another sequence of kernels: `conv2d … by winograd4`. Of the operators behind a word with `+` only the
//! configurations in which these knobs have these values. `DEVICE` is sim:adreno640 (times are simulated) or opencl:N (measured). Lines that
//! begin with `*` are of the first half; at their end what each limiter takes alone. `kept=FILE` keeps times, a line of JSON each, and times nothing
//! again that is there, so that a changed model is held against the same ones; with 0 configurations what the file has is judged.
//! Kernels run in this process: on PoCL set `POCL_AFFINITY=1`, as `optimize` does, or both threads may run on one processor.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::error::Error;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use warpsight_engine::tune::{self, Judge};
use warpsight_generate::candidates::candidates;
use warpsight_generate::operators::parse_operator;
use warpsight_generate::prune::{Allowance, prune};
use warpsight_generate::{Passes, ScheduleFamily};
use warpsight_ir::sample::{geometric_error, spearman};
use warpsight_ir::{Config, Family, Limiter, Meanwhile, Profile, Ranked, Seconds, profile};
use warpsight_predict::KernelModel;
use warpsight_predict::coarse::Coarse;
use warpsight_run::Device;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(device), Some(count)) = (arguments.next(), arguments.next()) else {
        return Err("usage: models DEVICE CONFIGURATIONS OPERATOR…".into());
    };
    let mut device = warpsight_run::open(&device, &warpsight_run::Options { in_process: true, ..Default::default() })?;
    let on = match device.info().id.strip_prefix("sim:") {
        Some(name) => profile::builtin(name).ok_or("no profile")??,
        None => warpsight_run::host::host_profile(),
    };
    let count: usize = count.parse()?;
    let mut kept = Kept::default();
    let mut wanted: Vec<(String, String)> = vec![];
    for text in arguments {
        if let Some(file) = text.strip_prefix("kept=") {
            kept = Kept::read(file.into())?;
            continue;
        }
        if let Some(list) = text.strip_prefix('+') {
            wanted = list.split(',').filter_map(|pair| pair.split_once('=')).map(|(knob, value)| (knob.into(), value.into())).collect();
            continue;
        }
        let (operator, way) = text.split_once(" by ").unwrap_or((&text, "direct"));
        let ways = candidates(&parse_operator(operator)?);
        let names = || ways.iter().map(|own| own.name).collect::<Vec<_>>().join(", ");
        let way =
            ways.iter().find(|own| own.name == way).ok_or_else(|| format!("`{operator}` has no sequence `{way}`, only {}", names()))?;
        for step in &way.operator.steps {
            println!("{text}: {}", step.name);
            let of = json!([device.info().id, text, step.name]);
            judge(&ScheduleFamily::new(step.clone()), count, &wanted, &on, (&mut *device, &mut kept, &of))?;
        }
    }
    Ok(())
}

fn judge(
    family: &ScheduleFamily,
    count: usize,
    wanted: &[(String, String)],
    on: &Profile,
    (device, kept, of): (&mut dyn Device, &mut Kept, &Value),
) -> Result<(), Box<dyn Error>> {
    let judge = Judge { profile: on, model: &KernelModel, allowance: Allowance::of(on), passes: Passes::default(), top: 1, runs: 5 };
    let mut rng = fastrand::Rng::with_seed(1);
    let counts = Coarse::of(on, Meanwhile::default())?;
    let is_wanted = |config: &Config| {
        let knobs = family.space().describe(config);
        wanted.iter().all(|(knob, value)| knobs.get(knob.as_str()).is_none_or(|own| own.to_string() == *value))
    };
    let name = |config: &Config| json!([of, config.0]).to_string();
    let configs = family.configs().filter(|config| is_wanted(config) && (count > 0 || kept.times.contains_key(&name(config))));
    let mut left: Vec<((Seconds, Limiter), Config)> =
        prune(family, configs, &judge.allowance).filter_map(|(config, outline)| Some((counts.seconds(&outline).ok()?, config))).collect();
    left.sort_by(|a, b| a.0.0.0.total_cmp(&b.0.0.0));
    let count = if count > 0 { count } else { left.len() };
    let bests = (count / 2).min(left.len());
    let mut few: Vec<((Seconds, Limiter), Config)> = left.drain(..bests).collect();
    rng.shuffle(&mut left);
    few.extend(left.into_iter().take(count - bests));

    let (mut first, mut again) = (vec![], vec![]);
    for (i, ((seconds, coarse), config)) in few.iter().enumerate() {
        let (_, ranked): (_, Vec<Ranked>) = tune::rank(family, std::iter::once(config.clone()), &judge)?;
        let Some(one) = ranked.first() else { continue };
        let time = match kept.times.get(&name(config)) {
            Some(time) => *time,
            None => {
                let Ok(tuned) = tune::attempt(family, one, &judge, device, &mut rng, &mut |_| Ok(()))? else { continue };
                let time = tuned.time.ok_or("the device has no clock")?.0.0;
                kept.add(name(config), time)?;
                time
            }
        };
        first.push((seconds.0, time));
        again.push((one.estimate.time.0, time));
        let knobs: Vec<String> = family.space().describe(config).iter().map(|(knob, value)| format!("{knob}={value}")).collect();
        let limits: Vec<String> = one.estimate.limits.0.iter().map(|own| format!("{} {:.1}", own.0.name(), own.1.0 * 1e6)).collect();
        println!(
            "{} {:9.1} us timed {:9.1} coarse, {:8} {:9.1} exact, {:8} {} [{}]",
            if i < bests { "*" } else { " " },
            time * 1e6,
            seconds.0 * 1e6,
            coarse.name(),
            one.estimate.time.0 * 1e6,
            one.estimate.limiter().name(),
            knobs.join(" "),
            limits.join(", ")
        );
    }
    for (name, pairs) in [("coarse", &first), ("exact", &again)] {
        println!("  {name}: geometric error x{:.2}, rank correlation {:.2}", geometric_error(pairs), spearman(pairs));
    }
    Ok(())
}

/// Times by what was timed.
#[derive(Default)]
struct Kept {
    file: Option<PathBuf>,
    times: BTreeMap<String, f64>,
}

impl Kept {
    fn read(file: PathBuf) -> Result<Self, Box<dyn Error>> {
        let text = match std::fs::read_to_string(&file) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            read => read?,
        };
        let times = text.lines().map(serde_json::from_str::<(String, f64)>).collect::<Result<_, _>>()?;
        Ok(Self { file: Some(file), times })
    }

    fn add(&mut self, of: String, seconds: f64) -> Result<(), Box<dyn Error>> {
        if let Some(file) = &self.file {
            writeln!(OpenOptions::new().create(true).append(true).open(file)?, "{}", json!([of, seconds]))?;
        }
        self.times.insert(of, seconds);
        Ok(())
    }
}
