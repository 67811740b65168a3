//! How buffers are read and written: by accesses of how many words.

use super::ask::{Answer, Asked, Series, if_possible, points, told};
use super::cores::{cores, full};
use super::kernels::streams::{Streamed, Swept};
use super::steady::plan;
use super::{Aspect, Seen};
use crate::{Context, Curve, Findings, Needs, Phase};
use warpsight_ir::profile::{Fact, Source};

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
                    if_possible(by_width(asked, full, seed))?;
                    written(asked, full, seed)
                })
            },
        },
        analyse,
    }
}

/// Bytes a second by the words of an access.
fn by_width(asked: &Asked, full: u32, seed: u64) -> Answer<Series<u32>> {
    let groups = cores(asked, full)?.0 * EACH;
    let mut rates = vec![];
    for width in WIDTHS {
        let sweep = Swept::new(groups, width, FOOTPRINT, seed);
        if let Some(trip) = if_possible(asked.beyond_one(&sweep, 1))? {
            rates.push((width, trip.under(sweep.trip_bytes() as f64)));
        }
    }
    Ok(rates)
}

/// Bytes a second of stores by their words.
fn written(asked: &Asked, full: u32, seed: u64) -> Answer<Series<u32>> {
    let groups = cores(asked, full)?.0 * EACH;
    let mut rates = vec![];
    for width in WIDTHS {
        let stream = Streamed::written(groups, width, seed);
        if let Some(trip) = if_possible(asked.beyond_one(&stream, WRITTEN / stream.trip_bytes()))? {
            rates.push((width, trip.under(stream.trip_bytes() as f64)));
        }
    }
    Ok(rates)
}

fn analyse(seen: &Seen) -> Findings {
    let mut found = Findings::default();
    // What is asked has the same name for any seed.
    let rates = told(by_width(&Asked::new(NAME, seen.records), full(seen.device), 0));
    let width = match &rates {
        Ok(rates) => {
            let best = rates.iter().map(|(_, rate)| rate.value).fold(0.0, f64::max);
            match rates.iter().find(|(_, rate)| rate.value >= (1.0 - AS_GOOD) * best) {
                Some((width, _)) => {
                    Fact::known(f64::from(*width), Source::Measured, "words of the smallest access that reaches the best bandwidth")
                }
                None => Fact::unknown("no width was measured"),
            }
        }
        Err(why) => Fact::unknown(&**why),
    };
    found.number("read.width_words", width);
    shown(&mut found, "read", "bytes a second of a small footprint against the width of loads", &rates.unwrap_or_default());
    let writes = told(written(&Asked::new(NAME, seen.records), full(seen.device), 0));
    shown(&mut found, "write", "bytes a second of stores against their width", &writes.unwrap_or_default());
    found
}

fn shown(found: &mut Findings, what: &str, title: &str, rates: &Series<u32>) {
    for (words, rate) in rates {
        found.number(format!("{what}.bandwidth_x{words}"), rate.fact(format!("accesses of {words} words of every lane")));
    }
    found.curves.push(Curve {
        title: title.into(),
        figure: Some("001, figure 9".into()),
        x: "words".into(),
        y: "B/s".into(),
        log_x: true,
        points: points(rates),
        ..Curve::default()
    });
}
