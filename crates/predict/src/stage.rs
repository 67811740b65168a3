//! The first model of pipeline stages: a roofline of one work-group, times the rounds that its tokens take.
//! .
//! Tokens are not divided: with s sets of work-groups an execution takes ⌈tokens / s⌉ rounds (tile and wave quantisation; the paper's
//! ResourceScale). A work-group reaches the achieved share of its unit's peak, not what the operator reached while memory kept it waiting:
//! that is the paper's Speedup = 1/u (paper 003, section 5.3).

use serde::Deserialize;
use warpsight_ir::profile::{Fact, Profile};
use warpsight_ir::{
    Bytes, BytesPerSecond, CostModel, Estimate, Flops, FlopsPerSecond, Limiter, Limits, ModelId, NoEstimate, Seconds, StageClass,
    StageWork, Volumes,
};

/// Shares of peaks and the cost of queues; where each number comes from stands in `data/dataflow/constants.toml`.
const CONSTANTS: &str = include_str!("../data/constants.toml");
/// Relative half-width of the interval: nothing is fitted, so this states ignorance.
const IGNORANCE: f64 = 2.0;

#[derive(Deserialize)]
struct File {
    stage: Constants,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Constants {
    tensor: Fact<f64>,
    simt: Fact<f64>,
    port: Fact<f64>,
    queue_share: Fact<f64>,
    queue_seconds: Fact<f64>,
}

/// Roofline of a stage with tile and wave quantisation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StageRoofline {
    tensor: f64,
    simt: f64,
    port: f64,
    queue_share: f64,
    queue_seconds: f64,
}

impl StageRoofline {
    /// With the committed constants.
    ///
    /// # Errors
    /// What is wrong with their file.
    pub fn new() -> Result<Self, NoEstimate> {
        let wrong = |what: String| NoEstimate::NotCovered(format!("constants.toml: {what}"));
        let constants = toml::from_str::<File>(CONSTANTS).map_err(|error| wrong(error.to_string()))?.stage;
        let number = |fact: &Fact<f64>, name: &str| fact.get().copied().ok_or_else(|| wrong(format!("no number for {name}")));
        Ok(Self {
            tensor: number(&constants.tensor, "tensor")?,
            simt: number(&constants.simt, "simt")?,
            port: number(&constants.port, "port")?,
            queue_share: number(&constants.queue_share, "queue_share")?,
            queue_seconds: number(&constants.queue_seconds, "queue_seconds")?,
        })
    }

    /// What matrix units of one core achieve on elements of this size; `Err` where there are none for it.
    fn matrix(&self, element: u32, on: &Profile) -> Result<FlopsPerSecond, NoEstimate> {
        let matrix = &on.execution.matrix;
        let (rate, field) = match element {
            1 => (&matrix.int8, "execution.matrix.int8"),
            2 => (&matrix.f16, "execution.matrix.f16"),
            4 => (&matrix.f32, "execution.matrix.f32"),
            8 => (&matrix.f64, "execution.matrix.f64"),
            _ => return Err(NoEstimate::NotCovered(format!("matrix units take no elements of {element} B"))),
        };
        let clock = on.execution.clock.need(on, "execution.clock")?;
        Ok(FlopsPerSecond(2.0 * rate.need(on, field)? * clock.0 * self.tensor))
    }
}

impl CostModel<StageWork> for StageRoofline {
    fn id(&self) -> ModelId {
        ModelId { name: "stage-roofline".to_owned(), version: 2, fit: String::new() }
    }

