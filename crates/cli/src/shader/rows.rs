//! What models are trained on and compared by: rows made of a corpus and its measurements, or read from the table that they were kept in.

use super::shaders::entries;
use crate::explore::pool;
use crate::failure::Failure;
use crate::progress;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use warpsight_ir::{Seconds, sample};
use warpsight_learn::models::table::Table;
use warpsight_learn::models::{Row, RowError};
use warpsight_learn::predictor::Device;
use warpsight_shader::corpus::Entry;
use warpsight_shader::scene::Scene;
use warpsight_shader::tokens::Dialect;
use warpsight_shader::trace::QUADS;
use warpsight_shader::{SeeError, View};

/// Where rows come from.
#[derive(clap::Args, Clone)]
pub struct RowsArgs {
    /// A corpus, as `shader collect` makes it.
    #[arg(long, value_name = "FOLDER", requires = "shots")]
    corpus: Option<PathBuf>,
    /// What `shader profile` measured, as CSV.
    #[arg(long, value_name = "FILE.csv", requires = "corpus")]
    shots: Option<PathBuf>,
    /// What the device is called.
    #[arg(long, value_name = "NAME", default_value = "lavapipe")]
    device: String,
    /// Rows that were made before. With a corpus, this is where they are written.
    #[arg(long, value_name = "FILE.jsonl", required_unless_present = "corpus")]
    rows: Option<PathBuf>,
    /// How many 2×2 quads of each shader are executed to count its blocks.
    #[arg(long, value_name = "N", default_value_t = QUADS)]
    quads: usize,
}

/// Rows, and what could not become one.
pub struct Rows {
    /// The rows.
    pub table: Table,
    /// Reasons, and how many shaders each left out.
    pub left_out: BTreeMap<String, usize>,
}

/// A measurement.
struct Shot {
    shader: String,
    frame: [u32; 2],
    texture: u32,
    seconds: f64,
}

impl RowsArgs {
    /// Makes or reads the rows, with words in these dialects.
    pub fn rows(&self, dialects: &BTreeSet<Dialect>) -> Result<Rows, Failure> {
        let (Some(folder), Some(shots)) = (&self.corpus, &self.shots) else {
            if !dialects.is_empty() {
                return Err(Failure::input("this model reads modules, which a table of rows has not").help("give --corpus and --shots"));
            }
            // One of both is required.
            let path = self.rows.as_deref().unwrap_or(Path::new(""));
            let text = warpsight_files::read_text(path, warpsight_files::RECORDS)?;
            let table = Table::read(&text).map_err(|e| Failure::input(e.to_string()).at(path.display().to_string()))?;
            return Ok(Rows { table, left_out: BTreeMap::new() });
        };
        let made = self.made(folder, shots, dialects)?;
        if let Some(to) = &self.rows {
            let text = made.table.text().map_err(|e| Failure::input(e.to_string()))?;
            warpsight_files::write(to, text.as_bytes())?;
        }
        Ok(made)
    }

    fn made(&self, folder: &Path, shots: &Path, dialects: &BTreeSet<Dialect>) -> Result<Rows, Failure> {
        let entries = entries(folder)?;
        let by_id: BTreeMap<&str, &Entry> = entries.iter().map(|e| (e.id.as_str(), e)).collect();
        let mut left_out: BTreeMap<String, usize> = BTreeMap::new();
        let (shots, description) = read_shots(shots, &mut left_out)?;
        let known: Vec<(&Entry, &Shot)> = shots.iter().filter_map(|shot| Some((*by_id.get(shot.shader.as_str())?, shot))).collect();
        if known.len() < shots.len() {
            *left_out.entry("not in the corpus".to_owned()).or_default() += shots.len() - known.len();
        }
        let base = Scene::default();
        let bar = progress::bar(known.len(), "traced");
        let work = |index: u64| {
            let (entry, shot) = known[index as usize];
            bar.inc(1);
            row(folder, (entry, shot), &base, self.quads, dialects)
        };
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let mut rows = Vec::new();
        pool::each(known.len() as u64, threads, work, |_, made| {
            match made {
                Ok(row) => rows.push(row),
                Err(reason) => *left_out.entry(reason).or_default() += 1,
            }
            Ok(())
        })?;
        bar.finish_and_clear();
        let licences = rows.iter().filter_map(|row| Some((row.source.clone(), by_id.get(row.id.as_str())?.licence.clone())));
        let device = Device { name: self.device.clone(), software: is_software(&description), description };
        let table = Table { device, date: None, licences: licences.collect(), rows };
        Ok(Rows { table, left_out })
    }
}

