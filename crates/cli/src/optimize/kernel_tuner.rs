//! Exchange with Kernel Tuner: `--export-kernel-tuner` writes what was tried of a kernel's space as a tuning problem (T1), results (T4) and a cache file, so
//! that its strategies run on our spaces; `--import-kernel-tuner` holds results of such a space against what is predicted, and with `--keep-imported`
//! they become samples of the store, which no kernel was verified by yet.
//!
//! Knobs are whole numbers there; where their values have names, a number is a position among these. The launch of a configuration is parameters,
//! too (`block_size_*`, `groups_*`). What may be combined is said by beginnings of configurations, from two parameters on, so that a tuner that sets
//! one after another sees soon what is none. Kernel Tuner's arguments are arrays: configurations with images run in its simulation alone.

use super::Args;
use crate::explore::pool;
use crate::failure::Failure;
use crate::predict::packed;
use crate::record::Record;
use crate::report::{config as words, note, out};
use crate::target::Target;
use crate::target::judging::Judging;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;
use warpsight_engine::EngineError;
use warpsight_engine::search::Earlier;
use warpsight_engine::tune::Attempt;
use warpsight_engine::verify::blank;
use warpsight_files::Folder;
use warpsight_generate::ScheduleFamily;
use warpsight_ir::{Config, Family, Feedback, Seconds, Status, TimeSource};
use warpsight_predict::explore::score::{Score, ranked};
use warpsight_predict::explore::table::{Row, Table};
use warpsight_run::MemoryKind;

/// Names of a launch's parameters: groups and work-items along each dimension. The latter are what Kernel Tuner takes for the group's size.
const LAUNCH: [&str; 6] = ["block_size_x", "block_size_y", "block_size_z", "groups_x", "groups_y", "groups_z"];
/// What Kernel Tuner divides to find a grid; a quotient of this and a number of groups less a half is rounded up to that number.
const PROBLEM: u64 = 1 << 20;
/// Rows of a ranking that are shown.
const TEN: usize = 10;

/// A configuration that was tried, as Kernel Tuner sees it.
struct Tried {
    values: Vec<i64>,
    earlier: Earlier,
}

/// Writes what the store has of families on the device.
pub fn export(folder: &Path, families: &[&ScheduleFamily], target: &Target, record: &Record) -> Result<(), Failure> {
    let mut to = Folder::create(folder)?;
    for family in families {
        let known = record.known(family)?;
        let (mut all, mut source) = (vec![], String::new());
        let mut sizes: Vec<u64> = vec![];
        for (config, earlier) in known {
            let program = family.finish(&config).map_err(warpsight_engine::EngineError::from)?;
            let kernel = warpsight_emit::opencl(&program).map_err(|e| Failure::input(e.to_string()))?;
            let (global, local) = kernel.ndrange(&BTreeMap::new()).map_err(|e| Failure::input(e.to_string()))?;
            let groups = [0, 1, 2].map(|n| (global[n] / local[n].max(1)) as i64);
            let knobs = config.0.iter().map(|own| i64::from(*own));
            let values: Vec<i64> = knobs.chain(local.map(|own| own as i64)).chain(groups).collect();
            let layouts = family.layouts(&config).map_err(warpsight_engine::EngineError::from)?;
            let memory = blank(family.expr(), &layouts, &program).memory;
            let bytes = memory.iter().map(|own| match own.kind {
                MemoryKind::Buffer { bytes } => bytes,
                MemoryKind::Image { .. } => 4,
            });
            sizes.resize(memory.len(), 4);
            sizes.iter_mut().zip(bytes).for_each(|(most, own)| *most = own.max(*most));
            source += &section(family, &config, &kernel.text);
            all.push(Tried { values, earlier });
        }
        let problem = Problem { family, target, sizes, all };
        let name = family.name();
        for (file, text) in [
            (format!("{name}.cl"), source),
            (format!("{name}.t1.json"), problem.t1().to_string()),
            (format!("{name}.t4.json"), problem.t4().to_string()),
            (format!("{name}.cache.json"), problem.cache()),
        ] {
            to.write(&file, text.as_bytes())?;
        }
        note(format_args!("{}: {} configurations written for Kernel Tuner", family.name(), problem.all.len()));
    }
    Ok(to.finish()?)
}

