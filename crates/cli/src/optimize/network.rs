//! `warpsight optimize model.onnx`: a whole network.

mod page;

use super::guided::{Hands, Searched};
use super::searched::Found;
use super::{Args, sequences};
use crate::accesses::{self, Chosen as Touched};
use crate::failure::{Failure, Kind};
use crate::network::{Loaded, Settled, Spent, choose, load, remember};
use crate::record::Record;
use crate::report::Column::{Below, Keep, Spare};
use crate::report::{config, micros, out, table};
use crate::target::Target;
use crate::target::judging::Judging;
use crate::{export, progress};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use warpsight_engine::candidates::Chosen;
use warpsight_engine::network::{Choice, Network, Run};
use warpsight_engine::tune::{Candidates, Tuned};
use warpsight_engine::verify::tolerance;
use warpsight_generate::layout::stored;
use warpsight_graph::memory::in_pass;
use warpsight_graph::{GraphError, Plan, PlanTensor, evaluate_f64};
use warpsight_ir::sample::{geometric_error, spearman};
use warpsight_ir::{Family, KnobValue, Meanwhile, Name, Seconds, TimeSource};

/// Optimizes a network.
pub fn run(path: &Path, args: &Args, target: &mut Target, record: &mut Record, json: bool) -> Result<(), Failure> {
    let loaded = load(path, &args.network)?;
    let mut plan = loaded.plan.clone();
    let judging = Judging::in_pass(&plan, target, args.top, args.runs);
    let mut settled = Settled::anew(&mut plan, &judging, target, args.sequences.as_deref())?;
    loop {
        let failure = match settle_on(path, &loaded, &plan, &settled, (args, json), target, record) {
            Err(failure) => failure,
            done => return done,
        };
        match settled.without(&failure, &loaded.plan, target.passes) {
            Some(left) => (plan, settled) = left,
            None => return Err(failure),
        }
    }
}

/// Optimizes a network whose operators are settled on.
fn settle_on(
    path: &Path,
    loaded: &Loaded,
    plan: &Plan,
    settled: &Settled,
    (args, json): (&Args, bool),
    target: &mut Target,
    record: &mut Record,
) -> Result<(), Failure> {
    let graph = &loaded.graph;
    let stem = path.file_stem().map_or("network".into(), |s| s.to_string_lossy());
    let network = Network::by(plan, target.passes)?;
    network.fits(&target.device.info().limits)?;
    loaded.fits(path)?;
    let reference = Reference { values: &|inputs| evaluate_f64(graph, inputs), work: loaded.plan.work(), most: EVALUATED };
    let judging = Judging::in_pass(plan, target, args.top, args.runs);
    let done = optimize(&network, settled, &reference, &stem, (args, &judging), target, record)?;
    if let Some(file) = &args.html {
        warpsight_files::write(file, page::html(&stem, &network, &done, target).as_bytes())?;
    }
    let mut rows = rows(&network, &done.choice, &done.run);
    write_accesses(&mut rows, &network, args, target)?;
    if json {
        let mut value = report(&rows, &network, &done, target);
        value["sequences"] = sequences::taken(plan, &settled.taken);
        done.searched.add_to(&mut value);
        return out(value);
    }
    print(&rows, &network, &done, target)?;
    done.searched.print()?;
    sequences::print_taken(plan, &settled.taken)
}

/// A network optimized, run and compared with its reference.
pub struct Done {
    /// The kernels.
    pub choice: Choice,
    /// How long it took to choose them, a search within a budget aside.
    spent: Spent,
    /// The run.
    pub run: Run,
    /// What it was run with.
    pub inputs: Vec<Vec<f32>>,
    /// Largest difference of any output from the reference, or why there is none.
    pub difference: Result<f64, String>,
    /// What a search within a budget found.
    searched: Searched,
}

impl Done {
    /// What its kernels take one by one, together; `None` where the device has no clock.
    pub fn kernels_time(&self, network: &Network) -> Option<(Seconds, TimeSource)> {
        let times = network.steps.iter().map(|step| self.choice.tuned[&network.key(&self.choice.selection, step)].time);
        times.reduce(|sum, own| sum.zip(own).map(|(sum, own)| (sum.0 + own.0, own.1))).flatten()
    }
}

/// A plan's outputs for one array per input, in `f64`.
type Outputs<'a> = dyn Fn(&[Vec<f64>]) -> Result<Vec<Vec<f64>>, GraphError> + 'a;

