//! One work-group: its variables, its arrays, and how it executes statements.
//!
//! A statement is executed by a *team*: one work-item after the other where nobody meets in it, sub-group by sub-group where a
//! sub-group meets, by the group as a whole where that meets. Control flow around a group's meeting points is kept in `frames`,
//! not on the stack, so that a group can wait for a channel while others run.

use super::Launch;
use super::arith::{cast, same};
use super::code::{Code, Node, Op, Place, Step, Team, instances};
use super::fault::{Fault, Items, Site, Who};
use super::memory::Tensor;
use super::races::{Access, Party};
use super::value::Value;
use crate::program::{Direction, Scope, Space};
use crate::types::Const;
use std::ops::Range;

/// A work-group that is being executed.
pub(super) struct Group<'a> {
    pub code: &'a Code<'a>,
    number: u32,
    pub items: u32,
    /// `slots` values per work-item.
    pub vars: Vec<Value>,
    pub arrays: Vec<Tensor>,
    /// Barriers passed, for local and for global memory.
    pub local: Phases,
    pub global: Phases,
    frames: Vec<Frame<'a>>,
    /// The statement being executed.
    pub at: &'a str,
}

/// Barriers passed by the group and by each sub-group.
pub(super) struct Phases {
    pub group: u32,
    pub subgroups: Vec<u32>,
}

/// A block that the group executes as a whole.
struct Frame<'a> {
    steps: &'a [Step],
    next: usize,
    repeat: Option<Repeat>,
}

/// The loop that a block is the body of.
#[derive(Clone, Copy)]
struct Repeat {
    slot: usize,
    at: i64,
    to: i64,
    step: i64,
}

/// What a group came to when it last had its turn.
pub(super) enum Progress {
    /// It passed a channel operation.
    Passed,
    /// It waits for a channel, by parameter.
    Waits(usize, Direction),
    /// It is through.
    Done,
}

impl<'a> Group<'a> {
    /// The group of that number, fastest axis first, before its first statement.
    pub fn new(code: &'a Code<'a>, number: u32) -> Self {
        let launch = &code.program.launch;
        let items = launch.group_size();
        let subgroups = items.div_ceil(code.subgroup) as usize;
        let arrays = code.program.arrays.iter();
        let arrays = arrays.map(|a| Tensor::array(a.element, &a.dims, instances(a.space, items, code.subgroup), a.space == Space::Local));
        let phases = || Phases { group: 0, subgroups: vec![0; subgroups] };
        let mut group = Self {
            code,
            number,
            items,
            vars: vec![Value::default(); code.slots * items as usize],
            arrays: arrays.collect(),
            local: phases(),
            global: phases(),
            frames: vec![Frame { steps: &code.body, next: 0, repeat: None }],
            at: "body",
        };
        let own = coordinates(number, code.groups.iter().copied());
        for item in 0..items {
            let lane = coordinates(item, launch.lanes.iter().map(|axis| axis.extent.into()));
            for (slot, &at) in own.iter().chain(&lane).enumerate() {
                *group.var(item, slot) = Value::from(Const::I32(at as i32));
            }
        }
        group
    }

    /// Executes until a channel operation is passed or must wait, or to the end.
    pub fn resume(&mut self, launch: &mut Launch<'_>) -> Result<Progress, Fault> {
        while let Some(frame) = self.frames.last_mut() {
            let Some(step) = frame.steps.get(frame.next) else {
                self.end_of_block(launch)?;
                continue;
            };
            frame.next += 1;
            if step.team < Team::Group {
                self.execute(launch, step, 0..self.items)?;
                continue;
            }
            self.begin(launch, step, 0..self.items)?;
            match &step.op {
                Op::For { slot, from, to, step, body } => {
                    let (at, to) = self.bounds(launch, from, to, 0..self.items)?;
                    if at < to {
                        self.set_all(0..self.items, *slot, at);
                        self.frames.push(Frame { steps: body, next: 0, repeat: Some(Repeat { slot: *slot, at, to, step: *step }) });
                    }
                }
                Op::If { condition, then, otherwise } => {
                    let side = if self.condition(launch, condition, 0..self.items)? { then } else { otherwise };
                    self.frames.push(Frame { steps: side, next: 0, repeat: None });
                }
                Op::Block(body) => self.frames.push(Frame { steps: body, next: 0, repeat: None }),
                Op::Send { param, from } => {
                    if self.send(launch, *param, *from)? {
                        return Ok(Progress::Passed);
                    }
                    self.wait();
                    return Ok(Progress::Waits(*param, Direction::Send));
                }
                Op::Receive { param, into } => {
                    if self.receive(launch, *param, *into)? {
                        return Ok(Progress::Passed);
                    }
                    self.wait();
                    return Ok(Progress::Waits(*param, Direction::Receive));
                }
                _ => self.once(launch, step, 0..self.items)?,
            }
        }
        Ok(Progress::Done)
    }

