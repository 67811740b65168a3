//! Dropping what a device cannot run, and what uses its hardware worse than others do, each reason counted.

mod criteria;
mod front;
mod hardware;

pub use criteria::CRITERIA;
pub use hardware::Hardware;

use crate::family::Outlines;
use crate::{Meeting, Place, ScheduleFamily};
use std::collections::BTreeMap;
use warpsight_ir::occupancy::{CannotRun, Residency, occupancy};
use warpsight_ir::profile::Fact;
use warpsight_ir::{Config, Facts, Kernel, Profile, TensorPlace};

/// What a device allows; `None` where nobody knows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Allowance {
    /// What a core holds.
    pub residency: Residency,
    /// Width and height of an image in texels; `(0, 0)` where there are no images.
    pub image: Option<(u32, u32)>,
    /// Elements that a vector register holds, of a device whose work-items have such registers: narrower blocks leave them empty in part, and
    /// compilers take wider vectors apart through memory. A 3 × 3 convolution by hand, in blocks of 8 and of 16, ran at 88 and 43 GF/s on PoCL 3.1
    /// with registers of 8 (docs/provenance.md, "vectors wider than registers").
    pub vector: Option<u32>,
    /// What work-items of a group may meet for. For nothing on a device whose work-items run one after the other, or which has no local memory
    /// on its chip: what they copy there is copied for nothing. Not for copies where buffers have no first-level cache and nobody measured
    /// what a barrier takes: nothing is recorded of kernels that copy on such devices, and a model that cannot follow how groups meet
    /// takes them for twice as fast as they are at times (`docs/where-we-are-wrong.md`).
    pub meeting: Meeting,
}

impl Default for Allowance {
    fn default() -> Self {
        Self { residency: Residency::default(), image: None, vector: None, meeting: Meeting::ANY }
    }
}

impl Allowance {
    /// What a device can run by its profile alone, images only where it has texture units: others read and write them by dozens of
    /// instructions a texel, which no layout makes up for.
    pub fn of(profile: &Profile) -> Self {
        let images = &profile.image;
        let image = match &profile.memory.texture_l1.bytes {
            Fact::Absent { .. } => Some((0, 0)),
            _ => images.max_width.get().copied().zip(images.max_height.get().copied()),
        };
        let execution = &profile.execution;
        let in_turn = execution.warp.get() == Some(&1);
        let vector = execution.vector_width.get().copied().filter(|_| in_turn);
        let local = !in_turn && !matches!(execution.local, Fact::Absent { .. });
        let recorded = !matches!(profile.memory.buffer_l1.bytes, Fact::Absent { .. }) || profile.probed.barrier.get().is_some();
        let meeting = Meeting { copies: local && recorded, shares: local };
        Self { residency: Residency::of(profile), image, vector, meeting }
    }

    /// Why nothing is gained by a tensor in a place on this device, whatever its size.
    pub fn nowhere(&self, place: Place) -> Option<&'static str> {
        match place {
            Place::Image | Place::Column | Place::Tall(_) => (self.image == Some((0, 0))).then_some("image_size"),
            Place::Strips(_, Some(width)) if self.vector.is_some_and(|vector| u32::from(width) < vector) => Some("narrow_blocks"),
            Place::Buffer | Place::Panels | Place::Strips(..) => None,
        }
    }

    /// Why configurations are dropped whose work-items meet for what they may not: one of [`REASONS`].
    pub fn in_vain(&self) -> &'static str {
        if self.meeting.shares { "unrecorded_copies" } else { "plain_local_memory" }
    }
}

/// Why a configuration may be dropped.
pub const REASONS: [&str; 8] =
    ["image_size", "registers", "local_memory", "group_size", "narrow_blocks", "wide_vectors", "plain_local_memory", "unrecorded_copies"];

/// Drops what a device cannot run, as the configurations are walked.
pub fn prune<'a, C: Iterator<Item = Config> + 'a>(family: &'a ScheduleFamily, configs: C, allow: &'a Allowance) -> Pruned<'a, C> {
    Pruned {
        family,
        outlines: Outlines::of(family),
        configs,
        allow,
        left: 0,
        dropped: REASONS.into_iter().map(|reason| (reason, 0)).collect(),
        nearest: None,
    }
}

