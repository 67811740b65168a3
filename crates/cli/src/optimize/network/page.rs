//! What became of a network, layer by layer: the rows that `--json` has as `layers` and `memory`, and the page that draws them.

use super::Done;
use crate::page::{Bar, Column, Number, Page, Piece, Tag, Unit, column, escape};
use crate::report::config;
use crate::target::Target;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use warpsight_engine::network::Network;
use warpsight_graph::memory::Storage;
use warpsight_ir::{Family, Seconds};

/// A kernel of the network, in the order of execution.
#[derive(Serialize)]
pub struct Layer {
    name: String,
    op: String,
    output: Vec<i64>,
    config: String,
    predicted_s: Seconds,
    time_s: Option<Seconds>,
    /// Of all times, the shortest.
    fastest_s: Option<Seconds>,
    tag: Option<Tag>,
    /// Timed over predicted.
    ratio: Option<f64>,
    share_percent: f64,
    limiter: &'static str,
    registers: u32,
    rel_l2_error: f64,
}

/// A tensor between kernels.
#[derive(Serialize)]
pub struct Held {
    tensor: String,
    storage: String,
    slot: usize,
    own_bytes: u64,
    /// Positions in `layers`.
    first: usize,
    last: usize,
}

/// What is allocated for tensors between kernels.
#[derive(Serialize)]
pub struct Memory {
    /// As it is shared.
    total_bytes: u64,
    /// Without sharing.
    unshared_bytes: u64,
    /// The most that is needed at one time.
    peak_bytes: u64,
    /// Bytes of each slot.
    slots: Vec<u64>,
    tensors: Vec<Held>,
}

/// The kernels in order.
pub fn layers(network: &Network, done: &Done) -> Vec<Layer> {
    let (times, fastest) = (done.run.step_times(), done.run.fastest_steps());
    let whole: f64 = times.iter().map(|time| time.0).sum();
    let all = done.choice.kernels_time(network).0;
    let layer = |(n, step): (usize, &warpsight_engine::network::Step)| {
        let tuned = &done.choice.tuned[&network.key(&done.choice.selection, step)];
        let time = times.get(n).copied();
        let share = time.map_or(tuned.estimate.time.0 / all, |time| time.0 / whole);
        Layer {
            name: step.name.clone(),
            op: step.kind.clone(),
            output: network.families[step.family].expr().output.shape.clone(),
            config: config(&tuned.knobs),
            predicted_s: tuned.estimate.time,
            time_s: time,
            fastest_s: fastest.get(n).copied(),
            tag: time.and(done.run.source).map(Tag::from),
            ratio: time.map(|time| time.0 / tuned.estimate.time.0),
            share_percent: 100.0 * share,
            limiter: tuned.estimate.limiter().name(),
            registers: tuned.registers,
            rel_l2_error: tuned.verdict.rel_l2,
        }
    };
    network.steps.iter().enumerate().map(layer).collect()
}

/// Where tensors between kernels lie.
pub fn memory(network: &Network, done: &Done) -> Memory {
    let memory = network.memory(&done.choice.selection);
    let storage = |at: Storage| match at {
        Storage::Buffer => "buffer".to_owned(),
        Storage::Image { width, height, format } => format!("image {width} × {height}, {}", format!("{format:?}").to_uppercase()),
    };
    let held = memory.tensors.into_iter().map(|kept| Held {
        tensor: kept.name,
        storage: storage(kept.request.storage),
        slot: kept.slot,
        own_bytes: kept.request.bytes,
        first: kept.request.first,
        last: kept.request.last,
    });
    Memory {
        total_bytes: memory.plan.total,
        unshared_bytes: memory.plan.naive,
        peak_bytes: memory.plan.peak,
        slots: memory.plan.slots.iter().map(|slot| slot.bytes).collect(),
        tensors: held.collect(),
    }
}

