//! Measuring the aspects of a device into a folder.

use super::Args;
use super::found::{Found, slug};
use super::replay::Measured;
use crate::battery::measuring::{compiler, interruption, last_resort, verdict, watch};
use crate::failure::Failure;
use crate::progress;
use crate::report::note;
use indicatif::ProgressBar;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use warpsight_probe::battery::{self, DeviceLock, Event, Folder, Options, Task, rfc3339};
use warpsight_probe::{Record, Scale, aspects};
use warpsight_run::{Device, DeviceError, DeviceInfo};

/// Minutes for everything, where no others are given.
fn default_minutes(scale: Scale, device: &DeviceInfo) -> f64 {
    match scale {
        // A CPU runs other things as well, which everything takes longer for.
        Scale::Full if device.is_cpu => 10.0,
        Scale::Full => 20.0,
        Scale::Quick | Scale::Tiny => 2.0,
    }
}

/// The part of the time that is measured in; the rest is for the analysis.
const MEASURING: f64 = 0.8;

/// Measures, and says what the folder's measurements say: those of now, and of earlier probes there.
pub fn measure(args: &Args, id: &str) -> Result<(Found, PathBuf, Result<(), Failure>), Failure> {
    progress::catch_interrupt();
    let device = args.measure.device(id)?;
    let scale = args.scale();
    let dir = args.out.clone().unwrap_or_else(|| folder_of(Some(&device.name)));
    let lock = DeviceLock::take(&device, &std::env::temp_dir())?;
    compiler(&device, args.measure.options(Duration::ZERO).cache.as_deref())?;
    let origin = args.measure.origin(&device, scale);
    let mut folder = Folder::open(&dir, origin, args.measure.seed, args.measure.again, Box::new(last_resort))?;
    let minutes = args.minutes.unwrap_or(default_minutes(scale, &device));
    let (seed, place) = (folder.seed(), dir.display());
    note(format_args!("{} ({}, {}): {minutes} minutes at most, seed {seed}, into {place}", device.name, device.id, device.driver));
    let wanted = |name: &str| args.only.is_empty() || args.only.iter().any(|only| only == name);
    let phases = aspects::all().into_iter().map(|aspect| aspect.phase);
    let tasks: Vec<Task> = phases.filter(|phase| wanted(phase.name)).map(Task::from).collect();
    let options = Options {
        scale,
        budget: Duration::from_secs_f64(60.0 * minutes * MEASURING),
        patience: args.measure.patience(),
        pause: Duration::from_millis(500),
        once: false,
        plant_wrong: false,
        stop: &progress::interrupted,
    };
    let mut through =
        |_: &Task, timeout: Duration| -> Result<Box<dyn Device>, DeviceError> { warpsight_run::open(id, &args.measure.options(timeout)) };
    let mut watching = Watching::new(tasks.iter().filter(|task| !folder.is_done(&task.name)).map(|task| task.phase.share).sum());
    let summaries = battery::run(tasks, &options, &mut folder, &mut through, &mut |event| watching.tell(event));
    let taken = watching.finish();
    drop(lock);
    interruption()?;
    if let Some(trouble) = folder.trouble() {
        note(format_args!("not everything could be written to {place}: {trouble}; those records are on the standard output"));
    }
    let mut found = found(&dir, &device, taken)?;
    // What of this run has no record has its reason here.
    for summary in &summaries {
        match found.aspects.iter_mut().find(|own| own.name == summary.name) {
            Some(own) => *own = summary.clone(),
            None => found.aspects.push(summary.clone()),
        }
    }
    Ok((found, dir, verdict(&summaries)))
}

/// What the records in the folder, and those that could not be written there, say.
fn found(dir: &std::path::Path, device: &DeviceInfo, taken: Vec<Record>) -> Result<Found, Failure> {
    let begun = taken.iter().map(|record| record.unix_time).min().unwrap_or(0);
    let measured = Measured::read(dir).unwrap_or_else(|_| Measured::nothing(device.clone(), rfc3339(begun)));
    note("analysing");
    Ok(measured.found(taken))
}

/// Where nobody says where: a probe of the same day goes on.
pub fn folder_of(device: Option<&str>) -> PathBuf {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let date = rfc3339(now);
    PathBuf::from(format!("probe-{}-{}", slug(device.unwrap_or_default()), date.split('T').next().unwrap_or(&date)))
}

/// Progress, and the records that were taken.
struct Watching {
    bar: ProgressBar,
    /// The shares of all aspects that are to be measured, and of those that are done.
    whole: f64,
    done: f64,
    /// The aspect that is measured: its share, when it began, and its time.
    now: Option<(f64, Instant, Duration)>,
    taken: Vec<Record>,
}

impl Watching {
    fn new(whole: f64) -> Self {
        Self { bar: progress::parts("probe"), whole, done: 0.0, now: None, taken: vec![] }
    }

    fn tell(&mut self, event: Event<'_>) {
        self.bar.suspend(|| watch(&event));
        match event {
            Event::Begins(task, time_box) => {
                self.bar.set_message(task.name.clone());
                self.now = Some((task.phase.share, Instant::now(), time_box));
            }
            Event::Taken(record) => self.taken.push(record.clone()),
            Event::Ended(_) => self.done += self.now.take().map_or(0.0, |(share, ..)| share),
            Event::Reopens(_) => {}
        }
        // An aspect ends when it knows enough, or its time is up.
        let part = self
            .now
            .map_or(0.0, |(share, begun, time_box)| share * (begun.elapsed().as_secs_f64() / time_box.as_secs_f64().max(1e-3)).min(1.0));
        if self.whole > 0.0 {
            progress::part_done(&self.bar, (self.done + part) / self.whole);
        }
    }

    fn finish(self) -> Vec<Record> {
        self.bar.finish_and_clear();
        self.taken
    }
}
