//! What a profile says: a summary, JSON, CSV.

use super::super::targets::SOFTWARE;
use super::crew::Step;
use crate::failure::{Failure, Kind};
use crate::report::Column::Keep;
use crate::report::{out, table};
use serde_json::json;
use warpsight_ir::Seconds;
use warpsight_learn::measured::{Clock, Outcome, Shot, Timed, usual_reference};
use warpsight_run::DeviceInfo;

/// What became of the shaders that were asked for.
#[derive(Default)]
pub struct Counts {
    done: usize,
    hang: usize,
    lost: usize,
    refused: usize,
    known: usize,
    /// Wall time of all of it.
    pub seconds: f64,
    /// Why shaders were not measured, with an example each.
    reasons: std::collections::BTreeMap<String, (usize, String)>,
}

impl Counts {
    /// Counts one.
    pub fn add(&mut self, step: &Step) {
        let Step::Shot(shot) = step else { return self.known += 1 };
        *match shot.outcome {
            Outcome::Done(_) => &mut self.done,
            Outcome::Hang { .. } => &mut self.hang,
            Outcome::Lost { .. } => &mut self.lost,
            Outcome::Refused { .. } => &mut self.refused,
        } += 1;
        if let Some(reason) = shot.outcome.reason() {
            let line = format!("{}: {}", shot.outcome.name(), reason.lines().next().unwrap_or_default());
            self.reasons.entry(line).or_insert_with(|| (0, shot.shader.clone())).0 += 1;
        }
    }
}

/// The shots that were measured, with their times for the device's usual speed.
fn timed(shots: &[Shot]) -> Vec<(&Shot, &Timed, Seconds)> {
    let Some(usual) = shots.first().and_then(|s| usual_reference(shots, &s.device)) else { return vec![] };
    let done = shots.iter().filter_map(|s| if let Outcome::Done(t) = &s.outcome { Some((s, t)) } else { None });
    done.map(|(s, t)| (s, t, t.seconds(usual))).collect()
}

/// The value below which a share of sorted values lies.
fn quantile(values: &mut [f64], share: f64) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(((values.len() as f64 - 1.0).max(0.0) * share).round() as usize).copied()
}

/// The store's shots of a device as CSV. Times are measured; `seconds` is one draw for the device's usual speed.
pub fn csv(shots: &[Shot]) -> Result<Vec<u8>, Failure> {
    let failed = |e: csv::Error| Failure::new(Kind::Io, e.to_string());
    let mut writer = csv::Writer::from_writer(Vec::new());
    let head = [
        "id",
        "seconds",
        "cv",
        "flags",
        "reference",
        "status",
        "raw_cv",
        "trials",
        "draws",
        "first",
        "width",
        "height",
        "texture",
        "inputs",
        "image",
        "protocol",
        "device",
        "driver",
        "time_source",
        "detail",
    ];
    writer.write_record(head).map_err(failed)?;
    let usual = shots.first().and_then(|s| usual_reference(shots, &s.device)).unwrap_or(Seconds(f64::NAN));
    for shot in shots {
        let timed = if let Outcome::Done(t) = &shot.outcome { Some(t) } else { None };
        let number = |value: Option<f64>| value.map_or(String::new(), |v| v.to_string());
        let flags: Vec<&str> = timed.map(|t| t.flags.iter().map(|f| f.name()).collect()).unwrap_or_default();
        let row = [
            shot.shader.clone(),
            number(timed.map(|t| t.seconds(usual).0)),
            number(timed.map(Timed::cv)),
            flags.join(" "),
            number(timed.map(|t| t.reference().0)),
            shot.outcome.name().to_owned(),
            number(timed.map(Timed::raw_cv)),
            timed.map_or(String::new(), |t| t.trials.len().to_string()),
            timed.map_or(String::new(), |t| t.trials.iter().map(|t| u64::from(t.draws)).sum::<u64>().to_string()),
            number(timed.map(|t| t.first.0)),
            shot.frame[0].to_string(),
            shot.frame[1].to_string(),
            shot.texture.to_string(),
            shot.inputs.clone(),
            timed.map_or(String::new(), |t| t.image.clone()),
            shot.protocol.to_string(),
            shot.device.name.clone(),
            shot.device.driver.clone(),
            "measured".to_owned(),
            shot.outcome.reason().unwrap_or_default().to_owned(),
        ];
        writer.write_record(row).map_err(failed)?;
    }
    writer.into_inner().map_err(|e| Failure::new(Kind::Io, e.to_string()))
}

