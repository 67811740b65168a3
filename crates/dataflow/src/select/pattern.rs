//! Which operators belong together, as patterns over what they are (paper 003, section 5.1). The language is described at the head of
//! `patterns/kitsune.toml`.
//!
//! The paper matches regular expressions against one topological order. Here a pattern is matched against the paths of the graph itself:
//! an automaton runs along every edge at once, so that the order of the nodes has no influence.

use super::automaton::{Chain, states};
use crate::view::{Gemm, Node, NodeId, Tensor, TensorId, View};
use serde::Deserialize;
use smallvec::SmallVec;
use std::collections::BTreeMap;
use toml::Spanned;
use warpsight_graph::{Class, Phase};

/// Operations per element from which a normalisation is told from a scale and a shift: mean, squares, quotient and scale are four.
const NORMALISATION: f64 = 4.0;

/// A pattern file.
#[derive(Clone, Debug)]
pub struct Patterns {
    letters: Vec<Letter>,
    /// Letters of which an operator is in no group.
    excluded: Vec<usize>,
    patterns: Vec<Pattern>,
}

#[derive(Clone, Debug)]
struct Letter {
    name: String,
    predicate: Predicate,
    /// Positions of letters; [`Predicate::reads`] and [`Predicate::feeds`].
    reads: Vec<usize>,
    feeds: Vec<usize>,
}

#[derive(Clone, Debug)]
struct Pattern {
    name: String,
    phase: Option<Phase>,
    chain: Chain,
}

/// What a letter asks of an operator.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Predicate {
    class: Option<Class>,
    product: Option<Product>,
    row_wise: Option<bool>,
    concat: Option<bool>,
    across: Option<bool>,
    min_intensity: Option<f64>,
    min_rows: Option<u64>,
    min_columns: Option<u64>,
    max_readers: Option<usize>,
    #[serde(default)]
    reads: Vec<Spanned<String>>,
    #[serde(default)]
    feeds: Vec<Spanned<String>>,
    cite: Spanned<String>,
}

/// Kinds of operators on matrix units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Product {
    /// A plain product with an operand from outside; the rows of the other one are the rows of the result.
    Weights,
    /// Any other plain product, as of a gradient and an activation, over their rows.
    Activations,
    /// No plain product.
    None,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    letter: BTreeMap<String, Predicate>,
    #[serde(default)]
    exclude: Vec<FileExclusion>,
    pattern: Vec<FilePattern>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileExclusion {
    letter: Spanned<String>,
    cite: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FilePattern {
    name: String,
    phase: Option<Phase>,
    chain: Spanned<String>,
    cite: Spanned<String>,
}

/// Why a pattern file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PatternError {
    /// Not the TOML that was expected; the message has line, column and key.
    #[error("{0}")]
    Form(#[from] toml::de::Error),
    /// A value that cannot be.
    #[error("line {line}, column {column}: {key}: {what}")]
    Value {
        /// From 1.
        line: usize,
        /// From 1, in characters.
        column: usize,
        /// Whose value it is.
        key: String,
        /// What is wrong with it.
        what: String,
    },
}

/// A producer and a reader of its output that one pattern has next to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Link {
    /// The producer.
    pub from: NodeId,
    /// The reader.
    pub to: NodeId,
    /// Position of the pattern in its file.
    pub pattern: usize,
}

impl Patterns {
    /// What paper 003 runs as pipelines.
    pub fn kitsune() -> Self {
        // The committed file is read by the tests.
        Self::read(include_str!("../../patterns/kitsune.toml")).expect("the committed file")
    }

    /// What vertical fusion considers.
    pub fn vertical() -> Self {
        // The committed file is read by the tests.
        Self::read(include_str!("../../patterns/vertical.toml")).expect("the committed file")
    }

