//! Algorithm 1 of paper 003: operators become stages, the tensors between stages become queues.

use super::drafts::{Draft, EPILOGUE_FLOPS, drafts, oriented, owners, tokens};
use super::reduce::{levels, sums_rows};
use super::tiles::{self, TILE, Tile};
use super::{Design, DesignError, Moved, Queue, Role, Stage, Tiling};
use crate::group::Group;
use crate::platform::Platform;
use crate::view::{Node, NodeId, TensorId, View};
use std::collections::{BTreeMap, BTreeSet};
use warpsight_graph::Class;
use warpsight_ir::{Bytes, StageClass};

/// Slots of partial results are so much smaller than the largest: 64 KB, the least that figure 5 has for a small overhead.
const SHARES: f64 = 4.0;

/// Stages and queues of a group, each queue at depth two; [`super::deepen`] gives them theirs once work-groups are known.
///
/// # Errors
/// Why the group is no pipeline, by node.
pub fn design(graph: &View, group: &Group, tiling: Tiling, platform: &Platform) -> Result<Design, DesignError> {
    let drafts = drafts(graph, group, tiling.epilogues)?;
    let of = owners(&drafts);
    let tokens = tokens(graph, group, &drafts, tiling.rows);
    let mut builder = Builder {
        graph,
        group,
        platform,
        of: &of,
        stages: Vec::new(),
        queues: Vec::new(),
        places: Vec::new(),
        base: BTreeMap::new(),
        read: BTreeSet::new(),
        outputs: group.external_outputs(graph),
        streamed: Vec::new(),
        tokens,
        tiling,
    };
    for draft in &drafts {
        builder.add(draft)?;
    }
    builder.connect(&drafts);
    builder.reread();
    Ok(Design { stages: builder.stages, queues: builder.queues, tiling })
}

/// Work-groups that operands of a group take where they are held, as powers of two, ascending; and whether a product sums over rows.
pub fn widths(graph: &View, group: &Group, platform: &Platform) -> (Vec<u32>, bool) {
    let products = group.nodes.iter().map(|&id| graph.node(id)).filter(|node| node.class == Class::Tensor);
    let (sums, others): (Vec<&Node>, Vec<&Node>) = products.partition(|node| sums_rows(graph, node));
    let width = |node: &&Node| {
        let element = graph.tensor(node.inputs[0]).element;
        let tile = tiles::streaming(&oriented(graph, node)?, TILE, element, platform.cores, platform);
        tile.held.then(|| tile.parts.next_power_of_two())
    };
    let widths: BTreeSet<u32> = others.iter().filter_map(width).collect();
    (widths.into_iter().collect(), !sums.is_empty())
}

/// What grows while stages are added.
struct Builder<'a> {
    graph: &'a View,
    group: &'a Group,
    platform: &'a Platform,
    of: &'a BTreeMap<NodeId, usize>,
    stages: Vec<Stage>,
    queues: Vec<Queue>,
    /// First and last stage of each draft.
    places: Vec<(usize, usize)>,
    /// Tokens of each tensor that a stage makes.
    base: BTreeMap<TensorId, u64>,
    /// What some stage reads from memory already.
    read: BTreeSet<TensorId>,
    outputs: BTreeSet<TensorId>,
    /// Stages with an operand that is read for every token, and its bytes.
    streamed: Vec<(usize, Bytes, u64)>,
    tokens: u64,
    tiling: Tiling,
}

