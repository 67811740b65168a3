//! What silicon may not be: numbers the simulator cannot work with, and numbers that contradict each other.

use super::{Geometry, Silicon};
use std::fmt;

/// Something wrong with a description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Section and key.
    pub key: String,
    /// What was given.
    pub value: String,
    /// What is allowed, or what contradicts it.
    pub rule: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {}; it must be {}", self.key, self.value, self.rule)
    }
}

/// Collects problems.
struct Checker(Vec<Problem>);

impl Checker {
    fn require(&mut self, ok: bool, key: &str, value: impl ToString, rule: impl Into<String>) {
        if !ok {
            self.0.push(Problem { key: key.to_owned(), value: value.to_string(), rule: rule.into() });
        }
    }

    fn count(&mut self, n: u32, key: &str) {
        self.require((1..=4096).contains(&n), key, n, "from 1 to 4096");
    }

    fn rate(&mut self, v: f64, key: &str) {
        self.require(v > 0.0 && v < 1e6, key, v, "above 0 and below 1e6");
    }

    fn wait(&mut self, v: f64, key: &str) {
        self.require((0.0..1e6).contains(&v), key, v, "from 0 to below 1e6");
    }

    fn power(&mut self, n: u32, key: &str) {
        self.require(n.is_power_of_two() && n >= 4, key, n, "a power of two of at least 4");
    }

    /// A cache of so many slices.
    fn cache(&mut self, cache: &Geometry, slices: u32, key: &str) {
        let Geometry { bytes, line, sets, ways } = *cache;
        self.require(line.is_power_of_two() && (16..=256).contains(&line), &format!("{key}.line"), line, "a power of two from 16 to 256");
        self.require(sets > 0, &format!("{key}.sets"), sets, "at least 1");
        self.require((1..=Geometry::MOST_WAYS).contains(&ways), &format!("{key}.ways"), ways, format!("from 1 to {}", Geometry::MOST_WAYS));
        let whole = u64::from(line) * u64::from(sets) * u64::from(ways) * u64::from(slices);
        let of = if slices > 1 { format!(" × {slices} slices") } else { String::new() };
        let rule = format!("line × sets × ways = {line} × {sets} × {ways}{of} = {whole}");
        self.require(bytes == whole, &format!("{key}.bytes"), bytes, rule);
        self.require(bytes < 1 << 32, &format!("{key}.bytes"), bytes, "below 4 GiB");
    }

    /// Lists of address bits that choose one of `of`.
    fn hash(&mut self, hash: Option<&Vec<Vec<u32>>>, of: u32, key: &str) {
        let Some(hash) = hash else { return };
        let fits = hash.len() <= 12 && hash.iter().flatten().all(|&bit| bit < 40);
        self.require(fits, key, format!("{hash:?}"), "at most 12 lists of bit numbers below 40");
        let rule = format!("as many lists as choose one of {of}: two to the number of lists");
        self.require(!fits || 1u32 << hash.len() == of, key, format!("{hash:?}"), rule);
    }
}

impl Silicon {
    /// All that is wrong with it; nothing where the simulator can work with it.
    pub fn problems(&self) -> Vec<Problem> {
        let mut c = Checker(vec![]);
        self.cores(&mut c);
        self.caches(&mut c);
        self.behind(&mut c);
        c.0
    }

