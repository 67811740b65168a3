//! What it takes to say where a texel lies, beside what an element of a buffer takes: one number is enough there.

use super::super::Seen;
use super::super::ask::{Answer, Asked, Spread, told};
use super::super::kernels::places::{STEPS, chase};
use super::super::timer::unknown;
use super::NAME;
use crate::Findings;

/// Seconds of a fetch whose coordinates are there, and of one whose coordinates are made of a number.
pub(super) fn costs(asked: &Asked) -> Answer<[Spread; 2]> {
    let step = |by_number| Ok(asked.trip(&chase(by_number))?.times(1.0 / f64::from(STEPS)));
    Ok([step(false)?, step(true)?])
}

pub(super) fn analyse(seen: &Seen, found: &mut Findings) {
    match told(costs(&Asked::new(NAME, seen.records))) {
        Ok([coordinates, number]) => found.number(
            "image.address_s",
            number.less(coordinates).fact(
                "what a fetch waits longer where its coordinates are a number's remainder and quotient by the width, as elements of buffers need not",
            ),
        ),
        Err(why) => unknown(found, &["image.address_s"], &why),
    }
}
