//! The six criteria of paper 001 (section 4.2, Table 1): word by word, and as what configurations take of each.

use super::hardware::{Hardware, PUBLISHED_ALPHA};
use warpsight_ir::Facts;

/// Names of the criteria, in the order of the paper's Table 1.
pub const CRITERIA: [&str; 6] = ["l1_cache", "register", "buffer", "local_memory", "warp", "data_access_width"];

/// By how much a configuration violates each criterion of paper 001, word by word: what it takes over what there is, 1 at most where it
/// does not. What nobody knows of a device excludes nothing.
///
/// - L1 cache: what a work-item loads in one trip of a loop, times the group, over the cache.
/// - register: those of the group over those there are for it.
/// - buffer: anything is loaded from buffers where images alone have a first level.
/// - local memory: it is used though the group is larger than 3 · ALUs. Those of a core: of all cores it never fires, and of a core of
///   Adreno 640 (384, groups of at most 1024) neither.
/// - warp: the group is smaller than one.
/// - data access width: anything is loaded by other instructions than those of four elements.
pub fn paper001(facts: &Facts, on: &Hardware) -> [f64; 6] {
    let over = |part: Option<f64>| part.unwrap_or(0.0);
    let group = f64::from(facts.group);
    let buffers = on.images_alone && facts.loaded.0 > 0.0;
    let local = on.alus.filter(|_| facts.local.0 > 0.0).map(|alus| group / (PUBLISHED_ALPHA * alus));
    let all: f64 = facts.widths.iter().map(|own| own.0).sum();
    let four = facts.widths[3].0;
    [
        over(on.l1.map(|l1| facts.step.0 * group / l1.0.max(1.0))),
        registers(facts, on),
        if buffers { 1.0 + facts.loaded.0 / (facts.loaded + facts.fetched).0 } else { 0.0 },
        over(local),
        f64::from(on.warp()) / group.max(1.0),
        if four < all { 2.0 - four / all } else { 0.0 },
    ]
}

/// Registers of a group, or of a work-item, over what there is.
fn registers(facts: &Facts, on: &Hardware) -> f64 {
    let own = on.residency.max_registers.map_or(0.0, |most| f64::from(facts.registers) / f64::from(most.max(1)));
    let held = on.residency.warps_by_registers(facts.registers);
    held.map_or(own, |held| own.max(on.warps(facts) / f64::from(held.max(1))))
}

/// Kinds of costs of a configuration.
pub const COSTS: usize = 8;
/// The criterion that each cost is of.
pub const COST_OF: [&str; COSTS] = ["l1_cache", "l1_cache", "l1_cache", "register", "buffer", "local_memory", "warp", "data_access_width"];

