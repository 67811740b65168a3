//! One form for all accesses that do the same, however they are spelled: loops of one trip are none, conditions are intervals of one linear
//! form each, what happens twice happens once, and accesses that nothing divides come in ascending order of their addresses.
//!
//! Which of several loads comes first is the compiler's to choose wherever neither a loop nor a barrier lies between them. Ascending is the
//! order in which a cache serves neighbouring blocks best; where the order is known to be another, it is kept ([`Order::Kept`]).

use super::bounds::{Ranges, narrowed};
use super::{AccessKind, AccessRef, Accesses, AffineBound, LoadPath, Nest, TensorPlace, TensorUse, VarKind};
use crate::affine::{Affine, VarId};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::cmp::Ordering;

/// Accesses in their one form, and what they were.
#[derive(Clone, Debug, PartialEq)]
pub struct Canonical {
    /// The form. Tensors are in an order of their own; variables are as they were.
    pub accesses: Accesses,
    /// For each access in program order its position before; of several that do the same that of the first.
    pub positions: Vec<usize>,
    /// For each tensor its position before.
    pub tensors: Vec<usize>,
    /// Positions of accesses that are left out, because their condition never holds.
    pub never: Vec<usize>,
}

/// Which of two accesses happens first, where neither a loop nor a barrier divides them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The one at the lower address, loads before stores.
    #[default]
    Free,
    /// The one that is listed first, as in a program whose compiler was seen to keep the order.
    Kept,
}

/// A node whose accesses carry their positions.
// Nearly all of them are accesses.
#[allow(clippy::large_enum_variant)]
enum Node {
    Loop(VarId, Vec<Node>),
    Access(usize, AccessRef),
    Barrier,
}

/// Conditions in their one form; neighbours share theirs.
struct Narrowing<'a> {
    ranges: Ranges,
    last: Option<(&'a [AffineBound], Option<Vec<AffineBound>>)>,
}

impl<'a> Narrowing<'a> {
    fn of(&mut self, guard: &'a [AffineBound]) -> Option<Vec<AffineBound>> {
        match &self.last {
            Some((before, found)) if *before == guard => found.clone(),
            _ => {
                let found = narrowed(guard, &self.ranges);
                self.last = Some((guard, found.clone()));
                found
            }
        }
    }
}

/// Accesses with their positions that nothing divides, and what comes behind them.
type Run = (Vec<(usize, AccessRef)>, Option<Node>);

impl Accesses {
    /// The form of all accesses that do the same as these.
    pub fn canonical(&self, order: Order) -> Canonical {
        let ranges = Ranges::of(self);
        let (mut position, mut never) = (0, Vec::new());
        let mut nodes = self.flattened(&self.nest, &mut Narrowing { ranges, last: None }, &mut position, &mut never);
        let tensors = self.ordered(&nodes);
        let mut places = vec![0; tensors.len()];
        tensors.iter().enumerate().for_each(|(to, &from)| places[from] = to as u16);
        sorted(&mut nodes, &places, order);
        let mut positions = Vec::with_capacity(position);
        let nest = nest(nodes, &mut positions);
        let accesses = Self { vars: self.vars.clone(), tensors: tensors.iter().map(|&i| self.tensors[i].clone()).collect(), nest };
        Canonical { accesses, positions, tensors, never }
    }

    /// The form of accesses that differ from others in sizes and in what their one condition says alone, by the form of these; `None` where they
    /// differ in more, or are not known to have the same form.
    pub fn resized(&self, of: &Self, form: &Canonical) -> Option<Canonical> {
        let vars = self.vars.iter().zip(&of.vars).all(|(own, other)| {
            let sizes = own.kind == VarKind::Group && own.trips.zip(other.trips).is_some_and(|(own, other)| own > 1 && other > 1);
            own.kind == other.kind && (own.trips == other.trips || sizes) && own.name == other.name
        });
        let tensors = self.tensors.iter().zip(&of.tensors).all(|(own, other)| {
            own.name == other.name
                && match (&own.place, &other.place) {
                    (
                        TensorPlace::Buffer { space, element, dims, layout },
                        TensorPlace::Buffer { space: of_space, element: of_element, dims: of_dims, layout: of_layout },
                    ) => {
                        (space, element, layout.align) == (of_space, of_element, of_layout.align)
                            && (dims.len(), layout.strides.len()) == (of_dims.len(), of_layout.strides.len())
                    }
                    _ => false,
                }
        });
        // The order of tensors is that of their places first.
        let place = |all: &Self, pair: &[usize]| all.tensors[pair[0]].place.cmp(&all.tensors[pair[1]].place);
        let counts = (self.vars.len(), self.tensors.len()) == (of.vars.len(), of.tensors.len());
        let ordered = || form.tensors.windows(2).all(|pair| place(self, pair) == place(of, pair));
        let alike = counts && vars && tensors && form.never.is_empty() && ordered();
        if !alike {
            return None;
        }
        let mut guards: [Option<&[AffineBound]>; 2] = [None; 2];
        if !resembles(&self.nest, &of.nest, &mut guards) {
            return None;
        }
        let guard = narrowed(guards[0].unwrap_or_default(), &Ranges::of(self))?;
        let nest = guarded(&form.accesses.nest, &guard);
        let tensors = form.tensors.iter().map(|&i| self.tensors[i].clone()).collect();
        let accesses = Self { vars: self.vars.clone(), tensors, nest };
        Some(Canonical { accesses, positions: form.positions.clone(), tensors: form.tensors.clone(), never: vec![] })
    }

