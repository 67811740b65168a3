//! Boosted trees for logarithms of seconds: by themselves, and as what a base leaves over.

use super::columns::{Column, View, columns};
use super::linear::{LeanOperations, Linear};
use super::{FitError, Model, Row, times};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use warpsight_ir::Seconds;
use warpsight_ir::sample::trees::{Ensemble, Growth, Table, Trees, unit};

/// How the trees of models are grown.
pub const GROWTH: Growth = Growth {
    ensemble: Ensemble::Boosted,
    trees: 250,
    depth: 4,
    rate: 0.05,
    leaf: 4.0,
    ridge: 1.0,
    rows: 0.7,
    columns: 0.25,
    clip: 0.7,
    seed: 0,
};

/// How many sums of trees are averaged, each drawn differently.
const BAGS: u64 = 2;

/// How trees that correct a base are grown. What they learn is cut off where the base is far off: there it misses something that no
/// column tells of, and trees would blame others for it.
const CORRECTIONS: Growth =
    Growth { ensemble: Ensemble::Averaged, trees: 150, depth: 14, leaf: 3.0, ridge: 0.5, rows: 1.1, columns: 0.3, clip: 0.3, ..GROWTH };

/// Sums of trees over the columns of rows, averaged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Raw")]
pub struct Forest {
    columns: Vec<Column>,
    bags: Vec<Trees>,
}

/// As a file has it.
#[derive(Deserialize)]
struct Raw {
    columns: Vec<Column>,
    bags: Vec<Trees>,
}

impl TryFrom<Raw> for Forest {
    type Error = String;
    fn try_from(Raw { columns, bags }: Raw) -> Result<Self, String> {
        match bags.iter().all(|trees| trees.is_whole(columns.len())) && !bags.is_empty() {
            true => Ok(Self { columns, bags }),
            false => Err("a tree is broken".to_owned()),
        }
    }
}

impl Forest {
    /// Grows trees that tell `targets` from views of rows.
    pub fn fit(rows: &[&Row], views: &[View], targets: &[f64], with_base: bool, growth: Growth, bags: u64) -> Self {
        let columns = columns(rows, with_base);
        let numbers: Vec<Vec<f64>> = columns.iter().map(|column| views.iter().map(|view| view.get(column)).collect()).collect();
        let table = Table::new(&numbers);
        let weights = weights(rows);
        let mut bags: Vec<Trees> =
            (0..bags).map(|bag| Trees::grow(&table, targets, &weights, Growth { seed: growth.seed ^ bag, ..growth })).collect();
        let mut used: Vec<usize> = bags.iter_mut().flat_map(|trees| trees.clone().shrink(columns.len())).collect();
        used.sort_unstable();
        used.dedup();
        bags.iter_mut().for_each(|trees| trees.renumber(&used));
        Self { columns: used.into_iter().map(|c| columns[c].clone()).collect(), bags }
    }

    /// What the trees say, on average.
    pub fn predict(&self, view: &View) -> f64 {
        let numbers: Vec<f64> = self.columns.iter().map(|column| view.get(column)).collect();
        self.bags.iter().map(|trees| trees.predict(&numbers)).sum::<f64>() / self.bags.len() as f64
    }
}

/// A family of mutants counts as much as its parent.
fn weights(rows: &[&Row]) -> Vec<f64> {
    let mut mutants: BTreeMap<&str, f64> = BTreeMap::new();
    rows.iter().filter(|row| row.mutant).for_each(|row| *mutants.entry(&row.group).or_default() += 1.0);
    rows.iter().map(|row| if row.mutant { mutants.get(row.group.as_str()).map_or(1.0, |n| n.sqrt().recip()) } else { 1.0 }).collect()
}

/// Boosted trees on the logarithm of seconds a pixel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Boosted {
    forest: Forest,
}

impl Model for Boosted {
    fn fit(rows: &[&Row]) -> Result<Self, FitError> {
        let targets: Vec<f64> = times(rows)?.iter().zip(rows).map(|(time, row)| (time / row.pixels).ln()).collect();
        let none = BTreeMap::new();
        let views: Vec<View> = rows.iter().map(|row| View::new(row, &none, 0.0)).collect();
        Ok(Self { forest: Forest::fit(rows, &views, &targets, false, GROWTH, BAGS) })
    }

    fn predict(&self, row: &Row) -> Seconds {
        Seconds(self.forest.predict(&View::new(row, &BTreeMap::new(), 0.0)).exp() * row.pixels)
    }
}

/// A linear base, and trees for the logarithm of measured over its seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Corrected {
    base: Linear<LeanOperations>,
    /// The base says at least so many seconds.
    floor: f64,
    forest: Forest,
}

/// Parts of the rows that take turns in being predicted by a base that has not seen them.
const TURNS: u64 = 5;

impl Corrected {
    /// What adds up.
    #[must_use]
    pub fn base(&self) -> &Linear<LeanOperations> {
        &self.base
    }

    fn based(base: &Linear<LeanOperations>, floor: f64, row: &Row) -> f64 {
        base.predict(row).0.max(floor)
    }
}

impl Model for Corrected {
    fn fit(rows: &[&Row]) -> Result<Self, FitError> {
        let times = times(rows)?;
        let base = Linear::fit(rows)?;
        let floor = 0.1 * times.iter().copied().fold(f64::INFINITY, f64::min);
        // A base flatters what it was fitted on; trees must learn what it says of others.
        let turn = |row: &Row| (unit(0, 0, 0, hash(&row.group)) * TURNS as f64) as u64;
        let mut bases = Vec::new();
        for now in 0..TURNS {
            let others: Vec<&Row> = rows.iter().copied().filter(|row| turn(row) != now).collect();
            bases.push(if others.is_empty() { base.clone() } else { Linear::fit(&others)? });
        }
        let of = |row: &Row| &bases[turn(row) as usize];
        let said: Vec<f64> = rows.iter().map(|row| Self::based(of(row), floor, row)).collect();
        let targets: Vec<f64> = times.iter().zip(&said).map(|(time, said)| (time / said).ln()).collect();
        let views: Vec<View> = rows.iter().zip(&said).map(|(row, said)| View::new(row, &of(row).costs, *said)).collect();
        let forest = Forest::fit(rows, &views, &targets, true, CORRECTIONS, 1);
        Ok(Self { base, floor, forest })
    }

    fn predict(&self, row: &Row) -> Seconds {
        let base = Self::based(&self.base, self.floor, row);
        Seconds(base * self.forest.predict(&View::new(row, &self.base.costs, base)).exp())
    }
}

/// FNV-1a, 64 bits.
pub fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
