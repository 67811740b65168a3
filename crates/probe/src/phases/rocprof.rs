//! Hardware counters of AMD's GPUs: what rocprof's tables say.
//!
//! Read are the tables of `rocprof` and `rocprofv2` (a row per launch, a column per counter) and `rocprofv3`'s `counter_collection.csv` (a
//! row per launch and counter). Launches that were replayed for further counters stand in files of their own.

use super::counters::{CounterError, DURATION, LaunchCounters, check_width, fields, number};
use std::collections::BTreeMap;

/// Columns of a kernel's name, of the launch and of its work-items, by version of the tool.
const KERNEL: [&str; 2] = ["KernelName", "Kernel_Name"];
const LAUNCH: [&str; 3] = ["Index", "Dispatch_ID", "Dispatch_Id"];
const ITEMS: [&str; 2] = ["grd", "Grid_Size"];
/// First and last nanosecond of a launch.
const SPANS: [(&str, &str); 2] = [("BeginNs", "EndNs"), ("Start_Timestamp", "End_Timestamp")];

/// Whether a text looks like one of these tables.
pub fn is_table(csv: &str) -> bool {
    csv.lines().any(|line| is_header(&fields(line)))
}

fn is_header(row: &[String]) -> bool {
    find(row, &KERNEL).is_some() && find(row, &LAUNCH).is_some()
}

fn find(header: &[String], names: &[&str]) -> Option<usize> {
    header.iter().position(|column| names.contains(&column.as_str()))
}

