//! What a kernel of a text costs once the text was read: `cargo run --release -p warpsight-ir --example written FILE TIMES [KEY=VALUE…]`;
//! under `valgrind --tool=callgrind --toggle-collect='*written::main*'` divided by TIMES, without the TIMES = 0 part, its instructions.

use std::hint::black_box;
use warpsight_ir::accesses::text::Document;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(file), Some(times)) = (args.next(), args.next()) else { return Err("usage: written FILE TIMES [KEY=VALUE…]".into()) };
    let times: u32 = times.parse()?;
    let settings: Vec<(String, String)> = args.filter_map(|arg| arg.split_once('=').map(|(k, v)| (k.to_owned(), v.to_owned()))).collect();
    let document = Document::read(&std::fs::read_to_string(file)?)?;
    let start = std::time::Instant::now();
    for _ in 0..times {
        black_box(document.written(black_box(&settings))?);
    }
    println!("{:.2} µs a kernel, measured", start.elapsed().as_secs_f64() * 1e6 / f64::from(times.max(1)));
    Ok(())
}
