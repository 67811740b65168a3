//! The comparison for a terminal.

use super::Outcome;
use crate::report::{dash, from_left, table};
use warpsight_learn::evaluate::{APART, CALIBRATION, Judged, Scores, Transfer};

/// A share in percent.
pub fn percent(share: f64) -> String {
    if share < 10.0 { format!("{:.1}", 100.0 * share) } else { format!("{:.0}", 100.0 * share) }
}

/// Three digits of a correlation.
pub fn rank(rank: Option<f64>) -> String {
    dash(rank.map(|r| format!("{r:.3}")))
}

/// The relative gain in error over a peer, in percent.
fn gain(own: f64, peer: f64) -> String {
    format!("{:+.0}", 100.0 * (1.0 - own / peer))
}

/// The headings of [`row`].
pub const HEAD: [&str; 15] = [
    "model",
    "MAPE %",
    "median %",
    "× off",
    "ρ",
    "τ",
    "gain %",
    "no trace: MAPE %",
    "ρ",
    "by source: MAPE %",
    "ρ",
    "looping: MAPE %",
    "ρ",
    "80 % cover %",
    "by source %",
];

/// A line of the table; gains are over the first model.
pub fn row(judged: &Judged, first: &Judged) -> [String; 15] {
    let of = |scores: Option<&Scores>| [dash(scores.map(|s| percent(s.mape))), rank(scores.and_then(|s| s.spearman))];
    let [source, source_rank] = of(judged.macro_average.as_ref());
    let [looping, looping_rank] = of(judged.looping.as_ref());
    let [blind, blind_rank] = of(judged.untraced.as_ref());
    let [group, group_rank] = of(judged.group.as_ref());
    [
        if judged.peer { judged.model.to_string() } else { format!("{} *", judged.model) },
        group,
        dash(judged.group.map(|s| percent(s.median_ape))),
        dash(judged.group.map(|s| format!("{:.3}", s.geometric))),
        group_rank,
        rank(judged.group.and_then(|s| s.kendall)),
        gain(judged.error(), first.error()),
        blind,
        blind_rank,
        source,
        source_rank,
        looping,
        looping_rank,
        dash(judged.coverage.map(percent)),
        dash(judged.source_coverage.map(percent)),
    ]
}

/// What the numbers are of.
pub fn intro(outcome: &Outcome) -> String {
    let note = outcome.note.map_or(String::new(), |note| format!(" ({note})"));
    format!(
        "{} measured shaders on {}{note}, {} mutants to learn from. Predicted by models that saw neither the shader nor a near-duplicate of it.",
        outcome.shaders, outcome.device.name, outcome.mutants
    )
}

/// What the tables of transfer are of.
pub fn transfer_intro(outcome: &Outcome) -> String {
    let best = outcome.models.iter().find(|m| !m.peer).map_or("", |m| m.model.name());
    format!(
        "From one device to another, by {best}: MAPE % and ρ of shaders held out with their near-duplicates, after {CALIBRATION} shaders \
         calibrated the model of one device (a line) for another one (a column)."
    )
}

/// A line for each device that was trained on, a column for each that was asked about.
pub fn matrix(all: &[Transfer]) -> (Vec<&str>, Vec<Vec<String>>) {
    let mut names: Vec<&str> = Vec::new();
    for transfer in all {
        if !names.contains(&transfer.trained.as_str()) {
            names.push(&transfer.trained);
        }
    }
    let cell = |from: &str, to: &str| {
        let of = all.iter().find(|t| t.trained == from && t.asked == to);
        let scores = of.and_then(|t| if from == to { Some(&t.plain) } else { t.calibrated.as_ref() });
        dash(scores.map(|s| format!("{}, {}", percent(s.mape), rank(s.spearman))))
    };
    let lines = names.iter().map(|from| std::iter::once((*from).to_owned()).chain(names.iter().map(|to| cell(from, to))).collect());
    let lines = lines.collect();
    (std::iter::once("trained on").chain(names).collect(), lines)
}

/// The headings of [`transfer_row`].
pub const TRANSFER_HEAD: [&str; 12] = [
    "trained on",
    "asked about",
    "shaders",
    "×",
    "its times ×: MAPE %",
    "ρ",
    "its model: MAPE %",
    "ρ",
    "its model ×: MAPE %",
    "ρ",
    "calibrated: MAPE %",
    "ρ",
];

/// A line of the table of transfers.
pub fn transfer_row(transfer: &Transfer) -> [String; 12] {
    let of = |scores: Option<&Scores>| [dash(scores.map(|s| percent(s.mape))), rank(scores.and_then(|s| s.spearman))];
    let [times, times_rank] = of(Some(&transfer.measured));
    let [plain, plain_rank] = of(Some(&transfer.plain));
    let [scaled, scaled_rank] = of(Some(&transfer.scaled));
    let [calibrated, calibrated_rank] = of(transfer.calibrated.as_ref());
    let shaders = transfer.plain.shaders.to_string();
    let (trained, asked, scale) = (transfer.trained.clone(), transfer.asked.clone(), format!("{:.3}", transfer.scale));
    [trained, asked, shaders, scale, times, times_rank, plain, plain_rank, scaled, scaled_rank, calibrated, calibrated_rank]
}

/// The table.
pub fn text(outcome: &Outcome) -> String {
    let mut rows = table(&from_left(&HEAD));
    let first = &outcome.models[0];
    outcome.models.iter().for_each(|judged| {
        rows.add_row(row(judged, first));
    });
    let mut said = format!("{}\n\n{rows}\n\n* ours. Groups of near-duplicates in five parts", intro(outcome));
    said.push_str(&format!("; by source: mean over sources of at least 25 shaders, without {APART}*.\n"));
    if let Some(best) = outcome.models.iter().find(|m| !m.peer) {
        let mut sources = table(&from_left(&["source left out", "shaders", "MAPE %", "median %", "ρ", "first line's MAPE %"]));
        for (name, scores) in &best.sources {
            let peer = first.sources.get(name).map(|s| percent(s.mape));
            let cells = [
                name.clone(),
                scores.shaders.to_string(),
                percent(scores.mape),
                percent(scores.median_ape),
                rank(scores.spearman),
                dash(peer),
            ];
            sources.add_row(cells);
        }
        said.push_str(&format!("\n{}:\n{sources}\n", best.model));
    }
    if !outcome.transfer.is_empty() {
        let mut rows = table(&from_left(&TRANSFER_HEAD));
        rows.add_rows(outcome.transfer.iter().map(transfer_row));
        let (head, lines) = matrix(&outcome.transfer);
        let mut square = table(&from_left(&head));
        square.add_rows(lines);
        said.push_str(&format!("\n{}\n{square}\n\n{rows}\n", transfer_intro(outcome)));
    }
    outcome.left_out.iter().for_each(|(why, n)| said.push_str(&format!("{n} left out: {why}\n")));
    said.trim_end().to_owned()
}
