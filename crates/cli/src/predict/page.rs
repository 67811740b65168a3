//! The page of a prediction: limits as bars, what each level moves, and what would change it, for all devices beside each other. Every number
//! on it is one of [`Figures`], which is also what `--json` prints.

use super::explain::words;
use super::{Answer, Device, Predicted};
use crate::page::{Bar, COLOURS, Column, Number, Page, Piece, Tag, Unit, column, limiter_colour, shown};
use crate::report::extents;
use serde::Serialize;
use warpsight_predict::explain::WhatIf;

/// Changes that are drawn; the table has all.
const CHANGES: usize = 10;
/// Causes or fields that have a colour of their own; the others share one.
const COLOURED: usize = COLOURS - 1;
/// Levels by their keys.
const LEVELS: [(&str, &str); 7] = [
    ("l1_requested", "L1 requested"),
    ("l2_load_compulsory", "L2 load, compulsory"),
    ("l2_load", "L2 load"),
    ("l2_store", "L2 store"),
    ("dram_load_wave", "DRAM load of a wave"),
    ("dram_load", "DRAM load"),
    ("dram_store", "DRAM store"),
];

/// What the page shows.
#[derive(Debug, Default, Serialize)]
pub struct Figures {
    /// A kernel on a device.
    pub times: Vec<Time>,
    /// Devices without an answer.
    pub refused: Vec<Refused>,
    /// Seconds of each limiter alone.
    pub limits: Vec<Limit>,
    /// Bytes by level.
    pub volumes: Vec<Volume>,
    /// The same by what causes them.
    pub causes: Vec<Part>,
    /// The same by field.
    pub fields: Vec<Part>,
    /// Other configurations.
    pub changes: Vec<Changed>,
    /// Percent of time for a percent of a number of the profile.
    pub sensitivities: Vec<Sensitivity>,
    /// Where numbers come from, and what was left out.
    pub notes: Vec<Note>,
}

/// What a row is of.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Subject {
    /// The kernel, by its file where two are compared.
    pub kernel: String,
    /// The device.
    pub device: String,
}

/// A kernel's time.
#[derive(Debug, Serialize)]
pub struct Time {
    #[serde(flatten)]
    of: Subject,
    tag: Tag,
    block: String,
    time_s: f64,
    least_s: f64,
    most_s: f64,
    points_per_second: f64,
    limiter: Option<&'static str>,
    blocks: u32,
    warps: u32,
    waves: f64,
    tail_efficiency: f64,
    basis: String,
}

/// A device without an answer.
#[derive(Debug, Serialize)]
pub struct Refused {
    device: String,
    reason: String,
}

/// A limiter alone.
#[derive(Debug, Serialize)]
pub struct Limit {
    #[serde(flatten)]
    of: Subject,
    tag: Tag,
    limiter: &'static str,
    alone_s: Option<f64>,
    unknown: Option<String>,
}

/// What a level moves.
#[derive(Debug, Serialize)]
pub struct Volume {
    #[serde(flatten)]
    of: Subject,
    tag: Tag,
    level: &'static str,
    moved_per_point: Option<f64>,
}

/// A cause's or a field's part of it.
#[derive(Debug, Serialize)]
pub struct Part {
    #[serde(flatten)]
    of: Subject,
    tag: Tag,
    level: String,
    part: String,
    moved_per_point: f64,
}

/// Another configuration.
#[derive(Debug, Serialize)]
pub struct Changed {
    #[serde(flatten)]
    of: Subject,
    tag: Tag,
    change: String,
    changed_s: f64,
    less_percent: f64,
}

/// What depends on a number of the profile.
#[derive(Debug, Serialize)]
pub struct Sensitivity {
    #[serde(flatten)]
    of: Subject,
    tag: Tag,
    number: String,
    raised_percent: f64,
    time_percent: f64,
}

/// What is to be said.
#[derive(Debug, Serialize)]
pub struct Note {
    #[serde(flatten)]
    of: Subject,
    note: String,
}

impl Figures {
    /// Of all devices.
    pub fn of(all: &[(&Device, Answer)]) -> Self {
        let mut figures = Self::default();
        for (device, answer) in all {
            match answer {
                Err(why) => figures.refused.push(Refused { device: device.name.clone(), reason: why.to_string() }),
                Ok((first, second)) => {
                    let twice = second.is_some();
                    for of in std::iter::once(first).chain(second) {
                        figures.add(of, &of.what_if(), twice);
                    }
                }
            }
        }
        figures
    }

