//! Graphs from files, and what is wrong with them, at its place.

use super::onnx::{OnnxError, converted};
use crate::failure::Failure;
use crate::network;
use std::ops::Range;
use std::path::Path;
use warpsight_dataflow::{DesignError, Graph, GraphError};
use warpsight_graph::simplify;
use warpsight_ir::NoEstimate;

/// A graph and where it comes from.
pub struct Input {
    /// The file.
    pub file: String,
    /// Its text; `None` of a model.
    text: Option<String>,
    /// The graph.
    pub graph: Graph,
}

impl Input {
    /// Whether a file is read as a model, by its name.
    pub fn is_model(path: &Path) -> bool {
        path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("onnx"))
    }

    /// Reads a graph, or a model whose elements have so many bytes and whose inputs have these shapes.
    pub fn read(path: &Path, shapes: &[String], element: u64) -> Result<Self, Failure> {
        let file = path.display().to_string();
        if Self::is_model(path) {
            let (model, _) = network::read(path, shapes)?;
            let name = path.file_stem().map_or_else(|| file.clone(), |stem| stem.to_string_lossy().into_owned());
            let refused = |error: OnnxError| Failure::input(error.to_string()).at(&file);
            let graph = converted(&name, &simplify(&model), element).map_err(refused)?;
            return Ok(Self { file, text: None, graph });
        }
        let text = text(path)?;
        match Graph::read(&text) {
            Ok(graph) => Ok(Self { file, text: Some(text), graph }),
            Err(error) => {
                let failure = wrong(&file, &text, &error.to_string(), about(&error).and_then(|what| find(&text, &what)));
                let other = text.trim_start().starts_with(['{', '[']);
                Err(if other {
                    failure
                } else {
                    failure.help("a graph is dataflow-graph/1 (JSON; see examples/dataflow), or a model that ends with .onnx")
                })
            }
        }
    }

    /// Why there is no plan, at the node that it is about.
    pub fn refused(&self, device: &str, why: &DesignError) -> Failure {
        let message = format!("{device}: {why}");
        let node = match why {
            DesignError::Rate { node, .. } => Some(node.as_str()),
            other => other.node().map(|node| node.name.as_str()),
        };
        let failure = match &self.text {
            Some(text) => wrong(&self.file, text, &message, node.and_then(|node| find(text, &About::Node(node)))),
            None => Failure::input(message).at(&self.file),
        };
        match why {
            DesignError::Rate { why: NoEstimate::Missing { .. }, .. } => failure.help("a profile with this number, or another device"),
            _ => failure,
        }
    }
}

/// A file as text.
pub fn text(path: &Path) -> Result<String, Failure> {
    // Programs write graphs and plans.
    Ok(warpsight_files::read_text(path, warpsight_files::RECORDS)?)
}

/// A failure in a text file: at this range, or at the line and column that the message ends with.
pub fn wrong(file: &str, text: &str, message: &str, at: Option<Range<usize>>) -> Failure {
    let failure = Failure::input(message);
    let Some(at) = at.or_else(|| stated(text, message)) else { return failure.at(file) };
    failure.excerpt(file, text, at, None)
}

/// What a message of the JSON reader ends with: `at line 3 column 14`.
fn stated(text: &str, message: &str) -> Option<Range<usize>> {
    let (_, place) = message.rsplit_once(" at line ")?;
    let (line, column) = place.split_once(" column ")?;
    let (line, column): (usize, usize) = (line.parse().ok()?, column.parse().ok()?);
    let begin: usize = text.split_inclusive('\n').take(line.checked_sub(1)?).map(str::len).sum();
    // The reader stands behind what it did not expect.
    let at = (begin + column.saturating_sub(1)).min(text.len().saturating_sub(1));
    let at = (0..=at).rev().find(|&at| text.is_char_boundary(at))?;
    let end = text[at..].chars().next().map_or(at, |c| at + c.len_utf8());
    Some(at..end)
}

/// What an error is about.
enum About<'a> {
    Node(&'a str),
    Tensor(&'a str),
}

fn about(error: &GraphError) -> Option<About<'_>> {
    match error {
        GraphError::NoTensor { node, .. } | GraphError::Mismatch { node, .. } | GraphError::Rewritten { node, .. } => {
            Some(About::Node(node))
        }
        GraphError::SameId(node) => Some(About::Node(node)),
        GraphError::Cycle(nodes) => nodes.first().map(|node| About::Node(node)),
        GraphError::Unwritten { tensor, .. } | GraphError::Dynamic { tensor, .. } | GraphError::Size(tensor) => Some(About::Tensor(tensor)),
        GraphError::Form(_) | GraphError::Empty => None,
    }
}

/// Where a node's `"id"` or a tensor's entry stands.
fn find(text: &str, what: &About) -> Option<Range<usize>> {
    let value = |name: &str| serde_json::Value::from(name).to_string();
    match what {
        About::Node(name) => text.match_indices("\"id\"").find_map(|(at, key)| {
            let rest = text[at + key.len()..].trim_start().strip_prefix(':')?.trim_start();
            let begin = text.len() - rest.len();
            let whole = |own: &str| rest.strip_prefix(own).is_some_and(|rest| rest.trim_start().starts_with([',', '}']));
            let own = [value(name), (*name).to_owned()].into_iter().find(|own| whole(own))?;
            Some(at..begin + own.len())
        }),
        About::Tensor(name) => {
            let own = value(name);
            let entry =
                |at: &usize| text[at + own.len()..].trim_start().strip_prefix(':').is_some_and(|rest| rest.trim_start().starts_with('{'));
            text.match_indices(&own).map(|(at, _)| at).find(entry).map(|at| at..at + own.len())
        }
    }
}
