//! Named axes folded onto the three dimensions of a GPU.
//!
//! A [`Launch`] has any number of named axes, fastest first. Hardware has three: the first two axes keep a dimension each, all
//! others share the third, the earlier running faster. Every emitter folds the same way, so launches can be compared.

use crate::index::{mul, product};
use std::collections::BTreeMap;
use warpsight_ir::{BinaryOp, Expr, Launch, Name};

/// A launch in hardware dimensions.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// Work-groups per dimension, size expressions.
    pub groups: [Expr; 3],
    /// Work-items of a group per dimension.
    pub local: [u32; 3],
}

/// How one named axis is read from a hardware dimension: `(id / below) % extent`.
#[derive(Clone, Debug, PartialEq)]
pub struct AxisPart {
    /// The axis.
    pub name: Name,
    /// The dimension it shares or owns.
    pub dim: usize,
    /// Product of the extents of faster axes in the dimension.
    pub below: Expr,
    /// The extent to reduce by; `None` for the slowest axis of a dimension, which needs no reduction.
    pub modulus: Option<Expr>,
}

/// Why a size expression has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SizeError {
    /// No value was given for a size.
    #[error("no value for size `{0}`")]
    Missing(Name),
    /// The value does not fit, or a divisor is zero.
    #[error("a launch extent is {0}")]
    Undefined(&'static str),
    /// The expression holds something that is not known before the launch.
    #[error("a launch extent is not a size expression")]
    NotASize,
}

impl Grid {
    /// Folds the axes of a launch.
    pub fn of(launch: &Launch) -> Self {
        let groups = fold(launch.groups.iter().map(|axis| (axis.name.clone(), axis.extent.clone())).collect());
        let mut local = [1; 3];
        for (i, axis) in launch.lanes.iter().enumerate() {
            local[i.min(2)] *= axis.extent;
        }
        let extents =
            [0, 1, 2].map(|dim| groups.iter().filter(|(part, _)| part.dim == dim).fold(Expr::int(1), |n, (_, e)| mul(n, e.clone())));
        Self { groups: extents, local }
    }

    /// Work-items per dimension in all, and of one group, for the given sizes. A dimension is 0 where an extent is 0 or negative:
    /// there is nothing to launch then.
    pub fn ndrange(&self, sizes: &BTreeMap<Name, i64>) -> Result<([u64; 3], [u64; 3]), SizeError> {
        let local = self.local.map(u64::from);
        let mut global = local;
        for (items, groups) in global.iter_mut().zip(&self.groups) {
            let count = eval_size(groups, sizes)?.max(0) as u64;
            *items = items.checked_mul(count).ok_or(SizeError::Undefined("too large"))?;
        }
        Ok((global, local))
    }
}

/// How each group axis is read from the group's hardware coordinates.
pub fn group_parts(launch: &Launch) -> Vec<AxisPart> {
    fold(launch.groups.iter().map(|axis| (axis.name.clone(), axis.extent.clone())).collect()).into_iter().map(|(part, _)| part).collect()
}

/// How each lane axis is read from the work-item's hardware coordinates within its group.
pub fn lane_parts(launch: &Launch) -> Vec<AxisPart> {
    fold(launch.lanes.iter().map(|axis| (axis.name.clone(), Expr::int(axis.extent.into()))).collect())
        .into_iter()
        .map(|(part, _)| part)
        .collect()
}

/// Each axis with its extent.
fn fold(axes: Vec<(Name, Expr)>) -> Vec<(AxisPart, Expr)> {
    let last = axes.len().saturating_sub(1);
    let extents: Vec<Expr> = axes.iter().map(|axis| axis.1.clone()).collect();
    let part = |(i, (name, extent)): (usize, (Name, Expr))| {
        let below = if i < 3 { Expr::int(1) } else { product(&extents[2..i]) };
        let modulus = (i >= 2 && i < last).then(|| extent.clone());
        (AxisPart { name, dim: i.min(2), below, modulus }, extent)
    };
    axes.into_iter().enumerate().map(part).collect()
}

