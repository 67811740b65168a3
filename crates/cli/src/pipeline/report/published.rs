//! Published numbers, as `data/dataflow/paper.toml` has them.

use crate::failure::Failure;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// What a paper says.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// Which one.
    pub paper: About,
    /// Its numbers.
    #[serde(default)]
    pub number: Vec<Number>,
    /// Where it disagrees with itself.
    #[serde(default)]
    pub conflict: Vec<Contradiction>,
}

/// Which paper, about which device.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct About {
    /// Its title.
    pub title: String,
    /// A profile's name.
    pub device: String,
    /// The policy whose groups are those of the paper.
    pub policy: String,
}

/// A published number.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Number {
    /// Of which graphs, by the names of their files without folder and ending.
    pub graphs: Vec<String>,
    /// Of what.
    pub of: Quantity,
    /// Of several values.
    #[serde(default)]
    pub by: Aggregate,
    /// The number.
    pub value: f64,
    /// What is so near agrees.
    pub within: f64,
    /// Where it stands.
    pub cite: String,
    /// What explains that a model disagrees.
    pub term: Option<String>,
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Operators of the graph.
    Operators,
    /// Those in fused kernels.
    VerticalOperators,
    /// Those in pipelines.
    DataflowOperators,
    /// Bytes that vertical fusion does not move.
    VerticalTrafficPercent,
    /// Bytes that dataflow does not move.
    DataflowTrafficPercent,
    /// Of vertical fusion, end to end.
    VerticalSpeedup,
    /// Of dataflow, end to end.
    DataflowSpeedup,
    /// Of each pipeline over its operators.
    GroupSpeedup,
    /// Bulk-synchronous time of operators in pipelines.
    GroupedTimePercent,
    /// Time with multiprocessors and memory little used, bulk-synchronous.
    LowBothPercent,
    /// The same of dataflow.
    DataflowLowBothPercent,
    /// Time with memory alone little used, bulk-synchronous.
    LowDramPercent,
    /// The same of dataflow.
    DataflowLowDramPercent,
    /// What twice the multiprocessors and second-level bandwidth gain, bulk-synchronous.
    LargerBulkSynchronousPercent,
    /// The same of dataflow.
    LargerDataflowPercent,
}

/// One value of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Aggregate {
    /// Their mean; of one value, that one.
    #[default]
    Mean,
    /// Their geometric mean; of percentages, of the factors that they stand for.
    GeometricMean,
    /// The least.
    Least,
    /// The most.
    Most,
}

/// Statements that cannot all hold.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contradiction {
    /// Of what.
    pub about: String,
    /// The statements.
    pub says: Vec<Statement>,
    /// A part of the time that becomes faster.
    pub bound: Option<Amdahl>,
    /// Why they cannot.
    pub why: String,
}

/// A statement of the paper.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// What it says.
    pub claim: String,
    /// Where.
    pub cite: String,
}

/// A share of the time, and how many times faster it becomes.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Amdahl {
    /// Of the time, 0 to 1.
    pub share: f64,
    /// Of that share.
    pub speedup: f64,
}

impl Quantity {
    /// Whether it depends on which groups are selected as pipelines.
    pub fn of_groups(self) -> bool {
        match self {
            Self::Operators | Self::VerticalOperators | Self::VerticalTrafficPercent | Self::VerticalSpeedup => false,
            Self::LowBothPercent | Self::LowDramPercent | Self::LargerBulkSynchronousPercent => false,
            Self::DataflowOperators | Self::DataflowTrafficPercent | Self::DataflowSpeedup | Self::GroupSpeedup => true,
            Self::GroupedTimePercent | Self::DataflowLowBothPercent | Self::DataflowLowDramPercent | Self::LargerDataflowPercent => true,
        }
    }
}

impl Amdahl {
    /// Of all the time.
    pub fn end_to_end(self) -> f64 {
        1.0 / (1.0 - self.share + self.share / self.speedup)
    }
}

impl Paper {
    /// Reads a file.
    pub fn read(file: &Path) -> Result<Self, Failure> {
        let name = file.display().to_string();
        let text = warpsight_files::read_text(file, warpsight_files::TEXT)?;
        let help = "see data/dataflow/paper.toml for the form";
        let paper: Self = toml::from_str(&text).map_err(|error| {
            let failure = Failure::input(error.message().to_owned()).help(help);
            match error.span() {
                Some(span) => failure.excerpt(&name, &text, span, None),
                None => failure.at(&name),
            }
        })?;
        let wrong = |number: &&Number| {
            let numbers = [number.value, number.within];
            number.graphs.is_empty() || numbers.iter().any(|n| !n.is_finite()) || number.within < 0.0
        };
        if let Some(number) = paper.number.iter().find(wrong) {
            let what = format!("a number ({}) needs graphs, a finite value, and a finite distance from 0 on", number.cite);
            return Err(Failure::input(what).at(&name).help(help));
        }
        let bounds = paper.conflict.iter().filter_map(|conflict| conflict.bound);
        if bounds.into_iter().any(|b| !((0.0..=1.0).contains(&b.share) && b.speedup > 0.0 && b.speedup.is_finite())) {
            return Err(Failure::input("a bound needs a share from 0 to 1 and a positive speedup").at(&name).help(help));
        }
        Ok(paper)
    }
}
