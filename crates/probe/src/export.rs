//! What was found, in the formats of other tools.

use crate::{Finding, Findings};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use warpsight_ir::profile::Fact;
use warpsight_ir::profile::mt4g::{Mt4gError, read};

/// What a driver states of a device, none of which a chase shows; `None` where it does not, nor anything else tells it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stated {
    /// The device's own name.
    pub name: Option<String>,
    /// `NVIDIA` or `AMD`.
    pub vendor: Option<String>,
    /// Compute capability: major and minor.
    pub compute_capability: Option<(u32, u32)>,
    /// Highest clock in hertz.
    pub clock_hz: Option<f64>,
    /// Multiprocessors (compute units).
    pub multiprocessors: Option<u32>,
    /// FP32 units of one, a multiply-add a clock each.
    pub fp32_units: Option<u32>,
    /// Threads of a warp (wavefront).
    pub warp: Option<u32>,
    /// Threads of a multiprocessor at once.
    pub threads: Option<u32>,
    /// Threads of a block.
    pub block_threads: Option<u32>,
    /// Blocks of a multiprocessor at once.
    pub blocks: Option<u32>,
    /// 32-bit registers of a multiprocessor.
    pub registers: Option<u32>,
    /// Bytes of shared memory of a multiprocessor.
    pub shared_bytes: Option<f64>,
    /// Bytes of it that each block loses; 0 where the driver keeps none.
    pub shared_reserved_bytes: Option<f64>,
    /// Bytes of the whole L2.
    pub l2_bytes: Option<f64>,
    /// When it was measured, as ISO 8601 writes it: `2025-08-10T09:42:18Z`.
    pub timestamp: Option<String>,
}

/// Why something is not exported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExportError {
    /// Neither of a memory nor of a multiprocessor is anything known that the format has.
    #[error("nothing was found that MT4G's format has a place for")]
    Nothing,
}

/// Caches of the format: the path in its `memory`, and the key of what is found.
const CACHES: [(&[&str], &str); 6] = [
    (&["l1"], "buffer.l1"),
    (&["texture"], "texture.l1"),
    (&["readOnly"], "readonly"),
    (&["constant", "l1"], "constant.l1"),
    (&["constant", "l1.5"], "constant.l15"),
    (&["scalarL1"], "scalar.l1"),
];

/// Bytes of the format's unit of bandwidths.
const GIB: f64 = 1_073_741_824.0;

/// Findings as the JSON of MT4G (github.com/caps-tum/mt4g), as of its first version.
///
/// What is not known is left out, as that tool does with what it did not measure, and `meta.partial` says where something is that a whole file
/// has, but for the sizes of a cache of which anything is known:
/// one that is not has the confidence 0, which is how the format says so. Of one that is known, the format has no interval: the confidence
/// is 1 less the interval's width over the value. Where the driver states the whole L2, and a whole number of its parts lies in the interval
/// of what was measured, the segment is that part. Latencies are in cycles: `latency_cycles`, or `latency_s` at the clock.
///
/// # Errors
/// [`ExportError::Nothing`].
pub fn mt4g(findings: &Findings, stated: &Stated) -> Result<Value, ExportError> {
    let export = Export { findings, stated };
    let (compute, memory) = (export.compute(), export.memory());
    if [&compute, &memory].iter().all(|table| table.as_object().is_some_and(Map::is_empty)) {
        return Err(ExportError::Nothing);
    }
    let general = known([
        ("clockRate", stated.clock_hz.map(|hertz| json!({ "unit": "kHz", "value": hertz / 1e3 }))),
        ("computeCapability", stated.compute_capability.map(|(major, minor)| json!({ "major": major, "minor": minor }))),
        ("name", stated.name.as_ref().map(|name| json!(name))),
        ("vendor", stated.vendor.as_ref().map(|vendor| json!(vendor))),
    ]);
    let meta = known([("timestamp", stated.timestamp.as_ref().map(|timestamp| json!(timestamp)))]);
    let mut json = json!({ "compute": compute, "general": general, "memory": memory, "meta": meta });
    // So that whoever reads it does not take it for a damaged one.
    if let Err(Mt4gError::Missing(_)) = read(&json.to_string()) {
        json["meta"]["partial"] = json!(true);
    }
    Ok(json)
}

struct Export<'f> {
    findings: &'f Findings,
    stated: &'f Stated,
}

