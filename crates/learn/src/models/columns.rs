//! What trees are asked about: numbers of a row, most of them as logarithms.

use super::Row;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

/// A number of a row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Column {
    /// What a pixel does of an operation that a compiler leaves, where branches are masked. A name that ends in a dot stands for all that begin so.
    Masked(String),
    /// What it does of it by its trace, as a share of that.
    Taken(String),
    /// How much of it stands in the text.
    Text(String),
    /// Its share of all that is done.
    Share(String),
    /// All that is done.
    All,
    /// Pixels of the frame.
    Pixels,
    /// What the base says, a pixel.
    Base,
    /// The share of the base's seconds that an operation has; a name that ends in a dot stands for all that begin so.
    Cost(String),
}

/// What a row's columns are made of.
#[derive(Clone, Copy)]
pub struct View<'a> {
    row: &'a Row,
    /// What the base says of each operation, in seconds a pixel.
    costs: &'a BTreeMap<String, f64>,
    base: f64,
    all: f64,
}

/// Whether a name counts operations, rather than instructions by number or width.
pub fn is_operation(name: &str) -> bool {
    name != "instructions" && !name.starts_with("width.")
}

impl<'a> View<'a> {
    /// Of a row; `costs` are what the base says an operation costs, `base` what it says of the frame, both in seconds.
    pub fn new(row: &'a Row, costs: &'a BTreeMap<String, f64>, base: f64) -> Self {
        let all = row.lean.iter().filter(|(name, _)| is_operation(name)).map(|(_, a)| a.masked).sum();
        Self { row, costs, base: (base / row.pixels).max(1e-15), all }
    }

    /// The number.
    pub fn get(&self, column: &Column) -> f64 {
        let masked = |name: &str| self.sum(name, |_, a| a.masked);
        let share = |part: f64, of: f64| if of > 0.0 { part / of } else { 0.0 };
        match column {
            Column::Masked(name) => masked(name).ln_1p(),
            Column::Taken(name) => share(self.sum(name, |_, a| a.traced), masked(name)),
            Column::Text(name) => self.sum(name, |_, a| a.text).ln_1p(),
            Column::Share(name) => share(masked(name), self.all),
            Column::All => self.all.ln_1p(),
            Column::Pixels => self.row.pixels.ln_1p(),
            Column::Base => self.base.ln(),
            Column::Cost(name) => share(self.sum(name, |name, a| self.costs.get(name).copied().unwrap_or(0.0) * a.masked), self.base),
        }
    }

    /// Over all operations that a name stands for.
    fn sum(&self, name: &str, of: impl Fn(&str, &super::Amount) -> f64) -> f64 {
        let operations = &self.row.lean;
        if !name.ends_with('.') {
            return operations.get(name).map_or(0.0, |a| of(name, a));
        }
        let from = operations.range::<str, _>((Bound::Included(name), Bound::Unbounded));
        from.take_while(|(own, _)| own.starts_with(name)).map(|(own, a)| of(own, a)).sum()
    }
}

/// All columns that these rows have numbers in, sorted. How a text is divided into blocks and functions says nothing of what is left of it.
pub fn columns(rows: &[&Row], with_base: bool) -> Vec<Column> {
    let own: BTreeSet<&str> = rows.iter().flat_map(|row| row.lean.keys().map(String::as_str)).collect();
    let families: BTreeSet<String> =
        own.iter().filter(|n| is_operation(n)).filter_map(|n| Some(format!("{}.", n.split_once('.')?.0))).collect();
    let deep: BTreeSet<String> = own.iter().filter_map(|n| n.rsplit_once('.')).map(|(n, _)| format!("{n}.")).collect();
    let names: BTreeSet<String> = own.into_iter().map(str::to_owned).chain(families).chain(deep).collect();
    let mut out: BTreeSet<Column> = [Column::All, Column::Pixels, Column::Taken("instructions".to_owned())].into();
    for name in names {
        if with_base && is_operation(&name) {
            out.insert(Column::Cost(name.clone()));
        }
        out.extend([Column::Masked(name.clone()), Column::Text(name.clone()), Column::Share(name)]);
    }
    if with_base {
        out.insert(Column::Base);
    }
    out.into_iter().collect()
}