    /// Without loops of one trip, and without what never happens.
    fn flattened<'a>(&'a self, nest: &'a [Nest], ranges: &mut Narrowing<'a>, position: &mut usize, never: &mut Vec<usize>) -> Vec<Node> {
        let mut found = Vec::with_capacity(nest.len());
        for node in nest {
            match node {
                Nest::Barrier => found.push(Node::Barrier),
                Nest::Loop { var, body } => {
                    let body = self.flattened(body, ranges, position, never);
                    match self.vars[usize::from(var.0)].trips {
                        Some(0) => {}
                        Some(1) => body.into_iter().for_each(|node| push(node, &mut found)),
                        _ if body.is_empty() => {}
                        _ => push(Node::Loop(*var, body), &mut found),
                    }
                }
                Nest::Access(access) => {
                    match ranges.of(&access.guard) {
                        Some(guard) => {
                            let AccessRef { tensor, kind, ref coords, width, guard: _, path, indirect, branch, ahead, times } = *access;
                            let coords = coords.iter().map(|form| ranges.ranges.moving(form)).collect();
                            found.push(Node::Access(
                                *position,
                                AccessRef { tensor, kind, coords, width, guard, path, indirect, branch, ahead, times },
                            ));
                        }
                        None => never.push(*position),
                    }
                    *position += 1;
                }
            }
        }
        found
    }

    /// Tensors by how they lie and what is done with them; those of which this is the same by name.
    fn ordered(&self, nodes: &[Node]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.tensors.len()).collect();
        let place = |a: &TensorUse, b: &TensorUse| a.place.cmp(&b.place);
        order.sort_by(|&a, &b| place(&self.tensors[a], &self.tensors[b]));
        let alike = |pair: &[usize]| place(&self.tensors[pair[0]], &self.tensors[pair[1]]).is_eq();
        if order.windows(2).any(alike) {
            let mut touched = vec![vec![]; self.tensors.len()];
            touches(nodes, &mut SmallVec::new(), &mut touched);
            // Mostly the first of each, in order, tell tensors apart.
            let firsts: Vec<Option<&Touch>> = touched.iter().map(|own| own.iter().min_by(|a, b| touch(a, b))).collect();
            let in_order = |own: usize| {
                let mut all: Vec<&Touch> = touched[own].iter().collect();
                all.sort_by(|a, b| touch(a, b));
                all
            };
            let by_all = |a: usize, b: usize| {
                let (a, b) = (in_order(a), in_order(b));
                a.iter().zip(&b).map(|(a, b)| touch(a, b)).find(|order| order.is_ne()).unwrap_or_else(|| a.len().cmp(&b.len()))
            };
            order.sort_by(|&a, &b| {
                let first = || firsts[a].zip(firsts[b]).map_or(Ordering::Equal, |(a, b)| touch(a, b));
                let by_touch = || first().then_with(|| by_all(a, b));
                let (own, other) = (&self.tensors[a], &self.tensors[b]);
                place(own, other).then_with(by_touch).then_with(|| own.name.cmp(&other.name))
            });
        }
        order
    }
}

/// Whether two nests differ in conditions alone, of which each has one for all its accesses.
fn resembles<'a>(one: &'a [Nest], other: &'a [Nest], guards: &mut [Option<&'a [AffineBound]>; 2]) -> bool {
    let mut alike = |pair: (&'a Nest, &'a Nest)| match pair {
        (Nest::Barrier, Nest::Barrier) => true,
        (Nest::Loop { var, body }, Nest::Loop { var: of, body: other }) => var == of && resembles(body, other, guards),
        (Nest::Access(own), Nest::Access(of)) => {
            let AccessRef { tensor, kind, ref coords, width, guard: _, path, indirect, branch, ahead, times: _ } = *own;
            let forms = |(own, of): (&Affine, &Affine)| own.constant == of.constant && same(own.terms(), of.terms());
            (tensor, kind, width, path, indirect, branch, ahead)
                == (of.tensor, of.kind, of.width, of.path, of.indirect, of.branch, of.ahead)
                && coords.len() == of.coords.len()
                && coords.iter().zip(&of.coords).all(forms)
                && guards.iter_mut().zip([&own.guard, &of.guard]).all(|(first, guard)| *first.get_or_insert(guard) == guard.as_slice())
        }
        _ => false,
    };
    one.len() == other.len() && one.iter().zip(other).all(&mut alike)
}

