//! Reading a profile's text, and those that it inherits from.

use super::Profile;
use super::builtin::{builtin_names, builtin_text};
use super::check::{Against, Refused};
use crate::near::{did_you_mean, explained};
use serde::Deserialize;
use std::borrow::Cow;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Deserializer};

/// Profiles that may stand behind each other.
const DEEPEST: usize = 16;
/// The key that names what all that a file leaves out is taken from.
const INHERITS: &str = "inherits";
/// The key of the version of the form that a text is written in; a text that says none is of the first.
pub(super) const VERSION: &str = "version";
/// The newest version that is known here.
pub(super) const NEWEST: i64 = 1;

/// What is wrong with a profile's text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.said())]
pub struct ProfileError {
    /// What is wrong.
    pub what: String,
    /// The field, by its path.
    pub field: Option<String>,
    /// Where.
    pub place: Option<Box<Place>>,
}

/// A place in a profile's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The text.
    pub text: Text,
    /// The part that is wrong, in bytes.
    pub at: Range<usize>,
}

/// A profile's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// What errors call it, and by what it is known again where profiles inherit in a circle: a built-in profile's name, or a file's path.
    pub name: String,
    /// As it is written.
    pub text: Cow<'static, str>,
}

impl ProfileError {
    fn said(&self) -> String {
        let place = self.place.as_ref().map(|place| {
            let (line, column) = place.line_and_column();
            if place.text.name.is_empty() {
                format!("line {line}, column {column}: ")
            } else {
                format!("{}:{line}:{column}: ", place.text.name)
            }
        });
        format!("{}{}", place.unwrap_or_default(), self.sentence())
    }

    /// What is wrong with which field, without the place.
    pub fn sentence(&self) -> String {
        match &self.field {
            Some(field) => format!("`{field}`: {}", self.what),
            None => self.what.clone(),
        }
    }
}

impl Place {
    /// Both from 1; columns count characters.
    pub fn line_and_column(&self) -> (usize, usize) {
        let before = &self.text.text[..self.text.text.floor_char_boundary(self.at.start)];
        let line = before.rfind('\n').map_or(0, |newline| newline + 1);
        (before.matches('\n').count() + 1, before[line..].chars().count() + 1)
    }
}

/// Whether `inherits`, or an option, means a file and no built-in profile.
pub fn is_file(name: &str) -> bool {
    name.contains('/') || name.ends_with(".toml")
}

/// The built-in profile of that name, in whatever case; `None` where there is none. An error is a defect of the text, which tests exclude.
pub fn builtin(name: &str) -> Option<Result<Profile, ProfileError>> {
    built_in(name).map(|text| Profile::read(text, &mut none))
}

/// The profile that a simulated device of that name is judged by: what a probe found of it, unless what is published of the real one says how many
/// groups a core holds. Of phones nobody publishes that, nor the time of a barrier, nor much else that a probe finds.
pub fn of_simulated(name: &str) -> Option<Result<Profile, ProfileError>> {
    let published = builtin(name);
    let enough = matches!(&published, Some(Ok(own)) if own.execution.max_groups.get().is_some());
    let probed = if enough { None } else { builtin(&format!("sim-{name}")) };
    probed.or(published)
}

fn built_in(name: &str) -> Option<Text> {
    builtin_text(name).map(|(name, text)| Text { name: name.to_owned(), text: text.into() })
}

/// Finds no file: for texts that are no files themselves.
fn none(_: &str, _: &str) -> Result<Text, String> {
    Err("only a file can inherit from files".to_owned())
}

impl Profile {
    /// Reads the text form. What it inherits from is built in; see [`read`](Self::read).
    ///
    /// # Errors
    /// Those of [`read`](Self::read).
    pub fn parse(text: &str) -> Result<Self, ProfileError> {
        Self::read(Text { name: String::new(), text: text.to_owned().into() }, &mut none)
    }

