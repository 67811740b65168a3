//! What NVIDIA's tools say of the same kernels: hardware counters by `ncu`, faults by `compute-sanitizer`. Both run this program once
//! more, in their own process, with every kernel launched once and nothing timed.

use super::Args;
use crate::report::note;
use std::collections::{BTreeSet, VecDeque};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use warpsight_probe::battery::{Folder, PhaseFile, Summary, Task};
use warpsight_probe::phases::{self, counters, counters::CounterError, counters::LaunchCounters};
use warpsight_probe::{Cause, Context, Needs, Outcome, Parameter, Phase, Plan, Record, Scale};
use warpsight_run::DeviceInfo;

/// Parts of the battery's time that are kept for the tools where they are there and allowed.
pub const COUNTERS_SHARE: f64 = 0.15;
/// Likewise for `compute-sanitizer`.
pub const SANITIZER_SHARE: f64 = 0.1;

/// The phase whose kernels are counted.
const COUNTED: &str = "stencils";

/// What `compute-sanitizer` looks for, each in a run of its own.
const CHECKS: [&str; 4] = ["memcheck", "racecheck", "initcheck", "synccheck"];

/// At most so much of a tool's time is kept for its end, when it writes what it knows.
const GRACE: Duration = Duration::from_secs(15);

/// How long the tool may take to count a single kernel.
const TRIAL: Duration = Duration::from_secs(30);

/// What ncu says where counters are kept for administrators; what it profiles goes on, uncounted.
const FORBIDDEN: &str = "ERR_NVGPUCTRPERM";

/// How often the tools' logs are looked at.
const LOOK: Duration = Duration::from_millis(200);

/// What tools run on.
pub struct Setup<'a> {
    /// The command line.
    pub args: &'a Args,
    /// The device.
    pub device: &'a DeviceInfo,
    /// The folder of the battery.
    pub dir: &'a Path,
    /// Time for this tool.
    pub time: Duration,
}

/// The program of a tool: as named, or as found on PATH; why there is none.
pub fn find(given: Option<&Path>, name: &str) -> Result<PathBuf, String> {
    if let Some(path) = given {
        return if path.is_file() { Ok(path.to_owned()) } else { Err(format!("there is no {}", path.display())) };
    }
    let paths = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&paths).map(|folder| folder.join(name)).find(|path| path.is_file()).ok_or(format!("{name} is not on PATH"))
}

/// Counts one small kernel, to learn within seconds whether counters may be read; the tool, or why there is none or it may not.
pub fn may_count(setup: &Setup<'_>, folder: &Folder) -> Result<PathBuf, String> {
    let ncu = find(setup.args.ncu.as_deref(), "ncu")?;
    if folder.is_done("counters") {
        return Ok(ncu);
    }
    let options = counting(setup.device, &["--launch-count", "1", "--kill", "yes"]);
    let battery = ["--phase", COUNTED, "--scale", "tiny"];
    let ran = run_tool(setup, &ncu, &options, &battery, folder.seed(), "ncu-trial", TRIAL.min(setup.time))?;
    match counters::parse(&ran.output) {
        Err(error @ CounterError::Forbidden) => Err(explain(&error, &ran)),
        // Anything else that kept it from counting may not do so again.
        _ => Ok(ncu),
    }
}

/// Options of ncu: our metrics of the stencils' kernels only, not of those that fill memory, which are replayed over gigabytes.
fn counting(device: &DeviceInfo, more: &[&str]) -> Vec<String> {
    let context = Context { device, scale: Scale::Tiny, seed: 0 };
    let stencils = phases::all().into_iter().filter(|phase| phase.name == COUNTED);
    let kernels = stencils.flat_map(|phase| (phase.plan)(&context)).flat_map(|measurement| measurement.job.programs);
    let names: BTreeSet<String> = kernels.map(|code| code.name().to_owned()).collect();
    let names = format!("regex:^({})$", names.into_iter().collect::<Vec<_>>().join("|"));
    let metrics = counters::metrics().join(",");
    let options = ["--metrics", &metrics, "--csv", "--clock-control", "none", "--target-processes", "all", "--kernel-name", &names];
    options.iter().chain(more).map(ToString::to_string).collect()
}

/// Counts the traffic of the stencils' kernels, by a tool that is there and allowed to.
pub fn counters(setup: &Setup<'_>, folder: &mut Folder, tool: Result<PathBuf, String>) -> Summary {
    let task = task("counters", "what hardware counters say of the stencils' kernels: traffic between caches and memory");
    phase(setup, folder, task, |setup, folder| {
        let (ncu, options) = (tool?, counting(setup.device, &[]));
        let seed = folder.seed();
        let scale = if setup.args.is_tiny() { "tiny" } else { "full" };
        let ran = run_tool(setup, &ncu, &options, &["--phase", COUNTED, "--scale", scale], seed, "ncu", setup.time)?;
        let rows = counters::parse(&ran.output).map_err(|error| explain(&error, &ran))?;
        let inner = ran.files.into_iter().find(|file| file.phase == COUNTED);
        let inner = inner.ok_or_else(|| format!("the program left no records of {COUNTED}; {}", ran.log.display()))?;
        let known = folder.known();
        for record in join(inner, rows).into_iter().filter(|record| !known.contains(&record.name)) {
            folder.record(record);
        }
        Ok(())
    })
}

