//! Regression trees: boosted, each grown on what those before it left over (Friedman, Greedy Function Approximation, 2001; drawn by rows and
//! columns as in Stochastic Gradient Boosting, 2002), or averaged, each with thresholds at random (Geurts, Ernst and Wehenkel, Extremely
//! Randomized Trees, 2006). Splits are sought among quantiles of the columns.
//!
//! What learns from rows of shaders and what learns from timed configurations share them.
//!
//! Deterministic: what is drawn is a function of the tree's number, ties go to the first column and the lowest threshold.

use serde::{Deserialize, Serialize};

/// Thresholds that are tried in a column.
const EDGES: usize = 63;

/// What trees are together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ensemble {
    /// A sum of trees that see some of the columns each and take the best thresholds.
    Boosted,
    /// A mean of trees that see some of the columns at each node and take the best of thresholds that were drawn.
    Averaged,
}

/// How trees are grown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// What they are together.
    pub ensemble: Ensemble,
    /// How many trees.
    pub trees: usize,
    /// Splits from the root to a leaf.
    pub depth: usize,
    /// The share of what is left over that a boosted tree takes.
    pub rate: f64,
    /// The smallest weight of rows in a leaf.
    pub leaf: f64,
    /// Weight of rows of no residual that every leaf has besides its own.
    pub ridge: f64,
    /// The share of rows that a tree sees.
    pub rows: f64,
    /// The share of columns that a tree or a node sees.
    pub columns: f64,
    /// What is left over counts up to this much, so that a few rows do not lead all trees.
    pub clip: f64,
    /// What is drawn.
    pub seed: u64,
}

/// A node of a tree; the nodes of its left side follow it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Node {
    /// What the tree says.
    Leaf(f32),
    /// A column, the largest number that goes left, and where the right side begins.
    Split(u16, f32, u16),
}

/// A sum of trees.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trees {
    /// What is said before the first tree.
    start: f64,
    trees: Vec<Vec<Node>>,
}

/// Rows as columns of bins.
pub struct Table {
    rows: usize,
    /// For each column its thresholds, rising.
    edges: Vec<Vec<f32>>,
    /// For each column the bin of each row: how many thresholds are below its number.
    bins: Vec<Vec<u8>>,
}

impl Table {
    /// Of columns, each with a number for each row.
    pub fn new(columns: &[Vec<f64>]) -> Self {
        let rows = columns.first().map_or(0, Vec::len);
        let edges: Vec<Vec<f32>> = columns.iter().map(|column| edges(column)).collect();
        let bins = columns.iter().zip(&edges).map(|(column, edges)| column.iter().map(|x| bin(edges, *x)).collect()).collect();
        Self { rows, edges, bins }
    }
}

/// Thresholds between neighbouring numbers, as many rows between them as it goes.
fn edges(column: &[f64]) -> Vec<f32> {
    let mut sorted = column.to_vec();
    sorted.sort_by(f64::total_cmp);
    let mut out: Vec<f32> = Vec::new();
    let step = (sorted.len() as f64 / (EDGES + 1) as f64).max(1.0);
    let mut next = step;
    for (at, pair) in sorted.windows(2).enumerate() {
        let middle = (0.5 * (pair[0] + pair[1])) as f32;
        let between = pair[0] <= f64::from(middle) && f64::from(middle) < pair[1];
        if (at + 1) as f64 >= next && between && out.len() < EDGES {
            out.push(middle);
            next = (at + 1) as f64 + step;
        }
    }
    out
}

fn bin(edges: &[f32], x: f64) -> u8 {
    // There are at most 63.
    edges.partition_point(|edge| f64::from(*edge) < x) as u8
}

