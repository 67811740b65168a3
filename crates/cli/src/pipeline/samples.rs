//! Seconds of stages that were sampled, in place of a model's: the second pass of paper 003, section 5.3.
//!
//! A stage's sample is one of kind `pipeline` whose text is [`key`] of the stage (`--json` prints it), whose configuration is
//! `{"ctas": N}` and whose times are of one execution on N work-groups.

use crate::failure::Failure;
use crate::record::StoreArgs;
use crate::target;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use warpsight_dataflow::rates::key;
use warpsight_ir::sample::{NoTime, median, time};
use warpsight_ir::{Profile, Seconds, StageWork, Status, SubjectKind, TimeSource};
use warpsight_learn::Filter;

/// What a store knows of stages on a device.
#[derive(Default)]
pub struct Sampled {
    /// By key: seconds at numbers of work-groups.
    pub table: BTreeMap<String, BTreeMap<u32, Seconds>>,
    /// By key: whether the least trustworthy of them was simulated.
    sources: BTreeMap<String, TimeSource>,
}

#[derive(Deserialize)]
struct Config {
    ctas: u32,
}

impl Sampled {
    /// Reads a store; a device counts where its name says the profile's.
    pub fn read(file: &Path, profile: &Profile) -> Result<Self, Failure> {
        // A store that is not there would be made.
        std::fs::metadata(file).map_err(|error| Failure::io(file, &error))?;
        let store = StoreArgs { store: Some(file.to_owned()) }.open_store()?;
        let mut found = Self::default();
        for stored in store.samples(Filter::default())? {
            let sample = stored.sample;
            let device = sample.device.name == profile.name || target::names(&sample.device.name, &profile.name);
            if sample.kind != SubjectKind::Pipeline || sample.status != Status::Done || !device {
                continue;
            }
            // Samples of whole pipelines have other configurations.
            let Ok(Config { ctas }) = serde_json::from_str(&sample.config) else { continue };
            let Some(seconds) = median(&sample.times).filter(|_| ctas > 0) else { continue };
            let wrong = |bad: NoTime| Failure::input(format!("a sample on {ctas} work-groups: {bad}")).at(file.display().to_string());
            sample.times.iter().try_for_each(|own| time(own.0).map(drop)).map_err(wrong)?;
            // Samples come oldest first: the newest stays.
            found.table.entry(sample.text.clone()).or_default().insert(ctas, seconds);
            let source = found.sources.entry(sample.text).or_insert(sample.source);
            if sample.source != TimeSource::Measured {
                *source = sample.source;
            }
        }
        Ok(found)
    }

    /// Where the seconds of a stage come from.
    pub fn source(&self, stage: &StageWork) -> TimeSource {
        self.sources.get(&key(stage)).copied().unwrap_or(TimeSource::Predicted)
    }
}
