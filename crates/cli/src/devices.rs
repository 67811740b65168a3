//! `warpsight devices`: what is found, with limits, and why a platform was skipped; or one profile, printed; or one simulated GPU, judged.

mod printed;
mod roofline;
mod silicon;

use crate::failure::Failure;
use crate::report::Column::{Below, Keep, Spare};
use crate::report::{clean, dash, out, table};
use std::path::PathBuf;
use warpsight_run::DeviceInfo;

/// List the devices that are found: those that run kernels, and those of Vulkan, which draw shaders; or print what is known of a GPU, or judge a
/// simulated one.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// Ask drivers inside this process.
    #[arg(long)]
    in_process: bool,
    /// Also print everything else that drivers tell of each device.
    #[arg(long)]
    facts: bool,
    /// Checks a simulated GPU (as sim/devices/*.toml; --device sim:FILE.toml takes it): explains everything in it that contradicts itself, or
    /// says what it comes to.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["facts", "printed"])]
    check: Option<PathBuf>,
    #[command(flatten)]
    of: printed::Of,
    #[command(flatten)]
    drawing: roofline::Drawing,
}

const EXAMPLES: &str = "Examples:
  What is found, and why other platforms were passed over:
    warpsight devices
  Everything that drivers tell:
    warpsight devices --facts
  What is known of a GPU, each number with its source, as a file to start from:
    warpsight devices --profile a40 > mine.toml
  The same of a file that says what differs:
    warpsight devices --from examples/profiles/a40-capped.toml
  The same of what MT4G found, from standard input; what it leaves unknown from a GPU of the kind:
    warpsight devices --mt4g - --inherits v100
  Its roofline, with an operator under it:
    warpsight devices --profile adreno640 --roofline adreno640.svg --op \"matmul m=64 n=64 k=64\"
  Whether a simulated GPU of your own contradicts itself:
    warpsight devices --check sim/devices/adreno640.toml";

/// Runs the verb.
pub fn run(args: &Args, json: bool) -> Result<(), Failure> {
    if let Some(file) = &args.check {
        return silicon::check(file, json);
    }
    if let Some(profile) = args.of.profile()? {
        return if args.drawing.is_wanted() { args.drawing.draw(&profile, json) } else { printed::print(&profile, json) };
    }
    let options = warpsight_run::Options { in_process: args.in_process, ..warpsight_run::Options::default() };
    let mut listing = warpsight_run::devices(&options);
    let drawing = warpsight_run::renderers(&options);
    listing.devices.extend(drawing.devices);
    listing.skipped.extend(drawing.skipped);
    if json {
        let skipped: Vec<_> = listing.skipped.iter().map(|(what, why)| serde_json::json!({"platform": what, "reason": why})).collect();
        out(serde_json::json!({"devices": listing.devices, "skipped": skipped}))?;
        return Ok(());
    }
    let mut rows = table(&[
        Keep("device"),
        Keep("name"),
        Below("driver"),
        Spare(5, "group"),
        Spare(4, "local KiB"),
        Spare(3, "image 2D"),
        Spare(2, "largest allocation MiB"),
        Spare(6, "units"),
        Spare(7, "f16"),
        Keep("clock"),
    ]);
    for d in &listing.devices {
        rows.add_row(row(d));
    }
    out(format_args!("{rows}"))?;
    for d in listing.devices.iter().filter(|_| args.facts) {
        if d.facts.is_empty() {
            out(format_args!("{}: its driver tells nothing else", d.id))?;
        }
        for (name, value) in &d.facts {
            out(format_args!("{}: {} = {}", d.id, clean(name), clean(value)))?;
        }
    }
    for (what, why) in &listing.skipped {
        out(format_args!("skipped {what}: {why}"))?;
    }
    Ok(())
}

fn row(d: &DeviceInfo) -> Vec<String> {
    let l = &d.limits;
    vec![
        d.id.clone(),
        d.name.clone(),
        d.driver.clone(),
        dash(l.max_group_size),
        dash(l.local_bytes.map(|b| b / 1024)),
        l.image_2d.map_or("-".to_owned(), |(w, h)| if (w, h) == (0, 0) { "none".to_owned() } else { format!("{w} x {h}") }),
        dash(l.max_allocation.map(|b| b >> 20)),
        dash(l.compute_units),
        (if l.f16 { "yes" } else { "no" }).to_owned(),
        d.clock.map_or("none", |c| c.name()).to_owned(),
    ]
}
