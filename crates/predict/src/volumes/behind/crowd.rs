//! Lines that meet in few sets of a cache.
//! .
//! Sets are bits of the address, so lines a power of two apart come back to a few of them: columns of a matrix whose rows are 4 KiB all lie in
//! one of 64 sets. What a field touches until it meets lines again (the accesses of a work-item, its loops, then work-items along axes that
//! move by whole lines) is walked through, and as much of a cache as these lines have sets is all that they have. What is touched in between
//! beyond that walk lies elsewhere.

use crate::volumes::kernel::subject::{Field, Subject, Touch, Var};
use smallvec::SmallVec;

/// Places of a walk that are looked at; longer ones go on alike.
const PLACES: usize = 4096;

/// How lines of a field lie in a cache's sets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crowd {
    /// Bytes of the lines that are walked through until some are met again.
    bytes: f64,
    /// Share of the sets that these lie in.
    share: f64,
}

impl Crowd {
    /// Lines of a field, of so many bytes, that blocks of a kernel which follow each other walk through until some are met again; ascending.
    pub fn walk(field: &Field, blocks: &Subject, line: i64) -> Vec<i64> {
        let stride = |touch: &Touch, var: &Var| touch.stride(&field.geometry, var.id);
        // Where lines are met again, the next blocks' walk is the same one.
        let again = |var: &Var| field.touches.iter().any(|touch| stride(touch, var).abs() < line);
        let further = blocks.groups.iter().filter(|var| var.count > 1).take_while(|var| !again(var));
        let walked: SmallVec<[Var; 4]> = blocks.lanes.iter().chain(further).copied().collect();
        let most = (PLACES / field.touches.len().max(1)).max(1);
        let mut lines: Vec<i64> = vec![];
        for touch in &field.touches {
            let mut places = vec![touch.origin(&field.geometry)];
            for var in touch.loops.iter().rev().chain(&walked).filter(|var| stride(touch, var) != 0) {
                let by = stride(touch, var);
                let trips = i64::from(var.count).min((most / places.len()) as i64);
                places.extend((1..trips).flat_map(|trip| places.iter().map(move |at| at + trip * by)).collect::<Vec<_>>());
            }
            let bytes = touch.width * field.geometry.element;
            lines.extend(places.iter().flat_map(|at| at.div_euclid(line)..=(at + bytes - 1).div_euclid(line)));
        }
        lines.sort_unstable();
        lines.dedup();
        lines
    }

    /// Of a walk in a cache of so many sets.
    pub fn of(walk: &[i64], line: i64, sets: i64) -> Self {
        let bytes = (walk.len() as i64 * line) as f64;
        let mut met: Vec<i64> = walk.iter().map(|at| at.rem_euclid(sets)).collect();
        met.sort_unstable();
        met.dedup();
        Self { bytes, share: (met.len() as f64 / sets as f64).min(1.0) }
    }

    /// What so many bytes that are touched in between, of them this share the field's own, count as in a cache whose sets all lines share alike.
    pub fn distance(&self, bytes: f64, own: f64) -> f64 {
        let mine = bytes * own;
        bytes - mine + if self.share > 0.0 { mine.max(mine.min(self.bytes) / self.share) } else { mine }
    }
}
