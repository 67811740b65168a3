//! Warps of a core take turns at its units.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// What serves requests of a core's warps one after another, beside its schedulers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Buffers,
    Texels,
    /// Lines that texture caches do not hold come while others are looked up.
    Lines,
    Local,
    /// A core's share of the second level, and of memory.
    Second,
    Memory,
}

/// How many they are.
pub const UNITS: usize = 6;

/// What a piece of a warp's life takes of units, seconds.
#[derive(Clone, Debug, Default)]
pub struct Turn {
    /// Of the warp's scheduler, before its loads and after them.
    pub issue: f64,
    pub compute: f64,
    /// Of units, for what the warp waits for and for what it does not.
    pub loads: [f64; UNITS],
    pub stores: [f64; UNITS],
    /// From a unit to registers: of buffers and texels.
    pub waits: [f64; 2],
    /// Whether warps of a group meet.
    pub meets: bool,
    /// Whether the warp goes on before what it loads is there, and waits for that where it meets others.
    pub ahead: bool,
}

/// What a core holds.
#[derive(Clone, Copy, Debug)]
pub struct Core {
    pub groups: usize,
    /// Warps of a group.
    pub warps: usize,
    pub schedulers: usize,
    pub textures: usize,
    /// Seconds from the last one's arrival at a barrier until all go on.
    pub barrier: f64,
    /// For how long stores may wait for the second level, and what it gives up for memory, before what is behind them waits, too.
    pub queue: f64,
}

/// Serves one after another.
#[derive(Clone, Copy, Debug, Default)]
struct Server(f64);

impl Server {
    /// When what comes at that time has been served.
    fn serve(&mut self, at: f64, busy: f64) -> f64 {
        self.0 = self.0.max(at) + busy;
        self.0
    }
}

/// A warp that goes on at a time: with its next piece, or with what it computes in it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Event {
    at: f64,
    warp: usize,
    loaded: bool,
}

impl Eq for Event {}
impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Event {
    fn cmp(&self, other: &Self) -> Ordering {
        self.at.total_cmp(&other.at).then(self.warp.cmp(&other.warp)).then(self.loaded.cmp(&other.loaded))
    }
}

/// Units that warps ask, and what lies behind them.
const ASKED: [Unit; 3] = [Unit::Buffers, Unit::Texels, Unit::Local];
const BEHIND: [Unit; 2] = [Unit::Second, Unit::Memory];

/// Seconds until all warps have done all pieces of the list, and units what they were asked for: of each of these waves of so many groups, of
/// which each begins when the warps of the one before have ended, while units may still be busy with what they stored.
pub fn turns(pieces: &[Turn], list: &[usize], core: &Core, waves: &[usize]) -> Vec<f64> {
    let mut units = Units::of(core);
    let mut begin = 0.0;
    let wave = |&groups: &usize| {
        begin = life(pieces, list, &Core { groups, ..*core }, begin, &mut units);
        units.busy().fold(begin, f64::max)
    };
    waves.iter().map(wave).collect()
}

/// All that serves a core's warps.
struct Units {
    schedulers: Vec<Server>,
    others: [Server; UNITS],
    /// Of each texture unit: texels, and lines.
    textures: Vec<[Server; 2]>,
}

impl Units {
    fn of(core: &Core) -> Self {
        let schedulers = vec![Server::default(); core.schedulers];
        Self { schedulers, others: [Server::default(); UNITS], textures: vec![[Server::default(); 2]; core.textures] }
    }

    /// Until when each is busy.
    fn busy(&self) -> impl Iterator<Item = f64> {
        self.others.iter().chain(&self.schedulers).chain(self.textures.iter().flatten()).map(|unit| unit.0)
    }
}

