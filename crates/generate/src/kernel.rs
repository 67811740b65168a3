//! What models see of a configuration coarsely, read off the nest without building statements or lists of loads. What they see exactly is
//! derived from the Program.

mod across;
mod kept;

use crate::expr::{AxisId, Combine, Pass, ScalarExpr};
use crate::layout::{Coord, Place, image_format};
use crate::names::Names;
use crate::nest::local::Staged;
use crate::nest::loops::{Counts, Steps, Tree, tree_words};
use crate::nest::share;
use crate::nest::stage::{Chunk, Copied, Moves, Within};
use crate::nest::stores::{StoreBound, StoreItem};
use crate::nest::{Item, LaneKind, Nest, Places};
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::rc::Rc;
use warpsight_ir::{
    AccessKind, AccessRef, Accesses, Affine, AffineBound, Array, BinaryOp, BufferLayout, Bytes, ImageKind, Kernel, LaunchShape, Name,
    Nest as Node, NestVar, OpClass, OpCounts, Reused, Scalar, Space, StorePolicy, TensorPlace, TensorUse, UnaryOp, VarId, VarKind,
};

/// The Kernel of a configuration as coarse counts need it: accesses that differ in constants only are one or two, which stand for all.
/// `None` where accesses are no product of what dimensions add. Of plain expressions ([`TensorExpr::is_plain`](crate::TensorExpr::is_plain)).
/// `shared` is of all nests of one schedule, which differ in where tensors lie that are not copied.
pub fn outline(nest: &Nest, shared: &mut Shared) -> Option<Kernel> {
    let texels = nest.deep_in_texels();
    let steps = shared.steps[usize::from(texels)].get_or_insert_with(|| Rc::new(Stepped::of(nest)));
    let steps = Rc::clone(steps);
    let mut reader = Reader::new(nest, texels, shared)?;
    let mut nodes = Vec::with_capacity(reader.shared.nodes);
    let (kept, mut words) = (reader.kept()?, 0);
    for (number, pass) in nest.expr.passes().enumerate() {
        let own = number == nest.expr.before.len();
        // Results of reductions are there from their own on.
        let before = (number + usize::from(!own)) as u32 * nest.points() * nest.words_of(nest.out_width());
        let walked = reader.walk((number, pass), &steps.all, &mut nodes)?;
        words = words.max(before + if pass.combine == Combine::Each { walked } else { reader.results(pass, number, walked, &mut nodes)? });
    }
    reader.shared.nodes = nodes.len();
    if let Some(var) = reader.frame.round {
        nodes.extend(nest.schedule.meets().then_some(Node::Barrier));
        let body = std::mem::replace(&mut nodes, kept.nodes);
        nodes.push(Node::Loop { var, body });
        words += 1 + kept.words;
    }
    Some(reader.kernel(nodes, words, &steps))
}

/// What outlines of one schedule have in common: each part once for all places of the tensors that it depends on.
#[derive(Default)]
pub struct Shared {
    /// All variables.
    vars: Vec<NestVar>,
    frame: Option<Frame>,
    /// Without and with texels along the deep axis.
    steps: [Option<Rc<Stepped>>; 2],
    /// What is loaded by an index in a step.
    loads: BTreeMap<Loaded, Part>,
    /// What the n-th copy is made of: loads and stores.
    copies: Vec<[Vec<Node>; 2]>,
    /// What is made of combined values, by the pass and where what it loads and stores lies.
    results: Vec<(usize, Lying, Part)>,
    /// Arithmetic, by whether steps are of texels and how lanes of vectors lie in memory.
    ops: Vec<(bool, Lanes, OpCounts)>,
    /// Nodes of the last one.
    nodes: usize,
}

/// Nodes, and the registers of what they load.
struct Part {
    nodes: Vec<Node>,
    words: u32,
    /// Where rows are held, the registers of what is loaded for what is stored; `words` are those of what is held then.
    last: u32,
}

/// Where tensors lie.
type Lying = SmallVec<[Place; 4]>;

/// How lanes of vectors lie in memory, by template.
type Lanes = SmallVec<[LaneKind; 8]>;

/// Steps of the reduction, and how many updates wait for each other there.
struct Stepped {
    all: Vec<Tree<Steps>>,
    chain: u64,
}

impl Stepped {
    fn of(nest: &Nest) -> Self {
        let all = nest.all_steps();
        Self { chain: chain(nest, &all), all }
    }
}

/// Loads of a step: the pass, the number of the step in it, the template, where its tensor lies, whether steps are of texels.
type Loaded = (usize, usize, usize, Place, bool);

