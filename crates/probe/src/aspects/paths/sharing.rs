//! Which ways have their nearest cache in common: walks that fit it one by one, and take turns.

use super::super::Seen;
use super::super::ask::{Answer, Asked, Spread, go_on, told};
use super::super::kernels::turns::{Leg, STRIDE, turns};
use super::{NAME, has_images};
use crate::kernels::walk::Route;
use crate::{Context, Finding, Findings, Scale};
use warpsight_ir::ImageKind;
use warpsight_ir::profile::{Fact, Source};
use warpsight_run::DeviceInfo;

/// Bytes of the shortest walk, and of the longest of anything.
const SHORTEST: u32 = 2 * STRIDE;
const LONGEST: u64 = 1 << 20;
/// Loads that miss the nearest cache take so much longer at least.
const LONGER: f64 = 1.12;
/// Ways, two by two, as keys have them. `buffer` is one that is read alone, for which compilers may take a path of its own (CUDA's read-only one);
/// `data` may be written.
const PAIRS: [(&str, &str); 6] =
    [("texture", "buffer"), ("texture", "constant"), ("buffer", "constant"), ("texture", "data"), ("buffer", "data"), ("constant", "data")];
/// Caches of a core.
const NEAREST: [&str; 3] = ["texture.l1", "buffer.l1", "constant.l1"];

/// A way to read, and how far walks on it reach.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    word: &'static str,
    route: Route,
    longest: u32,
}

/// Those that a device has.
pub(super) fn ways(context: &Context) -> Vec<Way> {
    of(context.device, if context.scale == Scale::Tiny { 8 << 10 } else { LONGEST })
}

fn of(device: &DeviceInfo, longest: u64) -> Vec<Way> {
    let way = |word, route: Route| {
        // At most 2²⁰.
        let longest = route.most_bytes(device).min(longest) as u32;
        (longest >= 2 * SHORTEST).then_some(Way { word, route, longest })
    };
    let kinds = [ImageKind::Image1dBuffer, ImageKind::Image1d, ImageKind::Image2d];
    let images = kinds.into_iter().filter(|_| has_images(device)).find_map(|kind| way("texture", Route::Image(kind)));
    let others = [("buffer", Route::Buffer), ("constant", Route::Constant), ("data", Route::Data)];
    images.into_iter().chain(others.into_iter().filter_map(|(word, route)| way(word, route))).collect()
}

/// A walk that the nearest cache of a way still holds, and whether one of twice its range was seen to miss.
fn fits(asked: &Asked, way: Way) -> Answer<(Leg, bool)> {
    let leg = |range| Leg { route: way.route, range };
    let mut range = SHORTEST;
    let mut least = f64::INFINITY;
    while range <= way.longest {
        let step = asked.trip(&turns(&[leg(range)]))?.value / f64::from(leg(range).steps());
        if step > LONGER * least {
            return Ok((leg(range / 2), true));
        }
        least = least.min(step);
        range *= 2;
    }
    Ok((leg(range / 2), false))
}

/// Of two ways whether their walks, one after the other, take longer than alone; and whether both fill what holds them.
fn slowed(asked: &Asked, a: Way, b: Way) -> Answer<(f64, bool)> {
    let ((first, first_ends), (second, second_ends)) = (fits(asked, a)?, fits(asked, b)?);
    let alone = asked.trip(&turns(&[first]))?.value + asked.trip(&turns(&[second]))?.value;
    Ok((asked.trip(&turns(&[first, second]))?.value / alone, first_ends && second_ends))
}

/// All pairs of ways that there are.
pub(super) fn pairs(asked: &Asked, ways: &[Way]) -> Answer<()> {
    for (a, b) in PAIRS {
        if let (Some(a), Some(b)) = (find(ways, a), find(ways, b)) {
            go_on(slowed(asked, a, b))?;
        }
    }
    Ok(())
}

fn find(ways: &[Way], word: &str) -> Option<Way> {
    ways.iter().copied().find(|way| way.word == word)
}

pub(super) fn analyse(seen: &Seen, found: &mut Findings) {
    let asked = Asked::new(NAME, seen.records);
    // The records do not say at which scale they were measured, but tell how far walks reached.
    let all = of(seen.device, LONGEST);
    for (a, b) in PAIRS {
        let fact = match (find(&all, a), find(&all, b)) {
            (Some(first), Some(second)) => match told(slowed(&asked, first, second)) {
                Ok((longer, _)) if longer > LONGER => {
                    let evidence = format!("walks that each fit the nearest cache take {longer:.2} times as long in turns");
                    Fact::known("shared".to_owned(), Source::Measured, evidence)
                }
                Ok((longer, true)) => {
                    let evidence = format!("walks that each nearly fill the nearest cache take {longer:.2} times as long in turns");
                    Fact::known("apart".to_owned(), Source::Measured, evidence)
                }
                Ok((_, false)) => Fact::unknown("walks as long as they may be miss no cache, so that a shared one may hold both"),
                Err(why) => Fact::unknown(why),
            },
            _ => Fact::absent("the driver lists no such way to read"),
        };
        found.facts.insert(format!("cache.{a}_and_{b}"), Finding::Word(fact));
    }
    let Some(cores) = seen.found.get("cores") else { return };
    for level in NEAREST {
        if let Some(Finding::Number(Fact::Known { value, lo, hi, .. })) = seen.found.facts.get(&format!("{level}.instances")) {
            let cite = format!("{value} caches of {cores} cores");
            let [lo, hi] = [lo, hi].map(|end| end.unwrap_or(*value));
            found.number(format!("{level}.per_core"), Spread { lo, value: *value, hi }.times(1.0 / cores).fact(cite));
        }
    }
}