/// Why there are no counters.
fn explain(error: &CounterError, ran: &Ran) -> String {
    match error {
        CounterError::Forbidden => format!(
            "{error}: profiling is restricted to administrators; run as root (or with CAP_SYS_ADMIN), or load the driver with \
             NVreg_RestrictProfilingToAdminUsers=0"
        ),
        other => format!("{other} ({}); see {}", ran.status, ran.log.display()),
    }
}

/// Launches by order: each record that ran stands for its launches, one after the other.
fn join(file: PhaseFile, rows: Vec<LaunchCounters>) -> Vec<Record> {
    // Kernels by which the device fills memory are none of ours.
    let mut rows: VecDeque<LaunchCounters> = rows.into_iter().filter(|row| !row.kernel.starts_with("warpsight_")).collect();
    let mut records = file.records;
    for record in &mut records {
        record.phase = "counters".into();
        record.code = file.programs.get(&record.code).cloned().unwrap_or_default();
        if !record.ran() {
            continue;
        }
        // A launch that failed may have left rows nobody claims.
        let mine = |row: &LaunchCounters| row.kernel.split('(').next().is_some_and(|name| name.trim_end() == record.kernel);
        let Some(at) = (0..rows.len()).find(|at| rows.get(at + record.launch).is_some_and(mine)) else {
            record.outcome = Outcome::Failed { why: "ncu told nothing of its launch".into(), cause: Cause::Refused };
            continue;
        };
        let metrics = rows.drain(..(at + record.launches).min(rows.len())).nth(at + record.launch).map(|row| row.metrics);
        record.params.extend(metrics.into_iter().flatten().map(|(name, value)| (name, Parameter::Float(value))));
    }
    records
}

/// Looks for faults in every kernel at the tiny scale, by a tool that is there.
pub fn sanitizer(setup: &Setup<'_>, folder: &mut Folder, tool: Result<PathBuf, String>) -> Summary {
    let task = task("sanitizer", "what compute-sanitizer finds in the battery's kernels at tiny sizes");
    phase(setup, folder, task, |setup, folder| {
        let tool = tool?;
        for check in CHECKS {
            let known = folder.known();
            if known.contains(check) {
                continue;
            }
            let options = ["--tool".to_owned(), check.to_owned()];
            let ran = run_tool(setup, &tool, &options, &["--scale", "tiny"], folder.seed(), check, setup.time / CHECKS.len() as u32);
            let mut record = Record::skipped("sanitizer", check, "");
            record.outcome = match ran {
                Ok(ran) => {
                    let (checked, planned) = coverage(&ran.files);
                    record.params.insert("measurements".into(), Parameter::Int(checked as i64));
                    record.params.insert("planned".into(), Parameter::Int(planned as i64));
                    match verdict(&ran) {
                        Outcome::Verified if checked < planned || checked == 0 => Outcome::Skipped {
                            why: format!("partial: nothing was found in {checked} of {planned} measurements, the others did not run"),
                            later: true,
                        },
                        verdict => verdict,
                    }
                }
                Err(why) => Outcome::Failed { why, cause: Cause::Refused },
            };
            folder.record(record);
        }
        Ok(())
    })
}

/// How many measurements ran under a tool, of those that the device can do.
fn coverage(files: &[PhaseFile]) -> (usize, usize) {
    let records = || files.iter().flat_map(|file| &file.records);
    let possible = |record: &&Record| !matches!(record.outcome, Outcome::Skipped { later: false, .. });
    (records().filter(|record| record.ran()).count(), records().filter(possible).count())
}

/// What a run of `compute-sanitizer` found; it ends with `ERROR SUMMARY: N errors` (racecheck: `RACECHECK SUMMARY: N hazards …`).
fn verdict(ran: &Ran) -> Outcome {
    let summary = ran.output.lines().rev().find(|line| line.contains("SUMMARY:"));
    let count = summary.and_then(|line| line.split("SUMMARY:").nth(1)?.split_whitespace().next()?.parse::<u64>().ok());
    match (count, summary) {
        (Some(0), _) => Outcome::Verified,
        (Some(_), Some(line)) => {
            let text = |line: &str| line.trim_start_matches('=').trim().to_owned();
            let first = ran
                .output
                .lines()
                .map(text)
                .find(|line| ["Invalid", "Error", "Race", "Uninit", "Barrier"].iter().any(|w| line.starts_with(w)));
            Outcome::Wrong { what: format!("{}; {}; see {}", text(line), first.unwrap_or_default(), ran.log.display()) }
        }
        _ => Outcome::Failed { why: format!("no summary ({}); see {}", ran.status, ran.log.display()), cause: Cause::Refused },
    }
}