/// A kernel that is there where the parameters are defined to be its own. They are undefined in it: names in it may be the same.
fn section(family: &ScheduleFamily, config: &Config, text: &str) -> String {
    let knobs = || family.space().knobs.iter().map(|knob| &knob.name);
    let own: Vec<String> = knobs().zip(&config.0).map(|(name, value)| format!("{name} == {value}")).collect();
    let gone: String = knobs().map(|name| format!("#undef {name}\n")).collect();
    format!("#if {}\n{gone}{text}\n#endif\n", own.join(" && "))
}

struct Problem<'a> {
    family: &'a ScheduleFamily,
    target: &'a Target,
    /// Of each argument's bytes, the most.
    sizes: Vec<u64>,
    all: Vec<Tried>,
}

impl Problem<'_> {
    fn names(&self) -> Vec<String> {
        self.family.space().knobs.iter().map(|knob| knob.name.to_string()).chain(LAUNCH.map(str::to_owned)).collect()
    }

    fn values(&self, at: usize) -> BTreeSet<i64> {
        self.all.iter().map(|own| own.values[at]).collect()
    }

    /// The tuning problem (schema T1, 1.0.0).
    fn t1(&self) -> Value {
        let names = self.names();
        let labels = |at: usize| {
            self.family.space().knobs.get(at).map(|knob| knob.names().cloned().collect::<Vec<_>>()).filter(|labels| !labels.is_empty())
        };
        let parameter = |(at, name): (usize, &String)| {
            let mut own = json!({"Name": name, "Type": "int", "Values": format!("{:?}", self.values(at).into_iter().collect::<Vec<_>>())});
            if let Some(labels) = labels(at) {
                own["Labels"] = json!(labels);
            }
            own
        };
        let condition = |length: usize| {
            let beginnings: BTreeSet<&[i64]> = self.all.iter().map(|own| &own.values[..length]).collect();
            let tuple = |own: &&[i64]| format!("({})", own.iter().map(i64::to_string).collect::<Vec<_>>().join(", "));
            let all: Vec<String> = beginnings.iter().map(tuple).collect();
            let expression = format!("({}) in {{{}}}", names[..length].join(", "), all.join(", "));
            json!({"Parameters": names[..length], "Expression": expression})
        };
        let argument = |(n, bytes): (usize, &u64)| {
            json!({
                "Name": format!("argument{n}"), "Type": "float", "MemoryType": "Vector", "FillType": "Random", "FillValue": 1.0, "Size": bytes.div_ceil(4),
            })
        };
        let name = self.family.name();
        let division = |axis: &str| json!([format!("{PROBLEM} / (groups_{axis} - 0.5)")]);
        json!({
            "General": {"FormatVersion": 1, "TimeUnit": "Milliseconds", "OutputFormat": "JSON"},
            "ConfigurationSpace": {
                "TuningParameters": names.iter().enumerate().map(parameter).collect::<Vec<_>>(),
                "Conditions": (2..=names.len()).map(condition).collect::<Vec<_>>(),
            },
            "Search": {"Name": "brute_force"},
            "KernelSpecification": {
                "Language": "OpenCL",
                "KernelName": name,
                "KernelFile": format!("{name}.cl"),
                "SimulationInput": format!("{name}.cache.json"),
                "Device": {"Name": self.target.device.info().name},
                "ProblemSize": [PROBLEM, PROBLEM, PROBLEM],
                "GridDivX": division("x"), "GridDivY": division("y"), "GridDivZ": division("z"),
                "GlobalSize": {"X": "groups_x * block_size_x", "Y": "groups_y * block_size_y", "Z": "groups_z * block_size_z"},
                "LocalSize": {"X": "block_size_x", "Y": "block_size_y", "Z": "block_size_z"},
                "Arguments": self.sizes.iter().enumerate().map(argument).collect::<Vec<_>>(),
            },
        })
    }

    fn settings(&self, own: &Tried) -> Map<String, Value> {
        self.names().into_iter().zip(own.values.iter().map(|value| json!(value))).collect()
    }

    fn source(&self) -> &'static str {
        self.target.device.info().clock.unwrap_or(TimeSource::Measured).name()
    }

    /// Results (schema T4, 1.0.0). What was timed and not compared with a reference has a correctness of 0.
    fn t4(&self) -> Value {
        let result = |own: &Tried| {
            let ms: Vec<f64> = own.earlier.time.iter().map(|time| time.0 * 1e3).collect();
            let measured = ms.iter().map(|ms| json!({"name": "time", "value": ms, "unit": "ms"}));
            json!({
                "configuration": self.settings(own),
                "objectives": ["time"],
                "times": {"compilation_time": 0, "runtimes": ms, "framework": 0, "search_algorithm": 0, "validation": 0},
                "invalidity": if own.earlier.time.is_some() { "correct" } else { "runtime" },
                "correctness": u8::from(own.earlier.exact),
                "measurements": measured.collect::<Vec<_>>(),
            })
        };
        let results: Vec<Value> = self.all.iter().map(result).collect();
        json!({"schema_version": "1.0.0", "metadata": {"timeunit": "milliseconds", "source": self.source()}, "results": results})
    }

    /// A cache file, as Kernel Tuner's simulation reads it: what was tried stands last, since it takes a file that does not end with three brackets for
    /// one that was cut short.
    fn cache(&self) -> String {
        let names = self.names();
        let entry = |own: &Tried| {
            let key: Vec<String> = own.values.iter().map(i64::to_string).collect();
            let mut value = self.settings(own);
            let time = own.earlier.time.map(|time| time.0 * 1e3);
            value.insert("time".to_owned(), time.map_or(json!("RuntimeFailedConfig"), |ms| json!(ms)));
            value.insert("times".to_owned(), json!(time.iter().collect::<Vec<_>>()));
            value.insert("benchmark_time".to_owned(), json!(time.unwrap_or(0.0)));
            for name in ["compile_time", "verification_time", "strategy_time", "framework_time"] {
                value.insert(name.to_owned(), json!(0));
            }
            value.insert("timestamp".to_owned(), json!(""));
            (key.join(","), Value::Object(value))
        };
        let values: Map<String, Value> = names.iter().enumerate().map(|(at, name)| (name.clone(), json!(self.values(at)))).collect();
        let head = json!({
            "device_name": self.target.device.info().name,
            "kernel_name": self.family.name(),
            "problem_size": [PROBLEM, PROBLEM, PROBLEM],
            "tune_params_keys": names,
            "tune_params": values,
            "objective": "time",
            "source": self.source(),
        });
        let tried: Map<String, Value> = self.all.iter().map(entry).collect();
        format!("{},\"cache\":{}}}", head.to_string().trim_end_matches('}'), Value::Object(tried))
    }
}

