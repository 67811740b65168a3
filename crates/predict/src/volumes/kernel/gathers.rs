//! Accesses whose addresses depend on data: which variables draw, and how many pieces of memory that is expected to touch.

use super::lanes;
use super::subject::{Field, Side, Subject, Touch, Var};
use crate::volumes::sets::drawn::{Drawing, ascending, distinct};
use smallvec::SmallVec;
use warpsight_ir::{Indirect, Pattern};

/// A gather or scatter, its variables told apart by what they do. Draws are counted in units: elements, or rows or planes of them.
#[derive(Clone, Debug)]
pub struct Gather<'a> {
    /// The access.
    pub touch: &'a Touch,
    /// How its coordinates are drawn.
    pub how: Indirect,
    /// Bytes from one unit to the next.
    pub unit: f64,
    /// Bytes of a lane.
    pub bytes: f64,
    /// Lanes of the launch.
    threads: f64,
    /// The part of them that conditions leave.
    active: f64,
    /// Of each variable, lanes, loops and groups.
    vars: SmallVec<[Moves; 8]>,
}

/// What a variable does to an access.
#[derive(Clone, Copy, Debug)]
struct Moves {
    var: Var,
    kind: Kind,
    /// Units that the centre of a band moves by.
    centre: f64,
    /// Whether each value of it draws anew.
    draws: bool,
    /// Whether it moves a coordinate slower than all that are drawn, or between them.
    rest: bool,
    /// Bytes that it moves a coordinate by that is faster than all that are drawn.
    within: f64,
    /// Bytes that it moves all coordinates by that are not drawn.
    offset: i64,
}

/// What kind of variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Lane,
    Loop,
    Group,
}

/// Whose draws.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Whose {
    /// Of one block.
    Block,
    /// Of as many blocks.
    Blocks(f64),
}

impl<'a> Gather<'a> {
    /// Of an access to a field; `None` where its address is known.
    pub fn of(subject: &Subject, field: &Field, touch: &'a Touch) -> Option<Self> {
        let how = touch.indirect.filter(Indirect::unknown)?;
        let geometry = &field.geometry;
        let drawn = |axis: usize| how.drawn >> axis & 1 == 1;
        let fastest = (0..3).find(|&axis| drawn(axis)).unwrap_or(0);
        let sizes = [1, geometry.row, geometry.row * geometry.plane.unwrap_or(1)];
        let moves = |(var, kind): (Var, Kind)| {
            let by = |axis: usize| i64::from(touch.coords[axis].coefficient(var.id));
            let centre = (0..3).filter(|&axis| drawn(axis)).map(|axis| by(axis) * sizes[axis] / sizes[fastest]).sum::<i64>() as f64;
            let others = |from: usize| (from..3).filter(|&axis| !drawn(axis)).map(|axis| by(axis) * sizes[axis]).sum::<i64>();
            let faster: i64 = (0..fastest).map(|axis| by(axis) * sizes[axis]).sum();
            let rest = others(fastest) != 0;
            let draws = centre != 0.0 || !rest && faster == 0;
            let offset = others(0) * geometry.element;
            Moves { var, kind, centre, draws, rest, within: (faster * geometry.element).abs() as f64, offset }
        };
        let of = |list: &[Var], kind| list.iter().map(|&var| (var, kind)).collect::<SmallVec<[(Var, Kind); 8]>>();
        let all = of(&subject.lanes, Kind::Lane).into_iter().chain(of(&touch.loops, Kind::Loop)).chain(of(&subject.groups, Kind::Group));
        let threads: f64 = subject.lanes.iter().chain(&subject.groups).map(|var| f64::from(var.count)).product();
        let unit = (sizes[fastest] * geometry.element) as f64;
        let trips: f64 = touch.loops.iter().map(|var| f64::from(var.count)).product();
        let active = if touch.guard.is_empty() { 1.0 } else { lanes::executing(subject, touch) / (threads * trips) };
        Some(Self { touch, how, unit, bytes: (touch.width * geometry.element) as f64, threads, active, vars: all.map(moves).collect() })
    }

