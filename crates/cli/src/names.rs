//! Options whose values have names: help and completions list them, case does not count, and a slip gets "did you mean".

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Command};
use std::ffi::OsStr;
use std::sync::Arc;
use warpsight_ir::near::pick;

type Read<T> = dyn Fn(&str) -> Result<T, String> + Send + Sync;

/// Reads a value that has one of these names, or another one where the reader takes it.
pub struct Named<T> {
    names: Vec<&'static str>,
    read: Arc<Read<T>>,
}

/// Values with their names.
pub fn named<T: Clone + Send + Sync + 'static>(all: impl Into<Vec<(&'static str, T)>>) -> Named<T> {
    let all: Vec<(&'static str, T)> = all.into();
    let names = all.iter().map(|own| own.0).collect();
    listed(names, move |text| pick(text, all.iter().map(|(name, value)| (*name, value))).cloned())
}

/// Names for a reader that knows what else there is to say.
pub fn listed<T>(names: Vec<&'static str>, read: impl Fn(&str) -> Result<T, String> + Send + Sync + 'static) -> Named<T> {
    Named { names, read: Arc::new(read) }
}

/// Any text: these are names that it may be. Whoever uses it says what is wrong with others.
pub fn suggested(names: Vec<&'static str>) -> Named<String> {
    listed(names, |text| Ok(text.to_owned()))
}

impl<T> Clone for Named<T> {
    fn clone(&self) -> Self {
        Self { names: self.names.clone(), read: Arc::clone(&self.read) }
    }
}

impl<T: Clone + Send + Sync + 'static> TypedValueParser for Named<T> {
    type Value = T;
    fn parse_ref(&self, cmd: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<T, clap::Error> {
        let read = Arc::clone(&self.read);
        TypedValueParser::parse_ref(&move |text: &str| read(text), cmd, arg, value)
    }
    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.names.iter().map(PossibleValue::new)))
    }
}
