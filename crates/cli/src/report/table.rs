//! Tables that fit the terminal.

use super::clean;
use std::fmt::{self, Display, Formatter};
use std::io::IsTerminal;
use std::sync::OnceLock;
use unicode_width::UnicodeWidthStr;

/// A column's heading, and what becomes of the column where the table is wider than the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column<'a> {
    /// It stays; where those that stay are too wide, their text is broken.
    Keep(&'a str),
    /// It is left out, the smallest number first.
    Spare(u8, &'a str),
    /// Long text: the last column, or on lines of its own below each row.
    Below(&'a str),
}

use Column::{Below, Keep, Spare};

impl Column<'_> {
    fn heading(&self) -> &str {
        let (Keep(heading) | Spare(_, heading) | Below(heading)) = self;
        heading
    }
}

/// Columns of which each matters less than the one to its left; the first stays.
pub fn from_left<'a>(headings: &[&'a str]) -> Vec<Column<'a>> {
    let order = |at: usize| u8::try_from(headings.len() - at).unwrap_or(u8::MAX);
    headings.iter().enumerate().map(|(at, heading)| if at == 0 { Keep(heading) } else { Spare(order(at), heading) }).collect()
}

/// What is between columns, and before text on a line of its own.
const GAP: usize = 2;
const INDENT: &str = "    ";

/// No column that stays gets narrower than this, whatever the terminal.
const NARROWEST: usize = 8;

/// Rows under headings, plain enough to be copied.
pub struct Table<'a> {
    columns: Vec<Column<'a>>,
    rows: Vec<Vec<String>>,
}

/// A table without rows.
pub fn table<'a>(columns: &[Column<'a>]) -> Table<'a> {
    Table { columns: columns.to_vec(), rows: Vec::new() }
}

impl Table<'_> {
    /// Adds a row: a cell for each column.
    pub fn add_row(&mut self, cells: impl IntoIterator<Item = String>) {
        let mut row: Vec<String> = cells.into_iter().map(|cell| clean(&cell).into_owned()).collect();
        row.resize(self.columns.len(), String::new());
        self.rows.push(row);
    }

    /// Adds rows.
    pub fn add_rows<R: IntoIterator<Item = String>>(&mut self, rows: impl IntoIterator<Item = R>) {
        rows.into_iter().for_each(|row| self.add_row(row));
    }

    /// The table in lines of at most `width` characters, as far as that can be; `None` shows everything in one line a row.
    pub fn text(&self, width: Option<usize>) -> String {
        let Layout { shown, below, left_out } = self.layout(width);
        let headings: Vec<&str> = self.columns.iter().map(Column::heading).collect();
        let mut lines = Vec::new();
        for row in std::iter::once(headings).chain(self.rows.iter().map(|row| row.iter().map(String::as_str).collect())) {
            lines_of_row(&mut lines, &row, &shown);
            for &at in below.iter().filter(|&&at| !row[at].is_empty()) {
                let options = textwrap::Options::new(width.unwrap_or(usize::MAX)).initial_indent(INDENT).subsequent_indent(INDENT);
                lines.extend(textwrap::wrap(row[at], options).into_iter().map(|line| line.trim_end().to_owned()));
            }
        }
        if !left_out.is_empty() {
            let names: Vec<&str> = left_out.iter().map(|&at| self.columns[at].heading()).collect();
            let tail = format!("(left out: {}; --wide shows all)", names.join(", "));
            lines.extend(textwrap::wrap(&tail, width.unwrap_or(usize::MAX)).into_iter().map(|line| line.into_owned()));
        }
        lines.join("\n")
    }

    fn layout(&self, width: Option<usize>) -> Layout {
        let natural = |at: usize| {
            let cells = self.rows.iter().map(|row| row[at].as_str());
            cells.chain([self.columns[at].heading()]).map(UnicodeWidthStr::width).max().unwrap_or(0)
        };
        let (long, short): (Vec<usize>, Vec<usize>) = (0..self.columns.len()).partition(|&at| matches!(self.columns[at], Below(_)));
        let mut all: Vec<(usize, usize)> = short.iter().chain(&long).map(|&at| (at, natural(at))).collect();
        let Some(width) = width.filter(|&width| total(&all) > width) else {
            return Layout { shown: all, below: vec![], left_out: vec![] };
        };
        all.truncate(short.len());
        let order = |&(at, _): &(usize, usize)| if let Spare(order, _) = self.columns[at] { Some(order) } else { None };
        let mut left_out = vec![];
        while total(&all) > width
            && let Some(first) = all.iter().filter_map(order).min()
            && let Some(at) = all.iter().rposition(|column| order(column) == Some(first))
        {
            left_out.push(all.remove(at).0);
        }
        left_out.sort_unstable();
        while total(&all) > width
            && let Some(widest) = all.iter_mut().max_by_key(|column| column.1).filter(|column| column.1 > NARROWEST)
        {
            widest.1 -= 1;
        }
        Layout { shown: all, below: long, left_out }
    }
}