    /// Reads the text form, of any version up to the newest that is known here. Where it says `inherits = "a40"`, all that it leaves out is what the profile of that name says, with that name
    /// before each source; `inherits = "mine.toml"` means a file, which is found by its path and the name of the text that inherits.
    ///
    /// # Errors
    /// With field, line and column where they are known: text that is no profile, or one of a newer version; a number that is not finite, not positive (a launch
    /// overhead, a lookup of pages and reserved local memory may be 0), of a size that no device has, of another unit, or outside its own interval; profiles
    /// that are not there or inherit in a circle.
    pub fn read(text: Text, find: &mut dyn FnMut(&str, &str) -> Result<Text, String>) -> Result<Self, ProfileError> {
        let chain = chain(text, find)?;
        let mut behind: Option<DeTable> = None;
        let mut found = None;
        for text in chain.iter().rev() {
            let (profile, stated) = with(text, behind)?;
            (found, behind) = (Some(profile), Some(stated));
        }
        found.ok_or_else(|| ProfileError { what: "no text".to_owned(), field: None, place: None })
    }
}

/// A text, what it inherits from, and so on.
fn chain(text: Text, find: &mut dyn FnMut(&str, &str) -> Result<Text, String>) -> Result<Vec<Text>, ProfileError> {
    let mut chain = vec![text];
    while let Some(text) = chain.last() {
        let wrong = |what: String, at| Err(error(text, what, Some(INHERITS.to_owned()), Some(at)));
        let root = parsed(text)?;
        known_version(text, root.get_ref())?;
        let Some(base) = root.get_ref().get(INHERITS) else { break };
        let Some(name) = base.get_ref().as_str() else {
            return wrong("this is no name of a profile, nor of a file".to_owned(), base.span());
        };
        let next = match built_in(name) {
            _ if is_file(name) => find(name, &text.name),
            Some(next) => Ok(next),
            None => Err(format!("there is no profile `{name}`{}", did_you_mean(name, builtin_names()))),
        };
        let next = match next {
            Ok(next) => next,
            Err(what) => return wrong(what, base.span()),
        };
        if let Some(first) = chain.iter().position(|own| own.name == next.name) {
            let circle: Vec<&str> = chain[first..].iter().chain([&next]).map(|own| own.name.as_str()).collect();
            return wrong(format!("profiles inherit in a circle: {}", circle.join(" → ")), base.span());
        }
        if chain.len() == DEEPEST {
            return wrong(format!("more than {DEEPEST} profiles inherit from each other"), base.span());
        }
        chain.push(next);
    }
    Ok(chain)
}

/// A newer version may say the same in words that are not known here: that it is newer is what is wrong, not those.
fn known_version(text: &Text, root: &DeTable) -> Result<(), ProfileError> {
    let Some(said) = root.get(VERSION) else { return Ok(()) };
    let wrong = |what: String| Err(error(text, what, Some(VERSION.to_owned()), Some(said.span())));
    let number = said.get_ref().as_integer().and_then(|number| i64::from_str_radix(number.as_str(), number.radix()).ok());
    match number {
        Some(1..=NEWEST) => Ok(()),
        Some(newer) if newer > NEWEST => wrong(format!(
            "this profile is of version {newer}, and this program knows version {NEWEST} and older ones: a newer warpsight reads it"
        )),
        _ => wrong("this is no version: a whole number from 1".to_owned()),
    }
}

/// The profile of a text before what is behind it, and the same as a table whose facts name who states them.
fn with<'t>(text: &'t Text, behind: Option<DeTable<'t>>) -> Result<(Profile, DeTable<'t>), ProfileError> {
    let parsed = parsed(text)?;
    let span = parsed.span();
    let mut own = parsed.into_inner();
    own.remove(VERSION);
    if let Some(base) = own.remove(INHERITS) {
        named(&mut own, text, base.get_ref().as_str().unwrap_or_default())
            .map_err(|what| error(text, what, Some("name".to_owned()), Some(base.span())))?;
    }
    let place = own.clone();
    let mut stated = own.clone();
    if let Some(behind) = behind {
        fill(&mut own, behind.clone());
        mark_all(&mut stated);
        fill(&mut stated, behind);
    } else {
        mark_all(&mut stated);
    }
    let profile = Profile::deserialize(Deserializer::from(Spanned::new(span, own))).map_err(|wrong| {
        let at = wrong.span();
        let field = at.as_ref().and_then(|at| path(&place, at.start));
        // What is wrong with no fact is wrong with the whole.
        let of_fact = field.as_ref().is_some_and(|field| field.contains('.'));
        let what = format!("{}{}", if of_fact { "" } else { "not a profile: " }, explained(wrong.message()));
        error(text, what, field, at)
    })?;
    profile.check_numbers(Against::Unheard).map_err(|Refused { field, value, why }| {
        let what = format!("this is {value}, which is {why}");
        let at = value_of(&place, &field);
        error(text, what, Some(field), at)
    })?;
    Ok((profile, stated))
}

