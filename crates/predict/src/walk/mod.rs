//! How long the warps of a core take that share its units: their lives, walked through event by event.
//!
//! A warp issues what it loads together, waits until it is there, computes, and goes on; its arithmetic and each of its requests take their turn
//! at a unit that serves one after another. So a warp waits for units that others keep busy only where it comes when they do, which no norm of
//! limiters says. What the units do is [`crate::time`]'s, limiter by limiter; here it is shared out to the pieces of a warp's life, by
//! what each asks for; but load-store units move whole sectors here, and take stores, too. A core has its groups' share of what lies behind the cores.
//! Groups that a core holds together begin and end together, as they do where nothing is recorded ([`crate::volumes::behind::steps`]).

mod pieces;
mod turns;

use crate::time::{Limit, filling, first_level_bandwidth, groups_at_once, issue_rate, texel_bandwidth};
use crate::volumes::behind::steps::in_step;
use crate::volumes::count::Exact;
use pieces::Pieces;
use turns::{Core, Turn, UNITS, Unit, turns};
use warpsight_ir::{Hertz, Limiter, Profile, Seconds};

/// Pieces that are walked through, of all warps together: longer lives are taken to go on as they begin.
const WALKED: f64 = 4000.0;

/// The warps of a launch, as a core sees them.
#[derive(Clone, Debug)]
pub struct Warps {
    pieces: Pieces,
    /// Groups of the busiest core, and those it holds at once.
    groups: (f64, f64),
    /// Warps of a group, and of the launch.
    warps: (usize, f64),
    cores: f64,
    schedulers: usize,
    /// What texture units take for lines that come, of the launch.
    filling: Seconds,
    /// Texture units of a core.
    textures: usize,
    /// Instructions that a core issues a cycle.
    rate: f64,
    /// Bytes that load-store units of all cores move a second, and texture units.
    moves: f64,
    fetches: Option<f64>,
    clock: Hertz,
    /// Seconds that a barrier takes.
    barrier: f64,
    /// Cycles to the second level and back: a load-store unit has as many stores on their way as it can have answered.
    queue: f64,
}

impl Warps {
    /// Of a launch; `None` where waves do not run in step, or a number is unknown that they cannot be followed without: what a barrier
    /// takes only a probe tells.
    pub fn of(exact: &Exact, on: &Profile) -> Option<Self> {
        let (counts, launch) = (&exact.counts, &exact.counts.kernel.launch);
        if !in_step(on) {
            return None;
        }
        let groups = launch.group_count() as f64;
        let own = launch.group_size().div_ceil(counts.warp.max(1)) as usize;
        let warps = groups * own as f64;
        let cores = f64::from(*on.execution.cores.get()?);
        Some(Self {
            pieces: Pieces::of(exact, on, warps)?,
            groups: ((groups / cores).ceil(), groups_at_once(counts, on).ok()?),
            warps: (own, warps),
            cores,
            schedulers: on.probed.schedulers.get().map_or(1, |&all| (all as usize).max(1)),
            filling: counts.images.as_ref().map_or(Seconds::ZERO, |images| filling(images, on)),
            textures: on.memory.texture_l1.instances.get().map_or(1, |&all| (f64::from(all) / cores) as usize).max(1),
            rate: issue_rate(on, counts.warp).ok()?,
            fetches: texel_bandwidth(counts.kernel, on).0.get().map(|bandwidth| bandwidth.0),
            moves: first_level_bandwidth(on).0.get()?.0,
            clock: *on.execution.clock.get()?,
            barrier: on.probed.barrier.get()?.0,
            queue: on.memory.l2.latency.get()?.0,
        })
    }

