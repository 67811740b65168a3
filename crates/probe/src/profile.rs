//! What was found, as a profile that models take.

use crate::{Finding, Findings};
use warpsight_ir::layout::ImageLayout;
use warpsight_ir::profile::{Cache, Execution, Fact, Images, Matrix, Memory, Probed, Profile, Source, Tlb};
use warpsight_ir::{Bytes, BytesPerSecond, Cycles, Hertz, Seconds};

/// Where no clock is known, one cycle is a nanosecond: times that models make of cycles and rates are the same with every clock.
const CLOCK: f64 = 1e9;
/// Words of an access of which bandwidths are kept.
const WIDTHS: [u32; 5] = [1, 2, 4, 8, 16];
/// No profile says less of a time.
const LEAST: f64 = 1e-9;

/// A profile of what was found. What was not is unknown, with the reason. Latencies are in cycles: those that were counted, or else seconds
/// by the clock that was found, or by one that makes a cycle a nanosecond.
pub fn profile(findings: &Findings, name: &str, description: &str) -> Profile {
    let reader = Reader { findings };
    Profile {
        name: name.into(),
        description: description.into(),
        architecture: None,
        execution: reader.execution(),
        memory: reader.memory(),
        image: Images { max_width: reader.count("image.max_width"), max_height: reader.count("image.max_height"), layout: reader.layout() },
        probed: reader.probed(),
    }
}

struct Reader<'a> {
    findings: &'a Findings,
}

