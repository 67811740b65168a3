//! The nouns of warpsight: what a GPU is, what a kernel does, how it touches memory, what a model says of it.
//!
//! This crate does no I/O and depends on no sibling. Definitions that simulator and models share (types, layouts, occupancy
//! arithmetic) live here; timing, replacement and bandwidth do not.
//!
//! A kernel as text, checked and executed, and the profile of a GPU:
//!
//! ```
//! use warpsight_ir::data::{bytes_f32, f32_bytes};
//! use warpsight_ir::{Bindings, Checked, interpret::interpret, profile, text};
//! let text = "
//! program twice {
//!   read buffer x: f32[4]
//!   write buffer y: f32[4]
//!   lanes l = 4
//!   { y[l] = x[l] * 2.0 }
//! }";
//! let program = Checked::new(text::parse(text)?)?;
//! let mut bindings = Bindings { data: vec![f32_bytes(&[1.0, 2.0, 3.0, 4.0]), vec![0; 16]], ..Bindings::default() };
//! interpret(&program, &mut bindings)?;
//! assert_eq!(bytes_f32(&bindings.data[1]), [2.0, 4.0, 6.0, 8.0]);
//!
//! let a100 = profile::builtin("a100-40").expect("built in")?;
//! assert_eq!(a100.execution.cores.get(), Some(&108));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod accesses;
pub mod affine;
pub mod data;
pub mod derive;
pub mod estimate;
pub mod family;
pub mod interpret;
pub mod kernel;
pub mod layout;
pub mod near;
pub mod occupancy;
pub mod pipeline;
pub mod profile;
pub mod program;
pub mod range;
pub mod sample;
pub mod text;
pub mod texture;
pub mod types;
pub mod units;
pub mod validate;

pub use accesses::{
    AccessKind, AccessRef, Accesses, AffineBound, BufferLayout, Indirect, LoadPath, Nest, NestVar, Pattern, TensorPlace, TensorUse, VarKind,
};
pub use affine::{Affine, VarId};
pub use data::Bindings;
pub use estimate::{CostModel, Estimate, Limiter, Limits, ModelId, RankFamily, Ranked, Ranking, Volumes};
pub use family::{Config, Family, Knob, KnobValue, LowerError, Space as ConfigSpace};
pub use kernel::facts::Facts;
pub use kernel::lanes::LaneOrder;
pub use kernel::meanwhile::Meanwhile;
pub use kernel::{Kernel, LaunchShape, OpClass, OpCounts, Reused, Shader, StageClass, StageWork};
pub use occupancy::bound::{self, Demand};
pub use pipeline::{Certificate, Channel, Firings, Pipeline, PipelineStage, SideOutput, StageBody, Step, Turns};
pub use profile::Profile;
pub use profile::unknown::{NoEstimate, Unknown};
pub use program::generalise;
pub use program::in_place::{Hazard, in_place};
pub use program::specialise::{SpecialiseError, specialise};
pub use program::typing::{self, TypeEnv, TypeError};
pub use program::{
    Access, Array, AtomicOp, BinaryOp, Border, Bound, Direction, Expr, GroupAxis, ImageFormat, ImageKind, LaneAxis, Launch, Name, Order,
    Param, ParamKind, Program, Scope, SizeParam, Space, Stmt, StorePolicy, UnaryOp, Unroll,
};
pub use sample::{Feedback, Sample, Status, SubjectKind, TimeSource, Times};
pub use types::{Const, Scalar, Type, WIDTHS};
pub use units::{Bytes, BytesPerSecond, Cycles, Flops, FlopsPerSecond, Hertz, Seconds};
pub use validate::{Checked, CheckedPipeline, Invalid, InvalidKind, InvalidPipeline};