fn task(name: &'static str, purpose: &'static str) -> Task {
    Task::from(Phase { name, purpose, needs: Needs::Programs, share: 0.0, plan: |_| Plan::list(std::iter::empty()) })
}

/// Runs a tool's work as a phase: its records in a file, its failure a note.
fn phase(setup: &Setup<'_>, folder: &mut Folder, task: Task, work: impl FnOnce(&Setup<'_>, &mut Folder) -> Result<(), String>) -> Summary {
    if let Some(done) = folder.earlier(&task.name) {
        return done;
    }
    let begun = Instant::now();
    let noted = |note: String| Summary { name: task.name.clone(), note: Some(note), ..Summary::default() };
    let summary = match folder.begin(&task, setup.device) {
        Err(error) => noted(error.to_string()),
        Ok(()) => {
            let worked = work(setup, folder);
            let records = folder.end(worked.is_ok());
            let summary = Summary { complete: worked.is_ok(), note: worked.err(), ..Summary::of(&task.name, &records) };
            Summary { seconds: begun.elapsed().as_secs_f64(), ..summary }
        }
    };
    note(format_args!("{}: {}", summary.name, summary.note.as_deref().unwrap_or("done")));
    folder.note(&summary);
    summary
}

/// What a tool left.
struct Ran {
    /// What it printed.
    output: String,
    /// Where that is kept.
    log: PathBuf,
    /// How it ended.
    status: String,
    /// What the battery within it wrote.
    files: Vec<PhaseFile>,
}

/// Runs this program under a tool.
fn run_tool(
    setup: &Setup<'_>,
    tool: &Path,
    options: &[String],
    battery: &[&str],
    seed: u64,
    log: &str,
    time: Duration,
) -> Result<Ran, String> {
    let said = |what: &'static str| move |error: std::io::Error| format!("{what}: {error}");
    let program = std::env::current_exe().map_err(said("this program's own path"))?;
    let inner = tempfile::tempdir().map_err(said("a temporary folder"))?;
    let log = setup.dir.join(format!("{log}.txt"));
    let file = File::create(&log).map_err(said("the tool's log"))?;
    let mut command = Command::new(tool);
    command.args(options).arg(program).args(["battery", "--once", "--in-process", "--device", &setup.args.device]).args(battery);
    let within = time.saturating_sub(GRACE.min(time / 4));
    command.arg("--minutes").arg((within.as_secs_f64() / 60.0).max(0.01).to_string()).arg("--seed").arg(seed.to_string());
    command.arg("--out").arg(inner.path());
    if let Some(cache) = &setup.args.measure.cache {
        command.arg("--cache").arg(cache);
    }
    command.stdin(Stdio::null()).stderr(file.try_clone().map_err(said("the tool's log"))?).stdout(file);
    // A group of its own: a tool that has to be killed takes the program within it along.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let status = wait(command.spawn().map_err(|error| format!("{}: {error}", tool.display()))?, time, &log)?;
    let output = warpsight_files::read(&log, warpsight_files::RECORDS).map_err(|error| format!("the tool's log: {error}"))?;
    let entries = warpsight_files::entries(inner.path()).map_err(|error| format!("a temporary folder: {error}"))?;
    let files = entries.iter().filter_map(|entry| PhaseFile::read(entry).ok()).map(|(file, _)| file).collect();
    Ok(Ran { output: String::from_utf8_lossy(&output).into_owned(), log, status: status.to_string(), files })
}

/// Waits for a tool and what it started; kills them when their time is up, or the log says that counters are forbidden.
fn wait(mut child: std::process::Child, time: Duration, log: &Path) -> Result<ExitStatus, String> {
    let begun = Instant::now();
    let mut looked = begun;
    let mut hopeless = || {
        let look = looked.elapsed() > LOOK;
        if look {
            looked = Instant::now();
        }
        look && begins_with_refusal(log)
    };
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Ok(None) if begun.elapsed() < time && !crate::progress::interrupted() && !hopeless() => {
                std::thread::sleep(Duration::from_millis(20))
            }
            Ok(None) => {
                let _ = Command::new("kill").args(["-KILL", "--", &format!("-{}", child.id())]).status();
                let _ = child.kill();
                return child.wait().map_err(|error| error.to_string());
            }
            Err(error) => return Err(error.to_string()),
        }
    }
}

/// Whether counters are forbidden, which ncu says at the first kernel.
fn begins_with_refusal(log: &Path) -> bool {
    let mut text = vec![];
    let read = File::open(log).and_then(|file| file.take(64 << 10).read_to_end(&mut text));
    read.is_ok() && String::from_utf8_lossy(&text).contains(FORBIDDEN)
}
