//! Bandwidths: of every level that buffers are read through, of memory, of writes, of images from their cache and of local memory.

use super::ask::{self, Answer, Asked, Series, Spread, Stop, go_on, if_possible, points, told};
use super::cores::{cores, full};
use super::kernels::loads::{Constants, Fetches, Locals, Stores, Texels};
use super::kernels::streams::{LANES, Streamed, Swept};
use super::registers;
use super::steady::plan;
use super::timer::unknown;
use super::{Aspect, Seen};
use crate::finding::WALKED_MEMORY;
use crate::kernels::walk::Route;
use crate::{Context, Curve, Finding, Findings, Needs, Phase, Scale};
use warpsight_ir::profile::Fact;
use warpsight_ir::{ImageFormat, ImageKind};
use warpsight_run::DeviceInfo;

const NAME: &str = "bandwidth";
/// Groups for every core: enough to keep its units busy, and a number that most numbers of schedulers divide.
const EACH: u32 = 24;
/// The same where memory is streamed through: few keep its rows open, many are under way.
const STREAMING: [u32; 3] = [1, 4, EACH];
/// Groups for every core, and work-items of each, where images are fetched from: whole warps of any device. The units of a core share the warps
/// of a group, so in one of the launches these are a multiple of three, in the others powers of two.
const FETCHING: [(u32, u32); 3] = [(EACH, 128), (2 * EACH, 64), (EACH, 96)];
/// Footprints of buffers, in bytes, doubled from one to the other; the largest holds what a driver calls its last cache so many times.
const SMALLEST: u64 = 2 << 10;
const LARGEST: u64 = 64 << 20;
const CACHES: u64 = 8;
/// Values of work-items of which those are counted that run at once: about as many as reads have.
const VALUES: u32 = 16;
/// Footprints that are read by as few groups as run at once.
const APART: u64 = 16 << 20;
/// Sides of images, fetched from wholly: two texels are all that the smallest cache may hold.
const IMAGES: [(u32, u32); 7] = [(2, 1), (2, 2), (4, 4), (8, 8), (16, 16), (64, 64), (256, 256)];
/// Vectors of four words that constants are read of: a cache of constants is hardly smaller.
const CONSTANTS: u32 = 64;
/// Rows of an image that is written, at most: images of all devices have as many.
const ROWS: u32 = 4096;
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
                    go_on(reads(asked, limits, seed))?;
                    go_on(reads_apart(asked, limits, seed))?;
                    go_on(stream(asked, limits, |groups| Streamed::read(groups, seed)))?;
                    go_on(stream(asked, limits, |groups| Streamed::written(groups, 4, seed)))?;
                    go_on(images(asked, limits))?;
                    go_on(images_apart(asked, limits))?;
                    go_on(local(asked, limits))?;
                    go_on(constant(asked, limits))?;
                    if limits.images { go_on(stored(asked, limits)) } else { Ok(()) }
                })
            },
        },
        analyse,
    }
}

/// What the device takes.
#[derive(Clone, Copy)]
struct Limits {
    full: u32,
    /// Bytes of the largest footprint.
    largest: u64,
    /// Whether there are images.
    images: bool,
    /// Bytes of the largest image of one row.
    row: u64,
}

impl Limits {
    fn of(device: &DeviceInfo, scale: Scale) -> Self {
        let memory = device.limits.max_allocation.unwrap_or(LARGEST).min(device.limits.memory.unwrap_or(u64::MAX) / 4);
        let cache = Context { device, scale, seed: 0 }.l2_bytes();
        let largest = if scale == Scale::Tiny { 64 << 10 } else { LARGEST.max(CACHES * cache) };
        let images = device.limits.image_2d.is_some_and(|(width, height)| width.min(height) >= ROWS);
        let row = Route::Image(ImageKind::Image1dBuffer).most_bytes(device);
        Self { full: full(device), largest: largest.min(memory), images, row }
    }
}

/// Bytes a second by footprint, as many groups as keep units busy reading it.
fn reads(asked: &Asked, limits: Limits, seed: u64) -> Answer<Series<u64>> {
    let groups = cores(asked, limits.full)?.0 * EACH;
    footprints(limits).map(|footprint| Ok((footprint, swept(asked, groups, footprint, seed)?))).collect()
}