/// What a plan's outputs should be.
pub struct Reference<'a> {
    /// The outputs.
    pub values: &'a Outputs<'a>,
    /// How many values it computes for that ([`Plan::work`](warpsight_graph::Plan::work)).
    pub work: u64,
    /// How many it computes at most.
    pub most: u64,
}

/// Values that the reference of a network computes at most, by native loops: a minute's worth.
const EVALUATED: u64 = 1 << 34;

/// Chooses, runs, compares, stores and exports.
pub fn optimize(
    network: &Network,
    settled: &Settled,
    reference: &Reference,
    name: &str,
    (args, judging): (&Args, &Judging),
    target: &mut Target,
    record: &mut Record,
) -> Result<Done, Failure> {
    let plan = network.plan();
    let mut rng = fastrand::Rng::new();
    let (mut choice, mut spent) = choose(network, &settled.found, judging, target, record, &mut rng)?;
    spent.choosing += settled.took;
    let mut searched = Searched::default();
    let judge = judging.judge(&target.profile);
    searched.network(network, &mut choice, Hands { args, judge: &judge, device: &mut *target.device, record, rng: &mut rng })?;

    let bar = progress::bar(2, name);
    bar.set_message("running all kernels");
    // Whole numbers are words or masks: 0 and 1 are either.
    let mut value = |t: &PlanTensor| if t.whole { f32::from(u8::from(rng.bool())) } else { rng.f32() * 2.0 - 1.0 };
    let mut random = |t: &PlanTensor| stored(t.element, (0..t.len()).map(|_| value(t)).collect());
    let inputs: Vec<Vec<f32>> = plan.inputs.iter().map(|&id| random(plan.tensor(id))).collect();
    let run = network.run(&choice.selection, &inputs, &mut *target.device, args.runs)?;
    bar.inc(1);
    bar.set_message("computing the f64 reference");
    let difference = match reference.work {
        work if work <= reference.most => Ok(compared(reference, network, &inputs, &run)?),
        work => Err(format!(
            "the f64 reference of the whole was left out: it would compute {:.1e} values, {:.1e} at most are; \
             every kernel was compared by itself, with a sample of its outputs",
            work as f64, reference.most as f64
        )),
    };
    bar.finish_and_clear();
    remember(settled, &choice.selection, &run, record)?;
    if let Some(folder) = &args.out {
        export::sequence(folder, name, &target.device.info().id, &network.job(&choice.selection, &inputs))?;
    }
    Ok(Done { choice, spent, run, inputs, difference, searched })
}

/// Largest accepted difference of a network's outputs from the reference, relative to the largest output where that exceeds 1;
/// tens of layers in `f32` add up to some 1e-6.
const TOLERANCE: f64 = 1e-3;

/// Largest difference of any output from the reference; a failure where that is more than rounding explains.
fn compared(reference: &Reference, network: &Network, inputs: &[Vec<f32>], run: &Run) -> Result<f64, Failure> {
    let (difference, largest) = difference(reference, inputs, run)?;
    // A rounding to a narrow type may come out the other way, and is carried on; those of several kernels add up like what is independent.
    let narrowest = network.families.iter().map(|family| tolerance(family.expr())).fold(0.0, f64::max);
    let several = (network.steps.len() as f64).sqrt().max(2.0);
    if difference.is_finite() && difference <= TOLERANCE.max(several * narrowest) * largest.max(1.0) {
        return Ok(difference);
    }
    let said = "every kernel was right by itself, but the network's outputs differ from the f64 reference by";
    Err(Failure::new(Kind::NothingVerified, format!("{said} {difference:.3e}")))
}

/// Largest difference of any output from the unfused graph evaluated in `f64` (NaN where one of both is NaN), and the largest finite output.
fn difference(reference: &Reference, inputs: &[Vec<f32>], run: &Run) -> Result<(f64, f64), Failure> {
    let doubles: Vec<Vec<f64>> = inputs.iter().map(|v| v.iter().map(|&x| f64::from(x)).collect()).collect();
    let expected = (reference.values)(&doubles).map_err(|e| Failure::input(e.to_string()))?;
    let pairs = expected.iter().zip(&run.outputs).flat_map(|(e, (_, _, got))| e.iter().zip(got));
    Ok(pairs.fold((0.0, 0.0), |(worst, largest): (f64, f64), (e, g)| {
        // What is NaN, or beyond `f32`, in the reference has to be so in the output.
        let same = e.is_nan() && g.is_nan() || *e as f32 == *g;
        let off = if same { 0.0 } else { (e - f64::from(*g)).abs() };
        // NaN must not pass as small, nor be forgotten.
        let worst = if off.is_nan() || worst.is_nan() { f64::NAN } else { worst.max(off) };
        (worst, if e.is_finite() { largest.max(e.abs()) } else { largest })
    }))
}

