//! Fits the time model to recordings: `cargo run --release -p warpsight-predict --example fit_time -- ../shared/data` writes
//! `data/fits/bandwidth.toml`, which a test compares with what the recordings give.

use std::path::Path;

mod bandwidth;
mod fit;
mod stream;

fn main() -> Result<(), stream::Failed> {
    let data = std::env::args().nth(1).ok_or("usage: fit_time FOLDER, which holds volumes/measured/gpu_stream.json")?;
    let measured = Path::new(&data).join("volumes/measured");
    let to = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/fits");
    let streams = bandwidth::Streams::read(&std::fs::read_to_string(measured.join("gpu_stream.json"))?)?;
    let written = streams.fitted().text;
    std::fs::write(to.join("bandwidth.toml"), &written)?;
    print!("{written}");
    Ok(())
}