/// The same by so few groups that no two read one place at once, and all run at once, where the others do not: what one brings to a core's cache,
/// another would find there, and so would one that begins where another just was.
fn reads_apart(asked: &Asked, limits: Limits, seed: u64) -> Answer<Series<u64>> {
    let chunk = Swept::new(1, 4, SMALLEST, seed).trip_bytes();
    let few = few(asked, limits, chunk, limits.largest)?.into_iter().filter(|(_, few)| !few.all);
    few.map(|(footprint, few)| Ok((footprint, swept(asked, few.groups, footprint, seed)?))).collect()
}

/// Groups that run at once.
struct Few {
    groups: u32,
    /// Whether they are as many as keep units busy.
    all: bool,
}

/// By footprint how many groups can read it in chunks of so many bytes with no two of them at one place, all at once, as many for each core.
fn few(asked: &Asked, limits: Limits, chunk: u64, largest: u64) -> Answer<Vec<(u64, Few)>> {
    let cores = cores(asked, limits.full)?.0;
    let most = cores * EACH;
    let at_once = if_possible(registers::at_once_of(asked, registers::waiting(VALUES, LANES.min(limits.full)), most))?.unwrap_or(most);
    let few = |footprint: u64| {
        let groups = (footprint / chunk).min(at_once.into()) as u32 / cores * cores;
        (footprint, Few { groups, all: groups == most })
    };
    let footprints = footprints(limits).take_while(|footprint| *footprint <= APART.min(largest));
    Ok(footprints.map(few).filter(|(_, few)| few.groups > 0).collect())
}

fn footprints(limits: Limits) -> impl Iterator<Item = u64> {
    std::iter::successors(Some(SMALLEST), |bytes| Some(2 * bytes)).take_while(move |&bytes| bytes <= limits.largest)
}

fn swept(asked: &Asked, groups: u32, footprint: u64, seed: u64) -> Answer<Spread> {
    let sweep = Swept::new(groups, 4, footprint, seed);
    let covering = footprint / sweep.trip_bytes();
    Ok(asked.beyond_one(&sweep, covering)?.under(sweep.trip_bytes() as f64))
}

/// Bytes a second of a stream through as much memory as the largest footprint.
fn stream(asked: &Asked, limits: Limits, of: impl Fn(u32) -> Streamed) -> Answer<Spread> {
    let cores = cores(asked, limits.full)?.0;
    let mut best: Option<Spread> = None;
    for each in STREAMING {
        let kernel = of(cores * each);
        let trip = asked.beyond_one(&kernel, limits.largest / kernel.trip_bytes())?;
        let rate = trip.under(kernel.trip_bytes() as f64);
        best = Some(best.filter(|best| best.value >= rate.value).unwrap_or(rate));
    }
    best.ok_or_else(|| Stop::Refused("nothing was streamed".into()))
}

/// Bytes a second of texels by the size of the image, of the launches that are fastest: groups may share units unevenly.
fn images(asked: &Asked, limits: Limits) -> Answer<Series<u64>> {
    let cores = cores(asked, limits.full)?.0;
    let rate = |(width, height), (each, lanes): (u32, u32)| {
        let (kind, format, lanes) = (ImageKind::Image2d, ImageFormat::Rgba32F, lanes.min(limits.full));
        let fetches = Fetches { kind, format, groups: cores * each, lanes, width, height };
        let kernel = fetches.kernel();
        Ok((fetches.bytes(), asked.even_trip(&kernel)?.under(kernel.amounts.bytes)))
    };
    let by_size = |launch| IMAGES.into_iter().map(|sides| rate(sides, launch)).collect::<Answer<Series<u64>>>();
    let all = FETCHING.into_iter().map(by_size).collect::<Answer<Vec<_>>>()?;
    Ok(all.into_iter().max_by(|a, b| fastest(a).value.total_cmp(&fastest(b).value)).unwrap_or_default())
}

/// Bytes a second of texels by the bytes of an image of one row, fetched from by so few groups as [`reads_apart`] has.
fn images_apart(asked: &Asked, limits: Limits) -> Answer<Series<u64>> {
    let lanes = LANES.min(limits.full);
    let texel = u64::from(Route::Image(ImageKind::Image1dBuffer).unit());
    let chunk = texel * u64::from(Texels::chunk(lanes));
    let rate = |(footprint, few): (u64, Few)| {
        let kernel = Texels { groups: few.groups, lanes, places: (footprint / texel) as u32 }.kernel();
        // The longer launch goes on where the shorter one ends: with one trip alone groups would find what they brought the pass before.
        let trips = asked.lasting(&kernel, footprint / (chunk * u64::from(few.groups)))?;
        Ok((footprint, asked.between(&kernel, trips, 2 * trips)?.under(kernel.amounts.bytes)))
    };
    few(asked, limits, chunk, limits.row)?.into_iter().map(rate).collect()
}