/// Groups and lanes as positions are made of them.
#[derive(Clone)]
struct Frame {
    /// The group of each parallel axis.
    groups: Vec<Affine>,
    /// The lane of each axis; of the deep one, in a loop inside of a copy, the block of what was copied.
    lanes: Vec<Affine>,
    /// The variable of the first digit of lanes.
    digits: usize,
    /// The number of each axis's block; 0 outside its loop.
    blocks: Vec<Affine>,
    /// Bounds of the condition around everything: lanes that have work.
    idle: Vec<AffineBound>,
    /// How many of them are around all rounds.
    outside: usize,
    /// The variable of the loop over rounds.
    round: Option<VarId>,
}

/// Accesses that differ in constants only, by the first and the last of so many.
fn both(first: AccessRef, last: Option<AccessRef>, times: u32, out: &mut Vec<Node>) {
    match last {
        Some(last) => out.extend([AccessRef { times: times - 1, ..first }, last].map(Node::Access)),
        None => out.push(Node::Access(first)),
    }
}

struct Reader<'a> {
    nest: &'a Nest<'a>,
    shared: &'a mut Shared,
    /// Whether steps are of texels along the deep axis.
    texels: bool,
    names: Names<'a>,
    /// Variables so far.
    vars: usize,
    /// Copies so far.
    copies: usize,
    frame: Frame,
    /// Per template, what its loads share in the variables of the loops at hand, where that was needed.
    variable: Vec<Option<Variable>>,
}

/// [`Places`] in the variables of a nest.
struct Variable {
    dims: SmallVec<[Affine; 4]>,
    coords: SmallVec<[Affine; 4]>,
}

impl<'a> Reader<'a> {
    fn new(nest: &'a Nest<'a>, texels: bool, shared: &'a mut Shared) -> Option<Self> {
        let names = Names::new(nest.expr);
        if shared.frame.is_none() {
            shared.frame = Some(Frame::of(nest, &names, &mut shared.vars)?);
        }
        let frame = shared.frame.clone()?;
        let variable = nest.templates.iter().map(|_| None).collect();
        let vars = nest.launched.len() + nest.lane_parts.len() + usize::from(frame.round.is_some());
        Some(Self { nest, shared, texels, names, vars, copies: 0, frame, variable })
    }

    /// The next variable, of a loop.
    fn loop_var(&mut self, trips: u32, name: impl FnOnce(&Names) -> Name) -> VarId {
        self.vars += 1;
        if self.shared.vars.len() < self.vars {
            self.shared.vars.push(NestVar { name: name(&self.names), kind: VarKind::Loop, trips: Some(trips) });
        }
        VarId(self.vars as u16 - 1)
    }

    /// The steps of a pass: the registers of what they load, and of loops.
    fn walk(&mut self, (number, pass): (usize, Pass), all: &[Tree<Steps>], out: &mut Vec<Node>) -> Option<u32> {
        let (nest, mut words) = (self.nest, vec![]);
        let mut loads = nest.loads_of(pass);
        loads.retain(|&mut t| !nest.schedule.keeps(nest.templates[t].tensor));
        let mut step = |reader: &mut Self, steps: &Steps, copied: Option<&Chunk>, out: &mut Vec<Node>| {
            let mut loaded = 0;
            for &t in &loads {
                let place = nest.schedule.places[nest.templates[t].tensor];
                let key = (number, words.len(), t, place, reader.texels);
                if !reader.shared.loads.contains_key(&key) {
                    let own = reader.loads(t, steps, copied)?;
                    reader.shared.loads.insert(key, own);
                }
                let own = reader.shared.loads.get(&key)?;
                out.extend_from_slice(&own.nodes);
                loaded += own.words;
            }
            let stored = pass.combine == Combine::Each || pass.kept;
            // What is narrower than accumulators is made, then folded.
            let combined = pass.combine != Combine::Each;
            let folds: u32 = nest.narrower(steps.width).filter(|_| combined).map(|lanes| nest.words_of(lanes)).sum();
            let made = match stored {
                true => nest.stored_words(steps.width),
                false if folds > 0 => nest.words_of(steps.width),
                false => 0,
            };
            words.push(loaded / steps.number() as u32 + made + folds);
            if stored { reader.store_each(steps, out) } else { Some(()) }
        };
        self.trees(all, None, &mut step, out)?;
        // In the order in which steps were met.
        let mut words = words.into_iter();
        let copied = nest.staged.iter().map(|own| own.words).sum();
        Some(tree_words(all, copied, &mut |_| words.next().unwrap_or(0)))
    }

    /// What steps load by one index, all of it.
    fn loads(&mut self, template: usize, steps: &Steps, copied: Option<&Chunk>) -> Option<Part> {
        let (mut nodes, mut words) = (vec![], 0);
        for own in &self.nest.alike(template, steps)? {
            let [first, last] = &own.corners;
            words += own.times * self.nest.item_words(first);
            let one = self.load(first, &steps.looped, copied)?;
            let last = if own.times > 1 { Some(self.load(last, &steps.looped, copied)?) } else { None };
            both(one, last, own.times, &mut nodes);
        }
        Some(Part { nodes, words, last: 0 })
    }

