//! Measures aspects of a device and prints what was found: `cargo run --release --example aspect -- sim:adreno640 arithmetic hierarchy`;
//! with the word `full` among them not quickly.

use warpsight_probe::{Context, Findings, Scale, aspects, battery};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    let (id, names) = (&args[1], &args[2..]);
    let mut device = warpsight_run::open(id, &warpsight_run::Options { in_process: true, ..warpsight_run::Options::default() })?;
    let info = device.info().clone();
    let scale = if names.iter().any(|name| name == "full") { Scale::Full } else { Scale::Quick };
    let mut found = Findings::default();
    let mut all = vec![];
    for aspect in aspects::all().into_iter().filter(|aspect| names.iter().any(|name| name == aspect.phase.name)) {
        let mut plan = (aspect.phase.plan)(&Context { device: &info, scale, seed: 1 });
        let mut records = vec![];
        let begun = std::time::Instant::now();
        while let Some(measurement) = plan.ask(&records) {
            let (record, _) = battery::take(aspect.phase.name, measurement, &mut *device);
            let least = |times: &[f64]| times.iter().copied().fold(f64::INFINITY, f64::min);
            let before = record.earlier_times_s.last().map_or(0.0, |times| least(times));
            let more = 1e9 * (least(&record.times_s) - before);
            eprintln!(
                "{:6.1} s {} {:?} {more:.0} ns more in {:?}",
                begun.elapsed().as_secs_f64(),
                record.name,
                record.outcome,
                record.amounts
            );
            records.push(record);
        }
        all.extend(records);
        found.extend((aspect.analyse)(&aspects::Seen { device: &info, records: &all, found: &found }));
    }
    for (key, finding) in &found.facts {
        println!("{key} = {}", serde_json::to_string(finding)?);
    }
    Ok(())
}
