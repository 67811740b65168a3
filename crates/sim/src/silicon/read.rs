//! Silicon as text: the embedded files, and files that change some numbers of another.

use super::{PipelineSilicon, Problem, Silicon};

/// The embedded descriptions.
const BUILTIN: [(&str, &str); 9] = [
    ("adreno630", include_str!("../../devices/adreno630.toml")),
    ("adreno640", include_str!("../../devices/adreno640.toml")),
    ("adreno740", include_str!("../../devices/adreno740.toml")),
    ("mali-g76", include_str!("../../devices/mali-g76.toml")),
    ("mali-g77", include_str!("../../devices/mali-g77.toml")),
    ("mali-g77-paper", include_str!("../../devices/mali-g77-paper.toml")),
    ("mi250x", include_str!("../../devices/mi250x.toml")),
    ("a100-40", include_str!("../../devices/a100-40.toml")),
    ("h200", include_str!("../../devices/h200.toml")),
];

/// Files that build on files that build on files: no further.
const DEEPEST: u32 = 4;

/// Why a text describes no silicon.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SiliconError {
    /// Not the expected TOML.
    #[error("silicon description: {0}")]
    Text(String),
    /// It builds on silicon that is not there.
    #[error("silicon description: `base` is {0}; there are {known}", known = Silicon::names().collect::<Vec<_>>().join(", "))]
    Base(String),
    /// Values the simulator cannot work with, or that contradict each other.
    #[error("silicon `{name}`: {}", .problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Wrong {
        /// The silicon's name.
        name: String,
        /// What is wrong.
        problems: Vec<Problem>,
    },
}

impl Silicon {
    /// The embedded silicon of that name.
    pub fn named(name: &str) -> Option<Self> {
        let (_, text) = BUILTIN.iter().find(|own| own.0 == name)?;
        // The texts are part of the build; a test fails where one does not parse.
        match Self::parse(text) {
            Ok(silicon) => Some(silicon),
            Err(error) => unreachable!("the embedded description is tested: {error}"),
        }
    }

    /// The Adreno 640 of `sim/devices/adreno640.toml`.
    pub fn adreno640() -> Self {
        match Self::named("adreno640") {
            Some(silicon) => silicon,
            None => unreachable!("embedded"),
        }
    }

    /// The names of all embedded silicon.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUILTIN.iter().map(|own| own.0)
    }

    /// The embedded silicon of that name with what pipelines see of it.
    ///
    /// # Errors
    /// The names of those that say it.
    pub fn with_pipelines(name: &str) -> Result<(Self, PipelineSilicon), String> {
        let found = |name: &str| Self::named(name).and_then(|silicon| silicon.pipeline.clone().map(|units| (silicon, units)));
        found(name).ok_or_else(|| {
            let known: Vec<&str> = Self::names().filter(|name| found(name).is_some()).collect();
            format!("sim/devices has no silicon of `{name}` for pipelines, only of {}", known.join(", "))
        })
    }

    /// Reads a description. With `base = "NAME"` it says only what differs from that embedded silicon.
    ///
    /// # Errors
    /// See [`SiliconError`].
    pub fn parse(text: &str) -> Result<Self, SiliconError> {
        let silicon = Self::unchecked(text)?;
        let problems = silicon.problems();
        if problems.is_empty() { Ok(silicon) } else { Err(SiliconError::Wrong { name: silicon.name, problems }) }
    }

    /// Reads a description that may contradict itself, for [`Silicon::problems`] to say where.
    ///
    /// # Errors
    /// Where it is not of the form at all.
    pub fn unchecked(text: &str) -> Result<Self, SiliconError> {
        table(text, 0)?.try_into().map_err(|error: toml::de::Error| SiliconError::Text(error.message().to_owned()))
    }
}

/// A description as a table, with what it builds on.
fn table(text: &str, depth: u32) -> Result<toml::Table, SiliconError> {
    let mut own: toml::Table = toml::from_str(text).map_err(|error| SiliconError::Text(error.to_string()))?;
    let Some(base) = own.remove("base") else { return Ok(own) };
    let name = base.as_str().unwrap_or_default();
    match BUILTIN.iter().find(|builtin| builtin.0 == name) {
        Some((_, text)) if depth < DEEPEST => {
            let mut whole = table(text, depth + 1)?;
            // What is said here is no longer assumed there.
            let said = |key: &toml::Value| key.as_str().is_some_and(|key| value(&own, key).is_some());
            let assumed = |table: &toml::Table| table.get("assumed").and_then(toml::Value::as_array).cloned().unwrap_or_default();
            let left = assumed(&whole).into_iter().filter(|key| !said(key)).chain(assumed(&own)).collect();
            laid_over(&mut whole, own);
            whole.insert("assumed".into(), toml::Value::Array(left));
            Ok(whole)
        }
        _ => Err(SiliconError::Base(base.to_string())),
    }
}

/// What a table says under a key of several parts, as `l2.cache.sets`.
fn value<'a>(table: &'a toml::Table, key: &str) -> Option<&'a toml::Value> {
    let mut parts = key.split('.');
    let first = table.get(parts.next()?)?;
    parts.try_fold(first, |within, part| within.get(part))
}

/// Puts the values of a table over those of another, key by key.
fn laid_over(whole: &mut toml::Table, own: toml::Table) {
    for (key, value) in own {
        match (whole.get_mut(&key), value) {
            // A layout is one value: its tables are alternatives.
            (Some(toml::Value::Table(under)), toml::Value::Table(over)) if key != "layout" => laid_over(under, over),
            (_, value) => _ = whole.insert(key, value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn embedded_descriptions_parse_and_have_their_names() {
        for (name, text) in BUILTIN {
            let silicon = Silicon::parse(text).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(silicon.name, name);
        }
    }

    /// What a comment says has no source is listed, and nothing else is.
    #[test]
    fn what_is_assumed_is_listed() {
        for (name, text) in BUILTIN {
            let mut assumed = vec![];
            let mut section = String::new();
            for line in text.lines() {
                if let Some(header) = line.strip_prefix('[') {
                    section = header.split(']').next().unwrap_or_default().to_owned();
                } else if let Some((key, rest)) = line.split_once('=')
                    && rest.contains("# assumed")
                {
                    assumed.push(format!("{section}.{}", key.trim()));
                }
            }
            let own: toml::Table = toml::from_str(text).expect("TOML");
            let listed: Vec<&str> = own["assumed"].as_array().expect("a list").iter().filter_map(toml::Value::as_str).collect();
            assert_eq!(listed, assumed, "{name}");
            for key in listed {
                assert!(value(&own, key).is_some(), "{name} says nothing of {key}");
            }
        }
    }

    #[test]
    fn a_description_may_say_only_what_differs() {
        let silicon = Silicon::parse("base = \"adreno640\"\nname = \"mine\"\n[core]\nclock = 675e6").expect("valid");
        let mut like = Silicon::adreno640();
        (like.name, like.core.clock) = ("mine".into(), 675e6);
        assert_eq!(silicon, like);
        let silicon = Silicon::parse("base = \"adreno640\"\n[core]\nint_rate = 2.0").expect("valid");
        assert_eq!(silicon.assumed.len() + 1, like.assumed.len(), "what is said here is not assumed");
        let none = Silicon::parse("base = \"adreno999\"").expect_err("no such base").to_string();
        assert!(none.starts_with("silicon description: `base` is \"adreno999\"; there are adreno630, adreno640, "), "{none}");
        assert!(matches!(Silicon::parse("name = 1"), Err(SiliconError::Text(_))));
    }
}
