//! The host CPU as a [`Profile`], for OpenCL devices that run kernels on it (PoCL and the like).
//!
//! What CPUID states is a vendor fact. Clock, multiply-adds and bandwidths are measured once (`measure`) and kept for a day, so that what is
//! predicted at one time does not change from command to command. What neither tells (latencies, issue) is assumed, with the reason and an
//! interval wide enough for the CPUs of the last ten years; probing a device replaces it.

#[cfg(target_arch = "x86_64")]
mod measure;

use crate::cache;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;
use warpsight_ir::layout::ImageLayout;
use warpsight_ir::profile::{Cache, Execution, Fact, Images, Matrix, Memory, Profile, Source, Tlb};
use warpsight_ir::{Bytes, BytesPerSecond, Cycles, Hertz, Seconds};

/// The profile of the CPU this runs on, named `host`. Outside x86-64 nothing but the number of cores is known.
pub fn host_profile() -> Profile {
    static READ: OnceLock<Profile> = OnceLock::new();
    READ.get_or_init(|| {
        let host = Host::read();
        let measured = host.measured();
        profile(&Host { measured, ..host })
    })
    .clone()
}

/// How long what was measured is kept.
const KEPT: Duration = Duration::from_secs(24 * 3600);

/// Which measurements are kept: another number where they are made in another way.
const FORMAT: &str = "9";

/// What was measured of the CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Measured {
    /// Hertz.
    clock: f64,
    /// Multiply-adds of f32 a clock and core, in the widest vectors.
    fma: Option<f64>,
    /// Words of 4 bytes that a core loads in a clock, in the widest vectors.
    loads: Option<f64>,
    /// Instructions of a core in a clock.
    issue: Option<f64>,
    /// Bytes per second that all cores read from L2, L3 and memory; `None` where a level is missing, or longer than what is walked through.
    read: [Option<f64>; 3],
    /// Bytes that the last level holds of what these cores read, all instances of it, where that is less than it says.
    held: Option<f64>,
    /// Cycles that a line of these takes which the one before names.
    latency: [Option<f64>; 3],
    /// Lines of memory that come in the time of one, where none names another.
    in_flight: Option<f64>,
    /// Of L3 and memory the part of a stream that is hidden beside arithmetic, or of arithmetic beside a stream: of what takes less.
    beside: [Option<f64>; 2],
    /// Pages of 4 KiB whose translations are held, the cycles that one takes that is not, and those by which each of many comes later that do
    /// not wait for each other.
    pages: Option<(u32, f64, f64)>,
    /// Seconds until a thread that sleeps runs after another one wakes it: quartiles; `None` of one thread alone.
    wake: Option<[f64; 3]>,
}

/// What the CPU says of itself.
#[derive(Clone, Debug, Default)]
struct Host {
    /// Its brand string.
    brand: Option<String>,
    /// Hardware threads this process may use.
    cores: Option<u32>,
    simd: Option<Simd>,
    clock: Option<Clock>,
    /// L1 data, L2 and L3.
    caches: [Option<CacheFacts>; 3],
    measured: Option<Measured>,
}

/// The widest vector unit that the operating system has enabled.
#[derive(Clone, Copy, Debug)]
struct Simd {
    name: &'static str,
    /// f32 lanes of a register.
    lanes: u32,
    /// Registers.
    registers: u32,
    /// Whether it multiplies and adds in one instruction.
    fused: bool,
}

#[derive(Clone, Copy, Debug)]
struct Clock {
    base: f64,
    max: Option<f64>,
    cite: &'static str,
}

#[derive(Clone, Copy, Debug)]
struct CacheFacts {
    bytes: u64,
    line: u32,
    /// `None` where fully associative.
    ways: Option<u32>,
    /// Hardware threads that share an instance.
    sharing: u32,
}

impl Host {
    fn read() -> Self {
        let cores = std::thread::available_parallelism().ok().and_then(|n| u32::try_from(n.get()).ok());
        Self { cores, ..Self::cpuid() }
    }

    /// What was measured of this CPU within a day, or is now.
    fn measured(&self) -> Option<Measured> {
        let name = format!("host-{}.json", &cache::key(&[&format!("{self:?}"), FORMAT])[..16]);
        let path = cache::default_directory().map(|kernels| kernels.with_file_name(name));
        if let Some(kept) = path.as_deref().and_then(kept) {
            return Some(kept);
        }
        let found = self.measure()?;
        // Another command may have been faster: all predict by the same numbers.
        if let Some(kept) = path.as_deref().and_then(kept) {
            return Some(kept);
        }
        if let (Some(path), Ok(text)) = (&path, serde_json::to_string(&found)) {
            // Without a place to keep it the next command measures again.
            let _ = path.parent().map(warpsight_files::make_folder);
            let _ = warpsight_files::write(path, text.as_bytes());
        }
        path.as_deref().and_then(kept).or(Some(found))
    }