    /// Reads a pattern file.
    ///
    /// # Errors
    /// What is wrong, with line, column and key.
    pub fn read(text: &str) -> Result<Self, PatternError> {
        let file: File = toml::from_str(text)?;
        let error = |at: usize, key: String, what: String| {
            let before = &text[..text.floor_char_boundary(at)];
            let line = before.rfind('\n').map_or(0, |newline| newline + 1);
            PatternError::Value { line: before.matches('\n').count() + 1, column: before[line..].chars().count() + 1, key, what }
        };
        let cited = |key: &str, cite: &Spanned<String>| match cite.get_ref().trim() {
            "" => Err(error(cite.span().start, format!("{key}.cite"), "where in the paper does this come from?".to_owned())),
            _ => Ok(()),
        };
        let names: Vec<&String> = file.letter.keys().collect();
        let find = |key: &str, name: &Spanned<String>| {
            let found = names.iter().position(|known| *known == name.get_ref());
            found.ok_or_else(|| error(name.span().start, key.to_owned(), format!("there is no letter `{}`", name.get_ref())))
        };
        let mut letters = Vec::new();
        for (name, predicate) in &file.letter {
            let key = format!("letter.{name}");
            cited(&key, &predicate.cite)?;
            let neighbours = |side: &str, list: &[Spanned<String>]| {
                let key = format!("{key}.{side}");
                let simple = |name: &Spanned<String>| {
                    let at = find(&key, name)?;
                    let other = &file.letter[names[at]];
                    if other.reads.is_empty() && other.feeds.is_empty() {
                        return Ok(at);
                    }
                    Err(error(name.span().start, key.clone(), format!("letter `{}` has neighbours itself", name.get_ref())))
                };
                list.iter().map(simple).collect::<Result<Vec<usize>, _>>()
            };
            let (reads, feeds) = (neighbours("reads", &predicate.reads)?, neighbours("feeds", &predicate.feeds)?);
            if predicate.min_intensity.is_some_and(|least| !(least.is_finite() && least >= 0.0)) {
                return Err(error(predicate.cite.span().start, format!("{key}.min_intensity"), "it is no number of operations".to_owned()));
            }
            letters.push(Letter { name: name.clone(), predicate: predicate.clone(), reads, feeds });
        }
        let mut excluded = Vec::new();
        for exclusion in &file.exclude {
            cited("exclude", &exclusion.cite)?;
            excluded.push(find("exclude.letter", &exclusion.letter)?);
        }
        let mut patterns = Vec::new();
        for pattern in &file.pattern {
            let key = format!("pattern `{}`", pattern.name);
            cited(&key, &pattern.cite)?;
            let letter = |name: &str| names.iter().position(|known| *known == name);
            // Behind the quotation mark; a chain on several lines, or with escapes, is placed roughly.
            let place = |wrong: crate::select::automaton::ChainError| {
                error(pattern.chain.span().start + 1 + wrong.at.start, format!("{key}, chain"), wrong.what)
            };
            let chain = Chain::parse(pattern.chain.get_ref(), &letter).map_err(place)?;
            patterns.push(Pattern { name: pattern.name.clone(), phase: pattern.phase, chain });
        }
        Ok(Self { letters, excluded, patterns })
    }

    /// The name of a pattern.
    pub fn name(&self, pattern: usize) -> &str {
        &self.patterns[pattern].name
    }

    /// The letters of an operator, by name.
    pub fn letters(&self, graph: &View, node: NodeId) -> Vec<&str> {
        let spelt = self.spelt(graph);
        let of = self.letters.iter().zip(&spelt).filter(|(_, nodes)| nodes[node.0]);
        of.map(|(letter, _)| letter.name.as_str()).collect()
    }

    /// Every pair of neighbours in a chain that spells a pattern, ascending.
    pub fn links(&self, graph: &View) -> Vec<Link> {
        let spelt = self.spelt(graph);
        // No pattern is of operators that read windows: they run by themselves.
        let excluded = |node: usize| graph.nodes[node].windows || self.excluded.iter().any(|&letter| spelt[letter][node]);
        let excluded: Vec<bool> = (0..graph.nodes.len()).map(excluded).collect();
        let mut found = Vec::new();
        for (at, pattern) in self.patterns.iter().enumerate() {
            let open = |node: usize| !excluded[node] && pattern.phase.is_none_or(|phase| graph.nodes[node].phase == phase);
            let may: Vec<u64> = (0..graph.nodes.len())
                .map(|node| if open(node) { bits(&pattern.chain.letters, |letter| spelt[*letter][node]) } else { 0 })
                .collect();
            let paths = accepted(graph, &pattern.chain, &may);
            let links = paths.into_iter().map(|(from, to)| Link { from, to, pattern: at });
            found.extend(links);
        }
        found.sort_unstable();
        found
    }

    /// For each letter, which nodes are of it.
    fn spelt(&self, graph: &View) -> Vec<Vec<bool>> {
        let alone: Vec<Vec<bool>> =
            self.letters.iter().map(|letter| graph.ids().map(|node| letter.predicate.holds(graph, node)).collect()).collect();
        // As many different neighbours of each letter as it is named; letters that can both be one neighbour are not told apart.
        let around = |wanted: &[usize], nodes: &[NodeId]| {
            wanted.iter().all(|&letter| {
                let named = wanted.iter().filter(|&&other| other == letter).count();
                nodes.iter().filter(|node| alone[letter][node.0]).count() >= named
            })
        };
        let holds = |(at, letter): (usize, &Letter)| {
            let both = |node: NodeId| {
                around(&letter.reads, &same_pass(graph, node, graph.producers(node)))
                    && around(&letter.feeds, &same_pass(graph, node, graph.consumers(node)))
            };
            graph.ids().map(|node| alone[at][node.0] && both(node)).collect()
        };
        self.letters.iter().enumerate().map(holds).collect()
    }
}

fn same_pass(graph: &View, node: NodeId, mut neighbours: SmallVec<[NodeId; 4]>) -> SmallVec<[NodeId; 4]> {
    neighbours.retain(|neighbour| graph.node(*neighbour).phase == graph.node(node).phase);
    neighbours
}

