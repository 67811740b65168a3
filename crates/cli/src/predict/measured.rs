//! Measured volumes from files: our own JSON, tables of Nsight Compute and rocprof.

use super::input::Input;
use crate::failure::Failure;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use warpsight_ir::{Seconds, sample};
use warpsight_predict::volumes::report::measured::Measured;
use warpsight_probe::phases::counters::{self, CounterError, DURATION, LaunchCounters};
use warpsight_probe::phases::rocprof;

/// What a file says of one launch.
pub struct Counted {
    /// Numbers for the model.
    pub measured: Measured,
    /// Where they come from.
    pub notes: Vec<String>,
}

/// The JSON form: `{"volumes": {…}}` in bytes per point or `{"bytes": {…}}` of the whole launch, by the keys of the report; beside them
/// `l1_cycles_per_point`, `seconds` of the launch and the `source` of it all. See `examples/volumes`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    source: Option<String>,
    #[serde(default)]
    volumes: Volumes,
    #[serde(default)]
    bytes: Volumes,
    l1_cycles_per_point: Option<f64>,
    seconds: Option<f64>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Volumes {
    l1_requested: Option<f64>,
    l2_load: Option<f64>,
    l2_store: Option<f64>,
    dram_load: Option<f64>,
    dram_store: Option<f64>,
}

/// Nsight Compute counts sectors of 32 bytes.
const SECTOR: f64 = 32.0;
/// rocprof's kilobytes: its definitions of FETCH_SIZE and WRITE_SIZE divide bytes by this.
const KILO: f64 = 1024.0;
/// What vector L1 and L2 of CDNA exchange in one request (AMD's documents of TCP_TCC counters).
const REQUEST: f64 = 64.0;

/// Metrics and what one of each is in bytes; of several for one volume, the first that is there.
const L1_REQUESTED: [(&str, f64); 1] = [(counters::L1_LOAD_SECTORS, SECTOR)];
/// `op_read` also counts what L2's halves ask of each other, so that the unit's own comes first.
const L2_LOAD: [(&str, f64); 3] = [(counters::L2_READ, SECTOR), ("lts__t_sectors_op_read.sum", SECTOR), ("TCP_TCC_READ_REQ_sum", REQUEST)];
const L2_STORE: [(&str, f64); 3] =
    [(counters::L2_WRITE, SECTOR), ("lts__t_sectors_op_write.sum", SECTOR), ("TCP_TCC_WRITE_REQ_sum", REQUEST)];
const DRAM_LOAD: [(&str, f64); 2] = [(counters::DRAM_READ, 1.0), ("dram__sectors_read.sum", SECTOR)];
const DRAM_STORE: [(&str, f64); 4] =
    [(counters::DRAM_WRITE, 1.0), ("dram__sectors_write.sum", SECTOR), ("WRITE_SIZE", KILO), ("WriteSize", KILO)];
/// What leaves L2, for memory or for a last level before it.
const BEHIND_L2: [(&str, f64); 2] = [("FETCH_SIZE", KILO), ("FetchSize", KILO)];
/// Requests of L2 behind it as CDNA counts them: all reads, those of 32 and of 128 bytes, all writes, those of 64 bytes. Reads are of 64
/// bytes, writes of 32 unless counted otherwise (the definitions of FETCH_SIZE and WRITE_SIZE).
const REQUESTS: [[&str; 5]; 2] = [
    ["TCC_EA_RDREQ_sum", "TCC_EA_RDREQ_32B_sum", "TCC_BUBBLE_sum", "TCC_EA_WRREQ_sum", "TCC_EA_WRREQ_64B_sum"],
    ["TCC_EA0_RDREQ_sum", "TCC_EA0_RDREQ_32B_sum", "TCC_BUBBLE_sum", "TCC_EA0_WRREQ_sum", "TCC_EA0_WRREQ_64B_sum"],
];

