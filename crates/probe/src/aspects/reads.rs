//! How buffers are read and written: by accesses of how many words.

use super::ask::{Answer, Asked, Spread, go_on, points, series, told};
use super::cores::{cores, full};
use super::kernels::streams::{Streamed, Swept};
use super::steady::plan;
use super::{Aspect, Seen};
use crate::{Context, Curve, Findings, Needs, Phase};
use warpsight_ir::profile::Fact;

const NAME: &str = "reads";
/// Words of an access.
const WIDTHS: [u32; 5] = [1, 2, 4, 8, 16];
/// Groups for every core.
const EACH: u32 = 24;
/// Bytes that are read again and again: the first level of anything holds them.
const FOOTPRINT: u64 = 2 << 10;
/// Bytes that are written, each once.
const WRITTEN: u64 = 4 << 20;
/// A width is as good as the best but for this part.
const AS_GOOD: f64 = 0.05;

pub(super) fn aspect() -> Aspect {
    Aspect {
        phase: Phase {
            name: NAME,
            purpose: "bandwidth of reads of a small footprint, and of writes, by the words of an access",
            needs: Needs::Programs,
            share: 0.3,
            plan: |context: &Context| {
                let (full, seed) = (full(context.device), context.seed);
                plan(NAME, move |asked| {
                    go_on(series(WIDTHS, |width| read(asked, full, width, seed)))?;
                    series(WIDTHS, |width| written(asked, full, width, seed))
                })
            },
        },
        analyse,
    }
}

/// Bytes a second by accesses of so many words.
fn read(asked: &Asked, full: u32, width: u32, seed: u64) -> Answer<Spread> {
    let sweep = Swept::new(cores(asked, full)?.0 * EACH, width, FOOTPRINT, seed);
    Ok(asked.beyond_one(&sweep, 1)?.under(sweep.trip_bytes() as f64))
}

/// Bytes a second of stores of so many words.
fn written(asked: &Asked, full: u32, width: u32, seed: u64) -> Answer<Spread> {
    let stream = Streamed::written(cores(asked, full)?.0 * EACH, width, seed);
    Ok(asked.beyond_one(&stream, WRITTEN / stream.trip_bytes())?.under(stream.trip_bytes() as f64))
}

fn analyse(seen: &Seen) -> Findings {
    let mut found = Findings::default();
    // What is asked has the same name for any seed.
    let (asked, full, seed) = (Asked::new(NAME, seen.records), full(seen.device), 0);
    let reads = |width| read(&asked, full, width, seed);
    let width = match told(series(WIDTHS, reads)) {
        Ok(rates) => {
            let best = rates.iter().map(|(_, rate)| rate.value).fold(0.0, f64::max);
            // The smallest that reaches it, by the upper ends of rates, as measured, and by their lower ends.
            let first =
                |of: fn(&Spread) -> f64| rates.iter().find(|(_, rate)| of(rate) >= (1.0 - AS_GOOD) * best).map(|own| f64::from(own.0));
            let widest = rates.iter().map(|own| f64::from(own.0)).fold(0.0, f64::max);
            match first(|rate| rate.value) {
                Some(width) => {
                    let (lo, hi) = (first(|rate| rate.hi).unwrap_or(width), first(|rate| rate.lo).unwrap_or(widest));
                    Spread { lo, value: width, hi }.fact("words of the smallest access that reaches the best bandwidth")
                }
                None => Fact::unknown("no width was measured"),
            }
        }
        Err(why) => Fact::unknown(why),
    };
    found.number("read.width_words", width);
    shown(&mut found, "read", "bytes a second of a small footprint against the width of loads", reads);
    shown(&mut found, "write", "bytes a second of stores against their width", |width| written(&asked, full, width, seed));
    found
}

/// Every width that was measured, whatever became of others.
fn shown(found: &mut Findings, what: &str, title: &str, rate: impl Fn(u32) -> Answer<Spread>) {
    let rates: Vec<_> = WIDTHS.into_iter().filter_map(|words| Some((words, rate(words).ok()?))).collect();
    for (words, rate) in &rates {
        found.number(format!("{what}.bandwidth_x{words}"), rate.fact(format!("accesses of {words} words of every lane")));
    }
    found.curves.push(Curve {
        title: title.into(),
        figure: Some("001, figure 9".into()),
        x: "words".into(),
        y: "B/s".into(),
        log_x: true,
        points: points(&rates),
        ..Curve::default()
    });
}