    /// What steps store that have a result for each of their points.
    fn store_each(&self, steps: &Steps, out: &mut Vec<Node>) -> Option<()> {
        let nest = self.nest;
        let stored = self.substituted(&nest.places(&nest.expr.store, nest.output_layout())?)?;
        let [first, last] = steps.corners();
        for points in nest.points_alike(&[])? {
            let times = points.times * steps.count() as u32;
            let ends = nest.stores(&points.corners[1], &last, steps.width);
            for (one, end) in nest.stores(&points.corners[0], &first, steps.width).iter().zip(&ends) {
                both(self.store(one, &stored.coords)?, if times > 1 { Some(self.store(end, &stored.coords)?) } else { None }, times, out);
            }
        }
        Some(())
    }

    /// What is made of combined values of the pass of a number, and, of the expression's own, stored: the registers of all that the reduction holds.
    fn results(&mut self, pass: Pass, number: usize, loaded: u32, out: &mut Vec<Node>) -> Option<u32> {
        let nest = self.nest;
        let own = number == nest.expr.before.len();
        let scalars: &[&ScalarExpr] = if nest.expr.reduce.is_empty() { &[pass.body, pass.epilogue] } else { &[pass.epilogue] };
        let mut places = Lying::new();
        let stored = nest.expr.across.as_ref().map(|across| &across.epilogue);
        scalars
            .iter()
            .copied()
            .chain(stored)
            .for_each(|scalar| scalar.loads(&mut |tensor, _, _| places.push(nest.schedule.places[tensor])));
        places.push(nest.schedule.places[nest.expr.inputs.len()]);
        let at = match self.shared.results.iter().position(|known| known.0 == number && known.1 == places) {
            Some(at) => at,
            None => {
                let found = match &nest.expr.across {
                    Some(across) => self.rows(across, scalars)?,
                    None => self.ended(number, scalars)?,
                };
                self.shared.results.push((number, places, found));
                self.shared.results.len() - 1
            }
        };
        let Part { nodes, words, last } = &self.shared.results[at].2;
        out.extend_from_slice(nodes);
        Some(match &nest.expr.across {
            Some(across) => nest.row_words(across, loaded, (*words, *last)),
            None => nest.words(loaded, *words, own),
        })
    }

    /// The same where tensors lie as they do now.
    fn ended(&mut self, number: usize, scalars: &[&ScalarExpr]) -> Option<Part> {
        let (nest, mut out) = (self.nest, vec![]);
        let own = number == nest.expr.before.len();
        let stored = self.substituted(&nest.places(&nest.expr.store, nest.output_layout())?)?;
        let around = self.frame.idle.len();
        if let Some(partials) = nest.partials() {
            self.combine_lanes(&partials, &mut out);
            out.extend((!own).then_some(Node::Barrier));
            self.partial(&partials, (None, own.then_some(1)), AccessKind::Load, &mut out);
            match own {
                true => self.frame.idle.push(self.below(partials.along, 1)),
                false => out.extend(nest.expr.combines_after(number).then_some(Node::Barrier)),
            }
        }
        let loaded_at_end = self.at_points(scalars, own.then_some(&stored), &mut out)?;
        self.frame.idle.truncate(around);
        Some(Part { nodes: out, words: loaded_at_end, last: 0 })
    }

    fn affine(&self, coord: &Coord) -> Option<Affine> {
        coord.substitute(|a| Some(&self.frame.blocks[a.0]))
    }

    fn substituted(&self, places: &Places) -> Option<Variable> {
        let each = |forms: &[Coord]| forms.iter().map(|form| self.affine(form)).collect::<Option<_>>();
        Some(Variable { dims: each(&places.dims)?, coords: each(&places.coords)? })
    }

    fn kernel(self, nodes: Vec<Node>, words: u32, steps: &Stepped) -> Kernel {
        let nest = self.nest;
        let order = &nest.launched;
        let arrays = nest.local_arrays();
        let lanes: Lanes = nest.templates.iter().map(|template| template.lanes).collect();
        let known = &mut self.shared.ops;
        let at = known.iter().position(|own| own.0 == self.texels && own.1 == lanes).unwrap_or_else(|| {
            let rounds = nest.splits.iter().map(|split| split.rounds as u64).product();
            known.push((self.texels, lanes, ops(nest, &steps.all).times(rounds)));
            known.len() - 1
        });
        Kernel {
            name: nest.expr.name.clone(),
            accesses: Accesses { vars: self.shared.vars.clone(), tensors: tensors(nest, &arrays), nest: nodes },
            launch: LaunchShape {
                groups: order.iter().map(|&a| nest.splits[a].launched() as u32).collect(),
                lanes: nest.lane_parts.iter().map(|part| part.size).collect(),
            },
            registers: axes(nest) + words,
            kept: 0,
            reused: Reused::default(),
            local: arrays.iter().map(|own| Bytes(own.len() as f64 * f64::from(own.element.bytes()))).sum(),
            ops: self.shared.ops[at].2.clone(),
            chain: Some(steps.chain * nest.splits.iter().map(|split| split.rounds as u64).product::<u64>()),
            known: nest.expr.known_inputs(),
        }
    }

