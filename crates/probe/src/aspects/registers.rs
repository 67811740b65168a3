//! Registers: how many a work-item may have before values go to memory, and how many work-items have them at once.

use super::ask::{Answer, Asked, Series, Spread, Stop, if_possible, largest, points, told};
use super::cores::full;
use super::kernels::chains::Chains;
use super::steady::plan;
use super::timer::unknown;
use super::warp::by_ways;
use super::{Aspect, Seen};
use crate::fit::registers::QUANTUM;
use crate::{Context, Curve, Finding, Findings, Needs, Phase};
use warpsight_ir::profile::{Fact, Source};

const NAME: &str = "registers";
/// Values alive at once: of the first kernel, which has room for them on any device, and at most.
const FEW: u32 = 8;
const MOST: u32 = 600;
/// Values that went to memory make a trip so much longer than its number of values does.
const SPILLED: f64 = 1.12;
/// Groups that wait for others to end take so much longer than one.
const ROUNDS: f64 = 1.4;
/// Groups at most that run at once.
const MOST_GROUPS: u32 = 16_384;
/// Registers that a compiler takes for itself, as a rule fewer.
const OWN: u32 = 12;
/// Groups that use registers up are so much smaller than the largest, in whole warps.
const SMALLER: u32 = 8;
/// Parts of the most values with which groups are counted.
const PARTS: [u32; 3] = [1, 2, 4];
/// Further ones, while fewer values let more groups in.
const FEWER: [u32; 3] = [8, 16, 32];

pub(super) fn aspect() -> Aspect {
    Aspect {
        phase: Phase {
            name: NAME,
            purpose: "registers of a work-item, and how many groups run at once with all, half and fewer of them",
            needs: Needs::Programs,
            share: 1.0,
            plan: |context: &Context| {
                let full = full(context.device);
                plan(NAME, move |asked| at_once_by_values(asked, values(asked)?.0, full))
            },
        },
        analyse,
    }
}

/// Work-items that run at once with so many values each.
#[derive(Clone, Copy)]
struct Held {
    values: u32,
    /// Groups of one work-item, where that was asked and can be told.
    single: Option<u32>,
    /// Work-items of the largest group that runs.
    lanes: u32,
}

impl Held {
    /// How many groups of one work-item run at once.
    fn alone(&self) -> Fact<f64> {
        let cite = format!("groups of one work-item with {} values each that take as long as one", self.values);
        let unknown = || Fact::unknown("groups of one work-item do not wait at barriers");
        self.single.map_or_else(unknown, |groups| Spread::exact(groups.into()).fact(cite))
    }
}

/// The most values with which so many work-items of all cores run at once.
struct Edge {
    values: u32,
    items: u32,
}

fn alive(values: u32) -> Chains {
    Chains { groups: 1, lanes: 1, chains: values, steps: 1, waits: false }
}

/// Values that a work-item keeps in registers, and seconds of a trip by values.
fn values(asked: &Asked) -> Answer<(u32, Series<u32>)> {
    let few = asked.trip(&alive(FEW).kernel())?;
    let mut by_values = vec![(FEW, few)];
    let mut best = (FEW, few.value);
    let values = largest(FEW, MOST, |values| {
        let trip = asked.trip(&alive(values).kernel())?;
        by_values.push((values, trip));
        let fits = trip.value <= SPILLED * best.1 * f64::from(values) / f64::from(best.0);
        if fits && values > best.0 {
            best = (values, trip.value);
        }
        Ok(fits)
    })?;
    if values == MOST {
        return Err(Stop::Refused(format!("{MOST} values at once are as fast as few")));
    }
    by_values.sort_by_key(|(values, _)| *values);
    Ok((values, by_values))
}

/// Who runs at once with parts of all values, and with how many values fewer would.
fn at_once_by_values(asked: &Asked, values: u32, full: u32) -> Answer<Vec<Edge>> {
    let held = PARTS.map(|parts| held(asked, values, parts, full)).into_iter().collect::<Answer<Vec<_>>>()?;
    let edges = edges(asked, &held, full)?;
    with_few(asked, values, &held, full)?;
    items(asked, &held, full)?;
    with_all(asked, &held, full)?;
    Ok(edges)
}

