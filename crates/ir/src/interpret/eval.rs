//! Expressions: what a work-item computes and loads.

use super::arith::{self, Undefined};
use super::code::{Limit, Node, Place};
use super::fault::{Fault, RaceKind};
use super::group::Group;
use super::memory::Trouble;
use super::races::{Access, Clash, Touch};
use super::value::Value;
use super::{Argument, Launch};
use crate::program::Name;
use crate::types::Const;
use smallvec::SmallVec;

/// A coordinate vector, slowest dimension first.
pub(super) type Coordinates = SmallVec<[i64; 4]>;

/// How a memory is accessed: which, by whom, to what end.
#[derive(Clone, Copy)]
pub(super) struct Use {
    pub place: Place,
    /// Whose copy.
    pub item: u32,
    pub by: Access,
    pub touch: Touch,
}

impl Group<'_> {
    /// The value of an expression for a work-item.
    pub fn eval(&mut self, launch: &mut Launch<'_>, node: &Node, item: u32) -> Result<Value, Fault> {
        Ok(match node {
            Node::Const(c) => Value::from(*c),
            Node::Slot(slot) => self.var(item, *slot).clone(),
            Node::Load { source, index, width, guard } => self.load(launch, *source, index, *width, guard, item)?,
            Node::Texel { image, at, guard } => self.texel(launch, *image, at, guard, item)?,
            Node::Unary(op, a) => {
                let a = self.eval(launch, a, item)?;
                a.try_each(|a| arith::unary(*op, a)).map_err(|e| self.undefined(e, item))?
            }
            Node::Binary(op, operands) => {
                let [a, b] = self.eval_all(launch, operands, item)?;
                a.zip(&b, |a, b| arith::binary(*op, a, b)).map_err(|e| self.undefined(e, item))?
            }
            Node::Fma(operands) => {
                let [a, b, c] = self.eval_all(launch, operands, item)?;
                a.zip3(&b, &c, arith::fma).map_err(|e| self.undefined(e, item))?
            }
            Node::Select(operands) => {
                let [condition, a, b] = self.eval_all(launch, operands, item)?;
                let chosen = condition.zip3(&a, &b, |c, a, b| Ok::<_, Undefined>(if c == Const::Bool(true) { a } else { b }));
                chosen.map_err(|e| self.undefined(e, item))?
            }
            Node::Cast(to, a) => self.eval(launch, a, item)?.each(|lane| arith::cast(*to, lane)),
            Node::Splat(a, width) => {
                let value = self.eval(launch, a, item)?;
                Value::splat(self.lane(&value, 0, item)?, *width)
            }
            Node::Concat(parts) => {
                let mut lanes = SmallVec::<[Const; 16]>::new();
                for part in parts {
                    lanes.extend_from_slice(self.eval(launch, part, item)?.lanes());
                }
                lanes.into_iter().collect()
            }
            Node::Slice { vector, start, width } => {
                self.eval(launch, vector, item)?.lanes().iter().copied().skip(*start).take(*width).collect()
            }
            Node::Lane(operands) => {
                let [vector, lane] = self.eval_all(launch, operands, item)?;
                Value::from(self.lane(&vector, self.integer(&lane)?, item)?)
            }
        })
    }

    fn eval_all<const N: usize>(&mut self, launch: &mut Launch<'_>, nodes: &[Node; N], item: u32) -> Result<[Value; N], Fault> {
        let mut values: [Value; N] = std::array::from_fn(|_| Value::default());
        for (value, node) in values.iter_mut().zip(nodes) {
            *value = self.eval(launch, node, item)?;
        }
        Ok(values)
    }

    fn lane(&self, vector: &Value, lane: i64, item: u32) -> Result<Const, Fault> {
        let found = usize::try_from(lane).ok().and_then(|lane| vector.lane(lane));
        found.ok_or_else(|| Fault::LaneOutOfRange { at: self.site(self.item(item)), lane, of: vector.lanes().len() })
    }

    fn load(
        &mut self,
        launch: &mut Launch<'_>,
        source: Place,
        index: &[Node],
        width: usize,
        guard: &[Limit],
        item: u32,
    ) -> Result<Value, Fault> {
        let mask = self.open(launch, guard, width, item)?;
        let zero = arith::zero(self.memory(launch, source)?.element);
        if mask == 0 {
            return Ok(Value::splat(zero, width));
        }
        let corner = self.coordinates(launch, index, item)?;
        let how = Use { place: source, item, by: self.access(source, self.item(item)), touch: Touch::Read };
        let lane = |lane: usize| if mask >> lane & 1 == 1 { self.read(launch, how, &along(&corner, lane)) } else { Ok(zero) };
        if width == 1 {
            let mut lane = lane;
            return lane(0).map(Value::from);
        }
        (0..width).map(lane).collect()
    }

    fn texel(&mut self, launch: &mut Launch<'_>, image: usize, at: &[Node; 2], guard: &[Limit], item: u32) -> Result<Value, Fault> {
        let mask = self.open(launch, guard, 4, item)?;
        let texel = if mask == 0 { [0; 2] } else { self.texel_at(launch, at, item)? };
        let Argument::Image(from) = &launch.arguments[image] else { return Err(self.malformed("a texel of no image")) };
        let zero = arith::zero(from.format.scalar());
        let read = from.read(texel).ok_or_else(|| Fault::ReadOutsideImage {
            at: self.site(self.item(item)),
            image: self.name_of(Place::Param(image)),
            texel,
            size: from.size,
        })?;
        Ok(read.iter().enumerate().map(|(lane, &c)| if mask >> lane & 1 == 1 { c } else { zero }).collect())
    }

    /// Column and row.
    pub fn texel_at(&mut self, launch: &mut Launch<'_>, at: &[Node; 2], item: u32) -> Result<[i64; 2], Fault> {
        let [x, y] = self.eval_all(launch, at, item)?;
        Ok([self.integer(&x)?, self.integer(&y)?])
    }

    /// Which lanes of an access its guard leaves, as bits. With none left, no coordinate and no value is computed.
    pub fn open(&mut self, launch: &mut Launch<'_>, guard: &[Limit], width: usize, item: u32) -> Result<u16, Fault> {
        let mut mask = (!0_u16) >> (16 - width.clamp(1, 16));
        for limit in guard {
            let (value, extent) = (self.eval(launch, &limit.value, item)?, self.eval(launch, &limit.extent, item)?);
            let (value, extent) = (self.integer(&value)?, self.integer(&extent)?);
            for lane in 0..width {
                let judged = if limit.per_lane { value + lane as i64 } else { value };
                if judged < 0 || judged >= extent {
                    mask &= !(1 << lane);
                }
            }
        }
        Ok(mask)
    }

    pub fn coordinates(&mut self, launch: &mut Launch<'_>, index: &[Node], item: u32) -> Result<Coordinates, Fault> {
        let mut coordinates = Coordinates::new();
        for node in index {
            let value = self.eval(launch, node, item)?;
            coordinates.push(self.integer(&value)?);
        }
        Ok(coordinates)
    }

    /// Reads one element.
    pub fn read(&mut self, launch: &mut Launch<'_>, how: Use, at: &[i64]) -> Result<Const, Fault> {
        let instance = self.instance(how.place, how.item);
        let memory = self.memory(launch, how.place)?;
        let read = memory.locate(at).ok_or(Trouble::Outside).and_then(|element| memory.read(instance, element, how.touch, how.by));
        read.map_err(|trouble| self.fault(launch, trouble, how, at))
    }

    /// Writes one element.
    pub fn write(&mut self, launch: &mut Launch<'_>, how: Use, at: &[i64], value: Const) -> Result<(), Fault> {
        let instance = self.instance(how.place, how.item);
        let memory = self.memory(launch, how.place)?;
        let written = memory.locate(at).ok_or(Trouble::Outside);
        let written = written.and_then(|element| memory.write(instance, element, value, how.touch, how.by));
        written.map_err(|trouble| self.fault(launch, trouble, how, at))
    }

    fn undefined(&self, error: Undefined, item: u32) -> Fault {
        match error {
            Undefined::DivisionByZero => Fault::DivisionByZero { at: self.site(self.item(item)) },
            Undefined::Types => self.malformed("operands of the wrong type"),
        }
    }

    /// Names an access that cannot be.
    fn fault(&mut self, launch: &mut Launch<'_>, trouble: Trouble, how: Use, coordinates: &[i64]) -> Fault {
        let (name, coordinates) = (self.name_of(how.place), coordinates.to_vec());
        let at = self.site(how.by.party);
        match trouble {
            Trouble::Outside => match self.memory(launch, how.place) {
                Ok(memory) => Fault::OutOfBounds { at, tensor: name, coordinates, extents: memory.dims.clone() },
                Err(fault) => fault,
            },
            Trouble::Undefined => Fault::Uninitialised { at, array: name, element: coordinates },
            Trouble::Clash(clash) => self.race(clash, name, coordinates, how.by, how.touch),
        }
    }

    /// Names a race.
    pub fn race(&self, clash: Clash, tensor: Name, element: Vec<i64>, by: Access, touch: Touch) -> Fault {
        let kind = match (clash.earlier_touch, touch) {
            (Touch::Read, _) => RaceKind::ReadWrite,
            (_, Touch::Read) => RaceKind::WriteRead,
            _ => RaceKind::WriteWrite,
        };
        let first = Box::new(self.who_of(clash.earlier.group, clash.earlier.party));
        Fault::Race { at: self.site(by.party), tensor, element, first, second: Box::new(self.who(by.party)), kind }
    }
}

/// The coordinates so many elements further along the last dimension.
pub(super) fn along(corner: &Coordinates, lanes: usize) -> Coordinates {
    let mut moved = corner.clone();
    if let Some(last) = moved.last_mut() {
        *last += lanes as i64;
    }
    moved
}
