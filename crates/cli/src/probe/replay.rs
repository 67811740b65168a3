//! Measurements that lie in a folder: those of a probe, or what others recorded.

use super::found::{Found, Probed};
use crate::failure::Failure;
use std::path::Path;
use warpsight_probe::battery::{Index, PhaseFile, Summary};
use warpsight_probe::replay::{archprobe, mt4g};
use warpsight_probe::{Record, aspects};
use warpsight_run::DeviceInfo;

/// What can be replayed.
const FORMS: &str = "a folder that `warpsight probe` wrote, a recording of MT4G (L1_Size.csv.gz, …), or one of ArchProbe \
                     (ImageCacheHierarchyPChase.csv, …)";

/// How measurements of one's own are called.
pub const MEASURED: &str = "measured";

/// What the measurements in a folder say, in whatever form they are. What could not be read of them is noted.
pub fn replay(dir: &Path) -> Result<Found, Failure> {
    if !dir.is_dir() {
        let what = if dir.exists() { "is no folder" } else { "is not there" };
        return Err(Failure::input(format!("`{}` {what}", dir.display())).help(format!("--replay takes {FORMS}")));
    }
    if is_ours(dir) {
        return Ok(Measured::read(dir)?.found(vec![]));
    }
    let refused = |error: &dyn std::fmt::Display| Failure::input(error.to_string()).help(format!("--replay takes {FORMS}"));
    let (form, findings, notes) = if mt4g::is_one(dir) {
        let recording = mt4g::read(dir).map_err(|error| refused(&error))?;
        ("a recording of MT4G", mt4g::analyse(&recording), recording.notes)
    } else if archprobe::is_one(dir) {
        let recording = archprobe::read(dir).map_err(|error| refused(&error))?;
        ("a recording of ArchProbe", archprobe::analyse(&recording), recording.notes)
    } else {
        return Err(refused(&format_args!("`{}` holds no measurements of a form that is known", dir.display())));
    };
    Ok(Found { notes, ..Found::new(Probed { form: form.into(), described: None }, findings) })
}

/// Whether a folder holds records of aspects.
pub fn is_ours(dir: &Path) -> bool {
    aspects::all().iter().any(|aspect| ["json", "jsonl"].iter().any(|ending| dir.join(format!("{}.{ending}", aspect.phase.name)).is_file()))
}

/// What a probe wrote.
pub struct Measured {
    device: DeviceInfo,
    date: String,
    /// Of all aspects, in their order.
    pub records: Vec<Record>,
    summaries: Vec<Summary>,
    notes: Vec<String>,
}

impl Measured {
    /// Of a device, before there is any record.
    pub fn nothing(device: DeviceInfo, date: String) -> Self {
        Self { device, date, records: vec![], summaries: vec![], notes: vec![] }
    }

    /// Reads the files of all aspects in a folder; one that cannot be read is noted.
    pub fn read(dir: &Path) -> Result<Self, Failure> {
        let mut all: Option<Self> = None;
        let mut notes = vec![];
        let index = index(dir);
        for aspect in aspects::all() {
            let name = aspect.phase.name;
            let Some((file, complete)) = file(dir, name, &mut notes) else { continue };
            let known = index.as_ref().and_then(|index| index.phases.iter().find(|summary| summary.name == name));
            let note = (!complete).then(|| "it was interrupted".to_owned()).or_else(|| known.and_then(|known| known.note.clone()));
            let seconds = known.map_or(0.0, |known| known.seconds);
            let summary = Summary { complete, note, seconds, ..Summary::of(name, &file.records) };
            match &mut all {
                None => {
                    let (device, date) = (file.device, file.date);
                    all = Some(Self { device, date, records: file.records, summaries: vec![summary], notes: vec![] });
                }
                Some(all) => {
                    if (&all.device.name, &all.device.driver) != (&file.device.name, &file.device.driver) {
                        notes.push(format!("`{name}` was measured on another device, or with another driver, than the first aspect"));
                    }
                    all.date = std::mem::take(&mut all.date).min(file.date);
                    all.records.extend(file.records);
                    all.summaries.push(summary);
                }
            }
        }
        match all {
            Some(all) => Ok(Self { notes, ..all }),
            None => Err(Failure::input(notes.join("\n")).at(dir.display().to_string())),
        }
    }

    /// What these records, and others that are on no disk, say.
    pub fn found(mut self, others: Vec<Record>) -> Found {
        let is_new = |record: &Record| !self.records.iter().any(|own| (&own.phase, &own.name) == (&record.phase, &record.name));
        let new: Vec<Record> = others.into_iter().filter(is_new).collect();
        self.records.extend(new);
        let findings = aspects::analyse(&self.device, &self.records);
        let device = Probed { form: MEASURED.into(), described: Some(self.device) };
        Found { date: Some(self.date), aspects: self.summaries, notes: self.notes, ..Found::new(device, findings) }
    }
}

/// The records of an aspect, and whether all of it was measured. Lines of what was interrupted have all that the file beside them has.
fn file(dir: &Path, name: &str, notes: &mut Vec<String>) -> Option<(PhaseFile, bool)> {
    let mut read = |ending: &str| {
        let path = dir.join(format!("{name}.{ending}"));
        let read = path.is_file().then(|| PhaseFile::read(&path))?;
        let damaged = format!("`{name}.{ending}` has damaged lines, which were left out");
        notes.extend(read.as_ref().map_or_else(|error| Some(error.to_string()), |(_, torn)| torn.then_some(damaged)));
        read.ok().map(|(file, _)| file)
    };
    read("jsonl").map(|file| (file, false)).or_else(|| read("json").map(|file| (file, true)))
}

/// The folder's index; without it, only times are not known.
fn index(dir: &Path) -> Option<Index> {
    let text = warpsight_files::read(&dir.join("battery.json"), warpsight_files::RECORDS).ok()?;
    serde_json::from_slice(&text).ok()
}
