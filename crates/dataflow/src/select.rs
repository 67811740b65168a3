//! Which operators run as one (paper 003, section 5.1).

use crate::group::Group;
use crate::partition::Partition;
use crate::pattern::{Link, Patterns};
use crate::vertical::vertical;
use crate::view::{NodeId, View};
use std::collections::BTreeSet;
use warpsight_ir::Bytes;

pub use crate::search::best;

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

/// Merges what patterns link, producers first, as long as groups stay convex, do not wait for each other and are admitted.
pub(crate) fn linked(graph: &View, patterns: &Patterns, mut admit: impl FnMut(Link, &[NodeId]) -> bool) -> Vec<Group> {
    let links = patterns.links(graph);
    let mut partition = Partition::new(graph);
    // A merge may be what another one waits for.
    while links.iter().filter(|link| merge(&mut partition, **link, &mut admit)).count() > 0 {}
    let group = |cluster: usize| {
        let nodes = partition.nodes(cluster);
        let inside = |link: &&Link| partition.cluster(link.from) == cluster && partition.cluster(link.to) == cluster;
        let rules: BTreeSet<usize> = links.iter().filter(inside).map(|link| link.pattern).collect();
        let rules: Vec<&str> = rules.into_iter().map(|pattern| patterns.name(pattern)).collect();
        (nodes.len() > 1).then(|| Group { nodes: nodes.to_vec(), rule: rules.join(" + ") })
    };
    partition.clusters().filter_map(group).collect()
}

fn merge(partition: &mut Partition<'_>, link: Link, admit: &mut impl FnMut(Link, &[NodeId]) -> bool) -> bool {
    let (a, b) = (partition.cluster(link.from), partition.cluster(link.to));
    let fits = a != b && partition.fit(a, b) && admit(link, &partition.union(a, b));
    if fits {
        partition.merge(a, b);
    }
    fits
}