    fn add(&mut self, of: &Predicted, what_if: &WhatIf, twice: bool) {
        let (r, v) = (&of.report, &of.report.volumes);
        let name = of.input.written.kernel.name.to_string();
        let kernel = if twice { format!("{name} ({})", of.input.name) } else { name };
        let subject = Subject { kernel, device: of.device.name.clone() };
        let own = || subject.clone();
        let tag = |key: &str| if r.measured.iter().any(|own| own.what == key) { Tag::Measured } else { Tag::Predicted };
        self.times.push(Time {
            of: own(),
            tag: Tag::Predicted,
            block: extents(&of.input.written.kernel.launch.lanes),
            time_s: r.seconds.0,
            least_s: r.interval.lo.0,
            most_s: r.interval.hi.0,
            points_per_second: r.points_per_second,
            limiter: r.limiter.map(|limiter| limiter.name()),
            blocks: r.occupancy.groups,
            warps: r.occupancy.warps,
            waves: r.waves,
            tail_efficiency: r.tail_efficiency,
            basis: r.interval.basis.clone(),
        });
        let mut limits: Vec<Limit> = r
            .limits
            .iter()
            .map(|(limiter, alone)| Limit {
                of: own(),
                tag: Tag::Predicted,
                limiter: limiter.name(),
                alone_s: alone.as_ref().ok().map(|alone| alone.0),
                unknown: alone.as_ref().err().map(ToString::to_string),
            })
            .collect();
        limits.sort_by(|a, b| b.alone_s.unwrap_or(-1.0).total_cmp(&a.alone_s.unwrap_or(-1.0)));
        self.limits.extend(limits);
        let moved = [v.l1_requested, v.l2_load_compulsory, v.l2_load, v.l2_store, v.dram_load_wave, v.dram_load, v.dram_store];
        let volume =
            |((key, level), moved_per_point): (&(&str, &'static str), _)| Volume { of: own(), tag: tag(key), level, moved_per_point };
        self.volumes.extend(LEVELS.iter().zip(moved).map(volume));
        let part = |level: &str, part: &str, moved_per_point: f64| {
            let level = LEVELS.iter().find(|own| own.0 == level).map_or(level, |own| own.1);
            Part { of: own(), tag: Tag::Predicted, level: level.to_owned(), part: part.to_owned(), moved_per_point }
        };
        self.causes.extend(v.by_cause.iter().map(|(cause, bytes)| {
            let (level, cause) = cause.split_once(": ").unwrap_or(("volume", cause));
            part(level, cause, *bytes)
        }));
        for field in &v.per_field {
            let counted =
                [("l1_requested", field.l1_requested), ("l2_load_compulsory", field.l2_load_compulsory), ("l2_store", field.l2_store)];
            let memory = [("dram_load", field.dram_load), ("dram_store", field.dram_store)];
            let known = memory.into_iter().filter_map(|(level, bytes)| Some((level, bytes?)));
            self.fields.extend(counted.into_iter().chain(known).map(|(level, bytes)| part(level, &field.field, bytes)));
        }
        self.changes.extend(what_if.changes.iter().map(|change| Changed {
            of: own(),
            tag: Tag::Predicted,
            change: words(&change.what),
            changed_s: change.seconds.0,
            less_percent: 100.0 * (1.0 - change.seconds.0 / r.seconds.0),
        }));
        self.sensitivities.extend(what_if.elasticities.iter().map(|(number, elasticity)| Sensitivity {
            of: own(),
            tag: Tag::Predicted,
            number: number.clone(),
            raised_percent: 1.0,
            time_percent: *elasticity,
        }));
        self.notes.extend(r.provenance.iter().map(|note| Note { of: own(), note: note.clone() }));
    }

    /// As a page.
    pub fn html(&self) -> String {
        let mut kernels: Vec<&str> = self.times.iter().map(|row| row.of.kernel.as_str()).collect();
        kernels.sort_unstable();
        kernels.dedup();
        let mut page = Page::new(
            &format!("{}: a prediction", kernels.join(" and ")),
            "Times and bytes are predicted by models unless a tag says measured. Bytes are those of one point.",
        );
        self.show_times(&mut page);
        self.show_limits(&mut page);
        self.show_volumes(&mut page);
        self.show_what_if(&mut page);
        page.section("notes", "Where numbers come from", "");
        page.table(
            &self.notes,
            "/notes",
            &[column!(of.kernel, "kernel"), column!(of.device, "device"), column!(note, "what is to be said")],
        );
        page.finish()
    }

    fn show_times(&self, page: &mut Page) {
        page.section(
            "times",
            "Time",
            "The bar is the time, its colour the limiter; the thin line is the interval in which it is expected.",
        );
        let bars: Vec<Bar> = self
            .times
            .iter()
            .enumerate()
            .map(|(i, row)| Bar {
                name: row.of.name(),
                pieces: vec![piece(row.limiter.unwrap_or("nothing"), (0.0, row.time_s), limiter_colour(row.limiter.unwrap_or_default()))],
                range: Some((row.least_s, row.most_s)),
                number: Some(Number { unit: Unit::Micros, value: row.time_s, at: format!("/times/{i}/time_s") }),
                tag: row.tag,
            })
            .collect();
        page.bars(&bars);
        let mut limiters: Vec<&str> = self.times.iter().filter_map(|row| row.limiter).collect();
        limiters.sort_unstable();
        limiters.dedup();
        page.legend(limiters.iter().map(|name| (limiter_colour(name), *name)));
        page.table(
            &self.times,
            "/times",
            &[
                column!(of.kernel, "kernel"),
                column!(of.device, "device"),
                column!(tag, "tag", Tag),
                column!(block, "block"),
                column!(time_s, "time", Micros),
                column!(least_s, "least", Micros),
                column!(most_s, "most", Micros),
                column!(points_per_second, "points per second"),
                column!(limiter, "limiter"),
                column!(blocks, "blocks per core"),
                column!(warps, "warps per core"),
                column!(waves, "waves"),
                column!(tail_efficiency, "tail efficiency"),
            ],
        );
        let columns: [Column<Time>; 3] = [column!(of.kernel, "kernel"), column!(of.device, "device"), column!(basis, "interval")];
        page.details("What the intervals rest on", |page| page.table(&self.times, "/times", &columns));
        if !self.refused.is_empty() {
            page.table(&self.refused, "/refused", &[column!(device, "device"), column!(reason, "why there is no answer")]);
        }
    }

    fn show_limits(&self, page: &mut Page) {
        page.section("limits", "Limits", "What each limiter would take alone. All devices have one axis.");
        let most = self.limits.iter().filter_map(|row| row.alone_s).fold(0.0, f64::max);
        page.beside(self.subjects(), |page, of| {
            let own = self.limits.iter().enumerate().filter(|(_, row)| row.of == *of);
            let bars: Vec<Bar> = own
                .filter_map(|(i, row)| {
                    let alone = row.alone_s?;
                    Some(Bar {
                        name: row.limiter.to_owned(),
                        pieces: vec![piece(row.limiter, (0.0, alone), limiter_colour(row.limiter))],
                        range: None,
                        number: Some(Number { unit: Unit::Micros, value: alone, at: format!("/limits/{i}/alone_s") }),
                        tag: row.tag,
                    })
                })
                .collect();
            page.part(&of.name());
            page.bars_to(&bars, most);
        });
        let unknown: Vec<(usize, &Limit)> = self.limits.iter().enumerate().filter(|(_, row)| row.unknown.is_some()).collect();
        if !unknown.is_empty() {
            let columns: [Column<Limit>; 4] = [
                column!(of.kernel, "kernel"),
                column!(of.device, "device"),
                column!(limiter, "limiter"),
                column!(unknown, "unknown because"),
            ];
            page.details("What is unknown", |page| page.table_of(&unknown, "/limits", &columns));
        }
    }

    fn show_volumes(&self, page: &mut Page) {
        page.section("volumes", "Volumes", "Bytes that each level moves, by what causes it and by field. All devices have one axis.");
        for (title, parts, at) in [("By cause", &self.causes, "/causes"), ("By field", &self.fields, "/fields")] {
            let names = largest(parts);
            let all: Vec<(&Subject, Vec<Bar>)> = self.subjects().map(|of| (of, self.stacked(of, parts, &names))).collect();
            let ends = all.iter().flat_map(|own| &own.1).flat_map(|bar| &bar.pieces).map(|piece| piece.to);
            let most = ends.fold(0.0, f64::max);
            page.part(title);
            page.beside(all.iter(), |page, (of, bars)| {
                page.text(&of.name());
                page.bars_to(bars, most);
            });
            let shown = names.iter().take(COLOURED).copied().enumerate();
            page.legend(shown.chain((names.len() > COLOURED).then_some((COLOURED, "all others"))));
            let columns: [Column<Part>; 6] = [
                column!(of.kernel, "kernel"),
                column!(of.device, "device"),
                column!(tag, "tag", Tag),
                column!(level, "level"),
                column!(part, "of"),
                column!(moved_per_point, "moved", BytesPerPoint),
            ];
            page.details("All numbers", |page| page.table(parts, at, &columns));
        }
        let columns: [Column<Volume>; 5] = [
            column!(of.kernel, "kernel"),
            column!(of.device, "device"),
            column!(tag, "tag", Tag),
            column!(level, "level"),
            column!(moved_per_point, "moved", BytesPerPoint),
        ];
        page.part("By level");
        page.table(&self.volumes, "/volumes", &columns);
    }

    fn show_what_if(&self, page: &mut Page) {
        page.section(
            "what-if",
            "What if",
            "The predictions of other configurations, the fastest first, and the numbers of the profile that the time depends on.",
        );
        let most = self.changes.iter().map(|row| row.changed_s).chain(self.times.iter().map(|row| row.time_s)).fold(0.0, f64::max);
        page.beside(self.times.iter().enumerate(), |page, (i, time)| {
            let mut own: Vec<(usize, &Changed)> = self.changes.iter().enumerate().filter(|(_, row)| row.of == time.of).collect();
            own.sort_by(|a, b| a.1.changed_s.total_cmp(&b.1.changed_s));
            let now = ("as it is", time.time_s, format!("/times/{i}/time_s"), 0);
            let changed =
                own.iter().take(CHANGES).map(|(i, row)| (row.change.as_str(), row.changed_s, format!("/changes/{i}/changed_s"), 1));
            let bar = |(name, seconds, at, colour): (&str, f64, String, usize)| Bar {
                name: name.to_owned(),
                pieces: vec![piece(name, (0.0, seconds), colour)],
                range: None,
                number: Some(Number { unit: Unit::Micros, value: seconds, at }),
                tag: Tag::Predicted,
            };
            page.part(&time.of.name());
            page.bars_to(&std::iter::once(now).chain(changed).map(bar).collect::<Vec<_>>(), most);
        });
        page.part("Percent of time for a percent of a number of the profile");
        let columns: [Column<Sensitivity>; 6] = [
            column!(of.kernel, "kernel"),
            column!(of.device, "device"),
            column!(tag, "tag", Tag),
            column!(number, "number"),
            column!(raised_percent, "raised by", Percent),
            column!(time_percent, "time", Percent),
        ];
        page.table(&self.sensitivities, "/sensitivities", &columns);
        let columns: [Column<Changed>; 6] = [
            column!(of.kernel, "kernel"),
            column!(of.device, "device"),
            column!(tag, "tag", Tag),
            column!(change, "change"),
            column!(changed_s, "time", Micros),
            column!(less_percent, "less", Percent),
        ];
        page.details("All configurations that were tried", |page| {
            page.table(&self.changes, "/changes", &columns);
        });
    }

    fn subjects(&self) -> impl Iterator<Item = &Subject> {
        self.times.iter().map(|row| &row.of)
    }

    /// A bar for each level, of its parts; behind it what the level moves.
    fn stacked(&self, of: &Subject, parts: &[Part], names: &[&str]) -> Vec<Bar> {
        let mut bars: Vec<Bar> = Vec::new();
        let colour = |row: &Part| names.iter().position(|name| *name == row.part).unwrap_or(COLOURED).min(COLOURED);
        let mut own: Vec<&Part> = parts.iter().filter(|row| row.of == *of).collect();
        let levels: Vec<&str> = own.iter().map(|row| row.level.as_str()).collect();
        let level = |row: &Part| levels.iter().position(|level| *level == row.level);
        // Colours in one order, levels in theirs.
        own.sort_by_key(|row| (level(row), colour(row)));
        for row in own {
            let colour = colour(row);
            let known = self.volumes.iter().enumerate().find(|(_, own)| own.of == *of && own.level == row.level);
            let number = known.and_then(|(i, own)| {
                Some(Number { unit: Unit::BytesPerPoint, value: own.moved_per_point?, at: format!("/volumes/{i}/moved_per_point") })
            });
            if bars.last().is_none_or(|bar| bar.name != row.level) {
                let tag = known.map_or(row.tag, |(_, own)| own.tag);
                bars.push(Bar { name: row.level.clone(), pieces: vec![], range: None, number, tag });
            }
            if let Some(bar) = bars.last_mut() {
                let from = bar.pieces.last().map_or(0.0, |piece| piece.to);
                let name = format!("{}: {} B/point", row.part, shown(Unit::BytesPerPoint, row.moved_per_point));
                bar.pieces.push(piece(&name, (from, from + row.moved_per_point), colour));
            }
        }
        bars
    }
}

impl Subject {
    fn name(&self) -> String {
        format!("{} on {}", self.kernel, self.device)
    }
}

/// Names of parts, those that move most first.
fn largest(parts: &[Part]) -> Vec<&str> {
    let mut found: Vec<(&str, f64)> = Vec::new();
    for row in parts {
        match found.iter_mut().find(|own| own.0 == row.part) {
            Some(own) => own.1 += row.moved_per_point,
            None => found.push((&row.part, row.moved_per_point)),
        }
    }
    found.sort_by(|a, b| b.1.total_cmp(&a.1));
    found.into_iter().map(|own| own.0).collect()
}

fn piece(name: &str, (from, to): (f64, f64), colour: usize) -> Piece {
    Piece { name: name.to_owned(), from, to, colour }
}