impl Builder<'_> {
    fn add(&mut self, draft: &Draft) -> Result<(), DesignError> {
        let graph = self.graph;
        let bytes = |id: TensorId| Bytes(graph.tensor(id).bytes() as f64);
        let at = self.stages.len();
        let own: BTreeSet<TensorId> = draft.nodes.iter().flat_map(|&id| graph.node(id).outputs.iter().copied()).collect();
        let inputs = draft.nodes.iter().flat_map(|&id| graph.node(id).inputs.iter().copied());
        let inputs: BTreeSet<TensorId> = inputs.filter(|id| !own.contains(id)).collect();
        let (queued, outside): (BTreeSet<TensorId>, BTreeSet<TensorId>) = inputs.iter().partition(|id| self.base.contains_key(id));
        let heart = graph.node(draft.nodes[0]);
        let gemm = oriented(graph, heart);
        let tokens = self.tokens_in(draft.nodes[0], &queued)?;
        let tile = self.tile(draft, tokens, &queued)?;
        let held = gemm.filter(|_| !draft.sums).map(|gemm| gemm.right);
        let share = |id: &TensorId| match gemm {
            Some(gemm) if draft.sums && *id == gemm.left => tile.shares.0,
            Some(gemm) if draft.sums && *id == gemm.right => tile.shares.1,
            _ => 1.0,
        };
        let each = if draft.class == StageClass::Tensor { f64::from(tile.parts) * tile.pieces as f64 } else { 1.0 };
        let mut moved = Moved::default();
        for id in &outside {
            let again = if Some(*id) != held {
                each * share(id)
            } else if tile.held {
                1.0
            } else {
                // Slices of it come by for every token and tile of rows.
                let rows = gemm.map_or(1, |gemm| gemm.m.div_ceil(tokens).div_ceil(TILE));
                self.streamed.push((at, bytes(*id), tokens));
                (tokens * rows) as f64
            };
            moved.cached += bytes(*id) * again;
        }
        // The pieces of a product each need what they take; those of other stages take their own.
        let again = if draft.class == StageClass::Tensor { tile.pieces as f64 } else { 1.0 };
        moved.received = queued.iter().map(|id| bytes(*id) * share(id) * again).sum();
        let read = outside.iter().filter(|id| self.read.insert(**id)).map(|&id| bytes(id)).sum();
        let gone: BTreeSet<TensorId> = own.intersection(&self.outputs).copied().collect();
        let written: Bytes = gone.iter().map(|&id| bytes(id)).sum();
        let work = |id: &NodeId| self.operations(graph.node(*id));
        let (flops, epilogue) = match draft.class {
            StageClass::Tensor => (heart.flops * tile.padding, draft.nodes[1..].iter().map(work).sum()),
            StageClass::Simt => (draft.nodes.iter().map(work).sum(), 0.0),
        };
        let inside = |id: &&TensorId| self.leads_on(**id, &draft.nodes);
        let names: Vec<&str> = draft.nodes.iter().map(|&id| graph.node(id).name.as_str()).collect();
        // Sums of columns are small.
        let wanted = if draft.class == StageClass::Tensor { self.tiling.partials } else { u64::MAX };
        let levels = if draft.sums { levels(tokens, wanted) } else { Vec::new() };
        let fan_in = levels.first().copied();
        let makes = fan_in.unwrap_or(if draft.sums { 1 } else { tokens });
        let stage = Stage {
            name: names.join("+"),
            class: draft.class,
            role: if fan_in.is_some() { Role::FanIn } else { Role::Whole },
            nodes: draft.nodes.clone(),
            gemm,
            parts: tile.parts,
            element: gemm.map_or(graph.tensor(heart.inputs[0]).element, |gemm| graph.tensor(gemm.left).element) as u32,
            flops,
            epilogue,
            read,
            reread: Bytes::ZERO,
            written,
            side_outputs: gone.iter().filter(inside).copied().collect(),
            firings: makes * tile.pieces,
            firings_per_token: tile.pieces,
            tokens: makes,
            shared: tile.shared,
            moved,
        };
        self.stages.push(stage);
        if fan_in.is_some() {
            self.reduce(at, heart, &levels, written);
        } else {
            self.stages[at].moved.cached += written;
        }
        self.places.push((at, self.stages.len() - 1));
        let left = if draft.sums { 1 } else { tokens };
        self.base.extend(own.into_iter().map(|id| (id, left)));
        Ok(())
    }

    /// Tokens that come in: the same number from all sides.
    fn tokens_in(&self, node: NodeId, queued: &BTreeSet<TensorId>) -> Result<u64, DesignError> {
        let counts: BTreeSet<u64> = queued.iter().map(|id| self.base[id]).collect();
        match (counts.first(), counts.len()) {
            (None, _) => Ok(self.tokens),
            (Some(&count), 1) => Ok(count),
            _ => {
                let late = queued.iter().find(|id| self.base[*id] == 1).map_or("an input", |id| self.graph.tensor(*id).name.as_str());
                Err(DesignError::Whole {
                    node: self.graph.named(node),
                    what: format!("`{late}`, which is there after the last token only,"),
                })
            }
        }
    }

    /// How the stage is cut, where a multiprocessor holds it.
    fn tile(&self, draft: &Draft, tokens: u64, queued: &BTreeSet<TensorId>) -> Result<Tile, DesignError> {
        let heart = self.graph.node(draft.nodes[0]);
        let named = || self.graph.named(draft.nodes[0]);
        let element = self.graph.tensor(heart.inputs[0]).element;
        let whole = |id: TensorId| DesignError::Whole { node: named(), what: format!("`{}`", self.graph.tensor(id).name) };
        let (tile, has) = match (draft.class, oriented(self.graph, heart)) {
            (StageClass::Tensor, Some(gemm)) if draft.sums => {
                let tile = tiles::summing(&gemm, element);
                if tile.parts > self.platform.cores {
                    return Err(DesignError::Sums { node: named(), tiles: tile.parts, has: self.platform.cores });
                }
                (tile, self.platform.tensor_shared)
            }
            (StageClass::Tensor, Some(gemm)) => {
                if queued.contains(&gemm.right) {
                    return Err(whole(gemm.right));
                }
                let rows = gemm.m.div_ceil(tokens);
                (tiles::streaming(&gemm, rows, element, self.tiling.held, self.platform), self.platform.tensor_shared)
            }
            (StageClass::Tensor, None) => {
                let received: Vec<TensorId> = heart.inputs.iter().copied().filter(|id| queued.contains(id)).collect();
                if let [_, .., last] = received[..] {
                    return Err(whole(last));
                }
                (tiles::batched(element), self.platform.tensor_shared)
            }
            (StageClass::Simt, _) => {
                let shared = draft.nodes.iter().map(|&id| self.row_bytes(self.graph.node(id))).fold(0.0, f64::max);
                // A fan-in keeps its sum from one token to the next; others may share a token that is too large for a slot.
                let pieces = if draft.sums { 1 } else { self.pieces_of(draft, tokens) };
                let tile = Tile { parts: 1, pieces, held: false, shared: Bytes(shared), shares: (1.0, 1.0), padding: 1.0 };
                (tile, self.platform.shared - self.platform.tensor_shared)
            }
        };
        if tile.shared > has {
            return Err(DesignError::Shared { node: named(), needs: tile.shared.0, has: has.0 });
        }
        Ok(tile)
    }

    /// Slots that a token of the largest tensor of a stage takes.
    fn pieces_of(&self, draft: &Draft, tokens: u64) -> u64 {
        let of = |id: &NodeId| self.graph.node(*id).outputs.iter().map(|&id| self.graph.tensor(id).bytes()).max();
        let largest = draft.nodes.iter().filter_map(of).max().unwrap_or(1);
        self.slots(largest as f64, tokens)
    }

    /// Slots that a token of so many bytes in all takes.
    fn slots(&self, bytes: f64, tokens: u64) -> u64 {
        (bytes / tokens as f64 / self.platform.payload.0).ceil().max(1.0) as u64
    }

    /// Two rows, one worked on and one on its way, of an operator that needs whole rows.
    fn row_bytes(&self, node: &Node) -> f64 {
        let output = self.graph.tensor(node.outputs[0]);
        let by_row = node.class == Class::Reduce && !sums_rows(self.graph, node) || node.flops > EPILOGUE_FLOPS * output.elements() as f64;
        let widest = node.inputs.iter().map(|&id| self.graph.tensor(id)).map(|t| t.shape.last().copied().unwrap_or(1) * t.element).max();
        if by_row { 2.0 * widest.unwrap_or(0) as f64 } else { 0.0 }
    }

    /// Operations on vector units: what the graph says, at least one for each element touched.
    fn operations(&self, node: &Node) -> f64 {
        let elements = node.inputs.iter().chain(&node.outputs).map(|&id| self.graph.tensor(id).elements()).max();
        node.flops.max(elements.unwrap_or(0) as f64)
    }

    /// Sums are kept in 4 bytes.
    fn sum_width(&self, node: &Node) -> f64 {
        4.0 / self.graph.tensor(node.outputs[0]).element.min(4) as f64
    }

    /// Whether another stage of the group receives this tensor.
    fn leads_on(&self, id: TensorId, own: &[NodeId]) -> bool {
        self.graph.tensor(id).consumers.iter().any(|consumer| self.group.has(*consumer) && !own.contains(consumer))
    }

    /// Behind a fan-in: stages that bring its partial results together.
    fn reduce(&mut self, fan_in: usize, heart: &Node, levels: &[u64], written: Bytes) {
        let output = self.graph.tensor(heart.outputs[0]);
        let partial = Bytes(output.bytes() as f64) * self.sum_width(heart);
        // Small slots, so that many work-groups share what is left to do.
        let pieces = (partial / self.platform.payload * SHARES).ceil().max(1.0);
        let fan = self.stages[fan_in].clone();
        self.stages[fan_in].name += " fan-in";
        (self.stages[fan_in].written, self.stages[fan_in].side_outputs) = (Bytes::ZERO, Vec::new());
        for (level, &count) in levels.iter().enumerate() {
            let from = self.stages.len() - 1;
            let makes = levels.get(level + 1).copied();
            let tokens = makes.unwrap_or(1);
            self.queues.push(Queue {
                tensor: heart.outputs[0],
                producer: from,
                consumers: vec![from + 1],
                payload: partial / pieces,
                depth: 2,
                tokens: count * pieces as u64,
                whole: 1,
            });
            self.stages.push(Stage {
                name: format!("{} {}", fan.name, makes.map_or_else(|| "final".to_owned(), |n| format!("tree of {n}"))),
                class: StageClass::Simt,
                role: if makes.is_some() { Role::FanIn } else { Role::Final },
                gemm: None,
                parts: 1,
                element: 4,
                flops: output.elements() as f64 * count as f64,
                epilogue: 0.0,
                read: Bytes::ZERO,
                written: if makes.is_some() { Bytes::ZERO } else { written },
                side_outputs: if makes.is_some() { Vec::new() } else { fan.side_outputs.clone() },
                firings: tokens * pieces as u64,
                firings_per_token: 1,
                tokens,
                shared: Bytes::ZERO,
                moved: Moved { cached: if makes.is_some() { Bytes::ZERO } else { written }, ..Moved::default() },
                ..fan.clone()
            });
            let sent = partial * count as f64;
            self.stages[from].moved.sent += sent;
            self.stages[from].moved.messages += count as f64 * pieces;
            self.stages[from + 1].moved.received += sent;
            self.stages[from + 1].moved.messages += count as f64 * pieces;
        }
    }

    /// Queues for the tensors that other drafts receive.
    fn connect(&mut self, drafts: &[Draft]) {
        for (at, draft) in drafts.iter().enumerate() {
            let own = draft.nodes.iter().flat_map(|&id| self.graph.node(id).outputs.iter().copied());
            for id in own {
                let tensor = self.graph.tensor(id);
                let to: BTreeSet<usize> =
                    tensor.consumers.iter().filter_map(|node| self.of.get(node).copied()).filter(|&to| to != at).collect();
                if to.is_empty() {
                    continue;
                }
                let producer = self.places[at].1;
                let tokens = self.base[&id];
                let pieces = self.slots(tensor.bytes() as f64, tokens) as f64;
                let consumers: Vec<usize> = to.iter().map(|&to| self.places[to].0).collect();
                // A product needs all columns of its left operand; others take them as they come.
                let whole = consumers.iter().any(|&to| self.stages[to].class == StageClass::Tensor && self.stages[to].role == Role::Whole);
                let slots = tokens as f64 * pieces;
                for &to in &consumers {
                    let again = if self.stages[to].class == StageClass::Tensor { self.stages[to].firings_per_token } else { 1 };
                    self.stages[to].moved.messages += slots * again as f64;
                }
                self.stages[producer].moved.sent += Bytes(tensor.bytes() as f64);
                self.stages[producer].moved.messages += slots;
                self.queues.push(Queue {
                    tensor: id,
                    producer,
                    consumers,
                    payload: Bytes((tensor.bytes() as f64 / slots).ceil()),
                    depth: 2,
                    tokens: slots as u64,
                    whole: if whole { pieces as u32 } else { 1 },
                });
            }
        }
    }

    /// Operands that are not held come from memory anew for every token where the cache, slots apart, does not hold them all.
    fn reread(&mut self) {
        let all: Bytes = self.streamed.iter().map(|(_, bytes, _)| *bytes).sum();
        if all > self.platform.l2 - self.platform.slots {
            for &(at, bytes, tokens) in &self.streamed {
                self.stages[at].reread = bytes * (tokens - 1) as f64;
            }
        }
    }
}
