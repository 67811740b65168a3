//! Hardware counters: which ones, and what `ncu --csv` says of them.
//!
//! Two layouts are read: `--page raw`, one row per launch with a column per metric and the units in a row below the header; and
//! `--page details` (the default page), one row per launch and metric. Lines of the profiler (`==PROF== …`) and of the profiled
//! program stand between them and are passed over.

use std::collections::BTreeMap;

/// Bytes read from device memory.
pub const DRAM_READ: &str = "dram__bytes_read.sum";
/// Bytes written to device memory.
pub const DRAM_WRITE: &str = "dram__bytes_write.sum";
/// Sectors of 32 bytes that L1 read from L2.
pub const L2_READ: &str = "lts__t_sectors_srcunit_tex_op_read.sum";
/// Sectors of 32 bytes that L1 wrote to L2.
pub const L2_WRITE: &str = "lts__t_sectors_srcunit_tex_op_write.sum";
/// Cycles the data pipe of L1 worked for loads and stores, one wavefront each.
pub const L1_WAVEFRONTS: &str = "l1tex__data_pipe_lsu_wavefronts.sum";
/// Sectors of 32 bytes that loads of global memory asked of L1.
pub const L1_LOAD_SECTORS: &str = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum";
/// Time of the launch.
pub const DURATION: &str = "gpu__time_duration.sum";
/// Cycles of the multiprocessors from the first to the last of the launch, the longest of all.
pub const SM_CYCLES: &str = "sm__cycles_elapsed.max";
/// Cycles with a warp resident, all multiprocessors together.
pub const SM_ACTIVE_CYCLES: &str = "sm__cycles_active.sum";

/// Bytes of a sector, the unit of traffic between L1 and L2.
const SECTOR_BYTES: f64 = 32.0;

/// The metrics to ask for, by ncu's names.
pub fn metrics() -> &'static [&'static str] {
    &[DRAM_READ, DRAM_WRITE, L2_READ, L2_WRITE, L1_WAVEFRONTS, L1_LOAD_SECTORS, DURATION, SM_CYCLES, SM_ACTIVE_CYCLES]
}

/// What the counters say of one launch.
#[derive(Clone, Debug, PartialEq)]
pub struct LaunchCounters {
    /// The kernel's name, as the profiler prints it: with its parameters where the name is mangled, bare where it is `extern "C"`.
    pub kernel: String,
    /// Work-items of the launch, where the profiler says.
    pub items: Option<u64>,
    /// Those metrics that were asked for and were there, in base units: bytes, sectors, seconds, cycles, counts.
    pub metrics: BTreeMap<String, f64>,
}

/// Traffic of a launch per point of its domain, as paper 002 plots it; `None` where the counter is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct VolumesPerPoint {
    /// Bytes from device memory.
    pub dram_read: Option<f64>,
    /// Bytes to device memory.
    pub dram_write: Option<f64>,
    /// Bytes from L2 to L1.
    pub l2_read: Option<f64>,
    /// Bytes from L1 to L2.
    pub l2_write: Option<f64>,
    /// Wavefronts of L1's data pipe.
    pub l1_wavefronts: Option<f64>,
    /// Bytes of the sectors that loads asked of L1.
    pub l1_load: Option<f64>,
}

impl LaunchCounters {
    /// Volumes per point, of so many points.
    pub fn volumes(&self, points: f64) -> VolumesPerPoint {
        let per_point = |metric: &str, unit: f64| self.metrics.get(metric).map(|value| value * unit / points);
        VolumesPerPoint {
            dram_read: per_point(DRAM_READ, 1.0),
            dram_write: per_point(DRAM_WRITE, 1.0),
            l2_read: per_point(L2_READ, SECTOR_BYTES),
            l2_write: per_point(L2_WRITE, SECTOR_BYTES),
            l1_wavefronts: per_point(L1_WAVEFRONTS, 1.0),
            l1_load: per_point(L1_LOAD_SECTORS, SECTOR_BYTES),
        }
    }
}

/// Why an output holds no counters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CounterError {
    /// The driver keeps counters for administrators.
    #[error(
        "reading performance counters needs CAP_SYS_ADMIN or the driver option NVreg_RestrictProfilingToAdminUsers=0 (ERR_NVGPUCTRPERM)"
    )]
    Forbidden,
    /// ncu gave up.
    #[error("ncu: {0}")]
    Profiler(String),
    /// There is no table.
    #[error("no table of metrics: a header and a row per launch, or per launch and metric")]
    NoTable,
    /// A row that does not fit the header.
    #[error("line {line}: {what}")]
    Row {
        /// Line of the text, from 1.
        line: usize,
        /// What is wrong with it.
        what: String,
    },
}