/// Reads a file of measured volumes; of a table, the launches of the kernel of that name.
pub fn read(file: &Path, kernel: Option<&str>, input: &Input) -> Result<Counted, Failure> {
    let name = file.display().to_string();
    let text = warpsight_files::read_text(file, warpsight_files::RECORDS)?;
    let counted = if text.trim_start().starts_with('{') { json(&name, &text, input) } else { table(&name, &text, kernel, input) }?;
    let all = &counted.measured;
    let volumes = [all.l1_requested, all.l1_cycles_per_point, all.l2_load, all.l2_store, all.behind_l2, all.dram_load, all.dram_store];
    if volumes.iter().all(Option::is_none) {
        let wanted: Vec<&str> = wanted().into_iter().filter(|metric| *metric != DURATION).collect();
        return Err(Failure::input("no volume that the model knows is measured here").at(&name).help(wanted.join(", ")));
    }
    if let Some(bad) = volumes.iter().flatten().find(|number| !number.is_finite() || **number < 0.0) {
        return Err(Failure::input(format!("{bad} is no volume")).at(&name));
    }
    all.seconds.map_or(Ok(Seconds::ZERO), |seconds| sample::time(seconds.0)).map_err(|bad| Failure::input(bad.to_string()).at(&name))?;
    Ok(counted)
}

fn json(name: &str, text: &str, input: &Input) -> Result<Counted, Failure> {
    let document: Document = serde_json::from_str(text).map_err(|error| {
        let start: usize = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
        let at = text.floor_char_boundary(start + error.column().saturating_sub(1));
        let help = "{\"volumes\": {\"l2_load\": 44.1, …}} in bytes per point or {\"bytes\": …} of the launch, as in examples/volumes";
        Failure::input(error.to_string()).excerpt(name, text, at..at, None).help(help)
    })?;
    let points = input.written.points as f64;
    let (each, all) = (document.volumes, document.bytes);
    let one = |volume: &str, each: Option<f64>, all: Option<f64>| match (each, all) {
        (Some(_), Some(_)) => Err(Failure::input(format!("{volume} is given per point and of the launch")).at(name)),
        (each, all) => Ok(each.or(all.map(|bytes| bytes / points))),
    };
    let measured = Measured {
        l1_requested: one("l1_requested", each.l1_requested, all.l1_requested)?,
        l1_cycles_per_point: document.l1_cycles_per_point,
        l2_load: one("l2_load", each.l2_load, all.l2_load)?,
        l2_store: one("l2_store", each.l2_store, all.l2_store)?,
        behind_l2: None,
        dram_load: one("dram_load", each.dram_load, all.dram_load)?,
        dram_store: one("dram_store", each.dram_store, all.dram_store)?,
        seconds: document.seconds.map(Seconds),
    };
    let source = document.source.map_or_else(String::new, |source| format!(": {source}"));
    Ok(Counted { measured, notes: vec![format!("measured volumes are those of {name}{source}")] })
}

/// Every metric that is read.
fn wanted() -> Vec<&'static str> {
    let single = [&L1_REQUESTED[..], &L2_LOAD, &L2_STORE, &DRAM_LOAD, &DRAM_STORE, &BEHIND_L2];
    single.into_iter().flatten().map(|(metric, _)| *metric).chain(REQUESTS.into_iter().flatten()).chain([DURATION]).collect()
}

