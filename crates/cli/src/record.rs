//! Keeps every attempt in the store.

use crate::failure::Failure;
use crate::progress;
use std::collections::BTreeMap;
use std::path::PathBuf;
use warpsight_engine::EngineError;
use warpsight_engine::search::Earlier;
use warpsight_engine::search::guided::Lesson;
use warpsight_engine::tune::{Attempt, Judge};
use warpsight_generate::family::VERSION as SCHEDULES;
use warpsight_generate::{ExprKey, ScheduleFamily};
use warpsight_ir::{
    Checked, Config, Family, Feedback, KnobValue, ModelId, Name, Sample, Seconds, Status, SubjectKind, TimeSource, Times, sample, text,
};
use warpsight_learn::{Filter, RunId, RunInfo, Store, subject_hash};
use warpsight_run::DeviceInfo;

/// Options of every verb that takes samples.
#[derive(clap::Args)]
pub struct StoreArgs {
    /// The file samples are kept in [default: $XDG_DATA_HOME/warpsight/store.sqlite].
    #[arg(long, value_name = "FILE")]
    pub store: Option<PathBuf>,
}

/// Times of a network that are stored, at most: of more, as many in even steps of rank, with the shortest, the middle and the longest.
const KEPT: usize = 1001;

/// An open store and the run that is being recorded.
pub struct Record {
    store: Store,
    run: RunId,
    device: sample::Device,
    model: ModelId,
    source: TimeSource,
    /// Whether a device that is lost says little of the kernel by which it was ([`TargetArgs::is_limited`](crate::target::TargetArgs::is_limited)).
    pub limited: bool,
}

impl StoreArgs {
    /// Opens the store and notes this execution.
    pub fn open(&self, device: &DeviceInfo, model: ModelId) -> Result<Record, Failure> {
        let (store, run) = self.begin()?;
        let device_key = sample::Device { backend: device.backend.clone(), name: device.name.clone(), driver: device.driver.clone() };
        Ok(Record { store, run, device: device_key, model, source: device.clock.unwrap_or(TimeSource::Measured), limited: false })
    }

    /// Opens the store for what compilers say; `toolkit` is which, with versions, and whether it is a stand-in.
    pub fn builds(&self, toolkit: &str, simulated: bool) -> Result<Builds, Failure> {
        let (store, run) = self.begin()?;
        let source = if simulated { TimeSource::Simulated } else { TimeSource::Measured };
        Ok(Builds { store, run, toolkit: toolkit.to_owned(), source })
    }

    /// Opens the store.
    pub fn open_store(&self) -> Result<Store, Failure> {
        let path = match &self.store {
            Some(path) => path.clone(),
            None => warpsight_learn::default_path().map_err(|e| Failure::input(e.to_string()).help("--store FILE names a store"))?,
        };
        Ok(Store::open(path)?)
    }

    fn begin(&self) -> Result<(Store, RunId), Failure> {
        let mut store = self.open_store()?;
        let run = store.begin_run(&RunInfo::here(std::env::args(), option_env!("WARPSIGHT_GIT")))?;
        Ok((store, run))
    }
}

/// An identity as a line of a subject.
pub fn line(key: &ExprKey) -> String {
    // Times of Programs that an earlier schedule made are not those of today's.
    format!("family {key} v{SCHEDULES}")
}

/// The first line of a kernel's subject: names its family, so that a search can be resumed. The store keeps configurations in words.
fn family_line(family: &ScheduleFamily) -> String {
    line(&ExprKey::of(family.expr()).with_words(family.space())) + &family.passes().to_string()
}

/// What the store knows a Program of a family by: the family's key, then the Program.
pub fn subject_text(family: &ScheduleFamily, program: &Checked) -> String {
    format!("{}\n{}", family_line(family), **program)
}

/// An open store for kernels that are compiled and not run.
pub struct Builds {
    store: Store,
    run: RunId,
    toolkit: String,
    source: TimeSource,
}

impl Builds {
    /// Stores what a compiler said of a Program for an architecture, or why it refused.
    pub fn add(&mut self, arch: &str, text: &str, config: String, said: Result<Feedback, String>) -> Result<(), Failure> {
        let (status, feedback) = match said {
            Ok(said) => (Status::Built, Some(said)),
            Err(why) => (Status::BuildFailed(why), None),
        };
        let sample = Sample {
            subject: subject_hash(text),
            kind: SubjectKind::Program,
            text: text.to_owned(),
            config,
            // The architecture takes the place of a GPU's name: a search on a GPU does not take this for an attempt there.
            device: sample::Device { backend: "cuda".to_owned(), name: arch.to_owned(), driver: self.toolkit.clone() },
            times: vec![],
            quantum: Seconds::ZERO,
            clock_hz: None,
            reference: None,
            source: self.source,
            verified: false,
            status,
        };
        self.store.append(self.run, &sample, None, feedback.as_ref())?;
        Ok(())
    }
}

impl Record {
    /// Stores an attempt; not what failed because the user ended it.
    pub fn attempt(&mut self, family: &ScheduleFamily, attempt: &Attempt) -> Result<(), EngineError> {
        if matches!(attempt.status, Status::DeviceLost(_)) && progress::interrupted() {
            return Ok(());
        }
        let text = subject_text(family, attempt.program);
        let sample = Sample {
            subject: subject_hash(&text),
            kind: SubjectKind::Program,
            text,
            config: serde_json::to_string(&attempt.knobs).unwrap_or_default(),
            device: self.device.clone(),
            times: attempt.times.to_vec(),
            quantum: attempt.quantum,
            clock_hz: None,
            reference: attempt.reference,
            source: attempt.source.unwrap_or(self.source),
            verified: attempt.verified,
            status: match &attempt.status {
                Status::DeviceLost(how) if self.limited => Status::Refused(how.clone()),
                status => status.clone(),
            },
        };
        self.store
            .append(self.run, &sample, attempt.estimate.map(|estimate| (&self.model, estimate)), Some(attempt.feedback))
            .map(|_| ())
            .map_err(|e| EngineError::Store(e.to_string()))
    }

