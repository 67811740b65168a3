//! From a graph of operators to a pipeline: which operators run together, on how many work-groups each, why that cannot deadlock
//! (paper 003).
//!
//! A [`View`] is what is planned of a graph of operators ([`warpsight_graph::Graph`]), whoever made it. A policy marks [`Group`]s of it; the rest runs operator by
//! operator. Each group becomes a [`Design`]: stages joined by queues.

pub mod assign;
pub mod balance;
mod chain;
mod chooser;
pub mod design;
pub mod foreign;
pub mod group;
pub mod kernel;
pub mod launched;
pub mod lower;
pub mod machine;
pub mod outcome;
mod partition;
pub mod pattern;
mod pipelined;
pub mod plan;
pub mod proof;
pub mod rates;
mod search;
pub mod select;
pub mod vertical;
pub mod view;

pub use design::{Design, DesignError, Queue, Role, Stage, Tiling, design};
pub use group::{Group, Traffic};
pub use kernel::{Fused, Run};
pub use machine::Machine;
pub use outcome::{Outcome, Pipelined, Question};
pub use pattern::{PatternError, Patterns};
pub use pipelined::pipeline;
pub use plan::{Execution, GroupPlan, KernelPlan, Plan, Quadrants, Terms, Times, plan, planned};
pub use rates::{Measured, Modelled, Rates};
pub use select::{Judge, Policy};
pub use vertical::{Footprint, Vertical};
pub use view::{Gemm, Named, Node, NodeId, Products, Tensor, TensorId, View};
pub use warpsight_graph::{Class, Phase, TensorKind};
