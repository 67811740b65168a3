//! What pipelines see of a GPU: units in operations a second, queues through the second-level cache (paper 003).

use serde::Deserialize;

/// What pipelines see of a GPU.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PipelineSilicon {
    /// Floating-point operations a clock of a core's matrix units.
    pub tensor: f64,
    /// The part of them that one work-group alone keeps busy.
    pub tensor_of_one: f64,
    /// Operations a clock of a core's vector units.
    pub simt: f64,
    /// The part of them that one work-group alone keeps busy.
    pub simt_of_one: f64,
    /// Bytes per second between one core and the second-level cache.
    pub bandwidth: f64,
    /// Bytes per second of the second-level cache, both directions.
    pub l2_bandwidth: f64,
    /// Bytes per second that device memory delivers at best.
    pub dram_bandwidth: f64,
    /// Seconds until its first byte is there.
    pub dram_latency: f64,
    /// Queues through the second-level cache.
    pub queue: QueueSilicon,
    /// The start of kernels.
    pub launch: LaunchSilicon,
}

impl PipelineSilicon {
    /// Operations on matrix units that take one work-group as long as one on vector units.
    pub fn vector(&self) -> f64 {
        self.tensor * self.tensor_of_one / (self.simt * self.simt_of_one)
    }
}

/// Queues (paper 003, section 4.1, figure 5).
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueueSilicon {
    /// Seconds that acquiring and releasing a slot takes a work-group, at either end.
    pub handshake: f64,
    /// Bytes per second at which one work-group fills or empties a slot.
    pub bandwidth: f64,
    /// Bytes per second of all queues together where they do not fit the second-level cache.
    pub spilled: f64,
}

/// Seconds from the end of a kernel to the begin of the next.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LaunchSilicon {
    /// Launched one by one.
    pub eager: f64,
    /// As nodes of a graph.
    pub graph: f64,
    /// Launched while the one before still runs (programmatic dependent launch).
    pub dependent: f64,
}