/// A nest whose accesses all have these conditions.
fn guarded(nest: &[Nest], guard: &[AffineBound]) -> Vec<Nest> {
    let own = |node: &Nest| match node {
        Nest::Barrier => Nest::Barrier,
        Nest::Loop { var, body } => Nest::Loop { var: *var, body: guarded(body, guard) },
        Nest::Access(access) => {
            let AccessRef { tensor, kind, ref coords, width, guard: _, path, indirect, branch, ahead, times } = *access;
            Nest::Access(AccessRef {
                tensor,
                kind,
                coords: coords.clone(),
                width,
                guard: guard.to_vec(),
                path,
                indirect,
                branch,
                ahead,
                times,
            })
        }
    };
    nest.iter().map(own).collect()
}

/// Adds a node. Where what stood between two loops over the same is gone, they are one.
fn push(node: Node, to: &mut Vec<Node>) {
    match (node, to.last_mut()) {
        (Node::Loop(var, body), Some(Node::Loop(before, first))) if *before == var => body.into_iter().for_each(|node| push(node, first)),
        (node, _) => to.push(node),
    }
}

/// The loops around an access, and the access.
type Touch<'a> = (SmallVec<[VarId; 4]>, &'a AccessRef);

/// The accesses of each tensor.
fn touches<'a>(nodes: &'a [Node], around: &mut SmallVec<[VarId; 4]>, to: &mut [Vec<Touch<'a>>]) {
    for node in nodes {
        match node {
            Node::Barrier => {}
            Node::Loop(var, body) => {
                around.push(*var);
                touches(body, around, to);
                around.pop();
            }
            Node::Access(_, access) => to[usize::from(access.tensor)].push((around.clone(), access)),
        }
    }
}

fn touch(a: &Touch, b: &Touch) -> Ordering {
    a.0.cmp(&b.0).then_with(|| by_address(a.1, b.1)).then_with(|| a.1.guard.cmp(&b.1.guard))
}

/// Each run of accesses in order, each access once.
fn sorted(nodes: &mut Vec<Node>, places: &[u16], order: Order) {
    for node in nodes.iter_mut() {
        match node {
            Node::Loop(_, body) => sorted(body, places, order),
            Node::Access(_, access) => access.tensor = places[usize::from(access.tensor)],
            Node::Barrier => {}
        }
    }
    if order == Order::Kept {
        return;
    }
    let mut runs: Vec<Run> = vec![(vec![], None)];
    for node in std::mem::take(nodes) {
        let last = runs.len() - 1;
        match node {
            Node::Access(position, access) => runs[last].0.push((position, access)),
            other => {
                runs[last].1 = Some(other);
                runs.push((vec![], None));
            }
        }
    }
    if runs.len() > 1 {
        loaded_before(&mut runs);
    }
    for (run, behind) in runs {
        nodes.extend(once(run));
        nodes.extend(behind);
    }
}

/// Moves loads that were made already, before a loop, to where they were first made: a thread keeps what it has loaded until a barrier, or
/// until it stores to that tensor.
fn loaded_before(runs: &mut [Run]) {
    // Where each load was first made.
    type Load = (u16, SmallVec<[Affine; 4]>, u8, LoadPath, Option<u32>);
    let mut known: FxHashMap<Load, usize> = FxHashMap::default();
    // Runs up to this one are of no use to a tensor.
    let mut stored: FxHashMap<u16, usize> = FxHashMap::default();
    let mut barrier = None;
    for i in 0..runs.len() {
        let (run, behind) = &mut runs[i];
        let mut moved = Vec::new();
        run.retain(|(position, access)| {
            if access.kind != AccessKind::Load || access.indirect.is_some_and(|own| own.unknown()) {
                return true;
            }
            let at = known.entry((access.tensor, access.coords.clone(), access.width, access.path, access.branch)).or_insert(i);
            if *at != i && (stored.get(&access.tensor).is_some_and(|last| *last >= *at) || barrier.is_some_and(|last| last >= *at)) {
                *at = i;
            }
            if *at < i {
                moved.push((*at, (*position, access.clone())));
            }
            *at == i
        });
        let mut store = |access: &AccessRef| {
            if access.kind != AccessKind::Load {
                stored.insert(access.tensor, i);
            }
        };
        run.iter().for_each(|(_, access)| store(access));
        match behind {
            Some(Node::Barrier) => barrier = Some(i),
            // One that is in the loop divides, too.
            Some(node @ Node::Loop(..)) if !walk(std::slice::from_ref(node), &mut store) => barrier = Some(i),
            _ => {}
        }
        moved.into_iter().for_each(|(at, own)| runs[at].0.push(own));
    }
}

