//! `warpsight run`: a network on an input, outputs as `.npy`.

use crate::failure::Failure;
use crate::network::{Loaded, NetworkArgs, Settled, load, remember, select};
use crate::record::StoreArgs;
use crate::report::{clean, micros, out};
use crate::target::TargetArgs;
use crate::target::judging::Judging;
use crate::target::passes::PassArgs;
use crate::{npy, progress};
use image::ImageReader;
use serde_json::json;
use std::collections::HashSet;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use warpsight_engine::network::Network;
use warpsight_files::Folder;
use warpsight_graph::{ChannelOrder, Fit, Layout, ModelCard, Picture};
use warpsight_ir::near::did_you_mean;
use warpsight_ir::sample::Spread;
use warpsight_ir::{CostModel, Kernel, TimeSource};
use warpsight_predict::KernelModel;

/// Run a network on a device: one `.npy` per output. Kernels of an earlier `optimize` or `run` on the same device are used again.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// An ONNX model.
    model: PathBuf,
    /// An input, from an `.npy` file (floats, whole numbers or truth values) or a picture; may be repeated.
    #[arg(long, value_name = "NAME=FILE")]
    input: Vec<String>,
    /// Folder for the outputs.
    #[arg(long, value_name = "DIR")]
    output: PathBuf,
    #[command(flatten)]
    network: NetworkArgs,
    /// Run so many times and print how the times are spread; inputs and weights are sent once. Without it, the middle of five times is
    /// printed.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    repeat: Option<u32>,
    /// Try kernels again that failed on this device and driver before, as the store remembers.
    #[arg(long)]
    again: bool,
    #[command(flatten)]
    passes: PassArgs,
    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    store: StoreArgs,
}