impl Export<'_> {
    fn compute(&self) -> Value {
        let stated = self.stated;
        let counts = [
            ("maxBlocksPerMultiProcessor", stated.blocks),
            ("maxThreadsPerBlock", stated.block_threads),
            ("maxThreadsPerMultiProcessor", stated.threads),
            ("multiProcessorCount", stated.multiprocessors),
            ("numberOfCoresPerMultiProcessor", stated.fp32_units),
            ("regsPerMultiProcessor", stated.registers),
            ("warpSize", stated.warp),
        ];
        known(counts.map(|(key, count)| (key, count.map(|count| json!(count)))))
    }

    fn memory(&self) -> Value {
        let mut memory = Map::new();
        for (path, key) in CACHES {
            let Some(cache) = self.cache(key, "size") else { continue };
            match path {
                [table, level] => memory.entry(*table).or_insert_with(|| json!({}))[*level] = cache,
                [level] => drop(memory.insert((*level).to_owned(), cache)),
                _ => (),
            }
        }
        let bandwidth = |key: &str| self.findings.get(key).map(|rate| json!({ "unit": "GiB/s", "value": rate / GIB }));
        let main = known([
            ("latency", self.latency("dram")),
            ("readBandwidth", bandwidth("dram.bandwidth")),
            ("writeBandwidth", bandwidth("write.bandwidth")),
        ]);
        let shared = known([
            ("latency", self.latency("local")),
            ("sharedMemPerMultiProcessor", self.shared().map(bytes)),
            ("reservedSharedMemPerBlock", self.stated.shared_reserved_bytes.map(bytes)),
        ]);
        let others = [("l2", self.l2()), ("l3", self.l3()), ("main", main), ("shared", shared)];
        let others = others.into_iter().filter(|(_, table)| table.as_object().is_some_and(|table| !table.is_empty()));
        memory.extend(others.map(|(key, table)| (key.to_owned(), table)));
        Value::Object(memory)
    }

    /// A cache of which anything is known; where its size stands differs.
    fn cache(&self, key: &str, own_size: &str) -> Option<Value> {
        let sizes = [(own_size, "capacity_bytes"), ("lineSize", "line_bytes"), ("fetchGranularity", "fetch_bytes")];
        let sizes = sizes.map(|(name, of)| (name, self.fact(&format!("{key}.{of}"))));
        let latency = self.latency(key);
        if latency.is_none() && sizes.iter().all(|(_, fact)| fact.and_then(Fact::get).is_none()) {
            return None;
        }
        let [capacity, line, fetched] = sizes.map(|(name, fact)| (name, Some(size(fact))));
        Some(known([capacity, line, fetched, ("latency", latency)]))
    }

    fn shared(&self) -> Option<f64> {
        let own = self.stated.shared_bytes?;
        // HIP states the sum over all multiprocessors.
        match self.stated.vendor.as_deref() {
            Some("AMD") => Some(own * f64::from(self.stated.multiprocessors?)),
            _ => Some(own),
        }
    }

    fn l2(&self) -> Value {
        let segment = self.fact("buffer.l2.capacity_bytes");
        let whole = self.stated.l2_bytes.or(segment.and_then(|fact| fact.get().copied()));
        let part = match (segment, whole) {
            (Some(Fact::Known { value, lo: Some(lo), hi: Some(hi), .. }), Some(whole)) => {
                let part = whole / (whole / value).round().max(1.0);
                (*lo..=*hi).contains(&part).then_some(part)
            }
            _ => None,
        };
        let mut cache = self.cache("buffer.l2", "segmentSize").unwrap_or_else(|| json!({}));
        if let Some(part) = part {
            cache["segmentSize"]["size"] = json!(part);
        }
        if let Some(whole) = whole {
            cache["size"] = bytes(whole);
        }
        cache
    }

    /// A third level, of which the format has the whole size as a driver states it, and no confidence: what was found stands there.
    fn l3(&self) -> Value {
        let level = |of: &str| ["buffer.l3", "texture.l3"].into_iter().find_map(|key| self.findings.get(&format!("{key}.{of}")));
        let sizes = [("lineSize", "line_bytes"), ("fetchGranularity", "fetch_bytes")];
        let sizes = sizes.map(|(name, of)| (name, self.fact(&format!("buffer.l3.{of}")).map(|fact| size(Some(fact)))));
        let [line, fetched] = sizes;
        known([("size", level("capacity_bytes").map(bytes)), line, fetched, ("latency", self.latency("buffer.l3"))])
    }

    fn latency(&self, key: &str) -> Option<Value> {
        let [_, median, most] = self.cycles(key)?;
        // How many loads a fact is of, it does not say.
        Some(json!({ "unit": "cycles", "method": "p-chase", "p50": median, "p95": most, "measurements": 0 }))
    }

    /// Lower end, value and upper end of a latency in cycles.
    fn cycles(&self, key: &str) -> Option<[f64; 3]> {
        let ends = |fact: &Fact<f64>, scale: f64| match fact {
            Fact::Known { value, lo, hi, .. } => Some([lo.unwrap_or(*value), *value, hi.unwrap_or(*value)].map(|end| end * scale)),
            _ => None,
        };
        let cycles = self.fact(&format!("{key}.latency_cycles")).and_then(|fact| ends(fact, 1.0));
        let seconds = || if key == "dram" { self.findings.memory_latency() } else { self.fact(&format!("{key}.latency_s")).cloned() };
        cycles.or_else(|| ends(&seconds()?, self.stated.clock_hz?))
    }

    fn fact(&self, key: &str) -> Option<&Fact<f64>> {
        match self.findings.facts.get(key)? {
            Finding::Number(fact) => Some(fact),
            _ => None,
        }
    }
}

/// A table of what is known.
fn known<const N: usize>(all: [(&str, Option<Value>); N]) -> Value {
    Value::Object(all.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect())
}

/// A size that a chase found, or did not.
fn size(fact: Option<&Fact<f64>>) -> Value {
    let (value, confidence) = match fact {
        Some(Fact::Known { value, lo, hi, .. }) => {
            let width = hi.unwrap_or(*value) - lo.unwrap_or(*value);
            (*value, (1.0 - width / value).clamp(0.0, 1.0))
        }
        _ => (0.0, 0.0),
    };
    json!({ "confidence": confidence, "method": "p-chase", "randomized": false, "size": value, "unit": "bytes" })
}

fn bytes(value: f64) -> Value {
    json!({ "unit": "bytes", "value": value })
}

#[cfg(test)]
mod tests;