    #[cfg(target_arch = "x86_64")]
    fn measure(&self) -> Option<Measured> {
        use measure::Width;
        let width = match self.simd? {
            Simd { lanes: 16, .. } => Width::Avx512,
            Simd { fused: true, .. } => Width::Fma,
            _ => Width::Sse,
        };
        measure::measure(self.cores? as usize, width, self.caches.map(|level| level.map(|own| (own.bytes, own.sharing))))
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn measure(&self) -> Option<Measured> {
        None
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn cpuid() -> Self {
        Self::default()
    }

    #[cfg(target_arch = "x86_64")]
    fn cpuid() -> Self {
        use raw_cpuid::{CacheType, CpuId};
        let cpuid = CpuId::new();
        let brand = cpuid.get_processor_brand_string().map(|b| b.as_str().trim().to_owned()).filter(|b| !b.is_empty());
        let mhz = |mhz: u16| (mhz > 0).then(|| f64::from(mhz) * 1e6);
        let stated = cpuid.get_processor_frequency_info().and_then(|f| {
            let (base, max) = (mhz(f.processor_base_frequency())?, mhz(f.processor_max_frequency()));
            Some(Clock { base, max: max.filter(|&m| m >= base), cite: "CPUID leaf 0x16, base frequency; the interval ends at the maximum" })
        });
        let named = || {
            let base = clock_in(brand.as_deref()?)?;
            Some(Clock { base, max: None, cite: "CPUID leaves 0x80000002 to 4, the brand string" })
        };
        let mut caches = [None; 3];
        for cache in cpuid.get_cache_parameters().into_iter().flatten() {
            let level = usize::from(cache.level());
            if cache.cache_type() == CacheType::Instruction || !(1..=3).contains(&level) {
                continue;
            }
            let (line, ways) = (cache.coherency_line_size(), cache.associativity());
            caches[level - 1] = Some(CacheFacts {
                bytes: (line * ways * cache.physical_line_partitions() * cache.sets()) as u64,
                line: line as u32,                                            // twelve bits
                ways: (!cache.is_fully_associative()).then_some(ways as u32), // ten bits
                sharing: cache.max_cores_for_cache() as u32,                  // twelve bits
            });
        }
        let fused = is_x86_feature_detected!("fma");
        let simd = if is_x86_feature_detected!("avx512f") {
            Simd { name: "AVX-512", lanes: 16, registers: 32, fused: true }
        } else if is_x86_feature_detected!("avx") {
            Simd { name: "AVX", lanes: 8, registers: 16, fused }
        } else {
            Simd { name: "SSE", lanes: 4, registers: 16, fused: false }
        };
        Self { clock: stated.or_else(named), brand, simd: Some(simd), caches, ..Self::default() }
    }
}

/// What a file keeps, if it is no older than a day and makes sense.
fn kept(path: &Path) -> Option<Measured> {
    let age = std::fs::metadata(path).ok()?.modified().ok()?.elapsed().ok()?;
    let text = warpsight_files::read_text(path, warpsight_files::TEXT).ok()?;
    let sound = |found: &Measured| {
        found.clock > 0.0
            && found.issue.is_none_or(|rate| rate > 0.0)
            && found.wake.is_none_or(|wake| wake.is_sorted() && wake[0] >= 0.0)
            && found.in_flight.is_none_or(|lines| (1.0..1e6).contains(&lines))
            && found.beside.iter().flatten().all(|part| (0.0..=1.0).contains(part))
            && found.pages.is_none_or(|(pages, cycles, apart)| pages > 0 && cycles > 0.0 && apart >= 0.0)
    };
    serde_json::from_str(&text).ok().filter(|found| age < KEPT && sound(found))
}

/// The clock at the end of a brand string, `… @ 2.50GHz`, in Hz.
#[cfg(any(target_arch = "x86_64", test))]
fn clock_in(brand: &str) -> Option<f64> {
    let text = brand.rsplit_once('@')?.1.trim();
    let (number, unit) = match text.strip_suffix("GHz") {
        Some(number) => (number, 1e9),
        None => (text.strip_suffix("MHz")?, 1e6),
    };
    number.trim().parse::<f64>().ok().map(|n| n * unit).filter(|hz| (1e8..1e11).contains(hz))
}

const NO_MATRIX: &str = "kernels in OpenCL reach no matrix unit of a CPU";
const NO_CPUID: &str = "no CPUID on this architecture, or it does not say";

fn assumed<T>(lo: T, value: T, hi: T, reason: impl Into<String>) -> Fact<T> {
    Fact::between(lo, value, hi, Source::Assumed, reason)
}

/// A lookup of fewer cycles is what the loops' own times vary by: the profile says 0, and at most this. (The interval of a longer one begins at no
/// less than the tenth of a cycle that a profile may say.)
const LEAST_LOOKUP: f64 = 0.12;

/// A measured number, of three digits. That others used the machine, or that its clock was another, is the interval.
fn measured<T>(unit: impl Fn(f64) -> T, value: f64, how: &str) -> Fact<T> {
    let value = format!("{value:.2e}").parse().unwrap_or(value);
    Fact::between(unit(0.9 * value), unit(value), unit(1.05 * value), Source::Measured, how)
}

fn profile(host: &Host) -> Profile {
    let stated = match host.clock {
        Some(Clock { base, max: Some(max), cite }) => Fact::between(Hertz(base), Hertz(base), Hertz(max), Source::Vendor, cite),
        Some(Clock { base, max: None, cite }) => Fact::known(Hertz(base), Source::Vendor, cite),
        None => assumed(
            Hertz(1e9),
            Hertz(2.5e9),
            Hertz(6e9),
            "neither CPUID leaf 0x16 nor the brand string states a clock; 2.5 GHz lies amid the base clocks of desktop and server CPUs",
        ),
    };
    let clock = match host.measured {
        Some(found) => measured(
            Hertz,
            found.clock,
            "chains of additions on all cores at once, the fastest of many spans; kept for a day in the folder of caches",
        ),
        None => stated,
    };
    let rate = Rate { hertz: clock.get().map_or(2.5e9, |c| c.0), cores: f64::from(host.cores.unwrap_or(1)) };
    Profile {
        name: "host".into(),
        description: host.brand.clone().unwrap_or_else(|| "the host CPU".into()),
        architecture: None,
        execution: execution(host, clock),
        memory: memory(host, rate),
        image: Images {
            max_width: Fact::unknown("the OpenCL driver says at run time"),
            max_height: Fact::unknown("the OpenCL driver says at run time"),
            layout: Fact::known(
                ImageLayout::Linear { pitch_align: 1 },
                Source::Assumed,
                "images are emulated on a CPU: PoCL keeps them row by row in ordinary memory",
            ),
        },
        probed: Default::default(),
    }
}

fn execution(host: &Host, clock: Fact<Hertz>) -> Execution {
    let simd = |value: &dyn Fn(Simd) -> u32, what: &str| match host.simd {
        Some(simd) => Fact::known(value(simd), Source::Vendor, format!("CPUID leaves 1 and 7: {} {what}", simd.name)),
        None => Fact::unknown(NO_CPUID),
    };
    let (fma, loads) = (host.measured.and_then(|found| found.fma), host.measured.and_then(|found| found.loads));
    Execution {
        cores: match host.cores {
            Some(cores) => Fact::known(cores, Source::Vendor, "the operating system: hardware threads this process may use"),
            None => Fact::unknown("the operating system does not say how many hardware threads there are"),
        },
        clock,
        warp: Fact::known(
            1,
            Source::Assumed,
            "a CPU runs one work-item, or vectors of them, after the other: nothing is masked in hardware",
        ),
        max_warps: Fact::absent("the work-items of a group take turns on one thread; a group may have any number"),
        max_groups: Fact::known(1, Source::Assumed, "PoCL runs a group to its end on one thread before it takes the next"),
        registers: Fact::absent("work-items that wait at a barrier keep their variables in memory: no register file is divided among them"),
        max_registers: simd(&|s| s.registers * s.lanes, "registers times their f32 lanes; what exceeds them lives in L1"),
        register_granule: Fact::absent("no register file is divided among work-items"),
        warp_granule: Fact::absent("no register file is divided among work-items"),
        max_group_size: Fact::unknown("the OpenCL driver says at run time"),
        max_barriers: Fact::absent("a barrier on a CPU is code: nothing counts them"),
        local: Fact::unknown("local memory is ordinary memory; the OpenCL driver sets a limit at run time"),
        local_granule: Fact::absent("local memory is ordinary memory"),
        local_reserved: Fact::absent("local memory is ordinary memory"),
        fma_per_clock: match (fma, host.simd) {
            (Some(fma), _) => measured(|own| own, fma, "twelve sums in registers on all cores at once"),
            (None, Some(Simd { lanes: 16, .. })) => assumed(
                16.0,
                16.0,
                32.0,
                "16 lanes of AVX-512, one instruction a clock: Zen 4 and client cores join two 256-bit ports for one; server cores and Zen 5 have two",
            ),
            (None, Some(Simd { lanes, fused: true, .. })) => {
                let lanes = f64::from(lanes);
                assumed(
                    lanes,
                    2.0 * lanes,
                    2.0 * lanes,
                    "lanes of a register times two ports, as every core with FMA since Haswell and Zen 2 has",
                )
            }
            (None, Some(Simd { lanes, fused: false, .. })) => {
                let lanes = f64::from(lanes);
                assumed(
                    lanes / 2.0,
                    lanes,
                    lanes,
                    "no FMA: a multiplication and an addition a clock on a port each, together one multiply-add a lane",
                )
            }
            (None, None) => Fact::unknown(NO_CPUID),
        },
        fma64_per_clock: match (fma, host.simd) {
            (Some(fma), _) => assumed(fma / 4.0, fma / 2.0, fma / 2.0, "half of the measured f32 rate: a register holds half as many f64"),
            (None, Some(Simd { lanes: 16, .. })) => assumed(8.0, 8.0, 16.0, "half the f32 lanes: a register holds half as many f64"),
            (None, Some(Simd { lanes, fused, .. })) => {
                let lanes = f64::from(lanes) / 2.0 * if fused { 2.0 } else { 1.0 };
                assumed(lanes / 2.0, lanes, lanes, "half the f32 lanes: a register holds half as many f64")
            }
            (None, None) => Fact::unknown(NO_CPUID),
        },
        lsu_lanes: match (loads, host.simd) {
            (Some(lanes), _) => measured(|own| own.round() as u32, lanes, "loads of one vector on all cores at once"),
            (None, Some(_)) => assumed(4, load_bytes(host) / 4, 32, "the bytes that L1 is taken to deliver a clock, in words of 4"),
            (None, None) => Fact::unknown(NO_CPUID),
        },
        fma16_per_clock: Fact::absent("half precision is storage only; arithmetic is done in single precision"),
        special_per_clock: match host.simd {
            Some(Simd { lanes, .. }) => {
                let lanes = f64::from(lanes);
                assumed(
                    lanes / 64.0,
                    lanes / 20.0,
                    lanes / 4.0,
                    "a vector division or root takes 4 to 16 cycles, a vectorised exponential about 20, a scalar library call more",
                )
            }
            None => Fact::unknown(NO_CPUID),
        },
        matrix: Matrix {
            f16: Fact::absent(NO_MATRIX),
            bf16: Fact::absent(NO_MATRIX),
            f32: Fact::absent(NO_MATRIX),
            f64: Fact::absent(NO_MATRIX),
            int8: Fact::absent(NO_MATRIX),
        },
        issue_per_clock: match host.measured.and_then(|found| found.issue) {
            Some(rate) => measured(|own| own, rate, "additions of integers, loads and additions of vectors on all cores at once"),
            None => assumed(2.0, 4.0, 6.0, "out-of-order cores of the last ten years sustain three to six operations a clock"),
        },
        vector_width: simd(&|s| s.lanes, "lanes of f32"),
        launch_overhead: assumed(
            Seconds(0.2e-6),
            Seconds(0.5e-6),
            Seconds(20e-6),
            "by the events that kernels are timed with, kernels of a few work-items last 0.3 to 0.5 µs on PoCL; enqueueing them takes 9 to 26 µs, outside of the events",
        ),
        launch_gap: assumed(
            Seconds(1e-6),
            Seconds(4e-6),
            Seconds(10e-6),
            "on PoCL, what all launches of a network of 72 tiny kernels take by the wall less what these take by events, 4.6 µs each (12 to 16 behind longer ones, which have cores to wake)",
        ),
        wake: match host.measured.and_then(|found| found.wake.map(|wake| wake.map(Seconds))) {
            Some([lo, _, hi]) => {
                Fact::between(lo, hi, hi, Source::Measured, "a thread that sleeps is woken by another: the first and the third quartile")
            }
            None => Fact::unknown("no thread was woken to measure it"),
        },
    }
}

/// Clock and cores, to turn bytes per clock and core into bytes per second of the device.
#[derive(Clone, Copy)]
struct Rate {
    hertz: f64,
    cores: f64,
}

impl Rate {
    fn bytes(self, [lo, value, hi]: [f64; 3], reason: &str) -> Fact<BytesPerSecond> {
        let all = |per_clock: f64| BytesPerSecond(per_clock * self.hertz * self.cores);
        assumed(all(lo), all(value), all(hi), format!("{value} B a clock and core: {reason}"))
    }
}

/// Bytes a core loads from L1 per clock: two vectors, but 64 bytes in all, because cores with 64-byte vectors load at least one of them.
fn load_bytes(host: &Host) -> u32 {
    (2 * 4 * host.simd.map_or(4, |s| s.lanes)).min(64)
}

fn memory(host: &Host, rate: Rate) -> Memory {
    let [l1, l2, l3] = host.caches;
    let load = f64::from(load_bytes(host));
    let l1_rate = match host.measured.and_then(|found| found.loads) {
        Some(lanes) => measured(BytesPerSecond, 4.0 * lanes * rate.hertz * rate.cores, "loads of one vector on all cores at once"),
        None => rate.bytes([load / 2.0, load, 2.0 * load], "two vector loads, of 32 bytes each where vectors are wider"),
    };
    let seconds = |ns: f64| Cycles(ns * 1e-9 * rate.hertz);
    let [l2_read, l3_read, memory_read] = host.measured.map_or([None; 3], |found| found.read);
    let read = |found: Option<f64>, otherwise: Fact<BytesPerSecond>| match found {
        Some(rate) => measured(
            BytesPerSecond,
            rate,
            "all cores at once read memory of their own, four places of it in order, the fastest of many passes",
        ),
        None => otherwise,
    };
    let [l2_wait, l3_wait, memory_wait] = host.measured.map_or([None; 3], |found| found.latency);
    let wait = |found: Option<f64>, otherwise: Fact<Cycles>| match found {
        Some(cycles) => {
            measured(Cycles, cycles, "one core asks for a line when the one before has come, in no order; the fastest of many spans")
        }
        None => otherwise,
    };
    let beside = |level: usize| match host.measured.and_then(|found| found.beside[level]) {
        Some(part) => {
            let how = "all cores at once read memory of their own, four places of it in order, with multiplications beside it, without, and these alone";
            Fact::between(0.8 * part, part, (1.2 * part).min(1.0), Source::Measured, how)
        }
        None => Fact::unknown("no stream was measured beside arithmetic"),
    };
    // What others leave of a last level that they share, as on a machine that is part of a larger one, counts for these cores.
    let held = |level: Cache| match (host.measured.and_then(|found| found.held), level.instances.get()) {
        (Some(bytes), Some(&instances)) => {
            let of = |part: f64| Bytes((part * bytes / f64::from(instances)).round());
            let how = "all cores at once read twice as much memory again and again: where half of it comes from behind this level";
            Cache { bytes: Fact::between(of(0.7), of(1.0), of(1.4), Source::Measured, how), ..level }
        }
        _ => level,
    };
    Memory {
        texture_l1: Cache::absent("a CPU has no texture units: images are emulated by loads and arithmetic"),
        local_bandwidth: l1_rate.clone(),
        buffer_l1: cache(
            host,
            l1,
            l1_rate,
            assumed(Cycles(4.0), Cycles(5.0), Cycles(7.0), "four or five cycles on cores since 2015, vectors up to seven"),
        ),
        l2: cache(
            host,
            l2,
            read(l2_read, rate.bytes([10.0, 32.0, 64.0], "half a line to a line between L1 and L2 at best")),
            wait(l2_wait, assumed(Cycles(10.0), Cycles(14.0), Cycles(20.0), "12 to 17 cycles on most cores")),
        ),
        llc: held(cache(
            host,
            l3,
            read(l3_read, rate.bytes([3.0, 10.0, 32.0], "sliced caches behind a mesh or ring, shared by all cores")),
            wait(
                l3_wait,
                assumed(Cycles(30.0), Cycles(50.0), Cycles(120.0), "40 to 50 cycles on client parts, twice that on large servers"),
            ),
        )),
        dram_bandwidth: read(
            memory_read,
            assumed(
                BytesPerSecond(4e9 * rate.cores),
                BytesPerSecond(8e9 * rate.cores),
                BytesPerSecond(25e9 * rate.cores),
                "8 GB/s a core: two channels of DDR4 or DDR5 feed 4 to 8 cores, twelve feed 96; a virtual machine's share is not known",
            ),
        ),
        dram_latency: wait(
            memory_wait,
            assumed(seconds(60.0), seconds(90.0), seconds(200.0), "90 ns at this clock: 70 to 110 ns on most machines"),
        ),
        sector: line(l1, "CPUID leaf 4 (0x8000001D on AMD): the line of L1; CPU caches fetch whole lines"),
        dram_fetch: line(l2.or(l1), "CPUID leaf 4 (0x8000001D on AMD): the line next to memory; an adjacent-line prefetcher may fetch two"),
        l2_effective: match l2 {
            Some(l2) if l2.bytes > 0 => {
                Fact::known(Bytes(l2.bytes as f64), Source::Vendor, "CPUID leaf 4 (0x8000001D on AMD): the one instance a core uses")
            }
            _ => Fact::unknown(NO_CPUID),
        },
        in_flight: match host.measured.and_then(|found| found.in_flight) {
            Some(lines) => {
                measured(|own| own, lines, "one core asks for lines in no order, none of which names another, beside those that do")
            }
            None => Fact::unknown("a last level is too large for memory to be waited for, or nothing was measured"),
        },
        llc_beside: beside(0),
        dram_beside: beside(1),
        tlb: match host.measured.and_then(|found| found.pages) {
            Some((pages, cycles, apart)) => Tlb {
                page: Fact::known(Bytes(PAGE), Source::Vendor, "x86-64 has pages of 4 KiB"),
                reach: measured(|pages| Bytes(PAGE * pages.round()), f64::from(pages), "chases through pages"),
                miss_latency: measured(Cycles, cycles, "chases through 383 pages beside 13"),
                lookup: {
                    let how = "loads from 383 pages beside 13, none of which waits for another";
                    let none = Fact::between(Cycles(0.0), Cycles(0.0), Cycles(LEAST_LOOKUP), Source::Measured, how);
                    if apart < LEAST_LOOKUP { none } else { measured(Cycles, apart, how) }
                },
            },
            None => Tlb::default(),
        },
    }
}

/// Bytes of a page.
const PAGE: f64 = 4096.0;

fn line(level: Option<CacheFacts>, cite: &str) -> Fact<Bytes> {
    level.map_or_else(|| Fact::unknown(NO_CPUID), |l| Fact::known(Bytes(f64::from(l.line)), Source::Vendor, cite))
}

/// A level as CPUID describes it; its bandwidth and latency are passed in.
fn cache(host: &Host, facts: Option<CacheFacts>, bandwidth: Fact<BytesPerSecond>, latency: Fact<Cycles>) -> Cache {
    const CITE: &str = "CPUID leaf 4 (0x8000001D on AMD)";
    let Some(facts) = facts.filter(|f| f.bytes > 0) else {
        // Where CPUID describes other levels, this one is not there.
        return match host.caches.iter().any(Option::is_some) {
            true => Cache::absent(&format!("{CITE} does not list this level")),
            false => Cache { bandwidth, latency, ..unknown_cache() },
        };
    };
    let vendor = |value: u32| Fact::known(value, Source::Vendor, CITE);
    Cache {
        bytes: Fact::known(Bytes(facts.bytes as f64), Source::Vendor, CITE),
        line: Fact::known(Bytes(f64::from(facts.line)), Source::Vendor, CITE),
        ways: facts.ways.map_or_else(|| Fact::unknown(format!("{CITE}: fully associative")), vendor),
        set_hash: Fact::unknown("not stated by CPUID; often the low bits of the line number, hashed in the last level"),
        instances: match host.cores {
            Some(cores) => {
                Fact::known(cores.div_ceil(facts.sharing.max(1)), Source::Vendor, format!("{CITE}: {} threads share one", facts.sharing))
            }
            None => Fact::unknown("the operating system does not say how many hardware threads there are"),
        },
        bandwidth,
        latency,
    }
}

fn unknown_cache() -> Cache {
    Cache {
        bytes: Fact::unknown(NO_CPUID),
        line: Fact::unknown(NO_CPUID),
        ways: Fact::unknown(NO_CPUID),
        set_hash: Fact::unknown(NO_CPUID),
        instances: Fact::unknown(NO_CPUID),
        bandwidth: Fact::unknown(NO_CPUID),
        latency: Fact::unknown(NO_CPUID),
    }
}

#[cfg(test)]
mod tests;
