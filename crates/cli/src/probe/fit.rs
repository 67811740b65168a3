//! `warpsight probe fit`: the fits of the models, remade from recordings.

use crate::failure::{Failure, Kind};
use crate::report::Column::{Below, Keep};
use crate::report::{note, out, table};
use flate2::read::MultiGzDecoder;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use warpsight_predict::fit::{FILES, File, Recordings, texts};

/// Remake the fits of the models from recordings of GPUs: how fast memory is by what is in flight, how caches hold what is used again, what
/// tags of a first level take, how far off predictions are. The same recordings give the same bytes; a fit whose recordings are missing is
/// said and left as it is. Exit code 0: all are made; 1: with --check, some differ; 2: some could not be made.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// The folder of the recordings, which has volumes/measured and tuning.
    #[arg(default_value = "../shared/data")]
    data: PathBuf,
    /// Where the fits lie.
    #[arg(long, value_name = "DIR", default_value = "data/fits")]
    into: PathBuf,
    /// Write nothing, and compare.
    #[arg(long)]
    check: bool,
}

const EXAMPLES: &str = "Examples:
  In a checkout, with the recordings beside it:
    warpsight probe fit ../shared/data
  Whether the committed fits are what the recordings give:
    warpsight probe fit ../shared/data --check";

/// What became of a fit.
enum Made {
    /// Its file says so already.
    Same,
    /// Its file said something else, or was not there.
    Written,
    /// The same, and nothing was written.
    Differs,
    /// Why there is none.
    Not(String),
}

impl Made {
    fn name(&self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Written => "written",
            Self::Differs => "differs",
            Self::Not(_) => "not made",
        }
    }
}

/// Runs the verb.
pub fn run(args: &Args, json: bool) -> Result<(), Failure> {
    let samples = Samples::read(&args.data)?;
    let made = texts(&Recordings::new(samples.texts.clone()));
    let mut found = vec![];
    let mut trouble = Ok(());
    for (file, text) in FILES.iter().zip(made) {
        let placed = placed(file, text.map_err(|error| error.to_string()), args);
        // The others are written though one cannot be.
        let made = placed.unwrap_or_else(|failure| {
            let why = failure.to_string();
            trouble = std::mem::replace(&mut trouble, Ok(())).and(Err(failure));
            Made::Not(why)
        });
        found.push((file, made));
    }
    if !found.iter().all(|(_, made)| matches!(made, Made::Same)) && stale(&found, &args.into) {
        note("time.toml rests on the other fits as this program was compiled with them: build it anew, and run this again");
    }
    if json {
        let fit = |(file, made): &(&File, Made)| {
            let samples: BTreeMap<_, _> = file.samples.iter().map(|path| (path, samples.lack(path))).collect();
            let why = if let Made::Not(why) = made { Some(why) } else { None };
            json!({ "name": file.name, "is": made.name(), "why": why, "samples": samples })
        };
        out(json!({ "fits": found.iter().map(fit).collect::<Vec<_>>() }))?;
    } else {
        let mut rows = table(&[Keep("fit"), Keep("is"), Below("from")]);
        for (file, made) in &found {
            let lacking: Vec<String> = file.samples.iter().filter_map(|path| Some(format!("{path}: {}", samples.lack(path)?))).collect();
            let from = match made {
                Made::Not(_) if !lacking.is_empty() => lacking.join("; "),
                Made::Not(why) => why.clone(),
                _ => file.samples.join(", "),
            };
            rows.add_row([file.name.to_owned(), made.name().to_owned(), from]);
        }
        out(rows)?;
    }
    trouble.and(verdict(&found, args))
}

/// Compares a fit with its file, which is written where it may be.
fn placed(file: &File, text: Result<String, String>, args: &Args) -> Result<Made, Failure> {
    let text = match text {
        Ok(text) => text,
        Err(why) => return Ok(Made::Not(why)),
    };
    let path = args.into.join(file.name);
    let before = match warpsight_files::read(&path, warpsight_files::RECORDS) {
        Ok(before) => Some(before),
        Err(error) if error.is_absence() => None,
        Err(error) => return Err(error.into()),
    };
    if before.is_some_and(|before| before == text.as_bytes()) {
        return Ok(Made::Same);
    }
    if args.check {
        return Ok(Made::Differs);
    }
    warpsight_files::make_folder(&args.into)?;
    warpsight_files::write(&path, text.as_bytes())?;
    Ok(Made::Written)
}

/// Whether a fit that others rest on is no more what this program was compiled with.
fn stale(found: &[(&File, Made)], into: &Path) -> bool {
    let now = |file: &File| warpsight_files::read_text(&into.join(file.name), warpsight_files::TEXT).ok();
    let others = found.iter().filter(|(file, _)| file.name != "time.toml");
    others.filter(|(_, made)| matches!(made, Made::Written)).any(|(file, _)| now(file).is_some_and(|text| text != file.compiled))
}

fn verdict(found: &[(&File, Made)], args: &Args) -> Result<(), Failure> {
    let named = |is: fn(&Made) -> bool| {
        let names: Vec<&str> = found.iter().filter(|(_, made)| is(made)).map(|(file, _)| file.name).collect();
        (!names.is_empty()).then(|| names.join(", "))
    };
    if let Some(names) = named(|made| matches!(made, Made::Not(_))) {
        let place = args.data.display().to_string();
        return Err(Failure::input(format!("not made, and left as they were: {names}")).at(place));
    }
    match named(|made| matches!(made, Made::Differs)) {
        Some(names) => {
            Err(Failure::new(Kind::Different, format!("not what the recordings give: {names}")).at(args.into.display().to_string()))
        }
        None => Ok(()),
    }
}

/// The recordings that fits are made of.
struct Samples {
    texts: Vec<(String, String)>,
    /// Why others are not there.
    lacking: BTreeMap<&'static str, String>,
}

impl Samples {
    /// Those in a folder, as they are or packed.
    fn read(data: &Path) -> Result<Self, Failure> {
        if !data.is_dir() {
            return Err(Failure::input("there is no such folder")
                .at(data.display().to_string())
                .help("it has volumes/measured and tuning"));
        }
        let mut paths: Vec<&str> = FILES.iter().flat_map(|file| file.samples).copied().collect();
        paths.sort_unstable();
        paths.dedup();
        let mut samples = Self { texts: vec![], lacking: BTreeMap::new() };
        for path in paths {
            match sample(data, path) {
                Ok(text) => samples.texts.push((path.to_owned(), text)),
                Err(error) if error.is_absence() => drop(samples.lacking.insert(path, "is missing".to_owned())),
                Err(error) => drop(samples.lacking.insert(path, error.to_string())),
            }
        }
        Ok(samples)
    }

    /// Why a recording is not there.
    fn lack(&self, path: &str) -> Option<&str> {
        self.lacking.get(path).map(String::as_str)
    }
}

/// A recording's text.
fn sample(data: &Path, path: &str) -> Result<String, warpsight_files::FileError> {
    let plain = data.join(path);
    match warpsight_files::read(&plain, warpsight_files::RECORDS) {
        Err(error) if error.is_absence() => {
            let packed = data.join(format!("{path}.gz"));
            let bytes = warpsight_files::read(&packed, warpsight_files::RECORDS)?;
            let bytes = warpsight_files::read_from(&packed, MultiGzDecoder::new(bytes.as_slice()), warpsight_files::RECORDS)?;
            warpsight_files::text(&packed, bytes)
        }
        read => warpsight_files::text(&plain, read?),
    }
}