/// The median of the best rates, which are equal but for noise.
fn fastest<X>(rates: &[(X, Spread)]) -> Spread {
    let best = rates.iter().map(|(_, rate)| rate.value).fold(0.0, f64::max);
    let mut level: Vec<Spread> = rates.iter().map(|(_, rate)| *rate).filter(|rate| rate.value >= (1.0 - LEVEL) * best).collect();
    level.sort_by(|a, b| a.value.total_cmp(&b.value));
    level.get(level.len() / 2).copied().unwrap_or(Spread::exact(f64::NAN))
}

/// Bytes a second of local memory.
fn local(asked: &Asked, limits: Limits) -> Answer<Spread> {
    let groups = cores(asked, limits.full)?.0 * EACH;
    let lanes = LANES.min(limits.full);
    let kernel = Locals { groups, lanes, width: 4, stride: 1, places: lanes.next_power_of_two(), spare: 0 }.kernel();
    Ok(asked.even_trip(&kernel)?.under(kernel.amounts.bytes))
}

/// Bytes a second of a few constants.
fn constant(asked: &Asked, limits: Limits) -> Answer<Spread> {
    let groups = cores(asked, limits.full)?.0 * EACH;
    let kernel = Constants { groups, lanes: LANES.min(limits.full), places: CONSTANTS }.kernel();
    Ok(asked.even_trip(&kernel)?.under(kernel.amounts.bytes))
}

/// Bytes a second that are stored to an image.
fn stored(asked: &Asked, limits: Limits) -> Answer<Spread> {
    let groups = (cores(asked, limits.full)?.0 * EACH).min(ROWS);
    let rows = 1 << (ROWS / groups).ilog2().min(3);
    let stores = Stores::new(groups, LANES.min(limits.full), rows);
    Ok(asked.even_trip(&stores)?.under(stores.bytes()))
}

