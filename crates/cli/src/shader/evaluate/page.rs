//! The comparison as a page that needs nothing beside itself.

use super::Outcome;
use super::show::{HEAD, TRANSFER_HEAD, intro, matrix, percent, rank, row, transfer_intro, transfer_row};
use crate::failure::Failure;
use crate::page::Page;
use crate::plot::{HeatMap, heat_maps};
use warpsight_learn::evaluate::Judged;

/// The page.
pub fn page(outcome: &Outcome) -> Result<String, Failure> {
    let mut page = Page::new("Shaders: what models predict that did not see them", &intro(outcome));
    page.text(&outcome.device.description);
    let first = &outcome.models[0];
    page.words(&HEAD, outcome.models.iter().map(|judged| row(judged, first).to_vec()));
    page.text(
        "* ours. The first line is the strongest of the models that others have published or would try first; gains are over it. No trace: \
         fitted and asked as if every block ran once a pixel.",
    );
    page.section("sources", "Sources left out", "MAPE in percent, and Spearman's rank correlation.");
    let names: Vec<&String> = first.sources.keys().collect();
    let head: Vec<&str> = ["source", "shaders"].into_iter().chain(outcome.models.iter().map(|m| m.model.name())).collect();
    let rows = names.iter().map(|name| {
        let of =
            |judged: &Judged| judged.sources.get(*name).map_or("-".to_owned(), |s| format!("{} ({})", percent(s.mape), rank(s.spearman)));
        let shaders = first.sources[*name].shaders.to_string();
        [(*name).clone(), shaders].into_iter().chain(outcome.models.iter().map(of)).collect()
    });
    page.words(&head, rows);
    page.section(
        "maps",
        "Measured and predicted",
        "Figure 7 of ShaderPerFormer (Liu, Huang and Liu 2024), of these shaders: 50 × 50 bins of equal steps in the logarithm; the line is \
         where predictions are right.",
    );
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
        page.drawing(Some(&svg));
    }
    if !outcome.transfer.is_empty() {
        page.section("transfer", "From one device to another", &transfer_intro(outcome));
        let (head, lines) = matrix(&outcome.transfer);
        page.words(&head, lines.into_iter());
        page.text(
            "×: the asked device's seconds for each of the other's, a median over shaders that both have. Its times: measured; its model: \
             predicted, as it is, times ×, and calibrated.",
        );
        page.words(&TRANSFER_HEAD, outcome.transfer.iter().map(|t| transfer_row(t).to_vec()));
    }
    if let Some(best) = outcome.models.iter().find(|m| !m.peer) {
        page.section("farthest", &format!("Farthest off: {}", best.model), "");
        let rows = best.farthest.iter().map(|(id, source, measured, predicted)| {
            let ms = |s: &f64| format!("{:.3}", 1e3 * s);
            vec![id.clone(), source.clone(), ms(measured), ms(predicted), format!("{:.2}", predicted / measured)]
        });
        page.words(&["shader", "source", "measured ms", "predicted ms", "×"], rows);
    }
    Ok(page.finish())
}
