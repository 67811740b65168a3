//! `warpsight optimize --op …`: one operator.

use super::guided::{Hands, Searched};
use super::network::{self, Reference};
use super::pruning::{self, Pruning};
use super::searched::{self, Picked};
use super::trace::Trace;
use super::{Args, Prune, Search, kernel_tuner, sequences};
use crate::accesses::{self, Chosen as Touched};
use crate::failure::{Failure, Kind};
use crate::network::{Settled, given_up};
use crate::record::Record;
use crate::report::Column::{Below, Keep, Spare};
use crate::report::{config, micros, out, table};
use crate::target::Target;
use crate::target::judging::Judging;
use crate::{export, progress};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::path::Path;
use warpsight_engine::EngineError;
use warpsight_engine::candidates::{self, Chosen, Offer, timed};
use warpsight_engine::network::Network;
use warpsight_engine::tune::{self, Attempt, Candidates, Judge, Tuned};
use warpsight_engine::verify::{Trial, check_operator};
use warpsight_generate::operators::{forms, parse_operator};
use warpsight_generate::{Lowering, Operator, ScheduleFamily};
use warpsight_graph::Plan;
use warpsight_ir::{Config, Family, Name};
use warpsight_run::Job;

/// Values that the reference of a whole operator computes at most, expression by expression: some ten seconds' worth.
const EVALUATED: u64 = 1 << 28;

/// What came of one expression of the operator.
struct Outcome {
    family: ScheduleFamily,
    candidates: Candidates,
    chosen: Tuned,
    /// The file that says what it touches.
    accesses: Option<String>,
}

impl Outcome {
    /// What runs the chosen kernel once, on random inputs.
    fn job(&self, rng: &mut fastrand::Rng) -> Job {
        Trial::new(self.family.expr(), &self.chosen.layouts, rng).job(&self.chosen.program, None)
    }

    fn touched<'a>(&'a self, text: &'a str) -> Touched<'a> {
        Touched { what: text, knobs: &self.chosen.knobs, kernel: self.family.kernel(&self.chosen.config) }
    }
}

/// What `--op` takes.
pub fn help() -> String {
    let forms: Vec<String> = forms().map(|form| format!("  {form}")).collect();
    format!(
        "One operator instead, for instance \"matmul m=64 n=64 k=64\". Operators and their keys (those in brackets may be left out; \
         dtype is f32, f16s (half storage, float arithmetic) or f16 (half storage and arithmetic); weights is constant, packed in advance, or none: inputs like others):\n{}\n\
         Sizes may be open: a range with both its ends, m=1..512, or a list, m=1,8,17,512. Then each shape is chosen for, and few kernels are kept, which \
         lose 5 % at most at every shape by the model, against the best kernel counted there of the first sequence that is one kernel at every shape (several \
         kernels, such as Winograd, may be faster at one shape); where one size is open a kernel takes it as an argument if its configuration has one form for \
         all, else it is compiled for each shape. --out writes the kernels, what runs for each shape (launch.json), and how it was chosen (dispatch.json).",
        forms.join("\n")
    )
}

/// Optimizes the operator that the text describes.
pub fn run(text: &str, args: &Args, target: &mut Target, record: &mut Record, mut trace: Option<Trace>, json: bool) -> Result<(), Failure> {
    let operator: Operator = parse_operator(text).map_err(|e| Failure::input(e.to_string()).at(text))?;
    if args.explain_pruning {
        return pruning::explain(text, &operator, target.passes, &Pruning::of(args.prune, &target.profile, &target.allowance), json);
    }
    // Steps of lowering need no data.
    if args.dump.is_none() {
        check_operator(&operator, &target.device.info().limits)?;
    }
    let judging = Judging::new(target, args.top, args.runs);
    let limits = target.device.info().limits.clone();
    let offer = Offer { limits: &limits, names: args.sequences.as_deref() };
    let judge = judging.judge(&target.profile);
    // Several are timed of sequences, too; a search over everything does so by itself.
    let chosen = if judge.top > 1 && args.dump.is_none() && args.search != Search::Exhaustive {
        let bar = progress::parts("timing sequences");
        let mut goes_on = |name: &'static str| {
            bar.set_message(name);
            !progress::interrupted()
        };
        let mut observe = |family: &ScheduleFamily, attempt: &Attempt| record.attempt(family, attempt);
        let mut rng = fastrand::Rng::new();
        let chosen = timed::choose(&operator, &judge, &offer, (&mut *target.device, &mut rng), &mut observe, &mut goes_on);
        bar.finish_and_clear();
        chosen?
    } else {
        candidates::choose(&operator, &judge, &offer)?
    };
    match kernels(text, &operator, &chosen, args, target, record, &mut trace, json) {
        Err(failure) if chosen.taken.operator != operator && failure.kind == Kind::NothingVerified => {
            given_up(&failure);
            kernels(text, &operator, &Chosen::as_it_is(&operator), args, target, record, &mut trace, json)
        }
        done => done,
    }
}

