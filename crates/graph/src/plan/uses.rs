//! Who writes and reads the tensors of a plan.

use super::{Plan, PlanRole};
use crate::graph::TensorId;
use std::collections::HashMap;

/// Operators by the tensors that they write and read.
pub(super) struct Uses {
    /// Positions of operators.
    writers: HashMap<TensorId, Vec<usize>>,
    /// The same; one that reads a tensor as several of its inputs is there as often.
    readers: HashMap<TensorId, Vec<usize>>,
}

impl Uses {
    pub(super) fn of(plan: &Plan) -> Self {
        let mut own = Self { writers: HashMap::new(), readers: HashMap::new() };
        for (position, op) in plan.operators.iter().enumerate() {
            op.inputs.iter().for_each(|id| own.readers.entry(*id).or_default().push(position));
            op.temporaries.iter().chain([&op.output]).for_each(|id| own.writes(position, *id));
        }
        own
    }

    /// Adds an operator that writes a tensor.
    pub(super) fn writes(&mut self, position: usize, id: TensorId) {
        self.writers.entry(id).or_default().push(position);
    }

    /// The last operator that writes a tensor.
    pub(super) fn last_writer(&self, id: TensorId) -> Option<usize> {
        self.writers.get(&id)?.iter().copied().max()
    }

    /// Operators that read a tensor.
    pub(super) fn readers(&self, id: TensorId) -> &[usize] {
        self.readers.get(&id).map_or(&[], Vec::as_slice)
    }

    /// Other operators read a tensor in place of one.
    pub(super) fn hand_on(&mut self, id: TensorId, from: usize, to: &[usize]) {
        let own = self.readers.entry(id).or_default();
        own.retain(|reader| *reader != from);
        for reader in to {
            if !own.contains(reader) {
                own.push(*reader);
            }
        }
    }

    /// Whether an operator reads a tensor.
    pub(super) fn is_read(&self, id: TensorId) -> bool {
        self.readers.contains_key(&id)
    }

    /// The position of the operator that alone writes a tensor between operators, where one reads it.
    pub(super) fn maker(&self, plan: &Plan, id: TensorId) -> Option<usize> {
        let [writer] = self.writers.get(&id)?[..] else { return None };
        (self.readers(id).len() == 1 && matches!(plan.tensor(id).role, PlanRole::Intermediate)).then_some(writer)
    }
}
