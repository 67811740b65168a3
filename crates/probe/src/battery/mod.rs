//! The battery: phases one after the other, each in its own time box, every record kept the moment it is there.
//!
//! [`run`] goes through [`Task`]s, the most valuable first. Each gets its share of the time that is left; what it does not need
//! goes to those after it. A device that is lost is opened again; one that stays away ends the phase, whose records so far remain
//! for a later [`run`] on the same [`Folder`] to continue.

mod date;
mod error;
mod file;
mod folder;
mod lock;
mod measure;
mod recorded;
mod rehearse;

pub use date::rfc3339;
pub use error::BatteryError;
pub use file::{FORMAT, Host, Line, PhaseFile};
pub use folder::{Folder, Index, Origin};
pub use lock::DeviceLock;
pub(crate) use measure::caught;
pub use measure::take;
pub use recorded::{Recorded, recorded};
pub use rehearse::rehearse;

use crate::{Context, Measurement, Needs, Outcome, Phase, Plan, Record, Scale};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::time::{Duration, Instant};
use warpsight_ir::TimeSource;
use warpsight_run::{Device, DeviceError, DeviceInfo};

/// How often a device that does not open is asked before it counts as gone.
const ATTEMPTS: u32 = 3;

/// A measurement that began within its time box may go on for so long after it, unless all time is over: killing it would cost more.
const GRACE: Duration = Duration::from_secs(5);

/// How long the names of measurements that were not tried may be collected.
const LISTING: Duration = Duration::from_secs(5);

/// A phase to run, and the name of its file: the same phase may run on two devices.
pub struct Task {
    /// The name of its file, without ending.
    pub name: String,
    /// What is measured.
    pub phase: Phase,
}

impl From<Phase> for Task {
    fn from(phase: Phase) -> Self {
        Self { name: phase.name.into(), phase }
    }
}

/// How the battery runs.
pub struct Options<'a> {
    /// How much is measured.
    pub scale: Scale,
    /// For all tasks together.
    pub budget: Duration,
    /// How long one job may take at most; the rest of its time box where that is less.
    pub patience: Duration,
    /// How long to wait before a device that did not open is asked again; twice as long the next time.
    pub pause: Duration,
    /// Runs every launch once and times nothing: for tools that count or check what kernels do.
    pub once: bool,
    /// Spoils the first kernel that can be spoilt, to see that its check finds out.
    pub plant_wrong: bool,
    /// Whether the user asked for an end.
    pub stop: &'a dyn Fn() -> bool,
}

/// How a device for a task is opened; no job of it may take longer than the duration.
pub type Open<'a> = &'a mut dyn FnMut(&Task, Duration) -> Result<Box<dyn Device>, DeviceError>;

