//! What kernels have in common that differ in sizes: found once, and known when the next of them is counted.
//! .
//! A key holds all that what is found for it depends on, so that nothing that is predicted depends on what was asked before: of problem sizes only
//! what they leave modulo lines, and which lanes take part. An exploration keeps one of these for each block and folding, a single report
//! has one for itself.

use super::behind::reuse::{PatternKind, PatternsKey};
use super::first_level::block::{BlockKey, BlockLines};
use super::first_level::warps::{WarpsKey, WarpsOf};
use super::kernel::structure::Structure;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::hash::Hash;
use std::rc::Rc;

/// What was found so far, of one device.
#[derive(Debug, Default)]
pub struct Known {
    /// Kernels without their sizes, by number.
    pub(super) structures: RefCell<Vec<Structure>>,
    /// Warps of accesses that lie alike modulo lines, and what they cost.
    pub(super) warps: Table<WarpsKey, WarpsOf>,
    /// When accesses happen, by structure.
    pub(super) phases: Table<usize, Vec<f64>>,
    /// What runs of blocks touch, but for conditions.
    pub(super) patterns: Table<PatternsKey, Vec<PatternKind>>,
    /// Lines of blocks, by where these begin in one.
    pub(super) blocks: Table<BlockKey, BlockLines>,
}

/// What was found, by all that it depends on.
#[derive(Debug)]
pub(super) struct Table<K, V>(RefCell<FxHashMap<K, Rc<V>>>);

/// Results that a table holds; when it is full, it begins anew.
const MOST: usize = 8192;

impl<K, V> Default for Table<K, V> {
    fn default() -> Self {
        Self(RefCell::default())
    }
}

impl<K: Eq + Hash, V> Table<K, V> {
    /// What is known of a key, or else found now.
    pub(super) fn get(&self, key: K, find: impl FnOnce(&K) -> V) -> Rc<V> {
        if let Some(known) = self.0.borrow().get(&key) {
            return Rc::clone(known);
        }
        let found = Rc::new(find(&key));
        let mut table = self.0.borrow_mut();
        if table.len() >= MOST {
            table.clear();
        }
        table.insert(key, Rc::clone(&found));
        found
    }
}
