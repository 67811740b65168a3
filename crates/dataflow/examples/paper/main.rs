//! The evaluation of paper 003, sections 6.2 to 6.6, on the rebuilt applications: what is planned on an A100 and executed on the simulated
//! one, beside what the paper has. Predicted numbers are those of planning, simulated ones those of `sim/devices/a100-40.toml`.
//!
//! `cargo run --release -p warpsight-dataflow --example paper`

#[path = "../../tests/common/mod.rs"]
mod common;
mod evaluate;

use evaluate::{APPS, App, Planned, Times, a100, doubled, geomean, silicon, text};
use warpsight_dataflow::group::traffic;
use warpsight_dataflow::{Patterns, Policy, select};

/// An application under the paper's policy: on the A100 and on one of twice the size; predicted and simulated on each.
struct Case {
    app: &'static App,
    plan: Planned,
    /// Predicted, simulated; plain, doubled.
    times: [[Times; 2]; 2],
    /// Predicted of `--policy best`.
    best: Planned,
}

impl Case {
    fn of(app: &'static App) -> Self {
        let (json, profiles) = (text(app.file), [a100(), doubled()]);
        let [plan, larger] = profiles.each_ref().map(|profile| Planned::of(&json, Policy::Kitsune, profile));
        let both = |plan: &Planned, at: usize| {
            let on = if at == 0 { silicon() } else { silicon().scaled(2.0, 2.0) };
            [Times::predicted(plan), Times::simulated(plan, &profiles[at], &on)]
        };
        let [[a, b], [c, d]] = [both(&plan, 0), both(&larger, 1)];
        Self { app, plan, times: [[a, c], [b, d]], best: Planned::of(&json, Policy::Best, &profiles[0]) }
    }

    fn name(&self) -> String {
        format!("{}{}", self.app.name, if self.app.training { " training" } else { "" })
    }
}

fn main() {
    let cases: Vec<Case> = APPS.iter().map(Case::of).collect();
    table_2(&cases);
    speedups(&cases);
    subgraphs(&cases);
    sensitivity(&cases);
    one_left_out(&cases);
    policies(&cases);
    tokens();
    disagreements(&cases);
}

/// Numbers of these cases.
fn values(cases: &[Case], training: bool, of: impl Fn(&Case) -> f64) -> Vec<f64> {
    cases.iter().filter(|case| case.app.training == training).map(of).collect()
}

/// Whether a number is where it has to be.
fn verdict(value: f64, least: f64, most: f64) -> String {
    if (least..=most).contains(&value) {
        return format!("within {least:.2} to {most:.2}");
    }
    let off = if value < least { value - least } else { value - most };
    format!("MISSED: {least:.2} to {most:.2}, off by {off:+.2}")
}

fn table_2(cases: &[Case]) {
    println!("Table 2: operators in groups and traffic kept on chip (counted on the graphs)\n");
    println!("                   vertical                                dataflow");
    println!("application        operators, paper   traffic %, paper     operators, paper   traffic %, paper");
    for case in cases {
        let (ours, kept, app) = (case.plan.operators(), case.plan.kept(), case.app);
        let [vertical, dataflow] = [0, 1].map(|at| {
            let (operators, percent) = (format!("{} ({})", ours[at], app.operators[at]), format!("{:.2} ({:.2})", kept[at], app.kept[at]));
            format!("{operators:18} {percent:20}")
        });
        println!("{:18} {vertical} {dataflow}", case.name());
    }
}

