//! Work-items that go together: the patterns of paper 000, figure 4, and tiles.

use super::super::Seen;
use super::super::ask::{self, Asked, Spread, told};
use super::super::cores::full;
use super::super::timer::unknown;
use super::paths::Pattern;
use super::spec::{FORMATS, Kind};
use super::timed::Timed;
use crate::{Curve, Finding, Findings, Outcome};
use std::collections::BTreeMap;
use warpsight_ir::profile::{Fact, Source};
use warpsight_ir::texture::{Path, TexelFit};

/// Whether walks by as many lanes as were asked for at most were made: of fewer, what is said of the most would be said of others. Where a run ended
/// early that is not so.
pub(super) fn whole(seen: &Seen, timed: &[Timed]) -> bool {
    // What was tried again is what it came to.
    let last: BTreeMap<&str, &Outcome> =
        seen.records.iter().filter(|record| record.phase == super::NAME).map(|record| (&*record.name, &record.outcome)).collect();
    let late = |outcome: &&Outcome| matches!(outcome, Outcome::Skipped { later: true, .. });
    let full = full(seen.device);
    let most = told(super::together(&Asked::new(super::NAME, seen.records), full)).ok().and_then(|lanes| lanes.last().copied());
    let tiles = timed.iter().filter(|own| matches!(own.spec.kind, Kind::Tile(across) if Some(across) == most));
    !last.values().any(late) || tiles.count() > 0
}

/// Why what is said of the most lanes is unknown.
pub(super) const LATE: &str = "there was no time for walks by as many work-items as were asked for";

/// Figure 4 of paper 000: throughput of each pattern by work-items, beside that of one that goes down a column; what of it is kept by the most
/// lanes is unknown where not all walks were made.
pub(super) fn scaling(timed: &[Timed], whole: bool, findings: &mut Findings) {
    let format = FORMATS[0];
    let of = |pattern: Pattern| {
        let own = timed.iter().filter(move |own| own.spec.kind == Kind::Pattern(pattern) && own.spec.format == format);
        let mut rates: Vec<(u32, Spread)> = own.map(|own| (own.spec.lanes, own.seconds().under(f64::from(own.spec.lanes)))).collect();
        rates.sort_by_key(|rate| rate.0);
        rates
    };
    let one = of(Pattern::Column).first().filter(|rate| rate.0 == 1).map(|rate| rate.1);
    let Some(one) = one else { return };
    for pattern in Pattern::ALL {
        let rates = of(pattern);
        let Some(alone) = rates.first().filter(|rate| rate.0 == 1).map(|rate| rate.1) else { continue };
        let key = |of: &str| format!("texture.scaling.{}.{of}", pattern.word());
        let cite = "fetches a second of one work-item, those of a column 1 (paper 000, figure 4)";
        findings.number(key("gain"), alone.over(one).fact(cite));
        if !whole {
            unknown(findings, &[&key("kept")], LATE);
        } else if let Some(&(lanes, rate)) = rates.last() {
            let cite =
                format!("fetches a second of {lanes} work-items, those of one of the same pattern {lanes} times (paper 000, figure 4)");
            findings.number(key("kept"), rate.over(alone).times(1.0 / f64::from(lanes)).fact(cite));
        }
        findings.curves.push(Curve {
            title: format!("Scaling of fetches, pattern {}", pattern.word()),
            figure: Some("000, figure 4".into()),
            x: "work-items that go together".into(),
            y: "fetches a second, of one down a column".into(),
            log_x: true,
            model: rates.iter().map(|rate| [f64::from(rate.0), f64::from(rate.0) * alone.value / one.value]).collect(),
            points: ask::points(&rates.iter().map(|rate| (rate.0, rate.1.times(1.0 / one.value))).collect::<Vec<_>>()),
            ..Curve::default()
        });
    }
}

/// How much longer lanes of a warp take that go places of their own than those of the best tile, whose lines they share.
pub(super) fn locality(timed: &[Timed], warp: u32, findings: &mut Findings) {
    let own = || timed.iter().filter(|own| own.spec.format == FORMATS[0] && (2..=warp).contains(&own.spec.lanes));
    let Some(lanes) = own().map(|own| own.spec.lanes).max() else { return };
    let own = || own().filter(|own| own.spec.lanes == lanes);
    let tile = own().filter(|own| matches!(own.spec.kind, Kind::Tile(_))).map(Timed::seconds).min_by(|a, b| a.value.total_cmp(&b.value));
    let apart: Vec<Spread> = own().filter(|own| matches!(own.spec.kind, Kind::Strides(_))).map(Timed::seconds).collect();
    let Some(tile) = tile.filter(|_| !apart.is_empty()) else { return };
    let cite = format!("{lanes} lanes that go their own ways by strides take so many times as long as those of the best tile");
    let mean = |of: fn(&Spread) -> f64| apart.iter().map(of).sum::<f64>() / apart.len() as f64;
    let mean = Spread { lo: mean(|own| own.lo), value: mean(|own| own.value), hi: mean(|own| own.hi) };
    findings.number("texture.locality.warp", mean.over(tile).fact(cite));
}

/// Which shape of a tile the largest group that goes together fetches fastest.
pub(super) fn tiles(timed: &[Timed], warp: u32, fit: Option<&TexelFit>, findings: &mut Findings) {
    let lanes = timed.iter().filter(|own| matches!(own.spec.kind, Kind::Tile(_))).map(|own| own.spec.lanes).max();
    let Some(lanes) = lanes else { return };
    let own = timed.iter().filter(|own| own.spec.lanes == lanes && own.spec.format == FORMATS[0]);
    let mut shapes: Vec<(u32, Spread)> = own
        .filter_map(|own| match own.spec.kind {
            Kind::Tile(across) => Some((across, own.seconds())),
            _ => None,
        })
        .collect();
    shapes.sort_by_key(|shape| shape.0);
    let Some(best) = shapes.iter().min_by(|a, b| a.1.value.total_cmp(&b.1.value)) else { return };
    let cite = format!("tiles of {lanes} work-items at places by chance");
    let word = format!("{} x {}", best.0, lanes / best.0);
    findings.facts.insert("texture.warp_shape.best".into(), Finding::Word(Fact::known(word, Source::Measured, cite.clone())));
    for (across, seconds) in &shapes {
        findings.number(format!("texture.warp_shape.{across}x{}.fetch_s", lanes / across), seconds.fact(cite.clone()));
    }
    let walks = timed.iter().filter(|own| own.spec.lanes == lanes && own.spec.format == FORMATS[0]);
    let model = walks.filter_map(|own| match (own.spec.kind, fit) {
        (Kind::Tile(across), Some(fit)) if lanes <= warp => {
            Some([f64::from(across), fit.seconds(&Path::new(lanes as usize, &own.texels)).0])
        }
        _ => None,
    });
    let mut model: Vec<[f64; 2]> = model.collect();
    model.sort_by(|a, b| a[0].total_cmp(&b[0]));
    findings.curves.push(Curve {
        title: format!("Seconds of a fetch by {lanes} work-items against the width of their tile"),
        figure: None,
        x: "texels across".into(),
        y: "s".into(),
        log_x: true,
        points: ask::points(&shapes),
        model,
        ..Curve::default()
    });
}
