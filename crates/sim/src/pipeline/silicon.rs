//! What a simulated GPU is made of, as far as pipelines see it. Text form: `sim/devices/a100-40.toml` and the like; the comments there say
//! where each number comes from.

use serde::Deserialize;
use warpsight_ir::occupancy::Residency;

/// A GPU that pipelines run on.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PipelineSilicon {
    /// Its short name.
    pub name: String,
    /// What it is, in words.
    pub description: String,
    /// Multiprocessors.
    pub core: PipelineCore,
    /// The second-level cache.
    pub l2: PipelineL2,
    /// Device memory.
    pub dram: PipelineDram,
    /// Queues through the second-level cache.
    pub queue: QueueSilicon,
    /// The start of kernels.
    pub launch: LaunchSilicon,
}

/// Multiprocessors.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PipelineCore {
    /// How many.
    pub count: u32,
    /// Hz.
    pub clock: f64,
    /// What may be resident on one.
    pub residency: Residency,
    /// Floating-point operations a clock on matrix units.
    pub tensor: f64,
    /// The part of them that one work-group alone keeps busy.
    pub tensor_of_one: f64,
    /// Operations a clock on vector units.
    pub simt: f64,
    /// The part of them that one work-group alone keeps busy.
    pub simt_of_one: f64,
    /// Bytes per second between one multiprocessor and the second-level cache.
    pub bandwidth: f64,
}

/// The second-level cache.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PipelineL2 {
    /// Its size.
    pub bytes: f64,
    /// Bytes per second, both directions.
    pub bandwidth: f64,
}

/// Device memory.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PipelineDram {
    /// Bytes per second that it delivers at best.
    pub bandwidth: f64,
    /// Seconds until the first byte is there.
    pub latency: f64,
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

/// Why there is no such GPU.
#[derive(Debug, thiserror::Error)]
#[error("not a description of a GPU that pipelines run on: {0}")]
pub struct PipelineSiliconError(String);

const BUILTIN: [(&str, &str); 2] =
    [("a100-40", include_str!("../../devices/a100-40.toml")), ("h200", include_str!("../../devices/h200.toml"))];

impl PipelineSilicon {
    /// Reads the text form.
    ///
    /// # Errors
    /// Where it is not of that form, or a number is not positive.
    pub fn parse(text: &str) -> Result<Self, PipelineSiliconError> {
        let silicon: Self = toml::from_str(text).map_err(|error| PipelineSiliconError(error.to_string()))?;
        let (core, queue, launch) = (&silicon.core, &silicon.queue, &silicon.launch);
        let rates = [
            core.clock,
            core.tensor,
            core.tensor_of_one,
            core.simt,
            core.simt_of_one,
            core.bandwidth,
            silicon.l2.bytes,
            silicon.l2.bandwidth,
            silicon.dram.bandwidth,
            queue.bandwidth,
            queue.spilled,
        ];
        let times = [silicon.dram.latency, queue.handshake, launch.eager, launch.graph, launch.dependent];
        if core.count == 0
            || rates.iter().any(|&rate| !(rate > 0.0 && rate.is_finite()))
            || times.iter().any(|&t| !(t >= 0.0 && t.is_finite()))
        {
            return Err(PipelineSiliconError("rates and sizes are positive, times not negative".to_owned()));
        }
        Ok(silicon)
    }

    /// One of those that come with warpsight, as `a100-40`.
    pub fn builtin(name: &str) -> Option<Result<Self, PipelineSiliconError>> {
        BUILTIN.iter().find(|own| own.0 == name).map(|own| Self::parse(own.1))
    }

    /// Their names.
    pub fn builtin_names() -> impl Iterator<Item = &'static str> {
        BUILTIN.iter().map(|own| own.0)
    }

    /// With so many times the multiprocessors and the bandwidth of the second-level cache, device memory as it is (paper 003, section 6.3).
    #[must_use]
    pub fn scaled(&self, cores: f64, l2: f64) -> Self {
        let mut scaled = self.clone();
        scaled.core.count = ((f64::from(self.core.count) * cores).round() as u32).max(1);
        scaled.l2.bandwidth *= l2;
        scaled.queue.spilled *= l2;
        scaled
    }
}