fn speedups(cases: &[Case]) {
    println!("\nFigures 11 and 14: speedup over bulk-synchronous execution, end to end\n");
    println!("                   vertical               dataflow               dataflow, graphs of kernels");
    println!("application        predicted  simulated   predicted  simulated   predicted  simulated");
    for case in cases {
        let [predicted, simulated] = [0, 1].map(|at| case.times[at][0].speedups());
        let graph = [0, 1].map(|at| case.times[at][0].graph[0] / case.times[at][0].graph[2]);
        println!(
            "{:18} {:9.2}  {:9.2}   {:9.2}  {:9.2}   {:9.2}  {:9.2}",
            case.name(),
            predicted[0],
            simulated[0],
            predicted[1],
            simulated[1],
            graph[0],
            graph[1]
        );
    }
    for (at, kind) in ["predicted", "simulated"].into_iter().enumerate() {
        let mean = |which: usize| geomean(&values(cases, false, |case| case.times[at][0].speedups()[which]));
        println!("inference, geometric mean, {kind}: dataflow {:.2} (paper 1.5), {}", mean(1), verdict(mean(1), 1.275, 1.725));
        println!("inference, geometric mean, {kind}: vertical {:.2} (paper 1.14), {}", mean(0), verdict(mean(0), 1.026, 1.254));
        let of = |training: bool| values(cases, training, |case| case.times[at][0].speedups()[1]);
        let (training, inference) = (of(true), of(false));
        let (least, most) = (training.iter().copied().fold(f64::INFINITY, f64::min), training.iter().copied().fold(0.0, f64::max));
        println!(
            "training, {kind}: {least:.2} to {most:.2} (paper 1.1 to 2.2 or 2.4), {}, {}",
            verdict(least, 1.0, 2.5),
            verdict(most, 1.0, 2.5)
        );
        let place = |by: fn(f64, f64) -> bool| {
            let first = inference.iter().enumerate().reduce(|a, b| if by(*b.1, *a.1) { b } else { a });
            first.map_or("", |(place, _)| cases[place].app.name)
        };
        println!("inference, {kind}: {} most (paper: NERF), {} least (paper: LL-CTX)", place(|a, b| a > b), place(|a, b| a < b));
    }
}

fn subgraphs(cases: &[Case]) {
    println!("\nFigures 10 and 12: speedup of each group, without launches\n");
    for case in cases {
        for (at, kind) in ["predicted", "simulated"].into_iter().enumerate() {
            let all: Vec<String> = case.times[at][0].of_groups().map(|speedup| format!("{speedup:.2}")).collect();
            println!("{:18} {kind}: {}", case.name(), all.join(" "));
        }
    }
    for (at, kind) in ["predicted", "simulated"].into_iter().enumerate() {
        let all: Vec<f64> = cases.iter().filter(|case| !case.app.training).flat_map(|case| case.times[at][0].of_groups()).collect();
        let mean = geomean(&all);
        println!("inference, geometric mean, {kind}: {mean:.2} (paper 1.9, 1.04 to 3.4), {}", verdict(mean, 1.52, 2.28));
    }
}

fn sensitivity(cases: &[Case]) {
    println!("\nTwice the multiprocessors and second-level bandwidth, the same memory (section 1)\n");
    for (at, kind) in ["predicted", "simulated"].into_iter().enumerate() {
        for (training, paper) in [(false, 0.47), (true, 0.27)] {
            let gain =
                |of: fn(&Times) -> f64| geomean(&values(cases, training, |case| of(&case.times[at][0]) / of(&case.times[at][1]))) - 1.0;
            let (dataflow, baseline) = (gain(|times| times.dataflow), gain(|times| times.bsp));
            let what = if training { "training" } else { "inference" };
            println!("{what}, {kind}: dataflow +{dataflow:.2} (paper +{paper}), {}", verdict(dataflow, paper - 0.1, paper + 0.1));
            println!("{what}, {kind}: bulk-synchronous +{baseline:.2} (paper +0.18 to +0.26), {}", verdict(baseline, 0.15, 0.30));
        }
    }
}

fn one_left_out(cases: &[Case]) {
    println!(
        "\nOne application left out: what the others say, with the same constants. Nothing is fitted, so that no mean may hang on one\n"
    );
    println!("left out           dataflow: predicted  simulated   vertical: predicted  simulated");
    for out in cases.iter().filter(|case| !case.app.training) {
        let mean = |at: usize, which: usize| {
            let others = cases.iter().filter(|case| !case.app.training && case.app.file != out.app.file);
            geomean(&others.map(|case| case.times[at][0].speedups()[which]).collect::<Vec<_>>())
        };
        let name = out.app.name;
        println!("{name:18} {:19.2}  {:9.2}   {:19.2}  {:9.2}", mean(0, 1), mean(1, 1), mean(0, 0), mean(1, 0));
    }
}