impl Reader<'_> {
    /// The number under the first of these keys that was looked for.
    fn number(&self, keys: &[&str]) -> Fact<f64> {
        self.findings.first(keys).unwrap_or_else(|| Fact::unknown(format!("`{}` was not measured", keys.first().unwrap_or(&""))))
    }

    fn count(&self, key: &str) -> Fact<u32> {
        map(self.number(&[key]), |number| number.round().clamp(0.0, f64::from(u32::MAX)) as u32)
    }

    fn bytes(&self, key: &str) -> Fact<Bytes> {
        map(self.number(&[key]), Bytes)
    }

    fn seconds(&self, key: &str) -> Fact<Seconds> {
        match self.number(&[key]) {
            Fact::Known { value, cite, .. } if value < LEAST => {
                Fact::unknown(format!("{value:.1e} s is less than one can rely on ({cite})"))
            }
            fact => map(fact, |seconds| Seconds(seconds.max(LEAST))),
        }
    }

    fn word(&self, key: &str) -> Fact<String> {
        match self.findings.facts.get(key) {
            Some(Finding::Word(fact)) => fact.clone(),
            _ => Fact::unknown(format!("`{key}` was not measured")),
        }
    }

    /// Numbers under keys that end with the words of an access.
    fn by_width(&self, key: &str) -> Fact<Vec<f64>> {
        let (mut all, mut least, mut most, mut from) = (vec![], vec![], vec![], Source::Measured);
        for width in WIDTHS {
            let Fact::Known { value, lo, hi, source, .. } = self.number(&[&format!("{key}{width}")]) else {
                return Fact::unknown(format!("`{key}…` was not measured of every width"));
            };
            all.push(value);
            least.push(lo.unwrap_or(value));
            most.push(hi.unwrap_or(value));
            from = source;
        }
        Fact::between(
            least,
            all,
            most,
            from,
            format!("accesses of {} words of every lane", WIDTHS.map(|width| width.to_string()).join(", ")),
        )
    }

    fn clock(&self) -> f64 {
        self.findings.get("clock.hz").unwrap_or(CLOCK)
    }

    /// A latency: of seconds, where they are known, or else as it was counted in cycles; why the first there is is not known, otherwise.
    fn latency(&self, levels: &[&str], seconds: Option<Fact<f64>>) -> Fact<Cycles> {
        let clock = self.clock();
        let keys: Vec<String> = levels.iter().map(|level| format!("{level}.latency_cycles")).collect();
        let counted = self.findings.first(&keys.iter().map(String::as_str).collect::<Vec<_>>());
        let in_cycles = |fact, scale: f64| map(fact, |number: f64| Cycles((number * scale).max(0.1)));
        let all = [seconds.map(|fact| in_cycles(fact, clock)), counted.map(|fact| in_cycles(fact, 1.0))];
        let all = || all.iter().flatten();
        let missing = || Fact::unknown(format!("`{}.latency_s` was not measured", levels.first().unwrap_or(&"")));
        all().find(|fact| fact.get().is_some()).or_else(|| all().next()).cloned().unwrap_or_else(missing)
    }

    fn seconds_in_cycles(&self, key: &str) -> Fact<Cycles> {
        let clock = self.clock();
        map(self.number(&[key]), |seconds| Cycles((seconds * clock).max(0.1)))
    }

    /// Groups of one work-item, a warp each, of one core, as probes count them for all.
    fn groups(&self, key: &str) -> Fact<u32> {
        match self.findings.get("cores") {
            Some(cores) if cores >= 1.0 => map(self.number(&[key]), |groups| (groups / cores).floor() as u32),
            _ => Fact::unknown("the number of cores was not found"),
        }
    }

    /// Results of a core in a clock, of operations that count so many each.
    fn rate(&self, key: &str, operations: f64) -> Fact<f64> {
        let Some(cores) = self.findings.get("cores") else {
            return Fact::unknown("the number of cores was not found");
        };
        let clock = self.clock();
        map(self.number(&[key]), |peak| peak / (operations * cores * clock))
    }

    fn execution(&self) -> Execution {
        let clock = match self.number(&["clock.hz"]) {
            Fact::Known { value, cite, lo, hi, source, .. } => {
                Fact::Known { value: Hertz(value), source, cite, lo: lo.map(Hertz), hi: hi.map(Hertz), alternatives: vec![] }
            }
            // Of cycles that were counted no clock of one's own choice makes times.
            _ if self.findings.counts_cycles() => Fact::unknown("latencies were counted in cycles, and no clock rate was found"),
            _ => Fact::known(
                Hertz(CLOCK),
                Source::Assumed,
                "no clock was found: with this one a cycle is a nanosecond, and every time is what was measured",
            ),
        };
        let warps = match self.findings.facts.get("warp.sizes") {
            Some(Finding::Numbers(fact)) => map(fact.clone(), |sizes| sizes.first().map_or(1, |size| size.round() as u32)),
            _ => Fact::unknown("`warp.sizes` was not measured"),
        };
        let (registers, most) = (self.number(&["registers.per_core"]), self.number(&["concurrency.most"]));
        // Groups of one work-item are a warp each; one group of as many work-items as there may be has all of its warps at once.
        let get = |key: &str| self.findings.get(key);
        let groups = get("concurrency.most").zip(get("cores")).map(|(groups, cores)| (groups / cores).round().max(1.0));
        let whole = get("group.max_size").zip(warps.get().copied()).map(|(items, warp)| (items / f64::from(warp)).ceil());
        let told = |by: &Fact<f64>, number: f64| map(by.clone(), |_| number as u32);
        let at_once =
            |number: Option<f64>| number.map_or(Fact::unknown("how many groups run at once was not found"), |number| told(&most, number));
        // As many work-items as there may be, in groups of several warps.
        let items = get("concurrency.items").zip(get("cores")).zip(warps.get().copied());
        let many = items.map_or(0.0, |((items, cores), warp)| (items / cores / f64::from(warp)).floor());
        let max_warps = match groups.zip(whole).map(|(groups, whole)| groups.max(whole)) {
            Some(single) if many > single => told(&self.number(&["concurrency.items"]), many),
            single => at_once(single),
        };
        let max_groups = at_once(groups);
        Execution {
            cores: self.count("cores"),
            clock,
            warp: warps,
            max_warps,
            max_groups,
            registers: map(registers, |registers| registers.round() as u32),
            max_registers: self.count("registers.per_thread_max"),
            register_granule: self.count("registers.granule"),
            warp_granule: self.count("warp.granule"),
            max_group_size: self.count("group.max_size"),
            max_barriers: Fact::unknown(unmeasured("how many barriers a core holds")),
            local: self.bytes("local.capacity_bytes"),
            local_granule: Fact::unknown(unmeasured("in what parts local memory is given")),
            local_reserved: Fact::unknown(unmeasured("what local memory is taken by the system")),
            fma_per_clock: self.rate("peak.fp32", 2.0),
            fma16_per_clock: self.rate("peak.fp16", 2.0),
            fma64_per_clock: self.rate("peak.fp64", 2.0),
            lsu_lanes: Fact::unknown(unmeasured("lanes of load-store units")),
            special_per_clock: self.rate("special.rate", 1.0),
            matrix: Matrix::default(),
            issue_per_clock: Fact::unknown(unmeasured("what a core issues")),
            vector_width: self.count("alu.vector_components"),
            launch_overhead: self.seconds("launch.overhead_s"),
            launch_gap: Fact::unknown(unmeasured("what lies between two kernels")),
            wake: Fact::unknown(unmeasured("when cores begin a kernel")),
        }
    }

    fn cache(&self, levels: &[&str]) -> Cache {
        let keys = |of: &str| -> Vec<String> { levels.iter().map(|level| format!("{level}.{of}")).collect() };
        let number = |of: &str| {
            let keys = keys(of);
            self.number(&keys.iter().map(String::as_str).collect::<Vec<_>>())
        };
        let seconds = keys("latency_s");
        let seconds = self.findings.first(&seconds.iter().map(String::as_str).collect::<Vec<_>>());
        let bytes = number("capacity_bytes");
        // Of a cache that is not there nothing is to be measured, nor of one of which nobody knows whether it is.
        let further = |of: &str| match &bytes {
            Fact::Known { .. } => number(of),
            _ => self.findings.first(&keys(of).iter().map(String::as_str).collect::<Vec<_>>()).unwrap_or_else(|| bytes.clone()),
        };
        Cache {
            line: map(number("line_bytes"), Bytes),
            ways: map(further("ways"), |ways| ways.round() as u32),
            set_hash: match &bytes {
                Fact::Known { .. } => self.hash(levels),
                Fact::Absent { absent } => Fact::absent(&**absent),
                Fact::Unknown { unknown } => Fact::unknown(&**unknown),
            },
            instances: map(further("instances"), |instances| instances.round() as u32),
            bandwidth: map(further("bandwidth"), BytesPerSecond),
            latency: self.latency(levels, seconds),
            bytes: map(bytes, Bytes),
        }
    }

    /// The hash of the shape that explains a cache best, where it needs one.
    fn hash(&self, levels: &[&str]) -> Fact<Vec<Vec<u32>>> {
        let found = levels.iter().find_map(|level| match self.findings.facts.get(&format!("{level}.geometries"))? {
            Finding::Geometries(fact) => Some(fact.clone()),
            _ => None,
        });
        match found {
            Some(Fact::Known { value, source, cite, .. }) => match value.first().map(|geometry| geometry.hash.clone()) {
                Some(Some(hash)) => Fact::known(hash, source, cite),
                Some(None) => Fact::absent(format!("sets are taken by the lowest digits of a line's number ({cite})")),
                None => Fact::unknown("no shape explains the walks"),
            },
            _ => Fact::unknown("no shape explains the walks"),
        }
    }

    /// The layout of all shapes of the texture cache that explain the walks; where these have several, none of them is known.
    fn layout(&self) -> Fact<ImageLayout> {
        match self.geometries("texture.image2d.geometries") {
            Fact::Known { value, source, cite, .. } => {
                let mut all: Vec<ImageLayout> = vec![];
                for layout in value.iter().filter_map(|geometry| geometry.layout) {
                    if !all.contains(&layout) {
                        all.push(layout);
                    }
                }
                match all[..] {
                    [layout] => Fact::known(layout, source, cite),
                    [] => Fact::unknown("no walk through two dimensions tells it"),
                    _ => Fact::unknown(format!(
                        "{} layouts explain the walks alike, each with its shape of the cache among `probed.texture_geometries`: {}",
                        all.len(),
                        all.iter().map(layout_words).collect::<Vec<_>>().join(", ")
                    )),
                }
            }
            Fact::Absent { absent } => Fact::Absent { absent },
            Fact::Unknown { unknown } => Fact::Unknown { unknown },
        }
    }

    fn memory(&self) -> Memory {
        Memory {
            texture_l1: self.cache(&["texture.l1"]),
            buffer_l1: self.cache(&["buffer.l1"]),
            l2: self.cache(&["buffer.l2", "texture.l2"]),
            llc: self.cache(&["buffer.l3", "texture.l3"]),
            local_bandwidth: map(self.number(&["local.bandwidth"]), BytesPerSecond),
            dram_bandwidth: map(self.number(&["dram.bandwidth"]), BytesPerSecond),
            dram_latency: self.latency(&["dram"], self.findings.memory_latency()),
            sector: map(self.number(&["buffer.l1.fetch_bytes", "buffer.l1.line_bytes", "buffer.l2.line_bytes"]), Bytes),
            dram_fetch: map(self.number(&["buffer.l2.fetch_bytes", "buffer.l2.line_bytes"]), Bytes),
            l2_effective: map(self.number(&["buffer.l2.capacity_bytes", "texture.l2.capacity_bytes"]), Bytes),
            in_flight: Fact::unknown(unmeasured("how many lines a core waits for at a time")),
            llc_beside: Fact::unknown(unmeasured("what of a stream goes on beside arithmetic")),
            dram_beside: Fact::unknown(unmeasured("what of a stream goes on beside arithmetic")),
            tlb: Tlb {
                // A page's size would show in places of several strides, none of which is larger than the first level of translation.
                page: Fact::unknown("walks show how much memory translation reaches, not in pages of what size"),
                reach: map(self.number(&["buffer.translation.l1.reach_bytes"]), Bytes),
                miss_latency: self.seconds_in_cycles("buffer.translation.l1.miss_s"),
                lookup: Fact::unknown(unmeasured("translations that do not wait for each other")),
            },
        }
    }

    fn geometries(&self, key: &str) -> Fact<Vec<warpsight_ir::profile::Geometry>> {
        match self.findings.facts.get(key) {
            Some(Finding::Geometries(fact)) => fact.clone(),
            _ => Fact::unknown("no shape explains the walks"),
        }
    }

    fn probed(&self) -> Probed {
        let warps = match self.findings.facts.get("warp.sizes") {
            Some(Finding::Numbers(fact)) => map(fact.clone(), |sizes| sizes.iter().map(|size| size.round() as u32).collect()),
            _ => Fact::unknown("`warp.sizes` was not measured"),
        };
        Probed {
            alus: self.count("alu.per_core"),
            schedulers: self.count("warp.at_once"),
            warps,
            register_file: self.word("registers.pooled"),
            warps_full: self.groups("concurrency.full"),
            warps_half: self.groups("concurrency.half"),
            lane_order: self.word("lane.order"),
            barrier: self.seconds("barrier.cost_s"),
            division: self.seconds("int.divide_s"),
            branch: self.seconds("branch.cost_s"),
            local_split: self.number(&["local.split"]),
            local_banks: self.count("local.banks"),
            load_width: map(self.number(&["read.width_words"]), |words| Bytes(4.0 * words)),
            load_bandwidths: self.by_width("read.bandwidth_x"),
            store_bandwidths: self.by_width("write.bandwidth_x"),
            half_texels: map(self.number(&["texture.rgba16f.bandwidth"]), BytesPerSecond),
            read_paths: self.word("read.paths"),
            image_address: self.seconds("image.address_s"),
            constant_l1: self.cache(&["constant.l1"]),
            texture_geometries: match self.geometries("texture.image2d.geometries") {
                Fact::Unknown { .. } => self.geometries("texture.l1.geometries"),
                joint => joint,
            },
            buffer_geometries: self.geometries("buffer.l1.geometries"),
            texture_fit: match self.findings.facts.get("texture.fit") {
                Some(Finding::Texture(fact)) => fact.clone(),
                _ => Fact::unknown("`texture.fit` was not measured"),
            },
            texture_paper000: match self.findings.facts.get("texture.paper000") {
                Some(Finding::Paper000(fact)) => fact.clone(),
                _ => Fact::unknown("`texture.paper000` was not measured"),
            },
        }
    }
}