/// Work-items that run at once with few values, in groups of several warps.
fn items(asked: &Asked, held: &[Held], full: u32) -> Answer<u32> {
    let lanes = lanes(asked, &held[held.len() - 1], &held[0], full)?;
    Ok(at_once(asked, waiting(FEW, lanes))? * lanes)
}

/// Work-items that run at once with all values, in groups of several warps, and how many each of these has.
fn with_all(asked: &Asked, held: &[Held], full: u32) -> Answer<(u32, u32)> {
    let lanes = lanes(asked, &held[held.len() - 1], &held[0], full)?;
    Ok((at_once(asked, waiting(held[0].values, lanes))? * lanes, lanes))
}

/// Work-items of groups that use registers up.
fn lanes(asked: &Asked, some: &Held, all: &Held, full: u32) -> Answer<u32> {
    let warp = if_possible(by_ways(asked, full))?.and_then(|(warp, _)| warp).unwrap_or(1);
    Ok((some.lanes / SMALLER).max(1).next_multiple_of(warp).min(all.lanes))
}

/// Who runs at once with so few values that fewer let no more groups in; `None` where that is not seen.
fn with_few(asked: &Asked, values: u32, held: &[Held], full: u32) -> Answer<Option<Held>> {
    let [.., mut before, mut last] = *held else { return Ok(None) };
    if last.single <= before.single {
        return Ok(before.single.map(|_| if last.single < before.single { before } else { last }));
    }
    for parts in FEWER {
        (before, last) = (last, self::held(asked, values, parts, full)?);
        if last.single <= before.single {
            return Ok(last.single.map(|_| before));
        }
    }
    Ok(None)
}

fn edges(asked: &Asked, held: &[Held], full: u32) -> Answer<Vec<Edge>> {
    held[1..].iter().map(|some| edge(asked, some, &held[0], full)).collect()
}

/// Groups of so many work-items that hold values and wait.
pub(super) fn waiting(values: u32, lanes: u32) -> Chains {
    Chains { groups: 1, lanes, chains: values.max(1), steps: 1, waits: true }
}

/// Trips of groups that wait by which others are told from one.
fn trips(asked: &Asked, one: Chains) -> Answer<u64> {
    asked.lasting(&Chains { groups: 1, ..one }.kernel(), 1)
}

/// Whether so many groups wait as long as one: how much longer more trips take, so that what the groups compute before and after, one at the
/// other's cost, is not in it.
fn as_one(asked: &Asked, one: Chains, trips: u64, groups: u32) -> Answer<bool> {
    let waits = |groups| asked.between(&Chains { groups, ..one }.kernel(), trips, 2 * trips);
    Ok(waits(groups)?.value < ROUNDS * waits(1)?.value)
}

/// How many groups run at once.
fn at_once(asked: &Asked, one: Chains) -> Answer<u32> {
    let trips = trips(asked, one)?;
    largest(1, MOST_GROUPS, |groups| as_one(asked, one, trips, groups))
}

/// As many of so many groups as run at once: mostly all.
pub(super) fn at_once_of(asked: &Asked, one: Chains, many: u32) -> Answer<u32> {
    let trips = trips(asked, one)?;
    if as_one(asked, one, trips, many)? { Ok(many) } else { largest(1, many - 1, |groups| as_one(asked, one, trips, groups)) }
}

/// Who runs at once with a part of all values.
fn held(asked: &Asked, values: u32, parts: u32, full: u32) -> Answer<Held> {
    // A compiler's own registers are a part as well.
    let values = if parts == 1 { values } else { (values.saturating_sub((parts - 1) * OWN) / parts).max(1) };
    let single = if_possible(at_once(asked, waiting(values, 1)))?;
    // Work-items that meet at barriers have to be there at once: larger groups are refused.
    let runs = |lanes| Ok(if_possible(asked.time(&waiting(values, lanes).kernel(), 1))?.is_some());
    let lanes = if runs(full)? { full } else { largest(1, full, runs)? };
    Ok(Held { values, single, lanes })
}

