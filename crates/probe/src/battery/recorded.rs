//! What a battery measured, wherever it lies: in its folder, in the archive of one, in a single file of a phase.

use super::{BatteryError, PhaseFile};
use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Component, Path, PathBuf};
use tar::{Archive, EntryType};

/// Files beside the phases that hold no records of ours.
const OTHERS: [&str; 3] = ["battery.json", "peers.json", "findings.json"];
/// The most that an archive may unpack to: no battery writes a tenth of it, and a few bytes can unpack to any number.
const UNPACKED: u64 = 512 << 20;
/// The most files in an archive.
const ENTRIES: usize = 10_000;

/// A file of a phase that could be read, or why it could not, with its name.
pub type Recorded = (PathBuf, Result<PhaseFile, BatteryError>);

/// The files of phases in a folder that a battery wrote, in its archive (`.tar.gz` or `.tar`), or the file itself, by name.
/// Nothing is unpacked to the disk.
///
/// # Errors
/// There is nothing of a battery, or the archive is damaged or unpacks to more than any battery writes.
pub fn recorded(path: &Path) -> Result<Vec<Recorded>, BatteryError> {
    let failed = BatteryError::io(path);
    let mut found: Vec<Recorded> = if path.is_dir() {
        let read = |path: PathBuf| {
            let read = PhaseFile::read(&path).map(|(file, _)| file);
            (path, read)
        };
        warpsight_files::entries(path)?.into_iter().filter(|path| is_phase(path)).map(read).collect()
    } else {
        let mut file = BufReader::new(File::open(path).map_err(&failed)?);
        match form(file.fill_buf().map_err(&failed)?) {
            Form::Gzip => packed(path, MultiGzDecoder::new(file))?,
            Form::Tar => packed(path, file)?,
            Form::Text => {
                let bytes = warpsight_files::read_from(path, file, warpsight_files::RECORDS)?;
                vec![(path.to_owned(), PhaseFile::parse(path, &bytes).map(|(file, _)| file))]
            }
        }
    };
    if found.is_empty() {
        return Err(BatteryError::Nothing { path: path.to_owned() });
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(found)
}

enum Form {
    Gzip,
    Tar,
    Text,
}

/// What a file is, by its first bytes.
fn form(begins: &[u8]) -> Form {
    match begins {
        [0x1f, 0x8b, ..] => Form::Gzip,
        _ if begins.get(257..262) == Some(b"ustar") => Form::Tar,
        _ => Form::Text,
    }
}

/// Whether a file of this name is one of a phase.
fn is_phase(path: &Path) -> bool {
    let other = path.file_name().and_then(|name| name.to_str()).is_none_or(|name| OTHERS.contains(&name));
    !other && path.extension().is_some_and(|ending| ending == "json" || ending == "jsonl")
}

/// The files of phases in an archive: of its outermost folder that has any, and not from those within.
fn packed(path: &Path, from: impl Read) -> Result<Vec<Recorded>, BatteryError> {
    let damaged = |what: String| BatteryError::Damaged { file: path.to_owned(), what };
    let torn = |error: std::io::Error| damaged(format!("this is no archive of a battery: {error}"));
    let mut archive = Archive::new(Counted { from, left: UNPACKED });
    let mut found = vec![];
    for (count, entry) in archive.entries().map_err(torn)?.enumerate() {
        let entry = entry.map_err(torn)?;
        if count == ENTRIES {
            return Err(damaged(format!("it holds more than {ENTRIES} files: no battery writes so many")));
        }
        let name = entry.path().map_err(torn)?.into_owned();
        let depth = name.components().filter(|part| matches!(part, Component::Normal(_))).count();
        let plain = name.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if !plain || depth > 2 || !is_phase(&name) || !matches!(entry.header().entry_type(), EntryType::Regular | EntryType::Continuous) {
            continue;
        }
        let inside = path.join(&name);
        let bytes = warpsight_files::read_from(&inside, entry, warpsight_files::RECORDS)?;
        let read = PhaseFile::parse(&inside, &bytes).map(|(file, _)| file);
        found.push((depth, (inside, read)));
    }
    let outermost = found.iter().map(|(depth, _)| *depth).min();
    Ok(found.into_iter().filter(|(depth, _)| Some(*depth) == outermost).map(|(_, file)| file).collect())
}

/// A reader that fails where it has given all that it may.
struct Counted<R> {
    from: R,
    left: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        let read = self.from.read(to)?;
        self.left =
            self.left.checked_sub(read as u64).ok_or_else(|| std::io::Error::other(format!("it unpacks to more than {UNPACKED} bytes")))?;
        Ok(read)
    }
}