fn layout_words(layout: &ImageLayout) -> String {
    match layout {
        ImageLayout::Linear { pitch_align } => format!("rows padded to {pitch_align} B"),
        ImageLayout::AdrenoTiled { channels, highest_bank_bit } => {
            format!("Adreno's blocks over {channels} channels and bank bits up to {highest_bank_bit}")
        }
        ImageLayout::MaliInterleaved => "Mali's interleaved tiles".into(),
        ImageLayout::NvidiaBlockLinear { gobs_log2 } => format!("NVIDIA's blocks of {} groups", 1_u32 << (*gobs_log2).min(31)),
    }
}

/// The same fact in another unit.
fn map<T, U>(fact: Fact<T>, to: impl Fn(T) -> U) -> Fact<U> {
    match fact {
        Fact::Known { value, source, cite, lo, hi, .. } => {
            Fact::Known { value: to(value), source, cite, lo: lo.map(&to), hi: hi.map(&to), alternatives: vec![] }
        }
        Fact::Absent { absent } => Fact::Absent { absent },
        Fact::Unknown { unknown } => Fact::Unknown { unknown },
    }
}

fn unmeasured(what: &str) -> String {
    format!("no aspect measures {what}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bandwidths_by_width_keep_their_intervals_and_name_every_width() {
        let mut findings = Findings::default();
        for (width, rate) in WIDTHS.into_iter().zip([10.0, 20.0, 30.0, 40.0, 50.0]) {
            let fact = Fact::between(rate - 1.0, rate, rate + 1.0, Source::Simulated, format!("accesses of {width} words of every lane"));
            findings.number(format!("read.bandwidth_x{width}"), fact);
        }
        let probed = profile(&findings, "a", "a test").probed;
        let all = |by: f64| vec![10.0 + by, 20.0 + by, 30.0 + by, 40.0 + by, 50.0 + by];
        let cite = "accesses of 1, 2, 4, 8, 16 words of every lane";
        assert_eq!(probed.load_bandwidths, Fact::between(all(-1.0), all(0.0), all(1.0), Source::Simulated, cite));
        assert!(probed.store_bandwidths.get().is_none());
    }

    /// A cache that is not there has no ways that nobody measured.
    #[test]
    fn of_a_cache_that_is_absent_everything_is() {
        let mut findings = Findings::default();
        let evidence = "walks of up to 16 MiB show no further level";
        for of in ["capacity_bytes", "line_bytes", "latency_s"] {
            findings.number(format!("buffer.l3.{of}"), Fact::absent(evidence));
        }
        findings.number("buffer.l2.capacity_bytes", Fact::unknown("too short"));
        findings.number("buffer.l2.bandwidth", Fact::known(1e9, Source::Simulated, "a test"));
        let memory = profile(&findings, "a", "a test").memory;
        let llc = memory.llc;
        assert_eq!((llc.bytes, llc.line, llc.bandwidth), (Fact::absent(evidence), Fact::absent(evidence), Fact::absent(evidence)));
        assert_eq!((llc.ways, llc.instances), (Fact::absent(evidence), Fact::absent(evidence)));
        assert_eq!((llc.set_hash, llc.latency), (Fact::absent(evidence), Fact::absent(evidence)));
        // What is known all the same stands.
        assert_eq!((memory.l2.ways, memory.l2.bandwidth.get()), (Fact::unknown("too short"), Some(&BytesPerSecond(1e9))));
    }

    /// Layouts that walks cannot tell apart are none that is known, however well the first explains them; models take one in blocks.
    #[test]
    fn layouts_that_explain_as_much_are_listed_together() {
        let rows = ImageLayout::Linear { pitch_align: 32 };
        let shape = |layout| warpsight_ir::profile::Geometry { sets: 2, ways: 16, hash: None, layout: Some(layout), error: 0.0 };
        let of = |all: &[ImageLayout]| {
            let mut findings = Findings::default();
            let fact = Fact::known(all.iter().copied().map(shape).collect(), Source::Simulated, "a test");
            findings.facts.insert("texture.image2d.geometries".into(), Finding::Geometries(fact));
            profile(&findings, "a", "a test")
        };
        let (one, several) = (of(&[rows, rows]), of(&[rows, ImageLayout::MaliInterleaved]));
        assert_eq!((one.image.layout.get(), one.likely_layout()), (Some(&rows), Some(rows)));
        let why = several.image.layout.known_as("layout").expect_err("several").reason;
        assert!(
            why.starts_with("2 layouts explain the walks alike") && why.ends_with("rows padded to 32 B, Mali's interleaved tiles"),
            "{why}"
        );
        assert_eq!(several.likely_layout(), Some(ImageLayout::MaliInterleaved));
        assert_eq!(of(&[]).likely_layout(), None);
    }
}
