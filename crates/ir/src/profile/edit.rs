//! Numbers of a profile by key, for whoever knows better or asks what would be if.

use super::Profile;
use super::check::Against;
use crate::near::near;
use toml::{Table, Value};

/// Why a number cannot be set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// No number is called that, or several are.
    #[error("no number of a profile is called `{key}`")]
    Key {
        /// As it was given.
        key: String,
        /// Keys that may be meant, the likeliest first.
        like: Vec<String>,
    },
    /// Its value is none that a device can have.
    #[error("`{key}` cannot be `{value}`: {why}")]
    Value {
        /// The key, whole.
        key: String,
        /// As it was given.
        value: String,
        /// Why not.
        why: String,
    },
}

/// A profile with other numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Edited {
    /// With them.
    pub profile: Profile,
    /// What each of them replaces.
    pub notes: Vec<String>,
    /// Those that are so far from what they replace that a unit may be missing.
    pub unlikely: Vec<String>,
}

/// A number is unlikely from so many times the profile's on, and from so small a part of it: units are a thousand apart, and what is meant is
/// seldom just what the profile says.
const UNLIKELY: f64 = 300.0;

impl Profile {
    /// The same profile with another number. A key is the path of a fact in the text form (`memory.l2.bandwidth`), or an end of it that no
    /// other has (`l2.bandwidth`); a value is a number in base units, or one with its unit (`40MB`, `1.4TB/s`, `1.41GHz`). What the
    /// profile says of it is kept as an alternative. `.lo` and `.hi` behind a key are the ends of its interval (`clock.hi`).
    ///
    /// # Errors
    /// [`EditError`]: an unknown key, with the nearest ones; a value of another kind, or that no device can have.
    pub fn with(&self, key: &str, value: &str) -> Result<Self, EditError> {
        let refuse = |key: &str, why: String| EditError::Value { key: key.to_owned(), value: value.to_owned(), why };
        let mut tree = self.tree().map_err(|why| refuse(key, why))?;
        if let Some((of, end)) = end(key) {
            let whole = resolve(&keys(&tree), of)?;
            let key = format!("{whole}.{end}");
            match fact(&mut tree, &whole).filter(|fact| fact.contains_key("value")) {
                Some(fact) => fact.insert(end.to_owned(), number(value)),
                None => return Err(refuse(&key, "there is no value whose interval this could end".to_owned())),
            };
            let profile: Self = Value::Table(tree).try_into().map_err(|error: toml::de::Error| refuse(&key, error.message().to_owned()))?;
            profile.check_numbers(Against::Impossible).map_err(|error| refuse(&key, error.to_string()))?;
            return Ok(profile);
        }
        let key = resolve(&keys(&tree), key)?;
        let Some(fact) = fact(&mut tree, &key) else { return Err(EditError::Key { key, like: vec![] }) };
        let before = std::mem::take(fact);
        fact.insert("value".into(), number(value));
        fact.insert("source".into(), "given".into());
        fact.insert("cite".into(), "set from outside".into());
        let mut alternatives = before.get("alternatives").and_then(Value::as_array).cloned().unwrap_or_default();
        if before.contains_key("value") {
            let claim = before.into_iter().filter(|(own, _)| matches!(own.as_str(), "value" | "source" | "cite")).collect();
            alternatives.insert(0, Value::Table(claim));
        }
        if !alternatives.is_empty() {
            fact.insert("alternatives".into(), alternatives.into());
        }
        let profile: Self = Value::Table(tree).try_into().map_err(|error: toml::de::Error| refuse(&key, error.message().to_owned()))?;
        profile.check_numbers(Against::Impossible).map_err(|error| refuse(&key, error.to_string()))?;
        Ok(profile)
    }