    fn trees<'t>(
        &mut self,
        trees: &'t [Tree<Steps>],
        mut copied: Option<&'t Chunk>,
        step: &mut impl FnMut(&mut Self, &Steps, Option<&Chunk>, &mut Vec<Node>) -> Option<()>,
        out: &mut Vec<Node>,
    ) -> Option<()> {
        for tree in trees {
            match tree {
                Tree::Loop { axis, trips, counts, body, .. } => {
                    let var = self.loop_var(*trips, |names| match counts {
                        Counts::Blocks => names.block(*axis),
                        Counts::Lanes(_) | Counts::Parts => names.trip(*axis),
                        Counts::Inside { .. } => names.inner(*axis),
                    });
                    let own = Affine::var(var);
                    let around = self.frame.blocks[axis.0].clone();
                    let block = match *counts {
                        // Of parts the trip, until a loop inside counts blocks.
                        Counts::Blocks | Counts::Parts => own,
                        Counts::Lanes(lanes) => own.times(lanes.into())?.plus(&self.frame.lanes[axis.0], 1)?,
                        Counts::Inside { first, of } => {
                            self.frame.lanes[axis.0] = own.clone();
                            own.plus(&around, of.into())?.offset(first.unwrap_or(0).into())?
                        }
                    };
                    self.set(*axis, block);
                    let mut nodes = vec![];
                    self.trees(body, copied, step, &mut nodes)?;
                    out.push(Node::Loop { var, body: nodes });
                    self.set(*axis, around);
                }
                Tree::Lanes { axis, first, lanes, body } => {
                    if let Some(first) = first {
                        self.set(*axis, self.frame.lanes[axis.0].clone().offset((*first).into())?);
                    }
                    let some = *lanes < self.nest.reduction_lanes;
                    self.frame.idle.extend(some.then(|| self.below(*axis, *lanes)));
                    self.trees(body, copied, step, out)?;
                    self.frame.idle.truncate(self.frame.idle.len() - usize::from(some));
                    self.set(*axis, Affine::default());
                }
                Tree::Step(own) => step(self, own, copied, out)?,
                Tree::Copy(own) => {
                    copied = Some(own);
                    out.extend(own.again.then_some(Node::Barrier));
                    let [loads, stores] = self.copied(own)?;
                    if own.ahead.is_none() {
                        out.extend_from_slice(loads);
                    }
                    out.extend_from_slice(stores);
                    out.push(Node::Barrier);
                    if own.ahead.is_some() {
                        out.extend_from_slice(loads);
                    }
                }
                Tree::Ahead { chunk, body } => {
                    out.extend_from_slice(&self.copied(&chunk.first())?[0]);
                    self.trees(body, copied, step, out)?;
                }
            }
        }
        Some(())
    }

    /// What the next copy is made of, in the order of the trees: loads and stores.
    fn copied(&mut self, chunk: &Chunk) -> Option<&[Vec<Node>; 2]> {
        self.copies += 1;
        if self.shared.copies.len() < self.copies {
            let [mut loads, mut stores] = [vec![], vec![]];
            (0..self.nest.staged.len()).try_for_each(|n| self.copy(n, chunk, &mut loads, &mut stores))?;
            self.shared.copies.push([loads, stores]);
        }
        self.shared.copies.get(self.copies - 1)
    }

    /// Whether a lane is one of the first.
    fn below(&self, axis: AxisId, lanes: u32) -> AffineBound {
        AffineBound { value: self.frame.lanes[axis.0].clone(), extent: lanes.into(), per_lane: false }
    }

    /// What lanes do to combine what they have.
    fn combine_lanes(&self, own: &share::Partials, out: &mut Vec<Node>) {
        let store = AccessKind::Store(StorePolicy::WriteBack);
        self.partial(own, (Some(0), None), store, out);
        for half in own.halves() {
            out.push(Node::Barrier);
            for behind in [0, half] {
                self.partial(own, (Some(behind), Some(half)), AccessKind::Load, out);
            }
            self.partial(own, (Some(0), Some(half)), store, out);
        }
    }

    /// Accesses to what the lane so far behind, or the first one, has of each result, by so many of the lanes.
    fn partial(&self, own: &share::Partials, (behind, lanes): (Option<u32>, Option<u32>), kind: AccessKind, out: &mut Vec<Node>) {
        let lane = |a: &AxisId| match behind {
            Some(behind) if *a == own.along => self.frame.lanes[a.0].clone().with_constant(behind.into()),
            None if *a == own.along => Affine::default(),
            _ => self.frame.lanes[a.0].clone(),
        };
        let access = |n: u32| {
            let coords = std::iter::once(Affine::constant(n.into())).chain(own.axes.iter().map(lane)).chain([Affine::default()]).collect();
            let guard = lanes.map(|lanes| self.below(own.along, lanes)).into_iter().collect();
            AccessRef::plain(self.local(self.nest.staged.len()), kind, coords, own.width, guard)
        };
        both(access(0), (own.results > 1).then(|| access(own.results - 1)), own.results, out);
    }

    /// The number of a local array among the tensors, behind inputs and output.
    fn local(&self, array: usize) -> u16 {
        (self.nest.expr.inputs.len() + 1 + array) as u16
    }

    /// What copies a tensor: loads and stores.
    fn copy(&self, n: usize, chunk: &Chunk, loads: &mut Vec<Node>, stored: &mut Vec<Node>) -> Option<()> {
        let own = &self.nest.staged[n];
        let copies = self.nest.copies(own, chunk)?;
        let number = copies.number() as u32;
        let (first, last) = (&copies.at(0)?, &copies.at(i64::from(number) - 1)?);
        let access = |tensor: u16, kind, coords: &[Affine<Moves>], width, bounds: &[&[Within]]| {
            let guard = bounds
                .iter()
                .flat_map(|own| own.iter())
                .map(|(value, extent)| Some(AffineBound { value: self.moved(value)?, extent: *extent, per_lane: false }));
            let coords = coords.iter().map(|form| self.moved(form)).collect::<Option<_>>()?;
            Some(AccessRef::plain(tensor, kind, coords, width, guard.collect::<Option<_>>()?))
        };
        let tensor = self.nest.templates[own.template].tensor as u16;
        let load = |own: &Copied| {
            let width = if self.nest.layouts[usize::from(tensor)].is_image() { 1 } else { own.width };
            let own = access(tensor, AccessKind::Load, &own.load, width, &[&own.part, &own.tensor])?;
            Some(AccessRef { ahead: chunk.ahead.is_some(), ..own })
        };
        both(load(first)?, if number > 1 { Some(load(last)?) } else { None }, number, loads);
        let local = self.local(n);
        let store = |own: &Copied, at: usize| {
            let put = own.stores.get(at)?;
            access(local, AccessKind::Store(StorePolicy::WriteBack), &put.to, put.width, &[&own.part])
        };
        let stores = number * first.stores.len() as u32;
        both(store(first, 0)?, if stores > 1 { Some(store(last, last.stores.len() - 1)?) } else { None }, stores, stored);
        Some(())
    }

    fn moved(&self, form: &Affine<Moves>) -> Option<Affine> {
        form.substitute(|moves| {
            Some(match moves {
                Moves::Group(a) => self.frame.groups[a].clone(),
                Moves::Lane(n) => Affine::var(VarId((self.frame.digits + n) as u16)),
                Moves::Trip(a) => self.frame.blocks[a.0].clone(),
            })
        })
    }

    /// A load of what was copied.
    fn read(&self, (n, own): (usize, &Staged), chunk: &Chunk, item: &Item, looped: &[bool]) -> Option<AccessRef> {
        let variable = self.nest.read_from(own, looped);
        let parallel = self.nest.splits.len();
        let lane = |a: AxisId| a.0 < parallel || Some(a) == self.nest.deep;
        let here = |form: &Coord| form.substitute(|a| Some(if lane(a) { &self.frame.lanes[a.0] } else { &self.frame.blocks[a.0] }));
        let constants = self.nest.read_at(own, chunk, &item.offsets, looped);
        let coords =
            variable.iter().zip(constants).map(|(form, constant)| Some(here(form)?.with_constant(constant))).collect::<Option<_>>()?;
        Some(AccessRef::plain(self.local(n), AccessKind::Load, coords, item.width, vec![]))
    }

    fn set(&mut self, axis: AxisId, block: Affine) {
        self.frame.blocks[axis.0] = block;
        self.variable.fill_with(|| None);
    }

    fn load(&mut self, item: &Item, looped: &[bool], copied: Option<&Chunk>) -> Option<AccessRef> {
        let staged = self.nest.staged.iter().enumerate().find(|own| own.1.template == item.template);
        if let Some((own, chunk)) = staged.zip(copied) {
            return self.read(own, chunk, item, looped);
        }
        let template = &self.nest.templates[item.template];
        let layout = &self.nest.layouts[template.tensor];
        if self.variable[item.template].is_none() {
            self.variable[item.template] = Some(self.substituted(&self.nest.places(template.index, layout)?)?);
        }
        let variable = self.variable[item.template].as_ref()?;
        let guard = self.nest.bounds(item, looped).into_iter().map(|(d, per_lane)| AffineBound {
            value: variable.dims[d].with_constant(variable.dims[d].constant + item.offsets[d]),
            extent: layout.extents()[d],
            per_lane,
        });
        let coords = variable
            .coords
            .iter()
            .zip(layout.coords(&item.offsets))
            .map(|(form, constant)| form.with_constant(form.constant + constant))
            .collect();
        let width = if layout.is_image() { 1 } else { item.width };
        Some(AccessRef::plain(
            template.tensor as u16,
            AccessKind::Load,
            coords,
            width,
            self.frame.idle.iter().cloned().chain(guard).collect(),
        ))
    }

    fn store(&self, store: &StoreItem, coords: &[Affine]) -> Option<AccessRef> {
        let layout = self.nest.output_layout();
        let bound = |b: &StoreBound| Some(AffineBound { value: self.affine(&b.value)?, extent: b.extent, per_lane: b.per_lane });
        let guard = self.frame.idle.iter().cloned().map(Some).chain(store.bounds.iter().map(bound));
        let coords =
            coords.iter().zip(layout.coords(&store.offsets)).map(|(form, constant)| form.with_constant(form.constant + constant)).collect();
        let width = if layout.is_image() { 1 } else { store.width };
        Some(AccessRef::plain(
            self.nest.expr.inputs.len() as u16,
            AccessKind::Store(StorePolicy::WriteBack),
            coords,
            width,
            guard.collect::<Option<_>>()?,
        ))
    }
}

