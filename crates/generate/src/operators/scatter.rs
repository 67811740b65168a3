//! Elements that are put where other numbers say.

use super::lookup::{EXACT, Lookup, beside};
use super::{Builder, OperatorError, add, axis_names, broadcast_index, mul, named, operator, tensor};
use crate::expr::{Combine, Index, Operator, Role, ScalarExpr, Tensor, TensorExpr};
use warpsight_ir::{BinaryOp, Scalar, UnaryOp};

/// What an element becomes that elements are put to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScatterKind {
    /// The last of what is put there.
    Last,
    /// Itself and their sum.
    Add,
    /// Itself times their product.
    Mul,
    /// The greatest of them and itself.
    Max,
    /// The smallest of them and itself.
    Min,
}

impl ScatterKind {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Last, Self::Add, Self::Mul, Self::Max, Self::Min];

    /// The operator's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Last => "scatter",
            Self::Add => "scatter_add",
            Self::Mul => "scatter_mul",
            Self::Max => "scatter_max",
            Self::Min => "scatter_min",
        }
    }

    /// How those of one place are combined.
    fn combine(self) -> Combine {
        match self {
            Self::Add => Combine::Sum,
            Self::Mul => Combine::Product,
            Self::Last | Self::Max | Self::Min => Combine::Max,
        }
    }

    /// An element of a combination, and its result: the smallest is the greatest of numbers with the other sign.
    fn turned(self, own: ScalarExpr) -> ScalarExpr {
        if self == Self::Min { ScalarExpr::unary(UnaryOp::Neg, own) } else { own }
    }

    /// What an element and the combination of what is put to it become.
    fn with(self, own: ScalarExpr, put: ScalarExpr) -> ScalarExpr {
        match self {
            Self::Add => add(put, own),
            Self::Mul => mul(put, own),
            Self::Max => ScalarExpr::binary(BinaryOp::Max, put, own),
            Self::Min => ScalarExpr::binary(BinaryOp::Min, put, own),
            Self::Last => put,
        }
    }
}

/// `input`, broadcast to the shape that is looked into, to which the elements of `updates` are put at their own places, but that the position along
/// one dimension (or several, one in `updates`) is what `index` holds: of each element where it has the shape of `updates`, of each part along the
/// dimension where all its other extents are 1. Positions beyond both ends are nowhere.
///
/// Each result asks all updates along the dimension whether they are its own, so that results come in one order and no memory is written twice:
/// the product of both extents, which a sort would do with less. Where the last one stays, which one that is is asked by itself first, once for each
/// place that positions are of.
pub fn scatter(kind: ScatterKind, own: &Lookup, input: &[i64], updates: &[i64]) -> Result<Operator, OperatorError> {
    own.check(kind.name())?;
    let put = Put::new(kind, own, updates)?;
    let input = tensor("input", input, own.element, Role::Activation);
    if !broadcasts(&input.shape, &own.shape) {
        let what = format!("{:?} does not broadcast to {:?}", input.shape, own.shape);
        return Err(OperatorError::Mismatch { operator: kind.name().into(), what });
    }
    operator(kind.name(), if kind == ScatterKind::Last { put.last(&input)? } else { vec![put.combined(&input)] })
}

/// What is put where.
struct Put<'a> {
    kind: ScatterKind,
    own: &'a Lookup,
    updates: Tensor,
    /// Whether each element of `updates` has a position of its own.
    each: bool,
}

impl<'a> Put<'a> {
    fn new(kind: ScatterKind, own: &'a Lookup, updates: &[i64]) -> Result<Self, OperatorError> {
        let merged = [&own.shape[..own.axis], &[1], &own.shape[own.behind()..]].concat();
        beside(kind.name(), (&merged, own.axis), updates)?;
        let each = own.index == updates && own.dimensions == 1;
        let column: Vec<i64> = (0..updates.len()).map(|d| if d == own.axis { updates[d] } else { 1 }).collect();
        if !each && own.index != column {
            let what = format!("positions of shape {:?} for {updates:?} along axis {}", own.index, own.axis);
            return Err(OperatorError::Mismatch { operator: kind.name().into(), what });
        }
        Ok(Self { kind, own, updates: tensor("updates", updates, own.element, Role::Activation), each })
    }

    /// Dimensions of the result, each with its dimension of `updates`, along which all of these have their own places.
    fn straight(&self) -> impl Iterator<Item = (usize, usize)> {
        let (axis, behind) = (self.own.axis, self.own.behind());
        (0..axis).map(|d| (d, d)).chain((behind..self.own.shape.len()).map(move |d| (d, d + 1 + axis - behind)))
    }

    /// The element of `updates` at a place of the result, but for the axis.
    fn beside(&self, at: &[Index], along: &Index) -> Vec<Index> {
        [&at[..self.own.axis], std::slice::from_ref(along), &at[self.own.behind()..]].concat()
    }

    /// Whether a place has elements of `updates` beside it, where there are less than of the result.
    fn inside(&self, at: &[Index]) -> Vec<ScalarExpr> {
        let fewer = self.straight().filter(|&(d, u)| self.updates.shape[u] < self.own.shape[d]);
        let within = |(d, u): (usize, usize)| {
            let end = ScalarExpr::Const(self.updates.shape[u] as f64);
            ScalarExpr::binary(BinaryOp::Lt, ScalarExpr::Position(at[d].clone()), end)
        };
        fewer.map(within).collect()
    }

