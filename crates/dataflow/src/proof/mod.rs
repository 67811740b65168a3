//! Whether a pipeline can deadlock, judged from the pipeline alone: nothing of how it was planned is known here.
//!
//! A pipeline whose stages fire ([`Firings`]) is synchronous dataflow (Lee and Messerschmitt 1987, which paper 003, section 4, is an instance
//! of): which token a put waits for, and which one a take, is fixed by their numbers. So whether it can deadlock does not depend on when
//! anybody runs; whatever order the tokens pass in, all that can pass do. It is enough to let them pass in one order.
//!
//! It is also enough to do so for one iteration, the least numbers of firings that leave every channel as it was. Everything waits for
//! something of its own iteration or of an earlier one: a take for a token of the same number, a put for a take `depth` tokens before, a
//! firing for the one `ctas` before. Things that wait for each other in a circle are therefore in one iteration, and all iterations are
//! alike. A proof holds for every number of iterations.

mod iteration;
#[cfg(test)]
mod tests;

use iteration::Iteration;
use serde::Serialize;
use warpsight_ir::occupancy::{GroupNeeds, Residency, Resident, occupancy};
use warpsight_ir::range::gcd;
use warpsight_ir::validate::InvalidPipeline;
use warpsight_ir::{Bytes, Certificate, CheckedPipeline, Firings, Name, Pipeline, StageBody, Step};

/// Where the work-groups run.
#[derive(Clone, Copy, Debug)]
pub struct Resources<'a> {
    /// What limits residency on one core.
    pub core: &'a Residency,
    /// Cores.
    pub cores: u32,
    /// How work-groups come onto them.
    pub launch: Launch<'a>,
}

/// How work-groups come onto cores.
#[derive(Clone, Copy, Debug)]
pub enum Launch<'a> {
    /// One cooperative kernel whose work-groups take roles by ticket: all need what the neediest needs.
    Cooperative,
    /// So many work-groups of each stage on each core (rows: cores; columns: stages), placed by a scheduler that keeps to it.
    Placed(&'a [Vec<u32>]),
}

/// Why there is no proof.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Objection {
    /// It breaks the rules of a pipeline, for instance with stages in a circle.
    #[error(transparent)]
    Invalid(#[from] InvalidPipeline),
    /// A stage with a Program, whose firings nobody has counted.
    #[error("stage `{0}` has a program, and no firings to be judged by")]
    NoFirings(Name),
    /// A channel that would fill up or run dry.
    #[error("channel `{channel}`: `{producer}` puts {put} tokens, `{consumer}` takes {taken}")]
    Unequal {
        /// The channel.
        channel: Name,
        /// Who fills it.
        producer: Name,
        /// Tokens of one execution.
        put: u128,
        /// One of those who empty it.
        consumer: Name,
        /// Tokens of one execution.
        taken: u128,
    },
    /// A channel that nobody fills.
    #[error("nobody puts tokens into channel `{0}`")]
    NoProducer(Name),
    /// A channel that leads from or to no stage of the pipeline.
    #[error("channel `{channel}`: there is no stage `{stage}`")]
    Unknown {
        /// The channel.
        channel: Name,
        /// Its producer, or one of its consumers.
        stage: Name,
    },
    /// A stage that moves tokens of a channel that does not lead from or to it.
    #[error("stage `{stage}` moves tokens of `{channel}`, which is no channel of its own")]
    Stranger {
        /// The stage.
        stage: Name,
        /// The channel.
        channel: Name,
    },
    /// Stages none of which can be the first.
    #[error("each of the stages {} waits for another of them", .0.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "))]
    NoFirst(Vec<Name>),
    /// Work-groups that would not run at the same time.
    #[error("not all work-groups are resident at once: {0}")]
    NotResident(String),
    /// Work-groups that wait for each other, the first again at the end.
    #[error("work-groups wait for each other: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Waits(Vec<Wait>),
    /// One iteration is longer than is looked at.
    #[error("one iteration moves {0} tokens: more than are followed")]
    TooLong(u128),
}