impl Trees {
    /// Grows trees on a table, targets and weights.
    pub fn grow(table: &Table, targets: &[f64], weights: &[f64], growth: Growth) -> Self {
        // The median: what few rows are far off by is not for the others to bear.
        let mut sorted = targets.to_vec();
        sorted.sort_by(f64::total_cmp);
        let start = sorted.get(sorted.len() / 2).copied().unwrap_or(0.0);
        let mut left: Vec<f64> = targets.iter().map(|t| t - start).collect();
        let mut out = Self { start, trees: Vec::new() };
        for number in 0..growth.trees {
            let drawn = |what: u64, at: usize, share: f64| unit(growth.seed, number as u64, what, at as u64) < share;
            let mut rows: Vec<u32> = (0..table.rows).filter(|r| drawn(0, *r, growth.rows)).map(|r| r as u32).collect();
            let averaged = growth.ensemble == Ensemble::Averaged;
            let seen = |c: &usize| !table.edges[*c].is_empty() && (averaged || drawn(1, *c, growth.columns));
            let columns: Vec<usize> = (0..table.bins.len()).filter(seen).collect();
            let pull: Vec<f64> = left.iter().map(|l| l.clamp(-growth.clip, growth.clip)).collect();
            let mut grower = Grower { table, pull: &pull, weights, columns: &columns, growth, number: number as u64, nodes: Vec::new() };
            grower.node(&mut rows, growth.depth);
            let nodes = grower.nodes;
            if nodes.iter().all(|n| matches!(n, Node::Leaf(_))) && rows.len() == table.rows {
                break;
            }
            let boosted = if averaged { &mut [] } else { &mut left[..] };
            boosted.iter_mut().enumerate().for_each(|(row, left)| {
                *left -= follow(&nodes, |column, edge| {
                    let column = usize::from(column);
                    // The bin of a threshold is how many stand before it.
                    usize::from(table.bins[column][row]) <= table.edges[column].partition_point(|e| *e < edge)
                });
            });
            out.trees.push(nodes);
        }
        out
    }

    /// What the trees say of a row of numbers.
    pub fn predict(&self, row: &[f64]) -> f64 {
        let goes_left = |column: u16, edge: f32| row[usize::from(column)] <= f64::from(edge);
        self.start + self.trees.iter().map(|tree| follow(tree, goes_left)).sum::<f64>()
    }

    /// Whether a file's trees are whole: nodes and columns that they name exist.
    pub fn is_whole(&self, columns: usize) -> bool {
        self.trees.iter().all(|tree| {
            !tree.is_empty()
                && tree.iter().enumerate().all(|(at, node)| match *node {
                    Node::Leaf(_) => true,
                    Node::Split(column, _, right) => {
                        usize::from(column) < columns && usize::from(right) > at && usize::from(right) < tree.len() && at + 1 < tree.len()
                    }
                })
        })
    }

    /// Keeps the columns that any tree asks, and returns which these are.
    pub fn shrink(&mut self, columns: usize) -> Vec<usize> {
        let mut used = vec![false; columns];
        let splits = self.trees.iter().flatten().filter_map(|n| if let Node::Split(c, ..) = n { Some(usize::from(*c)) } else { None });
        splits.for_each(|c| used[c] = true);
        let kept: Vec<usize> = (0..columns).filter(|c| used[*c]).collect();
        self.renumber(&kept);
        kept
    }

    /// Columns get the numbers that they have among the `kept` ones, all of which rise.
    pub fn renumber(&mut self, kept: &[usize]) {
        for node in self.trees.iter_mut().flatten() {
            if let Node::Split(column, ..) = node {
                *column = kept.partition_point(|k| *k < usize::from(*column)) as u16;
            }
        }
    }
}

/// The leaf's number.
fn follow(nodes: &[Node], goes_left: impl Fn(u16, f32) -> bool) -> f64 {
    let mut at = 0;
    loop {
        match nodes[at] {
            Node::Leaf(value) => return f64::from(value),
            Node::Split(column, edge, right) => at = if goes_left(column, edge) { at + 1 } else { usize::from(right) },
        }
    }
}

/// A tree while it grows.
struct Grower<'a> {
    table: &'a Table,
    pull: &'a [f64],
    weights: &'a [f64],
    columns: &'a [usize],
    growth: Growth,
    /// The tree's.
    number: u64,
    nodes: Vec<Node>,
}

