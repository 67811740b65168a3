//! One CSV: rows of numbers, as many as can be read.

use super::Kind;
use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

/// Bytes of text that are read of one file: a hundred times what the largest recording has.
const MOST: u64 = 1 << 28;
/// Latencies above are none: a second, at any clock.
const LONGEST: f64 = 1e10;

/// What a file holds.
#[derive(Default)]
pub struct Table {
    pub rows: Vec<Vec<f64>>,
    /// What was wrong.
    pub notes: Vec<String>,
}

/// Reads a file of a kind: what stands before the end, or before what is broken.
pub fn read(path: &Path, kind: Kind) -> Table {
    let mut table = Table::default();
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) => {
            table.notes.push(format!("cannot be read: {error}"));
            return table;
        }
    };
    let gzipped = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("gz"));
    let reader: Box<dyn Read> = if gzipped { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };
    let mut bytes = vec![];
    let whole = match reader.take(MOST).read_to_end(&mut bytes) {
        Ok(_) => true,
        Err(error) => {
            let what = if error.kind() == ErrorKind::UnexpectedEof { "ends in the middle".to_owned() } else { error.to_string() };
            table.notes.push(format!("{what}; what stands before was read"));
            false
        }
    };
    let text = String::from_utf8_lossy(&bytes);
    // The last line of what breaks off may have lost digits.
    let lines = text.lines().count() - usize::from(!whole && !text.is_empty());
    table.fill(text.lines().take(lines), kind);
    table
}

impl Table {
    fn fill<'t>(&mut self, lines: impl Iterator<Item = &'t str>, kind: Kind) {
        let (mut strange, mut lost) = (0, 0);
        for line in lines.filter(|line| !line.trim().is_empty()) {
            let fields = line.trim().trim_end_matches(',').split(',').map(|field| field.trim().parse::<f64>().ok());
            let mut fields = fields.map(|number| number.filter(|number| *number > 0.0 && *number < LONGEST));
            let heads: Option<Vec<f64>> = fields.by_ref().take(kind.heads()).collect();
            let Some(mut row) = heads.filter(|heads| heads.len() == kind.heads()) else {
                strange += 1;
                continue;
            };
            for field in fields {
                match field {
                    Some(latency) => row.push(latency),
                    None => lost += 1,
                }
            }
            match row.len() > kind.heads() {
                true => self.rows.push(row),
                false => strange += 1,
            }
        }
        if strange > 0 {
            self.notes.push(format!("{strange} rows have not the columns that they should have, and were left out"));
        }
        if lost > 0 {
            self.notes.push(format!("{lost} latencies are no positive numbers, and were left out"));
        }
        if self.rows.is_empty() {
            self.notes.push("holds no row".to_owned());
        }
    }
}

impl Kind {
    /// Columns in front of the latencies.
    pub(super) fn heads(self) -> usize {
        match self {
            Self::Latency => 0,
            Self::Size | Self::FetchGranularity => 1,
            Self::LineSize => 2,
        }
    }
}
