//! How buffers are read: by accesses of how many words.

use super::arithmetic::{cores, full};
use super::ask::{Answer, Asked, Series, if_possible, plan, points, told};
use super::kernels::streams::Swept;
use super::{Aspect, Seen};
use crate::{Context, Curve, Findings, Needs, Phase};
use warpsight_ir::profile::{Fact, Source};

const NAME: &str = "reads";
/// Words of an access.
const WIDTHS: [u32; 3] = [1, 2, 4];
/// Groups for every core.
const EACH: u32 = 24;
/// Bytes that are read again and again: the first level of anything holds them.
const FOOTPRINT: u64 = 2 << 10;
/// A width is as good as the best but for this part.
const AS_GOOD: f64 = 0.05;

pub(super) fn aspect() -> Aspect {
    Aspect {
        phase: Phase {
            name: NAME,
            purpose: "bandwidth of a small footprint by the words of an access",
            needs: Needs::Programs,
            share: 0.3,
            plan: |context: &Context| {
                let (full, seed) = (full(context.device), context.seed);
                plan(NAME, move |asked| by_width(asked, full, seed))
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
    let rates = rates.unwrap_or_default();
    for (words, rate) in &rates {
        found.number(format!("read.bandwidth_x{words}"), rate.fact(format!("accesses of {words} words to {FOOTPRINT} bytes")));
    }
    found.curves.push(Curve {
        title: "bytes a second of a small footprint against the width of an access".into(),
        x: "words".into(),
        y: "B/s".into(),
        log_x: true,
        points: points(&rates),
        ..Curve::default()
    });
    found
}
