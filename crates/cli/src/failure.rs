//! What went wrong, for the person who reads it, and the exit code that says which kind it was.

mod excerpt;

use crate::report::clean::{clean, clean_json, clean_lines};
use excerpt::{Excerpt, shortened};
use miette::{Diagnostic, GraphicalReportHandler, LabeledSpan, SourceCode};
use std::io::Write;
use std::ops::Range;
use std::path::Path;
use warpsight_engine::EngineError;
use warpsight_files::FileError;
use warpsight_learn::StoreError;
use warpsight_learn::models::FitError;
use warpsight_run::{Device, DeviceError};

/// The kinds of failure, each with an exit code of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Bad input or usage.
    Input,
    /// Device or driver.
    Device,
    /// No kernel gave right results.
    NothingVerified,
    /// A file could not be read or written.
    Io,
    /// A comparison came out against what was asked for.
    Slower,
    /// Two that were compared are not the same.
    Different,
    /// The user stopped it.
    Interrupted,
}

/// A failure of a verb.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// Its kind.
    pub kind: Kind,
    /// What is wrong.
    pub message: String,
    /// The file, node or option.
    pub place: Option<String>,
    /// What to do.
    pub help: Option<String>,
    /// The part of a text file that is wrong.
    excerpt: Option<Box<Excerpt>>,
}

impl Diagnostic for Failure {
    fn code<'a>(&'a self) -> Option<Box<dyn std::fmt::Display + 'a>> {
        // An excerpt says it by itself.
        self.place.as_ref().filter(|_| self.excerpt.is_none()).map(|p| Box::new(p) as _)
    }
    fn help<'a>(&'a self) -> Option<Box<dyn std::fmt::Display + 'a>> {
        self.help.as_ref().map(|h| Box::new(h) as _)
    }
    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.excerpt.as_deref().map(|excerpt| excerpt as _)
    }
    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let excerpt = self.excerpt.as_ref()?;
        let label = LabeledSpan::new(Some(excerpt.label.clone()), excerpt.at.start, excerpt.at.len());
        Some(Box::new(std::iter::once(label)))
    }
}

impl Failure {
    /// A failure without place or help.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: shortened(&message.into()), place: None, help: None, excerpt: None }
    }
    /// Bad input.
    pub fn input(message: impl Into<String>) -> Self {
        Self::new(Kind::Input, message)
    }
    /// A file that could not be read or written.
    pub fn io(path: &Path, error: &std::io::Error) -> Self {
        Self::new(Kind::Io, error.to_string()).at(path.display().to_string())
    }
    /// Says where.
    pub fn at(mut self, place: impl Into<String>) -> Self {
        self.place = Some(place.into());
        self
    }
    /// Shows the part of a text file that is wrong, in bytes.
    pub fn excerpt(mut self, file: &str, text: &str, at: Range<usize>, label: Option<String>) -> Self {
        let excerpt = Excerpt::new(file, text, at, label);
        self.place = Some(excerpt.position());
        self.excerpt = Some(Box::new(excerpt));
        self
    }
    /// Says what to do.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
    /// The exit code of its kind.
    pub fn exit_code(&self) -> u8 {
        match self.kind {
            Kind::Slower | Kind::Different => 1,
            Kind::Input => 2,
            Kind::Device => 3,
            Kind::NothingVerified => 4,
            Kind::Io => 5,
            Kind::Interrupted => 130,
        }
    }
    fn kind_name(&self) -> &'static str {
        match self.kind {
            Kind::Input => "input",
            Kind::Device => "device",
            Kind::NothingVerified => "nothing_verified",
            Kind::Io => "io",
            Kind::Slower => "slower",
            Kind::Different => "different",
            Kind::Interrupted => "interrupted",
        }
    }
    /// The file, node or option, with line and column where they are known.
    pub fn position(&self) -> Option<&str> {
        self.place.as_deref()
    }
    /// As JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::json!({"error": {"kind": self.kind_name(), "message": self.message, "where": self.position()}})
    }
    /// Prints it on stderr.
    pub fn print(&self, json: bool) {
        let mut text = String::new();
        if json {
            text = format!("{}\n", clean_json(&self.json().to_string()));
        } else {
            // Cleaned before it is drawn: drawing itself colours a terminal.
            let message = clean_lines(&self.message).into_owned();
            let place = self.place.as_deref().map(|place| clean(place).into_owned());
            let help = self.help.as_deref().map(|help| clean_lines(help).into_owned());
            let shown = Self { kind: self.kind, message, place, help, excerpt: self.excerpt.clone() };
            if GraphicalReportHandler::new().render_report(&mut text, &shown).is_err() {
                text = format!("error: {shown}\n");
            }
        }
        // Where even that cannot be said, the exit code says it.
        let _ = std::io::stderr().write_all(text.as_bytes());
    }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        let kind = if matches!(error, FileError::Io { .. }) { Kind::Io } else { Kind::Input };
        Self::new(kind, error.to_string()).at(error.path().display().to_string())
    }
}

impl From<DeviceError> for Failure {
    fn from(error: DeviceError) -> Self {
        let failure = Self::new(Kind::Device, error.to_string());
        match error {
            DeviceError::NoDevice { .. } => failure.help("`warpsight devices` lists what is found and why platforms are skipped"),
            DeviceError::Limit { .. } => failure.help("choose a device with larger limits, or a smaller problem"),
            DeviceError::NoHalves { .. } => {
                let all = warpsight_run::sim::Sim::all();
                let ids: Vec<&str> = all.iter().map(|sim| sim.info()).filter(|info| info.limits.f16).map(|info| &*info.id).collect();
                failure.help(format!(
                    "of the simulated devices these have it: {}; `warpsight devices` says which of the others do. dtype=f16s stores halves and \
                     computes in f32, as every device can",
                    ids.join(", ")
                ))
            }
            _ => failure,
        }
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Device(error) => error.into(),
            EngineError::NothingVerified { ref name, .. } => {
                let failure = Self::new(Kind::NothingVerified, error.to_string()).at(name.clone());
                if failure.message.contains("failed here before") { failure.help("--again tries them once more") } else { failure }
            }
            EngineError::NoPlace { .. } => Self::new(Kind::NothingVerified, error.to_string()),
            EngineError::Store(message) => Self::new(Kind::Io, message),
            EngineError::Interrupted => Self::new(Kind::Interrupted, error.to_string())
                .help("samples taken so far are kept; an exhaustive search goes on where it stopped"),
            other => Self::input(other.to_string()),
        }
    }
}

impl From<FitError> for Failure {
    fn from(error: FitError) -> Self {
        let said = error.to_string();
        match error {
            FitError::Device(_) => Self::new(Kind::Device, said).help("--processor cpu trains on this machine's cores"),
            FitError::Stopped(_) => Self::new(Kind::Interrupted, said),
            FitError::Words { .. } => Self::input(said).help("give --corpus and --shots"),
            FitError::Empty | FitError::NotMeasured { .. } => Self::input(said).help("`shader profile` measures shaders"),
            _ => Self::input(said),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::new(Kind::Io, error.to_string()).help("--store FILE names another store")
    }
}
