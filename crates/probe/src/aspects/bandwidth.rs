//! Bandwidths: of every level that buffers are read through, of memory, of writes, of images from their cache and of local memory.

use super::arithmetic::{cores, full};
use super::ask::{Answer, Asked, Spread, plan, told};
use super::kernels::loads::{Fetches, Locals};
use super::kernels::streams::{LANES, Streamed, Swept};
use super::timer::unknown;
use super::{Aspect, Seen};
use crate::{Context, Curve, Findings, Needs, Phase, Scale};
use warpsight_ir::profile::Fact;
use warpsight_run::DeviceInfo;

const NAME: &str = "bandwidth";
/// Groups for every core: enough to keep its units busy, and a number that most numbers of schedulers divide.
const EACH: u32 = 24;
/// Footprints of buffers, in bytes, doubled from one to the other.
const SMALLEST: u64 = 2 << 10;
const LARGEST: u64 = 64 << 20;
/// Sides of images, fetched from wholly.
const IMAGES: [(u32, u32); 5] = [(4, 4), (8, 8), (16, 16), (64, 64), (256, 256)];
/// Rates of a level are equal but for this part.
const LEVEL: f64 = 0.06;
/// Footprints in a row that make a level, where its size is not known.
const SIZES: usize = 3;

pub(super) fn aspect() -> Aspect {
    Aspect {
        phase: Phase {
            name: NAME,
            purpose: "bandwidth of every level and of memory, of writes, of images and of local memory",
            needs: Needs::Programs,
            share: 2.0,
            plan: |context: &Context| {
                let (limits, seed) = (Limits::of(context.device, context.scale), context.seed);
                plan(NAME, move |asked| {
                    // One after the other: what one cannot do does not keep the others back.
                    go_on(reads(asked, limits, seed))?;
                    go_on(stream(asked, limits, |groups| Streamed::read(groups, seed)))?;
                    go_on(stream(asked, limits, |groups| Streamed::written(groups, seed)))?;
                    go_on(images(asked, limits))?;
                    go_on(local(asked, limits))
                })
            },
        },
        analyse,
    }
}

/// Passes on only what is wanted.
fn go_on<T>(answer: Answer<T>) -> Answer<()> {
    super::ask::if_possible(answer).map(|_| ())
}

/// What the device takes.
#[derive(Clone, Copy)]
struct Limits {
    full: u32,
    /// Bytes of the largest footprint.
    largest: u64,
}

impl Limits {
    fn of(device: &DeviceInfo, scale: Scale) -> Self {
        let memory = device.limits.max_allocation.unwrap_or(LARGEST).min(device.limits.memory.unwrap_or(u64::MAX) / 4);
        let largest = if scale == Scale::Tiny { 64 << 10 } else { LARGEST };
        Self { full: full(device), largest: largest.min(memory) }
    }
}

/// Bytes a second by footprint.
fn reads(asked: &Asked, limits: Limits, seed: u64) -> Answer<Vec<(u64, Spread)>> {
    let groups = cores(asked, limits.full)?.0 * EACH;
    let footprints = std::iter::successors(Some(SMALLEST), |bytes| Some(2 * bytes)).take_while(|&bytes| bytes <= limits.largest);
    footprints
        .map(|footprint| {
            let sweep = Swept::new(groups, 4, footprint, seed);
            let covering = footprint / sweep.trip_bytes();
            let trip = asked.beyond_one(&sweep, covering)?;
            Ok((footprint, trip.under(sweep.trip_bytes() as f64)))
        })
        .collect()
}

/// Bytes a second of a stream through as much memory as the largest footprint.
fn stream(asked: &Asked, limits: Limits, of: impl Fn(u32) -> Streamed) -> Answer<Spread> {
    let kernel = of(cores(asked, limits.full)?.0 * EACH);
    let trip = asked.beyond_one(&kernel, limits.largest / kernel.trip_bytes())?;
    Ok(trip.under(kernel.trip_bytes() as f64))
}

/// Bytes a second of texels by the size of the image.
fn images(asked: &Asked, limits: Limits) -> Answer<Vec<(u64, Spread)>> {
    let groups = cores(asked, limits.full)?.0 * EACH;
    let rate = |(width, height)| {
        let fetches = Fetches { groups, lanes: LANES.min(limits.full), width, height };
        let kernel = fetches.kernel();
        Ok((fetches.bytes(), asked.trip(&kernel)?.under(kernel.amounts.bytes)))
    };
    IMAGES.into_iter().map(rate).collect()
}

