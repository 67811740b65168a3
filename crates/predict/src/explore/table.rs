//! Tables of measured configurations, as tuners write them: a column for each parameter of a kernel's text, and one of milliseconds; or as
//! Kernel Tuner writes them, in JSON.

mod kernel_tuner;

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use warpsight_ir::Seconds;
use warpsight_ir::accesses::text::Document;

/// The column of times: of one launch, in milliseconds; empty where a configuration did not build or run.
pub const TIME: &str = "ms";

/// Configurations that somebody measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    columns: Vec<String>,
    /// Those that ran, in the order of the file.
    pub rows: Vec<Row>,
    /// How many did not.
    pub failed: usize,
}

/// One of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Values of the columns.
    pub values: Vec<i64>,
    /// Measured.
    pub seconds: Seconds,
}

/// Why a table cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// There is no head.
    #[error("the table is empty: its first line names parameters, and `{TIME}`")]
    Empty,
    /// Nothing to compare with.
    #[error("there is no column `{TIME}`; columns are {0}")]
    NoTime(String),
    /// Which of the two?
    #[error("there are two columns `{0}`")]
    Twice(String),
    /// A line of another length.
    #[error("line {line} has {found} cells, the head {expected}")]
    Cells {
        /// Its number in the file.
        line: usize,
        /// How many it has.
        found: usize,
        /// How many there are names for.
        expected: usize,
    },
    /// A parameter's value that is none.
    #[error("line {line}, `{column}`: `{text}` is no whole number")]
    Value {
        /// Its number in the file.
        line: usize,
        /// Where.
        column: String,
        /// What stands there.
        text: String,
    },
    /// A time that is none.
    #[error("line {line}, `{TIME}`: `{text}` is no time above 0")]
    Time {
        /// Its number in the file.
        line: usize,
        /// What stands there.
        text: String,
    },
    /// JSON that is no table.
    #[error("{at}: {what}")]
    Entry {
        /// Which part of the file.
        at: String,
        /// What is wrong with it.
        what: String,
    },
    /// Nothing is left.
    #[error("no row of the table has a time ({0} did not run)")]
    NoRows(usize),
    /// Another kernel's.
    #[error("the table is of another kernel: `{column}` is no parameter of this one, which has {known}")]
    NoParameter {
        /// The column.
        column: String,
        /// The kernel's.
        known: String,
    },
    /// Nothing says what a parameter was.
    #[error("the table has no column for the parameter `{0}`")]
    NoColumn(String),
}

impl Table {
    /// Reads comma-separated values, the head first; or the JSON of Kernel Tuner's cache files, or of results in the format T4.
    ///
    /// # Errors
    /// [`TableError`]: what is no such table, and where.
    pub fn read(text: &str) -> Result<Self, TableError> {
        if text.trim_start().starts_with('{') {
            return kernel_tuner::read(text);
        }
        let mut lines = text.lines().enumerate().map(|(i, line)| (i + 1, line.trim())).filter(|(_, line)| !line.is_empty());
        let cells = |line: &str| line.split(',').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
        let (_, head) = lines.next().ok_or(TableError::Empty)?;
        let mut columns = cells(head.trim_start_matches('\u{feff}'));
        let mut seen = BTreeSet::new();
        if let Some(twice) = columns.iter().find(|name| !seen.insert(name.as_str())) {
            return Err(TableError::Twice(twice.clone()));
        }
        let time = columns.iter().position(|name| name == TIME).ok_or_else(|| TableError::NoTime(columns.join(", ")))?;
        columns.remove(time);
        let mut found = Self { columns, rows: vec![], failed: 0 };
        for (line, text) in lines {
            let mut cells = cells(text);
            if cells.len() != found.columns.len() + 1 {
                return Err(TableError::Cells { line, found: cells.len(), expected: found.columns.len() + 1 });
            }
            let own = cells.remove(time);
            let value = |(column, text): (&String, &String)| {
                text.parse().map_err(|_| TableError::Value { line, column: column.clone(), text: text.clone() })
            };
            let values = found.columns.iter().zip(&cells).map(value).collect::<Result<_, _>>()?;
            if own.is_empty() {
                found.failed += 1;
                continue;
            }
            let milliseconds = own.parse::<f64>().ok().filter(|time| time.is_finite() && *time > 0.0);
            let milliseconds = milliseconds.ok_or(TableError::Time { line, text: own })?;
            found.rows.push(Row { values, seconds: Seconds(milliseconds * 1e-3) });
        }
        if found.rows.is_empty() { Err(TableError::NoRows(found.failed)) } else { Ok(found) }
    }

