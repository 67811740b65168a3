//! Validation of Pipelines.

use super::error::{DeclarationError, Invalid, NameError};
use super::{Checked, check_dims, names};
use crate::pipeline::{Certificate, Channel, Firings, Pipeline, PipelineStage, StageBody, Step};
use crate::program::{Access, Direction, Name, ParamKind, Program};
use std::collections::{BTreeMap, HashMap, HashSet};

/// A Pipeline that obeys its own rules: its stages are valid, fit its channels, and no stage waits for itself.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedPipeline(Pipeline);

impl CheckedPipeline {
    /// Validates a Pipeline.
    ///
    /// # Errors
    /// The first rule that is broken, and where.
    pub fn new(pipeline: Pipeline) -> Result<Self, InvalidPipeline> {
        names::check_name(&pipeline.name).map_err(|e| at("pipeline", e))?;
        unique("stage", pipeline.stages.iter().map(|s| &s.name))?;
        unique("channel", pipeline.channels.iter().map(|c| &c.name))?;
        for stage in &pipeline.stages {
            check_stage(&pipeline, stage).map_err(|kind| at(format!("stage {}", stage.name), kind))?;
        }
        for channel in &pipeline.channels {
            check_channel(&pipeline, channel).map_err(|kind| at(format!("channel {}", channel.name), kind))?;
        }
        if let Some(cycle) = find_cycle(&pipeline) {
            return Err(at("channels", PipelineError::Cycle(cycle)));
        }
        check_side_outputs(&pipeline)?;
        if let Some(certificate) = &pipeline.certificate {
            check_certificate(&pipeline, certificate).map_err(|kind| at("certificate", kind))?;
        }
        Ok(Self(pipeline))
    }
    /// The Pipeline itself, to change and validate anew.
    pub fn into_inner(self) -> Pipeline {
        self.0
    }
}

impl std::ops::Deref for CheckedPipeline {
    type Target = Pipeline;
    fn deref(&self) -> &Pipeline {
        &self.0
    }
}

/// Which rule a Pipeline breaks, and where.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("invalid pipeline at {at}: {kind}")]
pub struct InvalidPipeline {
    /// `stage load`, `channel q`, `certificate`.
    pub at: String,
    /// What is wrong there.
    #[source]
    pub kind: PipelineError,
}