    /// Leaves the innermost block, or repeats it.
    fn end_of_block(&mut self, launch: &mut Launch<'_>) -> Result<(), Fault> {
        let Some(frame) = self.frames.last_mut() else { return Ok(()) };
        match &mut frame.repeat {
            Some(repeat) if repeat.at + repeat.step < repeat.to => {
                repeat.at += repeat.step;
                frame.next = 0;
                let Repeat { slot, at, .. } = *repeat;
                self.set_all(0..self.items, slot, at);
                self.spend(launch, 0..self.items)
            }
            _ => {
                self.frames.pop();
                Ok(())
            }
        }
    }

    /// Makes the statement just begun the next one again.
    fn wait(&mut self) {
        if let Some(frame) = self.frames.last_mut() {
            frame.next -= 1;
        }
    }

    /// Executes a statement for some work-items, team by team.
    fn execute(&mut self, launch: &mut Launch<'_>, step: &'a Step, items: Range<u32>) -> Result<(), Fault> {
        let size = match step.team {
            Team::Item => 1,
            Team::Subgroup => self.code.subgroup,
            Team::Group => self.items,
        };
        let mut first = items.start;
        while first < items.end {
            let team = first..items.end.min(first.saturating_add(size));
            first = team.end;
            self.begin(launch, step, team.clone())?;
            match &step.op {
                Op::For { slot, from, to, step, body } => {
                    let (from, to) = self.bounds(launch, from, to, team.clone())?;
                    let mut at = from;
                    while at < to {
                        self.set_all(team.clone(), *slot, at);
                        self.spend(launch, team.clone())?;
                        self.block(launch, body, team.clone())?;
                        at += step;
                    }
                }
                Op::If { condition, then, otherwise } => {
                    let side = if self.condition(launch, condition, team.clone())? { then } else { otherwise };
                    self.block(launch, side, team)?;
                }
                Op::Block(body) => self.block(launch, body, team)?,
                _ => self.once(launch, step, team)?,
            }
        }
        Ok(())
    }

    fn block(&mut self, launch: &mut Launch<'_>, steps: &'a [Step], items: Range<u32>) -> Result<(), Fault> {
        steps.iter().try_for_each(|step| self.execute(launch, step, items.clone()))
    }

    /// Executes a statement that is neither control flow nor a channel operation, for the team it needs.
    fn once(&mut self, launch: &mut Launch<'_>, step: &'a Step, team: Range<u32>) -> Result<(), Fault> {
        let item = team.start;
        match &step.op {
            Op::Set { slot, value, round } => {
                let value = self.eval(launch, value, item)?;
                *self.var(item, *slot) = match round {
                    Some(scalar) => value.each(|lane| cast(*scalar, lane)),
                    None => value,
                };
                Ok(())
            }
            Op::Store { target, index, value, width, guard } => self.store(launch, *target, index, (value, *width), guard, item),
            Op::StoreTexel { image, at, value, guard } => self.store_texel(launch, *image, at, value, guard, item),
            Op::Atomic { op, target, index, value, compare, old } => {
                let before = self.atomic(launch, *target, index, (*op, value, compare.as_ref()), item)?;
                if let Some(slot) = old {
                    *self.var(item, *slot) = Value::from(before);
                }
                Ok(())
            }
            Op::Barrier { scope, local, global } => {
                let subgroup = (item / self.code.subgroup) as usize;
                for (phases, _) in [(&mut self.local, local), (&mut self.global, global)].into_iter().filter(|(_, ordered)| **ordered) {
                    match scope {
                        Scope::Subgroup => phases.subgroups[subgroup] += 1,
                        Scope::Group | Scope::Device => phases.group += 1,
                    }
                }
                Ok(())
            }
            Op::TileLoad { tile, source, index } => self.tile_load(launch, *tile, *source, index, team),
            Op::TileStore { target, index, tile } => self.tile_store(launch, *target, index, *tile, team),
            Op::TileFill { tile, value } => self.tile_fill(launch, *tile, value, team),
            Op::Mma { d, a, b } => self.mma(launch, [*d, *a, *b], team),
            // Control flow is the callers', and what meets as a group stands in `frames` only.
            Op::For { .. } | Op::If { .. } | Op::Block(_) | Op::Send { .. } | Op::Receive { .. } => Ok(()),
        }
    }

    /// Notes where execution is, and counts the statement.
    fn begin(&mut self, launch: &mut Launch<'_>, step: &'a Step, team: Range<u32>) -> Result<(), Fault> {
        self.at = &step.path;
        self.spend(launch, team)
    }

    fn spend(&self, launch: &mut Launch<'_>, team: Range<u32>) -> Result<(), Fault> {
        launch.steps.spent += u64::try_from(team.len()).unwrap_or(u64::MAX);
        match launch.steps.budget {
            Some(budget) if launch.steps.spent > budget => Err(Fault::OutOfSteps { at: self.site(self.item(team.start)), budget }),
            _ => Ok(()),
        }
    }

