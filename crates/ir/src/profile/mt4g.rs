//! Profiles from what MT4G found of a GPU: a tool that probes caches and memory by chases of pointers (github.com/caps-tum/mt4g).
//!
//! Its file holds what a driver states (source `vendor`) and what chases show (source `measured`, with method and confidence). What its
//! authors call unreliable is lost, with the number in the reason: line sizes (a heuristic), bandwidths (not optimal), the number of L2
//! segments on AMD, and whatever has a confidence of a coin. What it does not state is unknown.

mod chase;
mod file;
mod wrong;

use super::check::{Against, Refused};
use super::{Cache, Execution, Fact, Images, Matrix, Memory, Profile, Source, Tlb};
use crate::units::{Bytes, BytesPerSecond, Cycles, Hertz};
use file::{File, Group, Latency, Size};
use std::fmt::Display;
pub use wrong::Mt4gError;

/// What a confidence says that is no more than this: nothing.
const COIN: f64 = 0.5;

/// Reads a profile from the JSON of MT4G.
///
/// # Errors
/// [`Mt4gError`]; all keys that are missing are named at once.
pub fn read(text: &str) -> Result<Profile, Mt4gError> {
    read_with(text, None)
}

/// The same, with MT4G's raw chase through memory (`Main_Memory_Latency.csv`, a latency in a line), which shows what misses of
/// translations cost.
///
/// # Errors
/// Those of [`read`]; a chase that is none.
pub fn read_with(text: &str, chase: Option<&str>) -> Result<Profile, Mt4gError> {
    let file = File::read(text)?;
    let mut profile = Reader { file: &file }.profile();
    file.finish()?;
    if let Some(chase) = chase {
        profile.memory.tlb.miss_latency = chase::miss(&chase::latencies(chase)?, file.is_nvidia(), &file.day());
    }
    profile.check_numbers(Against::Unheard).map_err(|Refused { field, value, why }| Mt4gError::Value {
        key: field,
        what: format!("{value} would be its value, which is {why}"),
    })?;
    Ok(profile)
}

/// Reads one file. What is missing is noted in the file, which is asked at the end.
struct Reader<'f> {
    file: &'f File,
}