/// The same as JSON.
pub fn rejected(rejected: &[(BTreeMap<Name, KnobValue>, String)]) -> Value {
    rejected.iter().map(|(knobs, reason)| json!({"config": knobs, "reason": reason})).collect()
}

/// What the model's first choice was expected to lose, unmeasured, in percent.
pub fn expected_loss(tuned: &Tuned) -> Option<f64> {
    tuned.expected_loss.map(|loss| 100.0 * loss)
}

/// One row of the report: a kernel and all the places it is used at.
struct Row<'a> {
    names: Vec<&'a str>,
    kind: &'a str,
    family: usize,
    tuned: &'a Tuned,
    /// Sum over its uses, in the run of the network.
    total: Seconds,
    share: f64,
    /// The file that says what it touches.
    accesses: Option<String>,
}

/// What the kernels touch, where that was asked for.
fn write_accesses(rows: &mut [Row], network: &Network, args: &Args, target: &Target) -> Result<(), Failure> {
    let Some(folder) = &args.accesses else { return Ok(()) };
    let chosen = |row: &Row<'_>| network.families[row.family].kernel(&row.tuned.config);
    let chosen: Vec<Touched> =
        rows.iter().map(|row| Touched { what: row.names[0], knobs: &row.tuned.knobs, kernel: chosen(row) }).collect();
    let files = accesses::files(folder, &target.device.info().id, &chosen)?;
    rows.iter_mut().zip(files).for_each(|(row, file)| row.accesses = Some(file));
    Ok(())
}

fn rows<'a>(network: &'a Network, choice: &'a Choice, run: &Run) -> Vec<Row<'a>> {
    let mut rows: Vec<Row> = vec![];
    let times = run.step_times();
    for (n, step) in network.steps.iter().enumerate() {
        let tuned = &choice.tuned[&network.key(&choice.selection, step)];
        let time = times.get(n).copied().unwrap_or(tuned.estimate.time);
        match rows.iter_mut().find(|r| std::ptr::eq(r.tuned, tuned)) {
            Some(row) => {
                row.names.push(&step.name);
                row.total += time;
            }
            None => rows.push(Row {
                names: vec![&step.name],
                kind: &step.kind,
                family: step.family,
                tuned,
                total: time,
                share: 0.0,
                accesses: None,
            }),
        }
    }
    let all: f64 = rows.iter().map(|r| r.total.0).sum();
    rows.iter_mut().for_each(|r| r.share = r.total.0 / all);
    rows
}

fn shape(network: &Network, row: &Row) -> serde_json::Map<String, Value> {
    let expr = network.families[row.family].expr();
    let mut shape: serde_json::Map<String, Value> = expr.all_axes().map(|a| (a.name.to_string(), json!(a.extent))).collect();
    shape.insert("output".into(), json!(expr.output.shape));
    shape
}

