//! Statements that touch memory: stores, atomics, tiles, channels.

use super::arith::{self, same};
use super::code::{Limit, Node, Place};
use super::eval::{Coordinates, Use, along};
use super::fault::Fault;
use super::group::Group;
use super::memory::{Tensor, Trouble};
use super::races::{Party, Touch};
use super::value::Value;
use super::{Argument, Launch};
use crate::program::{AtomicOp, BinaryOp, Name, ParamKind};
use crate::types::Const;
use std::ops::Range;

impl Group<'_> {
    /// The memory of a place.
    pub fn memory<'t>(&'t mut self, launch: &'t mut Launch<'_>, place: Place) -> Result<&'t mut Tensor, Fault> {
        match place {
            Place::Array(array) => Ok(&mut self.arrays[array]),
            Place::Param(param) if matches!(launch.arguments[param], Argument::Buffer(_)) => match &mut launch.arguments[param] {
                Argument::Buffer(tensor) => Ok(tensor),
                _ => Err(self.malformed("no buffer")),
            },
            Place::Param(_) => Err(self.malformed("an element of what is no buffer")),
        }
    }

    pub fn name_of(&self, place: Place) -> Name {
        match place {
            Place::Param(param) => self.code.program.params[param].name.clone(),
            Place::Array(array) => self.code.program.arrays[array].name.clone(),
        }
    }

    fn by(&self, place: Place, item: u32, party: Party, touch: Touch) -> Use {
        Use { place, item, by: self.access(place, party), touch }
    }

    pub fn store(
        &mut self,
        launch: &mut Launch<'_>,
        target: Place,
        index: &[Node],
        (value, width): (&Node, usize),
        guard: &[Limit],
        item: u32,
    ) -> Result<(), Fault> {
        let mask = self.open(launch, guard, width, item)?;
        if mask == 0 {
            return Ok(());
        }
        let corner = self.coordinates(launch, index, item)?;
        let value = self.eval(launch, value, item)?;
        let how = self.by(target, item, self.item(item), Touch::Write);
        for (lane, &value) in value.lanes().iter().enumerate().filter(|(lane, _)| mask >> lane & 1 == 1) {
            self.write(launch, how, &along(&corner, lane), value)?;
        }
        Ok(())
    }

    pub fn store_texel(
        &mut self,
        launch: &mut Launch<'_>,
        param: usize,
        at: &[Node; 2],
        value: &Node,
        guard: &[Limit],
        item: u32,
    ) -> Result<(), Fault> {
        let mask = self.open(launch, guard, 4, item)?;
        if mask == 0 {
            return Ok(());
        }
        let texel = self.texel_at(launch, at, item)?;
        let value = self.eval(launch, value, item)?;
        let by = self.access(Place::Param(param), self.item(item));
        let Argument::Image(image) = &mut launch.arguments[param] else { return Err(self.malformed("a texel of no image")) };
        let size = image.size;
        image.write(texel, value.lanes(), mask, by).map_err(|trouble| {
            let name = self.name_of(Place::Param(param));
            match trouble {
                Trouble::Clash(clash) => self.race(clash, name, texel.to_vec(), by, Touch::Write),
                _ => Fault::WriteOutsideImage { at: self.site(by.party), image: name, texel, size },
            }
        })
    }

    /// Changes an element and gives its old value.
    pub fn atomic(
        &mut self,
        launch: &mut Launch<'_>,
        target: Place,
        index: &[Node],
        (op, value, compare): (AtomicOp, &Node, Option<&Node>),
        item: u32,
    ) -> Result<Const, Fault> {
        let at = self.coordinates(launch, index, item)?;
        let operand = self.scalar(launch, value, item)?;
        let compare = compare.map(|c| self.scalar(launch, c, item)).transpose()?;
        let how = self.by(target, item, self.item(item), Touch::Atomic);
        let old = self.read(launch, how, &at)?;
        let combine = |op| arith::binary(op, old, operand);
        let new = match op {
            AtomicOp::Add => combine(BinaryOp::Add),
            AtomicOp::Sub => combine(BinaryOp::Sub),
            AtomicOp::Min => combine(BinaryOp::Min),
            AtomicOp::Max => combine(BinaryOp::Max),
            AtomicOp::And => combine(BinaryOp::And),
            AtomicOp::Or => combine(BinaryOp::Or),
            AtomicOp::Xor => combine(BinaryOp::Xor),
            AtomicOp::Exchange => Ok(operand),
            AtomicOp::CompareExchange => Ok(if compare.is_some_and(|c| same(c, old)) { operand } else { old }),
        };
        let new = new.map_err(|_| self.malformed("an atomic on operands of the wrong type"))?;
        self.write(launch, how, &at, new)?;
        Ok(old)
    }

    fn scalar(&mut self, launch: &mut Launch<'_>, node: &Node, item: u32) -> Result<Const, Fault> {
        self.eval(launch, node, item)?.lane(0).ok_or_else(|| self.malformed("a value without lanes"))
    }

    pub fn tile_load(
        &mut self,
        launch: &mut Launch<'_>,
        tile: usize,
        source: Place,
        index: &[Node],
        team: Range<u32>,
    ) -> Result<(), Fault> {
        let party = self.subgroup_of(team.start);
        let from = self.by(source, team.start, party, Touch::Read);
        let into = self.by(Place::Array(tile), team.start, party, Touch::Write);
        let corner = self.agreed(launch, index, team)?;
        for [row, column] in self.elements(tile) {
            let value = self.read(launch, from, &below(&corner, row, column))?;
            self.write(launch, into, &[row, column], value)?;
        }
        Ok(())
    }

    pub fn tile_store(
        &mut self,
        launch: &mut Launch<'_>,
        target: Place,
        index: &[Node],
        tile: usize,
        team: Range<u32>,
    ) -> Result<(), Fault> {
        let party = self.subgroup_of(team.start);
        let from = self.by(Place::Array(tile), team.start, party, Touch::Read);
        let into = self.by(target, team.start, party, Touch::Write);
        let corner = self.agreed(launch, index, team)?;
        for [row, column] in self.elements(tile) {
            let value = self.read(launch, from, &[row, column])?;
            self.write(launch, into, &below(&corner, row, column), value)?;
        }
        Ok(())
    }

    pub fn tile_fill(&mut self, launch: &mut Launch<'_>, tile: usize, value: &Node, team: Range<u32>) -> Result<(), Fault> {
        let into = self.by(Place::Array(tile), team.start, self.subgroup_of(team.start), Touch::Write);
        let value = self.agree(launch, value, team)?.lane(0).ok_or_else(|| self.malformed("a value without lanes"))?;
        self.elements(tile).into_iter().try_for_each(|at| self.write(launch, into, &at, value))
    }

    /// `d += a · b` in `d`'s type, k ascending; each product and each sum is rounded.
    pub fn mma(&mut self, launch: &mut Launch<'_>, [d, a, b]: [usize; 3], team: Range<u32>) -> Result<(), Fault> {
        let party = self.subgroup_of(team.start);
        let [read_d, read_a, read_b] = [d, a, b].map(|tile| self.by(Place::Array(tile), team.start, party, Touch::Read));
        let write_d = Use { touch: Touch::Write, ..read_d };
        let wide = self.arrays[d].element.widened();
        for [row, column] in self.elements(d) {
            let mut sum = self.read(launch, read_d, &[row, column])?;
            for k in 0..self.arrays[a].dims[1] {
                let left = arith::cast(wide, self.read(launch, read_a, &[row, k])?);
                let right = arith::cast(wide, self.read(launch, read_b, &[k, column])?);
                let added = arith::binary(BinaryOp::Mul, left, right).and_then(|p| arith::binary(BinaryOp::Add, sum, p));
                sum = added.map_err(|_| self.malformed("tiles of the wrong types"))?;
            }
            self.write(launch, write_d, &[row, column], sum)?;
        }
        Ok(())
    }

    /// Every element of a tile: row and column.
    fn elements(&self, tile: usize) -> Vec<[i64; 2]> {
        let dims = &self.arrays[tile].dims;
        (0..dims[0]).flat_map(|row| (0..dims[1]).map(move |column| [row, column])).collect()
    }

    /// Coordinates on which the team agrees.
    fn agreed(&mut self, launch: &mut Launch<'_>, index: &[Node], team: Range<u32>) -> Result<Coordinates, Fault> {
        let mut corner = Coordinates::new();
        for node in index {
            let value: Value = self.agree(launch, node, team.clone())?;
            corner.push(self.integer(&value)?);
        }
        Ok(corner)
    }

    /// Puts a token in; false where the channel is full.
    pub fn send(&mut self, launch: &mut Launch<'_>, param: usize, from: usize) -> Result<bool, Fault> {
        let channel = self.channel(launch, param)?;
        if !launch.channels.has_room(channel) {
            return Ok(false);
        }
        let how = self.by(Place::Array(from), 0, self.all(), Touch::Read);
        for element in 0..self.arrays[from].len() {
            let at = self.arrays[from].coordinates(element);
            self.read(launch, how, &at)?;
        }
        launch.channels.send(channel, &self.arrays[from].bytes);
        Ok(true)
    }

    /// Takes a token out; false where the channel is empty.
    pub fn receive(&mut self, launch: &mut Launch<'_>, param: usize, into: usize) -> Result<bool, Fault> {
        let channel = self.channel(launch, param)?;
        let Some(token) = launch.channels.receive(channel, launch.stage) else { return Ok(false) };
        let how = self.by(Place::Array(into), 0, self.all(), Touch::Write);
        let array = &self.arrays[into];
        let ParamKind::Channel { element, .. } = &self.code.program.params[param].kind else {
            return Err(self.malformed("a token of no channel"));
        };
        let token = Tensor::argument(*element, array.dims.clone(), token, false);
        for number in 0..array.len() {
            let (at, value) = (token.coordinates(number), token.get(number));
            self.write(launch, how, &at, value)?;
        }
        Ok(true)
    }

    fn channel(&self, launch: &Launch<'_>, param: usize) -> Result<usize, Fault> {
        launch.channels.number(&self.code.program.params[param]).ok_or_else(|| self.malformed("no such channel"))
    }
}

/// Coordinates so many rows and columns from a corner, along the last two dimensions.
fn below(corner: &Coordinates, row: i64, column: i64) -> Coordinates {
    let mut at = along(corner, column as usize);
    if let Some(second) = at.len().checked_sub(2) {
        at[second] += row;
    }
    at
}
