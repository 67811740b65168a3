//! Rows of results that a group holds, as coarse counts see them.

use super::{Counter, Part, Reader, Variable};
use crate::expr::{Across, Combine, ScalarExpr};
use crate::nest::Nest;
use smallvec::SmallVec;
use warpsight_ir::{AccessKind, AccessRef, Nest as Node, OpClass, OpCounts};

impl Reader<'_> {
    /// What is made of rows, and stored.
    pub(super) fn rows(&mut self, across: &Across, scalars: &[&ScalarExpr]) -> Option<Part> {
        let stored = self.substituted(&self.nest.places(&self.nest.expr.store, self.nest.output_layout())?)?;
        let mut out = vec![];
        let made = self.at_points(scalars, None, &mut out)?;
        for number in 0..across.made.len() {
            if let Some(partials) = self.nest.partials() {
                self.combine_lanes(&partials, &mut out);
                out.push(Node::Barrier);
                self.partial(&partials, (None, None), AccessKind::Load, &mut out);
                out.extend((number + 1 < across.made.len()).then_some(Node::Barrier));
            }
        }
        let last = self.at_points(&[&across.epilogue], Some(&stored), &mut out)?;
        Some(Part { nodes: out, words: made, last })
    }

    /// What scalars load at points of the tile, and what is stored of each; the most registers that loads of one point take.
    pub(super) fn at_points(&mut self, scalars: &[&ScalarExpr], stored: Option<&Variable>, out: &mut Vec<Node>) -> Option<u32> {
        let (nest, mut words) = (self.nest, 0);
        let none: SmallVec<[bool; 5]> = SmallVec::from_elem(false, nest.expr.reduce.len());
        for points in nest.points_alike(scalars)? {
            let corners = if points.times > 1 { &points.corners[..] } else { &points.corners[..1] };
            for (at, times) in corners.iter().zip([points.times - u32::from(points.times > 1), 1]) {
                let mut items = nest.items_at(scalars.iter().copied(), at);
                items.list.retain(|item| !nest.schedule.keeps(nest.templates[item.template].tensor));
                words = words.max(items.list.iter().map(|item| nest.item_words(item)).sum());
                for item in &items.list {
                    out.push(Node::Access(AccessRef { times, ..self.load(item, &none, None)? }));
                }
                let Some(stored) = stored else { continue };
                for store in &nest.stores(at, &[], nest.out_width()) {
                    out.push(Node::Access(AccessRef { times, ..self.store(store, &stored.coords)? }));
                }
            }
        }
        Some(words)
    }
}

/// Arithmetic of what is made of rows by one work-item.
pub(super) fn row_ops(counter: &Counter, across: &Across, ops: &mut OpCounts) {
    let nest = counter.nest;
    let (width, row_width) = (nest.out_width(), nest.row_width(across.along));
    let (points, rows) = (u64::from(nest.points()), u64::from(nest.rows(across)));
    let halves = nest.partials().map_or(0, |own| own.halves().count() as u64);
    let held = rows * u64::from(nest.held_points(across.along));
    for made in &across.made {
        // Where nothing of a point is combined, its value is made only to be kept.
        let values = if made.kept { points } else { held };
        counter.count(&made.body, (width, width), values, ops);
        ops.add(OpClass::Float, nest.number, width, held);
        nest.row_folds(across.along).for_each(|lanes| ops.add(OpClass::Float, nest.number, lanes, rows));
        ops.add(OpClass::Float, nest.number, row_width, rows * halves);
        counter.count(&made.epilogue, (row_width, row_width), rows, ops);
    }
    counter.count(&across.epilogue, (width, width), points, ops);
}

/// How many updates of variables wait for each other where rows are held, behind so many of each accumulator.
pub(super) fn row_chain(nest: &Nest, across: &Across, updates: u64) -> u64 {
    let kept = across.made.iter().filter(|own| own.kept).count() as u64;
    let made = u64::from(!nest.expr.reduce.is_empty() && nest.expr.epilogue != ScalarExpr::Acc);
    debug_assert!(nest.expr.combine != Combine::Each, "results are combined first");
    updates + made + kept + across.made.len() as u64 * u64::from(nest.held_points(across.along))
}