fn report(rows: &[Row], network: &Network, done: &Done, target: &Target) -> Value {
    let Done { choice, run, difference, .. } = done;
    let operators: Vec<Value> = rows
        .iter()
        .map(|row| {
            let candidates = &choice.candidates[row.family];
            let mut value = json!({
                "name": row.names[0],
                "nodes": row.names,
                "kernel": network.families[row.family].name(),
                "op": row.kind,
                "shape": shape(network, row),
                "config": row.tuned.knobs,
                "candidates": candidates.total,
                "ranked": candidates.left,
                "pruned": candidates.pruned,
                "predicted_s": row.tuned.estimate.time,
                "interval_s": row.tuned.estimate.interval,
                "time_s": row.tuned.time.map(|t| t.0),
                "time_source": row.tuned.time.map(|t| t.1),
                "bound_s": row.tuned.estimate.bound,
                "percent_of_bound": row.tuned.percent_of_bound(),
                "share": row.share,
                "limiter": row.tuned.estimate.limiter(),
                "verified": true,
                "rel_l2_error": row.tuned.verdict.rel_l2,
                "rejected": rejected(&row.tuned.rejected),
                "expected_loss_percent": expected_loss(row.tuned),
                "doubtful": row.tuned.is_doubtful(),
                "registers": {"predicted": row.tuned.registers, "reported": row.tuned.feedback.registers, "private_bytes": row.tuned.feedback.private_bytes},
            });
            if let Some(file) = &row.accesses {
                value["accesses"] = json!(file);
            }
            value
        })
        .collect();
    let (whole, cpu_time) = run.whole();
    let Meanwhile { handed, pass } = in_pass(network.plan());
    json!({
        "device": target.device.info().id,
        "device_name": target.device.info().name,
        "driver": target.device.info().driver,
        "profile": target.profile.name,
        "operators": operators,
        "layers": page::layers(network, done),
        "memory": page::memory(network, done),
        "network": {
            "predicted_s": choice.pass_time(network, &target.profile),
            "between_bytes": handed,
            "pass_bytes": pass,
            "time_s": whole.median(),
            "fastest_s": whole.spread().map(|spread| spread.min),
            "launches_s": run.passes.median(),
            "time_source": run.source,
            "cpu_s": cpu_time.filter(|_| target.device.info().is_cpu),
            "kernels_s": run.step_times().into_iter().sum::<Seconds>(),
            "fastest_kernels_s": run.fastest_steps().into_iter().sum::<Seconds>(),
            "choosing_s": done.spent.choosing.as_secs_f64(),
            "compiling_s": done.spent.compiling.as_secs_f64(),
            "max_abs_diff": difference.as_ref().ok(),
            "reason": difference.as_ref().err(),
        },
    })
}

fn print(rows: &[Row], network: &Network, done: &Done, target: &Target) -> Result<(), Failure> {
    let Done { run, difference, .. } = done;
    let mut shown = table(&[
        Keep("operator"),
        Spare(3, "uses"),
        Spare(2, "op"),
        Spare(1, "output"),
        Below("configuration"),
        Keep("predicted us"),
        Keep("time us"),
        Spare(4, "source"),
        Keep("share %"),
        Spare(5, "% of bound"),
        Keep("limiter"),
    ]);
    let mut order: Vec<&Row> = rows.iter().collect();
    order.sort_by(|a, b| b.share.total_cmp(&a.share));
    for row in order {
        let t = row.tuned;
        shown.add_row([
            row.names[0].to_owned(),
            row.names.len().to_string(),
            row.kind.to_owned(),
            format!("{:?}", network.families[row.family].expr().output.shape),
            config(&t.knobs),
            micros(t.estimate.time),
            t.time.map_or("-".into(), |x| micros(x.0)),
            t.time.map_or("-", |x| x.1.name()).into(),
            format!("{:.1}", 100.0 * row.share),
            t.percent_of_bound().map_or("-".into(), |part| format!("{part:.0}")),
            t.estimate.limiter().name().into(),
        ]);
    }
    out(format_args!("{shown}"))?;
    let kernels: usize = rows.iter().map(|r| r.names.len()).sum();
    let source = run.source.map_or("", |s| s.name());
    // The fastest pass is what a device takes that nobody else uses; the model knows of no other.
    let time = run.whole().0.spread().map_or("not timed".to_owned(), |spread| {
        let fastest =
            if spread.min < spread.median { format!(", {} the fastest of {}", micros(spread.min), spread.count) } else { String::new() };
        format!("{} us ({source}{fastest})", micros(spread.median))
    });
    out(format_args!(
        "{kernels} kernels on {}: {time}, {} us (predicted)",
        target.device.info().id,
        micros(done.choice.pass_time(network, &target.profile))
    ))?;
    if let Some((ratio, rank)) = agreement(rows) {
        out(format_args!("prediction against {source} per kernel: geometric error x{ratio:.2}, rank correlation {rank:.2}"))?;
    }
    if let Some(error) = register_error(rows) {
        out(format_args!("registers predicted against reported: mean error {error:+.1} %"))?;
    }
    if let Some(line) = dropped(&pruned(&done.choice.candidates)) {
        out(format_args!("configurations {line}"))?;
    }
    for row in rows {
        rejections(&row.tuned.rejected)?;
    }
    let Spent { choosing, compiling } = done.spent;
    out(format_args!(
        "chosen in {:.1} s, compiled, verified and timed in {:.1} s (measured)",
        choosing.as_secs_f64(),
        compiling.as_secs_f64()
    ))?;
    target.told()?;
    match difference {
        Ok(difference) => out(format_args!("largest difference from the f64 reference: {difference:.1e}")),
        Err(reason) => out(reason),
    }
}