impl Frame {
    /// Of a nest, whose groups and lanes are the first variables.
    fn of(nest: &Nest, names: &Names, vars: &mut Vec<NestVar>) -> Option<Self> {
        let mut blocks = vec![Affine::default(); nest.expr.axes.len() + nest.expr.reduce.len()];
        let (mut groups, mut lanes) = (vec![Affine::default(); nest.splits.len()], blocks.clone());
        for &a in &nest.launched {
            let split = &nest.splits[a];
            groups[a].add_term(VarId(vars.len() as u16), split.rounds)?;
            vars.push(NestVar { name: names.group(AxisId(a)), kind: VarKind::Group, trips: Some(split.launched() as u32) });
        }
        let digits = vars.len();
        for (n, part) in nest.lane_parts.iter().enumerate() {
            lanes[part.axis].add_term(VarId(vars.len() as u16), part.below)?;
            vars.push(NestVar { name: names.digit(&nest.lane_parts, n), kind: VarKind::Lane, trips: Some(part.size) });
        }
        let round = nest.round().map(|a| {
            vars.push(NestVar { name: names.round(a), kind: VarKind::Loop, trips: Some(nest.splits[a.0].rounds as u32) });
            (a, VarId(vars.len() as u16 - 1))
        });
        if let Some((a, var)) = round {
            groups[a.0].add_term(var, 1)?;
        }
        for (a, split) in nest.splits.iter().enumerate() {
            blocks[a].add(&groups[a], split.lanes.into())?;
            blocks[a].add(&lanes[a], 1)?;
        }
        let goes = |a: usize| round.is_some_and(|own| own.0.0 == a);
        let (inside, outside): (Vec<usize>, Vec<usize>) =
            (0..nest.splits.len()).filter(|&a| nest.splits[a].idle_lanes()).partition(|&a| goes(a));
        let bound = |&a: &usize| AffineBound { value: blocks[a].clone(), extent: nest.splits[a].blocks, per_lane: false };
        let idle = outside.iter().chain(&inside).map(bound).collect();
        Some(Self { groups, lanes, digits, blocks, idle, outside: outside.len(), round: round.map(|own| own.1) })
    }
}

