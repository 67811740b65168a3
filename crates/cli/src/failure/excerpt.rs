//! The part of a text file that is wrong, with the lines around it, however long they are.

use crate::report::clean::clean;
use miette::{MietteError, MietteSpanContents, SourceCode, SourceSpan, SpanContents};
use std::borrow::Cow;
use std::ops::Range;

/// The longest line that is shown whole.
const LONGEST: usize = 200;
/// The longest message: of an unsupported model, each operator with its nodes.
const LIST: usize = 4000;
/// Of a longer one: characters before what is wrong, and of it.
const BEFORE: usize = 60;
const MARKED: usize = 100;
/// The most lines that are marked.
const LINES: usize = 8;

/// Lines of a file, short and harmless.
#[derive(Clone, Debug)]
pub struct Excerpt {
    file: String,
    shown: String,
    /// What is wrong, in `shown`.
    pub at: Range<usize>,
    /// Said of it.
    pub label: String,
    /// The line that `shown` begins with, and where what is wrong begins; from 0.
    first: usize,
    begins: (usize, usize),
}

impl Excerpt {
    /// Cuts out what is wrong in a text, in bytes.
    pub fn new(file: &str, text: &str, at: Range<usize>, label: Option<String>) -> Self {
        let start = text.floor_char_boundary(at.start);
        let end = text.ceil_char_boundary(at.end).max(start);
        let end = text[start..end].match_indices('\n').nth(LINES - 1).map_or(end, |(length, _)| start + length);
        let line_at = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let (line, column) = (text[..line_at].matches('\n').count(), text[line_at..start].chars().count());
        let rest = &text[end..];
        let (tail, next) = rest.split_once('\n').map_or((rest, None), |(tail, next)| (tail, next.lines().next()));
        let mut shown = String::new();
        let mut first = line;
        if let Some(earlier) = text[..line_at].strip_suffix('\n') {
            let earlier = &earlier[earlier.rfind('\n').map_or(0, |newline| newline + 1)..];
            shown.push_str(&piece(earlier, LONGEST));
            shown.push('\n');
            first -= 1;
        }
        let (head, marked) = (&text[line_at..start], &text[start..end]);
        let short = longer_than(&text[line_at..end + tail.len()], LONGEST).is_none();
        shown.push_str(&if short { clean(head).into_owned() } else { last(head, BEFORE) });
        let from = shown.len();
        let lines: Vec<String> = marked.split('\n').map(|line| piece(line, if short { LONGEST } else { MARKED })).collect();
        shown.push_str(&lines.join("\n"));
        let at = from..shown.len();
        shown.push_str(&piece(tail, if short { LONGEST } else { LONGEST - BEFORE - MARKED - 3 }));
        if let Some(next) = next {
            shown.push('\n');
            shown.push_str(&piece(next, LONGEST));
        }
        Self { file: file.to_owned(), shown, at, label: label.unwrap_or_else(|| "here".to_owned()), first, begins: (line, column) }
    }

    /// `file:line:column`, from 1.
    pub fn position(&self) -> String {
        format!("{}:{}:{}", self.file, self.begins.0 + 1, self.begins.1 + 1)
    }
}

impl SourceCode for Excerpt {
    fn read_span<'a>(&'a self, _: &SourceSpan, before: usize, _: usize) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        // Without lines around it the reader asks where it is, in the file.
        let (at, (line, column)) = if before == 0 { (self.at.clone(), self.begins) } else { (0..self.shown.len(), (self.first, 0)) };
        let data = &self.shown.as_bytes()[at.clone()];
        let lines = self.shown[at.clone()].matches('\n').count();
        Ok(Box::new(MietteSpanContents::new_named(clean(&self.file).into_owned(), data, at.into(), line, column, lines)))
    }
}

/// The first characters of a line.
fn piece(line: &str, longest: usize) -> String {
    let line = line.strip_suffix('\r').unwrap_or(line);
    match longer_than(line, longest) {
        Some(cut) => format!("{}…", clean(&line[..cut])),
        None => clean(line).into_owned(),
    }
}

