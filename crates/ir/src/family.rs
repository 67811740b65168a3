//! A schedule whose knobs are still open.

use crate::kernel::Kernel;
use crate::program::Name;
use crate::validate::Checked;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Values for a Family's knobs, in the order of its [`Space`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Config(pub Vec<i32>);

/// The knobs of a Family and the values each may take.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Space {
    /// The knobs.
    pub knobs: Vec<Knob>,
}

/// One knob.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Knob {
    /// Its name.
    pub name: Name,
    /// The values it may take; for a knob with labels, positions in them.
    pub values: Vec<i32>,
    /// Names of the values where they are no numbers.
    pub labels: Vec<Name>,
    /// Names of further values, counted on behind those of `labels`: a configuration may have one, but no walk of the space comes by it.
    #[serde(default)]
    pub further: Vec<Name>,
}

impl Knob {
    /// The names of all values, those of the space first.
    pub fn names(&self) -> impl Iterator<Item = &Name> {
        self.labels.iter().chain(&self.further)
    }

    /// Whether a configuration may have a value, a further one or one of the space.
    pub fn knows(&self, value: i32) -> bool {
        let further = self.labels.len()..self.labels.len() + self.further.len();
        self.values.contains(&value) || usize::try_from(value).is_ok_and(|value| further.contains(&value))
    }
}

/// A knob's value as people see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum KnobValue {
    /// A number.
    Number(i32),
    /// A label.
    Label(Name),
}

impl std::fmt::Display for KnobValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(n) => write!(f, "{n}"),
            Self::Label(l) => f.write_str(l),
        }
    }
}

impl Space {
    /// A configuration as an object with named values.
    pub fn describe(&self, config: &Config) -> BTreeMap<Name, KnobValue> {
        self.knobs
            .iter()
            .zip(&config.0)
            .map(|(knob, &value)| {
                let shown = match knob.names().nth(value as usize) {
                    Some(label) => KnobValue::Label(label.clone()),
                    None => KnobValue::Number(value),
                };
                (knob.name.clone(), shown)
            })
            .collect()
    }
    /// The configuration that an object of named values describes; `None` where a knob is missing or a value unknown.
    pub fn parse(&self, values: &BTreeMap<Name, KnobValue>) -> Option<Config> {
        let value = |knob: &Knob| match values.get(&knob.name)? {
            KnobValue::Number(n) => knob.values.contains(n).then_some(*n),
            KnobValue::Label(l) => knob.names().position(|x| x == l).map(|i| i as i32),
        };
        self.knobs.iter().map(value).collect::<Option<_>>().map(Config)
    }
    /// The same of an object that was made before there were some of the knobs, each of which has `none` or 1 as its first value: by that a
    /// kernel is what it was. `None` of an object with words of other spaces.
    pub fn parse_earlier(&self, values: &BTreeMap<Name, KnobValue>) -> Option<Config> {
        let neutral = |knob: &&Knob| knob.labels.first().map_or(knob.values.first() == Some(&1), |label| &**label == "none");
        let first = |knob: &Knob| Some((knob.name.clone(), KnobValue::Number(*knob.values.first()?)));
        let mut all: BTreeMap<Name, KnobValue> = self.knobs.iter().filter(neutral).filter_map(first).collect();
        let known = values.keys().all(|name| self.knobs.iter().any(|knob| knob.name == *name));
        all.extend(values.iter().map(|(name, value)| (name.clone(), value.clone())));
        known.then(|| self.parse(&all)).flatten()
    }
    /// Every combination of values of some knobs, legal or not, the last one's changing fastest.
    pub fn combine(knobs: &[Knob]) -> impl Iterator<Item = Vec<i32>> + '_ {
        let mut next = knobs.iter().all(|knob| !knob.values.is_empty()).then(|| vec![0; knobs.len()]);
        std::iter::from_fn(move || {
            let at = next.as_mut()?;
            let values = at.iter().zip(knobs).map(|(&i, knob)| knob.values[i]).collect();
            let turned = at.iter_mut().zip(knobs).rev().any(|(i, knob)| {
                *i = (*i + 1) % knob.values.len();
                *i != 0
            });
            if !turned {
                next = None;
            }
            Some(values)
        })
    }
    /// How many combinations of values there are, legal or not.
    pub fn combinations(&self) -> u64 {
        self.knobs.iter().map(|k| k.values.len() as u64).product()
    }
}