/// Bytes a second of local memory.
fn local(asked: &Asked, limits: Limits) -> Answer<Spread> {
    let groups = cores(asked, limits.full)?.0 * EACH;
    let lanes = LANES.min(limits.full);
    let kernel = Locals { groups, lanes, width: 4, stride: 1, places: lanes.next_power_of_two() }.kernel();
    Ok(asked.trip(&kernel)?.under(kernel.amounts.bytes))
}

fn analyse(seen: &Seen) -> Findings {
    let mut found = Findings::default();
    let asked = Asked::new(NAME, seen.records);
    // The records do not say at which scale they were measured, but tell which footprints there are. What is asked has the same name for any seed.
    let [limits, rehearsed] = [Scale::Full, Scale::Tiny].map(|scale| Limits::of(seen.device, scale));
    let seed = 0;
    let limits = if reads(&asked, limits, seed).is_err() && reads(&asked, rehearsed, seed).is_ok() { rehearsed } else { limits };
    match told(reads(&asked, limits, seed)) {
        Ok(rates) => {
            levels(&mut found, &rates, seen.found);
            found.curves.push(curve("bytes a second that are read against footprint", &rates));
        }
        Err(why) => unknown(&mut found, &["buffer.l2.bandwidth"], &why),
    }
    match told(images(&asked, limits)) {
        Ok(rates) => {
            let best = rates.iter().map(|(_, rate)| *rate).max_by(|a, b| a.value.total_cmp(&b.value));
            found.number("texture.l1.bandwidth", best.map_or(Fact::unknown("no image"), |rate| rate.fact("fetches of the image that is fastest")));
            found.curves.push(curve("bytes a second of texels against the image", &rates));
        }
        Err(why) => unknown(&mut found, &["texture.l1.bandwidth"], &why),
    }
    let rest = [
        ("dram.bandwidth", stream(&asked, limits, |groups| Streamed::read(groups, seed)), "loads of much memory, every byte once"),
        ("write.bandwidth", stream(&asked, limits, |groups| Streamed::written(groups, seed)), "stores to much memory, every byte once"),
        ("local.bandwidth", local(&asked, limits), "loads of vectors of four words by neighbouring work-items"),
    ];
    for (key, answer, cite) in rest {
        found.number(key, told(answer).map_or_else(Fact::unknown, |rate| rate.fact(cite)));
    }
    found
}

/// Sizes in a row whose rates are about the same.
fn plateaus(rates: &[(u64, Spread)]) -> Vec<&[(u64, Spread)]> {
    rates.chunk_by(|a, b| (b.1.value / a.1.value - 1.0).abs() <= LEVEL).filter(|sizes| sizes.len() >= SIZES).collect()
}

/// The rates of the levels: of footprints that only they hold, where their sizes are known, or else of footprints in a row.
fn levels(found: &mut Findings, rates: &[(u64, Spread)], known: &Findings) {
    let plateaus = plateaus(rates);
    let capacity = |key: &str| known.get(&format!("buffer.{key}.capacity_bytes"));
    let within = |least: f64, most: f64| -> Vec<(u64, Spread)> {
        rates.iter().copied().filter(|(bytes, _)| (least..=most).contains(&(*bytes as f64))).collect()
    };
    // What the last plateau but that of memory is, or the first of three, is a guess that sizes make needless.
    let guessed = |from_end: usize| plateaus.len().checked_sub(from_end).map(|at| plateaus[at].to_vec()).unwrap_or_default();
    let first = match capacity("l1") {
        Some(first) => within(0.0, first),
        None if plateaus.len() > 2 && capacity("l2").is_none() => guessed(plateaus.len()),
        None => vec![],
    };
    let second = match (capacity("l1"), capacity("l2")) {
        // All cores' first levels hold less than their lines' worth of a footprint so much larger.
        (Some(first), Some(second)) => within(4.0 * first, second),
        (None, Some(second)) => within(0.0, second),
        _ => guessed(2),
    };
    if !first.is_empty() {
        found.number("buffer.l1.bandwidth", middle(first));
    }
    found.number("buffer.l2.bandwidth", middle(second));
}

/// The median of several rates.
fn middle(mut rates: Vec<(u64, Spread)>) -> Fact<f64> {
    rates.sort_by(|a, b| a.1.value.total_cmp(&b.1.value));
    let several = rates.len();
    match rates.get(several / 2) {
        Some((bytes, rate)) => rate.fact(format!("reads of {bytes} bytes, the median of {several} footprints of this level")),
        None => Fact::unknown("no footprints of its own have one rate"),
    }
}

fn curve(title: &str, rates: &[(u64, Spread)]) -> Curve {
    Curve {
        title: title.into(),
        x: "bytes".into(),
        y: "B/s".into(),
        log_x: true,
        points: rates.iter().map(|(bytes, rate)| [*bytes as f64, rate.value, rate.lo, rate.hi]).collect(),
        ..Curve::default()
    }
}