    fn cores(&self, c: &mut Checker) {
        let (core, fits, limits) = (&self.core, &self.residency, &self.limits);
        c.require((4..=128).contains(&core.wave), "core.wave", core.wave, "from 4 to 128");
        c.require(fits.warp == Some(core.wave), "residency.warp", fits.warp.unwrap_or(0), format!("core.wave, which is {}", core.wave));
        c.require(core.clock > 0.0 && core.clock < 1e12, "core.clock", core.clock, "above 0 and below 1e12");
        for (n, key) in [
            (core.count, "core.count"),
            (core.ports, "core.ports"),
            (core.waves_together, "core.waves_together"),
            (core.lanes, "core.lanes"),
            (self.max_waves(), "residency.max_warps"),
            (fits.max_groups.unwrap_or(1), "residency.max_groups"),
            (fits.register_granule.unwrap_or(1), "residency.register_granule"),
            (fits.warp_granule.unwrap_or(1), "residency.warp_granule"),
            (self.group_size(), "residency.max_group_size"),
            (fits.max_registers.unwrap_or(1), "residency.max_registers"),
        ] {
            c.count(n, key);
        }
        c.require(fits.registers.is_some_and(|n| n > 0), "residency.registers", fits.registers.unwrap_or(0), "given, and at least 1");
        let (granule, most) = (fits.register_granule.unwrap_or(1).max(1), fits.max_registers.unwrap_or(u32::MAX));
        c.require(
            most == u32::MAX || most.is_multiple_of(granule) || granule <= most,
            "residency.register_granule",
            granule,
            format!("at most max_registers, which is {most}"),
        );
        let whole = fits.warps_by_registers(1).unwrap_or(0);
        c.require(
            whole > 0,
            "residency.registers",
            fits.registers.unwrap_or(0),
            "such that at least one wave of the fewest registers fits",
        );
        let lanes = (core.lanes.max(core.wave), core.lanes.min(core.wave).max(1));
        c.require(
            lanes.0.is_multiple_of(lanes.1),
            "core.lanes",
            core.lanes,
            format!("a multiple or a divisor of core.wave, which is {}", core.wave),
        );
        c.require(core.own_registers < 256, "core.own_registers", core.own_registers, "below 256");
        for (v, key) in [
            (core.float_rate, "core.float_rate"),
            (core.int_rate, "core.int_rate"),
            (core.int_multiply_rate, "core.int_multiply_rate"),
            (core.int_divide_rate, "core.int_divide_rate"),
            (core.special_rate, "core.special_rate"),
            (core.wide_rate, "core.wide_rate"),
        ] {
            c.rate(v, key);
        }
        if let Some(half) = &core.half {
            c.rate(half.rate, "core.half.rate");
            c.require((1..=2).contains(&half.in_register), "core.half.in_register", half.in_register, "1 or 2");
        }
        for (v, key) in [
            (core.alu_latency, "core.alu_latency"),
            (core.loop_issue, "core.loop_issue"),
            (core.loop_latency, "core.loop_latency"),
            (core.branch_latency, "core.branch_latency"),
            (core.barrier_latency, "core.barrier_latency"),
            (self.launch.group_interval, "launch.group_interval"),
            (self.launch.wave_start, "launch.wave_start"),
        ] {
            c.wait(v, key);
        }
        c.require((0.0..1.0).contains(&self.launch.overhead), "launch.overhead", self.launch.overhead, "from 0 to below 1");
        c.require((1..=1 << 20).contains(&limits.image), "limits.image", limits.image, "from 1 to 2^20");
        c.require((1..=1 << 30).contains(&limits.image_buffer), "limits.image_buffer", limits.image_buffer, "from 1 to 2^30");
        c.require((4096..=1 << 42).contains(&limits.memory), "limits.memory", limits.memory, "from 4096 to 2^42");
        c.require((1..=1 << 40).contains(&limits.steps), "limits.steps", limits.steps, "from 1 to 2^40");
        let timer = &self.timer;
        c.require((0.0..1.0).contains(&timer.quantum), "timer.quantum", timer.quantum, "from 0 to below 1");
        c.require((0.0..10.0).contains(&timer.noise), "timer.noise", timer.noise, "from 0 to below 10");
        if let Some(heat) = &timer.throttle {
            c.require(heat.to > 0.0 && heat.to <= 1.0, "timer.throttle.to", heat.to, "above 0 and at most 1");
            c.wait(heat.after, "timer.throttle.after");
            c.rate(heat.within, "timer.throttle.within");
        }
    }

    fn caches(&self, c: &mut Checker) {
        let (t, l2) = (&self.texture, &self.l2);
        c.count(t.lanes_per_step, "texture.lanes_per_step");
        c.count(t.wide_texel_bytes, "texture.wide_texel_bytes");
        for (v, key) in [(t.step, "texture.step"), (t.fill, "texture.fill")] {
            c.rate(v, key);
        }
        for (v, key) in
            [(t.wave_overhead, "texture.wave_overhead"), (t.latency, "texture.latency"), (t.miss_latency, "texture.miss_latency")]
        {
            c.wait(v, key);
        }
        c.cache(&t.cache, 1, "texture.cache");
        for (path, key) in [
            (&t.image1d, "texture.image1d"),
            (&t.image1d_buffer, "texture.image1d_buffer"),
            (&t.image2d, "texture.image2d"),
            (&t.image2d_from_buffer, "texture.image2d_from_buffer"),
        ] {
            c.hash(path.set_hash.as_ref(), t.cache.sets, &format!("{key}.set_hash"));
            c.rate(path.steps, &format!("{key}.steps"));
        }
        if let Some(constants) = &self.constant {
            c.cache(&constants.cache, 1, "constant.cache");
            c.rate(constants.step, "constant.step");
            c.wait(constants.latency, "constant.latency");
            c.wait(constants.miss_latency, "constant.miss_latency");
        }
        c.require(!t.unified || self.l1.is_some(), "texture.unified", t.unified, "false where buffers have no first level");
        if let Some(l1) = &self.l1 {
            c.cache(&l1.cache, 1, "l1.cache");
            c.power(l1.sector, "l1.sector");
            c.require(l1.sector <= l1.cache.line, "l1.sector", l1.sector, "at most l1.cache.line");
            let rising = l1.carve.is_sorted() && l1.carve.iter().all(|&bytes| u64::from(bytes) < l1.cache.bytes);
            c.require(rising, "l1.carve", format!("{:?}", l1.carve), "ascending, each below l1.cache.bytes");
            c.wait(l1.latency, "l1.latency");
            c.rate(l1.fill, "l1.fill");
        }
        c.count(l2.slices, "l2.slices");
        c.cache(&l2.cache, l2.slices, "l2.cache");
        c.hash(l2.slice_hash.as_ref(), l2.slices, "l2.slice_hash");
        c.power(l2.sector, "l2.sector");
        c.require(l2.sector <= l2.cache.line, "l2.sector", l2.sector, "at most l2.cache.line");
        c.rate(l2.sector_time, "l2.sector_time");
        c.count(l2.misses, "l2.misses");
        c.wait(l2.atomic, "l2.atomic");
        let line = l2.cache.line;
        c.require(t.cache.line <= line, "texture.cache.line", t.cache.line, format!("at most l2.cache.line, which is {line}"));
    }

