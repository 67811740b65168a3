//! Aspects of a device: phases that react to what was measured so far, each with the analysis of its records.

mod arithmetic;
mod ask;
mod bandwidth;
mod control;
mod cores;
mod hierarchy;
mod kernels;
mod local;
mod paths;
mod reads;
mod registers;
mod split;
mod steady;
mod texture;
mod timer;
mod warp;

pub use steady::kept;

use crate::{Findings, Phase, Record};
use warpsight_ir::TimeSource;
use warpsight_ir::profile::Source;
use warpsight_run::DeviceInfo;

/// An aspect of a device: how it is measured, and what the measurements say.
pub struct Aspect {
    /// Its measurements. Its name is a word: `registers`.
    pub phase: Phase,
    /// What its records say, and those of aspects before it where it needs them.
    pub analyse: fn(&Seen) -> Findings,
}

/// What an analysis sees.
pub struct Seen<'a> {
    /// The device as its driver describes it: limits of images, say. Nothing of this is a measurement.
    pub device: &'a DeviceInfo,
    /// Records of this phase and all others.
    pub records: &'a [Record],
    /// What aspects before this one found.
    pub found: &'a Findings,
}

impl Seen<'_> {
    /// The records of a phase that ran and whose results were right.
    pub fn of<'s>(&'s self, phase: &'s str) -> impl Iterator<Item = &'s Record> {
        self.records.iter().filter(move |record| record.phase == phase && record.outcome == crate::Outcome::Verified)
    }
}

/// All aspects, in the order in which they are measured and analysed.
pub fn all() -> Vec<Aspect> {
    vec![
        timer::aspect(),
        warp::aspect(),
        arithmetic::aspect(),
        registers::aspect(),
        hierarchy::aspect(),
        texture::aspect(),
        bandwidth::aspect(),
        local::aspect(),
        control::aspect(),
        reads::aspect(),
        paths::aspect(),
        split::aspect(),
    ]
}

/// What the records of a device say: all aspects in order, each seeing what those before it found. A defect of one is noted among the
/// contradictions and costs no other anything.
pub fn analyse(device: &DeviceInfo, records: &[Record]) -> Findings {
    let mut found = each(&all(), device, &kept(records));
    found.extend(steady::analyse(records));
    found.confident();
    found.stepped();
    if device.clock == Some(TimeSource::Simulated) {
        found.from(Source::Measured, Source::Simulated);
    }
    found
}

fn each(aspects: &[Aspect], device: &DeviceInfo, records: &[Record]) -> Findings {
    let mut found = Findings::default();
    for aspect in aspects {
        match crate::battery::caught(|| (aspect.analyse)(&Seen { device, records, found: &found })) {
            Ok(own) => found.extend(own),
            Err(defect) => {
                let name = aspect.phase.name;
                found.contradictions.push(format!("the analysis of `{name}` ended early by a defect of this program: {defect}"));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpsight_ir::profile::Fact;

    fn aspect(analyse: fn(&Seen) -> Findings) -> Aspect {
        Aspect { analyse, ..timer::aspect() }
    }
    fn number(key: &str, value: f64) -> Findings {
        let mut found = Findings::default();
        found.number(key, Fact::known(value, Source::Measured, "a test"));
        found
    }

    #[test]
    fn aspects_see_what_those_before_found_whatever_became_of_others() {
        let device = warpsight_run::open("sim:adreno640", &warpsight_run::Options::default()).expect("a device").info().clone();
        let aspects = [
            aspect(|_| number("first", 2.0)),
            aspect(|_| panic!("no records")),
            aspect(|seen| number("third", 10.0 * seen.found.get("first").unwrap_or(f64::NAN))),
        ];
        let found = each(&aspects, &device, &[]);
        assert_eq!((found.get("first"), found.get("third")), (Some(2.0), Some(20.0)));
        assert!(matches!(&found.contradictions[..], [one] if one.contains("no records")), "{:?}", found.contradictions);
    }

    #[test]
    fn nothing_measured_is_nothing_known() {
        let device = warpsight_run::open("sim:adreno640", &warpsight_run::Options::default()).expect("a device").info().clone();
        let found = analyse(&device, &[]);
        assert_eq!(found.contradictions, Vec::<String>::new());
        let known: Vec<&String> = found.facts.keys().filter(|key| found.get(key).is_some()).collect();
        assert_eq!(known, ["clock.hz", "image.max_height", "image.max_width"], "the driver's words");
    }
}