/// A schedule whose knobs are still open: legality and an outline of what a kernel does are functions of the knobs, so that thousands of
/// configurations are judged without lowering. The Kernel itself is derived from the Program.
///
/// Property, tested on random draws: `outline` stands for `kernel`, which is derived from the lowered Program.
pub trait Family: Sync {
    /// The name its Programs get.
    fn name(&self) -> &Name;
    /// Its knobs.
    fn space(&self) -> &Space;
    /// Every legal configuration in a fixed order, before any device is considered; each is made when it is asked for.
    fn configs(&self) -> Box<dyn Iterator<Item = Config> + '_>;
    /// What the models see of one legal configuration.
    ///
    /// # Panics
    /// Where the configuration is not of the Family, or what it lowers to is not affine: defects, as [`LowerError`]s are.
    fn kernel(&self, config: &Config) -> Kernel {
        let program = self.lower(config).unwrap_or_else(|error| panic!("{error}"));
        let kernel = Kernel::of(&program).unwrap_or_else(|error| panic!("configuration {config:?} of `{}`: {error}", self.name()));
        Kernel { known: self.known(), ..kernel }
    }
    /// Which tensors are known before any kernel runs ([`Kernel::known`]): Programs do not say.
    fn known(&self) -> Vec<u16> {
        vec![]
    }
    /// What [`kernel`](Self::kernel) is, as coarse counts need it, for a fraction of the work: accesses of a straight-line block that differ in constants only are one
    /// or two, at the least and the greatest of these, which stand for all of them.
    fn outline(&self, config: &Config) -> Kernel;
    /// The Program of one legal configuration, coordinates not yet linearised.
    fn lower(&self, config: &Config) -> Result<Checked, LowerError>;
}

/// Why a configuration could not be lowered; each is a defect of the Family, not of the user's input.
#[derive(Debug, thiserror::Error)]
pub enum LowerError {
    /// The configuration does not belong to the family's space, or is not legal.
    #[error("configuration {0:?} is not legal in family `{1}`")]
    NotLegal(Config, Name),
    /// The lowered Program breaks a rule.
    #[error("step `{step}` made an invalid program: {source}")]
    Invalid {
        /// The lowering step.
        step: &'static str,
        /// What is wrong.
        source: crate::validate::Invalid,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_from_before_a_knob() {
        let number = |name: &str, values: &[i32]| Knob { name: name.into(), values: values.to_vec(), labels: vec![], further: vec![] };
        let labelled = |name: &str, labels: &[&str]| Knob {
            name: name.into(),
            values: (0..labels.len() as i32).collect(),
            labels: labels.iter().map(|label| (*label).into()).collect(),
            further: vec![],
        };
        let space = Space {
            knobs: vec![
                number("tile", &[1, 2]),
                labelled("order", &["k", "m"]),
                labelled("ahead", &["none", "trip"]),
                number("trips", &[1, 4]),
            ],
        };
        let words = |pairs: &[(&str, &str)]| -> BTreeMap<Name, KnobValue> {
            let value = |text: &str| text.parse().map_or(KnobValue::Label(text.into()), KnobValue::Number);
            pairs.iter().map(|(name, text)| ((*name).into(), value(text))).collect()
        };
        let old = words(&[("tile", "2"), ("order", "m")]);
        assert_eq!((space.parse(&old), space.parse_earlier(&old)), (None, Some(Config(vec![2, 1, 0, 1]))));
        let new = words(&[("tile", "2"), ("order", "m"), ("ahead", "trip"), ("trips", "4")]);
        assert_eq!((space.parse(&new), space.parse_earlier(&new)), (Some(Config(vec![2, 1, 1, 4])), Some(Config(vec![2, 1, 1, 4]))));
        // Some order there always was; words of another space are not taken for this one's.
        assert_eq!(space.parse_earlier(&words(&[("tile", "2")])), None);
        assert_eq!(space.parse_earlier(&words(&[("tile", "2"), ("order", "m"), ("place_total", "buffer")])), None);
    }
}
