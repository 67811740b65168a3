//! What planning knows of a device: numbers of its profile, and those of `data/dataflow/constants.toml` that no profile states.

use serde::Deserialize;
use warpsight_ir::profile::{Fact, Profile};
use warpsight_ir::{Bytes, BytesPerSecond, NoEstimate, Seconds};

const CONSTANTS: &str = include_str!("../data/constants.toml");

/// A device as a plan sees it: what operators are mapped to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Platform {
    /// Multiprocessors; each holds one work-group of each class.
    pub cores: u32,
    /// Shared memory of a multiprocessor that work-groups can have.
    pub shared: Bytes,
    /// Of it, for the work-group on matrix units.
    pub tensor_shared: Bytes,
    /// Second-level cache, all of it.
    pub l2: Bytes,
    /// Of it, for slots of queues.
    pub slots: Bytes,
    /// Largest payload of a slot.
    pub payload: Bytes,
    /// Device memory.
    pub dram: BytesPerSecond,
    /// The second-level cache.
    pub l2_rate: BytesPerSecond,
    /// What one multiprocessor takes from it, however many others there are.
    pub port: BytesPerSecond,
    /// What a kernel takes before and after its work, launched by itself.
    pub launch: Seconds,
    /// The same within a graph of kernels.
    pub graph_launch: Seconds,
    /// Columns that a work-group of a bulk-synchronous column sum covers, at most.
    pub reduction_columns: u64,
    /// What device memory fetches at once: no such work-group covers less, where it is known.
    pub fetch: Option<Bytes>,
}

#[derive(Deserialize)]
struct File {
    pipeline: Constants,
    stage: Port,
}

/// Of the numbers of stages the one that kernels share.
#[derive(Deserialize)]
struct Port {
    port: Fact<f64>,
}

#[derive(Deserialize)]
struct Constants {
    payload_most: Fact<f64>,
    queue_capacity: Fact<f64>,
    tensor_shared: Fact<f64>,
    graph_launch: Fact<f64>,
    reduction_columns: Fact<f64>,
}

impl Platform {
    /// Of a profile.
    ///
    /// # Errors
    /// The number that is not known.
    pub fn of(profile: &Profile) -> Result<Self, NoEstimate> {
        let wrong = |what: String| NoEstimate::NotCovered(format!("constants.toml: {what}"));
        let File { pipeline: constants, stage } = toml::from_str(CONSTANTS).map_err(|error| wrong(error.to_string()))?;
        let number = |fact: &Fact<f64>, name: &str| fact.get().copied().ok_or_else(|| wrong(format!("no number for {name}")));
        let (execution, memory) = (&profile.execution, &profile.memory);
        let cores = execution.cores.need(profile, "execution.cores")?;
        let reserved = execution.local_reserved.get().copied().unwrap_or(Bytes::ZERO);
        // Two work-groups a multiprocessor, each with what the system takes for itself.
        let shared = execution.local.need(profile, "execution.local")? - reserved * 2.0;
        let l2 = memory.l2.bytes.need(profile, "memory.l2.bytes")?;
        let l2 = l2 * f64::from(memory.l2.instances.need(profile, "memory.l2.instances")?);
        let launch = execution.launch_overhead.need(profile, "execution.launch_overhead")?;
        Ok(Self {
            cores,
            shared,
            tensor_shared: shared * number(&constants.tensor_shared, "tensor_shared")?,
            l2,
            slots: l2 * number(&constants.queue_capacity, "queue_capacity")?,
            payload: Bytes(number(&constants.payload_most, "payload_most")?),
            dram: memory.dram_bandwidth.need(profile, "memory.dram_bandwidth")?,
            l2_rate: memory.l2.bandwidth.need(profile, "memory.l2.bandwidth")?,
            port: BytesPerSecond(number(&stage.port, "port")? * execution.clock.need(profile, "execution.clock")?.0),
            launch,
            graph_launch: Seconds(number(&constants.graph_launch, "graph_launch")?).min(launch),
            reduction_columns: number(&constants.reduction_columns, "reduction_columns")? as u64,
            fetch: memory.dram_fetch.get().copied(),
        })
    }
}