    /// The same profile with other numbers, in this order, and what is to be said of them. See [`Self::with`].
    ///
    /// # Errors
    /// [`EditError`] of the first that cannot be set.
    pub fn edited<'a>(&self, edits: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Edited, EditError> {
        let mut edited = Edited { profile: self.clone(), notes: vec![], unlikely: vec![] };
        let number = |of: &Self, key: &str| of.numbers().into_iter().find(|own| own.0 == key).map(|own| own.1);
        for (key, value) in edits {
            if let Some((of, end)) = end(key) {
                let of = self.key(of)?;
                edited.profile = edited.profile.with(key, value)?;
                edited.notes.push(format!("{of}.{end} is overridden: {value}"));
                continue;
            }
            let key = self.key(key)?;
            let before = edited.profile.describe(&key).unwrap_or_default();
            edited.profile = edited.profile.with(&key, value)?;
            edited.notes.push(format!("{key} is overridden: {value} instead of {before}"));
            // By what the profile itself says: an edit of an edit is no excuse.
            let Some((own, now)) = number(self, &key).zip(number(&edited.profile, &key)) else { continue };
            let times = now / own;
            if own > 0.0 && (now <= own / UNLIKELY || now >= own * UNLIKELY) {
                edited.unlikely.push(format!("{key} = {value} is {times:.1e} times what the profile says, {own:e}: is a unit missing?"));
            }
        }
        Ok(edited)
    }

    /// Keys and values of all known numbers.
    pub fn numbers(&self) -> Vec<(String, f64)> {
        let Ok(mut tree) = self.tree() else { return vec![] };
        let keys = keys(&tree);
        let number = |key: String| {
            let value = match fact(&mut tree, &key)?.get("value")? {
                Value::Integer(number) => *number as f64,
                Value::Float(number) => *number,
                _ => return None,
            };
            Some((key, value))
        };
        keys.into_iter().filter_map(number).collect()
    }

    /// The fact of a whole key as text: its value, or why there is none.
    pub fn describe(&self, key: &str) -> Option<String> {
        let mut tree = self.tree().ok()?;
        let fact = fact(&mut tree, key)?;
        let text = |name: &str| fact.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        Some(match fact.get("value") {
            Some(Value::Float(number)) => format!("{number} ({})", text("source")),
            Some(value) => format!("{value} ({})", text("source")),
            None if fact.contains_key("absent") => format!("nothing (absent: {})", text("absent")),
            None => format!("nothing (unknown: {})", text("unknown")),
        })
    }

    /// The whole key that a key or an end of one means.
    ///
    /// # Errors
    /// [`EditError::Key`].
    pub fn key(&self, key: &str) -> Result<String, EditError> {
        let tree = self.tree().map_err(|why| EditError::Value { key: key.to_owned(), value: String::new(), why })?;
        resolve(&keys(&tree), key)
    }

    pub(super) fn tree(&self) -> Result<Table, String> {
        Table::try_from(self).map_err(|error| error.to_string())
    }
}

/// A key whose last part is an end of an interval, apart.
fn end(key: &str) -> Option<(&str, &str)> {
    key.rsplit_once('.').filter(|(_, end)| matches!(*end, "lo" | "hi"))
}

/// A number where it is one; text, such as a number with its unit, otherwise.
fn number(text: &str) -> Value {
    let float = text.parse::<f64>().ok();
    // Whole numbers suit facts of either kind, others only quantities.
    let whole = float.filter(|number| number.fract() == 0.0 && number.abs() < 1e15).map(|number| Value::Integer(number as i64));
    whole.or(float.map(Value::Float)).unwrap_or_else(|| Value::String(text.to_owned()))
}

/// Whether a table is a fact; others hold facts.
fn is_fact(table: &Table) -> bool {
    ["value", "absent", "unknown"].iter().any(|key| table.contains_key(*key))
}

/// Paths of all facts.
fn keys(tree: &Table) -> Vec<String> {
    let tables = tree.iter().filter_map(|(name, value)| Some((name, value.as_table()?)));
    let each = |(name, table): (&String, &Table)| match is_fact(table) {
        true => vec![name.clone()],
        false => keys(table).into_iter().map(|key| format!("{name}.{key}")).collect(),
    };
    tables.flat_map(each).collect()
}

pub(super) fn fact<'t>(tree: &'t mut Table, key: &str) -> Option<&'t mut Table> {
    key.split('.').try_fold(tree, |table, name| table.get_mut(name)?.as_table_mut())
}

fn resolve(keys: &[String], key: &str) -> Result<String, EditError> {
    let ends = |whole: &&String| whole.strip_suffix(key).is_some_and(|before| before.is_empty() || before.ends_with('.'));
    match keys.iter().filter(ends).collect::<Vec<_>>().as_slice() {
        [one] => Ok((*one).clone()),
        [] => {
            let like = near(key, keys.iter().map(String::as_str)).into_iter().map(str::to_owned).collect();
            Err(EditError::Key { key: key.to_owned(), like })
        }
        several => Err(EditError::Key { key: key.to_owned(), like: several.iter().map(|whole| (*whole).clone()).collect() }),
    }
}
