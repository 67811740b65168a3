//! Images of two dimensions: what a fetch takes by where it goes (paper 000, section 3), and how texels lie in memory.
//!
//! Work-items go from texel to texel, each where the texel says. By random strides a single one shows what strides to other blocks cost
//! (section 3.1, steps I to IV); several, in the patterns of figure 3 and as tiles, how they get in each other's way (section 3.2.1). Before
//! such a walk another image is read, so that every line comes from memory. Around lattices of places, again and again, they show which
//! texels share a set of the cache, which tells layouts and hashes apart. What is asked for follows from the device's limits alone.

mod analyse;
mod chase;
mod layout;
mod paths;
mod sharing;
mod spec;
mod timed;
mod warps;

use super::Aspect;
use super::ask::{Asked, Stop};
use super::cores::full;
use crate::{Context, Needs, Phase, Plan, Record, Scale};
use paths::Pattern;
use spec::{Effort, FORMATS, Kind, Spec};
use std::collections::HashSet;
use warpsight_ir::{ImageFormat, TimeSource};

/// The name of the phase.
const NAME: &str = "texture";
/// Work-items that go together.
const TOGETHER: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];

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
    let specs: Vec<Spec> = if limits.is_none_or(|(width, height)| width.min(height) >= 1024) { specs(context.scale, most) } else { vec![] };
    let (unrolls, parts) = figure_5(context.scale);
    let mut read = Read::default();
    Plan::reacting(move |records| {
        read.on(records);
        if specs.is_empty() || read.without.len() == FORMATS.len() {
            return None;
        }
        let next = specs.iter().find(|spec| !read.tried.contains(&spec.name()) && !read.without.contains(&spec.format.bytes()));
        next.map(|spec| spec.measurement(effort)).or_else(|| {
            let shared = sharing::shared(&Asked::new(NAME, records), most, unrolls, parts);
            let next = if let Err(Stop::Wanted(measurement)) = shared { Some(*measurement) } else { None };
            next.filter(|next| !read.tried.contains(&next.name))
        })
    })
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

/// Everything that is asked for, what tells most first.
fn specs(scale: Scale, most: u32) -> Vec<Spec> {
    let (walks, warps, lattices) = match scale {
        Scale::Full => (64, &FORMATS[..2], 96),
        Scale::Quick => (28, &FORMATS[..1], 48),
        Scale::Tiny => (2, &FORMATS[..1], 2),
    };
    let together = || TOGETHER.into_iter().filter(|lanes| *lanes <= most && (scale != Scale::Tiny || *lanes <= 4));
    let mut all: Vec<Spec> = vec![];
    let mut put = |format: ImageFormat, lanes: u32, kind: Kind| all.push(Spec { format, lanes, kind });
    for format in FORMATS {
        put(format, 1, Kind::Start);
        put(format, 1, HIT);
        (0..walks).for_each(|number| put(format, 1, Kind::Strides(number)));
    }
    for &format in warps {
        together().filter(|lanes| *lanes > 1).for_each(|lanes| put(format, lanes, Kind::Start));
        for lanes in together() {
            Pattern::ALL.into_iter().for_each(|pattern| put(format, lanes, Kind::Pattern(pattern)));
            if lanes > 1 {
                (0..3).for_each(|number| put(format, lanes, Kind::Strides(number)));
                let across = TOGETHER.into_iter().filter(|across| *across <= lanes);
                across.for_each(|across| put(format, lanes, Kind::Tile(across)));
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