/// Reads our [`metrics`] from what `ncu --csv` printed: see [`parse_metrics`].
///
/// # Errors
/// As there.
pub fn parse(csv: &str) -> Result<Vec<LaunchCounters>, CounterError> {
    parse_metrics(csv, metrics())
}

/// Reads what `ncu --csv` printed, standard output and error together or the former alone. Launches come in order; metrics that are not
/// wanted or not available (`n/a`) are left out.
///
/// # Errors
/// [`CounterError`]; a partial table is an error too, because nobody could tell it from a whole one.
pub fn parse_metrics(csv: &str, wanted: &[&str]) -> Result<Vec<LaunchCounters>, CounterError> {
    if csv.contains("ERR_NVGPUCTRPERM") {
        return Err(CounterError::Forbidden);
    }
    if let Some(error) = csv.lines().find_map(|line| line.strip_prefix("==ERROR==")) {
        return Err(CounterError::Profiler(error.trim().to_owned()));
    }
    let mut lines = csv.lines().enumerate().filter(|(_, line)| line.starts_with('"')).map(|(at, line)| (at + 1, fields(line)));
    let header = lines.find(|(_, row)| row.first().is_some_and(|name| name == "ID")).ok_or(CounterError::NoTable)?.1;
    let rows = lines.filter(|(_, row)| *row != header);
    match header.iter().position(|name| name == "Metric Name") {
        Some(name) => long(&header, name, rows, wanted),
        None => wide(&header, rows, wanted),
    }
}

/// Where a column is.
fn column(header: &[String], name: &str) -> Result<usize, CounterError> {
    header.iter().position(|column| column == name).ok_or(CounterError::NoTable)
}

/// One row per launch and metric; launches are told apart by their ID.
fn long(
    header: &[String],
    name: usize,
    rows: impl Iterator<Item = (usize, Vec<String>)>,
    wanted: &[&str],
) -> Result<Vec<LaunchCounters>, CounterError> {
    let (id, kernel) = (column(header, "ID")?, column(header, "Kernel Name")?);
    let (unit, value) = (column(header, "Metric Unit")?, column(header, "Metric Value")?);
    let mut launches: Vec<(String, LaunchCounters)> = vec![];
    for (line, row) in rows {
        check_width(line, &row, header)?;
        if launches.last().is_none_or(|(last, _)| *last != row[id]) {
            launches.push((
                row[id].clone(),
                LaunchCounters { kernel: row[kernel].clone(), items: items(header, &row), metrics: BTreeMap::new() },
            ));
        }
        if let Some((_, launch)) = launches.last_mut() {
            insert(launch, line, wanted, (&row[name], &row[unit], &row[value]))?;
        }
    }
    Ok(launches.into_iter().map(|(_, launch)| launch).collect())
}

/// One row per launch; the first row holds units.
fn wide(
    header: &[String],
    mut rows: impl Iterator<Item = (usize, Vec<String>)>,
    wanted: &[&str],
) -> Result<Vec<LaunchCounters>, CounterError> {
    let kernel = column(header, "Kernel Name")?;
    let (line, units) = rows.next().ok_or(CounterError::NoTable)?;
    check_width(line, &units, header)?;
    if !units[kernel].is_empty() {
        return Err(CounterError::Row { line, what: "should hold units".into() });
    }
    let mut launches = vec![];
    for (line, row) in rows {
        check_width(line, &row, header)?;
        let mut launch = LaunchCounters { kernel: row[kernel].clone(), items: items(header, &row), metrics: BTreeMap::new() };
        for ((name, unit), value) in header.iter().zip(&units).zip(&row) {
            insert(&mut launch, line, wanted, (name, unit, value))?;
        }
        launches.push(launch);
    }
    Ok(launches)
}

pub(super) fn check_width(line: usize, row: &[String], header: &[String]) -> Result<(), CounterError> {
    if row.len() == header.len() {
        return Ok(());
    }
    Err(CounterError::Row { line, what: format!("has {} fields, the header {}", row.len(), header.len()) })
}