fn analyse(seen: &Seen) -> Findings {
    let mut found = Findings::default();
    let asked = Asked::new(NAME, seen.records);
    // The records do not say at which scale they were measured, but tell which footprints there are. What is asked has the same name for any seed.
    let [limits, rehearsed] = [Scale::Full, Scale::Tiny].map(|scale| Limits::of(seen.device, scale));
    let seed = 0;
    let unasked = matches!(reads(&asked, limits, seed), Err(Stop::Wanted(_)));
    let limits = if unasked && reads(&asked, rehearsed, seed).is_ok() { rehearsed } else { limits };
    let reads = told(reads(&asked, limits, seed));
    let read = || stream(&asked, limits, |groups| Streamed::read(groups, seed));
    let written = || stream(&asked, limits, |groups| Streamed::written(groups, 4, seed));
    // Both go through memory, and no more than it can do.
    let best = told(ask::fastest([read(), written()]));
    let mut hidden = None;
    match reads {
        Ok(rates) => {
            let apart = told(if_possible(reads_apart(&asked, limits, seed))).map(Option::unwrap_or_default);
            levels(&mut found, &rates, apart.as_deref(), seen.found);
            hidden = match (&apart, &best) {
                (Ok(apart), Ok(best)) => self::hidden(&rates, apart, best.value, seen.found),
                (Err(why), _) => Some(why.clone()),
                _ => None,
            };
            if let Some(apart) = apart.ok().filter(|apart| !apart.is_empty()) {
                found.curves.push(curve("bytes a second that are read against footprint, no place by two groups at once", &apart));
            }
            found.curves.push(curve("bytes a second that are read against footprint", &rates));
        }
        Err(why) => {
            unknown(&mut found, &["buffer.l2.bandwidth"], &why);
            for level in ["l1", "l3"].into_iter().filter(|level| seen.found.get(&format!("buffer.{level}.capacity_bytes")).is_some()) {
                found.number(format!("buffer.{level}.bandwidth"), Fact::unknown(why.as_str()));
            }
        }
    }
    match told(images(&asked, limits)) {
        Ok(rates) => {
            found.number("texture.l1.bandwidth", fastest(&rates).fact("fetches of the images that are fastest"));
            found.curves.push(curve("bytes a second of texels against the image", &rates));
        }
        Err(why) => unknown(&mut found, &["texture.l1.bandwidth"], &why),
    }
    let (read, written) = (told(read()), told(written()));
    let cite = match (&read, &written) {
        (Ok(read), Ok(written)) if written.value > read.value => "stores to much memory, which are faster than loads",
        (Err(_), Ok(_)) => "stores to much memory, where nothing is known of loads",
        _ => "loads of much memory, every byte once",
    };
    found.number("dram.bandwidth", best.map_or_else(Fact::unknown, |rate| rate.fact(cite)));
    // What walks beyond every cache took.
    let walked = || seen.found.first(&WALKED_MEMORY).unwrap_or_else(|| Fact::unknown("no walk went far enough beyond the last cache"));
    if let Some(why) = &hidden {
        behind_walks(&mut found, seen.found, why);
    }
    found.number("dram.latency_s", hidden.map_or_else(walked, Fact::unknown));
    let rest = [
        ("read.bandwidth", read, "loads of much memory, every byte once"),
        ("write.bandwidth", written, "stores to much memory, every byte once"),
        ("local.bandwidth", told(local(&asked, limits)), "loads of vectors of four words by neighbouring work-items"),
        (
            "constant.bandwidth",
            told(constant(&asked, limits)),
            "loads of vectors of four words of 1 KiB of constants by neighbouring work-items",
        ),
    ];
    for (key, answer, cite) in rest {
        found.number(key, answer.map_or_else(Fact::unknown, |rate| rate.fact(cite)));
    }
    if let Some(Finding::Number(held)) = seen.found.facts.get("constant.l1.capacity_bytes") {
        // A cache that is not there has no rate, nor has one of which nobody knows whether it is.
        let rate = held.get().map(|bytes| of_constants(found.facts.get("constant.bandwidth"), *bytes));
        found.number("constant.l1.bandwidth", rate.unwrap_or_else(|| held.clone()));
    }
    let stores = match limits.images {
        false => Fact::absent("the driver lists no images of two dimensions that are large enough"),
        true => {
            told(stored(&asked, limits)).map_or_else(Fact::unknown, |rate| rate.fact("stores of texels by every group to rows of its own"))
        }
    };
    found.number("image.write_bandwidth", stores);
    let behind = ["l1", "l2", "l3"].map(|level| seen.found.get(&format!("texture.{level}.capacity_bytes")));
    if behind[1].is_some() {
        let apart = told(images_apart(&asked, limits));
        for (inner, level) in [(0, "l2"), (1, "l3")] {
            if let (Some(inner), Some(own)) = (behind[inner], behind[inner + 1]) {
                let fact = match &apart {
                    Ok(rates) => behind_images(rates, inner, own),
                    Err(why) => Fact::unknown(why.as_str()),
                };
                found.number(format!("texture.{level}.bandwidth"), fact);
            }
        }
        if let Some(rates) = apart.ok().filter(|rates| !rates.is_empty()) {
            found.curves.push(curve("bytes a second of texels against an image of one row, no place by two groups at once", &rates));
        }
    }
    found
}

/// The rate of the first cache of constants, of so many bytes: that of the few constants that are read, where it holds them.
fn of_constants(read: Option<&Finding>, bytes: f64) -> Fact<f64> {
    let own = 16.0 * f64::from(CONSTANTS);
    match read {
        _ if bytes < own => Fact::unknown(format!("{own} B of constants are read, of which a cache of {bytes} B does not hold all")),
        Some(Finding::Number(fact)) => fact.clone(),
        _ => Fact::unknown("`constant.bandwidth` was not measured"),
    }
}

/// The rate of a level that images are read through, behind one of `inner` bytes.
fn behind_images(rates: &[(u64, Spread)], inner: f64, own: f64) -> Fact<f64> {
    // What replaces the least recently used line holds nothing of twice as much.
    let far = [4.0, 2.0].map(|times| within(rates, times * inner, own)).into_iter().find(|far| !far.is_empty());
    // Few groups do not keep a level busy that small footprints have room for.
    far.map_or_else(
        || Fact::unknown(format!("no image is large enough for {inner} bytes not to hold it, and small enough for {own}")),
        |far| fastest(&far).fact(format!("fetches of {} images of this level that are read apart, the fastest", far.len())),
    )
}

