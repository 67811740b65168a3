//! What kernels have in common that differ in sizes: found once, and known when the next of them is counted.
//! .
//! A [`Question`] holds all that its answer depends on beside the device, so that nothing that is predicted depends on what was asked before: of
//! problem sizes only what they leave modulo lines, and which lanes take part. An exploration keeps one [`Known`] for each block and folding on
//! a device; a single report has one for itself.

use rustc_hash::FxHashMap;
use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::fmt;
use std::hash::Hash;
use std::rc::Rc;

/// What answers are known by.
pub trait Question: Eq + Hash + 'static {
    /// What is found.
    type Answer: 'static;
}

/// What was found so far.
#[derive(Default)]
pub struct Known {
    alone: bool,
    /// For each type of questions its [`Table`].
    tables: RefCell<FxHashMap<TypeId, Rc<dyn Any>>>,
}

type Table<Q> = RefCell<FxHashMap<Q, Rc<<Q as Question>::Answer>>>;

/// Answers that a table holds; when it is full, it begins anew.
const MOST: usize = 8192;

impl Known {
    /// For one kernel alone, of which nothing is kept that serves others only.
    pub fn alone() -> Self {
        Self { alone: true, ..Self::default() }
    }

    /// Whether there are no others.
    pub fn is_alone(&self) -> bool {
        self.alone
    }

    /// What is known of a question, or else found now.
    pub fn get<Q: Question>(&self, question: Q, find: impl FnOnce(&Q) -> Q::Answer) -> Rc<Q::Answer> {
        let table = Rc::clone(self.tables.borrow_mut().entry(TypeId::of::<Q>()).or_insert_with(|| Rc::new(Table::<Q>::default())));
        // A table holds answers to questions of its own type.
        let Some(table) = table.downcast_ref::<Table<Q>>() else { return Rc::new(find(&question)) };
        if let Some(known) = table.borrow().get(&question) {
            return Rc::clone(known);
        }
        let found = Rc::new(find(&question));
        let mut table = table.borrow_mut();
        if table.len() >= MOST {
            table.clear();
        }
        table.insert(question, Rc::clone(&found));
        found
    }
}

impl fmt::Debug for Known {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Known").field("alone", &self.alone).finish_non_exhaustive()
    }
}