/// Rows of a file and what is predicted of them.
struct Compared<'a> {
    family: &'a ScheduleFamily,
    rows: Vec<(Config, f64)>,
    /// Seconds, infinite where it cannot run by the model.
    predicted: Vec<f64>,
    failed: usize,
    others: usize,
    /// Rows that the store has now.
    kept: usize,
}

/// Ranks the configurations of a file by the model and says how well; a record is told of them.
pub fn import(
    file: &Path,
    text: &str,
    families: &[ScheduleFamily],
    args: &Args,
    target: &Target,
    record: Option<&mut Record>,
    json: bool,
) -> Result<(), Failure> {
    let wrong = |what: String| Failure::input(what).at(file.display().to_string());
    let table = Table::read(&packed::text(file)?).map_err(|error| wrong(error.to_string()))?;
    let mut own = None;
    let mut missing = String::new();
    for family in families {
        match configs(family, &table) {
            Ok(rows) if own.as_ref().is_none_or(|(_, best): &(_, Vec<_>)| best.len() < rows.len()) => own = Some((family, rows)),
            Ok(_) => {}
            Err(knob) => missing = knob,
        }
    }
    let (family, rows) = own.ok_or_else(|| {
        wrong(format!("there is no parameter `{missing}`, which kernels of `{text}` have")).help("--export-kernel-tuner writes such files")
    })?;
    if rows.is_empty() {
        return Err(wrong(format!("none of {} rows is a configuration of `{text}`", table.rows.len())));
    }
    let judging = Judging::new(target, 1, args.runs);
    let judge = judging.judge(&target.profile);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut predicted = Vec::with_capacity(rows.len());
    let one = |n: u64| {
        let said = judge.model.estimate(&family.kernel(&rows[n as usize].0), judge.profile);
        said.map_or(f64::INFINITY, |own| own.time.0)
    };
    pool::each(rows.len() as u64, threads, one, |_, own| {
        predicted.push(own);
        Ok(())
    })?;
    let others = table.rows.len() - rows.len();
    let kept = record.map_or(Ok(0), |record| keep(family, &rows, record))?;
    let compared = Compared { family, rows, predicted, failed: table.failed, others, kept };
    if json { out(compared.json(text, target)) } else { out(compared.text(target)) }
}