    /// Pieces of so many bytes that are expected to be touched.
    pub fn pieces(&self, whose: Whose, piece: f64) -> f64 {
        let blocks = self.blocks();
        // Of several blocks, all along each axis as far as they go.
        let share = match whose {
            Whose::Block => 0.0,
            Whose::Blocks(n) => (n / blocks).min(1.0),
        };
        let count = |own: &Moves| match (own.kind, whose) {
            (Kind::Group, Whose::Block) => 1.0,
            (Kind::Group, Whose::Blocks(_)) => 1.0f64.max(f64::from(own.var.count) * share.powf(1.0 / self.axes())),
            _ => f64::from(own.var.count),
        };
        let product = |keep: &dyn Fn(&Moves) -> bool| self.vars.iter().filter(|own| keep(own)).map(count).product::<f64>();
        let rest = product(&|own| own.rest);
        let draws = product(&|own| own.draws && !own.rest) * self.active;
        let span = self.vars.iter().map(|own| own.centre.abs() * (count(own) - 1.0)).sum::<f64>();
        let within = self.vars.iter().map(|own| own.within * (count(own) - 1.0)).sum::<f64>() + self.bytes;
        // A draw touches a piece of several units, or several pieces of one unit.
        let (each, in_pieces) = if self.unit >= piece || within > self.unit {
            ((within.min(self.unit.max(self.bytes)) / piece).ceil().max(1.0), 1.0)
        } else {
            ((within / piece).ceil().max(1.0), self.unit / piece)
        };
        let units = |elements: u64| (elements as f64 * in_pieces).max(1.0);
        let pieces = match self.how.pattern {
            Pattern::Random => distinct(draws, 0.0, units(self.how.elements)),
            Pattern::Banded(width) => {
                distinct(draws, span * in_pieces, units(width).min(units(self.how.elements))).min(units(self.how.elements))
            }
            Pattern::Sorted => {
                let samples = self.vars.iter().filter(|own| own.kind == Kind::Loop && own.draws).map(count).product::<f64>();
                let gap = self.how.elements as f64 * in_pieces / self.sample();
                ascending(draws / samples, gap, samples).min(units(self.how.elements))
            }
        };
        rest * pieces * each
    }

    /// Pieces that a block may fall into, all along.
    fn universe(&self, piece: f64) -> f64 {
        let in_pieces = if self.unit >= piece { (self.bytes / piece).ceil().max(1.0) } else { self.unit / piece };
        let rest: f64 = self.vars.iter().filter(|own| own.rest).map(|own| f64::from(own.var.count)).product();
        match self.how.pattern {
            Pattern::Random => rest * self.how.elements as f64 * in_pieces,
            Pattern::Banded(width) => {
                let within = |own: &&Moves| own.kind != Kind::Group;
                let span: f64 = self.vars.iter().filter(within).map(|own| own.centre.abs() * f64::from(own.var.count - 1)).sum();
                (width as f64 + span).min(self.how.elements as f64) * in_pieces
            }
            Pattern::Sorted => self.pieces(Whose::Block, piece),
        }
    }

    /// All of a kernel on this side.
    pub fn all(subject: &Subject, side: Side) -> Vec<(&Field, Gather<'_>)> {
        let touches = subject.fields.iter().flat_map(|field| field.gathers.iter().map(move |touch| (field, touch)));
        touches.filter(|own| side.has(own.1.kind)).filter_map(|(field, touch)| Some((field, Gather::of(subject, field, touch)?))).collect()
    }

    /// What a block draws of pieces of so many bytes.
    pub fn drawing(&self, piece: f64) -> Drawing {
        Drawing { step: self.pieces(Whose::Block, piece), universe: self.universe(piece), bytes: piece }
    }

