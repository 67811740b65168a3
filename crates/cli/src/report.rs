//! Tables and numbers for people.

pub mod clean;
mod table;
pub mod timeline;

use crate::failure::Failure;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::{Arguments, Display};
use std::io::Write;
use std::path::Path;
use warpsight_ir::{KnobValue, Name, Seconds};

pub use clean::{clean, clean_json, clean_lines};
pub use table::{Column, Table, from_left, set_wide, table};

/// What goes to stdout.
pub trait Printed: Display + Sized {
    /// As it goes there: a terminal obeys nothing of it.
    fn printed(self) -> String {
        clean_lines(&self.to_string()).into_owned()
    }
}

impl Printed for &str {}
impl Printed for String {}
impl Printed for &String {}
impl Printed for Arguments<'_> {}
impl Printed for Table<'_> {}

/// JSON says everything as it is.
impl Printed for Value {
    fn printed(self) -> String {
        clean_json(&self.to_string()).into_owned()
    }
}

/// JSON that was written before.
pub struct Json<'a>(pub &'a str);

impl Display for Json<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

impl Printed for Json<'_> {
    fn printed(self) -> String {
        clean_json(self.0).into_owned()
    }
}

/// Says something beside the results, on stderr. Nobody may be there to hear it.
pub fn note(text: impl Display) {
    let _ = writeln!(std::io::stderr(), "{}", clean_lines(&text.to_string()));
}

/// Prints results on stdout. A reader that went away wants no more; a full disk is an error.
pub fn out(text: impl Printed) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    match writeln!(stdout, "{}", text.printed()).and_then(|()| stdout.flush()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => Err(Failure::io(Path::new("standard output"), &e)),
        _ => Ok(()),
    }
}

/// A value or a dash.
pub fn dash(value: Option<impl Display>) -> String {
    value.map_or("-".to_owned(), |v| v.to_string())
}

/// Microseconds with three digits.
pub fn micros(time: Seconds) -> String {
    let us = time.0 * 1e6;
    match us {
        _ if us >= 99.95 => format!("{us:.0}"),
        _ if us >= 9.995 => format!("{us:.1}"),
        _ => format!("{us:.2}"),
    }
}

/// A configuration in one cell: knobs that are on their plainest value are left out.
pub fn config(knobs: &BTreeMap<Name, KnobValue>) -> String {
    let shown = knobs.iter().filter_map(|(name, value)| match (&**name, value) {
        (_, KnobValue::Number(1)) => None,
        (_, KnobValue::Label(l)) if matches!(&**l, "buffer" | "rolled" | "none") => None,
        (n, KnobValue::Label(l)) if &**l == "image" => Some(format!("{}:image", n.trim_start_matches("place_"))),
        ("vector_axis", _) if knobs.get("vector") == Some(&KnobValue::Number(1)) => None,
        (n, v) => Some(format!("{n}={v}")),
    });
    shown.collect::<Vec<_>>().join(" ")
}

/// 16x4x16
pub fn extents(extents: &[u32]) -> String {
    let mut words = extents.iter().map(u32::to_string);
    let first = words.next().unwrap_or_default();
    words.fold(first, |all, next| all + "x" + &next)
}
