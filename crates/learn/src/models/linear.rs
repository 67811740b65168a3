//! Costs that add up: so many seconds for each of something.

use super::algebra::Normal;
use super::columns::is_operation;
use super::simple::simple;
use super::{FitError, Model, Row, times};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::marker::PhantomData;
use warpsight_ir::Seconds;

/// What a linear model counts, and how it is fitted.
pub trait Columns {
    /// How much of each column a pixel does.
    fn of(row: &Row) -> BTreeMap<&str, f64>;
    /// Coefficients by rows (columns times pixels; the last is the draw's one) with their targets; `names` are the columns'.
    fn solve(rows: &[(Vec<f64>, f64)], names: &[&str]) -> Vec<f64>;
}

/// A linear model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Linear<C> {
    /// Seconds a draw.
    pub intercept: f64,
    /// Seconds for each of a column.
    pub costs: BTreeMap<String, f64>,
    #[serde(skip)]
    columns: PhantomData<C>,
}

impl<C: Columns> Model for Linear<C> {
    fn fit(rows: &[&Row]) -> Result<Self, FitError> {
        let times = times(rows)?;
        let amounts: Vec<BTreeMap<&str, f64>> = rows.iter().map(|row| C::of(row)).collect();
        let names: BTreeSet<&str> = amounts.iter().flat_map(|a| a.keys().copied()).collect();
        let table: Vec<(Vec<f64>, f64)> = rows
            .iter()
            .zip(&amounts)
            .zip(times)
            .map(|((row, own), time)| {
                let columns = names.iter().map(|name| own.get(name).copied().unwrap_or(0.0) * row.pixels);
                (columns.chain([1.0]).collect(), time)
            })
            .collect();
        let names: Vec<&str> = names.into_iter().collect();
        let mut found = C::solve(&table, &names);
        let intercept = found.pop().unwrap_or(0.0);
        let costs = names.into_iter().zip(found).filter(|(_, cost)| *cost != 0.0).map(|(name, cost)| (name.to_owned(), cost)).collect();
        Ok(Self { intercept, costs, columns: PhantomData })
    }

    fn predict(&self, row: &Row) -> Seconds {
        let amounts = C::of(row);
        let sum: f64 = amounts.iter().filter_map(|(name, amount)| Some(self.costs.get(*name)? * amount)).sum();
        Seconds(self.intercept + sum * row.pixels)
    }
}

/// The weights of paper 004, equation 4.
fn by_inverse_time(rows: &[(Vec<f64>, f64)]) -> Normal {
    Normal::new(rows[0].0.len(), rows.iter().map(|(row, time)| (&row[..], *time, 1.0 / time)))
}

/// All instructions cost the same ("SH"; paper 004, equation 2).
#[derive(Clone, Debug, PartialEq)]
pub struct Instructions;

impl Columns for Instructions {
    fn of(row: &Row) -> BTreeMap<&str, f64> {
        [("instruction", row.opcodes.values().map(|amount| amount.traced).sum())].into()
    }
    fn solve(rows: &[(Vec<f64>, f64)], _: &[&str]) -> Vec<f64> {
        by_inverse_time(rows).solve()
    }
}

/// Each opcode has its cost, whatever the width of its vectors, and it may be negative ("PILR"; paper 004, equation 3).
#[derive(Clone, Debug, PartialEq)]
pub struct Opcodes;

impl Columns for Opcodes {
    fn of(row: &Row) -> BTreeMap<&str, f64> {
        row.opcodes.iter().map(|(name, amount)| (name.as_str(), amount.traced)).collect()
    }
    fn solve(rows: &[(Vec<f64>, f64)], _: &[&str]) -> Vec<f64> {
        by_inverse_time(rows).solve()
    }
}

/// Scalar operations, and textures a hundred times (He et al. 2015; paper 004, equation 1); one scale makes them seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct ScalarsAndTextures;