/// What a profile that inherits does not take over: its name, which is that of its file if it says none, and what it is in words.
fn named(own: &mut DeTable, text: &Text, base: &str) -> Result<(), String> {
    let put = |own: &mut DeTable, key: &'static str, value: String| {
        own.insert(Spanned::new(0..0, Cow::Borrowed(key)), Spanned::new(0..0, DeValue::String(Cow::Owned(value))));
    };
    if !own.contains_key("name") {
        let stem = text.name.rsplit('/').next().and_then(|file| file.strip_suffix(".toml")).filter(|stem| !stem.is_empty());
        put(own, "name", stem.ok_or("a profile that inherits has a name of its own")?.to_owned());
    }
    if !own.contains_key("description") {
        put(own, "description", format!("as {base}, but for what {} says", if text.name.is_empty() { "its text" } else { &text.name }));
    }
    Ok(())
}

fn parsed(text: &Text) -> Result<Spanned<DeTable<'_>>, ProfileError> {
    DeTable::parse(&text.text).map_err(|wrong| error(text, format!("not a profile: {}", wrong.message()), None, wrong.span()))
}

fn error(text: &Text, what: String, field: Option<String>, at: Option<Range<usize>>) -> ProfileError {
    // What is wrong with all of it begins where it begins.
    ProfileError { what, field, place: Some(Box::new(Place { text: text.clone(), at: at.unwrap_or(0..0) })) }
}

/// Puts in what a table lacks. A fact is one thing: of one that is there, nothing is put in.
fn fill<'t>(own: &mut DeTable<'t>, behind: DeTable<'t>) {
    for (key, value) in behind {
        match (own.get_mut(key.get_ref().as_ref()).map(Spanned::get_mut), value.get_ref()) {
            (None, _) => {
                own.insert(key, value);
            }
            (Some(DeValue::Table(there)), DeValue::Table(table)) if !is_fact(table) => fill(there, table.clone()),
            _ => {}
        }
    }
}

fn is_fact(table: &DeTable) -> bool {
    ["value", "absent", "unknown"].iter().any(|key| table.contains_key(*key))
}

/// Says before each source whose it is.
fn mark_all(table: &mut DeTable) {
    let Some(name) = table.get("name").and_then(|name| name.get_ref().as_str().map(str::to_owned)) else { return };
    mark(table, &name);
}

fn mark(table: &mut DeTable, name: &str) {
    let fact = is_fact(table);
    table.iter_mut().for_each(|(key, value)| match value.get_mut() {
        DeValue::String(said) if fact && ["cite", "absent", "unknown"].contains(&key.get_ref().as_ref()) => {
            *said = format!("{name}: {said}").into();
        }
        DeValue::Table(inner) => mark(inner, name),
        DeValue::Array(claims) if fact => claims.iter_mut().for_each(|claim| {
            if let DeValue::Table(claim) = claim.get_mut() {
                mark(claim, name);
            }
        }),
        _ => {}
    });
}

/// The path of what stands at a place: a fact's, or a key's that is in none.
fn path(table: &DeTable, at: usize) -> Option<String> {
    table.iter().find_map(|(key, value)| {
        let inside = |span: Range<usize>| (span.start..span.end.max(span.start + 1)).contains(&at);
        let name = key.get_ref();
        match value.get_ref() {
            DeValue::Table(inner) if is_fact(inner) => {
                (inside(value.span()) || inside(key.span()) || path(inner, at).is_some()).then(|| name.to_string())
            }
            DeValue::Table(inner) => match path(inner, at) {
                Some(path) => Some(format!("{name}.{path}")),
                None => inside(key.span()).then(|| name.to_string()),
            },
            _ => (inside(value.span()) || inside(key.span())).then(|| name.to_string()),
        }
    })
}

/// Where the value of a fact stands.
fn value_of(table: &DeTable, field: &str) -> Option<Range<usize>> {
    let mut here = table;
    for key in field.split('.') {
        let DeValue::Table(inner) = here.get(key)?.get_ref() else { return None };
        here = inner;
    }
    here.get("value").map(Spanned::span)
}