impl Reader<'_> {
    fn cite(&self, said: impl Display) -> String {
        format!("MT4G of {}, {said}", self.file.day())
    }

    fn stated<T>(&self, value: T, said: impl Display) -> Fact<T> {
        Fact::known(value, Source::Vendor, self.cite(said))
    }

    /// A fact; of a partial file, that it is unknown where something that it is made of is missing.
    fn fact<T>(&self, of: impl FnOnce() -> Fact<T>) -> Fact<T> {
        self.file.told(of).unwrap_or_else(Fact::unknown)
    }

    fn count(&self, group: &Group, key: &str) -> Fact<u32> {
        self.fact(|| self.stated(group.count(key), format_args!("{}: as the driver states it", group.path(key))))
    }

    fn profile(&self) -> Profile {
        let (general, nvidia) = (self.file.group("general"), self.file.is_nvidia());
        let name = self.file.told(|| general.text("name")).unwrap_or_else(|_| "unnamed".into());
        let capability = || (general.count("computeCapability.major"), general.count("computeCapability.minor"));
        let capability = self.file.told(capability).ok();
        Profile {
            name: name.to_lowercase().split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-"),
            description: format!("{name} as MT4G found it on {}", self.file.day()),
            architecture: capability.and_then(|(major, minor)| architecture(nvidia, major, minor)),
            execution: self.execution(nvidia),
            memory: self.memory(nvidia),
            image: Images { max_width: silent(), max_height: silent(), layout: silent() },
            probed: Default::default(),
        }
    }

    fn execution(&self, nvidia: bool) -> Execution {
        let (compute, shared) = (self.file.group("compute"), self.file.group("memory.shared"));
        let warps = || compute.count("maxThreadsPerMultiProcessor") / compute.count("warpSize").max(1);
        let local = || shared.number("sharedMemPerMultiProcessor", "bytes");
        let said = shared.path("sharedMemPerMultiProcessor");
        Execution {
            cores: self.count(&compute, "multiProcessorCount"),
            clock: self.fact(|| self.stated(general_clock(self.file), "general.clockRate: the highest, as the driver states it")),
            warp: self.count(&compute, "warpSize"),
            max_warps: self.fact(|| self.stated(warps(), "compute.maxThreadsPerMultiProcessor / warpSize")),
            max_groups: if nvidia {
                self.count(&compute, "maxBlocksPerMultiProcessor")
            } else {
                Fact::unknown("HIP states the work-items of a core over those of the largest group, which is no limit of groups")
            },
            registers: if nvidia {
                self.count(&compute, "regsPerMultiProcessor")
            } else {
                Fact::unknown("HIP states 65536 for compute units that have more, too")
            },
            max_registers: silent(),
            register_granule: silent(),
            warp_granule: silent(),
            max_group_size: self.count(&compute, "maxThreadsPerBlock"),
            max_barriers: silent(),
            local: self.fact(|| match nvidia {
                true => self.stated(Bytes(local()), format_args!("{said}: as the driver states it")),
                false => {
                    let own = local() / f64::from(compute.count("multiProcessorCount").max(1));
                    self.stated(Bytes(own), format_args!("{said} / multiProcessorCount: HIP states the sum of all"))
                }
            }),
            local_granule: silent(),
            local_reserved: self.fact(|| {
                self.stated(
                    Bytes(shared.number("reservedSharedMemPerBlock", "bytes")),
                    format_args!("{}: as the driver states it", shared.path("reservedSharedMemPerBlock")),
                )
            }),
            fma_per_clock: self.fact(|| {
                self.stated(
                    compute.count("numberOfCoresPerMultiProcessor").into(),
                    "compute.numberOfCoresPerMultiProcessor: FP32 units, a multiply-add a clock each",
                )
            }),
            fma16_per_clock: silent(),
            fma64_per_clock: silent(),
            lsu_lanes: silent(),
            special_per_clock: silent(),
            matrix: Matrix { f16: silent(), bf16: silent(), f32: silent(), f64: silent(), int8: silent() },
            issue_per_clock: silent(),
            vector_width: Fact::known(1, Source::Vendor, "MT4G runs CUDA and HIP, whose work-items are scalar"),
            launch_overhead: silent(),
            launch_gap: silent(),
            wake: silent(),
        }
    }

    fn memory(&self, nvidia: bool) -> Memory {
        let group = |name: &str| self.file.group(&format!("memory.{name}"));
        let (l1, l2, main) = (group("l1"), group("l2"), group("main"));
        let texture_l1 = match self.file.has("memory.texture") || nvidia {
            true => self.first_level(&group("texture")),
            false => Cache {
                bytes: silent(),
                line: silent(),
                ways: silent(),
                set_hash: silent(),
                instances: silent(),
                bandwidth: silent(),
                latency: silent(),
            },
        };
        Memory {
            texture_l1,
            buffer_l1: self.first_level(&l1),
            l2: self.second_level(&l2, nvidia),
            llc: self.last_level(),
            local_bandwidth: silent(),
            dram_bandwidth: bandwidth(&main),
            dram_latency: self.waits(&main),
            sector: self.sized(&l1, "fetchGranularity"),
            dram_fetch: self.sized(&l2, "fetchGranularity"),
            l2_effective: if nvidia { self.sized(&l2, "segmentSize") } else { segments() },
            in_flight: silent(),
            llc_beside: silent(),
            dram_beside: silent(),
            tlb: Tlb {
                page: silent(),
                reach: silent(),
                miss_latency: Fact::unknown("MT4G's file states none; the first touches of pages in its raw chase through memory show it"),
                lookup: silent(),
            },
        }
    }

    fn first_level(&self, group: &Group) -> Cache {
        let amount = group.path("amountPerMultiprocessor");
        Cache {
            bytes: self.sized(group, "size"),
            line: line(group),
            ways: silent(),
            set_hash: silent(),
            instances: match group.optional("amountPerMultiprocessor") {
                Some(own) => self.fact(|| {
                    let cores = self.file.group("compute").count("multiProcessorCount");
                    self.found(own * cores, format_args!("{amount} · multiProcessorCount"))
                }),
                None => Fact::unknown(format!("the file of MT4G has no `{amount}`")),
            },
            bandwidth: silent(),
            latency: self.waits(group),
        }
    }

    fn second_level(&self, group: &Group, nvidia: bool) -> Cache {
        let whole = || group.number("size", "bytes");
        let (bytes, instances) = if nvidia {
            let said = format!("{} / {}", group.path("size"), group.path("segmentSize"));
            match self.file.told(|| whole() / group.size("segmentSize").bytes) {
                Ok(parts) if parts.fract() == 0.0 && (1.0..=1024.0).contains(&parts) => {
                    (self.sized(group, "segmentSize"), self.found(parts as u32, said))
                }
                Ok(parts) => {
                    let why = format!("{said} is {parts}, no number of parts");
                    (Fact::unknown(why.clone()), Fact::unknown(why))
                }
                // A file that has one of both says what that is.
                Err(why) => (self.sized(group, "segmentSize"), Fact::unknown(why)),
            }
        } else {
            (self.fact(|| self.stated(Bytes(whole()), format_args!("{}: as the driver states it", group.path("size")))), segments())
        };
        Cache {
            bytes,
            line: line(group),
            ways: silent(),
            set_hash: silent(),
            instances,
            bandwidth: bandwidth(group),
            latency: self.waits(group),
        }
    }

    fn last_level(&self) -> Cache {
        if !self.file.has("memory.l3") {
            let none = "MT4G lists no third level";
            return Cache {
                bytes: Fact::unknown(none),
                line: Fact::unknown(none),
                ways: Fact::unknown(none),
                set_hash: Fact::unknown(none),
                instances: Fact::unknown(none),
                bandwidth: Fact::unknown(none),
                latency: Fact::unknown(none),
            };
        }
        let group = self.file.group("memory.l3");
        Cache {
            bytes: self.fact(|| self.stated(Bytes(group.number("size", "bytes")), "memory.l3.size: as the driver states it")),
            line: line(&group),
            ways: silent(),
            set_hash: silent(),
            instances: segments(),
            bandwidth: bandwidth(&group),
            // That tool's own files have none.
            latency: if self.file.has("memory.l3.latency") { self.waits(&group) } else { silent() },
        }
    }

    fn found<T>(&self, value: T, said: impl Display) -> Fact<T> {
        Fact::known(value, Source::Measured, self.cite(said))
    }

    fn size(&self, size: &Size, path: &str) -> Fact<Bytes> {
        let Size { bytes, confidence, method } = size;
        if *confidence <= COIN {
            return Fact::unknown(format!("MT4G says {bytes} bytes ({path}) with a confidence of {confidence:.3}, which says nothing"));
        }
        self.found(Bytes(*bytes), format_args!("{path}: {method}, confidence {confidence:.3}"))
    }

    /// A size of a table.
    fn sized(&self, group: &Group, key: &str) -> Fact<Bytes> {
        self.fact(|| self.size(&group.size(key), &group.path(key)))
    }

    /// A table's latency.
    fn waits(&self, group: &Group) -> Fact<Cycles> {
        self.fact(|| self.latency(&group.latency("latency"), &group.path("latency")))
    }

    fn latency(&self, latency: &Latency, path: &str) -> Fact<Cycles> {
        let Latency { median, most, loads, method } = latency;
        let cite = self.cite(format_args!("{path}: {method}, median and 95th percentile of {loads} loads"));
        Fact::Known { value: Cycles(*median), source: Source::Measured, cite, lo: None, hi: Some(Cycles(*most)), alternatives: vec![] }
    }
}

