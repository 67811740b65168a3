//! Graphs from files, and what is wrong with them, at its place.

use crate::failure::Failure;
use crate::network;
use std::ops::Range;
use std::path::Path;
use warpsight_dataflow::{DesignError, View};
use warpsight_graph::{FormatError, Graph, simplify};
use warpsight_ir::NoEstimate;

/// A graph and where it comes from.
pub struct Input {
    /// The file.
    pub file: String,
    /// Its text; `None` of a model.
    text: Option<String>,
    /// What is planned of it.
    pub graph: View,
}

impl Input {
    /// Whether a file is read as a model, by its name.
    pub fn is_model(path: &Path) -> bool {
        path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("onnx"))
    }

    /// Reads a graph, or a model whose elements have so many bytes, of whose inputs so much is given.
    pub fn read(path: &Path, given: network::Given, element: u64) -> Result<Self, Failure> {
        let file = path.display().to_string();
        if Self::is_model(path) {
            let (model, _) = network::read(path, given)?;
            let name = path.file_stem().map_or_else(|| file.clone(), |stem| stem.to_string_lossy().into_owned());
            let model = Graph { name, ..simplify(&model).with_elements(element) };
            let graph = View::of(&model).map_err(|error| Failure::input(error.to_string()).at(&file))?;
            return Ok(Self { file, text: None, graph });
        }
        let text = text(path)?;
        match Graph::read(&text) {
            Ok(graph) => match View::of(&graph) {
                Ok(graph) => Ok(Self { file, text: Some(text), graph }),
                Err(nothing) => {
                    let place = nothing.views.first().and_then(|node| find(&text, About::Node(node)));
                    Err(wrong(&file, &text, &nothing.to_string(), place))
                }
            },
            Err(error) => {
                let failure = wrong(&file, &text, &error.to_string(), about(&error).and_then(|what| find(&text, what)));
                let other = text.trim_start().starts_with(['{', '[']);
                Err(if other {
                    failure
                } else {
                    failure.help("a graph is dataflow-graph/1 or /2 (JSON; see examples/dataflow), or a model that ends with .onnx")
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
            Some(text) => wrong(&self.file, text, &message, node.and_then(|node| find(text, About::Node(node)))),
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

/// A failure in a text file, at this range of it.
pub fn wrong(file: &str, text: &str, message: &str, at: Option<Range<usize>>) -> Failure {
    let failure = Failure::input(message);
    match at {
        Some(at) => failure.excerpt(file, text, at, None),
        None => failure.at(file),
    }
}

/// The character at a line and column of the JSON reader.
pub fn stated(text: &str, (line, column): (usize, usize)) -> Option<Range<usize>> {
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
    Place((usize, usize)),
}

fn about(error: &FormatError) -> Option<About<'_>> {
    match error {
        FormatError::NoTensor { node, .. } | FormatError::Mismatch { node, .. } | FormatError::Rewritten { node, .. } => {
            Some(About::Node(node))
        }
        FormatError::SameId(node) => Some(About::Node(node)),
        FormatError::Cycle(nodes) => nodes.first().map(|node| About::Node(node)),
        FormatError::Unwritten { tensor, .. }
        | FormatError::Dynamic { tensor, .. }
        | FormatError::Size(tensor)
        | FormatError::Value { tensor } => Some(About::Tensor(tensor)),
        FormatError::Form { what, .. } => what.place.map(About::Place),
        FormatError::Empty => None,
    }
}

/// Where that is: a node's `"id"` or a tensor's entry stands.
fn find(text: &str, what: About) -> Option<Range<usize>> {
    let value = |name: &str| serde_json::Value::from(name).to_string();
    match what {
        About::Place(place) => stated(text, place),
        About::Node(name) => text.match_indices("\"id\"").find_map(|(at, key)| {
            let rest = text[at + key.len()..].trim_start().strip_prefix(':')?.trim_start();
            let begin = text.len() - rest.len();
            let whole = |own: &str| rest.strip_prefix(own).is_some_and(|rest| rest.trim_start().starts_with([',', '}']));
            let own = [value(name), name.to_owned()].into_iter().find(|own| whole(own))?;
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