    /// From the first warp's begin to the last one's end, at this clock or the profile's. `limits`: what units take for all of them;
    /// `between`: what lies between waves.
    pub fn seconds(&self, limits: &[Limit], between: Seconds, clock: Option<Hertz>) -> Seconds {
        let clock = clock.unwrap_or(self.clock).0;
        let of = |limiter| limits.iter().find(|own| own.0 == limiter).and_then(|own| own.1.as_ref().ok()).map_or(0.0, |own| own.0);
        // Limiters of cores are of the busiest one; of what is behind them it has as much as it has groups.
        let (busiest, even) = (self.warps.1 / self.warps.0 as f64 / self.groups.0, self.cores);
        let each = |seconds: f64, cores: f64, asked: f64| if asked > 0.0 { seconds * cores / asked } else { 0.0 };
        let asked = self.pieces.asked;
        let mut busy = [0.0; UNITS];
        busy[Unit::Buffers as usize] = even / self.moves;
        let textures = even * self.textures as f64;
        busy[Unit::Lines as usize] = each(self.filling.0, textures, asked[Unit::Lines as usize]);
        busy[Unit::Texels as usize] = self.fetches.map_or(0.0, |bandwidth| textures / bandwidth);
        for (unit, limiter) in [(Unit::Local, Limiter::Local), (Unit::Second, Limiter::L2), (Unit::Memory, Limiter::Dram)] {
            busy[unit as usize] = each(of(limiter), busiest, asked[unit as usize]);
        }
        let slot = self.schedulers as f64 / self.rate / clock;
        let computing = of(Limiter::Issue).max(of(Limiter::Fp)) * self.schedulers as f64;
        let all = each(computing, busiest, self.pieces.executed);
        let turns_of: Vec<Turn> = self.pieces.all.iter().map(|piece| piece.turn(busy, (slot.min(all), all), clock)).collect();
        let (all, at_once) = self.groups;
        let full = (all / at_once).floor();
        let rest = all - full * at_once;
        // Of many waves the others take what the second one takes beyond the first.
        let walked = full.min(2.0);
        let waves: Vec<usize> =
            std::iter::repeat_n(at_once, walked as usize).chain((rest > 0.0).then_some(rest)).map(|groups| groups as usize).collect();
        let core = Core {
            groups: at_once as usize,
            warps: self.warps.0,
            schedulers: self.schedulers,
            textures: self.textures,
            barrier: self.barrier,
            queue: self.queue / clock,
        };
        let walk = |most: f64| {
            let list = self.pieces.list(most);
            let ends = turns(&turns_of, &list, &core, &waves);
            let each = if full > walked { (full - walked) * (ends[1] - ends[0]) } else { 0.0 };
            (list.len() as f64, ends.last().map_or(0.0, |last| last + each))
        };
        let most = WALKED / (waves[0] * self.warps.0) as f64;
        let (long, time) = walk(most);
        let left = (self.pieces.number - long).max(0.0);
        // What is left are trips of loops, each of which takes what those take by which a walk is longer than one of half as many.
        let (short, earlier) = if left > 0.0 { walk(most / 2.0) } else { (long, time) };
        let trip = if short < long { (time - earlier).max(0.0) / (long - short) } else { time / long.max(1.0) };
        let walked = time + left * trip;
        // No launch is shorter than what a unit does for it.
        let units = limits.iter().filter(|own| !matches!(own.0, Limiter::Launch | Limiter::Latency));
        let longest = units.filter_map(|own| own.1.as_ref().ok()).fold(0.0, |most: f64, own| most.max(own.0));
        Seconds(of(Limiter::Launch) + (walked + between.0).max(longest))
    }
}

#[cfg(test)]
mod tests {
    use crate::KernelModel;
    use crate::coarse::Coarse;
    use crate::time::groups_at_once;
    use warpsight_ir::profile::{Fact, Source};
    use warpsight_ir::{BytesPerSecond, Checked, CostModel, Estimate, Kernel, Limiter, Meanwhile, Nest, Seconds, profile, text};

    /// Groups of 64 lanes that add so many neighbouring values each.
    fn estimate(groups: u32, trips: u32) -> Estimate {
        ending(groups, trips, 1)
    }

    /// The same, which store their sum so often.
    fn ending(groups: u32, trips: u32, stores: u32) -> Estimate {
        of_memory(groups, trips, stores, None)
    }

    /// The same from memory that gives so much in a second.
    fn of_memory(groups: u32, trips: u32, stores: u32, bandwidth: Option<BytesPerSecond>) -> Estimate {
        let stored: String = (0..stores).map(|n| format!("o[{n}, g, l] = s\n")).collect();
        let text = format!(
            "program sums {{\n  read buffer i: f32[{trips}, {groups}, 64]\n  write buffer o: f32[{stores}, {groups}, 64]\n  groups g = {groups}\n  lanes l = 64\n  {{\n    \
             var s: f32 = 0.0\n    for n in 0..{trips} unroll none {{\n      let t = i[n, g, l]\n      s = s + t\n    }}\n    {stored}  }}\n}}\n"
        );
        let program = Checked::new(text::parse(&text).expect("parses")).expect("valid");
        let mut on = profile::builtin("adreno640").expect("is there").expect("parses");
        on.probed.barrier = Fact::known(Seconds(2e-8), Source::Assumed, "a test");
        if let Some(bandwidth) = bandwidth {
            on.memory.dram_bandwidth = Fact::known(bandwidth, Source::Assumed, "a test");
        }
        KernelModel.estimate(&Kernel::of(&program).expect("affine"), &on).expect("is estimated")
    }

    fn of(estimate: &Estimate, limiter: Limiter) -> f64 {
        estimate.limits.0.iter().find(|own| own.0 == limiter).map_or(0.0, |own| own.1.0)
    }

