//! The lanes of a warp's access as the distinct sectors that they touch.

use super::form::Form;
use super::memory::Piece;
use super::script::Script;
use super::touch::{Apart, Place, Touch};
use smallvec::SmallVec;

/// A request, made again and again in the same memory.
pub struct Request {
    /// Sectors, ascending, each once.
    pub pieces: Vec<Piece>,
    /// Bits of an address within a sector.
    shift: u32,
    ascending: bool,
    /// Bytes after each other that are not among the pieces yet: from, until.
    run: (u64, u64),
}

/// Which lanes of a warp touch which elements of their vectors.
struct Active<'a> {
    /// Conditions that some lanes meet and some do not.
    open: SmallVec<[Open<'a>; 4]>,
    width: i64,
}

/// A condition of a warp: what its lanes have in common, what each adds, the limit, whether elements are judged by themselves.
type Open<'a> = (i64, &'a [i64], i64, bool);

impl<'a> Active<'a> {
    /// `None` where no lane takes part.
    fn of(script: &'a Script, touch: &Touch, values: &[i64], warp: usize) -> Option<Self> {
        let width = i64::from(touch.width);
        let mut open = SmallVec::new();
        for own in &touch.conditions {
            let base = own.form.base(values);
            let (least, most) = script.shapes[own.form.shape as usize].spans[warp];
            let last = if own.per_element { width - 1 } else { 0 };
            if base + most + last < 0 || base + least >= own.extent {
                return None;
            }
            if base + least < 0 || base + most + last >= own.extent {
                open.push((base, script.lanes_of(&own.form, warp), own.extent, own.per_element));
            }
        }
        Some(Self { open, width })
    }

    /// The elements of a lane's vector, from and until.
    fn elements(&self, lane: usize) -> (i64, i64) {
        self.open.iter().fold((0, self.width), |(from, until), &(base, shape, extent, per_element)| {
            let value = base + shape[lane];
            match per_element {
                true => (from.max(-value), until.min(extent - value)),
                false if (0..extent).contains(&value) => (from, until),
                false => (0, 0),
            }
        })
    }
}

impl Request {
    /// Of sectors of so many bytes, a power of two.
    pub fn new(sector: u64) -> Self {
        Self { pieces: Vec::new(), shift: sector.trailing_zeros(), ascending: true, run: (0, 0) }
    }

    /// Makes it that of a warp of a group. Returns how many lanes take part.
    pub fn make(&mut self, script: &Script, touch: &Touch, values: &[i64], warp: usize) -> u64 {
        self.pieces.clear();
        (self.ascending, self.run) = (true, (0, 0));
        let Some(active) = Active::of(script, touch, values, warp) else { return 0 };
        let lanes = match &touch.place {
            Place::Linear(form) => {
                let (base, shape) = (form.base(values), script.lanes_of(form, warp));
                self.lanes(touch, &active, shape.len(), |lane| base + shape[lane])
            }
            Place::Apart(apart) => {
                let of = |form: &Form| (form.base(values), script.lanes_of(form, warp));
                let coords: SmallVec<[_; 4]> = apart.coords.iter().map(|own| of(&own.0)).collect();
                let dice = apart.draw.as_ref().map(|own| (own, of(&own.key), of(&own.rank)));
                let lanes = script.lanes_of(&apart.coords[0].0, warp).len();
                self.lanes(touch, &active, lanes, |lane| {
                    let of = |(base, shape): (i64, &[i64])| base.wrapping_add(shape[lane]);
                    let mut coords: SmallVec<[i64; 4]> = coords.iter().map(|&own| of(own)).collect();
                    if let Some((draw, key, rank)) = dice {
                        draw.put_into(&mut coords, |at| apart.coords[at].1, of(key), of(rank));
                    }
                    apart.address(&coords)
                })
            }
        };
        self.end_run();
        if !self.ascending {
            self.pieces.sort_unstable_by_key(|piece| piece.0);
            self.pieces.dedup_by(|next, kept| {
                let same = next.0 == kept.0;
                kept.1 |= if same { next.1 } else { 0 };
                same
            });
        }
        lanes
    }

    /// What these lanes touch, each at its address. Returns how many take part.
    fn lanes(&mut self, touch: &Touch, active: &Active, lanes: usize, address: impl Fn(usize) -> i64) -> u64 {
        let (element, step) = touch.element;
        if active.open.is_empty() && step == element {
            let bytes = (active.width * element) as u64;
            (0..lanes).for_each(|lane| self.push(address(lane) as u64, bytes));
            return lanes as u64;
        }
        let mut part = 0;
        for lane in 0..lanes {
            let (from, until) = active.elements(lane);
            if from < until {
                part += 1;
                let first = address(lane);
                (from..until).for_each(|at| self.push((first + at * step) as u64, element as u64));
            }
        }
        part
    }

    /// Bytes from an address on.
    fn push(&mut self, address: u64, bytes: u64) {
        if address == self.run.1 {
            self.run.1 += bytes;
        } else if address != self.run.0 || address + bytes != self.run.1 {
            self.end_run();
            self.run = (address, address + bytes);
        }
    }

    /// Makes pieces of what lies after each other.
    fn end_run(&mut self) {
        let sector = 1_u64 << self.shift;
        let (mut at, until) = self.run;
        while at < until {
            let (number, from) = (at >> self.shift, at & (sector - 1));
            let here = (until - at).min(sector - from);
            let bytes = (u64::MAX >> (64 - here)) << from;
            match self.pieces.last_mut() {
                Some(last) if last.0 == number => last.1 |= bytes,
                last => {
                    self.ascending &= last.is_none_or(|last| last.0 < number);
                    self.pieces.push((number, bytes));
                }
            }
            at += here;
        }
    }
}

impl Apart {
    /// Of coordinates; texels beyond an edge are those at the edge.
    fn address(&self, coords: &[i64]) -> i64 {
        match (&self.image, coords) {
            (Some(image), &[x, y]) => {
                let inside = |value: i64, axis: usize| value.clamp(0, self.coords[axis].1 - 1) as u32;
                self.base + image.address(inside(x, 0), inside(y, 1)) as i64
            }
            _ => self.coords.iter().zip(coords).fold(self.base, |sum, (own, value)| sum + own.2 * value),
        }
    }
}
