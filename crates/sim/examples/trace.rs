//! Volumes of a kernel by execution, under other turns and capacities than the default ones, and how fast that is:
//! `cargo run --release -p warpsight-sim --example trace -- FILE.toml DEVICE [turn=1] [limit=8000000] [l1=BYTES] [l2=BYTES] [KEY=VALUE …]`.

use std::time::Instant;
use warpsight_ir::accesses::text::parse;
use warpsight_sim::trace::{Levels, Options, trace};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let (file, device) = args.next().zip(args.next()).ok_or("FILE.toml DEVICE")?;
    let mut levels = Levels::named(&device).map_err(|known| format!("devices: {}", known.join(", ")))?;
    let (mut options, mut settings) = (Options::default(), Vec::new());
    for arg in args {
        let (key, value) = arg.split_once('=').ok_or_else(|| format!("`{arg}` is not of the form KEY=VALUE"))?;
        match key {
            "turn" => options.turn = value.parse()?,
            "limit" => options.limit = value.parse()?,
            "seed" => options.seed = value.parse()?,
            "l1" => levels.l1.bytes = value.parse()?,
            "l2" => levels.l2.bytes = value.parse()?,
            _ => settings.push((key.to_owned(), value.to_owned())),
        }
    }
    let written = parse(&std::fs::read_to_string(&file)?, &settings).map_err(|error| error.what)?;
    let began = Instant::now();
    let traced = trace(&written.kernel, &levels, &options)?;
    let seconds = began.elapsed().as_secs_f64();
    let (v, part, points) = (traced.volumes, traced.part, written.points as f64);
    let rows = [
        ("L1 requested", v.l1_requested),
        ("L2 load", v.l2_load),
        ("L2 store", v.l2_store),
        ("DRAM load", v.dram_load),
        ("DRAM store", v.dram_store),
    ];
    rows.iter().for_each(|(name, bytes)| println!("{name:12} {:10.3} B/point (simulated)", bytes / points));
    let rates = [part.executed, part.lanes].map(|number| number as f64 / seconds / 1e6);
    println!(
        "{} of {} accesses, {:.2} waves; {:.2} million accesses/s, {:.1} million lanes/s",
        part.executed, part.of, part.waves, rates[0], rates[1]
    );
    Ok(())
}
