//! What models see of a configuration, read off the nest without building statements.

use crate::expr::{AxisId, Combine, ScalarExpr};
use crate::layout::{Coord, image_format};
use crate::names::Names;
use crate::nest::{Body, Item, LaneKind, Nest, Places, Step, Steps, Tree, tree_words};
use crate::stores::{StoreBound, StoreItem};
use smallvec::SmallVec;
use warpsight_ir::{
    AccessKind, AccessRef, Accesses, Affine, AffineBound, BinaryOp, BufferLayout, Bytes, ImageKind, Kernel, LaunchShape, LoadPath,
    Nest as Node, NestVar, OpClass, OpCounts, Scalar, Space, StorePolicy, TensorPlace, TensorUse, VarId, VarKind,
};

/// The Kernel of a configuration; equal to `Kernel::of` of its Program. `None` where coordinates exceed 32 bits, as in no configuration
/// that is legal.
pub fn kernel(nest: &Nest, body: &Body) -> Option<Kernel> {
    let mut reader = Reader::new(nest)?;
    let mut nodes = vec![];
    reader.trees(
        &body.tree,
        &mut |reader, step: &Step, out| {
            step.items.list.iter().try_for_each(|item| {
                out.push(Node::Access(reader.load(item, &step.looped)?));
                Some(())
            })
        },
        &mut nodes,
    )?;
    let none: SmallVec<[bool; 5]> = SmallVec::from_elem(false, nest.expr.reduce.len());
    let stored = reader.substituted(&nest.places(&nest.expr.store, nest.output_layout())?)?;
    for at in &nest.tile_points() {
        let items = nest.epilogue_items(at);
        for item in &items.list {
            nodes.push(Node::Access(reader.load(item, &none)?));
        }
        for store in nest.stores(at) {
            nodes.push(Node::Access(reader.store(&store, &stored.coords)?));
        }
    }
    Some(reader.kernel(nodes, body.words, &nest.all_steps()))
}

/// The same as coarse counts need it. `None` where accesses are no product of what dimensions add.
pub fn outline(nest: &Nest) -> Option<Kernel> {
    let all = nest.all_steps();
    let mut reader = Reader::new(nest)?;
    let mut nodes = vec![];
    let mut words = vec![];
    let mut step = |reader: &mut Reader, steps: &Steps, out: &mut Vec<Node>| {
        let alike = nest.alike(steps)?;
        words.push(alike.iter().map(|own| own.times * u32::from(own.corners[0].width)).sum::<u32>() / steps.number() as u32);
        for own in &alike {
            let [first, last] = &own.corners;
            let one = reader.load(first, &steps.looped)?;
            if own.times > 1 {
                out.push(Node::Access(AccessRef { times: own.times - 1, ..one }));
                out.push(Node::Access(reader.load(last, &steps.looped)?));
            } else {
                out.push(Node::Access(one));
            }
        }
        Some(())
    };
    reader.trees(&all, &mut step, &mut nodes)?;
    // In the order in which steps were met.
    let mut words = words.into_iter();
    let loaded = tree_words(&all, &mut |_| words.next().unwrap_or(0));
    let none: SmallVec<[bool; 5]> = SmallVec::from_elem(false, nest.expr.reduce.len());
    let stored = reader.substituted(&nest.places(&nest.expr.store, nest.output_layout())?)?;
    let mut loaded_at_end = 0;
    for points in nest.points_alike()? {
        let corners = if points.times > 1 { &points.corners[..] } else { &points.corners[..1] };
        for (at, times) in corners.iter().zip([points.times - u32::from(points.times > 1), 1]) {
            let items = nest.epilogue_items(at);
            loaded_at_end = loaded_at_end.max(items.list.iter().map(|item| u32::from(item.width)).sum());
            for item in &items.list {
                nodes.push(Node::Access(AccessRef { times, ..reader.load(item, &none)? }));
            }
            for store in nest.stores(at) {
                nodes.push(Node::Access(AccessRef { times, ..reader.store(&store, &stored.coords)? }));
            }
        }
    }
    Some(reader.kernel(nodes, nest.words(loaded, loaded_at_end), &all))
}

struct Reader<'a> {
    nest: &'a Nest<'a>,
    names: Names<'a>,
    vars: Vec<NestVar>,
    /// The number of each axis's block; 0 outside its loop.
    blocks: Vec<Affine>,
    /// Bounds of the condition around everything: lanes that have work.
    idle: Vec<AffineBound>,
    /// Per template, what its loads share.
    places: Vec<Places>,
    /// The same in the variables of the loops at hand, where that was needed.
    variable: Vec<Option<Variable>>,
}

/// [`Places`] in the variables of a nest.
struct Variable {
    dims: SmallVec<[Affine; 4]>,
    coords: SmallVec<[Affine; 4]>,
}