/// What the clock of a device's times is.
fn clock(clock: Option<Clock>) -> &'static str {
    match clock {
        Some(Clock::Processor) => "processor time of the drawing process, for the speed at which the reference shader takes its usual time",
        Some(Clock::Timestamps) => "the device's timestamps; clocks are recorded, not locked",
        None => "nothing was measured",
    }
}

/// Prints the summary.
pub fn print(info: &DeviceInfo, workers: usize, counts: &Counts, shots: &[Shot], json: bool) -> Result<(), Failure> {
    let all = timed(shots);
    let mut seconds: Vec<f64> = all.iter().map(|(_, _, s)| s.0).collect();
    let mut spreads: Vec<f64> = all.iter().map(|(_, t, _)| t.cv()).collect();
    let within = |limit: f64| spreads.iter().filter(|cv| **cv <= limit).count();
    let (close, flagged) = (within(0.05), all.iter().filter(|(_, t, _)| !t.flags.is_empty()).count());
    let share = close as f64 / all.len().max(1) as f64;
    let [median_cv, last_cv] = [0.5, 0.95].map(|share| quantile(&mut spreads, share));
    let [least, middle, most] = [0.0, 0.5, 1.0].map(|share| quantile(&mut seconds, share));
    let software = info.is_cpu.then_some(SOFTWARE);
    let clock = clock(all.first().map(|(_, t, _)| t.clock));
    if json {
        let reasons: Vec<_> =
            counts.reasons.iter().map(|(why, (n, example))| json!({"reason": why, "shaders": n, "example": example})).collect();
        return out(json!({
            "device": {"id": info.id, "name": info.name, "driver": info.driver, "facts": info.facts, "software": software},
            "workers": workers, "wall_seconds": counts.seconds, "done": counts.done, "known": counts.known, "hang": counts.hang,
            "lost": counts.lost, "refused": counts.refused, "reasons": reasons,
            "store": {"measured": all.len(), "flagged": flagged, "median_cv": median_cv, "cv_95": last_cv, "share_within_5_percent": share,
                "seconds": {"source": "measured", "clock": clock, "least": least, "median": middle, "most": most}},
        }));
    }
    let percent = |v: Option<f64>| v.map_or("-".to_owned(), |v| format!("{:.2} %", 100.0 * v));
    let milliseconds = |v: Option<f64>| v.map_or("-".to_owned(), |v| format!("{:.3} ms", 1e3 * v));
    let mut rows = table(&[Keep("this time"), Keep("shaders")]);
    let lines = [
        ("measured", counts.done),
        ("in the store already", counts.known),
        ("hung", counts.hang),
        ("lost the driver or device", counts.lost),
        ("refused", counts.refused),
    ];
    for (what, n) in lines {
        rows.add_row([what.to_owned(), n.to_string()]);
    }
    let why: Vec<String> = counts.reasons.iter().map(|(why, (n, example))| format!("  {n} × {why} ({example})\n")).collect();
    let software = software.map_or(String::new(), |s| format!(", {s}"));
    out(format!(
        "{}: {} ({}){software}\n{rows}\n{}{:.1} s on {workers} workers\n\nthe store has {} shaders of this device, {flagged} of them flagged:\n  \
         coefficient of variation {} in the median, {} at 95 %, {:.1} % of shaders within 5 %\n  a frame takes {} to {}, {} in the median (measured: {clock})",
        info.id,
        info.name,
        info.driver,
        why.concat(),
        counts.seconds,
        all.len(),
        percent(median_cv),
        percent(last_cv),
        100.0 * share,
        milliseconds(least),
        milliseconds(most),
        milliseconds(middle),
    ))
}
