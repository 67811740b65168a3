//! Affine forms over the variables of a loop nest: `Σ coefficient·variable + constant`.

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// A variable of an [`crate::Accesses`]: its position in `Accesses::vars`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct VarId(pub u16);

/// An affine form. Terms are sorted by variable, none has coefficient 0, so equal forms compare equal.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Affine {
    terms: SmallVec<[(VarId, i32); 4]>,
    /// The constant part.
    pub constant: i64,
}

impl Affine {
    /// A constant.
    pub fn constant(value: i64) -> Self {
        Self { terms: SmallVec::new(), constant: value }
    }
    /// A variable.
    pub fn var(var: VarId) -> Self {
        Self::term(var, 1)
    }
    /// coefficient · variable
    pub fn term(var: VarId, coefficient: i32) -> Self {
        let mut form = Self::default();
        form.add_term(var, coefficient);
        form
    }
    /// Adds `coefficient · var` in place.
    pub fn add_term(&mut self, var: VarId, coefficient: i32) {
        match self.terms.binary_search_by_key(&var, |t| t.0) {
            Ok(i) => {
                self.terms[i].1 += coefficient;
                if self.terms[i].1 == 0 {
                    self.terms.remove(i);
                }
            }
            Err(i) if coefficient != 0 => self.terms.insert(i, (var, coefficient)),
            Err(_) => {}
        }
    }
    /// Adds `coefficient · var` in place, unless the sum exceeds 32 bits.
    #[must_use]
    pub fn try_add_term(&mut self, var: VarId, coefficient: i32) -> Option<()> {
        match self.terms.last() {
            // Most forms are built in the order of their variables.
            Some(last) if last.0 >= var => {
                self.coefficient(var).checked_add(coefficient)?;
                self.add_term(var, coefficient);
            }
            _ if coefficient != 0 => self.terms.push((var, coefficient)),
            _ => {}
        }
        Some(())
    }
    /// Its terms, sorted by variable.
    pub fn terms(&self) -> &[(VarId, i32)] {
        &self.terms
    }
    /// The coefficient of a variable, 0 where it does not occur.
    pub fn coefficient(&self, var: VarId) -> i32 {
        self.terms.binary_search_by_key(&var, |t| t.0).map_or(0, |i| self.terms[i].1)
    }
    /// Whether no variable occurs.
    pub fn is_constant(&self) -> bool {
        self.terms.is_empty()
    }
    /// self + factor · other
    pub fn plus(&self, other: &Self, factor: i32) -> Self {
        let mut sum = self.clone();
        for &(var, c) in other.terms() {
            sum.add_term(var, c * factor);
        }
        sum.constant += other.constant * i64::from(factor);
        sum
    }
    /// factor · self
    pub fn times(&self, factor: i32) -> Self {
        Self::default().plus(self, factor)
    }
    /// Its value, given each variable's.
    pub fn eval(&self, value: impl Fn(VarId) -> i64) -> i64 {
        self.terms.iter().map(|&(v, c)| i64::from(c) * value(v)).sum::<i64>() + self.constant
    }
    /// Smallest and largest value when each variable runs over the inclusive range that `range` gives.
    pub fn range(&self, range: impl Fn(VarId) -> (i64, i64)) -> (i64, i64) {
        self.terms.iter().fold((self.constant, self.constant), |(lo, hi), &(v, c)| {
            let (a, b) = range(v);
            let (x, y) = (a * i64::from(c), b * i64::from(c));
            (lo + x.min(y), hi + x.max(y))
        })
    }
}
