//! The page of a probe: what was found, every curve behind it, and what does not fit together. Its numbers are those of `--json`.

use super::found::Found;
use super::keys::{Cells, digits, figure, part, parts};
use super::{curves, drawing, roofline};
use crate::page::{Page, escape};
use warpsight_ir::profile::Fact;
use warpsight_probe::Finding;

/// The whole page.
pub fn page(found: &Found) -> String {
    let date = found.date.as_ref().map(|date| format!(", {date}")).unwrap_or_default();
    let mut page = Page::new(&format!("What {} is", found.name()), &format!("{}{date}.", found.device.form));
    architecture(&mut page, found);
    keys(&mut page, found);
    rooflines(&mut page, found);
    all_curves(&mut page, found);
    agreement(&mut page, found);
    origin(&mut page, found);
    page.finish()
}

fn architecture(page: &mut Page, found: &Found) {
    page.section(
        "hierarchy",
        "Memory hierarchy",
        "As found; levels that were not found are not drawn. Paper 001, figure 9, shows the same.",
    );
    page.drawing(drawing::svg(&found.findings).ok().as_deref());
}

fn keys(page: &mut Page, found: &Found) {
    page.section(
        "keys",
        "What was found",
        "Each number lies in its interval; what is absent has its evidence, and what is unknown its reason.",
    );
    for heading in parts() {
        let own: Vec<_> = found.findings.facts.iter().filter(|(key, _)| part(key) == heading).collect();
        if own.is_empty() {
            continue;
        }
        page.part(heading);
        let head = ["key", "value", "unit", "interval", "source", "paper", "why"];
        page.rows(head.iter().map(|heading| escape(heading)), own.into_iter().map(|(key, finding)| row(key, finding)));
    }
}

/// A key's row; its number names where it stands in the JSON, and has all its digits.
fn row(key: &str, finding: &Finding) -> Vec<String> {
    let cells = Cells::of(key, finding);
    let value = match finding {
        Finding::Number(Fact::Known { value, .. }) => {
            // As a JSON pointer has it.
            let place = format!("/keys/{}/value", key.replace('~', "~0").replace('/', "~1"));
            format!("<td class=\"number\" data-at=\"{}\" data-value=\"{value}\">{}</td>", escape(&place), escape(&cells.value))
        }
        _ => word(&cells.value),
    };
    let source = if cells.source.is_empty() { word("") } else { format!("<td><span class=\"tag\">{}</span></td>", cells.source) };
    vec![word(key), value, word(cells.unit), word(&cells.interval), source, word(figure(key)), word(&cells.why)]
}

fn word(text: &str) -> String {
    format!("<td>{}</td>", escape(text))
}

fn rooflines(page: &mut Page, found: &Found) {
    let says = "What a kernel can reach by how much it computes with each byte, from each memory. Paper 001, figure 11, shows the same.";
    page.section("roofline", "Roofline", says);
    match roofline::svg(&found.findings) {
        Ok(svg) => page.drawing(Some(&svg)),
        Err(_) => page.text("The peak of f32, or every bandwidth, is unknown."),
    }
}

fn all_curves(page: &mut Page, found: &Found) {
    let says = "Points were measured, with their intervals; the line is the fitted model; vertical lines stand where it changes.";
    page.section("curves", "Curves", says);
    for curve in &found.findings.curves {
        page.part(&curve.title);
        page.text(&curve.figure.as_ref().map(|figure| format!("Paper {figure}.")).unwrap_or_default());
        match curves::svg(curve) {
            Ok(svg) => page.drawing(Some(&svg)),
            Err(error) => page.text(&format!("{error}.")),
        }
        let changes =
            curve.changes.iter().zip(&curve.confidence).map(|(at, sure)| format!("{} (confidence {sure:.4})", curves::along(curve, *at)));
        let changes: Vec<String> = changes.collect();
        if !changes.is_empty() {
            page.text(&format!("It changes at {}.", changes.join(", ")));
        }
    }
    if found.findings.curves.is_empty() {
        page.text("There is none.");
    }
}

