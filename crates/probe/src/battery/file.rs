//! The files of a phase: what they hold, and reading them back.

use super::BatteryError;
use crate::{Record, Scale};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use warpsight_run::DeviceInfo;

/// The version of the format.
pub const FORMAT: u32 = 1;

/// Everything known of a phase: `<name>.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseFile {
    /// [`FORMAT`].
    pub format: u32,
    /// The name of the file, without ending.
    pub phase: String,
    /// What is measured, and what for.
    pub purpose: String,
    /// When it began, RFC 3339, UTC.
    pub date: String,
    /// The command line.
    pub command: Vec<String>,
    /// Version of warpsight.
    pub warpsight: String,
    /// Commit it was built from, where known.
    pub git: Option<String>,
    /// The machine.
    pub host: Host,
    /// The device, its facts, its driver.
    pub device: DeviceInfo,
    /// How much was measured.
    pub scale: Scale,
    /// Seed of every random input.
    pub seed: u64,
    /// The measurements; [`Record::code`] is a key of [`PhaseFile::programs`].
    #[serde(default)]
    pub records: Vec<Record>,
    /// Kernels by the SHA-256 of their texts.
    #[serde(default)]
    pub programs: BTreeMap<String, String>,
}

/// The machine around the device; not its name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// Model of its processor.
    pub cpu: String,
    /// Processors the system may use.
    pub processors: usize,
    /// Operating system and architecture.
    pub system: String,
}

impl Host {
    /// This machine.
    pub fn here() -> Self {
        let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':').map(|(_, name)| name.trim().to_owned()));
        Self {
            cpu: model.unwrap_or_else(|| "unknown".into()),
            processors: std::thread::available_parallelism().map_or(1, usize::from),
            system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        }
    }
}

/// One line of `<name>.jsonl`, which exists while a phase runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    /// The first: the file as it will be, without records.
    Phase(Box<PhaseFile>),
    /// A kernel, before the first record that names it.
    Program {
        /// SHA-256 of the text.
        hash: String,
        /// The text.
        text: String,
    },
    /// A measurement.
    Record(Box<Record>),
}

impl PhaseFile {
    /// Adds a record whose code is the text itself; the lines that say so.
    pub(super) fn add(&mut self, mut record: Record) -> Vec<Line> {
        let mut lines = vec![];
        if !record.code.is_empty() {
            let text = std::mem::take(&mut record.code);
            let hash = sha256(&text);
            if self.programs.insert(hash.clone(), text.clone()).is_none() {
                lines.push(Line::Program { hash: hash.clone(), text });
            }
            record.code = hash;
        }
        lines.push(Line::Record(Box::new(record.clone())));
        self.records.push(record);
        lines
    }

    /// The file as lines.
    pub(super) fn lines(&self) -> Vec<Line> {
        let head = Self { records: vec![], programs: BTreeMap::new(), ..self.clone() };
        let programs = self.programs.iter().map(|(hash, text)| Line::Program { hash: hash.clone(), text: text.clone() });
        let records = self.records.iter().map(|record| Line::Record(Box::new(record.clone())));
        std::iter::once(Line::Phase(Box::new(head))).chain(programs).chain(records).collect()
    }

    /// Reads a file of a phase: `.json`, or the `.jsonl` of one that was interrupted. Whether the latter has damage beside a torn
    /// last line is the second value.
    ///
    /// # Errors
    /// [`BatteryError::Damaged`] names file and field.
    pub fn read(path: &Path) -> Result<(Self, bool), BatteryError> {
        Self::parse(path, &warpsight_files::read(path, warpsight_files::RECORDS)?)
    }

    /// As [`PhaseFile::read`], of what a file of that name holds.
    ///
    /// # Errors
    /// [`BatteryError::Damaged`] names file and field.
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<(Self, bool), BatteryError> {
        let text = String::from_utf8_lossy(bytes);
        let read = if path.extension().is_some_and(|extension| extension == "jsonl") { from_lines(&text) } else { from_json(&text) };
        let (file, damaged) = read.map_err(|what| BatteryError::Damaged { file: path.to_owned(), what })?;
        let damage = |what: String| Err(BatteryError::Damaged { file: path.to_owned(), what });
        if file.format != FORMAT {
            return damage(format!("field `format`: {} is not known here, only {FORMAT}", file.format));
        }
        for (i, record) in file.records.iter().enumerate() {
            if !record.code.is_empty() && !file.programs.contains_key(&record.code) {
                return damage(format!("field `records[{i}].code`: `programs` has no text of that hash"));
            }
        }
        Ok((file, damaged))
    }
}

fn from_json(text: &str) -> Result<(PhaseFile, bool), String> {
    Ok((typed(text)?, false))
}

/// Reads typed JSON; an error names the field.
fn typed<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, String> {
    let mut json = serde_json::Deserializer::from_str(text);
    let value = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let field = error.path().to_string();
        let what = error.into_inner();
        if what.is_syntax() || what.is_eof() {
            format!("it is no JSON: {what}")
        } else if field == "." {
            format!("it is no file of a battery: {what}")
        } else {
            format!("field `{field}`: {what}")
        }
    })?;
    json.end().map_err(|error| format!("it is no JSON: {error}"))?;
    Ok(value)
}

fn from_lines(text: &str) -> Result<(PhaseFile, bool), String> {
    // What follows the last line's end was not written to its end.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let mut lines = whole.lines();
    let mut file = match lines.next().map(typed::<Line>) {
        Some(Ok(Line::Phase(file))) => *file,
        Some(Ok(_)) => return Err("its first line is not the phase's description".into()),
        Some(Err(what)) => return Err(format!("line 1: {what}")),
        None => return Err("it holds no whole line".into()),
    };
    let mut damaged = false;
    for line in lines {
        match typed(line) {
            Ok(Line::Program { hash, text }) => drop(file.programs.insert(hash, text)),
            Ok(Line::Record(record)) => file.records.push(*record),
            Ok(Line::Phase(_)) | Err(_) => damaged = true,
        }
    }
    let known = |record: &Record| record.code.is_empty() || file.programs.contains_key(&record.code);
    let before = file.records.len();
    file.records.retain(known);
    damaged |= file.records.len() < before;
    Ok((file, damaged))
}

fn sha256(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().fold(String::with_capacity(64), |mut hex, byte| {
        // Writing to a String cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}
