//! From a graph of operators to a pipeline: which operators run together, on how many work-groups each, why that cannot deadlock
//! (paper 003).
//!
//! A [`View`] is what is planned of a graph of operators ([`warpsight_graph::Graph`]), whoever made it. A policy marks [`Group`]s of it; the rest runs operator by
//! operator. Each group becomes a [`Design`]: stages joined by queues.
//!
//! ```
//! use warpsight_dataflow::{Patterns, View, select::kitsune};
//! use warpsight_graph::Graph;
//! let graph = Graph::read(r#"{"format": "dataflow-graph/1", "app": "mlp",
//!   "tensors": {
//!     "x": {"shape": [4096, 256], "dtype_bytes": 2, "kind": "input"}, "h": {"shape": [4096, 256], "dtype_bytes": 2, "kind": "act"},
//!     "r": {"shape": [4096, 256], "dtype_bytes": 2, "kind": "act"}, "y": {"shape": [4096, 256], "dtype_bytes": 2, "kind": "act"},
//!     "v": {"shape": [256, 256], "dtype_bytes": 2, "kind": "param"}, "w": {"shape": [256, 256], "dtype_bytes": 2, "kind": "param"}},
//!   "nodes": [
//!     {"id": 0, "op": "linear", "cls": "tensor", "inputs": ["x", "v"], "outputs": ["h"], "flops": 536870912},
//!     {"id": 1, "op": "relu", "cls": "simt", "inputs": ["h"], "outputs": ["r"], "flops": 1048576},
//!     {"id": 2, "op": "linear", "cls": "tensor", "inputs": ["r", "w"], "outputs": ["y"], "flops": 536870912}]}"#)?;
//! let groups = kitsune(&View::of(&graph).expect("operators"), &Patterns::kitsune());
//! assert_eq!(groups[0].nodes.len(), 3, "both products and the activation between them run as one pipeline");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod assign;
pub mod balance;
pub mod design;
pub mod foreign;
pub mod group;
pub mod launched;
pub mod lower;
pub mod outcome;
pub mod plan;
pub mod platform;
pub mod proof;
pub mod rates;
pub mod select;
pub mod view;

pub use design::{Design, DesignError, Queue, Role, Stage, Tiling, design};
pub use group::{Group, Traffic};
pub use outcome::{Outcome, Pipelined, Question};
pub use plan::kernel::{Fused, Run};
pub use plan::{Execution, GroupPlan, KernelPlan, Plan, Quadrants, Terms, Times, pipeline, plan, planned};
pub use platform::Platform;
pub use rates::{Measured, Modelled, Rates};
pub use select::pattern::{PatternError, Patterns};
pub use select::vertical::{Footprint, Vertical};
pub use select::{Judge, Policy};
pub use view::{Gemm, Named, Node, NodeId, Products, Tensor, TensorId, View};
pub use warpsight_graph::{Class, Phase, TensorKind};
