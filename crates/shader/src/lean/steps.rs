//! Single steps on known words and nodes.

use super::cells::{Cells, UNDEFINED};
use super::graph::{FREE, Key, Origin};
use super::{Done, Evaluation, GaveUp, MAX_STEPS};
use crate::features::own;
use crate::interpret::step::{Ask, Lod, TextureStep};
use crate::interpret::step::{Place, Step};
use crate::module::Op;
use crate::module::spirv::GlslStd450Op;
use std::ops::Range;

/// Opcodes of what SPIR-V has no instruction for.
const PART: u32 = u32::MAX - 1;
const ALL_OF: u32 = u32::MAX - 2;

/// The cells that a step writes, but for stores through addresses and calls.
pub(super) fn result(step: &Step) -> Range<u32> {
    match step {
        Step::Map1 { dst, n, .. }
        | Step::Map2 { dst, n, .. }
        | Step::Map3 { dst, n, .. }
        | Step::Lane { dst, n, .. }
        | Step::Copy { dst, n, .. }
        | Step::Select { dst, n, .. }
        | Step::Load { dst, n, .. }
        | Step::LoadShared { dst, n, .. }
        | Step::Slope { dst, n, .. }
        | Step::Undefine { dst, n } => *dst..dst + n,
        Step::Wide { dst, n, wide, .. } => *dst..dst + n * if *wide { 2 } else { 1 },
        Step::Gather { dst, from } => *dst..dst + from.len() as u32,
        Step::Product { dst, rows, columns, wide, .. } => *dst..dst + rows * columns * if *wide { 2 } else { 1 },
        Step::Pick { dst, cells, .. } => *dst..dst + cells,
        Step::Put { dst, n, cells, .. } => *dst..dst + n * cells,
        Step::Fold { dst, .. } | Step::Address { dst, .. } | Step::LengthShared { dst, .. } | Step::IsHelper { dst } => *dst..dst + 1,
        Step::AtomicShared { dst, wide, .. } => dst.map_or(0..0, |d| d..d + if *wide { 2 } else { 1 }),
        Step::Texture(t) => t.dst..t.dst + t.n.min(4),
        Step::Store { .. } | Step::StoreShared { .. } | Step::Call { .. } | Step::Demote => 0..0,
    }
}

/// How many nodes share what a step's instruction costs.
pub(super) fn nodes(step: &Step) -> f64 {
    match step {
        Step::Copy { .. } | Step::Gather { .. } | Step::Undefine { .. } => 0.0,
        Step::Wide { n, .. } => f64::from(*n),
        Step::Product { rows, columns, .. } => f64::from(rows * columns),
        Step::Put { n, .. } => f64::from(*n),
        Step::Texture(_) | Step::Store { .. } | Step::StoreShared { .. } | Step::AtomicShared { .. } => 1.0,
        _ => result(step).len() as f64,
    }
}

