//! What text, JSON, report and trace tell of a graph on a device. Nothing is computed again from here on.

use super::input::Input;
use super::simulate::{Simulated, simulated};
use crate::failure::Failure;
use crate::predict::input::Device;
use warpsight_dataflow::{DesignError, Platform, Policy, Question, View};
use warpsight_ir::Profile;
use warpsight_sim::pipeline::Scheduler;

/// What an overridden number means where something is simulated.
const FOLLOWED: &str =
    "the simulated device follows execution.cores and memory.l2.bandwidth: other numbers that are overridden change the plan alone";

/// One graph on one device.
pub struct Outcome {
    /// The file it was read from.
    pub file: String,
    /// The graph; its name is `graph.name`.
    pub graph: View,
    /// The device, as it was asked for.
    pub device: String,
    /// Its numbers, overridden ones in place.
    pub profile: Profile,
    /// What planning takes from them.
    pub platform: Platform,
    /// How groups were selected.
    pub policy: Policy,
    /// The plan, and what follows from it.
    pub planned: warpsight_dataflow::Outcome,
    /// What the simulator says, where it was asked; `Err` where it cannot say it of this device.
    pub simulated: Option<Result<Simulated, String>>,
    /// What was overridden, measured or assumed.
    pub notes: Vec<String>,
}

impl Outcome {
    /// Plans, lowers, proves, and simulates where a scheduler says how work-groups come onto multiprocessors.
    pub fn of(input: &Input, device: &Device, ask: &Question, simulate: Option<Scheduler>) -> Result<Self, Failure> {
        let (graph, profile) = (&input.graph, &device.profile);
        let refused = |why: DesignError| input.refused(&device.name, &why);
        let lacks = |why| Failure::input(format!("{}: {why}", device.name)).at(&input.file);
        let platform = Platform::of(profile).map_err(|why| lacks(why).help("a profile with this number, or another device"))?;
        let planned = warpsight_dataflow::Outcome::of(graph, &platform, ask).map_err(refused)?;
        let simulated = simulate.map(|scheduler| simulated(graph, &planned, profile, &platform, scheduler, ask.rates));
        let mut notes = device.notes.clone();
        if simulated.is_some() && !notes.is_empty() {
            notes.push(FOLLOWED.to_owned());
        }
        Ok(Self {
            file: input.file.clone(),
            graph: graph.clone(),
            device: device.name.clone(),
            profile: profile.clone(),
            platform,
            policy: ask.policy,
            planned,
            simulated,
            notes,
        })
    }
}
