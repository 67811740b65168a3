//! What selection asks of those who know how long things take.

use crate::group::Group;
use crate::view::{NodeId, View};

/// How long things take, as far as selection wants to know.
pub trait Judge {
    /// Seconds of one execution of operators as one pipeline, or as one kernel where that is faster; `None` where they cannot be one. They
    /// are convex. The same operators always take the same time.
    fn seconds(&self, graph: &View, group: &Group) -> Option<f64>;
    /// Seconds of an operator by itself.
    fn alone(&self, graph: &View, node: NodeId) -> f64;
    /// Seconds that operators as one cannot go below, quickly: what does not pay even then is not asked for.
    fn bound(&self, _graph: &View, _group: &Group) -> f64 {
        0.0
    }
}
