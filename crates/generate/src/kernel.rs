//! What models see of a configuration, read off the nest without building statements.

use crate::coords::{Coord, constants, coords};
use crate::expr::{AxisId, Combine, Scalar};
use crate::names::Names;
use crate::nest::{Item, LaneKind, Nest, Step, Tree};
use crate::placement::{Placement, image_format};
use smallvec::SmallVec;
use warpsight_ir::{
    AccessKind, AccessRef, Accesses, Affine, AffineBound, BinaryOp, BufferLayout, Bytes, Kernel, LaunchShape, LoadPath, Nest as Node,
    NestVar, OpClass, OpCounts, Scalar as Element, Space, StorePolicy, TensorPlace, TensorUse, VarId, VarKind,
};

/// The Kernel of a configuration; equal to `Kernel::of` of its Program.
pub fn kernel(nest: &Nest) -> Kernel {
    let mut reader = Reader::new(nest);
    let mut body = vec![];
    reader.trees(&nest.tree, &mut body);
    reader.variable.fill(None);
    let tile = nest.tile_points();
    let none: SmallVec<[bool; 5]> = SmallVec::from_elem(false, nest.expr.reduce.len());
    for at in &tile {
        let items = nest.epilogue_items(at);
        for item in &items.list {
            body.push(Node::Access(reader.load(item, &none)));
        }
        body.extend(nest.stores(at).iter().map(|s| Node::Access(reader.store(s, &none))));
    }
    let accesses = Accesses { vars: reader.vars, tensors: tensors(nest), nest: body };
    let order = &nest.choice.launch_order;
    let launch = LaunchShape {
        groups: order.iter().map(|&a| nest.splits[a].groups as u32).collect(),
        lanes: order.iter().map(|&a| nest.splits[a].lanes).filter(|&l| l > 1).collect(),
    };
    Kernel {
        name: nest.expr.name.clone(),
        accesses,
        launch,
        registers: registers(nest),
        local: Bytes::ZERO,
        ops: ops(nest, tile.len() as u64),
    }
}

struct Reader<'a> {
    nest: &'a Nest<'a>,
    names: Names<'a>,
    vars: Vec<NestVar>,
    /// Per axis, what a block of it adds to an affine form.
    blocks: Vec<SmallVec<[(VarId, i32); 2]>>,
    /// Bounds of the condition around everything: lanes that have work.
    idle: Vec<AffineBound>,
    /// Per template, the coordinates with constants left out; valid for the loops at hand.
    variable: Vec<Option<(SmallVec<[bool; 5]>, Coords)>>,
}

/// The coordinates of an access.
type Coords = SmallVec<[Affine; 4]>;

impl<'a> Reader<'a> {
    fn new(nest: &'a Nest<'a>) -> Self {
        let names = Names::new(nest.expr);
        let mut vars = vec![];
        let mut blocks = vec![SmallVec::new(); nest.expr.axes.len() + nest.expr.reduce.len()];
        for &a in &nest.choice.launch_order {
            let split = &nest.splits[a];
            blocks[a].push((VarId(vars.len() as u16), split.lanes as i32));
            vars.push(NestVar { name: names.group(AxisId(a)), kind: VarKind::Group, trips: Some(split.groups as u32) });
        }
        for &a in nest.choice.launch_order.iter().filter(|&&a| nest.splits[a].lanes > 1) {
            blocks[a].push((VarId(vars.len() as u16), 1));
            vars.push(NestVar { name: names.lane(AxisId(a)), kind: VarKind::Lane, trips: Some(nest.splits[a].lanes) });
        }
        let mut reader = Self { nest, names, vars, blocks, idle: vec![], variable: vec![None; nest.templates.len()] };
        let idle = nest.splits.iter().enumerate().filter(|(_, s)| s.idle_lanes());
        reader.idle = idle
            .map(|(a, s)| {
                let value = Coord { terms: [(AxisId(a), 1)].into_iter().collect(), constant: 0 };
                AffineBound { value: reader.affine(&value), extent: s.blocks, per_lane: false }
            })
            .collect();
        reader
    }

