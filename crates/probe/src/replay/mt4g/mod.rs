//! Chases that MT4G recorded (github.com/caps-tum/mt4g): a folder of CSVs, one for each question about each cache, gzipped or not.
//!
//! A row of `L1_Size.csv` is a footprint in bytes, then the latencies in cycles of the loads of a chase through so many bytes; of
//! `L1_Line_Size.csv` stride, footprint and latencies; of `L1_Fetch_Granularity.csv` a stride and latencies of first touches; of
//! `L1_Latency.csv` one latency. [`read`] keeps them as they are, with notes of what could not be read; [`analyse`] says what they show.
//!
//! Latencies are in cycles, as recorded: the files state no clock.

mod analyse;
mod curves;
mod fetch;
mod file;
mod line;
mod size;

pub use analyse::analyse;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Caches and memories by the names of files, and the keys of what is found of them.
const MEMORIES: [(&str, &str); 9] = [
    ("L1", "buffer.l1"),
    ("L2", "buffer.l2"),
    ("Texture", "texture.l1"),
    ("Read_Only", "readonly"),
    ("Constant_L1", "constant.l1"),
    ("Constant_L1.5", "constant.l15"),
    ("Scalar_L1", "scalar.l1"),
    ("Main_Memory", "dram"),
    ("Shared_Memory", "local"),
];

/// What a file is of: the end of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Latencies against footprint.
    Size,
    /// Latencies against stride and footprint.
    LineSize,
    /// Latencies of first touches against stride.
    FetchGranularity,
    /// Latencies.
    Latency,
}

impl Kind {
    const ALL: [(&str, Self); 5] = [
        // An L2 is looked at in segments, whose file has the same form.
        ("_Segment_Size", Self::Size),
        ("_Line_Size", Self::LineSize),
        ("_Size", Self::Size),
        ("_Fetch_Granularity", Self::FetchGranularity),
        ("_Latency", Self::Latency),
    ];
}

/// What a folder holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recording {
    /// Rows of numbers as they stand in the files, by the key of the memory (`buffer.l1`) and what is measured of it.
    pub files: BTreeMap<(&'static str, Kind), Vec<Vec<f64>>>,
    /// What could not be read, in words.
    pub notes: Vec<String>,
}

/// Why a folder is no recording.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// It cannot be read.
    #[error(transparent)]
    Folder(#[from] warpsight_files::FileError),
    /// No file of it is one of MT4G's, or none holds a number.
    #[error("`{}` holds no chase of MT4G: of files like `L1_Size.csv.gz` and `L1_Latency.csv`, {why}", path.display())]
    Nothing {
        /// The folder.
        path: PathBuf,
        /// What was found instead.
        why: String,
    },
}

/// Whether a folder holds chases of MT4G, by the names of its files.
pub fn is_one(dir: &Path) -> bool {
    let paths = warpsight_files::entries(dir).unwrap_or_default();
    let names = paths.iter().filter_map(|path| path.file_name());
    // A latency alone could be anybody's: sizes and granularities are MT4G's.
    names.filter_map(|name| what(name.to_str()?)).any(|(_, kind)| kind != Kind::Latency)
}

/// Reads a folder. What is wrong with single files is noted, and the rest is read.
///
/// # Errors
/// The folder cannot be read, or no file holds anything.
pub fn read(dir: &Path) -> Result<Recording, ReplayError> {
    let paths = warpsight_files::entries(dir)?;
    let mut recording = Recording::default();
    for path in &paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let Some(of) = what(&name) else {
            recording.notes.push(format!("`{name}` is no file of MT4G that is known, and was not read"));
            continue;
        };
        let file::Table { rows, notes } = file::read(path, of.1);
        recording.notes.extend(notes.into_iter().map(|note| format!("`{name}`: {note}")));
        if rows.is_empty() {
            continue;
        }
        if recording.files.contains_key(&of) {
            recording.notes.push(format!("`{name}` is of the same as another file: only the first was read"));
            continue;
        }
        recording.files.insert(of, rows);
    }
    if recording.files.is_empty() {
        let why = match recording.notes.first() {
            Some(note) => format!("none could be read ({note})"),
            None => "there is none".to_owned(),
        };
        return Err(ReplayError::Nothing { path: dir.to_owned(), why });
    }
    Ok(recording)
}

/// What a file of this name is of.
fn what(name: &str) -> Option<(&'static str, Kind)> {
    let name = name.to_lowercase();
    let stem = name.strip_suffix(".csv.gz").or_else(|| name.strip_suffix(".csv"))?;
    let (memory, kind) = Kind::ALL.into_iter().find_map(|(end, kind)| Some((stem.strip_suffix(&*end.to_lowercase())?, kind)))?;
    let (_, key) = MEMORIES.into_iter().find(|(own, _)| own.eq_ignore_ascii_case(memory))?;
    Some((key, kind))
}
