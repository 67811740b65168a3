//! `warpsight probe`: what a GPU is, measured.

mod curves;
mod diff;
mod drawing;
mod fit;
mod found;
pub mod keys;
mod measure;
mod page;
mod replay;
mod roofline;
mod show;

use crate::battery::ScaleArg;
use crate::battery::measuring::{MeasureArgs, minutes};
use crate::failure::{Failure, Kind};
use crate::names::named;
use crate::report::{note, out};
use found::Found;
use std::path::{Path, PathBuf};
use warpsight_ir::Profile;
use warpsight_probe::{Scale, aspects, export};

/// Measure what a GPU is: caches, registers, warps, rates. Each number has an interval, or the reason why it is not known.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// What is measured: opencl:N, cuda:N or sim:NAME (see `warpsight devices`).
    #[arg(long, value_name = "DEVICE", required_unless_present = "replay")]
    device: Option<String>,
    /// Measure nothing, and analyse what a folder holds: records of a probe, or a recording of MT4G or ArchProbe.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["device", "quick", "only", "minutes", "scale"])]
    replay: Option<PathBuf>,
    /// Folder for records, findings.json, profile.toml and page.html; an interrupted probe goes on where it stopped [default:
    /// probe-NAME-DATE; of a probe that is replayed, its own].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Measure what tells most, within two minutes.
    #[arg(long, conflicts_with = "scale")]
    quick: bool,
    /// Only these aspects.
    #[arg(long, value_name = "ASPECT,…", value_delimiter = ',', value_parser = named(names()))]
    only: Vec<String>,
    /// For all aspects together [default: 20, on a CPU 10, with --quick 2].
    #[arg(long, value_name = "N", value_parser = minutes, allow_negative_numbers = true)]
    minutes: Option<f64>,
    #[command(flatten)]
    measure: MeasureArgs,
    /// Write what was found as MT4G's JSON.
    #[arg(long, value_name = "FILE")]
    export_mt4g: Option<PathBuf>,
    /// Write the profile here, too: for --profile of other verbs.
    #[arg(long, value_name = "FILE")]
    profile_out: Option<PathBuf>,
    /// Write the page here, too.
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// As little as shows that it works.
    #[arg(long, value_enum, hide = true)]
    scale: Option<ScaleArg>,
}

#[derive(clap::Subcommand)]
enum Verb {
    /// Compare what was found of two devices, with two drivers, or on two days.
    Diff(diff::Args),
    /// Remake the fits of the models, `data/fits`, from recordings.
    Fit(fit::Args),
}

const EXAMPLES: &str = "Examples:
  What the simulated GPU is, in two minutes, with a page that shows every curve:
    warpsight probe --device sim:adreno640 --quick --out probed
  Only its registers and warps:
    warpsight probe --device sim:adreno640 --only registers,warp
  The records of a probe, or a recording of MT4G or ArchProbe, analysed anew:
    warpsight probe --replay probed --page page.html
  What differs between two probes; exit code 1 where anything does:
    warpsight probe diff probed profiles/adreno640.toml
  Every fit of the models from its recordings, in a checkout:
    warpsight probe fit ../shared/data";

fn names() -> Vec<(&'static str, String)> {
    aspects::all().into_iter().map(|aspect| (aspect.phase.name, aspect.phase.name.to_owned())).collect()
}

impl Args {
    fn scale(&self) -> Scale {
        match self.scale {
            _ if self.quick => Scale::Quick,
            Some(scale) => scale.into(),
            None => Scale::Full,
        }
    }
}

/// Runs the verb.
pub fn run(args: &Args, json: bool) -> Result<(), Failure> {
    match &args.verb {
        Some(Verb::Diff(args)) => return diff::run(args, json),
        Some(Verb::Fit(args)) => return fit::run(args, json),
        None => {}
    }
    let (found, dir, verdict) = match (&args.replay, &args.device) {
        (Some(recorded), _) => {
            let found = replay::replay(recorded)?;
            let own = if replay::is_ours(recorded) { Some(recorded.clone()) } else { None };
            (found, args.out.clone().or(own).unwrap_or_else(|| measure::folder_of(None)), Ok(()))
        }
        (None, Some(device)) => measure::measure(args, device)?,
        (None, None) => return Err(Failure::input("--device says what is measured, or --replay what is analysed")),
    };
    let written = write(args, &found, &dir);
    if json {
        out(found.json())?
    } else {
        show::show(&found)?
    }
    written.and(export(args, &found)).and(verdict)
}

/// Writes everything; the first file that cannot be written is the failure, and all others are written nevertheless.
fn write(args: &Args, found: &Found, dir: &Path) -> Result<(), Failure> {
    let page = page::page(found);
    let profile = found.profile().text();
    if let Err(error) = Profile::parse(&profile) {
        note(format_args!("the profile has a number that other verbs refuse: {}", error.sentence()));
    }
    let folder = warpsight_files::make_folder(dir).map_err(Failure::from).and_then(|()| {
        let all = [("findings.json", &found.text()), ("profile.toml", &profile), ("page.html", &page)];
        all.into_iter().try_for_each(|(name, text)| Ok(warpsight_files::write(&dir.join(name), text.as_bytes())?))
    });
    match &folder {
        Ok(()) => note(format_args!("findings.json, profile.toml and page.html are in {}", dir.display())),
        Err(failure) => note(format_args!("the results could not be written to {}: {failure}", dir.display())),
    }
    let own = [(&args.profile_out, &profile), (&args.page, &page)];
    let given = own.into_iter().filter_map(|(path, text)| Some(warpsight_files::write(path.as_ref()?, text.as_bytes())));
    // The others are written though one cannot be.
    let mut written = Ok(());
    for one in given {
        written = written.and(one.map_err(Failure::from));
    }
    // A folder that nobody named may be one that nobody can write to.
    let folder = if args.out.is_some() { folder } else { Ok(()) };
    folder.and(written)
}

/// Writes MT4G's JSON where it is asked for.
fn export(args: &Args, found: &Found) -> Result<(), Failure> {
    let Some(path) = &args.export_mt4g else { return Ok(()) };
    let json = export::mt4g(&found.findings, &found.stated()).map_err(|error| Failure::new(Kind::Input, error.to_string()))?;
    let text = serde_json::to_string_pretty(&json).unwrap_or_default() + "\n";
    Ok(warpsight_files::write(path, text.as_bytes())?)
}