/// What a configuration takes of a device by each criterion made right, each to be small: all of it counts, no one of it decides.
///
/// - L1 cache: texels that warps ask for, each once of one instruction; those of them that the cache does not hold while the resident warps of
///   a unit go through one trip of a loop; and what groups touch, each once.
/// - register: what one warp waits for that others do not hide, one over the warps that registers and launch leave; as many as a group of the
///   greatest size has are enough (the paper's figure 5). What is loaded ahead, it does not wait for.
/// - buffer: what warps ask for of buffers.
/// - local memory: what warps move there; and any use of it where the launch has more work-items than α times the ALUs of all cores.
/// - warp: operations of all lanes, those of incomplete warps included, as if all cores had as many groups as the busiest.
/// - data access width: accesses and loops, by instructions.
pub fn costs(facts: &Facts, on: &Hardware) -> Option<[f64; COSTS]> {
    let (groups, per_group, resident) = (facts.groups as f64, on.warps(facts), on.resident(facts)?);
    let (warps, cores) = (groups * per_group, f64::from(on.cores));
    let busiest = (groups / cores).ceil() * cores / groups;
    let asked = facts.fetched.0 * warps;
    let once = facts.touched[0].0 * groups;
    let at_once = facts.warp_step.0 * resident * per_group * cores / on.units.max(1.0);
    let held = on.l1.map_or(1.0, |l1| (l1.0 / at_once.max(1.0)).min(1.0));
    let enough = on.alpha.zip(on.alus).is_some_and(|(alpha, alus)| facts.items() as f64 > alpha * alus * cores);
    let in_local = if facts.local.0 > 0.0 && enough { facts.local.0 * groups } else { 0.0 };
    let loaded = facts.fetched + facts.loaded;
    let waited = if loaded.0 > 0.0 { 1.0 - facts.ahead.0 / loaded.0 } else { 1.0 };
    Some([
        asked,
        once.min(asked) + (asked - once).max(0.0) * (1.0 - held),
        once + facts.touched[1].0 * groups,
        waited / (resident * per_group).min(on.enough_warps()),
        facts.loaded.0 * warps,
        facts.shared.0 * warps + in_local,
        facts.flops as f64 * warps * f64::from(on.warp()) * busiest,
        facts.instructions * warps,
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpsight_ir::occupancy::Residency;
    use warpsight_ir::profile::builtin;
    use warpsight_ir::{Bytes, Profile};

    fn adreno640() -> Profile {
        builtin("adreno640").expect("built in").expect("a profile")
    }

    fn hardware(profile: &Profile) -> Hardware {
        Hardware::of(profile, Residency::of(profile))
    }

    /// What violates nothing: one warp, whose lanes load 16 bytes of images each.
    fn innocent() -> Facts {
        let all = Bytes(1600.0);
        let widths = [Bytes::ZERO, Bytes::ZERO, Bytes::ZERO, all, Bytes::ZERO];
        Facts { group: 64, groups: 100, registers: 32, flops: 3200, step: Bytes(16.0), fetched: Bytes(9e4), widths, ..Facts::default() }
    }

    #[test]
    fn each_criterion_fires_on_what_violates_it() {
        let on = hardware(&adreno640());
        let violated = |facts: &Facts| -> Vec<_> { CRITERIA.into_iter().zip(paper001(facts, &on)).filter(|own| own.1 > 1.0).collect() };
        assert_eq!(violated(&innocent()), []);
        // 17 bytes for 64 lanes in 1 KiB.
        assert_eq!(violated(&Facts { step: Bytes(17.0), ..innocent() }), [("l1_cache", 17.0 / 16.0)]);
        // A work-item has 192 registers at most; those of 1024 work-items with 64 leave room for 14 of 16 warps: 73728 / (64 · 64 · 2) · 2 = 18.
        assert_eq!(violated(&Facts { registers: 193, ..innocent() })[0].0, "register");
        let many = Facts { group: 1024, step: Bytes(1.0), ..innocent() };
        assert_eq!(violated(&Facts { registers: 72, ..many.clone() }), []);
        assert_eq!(violated(&Facts { registers: 76, ..many.clone() }), [("register", 16.0 / 14.0)]);
        assert_eq!(violated(&Facts { loaded: Bytes(9e4), ..innocent() }), [("buffer", 1.5)]);
        assert_eq!(violated(&Facts { group: 63, ..innocent() }), [("warp", 64.0 / 63.0)]);
        let mut narrow = innocent();
        narrow.widths[0] = Bytes(1600.0);
        assert_eq!(violated(&narrow), [("data_access_width", 1.5)]);
        // 3 · 384 work-items are more than a group may have: the criterion never fires on this device.
        let local = Facts { local: Bytes(1024.0), ..many };
        assert_eq!(violated(&local), []);
        let mut small = adreno640();
        small.probed.alus = warpsight_ir::profile::Fact::known(128, warpsight_ir::profile::Source::Assumed, "a test");
        let over = paper001(&local, &hardware(&small));
        assert_eq!(over[3], 1024.0 / 384.0);
    }

    #[test]
    fn costs_grow_with_what_is_wasted() {
        let mut profile = adreno640();
        profile.probed.local_split = warpsight_ir::profile::Fact::known(1.0, warpsight_ir::profile::Source::Assumed, "a test");
        let on = hardware(&profile);
        let costs = |facts: &Facts| super::costs(facts, &on).expect("it runs");
        let grown = |facts: &Facts| -> Vec<usize> {
            let (before, after) = (costs(&innocent()), costs(facts));
            (0..COSTS).filter(|&n| after[n] > before[n] * 1.001).collect()
        };
        assert_eq!(grown(&innocent()), [] as [usize; 0]);
        assert_eq!(grown(&Facts { warp_step: Bytes(4096.0), ..innocent() }), [1], "lines leave before they come back");
        assert_eq!(grown(&Facts { loaded: Bytes(100.0), ..innocent() }), [4]);
        assert_eq!(grown(&Facts { registers: 96, ..innocent() }), [3], "12 warps, of 16 that are enough");
        assert_eq!(grown(&Facts { registers: 72, ..innocent() }), [] as [usize; 0]);
        // A third of the loads is ahead: what 12 warps do not hide is as little as with 18.
        assert_eq!(grown(&Facts { registers: 96, ahead: Bytes(3e4), ..innocent() }), [] as [usize; 0]);
        assert_eq!(grown(&Facts { group: 65, ..innocent() }).iter().filter(|&&n| n == 6).count(), 1, "63 lanes of each group are idle");
        // 6400 work-items are more than 2 · 384 · 1; 640 are not.
        let local = Facts { local: Bytes(1024.0), ..innocent() };
        assert!(costs(&local)[5] > 0.0 && costs(&Facts { groups: 10, ..local })[5] == 0.0);
    }
}
