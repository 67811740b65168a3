//! From an ONNX file to operators in an order, with their tensors and where those lie in memory; no device.
//!
//! 1. [`Model::read`] decodes a file; [`Model::graph`] binds the shapes of its inputs and infers all others.
//! 2. [`simplify`] folds constants and batch normalisations.
//! 3. [`Plan::of`] fuses elementwise nodes into the operators before them and states every operator as tensor expressions.
//! 4. [`memory::plan`] gives tensors that are never alive together the same memory.
//!
//! [`evaluate_f64`] runs the graph of step 1 node by node with plain loops: it shares nothing with steps 2 and 3 and is what they
//! are tested against.
//!
//! ```
//! use warpsight_graph::{Model, Plan, simplify};
//! let model = Model::read("../../models/text-orientation.onnx")?;
//! let graph = model.graph(&["x=1,3,48,192".parse()?])?;
//! let plan = Plan::of(&simplify(&graph))?;
//! assert!(plan.operators.len() < graph.nodes.len() / 2);
//! # Ok::<(), warpsight_graph::GraphError>(())
//! ```

mod error;
mod evaluate;
pub mod format;
mod graph;
pub mod memory;
pub mod onnx;
mod passes;
mod plan;
mod room;

pub use error::GraphError;
pub use evaluate::evaluate_f64;
pub use format::FormatError;
pub use graph::counted::{Extents, plain_product};
pub use graph::op::{Arithmetic, Attention, Function, Op};
pub use graph::work::{Class, IndexSource, Phase, Work};
pub use graph::{Body, Graph, GraphTensor, Node, Origin, TensorId, TensorKind};
pub use onnx::card::{CardError, CardInput, ChannelOrder, Fit, Layout, ModelCard, Picture};
pub use onnx::declared::{Dimension, FreeDimension, ModelInput, OPSETS};
pub use onnx::given::{Given, InputShape, InputValues};
pub use onnx::import::{SupportedOperator, supported_operators};
pub use onnx::model::Model;
pub use passes::simplify;
pub use plan::{Distinct, Elements, Plan, PlanRole, PlanTensor, PlannedOp};
pub use room::{NoRoom, room};
