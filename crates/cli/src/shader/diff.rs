//! `warpsight shader diff`: by how much one shader is slower than another, and where.

use super::predict::{Answer, Predicted, answers, show};
use super::subject::{Subject, TraceArgs};
use super::targets::{ModelArgs, SOFTWARE};
use crate::failure::{Failure, Kind};
use crate::report::Column::Keep;
use crate::report::{clean, out, table};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use warpsight_learn::difference::{Difference, Side, attributed, difference};
use warpsight_learn::models::INTERVAL;

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
    let text = text.trim();
    let (number, unit) = text.strip_suffix('%').map_or((text, 1.0), |number| (number.trim_end(), 0.01));
    let number = number.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    let number = number.ok_or("a share, for instance 5% or 0.05")?;
    // Whoever writes 5 means five in a hundred.
    if unit == 1.0 && number >= 1.0 {
        let (percent, share) = (format!("{number}%"), format!("{}", number / 100.0));
        return Err(format!(
            "without a unit this is {} %: write {percent} or {share}, or {}% if it is meant",
            100.0 * number,
            100.0 * number
        ));
    }
    Ok(number * unit)
}

/// Something of which the two shaders have different amounts.
struct Change {
    what: String,
    /// The lines that it stands on, in the first and in the second.
    lines: [Vec<u32>; 2],
    /// What the second takes more, as a share of the first's frame.
    share: f64,
}

/// What the model makes of a shader beyond what its lines add up to.
const WHOLE: &str = "(the shader as a whole: what the prediction corrects of the sum of its lines)";
/// What has no line.
const UNPLACED: &str = "(without a line)";
const DRAW: &str = "(the draw itself)";

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
    let one = |path| {
        let mut passes = answers(Subject::read(path, args.trace.dialect)?, &args.trace, &scene, &targets)?;
        match (passes.pop(), passes.len()) {
            (Some(only), 0) => Ok(only),
            (_, others) => {
                let failure = Failure::input(format!("it has {} passes; two shaders of one each are compared", others + 1));
                Err(failure.at(path.display().to_string()).help("`shader predict` tells what each of its passes takes"))
            }
        }
    };
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
    let parts = |answer: &Answer, predicted: &Predicted| predicted.target.predictor.parts(&answer.row);
    let (own, its) = (parts(a, first), parts(b, second));
    let mut kinds: BTreeMap<&str, [f64; 2]> = BTreeMap::new();
    own.iter().for_each(|(name, seconds)| kinds.entry(name).or_default()[0] += seconds);
    its.iter().for_each(|(name, seconds)| kinds.entry(name).or_default()[1] += seconds);
    let [left, right] = [0, 1].map(|side: usize| kinds.values().map(|k| k[side]).collect::<Vec<f64>>());
    let per_run = |predicted: &Predicted, answer: &Answer| -> Vec<f64> {
        let cost = |(block, count): (_, &f64)| {
            let block: &warpsight_shader::lines::BlockCost = block;
            if *count > 0.0 { block.cost / count } else { 0.0 }
        };
        predicted.costs.blocks.iter().zip(&answer.seen.trace.counts).map(cost).collect()
    };
    let (weights, others) = (per_run(first, a), per_run(second, b));
    let sampled = a.seen.trace.ratio_error(|block| weights[block], &b.seen.trace, |block| others[block]);
    let difference =
        difference(&Side { prediction: &first.prediction, parts: &left }, &Side { prediction: &second.prediction, parts: &right }, sampled);
    let seconds = [first, second].map(|side| side.prediction.seconds.0);
    let operations = kinds.iter().map(|(name, costs)| ((*name).to_owned(), ([vec![], vec![]], *costs)));
    let operations = changes(seconds, operations.chain([part(DRAW, [first.fixed, second.fixed])]).collect());
    Compared { difference, lines: changes(seconds, lines((a, first), (b, second))), operations }
}

/// Parts by name: the lines that they stand on, and what they cost by the additive base.
type Parts = BTreeMap<String, ([Vec<u32>; 2], [f64; 2])>;

fn part(name: &str, costs: [f64; 2]) -> (String, ([Vec<u32>; 2], [f64; 2])) {
    (name.to_owned(), ([vec![], vec![]], costs))
}

/// Lines by their text: what was only moved is the same line.
fn lines(first: (&Answer, &Predicted), second: (&Answer, &Predicted)) -> Parts {
    let both = [first.1, second.1];
    let rest = [part(UNPLACED, both.map(|p| p.costs.unplaced)), part(DRAW, both.map(|p| p.fixed))];
    let mut lines = Parts::from(rest);
    for (side, (answer, predicted)) in [(0, first), (1, second)] {
        let texts = answer.texts(predicted.costs.lines.iter().map(|l| &l.place));
        for line in predicted.costs.lines.iter().filter(|l| l.cost > 0.0) {
            let numbered = || format!("line {}", line.place.line);
            let text = texts.get(&line.place).map_or_else(numbered, |text| text.split_whitespace().collect::<Vec<_>>().join(" "));
            let entry = lines.entry(text).or_default();
            entry.0[side].push(line.place.line);
            entry.1[side] += line.cost;
        }
    }
    lines
}

/// What changed, the most first: shares sum to the change of the predictions.
fn changes(seconds: [f64; 2], parts: Parts) -> Vec<Change> {
    let costs: Vec<[f64; 2]> = parts.values().map(|(_, costs)| *costs).collect();
    let (shares, rest) = attributed(seconds, &costs);
    let all = parts.into_iter().zip(shares).map(|((what, (lines, _)), share)| Change { what, lines, share });
    let whole = Change { what: WHOLE.to_owned(), lines: [vec![], vec![]], share: rest };
    // Sums in another order differ in their last digits.
    let mut all: Vec<Change> = all.chain([whole]).filter(|c| c.share.abs() > 1e-9).collect();
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
        clean(&b.subject.name),
        percent(difference.ratio - 1.0),
        clean(&a.subject.name),
        clean(&first.target.title()),
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
        if let Some((count, share)) = others(lines, most) {
            rows.add_row([number(share), String::new(), format!("({count} other lines)")]);
        }
        let _ = write!(text, "\n\n{rows}");
    }
    if !operations.is_empty() {
        let mut rows = table(&[Keep("of the frame"), Keep("operation")]);
        for change in operations.iter().take(most) {
            rows.add_row([number(change.share), change.what.clone()]);
        }
        if let Some((count, share)) = others(operations, most) {
            rows.add_row([number(share), format!("({count} other operations)")]);
        }
        let _ = write!(text, "\n\n{rows}");
    }
    text
}

/// How many changes are not shown, and their sum.
fn others(all: &[Change], shown: usize) -> Option<(usize, f64)> {
    let rest = all.get(shown..).filter(|rest| !rest.is_empty())?;
    Some((rest.len(), rest.iter().map(|c| c.share).sum()))
}
