//! Sums that several work-items share through local memory, against sums of one: up to how many of them sharing gains (α of paper 001, section 4).

use super::ask::{Answer, Asked, Series, Spread, Stop, points, told};
use super::kernels::parts::{LANES, PARTS, Sums};
use super::steady::plan;
use super::timer::unknown;
use super::{Aspect, Seen};
use crate::{Context, Curve, Findings, Needs, Phase};
use warpsight_ir::profile::Fact;

const NAME: &str = "split";
/// Blocks of sums at most.
const MOST: u32 = 1 << 16;
/// What gains less than this part, gains nothing.
const GAINS: f64 = 0.03;

pub(super) fn aspect() -> Aspect {
    Aspect {
        phase: Phase {
            name: NAME,
            purpose: "work-items of a launch up to which splitting their sums by local memory gains",
            needs: Needs::Programs,
            share: 0.5,
            plan: |_: &Context| plan(NAME, gains),
        },
        analyse,
    }
}

/// What a launch of so many blocks takes longer unsplit, as a factor.
fn gain(asked: &Asked, blocks: u32) -> Answer<Spread> {
    let trip = |split| asked.trip(&Sums { blocks, split }.kernel());
    Ok(trip(false)?.over(trip(true)?))
}

/// The most blocks, in steps of an eighth or so, of which splitting still gains, and gains by blocks.
fn gains(asked: &Asked) -> Answer<(Option<[u32; 2]>, Series<u32>)> {
    let mut by_blocks = vec![];
    let mut gaining = |blocks: u32| -> Answer<bool> {
        let gain = gain(asked, blocks)?;
        by_blocks.push((blocks, gain));
        Ok(gain.value > 1.0 + GAINS)
    };
    let (mut low, mut high) = (None, 1);
    while gaining(high)? {
        low = Some(high);
        high *= 2;
        if high > MOST {
            return Err(Stop::Refused(format!("splitting gains up to {MOST} blocks of {LANES} sums")));
        }
    }
    let found = match low {
        Some(mut low) => {
            while high - low > (low / 8).max(1) {
                let middle = low + (high - low) / 2;
                if gaining(middle)? { low = middle } else { high = middle }
            }
            Some([low, high])
        }
        None => None,
    };
    by_blocks.sort_by_key(|(blocks, _)| *blocks);
    Ok((found, by_blocks))
}

fn analyse(seen: &Seen) -> Findings {
    let mut found = Findings::default();
    let (ends, by_blocks) = match told(gains(&Asked::new(NAME, seen.records))) {
        Ok(gains) => gains,
        Err(why) => {
            unknown(&mut found, &["local.split", "local.split_items"], &why);
            return found;
        }
    };
    let items = ends.map(|ends| ends.map(|blocks| f64::from(blocks * LANES)));
    let cite = format!("launches of so many sums gain where {PARTS} work-items share each");
    let (split, alpha) = match items {
        None => {
            let evidence = format!("a launch of {LANES} sums does not gain where {PARTS} work-items share each");
            (Fact::absent(&*evidence), Fact::absent(evidence))
        }
        Some([low, high]) => {
            let spread = Spread { lo: low, value: low, hi: high };
            let lanes = seen.found.get("alu.per_core").zip(seen.found.get("cores")).map(|(alus, cores)| alus * cores);
            let alpha = match lanes {
                Some(lanes) => spread.times(1.0 / lanes).fact(format!("{cite}, by ALUs of all cores")),
                None => Fact::unknown("the number of ALUs is unknown"),
            };
            (spread.fact(cite), alpha)
        }
    };
    found.number("local.split_items", split);
    found.number("local.split", alpha);
    found.curves.push(Curve {
        title: format!("what splitting sums among {PARTS} work-items gains against the number of sums"),
        figure: Some("001, table 1".into()),
        x: format!("blocks of {LANES} sums"),
        y: "times as fast".into(),
        log_x: true,
        points: points(&by_blocks),
        changes: ends.map(|ends| f64::from(ends[0])).into_iter().collect(),
        ..Curve::default()
    });
    found
}
