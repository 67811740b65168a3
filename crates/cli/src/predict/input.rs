//! Files, devices and options of `predict`, and what is wrong with them.

use crate::failure::Failure;
use crate::report::{clean, note};
use crate::target::profiles;
use std::ops::Range;
use std::path::Path;
use std::str::FromStr;
use warpsight_ir::accesses::text::{Document, TextError, Written};
use warpsight_ir::near::did_you_mean;
use warpsight_ir::profile::{EditError, Edited};
use warpsight_ir::{NoEstimate, Profile};

/// `key=value`.
#[derive(Clone, Debug)]
pub struct Setting {
    pub key: String,
    pub value: String,
}

impl FromStr for Setting {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((key, value)) if !key.trim().is_empty() => Ok(Self { key: key.trim().to_owned(), value: value.trim().to_owned() }),
            _ => Err("this is not of the form KEY=VALUE".to_owned()),
        }
    }
}

/// A kernel as it was read.
pub struct Input {
    /// The file.
    pub name: String,
    text: String,
    /// The same, read once.
    pub document: Document,
    /// What was set from outside.
    pub settings: Vec<(String, String)>,
    /// What it says.
    pub written: Written,
}

impl Input {
    /// Reads a file, or standard input.
    pub fn read(file: &Path, settings: &[Setting]) -> Result<Self, Failure> {
        let name = warpsight_files::name(file).display().to_string();
        let text = warpsight_files::text(file, warpsight_files::read_or_stdin(file, warpsight_files::TEXT)?)?;
        let settings: Vec<_> = settings.iter().map(|own| (own.key.clone(), own.value.clone())).collect();
        let read = Document::read(&text).and_then(|document| Ok((document.written(&settings)?, document)));
        match read {
            Ok((written, document)) => Ok(Self { name, text, document, settings, written }),
            Err(error) => Err(wrong(&name, &text, error)),
        }
    }

    /// The text as it was read.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What is wrong with it, at its place.
    pub fn wrong(&self, error: TextError) -> Failure {
        wrong(&self.name, &self.text, error)
    }

    /// Why there is no prediction on a device, at the place in the file that it is about.
    pub fn refused(&self, error: &NoEstimate, device: &Device) -> Failure {
        let what = format!("{}: {error}", device.name);
        let failure = match error {
            NoEstimate::Missing { .. } => return Failure::input(what).help("a profile with this number, or another device"),
            NoEstimate::CannotRun(_) => {
                Failure::input(what).help("a smaller block, fewer registers or less local memory, or another device")
            }
            NoEstimate::NotCovered(_) => Failure::input(what),
        };
        match self.place(&error.to_string()) {
            Some(at) => failure.excerpt(&self.name, &self.text, at, None),
            None => failure.at(&self.name),
        }
    }

    /// The key a refusal is about: a field that it names, the registers, or else the block.
    fn place(&self, error: &str) -> Option<Range<usize>> {
        let places = &self.written.places;
        let tensors = self.written.kernel.accesses.tensors.iter().zip(&places.fields);
        let named = tensors.into_iter().find(|(tensor, _)| error.contains(&format!("`{}`", tensor.name))).map(|(_, at)| at.clone());
        let registers = places.registers.clone().filter(|_| error.contains("registers"));
        named.or(registers).or_else(|| places.block.clone())
    }
}

fn wrong(name: &str, text: &str, TextError { what, label, help, at }: TextError) -> Failure {
    let mut failure = Failure::input(what);
    failure.help = help;
    match at {
        Some(at) => failure.excerpt(name, text, at, label),
        None => failure.at(name),
    }
}

/// A profile to predict with, as it was asked for.
pub struct Device {
    /// The profile's name; where several have one name, the argument.
    pub name: String,
    /// Overridden numbers in place.
    pub profile: Profile,
    /// What was overridden.
    pub notes: Vec<String>,
    /// Those of the notes that are to be heard.
    pub unlikely: Vec<String>,
}

impl Device {
    /// Says what is unlikely about it, beside results.
    pub fn say(&self) {
        self.unlikely.iter().for_each(|what| note(format_args!("note: {}: {}", self.name, clean(what))));
    }
}

/// Profiles by name or file; all that are unknown are named.
pub fn devices(names: &[String], overrides: &[Setting]) -> Result<Vec<Device>, Failure> {
    let known = profiles::profiles();
    let unknown: Vec<String> = names
        .iter()
        .filter(|name| !profiles::is_known(name))
        .map(|name| format!("`{name}`{}", did_you_mean(name, known.iter().copied())))
        .collect();
    if !unknown.is_empty() {
        let what = if unknown.len() == 1 { "there is no device" } else { "there are no devices" };
        let help = format!("known are {}, and files that end with .toml", known.join(", "));
        return Err(Failure::input(format!("{what} {}", unknown.join(", "))).help(help));
    }
    let mut found: Vec<Device> = Vec::new();
    for argument in names.iter().enumerate().filter(|(at, name)| !names[..*at].contains(name)).map(|(_, name)| name) {
        let Edited { profile, mut notes, unlikely } = overridden(&profiles::profile(argument)?, overrides)?;
        notes.extend(unlikely.iter().cloned());
        let taken = found.iter().any(|other| other.name == profile.name);
        let name = if taken { argument } else { &profile.name }.clone();
        found.push(Device { name, profile, notes, unlikely });
    }
    Ok(found)
}

/// A profile with other numbers, and what they replace.
fn overridden(profile: &Profile, overrides: &[Setting]) -> Result<Edited, Failure> {
    let refused = |error: EditError| {
        let failure = Failure::input(error.to_string()).at("--override");
        match &error {
            EditError::Key { like, .. } if !like.is_empty() => {
                failure.help(format!("did you mean {}?", like.iter().map(|own| format!("`{own}`")).collect::<Vec<_>>().join(" or ")))
            }
            _ => failure.help("for instance l2_effective=40MB, memory.l2.bandwidth=1.4TB/s, execution.clock=1.41GHz"),
        }
    };
    profile.edited(overrides.iter().map(|own| (own.key.as_str(), own.value.as_str()))).map_err(refused)
}
