//! Holds simulated silicon to a recording of a real GPU: the tables that ArchProbe (paper 001, section 3) writes.
//!
//! `cargo run --release -p warpsight-sim --example recording -- FOLDER [--silicon NAME] [--json | --html FILE]`
//!
//! Every simulated number comes from a Program that the simulator executes. The folder's numbers are compared with, nothing else.

mod chase;
mod folder;
mod kernels;
mod page;
mod points;
#[path = "../shared/mod.rs"]
mod shared;

use folder::Folder;
use points::{RING, fitted, held_out, mean_error, points};
use shared::{ended, processor_time};
use std::process::ExitCode;
use warpsight_sim::{Silicon, SimFault, Simulator};

/// Lane accesses of an image chase that the exact mode executes in a second of processor time.
fn lane_accesses_per_s(simulator: &Simulator) -> Result<Option<f64>, SimFault> {
    let lanes = u64::from(simulator.silicon().core.wave);
    let Some(before) = processor_time() else { return Ok(None) };
    let (mut accesses, mut after) = (0, before);
    while after - before < 0.5 {
        kernels::walk(simulator, 4096)?;
        accesses += lanes * 4096;
        after = processor_time().unwrap_or(f64::INFINITY);
    }
    Ok(Some(accesses as f64 / (after - before)))
}

struct Arguments {
    folder: Folder,
    silicon: Silicon,
    json: bool,
    html: Option<String>,
}

const USAGE: &str = "recording FOLDER [--silicon NAME] [--json | --html FILE]";

fn arguments() -> Result<Arguments, String> {
    let (mut folder, mut name, mut json, mut html) = (None, "adreno640".to_owned(), false, None);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = |of: &str| words.next().ok_or(format!("{of} wants a value: {USAGE}"));
        match word.as_str() {
            "--json" => json = true,
            "--silicon" => name = value("--silicon")?,
            "--html" => html = Some(value("--html")?),
            option if option.starts_with('-') => return Err(format!("there is no option {option}: {USAGE}")),
            path => folder = Some(Folder(path.into())),
        }
    }
    let silicon = Silicon::named(&name)
        .ok_or_else(|| format!("there is no silicon {name}; there are {}", Silicon::names().collect::<Vec<_>>().join(", ")))?;
    Ok(Arguments { folder: folder.ok_or(USAGE)?, silicon, json, html })
}

fn run() -> Result<(), String> {
    let Arguments { folder, silicon, json, html } = arguments()?;
    let simulator = Simulator::new(silicon);
    let refused = |fault: SimFault| fault.to_string();
    if let Some(path) = html {
        let text = page::page(&folder, &simulator)?;
        return std::fs::write(&path, text).map_err(|error| format!("{path}: {error}"));
    }
    let points = points(&folder, true)?;
    let fitted = mean_error(&fitted(&points), &simulator).map_err(refused)?;
    let held_out = mean_error(&held_out(&points), &simulator).map_err(refused)?;
    let [x, y] = [false, true].map(|along_y| kernels::capacity(&simulator, along_y));
    let (x, y) = (x.map_err(refused)?, y.map_err(refused)?);
    let speed = lane_accesses_per_s(&simulator).map_err(refused)?;
    if json {
        let result = serde_json::json!({
            "mean_error_ns": fitted, "heldout_mean_error_ns": held_out,
            "x_capacity_px": x, "y_capacity_px": y, "lane_accesses_per_s": speed,
        });
        println!("{result}");
    } else {
        let told = |number: Option<f64>| number.map_or("-".to_owned(), |n| format!("{n:.3}"));
        let pixels = |number: Option<u32>| number.map_or("-".to_owned(), |n| n.to_string());
        println!("{}, simulated, beside {}", simulator.silicon().name, folder.0.display());
        println!("  ring of {RING} bytes, all strides: mean error {} ns", told(fitted));
        println!("  rings of 1024 to 2048 bytes, not fitted to: mean error {} ns", told(held_out));
        println!("  work-items that one texture cache serves: {} along x, {} along y", pixels(x), pixels(y));
        println!("  exact mode: {} million lane accesses of an image chase a second of processor time", told(speed.map(|s| s / 1e6)));
    }
    Ok(())
}

fn main() -> ExitCode {
    ended(run())
}