/// Holds a file of Kernel Tuner's against what is predicted of the kernel, of all sequences, that it is of.
pub fn compare(file: &Path, text: &str, args: &Args, target: &Target, record: Option<&mut Record>, json: bool) -> Result<(), Failure> {
    let operator: Operator = parse_operator(text).map_err(|e| Failure::input(e.to_string()).at(text))?;
    let offer = Offer { limits: &target.device.info().limits, names: args.sequences.as_deref() };
    let all = candidates::offered(&operator, &offer);
    let families: Vec<ScheduleFamily> =
        all.iter().flat_map(|own| own.operator.kernels().cloned().map(|step| ScheduleFamily::by(step, target.passes))).collect();
    kernel_tuner::import(file, text, &families, args, target, record, json)
}

/// Kernels for the sequence of expressions that was chosen for an operator.
#[expect(clippy::too_many_arguments, reason = "what one run of the verb has at hand")]
fn kernels(
    text: &str,
    direct: &Operator,
    chosen: &Chosen,
    args: &Args,
    target: &mut Target,
    record: &mut Record,
    trace: &mut Option<Trace>,
    json: bool,
) -> Result<(), Failure> {
    let operator = &chosen.taken.operator;
    if args.dump.is_none() && operator.steps.len() > 1 {
        if args.prune != Prune::None && args.search != Search::Exhaustive {
            let said = format!("--prune is of one kernel where not everything is timed, and `{}` is several", chosen.taken.name);
            return Err(Failure::input(said)
                .help("--sequences names a sequence of one kernel; --search exhaustive prunes the space of each kernel"));
        }
        return sequence(text, direct, chosen, args, target, record, trace, json);
    }
    let judging = Judging::new(target, args.top, args.runs);
    let mut rng = fastrand::Rng::new();
    let mut outcomes = vec![];
    let mut searched = Searched::default();
    let mut dumped = vec![];
    for step in operator.kernels() {
        let family = ScheduleFamily::by(step.clone(), target.passes);
        let judge = judging.judge(&target.profile);
        if let Some(stage) = args.dump {
            let (_, ranked) = tune::rank_all(&family, &judge)?;
            let best = ranked.first().ok_or_else(|| Failure::input("no configuration fits the device"))?;
            dumped.push((family.name().clone(), family.dump(&best.config, stage).map_err(EngineError::from)?));
            continue;
        }
        let pruning = Pruning::of(args.prune, &target.profile, &target.allowance);
        let hands = Hands { args, judge: &judge, device: &mut *target.device, record, rng: &mut rng };
        outcomes.push(optimize(family, hands, &pruning, &mut searched)?);
    }
    if let Some(stage) = args.dump {
        return dump(text, stage, &dumped, json);
    }
    let mut found = None;
    if let ([one], Search::Exhaustive) = (outcomes.as_mut_slice(), args.search) {
        let picked = Picked { name: chosen.taken.name, time: one.chosen.time, alone: Some(&mut one.chosen) };
        found = searched::search(direct, picked, args, target, record, &mut rng)?;
    }
    if let Some(folder) = &args.export_kernel_tuner {
        kernel_tuner::export(folder, &outcomes.iter().map(|own| &own.family).collect::<Vec<_>>(), target, record)?;
    }
    if let Some(out) = &args.out {
        for outcome in &outcomes {
            let own = export::operator(outcome.family.expr(), &outcome.chosen.layouts, outcome.job(&mut rng));
            export::sequence(out, outcome.family.name(), &target.device.info().id, &own)?;
        }
    }
    if let Some(trace) = trace.take() {
        trace.write(text, &outcomes.iter().map(|outcome| outcome.job(&mut rng)).collect::<Vec<_>>())?;
    }
    if let Some(folder) = &args.accesses {
        let chosen: Vec<Touched> = outcomes.iter().map(|o| o.touched(text)).collect();
        let files = accesses::files(folder, &target.device.info().id, &chosen)?;
        outcomes.iter_mut().zip(files).for_each(|(o, file)| o.accesses = Some(file));
    }
    if json {
        let mut value = report(text, target, &outcomes);
        value["sequence"] = json!(chosen.taken.name);
        value["sequences"] = sequences::considered(&chosen.considered);
        searched.add_to(&mut value);
        if let Some(found) = &found {
            found.into(&mut value);
        }
        out(value)?;
    } else {
        print(&outcomes)?;
        searched.print()?;
        if let Some(found) = &found {
            found.print()?;
        }
        sequences::print(chosen.taken.name, &chosen.considered)?;
        target.told()?;
    }
    Ok(())
}