/// Those of footprints of so many bytes.
fn within(rates: &[(u64, Spread)], least: f64, most: f64) -> Series<u64> {
    rates.iter().copied().filter(|(bytes, _)| (least..=most).contains(&(*bytes as f64))).collect()
}

/// Footprints so many times as large as a cache find little in it.
const FAR: f64 = 4.0;
/// What little they find makes reads no more than so much faster than memory.
const LITTLE: f64 = 1.5;

/// That reads are from a cache which walks did not find, so that these need not have ended in memory: footprints far beyond those that they found
/// are much faster than memory. What more groups read than have places of their own says nothing of that: one finds what another brought.
fn hidden(rates: &[(u64, Spread)], apart: &[(u64, Spread)], memory: f64, known: &Findings) -> Option<String> {
    let ways = ["buffer", "texture"].into_iter().flat_map(|way| ["l1", "l2", "l3"].map(|level| format!("{way}.{level}.capacity_bytes")));
    let largest = ways.filter_map(|key| known.get(&key)).fold(0.0, f64::max);
    let far = each(rates, apart).into_iter().filter(|(bytes, _)| largest > 0.0 && *bytes as f64 >= FAR * largest);
    let (bytes, rate) = far.max_by(|a, b| a.1.value.total_cmp(&b.1.value)).filter(|(_, rate)| rate.value > LITTLE * memory)?;
    let times = rate.value / memory;
    Some(format!("{bytes} bytes are read {times:.1} times as fast as memory: beyond the last cache that walks found there is another"))
}

/// Levels that walks said are not there, where reads say that these did not end in memory: nobody knows.
fn behind_walks(found: &mut Findings, walked: &Findings, why: &str) {
    for (way, last) in ["buffer", "texture"].map(|way| {
        let known = |level: &usize| walked.get(&format!("{way}.l{level}.capacity_bytes")).is_some();
        (way, (1..=3).rev().find(known))
    }) {
        let Some(last) = last else { continue };
        let further =
            (last + 1..=3).flat_map(|level| ["capacity_bytes", "line_bytes", "latency_s"].map(|of| format!("{way}.l{level}.{of}")));
        further.filter(|key| walked.facts.contains_key(key)).for_each(|key| found.number(key, Fact::unknown(why)));
    }
}

/// The rates of all footprints: those of the ones that were read apart, and what was read by many of the others.
fn each(rates: &[(u64, Spread)], apart: &[(u64, Spread)]) -> Series<u64> {
    let many = |(bytes, _): &&(u64, Spread)| apart.iter().all(|(other, _)| other != bytes);
    apart.iter().chain(rates.iter().filter(many)).copied().collect()
}

/// Sizes in a row whose rates are about the same.
fn plateaus(rates: &[(u64, Spread)]) -> Vec<&[(u64, Spread)]> {
    rates.chunk_by(|a, b| (b.1.value / a.1.value - 1.0).abs() <= LEVEL).filter(|sizes| sizes.len() >= SIZES).collect()
}

/// The rates of the levels: of footprints that only they hold, where their sizes are known. Where they are not, footprints in a row before
/// those of memory are taken for the second level's, of those beyond a first level that is known, and no first level is guessed. Behind a first
/// level, what there was no time to read apart is not known.
fn levels(found: &mut Findings, rates: &[(u64, Spread)], apart: Result<&[(u64, Spread)], &String>, known: &Findings) {
    let capacity = |key: &str| known.get(&format!("buffer.{key}.capacity_bytes"));
    let beneath = "the level's size is not known, and no two levels of rates lie beyond the first level".to_owned();
    let second = match (capacity("l1"), capacity("l2"), apart) {
        (None, Some(second), _) => Ok(within(rates, 0.0, second)),
        (Some(first), Some(second), apart) => behind(rates, apart, first, second),
        // What a known first level holds says nothing of a second one.
        (first, ..) => {
            let beyond = within(rates, first.map_or(0.0, |first| FAR * first), f64::INFINITY);
            let plateaus = plateaus(&beyond);
            match plateaus.len().checked_sub(2) {
                Some(at) => Ok(plateaus[at].to_vec()),
                None if first.is_some() => Err(beneath),
                None => Ok(vec![]),
            }
        }
    };
    found.number("buffer.l2.bandwidth", second.map_or_else(Fact::unknown, middle));
    if let (Some(second), Some(third)) = (capacity("l2"), capacity("l3")) {
        found.number("buffer.l3.bandwidth", behind(rates, apart, second, third).map_or_else(Fact::unknown, middle));
    }
    if let Some(first) = capacity("l1") {
        found.number("buffer.l1.bandwidth", middle(within(rates, 0.0, first)));
    }
}

