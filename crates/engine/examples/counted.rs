//! How many legal configurations there are of operators. Of more than 12,000 a search has some 6,000 to 12,000 by default, `--space full` all.
//!
//!     cargo run --release -p warpsight-engine --example counted -- [--seed N] [--cases GRID,NEAR] [--op OPERATOR]…
//!
//! Shapes are those of `choose` (the committed seed, sizes of paper 000's Table 3 and near to it) and, once each, the other operators of the grammar; or
//! the operators that are named. `kernels` are those of the operator as it is, or of the way with one kernel; `full` is counted of the kernel with the
//! smallest space, `patterns` is that with texels in columns and blocks, too (`--with patterns`). Ends with 1 where a space is smaller than it should be:
//! 2,000 of a convolution, 300 of every kernel.

#[path = "choose/cases.rs"]
mod cases;

use cases::{Most, OPERATORS, drawn};
use std::error::Error;
use std::process::ExitCode;
use warpsight_generate::operators::parse_operator;
use warpsight_generate::{Pass, Passes, ScheduleFamily, candidates};

/// Operators of the grammar beside those of the table, at sizes of a small network.
const OTHERS: [&str; 19] = [
    "fc n=8 k=96 m=64",
    "maxpool n=1 c=32 h=28 w=28 r=2 s=2 stride=2",
    "avgpool n=1 c=32 h=28 w=28 r=3 s=3 stride=1 pad=1",
    "reduce_sum n=64 c=96",
    "reduce_mean n=64 c=96",
    "reduce_max n=64 c=96",
    "copy n=64 c=96",
    "add n=64 c=96",
    "mul n=64 c=96 rows=1",
    "relu n=64 c=96",
    "gelu n=64 c=96",
    "where n=64 c=96",
    "expand n=64 c=96",
    "transpose n=64 c=96",
    "concat n=64 c=96 parts=2",
    "split n=64 c=96 parts=2",
    "gather rows=100 c=96 n=64",
    "scatter_add rows=100 c=96 n=64",
    "resize_linear n=1 c=32 h=14 w=14 oh=28 ow=28",
];
/// Legal configurations of a convolution, and of any kernel, at least.
const LEAST: (usize, usize) = (2000, 300);

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let (mut seed, mut cases, mut named) = (20_261_126, (4, 2), vec![]);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("{word}: a value is missing"))?;
        match word.as_str() {
            "--seed" => seed = value.parse()?,
            "--cases" => {
                let (grid, near) = value.split_once(',').ok_or("--cases GRID,NEAR")?;
                cases = (grid.parse()?, near.parse()?);
            }
            "--op" => named.push(value),
            _ => return Err(format!("{word}: no such option").into()),
        }
    }
    if named.is_empty() {
        let most = Most { macs: 2e9, bytes: 256e6 };
        named.extend(OPERATORS.into_iter().flat_map(|operator| drawn(operator, seed, cases, most)));
        named.extend(OTHERS.map(str::to_owned));
    }
    println!("| operator | kernels | full | patterns |\n|---|---|---|---|");
    let mut small = 0;
    for text in &named {
        let (kernels, full) = counted(text, Passes::default())?;
        let (_, patterns) = counted(text, Passes::default().set(Pass::Patterns, true))?;
        let least = if text.contains("conv") { LEAST.0 } else { LEAST.1 };
        let mark = if full < least { " **few**" } else { "" };
        small += usize::from(full < least);
        println!("| `{text}` | {kernels} | {full}{mark} | {patterns} |");
    }
    println!("\n{small} of {} have fewer than they should", named.len());
    Ok(ExitCode::from(u8::from(small > 0)))
}

/// The kernels of an operator, and the legal configurations of the one that has the fewest.
fn counted(text: &str, passes: Passes) -> Result<(usize, usize), Box<dyn Error>> {
    let operator = parse_operator(text)?;
    let ways = candidates(&operator);
    let one = ways.iter().find(|way| way.operator.steps.len() == 1).map_or(&operator, |way| &way.operator);
    let counts: Vec<usize> = one.kernels().map(|step| ScheduleFamily::by(step.clone(), passes).count()).collect();
    Ok((counts.len(), counts.into_iter().min().ok_or("no kernel")?))
}
