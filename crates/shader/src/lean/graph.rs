//! The graph of values: equal operations on equal operands are one node.

use super::cells::UNDEFINED;
use super::{Done, GaveUp, MAX_NODES, Work};
use crate::features::own;
use crate::module::Op;
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

/// The feature of what costs nothing.
pub(super) const FREE: usize = usize::MAX;

/// The opcode of what joins two branches; SPIR-V has none of this number.
pub(super) const JOIN: u32 = u32::MAX;

/// Where an operation comes from, and how often it runs.
#[derive(Clone, Copy)]
pub(super) struct Origin {
    pub block: usize,
    pub inst: Option<usize>,
    pub times: f64,
}

/// What tells operations apart: an opcode with what else is fixed in it, and the operands.
pub(super) type Key = ([u32; 3], Box<[u32]>);

struct Node {
    /// The opcode, where it has one.
    op: u32,
    word: Option<u32>,
    operands: Box<[u32]>,
    feature: usize,
    number: f64,
    origin: Origin,
}

/// Nodes, those that are needed, and how far one can go back.
pub(super) struct ValueGraph {
    nodes: Vec<Node>,
    words: HashMap<u32, u32>,
    table: HashMap<Key, u32>,
    /// Keys and words in the order in which they came, to take them back.
    entered: Vec<Entered>,
    needed: Vec<u32>,
    /// What loops carry from one turn to the next: the node at the header, and what it becomes.
    carried: Vec<(u32, u32)>,
    /// Cells that were written where they are known to lie.
    stored: Vec<(Range<u32>, Origin)>,
    /// Cells that are read or written where they are not known to lie: arrays that cannot become values.
    memory: Vec<Range<u32>>,
}

enum Entered {
    Key(Key),
    Word(u32),
}

/// A point to go back to.
pub(super) struct Mark([usize; 6]);

impl Default for ValueGraph {
    fn default() -> Self {
        let origin = Origin { block: 0, inst: None, times: 0.0 };
        let undefined = Node { op: 0, word: None, operands: Box::default(), feature: FREE, number: 0.0, origin };
        let (words, table) = (HashMap::new(), HashMap::new());
        Self {
            nodes: vec![undefined],
            words,
            table,
            entered: Vec::new(),
            needed: Vec::new(),
            carried: Vec::new(),
            stored: Vec::new(),
            memory: Vec::new(),
        }
    }
}

impl ValueGraph {
    fn push(&mut self, node: Node) -> u32 {
        self.nodes.push(node);
        self.nodes.len() as u32 - 1
    }

    /// The node of a word.
    pub(super) fn known(&mut self, word: u32) -> u32 {
        if let Some(&node) = self.words.get(&word) {
            return node;
        }
        let origin = Origin { block: 0, inst: None, times: 0.0 };
        let node = self.push(Node { op: 0, word: Some(word), operands: Box::default(), feature: FREE, number: 0.0, origin });
        self.words.insert(word, node);
        self.entered.push(Entered::Word(word));
        node
    }

    /// The word that a node is, where it is known. What was never written may be anything: drivers take what suits.
    pub(super) fn word(&self, node: u32) -> Option<u32> {
        if node == UNDEFINED { Some(0) } else { self.nodes[node as usize].word }
    }

    /// The condition and both words of a node that selects one of two known words.
    pub(super) fn choice(&self, node: u32) -> Option<(u32, [u32; 2])> {
        let of = &self.nodes[node as usize];
        let [condition, yes, no] = *of.operands else { return None };
        (of.op == Op::Select as u32).then_some((condition, [self.word(yes)?, self.word(no)?]))
    }

    /// A value that is like no other.
    pub(super) fn leaf(&mut self, feature: usize, origin: Origin) -> u32 {
        self.push(Node { op: 0, word: None, operands: Box::default(), feature, number: 1.0, origin })
    }

    /// What a loop carries; [`ValueGraph::carry`] says what it becomes.
    pub(super) fn carrier(&mut self, before: u32, origin: Origin) -> Done<u32> {
        self.room()?;
        Ok(self.push(Node { op: 0, word: None, operands: [before].into(), feature: FREE, number: 0.0, origin }))
    }

    pub(super) fn carry(&mut self, carrier: u32, becomes: u32) {
        self.carried.push((carrier, becomes));
    }

    /// The node of an operation.
    pub(super) fn node(&mut self, key: Key, cost: (usize, f64), origin: Origin) -> Done<u32> {
        // What ran before at most as often is there already.
        if let Some(&node) = self.table.get(&key)
            && self.nodes[node as usize].origin.times <= origin.times
        {
            return Ok(node);
        }
        self.room()?;
        let node = self.push(Node { op: key.0[0], word: None, operands: key.1.clone(), feature: cost.0, number: cost.1, origin });
        if !self.table.contains_key(&key) {
            self.entered.push(Entered::Key(key.clone()));
            self.table.insert(key, node);
        }
        Ok(node)
    }