/// As many groups as run at once with some of all values, with as many values as they can have then.
fn edge(asked: &Asked, some: &Held, all: &Held, full: u32) -> Answer<Edge> {
    let lanes = lanes(asked, some, all, full)?;
    let one = waiting(some.values, lanes);
    let (groups, trips) = (at_once(asked, one)?, trips(asked, one)?);
    // They wait as long, whatever they hold.
    let values = largest(some.values, all.values, |values| as_one(asked, waiting(values, lanes), trips, groups))?;
    Ok(Edge { values, items: groups * lanes })
}

fn analyse(seen: &Seen) -> Findings {
    let mut found = Findings::default();
    let full = full(seen.device);
    let asked = Asked::new(NAME, seen.records);
    let registers = |values: u32| f64::from(alive(values).registers());
    let (values, by_values) = match told(values(&asked)) {
        Ok(values) => values,
        Err(why) => {
            unknown(&mut found, &["registers.per_thread_max"], &why);
            let keys = [
                "registers.per_core",
                "concurrency.full",
                "concurrency.full_items",
                "concurrency.half",
                "concurrency.most",
                "group.max_size",
            ];
            unknown(&mut found, &keys, &why);
            found.facts.insert("registers.pooled".into(), Finding::Word(Fact::unknown(why)));
            return found;
        }
    };
    let cite = "values alive at once, with axes, constants and a counter, before trips become longer than their values say";
    let most = Fact::between(registers(values), registers(values), registers(values + 1), Source::Measured, cite);
    found.number("registers.per_thread_max", most);
    found.curves.push(Curve {
        title: "time of a trip against values alive at once".into(),
        figure: Some("001, figure 5".into()),
        x: "values".into(),
        y: "s".into(),
        points: points(&by_values),
        changes: vec![values.into()],
        ..Curve::default()
    });
    let held = PARTS.map(|parts| told(held(&asked, values, parts, full)));
    for (key, held) in ["concurrency.full", "concurrency.half"].into_iter().zip(&held) {
        found.number(key, held.as_ref().map_or_else(|why| Fact::unknown(&**why), Held::alone));
    }
    let held = held.into_iter().collect::<Result<Vec<Held>, _>>();
    found.curves.extend(held.as_ref().ok().and_then(|held| groups_by_values(held)));
    let few = || Fact::unknown("groups do not wait for others at once, or the fewer values they have, the more of them run");
    let fewest = held.as_ref().map_err(Clone::clone).and_then(|held| told(with_few(&asked, values, held, full)));
    found.number("concurrency.most", fewest.map_or_else(Fact::unknown, |own| own.map_or_else(few, |own| own.alone())));
    let at_once = held.clone().and_then(|held| told(items(&asked, &held, full)));
    let cite = format!("groups of several warps with {FEW} values each that take as long as one");
    found.number("concurrency.items", at_once.map_or_else(Fact::unknown, |items| Spread::exact(items.into()).fact(cite)));
    let all = held.clone().and_then(|held| told(with_all(&asked, &held, full)));
    found.number("concurrency.full_items", all.map_or_else(Fact::unknown, |(items, lanes)| with_all_told(items, lanes, values, seen)));
    let edges = match held {
        Ok(held) => {
            at_once_together(&mut found, &held[0], &held[held.len() - 1]);
            told(edges(&asked, &held, full))
        }
        Err(why) => {
            unknown(&mut found, &["group.max_size"], &why);
            found.facts.insert("registers.pooled".into(), Finding::Word(Fact::unknown(&*why)));
            Err(why)
        }
    };
    let file = edges.as_ref().map_or_else(|why| Fact::unknown(&**why), |edges| file(edges, values, seen.found.get("cores"), registers));
    let room = file.get().copied().zip(seen.found.get("cores")).map(|(file, cores)| file * cores);
    found.curves.extend(edges.ok().map(|edges| items_by_values(&edges, room, registers)));
    found.number("registers.per_core", file);
    let why = "how many groups run at once changes at few numbers of registers, whose differences are multiples of it: nothing tells it from these";
    unknown(&mut found, &["registers.granule", "warp.granule"], why);
    found
}