const EXAMPLES: &str = "Examples:
  Whether a line of text is upright, as out/*.npy:
    warpsight run models/text-orientation.onnx --input x=examples/line.png --output out
  On an OpenCL device, with the shape of an input that the model leaves open:
    warpsight run models/text-orientation.onnx --input x=examples/line.png --output out \\
      --device opencl:0 --input-shape x=1,3,48,192
  How its times are spread over a hundred runs, weights sent once:
    warpsight run models/text-orientation.onnx --input x=examples/line.png --output out --repeat 100";
/// How often a network runs for its time, unless that is said.
const RUNS: u32 = 5;
/// Pixels of a picture that is read.
const MAX_PIXELS: u64 = 1 << 26;
/// The longer side of a picture that is read: scaling holds whole columns of its rows.
const MAX_SIDE: u32 = 1 << 15;

/// Runs the verb.
pub fn run(args: &Args, json: bool) -> Result<(), Failure> {
    let loaded = load(&args.model, &args.network)?;
    loaded.fits(&args.model)?;
    let inputs = inputs(args, &loaded)?;
    let mut target = args.target.open()?;
    args.passes.apply(&mut target);
    let mut record = args.store.open(target.device.info(), CostModel::<Kernel>::id(&KernelModel))?;
    record.limited = args.target.is_limited();
    let mut target = if args.again { target } else { target.remembering(record.failed()?) };
    let mut plan = loaded.plan.clone();
    let mut settled = Settled::again(&mut plan, &Judging::first(&loaded.plan, &target), &target, &record)?;
    let mut rng = fastrand::Rng::new();
    let (network, selection) = loop {
        let network = Network::by(&plan, target.passes)?;
        let judging = Judging::first(&plan, &target);
        let failure = match select(&network, &settled, &judging, &mut target, &mut record, &mut rng) {
            Ok(selection) => break (network, selection),
            Err(failure) => failure,
        };
        drop(network);
        match settled.without(&failure, &loaded.plan, target.passes) {
            Some(left) => (plan, settled) = left,
            None => return Err(failure),
        }
    };
    let bar = progress::bar(1, "run");
    bar.set_message("running all kernels");
    let mut resident = network.open(&selection, &inputs, &mut *target.device)?;
    let mut run = resident.run()?;
    // What was measured before a device is lost is stored and printed all the same.
    let ended = resident.repeat(args.repeat.unwrap_or(RUNS), &mut run);
    drop(resident);
    bar.finish_and_clear();
    if ended.is_ok() || !run.passes.is_empty() {
        remember(&settled, &selection, &run, &mut record)?;
    }
    let mut folder = Folder::create(&args.output)?;
    let mut files = vec![];
    let mut taken = HashSet::new();
    for (name, shape, values) in &run.outputs {
        let mut file = name.replace(['/', '\\'], "_");
        // `a/b` and `a_b` are different outputs.
        while !taken.insert(file.clone()) {
            file.push('_');
        }
        let file = format!("{file}.npy");
        let path = folder.path(&file);
        folder.write(&file, &npy::write(shape, values))?;
        files.push(json!({"name": name, "shape": shape, "file": path}));
    }
    folder.finish()?;
    let spread = run.passes.spread();
    let time = spread.map(|times| times.median);
    if json {
        let times = spread.map(|times| spread_json(&times, run.source));
        let info = target.device.info();
        out(json!({
            "device": info.id, "driver": info.driver, "outputs": files, "time_s": time, "time_source": run.source, "times": times
        }))?;
    } else {
        for file in &files {
            out(format_args!(
                "{} {} -> {}",
                clean(file["name"].as_str().unwrap_or_default()),
                file["shape"],
                clean(file["file"].as_str().unwrap_or_default())
            ))?;
        }
        if let (Some(time), Some(source)) = (time, run.source) {
            out(format_args!("{} us ({}) on {}", micros(time), source.name(), target.device.info().id))?;
        }
        if let (Some(Spread { count, min, median, p90, max }), Some(source), Some(_)) = (spread, run.source, args.repeat) {
            let [min, median, p90, max] = [min, median, p90, max].map(|time| format!("{} us ({})", micros(time), source.name()));
            out(format_args!("{count} runs: min {min}, median {median}, p90 {p90}, max {max}"))?;
        }
        target.told()?;
    }
    Ok(ended?)
}

/// Times, each of which has the source that stands beside them.
fn spread_json(times: &Spread, source: Option<TimeSource>) -> serde_json::Value {
    let Spread { count, min, median, p90, max } = times;
    json!({"count": count, "min_s": min, "median_s": median, "p90_s": p90, "max_s": max, "source": source})
}

/// One array per input of the plan, in its order.
fn inputs(args: &Args, loaded: &Loaded) -> Result<Vec<Vec<f32>>, Failure> {
    let mut given: Vec<(&str, &Path)> = vec![];
    for text in &args.input {
        let (name, file) = text.split_once('=').ok_or_else(|| Failure::input(format!("`{text}` is not of the form NAME=FILE")))?;
        if given.iter().any(|g| g.0 == name) {
            return Err(Failure::input(format!("input `{name}` is given twice")));
        }
        given.push((name, Path::new(file)));
    }
    let tensors: Vec<_> = loaded.plan.inputs.iter().map(|&id| loaded.plan.tensor(id)).collect();
    let names = || tensors.iter().map(|t| t.name.as_str()).collect::<Vec<_>>().join(", ");
    if let Some((stranger, _)) = given.iter().find(|(n, _)| !tensors.iter().any(|t| t.name == *n)) {
        return Err(Failure::input(format!(
            "the model has no input `{stranger}`{}",
            did_you_mean(stranger, tensors.iter().map(|t| t.name.as_str()))
        ))
        .help(format!("its inputs: {}", names())));
    }
    tensors
        .iter()
        .map(|tensor| {
            let (_, file) = given.iter().find(|(n, _)| tensor.name == *n).ok_or_else(|| {
                Failure::input(format!("input `{}` is missing", tensor.name)).help(format!("--input {}=FILE", tensor.name))
            })?;
            read(file, &tensor.name, &tensor.shape, loaded.card.as_ref())
        })
        .collect()
}

fn read(file: &Path, name: &str, shape: &[i64], card: Option<&ModelCard>) -> Result<Vec<f32>, Failure> {
    if file.extension().is_some_and(|e| e == "npy") {
        return read_npy(file, shape);
    }
    let listed = card.and_then(|c| c.input.iter().find(|i| i.name == name)).and_then(|i| i.picture.as_ref());
    let picture = listed.ok_or_else(|| {
        Failure::input(format!("a picture for `{name}` needs size, layout, scale, mean and std, and nothing states them"))
            .at(file.display().to_string())
            .help("put them into a .toml beside the model (as models/text-orientation.toml does), or give an .npy file")
    })?;
    read_picture(file, picture, shape)
}

fn read_npy(file: &Path, shape: &[i64]) -> Result<Vec<f32>, Failure> {
    let place = file.display().to_string();
    // At most eight bytes an element, and what stands before them.
    let elements = shape.iter().fold(1u64, |all, &extent| all.saturating_mul(extent.unsigned_abs()));
    let bytes = warpsight_files::read(file, elements.saturating_mul(8).saturating_add(HEAD))?;
    npy::read(&bytes, shape).map_err(|why| Failure::input(why).at(place))
}

/// The most that stands before the elements of an array.
const HEAD: u64 = 64 << 10;

/// A picture as the card describes: scaled to height and width, channels in its order, (value · scale − mean) / std.
fn read_picture(file: &Path, card: &Picture, shape: &[i64]) -> Result<Vec<f32>, Failure> {
    let place = file.display().to_string();
    let bytes = warpsight_files::read(file, warpsight_files::RECORDS)?;
    let no_picture = |e: &dyn std::fmt::Display| Failure::input(format!("this is no picture: {e}")).at(&place);
    let reader = || ImageReader::new(Cursor::new(&bytes)).with_guessed_format().map_err(|e| no_picture(&e));
    let (columns, rows) = reader()?.into_dimensions().map_err(|e| no_picture(&e))?;
    if columns.max(rows) > MAX_SIDE || u64::from(columns) * u64::from(rows) > MAX_PIXELS {
        let limits = format!("at most {MAX_PIXELS} pixels are read, {MAX_SIDE} on a side");
        return Err(Failure::input(format!("the picture has {columns} × {rows} pixels; {limits}")).at(&place));
    }
    let picture = reader()?.decode().map_err(|e| no_picture(&e))?;
    let (width, height, channels) = (card.width as usize, card.height as usize, card.channels.count());
    let expected = match card.layout {
        Layout::Nchw => [1, channels, height, width],
        Layout::Nhwc => [1, height, width, channels],
    };
    if shape != expected.map(|e| e as i64) {
        return Err(Failure::input(format!("the card makes pictures {expected:?}, the input has shape {shape:?}")).at(&place));
    }
    let filled = match card.fit {
        Fit::Stretch => card.width,
        // As wide as its proportions say, at most the whole width.
        Fit::PadRight => (f64::from(card.height) * f64::from(picture.width()) / f64::from(picture.height()))
            .ceil()
            .clamp(1.0, f64::from(card.width)) as u32,
    };
    let scaled = image::imageops::resize(&picture.to_rgb8(), filled, card.height, image::imageops::FilterType::Triangle);
    let mut values = vec![0.0; channels * width * height];
    for (x, y, pixel) in scaled.enumerate_pixels() {
        let [r, g, b] = pixel.0.map(f64::from);
        let ordered = match card.channels {
            ChannelOrder::Rgb => [r, g, b],
            ChannelOrder::Bgr => [b, g, r],
            ChannelOrder::Gray => [0.299 * r + 0.587 * g + 0.114 * b; 3],
        };
        for (c, value) in ordered.into_iter().enumerate().take(channels) {
            let at = match card.layout {
                Layout::Nchw => (c * height + y as usize) * width + x as usize,
                Layout::Nhwc => (y as usize * width + x as usize) * channels + c,
            };
            values[at] = ((value * card.scale - card.mean[c]) / card.std[c]) as f32;
        }
    }
    Ok(values)
}