fn bits<T>(items: &[T], holds: impl Fn(&T) -> bool) -> u64 {
    items.iter().enumerate().filter(|(_, item)| holds(item)).fold(0, |set, (at, _)| set | 1 << at)
}

/// Edges of accepted paths: forwards the states that each node can be reached in, backwards those from which a chain can end.
fn accepted(graph: &View, chain: &Chain, may: &[u64]) -> Vec<(NodeId, NodeId)> {
    let after = |set: u64| states(set).fold(0, |all, state| all | chain.follow[state]);
    let mut reached = vec![0_u64; may.len()];
    for node in graph.ids() {
        let behind = graph.producers(node).iter().fold(chain.first, |set, producer| set | after(reached[producer.0]));
        reached[node.0] = behind & may[node.0];
    }
    let mut ends = vec![0_u64; may.len()];
    let mut edges = Vec::new();
    for node in (0..graph.nodes.len()).rev().map(NodeId) {
        let consumers = graph.consumers(node);
        let goes_on = |state: &usize| consumers.iter().any(|consumer| chain.follow[*state] & ends[consumer.0] != 0);
        let ending = reached[node.0] & chain.last;
        ends[node.0] = states(reached[node.0]).filter(goes_on).fold(ending, |set, state| set | 1 << state);
        let links = consumers.iter().filter(|consumer| after(ends[node.0]) & ends[consumer.0] != 0);
        edges.extend(links.map(|&consumer| (node, consumer)));
    }
    edges
}

impl Predicate {
    /// Without its neighbours.
    fn holds(&self, graph: &View, id: NodeId) -> bool {
        let node = graph.node(id);
        let result = graph.tensor(node.outputs[0]);
        let columns = result.shape.last().copied().unwrap_or(1);
        self.class.is_none_or(|class| node.class == class)
            && self.product.is_none_or(|product| node.class == Class::Tensor && kind(graph, node) == product)
            && self.row_wise.is_none_or(|wanted| is_row_wise(graph, node) == wanted)
            && self.concat.is_none_or(|wanted| is_concat(graph, node) == wanted)
            && self.across.is_none_or(|wanted| is_across(graph, node) == wanted)
            && self.min_intensity.is_none_or(|least| node.flops >= least * (node.read + node.written).0)
            && self.min_rows.is_none_or(|least| result.elements() / columns >= least)
            && self.min_columns.is_none_or(|least| columns >= least)
            && self
                .max_readers
                .is_none_or(|most| graph.consumers(id).iter().filter(|reader| graph.node(**reader).phase == node.phase).count() <= most)
    }
}

/// What kind of product an operator is.
pub fn kind(graph: &View, node: &Node) -> Product {
    let Some(Gemm { m, k, left, right, .. }) = node.gemm else { return Product::None };
    let (left, right) = (graph.tensor(left), graph.tensor(right));
    let rows = |tensor: &Tensor| tensor.elements() / tensor.shape.last().copied().unwrap_or(1);
    // A sum over the rows of both operands, which are not the rows of the result.
    let over_rows = rows(left) == k && rows(right) == k && rows(left) != m;
    if (left.producer.is_none() || right.producer.is_none()) && !over_rows { Product::Weights } else { Product::Activations }
}

/// Whether an element of the result depends on its whole row, as in a normalisation: its statistics are outputs too, or it has a scale of
/// a row's length and does more than to scale and to shift.
pub fn is_row_wise(graph: &View, node: &Node) -> bool {
    let result = graph.tensor(node.outputs[0]);
    let columns = result.shape.last().copied().unwrap_or(1);
    let scale = |id: &TensorId| {
        let tensor = graph.tensor(*id);
        tensor.producer.is_none() && (tensor.elements() == columns || tensor.elements() == 2 * columns)
    };
    let busy = node.flops >= NORMALISATION * result.elements() as f64;
    node.class == Class::Simt && (node.outputs.len() > 1 || busy && node.inputs.iter().any(scale))
}

/// Whether the result is the inputs side by side: it has as many elements as they have together.
pub fn is_concat(graph: &View, node: &Node) -> bool {
    let elements: u64 = node.inputs.iter().map(|&id| graph.tensor(id).elements()).sum();
    node.class == Class::Simt && node.inputs.len() > 1 && elements == graph.tensor(node.outputs[0]).elements()
}

/// Whether rows of the result come from other rows: their number differs, or there is an index for each.
pub fn is_across(graph: &View, node: &Node) -> bool {
    let first = |id: TensorId| graph.tensor(id).shape.first().copied();
    let rows = first(node.outputs[0]);
    let largest = node.inputs.iter().copied().max_by_key(|&id| graph.tensor(id).elements());
    let indexed = node.inputs.iter().any(|&id| graph.tensor(id).shape.len() == 1 && first(id) == rows);
    node.class == Class::Gather && (largest.and_then(first) != rows || indexed)
}
