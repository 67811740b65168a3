//! Images of simulated GPUs: what fetches take of walks that no fit has seen, where lines and layouts are, and planted faults.

use warpsight_ir::layout::ImageLayout;
use warpsight_ir::profile::{Fact, Source};
use warpsight_ir::texture::Path;
use warpsight_probe::aspects::{Aspect, Seen, all};
use warpsight_probe::{Context, Finding, Findings, Geometry, Outcome, Record, Scale, battery, profile};
use warpsight_run::{Device, Options, open};

fn opened(id: &str) -> Box<dyn Device> {
    open(id, &Options { in_process: true, cache: None, ..Options::default() }).expect("a simulated GPU")
}

fn aspect() -> Aspect {
    all().into_iter().find(|aspect| aspect.phase.name == "texture").expect("an aspect")
}

fn recorded(device: &mut dyn Device, scale: Scale) -> Vec<Record> {
    let mut plan = (aspect().phase.plan)(&Context { device: device.info(), scale, seed: 1 });
    let mut records = vec![];
    while let Some(measurement) = plan.ask(&records) {
        records.push(battery::take("texture", measurement, device).0);
    }
    records
}

/// What other aspects find of a device: its warp, and a cache of one geometry.
fn others(warp: f64, line: f64, sets: u32, ways: u32) -> Findings {
    let mut found = Findings::default();
    let known = |value: f64| Fact::known(value, Source::Measured, "said by the test");
    found.facts.insert("warp.sizes".into(), Finding::Numbers(Fact::known(vec![warp], Source::Measured, "said by the test")));
    found.number("texture.l1.line_bytes", known(line));
    found.number("texture.l1.capacity_bytes", known(line * f64::from(sets * ways)));
    let geometry = Geometry { sets, ways, hash: None, layout: None, error: 0.0 };
    found
        .facts
        .insert("texture.l1.geometries".into(), Finding::Geometries(Fact::known(vec![geometry], Source::Measured, "said by the test")));
    found
}

fn geometries(found: &Findings) -> &[Geometry] {
    match found.facts.get("texture.image2d.geometries") {
        Some(Finding::Geometries(Fact::Known { value, .. })) => value,
        other => panic!("{other:?}"),
    }
}

fn layouts(found: &Findings) -> Vec<ImageLayout> {
    geometries(found).iter().filter_map(|geometry| geometry.layout).collect()
}

/// Layouts that need no hash.
fn plain(found: &Findings) -> Vec<ImageLayout> {
    geometries(found).iter().filter(|geometry| geometry.hash.is_none()).filter_map(|geometry| geometry.layout).collect()
}

#[test]
fn adreno_640() {
    let mut device = opened("sim:adreno640");
    let records = recorded(&mut *device, Scale::Quick);
    assert!(records.iter().all(|record| record.outcome == Outcome::Verified));
    let mut found = others(64.0, 32.0, 2, 16);
    let own = (aspect().analyse)(&Seen { device: device.info(), records: &records, found: &found });
    for (key, finding) in &own.facts {
        if let Finding::Number(Fact::Known { lo, hi, source: Source::Measured, .. }) = finding {
            assert!(lo.is_some() && hi.is_some(), "{key}: {finding:?}");
        }
    }
    found.extend(own);
    let get = |key: &str| found.get(key).unwrap_or_else(|| panic!("{key}: {:?}", found.facts.get(key)));
    // A line of 32 bytes: 2 × 1 texels of 16 bytes, 2 × 2 of 8, 4 × 2 of 4.
    let lines = [16, 8, 4].map(|bytes| [get(&format!("texture.line_{bytes}b.x_texels")), get(&format!("texture.line_{bytes}b.y_texels"))]);
    assert_eq!(lines, [[2.0, 1.0], [2.0, 2.0], [4.0, 2.0]]);
    let errors = ["fit_error.thread", "fit_error.warp", "paper000_error.thread", "paper000_error.warp"];
    let errors = errors.map(|error| get(&format!("texture.{error}")));
    assert!(errors[0] < 0.02 && errors[1] < 0.1 && errors[0] < errors[2] && errors[1] < errors[3], "{errors:?}");
    assert!(layouts(&found).contains(&ImageLayout::AdrenoTiled { channels: 4, highest_bank_bit: 15 }));
    // With two sets some other orders and hashes miss as often, even rows that begin in turns in one and the other; padded ones do not.
    assert!(!plain(&found).contains(&ImageLayout::Linear { pitch_align: 64 }), "{:?}", plain(&found));
    // Patterns gain alone and lose together, as in figure 4 of paper 000.
    assert!(get("texture.scaling.row.gain") > 1.05 && get("texture.scaling.block4.gain") > get("texture.scaling.row.gain"));
    assert!(get("texture.scaling.block4.kept") < get("texture.scaling.column.kept"));
    // What models are told is what was found.
    let text = profile(&found, "probed", "a test").text();
    let read = warpsight_ir::Profile::parse(&text).unwrap_or_else(|error| panic!("{error}"));
    let fit = read.probed.texture_fit.get().expect("a fit").of(16).expect("texels of 16 bytes").clone();
    let row: Vec<(u32, u32)> = (0..64).map(|x| (x, 0)).collect();
    let column: Vec<(u32, u32)> = (0..64).map(|y| (0, y)).collect();
    assert!(matches!(found.facts.get("lane.order"), Some(Finding::Word(fact)) if fact.get().is_some_and(|order| order == "x")));
    let [along, down] = [&row, &column].map(|texels| fit.seconds(&Path::new(1, texels)).0);
    assert!(down > 1.05 * along, "{down} {along}");
    assert!(read.probed.texture_paper000.get().is_some());
    // Several layouts are left, so that none is said to be it; models take one of them, in blocks of texels.
    let several: std::collections::HashSet<String> = layouts(&found).iter().map(|layout| format!("{layout:?}")).collect();
    assert!(several.len() > 1, "{several:?}");
    assert!(
        matches!(&read.image.layout, Fact::Unknown { unknown } if unknown.contains("explain the walks alike")),
        "{:?}",
        read.image.layout
    );
    assert!(matches!(read.likely_layout(), Some(ImageLayout::AdrenoTiled { .. })), "{:?}", read.likely_layout());
}

