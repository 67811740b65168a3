//! Images of two dimensions: what a fetch takes by where it goes (paper 000, section 3), and how texels lie in memory.
//!
//! Work-items go from texel to texel, each where the texel says. By random strides a single one shows what strides to other blocks cost
//! (section 3.1, steps I to IV); several, in the patterns of figure 3 and as tiles, how they get in each other's way (section 3.2.1). Before
//! such a walk another image is read, so that every line comes from memory. Around lattices of places, again and again, they show which
//! texels share a set of the cache, which tells layouts and hashes apart. What is asked for follows from the device's limits and its warp.

mod analyse;
mod chase;
mod layout;
mod paths;
mod sharing;
mod spec;
mod timed;
mod warps;

use super::Aspect;
use super::ask::{Answer, Asked, Stop};
use super::cores::full;
use crate::{Context, Measurement, Needs, Phase, Plan, Record, Scale};
use paths::Pattern;
use spec::{Effort, FORMATS, Kind, Spec};
use std::collections::HashSet;
use warpsight_ir::{ImageFormat, TimeSource};

/// The name of the phase.
const NAME: &str = "texture";
/// Work-items that go together go so far, whatever the warp.
const TOGETHER: u32 = 64;

/// Three texels, again and again: what a hit takes.
const HIT: Kind = Kind::Lattice((3, 1), (1, 1));

/// The aspect.
pub(super) fn aspect() -> Aspect {
    let phase = Phase {
        name: NAME,
        purpose: "what fetches of images take by where they go, lines along x and y, and how texels lie in memory",
        needs: Needs::Programs,
        share: 4.0,
        plan,
    };
    Aspect { phase, analyse: analyse::analyse }
}

fn plan(context: &Context) -> Plan {
    let simulated = context.device.clock == Some(TimeSource::Simulated);
    let swept = match context.scale {
        Scale::Tiny => 256,
        _ if simulated => 512,
        Scale::Quick => 1024,
        Scale::Full => 2048,
    };
    let effort = Effort { scale: context.scale, swept, seed: context.seed };
    let most = full(context.device);
    let limits = context.device.limits.image_2d;
    let large = limits.is_none_or(|(width, height)| width.min(height) >= 1024);
    let (unrolls, parts) = figure_5(context.scale);
    let mut read = Read::default();
    Plan::reacting(move |records| {
        read.on(records);
        if !large || read.without.len() == FORMATS.len() {
            return None;
        }
        let asked = Asked::new(NAME, records);
        let open = |spec: &Spec| !read.tried.contains(&spec.name()) && !read.without.contains(&spec.format.bytes());
        let next = |specs: Vec<Spec>| specs.into_iter().find(open).map(|spec| spec.measurement(effort));
        let new = |wanted: &Measurement| !read.tried.contains(&wanted.name);
        if let Some(next) = next(alone(effort.scale)) {
            return Some(next);
        }
        let lanes = match together(&asked, most) {
            Ok(lanes) => lanes,
            Err(Stop::Wanted(wanted)) if new(&wanted) => return Some(*wanted),
            Err(_) => up_to(TOGETHER, most),
        };
        next(several(effort.scale, &lanes)).or_else(|| match sharing::shared(&asked, most, unrolls, parts) {
            Err(Stop::Wanted(wanted)) => Some(*wanted).filter(new),
            _ => None,
        })
    })
}

/// Powers of two up to a number of work-items, of a group that has no more than `full`.
fn up_to(most: u32, full: u32) -> Vec<u32> {
    (0..u32::BITS).map(|bit| 1 << bit).take_while(|lanes| *lanes <= most.min(full)).collect()
}

/// Work-items that go together: up to a warp, at least.
fn together(asked: &Asked, full: u32) -> Answer<Vec<u32>> {
    Ok(up_to(sharing::warp(asked, full)?.max(TOGETHER), full))
}

/// Fetches under way, and parts of a group, that figure 5 of paper 000 is made of.
fn figure_5(scale: Scale) -> (&'static [u32], &'static [u32]) {
    match scale {
        Scale::Full => (&[1, 2, 4, 8, 16], &[1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16]),
        Scale::Quick => (&[1, 16], &[1, 2, 4, 8, 16]),
        Scale::Tiny => (&[1], &[1]),
    }
}

/// What was read of records that were there before.
#[derive(Default)]
struct Read {
    records: usize,
    tried: HashSet<String>,
    /// Bytes of texels that the device has no images of.
    without: HashSet<u32>,
}

