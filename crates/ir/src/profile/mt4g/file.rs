//! The file of MT4G as it is laid out, and what is wrong with one.

use super::wrong::Mt4gError;
use serde_json::Value;
use std::cell::RefCell;

/// Tables that a file of the known version has, and levels that its memory may have.
const TABLES: [&str; 4] = ["compute", "general", "memory", "meta"];
const LEVELS: [&str; 9] = ["constant", "l1", "l2", "l3", "main", "readOnly", "scalarL1", "shared", "texture"];

/// A file whose tables are those of the known version.
pub(super) struct File {
    root: Value,
    found: RefCell<Found>,
    /// Whether its writer says that it has not all that a file of its vendor has: then what is missing is unknown.
    partial: bool,
}

/// What is wrong with what was asked of a file.
#[derive(Default)]
struct Found {
    missing: Vec<String>,
    wrong: Option<Mt4gError>,
}

/// One table of a file.
pub(super) struct Group<'f> {
    file: &'f File,
    path: String,
}

/// A size that a chase found.
pub(super) struct Size {
    pub bytes: f64,
    pub confidence: f64,
    pub method: String,
}

/// Latencies of a chase, in cycles.
pub(super) struct Latency {
    pub median: f64,
    pub most: f64,
    pub loads: f64,
    pub method: String,
}

impl File {
    pub fn read(text: &str) -> Result<Self, Mt4gError> {
        let root: Value = serde_json::from_str(text).map_err(|error| Mt4gError::Text(error.to_string()))?;
        let Some(tables) = root.as_object() else { return Err(Mt4gError::Text("it is no object".to_owned())) };
        let partial = root.pointer("/meta/partial").and_then(Value::as_bool).unwrap_or(false);
        let file = Self { found: RefCell::default(), root: Value::Null, partial };
        let newer = |what: String| Err(Mt4gError::Version(what));
        let meta = root.get("meta").and_then(Value::as_object);
        let versions = tables.iter().map(|own| ("", own)).chain(meta.into_iter().flatten().map(|own| ("meta.", own)));
        for (table, (key, value)) in versions {
            if key.to_lowercase().contains("version") {
                return newer(format!("`{table}{key}` is {value}"));
            }
        }
        if let Some(key) = tables.keys().find(|key| !TABLES.contains(&key.as_str())) {
            return newer(format!("it has a table `{key}`"));
        }
        let levels = root.get("memory").and_then(Value::as_object);
        if let Some(key) = levels.into_iter().flat_map(|all| all.keys()).find(|key| !LEVELS.contains(&key.as_str())) {
            return newer(format!("it has a table `memory.{key}`"));
        }
        let missing: Vec<String> = TABLES.into_iter().filter(|key| !tables.contains_key(*key)).map(str::to_owned).collect();
        if !missing.is_empty() {
            return Err(Mt4gError::Missing(missing));
        }
        let file = Self { root, ..file };
        let vendor = file.told(|| file.group("general").text("vendor")).unwrap_or_default();
        match vendor.as_str() {
            "NVIDIA" | "AMD" | "" => Ok(file),
            other => Err(Mt4gError::Value { key: "general.vendor".to_owned(), what: format!("`{other}` is neither NVIDIA nor AMD") }),
        }
    }

    /// What is asked of a partial file: where a key is missing, that it is.
    pub fn told<T>(&self, ask: impl FnOnce() -> T) -> Result<T, String> {
        let before = self.found.borrow().missing.len();
        let told = ask();
        let first = self.found.borrow().missing.get(before).cloned();
        match first {
            Some(key) if self.partial => {
                self.found.borrow_mut().missing.truncate(before);
                Err(format!("the file of MT4G has no `{key}`"))
            }
            _ => Ok(told),
        }
    }

    /// What was wrong with what was asked.
    pub fn finish(&self) -> Result<(), Mt4gError> {
        let mut found = self.found.take();
        found.missing.sort();
        found.missing.dedup();
        match found.wrong {
            _ if !found.missing.is_empty() => Err(Mt4gError::Missing(found.missing)),
            Some(wrong) => Err(wrong),
            None => Ok(()),
        }
    }

    pub fn is_nvidia(&self) -> bool {
        // Nobody else's has sums over all compute units.
        self.at("general.vendor").and_then(Value::as_str) != Some("AMD")
    }

