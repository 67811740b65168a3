//! The way back: a profile as the text that it can be read from.

use super::edit::fact;
use super::text::{NEWEST, VERSION};
use super::{Fact, Profile};
use std::fmt::Write;
use toml::{Table, Value};

/// The keys of a fact, in the order in which they are read best.
const KEYS: [&str; 8] = ["value", "source", "cite", "lo", "hi", "alternatives", "absent", "unknown"];

impl Profile {
    /// The text form, whole: nothing is inherited, each fact in a line with its source, and what is read of it is this profile again.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let mut line = |key: &str, value: &Value| {
            let _ = writeln!(text, "{key} = {value}");
        };
        line(VERSION, &NEWEST.into());
        line("name", &self.name.as_str().into());
        line("description", &self.description.as_str().into());
        if let Some(architecture) = &self.architecture {
            line("architecture", &architecture.as_str().into());
        }
        let mut tree = self.tree().unwrap_or_default();
        let mut open = String::new();
        for (path, _) in self.facts() {
            let Some(fact) = fact(&mut tree, &path) else { continue };
            // Most devices were never probed.
            if path.starts_with("probed.") && *fact == unstated() {
                continue;
            }
            // Matrix units stand among what else a core does.
            let (table, key) = match path.strip_prefix("execution.") {
                Some(key) => ("execution", key),
                None => path.rsplit_once('.').unwrap_or(("", &path)),
            };
            if open != table {
                table.clone_into(&mut open);
                let _ = writeln!(text, "\n[{table}]");
            }
            let _ = writeln!(text, "{key} = {}", of_fact(fact));
        }
        text
    }
}

/// What a profile says of what it leaves out.
fn unstated() -> Table {
    Table::try_from(Fact::<f64>::default()).unwrap_or_default()
}

fn of_fact(fact: &Table) -> String {
    let parts = KEYS.iter().filter_map(|key| Some(format!("{key} = {}", of_value(fact.get(*key)?))));
    format!("{{ {} }}", parts.collect::<Vec<_>>().join(", "))
}

fn of_value(value: &Value) -> String {
    match value {
        Value::Float(number) => of_number(*number),
        Value::Array(claims) if claims.iter().all(|claim| claim.get("cite").is_some()) => {
            let lines = claims.iter().filter_map(Value::as_table).map(|claim| format!("    {},\n", of_fact(claim)));
            format!("[\n{}]", lines.collect::<String>())
        }
        other => other.to_string(),
    }
}

/// The shorter of digits and an exponent; both are read as the same number.
fn of_number(number: f64) -> String {
    let (digits, exponent) = (number.to_string(), format!("{number:e}"));
    if exponent.len() < digits.len() { exponent } else { digits }
}
