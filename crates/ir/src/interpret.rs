//! The interpreter: slow, obvious, and what every other executor is judged by.
//!
//! It follows the semantics of [`crate::program`] to the letter and stops at the first violation of a rule that validation cannot
//! prove, with a [`Fault`] that names the statement, the work-items and the element. Where the semantics leaves room:
//!
//! - **Order.** Only a `Barrier` orders memory: group scope the accesses of a group, sub-group scope those of a sub-group, and only
//!   of the memory (local, global) that it names. Tile and channel operations order nothing; what they touch counts as touched by
//!   all work-items that share the operation. So a barrier stands between filling a local array and sending it, and between
//!   receiving a token and reading it. Scopes and orders of atomics are not judged.
//! - **Guards.** Where a guard leaves no lane of an access, neither its coordinates nor its value are computed.
//! - **Undefined contents.** Reading (also sending, or loading into a tile) an array's element that nothing wrote is a fault.
//! - **Conversions** to integers saturate from every type; `min` and `max` give the other operand where one is not a number.
//! - **Tokens.** Groups take turns in the order of their numbers, each until it has passed one channel operation or must wait.
//!   Every receiving Program gets every token; within it, the first group to come takes it. This is deterministic, but a Program
//!   should not depend on which of its groups gets which token. Tokens may be left at the end.

mod arith;
mod channels;
mod code;
mod effects;
mod eval;
mod fault;
mod group;
mod memory;
mod races;
mod value;

pub use arith::{Undefined, binary, cast, exact_fma, fma, larger, rounded, smaller, unary};
pub use fault::{BindingProblem, ChannelProblem, Fault, Items, RaceKind, Site, Waiting, Who};

use crate::data::Bindings;
use crate::pipeline::Pipeline;
use crate::program::{Access, Direction, Name, ParamKind, Program};
use crate::validate::Checked;
use channels::Channels;
use code::{Code, bad, extent};
use group::{Group, Progress};
use memory::{Image, Tensor};
use std::collections::BTreeMap;

/// How far an interpretation may go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    /// Statements executed by work-items, all Programs together; a loop's trip counts as one. `None` for no end.
    pub steps: Option<u64>,
}

/// A Program that runs together with others.
#[derive(Debug)]
pub struct Member<'a> {
    /// What its work-items do.
    pub program: &'a Checked,
    /// Its sizes and data; changed by the run.
    pub bindings: &'a mut Bindings,
    /// Work-groups that are resident together: the next begins when one ends. At least 1.
    pub resident: u32,
}

/// Executes one launch, changing the data of its bindings.
///
/// # Errors
/// The first [`Fault`]; the data then is as it was at that moment.
pub fn interpret(program: &Checked, bindings: &mut Bindings) -> Result<(), Fault> {
    interpret_within(program, bindings, Budget::default())
}

/// [`interpret`], within a budget.
///
/// # Errors
/// As [`interpret`], and [`Fault::OutOfSteps`].
pub fn interpret_within(program: &Checked, bindings: &mut Bindings, budget: Budget) -> Result<(), Fault> {
    run_together(&mut [Member { program, bindings, resident: 1 }], budget)
}

