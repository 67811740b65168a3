//! `warpsight shader diff`: by how much one shader is slower than another, and where.

use super::predict::{Answer, Predicted, answer, show};
use super::subject::{Subject, TraceArgs};
use super::targets::{ModelArgs, SOFTWARE};
use crate::failure::{Failure, Kind};
use crate::report::Column::Keep;
use crate::report::{out, table};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use warpsight_learn::shader::difference::{Difference, Side, difference};
use warpsight_learn::shader::models::INTERVAL;

/// Predict by how much a shader is slower than another, and which lines make it so. Exit code 0: not slower than allowed; 1: slower.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// The shader as it was: GLSL or SPIR-V.
    first: PathBuf,
    /// The shader as it is.
    second: PathBuf,
    /// How much slower the second may be on any of the devices before the exit code is 1: 5% or 0.05.
    #[arg(long, value_name = "SHARE", default_value = "5%", value_parser = parse_share)]
    fail_above: f64,
    /// Exit with 1 only where the whole interval of the change lies above that.
    #[arg(long)]
    sure: bool,
    #[command(flatten)]
    models: ModelArgs,
    #[command(flatten)]
    trace: TraceArgs,
    /// How many lines and operations are shown.
    #[arg(long, value_name = "N", default_value_t = 10)]
    lines: usize,
}

const EXAMPLES: &str = "Examples:
  Exit code 1 where the second is more than 5 % slower:
    warpsight shader diff data/shaders/looping/julia_trap.frag data/shaders/looping/mandelbulb.frag
  Only where that is sure:
    warpsight shader diff data/shaders/looping/julia_trap.frag \\
      data/shaders/looping/mandelbulb.frag --fail-above 10% --sure";

fn parse_share(text: &str) -> Result<f64, String> {
    let (number, unit) = text.trim().strip_suffix('%').map_or((text.trim(), 1.0), |number| (number.trim_end(), 0.01));
    let share = number.parse::<f64>().ok().map(|share| share * unit).filter(|share| share.is_finite() && *share >= 0.0);
    share.ok_or_else(|| "a share, for instance 5% or 0.05".to_owned())
}

/// Something of which the two shaders have different amounts.
struct Change {
    what: String,
    /// The lines that it stands on, in the first and in the second.
    lines: [Vec<u32>; 2],
    /// What the second costs more, as a share of the first's frame; both by the additive base.
    share: f64,
}

/// Two shaders on a device.
struct Compared {
    difference: Difference,
    lines: Vec<Change>,
    operations: Vec<Change>,
}

/// Runs the verb.
pub fn run(args: &Args, json: bool) -> Result<(), Failure> {
    let targets = args.models.targets()?;
    let scene = args.trace.scene.scene(&BTreeMap::new());
    let one = |path| answer(Subject::read(path, args.trace.dialect)?, &args.trace, &scene, &targets);
    let (first, second) = (one(&args.first)?, one(&args.second)?);
    // A uniform that one of them has may be new in it.
    if first.subject.check(&args.trace.scene).is_err() {
        second.subject.check(&args.trace.scene)?;
    }
    let all: Vec<Compared> = first.devices.iter().zip(&second.devices).map(|(a, b)| compare((&first, a), (&second, b))).collect();
    let above = |c: &Compared| (if args.sure { c.difference.interval[0] } else { c.difference.ratio }) > 1.0 + args.fail_above;
    let slower = all.iter().any(above);
    if json {
        let devices: Vec<Value> = first.devices.iter().zip(&second.devices).zip(&all).map(|((a, b), c)| value(a, b, c, above(c))).collect();
        out(json!({
            "source": "predicted", "first": first.subject.name, "second": second.subject.name, "frame": first.seen.inputs.frame,
            "fail_above": args.fail_above, "sure": args.sure, "slower": slower,
            "assumptions": {"first": first.seen.assumptions, "second": second.seen.assumptions}, "devices": devices,
        }))?;
    } else {
        for ((a, b), compared) in first.devices.iter().zip(&second.devices).zip(&all) {
            out(text((&first, a), (&second, b), compared, args.lines))?;
        }
        out(show::notes(&first))?;
    }
    if !slower {
        return Ok(());
    }
    let most = all.iter().filter(|c| above(c)).map(|c| c.difference.ratio).fold(0.0, f64::max);
    let message = format!("{} is {} {} (predicted)", second.subject.name, percent(most - 1.0), first.subject.name);
    Err(Failure::new(Kind::Slower, message).help(format!("--fail-above allows {:.1} %", 100.0 * args.fail_above)))
}

fn percent(change: f64) -> String {
    match change {
        c if c > 0.0 => format!("{:.1} % slower than", 100.0 * c),
        c if c < 0.0 => format!("{:.1} % faster than", -100.0 * c),
        _ => "as fast as".to_owned(),
    }
}