/// Stores what others timed of a family on this device, but for what was tried here or failed: a search takes it for known, and verifies it before it is
/// chosen.
fn keep(family: &ScheduleFamily, rows: &[(Config, f64)], record: &mut Record) -> Result<usize, Failure> {
    let tried: HashSet<Config> = record.known(family)?.into_iter().map(|own| own.0).collect();
    let failed = record.failed()?;
    let mut kept = 0;
    for (config, seconds) in rows.iter().filter(|own| !tried.contains(&own.0)) {
        let program = family.finish(config).map_err(EngineError::from)?;
        if failed.contains_key(&program.to_string()) {
            continue;
        }
        kept += 1;
        let attempt = Attempt {
            knobs: family.space().describe(config),
            program: &program,
            estimate: None,
            status: Status::Done,
            verified: false,
            times: &[Seconds(*seconds)],
            source: None,
            quantum: Seconds::ZERO,
            reference: None,
            feedback: &Feedback::default(),
        };
        record.attempt(family, &attempt)?;
    }
    Ok(kept)
}

/// The rows that are a family's configurations; the name of a knob that the table lacks otherwise.
fn configs(family: &ScheduleFamily, table: &Table) -> Result<Vec<(Config, f64)>, String> {
    let position = |name: &str| table.columns().iter().position(|own| own == name).ok_or_else(|| name.to_owned());
    let columns: Vec<usize> = family.space().knobs.iter().map(|knob| position(&knob.name)).collect::<Result<_, _>>()?;
    let config = |row: &Row| {
        let values = columns.iter().map(|&column| i32::try_from(row.values[column]).ok());
        let own = Config(values.collect::<Option<_>>()?);
        let known = family.space().knobs.iter().zip(&own.0).all(|(knob, value)| knob.knows(*value));
        (known && family.layouts(&own).is_ok()).then_some((own, row.seconds.0))
    };
    Ok(table.rows.iter().filter_map(config).collect())
}

impl Compared<'_> {
    fn pairs(&self) -> Vec<(f64, f64)> {
        self.predicted.iter().zip(&self.rows).map(|(own, row)| (*own, row.1)).collect()
    }

    fn json(&self, text: &str, target: &Target) -> Value {
        let pairs = self.pairs();
        let score = Score::of(&pairs);
        let known = |own: f64| Some(own).filter(|own| own.is_finite());
        let row = |i: usize| {
            json!({
                "config": self.family.space().describe(&self.rows[i].0), "predicted_s": known(pairs[i].0), "given_s": pairs[i].1,
            })
        };
        json!({
            "op": text,
            "kernel": self.family.name(),
            "profile": target.profile.name,
            "kind": "predicted",
            "rows": score.rows,
            "failed": self.failed,
            "other_spaces": self.others,
            "kept": self.kept,
            "tau": known(score.tau),
            "pick": known(score.pick),
            "best_of_ten": known(score.best_of_ten),
            "ranking": ranked(&pairs).into_iter().take(TEN).map(row).collect::<Vec<_>>(),
        })
    }

    fn text(&self, target: &Target) -> String {
        let pairs = self.pairs();
        let score = Score::of(&pairs);
        let mut text = format!(
            "{} on {}: {} rows of the file, predicted unmeasured; {} did not run, {} are no configurations of it\n  Kendall\u{2019}s tau-b {:.3}; the pick takes {:.3} of the best time in the file, the best of the ten predicted fastest {:.3}\n\n   file ms  predicted ms  configuration\n",
            self.family.name(),
            target.profile.name,
            score.rows,
            self.failed,
            self.others,
            score.tau,
            score.pick,
            score.best_of_ten
        );
        if self.kept > 0 {
            text = format!("{} rows are in the store now, not verified\n{text}", self.kept);
        }
        for i in ranked(&pairs).into_iter().take(TEN) {
            let own = words(&self.family.space().describe(&self.rows[i].0));
            text += &format!("{:>10.4}  {:>12.4}  {own}\n", pairs[i].1 * 1e3, pairs[i].0 * 1e3);
        }
        text
    }
}