    /// A loop's bounds, on which the team agrees.
    fn bounds(&mut self, launch: &mut Launch<'_>, from: &Node, to: &Node, team: Range<u32>) -> Result<(i64, i64), Fault> {
        let (from, to) = (self.agree(launch, from, team.clone())?, self.agree(launch, to, team.clone())?);
        Ok((self.integer(&from)?, self.integer(&to)?))
    }

    fn condition(&mut self, launch: &mut Launch<'_>, condition: &Node, team: Range<u32>) -> Result<bool, Fault> {
        let value = self.agree(launch, condition, team)?;
        Ok(value.lanes() == [Const::Bool(true)])
    }

    /// A value that is the same for every member of the team.
    pub fn agree(&mut self, launch: &mut Launch<'_>, node: &Node, team: Range<u32>) -> Result<Value, Fault> {
        let value = self.eval(launch, node, team.start)?;
        for item in team.start + 1..team.end {
            let other = self.eval(launch, node, item)?;
            if !value.lanes().iter().zip(other.lanes()).all(|(&a, &b)| same(a, b)) {
                let (first, second) = (Box::new(self.who(self.item(team.start))), Box::new(self.who(self.item(item))));
                return Err(Fault::NonUniform { at: self.site(self.item(item)), first, second });
            }
        }
        Ok(value)
    }

    fn set_all(&mut self, team: Range<u32>, slot: usize, at: i64) {
        for item in team {
            *self.var(item, slot) = Value::from(Const::I32(at as i32));
        }
    }

    /// A variable of a work-item.
    pub fn var(&mut self, item: u32, slot: usize) -> &mut Value {
        &mut self.vars[item as usize * self.code.slots + slot]
    }

    /// A work-item as a party.
    pub fn item(&self, item: u32) -> Party {
        Party::Item { subgroup: item / self.code.subgroup, item }
    }

    /// The lanes of a work-item's sub-group as one party; a sub-group of one is that work-item.
    pub fn subgroup_of(&self, item: u32) -> Party {
        if self.code.subgroup == 1 { self.item(item) } else { Party::Subgroup(item / self.code.subgroup) }
    }

    /// The whole group as one party.
    pub fn all(&self) -> Party {
        if self.items > self.code.subgroup { Party::Group } else { self.subgroup_of(0) }
    }

    /// An access now, by a party, to memory of a place.
    pub fn access(&self, place: Place, party: Party) -> Access {
        let phases = if matches!(place, Place::Array(_)) { &self.local } else { &self.global };
        let subphase = match party {
            Party::Item { subgroup, .. } | Party::Subgroup(subgroup) => phases.subgroups[subgroup as usize],
            Party::Group => 0,
        };
        Access { group: self.number, party, phase: phases.group, subphase }
    }

    /// Which copy of a place's memory a work-item uses.
    pub fn instance(&self, place: Place, item: u32) -> usize {
        match place {
            Place::Param(_) => 0,
            Place::Array(array) => match self.code.program.arrays[array].space {
                Space::Private => item as usize,
                Space::Tile => (item / self.code.subgroup) as usize,
                _ => 0,
            },
        }
    }

    pub fn integer(&self, value: &Value) -> Result<i64, Fault> {
        match value.lanes() {
            [c] => c.as_int(),
            _ => None,
        }
        .ok_or_else(|| self.malformed("a coordinate, bound or count is no integer"))
    }

    /// The place in execution, for errors.
    pub fn site(&self, party: Party) -> Box<Site> {
        Box::new(Site { kernel: self.code.program.name.clone(), statement: self.at.to_owned(), who: self.who(party) })
    }

    /// A party of this group, for errors.
    pub fn who(&self, party: Party) -> Who {
        self.who_of(self.number, party)
    }

    /// A party of any group of the launch.
    pub fn who_of(&self, group: u32, party: Party) -> Who {
        let launch = &self.code.program.launch;
        let names = launch.groups.iter().map(|axis| axis.name.clone());
        let group = names.zip(coordinates(group, self.code.groups.iter().copied())).collect();
        let items = match party {
            Party::Item { item, .. } => {
                let names = launch.lanes.iter().map(|axis| axis.name.clone());
                Items::One(names.zip(coordinates(item, launch.lanes.iter().map(|axis| axis.extent.into()))).collect())
            }
            Party::Subgroup(number) => Items::Subgroup(number),
            Party::Group => Items::All,
        };
        Who { group, items }
    }

    pub fn malformed(&self, problem: &str) -> Fault {
        super::code::malformed(self.code.program, format!("{}: {problem}", self.at))
    }
}

/// Coordinates of a number along axes, the first running fastest.
fn coordinates(number: u32, extents: impl Iterator<Item = i64>) -> Vec<i64> {
    let mut rest = i64::from(number);
    extents
        .map(|extent| {
            let at = rest % extent;
            rest /= extent;
            at
        })
        .collect()
}
