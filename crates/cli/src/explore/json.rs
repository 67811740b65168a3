//! What was explored as JSON.

use super::{Args, Explored, Task, show};
use crate::predict::json::value as of_report;
use serde_json::{Map, Value, json};
use warpsight_predict::explore::Configuration;

/// All of it. An entry of the ranking is what `predict --json` prints, and the configuration.
pub fn value(task: &Task, explored: &Explored, args: &Args) -> Value {
    let ranking = explored.best.iter().enumerate().map(|(i, best)| {
        let mut entry = configuration(task, &best.configuration);
        entry.insert("rank".to_owned(), json!(i + 1));
        if let Value::Object(more) = of_report(&best.report) {
            entry.extend(more);
        }
        Value::Object(entry)
    });
    let refusals = &explored.refusals;
    let reasons = refusals.reasons().into_iter().map(
        |(reason, count, first)| json!({"reason": reason, "configurations": count, "first": configuration(task, &task.space.get(first))}),
    );
    let checked = explored.checked.map(|checked| json!({"checked": checked, "different": 0, "seed": args.seed}));
    json!({
        "kernel": &*task.input.written.kernel.name,
        "kind": "predicted",
        "configurations": task.space.len(),
        "predicted": explored.predicted,
        "refused": {"configurations": refusals.count, "reasons": reasons.collect::<Vec<_>>()},
        "ranked_by": "points_per_second",
        "ranking": ranking.collect::<Vec<_>>(),
        "sample_check": checked,
    })
}

/// What it is, and the settings that make `predict` predict it.
fn configuration(task: &Task, own: &Configuration) -> Map<String, Value> {
    let params: Map<String, Value> = task.values(own).map(|(name, value)| (name.to_owned(), json!(value))).collect();
    let set: Vec<String> = task.explorer().settings(own).into_iter().map(|(key, value)| format!("{key}={value}")).collect();
    let mut found = Map::new();
    found.insert("device".to_owned(), json!(task.device(own)));
    found.insert("block".to_owned(), json!(own.block));
    found.insert("fold".to_owned(), json!(own.fold));
    found.insert("fold_name".to_owned(), json!(show::fold(&own.fold)));
    found.insert("params".to_owned(), Value::Object(params));
    found.insert("set".to_owned(), json!(set));
    found
}