impl Grower<'_> {
    fn node(&mut self, rows: &mut [u32], depth: usize) {
        let sum: (f64, f64) = rows.iter().fold((0.0, 0.0), |(pull, weight), r| {
            let own = self.weights[*r as usize];
            (pull + own * self.pull[*r as usize], weight + own)
        });
        let at = self.nodes.len();
        match self.split(rows, sum).filter(|_| depth > 0) {
            None => {
                let rate = match self.growth.ensemble {
                    Ensemble::Boosted => self.growth.rate,
                    Ensemble::Averaged => 1.0 / self.growth.trees as f64,
                };
                self.nodes.push(Node::Leaf((rate * sum.0 / (sum.1 + self.growth.ridge).max(f64::MIN_POSITIVE)) as f32));
            }
            Some((column, edge)) => {
                let bins = &self.table.bins[column];
                let threshold = self.table.edges[column][edge];
                self.nodes.push(Node::Leaf(0.0));
                // Stable, so that sums do not depend on what was split before.
                rows.sort_by_key(|r| usize::from(bins[*r as usize]) > edge);
                let middle = rows.partition_point(|r| usize::from(bins[*r as usize]) <= edge);
                let (left, right) = rows.split_at_mut(middle);
                self.node(left, depth - 1);
                self.nodes[at] = Node::Split(column as u16, threshold, self.nodes.len() as u16);
                self.node(right, depth - 1);
            }
        }
    }

    /// The column and threshold that explain most.
    fn split(&self, rows: &[u32], all: (f64, f64)) -> Option<(usize, usize)> {
        let Growth { leaf, ridge, .. } = self.growth;
        if all.1 < 2.0 * leaf {
            return None;
        }
        let worth = |(pull, weight): (f64, f64)| pull * pull / (weight + ridge).max(f64::MIN_POSITIVE);
        // What rounding alone would gain is nothing.
        let mut best = (1e-9 + worth(all) * (1.0 + 1e-9), None);
        let mut sums = [(0.0, 0.0); EDGES + 1];
        let drawn = |what: u64, column: usize| unit(self.growth.seed, self.number, what + 2 * self.nodes.len() as u64, column as u64);
        let averaged = self.growth.ensemble == Ensemble::Averaged;
        for &column in self.columns {
            if averaged && drawn(2, column) >= self.growth.columns {
                continue;
            }
            let bins = &self.table.bins[column];
            let edges = self.table.edges[column].len();
            if averaged {
                let bin = |row: &u32| usize::from(bins[*row as usize]);
                let (low, high) = rows.iter().fold((edges, 0), |(low, high), row| (low.min(bin(row)), high.max(bin(row))));
                if low < high {
                    // Both sides have a row: the first and the last bin lie on either side of the threshold.
                    let edge = low + (drawn(3, column) * (high - low) as f64) as usize;
                    let left = rows.iter().filter(|row| bin(row) <= edge).fold((0.0, 0.0), |(pull, weight), row| {
                        let own = self.weights[*row as usize];
                        (pull + own * self.pull[*row as usize], weight + own)
                    });
                    let right = (all.0 - left.0, all.1 - left.1);
                    let gain = worth(left) + worth(right);
                    if left.1 >= leaf && right.1 >= leaf && gain > best.0 {
                        best = (gain, Some((column, edge)));
                    }
                }
                continue;
            }
            sums[..=edges].fill((0.0, 0.0));
            for &row in rows {
                let sum = &mut sums[usize::from(bins[row as usize])];
                let weight = self.weights[row as usize];
                *sum = (sum.0 + weight * self.pull[row as usize], sum.1 + weight);
            }
            let mut left = (0.0, 0.0);
            for (edge, sum) in sums[..edges].iter().enumerate() {
                left = (left.0 + sum.0, left.1 + sum.1);
                let right = (all.0 - left.0, all.1 - left.1);
                if left.1 >= leaf && right.1 >= leaf {
                    let gain = worth(left) + worth(right);
                    if gain > best.0 {
                        best = (gain, Some((column, edge)));
                    }
                }
            }
        }
        best.1
    }
}

/// A number from 0 to 1 that depends on all arguments (the finaliser of SplitMix64, by Steele, Lea and Flood, 2014).
pub fn unit(seed: u64, tree: u64, what: u64, at: u64) -> f64 {
    let mix = |x: u64| {
        let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    };
    (mix(seed ^ mix(tree ^ mix(what ^ mix(at)))) >> 11) as f64 / (1u64 << 53) as f64
}
