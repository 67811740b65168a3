//! Work in place: one piece of memory for parameters that are read and one that is written.
//!
//! A Program that reads `a` and writes `b` may do so in one piece of memory where every element of `a` is read by the one work-item that
//! writes that element of `b`, and before it does. Then it is rewritten into a Program with one parameter that is read and written:
//! emitted pointers do not alias, and what the semantics of [`crate::program`] promise holds for the new Program as for any other.
//!
//! What is shown is sufficient, not necessary. Each load of `a` must have a store to `b` with the same coordinates, in loops of the same
//! trips, under conditions that hold wherever the load's do; by the rule that no two work-items write one element, nobody else
//! writes what is loaded. The order within a work-item is found by following it. Programs with barriers, tiles or atomics
//! are refused, as are images, which are never read and written in one launch.

use super::specialise::{block, specialise};
use crate::accesses::{AccessKind, AccessRef, Accesses, AffineBound, Nest, VarKind};
use crate::affine::{Affine, VarId};
use crate::program::{Access, Expr, Name, Param, ParamKind, Program, Space, Stmt};
use crate::validate::Checked;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashSet};

/// Elements that one work-item may touch for the order of its accesses to be followed.
const FOLLOWED: usize = 1 << 16;

/// What forbids that parameters share their memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum Hazard {
    /// An image.
    #[error("an image is read or written in a launch, never both")]
    Image,
    /// More than one of them is written.
    #[error("`{0}` and `{1}` are both written")]
    TwoWriters(Name, Name),
    /// Other types or extents: the same coordinates are other places.
    #[error("the elements of `{0}` and `{1}` do not lie at the same places")]
    Layout(Name, Name),
    /// Work-items that wait for each other, or write one element together.
    #[error("the kernel has barriers, tiles or atomics")]
    Collective,
    /// Elements that one work-item reads may be written by another.
    #[error("an element of `{0}` may be read by another work-item than the one that writes it")]
    Elsewhere(Name),
    /// A work-item reads an element that it has written.
    #[error("an element of `{0}` may be read after it was written")]
    Late(Name),
    /// The accesses cannot be described.
    #[error("its accesses cannot be described: {0}")]
    Undescribed(String),
    /// Too much is touched to be followed.
    #[error("one work-item touches more than {FOLLOWED} elements")]
    TooMany,
}

/// The Program in which these parameters are one, the one of them that is written: it keeps its place, the others are gone. With other
/// sizes the answer may be another.
///
/// # Errors
/// [`Hazard`], where work in place would give other results, or may.
pub fn in_place(program: &Program, sizes: &BTreeMap<Name, i64>, shared: &[Name]) -> Result<Checked, Hazard> {
    let fixed = specialise(program, sizes).map_err(|error| Hazard::Undescribed(error.to_string()))?;
    let written = one_writer(&fixed, shared)?;
    if collective(&fixed.body) {
        return Err(Hazard::Collective);
    }
    let accesses = Accesses::of(&fixed).map_err(|error| Hazard::Undescribed(error.to_string()))?;
    let sharing = Sharing::new(&accesses, &written, shared)?;
    sharing.owned()?;
    sharing.in_order()?;
    let merged = merged(program, &written, shared);
    Checked::new(merged).map_err(|error| Hazard::Undescribed(error.to_string()))
}

fn buffer(param: &Param) -> Result<(Space, crate::Scalar, &[Expr], Access), Hazard> {
    match &param.kind {
        ParamKind::Buffer { space, element, dims, access } => Ok((*space, *element, dims, *access)),
        ParamKind::Image { .. } => Err(Hazard::Image),
        ParamKind::Channel { .. } => Err(Hazard::Collective),
    }
}

/// The one of them that is written; all lie alike.
fn one_writer(fixed: &Program, shared: &[Name]) -> Result<Name, Hazard> {
    let params: Vec<&Param> = fixed.params.iter().filter(|param| shared.contains(&param.name)).collect();
    let mut writer: Option<&Param> = None;
    for param in &params {
        if buffer(param)?.3 != Access::Read
            && let Some(first) = writer.replace(param)
        {
            return Err(Hazard::TwoWriters(first.name.clone(), param.name.clone()));
        }
    }
    let Some(writer) = writer else { return Err(Hazard::Undescribed("none of them is written".to_owned())) };
    let (_, element, dims, _) = buffer(writer)?;
    for param in params {
        let (_, other, extents, _) = buffer(param)?;
        if (other, extents) != (element, dims) {
            return Err(Hazard::Layout(param.name.clone(), writer.name.clone()));
        }
    }
    Ok(writer.name.clone())
}

