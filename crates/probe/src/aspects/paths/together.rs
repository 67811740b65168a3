//! Images and buffers at once against either alone.

use super::super::Seen;
use super::super::ask::{Answer, Asked, Spread, told};
use super::super::cores::cores;
use super::super::kernels::together::Together;
use super::NAME;
use crate::{Finding, Findings};
use warpsight_ir::profile::{Fact, Source};

/// Groups for every core, and work-items of each.
const EACH: u32 = 24;
const LANES: u32 = 64;
/// From this part of the shorter time on that is hidden, ways go on at once, and up to that they do not.
const AT_ONCE: f64 = 0.6;
const IN_TURNS: f64 = 0.3;

/// Seconds of images alone, of buffers alone, and of both.
pub(super) fn overlap(asked: &Asked, full: u32) -> Answer<[Spread; 3]> {
    let (groups, lanes) = (cores(asked, full)?.0 * EACH, LANES.min(full));
    let trip = |image, buffer| asked.trip(&Together { groups, lanes, image, buffer }.kernel());
    Ok([trip(true, false)?, trip(false, true)?, trip(true, true)?])
}

/// The part of the shorter time that is hidden when both go on: 1 where they have nothing in common, 0 where they wait for each other.
fn hidden([image, buffer, both]: [Spread; 3]) -> Spread {
    let part = |image: f64, buffer: f64, both: f64| ((image + buffer - both) / image.min(buffer)).clamp(0.0, 1.0);
    Spread {
        lo: part(image.lo, buffer.lo, both.hi),
        value: part(image.value, buffer.value, both.value),
        hi: part(image.hi, buffer.hi, both.lo),
    }
}

pub(super) fn analyse(seen: &Seen, full: u32, found: &mut Findings) {
    let (part, paths) = match told(overlap(&Asked::new(NAME, seen.records), full)) {
        Ok(times) => {
            let hidden = hidden(times);
            let evidence = format!("{:.0} % of the time of one way is hidden behind the other", 100.0 * hidden.value);
            let paths = match hidden.value {
                part if part >= AT_ONCE => Fact::known("independent".to_owned(), Source::Measured, evidence),
                part if part <= IN_TURNS => Fact::known("shared".to_owned(), Source::Measured, evidence),
                _ => Fact::unknown(format!("{evidence}: neither at once nor in turns")),
            };
            (hidden.fact("fetches of an image and loads of a buffer in one loop, against either alone"), paths)
        }
        Err(why) => (Fact::unknown(&*why), Fact::unknown(why)),
    };
    found.number("read.overlap", part);
    found.facts.insert("read.paths".into(), Finding::Word(paths));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_hidden_is_told_from_what_is_added() {
        let times = |image, buffer, both| [image, buffer, both].map(Spread::exact);
        assert_eq!(hidden(times(2.0, 3.0, 3.0)).value, 1.0);
        assert_eq!(hidden(times(2.0, 3.0, 5.0)).value, 0.0);
        assert_eq!(hidden(times(2.0, 3.0, 4.0)).value, 0.5);
    }
}