/// How many configurations were dropped of all kernels, by reason.
fn pruned(candidates: &[Candidates]) -> BTreeMap<&'static str, usize> {
    let mut all = BTreeMap::new();
    for (reason, n) in candidates.iter().flat_map(|own| &own.pruned) {
        *all.entry(*reason).or_default() += n;
    }
    all
}

/// A line on dropped configurations, if there are any; and what follows for tensors where images are too small for them.
pub fn dropped(pruned: &BTreeMap<&'static str, usize>) -> Option<String> {
    let words: Vec<String> = pruned.iter().filter(|own| *own.1 > 0).map(|(why, n)| format!("{n} by {why}")).collect();
    let beyond = pruned.get("image_size").is_some_and(|&n| n > 0);
    let so = if beyond { "; tensors that the device takes no image of lie in buffers" } else { "" };
    (!words.is_empty()).then(|| format!("dropped {}{so}", words.join(", ")))
}

/// Better ranked kernels that were not taken, and why.
pub fn rejections(rejected: &[(BTreeMap<Name, KnobValue>, String)]) -> Result<(), Failure> {
    rejected.iter().try_for_each(|(knobs, reason)| out(format_args!("rejected {}: {reason}", config(knobs))))
}

/// Geometric mean of the factor between predicted and taken time, and Spearman's rank correlation; `None` for fewer than three kernels.
fn agreement(rows: &[Row]) -> Option<(f64, f64)> {
    let pairs: Vec<(f64, f64)> = rows.iter().filter_map(|r| Some((r.tuned.estimate.time.0, r.tuned.time?.0.0))).collect();
    if pairs.len() < 3 {
        return None;
    }
    Some((geometric_error(&pairs), spearman(&pairs)))
}

/// Mean relative error of predicted registers, in percent, over kernels whose driver reports any.
fn register_error(rows: &[Row]) -> Option<f64> {
    let pairs: Vec<(f64, f64)> =
        rows.iter().filter_map(|r| Some((f64::from(r.tuned.registers), f64::from(r.tuned.feedback.registers?)))).collect();
    (!pairs.is_empty()).then(|| 100.0 * pairs.iter().map(|(p, t)| p / t - 1.0).sum::<f64>() / pairs.len() as f64)
}

/// The report of an operator that takes several kernels.
#[expect(clippy::too_many_arguments, reason = "what one run of the verb has at hand")]
pub fn show_operator(
    text: &str,
    chosen: &Chosen,
    network: &Network,
    done: &Done,
    found: Option<&Found>,
    args: &Args,
    target: &Target,
    json: bool,
) -> Result<(), Failure> {
    let mut rows = rows(network, &done.choice, &done.run);
    write_accesses(&mut rows, network, args, target)?;
    if !json {
        print(&rows, network, done, target)?;
        done.searched.print()?;
        found.map_or(Ok(()), Found::print)?;
        return sequences::print(chosen.taken.name, &chosen.considered);
    }
    let pruned = pruned(&done.choice.candidates);
    let whole = report(&rows, network, done, target);
    let mut value = json!({
        "op": text,
        "device": target.device.info().id,
        "driver": target.device.info().driver,
        "profile": target.profile.name,
        "candidates": done.choice.candidates.iter().map(|c| c.total).sum::<usize>(),
        "ranked": done.choice.candidates.iter().map(|c| c.left).sum::<usize>(),
        "pruned": pruned,
        "chosen": {
            "config": rows.iter().map(|r| json!(r.tuned.knobs)).collect::<Vec<_>>(),
            "predicted_s": whole["network"]["predicted_s"],
            "bound_s": rows.iter().map(|r| r.tuned.estimate.bound).sum::<Option<Seconds>>(),
            "time_s": done.run.passes.median(),
            "time_source": whole["network"]["time_source"],
            "cpu_s": done.run.cpu_time.filter(|_| target.device.info().is_cpu),
            "verified": true,
        },
        "sequence": chosen.taken.name,
        "sequences": sequences::considered(&chosen.considered),
        "steps": whole["operators"],
        "network": {
            "max_abs_diff": done.difference.as_ref().ok(),
            "reason": done.difference.as_ref().err(),
        },
    });
    done.searched.add_to(&mut value);
    if let Some(found) = found {
        found.into(&mut value);
    }
    out(value)
}
