//! `optimize --prune`: which configurations are left out though a device can run them, and `--explain-pruning`: how many, and why.

use super::Prune;
use crate::failure::Failure;
use crate::report::Column::Keep;
use crate::report::{config, out, table};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use warpsight_engine::tune::{self, Candidates, Judge};
use warpsight_generate::prune::{self, Allowance, Cut, Hardware, Nearest, Rule};
use warpsight_generate::{Operator, Passes, ScheduleFamily};
use warpsight_ir::{Config, Family, Profile, Ranked};

/// What is left out on a device.
pub struct Pruning {
    by: Prune,
    rule: Rule,
    allow: Allowance,
    on: Hardware,
}

impl Pruning {
    /// A rule for a device.
    pub fn of(by: Prune, profile: &Profile, allow: &Allowance) -> Self {
        let rule = match by {
            Prune::None => Rule::None,
            Prune::Hardware => Rule::Hardware,
            Prune::Paper001 => Rule::Paper001,
        };
        Self { by, rule, allow: *allow, on: Hardware::of(profile, allow.residency) }
    }

    /// What is left of a space: without a rule all of it, also what cannot run.
    pub fn cut(&self, family: &ScheduleFamily, configs: Vec<Config>) -> Result<Cut, Failure> {
        if self.rule == Rule::None {
            return Ok(Cut { left: configs, ..Cut::default() });
        }
        let cut = prune::cut(family, configs.into_iter(), &self.allow, &self.on, self.rule);
        match (cut.left.is_empty(), &cut.nearest) {
            (true, Some(nearest)) => Err(Failure::input(format!(
                "--prune leaves none of the {} configurations of `{}`; least is violated by {}: {}",
                cut.total(),
                family.name(),
                config(&family.space().describe(&nearest.config)),
                violated(nearest)
            ))
            .help("--prune hardware drops only what another configuration beats; --explain-pruning counts what each criterion drops")),
            _ => Ok(cut),
        }
    }

    /// Ranks what is left, the best first.
    pub fn rank(family: &ScheduleFamily, cut: &Cut, judge: &Judge) -> Result<(Candidates, Vec<Ranked>), Failure> {
        let (mut candidates, ranked) = tune::rank(family, cut.left.iter().cloned(), judge)?;
        for (&reason, count) in &cut.dropped {
            *candidates.pruned.entry(reason).or_default() += count;
            candidates.total += count;
        }
        Ok((candidates, ranked))
    }
}

/// The criteria that a configuration violates, and by how much.
fn violated(nearest: &Nearest) -> String {
    // Of what a device has nothing of, nothing says how much more it would take.
    let words =
        |(criterion, over): &(&str, f64)| if over.is_finite() { format!("{criterion} x{over:.2}") } else { (*criterion).to_owned() };
    nearest.violated.iter().map(words).collect::<Vec<_>>().join(", ")
}

/// Prints what each reason drops of every legal configuration of an operator's kernels.
pub fn explain(text: &str, operator: &Operator, passes: Passes, pruning: &Pruning, json: bool) -> Result<(), Failure> {
    let families: Vec<ScheduleFamily> = operator.kernels().map(|step| ScheduleFamily::by(step.clone(), passes)).collect();
    let cuts: Vec<Cut> = families.iter().map(|own| prune::cut(own, own.configs(), &pruning.allow, &pruning.on, pruning.rule)).collect();
    let rule = format!("{:?}", pruning.by).to_lowercase();
    if json {
        let steps: Vec<Value> = families.iter().zip(&cuts).map(|(family, cut)| value(family, cut)).collect();
        return out(json!({"op": text, "rule": rule, "steps": steps}));
    }
    for (family, cut) in families.iter().zip(&cuts) {
        let part = 100.0 * (1.0 - cut.left.len() as f64 / cut.total().max(1) as f64);
        out(format_args!("{}: {} of {} configurations left by `{rule}`, {part:.2} % dropped", family.name(), cut.left.len(), cut.total()))?;
        let mut rows = table(&[Keep("reason"), Keep("dropped"), Keep("speaks against")]);
        let all: BTreeMap<_, _> = cut.dropped.iter().chain(&cut.against).map(|own| (own.0, ())).collect();
        for reason in all.into_keys() {
            let count = |of: &BTreeMap<&'static str, usize>| of.get(reason).copied();
            let dropped = count(&cut.dropped).unwrap_or(0);
            rows.add_row([(*reason).to_owned(), dropped.to_string(), count(&cut.against).unwrap_or(dropped).to_string()]);
        }
        out(format_args!("{rows}"))?;
        if let Some(nearest) = cut.nearest.as_ref().filter(|_| cut.left.is_empty()) {
            out(format_args!("least violated by {}: {}", config(&family.space().describe(&nearest.config)), violated(nearest)))?;
        }
    }
    Ok(())
}

fn value(family: &ScheduleFamily, cut: &Cut) -> Value {
    let nearest = cut.nearest.as_ref().filter(|_| cut.left.is_empty()).map(|own| {
        let violated: BTreeMap<_, _> = own.violated.iter().copied().collect();
        json!({"config": family.space().describe(&own.config), "violated": violated})
    });
    json!({
        "name": family.name(),
        "candidates": cut.total(),
        "left": cut.left.len(),
        "dropped": cut.dropped,
        "against": cut.against,
        "nearest": nearest,
    })
}