fn collective(body: &[Stmt]) -> bool {
    let own = |stmt: &Stmt| matches!(stmt, Stmt::Atomic { .. } | Stmt::TileStore { .. }) || stmt.is_collective();
    body.iter().any(|stmt| own(stmt) || stmt.blocks().into_iter().any(|block| collective(block)))
}

/// An access to the shared memory, and the loops around it, outermost first.
struct Site<'a> {
    access: &'a AccessRef,
    loops: Vec<VarId>,
    /// A load through a parameter that is only read.
    reads: bool,
}

struct Sharing<'a> {
    accesses: &'a Accesses,
    written: &'a Name,
    /// Positions of the shared tensors that are only read, and of the one that is written.
    readers: Vec<u16>,
    writer: u16,
    sites: Vec<Site<'a>>,
}

impl<'a> Sharing<'a> {
    fn new(accesses: &'a Accesses, written: &'a Name, shared: &[Name]) -> Result<Self, Hazard> {
        let (mut readers, mut writer) = (vec![], 0);
        for (position, tensor) in (0u16..).zip(&accesses.tensors) {
            if tensor.name == *written {
                writer = position;
            } else if shared.contains(&tensor.name) {
                readers.push(position);
            }
        }
        let mut sharing = Self { accesses, written, readers, writer, sites: vec![] };
        sharing.collect(&accesses.nest, &mut vec![])?;
        Ok(sharing)
    }

    fn collect(&mut self, nest: &'a [Nest], loops: &mut Vec<VarId>) -> Result<(), Hazard> {
        for node in nest {
            match node {
                Nest::Loop { var, body } => {
                    loops.push(*var);
                    self.collect(body, loops)?;
                    loops.pop();
                }
                Nest::Access(access) if access.kind == AccessKind::Atomic => return Err(Hazard::Collective),
                // Any work-item may read it.
                Nest::Access(access) if self.concerns(access) && access.indirect.is_some() => {
                    return Err(Hazard::Elsewhere(self.written.clone()));
                }
                Nest::Access(access) if self.concerns(access) => {
                    self.sites.push(Site { access, loops: loops.clone(), reads: access.kind == AccessKind::Load });
                }
                Nest::Access(_) => {}
                Nest::Barrier => return Err(Hazard::Collective),
            }
        }
        Ok(())
    }

    /// Loads of what is only read, and stores. What the written parameter itself loads is its own affair.
    fn concerns(&self, access: &AccessRef) -> bool {
        match access.kind {
            AccessKind::Load => self.readers.contains(&access.tensor),
            _ => access.tensor == self.writer,
        }
    }

    fn trips(&self, var: VarId) -> Option<u32> {
        self.accesses.vars.get(usize::from(var.0)).and_then(|v| v.trips)
    }

    fn is_loop(&self, var: VarId) -> bool {
        self.accesses.vars.get(usize::from(var.0)).is_some_and(|v| v.kind == VarKind::Loop)
    }

    /// Whatever a work-item loads it stores to, and what it stores to no other does.
    fn owned(&self) -> Result<(), Hazard> {
        let elsewhere = || Hazard::Elsewhere(self.written.clone());
        let items: Vec<VarId> = (0u16..).zip(&self.accesses.vars).map(|(n, _)| VarId(n)).filter(|&v| !self.is_loop(v)).collect();
        let form = |site: &Site| self.form(site);
        let stores: Vec<Form> = self.sites.iter().filter(|site| !site.reads).map(form).collect();
        for load in self.sites.iter().filter(|site| site.reads).map(form) {
            let owner = stores.iter().find(|store| {
                let same = (&store.trips, &store.coords, store.width) == (&load.trips, &load.coords, load.width);
                same && store.guard.iter().all(|bound| load.guard.contains(bound))
            });
            owner.ok_or_else(elsewhere)?;
        }
        // All work-items that an axis counts would store to the same elements.
        let moves = |site: &Site, var: VarId| site.access.coords.iter().any(|form| form.coefficient(var) != 0);
        let spread = |var: VarId| self.trips(var) == Some(1) || self.sites.iter().all(|site| moves(site, var));
        // An offset within a work-item says which element it is only where work-items count alike everywhere.
        let mut shifts = self.sites.iter().map(|site| self.by_item(site, &items));
        let alike = shifts.next().is_none_or(|first| shifts.all(|other| other == first));
        if items.iter().all(|&var| spread(var)) && alike { Ok(()) } else { Err(elsewhere()) }
    }

