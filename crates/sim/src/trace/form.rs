//! Linear forms of the variables of a kernel, evaluated for a warp and its lanes.

use smallvec::SmallVec;
use std::collections::HashMap;
use warpsight_ir::{Accesses, Affine, VarKind};

/// A linear form: what all lanes of a warp have in common, and a number of each lane.
#[derive(Clone, Debug, PartialEq)]
pub struct Form {
    /// Without variables.
    pub constant: i64,
    /// Variables of groups and loops.
    terms: SmallVec<[(u16, i64); 6]>,
    /// Position among [`Forms::shapes`].
    pub shape: u32,
}

/// What forms are made with.
pub struct Forms {
    /// Of each lane of a group the values of lane variables.
    lanes: Vec<(u16, Vec<i64>)>,
    warp: usize,
    known: HashMap<Vec<(u16, i64)>, u32>,
    /// For each shape of a form.
    pub shapes: Vec<Shape>,
}

/// What a form adds for each lane.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Of the lanes of a group.
    pub lanes: Vec<i64>,
    /// The least and the most of each warp.
    pub spans: Vec<(i64, i64)>,
}

impl Form {
    /// Whether it differs from another one in constants alone.
    pub fn moves_as(&self, other: &Self) -> bool {
        (&self.terms, self.shape) == (&other.terms, other.shape)
    }

    /// The part that lanes have in common.
    pub fn base(&self, values: &[i64]) -> i64 {
        self.terms.iter().fold(self.constant, |sum, &(var, c)| sum.wrapping_add(c.wrapping_mul(values[usize::from(var)])))
    }
}

impl Forms {
    /// Of the variables of these accesses, for groups of so many work-items in warps of so many.
    pub fn of(accesses: &Accesses, group_size: usize, warp: usize) -> Self {
        let mut unit = 1;
        let mut lanes = Vec::new();
        for (at, var) in accesses.vars.iter().enumerate().filter(|(_, var)| var.kind == VarKind::Lane) {
            let count = var.trips.map_or(1, |trips| trips.max(1) as usize);
            lanes.push((at as u16, (0..group_size).map(|lane| (lane / unit % count) as i64).collect()));
            unit *= count;
        }
        Self { lanes, warp, known: HashMap::new(), shapes: Vec::new() }
    }

    /// The form of these terms.
    pub fn form(&mut self, constant: i64, terms: impl IntoIterator<Item = (u16, i64)>) -> Form {
        let (lanes, terms): (Vec<_>, SmallVec<_>) = {
            let mut parts = (Vec::new(), SmallVec::new());
            for term in terms {
                if self.lanes.iter().any(|lane| lane.0 == term.0) { parts.0.push(term) } else { parts.1.push(term) }
            }
            parts
        };
        let group_size = self.lanes.first().map_or(1, |lane| lane.1.len());
        let shape = *self.known.entry(lanes).or_insert_with_key(|terms| {
            let of = |var: u16| self.lanes.iter().find(|lane| lane.0 == var).map_or(&[][..], |lane| &lane.1);
            let mut shape = vec![0_i64; group_size];
            for &(var, c) in terms {
                shape.iter_mut().zip(of(var)).for_each(|(sum, value)| *sum = sum.wrapping_add(c.wrapping_mul(*value)));
            }
            let spans = shape
                .chunks(self.warp)
                .map(|warp| warp.iter().fold((i64::MAX, i64::MIN), |(lo, hi), &value| (lo.min(value), hi.max(value))));
            self.shapes.push(Shape { spans: spans.collect(), lanes: shape });
            self.shapes.len() as u32 - 1
        });
        Form { constant, terms, shape }
    }

    /// An affine form as one.
    pub fn affine(&mut self, form: &Affine) -> Form {
        self.form(form.constant, form.terms().iter().map(|&(var, c)| (var.0, i64::from(c))))
    }
}