/// The rules of a Pipeline, each as its violation.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PipelineError {
    /// A name that no emitter could use.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A stage's Program breaks its own rules.
    #[error(transparent)]
    Program(#[from] Box<Invalid>),
    /// A stage without work-groups.
    #[error("a stage has at least 1 work-group")]
    NoCtas,
    /// A stage that does not exist.
    #[error("no stage is named `{0}`")]
    NoStage(Name),
    /// A channel parameter for which the pipeline has no channel.
    #[error("its channel `{0}` matches no channel of the pipeline")]
    Unmatched(Name),
    /// A stage uses an end of a channel that the channel does not give it.
    #[error("it is one of the {end} of `{channel}`, but the channel does not list it")]
    NotListed {
        /// The channel.
        channel: Name,
        /// "producers" or "consumers".
        end: &'static str,
    },
    /// A channel that nobody fills or nobody empties.
    #[error("a channel needs {0}")]
    NoEnd(&'static str),
    /// A stage that is listed twice at one end of a channel.
    #[error("`{stage}` is listed twice among the {end}")]
    ListedTwice {
        /// The stage.
        stage: Name,
        /// "producers" or "consumers".
        end: &'static str,
    },
    /// A stage that does not use the end of the channel that lists it.
    #[error("`{stage}` has no channel of this name to {action}")]
    NoParameter {
        /// The stage.
        stage: Name,
        /// "send to" or "receive from".
        action: &'static str,
    },
    /// Channel and parameter differ.
    #[error("the program of `{stage}` declares another {what}")]
    Differs {
        /// The stage.
        stage: Name,
        /// "element", "token extents" or "depth".
        what: &'static str,
    },
    /// Firings of no use: none, of no work-items, or steps that move no token.
    #[error("its firings have no {0}")]
    Empty(&'static str),
    /// A channel without slots, or whose tokens have no size that can be.
    #[error(transparent)]
    Channel(#[from] DeclarationError),
    /// Tokens of several producers, of which one has no Program: nothing says in which order they come.
    #[error("`{0}` has no program: it fills a channel alone")]
    NotAlone(Name),
    /// Stages that wait for each other.
    #[error("the stages form a cycle: {}", .0.join(" → "))]
    Cycle(Vec<Name>),
    /// A side output that is not a buffer the stage's Program writes.
    #[error("`{0}` is not a buffer that the stage writes")]
    NotWritten(Name),
    /// A side output that is listed twice.
    #[error("`{0}` is listed twice")]
    OutputTwice(Name),
    /// The certificate's order lacks a stage or names one twice.
    #[error("the order does not name each stage once")]
    Order,
    /// A channel that leads backward in the certificate's order.
    #[error("channel `{channel}` leads back from `{producer}` to `{consumer}`")]
    Backward {
        /// The channel.
        channel: Name,
        /// Its producer, later in the order.
        producer: Name,
        /// Its consumer, earlier.
        consumer: Name,
    },
    /// The certificate counts tokens of other channels than there are.
    #[error("tokens are not counted once for each channel")]
    Tokens,
    /// More work-groups than the device holds, or another number than the stages have.
    #[error("{needed} of {held} resident work-groups, where the stages have {ctas}")]
    Resident {
        /// As the certificate says.
        needed: u32,
        /// As the certificate says of the device.
        held: u32,
        /// What the stages add up to.
        ctas: u64,
    },
}

fn at(place: impl Into<String>, kind: impl Into<PipelineError>) -> InvalidPipeline {
    InvalidPipeline { at: place.into(), kind: kind.into() }
}

fn unique<'a>(what: &str, names: impl Iterator<Item = &'a Name>) -> Result<(), InvalidPipeline> {
    let mut taken = HashSet::new();
    for name in names {
        let place = format!("{what} {name}");
        names::check_name(name).map_err(|e| at(&place, e))?;
        if !taken.insert(name) {
            return Err(at(place, NameError::Twice(name.clone())));
        }
    }
    Ok(())
}

fn check_stage(pipeline: &Pipeline, stage: &PipelineStage) -> Result<(), PipelineError> {
    if stage.ctas == 0 {
        return Err(PipelineError::NoCtas);
    }
    match &stage.body {
        StageBody::Program(program) => {
            Checked::new(program.clone()).map_err(Box::new)?;
        }
        StageBody::Firings(firings) => check_firings(firings)?,
    }
    for (name, direction) in ends(&stage.body) {
        let channel = pipeline.channels.iter().find(|c| c.name == *name).ok_or_else(|| PipelineError::Unmatched(name.clone()))?;
        let (listed, end) = match direction {
            Direction::Send => (&channel.producers, "producers"),
            Direction::Receive => (&channel.consumers, "consumers"),
        };
        if !listed.contains(&stage.name) {
            return Err(PipelineError::NotListed { channel: name.clone(), end });
        }
    }
    Ok(())
}

/// Channels that a stage uses, and which end.
fn ends(body: &StageBody) -> Vec<(&Name, Direction)> {
    match body {
        StageBody::Program(program) => {
            let end =
                |param: &crate::program::ParamKind| if let ParamKind::Channel { direction, .. } = param { Some(*direction) } else { None };
            program.params.iter().filter_map(|param| Some((&param.name, end(&param.kind)?))).collect()
        }
        StageBody::Firings(firings) => {
            let steps = firings.steps.iter().filter_map(|step| match step {
                Step::Take { channel, .. } => Some((channel, Direction::Receive)),
                Step::Put { channel, .. } => Some((channel, Direction::Send)),
                Step::Work { .. } => None,
            });
            steps.collect()
        }
    }
}

fn check_firings(firings: &Firings) -> Result<(), PipelineError> {
    let moves = |step: &Step| !matches!(step, Step::Take { count: 0, .. } | Step::Put { count: 0, .. });
    match firings {
        Firings { count: 0, .. } => Err(PipelineError::Empty("count")),
        Firings { lanes: 0, .. } => Err(PipelineError::Empty("lanes")),
        Firings { steps, .. } if !steps.iter().all(moves) => Err(PipelineError::Empty("tokens in a step")),
        _ => Ok(()),
    }
}

fn check_channel(pipeline: &Pipeline, channel: &Channel) -> Result<(), PipelineError> {
    let ends = [
        (&channel.producers, Direction::Send, "producers", "send to"),
        (&channel.consumers, Direction::Receive, "consumers", "receive from"),
    ];
    for (listed, end, what, action) in ends {
        if listed.is_empty() {
            return Err(PipelineError::NoEnd(what));
        }
        for (i, name) in listed.iter().enumerate() {
            if listed[..i].contains(name) {
                return Err(PipelineError::ListedTwice { stage: name.clone(), end: what });
            }
            let stage = pipeline.stages.iter().find(|s| s.name == *name).ok_or_else(|| PipelineError::NoStage(name.clone()))?;
            check_end(channel, stage, end, action)?;
        }
    }
    if channel.depth == 0 {
        return Err(DeclarationError::NoDepth.into());
    }
    check_dims(&channel.dims)?;
    // All ends are stages by now.
    let unordered = |name: &&Name| pipeline.stages.iter().any(|s| s.name == **name && s.body.program().is_none());
    match channel.producers.iter().find(unordered) {
        Some(name) if channel.producers.len() > 1 => Err(PipelineError::NotAlone(name.clone())),
        _ => Ok(()),
    }
}

/// Whether a stage has this end of the channel.
fn check_end(channel: &Channel, stage: &PipelineStage, end: Direction, action: &'static str) -> Result<(), PipelineError> {
    let name = || stage.name.clone();
    if !ends(&stage.body).contains(&(&channel.name, end)) {
        return Err(PipelineError::NoParameter { stage: name(), action });
    }
    // Without a Program, the channel says what a token is.
    let Some(kind) = stage.body.program().and_then(|program| program.param(&channel.name)).map(|param| &param.kind) else { return Ok(()) };
    let ParamKind::Channel { element, dims, depth, .. } = kind else { return Ok(()) };
    let differs = |what| Err(PipelineError::Differs { stage: name(), what });
    if *element != channel.element {
        return differs("element");
    }
    if *dims != channel.dims {
        return differs("token extents");
    }
    if *depth != channel.depth {
        return differs("depth");
    }
    Ok(())
}

/// Stages that wait for each other, the first repeated at the end.
fn find_cycle(pipeline: &Pipeline) -> Option<Vec<Name>> {
    let mut next: BTreeMap<&Name, Vec<&Name>> = BTreeMap::new();
    for channel in &pipeline.channels {
        for producer in &channel.producers {
            next.entry(producer).or_default().extend(&channel.consumers);
        }
    }
    let mut done = HashSet::new();
    pipeline.stages.iter().find_map(|stage| cycle_from(&stage.name, &next, &mut Vec::new(), &mut done))
}

/// Depth first: `way` leads here, `done` stages lead into no cycle.
fn cycle_from<'a>(
    stage: &'a Name,
    next: &BTreeMap<&'a Name, Vec<&'a Name>>,
    way: &mut Vec<&'a Name>,
    done: &mut HashSet<&'a Name>,
) -> Option<Vec<Name>> {
    if done.contains(stage) {
        return None;
    }
    if let Some(start) = way.iter().position(|s| *s == stage) {
        return Some(way[start..].iter().chain([&stage]).map(|s| (*s).clone()).collect());
    }
    way.push(stage);
    let found = next.get(stage).into_iter().flatten().find_map(|s| cycle_from(s, next, way, done));
    way.pop();
    done.insert(stage);
    found
}

fn check_side_outputs(pipeline: &Pipeline) -> Result<(), InvalidPipeline> {
    for (i, output) in pipeline.side_outputs.iter().enumerate() {
        let fail = |kind| Err(at(format!("side output {}.{}", output.stage, output.param), kind));
        let Some(stage) = pipeline.stages.iter().find(|s| s.name == output.stage) else {
            return fail(PipelineError::NoStage(output.stage.clone()));
        };
        // Without a Program there are no parameters yet.
        let written = |program: &Program| {
            let kind = program.param(&output.param).map(|param| &param.kind);
            matches!(kind, Some(ParamKind::Buffer { access: Access::Write | Access::ReadWrite, .. }))
        };
        if !stage.body.program().is_none_or(written) {
            return fail(PipelineError::NotWritten(output.param.clone()));
        }
        if pipeline.side_outputs[..i].contains(output) {
            return fail(PipelineError::OutputTwice(output.param.clone()));
        }
    }
    Ok(())
}

fn check_certificate(pipeline: &Pipeline, certificate: &Certificate) -> Result<(), PipelineError> {
    let position: HashMap<&Name, usize> = certificate.order.iter().enumerate().map(|(i, name)| (name, i)).collect();
    let stages = pipeline.stages.len();
    if certificate.order.len() != stages || !pipeline.stages.iter().all(|s| position.contains_key(&s.name)) {
        return Err(PipelineError::Order);
    }
    for channel in &pipeline.channels {
        for producer in &channel.producers {
            if let Some(consumer) = channel.consumers.iter().find(|c| position[c] <= position[producer]) {
                let (producer, consumer) = (producer.clone(), consumer.clone());
                return Err(PipelineError::Backward { channel: channel.name.clone(), producer, consumer });
            }
        }
    }
    let counted: HashSet<&Name> = certificate.tokens.iter().map(|t| &t.0).collect();
    let channels = pipeline.channels.len();
    if certificate.tokens.len() != channels || !pipeline.channels.iter().all(|c| counted.contains(&c.name)) {
        return Err(PipelineError::Tokens);
    }
    let ctas = pipeline.stages.iter().map(|s| u64::from(s.ctas)).sum();
    let (needed, held) = certificate.resident;
    if u64::from(needed) != ctas || needed > held {
        return Err(PipelineError::Resident { needed, held, ctas });
    }
    Ok(())
}
