//! Configurations that others measured, beside what is predicted of them: how well they are ranked, and where the model errs.

use super::{Args, pool};
use crate::failure::{Failure, Kind};
use crate::predict::input::{Device, Input};
use crate::predict::packed;
use crate::progress;
use crate::report::{clean_lines, note, out};
use serde_json::{Map, Value, json};
use std::path::Path;
use warpsight_files::Output;
use warpsight_predict::explore::score::{Score, ranked};
use warpsight_predict::explore::table::{Row, Table};
use warpsight_predict::explore::{Outcome, Refusal};
use warpsight_predict::volumes::report::{Settings, Work, report};

/// Columns of so many values make groups of rows.
const VALUES: std::ops::RangeInclusive<usize> = 2..=8;
/// Rows of the ranking that are shown.
const TEN: usize = 10;

/// A table, and what is predicted of its rows.
struct Compared<'a> {
    input: &'a Input,
    device: &'a Device,
    table: Table,
    found: Vec<Result<Outcome, Refusal>>,
}

/// Predicts all rows of a table and compares.
pub fn run(args: &Args, file: &Path, input: &Input, given: &[Device], fixed: &[(String, String)], json: bool) -> Result<(), Failure> {
    let [device] = given else { return Err(Failure::input("a table was measured on one device: one --device").at("--device")) };
    let wrong = |what: String| Failure::input(what).at(file.display().to_string());
    let table = Table::read(&packed::text(file)?).map_err(|error| wrong(error.to_string()))?;
    let help = "each parameter of the kernel is a column, or given by --set";
    table.is_of(&input.document, fixed).map_err(|error| wrong(error.to_string()).help(help))?;
    let found = predicted(args, input, device, fixed, &table)?;
    let compared = Compared { input, device, table, found };
    if compared.found.iter().all(Result::is_err) {
        let reason = compared.found.iter().find_map(|own| own.as_ref().err()).map_or_else(String::new, ToString::to_string);
        return Err(wrong(format!("none of {} rows can be predicted, for instance: {reason}", compared.found.len())));
    }
    if let Some(to) = &args.csv {
        compared.write(to)?;
    }
    device.say();
    if json { out(compared.json()) } else { out(compared.text()) }
}

fn predicted(
    args: &Args,
    input: &Input,
    device: &Device,
    fixed: &[(String, String)],
    table: &Table,
) -> Result<Vec<Result<Outcome, Refusal>>, Failure> {
    progress::catch_interrupt();
    let bar = progress::bar(table.rows.len(), "predicted");
    let outcome = |i: u64| -> Result<Outcome, Refusal> {
        if progress::interrupted() {
            return Err(Refusal(String::new()));
        }
        bar.inc(1);
        let settings: Vec<_> = fixed.iter().cloned().chain(table.settings(&table.rows[i as usize])).collect();
        let written = input.document.written(&settings).map_err(|error| Refusal(error.what))?;
        let work = Work { kernel: &written.kernel, points: written.points };
        Outcome::of(&report(&work, &device.profile, &Settings { brief: true, ..Settings::default() })?)
    };
    let mut found = Vec::with_capacity(table.rows.len());
    pool::each(table.rows.len() as u64, args.at_once(), outcome, |_, own| {
        found.push(own);
        Ok(())
    })?;
    bar.finish_and_clear();
    if progress::interrupted() {
        return Err(Failure::new(Kind::Interrupted, "interrupted: no file was written"));
    }
    Ok(found)
}

/// Rows that share a value of a column.
struct Group<'a> {
    column: &'a str,
    value: i64,
    rows: usize,
    /// Geometric mean of measured over predicted seconds, over that of all rows.
    ratio: f64,
    tau: f64,
}

