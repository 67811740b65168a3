//! The folder of a battery: one file per phase, and an index.
//!
//! While a phase runs, each record is a line of `<name>.jsonl`, on the disk before the next measurement begins. At its end the whole
//! is written to `<name>.json` under another name, renamed, and the lines go. What cannot be written goes to the last resort, line
//! by line, so that nothing measured is lost.

use super::date::{now, rfc3339};
use super::file::{FORMAT, Host, Line, PhaseFile};
use super::{BatteryError, Summary, Task, lock};
use crate::{Record, Scale};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use warpsight_run::DeviceInfo;

/// Who measures: what every file says of its origin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Origin {
    /// The command line.
    pub command: Vec<String>,
    /// Version of warpsight.
    pub warpsight: String,
    /// Commit it was built from, where known.
    pub git: Option<String>,
    /// The machine.
    pub host: Host,
    /// The device the battery was started for.
    pub device: DeviceInfo,
    /// How much is measured.
    pub scale: Scale,
    /// Seed of every random input.
    pub seed: u64,
}

/// `battery.json`: what ran, and what did not and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Index {
    /// [`FORMAT`].
    pub format: u32,
    /// When the battery was last started, RFC 3339, UTC.
    pub date: String,
    /// By whom.
    pub origin: Origin,
    /// The phases, in the order they were run.
    pub phases: Vec<Summary>,
}

/// What is done with a line that cannot be written.
pub type LastResort = Box<dyn FnMut(&str)>;

/// A folder of measurements that this process alone writes.
pub struct Folder {
    dir: PathBuf,
    index: Index,
    open: Option<Running>,
    last_resort: LastResort,
    trouble: Option<String>,
    again: bool,
    _lock: File,
}

/// The phase that runs.
struct Running {
    file: PhaseFile,
    /// `None` after a write failed: from there on lines go to the last resort.
    lines: Option<File>,
}

impl Folder {
    /// Opens a folder, makes it where there is none. What an earlier battery measured there is kept; with `again` its files are
    /// moved aside (`stencils-1.json`) and everything is measured once more. A seed chosen earlier is used again unless one is given.
    ///
    /// # Errors
    /// Where another battery writes there, it holds measurements of another device or scale, or cannot be written.
    pub fn open(dir: &Path, mut origin: Origin, seed: Option<u64>, again: bool, last_resort: LastResort) -> Result<Self, BatteryError> {
        let explained = |error: std::io::Error| std::io::Error::new(error.kind(), format!("cannot create the folder: {error}"));
        warpsight_files::make_folder(dir).map_err(|error| BatteryError::io(dir)(explained(error.into())))?;
        let place = dir.join(".lock");
        let lock = lock::lock(&place).map_err(BatteryError::io(&place))?;
        let lock = lock.ok_or_else(|| BatteryError::FolderBusy { dir: dir.to_owned() })?;
        let earlier = read_index(&dir.join("battery.json"))?;
        let mut phases = vec![];
        if let Some(earlier) = earlier {
            let (found, wanted) = (identity(&earlier.origin), identity(&origin));
            if found != wanted {
                return Err(BatteryError::Foreign { dir: dir.to_owned(), found, wanted });
            }
            phases = earlier.phases;
            origin.seed = earlier.origin.seed;
        }
        origin.seed = seed.unwrap_or(origin.seed);
        let index = Index { format: FORMAT, date: rfc3339(now()), origin, phases };
        let mut folder = Self { dir: dir.to_owned(), index, open: None, last_resort, trouble: None, again, _lock: lock };
        folder.write_index();
        match folder.trouble.take() {
            // Before anything was measured a full disk is an error; later it is a nuisance.
            Some(trouble) => Err(BatteryError::Io { path: folder.dir, source: std::io::Error::other(trouble) }),
            None => Ok(folder),
        }
    }

    /// The seed of every random input.
    pub fn seed(&self) -> u64 {
        self.index.origin.seed
    }