    /// An operation whose effect is seen from outside.
    pub(super) fn effect(&mut self, operands: &[u32], cost: (usize, f64), origin: Origin) -> Done<u32> {
        self.room()?;
        let node = self.push(Node { op: 0, word: None, operands: operands.into(), feature: cost.0, number: cost.1, origin });
        self.need(node);
        Ok(node)
    }

    pub(super) fn need(&mut self, node: u32) {
        self.needed.push(node);
    }

    /// Cells are written where they are known to lie.
    pub(super) fn stored(&mut self, cells: Range<u32>, origin: Origin) {
        self.stored.push((cells, origin));
    }

    /// Cells are read or written where they are not known to lie.
    pub(super) fn in_memory(&mut self, cells: Range<u32>) {
        if self.memory.last() != Some(&cells) {
            self.memory.push(cells);
        }
    }

    /// What it takes to write elements of arrays that lie in memory, each by itself.
    fn copies(&self) -> impl Iterator<Item = Work> {
        // Ranges by where they begin, those that meet as one.
        let mut memory = self.memory.clone();
        memory.sort_by_key(|cells| (cells.start, cells.end));
        memory.dedup_by(|next, last| {
            next.start <= last.end && {
                last.end = last.end.max(next.end);
                true
            }
        });
        self.stored.iter().filter_map(move |(cells, origin)| {
            let around = memory.partition_point(|range| range.start <= cells.start).checked_sub(1)?;
            let number = f64::from(cells.end.min(memory[around].end).checked_sub(cells.start)?);
            (number > 0.0).then_some(Work { feature: own::COPY, number, times: origin.times, block: origin.block, inst: origin.inst })
        })
    }

    fn room(&self) -> Done {
        if self.nodes.len() < MAX_NODES { Ok(()) } else { Err(GaveUp) }
    }

    pub(super) fn mark(&self) -> Mark {
        Mark([self.nodes.len(), self.entered.len(), self.needed.len(), self.carried.len(), self.stored.len(), self.memory.len()])
    }

    /// Forgets what came after a mark.
    pub(super) fn back_to(&mut self, Mark([nodes, entered, needed, carried, stored, memory]): Mark) {
        self.nodes.truncate(nodes);
        for gone in self.entered.drain(entered..) {
            match gone {
                Entered::Key(key) => drop(self.table.remove(&key)),
                Entered::Word(word) => drop(self.words.remove(&word)),
            }
        }
        self.needed.truncate(needed);
        self.carried.truncate(carried);
        self.stored.truncate(stored);
        self.memory.truncate(memory);
    }

    /// The cells of uniforms on which alone decisions depend, while they are at most so many: first come, first served.
    pub(super) fn deciding(&self, uniforms: &HashMap<u32, u32>, most: usize) -> BTreeSet<u32> {
        let (mut all, mut walked) = (BTreeSet::new(), 0);
        let decisions = self.needed.iter().map(|n| &self.nodes[*n as usize]).filter(|n| n.feature == own::BRANCH);
        for decision in decisions {
            let mut open = decision.operands.to_vec();
            let (mut seen, mut own) = (BTreeSet::new(), all.clone());
            let closed = loop {
                let Some(node) = open.pop() else { break true };
                walked += 1;
                if own.len() > most || walked > MAX_NODES {
                    break false;
                }
                match (uniforms.get(&node), &self.nodes[node as usize]) {
                    (Some(cell), _) => drop(own.insert(*cell)),
                    (None, of) if of.word.is_some() => {}
                    // Something else from outside, carried by a loop, or chosen by a branch whose condition is not seen here.
                    (None, of) if of.op == JOIN || of.operands.is_empty() || of.number == 0.0 && of.feature == FREE => break false,
                    (None, of) => {
                        if seen.insert(node) {
                            open.extend(&*of.operands);
                        }
                    }
                }
            };
            if closed && own.len() <= most {
                all = own;
            }
        }
        all
    }

    /// All that is needed, directly or not, and costs something.
    pub(super) fn work(&self) -> Vec<Work> {
        let mut later: HashMap<u32, Vec<u32>> = HashMap::new();
        self.carried.iter().for_each(|(carrier, becomes)| later.entry(*carrier).or_default().push(*becomes));
        let mut live = vec![false; self.nodes.len()];
        let mut open = self.needed.clone();
        while let Some(node) = open.pop() {
            if !std::mem::replace(&mut live[node as usize], true) {
                open.extend(&*self.nodes[node as usize].operands);
                open.extend(later.get(&node).into_iter().flatten());
            }
        }
        let live = self.nodes.iter().zip(live).filter(|(node, live)| *live && node.feature != FREE);
        let left = live.map(|(node, _)| Work {
            feature: node.feature,
            number: node.number,
            times: node.origin.times,
            block: node.origin.block,
            inst: node.origin.inst,
        });
        left.chain(self.copies()).collect()
    }
}
