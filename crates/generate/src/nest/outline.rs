//! How many loads and stores of a work-item differ in constants only, counted without a list of them: what each dimension adds is small,
//! and what they come to together is a product.

use crate::expr::{AxisId, Index, Pass, ScalarExpr};
use crate::layout::Layout;
use crate::nest::loops::Steps;
use crate::nest::{Item, LaneKind, Nest, Offsets};
use smallvec::{SmallVec, smallvec};
use warpsight_ir::range::Interval;

/// Loads of one index in one step that ask for the same bounds.
pub struct Alike {
    /// How many.
    pub times: u32,
    /// The one at the least position in each dimension, and the one at the greatest.
    pub corners: [Item; 2],
}

/// Points of a tile whose accesses ask for the same bounds.
pub struct Points {
    /// How many.
    pub times: u32,
    /// The one at the least position along each axis, and the one at the greatest.
    pub corners: [Offsets; 2],
}

/// Numbers that stand for each other: how many, the least and the greatest.
#[derive(Clone, Copy)]
struct Class {
    key: u64,
    times: u32,
    least: i64,
    most: i64,
}

type Classes = SmallVec<[Class; 4]>;

fn classes(values: impl Iterator<Item = i64>, key: impl Fn(i64) -> u64) -> Classes {
    let mut found = Classes::new();
    for value in values {
        let key = key(value);
        match found.iter_mut().find(|class| class.key == key) {
            Some(class) => (class.times, class.least, class.most) = (class.times + 1, class.least.min(value), class.most.max(value)),
            None => found.push(Class { key, times: 1, least: value, most: value }),
        }
    }
    found
}

/// One of each list, in all ways.
fn product(lists: &[Classes], mut f: impl FnMut(u32, [Offsets; 2])) {
    let mut at: SmallVec<[usize; 5]> = smallvec![0; lists.len()];
    loop {
        let chosen = || lists.iter().zip(&at).map(|(list, &i)| list[i]);
        f(chosen().map(|own| own.times).product(), [chosen().map(|own| own.least).collect(), chosen().map(|own| own.most).collect()]);
        let turned = at.iter_mut().zip(lists).rev().any(|(i, list)| {
            *i = (*i + 1) % list.len();
            *i != 0
        });
        if !turned {
            return;
        }
    }
}