    /// What has to hold for an update to belong to a place, by its positions.
    fn hit(&self, builder: &mut Builder, at: &[Index], along: &Index) -> Vec<ScalarExpr> {
        let index = self.beside(at, along);
        let positions: Vec<Index> = match self.each {
            true => index,
            false => self.own.index.iter().zip(&index).map(|(&e, form)| form.times(i64::from(e > 1)).unwrap_or_default()).collect(),
        };
        let own_place = |(d, place): (usize, ScalarExpr)| ScalarExpr::binary(BinaryOp::Eq, place, ScalarExpr::Position(at[d].clone()));
        self.own.places(builder, &positions).into_iter().map(own_place).collect()
    }

    /// One expression: a combination of all that belongs to a place, and of what is there.
    fn combined(&self, input: &Tensor) -> TensorExpr {
        let (own, kind) = (self.own, self.kind);
        let names = axis_names(own.shape.len());
        let (mut builder, at, from) = Builder::new(kind.name(), &named(&names, &own.shape), &[("e", self.updates.shape[own.axis])]);
        let mut hits = self.hit(&mut builder, &at, &from[0]);
        if kind != ScatterKind::Add {
            // Beyond the ends of `updates` zeros are read, which a sum may have.
            hits.extend(self.inside(&at));
        }
        let update = kind.turned(builder.load(&self.updates, self.beside(&at, &from[0])));
        let body = ScalarExpr::select(all(hits), update, ScalarExpr::Const(kind.combine().start()));
        let there = builder.load(input, broadcast_index(&input.shape, &at));
        let epilogue = kind.with(there, kind.turned(ScalarExpr::Acc));
        let output = tensor("output", &own.shape, own.element, Role::Output);
        builder.finish(kind.combine(), body, epilogue, output, at)
    }

    /// Two: the last update of each place, -1 where there is none, and what it is.
    fn last(&self, input: &Tensor) -> Result<Vec<TensorExpr>, OperatorError> {
        let own = self.own;
        let count = self.updates.shape[own.axis];
        if count > EXACT {
            let what = format!("the last of more than {EXACT} elements");
            return Err(OperatorError::Unsupported { operator: self.kind.name().into(), what });
        }
        let names = axis_names(own.shape.len());
        // Where all beside a place go with it, the question has one answer for all.
        let asked: Vec<i64> =
            (0..own.shape.len()).map(|d| if self.each || (own.axis..own.behind()).contains(&d) { own.shape[d] } else { 1 }).collect();
        let (mut builder, at, from) = Builder::new("last", &named(&names, &asked), &[("e", count)]);
        let mut hits = self.hit(&mut builder, &at, &from[0]);
        if self.each {
            hits.extend(self.inside(&at));
        }
        let position = ScalarExpr::round(Scalar::F32, ScalarExpr::Position(from[0].clone()));
        let body = ScalarExpr::select(all(hits), position, ScalarExpr::Const(-1.0));
        let whole = own.positions == Scalar::I32;
        let epilogue = if whole { ScalarExpr::round(own.positions, ScalarExpr::Acc) } else { ScalarExpr::Acc };
        let last = tensor("last", &asked, own.positions, Role::Output);
        let asking = builder.finish(Combine::Max, body, epilogue, last.clone(), at);

        let (mut builder, at, _) = Builder::new(self.kind.name(), &named(&names, &own.shape), &[]);
        let last = Tensor { role: Role::Activation, ..last };
        let number = builder.load(&last, broadcast_index(&asked, &at));
        let mut stays = vec![ScalarExpr::binary(BinaryOp::Le, ScalarExpr::Const(0.0), number.clone())];
        let (mut index, mut found) = (self.beside(&at, &Index::constant(0)), vec![(own.axis, number)]);
        if !self.each {
            stays.extend(self.inside(&at));
        }
        // Where there is nothing beside a place, zeros are found, which are not chosen.
        for (d, u) in self.straight().filter(|&(d, u)| self.updates.shape[u] < own.shape[d]) {
            (index[u], _) = (Index::constant(0), found.push((u, ScalarExpr::Position(at[d].clone()))));
        }
        let put = builder.gather(&self.updates, index, found);
        let there = builder.load(input, broadcast_index(&input.shape, &at));
        let body = ScalarExpr::select(all(stays), put, there);
        let output = tensor("output", &own.shape, own.element, Role::Output);
        Ok(vec![asking, builder.finish(Combine::Sum, body, ScalarExpr::Acc, output, at)])
    }
}

/// Whether all of some hold; of none nothing does.
fn all(hold: Vec<ScalarExpr>) -> ScalarExpr {
    hold.into_iter().reduce(|a, b| ScalarExpr::binary(BinaryOp::And, a, b)).unwrap_or(ScalarExpr::Const(0.0))
}

fn broadcasts(from: &[i64], to: &[i64]) -> bool {
    from.len() <= to.len() && from.iter().rev().zip(to.iter().rev()).all(|(own, whole)| own == whole || *own == 1)
}
