//! Fits the time model to recordings: `cargo run --release -p warpsight-predict --example fit_time -- ../shared/data` writes
//! `data/fits/bandwidth.toml` and `data/fits/time.toml`, and prints them; the second rests on the first as it was when this was compiled, so
//! that a changed fit needs two runs. A test compares both with what the recordings give.

use std::path::Path;

mod bandwidth;
mod calibrate;
mod fit;
mod recorded;
mod recorded_device;
mod stream;
#[path = "../fit_caches/sweeps.rs"]
#[expect(dead_code, reason = "where sweeps fall is fit_caches'")]
mod sweeps;
mod tuning;

fn main() -> Result<(), recorded_device::Failed> {
    let data = std::env::args().nth(1).ok_or("usage: fit_time FOLDER, which holds volumes/measured")?;
    let measured = Path::new(&data).join("volumes/measured");
    let to = Path::new(env!("CARGO_MANIFEST_DIR")).join("fits");
    let streams = bandwidth::Streams::read(&std::fs::read_to_string(measured.join("gpu_stream.json"))?)?;
    let fitted = streams.fitted();
    std::fs::write(to.join("bandwidth.toml"), &fitted.text)?;
    let mut held = fitted.held_out;
    held.extend(recorded::all(&measured)?);
    let text = calibrate::text(&held);
    std::fs::write(to.join("time.toml"), &text)?;
    print!("{}\n{text}", fitted.text);
    Ok(())
}
