//! Affine forms: `Σ coefficient·variable + constant`.
//!
//! Coefficients have 32 bits, constants 64, as coordinates of Programs and addresses of tensors do. Arithmetic that would leave them gives
//! `None`: it never wraps.

pub mod text;

use crate::range::Interval;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::borrow::Borrow;
use std::fmt;

/// A variable of an [`crate::Accesses`]: its position in `Accesses::vars`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct VarId(pub u16);

/// An affine form over variables of any kind. Terms are sorted by variable, none has coefficient 0, so equal forms compare equal.
///
/// ```
/// use warpsight_ir::{Affine, range::Interval};
/// let row = Affine::of([('x', 2), ('y', -3)], 5).unwrap();
/// assert_eq!(row.eval(|var| if var == 'x' { 10 } else { 1 }), Some(22));
/// assert_eq!(row.range(|_| Interval::new(0, 9)), Interval::new(-22, 23));
/// // y = x + 1
/// let along = |var| Affine::of([('x', 1)], i64::from(var == 'y'));
/// assert_eq!(row.substitute(along), Affine::of([('x', -1)], 2));
/// assert_eq!(row.show(|var| var.to_string()).to_string(), "2*x - 3*y + 5");
/// assert_eq!(row.times(i64::MAX), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Affine<V = VarId> {
    terms: SmallVec<[(V, i32); 4]>,
    /// The constant part.
    pub constant: i64,
}

impl<V> Default for Affine<V> {
    fn default() -> Self {
        Self::constant(0)
    }
}

impl<V> Affine<V> {
    /// A constant.
    pub fn constant(value: i64) -> Self {
        Self { terms: SmallVec::new(), constant: value }
    }
    /// Its terms, sorted by variable.
    pub fn terms(&self) -> &[(V, i32)] {
        &self.terms
    }
    /// Leaves out the terms of other variables.
    pub fn retain(&mut self, keep: impl Fn(&V) -> bool) {
        self.terms.retain(|term| keep(&term.0));
    }
    /// Whether no variable occurs.
    pub fn is_constant(&self) -> bool {
        self.terms.is_empty()
    }
}

