//! A recording: the tables of one run of a profiler, one measurement a row.

use std::path::{Path, PathBuf};

/// A table's rows as numbers. Columns are known by their place: headers carry units in words.
pub struct Table(pub Vec<Vec<f64>>);

/// A folder with tables.
pub struct Folder(pub PathBuf);

impl Folder {
    /// The rows of a table, each with at least so many columns.
    ///
    /// # Errors
    /// Names the file, and the line where one has another form.
    pub fn table(&self, name: &str, columns: usize) -> Result<Table, String> {
        let path = self.0.join(name);
        let told = |what: String| format!("{}: {what}", path.display());
        let mut reader = csv::ReaderBuilder::new().flexible(true).from_path(&path).map_err(|error| told(error.to_string()))?;
        let mut rows = vec![];
        for (line, record) in (2..).zip(reader.records()) {
            let record = record.map_err(|error| told(error.to_string()))?;
            let numbers: Result<Vec<f64>, _> = record.iter().map(|field| field.trim().parse::<f64>()).collect();
            match numbers {
                Ok(numbers) if numbers.len() >= columns && numbers.iter().all(|n| n.is_finite() && *n >= 0.0) => rows.push(numbers),
                _ => return Err(told(format!("line {line} has not {columns} numbers"))),
            }
        }
        if rows.is_empty() { Err(told("there are no rows".into())) } else { Ok(Table(rows)) }
    }

    /// Whether there is such a table.
    pub fn has(&self, name: &str) -> bool {
        Path::new(&self.0).join(name).is_file()
    }
}