    /// What could not be written, and why; `None` where all could.
    pub fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// The index so far.
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// Whether an earlier battery measured all of a phase that this one could. What failed there, or had no time, is tried again.
    pub fn is_done(&self, name: &str) -> bool {
        let settled = |(file, _): (PhaseFile, bool)| !file.records.iter().any(|record| record.outcome.may_change());
        // Lines beside the file are those of such another try, interrupted.
        !self.again && !self.path(name, "jsonl").exists() && PhaseFile::read(&self.path(name, "json")).is_ok_and(settled)
    }

    /// The summary of a phase that an earlier battery measured.
    pub fn earlier(&self, name: &str) -> Option<Summary> {
        if !self.is_done(name) {
            return None;
        }
        let listed = self.index.phases.iter().find(|summary| summary.name == name && summary.complete).cloned();
        let read = || {
            let (file, _) = PhaseFile::read(&self.path(name, "json")).ok()?;
            Some(Summary { complete: true, ..Summary::of(name, &file.records) })
        };
        let summary = listed.or_else(read)?;
        Some(Summary { note: Some("measured earlier".into()), ..summary })
    }

    /// Begins a phase, or continues one that was interrupted, or of which something failed: those records give way to new ones.
    ///
    /// # Errors
    /// Where files of an earlier battery cannot be moved aside.
    pub fn begin(&mut self, task: &Task, device: &DeviceInfo) -> Result<(), BatteryError> {
        let origin = &self.index.origin;
        let mut file = PhaseFile {
            format: FORMAT,
            phase: task.name.clone(),
            purpose: task.phase.purpose.into(),
            date: rfc3339(now()),
            command: origin.command.clone(),
            warpsight: origin.warpsight.clone(),
            git: origin.git.clone(),
            host: origin.host.clone(),
            device: device.clone(),
            scale: origin.scale,
            seed: origin.seed,
            records: vec![],
            programs: Default::default(),
        };
        let (whole, path) = (self.path(&task.name, "json"), self.path(&task.name, "jsonl"));
        // Lines go on from the file beside them: they have all of it that counts.
        for earlier in [&whole, &path].into_iter().filter(|earlier| earlier.exists()) {
            match PhaseFile::read(earlier) {
                Ok((left, damaged)) if !self.again && same(&left, &file) => {
                    if damaged {
                        self.move_aside(earlier)?;
                    }
                    (file.date, file.records, file.programs) = (left.date, left.records, left.programs);
                }
                // To be measured once more, another driver, or nothing that could be read: kept, but not mixed with this.
                _ => self.move_aside(earlier)?,
            }
        }
        file.records.retain(|record| !record.outcome.may_change());
        let mut running = Running { lines: None, file };
        let text: String = running.file.lines().iter().map(to_line).collect();
        match warpsight_files::write(&path, text.as_bytes()).map_err(Into::into).and_then(|()| File::options().append(true).open(&path)) {
            Ok(lines) => running.lines = Some(lines),
            Err(error) => {
                self.trouble = Some(format!("`{}`: {error}", path.display()));
                (self.last_resort)(text.trim_end());
            }
        }
        self.open = Some(running);
        Ok(())
    }

    /// Names of the measurements of this phase that have a record.
    pub fn known(&self) -> HashSet<String> {
        let records = self.open.iter().flat_map(|running| &running.file.records);
        records.map(|record| record.name.clone()).collect()
    }

    /// The records of this phase so far.
    pub fn records(&self) -> &[Record] {
        self.open.as_ref().map_or(&[], |running| &running.file.records)
    }

