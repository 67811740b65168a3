//! Which operators run as one (paper 003, section 5.1).

mod automaton;
mod judge;
mod linked;
mod partition;
pub mod pattern;
mod search;
pub mod vertical;

pub use judge::Judge;
pub use search::best;

use crate::group::Group;
use crate::view::View;
use linked::linked;
use pattern::Patterns;
use vertical::vertical;
use warpsight_ir::Bytes;

/// Which groups run as pipelines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// Those of the paper's patterns.
    Kitsune,
    /// Those that save most by a judge, beginning with the best of the paper's, vertical fusion's and none.
    #[default]
    Best,
}

impl Policy {
    /// The groups of a graph; a work-group has `shared` bytes of shared memory.
    pub fn groups(self, graph: &View, patterns: &Patterns, judge: &dyn Judge, shared: Bytes) -> Vec<Group> {
        let paper = kitsune(graph, patterns);
        if self == Self::Kitsune {
            return paper;
        }
        let fused = vertical(graph, &Patterns::vertical(), shared).groups;
        best(graph, judge, &[paper, fused.into_iter().map(|(group, _)| group).collect()])
    }
}

/// What the paper selects: operators that patterns link, where they are convex.
pub fn kitsune(graph: &View, patterns: &Patterns) -> Vec<Group> {
    linked(graph, patterns, |_, _| true)
}
