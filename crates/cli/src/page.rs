//! Pages that need nothing beside themselves: one skeleton, one style, tables and bars. They are well-formed XML, whatever names hold.
//! Numbers of rows name the number of the JSON that they show (`data-at`), with all its digits (`data-value`).

use crate::plot::colour_of;
use serde::Serialize;
use serde_json::Value;
use std::fmt::Write;
use warpsight_ir::TimeSource;

/// It loads nothing: neither fonts nor pictures.
const STYLE: &str = include_str!("page.css");

/// Characters of a text that a column of a table still has room for.
const LONG: usize = 60;

/// Colours of classes `c0`, `c1`, …; beyond them they come again.
pub const COLOURS: usize = 7;

/// Where a number comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Tag {
    /// From a model.
    Predicted,
    /// From the simulated GPU.
    Simulated,
    /// From a device.
    Measured,
    /// From constants of other chips.
    Estimated,
    /// From a paper.
    Published,
}

/// A page that grows.
pub struct Page {
    title: String,
    body: String,
}

/// How a value is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// As it is.
    Plain,
    /// A [`Tag`].
    Tag,
    /// Seconds in microseconds.
    Micros,
    /// Bytes in megabytes.
    Megabytes,
    /// Of a hundred.
    Percent,
    /// Joules in millijoules.
    Millijoules,
    /// Bytes for each point.
    BytesPerPoint,
}

/// A column of rows, made by [`column!`](crate::page::column): a field of theirs, as the JSON names it.
pub struct Column<T> {
    pub heading: &'static str,
    pub unit: Unit,
    /// Its name in the JSON.
    pub key: &'static str,
    /// What a row has of it.
    pub get: fn(&T) -> Value,
}

/// The column of a field: `column!(taken_s, "time", Micros)`; of what is flattened into the row, `column!(of.device, "device")`. A field
/// that the rows have not is none that compiles.
macro_rules! column {
    ($field:ident $(. $inner:ident)?, $heading:expr) => { $crate::page::column!($field $(. $inner)?, $heading, Plain) };
    ($field:ident, $heading:expr, $unit:ident) => { $crate::page::column!(@ stringify!($field), $heading, $unit, $field) };
    ($field:ident . $inner:ident, $heading:expr, $unit:ident) => {
        $crate::page::column!(@ stringify!($inner), $heading, $unit, $field.$inner)
    };
    (@ $key:expr, $heading:expr, $unit:ident, $($path:tt)+) => {
        $crate::page::Column {
            heading: $heading,
            unit: $crate::page::Unit::$unit,
            key: $key,
            get: |row| serde_json::to_value(&row.$($path)+).unwrap_or_default(),
        }
    };
}
pub(crate) use column;

/// A number of a row of the JSON.
#[derive(Clone, Debug, PartialEq)]
pub struct Number {
    /// What it is shown in.
    pub unit: Unit,
    /// All of it.
    pub value: f64,
    /// Where it stands in the JSON, as `/speedups/0/taken_s`.
    pub at: String,
}

/// A row of a chart: pieces along an axis that all rows of the chart share.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// Before it; empty where it belongs to the row above.
    pub name: String,
    /// What is drawn.
    pub pieces: Vec<Piece>,
    /// A thin line over them.
    pub range: Option<(f64, f64)>,
    /// Behind it.
    pub number: Option<Number>,
    /// Where that comes from.
    pub tag: Tag,
}

/// A piece of a bar.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    /// What it is, shown where it is pointed at.
    pub name: String,
    /// Where it begins along the axis, which begins at 0.
    pub from: f64,
    /// Where it ends.
    pub to: f64,
    /// Its colour.
    pub colour: usize,
}