/// The last characters of a line.
fn last(line: &str, longest: usize) -> String {
    let kept: usize = line.chars().rev().take(longest).map(char::len_utf8).sum();
    let cut = if kept < line.len() { "…" } else { "" };
    format!("{cut}{}", clean(&line[line.len() - kept..]))
}

/// Where a text ends that is cut to so many characters.
fn longer_than(text: &str, characters: usize) -> Option<usize> {
    text.char_indices().nth(characters).map(|(at, _)| at)
}

/// A message in which nothing quoted is longer than a line, and that is not longer than what a list of names may take: libraries repeat what
/// they did not expect.
pub fn shortened(message: &str) -> String {
    let short: String = message.split_inclusive(['\n', '`', '"']).map(|text| cut(text, LONGEST).into_owned()).collect();
    cut(&short, LIST).into_owned()
}

/// At most so many characters, the last of them from the end.
fn cut(text: &str, longest: usize) -> Cow<'_, str> {
    let Some(head) = longer_than(text, longest) else { return text.into() };
    let tail: usize = text.chars().rev().take(longest / 4).map(char::len_utf8).sum();
    let head = longer_than(text, longest - longest / 4 - 1).unwrap_or(head);
    format!("{}…{}", &text[..head], &text[text.len() - tail..]).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(own: &Excerpt) -> Vec<&str> {
        own.shown.lines().collect()
    }

    #[test]
    fn short_lines_are_shown_as_they_are() {
        let text = "zero\none = 1\ntwo = {\n  three\n}\nfour";
        let own = Excerpt::new("a.toml", text, 9..10, None);
        assert_eq!((lines(&own), own.position()), (vec!["zero", "one = 1", "two = {"], "a.toml:2:5".to_owned()));
        assert_eq!(&own.shown[own.at.clone()], &text[9..10]);
        let own = Excerpt::new("a.toml", text, 13..text.len() - 5, None);
        assert_eq!(lines(&own), ["one = 1", "two = {", "  three", "}", "four"]);
        assert_eq!(&own.shown[own.at.clone()], "two = {\n  three\n}");
        let own = Excerpt::new("a.toml", text, 400..500, None);
        assert_eq!((own.position(), own.at.len()), ("a.toml:6:5".to_owned(), 0));
    }

    #[test]
    fn long_lines_are_cut_around_what_is_wrong() {
        let text = format!("{}\n{}\u{1b}[1mBAD{}\n{}", "a".repeat(1 << 20), "b".repeat(1 << 20), "ü".repeat(1 << 20), "d".repeat(300));
        let at = text.find("BAD").unwrap_or_default();
        let own = Excerpt::new("a", &text, at..at + 3, None);
        assert_eq!(own.position(), format!("a:2:{}", (1 << 20) + 5));
        assert_eq!(&own.shown[own.at.clone()], "BAD");
        assert!(lines(&own).iter().all(|line| (50..=201).contains(&line.chars().count())), "{own:?}");
        assert!(own.shown.contains("…bbb") && own.shown.contains("b␛[1mBADü"));
        let own = Excerpt::new("a", &text, 0..text.len(), None);
        assert!(lines(&own).iter().all(|line| line.chars().count() <= 201), "{:?}", own.shown.len());
    }

    #[test]
    fn what_is_quoted_is_shortened() {
        let long = format!("unknown field `{}`, expected `x` at line 1 column 2", "y".repeat(1 << 20));
        let short = shortened(&long);
        assert!(short.starts_with("unknown field `yyy") && short.ends_with("y`, expected `x` at line 1 column 2"), "{short}");
        assert!(short.chars().count() < 260);
        let many: String = (0..100).map(|n| format!("`name{n}`, ")).collect();
        assert_eq!(shortened(&many), many);
        let ticks = shortened(&"y`".repeat(1 << 20));
        assert!(ticks.chars().count() <= LIST, "{}", ticks.len());
    }
}
