//! In which order work-items of a group become lanes of warps.
//!
//! Kernels name lane axes the fastest first, and whatever counts warps takes work-items in that order. Where a device has another one, the kernel
//! is written anew with its axes in the device's order, so that nothing else has to know.

use super::Kernel;
use crate::accesses::{AccessRef, Nest, NestVar, VarKind};
use crate::affine::{Affine, VarId};
use crate::profile::Profile;
use std::borrow::Cow;

/// The order as a probe tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneOrder {
    /// Along x first.
    Across,
    /// Along y first.
    Down,
    /// Tiles of so many work-items along x and so many along y: one after another along x, then along y, each row by row.
    Tiles(u32, u32),
}

impl LaneOrder {
    /// `x`, `y`, or `4 x 2`; `None` of other words.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "x" => Some(Self::Across),
            "y" => Some(Self::Down),
            _ => {
                let (across, down) = word.split_once(" x ")?;
                let extent = |word: &str| word.parse().ok().filter(|extent| *extent > 0);
                Some(Self::Tiles(extent(across)?, extent(down)?))
            }
        }
    }

    /// The order of a device; along x first where nobody knows.
    pub fn of(profile: &Profile) -> Self {
        profile.probed.lane_order.get().and_then(|word| Self::parse(word)).unwrap_or(Self::Across)
    }
}

/// A part of a lane axis: so many neighbours of `step` each.
struct Part {
    axis: usize,
    step: u32,
    count: u32,
}

impl Kernel {
    /// The kernel with its lane axes in an order of a device: itself along x, and where tiles do not divide the group.
    pub fn in_lane_order(&self, order: LaneOrder) -> Cow<'_, Self> {
        let lanes = &self.launch.lanes;
        let whole = |axis: usize| Part { axis, step: 1, count: lanes[axis] };
        let mut parts: Vec<Part> = match order {
            LaneOrder::Down if lanes.len() >= 2 => vec![whole(1), whole(0)],
            LaneOrder::Tiles(across, down) if lanes.len() >= 2 => {
                if !lanes[0].is_multiple_of(across) || !lanes[1].is_multiple_of(down) {
                    return Cow::Borrowed(self);
                }
                let within = [(0, across), (1, down)].map(|(axis, count)| Part { axis, step: 1, count });
                let beyond = [(0, across), (1, down)].map(|(axis, step)| Part { axis, step, count: lanes[axis] / step });
                within.into_iter().chain(beyond).collect()
            }
            _ => return Cow::Borrowed(self),
        };
        parts.extend((2..lanes.len()).map(whole));
        self.with_lanes(&parts).map_or(Cow::Borrowed(self), Cow::Owned)
    }

    /// `None` where a coordinate leaves its bits.
    fn with_lanes(&self, parts: &[Part]) -> Option<Self> {
        let mut kernel = self.clone();
        let vars = &self.accesses.vars;
        let first = vars.iter().position(|var| var.kind == VarKind::Lane)?;
        let lanes = self.launch.lanes.len();
        let later = first + lanes;
        let lane = |part: &Part| NestVar { trips: Some(part.count), ..vars[first + part.axis].clone() };
        kernel.accesses.vars = vars[..first].iter().cloned().chain(parts.iter().map(lane)).chain(vars[later..].iter().cloned()).collect();
        kernel.launch.lanes = parts.iter().map(|part| part.count).collect();
        let forms: Vec<Affine> = (0..vars.len())
            .map(|at| match at {
                _ if at < first => Some(Affine::var(VarId(at as u16))),
                _ if at >= later => Some(Affine::var(VarId((at - lanes + parts.len()) as u16))),
                _ => {
                    let own = parts.iter().zip(first..).filter(|own| own.0.axis == at - first);
                    Affine::of(own.map(|(part, at)| (VarId(at as u16), i64::from(part.step))), 0)
                }
            })
            .collect::<Option<_>>()?;
        renamed(&mut kernel.accesses.nest, &forms)?;
        Some(kernel)
    }
}

fn renamed(nest: &mut [Nest], forms: &[Affine]) -> Option<()> {
    let form = |var: VarId| forms.get(usize::from(var.0));
    for node in nest {
        match node {
            Nest::Loop { var, body } => {
                *var = form(*var)?.terms().first()?.0;
                renamed(body, forms)?;
            }
            Nest::Access(AccessRef { coords, guard, .. }) => {
                for own in coords.iter_mut().chain(guard.iter_mut().map(|bound| &mut bound.value)) {
                    *own = own.substitute(form)?;
                }
            }
            Nest::Barrier => {}
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::facts::Facts;
    use crate::{Checked, text};

    /// Groups of 8 × 4 work-items read `texel` of an image, step by step.
    fn kernel(lanes: &str, texel: &str) -> Kernel {
        let text = format!(
            "program reads {{\n  read image i: rgba32f[64, 64]\n  write image o: rgba32f[8, 4]\n  lanes {lanes}\n  {{\n    var s: f32x4 = splat4(0.0)\n    \
             for n in 0..4 unroll none {{\n      let t = i@[{texel}]\n      s = s + t\n    }}\n    o@[x, y] = s\n  }}\n}}\n"
        );
        Kernel::of(&Checked::new(text::parse(&text).expect("parses")).expect("valid")).expect("affine")
    }

    #[test]
    fn words_of_probes_are_read() {
        assert_eq!(
            ["x", "y", "4 x 2", "4x2", "0 x 2"].map(LaneOrder::parse),
            [Some(LaneOrder::Across), Some(LaneOrder::Down), Some(LaneOrder::Tiles(4, 2)), None, None]
        );
    }

    /// Warps of 8 along x read 8 texels of a row that y does not move; along y first, one warp has two of them.
    #[test]
    fn a_transposed_order_has_the_transposed_count() {
        let row = kernel("x = 8, y = 4", "x, n");
        let fetched = |order| Facts::of(&row.in_lane_order(order), 8).fetched.0 / (4.0 * 16.0);
        assert_eq!([LaneOrder::Across, LaneOrder::Down, LaneOrder::Tiles(4, 2)].map(fetched), [8.0, 2.0, 4.0]);
        // As if the program had named y first.
        let named = kernel("y = 4, x = 8", "x, n");
        assert_eq!(Facts::of(&row.in_lane_order(LaneOrder::Down), 8), Facts::of(&named, 8));
        assert_eq!(row.in_lane_order(LaneOrder::Down).accesses, named.accesses);
        assert_eq!(row.in_lane_order(LaneOrder::Down).launch, named.launch);
    }

    #[test]
    fn what_is_not_known_or_does_not_divide_changes_nothing() {
        let own = kernel("x = 8, y = 4", "x, n");
        for order in [LaneOrder::Across, LaneOrder::Tiles(3, 2)] {
            assert!(matches!(own.in_lane_order(order), Cow::Borrowed(_)), "{order:?}");
        }
        let tiles = own.in_lane_order(LaneOrder::Tiles(4, 2)).into_owned();
        assert_eq!((tiles.launch.lanes.as_slice(), tiles.launch.group_size()), (&[4, 2, 2, 2][..], 32));
    }
}
