//! How work-groups come onto multiprocessors (paper 003, section 4.2).

use crate::silicon::Silicon;
use warpsight_ir::StageClass;
use warpsight_ir::occupancy::{GroupNeeds, Residency};

/// A grid scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduler {
    /// As GPUs have it: kernels one after another, each work-group to the next multiprocessor with room; the next kernel's only after all of
    /// the one before have left the queue.
    Greedy,
    /// The paper's: one such arbiter for each class, so that the two classes meet on the same multiprocessors.
    TwoArbiters,
    /// One cooperative kernel whose work-groups all need what the neediest needs, and take roles by ticket. It starts whole or not at all.
    Cooperative,
}

/// Multiprocessors and who is on them.
#[derive(Clone, Debug)]
pub struct Floor {
    limits: Residency,
    /// Of each multiprocessor: kinds of work-groups and how many of each.
    held: Vec<Vec<(GroupNeeds, u32)>>,
    /// Of each multiprocessor: what did not fit since a work-group left it last, so that nobody asks again and again.
    refused: Vec<Vec<GroupNeeds>>,
    /// Where each arbiter looks next.
    next: [usize; 2],
    scheduler: Scheduler,
}

impl Floor {
    /// With nobody on it.
    pub fn new(silicon: &Silicon, scheduler: Scheduler) -> Self {
        let cores = silicon.core.count as usize;
        Self { limits: silicon.residency, held: vec![Vec::new(); cores], refused: vec![Vec::new(); cores], next: [0, 0], scheduler }
    }

    /// A multiprocessor for a work-group, which is on it from now.
    pub fn place(&mut self, class: StageClass, needs: GroupNeeds) -> Option<usize> {
        let arbiter = usize::from(self.scheduler == Scheduler::TwoArbiters && class == StageClass::Simt);
        let cores = self.held.len();
        let from = self.next[arbiter];
        let core = (0..cores).map(|i| (from + i) % cores).find(|&core| self.fits(core, needs))?;
        self.next[arbiter] = (core + 1) % cores;
        match self.held[core].iter_mut().find(|kind| kind.0 == needs) {
            Some(kind) => kind.1 += 1,
            None => self.held[core].push((needs, 1)),
        }
        Some(core)
    }

    fn fits(&mut self, core: usize, needs: GroupNeeds) -> bool {
        if self.refused[core].contains(&needs) {
            return false;
        }
        let mut with: Vec<(GroupNeeds, u32)> = self.held[core].clone();
        with.push((needs, 1));
        let fits = self.limits.keeps_apart(&with).is_none();
        if !fits {
            self.refused[core].push(needs);
        }
        fits
    }

    /// A work-group is done.
    pub fn leave(&mut self, core: usize, needs: GroupNeeds) {
        if let Some(kind) = self.held[core].iter_mut().find(|kind| kind.0 == needs) {
            kind.1 -= 1;
        }
        self.held[core].retain(|kind| kind.1 > 0);
        self.refused[core].clear();
    }
}
