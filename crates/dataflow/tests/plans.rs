//! Plans of the rebuilt applications of paper 003 on an A100.

mod common;

use common::graph;
use warpsight_dataflow::select::vertical::vertical;
use warpsight_dataflow::{Fused, GroupPlan, Modelled, Patterns, Plan, Platform, Quadrants, View, plan, select};
use warpsight_ir::profile::{Fact, Source, builtin};
use warpsight_ir::{BytesPerSecond, Profile, StageClass};
use warpsight_predict::StageRoofline;

fn a100() -> Profile {
    builtin("a100-40").expect("a profile").expect("it parses")
}

/// The paper's groups and the vertical ones.
fn planned(graph: &View, profile: &Profile) -> Plan {
    let platform = Platform::of(profile).expect("numbers");
    let model = StageRoofline::new().expect("constants");
    let groups = select::kitsune(graph, &Patterns::kitsune());
    let fused = vertical(graph, &Patterns::vertical(), platform.shared).groups.into_iter();
    let fused: Vec<Fused> = fused.map(|(group, bytes)| Fused { group, rows: bytes.rows }).collect();
    plan(graph, &groups, &fused, &platform, &Modelled { model: &model, on: profile }).expect("a plan")
}

const INFERENCE: [&str; 6] = ["dlrm", "mgn", "grc", "nerf", "llama_ctx_t512", "llama_tok"];
const TRAINING: [&str; 5] = ["train_dlrm", "train_mgn", "train_grc", "train_nerf", "train_llama"];

/// Speedups over bulk-synchronous execution, of vertical fusion and of dataflow.
fn speedups(plan: &Plan) -> (f64, f64) {
    let times = &plan.times;
    (times.bsp.eager / times.vertical.eager, times.bsp.eager / times.dataflow.eager)
}

/// Of each pipeline over its operators by themselves.
fn of_groups(plan: &Plan, launch: f64) -> Vec<f64> {
    let alone = |at: usize| plan.times.bsp.runs[at].seconds.0 + launch;
    let speedup = |group: &GroupPlan| group.group.nodes.iter().map(|id| alone(id.0)).sum::<f64>() / (group.seconds.0 + launch);
    plan.groups.iter().map(speedup).collect()
}

fn geomean(values: &[f64]) -> f64 {
    (values.iter().map(|v| v.ln()).sum::<f64>() / values.len() as f64).exp()
}

/// Predicted here: vertical and dataflow. Nothing is fitted to what the paper has, so that a change of these numbers is a change of a model.
#[test]
fn inference_within_what_the_paper_has() {
    let expected = [(1.26, 1.35), (1.77, 2.10), (1.11, 1.38), (1.43, 2.73), (1.03, 1.02), (1.07, 1.13)];
    let plans: Vec<Plan> = INFERENCE.iter().map(|name| planned(&graph(name), &a100())).collect();
    let found: Vec<(f64, f64)> = plans.iter().map(speedups).collect();
    for ((name, found), expected) in INFERENCE.iter().zip(&found).zip(expected) {
        assert!((found.0 - expected.0).abs() < 0.01 && (found.1 - expected.1).abs() < 0.01, "{name}: {found:?}, was {expected:?}");
    }
    // Paper 003, sections 6.3 and 6.5: 1.14 and 1.5.
    let (vertical, dataflow): (Vec<f64>, Vec<f64>) = found.into_iter().unzip();
    // Of vertical fusion by a little more than a tenth: kernels of few work-groups do not pay for multiprocessors that they leave idle.
    assert!((geomean(&vertical) - 1.256).abs() < 0.002, "{}", geomean(&vertical));
    assert!((geomean(&dataflow) / 1.5 - 1.0).abs() < 0.15, "{}", geomean(&dataflow));
    // Without any one of the applications, dataflow stays within as much: no single one makes the mean.
    for (without, name) in INFERENCE.iter().enumerate() {
        let others: Vec<f64> = dataflow.iter().enumerate().filter(|(at, _)| *at != without).map(|(_, &speedup)| speedup).collect();
        assert!((geomean(&others) / 1.5 - 1.0).abs() < 0.15, "without {name}: {}", geomean(&others));
    }
    let most = dataflow.iter().copied().fold(0.0, f64::max);
    let least = dataflow.iter().copied().fold(f64::INFINITY, f64::min);
    assert_eq!((dataflow[3], dataflow[4]), (most, least), "NeRF gains most, Llama's context phase least");
    assert_eq!(vertical[1], vertical.iter().copied().fold(0.0, f64::max), "MeshGraphNets is the best case of vertical fusion");
}

/// Paper 003, section 6.3: 1.04 to 3.4, geometric mean 1.9, in a simulator of kernels. What launches save comes on top.
#[test]
fn subgraphs_of_inference() {
    let launch = Platform::of(&a100()).expect("numbers").launch.0;
    let plans: Vec<Plan> = INFERENCE.iter().map(|name| planned(&graph(name), &a100())).collect();
    let mean = |launch: f64| geomean(&plans.iter().flat_map(|plan| of_groups(plan, launch)).collect::<Vec<_>>());
    assert!((mean(0.0) / 1.9 - 1.0).abs() < 0.20, "{}", mean(0.0));
    assert!((mean(launch) - 2.55).abs() < 0.01, "{}", mean(launch));
}

#[test]
fn training_within_what_the_paper_has() {
    let expected = [(1.08, 1.10), (1.11, 2.01), (1.00, 1.34), (1.10, 2.05), (1.01, 1.01)];
    for (name, expected) in TRAINING.iter().zip(expected) {
        let found = speedups(&planned(&graph(name), &a100()));
        assert!((found.0 - expected.0).abs() < 0.01 && (found.1 - expected.1).abs() < 0.01, "{name}: {found:?}, was {expected:?}");
        // Section 6.4: 1.1 to 2.2; the abstract: 1.1 to 2.4.
        assert!((1.0..2.5).contains(&found.1), "{name}: {}", found.1);
    }
}