/// A texel that is read wrongly shows, whatever the format.
#[test]
fn wrong_texels_show() {
    let mut device = opened("sim:adreno640");
    let mut plan = (aspect().phase.plan)(&Context { device: device.info(), scale: Scale::Tiny, seed: 1 });
    let (mut records, mut planted, mut wrong) = (vec![], 0, 0);
    while let Some(mut measurement) = plan.ask(&records) {
        let warpsight_run::Code::Program(program) = &mut measurement.job.programs[0] else { panic!("no Program") };
        let text = program.to_string();
        let broken = text.replace("picture@[x, y]", "picture@[x, y + 1]");
        planted += usize::from(text != broken);
        *program = warpsight_ir::text::parse(&broken).expect("a Program");
        let record = battery::take("texture", measurement, &mut *device).0;
        wrong += usize::from(record.outcome != Outcome::Verified);
        records.push(Record { outcome: Outcome::Verified, ..record });
    }
    // Where a path ends with what it should, some by chance do.
    assert!(planted >= 20 && 10 * wrong >= 8 * planted, "{wrong} of {planted}");
}

/// What is asked next depends on the records alone; formats that a device lacks are left out.
#[test]
fn a_plan_goes_on_and_leaves_out_what_is_not_there() {
    let mut device = opened("sim:mali-g76");
    let records = recorded(&mut *device, Scale::Tiny);
    for kept in [1, records.len() / 2, records.len()] {
        let mut plan = (aspect().phase.plan)(&Context { device: device.info(), scale: Scale::Tiny, seed: 1 });
        let next = plan.ask(&records[..kept]).map(|measurement| measurement.name);
        assert_eq!(next, records.get(kept).map(|record| record.name.clone()));
    }
    let mut plan = (aspect().phase.plan)(&Context { device: device.info(), scale: Scale::Tiny, seed: 1 });
    let mut refused: Vec<Record> = vec![];
    while let Some(measurement) = plan.ask(&refused) {
        let why = Outcome::Skipped { why: "no images".into(), later: false };
        refused.push(Record { outcome: why, ..Record::skipped("texture", &measurement.name, "") });
    }
    assert_eq!(refused.len(), 3, "each format is tried once");
    let found = (aspect().analyse)(&Seen { device: device.info(), records: &refused, found: &Findings::default() });
    assert!(found.facts.values().all(|finding| !matches!(finding, Finding::Number(Fact::Known { .. }))));
}

/// A clock that shows nonsense, and halves of what was measured.
#[test]
fn nonsense_is_no_number() {
    let device = opened("sim:adreno640");
    let times: [fn(usize) -> f64; 4] = [|_| 0.0, |_| 1e-9, |n| 1e-3 / (n as f64 + 1.0), |_| f64::NAN];
    for time in times {
        let mut plan = (aspect().phase.plan)(&Context { device: device.info(), scale: Scale::Tiny, seed: 1 });
        let mut records: Vec<Record> = vec![];
        while let Some(measurement) = plan.ask(&records) {
            let n = records.len();
            assert!(n < 400, "the aspect asks for more and more");
            let record =
                Record { params: measurement.params, amounts: measurement.amounts, ..Record::skipped("texture", &measurement.name, "") };
            let earlier_times_s = vec![vec![time(n + 1); 3]];
            records.push(Record { outcome: Outcome::Verified, times_s: vec![time(n); 3], earlier_times_s, ..record });
        }
        for records in [&records[..], &records[..records.len() / 2]] {
            let found = (aspect().analyse)(&Seen { device: device.info(), records, found: &others(64.0, 32.0, 2, 16) });
            for (key, finding) in &found.facts {
                if let Finding::Number(Fact::Known { value, .. }) = finding {
                    assert!(value.is_finite() && *value >= 0.0, "{key} is {value}");
                }
            }
        }
    }
}
