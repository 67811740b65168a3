//! Groups by modelled gain: merged as long as that saves time, then moved and split where they meet.

use super::judge::Judge;
use super::partition::Partition;
use crate::group::Group;
use crate::view::{NodeId, View};
use std::cmp::Ordering;
use std::collections::{BTreeSet, BinaryHeap, HashMap};

/// Rounds of merging and refinement; two are usual.
const ROUNDS: usize = 8;
/// Operators of all groups that a judge is asked for beyond the starting points, in a graph of up to [`SIZE`], and as many more as a graph is
/// larger: what it takes grows with operators, and planning of 150 of them may take 100 ms. On training graphs of the paper twice as many
/// find plans that are up to 1 % faster, half as many up to 4 % slower ones, and nothing changes beyond 4,000.
const OPERATORS: usize = 2000;
/// Of how many operators together it may ask what they cannot go below, likewise: each reader of one tensor borders on the group of the
/// others, whatever its size.
const BOUNDED: usize = 1_000_000;
/// See [`OPERATORS`].
const SIZE: usize = 150;
/// Part of the whole time that a change must save, above what sums of floating-point numbers lose.
const LEAST: f64 = 1e-9;

/// The best of the starting points under a judge, improved until no merge, no move of a node at a boundary and no split in two saves
/// time, or the judge has been asked often enough. Not slower than any starting point, its groups that cannot be executed left out, nor than no groups at all.
pub fn best(graph: &View, judge: &dyn Judge, starts: &[Vec<Group>]) -> Vec<Group> {
    let mut search = Search { graph, judge, known: HashMap::new(), operators: usize::MAX, bounded: usize::MAX, least: 0.0 };
    let starts: Vec<Vec<Group>> = starts
        .iter()
        .map(|groups| groups.iter().filter(|group| search.seconds(&group.nodes).is_some()).cloned().collect::<Vec<Group>>())
        .collect();
    let mixed = search.mixed(&starts.concat());
    let starts = starts.iter().filter_map(|groups| Partition::of(graph, groups)).chain([mixed]);
    let starts: Vec<Partition<'_>> = std::iter::once(Partition::new(graph)).chain(starts).collect();
    let timed = starts.into_iter().filter_map(|start| search.total(&start).map(|seconds| (seconds, start)));
    let mut timed: Vec<(f64, Partition<'_>)> = timed.collect();
    timed.sort_by(|a, b| a.0.total_cmp(&b.0));
    let Some(least) = timed.first().map(|(seconds, _)| LEAST * seconds) else { return Vec::new() };
    let size = graph.nodes.len().max(SIZE);
    (search.least, search.operators, search.bounded) = (least, OPERATORS * size / SIZE, BOUNDED * size / SIZE);
    // What one of them leads to may be behind a hill for another.
    let ends = timed.into_iter().filter_map(|(_, mut partition)| {
        search.improve(&mut partition);
        search.total(&partition).map(|seconds| (seconds, partition))
    });
    let Some((_, partition)) = ends.reduce(|best, other| if other.0 < best.0 { other } else { best }) else { return Vec::new() };
    let groups = partition.clusters().map(|cluster| partition.nodes(cluster)).filter(|nodes| nodes.len() > 1);
    groups.map(|nodes| Group { nodes: nodes.to_vec(), rule: "modelled gain".to_owned() }).collect()
}

struct Search<'g> {
    graph: &'g View,
    judge: &'g dyn Judge,
    known: HashMap<Vec<NodeId>, Option<f64>>,
    /// Of how many operators together it may still ask for groups.
    operators: usize,
    /// Of how many operators together it may still ask for bounds.
    bounded: usize,
    /// Seconds that a change must save.
    least: f64,
}

/// A merge and what it saves; the most first, of equals the one of the lowest clusters.
struct Merge {
    saved: f64,
    /// Whether that is what it saves, and not the most that it can.
    judged: bool,
    clusters: (usize, usize),
    /// How often each had changed when this was found.
    age: (u32, u32),
}

impl Ord for Merge {
    fn cmp(&self, other: &Self) -> Ordering {
        self.saved.total_cmp(&other.saved).then_with(|| other.clusters.cmp(&self.clusters))
    }
}