    /// The coefficients of what counts work-items.
    fn by_item(&self, site: &Site, items: &[VarId]) -> Vec<Vec<i32>> {
        site.access.coords.iter().map(|form| items.iter().map(|&var| form.coefficient(var)).collect()).collect()
    }

    /// An access with its loops numbered from the outside.
    fn form(&self, site: &Site) -> Form {
        let number = |var: VarId| match site.loops.iter().position(|&own| own == var) {
            Some(depth) => VarId(u16::MAX - depth as u16),
            None => var,
        };
        let renamed = |form: &Affine| form.renamed(number);
        Form {
            trips: site.loops.iter().map(|&var| self.trips(var)).collect(),
            coords: site.access.coords.iter().map(renamed).collect(),
            width: site.access.width,
            guard: site.access.guard.iter().map(|b| AffineBound { value: renamed(&b.value), ..b.clone() }).collect(),
        }
    }

    /// No work-item loads what it has stored: followed through its loops, as if every condition held.
    fn in_order(&self) -> Result<(), Hazard> {
        let mut follow = Follow { sharing: self, values: vec![0; self.accesses.vars.len()], stored: HashSet::new(), touched: 0 };
        follow.nest(&self.accesses.nest)
    }
}

/// What two accesses have in common that touch the same elements in as many trips.
struct Form {
    trips: Vec<Option<u32>>,
    coords: Vec<Affine>,
    width: u8,
    guard: Vec<AffineBound>,
}

/// One work-item on its way.
struct Follow<'a> {
    sharing: &'a Sharing<'a>,
    /// Of each variable; work-items stand at 0.
    values: Vec<i64>,
    stored: HashSet<Vec<i64>>,
    touched: usize,
}

impl Follow<'_> {
    fn nest(&mut self, nest: &[Nest]) -> Result<(), Hazard> {
        for node in nest {
            match node {
                Nest::Loop { var, body } if self.sharing.touches(body) => {
                    let open = || Hazard::Undescribed("a loop's trips depend on data".to_owned());
                    for trip in 0..self.sharing.trips(*var).ok_or_else(open)? {
                        self.values[usize::from(var.0)] = trip.into();
                        self.nest(body)?;
                    }
                }
                Nest::Access(access) if self.sharing.concerns(access) => self.access(access)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn access(&mut self, access: &AccessRef) -> Result<(), Hazard> {
        self.touched += usize::from(access.width);
        if self.touched > FOLLOWED {
            return Err(Hazard::TooMany);
        }
        // What is beyond all numbers cannot be followed either.
        let at: Option<Vec<i64>> = access.coords.iter().map(|form| form.eval(|var| self.values[usize::from(var.0)])).collect();
        let at = at.ok_or(Hazard::TooMany)?;
        for lane in 0..i64::from(access.width) {
            let mut element = at.clone();
            if let Some(last) = element.last_mut() {
                *last += lane;
            }
            if access.kind != AccessKind::Load {
                self.stored.insert(element);
            } else if self.stored.contains(&element) {
                return Err(Hazard::Late(self.sharing.written.clone()));
            }
        }
        Ok(())
    }
}

impl Sharing<'_> {
    fn touches(&self, nest: &[Nest]) -> bool {
        nest.iter().any(|node| match node {
            Nest::Loop { body, .. } => self.touches(body),
            Nest::Access(access) => self.concerns(access),
            Nest::Barrier => false,
        })
    }
}

/// The Program with the written parameter in the place of the others.
fn merged(program: &Program, written: &Name, shared: &[Name]) -> Program {
    let mut merged = program.clone();
    merged.params.retain(|param| param.name == *written || !shared.contains(&param.name));
    for param in merged.params.iter_mut().filter(|param| param.name == *written) {
        if let ParamKind::Buffer { access, .. } = &mut param.kind {
            *access = Access::ReadWrite;
        }
    }
    let renamed = |expr: &Expr| {
        expr.clone().map(&mut |node| match node {
            Expr::Load { source, index, width, guard } if shared.contains(&source) => {
                Expr::Load { source: written.clone(), index, width, guard }
            }
            other => other,
        })
    };
    block(&mut merged.body, &renamed);
    merged
}
