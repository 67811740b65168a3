//! The comparison as a page that needs nothing beside itself.

use super::Outcome;
use super::show::{HEAD, TRANSFER_HEAD, intro, matrix, percent, rank, row, transfer_intro, transfer_row};
use crate::failure::Failure;
use crate::pipeline::escape;
use crate::plot::{HeatMap, heat_maps};
use std::fmt::Write;
use warpsight_learn::shader::evaluate::Judged;

const STYLE: &str = "body{font:15px/1.45 sans-serif;max-width:1180px;margin:2em auto;padding:0 1em;color:#111}\
    table{border-collapse:collapse;margin:.6em 0}th,td{padding:.15em .7em;text-align:right;border-bottom:1px solid #ddd}\
    th:first-child,td:first-child{text-align:left}.note{color:#555}.scroll{overflow-x:auto}";

/// The page.
pub fn page(outcome: &Outcome) -> Result<String, Failure> {
    let mut body = String::from("<h1>Shaders: what models predict that did not see them</h1>");
    let mut put = |text: String| body.push_str(&text);
    put(format!("<p class=\"note\">{}</p>", escape(&intro(outcome))));
    put(format!("<p class=\"note\">{}</p>", escape(&outcome.device.description)));
    let first = &outcome.models[0];
    put(table(&HEAD, outcome.models.iter().map(|judged| row(judged, first).to_vec())));
    put(
        "<p class=\"note\">* ours. The first line is the strongest of the models that others have published or would try first; gains are \
         over it. No trace: fitted and asked as if every block ran once a pixel.</p>"
            .to_owned(),
    );
    put("<h2>Sources left out</h2>".to_owned());
    let names: Vec<&String> = first.sources.keys().collect();
    let head: Vec<&str> = ["source", "shaders"].into_iter().chain(outcome.models.iter().map(|m| m.model.name())).collect();
    let rows = names.iter().map(|name| {
        let of =
            |judged: &Judged| judged.sources.get(*name).map_or("-".to_owned(), |s| format!("{} ({})", percent(s.mape), rank(s.spearman)));
        let shaders = first.sources[*name].shaders.to_string();
        [(*name).clone(), shaders].into_iter().chain(outcome.models.iter().map(of)).collect()
    });
    put("<p class=\"note\">MAPE in percent, and Spearman's rank correlation.</p>".to_owned());
    put(table(&head, rows));
    put("<h2>Measured and predicted</h2><p class=\"note\">Figure 7 of ShaderPerFormer (Liu, Huang and Liu 2024), of these shaders: 50 × 50 bins \
         of equal steps in the logarithm; the line is where predictions are right.</p>"
        .to_owned());
    let maps: Vec<HeatMap> = outcome
        .models
        .iter()
        .filter_map(|judged| {
            let heat = judged.heat.as_ref()?;
            Some(HeatMap { name: judged.model.to_string(), range: heat.range, counts: &heat.counts })
        })
        .collect();
    if !maps.is_empty() {
        let svg = heat_maps(&maps, "measured s", "predicted s").map_err(|e| Failure::input(e.to_string()))?;
        put(format!("<div class=\"scroll\">{svg}</div>"));
    }
    if !outcome.transfer.is_empty() {
        put(format!("<h2>From one device to another</h2><p class=\"note\">{}</p>", escape(&transfer_intro(outcome))));
        let (head, lines) = matrix(&outcome.transfer);
        put(table(&head, lines.into_iter()));
        put(format!(
            "<p class=\"note\">×: the asked device's seconds for each of the other's, a median over shaders that both have. \
             Its times: measured; its model: predicted, as it is, times ×, and calibrated.</p>{}",
            table(&TRANSFER_HEAD, outcome.transfer.iter().map(|t| transfer_row(t).to_vec()))
        ));
    }
    if let Some(best) = outcome.models.iter().find(|m| !m.peer) {
        put(format!("<h2>Farthest off: {}</h2>", best.model));
        let rows = best.farthest.iter().map(|(id, source, measured, predicted)| {
            let ms = |s: &f64| format!("{:.3}", 1e3 * s);
            vec![id.clone(), source.clone(), ms(measured), ms(predicted), format!("{:.2}", predicted / measured)]
        });
        put(table(&["shader", "source", "measured ms", "predicted ms", "×"], rows));
    }
    Ok(format!(
        "<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\"><head><meta charset=\"utf-8\"/>\
         <title>warpsight shader evaluate</title><style>{STYLE}</style></head><body>{body}</body></html>\n"
    ))
}

fn table(head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut out = String::from("<div class=\"scroll\"><table><thead><tr>");
    head.iter().for_each(|h| {
        let _ = write!(out, "<th>{}</th>", escape(h));
    });
    out.push_str("</tr></thead><tbody>");
    for row in rows {
        out.push_str("<tr>");
        row.iter().for_each(|cell| {
            let _ = write!(out, "<td>{}</td>", escape(cell));
        });
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div>");
    out
}