impl Compared<'_> {
    /// Predicted seconds, infinite where there are none, and measured ones.
    fn pairs(&self) -> Vec<(f64, f64)> {
        let predicted = |own: &Result<Outcome, Refusal>| own.as_ref().map_or(f64::INFINITY, |own| own.seconds.0);
        self.found.iter().zip(&self.table.rows).map(|(own, row)| (predicted(own), row.seconds.0)).collect()
    }

    fn groups(&self, pairs: &[(f64, f64)]) -> Vec<Group<'_>> {
        let mean = |pairs: &[(f64, f64)]| {
            let ratios: Vec<f64> = pairs.iter().filter(|own| own.0.is_finite()).map(|(own, measured)| (measured / own).ln()).collect();
            (ratios.iter().sum::<f64>() / ratios.len() as f64).exp()
        };
        let all = mean(pairs);
        let of = |(column, value, rows): (_, _, Vec<usize>)| {
            let own: Vec<(f64, f64)> = rows.iter().map(|&row| pairs[row]).collect();
            Group { column, value, rows: own.len(), ratio: mean(&own) / all, tau: Score::of(&own).tau }
        };
        self.table.groups(VALUES).into_iter().map(of).collect()
    }

    fn parameters(&self, row: &Row) -> Map<String, Value> {
        self.table.settings(row).into_iter().map(|(name, value)| (name, json!(value.parse::<i64>().unwrap_or_default()))).collect()
    }

    fn row(&self, i: usize) -> Value {
        let own = &self.found[i];
        json!({
            "params": self.parameters(&self.table.rows[i]),
            "measured_s": self.table.rows[i].seconds.0,
            "predicted_s": own.as_ref().ok().map(|own| own.seconds.0),
            "limiter": own.as_ref().ok().and_then(|own| own.limiter).map(|own| own.name()),
            "reason": own.as_ref().err().map(ToString::to_string),
        })
    }

    fn refused(&self) -> usize {
        self.found.iter().filter(|own| own.is_err()).count()
    }

    /// The row that took the least.
    fn best(&self) -> usize {
        let seconds = |&i: &usize| self.table.rows[i].seconds.0;
        (0..self.table.rows.len()).min_by(|a, b| seconds(a).total_cmp(&seconds(b))).unwrap_or_default()
    }

    fn json(&self) -> Value {
        let pairs = self.pairs();
        let score = Score::of(&pairs);
        let groups = self.groups(&pairs).into_iter().map(|own| {
            json!({"column": own.column, "value": own.value, "rows": own.rows, "measured_over_predicted": known(own.ratio), "tau": known(own.tau)})
        });
        json!({
            "kernel": &*self.input.written.kernel.name,
            "device": self.device.name,
            "kind": "predicted",
            "rows": score.rows,
            "failed": self.table.failed,
            "refused": self.refused(),
            "tau": known(score.tau),
            "pick": known(score.pick),
            "best_of_ten": known(score.best_of_ten),
            "best": self.row(self.best()),
            "ranking": ranked(&pairs).into_iter().take(TEN).map(|i| self.row(i)).collect::<Vec<_>>(),
            "groups": groups.collect::<Vec<_>>(),
        })
    }

    fn text(&self) -> String {
        let pairs = self.pairs();
        let score = Score::of(&pairs);
        let plural = if score.rows == 1 { "row" } else { "rows" };
        let mut text = format!(
            "{} on {}: {} {plural} measured by others, predicted unmeasured\n  Kendall\u{2019}s tau-b {:.3}; the pick takes {:.3} of the best measured time, the best of the ten predicted fastest {:.3}\n",
            self.input.written.kernel.name, self.device.name, score.rows, score.tau, score.pick, score.best_of_ten
        );
        if self.table.failed + self.refused() > 0 {
            text += &format!(
                "  {} rows of the table did not run; {} cannot run by the model, and rank last\n",
                self.table.failed,
                self.refused()
            );
        }
        text += "\nmeasured ms  predicted ms  limiter  configuration\n";
        for i in ranked(&pairs).into_iter().take(TEN).chain([self.best()]) {
            let limiter = self.found[i].as_ref().ok().and_then(|own| own.limiter).map_or("-", |own| own.name());
            let set: Vec<String> =
                self.table.settings(&self.table.rows[i]).into_iter().map(|(name, value)| format!("{name}={value}")).collect();
            text += &format!("{:>11.4}  {:>12.4}  {limiter:<7}  {}\n", pairs[i].1 * 1e3, pairs[i].0 * 1e3, set.join(" "));
        }
        text += "The last line is the best measured.\n\ngroup  rows  measured/predicted, over that of all  tau-b\n";
        for own in self.groups(&pairs) {
            text += &format!("{}={}  {}  {:.2}  {:.2}\n", own.column, own.value, own.rows, own.ratio, own.tau);
        }
        clean_lines(&text).into_owned()
    }

    /// Each row as a line of CSV: its parameters, measured and predicted seconds, the limiter.
    fn write(&self, to: &Path) -> Result<(), Failure> {
        let mut file = Output::create(to)?;
        let line = |cells: Vec<String>| format!("{}\n", cells.join(","));
        let names = self.table.rows.first().map(|row| self.table.settings(row)).unwrap_or_default().into_iter().map(|own| own.0);
        file.write(line(names.chain(["measured_s", "predicted_s", "limiter"].map(str::to_owned)).collect()).as_bytes())?;
        for (row, own) in self.table.rows.iter().zip(&self.found) {
            let outcome = own.as_ref().ok();
            let predicted = outcome.map_or_else(String::new, |own| own.seconds.0.to_string());
            let limiter = outcome.and_then(|own| own.limiter).map_or("", |own| own.name()).to_owned();
            let cells = row.values.iter().map(i64::to_string).chain([row.seconds.0.to_string(), predicted, limiter]);
            file.write(line(cells.collect()).as_bytes())?;
        }
        note(format_args!("{} rows written to {}", self.table.rows.len(), to.display()));
        Ok(file.finish()?)
    }
}

/// What is no number is unknown.
fn known(number: f64) -> Option<f64> {
    Some(number).filter(|number| number.is_finite())
}
