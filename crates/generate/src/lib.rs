//! From tensor expressions to Programs: schedules, their Families, lowering and pruning.
//!
//! ```
//! use warpsight_generate::{ScheduleFamily, Lowering, operators::parse_operator};
//! use warpsight_ir::Family;
//! let operator = parse_operator("matmul m=64 n=64 k=32")?;
//! let family = ScheduleFamily::new(operator.steps[0].clone());
//! assert!(family.configs().count() > 100);
//! let config = family.configs().next().ok_or("no configuration")?;
//! println!("{}", family.dump(&config, Lowering::Tile)?);
//! let program = family.lower(&config)?;
//! assert!(program.to_string().starts_with("program matmul"), "{}", *program);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod candidates;
pub mod expr;
pub mod family;
pub mod indices;
pub mod kernel;
pub mod key;
pub mod knobs;
pub mod layout;
pub mod names;
pub mod nest;
pub mod operators;
pub mod parallel;
pub mod parts;
pub mod passes;
pub mod program;
pub mod prune;
pub mod schedule;
pub mod show;

pub use candidates::{Candidate, candidates};
pub use expr::{Operator, Role, Tensor, TensorExpr};
pub use family::{Lowering, ScheduleFamily, Work};
pub use key::ExprKey;
pub use knobs::Meeting;
pub use layout::{Along, Layout, Place};
pub use passes::{Pass, Passes};
pub use prune::{Pruned, prune};