/// Twice the multiprocessors and second-level bandwidth, the same memory (section 1: 47 % and 27 % for inference and training, 18 to 26 % as
/// it is).
#[test]
fn sensitivity() {
    let mut larger = a100();
    larger.execution.cores = Fact::known(216, Source::Assumed, "twice");
    let rate = larger.memory.l2.bandwidth.get().expect("known").0;
    larger.memory.l2.bandwidth = Fact::known(BytesPerSecond(2.0 * rate), Source::Assumed, "twice");
    for (names, paper) in [(&INFERENCE[..], 1.47), (&TRAINING[..], 1.27)] {
        let plans: Vec<[Plan; 2]> = names.iter().map(|name| [&a100(), &larger].map(|profile| planned(&graph(name), profile))).collect();
        let gain = |of: fn(&Plan) -> f64| geomean(&plans.iter().map(|[plain, larger]| of(plain) / of(larger)).collect::<Vec<_>>());
        let (baseline, dataflow) = (gain(|plan| plan.times.bsp.eager.0), gain(|plan| plan.times.dataflow.eager.0));
        assert!((dataflow - paper).abs() < 0.10, "{dataflow}");
        // 1.148 of inference: what few work-groups take from the second level does not double.
        assert!((1.145..1.30).contains(&baseline), "{baseline}");
    }
}

#[test]
fn plans_do_not_take_long() {
    let graph = graph("train_mgn");
    let start = std::time::Instant::now();
    planned(&graph, &a100());
    // 142 operators, 24 groups: 25 ms when this was written, optimised little, on one core; other tests run beside it.
    assert!(start.elapsed().as_millis() < 1000, "{:?}", start.elapsed());
}

#[test]
fn plans_keep_their_promises() {
    let platform = Platform::of(&a100()).expect("numbers");
    for name in INFERENCE.iter().chain(&TRAINING) {
        let graph = graph(name);
        let plan = planned(&graph, &a100());
        let covered = plan.groups.iter().map(|group| group.group.nodes.len()).sum::<usize>();
        assert_eq!(covered + plan.rest.len(), graph.nodes.len(), "{name}");
        for group in &plan.groups {
            let design = &group.design;
            let resident = |class: StageClass| -> u32 {
                design.stages.iter().zip(&group.allocation.ctas).filter(|(stage, _)| stage.class == class).map(|(_, &ctas)| ctas).sum()
            };
            assert!(resident(StageClass::Tensor) <= platform.cores && resident(StageClass::Simt) <= platform.cores, "{name}");
            let placed = group.assignment.iter().map(|pair| u32::from(pair.tensor.is_some()) + u32::from(pair.simt.is_some())).sum::<u32>();
            assert_eq!(placed, group.allocation.ctas.iter().sum::<u32>(), "{name}");
            // The paper's counting, and what it leaves out apart.
            let (counted, stages) = (group.group.traffic(&graph), &design.stages);
            let sums: [f64; 2] = [stages.iter().map(|s| s.read.0).sum(), stages.iter().map(|s| s.written.0).sum()];
            assert_eq!(sums, [counted.read.0, counted.written.0], "{name}");
            assert!(design.slots() <= platform.slots, "{name}");
            for queue in &design.queues {
                assert!(queue.consumers.iter().all(|&to| to > queue.producer) && queue.depth >= 2, "{name}: {queue:?}");
                assert!(queue.payload <= platform.payload && queue.payload.0 * queue.tokens as f64 > 0.0, "{name}: {queue:?}");
            }
            let names: std::collections::BTreeSet<&str> = stages.iter().map(|stage| stage.name.as_str()).collect();
            assert_eq!(names.len(), stages.len(), "{name}");
        }
        for execution in [&plan.times.bsp, &plan.times.vertical, &plan.times.dataflow] {
            let quadrants = |q: &Quadrants| (q.low_both + q.low_sm + q.low_dram + q.neither).0;
            let sum = quadrants(&execution.forward) + quadrants(&execution.backward);
            assert!((sum / execution.eager.0 - 1.0).abs() < 1e-9, "{name}");
            assert!(execution.graph < execution.eager, "{name}");
        }
    }
}

#[test]
fn names_and_order_change_no_plan() {
    for name in ["dlrm", "train_nerf", "mgn"] {
        let shape = |graph: &View| {
            let plan = planned(graph, &a100());
            let groups =
                plan.groups.iter().map(|g| (g.group.nodes.clone(), g.allocation.clone(), g.assignment.clone(), g.design.queues.clone()));
            (groups.collect::<Vec<_>>(), plan.times.dataflow.eager, plan.times.vertical.eager)
        };
        let plain = shape(&graph(name));
        for seed in 0..2 {
            let other = common::read(&common::disguised(&common::text(name), seed)).expect("a graph");
            assert_eq!(plain, shape(&other), "{name}, seed {seed}");
        }
    }
}

#[test]
fn other_devices() {
    for name in ["a100-80", "h100", "h200"] {
        let profile = builtin(name).expect("a profile").expect("it parses");
        let (vertical, dataflow) = speedups(&planned(&graph("nerf"), &profile));
        assert!(1.0 < vertical && vertical < dataflow, "{name}: {vertical} {dataflow}");
    }
    // What a profile does not know is named.
    let mut unknown = a100();
    unknown.memory.l2.bandwidth = Fact::unknown("nobody measured it");
    let error = Platform::of(&unknown).expect_err("needed").to_string();
    assert_eq!(error, "profile `a100-40` lacks `memory.l2.bandwidth`: nobody measured it");
}
