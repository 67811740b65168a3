//! Simulated GPUs by chance, all of them probed: what is found beside what they are made of.

use std::collections::BTreeMap;
use std::io::Write;
use warpsight_ir::layout::ImageLayout;
use warpsight_ir::occupancy::Residency;
use warpsight_ir::profile::Fact;
use warpsight_probe::{Context, Finding, Findings, Scale, aspects, battery};
use warpsight_run::Options;

/// One fact: its name, what is true, what was found, and whether it counts as found.
#[derive(Clone, Debug)]
pub struct Judged {
    pub name: &'static str,
    pub truth: f64,
    pub found: Option<f64>,
    pub right: bool,
}

/// A GPU, by the table and key of each number that is not its base's.
#[derive(Clone, Debug)]
pub struct Silicon {
    pub base: &'static str,
    pub numbers: BTreeMap<&'static str, f64>,
    /// Address bits whose XOR a set's number is, of images; the lowest digits of a line's number where there are none.
    pub hash: Option<Vec<Vec<u32>>>,
    /// How texels of images of two dimensions lie.
    pub layout: ImageLayout,
}

impl Silicon {
    /// One of a seed: caches, warps, registers, cores and latencies by chance.
    pub fn by_chance(rng: &mut fastrand::Rng, noise: f64) -> Self {
        let base = ["adreno640", "mali-g76"][rng.usize(0..2)];
        let mut numbers: BTreeMap<&str, f64> = BTreeMap::new();
        let mut put = |key: &'static str, value: f64| {
            numbers.insert(key, value);
        };
        let warp = f64::from(4 << rng.u32(0..6));
        put("core.wave", warp);
        put("residency.warp", warp);
        put("core.lanes", warp * f64::from(1 + rng.u32(0..2)));
        put("core.ports", f64::from(rng.u32(1..5)));
        put("core.count", f64::from(rng.u32(2..9)));
        put("core.alu_latency", f64::from(rng.u32(3..8)));
        put("residency.registers", f64::from(rng.u32(18..40)) * 8.0 * warp * 8.0);
        put("residency.max_registers", f64::from(rng.u32(64..200)));
        put("residency.max_warps", 48.0);
        put("timer.noise", noise);
        put("timer.seed", f64::from(rng.u32(0..1 << 20)));
        let (line, ways, sets) = (16_u32 << rng.u32(0..4), rng.u32(1..17), 1_u32 << rng.u32(0..6));
        put("texture.cache.line", line.into());
        put("texture.cache.ways", ways.into());
        put("texture.cache.sets", sets.into());
        put("texture.cache.bytes", f64::from(line) * f64::from(ways) * f64::from(sets));
        put("texture.wave_overhead", 1.0);
        put("texture.step", 1.0);
        put("texture.latency", f64::from(rng.u32(30..120)));
        put("texture.miss_latency", f64::from(rng.u32(30..120)));
        let l2_line = f64::from(line.max(64 << rng.u32(0..2)));
        let (l2_sets, l2_ways) = (f64::from(32 << rng.u32(0..3)), f64::from(8 + 4 * rng.u32(0..3)));
        put("l2.cache.line", l2_line);
        put("l2.cache.sets", l2_sets);
        put("l2.cache.ways", l2_ways);
        put("l2.cache.bytes", (if base == "adreno640" { 4.0 } else { 2.0 }) * l2_line * l2_sets * l2_ways);
        put("buffer.latency", f64::from(rng.u32(40..120)));
        put("dram.latency", f64::from(rng.u32(60..200)));
        put("dram.bytes_per_cycle", 6.0 + 10.0 * rng.f64());
        // Sets are told apart by a hash in every other one that has any.
        let bits = sets.trailing_zeros();
        let hash = (rng.bool() && bits > 0).then(|| {
            let (low, distance) = (line.trailing_zeros(), 1 + rng.u32(0..3));
            (0..bits).map(|bit| vec![low + bit, low + bit + distance]).collect()
        });
        planted(&mut numbers, base);
        // Of numbers of its own, so that everything else is as it was before there were layouts.
        let layout = layout(&mut fastrand::Rng::with_seed(numbers["timer.seed"] as u64 + 1));
        Self { base, numbers, hash, layout }
    }

    /// Its file.
    pub fn file(&self) -> tempfile::TempPath {
        let mut tables: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (key, value) in &self.numbers {
            let (table, key) = key.rsplit_once('.').expect("a table");
            let fractions =
                ["clock", "rate", "latency", "noise", "bytes_per_cycle", "overhead", "step"].iter().any(|word| key.ends_with(word));
            let value = if fractions || value.fract() != 0.0 { format!("{value:?}") } else { format!("{value}") };
            tables.entry(table.to_owned()).or_default().push(format!("{key} = {value}"));
        }
        let hash = self.hash.as_ref().map(|hash| format!("set_hash = {hash:?}")).unwrap_or_else(|| "set_hash = []".into());
        for kind in ["image1d_buffer", "image1d", "image2d", "image2d_from_buffer"] {
            let name = format!("texture.{kind}");
            if self.hash.is_some() || self.numbers["texture.cache.sets"] == 1.0 {
                tables.entry(name).or_default().push(hash.clone());
            } else {
                let bits = self.numbers["texture.cache.sets"].log2() as u32;
                let low = self.numbers["texture.cache.line"].log2() as u32;
                let plain: Vec<Vec<u32>> = (0..bits).map(|bit| vec![low + bit]).collect();
                tables.entry(name).or_default().push(format!("set_hash = {plain:?}"));
            }
        }
        tables.entry("texture.image2d".into()).or_default().push(format!("layout = {}", toml_of(self.layout)));
        let mut text = format!("base = \"{}\"\nname = \"by-chance\"\n", self.base);
        for (table, keys) in tables {
            text += &format!("[{table}]\n{}\n", keys.join("\n"));
        }
        let mut file = tempfile::Builder::new().suffix(".toml").tempfile().expect("a file");
        file.write_all(text.as_bytes()).expect("written");
        file.into_temp_path()
    }

    /// Everything that quick aspects find.
    pub fn probed(&self, only: &[&str]) -> Findings {
        let file = self.file();
        let options = Options { in_process: true, cache: None, ..Options::default() };
        let mut device = warpsight_run::open(&format!("sim:{}", file.display()), &options).expect("a simulated GPU");
        let info = device.info().clone();
        let mut records = vec![];
        for aspect in aspects::all().into_iter().filter(|aspect| only.is_empty() || only.contains(&aspect.phase.name)) {
            let mut plan = (aspect.phase.plan)(&Context { device: &info, scale: Scale::Quick, seed: 1 });
            let mut own = vec![];
            while let Some(measurement) = plan.ask(&own) {
                own.push(battery::take(aspect.phase.name, measurement, &mut *device).0);
            }
            records.extend(own);
        }
        aspects::analyse(&info, &records)
    }

    fn number(&self, key: &str) -> f64 {
        self.numbers[key]
    }

    /// What was found beside what is true.
    pub fn judged(&self, found: &Findings) -> Vec<Judged> {
        let get = |key: &str| found.get(key);
        let exact = |a: f64, b: f64| (a - b).abs() < 1e-6 * b;
        let within = |part: f64| move |a: f64, b: f64| (a - b).abs() <= part * b;
        let mut all = vec![];
        let mut judge = |name: &'static str, truth: f64, found: Option<f64>, right: &dyn Fn(f64, f64) -> bool| {
            all.push(Judged { name, truth, found, right: found.is_some_and(|found| right(found, truth)) });
        };
        judge("texture capacity", self.number("texture.cache.bytes"), get("texture.l1.capacity_bytes"), &exact);
        judge("texture line", self.number("texture.cache.line"), get("texture.l1.line_bytes"), &exact);
        let geometries = match found.facts.get("texture.l1.geometries") {
            Some(Finding::Geometries(Fact::Known { value, .. })) => value.clone(),
            _ => vec![],
        };
        let ways = self.number("texture.cache.ways");
        let in_set = geometries.iter().any(|g| f64::from(g.ways) == ways && f64::from(g.sets) == self.number("texture.cache.sets"));
        match self.hash {
            None => judge("texture ways", ways, get("texture.l1.ways"), &exact),
            Some(_) => judge("texture ways among those listed", ways, in_set.then_some(ways), &exact),
        }
        judge("texture latency", self.texture_hit(), get("texture.l1.latency_s"), &within(0.05));
        let geometries = match found.facts.get("texture.image2d.geometries") {
            Some(Finding::Geometries(Fact::Known { value, .. })) => value.clone(),
            _ => vec![],
        };
        let listed = geometries.iter().any(|geometry| geometry.layout == Some(self.layout));
        judge("texture layout among those listed", 1.0, (!geometries.is_empty()).then_some(f64::from(u8::from(listed))), &exact);
        judge("held-out fetches of a lane within 10 %", 0.0, get("texture.fit_error.thread"), &|error, _| error <= 0.1);
        judge("held-out fetches of warps within 10 %", 0.0, get("texture.fit_error.warp"), &|error, _| error <= 0.1);
        judge("L2 capacity", self.number("l2.cache.bytes"), get("buffer.l2.capacity_bytes"), &exact);
        judge("L2 line", self.number("l2.cache.line"), get("buffer.l2.line_bytes"), &exact);
        let warps = match found.facts.get("warp.sizes") {
            Some(Finding::Numbers(Fact::Known { value, .. })) => value.first().copied(),
            _ => None,
        };
        judge("warp", self.number("core.wave"), warps, &exact);
        judge("cores", self.number("core.count"), get("cores"), &within(0.05));
        let word = |key: &str| match found.facts.get(key) {
            Some(Finding::Word(fact)) => fact.get().cloned(),
            _ => None,
        };
        // Whether a group whose work-items have all registers must be smaller than the largest: 0 or 1, since others are numbers, too.
        let pooled = word("registers.pooled").map(|word| f64::from(u8::from(word == "pooled")));
        judge("registers pooled or dedicated", f64::from(u8::from(self.is_pooled())), pooled, &|a, b| a == b);
        judge("ALUs of a core", self.alus(), get("alu.per_core"), &within(0.05));
        judge("schedulers of a core", self.number("core.ports"), get("warp.at_once"), &within(0.05));
        let rates = self.rates();
        judge("texture bandwidth", rates.texture, get("texture.l1.bandwidth"), &within(0.05));
        if get("texture.l2.capacity_bytes").is_some() {
            judge("L2 bandwidth for images", rates.texels, get("texture.l2.bandwidth"), &within(0.05));
        }
        judge("DRAM bandwidth", rates.dram, get("dram.bandwidth"), &within(0.05));
        // Whose bandwidth is asked for only sizes tell, which are judged by themselves.
        if get("buffer.l2.capacity_bytes").is_some() {
            judge("L2 bandwidth", rates.l2, get("buffer.l2.bandwidth"), &within(0.05));
        }
        judge("DRAM latency", self.dram_latency(), get("dram.latency_s"), &within(0.05));
        if get("buffer.l1.capacity_bytes").is_some() {
            judge("L1 bandwidth", rates.unit, get("buffer.l1.bandwidth"), &within(0.05));
        }
        judge("registers a work-item", self.number("residency.max_registers"), get("registers.per_thread_max"), &|a, b| {
            (a - b).abs() <= 4.0
        });
        let lanes = self.alus() * self.number("core.count");
        judge("peak f32 [GFLOP/s]", 2.0 * lanes * self.clock() / 1e9, get("peak.fp32").map(|peak| peak / 1e9), &within(0.05));
        let own = [("levels of images", "texture", 2.0), ("levels of buffers", "buffer", if self.base == "adreno640" { 1.0 } else { 2.0 })];
        for (name, way, truth) in own {
            judge(name, truth, Some(levels(found, way)), &exact);
        }
        let invented = own.iter().any(|(_, way, truth)| levels(found, way) > *truth);
        judge("no level that is not there", 1.0, Some(f64::from(u8::from(!invented))), &exact);
        all
    }

    fn clock(&self) -> f64 {
        self.number("core.clock")
    }

    fn alus(&self) -> f64 {
        self.number("core.ports") * self.number("core.lanes")
    }

    fn is_pooled(&self) -> bool {
        let adreno = self.base == "adreno640";
        let count = |key: &str| self.number(key) as u32;
        let residency = Residency {
            warp: Some(count("core.wave")),
            registers: Some(count("residency.registers")),
            max_registers: Some(count("residency.max_registers")),
            register_granule: Some(if adreno { 4 } else { 32 }),
            warp_granule: Some(if adreno { 2 } else { 1 }),
            ..Residency::default()
        };
        let most = (if adreno { 1024 } else { 384 }).min(count("residency.max_warps") * count("core.wave"));
        let warps = residency.warps_by_registers(count("residency.max_registers")).expect("a file of registers");
        warps * count("core.wave") < most
    }

    /// Bytes a second of what the slowest part of each way delivers.
    fn rates(&self) -> Rates {
        let adreno = self.base == "adreno640";
        let number = |key: &str| self.number(key);
        let (wave, clock) = (number("core.wave"), self.clock());
        let whole = |cycles: f64, units: f64| units * wave * 16.0 / cycles * clock;
        // Cycles of an access to four words a lane, besides its bytes.
        let beside = if adreno { 0.25 } else { 0.1 };
        let unit = whole(beside + wave * 16.0 / number("buffer.bytes_per_cycle"), number("core.count"));
        // Four slices of 32 bytes in 0.75 cycles, or two of 64 in 6.5.
        let l2 = clock * if adreno { 4.0 * 32.0 / 0.75 } else { 2.0 * 64.0 / 6.5 };
        let dram = clock * number("dram.bytes_per_cycle") * if adreno { 4.0 } else { 2.0 };
        // Steps of 8 lanes, or of 2 whose texels are wide.
        let (steps, units) = if adreno { ((wave / 8.0).ceil(), number("core.ports")) } else { ((wave / 2.0).ceil() * 2.0, 1.0) };
        let texture = whole(steps * number("texture.step") + number("texture.wave_overhead"), units * number("core.count"));
        // Each line comes alone, of whole sectors; a unit's cache takes 32 bytes a cycle, or 16.
        let (line, sector, fill) = (number("texture.cache.line"), if adreno { 32.0 } else { 64.0 }, if adreno { 32.0 } else { 16.0 });
        let texels = (l2 * (line / sector).min(1.0)).min(clock * units * number("core.count") * fill).min(texture);
        Rates { unit, l2: l2.min(unit), dram: dram.min(l2).min(unit), texture, texels }
    }

    /// Of a word whose row is not open: its issue, its way through caches and channel, and the change of row.
    fn dram_latency(&self) -> f64 {
        let number = |key: &str| self.number(key);
        // A slice's sector, and the row; of the one base also the filling of a first level.
        let own = if self.base == "adreno640" { 0.75 + 26.5 } else { 6.5 + 35.5 + 4.0 };
        let issue = number("core.wave") / number("core.lanes");
        let line = 64.0 / number("dram.bytes_per_cycle");
        (issue + own + line + number("dram.latency") + number("buffer.latency")) / self.clock()
    }

    /// With a step and the overhead of a fetch, a cycle each.
    fn texture_hit(&self) -> f64 {
        (self.number("texture.latency") + 2.0) / self.clock()
    }
}