/// The configurations that a device can run, in the family's order, each with its outline, and how many were left and dropped so far.
pub struct Pruned<'a, C> {
    family: &'a ScheduleFamily,
    outlines: Outlines<'a>,
    configs: C,
    allow: &'a Allowance,
    /// What the device can run.
    pub left: usize,
    /// Dropped, by the first of [`REASONS`] that applies.
    pub dropped: BTreeMap<&'static str, usize>,
    /// Of what was dropped, the one that takes the least over what there is, by the reason for which it was.
    pub nearest: Option<Nearest>,
}

impl<C: Iterator<Item = Config>> Iterator for Pruned<'_, C> {
    type Item = (Config, Kernel);

    fn next(&mut self) -> Option<(Config, Kernel)> {
        loop {
            let config = self.configs.next()?;
            match self.judged(&config) {
                // What is not legal is no configuration.
                None => {}
                Some(Err((reason, over))) => {
                    *self.dropped.entry(reason).or_default() += 1;
                    // Of equal ones the first.
                    if self.nearest.as_ref().is_none_or(|own| over < own.violated[0].1) {
                        self.nearest = Some(Nearest { config, violated: vec![(reason, over)] });
                    }
                }
                Some(Ok(outline)) => {
                    self.left += 1;
                    return Some((config, outline));
                }
            }
        }
    }
}

/// A reason, and how many times what there is something takes by it: infinite where there is none of it.
type Obstacle = (&'static str, f64);

impl<C> Pruned<'_, C> {
    /// The outline of what a device can run, or why it cannot; `None` of what is not legal.
    fn judged(&mut self, config: &Config) -> Option<Result<Kernel, Obstacle>> {
        if let Some((own, most)) = self.family.vector(config).zip(self.allow.vector).filter(|(own, most)| own > most) {
            return Some(Err(("wide_vectors", over(own, most))));
        }
        if !self.allow.meeting.allows(self.family.meets(config)) {
            return Some(Err((self.allow.in_vain(), f64::INFINITY)));
        }
        if let Some((place, reason)) = self.family.chosen_places(config).find_map(|place| Some((place, self.allow.nowhere(place)?))) {
            let wide = |width: u8| self.allow.vector.map_or(f64::INFINITY, |vector| over(vector, width));
            return Some(Err((reason, if let Place::Strips(_, Some(width)) = place { wide(width) } else { f64::INFINITY })));
        }
        self.outlines.schedule(config)?;
        let outline = self.outlines.outline(config);
        Some(obstacle(&outline, self.allow).map_or(Ok(outline), Err))
    }
}

fn over(own: impl Into<f64>, most: impl Into<f64>) -> f64 {
    own.into() / most.into().max(f64::MIN_POSITIVE)
}

/// By what configurations are left out that a device can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// None is.
    None,
    /// Those of which another one costs no more (by more than 2 %) by any of the six criteria, and less by 5 % at least by one: they are
    /// counted under the criterion by which they are beaten most.
    Hardware,
    /// Those that violate one of the six criteria of paper 001 word by word, counted under the first.
    Paper001,
}

/// A space after pruning.
#[derive(Clone, Debug, Default)]
pub struct Cut {
    /// What is left, in the family's order.
    pub left: Vec<Config>,
    /// How many were dropped, by reason.
    pub dropped: BTreeMap<&'static str, usize>,
    /// How many a criterion speaks against, whether others do or not; under [`Rule::Hardware`] each is counted under one.
    pub against: BTreeMap<&'static str, usize>,
    /// Of those that a rule drops, the one that violates least; where the device can run none, the one that is the least beyond it.
    pub nearest: Option<Nearest>,
}