impl<V: Clone + Ord> Affine<V> {
    /// A variable.
    pub fn var(var: V) -> Self {
        Self::term(var, 1)
    }
    /// coefficient · variable
    pub fn term(var: V, coefficient: i32) -> Self {
        Self { terms: (coefficient != 0).then_some((var, coefficient)).into_iter().collect(), constant: 0 }
    }
    /// The sum of terms in any order and a constant.
    pub fn of(terms: impl IntoIterator<Item = (V, i64)>, constant: i64) -> Option<Self> {
        let mut form = Self::constant(constant);
        terms.into_iter().try_for_each(|(var, c)| form.add_term(var, c))?;
        Some(form)
    }
    /// Adds `coefficient · var` in place.
    #[must_use]
    pub fn add_term(&mut self, var: V, coefficient: impl Into<i64>) -> Option<()> {
        let coefficient = coefficient.into();
        if coefficient == 0 {
            return Some(());
        }
        // Most forms are built in the order of their variables.
        let place = match self.terms.last() {
            Some(last) if last.0 >= var => self.terms.binary_search_by(|t| t.0.cmp(&var)),
            _ => Err(self.terms.len()),
        };
        match place {
            Ok(i) => match i32::try_from(i64::from(self.terms[i].1).checked_add(coefficient)?).ok()? {
                0 => drop(self.terms.remove(i)),
                sum => self.terms[i].1 = sum,
            },
            Err(i) => self.terms.insert(i, (var, i32::try_from(coefficient).ok()?)),
        }
        Some(())
    }
    /// Adds `factor · other` in place; where that fails, what is left is of no use.
    #[must_use]
    pub fn add(&mut self, other: &Self, factor: i64) -> Option<()> {
        self.constant = self.constant.checked_add(other.constant.checked_mul(factor)?)?;
        other.terms.iter().try_for_each(|(var, c)| self.add_term(var.clone(), i64::from(*c).checked_mul(factor)?))
    }
    /// self + factor · other
    pub fn plus(&self, other: &Self, factor: i64) -> Option<Self> {
        let mut sum = self.clone();
        sum.add(other, factor)?;
        Some(sum)
    }
    /// factor · self
    pub fn times(&self, factor: i64) -> Option<Self> {
        Self::default().plus(self, factor)
    }
    /// Its terms and another constant.
    pub fn with_constant(&self, constant: i64) -> Self {
        Self { terms: self.terms.clone(), constant }
    }
    /// self + value
    pub fn offset(mut self, value: i64) -> Option<Self> {
        self.constant = self.constant.checked_add(value)?;
        Some(self)
    }
    /// The form with a form in place of each variable; `None` where one has none, too.
    pub fn substitute<W: Clone + Ord, F: Borrow<Affine<W>>>(&self, form: impl Fn(V) -> Option<F>) -> Option<Affine<W>> {
        let mut sum = Affine::constant(self.constant);
        self.terms.iter().try_for_each(|(var, c)| sum.add(form(var.clone())?.borrow(), i64::from(*c)))?;
        Some(sum)
    }
    /// The form in variables of other names; no two get one name.
    pub fn renamed<W: Ord>(&self, name: impl Fn(V) -> W) -> Affine<W> {
        let mut terms: SmallVec<[(W, i32); 4]> = self.terms.iter().map(|(var, c)| (name(var.clone()), *c)).collect();
        terms.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        Affine { terms, constant: self.constant }
    }
    /// `(quotient, rest)` with `self = divisor · quotient + rest`: the quotient has the terms and the part of the constant that the
    /// positive divisor divides, so that the rest's constant lies in `0 .. divisor`. The quotient is the form's, rounded down, exactly
    /// where the rest's range lies there, too.
    pub fn divide(&self, divisor: i64) -> (Self, Self) {
        let (quotient, rest) = (self.constant.div_euclid(divisor), self.constant.rem_euclid(divisor));
        let mut parts = (Self::constant(quotient), Self::constant(rest));
        for (var, c) in &self.terms {
            let wide = i64::from(*c);
            // What a positive number makes of 32 bits has 32 bits.
            let (part, c) = if wide % divisor == 0 { (&mut parts.0, (wide / divisor) as i32) } else { (&mut parts.1, *c) };
            part.terms.push((var.clone(), c));
        }
        parts
    }
    /// The coefficient of a variable, 0 where it does not occur.
    pub fn coefficient(&self, var: V) -> i32 {
        self.terms.binary_search_by(|t| t.0.cmp(&var)).map_or(0, |i| self.terms[i].1)
    }
    /// Its value, given each variable's.
    pub fn eval(&self, value: impl Fn(V) -> i64) -> Option<i64> {
        let mut terms = self.terms.iter();
        terms.try_fold(self.constant, |sum, (var, c)| sum.checked_add(i64::from(*c).checked_mul(value(var.clone()))?))
    }
    /// Its values when each variable runs over what `range` gives: all of that, and both ends occur where variables are independent.
    pub fn range<R: Into<Interval>>(&self, range: impl Fn(V) -> R) -> Interval {
        self.terms.iter().fold(Interval::exactly(self.constant), |sum, (var, c)| sum + range(var.clone()).into().times(*c))
    }
    /// As [`Affine::range`], and every partial sum on the way, in whatever order it is summed up; `None` where a variable has no range.
    pub fn partial_sums(&self, range: impl Fn(V) -> Option<Interval>) -> Option<Interval> {
        let zero = Interval::exactly(0);
        let mut terms = self.terms.iter();
        terms.try_fold(Interval::exactly(self.constant).hull(zero), |sum, (var, c)| Some(sum + range(var.clone())?.times(*c).hull(zero)))
    }
    /// Its text, which [`text::parse`] reads.
    pub fn show<N: fmt::Display>(&self, name: impl Fn(V) -> N) -> impl fmt::Display {
        fmt::from_fn(move |f| text::sum(f, self.terms.iter().map(|(var, c)| (i64::from(*c), name(var.clone()))), self.constant))
    }
}