impl<'a> Reader<'a> {
    fn new(nest: &'a Nest<'a>) -> Option<Self> {
        let names = Names::new(nest.expr);
        let mut vars = vec![];
        let mut blocks = vec![Affine::default(); nest.expr.axes.len() + nest.expr.reduce.len()];
        for &a in &nest.choice.launch_order {
            let split = &nest.splits[a];
            blocks[a].add_term(VarId(vars.len() as u16), split.lanes)?;
            vars.push(NestVar { name: names.group(AxisId(a)), kind: VarKind::Group, trips: Some(split.groups as u32) });
        }
        for &a in nest.choice.launch_order.iter().filter(|&&a| nest.splits[a].lanes > 1) {
            blocks[a].add_term(VarId(vars.len() as u16), 1)?;
            vars.push(NestVar { name: names.lane(AxisId(a)), kind: VarKind::Lane, trips: Some(nest.splits[a].lanes) });
        }
        let idle = nest.splits.iter().enumerate().filter(|(_, s)| s.idle_lanes());
        let idle = idle.map(|(a, s)| AffineBound { value: blocks[a].clone(), extent: s.blocks, per_lane: false }).collect();
        let places = nest.templates.iter().map(|t| nest.places(t.index, &nest.layouts[t.tensor])).collect::<Option<_>>()?;
        let variable = nest.templates.iter().map(|_| None).collect();
        Some(Self { nest, names, vars, blocks, idle, places, variable })
    }

    fn affine(&self, coord: &Coord) -> Option<Affine> {
        coord.substitute(|a| Some(&self.blocks[a.0]))
    }

    fn substituted(&self, places: &Places) -> Option<Variable> {
        let each = |forms: &[Coord]| forms.iter().map(|form| self.affine(form)).collect::<Option<_>>();
        Some(Variable { dims: each(&places.dims)?, coords: each(&places.coords)? })
    }

    fn kernel(self, nodes: Vec<Node>, words: u32, all: &[Tree<Steps>]) -> Kernel {
        let nest = self.nest;
        let order = &nest.choice.launch_order;
        Kernel {
            name: nest.expr.name.clone(),
            accesses: Accesses { vars: self.vars, tensors: tensors(nest), nest: nodes },
            launch: LaunchShape {
                groups: order.iter().map(|&a| nest.splits[a].groups as u32).collect(),
                lanes: order.iter().map(|&a| nest.splits[a].lanes).filter(|&l| l > 1).collect(),
            },
            registers: axes(nest) + words,
            kept: 0,
            local: Bytes::ZERO,
            ops: ops(nest, all),
        }
    }

    fn trees<S>(
        &mut self,
        trees: &[Tree<S>],
        step: &mut impl FnMut(&mut Self, &S, &mut Vec<Node>) -> Option<()>,
        out: &mut Vec<Node>,
    ) -> Option<()> {
        for tree in trees {
            match tree {
                Tree::Loop { axis, trips, body, .. } => {
                    let var = VarId(self.vars.len() as u16);
                    self.vars.push(NestVar { name: self.names.block(*axis), kind: VarKind::Loop, trips: Some(*trips) });
                    self.set(*axis, Affine::var(var));
                    let mut nodes = vec![];
                    self.trees(body, step, &mut nodes)?;
                    out.push(Node::Loop { var, body: nodes });
                    self.set(*axis, Affine::default());
                }
                Tree::Step(own) => step(self, own, out)?,
            }
        }
        Some(())
    }

    fn set(&mut self, axis: AxisId, block: Affine) {
        self.blocks[axis.0] = block;
        self.variable.fill_with(|| None);
    }

    fn load(&mut self, item: &Item, looped: &[bool]) -> Option<AccessRef> {
        let template = &self.nest.templates[item.template];
        let layout = &self.nest.layouts[template.tensor];
        if self.variable[item.template].is_none() {
            self.variable[item.template] = Some(self.substituted(&self.places[item.template])?);
        }
        let variable = self.variable[item.template].as_ref()?;
        let guard = self.nest.bounds(item, looped).into_iter().map(|(d, per_lane)| AffineBound {
            value: variable.dims[d].with_constant(item.offsets[d]),
            extent: layout.extents()[d],
            per_lane,
        });
        Some(AccessRef {
            tensor: template.tensor as u16,
            kind: AccessKind::Load,
            coords: variable.coords.iter().zip(layout.coords(&item.offsets)).map(|(form, constant)| form.with_constant(constant)).collect(),
            width: if layout.is_image() { 1 } else { item.width },
            guard: self.idle.iter().cloned().chain(guard).collect(),
            path: LoadPath::Default,
            indirect: None,
            branch: None,
            times: 1,
        })
    }