    #[test]
    fn few_warps_wait_and_many_share_units() {
        let (alone, few, many) = (estimate(1, 64), estimate(4, 64), estimate(1600, 64));
        let launch = of(&alone, Limiter::Launch);
        let longest = |own: &Estimate| {
            own.limits.0.iter().filter(|own| !matches!(own.0, Limiter::Latency | Limiter::Launch)).map(|own| own.1.0).fold(0.0, f64::max)
        };
        // One warp waits for each load. So do two on each core, in much the time of one.
        assert!(of(&alone, Limiter::Latency) > 5.0 * longest(&alone), "{alone:?}");
        assert!(few.time.0 - launch < 1.2 * (alone.time.0 - launch), "{few:?} {alone:?}");
        // Of a thousand most wait at the same time, and none is faster than what units do.
        let each = (many.time.0 - launch) / 1600.0;
        assert!(each < 0.15 * (alone.time.0 - launch) && many.time.0 >= launch + longest(&many), "{many:?} {alone:?}");
    }

    /// Three groups on two cores: the core of two has two thirds of slow memory, which all three have to themselves no longer than it takes.
    #[test]
    fn a_core_has_its_groups_share_of_memory() {
        for groups in [2, 3, 5, 9] {
            let slow = of_memory(groups, 8000, 1, Some(BytesPerSecond(1e8)));
            let (memory, rest) = (of(&slow, Limiter::Dram), slow.time.0 - of(&slow, Limiter::Launch));
            assert!((memory..1.1 * memory).contains(&rest), "{groups} {slow:?}");
        }
    }

    /// What compilers hold beyond what is counted keeps groups out, whether a kernel loads ahead what it copies or not: 93 registers are 130.
    #[test]
    fn kernels_that_copy_hold_more_than_is_counted() {
        let text = "program copies {\n  read buffer i: f32[4, 512, 64]\n  write buffer o: f32[512, 64]\n  groups g = 512\n  lanes l = 64\n  \
                    local kept: f32[64]\n  {\n    var s: f32 = 0.0\n    for n in 0..4 unroll none {\n      let t = i[n, g, l]\n      \
                    barrier group local\n      kept[l] = t\n      barrier group local\n      let own = kept[63 - l]\n      s = s + own\n    \
                    }\n    o[g, l] = s\n  }\n}\n";
        let program = Checked::new(text::parse(text).expect("parses")).expect("valid");
        let on = profile::builtin("sim-adreno740").expect("is there").expect("parses");
        let coarse = Coarse::of(&on, Meanwhile::default()).expect("known");
        let at_once = |ahead: bool, meets: bool| {
            let mut kernel = Kernel { registers: 93, ..Kernel::of(&program).expect("affine") };
            let body = kernel.accesses.nest.iter_mut().find_map(|node| if let Nest::Loop { body, .. } = node { Some(body) } else { None });
            let body = body.expect("a loop");
            body.retain(|node| meets || !matches!(node, Nest::Barrier));
            let first = body.iter_mut().find_map(|node| if let Nest::Access(access) = node { Some(access) } else { None });
            first.expect("a load").ahead = ahead;
            groups_at_once(&coarse.counts(&kernel).expect("runs"), &on).expect("known")
        };
        assert_eq!([at_once(false, true), at_once(true, true), at_once(false, false)], [5.0, 5.0, 8.0]);
    }

    /// What was recorded between blocks is of GPUs whose blocks do not live in step: of others nothing is.
    #[test]
    fn nothing_is_taken_between_groups_of_devices_without_recordings() {
        let text = "program copies {\n  read buffer i: f32[512, 64]\n  write buffer o: f32[512, 64]\n  groups g = 512\n  lanes l = 64\n  {\n    \
                    let t = i[g, l]\n    o[g, l] = t\n  }\n}\n";
        let kernel = Kernel::of(&Checked::new(text::parse(text).expect("parses")).expect("valid")).expect("affine");
        let turnover = |name: &str| {
            let on = profile::builtin(name).expect("is there").expect("parses");
            let coarse = Coarse::of(&on, Meanwhile::default()).expect("known");
            crate::time::parts(&coarse.counts(&kernel).expect("runs"), &on).life.expect("known").turnover
        };
        assert_eq!(turnover("sim-adreno740"), Seconds::ZERO);
        assert!(turnover("a100-40") > Seconds::ZERO);
    }

    #[test]
    fn lives_that_are_not_walked_to_their_end_go_on_as_they_begin() {
        let (short, long) = (estimate(200, 1000), estimate(200, 4000));
        let launch = of(&short, Limiter::Launch);
        let times = (long.time.0 - launch) / (short.time.0 - launch);
        assert!((3.8..4.2).contains(&times), "{times}");
        // What comes after a loop is not repeated with it: many stores add what they add to a short loop, or less where that waits for them.
        let stores = |trips| ending(200, trips, 24).time.0 - estimate(200, trips).time.0;
        assert!(stores(4000) < 1.5 * stores(20), "{} {}", stores(4000), stores(20));
    }
}
