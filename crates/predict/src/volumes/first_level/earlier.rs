//! What earlier blocks of a core have left in its first level for later ones: tables and coefficients, which blocks along whole axes of the
//! launch load alike.
//! .
//! Blocks are dealt to cores in turn, and later to whichever core is free: blocks that follow each other are on different cores while these
//! suffice, others meet on one by chance. Until the next one of its core comes that loads the same, other blocks have run there and brought in
//! lines, each in the place of any: what they bring in over the capacity is the exponent by which lines are lost ([`super::l1_capacity`]).
//! What blocks share with their neighbours only, such as halos, is left out: two of them are on one of C cores once in C times. The
//! implementation of paper 002, which counts it, finds 0.4 % of what stencils load at most.

use super::costs::BlockUse;
use crate::volumes::kernel::subject::{Field, Side, Subject};
use smallvec::SmallVec;

/// What the blocks of a launch load, and into what.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    /// Its fields.
    pub subject: &'a Subject,
    /// Distinct sectors and lines of blocks, for each field.
    pub uses: &'a [BlockUse],
    /// Bytes of a sector of each field.
    pub sectors: &'a [f64],
    /// Bytes of a line.
    pub line: f64,
    /// Whether images have another cache.
    pub beside: bool,
    /// Bytes that a block loads again of what it has lost itself.
    pub again: f64,
    /// Cores.
    pub cores: f64,
    /// Bytes that the first level of a core holds.
    pub effective: f64,
}

/// Blocks that load the same of a field: a run of axes that move nothing of it.
#[derive(Clone, Copy)]
struct Run {
    /// The part of these blocks before which another one has run on the same core.
    met: f64,
    /// Blocks that a core runs from one to the next, in the mean.
    apart: f64,
}

/// Lines go where they may: so many rounds of what is kept and what that brings in.
const ROUNDS: u32 = 64;

impl Launch<'_> {
    /// Bytes that blocks find in the first level.
    pub fn kept(&self) -> f64 {
        let groups = self.subject.groups.iter().map(|group| f64::from(group.count)).product::<f64>();
        let runs: Vec<SmallVec<[Run; 2]>> = self.subject.fields.iter().map(|field| self.runs(field)).collect();
        if runs.iter().all(SmallVec::is_empty) {
            return 0.0;
        }
        let here = |field: &Field| if self.beside && field.image.is_some() { 0.0 } else { 1.0 };
        let brings = self.uses.iter().zip(&self.subject.fields).map(|(own, field)| own.loaded_lines as f64 * here(field));
        let brings: SmallVec<[f64; 8]> = brings.map(|lines| lines * self.line / groups).collect();
        let lines = || brings.iter();
        let found = |runs: &[Run], brought: f64| {
            // Until it is full nothing is thrown out.
            let full = (1.0 - self.effective * self.cores / (brought * groups)).max(0.0);
            // With each block that runs meanwhile this part stays; how many there are is as by throws of dice, but at least the next one.
            let stays = (-brought / self.effective).exp();
            let kept = |run: &Run| 1.0 - full * (1.0 - stays / (run.apart - (run.apart - 1.0) * stays));
            1.0 - runs.iter().map(|run| 1.0 - run.met * kept(run)).product::<f64>()
        };
        // From above, where all is lost.
        let mut brought = self.again + lines().sum::<f64>();
        for _ in 0..ROUNDS {
            brought = self.again + lines().zip(&runs).map(|(bytes, runs)| bytes * (1.0 - found(runs, brought))).sum::<f64>();
        }
        let sectors = self.uses.iter().zip(self.sectors).map(|(own, sector)| own.loaded_sectors as f64 * sector);
        sectors.zip(&runs).map(|(bytes, runs)| bytes * found(runs, brought)).sum()
    }

    /// Of a field that is loaded by addresses that are known and not written.
    fn runs(&self, field: &Field) -> SmallVec<[Run; 2]> {
        let loaded = !field.touches.is_empty() && !field.touches.iter().any(|touch| Side::Stores.has(touch.kind));
        let mut found = SmallVec::new();
        if !loaded || field.image.is_some() || !field.gathers.is_empty() {
            return found;
        }
        let still = |var| field.touches.iter().all(|touch| touch.stride(&field.geometry, var) == 0);
        // Blocks launched from one to the next, and how many there are.
        let (mut unit, mut run) = (1.0, None::<(f64, f64)>);
        for group in self.subject.groups.iter().filter(|group| group.count > 1) {
            let count = f64::from(group.count);
            if still(group.id) {
                run = Some(run.map_or((unit, count), |(unit, blocks)| (unit, blocks * count)));
            } else {
                found.extend(run.take().map(|run| self.run(run)));
            }
            unit *= count;
        }
        found.extend(run.map(|run| self.run(run)));
        found
    }

    fn run(&self, (unit, blocks): (f64, f64)) -> Run {
        // On how many cores they are.
        let spread = if unit > 1.0 { self.cores * (1.0 - (1.0 - 1.0 / self.cores).powf(blocks)) } else { self.cores.min(blocks) };
        Run { met: 1.0 - spread / blocks, apart: (unit * spread / self.cores).max(1.0) }
    }
}
