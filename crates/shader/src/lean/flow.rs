//! Control flow: branches that are decided, branches that are joined, loops that are unrolled or stay.

use super::cells::{Cells, UNDEFINED};
use super::graph::{JOIN, Origin};
use super::{Done, Evaluation, GaveUp, MAX_DEPTH, steps};
use crate::features::own;
use crate::interpret::compile::Compiled;
use crate::interpret::step::{End, Place, Step, Term};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

/// Where returns lead.
pub(super) const RETURN: usize = usize::MAX;
/// The most cells that a loop that stays may write.
const MAX_WRITTEN: usize = 1 << 18;

/// States that leave, by the block they lead to.
pub(super) type Exits = BTreeMap<usize, Cells>;

impl Evaluation<'_> {
    /// Evaluates consecutive blocks from the first one on. Leads back to it are exits too, where it heads a loop.
    pub(super) fn flow(&mut self, range: Range<usize>, header: bool, cells: Cells, times: f64) -> Done<Exits> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(GaveUp);
        }
        let mut out = Exits::new();
        let mut open = Exits::from([(range.start, cells)]);
        while let Some((at, cells)) = open.pop_first() {
            let leaving = if self.cfg.blocks[at].is_loop && !(header && at == range.start) {
                let end = self.cfg.blocks[at].merge.filter(|m| *m > at && *m <= range.end).unwrap_or(range.end);
                self.turn(at..end, cells, times)?.into_iter().collect()
            } else {
                self.block(at, cells, times)?
            };
            for (to, cells) in leaving {
                let inside = range.contains(&to) && to > at;
                // Structured order leads forward, but for the header.
                if !inside && to <= at && !(header && to == range.start) && range.contains(&to) {
                    return Err(GaveUp);
                }
                self.join(if inside { &mut open } else { &mut out }, to, cells, times)?;
            }
        }
        self.depth -= 1;
        Ok(out)
    }

    pub(super) fn join(&mut self, into: &mut Exits, to: usize, cells: Cells, times: f64) -> Done {
        let Some(there) = into.get_mut(&to) else {
            into.insert(to, cells);
            return Ok(());
        };
        let graph = &mut self.graph;
        let origin = Origin { block: to.min(self.cfg.blocks.len() - 1), inst: None, times };
        let mut full = false;
        // Equal values may meet under other conditions in another turn or call.
        self.joins += 1;
        let meeting = [JOIN, self.joins, 0];
        there.merge(&cells, |a, b| match (a, b) {
            (UNDEFINED, known) | (known, UNDEFINED) => known,
            _ => graph.node((meeting, [a, b].into()), (own::SELECT, 1.0), origin).unwrap_or_else(|_| {
                full = true;
                a
            }),
        });
        if full { Err(GaveUp) } else { Ok(()) }
    }

    /// A loop, from its header to before its merge block.
    fn turn(&mut self, range: Range<usize>, cells: Cells, times: f64) -> Done<Exits> {
        let header = range.start;
        let here = (self.calls.clone(), header);
        if !self.rolled.contains(&here) && self.is_simple(range.clone()) {
            let mark = self.graph.mark();
            let before = (self.depth, self.operations, self.calls.len());
            self.unrolling += 1;
            let exits = self.unrolled(range.clone(), cells.clone(), times);
            self.unrolling -= 1;
            if let Ok(Some(exits)) = exits {
                return Ok(exits);
            }
            // Whatever the reason was, it is not asked again.
            self.rolled.insert(here);
            self.graph.back_to(mark);
            (self.depth, self.operations) = (before.0, before.1);
            self.calls.truncate(before.2);
        }
        if self.unrolling > 0 {
            // What is around it is not unrolled, so that nothing of this is kept.
            return Err(GaveUp);
        }
        let origin = Origin { block: header, inst: None, times: times * self.turns[header] };
        let mut inside = cells;
        let mut carried = Vec::new();
        for cell in self.written(range.clone())? {
            let carrier = self.graph.carrier(inside.get(cell), origin)?;
            inside.set(cell, carrier);
            carried.push((cell, carrier));
        }
        self.graph.effect(&[], (own::LOOP, 1.0), origin)?;
        let mut exits = self.flow(range, true, inside, origin.times)?;
        if let Some(back) = exits.remove(&header) {
            carried.into_iter().for_each(|(cell, carrier)| self.graph.carry(carrier, back.get(cell)));
        }
        Ok(exits)
    }

    fn block(&mut self, at: usize, mut cells: Cells, times: f64) -> Done<Vec<(usize, Cells)>> {
        let program = self.program;
        let code = &program.blocks[at];
        let mut parts: HashMap<&u32, f64> = HashMap::new();
        for (step, inst) in code.steps.iter().zip(&code.origins) {
            *parts.entry(inst).or_default() += steps::nodes(step);
        }
        for (step, inst) in code.steps.iter().zip(&code.origins) {
            if let Step::Call { function } = step {
                let blocks = self.cfg.functions[*function as usize].blocks.clone();
                self.calls.push(*inst);
                let mut exits = self.flow(blocks, false, cells, times)?;
                self.calls.pop();
                // Nothing comes back from a function that always ends the pixel.
                let Some(back) = exits.remove(&RETURN) else { return Ok(Vec::new()) };
                cells = back;
                continue;
            }
            let origin = Origin { block: at, inst: Some(*inst as usize), times };
            self.step(step, &mut cells, origin, parts[&inst])?;
        }
        let origin = Origin { block: at, inst: None, times };
        let targets: Vec<u32> = match &code.end {
            End::Jump(to) => vec![*to],
            End::Branch { condition, yes, no } => match self.graph.word(cells.get(*condition)) {
                Some(0) => vec![*no],
                Some(_) => vec![*yes],
                None if yes == no => vec![*yes],
                None => {
                    self.graph.effect(&[cells.get(*condition)], (own::BRANCH, 1.0), origin)?;
                    vec![*yes, *no]
                }
            },
            End::Switch { selector, wide: false, cases, other } if self.graph.word(cells.get(*selector)).is_some() => {
                let value = self.graph.word(cells.get(*selector)).map(u64::from);
                vec![cases.iter().find(|c| Some(c.0) == value).map_or(*other, |c| c.1)]
            }
            End::Switch { selector, cases, other, .. } => {
                self.graph.effect(&[cells.get(*selector)], (own::BRANCH, cases.len() as f64), origin)?;
                cases.iter().map(|c| c.1).chain([*other]).collect::<BTreeSet<u32>>().into_iter().collect()
            }
            End::Return => return Ok(vec![(RETURN, cells)]),
            End::Kill => {
                self.graph.effect(&[], (own::KILL, 1.0), origin)?;
                return Ok(Vec::new());
            }
        };
        Ok(targets.into_iter().map(|to| (to as usize, self.edge(at, to, cells.clone()))).collect())
    }

    /// The state after the phis of a block that is entered from another.
    fn edge(&self, from: usize, to: u32, mut cells: Cells) -> Cells {
        let code = &self.program.blocks[to as usize];
        let which = code.preds.iter().position(|p| *p as usize == from).unwrap_or(0);
        let values: Vec<(u32, u32)> =
            code.phis.iter().flat_map(|phi| (0..phi.n).map(|i| (phi.dst + i, cells.get(phi.from[which] + i)))).collect();
        values.into_iter().for_each(|(cell, node)| cells.set(cell, node));
        cells
    }

    /// The cells that blocks write, and the functions that they call.
    fn written(&self, range: Range<usize>) -> Done<BTreeSet<u32>> {
        let mut out = BTreeSet::new();
        let mut calls = BTreeSet::new();
        let mut open: Vec<usize> = range.collect();
        while let Some(at) = open.pop() {
            let code = &self.program.blocks[at];
            out.extend(code.phis.iter().flat_map(|phi| phi.dst..phi.dst + phi.n));
            for step in &code.steps {
                match step {
                    Step::Call { function } => {
                        if calls.insert(*function) {
                            open.extend(self.cfg.functions[*function as usize].blocks.clone());
                        }
                    }
                    Step::Store { at, n, .. } => {
                        for start in self.reach(*at)? {
                            out.extend(start.start..start.end + n);
                        }
                    }
                    _ => out.extend(steps::result(step)),
                }
            }
            if out.len() > MAX_WRITTEN {
                return Err(GaveUp);
            }
        }
        Ok(out)
    }

    /// The cells that the address in a cell may be, whoever calls: parameters are addresses too.
    pub(super) fn reach(&self, at: u32) -> Done<Vec<Range<u32>>> {
        let mut out = Vec::new();
        // Functions do not call themselves, so this ends; how often it branches is bounded nevertheless.
        let mut open = vec![(at, 0u32)];
        for _ in 0..256 {
            let Some((at, beyond)) = open.pop() else { return Ok(out) };
            let made = self.addresses.get(&at).ok_or(GaveUp)?;
            for (base, far) in made {
                let far = far.checked_add(beyond).ok_or(GaveUp)?;
                match base {
                    Place::At(cell) => open.push((*cell, far)),
                    Place::Fixed(start) => {
                        let end = start.checked_add(far).and_then(|e| e.checked_add(1)).filter(|e| *e <= self.program.cells);
                        out.push(*start..end.ok_or(GaveUp)?);
                    }
                }
            }
        }
        Err(GaveUp)
    }
}

/// For each cell that holds addresses: from where they go on, and how far.
pub(super) fn addresses(program: &Compiled) -> HashMap<u32, Vec<(Place, u32)>> {
    let mut out: HashMap<u32, Vec<(Place, u32)>> = HashMap::new();
    let constants: HashMap<u32, u32> = program.constants.iter().copied().collect();
    for step in program.blocks.iter().flat_map(|b| &b.steps) {
        if let Step::Address { dst, base, terms } = step {
            let most = |t: &Term| constants.get(&t.index).copied().unwrap_or(u32::MAX).min(t.len - 1);
            let far = terms.iter().try_fold(0u32, |sum, t| sum.checked_add(most(t).checked_mul(t.stride)?));
            out.entry(*dst).or_default().push((*base, far.unwrap_or(u32::MAX)));
        }
    }
    out
}
