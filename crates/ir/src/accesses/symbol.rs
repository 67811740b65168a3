//! What coordinates of a written kernel may be linear in.

use crate::affine::Affine;
use crate::affine::text::Bend;
use std::sync::Arc;

/// A name that stands for a number at each point of each thread.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Symbol {
    /// tx, ty, tz: coordinate of a point.
    Point(u8),
    /// lx, ly, lz, l3 …: lane of a block.
    Lane(u8),
    /// bx, by, bz, b3 …: block.
    Block(u8),
    /// The loop of that number.
    Loop(u8),
    /// What is affine in pieces only.
    Bent(Arc<Bend<Symbol>>),
}

impl Symbol {
    /// What is affine in pieces only.
    pub fn bent(bend: Bend<Self>) -> Self {
        Self::Bent(Arc::new(bend))
    }
}

/// A coordinate as it is written.
pub type Linear = Affine<Symbol>;

/// Calls for each symbol that a form mentions, those within quotients and minima too.
pub fn mentioned<E>(form: &Linear, to: &mut impl FnMut(&Symbol) -> Result<(), E>) -> Result<(), E> {
    form.terms().iter().try_for_each(|(symbol, _)| match symbol {
        Symbol::Bent(bend) => match bend.as_ref() {
            Bend::Quotient(form, _) => mentioned(form, to),
            Bend::Least(a, b) => [a, b].into_iter().try_for_each(|form| mentioned(form, to)),
        },
        symbol => to(symbol),
    })
}

/// What the names are that may stand in a coordinate.
pub const KNOWN: &str = "known are tx ty tz (point), lx ly lz (lane), bx by bz (block), loops and [params]";

/// What a name stands for, given the names of loops in order and the values of parameters.
pub fn named(name: &str, loops: &[String], value: impl Fn(&str) -> Option<i64>) -> Option<Linear> {
    if let Some(number) = loops.iter().position(|own| own == name) {
        return Some(Affine::var(Symbol::Loop(number as u8)));
    }
    value(name).map(Affine::constant).or_else(|| coordinate(name).or_else(|| further(name)).map(Affine::var))
}

/// b3 … b9, l3 … l9: the axes of a grid and of its blocks beyond the third, where nothing else has the name.
fn further(name: &str) -> Option<Symbol> {
    let &[kind, axis @ b'3'..=b'9'] = name.as_bytes() else { return None };
    match kind {
        b'b' => Some(Symbol::Block(axis - b'0')),
        b'l' => Some(Symbol::Lane(axis - b'0')),
        _ => None,
    }
}

/// tx … bz.
pub fn coordinate(name: &str) -> Option<Symbol> {
    let &[kind, axis] = name.as_bytes() else { return None };
    let axis = b"xyz".iter().position(|&letter| letter == axis)? as u8;
    match kind {
        b't' => Some(Symbol::Point(axis)),
        b'l' => Some(Symbol::Lane(axis)),
        b'b' => Some(Symbol::Block(axis)),
        _ => None,
    }
}