    /// Pieces that the warps of a block touch, each by itself, summed.
    pub fn of_warps(&self, warp: u32, piece: f64) -> f64 {
        let lanes: f64 = self.vars.iter().filter(|own| own.kind == Kind::Lane).map(|own| f64::from(own.var.count)).product();
        let trips: f64 = self.vars.iter().filter(|own| own.kind == Kind::Loop).map(|own| f64::from(own.var.count)).product();
        let warps = (lanes / f64::from(warp.max(1))).ceil();
        let draws = (lanes / warps).min(f64::from(warp));
        let near = match self.how.pattern {
            Pattern::Random => self.how.elements,
            Pattern::Banded(width) => width,
            Pattern::Sorted => 1,
        };
        trips * warps * distinct(draws, 0.0, near as f64 * self.unit / piece)
    }

    /// What it touches, in words.
    pub fn said(&self) -> String {
        let Indirect { pattern, elements, .. } = self.how;
        match pattern {
            Pattern::Random => format!("any of {elements} elements, drawn at random"),
            Pattern::Sorted => format!("of {elements} elements, ascending"),
            Pattern::Banded(width) => format!("of {elements} elements, within a band of {width}"),
        }
    }

    /// Blocks of the launch.
    pub fn blocks(&self) -> f64 {
        self.vars.iter().filter(|own| own.kind == Kind::Group).map(|own| f64::from(own.var.count)).product()
    }

    /// Axes of the grid that are no single block.
    fn axes(&self) -> f64 {
        self.vars.iter().filter(|own| own.kind == Kind::Group && own.var.count > 1).count().max(1) as f64
    }

    /// Draws of one ascending sample: of all threads that draw.
    fn sample(&self) -> f64 {
        let still = self.vars.iter().filter(|own| own.kind != Kind::Loop && !own.draws).map(|own| f64::from(own.var.count));
        (self.threads * self.active / still.product::<f64>()).max(1.0)
    }

    /// Bytes from somewhere to each of the first lanes of a block, where these draw by `random`, numbers of 0 to 1, and begin at this part of a
    /// page of elements.
    pub fn offsets(&self, lanes: usize, begin: f64, random: &mut dyn FnMut() -> f64, to: &mut SmallVec<[i64; 64]>) {
        to.clear();
        let own: SmallVec<[&Moves; 4]> = self.vars.iter().filter(|own| own.kind == Kind::Lane).collect();
        let mut drawn: SmallVec<[(SmallVec<[u32; 4]>, f64); 32]> = SmallVec::new();
        let elements = self.how.elements as f64;
        let mut at = match self.how.pattern {
            Pattern::Random => 0.0,
            // Anywhere among others.
            Pattern::Sorted | Pattern::Banded(_) => begin * 4096.0 + random() * 16.0,
        };
        for lane in 0..lanes as u32 {
            let mut left = lane;
            let (mut key, mut centre, mut offset) = (SmallVec::<[u32; 4]>::new(), 0.0, 0);
            for moves in &own {
                let value = left % moves.var.count;
                left /= moves.var.count;
                if moves.draws {
                    key.push(value);
                }
                centre += moves.centre * f64::from(value);
                offset += moves.offset * i64::from(value);
            }
            let known = drawn.iter().find(|(other, _)| *other == key).map(|own| own.1);
            let unit = known.unwrap_or_else(|| {
                let unit = match self.how.pattern {
                    Pattern::Random => (random() * elements).floor(),
                    Pattern::Banded(width) => (at + centre + random() * width as f64).floor(),
                    Pattern::Sorted => {
                        at -= (1.0 - random()).ln() * elements / self.sample();
                        at.floor()
                    }
                };
                drawn.push((key, unit));
                unit
            });
            // Vectors begin at multiples of themselves.
            let width = self.touch.width.max(1) as f64;
            let unit = if self.unit * width == self.bytes { (unit / width).floor() * width } else { unit };
            to.push((unit * self.unit) as i64 + offset);
        }
    }
}
