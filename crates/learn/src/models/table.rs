//! Rows that were measured on a device, as a text: what models are trained on and compared by, without the shaders themselves.
//!
//! JSON, a line each: a head with the device, the sources and the names of all columns, then the rows by id. A row has of each column its
//! number and amounts: one where all three are equal, else traced, masked, text. What a compiler leaves has the columns of operations.

use super::super::predictor::Device;
use super::{Amount, Row};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use warpsight_ir::{Seconds, sample};

/// How texts of this version begin.
pub const FORMAT: &str = "warpsight-shader-rows/1";

/// Measured rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// What was measured.
    pub device: Device,
    /// The day on which it was measured, where that is known.
    pub date: Option<String>,
    /// The licences of the rows' sources.
    pub licences: BTreeMap<String, String>,
    /// By id.
    pub rows: Vec<Row>,
}

/// Why a text is no table.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// Another version.
    #[error("its format is `{found}`; `{FORMAT}` can be read")]
    Format {
        /// What it says.
        found: String,
    },
    /// A line that is none.
    #[error("line {line}: {reason}")]
    Line {
        /// The line, from 1.
        line: usize,
        /// Why not.
        reason: String,
    },
}

#[derive(Serialize, Deserialize)]
struct Head {
    format: String,
    device: Device,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    date: Option<String>,
    licences: BTreeMap<String, String>,
    operations: Vec<String>,
    opcodes: Vec<String>,
    sizes: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct Line {
    id: String,
    source: String,
    group: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    mutant: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    loops: bool,
    pixels: f64,
    seconds: Option<Seconds>,
    operations: Vec<Vec<Short>>,
    lean: Vec<Vec<Short>>,
    opcodes: Vec<Vec<Short>>,
    sizes: Vec<Short>,
}

/// A number that is written without a fraction where it has none.
#[derive(Clone, Copy, Deserialize)]
#[serde(transparent)]
struct Short(f64);

impl Serialize for Short {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.0.fract() == 0.0 && self.0.abs() < 9e15 {
            true => to.serialize_i64(self.0 as i64),
            false => to.serialize_f64(self.0),
        }
    }
}

impl Table {
    /// As a text.
    ///
    /// # Errors
    /// A number that JSON cannot hold.
    pub fn text(&self) -> Result<String, serde_json::Error> {
        let sorted = |names: BTreeSet<&String>| -> Vec<String> { names.into_iter().cloned().collect() };
        let operations = sorted(self.rows.iter().flat_map(|row| row.operations.keys().chain(row.lean.keys())).collect());
        let opcodes = sorted(self.rows.iter().flat_map(|row| row.opcodes.keys()).collect());
        let sizes = sorted(self.rows.iter().flat_map(|row| row.sizes.keys()).collect());
        let mut rows: Vec<&Row> = self.rows.iter().collect();
        rows.sort_by(|a, b| a.id.cmp(&b.id));
        let mut text = String::new();
        for row in rows {
            let line = Line {
                id: row.id.clone(),
                source: row.source.clone(),
                group: row.group.clone(),
                mutant: row.mutant,
                loops: row.loops,
                pixels: row.pixels,
                seconds: row.seconds,
                operations: packed(&operations, &row.operations),
                lean: packed(&operations, &row.lean),
                opcodes: packed(&opcodes, &row.opcodes),
                sizes: sizes.iter().map(|name| Short(row.sizes.get(name).copied().unwrap_or(0.0))).collect(),
            };
            text.push_str(&serde_json::to_string(&line)?);
            text.push('\n');
        }
        let (device, date, licences) = (self.device.clone(), self.date.clone(), self.licences.clone());
        let head = Head { format: FORMAT.to_owned(), device, date, licences, operations, opcodes, sizes };
        Ok(format!("{}\n{text}", serde_json::to_string(&head)?))
    }