impl Columns for ScalarsAndTextures {
    fn of(row: &Row) -> BTreeMap<&str, f64> {
        let price = |name: &str| match name.split('.').next().unwrap_or(name) {
            "f32" | "f64" | "int" | "int64" | "bool" | "select" | "convert" | "ext" | "derivative" => 1.0,
            "texture" => 100.0,
            _ => 0.0,
        };
        [("operation", row.operations.iter().map(|(name, amount)| price(name) * amount.traced).sum())].into()
    }
    fn solve(rows: &[(Vec<f64>, f64)], _: &[&str]) -> Vec<f64> {
        // There is no cost of a draw.
        let own: Vec<(Vec<f64>, f64)> = rows.iter().map(|(row, time)| (row[..row.len() - 1].to_vec(), *time)).collect();
        let mut found = by_inverse_time(&own).solve();
        found.push(0.0);
        found
    }
}

/// Relative errors, and no cost below nothing.
fn non_negative(rows: &[(Vec<f64>, f64)]) -> Vec<f64> {
    Normal::new(rows[0].0.len(), rows.iter().map(|(row, time)| (&row[..], *time, time.powi(-2)))).solve_non_negative()
}

/// Scalarised operations by class, as traced; none costs less than nothing. The error is relative to the time.
#[derive(Clone, Debug, PartialEq)]
pub struct Operations;

impl Columns for Operations {
    fn of(row: &Row) -> BTreeMap<&str, f64> {
        row.operations.iter().filter(|(name, _)| is_operation(name)).map(|(name, amount)| (name.as_str(), amount.traced)).collect()
    }
    fn solve(rows: &[(Vec<f64>, f64)], _: &[&str]) -> Vec<f64> {
        non_negative(rows)
    }
}

/// How much evidence it takes to move a cost away from what is expected of it: the squared relative error that must be saved for a
/// cost of nothing, or of twice as much.
const STRENGTH: f64 = 0.3;
/// Rounds of weights for absolute errors, and the relative error below which errors count as squares.
const ROUNDS: usize = 7;
const SMALL: f64 = 0.03;

/// No cost below nothing, the least absolute relative error (by weights that are renewed: few shaders that nothing explains lead no cost
/// astray), and no cost far from what its simple operations would take without evidence.
fn robust(rows: &[(Vec<f64>, f64)], simple: &[f64]) -> Vec<f64> {
    let n = rows[0].0.len();
    let least = rows.iter().map(|(_, time)| *time).fold(f64::INFINITY, f64::min);
    let operations = |row: &[f64]| row.iter().zip(simple).map(|(x, s)| x * s).sum::<f64>();
    let mut typical: Vec<f64> = rows.iter().map(|(row, time)| (time - least) / operations(row).max(1.0)).collect();
    typical.sort_by(f64::total_cmp);
    // Nothing is expected of the draw's own cost.
    let expected: Vec<f64> = simple.iter().map(|s| s * typical[typical.len() / 2]).chain([0.0]).collect();
    let mut weights: Vec<f64> = rows.iter().map(|(_, time)| time.powi(-2)).collect();
    let mut found = Vec::new();
    for _ in 0..ROUNDS {
        let weighted = rows.iter().zip(&weights).map(|((row, time), weight)| (&row[..], *time, *weight));
        found = Normal::new(n, weighted).with_prior(STRENGTH, &expected).solve_non_negative();
        for ((row, time), weight) in rows.iter().zip(&mut weights) {
            let said: f64 = row.iter().zip(&found).map(|(x, cost)| x * cost).sum();
            *weight = time.powi(-2) / ((said - time).abs() / time).max(SMALL);
        }
    }
    found
}

/// The same of what a driver's compiler leaves, where branches are masked; with absolute errors, and what is expected of each operation before anything is measured.
#[derive(Clone, Debug, PartialEq)]
pub struct LeanOperations;

impl Columns for LeanOperations {
    fn of(row: &Row) -> BTreeMap<&str, f64> {
        row.lean.iter().filter(|(name, _)| is_operation(name)).map(|(name, amount)| (name.as_str(), amount.masked)).collect()
    }
    fn solve(rows: &[(Vec<f64>, f64)], names: &[&str]) -> Vec<f64> {
        robust(rows, &names.iter().map(|name| simple(name)).collect::<Vec<_>>())
    }
}
