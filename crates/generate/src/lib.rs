//! From tensor expressions to Programs: schedules, their Families, lowering and pruning.

pub mod addresses;
pub mod coords;
pub mod expr;
pub mod family;
pub mod kernel;
pub mod key;
pub mod names;
pub mod nest;
pub mod operators;
pub mod place;
pub mod program;
pub mod prune;
pub mod schedule;
pub mod show;

pub use expr::{Operator, Role, Tensor, TensorExpr};
pub use family::{ScheduleFamily, Stage};
pub use key::ExprKey;
pub use place::Placement;
pub use prune::{Pruned, prune};
