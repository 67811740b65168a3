//! The ranking as a table.

use super::{Args, Best, Explored, Task};
use crate::predict::REGISTERS_GUESSED;
use crate::predict::show::time;
use crate::report::Column::{self, Keep, Spare};
use crate::report::{clean, dash, extents, table};
use std::fmt::Write;
use warpsight_predict::explore::{Configuration, Fold};

/// 2y, or 1 where nothing is folded.
pub fn fold(fold: &[u32]) -> String {
    let mut all = [1; 3];
    all.iter_mut().zip(fold).for_each(|(to, &points)| *to = points);
    Fold(all).to_string()
}

/// `16x4x16 fold 2y`; no folding goes without saying.
pub fn shape(of: &Configuration) -> String {
    match fold(&of.fold).as_str() {
        "1" => extents(&of.block),
        folded => format!("{} fold {folded}", extents(&of.block)),
    }
}

/// The best, and what was left out.
pub fn text(task: &Task, explored: &Explored, args: &Args) -> String {
    let params: Vec<&str> = task.space.sweeps().iter().flat_map(|sweep| &sweep.names).map(String::as_str).collect();
    let numbers = [
        Keep("time (predicted)"),
        Spare(2, "interval (predicted)"),
        Spare(3, "points/s (predicted)"),
        Spare(4, "limiter (predicted)"),
        Spare(1, "DRAM load, B/point (predicted)"),
    ];
    let shape = ["", "device", "block", "fold"].into_iter().chain(params).map(Keep);
    let mut ranking = table(&shape.chain(numbers).collect::<Vec<Column>>());
    for (i, Best { configuration: own, report, .. }) in explored.best.iter().enumerate() {
        let head = [(i + 1).to_string(), task.device(own).to_owned(), extents(&own.block), fold(&own.fold)];
        let values = task.values(own).map(|(_, value)| value.to_string());
        let tail = [
            time(report.seconds),
            format!("{} – {}", time(report.interval.lo), time(report.interval.hi)),
            format!("{:.3e}", report.points_per_second),
            dash(report.limiter.map(|limiter| limiter.name())),
            dash(report.volumes.dram_load.map(|bytes| format!("{bytes:.2}"))),
        ];
        ranking.add_row(head.into_iter().chain(values).chain(tail));
    }
    let written = &task.input.written;
    let all = task.space.len();
    let mut text = format!(
        "{} ({}): {all} configurations, ranked by points per second\n{ranking}\n",
        clean(&written.kernel.name),
        clean(&task.input.name)
    );
    let refusals = &explored.refusals;
    if refusals.count > 0 {
        let _ = writeln!(text, "{} configurations are not predicted:", refusals.count);
        for (reason, count, first) in refusals.reasons() {
            let _ = writeln!(text, "- {count}, the first {}: {reason}", task.name(&task.space.get(first)));
        }
    }
    let mut bases: Vec<&str> = explored.best.iter().map(|best| best.report.interval.basis.as_str()).collect();
    bases.dedup();
    for basis in bases {
        let _ = writeln!(text, "Interval: {basis}.");
    }
    if explored.best.iter().any(|best| best.report.provenance.iter().any(|note| note == REGISTERS_GUESSED)) {
        let _ = writeln!(text, "- {REGISTERS_GUESSED}");
    }
    if let Some(checked) = explored.checked {
        let _ = writeln!(text, "{checked} configurations checked (seed {}): equal to what `predict` says, to the last bit.", args.seed);
    }
    text
}