impl Page {
    /// With its title.
    pub fn new(title: &str, text: &str) -> Self {
        let mut page = Self { title: title.to_owned(), body: format!("<h1>{}</h1>", escape(title)) };
        page.text(text);
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

    /// A paragraph; nothing where there is no text.
    pub fn text(&mut self, text: &str) {
        if !text.is_empty() {
            let _ = write!(self.body, "<p class=\"note\">{}</p>", escape(text));
        }
    }

    /// What is well-formed already.
    pub fn raw(&mut self, xml: &str) {
        self.body.push_str(xml);
    }

    /// A drawing, where there is one.
    pub fn drawing(&mut self, svg: Option<&str>) {
        if let Some(svg) = svg {
            let _ = write!(self.body, "<div class=\"scroll drawing\">{svg}</div>");
        }
    }

    /// A table of rows that lie at a place of the JSON, as `/speedups`.
    pub fn table<T>(&mut self, rows: &[T], at: &str, columns: &[Column<T>]) {
        let chosen: Vec<(usize, &T)> = rows.iter().enumerate().collect();
        self.table_of(&chosen, at, columns);
    }

    /// A table of some of the rows, each with its position.
    pub fn table_of<T>(&mut self, rows: &[(usize, &T)], at: &str, columns: &[Column<T>]) {
        let filled = columns.iter().map(|column| (column, rows.iter().map(|(_, row)| (column.get)(row)).collect::<Vec<Value>>()));
        // What no row has needs no column.
        let shown = filled.filter(|(_, values)| values.iter().any(|value| !value.is_null()));
        // Long texts would make every row as high as they are: they go below theirs.
        let is_long = |value: &Value| value.as_str().is_some_and(|text| text.chars().count() > LONG);
        let (below, columns): (Vec<_>, Vec<_>) = shown.partition(|(_, values)| values.iter().any(is_long));
        let head = columns.iter().map(|(column, _)| format!("{}{}", escape(column.heading), column.unit.heading()));
        let rows = rows.iter().enumerate().map(|(n, (i, _))| {
            let own = columns.iter().map(|(column, values)| cell(column.unit, &values[n], &format!("{at}/{i}/{}", column.key)));
            let texts = below.iter().map(|(_, values)| &values[n]).filter(|text| !text.is_null());
            let texts = texts
                .map(|text| format!("</tr><tr class=\"below\"><td colspan=\"{}\">{}</td>", columns.len().max(1), escape(&words(text))));
            own.chain(texts).collect()
        });
        self.rows(head, rows);
    }

    /// A table of words.
    pub fn words(&mut self, head: &[&str], rows: impl Iterator<Item = Vec<String>>) {
        let is_number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-'));
        let class = |text: &str| if is_number(text) { " class=\"number\"" } else { "" };
        let rows = rows.map(|row| row.iter().map(|text| format!("<td{}>{}</td>", class(text), escape(text))).collect());
        self.rows(head.iter().map(|heading| escape(heading)), rows);
    }

    /// A table of headings and cells (`<td>…</td>`) that are well-formed already.
    pub fn rows(&mut self, head: impl Iterator<Item = String>, rows: impl Iterator<Item = Vec<String>>) {
        self.raw("<div class=\"scroll\"><table><thead><tr>");
        head.for_each(|heading| {
            let _ = write!(self.body, "<th>{heading}</th>");
        });
        self.raw("</tr></thead><tbody>");
        for row in rows {
            let _ = write!(self.body, "<tr>{}</tr>", row.concat());
        }
        self.raw("</tbody></table></div>");
    }

    /// Rows of pieces over one axis, whose end is that of the farthest piece or range.
    pub fn bars(&mut self, bars: &[Bar]) {
        let ends = bars.iter().flat_map(|bar| bar.pieces.iter().map(|piece| piece.to).chain(bar.range.map(|range| range.1)));
        self.bars_to(bars, ends.filter(|end| end.is_finite()).fold(0.0, f64::max));
    }

    /// The same over an axis that ends here, as others beside it do.
    pub fn bars_to(&mut self, bars: &[Bar], most: f64) {
        let span = |from: f64, to: f64| {
            let [from, to] = [from, to].map(|at| if most > 0.0 { (100.0 * at / most).clamp(0.0, 100.0) } else { 0.0 });
            format!("style=\"left:{from:.3}%;width:{:.3}%\"", (to - from).max(0.0))
        };
        self.raw("<div class=\"bars\">");
        for bar in bars {
            let _ = write!(self.body, "<div class=\"bar\"><span class=\"name\">{}</span><span class=\"track\">", escape(&bar.name));
            for piece in bar.pieces.iter().filter(|piece| piece.to > piece.from) {
                let (name, place) = (escape(&piece.name), span(piece.from, piece.to));
                let _ = write!(self.body, "<span class=\"piece c{}\" title=\"{name}\" {place}></span>", piece.colour % COLOURS);
            }
            if let Some((from, to)) = bar.range {
                let _ = write!(self.body, "<span class=\"range\" {}></span>", span(from, to));
            }
            let behind = match &bar.number {
                Some(number) => format!("{} {}", number.html(), bar.tag.html()),
                None => String::new(),
            };
            let _ = write!(self.body, "</span><span class=\"number\">{behind}</span></div>");
        }
        self.raw("</div>");
    }

    /// What colours stand for.
    pub fn legend<'a>(&mut self, names: impl Iterator<Item = (usize, &'a str)>) {
        self.raw("<p class=\"legend\">");
        for (colour, name) in names {
            let _ = write!(self.body, "<span><i class=\"c{}\"></i>{}</span> ", colour % COLOURS, escape(name));
        }
        self.raw("</p>");
    }

    /// Parts beside each other, as far as there is room.
    pub fn beside<T>(&mut self, all: impl Iterator<Item = T>, show: impl Fn(&mut Self, T)) {
        self.raw("<div class=\"beside\">");
        for own in all {
            self.raw("<div>");
            show(self, own);
            self.raw("</div>");
        }
        self.raw("</div>");
    }

    /// What is shown when it is asked for.
    pub fn details(&mut self, summary: &str, inside: impl FnOnce(&mut Self)) {
        let _ = write!(self.body, "<details><summary>{}</summary>", escape(summary));
        inside(self);
        self.raw("</details>");
    }

    /// The whole page.
    pub fn finish(self) -> String {
        let colour = |i: usize| format!(".c{i}{{background:{0}40}}.piece.c{i},.legend .c{i}{{background:{0}}}", colour_of(i));
        let colours: String = (0..COLOURS).map(colour).collect();
        format!(
            "<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\"><head><meta charset=\"utf-8\"/>\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\
             <title>{}</title><style>{STYLE}{colours}</style></head><body>{}</body></html>\n",
            escape(&self.title),
            self.body
        )
    }
}