struct Rates {
    unit: f64,
    l2: f64,
    dram: f64,
    texture: f64,
    texels: f64,
}

/// Numbers by chance beyond those that choose a silicon: a clock, and units that are slower than what a core computes with what they bring.
fn planted(numbers: &mut BTreeMap<&'static str, f64>, base: &str) {
    let mut rng = fastrand::Rng::with_seed(numbers["timer.seed"] as u64);
    numbers.insert("core.clock", 1e6 * f64::from(rng.u32(400..1800)));
    numbers.insert("texture.wave_overhead", 8.0 + 6.0 * rng.f64());
    // Enough to keep memory busy, however long it takes.
    numbers.insert("l2.misses", 128.0);
    let computed = 4.0 * numbers["core.ports"] * numbers["core.lanes"];
    let own: f64 = if base == "adreno640" { 84.0 } else { 5.9 };
    numbers.insert("buffer.bytes_per_cycle", own.min(0.35 * computed));
}

/// Any layout there is.
fn layout(rng: &mut fastrand::Rng) -> ImageLayout {
    match rng.u32(0..4) {
        0 => ImageLayout::Linear { pitch_align: 16 << rng.u32(0..5) },
        1 => ImageLayout::AdrenoTiled { channels: 4 << rng.u32(0..2), highest_bank_bit: rng.u32(13..17) },
        2 => ImageLayout::MaliInterleaved,
        _ => ImageLayout::NvidiaBlockLinear { gobs_log2: rng.u32(0..6) },
    }
}

/// A layout as silicon's files have it.
fn toml_of(layout: ImageLayout) -> String {
    match layout {
        ImageLayout::Linear { pitch_align } => format!("{{ linear = {{ pitch_align = {pitch_align} }} }}"),
        ImageLayout::AdrenoTiled { channels, highest_bank_bit } => {
            format!("{{ adreno_tiled = {{ channels = {channels}, highest_bank_bit = {highest_bank_bit} }} }}")
        }
        ImageLayout::MaliInterleaved => "\"mali_interleaved\"".into(),
        ImageLayout::NvidiaBlockLinear { gobs_log2 } => format!("{{ nvidia_block_linear = {{ gobs_log2 = {gobs_log2} }} }}"),
    }
}

/// How many caches were found on a way to memory.
fn levels(found: &Findings, way: &str) -> f64 {
    (1..6).filter(|level| found.get(&format!("{way}.l{level}.capacity_bytes")).is_some()).count() as f64
}