fn policies(cases: &[Case]) {
    println!("\n--policy best against the best of the others, µs (predicted), and the term that saves most\n");
    println!("application        bulk-sync.   vertical    kitsune       best   saved  term");
    for case in cases {
        let (paper, best) = (&case.plan.plan.times, &case.best.plan.times.dataflow);
        let others = [&paper.bsp, &paper.vertical, &paper.dataflow];
        let Some(least) = others.into_iter().reduce(|a, b| if b.eager < a.eager { b } else { a }) else { continue };
        let (term, seconds) = least.terms(&case.plan.platform).most_saved(&best.terms(&case.plan.platform));
        let us = |execution: &warpsight_dataflow::Execution| 1e6 * execution.eager.0;
        println!(
            "{:18} {:10.1} {:10.1} {:10.1} {:10.1} {:6.1}%  {term}, {:.1} µs",
            case.name(),
            us(others[0]),
            us(others[1]),
            us(others[2]),
            us(best),
            100.0 * (1.0 - best.eager / least.eager),
            1e6 * seconds.0
        );
    }
}

/// The paper says nowhere how many tokens a training step of Llama has.
fn tokens() {
    println!("\nLlama training: traffic kept on chip by tokens of a step (paper 45.16 %, tokens not given)\n");
    println!("tokens     as counted  without activations stored for the backward pass");
    for times in [1, 2, 4, 8, 16, 64] {
        let graph = common::read(&common::scaled(&text("train_llama"), &[(1536, 1536 * times)])).expect("a graph");
        let groups = select::kitsune(&graph, &Patterns::kitsune());
        let all = graph.bytes();
        let kept = 100.0 * (1.0 - traffic(&graph, &groups).bytes() / all);
        let side: f64 = groups.iter().map(|group| group.side_outputs(&graph).0).sum();
        println!("{:6} {kept:13.2} % {:10.2} %", 1536 * times, kept + 100.0 * side / all.0);
    }
}

/// A contradiction that the paper has in itself.
#[derive(serde::Deserialize)]
struct Conflict {
    about: String,
    says: Vec<Claim>,
    bound: Option<Bound>,
    why: String,
}

#[derive(serde::Deserialize)]
struct Claim {
    claim: String,
    cite: String,
}

/// A share of the time and how much faster it gets.
#[derive(serde::Deserialize)]
struct Bound {
    share: f64,
    speedup: f64,
}

#[derive(serde::Deserialize)]
struct Published {
    conflict: Vec<Conflict>,
}

fn disagreements(cases: &[Case]) {
    println!("\nWhere the time goes, µs (predicted): what explains a difference to the paper has to be in one of these\n");
    println!("                   bulk-synchronous                             dataflow");
    println!("application          launch    memory     units   waiting        launch    memory     units   waiting   simulated/predicted");
    for case in cases {
        let [bsp, dataflow] = case.plan.terms().map(|terms| {
            let each = terms.named().map(|(_, seconds)| format!("{:9.1}", 1e6 * seconds.0));
            each.join(" ")
        });
        let ratio = |of: fn(&Times) -> f64| of(&case.times[1][0]) / of(&case.times[0][0]);
        let name = case.name();
        println!("{name:18} {bsp}     {dataflow}   {:.2} and {:.2}", ratio(|times| times.bsp), ratio(|times| times.dataflow));
    }
    println!("\nWhere the paper disagrees with itself\n");
    let published: Published = toml::from_str(include_str!("../../data/paper.toml")).expect("the paper's numbers");
    for Conflict { about, says, bound, why } in &published.conflict {
        println!("{about}: {why}");
        says.iter().for_each(|Claim { claim, cite }| println!("  {cite}: {claim}"));
        if let Some(Bound { share, speedup }) = bound {
            println!("  {:.0} % of the time {speedup} times as fast: {:.2} at most", 100.0 * share, 1.0 / (1.0 - share + share / speedup));
        }
    }
}
