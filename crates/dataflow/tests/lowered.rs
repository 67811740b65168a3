//! Planned groups as pipelines of firings: each is proved to end, where the plan puts its work-groups.

mod common;

use common::graph;
use warpsight_dataflow::lower::lower;
use warpsight_dataflow::proof::{Launch, Resources, prove};
use warpsight_dataflow::{Group, Modelled, NodeId, Patterns, Platform, launched, pipeline, plan, select};
use warpsight_ir::occupancy::Residency;
use warpsight_ir::profile::builtin;
use warpsight_ir::{StageBody, Step};
use warpsight_predict::StageRoofline;

#[test]
fn every_plan_is_proved() {
    let profile = builtin("a100-40").expect("a profile").expect("it parses");
    let (platform, model) = (Platform::of(&profile).expect("numbers"), StageRoofline::new().expect("constants"));
    let core = Residency::of(&profile);
    let mut proved = 0;
    for (name, _) in common::ALL {
        let graph = graph(name);
        let groups = select::kitsune(&graph, &Patterns::kitsune());
        let plan = plan(&graph, &groups, &[], &platform, &Modelled { model: &model, on: &profile }).expect("a plan");
        for group in &plan.groups {
            let lowered = lower(&graph, "group", group);
            let on = Resources { core: &core, cores: platform.cores, launch: Launch::Placed(&lowered.placement) };
            let certificate = prove(&lowered.pipeline, &on).unwrap_or_else(|why| panic!("{name}, {:?}: {why}", group.group.nodes));
            assert_eq!(certificate.tokens.len(), lowered.pipeline.channels.len());
            // Nothing of the work is lost: rounding up, a little is added.
            let flops: f64 = group.design.stages.iter().map(|stage| stage.flops + stage.epilogue).sum();
            let work = |step: &Step| if let Step::Work { flops, .. } = step { *flops as f64 } else { 0.0 };
            let of = |body: &StageBody| match body {
                StageBody::Firings(firings) => firings.steps.iter().map(work).sum::<f64>() * firings.count as f64,
                StageBody::Program(_) => 0.0,
            };
            let lowered: f64 = lowered.pipeline.stages.iter().map(|stage| of(&stage.body)).sum();
            assert!((0.0..1e-3).contains(&(lowered / flops - 1.0)), "{name}: {lowered} of {flops}");
            proved += 1;
        }
    }
    assert!(proved >= 60, "{proved}");
}

/// Operators from one place of the order to another are convex, whatever they are: each such group is refused with a reason, or proved.
#[test]
fn any_group_is_proved_or_refused() {
    let profile = builtin("a100-40").expect("a profile").expect("it parses");
    let (platform, model) = (Platform::of(&profile).expect("numbers"), StageRoofline::new().expect("constants"));
    let rates = Modelled { model: &model, on: &profile };
    let core = Residency::of(&profile);
    let mut rng = fastrand::Rng::with_seed(5);
    let (mut proved, mut refused) = (0, 0);
    for (name, operators) in common::ALL {
        let graph = graph(name);
        for _ in 0..12 {
            let first = rng.usize(0..operators);
            let last = (first + rng.usize(0..12)).min(operators - 1);
            let group = Group { nodes: (first..=last).map(NodeId).collect(), rule: "any".to_owned() };
            match pipeline(&graph, &group, &platform, &rates) {
                Ok(plan) => {
                    assert!(plan.seconds.0.is_finite() && plan.seconds.0 > 0.0, "{name} {first}..={last}");
                    let lowered = lower(&graph, "group", &plan);
                    let on = Resources { core: &core, cores: platform.cores, launch: Launch::Placed(&lowered.placement) };
                    prove(&lowered.pipeline, &on).unwrap_or_else(|why| panic!("{name} {first}..={last}: {why}"));
                    proved += 1;
                }
                Err(why) => {
                    assert!(!why.to_string().is_empty());
                    refused += 1;
                }
            }
        }
    }
    assert!(proved >= 40 && refused >= 20, "{proved} proved, {refused} refused");
}

/// An operator of more tiles than are followed one by one does the same work.
#[test]
fn tiles_beyond_count_are_carried_out_together() {
    let profile = builtin("a100-40").expect("a profile").expect("it parses");
    let (platform, model) = (Platform::of(&profile).expect("numbers"), StageRoofline::new().expect("constants"));
    let work = |rows: u64| {
        let mut b = common::Builder::default();
        let x = b.input(&[rows, 256], "input");
        b.simt(&[&x], 1.0);
        let graph = b.graph();
        let pipeline = launched::operator(&graph, NodeId(0), &platform, &Modelled { model: &model, on: &profile }).expect("a kernel");
        let StageBody::Firings(firings) = &pipeline.stages[0].body else { panic!("a kernel") };
        let Step::Work { flops, read, written } = firings.steps[0] else { panic!("work") };
        assert!(firings.count == u64::from(pipeline.stages[0].ctas) && firings.count <= 1 << 17, "{}", firings.count);
        [flops, read, written].map(|each| (firings.count * each) as f64)
    };
    for rows in [1 << 20, 1 << 22, 12_345_678] {
        let elements = rows as f64 * 256.0;
        let ratios = [work(rows)[0] / elements, work(rows)[1] / (2.0 * elements), work(rows)[2] / (2.0 * elements)];
        assert!(ratios.iter().all(|ratio| (1.0..1.001).contains(ratio)), "{rows}: {ratios:?}");
    }
}