/// Which columns are where; those side by side with their widths.
struct Layout {
    shown: Vec<(usize, usize)>,
    below: Vec<usize>,
    left_out: Vec<usize>,
}

fn total(columns: &[(usize, usize)]) -> usize {
    columns.iter().map(|column| column.1 + GAP).sum::<usize>().saturating_sub(GAP)
}

/// A row's cells side by side, over several lines where one is broken.
fn lines_of_row(lines: &mut Vec<String>, row: &[&str], columns: &[(usize, usize)]) {
    let broken = |&(at, width): &(usize, usize)| match row[at].width() > width {
        true => textwrap::wrap(row[at], width).into_iter().map(|part| part.into_owned()).collect(),
        false => vec![row[at].to_owned()],
    };
    let cells: Vec<Vec<String>> = columns.iter().map(broken).collect();
    for n in 0..cells.iter().map(Vec::len).max().unwrap_or(0) {
        let mut line = String::new();
        for (parts, &(_, width)) in cells.iter().zip(columns) {
            let part = parts.get(n).map_or("", String::as_str);
            line.push_str(part);
            line.push_str(&" ".repeat((width + GAP).saturating_sub(part.width())));
        }
        lines.push(line.trim_end().to_owned());
    }
}

impl Display for Table<'_> {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        f.write_str(&self.text(*WIDTH.get_or_init(|| available(false))))
    }
}

static WIDTH: OnceLock<Option<usize>> = OnceLock::new();

/// Says for the whole command whether tables show everything.
pub fn set_wide(wide: bool) {
    WIDTH.get_or_init(|| available(wide));
}

/// What `$COLUMNS` says, else the terminal. A pipe or file has no width: `grep` finds whole rows there, as in what `ps` or `systemctl` write.
fn available(wide: bool) -> Option<usize> {
    let stated = std::env::var("COLUMNS").ok().and_then(|columns| columns.trim().parse().ok()).filter(|&columns| columns > 0);
    let out = std::io::stdout();
    let terminal = || out.is_terminal().then(|| terminal_size::terminal_size_of(&out).map_or(80, |(width, _)| usize::from(width.0)));
    if wide { None } else { stated.or_else(terminal) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernels() -> Table<'static> {
        let mut rows = table(&[Keep("operator"), Spare(2, "uses"), Below("configuration"), Keep("time us"), Spare(1, "source")]);
        let config = "group=4x4x2 lanes_first=c order=rs";
        rows.add_rows([["Conv@43", "2", config, "21.5", "simulated"], ["Mul@2", "12", "", "9", "simulated"]].map(|r| r.map(String::from)));
        rows
    }

    #[test]
    fn what_has_no_width_or_enough_shows_all_in_a_line_a_row() {
        let all = "operator  uses  time us  source     configuration\n\
                   Conv@43   2     21.5     simulated  group=4x4x2 lanes_first=c order=rs\n\
                   Mul@2     12    9        simulated";
        assert_eq!(kernels().text(None), all);
        assert_eq!(kernels().text(Some(70)), all);
    }

    #[test]
    fn a_configuration_goes_below_then_columns_go_in_their_order() {
        assert_eq!(
            kernels().text(Some(69)),
            "operator  uses  time us  source\n    configuration\n\
             Conv@43   2     21.5     simulated\n    group=4x4x2 lanes_first=c order=rs\n\
             Mul@2     12    9        simulated"
        );
        assert_eq!(
            kernels().text(Some(33)),
            "operator  uses  time us\n    configuration\n\
             Conv@43   2     21.5\n    group=4x4x2 lanes_first=c\n    order=rs\n\
             Mul@2     12    9\n\
             (left out: source; --wide shows\nall)"
        );
        assert!(kernels().text(Some(20)).ends_with("(left out: uses,\nsource; --wide shows\nall)"));
    }

    #[test]
    fn what_stays_is_broken_and_nothing_is_lost() {
        let mut rows = table(&[Keep("shader"), Keep("predicted")]);
        rows.add_row(["a_name_without_any_spaces".to_owned(), "1.5 ms".to_owned()]);
        assert_eq!(rows.text(Some(24)), "shader         predicted\na_name_withou  1.5 ms\nt_any_spaces");
        let joined: String = rows.text(Some(1)).lines().skip(1).map(|line| line.split("  ").next().unwrap_or_default().trim()).collect();
        assert!(joined.contains("a_name_without_any_spaces"), "{joined}");
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        let mut rows = table(&from_left(&["Gerät", "時間", "c", "d", "e"]));
        for n in 0..20 {
            rows.add_row((0..5).map(|at| "語é-x".repeat(1 + n * at % 7)));
        }
        for width in 26..120 {
            let text = rows.text(Some(width));
            let widest = text.lines().map(UnicodeWidthStr::width).max();
            assert!(widest <= Some(width), "{width}: {widest:?}\n{text}");
        }
    }
}
