//! One cold report, for counting instructions (`scripts/instructions`): `once FILE [DEVICE [KEY=VALUE…]]`; with `TIMES=n` in the
//! environment the mean time of n reports.

use std::hint::black_box;
use warpsight_predict::volumes::report::{Settings, Work, report};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let file = args.next().ok_or("usage: once FILE [DEVICE [KEY=VALUE…]]")?;
    let device = args.next().unwrap_or_else(|| "a100-40".to_owned());
    let settings: Vec<(String, String)> = args.filter_map(|arg| arg.split_once('=').map(|(k, v)| (k.to_owned(), v.to_owned()))).collect();
    let written = warpsight_ir::accesses::text::parse(&std::fs::read_to_string(file)?, &settings)?;
    let on = warpsight_ir::profile::builtin(&device).ok_or("no such device")??;
    let work = Work { kernel: &written.kernel, points: written.points };
    let times: u32 = std::env::var("TIMES").ok().and_then(|times| times.parse().ok()).unwrap_or(1);
    // The first one reads the fits, which a process does once.
    black_box(report(&work, &on, &Settings::default())?);
    let start = std::time::Instant::now();
    for _ in 0..times {
        black_box(report(black_box(&work), &on, &Settings::default())?);
    }
    println!("{:.1} µs a report, measured", start.elapsed().as_secs_f64() * 1e6 / f64::from(times));
    Ok(())
}
