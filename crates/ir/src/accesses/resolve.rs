//! Coordinates as written in terms of blocks, lanes and loops. A quotient by 32 of 256 lanes makes two variables of them, of 32 and of 8 values;
//! what stays bent (`(tx + 1) % n`, `min(tx, n - 1)`) is taken piece by piece, each where it holds.

use super::AffineBound;
use super::conditions::FARTHEST;
use super::reader::Reader;
use super::symbol::{Linear, Symbol};
use super::words::block_axis;
use super::wrong::TextError;
use crate::affine::text::Bend;
use crate::affine::{Affine, VarId};
use smallvec::SmallVec;
use std::ops::Range;

/// Pieces that one quotient may have, and one access.
const PIECES: i64 = 16;
pub(super) const PIECES_OF_ACCESS: usize = 64;

/// Blocks along each axis in launch order, lanes along each axis, and loops that are not written out, each as one variable or several: its
/// digits, lowest first.
pub(super) struct Variables {
    /// Values of the digits of each.
    digits: Vec<SmallVec<[i64; 2]>>,
}

/// A variable has to be two for a quotient to be affine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    var: VarId,
    /// Values of the lower one.
    low: i64,
}

/// Why an access cannot be placed.
pub(super) enum Unplaced {
    /// The text is wrong.
    Wrong(TextError),
    /// Not with these variables.
    Cut(Cut),
}

impl From<TextError> for Unplaced {
    fn from(error: TextError) -> Self {
        Self::Wrong(error)
    }
}

impl Variables {
    /// One variable for each count.
    pub(super) fn new(counts: impl Iterator<Item = i64>) -> Self {
        Self { digits: counts.map(|count| SmallVec::from_slice(&[count])).collect() }
    }

    /// Makes two variables of one.
    pub(super) fn cut(&mut self, Cut { var, low }: Cut) {
        let mut at = usize::from(var.0);
        for digits in &mut self.digits {
            if let Some(digit) = digits.get_mut(at) {
                *digit /= low;
                return digits.insert(at, low);
            }
            at -= digits.len();
        }
    }

    /// The digits of one: each with what one step of it counts and how many values it takes.
    pub(super) fn digits(&self, of: usize) -> impl DoubleEndedIterator<Item = (VarId, i64, i64)> + ExactSizeIterator {
        let first: usize = self.digits[..of].iter().map(SmallVec::len).sum();
        let mut step = 1;
        let digits: SmallVec<[_; 2]> = (first..)
            .zip(&self.digits[of])
            .map(|(at, &count)| {
                let here = (VarId(at as u16), step, count);
                step *= count;
                here
            })
            .collect();
        digits.into_iter()
    }

    /// Values each variable takes.
    pub(super) fn counts(&self) -> impl Iterator<Item = i64> {
        self.digits.iter().flatten().copied()
    }

    /// Which of blocks, lanes and loops a variable is of.
    fn of(&self, var: VarId) -> usize {
        let ends = self.digits.iter().scan(0, |end, digits| {
            *end += digits.len();
            Some(*end)
        });
        ends.take_while(|&end| end <= usize::from(var.0)).count()
    }
}

/// Which piece is taken of each form that bends, and what holds there.
#[derive(Default)]
pub(super) struct Pieces {
    /// Those met so far.
    met: Vec<Met>,
    /// Which pieces the first of them are to be.
    given: Vec<i64>,
}

/// A form that bends, and the piece of it that is taken.
struct Met {
    form: Affine,
    /// What it is divided by; of a minimum, whose form is the difference of both, `None`.
    by: Option<i64>,
    taken: i64,
    /// The last piece.
    last: i64,
}

impl Pieces {
    /// The piece of a form that is taken: the same one wherever the form is met.
    fn of(&mut self, form: Affine, by: Option<i64>, first: i64, last: i64) -> i64 {
        if let Some(known) = self.met.iter().find(|known| known.by == by && known.form == form) {
            return known.taken;
        }
        let taken = self.given.get(self.met.len()).copied().unwrap_or(first);
        self.met.push(Met { form, by, taken, last });
        taken
    }

    /// What holds where these pieces are taken.
    pub(super) fn bounds(&self) -> impl Iterator<Item = AffineBound> {
        self.met.iter().filter_map(|Met { form, by, taken, .. }| {
            let (value, extent) = match (by, taken) {
                (Some(by), taken) => (form.clone().offset(-taken * by)?, *by),
                (None, 0) => (form.clone(), AffineBound::UNBOUNDED),
                (None, _) => (form.times(-1)?.offset(-1)?, AffineBound::UNBOUNDED),
            };
            Some(AffineBound { value, extent, per_lane: false })
        })
    }