/// What happens, for who watches.
pub enum Event<'a> {
    /// A phase begins, with so much time.
    Begins(&'a Task, Duration),
    /// A record was taken.
    Taken(&'a Record),
    /// The device is opened again, for this reason.
    Reopens(&'a DeviceError),
    /// A phase is over.
    Ended(&'a Summary),
}

/// What came of a phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The name of its file.
    pub name: String,
    /// Records by outcome, those of an earlier run of the command included.
    pub verified: usize,
    /// Timed, but with wrong results.
    pub wrong: usize,
    /// Tried without success.
    pub failed: usize,
    /// Not tried.
    pub skipped: usize,
    /// How long it took.
    pub seconds: f64,
    /// Where its times come from.
    pub source: Option<TimeSource>,
    /// Whether every measurement of the phase has its record.
    pub complete: bool,
    /// Why it did not run, or ended early.
    pub note: Option<String>,
}

impl Summary {
    /// Counts records.
    pub fn of(name: &str, records: &[Record]) -> Self {
        let mut summary = Self { name: name.into(), ..Self::default() };
        for record in records {
            *match record.outcome {
                Outcome::Verified => &mut summary.verified,
                Outcome::Wrong { .. } => &mut summary.wrong,
                Outcome::Failed { .. } => &mut summary.failed,
                Outcome::Skipped { .. } => &mut summary.skipped,
            } += 1;
        }
        summary.source = records.iter().find_map(|record| record.source);
        summary
    }
}

/// How a phase came to its end.
enum End {
    /// Everything in its plan has a record.
    Complete,
    /// It can be continued by a later run; why it was not.
    Broken(String),
}

/// Runs tasks in order and keeps their records in a folder. Nothing that goes wrong with one task keeps the next from running.
pub fn run(tasks: Vec<Task>, options: &Options<'_>, folder: &mut Folder, open: Open<'_>, tell: &mut dyn FnMut(Event<'_>)) -> Vec<Summary> {
    let begun = Instant::now();
    let mut shares: f64 = tasks.iter().filter(|task| !folder.is_done(&task.name)).map(|task| task.phase.share).sum();
    let mut battery = Battery { options, folder, open, tell, plant: options.plant_wrong, end: begun + options.budget };
    let mut summaries = Vec::with_capacity(tasks.len());
    for task in &tasks {
        if let Some(done) = battery.folder.earlier(&task.name) {
            summaries.push(done);
            continue;
        }
        if (options.stop)() {
            break;
        }
        let left = options.budget.saturating_sub(begun.elapsed());
        let part = if shares > 0.0 { (task.phase.share / shares).clamp(0.0, 1.0) } else { 1.0 };
        shares -= task.phase.share;
        let summary = battery.task(task, left.mul_f64(part));
        (battery.tell)(Event::Ended(&summary));
        battery.folder.note(&summary);
        summaries.push(summary);
    }
    summaries
}

struct Battery<'a, 'b> {
    options: &'a Options<'a>,
    folder: &'a mut Folder,
    open: Open<'b>,
    tell: &'a mut dyn FnMut(Event<'_>),
    plant: bool,
    /// When the budget is used up.
    end: Instant,
}

impl Battery<'_, '_> {
    /// Runs one task in its time box.
    fn task(&mut self, task: &Task, time_box: Duration) -> Summary {
        let begun = Instant::now();
        (self.tell)(Event::Begins(task, time_box));
        let nothing = |note: String| Summary { name: task.name.clone(), note: Some(note), ..Summary::default() };
        let device = match self.reach(task, time_box) {
            Ok(device) => device,
            Err(error) => return nothing(error.to_string()),
        };
        let info = device.info().clone();
        if task.phase.needs == Needs::CudaText && info.backend != "cuda" {
            return nothing(format!("it needs a CUDA device; {} is none", info.id));
        }
        if let Err(error) = self.folder.begin(task, &info) {
            return nothing(error.to_string());
        }
        let end = self.measure_all(task, device, &info, time_box, begun);
        let complete = matches!(end, End::Complete);
        let records = self.folder.end(complete);
        let note = match end {
            End::Complete => None,
            End::Broken(why) => Some(why),
        };
        Summary { seconds: begun.elapsed().as_secs_f64(), complete, note, ..Summary::of(&task.name, &records) }
    }

    /// Takes the measurements of a plan until they, the time or the device are at an end.
    fn measure_all(&mut self, task: &Task, device: Box<dyn Device>, info: &DeviceInfo, time_box: Duration, begun: Instant) -> End {
        let mut device = Some(device);
        let context = Context { device: info, scale: self.options.scale, seed: self.folder.seed() };
        let known: HashSet<String> = self.folder.known();
        let mut plan = match measure::caught(|| (task.phase.plan)(&context)) {
            Ok(plan) => plan,
            Err(defect) => return End::Broken(format!("the plan could not be made: {defect}")),
        };
        loop {
            let mut measurement = match measure::caught(|| plan.ask(self.folder.records())) {
                Ok(Some(measurement)) => measurement,
                Ok(None) => return End::Complete,
                Err(defect) => return End::Broken(format!("the plan ended early: {defect}")),
            };
            if matches!(plan, Plan::Reacting(_)) && self.folder.records().iter().any(|record| record.name == measurement.name) {
                return End::Broken(format!("its plan asks for `{}` again", measurement.name));
            }
            if known.contains(&measurement.name) {
                continue;
            }
            if (self.options.stop)() {
                return End::Broken("interrupted".into());
            }
            let left = time_box.saturating_sub(begun.elapsed());
            if left.is_zero() {
                self.skip_rest(task, measurement, plan, &known, time_box);
                return End::Complete;
            }
            let mut reachable = match device.take() {
                Some(device) => device,
                None => match self.reach(task, left) {
                    Ok(device) => device,
                    Err(error) => return End::Broken(format!("the device is gone: {error}")),
                },
            };
            if self.options.once {
                measurement.job.timing = None;
            }
            if self.plant && measure::spoil(&mut measurement) {
                self.plant = false;
            }
            let all_left = self.end.saturating_duration_since(Instant::now());
            let limit = self.options.patience.min(left.max(GRACE.min(all_left)));
            reachable.limit(limit);
            let (mut record, lost) = measure::take(task.phase.name, measurement, &mut *reachable);
            // What was stopped early might have ended.
            if limit < self.options.patience && matches!(lost, Some(DeviceError::Timeout(_))) {
                record.outcome = Outcome::Skipped { why: out_of_time(time_box), later: true };
            }
            (self.tell)(Event::Taken(&record));
            self.folder.record(record);
            match lost {
                Some(error) => (self.tell)(Event::Reopens(&error)),
                None => device = Some(reachable),
            }
        }
    }

    /// Opens the device of a task, with patience: a driver needs a moment after a crash.
    fn reach(&mut self, task: &Task, time_box: Duration) -> Result<Box<dyn Device>, DeviceError> {
        let patience = self.options.patience.min(time_box.max(Duration::from_secs(1)));
        let mut pause = self.options.pause;
        for _ in 1..ATTEMPTS {
            match (self.open)(task, patience) {
                Ok(device) => return Ok(device),
                // What is not there will not be there in a second either.
                Err(error @ DeviceError::NoDevice { .. }) => return Err(error),
                Err(error) => (self.tell)(Event::Reopens(&error)),
            }
            std::thread::sleep(pause);
            pause *= 2;
        }
        (self.open)(task, patience)
    }

    /// Notes what the time did not suffice for.
    fn skip_rest(&mut self, task: &Task, first: Measurement, mut plan: Plan, known: &HashSet<String>, time_box: Duration) {
        let why = out_of_time(time_box);
        let begun = Instant::now();
        let mut next = Some(first);
        while let Some(measurement) = next.take() {
            if !known.contains(&measurement.name) {
                let record = measure::skipped(task.phase.name, measurement, &why);
                (self.tell)(Event::Taken(&record));
                self.folder.record(record);
            }
            if begun.elapsed() > LISTING {
                self.folder.record(Record::skipped(task.phase.name, "all after these", &why));
                return;
            }
            // What reacts would ask for the same again.
            let Plan::List(list) = &mut plan else { return };
            next = measure::caught(|| list.next()).unwrap_or_default();
        }
    }
}

fn out_of_time(time_box: Duration) -> String {
    format!("out of time: its {:.0} s are used up", time_box.as_secs_f64())
}
