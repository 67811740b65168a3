//! The two figures: volumes and time against a swept parameter (paper 002, section 5.7), and what the best configurations spend.

use super::{Best, Explored, Task, pool, show};
use crate::failure::Failure;
use crate::plot::{Figure, Mark, Panel, PlotError, Series, svg};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use warpsight_files::Output;
use warpsight_predict::explore::{Outcome, Winners};

/// Curves of a figure: more are not told apart.
const SERIES: usize = 8;
/// Values of the sweep that are drawn.
const VALUES: u64 = 1000;
/// Configurations whose times or parts are drawn.
const ROWS: usize = 20;

/// A file that gets its name when its figure is drawn.
pub struct Canvas {
    file: PathBuf,
    to: Output,
}

impl Canvas {
    /// Makes sure that there will be a file.
    pub fn create(file: &Path) -> Result<Self, Failure> {
        Ok(Self { file: file.to_owned(), to: Output::create(file)? })
    }

    /// Draws and names it.
    pub fn finish(mut self, figure: &Figure) -> Result<(), Failure> {
        let text = svg(figure).map_err(|error| match error {
            PlotError::Empty => Failure::input("no known number could be drawn").at(self.file.display().to_string()),
            error @ PlotError::Drawing(_) => Failure::input(error.to_string()).at(self.file.display().to_string()),
        })?;
        self.to.write(text.as_bytes())?;
        Ok(self.to.finish()?)
    }
}

/// Volumes and time against the first sweep. Drawn are all shapes (device, block, folding, values of further sweeps) if they are few, or else
/// those that are the best most often; beside them recorded bandwidths.
pub fn layers(task: &Task, winners: &Winners, threads: usize, recorded: Option<Vec<Mark>>) -> Result<Figure, Failure> {
    let (space, explorer) = (&task.space, task.explorer());
    let Some(sweep) = space.sweeps().first() else { return Err(Failure::input("nothing is swept")) };
    let shapes = space.len() / sweep.count;
    let (firsts, which) = if shapes <= SERIES as u64 {
        let firsts: Vec<u64> = (0..space.len()).filter(|&index| space.along(index).position == 0).collect();
        (firsts, String::new())
    } else {
        let mut wins = BTreeMap::<u64, usize>::new();
        winners.best().for_each(|(_, index)| *wins.entry(space.along(index).first).or_default() += 1);
        let mut wins: Vec<(u64, usize)> = wins.into_iter().collect();
        wins.sort_by_key(|&(first, wins)| (std::cmp::Reverse(wins), first));
        let shown = wins.len().min(SERIES);
        wins.truncate(SERIES);
        (wins.into_iter().map(|(first, _)| first).collect(), format!("; the {shown} that are fastest at most values, of {shapes}"))
    };
    let step = sweep.count.div_ceil(VALUES);
    let values: Vec<u64> = (0..sweep.count).step_by(step as usize).collect();
    let mut curves: Vec<Vec<(f64, Outcome)>> = vec![vec![]; firsts.len()];
    let place = |i: u64| ((i / values.len() as u64) as usize, values[(i % values.len() as u64) as usize]);
    let predict = |i: u64| {
        let (curve, value) = place(i);
        explorer.outcome(firsts[curve] + value * space.along(firsts[curve]).stride)
    };
    pool::each((firsts.len() * values.len()) as u64, threads, predict, |i, found| {
        let (curve, value) = place(i);
        curves[curve].extend(found.ok().map(|outcome| (sweep.value(value) as f64, outcome)));
        Ok(())
    })?;
    let devices = task.named.len() > 1;
    let names: Vec<String> = firsts
        .iter()
        .map(|&first| {
            let own = space.get(first);
            let device = if devices { format!("{} ", task.device(&own)) } else { String::new() };
            let others = task.values(&own).skip(sweep.names.len()).map(|(name, value)| format!(" {name}={value}"));
            format!("{device}{}{}", show::shape(&own), others.collect::<String>())
        })
        .collect();
    let panel = |y: &str, of: &dyn Fn(&Outcome) -> Option<f64>| {
        let points =
            |curve: &[(f64, Outcome)]| curve.iter().filter_map(|(x, own)| Some(Mark { x: *x, y: of(own)?, range: None })).collect();
        let series = names.iter().zip(&curves).map(|(name, curve)| Series { name: name.clone(), points: points(curve) });
        Panel::Curves { x: sweep.names.join(" = "), y: y.to_owned(), joined: true, series: series.collect() }
    };
    let mut panels = vec![panel("time, ps/point", &|own| Some(1e12 / own.points_per_second))];
    for (name, volume) in [("DRAM load, B/point", "dram_load"), ("L2 load, B/point", "l2_load")] {
        if curves.iter().flatten().any(|(_, own)| own.volume(volume).is_some()) {
            panels.insert(panels.len() - 1, panel(name, &|own| own.volume(volume)));
        }
    }
    let mut bandwidth = panel("effective bandwidth, GB/s", &|own| Some(own.effective_bytes / 1e9));
    let mut measured = "";
    if let (Panel::Curves { series, .. }, Some(points)) = (&mut bandwidth, recorded) {
        series.insert(0, Series { name: "recorded (measured)".to_owned(), points });
        measured = "; `recorded` is measured";
    }
    panels.push(bandwidth);
    Ok(Figure {
        title: format!("{}: volumes and time against {}", task.input.written.kernel.name, sweep.names.join(" = ")),
        note: format!("all predicted{}{which}{measured}", single(task)),
        panels,
    })
}