    /// The pieces to take next, after all forms have been met.
    pub(super) fn next(mut self) -> Option<Self> {
        while self.met.last().is_some_and(|own| own.taken == own.last) {
            self.met.pop();
        }
        self.met.last_mut()?.taken += 1;
        Some(Self { given: self.met.iter().map(|own| own.taken).collect(), met: vec![] })
    }
}

/// Why a form cannot be resolved.
enum Misfit {
    /// It exceeds its numbers' bits.
    Far,
    /// There is no such thread or block: the axis, and how many axes there are.
    Axis(Symbol, usize),
    /// Not with these variables.
    Cut(Cut),
    /// It has too many pieces, or ones that are not counted.
    Bent(&'static str),
}

/// Resolves forms.
pub(super) struct Resolver<'a> {
    reader: &'a Reader<'a>,
    /// Axes of the grid in launch order.
    order: &'a [usize],
    variables: &'a Variables,
    /// Blocks along each axis, lanes along each, and loops: their variables with what one step of each counts.
    steps: Vec<SmallVec<[(VarId, i64); 2]>>,
    /// Values each variable takes.
    counts: SmallVec<[i64; 8]>,
}

impl<'a> Resolver<'a> {
    pub(super) fn new(reader: &'a Reader<'a>, order: &'a [usize], variables: &'a Variables) -> Self {
        let position = |of: usize| if of < order.len() { order.iter().position(|&axis| axis == of).unwrap_or(of) } else { of };
        let steps = |of: usize| variables.digits(position(of)).map(|(var, step, _)| (var, step)).collect();
        let steps = (0..variables.digits.len()).map(steps).collect();
        Self { reader, order, variables, steps, counts: variables.counts().collect() }
    }

    /// A form that stands at `span` in the variables of the nest, for one point of a thread. `point`: its number along each axis, then the trip of
    /// each loop.
    pub(super) fn affine(&self, form: &Linear, point: &[i64], pieces: &mut Pieces, span: &Range<usize>) -> Result<Affine, Unplaced> {
        self.resolved(form, point, pieces).map_err(|misfit| {
            let (what, label, help) = match misfit {
                Misfit::Cut(cut) => return Unplaced::Cut(cut),
                Misfit::Far => ("the address exceeds 64 bits, or a factor of it 32 bits".to_owned(), None, None),
                Misfit::Axis(symbol, axes) => {
                    let (of, axis) = match symbol {
                        Symbol::Block(axis) | Symbol::Point(axis) if self.reader.block.len() != self.order.len() => ("grid", axis),
                        Symbol::Point(axis) | Symbol::Lane(axis) | Symbol::Block(axis) | Symbol::Loop(axis) => ("block", axis),
                        Symbol::Bent(_) => ("block", 0),
                    };
                    (format!("the {of} has {axes} axes, this mentions axis {}", &block_axis(axis.into())[1..]), None, None)
                }
                Misfit::Bent(label) => (
                    "address is not affine in the thread coordinates".to_owned(),
                    Some(label.to_owned()),
                    Some("give a representative value instead, as in index = { proxy = \"tx\", spread = 64 }".to_owned()),
                ),
            };
            TextError { what, label, help, at: (!span.is_empty()).then(|| span.clone()) }.into()
        })
    }

    fn resolved(&self, form: &Linear, point: &[i64], pieces: &mut Pieces) -> Result<Affine, Misfit> {
        let (reader, axes) = (self.reader, self.order.len());
        let mut sum = Affine::constant(form.constant);
        let add = |sum: &mut Affine, of: usize, factor: Option<i64>| {
            let factor = factor.ok_or(Misfit::Far)?;
            self.steps[of].iter().try_for_each(|&(var, step)| sum.add_term(var, factor.checked_mul(step)?)).ok_or(Misfit::Far)
        };
        let constant = |sum: &mut Affine, factor: i64, value: i64| {
            sum.constant = factor.checked_mul(value).and_then(|more| sum.constant.checked_add(more)).ok_or(Misfit::Far)?;
            Ok(())
        };
        for (symbol, factor) in form.terms() {
            let factor = i64::from(*factor);
            match symbol {
                Symbol::Point(axis) | Symbol::Block(axis) if usize::from(*axis) >= axes => return Err(Misfit::Axis(symbol.clone(), axes)),
                Symbol::Lane(axis) if usize::from(*axis) >= reader.block.len() => {
                    return Err(Misfit::Axis(symbol.clone(), reader.block.len()));
                }
                Symbol::Point(axis) => {
                    let axis = usize::from(*axis);
                    let (block, fold) = (reader.lanes(axis), reader.fold[axis]);
                    let (per_lane, per_point) = if reader.strided { (1, block) } else { (fold, 1) };
                    add(&mut sum, axis, factor.checked_mul(block * fold))?;
                    if axis < reader.block.len() {
                        add(&mut sum, axes + axis, factor.checked_mul(per_lane))?;
                    }
                    constant(&mut sum, factor, reader.origin[axis] + per_point * point[axis])?;
                }
                Symbol::Lane(axis) => add(&mut sum, axes + usize::from(*axis), Some(factor))?,
                Symbol::Block(axis) => add(&mut sum, usize::from(*axis), Some(factor))?,
                Symbol::Loop(n) => match &reader.loops[usize::from(*n)] {
                    own if own.order.unrolled() => constant(&mut sum, factor, point[axes + usize::from(*n)])?,
                    own => add(&mut sum, axes + reader.block.len() + own.number, Some(factor))?,
                },
                Symbol::Bent(bend) => sum.add(&self.straight(bend, point, pieces)?, factor).ok_or(Misfit::Far)?,
            }
        }
        Ok(sum)
    }