fn table(name: &str, text: &str, kernel: Option<&str>, input: &Input) -> Result<Counted, Failure> {
    let launches = if rocprof::is_table(text) { rocprof::parse(text, &wanted()) } else { counters::parse_metrics(text, &wanted()) };
    let launches = launches.map_err(|error| {
        let place = if let CounterError::Row { line, .. } = &error { format!("{name}:{line}") } else { name.to_owned() };
        Failure::input(error.to_string()).at(place).help("JSON, `ncu --csv` (with --page raw or details), or a table of rocprof, v1 to v3")
    })?;
    let chosen = choose(name, launches, kernel, input)?;
    let mut sums: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for (metric, value) in chosen.iter().flat_map(|launch| &launch.metrics) {
        let (sum, count) = sums.entry(metric).or_default();
        (*sum, *count) = (*sum + value, *count + 1.0);
    }
    let mean = |metric: &str| sums.get(metric).map(|(sum, count)| sum / count);
    let points = input.written.points as f64;
    let first = |metrics: &[(&str, f64)]| metrics.iter().find_map(|(metric, bytes)| Some(mean(metric)? * bytes / points));
    let reads = |[all, small, large, _, _]: [&str; 5]| {
        let (all, small, large) = (mean(all)?, mean(small)?, mean(large).unwrap_or(0.0));
        Some((32.0 * small + 64.0 * (all - small - large) + 128.0 * large) / points)
    };
    let writes = |[_, _, _, all, large]: [&str; 5]| {
        let (all, large) = (mean(all)?, mean(large)?);
        Some((32.0 * (all - large) + 64.0 * large) / points)
    };
    let measured = Measured {
        l1_requested: first(&L1_REQUESTED),
        l1_cycles_per_point: None,
        l2_load: first(&L2_LOAD),
        l2_store: first(&L2_STORE),
        behind_l2: first(&BEHIND_L2).or_else(|| REQUESTS.into_iter().find_map(reads)),
        dram_load: first(&DRAM_LOAD),
        dram_store: first(&DRAM_STORE).or_else(|| REQUESTS.into_iter().find_map(writes)),
        seconds: mean(DURATION).map(Seconds),
    };
    let of = chosen.first().map_or("", |launch| launch.kernel.as_str());
    let launches = if chosen.len() == 1 { "one launch".to_owned() } else { format!("the mean of {} launches", chosen.len()) };
    Ok(Counted { measured, notes: vec![format!("measured volumes are those of {name}, {launches} of {of}")] })
}

/// The launches of one kernel, with as many work-items as the file's.
fn choose(name: &str, launches: Vec<LaunchCounters>, kernel: Option<&str>, input: &Input) -> Result<Vec<LaunchCounters>, Failure> {
    let names: BTreeSet<String> = launches.iter().map(|launch| launch.kernel.clone()).collect();
    let listed = || names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if let (None, true) = (kernel, names.len() > 1) {
        return Err(Failure::input(format!("several kernels are measured here: {}", listed())).at(name).help("--volumes-kernel NAME"));
    }
    let is_it = |launch: &LaunchCounters| kernel.is_none_or(|wanted| launch.kernel == wanted || bare(&launch.kernel) == wanted);
    let found: Vec<LaunchCounters> = launches.into_iter().filter(is_it).collect();
    if found.is_empty() {
        let what = kernel.map_or("no launch is measured here".to_owned(), |kernel| format!("no kernel `{kernel}` is measured here"));
        return Err(Failure::input(what).at(name).help(format!("measured are {}", listed())));
    }
    let launch = &input.written.kernel.launch;
    let items = launch.group_count().saturating_mul(u64::from(launch.group_size()));
    let (same, other): (Vec<_>, Vec<_>) = found.into_iter().partition(|launch| launch.items.is_none_or(|own| own == items));
    match (same.is_empty(), other.first().and_then(|launch| launch.items)) {
        (true, Some(own)) => {
            Err(Failure::input(format!("the measured launch has {own} work-items, the kernel of {} has {items}", input.name))
                .at(name)
                .help("--set domain=… to what was launched, or another launch"))
        }
        _ => Ok(same),
    }
}

/// A kernel's name without result type, parameters, template arguments and what AMD's tools put behind it.
fn bare(name: &str) -> &str {
    let name = name.split(" [clone").next().unwrap_or(name);
    let name = name.strip_suffix(".kd").unwrap_or(name);
    let name = name.strip_prefix("void ").unwrap_or(name);
    name.split(['(', '<']).next().unwrap_or(name).trim()
}