    /// Reads a text.
    ///
    /// # Errors
    /// See [`TableError`].
    pub fn read(text: &str) -> Result<Self, TableError> {
        let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let bad = |line: usize| move |reason: String| TableError::Line { line: line + 1, reason };
        let (at, first) = lines.next().ok_or_else(|| bad(0)("it is empty".to_owned()))?;
        let found: serde_json::Value = serde_json::from_str(first).map_err(|e| bad(at)(e.to_string()))?;
        let format = found.get("format").and_then(|f| f.as_str()).unwrap_or("none");
        if format != FORMAT {
            return Err(TableError::Format { found: format.to_owned() });
        }
        let head: Head = serde_json::from_value(found).map_err(|e| bad(at)(e.to_string()))?;
        let mut rows = Vec::new();
        for (at, line) in lines {
            let line: Line = serde_json::from_str(line).map_err(|e| bad(at)(e.to_string()))?;
            let of = |names: &[String], packed: &[Vec<Short>]| {
                unpacked(names, packed).ok_or_else(|| bad(at)("a column that is none".to_owned()))
            };
            if !(line.pixels.is_finite() && line.pixels >= 1.0) || line.sizes.len() != head.sizes.len() {
                return Err(bad(at)("its frame or its sizes cannot be".to_owned()));
            }
            line.seconds.map_or(Ok(Seconds::ZERO), |seconds| sample::time(seconds.0)).map_err(|wrong| bad(at)(wrong.to_string()))?;
            rows.push(Row {
                operations: of(&head.operations, &line.operations)?,
                lean: of(&head.operations, &line.lean)?,
                opcodes: of(&head.opcodes, &line.opcodes)?,
                sizes: head.sizes.iter().cloned().zip(line.sizes.iter().map(|size| size.0)).collect(),
                id: line.id,
                source: line.source,
                group: line.group,
                mutant: line.mutant,
                loops: line.loops,
                pixels: line.pixels,
                seconds: line.seconds,
                words: BTreeMap::new(),
            });
        }
        Ok(Self { device: head.device, date: head.date, licences: head.licences, rows })
    }
}

fn packed(names: &[String], amounts: &BTreeMap<String, Amount>) -> Vec<Vec<Short>> {
    let columns = names.iter().enumerate().filter_map(|(at, name)| Some((at as f64, amounts.get(name)?)));
    let pack = |(at, a): (f64, &Amount)| match a.traced == a.text && a.masked == a.text {
        true => vec![at, a.text],
        false => vec![at, a.traced, a.masked, a.text],
    };
    columns.map(|column| pack(column).into_iter().map(Short).collect()).collect()
}

fn unpacked(names: &[String], packed: &[Vec<Short>]) -> Option<BTreeMap<String, Amount>> {
    let amount = |own: &Vec<Short>| {
        let own: Vec<f64> = own.iter().map(|number| number.0).collect();
        let amount = match own[..] {
            [_, text] => [text; 3],
            [_, traced, masked, text] => [traced, masked, text],
            _ => return None,
        };
        let is_amount = |x: &f64| x.is_finite() && *x >= 0.0;
        // What is no index is far outside.
        let name = names.get(own[0] as usize).filter(|_| own.iter().all(is_amount))?;
        Some((name.clone(), Amount::from(amount)))
    };
    packed.iter().map(amount).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let amounts = |list: &[(&str, [f64; 3])]| list.iter().map(|(name, a)| ((*name).to_owned(), Amount::from(*a))).collect();
        let row = |id: &str, seconds| Row {
            id: id.to_owned(),
            source: "made".to_owned(),
            group: id.to_owned(),
            mutant: id == "b",
            loops: false,
            pixels: 196_608.0,
            seconds,
            operations: amounts(&[("f32.add", [10.0, 10.0, 10.0]), ("ext.sin", [0.25, 1.0, 2.0])]),
            lean: amounts(&[("f32.muladd", [5.0, 5.0, 1.0])]),
            opcodes: amounts(&[("FAdd", [10.5, 10.5, 10.5])]),
            sizes: [("blocks".to_owned(), 3.0)].into(),
            words: BTreeMap::new(),
        };
        let device = Device { name: "lavapipe".to_owned(), description: "llvmpipe".to_owned(), software: true };
        let licences = [("made".to_owned(), "MIT".to_owned())].into();
        Table { device, date: Some("2026-11-21".to_owned()), licences, rows: vec![row("a", Some(Seconds(0.0123))), row("b", None)] }
    }

    #[test]
    fn a_table_reads_back() {
        let table = table();
        let text = table.text().unwrap();
        assert_eq!(text.lines().count(), 3);
        assert!(text.contains("[[0,0.25,1,2],[1,10]],\"lean\":[[2,5,5,1]]"), "{text}");
        assert_eq!(Table::read(&text).unwrap(), table);
    }

    #[test]
    fn what_is_no_table_is_refused() {
        let text = table().text().unwrap();
        let newer = text.replace("rows/1", "rows/9");
        assert!(matches!(Table::read(&newer), Err(TableError::Format { found }) if found.ends_with("/9")));
        assert!(matches!(Table::read(""), Err(TableError::Line { line: 1, .. })));
        for (from, to) in [("[1,10]", "[3,10]"), ("[1,10]", "[1,-10]"), ("[1,10]", "[1]"), ("196608.0", "0.0"), ("\"id\"", "id")] {
            let broken = text.replace(from, to);
            assert!(matches!(Table::read(&broken), Err(TableError::Line { line: 2, .. })), "{to}");
        }
    }
}