    /// Keeps a record: on the disk when this returns, or with the last resort.
    pub fn record(&mut self, record: Record) {
        let Some(running) = &mut self.open else { return };
        let text: String = running.file.add(record).iter().map(to_line).collect();
        if let Some(lines) = &mut running.lines {
            match lines.write_all(text.as_bytes()).and_then(|()| lines.sync_data()) {
                Ok(()) => return,
                Err(error) => {
                    self.trouble = Some(format!("`{}.jsonl` in `{}`: {error}", running.file.phase, self.dir.display()));
                    running.lines = None;
                    // Who reads there must know what these records are of.
                    if let Some(head) = running.file.lines().first() {
                        (self.last_resort)(to_line(head).trim_end());
                    }
                }
            }
        }
        (self.last_resort)(text.trim_end());
    }

    /// Ends the phase; its records. Where measurements are still to be taken, its lines stay for another time.
    pub fn end(&mut self, complete: bool) -> Vec<Record> {
        let Some(running) = self.open.take() else { return vec![] };
        if complete {
            let path = self.path(&running.file.phase, "json");
            let json = serde_json::to_vec_pretty(&running.file).map_err(std::io::Error::other);
            match json.and_then(|json| Ok(warpsight_files::write(&path, &json)?)) {
                // Were it to stay, the lines would only be read again.
                Ok(()) => drop(std::fs::remove_file(self.path(&running.file.phase, "jsonl"))),
                Err(error) => self.trouble = Some(format!("`{}`: {error}", path.display())),
            }
        }
        running.file.records
    }

    /// Notes in the index what came of a phase.
    pub fn note(&mut self, summary: &Summary) {
        self.index.phases.retain(|known| known.name != summary.name);
        self.index.phases.push(summary.clone());
        self.write_index();
    }

    fn write_index(&mut self) {
        let path = self.path("battery", "json");
        let json = serde_json::to_vec_pretty(&self.index).map_err(std::io::Error::other);
        if let Err(error) = json.and_then(|json| Ok(warpsight_files::write(&path, &json)?)) {
            self.trouble = Some(format!("`{}`: {error}", path.display()));
        }
    }

    fn path(&self, name: &str, ending: &str) -> PathBuf {
        self.dir.join(format!("{name}.{ending}"))
    }

    /// Gives a file another name: nothing measured is overwritten.
    fn move_aside(&self, path: &Path) -> Result<(), BatteryError> {
        if !path.exists() {
            return Ok(());
        }
        let (stem, ending) =
            (path.file_stem().unwrap_or_default().to_string_lossy(), path.extension().unwrap_or_default().to_string_lossy());
        let free = (1..).map(|n| self.path(&format!("{stem}-{n}"), &ending)).find(|free| !free.exists());
        free.map_or(Ok(()), |free| std::fs::rename(path, free)).map_err(BatteryError::io(path))
    }
}

/// Whether records of one file may stand in the other.
fn same(left: &PhaseFile, file: &PhaseFile) -> bool {
    let what =
        |file: &PhaseFile| (file.device.backend.clone(), file.device.name.clone(), file.device.driver.clone(), file.scale, file.seed);
    what(left) == what(file)
}

/// Device and scale, for people.
fn identity(origin: &Origin) -> String {
    let scale = match origin.scale {
        Scale::Full => "full",
        Scale::Quick => "quick",
        Scale::Tiny => "tiny",
    };
    format!("{} ({}, scale {scale})", origin.device.name, origin.device.backend)
}

fn to_line(line: &Line) -> String {
    // Only maps with other keys than words could fail, and there are none.
    serde_json::to_string(line).unwrap_or_default() + "\n"
}

fn read_index(path: &Path) -> Result<Option<Index>, BatteryError> {
    match warpsight_files::read(path, warpsight_files::RECORDS) {
        Ok(bytes) => {
            let damaged = |what: serde_json::Error| BatteryError::Damaged { file: path.to_owned(), what: what.to_string() };
            serde_json::from_slice(&bytes).map(Some).map_err(damaged)
        }
        Err(error) if error.is_absence() => Ok(None),
        Err(error) => Err(error.into()),
    }
}
