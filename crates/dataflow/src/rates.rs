//! Where seconds of a stage come from: a model, or measurements (the second pass of paper 003, section 5.3).

use crate::balance::Demand;
use crate::design;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use warpsight_ir::{CostModel, NoEstimate, Profile, Seconds, StageClass, StageWork};

/// Tells how long one execution of a stage takes on the work-groups it has. More of them help only where they take fewer rounds.
pub trait Rates {
    /// Seconds of one execution.
    ///
    /// # Errors
    /// Why that is not known.
    fn seconds(&self, stage: &StageWork) -> Result<Seconds, NoEstimate>;
}

/// Rates of a model.
pub struct Modelled<'a> {
    /// The model.
    pub model: &'a dyn CostModel<StageWork>,
    /// The device.
    pub on: &'a Profile,
}

impl Rates for Modelled<'_> {
    fn seconds(&self, stage: &StageWork) -> Result<Seconds, NoEstimate> {
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
    fn seconds(&self, stage: &StageWork) -> Result<Seconds, NoEstimate> {
        let modelled = self.model.seconds(stage)?;
        let Some(measured) = self.table.get(&key(stage)) else { return Ok(modelled) };
        // The nearest number of work-groups, the smaller one of two.
        let Some((&ctas, &seconds)) = measured.iter().min_by_key(|(ctas, _)| ctas.abs_diff(stage.ctas)) else { return Ok(modelled) };
        let there = self.model.seconds(&StageWork { ctas, ..stage.clone() })?;
        Ok(if there > Seconds::ZERO { seconds * (modelled / there) } else { seconds })
    }
}

/// What stages ask for, each asked of its rates once: designs of a group differ in few stages, and so do groups that are tried.
pub struct Curves<'a> {
    /// Where seconds come from.
    pub rates: &'a dyn Rates,
    /// Most work-groups of a stage.
    pub most: u32,
    known: RefCell<HashMap<Numbers, Demand>>,
}

/// All that a rate may depend on.
#[derive(PartialEq, Eq, Hash)]
struct Numbers(bool, u32, u32, u64, Option<(u64, u64, u64)>, [u64; 7]);

impl<'a> Curves<'a> {
    /// Of these rates.
    pub fn new(rates: &'a dyn Rates, most: u32) -> Self {
        Self { rates, most, known: RefCell::default() }
    }

    /// Seconds of a stage at each number of work-groups that it may have.
    ///
    /// # Errors
    /// Why they are not known.
    pub fn of(&self, stage: &design::Stage) -> Result<Demand, NoEstimate> {
        let amounts = [stage.flops, stage.epilogue, (stage.read + stage.reread + stage.written).0];
        let moved = [stage.moved.cached.0, stage.moved.received.0, stage.moved.sent.0, stage.moved.messages];
        let [a, b, c] = amounts.map(f64::to_bits);
        let [d, e, f, g] = moved.map(f64::to_bits);
        let shape = stage.gemm.map(|gemm| (gemm.m, gemm.n, gemm.k));
        let key = Numbers(stage.class == StageClass::Tensor, stage.element, stage.parts, stage.firings, shape, [a, b, c, d, e, f, g]);
        if let Some(known) = self.known.borrow().get(&key) {
            return Ok(known.clone());
        }
        let mut work = stage.work(1);
        let mut steps: Vec<(u32, Seconds)> = Vec::new();
        for ctas in worthwhile(stage.firings, stage.parts, self.most) {
            work.ctas = ctas;
            steps.push((ctas, self.rates.seconds(&work)?));
        }
        let demand = Demand::of_steps(stage.class, steps);
        self.known.borrow_mut().insert(key, demand.clone());
        Ok(demand)
    }
}

/// Numbers of work-groups up to this that may be worth having for so many tokens, ascending: more help where they take fewer rounds.
pub fn worthwhile(tokens: u64, parts: u32, most: u32) -> impl Iterator<Item = u32> {
    let parts = u64::from(parts.max(1));
    let most = u64::from(most) / parts;
    // From the fewest with so many rounds to the fewest with fewer: about twice the root of the tokens, however many work-groups there are.
    let fewer = move |&groups: &u64| {
        let rounds = tokens.div_ceil(groups);
        (rounds > 1).then(|| tokens.div_ceil(rounds - 1))
    };
    std::iter::successors(Some(1).filter(|first| *first <= most), fewer)
        .take_while(move |groups| *groups <= most)
        .map(move |groups| (groups * parts) as u32)
}

/// What a stage does, without its name and its work-groups: stages of one key take the same time.
pub fn key(stage: &StageWork) -> String {
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