    fn store(&self, store: &StoreItem, coords: &[Affine]) -> Option<AccessRef> {
        let layout = self.nest.output_layout();
        let bound = |b: &StoreBound| Some(AffineBound { value: self.affine(&b.value)?, extent: b.extent, per_lane: b.per_lane });
        let guard = self.idle.iter().cloned().map(Some).chain(store.bounds.iter().map(bound));
        Some(AccessRef {
            tensor: self.nest.expr.inputs.len() as u16,
            kind: AccessKind::Store(StorePolicy::WriteBack),
            coords: coords.iter().zip(layout.coords(&store.offsets)).map(|(form, constant)| form.with_constant(constant)).collect(),
            width: if layout.is_image() { 1 } else { store.width },
            guard: guard.collect::<Option<_>>()?,
            path: LoadPath::Default,
            indirect: None,
            branch: None,
            times: 1,
        })
    }
}

fn tensors(nest: &Nest) -> Vec<TensorUse> {
    let all = nest.expr.inputs.iter().chain([&nest.expr.output]);
    all.zip(&nest.layouts)
        .map(|(tensor, layout)| {
            let place = match layout.image_size() {
                None => TensorPlace::Buffer {
                    space: Space::Global,
                    element: tensor.element,
                    dims: layout.axes().iter().map(|axis| axis.extent).collect(),
                    layout: BufferLayout::default(),
                },
                Some((width, height)) => {
                    TensorPlace::Image { kind: ImageKind::Image2d, format: image_format(tensor.element), width, height }
                }
            };
            TensorUse { name: tensor.name.clone(), place }
        })
        .collect()
}

/// Registers of group axes, lane axes and the block number along every axis. Together with what else is in scope at once these are the
/// registers of `warpsight_ir::derive::registers`.
fn axes(nest: &Nest) -> u32 {
    let lanes = nest.splits.iter().filter(|s| s.lanes > 1).count();
    (2 * nest.splits.len() + lanes) as u32
}

/// Arithmetic of one work-item.
fn ops(nest: &Nest, all: &[Tree<Steps>]) -> OpCounts {
    let points: u64 = nest.splits.iter().map(|split| u64::from(split.tile)).product();
    let mut ops = OpCounts::default();
    let counter = Counter { nest };
    count_trees(&counter, all, points, &mut ops);
    if nest.expr.reduce.is_empty() {
        let acc = counter.count(&nest.expr.body, (1, nest.width()), points, &mut ops);
        counter.count(&nest.expr.epilogue, (acc, nest.width()), points, &mut ops);
    } else {
        nest.folds().for_each(|lanes| ops.add(OpClass::Float, Scalar::F32, lanes, points));
        ops.add(OpClass::Float, Scalar::F32, 1, points * u64::from(nest.has_rest()));
        counter.count(&nest.expr.epilogue, (nest.out_width(), nest.out_width()), points, &mut ops);
    }
    ops
}

fn count_trees(counter: &Counter, trees: &[Tree<Steps>], times: u64, ops: &mut OpCounts) {
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
    fn step(&self, step: &Steps, times: u64, ops: &mut OpCounts) {
        let times = times * step.count();
        let width = step.width;
        match (self.nest.expr.combine, &self.nest.expr.body) {
            (Combine::Sum, ScalarExpr::Binary(BinaryOp::Mul, a, b)) => {
                self.count(a, (1, width), times, ops);
                self.count(b, (1, width), times, ops);
                ops.add(OpClass::Fma, Scalar::F32, width, times);
            }
            (_, body) => {
                self.count(body, (1, width), times, ops);
                ops.add(OpClass::Float, Scalar::F32, width, times);
            }
        }
    }

    /// Counts the operations of a scalar and tells how wide its value is, given how wide the accumulator and vectors of loads are.
    fn count(&self, scalar: &ScalarExpr, widths: (u8, u8), times: u64, ops: &mut OpCounts) -> u8 {
        match scalar {
            ScalarExpr::Const(_) => 1,
            ScalarExpr::Acc => widths.0,
            ScalarExpr::Load { tensor, index, .. } => match self.nest.templates[self.nest.template(*tensor, index)].lanes {
                LaneKind::Same => 1,
                LaneKind::Consecutive | LaneKind::Apart => widths.1,
            },
            ScalarExpr::Unary(op, a) => {
                let width = self.count(a, widths, times, ops);
                ops.add(OpClass::of_unary(*op), Scalar::F32, width, times);
                width
            }
            // Conversions are counted nowhere.
            ScalarExpr::Round(_, a) => self.count(a, widths, times, ops),
            ScalarExpr::Binary(op, a, b) => {
                let width = self.count(a, widths, times, ops).max(self.count(b, widths, times, ops));
                ops.add(if *op == BinaryOp::Div { OpClass::Special } else { OpClass::Float }, Scalar::F32, width, times);
                width
            }
        }
    }
}
