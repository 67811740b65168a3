//! What coordinates of a written kernel may be linear in.

use crate::affine::Affine;

/// A name that stands for a number at each point of each thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Symbol {
    /// tx, ty, tz: coordinate of a point.
    Point(u8),
    /// lx, ly, lz: lane of a block.
    Lane(u8),
    /// bx, by, bz: block.
    Block(u8),
    /// The loop of that number.
    Loop(u8),
}

/// A coordinate as it is written.
pub type Linear = Affine<Symbol>;

/// What the names are that may stand in a coordinate.
pub const KNOWN: &str = "known are tx ty tz (point), lx ly lz (lane), bx by bz (block), loops and [params]";

/// What a name stands for, given the names of loops in order and the values of parameters.
pub fn named(name: &str, loops: &[String], value: impl Fn(&str) -> Option<i64>) -> Option<Linear> {
    if let Some(number) = loops.iter().position(|own| own == name) {
        return Some(Affine::var(Symbol::Loop(number as u8)));
    }
    value(name).map(Affine::constant).or_else(|| coordinate(name).or_else(|| further(name)).map(Affine::var))
}

/// b3 … b9: the axes of a grid beyond the third, where nothing else has the name.
fn further(name: &str) -> Option<Symbol> {
    let &[b'b', axis @ b'3'..=b'9'] = name.as_bytes() else { return None };
    Some(Symbol::Block(axis - b'0'))
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