impl Read {
    fn on(&mut self, records: &[Record]) {
        for record in &records[self.records.min(records.len())..] {
            self.tried.insert(record.name.clone());
            for format in FORMATS.iter().filter(|_| !record.ran()) {
                if record.name == (Spec { format: *format, lanes: 1, kind: Kind::Start }).name() {
                    self.without.insert(format.bytes());
                }
            }
        }
        self.records = records.len();
    }
}

/// Walks of each scale: how many by random strides, of which formats several work-items make some, and how many around lattices.
fn walks(scale: Scale) -> (u32, &'static [ImageFormat], usize) {
    match scale {
        Scale::Full => (64, &FORMATS[..2], 96),
        Scale::Quick => (28, &FORMATS[..1], 48),
        Scale::Tiny => (2, &FORMATS[..1], 2),
    }
}

/// What one work-item does at first, which tells most.
fn alone(scale: Scale) -> Vec<Spec> {
    let kinds = || [Kind::Start, HIT].into_iter().chain((0..walks(scale).0).map(Kind::Strides));
    FORMATS.into_iter().flat_map(|format| kinds().map(move |kind| Spec { format, lanes: 1, kind })).collect()
}

/// What these numbers of work-items do together, and then one where lines and layouts show.
fn several(scale: Scale, together: &[u32]) -> Vec<Spec> {
    let (_, warps, lattices) = walks(scale);
    let together = || together.iter().copied().filter(|lanes| scale != Scale::Tiny || *lanes <= 4);
    let mut all: Vec<Spec> = vec![];
    let mut put = |format: ImageFormat, lanes: u32, kind: Kind| all.push(Spec { format, lanes, kind });
    for &format in warps {
        together().filter(|lanes| *lanes > 1).for_each(|lanes| put(format, lanes, Kind::Start));
        for lanes in together() {
            Pattern::ALL.into_iter().for_each(|pattern| put(format, lanes, Kind::Pattern(pattern)));
            if lanes > 1 {
                (0..3).for_each(|number| put(format, lanes, Kind::Strides(number)));
                together().filter(|across| *across <= lanes).for_each(|across| put(format, lanes, Kind::Tile(across)));
            }
        }
    }
    for format in FORMATS {
        put(format, 1, Kind::Pair((0, 0)));
        for near in [1, 2, 4, 8, 16].into_iter().take(if scale == Scale::Tiny { 1 } else { 5 }) {
            put(format, 1, Kind::Pair((near, 0)));
            put(format, 1, Kind::Pair((0, near)));
        }
    }
    layout::lattices(lattices).into_iter().for_each(|(counts, apart)| put(ImageFormat::Rgba32F, 1, Kind::Lattice(counts, apart)));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Outcome;
    use std::collections::BTreeSet;

    /// Names of all that is asked of a device whose warps have so many lanes; of none where these do not wait for each other.
    fn names(warp: u32) -> Vec<String> {
        let info = warpsight_run::open("sim:adreno640", &warpsight_run::Options::default()).expect("a device").info().clone();
        let mut plan = plan(&Context { device: &info, scale: Scale::Quick, seed: 1 });
        let mut records: Vec<Record> = vec![];
        while let Some(measurement) = plan.ask(&records) {
            let name = &measurement.name;
            let number = |word: &str| name.split(&format!(" {word} ")).nth(1)?.split(' ').next()?.parse::<u32>().ok();
            let ways = if name.starts_with("split") && number("by").is_some_and(|block| block < warp) { 2.0 } else { 1.0 };
            let trips = name.split(' ').rev().nth(1).and_then(|trips| trips.parse::<f64>().ok()).unwrap_or(1.0);
            let times_s = vec![1e-6 + 1e-6 * trips * ways; 3];
            records.push(Record { times_s, outcome: Outcome::Verified, ..Record::skipped(NAME, name, "") });
        }
        records.into_iter().map(|record| record.name).collect()
    }

    /// As many work-items go together as a warp has, and parts of a group are warps.
    #[test]
    fn work_items_go_together_up_to_a_warp() {
        for (warp, most, part) in [(128, 128, 128), (16, 64, 16), (1, 64, 64)] {
            let names = names(warp);
            let lanes: BTreeSet<u32> = names.iter().filter_map(|name| name.split(" of ").nth(1)?.parse().ok()).collect();
            assert_eq!(lanes.last(), Some(&most), "{lanes:?}");
            assert!(names.iter().any(|name| name.contains(&format!("tile {most} of {most}"))), "{names:?}");
            let reads: Vec<&String> = names.iter().filter(|name| name.starts_with("reads")).collect();
            assert!(!reads.is_empty() && reads.iter().all(|name| name.contains(&format!(" by {part} "))), "{reads:?}");
        }
    }
}
