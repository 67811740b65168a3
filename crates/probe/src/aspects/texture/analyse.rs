//! What walks through images say.

use super::super::Seen;
use super::super::ask::{Asked, Spread, told};
use super::super::cores::full;
use super::super::timer::unknown;
use super::chase::Texel;
use super::layout;
use super::paths::Pattern;
use super::sharing::shared;
use super::spec::{FORMATS, Kind};
use super::timed::{Timed, timed};
use super::warps;
use crate::fit::texture::{Nearest, Sample, fit, paper000};
use crate::{Curve, Finding, Findings, Scale};
use std::collections::BTreeMap;
use warpsight_ir::profile::{Fact, Source};
use warpsight_ir::texture::paper000::Paper000;
use warpsight_ir::texture::{TexelFit, TextureFit};
use warpsight_ir::{ImageFormat, Seconds};

/// One walk of so many is kept from the fit.
const HELD_OUT: usize = 4;
/// Lanes that surely are one warp, where no warp was found.
const LANES: u32 = 4;
/// A texel is in another line where its fetch takes this many times a hit at least.
const ANOTHER: f64 = 1.1;

pub(super) fn analyse(seen: &Seen) -> Findings {
    let timed = timed(seen);
    let mut findings = Findings::default();
    let warp = warp(seen);
    let samples = samples(&timed, warp);
    let hits: BTreeMap<u32, f64> =
        timed.iter().filter(|own| own.spec.kind == super::HIT).map(|own| (own.spec.format.bytes(), own.seconds)).collect();
    fits(seen, &samples, &hits, &mut findings);
    lines(&timed, &hits, &mut findings);
    let whole = warps::whole(seen, &timed);
    warps::scaling(&timed, whole, &mut findings);
    if whole {
        warps::locality(&timed, warp, &mut findings);
        let fit = fit_of(&findings, FORMATS[0].bytes());
        warps::tiles(&timed, warp, fit.as_ref(), &mut findings);
    } else {
        unknown(&mut findings, &["texture.locality.warp", "texture.warp_shape.best"], warps::LATE);
    }
    layout::analyse(seen, &timed, &mut findings);
    sharing(seen, &mut findings);
    findings
}

/// Lanes that go together for sure.
fn warp(seen: &Seen) -> u32 {
    match seen.found.facts.get("warp.sizes") {
        Some(Finding::Numbers(fact)) => fact.get().and_then(|sizes| sizes.first()).map_or(LANES, |size| size.max(1.0) as u32),
        _ => LANES,
    }
}

/// Walks from memory by lanes of one warp.
fn samples(timed: &[Timed], warp: u32) -> Vec<Sample> {
    let own = timed.iter().filter(|own| own.spec.lanes <= warp);
    let mut number = 0;
    let own = own.filter_map(|own| {
        let pattern = match own.spec.kind {
            Kind::Strides(_) | Kind::Tile(_) => None,
            Kind::Pattern(pattern) => Some((Pattern::ALL.iter().position(|other| *other == pattern)? as u32, pattern.distance())),
            Kind::Start | Kind::Pair(_) | Kind::Lattice(..) => return None,
        };
        number += 1;
        Some(Sample {
            texel_bytes: own.spec.format.bytes(),
            lanes: own.spec.lanes as usize,
            texels: own.texels.clone(),
            seconds: own.seconds,
            pattern,
            held_out: number % HELD_OUT == 0,
        })
    });
    own.collect()
}