/// Executes Programs that run at the same time, joined by their channel parameters of equal names.
///
/// # Errors
/// The first [`Fault`], among them [`Fault::BadChannel`] and [`Fault::Deadlock`].
pub fn run_together(members: &mut [Member<'_>], budget: Budget) -> Result<(), Fault> {
    let programs: Vec<&Program> = members.iter().map(|m| &**m.program).collect();
    let mut channels = Channels::connect(&programs)?;
    let mut arguments = Vec::new();
    // All arguments are checked before any data is taken.
    for member in &*members {
        check_arguments(member.program, member.bindings)?;
    }
    for member in members.iter_mut() {
        arguments.push(take_arguments(member.program, member.bindings)?);
    }
    let codes = members.iter().map(|m| Code::new(m.program, &m.bindings.sizes)).collect::<Result<Vec<_>, _>>();
    let result = codes.and_then(|codes| {
        let resident: Vec<u32> = members.iter().map(|m| m.resident.max(1)).collect();
        take_turns(&codes, &resident, &mut arguments, &mut channels, &mut Steps { spent: 0, budget: budget.steps })
    });
    for (member, arguments) in members.iter_mut().zip(arguments) {
        for (bytes, argument) in member.bindings.data.iter_mut().zip(arguments) {
            match argument {
                Argument::Buffer(tensor) => *bytes = tensor.bytes,
                Argument::Image(image) => *bytes = image.bytes,
                Argument::Channel => {}
            }
        }
    }
    result
}

/// Executes a pipeline: all stages together, `ctas` work-groups of each resident. One entry of `bindings` per stage, in order.
///
/// # Errors
/// The first [`Fault`]; [`Fault::Malformed`] where a stage's Program is missing or not valid, [`Fault::BadChannel`] where the pipeline's
/// channels are not those of its stages.
pub fn interpret_pipeline(pipeline: &Pipeline, bindings: &mut [Bindings], budget: Budget) -> Result<(), Fault> {
    if bindings.len() != pipeline.stages.len() {
        let problem = BindingProblem::Count { expected: pipeline.stages.len(), found: bindings.len() };
        return Err(Fault::BadBinding { kernel: pipeline.name.clone(), problem });
    }
    check_channels(pipeline)?;
    let programs = pipeline.stages.iter().map(|stage| {
        let malformed = |problem: String| Fault::Malformed { kernel: stage.name.clone(), problem };
        let program = stage.body.program().ok_or_else(|| malformed("it has no program yet".to_owned()))?;
        Checked::new(program.clone()).map_err(|e| malformed(e.to_string()))
    });
    let programs = programs.collect::<Result<Vec<_>, _>>()?;
    let members = programs.iter().zip(bindings).zip(&pipeline.stages);
    let members = members.map(|((program, bindings), stage)| Member { program, bindings, resident: stage.ctas });
    run_together(&mut members.collect::<Vec<_>>(), budget)
}

/// The pipeline's channels are the channel parameters of its stages.
fn check_channels(pipeline: &Pipeline) -> Result<(), Fault> {
    for stage in &pipeline.stages {
        for param in stage.body.program().iter().flat_map(|program| &program.params) {
            let ParamKind::Channel { element, dims, depth, direction } = &param.kind else { continue };
            let bad = |problem| Err(Fault::BadChannel { channel: param.name.clone(), problem });
            let Some(channel) = pipeline.channels.iter().find(|c| c.name == param.name) else {
                return bad(ChannelProblem::Ends(*direction));
            };
            if (*element, dims, *depth) != (channel.element, &channel.dims, channel.depth) {
                return bad(ChannelProblem::Mismatch(stage.name.clone()));
            }
        }
    }
    for channel in &pipeline.channels {
        for (direction, listed) in [(Direction::Send, &channel.producers), (Direction::Receive, &channel.consumers)] {
            let is_end = |program: &Program| {
                program.param(&channel.name).is_some_and(|p| matches!(&p.kind, ParamKind::Channel { direction: d, .. } if *d == direction))
            };
            let missing = listed.iter().any(|name| !pipeline.stages.iter().any(|stage| stage.name == *name));
            if missing || pipeline.stages.iter().any(|stage| listed.contains(&stage.name) != stage.body.program().is_some_and(is_end)) {
                return Err(Fault::BadChannel { channel: channel.name.clone(), problem: ChannelProblem::Ends(direction) });
            }
        }
    }
    Ok(())
}

/// What a parameter stands for.
enum Argument {
    Buffer(Tensor),
    Image(Image),
    Channel,
}

/// All that the groups of a launch share.
struct Launch<'a> {
    arguments: &'a mut [Argument],
    channels: &'a mut Channels,
    /// The launch's number among those that run together.
    stage: usize,
    steps: &'a mut Steps,
}

struct Steps {
    spent: u64,
    budget: Option<u64>,
}

