//! What simulated launches take and move, beside what is predicted of them: where a model of kernels is wrong, by volumes.
//!
//!     cargo run --release -p warpsight-engine --example beside -- adreno740 profiles/sim-adreno740.toml 100 "dwconv2d n=1 c=64 h=32 w=32 r=7 s=7 stride=1 pad=3"…
//!
//! Of each kernel of an operator so many configurations, drawn; of the operators behind a word with `+` only the configurations in which these knobs
//! have these values (`+vector=2,unroll=1`). An operator as it is, or by another sequence of kernels: `conv2d … by winograd2`. Each is launched
//! twice, of which the second counts. A line a configuration on stdout (JSON: microseconds
//! and bytes, simulated and predicted), a summary on stderr: geometric means and standard deviations of predicted over simulated.

use serde_json::json;
use std::collections::BTreeMap;
use std::error::Error;
use warpsight_generate::ScheduleFamily;
use warpsight_generate::candidates::candidates;
use warpsight_generate::operators::parse_operator;
use warpsight_ir::profile::Text;
use warpsight_ir::{Config, CostModel, Family, Profile};
use warpsight_predict::KernelModel;
use warpsight_run::sim::Sim;
use warpsight_sim::Sampling;

/// Cycles after which a launch is given up.
const LONGEST: u64 = 10_000_000;

/// Predicted over simulated: seconds, and bytes of device memory where there are any.
struct Ratios {
    seconds: Vec<f64>,
    memory: Vec<f64>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [device, profile, number, operators @ ..] = words.as_slice() else { return Err("DEVICE PROFILE.toml NUMBER OPERATOR…".into()) };
    let sim = Sim::open(device)?;
    let text = Text { name: profile.clone(), text: std::fs::read_to_string(profile)?.into() };
    let profile = Profile::read(text, &mut |_, _| Err("it inherits".into())).map_err(|error| error.sentence())?;
    let mut wanted: Vec<(&str, &str)> = vec![];
    for operator in operators {
        if let Some(list) = operator.strip_prefix('+') {
            let pairs = list.split(',').map(|pair| pair.split_once('=').ok_or_else(|| format!("`{pair}` is no KNOB=VALUE")));
            wanted = pairs.collect::<Result<_, _>>()?;
            continue;
        }
        let mut ratios = Ratios { seconds: vec![], memory: vec![] };
        let (text, way) = operator.split_once(" by ").unwrap_or((operator, "direct"));
        let ways = candidates(&parse_operator(text)?);
        let way = ways.into_iter().find(|own| own.name == way).ok_or_else(|| format!("`{text}` has no sequence `{way}`"))?;
        for expr in way.operator.steps {
            let family = ScheduleFamily::new(expr);
            let is_wanted = |config: &Config| {
                let knobs = family.space().describe(config);
                wanted.iter().all(|&(knob, value)| knobs.get(knob).is_some_and(|own| own.to_string() == value))
            };
            let configs = if wanted.is_empty() { family.some(number.parse()?) } else { family.configs().filter(is_wanted).collect() };
            for config in configs {
                beside(&family, &config, (&sim, &profile), &mut ratios)?;
            }
        }
        for (what, logs) in [("seconds", &ratios.seconds), ("bytes of memory", &ratios.memory)] {
            let mean = logs.iter().sum::<f64>() / logs.len().max(1) as f64;
            let spread = (logs.iter().map(|own| (own - mean).powi(2)).sum::<f64>() / logs.len().max(1) as f64).sqrt();
            eprintln!("{operator}: {what} of {} configurations ×{:.2}, spread ×{:.2}", logs.len(), mean.exp(), spread.exp());
        }
    }
    Ok(())
}

fn beside(family: &ScheduleFamily, config: &Config, (sim, profile): (&Sim, &Profile), ratios: &mut Ratios) -> Result<(), Box<dyn Error>> {
    let program = family.finish(config)?;
    let mut caches = sim.simulator().caches();
    let sampling = Sampling { cycles: LONGEST, ..Sampling::default() };
    let mut launch = || sim.simulator().time_in(&program, &BTreeMap::new(), sampling, &mut caches, None).ok();
    // What a device cannot run is nobody's error.
    let (Some(_), Some(ran)) = (launch(), launch()) else { return Ok(()) };
    let kernel = family.kernel(config);
    let Ok(estimate) = KernelModel.estimate(&kernel, profile) else { return Ok(()) };
    let words: Vec<String> = family.space().describe(config).iter().map(|(knob, value)| format!("{knob}={value}")).collect();
    let limits: BTreeMap<&str, f64> = estimate.limits.0.iter().map(|own| (own.0.name(), 1e6 * own.1.0)).collect();
    let busy: BTreeMap<&str, f64> = ran.busy.iter().map(|own| (own.0.name(), 1e6 * own.1 * ran.time.0)).collect();
    println!(
        "{}",
        json!({
            "config": words.join(" "), "groups": kernel.launch.group_count(), "group_size": kernel.launch.group_size(),
            "simulated": { "us": 1e6 * ran.time.0, "busy_us": busy, "traffic": ran.traffic, "occupancy": ran.occupancy.waves, "registers": ran.registers },
            "predicted": { "us": 1e6 * estimate.time.0, "limits_us": limits, "volumes": estimate.volumes, "registers": kernel.registers },
        })
    );
    ratios.seconds.push((estimate.time.0 / ran.time.0).ln());
    let moved = (ran.traffic.dram_read + ran.traffic.dram_written) as f64;
    if moved > 0.0 && estimate.volumes.dram.0 > 0.0 {
        ratios.memory.push((estimate.volumes.dram.0 / moved).ln());
    }
    Ok(())
}
