//! What was planned, and what could not be.

use super::{Case, Figures};
use crate::failure::Failure;
use crate::page::{Page, column};
use crate::pipeline::options::{policy_name, scheduler_name};
use serde::Serialize;

/// A graph on a device.
#[derive(Clone, Debug, Serialize)]
pub struct Asked {
    /// The graph, as the report calls it.
    pub graph: String,
    /// Its file.
    pub file: String,
    /// Its own name.
    pub name: String,
    /// The device.
    pub device: String,
    /// Operators.
    pub operators: usize,
    /// Whether it has a backward pass.
    pub trains: bool,
    /// How groups were selected.
    pub policy: &'static str,
    /// How it was simulated, or why not.
    pub simulation: String,
    /// What was overridden or assumed.
    pub notes: Vec<String>,
}

/// Operators that were selected and are no pipeline.
#[derive(Clone, Debug, Serialize)]
pub struct Refused {
    /// The graph.
    pub graph: String,
    /// The device.
    pub device: String,
    /// Which.
    pub nodes: Vec<String>,
    /// The rule that selected them.
    pub rule: String,
    /// Why not.
    pub reason: String,
}

/// What was asked for.
pub fn asked(case: &Case) -> Asked {
    let outcome = case.outcome;
    let simulation = match &outcome.simulated {
        None => "not asked for".to_owned(),
        Some(Ok(own)) => {
            let stuck = own.dataflow.as_ref().err().map(|why| format!("; dataflow: {why}")).unwrap_or_default();
            format!("{}, {}{stuck}", own.silicon.name, scheduler_name(own.scheduler))
        }
        Some(Err(why)) => format!("not possible: {why}"),
    };
    Asked {
        graph: case.name.clone(),
        file: outcome.file.clone(),
        name: outcome.graph.name.clone(),
        device: outcome.device.clone(),
        operators: outcome.graph.nodes.len(),
        trains: case.trains(),
        policy: policy_name(outcome.policy),
        simulation,
        notes: outcome.notes.clone(),
    }
}

/// What could not be.
pub fn refused(case: &Case) -> Vec<Refused> {
    let outcome = case.outcome;
    let row = |(group, why): &(warpsight_dataflow::Group, warpsight_dataflow::DesignError)| Refused {
        graph: case.name.clone(),
        device: outcome.device.clone(),
        nodes: group.nodes.iter().map(|&id| outcome.graph.node(id).name.clone()).collect(),
        rule: group.rule.clone(),
        reason: why.to_string(),
    };
    outcome.planned.plan.refused.iter().map(row).collect()
}

/// The section.
pub fn show(figures: &Figures, page: &mut Page) -> Result<(), Failure> {
    page.section("asked", "What was planned", "Graphs, devices, and how.");
    page.table(
        &figures.asked,
        "/asked",
        &[
            column!(graph, "graph"),
            column!(name, "its own name"),
            column!(device, "device"),
            column!(operators, "operators"),
            column!(trains, "backward pass"),
            column!(policy, "policy"),
            column!(simulation, "simulation"),
            column!(notes, "notes"),
        ],
    );
    if !figures.refused.is_empty() {
        page.details("Operators that were selected and run by themselves, with the reason", |page| {
            page.table(
                &figures.refused,
                "/refused",
                &[
                    column!(graph, "graph"),
                    column!(device, "device"),
                    column!(nodes, "operators"),
                    column!(rule, "rule"),
                    column!(reason, "why they are no pipeline"),
                ],
            );
        });
    }
    Ok(())
}