    fn estimate(&self, stage: &StageWork, on: &Profile) -> Result<Estimate, NoEstimate> {
        let (execution, memory) = (&on.execution, &on.memory);
        let sets = u64::from(stage.ctas / stage.parts.max(1));
        if sets == 0 {
            return Err(NoEstimate::CannotRun(format!("{} work-groups hold no set of {} parts", stage.ctas, stage.parts)));
        }
        let clock = execution.clock.need(on, "execution.clock")?;
        let l2 = memory.l2.bandwidth.need(on, "memory.l2.bandwidth")?;
        let dram = memory.dram_bandwidth.need(on, "memory.dram_bandwidth")?;
        let rounds = stage.tokens.div_ceil(sets) as f64;
        let parts = f64::from(stage.parts.max(1));

        // One work-group on one token. Vector units finish an operation a lane and clock.
        let vector = FlopsPerSecond(execution.fma_per_clock.need(on, "execution.fma_per_clock")? * clock.0 * self.simt);
        let own = match stage.class {
            StageClass::Tensor if stage.flops_per_token > 0.0 => self.matrix(stage.element, on)?,
            _ => vector,
        };
        let compute = Flops(stage.flops_per_token) / own + Flops(stage.epilogue_per_token) / vector;
        // What one work-group's core takes from the second level, whoever else does; queues reach less of it. Both directions at once.
        let core = BytesPerSecond(self.port * clock.0).min(l2);
        let queue = BytesPerSecond(core.0 * self.queue_share);
        let slots = Seconds(self.queue_seconds * stage.messages_per_token);
        // Each part takes what it needs of a token, and puts its own columns into what the set sends.
        let received = stage.received_per_token / queue;
        let sent = stage.sent_per_token / parts / queue;
        let moved = stage.cached_per_token / parts / core + received.max(sent) + slots;

        let tokens = stage.tokens as f64;
        let through = stage.cached_per_token + stage.received_per_token * parts + stage.sent_per_token;
        let limits = Limits(vec![
            (Limiter::Fp, compute / parts * rounds),
            (Limiter::L1, moved * rounds),
            (Limiter::L2, through * tokens / l2),
            (Limiter::Dram, stage.bytes_per_token * tokens / dram),
        ]);
        let time = limits.of(limits.limiter());
        let volumes = Volumes {
            texture: Bytes::ZERO,
            l1: through * tokens,
            l2: through * tokens,
            dram: stage.bytes_per_token * tokens,
            local: Bytes::ZERO,
        };
        Ok(Estimate { time, interval: (time / IGNORANCE, time * IGNORANCE), limits, volumes, bound: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use warpsight_ir::profile::builtin;

    /// Products of 128 × 256 × 256 on a part's half of the columns, tokens of 64 KB.
    fn stage(ctas: u32) -> StageWork {
        StageWork {
            name: "product".into(),
            class: StageClass::Tensor,
            shape: BTreeMap::new(),
            element: 2,
            parts: 2,
            flops_per_token: 2.0 * 128.0 * 256.0 * 256.0,
            epilogue_per_token: 0.0,
            bytes_per_token: Bytes::ZERO,
            cached_per_token: Bytes::ZERO,
            received_per_token: Bytes(65536.0),
            sent_per_token: Bytes(65536.0),
            messages_per_token: 2.0,
            tokens: 10,
            ctas,
        }
    }

    fn a100() -> Profile {
        builtin("a100-40").expect("a profile").expect("it parses")
    }

    fn seconds(stage: &StageWork) -> f64 {
        StageRoofline::new().expect("constants").estimate(stage, &a100()).expect("an estimate").time.0
    }

    #[test]
    fn rounds_are_whole() {
        let times: Vec<f64> = (2..=8).map(|ctas| seconds(&stage(ctas))).collect();
        // 10 tokens on 1, 2, 3 and 4 sets of two: 10, 5, 4, 3 rounds; an odd work-group idles.
        let rounds: Vec<f64> = times.iter().map(|t| (t / times[0] * 10.0).round()).collect();
        assert_eq!(rounds, [10.0, 10.0, 5.0, 5.0, 4.0, 4.0, 3.0]);
        let none = StageRoofline::new().expect("constants").estimate(&stage(1), &a100());
        assert_eq!(none.expect_err("half a set").to_string(), "the device cannot run it: 1 work-groups hold no set of 2 parts");
    }

    #[test]
    fn the_matrix_units_achieve_their_share() {
        // 1,024 multiply-adds a clock at 1.41 GHz, 80 % of them: half of 16.8 MFLOP in 3.63 µs.
        let mut stage = stage(2);
        (stage.received_per_token, stage.sent_per_token, stage.messages_per_token, stage.tokens) = (Bytes::ZERO, Bytes::ZERO, 0.0, 1);
        assert!((seconds(&stage) - 3.631e-6).abs() < 1e-9, "{}", seconds(&stage));
        stage.element = 4;
        assert!((seconds(&stage) - 7.262e-6).abs() < 2e-9, "{}", seconds(&stage));
        stage.element = 3;
        let error = StageRoofline::new().expect("constants").estimate(&stage, &a100()).expect_err("no such type");
        assert_eq!(error.to_string(), "not covered by this model: matrix units take no elements of 3 B");
    }

    #[test]
    fn queues_as_in_figure_5() {
        // What is received at a payload, over what would be without synchronisation.
        let overhead = |payload: f64| {
            let mut stage = stage(1);
            (stage.flops_per_token, stage.parts, stage.tokens) = (0.0, 1, 1000);
            (stage.received_per_token, stage.sent_per_token, stage.messages_per_token) = (Bytes(payload), Bytes::ZERO, 1.0);
            let with = seconds(&stage);
            stage.messages_per_token = 0.0;
            with / seconds(&stage)
        };
        assert!((overhead(1024.0) - 12.0).abs() < 0.1, "twelve times less at 1 KB: {}", overhead(1024.0));
        assert!(overhead(65536.0) < 1.63, "less than 63 % from 64 KB: {}", overhead(65536.0));
        let mut stage = stage(1);
        (stage.parts, stage.flops_per_token, stage.tokens) = (1, 0.0, 1000);
        (stage.received_per_token, stage.sent_per_token, stage.messages_per_token) = (Bytes(131072.0), Bytes::ZERO, 1.0);
        let rate = 131_072_000.0 / seconds(&stage);
        assert!((rate * 54.0 - 2e12).abs() < 0.1e12 * 2.0, "2 TB/s over 54 queues: {rate}");
    }
}