fn general_clock(file: &File) -> Hertz {
    Hertz(1e3 * file.group("general").number("clockRate", "kHz"))
}

/// What MT4G says nothing of.
fn silent<T>() -> Fact<T> {
    Fact::unknown("MT4G does not say")
}

fn segments<T>() -> Fact<T> {
    Fact::unknown("MT4G's authors call the segments that it finds on AMD unreliable")
}

/// A line's size, which is lost.
fn line(group: &Group) -> Fact<Bytes> {
    let path = group.path("lineSize");
    match group.said("lineSize") {
        Some(said) => Fact::unknown(format!("MT4G says {said} ({path}), by a heuristic that its authors call unreliable")),
        None => Fact::unknown(format!("the file of MT4G has no `{path}`")),
    }
}

/// A bandwidth, which is lost.
fn bandwidth(group: &Group) -> Fact<BytesPerSecond> {
    let said = |key: &str| group.said(key).map(|said| format!("{said} ({})", group.path(key)));
    let both: Vec<String> = ["readBandwidth", "writeBandwidth"].into_iter().filter_map(said).collect();
    if both.is_empty() {
        return Fact::unknown(format!("the file of MT4G has no `{}`", group.path("readBandwidth")));
    }
    Fact::unknown(format!("MT4G says {}: not the best there is, by its authors", both.join(" and ")))
}

/// The design that a compute capability belongs to; of AMD, whose numbers several designs share, only one that is alone.
fn architecture(nvidia: bool, major: u32, minor: u32) -> Option<String> {
    let name = match (nvidia, major, minor) {
        (true, 6, _) => "pascal",
        (true, 7, 0) => "volta",
        (true, 7, 5) => "turing",
        (true, 8, 0) => "ampere",
        (true, 8, 6) => "ampere-ga10x",
        (true, 8, 9) => "ada",
        (true, 9, 0) => "hopper",
        (false, 9, 4) => "cdna3",
        _ => return None,
    };
    Some(name.to_owned())
}