/// Whether a device rasterises on a CPU.
fn is_software(description: &str) -> bool {
    let lower = description.to_lowercase();
    ["llvmpipe", "lavapipe", "swiftshader"].iter().any(|name| lower.contains(name))
}

/// A row, or why there is none: in few words, for they are counted.
fn row(folder: &Path, (entry, shot): (&Entry, &Shot), base: &Scene, quads: usize, dialects: &BTreeSet<Dialect>) -> Result<Row, String> {
    let path = folder.join("spv").join(format!("{}.spv", entry.id));
    let bytes = warpsight_files::read(&path, warpsight_files::TEXT).map_err(|_| "its module is not in the corpus".to_owned())?;
    let shader = super::read(&path, &bytes).map_err(|_| "its module cannot be read".to_owned())?;
    let mut scene = base.clone();
    (scene.frame, scene.texture) = (shot.frame, shot.texture);
    scene.uniforms.clone_from(&entry.uniforms);
    let seen = shader.see(&scene, &View { quads, ..View::default() }).map_err(|error| match error {
        SeeError::Interpret(_) => "it cannot be interpreted".to_owned(),
        _ => "no scene fits it".to_owned(),
    })?;
    let row = Row::of(&shader, &seen, dialects.iter().copied()).map_err(|error| match error {
        RowError::Module(_) => "its module cannot be read".to_owned(),
        RowError::Words(error) => error.to_string(),
    })?;
    Ok(Row {
        id: entry.id.clone(),
        source: entry.source.clone(),
        group: entry.group.clone(),
        mutant: entry.parent.is_some() || shot.frame != Scene::FRAME || shot.texture != Scene::TEXTURE,
        loops: entry.loops,
        seconds: Some(Seconds(shot.seconds)),
        ..row
    })
}

/// The measurements of a CSV file, and how its device calls itself.
fn read_shots(path: &Path, left_out: &mut BTreeMap<String, usize>) -> Result<(Vec<Shot>, String), Failure> {
    let bad = |what: String| Failure::input(what).at(path.display().to_string());
    let text = warpsight_files::read_text(path, warpsight_files::RECORDS)?;
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
    let head = reader.headers().map_err(|e| bad(e.to_string()))?.clone();
    let column = |names: &[&str]| head.iter().position(|h| names.contains(&h));
    let missing = |name: &str| bad(format!("there is no column `{name}`")).help("`shader profile --csv` writes such files");
    let id = column(&["shader", "id"]).ok_or_else(|| missing("shader"))?;
    let time = column(&["seconds"]).ok_or_else(|| missing("seconds"))?;
    let (status, flags) = (column(&["status"]), column(&["flags"]));
    let (width, height, texture) = (column(&["width"]), column(&["height"]), column(&["texture"]));
    let (name, driver) = (column(&["device", "name"]), column(&["driver"]));
    let mut shots: BTreeMap<(String, [u32; 2], u32), Shot> = BTreeMap::new();
    let mut description = String::new();
    for record in reader.records() {
        let record = record.map_err(|e| bad(e.to_string()))?;
        let field = |at: Option<usize>| at.and_then(|at| record.get(at)).unwrap_or("");
        let mut leave = |why: &str| *left_out.entry(why.to_owned()).or_default() += 1;
        if status.is_some() && field(status) != "done" {
            leave(&format!("not measured: {}", field(status)));
            continue;
        }
        let flags: Vec<&str> = field(flags).split([' ', ';', '|', ',']).filter(|f| matches!(*f, "black" | "white" | "unstable")).collect();
        if let Some(flag) = flags.first() {
            leave(&format!("its image is {flag}"));
            continue;
        }
        let number = |at: Option<usize>, default: u32| field(at).parse().unwrap_or(default);
        let frame = [number(width, Scene::FRAME[0]), number(height, Scene::FRAME[1])];
        let texture = number(texture, Scene::TEXTURE);
        let line = record.position().map_or(0, |position| position.line());
        let seconds: f64 = field(Some(time)).parse().map_err(|_| bad(format!("line {line}: `{}` are no seconds", field(Some(time)))))?;
        let Seconds(seconds) = sample::time(seconds).map_err(|wrong| bad(format!("line {line}: {wrong}")))?;
        if description.is_empty() {
            description = [field(name), field(driver)].join(" ").trim().to_owned();
        }
        // The newest attempt stands last.
        let shader = field(Some(id)).to_owned();
        shots.insert((shader.clone(), frame, texture), Shot { shader, frame, texture, seconds });
    }
    Ok((shots.into_values().collect(), description))
}