/// The page: of the rows that the JSON has.
pub fn html(name: &str, network: &Network, done: &Done, target: &Target) -> String {
    let (layers, memory) = (layers(network, done), memory(network, done));
    let source = done.run.source.map(Tag::from);
    let mut page = Page::new(&format!("{name} on {}", target.device.info().id), "");
    headline(&mut page, &layers, network, done, target);
    times(&mut page, &layers);
    sums(&mut page, &layers, source.unwrap_or(Tag::Predicted));
    page.section(
        "kernels",
        "Kernels",
        "In order of execution. Ratio: timed over predicted. Error: relative L2 distance of the kernel's results from f64 references.",
    );
    page.table(
        &layers,
        "/layers",
        &[
            column!(name, "operator"),
            column!(op, "kind"),
            column!(output, "output"),
            column!(predicted_s, "predicted", Micros),
            column!(time_s, "timed", Micros),
            column!(tag, "source", Tag),
            column!(ratio, "ratio"),
            column!(share_percent, "share", Percent),
            column!(limiter, "limiter (predicted)"),
            column!(registers, "registers (predicted)"),
            column!(rel_l2_error, "error"),
            column!(config, "configuration"),
        ],
    );
    slots(&mut page, &memory);
    left_out(&mut page, network, done);
    page.finish()
}

fn headline(page: &mut Page, layers: &[Layer], network: &Network, done: &Done, target: &Target) {
    let info = target.device.info();
    let number = |value: Seconds, at: &str| Number { unit: Unit::Micros, value: value.0, at: at.to_owned() };
    let whole = number(done.choice.pass_time(network, &target.profile), "/network/predicted_s");
    let timed = match (done.run.whole().0.median(), done.run.source) {
        (Some(time), Some(source)) => {
            format!("{} {}", number(time, "/network/time_s").html(), Tag::from(source).html())
        }
        _ => "not timed".to_owned(),
    };
    let difference = match &done.difference {
        Ok(off) => format!(
            "Largest difference of any output from the f64 reference: \
             <span data-at=\"/network/max_abs_diff\" data-value=\"{off}\">{off:.1e}</span>"
        ),
        Err(why) => format!("Outputs of the whole network are not compared: {}", escape(why)),
    };
    page.raw(&format!(
        "<p>{} kernels on {} ({}): {timed}, {} {}. {difference}.</p>",
        layers.len(),
        escape(&info.name),
        escape(&info.driver),
        whole.html(),
        Tag::Predicted.html(),
    ));
}

/// A colour for each limiter that occurs, in the order of the limiters.
fn colours(layers: &[Layer]) -> BTreeMap<&'static str, usize> {
    let names: BTreeSet<&'static str> = layers.iter().map(|layer| layer.limiter).collect();
    names.into_iter().zip(0..).collect()
}

fn times(page: &mut Page, layers: &[Layer]) {
    page.section(
        "layers",
        "Layers in order",
        "Above what is predicted, in the colour of what the model says limits the kernel; below what was timed.",
    );
    let colours = colours(layers);
    page.legend(colours.iter().map(|(name, colour)| (*colour, *name)).chain([(colours.len(), "timed")]));
    let bar = |name: String, key: &'static str, value: Seconds, what: &str, colour: usize, tag: Tag, n: usize| Bar {
        name,
        pieces: vec![Piece { name: what.to_owned(), from: 0.0, to: value.0, colour }],
        range: None,
        number: Some(Number { unit: Unit::Micros, value: value.0, at: format!("/layers/{n}/{key}") }),
        tag,
    };
    let bars = layers.iter().enumerate().flat_map(|(n, layer)| {
        let name = format!("{} {}", layer.op, layer.name);
        let first = bar(name, "predicted_s", layer.predicted_s, layer.limiter, colours[layer.limiter], Tag::Predicted, n);
        let second = layer.time_s.zip(layer.tag).map(|(time, tag)| bar(String::new(), "time_s", time, "timed", colours.len(), tag, n));
        std::iter::once(first).chain(second)
    });
    page.bars(&bars.collect::<Vec<_>>());
}