/// Rates of a level of `own` bytes behind one of `inner`. Of a footprint so much larger the nearer one holds little when a group comes to it
/// again, and nothing that another brought.
fn behind(rates: &[(u64, Spread)], apart: Result<&[(u64, Spread)], &String>, inner: f64, own: f64) -> Result<Series<u64>, String> {
    let apart = apart.map_err(Clone::clone)?;
    let far = within(&each(rates, apart), FAR * inner, own);
    // What replaces the least recently used line holds nothing of twice as much.
    Ok(if far.is_empty() { within(apart, 2.0 * inner, own) } else { far })
}

/// The median of several rates.
fn middle(mut rates: Series<u64>) -> Fact<f64> {
    rates.sort_by(|a, b| a.1.value.total_cmp(&b.1.value));
    let several = rates.len();
    match rates.get(several / 2) {
        Some((bytes, rate)) => rate.fact(format!("reads of {bytes} bytes, the median of {several} footprints of this level")),
        None => Fact::unknown("no footprints of its own have one rate"),
    }
}

fn curve(title: &str, rates: &[(u64, Spread)]) -> Curve {
    Curve { title: title.into(), x: "bytes".into(), y: "B/s".into(), log_x: true, points: points(rates), ..Curve::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// What is told of a level where capacities are known, of rates of footprints from 2 KiB on.
    fn told_of(level: &str, capacities: &[(&str, f64)], rates: impl Fn(u64) -> f64, largest: u64, apart: Result<(), String>) -> Fact<f64> {
        let mut known = Findings::default();
        for (level, bytes) in capacities {
            let planted = Fact::known(*bytes, warpsight_ir::profile::Source::Simulated, "planted");
            known.number(format!("buffer.{level}.capacity_bytes"), planted);
        }
        let sizes = std::iter::successors(Some(SMALLEST), |bytes| Some(2 * bytes)).take_while(|bytes| *bytes <= largest);
        let rates: Series<u64> = sizes.map(|bytes| (bytes, Spread::exact(rates(bytes)))).collect();
        let mut found = Findings::default();
        let none: &[(u64, Spread)] = &[];
        levels(&mut found, &rates, apart.as_ref().map(|()| none), &known);
        match found.facts.remove(&format!("buffer.{level}.bandwidth")) {
            Some(Finding::Number(fact)) => fact,
            other => panic!("{level}: {other:?}"),
        }
    }

    /// What is told of the second level where the first one holds 256 KiB and the second one's size is unknown: rates of footprints from 2 KiB on.
    fn second(rates: impl Fn(u64) -> f64, largest: u64) -> Fact<f64> {
        told_of("l2", &[("l1", 262_144.0)], rates, largest, Ok(()))
    }

    /// Three levels: each is told by footprints far beyond the nearer one.
    #[test]
    fn third_levels_have_their_bandwidth() {
        let rate = |bytes: u64| match bytes {
            0..=32_768 => 900e9,
            32_769..=1_048_576 => 400e9,
            1_048_577..=33_554_432 => 150e9,
            _ => 40e9,
        };
        let capacities = [("l1", 32_768.0), ("l2", 1_048_576.0), ("l3", 33_554_432.0)];
        let told = |level: &str, capacities: &[(&str, f64)], apart| told_of(level, capacities, rate, 64 * MIB, apart);
        for (level, rate) in [("l1", 900e9), ("l2", 400e9), ("l3", 150e9)] {
            assert_eq!(told(level, &capacities, Ok(())).known_as(level).ok(), Some(&rate), "{level}");
        }
        // A first level that all share is called the second one, and has a third behind it as well.
        assert_eq!(told("l3", &capacities[1..], Ok(())).known_as("l3").ok(), Some(&150e9));
        let late = told("l3", &capacities, Err("out of time".to_owned()));
        assert!(matches!(&late, Fact::Unknown { unknown } if unknown == "out of time"), "{late:?}");
    }

    /// Where nothing was read each level that is known has the reason; what constants have no cache for has that of the cache.
    #[test]
    fn levels_that_nothing_was_read_of_have_the_reason() {
        let device = warpsight_run::open("sim:adreno640", &warpsight_run::Options::default()).expect("a device").info().clone();
        let analysed = |known: &Findings| analyse(&Seen { device: &device, records: &[], found: known });
        let reason = |found: &Findings, key: &str| match found.facts.get(key) {
            Some(Finding::Number(Fact::Unknown { unknown })) => unknown.clone(),
            other => panic!("{key}: {other:?}"),
        };
        let mut known = Findings::default();
        let planted = |bytes: f64| Fact::known(bytes, warpsight_ir::profile::Source::Simulated, "planted");
        for (level, bytes) in [("l1", 32_768.0), ("l2", 1_048_576.0), ("l3", 33_554_432.0)] {
            known.number(format!("buffer.{level}.capacity_bytes"), planted(bytes));
        }
        known.number("constant.l1.capacity_bytes", Fact::absent("constants lie in the second level"));
        let found = analysed(&known);
        for level in ["l1", "l2", "l3"] {
            assert!(reason(&found, &format!("buffer.{level}.bandwidth")).contains("was not measured"), "{level}");
        }
        let constants = &found.facts["constant.l1.bandwidth"];
        assert_eq!(constants, &Finding::Number(Fact::absent("constants lie in the second level")));
        assert!(found.curves.is_empty(), "{:?}", found.curves);
        // Of what is not known to be there nothing is said.
        let mut known = Findings::default();
        known.number("buffer.l1.capacity_bytes", Fact::absent("shared by all groups"));
        known.number("constant.l1.capacity_bytes", Fact::unknown("out of time"));
        let found = analysed(&known);
        assert_eq!(["l1", "l3"].map(|level| found.facts.contains_key(&format!("buffer.{level}.bandwidth"))), [false, false]);
        assert_eq!(reason(&found, "constant.l1.bandwidth"), "out of time");
    }

    /// Walks that found a first level alone, and reads far beyond it that are fast: then nobody walked through memory.
    #[test]
    fn caches_that_no_walk_found_hide_memory() {
        let mut known = Findings::default();
        known.number("buffer.l1.capacity_bytes", Fact::known(262_144.0, warpsight_ir::profile::Source::Simulated, "planted"));
        let rates = |second: f64| [(262_144, 33e12), (MIB, second), (16 * MIB, second)].map(|(bytes, rate)| (bytes, Spread::exact(rate)));
        let why = hidden(&rates(7.0e12), &[], 4.3e12, &known).expect("seven is more than four");
        assert!(why.contains("1.6 times as fast as memory"), "{why}");
        // Then none of the levels behind the first one is absent.
        let mut found = Findings::default();
        known.number("buffer.l2.capacity_bytes", Fact::absent("walks of up to 16 MiB show no further level"));
        behind_walks(&mut found, &known, &why);
        assert_eq!(found.facts.keys().collect::<Vec<_>>(), ["buffer.l2.capacity_bytes"]);
        assert!(matches!(&found.facts["buffer.l2.capacity_bytes"], Finding::Number(Fact::Unknown { unknown }) if *unknown == why));
        assert_eq!(hidden(&rates(5.0e12), &[], 4.3e12, &known), None);
        assert_eq!(hidden(&rates(7.0e12), &[], 4.3e12, &Findings::default()), None);
        // Read by few groups, the smaller of them is as slow as memory: many found what others brought.
        let mut shared = rates(7.0e12);
        shared[2].1 = Spread::exact(4.3e12);
        assert_eq!(hidden(&shared, &[(MIB, Spread::exact(4.3e12))], 4.3e12, &known), None);
    }

    /// A second level of 50 MiB, whose rate no footprint of the first one tells.
    #[test]
    fn a_first_level_is_not_the_second() {
        let rate = |bytes: u64| match bytes {
            0..=262_144 => 33.4e12,
            262_145..=52_428_800 => 7.0e12,
            _ => 4.3e12,
        };
        assert_eq!(second(rate, 512 * MIB).known_as("l2").ok(), Some(&7.0e12));
        // No footprints of memory: what was read last may be a level or memory.
        let unknown = second(rate, 32 * MIB);
        assert!(unknown.known_as("l2").is_err());
        assert!(format!("{unknown:?}").contains("beyond the first level"), "{unknown:?}");
    }
}