/// An operator of several kernels is a small network: the kernels agree on where the tensors between them lie. Its constants are random.
#[expect(clippy::too_many_arguments, reason = "what one run of the verb has at hand")]
fn sequence(
    text: &str,
    direct: &Operator,
    chosen: &Chosen,
    args: &Args,
    target: &mut Target,
    record: &mut Record,
    trace: &mut Option<Trace>,
    json: bool,
) -> Result<(), Failure> {
    let mut rng = fastrand::Rng::new();
    let whole = Plan::of_operator(direct, |n| (0..n).map(|_| rng.f64() * 2.0 - 1.0).collect());
    let mut plan = whole.clone();
    if chosen.taken.operator != *direct {
        plan.replace(0, chosen.taken.operator.clone());
    }
    let network = Network::by(&plan, target.passes)?;
    let reference = Reference { values: &|inputs| whole.evaluate_f64(inputs), work: whole.work(), most: EVALUATED };
    let judging = Judging::new(target, args.top, args.runs);
    let done =
        network::optimize(&network, &Settled::as_it_is(&plan, target.passes), &reference, &direct.kind, (args, &judging), target, record)?;
    if let Some(trace) = trace.take() {
        trace.write(text, &[network.job(&done.choice.selection, &done.inputs).job])?;
    }
    let found = match args.search {
        Search::Model | Search::Random | Search::Evolutionary | Search::Anneal => None,
        Search::Exhaustive => {
            let picked = Picked { name: chosen.taken.name, time: done.kernels_time(&network), alone: None };
            searched::search(direct, picked, args, target, record, &mut rng)?
        }
    };
    if let Some(folder) = &args.export_kernel_tuner {
        kernel_tuner::export(folder, &network.families.iter().collect::<Vec<_>>(), target, record)?;
    }
    network::show_operator(text, chosen, &network, &done, found.as_ref(), args, target, json)
}

fn optimize(family: ScheduleFamily, hands: Hands, pruning: &Pruning, searched: &mut Searched) -> Result<Outcome, Failure> {
    let Hands { args, judge, device, record, rng } = hands;
    let bar = progress::bar(judge.most(), family.name());
    bar.set_message("ranking");
    let whole = args.search != Search::Exhaustive && args.prune == Prune::None;
    // What is picked is of what is timed.
    let cut = match args.search {
        _ if whole => None,
        Search::Exhaustive => Some(pruning.cut(&family, searched::space(&family, args.space, 1))?),
        _ => Some(pruning.cut(&family, family.configs().collect())?),
    };
    let (candidates, ranked) = match &cut {
        None => {
            let (candidates, ranked) = tune::rank_all(&family, judge)?;
            (candidates.with_rest(&family, &judge.allowance), ranked)
        }
        Some(cut) => Pruning::rank(&family, cut, judge)?,
    };
    bar.set_message("verifying and timing");
    let mut observe = |attempt: &Attempt| {
        bar.inc(1);
        record.attempt(&family, attempt)
    };
    let again = |tight: &Judge| if whole { Ok(tune::rank_all(&family, tight)?.1) } else { Ok(vec![]) };
    let mut chosen = tune::choose_fitting(&family, &ranked, judge, device, rng, &mut observe, again)?;
    bar.finish_and_clear();
    let left: Option<HashSet<Config>> = cut.map(|cut| cut.left.into_iter().collect());
    let wanted = |config: &Config| left.as_ref().is_none_or(|left| left.contains(config));
    searched.alone(&family, &mut chosen, (&ranked, &wanted), Hands { args, judge, device, record, rng })?;
    Ok(Outcome { family, candidates, chosen, accesses: None })
}