/// The configuration that violates the fewest criteria of those that violate some, and of these by the least.
#[derive(Clone, Debug, PartialEq)]
pub struct Nearest {
    /// The configuration.
    pub config: Config,
    /// The criteria, each with what it takes over what there is.
    pub violated: Vec<(&'static str, f64)>,
}

impl Nearest {
    fn key(&self) -> (usize, f64) {
        (self.violated.len(), self.violated.iter().map(|own| own.1).product())
    }
}

/// What is left of configurations on a device by a rule.
pub fn cut(family: &ScheduleFamily, configs: impl Iterator<Item = Config>, allow: &Allowance, on: &Hardware, rule: Rule) -> Cut {
    let mut pruned = prune(family, configs, allow);
    let judged: Vec<(Config, Facts)> = match rule {
        Rule::None => (&mut pruned).map(|(config, _)| (config, Facts::default())).collect(),
        _ => (&mut pruned).map(|(config, outline)| (config, Facts::of(&outline.in_lane_order(on.lanes), on.warp()))).collect(),
    };
    let nearest = pruned.nearest.filter(|_| judged.is_empty());
    let mut cut = Cut { dropped: pruned.dropped, nearest, ..Cut::default() };
    match rule {
        Rule::None => cut.left = judged.into_iter().map(|own| own.0).collect(),
        Rule::Hardware => cut.beaten(judged, on),
        Rule::Paper001 => judged.into_iter().for_each(|(config, facts)| cut.word_by_word(config, &facts, on)),
    }
    cut
}

impl Cut {
    /// Configurations before any was dropped.
    pub fn total(&self) -> usize {
        self.left.len() + self.dropped.values().sum::<usize>()
    }

    fn beaten(&mut self, judged: Vec<(Config, Facts)>, on: &Hardware) {
        let costs: Vec<_> = judged.iter().map(|(_, facts)| criteria::costs(facts, on)).collect();
        let known: Vec<_> = costs.iter().flatten().copied().collect();
        let mut by = front::beaten(&known).into_iter();
        for ((config, _), costs) in judged.into_iter().zip(costs) {
            match costs.and_then(|_| by.next()).flatten() {
                Some(cost) => {
                    let criterion = criteria::COST_OF[cost];
                    *self.dropped.entry(criterion).or_default() += 1;
                    *self.against.entry(criterion).or_default() += 1;
                }
                None => self.left.push(config),
            }
        }
    }

    fn word_by_word(&mut self, config: Config, facts: &Facts, on: &Hardware) {
        let over = criteria::paper001(facts, on);
        let violated: Vec<_> = CRITERIA.into_iter().zip(over).filter(|own| own.1 > 1.0).collect();
        let Some(&(first, _)) = violated.first() else { return self.left.push(config) };
        *self.dropped.entry(first).or_default() += 1;
        violated.iter().for_each(|own| *self.against.entry(own.0).or_default() += 1);
        let own = Nearest { config, violated };
        if self.nearest.as_ref().is_none_or(|nearest| own.key() < nearest.key()) {
            self.nearest = Some(own);
        }
    }
}

/// The first reason for which a device cannot run something; more registers than a work-item may have would be spilled.
fn obstacle(kernel: &Kernel, allow: &Allowance) -> Option<Obstacle> {
    let beyond = |place: &TensorPlace, (w, h): (u32, u32)| match place {
        TensorPlace::Image { width, height, .. } => over(*width as f64, w).max(over(*height as f64, h)),
        TensorPlace::Buffer { .. } => 0.0,
    };
    let images = kernel.accesses.tensors.iter().map(|own| allow.image.map_or(0.0, |most| beyond(&own.place, most))).fold(0.0, f64::max);
    if images > 1.0 {
        return Some(("image_size", images));
    }
    if let Some(max) = allow.residency.max_registers.filter(|&max| kernel.registers > max) {
        return Some(("registers", over(kernel.registers, max)));
    }
    match occupancy(&allow.residency, kernel.registers, kernel.launch.group_size(), kernel.local) {
        Ok(_) => None,
        Err(CannotRun::Registers { warps, max, .. }) => Some(("registers", over(warps, max))),
        Err(CannotRun::GroupSize { size, max }) => Some(("group_size", over(size, max))),
        Err(CannotRun::Warps { warps, max }) => Some(("group_size", over(warps, max))),
        Err(CannotRun::Local { need, reserved, max }) => Some(("local_memory", over((need + reserved).0, max.0))),
    }
}