    /// What is affine in pieces, as the piece of it that is taken.
    fn straight(&self, bend: &Bend<Symbol>, point: &[i64], pieces: &mut Pieces) -> Result<Affine, Misfit> {
        match bend {
            Bend::Quotient(form, by) => {
                let (quotient, rest) = self.resolved(form, point, pieces)?.divide(*by);
                let (least, most) = self.ends(&rest)?;
                if least >= 0 && most < *by {
                    return Ok(quotient);
                }
                if let Some(cut) = self.cut(&rest, *by) {
                    return Err(Misfit::Cut(cut));
                }
                self.counted(&rest)?;
                let (first, last) = (least.div_euclid(*by), most.div_euclid(*by));
                if last - first >= PIECES {
                    return Err(Misfit::Bent("a quotient or remainder of a coordinate, neither of which divides the other"));
                }
                quotient.offset(pieces.of(rest, Some(*by), first, last)).ok_or(Misfit::Far)
            }
            Bend::Least(a, b) => {
                let [a, b] = [self.resolved(a, point, pieces)?, self.resolved(b, point, pieces)?];
                let over = b.plus(&a, -1).ok_or(Misfit::Far)?;
                let (least, most) = self.ends(&over)?;
                if least >= 0 || most <= 0 {
                    return Ok(if least >= 0 { a } else { b });
                }
                self.counted(&over)?;
                Ok(if pieces.of(over, None, 0, 1) == 0 { a } else { b })
            }
        }
    }

    /// The variable of a remainder that has to be two.
    fn cut(&self, rest: &Affine, by: i64) -> Option<Cut> {
        rest.terms().iter().find_map(|&(var, step)| {
            let (step, count) = (i64::from(step), self.count(var));
            let low = if step > 0 && by % step == 0 { by / step } else { return None };
            (low < count && count % low == 0).then_some(Cut { var, low })
        })
    }

    /// Whether what holds in one piece of a form is counted: it judges blocks, and lanes along one axis.
    fn counted(&self, form: &Affine) -> Result<(), Misfit> {
        let (axes, lanes) = (self.order.len(), self.reader.block.len());
        let judged = form.terms().iter().filter(|term| self.count(term.0) > 1).map(|term| self.variables.of(term.0));
        match judged.clone().any(|of| of >= axes + lanes) {
            true => Err(Misfit::Bent("what bends along a loop")),
            false if judged.filter(|&of| of >= axes).count() > 1 => Err(Misfit::Bent("what bends along several lanes")),
            false => Ok(()),
        }
    }

    /// The least and the largest value of a form.
    fn ends(&self, form: &Affine) -> Result<(i64, i64), Misfit> {
        if self.farthest(form) > FARTHEST {
            return Err(Misfit::Far);
        }
        Ok(form.range(|var| (0, self.count(var).max(1) - 1)).ends())
    }

    /// Whether there are threads for which a condition does not hold.
    pub(super) fn may_fail(&self, bound: &AffineBound) -> bool {
        let (least, most) = bound.value.range(|var| (0, self.count(var).max(1) - 1)).ends();
        least < 0 || most >= bound.extent
    }

    fn count(&self, var: VarId) -> i64 {
        self.counts[usize::from(var.0)]
    }

    /// How far from 0 a form reaches at most; beyond 64 bits the largest number.
    pub(super) fn farthest(&self, form: &Affine) -> u64 {
        let terms = form.terms().iter().map(|&(var, c)| u64::from(c.unsigned_abs()).saturating_mul(self.count(var).unsigned_abs()));
        terms.fold(form.constant.unsigned_abs(), u64::saturating_add)
    }
}