fn tensors(nest: &Nest, arrays: &[Array]) -> Vec<TensorUse> {
    let all = nest.expr.inputs.iter().chain([&nest.expr.output]);
    all.zip(&nest.layouts)
        .map(|(tensor, layout)| {
            let place = match layout.image_size() {
                None => TensorPlace::Buffer {
                    space: Space::Global,
                    element: tensor.element.stored(),
                    dims: layout.axes().iter().map(|axis| axis.extent).collect(),
                    layout: BufferLayout::default(),
                },
                Some((width, height)) => {
                    TensorPlace::Image { kind: ImageKind::Image2d, format: image_format(tensor.element).stored(), width, height }
                }
            };
            TensorUse { name: tensor.name.clone(), place }
        })
        .chain(arrays.iter().map(|array| {
            let dims = array.dims.iter().map(|&extent| extent.into()).collect();
            let place = TensorPlace::Buffer { space: Space::Local, element: array.element.stored(), dims, layout: BufferLayout::default() };
            TensorUse { name: array.name.clone(), place }
        }))
        .collect()
}

/// Registers of group axes, lane axes and the block number along every axis. Together with what else is in scope at once these are the
/// registers of `warpsight_ir::derive::registers`.
fn axes(nest: &Nest) -> u32 {
    let parts = |a: usize| nest.lane_parts.iter().filter(|part| part.axis == a).count();
    let cut = (0..nest.splits.len()).filter(|&a| parts(a) > 1).count();
    (2 * nest.splits.len() + nest.lane_parts.len() + cut) as u32
}

