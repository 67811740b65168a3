//! `warpsight operators`: the operators of ONNX's that are read, from the importer's own table.

use crate::failure::Failure;
use crate::report::Column::{Below, Keep};
use crate::report::{out, table};
use serde_json::{Value, json};
use warpsight_graph::{OPSETS, supported_operators};

/// List the ONNX operators that `optimize`, `run` and `pipeline` read, with what of each is read.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {}

const EXAMPLES: &str = "Examples:
  What is read of a convolution:
    warpsight operators | grep Conv";

/// What holds for all of them.
const NOTES: [&str; 5] = [
    "Inputs are float32. Whole numbers and truth values (shapes, axes, positions) are computed while",
    "a model is read: they may depend on shapes, not on what the inputs hold.",
    "FLOAT16 and BFLOAT16 are computed in float32 and rounded after each operator; DOUBLE is for constants.",
    "What is not a number (NaN) is kept by every operator, but for x⁰, which is 1.",
    "`pipeline` plans all of these but convolutions, poolings and padding.",
];

/// Runs the verb.
pub fn run(_args: &Args, json: bool) -> Result<(), Failure> {
    if json {
        let operators: Vec<Value> = supported_operators().map(|o| json!({"name": o.name, "limits": o.limits})).collect();
        return out(json!({"opsets": {"first": OPSETS.start(), "last": OPSETS.end()}, "operators": operators}));
    }
    let mut rows = table(&[Keep("operator"), Below("read")]);
    for operator in supported_operators() {
        let read = if operator.limits.is_empty() { "in full" } else { operator.limits };
        rows.add_row([operator.name, read].map(str::to_owned));
    }
    out(format_args!("ONNX operator sets {} to {}.\n{}\n\n{rows}", OPSETS.start(), OPSETS.end(), NOTES.join("\n")))
}