/// Recorded bandwidths over values of a parameter.
pub fn recorded(file: &Path, parameter: &str) -> Result<Vec<Mark>, Failure> {
    let wrong = |what: String| Failure::input(what).at(file.display().to_string());
    let mut table = csv::Reader::from_path(file).map_err(|error| wrong(error.to_string()))?;
    let heads = table.headers().map_err(|error| wrong(error.to_string()))?.clone();
    let column = |name: &str| {
        let found = heads.iter().position(|head| head.trim() == name);
        found.ok_or_else(|| wrong(format!("there is no column `{name}`; columns are {}", heads.iter().collect::<Vec<_>>().join(", "))))
    };
    let (x, y) = (column(parameter)?, column("gb_per_s")?);
    let mut marks = Vec::new();
    for (i, row) in table.records().enumerate() {
        let row = row.map_err(|error| wrong(error.to_string()))?;
        let number = |column: usize| {
            let text = row.get(column).unwrap_or("").trim();
            let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
            number.ok_or_else(|| wrong(format!("line {}: `{text}` is no number", i + 2)))
        };
        marks.push(Mark { x: number(x)?, y: number(y)?, range: None });
    }
    if marks.is_empty() { Err(wrong("there are no rows".to_owned())) } else { Ok(marks) }
}

/// Times of the best configurations, where nothing is swept.
pub fn times(task: &Task, explored: &Explored) -> Figure {
    let series = task.named.iter().enumerate().map(|(i, (name, _))| {
        let own = explored.best.iter().enumerate().filter(|(_, best)| best.configuration.device == i).take(ROWS);
        let mark = |(rank, Best { report, .. }): (usize, &Best)| Mark {
            x: (rank + 1) as f64,
            y: report.seconds.0 * 1e3,
            range: Some((report.interval.lo.0 * 1e3, report.interval.hi.0 * 1e3)),
        };
        Series { name: name.clone(), points: own.map(mark).collect() }
    });
    Figure {
        title: format!("{}: times of the best configurations", task.input.written.kernel.name),
        note: "all predicted; bars are intervals".to_owned(),
        panels: vec![Panel::Curves { x: "rank".to_owned(), y: "time, ms".to_owned(), joined: false, series: series.collect() }],
    }
}

/// Seconds by limiter and volumes by cause of the best configurations.
pub fn breakdown(task: &Task, explored: &Explored) -> Figure {
    let best = &explored.best[..explored.best.len().min(ROWS)];
    let rows: Vec<String> = (1..).zip(best).map(|(rank, own)| format!("{rank}: {}", short(task, own))).collect();
    let limiters =
        parts(best, |own| own.report.limits.iter().filter_map(|(limiter, alone)| Some((limiter.name(), alone.as_ref().ok()?.0 * 1e3))));
    let panel = |x: &str, stacked, parts| Panel::Bars { x: x.to_owned(), rows: rows.clone(), stacked, parts };
    let mut panels = vec![panel("time of each limiter alone, ms", false, limiters)];
    // Causes are named `level: cause`.
    let causes = parts(best, |own| own.report.volumes.by_cause.iter().map(|(cause, bytes)| (cause.as_str(), *bytes)));
    let level = |cause: &str| cause.split_once(": ").map_or("volume", |(level, _)| level).to_owned();
    let mut levels: Vec<String> = causes.iter().map(|(cause, _)| level(cause)).collect();
    levels.dedup();
    for own in levels {
        let of_level = causes.iter().filter(|(cause, _)| level(cause) == own);
        let parts =
            of_level.map(|(cause, bytes)| (cause.split_once(": ").map_or(cause.as_str(), |split| split.1).to_owned(), bytes.clone()));
        panels.push(panel(&format!("{own} by cause, B/point"), true, parts.collect()));
    }
    Figure {
        title: format!("{}: what the best configurations spend", task.input.written.kernel.name),
        note: format!("all predicted{}", single(task)),
        panels,
    }
}

/// Numbers by name, 0 where a configuration lacks it; names in order of appearance, those that are 0 everywhere left out.
fn parts<'a, I: Iterator<Item = (&'a str, f64)>>(best: &'a [Best], numbers: impl Fn(&'a Best) -> I) -> Vec<(String, Vec<f64>)> {
    let mut found: Vec<(String, Vec<f64>)> = vec![];
    for (row, own) in best.iter().enumerate() {
        for (name, number) in numbers(own) {
            let at = found.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
                found.push((name.to_owned(), vec![0.0; best.len()]));
                found.len() - 1
            });
            found[at].1[row] = number;
        }
    }
    found.retain(|(_, numbers)| numbers.iter().any(|&number| number > 0.0));
    found
}

/// `16x4x16 fold 2y n=640`, with the device where there are several.
fn short(task: &Task, own: &Best) -> String {
    let device = if task.named.len() > 1 { format!("{} ", task.device(&own.configuration)) } else { String::new() };
    let values = task.values(&own.configuration).map(|(name, value)| format!(" {name}={value}"));
    format!("{device}{}{}", show::shape(&own.configuration), values.collect::<String>())
}

/// The device where there is one.
fn single(task: &Task) -> String {
    if task.named.len() == 1 { format!(" on {}", task.named[0].0) } else { String::new() }
}
