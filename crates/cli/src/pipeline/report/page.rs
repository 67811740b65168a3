//! The page: well-formed, with everything inside. Cells of tables name the number of the JSON that they show.

use crate::plot::colour_of;
use serde::Serialize;
use serde_json::Value;
use std::fmt::Write;

const STYLE: &str = "body{font:15px/1.45 sans-serif;max-width:1180px;margin:2em auto;padding:0 1em;color:#111}\
    table{border-collapse:collapse;margin:.6em 0}th,td{padding:.15em .7em;text-align:left;border-bottom:1px solid #ddd;vertical-align:top}\
    td.number{text-align:right;font-variant-numeric:tabular-nums}th{font-weight:600}caption{text-align:left;color:#555}\
    .scroll{overflow-x:auto}.sms{display:grid;grid-template-columns:repeat(18,1fr);gap:3px;font-size:11px;margin:.6em 0;\
    counter-reset:sm -1}.sm{border:1px solid #bbb;text-align:center;counter-increment:sm}\
    .sm::before{content:counter(sm);color:#999;font-size:8px;display:block}.sm span{display:block;min-height:1.4em}details{margin:.4em 0}summary{cursor:pointer}\
    .note{color:#555}h2{margin-top:2.2em;border-bottom:2px solid #111}h3{margin-top:1.6em}";

/// Colours of stages; beyond them they come again.
pub const COLOURS: usize = 7;

/// A page that grows.
pub struct Page {
    body: String,
}

/// A column: the key of its rows, and its heading.
pub type Column = (&'static str, &'static str);

impl Page {
    /// With its title.
    pub fn new() -> Self {
        let mut page = Self { body: String::new() };
        page.raw("<h1>Pipelines: what dataflow execution is worth</h1>");
        page.text(
            "Times, bytes and speedups are predicted by models unless a column or a tag says simulated, measured, estimated or published.",
        );
        page
    }

    /// A section.
    pub fn section(&mut self, id: &str, title: &str, text: &str) {
        let _ = write!(self.body, "<h2 id=\"{}\">{}</h2>", escape(id), escape(title));
        self.text(text);
    }

    /// A part of a section.
    pub fn part(&mut self, title: &str) {
        let _ = write!(self.body, "<h3>{}</h3>", escape(title));
    }

    /// A paragraph.
    pub fn text(&mut self, text: &str) {
        let _ = write!(self.body, "<p class=\"note\">{}</p>", escape(text));
    }

    /// What is well-formed already.
    pub fn raw(&mut self, xml: &str) {
        self.body.push_str(xml);
    }

    /// A drawing, where there is one.
    pub fn drawing(&mut self, svg: Option<&str>) {
        if let Some(svg) = svg {
            let _ = write!(self.body, "<div class=\"scroll\">{svg}</div>");
        }
    }

    /// A table of rows that lie at a place of the JSON, as `/speedups`.
    pub fn table<T: Serialize>(&mut self, rows: &[T], at: &str, columns: &[Column]) {
        let chosen: Vec<(usize, &T)> = rows.iter().enumerate().collect();
        self.table_of(&chosen, at, columns);
    }

    /// A table of some of the rows, each with its position.
    pub fn table_of<T: Serialize>(&mut self, rows: &[(usize, &T)], at: &str, columns: &[Column]) {
        let values: Vec<(usize, Value)> = rows.iter().map(|(i, row)| (*i, serde_json::to_value(row).unwrap_or(Value::Null))).collect();
        // What no row has needs no column.
        let shown = |column: &&Column| values.iter().any(|(_, row)| row.get(column.0).is_some_and(|value| !value.is_null()));
        let columns: Vec<&Column> = columns.iter().filter(shown).collect();
        self.raw("<div class=\"scroll\"><table><thead><tr>");
        columns.iter().for_each(|(key, heading)| {
            let _ = write!(self.body, "<th>{}{}</th>", escape(heading), unit(key));
        });
        self.raw("</tr></thead><tbody>");
        for (i, row) in &values {
            self.raw("<tr>");
            for (key, _) in &columns {
                let place = format!("{at}/{i}/{key}");
                let cell = cell(key, row.get(*key).unwrap_or(&Value::Null), &place);
                self.raw(&cell);
            }
            self.raw("</tr>");
        }
        self.raw("</tbody></table></div>");
    }

    /// What is shown when it is asked for.
    pub fn details(&mut self, summary: &str, inside: impl FnOnce(&mut Self)) {
        let _ = write!(self.body, "<details><summary>{}</summary>", escape(summary));
        inside(self);
        self.raw("</details>");
    }

    /// The whole page.
    pub fn finish(self) -> String {
        let colours: String = (0..COLOURS).map(|i| format!(".c{i}{{background:{}40}}", colour_of(i))).collect();
        format!(
            "<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\"><head><meta charset=\"utf-8\"/>\
             <title>warpsight pipeline</title><style>{STYLE}{colours}</style></head><body>{}</body></html>\n",
            self.body
        )
    }
}

/// A text as XML has it; what XML cannot have is replaced.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

/// A cell; numbers with their place and all their digits.
fn cell(key: &str, value: &Value, place: &str) -> String {
    match value {
        Value::Number(number) => {
            let shown = number.as_f64().map_or_else(|| number.to_string(), |value| shown(key, value));
            format!("<td class=\"number\" data-at=\"{}\" data-value=\"{number}\">{shown}</td>", escape(place))
        }
        other => format!("<td>{}</td>", escape(&words(other))),
    }
}

fn words(value: &Value) -> String {
    match value {
        Value::Null => "–".to_owned(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(all) => all.iter().map(words).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

/// The unit that numbers of a key are shown in.
fn unit(key: &str) -> &'static str {
    match key.rsplit('_').next() {
        Some("s") => " (µs)",
        Some("bytes") => " (MB)",
        Some("percent") => " (%)",
        Some("j") => " (mJ)",
        _ => "",
    }
}

/// A number in that unit, with digits that say something.
pub fn shown(key: &str, value: f64) -> String {
    let scaled = match unit(key) {
        " (µs)" => value * 1e6,
        " (MB)" => value * 1e-6,
        " (mJ)" => value * 1e3,
        _ => value,
    };
    let size = scaled.abs();
    match size {
        _ if scaled == scaled.round() && size < 1e9 => format!("{scaled:.0}"),
        _ if size >= 1000.0 => format!("{scaled:.0}"),
        _ if size >= 10.0 => format!("{scaled:.1}"),
        _ if size >= 0.01 => format!("{scaled:.3}"),
        _ => format!("{scaled:.2e}"),
    }
}
