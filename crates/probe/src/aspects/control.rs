//! What control costs: a trip of a loop, a branch, a barrier; and an integer quotient.

use super::ask::{Answer, Asked, Spread, go_on, told};
use super::cores::full;
use super::kernels::Kernel;
use super::kernels::chains::{BARRIERS, Chains};
use super::kernels::pairs::{STEPS, quotients, split};
use super::steady::plan;
use super::{Aspect, Seen};
use crate::{Context, Findings, Needs, Phase};
use warpsight_ir::profile::Fact;

const NAME: &str = "control";
/// Work-items of a group that meets at barriers: few, so that any device holds them at once.
const MEETING: u32 = 64;

pub(super) fn aspect() -> Aspect {
    Aspect {
        phase: Phase {
            name: NAME,
            purpose: "seconds of a loop's trip, of a branch that all lanes take, of a barrier, and of a dependent integer quotient",
            needs: Needs::Programs,
            share: 0.2,
            plan: |context: &Context| {
                let full = full(context.device);
                plan(NAME, move |asked| costs(full).iter().try_for_each(|(_, cost, _)| go_on(cost(asked))))
            },
        },
        analyse,
    }
}

/// A way to a cost.
type Cost = Box<dyn Fn(&Asked) -> Answer<Spread>>;

/// All costs: their keys, and how they are measured in a few words.
fn costs(full: u32) -> [(&'static str, Cost, &'static str); 4] {
    let meeting = Chains { groups: 1, lanes: MEETING.min(full), chains: 1, steps: 1, waits: true }.kernel();
    let each = |kernel: Kernel, parts: f64| -> Cost {
        Box::new(move |asked| Ok(asked.trip(&kernel)?.less(trip_alone(asked)?).times(1.0 / parts)))
    };
    [
        ("loop.trip_s", Box::new(trip_alone), "what a trip takes besides its dependent multiply-adds"),
        ("int.divide_s", each(quotients(1, 1), STEPS.into()), "dependent quotients of one work-item"),
        (
            "barrier.cost_s",
            Box::new(move |asked| Ok(asked.trip(&meeting)?.times(0.5).less(trip_alone(asked)?).times(1.0 / f64::from(BARRIERS)))),
            "barriers of one group",
        ),
        ("branch.cost_s", Box::new(branch), "a trip with a branch, less one without"),
    ]
}

fn chain(steps: u32) -> Kernel {
    Chains { groups: 1, lanes: 1, chains: 1, steps, waits: false }.kernel()
}

/// Seconds of a trip whose body is empty: a longer body tells what its steps take.
fn trip_alone(asked: &Asked) -> Answer<Spread> {
    let short = asked.trip(&chain(STEPS))?;
    let long = asked.trip(&chain(5 * STEPS))?;
    Ok(short.less(long.less(short).times(0.25)))
}

/// Seconds of a branch.
fn branch(asked: &Asked) -> Answer<Spread> {
    Ok(asked.trip(&split(1, 1))?.less(asked.trip(&chain(STEPS))?))
}

fn analyse(seen: &Seen) -> Findings {
    let mut found = Findings::default();
    let asked = Asked::new(NAME, seen.records);
    for (key, cost, cite) in costs(full(seen.device)) {
        found.number(key, told(cost(&asked)).map_or_else(Fact::unknown, |cost| cost.fact(cite)));
    }
    found
}
