//! Planned groups as pipelines of firings: each is proved to end, where the plan puts its work-groups.

mod common;

use common::graph;
use warpsight_dataflow::lower::lower;
use warpsight_dataflow::proof::{Launch, Resources, prove};
use warpsight_dataflow::{Machine, Modelled, Patterns, plan, select};
use warpsight_ir::occupancy::Residency;
use warpsight_ir::profile::builtin;
use warpsight_ir::{StageBody, Step};
use warpsight_predict::StageRoofline;

#[test]
fn every_plan_is_proved() {
    let profile = builtin("a100-40").expect("a profile").expect("it parses");
    let (machine, model) = (Machine::of(&profile).expect("numbers"), StageRoofline::new().expect("constants"));
    let core = Residency::of(&profile);
    let mut proved = 0;
    for (name, _) in common::ALL {
        let graph = graph(name);
        let groups = select::kitsune(&graph, &Patterns::kitsune());
        let plan = plan(&graph, &groups, &[], &machine, &Modelled { model: &model, on: &profile }).expect("a plan");
        for group in &plan.groups {
            let lowered = lower(&graph, "group", group);
            let on = Resources { core: &core, cores: machine.cores, launch: Launch::Placed(&lowered.placement) };
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