    /// That its columns are the parameters of this kernel, but for those that are set from outside.
    ///
    /// # Errors
    /// [`TableError::NoParameter`] and [`TableError::NoColumn`].
    pub fn is_of(&self, document: &Document, fixed: &[(String, String)]) -> Result<(), TableError> {
        let known: Vec<&str> = document.params().map(|(name, _)| name).collect();
        if let Some(column) = self.columns.iter().find(|name| !known.contains(&name.as_str())) {
            return Err(TableError::NoParameter { column: column.clone(), known: known.join(", ") });
        }
        let said = |name: &str| self.columns.iter().any(|own| own == name) || fixed.iter().any(|own| own.0 == name);
        known.iter().find(|name| !said(name)).map_or(Ok(()), |name| Err(TableError::NoColumn((*name).to_owned())))
    }

    /// Names of the values of rows.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// What makes the kernel of a row.
    pub fn settings(&self, row: &Row) -> Vec<(String, String)> {
        self.columns.iter().cloned().zip(row.values.iter().map(i64::to_string)).collect()
    }

    /// Groups of rows that share a value of a column, for columns of so many values: the column, the value, and the numbers of the rows.
    pub fn groups(&self, values: RangeInclusive<usize>) -> Vec<(&str, i64, Vec<usize>)> {
        let mut found = vec![];
        for (i, column) in self.columns.iter().enumerate() {
            let all: BTreeSet<i64> = self.rows.iter().map(|row| row.values[i]).collect();
            let of = |value: i64| (0..self.rows.len()).filter(|&row| self.rows[row].values[i] == value).collect();
            if values.contains(&all.len()) {
                found.extend(all.into_iter().map(|value| (column.as_str(), value, of(value))));
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "a, b,ms\n1,2,0.5\n\n3,4,\n5,2,1e1\n";

    #[test]
    fn a_table_is_read_and_grouped() {
        let table = Table::read(TEXT).unwrap();
        assert_eq!((table.rows.len(), table.failed), (2, 1));
        assert_eq!(table.rows[1], Row { values: vec![5, 2], seconds: Seconds(1e-2) });
        let settings = [("a", "1"), ("b", "2")].map(|(key, value)| (key.to_owned(), value.to_owned()));
        assert_eq!(table.settings(&table.rows[0]), settings);
        assert_eq!(table.groups(2..=8), [("a", 1, vec![0]), ("a", 5, vec![1])]);
        // Wherever the times stand.
        assert_eq!(Table::read("ms,a,b\n0.5,1,2\n,3,4\n10,5,2").unwrap(), table);
    }

    #[test]
    fn what_is_no_table_is_said_with_its_place() {
        let said = |text: &str| Table::read(text).unwrap_err().to_string();
        assert_eq!(said(""), "the table is empty: its first line names parameters, and `ms`");
        assert_eq!(said("a,b\n1,2"), "there is no column `ms`; columns are a, b");
        assert_eq!(said("a,a,ms\n1,2,3"), "there are two columns `a`");
        assert_eq!(said("a,ms\n1,2\n1"), "line 3 has 1 cells, the head 2");
        assert_eq!(said("a,ms\n1.5,2"), "line 2, `a`: `1.5` is no whole number");
        for wrong in ["NaN", "inf", "-1", "0", "x"] {
            assert_eq!(said(&format!("a,ms\n1,{wrong}")), format!("line 2, `ms`: `{wrong}` is no time above 0"));
        }
        assert_eq!(said("a,ms\n1,\n2,"), "no row of the table has a time (2 did not run)");
        assert_eq!(said("a,ms"), "no row of the table has a time (0 did not run)");
    }

    #[test]
    fn a_table_of_another_kernel_is_refused() {
        let text = "name = \"x\"\nblock = [\"a\"]\ndomain = [64]\nregisters = 1\nfield = []\n[params]\na = 1\nb = 2\n";
        let document = Document::read(text).unwrap();
        let is_of =
            |text: &str, fixed: &[(String, String)]| Table::read(text).unwrap().is_of(&document, fixed).map_err(|error| error.to_string());
        assert_eq!(is_of("a,b,ms\n1,1,1", &[]), Ok(()));
        let other = "the table is of another kernel: `c` is no parameter of this one, which has a, b";
        assert_eq!(is_of("a,c,ms\n1,1,1", &[]), Err(other.to_owned()));
        assert_eq!(is_of("a,ms\n1,1", &[]), Err("the table has no column for the parameter `b`".to_owned()));
        assert_eq!(is_of("a,ms\n1,1", &[("b".to_owned(), "3".to_owned())]), Ok(()));
    }
}
