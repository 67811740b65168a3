//! Devices that shaders are predicted for: models that ship, models from files, and calibrations of a user's own devices.

use crate::failure::Failure;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use warpsight_learn::shader::models::Row;
use warpsight_learn::shader::predictor::{Prediction, Predictor, PredictorError};

/// Models that ship, by the name of their device.
const SHIPPED: &[(&str, &str)] = &[];

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
}

/// A device and its model.
pub struct Target {
    /// What the device is called.
    pub name: String,
    /// Its model.
    pub predictor: Arc<Predictor>,
}

impl ModelArgs {
    /// The devices that were asked for.
    pub fn targets(&self) -> Result<Vec<Target>, Failure> {
        let mut names: Vec<&str> = self.device.iter().map(String::as_str).collect();
        if names.is_empty() && self.model.is_empty() {
            names.push("lavapipe");
        }
        let mut all = names.into_iter().map(shipped).collect::<Result<Vec<_>, _>>()?;
        for file in &self.model {
            all.push(from_file(file)?);
        }
        Ok(all)
    }
}

/// The model that ships for a device.
fn shipped(name: &str) -> Result<Target, Failure> {
    let Some((name, text)) = SHIPPED.iter().find(|(own, _)| *own == name) else {
        let names: Vec<&str> = SHIPPED.iter().map(|(own, _)| *own).collect();
        let failure = Failure::input(format!("no model ships for `{name}`; there are {}", names.join(", "))).at("--device");
        return Err(failure.help(
            "`shader calibrate` fits one of them to a device, `shader train` learns from measurements; --model FILE takes such a file",
        ));
    };
    let predictor = Predictor::read(text).map_err(|e| refused(Path::new(name), &e))?;
    Ok(Target { name: (*name).to_owned(), predictor: Arc::new(predictor) })
}

fn from_file(file: &Path) -> Result<Target, Failure> {
    let bytes = std::fs::read(file).map_err(|e| Failure::io(file, &e))?;
    let text = String::from_utf8(bytes).map_err(|_| Failure::input("this is not text (UTF-8): no model").at(file.display().to_string()))?;
    let predictor = Predictor::read(&text).map_err(|e| refused(file, &e))?;
    Ok(Target { name: predictor.device.name.clone(), predictor: Arc::new(predictor) })
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
        self.predictor.predict(row)
    }

    /// The name, with what must be known of the device.
    pub fn title(&self) -> String {
        if self.predictor.device.software { format!("{} ({SOFTWARE})", self.name) } else { self.name.clone() }
    }
}