/// A work-group that waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Wait {
    /// Its stage.
    pub stage: Name,
    /// Which work-group of the stage.
    pub group: u64,
    /// Its firing.
    pub firing: u64,
    /// The channel it waits at.
    pub channel: Name,
    /// The token it wants to take, or to put.
    pub token: u64,
    /// Whether it takes.
    pub takes: bool,
}

impl std::fmt::Display for Wait {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { stage, group, firing, channel, token, takes } = self;
        let what = if *takes { "to take" } else { "for room to put" };
        write!(f, "`{stage}` (work-group {group}, firing {firing}) waits {what} token {token} of `{channel}`")
    }
}

/// What a proof takes for granted.
pub const ASSUMPTIONS: [&str; 4] = [
    "memory: a token is written before its slot's counter is released, and read after that counter was acquired, both at device scope",
    "forward progress: a work-group that is resident runs on at some time, whatever others do (occupancy-bound progress of cooperative launches)",
    "residency: the device places the work-groups as stated, and none of another kernel takes their room",
    "queues: counters are zero at the start, and every step of a firing takes the tokens that the plan says",
];

/// Tokens of one iteration that are followed.
const MOST_TOKENS: u128 = 1 << 24;

/// Proves that a pipeline comes to its end, for any number of iterations, or says what stands against it.
///
/// # Errors
/// The first [`Objection`].
pub fn prove(pipeline: &Pipeline, on: &Resources) -> Result<Certificate, Objection> {
    let checked = CheckedPipeline::new(pipeline.clone())?;
    let stages: Vec<(&Name, u32, &Firings)> = checked
        .stages
        .iter()
        .map(|stage| match &stage.body {
            StageBody::Firings(firings) => Ok((&stage.name, stage.ctas, firings)),
            StageBody::Program(_) => Err(Objection::NoFirings(stage.name.clone())),
        })
        .collect::<Result<_, _>>()?;
    let tokens = balanced(&checked, &stages)?;
    let resident = resident(&stages, on)?;
    let iterations = stages.iter().map(|stage| rounds(stage.1, stage.2)).fold(0, gcd).max(1);
    let moved: u128 = stages.iter().map(|(_, _, f)| u128::from(f.count / iterations) * steps(f)).sum();
    if moved > MOST_TOKENS {
        return Err(Objection::TooLong(moved));
    }
    Iteration::of(&checked, &stages, iterations)?.run()?;
    Ok(Certificate { order: order(&checked)?, tokens, resident })
}

fn steps(firings: &Firings) -> u128 {
    let tokens = |step: &Step| match step {
        Step::Take { count, .. } | Step::Put { count, .. } => u128::from(*count),
        Step::Work { .. } => 1,
    };
    firings.steps.iter().map(tokens).sum()
}

/// Firings that follow each other alike: each, or where tokens are dealt those of all work-groups together.
fn rounds(ctas: u32, firings: &Firings) -> u64 {
    let ctas = u64::from(ctas).max(1);
    match firings.dealt {
        false => firings.count,
        true if firings.count.is_multiple_of(ctas) => firings.count / ctas,
        true => 1,
    }
}

/// Tokens of each channel, which all its consumers take as many of as its producer puts.
fn balanced(pipeline: &Pipeline, stages: &[(&Name, u32, &Firings)]) -> Result<Vec<(Name, u64)>, Objection> {
    let mut tokens = Vec::new();
    for channel in &pipeline.channels {
        let of = |name: &Name| {
            let known = stages.iter().find(|stage| stage.0 == name).map(|stage| stage.2);
            known.ok_or_else(|| Objection::Unknown { channel: channel.name.clone(), stage: name.clone() })
        };
        // A checked channel has one producer.
        let producer = channel.producers.first().ok_or_else(|| Objection::NoProducer(channel.name.clone()))?;
        let filling = of(producer)?;
        let put = u128::from(filling.count) * u128::from(filling.puts(&channel.name));
        for consumer in &channel.consumers {
            let emptying = of(consumer)?;
            let taken = u128::from(emptying.count) * u128::from(emptying.takes(&channel.name));
            if put != taken {
                let (channel, producer, consumer) = (channel.name.clone(), producer.clone(), consumer.clone());
                return Err(Objection::Unequal { channel, producer, put, consumer, taken });
            }
        }
        tokens.push((channel.name.clone(), u64::try_from(put).map_err(|_| Objection::TooLong(put))?));
    }
    Ok(tokens)
}