    fn affine(&self, coord: &Coord) -> Affine {
        let mut form = Affine::constant(coord.constant);
        for &(a, c) in &coord.terms {
            for &(var, scale) in &self.blocks[a.0] {
                form.add_term(var, c as i32 * scale);
            }
        }
        form
    }

    fn trees(&mut self, trees: &[Tree], out: &mut Vec<Node>) {
        for tree in trees {
            match tree {
                Tree::Loop { axis, trips, body, .. } => {
                    let var = VarId(self.vars.len() as u16);
                    self.vars.push(NestVar { name: self.names.block(*axis), kind: VarKind::Loop, trips: Some(*trips) });
                    self.blocks[axis.0] = SmallVec::from_slice(&[(var, 1)]);
                    self.variable.fill(None);
                    let mut nodes = vec![];
                    self.trees(body, &mut nodes);
                    out.push(Node::Loop { var, body: nodes });
                }
                Tree::Step(step) => {
                    for item in &step.items.list {
                        out.push(Node::Access(self.load(item, &step.looped)));
                    }
                }
            }
        }
    }

    /// Coordinates of an item: the variable part of its template's, computed once per loop, with its constants.
    fn coords(&mut self, item: &Item, looped: &[bool]) -> Coords {
        let template = &self.nest.templates[item.template];
        let placement = &self.nest.placements[template.tensor];
        let cached = match &self.variable[item.template] {
            Some((loops, coords)) if loops[..] == *looped => coords,
            _ => {
                let zero = SmallVec::<[i64; 5]>::from_elem(0, template.index.len());
                let coords = coords(placement, &template.index, &zero, |a| self.nest.scale(a, looped));
                let coords = coords.iter().map(|c| self.affine(c)).collect();
                &self.variable[item.template].insert((looped.into(), coords)).1
            }
        };
        let mut coords = cached.clone();
        for (form, constant) in coords.iter_mut().zip(constants(placement, &item.offsets)) {
            form.constant = constant;
        }
        coords
    }

    fn load(&mut self, item: &Item, looped: &[bool]) -> AccessRef {
        let coords = self.coords(item, looped);
        let template = &self.nest.templates[item.template];
        let placement = &self.nest.placements[template.tensor];
        let scale = |a| self.nest.scale(a, looped);
        let guard = self.nest.bounds(item, looped).into_iter().map(|(d, per_lane)| AffineBound {
            value: self.affine(&Coord::of(&template.index[d], item.offsets[d], scale)),
            extent: placement.extents()[d],
            per_lane,
        });
        AccessRef {
            tensor: template.tensor as u16,
            kind: AccessKind::Load,
            coords,
            width: if placement.is_image() { 1 } else { item.width },
            guard: self.idle.iter().cloned().chain(guard).collect(),
            path: LoadPath::Default,
            spread: None,
        }
    }

    fn store(&self, store: &crate::nest::StoreItem, looped: &[bool]) -> AccessRef {
        let placement = self.nest.output_placement();
        let scale = |a| self.nest.scale(a, looped);
        let guard = store.bounds.iter().map(|b| AffineBound { value: self.affine(&b.value), extent: b.extent, per_lane: b.per_lane });
        AccessRef {
            tensor: self.nest.expr.inputs.len() as u16,
            kind: AccessKind::Store(StorePolicy::WriteBack),
            coords: coords(placement, &self.nest.expr.store, &store.offsets, scale).iter().map(|c| self.affine(c)).collect(),
            width: if placement.is_image() { 1 } else { store.width },
            guard: self.idle.iter().cloned().chain(guard).collect(),
            path: LoadPath::Default,
            spread: None,
        }
    }
}

fn tensors(nest: &Nest) -> Vec<TensorUse> {
    let all = nest.expr.inputs.iter().chain([&nest.expr.output]);
    all.zip(&nest.placements)
        .map(|(tensor, placement)| {
            let place = match (placement, placement.image_size()) {
                (Placement::Buffer { order, extents }, _) => TensorPlace::Buffer {
                    space: Space::Global,
                    element: tensor.element,
                    dims: order.iter().map(|&d| extents[d]).collect(),
                    layout: BufferLayout::default(),
                },
                (_, size) => {
                    let (width, height) = size.unwrap_or_default();
                    TensorPlace::Image { format: image_format(tensor.element), width, height }
                }
            };
            TensorUse { name: tensor.name.clone(), place }
        })
        .collect()
}

