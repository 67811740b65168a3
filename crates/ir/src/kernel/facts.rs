//! What a kernel asks of hardware, as counts: what configurations are pruned by (paper 001, section 4.2) and learned by.
//!
//! Only counts of accesses, their forms without constants, and the launch enter, so that an outline of a [`Family`](crate::Family) and the
//! Kernel of the lowered Program have equal facts.

use crate::accesses::{AccessKind, AccessRef, Accesses, Nest, TensorPlace, VarKind};
use crate::kernel::Kernel;
use crate::program::Space;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// What a kernel asks of hardware whose warps have so many lanes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// Work-items of a group.
    pub group: u32,
    /// Work-groups.
    pub groups: u64,
    /// 32-bit registers of a work-item.
    pub registers: u32,
    /// Local memory of a group.
    pub local: Bytes,
    /// Floating-point operations of a work-item.
    pub flops: u64,
    /// What a work-item loads in one trip of an innermost loop, local memory aside; the most of all such loops.
    pub step: Bytes,
    /// What a warp's lanes load of images in one trip, each texel that several of them load once; the most of all such loops.
    pub warp_step: Bytes,
    /// What a warp asks for of images in all, of one instruction each texel once.
    pub fetched: Bytes,
    /// The same of buffers in device memory.
    pub loaded: Bytes,
    /// The part of both that nobody waits for before work-items meet ([`AccessRef::ahead`]).
    pub ahead: Bytes,
    /// What a warp moves to and from local memory.
    pub shared: Bytes,
    /// What a group touches, of each access each element once, no tensor beyond its size; of images, and of buffers.
    pub touched: [Bytes; 2],
    /// What a work-item loads by instructions of 1, 2, 3, 4 and more elements.
    pub widths: [Bytes; 5],
    /// Accesses to memory, and trips of loops, of a work-item.
    pub instructions: f64,
}

impl Facts {
    /// Of a kernel, where warps have so many lanes.
    pub fn of(kernel: &Kernel, warp: u32) -> Self {
        let launch = &kernel.launch;
        let facts = Self {
            group: launch.group_size(),
            groups: launch.group_count(),
            registers: kernel.registers,
            local: kernel.local,
            flops: kernel.ops.flops(),
            ..Self::default()
        };
        let accesses = &kernel.accesses;
        let (lanes, touched) = (lanes_of_warp(accesses, warp), vec![0.0; accesses.tensors.len()]);
        let mut counting = Counting { accesses, warp: warp.max(1), lanes, touched, facts };
        counting.nodes(&accesses.nest, 1.0);
        for (tensor, touched) in accesses.tensors.iter().zip(&counting.touched) {
            let image = matches!(tensor.place, TensorPlace::Image { .. });
            counting.facts.touched[usize::from(!image)] += Bytes(touched.min(tensor.place.bytes() as f64));
        }
        counting.facts
    }

    /// Work-items of the launch.
    pub fn items(&self) -> u64 {
        self.groups.saturating_mul(u64::from(self.group))
    }
}

/// Of each variable of lanes, how many values of it one warp has; 1 of other variables. The fastest lanes fill a warp first.
fn lanes_of_warp(accesses: &Accesses, warp: u32) -> Vec<u32> {
    let mut left = warp.max(1);
    let mut of = |size: u32| {
        let own = size.clamp(1, left);
        left = left.div_ceil(size.max(1));
        own
    };
    accesses.vars.iter().map(|var| if var.kind == VarKind::Lane { of(var.trips.unwrap_or(1)) } else { 1 }).collect()
}

struct Counting<'a> {
    accesses: &'a Accesses,
    warp: u32,
    /// Of each variable, how many values a warp has of it.
    lanes: Vec<u32>,
    /// Bytes of each tensor that a group touches.
    touched: Vec<f64>,
    facts: Facts,
}

impl Counting<'_> {
    /// Counts what nodes do that are executed so often.
    fn nodes(&mut self, nodes: &[Nest], times: f64) {
        let (mut step, mut warp_step, mut inner) = (0.0, 0.0, true);
        for node in nodes {
            match node {
                Nest::Loop { var, body } => {
                    inner = false;
                    let trips = times * f64::from(self.accesses.vars[usize::from(var.0)].trips.unwrap_or(1));
                    self.facts.instructions += trips;
                    self.nodes(body, trips);
                }
                Nest::Access(access) => {
                    let own = self.access(access, times);
                    step += own.0;
                    warp_step += own.1;
                }
                Nest::Barrier => {}
            }
        }
        if inner {
            self.facts.step = self.facts.step.max(Bytes(step));
            self.facts.warp_step = self.facts.warp_step.max(Bytes(warp_step));
        }
    }

    /// Counts an access; what one execution loads for a work-item, and of images for a warp.
    fn access(&mut self, access: &AccessRef, executed: f64) -> (f64, f64) {
        let times = f64::from(access.times);
        let place = &self.accesses.tensors[usize::from(access.tensor)].place;
        let bytes = times * f64::from(u32::from(access.width) * element(place));
        let of_warp = bytes * self.distinct(access, |var| f64::from(self.lanes[var])).min(f64::from(self.warp));
        let (space, load) = (space_of(place), access.kind == AccessKind::Load);
        if matches!(space, Some(Space::Tile | Space::Private)) {
            return (0.0, 0.0);
        }
        self.facts.instructions += executed * times;
        if matches!(space, Some(Space::Local)) {
            self.facts.shared += Bytes(executed * of_warp);
            return (0.0, 0.0);
        }
        let all = |var: usize| if self.accesses.vars[var].kind == VarKind::Group { 1.0 } else { self.trips(var) };
        self.touched[usize::from(access.tensor)] += bytes * self.distinct(access, all);
        if !load {
            return (0.0, 0.0);
        }
        let image = space.is_none();
        let sum = if image { &mut self.facts.fetched } else { &mut self.facts.loaded };
        *sum += Bytes(executed * of_warp);
        self.facts.ahead += Bytes(if access.ahead { executed * of_warp } else { 0.0 });
        let width = if image { 4 } else { usize::from(access.width.max(1)) };
        self.facts.widths[width.min(5) - 1] += Bytes(executed * bytes);
        (bytes, if image { of_warp } else { 0.0 })
    }

    fn trips(&self, var: usize) -> f64 {
        f64::from(self.accesses.vars[var].trips.unwrap_or(1))
    }

    /// How many places an access goes to, each variable that it depends on taking so many values.
    fn distinct(&self, access: &AccessRef, values: impl Fn(usize) -> f64) -> f64 {
        let moves = |var: usize| access.coords.iter().any(|form| form.terms().iter().any(|term| usize::from(term.0.0) == var));
        (0..self.accesses.vars.len()).filter(|&var| moves(var)).map(values).product()
    }
}

/// Bytes of an element, of a texel where `width` is 1.
fn element(place: &TensorPlace) -> u32 {
    match place {
        TensorPlace::Image { format, .. } => format.bytes(),
        TensorPlace::Buffer { element, .. } => element.bytes(),
    }
}

/// The memory of a buffer; `None` of images.
fn space_of(place: &TensorPlace) -> Option<Space> {
    match place {
        TensorPlace::Image { .. } => None,
        TensorPlace::Buffer { space, .. } => Some(*space),
    }
}