/// Gives every resident group its turn until all are done.
fn take_turns(
    codes: &[Code<'_>],
    resident: &[u32],
    arguments: &mut [Vec<Argument>],
    channels: &mut Channels,
    steps: &mut Steps,
) -> Result<(), Fault> {
    let mut next = vec![0; codes.len()];
    let mut groups: Vec<Vec<Group<'_>>> = codes.iter().map(|_| Vec::new()).collect();
    loop {
        let (mut moved, mut waiting) = (false, Vec::new());
        for (stage, code) in codes.iter().enumerate() {
            while groups[stage].len() < resident[stage] as usize && next[stage] < code.group_count() {
                groups[stage].push(Group::new(code, next[stage]));
                next[stage] += 1;
            }
            let mut launch = Launch { arguments: &mut arguments[stage], channels, stage, steps };
            let mut stay = Vec::new();
            for mut group in std::mem::take(&mut groups[stage]) {
                match group.resume(&mut launch)? {
                    Progress::Done => moved = true,
                    Progress::Passed => {
                        moved = true;
                        stay.push(group);
                    }
                    Progress::Waits(param, direction) => {
                        let channel = code.program.params[param].name.clone();
                        waiting.push(Waiting { at: *group.site(group.all()), channel, direction });
                        stay.push(group);
                    }
                }
            }
            groups[stage] = stay;
        }
        if !moved {
            // Nobody is left, or everybody waits for what nobody changed.
            return if waiting.is_empty() { Ok(()) } else { Err(Fault::Deadlock { waiting }) };
        }
    }
}

/// Bytes a parameter needs, with its extents.
fn needed(program: &Program, sizes: &BTreeMap<Name, i64>, param: usize) -> Result<(Vec<i64>, u64), Fault> {
    let param = &program.params[param];
    let (dims, bytes) = match &param.kind {
        ParamKind::Buffer { element, dims, .. } => (dims.iter().collect(), element.bytes()),
        ParamKind::Image { width, height, format, .. } => (vec![width, height], format.bytes()),
        ParamKind::Channel { .. } => (vec![], 0),
    };
    let dims = dims.into_iter().map(|e| extent(program, sizes, e, &param.name)).collect::<Result<Vec<i64>, _>>()?;
    let count = dims.iter().try_fold(u64::from(bytes), |n, &d| n.checked_mul(d as u64)).filter(|&n| i64::try_from(n).is_ok());
    let too_large = || bad(program, BindingProblem::TooLarge(format!("`{}`", param.name)));
    Ok((dims, count.ok_or_else(too_large)?))
}

fn check_arguments(program: &Program, bindings: &Bindings) -> Result<(), Fault> {
    code::check_sizes(program, &bindings.sizes)?;
    if program.params.len() != bindings.data.len() {
        return Err(bad(program, BindingProblem::Count { expected: program.params.len(), found: bindings.data.len() }));
    }
    for (i, (param, data)) in program.params.iter().zip(&bindings.data).enumerate() {
        let (needed, found) = (needed(program, &bindings.sizes, i)?.1, data.len() as u64);
        if found < needed {
            return Err(bad(program, BindingProblem::TooSmall { name: param.name.clone(), needed, found }));
        }
    }
    Ok(())
}

/// Moves the data out of the bindings.
fn take_arguments(program: &Program, bindings: &mut Bindings) -> Result<Vec<Argument>, Fault> {
    let Bindings { sizes, data } = bindings;
    let arguments = program.params.iter().zip(data).enumerate().map(|(i, (param, data))| {
        let (dims, _) = needed(program, sizes, i)?;
        let mut bytes = || std::mem::take(data);
        Ok(match &param.kind {
            ParamKind::Buffer { element, access, .. } => {
                Argument::Buffer(Tensor::argument(*element, dims, bytes(), *access != Access::Read))
            }
            ParamKind::Image { format, border, .. } => Argument::Image(Image {
                format: *format,
                size: [dims[0], dims[1]],
                border: *border,
                bytes: bytes(),
                shadow: Default::default(),
            }),
            ParamKind::Channel { .. } => Argument::Channel,
        })
    });
    arguments.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Validation proves that teams agree; the interpreter still looks.
    #[test]
    fn teams_that_disagree_are_found() {
        for body in ["if l < 3 { barrier group local }", "for i in 0 .. l { barrier subgroup local }", "tile fill t = f32(l)"] {
            let text = format!("program torn {{ tile t: f32[1, 1] groups g = 1 lanes l = 4 subgroup 2 {{ {body} }} }}");
            let program = crate::text::parse(&text).unwrap();
            let sizes = BTreeMap::new();
            let codes = [Code::new(&program, &sizes).unwrap()];
            let mut channels = Channels::connect(&[&program]).unwrap();
            let fault = take_turns(&codes, &[1], &mut [vec![]], &mut channels, &mut Steps { spent: 0, budget: None }).unwrap_err();
            let Fault::NonUniform { first, second, .. } = fault else { panic!("{fault}") };
            let last = if body.starts_with("if") { 3 } else { 1 };
            assert_eq!([&first.items, &second.items], [0, last].map(|l| Items::One(vec![("l".into(), l)])).each_ref());
        }
    }
}