impl PartialOrd for Merge {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Merge {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Merge {}

impl<'g> Search<'g> {
    /// Seconds of nodes as one; `None` where they cannot be.
    fn seconds(&mut self, nodes: &[NodeId]) -> Option<f64> {
        match nodes {
            [] => Some(0.0),
            _ => {
                if let Some(known) = self.known.get(nodes) {
                    return *known;
                }
                let group = Group { nodes: nodes.to_vec(), rule: String::new() };
                let seconds = match nodes {
                    [alone] => Some(self.judge.alone(self.graph, *alone)),
                    _ if self.operators < nodes.len() => return None,
                    _ => {
                        self.operators -= nodes.len();
                        self.judge.seconds(self.graph, &group)
                    }
                };
                // What is no time cannot be compared.
                let seconds = seconds.filter(|seconds| seconds.is_finite());
                self.known.insert(group.nodes, seconds);
                seconds
            }
        }
    }

    /// Groups that save most, each unless one that saves more has a node of it or they would wait for each other.
    fn mixed(&mut self, groups: &[Group]) -> Partition<'g> {
        let saves = |group: &Group| {
            let alone = group.nodes.iter().map(|id| self.seconds(&[*id])).sum::<Option<f64>>()?;
            Some(alone - self.seconds(&group.nodes)?).filter(|saved| *saved > 0.0)
        };
        let mut saving: Vec<(f64, &Group)> =
            groups.iter().map(saves).zip(groups).filter_map(|(saved, group)| Some((saved?, group))).collect();
        saving.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.nodes.cmp(&b.1.nodes)));
        let mut mixed = Partition::new(self.graph);
        for (_, group) in saving {
            mixed.join(&group.nodes);
        }
        mixed
    }

    /// What these nodes cannot go below.
    fn bound(&mut self, nodes: &[NodeId]) -> f64 {
        match (nodes, self.known.get(nodes)) {
            ([] | [_], _) => self.seconds(nodes).unwrap_or(f64::INFINITY),
            (_, Some(known)) => known.unwrap_or(f64::INFINITY),
            _ if self.bounded < nodes.len() => f64::INFINITY,
            _ => {
                self.bounded -= nodes.len();
                self.judge.bound(self.graph, &Group { nodes: nodes.to_vec(), rule: String::new() })
            }
        }
    }

    fn total(&mut self, partition: &Partition<'_>) -> Option<f64> {
        partition.clusters().map(|cluster| self.seconds(partition.nodes(cluster))).sum()
    }

    /// Merges, moves and splits until nothing saves time, or the judge has been asked often enough.
    fn improve(&mut self, partition: &mut Partition<'_>) {
        for _ in 0..ROUNDS {
            self.grow(partition);
            if !(self.moves(partition) | self.splits(partition)) {
                break;
            }
        }
    }

    /// Seconds that new sets of nodes save against old ones, where that is enough.
    fn saved(&mut self, old: [&[NodeId]; 2], new: [&[NodeId]; 2]) -> Option<f64> {
        let before = self.seconds(old[0])? + self.seconds(old[1])?;
        if self.bound(new[0]) + self.bound(new[1]) + self.least >= before {
            return None;
        }
        let first = self.seconds(new[0])?;
        if first + self.bound(new[1]) + self.least >= before {
            return None;
        }
        let after = first + self.seconds(new[1])?;
        Some(before - after).filter(|saved| *saved > self.least)
    }

    /// Merges neighbours, the most saving first.
    fn grow(&mut self, partition: &mut Partition<'_>) {
        let mut ages = vec![0_u32; self.graph.nodes.len()];
        let mut open: BinaryHeap<Merge> = BinaryHeap::new();
        for (a, b) in borders(self.graph, partition, None) {
            open.extend(self.merge(partition, a, b, &ages));
        }
        while let Some(Merge { clusters: (a, b), age, judged, .. }) = open.pop() {
            if (ages[a], ages[b]) != age || !partition.fit(a, b) {
                continue;
            }
            if !judged {
                // Only what may be the best of all is judged.
                let saved = self.saved([partition.nodes(a), partition.nodes(b)], [&partition.union(a, b), &[]]);
                open.extend(saved.map(|saved| Merge { saved, judged: true, clusters: (a, b), age }));
                continue;
            }
            let merged = partition.merge(a, b);
            ages[a] += 1;
            ages[b] += 1;
            for (a, b) in borders(self.graph, partition, Some(merged)) {
                open.extend(self.merge(partition, a, b, &ages));
            }
        }
    }

    fn merge(&mut self, partition: &Partition<'_>, a: usize, b: usize, ages: &[u32]) -> Option<Merge> {
        // What cannot be asked for any more need not be looked at.
        let size = partition.nodes(a).len() + partition.nodes(b).len();
        if self.operators.min(self.bounded) < size || !partition.fit(a, b) {
            return None;
        }
        let before = self.seconds(partition.nodes(a))? + self.seconds(partition.nodes(b))?;
        let saved = before - self.bound(&partition.union(a, b));
        (saved > self.least).then_some(Merge { saved, judged: false, clusters: (a, b), age: (ages[a], ages[b]) })
    }

    /// Moves nodes over a boundary that they are at; whether that saved anything.
    fn moves(&mut self, partition: &mut Partition<'_>) -> bool {
        let mut changed = false;
        let edges: Vec<(NodeId, NodeId)> =
            self.graph.ids().flat_map(|from| self.graph.consumers(from).into_iter().map(move |to| (from, to))).collect();
        for (from, to) in edges {
            // The producer to its reader, and the reader to its producer.
            for (node, other) in [(from, to), (to, from)] {
                changed |= self.moved(partition, node, other).is_some();
            }
        }
        changed
    }

    /// Moves a node to the cluster of another one, where that saves time.
    fn moved(&mut self, partition: &mut Partition<'_>, node: NodeId, other: NodeId) -> Option<()> {
        let (from, to) = (partition.cluster(node), partition.cluster(other));
        let inside = |nodes: &[NodeId]| nodes.iter().any(|&near| partition.cluster(near) == from);
        let middle = inside(&self.graph.producers(node)) && inside(&self.graph.consumers(node));
        if from == to || middle || partition.nodes(from).len() == 1 {
            return None;
        }
        let rest: Vec<NodeId> = partition.nodes(from).iter().copied().filter(|&near| near != node).collect();
        let mut with = [partition.nodes(to), &[node]].concat();
        with.sort_unstable();
        // Before anything is copied.
        let before = self.seconds(partition.nodes(from))? + self.seconds(partition.nodes(to))?;
        if self.bound(&rest) + self.bound(&with) + self.least >= before {
            return None;
        }
        let mut changed = partition.clone();
        let alone = changed.split(from, &[node]);
        if !changed.fit(alone, to) {
            return None;
        }
        self.saved([partition.nodes(from), partition.nodes(to)], [&rest, &with])?;
        changed.merge(alone, to);
        *partition = changed;
        Some(())
    }

    /// Splits clusters in two, where that saves the most; whether it saved anything.
    fn splits(&mut self, partition: &mut Partition<'_>) -> bool {
        let mut changed = false;
        let clusters: Vec<usize> = partition.clusters().filter(|&cluster| partition.nodes(cluster).len() > 1).collect();
        for cluster in clusters {
            let nodes = partition.nodes(cluster).to_vec();
            // Producers come before consumers, so that nothing leads from behind a cut to before it.
            let cuts = (1..nodes.len()).map(|at| nodes[..at].to_vec());
            // A node that no other one of the cluster reads may run later, by itself.
            let is_read = |node: NodeId| self.graph.consumers(node).iter().any(|reader| nodes.binary_search(reader).is_ok());
            let ends = nodes.iter().filter(|node| !is_read(**node));
            let ends = ends.map(|end| nodes.iter().copied().filter(|node| node != end).collect());
            let parts: Vec<Vec<NodeId>> = cuts.chain(ends).collect();
            let timed = parts.into_iter().filter_map(|part| {
                let rest: Vec<NodeId> = nodes.iter().copied().filter(|node| part.binary_search(node).is_err()).collect();
                self.saved([&nodes, &[]], [&part, &rest]).map(|saved| (saved, part))
            });
            if let Some((_, part)) = timed.reduce(|best, other| if other.0 > best.0 { other } else { best }) {
                partition.split(cluster, &part);
                changed = true;
            }
        }
        changed
    }
}

/// Pairs of clusters with an edge between them, of one cluster or of all.
fn borders(graph: &View, partition: &Partition<'_>, of: Option<usize>) -> BTreeSet<(usize, usize)> {
    let nodes: Vec<NodeId> = of.map_or_else(|| graph.ids().collect(), |cluster| partition.nodes(cluster).to_vec());
    let near = |id: NodeId| graph.producers(id).into_iter().chain(graph.consumers(id)).map(move |other| (id, other));
    let pairs = nodes.into_iter().flat_map(near).map(|(a, b)| (partition.cluster(a), partition.cluster(b)));
    pairs.filter(|(a, b)| a != b).map(|(a, b)| (a.min(b), a.max(b))).collect()
}