/// When the last warp has done all pieces of the list, of warps that begin together.
fn life(pieces: &[Turn], list: &[usize], core: &Core, begin: f64, Units { schedulers, others: units, textures }: &mut Units) -> f64 {
    let warps = core.groups * core.warps;
    let mut queue: BinaryHeap<Reverse<Event>> = (0..warps).map(|warp| Reverse(Event { at: begin, warp, loaded: false })).collect();
    let mut next = vec![0; warps];
    // Until when each warp's loads ahead are under way.
    let mut coming = vec![0.0_f64; warps];
    // Of each group, how many warps have come to its barrier.
    let mut met = vec![0; core.groups];
    let mut end = begin;
    while let Some(&Reverse(Event { at, warp, loaded })) = queue.peek() {
        let Some(turn) = list.get(next[warp]).map(|&piece| &pieces[piece]) else {
            end = end.max(at);
            queue.pop();
            continue;
        };
        let scheduler = &mut schedulers[warp % core.schedulers];
        let goes_on = if turn.meets && coming[warp] > at {
            Event { at: coming[warp], warp, loaded: false }
        } else if turn.meets {
            queue.pop();
            let group = warp / core.warps;
            met[group] += 1;
            if met[group] == core.warps {
                met[group] = 0;
                for (warp, next) in next.iter_mut().enumerate().skip(group * core.warps).take(core.warps) {
                    *next += 1;
                    queue.push(Reverse(Event { at: at + core.barrier, warp, loaded: false }));
                }
            }
            continue;
        } else if loaded {
            let mut go = scheduler.serve(at, turn.compute);
            for unit in ASKED.map(|unit| unit as usize).into_iter().filter(|&unit| turn.stores[unit] > 0.0) {
                // The warp goes on when its store is taken.
                go = units[unit].serve(go, turn.stores[unit]) - turn.stores[unit];
            }
            // From memory to the unit each level waits for the next one, but for what its queue holds.
            let mut taken = go;
            for unit in BEHIND.map(|unit| unit as usize).into_iter().rev().filter(|&unit| turn.stores[unit] > 0.0) {
                let served = units[unit].serve(go, turn.stores[unit]);
                units[unit].0 = served.max(taken);
                taken = (units[unit].0 - core.queue).max(go);
            }
            if turn.stores[Unit::Buffers as usize] > 0.0 {
                let buffers = &mut units[Unit::Buffers as usize];
                buffers.0 = buffers.0.max(taken);
                go = taken;
            }
            next[warp] += 1;
            Event { at: go, warp, loaded: false }
        } else {
            let asked = scheduler.serve(at, turn.issue);
            let mut ready = asked;
            let beside = turn.waits[0].max(turn.waits[1]);
            for unit in (0..UNITS).filter(|&unit| turn.loads[unit] > 0.0) {
                let texture = warp % core.textures;
                let (server, wait) = match unit {
                    _ if unit == Unit::Buffers as usize => (&mut units[unit], turn.waits[0]),
                    _ if unit == Unit::Texels as usize => (&mut textures[texture][0], turn.waits[1]),
                    _ if unit == Unit::Lines as usize => (&mut textures[texture][1], turn.waits[1]),
                    _ if unit == Unit::Local as usize => (&mut units[unit], 0.0),
                    _ => (&mut units[unit], beside),
                };
                ready = ready.max(server.serve(asked, turn.loads[unit]) + wait);
            }
            if turn.ahead {
                (coming[warp], ready) = (coming[warp].max(ready), asked);
            }
            Event { at: ready, warp, loaded: true }
        };
        if let Some(mut first) = queue.peek_mut() {
            *first = Reverse(goes_on);
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A piece that loads from buffers for so long.
    fn loading(busy: f64) -> Turn {
        let mut turn = Turn { issue: 1.0, compute: 2.0, waits: [10.0, 0.0], ..Turn::default() };
        turn.loads[Unit::Buffers as usize] = busy;
        turn
    }

    /// Of one wave.
    fn turns(pieces: &[Turn], list: &[usize], core: &Core) -> f64 {
        super::turns(pieces, list, core, &[core.groups])[0]
    }

    fn core(groups: usize, warps: usize) -> Core {
        Core { groups, warps, schedulers: 2, textures: 1, barrier: 1.0, queue: 10.0 }
    }

    #[test]
    fn one_warp_waits_for_nobody() {
        // Issue, unit, wait, compute; twice.
        assert_eq!(turns(&[loading(4.0)], &[0, 0], &core(1, 1)), 2.0 * (1.0 + 4.0 + 10.0 + 2.0));
    }

    #[test]
    fn units_serve_one_warp_after_another() {
        // On two schedulers both ask at 1; the second is served when the first has been.
        assert_eq!(turns(&[loading(4.0)], &[0], &core(2, 1)), 1.0 + 2.0 * 4.0 + 10.0 + 2.0);
        // Four warps keep a unit busy that takes longer than all else: nothing waits but the first request and the last arithmetic.
        assert_eq!(turns(&[loading(40.0)], &[0; 5], &core(4, 1)), 1.0 + 20.0 * 40.0 + 10.0 + 2.0);
        // Where arithmetic takes longest, each scheduler has two warps.
        let computing = Turn { compute: 100.0, ..loading(1.0) };
        let took = turns(&[computing], &[0; 5], &core(4, 1));
        assert!((1000.0..1100.0).contains(&took), "{took}");
    }

    #[test]
    fn warps_of_a_group_meet() {
        let meets = Turn { meets: true, ..Turn::default() };
        // The second warp is served last; the first one waits for it.
        let took = turns(&[loading(4.0), meets.clone()], &[0, 1, 0], &core(1, 2));
        assert_eq!(took, (1.0 + 8.0 + 10.0 + 2.0) + 1.0 + (1.0 + 8.0 + 10.0 + 2.0));
        // Groups do not.
        let apart = turns(&[loading(4.0), meets], &[0, 1, 0], &core(2, 1));
        assert!(apart < took, "{apart} {took}");
    }

    #[test]
    fn loads_ahead_are_waited_for_where_warps_meet() {
        let (computing, meets) = (Turn { compute: 12.0, ..Turn::default() }, Turn { meets: true, ..Turn::default() });
        let pieces = |busy| [Turn { ahead: true, ..loading(busy) }, computing.clone(), meets.clone()];
        let alone = Core { schedulers: 1, ..core(1, 1) };
        // Issue, compute of its own and of the next piece; the load is there by then, and the barrier is all that follows.
        assert_eq!(turns(&pieces(4.0), &[0, 1, 2], &alone), 1.0 + 2.0 + 12.0 + 1.0);
        // One that takes longer ends when it is there.
        assert_eq!(turns(&pieces(40.0), &[0, 1, 2], &alone), 1.0 + 40.0 + 10.0 + 1.0);
        // Nobody meets: nobody waits but the unit.
        assert_eq!(turns(&pieces(40.0), &[0, 1], &alone), 1.0 + 40.0);
    }

    #[test]
    fn stores_wait_in_a_queue() {
        let mut turn = Turn { issue: 1.0, compute: 1.0, ..Turn::default() };
        turn.stores[Unit::Memory as usize] = 50.0;
        turn.stores[Unit::Buffers as usize] = 5.0;
        // The second store waits for the first to be taken; the launch ends when memory has both.
        assert_eq!(turns(&[turn.clone()], &[0, 0], &core(1, 1)), 2.0 + 2.0 * 50.0);
        // What the queue has no room for holds the unit up, so that loads behind it wait, too: one that comes after a store of 50 begins
        // when all but 10 of it are done.
        let after = |queue| turns(&[turn.clone(), loading(4.0)], &[0, 1], &Core { queue, ..core(1, 1) });
        assert_eq!(after(10.0), (2.0 + 50.0 - 10.0) + 1.0 + 4.0 + 10.0 + 2.0);
        // With room enough it waits for the unit alone, and the launch ends with the store.
        assert_eq!(after(100.0), 2.0 + 50.0);
    }

    #[test]
    fn a_wave_begins_while_the_one_before_is_still_stored() {
        let mut stores = Turn { issue: 1.0, compute: 1.0, ..Turn::default() };
        stores.stores[Unit::Memory as usize] = 50.0;
        let pieces = [loading(4.0), stores];
        let all = |waves: &[usize]| super::turns(&pieces, &[0, 1], &Core { queue: 100.0, ..core(1, 1) }, waves);
        // Memory is done long after the warp; the next one's loads wait for nobody, and its store for memory.
        let first = 17.0 + 2.0 + 50.0;
        assert_eq!(all(&[1, 1, 1]), [first, first + 50.0, first + 100.0]);
        // Of loads alone each wave takes what the first one took.
        assert_eq!(super::turns(&pieces, &[0], &core(1, 1), &[1, 1]), [17.0, 34.0]);
    }
}