/// Work-items of a launch: blocks times threads of a block, both as `(16, 2, 32)`.
fn items(header: &[String], row: &[String]) -> Option<u64> {
    let product = |name: &str| {
        let text = &row[header.iter().position(|column| column == name)?];
        let mut extents = text.strip_prefix('(')?.strip_suffix(')')?.split(',').map(|extent| extent.trim().parse::<u64>().ok());
        extents.try_fold(1u64, |product, extent| product.checked_mul(extent?))
    };
    product("Block Size")?.checked_mul(product("Grid Size")?)
}

/// Keeps a value where its metric was asked for.
fn insert(launch: &mut LaunchCounters, line: usize, wanted: &[&str], (name, unit, value): (&str, &str, &str)) -> Result<(), CounterError> {
    if !wanted.contains(&name) || value.is_empty() || value.eq_ignore_ascii_case("n/a") {
        return Ok(());
    }
    let bad = |what: &str, text: &str| CounterError::Row { line, what: format!("{name}: {what} `{text}`") };
    let scale = scale(unit).ok_or_else(|| bad("unknown unit", unit))?;
    let number = number(value).ok_or_else(|| bad("no number:", value))?;
    launch.metrics.insert(name.to_owned(), number * scale);
    Ok(())
}

/// A number with or without separators of thousands.
pub(super) fn number(text: &str) -> Option<f64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut groups = whole.split(',');
    let first = groups.next()?;
    if whole.contains(',') && !((1..=3).contains(&first.len()) && groups.all(|group| group.len() == 3)) {
        return None;
    }
    if fraction.contains(',') {
        return None;
    }
    text.replace(',', "").parse().ok().filter(|v: &f64| v.is_finite() && *v >= 0.0)
}

/// What one of a unit is in base units. ncu's prefixes are decimal; older versions spell out `nsecond`, newer ones write `ns`.
fn scale(unit: &str) -> Option<f64> {
    Some(match unit {
        "" | "byte" | "sector" | "cycle" | "second" | "s" => 1.0,
        "nsecond" | "ns" => 1e-9,
        "usecond" | "us" => 1e-6,
        "msecond" | "ms" => 1e-3,
        _ => {
            let (prefix, base) = unit.split_at_checked(1)?;
            if !matches!(base, "byte" | "sector" | "cycle") {
                return None;
            }
            match prefix {
                "K" => 1e3,
                "M" => 1e6,
                "G" => 1e9,
                "T" => 1e12,
                _ => return None,
            }
        }
    })
}

/// The fields of a line: quoted, separated by commas, a quote within a field doubled.
pub(super) fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut quoted = false;
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                push(&mut fields, '"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            c => push(&mut fields, c),
        }
    }
    fields
}