/// Calls for every access; whether there is no barrier.
fn walk(nodes: &[Node], to: &mut impl FnMut(&AccessRef)) -> bool {
    nodes.iter().fold(true, |free, node| match node {
        Node::Barrier => false,
        Node::Loop(_, body) => walk(body, to) && free,
        Node::Access(_, access) => {
            to(access);
            free
        }
    })
}

/// Accesses in order. Of several that do the same those stay whose condition is implied by no other's.
fn once(run: Vec<(usize, AccessRef)>) -> impl Iterator<Item = Node> {
    let order = |a: &AccessRef, b: &AccessRef| {
        let stores = |own: &AccessRef| matches!(own.kind, AccessKind::Store(_));
        stores(a).cmp(&stores(b)).then_with(|| a.tensor.cmp(&b.tensor)).then_with(|| by_address(a, b)).then_with(|| a.branch.cmp(&b.branch))
    };
    // Numbers are faster to sort than what they stand for.
    let mut sorted: Vec<usize> = (0..run.len()).collect();
    sorted.sort_unstable_by(|&a, &b| {
        let (a, b) = (&run[a], &run[b]);
        order(&a.1, &b.1).then_with(|| a.1.guard.cmp(&b.1.guard)).then_with(|| a.0.cmp(&b.0))
    });
    let mut run: Vec<Option<(usize, AccessRef)>> = run.into_iter().map(Some).collect();
    let run: Vec<(usize, AccessRef)> = sorted.into_iter().filter_map(|at| run[at].take()).collect();
    let same = |a: &AccessRef, b: &AccessRef| {
        // Two unknown addresses differ, whatever stands for them; what two atomics do is twice what one does.
        !a.indirect.is_some_and(|own| own.unknown()) && a.kind != AccessKind::Atomic && order(a, b).is_eq()
    };
    let mut kept: Vec<(usize, AccessRef)> = Vec::with_capacity(run.len());
    let mut group = 0;
    for (position, access) in run {
        if kept.last().is_none_or(|(_, before)| !same(before, &access)) {
            group = kept.len();
        } else if let Some(at) = kept[group..].iter().position(|(_, own)| implied(&access, own)) {
            let first = &mut kept[group + at].0;
            *first = position.min(*first);
            continue;
        }
        let mut at = group;
        let mut first = position;
        while at < kept.len() {
            if same(&kept[at].1, &access) && implied(&kept[at].1, &access) {
                first = first.min(kept.remove(at).0);
            } else {
                at += 1;
            }
        }
        kept.push((first, access));
    }
    kept.into_iter().map(|(position, access)| Node::Access(position, access))
}

/// Whether one happens only where the other does, by their conditions one by one.
fn implied(one: &AccessRef, by: &AccessRef) -> bool {
    let narrower = |wide: &AffineBound| {
        one.guard.iter().any(|own| {
            let from = wide.value.constant - own.value.constant;
            let terms = own.value.terms() == wide.value.terms() && own.per_lane == wide.per_lane;
            // −constant ≤ form < extent − constant, for both.
            terms && from >= 0 && own.extent + from <= wide.extent
        })
    };
    by.guard.iter().all(narrower)
}

fn nest(nodes: Vec<Node>, positions: &mut Vec<usize>) -> Vec<Nest> {
    let node = |node| match node {
        Node::Barrier => Nest::Barrier,
        Node::Loop(var, body) => Nest::Loop { var, body: nest(body, positions) },
        Node::Access(position, access) => {
            positions.push(position);
            Nest::Access(access)
        }
    };
    nodes.into_iter().map(node).collect()
}

/// By what they do and how they move, then by address, in the order in which coordinates are listed.
fn by_address(a: &AccessRef, b: &AccessRef) -> Ordering {
    let terms = || {
        // Mostly they move alike.
        let differ = a.coords.iter().zip(&b.coords).find(|(a, b)| !same(a.terms(), b.terms()));
        differ.map_or_else(|| a.coords.len().cmp(&b.coords.len()), |(a, b)| a.terms().cmp(b.terms()))
    };
    let constants = || {
        let differ = a.coords.iter().zip(&b.coords).find(|(a, b)| a.constant != b.constant);
        differ.map_or(Ordering::Equal, |(a, b)| a.constant.cmp(&b.constant))
    };
    let rest = |own: &AccessRef| (own.width, own.path, own.indirect);
    a.kind.cmp(&b.kind).then_with(terms).then_with(constants).then_with(|| rest(a).cmp(&rest(b)))
}

fn same(a: &[(VarId, i32)], b: &[(VarId, i32)]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.0.0 == b.0.0 && a.1 == b.1)
}
