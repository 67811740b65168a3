//! What an expression gives: one to sixteen lanes of one type.

use crate::types::Const;
use smallvec::{SmallVec, smallvec};

/// Lanes of a value. A scalar has one.
#[derive(Clone, Debug, Default)]
pub(super) struct Value(SmallVec<[Const; 1]>);

impl Value {
    pub fn lanes(&self) -> &[Const] {
        &self.0
    }
    /// A lane, or the only one of a scalar.
    pub fn lane(&self, lane: usize) -> Option<Const> {
        self.0.get(lane).copied()
    }
    /// `width` equal lanes.
    pub fn splat(lane: Const, width: usize) -> Self {
        Self(smallvec![lane; width])
    }
    pub fn each(&self, mut f: impl FnMut(Const) -> Const) -> Self {
        self.0.iter().map(|&a| f(a)).collect()
    }
    pub fn try_each<E>(&self, mut f: impl FnMut(Const) -> Result<Const, E>) -> Result<Self, E> {
        match self.0[..] {
            [a] => Ok(Self::from(f(a)?)),
            _ => self.0.iter().map(|&a| f(a)).collect(),
        }
    }
    /// Lane by lane with another value of the same width.
    pub fn zip<E>(&self, other: &Self, mut f: impl FnMut(Const, Const) -> Result<Const, E>) -> Result<Self, E> {
        match (&self.0[..], &other.0[..]) {
            (&[a], &[b]) => Ok(Self::from(f(a, b)?)),
            (a, b) => a.iter().zip(b).map(|(&a, &b)| f(a, b)).collect(),
        }
    }
    /// Lane by lane with two other values of the same width.
    pub fn zip3<E>(&self, b: &Self, c: &Self, mut f: impl FnMut(Const, Const, Const) -> Result<Const, E>) -> Result<Self, E> {
        self.0.iter().zip(&b.0).zip(&c.0).map(|((&a, &b), &c)| f(a, b, c)).collect()
    }
}

impl From<Const> for Value {
    fn from(lane: Const) -> Self {
        Self(smallvec![lane])
    }
}

impl FromIterator<Const> for Value {
    fn from_iter<I: IntoIterator<Item = Const>>(lanes: I) -> Self {
        Self(lanes.into_iter().collect())
    }
}