    /// Stores a run of a whole network; `selection` is its kernels as JSON.
    pub fn network(&mut self, text: String, selection: String, times: &Times, quantum: Seconds, verified: bool) -> Result<(), Failure> {
        let sample = Sample {
            subject: subject_hash(&text),
            kind: SubjectKind::Network,
            text,
            config: selection,
            device: self.device.clone(),
            times: times.thinned(KEPT),
            quantum,
            clock_hz: None,
            reference: None,
            source: self.source,
            verified,
            status: Status::Done,
        };
        self.store.append(self.run, &sample, None, None)?;
        Ok(())
    }

    /// The kernels (as JSON) of the latest verified run of a network on this device.
    pub fn last_network(&self, text: &str) -> Result<Option<String>, Failure> {
        let hash = subject_hash(text);
        let found = self.store.samples(Filter { subject: Some(&hash), device: Some(&self.device) })?;
        Ok(found.into_iter().rev().find(|s| s.sample.verified).map(|s| s.sample.config))
    }

    /// What is known of a family's configurations on this device, by configuration as JSON.
    pub fn done(&self, family: &ScheduleFamily) -> Result<BTreeMap<String, Earlier>, Failure> {
        self.adopt(family)?;
        // What was timed before a knob was there is what its first value makes.
        let today = |text: String| {
            let words = serde_json::from_str(&text).ok().and_then(|words| family.space().parse_earlier(&words));
            words.and_then(|config| serde_json::to_string(&family.space().describe(&config)).ok()).unwrap_or(text)
        };
        let done = self.store.done_configs(&family_line(family), &self.device, today)?;
        // A driver that crashed, or was interrupted, may do better next time.
        let settled = done.into_iter().filter(|(_, a)| !matches!(a.status, Status::DeviceLost(_) | Status::Refused(_)));
        let known = |a: warpsight_learn::Attempt| Earlier { time: a.median.filter(|_| a.status == Status::Done), exact: a.verified };
        Ok(settled.map(|(config, a)| (config, known(a))).collect())
    }

    /// The same by configuration, as far as these are the family's.
    pub fn known(&self, family: &ScheduleFamily) -> Result<Vec<(Config, Earlier)>, Failure> {
        let config = |text: &str| family.space().parse(&serde_json::from_str(text).ok()?);
        Ok(self.done(family)?.iter().filter_map(|(text, earlier)| Some((config(text)?, *earlier))).collect())
    }

    /// By the text of each Program of today's schedules whose last attempt on this device and driver failed, how it did. Calls that failed once, for
    /// lack of memory or time, need not fail again.
    pub fn failed(&self) -> Result<BTreeMap<String, String>, Failure> {
        let today = format!(" v{SCHEDULES}");
        let failed = |(text, status): (String, Status)| {
            let (_, program) = text.split_once('\n').filter(|own| own.0.starts_with("family ") && own.0.contains(&today))?;
            match status {
                Status::DeviceLost(how) | Status::BuildFailed(how) | Status::Wrong(how) => Some((program.to_owned(), how)),
                Status::Refused(_) | Status::Done | Status::Built => None,
            }
        };
        Ok(self.store.failures(&self.device)?.into_iter().filter_map(failed).collect())
    }

    /// What kernels of other expressions took on this device: so many, the newest ones.
    pub fn lessons(&self, family: &ScheduleFamily, judge: &Judge, most: usize) -> Result<Vec<Lesson>, Failure> {
        let own = family_line(family);
        // What other passes or earlier schedules made is not what this search makes.
        let today = format!(" v{SCHEDULES}");
        let lesson = |sample: &Sample| {
            let (line, text) = sample.text.split_once('\n')?;
            let other = sample.kind == SubjectKind::Program && sample.status == Status::Done && line != own && line.ends_with(&today);
            let program = Checked::new(text::parse(text).ok().filter(|_| other)?).ok()?;
            Lesson::of(&program, sample::median(&sample.times)?, judge)
        };
        let all = self.store.samples(Filter { subject: None, device: Some(&self.device) })?;
        Ok(all.iter().rev().filter_map(|own| lesson(&own.sample)).take(most).collect())
    }

    /// Finds the samples of a family that stores up to schema 3 keep under `family NAME HASH vN`. The hash leads nowhere back; but where
    /// every configuration under such a line lowers to the very Program that is stored with it, they are this family's.
    fn adopt(&self, family: &ScheduleFamily) -> Result<(), Failure> {
        let lowers_to = |config: &str, text: &str| {
            let words: Option<BTreeMap<Name, KnobValue>> = serde_json::from_str(config).ok();
            let config = words.and_then(|words| family.space().parse_earlier(&words));
            let program = config.and_then(|config| family.finish(&config).ok());
            text.split_once('\n').zip(program).is_some_and(|((_, stored), program)| *stored == program.to_string())
        };
        for earlier in self.store.keys(&format!("family {} ", family.name()))? {
            if earlier.ends_with(&format!(" v{SCHEDULES}")) && self.store.all_under(&earlier, lowers_to)? {
                self.store.rename_key(&earlier, &family_line(family))?;
            }
        }
        Ok(())
    }
}
