//! Predictions for people.

use super::{Answer, Predicted, sum};
use crate::report::Column::{Keep, Spare};
use crate::report::{clean, table};
use crate::shader::targets::{SOFTWARE, Target};
use std::fmt::Write;
use warpsight_ir::Seconds;
use warpsight_learn::models::INTERVAL;
use warpsight_learn::predictor::Outside;
use warpsight_shader::lines::LineCost;

/// The longest part of a line's text that is shown.
pub const TEXT: usize = 100;
/// How many things out of range, and assumptions, are named.
const NAMED: usize = 4;

/// Seconds with three digits.
pub fn time(Seconds(seconds): Seconds) -> String {
    let (value, unit) = match seconds {
        s if s >= 0.9995 => (s, "s"),
        s if s >= 0.9995e-3 => (s * 1e3, "ms"),
        s => (s * 1e6, "µs"),
    };
    match value {
        v if v >= 99.95 => format!("{v:.0} {unit}"),
        v if v >= 9.995 => format!("{v:.1} {unit}"),
        v => format!("{v:.2} {unit}"),
    }
}

/// One shader: every pass, and their sum where there are several.
pub fn one(passes: &[Answer], lines: usize) -> String {
    let mut text = passes.iter().map(|answer| pass(answer, lines)).collect::<Vec<_>>().join("\n\n");
    let [first, _, ..] = passes else { return text };
    for (index, predicted) in first.devices.iter().enumerate() {
        let (seconds, [low, high]) = sum(passes, index);
        let (count, device) = (passes.len(), &predicted.target.name);
        let _ = write!(text, "\n\nall {count} passes on {device}: {} (predicted), {} to {}", time(seconds), time(low), time(high));
    }
    text
}

fn pass(answer: &Answer, lines: usize) -> String {
    let devices: Vec<String> = answer.devices.iter().map(|predicted| device(answer, predicted, lines)).collect();
    format!("{}\n{}", devices.join("\n\n"), notes(answer))
}

fn device(answer: &Answer, predicted: &Predicted, most: usize) -> String {
    let Predicted { target, prediction, costs, fixed } = predicted;
    let [low, high] = prediction.interval;
    let [width, height] = answer.seen.inputs.frame;
    let mut text = format!(
        "{} on {}:\n{} a frame of {width}×{height} (predicted); {:.0} % of such shaders take {} to {}",
        clean(&answer.title()),
        clean(&target.title()),
        time(prediction.seconds),
        100.0 * INTERVAL,
        time(low),
        time(high)
    );
    if !prediction.extrapolating.is_empty() {
        let _ = write!(text, "\nextrapolating: {}", named(&prediction.extrapolating, outside));
    }
    let shown: Vec<&LineCost> = costs.lines.iter().filter(|l| l.cost > 0.0).take(most).collect();
    let percent = |cost: f64| format!("{:.1} %", 100.0 * predicted.share(cost));
    if shown.is_empty() {
        let mut rows = table(&[Keep("share"), Keep("block"), Keep("times a pixel")]);
        let mut blocks: Vec<_> = costs.blocks.iter().enumerate().filter(|(_, b)| b.cost > 0.0).collect();
        blocks.sort_by(|a, b| b.1.cost.total_cmp(&a.1.cost));
        for (index, block) in blocks.into_iter().take(most) {
            let count = answer.seen.trace.counts[index] / answer.seen.trace.pixels as f64;
            rows.add_row([percent(block.cost), index.to_string(), format!("{count:.2}")]);
        }
        let _ = write!(text, "\n\n{rows}\nthe module has no OpLine: blocks in place of source lines (compile with -g)");
    } else {
        let texts = answer.texts(shown.iter().map(|l| &l.place));
        let mut rows = table(&[Keep("share"), Keep("line"), Keep("source")]);
        let first = &shown[0].place.file;
        let one_file = shown.iter().all(|l| l.place.file == *first);
        for line in &shown {
            let at = if one_file { line.place.line.to_string() } else { format!("{}:{}", line.place.file, line.place.line) };
            let source: String = texts.get(&line.place).map(|t| t.trim().chars().take(TEXT).collect()).unwrap_or_default();
            rows.add_row([percent(line.cost), at, source]);
        }
        let rest = costs.lines.iter().skip(shown.len()).map(|l| l.cost).sum::<f64>() + 0.0;
        let _ = write!(
            text,
            "\n\n{rows}\n{} other lines, {} without a line, {} the draw itself",
            percent(rest),
            percent(costs.unplaced),
            percent(*fixed)
        );
    }
    text
}

