//! Which tensors share memory: those that are never alive together.

use crate::graph::TensorId;
use crate::plan::{Plan, PlanRole, PlanTensor};
use std::collections::{BTreeMap, HashMap, HashSet};
use warpsight_ir::{Bytes, ImageFormat, Meanwhile};

/// What kind of memory a tensor needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// Bytes; a slot grows to the largest of its tensors.
    Buffer,
    /// A two-dimensional image; only images of the same size and format share a slot.
    Image {
        /// Texels in a row.
        width: u32,
        /// Rows.
        height: u32,
        /// Of a texel.
        format: ImageFormat,
    },
}

/// One tensor that needs memory for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Bytes.
    pub bytes: u64,
    /// What kind.
    pub storage: Storage,
    /// Position of the first operator at which it must exist.
    pub first: usize,
    /// Position of the last one; at least `first`.
    pub last: usize,
}

impl Request {
    /// Whether two tensors are alive at the same time.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }
}

/// A piece of memory that several tensors use one after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Bytes.
    pub bytes: u64,
    /// What kind.
    pub storage: Storage,
}

/// Where every tensor lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryPlan {
    /// Per request, its position in `slots`.
    pub slot_of: Vec<usize>,
    /// What to allocate.
    pub slots: Vec<Slot>,
    /// Bytes of all slots.
    pub total: u64,
    /// Bytes without any sharing.
    pub naive: u64,
    /// The most bytes alive at one time; no plan needs less.
    pub peak: u64,
}

/// Gives each request a slot, in the order of their first use: of the free ones the smallest that is large enough, else the largest
/// (which grows), else a new one. A request that stands in `onto` takes over the slot of the one it is given there: its operator works in
/// place. That one is of the same size and kind, begins earlier, is needed last where this one begins, and is taken over by this one alone.
pub fn plan(requests: &[Request], onto: &BTreeMap<usize, usize>) -> MemoryPlan {
    let mut order: Vec<usize> = (0..requests.len()).collect();
    // Among those that begin together the largest first: it has the narrowest choice.
    order.sort_by_key(|&i| (requests[i].first, std::cmp::Reverse(requests[i].bytes), i));
    let mut slots: Vec<(Slot, usize)> = Vec::new();
    let mut slot_of = vec![0; requests.len()];
    for i in order {
        let request = requests[i];
        let free = slots.iter().enumerate().filter(|(_, (slot, until))| slot.storage == request.storage && *until < request.first);
        let (fitting, small): (Vec<_>, Vec<_>) = free.map(|(at, (slot, _))| (slot.bytes, at)).partition(|f| f.0 >= request.bytes);
        let free = || fitting.into_iter().min().or_else(|| small.into_iter().max()).map(|f| f.1);
        let chosen = onto.get(&i).map(|&before| slot_of[before]).or_else(free);
        slot_of[i] = chosen.unwrap_or_else(|| {
            slots.push((Slot { bytes: 0, storage: request.storage }, 0));
            slots.len() - 1
        });
        let (slot, until) = &mut slots[slot_of[i]];
        slot.bytes = slot.bytes.max(request.bytes);
        *until = request.last;
    }
    let slots: Vec<Slot> = slots.into_iter().map(|s| s.0).collect();
    let ends: HashSet<usize> = onto.values().copied().collect();
    // Where one is taken over, the two are one.
    let ends = |i: usize, request: &Request| request.last - usize::from(ends.contains(&i));
    let alive = |at: usize| requests.iter().enumerate().filter(|(i, r)| r.first <= at && at <= ends(*i, r)).map(|(_, r)| r.bytes).sum();
    MemoryPlan {
        slot_of,
        total: slots.iter().map(|s| s.bytes).sum(),
        naive: requests.iter().map(|r| r.bytes).sum(),
        // The bytes alive only rise where a request begins.
        peak: requests.iter().map(|r| alive(r.first)).max().unwrap_or(0),
        slots,
    }
}

/// The memory that kernels hand on to each other in: the most bytes of what they write that is needed at one time; none where there is one kernel.
fn handed_on(plan: &Plan) -> Bytes {
    if plan.operators.iter().map(|op| op.operator.steps.len()).sum::<usize>() < 2 {
        return Bytes(0.0);
    }
    let request = |(id, (first, last))| Request { bytes: bytes(plan.tensor(id)), storage: Storage::Buffer, first, last };
    Bytes(self::plan(&live_ranges(plan).into_iter().map(request).collect::<Vec<_>>(), &BTreeMap::new()).peak as f64)
}

fn bytes(tensor: &PlanTensor) -> u64 {
    (tensor.len() as u64).saturating_mul(u64::from(tensor.element.bytes()))
}

/// What the others touch between two launches of one of a network's kernels; nothing where there is one.
pub fn in_pass(plan: &Plan) -> Meanwhile {
    let handed = handed_on(plan);
    if handed.0 == 0.0 {
        return Meanwhile::default();
    }
    let read: HashSet<TensorId> = plan.operators.iter().flat_map(|op| op.inputs.iter().copied()).collect();
    let constants = read.into_iter().map(|id| plan.tensor(id)).filter(|tensor| matches!(tensor.role, PlanRole::Constant(_)));
    Meanwhile { handed, pass: Bytes(handed.0 + constants.map(bytes).sum::<u64>() as f64) }
}

/// First and last operator at which each tensor that an operator writes is needed: an output until the end, an intermediate until
/// its last reader. Inputs that nothing writes and constants are the caller's and have none.
pub fn live_ranges(plan: &Plan) -> HashMap<TensorId, (usize, usize)> {
    let mut ranges = HashMap::new();
    let end = plan.operators.len().saturating_sub(1);
    for (position, op) in plan.operators.iter().enumerate() {
        for &written in op.temporaries.iter().chain([&op.output]) {
            let last = if matches!(plan.tensor(written).role, PlanRole::Output) { end } else { position };
            ranges.entry(written).or_insert((position, last)).1 = last;
        }
        for read in &op.inputs {
            if let Some((_, last)) = ranges.get_mut(read) {
                *last = position.max(*last);
            }
        }
    }
    ranges
}
