//! Groups of what patterns link.

use super::partition::Partition;
use super::pattern::{Link, Patterns};
use crate::group::Group;
use crate::view::{NodeId, View};
use std::collections::BTreeSet;

/// Merges what patterns link, producers first, as long as groups stay convex, do not wait for each other and are admitted.
pub(super) fn linked(graph: &View, patterns: &Patterns, mut admit: impl FnMut(Link, &[NodeId]) -> bool) -> Vec<Group> {
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