/// 32-bit registers of one work-item by the definition of `warpsight_ir::derive::registers`: whatever is in scope at once.
pub fn registers(nest: &Nest) -> u32 {
    let lanes = nest.splits.iter().filter(|s| s.lanes > 1).count();
    // Group axes, lane axes and the block number along every axis.
    let axes = (2 * nest.splits.len() + lanes) as u32;
    let points: u32 = nest.splits.iter().map(|s| s.tile).product();
    let width = u32::from(nest.width());
    let accumulators = if nest.expr.reduce.is_empty() { 0 } else { points * width };
    let epilogue =
        nest.tile_points().iter().map(|at| nest.epilogue_items(at).list.iter().map(|i| u32::from(i.width)).sum::<u32>()).max().unwrap_or(0);
    axes + accumulators + tree_words(&nest.tree).max(epilogue + width)
}

fn tree_words(trees: &[Tree]) -> u32 {
    let words = |tree: &Tree| match tree {
        Tree::Loop { body, .. } => 1 + tree_words(body),
        Tree::Step(step) => step.words(),
    };
    trees.iter().map(words).max().unwrap_or(0)
}

/// Arithmetic of one work-item.
fn ops(nest: &Nest, points: u64) -> OpCounts {
    let mut ops = OpCounts::default();
    let counter = Counter { nest };
    count_trees(&counter, &nest.tree, points, &mut ops);
    if nest.expr.reduce.is_empty() {
        let acc = counter.count(&nest.expr.body, 1, points, &mut ops);
        counter.count(&nest.expr.epilogue, acc, points, &mut ops);
    } else {
        counter.count(&nest.expr.epilogue, nest.width(), points, &mut ops);
    }
    ops
}

fn count_trees(counter: &Counter, trees: &[Tree], times: u64, ops: &mut OpCounts) {
    for tree in trees {
        match tree {
            Tree::Loop { trips, body, .. } => count_trees(counter, body, times * u64::from(*trips), ops),
            Tree::Step(step) => counter.step(step, times, ops),
        }
    }
}

struct Counter<'a> {
    nest: &'a Nest<'a>,
}

impl Counter<'_> {
    fn step(&self, step: &Step, times: u64, ops: &mut OpCounts) {
        let times = times * step.points.len() as u64;
        let width = self.nest.width();
        match (self.nest.expr.combine, &self.nest.expr.body) {
            (Combine::Sum, Scalar::Binary(BinaryOp::Mul, a, b)) => {
                self.count(a, 1, times, ops);
                self.count(b, 1, times, ops);
                ops.add(OpClass::Fma, Element::F32, width, times);
            }
            (_, body) => {
                self.count(body, 1, times, ops);
                ops.add(OpClass::Float, Element::F32, width, times);
            }
        }
    }

    /// Counts the operations of a scalar and tells how wide its value is.
    fn count(&self, scalar: &Scalar, acc: u8, times: u64, ops: &mut OpCounts) -> u8 {
        match scalar {
            Scalar::Const(_) => 1,
            Scalar::Acc => acc,
            Scalar::Load { tensor, index, .. } => match self.nest.templates[self.nest.template(*tensor, index)].lanes {
                LaneKind::Same => 1,
                LaneKind::Consecutive | LaneKind::Apart => self.nest.width(),
            },
            Scalar::Unary(op, a) => {
                let width = self.count(a, acc, times, ops);
                ops.add(OpClass::of_unary(*op), Element::F32, width, times);
                width
            }
            // Conversions are counted nowhere.
            Scalar::Round(_, a) => self.count(a, acc, times, ops),
            Scalar::Binary(op, a, b) => {
                let width = self.count(a, acc, times, ops).max(self.count(b, acc, times, ops));
                ops.add(if *op == BinaryOp::Div { OpClass::Special } else { OpClass::Float }, Element::F32, width, times);
                width
            }
        }
    }
}