fn push(fields: &mut [String], c: char) {
    if let Some(field) = fields.last_mut() {
        field.push(c);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `ncu --csv --page raw` prints it, with the noise around it.
    const RAW: &str = r#"==PROF== Connected to process 4711 (/opt/battery)
hello from the application, "quoted"
==PROF== Profiling "star3d25" - 0: 0%....50%....100% - 3 passes
==PROF== Profiling "copy(double *, int)" - 1: 0%....50%....100% - 3 passes
==PROF== Disconnected from process 4711
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","dram__bytes_read.sum","dram__bytes_write.sum","gpu__time_duration.sum","l1tex__data_pipe_lsu_wavefronts.sum","launch__registers_per_thread","lts__t_sectors_srcunit_tex_op_read.sum"
"","","","","","","","","","","","Gbyte","Mbyte","usecond","","register/thread","sector"
"0","4711","battery","127.0.0.1","star3d25","1","7","(16, 2, 32)","(40, 256, 16)","0","9.0","1.5","1,342.18","987.65","167,772,160","32","60,000,000"
"1","4711","battery","127.0.0.1","copy(double *, int)","1","7","(256, 1, 1)","(4096, 1, 1)","0","9.0","0.25","n/a","12","1024","16","64"
"#;

    /// As the default page prints it.
    const DETAILS: &str = r#"==WARNING== Note: Running with uncontrolled GPU caches.
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","Section Name","Metric Name","Metric Unit","Metric Value"
"0","12","b","h","k","1","7","(32, 1, 1)","(1, 1, 1)","0","8.0","Command line profiler metrics","dram__bytes_read.sum","Kbyte","1,234.5"
"0","12","b","h","k","1","7","(32, 1, 1)","(1, 1, 1)","0","8.0","Command line profiler metrics","gpu__time_duration.sum","ms","2.5"
"0","12","b","h","k","1","7","(32, 1, 1)","(1, 1, 1)","0","8.0","Command line profiler metrics","sm__cycles_elapsed.max","cycle","3,000"
"1","12","b","h","k","1","7","(32, 1, 1)","(1, 1, 1)","0","8.0","Command line profiler metrics","dram__bytes_read.sum","byte","32"
"#;

    #[test]
    fn a_row_per_launch() {
        let launches = parse(RAW).unwrap();
        assert_eq!(launches.iter().map(|l| l.kernel.as_str()).collect::<Vec<_>>(), ["star3d25", "copy(double *, int)"]);
        let expected =
            [(DRAM_READ, 1.5e9), (DRAM_WRITE, 1_342.18e6), (DURATION, 987.65e-6), (L1_WAVEFRONTS, 167_772_160.0), (L2_READ, 6e7)];
        assert_eq!(launches[0].metrics.len(), expected.len());
        assert_eq!(launches.iter().map(|l| l.items).collect::<Vec<_>>(), [Some(1024 * 163_840), Some(256 * 4096)]);
        for (name, value) in expected {
            assert!((launches[0].metrics[name] / value - 1.0).abs() < 1e-12, "{name}");
        }
        assert_eq!(launches[1].metrics.get(DRAM_WRITE), None, "not available");
        assert_eq!(launches[1].metrics[DRAM_READ], 0.25e9);
        let volumes = launches[0].volumes(1e8);
        assert_eq!((volumes.dram_read, volumes.l2_read, volumes.l2_write), (Some(15.0), Some(19.2), None));
        assert!((volumes.l1_wavefronts.unwrap() - 1.677_721_6).abs() < 1e-12);
    }

    #[test]
    fn a_row_per_metric() {
        let launches = parse(DETAILS).unwrap();
        assert_eq!(launches.len(), 2);
        assert_eq!(
            launches[0].metrics,
            BTreeMap::from([(DRAM_READ.into(), 1_234_500.0), (DURATION.into(), 2.5e-3), (SM_CYCLES.into(), 3e3)])
        );
        assert_eq!(launches[1].metrics, BTreeMap::from([(DRAM_READ.into(), 32.0)]));
    }

    #[test]
    fn what_went_wrong_is_said() {
        let forbidden = "==PROF== Connected to process 1 (x)\n==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access \
                         NVIDIA GPU Performance Counters on the target device 0.\n";
        assert_eq!(parse(forbidden), Err(CounterError::Forbidden));
        assert!(CounterError::Forbidden.to_string().contains("NVreg_RestrictProfilingToAdminUsers=0"));
        assert_eq!(parse("==ERROR== No kernels were profiled.\n"), Err(CounterError::Profiler("No kernels were profiled.".into())));
        assert_eq!(parse(""), Err(CounterError::NoTable));
        assert_eq!(parse("==PROF== Disconnected\n\"a\",\"b\"\n"), Err(CounterError::NoTable));
        let truncated = RAW.trim_end().rsplit_once(',').unwrap().0;
        assert_eq!(parse(truncated), Err(CounterError::Row { line: 9, what: "has 16 fields, the header 17".into() }));
        let unit = RAW.replace("Gbyte", "furlong");
        assert_eq!(parse(&unit), Err(CounterError::Row { line: 8, what: "dram__bytes_read.sum: unknown unit `furlong`".into() }));
        let comma = DETAILS.replace("1,234.5", "1.234,5");
        assert_eq!(parse(&comma), Err(CounterError::Row { line: 3, what: "dram__bytes_read.sum: no number: `1.234,5`".into() }));
    }

    #[test]
    fn hostile_text_does_no_harm() {
        for cut in (0..RAW.len()).filter(|&cut| RAW.is_char_boundary(cut)) {
            let _ = parse(&RAW[..cut]);
            let _ = parse(&RAW[cut..]);
        }
        assert_eq!(number("1,23"), None);
        assert_eq!(number("-5"), None);
        assert_eq!(number("nan"), None);
        assert_eq!(number("12,345,678"), Some(12_345_678.0));
        assert_eq!(number("1234567"), Some(1_234_567.0));
    }
}