fn agreement(page: &mut Page, found: &Found) {
    let says = "Two ways to one number, neither made of the other; of what is not checkable stands why.";
    page.section("consistency", "Held against itself", says);
    let head = ["what", "expected", "found", "verdict", "why"];
    page.rows(
        head.iter().map(|heading| escape(heading)),
        found.consistency.iter().enumerate().map(|(i, one)| {
            let number = |name: &str, value: Option<f64>| match value {
                Some(value) => {
                    format!("<td class=\"number\" data-at=\"/consistency/{i}/{name}\" data-value=\"{value}\">{}</td>", digits(value))
                }
                None => word("-"),
            };
            let verdict = word(one.verdict.word());
            vec![word(&one.what), number("expected", one.expected), number("found", one.found), verdict, word(&one.why)]
        }),
    );
    page.section("contradictions", "Contradictions", "");
    list(page, &found.findings.contradictions, "None was found.");
}

fn origin(page: &mut Page, found: &Found) {
    page.section("aspects", "What was measured", "");
    let head = ["aspect", "verified", "wrong", "failed", "skipped", "seconds", "note"];
    let rows = found.aspects.iter().map(|own| {
        let counts = [own.verified, own.wrong, own.failed, own.skipped].map(|count| count.to_string());
        [vec![own.name.clone()], counts.to_vec(), vec![format!("{:.1}", own.seconds), own.note.clone().unwrap_or_default()]].concat()
    });
    if found.aspects.is_empty() {
        page.text("Others measured it.");
    } else {
        page.words(&head, rows);
    }
    list(page, &found.notes, "");
    let Some(device) = &found.device.described else { return };
    page.section("driver", "What the driver says", "None of it was measured.");
    let own = [("name", &device.name), ("driver", &device.driver), ("device", &device.id)];
    let own = own.into_iter().map(|(name, text)| vec![name.to_owned(), text.clone()]);
    let limits = serde_json::to_value(&device.limits).unwrap_or_default();
    let limits = limits.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
    let limits: Vec<_> = limits.map(|(name, value)| vec![name.clone(), value.to_string()]).collect();
    let facts = device.facts.iter().map(|(name, text)| vec![name.clone(), text.clone()]);
    page.words(&["what", "says"], own.chain(limits).chain(facts));
}

/// Sentences, each for itself.
fn list(page: &mut Page, all: &[String], none: &str) {
    all.iter().for_each(|one| page.text(one));
    if all.is_empty() {
        page.text(none);
    }
}

#[cfg(test)]
mod tests {
    use super::super::found::Probed;
    use super::*;
    use warpsight_ir::profile::Source;
    use warpsight_probe::{Curve, Findings};

    #[test]
    fn whatever_is_found_is_text() {
        let evil = "</td><script>alert(\"1\")</script>&\u{8}";
        let mut findings = Findings::default();
        findings.number(evil, Fact::between(1.0, 2.0, 3.0, Source::Measured, evil));
        findings.number(format!("dram.{evil}"), Fact::unknown(evil));
        findings.facts.insert("lane.order".into(), Finding::Word(Fact::known(evil.into(), Source::Measured, evil)));
        findings.contradictions.push(evil.into());
        let points = vec![[1.0, 2.0, 1.0, 3.0]];
        findings.curves.push(Curve {
            title: evil.into(),
            figure: Some(evil.into()),
            x: evil.into(),
            y: evil.into(),
            points,
            ..Curve::default()
        });
        let mut found = Found::new(Probed { form: evil.into(), described: None }, findings);
        found.notes.push(evil.into());
        let html = page(&found);
        let options = roxmltree::ParsingOptions { allow_dtd: true, ..roxmltree::ParsingOptions::default() };
        let document = roxmltree::Document::parse_with_options(&html, options).unwrap_or_else(|error| panic!("{error}: {html}"));
        assert!(!document.descendants().any(|node| node.tag_name().name() == "script"));
        assert!(html.matches("&lt;script&gt;").count() >= 12, "{}", html.matches("&lt;script&gt;").count());
        let place = document.descendants().find_map(|node| node.attribute("data-at")).expect("a number");
        assert_eq!(found.json().pointer(&place.replace('\u{fffd}', "\u{8}")).and_then(serde_json::Value::as_f64), Some(2.0));
    }

    #[test]
    fn nothing_found_is_a_page_too() {
        let html = page(&Found::new(Probed::default(), Findings::default()));
        assert!(html.contains("None was found.") && html.contains("There is none."), "{html}");
    }
}