/// What holds for all devices.
pub fn notes(answer: &Answer) -> String {
    let trace = &answer.seen.trace;
    let executed = trace.total(|block| answer.subject.shader.cfg.blocks[block].insts.len() as f64);
    let error = if executed.value > 0.0 { 100.0 * executed.error / executed.value } else { 0.0 };
    let mut text = format!(
        "{} of {} pixels were executed: instructions ±{error:.1} % (simulated){}",
        trace.sampled,
        trace.pixels,
        if trace.is_rough() { "; branches depend on rounded values, so that devices may count otherwise" } else { "" }
    );
    if !answer.seen.assumptions.is_empty() {
        let all: Vec<String> = answer.seen.assumptions.iter().map(ToString::to_string).collect();
        let _ = write!(text, "\nassumed: {}", all.join("; "));
    }
    text
}

fn named<T>(all: &[T], name: impl Fn(&T) -> String) -> String {
    let mut text = all.iter().take(NAMED).map(name).collect::<Vec<_>>().join(", ");
    if all.len() > NAMED {
        let _ = write!(text, " and {} more", all.len() - NAMED);
    }
    text
}

fn outside(outside: &Outside) -> String {
    let Outside { what, value, trained } = outside;
    match trained {
        None => format!("{what} (never seen in training)"),
        Some([low, high]) => format!("{what} {} (trained on {} to {})", number(*value), number(*low), number(*high)),
    }
}

fn number(value: f64) -> String {
    if value >= 100.0 || value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.2}") }
}

/// Many shaders, a line each.
#[derive(Default)]
pub struct Table(Vec<[String; 6]>);

/// A shader's lines in a table of many; of several passes the sum, and what is said of the slowest.
pub fn rows(passes: &[Answer]) -> Vec<[String; 6]> {
    let row = |device: usize| {
        let (seconds, [low, high]) = sum(passes, device);
        let slowest =
            passes.iter().max_by(|a, b| a.devices[device].prediction.seconds.0.total_cmp(&b.devices[device].prediction.seconds.0))?;
        let predicted = &slowest.devices[device];
        let prediction = &predicted.prediction;
        let costliest = predicted.costs.lines.first().filter(|l| l.cost > 0.0);
        let name = &slowest.subject.name;
        Some([
            if passes.len() > 1 { format!("{name} ({} passes)", passes.len()) } else { name.clone() },
            predicted.target.name.clone(),
            time(seconds),
            format!("{} – {}", time(low), time(high)),
            costliest.map_or("-".to_owned(), |l| format!("{} ({:.0} %)", l.place.line, 100.0 * predicted.share(l.cost))),
            named(&prediction.extrapolating[..prediction.extrapolating.len().min(1)], |o| o.what.clone()),
        ])
    };
    (0..passes.first().map_or(0, |p| p.devices.len())).filter_map(row).collect()
}

impl Table {
    pub fn add(&mut self, rows: Vec<[String; 6]>) {
        self.0.extend(rows);
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn text(&self, targets: &[Target]) -> String {
        let interval = format!("{:.0} % interval", 100.0 * INTERVAL);
        let mut rows = table(&[
            Keep("shader"),
            Spare(4, "device"),
            Keep("predicted"),
            Spare(3, &interval),
            Spare(2, "costliest line"),
            Spare(1, "extrapolating"),
        ]);
        rows.add_rows(self.0.clone());
        let software = targets.iter().filter(|t| t.is_software()).map(|t| format!("\n{} is {SOFTWARE}", t.name));
        format!("{rows}{}", software.collect::<String>())
    }
}