/// Arithmetic of one work-item.
fn ops(nest: &Nest, all: &[Tree<Steps>]) -> OpCounts {
    let points = u64::from(nest.points());
    let mut ops = OpCounts::default();
    let own = nest.out_width();
    // Of rows that are held what is made across them.
    let halves = nest.partials().filter(|_| nest.expr.across.is_none()).map_or(0, |own| own.halves().count() as u64);
    for pass in nest.expr.passes() {
        let counter = Counter { nest, pass };
        match nest.schedule.known.filter(|_| pass.coefficients.is_some()) {
            Some(known) => {
                let terms = points / u64::from(known.points) * u64::from(known.terms);
                counter.count(pass.body, (1, nest.width()), terms, &mut ops);
                ops.add(OpClass::Fma, nest.number, nest.width(), terms);
            }
            None => count_trees(&counter, all, points, &mut ops),
        }
        if nest.expr.reduce.is_empty() {
            let acc = counter.count(pass.body, (1, nest.width()), points, &mut ops);
            counter.count(pass.epilogue, (acc, nest.width()), points, &mut ops);
        } else if pass.combine != Combine::Each {
            ops.add(OpClass::Float, nest.number, own, points * halves);
            ops.add(OpClass::Float, nest.number, nest.width(), points * u64::from(nest.schedule.accumulators - 1));
            nest.folds().for_each(|lanes| ops.add(OpClass::Float, nest.number, lanes, points));
            // Written wherever the accumulator is, or once, where lanes have others to combine it with.
            let mut uses = 0;
            pass.epilogue.each(&mut |own| uses += u64::from(*own == ScalarExpr::Acc));
            let uses = if nest.reduction_lane().is_some() { 1 } else { uses };
            ops.add(OpClass::Float, nest.number, 1, if nest.has_rest() { points * uses } else { 0 });
            counter.count(pass.epilogue, (own, own), points, &mut ops);
        }
        if let Some(across) = &nest.expr.across {
            across::row_ops(&counter, across, &mut ops);
        }
    }
    ops
}

/// How many updates of accumulators wait for each other: those of the passes one after another.
fn chain(nest: &Nest, all: &[Tree<Steps>]) -> u64 {
    let reductions = nest.expr.passes().filter(|pass| pass.combine != Combine::Each && !nest.expr.reduce.is_empty());
    let mut updates = SmallVec::from_elem(0, nest.schedule.accumulators as usize + 1);
    count_updates(nest, all, 1, &mut updates);
    let most = updates.into_iter().max().unwrap_or(0);
    let known = |pass: &Pass| nest.schedule.known.filter(|_| pass.coefficients.is_some());
    let updates = reductions.map(|pass| known(&pass).map_or(most, |known| known.longest.into())).sum();
    nest.expr.across.as_ref().map_or(updates, |own| across::row_chain(nest, own, updates))
}

/// Counts the updates of each accumulator of a point; of what makes no whole vector last.
fn count_updates(nest: &Nest, trees: &[Tree<Steps>], times: u64, updates: &mut SmallVec<[u64; 5]>) {
    for tree in trees {
        match tree {
            Tree::Loop { trips, body, .. } => count_updates(nest, body, times * u64::from(*trips), updates),
            Tree::Lanes { body, .. } | Tree::Ahead { body, .. } => count_updates(nest, body, times, updates),
            Tree::Step(steps) if steps.width != nest.width() => updates[nest.schedule.accumulators as usize] += times * steps.count(),
            Tree::Step(steps) if nest.schedule.accumulators == 1 => updates[0] += times * steps.count(),
            Tree::Step(steps) => steps.points().iter().flatten().for_each(|point| updates[nest.turn(point) as usize] += times),
            Tree::Copy(_) => {}
        }
    }
}

