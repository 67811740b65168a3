//! Tables and numbers for people.

mod table;

use crate::failure::Failure;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::Write;
use std::path::Path;
use warpsight_ir::{KnobValue, Name, Seconds};

pub use table::{Column, Table, from_left, set_wide, table};

/// Prints results on stdout. A reader that went away wants no more; a full disk is an error.
pub fn out(text: impl Display) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    match writeln!(stdout, "{text}").and_then(|()| stdout.flush()) {
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