fn compare((a, first): (&Answer, &Predicted), (b, second): (&Answer, &Predicted)) -> Compared {
    let parts = |answer: &Answer, predicted: &Predicted| predicted.target.predictor.parts(&answer.seen.row);
    let (own, its) = (parts(a, first), parts(b, second));
    let mut kinds: BTreeMap<&str, [f64; 2]> = BTreeMap::new();
    own.iter().for_each(|(name, seconds)| kinds.entry(name).or_default()[0] += seconds);
    its.iter().for_each(|(name, seconds)| kinds.entry(name).or_default()[1] += seconds);
    let [left, right] = [0, 1].map(|side: usize| kinds.values().map(|k| k[side]).collect::<Vec<f64>>());
    let per_run = |predicted: &Predicted, answer: &Answer| -> Vec<f64> {
        let cost = |(block, count): (_, &f64)| {
            let block: &warpsight_learn::shader::lines::BlockCost = block;
            if *count > 0.0 { block.cost / count } else { 0.0 }
        };
        predicted.costs.blocks.iter().zip(&answer.seen.trace.counts).map(cost).collect()
    };
    let (weights, others) = (per_run(first, a), per_run(second, b));
    let sampled = a.seen.trace.ratio_error(|block| weights[block], &b.seen.trace, |block| others[block]);
    let difference =
        difference(&Side { prediction: &first.prediction, parts: &left }, &Side { prediction: &second.prediction, parts: &right }, sampled);
    let whole = first.costs.total + first.fixed;
    let share = |cost: f64| if whole > 0.0 { cost / whole } else { 0.0 };
    let operation =
        |(name, [own, its]): (&str, [f64; 2])| Change { what: name.to_owned(), lines: [vec![], vec![]], share: share(its - own) };
    let operations = largest(kinds.into_iter().map(operation));
    Compared { difference, lines: changed_lines((a, first), (b, second), share), operations }
}

/// Lines by their text: what was only moved is the same line.
fn changed_lines(first: (&Answer, &Predicted), second: (&Answer, &Predicted), share: impl Fn(f64) -> f64) -> Vec<Change> {
    let mut lines: BTreeMap<String, ([Vec<u32>; 2], f64)> = BTreeMap::new();
    for (side, sign, (answer, predicted)) in [(0, -1.0, first), (1, 1.0, second)] {
        let texts = answer.texts(predicted.costs.lines.iter().map(|l| &l.place));
        for line in predicted.costs.lines.iter().filter(|l| l.cost > 0.0) {
            let numbered = || format!("line {}", line.place.line);
            let text = texts.get(&line.place).map_or_else(numbered, |text| text.split_whitespace().collect::<Vec<_>>().join(" "));
            let entry = lines.entry(text).or_default();
            entry.0[side].push(line.place.line);
            entry.1 += sign * line.cost;
        }
    }
    largest(lines.into_iter().map(|(what, (lines, cost))| Change { what, lines, share: share(cost) }))
}

/// What changed, the most first.
fn largest(changes: impl Iterator<Item = Change>) -> Vec<Change> {
    // Sums in another order differ in their last digits.
    let mut all: Vec<Change> = changes.filter(|c| c.share.abs() > 1e-9).collect();
    all.sort_by(|a, b| b.share.abs().total_cmp(&a.share.abs()));
    all
}

fn value(first: &Predicted, second: &Predicted, compared: &Compared, slower: bool) -> Value {
    let Compared { difference, lines, operations } = compared;
    let lines: Vec<Value> =
        lines.iter().map(|c| json!({"text": c.what, "first": c.lines[0], "second": c.lines[1], "change": c.share})).collect();
    let operations: Vec<Value> = operations.iter().map(|c| json!({"operation": c.what, "change": c.share})).collect();
    json!({
        "device": first.target.name, "note": first.target.is_software().then_some(SOFTWARE),
        "seconds": [first.prediction.seconds, second.prediction.seconds],
        "extrapolating": {"first": first.prediction.extrapolating, "second": second.prediction.extrapolating},
        "change": difference.ratio - 1.0, "interval": difference.interval.map(|r| r - 1.0), "coverage": INTERVAL,
        "slower": slower, "lines": lines, "operations": operations,
    })
}

fn text((a, first): (&Answer, &Predicted), (b, second): (&Answer, &Predicted), compared: &Compared, most: usize) -> String {
    let Compared { difference, lines, operations } = compared;
    let [low, high] = difference.interval.map(|r| 100.0 * (r - 1.0));
    let mut text = format!(
        "{} is {} {} on {}:\n{} → {} a frame (predicted); {:+.1} % to {:+.1} % with {:.0} % confidence",
        b.subject.name,
        percent(difference.ratio - 1.0),
        a.subject.name,
        first.target.title(),
        show::time(first.prediction.seconds),
        show::time(second.prediction.seconds),
        low,
        high,
        100.0 * INTERVAL
    );
    let number = |share: f64| format!("{:+.1} %", 100.0 * share);
    if !lines.is_empty() {
        let mut rows = table(&[Keep("of the frame"), Keep("line"), Keep("source")]);
        for change in lines.iter().take(most) {
            let at = |side: usize| change.lines[side].iter().map(u32::to_string).collect::<Vec<_>>().join(",");
            let at = if change.lines[0] == change.lines[1] { at(0) } else { format!("{} → {}", at(0), at(1)) };
            rows.add_row([number(change.share), at, change.what.chars().take(show::TEXT).collect()]);
        }
        let _ = write!(text, "\n\n{rows}");
    }
    if !operations.is_empty() {
        let mut rows = table(&[Keep("of the frame"), Keep("operation")]);
        rows.add_rows(operations.iter().take(most).map(|c| [number(c.share), c.what.clone()]));
        let _ = write!(text, "\n\n{rows}");
    }
    text
}