impl Number {
    /// With its unit, where it has one.
    pub fn html(&self) -> String {
        let unit = self.unit.word();
        let space = if unit.is_empty() { "" } else { " " };
        format!("<span data-at=\"{}\" data-value=\"{}\">{}{space}{unit}</span>", escape(&self.at), self.value, shown(self.unit, self.value))
    }
}

impl Tag {
    /// As text.
    pub fn word(self) -> &'static str {
        match self {
            Self::Predicted => "predicted",
            Self::Simulated => "simulated",
            Self::Measured => "measured",
            Self::Estimated => "estimated",
            Self::Published => "published",
        }
    }

    /// As it stands beside a number.
    pub fn html(self) -> String {
        format!("<span class=\"tag\">{}</span>", self.word())
    }
}

impl From<TimeSource> for Tag {
    fn from(source: TimeSource) -> Self {
        match source {
            TimeSource::Measured => Self::Measured,
            TimeSource::Simulated => Self::Simulated,
            TimeSource::Predicted => Self::Predicted,
        }
    }
}

/// The colour of a limiter on every page, by its name: memory, waiting, caches, arithmetic, instructions, and all others.
pub fn limiter_colour(name: &str) -> usize {
    ["dram", "latency", "l2", "l1", "fp", "issue"].iter().position(|own| *own == name).unwrap_or(COLOURS - 1)
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
fn cell(unit: Unit, value: &Value, place: &str) -> String {
    match value {
        Value::Number(number) => {
            let shown = number.as_f64().map_or_else(|| number.to_string(), |value| shown(unit, value));
            format!("<td class=\"number\" data-at=\"{}\" data-value=\"{number}\">{shown}</td>", escape(place))
        }
        Value::String(word) if unit == Unit::Tag => format!("<td><span class=\"tag\">{}</span></td>", escape(word)),
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

impl Unit {
    /// Behind a number; empty where it has none.
    fn word(self) -> &'static str {
        match self {
            Self::Plain | Self::Tag => "",
            Self::Micros => "µs",
            Self::Megabytes => "MB",
            Self::Percent => "%",
            Self::Millijoules => "mJ",
            Self::BytesPerPoint => "B/point",
        }
    }

    /// Behind a heading.
    fn heading(self) -> String {
        if self.word().is_empty() { String::new() } else { format!(" ({})", self.word()) }
    }
}

/// A number in its unit, with digits that say something.
pub fn shown(unit: Unit, value: f64) -> String {
    let scaled = match unit {
        Unit::Micros => value * 1e6,
        Unit::Megabytes => value * 1e-6,
        Unit::Millijoules => value * 1e3,
        Unit::Plain | Unit::Tag | Unit::Percent | Unit::BytesPerPoint => value,
    };
    let size = scaled.abs();
    match size {
        _ if scaled == scaled.round() && size < 1e9 => format!("{scaled:.0}"),
        _ if size >= 1e7 => format!("{scaled:.3e}"),
        _ if size >= 1000.0 => format!("{scaled:.0}"),
        _ if size >= 10.0 => format!("{scaled:.1}"),
        _ if size >= 0.01 => format!("{scaled:.3}"),
        _ => format!("{scaled:.2e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(html: &str) -> roxmltree::Document<'_> {
        let options = roxmltree::ParsingOptions { allow_dtd: true, ..roxmltree::ParsingOptions::default() };
        roxmltree::Document::parse_with_options(html, options).unwrap_or_else(|error| panic!("{error}: {html}"))
    }

    #[test]
    fn whatever_names_hold_is_text() {
        let evil = "</title><script>alert('1')</script>&\"\u{8}\u{ffff}";
        let mut page = Page::new(evil, evil);
        page.section(evil, evil, evil);
        page.part(evil);
        page.words(&[evil], std::iter::once(vec![evil.to_owned()]));
        struct Named<'a> {
            name: &'a str,
            tag: &'a str,
        }
        page.table(&[Named { name: evil, tag: evil }], evil, &[column!(name, "name"), column!(tag, "tag", Tag)]);
        let number = Number { unit: Unit::Micros, value: 2.5e-6, at: evil.to_owned() };
        let piece = Piece { name: evil.to_owned(), from: 0.0, to: 1.0, colour: 99 };
        let bar = Bar { name: evil.to_owned(), pieces: vec![piece], range: None, number: Some(number), tag: Tag::Measured };
        page.bars(&[bar]);
        page.legend([(3, evil)].into_iter());
        page.details(evil, |page| page.text(evil));
        let html = page.finish();
        let document = parsed(&html);
        assert!(!document.descendants().any(|node| node.tag_name().name() == "script"));
        let text: Vec<&str> = document.descendants().filter(|node| node.is_text()).filter_map(|node| node.text()).collect();
        assert_eq!(text.iter().filter(|text| text.contains("<script>alert('1')</script>&\"\u{fffd}\u{fffd}")).count(), 14, "{text:?}");
        assert!(text.contains(&"2.500 µs"), "{text:?}");
    }

    #[test]
    fn bars_share_an_axis() {
        let bar = |from: f64, to: f64, range| Bar {
            name: String::new(),
            pieces: vec![Piece { name: String::new(), from, to, colour: 0 }],
            range,
            number: None,
            tag: Tag::Predicted,
        };
        let mut page = Page::new("", "");
        page.bars(&[bar(0.0, 2.0, None), bar(2.0, 3.0, Some((1.0, 8.0))), bar(0.0, f64::NAN, None), bar(0.0, 0.0, None)]);
        let html = page.finish();
        let found: Vec<&str> = html.split("style=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        assert_eq!(found, ["left:0.000%;width:25.000%", "left:25.000%;width:12.500%", "left:12.500%;width:87.500%"]);
        let mut empty = Page::new("", "");
        empty.bars(&[bar(0.0, 0.0, None)]);
        parsed(&empty.finish());
    }
}