/// Reads a table; counters that are not wanted are left out. Launches come in order, their time as [`DURATION`], in seconds.
///
/// # Errors
/// [`CounterError`]; a partial row is an error too.
pub fn parse(csv: &str, wanted: &[&str]) -> Result<Vec<LaunchCounters>, CounterError> {
    let mut lines = csv.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()).map(|(at, line)| (at + 1, fields(line)));
    let header = lines.find(|(_, row)| is_header(row)).ok_or(CounterError::NoTable)?.1;
    let (kernel, launch) = find(&header, &KERNEL).zip(find(&header, &LAUNCH)).ok_or(CounterError::NoTable)?;
    let long = find(&header, &["Counter_Name"]).zip(find(&header, &["Counter_Value"]));
    let mut launches: Vec<(String, LaunchCounters)> = vec![];
    for (line, row) in lines {
        check_width(line, &row, &header)?;
        let bad = |name: &str, text: &str| CounterError::Row { line, what: format!("{name}: no number: `{text}`") };
        // Counters of one launch may stand apart: rows are sorted by counter in some versions.
        let at = launches.iter().rposition(|(id, own)| *id == row[launch] && own.kernel == row[kernel]).unwrap_or_else(|| {
            let items = find(&header, &ITEMS).and_then(|column| row[column].trim().parse().ok());
            launches.push((row[launch].clone(), LaunchCounters { kernel: row[kernel].clone(), items, metrics: BTreeMap::new() }));
            launches.len() - 1
        });
        let metrics = &mut launches[at].1.metrics;
        let named: Vec<(&String, &String)> = match long {
            Some((name, value)) => vec![(&row[name], &row[value])],
            None => header.iter().zip(&row).collect(),
        };
        for (name, value) in named.into_iter().filter(|(name, _)| wanted.contains(&name.as_str())) {
            // Instances of a counter that the tool did not add up.
            *metrics.entry(name.clone()).or_insert(0.0) += number(value.trim()).ok_or_else(|| bad(name, value))?;
        }
        for (begin, end) in SPANS {
            if let Some((begin, end)) = find(&header, &[begin]).zip(find(&header, &[end])) {
                let instant = |column: usize| row[column].trim().parse::<u64>().map_err(|_| bad(&header[column], &row[column]));
                let nanoseconds = instant(end)?.checked_sub(instant(begin)?).ok_or_else(|| bad(&header[end], &row[end]))?;
                metrics.insert(DURATION.to_owned(), nanoseconds as f64 * 1e-9);
            }
        }
    }
    Ok(launches.into_iter().map(|(_, launch)| launch).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDE: &str = r#"RPL: on '230101_000000' from '/opt/rocm'
Index,KernelName,gpu-id,queue-id,queue-index,pid,tid,grd,wgr,lds,scr,arch_vgpr,accum_vgpr,sgpr,wave_size,sig,obj,FETCH_SIZE,WRITE_SIZE,L2CacheHit,DispatchNs,BeginNs,EndNs,CompleteNs
0,"fill(double*, int) [clone .kd]",0,0,0,1,1,1024,256,0,0,8,0,16,64,0x0,0x7f,0.5,8.0,0,10,100,200,300
1,"laplace(double*, double*) [clone .kd]",0,0,2,1,1,67108864,256,0,0,32,4,32,64,0x0,0x7f,1048576.0000000000,524288,50,10,1000,1001500,2000000
"#;

    const LONG: &str = r#""Correlation_Id","Dispatch_Id","Agent_Id","Queue_Id","Process_Id","Thread_Id","Grid_Size","Kernel_Id","Kernel_Name","Workgroup_Size","LDS_Block_Size","Scratch_Size","VGPR_Count","Accum_VGPR_Count","SGPR_Count","Counter_Name","Counter_Value","Start_Timestamp","End_Timestamp"
1,1,"Agent 4",1,9,9,4096,10,"void k<float>(float*, int)",64,0,0,8,0,16,"TCC_EA_RDREQ_sum",1.60000000e+02,100,1100
1,1,"Agent 4",1,9,9,4096,10,"void k<float>(float*, int)",64,0,0,8,0,16,"SQ_WAVES",64,100,1100
2,2,"Agent 4",1,9,9,8192,10,"void k<float>(float*, int)",64,0,0,8,0,16,"TCC_EA_RDREQ_sum",320,2000,2500
1,1,"Agent 4",1,9,9,4096,10,"void k<float>(float*, int)",64,0,0,8,0,16,"TCC_EA_RDREQ_32B_sum",16,100,1100
"#;

    #[test]
    fn a_column_per_counter() {
        let launches = parse(WIDE, &["FETCH_SIZE", "WRITE_SIZE"]).unwrap();
        assert_eq!(launches[1].kernel, "laplace(double*, double*) [clone .kd]");
        assert_eq!(launches.iter().map(|l| l.items).collect::<Vec<_>>(), [Some(1024), Some(67_108_864)]);
        let expected = [("FETCH_SIZE", 1_048_576.0), ("WRITE_SIZE", 524_288.0), (DURATION, 1_000_500.0 * 1e-9)];
        assert_eq!(launches[1].metrics, expected.map(|(name, value)| (name.to_owned(), value)).into());
    }

    #[test]
    fn a_row_per_counter() {
        let launches = parse(LONG, &["TCC_EA_RDREQ_sum", "TCC_EA_RDREQ_32B_sum"]).unwrap();
        assert_eq!(launches.len(), 2);
        let first = [("TCC_EA_RDREQ_sum", 160.0), ("TCC_EA_RDREQ_32B_sum", 16.0), (DURATION, 1000.0 * 1e-9)];
        assert_eq!(launches[0].metrics, first.map(|(name, value)| (name.to_owned(), value)).into());
        assert_eq!((launches[1].items, launches[1].metrics["TCC_EA_RDREQ_sum"]), (Some(8192), 320.0));
    }

    #[test]
    fn what_went_wrong_is_said() {
        assert_eq!(parse("", &[]), Err(CounterError::NoTable));
        let short = WIDE.trim_end().rsplit_once(',').unwrap().0;
        assert_eq!(parse(short, &[]), Err(CounterError::Row { line: 4, what: "has 23 fields, the header 24".into() }));
        let text = WIDE.replace("524288,50", "many,50");
        assert_eq!(parse(&text, &["WRITE_SIZE"]), Err(CounterError::Row { line: 4, what: "WRITE_SIZE: no number: `many`".into() }));
        let back = WIDE.replace("1000,1001500", "1000,999");
        assert_eq!(parse(&back, &[]), Err(CounterError::Row { line: 4, what: "EndNs: no number: `999`".into() }));
        for cut in 0..LONG.len() {
            let _ = parse(&LONG[..cut], &["TCC_EA_RDREQ_sum"]);
        }
    }
}
