//! Some configurations once more, the way `predict` goes.

use super::Task;
use crate::failure::{Failure, Kind};
use warpsight_ir::accesses::text::parse;
use warpsight_predict::explore::{Outcome, Refusal};
use warpsight_predict::volumes::report::{Settings, Work, report};

/// Reads each from the text with its settings, predicts it, and compares every number exactly.
pub fn compare(task: &Task, sampled: &[(u64, Result<Outcome, Refusal>)]) -> Result<(), Failure> {
    let wrong: Vec<u64> = sampled.iter().filter(|(index, found)| *found != anew(task, *index)).map(|(index, _)| *index).collect();
    let Some(&first) = wrong.first() else { return Ok(()) };
    let name = task.name(&task.space.get(first));
    let what =
        format!("{} of {} checked configurations differ from what `predict` says of them, the first is {name}", wrong.len(), sampled.len());
    Err(Failure::new(Kind::NothingVerified, what).help("this is a defect of warpsight: please report it with the file and the options"))
}

fn anew(task: &Task, index: u64) -> Result<Outcome, Refusal> {
    let configuration = task.space.get(index);
    let settings = task.explorer().settings(&configuration);
    let written = parse(task.input.text(), &settings).map_err(|error| Refusal(error.what))?;
    let work = Work { kernel: &written.kernel, points: written.points };
    Ok(Outcome::of(&report(&work, &task.devices[configuration.device], &Settings::default())?))
}