/// Groups of one work-item that run at once by the values of each.
fn groups_by_values(held: &[Held]) -> Option<Curve> {
    let mut points: Vec<[f64; 4]> =
        held.iter().filter_map(|own| Some([f64::from(own.values), f64::from(own.single?)])).map(exact).collect();
    points.sort_by(|a, b| a[0].total_cmp(&b[0]));
    let curve = Curve {
        title: "groups of one work-item that run at once against values alive at once".into(),
        x: "values".into(),
        y: "groups".into(),
        log_x: true,
        points,
        ..Curve::default()
    };
    (!curve.points.is_empty()).then_some(curve)
}

/// Work-items of larger groups that run at once by the most values that they can have then, and how many a file of `room` registers has room for.
fn items_by_values(edges: &[Edge], room: Option<f64>, registers: impl Fn(u32) -> f64) -> Curve {
    let mut edges: Vec<&Edge> = edges.iter().collect();
    edges.sort_by_key(|edge| edge.values);
    Curve {
        title: "work-items that run at once against the most values that they can have then".into(),
        x: "values".into(),
        y: "work-items".into(),
        log_x: true,
        points: edges.iter().map(|edge| exact([edge.values.into(), edge.items.into()])).collect(),
        model: room.map_or(vec![], |room| edges.iter().map(|edge| [edge.values.into(), room / registers(edge.values)]).collect()),
        ..Curve::default()
    }
}

fn exact([x, y]: [f64; 2]) -> [f64; 4] {
    [x, y, y, y]
}

/// Work-items that run at once with all values. Groups come whole: of each core all but one of another's might have room.
fn with_all_told(items: u32, lanes: u32, values: u32, seen: &Seen) -> Fact<f64> {
    let more = seen.found.get("cores").map_or(0.0, |cores| cores * f64::from(lanes - 1));
    let items = f64::from(items);
    Spread { lo: items, value: items, hi: items + more }
        .fact(format!("groups of {lanes} work-items with {values} values each that take as long as one"))
}

/// Groups that run with all registers and with few.
fn at_once_together(found: &mut Findings, all: &Held, few: &Held) {
    let evidence = format!("groups of {} work-items run with {} values each, of {} with {}", all.lanes, all.values, few.lanes, few.values);
    let word = if all.lanes < few.lanes { "pooled" } else { "dedicated" };
    found.facts.insert("registers.pooled".into(), Finding::Word(Fact::known(word.into(), Source::Measured, evidence)));
    let cite = format!("work-items of a group that runs with {} values each", few.values);
    found.number("group.max_size", Spread::exact(few.lanes.into()).fact(cite));
}

/// The register file of a core: what is in use where a value more would let fewer work-items in.
fn file(edges: &[Edge], most: u32, cores: Option<f64>, registers: impl Fn(u32) -> f64) -> Fact<f64> {
    let Some(cores) = cores else { return Fact::unknown("the number of cores is unknown") };
    let used = |edge: &Edge, more: u32| registers(edge.values + more) * f64::from(edge.items) / cores;
    let least = edges.iter().map(|edge| used(edge, 0)).fold(0.0, f64::max);
    let short = edges.iter().filter(|edge| edge.values < most).map(|edge| used(edge, QUANTUM));
    // Warps may have to share what is given out, so that only the widest bound is sure.
    match short.max_by(f64::total_cmp) {
        Some(wanted) => {
            let cite = "registers of all work-items that run at once where they cannot have more values";
            Fact::between(least, least, wanted.max(least), Source::Measured, cite)
        }
        None => Fact::unknown(format!(
            "{least} at least: with all registers no fewer work-items run at once, so that something else limits them"
        )),
    }
}
