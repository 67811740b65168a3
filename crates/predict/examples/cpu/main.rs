//! The model of CPUs against kernels that run on one: times measured on an OpenCL device that is a CPU (PoCL), beside what is predicted.
//!
//! `cargo run --release -p warpsight-predict --example cpu [DEVICE] [RUNS]`, by default opencl:0 and 9 timed passes.
//!
//! What the host's profile assumes of memory is replaced by what a copy measured, which is not scored. The rules of the model (see
//! `volumes/cpu.rs`) were made by looking at the first list of kernels; the second was run afterwards. The processor time of a pass, divided by the cores, is shown beside the median: on a machine that
//! others use too it is the time the launch would have taken alone.

mod kernels;

use kernels::{Case, cases, copies, held_out};
use warpsight_ir::profile::{Fact, Source};
use warpsight_ir::{BytesPerSecond, Checked, Kernel, Profile, Program, text};
use warpsight_predict::explore::score::tau;
use warpsight_predict::volumes::report::{Report, Settings, Work, report};
use warpsight_run::{Device, Init, Job, LaunchSpec, MemoryKind, MemorySpec, Options, TimingSpec, open};

/// Seconds of a launch.
struct Measured {
    median: f64,
    alone: f64,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let id = arguments.next().unwrap_or_else(|| "opencl:0".to_owned());
    let runs = arguments.next().map_or(Ok(9), |n| n.parse())?;
    let mut device = open(&id, &Options { in_process: true, ..Options::default() })?;
    if !device.info().is_cpu {
        return Err(format!("{id} is no CPU").into());
    }
    let mut host = warpsight_run::host::host_profile();
    let cores = f64::from(*host.execution.cores.get().ok_or("how many cores there are is not known")?);
    println!("{}: {} (measured), {cores} cores", device.info().name, host.description);

    let [long, wide, narrow] = copies();
    let assumed = |host: &Profile, case: &Case| predicted(case, host).map(|found| found.seconds.0);
    for case in [&long, &wide, &narrow] {
        let found = measure(&mut *device, case, runs, cores)?;
        println!(
            "copy {:>14}: median {:.3} ms, alone {:.3} ms (measured), {:.3} ms (predicted from assumptions)",
            case.shape(),
            found.median * 1e3,
            found.alone * 1e3,
            assumed(&host, case)? * 1e3
        );
        if case.shape() == long.shape() {
            // A copy loads what it reads and what it writes, then writes it.
            let bandwidth = 3.0 * case.points as f64 * 4.0 / found.alone;
            host.memory.dram_bandwidth = Fact::known(BytesPerSecond(bandwidth), Source::Measured, "the first copy of this example");
            println!("  memory: {:.1} GB/s (measured)", bandwidth * 1e-9);
        }
    }

    for (what, cases) in [("kernels that the rules were made by", cases()), ("kernels held out", held_out())] {
        score(what, &cases, &mut *device, &host, runs)?;
    }
    Ok(())
}

/// Measures and predicts kernels, and says how far apart both are.
fn score(what: &str, cases: &[Case], device: &mut dyn Device, host: &Profile, runs: u32) -> Result<(), Box<dyn std::error::Error>> {
    let cores = host.execution.cores.get().map_or(1.0, |&cores| f64::from(cores));
    println!(
        "\n{what}\n{:<14} {:>10} {:>10} {:>10} {:>10} {:>7}  limiter",
        "kernel", "block", "median ms", "alone ms", "predicted", "ratio"
    );
    let mut all: Vec<(&str, f64, f64)> = Vec::new();
    for case in cases {
        let found = measure(device, case, runs, cores)?;
        let own = predicted(case, host)?;
        let ratio = own.seconds.0 / found.alone;
        let limiter = own.limiter.map_or("-", |limiter| limiter.name());
        let [median, alone, predicted] = [found.median, found.alone, own.seconds.0].map(|seconds| seconds * 1e3);
        println!("{:<14} {:>10} {median:>10.3} {alone:>10.3} {predicted:>10.3} {ratio:>7.2}  {limiter}", case.name, case.shape());
        all.push((case.name, found.alone, own.seconds.0));
    }
    let errors: Vec<f64> = all.iter().map(|(_, measured, predicted)| (predicted / measured).ln().abs()).collect();
    let within = errors.iter().filter(|error| **error <= 2_f64.ln()).count();
    let mean = (errors.iter().sum::<f64>() / errors.len() as f64).exp();
    println!("{within} of {} within a factor of 2, mean factor {mean:.2} (predicted against measured, alone)", all.len());
    let mut names: Vec<&str> = all.iter().map(|row| row.0).collect();
    names.dedup();
    for name in names {
        let own: Vec<(f64, f64)> = all.iter().filter(|row| row.0 == name).map(|row| (row.1, row.2)).collect();
        if own.len() > 2 {
            println!("{name}: Kendall's τ {:+.2} across {} shapes", tau(&own), own.len());
        }
    }
    println!("all: Kendall's τ {:+.2}", tau(&all.iter().map(|row| (row.1, row.2)).collect::<Vec<_>>()));
    Ok(())
}

fn program(case: &Case) -> Result<Program, Box<dyn std::error::Error>> {
    text::parse(&case.text).map_err(|error| format!("{error}\n{}", case.text).into())
}

fn predicted(case: &Case, on: &Profile) -> Result<Report, Box<dyn std::error::Error>> {
    let checked = Checked::new(program(case)?).map_err(|error| error.to_string())?;
    let kernel = Kernel::of(&checked)?;
    Ok(report(&Work { kernel: &kernel, points: case.points }, on, &Settings::default())?)
}

fn measure(device: &mut dyn Device, case: &Case, runs: u32, cores: f64) -> Result<Measured, Box<dyn std::error::Error>> {
    let program = program(case)?;
    let memory: Vec<MemorySpec> = case
        .memory
        .iter()
        .map(|&(bytes, element)| MemorySpec {
            kind: MemoryKind::Buffer { bytes },
            init: Init::Random { element, seed: 7 },
            canaries: false,
        })
        .collect();
    let args = (0..memory.len()).collect();
    let job = Job {
        programs: vec![program.into()],
        memory,
        launches: vec![LaunchSpec { program: 0, args, sizes: vec![] }],
        read: vec![],
        peek: vec![],
        timing: Some(TimingSpec::runs(runs)),
    };
    let result = device.run(&job)?;
    let mut times: Vec<f64> = result.timed.times[0].iter().map(|time| time.0).collect();
    times.sort_by(f64::total_cmp);
    let alone = result.timed.cpu_time.map_or(times[0], |time| time.0 / cores);
    Ok(Measured { median: times[times.len() / 2], alone })
}