impl Nest<'_> {
    /// The templates of what steps of a pass load, each once.
    pub fn loads_of(&self, pass: Pass) -> SmallVec<[usize; 8]> {
        let mut templates: SmallVec<[usize; 8]> = SmallVec::new();
        for scalar in pass.in_steps() {
            scalar.loads(&mut |tensor, index, _| {
                let t = self.template(tensor, index);
                if !templates.contains(&t) {
                    templates.push(t);
                }
            });
        }
        templates
    }

    /// The loads of a template in steps of the reduction. `None` where they are no product of what each dimension adds.
    pub fn alike(&self, t: usize, steps: &Steps) -> Option<Vec<Alike>> {
        let mut found = vec![];
        let template = &self.templates[t];
        let (layout, vector) = (self.read_layout(t), self.vector);
        let staged = self.staged.iter().any(|own| own.template == t);
        let vectors = steps.width > 1 && template.lanes != LaneKind::Same;
        let mut dims: SmallVec<[SmallVec<[i64; 16]>; 5]> = SmallVec::new();
        let mut moved: SmallVec<[AxisId; 8]> = SmallVec::new();
        for form in template.index {
            let mut values: SmallVec<[i64; 16]> = smallvec![form.constant];
            for &(a, c) in form.terms() {
                let (from, count, step) = match self.splits.get(a.0) {
                    Some(split) => (0, i64::from(split.tile), i64::from(split.width)),
                    None => (steps.from[a.0 - self.splits.len()], steps.counts[a.0 - self.splits.len()], 1),
                };
                if count > 1 || vectors && Some(a) == vector || a.0 >= self.splits.len() && steps.steps[a.0 - self.splits.len()] > 1 {
                    if moved.contains(&a) {
                        return None;
                    }
                    moved.push(a);
                }
                let c = i64::from(c);
                let before = std::mem::take(&mut values);
                values.extend((0..count).flat_map(|i| before.iter().map(move |v| v + c * (from + i * step))));
            }
            dims.push(values);
        }
        // As in `Nest::operand`.
        let mut width = 1;
        if vectors {
            let along = template.index.iter().position(|form| self.along_vector(form) != 0)?;
            let c = i64::from(self.along_vector(&template.index[along]));
            width = match layout.block() {
                _ if template.lanes == LaneKind::Apart => 1,
                None => steps.width,
                Some((_, block)) => {
                    let piece = i64::from(steps.width).min(block);
                    let whole = i64::from(steps.width) % piece == 0 && block % piece == 0;
                    let aligned = dims[along].iter().filter(|v| v.rem_euclid(piece) == 0).count();
                    if whole && aligned > 0 && aligned < dims[along].len() {
                        return None;
                    }
                    if whole && aligned > 0 { piece as u8 } else { 1 }
                }
            };
            let before = std::mem::take(&mut dims[along]);
            dims[along] =
                (0..steps.width).step_by(width.into()).flat_map(|lane| before.iter().map(move |v| v + c * i64::from(lane))).collect();
        }
        if let Some((pack, texel)) = self.texels(t) {
            let whole =
                |&(a, c): &(AxisId, i32)| a.0 < self.splits.len() || i64::from(c) * steps.apart[a.0 - self.splits.len()] % texel == 0;
            let single = |a: AxisId| a.0 < self.splits.len() || steps.steps[a.0 - self.splits.len()] == 1;
            if !template.index[pack].terms().iter().all(|term| single(term.0) || whole(term)) {
                return None;
            }
            dims[pack].iter_mut().for_each(|v| *v -= v.rem_euclid(texel));
            width = texel as u8;
        }
        let lists: SmallVec<[Classes; 5]> = dims
            .iter_mut()
            .enumerate()
            .map(|(d, values)| {
                values.sort_unstable();
                values.dedup();
                // Steps do not share what they load.
                for &(a, c) in template.index[d].terms().iter().filter(|term| term.0.0 >= self.splits.len()) {
                    let r = a.0 - self.splits.len();
                    let before = std::mem::take(values);
                    values.extend((0..steps.steps[r]).flat_map(|i| before.iter().map(move |v| v + i64::from(c) * i * steps.apart[r])));
                }
                let bound = self.bound(layout, &template.index[d], d, width, &steps.looped);
                let asked = !staged && !template.sampled.contains(&d);
                classes(values.iter().copied(), |value| u64::from(asked && bound(value)))
            })
            .collect();
        let moves = |r: usize| template.index.iter().any(|form| form.coefficient(AxisId(self.splits.len() + r)) != 0);
        let again: i64 = (0..steps.steps.len()).filter(|&r| !moves(r)).map(|r| steps.steps[r]).product();
        product(&lists, |times, corners| {
            found.push(Alike { times: times * again as u32, corners: corners.map(|offsets| Item { template: t, offsets, width }) });
        });
        Some(found)
    }

    /// Whether an access so wide at an offset along a dimension may leave it; as in [`Nest::bounds`].
    fn bound(&self, layout: &Layout, form: &Index, d: usize, width: u8, looped: &[bool]) -> impl Fn(i64) -> bool + use<> {
        let range = form.range(|a| self.starts(a, looped)) - Interval::exactly(form.constant);
        let run = layout.run(d, width);
        let extent = i128::from(layout.extents()[d]);
        move |value| range.lo + i128::from(value) < 0 || range.hi + i128::from(value + run) >= extent
    }

    /// The points of the tile, of which those that stand for each other store, and load for these scalars behind a reduction or without one,
    /// alike. `None` where what they load is bound along several axes together.
    pub fn points_alike(&self, scalars: &[&ScalarExpr]) -> Option<Vec<Points>> {
        let looped: SmallVec<[bool; 5]> = smallvec![false; self.expr.reduce.len()];
        let mut single = true;
        let mut loads: SmallVec<[(usize, usize); 16]> = SmallVec::new();
        let mut collect = |tensor: usize, index: &[Index], _| {
            let t = self.template(tensor, index);
            for (d, form) in index.iter().enumerate() {
                let tiled = form.terms().iter().filter(|term| self.splits.get(term.0.0).is_some_and(|split| split.tile > 1)).count();
                single &= tiled <= 1;
                if tiled == 1 && !self.templates[t].sampled.contains(&d) {
                    loads.push((t, d));
                }
            }
        };
        scalars.iter().for_each(|scalar| scalar.loads(&mut collect));
        let tiled = |form: &Index| form.terms().iter().filter(|term| self.splits.get(term.0.0).is_some_and(|split| split.tile > 1)).count();
        let clipped: SmallVec<[usize; 5]> =
            (0..self.expr.store.len()).filter(|&d| self.expr.clipped && tiled(&self.expr.store[d]) > 0).collect();
        single &= clipped.iter().all(|&d| tiled(&self.expr.store[d]) == 1);
        if !single || loads.len() + 2 * clipped.len() > 60 {
            return None;
        }
        let last_lane = i64::from(self.out_width()) - 1;
        let lists: SmallVec<[Classes; 5]> = self
            .splits
            .iter()
            .enumerate()
            .map(|(a, split)| {
                let key = |i: i64| {
                    let first = (split.blocks - 1) * split.per_item() + i * i64::from(split.width);
                    let lanes = if self.vector == Some(AxisId(a)) { last_lane } else { 0 };
                    let mut key = u64::from(first >= split.extent) | u64::from(first + lanes >= split.extent) << 1;
                    // Whole vectors, or one lane after the other: the first and the last tell all between them.
                    for (n, &d) in clipped.iter().enumerate() {
                        let c = i64::from(self.expr.store[d].coefficient(AxisId(a)));
                        if c != 0 {
                            let offset = self.expr.store[d].constant + c * i * i64::from(split.width);
                            let ends = [0, lanes].map(|lane| u64::from(self.clips(d, offset + c * lane, 0)));
                            key |= ends[0] << (2 * n + loads.len() + 2) | ends[1] << (2 * n + loads.len() + 3);
                        }
                    }
                    for (n, &(t, d)) in loads.iter().enumerate() {
                        let template = &self.templates[t];
                        let (form, layout) = (&template.index[d], &self.layouts[template.tensor]);
                        let c = i64::from(form.coefficient(AxisId(a)));
                        if c != 0 {
                            let value = form.constant + c * i * i64::from(split.width);
                            let texel = layout.block().filter(|own| layout.is_image() && own.0 == d).map_or(1, |own| own.1);
                            // Vectors as wide as they come: what is narrower has fewer bounds for all of them.
                            key |= u64::from(self.bound(layout, form, d, self.out_width(), &looped)(value - value.rem_euclid(texel)))
                                << (n + 2);
                        }
                    }
                    key
                };
                classes(0..i64::from(split.tile), key)
            })
            .collect();
        let mut found = vec![];
        product(&lists, |times, corners| found.push(Points { times, corners }));
        Some(found)
    }
}