/// Work-groups that are to be resident, and how many can be.
fn resident(stages: &[(&Name, u32, &Firings)], on: &Resources) -> Result<(u32, u32), Objection> {
    let needs = |f: &Firings| GroupNeeds { lanes: f.lanes, registers: f.registers, local: Bytes(f.local as f64) };
    let needed: u64 = stages.iter().map(|stage| u64::from(stage.1)).sum();
    let refused = |why: String| Err(Objection::NotResident(why));
    let Ok(all) = u32::try_from(needed) else { return refused(format!("there are {needed}")) };
    // Occupancy takes what is beyond the most for spilled; here it is what a kernel was compiled to.
    if let Some(most) = on.core.max_registers
        && let Some((name, _, firings)) = stages.iter().find(|stage| stage.2.registers > most)
    {
        return refused(format!("a work-item of `{name}` needs {} registers, and has {most} at most", firings.registers));
    }
    match on.launch {
        Launch::Cooperative => {
            let most = stages.iter().map(|stage| needs(stage.2)).reduce(|a, b| GroupNeeds {
                lanes: a.lanes.max(b.lanes),
                registers: a.registers.max(b.registers),
                local: if a.local.0 > b.local.0 { a.local } else { b.local },
            });
            let Some(most) = most else { return Ok((0, 0)) };
            let fit =
                occupancy(on.core, most.registers, most.lanes, most.local).map_err(|error| Objection::NotResident(error.to_string()))?;
            let held = fit.groups.saturating_mul(on.cores);
            if all > held {
                let limit = fit.limiter.map_or("nothing known", word);
                return refused(format!(
                    "{all} are needed, {} cores hold {held} of {} work-items, {} registers and {} B of local memory, limited by {limit}",
                    on.cores, most.lanes, most.registers, most.local.0
                ));
            }
            Ok((all, held))
        }
        Launch::Placed(rows) => {
            if rows.len() > on.cores as usize {
                return refused(format!("they are placed on {} cores, the device has {}", rows.len(), on.cores));
            }
            for (core, row) in rows.iter().enumerate() {
                if row.len() != stages.len() {
                    return refused(format!("core {core} has places for {} stages, there are {}", row.len(), stages.len()));
                }
                let here: Vec<_> = stages.iter().zip(row).map(|(stage, &count)| (needs(stage.2), count)).collect();
                if let Some(what) = on.core.keeps_apart(&here) {
                    return refused(format!("core {core} has too few {} for what is placed on it", word(what)));
                }
            }
            for (i, (name, ctas, _)) in stages.iter().enumerate() {
                let placed: u64 = rows.iter().map(|row| u64::from(row[i])).sum();
                if placed != u64::from(*ctas) {
                    return refused(format!("{placed} of the {ctas} work-groups of `{name}` are placed"));
                }
            }
            Ok((all, all))
        }
    }
}

fn word(what: Resident) -> &'static str {
    match what {
        Resident::Registers => "registers",
        Resident::Warps => "warps",
        Resident::Local => "bytes of local memory",
        Resident::Groups => "slots for work-groups",
    }
}

/// Stages such that every channel leads forward. A checked pipeline has no circles.
fn order(pipeline: &Pipeline) -> Result<Vec<Name>, Objection> {
    let mut order: Vec<Name> = Vec::new();
    while order.len() < pipeline.stages.len() {
        let ready = |name: &Name| {
            let fills = pipeline.channels.iter().filter(|channel| channel.consumers.contains(name));
            fills.flat_map(|channel| &channel.producers).all(|producer| order.contains(producer))
        };
        let left = || pipeline.stages.iter().map(|stage| &stage.name).filter(|name| !order.contains(name));
        let Some(next) = left().find(|name| ready(name)).cloned() else { return Err(Objection::NoFirst(left().cloned().collect())) };
        order.push(next);
    }
    Ok(order)
}
