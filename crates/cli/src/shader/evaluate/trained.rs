//! `warpsight shader evaluate --trained`: how well a model that is there does on measurements that it was not fitted on.

use super::show::{percent, rank};
use crate::failure::Failure;
use crate::report::{dash, from_left, out, table};
use crate::shader::rows::Rows;
use crate::shader::targets::{SOFTWARE, Target};
use serde_json::json;
use std::collections::BTreeMap;
use warpsight_learn::evaluate::{Held, Scores, coverage};

/// Asks a model about all rows and scores what it says: of all, of those that loop, and by source.
pub fn run(target: &Target, made: &Rows, json: bool) -> Result<(), Failure> {
    let held: Vec<Held> = made
        .table
        .rows
        .iter()
        .filter_map(|row| {
            let (measured, said) = (row.seconds?.0, target.predict(row));
            Some(Held { row, measured, predicted: said.seconds.0, interval: Some(said.interval.map(|end| end.0)) })
        })
        .collect();
    let of = |keep: &dyn Fn(&Held) -> bool| Scores::of(&held.iter().filter(|h| keep(h)).map(Held::pair).collect::<Vec<_>>());
    let Some(all) = of(&|_| true) else {
        return Err(Failure::input("none of the shaders was measured"));
    };
    let sources: BTreeMap<&str, Option<Scores>> =
        held.iter().map(|h| h.row.source.as_str()).map(|source| (source, of(&|h| h.row.source == source))).collect();
    let (looping, inside) = (of(&|h| h.row.loops), coverage(&held));
    let device = &target.predictor.device;
    if json {
        return out(json!({
            "source": "predicted, compared with measured", "device": device, "note": device.software.then_some(SOFTWARE),
            "model": target.predictor.id().map_err(|e| Failure::input(e.to_string()))?, "left_out": made.left_out,
            "all": all, "looping": looping, "sources": sources, "coverage": inside,
        }));
    }
    let mut rows = table(&from_left(&["shaders of", "shaders", "MAPE %", "median %", "× off", "ρ"]));
    let parts = sources.iter().map(|(source, scores)| (*source, *scores));
    for (name, scores) in [("all", Some(all)), ("those that loop", looping)].into_iter().chain(parts) {
        let Some(s) = scores else { continue };
        let cells = [name.to_owned(), s.shaders.to_string(), percent(s.mape), percent(s.median_ape), format!("{:.3}", s.geometric)];
        rows.add_row(cells.into_iter().chain([rank(s.spearman)]));
    }
    let mut said = format!(
        "The model of {}{} on shaders that were measured (predicted against measured); whether it was fitted on them is yours to know.\n\n{rows}\n",
        device.name,
        if device.software { format!(" ({SOFTWARE})") } else { String::new() },
    );
    said.push_str(&format!("\n80 % intervals hold {} % of the measured times", dash(inside.map(percent))));
    made.left_out.iter().for_each(|(why, n)| said.push_str(&format!("\n{n} left out: {why}")));
    out(said)
}