fn count_trees(counter: &Counter, trees: &[Tree<Steps>], times: u64, ops: &mut OpCounts) {
    for tree in trees {
        match tree {
            Tree::Loop { trips, body, .. } => count_trees(counter, body, times * u64::from(*trips), ops),
            Tree::Lanes { body, .. } => count_trees(counter, body, times, ops),
            Tree::Step(step) => counter.step(step, times, ops),
            Tree::Ahead { body, .. } => count_trees(counter, body, times, ops),
            Tree::Copy(_) => {}
        }
    }
}

struct Counter<'a> {
    nest: &'a Nest<'a>,
    pass: Pass<'a>,
}

impl Counter<'_> {
    fn step(&self, step: &Steps, times: u64, ops: &mut OpCounts) {
        let width = step.width;
        let times = times * step.count();
        let narrower = || self.nest.narrower(width);
        match (self.pass.combine, self.pass.body) {
            (Combine::Sum, ScalarExpr::Binary(BinaryOp::Mul, a, b)) if !self.pass.kept && narrower().next().is_none() => {
                self.count(a, (1, width), times, ops);
                self.count(b, (1, width), times, ops);
                ops.add(OpClass::Fma, self.nest.number, width, times);
            }
            (Combine::Each, body) => {
                self.count(body, (1, width), times, ops);
                self.count(self.pass.epilogue, (width, width), times, ops);
            }
            (_, body) => {
                self.count(body, (1, width), times, ops);
                narrower().for_each(|lanes| ops.add(OpClass::Float, self.nest.number, lanes, times));
                ops.add(OpClass::Float, self.nest.number, if narrower().next().is_some() { 1 } else { width }, times);
            }
        }
    }

    /// Counts the operations of a scalar, a number, and tells how wide its value is, given how wide the accumulator and vectors of loads are.
    fn count(&self, scalar: &ScalarExpr, widths: (u8, u8), times: u64, ops: &mut OpCounts) -> u8 {
        let (width, truth) = self.value(scalar, widths, times, ops);
        // 1 or 0 is chosen.
        ops.add(OpClass::Float, self.nest.number, width, if truth { times } else { 0 });
        width
    }

    /// The same of a number or a truth value; which it is.
    fn value(&self, scalar: &ScalarExpr, widths: (u8, u8), times: u64, ops: &mut OpCounts) -> (u8, bool) {
        match scalar {
            ScalarExpr::Const(_) => (1, false),
            ScalarExpr::Acc => (widths.0, false),
            ScalarExpr::Before(_) => {
                (self.nest.expr.across.as_ref().map_or(self.nest.out_width(), |own| self.nest.row_width(own.along)), false)
            }
            ScalarExpr::Load { tensor, index, .. } => match self.nest.templates[self.nest.template(*tensor, index)].lanes {
                LaneKind::Same => (1, false),
                LaneKind::Consecutive | LaneKind::Apart => (widths.1, false),
            },
            ScalarExpr::Unary(UnaryOp::Not, a) => (self.truth(a, widths, times, ops), true),
            ScalarExpr::Unary(op, a) => {
                let width = self.count(a, widths, times, ops);
                ops.add(OpClass::of_unary(*op), self.nest.number, width, times);
                (width, false)
            }
            // Conversions are counted nowhere.
            ScalarExpr::Round(_, a) => (self.count(a, widths, times, ops), false),
            // Nor is logic.
            ScalarExpr::Binary(BinaryOp::And | BinaryOp::Or, a, b) => {
                (self.truth(a, widths, times, ops).max(self.truth(b, widths, times, ops)), true)
            }
            ScalarExpr::Binary(op, a, b) => {
                let width = self.count(a, widths, times, ops).max(self.count(b, widths, times, ops));
                let special = matches!(op, BinaryOp::Div | BinaryOp::Rem);
                ops.add(if special { OpClass::Special } else { OpClass::Float }, self.nest.number, width, times);
                (width, op.is_comparison())
            }
            ScalarExpr::Select(condition, a, b) => {
                let truth = scalar.kind(&self.nest.expr.inputs) == Scalar::Bool;
                let mut side = |own| if truth { self.truth(own, widths, times, ops) } else { self.count(own, widths, times, ops) };
                let sides = side(a).max(side(b));
                let width = self.truth(condition, widths, times, ops).max(sides);
                ops.add(OpClass::Float, self.nest.number, width, if truth { 0 } else { times });
                (width, truth)
            }
            // There are none in what has outlines.
            ScalarExpr::Position(_) | ScalarExpr::Gather { .. } => (1, false),
        }
    }

    /// The same of a truth value, or of whether a number is not 0.
    fn truth(&self, scalar: &ScalarExpr, widths: (u8, u8), times: u64, ops: &mut OpCounts) -> u8 {
        let (width, truth) = self.value(scalar, widths, times, ops);
        ops.add(OpClass::Float, self.nest.number, width, if truth { 0 } else { times });
        width
    }
}