    fn behind(&self, c: &mut Checker) {
        let (b, local, dram) = (&self.buffer, &self.local, &self.dram);
        for (v, key) in
            [(b.bytes_per_cycle, "buffer.bytes_per_cycle"), (local.pass, "local.pass"), (dram.bytes_per_cycle, "dram.bytes_per_cycle")]
        {
            c.rate(v, key);
        }
        for (v, key) in [
            (b.latency, "buffer.latency"),
            (b.wave_overhead, "buffer.wave_overhead"),
            (b.store_queue, "buffer.store_queue"),
            (local.latency, "local.latency"),
            (local.atomic, "local.atomic"),
            (dram.latency, "dram.latency"),
            (dram.row_change, "dram.row_change"),
            (dram.row_overhead, "dram.row_overhead"),
        ] {
            c.wait(v, key);
        }
        for (n, key) in [(local.banks, "local.banks"), (dram.channels, "dram.channels"), (dram.banks, "dram.banks")] {
            c.count(n, key);
        }
        for (n, key) in [(dram.interleave, "dram.interleave"), (dram.burst, "dram.burst"), (dram.row, "dram.row")] {
            c.power(n, key);
        }
        let line = self.l2.cache.line;
        c.require(dram.interleave >= line, "dram.interleave", dram.interleave, format!("at least l2.cache.line, which is {line}"));
        c.require(dram.row >= dram.interleave, "dram.row", dram.row, "at least dram.interleave");
        let Some(p) = &self.pipeline else { return };
        for (v, key) in [
            (p.tensor, "pipeline.tensor"),
            (p.tensor_of_one, "pipeline.tensor_of_one"),
            (p.simt, "pipeline.simt"),
            (p.simt_of_one, "pipeline.simt_of_one"),
            (p.bandwidth, "pipeline.bandwidth"),
            (p.l2_bandwidth, "pipeline.l2_bandwidth"),
            (p.dram_bandwidth, "pipeline.dram_bandwidth"),
            (p.queue.bandwidth, "pipeline.queue.bandwidth"),
            (p.queue.spilled, "pipeline.queue.spilled"),
        ] {
            c.require(v > 0.0 && v.is_finite(), key, v, "above 0");
        }
        for (v, key) in [
            (p.dram_latency, "pipeline.dram_latency"),
            (p.queue.handshake, "pipeline.queue.handshake"),
            (p.launch.eager, "pipeline.launch.eager"),
            (p.launch.graph, "pipeline.launch.graph"),
            (p.launch.dependent, "pipeline.launch.dependent"),
        ] {
            c.require(v >= 0.0 && v.is_finite(), key, v, "at least 0");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(change: impl FnOnce(&mut Silicon)) -> Vec<String> {
        let mut silicon = Silicon::adreno640();
        change(&mut silicon);
        silicon.problems().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_contradicts_itself_is_explained() {
        assert_eq!(told(|_| {}), Vec::<String>::new());
        assert_eq!(
            told(|s| s.texture.cache.bytes = 2048),
            ["texture.cache.bytes is 2048; it must be line × sets × ways = 32 × 2 × 16 = 1024"]
        );
        assert_eq!(
            told(|s| s.l2.cache.ways = 0),
            [
                "l2.cache.ways is 0; it must be from 1 to 1024",
                "l2.cache.bytes is 131072; it must be line × sets × ways = 64 × 32 × 0 × 4 slices = 0"
            ]
        );
        assert_eq!(told(|s| s.core.lanes = 48), ["core.lanes is 48; it must be a multiple or a divisor of core.wave, which is 64"]);
        assert_eq!(told(|s| s.core.wave = 256).len(), 2, "too wide, and not what registers are given out by");
        let slices = told(|s| s.l2.slices = 3);
        assert_eq!(slices.len(), 2, "{slices:?}");
        assert_eq!(told(|s| s.dram.latency = f64::NAN), ["dram.latency is NaN; it must be from 0 to below 1e6"]);
    }
}
