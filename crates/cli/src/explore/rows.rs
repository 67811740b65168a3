//! Every configuration as a line of a table, whole or not at all.

use super::{Task, show};
use crate::failure::Failure;
use crate::report::extents;
use std::path::Path;
use warpsight_files::Output;
use warpsight_predict::explore::{Outcome, Refusal};

/// A table that appears under its name when it is finished.
pub struct Table(Output);

impl Table {
    /// Begins one, with the names of its columns: seconds, bytes per point (volumes), cycles per point.
    pub fn create(file: &Path, task: &Task) -> Result<Self, Failure> {
        let mut table = Self(Output::create(file)?);
        let params = task.space.sweeps().iter().flat_map(|sweep| &sweep.names).map(String::as_str);
        let names = ["device", "block", "fold"].into_iter().chain(params);
        let names = names.chain(["kind", "seconds", "seconds_lo", "seconds_hi", "points_per_second", "limiter", "l1_cycles_per_point"]);
        let names = names.chain(Outcome::VOLUMES).chain(["blocks", "warps", "waves", "tail_efficiency", "refused"]);
        table.line(&line(names.map(str::to_owned)))?;
        Ok(table)
    }

    /// Adds a line.
    pub fn line(&mut self, line: &[u8]) -> Result<(), Failure> {
        Ok(self.0.write(line)?)
    }

    /// Gives it its name.
    pub fn finish(self) -> Result<(), Failure> {
        Ok(self.0.finish()?)
    }
}

/// A configuration; unknown numbers are empty.
pub fn row(task: &Task, index: u64, found: &Result<Outcome, Refusal>) -> Vec<u8> {
    let own = task.space.get(index);
    let names = [task.device(&own).to_owned(), extents(&own.block), show::fold(&own.fold)];
    let names = names.into_iter().chain(task.values(&own).map(|(_, value)| value.to_string()));
    match found {
        Ok(outcome) => line(names.chain(cells(outcome))),
        Err(Refusal(reason)) => {
            let unknown = std::iter::repeat_n(String::new(), 6 + Outcome::VOLUMES.len() + 4);
            line(names.chain(["refused".to_owned()]).chain(unknown).chain([reason.clone()]))
        }
    }
}

fn cells(of: &Outcome) -> impl Iterator<Item = String> {
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    let times = [of.seconds.0, of.interval.0.0, of.interval.1.0, of.points_per_second].map(|value| value.to_string());
    let limiter = of.limiter.map_or("", |limiter| limiter.name()).to_owned();
    let volumes = [of.l1_cycles_per_point].into_iter().chain(of.volumes).map(number);
    let (blocks, warps) = of.resident;
    let device = [blocks.to_string(), warps.to_string(), of.waves.to_string(), of.tail_efficiency.to_string(), String::new()];
    std::iter::once("predicted".to_owned()).chain(times).chain([limiter]).chain(volumes).chain(device)
}

fn line(cells: impl Iterator<Item = String>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(256);
    {
        let mut writer = csv::WriterBuilder::new().buffer_capacity(512).from_writer(&mut bytes);
        for cell in cells {
            // Memory takes whatever is written.
            let _ = writer.write_field(cell);
        }
        let _ = writer.write_record(None::<&[u8]>);
        let _ = writer.flush();
    }
    bytes
}