/// The steps of the operator after a step of lowering.
fn dump(text: &str, stage: Lowering, steps: &[(Name, String)], json: bool) -> Result<(), Failure> {
    if json {
        let steps: Vec<Value> = steps.iter().map(|(name, text)| json!({"name": name, "text": text})).collect();
        return out(json!({"op": text, "dump": stage.name(), "steps": steps}));
    }
    steps.iter().try_for_each(|(_, text)| out(text))
}

fn report(text: &str, target: &Target, outcomes: &[Outcome]) -> Value {
    let step = |o: &Outcome| {
        let chosen = &o.chosen;
        let mut value = json!({
            "name": o.family.name(),
            "candidates": o.candidates.total,
            "ranked": o.candidates.left,
            "pruned": o.candidates.pruned,
            "chosen": {
                "config": chosen.knobs,
                "predicted_s": chosen.estimate.time,
                "interval_s": chosen.estimate.interval,
                "time_s": chosen.time.map(|t| t.0),
                "time_source": chosen.time.map(|t| t.1),
                "cpu_s": chosen.cpu_time.filter(|_| target.device.info().is_cpu),
                "bound_s": chosen.estimate.bound,
                "percent_of_bound": chosen.percent_of_bound(),
                "limiter": chosen.estimate.limiter(),
                "rel_l2_error": chosen.verdict.rel_l2,
                "verified": true,
                "rejected": network::rejected(&chosen.rejected),
                "expected_loss_percent": network::expected_loss(chosen),
                "doubtful": chosen.is_doubtful(),
            },
        });
        if let Some(file) = &o.accesses {
            value["chosen"]["accesses"] = json!(file);
        }
        value
    };
    // An operator of one expression, as most are, is reported directly.
    match outcomes {
        [one] => {
            let mut value = step(one);
            value["op"] = json!(text);
            value["device"] = json!(target.device.info().id);
            value["driver"] = json!(target.device.info().driver);
            value["profile"] = json!(target.profile.name);
            value["network"] = json!({"max_abs_diff": null});
            value
        }
        several => {
            let info = target.device.info();
            let steps: Vec<Value> = several.iter().map(step).collect();
            json!({"op": text, "device": info.id, "driver": info.driver, "profile": target.profile.name, "steps": steps})
        }
    }
}

fn print(outcomes: &[Outcome]) -> Result<(), Failure> {
    let mut rows = table(&[
        Keep("kernel"),
        Below("configuration"),
        Spare(1, "candidates"),
        Spare(2, "left"),
        Keep("predicted us"),
        Keep("time us"),
        Spare(4, "source"),
        Spare(5, "% of bound"),
        Keep("limiter"),
        Spare(3, "rel L2 error"),
    ]);
    for o in outcomes {
        let c = &o.chosen;
        rows.add_row([
            o.family.name().to_string(),
            config(&c.knobs),
            o.candidates.total.to_string(),
            o.candidates.left.to_string(),
            micros(c.estimate.time),
            c.time.map_or("-".into(), |t| micros(t.0)),
            c.time.map_or("-", |t| t.1.name()).into(),
            c.percent_of_bound().map_or("-".into(), |part| format!("{part:.0}")),
            c.estimate.limiter().name().into(),
            format!("{:.1e}", c.verdict.rel_l2),
        ]);
    }
    out(format_args!("{rows}"))?;
    for o in outcomes {
        if let Some(line) = network::dropped(&o.candidates.pruned) {
            out(format_args!("{}: {line}", o.family.name()))?;
        }
        network::rejections(&o.chosen.rejected)?;
        if let Some(loss) = network::expected_loss(&o.chosen) {
            let doubt = if o.chosen.is_doubtful() { ": doubtful, --top auto times several" } else { "" };
            out(format_args!("{}: the model's first choice is expected to lose {loss:.1} % (predicted){doubt}", o.family.name()))?;
        }
        out(format_args!("{}: {}", o.family.name(), o.chosen.estimate.explain()))?;
        out(format_args!(
            "{}: registers predicted {}, reported {}",
            o.family.name(),
            o.chosen.registers,
            crate::report::dash(o.chosen.feedback.registers)
        ))?;
    }
    Ok(())
}