/// The value of a size expression: constants, sizes, + − × ÷ % min max.
pub fn eval_size(expr: &Expr, sizes: &BTreeMap<Name, i64>) -> Result<i64, SizeError> {
    let overflow = SizeError::Undefined("too large");
    match expr {
        Expr::Const(c) => c.as_int().ok_or(SizeError::NotASize),
        Expr::Size(name) => sizes.get(name).copied().ok_or_else(|| SizeError::Missing(name.clone())),
        Expr::Binary(op, a, b) => {
            let (a, b) = (eval_size(a, sizes)?, eval_size(b, sizes)?);
            match op {
                BinaryOp::Add => a.checked_add(b).ok_or(overflow),
                BinaryOp::Sub => a.checked_sub(b).ok_or(overflow),
                BinaryOp::Mul => a.checked_mul(b).ok_or(overflow),
                BinaryOp::Div => a.checked_div(b).ok_or(SizeError::Undefined("divided by zero")),
                BinaryOp::Rem => a.checked_rem(b).ok_or(SizeError::Undefined("divided by zero")),
                BinaryOp::Min => Ok(a.min(b)),
                BinaryOp::Max => Ok(a.max(b)),
                _ => Err(SizeError::NotASize),
            }
        }
        _ => Err(SizeError::NotASize),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpsight_ir::{GroupAxis, LaneAxis};

    /// Every axis read back from folded coordinates must count like an odometer, fastest first.
    #[test]
    fn folding_is_an_odometer() {
        for count in 0..=5 {
            let extents: Vec<i64> = [3, 2, 4, 5, 2][..count].to_vec();
            let axes = extents.iter().enumerate().map(|(i, &e)| GroupAxis { name: format!("g{i}").into(), extent: Expr::int(e) });
            let launch = Launch { groups: axes.collect(), lanes: vec![], subgroup: None };
            let parts = group_parts(&launch);
            let (global, local) = Grid::of(&launch).ndrange(&BTreeMap::new()).unwrap();
            assert_eq!(local, [1, 1, 1]);
            assert_eq!(global.iter().product::<u64>() as i64, extents.iter().product::<i64>());
            let mut linear = 0;
            for z in 0..global[2] {
                for y in 0..global[1] {
                    for x in 0..global[0] {
                        let id = [x as i64, y as i64, z as i64];
                        let mut rest = linear;
                        for (part, &extent) in parts.iter().zip(&extents) {
                            let value = id[part.dim] / part.below.as_int().unwrap();
                            let value = part.modulus.as_ref().map_or(value, |m| value % m.as_int().unwrap());
                            assert_eq!(value, rest % extent, "axis {} of {count}", part.name);
                            rest /= extent;
                        }
                        linear += 1;
                    }
                }
            }
        }
    }

    #[test]
    fn symbolic_extents() {
        let half = Expr::binary(BinaryOp::Div, Expr::binary(BinaryOp::Add, Expr::Size("n".into()), Expr::int(7)), Expr::int(8));
        let launch = Launch {
            groups: vec![GroupAxis { name: "g".into(), extent: half }],
            lanes: [8, 2, 3, 2].iter().map(|&e| LaneAxis { name: format!("l{e}").into(), extent: e }).collect(),
            subgroup: None,
        };
        let grid = Grid::of(&launch);
        assert_eq!(grid.local, [8, 2, 6]);
        assert_eq!(grid.ndrange(&BTreeMap::from([("n".into(), 17)])), Ok(([24, 2, 6], [8, 2, 6])));
        assert_eq!(grid.ndrange(&BTreeMap::from([("n".into(), -20)])), Ok(([0, 2, 6], [8, 2, 6])));
        assert_eq!(grid.ndrange(&BTreeMap::new()), Err(SizeError::Missing("n".into())));
    }
}
