//! Pipelines in time: work-groups that pass tokens through queues of finite depth, on multiprocessors whose units they share (paper 003).
//!
//! Discrete events, token by token. A firing ([`warpsight_ir::Firings`]) acquires the tokens it takes and then uses its class's units and
//! device memory while they stream in (the paper's queues hand out entries, section 4.1 and figure 4, which the kernel then loads operand
//! by operand as it would from memory), and puts its tokens when there is room. What several work-groups use at once is shared equally
//! among them. Taking and putting cost a handshake each, those of several channels at once one, since lanes poll a counter each, and the
//! time to move the payload ([`crate::QueueSilicon`]).
//!
//! A kernel by itself is a pipeline of one stage without queues whose firings each have a work-group: so the bulk-synchronous execution of
//! operators is simulated by the same rules.

mod engine;
mod meter;
mod scheduler;
mod servers;

pub use meter::Meter;
pub use scheduler::Scheduler;

use crate::silicon::Silicon;
use warpsight_ir::{Bytes, Name, Pipeline, Seconds};

/// What an execution took.
#[derive(Clone, Debug, PartialEq)]
pub struct PipelineRun {
    /// From the first work-group's begin to the last one's end; launch overhead not counted.
    pub time: Seconds,
    /// By stage, in the pipeline's order.
    pub stages: Vec<StageRun>,
    /// Bytes that device memory moved.
    pub dram: Bytes,
    /// Bytes that queues moved, in both directions.
    pub queues: Bytes,
    /// How busy units were over time.
    pub meter: Meter,
    /// Firings, of the first so many.
    pub spans: Vec<Span>,
}

/// What a stage did.
#[derive(Clone, Debug, PartialEq)]
pub struct StageRun {
    /// Its name.
    pub name: Name,
    /// Seconds that its work-groups computed or waited for device memory, summed over them.
    pub busy: Seconds,
    /// Seconds until they had the tokens they take.
    pub starved: Seconds,
    /// Seconds until they could put their tokens.
    pub blocked: Seconds,
}

/// A firing in time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// Position of the stage.
    pub stage: usize,
    /// Which of its work-groups.
    pub group: u32,
    /// The firing.
    pub firing: u64,
    /// The multiprocessor.
    pub core: usize,
    /// When it had its tokens and began to work.
    pub begin: Seconds,
    /// When it had put its tokens.
    pub end: Seconds,
}

/// Why an execution does not come to its end.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PipelineFault {
    /// Not a pipeline that can be timed.
    #[error("{0}")]
    Malformed(String),
    /// The launch is refused.
    #[error("the launch is refused: {0}")]
    Refused(String),
    /// Nothing moves any more.
    #[error("stuck after {:.3} µs: {}", .after.0 * 1e6, .waiting.join("; "))]
    Stuck {
        /// When the last thing moved.
        after: Seconds,
        /// Who waits for what.
        waiting: Vec<String>,
    },
    /// All work-groups ended, but tokens were left.
    #[error("{tokens} tokens are left in `{channel}`")]
    Left {
        /// The queue.
        channel: Name,
        /// Slots that are not empty.
        tokens: usize,
    },
    /// More firings and tokens than are followed.
    #[error("{0} firings and tokens are more than are followed")]
    TooLong(u128),
}

/// Executes a pipeline on silicon that says what pipelines see of it. The same inputs take the same time, to the bit.
///
/// # Errors
/// See [`PipelineFault`].
pub fn simulate(pipeline: &Pipeline, on: &Silicon, scheduler: Scheduler) -> Result<PipelineRun, PipelineFault> {
    let Some(units) = &on.pipeline else {
        return Err(PipelineFault::Malformed(format!("silicon `{}` has no section for pipelines", on.name)));
    };
    engine::run(pipeline, on, units, scheduler)
}
