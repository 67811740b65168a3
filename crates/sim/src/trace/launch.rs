//! Who does what when: groups in launch order on cores with room for them, all resident warps in turns of one access.

use super::levels::Levels;
use super::memory::Memory;
use super::options::Options;
use super::request::Request;
use super::script::{Script, Step};
use super::volumes::{Part, Traced, Volumes};
use warpsight_ir::AccessKind;
use warpsight_ir::occupancy::Occupancy;

/// A launch under way.
pub struct Launch<'a> {
    script: &'a Script,
    memory: Memory,
    request: Request,
    resident: Occupancy,
    cores: Vec<Vec<Group>>,
    /// The group that starts next.
    next: u64,
    executed: u64,
    lanes: u64,
}

/// A resident group.
#[derive(Default)]
struct Group {
    warps: Vec<Warp>,
}

/// A warp on its way.
struct Warp {
    /// Its number in the group.
    number: usize,
    /// Of all variables.
    values: Vec<i64>,
    /// The next step.
    at: usize,
    /// At a barrier.
    waits: bool,
}

/// What had happened at a time.
#[derive(Clone)]
struct Shot {
    executed: u64,
    moved: Vec<Volumes>,
}

/// Of an executed part the second half stands for what was not executed. Whole waves are taken where they make up half of that.
const HALF: u64 = 2;

impl<'a> Launch<'a> {
    /// On empty caches.
    pub fn new(script: &'a Script, memory: Memory, levels: &Levels, resident: Occupancy) -> Self {
        let room = |_| (0..resident.groups).map(|_| Group::default()).collect();
        Self {
            script,
            memory,
            request: Request::new(levels.l1.sector),
            resident,
            cores: (0..levels.cores).map(room).collect(),
            next: 0,
            executed: 0,
            lanes: 0,
        }
    }

    /// Runs to the end, or as far as it is to be followed.
    pub fn run(mut self, Options { limit, turn, .. }: Options) -> Traced {
        let wave = self.cores.len() as u64 * u64::from(self.resident.groups);
        let (mut waves, mut half): (Vec<Shot>, Option<Shot>) = (Vec::new(), None);
        while self.executed < limit {
            let (now, begun) = ((self.executed >= limit / HALF).then(|| self.shot()), self.next / wave);
            self.fill();
            if let Some(now) = now {
                if self.next / wave > begun {
                    // The first and the last are needed.
                    waves.truncate(1);
                    waves.push(now.clone());
                }
                half.get_or_insert(now);
            }
            if !self.round(turn.max(1)) {
                return self.whole();
            }
        }
        if self.executed == self.all() {
            return self.whole();
        }
        let (begin, end) = (Shot { executed: 0, moved: vec![Volumes::default(); self.memory.moved.len()] }, self.shot());
        let (from, until) = match waves.as_slice() {
            [first, last] if last.executed - first.executed >= limit / HALF / HALF => (first, last),
            _ => (half.as_ref().unwrap_or(&begin), &end),
        };
        self.extrapolated(from, until)
    }

    /// One turn of every warp; whether there are any.
    fn round(&mut self, turn: u32) -> bool {
        let mut any = false;
        for core in 0..self.cores.len() {
            let mut groups = std::mem::take(&mut self.cores[core]);
            for group in &mut groups {
                any |= !group.warps.is_empty();
                group.warps.iter_mut().for_each(|warp| self.turn(core, warp, turn));
                let ended = |warp: &Warp| warp.at == self.script.steps.len();
                if group.warps.iter().all(|warp| warp.waits || ended(warp)) {
                    group.warps.iter_mut().for_each(|warp| warp.waits = false);
                }
                if group.warps.iter().all(ended) {
                    group.warps.clear();
                }
            }
            self.cores[core] = groups;
        }
        any
    }

    /// Starts groups where there is room, breadth first: a core gets a second one when each that has room got one.
    fn fill(&mut self) {
        for place in 0..self.resident.groups as usize {
            for core in 0..self.cores.len() {
                if self.next < self.script.group_count && self.cores[core][place].warps.is_empty() {
                    self.cores[core][place] = self.begin();
                }
            }
        }
    }

    /// The next access of a warp that any lane takes part in, or several loads that need nothing of each other.
    fn turn(&mut self, core: usize, warp: &mut Warp, most: u32) {
        let mut made = 0;
        while let Some(step) = self.script.steps.get(warp.at).filter(|_| !warp.waits) {
            // What is loaded is waited for at the end of a trip, and by what is stored.
            let loads = matches!(step, Step::Access(number) if self.script.touches[*number as usize].kind == AccessKind::Load);
            if made == most || (made > 0 && !loads) {
                return;
            }
            warp.at += 1;
            match *step {
                Step::Access(number) => {
                    let touch = &self.script.touches[number as usize];
                    let active = self.request.make(self.script, touch, &warp.values, warp.number);
                    self.executed += 1;
                    if active > 0 {
                        self.lanes += active;
                        self.memory.request(core, touch.tensor, touch.kind, &self.request.pieces);
                        made += 1;
                    }
                }
                Step::Begin(var) => warp.values[usize::from(var)] = 0,
                Step::Again(var, trips, begin) => {
                    let value = &mut warp.values[usize::from(var)];
                    *value += 1;
                    if *value < i64::from(trips) {
                        warp.at = begin as usize;
                    }
                }
                Step::Barrier => warp.waits = true,
            }
        }
    }

    /// The next group of the launch.
    fn begin(&mut self) -> Group {
        let script = self.script;
        let mut values = vec![0; script.vars];
        let mut rest = self.next;
        for &(var, count) in &script.groups {
            values[usize::from(var)] = (rest % count) as i64;
            rest /= count;
        }
        self.next += 1;
        let warp = |number| Warp { number, values: values.clone(), at: 0, waits: false };
        Group { warps: (0..script.warps() as usize).map(warp).collect() }
    }

    fn shot(&self) -> Shot {
        Shot { executed: self.executed, moved: self.memory.moved.clone() }
    }

    /// Accesses of the launch's warps.
    fn all(&self) -> u64 {
        self.script.group_count.saturating_mul(self.script.warps().into()).saturating_mul(self.script.accesses)
    }

    fn whole(mut self) -> Traced {
        self.memory.flush();
        let moved = self.memory.moved.clone();
        self.traced(moved, None)
    }

    /// What had moved until `from`, and for all the rest what moved from there to `until`.
    fn extrapolated(self, from: &Shot, until: &Shot) -> Traced {
        let factor = (self.all() - from.executed) as f64 / (until.executed - from.executed).max(1) as f64;
        let each = from.moved.iter().zip(&until.moved).map(|(&before, &after)| {
            let mut sum = before;
            sum += (after - before) * factor;
            sum
        });
        let moved = each.collect();
        self.traced(moved, Some((from.executed, until.executed)))
    }

    fn traced(self, moved: Vec<Volumes>, stands: Option<(u64, u64)>) -> Traced {
        let mut volumes = Volumes::default();
        moved.iter().for_each(|&own| volumes += own);
        let wave = self.cores.len() as f64 * f64::from(self.resident.groups);
        let waves = self.next as f64 / wave;
        let part = Part { executed: self.executed, of: self.all(), lanes: self.lanes, waves, stands };
        Traced { volumes, per_tensor: self.script.names.iter().cloned().zip(moved).collect(), part, occupancy: self.resident }
    }
}
