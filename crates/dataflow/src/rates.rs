//! Where seconds of a stage come from: a model, or measurements (the second pass of paper 003, section 5.3).

use std::collections::BTreeMap;
use warpsight_ir::{CostModel, NoEstimate, Profile, Seconds, Stage};

/// Tells how long one execution of a stage takes on the work-groups it has. More of them help only where they take fewer rounds.
pub trait Rates {
    /// Seconds of one execution.
    ///
    /// # Errors
    /// Why that is not known.
    fn seconds(&self, stage: &Stage) -> Result<Seconds, NoEstimate>;
}

/// Rates of a model.
pub struct Modelled<'a> {
    /// The model.
    pub model: &'a dyn CostModel<Stage>,
    /// The device.
    pub on: &'a Profile,
}

impl Rates for Modelled<'_> {
    fn seconds(&self, stage: &Stage) -> Result<Seconds, NoEstimate> {
        self.model.estimate(stage, self.on).map(|estimate| estimate.time)
    }
}

/// Measured seconds, and a model for what was not measured: it also scales from the number of work-groups that was measured to others.
pub struct Measured<'a> {
    /// By [`key`] of a stage: seconds at numbers of work-groups.
    pub table: BTreeMap<String, BTreeMap<u32, Seconds>>,
    /// The model.
    pub model: Modelled<'a>,
}

impl Rates for Measured<'_> {
    fn seconds(&self, stage: &Stage) -> Result<Seconds, NoEstimate> {
        let modelled = self.model.seconds(stage)?;
        let Some(measured) = self.table.get(&key(stage)) else { return Ok(modelled) };
        // The nearest number of work-groups, the smaller one of two.
        let Some((&ctas, &seconds)) = measured.iter().min_by_key(|(ctas, _)| ctas.abs_diff(stage.ctas)) else { return Ok(modelled) };
        let there = self.model.seconds(&Stage { ctas, ..stage.clone() })?;
        Ok(if there > Seconds::ZERO { seconds * (modelled / there) } else { seconds })
    }
}

/// What a stage does, without its name and its work-groups: stages of one key take the same time.
pub fn key(stage: &Stage) -> String {
    let shape: Vec<String> = stage.shape.iter().map(|(name, extent)| format!("{name}={extent}")).collect();
    let numbers = [
        stage.flops_per_token,
        stage.epilogue_per_token,
        stage.bytes_per_token.0,
        stage.cached_per_token.0,
        stage.received_per_token.0,
        stage.sent_per_token.0,
        stage.messages_per_token,
    ];
    format!("{:?} {} {} {} {} {numbers:?}", stage.class, shape.join(","), stage.element, stage.parts, stage.tokens)
}
