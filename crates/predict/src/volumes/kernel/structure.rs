//! A kernel without its sizes.

use super::subject::{Subject, Touch, Var};
use crate::volumes::known::{Known, Question};
use std::cell::RefCell;
use std::rc::Rc;
use warpsight_ir::VarId;

/// Lanes, and what they do to which fields: all of a [`Subject`] but how many blocks there are, how fields lie in memory and what conditions say.
#[derive(Debug)]
pub struct Structure {
    number: usize,
    lanes: Vec<Var>,
    groups: Vec<VarId>,
    fields: Vec<Of>,
}

/// What is done with a field.
#[derive(Debug)]
struct Of {
    element: i64,
    image: bool,
    touches: Vec<Touch>,
    /// For each touch the first with its conditions.
    guards: Vec<usize>,
}

/// Structures that are kept.
const MOST: usize = 32;

impl Structure {
    fn of(subject: &Subject, number: usize) -> Self {
        let own = |i: usize| {
            let field = &subject.fields[i];
            let touches = field.touches.iter().map(|touch| Touch { guard: vec![], ..touch.clone() }).collect();
            let guards = (0..field.touches.len()).map(|at| guard(&field.touches, at)).collect();
            Of { element: field.geometry.element, image: field.image.is_some(), touches, guards }
        };
        Self {
            number,
            lanes: subject.lanes.clone(),
            groups: subject.groups.iter().map(|group| group.id).collect(),
            fields: (0..subject.fields.len()).map(own).collect(),
        }
    }

    fn is_of(&self, subject: &Subject) -> bool {
        self.lanes == subject.lanes
            && self.groups.iter().eq(subject.groups.iter().map(|group| &group.id))
            && self.fields.len() == subject.fields.len()
            && self.fields.iter().zip(&subject.fields).all(|(own, field)| {
                own.element == field.geometry.element
                    && own.image == field.image.is_some()
                    && own.touches.len() == field.touches.len()
                    && own.touches.iter().zip(&field.touches).all(|(own, touch)| alike(own, touch))
                    && own.guards.iter().enumerate().all(|(at, &first)| first == guard(&field.touches, at))
            })
    }
}

/// Whether two touches are the same but for conditions and the number they go by.
fn alike(one: &Touch, other: &Touch) -> bool {
    let Touch { kind, position, met, number: _, coords, width, loops, guard: _, judged, indirect, path, branch } = one;
    *kind == other.kind
        && *position == other.position
        && *met == other.met
        && *coords == other.coords
        && *width == other.width
        && *loops == other.loops
        && *judged == other.judged
        && *indirect == other.indirect
        && *path == other.path
        && *branch == other.branch
}

/// The first of a field's touches that has the conditions of this one.
fn guard(touches: &[Touch], at: usize) -> usize {
    let own = &touches[at].guard;
    touches.iter().position(|touch| touch.guard == *own).unwrap_or(at)
}

/// The structures that are known.
#[derive(PartialEq, Eq, Hash)]
struct Structures;

impl Question for Structures {
    type Answer = RefCell<Vec<Structure>>;
}

impl Subject {
    /// Lets it take part in what is known of kernels like it: two of one structure differ in sizes alone.
    pub fn knowing(mut self, known: &Rc<Known>) -> Self {
        self.known = Rc::clone(known);
        self.structure =
            Some(if known.is_alone() { 0 } else { number(&self, &mut known.get(Structures, |_| RefCell::default()).borrow_mut()) });
        self
    }
}

/// The number of a subject's structure.
fn number(subject: &Subject, known: &mut Vec<Structure>) -> usize {
    if let Some(own) = known.iter().rev().find(|own| own.is_of(subject)) {
        return own.number;
    }
    let number = known.last().map_or(0, |last| last.number + 1);
    if known.len() >= MOST {
        known.clear();
    }
    known.push(Structure::of(subject, number));
    number
}
