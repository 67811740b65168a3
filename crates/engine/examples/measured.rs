//! What launches take on a processor's OpenCL, beside what is predicted of them: where the model of CPUs is wrong, by limiters. Times are kept in a
//! file, so that a changed model is held against the same ones.
//!
//!     cargo run --release -p warpsight-engine --example measured -- opencl:0 30 times.jsonl "conv2d n=1 c=64 h=30 w=30 k=64 r=3 s=3 stride=1 pad=0"…
//!
//! Of each kernel of each sequence of an operator (or of one: `… by winograd4`) the NUMBER configurations that are predicted fastest of eight
//! times as many, drawn; of 0 those that the file has. What the file has is not timed again; configurations that copy to local memory, which
//! are not taken on processors, are left out. A line a configuration on stdout (JSON, microseconds), a summary of each kernel on stderr:
//! geometric mean and standard deviation of measured over predicted, Kendall's τ, and what the fastest predicted takes over the fastest.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::error::Error;
use std::fs::OpenOptions;
use std::io::Write;
use warpsight_engine::verify::memory_kind;
use warpsight_generate::ScheduleFamily;
use warpsight_generate::candidates::candidates;
use warpsight_generate::operators::parse_operator;
use warpsight_ir::{Config, CostModel, Estimate, Family, Scalar};
use warpsight_predict::KernelModel;
use warpsight_predict::explore::score::tau;
use warpsight_run::host::host_profile;
use warpsight_run::{Device, Init, Job, LaunchSpec, MemorySpec, Options, TimingSpec, open};

/// Timed passes of each; the fastest counts, since what else runs only adds.
const RUNS: u32 = 15;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [device, number, kept, operators @ ..] = words.as_slice() else { return Err("DEVICE NUMBER KEPT.jsonl OPERATOR…".into()) };
    let number: usize = number.parse()?;
    let mut device = open(device, &Options { in_process: true, ..Options::default() })?;
    if !device.info().is_cpu {
        return Err("the profile of this machine's processor is what times are held against: DEVICE must be one".into());
    }
    let on = host_profile();
    let text = match std::fs::read_to_string(kept) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        read => read?,
    };
    let mut times = BTreeMap::new();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line)?;
        times.insert(line["of"].to_string(), line["us"].as_f64());
    }
    let mut file = OpenOptions::new().create(true).append(true).open(kept)?;
    for operator in operators {
        let (operator, only) = operator.split_once(" by ").map_or((operator.as_str(), None), |(operator, way)| (operator, Some(way)));
        let parsed = parse_operator(operator)?;
        for way in candidates(&parsed).into_iter().filter(|way| only.is_none_or(|only| only == way.name)) {
            for (step, expr) in way.operator.steps.iter().enumerate() {
                let family = ScheduleFamily::new(expr.clone());
                let mut drawn: Vec<(Config, Estimate)> = family
                    .some(8 * if number > 0 { number } else { usize::MAX / 8 })
                    .into_iter()
                    .filter(|config| !family.meets(config).copies)
                    .filter(|config| number > 0 || times.contains_key(&json!([operator, way.name, step, config.0]).to_string()))
                    .filter_map(|config| Some((KernelModel.estimate(&family.kernel(&config), &on).ok()?, config)))
                    .map(|(estimate, config)| (config, estimate))
                    .collect();
                drawn.sort_by(|a, b| a.1.time.0.total_cmp(&b.1.time.0));
                let mut both = vec![];
                for (config, estimate) in drawn.into_iter().take(if number > 0 { number } else { usize::MAX }) {
                    let of = json!([operator, way.name, step, config.0]);
                    let us = match times.get(&of.to_string()) {
                        Some(us) => *us,
                        None => {
                            let us = time(&mut *device, &family, &config);
                            if us.is_some() {
                                writeln!(file, "{}", json!({ "of": of, "us": us }))?;
                            }
                            us
                        }
                    };
                    let Some(us) = us else { continue };
                    let limits: BTreeMap<&str, f64> = estimate.limits.0.iter().map(|own| (own.0.name(), 1e6 * own.1.0)).collect();
                    let knobs: Vec<String> =
                        family.space().describe(&config).iter().map(|(knob, value)| format!("{knob}={value}")).collect();
                    println!(
                        "{}",
                        json!({ "of": of, "config": knobs.join(" "), "us": us, "predicted_us": 1e6 * estimate.time.0, "limits_us": limits })
                    );
                    both.push((us, 1e6 * estimate.time.0));
                }
                summary(&format!("{operator} {} {step}", way.name), &both);
            }
        }
    }
    Ok(())
}

/// Microseconds of the fastest pass; `None` where the device cannot run it.
fn time(device: &mut dyn Device, family: &ScheduleFamily, config: &Config) -> Option<f64> {
    let program = family.finish(config).ok()?;
    let expr = family.expr();
    let layouts = family.layouts(config).ok()?;
    let memory: Vec<MemorySpec> = expr
        .inputs
        .iter()
        .chain([&expr.output])
        .zip(&layouts)
        .map(|(tensor, layout)| MemorySpec {
            kind: memory_kind(tensor, layout),
            init: Init::Random { element: Scalar::F32, seed: 7 },
            canaries: false,
        })
        .collect();
    let launch = LaunchSpec { program: 0, args: (0..memory.len()).collect(), sizes: vec![] };
    let timing = Some(TimingSpec::runs(RUNS));
    let job = Job { programs: vec![program.into_inner().into()], launches: vec![launch], memory, timing, ..Job::default() };
    let found = device.run(&job).ok()?;
    found.timed.times[0].iter().map(|time| 1e6 * time.0).reduce(f64::min)
}

fn summary(what: &str, both: &[(f64, f64)]) {
    if both.is_empty() {
        return;
    }
    let logs: Vec<f64> = both.iter().map(|(us, predicted)| (us / predicted).ln()).collect();
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    let spread = (logs.iter().map(|own| (own - mean).powi(2)).sum::<f64>() / logs.len() as f64).sqrt();
    let best = both.iter().map(|own| own.0).fold(f64::INFINITY, f64::min);
    let pick = both.iter().min_by(|a, b| a.1.total_cmp(&b.1)).map_or(0.0, |own| own.0);
    let tau = tau(&both.iter().map(|own| (own.1, own.0)).collect::<Vec<_>>());
    eprintln!(
        "{what}: {} x{:.2} spread x{:.2} tau {tau:.2} pick x{:.2} of {best:.0} us",
        both.len(),
        mean.exp(),
        spread.exp(),
        pick / best
    );
}