fn fits(seen: &Seen, samples: &[Sample], hits: &BTreeMap<u32, f64>, findings: &mut Findings) {
    let [line, capacity] = ["texture.l1.line_bytes", "texture.l1.capacity_bytes"].map(|key| seen.found.get(key));
    let nearest = |bytes: u32| Nearest { hit: hits.get(&bytes).copied(), line, capacity };
    let texels: Vec<_> = FORMATS.iter().rev().filter_map(|format| fit(samples, format.bytes(), nearest(format.bytes()))).collect();
    let published = nearest(0).lines().and_then(|lines| paper000(samples, lines));
    let errors = |errors: &mut dyn Iterator<Item = f64>| {
        let all: Vec<f64> = errors.filter(|error| error.is_finite()).collect();
        (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
    };
    // Of so many walks that no fit has seen a mean is known to two standard errors: those of walks whose errors are as large as the mean.
    let [threads, warps] = [true, false]
        .map(|thread| samples.iter().filter(|own| own.held_out && (own.lanes == 1 && own.pattern.is_none()) == thread).count());
    let cite = "paths by random strides from memory, of which one in four was kept from the fit";
    let mut error = |key: &str, several: usize, error: Option<f64>| {
        let part = (2.0 / (several.max(1) as f64).sqrt()).min(1.0);
        let spread = |error: f64| Spread { lo: error * (1.0 - part), value: error, hi: error * (1.0 + part) };
        findings.number(key, error.map_or(Fact::unknown("too few walks were measured"), |error| spread(error).fact(cite)));
    };
    error("texture.fit_error.thread", threads, errors(&mut texels.iter().map(|fit| fit.error)));
    error("texture.fit_error.warp", warps, errors(&mut texels.iter().filter_map(|fit| fit.warp_error)));
    error("texture.paper000_error.thread", threads, published.as_ref().map(|paper| paper.error).filter(|error| error.is_finite()));
    error("texture.paper000_error.warp", warps, published.as_ref().and_then(|paper| paper.warp_error));
    let fit = TextureFit { texels };
    held_out(&fit, published.as_ref(), samples, findings);
    let few = "too few walks by random strides were measured";
    let fact = if fit.texels.is_empty() { Fact::unknown(few) } else { Fact::known(fit, Source::Measured, cite) };
    findings.facts.insert("texture.fit".into(), Finding::Texture(fact));
    let fact = published.map_or(Fact::unknown(few), |paper| Fact::known(paper, Source::Measured, cite));
    findings.facts.insert("texture.paper000".into(), Finding::Paper000(fact));
}

/// What was predicted of walks that no fit has seen, against what they took.
fn held_out(fit: &TextureFit, paper: Option<&Paper000>, samples: &[Sample], findings: &mut Findings) {
    let own = || samples.iter().filter(|sample| sample.held_out);
    let ours = |sample: &Sample| fit.texels.iter().find(|own| own.texel_bytes == sample.texel_bytes).map(|own| own.seconds(&sample.path()));
    let published = |sample: &Sample| {
        let paper = paper?;
        let thread = paper.thread(sample.texel_bytes, &warpsight_ir::texture::paper000::histogram(&sample.path()))?;
        match sample.pattern {
            Some((_, distance)) => Some(paper.warp(thread, sample.lanes as f64, distance.into())),
            None => (sample.lanes == 1).then_some(thread),
        }
    };
    findings.curves.push(predictions("the fit", own().filter_map(|sample| Some((sample.seconds, ours(sample)?)))));
    findings.curves.push(predictions("paper 000", own().filter_map(|sample| Some((sample.seconds, published(sample)?)))));
}

/// Predictions of a model by what was measured.
fn predictions(name: &str, all: impl Iterator<Item = (f64, Seconds)>) -> Curve {
    let mut points: Vec<[f64; 4]> = all.map(|(measured, told)| [measured, told.0, told.0, told.0]).collect();
    points.sort_by(|a, b| a[0].total_cmp(&b[0]));
    Curve {
        title: format!("Seconds of a fetch that {name} predicts of walks it has not seen, against those measured"),
        x: "measured [s]".into(),
        y: "predicted [s]".into(),
        model: points.iter().map(|point| [point[0], point[0]]).collect(),
        points,
        ..Curve::default()
    }
}

/// Texels of a line along x and along y: the nearest that comes from memory behind one that was far.
fn lines(timed: &[Timed], hits: &BTreeMap<u32, f64>, findings: &mut Findings) {
    for format in FORMATS {
        let own = || {
            let of = |own: &Timed| match own.spec.kind {
                Kind::Pair(near) if own.spec.format == format => Some((near, own.seconds)),
                _ => None,
            };
            timed.iter().filter_map(of)
        };
        let far = own().find(|pair| pair.0 == (0, 0)).map(|pair| pair.1);
        let hit = hits.get(&format.bytes()).copied();
        for (word, of) in [("x", (|near: Texel| (near.0, near.1)) as fn(Texel) -> Texel), ("y", |near| (near.1, near.0))] {
            let key = format!("texture.line_{}b.{word}_texels", format.bytes());
            let Some((far, hit)) = far.zip(hit) else {
                findings.number(key, Fact::unknown("pairs of near texels, or what a hit takes, were not measured"));
                continue;
            };
            // Half of the fetches of a pair go far.
            let along = own().filter(|(near, _)| of(*near).0 > 0 && of(*near).1 == 0);
            let mut along: Vec<(u32, f64)> = along.map(|(near, seconds)| (of(near).0, 2.0 * seconds - far)).collect();
            along.sort_by_key(|pair| pair.0);
            let end = along.iter().find(|pair| pair.1 > ANOTHER * hit).map(|pair| pair.0);
            findings.curves.extend((!along.is_empty()).then(|| of_pairs(format, word, &along, end, [hit, far])));
            let cite = "the nearest texel whose fetch takes longer than a hit, behind one whose line was not there";
            let fact = match along.iter().position(|pair| pair.1 > ANOTHER * hit) {
                // Those between it and the last that was there were not tried.
                Some(at) => {
                    let (last, next) = (at.checked_sub(1).map_or(0, |last| along[last].0), along[at].0);
                    Spread { lo: f64::from(last + 1), value: f64::from(next), hi: f64::from(next) }.fact(cite)
                }
                None => Fact::unknown(format!("no texel up to {} away takes longer", along.last().map_or(0, |pair| pair.0))),
            };
            findings.number(key, fact);
        }
    }
}

/// The second of two texels by how far it is along one side, behind one that was far: a hit in its line, and as far where that ends.
fn of_pairs(format: ImageFormat, word: &str, along: &[(u32, f64)], end: Option<u32>, [hit, far]: [f64; 2]) -> Curve {
    Curve {
        title: format!("Seconds of a fetch so many texels along {word} from one that was far, texels of {} bytes", format.bytes()),
        figure: Some("000, figure 2".into()),
        x: "texels".into(),
        y: "s".into(),
        log_x: true,
        points: along.iter().map(|&(near, seconds)| [f64::from(near), seconds, seconds, seconds]).collect(),
        model: along.iter().map(|&(near, _)| [f64::from(near), if end.is_some_and(|end| near >= end) { far } else { hit }]).collect(),
        changes: end.map(f64::from).into_iter().collect(),
        ..Curve::default()
    }
}

/// The fit of texels of one size.
fn fit_of(findings: &Findings, texel_bytes: u32) -> Option<TexelFit> {
    match findings.facts.get("texture.fit") {
        Some(Finding::Texture(fact)) => fact.get()?.texels.iter().find(|fit| fit.texel_bytes == texel_bytes).cloned(),
        _ => None,
    }
}

/// What warps that read the same gain, and how lanes lie.
fn sharing(seen: &Seen, findings: &mut Findings) {
    let asked = Asked::new(super::NAME, seen.records);
    let tried = [Scale::Full, Scale::Quick, Scale::Tiny].map(super::figure_5);
    let answers = tried.map(|(unrolls, parts)| told(shared(&asked, full(seen.device), unrolls, parts)));
    let shared = match answers.into_iter().reduce(|first, next| first.or(next)) {
        Some(Ok(shared)) => shared,
        Some(Err(why)) => return unknown(findings, &["texture.locality.group", "texture.locality.groups", "lane.order"], &why),
        None => return,
    };
    let mut ratio = |key: &str, of: Option<Spread>, what: &str| {
        let cite = format!("{what} that read texels of their own take so many times as long as those that read the same");
        findings.number(key, of.map_or(Fact::unknown("too few work-items go together"), |of| of.fact(cite)));
    };
    ratio("texture.locality.group", shared.in_group, "parts of a group");
    ratio("texture.locality.groups", shared.across, "groups");
    let order = match shared.lanes {
        Some(order) => {
            let cite = "coordinates in whose bits work-items differ that wait for each other at a branch";
            Fact::known(order, Source::Measured, cite)
        }
        None => Fact::unknown("work-items that go different ways do not wait for each other"),
    };
    findings.facts.insert("lane.order".into(), Finding::Word(order));
    let mut unrolls: Vec<u32> = shared.by_parts.iter().map(|own| own.0).collect();
    unrolls.dedup();
    for unroll in unrolls {
        let own = shared.by_parts.iter().filter(|own| own.0 == unroll);
        findings.curves.push(Curve {
            title: format!("Seconds of a fetch of all work-items of a group that read the same, {unroll} under way"),
            figure: Some("000, figure 5".into()),
            x: format!("parts of {} work-items", shared.part),
            y: "s".into(),
            points: own.map(|(_, parts, time)| [f64::from(*parts), time.value, time.lo, time.hi]).collect(),
            ..Curve::default()
        });
    }
}
