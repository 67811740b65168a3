//! Rows of results that a group holds: each lane has a part of a row in its accumulators, combines it, and all lanes of the row what they have
//! in local memory, half by half.

use crate::expr::{Across, AxisId, ScalarExpr};
use crate::nest::{Items, Nest, Offsets, halvings};

/// Which lanes have the result of a point of the tile within a row: those of the first blocks all of its vector, those of one more block
/// the first elements of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Blocks that have the whole vector.
    pub whole: i64,
    /// Elements of the vector that the next block has; 0 where none has some.
    pub rest: u8,
}

impl Nest<'_> {
    /// Rows of results of a work-item, or vectors of them.
    pub fn rows(&self, across: &Across) -> u32 {
        self.points() / self.splits[across.along.0].tile
    }

    /// The row of a point of the tile.
    pub fn row(&self, along: AxisId, at: &[i64]) -> usize {
        let others = self.splits.iter().zip(at).enumerate().filter(|own| own.0 != along.0);
        others.fold(0, |n, (_, (split, &i))| n * split.tile as usize + i as usize)
    }

    /// Vector lanes of what a row comes to: those of results, or 1 where they lie along it.
    pub fn row_width(&self, along: AxisId) -> u8 {
        if self.vector == Some(along) { 1 } else { self.out_width() }
    }

    /// Lanes of what is combined of a row after each half that is put onto the other.
    pub fn row_folds(&self, along: AxisId) -> impl Iterator<Item = u8> + use<> {
        halvings(self.width(), self.row_width(along))
    }

    /// Who has the result of a point of the tile; `None` where all lanes do.
    pub fn held(&self, along: AxisId, at: &[i64]) -> Option<Held> {
        let split = &self.splits[along.0];
        let (width, apart) = (i64::from(split.width), split.per_item());
        let first = at[along.0] * width;
        // Blocks whose first so many elements of the vector are within the row.
        let within = |elements: i64| (split.extent - first - elements).div_euclid(apart) + 1;
        let whole = within(width).max(0);
        let rest = (split.extent - first - whole * apart).clamp(0, width - 1) as u8;
        (whole < split.blocks).then_some(Held { whole, rest })
    }

    /// Of the points of a row, who has them.
    fn all_held(&self, along: AxisId) -> impl Iterator<Item = Option<Held>> {
        (0..i64::from(self.splits[along.0].tile)).map(move |t| {
            let mut at = Offsets::from_elem(0, self.splits.len());
            at[along.0] = t;
            self.held(along, &at)
        })
    }

    /// Points of a row in which a work-item may have a result.
    pub fn held_points(&self, along: AxisId) -> u32 {
        self.all_held(along).filter(|own| own.is_none_or(|own| own.whole > 0 || own.rest > 0)).count() as u32
    }

    /// What scalars load at a point of the tile, behind the reduction.
    pub fn items_at<'s>(&self, scalars: impl IntoIterator<Item = &'s ScalarExpr>, at: &[i64]) -> Items {
        let none: Offsets = Offsets::from_elem(0, self.expr.reduce.len());
        let mut items = Items::default();
        for scalar in scalars {
            scalar.loads(&mut |tensor, index, _| {
                self.operand(self.template(tensor, index), at, &none, self.out_width(), &mut items);
            });
        }
        items
    }

    /// Registers where rows are held, of which the walk over the reduction has so many loaded at once, and what is made of results, to be held and
    /// to be stored, so many.
    pub fn row_words(&self, across: &Across, walked: u32, (made, last): (u32, u32)) -> u32 {
        let (rows, width) = (self.rows(across), self.words_of(self.row_width(across.along)));
        let results = across.made.len() as u32 * rows * width;
        let folds: u32 = self.row_folds(across.along).map(|lanes| self.words_of(lanes)).sum();
        let total = if self.schedule.row_lanes() > 1 { width } else { 0 };
        // A vector of which some lanes have a part is taken apart.
        let parts = self.all_held(across.along).any(|own| own.is_some_and(|own| own.rest > 0));
        let apart = if parts { self.words_of(self.width()) } else { 0 };
        let combined = results + rows * self.words_of(self.width()) + folds.max(total).max(apart);
        let stored = results + last + self.stored_words(self.out_width());
        self.points() * self.words_of(self.width()) + walked.max(made).max(combined).max(stored)
    }
}