    /// When the tool ran.
    pub fn day(&self) -> String {
        let stamp = self.told(|| self.group("meta").text("timestamp")).unwrap_or_else(|_| "an unknown day".into());
        stamp.split('T').next().unwrap_or_default().to_owned()
    }

    pub fn has(&self, path: &str) -> bool {
        self.at(path).is_some()
    }

    pub fn group(&self, path: &str) -> Group<'_> {
        Group { file: self, path: path.to_owned() }
    }

    fn at(&self, path: &str) -> Option<&Value> {
        path.split('.').try_fold(&self.root, |table, key| table.get(key))
    }

    fn missing(&self, key: String) {
        self.found.borrow_mut().missing.push(key);
    }

    fn wrong(&self, key: String, what: String) {
        self.found.borrow_mut().wrong.get_or_insert(Mt4gError::Value { key, what });
    }
}

impl Group<'_> {
    pub fn path(&self, key: &str) -> String {
        format!("{}.{key}", self.path)
    }

    /// Of a key that has to be there, what this makes of it; nothing that is used is made of one that is not.
    fn value<T: Default>(&self, key: &str, kind: &str, of: impl Fn(&Value) -> Option<T>) -> T {
        let path = self.path(key);
        let Some(value) = self.file.at(&path) else {
            self.file.missing(path);
            return T::default();
        };
        of(value).unwrap_or_else(|| {
            self.file.wrong(path, format!("{} is no {kind}", shown(value)));
            T::default()
        })
    }

    pub fn text(&self, key: &str) -> String {
        self.value(key, "text", |value| value.as_str().filter(|text| text.len() < 1000).map(str::to_owned))
    }

    pub fn count(&self, key: &str) -> u32 {
        self.value(key, "count", |value| value.as_u64().and_then(|count| count.try_into().ok()))
    }

    /// A count that a file need not have.
    pub fn optional(&self, key: &str) -> Option<u32> {
        self.file.has(&self.path(key)).then(|| self.count(key).min(1 << 16))
    }

    fn quantity(&self, key: &str, number: &str, unit: &str) -> f64 {
        let found: String = self.value(&format!("{key}.unit"), "unit", |value| value.as_str().map(str::to_owned));
        if found != unit && self.file.has(&self.path(&format!("{key}.unit"))) {
            self.file.wrong(self.path(key), format!("its unit is `{found}`, where this version of MT4G has {unit}"));
        }
        self.plain(&format!("{key}.{number}"))
    }

    fn plain(&self, key: &str) -> f64 {
        self.value(key, "number from 0 on", |value| value.as_f64().filter(|number| number.is_finite() && *number >= 0.0))
    }

    /// A number that a driver states.
    pub fn number(&self, key: &str, unit: &str) -> f64 {
        self.quantity(key, "value", unit)
    }

    pub fn size(&self, key: &str) -> Size {
        Size {
            bytes: self.quantity(key, "size", "bytes"),
            confidence: self.value(&format!("{key}.confidence"), "number from 0 to 1", |value| {
                value.as_f64().filter(|share| (0.0..=1.0).contains(share))
            }),
            method: self.text(&format!("{key}.method")),
        }
    }

    pub fn latency(&self, key: &str) -> Latency {
        let median = self.quantity(key, "p50", "cycles");
        Latency {
            median,
            most: self.plain(&format!("{key}.p95")),
            loads: self.plain(&format!("{key}.measurements")),
            method: self.text(&format!("{key}.method")),
        }
    }

    /// A quantity in words, for what is lost of it.
    pub fn said(&self, key: &str) -> Option<String> {
        let value = self.file.at(&self.path(key))?;
        let number = value.get("size").or(value.get("value")).and_then(Value::as_f64)?;
        let unit = value.get("unit").and_then(Value::as_str).filter(|unit| unit.len() < 16)?;
        let number = if number.fract() == 0.0 { number.to_string() } else { format!("{number:.1}") };
        let confidence = value.get("confidence").and_then(Value::as_f64).map(|share| format!(", confidence {share:.3}"));
        Some(format!("{number} {unit}{}", confidence.unwrap_or_default()))
    }
}

/// A value as it stands, if it is short.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    if text.len() <= 40 { format!("`{text}`") } else { "this".to_owned() }
}
