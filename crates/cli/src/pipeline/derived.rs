//! What text, JSON and report derive alike from an outcome.

use super::outcome::Outcome;
use warpsight_dataflow::balance::Bound;
use warpsight_dataflow::{Design, Pipelined};
use warpsight_ir::Seconds;
use warpsight_sim::pipeline::PipelineRun;

/// What a pipeline is bound by, with the stage's own limiter.
pub fn limiter(design: &Design, bound: Bound, own: &Pipelined) -> String {
    match bound {
        Bound::Stage(at) => format!("stage {at} ({}: {})", design.stages[at].name, own.estimates[at].limiter().name()),
        Bound::Dram => "dram".to_owned(),
        Bound::L2 => "l2".to_owned(),
    }
}

/// What dataflow saves most in, over bulk-synchronous execution.
pub fn saved(of: &Outcome) -> (&'static str, Seconds) {
    let times = &of.planned.plan.times;
    times.bsp.terms(&of.platform).most_saved(&times.dataflow.terms(&of.platform))
}

/// Of each stage of a design, the part of the time that its work-groups work, wait for tokens and wait for room.
pub fn shares_of_stages(of: &Outcome, at: usize, run: &PipelineRun) -> Vec<[f64; 3]> {
    let stages = &of.planned.groups[at].lowered.pipeline.stages;
    let mut shares = vec![[0.0; 3]; of.planned.plan.groups[at].design.stages.len()];
    for (origin, share) in shares.iter_mut().enumerate() {
        let own: Vec<usize> = (0..stages.len()).filter(|&stage| of.planned.groups[at].lowered.origins[stage] == origin).collect();
        let all: f64 = own.iter().map(|&stage| f64::from(stages[stage].ctas) * run.time.0).sum();
        for &stage in own.iter().filter(|_| all > 0.0) {
            let times = &run.stages[stage];
            for (share, seconds) in share.iter_mut().zip([times.busy, times.starved, times.blocked]) {
                *share += seconds.0 / all;
            }
        }
    }
    shares
}
