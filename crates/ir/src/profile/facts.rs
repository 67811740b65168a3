//! All facts of a profile, in the order of the text form: what is checked, edited and written goes by this list.

use super::{Cache, Fact, Profile};
use crate::units::{Bytes, BytesPerSecond, Cycles, Hertz, Seconds};

/// A fact by what kind of number it is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Number<'p> {
    Count(&'p Fact<u32>),
    /// Results a clock.
    Rate(&'p Fact<f64>),
    /// A part of something, from nothing to all.
    Share(&'p Fact<f64>),
    Bytes(&'p Fact<Bytes>),
    Hertz(&'p Fact<Hertz>),
    Seconds(&'p Fact<Seconds>),
    Cycles(&'p Fact<Cycles>),
    BytesPerSecond(&'p Fact<BytesPerSecond>),
    /// No number.
    Other,
}

/// What a known fact says in numbers, in base units.
pub(super) struct Said {
    pub value: f64,
    pub lo: Option<f64>,
    pub hi: Option<f64>,
    pub others: Vec<f64>,
}

impl Number<'_> {
    pub fn said(self) -> Option<Said> {
        match self {
            Self::Count(fact) => said(fact, |&v| v.into()),
            Self::Rate(fact) | Self::Share(fact) => said(fact, |&v| v),
            Self::Bytes(fact) => said(fact, |v| v.0),
            Self::Hertz(fact) => said(fact, |v| v.0),
            Self::Seconds(fact) => said(fact, |v| v.0),
            Self::Cycles(fact) => said(fact, |v| v.0),
            Self::BytesPerSecond(fact) => said(fact, |v| v.0),
            Self::Other => None,
        }
    }
}

fn said<T>(fact: &Fact<T>, number: impl Fn(&T) -> f64) -> Option<Said> {
    let Fact::Known { value, lo, hi, alternatives, .. } = fact else { return None };
    let others = alternatives.iter().map(|claim| number(&claim.value)).collect();
    Some(Said { value: number(value), lo: lo.as_ref().map(&number), hi: hi.as_ref().map(&number), others })
}

impl Profile {
    /// Path and kind of every fact.
    pub(super) fn facts<'p>(&'p self) -> Vec<(String, Number<'p>)> {
        let (e, m, i) = (&self.execution, &self.memory, &self.image);
        let mut all = vec![];
        let mut put = |table: &str, facts: &[(&str, Number<'p>)]| {
            all.extend(facts.iter().map(|(name, number)| (format!("{table}.{name}"), *number)));
        };
        put(
            "execution",
            &[
                ("cores", Number::Count(&e.cores)),
                ("clock", Number::Hertz(&e.clock)),
                ("warp", Number::Count(&e.warp)),
                ("max_warps", Number::Count(&e.max_warps)),
                ("max_groups", Number::Count(&e.max_groups)),
                ("registers", Number::Count(&e.registers)),
                ("max_registers", Number::Count(&e.max_registers)),
                ("register_granule", Number::Count(&e.register_granule)),
                ("warp_granule", Number::Count(&e.warp_granule)),
                ("max_group_size", Number::Count(&e.max_group_size)),
                ("max_barriers", Number::Count(&e.max_barriers)),
                ("local", Number::Bytes(&e.local)),
                ("local_granule", Number::Bytes(&e.local_granule)),
                ("local_reserved", Number::Bytes(&e.local_reserved)),
                ("fma_per_clock", Number::Rate(&e.fma_per_clock)),
                ("fma16_per_clock", Number::Rate(&e.fma16_per_clock)),
                ("fma64_per_clock", Number::Rate(&e.fma64_per_clock)),
                ("lsu_lanes", Number::Count(&e.lsu_lanes)),
                ("special_per_clock", Number::Rate(&e.special_per_clock)),
                ("matrix.f16", Number::Rate(&e.matrix.f16)),
                ("matrix.bf16", Number::Rate(&e.matrix.bf16)),
                ("matrix.f32", Number::Rate(&e.matrix.f32)),
                ("matrix.f64", Number::Rate(&e.matrix.f64)),
                ("matrix.int8", Number::Rate(&e.matrix.int8)),
                ("issue_per_clock", Number::Rate(&e.issue_per_clock)),
                ("vector_width", Number::Count(&e.vector_width)),
                ("launch_overhead", Number::Seconds(&e.launch_overhead)),
                ("launch_gap", Number::Seconds(&e.launch_gap)),
                ("wake", Number::Seconds(&e.wake)),
            ],
        );
        put(
            "memory",
            &[
                ("local_bandwidth", Number::BytesPerSecond(&m.local_bandwidth)),
                ("dram_bandwidth", Number::BytesPerSecond(&m.dram_bandwidth)),
                ("dram_latency", Number::Cycles(&m.dram_latency)),
                ("sector", Number::Bytes(&m.sector)),
                ("dram_fetch", Number::Bytes(&m.dram_fetch)),
                ("l2_effective", Number::Bytes(&m.l2_effective)),
                ("in_flight", Number::Rate(&m.in_flight)),
                ("llc_beside", Number::Share(&m.llc_beside)),
                ("dram_beside", Number::Share(&m.dram_beside)),
            ],
        );
        put(
            "memory.tlb",
            &[
                ("page", Number::Bytes(&m.tlb.page)),
                ("reach", Number::Bytes(&m.tlb.reach)),
                ("miss_latency", Number::Cycles(&m.tlb.miss_latency)),
                ("lookup", Number::Cycles(&m.tlb.lookup)),
            ],
        );
        put("memory.texture_l1", &cache(&m.texture_l1));
        put("memory.buffer_l1", &cache(&m.buffer_l1));
        put("memory.l2", &cache(&m.l2));
        put("memory.llc", &cache(&m.llc));
        put(
            "image",
            &[("max_width", Number::Count(&i.max_width)), ("max_height", Number::Count(&i.max_height)), ("layout", Number::Other)],
        );
        let p = &self.probed;
        put(
            "probed",
            &[
                ("alus", Number::Count(&p.alus)),
                ("schedulers", Number::Count(&p.schedulers)),
                ("warps", Number::Other),
                ("register_file", Number::Other),
                ("warps_full", Number::Count(&p.warps_full)),
                ("warps_half", Number::Count(&p.warps_half)),
                ("lane_order", Number::Other),
                ("barrier", Number::Seconds(&p.barrier)),
                ("division", Number::Seconds(&p.division)),
                ("branch", Number::Seconds(&p.branch)),
                ("local_split", Number::Rate(&p.local_split)),
                ("local_banks", Number::Count(&p.local_banks)),
                ("load_width", Number::Bytes(&p.load_width)),
                ("load_bandwidths", Number::Other),
                ("store_bandwidths", Number::Other),
                ("half_texels", Number::BytesPerSecond(&p.half_texels)),
                ("read_paths", Number::Other),
                ("image_address", Number::Seconds(&p.image_address)),
                ("texture_geometries", Number::Other),
                ("buffer_geometries", Number::Other),
                ("texture_fit", Number::Other),
                ("texture_paper000", Number::Other),
            ],
        );
        put("probed.constant_l1", &cache(&p.constant_l1));
        all
    }
}

fn cache(cache: &Cache) -> [(&'static str, Number<'_>); 7] {
    [
        ("bytes", Number::Bytes(&cache.bytes)),
        ("line", Number::Bytes(&cache.line)),
        ("ways", Number::Count(&cache.ways)),
        ("set_hash", Number::Other),
        ("instances", Number::Count(&cache.instances)),
        ("bandwidth", Number::BytesPerSecond(&cache.bandwidth)),
        ("latency", Number::Cycles(&cache.latency)),
    ]
}
