//! Devices that shaders are predicted for: models that ship, models from files, and calibrations of a user's own devices.

use crate::failure::Failure;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use warpsight_ir::near::did_you_mean;
use warpsight_learn::calibration::Head;
use warpsight_learn::models::Row;
use warpsight_learn::predictor::{Device, Prediction, Predictor, PredictorError};

/// The device where none is named.
const DEFAULT: &str = "lavapipe";

/// Models that ship, by the name of their device.
const SHIPPED: &[(&str, &str)] = &[(DEFAULT, include_str!("../../models/lavapipe.json"))];

/// What is said wherever a time of such a device stands.
pub const SOFTWARE: &str = "a CPU rasteriser: its times are those of a processor's core, not of a GPU";

/// Which devices.
#[derive(clap::Args, Clone)]
pub struct ModelArgs {
    /// Devices that a model ships for; several after commas [default: lavapipe, a CPU rasteriser].
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    device: Vec<String>,
    /// A model that `shader train` wrote; may be repeated.
    #[arg(long, value_name = "FILE")]
    model: Vec<PathBuf>,
    /// A calibration that `shader calibrate` wrote: predictions for the device that it measured; may be repeated.
    #[arg(long, value_name = "FILE")]
    calibration: Vec<PathBuf>,
}

/// A device and its model.
pub struct Target {
    /// What the device is called.
    pub name: String,
    /// Its model, or the one of another device that it was fitted to.
    pub predictor: Arc<Predictor>,
    /// What it adds to that.
    pub head: Option<Head>,
}

impl ModelArgs {
    /// The devices that were asked for.
    pub fn targets(&self) -> Result<Vec<Target>, Failure> {
        let mut names: Vec<&str> = self.device.iter().map(String::as_str).collect();
        if names.is_empty() && self.model.is_empty() && self.calibration.is_empty() {
            names.push(DEFAULT);
        }
        let mut all = names.into_iter().map(shipped).collect::<Result<Vec<_>, _>>()?;
        for file in &self.model {
            all.push(from_file(file)?);
        }
        for file in &self.calibration {
            let text = text(file)?;
            let known: Vec<Arc<Predictor>> = all.iter().map(|target| Arc::clone(&target.predictor)).collect();
            all.push(calibrated(file, &text, known)?);
        }
        Ok(all)
    }
}

/// The model that something is fitted to: one from a file, or the one that ships.
pub fn base(file: Option<&Path>) -> Result<Target, Failure> {
    file.map_or_else(|| shipped(DEFAULT), from_file)
}

/// A calibration, for whichever model it was fitted to: one of those at hand, or one that ships.
fn calibrated(file: &Path, text: &str, known: Vec<Arc<Predictor>>) -> Result<Target, Failure> {
    let shipped = SHIPPED.iter().map(|(name, _)| shipped(name).map(|target| target.predictor));
    let mut refusal = None;
    for predictor in known.into_iter().map(Ok).chain(shipped) {
        let predictor = predictor?;
        match Head::read(text, &predictor) {
            Ok(head) => return Ok(Target { name: head.device.name.clone(), predictor, head: Some(head) }),
            Err(error) => refusal = refusal.or(Some(error)),
        }
    }
    let failure = match refusal {
        Some(error) => Failure::input(error.to_string()),
        None => Failure::input("no model is at hand that it could belong to"),
    };
    Err(failure.at(file.display().to_string()).help("`shader calibrate` makes it anew; --model FILE names the model that it belongs to"))
}

/// The model that ships for a device.
fn shipped(name: &str) -> Result<Target, Failure> {
    let Some((name, text)) = SHIPPED.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)) else {
        let names: Vec<&str> = SHIPPED.iter().map(|(own, _)| *own).collect();
        let failure = Failure::input(format!(
            "no model ships for `{name}`; there are {}{}",
            names.join(", "),
            did_you_mean(name, names.iter().copied())
        ))
        .at("--device");
        return Err(failure.help(
            "`shader calibrate` fits one of them to a device, `shader train` learns from measurements; --model FILE takes such a file",
        ));
    };
    let predictor = Predictor::read(text).map_err(|e| refused(Path::new(name), &e))?;
    Ok(Target { name: (*name).to_owned(), predictor: Arc::new(predictor), head: None })
}

fn from_file(file: &Path) -> Result<Target, Failure> {
    let predictor = Predictor::read(&text(file)?).map_err(|e| refused(file, &e))?;
    Ok(Target { name: predictor.device.name.clone(), predictor: Arc::new(predictor), head: None })
}

fn text(file: &Path) -> Result<String, Failure> {
    Ok(warpsight_files::read_text(file, warpsight_files::RECORDS)?)
}

fn refused(file: &Path, error: &PredictorError) -> Failure {
    let failure = Failure::input(error.to_string()).at(file.display().to_string());
    match error {
        PredictorError::Format { .. } => failure.help("`shader train` of this version makes it anew"),
        _ => failure,
    }
}

impl Target {
    /// What a frame takes.
    pub fn predict(&self, row: &Row) -> Prediction {
        match &self.head {
            Some(head) => head.predict(&self.predictor, row),
            None => self.predictor.predict(row),
        }
    }

    /// The device.
    pub fn device(&self) -> &Device {
        self.head.as_ref().map_or(&self.predictor.device, |head| &head.device)
    }

    /// Whether the device is a CPU that rasterises.
    pub fn is_software(&self) -> bool {
        self.device().software
    }

    /// The name, with what must be known of the device.
    pub fn title(&self) -> String {
        let fitted = self.head.as_ref().map(|head| {
            let (from, shots, error) = (&self.predictor.device.name, head.shots.len(), 100.0 * head.error());
            format!("{shots} shaders measured there fitted to the model for {from}, those left out are off by {error:.0} %")
        });
        let notes: Vec<String> = self.is_software().then(|| SOFTWARE.to_owned()).into_iter().chain(fitted).collect();
        if notes.is_empty() { self.name.clone() } else { format!("{} ({})", self.name, notes.join("; ")) }
    }
}