impl Evaluation<'_> {
    /// Evaluates a step. `parts` is how many nodes share its instruction's cost.
    pub(super) fn step(&mut self, step: &Step, cells: &mut Cells, origin: Origin, parts: f64) -> Done {
        self.steps += 1 + result(step).len() as u64 / 16;
        if self.steps > MAX_STEPS {
            return Err(GaveUp);
        }
        self.operations += self.size(step, origin);
        let maker = self.maker(origin, parts);
        match step {
            Step::Map1 { f, dst, a, n, .. } => {
                for i in 0..*n {
                    let node = self.apply(maker, i, &[cells.get(a + i)], |w| f([w[0]; 4])[0])?;
                    cells.set(dst + i, node);
                }
            }
            Step::Map2 { f, dst, a, b, step, n, .. } => {
                for i in 0..*n {
                    let operands = [cells.get(a + i), cells.get(b + i * step)];
                    let node = match self.simple(maker, operands) {
                        Some(node) => node,
                        None => {
                            self.apply(self.cheaper(maker, operands), 0, &self.sorted(maker, operands), |w| f([w[0]; 4], [w[1]; 4])[0])?
                        }
                    };
                    cells.set(dst + i, node);
                }
            }
            Step::Map3 { f, dst, a, b, c, n, .. } => {
                for i in 0..*n {
                    let operands = [a, b, c].map(|at| cells.get(at + i));
                    let node = self.apply(maker, 0, &operands, |w| f([w[0]; 4], [w[1]; 4], [w[2]; 4])[0])?;
                    cells.set(dst + i, node);
                }
            }
            Step::Wide { f, dst, wide, args, n, .. } => {
                for i in 0..*n {
                    let mut operands = Vec::new();
                    for arg in args.iter().flatten() {
                        let at = arg.at + i * arg.step * if arg.wide { 2 } else { 1 };
                        operands.extend((0..if arg.wide { 2 } else { 1 }).map(|k| cells.get(at + k)));
                    }
                    let words: Option<Vec<u32>> = operands.iter().map(|o| self.graph.word(*o)).collect();
                    let at = dst + i * if *wide { 2 } else { 1 };
                    let (low, high) = match words {
                        Some(words) => {
                            let mut words = words.into_iter();
                            let mut next = |arg: &Option<crate::interpret::step::WideArg>| match arg {
                                None => 0,
                                Some(arg) => {
                                    let low = u64::from(words.next().unwrap_or(0));
                                    low | if arg.wide { u64::from(words.next().unwrap_or(0)) << 32 } else { 0 }
                                }
                            };
                            let [a, b, c] = [next(&args[0]), next(&args[1]), next(&args[2])];
                            let value = f(a, b, c);
                            (self.graph.known(value as u32), self.graph.known((value >> 32) as u32))
                        }
                        None => {
                            let node = self.make(maker, 0, &operands)?;
                            (node, node)
                        }
                    };
                    cells.set(at, low);
                    if *wide {
                        cells.set(at + 1, high);
                    }
                }
            }
            Step::Lane { f, dst, n, args, .. } => {
                let operands: Vec<u32> = args.iter().flat_map(|(at, n)| *at..at + n).map(|c| cells.get(c)).collect();
                let words: Option<Vec<u32>> = operands.iter().map(|o| self.graph.word(*o)).collect();
                if let Some(words) = words {
                    let mut out = [0; 32];
                    f(&words, &mut out[..*n as usize]);
                    (0..*n).for_each(|i| cells.set(dst + i, self.graph.known(out[i as usize])));
                    return Ok(());
                }
                for i in 0..*n {
                    let node = self.make(maker, i, &operands)?;
                    cells.set(dst + i, node);
                }
            }
            Step::Copy { dst, src, n } => {
                let from: Vec<u32> = (*src..src + n).map(|c| cells.get(c)).collect();
                from.into_iter().zip(*dst..).for_each(|(node, to)| cells.set(to, node));
            }
            Step::Gather { dst, from } => {
                let from: Vec<u32> = from.iter().map(|c| cells.get(*c)).collect();
                from.into_iter().zip(*dst..).for_each(|(node, to)| cells.set(to, node));
            }
            Step::Select { dst, condition, cells: each, a, b, n } => {
                for i in 0..*n {
                    let (c, x, y) = (cells.get(condition + i / each), cells.get(a + i), cells.get(b + i));
                    let node = match self.graph.word(c) {
                        Some(0) => y,
                        Some(_) => x,
                        None if x == y => x,
                        None => self.make(maker, 0, &[c, x, y])?,
                    };
                    cells.set(dst + i, node);
                }
            }
            Step::Product { dst, a, b, rows, inner, columns, wide, .. } => {
                let width = if *wide { 2 } else { 1 };
                for c in 0..*columns {
                    for r in 0..*rows {
                        let terms: Vec<u32> = (0..*inner)
                            .flat_map(|k| [a + (k * rows + r) * width, b + (c * inner + k) * width])
                            .flat_map(|at| at..at + width)
                            .map(|at| cells.get(at))
                            .collect();
                        let node = if *wide {
                            self.make(maker, 0, &terms)?
                        } else {
                            self.apply(maker, 0, &terms, |w| {
                                let products = w.chunks(2).map(|p| f32::from_bits(p[0]) * f32::from_bits(p[1]));
                                products.reduce(|sum, p| sum + p).unwrap_or(0.0).to_bits()
                            })?
                        };
                        let at = dst + (c * rows + r) * width;
                        (at..at + width).for_each(|at| cells.set(at, node));
                    }
                }
            }
            Step::Fold { all, dst, a, n } => {
                // One that is false decides all, one that is true any; others that are known do not matter.
                let known: Vec<Option<bool>> = (*a..a + n).map(|c| self.graph.word(cells.get(c)).map(|w| w != 0)).collect();
                let open: Vec<u32> = (*a..a + n).zip(&known).filter(|(_, k)| k.is_none()).map(|(c, _)| cells.get(c)).collect();
                let node = match known.contains(&Some(!*all)) {
                    true => self.graph.known(u32::from(!*all)),
                    false if open.is_empty() => self.graph.known(u32::from(*all)),
                    false => self.make(maker, 0, &open)?,
                };
                cells.set(*dst, node);
            }
            Step::Pick { dst, a, n, cells: each, index } => {
                for i in 0..*each {
                    let node = match self.graph.word(cells.get(*index)) {
                        Some(index) => cells.get(a + index.min(n - 1) * each + i),
                        None => {
                            let all = (0..*n).map(|k| cells.get(a + k * each + i)).chain([cells.get(*index)]);
                            let all: Vec<u32> = all.collect();
                            self.make(maker, 0, &all)?
                        }
                    };
                    cells.set(dst + i, node);
                }
            }
            Step::Put { dst, object, n, cells: each, index } => {
                let known = self.graph.word(cells.get(*index)).map(|k| k.min(n - 1));
                for k in 0..*n {
                    for i in 0..*each {
                        let (at, new) = (dst + k * each + i, cells.get(object + i));
                        let node = match known {
                            Some(known) if known == k => new,
                            Some(_) => continue,
                            None => self.make(maker, k, &[cells.get(at), new, cells.get(*index)])?,
                        };
                        cells.set(at, node);
                    }
                }
            }
            Step::Slope { dst, a, n, slope, .. } => {
                for i in 0..*n {
                    let node = self.apply(maker, *slope as u32, &[cells.get(a + i)], |_| 0)?;
                    cells.set(dst + i, node);
                }
            }
            Step::Undefine { dst, n } => (*dst..dst + n).for_each(|c| cells.set(c, UNDEFINED)),
            Step::IsHelper { dst } => cells.set(*dst, self.graph.leaf(FREE, origin)),
            Step::Demote => drop(self.graph.effect(&[], (own::KILL, 1.0), origin)?),
            Step::Texture(texture) => self.texture(texture, cells, maker)?,
            Step::Address { .. } | Step::Load { .. } | Step::Store { .. } => self.memory(step, cells, maker)?,
            Step::LoadShared { .. } | Step::StoreShared { .. } | Step::AtomicShared { .. } | Step::LengthShared { .. } => {
                self.shared(step, cells, maker)?;
            }
            // Functions are the flow's.
            Step::Call { .. } => {}
        }
        Ok(())
    }

    fn maker(&self, origin: Origin, parts: f64) -> Maker {
        let Some(at) = origin.inst else { return Maker { key: [0; 2], cost: (FREE, 0.0), origin } };
        let inst = &self.module.insts()[at];
        let set = if inst.op == Op::ExtInst { self.module.args(inst).get(1).copied().unwrap_or(0) } else { 0 };
        let (feature, number) = self.costs[at];
        Maker { key: [inst.op as u32, set], cost: (feature, number / parts.max(1.0)), origin }
    }

    /// A word where all operands are known, else a node.
    fn apply(&mut self, maker: Maker, part: u32, operands: &[u32], f: impl Fn(&[u32]) -> u32) -> Done<u32> {
        let mut words = [0; 64];
        let known = operands.len() <= words.len()
            && operands.iter().zip(&mut words).all(|(o, word)| self.graph.word(*o).map(|w| *word = w).is_some());
        if known {
            return Ok(self.graph.known(f(&words[..operands.len()])));
        }
        self.pushed(maker, operands, f).unwrap_or_else(|| self.make(maker, part, operands))
    }

    /// An operation on one of two known words, and otherwise on known ones, is one of two known words itself.
    fn pushed(&mut self, maker: Maker, operands: &[u32], f: impl Fn(&[u32]) -> u32) -> Option<Done<u32>> {
        let mut open = operands.iter().enumerate().filter(|(_, o)| self.graph.word(**o).is_none());
        let ((at, chosen), None) = (open.next()?, open.next()) else { return None };
        let (condition, words) = self.graph.choice(*chosen)?;
        let mut all: Vec<u32> = operands.iter().map(|o| self.graph.word(*o).unwrap_or(0)).collect();
        let [yes, no] = words.map(|word| {
            all[at] = word;
            self.graph.known(f(&all))
        });
        let select = Maker { key: [Op::Select as u32, 0], cost: (own::SELECT, 1.0), ..maker };
        Some(if yes == no { Ok(yes) } else { self.make(select, 0, &[condition, yes, no]) })
    }

    fn make(&mut self, maker: Maker, part: u32, operands: &[u32]) -> Done<u32> {
        let key: Key = ([maker.key[0], maker.key[1], part], operands.into());
        self.graph.node(key, maker.cost, maker.origin)
    }

    /// The order of operands that may be swapped.
    fn sorted(&self, maker: Maker, [a, b]: [u32; 2]) -> [u32; 2] {
        let swaps = [Op::FAdd, Op::FMul, Op::IAdd, Op::IMul, Op::BitwiseAnd, Op::BitwiseOr, Op::BitwiseXor, Op::LogicalAnd, Op::LogicalOr];
        if b < a && swaps.iter().any(|op| *op as u32 == maker.key[0]) { [b, a] } else { [a, b] }
    }

    /// Operations with a neutral element, or one that decides.
    fn simple(&mut self, maker: Maker, [a, b]: [u32; 2]) -> Option<u32> {
        let op = Op::from_u32(maker.key[0])?;
        let (x, y) = (self.graph.word(a), self.graph.word(b));
        let (one, zero) = (Some(1.0f32.to_bits()), |w: Option<u32>| matches!(w, Some(0 | 0x8000_0000)));
        match op {
            Op::FMul | Op::VectorTimesScalar | Op::MatrixTimesScalar if y == one => Some(a),
            Op::FMul | Op::VectorTimesScalar | Op::MatrixTimesScalar if x == one => Some(b),
            Op::FMul | Op::VectorTimesScalar | Op::MatrixTimesScalar if zero(x) || zero(y) => Some(self.graph.known(0)),
            Op::FAdd | Op::FSub if zero(y) => Some(a),
            Op::FAdd if zero(x) => Some(b),
            Op::FDiv if y == one => Some(a),
            Op::IAdd | Op::ISub if y == Some(0) => Some(a),
            Op::IAdd if x == Some(0) => Some(b),
            Op::IMul if y == Some(1) => Some(a),
            Op::IMul if x == Some(1) => Some(b),
            Op::LogicalAnd if x == Some(0) || y == Some(0) => Some(self.graph.known(0)),
            Op::LogicalAnd if x.is_some() => Some(b),
            Op::LogicalAnd if y.is_some() => Some(a),
            Op::LogicalOr if x == Some(0) => Some(b),
            Op::LogicalOr if y == Some(0) => Some(a),
            _ => None,
        }
    }

    /// Powers with small whole exponents are products; so are quotients by known whole numbers, or masks and shifts.
    fn cheaper(&self, maker: Maker, [_, b]: [u32; 2]) -> Maker {
        let pow = maker.key == [Op::ExtInst as u32, GlslStd450Op::Pow as u32];
        let signed = [Op::SDiv, Op::SRem, Op::SMod].iter().any(|op| *op as u32 == maker.key[0]);
        let quotient = signed || [Op::UDiv, Op::UMod].iter().any(|op| *op as u32 == maker.key[0]);
        let cost = match self.graph.word(b) {
            Some(word) if pow && f32::from_bits(word) == 2.0 => (own::MUL, 1.0),
            Some(word) if pow && f32::from_bits(word) == 4.0 => (own::MUL, 2.0),
            Some(word) if quotient && word.is_power_of_two() => (own::INT_BIT, if signed { 3.0 } else { 1.0 }),
            Some(_) if quotient => (own::INT_MUL, 2.0),
            _ => return maker,
        };
        Maker { cost, ..maker }
    }

    fn texture(&mut self, t: &TextureStep, cells: &mut Cells, maker: Maker) -> Done {
        let mut operands = vec![cells.get(t.image)];
        let mut take = |at: u32, n: u32| operands.extend((at..at + n).map(|c| cells.get(c)));
        if !matches!(t.ask, Ask::Size | Ask::Levels | Ask::Samples) {
            take(t.coordinate, t.axes + u32::from(t.arrayed));
        }
        [t.projector, t.reference].into_iter().flatten().for_each(|at| take(at, 1));
        match t.lod {
            Lod::Implicit { bias } => bias.into_iter().for_each(|at| take(at, 1)),
            Lod::Explicit(at) => take(at, 1),
            Lod::Gradient(x, y) => [x, y].into_iter().for_each(|at| take(at, t.axes)),
        }
        t.offset.into_iter().for_each(|at| take(at, t.axes));
        if let Ask::Gather(Some(component)) = t.ask {
            take(component, 1);
        }
        let texel = self.make(maker, 0, &operands)?;
        let part = Maker { key: [PART, 0], cost: (FREE, 0.0), ..maker };
        for i in 0..t.n.min(4) {
            let node = self.make(part, i, &[texel])?;
            cells.set(t.dst + i, node);
        }
        Ok(())
    }

    /// Memory that one invocation sees.
    fn memory(&mut self, step: &Step, cells: &mut Cells, maker: Maker) -> Done {
        match step {
            Step::Address { dst, base, terms } => {
                let base = match base {
                    Place::Fixed(at) => self.graph.known(*at),
                    Place::At(cell) => cells.get(*cell),
                };
                let indices: Vec<u32> = terms.iter().map(|t| cells.get(t.index)).collect();
                let operands: Vec<u32> = [base].into_iter().chain(indices).collect();
                // Parameters are passed by address, which costs nothing.
                if terms.is_empty() {
                    cells.set(*dst, base);
                    return Ok(());
                }
                let words: Option<Vec<u32>> = operands.iter().map(|o| self.graph.word(*o)).collect();
                let node = match words {
                    Some(words) => {
                        let inside = |i: u32, len: u32| if len < u32::MAX && i.cast_signed() < 0 { 0 } else { i.min(len - 1) };
                        let far = terms.iter().zip(&words[1..]).map(|(t, w)| inside(*w, t.len).wrapping_mul(t.stride));
                        self.graph.known(far.fold(words[0], u32::wrapping_add))
                    }
                    None => self.make(maker, 0, &operands)?,
                };
                cells.set(*dst, node);
            }
            Step::Load { dst, at, n } => {
                let address = cells.get(*at);
                if let Some(start) = self.graph.word(address) {
                    let start = start.min(cells.len() - n);
                    let from: Vec<u32> = (start..start + n).map(|c| cells.get(c)).collect();
                    from.into_iter().zip(*dst..).for_each(|(node, to)| cells.set(to, node));
                    return Ok(());
                }
                let mut all: Vec<u32> = Vec::new();
                for start in self.reach(*at)? {
                    self.graph.in_memory(start.start..start.end - 1 + n);
                    all.extend((start.start..start.end - 1 + n).map(|c| cells.get(c)));
                }
                self.steps += all.len() as u64 / 16;
                // Of uniforms a load reads what it needs; they never change.
                all.retain(|node| !self.uniforms.contains_key(node));
                all.dedup();
                // An array as it is now is one node, however often it is read.
                let array = Maker { key: [ALL_OF, 0], cost: (FREE, 0.0), ..maker };
                let array = self.make(array, 0, &all)?;
                for i in 0..*n {
                    let node = self.make(maker, i, &[address, array])?;
                    cells.set(dst + i, node);
                }
            }
            Step::Store { at, src, n } => {
                let address = cells.get(*at);
                let new: Vec<u32> = (*src..src + n).map(|c| cells.get(c)).collect();
                if let Some(start) = self.graph.word(address) {
                    let start = start.min(cells.len() - n);
                    new.into_iter().zip(start..).for_each(|(node, to)| cells.set(to, node));
                    self.graph.stored(start..start + n, maker.origin);
                    return Ok(());
                }
                let operands: Vec<u32> = [address].into_iter().chain(new).collect();
                let store = self.make(maker, 0, &operands)?;
                let part = Maker { key: [PART, 1], cost: (FREE, 0.0), ..maker };
                for start in self.reach(*at)? {
                    self.graph.in_memory(start.start..start.end - 1 + n);
                    for cell in start.start..start.end - 1 + n {
                        let node = self.make(part, 0, &[cells.get(cell), store])?;
                        cells.set(cell, node);
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Storage buffers: what is read may have been written by others.
    fn shared(&mut self, step: &Step, cells: &mut Cells, maker: Maker) -> Done {
        let fresh = |this: &mut Self, feature| this.graph.leaf(feature, maker.origin);
        match *step {
            Step::LoadShared { dst, at, n, .. } => {
                self.graph.effect(&[cells.get(at)], maker.cost, maker.origin)?;
                (dst..dst + n).for_each(|c| cells.set(c, fresh(self, FREE)));
            }
            Step::StoreShared { at, src, n, .. } => {
                let operands: Vec<u32> = [at].into_iter().chain(src..src + n).map(|c| cells.get(c)).collect();
                self.graph.effect(&operands, maker.cost, maker.origin)?;
            }
            Step::AtomicShared { wide, dst, at, value, .. } => {
                let n = if wide { 2 } else { 1 };
                let operands: Vec<u32> = [at].into_iter().chain(value.into_iter().flat_map(|v| v..v + n)).map(|c| cells.get(c)).collect();
                self.graph.effect(&operands, maker.cost, maker.origin)?;
                dst.into_iter().flat_map(|d| d..d + n).for_each(|c| cells.set(c, fresh(self, FREE)));
            }
            Step::LengthShared { dst, .. } => cells.set(dst, fresh(self, FREE)),
            _ => {}
        }
        Ok(())
    }
}

/// What nodes of an instruction have in common.
#[derive(Clone, Copy)]
struct Maker {
    /// The opcode, and the instruction of an extended set.
    key: [u32; 2],
    cost: (usize, f64),
    origin: Origin,
}