/// Where the time goes: by kind of operator, by limiter.
fn sums(page: &mut Page, layers: &[Layer], tag: Tag) {
    page.section("sums", "Where the time goes", "Shares of the sum of all kernels, in percent.");
    let colours = colours(layers);
    let by = |key: &dyn Fn(&Layer) -> String| {
        let mut sums: BTreeMap<String, f64> = BTreeMap::new();
        layers.iter().for_each(|layer| *sums.entry(key(layer)).or_default() += layer.share_percent);
        let mut sums: Vec<(String, f64)> = sums.into_iter().collect();
        sums.sort_by(|a, b| b.1.total_cmp(&a.1));
        sums
    };
    for (title, sums) in
        [("By kind of operator", by(&|layer| layer.op.clone())), ("By limiter (predicted)", by(&|layer| layer.limiter.to_owned()))]
    {
        page.part(title);
        let bar = |(name, percent): (String, f64)| Bar {
            pieces: vec![Piece {
                name: format!("{percent:.1} % ({})", tag.word()),
                from: 0.0,
                to: percent,
                colour: colours.get(name.as_str()).copied().unwrap_or(colours.len()),
            }],
            name: format!("{name}, {percent:.1} %"),
            range: None,
            number: None,
            tag,
        };
        page.bars(&sums.into_iter().map(bar).collect::<Vec<_>>());
    }
}

fn slots(page: &mut Page, memory: &Memory) {
    let megabytes =
        |bytes: u64, key: &'static str| Number { unit: Unit::Megabytes, value: bytes as f64, at: format!("/memory/{key}") }.html();
    page.section(
        "memory",
        "Memory between kernels",
        "A row for each piece of memory that is allocated, along the kernels in order; tensors that are never needed together share one, and \
         so do what a kernel reads last and what it writes over that.",
    );
    page.raw(&format!(
        "<p>{} in {} pieces, {} without sharing; {} are needed at one time.</p>",
        megabytes(memory.total_bytes, "total_bytes"),
        memory.slots.len(),
        megabytes(memory.unshared_bytes, "unshared_bytes"),
        megabytes(memory.peak_bytes, "peak_bytes"),
    ));
    let bar = |(slot, bytes): (usize, &u64)| Bar {
        name: format!("piece {slot}, {:.1} kB", *bytes as f64 * 1e-3),
        pieces: memory.tensors.iter().filter(|held| held.slot == slot).zip(0..).map(|(held, n)| piece(held, n)).collect(),
        range: None,
        number: None,
        tag: Tag::Predicted,
    };
    page.bars(&memory.slots.iter().enumerate().map(bar).collect::<Vec<_>>());
    page.details("All tensors between kernels", |page| {
        let columns: [Column<Held>; 6] = [
            column!(tensor, "tensor"),
            column!(storage, "kept as"),
            column!(own_bytes, "size", Megabytes),
            column!(slot, "piece"),
            column!(first, "first kernel"),
            column!(last, "last kernel"),
        ];
        page.table(&memory.tensors, "/memory/tensors", &columns);
    });
}

/// Neighbours differ in colour.
fn piece(held: &Held, n: usize) -> Piece {
    let name = format!("{}: {} bytes, kernels {} to {}", held.tensor, held.own_bytes, held.first, held.last);
    Piece { name, from: held.first as f64, to: held.last as f64 + 1.0, colour: n % 2 }
}

/// What the device cannot run, and what was better ranked and was not taken.
fn left_out(page: &mut Page, network: &Network, done: &Done) {
    page.section(
        "choice",
        "What was chosen from",
        "Configurations of every distinct kernel: all, dropped because the device cannot run them, ranked.",
    );
    let rows = network.families.iter().zip(&done.choice.candidates).map(|(family, candidates)| {
        let dropped: Vec<String> = candidates.pruned.iter().map(|(reason, n)| format!("{reason} {n}")).collect();
        vec![family.name().to_string(), candidates.total.to_string(), dropped.join(", "), candidates.left.to_string()]
    });
    page.words(&["kernel", "configurations", "dropped", "ranked"], rows);
    let rejected: Vec<Vec<String>> = (done.choice.tuned.iter())
        .flat_map(|((family, _), tuned)| tuned.rejected.iter().map(move |(knobs, reason)| (family, knobs, reason)))
        .map(|(family, knobs, reason)| vec![network.families[*family].name().to_string(), config(knobs), reason.clone()])
        .collect();
    if !rejected.is_empty() {
        page.part("Better ranked, and not taken");
        page.words(&["kernel", "configuration", "why"], rejected.into_iter());
    }
}
